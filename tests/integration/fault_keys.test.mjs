// Keys that are not as they should be, and keys that stay too long: other types, other algorithms, no TTL, floods.

import assert from 'node:assert/strict';
import net from 'node:net';

import { assertRefused } from '../harness/decision.mjs';
import { admitted, burst } from '../harness/http.mjs';
import { answers } from '../harness/outage.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { bulk, preamble } from '../harness/stub_redis.mjs';
import { sleep, until } from '../harness/time.mjs';

// Three at once: windows of so many seconds, and buckets that gain one in `interval`.
const three = (window, interval = window) => ({
  token_bucket: { capacity: 3, refill_rate: 1, refill_interval: interval },
  fixed_window: { limit: 3, window },
  sliding_window_log: { limit: 3, window },
  sliding_window_counter: { limit: 3, window },
  leaky_bucket: { capacity: 3, leak_rate: Math.floor(1000 / interval) / 1000 },
});
const THREE = three(1);
const LONGER = three(3); // so that all keys of one algorithm are looked at before the first is gone
const SLOW = three(3600, 600);
const ALGORITHMS = Object.keys(THREE);
const name = (algorithm, key) => `rl:default:${algorithm}:{${key}}`;
const choose = async (server, algorithm, settings) => {
  const response = await server.patch({ algorithm, ...settings[algorithm] });
  assert.equal(response.status, 200, response.text);
};

async function clientKeys(redis) {
  const keys = await redis.keys();
  return keys.filter((key) => !['rl:config', 'rl:instances'].includes(key));
}

async function assertAllExpire(redis) {
  const keys = await clientKeys(redis);
  const left = await Promise.all(keys.map((key) => redis.command('PTTL', key))); // -2: gone meanwhile
  assert.deepEqual(keys.filter((_, i) => left[i] === -1), [], 'keys without a TTL');
  return keys.length;
}

scenario('case RED-11: from each algorithm to each other: never an error, never unlimited, the old key has a TTL', async (world) => {
  const { redis, server } = await world.pair({ args: answers(null, 'closed') });
  for (const from of ALGORITHMS) {
    for (const to of ALGORITHMS.filter((algorithm) => algorithm !== from)) {
      const key = `${from}-${to}`;
      await choose(server, from, SLOW);
      assert.equal((await server.hit(key)).status, 200);
      await choose(server, to, SLOW);
      const responses = await server.burst(key, 4);
      assert.deepEqual(responses.map(({ status }) => status), [200, 200, 200, 429], key);
      assert.ok(responses.every(({ json }) => json.source === 'redis' && json.algorithm === to));
    }
  }
  await assertAllExpire(redis);
});

const STRANGERS = [['SADD', 'x'], ['LPUSH', 'x'], ['SET', 'x'], ['ZADD', '1', 'x'], ['HSET', 'x', 'y'], ['XADD', '*', 'x', 'y'],
  ['SET', '999999'], ['ZADD', '1e300', '0000000000000001:1'], ['PFADD', 'x'], ['GEOADD', '1', '1', 'x']];

scenario('case RED-11: something else at the key: replaced, the limit holds from the first request on', async (world) => {
  const { redis, server } = await world.pair({ args: answers(null, 'closed') });
  for (const algorithm of ALGORITHMS) {
    await choose(server, algorithm, SLOW);
    for (const [i, [command, ...rest]] of STRANGERS.entries()) {
      const key = `stranger-${i}`;
      await redis.command(command, name(algorithm, key), ...rest);
      const peek = await server.hit(key, { cost: 0 });
      assert.deepEqual([peek.status, peek.remaining], [200, 3], `peek of ${algorithm} at ${command}`);
      await redis.command('DEL', name(algorithm, key));
      await redis.command(command, name(algorithm, key), ...rest);
      const responses = await server.burst(key, 4);
      assert.deepEqual(responses.map(({ status, json }) => [status, json.source]), [[200, 'redis'], [200, 'redis'], [200, 'redis'], [429, 'redis']], `${algorithm} at ${command} ${rest}`);
    }
  }
  await assertAllExpire(redis);
});

scenario('case MEM-01: every key expires, and nothing is left but the configuration', async (world) => {
  const { redis, server } = await world.pair({ args: answers(null, 'closed') });
  for (const algorithm of ALGORITHMS) {
    await choose(server, algorithm, LONGER);
    const responses = await burst(200, 10, (i) => server.hit(`${algorithm}-${i}`));
    assert.equal(admitted(responses), 200);
    assert.ok((await assertAllExpire(redis)) > 0, 'there were keys');
  }
  await until('an empty Redis', async () => (await clientKeys(redis)).length === 0, 15000, 100);
  assert.equal(await redis.command('EXISTS', 'rl:config'), 1);
});

// What an old or foreign writer could have left: a state that is full, for ever.
const NOW = Date.now() * 1000;
const ENDLESS = {
  token_bucket: ['HSET', 'tokens', '0', 'last_refill', String(NOW + 3e15)],
  fixed_window: ['HSET', 'count', '999999', 'window_start', String(NOW + 3e15)],
  sliding_window_log: ['ZADD', String(NOW + 3e15), '0000000000999999:3'],
  sliding_window_counter: ['HSET', String(NOW + 3e15), '999999000000'],
  leaky_bucket: ['HSET', 'level', '999999', 'last_leak', String(NOW + 3e15)],
};

scenario('case MEM-02: a key without TTL gets one at the next touch, and its client is let in after a window', async (world) => {
  const { redis, server } = await world.pair({ args: [...answers(null, 'closed'), '--denial-cache', 'off'] });
  for (const algorithm of ALGORITHMS) {
    await choose(server, algorithm, THREE);
    await server.burst('k', 4);
    assert.equal(await redis.command('PERSIST', name(algorithm, 'k')), 1, algorithm);
    await server.hit('k');
    assert.ok((await redis.command('PTTL', name(algorithm, 'k'))) > 0, `${algorithm}: a TTL again`);
    const [command, ...rest] = ENDLESS[algorithm];
    await redis.command(command, name(algorithm, 'full'), ...rest);
    await server.hit('full');
    assert.ok((await redis.command('PTTL', name(algorithm, 'full'))) !== -1, `${algorithm}: a TTL or gone`);
    await sleep(1500);
    for (const key of ['k', 'full']) {
      await until(`${algorithm}: ${key} let in`, async () => (await server.hit(key)).status === 200, 2500, 100);
    }
  }
});

scenario('case MEM-02: killed under load ten times, the server leaves no key without a TTL', async (world) => {
  const redis = await world.redis();
  for (let round = 0; round < 10; round++) {
    const server = await world.server({ redis, args: answers(null, 'closed') });
    const paths = ALGORITHMS.map((algorithm) => `/api/${algorithm.replaceAll('_', '-')}`);
    let sent = 0;
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      for (;;) await server.request(`${paths[sent++ % 5]}?user=${round}-${lane}-${sent}`);
    }).map((lane) => lane.catch(() => {}));
    await until('requests', () => sent > 100, 5000, 5);
    await server.kill();
    await Promise.all(lanes);
  }
  assert.ok((await assertAllExpire(redis)) > 100, 'there were keys');
});

// Requests on a few connections, many at once on each. Returns how many answers of each status came.
async function flood(port, count, path, connections = 4) {
  const statuses = {};
  let next = 0;
  const lane = () => new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    let waiting = 0, rest = '';
    const more = () => {
      if (waiting > 0) return;
      if (next >= count) return void socket.destroy(resolve());
      const end = Math.min(next + 200, count);
      let text = '';
      for (; next < end; next++, waiting++) text += `GET ${path(next)} HTTP/1.1\r\nHost: x\r\n\r\n`;
      socket.write(text);
    };
    socket.on('connect', more).on('error', reject).on('data', (bytes) => {
      rest += bytes.toString('latin1');
      for (const [, status] of rest.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses[status] = (statuses[status] ?? 0) + 1;
        waiting--;
      }
      rest = rest.slice(-12).replace(/^.*\n/s, '').replace(/HTTP\/1\.1 \d{3} .*/s, '');
      more();
    });
    socket.on('close', () => reject(new Error('the server closed a connection')));
  });
  await Promise.all(Array.from({ length: connections }, lane));
  return statuses;
}

scenario('what a Redis that lies says of a key is cut to what there may be', async (world) => {
  const pairs = `*160\r\n${bulk('0000000000000001:1').concat(bulk('1700000000000000')).repeat(80)}`;
  const lies = { TYPE: '+zset\r\n', PTTL: ':9223372036854775807\r\n', ZCARD: ':160\r\n', ZRANGE: pairs, HSCAN: '-WRONGTYPE\r\n' };
  const stub = await world.stubRedis((args) => lies[args[0]] ?? preamble(args) ?? '*4\r\n:1700000000000000\r\n:0\r\n:9\r\n:1\r\n');
  const server = await world.server({ redis: stub, args: answers(null, 'closed') });
  const { status, json } = await server.request('/admin/keys?policy=default&key=k');
  assert.equal(status, 200);
  const [{ ttl, fields }] = json.limits;
  assert.ok(ttl > 0 && ttl <= 9e9, `ttl ${ttl}`);
  assert.deepEqual([fields.oldest.length, fields.newest.length], [5, 5]);
  assert.equal((await server.request('/lab/state?policy=default&user=k')).status, 200);
});

scenario('case MEM-06: a flood writes no more than the limit into the log, and the limit itself is bounded', async (world) => {
  const { redis, server } = await world.pair({ args: answers(null, 'closed') });
  await server.request('/admin/policies/default', { method: 'PATCH', body: { algorithm: 'sliding_window_log', limit: 100, window: 60 } });
  const path = () => '/check?policy=default&key=k';
  await flood(server.port, 1000, path);
  const memory = await redis.command('MEMORY', 'USAGE', name('sliding_window_log', 'k'));
  const statuses = await flood(server.port, 20000, path);
  assert.deepEqual(statuses, { 429: 20000 });
  assert.equal(await redis.command('ZCARD', name('sliding_window_log', 'k')), 100);
  assert.equal(await redis.command('MEMORY', 'USAGE', name('sliding_window_log', 'k')), memory);
  assertRefused(await server.patch({ limit: 1000000 }), 422, /limit must be .*100000/);
});

scenario('case MEM-08: without Redis the memory levels off at its bound, and newcomers are served', async (world) => {
  const { redis, server } = await world.pair({ args: ['--on-redis-error', 'local'] });
  await server.hit('k');
  await redis.kill();
  await until('local decisions', async () => (await server.hit('probe', { cost: 0 })).json.source === 'local');
  const at = [server.residentKiB];
  for (let part = 0; part < 3; part++) {
    const statuses = await flood(server.port, 60000, (i) => `/check?policy=default&key=c${part * 60000 + i}`);
    assert.deepEqual(statuses, { 200: 60000 }, 'each newcomer is served');
    at.push(server.residentKiB);
  }
  assert.ok(at[2] - at[0] < 80 * 1024 * sanitizerFactor(), `${at} KiB`);
  assert.ok(at[3] - at[2] < 8 * 1024 * sanitizerFactor(), `beyond 100,000 keys it grew: ${at} KiB`);
  assert.equal(admitted(await server.burst('fresh', 15, 5)), 10, 'and limited');
  await redis.start();
  await until('Redis again', async () => (await server.hit('other')).json.source === 'redis', 2000, 50);
});
