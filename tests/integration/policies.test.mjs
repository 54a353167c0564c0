// Many policies over HTTP: those there are at the start, how they come and go, methods, several limits at once, and what
// a limit does when it is reached: refuse, merely watch, or hold until there is room.

import assert from 'node:assert/strict';

import { QUOTA_TYPE, assertNotLimited, assertRefused, bucket } from '../harness/decision.mjs';
import { burst, statuses } from '../harness/http.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, sleep, undisturbed, until } from '../harness/time.mjs';

const BUILT_IN = ['token-bucket', 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'leaky-bucket'];

const put = (server, name, body, options = {}) => server.request(`/admin/policies/${name}`, { method: 'PUT', body, ...options });
const remove = (server, path, options = {}) => server.request(path, { method: 'DELETE', ...options });
const check = (server, policy, key, query = {}) => server.request(`/check?${new URLSearchParams({ policy, key, ...query })}`);
const ownAgents = (server, count) => Array.from({ length: count }, () => server.http.newAgent({ maxSockets: 1 }));

scenario('one policy of each algorithm to begin with: ten at once, by user or address, each on its path', async (world) => {
  const { redis, server } = await world.pair();
  for (const name of BUILT_IN) {
    const algorithm = name.replaceAll('-', '_');
    const hit = (query) => server.request(`/api/${name}${query}`);
    const responses = await undisturbed(700, (attempt) => burst(11, 1, () => hit(`?user=bob${attempt}`)));
    assert.deepEqual(statuses(responses), { 200: 10, 429: 1 }, name);
    assert.deepEqual([responses[0].json.algorithm, responses[0].json.policy, responses[0].json.limit], [algorithm, name, 10]);
    assert.match(responses[0].json.key, /^user:bob/);
    assert.deepEqual(responses[10].json['violated-policies'], [name]);
    assert.ok(responses[10].json.retry_after <= 12, `${name}: retry_after ${responses[10].json.retry_after}`);
    assert.equal((await hit('')).json.key, 'user:@ip:127.0.0.1');
  }
  assert.ok((await redis.keys()).includes('rl:leaky-bucket:leaky_bucket:{user:@ip:127.0.0.1}'));
  const { policies } = (await server.request('/admin/config')).json;
  assert.deepEqual(Object.keys(policies), ['default', ...BUILT_IN].sort());
});

scenario('a policy comes by PUT, changes by PATCH, goes by DELETE; default stays', async (world) => {
  const { server } = await world.pair();
  const made = await put(server, 'mine', { paths: ['/api/mine'], capacity: 2 });
  assert.equal(made.status, 201);
  assert.equal(made.headers.location, '/admin/policies/mine');
  assert.deepEqual([made.json.capacity, made.json.on_limit], [2, 'reject']);
  assert.equal((await put(server, 'mine', { paths: ['/api/mine'], capacity: 3 })).status, 200);
  const patched = await server.request('/admin/policies/mine', { method: 'PATCH', body: { algorithm: 'fixed_window', limit: 1 } });
  assert.deepEqual([patched.json.algorithm, patched.json.limit, patched.json.window, 'capacity' in patched.json], ['fixed_window', 1, 10, false]);
  assert.deepEqual(statuses(await burst(3, 1, () => server.request('/api/mine/x'))), { 200: 1, 429: 2 });
  assertRefused(await remove(server, '/admin/policies/mine', { headers: { 'If-Match': '"1"' } }), 412);
  const gone = await remove(server, '/admin/policies/mine', { headers: { 'If-Match': patched.headers.etag } });
  assert.deepEqual([gone.status, gone.text, gone.headers.etag], [204, '', `"${Number(patched.headers.etag.slice(1, -1)) + 1}"`]);
  assert.equal((await server.request('/api/mine/x')).json.policy, 'default');
  assertRefused(await remove(server, '/admin/policies/mine'), 404, /mine/);
  assertRefused(await remove(server, '/admin/policies/default'), 409, /default/);
  assert.equal((await remove(server, '/admin/policies/token-bucket')).status, 204);
  assert.equal((await server.request('/api/token-bucket')).json.policy, 'default');
  assertRefused(await put(server, 'twice', { paths: ['/api'] }), 422, /which policy default has already/);
});

scenario('DELETE of the configuration goes back to the settings of the start', async (world) => {
  const { server } = await world.pair({ args: ['--algorithm', 'sliding_window_log', '--limit', '4', '--window', '2.5'] });
  const first = (await server.request('/admin/config')).json;
  assert.deepEqual([first.policies.default.algorithm, first.policies.default.limit, first.policies.default.window], ['sliding_window_log', 4, 2.5]);
  await server.patch({ limit: 9 });
  await remove(server, '/admin/policies/leaky-bucket');
  const back = await remove(server, '/admin/config');
  assert.equal(back.status, 200);
  assert.deepEqual(back.json.policies, first.policies);
  assert.equal(back.headers.etag, `"${back.json.version}"`);
  assert.ok(back.json.version > first.version);
  assert.deepEqual(statuses(await burst(5, 1, () => server.hit('k'))), { 200: 4, 429: 1 });
});

scenario('methods choose among policies of one path; what none covers is not found', async (world) => {
  const { redis, server } = await world.pair();
  const policies = {
    default: { paths: [] },
    reads: { paths: ['/api/x'], methods: ['GET'], capacity: 3, key: 'reads' },
    writes: { paths: ['/api/x'], methods: ['POST', 'PUT'], capacity: 2, key: 'writes' },
  };
  assert.equal((await server.request('/admin/config', { method: 'PUT', body: { policies } })).status, 200);
  const hit = (method) => server.request('/api/x/y', { method });
  assert.deepEqual([(await hit('GET')).json.policy, (await hit('POST')).json.policy, (await hit('PUT')).json.remaining], ['reads', 'writes', 0]);
  assert.equal((await hit('HEAD')).remaining, 1);
  assertNotLimited(await hit('DELETE'));
  assertRefused(await hit('DELETE'), 404, /No policy covers DELETE/);
  assert.deepEqual(await redis.keys(), ['rl:reads:token_bucket:{reads}', 'rl:writes:token_bucket:{writes}']);
  assertRefused(await put(server, 'more', { paths: ['/api/x'], methods: ['PUT'] }), 422, /writes has already/);
  assertRefused(await put(server, 'more', { methods: ['put'] }), 422, /methods\[0\] must be "GET"/);
});

const TWO = [
  { name: 'burst', algorithm: 'token_bucket', capacity: 2, refill_rate: 1, refill_interval: 600 },
  { name: 'daily', algorithm: 'fixed_window', limit: 5, window: 86400 },
];

scenario('several limits: all are told, a denial takes from none, the longest wait binds', async (world) => {
  const { redis, server } = await world.pair({ args: ['--denial-cache', 'off'] }); // keys are deleted by hand
  await put(server, 'two', { limits: TWO });
  const first = await check(server, 'two', 'k');
  assert.deepEqual(first.json.limits.map(({ name, limit, remaining }) => [name, limit, remaining]), [['burst', 2, 1], ['daily', 5, 4]]);
  assert.deepEqual([first.json.limit, first.json.remaining, first.json.algorithm], [2, 1, 'token_bucket']);
  assert.equal(first.headers['ratelimit-policy'], '"two/burst";q=2;w=1200, "two/daily";q=5;w=86400');
  assert.match(first.headers.ratelimit, /^"two\/burst";r=1;t=\d+, "two\/daily";r=4;t=86400$/);
  assert.deepEqual([first.headers['x-ratelimit-limit'], first.headers['x-ratelimit-remaining']], ['2', '1']);
  await check(server, 'two', 'k');
  for (let i = 0; i < 3; i++) {
    const { status, json, headers } = await check(server, 'two', 'k');
    assert.deepEqual([status, json.type, json['violated-policies']], [429, QUOTA_TYPE, ['two/burst']]);
    assert.deepEqual(json.limits.map(({ remaining, retry_after }) => [remaining, retry_after > 0]), [[0, true], [3, false]]);
    assert.equal(Number(headers['retry-after']), Math.ceil(json.retry_after));
  }
  assert.equal(await redis.command('HGET', 'rl:two:daily:{k}', 'count'), '2');
  for (let i = 0; i < 3; i++) {
    await redis.command('DEL', 'rl:two:burst:{k}');
    assert.equal((await check(server, 'two', 'k')).status, 200);
  }
  const { json } = await check(server, 'two', 'k', { cost: 2 });
  assert.deepEqual(json['violated-policies'], ['two/burst', 'two/daily']);
  assert.deepEqual([json.algorithm, json.limit, json.remaining], ['fixed_window', 5, 0]);
  assert.ok(json.retry_after > 86000);
  assertRefused(await check(server, 'two', 'k', { cost: 3 }), 422, /at most 2 at once/);
});

scenario('several limits: two servers under parallel load take from all or none', async (world) => {
  const { redis, server } = await world.pair();
  const other = await world.server({ redis });
  const limits = [
    { name: 'a', algorithm: 'sliding_window_log', limit: 40, window: 600 },
    { name: 'b', algorithm: 'leaky_bucket', capacity: 60, leak_rate: 0.001 },
    { name: 'c', algorithm: 'sliding_window_counter', limit: 50, window: 86400 },
    { name: 'd', algorithm: 'fixed_window', limit: 55, window: 600 },
  ];
  await put(server, 'four', { limits });
  await until('the other server to follow', async () => (await check(other, 'four', 'x', { cost: 0 })).status === 200);
  const both = await Promise.all([server, other].map((each) => burst(60, 10, () => check(each, 'four', 'k'))));
  assert.deepEqual(statuses(both.flat()), { 200: 40, 429: 80 });
  const { json } = await check(server, 'four', 'k', { cost: 0 });
  assert.deepEqual(json.limits.map(({ name, remaining }) => [name, remaining]), [['a', 0], ['b', 20], ['c', 10], ['d', 15]]);
});

scenario('from one algorithm to several limits and back by merge patch; another name is another state', async (world) => {
  const { server } = await world.pair({ args: bucket(3, 1, 600) });
  await server.burst('k', 2);
  assertRefused(await server.patch({ limits: TWO }), 422, /cannot stand beside limits/);
  const several = await server.patch({ limits: TWO, algorithm: null });
  assert.deepEqual([several.status, several.json.limits.length, 'algorithm' in several.json], [200, 2, false]);
  assert.equal((await server.hit('k')).json.limits[1].remaining, 4);
  const renamed = await server.patch({ limits: [{ ...TWO[0] }, { ...TWO[1], name: 'long' }] });
  assert.equal(renamed.status, 200);
  assert.deepEqual((await server.hit('k')).json.limits.map(({ name, remaining }) => [name, remaining]), [['burst', 0], ['long', 4]]);
  const back = await server.patch({ limits: null, algorithm: 'token_bucket', capacity: 3, refill_interval: 600 });
  assert.deepEqual([back.json.algorithm, back.json.capacity, back.json.limits], ['token_bucket', 3, undefined]);
  assert.equal((await server.hit('k')).json.remaining, 0, 'the bucket of before goes on');
});

scenario('shadow: lets through, and says what it would have done', async (world) => {
  const { server } = await world.pair();
  await put(server, 'watch', { capacity: 2, refill_interval: 600, on_limit: 'shadow' });
  const responses = await burst(4, 1, () => check(server, 'watch', 'k'));
  assert.deepEqual(statuses(responses), { 200: 4 });
  assert.deepEqual(responses.map(({ json }) => json.shadow_denied), [undefined, undefined, true, true]);
  assert.deepEqual(responses.map(({ headers }) => headers['x-ratelimit-shadow']), [undefined, undefined, 'denied', 'denied']);
  for (const { json, headers } of responses.slice(2)) {
    assert.equal(json.allowed, true);
    assert.ok(json.retry_after > 590, `retry_after ${json.retry_after}`);
    assert.equal(headers['retry-after'], undefined);
    assert.equal(headers['x-ratelimit-remaining'], '0');
    assert.equal(headers['content-type'], 'application/json');
  }
});

const SLOW = { capacity: 1, refill_rate: 1, refill_interval: 0.3, on_limit: 'delay', max_delay: 1 };

// `count` requests in a known order, over the given servers in turn: each answer with the moment it came.
async function inOrder(servers, count, each) {
  const agents = servers.map((server) => ownAgents(server, count));
  const answers = [];
  for (let i = 0; i < count; i++) {
    const turn = i % servers.length;
    answers.push(each(servers[turn], agents[turn][i]).then((response) => ({ response, at: now() })));
    await sleep(15);
  }
  return Promise.all(answers);
}

for (const [algorithm, settings] of [['token_bucket', SLOW], ['leaky_bucket', { capacity: 1, leak_rate: 1 / 0.32, on_limit: 'delay', max_delay: 1 }]]) {
  scenario(`delay by ${algorithm}: held until there is room, in order of arrival over two servers, denied beyond max_delay`, async (world) => {
    const { redis, server } = await world.pair();
    const other = await world.server({ redis });
    assert.equal((await put(server, 'slow', { ...settings, algorithm })).status, 201);
    await until('the other server to follow', async () => (await check(other, 'slow', 'x', { cost: 0 })).status === 200);
    const [, ...answers] = await undisturbed(3000, (attempt) => inOrder([server, other], 6,
      (each, agent) => each.request(`/check?policy=slow&key=${attempt}`, { agent })));
    const held = answers.filter(({ response }) => response.status === 200);
    const denied = answers.filter(({ response }) => response.status === 429);
    assert.deepEqual([held.length, denied.length], [3, 2]);
    held.forEach(({ response }, i) => {
      const { json } = response;
      assert.equal(json.allowed, true);
      assert.ok(json.delayed > 0.2 + 0.25 * i && json.delayed <= 0.33 * (i + 1), `delayed ${json.delayed}`);
      assert.ok(response.ms >= json.delayed * 1000 - 1, `held ${response.ms} ms for ${json.delayed} s`);
      assert.match(response.text, /"delayed":0\.\d{3},/);
      assert.equal(response.headers['retry-after'], undefined);
    });
    assert.deepEqual(held.map(({ at }) => at), held.map(({ at }) => at).sort((a, b) => a - b), 'in order of arrival');
    for (const { response } of denied) assert.ok(response.json.retry_after > 0 && response.json.retry_after < 0.5);
  });
}

scenario('delay: retry_after is enough to be let in, held for all of max_delay', async (world) => {
  const { server } = await world.pair();
  await put(server, 'slow', { capacity: 1, refill_interval: 0.5, on_limit: 'delay', max_delay: 0.5 });
  await undisturbed(4000, async (attempt) => {
    const agents = ownAgents(server, 3);
    const hit = (i) => server.request(`/check?policy=slow&key=${attempt}`, { agent: agents[i] });
    await hit(0);
    const waiting = hit(1);
    await sleep(100);
    const denied = await hit(2);
    assert.equal(denied.status, 429);
    await sleep(denied.json.retry_after * 1000);
    assert.equal((await hit(2)).status, 200);
    assert.equal((await waiting).status, 200);
  });
});

scenario('delay: a peek tells whether it would be let in, and for how long it would be held; it is answered at once', async (world) => {
  const { server } = await world.pair();
  await put(server, 'slow', { ...SLOW, refill_interval: 100, max_delay: 30 });
  await check(server, 'slow', 'k');
  const no = await check(server, 'slow', 'k', { cost: 0 });
  assert.deepEqual([no.status, no.json.allowed], [200, false]);
  assert.ok(no.json.retry_after > 69 && no.json.retry_after <= 70);
  await server.request('/admin/policies/slow', { method: 'PATCH', body: { refill_interval: 25 } });
  const yes = await check(server, 'slow', 'k', { cost: 0 });
  assert.deepEqual([yes.status, yes.json.allowed, yes.json.remaining], [200, true, 0]);
  assert.ok(yes.json.delayed > 23 && yes.json.delayed <= 25, `delayed ${yes.json.delayed}`);
  assert.ok(yes.ms < 5000);
});

scenario('delay: units of a client that left stay spent', async (world) => {
  const { server } = await world.pair();
  await put(server, 'slow', { ...SLOW, refill_interval: 30, max_delay: 30 });
  await check(server, 'slow', 'k');
  const raw = await RawConnection.open(server.port);
  await raw.send('GET /check?policy=slow&key=k HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await until('the reservation', async () => (await check(server, 'slow', 'k', { cost: 0 })).json.allowed === false);
  raw.close();
  await sleep(100);
  const { json, status } = await check(server, 'slow', 'k');
  assert.equal(status, 429);
  assert.ok(json.retry_after > 28 && json.retry_after <= 30, `retry_after ${json.retry_after}`);
});

scenario('delay: at most 1000 are held by a thread, which serves others meanwhile; a stop answers them all', async (world) => {
  const { redis, server } = await world.pair({ threads: 1 });
  await put(server, 'slow', { capacity: 1, refill_rate: 1000, refill_interval: 30, on_limit: 'delay', max_delay: 30 });
  await check(server, 'slow', 'k');
  const agent = server.http.newAgent({ maxSockets: Infinity });
  const held = burst(1000, 1000, () => server.request('/check?policy=slow&key=k', { agent }));
  held.catch(() => {});
  await until('a thousand held', async () => (await check(server, 'slow', 'k', { cost: 0 })).json.allowed === false
    || Number(await redis.command('HGET', 'rl:slow:token_bucket:{k}', 'tokens')) === -1000, 20000);
  const full = await check(server, 'slow', 'k');
  assert.equal(full.status, 429);
  assert.ok(full.json.retry_after > 0);
  assert.equal(await redis.command('HGET', 'rl:slow:token_bucket:{k}', 'tokens'), '-1000', 'a refusal takes nothing');
  assert.equal((await check(server, 'slow', 'other')).status, 200);
  assert.ok((await server.request('/healthz')).ms < 2000);
  server.child.signal('SIGTERM');
  const responses = await held;
  assert.deepEqual(statuses(responses), { 503: 1000 });
  assertRefused(responses[0], 503, /stopping/);
}, { ms: 90000 });

scenario('delay on /api, /test and behind deny_status', async (world) => {
  const { server } = await world.pair();
  await server.patch(SLOW);
  for (const hit of [() => server.request('/api'), () => server.request('/test', { method: 'POST' }), () => server.hit('g', { deny_status: 403 })]) {
    assert.ok((await hit()).ms < 250);
    const second = await hit();
    assert.deepEqual([second.status, second.json.allowed], [200, true]);
    assert.ok(second.ms > 100, `held ${second.ms} ms`);
  }
});

scenario('delay while Redis is away: this process holds by itself', async (world) => {
  const { redis, server } = await world.pair();
  await put(server, 'slow', SLOW);
  await redis.kill();
  await until('local decisions', async () => (await check(server, 'slow', 'x', { cost: 0 })).json.source === 'local');
  await check(server, 'slow', 'k');
  const second = await check(server, 'slow', 'k');
  assert.deepEqual([second.status, second.json.source], [200, 'local']);
  assert.ok(second.json.delayed > 0.1 && second.ms >= second.json.delayed * 1000 - 1, `${second.ms} ms for ${second.json.delayed} s`);
});
