// POST /lab/runs: runs that the server fires itself, as they are streamed, as Redis counts them, and within their caps.

import assert from 'node:assert/strict';

import { scenario } from '../harness/scenario.mjs';
import { StreamedResponse } from '../harness/stream.mjs';
import { now, sleep, until } from '../harness/time.mjs';

const TOKEN = 'open-sesame-0123456789';

async function open(world, server, body, options = {}) {
  const stream = await StreamedResponse.open(server.port, '/lab/runs', { method: 'POST', body, ...options });
  world.owns(() => stream.close());
  return stream;
}

// A run to its end: {first, lines, last}.
async function fire(world, server, body, ms = 15000) {
  const stream = await open(world, server, body);
  assert.equal(stream.status, 200, stream.text);
  await stream.end(ms);
  const lines = stream.lines;
  const [first, last] = [lines.shift(), lines.pop()];
  assert.equal(last.done, true);
  return { first, lines, last, stream };
}

const letters = (lines) => lines.map(({ o }) => o).join('');
const count = (text, letter) => text.split(letter).length - 1;
const post = (server, body, headers = {}) => server.request('/lab/runs', { method: 'POST', body, headers });

// Runs end whole and in step: the arrays are parallel and the sum of all is what was sent.
function assertWhole({ lines, last, stream }) {
  for (const line of lines) {
    for (const column of ['c', 'o', 's', 'w']) assert.equal(line[column].length, line.t.length, column);
  }
  const text = letters(lines);
  assert.equal(text.length, last.sent);
  const waits = lines.flatMap((line) => line.w);
  for (const [i, wait] of waits.entries()) assert.equal(wait > 0, 'DL'.includes(text[i]), `${text[i]} waits ${wait}`);
  assert.equal(Math.max(0, ...waits) / 1000, Math.ceil(last.longest_wait * 1000) / 1000);
  assert.equal(count(text, 'A'), last.allowed);
  assert.equal(count(text, 'D'), last.denied);
  assert.equal(last.allowed + last.denied + last.delayed + last.shadow_denied + last.errors, last.sent);
  assert.equal(stream.headers['content-type'], 'application/x-ndjson');
}

scenario('a burst of 1,000 on a bucket of 10: 10 or 11 pass, in less than 2 s, as foretold and as Redis has it', async (world) => {
  const { redis, server } = await world.pair();
  const start = now();
  const run = await fire(world, server, { policy: 'token-bucket', user: 'alice', count: 1000, scenario: 'burst' });
  assert.ok(now() - start < 2000, `${Math.round(now() - start)} ms`);
  assertWhole(run);
  const { first, last } = run;
  assert.ok([10, 11].includes(last.allowed), `${last.allowed} passed`);
  assert.deepEqual({ sent: last.sent, errors: last.errors, dropped: last.dropped, stopped: last.stopped }, { sent: 1000, errors: 0, dropped: 0, stopped: null });
  assert.equal(first.plan.count, 1000);
  assert.equal(first.prediction.allowed, 10);
  assert.equal(last.matches, true);
  const tokens = Number(await redis.command('HGET', 'rl:token-bucket:token_bucket:{user:alice}', 'tokens'));
  assert.equal(tokens, 0);
  const peek = await server.request('/check?policy=token-bucket&key=user%3Aalice&cost=0');
  assert.ok(peek.json.remaining <= 1);
});

scenario('each algorithm: what the run says is what Redis holds', async (world) => {
  const { redis, server } = await world.pair();
  const run = (policy) => fire(world, server, { policy, user: 'u', count: 25 });
  const held = {
    'fixed-window': async () => redis.command('HGET', 'rl:fixed-window:fixed_window:{user:u}', 'count'),
    'sliding-window-log': async () => redis.command('ZCARD', 'rl:sliding-window-log:sliding_window_log:{user:u}'),
    'sliding-window-counter': async () => (await redis.command('HVALS', 'rl:sliding-window-counter:sliding_window_counter:{user:u}')).reduce((sum, n) => sum + Number(n), 0),
    'leaky-bucket': async () => Math.ceil(await redis.command('HGET', 'rl:leaky-bucket:leaky_bucket:{user:u}', 'level')),
  };
  for (const [policy, read] of Object.entries(held)) {
    const { last, first } = await run(policy);
    assert.equal(last.allowed, 10, policy);
    assert.equal(Number(await read()), 10, policy);
    assert.equal(last.matches, true, policy);
    assert.equal(first.limits[0].algorithm, policy.replaceAll('-', '_'));
  }
});

scenario('1,000 a second for 3 s: at least 950 a second are achieved, told as they come', async (world) => {
  const { server } = await world.pair({ args: ['--capacity', '100000'] });
  const stream = await open(world, server, { policy: 'default', user: 'u', count: 3000, rate: 1000, scenario: 'steady' });
  const arrivals = [];
  let seen = 0;
  while (!stream.ended) {
    if (stream.text.length > seen) arrivals.push(now());
    seen = stream.text.length;
    await sleep(2);
  }
  const last = stream.lines.at(-1);
  assert.ok(last.rate >= 950 && last.rate <= 1010, `${last.rate} a second`);
  assert.equal(last.sent, 3000);
  assert.equal(last.allowed, 3000);
  assert.ok(arrivals.length >= 40, `${arrivals.length} pieces in 3 s`);
});

scenario('a rate that was kept is told as such: five requests at 10 a second span four intervals', async (world) => {
  const { server } = await world.pair();
  const { last } = await fire(world, server, { policy: 'token-bucket', user: 'u', count: 5, rate: 10, scenario: 'steady' });
  assert.ok(last.rate > 8 && last.rate <= 10.1, `${last.rate} a second`);
});

scenario('the edge of a fixed window: 18 or 19 of 20 within one window\'s length, and never more than 10 in a log', async (world) => {
  const { server } = await world.pair();
  const body = { window: 2 };
  for (const policy of ['fixed-window', 'sliding-window-log']) {
    assert.equal((await server.request(`/admin/policies/${policy}`, { method: 'PATCH', body })).status, 200);
  }
  const [fixed, log] = await Promise.all(['fixed-window', 'sliding-window-log'].map((policy) => fire(world, server, { policy, user: 'edge', scenario: 'window_edge' })));
  assertWhole(fixed);
  assert.equal(fixed.last.sent, 20);
  assert.ok([18, 19].includes(fixed.last.most_in_window), `${fixed.last.most_in_window} within a window`);
  assert.equal(fixed.first.prediction.most_in_window, 19);
  assert.ok(Math.abs(fixed.last.edge - 2) < 0.1);
  assert.ok(log.last.most_in_window <= 10, `${log.last.most_in_window} in the log`);
});

scenario('many clients: one sends eight times as much and gets no more than the others', async (world) => {
  const { redis, server } = await world.pair();
  const run = await fire(world, server, { policy: 'token-bucket', user: 'm', count: 57 * 4, clients: 50, scenario: 'many_clients' });
  assertWhole(run);
  const sent = new Array(50).fill(0);
  const passed = new Array(50).fill(0);
  for (const { c, o } of run.lines) c.forEach((client, i) => { sent[client]++; passed[client] += o[i] === 'A'; });
  assert.equal(sent[0], 32);
  assert.ok(sent.slice(1).every((n) => n === 4));
  assert.ok(passed[0] === 10 || passed[0] === 11);
  assert.ok(passed.slice(1).every((n) => n === 4));
  assert.equal((await redis.keys('rl:token-bucket:')).length, 50);
});

scenario('the same traffic through all five algorithms, each on keys of its own that are gone afterwards', async (world) => {
  const { redis, server } = await world.pair();
  const { first, lines, last } = await fire(world, server, { policy: 'fixed-window', user: 'c', count: 60, rate: 60, scenario: 'compare' });
  assert.deepEqual(last.rows.map(({ algorithm }) => algorithm), ['token_bucket', 'fixed_window', 'sliding_window_log', 'sliding_window_counter', 'leaky_bucket']);
  for (const row of last.rows) {
    assert.equal(row.allowed + row.denied, 60, row.algorithm);
    assert.ok(row.allowed === 10 || row.allowed === 11, `${row.algorithm}: ${row.allowed}`);
    assert.ok(row.most_in_window >= 10 && row.longest_wait > 0);
  }
  assert.equal(last.sent, 60);
  assert.equal(first.rows.length, 5);
  assert.equal(lines.flatMap(({ a }) => a).length, 300);
  await until('the keys to go', async () => (await redis.keys('rl:')).filter((key) => !key.startsWith('rl:instance')).length === 0, 2000);
});

scenario('a run stops on the server when its reader leaves, and its place is free again', async (world) => {
  const { redis, server } = await world.pair({ args: ['--capacity', '100000'] });
  const body = { policy: 'sliding-window-log', user: 'gone', count: 10000, rate: 500, scenario: 'steady' };
  await server.request('/admin/policies/sliding-window-log', { method: 'PATCH', body: { limit: 100000, window: 600 } });
  const stream = await open(world, server, body);
  await until('the first decisions', () => stream.lines.length > 5);
  stream.close();
  const held = () => redis.command('ZCARD', 'rl:sliding-window-log:sliding_window_log:{user:gone}');
  await sleep(1500);
  const stopped = Number(await held());
  await sleep(500);
  assert.equal(Number(await held()), stopped, 'fired on after the reader had left');
  assert.ok(stopped < 1000, `${stopped} were fired`);
  await Promise.all([1, 2].map(() => fire(world, server, { policy: 'default', user: 'u', count: 5 })));
});

scenario('two runs at once; a third is told to wait', async (world) => {
  const { server } = await world.pair({ threads: 2 });
  const body = { policy: 'default', user: 'u', count: 2000, rate: 100, scenario: 'steady' };
  const streams = [await open(world, server, body), await open(world, server, body)];
  await until('both to go', () => streams.every((stream) => stream.lines.length > 1));
  const refused = await post(server, body);
  assert.equal(refused.status, 409);
  assert.equal(refused.json.detail, 'Two runs are already going. Wait or stop one.');
  streams[0].close();
  await until('a place', async () => {
    const next = await open(world, server, { ...body, count: 3 });
    await next.end();
    return next.status === 200;
  }, 5000, 100);
});

scenario('a stopping server stops its runs and says so', async (world) => {
  const { server } = await world.pair();
  const stream = await open(world, server, { policy: 'default', user: 'u', count: 5000, rate: 100, scenario: 'steady' });
  await until('the first decisions', () => stream.lines.length > 3);
  const start = now();
  await server.stop();
  assert.ok(now() - start < 3000);
  await stream.end();
  const last = stream.lines.at(-1);
  assert.equal(last.stopped, 'The server is stopping.');
  assert.ok(last.sent < 5000 && last.sent === letters(stream.lines.slice(1, -1)).length);
  assert.equal(last.matches, null);
});

scenario('a live change takes hold of a run', async (world) => {
  const { server } = await world.pair();
  const stream = await open(world, server, { policy: 'fixed-window', user: 'u', count: 300, rate: 100, scenario: 'steady' });
  await until('denials', () => letters(stream.lines.slice(1)).includes('D'));
  await server.request('/admin/policies/fixed-window', { method: 'PATCH', body: { limit: 50 } });
  await stream.end();
  assert.equal(stream.lines.at(-1).allowed, 50);
});

scenario('without Redis a run goes on by the failure mode, and promises nothing', async (world) => {
  const { redis, server } = await world.pair();
  await server.request('/admin/policies/default', { method: 'PATCH', body: { on_redis_error: 'closed' } });
  await redis.kill();
  const { first, last } = await fire(world, server, { policy: 'default', user: 'u', count: 20 });
  assert.equal(first.prediction, null);
  assert.match(first.no_prediction, /Redis/);
  assert.equal(last.errors, 20);
  assert.equal(last.denied, 0);
});

scenario('runs are counted apart from clients', async (world) => {
  const { server } = await world.pair();
  const events = await StreamedResponse.open(server.port, '/lab/events');
  world.owns(() => events.close());
  await sleep(300);
  await fire(world, server, { policy: 'token-bucket', user: 'u', count: 50 });
  const sum = (origin) => events.of('stats').reduce((total, stats) => total + Object.values(stats[origin]['token-bucket'] ?? {}).reduce((a, b) => a + b, 0), 0);
  await until('all of them', () => sum('runs') === 50, 3000);
  assert.equal(sum('policies'), 0);
});

scenario('what is asked for is checked as strictly as settings are', async (world) => {
  const { server } = await world.pair();
  const good = { policy: 'default', user: 'u', count: 1 };
  const cases = [
    ['{"policy":"default"', 400, undefined],
    ['[]', 422, undefined],
    ['{"policy":"default","user":"u","user":"v"}', 400, undefined],
    [{ user: 'u' }, 422, 'policy'],
    [{ policy: 'default' }, 422, 'user'],
    [{ ...good, policy: 'nobody' }, 404, 'policy'],
    [{ ...good, policy: 7 }, 422, 'policy'],
    [{ ...good, speed: 7 }, 422, 'speed'],
    [{ ...good, scenario: 'tsunami' }, 422, 'scenario'],
    [{ ...good, count: 0 }, 422, 'count'],
    [{ ...good, count: 1.5 }, 422, 'count'],
    [{ ...good, count: 10001 }, 422, 'count'],
    [{ ...good, count: '5' }, 422, 'count'],
    [{ ...good, rate: -1 }, 422, 'rate'],
    [{ ...good, rate: 1000.5 }, 422, 'rate'],
    [{ ...good, count: 62, rate: 1 }, 422, 'rate'],
    [{ ...good, clients: 0 }, 422, 'clients'],
    [{ ...good, clients: 101 }, 422, 'clients'],
    [{ ...good, user: '' }, 422, 'user'],
    [{ ...good, user: 'a b' }, 422, 'user'],
    [{ ...good, user: '<script>' }, 422, 'user'],
    [{ ...good, user: 'x'.repeat(65) }, 422, 'user'],
    [{ ...good, user: 'x'.repeat(62), clients: 100 }, 422, 'user'],
    [{ ...good, count: 2001, scenario: 'compare' }, 422, 'count'],
  ];
  for (const [body, status, member] of cases) {
    const headers = { 'Content-Type': 'application/json' };
    const response = await post(server, body, headers);
    assert.equal(response.status, status, `${JSON.stringify(body)}: ${response.text}`);
    assert.equal(response.json.member, member, JSON.stringify(body));
  }
  assert.equal((await post(server, 'policy=default', { 'Content-Type': 'application/x-www-form-urlencoded' })).status, 415);
  assert.equal((await post(server, good)).status, 200);
});

scenario('a policy whose key asks for more than a user is refused by name', async (world) => {
  const { server } = await world.pair();
  await server.request('/admin/policies/default', { method: 'PATCH', body: { key: 'key:{header.X-API-Key}' } });
  const response = await post(server, { policy: 'default', user: 'u' });
  assert.equal(response.status, 422);
  assert.match(response.json.detail, /X-API-Key/i);
});

scenario('the guard stands before it', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const body = { policy: 'default', user: 'u', count: 1 };
  const headers = { Authorization: `Bearer ${TOKEN}` };
  assert.equal((await post(server, body)).status, 401);
  assert.equal((await post(server, body, { ...headers, Origin: 'http://evil.example' })).status, 403);
  assert.equal((await server.request('/lab/runs', { headers })).status, 405);
  assert.equal((await post(server, body, headers)).status, 200);
});
