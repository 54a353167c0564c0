// Redis goes wrong in every way that others met: killed, frozen, flushed, absent, silent, talking nonsense, refusing.
// Each request must be answered in time and by the chosen mode, and decisions must come from Redis again within 2 s.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { assertDecisionBody, bucket } from '../harness/decision.mjs';
import { Load, admitted, burst, statuses } from '../harness/http.mjs';
import { BACK, MARGIN, OUTAGE, TIMEOUT, answers, assertInTime, fromRedis, recovered } from '../harness/outage.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { preamble } from '../harness/stub_redis.mjs';
import { Lateness, now, sleep, until } from '../harness/time.mjs';

for (const mode of ['local', 'open', 'closed']) {
  scenario(`Redis killed and restarted under load, on_redis_error ${mode}`, async (world) => {
    const { redis, server } = await world.pair({ args: answers(bucket(1000000, 1, 1), mode) });
    const lateness = new Lateness();
    const load = new Load(20, 4, (lane) => server.hit(`k${lane}`));
    await sleep(300);
    await redis.kill();
    const killed = now();
    await sleep(700);
    const restarting = now();
    await redis.start();
    const back = now();
    await sleep(BACK + 300);
    const records = await load.stop();
    const late = lateness.stop();

    for (const { error, response, ms } of records) {
      assert.equal(error, null, error?.message);
      if (!fromRedis(response)) OUTAGE[mode](response);
      assert.ok(ms <= TIMEOUT + MARGIN + late, `answered after ${ms.toFixed(0)} ms (timers up to ${late.toFixed(0)} ms late)`);
    }
    const during = records.filter(({ started, ended }) => started > killed + 50 && ended < restarting);
    assert.ok(during.length > 20, `${during.length} requests while Redis was away`);
    assert.ok(during.every(({ response }) => !fromRedis(response)));
    for (const { ms } of during) assert.ok(ms <= MARGIN + late, `known to be down, yet ${ms.toFixed(0)} ms`);
    const after = records.filter(({ started }) => started > back + BACK);
    assert.ok(after.length > 20 && after.every(({ response }) => fromRedis(response)), 'from Redis again within 2 s');
    const last = await server.hit('counts-again', { cost: 3 });
    assertDecisionBody(last, { remaining: 999997, source: 'redis' });
  });
}

scenario('without Redis each client is held to what Redis had left it, from memory, on all threads together', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(10, 1, 600) });
  await server.hit('k');
  await redis.kill();
  await until('Redis is known to be away', async () => (await server.hit('other', { cost: 0 })).json.source === 'local');
  const responses = await server.burst('k', 40, 8);
  responses.forEach(OUTAGE.local);
  assert.equal(admitted(responses), 9);
  assert.deepEqual(responses.filter((r) => r.status === 200).map((r) => r.remaining).sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  await redis.start();
  await recovered(server);
  assert.equal((await server.hit('k')).remaining, 9);
});

scenario('case RED-01: script cache lost: the first request after a flush, and after a restart', async (world) => {
  const { redis, server } = await world.pair({ args: answers(bucket(10, 1, 60), 'closed') });
  assert.equal((await server.hit('k')).remaining, 9);
  await redis.command('SCRIPT', 'FLUSH');
  const responses = await server.burst('k', 3, 3);
  assert.deepEqual(responses.map((r) => r.remaining).sort(), [6, 7, 8]);
  await redis.restart();
  await recovered(server);
  assert.equal((await server.hit('k')).remaining, 9);
});

scenario('case RED-01: continuous SCRIPT FLUSH: no failure and no double counting', async (world) => {
  const { redis, server } = await world.pair({ args: answers(bucket(100, 1, 600), 'closed') });
  let flushing = true;
  const flusher = (async () => {
    for (; flushing; await sleep(3)) await redis.command('SCRIPT', 'FLUSH');
  })();
  const responses = await server.burst('k', 500, 20);
  flushing = false;
  await flusher;
  assert.deepEqual(statuses(responses), { 200: 100, 429: 400 });
  const seen = responses.filter((r) => r.status === 200).map((r) => r.remaining).sort((a, b) => b - a);
  assert.deepEqual(seen, Array.from({ length: 100 }, (_, i) => 99 - i));
});

for (const mode of ['open', 'closed']) {
  scenario(`case RED-04: Redis refused gives the documented answer, quickly, and ends by itself (${mode})`, async (world) => {
    const { redis, server } = await world.pair({ args: answers(bucket(10, 1, 60), mode) });
    await server.hit('k');
    await redis.kill();
    const lateness = new Lateness();
    for (let i = 0; i < 5; i++) (await assertInTime([server.hit('k')], lateness)).forEach(OUTAGE[mode]);
    const began = now();
    const responses = await server.burst('k', 200, 50);
    const took = now() - began;
    responses.forEach(OUTAGE[mode]);
    assert.ok(took < 1000 + lateness.stop(), `200 refusals took ${took.toFixed(0)} ms`);
    await redis.start();
    await recovered(server);
    assert.equal(admitted(await server.burst('fresh', 15, 5)), 10);
    assert.match(server.log, /redis/i, 'the log tells of it');
  });
}

scenario('case RED-05: a frozen Redis: every request in time, other endpoints fast, no late reply to the wrong request', async (world) => {
  const { redis, server } = await world.pair({ args: answers(bucket(1000, 1, 600), 'closed') });
  assert.deepEqual((await server.burst('a', 3)).map((r) => r.remaining), [999, 998, 997]);
  const memory = server.residentKiB;
  const lateness = new Lateness();
  redis.freeze();
  const stuck = await assertInTime(Array.from({ length: 5 }, () => server.hit('a')), lateness);
  stuck.forEach(OUTAGE.closed);
  const pages = await Promise.all([server.hit('a'), server.request('/healthz'), server.request('/'), server.request('/admin/config')]);
  for (const { status, ms } of pages.slice(1)) {
    assert.equal(status, 200);
    assert.ok(ms <= MARGIN + lateness.ms(), `${ms.toFixed(0)} ms while Redis is frozen`);
  }
  for (let i = 0; i < 4; i++) (await assertInTime(Array.from({ length: 50 }, (_, n) => server.hit(`c${n}`)), lateness)).forEach(OUTAGE.closed);
  redis.thaw();
  await recovered(server);
  lateness.stop();

  const keys = ['a', 'b', 'd', 'e'];
  const responses = await Promise.all(keys.map((key, i) => server.hit(key, { cost: i + 1 })));
  responses.forEach((r, i) => assertDecisionBody(r, { key: keys[i], cost: i + 1, source: 'redis' }));
  assert.deepEqual(responses.slice(1).map((r) => r.remaining), [998, 997, 996]);
  assert.ok(responses[0].remaining <= 996 && responses[0].remaining >= 996 - 6, `a: ${responses[0].remaining}`);
  const { remaining } = await server.hit('c0');
  assert.ok(remaining >= 999 - 4, `no decision was sent twice: ${remaining}`);
  assert.ok(server.residentKiB - memory < 16 * 1024 * sanitizerFactor(), `memory grew from ${memory} to ${server.residentKiB} KiB`);
});

scenario('case RED-05: CLIENT PAUSE is a hang too', async (world) => {
  const { redis, server } = await world.pair({ args: answers(bucket(1000, 1, 600), 'closed') });
  await server.hit('k');
  await redis.command('CLIENT', 'PAUSE', '900', 'ALL');
  const lateness = new Lateness();
  (await assertInTime([server.hit('k'), server.hit('k')], lateness)).forEach(OUTAGE.closed);
  lateness.stop();
  await sleep(700);
  await recovered(server);
});

scenario('case RED-05: a listener that accepts and says nothing', async (world) => {
  const stub = await world.stubRedis(() => null);
  const server = await world.server({ redis: stub, args: answers(null, 'closed') });
  const lateness = new Lateness();
  for (let i = 0; i < 3; i++) (await assertInTime([server.hit('k'), server.hit('l')], lateness)).forEach(OUTAGE.closed);
  lateness.stop();
});

const WRONG_REPLIES = {
  'nil bulk': '$-1\r\n', 'empty array': '*0\r\n', 'nil array': '*-1\r\n', integer: ':1\r\n', status: '+OK\r\n', error: '-ERR x\r\n',
  'short array': '*2\r\n:1\r\n$-1\r\n', 'array of text': `*12\r\n${'$1\r\nx\r\n'.repeat(12)}`, 'array of huge': `*12\r\n${':-9223372036854775808\r\n'.repeat(12)}`,
  'long array': `*64\r\n${':1\r\n'.repeat(64)}`, 'half a reply': { bytes: '*2\r\n:1', close: true }, 'nothing but an end': { bytes: '', close: true },
  ...Object.fromEntries([
    ['9223372036854775807', '0', '9', '1'], ['9000000000000001', '0', '9', '1'], ['1700000000000000', '9223372036854775807', '0', '1'],
    ['1700000000000000', '0', '9', '9223372036854775807'], ['1700000000000000', '1261440000000001', '0', '1'],
    ['1700000000000000', '0', '9', '1261440000000001'], ['1700000000000000', '0', '9', '-1'], ['1700000000000000', '0', '1000000001', '1'],
  ].map((numbers) => [`impossible numbers ${numbers}`, `*4\r\n${numbers.map((number) => `:${number}\r\n`).join('')}`])),
  garbage: 'garbage\r\n', 'always NOSCRIPT': '-NOSCRIPT No matching script.\r\n',
};
const ERROR_REPLIES = [
  'LOADING Redis is loading', 'BUSY Redis is busy', 'READONLY You can\'t write', 'MASTERDOWN Link down', 'NOREPLICAS Not enough',
  'OOM command not allowed', 'NOAUTH Authentication required.', 'WRONGTYPE Operation', 'MOVED 866 127.0.0.1:7001', 'ASK 866 127.0.0.1:7001',
  'CLUSTERDOWN down', 'TRYAGAIN later',
];

async function assertOutageOnStub(world, what, answer) {
  const stub = await world.stubRedis(answer);
  const server = await world.server({ redis: stub, args: answers(null, 'closed') });
  for (let i = 0; i < 4; i++) {
    const responses = await Promise.all([server.hit('k'), server.hit('l', { cost: 2 })]);
    for (const response of responses) {
      assert.equal(response.status, 503, `${what}: ${response.status} ${response.text}`);
      OUTAGE.closed(response);
    }
  }
  await server.close();
  return stub;
}

scenario('case RED-07: wrong replies to everything are an outage, never a crash', async (world) => {
  const kinds = Object.entries(WRONG_REPLIES);
  await burst(kinds.length, 4, (i) => assertOutageOnStub(world, kinds[i][0], () => kinds[i][1]));
});

scenario('case RED-07: wrong replies to a decision alone are an outage, never a crash', async (world) => {
  const kinds = [...Object.entries(WRONG_REPLIES), ...ERROR_REPLIES.map((text) => [text, `-${text}\r\n`])];
  await burst(kinds.length, 4, async (i) => {
    const stub = await assertOutageOnStub(world, kinds[i][0], (args) => preamble(args) ?? kinds[i][1]);
    assert.ok(stub.commands.length < 200, `${kinds[i][0]}: ${stub.commands.length} commands for eight decisions`);
  });
});

scenario('case RED-07: killed, cut and shut down under load: same process, right counts afterwards', async (world) => {
  const { redis, server } = await world.pair({ args: answers(bucket(50, 1, 600), 'closed') });
  const { pid } = server;
  const load = new Load(50, 2, (lane, i) => server.hit(`k${lane}-${i % 7}`));
  await sleep(150);
  await redis.restart();
  for (let i = 0; i < 10; i++) {
    const connection = await redis.connect();
    await connection.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    connection.close();
    await sleep(20);
  }
  const last = await redis.connect();
  await last.command('SHUTDOWN', 'NOSAVE').catch(() => {});
  await redis.restart();
  await recovered(server);
  const records = await load.stop();
  assert.deepEqual(records.filter(({ error }) => error), []);
  records.filter(({ response }) => !fromRedis(response)).forEach(({ response }) => OUTAGE.closed(response));
  assert.deepEqual([server.pid, server.child.running], [pid, true]);
  await recovered(server);
  assert.deepEqual(statuses(await server.burst('after', 80, 10)), { 200: 50, 429: 30 });
});

scenario('case RED-17: Redis absent at start: serves what needs none, then limits without a restart', async (world) => {
  const redis = await world.redis({ started: false });
  const server = await world.server({ redis, args: answers(bucket(10, 1, 60), 'closed') });
  for (const path of ['/', '/healthz', '/algorithms', '/admin/config']) assert.equal((await server.request(path)).status, 200, path);
  const lateness = new Lateness();
  (await assertInTime([server.hit('k'), server.hit('k')], lateness)).forEach(OUTAGE.closed);
  lateness.stop();
  assert.match(server.log, /redis/i, 'it says so');
  await sleep(500);
  await redis.start();
  await recovered(server);
  assert.equal(admitted(await server.burst('k', 15, 5)), 10);
});

for (const [what, host] of [['a name that does not resolve', 'redis.invalid'], ['an address that swallows packets', '10.255.255.1']]) {
  scenario(`case RED-17: Redis at ${what}: starts and answers in time`, async (world) => {
    const began = now();
    const server = await world.server({ args: ['--redis-host', host, ...answers(null, 'closed')] });
    const lateness = new Lateness();
    for (let i = 0; i < 3; i++) (await assertInTime([server.hit('k'), server.request('/healthz')], lateness)).slice(0, 1).forEach(OUTAGE.closed);
    assert.ok(now() - began < 4000 + lateness.stop());
  });
}

scenario('SIGTERM under load: exit 0, and every request that was sent is answered', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(1000000, 1, 1) });
  const other = await world.server({ redis, args: bucket(1000000, 1, 1) });
  const agents = Array.from({ length: 20 }, () => server.http.newAgent({ maxSockets: 1 }));
  let signalled = Infinity;
  const load = new Load(20, 1, async (lane) => {
    if (now() > signalled) return other.hit('elsewhere');
    return server.hit(`k${lane}`, {}, { agent: agents[lane] });
  });
  await sleep(400);
  await new Promise(setImmediate);
  const ended = server.child.end('SIGTERM', 6000);
  signalled = now();
  const began = now();
  assert.equal((await ended).code, 0);
  assert.ok(now() - began < 2000, 'nothing held it up');
  const records = await load.stop();
  const sent = records.filter(({ started }) => started < signalled);
  assert.ok(sent.length > 50, `${sent.length} requests were sent`);
  for (const { error, response } of sent) {
    assert.equal(error, null, error?.message);
    assert.equal(response.status, 200);
  }
  await assert.rejects(server.request('/healthz', { agent: false }), /ECONNREFUSED/);
});

scenario('SIGTERM while requests wait on a frozen Redis and connections idle: all answered, exit 0', async (world) => {
  const { redis, server } = await world.pair({ args: answers(null, 'closed') });
  const idle = await Promise.all(Array.from({ length: 20 }, () => world.raw(server)));
  for (const raw of idle.slice(0, 10)) await raw.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  for (const raw of idle.slice(0, 10)) assert.equal((await raw.answer()).status, 200);
  redis.freeze();
  const waiting = Array.from({ length: 5 }, (_, i) => server.hit(`k${i}`, {}, { agent: server.http.newAgent() }));
  await sleep(50);
  const began = now();
  const ended = server.child.end('SIGTERM', 6000);
  (await Promise.all(waiting)).forEach(OUTAGE.closed);
  assert.equal((await ended).code, 0);
  assert.ok(now() - began < 2000, `took ${(now() - began).toFixed(0)} ms`);
});

scenario('no or a wrong password is an outage that the log names, the right one works, and none is told', async (world) => {
  const redis = await world.redis();
  await redis.command('CONFIG', 'SET', 'requirepass', 'correct-horse');
  const file = (text) => {
    const path = join(world.directory(), 'password');
    writeFileSync(path, text);
    return ['--redis-password-file', path];
  };
  const right = await world.server({ redis, args: [...answers(null, 'closed'), ...file('correct-horse\n')] });
  const byEnvironment = await world.server({ redis, args: answers(null, 'closed'), env: { REDIS_PASSWORD: 'correct-horse' } });
  await recovered(right);
  await recovered(byEnvironment);
  for (const args of [[], file('battery-staple')]) {
    const server = await world.server({ redis, args: [...answers(null, 'closed'), ...args] });
    await sleep(100);
    OUTAGE.closed(await server.hit('k'));
    await until('words in the log', () => /NOAUTH|WRONGPASS|password|authenticat/i.test(server.log), 2000);
    assert.doesNotMatch(server.log, /battery-staple|correct-horse/);
    assert.ok(server.log.split('\n').length < 60, 'the log is not flooded');
    await server.close();
  }
});

scenario('an ACL user and SELECT come back after a reconnect', async (world) => {
  const redis = await world.redis();
  const rules = ['limiter', 'on', '>pw', '~rl:*', '&rl:*', '+@all', '-@dangerous'];
  await redis.command('ACL', 'SETUSER', ...rules);
  const server = await world.server({ redis, args: [...answers(null, 'closed'), '--redis-user', 'limiter', '--redis-db', '2'], env: { REDIS_PASSWORD: 'pw' } });
  await recovered(server);
  await redis.command('CLIENT', 'KILL', 'USER', 'limiter');
  await recovered(server);
  await server.hit('k');
  await redis.command('SELECT', '2');
  assert.deepEqual(await redis.keys(), [redis.key('k')]);
});
