// Changing settings over HTTP: merges, strict JSON, bounds, sizes, versions. A refused change changes nothing.

import assert from 'node:assert/strict';

import { assertRefused, bucket } from '../harness/decision.mjs';
import { admitted, burst, statuses } from '../harness/http.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { until } from '../harness/time.mjs';

const POLICY = '/admin/policies/default';
const json = { 'Content-Type': 'application/json' };
const patchText = (server, body, path = POLICY) => server.request(path, { method: 'PATCH', headers: json, body });

const pick = ({ capacity, refill_rate, refill_interval }) => [capacity, refill_rate, refill_interval];

// Sends each body; each must be refused with one of the statuses and change nothing, and limiting goes on.
async function assertAllRefused(server, bodies, allowed, path = POLICY) {
  const before = (await server.request('/admin/config')).text;
  for (const body of bodies) {
    const response = await patchText(server, body, path);
    const what = `${String(body).slice(0, 60)}: ${response.status} ${response.text.slice(0, 200)}`;
    assert.ok(allowed.includes(response.status), what);
    assert.equal(response.headers['content-type'].split(';')[0], 'application/problem+json', what);
    assert.ok(response.json.detail?.length > 10, what);
  }
  assert.equal((await server.request('/admin/config')).text, before);
}

scenario('the document has its version, an ETag, and every setting spelled out', async (world) => {
  const { server } = await world.pair();
  const response = await server.request('/admin/config');
  assert.equal(response.status, 200);
  const { version, policies } = response.json;
  assert.equal(response.headers.etag, `"${version}"`);
  assert.equal(response.headers['cache-control'], 'no-store');
  assert.deepEqual(policies.default, {
    paths: ['/api'], key: 'ip:{ip}', algorithm: 'token_bucket', capacity: 10, refill_rate: 1, refill_interval: 1, cost: 1,
    on_limit: 'reject', on_redis_error: 'local',
  });
  assert.deepEqual(await server.settings(), policies.default);
});

scenario('If-Match: 412 when the version is no longer that, and a change that changes nothing makes no version', async (world) => {
  const { server } = await world.pair();
  const version = async () => (await server.request('/admin/config')).json.version;
  const first = await version();
  const change = (capacity, match) => server.request('/admin/config', {
    method: 'PATCH', body: { policies: { default: { capacity } } }, headers: match ? { 'If-Match': match } : {},
  });
  assert.equal((await change(11, `"${first}"`)).status, 200);
  assert.equal(await version(), first + 1);
  assertRefused(await change(12, `"${first}"`), 412);
  assert.equal((await server.settings()).capacity, 11);
  assert.equal((await change(11)).status, 200);
  assert.equal(await version(), first + 1);
  assert.ok([400, 412].includes((await change(13, 'nonsense')).status));
  assert.equal((await server.settings()).capacity, 11);
});

scenario('entity tags are compared byte by byte, and a list may have empty elements', async (world) => {
  const { server } = await world.pair();
  const change = (capacity, match) => server.request(POLICY, { method: 'PATCH', body: { capacity }, headers: { 'If-Match': match } });
  assert.equal((await change(11, '"1",')).status, 200);
  for (const match of ['"002"', '"0"', '"02"', '" 2"', 'W/"2"', '"00000000000000000002"']) assertRefused(await change(12, match), 412);
  assert.equal((await change(13, ', ,"7",, "2"')).status, 200);
  for (const match of [',', '"3" "4"']) assertRefused(await change(14, match), 400);
  assert.equal((await server.settings()).capacity, 13);
});

scenario('If-None-Match: * makes a policy and never overwrites one, asked at once of two instances too', async (world) => {
  const { redis, server } = await world.pair();
  const other = await world.server({ redis });
  const change = (method, path, match, body, at = server) => at.request(path, {
    method, body, headers: { ...json, 'If-None-Match': match }, agent: false,
  });
  const put = (name, match, capacity, at) => change('PUT', `/admin/policies/${name}`, match, { capacity }, at);
  assert.equal((await put('mine', '*', 5)).status, 201);
  const again = await put('mine', '*', 6);
  assertRefused(again, 412, /mine/);
  assert.equal((await server.request('/admin/policies/mine')).json.capacity, 5);
  for (let i = 0; i < 5; i++) {
    const made = await Promise.all([put(`n${i}`, '*', 7, server), put(`n${i}`, '*', 8, other)]);
    assert.deepEqual(statuses(made), { 201: 1, 412: 1 });
    const kept = made.findIndex(({ status }) => status === 201);
    assert.equal((await server.request(`/admin/policies/n${i}`)).json.capacity, 7 + kept);
  }
  assertRefused(await change('PATCH', POLICY, '*', { capacity: 9 }), 412);
  assertRefused(await change('PATCH', '/admin/policies/none', '*', { capacity: 9 }), 404);
  assertRefused(await change('DELETE', '/admin/policies/mine', '*'), 412);
  for (const method of ['PUT', 'PATCH', 'DELETE']) assertRefused(await change(method, '/admin/config', '*', { policies: {} }), 412);
  const { etag } = (await server.request('/admin/config')).headers;
  for (const match of [etag, `W/${etag}`, `"1", ${etag}`]) assertRefused(await put('mine', match, 6), 412);
  assertRefused(await put('mine', '*, "1"', 6), 400);
  assertRefused(await put('mine', 'nonsense', 6), 400);
  assert.equal((await put('mine', '"1"', 6)).status, 200);
});

scenario('parallel changes of different members: none is lost', async (world) => {
  const { server } = await world.pair({ threads: 4 });
  const before = (await server.request('/admin/config')).json.version;
  const bodies = [{ capacity: 77 }, { refill_rate: 7 }, { refill_interval: 0.7 }, { cost: 7 }];
  const responses = await Promise.all(bodies.map((body) => server.patch(body, { agent: server.http.newAgent() })));
  assert.deepEqual(statuses(responses), { 200: 4 });
  const settings = await server.settings();
  assert.deepEqual([...pick(settings), settings.cost], [77, 7, 0.7, 7]);
  assert.equal((await server.request('/admin/config')).json.version, before + 4);
});

scenario('case ADM-07: a partial update leaves the other members alone', async (world) => {
  const { server } = await world.pair();
  assert.equal((await server.patch({ algorithm: 'token_bucket', capacity: 7, refill_rate: 3, refill_interval: 2 })).status, 200);
  assert.equal((await server.patch({ capacity: 9 })).status, 200);
  assert.deepEqual(pick(await server.settings()), [9, 3, 2]);
  const before = (await server.request('/admin/config')).text;
  assert.equal((await server.patch({})).status, 200);
  assert.equal((await patchText(server, '')).status, 400);
  assertRefused(await server.patch({ capacityy: 5 }), 422, /capacityy/);
  assertRefused(await server.patch({ Capacity: 5 }), 422, /Capacity/);
  assertRefused(await server.patch({ capacity: 5, nonsense: null }), 422, /nonsense/);
  assert.equal((await server.request('/admin/config')).text, before);
});

scenario('PUT of the policy takes defaults for what it leaves out', async (world) => {
  const { server } = await world.pair();
  await server.patch({ refill_rate: 3, refill_interval: 2 });
  const response = await server.request(POLICY, { method: 'PUT', body: { capacity: 6 } });
  assert.equal(response.status, 200, response.text);
  assert.deepEqual(pick(await server.settings()), [6, 1, 1]);
});

scenario('case ADM-09: duplicate names are refused', async (world) => {
  const { server } = await world.pair();
  await assertAllRefused(server, [
    '{"capacity":5,"capacity":500}', '{"capacity":500,"capacity":5}', '{"capacity":5,"capacity":"5"}', '{"capacity":"5","capacity":5}',
    '{"capacity":5,"capacity":5}', '{"capacity":5,"cap\\u0061city":500}', '{"cost":1,"capacity":5,"cost":1}',
  ], [400]);
  await assertAllRefused(server, ['{"policies":{"default":{"capacity":5}},"policies":{"default":{"capacity":6}}}'], [400], '/admin/config');
});

scenario('case ADM-11: what is not exactly one JSON object is refused, with the position of the fault', async (world) => {
  const { server } = await world.pair();
  await assertAllRefused(server, [
    '{"capacity":5}x', '{"capacity":5}{"capacity":6}', '{"capacity":5}}', '', '   \n', '\ufeff{"capacity":5}', '{"capacity":007}',
    '{"capacity":5.}', '{"capacity":.5}', '{"capacity":+5}', '{"capacity":5}\u0000{"capacity":6}', '{"capacity\u0000":5}', '{"capacity\\u0000":5}',
    '{"capacity":5,}', '{capacity:5}', "{'capacity':5}", '{"capacity":5', '{"capacity":0x5}', '{"capacity":5}//', '{"capacity":tru}',
    Buffer.from('7b226b6579223a22ff227d', 'hex'), '{"key":"\\ud800"}', '{"key":"a\nb"}',
  ], [400]);
  await assertAllRefused(server, ['5', '"x"', '[]', 'null', 'true', '[{"capacity":5}]'], [400, 422]);
  const { detail } = (await patchText(server, '{"capacity":5,\n "cost":x}')).json;
  assert.match(detail, /line 2/);
  assert.equal((await patchText(server, ' \r\n\t{"capacity" : 5e0 }\n')).status, 200);
});

scenario('case ADM-12: deep nesting is refused, alone and 500 at once, without growing', async (world) => {
  const { server } = await world.pair();
  const arrays = (n) => '['.repeat(n) + ']'.repeat(n);
  const objects = (n) => '{"a":'.repeat(n) + '1' + '}'.repeat(n);
  const depths = [17, 999, 1000, 1001, 10000];
  await assertAllRefused(server, depths.flatMap((n) => [arrays(n), objects(Math.min(n, 9000)), '['.repeat(n), `{"a":${arrays(n)}}`]), [400]);
  await assertAllRefused(server, [arrays(100000), objects(100000)], [413]);
  await assertAllRefused(server, [arrays(100000), objects(100000)], [400], '/admin/config');
  const memory = server.residentKiB;
  const responses = await burst(500, 50, () => patchText(server, arrays(20000)));
  assert.deepEqual(statuses(responses), { 400: 500 });
  assert.ok(server.residentKiB - memory < 32 * 1024 * sanitizerFactor(), `from ${memory} to ${server.residentKiB} KiB`);
});

const BAD_NUMBERS = ['-1', '0', '-0', '0.0000001', '1e-320', '1e18', '1e400', '"5"', '""', '"5abc"', 'true', '[5]', '{"v":5}', '1.00000049', '123456789012345678'];
const NOT_JSON = ['NaN', 'Infinity', '-Infinity', '1,5', '05', '1e', '--1', 'nan', '0x1F'];

scenario('case ADM-13: an invalid number reaches nothing, in any field', async (world) => {
  const { server } = await world.pair({ args: bucket(1000, 1, 60) });
  let left = 1000;
  for (const name of ['capacity', 'refill_rate', 'refill_interval', 'cost']) {
    await assertAllRefused(server, BAD_NUMBERS.map((value) => `{"${name}":${value}}`), [422]);
    await assertAllRefused(server, NOT_JSON.map((value) => `{"${name}":${value}}`), [400]);
    assertRefused(await server.patch({ [name]: -3 }), 422, new RegExp(`${name}.*-3`));
    assert.equal((await server.hit('k')).remaining, --left);
  }
  assertRefused(await server.patch({ capacity: 1.5 }), 422, /capacity.*whole.*1\.5/);
  assertRefused(await server.patch({ cost: 1001 }), 422, /cost.*1000.*1001/);
  assertRefused(await server.patch({ capacity: 1e9, refill_interval: 31536000 }), 422, /ten years/);
});

scenario('settings that are not numbers are checked as strictly', async (world) => {
  const { server } = await world.pair();
  const bodies = [
    { algorithm: 'magic' }, { algorithm: 5 }, { key: '' }, { key: 'x:{nonsense}' }, { key: '{ip' }, { key: 5 }, { paths: '/api' }, { paths: [5] },
    { paths: ['api'] }, { on_limit: 'maybe' }, { on_redis_error: 'maybe' }, { on_redis_error: true },
  ];
  await assertAllRefused(server, bodies.map((body) => JSON.stringify(body)), [422]);
});

scenario('case ADM-18: null is refused, what is left out falls back, and denial is not a lack of rights', async (world) => {
  const { redis } = await world.pair();
  const server = await world.server({ redis, env: { RATELIMITD_ADMIN_TOKEN: 'sesame' } });
  const headers = { Authorization: 'Bearer sesame' };
  for (const name of ['capacity', 'refill_rate', 'refill_interval', 'algorithm', 'key']) {
    const response = await server.patch({ [name]: null }, { headers });
    assert.ok(response.status === 422, `${name}: null gives ${response.status} ${response.text}`);
  }
  const put = await server.request(POLICY, { method: 'PUT', headers, body: { capacity: 2, refill_interval: 60 } });
  assert.equal(put.status, 200, put.text);
  assert.equal((await server.settings({ headers })).refill_rate, 1);
  assert.deepEqual((await server.burst('k', 3)).map((r) => r.status), [200, 200, 429]);
  assert.equal((await server.patch({ capacity: 3 })).status, 401);
  assert.equal((await server.patch({ capacity: 3 }, { headers: { Authorization: 'Bearer wrong' } })).status, 401);
});

const HEAD = `PATCH ${POLICY} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;

// Writes `block` again and again until the answer is there; returns the answer and how much was taken.
async function pour(world, server, head, block) {
  const raw = await world.raw(server);
  await raw.send(head);
  const answer = raw.answer({ ms: 10000 });
  let done = false;
  answer.then(() => { done = true; }, () => { done = true; });
  let sent = 0;
  while (!done && !raw.closed && sent < 2 ** 30) {
    await Promise.race([raw.send(block), answer]);
    sent += block.length;
  }
  return { answer: await answer, sent };
}

scenario('case ADM-19: an oversized body gets 413 as soon as the limit is passed, and nobody else waits', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 600) });
  const before = (await server.request('/admin/config')).text;
  const memory = server.residentKiB;
  const announced = (length) => rawExchange(server.port, `${HEAD}Content-Length: ${length}\r\n\r\n`, { ms: 3000 });
  for (const length of [64 * 1024 + 1, 10 * 2 ** 20, 2 ** 30, '1000000000000']) {
    const answer = await announced(length);
    assert.equal(answer.status, 413, `Content-Length ${length}`);
    assert.match(answer.headers.connection ?? '', /close/i);
  }
  for (const length of ['99999999999999999999999', '-1', '1x']) {
    const answer = await announced(length);
    assert.ok([400, 413].includes(answer.status), `Content-Length ${length}: ${answer.status}`);
  }
  const block = Buffer.alloc(32768, ' ');
  const chunk = Buffer.concat([Buffer.from('8000\r\n'), block, Buffer.from('\r\n')]);
  const raw = await world.raw(server);
  await raw.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
  for (let i = 0; i < 3; i++) await raw.send(chunk); // 96 KiB, and no end in sight
  assert.equal((await raw.answer({ ms: 3000 })).status, 413);
  assert.equal((await pour(world, server, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunk)).answer.status, 413);
  const plain = await pour(world, server, `${HEAD}Content-Length: ${10 * 2 ** 20}\r\n\r\n`, block);
  assert.equal(plain.answer.status, 413);

  const many = Array.from({ length: 50 }, () => pour(world, server, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunk));
  const others = await server.burst('k', 20);
  assert.equal(admitted(others), 10);
  assert.ok(others.every(({ ms }) => ms < 1000));
  assert.deepEqual(new Set((await Promise.all(many)).map(({ answer }) => answer.status)), new Set([413]));
  assert.ok(server.residentKiB - memory < 64 * 1024 * sanitizerFactor(), `from ${memory} to ${server.residentKiB} KiB`);
  assert.equal((await server.request('/admin/config')).text, before);
});

scenario('a body of exactly the limit is read, and one byte more is not', async (world) => {
  const { server } = await world.pair();
  const padded = (length) => '{"capacity":21}'.padEnd(length);
  assert.equal((await patchText(server, padded(64 * 1024))).status, 200);
  assert.equal((await server.settings()).capacity, 21);
  assert.equal((await patchText(server, padded(64 * 1024 + 1))).status, 413);
  const document = (length) => '{"policies":{"default":{"capacity":22}}}'.padEnd(length);
  assert.equal((await patchText(server, document(2 ** 20), '/admin/config')).status, 200);
  assert.equal((await patchText(server, document(2 ** 20 + 1), '/admin/config')).status, 413);
});

scenario('changes and refusals are told in the log', async (world) => {
  const { server } = await world.pair();
  await server.patch({ capacity: 12 });
  await server.patch({ capacity: 0 });
  await until('two lines of the log', () => /version/i.test(server.log) && /capacity/.test(server.log), 2000);
});

scenario('an unknown policy is 404', async (world) => {
  const { server } = await world.pair();
  for (const name of ['nobody', 'default/x', 'DEFAULT']) assertRefused(await server.request(`/admin/policies/${name}`), 404, new RegExp(name));
});
