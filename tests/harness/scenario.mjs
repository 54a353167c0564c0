// A test with a world of its own: what it starts is stopped in reverse order, whatever happens, and a server that
// does not leave properly fails the test.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

import { RawConnection } from './raw.mjs';
import { RedisServer } from './redis.mjs';
import { Server } from './server.mjs';
import { StubRedis } from './stub_redis.mjs';
import { TcpProxy } from './tcp_proxy.mjs';
import { within } from './time.mjs';

export class World {
  #closers = [];
  servers = [];
  #over = false;

  // `close` runs when the test is over.
  owns(close) {
    if (this.#over) throw new Error('the test is over');
    this.#closers.push(close);
  }

  async redis({ args, started = true } = {}) {
    const redis = await RedisServer.prepare(args);
    this.owns(() => redis.close());
    if (started) await redis.start();
    return redis;
  }

  async stubRedis(answer) {
    const stub = await StubRedis.start(answer);
    this.owns(() => stub.close());
    return stub;
  }

  // Something between a server and Redis that cuts replies.
  async proxy(redis) {
    const proxy = await TcpProxy.start(redis.port);
    this.owns(() => proxy.close());
    return proxy;
  }

  async server(options) {
    if (this.#over) throw new Error('the test is over');
    const server = await Server.start(options);
    if (this.#over) await server.kill(); // a lane that went on when another had failed
    this.servers.push(server);
    this.owns(() => server.close());
    return server;
  }

  // A private Redis and one server on it.
  async pair(options = {}) {
    const redis = await this.redis();
    const server = await this.server({ redis, ...options });
    return { redis, server };
  }

  async raw(server) {
    const raw = await RawConnection.open(server.port);
    this.owns(() => raw.close());
    return raw;
  }

  directory() {
    const path = mkdtempSync(join(tmpdir(), 'ratelimitd-test-'));
    this.owns(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  async close() {
    this.#over = true;
    const errors = [];
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

// test(name, ...) with a world. `ms` bounds the whole of it.
export function scenario(name, body, { ms = 60000 } = {}) {
  test(name, async (t) => {
    const world = new World();
    try {
      await within(ms, `scenario "${name}"`, body(world, t));
    } catch (error) {
      for (const server of world.servers) t.diagnostic(`server log:\n${server.log.slice(-3000)}`);
      await world.close().catch((closing) => t.diagnostic(`while closing: ${closing.message}`));
      throw error;
    }
    await world.close();
  });
}
