// Who may change settings: tokens, loopback without a proxy, no cross-site request, whatever the spelling of the path.

import assert from 'node:assert/strict';

import { burst } from '../harness/http.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { runProgram } from '../harness/server.mjs';

const TOKEN = 'open-sesame-0123456789';
const withToken = { Authorization: `Bearer ${TOKEN}` };
const guarded = (world, options = {}) => world.pair({ ...options, env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });

const SPELLINGS = [
  '/admin', '/admin/', '//admin', '/ADMIN', '/%61dmin', '/admin/config', '/admin/config/', '//admin//config', '/ADMIN/CONFIG', '/%61dmin/config',
  '/admin/%63onfig', '/x/../admin/config', '/./admin/./config', '/admin/policies/default', '/admin/policies/../config', '/admin%2fconfig',
  '/api/../admin/config', '/config', '//config', '/%63onfig',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'FOO'];

scenario('case SEC-01: without the token no method and no spelling reaches the settings', async (world) => {
  const { server } = await guarded(world);
  const before = (await server.request('/admin/config', { headers: withToken })).text;
  const cases = METHODS.flatMap((method) => SPELLINGS.map((path) => ({ method, path })));
  await burst(cases.length, 8, async (i) => {
    const { method, path } = cases[i];
    const body = ['GET', 'HEAD', 'OPTIONS'].includes(method) ? '' : '{"capacity":1}';
    const type = path.endsWith('onfig') && !/admin/i.test(path) ? 'application/x-www-form-urlencoded' : 'application/json';
    const { status, headers, text } = await rawExchange(
      server.port,
      `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n` +
        `X-HTTP-Method-Override: PATCH\r\nX-HTTP-Method: PATCH\r\nX-Original-URL: /admin/config\r\nX-Rewrite-URL: /admin/config\r\n\r\n${body}`,
      { head: method === 'HEAD' },
    );
    const harmless = method === 'OPTIONS' && [200, 204].includes(status) && text === '';
    assert.ok(harmless || [400, 401, 403, 404, 405, 501].includes(status), `${method} ${path}: ${status} ${text}`);
    if (status === 401) assert.match(headers['www-authenticate'] ?? '', /^Bearer/, `${method} ${path}`);
  });
  for (const path of ['/admin/config', '//admin//config', '/%61dmin/config', '/x/../admin/config']) {
    assert.equal((await rawExchange(server.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)).status, 401, path);
  }
  assert.equal((await server.request('/admin/config', { headers: withToken })).text, before);
});

scenario('only the exact token passes, once, in its scheme', async (world) => {
  const { server } = await guarded(world);
  const wrong = [
    '', 'Bearer', 'Bearer ', TOKEN, `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(0, -1)}`, `Bearer  x${TOKEN}`, `Bearer "${TOKEN}"`, `Basic ${TOKEN}`,
    `Bearer ${TOKEN} ${TOKEN}`, `Bearer ${TOKEN.toUpperCase()}`, `Bearer ${TOKEN}%00`, `Bearer ${'x'.repeat(4000)}`,
  ];
  for (const Authorization of wrong) assert.equal((await server.request('/admin/config', { headers: { Authorization } })).status, 401, Authorization.slice(0, 60));
  assert.equal((await server.request('/admin/config', { headers: withToken })).status, 200);
  assert.ok([401, 431].includes((await server.request('/admin/config', { headers: { Authorization: `Bearer ${'x'.repeat(100000)}` } })).status));
  assert.equal((await server.request(`/admin/config?token=${TOKEN}&access_token=${TOKEN}`)).status, 401);
  const doubled = (first, second) => rawExchange(server.port,
    `GET /admin/config HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${first}\r\nAuthorization: Bearer ${second}\r\n\r\n`);
  for (const pair of [['wrong', TOKEN], [TOKEN, 'wrong']]) assert.ok([400, 401].includes((await doubled(...pair)).status));
  assert.doesNotMatch(server.log + server.child.stdout, new RegExp(TOKEN));
});

scenario('an empty token is a mistake, not a key', async () => {
  const result = await runProgram(['--port', '0'], { RATELIMITD_ADMIN_TOKEN: '' });
  assert.equal(result.code, 2, `RATELIMITD_ADMIN_TOKEN="" gives exit ${result.code}`);
  assert.match(result.stderr, /RATELIMITD_ADMIN_TOKEN.*empty/);
});

scenario('without a token: loopback alone, by a name of this host, and not through a proxy', async (world) => {
  const { server } = await world.pair();
  const before = (await server.request('/admin/config')).text;
  const change = (headers) => server.patch({ capacity: 99 }, { headers });
  for (const name of ['Via', 'Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Anything', 'X-Real-IP', 'X-Original-URI', 'X-Original-Method', 'x-FORWARDED-proto']) {
    const response = await change({ [name]: '127.0.0.1' });
    assert.equal(response.status, 403, name);
    assert.match(response.json.detail, /token/i, 'the remedy');
  }
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example:8080', '127.0.0.2', 'localhost@evil.example', 'localhost, evil.example', 'evil.example#localhost']) {
    assert.ok([400, 403].includes((await change({ Host: host })).status), `Host: ${host}`);
  }
  for (const hosts of ['', 'Host:\r\n', 'Host: localhost\r\nHost: evil.example\r\n', 'Host: evil.example\r\nHost: localhost\r\n']) {
    const { status } = await rawExchange(server.port, `GET /admin/config HTTP/1.0\r\n${hosts}\r\n`);
    assert.ok([400, 403].includes(status), `${hosts || 'no Host'}: ${status}`);
  }
  const absolute = await rawExchange(server.port, 'GET http://evil.example/admin/config HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.ok([400, 403].includes(absolute.status), `absolute form: ${absolute.status}`);
  assert.equal((await server.request('/admin/config')).text, before);
  for (const host of ['localhost', `localhost:${server.port}`, '127.0.0.1', `127.0.0.1:${server.port}`, '[::1]', `[::1]:${server.port}`, 'LOCALHOST']) {
    assert.equal((await server.request('/admin/config', { headers: { Host: host } })).status, 200, host);
  }
});

scenario('with a host beyond loopback and no token one is generated, printed once, and asked for', async (world) => {
  const { redis } = await world.pair();
  const server = await world.server({ redis, args: ['--host', '0.0.0.0'] });
  assert.equal((await server.request('/admin/config')).status, 401);
  const output = server.child.stdout + server.log;
  const token = output.match(/token[^\n]*?[: ]([A-Za-z0-9_-]{20,})/i)?.[1];
  assert.ok(token, output);
  assert.equal(output.split(token).length, 2, 'printed once');
  assert.equal((await server.request('/admin/config', { headers: { Authorization: `Bearer ${token}` } })).status, 200);
});

const TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', undefined, 'application/jsonx', 'application/json;charset=x'];
const SITES = [{ Origin: 'http://evil.example' }, { Origin: 'null' }, { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }];

scenario('case SEC-02: no cross-site request and no form changes the settings, with or without the token', async (world) => {
  const { redis, server } = await world.pair();
  const protectedServer = await world.server({ redis, env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  for (const [target, auth] of [[server, {}], [protectedServer, withToken]]) {
    const before = (await target.request('/admin/config', { headers: auth })).text;
    for (const method of ['POST', 'PATCH', 'PUT']) {
      for (const type of TYPES) {
        const send = (extra) => target.request('/admin/policies/default', {
          method, body: '{"capacity":99}', headers: { ...auth, ...(type && { 'Content-Type': type }), ...extra },
        });
        for (const site of SITES) {
          const { status, headers } = await send(site);
          assert.ok([403, 415, ...(method === 'POST' ? [405] : [])].includes(status), `${method} ${type} ${JSON.stringify(site)}: ${status}`);
          assert.equal(headers['access-control-allow-origin'], undefined);
        }
        if (!type?.startsWith('application/json;') && method !== 'POST') assert.equal((await send({})).status, 415, `${method} ${type}`);
      }
    }
    for (const site of SITES) assert.equal((await target.request('/admin/config', { headers: { ...auth, ...site } })).status, 403);
    assert.equal((await target.request('/admin/policies/default?capacity=99', { headers: auth })).status, 200);
    assert.equal((await target.request('/admin/config', { headers: auth })).text, before);
  }
});

scenario('the page itself may change settings: same origin passes', async (world) => {
  const { server } = await world.pair();
  const own = { Origin: `http://127.0.0.1:${server.port}`, 'Sec-Fetch-Site': 'same-origin' };
  assert.equal((await server.patch({ capacity: 30 }, { headers: own })).status, 200);
  const merge = { ...own, 'Content-Type': 'application/merge-patch+json' };
  assert.equal((await server.patch({ capacity: 31 }, { headers: merge })).status, 200);
  assert.equal((await server.settings()).capacity, 31);
});

scenario('forwarded addresses are not believed without a trusted proxy', async (world) => {
  const { server } = await world.pair({ args: ['--capacity', '3', '--refill-interval', '60'] });
  const names = ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'True-Client-IP', 'CF-Connecting-IP'];
  const responses = await burst(10, 1, (i) => server.request('/api', { headers: { [names[i % 5]]: `10.0.0.${i}` } }));
  assert.equal(responses.filter((r) => r.status === 200).length, 3);
  assert.ok(responses.every((r) => r.json.key === 'ip:127.0.0.1'));
});

scenario('client text makes no second line and no control byte in the log', async (world) => {
  const { server } = await world.pair({ args: ['--log-level', 'debug'] });
  const evil = 'x%0a%0d%0aFORGED%1b[2J%c2%85%00';
  await server.request(`/check?policy=default&key=${evil}`);
  await server.request(`/check?policy=${evil}&key=k`);
  await server.request(`/nowhere?${evil}`, { headers: { 'User-Agent': 'a\tFORGED' } });
  await server.request('/admin/config', { method: 'PATCH', body: { 'x\nFORGED': 1 } });
  assert.doesNotMatch(server.log, /^FORGED/m);
  assert.doesNotMatch(server.log, /[\x00-\x09\x0b-\x1f\x7f-\u009f]/);
});
