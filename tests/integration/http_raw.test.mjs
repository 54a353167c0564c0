// Requests that no well-behaved client would send: each is answered, and read in one way only.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { burst } from '../harness/http.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { Lateness, until } from '../harness/time.mjs';

const HOST = 'Host: localhost\r\n';
const get = (fields) => `GET /api HTTP/1.1\r\n${HOST}${fields}\r\n`;
const post = (fields, body = '') => `POST /api HTTP/1.1\r\n${HOST}${fields}\r\n${body}`;
const NEXT = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;

const REFUSED = {
  'two Content-Lengths': [400, post('Content-Length: 3\r\nContent-Length: 30\r\n', 'abc')],
  'two equal Content-Lengths': [400, post('Content-Length: 3\r\nContent-Length: 3\r\n', 'abc')],
  'a list of lengths': [400, post('Content-Length: 3, 3\r\n', 'abc')],
  'Content-Length and Transfer-Encoding': [400, post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
  'Transfer-Encoding and Content-Length': [400, post('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n', '0\r\n\r\n')],
  'an unknown Transfer-Encoding': [501, post('Transfer-Encoding: gzip\r\n', '0\r\n\r\n')],
  'a made-up Transfer-Encoding': [501, post('Transfer-Encoding: foo\r\n', 'abc')],
  'chunked behind another': [501, post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
  'chunked twice': [501, post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n')],
  'chunked in HTTP/1.0': [400, `POST /api HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  'a space behind chunked': [501, post('Transfer-Encoding: chunked \r\n', '0\r\n\r\n')],
  'a space behind a length': [400, post('Content-Length: 3 \r\n', 'abc')],
  'a length that is no number': [400, post('Content-Length: x\r\n')],
  'a negative length': [400, post('Content-Length: -1\r\n')],
  'a length with a sign': [400, post('Content-Length: +3\r\n', 'abc')],
  'a huge length without a body': [413, post('Content-Length: 1000000000000\r\n')],
  'a length beyond 64 bits': [413, post('Content-Length: 18446744073709551619\r\n', 'abc')],
  'a folded line': [400, get('X-A: b\r\n c\r\n')],
  'a folded length': [400, post('Content-Length:\r\n 3\r\n', 'abc')],
  'a space before the colon': [400, post('Content-Length : 3\r\n', 'abc')],
  'a tab before the colon': [400, post('Transfer-Encoding\t: chunked\r\n', '0\r\n\r\n')],
  'bare LF': [400, 'GET /api HTTP/1.1\nHost: localhost\n\n'],
  'a bare LF among the fields': [400, 'GET /api HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n'],
  'a bare LF at the end': [400, 'GET /api HTTP/1.1\r\nHost: localhost\r\n\n'],
  'a bare CR in a value': [400, get('X-A: b\rX-B: c\r\n')],
  'a bare CR in the first line': [400, `GET /api\r HTTP/1.1\r\n${HOST}\r\n`],
  'NUL in a value': [400, get('X-A: b\0c\r\n')],
  'NUL at the end of a value': [400, get('X-A: b\0\r\n')],
  'NULs that hide a field': [400, get('X-A: b\0\0c\0d\r\n')],
  'NUL behind a length': [400, post('Content-Length: 3\0 \r\n', 'abc')],
  'NUL in a name': [400, get('X\0A: b\r\n')],
  'NUL in the target': [400, `GET /api\0x HTTP/1.1\r\n${HOST}\r\n`],
  'NUL in the method': [400, `GE\0T /api HTTP/1.1\r\n${HOST}\r\n`],
  'a control character': [400, get('X-A: b\x01c\r\n')],
  'no colon': [400, get('XA\r\n')],
  'no name': [400, get(': b\r\n')],
  'a name that is no token': [400, get('X(A: b\r\n')],
  'a method that is no token': [400, `G@T /api HTTP/1.1\r\n${HOST}\r\n`],
  'a long method': [400, `${'F'.repeat(33)} /api HTTP/1.1\r\n${HOST}\r\n`],
  'CONNECT': [400, `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`],
  'two spaces': [400, `GET  /api HTTP/1.1\r\n${HOST}\r\n`],
  'a space in the target': [400, `GET /api x HTTP/1.1\r\n${HOST}\r\n`],
  'tabs for spaces': [400, `GET\t/api\tHTTP/1.1\r\n${HOST}\r\n`],
  'no first line at all': [400, 'hello\r\n\r\n'],
  'TLS on a plain port': [400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(200, 'x') + '\n'],
  'HTTP/0.9': [400, 'GET /api\r\n\r\n'],
  'HTTP/2.0': [505, `GET /api HTTP/2.0\r\n${HOST}\r\n`],
  'a version that is none': [400, `GET /api http/1.1\r\n${HOST}\r\n`],
  'no Host': [400, 'GET /api HTTP/1.1\r\n\r\n'],
  'two Hosts': [400, get('Host: b\r\n')],
  'a Host that is none': [400, 'GET /api HTTP/1.1\r\nHost: a b\r\n\r\n'],
  'another Expect': [417, post('Expect: nonsense\r\nContent-Length: 3\r\n', 'abc')],
  'a chunk size that is none': [400, post('Transfer-Encoding: chunked\r\n', 'zz\r\nabc\r\n0\r\n\r\n')],
  'a huge chunk': [413, post('Transfer-Encoding: chunked\r\n', 'ffffffffffffffffff\r\nabc\r\n0\r\n\r\n')],
  'a negative chunk': [400, post('Transfer-Encoding: chunked\r\n', '-1\r\nabc\r\n0\r\n\r\n')],
  'a chunk longer than it says': [400, post('Transfer-Encoding: chunked\r\n', '3\r\nabcd\r\n0\r\n\r\n')],
  'a bad chunk behind a good one': [400, post('Transfer-Encoding: chunked\r\n', '3\r\nabc\r\nzz\r\nabc\r\n0\r\n\r\n')],
  'a trailer without a colon': [400, post('Transfer-Encoding: chunked\r\n', '0\r\nX Y\r\n\r\n')],
  'a long trailer': [431, post('Transfer-Encoding: chunked\r\n', `0\r\nX: ${'y'.repeat(12000)}\r\n\r\n`)],
  'an empty length': [400, post('Content-Length:\r\n')],
  'a hexadecimal length': [400, post('Content-Length: 0x3\r\n', 'abc')],
  'no number and another length': [400, post('Content-Length: x\r\nContent-Length: 3\r\n', 'abc')],
  'no number and chunked': [400, post('Content-Length: x\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
  'cookies of 5 KB': [431, get(`Cookie: a=${'b'.repeat(5000)}\r\n`)],
  'many cookies': [431, get(`Cookie: ${'a=b; '.repeat(200)}\r\n`)],
  'a long field': [431, get(`X-A: ${'b'.repeat(12000)}\r\n`)],
  'many fields': [431, get('X-A: b\r\n'.repeat(1000))],
  'a long target': [414, `GET /api?${'a'.repeat(12000)} HTTP/1.1\r\n${HOST}\r\n`],
  'a first line without an end': [414, 'A'.repeat(12000)],
  'HTTP/0.9 by name': [505, `GET /api HTTP/0.9\r\n${HOST}\r\n`],
  'HTTP/2 without a by-your-leave': [505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  'a version of two digits': [400, `GET /api HTTP/1.15\r\n${HOST}\r\n`],
  'a field for a first line': [400, `X-A: b\r\n${get('')}`],
};

// One whole answer and nothing behind it, whoever refused.
function assertRefusal(raw, answer, status, what) {
  const { headers } = answer;
  assert.equal(answer.status, status, what);
  assert.equal(raw.received.length, 0, `${what}: ${raw.received.toString('latin1').slice(0, 100)}`);
  assert.equal(headers['content-type'], 'application/problem+json', what);
  assert.equal(headers['content-length'], String(Buffer.byteLength(answer.text)), what);
  assert.equal(headers.connection, 'close', what);
  assert.equal(headers['x-content-type-options'], 'nosniff', what);
  assert.equal(headers['cache-control'], 'no-store', what);
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin', what);
  assert.equal(headers['referrer-policy'], 'no-referrer', what);
  assert.ok(Math.abs(Date.parse(headers.date) - Date.now()) < 60000, what);
  assert.equal(headers.server, undefined, what);
  const { detail, ...problem } = JSON.parse(answer.text);
  assert.equal(problem.status, status, what);
  assert.ok(problem.title && problem.title !== 'Error', what);
  assert.ok(detail.length > 10, what);
}

scenario('a request that could be read in two ways is refused, once, and what follows it is not read', async (world) => {
  const { server } = await world.pair({ args: bucket(100000, 1, 1) });
  const cases = Object.entries(REFUSED);
  await burst(cases.length, 8, async (i) => {
    const [what, [status, bytes]] = cases[i];
    const raw = await RawConnection.open(server.port);
    await raw.send(Buffer.from(bytes + NEXT, 'latin1'));
    const answer = await raw.answer();
    await raw.ended(3000);
    assertRefusal(raw, answer, status, what);
    raw.close();
  });
  assert.equal((await server.hit('k')).remaining, 99999);
});

scenario('a refusal behind requests that were served comes once, too, and in its turn', async (world) => {
  const { server } = await world.pair({ args: bucket(100000, 1, 1) });
  const cases = Object.entries(REFUSED).filter(([, [, bytes]]) => /^\S+ \S+ HTTP/.test(bytes));
  assert.ok(cases.length > 50);
  await burst(cases.length, 8, async (i) => {
    const [what, [status, bytes]] = cases[i];
    const raw = await RawConnection.open(server.port);
    await raw.send(Buffer.from(get('') + NEXT + bytes + NEXT, 'latin1'));
    for (const path of ['/api', '/healthz']) assert.equal((await raw.answer()).status, 200, `${path} before ${what}`);
    const answer = await raw.answer();
    await raw.ended(3000);
    assertRefusal(raw, answer, status, what);
    raw.close();
  });
});

// What the words of a refusal are about, whoever refuses.
const LINE = /^(The first line is not|This is not the first line)/, FIELD = /^A header field is not/, LENGTH = /^Content-Length is not/;
const WORDS = [
  [LINE, 'GET /api\r\n'], [LINE, 'GET\r\n'], [LINE, 'GET /api HTTP/1\r\n'], [LINE, 'GET /api HTTP/1.10\r\n'], [LINE, 'GET /api FOO\r\n'],
  [LINE, 'GET /api?a=%41 HTTP/1.\r\n'], [LINE, 'hello\r\n'], [LINE, 'GET /api\r\nContent-Length: x\r\n'],
  [FIELD, 'GET /api HTTP/1.1\r\nHost localhost\r\n'], [FIELD, 'GET /api HTTP/1.1\r\nNoColon\r\nContent-Length: 3\r\n'],
  [FIELD, `GET /api?a=%41 HTTP/1.1\r\n${HOST}NoColon\r\n`], [FIELD, `GET /api HTTP/1.0\r\n${HOST}: b\r\n`], [FIELD, `POST /api HTTP/1.1\r\n${HOST}Content-Length: 3\r\nNoColon\r\n`],
  [LENGTH, `POST /api HTTP/1.1\r\n${HOST}Content-Length: x\r\n`], [LENGTH, `POST /api HTTP/1.1\r\n${HOST}Content-Length:\r\n`],
  [LENGTH, `POST /api HTTP/1.1\r\nContent-Length: 3x\r\n${HOST}`], [LENGTH, `POST /api HTTP/1.1\r\nContent-Length: 2 \r\n${HOST}`],
  [/Host/, 'GET /api HTTP/1.1\r\n'], [/chunk/, post('Transfer-Encoding: chunked\r\n', 'zz\r\n').slice(0, -2)], [/version|HTTP\/1/, 'GET /api HTTP/2.0\r\n'],
];

scenario('a refusal says what is wrong', async (world) => {
  const { server } = await world.pair();
  for (const [words, bytes] of WORDS) {
    const raw = await RawConnection.open(server.port);
    await raw.send(`${bytes}\r\n`);
    assert.match(JSON.parse((await raw.answer()).text).detail, words, bytes);
    raw.close();
  }
});

// Heads that are refused for themselves: no byte of a body has to come first.
const AT_ONCE = ['two Content-Lengths', 'an unknown Transfer-Encoding', 'a made-up Transfer-Encoding', 'NUL in the target', 'Content-Length and Transfer-Encoding', 'no Host'];

scenario('a head that is refused is answered at once, and the connection ends', async (world) => {
  const { server } = await world.pair();
  const lateness = new Lateness();
  for (const what of AT_ONCE) {
    const [status, bytes] = REFUSED[what];
    const raw = await world.raw(server);
    await raw.send(Buffer.from(bytes.slice(0, bytes.indexOf('\r\n\r\n') + 4), 'latin1'));
    assert.equal((await raw.answer({ ms: 500 + lateness.ms() })).status, status, what);
    await raw.ended(500 + lateness.ms());
    assert.equal(raw.received.length, 0, what);
  }
  lateness.stop();
});

// Refused at once, with an answer that was to come behind the body, and then something is wrong with the body, too.
const DRAINED = {
  'more than is read': 'Transfer-Encoding: chunked\r\n\r\n' + `4000\r\n${'a'.repeat(16384)}\r\n`.repeat(5),
  'a body that does not come': 'Content-Length: 10\r\n\r\nabc',
  'a chunk that does not come': 'Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n',
  'a bad chunk': 'Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nzz\r\n',
  'a long trailer': `Transfer-Encoding: chunked\r\n\r\n0\r\nX: ${'y'.repeat(12000)}\r\n`,
};
const TARGETS = { 404: 'POST /nothing', 405: 'POST /healthz', 401: 'PATCH /admin/config', 403: 'PATCH /admin/config' };

scenario('an answer cut short has each field once, and all that it was to have', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: 'sesame-sesame-sesame' } });
  const cases = Object.entries(TARGETS).flatMap((target) => Object.entries(DRAINED).map((body) => [...target, ...body]));
  await burst(cases.length, 20, async (i) => {
    const [status, target, what, body] = cases[i];
    const raw = await RawConnection.open(server.port);
    await raw.send(`${target} HTTP/1.1\r\n${HOST}${status === '403' ? 'Sec-Fetch-Site: cross-site\r\n' : ''}${body}`);
    const answer = await raw.answer();
    assertRefusal(raw, answer, /bad|long/.test(what) ? answer.status : Number(status), `${target}, ${what}`);
    assert.equal('www-authenticate' in answer.headers, status === '401', what);
    assert.equal('allow' in answer.headers, status === '405', what);
    await raw.ended(3000);
    raw.close();
  });
});

const SERVED = {
  'chunked in capitals': post('Transfer-Encoding: Chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'),
  'a GET with a body': get('Content-Length: 3\r\n') + 'abc',
  'HTTP/1.0 kept alive': 'GET /api HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'an empty value and bytes above 0x7f': get('X-A:\r\nX-B: \xff\r\n'),
  'an empty line before': `\r\n${get('')}`,
  'another method': `FOO /api HTTP/1.1\r\n${HOST}\r\n`,
  'spaces at the end of values': `GET /api HTTP/1.1\r\nHost: localhost \t\r\nX-A: b  \r\nX-B: \t \r\nConnection: keep-alive \r\n\r\n`,
  'a Host with a port': 'GET /api HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n',
};

scenario('what is merely unusual is served, whole or byte by byte, and the connection goes on', async (world) => {
  const { server } = await world.pair({ args: bucket(100000, 1, 1) });
  for (const [what, bytes] of Object.entries(SERVED)) {
    for (const size of [10000, 1]) {
      const raw = await RawConnection.open(server.port);
      const all = Buffer.from(bytes + NEXT, 'latin1');
      for (let at = 0; at < all.length; at += size) await raw.send(all.subarray(at, at + size));
      assert.equal((await raw.answer()).status, 200, what);
      assert.equal((await raw.answer()).status, 200, `after ${what}`);
      raw.close();
    }
  }
});

scenario('every answer, its own and those for broken requests, has no Server field; ours forbid sniffing', async (world) => {
  const { server } = await world.pair();
  for (const bytes of [get(''), get('X-A : b\r\n'), post('Expect: x\r\n'), 'hello\r\n\r\n']) {
    const raw = await RawConnection.open(server.port);
    await raw.send(bytes);
    const { headers } = await raw.answer();
    assert.equal(headers.server, undefined);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['cache-control'], 'no-store');
    assert.ok(headers.date);
    raw.close();
  }
});

scenario('case HTTP-05: 100 Continue at once when the body is wanted, else the answer at once', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: 'sesame-sesame-sesame' } });
  const ask = async (fields) => {
    const raw = await world.raw(server);
    const started = performance.now();
    await raw.send(`PATCH /admin/policies/default HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nExpect: 100-continue\r\n${fields}\r\n`);
    await until('an answer', () => raw.received.length > 0, 3000);
    assert.ok(performance.now() - started < 700, 'no second of waiting');
    return raw;
  };
  const token = 'Authorization: Bearer sesame-sesame-sesame\r\n';
  const wanted = await ask(`${token}Content-Length: 15\r\n`);
  assert.match(wanted.received.toString(), /^HTTP\/1\.1 100 /);
  await wanted.send('{"capacity":33}');
  assert.equal((await wanted.answer()).status, 200);
  assert.equal((await (await ask('Content-Length: 15\r\n')).answer()).status, 401);
  const spaced = await world.raw(server);
  await spaced.send(`PATCH /admin/policies/default HTTP/1.1\r\n${HOST}Content-Type: application/json \r\nExpect: 100-continue \r\nAuthorization: Bearer sesame-sesame-sesame \t \r\nContent-Length: 15\r\n\r\n`);
  await until('100 Continue', () => spaced.received.length > 0, 3000);
  assert.match(spaced.received.toString(), /^HTTP\/1\.1 100 /);
  await spaced.send('{"capacity":34}');
  assert.equal((await spaced.answer()).status, 200);
  assert.equal((await (await ask(`${token}Content-Length: 2000000\r\n`)).answer()).status, 413);
});
