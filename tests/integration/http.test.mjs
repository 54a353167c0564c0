// HTTP as the wire has it: aborts, HEAD, empty and piecemeal bodies, pipelining, half-closed connections.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { burst, statuses } from '../harness/http.mjs';
import { RawConnection, rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { Lateness, sleep, until } from '../harness/time.mjs';

const LINES = 'Host: localhost\r\n';
const check = (key) => `GET /check?policy=default&key=${key} HTTP/1.1\r\n${LINES}\r\n`;

scenario('case HTTP-01: 2000 clients that reset, aborted pages and cut Redis links: same process, no descriptor lost', async (world) => {
  const { redis, server } = await world.pair({ args: bucket(1000000, 1, 1) });
  await server.burst('k', 20, 10);
  server.http.close();
  await sleep(200);
  const { pid, openFiles } = server;
  const heads = [check('k'), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /check?pol', `POST /config HTTP/1.1\r\n${LINES}Content-Length: 50\r\n\r\ncap`];
  const cutting = (async () => {
    for (let i = 0; i < 5; i++, await sleep(100)) await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  })();
  await burst(2000, 25, async (i) => {
    const raw = await RawConnection.open(server.port);
    await raw.send(heads[i % 4 ? 0 : (i / 4) % 4]);
    if (i % 3 === 0) await sleep(1);
    raw.reset();
  });
  await cutting;
  assert.equal(server.pid, pid);
  assert.ok(server.child.running);
  await until('descriptors to go back', () => server.openFiles <= openFiles, 3000);
  await until('Redis again', async () => (await server.hit('k')).json.source === 'redis', 2500, 50);
});

scenario('case HTTP-02: HEAD is GET without a body, and the connection stays in step', async (world) => {
  const { server } = await world.pair({ args: bucket(2, 1, 600) });
  for (const path of ['/', '/check?policy=default&key=k&cost=0', '/admin/config', '/algorithms', '/healthz', '/nowhere']) {
    const raw = await world.raw(server);
    const request = (method) => `${method} ${path} HTTP/1.1\r\n${LINES}\r\n`;
    await raw.send(request('GET'));
    const get = await raw.answer();
    await raw.send(request('HEAD') + request('GET'));
    const head = await raw.answer({ head: true });
    const after = await raw.answer();
    assert.deepEqual([head.status, after.status], [get.status, get.status], path);
    const comparable = ({ headers: { date, 'x-ratelimit-reset': reset, ...rest } }) => rest;
    assert.deepEqual(comparable(head), comparable(get), path);
    raw.close();
  }
  const head = (key) => server.hit(key, {}, { method: 'HEAD' });
  const spent = [await head('h'), await head('h'), await head('h')];
  assert.deepEqual(spent.map((r) => [r.status, r.remaining, r.text]), [[200, 1, ''], [200, 0, ''], [429, 0, '']]);
});

const POST_ROUTES = ['/', '/api', '/api/x', '/check?policy=default&key=k', '/test', '/config', '/admin/config', '/admin/policies/default', '/algorithms', '/healthz', '/nowhere'];
const EMPTY_BODIES = {
  'no length': '\r\n', 'Content-Length: 0': 'Content-Length: 0\r\n\r\n', 'the final chunk alone': 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
};

scenario('case HTTP-06: an empty POST is answered at once on every route, and the connection goes on', async (world) => {
  const { server } = await world.pair({ args: bucket(1000, 1, 1) });
  const lateness = new Lateness();
  for (const path of POST_ROUTES) {
    for (const [what, tail] of Object.entries(EMPTY_BODIES)) {
      for (const type of ['', 'Content-Type: application/json\r\n', 'Content-Type: application/x-www-form-urlencoded\r\n']) {
        const raw = await world.raw(server);
        await raw.send(`POST ${path} HTTP/1.1\r\n${LINES}${type}${tail}`);
        const answer = await raw.answer({ ms: 1000 + lateness.ms() });
        assert.ok([200, 400, 404, 405, 411, 415].includes(answer.status), `${path}, ${what}, ${type}: ${answer.status} ${answer.text}`);
        assert.equal(answer.headers.connection, undefined, `${path}, ${what}`);
        await raw.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
        assert.equal((await raw.answer({ ms: 1000 + lateness.ms() })).status, 200, `after ${path}, ${what}`);
        raw.close();
      }
    }
    const old = await rawExchange(server.port, `POST ${path} HTTP/1.0\r\n${LINES}\r\n`, { ms: 1000 });
    assert.ok(old.status < 500, `HTTP/1.0 ${path}: ${old.status}`);
  }
  lateness.stop();
});

const SMALL = '5\r\nhello\r\n', END = '0\r\n\r\n', MUCH = `4000\r\n${'a'.repeat(0x4000)}\r\n`.repeat(5);

// What follows a refused body would be read as a request if its end were not found.
scenario('a chunked body of a refused request is read to its end, but neither for long nor much of it', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: 'sesame-sesame-sesame' } });
  const head = (path) => `PATCH ${path} HTTP/1.1\r\n${LINES}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  for (const [path, status] of [['/admin/policies/default', 401], ['/healthz', 405], ['/nowhere', 404]]) {
    for (const [body, kept] of [[SMALL + END, true], [SMALL, false], [MUCH, false]]) {
      const raw = await world.raw(server);
      await raw.send(head(path) + body);
      const answer = await raw.answer({ ms: 8000 });
      const about = `${path} with ${body.length} bytes`;
      assert.deepEqual([answer.status, answer.headers.connection], [status, kept ? undefined : 'close'], about);
      assert.deepEqual([answer.headers['cache-control'], answer.headers['x-content-type-options']], ['no-store', 'nosniff'], about);
      assert.equal('www-authenticate' in answer.headers, status === 401, about);
      assert.equal('allow' in answer.headers, status === 405, about);
      if (kept) {
        await raw.send(`GET /healthz HTTP/1.1\r\n${LINES}\r\n`);
        assert.equal((await raw.answer()).status, 200, about);
      } else {
        await raw.ended(5000);
      }
    }
  }
});

const PATCH = `PATCH /admin/policies/default HTTP/1.1\r\n${LINES}Content-Type: application/json\r\n`;
const chunked = (pieces) => [...pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`), '0\r\n\r\n'];

scenario('case HTTP-12: a body in pieces is the same as in one', async (world) => {
  const { server } = await world.pair();
  const version = async () => (await server.request('/admin/config')).json.version;
  const first = await version();
  let changes = 0;
  const change = async (capacity, head, pieces, pause) => {
    const raw = await world.raw(server);
    await raw.send(head);
    await raw.sendPieces(pieces, pause);
    const answer = await raw.answer();
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await server.settings()).capacity, capacity);
    assert.equal(await version(), first + ++changes, 'one change, not one for each piece');
    raw.close();
  };
  const sized = (body) => `${PATCH}Content-Length: ${body.length}\r\n\r\n`;
  await change(100, sized('{"capacity":100}'), [...'{"capacity":100}'], 5);
  await change(110, sized('{"capacity":110}'), ['{"capacity":1', '1', '0}'], 30);
  await change(120, `${PATCH}Transfer-Encoding: chunked\r\n\r\n`, chunked([...'{"capacity":120}']), 0);
  await change(130, '', [...`${sized('{"capacity":130}')}{"capacity":130}`], 1);
  for (const [capacity, length] of [[140, 1024], [150, 32768]]) {
    const body = `{"capacity":${capacity}}`.padStart(length);
    await change(capacity, sized(body), [body.slice(0, 700), body.slice(700, -3), body.slice(-3)], 10);
  }
  for (const body of ['', ' ']) assert.equal((await rawExchange(server.port, sized(body) + body)).status, 400);
  assert.equal(await version(), first + changes);
});

scenario('a form in pieces is read whole', async (world) => {
  const { server } = await world.pair();
  const raw = await world.raw(server);
  const body = 'capacity=25&refill_rate=2&refill_interval=1';
  await raw.send(`POST /config HTTP/1.1\r\n${LINES}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n`);
  await raw.sendPieces([body.slice(0, 10), body.slice(10, 20), body.slice(20)], 20);
  assert.deepEqual(JSON.parse((await raw.answer()).text), { success: true, config: { capacity: 25, refill_rate: 2, refill_interval: 1 } });
});

scenario('pipelined requests are all answered, in order', async (world) => {
  const { server } = await world.pair({ args: bucket(100, 1, 600) });
  const raw = await world.raw(server);
  await raw.send(Array.from({ length: 60 }, (_, i) => check(`p${i % 2}`)).join(''));
  for (let i = 0; i < 60; i++) {
    const answer = await raw.answer();
    assert.deepEqual([answer.status, answer.headers['x-ratelimit-remaining']], [200, String(99 - Math.floor(i / 2))]);
    assert.equal(JSON.parse(answer.text).key, `p${i % 2}`);
  }
});

// At once and a moment later, many times: the end may arrive while the request waits for Redis.
scenario('a client that closes its writing side still gets its answer, and is let go', async (world) => {
  const { server } = await world.pair({ args: bucket(1000, 1, 600) });
  for (const request of [check('k'), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n']) {
    await burst(120, 12, async (i) => {
      const raw = await RawConnection.open(server.port);
      await raw.send(request);
      if (i % 2) await sleep(1);
      raw.halfClose();
      assert.equal((await raw.answer()).status, 200);
      await raw.ended(5000);
      raw.close();
    });
  }
});

scenario('HTTP/1.0 and Connection: close end the connection after the answer', async (world) => {
  const { server } = await world.pair();
  for (const request of ['GET /api HTTP/1.0\r\n\r\n', `GET /api HTTP/1.1\r\n${LINES}Connection: close\r\n\r\n`]) {
    const raw = await world.raw(server);
    await raw.send(request);
    assert.equal((await raw.answer()).status, 200);
    await raw.ended();
  }
});

scenario('an absolute-form target is the same path; targets that are none are refused', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 600) });
  const line = (target) => `GET ${target} HTTP/1.1\r\n${LINES}\r\n`;
  assert.equal((await rawExchange(server.port, line('/api'))).headers['x-ratelimit-remaining'], '9');
  assert.equal((await rawExchange(server.port, line('http://localhost/api'))).headers['x-ratelimit-remaining'], '8');
  assert.equal((await rawExchange(server.port, line('/api/%41?x=%zz'))).status, 400);
  for (const target of ['/api%00', '/%zz', '/../../x', '/api/%0d%0aX:1']) {
    const { status } = await rawExchange(server.port, line(target));
    assert.ok([400, 404].includes(status), `${target}: ${status}`);
  }
});

scenario('100 connections at once are served alike', async (world) => {
  const { server } = await world.pair({ args: bucket(1000, 1, 600) });
  const agents = Array.from({ length: 100 }, () => server.http.newAgent({ maxSockets: 1 }));
  const responses = (await Promise.all(agents.map((agent) => burst(5, 1, () => server.hit('k', {}, { agent }))))).flat();
  assert.deepEqual(statuses(responses), { 200: 500 });
  assert.equal(Math.min(...responses.map((r) => r.remaining)), 500);
});
