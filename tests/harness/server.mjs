// The program under test: started on a free port, found by its start-up line, stopped by SIGTERM, and held to leave
// with exit status 0 and without a word from a sanitizer.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Child, openFiles, peakKiB, residentKiB, run } from './child.mjs';
import { HttpClient, burst } from './http.mjs';

const repository = fileURLToPath(new URL('../../', import.meta.url));
export const program = process.env.RATELIMITD_BIN ?? `${repository}build/release/ratelimitd`;
export { repository };

const START_LINE = /^ratelimitd (\S+) listening on http:\/\/(\S+):(\d+)(?:, all addresses)? \(Redis (.+), (\d+) threads?\)$/m;
const SANITIZER = /ERROR: AddressSanitizer|runtime error|WARNING: ThreadSanitizer|LeakSanitizer|ERROR: MemorySanitizer/;

// By what a sanitizer's build needs more time to compute and more memory than the one that people run. Bounds on
// either are multiplied by it; without a sanitizer it is 1.
export function sanitizerFactor() {
  const binary = readFileSync(program);
  return binary.includes('__tsan_init') ? 4 : binary.includes('__asan_init') ? 2 : 1;
}

// Freed memory that the sanitizer keeps would look like growth.
const ASAN_OPTIONS = ['quarantine_size_mb=4'];

// The environment without what would set options behind a test's back; sanitizer options add up.
export function cleanEnvironment(extra = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(RATELIMITD_|REDIS_|NODE_TEST)/.test(name));
  const asan = [...ASAN_OPTIONS, process.env.ASAN_OPTIONS, extra.ASAN_OPTIONS].filter(Boolean).join(':');
  return { ...Object.fromEntries(kept), ...extra, ASAN_OPTIONS: asan };
}

export class Server {
  // `options`: redis (RedisServer or StubRedis), args, env, threads, port.
  static async start({ redis, args = [], env = {}, threads = 2, port = 0 } = {}) {
    const server = new Server();
    const address = redis ? ['--redis-host', '127.0.0.1', '--redis-port', String(redis.port)] : [];
    server.child = new Child(program, ['--port', String(port), '--threads', String(threads), ...address, ...args], {
      env: cleanEnvironment(env),
    });
    const line = await server.child.output(START_LINE, 20000);
    [server.startLine, server.version, server.host] = line;
    server.port = Number(line[3]);
    server.http = new HttpClient(server.port);
    return server;
  }

  get pid() {
    return this.child.pid;
  }

  get log() {
    return this.child.stderr;
  }

  request(path, options) {
    return this.http.request(path, options);
  }

  // One limited request for client `key`; `query` adds to it: {cost: 2}.
  hit(key, query = {}, options = {}) {
    const text = new URLSearchParams({ policy: 'default', key, ...query });
    return this.request(`/check?${text}`, options);
  }

  // `count` limited requests for one client, `parallel` at a time.
  burst(key, count, parallel = 1) {
    return burst(count, parallel, () => this.hit(key));
  }

  patch(change, options = {}) {
    return this.request('/admin/policies/default', { method: 'PATCH', body: change, ...options });
  }

  async settings(options) {
    const response = await this.request('/admin/policies/default', options);
    assert.equal(response.status, 200, response.text);
    return response.json;
  }

  get openFiles() {
    return openFiles(this.pid);
  }

  get peakKiB() {
    return peakKiB(this.pid);
  }

  get residentKiB() {
    return residentKiB(this.pid);
  }

  // SIGTERM: must end by itself with status 0, with nothing for a sanitizer to say.
  async stop(ms = 8000) {
    this.http.close();
    const result = await this.child.end('SIGTERM', ms);
    this.checkOutput();
    assert.deepEqual({ code: result.code, signal: result.signal }, { code: 0, signal: null }, `exit of the server:\n${this.log.slice(-2000)}`);
  }

  async kill() {
    this.http.close();
    await this.child.kill();
    this.checkOutput();
  }

  checkOutput() {
    const found = this.log.match(SANITIZER) ?? this.child.stdout.match(SANITIZER);
    assert.equal(found, null, `a sanitizer complained:\n${this.log.slice(found?.index ?? 0).slice(0, 6000)}`);
  }

  async close() {
    if (this.child.running) return this.stop();
    this.http.close();
    this.checkOutput();
    const { code, signal } = await this.child.exited;
    assert.ok(code === 0 || signal === 'SIGKILL', `the server ended by itself: code ${code}, signal ${signal}\n${this.log.slice(-2000)}`);
    return undefined;
  }
}

// Runs the program to its end, for options that make it end.
export const runProgram = (args, env = {}) => run(program, args, { env: cleanEnvironment(env) });
