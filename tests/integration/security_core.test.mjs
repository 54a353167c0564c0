// What a core dump would hold: all memory of the process but what it has asked to leave out. Tokens and the Redis password
// are not in it, however they came and whatever was done with them.

import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { burst } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { program } from '../harness/server.mjs';
import { until } from '../harness/time.mjs';

const PIECE = 1 << 20;
const OVERLAP = 128;

// [from, to) of each mapping with something in it that is written to core files.
function mappings(pid) {
  return readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).filter((text) => {
    const flags = text.match(/^VmFlags: (.*)$/m)[1].split(' ');
    return flags.includes('rd') && !flags.includes('dd') && !flags.includes('io') && !/^Rss:\s+0 kB/m.test(text);
  }).map((text) => text.match(/^([0-9a-f]+)-([0-9a-f]+)/).slice(1).map((hex) => parseInt(hex, 16)));
}

// How often each of `texts` is in the memory of a process.
function inMemory(pid, texts) {
  const counts = Object.fromEntries(Object.keys(texts).map((name) => [name, 0]));
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  for (const [from, to] of mappings(pid)) {
    for (let at = from; at < to; at += PIECE) {
      const bytes = Buffer.alloc(Math.min(PIECE + OVERLAP, to - at));
      let got = 0;
      try {
        got = readSync(memory, bytes, 0, bytes.length, at);
      } catch {
        continue; // of the kernel's own pages some cannot be read
      }
      for (const [name, text] of Object.entries(texts)) counts[name] += bytes.subarray(0, got).includes(text) ? 1 : 0;
    }
  }
  closeSync(memory);
  return counts;
}

const SECRETS = {
  admin: 'admin-QWERTYUIOPASDFGHJKLZXCVBNM', check: 'check-MNBVCXZLKJHGFDSAPOIUYTREWQ', password: 'password-ASDFGHJKLQWERTYUIOP',
};
const NONE = { admin: 0, check: 0, password: 0 };

const sanitized = async () => /__(asan|tsan|ubsan)_/.test((await run('readelf', ['-W', '--dyn-syms', program])).stdout);

// Every way in which the server comes to touch them: calls with right and wrong tokens, new connections to Redis.
async function use(server, redis, admin) {
  const call = (token, options) => server.request('/admin/policies/default', { headers: { Authorization: `Bearer ${token}` }, ...options });
  await burst(20, 4, async (i) => {
    assert.equal((await call(admin)).status, 200);
    assert.equal((await call(admin, { agent: false, method: 'PATCH', body: { capacity: 20 + i } })).status, 200);
    assert.equal((await server.hit('k')).status, 200);
  });
  assert.equal((await call(`${admin}x`)).status, 401);
  await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until('decisions from Redis', async () => (await server.hit('again')).json.source === 'redis');
  assert.equal((await call(admin)).status, 200);
}

const FROM = {
  environment: () => ({
    env: { RATELIMITD_ADMIN_TOKEN: SECRETS.admin, RATELIMITD_CHECK_TOKEN: SECRETS.check, REDIS_PASSWORD: SECRETS.password },
  }),
  files(world) {
    const directory = world.directory();
    const write = (name) => (writeFileSync(join(directory, name), `${SECRETS[name]}\n`), join(directory, name));
    return { args: ['--admin-token-file', write('admin'), '--check-token-file', write('check'), '--redis-password-file', write('password')] };
  },
};

for (const [source, give] of Object.entries(FROM)) {
  scenario(`tokens and password from ${source} are in no core dump, nor in /proc`, async (world) => {
    const redis = await world.redis();
    await redis.command('CONFIG', 'SET', 'requirepass', SECRETS.password);
    const { args = [], env } = give(world);
    const server = await world.server({ redis, args: ['--key-prefix', 'to-be-found:', ...args], env });
    await use(server, redis, SECRETS.admin);
    for (const name of ['environ', 'cmdline']) {
      const text = readFileSync(`/proc/${server.pid}/${name}`, 'latin1');
      for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret), name);
    }
    if (await sanitized()) return; // it keeps freed memory and old stacks, which is its purpose
    const { probe, ...found } = inMemory(server.pid, { ...SECRETS, probe: 'to-be-found:' });
    assert.ok(probe > 0, 'memory is read');
    assert.deepEqual(found, NONE);
  });
}

scenario('a password in REDIS_URL and a token made at start are in no core dump', async (world) => {
  const redis = await world.redis();
  await redis.command('CONFIG', 'SET', 'requirepass', SECRETS.password);
  const env = { REDIS_URL: `unix://:${SECRETS.password}@${redis.socket}` };
  const server = await world.server({ args: ['--trusted-proxy', '10.0.0.0/8'], env });
  const [, made] = await server.child.output(/Admin token of this run: ([0-9a-f]{64}) /);
  await use(server, redis, made);
  assert.ok(!readFileSync(`/proc/${server.pid}/environ`, 'latin1').includes(SECRETS.password));
  if (await sanitized()) return;
  assert.deepEqual(inMemory(server.pid, { made, password: SECRETS.password }), { made: 0, password: 0 });
});
