// Algorithm arithmetic over HTTP in real time, as others got it wrong. Waiting is shortened by faster rates; the counts
// and their tolerances are those of the cases.

import assert from 'node:assert/strict';

import { assertDecisionBody, bucket } from '../harness/decision.mjs';
import { admitted, burst, statuses } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, polled, sleep, undisturbed } from '../harness/time.mjs';

const LIBFAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

function assertBetween(value, low, high, what) {
  assert.ok(value >= low && value <= high, `${what}: ${value} is not within ${low}..${high}`);
}

// How many of the requests, one every `period` ms for `total` ms, are admitted.
const earned = async (server, key, period, total) => admitted(await polled(period, total, () => server.hit(key)));

scenario('case ALG-01: fractional tokens are not lost under polling, however fast', async (world) => {
  const { server } = await world.pair({ args: bucket(5, 2, 0.4) });
  await Promise.all([40, 8, 180].map((period) => undisturbed(4390, async (attempt) => {
    const key = `k${period}-${attempt}`;
    assert.equal(admitted(await server.burst(key, 5, 5)), 5);
    assertBetween(await earned(server, key, period, 4050), 17, 21, `polled every ${period} ms`);
  })));
});

scenario('case ALG-03: a sleep earns periods times amount, never more than the capacity', async (world) => {
  const { server } = await world.pair({ args: bucket(20, 5, 0.4) });
  await undisturbed(1190, async (attempt) => {
    assert.equal(admitted(await server.burst(`k${attempt}`, 20, 20)), 20);
    await sleep(880);
    assertBetween(admitted(await server.burst(`k${attempt}`, 20, 20)), 10, 12, 'after 2.2 periods');
  });
  await undisturbed(2390, async (attempt) => {
    assert.equal(admitted(await server.burst(`l${attempt}`, 20, 20)), 20);
    await sleep(2050);
    assert.equal(admitted(await server.burst(`l${attempt}`, 30, 30)), 20);
  });
});

scenario('case ALG-05: a server whose clock is two seconds slow refills nothing twice', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(10, 10, 0.4) });
  const slow = await world.server({
    redis,
    args: bucket(10, 10, 0.4),
    env: { LD_PRELOAD: LIBFAKETIME, FAKETIME: '-2', FAKETIME_DONT_FAKE_MONOTONIC: '1', ASAN_OPTIONS: 'verify_asan_link_order=0' },
  });
  const date = async (which) => Date.parse((await which.request('/healthz')).headers.date);
  const behind = (await date(server)) - (await date(slow));
  assertBetween(behind, 1000, 3000, 'how far the second clock is behind');

  const start = now();
  const responses = [];
  while (now() - start < 2000) responses.push(await (responses.length % 2 ? slow : server).hit('k'));
  assertBetween(admitted(responses), 10 + 10, 10 + 10 * 5 + 1, 'admitted in five periods');
  responses.push(await slow.hit('k', { cost: 0 }));
  const last = responses.at(-1);
  assertBetween(last.number('X-RateLimit-Reset') - Date.parse(last.headers.date) / 1000, 0, 2, 'Reset by that server\'s own clock');
});

scenario('case ALG-07: a rate below one token a step is kept, not rounded', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 0.2, 0.1) });
  assert.equal((await server.settings()).refill_rate, 0.2);
  await undisturbed(2300, async (attempt) => {
    assertBetween(await earned(server, `k${attempt}`, 20, 2000), 4, 6, 'admitted in 20 steps of 0.2');
  });
});

scenario('case ALG-09: a zero that would divide is refused, and the old setting stays in force under traffic', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(1000, 1, 60) });
  const before = await server.settings();
  const traffic = burst(300, 4, () => server.hit('k'));
  for (const change of [{ refill_rate: 0 }, { refill_interval: 0 }, { capacity: 0 }, { refill_rate: 0.0 }, { refill_interval: -0 }, { window: 0 }, { limit: 0 }]) {
    assert.equal((await server.patch(change)).status, 422, JSON.stringify(change));
  }
  assert.deepEqual(statuses(await traffic), { 200: 300 });
  assert.deepEqual(await server.settings(), before);
  assert.equal((await server.hit('k')).remaining, 699);
  assert.ok((await redis.command('TTL', redis.key('k'))) > 0);
});

scenario('case ALG-10: zero capacity is refused, so it never admits', async (world) => {
  const { server } = await world.pair({ args: bucket(2, 1, 60) });
  await server.burst('used', 2);
  const refused = await server.patch({ capacity: 0 });
  assert.equal(refused.status, 422);
  assert.match(refused.json.detail, /capacity.*0/);
  assert.deepEqual(statuses(await server.burst('used', 20, 4)), { 429: 20 });
  assert.equal(admitted(await server.burst('fresh', 20, 4)), 2);
});

scenario('case ALG-11: negative cost and negative settings mint nothing', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(5, 1, 600) });
  await server.burst('k', 5);
  const state = await redis.command('HGETALL', redis.key('k'));
  const settings = await server.settings();
  for (const cost of ['-5', '-0.0', '-0', '-1e9', '-1', '-9223372036854775808', '-18446744073709551615']) {
    assert.equal((await server.hit('k', { cost })).status, 400, cost);
  }
  for (const name of ['capacity', 'refill_rate', 'refill_interval', 'cost']) {
    assert.equal((await server.patch({ [name]: -5 })).status, 422, name);
  }
  assert.deepEqual(await redis.command('HGETALL', redis.key('k')), state);
  assert.deepEqual(await server.settings(), settings);
  assert.equal((await server.hit('k')).status, 429);
});

scenario('case ALG-13: a cost that is no whole number in digits is refused before the script', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(200, 1, 600) });
  const costs = [
    '0.5', '1.5', '1e2', '0x10', '１', '', '1 ', ' 1', '+1', '1e400', 'nan', 'inf', '-nan', 'NaN', 'Infinity', '1,5', '1\n', '\u00001',
    '1\u0000', '99999999999999999999', '9223372036854775808', '18446744073709551617', '01x', '1_000',
  ];
  for (const cost of costs) assert.equal((await server.hit('k', { cost })).status, 400, JSON.stringify(cost));
  assert.equal((await server.request('/check?policy=default&key=k&cost')).status, 400);
  assert.deepEqual(await redis.keys(), []);
  assertDecisionBody(await server.hit('k', { cost: 100 }), { cost: 100, remaining: 100 });
});

scenario('case ALG-27: two servers under parallel load admit the capacity exactly, each Remaining once', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(100, 1, 60) });
  const other = await world.server({ redis, args: bucket(100, 1, 60) });
  const responses = (await Promise.all([server.burst('k', 300, 50), other.burst('k', 300, 50)])).flat();
  assert.deepEqual(statuses(responses), { 200: 100, 429: 500 });
  const left = responses.filter((r) => r.status === 200).map((r) => r.remaining).sort((a, b) => b - a);
  assert.deepEqual(left, Array.from({ length: 100 }, (_, i) => 99 - i));
});

scenario('a full bucket\'s clock stands still: refills count from the request that takes first', async (world) => {
  const { server } = await world.pair({ args: bucket(2, 1, 0.6) });
  await server.hit('k');
  await sleep(1000);
  const { started } = await server.hit('k');
  const second = await server.hit('k');
  const latest = now() - started;
  assert.equal(second.remaining, 0);
  assertBetween(second.json.reset_after, 0.6 - latest / 1000, 0.6, 'a whole interval from the first take on');
});
