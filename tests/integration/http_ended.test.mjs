// Clients that send all they have and their end at once, as `nc -N` does: whatever delays the answer, they get it, and then the
// end of the connection.

import assert from 'node:assert/strict';

import { burst, tally } from '../harness/http.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sleep } from '../harness/time.mjs';

const get = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

async function sendAndEnd(world, server, bytes) {
  const raw = await RawConnection.open(server.port);
  world.owns(() => raw.close());
  const sent = raw.send(bytes);
  raw.halfClose();
  await sent;
  return raw;
}

async function statusesOf(raw) {
  await raw.ended(10000);
  const found = [];
  while (raw.received.length > 0) found.push((await raw.answer()).status);
  return found.join(' ');
}

// One worker, and more than it lets wait without suspending them.
scenario('hundreds that wait for Redis at once are each answered', async (world) => {
  const { redis, server } = await world.pair({ threads: 1, args: ['--redis-timeout', '3000', '--capacity', '1000'] });
  assert.equal((await server.hit('a')).status, 200);
  redis.freeze();
  const raws = await burst(400, 20, () => sendAndEnd(world, server, get('/check?policy=default&key=a')));
  assert.equal(raws.filter((raw) => raw.closed).length, 0);
  redis.thaw();
  assert.deepEqual(tally(await Promise.all(raws.map(statusesOf))), { 200: 400 });
});

const HELD = { paths: ['/api/slow'], key: 'k', algorithm: 'token_bucket', capacity: 1000, on_limit: 'delay', max_delay: 2 };

scenario('requests that may be held are answered, held or not, one or many in a write', async (world) => {
  const { redis, server } = await world.pair({ args: ['--redis-timeout', '3000'] });
  const put = (settings) => server.request('/admin/policies/slow', { method: 'PUT', body: { ...HELD, ...settings } });
  assert.equal((await put()).status, 201);
  assert.equal((await server.request('/api/slow/x')).status, 200);
  for (const count of [1, 2, 5]) {
    redis.freeze();
    const raws = await burst(20, 4, () => sendAndEnd(world, server, get('/api/slow/x').repeat(count)));
    await sleep(50); // both the requests and the end are with the server
    redis.thaw();
    const expected = Array(count).fill(200).join(' ');
    assert.deepEqual(tally(await Promise.all(raws.map(statusesOf))), { [expected]: 20 }, `${count} in a write`);
  }
  assert.equal((await put({ capacity: 1, refill_rate: 1, refill_interval: 0.3 })).status, 200);
  assert.equal(await statusesOf(await sendAndEnd(world, server, get('/api/slow/x').repeat(4))), '200 200 200 200');
});
