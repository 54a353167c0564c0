// The link to Redis is cut at every byte of a reply, or leads to a node of a Redis Cluster. Each decision is answered in
// time, and none is sent twice.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { OUTAGE, answers, assertInTime, fromRedis, logged, recovered } from '../harness/outage.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { preamble } from '../harness/stub_redis.mjs';
import { Lateness, until } from '../harness/time.mjs';

const COMMAND = 'default:token_bucket'; // part of the Redis key of every decision
const CAPACITY = 1000;

// One decision whose reply is cut, and the next from Redis. Returns what is left then.
async function cutOnce(server, proxy, lateness, after, how) {
  const cut = proxy.cut(`${COMMAND}:{k}`, after, how);
  const [response] = await assertInTime([server.hit('k')], lateness);
  await cut;
  OUTAGE.closed(response);
  await until('Redis again', async () => fromRedis(await server.hit('other', { cost: 0 })), 2000, 10);
  return (await server.hit('k', { cost: 0 })).remaining;
}

// A server of one thread whose link goes through a proxy, and decides.
async function behindProxy(world) {
  const redis = await world.redis();
  const proxy = await world.proxy(redis);
  const server = await world.server({ redis: proxy, threads: 1, args: answers(bucket(CAPACITY, 1, 3600), 'closed') });
  const lateness = new Lateness();
  await recovered(server);
  return { proxy, server, lateness };
}

for (const how of ['end', 'reset']) {
  scenario(`a link that is cut (${how}) at each byte of a reply: one outage answer, taken once in Redis`, async (world) => {
    const { proxy, server, lateness } = await behindProxy(world);
    let left = CAPACITY;
    await cutOnce(server, proxy, lateness, 0, how);
    const { replied } = proxy;
    left--;
    assert.ok(replied > 20 && replied < 200, `a reply of ${replied} bytes`);
    for (let after = 1; after < replied; after++) {
      left--;
      assert.equal(await cutOnce(server, proxy, lateness, after, how), left, `cut after ${after} bytes`);
    }
    lateness.stop();
  });
}

scenario('a link that falls silent in the middle of a reply: answered at the deadline, given up, taken once', async (world) => {
  const { proxy, server, lateness } = await behindProxy(world);
  let left = CAPACITY;
  for (const after of [0, 1, 5, 30]) {
    left--;
    assert.equal(await cutOnce(server, proxy, lateness, after, 'silence'), left, `silent after ${after} bytes`);
  }
  lateness.stop();
});

const CLUSTER = {
  'MOVED 866 127.0.0.1:7001': /node of a Redis Cluster/,
  'ASK 866 127.0.0.1:7001': /node of a Redis Cluster/,
  'TRYAGAIN Multiple keys request during rehashing of slot': /node of a Redis Cluster/,
  'CROSSSLOT Keys in request don\'t hash to the same slot': /node of a Redis Cluster/,
  'CLUSTERDOWN The cluster is down': /Redis Cluster does not serve/,
  'MASTERDOWN Link with MASTER is down': /lost its master/,
  'NOREPLICAS Not enough good replicas to write.': /min-replicas-to-write/,
};

scenario('case RED-15: a node of a Redis Cluster: the outage answer, clear words once, no endless redirect', async (world) => {
  for (const [error, words] of Object.entries(CLUSTER)) {
    const stub = await world.stubRedis((args) => preamble(args) ?? `-${error}\r\n`);
    const server = await world.server({ redis: stub, threads: 1, args: answers(null, 'closed') });
    const lateness = new Lateness();
    for (let i = 0; i < 5; i++) (await assertInTime([server.hit('k'), server.hit('l')], lateness)).forEach(OUTAGE.closed);
    lateness.stop();
    await logged(server, words);
    assert.ok(server.log.split('\n').length < 30, `the log is not flooded:\n${server.log}`);
    const decisions = stub.commands.filter(([name, , , key]) => /^EVAL/i.test(name) && key?.includes('default:'));
    assert.ok(decisions.length <= 10, `${decisions.length} commands for ten decisions`);
    await server.close();
  }
});

scenario('case RED-15: a node that redirects everything, from the first greeting on', async (world) => {
  const stub = await world.stubRedis((args) => (args[0] === 'UNLINK' ? '-MOVED 866 127.0.0.1:7001\r\n' : preamble(args) ?? ':0\r\n'));
  const server = await world.server({ redis: stub, threads: 1, args: answers(null, 'local') });
  OUTAGE.local(await server.hit('k'));
  await logged(server, /Redis is not available: MOVED .*node of a Redis Cluster/);
});

const ENDLESS = {
  'a line': [{ bytes: '+', endless: 'x' }, /line of more than 64 KiB/], 'an error': [{ bytes: '-ERR ', endless: 'x' }, /line of more than 64 KiB/],
  'a number': [{ bytes: ':', endless: '1' }, /line of more than 64 KiB/], 'a length': [{ bytes: '$', endless: '0' }, /line of more than 64 KiB/],
  'a long text': [{ bytes: '$4194305\r\n', endless: 'x' }, /reply of more than 4 MiB/],
  'long texts': [{ bytes: '*60000\r\n', endless: `$65536\r\n${'x'.repeat(65536)}\r\n` }, /reply of more than 4 MiB/],
  'arrays in arrays': [{ bytes: '', endless: '*60000\r\n' }, /cannot read its reply/],
};

scenario('a reply without an end: one outage answer in time, the connection given up, HTTP and memory untouched', async (world) => {
  for (const [what, [endless, words]] of Object.entries(ENDLESS)) {
    const stub = await world.stubRedis((args) => preamble(args) ?? (args.some((arg) => arg.includes(`${COMMAND}:`)) ? endless : null));
    const server = await world.server({ redis: stub, threads: 1, args: answers(null, 'closed') });
    const memory = server.residentKiB;
    const lateness = new Lateness();
    for (let i = 0; i < 2; i++) {
      const [decision, health] = await assertInTime([server.hit('k'), server.request('/healthz')], lateness);
      OUTAGE.closed(decision);
      assert.equal(health.status, 200);
    }
    lateness.stop();
    await logged(server, words);
    const grown = server.peakKiB - memory;
    assert.ok(grown < 24 * 1024 * sanitizerFactor(), `${what}: memory grew by ${grown} KiB`);
    await server.close();
  }
});
