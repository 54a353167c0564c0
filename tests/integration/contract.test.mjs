// The contract of the endpoints, field by field: decisions, peeks, the demo servers' own calls, the page.

import assert from 'node:assert/strict';

import { assertDecisionBody, assertLimitFields, assertNotLimited, assertRefused, bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sleep, undisturbed } from '../harness/time.mjs';

const form = (fields) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields).toString(),
});

scenario('an allowed and a denied decision carry the members and fields of the contract', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 1) });
  for (let i = 0; i < 12; i++) {
    const sentAt = Date.now();
    const response = await server.hit('alice');
    assertDecisionBody(response, {
      policy: 'default', algorithm: 'token_bucket', key: 'alice', cost: 1, limit: 10, delayed: 0, source: i < 11 ? 'redis' : response.json.source,
      allowed: i < 10, remaining: Math.max(0, 9 - i),
    });
    assert.ok(['redis', 'cache'].includes(response.json.source)); // what Redis denied once may come from the cache
    assert.equal(response.headers['ratelimit-policy'], '"default";q=10;w=10');
    assertLimitFields(response, { sentAt, gotAt: Date.now() });
  }
});

scenario('reset is now when nothing is used, and counts a whole interval after the first request', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 7.5) });
  const full = await server.hit('k', { cost: 0 });
  assert.deepEqual([full.json.remaining, full.json.reset_after], [10, 0]);
  assert.ok(Math.abs(full.number('X-RateLimit-Reset') - Date.now() / 1000) <= 1.1);
  const first = await server.hit('k');
  assert.equal(first.json.reset_after, 7.5);
  assert.equal(first.headers.ratelimit, '"default";r=9;t=8');
  assert.equal(first.headers['ratelimit-policy'], '"default";q=10;w=75');
});

scenario('waiting retry_after is enough, and waiting less is not', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 0.8) });
  await undisturbed(750, async (attempt) => {
    await server.hit(`k${attempt}`);
    const { retry_after: wait } = (await server.hit(`k${attempt}`)).json;
    assert.ok(wait > 0 && wait <= 0.8, `retry_after ${wait}`);
    await sleep(wait * 1000 - 120);
    assert.equal((await server.hit(`k${attempt}`)).status, 429);
  });
  await server.hit('k');
  for (let i = 0; i < 3; i++) {
    const denied = await undisturbed(100, () => server.hit('k'));
    if (denied.status === 429) await sleep(denied.json.retry_after * 1000);
    else await sleep(800);
    assert.equal((await server.hit('k')).status, 200);
  }
});

scenario('a cost takes as many units, and one that can never pass is refused without Retry-After', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(10, 1, 60) });
  assertDecisionBody(await server.hit('k', { cost: 4 }), { cost: 4, remaining: 6 });
  const denied = await server.hit('k', { cost: 7 });
  assert.equal(denied.status, 429);
  assertDecisionBody(denied, { cost: 7, remaining: 6, allowed: false, retry_after: denied.json.reset_after });
  const never = await server.hit('k', { cost: 11 });
  assertRefused(never, 422, /11/);
  assert.equal(never.headers['retry-after'], undefined);
  assertDecisionBody(await server.hit('k', { cost: 6 }), { cost: 6, remaining: 0 });
  assert.deepEqual(await redis.command('HKEYS', redis.key('k')), ['tokens', 'last_refill']);
});

scenario('a peek tells and takes nothing', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(2, 1, 60) });
  assertDecisionBody(await server.hit('k', { cost: 0 }), { allowed: true, remaining: 2 });
  assert.deepEqual(await redis.keys(), [], 'a peek makes no key');
  await server.burst('k', 2);
  const before = await redis.command('HGETALL', redis.key('k'));
  for (let i = 0; i < 3; i++) {
    const peek = await server.hit('k', { cost: 0 });
    assert.equal(peek.status, 200);
    assert.deepEqual([peek.json.allowed, peek.json.remaining], [false, 0]);
    assert.ok(peek.json.retry_after > 0);
  }
  assert.deepEqual(await redis.command('HGETALL', redis.key('k')), before);
});

scenario('deny_status makes a denial another status, and nothing but a status', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 60) });
  assert.equal((await server.hit('k', { deny_status: 403 })).status, 200);
  const denied = await server.hit('k', { deny_status: 403 });
  assert.equal(denied.status, 403);
  assert.equal(denied.json.status, 403);
  assert.match(denied.headers['retry-after'], /^[0-9]+$/);
  assert.equal((await server.hit('k', { deny_status: 'x' })).status, 400);
});

scenario('what a check lacks is named: policy, key, and a policy that is not there', async (world) => {
  const { redis, server } = await world.pair();
  for (const query of ['policy=default', 'policy=default&key=', 'policy=default&key=a&key=b', 'key=a&policy=default&cost=1&cost=2']) {
    assert.equal((await server.request(`/check?${query}`)).status, 400, query);
  }
  assert.ok([400, 403].includes((await server.request('/check')).status));
  assertRefused(await server.request('/check?policy=nobody&key=k'), 404, /nobody/);
  assert.deepEqual(await redis.keys(), []);
});

scenario('a client stays one key in Redis, whatever its text', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(3, 1, 60) });
  const clients = ['a b', 'a{b', '{a}b', 'a%b', '100%25', 'ü', 'a\r\nFLUSHALL\r\n', 'x'.repeat(300) + '1', 'x'.repeat(300) + '2', 'k:ts'];
  for (const client of clients) {
    assertDecisionBody(await server.hit(client), { key: client, remaining: 2 });
    assertDecisionBody(await server.hit(client), { key: client, remaining: 1 });
  }
  const keys = await redis.keys();
  assert.equal(keys.length, clients.length);
  for (const key of keys) {
    assert.match(key, /^rl:default:token_bucket:\{[^{}\x00-\x1f\x7f-\uffff]+\}$/);
    assert.ok(key.length < 300);
    assert.ok((await redis.command('PTTL', key)) > 0, key);
  }
});

scenario('the key goes when it says nothing any more: TTL is the time to full', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(10, 2, 0.5) });
  await server.hit('k', { cost: 5 });
  const ttl = await redis.command('PTTL', redis.key('k'));
  assert.ok(ttl > 1300 && ttl <= 1500, `PTTL ${ttl}`);
});

scenario('OPTIONS never spends, HEAD spends and has no body, POST and any other method are limited', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 60) });
  for (let i = 0; i < 3; i++) {
    const options = await server.request('/api', { method: 'OPTIONS' });
    assert.ok([200, 204].includes(options.status));
    assertNotLimited(options);
  }
  const left = [];
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
    const response = await server.request('/api', { method, body: ['POST', 'PUT', 'PATCH'].includes(method) ? 'x' : undefined });
    assert.equal(response.status, 200, method);
    assert.equal(response.text === '', method === 'HEAD', method);
    assertLimitFields(response);
    left.push(response.remaining);
  }
  assert.deepEqual(left, [9, 8, 7, 6, 5, 4, 3]);
});

scenario('a path under /api that no policy covers is not found, and spends nothing', async (world) => {
  const { redis, server } = await world.pair();
  assert.equal((await server.patch({ paths: ['/api/v1'] })).status, 200);
  assert.equal((await server.request('/api/v1/x')).status, 200);
  assertRefused(await server.request('/api/v10'), 404);
  assertRefused(await server.request('/api'), 404);
  assert.equal((await redis.keys()).length, 1);
});

scenario('/test answers as the demo servers of the Redis guide do', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(2, 1, 60) });
  const config = { capacity: 2, refill_rate: 1, refill_interval: 60 };
  const expected = [[true, 1], [true, 0], [false, 0]];
  for (const [allowed, remaining] of expected) {
    const response = await server.request('/test', form({}));
    assert.equal(response.status, 200);
    assert.deepEqual(response.json, { allowed, remaining, config });
  }
  assert.deepEqual(await redis.keys(), [redis.key('demo:request')]);
});

scenario('/config sets the three values for everything, and says so', async (world) => {
  const { server } = await world.pair();
  const config = { capacity: 20, refill_rate: 2.5, refill_interval: 0.5 };
  const changed = await server.request('/config', form(config));
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.json, { success: true, config });
  assert.deepEqual((await server.request('/test', form({}))).json, { allowed: true, remaining: 19, config });
  assert.equal((await server.hit('k')).number('X-RateLimit-Limit'), 20);
  const { capacity, refill_rate, refill_interval } = await server.settings();
  assert.deepEqual({ capacity, refill_rate, refill_interval }, config);
});

scenario('/config refuses a bad value in its own form, and changes nothing', async (world) => {
  const { server } = await world.pair();
  const before = await server.settings();
  for (const bad of [{ capacity: 0 }, { capacity: 'x' }, { refill_rate: -1 }, { refill_interval: '' }, { capacity: 5, refill_rate: 'nan' }]) {
    const response = await server.request('/config', form(bad));
    assert.equal(response.json.success, false, JSON.stringify(bad));
    assert.match(response.json.error, new RegExp(Object.keys(bad).at(-1)));
  }
  const foreign = await server.request('/config', { ...form({ capacity: 9 }), headers: { ...form({}).headers, Origin: 'http://evil.example' } });
  assert.equal(foreign.status, 403);
  assert.deepEqual(await server.settings(), before);
});

scenario('/algorithms tells names, parameters, bounds and defaults', async (world) => {
  const { server } = await world.pair();
  const response = await server.request('/algorithms');
  assert.equal(response.status, 200);
  assertNotLimited(response);
  const { parameters } = response.json.algorithms.find(({ name }) => name === 'token_bucket');
  assert.deepEqual(parameters.map(({ name }) => name), ['capacity', 'refill_rate', 'refill_interval']);
  assert.deepEqual(parameters.map((parameter) => parameter.default), [10, 1, 1]);
  assert.deepEqual(parameters.map(({ minimum, maximum }) => [minimum, maximum]), [[1, 1e9], [1e-6, 1e9], [0.001, 31536000]]);
  for (const parameter of parameters) assert.ok(parameter.unit && parameter.summary, parameter.name);
});

scenario('/healthz answers while the process serves, and is not limited', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 60) });
  for (let i = 0; i < 5; i++) {
    const response = await server.request('/healthz');
    assert.equal(response.status, 200);
    assertNotLimited(response);
  }
  assert.equal((await server.request('/api')).status, 200);
});

const PAGE_FIELDS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
};

scenario('the page comes with its security fields and an ETag that is honoured', async (world) => {
  const { server } = await world.pair();
  const page = await server.request('/');
  assert.equal(page.status, 200);
  assert.match(page.headers['content-type'], /^text\/html/);
  assert.match(page.text, /<!doctype html>/i);
  for (const [name, value] of Object.entries(PAGE_FIELDS)) assert.equal(page.headers[name]?.replace(/\s+/g, ' '), value, name);
  assertNotLimited(page);
  const again = await server.request('/', { headers: { 'If-None-Match': page.headers.etag } });
  assert.deepEqual([again.status, again.text], [304, '']);
  assert.equal(again.headers.etag, page.headers.etag);
  assert.equal((await server.request('/', { headers: { 'If-None-Match': '"other"' } })).status, 200);
});

scenario('what is not there is 404 in the house\'s form, what is not allowed 405 with Allow', async (world) => {
  const { server } = await world.pair();
  for (const path of ['/nowhere', '/static/index.html', '/../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd']) {
    const response = await server.request(path);
    assert.ok([400, 404].includes(response.status), `${path}: ${response.status}`);
    assertNotLimited(response);
  }
  assertRefused(await server.request('/nowhere'), 404);
  const wrong = await server.request('/healthz', { method: 'DELETE' });
  assertRefused(wrong, 405);
  assert.match(wrong.headers.allow, /GET/);
});

scenario('--ratelimit-fields off leaves out the draft\'s fields alone', async (world) => {
  const { server } = await world.pair({ args: ['--ratelimit-fields', 'off'] });
  const { headers } = await server.hit('k');
  assert.equal(headers.ratelimit, undefined);
  assert.equal(headers['ratelimit-policy'], undefined);
  assert.equal(headers['x-ratelimit-remaining'], '9');
});
