// Who is the client: forwarded addresses are believed from trusted proxies alone, one client is one key whatever the
// spelling, and who may call /check and /admin goes by the connection, not by what a request says.

import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';

import { bucket } from '../harness/decision.mjs';
import { admitted, burst } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';

const THREE = bucket(3, 1, 600);
const TRUSTED = ['--trusted-proxy', '127.0.0.1', '--trusted-proxy', '10.0.0.0/8'];
const HEADERS = ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'True-Client-IP', 'CF-Connecting-IP'];

// One request for each value of the field, in order.
const each = (server, values, name = 'X-Forwarded-For') =>
  burst(values.length, 1, (i) => server.request('/api', { headers: { [name]: values[i] } }));
const many = (count, value) => Array.from({ length: count }, (_, i) => value(i));
const keyOf = async (server, headers) => (await server.request('/api', { headers })).json.key;

scenario('case KEY-01: forged forwarding headers change nothing without a trusted proxy', async (world) => {
  const { redis, server } = await world.pair({ args: [...THREE, '--trusted-proxy', '192.0.2.1'] });
  const forged = await burst(10, 1, (i) => server.request('/api', { headers: { 'X-Forwarded-For': `10.0.0.${i}` } }));
  assert.equal(admitted(forged), 3);
  for (const name of HEADERS.slice(1)) {
    const value = (i) => (name === 'Forwarded' ? `for=10.0.0.${i}` : `10.0.0.${i}`);
    assert.equal(admitted(await each(server, many(10, value), name)), 0, name);
  }
  assert.deepEqual(await redis.keys(), [redis.key('ip:127.0.0.1')]);
  assert.equal(admitted(await each(server, many(3, () => '127.0.0.7'))), 0);
  const other = await server.request('/api', { agent: server.http.newAgent({ localAddress: '127.0.0.7' }) });
  assert.deepEqual([other.status, other.json.key, other.remaining], [200, 'ip:127.0.0.7', 2], "another peer's quota is untouched");
});

scenario('case KEY-01: fields that no proxy list rules are never believed, from a trusted proxy neither', async (world) => {
  const { redis, server } = await world.pair({ args: [...THREE, ...TRUSTED] });
  for (const name of ['X-Real-IP', 'True-Client-IP', 'CF-Connecting-IP']) await each(server, many(4, (i) => `198.51.100.${i}`), name);
  assert.deepEqual(await redis.keys(), [redis.key('ip:127.0.0.1')]);
});

scenario('case KEY-04: the port never enters the key', async (world) => {
  const { server } = await world.pair({ args: [...THREE, ...TRUSTED] });
  assert.equal(admitted(await each(server, many(10, (i) => `203.0.113.5:${40000 + i}`))), 3);
  assert.equal(admitted(await each(server, many(10, (i) => `[2001:db8::1]:${40000 + i}`))), 3);
  assert.equal(admitted(await each(server, many(4, (i) => `for="[2001:db8::1]:${40000 + i}"`), 'Forwarded')), 0);
  const direct = await burst(10, 1, () => server.request('/api', { agent: false }));
  assert.equal(admitted(direct), 3, 'ten connections, ten ports');
});

scenario('case KEY-05: IPv6 neighbours share a key by the prefix', async (world) => {
  const { redis, server } = await world.pair({ args: [...THREE, ...TRUSTED] });
  const neighbours = await each(server, many(100, (i) => `2001:db8:0:1::${(i + 1).toString(16)}`));
  assert.equal(admitted(neighbours), 3);
  assert.equal(neighbours[0].json.key, 'ip:2001:db8:0:1::/64');
  assert.equal(admitted(await each(server, ['2001:db8:0:2::1'])), 1);
  const wider = await world.server({ redis, args: [...THREE, ...TRUSTED, '--ipv6-prefix', '48', '--key-prefix', 'wide:'] });
  assert.equal(admitted(await each(wider, many(9, (i) => `2001:db8:1:${i}::1`))), 3);
  assert.equal(admitted(await each(wider, ['2001:db8:2::1'])), 1);
  const whole = await world.server({ redis, args: [...THREE, ...TRUSTED, '--ipv6-prefix', '128', '--key-prefix', 'whole:'] });
  assert.equal(admitted(await each(whole, many(9, (i) => `2001:db8::${i}`))), 9);
  assert.equal(await keyOf(whole, { 'X-Forwarded-For': '2001:db8::1' }), 'ip:2001:db8::1');
});

scenario('case KEY-07: all spellings of one address are one key', async (world) => {
  const { redis, server } = await world.pair({ args: [...THREE, ...TRUSTED] });
  const spellings = [
    '2001:db8::1', '2001:DB8::1', '2001:0db8:0:0:0:0:0:1', '2001:db8::0:1', '[2001:db8::1]', '2001:db8::1%eth0', ' 2001:db8::1',
  ];
  assert.equal(admitted(await each(server, spellings)), 3);
  assert.deepEqual(await redis.keys(), [redis.key('ip:2001:db8::/64')]);
  assert.equal(admitted(await each(server, ['203.0.113.5', '::ffff:203.0.113.5', '64:ff9b::203.0.113.5', '::FFFF:cb00:7105'])), 3);
});

scenario('behind trusted proxies the first address from the right that is none of theirs is the client', async (world) => {
  const { server } = await world.pair({ args: [...bucket(1000, 1, 1), ...TRUSTED] });
  const cases = [
    [{}, '127.0.0.1'],
    [{ 'X-Forwarded-For': '203.0.113.5' }, '203.0.113.5'],
    [{ 'X-Forwarded-For': '198.51.100.7, 203.0.113.5, 10.1.1.1' }, '203.0.113.5'],
    [{ 'X-Forwarded-For': ['198.51.100.7', '203.0.113.5', '10.1.1.1, 10.1.1.2'] }, '203.0.113.5'],
    [{ 'X-Forwarded-For': ['203.0.113.5', ''] }, '203.0.113.5'],
    [{ 'x-FORWARDED-for': '203.0.113.5' }, '203.0.113.5'],
    [{ 'X-Forwarded-For': '203.0.113.5, garbage' }, '127.0.0.1'],
    [{ 'X-Forwarded-For': '203.0.113.5, garbage, 10.1.1.1' }, '10.1.1.1'],
    [{ Forwarded: 'for=198.51.100.7, for="203.0.113.5:80";proto=http, for=10.1.1.1' }, '203.0.113.5'],
    [{ Forwarded: ['for="unclosed', 'for=203.0.113.5;host="a,b"'] }, '203.0.113.5'],
    [{ Forwarded: 'for=unknown' }, '127.0.0.1'],
    [{ 'X-Forwarded-For': '203.0.113.5', Forwarded: 'for=198.51.100.7' }, '203.0.113.5'],
    [{ 'X-Forwarded-For': 'garbage', Forwarded: 'for=198.51.100.7' }, '127.0.0.1'],
  ];
  for (const [headers, ip] of cases) assert.equal(await keyOf(server, headers), `ip:${ip}`, JSON.stringify(headers));
});

scenario('a head full of forwarded addresses is answered, and its end counts', async (world) => {
  const { server } = await world.pair({ args: [...bucket(1000, 1, 1), ...TRUSTED] });
  const long = many(600, (i) => `10.9.${i >> 8}.${i & 255}`).join(',');
  assert.equal(await keyOf(server, { 'X-Forwarded-For': `${long},203.0.113.5` }), 'ip:203.0.113.5');
  assert.match(await keyOf(server, { 'X-Forwarded-For': `203.0.113.5,${long}` }), /^ip:10\.9\./);
});

scenario('a trusted proxy on this machine makes a token needed, and none of its headers opens /admin', async (world) => {
  const { redis, server } = await world.pair({ args: TRUSTED });
  const [, token] = await server.child.output(/^Admin token of this run: ([0-9a-f]{64}) /m);
  assert.equal(server.log.includes(token), false, 'not in the log');
  for (const headers of [{}, { 'X-Forwarded-For': '127.0.0.1' }, { Forwarded: 'for=127.0.0.1' }, { Authorization: 'Bearer x' }]) {
    assert.equal((await server.request('/admin/config', { headers })).status, 401);
  }
  const auth = { Authorization: `Bearer ${token}` };
  assert.equal((await server.request('/admin/config', { headers: { ...auth, 'X-Forwarded-For': '203.0.113.5' } })).status, 200);
  const again = await world.server({ redis, args: TRUSTED });
  assert.equal((await again.request('/admin/config', { headers: auth })).status, 401, 'each run has its own');
  const own = await world.server({ redis, args: TRUSTED, env: { RATELIMITD_ADMIN_TOKEN: 'sesame' } });
  assert.doesNotMatch(own.child.stdout, /token/i);
  assert.equal((await own.request('/admin/config', { headers: { Authorization: 'Bearer sesame' } })).status, 200);
});

scenario('without a token the loopback rule looks at the connection: a proxy that is not named stays outside', async (world) => {
  const { server } = await world.pair();
  assert.equal((await server.request('/admin/config')).status, 200);
  assert.equal((await server.request('/admin/config', { headers: { 'X-Forwarded-For': '127.0.0.1' } })).status, 403);
});

// An IPv4 address of this machine that is not loopback; a connection to it comes from it.
const outside = () => Object.values(networkInterfaces()).flat().find((a) => !a.internal && a.family === 'IPv4')?.address;

scenario('from elsewhere /check wants its token or a trusted proxy, and a forwarded address is neither', async (world, t) => {
  const address = outside();
  if (!address) return t.skip('this machine has no address but loopback to call from');
  const redis = await world.redis();
  const token = { Authorization: 'Bearer check-sesame' };
  const from = async (server, headers, query = 'policy=default&key=k') => (await server.request(`/check?${query}`, { host: address, headers })).status;
  const env = { RATELIMITD_ADMIN_TOKEN: 'sesame' };
  const bare = await world.server({ redis, env, args: ['--host', '0.0.0.0'] });
  for (const headers of [{}, token, { Authorization: 'Bearer ' }, { Authorization: 'Bearer sesame' }, { 'X-Forwarded-For': '127.0.0.1' }]) {
    assert.equal(await from(bare, headers), 403, JSON.stringify(headers));
  }
  assert.equal(await from(bare, {}, 'policy=default&key=k&deny_status=403'), 403);
  assert.deepEqual(await redis.keys(), [], 'nothing was taken');
  const open = await world.server({ redis, env: { ...env, RATELIMITD_CHECK_TOKEN: 'check-sesame' }, args: ['--host', '0.0.0.0'] });
  assert.equal(await from(open, token), 200);
  for (const headers of [{}, { Authorization: 'Bearer check-sesamE' }, { Authorization: 'Basic check-sesame' }, { Authorization: ['Bearer check-sesame', 'Bearer x'] }]) {
    assert.equal(await from(open, headers), 403, JSON.stringify(headers));
  }
  assert.equal((await open.request('/admin/config', { host: address, headers: token })).status, 401, 'no key to settings');
  assert.equal((await open.request('/check?policy=default&key=k')).status, 200, 'this machine needs none');
  const proxied = await world.server({ redis, env, args: ['--host', '0.0.0.0', '--trusted-proxy', address] });
  assert.equal(await from(proxied, { 'X-Forwarded-For': '203.0.113.5' }), 200);
  assert.equal((await proxied.request('/api', { host: address, headers: { 'X-Forwarded-For': '203.0.113.5' } })).json.key, 'ip:203.0.113.5');
  assert.equal((await proxied.request('/api', { headers: { 'X-Forwarded-For': '203.0.113.5' } })).json.key, 'ip:127.0.0.1');
});
