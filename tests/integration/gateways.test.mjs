// Decisions for gateways: nginx for real, by the configuration of docs/gateways.md, and the requests that Traefik, Caddy
// and Envoy send. What a client writes into its request must change neither who it is nor what is decided.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';

import { LIMIT_FIELDS, assertDecisionBody, assertRefused, bucket } from '../harness/decision.mjs';
import { admitted, burst, statuses } from '../harness/http.mjs';
import { scrape, total as sum } from '../harness/metrics.mjs';
import { Nginx } from '../harness/nginx.mjs';
import { freePort } from '../harness/redis.mjs';
import { scenario } from '../harness/scenario.mjs';
import { repository } from '../harness/server.mjs';

const TOKEN = { RATELIMITD_ADMIN_TOKEN: 'sesame' };
const POLICIES = {
  shop: { paths: ['/shop'], key: 'ip:{ip}', capacity: 3, refill_interval: 600 },
  users: { paths: ['/users'], key: 'user:{query.user}', capacity: 2, refill_interval: 600 },
  keys: { paths: ['/keys'], key: 'key:{header.X-API-Key}', capacity: 2, refill_interval: 600 },
  verbs: { paths: ['/verbs'], key: 'verb:{method}:{path}', capacity: 2, refill_interval: 600 },
};

// A server behind a gateway of that kind on this machine, with the policies above.
async function behind(world, kind, { args = [], trusted = '127.0.0.1', redis } = {}) {
  const options = { env: TOKEN, args: [...bucket(3, 1, 600), '--gateway', kind, '--trusted-proxy', trusted, ...args] };
  const { server } = redis ? { server: await world.server({ redis, ...options }) } : await world.pair(options);
  const change = await server.request('/admin/config', {
    method: 'PATCH', body: { policies: POLICIES }, headers: { Authorization: 'Bearer sesame' },
  });
  assert.equal(change.status, 200, change.text);
  return server;
}

// The service behind nginx: answers 200 (or what the path says), and counts.
async function service(world) {
  const seen = [];
  const backend = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.writeHead(request.url.startsWith('/forbidden') ? 403 : 200, { 'Content-Type': 'text/plain' });
    response.end('service');
  });
  await new Promise((resolve) => backend.listen(0, '127.0.0.1', resolve));
  world.owns(() => new Promise((resolve) => backend.close(resolve).closeAllConnections()));
  return { seen, port: backend.address().port };
}

const total = async (server) => sum(await scrape(server), 'ratelimitd_decisions_total', {});

// The first nginx block of the page is a whole configuration, the second the upstream for two instances, the third what lets
// through without ratelimitd, the fourth what refuses paths that a service may read otherwise.
const [CONFIGURATION, TWO, UNLIMITED, STRICT] = [...readFileSync(`${repository}docs/gateways.md`, 'utf8').matchAll(/```nginx\n(.*?)```/gs)].map((m) => m[1]);

function replaced(text, pairs) {
  for (const [from, to] of pairs) {
    assert.ok(text.includes(from), `${from} in the configuration`);
    text = text.replace(from, to);
  }
  return text;
}

async function nginxBefore(world, port, backend, more = []) {
  const nginx = await Nginx.start((listen) =>
    replaced(CONFIGURATION, [['127.0.0.1:8080', `127.0.0.1:${port}`], ['listen 80', `listen 127.0.0.1:${listen}`],
      ['127.0.0.1:3000', `127.0.0.1:${backend.port}`], ...more]));
  world.owns(() => nginx.close());
  backend.seen.length = 0;
  return nginx;
}

scenario('nginx: 429 and all headers reach the client, and a refused request not the service', async (world) => {
  const server = await behind(world, 'x-original');
  const backend = await service(world);
  const nginx = await nginxBefore(world, server.port, backend);
  const responses = await burst(4, 1, (i) => nginx.request(`/shop/${i}?a=b`));
  assert.deepEqual(statuses(responses), { 200: 3, 429: 1 });
  assert.deepEqual(responses.slice(0, 3).map((r) => [r.remaining, r.text]), [[2, 'service'], [1, 'service'], [0, 'service']]);
  const direct = await server.request('/check?policy=shop&key=ip:127.0.0.1');
  assert.equal(direct.status, 429, 'the same bucket');
  for (const response of responses) for (const name of LIMIT_FIELDS) assert.equal(response.count(name), 1, name);
  const denied = responses[3];
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-policy', 'content-type', 'cache-control']) {
    assert.equal(denied.headers[name], direct.headers[name], name);
  }
  assert.ok(denied.number('Retry-After') >= direct.number('Retry-After') && denied.number('Retry-After') <= 600);
  assert.deepEqual([denied.json.status, denied.json.type], [429, direct.json.type]);
  assert.equal(responses[0].headers['retry-after'], undefined);
  assert.deepEqual(backend.seen, ['GET /shop/0?a=b', 'GET /shop/1?a=b', 'GET /shop/2?a=b']);
});

scenario('nginx: what a client writes itself changes nothing', async (world) => {
  const server = await behind(world, 'x-original');
  const backend = await service(world);
  const nginx = await nginxBefore(world, server.port, backend);
  const forged = (i) => ({
    'X-Forwarded-For': `203.0.113.${i}`, Forwarded: `for=203.0.113.${i}`, 'X-Real-IP': `203.0.113.${i}`, 'True-Client-IP': `203.0.113.${i}`,
    'X-Original-URI': `/free/${i}`, 'X-Original-Method': 'PUT', 'X-Forwarded-Uri': `/free/${i}`, 'X-Forwarded-Method': 'PUT',
    Authorization: 'Bearer x',
  });
  const paths = ['/shop?policy=users&key=x', '/shop?deny_status=200&cost=0', '/shop/../shop//a', '/%73hop/', '/./shop', '/shop/..%2fshop'];
  const responses = await burst(12, 1, (i) => nginx.request(paths[i % 6], { headers: forged(i) }));
  assert.equal(admitted(responses), 3, JSON.stringify(statuses(responses)));
  assert.equal(responses.at(-1).status, 429);
  const posts = await burst(2, 1, () => nginx.request('/verbs/x', { method: 'POST', body: 'key=other', headers: forged(1) }));
  assert.equal(admitted(posts), 2);
  assert.equal((await nginx.request('/verbs/x', { method: 'POST', body: 'policy=shop' })).status, 429);
  assert.equal((await nginx.request('/verbs/x')).status, 200, 'GET has its own');
  assert.equal((await nginx.request('/_ratelimit')).status, 404, 'not for clients');
});

scenario('nginx: paths that a service may read otherwise are refused where that is wanted, and pass without a limit elsewhere', async (world) => {
  const server = await behind(world, 'x-original');
  const backend = await service(world);
  const spellings = ['/shop;x/', '/shop%3Bx/', '/shop/a;b=c', '/shop%5Cx', '/shop\\x'];
  const lax = await nginxBefore(world, server.port, backend);
  const passed = await burst(5, 1, (i) => lax.request(spellings[[0, 1, 3, 0, 1][i]]));
  assert.deepEqual(passed.map((r) => [r.status, r.headers['x-ratelimit-limit']]), Array(5).fill([200, undefined]), 'as the page warns');
  const nginx = await nginxBefore(world, server.port, backend, [['    location / {', `${STRICT}\n    location / {`]]);
  for (const path of spellings) assert.equal((await nginx.request(path)).status, 400, path);
  assert.deepEqual(backend.seen, []);
  assert.equal((await nginx.request('/shop?a=b;c')).status, 200, 'a query may hold them');
});

scenario('nginx: what is not limited passes, what cannot be decided is 403, and the service keeps its own 403', async (world) => {
  const server = await behind(world, 'x-original');
  const backend = await service(world);
  const nginx = await nginxBefore(world, server.port, backend);
  const free = await nginx.request('/free');
  assert.deepEqual([free.status, free.text, free.headers['x-ratelimit-limit']], [200, 'service', undefined]);
  const keyless = await nginx.request('/users');
  assert.deepEqual([keyless.status, keyless.headers['retry-after']], [403, undefined]);
  assert.equal(keyless.headers['content-type'], 'application/problem+json');
  assert.equal(keyless.json.status, 403);
  assert.equal((await nginx.request('/users?user=a')).status, 200);
  assert.equal((await nginx.request('/forbidden')).text, 'service');
  assert.deepEqual(backend.seen, ['GET /free', 'GET /users?user=a', 'GET /forbidden']);
});

scenario('nginx: closed without Redis is 503 with Retry-After', async (world) => {
  const redis = await world.redis();
  const server = await behind(world, 'x-original', { redis, args: ['--on-redis-error', 'closed'] });
  const nginx = await nginxBefore(world, server.port, await service(world));
  await redis.kill();
  const response = await nginx.request('/api');
  assert.deepEqual([response.status, response.headers['retry-after']], [503, '1']);
  assert.equal(response.headers['content-type'], 'application/problem+json');
  const direct = await server.request('/check?policy=default&key=k');
  const told = ({ json: { type, title, error, status } }) => ({ type, title, error, status });
  assert.deepEqual(told(response), told(direct));
});

scenario('nginx: what a policy that merely watches would have denied is told, and nothing else is', async (world) => {
  const server = await behind(world, 'x-original');
  const shadow = await server.request('/admin/policies/shop', {
    method: 'PATCH', body: { capacity: 1, on_limit: 'shadow' }, headers: { Authorization: 'Bearer sesame' },
  });
  assert.equal(shadow.status, 200, shadow.text);
  const nginx = await nginxBefore(world, server.port, await service(world));
  const responses = await burst(2, 1, () => nginx.request('/shop'));
  assert.deepEqual(responses.map((r) => [r.status, r.headers['x-ratelimit-shadow']]), [[200, undefined], [200, 'denied']]);
});

scenario('nginx: of two instances one that is back is asked again at once, and meanwhile nothing is lost', async (world) => {
  const redis = await world.redis();
  const first = await behind(world, 'x-original', { redis });
  const port = await freePort();
  const options = { redis, port, env: TOKEN, args: [...bucket(3, 1, 600), '--gateway', 'x-original', '--trusted-proxy', '127.0.0.1'] };
  const second = await world.server(options);
  const upstream = replaced(TWO, [['127.0.0.1:8080', `127.0.0.1:${first.port}`], ['127.0.0.1:8081', `127.0.0.1:${port}`]]);
  const nginx = await nginxBefore(world, first.port, await service(world), [[/upstream ratelimitd \{.*?\n\}\n/s.exec(CONFIGURATION)[0]
    .replace('127.0.0.1:8080', `127.0.0.1:${first.port}`), upstream]]);
  const ask = async (key) => {
    const responses = await burst(8, 1, (i) => nginx.request(`/users?user=${key}${i}`));
    assert.deepEqual(statuses(responses), { 200: 8 });
  };
  await ask('both');
  assert.ok((await total(second)) > 0, 'both are asked');
  await second.stop();
  await ask('one');
  const back = await world.server(options);
  await ask('back');
  assert.ok((await total(back)) > 0, 'it is asked again');
});

scenario('nginx: without ratelimitd clients get 500, or pass if it is told so', async (world) => {
  const backend = await service(world);
  const nowhere = await freePort();
  const strict = await nginxBefore(world, nowhere, backend);
  assert.equal((await strict.request('/shop')).status, 500);
  const lenient = await nginxBefore(world, nowhere, backend, [
    ['proxy_http_version', `${UNLIMITED}\nproxy_http_version`], ['location @refused', 'location @unlimited { return 204; }\nlocation @refused'],
  ]);
  assert.equal((await lenient.request('/shop')).text, 'service');
});

// What each kind sends to ask about one original request. `forged`: fields of the client that the gateway passes on.
const KINDS = {
  'x-original': (method, target, forged) => ['/check', { headers: { ...forged, 'X-Original-URI': target, 'X-Original-Method': method } }],
  // Traefik and Caddy: GET, and the original in X-Forwarded-*
  'x-forwarded': (method, target, forged) => ['/check', {
    headers: { ...forged, 'X-Forwarded-Uri': target, 'X-Forwarded-Method': method, 'X-Forwarded-Host': 'shop.example', 'X-Forwarded-Proto': 'https' },
  }],
  path: (method, target, forged) => [`/check${target}`, { method, headers: { ...forged, ...(method === 'GET' ? {} : { 'Content-Length': '0' }) } }],
};
const FORGED = {
  'x-original': { 'X-Forwarded-Uri': '/free', 'X-Forwarded-Method': 'PUT' },
  'x-forwarded': { 'X-Original-URI': '/free', 'X-Original-Method': 'PUT' },
  path: { 'X-Original-URI': '/free', 'X-Original-Method': 'PUT', 'X-Forwarded-Uri': '/free', 'X-Forwarded-Method': 'PUT' },
};

for (const [kind, form] of Object.entries(KINDS)) {
  scenario(`${kind}: the original request chooses policy and key, and nothing in it is a command`, async (world) => {
    const server = await behind(world, kind);
    const ask = (method, target, headers = {}) => server.request(...form(method, target, { ...FORGED[kind], ...headers }));
    const client = { 'X-Forwarded-For': '198.51.100.7, 203.0.113.5' };
    assertDecisionBody(await ask('GET', '/shop/a?x=1', client), { policy: 'shop', key: 'ip:203.0.113.5', remaining: 2, limit: 3 });
    const commands = '?policy=users&key=k&cost=0&deny_status=403';
    assertDecisionBody(await ask('GET', `/shop${commands}`, client), { policy: 'shop', key: 'ip:203.0.113.5', remaining: 1, cost: 1 });
    assertDecisionBody(await ask('DELETE', '//shop/./b/..//%63', client), { policy: 'shop', remaining: 0 });
    const denied = await ask('GET', `/shop${commands}`, client);
    assert.equal(denied.status, 429);
    assert.match(denied.headers['retry-after'], /^[0-9]+$/);
    assertDecisionBody(await ask('GET', '/users?user=a%26b&policy=shop'), { policy: 'users', key: 'user:a%26b' });
    assertDecisionBody(await ask('GET', '/keys', { 'X-API-Key': 'k1' }), { policy: 'keys', key: 'key:k1' });
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PURGE']) {
      assertDecisionBody(await ask(method, '/verbs/a'), { policy: 'verbs', key: `verb:${method}:%2Fverbs%2Fa`, remaining: 1 });
    }
    const free = await ask('GET', `/free/x${commands}`);
    assert.deepEqual([free.status, free.json.allowed, free.json.policy], [200, true, null]);
    assert.equal(free.headers['x-ratelimit-limit'], undefined);
    assert.equal((await ask('GET', '/')).json.policy, null, 'the root too');
    assert.equal((await ask('GET', '/?policy=shop&key=victim')).json.policy, null, 'and with a query');
    assertRefused(await ask('GET', '/users'), 400, /query\.user/);
    assertRefused(await ask('GET', '/users?user=a&user=b'), 400, /query\.user/);
    assertRefused(await ask('GET', '/shop/%zz'), 400, /%zz/);
  });

  scenario(`${kind}: believed from a trusted proxy alone`, async (world) => {
    const server = await behind(world, kind, { trusted: '192.0.2.1' });
    const response = await server.request(...form('GET', '/shop', { 'X-Forwarded-For': '203.0.113.5' }));
    assert.ok([400, 404].includes(response.status), `${response.status}`);
    assert.equal((await server.request('/check?policy=shop&key=k')).status, 200, 'the plain form stays');
  });
}

scenario('path: a client that climbs out of /check finds nothing but its own target', async (world) => {
  const server = await behind(world, 'path');
  for (const target of ['/check/../healthz', '/check/../api', '/check/../check?policy=shop&key=x', '/check/a/../../algorithms', '/check/..']) {
    assert.equal((await server.request(target)).status, 400, target);
  }
  for (const target of ['/check/healthz', '/check/admin/config', '/check/check?policy=shop&key=x', '/check//api/../healthz', '/check/%2e/healthz']) {
    const response = await server.request(target);
    assert.deepEqual([response.status, response.json.policy], [200, null], target);
  }
  assertDecisionBody(await server.request('/check/healthz/../shop'), { policy: 'shop' });
  assertDecisionBody(await server.request('/check?policy=shop&key=k'), { policy: 'shop', key: 'k' });
  assert.equal((await server.request('/check/shop', { method: 'HEAD' })).status, 200);
});

scenario('a gateway that leaves out or doubles a field is refused, with deny_status by 403', async (world) => {
  const server = await behind(world, 'x-original');
  const uri = { 'X-Original-URI': '/shop' }, method = { 'X-Original-Method': 'GET' };
  for (const [headers, words] of [
    [{}, /X-Original-URI is missing/], [uri, /X-Original-Method is missing/], [method, /X-Original-URI is missing/],
    [{ ...method, 'X-Original-URI': '' }, /X-Original-URI is empty/],
    [{ ...method, 'X-Original-URI': ['/free', '/shop'] }, /X-Original-URI is given twice/],
    [{ ...uri, 'X-Original-Method': ['GET', 'PUT'] }, /X-Original-Method is given twice/],
    [{ ...method, 'X-Original-URI': 'shop' }, /X-Original-URI cannot be read/],
    [{ ...method, 'X-Original-URI': '/../shop' }, /above the root/],
  ]) {
    assertRefused(await server.request('/check', { headers }), 400, words);
    assertRefused(await server.request('/check?deny_status=403', { headers }), 403, words);
  }
  const whole = { ...method, 'X-Original-URI': 'http://shop.example/shop?x' };
  assertDecisionBody(await server.request('/check?cost=2', { headers: whole }), { policy: 'shop', cost: 2, remaining: 1 });
  assert.equal((await server.request('/check?cost=2&deny_status=403', { headers: whole })).status, 403);
  assert.equal((await server.request('/check?cost=9', { headers: whole })).status, 422);
  assertDecisionBody(await server.request('/check?cost=0', { headers: whole }), { policy: 'shop', remaining: 1 });
  assertRefused(await server.request('/check?policy=shop', { headers: whole }), 400, /key is missing/);
  assertRefused(await server.request('/check?key=k', { headers: whole }), 400, /policy is missing/);
});

scenario('case KEY-09: without --gateway a check without a key is never one bucket for all', async (world) => {
  const { redis, server } = await world.pair();
  for (const query of ['policy=default', 'policy=default&key=', 'policy=default&key', 'policy=default&Key=a', 'policy=default&key=a&key=b', '']) {
    assert.equal((await server.request(`/check?${query}`)).status, 400, query);
  }
  const elsewhere = { method: 'POST', body: 'key=a', headers: { 'Content-Type': 'application/x-www-form-urlencoded', key: 'a', 'X-Original-URI': '/api' } };
  assert.equal((await server.request('/check?policy=default', elsewhere)).status, 400);
  assert.deepEqual(await redis.keys(), []);
});
