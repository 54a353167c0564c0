// /openapi.json: valid, complete by the table of routes, and true of the server's answers.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv2020 from 'ajv/dist/2020.js';

import { routeTable } from '../harness/routes.mjs';
import { scenario } from '../harness/scenario.mjs';
import { repository } from '../harness/server.mjs';

const text = readFileSync(`${repository}static/openapi.json`, 'utf8');
const document = JSON.parse(text);
const VERBS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace'];
const implied = ['HEAD', 'OPTIONS'];

test('it is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  assert.ok(result.valid, JSON.stringify(result.errors, null, 1));
  assert.equal(validator.version, '3.1');
});

test('what it defines is used, and every operation has a name of its own', () => {
  for (const [kind, members] of Object.entries(document.components)) {
    if (kind === 'securitySchemes') continue;
    for (const name of Object.keys(members)) assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name}`);
  }
  const names = Object.values(document.paths).flatMap((item) => VERBS.filter((verb) => item[verb]).map((verb) => item[verb].operationId));
  assert.equal(new Set(names).size, names.length);
});

// The row of the table that answers a path of the document.
const rowOf = (table, path) => table.find((row) => path === row.path || (row.below && (row.path === '/' || path.startsWith(`${row.path}/`))));

test('it tells of every route and method of the table, and of no other', () => {
  const table = routeTable();
  const told = new Set();
  for (const [path, item] of Object.entries(document.paths)) {
    if (path === '/check/{target}') continue; // by --gateway path, not by the table
    const row = rowOf(table, path);
    assert.ok(row, path);
    told.add(row);
    const methods = VERBS.filter((verb) => item[verb]).map((verb) => verb.toUpperCase()).filter((name) => !implied.includes(name));
    assert.deepEqual(methods.sort(), row.methods.filter((name) => !implied.includes(name)).sort(), path);
    for (const verb of VERBS.filter((name) => item[name])) {
      const guarded = (item[verb].security ?? []).some((way) => 'adminToken' in way);
      assert.equal(guarded, row.guarded, `${verb} ${path}: guarded`);
      if (row.guarded) for (const status of ['401', '403', '429']) assert.ok(item[verb].responses[status], `${verb} ${path}: ${status}`);
    }
  }
  assert.deepEqual(table.filter((row) => !told.has(row)).map((row) => row.path), []);
});

// --- are its answers what it says ---

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(document, 'openapi');
const pointer = (...names) => names.map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
const resolve = (value) => (value.$ref ? value.$ref.slice(2).split('/').reduce((at, name) => at[name], document) : value);
const check = (place, value, what) => {
  const valid = ajv.getSchema(`openapi#${place}`);
  assert.ok(valid, place);
  assert.ok(valid(value), `${what}: ${JSON.stringify(value)}\n${ajv.errorsText(valid.errors)}`);
};

// Headers that a client acts upon: which of them an answer has must stand in the document.
const TOLD = ['etag', 'location', 'retry-after', 'www-authenticate', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-shadow',
  'ratelimit', 'ratelimit-policy'];

function conforms(path, method, response) {
  const what = `${method} ${path}: ${response.status}`;
  const operation = document.paths[path][method.toLowerCase()];
  const stated = operation.responses[response.status];
  assert.ok(stated, `${what} is not told of: ${response.text.slice(0, 300)}`);
  const { content = {}, headers = {} } = resolve(stated);
  const place = stated.$ref?.slice(1) ?? pointer('paths', path, method.toLowerCase(), 'responses', String(response.status));
  for (const [name, header] of Object.entries(headers)) {
    const value = response.headers[name.toLowerCase()];
    const { schema } = resolve(header);
    if (value !== undefined) assert.ok(ajv.validate(schema, schema.type === 'integer' ? Number(value) : value), `${what}: ${name}: ${value}`);
  }
  for (const name of TOLD) {
    if (response.headers[name] !== undefined) assert.ok(Object.keys(headers).some((told) => told.toLowerCase() === name), `${what}: ${name} is not told of`);
  }
  const type = response.headers['content-type']?.split(';')[0];
  if (Object.keys(content).length === 0) return assert.equal(response.text, '', what);
  assert.ok(content[type], `${what}: ${type}`);
  if (/[/+]json$/.test(type)) check(`${place}${pointer('content', type, 'schema')}`, response.json, what);
  return undefined;
}

scenario('the server answers as it says', async (world) => {
  const { redis, server } = await world.pair({ args: ['--capacity', '2', '--refill-interval', '60'] });
  const ask = async (path, method, target, options = {}, status = undefined) => {
    const response = await server.request(target, { method, ...options });
    if (status) assert.equal(response.status, status, `${method} ${target}: ${response.text}`);
    conforms(path, method, response);
    return response;
  };
  const form = { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
  const combined = { limits: [{ name: 'a', algorithm: 'token_bucket' }, { name: 'b', algorithm: 'fixed_window', limit: 1 }] };

  for (const status of [200, 200, 429]) await ask('/api', 'GET', '/api', {}, status);
  await ask('/api/{path}', 'POST', '/api/token-bucket/x?user=u', { body: {} }, 200);
  await ask('/api/{path}', 'GET', '/api/%zz', {}, 400);
  await ask('/check', 'GET', '/check?policy=default&key=k', {}, 200);
  await ask('/check', 'GET', '/check?policy=default&key=k&cost=0', {}, 200);
  await ask('/check', 'POST', '/check?policy=default&key=k&cost=2', {}, 429);
  await ask('/check', 'GET', '/check?policy=default&key=k&cost=2&deny_status=403', {}, 403);
  await ask('/check', 'GET', '/check?policy=default', {}, 400);
  await ask('/check', 'GET', '/check?policy=none&key=k', {}, 404);
  await ask('/check', 'GET', '/check?policy=default&key=k&cost=3', {}, 422);
  await ask('/test', 'POST', '/test', {}, 200);
  await ask('/config', 'POST', '/config', { ...form, body: 'capacity=3' }, 200);
  await ask('/config', 'POST', '/config', { ...form, body: 'capacity=0' }, 400);
  await ask('/config', 'POST', '/config', { body: 'capacity=3' }, 415);
  await ask('/algorithms', 'GET', '/algorithms', {}, 200);
  await ask('/admin/policies/{name}', 'PUT', '/admin/policies/two', { body: combined }, 201);
  for (const status of [200, 429]) await ask('/check', 'GET', '/check?policy=two&key=k', {}, status);
  await ask('/admin/policies/{name}', 'PATCH', '/admin/policies/two', { body: { limits: null, algorithm: 'leaky_bucket', on_limit: 'delay' } }, 200);
  await ask('/admin/policies/{name}', 'GET', '/admin/policies/two', {}, 200);
  await ask('/admin/policies/{name}', 'PATCH', '/admin/policies/two', { body: { capacity: 0 } }, 422);
  await ask('/admin/policies/{name}', 'PATCH', '/admin/policies/two', { body: { cost: 2 }, headers: { 'If-Match': '"999"', 'Content-Type': 'application/json' } }, 412);
  await ask('/admin/policies/{name}', 'PUT', '/admin/policies/two', { body: combined, headers: { 'If-None-Match': '*', 'Content-Type': 'application/json' } }, 412);
  await ask('/admin/policies/{name}', 'PUT', '/admin/policies/two', { body: '{', headers: { 'Content-Type': 'application/json' } }, 400);
  await ask('/admin/policies/{name}', 'DELETE', '/admin/policies/two', {}, 204);
  await ask('/admin/policies/{name}', 'GET', '/admin/policies/two', {}, 404);
  await ask('/admin/policies/{name}', 'DELETE', '/admin/policies/default', {}, 409);
  const whole = await ask('/admin/config', 'GET', '/admin/config', {}, 200);
  await ask('/admin/config', 'PUT', '/admin/config', { body: whole.json }, 200);
  await ask('/admin/config', 'PATCH', '/admin/config', { body: { policies: { default: { capacity: 4 } } } }, 200);
  await ask('/admin/config', 'DELETE', '/admin/config', {}, 200);
  await ask('/admin/config', 'GET', '/admin/config', { headers: { Origin: 'http://evil.example' } }, 403);
  await ask('/admin/keys', 'GET', '/admin/keys?policy=default&key=k', {}, 200);
  await ask('/admin/keys', 'GET', '/admin/keys?policy=default&key=unknown', {}, 200);
  await ask('/admin/keys', 'GET', '/admin/keys?policy=default', {}, 200);
  await server.hit('u', { policy: 'sliding-window-log', key: 'user:u' });
  const log = await ask('/admin/keys', 'GET', '/admin/keys?policy=sliding-window-log&key=user:u', {}, 200);
  assert.equal(log.json.limits[0].fields.oldest.length, 1, log.text);
  await ask('/lab/state', 'GET', '/lab/state?policy=sliding-window-log&user=u', {}, 200);
  await redis.command('SET', redis.key('odd'), 'x');
  assert.equal((await ask('/admin/keys', 'GET', '/admin/keys?policy=default&key=odd', {}, 200)).json.limits[0].type, 'string');
  await ask('/admin/keys', 'DELETE', '/admin/keys?policy=default&key=k', {}, 200);
  await ask('/admin/keys', 'DELETE', '/admin/keys?policy=default&key=k', {}, 404);
  await ask('/lab/runs', 'POST', '/lab/runs', { body: { policy: 'default', user: 'u', count: 2, rate: 100 } });
  await ask('/lab/runs', 'POST', '/lab/runs', { body: {} }, 422);
  await ask('/lab/state', 'GET', '/lab/state?policy=default&user=u', {}, 200);
  await ask('/lab/state', 'GET', '/lab/state?policy=fixed-window&user=u', {}, 200);
  await ask('/lab/state', 'GET', '/lab/state?policy=none&user=u', {}, 404);
  await ask('/healthz', 'GET', '/healthz', {}, 200);
  await ask('/readyz', 'GET', '/readyz', {}, 200);
  await ask('/metrics', 'GET', '/metrics', {}, 200);
  await ask('/openapi.json', 'GET', '/openapi.json', {}, 200);
  await ask('/', 'GET', '/', {}, 200);
  await redis.kill();
  await ask('/admin/keys', 'GET', '/admin/keys?policy=default&key=k', {}, 503);
  await ask('/admin/keys', 'DELETE', '/admin/keys?policy=default&key=k', {}, 503);
  await ask('/admin/config', 'PATCH', '/admin/config', { body: { policies: { default: { capacity: 5 } } } }, 503);
  await ask('/readyz', 'GET', '/readyz', {}, 200);
});

scenario('it is served to everybody, as it lies here, for this version', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: 'open-sesame-0123456789' } });
  const response = await server.request('/openapi.json');
  assert.equal(response.status, 200);
  assert.equal(response.headers['content-type'], 'application/json');
  assert.equal(response.text, text);
  assert.equal(document.info.version, server.version);
  const denied = await server.request('/admin/config');
  assert.equal(denied.status, 401);
  conforms('/admin/config', 'GET', denied);
});
