// Pages of other origins: what they may read of /api, and that asking first costs nothing.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { runProgram } from '../harness/server.mjs';
import { until } from '../harness/time.mjs';

const APP = 'http://app.example';
const ALLOWED = ['--cors-origin', APP, '--cors-origin', 'https://other.example'];
const EXPOSED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy', 'Retry-After'];
const from = (Origin, more = {}) => ({ headers: { Origin, ...more } });

function assertReadable(response, origin = APP) {
  assert.equal(response.headers['access-control-allow-origin'], origin, `a ${response.status}`);
  const exposed = response.headers['access-control-expose-headers'].split(', ');
  for (const name of EXPOSED) assert.ok(exposed.includes(name), name);
  assert.equal(response.headers['access-control-allow-credentials'], undefined);
}

scenario('case WEB-01: preflights are answered 204 and spend nothing', async (world) => {
  const { server } = await world.pair({ args: [...bucket(4, 1, 600), ...ALLOWED] });
  for (let i = 0; i < 4; i++) {
    const asked = await server.request('/api', {
      method: 'OPTIONS', ...from(APP, { 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'authorization, x-key' }),
    });
    assert.equal(asked.status, 204);
    assert.equal(asked.headers['access-control-allow-origin'], APP);
    assert.match(asked.headers['access-control-allow-methods'], /PUT/);
    assert.equal(asked.headers['access-control-allow-headers'], 'authorization, x-key');
    assert.equal(asked.headers['x-ratelimit-limit'], undefined);
    const response = await server.request('/api', from(APP));
    assert.deepEqual([response.status, response.remaining], [200, 3 - i]);
  }
});

scenario('case WEB-03: every answer of /api is readable, refusals too; nothing else is', async (world) => {
  const { redis, server } = await world.pair({ args: [...bucket(1, 1, 600), ...ALLOWED, '--on-redis-error', 'closed'] });
  const seen = [];
  const ask = async (path, options = {}) => {
    const response = await server.request(path, { ...options, headers: { Origin: APP, ...options.headers } });
    assertReadable(response);
    assert.match(response.headers.vary, /Origin/);
    seen.push(response.status);
  };
  await ask('/api');
  await ask('/api');
  await server.request('/admin/policies/default', { method: 'PATCH', body: { key: 'k:{header.X-Key}', paths: ['/api/only'] } });
  await ask('/api/only');
  await ask('/api/elsewhere');
  await ask('/api', { method: 'POST', body: Buffer.alloc(1100000), agent: false });
  await redis.kill();
  await until('503', async () => (await server.request('/api/only', { headers: { 'X-Key': 'a' } })).status === 503, 5000, 50);
  await ask('/api/only', { headers: { 'X-Key': 'a' } });
  assert.deepEqual(seen, [200, 429, 400, 404, 413, 503]);
  for (const path of ['/admin/config', '/check?policy=default&key=k&cost=0', '/config', '/', '/apix']) {
    const { headers } = await server.request(path, from(APP));
    assert.equal(headers['access-control-allow-origin'], undefined, path);
  }
});

// What no route sees: [status, target, further fields].
const BROKEN = [
  [400, '/api/none%zz'], [400, '/api?user=%z'], [400, `/api?${'a&'.repeat(65)}`], [400, '/api/../..'], [400, 'http://localhost/api/%zz'],
  [400, '/api', 'X-A : b\r\n'], [414, `/api?x=${'a'.repeat(7300)}`], [431, '/api', `X-A: ${'a'.repeat(7300)}\r\n`],
  [431, '/api', 'X-A: b\r\n'.repeat(110)], [501, '/api', 'Transfer-Encoding: foo\r\n'], [417, '/api', 'Expect: nonsense\r\n'],
  [400, '/api', 'Content-Length: x\r\n'], [413, '/api', `Content-Length: ${'9'.repeat(30)}\r\n`], [431, '/api', `Cookie: a=${'b'.repeat(5000)}\r\n`],
  [431, '/api', `X-A: ${'a'.repeat(9000)}\r\n`], [431, '/api', `X-B: c\r\nX-A: ${'a'.repeat(9000)}\r\n`], [400, '/api', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
];

scenario('case WEB-03: answers to heads that no route sees are readable too', async (world) => {
  const { server } = await world.pair({ args: [...bucket(10, 1, 600), ...ALLOWED] });
  const ask = (target, fields = '', origin = APP) =>
    rawExchange(server.port, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\n${fields}\r\n`);
  for (const [status, target, fields] of BROKEN) {
    const answer = await ask(target, fields);
    assert.equal(answer.status, status, target.slice(0, 40));
    assertReadable(answer);
    assert.equal(answer.headers.vary, 'Origin');
    const other = await ask(target, fields, 'http://evil.example');
    assert.deepEqual([other.headers['access-control-allow-origin'], other.headers.vary], [undefined, 'Origin']);
  }
  for (const target of ['/admin/%zz', '/apix/%zz', '/%zz', '/check?policy=%zz']) {
    const { status, headers } = await ask(target);
    assert.deepEqual([status, headers['access-control-allow-origin'], headers.vary], [400, undefined, undefined], target);
  }
});

scenario('an origin that is not listed reads nothing; * is everybody; without the option nobody', async (world) => {
  const { redis, server } = await world.pair({ args: ALLOWED });
  for (const origin of ['http://evil.example', 'http://app.example:81', 'https://app.example', 'null', 'http://app.example.evil']) {
    const { status, headers } = await server.request('/api', from(origin));
    assert.deepEqual([status, headers['access-control-allow-origin'], headers.vary], [200, undefined, 'Origin'], origin);
  }
  assertReadable(await server.request('/api', from('https://other.example')), 'https://other.example');
  const everybody = await world.server({ redis, args: ['--cors-origin', '*'] });
  const open = await everybody.request('/api', from('http://any.example'));
  assertReadable(open, '*');
  assert.equal(open.headers.vary, undefined);
  const nobody = await world.server({ redis });
  assert.equal((await nobody.request('/api', from(APP))).headers['access-control-allow-origin'], undefined);
});

scenario('case WEB-05: decisions and settings are not stored and have no validators that answer 304', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 600) });
  const conditional = { headers: { 'If-None-Match': '*', 'If-Modified-Since': new Date().toUTCString() } };
  for (const [path, status] of [['/api', 200], ['/api', 429], ['/check?policy=default&key=k', 200], ['/check?policy=default&key=k', 429], ['/admin/config', 200]]) {
    const response = await server.request(path, conditional);
    assert.equal(response.status, status, path);
    assert.equal(response.headers['cache-control'], 'no-store');
    if (!path.startsWith('/admin')) assert.equal(response.headers.etag, undefined);
  }
});

scenario('what is no origin is refused at the start', async () => {
  for (const origin of ['app.example', 'http://app.example/', 'HTTP://app.example', 'http://', 'null', '']) {
    const result = await runProgram(['--port', '0', `--cors-origin=${origin}`]);
    assert.equal(result.code, 2, origin);
    assert.match(result.stderr, /--cors-origin must be an origin/);
  }
});
