// The configuration that all instances share through Redis: who follows, who wins, and what a loss leaves.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';

import { assertRefused, bucket } from '../harness/decision.mjs';
import { admitted, burst, statuses } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { repository, runProgram } from '../harness/server.mjs';
import { now, sleep, until } from '../harness/time.mjs';

const BOUND_MS = 1000; // within which every other instance follows
const POLICY = '/admin/policies/default';
const HASH = 'rl:config';

const document = async (server) => (await server.request('/admin/config')).json;
const version = async (server) => (await document(server)).version;
const capacity = async (server) => (await server.settings()).capacity;
const reset = (server) => server.request('/admin/config', { method: 'DELETE' });
const fields = async (redis) => {
  const flat = await redis.command('HGETALL', HASH);
  return Object.fromEntries(flat.map((value, i) => [value, flat[i + 1]]).filter((_, i) => i % 2 === 0));
};

// Several instances on one Redis.
async function instances(world, count, options = {}) {
  const redis = await world.redis();
  const servers = [];
  for (let i = 0; i < count; i++) servers.push(await world.server({ redis, ...options }));
  return { redis, servers };
}

async function assertPatched(server, change) {
  const response = await server.patch(change);
  assert.equal(response.status, 200, response.text);
  return response;
}

// All say the same, within the bound from `start` on.
async function assertAgree(servers, start = now(), allowed = () => true) {
  const end = start + BOUND_MS;
  for (;;) {
    const texts = await Promise.all(servers.map(async (server) => (await server.request('/admin/config')).text));
    if (texts.every((text) => text === texts[0]) && allowed(JSON.parse(texts[0]))) return JSON.parse(texts[0]);
    assert.ok(now() < end, `no agreement after ${BOUND_MS} ms: ${texts.map((text) => text.slice(0, 200)).join('\n')}`);
    await sleep(10);
  }
}

scenario('a change is followed by every other instance within the bound, and by each decision there', async (world) => {
  const { redis, servers: [a, b, c] } = await instances(world, 3);
  assert.equal(await redis.command('EXISTS', HASH), 0, 'nobody has changed anything');
  for (const [i, server] of [a, b, c, a].entries()) {
    await assertPatched(server, { capacity: 20 + i });
    const { policies, version: seen } = await assertAgree([a, b, c]);
    assert.deepEqual([policies.default.capacity, seen], [20 + i, 2 + i]);
    for (const other of [a, b, c]) assert.equal((await other.hit(`k${i}`)).number('X-RateLimit-Limit'), 20 + i);
  }
  const stored = await fields(redis);
  assert.deepEqual(Object.keys(stored).sort(), ['document', 'nonce', 'version']);
  assert.equal(stored.version, '5');
  assert.deepEqual(JSON.parse(stored.document), { policies: (await document(a)).policies });
});

scenario('what is written without a word being published is noticed by polling', async (world) => {
  const { redis, servers } = await instances(world, 2);
  await assertPatched(servers[0], { capacity: 20 });
  const { document: text } = await fields(redis);
  await redis.command('HSET', HASH, 'version', '7', 'nonce', 'ab', 'document', text.replace('"capacity":20', '"capacity":70'));
  assert.equal((await assertAgree(servers, now(), (all) => all.policies.default.capacity === 70)).version, 7);
});

scenario('case ADM-06: another instance follows, keeps what it missed, and does not push its own settings at a restart', async (world) => {
  const { redis, servers: [a] } = await instances(world, 1);
  const args = bucket(33, 1, 1);
  const b = await world.server({ redis, args });
  await assertPatched(a, { capacity: 44 });
  const start = now();
  await until('the new limit', async () => (await b.hit('k2')).number('X-RateLimit-Limit') === 44, BOUND_MS, 20);
  assert.ok(now() - start <= BOUND_MS);
  assert.match(b.log, /configuration version 2 from Redis \(rl:config\).*overrides --capacity/);
  await b.stop();
  await assertPatched(a, { capacity: 45 });
  const again = await world.server({ redis, args });
  assert.equal(await capacity(again), 45, 'from its first answer on');
  assert.equal((await again.hit('k3')).number('X-RateLimit-Limit'), 45);
  assert.match(again.log, /configuration version 3 from Redis \(rl:config\).*overrides --capacity, --refill-rate, --refill-interval/);
  assert.equal(await capacity(a), 45);
});

scenario('while Redis is away a change gets 503 and changes nothing; afterwards it works', async (world) => {
  const { redis, servers } = await instances(world, 2);
  await assertPatched(servers[0], { capacity: 20 });
  await assertAgree(servers);
  await redis.kill();
  for (const server of servers) {
    await until('503', async () => (await server.patch({ capacity: 21 })).status === 503, 3000);
    assertRefused(await server.patch({ capacity: 21 }), 503, /Redis/);
    assertRefused(await reset(server), 503, /Redis/);
    assert.equal(await capacity(server), 20);
    const form = await server.request('/config', { method: 'POST', body: 'capacity=9', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    assert.deepEqual([form.status, form.json.success], [503, false]);
  }
  await redis.start(); // empty
  await until('the document in Redis', async () => (await fields(redis)).version === '2', 3000);
  assert.equal((await assertAgree(servers)).policies.default.capacity, 20);
  await until('a change', async () => (await servers[1].patch({ capacity: 21 })).status === 200, 3000);
  await until('the other one', async () => (await version(servers[0])) === 3, 3000);
  await assertAgree(servers);
});

scenario('Redis absent at the start: its document is in use as soon as it is there', async (world) => {
  const { redis, servers: [a] } = await instances(world, 1);
  await assertPatched(a, { capacity: 20 });
  redis.freeze();
  const b = await world.server({ redis, args: bucket(33, 1, 1) });
  assert.equal(await capacity(b), 33);
  redis.thaw();
  const start = now();
  await until('the document', async () => (await capacity(b)) === 20, 3000);
  assert.ok(now() - start < 3000);
  assert.equal(await version(b), 2);
});

scenario('a reply that is lost: 503 says that the outcome is not known, and afterwards all agree', async (world) => {
  const { redis, servers } = await instances(world, 2);
  await assertPatched(servers[0], { capacity: 20 });
  await assertAgree(servers);
  redis.freeze();
  const start = now();
  const response = await servers[0].patch({ capacity: 21 });
  assert.ok(now() - start < 5000, `${now() - start} ms`);
  assertRefused(response, 503, /Redis/);
  redis.thaw();
  await sleep(200);
  await until('a change', async () => (await servers[1].patch({ refill_rate: 2 })).status === 200, 3000);
  const { policies } = await assertAgree(servers);
  assert.ok([20, 21].includes(policies.default.capacity));
  assert.equal(policies.default.refill_rate, 2);
});

// Stands between a server and Redis, and ends the connection over which the next `write` of the configuration goes:
// before Redis has it ('request') or before its reply is back ('reply').
class Cutter {
  port = 0;
  cut = null;
  between = async () => {}; // while it is cut
  #sockets = new Set();

  static async start(world, redis) {
    const cutter = new Cutter();
    const listener = net.createServer((near) => cutter.#join(near, net.connect(redis.port, '127.0.0.1')));
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
    cutter.port = listener.address().port;
    world.owns(() => {
      listener.close();
      cutter.#sockets.forEach((socket) => socket.destroy());
    });
    return cutter;
  }

  #join(near, far) {
    let silent = false;
    for (const [from, to] of [[near, far], [far, near]]) {
      this.#sockets.add(from);
      from.on('error', () => {}).on('close', () => to.destroy());
    }
    near.on('data', async (bytes) => {
      if (!this.cut || !bytes.includes('\r\nwrite\r\n')) return far.write(bytes);
      const what = this.cut;
      this.cut = null;
      silent = true;
      if (what === 'reply') far.write(bytes);
      await sleep(50); // Redis has done it
      await this.between();
      return near.destroy();
    });
    far.on('data', (bytes) => silent || near.write(bytes));
  }
}

scenario('a write whose reply is lost is looked for: done, made again, or not known', async (world) => {
  const { redis, servers: [other] } = await instances(world, 1);
  const cutter = await Cutter.start(world, redis);
  const server = await world.server({ redis: cutter });
  for (const [i, cut] of ['reply', 'request', 'reply', 'request'].entries()) {
    cutter.cut = cut;
    const response = await server.patch({ capacity: 20 + i });
    assert.deepEqual([response.status, response.headers.etag], [200, `"${2 + i}"`], `${cut}: ${response.text}`);
    assert.equal(cutter.cut, null, 'it was cut');
    assert.equal((await assertAgree([server, other])).policies.default.capacity, 20 + i);
  }
  cutter.between = () => assertPatched(other, { refill_rate: 2 });
  cutter.cut = 'reply';
  assertRefused(await server.patch({ capacity: 30 }), 503, /may or may not/);
  const { policies, version: last } = await assertAgree([server, other]);
  assert.deepEqual([policies.default.capacity, policies.default.refill_rate, last], [30, 2, 7]);
});

scenario('changes go on while the connections of all instances are cut again and again; each answer is true', async (world) => {
  const { redis, servers: [a, b] } = await instances(world, 2);
  let cutting = true;
  const cutter = (async () => {
    for (let i = 0; cutting; await sleep(90 + (37 * i++) % 120)) await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  })();
  const told = { 200: 0, 503: 0 };
  const end = now() + 4000;
  for (let i = 1; now() < end; i++) {
    const response = await a.patch({ capacity: 100 + i });
    told[response.status]++;
    if (response.status === 200) assert.equal(response.json.capacity, 100 + i);
    else assertRefused(response, 503, /Redis/);
    if (response.status === 503 && !/may or may not/.test(response.text)) assert.notEqual(await capacity(a), 100 + i);
    await sleep(1);
  }
  cutting = false;
  await cutter;
  assert.ok(told[200] > 10 && told[503] > 10, JSON.stringify(told));
  await until('a change', async () => (await a.patch({ capacity: 99 })).status === 200, 3000);
  assert.equal((await assertAgree([a, b])).policies.default.capacity, 99);
});

scenario('with If-Match one of two instances gets 412, without both changes are there', async (world) => {
  const { servers: [a, b] } = await instances(world, 2);
  await assertPatched(a, { capacity: 20 });
  await assertAgree([a, b]);
  const matching = (server, body) => server.patch(body, { headers: { 'If-Match': '"2"', 'Content-Type': 'application/json' } });
  const both = await Promise.all([matching(a, { capacity: 21 }), matching(b, { capacity: 22 })]);
  assert.deepEqual(both.map((response) => response.status).sort(), [200, 412]);
  const { version: after } = await assertAgree([a, b]);
  assert.equal(after, 3);
  await Promise.all([assertPatched(a, { refill_rate: 5 }), assertPatched(b, { cost: 2 })]);
  const { policies, version: last } = await assertAgree([a, b]);
  assert.deepEqual([policies.default.refill_rate, policies.default.cost, last], [5, 2, 5]);
  const fresh = await a.patch({ capacity: 30 });
  const elsewhere = await b.patch({ capacity: 31 }, { headers: { 'If-Match': fresh.headers.etag, 'Content-Type': 'application/json' } });
  assert.equal(elsewhere.status, 200, 'a version that this instance may not have seen yet');
});

scenario('five clients change five members through five instances, 1,000 times: nothing is lost, versions have no gaps', async (world) => {
  const { redis, servers } = await instances(world, 5, { threads: 1, args: bucket(1000, 1, 1) });
  const EACH = 200;
  const values = [
    (i) => ({ capacity: 1000 + i }), (i) => ({ refill_rate: 1 + i }), (i) => ({ refill_interval: (1000 + i) / 1000 }),
    (i) => ({ cost: 1 + i }), (i) => ({ key: `k${i}:{ip}` }),
  ];
  const versions = [];
  await Promise.all(servers.map(async (server, s) => {
    for (let i = 1; i <= EACH; i++) {
      const change = values[s](i);
      const response = await assertPatched(server, change);
      const [member] = Object.keys(change);
      assert.equal(response.json[member], change[member]);
      versions.push(Number(response.headers.etag.slice(1, -1)));
    }
  }));
  versions.sort((left, right) => left - right);
  assert.deepEqual(versions, Array.from({ length: 5 * EACH }, (_, i) => i + 2));
  const { policies, version: last } = await assertAgree(servers);
  const { capacity: size, refill_rate, refill_interval, cost, key } = policies.default;
  assert.deepEqual([size, refill_rate, refill_interval, cost, key], [1200, 201, 1.2, 201, 'k200:{ip}']);
  assert.equal(last, 1001);
  assert.equal((await fields(redis)).version, '1001');
}, { ms: 120000 });

scenario('a failover that brings back an older document, one of another history, or none: all agree', async (world) => {
  const { redis, servers } = await instances(world, 3);
  const [a] = servers;
  await assertPatched(a, { capacity: 20 });
  const old = await fields(redis);
  await assertPatched(a, { capacity: 30 });
  await assertPatched(a, { capacity: 40 });
  await assertAgree(servers);
  const put = ({ version: number, nonce, document: text }) => redis.command('HSET', HASH, 'version', number, 'nonce', nonce, 'document', text);

  await put(old);
  const older = await assertAgree(servers, now(), (all) => all.version === 2);
  assert.equal(older.policies.default.capacity, 20);

  const other = { ...old, nonce: '0123', document: old.document.replace('"capacity":20', '"capacity":50') };
  await put(other);
  await assertAgree(servers, now(), (all) => all.policies.default.capacity === 50 && all.version === 2);

  await redis.command('DEL', HASH);
  const start = now();
  const whole = await until('the document in Redis', async () => (await fields(redis)).document && fields(redis), BOUND_MS);
  assert.deepEqual(whole, other);
  await assertAgree(servers, start, (all) => all.policies.default.capacity === 50);
  await redis.command('FLUSHALL');
  await assertPatched(a, { capacity: 60 });
  assert.deepEqual([await version(a), (await assertAgree(servers)).policies.default.capacity], [3, 60]);
});

scenario('case ADM-18: a stored field that is missing is put back, and told; a start without one uses its own settings', async (world) => {
  const { redis, servers } = await instances(world, 2);
  await assertPatched(servers[0], { capacity: 3, refill_interval: 60 });
  await assertAgree(servers);
  const before = await fields(redis);
  for (const field of ['version', 'nonce', 'document']) {
    await redis.command('HDEL', HASH, field);
    await until(`${field} back`, async () => (await fields(redis))[field] === before[field], BOUND_MS);
    assert.deepEqual(await fields(redis), before);
  }
  await until('a log line', () => /rl:config.*(damaged|written back)/.test(servers[0].log + servers[1].log), 1000);
  const seen = await burst(6, 1, () => servers[1].hit('k'));
  assert.deepEqual([admitted(seen), seen[5].status], [3, 429]);
  for (const server of servers) await server.stop();

  await redis.command('HDEL', HASH, 'document');
  const fresh = await world.server({ redis, args: bucket(8, 1, 60) });
  assert.equal(await capacity(fresh), 8);
  assert.match(fresh.log, /damaged/);
  assert.equal((await fields(redis)).document, undefined, 'nothing is pushed');
  assert.equal((await fresh.hit('fresh')).number('X-RateLimit-Limit'), 8);
  await assertPatched(fresh, { capacity: 9 });
  assert.equal(JSON.parse((await fields(redis)).document).policies.default.capacity, 9);
});

scenario('a document that cannot be read is told once, not used, not changed, and can be deleted', async (world) => {
  const { redis, servers } = await instances(world, 2);
  const [a, b] = servers;
  await assertPatched(a, { capacity: 20 });
  await assertAgree(servers);
  const bad = ['{"policies":{"default":{"from_tomorrow":1}}}', '{"policies":{"default":{"capacity":20}', '{"policies":{}}', '[]', '{"policies":{"default":{"capacity":0}}}'];
  for (const [i, text] of bad.entries()) {
    await redis.command('HSET', HASH, 'version', String(10 + i), 'nonce', 'f00d', 'document', text);
    await until('the log', () => [a, b].every((server) => server.log.includes(`version ${10 + i} in Redis (rl:config) cannot be used`)), BOUND_MS);
    assert.equal(await capacity(a), 20);
    assertRefused(await a.patch({ capacity: 21 }), 409, /DELETE \/admin\/config/);
  }
  await sleep(1200);
  assert.equal(a.log.split('cannot be used').length - 1, bad.length, 'once each');
  const fresh = await world.server({ redis, args: bucket(8, 1, 1) });
  assert.equal(await capacity(fresh), 8);
  assert.equal((await reset(a)).status, 200);
  await until('the settings of the start', async () => (await capacity(b)) === 10 && (await version(fresh)) === 15, BOUND_MS);
});

scenario('DELETE /admin/config: every instance goes back to the settings of its own start, under the next version', async (world) => {
  const { redis, servers: [a] } = await instances(world, 1);
  const b = await world.server({ redis, args: bucket(33, 1, 1) });
  assert.equal((await reset(a)).status, 200);
  assert.equal(await version(a), 1, 'there was nothing to delete');
  await assertPatched(a, { capacity: 20 });
  await until('the change', async () => (await capacity(b)) === 20, BOUND_MS);
  const deleted = await reset(b);
  assert.deepEqual([deleted.status, deleted.json.version, deleted.json.policies.default.capacity], [200, 3, 33]);
  await until('its own start', async () => (await capacity(a)) === 10, BOUND_MS);
  assert.equal(await version(a), 3);
  const fresh = await world.server({ redis, args: bucket(44, 1, 1) });
  assert.equal(await capacity(fresh), 44);
  await assertPatched(fresh, { cost: 2 });
  const { policies, version: last } = await assertAgree([a, b, fresh], now(), (all) => all.policies.default.cost === 2);
  assert.deepEqual([policies.default.capacity, last], [44, 4]);
});

scenario('case ADM-01: a new limit holds for clients already known, up as well as down', async (world) => {
  const { servers: [a, b] } = await instances(world, 2, { args: bucket(5, 5, 10) });
  for (let i = 0; i < 7; i++) await b.hit('k');
  for (const limit of [50, 2]) {
    await assertPatched(a, { capacity: limit });
    await until('the limit', async () => (await b.hit('fresh', { cost: 0 })).number('X-RateLimit-Limit') === limit, BOUND_MS);
    const known = await b.hit('k', { cost: 0 });
    assert.equal(known.number('X-RateLimit-Limit'), limit);
    assert.ok(known.remaining >= 0 && known.remaining <= limit);
    const fresh = await burst(limit + 3, 1, (i) => b.hit(`new-${limit}`, {}, { i }));
    assert.ok([limit, limit + 1].includes(admitted(fresh)), `${admitted(fresh)} of ${limit}`);
  }
});

const SHORTENED = {
  token_bucket: [{ capacity: 3, refill_rate: 3, refill_interval: 3600 }, { refill_interval: 5 }],
  fixed_window: [{ limit: 3, window: 3600 }, { window: 5 }],
  sliding_window_log: [{ limit: 3, window: 3600 }, { window: 5 }],
  sliding_window_counter: [{ limit: 3, window: 3600 }, { window: 5 }],
  leaky_bucket: [{ capacity: 3, leak_rate: 0.001 }, { leak_rate: 0.6 }],
};

scenario('case ADM-04: a shortened window frees who is blocked, no later than one new window', async (world) => {
  const redis = await world.redis();
  await Promise.all(Object.entries(SHORTENED).map(async ([algorithm, [long, short]]) => {
    const server = await world.server({ redis, args: ['--key-prefix', `${algorithm}:`], threads: 1 });
    await assertPatched(server, { algorithm, ...long });
    assert.equal(admitted(await server.burst('k', 5)), 3, algorithm);
    await assertPatched(server, short);
    const changed = now();
    for (let denied = await server.hit('k'); denied.status === 429; denied = await server.hit('k')) {
      assert.ok(now() - changed < 5300, `${algorithm} still blocks`);
      assert.ok(denied.json.retry_after <= 5.001 && denied.json.reset_after <= 5.001, `${algorithm}: ${denied.text}`);
      await sleep(500);
    }
    for (const key of await redis.keys(`${algorithm}:`)) assert.ok(await redis.command('PTTL', key) <= 10100, `TTL of ${key}`);
  }));
});

const IN_ADVANCE = {
  token_bucket: [{ capacity: 2, refill_rate: 20, on_limit: 'delay', max_delay: 3 }, { refill_rate: 1 }],
  leaky_bucket: [{ capacity: 2, leak_rate: 20, on_limit: 'delay', max_delay: 3 }, { leak_rate: 1 }],
};

scenario('case ADM-04: after a change from delay to reject nobody waits for what others took in advance, and they get it', async (world) => {
  const redis = await world.redis();
  for (const [algorithm, [fast, slow]] of Object.entries(IN_ADVANCE)) {
    const server = await world.server({ redis, args: ['--key-prefix', `${algorithm}:`], threads: 1 });
    await assertPatched(server, { algorithm, ...fast });
    const held = server.burst('k', 40, 40);
    held.catch(() => {}); // awaited below; what fails before that shall be told
    const state = async () => (await server.request('/admin/keys?policy=default&key=k')).json.limits[0].fields;
    await until('38 in advance', async () => {
      const { tokens = 0, level = 0 } = (await state()) ?? {};
      return Number(tokens) < -30 || Number(level) > 30;
    }, 1500, 5);
    await assertPatched(server, { ...slow, on_limit: 'reject', max_delay: null });
    const denied = await server.hit('k');
    assert.equal(denied.status, 429, denied.text);
    assert.ok(denied.json.retry_after <= 1, `${algorithm}: ${denied.text}`);
    await sleep(denied.json.retry_after * 1000);
    assert.equal((await server.hit('k')).status, 200, algorithm);
    assert.deepEqual(statuses(await held), { 200: 40 });
  }
});

scenario('case RED-16: while Redis is away each instance gives its share of the limit', async (world) => {
  const { redis, servers } = await instances(world, 2, { args: [...bucket(20, 1, 3600), '--on-redis-error', 'local'] });
  await sleep(100); // the first one has heard of the second
  await redis.kill();
  for (const server of servers) {
    await until('local decisions', async () => (await server.hit('probe', { cost: 0 })).json.source === 'local', 3000);
    assert.equal(admitted(await server.burst('k', 100, 10)), 10);
  }
});

scenario('--config: the file is the only source, SIGHUP reads it again, and a bad file changes nothing', async (world) => {
  const redis = await world.redis();
  const path = join(world.directory(), 'policies.json');
  const write = (text) => writeFileSync(path, text);
  const policies = (size) => JSON.stringify({ policies: { default: { capacity: size }, other: { paths: ['/api/other'], capacity: 3 } } });
  const elsewhere = await world.server({ redis });
  await assertPatched(elsewhere, { capacity: 77 });
  write(policies(20));
  const server = await world.server({ redis, args: ['--config', path] });
  assert.equal(await capacity(server), 20, 'the document in Redis is not looked at');
  for (const refused of [
    await server.patch({ capacity: 21 }), await reset(server),
    await server.request('/admin/config', { method: 'PUT', body: await document(server) }),
  ]) assertRefused(refused, 409, /--config.*SIGHUP/);
  const form = await server.request('/config', { method: 'POST', body: 'capacity=9', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
  assert.deepEqual([form.status, form.json.success], [409, false]);
  assert.match(form.json.error, /--config/);

  write(policies(30));
  process.kill(server.pid, 'SIGHUP');
  await until('the new file', async () => (await capacity(server)) === 30, 1000);
  assert.equal(await version(server), 2);
  assert.equal((await server.hit('k')).number('X-RateLimit-Limit'), 30);
  write('{"policies":{"default":{"capacity":0}}}');
  process.kill(server.pid, 'SIGHUP');
  await until('words', () => /SIGHUP: .*policies\.json: policies\.default\.capacity: .*whole number from 1/.test(server.log), 1000);
  assert.equal(await capacity(server), 30);
  process.kill(elsewhere.pid, 'SIGHUP');
  await until('words', () => /SIGHUP: there is no file/.test(elsewhere.log), 1000);
  assert.deepEqual([await capacity(elsewhere), await capacity(server)], [77, 30]);
});

scenario('--seed-config: settings to begin with; live changes win, until they are deleted', async (world) => {
  const redis = await world.redis();
  const path = join(world.directory(), 'seed.json');
  writeFileSync(path, '{"policies":{"default":{"capacity":20}}}');
  const args = ['--seed-config', path];
  const server = await world.server({ redis, args });
  assert.equal(await capacity(server), 20);
  await assertPatched(server, { capacity: 21 });
  const second = await world.server({ redis, args });
  assert.equal(await capacity(second), 21);
  assert.match(second.log, /overrides --seed-config .*seed\.json/);
  assert.equal((await reset(second)).status, 200);
  await until('the seed', async () => (await capacity(server)) === 20, BOUND_MS);
});

scenario('a bad file or two sources at the start: one line, exit 2', async (world) => {
  const path = join(world.directory(), 'policies.json');
  for (const [text, words] of [
    ['{"policies":{"default":{"capacity":0}}}', /policies\.default\.capacity: capacity must be .*1 to 1000000000; got 0/],
    ['{"policies":{"default":{"kapacity":1}}}', /kapacity/], ['{"policies":{}}', /default must always exist/], ['', /not valid JSON/],
    ['{"policies":{"default":{}},"policies":{"default":{}}}', /not valid JSON/], [' '.repeat(1024 * 1024 + 1), /at most 1048576 bytes/],
  ]) {
    writeFileSync(path, text);
    for (const option of ['--config', '--seed-config']) {
      const { code, stderr } = await runProgram([option, path]);
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`^ratelimitd: ${option} ".*policies\\.json": [^\\n]*\\n$`));
      assert.match(stderr, words);
    }
  }
  writeFileSync(path, '{"policies":{"default":{}}}');
  for (const args of [['--config', path, '--seed-config', path], ['--config', path, '--capacity', '5'], ['--seed-config', path, '--on-redis-error', 'open']]) {
    const { code, stderr } = await runProgram(args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, /^ratelimitd: --(config|seed-config) and --[a-z-]+ [^\n]*\n$/);
  }
  assert.equal((await runProgram(['--config', join(path, 'absent')])).code, 2);
});

scenario('1,000 policies in one document; a change of one is quick', async (world) => {
  const { servers: [a, b] } = await instances(world, 2);
  const policies = { default: {} };
  for (let i = 0; i < 1000; i++) policies[`p${i}`] = { paths: [`/api/p${i}`], capacity: i + 1 };
  const put = await a.request('/admin/config', { method: 'PUT', body: { policies } });
  assert.equal(put.status, 200, put.text.slice(0, 300));
  await until('all of them', async () => Object.keys((await document(b)).policies).length === 1001, BOUND_MS, 20);
  const times = [];
  for (let i = 0; i < 10; i++) {
    const response = await a.request(`/admin/policies/p${i}`, { method: 'PATCH', body: { capacity: 5000 + i } });
    assert.equal(response.status, 200, response.text);
    times.push(response.ms);
  }
  times.sort((left, right) => left - right);
  assert.ok(times[5] < 500, `median of ${times.map(Math.round)} ms`);
  await until('the last', async () => (await b.request('/admin/policies/p9')).json.capacity === 5009, BOUND_MS, 20);
  assert.equal((await b.request('/api/p999')).number('X-RateLimit-Limit'), 1000);
});

scenario('case RED-13: the permissions that the docs name are enough', async (world) => {
  const redis = await world.redis();
  const line = readFileSync(join(repository, 'docs/redis.md'), 'utf8').match(/^ACL SETUSER limiter on >PASSWORD (.*)$/m)[1];
  await redis.command('ACL', 'SETUSER', 'limiter', 'on', '>pw', ...line.split(' '));
  const options = { redis, args: ['--redis-user', 'limiter', '--on-redis-error', 'closed'], env: { REDIS_PASSWORD: 'pw' } };
  const [a, b] = [await world.server(options), await world.server(options)];
  for (const algorithm of Object.keys(SHORTENED)) {
    await assertPatched(a, { algorithm, ...SHORTENED[algorithm][0] });
    await assertAgree([a, b]);
    assert.equal(admitted(await b.burst(`${algorithm}-k`, 5)), 3, algorithm);
    await redis.command('SCRIPT', 'FLUSH');
  }
  await redis.command('DEL', HASH);
  await until('the document', async () => (await fields(redis)).version === '6', BOUND_MS);
  assert.equal((await reset(b)).status, 200);
  const denied = await redis.command('ACL', 'LOG');
  assert.deepEqual(denied, [], 'nothing was refused');
  assert.doesNotMatch(a.log + b.log, /refuses|NOPERM/);

  await redis.command('ACL', 'SETUSER', 'limiter', '-hset');
  assertRefused(await a.patch({ cost: 2 }), 503, /NOPERM|can't run this command/);
  assert.match(a.log, /Redis refuses/);
  await redis.command('ACL', 'SETUSER', 'limiter', '+hset');
  await assertPatched(a, { cost: 2 });
});
