// Several instances on one Redis, and what they say of the configuration that they share.

import assert from 'node:assert/strict';

import { now, sleep } from './time.mjs';

export const BOUND_MS = 1000; // within which every other instance follows
export const HASH = 'rl:config';

export const document = async (server) => (await server.request('/admin/config')).json;
export const version = async (server) => (await document(server)).version;
export const capacity = async (server) => (await server.settings()).capacity;
export const reset = (server) => server.request('/admin/config', { method: 'DELETE' });
export const fields = async (redis) => {
  const flat = await redis.command('HGETALL', HASH);
  return Object.fromEntries(flat.map((value, i) => [value, flat[i + 1]]).filter((_, i) => i % 2 === 0));
};

// Several instances on one Redis.
export async function instances(world, count, options = {}) {
  const redis = await world.redis();
  const servers = [];
  for (let i = 0; i < count; i++) servers.push(await world.server({ redis, ...options }));
  return { redis, servers };
}

export async function assertPatched(server, change) {
  const response = await server.patch(change);
  assert.equal(response.status, 200, response.text);
  return response;
}

// All say the same, within the bound from `start` on.
export async function assertAgree(servers, start = now(), allowed = () => true) {
  const end = start + BOUND_MS;
  for (;;) {
    const texts = await Promise.all(servers.map(async (server) => (await server.request('/admin/config')).text));
    if (texts.every((text) => text === texts[0]) && allowed(JSON.parse(texts[0]))) return JSON.parse(texts[0]);
    assert.ok(now() < end, `no agreement after ${BOUND_MS} ms: ${texts.map((text) => text.slice(0, 200)).join('\n')}`);
    await sleep(10);
  }
}
