// Starting and stopping when it is not convenient: everything waits for something, the port is wanted at once, descriptors
// are few.

import assert from 'node:assert/strict';

import { Child } from '../harness/child.mjs';
import { bucket } from '../harness/decision.mjs';
import { HttpClient } from '../harness/http.mjs';
import { OUTAGE, answers } from '../harness/outage.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment, program } from '../harness/server.mjs';
import { StreamedResponse } from '../harness/stream.mjs';
import { now, sleep, until } from '../harness/time.mjs';

scenario('case HTTP-10: idle, half-sent, waiting, held and streaming clients: exit 0 soon, and the port is free at once', async (world) => {
  const { redis, server } = await world.pair({ args: answers(bucket(10, 1, 600), 'closed') });
  const slow = { algorithm: 'leaky_bucket', capacity: 1, leak_rate: 0.5, on_limit: 'delay', max_delay: 30, on_redis_error: 'closed' };
  assert.equal((await server.request('/admin/policies/slow', { method: 'PUT', body: slow })).status, 201);
  const raws = await Promise.all(Array.from({ length: 25 }, () => world.raw(server)));
  for (const raw of raws.slice(0, 10)) {
    await raw.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal((await raw.answer()).status, 200);
  }
  for (const raw of raws.slice(20)) await raw.send('POST /check?policy=default&key=half HTTP/1.1\r\nHost: x\r\nContent-Le');
  const own = () => ({ agent: server.http.newAgent() });
  assert.equal((await server.hit('s', { policy: 'slow' })).status, 200);
  const held = Array.from({ length: 4 }, () => server.hit('s', { policy: 'slow' }, own()));
  const stream = await StreamedResponse.open(server.port, '/lab/events');
  await sleep(100);
  redis.freeze();
  const waiting = Array.from({ length: 5 }, (_, i) => server.hit(`k${i}`, {}, own()));
  await sleep(30);

  const began = now();
  const ended = server.child.end('SIGTERM', 7000);
  for (const response of await Promise.all(held)) assert.equal(response.status, 503, response.text);
  (await Promise.all(waiting)).forEach(OUTAGE.closed);
  const { code } = await ended;
  const took = now() - began;
  assert.equal(code, 0);
  assert.ok(took < 3000, `took ${took.toFixed(0)} ms`);
  await until('the end of the stream', () => stream.ended || stream.error, 1000);
  redis.thaw();
  const next = await world.server({ redis, port: server.port });
  assert.equal(next.port, server.port);
  assert.equal((await next.request('/healthz')).status, 200);
});

scenario('a second SIGTERM while stopping changes nothing; a stop before Redis was ever found is quick', async (world) => {
  const redis = await world.redis({ started: false });
  const server = await world.server({ redis });
  const began = now();
  const ended = server.child.end('SIGTERM', 7000);
  server.child.signal('SIGTERM');
  server.child.signal('SIGINT');
  assert.equal((await ended).code, 0);
  assert.ok(now() - began < 2000);
});

// As a process that may not raise its own limits.
function startWithDescriptors(count, args) {
  const drop = process.getuid() === 0 ? 'setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource ' : '';
  return new Child('bash', ['-c', `ulimit -n ${count} && exec ${drop}"$0" "$@"`, program, ...args], { env: cleanEnvironment() });
}

scenario('fewer descriptors than connections: said at the start, lived with, over when there are some again', async (world) => {
  const redis = await world.redis();
  const child = startWithDescriptors(64, ['--port', '0', '--threads', '1', '--redis-port', String(redis.port), '--redis-host', '127.0.0.1']);
  world.owns(() => child.kill());
  const port = Number((await child.output(/listening on http:\/\/\S+:(\d+) /))[1]);
  assert.match(child.stderr, /--max-connections 10000 needs \d+ file descriptors, the system allows 64/);
  const raws = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(port)));
  await raws[0].send('GET /check?policy=default&key=k HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.equal((await raws[0].answer()).status, 200, 'those who are in are served');
  await sleep(1500);
  assert.ok(child.running);
  const complaints = child.stderr.split('\n').filter((line) => /cannot accept/.test(line)).length;
  assert.ok(complaints >= 1 && complaints <= 3, `${complaints} complaints:\n${child.stderr}`);
  raws.forEach((raw) => raw.close());
  const client = new HttpClient(port);
  world.owns(() => client.close());
  await until('service', async () => (await client.request('/healthz', { agent: false })).status === 200, 3000, 50);
  client.close();
  assert.equal((await child.end('SIGTERM')).code, 0);
});
