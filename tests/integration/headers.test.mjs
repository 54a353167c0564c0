// The rate limit fields as clients read them: whole numbers, once each, on the right answers, and true.

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { LIMIT_FIELDS, assertLimitFields, assertNotLimited, bucket } from '../harness/decision.mjs';
import { burst } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sleep, undisturbed } from '../harness/time.mjs';

scenario('case HDR-01: whoever waits Retry-After is admitted, and waits no second too long (30 times)', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 2.5) });
  await Promise.all(Array.from({ length: 30 }, async (_, i) => {
    const { key, denied } = await undisturbed(2500, async (attempt) => {
      const name = `k${i}-${attempt}`;
      assert.equal((await server.hit(name)).status, 200);
      await sleep(i * 75); // the moment of denial, spread over the interval
      return { key: name, denied: await server.hit(name) };
    });
    assert.equal(denied.status, 429);
    const wait = denied.number('Retry-After');
    assert.ok(wait >= denied.json.retry_after && wait < denied.json.retry_after + 1, `${wait} for ${denied.json.retry_after}`);
    await sleep(wait * 1000);
    assert.equal((await server.hit(key)).status, 200, `after ${wait} s`);
  }));
});

// Makes the locale, since a machine need not have it: LOCPATH tells the C library where it is.
async function germanLocale(world) {
  const directory = world.directory();
  const made = await run('localedef', ['-i', 'de_DE', '-f', 'UTF-8', join(directory, 'de_DE.UTF-8')], {}, 30000);
  assert.equal(made.code, 0, made.stderr);
  // glibc itself loses 44 bytes when it reads LOCPATH; every other test looks for leaks.
  const env = { LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8', LOCPATH: directory, ASAN_OPTIONS: 'detect_leaks=0' };
  const comma = await run('bash', ['-c', 'printf %.1f 1,5'], { env: { ...process.env, ...env } });
  assert.equal(comma.stdout, '1,5', 'the locale has a decimal comma');
  return env;
}

for (const german of [false, true]) {
  scenario(`case HDR-03: the fields are plain digits, each once${german ? ', under LANG=de_DE.UTF-8 too' : ''}`, async (world) => {
    const env = german ? await germanLocale(world) : {};
    const { server } = await world.pair({ env, args: bucket(3, 1.5, 10.5) });
    for (let i = 0; i < 5; i++) {
      const sentAt = Date.now();
      const response = await server.hit('k');
      assert.equal(response.status, i < 3 ? 200 : 429);
      assertLimitFields(response, { sentAt, gotAt: Date.now() });
    }
    const { refill_rate, refill_interval } = await server.settings();
    assert.deepEqual([refill_rate, refill_interval], [1.5, 10.5]);
    assert.equal((await server.patch({ refill_interval: 2.25 })).json.refill_interval, 2.25);
  });
}

scenario('case HDR-06: fields on every limited answer, Retry-After on 429 alone, none on what was not limited', async (world) => {
  const { redis, server } = await world.pair({ args: [...bucket(6, 1, 60), '--on-redis-error', 'closed'] });
  const limited = [
    await server.hit('k'), await server.hit('k', { cost: 3 }), await server.hit('k', {}, { method: 'HEAD' }),
    await server.hit('k', {}, { method: 'POST' }), await server.hit('k'), await server.hit('k', {}, { method: 'HEAD' }),
  ];
  assert.deepEqual(limited.map((r) => r.status), [200, 200, 200, 200, 429, 429]);
  limited.forEach((response) => assertLimitFields(response));

  const others = [
    await server.hit('k', { cost: 'x' }), await server.hit('k', { cost: 7 }), await server.request('/nowhere'), await server.request('/'),
    await server.request('/admin/config'), await server.request('/healthz'), await server.request('/algorithms'),
    await server.request('/api', { method: 'OPTIONS' }), await server.request('/admin/nowhere'),
  ];
  assert.deepEqual(others.slice(0, 4).map((r) => r.status), [400, 422, 404, 200]);
  for (const response of others) {
    assertNotLimited(response);
    assert.equal(response.headers['retry-after'], undefined);
  }
  await redis.kill();
  const away = await server.hit('k');
  assert.equal(away.status, 503);
  for (const name of LIMIT_FIELDS.slice(1, 4)) assert.equal(away.headers[name], undefined, name);
});

scenario('case HDR-07: Reset is epoch seconds on both statuses, within the time to full, and agrees with Retry-After', async (world) => {
  const { server } = await world.pair({ args: bucket(4, 1, 3) });
  for (let i = 0; i < 7; i++) {
    const response = await server.hit('k');
    const delta = response.number('X-RateLimit-Reset') - Date.parse(response.headers.date) / 1000;
    assert.ok(delta >= 0 && delta <= 12 + 1, `Reset - Date = ${delta}`);
    if (response.status === 429) assert.ok(response.number('Retry-After') <= delta + 1);
  }
});

scenario('case HDR-09: Remaining 2, 1, 0, 0, 0', async (world) => {
  const { server } = await world.pair({ args: bucket(3, 1, 20) });
  const responses = await server.burst('k', 5);
  assert.deepEqual(responses.map((r) => r.remaining), [2, 1, 0, 0, 0]);
  assert.deepEqual(responses.map((r) => r.status), [200, 200, 200, 429, 429]);
});

async function assertDenied(server, key) {
  const response = await server.hit(key);
  assert.equal(response.status, 429, response.text);
  assertLimitFields(response);
}

scenario('case HDR-11: the first denial is a 429 with all fields: fresh start, after a change, after FLUSHALL', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(1, 1, 60) });
  assert.equal((await server.hit('k')).status, 200);
  await assertDenied(server, 'k');
  assert.equal((await server.patch({ refill_interval: 90 })).status, 200);
  await assertDenied(server, 'k');
  assert.equal((await server.hit('l')).status, 200);
  await redis.command('FLUSHALL');
  assert.equal((await server.hit('l')).status, 200);
  await assertDenied(server, 'l');
  assert.equal((await server.patch({ capacity: 2 })).status, 200);
  assert.deepEqual((await burst(3, 1, () => server.hit('m'))).map((r) => r.status), [200, 200, 429]);
  assert.doesNotMatch(server.log, /\berror\b/i);
});

scenario('case HDR-12: Retry-After is the time to the next token, not to a full bucket', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 4) });
  await undisturbed(2900, async (attempt) => {
    const key = `k${attempt}`;
    await server.burst(key, 10);
    assert.equal((await server.hit(key)).headers['retry-after'], '4');
    await sleep(2100);
    const denied = await server.hit(key);
    assert.equal(denied.headers['retry-after'], '2');
    assert.ok(denied.json.retry_after > 1 && denied.json.retry_after <= 1.9, `${denied.json.retry_after}`);
  });
});
