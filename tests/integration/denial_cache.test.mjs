// Denials that Redis would repeat are answered without it, and are forgotten when they might not be true any more.
// That the decisions are the same with and without: tests/property/test_denial_cache.c.

import assert from 'node:assert/strict';

import { assertDecisionBody, bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { until } from '../harness/time.mjs';

const ONE = bucket(1, 1, 600);

// A busy machine may be too slow for the cache once (a round trip above 4 ms), not twenty times in a row.
async function deniedFromCache(server, key) {
  let response;
  await until('a denial from the cache', async () => {
    response = await server.hit(key);
    assert.equal(response.status, 429);
    return response.json.source === 'cache';
  });
  return response;
}

scenario('a repeated denial comes from the cache, with honest numbers, and costs Redis nothing', async (world) => {
  const { server } = await world.pair({ args: ONE });
  await server.hit('k');
  const denial = await deniedFromCache(server, 'k');
  assertDecisionBody(denial, { allowed: false, key: 'k', cost: 1, limit: 1, remaining: 0, source: 'cache' });
  assert.ok(denial.json.retry_after > 590 && denial.json.retry_after <= 600, `${denial.json.retry_after}`);
  assert.equal(Number(denial.headers['retry-after']), Math.ceil(denial.json.retry_after));
  assert.equal((await server.hit('l')).status, 200);
});

scenario('the same decisions as without it when the wait is over', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 0.4) });
  for (let i = 0; i < 3; i++) {
    assert.equal((await server.hit(`k${i}`)).status, 200);
    const { json } = await deniedFromCache(server, `k${i}`);
    assert.ok(json.retry_after <= 0.4);
    await until('room again', async () => (await server.hit(`k${i}`)).status === 200);
  }
});

scenario('a forgotten client is let in at once, by another instance within a second', async (world) => {
  const { redis, server } = await world.pair({ args: ONE });
  const other = await world.server({ redis, args: ONE });
  await server.hit('k');
  await deniedFromCache(server, 'k');
  await deniedFromCache(other, 'k');
  assert.equal((await server.request('/admin/keys?policy=default&key=k', { method: 'DELETE' })).status, 200);
  assert.equal((await server.hit('k')).status, 200);
  assert.equal((await server.request('/admin/keys?policy=default&key=k', { method: 'DELETE' })).status, 200);
  await until('the other has forgotten', async () => (await other.hit('k')).status === 200);
});

scenario('a change of the limit is followed at once', async (world) => {
  const { server } = await world.pair({ args: ONE });
  await server.hit('k');
  await deniedFromCache(server, 'k');
  await server.patch({ refill_interval: 0.001 });
  assert.equal((await server.hit('k')).status, 200);
});

scenario('--denial-cache off always asks', async (world) => {
  const { server } = await world.pair({ args: [...ONE, '--denial-cache', 'off'] });
  await server.hit('k');
  for (let i = 0; i < 20; i++) assert.equal((await server.hit('k')).json.source, 'redis');
});
