// Instructions that a decision's script costs Redis: `node tests/bench/script_instructions.mjs [ALGORITHM...]`, with the
// guide's token bucket (bucket.lua) and a script that does nothing beside it. Measures no time.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { RedisClient } from '../harness/resp.mjs';
import { repository } from '../harness/server.mjs';
import { Callgrind } from './callgrind.mjs';

const CALLS = 3000;
const AT_ONCE = 60;
const KEYS = 1000;
const UNIT = 1000000;
const DAY = 86400 * UNIT;

// Parameters that admit all, and such that admit the first; in millionths, as the scripts take them.
const PARAMETERS = {
  token_bucket: { admitted: [1000000 * UNIT, 1000 * UNIT, UNIT], denied: [UNIT, 1, 3600 * UNIT] },
  fixed_window: { admitted: [1000000 * UNIT, DAY, 0], denied: [UNIT, DAY, 0] },
  sliding_window_log: { admitted: [100000 * UNIT, DAY, 0], denied: [UNIT, DAY, 0] },
  sliding_window_counter: { admitted: [1000000 * UNIT, DAY, UNIT], denied: [UNIT, DAY, UNIT] },
  leaky_bucket: { admitted: [1000 * UNIT, UNIT, 0], denied: [UNIT, 1, 0] },
};

// The scripts as they are built in, from the C source that the build makes of them.
async function embedded(algorithm) {
  const { code, stdout, stderr } = await run('sh', [`${repository}src/tools/embed_scripts.sh`, `${repository}lua`, algorithm]);
  if (code !== 0) throw new Error(stderr);
  const lines = stdout.split(`{"${algorithm}",\n`)[1].split('\n  },')[0].split('\n');
  return lines.map((line) => JSON.parse(line.trim().replaceAll('\\?', '?'))).join('');
}

async function startRedis(directory) {
  const socket = join(directory, 'redis.sock');
  // hz 1: how long valgrind takes must not decide how much housekeeping is counted.
  const args = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', directory, '--hz', '1'];
  const counted = await Callgrind.start('redis-server', args, /Ready to accept connections/i);
  return { counted, client: await RedisClient.connect({ path: socket }) };
}

// `words(i)`: what follows the digest in call i.
async function callsOf({ counted, client }, text, words) {
  const sha = await client.command('SCRIPT', 'LOAD', text);
  const calls = async () => {
    for (let i = 0; i < CALLS; i += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, j) => client.command('EVALSHA', sha, ...words(i + j))));
    }
  };
  await calls();
  return Math.round(await counted.count(calls) / CALLS);
}

async function main(algorithms) {
  const directory = mkdtempSync(join(tmpdir(), 'ratelimitd-redis-'));
  const redis = await startRedis(directory);
  const rows = {};
  const ours = (params, key) => (i) => [1, key(i), UNIT, ...params];
  for (const algorithm of algorithms) {
    const text = await embedded(algorithm);
    const { admitted, denied } = PARAMETERS[algorithm];
    rows[algorithm] = {
      admitted: await callsOf(redis, text, ours(admitted, (i) => `rl:default:${algorithm}:{user:k${i % KEYS}}`)),
      denied: await callsOf(redis, text, ours(denied, () => `rl:default:${algorithm}:{user:hot}`)),
    };
  }
  const guide = readFileSync(new URL('bucket.lua', import.meta.url), 'utf8');
  const theirs = (params, key) => (i) => [1, key(i), ...params, Date.now() / 1000];
  rows["the guide's token bucket"] = {
    admitted: await callsOf(redis, guide, theirs([1000000, 1000, 1], (i) => `rate_limit:k${i % KEYS}`)),
    denied: await callsOf(redis, guide, theirs([1, 1, 86400], () => 'rate_limit:hot')),
  };
  rows['return 1'] = { admitted: await callsOf(redis, 'return 1', () => [0]) };
  console.table(rows);
  redis.client.close();
  await redis.counted.close();
  rmSync(directory, { recursive: true, force: true });
}

await main(process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PARAMETERS));
