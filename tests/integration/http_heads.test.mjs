// What a request may take of a connection's memory leaves room for any answer: whoever is refused has spent nothing.

import assert from 'node:assert/strict';

import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';

const HOST = 'Host: localhost\r\n';
const CORS = `${HOST}Origin: http://a.b\r\n`;
const NEXT = `GET /healthz HTTP/1.1\r\n${HOST}X: ${'y'.repeat(3000)}\r\n\r\n`;
const POLICY = 'p'.repeat(64);

// A policy whose decisions have the longest heads there are.
async function widest(world) {
  const pair = await world.pair({ args: ['--cors-origin', '*'] });
  const limits = [0, 1, 2, 3].map((i) => ({
    name: `l${i}${'x'.repeat(60)}`, algorithm: 'fixed_window', limit: 1000000 + i, window: 31536000,
  }));
  const made = await pair.server.request(`/admin/policies/${POLICY}`, {
    method: 'PUT', body: { paths: ['/api/big'], key: 'k', limits, on_limit: 'shadow' },
  });
  assert.equal(made.status, 201, made.text);
  const remaining = async () => (await pair.server.request(`/check?policy=${POLICY}&key=k&cost=0`)).json.remaining;
  return { ...pair, remaining };
}

// Sends each; 200 or a refusal of the given status, and only the former may have spent. Returns how many were served.
async function assertNoneSpent({ server, remaining }, requests, refusal) {
  const before = await remaining();
  let served = 0;
  for (const [what, bytes] of requests) {
    const { status, headers } = await rawExchange(server.port, bytes);
    assert.ok(status === 200 || status === refusal, `${what}: ${status}`);
    assert.equal(headers['access-control-allow-origin'], '*', what);
    if (status === 200) assert.ok(headers['ratelimit-policy'].length > 600, what);
    if (status === 200) served++;
    assert.equal(await remaining(), before - served, what);
  }
  return served;
}

const get = (n, fields = '') => `GET /api/big HTTP/1.1\r\n${CORS}${fields}X: ${'y'.repeat(n)}\r\n\r\n`;

scenario('a head of up to 7 KiB is served with the longest answer, a longer one refused before it takes a unit', async (world) => {
  const it = await widest(world);
  const requests = [];
  for (let n = 5800; n < 11000; n += n > 6700 && n < 7100 ? 7 : 60) requests.push([n, get(n)], [`${n} and more`, get(n) + NEXT]);
  assert.ok(await assertNoneSpent(it, requests, 431) > 60);
  for (const bytes of [get(6880), get(6880) + NEXT, get(6200, 'A: b\r\n'.repeat(10))]) assert.equal((await rawExchange(it.server.port, bytes)).status, 200);
});

scenario('the fields behind a chunked body count like the head', async (world) => {
  const it = await widest(world);
  const post = (n, trailer) => `POST /api/big HTTP/1.1\r\n${CORS}Transfer-Encoding: chunked\r\nX: ${'y'.repeat(n)}\r\n\r\n3\r\nabc\r\n0\r\n${trailer}\r\n`;
  const requests = [];
  for (let n = 0; n < 9000; n += 450) requests.push([`${n} behind`, post(3000, `Y: ${'z'.repeat(n)}\r\n`)], [`${n} in all`, post(n / 2, `Y: ${'z'.repeat(n / 2)}\r\n`)]);
  for (let n = 0; n < 150; n += 10) requests.push([`${n} fields`, post(0, 'Y: z\r\n'.repeat(n))]);
  const served = await assertNoneSpent(it, requests, 431);
  assert.ok(served > 20 && served < requests.length - 10, String(served));
});
