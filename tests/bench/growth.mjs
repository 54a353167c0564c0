// make bench-scale: what a decision costs as keys, connections, threads and policies grow. Everything is started for
// itself, measured in rounds and stopped; prints the best of the rounds (what else runs on a machine only adds), and writes
// it and the plots of it for the documents.
//
//   BENCH_ROUNDS=3 BENCH_SECONDS=2 BENCH_ONLY=keys,policies node tests/bench/growth.mjs
//
// Times are CPU by the operating system's accounting; policies are counted in instructions, which a busy machine does
// not change.

import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';

import { World } from '../harness/scenario.mjs';
import { repository } from '../harness/server.mjs';
import { FIGURES, PLOTS, plots } from './growth_plots.mjs';
import { instructionsOf } from './instructions.mjs';
import { measure } from './measure.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS || 3);
const SECONDS = Number(process.env.BENCH_SECONDS || 2);
const LIMIT = { algorithm: 'token_bucket', capacity: 2_000_000, refill_rate: 1, refill_interval: 150 };
const USUAL = { keys: 10_000, connections: 64, threads: 1 };
const BATCH = 10_000;


function policiesFile(world, count) {
  const others = Array.from({ length: count - 1 }, (_, i) => [`p${i + 1}`, { ...LIMIT, paths: [`/api/p${i + 1}`] }]);
  const all = { default: { ...LIMIT, key: 'user:{query.user|ip}', paths: ['/api'] }, ...Object.fromEntries(others) };
  const file = join(world.directory(), 'policies.json');
  writeFileSync(file, JSON.stringify({ policies: all }));
  return file;
}

async function contender(world, redis, threads, args = []) {
  const server = await world.server({
    redis, threads, args: ['--config', policiesFile(world, 1), '--log-level', 'error', '--redis-timeout', '5000', ...args],
  });
  return { pid: server.pid, port: server.port, strays: 0, path: () => ['/api?user=k', ''] };
}

// So that keys are there that a short run would only make. Like one that the server made.
async function fill(redis, count) {
  const first = 'rl:default:token_bucket:{user:k1}';
  for (let from = 2; from <= count; from += BATCH) {
    const copy = 'for i = ARGV[1], ARGV[2] do redis.call("COPY", KEYS[1], "rl:default:token_bucket:{user:k" .. i .. "}") end';
    await redis.command('EVAL', copy, 1, first, from, Math.min(count, from + BATCH - 1));
  }
}

async function rounds(points, once) {
  const samples = points.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, point] of points.entries()) samples[i].push(await once(point, round));
  }
  const figure = (i, name, best = Math.min) => Number(best(...samples[i].map((sample) => sample[name])).toFixed(1));
  return points.map((at, i) => ({
    at, server: figure(i, 'server'), redis: figure(i, 'redis'), rate: figure(i, 'rate', Math.max), p99: figure(i, 'p99'),
  }));
}

// Thousands of connections take a while to be made.
const run = (subject, redis, { keys, connections }, seed) =>
  measure(subject, redis, { limit: 'admitted', keys, connections }, { seconds: connections >= 1000 ? 4 * SECONDS : SECONDS, seed });

async function keys(world) {
  const redis = await world.redis();
  const subject = await contender(world, redis, 1);
  await run(subject, redis, { ...USUAL, keys: 1 }, 1);
  let filled = 1;
  return rounds([1, 10, 100, 1000, 10_000, 100_000, 1_000_000], async (count, round) => {
    if (count > filled) await fill(redis, filled = count);
    return run(subject, redis, { ...USUAL, keys: count }, round);
  });
}

async function connections(world) {
  const redis = await world.redis();
  const subject = await contender(world, redis, 1, ['--max-connections', '20000']);
  await run(subject, redis, USUAL, 1);
  return rounds([1, 10, 100, 1000, 10_000], (count, round) => run(subject, redis, { ...USUAL, connections: count }, round));
}

async function threads(world) {
  const redis = await world.redis();
  const subjects = new Map();
  for (const count of [1, 2, 4]) subjects.set(count, await contender(world, redis, count));
  await run(subjects.get(1), redis, USUAL, 1);
  return rounds([...subjects.keys()], (count, round) => run(subjects.get(count), redis, USUAL, round));
}

async function policies(world) {
  const figures = [];
  for (const at of [1, 10, 100, 1000]) {
    const path = (i) => `/api${at > 1 ? `/p${1 + (i * 7) % (at - 1)}/x` : '/x'}?user=k${i % 100}`;
    const args = ['--config', policiesFile(world, at)];
    figures.push({ at, instructions: await instructionsOf({ args, path, status: 200 }) });
  }
  return figures;
}

const MEASURES = { keys, connections, threads, policies };

async function main() {
  const wanted = process.env.BENCH_ONLY?.split(',') ?? Object.keys(MEASURES);
  let figures = {};
  if (process.env.BENCH_ONLY) figures = JSON.parse(readFileSync(FIGURES, 'utf8'));
  figures.machine = `${os.cpus()[0].model}, ${os.cpus().length} CPUs`;
  for (const name of wanted) {
    const world = new World();
    try {
      figures[name] = await MEASURES[name](world);
    } finally {
      await world.close();
    }
    console.log(name);
    console.table(figures[name]);
  }
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 1)}\n`);
  writeFileSync(PLOTS, plots(figures));
  console.log(`written: ${[FIGURES, PLOTS].map((file) => file.slice(repository.length)).join(', ')}`);
}

await main();
