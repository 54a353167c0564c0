// HTTPS: certificate and key, their replacement, and answers that are written past the library.

import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Child, run } from '../harness/child.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment, program, runProgram } from '../harness/server.mjs';
import { until } from '../harness/time.mjs';

async function makePair(directory, name) {
  const pair = { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) };
  const made = await run('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', pair.key, '-out', pair.cert,
    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
  ]);
  assert.equal(made.code, 0, made.stderr);
  return pair;
}

async function startServer(world, pair, args = []) {
  const child = new Child(program, ['--port', '0', '--threads', '2', '--with-redis', '--tls-cert', pair.cert, '--tls-key', pair.key, ...args], { env: cleanEnvironment() });
  world.owns(async () => assert.equal((await child.end('SIGTERM')).code, 0, child.stderr));
  const [, url] = await child.output(/listening on (https:\/\/\S+) /);
  return { child, url };
}

async function curl(trusted, url, ...args) {
  const { code, stdout } = await run('curl', ['-s', '-m', '8', '--cacert', trusted, '-w', '\n%{http_code} %{time_total}', ...args, url]);
  const [, text, status, seconds] = stdout.match(/^(.*)\n(\d{3}) ([\d.]+)$/s);
  return { code, text, status: Number(status), seconds: Number(seconds) };
}

scenario('HTTPS serves decisions; too large bodies and heads are answered and curl is content', async (world) => {
  const pair = await makePair(world.directory(), 'a');
  const { url } = await startServer(world, pair);
  const decision = await curl(pair.cert, `${url}/api`);
  assert.deepEqual([decision.code, decision.status, JSON.parse(decision.text).allowed], [0, 200, true]);
  const large = join(world.directory(), 'large');
  assert.equal((await run('truncate', ['-s', '3000000', large])).code, 0);
  for (const fields of [[], ['-H', 'Expect:'], ['-H', 'Transfer-Encoding: chunked', '-H', 'Expect:']]) {
    const refused = await curl(pair.cert, `${url}/api`, '--data-binary', `@${large}`, ...fields);
    assert.deepEqual([refused.code, refused.status], [0, 413], fields.join());
    assert.ok(refused.seconds < 2);
  }
  assert.equal((await curl(pair.cert, `${url}/api`, '-H', `X-A: ${'a'.repeat(7500)}`)).status, 431);
  for (const [status, field] of [[400, 'Content-Length: x'], [431, `Cookie: a=${'b'.repeat(5000)}`], [431, `X-A: ${'a'.repeat(9000)}`]]) {
    const refused = await curl(pair.cert, `${url}/api`, '-H', field);
    assert.deepEqual([refused.code, refused.status, JSON.parse(refused.text).status], [0, status, status]);
  }
  const page = await curl(pair.cert, `${url}/`);
  assert.match(page.text, /<!doctype html>/i);
  assert.equal((await run('curl', ['-s', '-m', '5', url.replace('https', 'http')])).code !== 0, true, 'plain HTTP is not served');
});

scenario('SIGHUP takes a new pair; a bad one is told of and the old one stays', async (world) => {
  const directory = world.directory();
  const [first, second, used] = [await makePair(directory, 'a'), await makePair(directory, 'b'), await makePair(directory, 'used')];
  const take = (cert, key) => (copyFileSync(cert, used.cert), copyFileSync(key, used.key));
  take(first.cert, first.key);
  const { child, url } = await startServer(world, used);
  assert.equal((await curl(first.cert, `${url}/healthz`)).status, 200);
  take(second.cert, first.key);
  child.signal('SIGHUP');
  await until('words of the bad pair', () => /SIGHUP: certificate and key stay/.test(child.stderr), 3000);
  assert.equal((await curl(first.cert, `${url}/healthz`)).status, 200);
  take(second.cert, second.key);
  child.signal('SIGHUP');
  await until('words of the good pair', () => /SIGHUP: certificate and key read again/.test(child.stderr), 3000);
  assert.equal((await curl(second.cert, `${url}/healthz`)).status, 200);
  assert.notEqual((await curl(first.cert, `${url}/healthz`)).code, 0);
});

async function makePipe(path) {
  assert.equal((await run('mkfifo', [path])).code, 0);
  return path;
}

scenario('SIGHUP with a pipe in place of a file waits for nobody: the old pair stays, and serves', async (world) => {
  const directory = world.directory();
  const [kept, used] = [await makePair(directory, 'a'), await makePair(directory, 'used')];
  const restore = () => (copyFileSync(kept.cert, used.cert), copyFileSync(kept.key, used.key));
  restore();
  const { child, url } = await startServer(world, used);
  for (const [option, file] of [['--tls-cert', used.cert], ['--tls-key', used.key]]) {
    restore();
    rmSync(file);
    await makePipe(file);
    child.signal('SIGHUP');
    const words = new RegExp(`SIGHUP: certificate and key stay as they were: ${option} \\S+: must be a regular file`);
    await until(`words of ${option}`, () => words.test(child.stderr), 3000);
    assert.equal((await curl(kept.cert, `${url}/healthz`)).status, 200);
    rmSync(file);
  }
  assert.equal((await child.end('SIGTERM')).code, 0);
});

scenario('a pair that cannot serve ends the start with one line', async (world) => {
  const directory = world.directory();
  const [one, other] = [await makePair(directory, 'a'), await makePair(directory, 'b')];
  const pipe = await makePipe(join(directory, 'pipe'));
  const large = join(directory, 'large');
  assert.equal((await run('truncate', ['-s', '1048577', large])).code, 0);
  const cases = [
    [1, /is not the key of the certificate/, one.cert, other.key], [1, /cannot be read/, join(directory, 'none'), one.key],
    [1, /--tls-cert .*must be a regular file/, pipe, one.key], [1, /--tls-key .*must be a regular file/, one.cert, pipe],
    [1, /--tls-key .*at most 1048576 bytes/, one.cert, large], [1, /--tls-key .*no key/, one.cert, one.cert], [1, /--tls-cert .*no certificate/, one.key, one.key],
  ];
  for (const [code, words, cert, key] of cases) {
    const result = await runProgram(['--port', '0', '--tls-cert', cert, '--tls-key', key]);
    assert.deepEqual([result.code, result.stderr.trim().split('\n').length], [code, 1], result.stderr);
    assert.match(result.stderr, words);
  }
  for (const [name, file] of [['--tls-cert', one.cert], ['--tls-key', one.key]]) {
    const result = await runProgram(['--port', '0', name, file]);
    assert.equal(result.code, 2);
    assert.match(result.stderr, /needs --tls-/);
  }
});
