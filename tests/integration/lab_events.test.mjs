// GET /lab/events: what everybody's requests do, how Redis is, which settings hold; and who may listen.

import assert from 'node:assert/strict';

import { scenario } from '../harness/scenario.mjs';
import { StreamedResponse } from '../harness/stream.mjs';
import { now, sleep, until } from '../harness/time.mjs';

const LISTENERS_MAX = 32;
const TOKEN = 'open-sesame-0123456789';

async function listen(world, server, options) {
  const stream = await StreamedResponse.open(server.port, '/lab/events', options);
  world.owns(() => stream.close());
  return stream;
}

const outcomes = (stream, policy, origin = 'policies') => {
  const sum = { allowed: 0, denied: 0, delayed: 0, shadow_denied: 0, error: 0 };
  for (const stats of stream.of('stats')) {
    for (const [outcome, count] of Object.entries(stats[origin][policy] ?? {})) sum[outcome] += count;
  }
  return sum;
};

scenario('a listener is told at once how things are, and then of all requests on every worker', async (world) => {
  const { server } = await world.pair({ threads: 2 });
  const [one, two] = [await listen(world, server), await listen(world, server)];
  assert.equal(one.status, 200);
  assert.equal(one.headers['content-type'], 'text/event-stream');
  assert.equal(one.headers['cache-control'], 'no-store');
  await until('what holds', () => [one, two].every((stream) => stream.of('config').length > 0 && stream.of('health').length > 0));
  assert.deepEqual(one.of('config')[0], { version: 1 });
  assert.equal(one.of('health')[0].redis, 'up');

  await sleep(300);
  await server.burst('alice', 30, 8);
  await Promise.all(Array.from({ length: 8 }, () => server.request('/api', { agent: false })));
  await server.hit('alice', { cost: 0 }); // a peek is nobody's decision
  await server.request('/test', { method: 'POST' });
  for (const stream of [one, two]) {
    await until('all of them', () => outcomes(stream, 'default').allowed >= 10 + 8 + 1 && outcomes(stream, 'default').denied >= 20);
    await sleep(500);
    const counts = outcomes(stream, 'default');
    assert.equal(counts.allowed + counts.denied, 30 + 8 + 1);
    const samples = stream.of('stats').flatMap((stats) => stats.sample);
    const denied = samples.find((sample) => sample.key === 'alice' && sample.outcome === 'denied');
    assert.ok(denied && denied.remaining === 0 && denied.wait > 0 && denied.policy === 'default', JSON.stringify(denied));
    assert.ok(Math.abs(denied.time - Date.now()) < 30000, 'its time');
    assert.ok(samples.some((sample) => sample.key === 'ip:127.0.0.1' && sample.outcome === 'allowed' && sample.source === 'redis'));
  }
});

scenario('five times a second, with twenty of many decisions as a sample', async (world) => {
  const { server } = await world.pair({ args: ['--capacity', '100000'] });
  const stream = await listen(world, server);
  const start = now();
  while (now() - start < 1500) await server.burst('k', 50, 10);
  const all = stream.of('stats');
  assert.ok(all.length >= 5 && all.length <= 9, `${all.length} in 1.5 s`);
  assert.ok(all.every((stats) => stats.sample.length <= 20));
  assert.ok(all.some((stats) => stats.sample.length === 20), 'a full sample');
});

scenario('a change of settings and the end of Redis are told', async (world) => {
  const { redis, server } = await world.pair();
  const stream = await listen(world, server);
  await until('the first version', () => stream.of('config').some(({ version }) => version === 1));
  await server.patch({ capacity: 20 });
  await until('the next version', () => stream.of('config').some(({ version }) => version === 2), 1000);
  await until('a measured latency', () => stream.of('health').some(({ latency }) => latency > 0 && latency < 1), 5000);
  redis.freeze();
  try {
    await until('slow', () => stream.of('health').some(({ redis: state, waiting }) => state === 'slow' && waiting >= 0.1), 4000);
  } finally {
    redis.thaw();
  }
  await until('up again', () => stream.of('health').at(-1).redis === 'up', 5000);
  await redis.kill();
  await until('down', () => stream.of('health').at(-1).redis === 'down', 5000);
});

scenario('32 may listen; the 33rd is refused until one has left', async (world) => {
  const { server } = await world.pair({ threads: 2 });
  const streams = await Promise.all(Array.from({ length: LISTENERS_MAX }, () => listen(world, server)));
  assert.ok(streams.every(({ status }) => status === 200));
  const refused = await server.request('/lab/events');
  assert.equal(refused.status, 503);
  assert.match(refused.json.detail, /32 event streams/);
  assert.equal((await server.hit('k')).status, 200);
  streams[7].close();
  await until('a free place', async () => {
    const next = await listen(world, server);
    if (next.status !== 200) next.close();
    return next.status === 200;
  }, 5000, 100);
});

scenario('listeners hold up no stop, and their streams end whole', async (world) => {
  const { server } = await world.pair({ threads: 2 });
  const streams = await Promise.all(Array.from({ length: 4 }, () => listen(world, server)));
  await until('their first events', () => streams.every((stream) => stream.of('health').length > 0));
  const start = now();
  await server.stop();
  assert.ok(now() - start < 3000, `stopped after ${Math.round(now() - start)} ms`);
  for (const stream of streams) {
    await stream.end();
    assert.equal(stream.error, null);
  }
});

scenario('the guard stands before it', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  assert.equal((await server.request('/lab/events')).status, 401);
  assert.equal((await server.request('/lab/events', { headers: { ...headers, Origin: 'http://evil.example' } })).status, 403);
  assert.equal((await server.request('/lab/events', { method: 'POST', headers })).status, 405);
  assert.equal((await listen(world, server, { headers })).status, 200);
});
