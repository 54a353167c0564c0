// Redis that runs and does not decide: frozen for long, paused, a replica, full, loading, locked by a script, locked by a
// password. The words for the log are those of docs/redis.md.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { Load, admitted } from '../harness/http.mjs';
import { scrape } from '../harness/metrics.mjs';
import { MARGIN, OUTAGE, TIMEOUT, answers, assertInTime, fromRedis, logged, recovered } from '../harness/outage.mjs';
import { scenario } from '../harness/scenario.mjs';
import { Lateness, now, sleep, until } from '../harness/time.mjs';

const LARGE = bucket(100000, 1, 600);

// Known to be away: refused at once, again and again, with these words once in the log.
async function assertAway(server, words) {
  await until('the outage answer on every worker', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => server.hit('away')));
    return responses.every(({ status }) => status === 503);
  }, 2000, 20);
  const lateness = new Lateness();
  for (let i = 0; i < 3; i++) {
    const began = now();
    const responses = await Promise.all(Array.from({ length: 8 }, () => server.hit('away')));
    responses.forEach(OUTAGE.closed);
    assert.ok(now() - began < TIMEOUT + MARGIN + lateness.ms());
  }
  lateness.stop();
  await logged(server, words);
  const lines = server.log.split('\n').filter((line) => words.test(line));
  assert.ok(lines.length <= 3, `said once, not ${lines.length} times:\n${server.log}`);
}

// `begin` and `end` make Redis refuse and serve again.
function refusing(name, words, begin, end) {
  scenario(name, async (world) => {
    const { redis, server } = await world.pair({ args: answers(LARGE, 'closed') });
    assert.equal((await server.hit('k')).remaining, 99999);
    await begin(redis);
    await assertAway(server, words);
    await end(redis);
    await recovered(server);
    assert.equal((await server.hit('k')).remaining, 99998, 'what was refused took nothing');
    assert.equal((await server.request('/readyz')).status, 200);
  });
}

const set = (name, value) => (redis) => redis.command('CONFIG', 'SET', name, value);
const master = (redis) => redis.command('REPLICAOF', 'NO', 'ONE');

refusing('a failover leaves us on a replica: READONLY', /READONLY .*it is a replica/, (redis) => redis.command('REPLICAOF', '127.0.0.1', '1'), master);
refusing('a replica that has lost its master: MASTERDOWN', /(MASTERDOWN|READONLY) .*replica/, async (redis) => {
  await set('replica-serve-stale-data', 'no')(redis);
  await redis.command('REPLICAOF', '127.0.0.1', '1');
}, master);
refusing('too few replicas: NOREPLICAS', /NOREPLICAS .*min-replicas-to-write/, set('min-replicas-to-write', '1'), set('min-replicas-to-write', '0'));

scenario('full with maxmemory-policy noeviction: OOM for writes, back as soon as there is room', async (world) => {
  const { redis, server } = await world.pair({ args: answers(LARGE, 'closed') });
  assert.equal((await server.hit('k')).remaining, 99999);
  await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
  await assertAway(server, /OOM .*memory is full/);
  assert.equal((await server.hit('k', { cost: 0 })).remaining, 99999, 'a peek writes nothing, so it is answered');
  assert.equal((await server.request('/readyz')).status, 200, 'Redis is there, though it refuses writes');
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  assert.equal((await server.hit('k')).remaining, 99998);
});

scenario('a password set while we are connected: served on, refused after a reconnect, and back', async (world) => {
  const { redis, server } = await world.pair({ args: answers(LARGE, 'closed') });
  await server.hit('k');
  await redis.command('CONFIG', 'SET', 'requirepass', 'correct-horse');
  assert.equal((await server.hit('k')).remaining, 99998, 'Redis asks only who comes anew');
  await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await assertAway(server, /NOAUTH .*--redis-password-file/);
  assert.doesNotMatch(server.log, /correct-horse/);
  await redis.command('CONFIG', 'SET', 'requirepass', '');
  await recovered(server);
  assert.equal((await server.hit('k')).remaining, 99997);
});

scenario('case RED-09: LOADING is a short outage, also at the start', async (world) => {
  const redis = await world.redis();
  await redis.command('EVAL', 'for i = 1, 3000 do redis.call("SET", "filler:" .. i, string.rep("x", 50)) end', 0);
  await redis.command('SAVE');
  const { server } = { server: await world.server({ redis, args: answers(LARGE, 'closed') }) };
  await server.hit('k');
  await redis.kill();
  redis.args = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024'];
  redis.launch();
  const late = await world.server({ redis, args: answers(LARGE, 'closed') });
  for (const each of [server, late]) await logged(each, /LOADING .*reading its data/, 3000);
  const lateness = new Lateness();
  for (const each of [server, late]) (await assertInTime([each.hit('k'), each.hit('l')], lateness)).forEach(OUTAGE.closed);
  lateness.stop();
  await redis.ready();
  for (const each of [server, late]) await recovered(each);
  assert.equal(admitted(await late.burst('fresh', 5, 5)), 5);
});

scenario('case RED-18: somebody\'s script holds Redis: in time, BUSY is an outage, back after SCRIPT KILL', async (world) => {
  const { redis, server } = await world.pair({ args: answers(LARGE, 'closed') });
  await server.hit('k');
  await redis.command('CONFIG', 'SET', 'lua-time-limit', '100');
  const other = await redis.connect();
  const stuck = other.command('EVAL', 'while true do end', 0).catch((error) => error);
  const lateness = new Lateness();
  (await assertInTime(Array.from({ length: 4 }, () => server.hit('k')), lateness)).forEach(OUTAGE.closed);
  lateness.stop();
  await assertAway(server, /BUSY|no answer within/);
  await redis.command('SCRIPT', 'KILL');
  assert.match(String(await stuck), /killed/i);
  other.close();
  await recovered(server);
});

scenario('case RED-18: a log of 200,000 entries that are all outdated, or all but one, holds Redis up for no more than 20 ms', async (world) => {
  const { redis, server } = await world.pair({ args: answers(null, 'closed') });
  const settings = { algorithm: 'sliding_window_log', limit: 100000, window: 30 };
  assert.equal((await server.request('/admin/policies/log', { method: 'PUT', body: { ...settings, on_redis_error: 'closed' } })).status, 201);
  const fill = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
    for i = 1, 200000 do
      local at = i == 200000 and tonumber(ARGV[1]) == 1 and now or now - 100000000 + i
      redis.call('ZADD', KEYS[1], string.format('%.0f', at), string.format('%016.0f:1', i))
    end`;
  await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '20000');
  for (const [key, newest, left] of [['old', '0', 99999], ['one', '1', 99998]]) {
    const name = `rl:log:sliding_window_log:{${key}}`;
    await redis.command('EVAL', fill, 1, name, newest);
    await redis.command('SLOWLOG', 'RESET');
    const response = await server.hit(key, { policy: 'log' });
    assert.deepEqual([response.json.source, response.remaining], ['redis', left]);
    const slow = (await redis.command('SLOWLOG', 'GET', '5')).filter(([, , , words]) => /^evalsha/i.test(words[0]));
    assert.deepEqual(slow.map(([, , us]) => us), [], `slow scripts for ${key}`);
    await redis.command('DEL', name);
  }
});

scenario('case RED-16: what was given from memory does not count in Redis afterwards, and nothing is given twice there', async (world) => {
  const args = answers(bucket(20, 1, 600), 'local');
  const { redis, server } = await world.pair({ args });
  const servers = [server, await world.server({ redis, args })];
  await until('both know of each other', async () => (await scrape(server)).get('ratelimitd_instances') === 2, 2000, 50);
  await redis.kill();
  for (const each of servers) {
    await until('local decisions', async () => (await each.hit('other', { cost: 0 })).json.source === 'local', 2000, 20);
    assert.equal(admitted(await each.burst('k', 100, 10)), 10);
  }
  await redis.start();
  for (const each of servers) await recovered(each);
  const bursts = await Promise.all(servers.map((each) => each.burst('k', 100, 10)));
  assert.equal(admitted(bursts.flat()), 20);
});

scenario('frozen for 10 s under load: each request in time, known to be away, back within 2 s', async (world) => {
  const { redis, server } = await world.pair({ args: answers(LARGE, 'closed') });
  await server.hit('k');
  const lateness = new Lateness();
  redis.freeze();
  const frozen = now();
  const load = new Load(4, 20, (lane) => server.hit(`k${lane}`));
  await sleep(10000);
  const records = await load.stop();
  redis.thaw();
  const thawed = now();
  await recovered(server);
  assert.ok(now() - thawed < 2000 + lateness.ms());
  const late = lateness.stop();
  const quick = records.filter(({ ms }) => ms <= MARGIN + late).length;
  for (const { error, response, ms, started } of records) {
    assert.equal(error, null, error?.message);
    OUTAGE.closed(response);
    assert.ok(ms <= TIMEOUT + MARGIN + late, `${ms.toFixed(0)} ms, ${(started - frozen).toFixed(0)} ms after it froze`);
  }
  assert.ok(quick > records.length * 0.9, `${quick} of ${records.length} at once`);
});

scenario('links killed again and again under load: an answer for each, from Redis most of the time', async (world) => {
  const { redis, server } = await world.pair({ args: answers(LARGE, 'local') });
  const load = new Load(8, 1, (lane) => server.hit(`k${lane}`));
  for (let i = 0; i < 15; i++) {
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await sleep(100);
  }
  const records = await load.stop();
  await recovered(server);
  assert.deepEqual(records.filter(({ error }) => error), []);
  records.filter(({ response }) => !fromRedis(response)).forEach(({ response }) => OUTAGE.local(response));
  assert.ok(records.filter(({ response }) => fromRedis(response)).length > records.length / 4);
});
