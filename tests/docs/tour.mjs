// Reads docs/tour.md and follows it: programs that stay (```sh), commands with their output (```console), and tables of what
// to do on the page. What is compared: everything but fractions, long numbers and what the document leaves out with "...".

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { Child, run } from '../harness/child.mjs';
import { freePort } from '../harness/redis.mjs';
import { RedisClient } from '../harness/resp.mjs';
import { cleanEnvironment, program, repository } from '../harness/server.mjs';
import { now, sleep, until } from '../harness/time.mjs';

const TABLE = '| do | the page shows |';
const SLACK = { 'one more or less': 1, 'two more or less': 2 };
const PORTS = ['8080', '8081', '6390']; // of the document

// --- reading ---

// The document's steps in order: { kind: 'program', command }, { kind: 'command', command, output }, { kind: 'page', action, panel, texts,
// slack }.
export function steps() {
  const lines = readFileSync(`${repository}docs/tour.md`, 'utf8').split('\n');
  const found = [];
  let fence = null;
  let table = false;
  for (const line of lines) {
    const opens = line.match(/^```(\w*)$/);
    if (opens) fence = fence === null ? opens[1] : null;
    else if (fence === 'sh') found.push({ kind: 'program', command: line });
    else if (fence === 'console' && line.startsWith('$ ')) found.push({ kind: 'command', command: line.slice(2), output: [] });
    else if (fence === 'console') found.at(-1).output.push(line);
    else if (line === TABLE) table = true;
    else if (!line.startsWith('|')) table = false;
    else if (table && !line.startsWith('|---')) {
      const [action, seen] = line.split('|').slice(1, -1).map((cell) => cell.trim());
      found.push({ kind: 'page', action, panel: seen.split(':')[0], texts: quoted(seen), slack: SLACK[seen.split(', ').at(-1)] ?? 0 });
    }
  }
  return found;
}

export const quoted = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const any = (text) => escaped(text).replaceAll(/\d+\\\.\d+|\d{9,}/g, '\\d+(?:\\.\\d+)?').replaceAll('\\.\\.\\.', '.*');

// What matches the document's text, its fractions and long numbers being any.
export const pattern = (text) => new RegExp(any(text));

// What matches a command's output.
export function linesPattern(lines) {
  const parts = lines.map((line) => (line === '...' ? '(?:.*\n)*?' : `${any(line.trimEnd())} *\n`));
  return new RegExp(`^${parts.join('')}$`);
}

// --- following ---

export class Tour {
  #ports = new Map();
  #children = [];

  static async begin(world) {
    const tour = new Tour();
    for (const port of PORTS) tour.#ports.set(port, String(await freePort()));
    world.owns(() => tour.#end());
    return tour;
  }

  get url() {
    return `http://127.0.0.1:${this.#ports.get('8080')}`;
  }

  #translated(command) {
    const text = [...this.#ports].reduce((all, [from, to]) => all.replaceAll(from, to), command);
    return text.replace('build/release/ratelimitd', `"$RATELIMITD_BIN" --threads 2 ${text.includes('--port') ? '' : `--port ${this.#ports.get('8080')}`}`);
  }

  async #end() {
    for (const child of this.#children.reverse()) {
      if (child.running) await child.end('SIGTERM');
    }
  }

  // Starts a program that stays, and waits until it serves.
  async program({ command }) {
    const child = new Child('sh', ['-c', `exec ${this.#translated(command)}`], { env: cleanEnvironment({ RATELIMITD_BIN: program }) });
    this.#children.push(child);
    if (command.startsWith('redis-server')) await until('Redis to answer', () => this.#redisAnswers(child), 20000, 20);
    else await child.output(/listening on/, 20000);
  }

  async #redisAnswers(child) {
    if (!child.running) throw new Error(`redis-server ended: ${child.stdout}${child.stderr}`);
    try {
      const client = await RedisClient.connect({ host: '127.0.0.1', port: Number(this.#ports.get('6390')) });
      client.close();
      return true;
    } catch {
      return false;
    }
  }

  #run(command) {
    return run('sh', ['-c', this.#translated(command)], {}, 30000);
  }

  async command({ command, output }) {
    let { stdout, stderr, code } = await this.#run(command);
    // A change right after Redis is back may come before the link for settings, which has two seconds, as all have.
    for (const end = now() + 2000; stdout.includes('Redis is not available') && now() < end; await sleep(50)) {
      ({ stdout, stderr, code } = await this.#run(command));
    }
    const got = stdout.replaceAll('\r', '').replace(/([^\n])$/, '$1\n');
    const wanted = linesPattern(output);
    assert.ok(wanted.test(got), `$ ${command}\nshould print\n${output.join('\n')}\nprinted (status ${code})\n${got}${stderr}`);
  }
}
