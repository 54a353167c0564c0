// What the program is for, end to end: limiting, sharing a limit, and changing it while it runs.

import assert from 'node:assert/strict';

import { assertDecisionBody, assertLimitFields, bucket } from '../harness/decision.mjs';
import { Load, admitted, burst, statuses } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, sleep, undisturbed } from '../harness/time.mjs';

// One client connection for each of several workers: which worker decides a request is then the connection's choice.
const lanesOf = (server, count) => Array.from({ length: count }, () => server.http.newAgent({ maxSockets: 1 }));

scenario('eleven requests: ten pass, the eleventh waits a second, and then exactly one more passes', async (world) => {
  const { redis, server } = await world.pair();
  const call = () => server.request('/api', { agent: false });
  await undisturbed(1900, async () => {
    await redis.command('DEL', redis.key('ip:127.0.0.1'));
    for (let left = 9; left >= 0; left--) {
      const response = await call();
      assert.equal(response.status, 200);
      assert.equal(response.remaining, left);
      assertDecisionBody(response, { allowed: true, key: 'ip:127.0.0.1', limit: 10, remaining: left, source: 'redis' });
      assertLimitFields(response);
    }
    const denied = await call();
    assert.equal(denied.status, 429);
    assert.equal(denied.headers['retry-after'], '1');
    assertDecisionBody(denied, { allowed: false, remaining: 0 });
    assertLimitFields(denied);
    await sleep(1000 * denied.number('Retry-After'));
    assert.equal((await call()).status, 200);
    assert.equal((await call()).status, 429);
  });
});

scenario('the first request after the start-up line is decided by Redis, on every worker', async (world) => {
  const redis = await world.redis();
  for (let i = 0; i < 10; i++) {
    const server = await world.server({ redis, threads: 4 });
    const responses = await Promise.all(lanesOf(server, 8).map((agent) => server.hit(`k${i}`, {}, { agent })));
    assert.deepEqual(responses.map((r) => r.json.source), Array(8).fill('redis'));
  }
  for (const { child } of world.servers) assert.ok(child.running, 'and it goes on serving');
});

scenario('two servers on one Redis share the count', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(10, 1, 60) });
  const other = await world.server({ redis, args: bucket(10, 1, 60) });
  const responses = [];
  for (let i = 0; i < 14; i++) responses.push(await (i % 2 ? other : server).hit('shared'));
  assert.deepEqual(responses.map((r) => r.remaining), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0]);
  assert.deepEqual(statuses(responses), { 200: 10, 429: 4 });
});

scenario('another key prefix is another world', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(3, 1, 60) });
  const other = await world.server({ redis, args: [...bucket(3, 1, 60), '--key-prefix', 'other:'] });
  assert.equal(admitted(await server.burst('k', 5)), 3);
  assert.equal(admitted(await other.burst('k', 5)), 3);
  assert.deepEqual(await redis.keys(''), ['other:default:token_bucket:{k}', 'rl:default:token_bucket:{k}']);
});

scenario('twenty parallel clients of one key: the capacity is admitted, and what refills meanwhile', async (world) => {
  const { server } = await world.pair();
  const clients = Array.from({ length: 20 }, () => server.http.newAgent({ maxSockets: 1 }));
  const start = now();
  const responses = (await Promise.all(clients.map((agent) => burst(10, 1, () => server.hit('k', {}, { agent }))))).flat();
  const refilled = Math.floor((now() - start) / 1000);
  assert.equal(responses.length, 200);
  const passed = admitted(responses);
  assert.ok(passed >= 10 && passed <= 10 + refilled, `${passed} admitted, ${refilled} refilled`);
  assert.deepEqual(Object.keys(statuses(responses)), ['200', '429']);
});

async function decidingConnections(redis) {
  const clients = await redis.command('CLIENT', 'LIST');
  return clients.split('\n').filter((line) => / cmd=eval(sha)? /.test(line)).length;
}

scenario('PATCH of the capacity is in force for the very next request on every worker, and keeps the state', async (world) => {
  const { redis, server } = await world.pair({ threads: 4, args: bucket(10, 1, 60) });
  const lanes = lanesOf(server, 16);
  for (const agent of lanes) assert.equal((await server.hit('warm', { cost: 0 }, { agent })).number('X-RateLimit-Limit'), 10);
  assert.deepEqual((await server.burst('k', 3)).map((r) => r.remaining), [9, 8, 7]);

  const changed = await server.patch({ capacity: 20 });
  assert.equal(changed.status, 200, changed.text);
  assert.equal(changed.json.capacity, 20);
  const next = await Promise.all(lanes.map((agent, i) => server.hit(`new-${i}`, {}, { agent })));
  assert.deepEqual(next.map((r) => r.number('X-RateLimit-Limit')), Array(16).fill(20));
  assert.deepEqual(next.map((r) => r.remaining), Array(16).fill(19));
  assert.equal(await decidingConnections(redis), 5, 'all four workers took part, and who keeps the configuration');

  const kept = await server.hit('k');
  assert.deepEqual([kept.remaining, kept.number('X-RateLimit-Limit')], [6, 20]);
  assert.equal((await server.patch({ capacity: 4 })).status, 200);
  const cut = await server.hit('k');
  assert.deepEqual([cut.remaining, cut.number('X-RateLimit-Limit')], [3, 4]);
});

scenario('a change under load: no request that begins after its answer is decided by the old settings', async (world) => {
  const { server } = await world.pair({ threads: 3, args: bucket(1000, 1, 60) });
  const lanes = lanesOf(server, 12);
  const load = new Load(12, 1, (lane) => server.hit(`k${lane}`, {}, { agent: lanes[lane] }));
  const changes = [];
  for (const capacity of [2000, 3000, 4000, 5000]) {
    await sleep(120);
    const sent = now();
    assert.equal((await server.patch({ capacity })).status, 200);
    changes.push({ capacity, sent, answered: now() });
  }
  await sleep(120);
  const records = await load.stop();
  const steps = [{ capacity: 1000, sent: 0, answered: 0 }, ...changes];
  for (const { started, ended, response, error } of records) {
    assert.equal(error, null);
    const oldest = steps.findLast((step) => step.answered <= started).capacity;
    const newest = steps.findLast((step) => step.sent <= ended).capacity;
    const limit = response.number('X-RateLimit-Limit');
    assert.ok(limit >= oldest && limit <= newest, `decided by ${limit}, in force were ${oldest}..${newest}`);
  }
  assert.ok(records.length > 50, `${records.length} requests`);
});

scenario('a change of the rate counts for the time since the last decision', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 3600) });
  await server.burst('k', 10);
  assert.equal((await server.hit('k')).status, 429);
  assert.equal((await server.patch({ refill_interval: 0.1 })).status, 200);
  await sleep(350);
  const { remaining, status } = await server.hit('k');
  assert.equal(status, 200);
  assert.ok(remaining >= 2, `remaining ${remaining}`);
});

scenario('/api and everything below it share the key of the address, however the path is spelt', async (world) => {
  const { server } = await world.pair({ args: bucket(5, 1, 60) });
  const paths = ['/api', '/api/', '/api/x', '/api//x/../y', '/%61pi'];
  const responses = await burst(paths.length, 1, (i) => server.request(paths[i]));
  assert.deepEqual(responses.map((r) => r.remaining), [4, 3, 2, 1, 0]);
  assert.equal((await server.request('/api/z')).status, 429);
  assert.equal((await server.request('/apix')).status, 404);
});
