// The configuration that all instances share through Redis: who follows, and who wins.

import assert from 'node:assert/strict';

import { assertRefused, bucket } from '../harness/decision.mjs';
import { BOUND_MS, HASH, assertAgree, assertPatched, capacity, document, fields, instances, reset, version } from '../harness/instances.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { now, until } from '../harness/time.mjs';

scenario('a change is followed by every other instance within the bound, and by each decision there', async (world) => {
  const { redis, servers: [a, b, c] } = await instances(world, 3);
  assert.equal(await redis.command('EXISTS', HASH), 0, 'nobody has changed anything');
  for (const [i, server] of [a, b, c, a].entries()) {
    await assertPatched(server, { capacity: 20 + i });
    const { policies, version: seen } = await assertAgree([a, b, c]);
    assert.deepEqual([policies.default.capacity, seen], [20 + i, 2 + i]);
    for (const other of [a, b, c]) assert.equal((await other.hit(`k${i}`)).number('X-RateLimit-Limit'), 20 + i);
  }
  const stored = await fields(redis);
  assert.deepEqual(Object.keys(stored).sort(), ['document', 'nonce', 'version']);
  assert.equal(stored.version, '5');
  assert.deepEqual(JSON.parse(stored.document), { policies: (await document(a)).policies });
});

scenario('what is written without a word being published is noticed by polling', async (world) => {
  const { redis, servers } = await instances(world, 2);
  await assertPatched(servers[0], { capacity: 20 });
  const { document: text } = await fields(redis);
  await redis.command('HSET', HASH, 'version', '7', 'nonce', 'ab', 'document', text.replace('"capacity":20', '"capacity":70'));
  assert.equal((await assertAgree(servers, now(), (all) => all.policies.default.capacity === 70)).version, 7);
});

scenario('case ADM-06: another instance follows, keeps what it missed, and does not push its own settings at a restart', async (world) => {
  const { redis, servers: [a] } = await instances(world, 1);
  const args = bucket(33, 1, 1);
  const b = await world.server({ redis, args });
  await assertPatched(a, { capacity: 44 });
  const start = now();
  await until('the new limit', async () => (await b.hit('k2')).number('X-RateLimit-Limit') === 44, BOUND_MS, 20);
  assert.ok(now() - start <= BOUND_MS);
  assert.match(b.log, /configuration version 2 from Redis \(rl:config\).*overrides --capacity/);
  await b.stop();
  await assertPatched(a, { capacity: 45 });
  const again = await world.server({ redis, args });
  assert.equal(await capacity(again), 45, 'from its first answer on');
  assert.equal((await again.hit('k3')).number('X-RateLimit-Limit'), 45);
  assert.match(again.log, /configuration version 3 from Redis \(rl:config\).*overrides --capacity, --refill-rate, --refill-interval/);
  assert.equal(await capacity(a), 45);
});

scenario('while Redis is away a change gets 503 and changes nothing; afterwards it works', async (world) => {
  const { redis, servers } = await instances(world, 2);
  await assertPatched(servers[0], { capacity: 20 });
  await assertAgree(servers);
  await redis.kill();
  for (const server of servers) {
    await until('503', async () => (await server.patch({ capacity: 21 })).status === 503, 3000);
    assertRefused(await server.patch({ capacity: 21 }), 503, /Redis/);
    assertRefused(await reset(server), 503, /Redis/);
    assert.equal(await capacity(server), 20);
    const form = await server.request('/config', { method: 'POST', body: 'capacity=9', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    assert.deepEqual([form.status, form.json.success], [503, false]);
  }
  await redis.start(); // empty
  await until('the document in Redis', async () => (await fields(redis)).version === '2', 3000);
  assert.equal((await assertAgree(servers)).policies.default.capacity, 20);
  await until('a change', async () => (await servers[1].patch({ capacity: 21 })).status === 200, 3000);
  await until('the other one', async () => (await version(servers[0])) === 3, 3000);
  await assertAgree(servers);
});

scenario('Redis absent at the start: its document is in use as soon as it is there', async (world) => {
  const { redis, servers: [a] } = await instances(world, 1);
  await assertPatched(a, { capacity: 20 });
  redis.freeze();
  const b = await world.server({ redis, args: bucket(33, 1, 1) });
  assert.equal(await capacity(b), 33);
  redis.thaw();
  const start = now();
  await until('the document', async () => (await capacity(b)) === 20, 3000);
  assert.ok(now() - start < 3000);
  assert.equal(await version(b), 2);
});

scenario('with If-Match one of two instances gets 412, without both changes are there', async (world) => {
  const { servers: [a, b] } = await instances(world, 2);
  await assertPatched(a, { capacity: 20 });
  await assertAgree([a, b]);
  const matching = (server, body) => server.patch(body, { headers: { 'If-Match': '"2"', 'Content-Type': 'application/json' } });
  const both = await Promise.all([matching(a, { capacity: 21 }), matching(b, { capacity: 22 })]);
  assert.deepEqual(both.map((response) => response.status).sort(), [200, 412]);
  const { version: after } = await assertAgree([a, b]);
  assert.equal(after, 3);
  await Promise.all([assertPatched(a, { refill_rate: 5 }), assertPatched(b, { cost: 2 })]);
  const { policies, version: last } = await assertAgree([a, b]);
  assert.deepEqual([policies.default.refill_rate, policies.default.cost, last], [5, 2, 5]);
  const fresh = await a.patch({ capacity: 30 });
  const elsewhere = await b.patch({ capacity: 31 }, { headers: { 'If-Match': fresh.headers.etag, 'Content-Type': 'application/json' } });
  assert.equal(elsewhere.status, 200, 'a version that this instance may not have seen yet');
});

scenario('five clients change five members through five instances, 1,000 times: nothing is lost, versions have no gaps', async (world) => {
  const { redis, servers } = await instances(world, 5, { threads: 1, args: bucket(1000, 1, 1) });
  const EACH = 200;
  const values = [
    (i) => ({ capacity: 1000 + i }), (i) => ({ refill_rate: 1 + i }), (i) => ({ refill_interval: (1000 + i) / 1000 }),
    (i) => ({ cost: 1 + i }), (i) => ({ key: `k${i}:{ip}` }),
  ];
  const versions = [];
  await Promise.all(servers.map(async (server, s) => {
    for (let i = 1; i <= EACH; i++) {
      const change = values[s](i);
      const response = await assertPatched(server, change);
      const [member] = Object.keys(change);
      assert.equal(response.json[member], change[member]);
      versions.push(Number(response.headers.etag.slice(1, -1)));
    }
  }));
  versions.sort((left, right) => left - right);
  assert.deepEqual(versions, Array.from({ length: 5 * EACH }, (_, i) => i + 2));
  const { policies, version: last } = await assertAgree(servers);
  const { capacity: size, refill_rate, refill_interval, cost, key } = policies.default;
  assert.deepEqual([size, refill_rate, refill_interval, cost, key], [1200, 201, 1.2, 201, 'k200:{ip}']);
  assert.equal(last, 1001);
  assert.equal((await fields(redis)).version, '1001');
}, { ms: 120000 });

scenario('DELETE /admin/config: every instance goes back to the settings of its own start, under the next version', async (world) => {
  const { redis, servers: [a] } = await instances(world, 1);
  const b = await world.server({ redis, args: bucket(33, 1, 1) });
  assert.equal((await reset(a)).status, 200);
  assert.equal(await version(a), 1, 'there was nothing to delete');
  await assertPatched(a, { capacity: 20 });
  await until('the change', async () => (await capacity(b)) === 20, BOUND_MS);
  const deleted = await reset(b);
  assert.deepEqual([deleted.status, deleted.json.version, deleted.json.policies.default.capacity], [200, 3, 33]);
  await until('its own start', async () => (await capacity(a)) === 10, BOUND_MS);
  assert.equal(await version(a), 3);
  const fresh = await world.server({ redis, args: bucket(44, 1, 1) });
  assert.equal(await capacity(fresh), 44);
  await assertPatched(fresh, { cost: 2 });
  const { policies, version: last } = await assertAgree([a, b, fresh], now(), (all) => all.policies.default.cost === 2);
  assert.deepEqual([policies.default.capacity, last], [44, 4]);
});

scenario('1,000 policies in one document; a change of one is quick', async (world) => {
  const { servers: [a, b] } = await instances(world, 2);
  const policies = { default: {} };
  for (let i = 0; i < 1000; i++) policies[`p${i}`] = { paths: [`/api/p${i}`], capacity: i + 1 };
  const put = await a.request('/admin/config', { method: 'PUT', body: { policies } });
  assert.equal(put.status, 200, put.text.slice(0, 300));
  await until('all of them', async () => Object.keys((await document(b)).policies).length === 1001, BOUND_MS, 20);
  const times = [];
  for (let i = 0; i < 10; i++) {
    const response = await a.request(`/admin/policies/p${i}`, { method: 'PATCH', body: { capacity: 5000 + i } });
    assert.equal(response.status, 200, response.text);
    times.push(response.ms);
  }
  times.sort((left, right) => left - right);
  assert.ok(times[5] < 500 * sanitizerFactor(), `median of ${times.map(Math.round)} ms`);
  await until('the last', async () => (await b.request('/admin/policies/p9')).json.capacity === 5009, BOUND_MS, 20);
  assert.equal((await b.request('/api/p999')).number('X-RateLimit-Limit'), 1000);
});
