// How much and how long: sizes of heads, slow clients, numbers of connections.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { burst, tally } from '../harness/http.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { now, sleep, until } from '../harness/time.mjs';

const HOST = 'Host: localhost\r\n';
const HEADS = {
  target: (n) => `GET /api?x=${'a'.repeat(n)} HTTP/1.1\r\n${HOST}\r\n`,
  path: (n) => `GET /api/${'a'.repeat(n)} HTTP/1.1\r\n${HOST}\r\n`,
  field: (n) => `GET /api HTTP/1.1\r\n${HOST}X-A: ${'a'.repeat(n)}\r\n\r\n`,
  parameters: (n) => `GET /api?${'a&'.repeat(n / 2)} HTTP/1.1\r\n${HOST}\r\n`,
  cookies: (n) => `GET /api HTTP/1.1\r\n${HOST}Cookie: ${'a=b; '.repeat(n / 5)}\r\n\r\n`,
  fields: (n) => `GET /api HTTP/1.1\r\n${HOST}${'A: b\r\n'.repeat(n / 6)}\r\n`,
};

async function statusOf(server, bytes, size) {
  const raw = await RawConnection.open(server.port);
  for (let at = 0; at < bytes.length; at += size) await raw.send(bytes.slice(at, at + size));
  const { status } = await raw.answer();
  raw.close();
  return status;
}

scenario('case HTTP-08: a head of any size is served or answered 414 or 431, whole or in pieces', async (world) => {
  const { server } = await world.pair({ args: bucket(1000000, 1, 1), threads: 1 });
  const before = server.residentKiB;
  for (const [kind, make] of Object.entries(HEADS)) {
    const sizes = [100, 1000];
    for (let n = 4000; n < 9000; n += 128) sizes.push(n);
    sizes.push(16384, 40000, 102400);
    const allowed = kind === 'parameters' ? [200, 400, 414, 431] : [200, 414, 431];
    const found = await burst(sizes.length, 8, async (i) => {
      const whole = await statusOf(server, make(sizes[i]), Infinity);
      assert.ok(allowed.includes(whole), `${kind} of ${sizes[i]} bytes: ${whole}`);
      if (i % 4 === 0) assert.equal(await statusOf(server, make(sizes[i]), 100), whole, `${kind} of ${sizes[i]} in pieces`);
      return whole;
    });
    assert.equal(found[0], 200, kind);
    assert.ok(found.at(-1) > 400, kind);
  }
  for (const kind of ['target', 'path', 'field']) assert.equal(await statusOf(server, HEADS[kind](6000), Infinity), 200, kind);
  assert.equal(await statusOf(server, HEADS.fields(6000), Infinity), 431, 'a thousand small fields');
  assert.ok(server.residentKiB < before + 20000 * sanitizerFactor());
});

// The times are fixed (10 s for a head), so that this takes them.
scenario('case SEC-06: heads that trickle end by total time, and others are served meanwhile', async (world) => {
  const { server } = await world.pair({ args: bucket(1000000, 1, 1) });
  const begun = now();
  const open = (head) => burst(100, 20, async () => {
    const raw = await RawConnection.open(server.port);
    world.owns(() => raw.close());
    await raw.send(head);
    return raw;
  });
  const groups = [await open('GET /api HTT'), await open(`GET /healthz HTTP/1.1\r\n${HOST}\r\nGET /heal`)];
  let worst = 0;
  while (groups.flat().some((raw) => !raw.closed) && now() - begun < 22000) {
    await Promise.all(groups.flat().map((raw) => raw.send('a')));
    worst = Math.max(worst, (await server.hit('k')).ms);
    await sleep(1000);
  }
  assert.ok(now() - begun < 20000, `after ${now() - begun} ms`);
  assert.ok(now() - begun > 9500, 'not at once either');
  assert.ok(worst < 1000, `another client waited ${worst} ms`);
  for (const raw of groups.flat()) assert.match(raw.received.toString(), /HTTP\/1\.1 408 /);
});

scenario('a chunk line without an end does not keep a thread busy', async (world) => {
  const { server } = await world.pair();
  const raw = await world.raw(server);
  await raw.send(`POST /api HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${'0'.repeat(20000)}`);
  await raw.ended(3000);
  assert.match(raw.received.toString(), /^HTTP\/1\.1 400 /);
});

const HALVES = {
  body: (i) => `POST /api HTTP/1.1\r\n${HOST}Content-Length: 1000000\r\n\r\n${'a'.repeat(i * 800)}`,
  head: (i) => ['G', 'GET /api HTTP/1.1', `GET /api HTTP/1.1\r\n${HOST}X-A: b`, `GET /healthz HTTP/1.1\r\n${HOST}\r\nGET /he`][i % 4],
};

for (const [what, half] of Object.entries(HALVES)) {
  scenario(`clients that leave in the middle of a ${what} are let go soon`, async (world) => {
    const { server } = await world.pair();
    assert.equal((await server.request('/api', { agent: false })).status, 200);
    await sleep(300);
    const { openFiles } = server;
    await burst(120, 12, async (i) => {
      const raw = await RawConnection.open(server.port);
      await raw.send(half(i));
      raw.close();
    });
    await until('descriptors to go back', () => server.openFiles <= openFiles, 8000);
  });
}

const openMany = (world, server, count, host) => burst(count, 20, async () => {
  const raw = await RawConnection.open(server.port, host);
  world.owns(() => raw.close());
  return raw;
});

async function ask(raw, path) {
  await raw.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
  return (await raw.answer()).status;
}

scenario('a full server answers 503 at once, keeps connections for operators of this machine, and recovers', async (world) => {
  const { server } = await world.pair({ args: ['--max-connections', '20'] });
  const open = await openMany(world, server, 20);
  for (const raw of open) assert.equal(await ask(raw, '/healthz'), 200);
  const [late] = await openMany(world, server, 1);
  assert.equal(await ask(late, '/api'), 503);
  await late.ended(3000);
  const [operator] = await openMany(world, server, 1);
  assert.equal(await ask(operator, '/admin/config'), 200);
  await operator.ended(3000);
  const crowd = await openMany(world, server, 30);
  const answers = await Promise.all(crowd.slice(20).map(async (raw) => (await raw.answer()).status));
  assert.deepEqual(tally(answers), { 503: 10 });
  crowd.forEach((raw) => raw.close());
  open.forEach((raw) => raw.close());
  await sleep(300);
  assert.equal((await server.request('/api', { agent: false })).status, 200);
});

scenario('one address has no more connections than it may, another is not hindered, and trusted proxies are exempt', async (world) => {
  const { redis, server } = await world.pair({ args: ['--max-connections-per-ip', '5', '--host', '0.0.0.0'] });
  const open = await openMany(world, server, 5);
  for (const raw of open) assert.equal(await ask(raw, '/api'), 200);
  const [sixth] = await openMany(world, server, 1);
  assert.equal(await ask(sixth, '/api'), 503);
  open[0].close();
  await sleep(200);
  const [again] = await openMany(world, server, 1);
  assert.equal(await ask(again, '/api'), 200);
  const behind = await world.server({ redis, args: ['--max-connections-per-ip', '2', '--trusted-proxy', '127.0.0.1'] });
  for (const raw of await openMany(world, behind, 6)) assert.equal(await ask(raw, '/healthz'), 200);
});

scenario('1,100 connections are served', async (world) => {
  const { server } = await world.pair({ args: bucket(100000, 1, 1) });
  const open = await openMany(world, server, 1100);
  assert.deepEqual(tally(await Promise.all(open.map((raw) => ask(raw, '/api')))), { 200: 1100 });
});

scenario('IPv6 is listened on, and its start-up line can be opened', async (world) => {
  const { redis } = await world.pair();
  const server = await world.server({ redis, args: ['--host', '::1'] });
  const raw = await RawConnection.open(server.port, '::1');
  world.owns(() => raw.close());
  await raw.send('GET /api HTTP/1.1\r\nHost: [::1]\r\n\r\n');
  assert.equal(JSON.parse((await raw.answer()).text).key, 'ip:::1');
});
