// Tokens: which bytes pass, and how many wrong ones a client may try before none is looked at.

import assert from 'node:assert/strict';

import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';

const TOKEN = 'open-sesame-0123456789';
const bearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });
const guarded = (world) => world.pair({ env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });

const exchange = (server, fields) => rawExchange(server.port, Buffer.from(`GET /admin/config HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`, 'latin1'));
const authorization = (value) => `Authorization: ${value}\r\n`;

scenario('case SEC-08: byte for byte, only the exact token passes', async (world) => {
  const { server } = await guarded(world);
  const none = [
    '', authorization(''), authorization('Bearer'), authorization('Bearer '), authorization(TOKEN), authorization(`Basic ${TOKEN}`),
    authorization(`Bearer${TOKEN}`), authorization(`Bearer\t${TOKEN}`),
    authorization('Bearer wrong') + authorization(`Bearer ${TOKEN}`), authorization(`Bearer ${TOKEN}`) + authorization('Bearer wrong'),
    authorization(`Bearer ${TOKEN}`) + authorization(`Bearer ${TOKEN}`), `Cookie: token=${TOKEN}\r\n`, `X-Authorization: Bearer ${TOKEN}\r\n`,
  ];
  const wrong = [
    TOKEN.slice(0, -1), TOKEN.slice(1), `${TOKEN}x`, `${TOKEN}%00`, `${TOKEN}\0`, `${TOKEN}\0x`, `\0${TOKEN}`, `${TOKEN}\xa0`, TOKEN.toUpperCase(), `${TOKEN},${TOKEN}`,
    `${TOKEN} ${TOKEN}`, `"${TOKEN}"`, 'null',
  ].map((token) => authorization(`Bearer ${token}`));
  for (const fields of [...none, ...wrong]) {
    const { status, text, headers } = await exchange(server, fields);
    assert.ok([400, 401].includes(status), `${JSON.stringify(fields)}: ${status}`);
    if (status === 401) assert.match(headers['www-authenticate'], /^Bearer/);
    assert.ok(!text.includes(TOKEN), 'an answer repeats no token');
  }
  const long = await exchange(server, authorization(`Bearer ${'x'.repeat(102400)}`));
  assert.ok([400, 401, 413, 431].includes(long.status), `100 KiB: ${long.status}`);
  assert.equal((await server.request(`/admin/config?token=${TOKEN}&access_token=${TOKEN}`)).status, 401);
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) assert.equal((await exchange(server, authorization(`${scheme} ${TOKEN}`))).status, 200, scheme);
});

scenario('wrong tokens are limited; what is no guess is not counted', async (world) => {
  const { server } = await guarded(world);
  for (let i = 0; i < 60; i++) assert.equal((await server.request('/admin/config')).status, 401, 'without a token');
  const statuses = [];
  let last;
  for (let i = 0; i < 60; i++) statuses.push((last = await server.request('/admin/config', bearer(`guess-${i}`))).status);
  const tried = statuses.filter((status) => status === 401).length;
  assert.ok(tried >= 20 && tried <= 30, `${tried} guesses were looked at`);
  assert.deepEqual(statuses.slice(0, 20), Array(20).fill(401));
  assert.equal(last.status, 429);
  assert.equal(last.number('Retry-After'), 1);
  assert.equal(last.headers['content-type'], 'application/problem+json');
  assert.equal((await server.request('/admin/config')).status, 401, 'without a token it is as ever');
});

scenario('a client that guesses too much learns nothing, and others are not disturbed', async (world) => {
  const { redis } = await world.pair();
  const server = await world.server({ redis, env: { RATELIMITD_ADMIN_TOKEN: TOKEN }, args: ['--trusted-proxy', '127.0.0.1'] });
  const from = (ip, token) => server.request('/admin/config', { headers: { ...bearer(token).headers, 'X-Forwarded-For': ip } });
  let status;
  for (let i = 0; i < 60 && status !== 429; i++) ({ status } = await from('192.0.2.7', `guess-${i}`));
  assert.equal(status, 429);
  assert.equal((await from('192.0.2.8', TOKEN)).status, 200);
  const right = await from('192.0.2.7', TOKEN);
  assert.equal(right.status, 429, 'the right token looks like any other');
  const wrong = await from('192.0.2.7', 'wrong');
  assert.equal(wrong.text, right.text);
});

scenario('guesses at the check token are limited as well, and stay 403', async (world) => {
  const { redis } = await world.pair();
  const server = await world.server({ redis, env: { RATELIMITD_CHECK_TOKEN: TOKEN, RATELIMITD_ADMIN_TOKEN: 'other-token' }, args: ['--host', '0.0.0.0'] });
  const outside = Object.values((await import('node:os')).networkInterfaces()).flat().find((each) => each.family === 'IPv4' && !each.internal);
  assert.ok(outside, 'this machine has an address beyond loopback');
  const check = (token) => server.request('/check?policy=default&key=k', { ...bearer(token), host: outside.address });
  assert.equal((await check(TOKEN)).status, 200);
  let last;
  for (let i = 0; i < 40; i++) assert.equal((last = await check(`guess-${i}`)).status, 403);
  assert.equal(last.number('Retry-After'), 1);
  assert.equal((await check(TOKEN)).status, 403);
});
