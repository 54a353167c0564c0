// The guard, by the whole table of routes: every guarded address, every method, other spellings, from elsewhere and
// from other sites. What a route's handler does with a call that passes is other tests' matter.

import assert from 'node:assert/strict';
import test from 'node:test';

import { burst } from '../harness/http.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { METHODS, routeTable } from '../harness/routes.mjs';
import { scenario } from '../harness/scenario.mjs';

const TOKEN = 'open-sesame-0123456789';
const PRIVATE = ['/admin', '/lab', '/config'];

const guarded = routeTable().filter((route) => route.guarded).flatMap(({ path, below }) => (below ? [path, `${path}/default`] : [path]));
// What is not there is guarded as well, so that nobody learns what is.
const addresses = [...new Set([...guarded, ...PRIVATE, '/admin/nothing', '/lab/nothing', '/config/nothing'])];

const percent = (letter) => `%${letter.charCodeAt(0).toString(16)}`;
const SPELLINGS = {
  plain: (path) => path,
  doubled: (path) => path.replaceAll('/', '//'),
  'slash behind': (path) => `${path}/`,
  dots: (path) => `/./x/..${path}/.`,
  'one letter encoded': (path) => path.replace(/[a-z]/, percent),
  'all letters encoded': (path) => path.replace(/[a-z]/g, percent),
  'slashes encoded': (path) => `/${path.slice(1).replaceAll('/', '%2f')}`,
  capitals: (path) => path.toUpperCase(),
  'behind /api': (path) => `/api/..${path}`,
  'with a query': (path) => `${path}?policy=default&key=k&_method=PATCH`,
  absolute: (path) => `http://localhost${path}`,
};

// Every way to write every address by every method, with `fields`; each answer must be one of `allowed`.
async function tryAll(server, fields, allowed, spellings = Object.keys(SPELLINGS)) {
  const cases = [...METHODS, 'FOO'].flatMap((method) => addresses.flatMap((path) => spellings.map((name) => ({ method, path, name }))));
  await burst(cases.length, 8, async (i) => {
    const { method, path, name } = cases[i];
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? '{"capacity":1}' : '';
    const type = path === '/config' ? 'application/x-www-form-urlencoded' : 'application/json';
    const { status, headers } = await rawExchange(
      server.port,
      `${method} ${SPELLINGS[name](path)} HTTP/1.1\r\n${fields}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      { head: method === 'HEAD' },
    );
    assert.ok(allowed.includes(status), `${method} ${path} (${name}): ${status}`);
    assert.equal(headers['access-control-allow-origin'], undefined, `${method} ${path}`);
    assert.equal(headers['x-content-type-options'], 'nosniff', `${method} ${path}`);
    if (status === 401) assert.match(headers['www-authenticate'], /^Bearer/);
  });
}

test('the table guards what it must', () => {
  for (const { path, guarded: is } of routeTable()) {
    assert.equal(is, PRIVATE.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)), path);
  }
  assert.ok(addresses.length >= 8);
});

scenario('case SEC-01: without the token every address, spelling and method is refused', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const withToken = { headers: { Authorization: `Bearer ${TOKEN}` } };
  const before = (await server.request('/admin/config', withToken)).text;
  await tryAll(server, 'Host: localhost\r\n', [401]);
  await tryAll(server, 'Host: localhost\r\nAuthorization: Basic YWRtaW46\r\nCookie: session=admin\r\n', [401], ['plain']);
  assert.equal((await server.request('/admin/config', withToken)).text, before);
  assert.equal((await server.request('/admin/config', withToken)).status, 200);
});

scenario('case SEC-01: without a token set, nobody gets in by another name, through a proxy, or by a foreign address', async (world) => {
  const { server } = await world.pair();
  const before = (await server.request('/admin/config')).text;
  const absolute = Object.keys(SPELLINGS).filter((name) => name !== 'absolute');
  await tryAll(server, 'Host: evil.example\r\n', [403], absolute); // DNS rebinding: the page's own name, our address
  await tryAll(server, `Host: localhost:${server.port}\r\nX-Forwarded-For: 127.0.0.1\r\n`, [403], ['plain', 'capitals']);
  await tryAll(server, `Host: localhost:${server.port}\r\nVia: 1.1 proxy\r\n`, [403], ['plain']);
  assert.equal((await server.request('/admin/config')).text, before);
});

scenario('case SEC-02: no page of another site gets anything, token or not', async (world) => {
  const { redis, server } = await world.pair();
  const other = await world.server({ redis, env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const before = (await server.request('/admin/config')).text;
  for (const site of ['Origin: http://evil.example', 'Origin: null', 'Sec-Fetch-Site: cross-site', `Origin: https://localhost:1`]) {
    await tryAll(server, `Host: localhost:${server.port}\r\n${site}\r\n`, [403], ['plain', 'doubled']);
    await tryAll(other, `Host: localhost:${other.port}\r\nAuthorization: Bearer ${TOKEN}\r\n${site}\r\n`, [403], ['plain']);
  }
  assert.equal((await server.request('/admin/config')).text, before);
});
