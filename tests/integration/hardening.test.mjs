// What protects the process from outside its own code: how it was linked, what others on the machine may see of it.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import test from 'node:test';

import { childrenOf, run } from '../harness/child.mjs';
import { scenario } from '../harness/scenario.mjs';
import { Server, program, runProgram } from '../harness/server.mjs';

const readelf = async (...options) => {
  const { code, stdout, stderr } = await run('readelf', ['-W', ...options, program]);
  assert.equal(code, 0, stderr);
  return stdout;
};

test('the program is linked to withstand what it can', async () => {
  const segments = await readelf('-l');
  const stack = segments.match(/GNU_STACK.*/)[0];
  assert.doesNotMatch(stack, /RWE/, 'no executable stack');
  assert.doesNotMatch(segments, /^\s+LOAD .*RWE/m, 'nothing both writable and executable');
  assert.match(await readelf('-h'), /Type:\s+DYN/, 'position independent');
  const dynamic = await readelf('-d');
  assert.doesNotMatch(dynamic, /RPATH|RUNPATH|TEXTREL/);
  const symbols = await readelf('--dyn-syms');
  if (/__(asan|tsan|ubsan)_/.test(symbols)) return; // a sanitizer's build has its own guards
  assert.match(segments, /GNU_RELRO/);
  assert.match(dynamic, /BIND_NOW|FLAGS_1.*NOW/, 'full RELRO');
  assert.match(symbols, /__stack_chk_fail/, 'stack protector');
  assert.match(symbols, /__\w+_chk/, 'FORTIFY');
});

test('no option takes a secret itself, since everybody may read arguments', async () => {
  const { stdout } = await runProgram(['--help']);
  const secret = [...stdout.matchAll(/^\s+--([a-z-]*(?:token|password|secret)[a-z-]*)/gm)].map((match) => match[1]);
  assert.ok(secret.length >= 3, secret.join());
  for (const name of secret) assert.match(name, /-file$/);
});

scenario('the private Redis listens on nothing but a socket of its own user, and is told no secret', async (world) => {
  const secrets = { RATELIMITD_ADMIN_TOKEN: 'admin-token-5f1e8a', RATELIMITD_CHECK_TOKEN: 'check-token-9c2b7d' };
  const server = await Server.start({ args: ['--with-redis'], env: secrets });
  world.owns(() => server.close());
  const family = (pid) => [pid, ...childrenOf(pid).flatMap(family)];
  const redis = family(server.pid).find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('redis-server'));
  assert.ok(redis, 'redis-server runs');
  const environment = readFileSync(`/proc/${redis}/environ`, 'utf8');
  for (const secret of Object.values(secrets)) assert.ok(!environment.includes(secret));
  const inodes = readdirSync(`/proc/${redis}/fd`).length;
  assert.ok(inodes < 32, `${inodes} descriptors`);
  const path = readFileSync('/proc/net/unix', 'utf8').match(/\S*ratelimitd-\w+\/redis\.sock/g);
  const own = path.filter((each) => statSync(each, { throwIfNoEntry: false }));
  assert.ok(own.length > 0);
  for (const each of own) assert.equal(statSync(each).mode & 0o077, 0, each);
});

scenario('without options it listens on loopback alone', async (world) => {
  const { server } = await world.pair();
  assert.equal(server.host, '127.0.0.1');
  const hex = server.port.toString(16).toUpperCase().padStart(4, '0');
  const listening = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'))
    .map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === '0A' && fields[1]?.endsWith(`:${hex}`));
  assert.deepEqual(listening.map((fields) => fields[1]), [`0100007F:${hex}`]);
});
