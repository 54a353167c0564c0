// How a client becomes a key in Redis, whatever its text; and the keys of a policy as an administrator sees them.

import assert from 'node:assert/strict';

import { assertRefused, bucket } from '../harness/decision.mjs';
import { burst, statuses } from '../harness/http.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { until } from '../harness/time.mjs';

const THREE = bucket(3, 1, 600);

const keysOf = (server, query, options) => server.request(`/admin/keys?${new URLSearchParams(query)}`, options);
const hitRaw = (server, text, policy = 'default') => server.request(`/check?policy=${policy}&key=${text}`);

// Every key in Redis, with its content, so that a test can say that nothing changed. TTLs only fall.
async function dump(redis) {
  const names = await redis.keys('');
  return Promise.all(names.map(async (name) => [name, await redis.command('DUMP', name)]));
}

// --- keys of clients ---

scenario('case KEY-08: no client can spell another one\'s key, or one of the server\'s own', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  await server.burst('a:b', 4);
  const own = (await redis.keys())[0];
  const clients = ['a', 'b', 'token_bucket:a', 'token_bucket:{a:b}', 'k:ts', 'k:prev', '{k}', own, 'rl:config', 'config', 'default:token_bucket', 'a:b}', '{a:b', 'a%3Ab'];
  for (const client of clients) {
    const response = await server.hit(client);
    assert.deepEqual([response.status, response.remaining, response.json.key], [200, 2, client]);
  }
  assert.equal((await redis.keys()).length, clients.length + 1);
  assert.equal((await server.hit('a:b')).status, 429);
});

scenario('case KEY-08: a template\'s parts do not run into each other', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  await server.patch({ key: 'u:{query.a}:{query.b|ip}' });
  const keys = [];
  for (const query of ['a=x:y&b=z', 'a=x&b=y:z', 'a=x&b=y%3Az', 'a=x%253Ay&b=z', 'a=x&b=@ip:127.0.0.1', 'a=x', 'a=%7Bx%7D&b=z']) {
    const { status, json } = await server.request(`/api?${query}`);
    assert.equal(status, 200);
    keys.push(json.key);
  }
  assert.deepEqual(keys, ['u:x%3Ay:z', 'u:x:y%3Az', 'u:x:y%3Az', 'u:x%253Ay:z', 'u:x:%40ip%3A127.0.0.1', 'u:x:@ip:127.0.0.1', 'u:%7Bx%7D:z']);
  assert.equal((await redis.keys()).length, new Set(keys).size);
});

scenario('case KEY-09: a key that is missing, empty or doubled is refused, never shared by all', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  const body = { method: 'POST', body: 'key=a', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
  const requests = [
    ['', {}], ['&key=', {}], ['&key', {}], ['&Key=a', {}], ['&key=a&key=b', {}], ['&key=a&key=a', {}], ['', body], ['', { headers: { key: 'a', 'X-Key': 'a' } }],
  ];
  for (const [query, options] of requests) assertRefused(await server.request(`/check?policy=default${query}`, options), 400, /key|parameter/i);
  assert.deepEqual(await redis.keys(), []);
  const space = await hitRaw(server, '%20');
  assert.deepEqual([space.status, space.json.key], [200, ' ']);
  await server.patch({ key: 'user:{query.user}' });
  for (const query of ['', '?user=', '?user=a&user=b', '?User=a']) assertRefused(await server.request(`/api${query}`), 400, /user/);
});

scenario('case KEY-11: long keys that differ at the end are different clients', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  const lengths = [15, 31, 63, 127, 199, 200, 255, 511, 1023, 4095];
  for (const length of lengths) {
    const text = 'x'.repeat(length);
    assert.deepEqual(statuses(await burst(4, 1, () => hitRaw(server, `${text}1`))), { 200: 3, 429: 1 });
    assert.equal((await hitRaw(server, `${text}2`)).remaining, 2, `${length} bytes`);
  }
  const keys = await redis.keys();
  assert.equal(keys.length, 2 * lengths.length);
  for (const key of keys) assert.ok(key.length < 300, `a key of ${key.length} bytes`);
  assert.ok([400, 414, 431].includes((await hitRaw(server, 'x'.repeat(4097))).status));
  assert.ok([400, 414, 431].includes((await hitRaw(server, 'x'.repeat(40000))).status));
  assert.equal((await redis.keys()).length, 2 * lengths.length);
});

scenario('case KEY-12: exact bytes: every spelling is a client of its own, also in what JSON shows', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  const spellings = ['alice', 'ALICE', 'alice%20', '%20alice', 'alice+b', 'alice%2Bb', 'al%C3%A9', 'ale%CC%81', '%E2%80%8Balice', '%ff%fe', '%ff%fd', '%00', 'a%00b', '%C0%80'];
  for (const text of spellings) {
    const response = await hitRaw(server, text);
    assert.deepEqual([response.status, response.remaining], [200, 2], text);
    assert.equal(typeof response.json.key, 'string');
  }
  assert.equal((await redis.keys()).length, spellings.length);
  assert.equal((await hitRaw(server, 'alice+')).remaining, 1, '"+" is a space, as in any query');
  assert.equal((await hitRaw(server, '%61lice')).remaining, 1);
});

scenario('case KEY-14: on a cluster node every client\'s keys are of one slot, for every algorithm and several limits', async (world) => {
  const redis = await world.redis({ args: ['--cluster-enabled', 'yes'] });
  await redis.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until('the cluster', async () => (await redis.command('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  const server = await world.server({ redis });
  const limits = ['token_bucket', 'fixed_window', 'sliding_window_log', 'leaky_bucket'].map((algorithm) => ({ name: `l-${algorithm.slice(0, 3)}${algorithm.length}`, algorithm }));
  assert.equal((await server.request('/admin/policies/four', { method: 'PUT', body: { limits } })).status, 201);
  const clients = ['k', '{', '}', '{}', 'a{b', '{a}b', 'a}b{c', '{}{x}'];
  for (const policy of ['four', 'token-bucket', 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'leaky-bucket']) {
    for (const client of clients) {
      const { status, json } = await hitRaw(server, encodeURIComponent(client), policy);
      assert.deepEqual([status, json.source, json.remaining, json.key], [200, 'redis', 9, client], `${policy} ${client}`);
    }
  }
  const keys = await redis.keys();
  assert.equal(keys.length, clients.length * (5 + limits.length));
  const slots = new Map();
  for (const key of keys) {
    const tag = key.slice(key.indexOf('{'));
    const slot = await redis.command('CLUSTER', 'KEYSLOT', key);
    assert.equal(slots.get(tag) ?? slot, slot, key);
    slots.set(tag, slot);
  }
  assert.equal(slots.size, clients.length);
});

scenario('case KEY-16: another spelling of a path is the same bucket, or not there', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(100, 1, 600) });
  let used = 0;
  for (const path of ['/api', '/api/', '//api', '/./api', '/x/../api', '/%61pi', '/api?x', '/api//', '/api/../api/.', `http://127.0.0.1:${server.port}/api`]) {
    const { status, headers } = await rawExchange(server.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    used += 1;
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, String(100 - used)], path);
  }
  for (const path of ['/API', '/api;a=1', '/api%3Fx', '/apix', '/check/', '//check', '/%63heck', '/CHECK']) {
    const { status } = await rawExchange(server.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    assert.ok([400, 404].includes(status), `${path}: ${status}`);
  }
  assert.deepEqual(await redis.keys(), ['rl:default:token_bucket:{ip:127.0.0.1}']);
});

scenario('case KEY-17: format marks, spaces and line ends arrive as they are, as one argument', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  const texts = ['%25s%25s%25n', '%25b', 'a%20b', 'a%0d%0aFLUSHALL%0d%0a', 'a%22b', 'a%27b', '%24{x}', '%5c', '%25p'.repeat(200)];
  for (const text of texts) {
    const { json, remaining } = await hitRaw(server, text);
    assert.deepEqual([json.key, remaining], [decodeURIComponent(text), 2]);
  }
  const keys = await redis.keys();
  assert.equal(keys.length, texts.length);
  for (const key of ['%25s%25s%25n', '%25b', 'a b', 'a%0D%0AFLUSHALL%0D%0A', 'a"b', "a'b", '$%7Bx%7D', '\\']) {
    assert.ok(keys.includes(redis.key(key)), `${key} in ${keys}`);
  }
  assert.doesNotMatch(await redis.command('INFO', 'commandstats'), /flushall/i);
});

scenario('case MEM-09: what a client chooses besides its key makes no keys', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(100000, 1, 600) });
  await server.request('/api');
  const paths = (i) => [`/api/${i}`, `/api?x=${i}`, `/none/${i}`, `/check/${i}`];
  await burst(300, 8, async (i) => {
    for (const path of paths(i)) await server.request(path, { headers: { 'User-Agent': `u${i}`, 'X-Forwarded-For': `10.0.${i % 250}.1` } });
  });
  assert.deepEqual(await redis.keys(), ['rl:default:token_bucket:{ip:127.0.0.1}']);
});

// --- /admin/keys ---

scenario('a look shows the decision, the Redis key, its type, fields and TTL, and changes nothing', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  const fresh = await keysOf(server, { policy: 'default', key: 'nobody' });
  assert.equal(fresh.status, 200);
  assert.deepEqual([fresh.json.policy, fresh.json.key, fresh.json.decision.allowed, fresh.json.decision.remaining], ['default', 'nobody', true, 3]);
  assert.deepEqual(fresh.json.limits, [{ name: 'token_bucket', redis_key: redis.key('nobody'), type: 'none', ttl: null, fields: {} }]);
  assert.deepEqual(await redis.keys(''), []);
  await server.burst('k', 4);
  const before = await dump(redis);
  const { json } = await keysOf(server, { policy: 'default', key: 'k' });
  assert.deepEqual([json.decision.allowed, json.decision.remaining, json.decision.source, json.decision.cost], [false, 0, 'redis', 1]);
  assert.ok(json.decision.retry_after > 590);
  const [{ name, redis_key: key, type, ttl, fields }] = json.limits;
  assert.deepEqual([name, key, type, fields.tokens], ['token_bucket', redis.key('k'), 'hash', '0']);
  assert.equal(fields.last_refill, await redis.command('HGET', key, 'last_refill'));
  assert.ok(ttl > 1700 && ttl <= 1800, `ttl ${ttl}`);
  await redis.command('PERSIST', key);
  assert.equal((await keysOf(server, { policy: 'default', key: 'k' })).json.limits[0].ttl, null);
  assert.equal(await redis.command('PTTL', key), -1, 'not even a TTL');
  assert.deepEqual(await dump(redis), before);
});

scenario('a look at several limits and at a log, whose members are counted and shown from both ends', async (world) => {
  const { redis, server } = await world.pair();
  const limits = [{ name: 'log', algorithm: 'sliding_window_log', limit: 100, window: 600 }, { name: 'count', algorithm: 'sliding_window_counter', sub_windows: 60, window: 60 }];
  await server.request('/admin/policies/two', { method: 'PUT', body: { limits } });
  for (let i = 0; i < 8; i++) await hitRaw(server, 'a%20b', 'two');
  const { json } = await keysOf(server, { policy: 'two', key: 'a b' });
  assert.deepEqual(json.decision.limits.map(({ remaining }) => remaining), [92, 2]);
  const [log, count] = json.limits;
  assert.deepEqual([log.type, log.redis_key, log.fields.count, log.fields.oldest.length, log.fields.newest.length], ['zset', 'rl:two:log:{a b}', 8, 5, 5]);
  const all = await redis.command('ZRANGE', log.redis_key, '0', '-1', 'WITHSCORES');
  assert.deepEqual(log.fields.oldest[0], { member: all[0], score: all[1] });
  assert.deepEqual(log.fields.newest[4], { member: all[14], score: all[15] });
  assert.deepEqual([count.type, Object.values(count.fields).reduce((sum, value) => sum + Number(value), 0)], ['hash', 8]);
  await redis.command('SET', 'rl:two:count:{odd}', 'text');
  const odd = await keysOf(server, { policy: 'two', key: 'odd' });
  assert.deepEqual(odd.json.limits.map(({ type, fields }) => [type, fields]), [['none', {}], ['string', {}]]);
  assert.equal(await redis.command('GET', 'rl:two:count:{odd}'), 'text');
});

scenario('to forget a client is to let it begin anew; 404 if there was nothing', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  const limits = [{ name: 'a' }, { name: 'b', algorithm: 'fixed_window' }];
  await server.request('/admin/policies/two', { method: 'PUT', body: { limits } });
  await server.burst('k', 4);
  await server.burst('other', 1);
  await hitRaw(server, 'k', 'two');
  const forget = (policy, key) => keysOf(server, { policy, key }, { method: 'DELETE' });
  assertRefused(await forget('default', 'nobody'), 404, /nothing/);
  const gone = await forget('default', 'k');
  assert.deepEqual([gone.status, gone.json], [200, { policy: 'default', key: 'k', forgotten: 1 }]);
  assert.equal((await server.hit('k')).remaining, 2);
  assert.equal((await server.hit('other')).remaining, 1);
  assert.equal((await forget('two', 'k')).json.forgotten, 2);
  assertRefused(await forget('two', 'k'), 404);
  assert.deepEqual(await redis.keys('rl:two'), []);
});

scenario('a policy\'s keys in pages, and none of another\'s, with a prefix of any characters', async (world) => {
  const { redis, server } = await world.pair({ args: [...THREE, '--key-prefix', 'a*[b]?^:'] });
  const clients = Array.from({ length: 230 }, (_, i) => `client ${i} {${i % 7}}`);
  await burst(clients.length, 8, (i) => server.hit(clients[i]));
  const long = 'z'.repeat(300);
  await server.hit(long);
  await hitRaw(server, 'elsewhere', 'token-bucket');
  await redis.command('SET', 'axxb:default:token_bucket:{no}', '1');
  await redis.command('SET', 'a*[b]?^:default:other:{no}', '1');
  const found = [];
  let pages = 0;
  for (let cursor; cursor !== '0'; pages++) {
    const { status, json } = await keysOf(server, { policy: 'default', count: 20, ...(cursor && { cursor }) });
    assert.deepEqual([status, json.policy], [200, 'default']);
    found.push(...json.keys);
    cursor = json.cursor;
    assert.match(cursor, /^\d+$/);
  }
  assert.ok(pages > 5, `${pages} pages`);
  assert.deepEqual([...new Set(found.map(({ key }) => key))].sort(), [...clients, null].sort());
  const named = found.find(({ key }) => key === clients[8]);
  assert.deepEqual(named, { key: 'client 8 {1}', limit: 'token_bucket', redis_key: 'a*[b]?^:default:token_bucket:{client 8 %7B1%7D}' });
  assert.match(found.find(({ key }) => key === null).redis_key, /\{z{64}%sha256:[0-9a-f]{64}\}$/);
  assert.equal((await keysOf(server, { policy: 'default', key: long })).json.decision.remaining, 2);
});

scenario('what is asked for wrongly is refused by its name', async (world) => {
  const { server } = await world.pair({ args: THREE });
  const refused = [
    [{}, 400, /policy/], [{ policy: '' }, 400, /policy/], [{ policy: 'nobody' }, 404, /nobody/], [{ policy: 'default', key: '' }, 400, /key/],
    [{ policy: 'default', cursor: '-1' }, 400, /cursor/], [{ policy: 'default', cursor: '' }, 400, /cursor/], [{ policy: 'default', cursor: '1 MATCH' }, 400, /cursor/],
    [{ policy: 'default', count: '0' }, 400, /count/], [{ policy: 'default', count: '1001' }, 400, /count/], [{ policy: 'default', count: '1e2' }, 400, /count/],
    [{ policy: 'default', key: 'k', cursor: '0' }, 400, /key/], [{ policy: 'default', match: '*' }, 400, /match is no parameter/],
  ];
  for (const [query, status, words] of refused) assertRefused(await keysOf(server, query), status, words);
  assertRefused(await server.request('/admin/keys?policy=default&policy=default'), 400, /twice/);
  assertRefused(await keysOf(server, { policy: 'default' }, { method: 'DELETE' }), 400, /key is missing/);
  assert.equal((await keysOf(server, { policy: 'default' }, { method: 'POST' })).status, 405);
  assertRefused(await keysOf(server, { policy: 'default' }, { headers: { 'X-Forwarded-For': '1.2.3.4' } }), 403);
});

scenario('503 while Redis is away, whatever was asked', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  await server.hit('k');
  await redis.kill();
  await until('the loss', async () => (await server.hit('k', { cost: 0 })).json.source !== 'redis');
  for (const [query, method] of [[{ key: 'k' }, 'GET'], [{ key: 'k' }, 'DELETE'], [{}, 'GET']]) {
    const response = await keysOf(server, { policy: 'default', ...query }, { method });
    assertRefused(response, 503, /Redis/);
    assert.equal(response.headers['retry-after'], '1');
  }
  await redis.start();
  await until('Redis again', async () => (await keysOf(server, { policy: 'default' })).status === 200);
});

scenario('an account that may decide but not list gets the reason', async (world) => {
  const { redis, server } = await world.pair({ args: THREE });
  await redis.command('ACL', 'SETUSER', 'default', '-scan');
  await until('the refusal', async () => (await keysOf(server, { policy: 'default' })).status === 503);
  assertRefused(await keysOf(server, { policy: 'default' }), 503, /NOPERM/);
  assert.equal((await server.hit('k')).json.source, 'redis');
});
