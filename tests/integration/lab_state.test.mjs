// GET /lab/state: a client's state in the algorithm's own terms, as Redis holds it; a look that changes nothing.

import assert from 'node:assert/strict';

import { scenario } from '../harness/scenario.mjs';
import { StreamedResponse } from '../harness/stream.mjs';
import { until } from '../harness/time.mjs';

const TOKEN = 'open-sesame-0123456789';
const POLICIES = ['token-bucket', 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'leaky-bucket'];
const NAMES = {
  'token-bucket': ['tokens', 'next_token', 'full_in'],
  'fixed-window': ['used', 'resets_in', 'window_start', 'window_end'],
  'sliding-window-log': ['used', 'oldest_leaves_in'],
  'sliding-window-counter': ['previous', 'weight', 'current', 'estimate'],
  'leaky-bucket': ['level', 'room_in', 'empty_in'],
};

const look = (server, policy, user) => server.request(`/lab/state?policy=${policy}&user=${user}`);
const valuesOf = (response) => Object.fromEntries(response.json.limits[0].values.map(({ name, value }) => [name, value]));

scenario('each algorithm says what it has, and what Redis holds is shown', async (world) => {
  const { redis, server } = await world.pair();
  for (const policy of POLICIES) {
    for (let i = 0; i < 3; i++) assert.equal((await server.request(`/api/${policy}?user=alice`)).status, 200);
    const response = await look(server, policy, 'alice');
    assert.equal(response.status, 200, response.text);
    const { json } = response;
    const values = valuesOf(response);
    assert.deepEqual(Object.keys(values), NAMES[policy], policy);
    assert.ok(json.limits[0].values.every(({ title, unit }) => title && typeof unit === 'string'));
    assert.equal(json.decision.key, 'user:alice');
    assert.equal(json.user, 'alice');
    assert.equal(json.version, 1);
    const [seconds, micros] = await redis.command('TIME');
    assert.ok(Math.abs(Number(seconds) + micros / 1e6 - json.redis_time) < 1, 'Redis\'s clock');
    const [limit] = json.limits;
    assert.equal(limit.redis_key, `rl:${policy}:${policy.replaceAll('-', '_')}:{user:alice}`);
    assert.equal(limit.type, policy === 'sliding-window-log' ? 'zset' : 'hash');
    assert.ok(limit.ttl > 0 && limit.ttl <= 20);
    const used = { 'token-bucket': 10 - values.tokens, 'leaky-bucket': Math.ceil(values.level) }[policy] ?? values.used ?? Math.round(values.estimate);
    assert.ok(used === 3 || used === 2, `${policy}: ${used} used`); // 2 if a unit came back meanwhile
  }
});

scenario('a look changes nothing, and a new client has a state too', async (world) => {
  const { redis, server } = await world.pair();
  await server.request('/api/token-bucket?user=alice');
  const key = 'rl:token-bucket:token_bucket:{user:alice}';
  const before = await redis.command('DUMP', key);
  for (let i = 0; i < 5; i++) await look(server, 'token-bucket', 'alice');
  assert.equal(String(await redis.command('DUMP', key)), String(before));
  const fresh = await look(server, 'token-bucket', 'nobody');
  assert.deepEqual(valuesOf(fresh), { tokens: 10, next_token: 0, full_in: 0 });
  assert.equal(fresh.json.limits[0].type, 'none');
  assert.equal(await redis.command('EXISTS', 'rl:token-bucket:token_bucket:{user:nobody}'), 0);
});

scenario('a log that is too long to be read whole still says how much is used', async (world) => {
  const { server } = await world.pair();
  await server.request('/admin/policies/sliding-window-log', { method: 'PATCH', body: { limit: 100, window: 60 } });
  await server.request('/admin/policies/sliding-window-log', { method: 'PATCH', body: { key: '{query.user}' } });
  for (let i = 0; i < 30; i++) await server.request('/api/sliding-window-log?user=alice');
  const values = valuesOf(await look(server, 'sliding-window-log', 'alice'));
  assert.equal(values.used, 30);
  assert.ok(values.oldest_leaves_in > 30 && values.oldest_leaves_in <= 60);
});

scenario('a run that begins from used state is foretold from there', async (world) => {
  const { server } = await world.pair();
  for (const policy of POLICIES) {
    for (let i = 0; i < 4; i++) await server.request(`/api/${policy}?user=used`);
    const stream = await StreamedResponse.open(server.port, '/lab/runs', { method: 'POST', body: { policy, user: 'used', count: 50 } });
    await stream.end();
    const [first, last] = [stream.lines[0], stream.lines.at(-1)];
    assert.ok(first.prediction.allowed >= 6 && first.prediction.allowed <= 8, `${policy}: ${JSON.stringify(first.prediction)}`);
    assert.equal(last.matches, true, `${policy}: ${JSON.stringify(last)}`);
  }
});

scenario('without Redis the decision is still told, with the reason', async (world) => {
  const { redis, server } = await world.pair();
  await redis.kill();
  await until('the loss to be noticed', async () => (await server.hit('k')).json.source !== 'redis');
  const response = await look(server, 'token-bucket', 'alice');
  assert.equal(response.status, 200);
  assert.match(response.json.redis_error, /Redis/);
  assert.equal(response.json.redis_time, null);
  assert.equal(response.json.decision.source, 'local');
  assert.equal(response.json.limits.length, 1);
});

scenario('what is asked for is checked, and the guard stands before it', async (world) => {
  const { server } = await world.pair();
  const status = async (query) => (await server.request(`/lab/state${query}`)).status;
  assert.equal(await status(''), 400);
  assert.equal(await status('?policy=default'), 400);
  assert.equal(await status('?policy=default&user='), 400);
  assert.equal(await status('?policy=default&user=a%20b'), 400);
  assert.equal(await status('?policy=default&user=a%00'), 400);
  assert.equal(await status(`?policy=default&user=${'x'.repeat(65)}`), 400);
  assert.equal(await status('?policy=default&user=a&user=b'), 400);
  assert.equal(await status('?policy=default&user=a&more=1'), 400);
  assert.equal(await status('?policy=nobody&user=a'), 404);
  const other = await world.server({ env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  assert.equal((await look(other, 'default', 'a')).status, 401);
  assert.equal((await other.request('/lab/state?policy=default&user=a', { headers: { Authorization: `Bearer ${TOKEN}`, Origin: 'http://evil.example' } })).status, 403);
});
