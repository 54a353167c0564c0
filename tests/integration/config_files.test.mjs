// Settings from files: --config and --seed-config.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { assertRefused } from '../harness/decision.mjs';
import { BOUND_MS, assertPatched, capacity, document, reset, version } from '../harness/instances.mjs';
import { scenario } from '../harness/scenario.mjs';
import { runProgram } from '../harness/server.mjs';
import { until } from '../harness/time.mjs';

scenario('--config: the file is the only source, SIGHUP reads it again, and a bad file changes nothing', async (world) => {
  const redis = await world.redis();
  const path = join(world.directory(), 'policies.json');
  const write = (text) => writeFileSync(path, text);
  const policies = (size) => JSON.stringify({ policies: { default: { capacity: size }, other: { paths: ['/api/other'], capacity: 3 } } });
  const elsewhere = await world.server({ redis });
  await assertPatched(elsewhere, { capacity: 77 });
  write(policies(20));
  const server = await world.server({ redis, args: ['--config', path] });
  assert.equal(await capacity(server), 20, 'the document in Redis is not looked at');
  for (const refused of [
    await server.patch({ capacity: 21 }), await reset(server),
    await server.request('/admin/config', { method: 'PUT', body: await document(server) }),
  ]) assertRefused(refused, 409, /--config.*SIGHUP/);
  const form = await server.request('/config', { method: 'POST', body: 'capacity=9', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
  assert.deepEqual([form.status, form.json.success], [409, false]);
  assert.match(form.json.error, /--config/);

  write(policies(30));
  process.kill(server.pid, 'SIGHUP');
  await until('the new file', async () => (await capacity(server)) === 30, 1000);
  assert.equal(await version(server), 2);
  assert.equal((await server.hit('k')).number('X-RateLimit-Limit'), 30);
  write('{"policies":{"default":{"capacity":0}}}');
  process.kill(server.pid, 'SIGHUP');
  await until('words', () => /SIGHUP: .*policies\.json: policies\.default\.capacity: .*whole number from 1/.test(server.log), 1000);
  assert.equal(await capacity(server), 30);
  rmSync(path);
  assert.equal((await run('mkfifo', [path])).code, 0);
  process.kill(server.pid, 'SIGHUP');
  await until('words', () => /SIGHUP: .*policies\.json: must be a regular file/.test(server.log), 1000);
  process.kill(elsewhere.pid, 'SIGHUP');
  await until('words', () => /SIGHUP: there is no file/.test(elsewhere.log), 1000);
  assert.deepEqual([await capacity(elsewhere), await capacity(server)], [77, 30]);
});

scenario('--seed-config: settings to begin with; live changes win, until they are deleted', async (world) => {
  const redis = await world.redis();
  const path = join(world.directory(), 'seed.json');
  writeFileSync(path, '{"policies":{"default":{"capacity":20}}}');
  const args = ['--seed-config', path];
  const server = await world.server({ redis, args });
  assert.equal(await capacity(server), 20);
  await assertPatched(server, { capacity: 21 });
  const second = await world.server({ redis, args });
  assert.equal(await capacity(second), 21);
  assert.match(second.log, /overrides --seed-config .*seed\.json/);
  assert.equal((await reset(second)).status, 200);
  await until('the seed', async () => (await capacity(server)) === 20, BOUND_MS);
});

scenario('a bad file or two sources at the start: one line, exit 2', async (world) => {
  const path = join(world.directory(), 'policies.json');
  for (const [text, words] of [
    ['{"policies":{"default":{"capacity":0}}}', /policies\.default\.capacity: capacity must be .*1 to 1000000000; got 0/],
    ['{"policies":{"default":{"kapacity":1}}}', /kapacity/], ['{"policies":{}}', /default must always exist/], ['', /not valid JSON/],
    ['{"policies":{"default":{}},"policies":{"default":{}}}', /not valid JSON/], [' '.repeat(1024 * 1024 + 1), /at most 1048576 bytes/],
  ]) {
    writeFileSync(path, text);
    for (const option of ['--config', '--seed-config']) {
      const { code, stderr } = await runProgram([option, path]);
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`^ratelimitd: ${option} ".*policies\\.json": [^\\n]*\\n$`));
      assert.match(stderr, words);
    }
  }
  writeFileSync(path, '{"policies":{"default":{}}}');
  for (const args of [['--config', path, '--seed-config', path], ['--config', path, '--capacity', '5'], ['--seed-config', path, '--on-redis-error', 'open']]) {
    const { code, stderr } = await runProgram(args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, /^ratelimitd: --(config|seed-config) and --[a-z-]+ [^\n]*\n$/);
  }
  assert.equal((await runProgram(['--config', join(path, 'absent')])).code, 2);
});
