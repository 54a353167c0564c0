// Text that clients chose: what becomes of it in answers and in the log, and that no secret gets there.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { bucket } from '../harness/decision.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { until } from '../harness/time.mjs';

const HOSTILE = [
  '<img src=x onerror=alert(1)>', '\'"><svg/onload=alert(1)>', '</script><script>alert(1)</script>', 'javascript:alert(1)', '{{7*7}}', '${7*7}',
  '\u2028\u2029', '\ud83d\ude00', '\u0000', '\u001b[2J', '\u0085', '"},"allowed":true,{"', '\\', '\r\nX-Injected: yes', '<!--', ']]>', 'a\tb', '\u202e',
];

// JSON in the right type, which no browser takes for a page, and without a byte that could begin a tag or end a line.
function assertInert(response, what) {
  assert.match(response.headers['content-type'] ?? '', /^application\/(problem\+)?json$/, what);
  assert.equal(response.headers['x-content-type-options'], 'nosniff', what);
  assert.equal(response.headers['x-injected'], undefined, what);
  assert.doesNotMatch(response.text.replace(/\n$/, ''), /[<\u0000-\u001f\u007f-\u009f\u2028\u2029]/, what);
  return response.json;
}

scenario('case SEC-04: hostile keys come back as text, wherever they come back', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 100) }); // no key expires meanwhile
  for (const text of HOSTILE) {
    const key = encodeURIComponent(text);
    const what = JSON.stringify(text);
    const ask = async (path, options) => assertInert(await server.request(path, options), `${what} at ${path}`);
    assert.equal((await ask(`/check?policy=default&key=${key}`)).key, text);
    assert.equal((await ask(`/check?policy=default&key=${key}&cost=10`)).key, text, 'a refusal');
    await ask(`/check?policy=${key}&key=k`);
    await ask(`/check?policy=default&key=k&cost=${key}`);
    await ask(`/check?policy=default&key=k&${key}=1`);
    await ask(`/api/token-bucket?user=${key}`);
    await ask(`/nothing/${key}`);
    await ask('/nothing', { headers: { 'User-Agent': text.replace(/[^\x20-\x7e]/g, '?') } });
    const shown = await ask(`/admin/keys?policy=default&key=${key}`);
    assert.equal(shown.key, text);
    await ask(`/admin/keys?policy=${key}`);
    await ask(`/admin/keys?policy=default&key=k&${key}=x`);
    await ask(`/admin/policies/${key}`);
    await ask('/admin/policies/default', { method: 'PATCH', body: { [text]: 1 } });
    await ask('/admin/policies/default', { method: 'PATCH', body: { key: text, algorithm: text } });
    await ask(`/lab/state?policy=default&user=${key}`);
    await ask('/lab/runs', { method: 'POST', body: { policy: text, user: text } });
    await ask('/config', { method: 'POST', body: `capacity=${key}&${key}=1`, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    await ask('/config', { method: 'POST', body: '{}', headers: { 'Content-Type': text.replace(/[^\x20-\x7e]/g, '?') } });
    await ask('/admin/config', { method: 'PATCH', body: '{}', headers: { 'Content-Type': 'application/json', 'If-Match': text.replace(/[^\x20-\x7e]/g, '?') } });
  }
  let pages = [];
  for (let cursor = '0'; ; ) {
    const page = assertInert(await server.request(`/admin/keys?policy=default&cursor=${cursor}`), 'a page of keys');
    pages = pages.concat(page.keys.map((each) => each.key));
    cursor = page.cursor;
    if (cursor === '0') break;
  }
  for (const text of HOSTILE) assert.ok(pages.includes(text), JSON.stringify(text));
});

scenario('the page forbids what a script of somebody else\'s would need', async (world) => {
  const { server } = await world.pair();
  const { headers } = await server.request('/');
  const policy = headers['content-security-policy'];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe|data:|https?:|\*/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
});

scenario('a head that could be read in two ways is refused', async (world) => {
  const { server } = await world.pair();
  const heads = ['X: a\r:n\n  b: c\r\n', 'X: a\r:n\n b\r\n', 'X: a\n:n\n b\r\n', 'X: a\n b\r\n', ': b\r\n', 'X: y\0Host: b\r\n', 'X: y\0\r\n', '\0X: y\r\n', 'X\0: y\r\n', 'X: a\rY: b\r\n'];
  for (const fields of heads) {
    const { status } = await rawExchange(server.port, `GET /healthz HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
    assert.equal(status, 400, JSON.stringify(fields));
  }
});

// --- the log ---

const LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (ERROR|WARN|INFO|DEBUG) [\x20-\x7e]*$/;

// Every way for a client to put text in front of us, percent-encoded where bytes could not be sent as they are.
async function shout(server) {
  const raw = (text) => rawExchange(server.port, Buffer.from(text, 'latin1')).catch(() => null);
  const marks = ['%0aFORGED', '%0d%0aFORGED', '%1b[2JFORGED', '%00FORGED', '%c2%85FORGED', '%e2%80%a8FORGED', '%ff%feFORGED', `${'x'.repeat(20000)}FORGED`];
  for (const mark of marks) {
    for (const path of [`/check?policy=default&key=${mark}`, `/check?policy=${mark}&key=k`, `/nothing/${mark}`, `/admin/${mark}`, `/admin/policies/${mark}`, `/api/${mark}?user=${mark}`]) {
      await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    }
    const bytes = decodeURIComponent(mark.replace(/%(ff|fe|c2%85|e2%80%a8)/g, '?')).replace(/[\r\n]/g, '\n ').slice(0, 20010);
    for (const name of ['User-Agent', 'X-Forwarded-For', 'Forwarded', 'Referer', 'Origin', 'Host', 'Authorization', 'If-Match', 'Sec-Fetch-Site', 'X-Real-IP', 'Content-Type']) {
      await raw(`GET /admin/config HTTP/1.1\r\n${name === 'Host' ? '' : 'Host: localhost\r\n'}${name}: a${bytes}\x85\xff\x1b[31m\r\nConnection: close\r\n\r\n`);
    }
    await raw(`FO\x1b[O${bytes.slice(0, 200).replace(/\s/g, '')} /admin/config HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const body = JSON.stringify({ [`a${bytes}\u0085\n`]: 1, policies: { [bytes]: {} } });
    await server.request('/admin/config', { method: 'PATCH', body: Buffer.from(body), headers: { 'Content-Type': 'application/json' } });
    await server.request('/lab/runs', { method: 'POST', body: { policy: bytes, user: bytes } });
  }
}

for (const format of ['text', 'json']) {
  scenario(`case SEC-10: one line an event, whatever clients send (${format})`, async (world) => {
    const { server } = await world.pair({ args: ['--log-level', 'debug', '--log-format', format] });
    await shout(server);
    assert.equal((await server.request('/healthz')).status, 200);
    assert.equal((await server.settings()).capacity, 10);
    const lines = server.log.split('\n');
    assert.equal(lines.pop(), '', 'the last line is whole');
    assert.ok(lines.length > 100, `${lines.length} lines`);
    for (const line of lines) {
      assert.ok(line.length <= 2048, `${line.length} bytes`);
      if (format === 'text') assert.match(line, LINE);
      else {
        assert.match(line, /^[\x20-\x7e]+$/);
        assert.deepEqual(Object.keys(JSON.parse(line)), ['time', 'level', 'message']);
      }
      assert.doesNotMatch(line, /^FORGED/);
    }
  });
}

scenario('keys and queries, which may be secrets, stay out of the log', async (world) => {
  const { server } = await world.pair({ args: ['--log-level', 'debug'] });
  const SECRET = 'api-key-of-somebody-4711';
  await server.hit(SECRET);
  await server.hit(SECRET, { cost: 99 });
  await server.request(`/api/token-bucket?user=${SECRET}`);
  await server.request('/api', { headers: { 'X-API-Key': SECRET, Cookie: `s=${SECRET}`, Authorization: `Bearer ${SECRET}` } });
  await server.request(`/admin/keys?policy=default&key=${SECRET}`);
  await server.request(`/admin/keys?policy=default&key=${SECRET}`, { method: 'DELETE' });
  await server.request(`/admin/config?${SECRET}=1`, { headers: { Origin: 'http://evil.example' } });
  assert.ok(!server.log.includes(SECRET), server.log);
});

// --- secrets ---

scenario('no token and no password is told: not in the log, on a page, in an answer, in the arguments', async (world) => {
  const secrets = { admin: 'admin-token-5f1e8a', check: 'check-token-9c2b7d', redis: 'redis-password-3a6f' };
  const directory = world.directory();
  const file = (name) => {
    const path = join(directory, name);
    writeFileSync(path, `${secrets[name]}\n`, { mode: 0o600 });
    return path;
  };
  const redis = await world.redis();
  await redis.command('CONFIG', 'SET', 'requirepass', secrets.redis);
  const server = await world.server({
    redis,
    args: ['--log-level', 'debug', '--admin-token-file', file('admin'), '--check-token-file', file('check'), '--redis-password-file', file('redis')],
  });
  const admin = { headers: { Authorization: `Bearer ${secrets.admin}` } };
  const answers = [];
  const ask = async (path, options = {}) => answers.push(await server.request(path, options));
  await ask('/check?policy=default&key=k');
  assert.equal(answers[0].json.source, 'redis', 'the password was right');
  const paths = ['/', '/admin/config', '/admin/policies/default', '/admin/keys?policy=default&key=k', '/admin/keys?policy=default', '/metrics', '/healthz', '/readyz', '/algorithms', '/openapi.json', '/lab/state?policy=default&user=u', '/nothing'];
  for (const path of paths) {
    await ask(path);
    await ask(path, admin);
  }
  await ask('/admin/config', { headers: { Authorization: `Bearer ${secrets.admin}x` } });
  await ask('/check?policy=default&key=k', { headers: { Authorization: `Bearer ${secrets.check}` } });
  await ask('/admin/policies/default', { method: 'PATCH', body: { capacity: 0 }, ...admin });
  await redis.command('CONFIG', 'SET', 'requirepass', 'another');
  await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until('the password to be refused', () => /WRONGPASS|AUTH/.test(server.log));
  await ask('/check?policy=default&key=k');
  await ask('/readyz');
  const everything = [server.log, server.child.stdout, server.child.name, ...answers.map((each) => each.text + JSON.stringify(each.rawHeaders))];
  for (const [name, secret] of Object.entries(secrets)) {
    for (const text of everything) assert.ok(!text.includes(secret), `the secret of ${name} in ${text.slice(0, 200)}`);
  }
});
