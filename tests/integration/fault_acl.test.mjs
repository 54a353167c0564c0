// case RED-13: a user of Redis who may do exactly what docs/redis.md names, and then one thing less at a time. Nothing
// crashes, what cannot be decided gets the outage answer, and the log says once what is missing.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { burst } from '../harness/http.mjs';
import { OUTAGE } from '../harness/outage.mjs';
import { scenario } from '../harness/scenario.mjs';
import { repository } from '../harness/server.mjs';
import { sleep, until } from '../harness/time.mjs';

const page = readFileSync(`${repository}docs/redis.md`, 'utf8');
const documented = page.match(/^ACL SETUSER limiter on >PASSWORD (.*)$/m)[1].split(' ');
const forKeys = page.match(/`\/admin\/keys` needs `([^`]*)`/)[1].split(' ');
const commands = [...documented, ...forKeys].filter((rule) => rule.startsWith('+'));

// Without these nothing is worse: changes are noticed by polling, and a tidy farewell is not needed. What /admin/keys and
// /readyz want, they tell their caller.
const QUIET = ['+publish', '+zrem', '+ping', ...forKeys];

const SETTINGS = {
  token_bucket: { capacity: 2, refill_rate: 1, refill_interval: 0.1 },
  fixed_window: { limit: 2, window: 0.1 },
  sliding_window_log: { limit: 2, window: 0.1 },
  sliding_window_counter: { limit: 2, window: 0.1, sub_windows: 2 },
  leaky_bucket: { capacity: 2, leak_rate: 10 },
};

// A user with rules of its own and a prefix of its own, on a Redis that all share.
async function serverOf(world, redis, name, rules, args = ['--on-redis-error', 'closed']) {
  const prefix = `${name}:`;
  const own = rules.map((rule) => rule.replace('~rl:', `~${prefix}`).replace('&rl:', `&${prefix}`));
  await redis.command('ACL', 'SETUSER', name, 'on', '>pw', ...own);
  return world.server({
    redis, threads: 1, env: { REDIS_PASSWORD: 'pw' },
    args: ['--redis-user', name, '--redis-db', '1', '--key-prefix', prefix, '--denial-cache', 'off', ...args],
  });
}

// Everything that touches Redis, once. Returns the answers to decisions.
async function everything(redis, server, name) {
  await redis.command('SELECT', '1');
  const decided = [];
  for (const [algorithm, settings] of Object.entries(SETTINGS)) {
    await server.request('/admin/policies/default', { method: 'PUT', body: { algorithm, ...settings, on_redis_error: 'closed' } });
    // The last ones find something old beside something young in a sliding window, also where a pause runs late now and then.
    for (const pause of [0, 0, 0, 45, 65, 45, 0, 0, 130, 0, ...Array(algorithm.startsWith('sliding') ? 10 : 0).fill(60)]) {
      await sleep(pause);
      decided.push(await server.hit('k'));
    }
    await redis.command('SET', `${name}:default:${algorithm}:{s}`, 'x');
    decided.push(await server.hit('s'));
    await server.request('/admin/keys?policy=default&key=k');
  }
  for (let i = 0; i < 8; i++) { // others on this Redis may bring the script back
    await redis.command('SCRIPT', 'FLUSH');
    decided.push(await server.hit('k'));
  }
  await server.request('/admin/keys?policy=default');
  await server.request('/admin/keys?policy=default&key=k', { method: 'DELETE' });
  await server.request('/readyz');
  decided.push(await server.hit('late'));
  return decided;
}

async function refusedTo(redis, name) {
  const log = await redis.command('ACL', 'LOG', '1000');
  const entries = log.map((flat) => Object.fromEntries(flat.map((value, i) => [value, flat[i + 1]]).filter((_, i) => i % 2 === 0)));
  return entries.filter((entry) => entry.username === name).map((entry) => entry.object);
}

scenario('case RED-13: what the docs name is enough for everything', async (world) => {
  const redis = await world.redis({ args: ['--acllog-max-len', '2000'] });
  const server = await serverOf(world, redis, 'all', [...documented, ...forKeys]);
  const decided = await everything(redis, server, 'all');
  assert.deepEqual(decided.filter(({ json }) => json.source !== 'redis').map(({ text }) => text), []);
  assert.deepEqual([...new Set(decided.map(({ status }) => status))].sort(), [200, 429]);
  await server.close();
  assert.deepEqual(await refusedTo(redis, 'all'), []);
  assert.doesNotMatch(server.log, /NOPERM|permission|refuses/i);
});

scenario('case RED-13: without one of them: the outage answer or none the worse, and clear words', async (world) => {
  const redis = await world.redis({ args: ['--acllog-max-len', '2000'] });
  await burst(commands.length, 8, async (i) => {
    const name = `u${i}`;
    const what = `without ${commands[i]}`;
    const server = await serverOf(world, redis, name, [...documented, ...forKeys].filter((rule) => rule !== commands[i]));
    for (const response of await everything(redis, server, name)) {
      if (response.json.source !== 'redis') OUTAGE.closed(response);
      else assert.ok([200, 429].includes(response.status), `${what}: ${response.status}`);
    }
    await server.close();
    const refused = await refusedTo(redis, name);
    assert.ok(refused.length > 0, `${what}: Redis refused nothing, so it is not needed`);
    const lines = server.log.split('\n').filter((line) => / WARN .*(NOPERM|permission|can't run|refuses)/i.test(line));
    assert.ok(lines.length > 0 || QUIET.includes(commands[i]), `${what}: no word in the log`);
    assert.ok(lines.length <= 8, `${what}: the log is flooded:\n${server.log}`);
  });
}, { ms: 100000 });

scenario('a key outside the pattern of the user: the outage answer and the word NOPERM', async (world) => {
  const redis = await world.redis();
  const server = await serverOf(world, redis, 'elsewhere', documented.map((rule) => rule.replace('~rl:*', '~other:*')));
  OUTAGE.closed(await server.hit('k'));
  assert.match(server.log, /NOPERM .*ACL does not let this user/);
});

scenario('who may not see types gets Redis\'s words: from /admin/keys, /lab/state and in place of a prediction', async (world) => {
  const redis = await world.redis();
  const server = await serverOf(world, redis, 'blind', [...documented, ...forKeys.filter((rule) => rule !== '+type')]);
  const keys = await server.request('/admin/keys?policy=default&key=k');
  assert.equal(keys.status, 503);
  assert.match(keys.json.detail, /^Redis answered: NOPERM .*'type'.*, so the keys cannot be read\.$/);
  assert.match((await server.request('/lab/state?policy=default&user=u')).json.redis_error, /NOPERM .*'type'/);
  const run = await server.request('/lab/runs', { method: 'POST', body: { policy: 'default', user: 'u', count: 2 } });
  const first = JSON.parse(run.text.split('\n')[0]);
  assert.equal(first.prediction, null);
  assert.match(first.no_prediction, /^Redis answered: NOPERM .*'type'/);
});

scenario('who may not subscribe is told what is polled for: with --config no settings', async (world) => {
  const redis = await world.redis();
  const rules = documented.filter((rule) => rule !== '+subscribe');
  const file = join(world.directory(), 'policies.json');
  writeFileSync(file, '{"policies":{"default":{}}}');
  const live = await serverOf(world, redis, 'live', rules);
  const fixed = await serverOf(world, redis, 'fixed', rules, ['--config', file]);
  const words = (what) => new RegExp(`Redis refuses SUBSCRIBE \\S+: NOPERM .*; ${what} are noticed by polling alone$`, 'm');
  await until('both to say so', () => [live, fixed].every((server) => /SUBSCRIBE/.test(server.log)), 3000);
  assert.match(live.log, words('changes of the settings and clients forgotten elsewhere'));
  assert.match(fixed.log, words('clients forgotten elsewhere'));
});
