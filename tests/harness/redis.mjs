// A private redis-server: own directory, Unix socket and free port, stopped by its pid. Keeps nothing on disk.

import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Child } from './child.mjs';
import { RedisClient } from './resp.mjs';
import { until } from './time.mjs';

const PORTS = [20000, 32768]; // below those that the kernel gives to outgoing connections, one of which could come first

// A port of this machine where nobody listens now.
export async function freePort() {
  for (;;) {
    const probe = net.createServer();
    const port = randomInt(...PORTS);
    const free = await new Promise((resolve) => probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)));
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

export class RedisServer {
  #child = null;
  #client = null;

  // Makes place and port for it; `start` starts it. `args`: more of redis-server's options.
  static async prepare(args = []) {
    const server = new RedisServer();
    server.directory = mkdtempSync(join(tmpdir(), 'ratelimitd-test-'));
    server.socket = join(server.directory, 'redis.sock');
    server.port = await freePort();
    server.args = args;
    return server;
  }

  get pid() {
    return this.#child.pid;
  }

  async start() {
    this.launch();
    await this.ready();
  }

  // Starts it and does not wait until it serves.
  launch() {
    this.#child = new Child('redis-server', [
      '--bind', '127.0.0.1', '--port', String(this.port), '--unixsocket', this.socket, '--dir', this.directory,
      '--save', '', '--appendonly', 'no', ...this.args,
    ]);
  }

  async ready(ms = 20000) {
    await until('PONG from Redis', () => this.#pings(), ms, 5);
  }

  async #pings() {
    if (!this.#child.running) throw new Error(`redis-server ended: ${this.#child.stdout}${this.#child.stderr}`);
    try {
      this.#client = await RedisClient.connect({ path: this.socket });
      return (await this.#client.command('PING')) === 'PONG';
    } catch {
      this.#client?.close();
      return false;
    }
  }

  command(...args) {
    return this.#client.command(...args);
  }

  // A connection of its own, for a command that blocks or changes the connection.
  connect() {
    return RedisClient.connect({ path: this.socket });
  }

  // All keys of clients under a prefix, sorted.
  async keys(prefix = 'rl:') {
    const keys = await this.command('KEYS', `${prefix}*`);
    return keys.filter((key) => key.includes('{')).sort(); // not what the instances share
  }

  // The key in Redis that holds a client under the token bucket of policy `default`.
  key(client, prefix = 'rl:') {
    return `${prefix}default:token_bucket:{${client}}`;
  }

  freeze() {
    this.#child.signal('SIGSTOP');
  }

  thaw() {
    this.#child.signal('SIGCONT');
  }

  async kill() {
    this.#client?.close();
    await this.#child?.kill();
  }

  async restart() {
    await this.kill();
    await this.start();
  }

  async close() {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
