// The configuration that all instances share: lost replies, lost documents, and documents that nobody can read.

import assert from 'node:assert/strict';
import net from 'node:net';

import { assertRefused, bucket } from '../harness/decision.mjs';
import { admitted, burst } from '../harness/http.mjs';
import { BOUND_MS, HASH, assertAgree, assertPatched, capacity, document, fields, instances, reset, version } from '../harness/instances.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, sleep, until } from '../harness/time.mjs';

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
