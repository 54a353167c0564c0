// Settings that change while clients are known, and while Redis permits and gives little.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { assertRefused, bucket } from '../harness/decision.mjs';
import { admitted, burst, statuses } from '../harness/http.mjs';
import { BOUND_MS, HASH, assertAgree, assertPatched, fields, instances, reset } from '../harness/instances.mjs';
import { scenario } from '../harness/scenario.mjs';
import { repository } from '../harness/server.mjs';
import { now, sleep, until } from '../harness/time.mjs';

scenario('case ADM-01: a new limit holds for clients already known, up as well as down', async (world) => {
  const { servers: [a, b] } = await instances(world, 2, { args: bucket(5, 5, 10) });
  for (let i = 0; i < 7; i++) await b.hit('k');
  for (const limit of [50, 2]) {
    await assertPatched(a, { capacity: limit });
    await until('the limit', async () => (await b.hit('fresh', { cost: 0 })).number('X-RateLimit-Limit') === limit, BOUND_MS);
    const known = await b.hit('k', { cost: 0 });
    assert.equal(known.number('X-RateLimit-Limit'), limit);
    assert.ok(known.remaining >= 0 && known.remaining <= limit);
    const fresh = await burst(limit + 3, 1, (i) => b.hit(`new-${limit}`, {}, { i }));
    assert.ok([limit, limit + 1].includes(admitted(fresh)), `${admitted(fresh)} of ${limit}`);
  }
});

const SHORTENED = {
  token_bucket: [{ capacity: 3, refill_rate: 3, refill_interval: 3600 }, { refill_interval: 5 }],
  fixed_window: [{ limit: 3, window: 3600 }, { window: 5 }],
  sliding_window_log: [{ limit: 3, window: 3600 }, { window: 5 }],
  sliding_window_counter: [{ limit: 3, window: 3600 }, { window: 5 }],
  leaky_bucket: [{ capacity: 3, leak_rate: 0.001 }, { leak_rate: 0.6 }],
};

scenario('case ADM-04: a shortened window frees who is blocked, no later than one new window', async (world) => {
  const redis = await world.redis();
  await Promise.all(Object.entries(SHORTENED).map(async ([algorithm, [long, short]]) => {
    const server = await world.server({ redis, args: ['--key-prefix', `${algorithm}:`], threads: 1 });
    await assertPatched(server, { algorithm, ...long });
    assert.equal(admitted(await server.burst('k', 5)), 3, algorithm);
    await assertPatched(server, short);
    const changed = now();
    for (let denied = await server.hit('k'); denied.status === 429; denied = await server.hit('k')) {
      assert.ok(now() - changed < 5300, `${algorithm} still blocks`);
      assert.ok(denied.json.retry_after <= 5.001 && denied.json.reset_after <= 5.001, `${algorithm}: ${denied.text}`);
      await sleep(500);
    }
    for (const key of await redis.keys(`${algorithm}:`)) assert.ok(await redis.command('PTTL', key) <= 10100, `TTL of ${key}`);
  }));
});

const IN_ADVANCE = {
  token_bucket: [{ capacity: 2, refill_rate: 20, on_limit: 'delay', max_delay: 3 }, { refill_rate: 1 }],
  leaky_bucket: [{ capacity: 2, leak_rate: 20, on_limit: 'delay', max_delay: 3 }, { leak_rate: 1 }],
};

scenario('case ADM-04: after a change from delay to reject nobody waits for what others took in advance, and they get it', async (world) => {
  const redis = await world.redis();
  for (const [algorithm, [fast, slow]] of Object.entries(IN_ADVANCE)) {
    const server = await world.server({ redis, args: ['--key-prefix', `${algorithm}:`], threads: 1 });
    await assertPatched(server, { algorithm, ...fast });
    const held = server.burst('k', 40, 40);
    held.catch(() => {}); // awaited below; what fails before that shall be told
    const state = async () => (await server.request('/admin/keys?policy=default&key=k')).json.limits[0].fields;
    await until('38 in advance', async () => {
      const { tokens = 0, level = 0 } = (await state()) ?? {};
      return Number(tokens) < -30 || Number(level) > 30;
    }, 1500, 5);
    await assertPatched(server, { ...slow, on_limit: 'reject', max_delay: null });
    const denied = await server.hit('k');
    assert.equal(denied.status, 429, denied.text);
    assert.ok(denied.json.retry_after <= 1, `${algorithm}: ${denied.text}`);
    await sleep(denied.json.retry_after * 1000);
    assert.equal((await server.hit('k')).status, 200, algorithm);
    assert.deepEqual(statuses(await held), { 200: 40 });
  }
});

scenario('case RED-16: while Redis is away each instance gives its share of the limit', async (world) => {
  const { redis, servers } = await instances(world, 2, { args: [...bucket(20, 1, 3600), '--on-redis-error', 'local'] });
  await sleep(100); // the first one has heard of the second
  await redis.kill();
  for (const server of servers) {
    await until('local decisions', async () => (await server.hit('probe', { cost: 0 })).json.source === 'local', 3000);
    assert.equal(admitted(await server.burst('k', 100, 10)), 10);
  }
});

scenario('case RED-13: the permissions that the docs name are enough', async (world) => {
  const redis = await world.redis();
  const line = readFileSync(join(repository, 'docs/redis.md'), 'utf8').match(/^ACL SETUSER limiter on >PASSWORD (.*)$/m)[1];
  await redis.command('ACL', 'SETUSER', 'limiter', 'on', '>pw', ...line.split(' '));
  const options = { redis, args: ['--redis-user', 'limiter', '--on-redis-error', 'closed'], env: { REDIS_PASSWORD: 'pw' } };
  const [a, b] = [await world.server(options), await world.server(options)];
  for (const algorithm of Object.keys(SHORTENED)) {
    await assertPatched(a, { algorithm, ...SHORTENED[algorithm][0] });
    await assertAgree([a, b]);
    assert.equal(admitted(await b.burst(`${algorithm}-k`, 5)), 3, algorithm);
    await redis.command('SCRIPT', 'FLUSH');
  }
  await redis.command('DEL', HASH);
  await until('the document', async () => (await fields(redis)).version === '6', BOUND_MS);
  assert.equal((await reset(b)).status, 200);
  const denied = await redis.command('ACL', 'LOG');
  assert.deepEqual(denied, [], 'nothing was refused');
  assert.doesNotMatch(a.log + b.log, /refuses|NOPERM/);

  await redis.command('ACL', 'SETUSER', 'limiter', '-hset');
  assertRefused(await a.patch({ cost: 2 }), 503, /NOPERM|can't run this command/);
  assert.match(a.log, /Redis refuses/);
  await redis.command('ACL', 'SETUSER', 'limiter', '+hset');
  await assertPatched(a, { cost: 2 });
});
