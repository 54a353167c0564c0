// make bench: how much a decision costs here and elsewhere. Everything is started for itself, measured in alternating
// rounds and stopped; prints tables of medians and of the targets, and writes both as JSON.
//
//   BENCH_ROUNDS=5 BENCH_SECONDS=3 BENCH_OUT=build/bench.json node tests/bench/bench.mjs

import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { dirname } from 'node:path';

import { residentKiB } from '../harness/child.mjs';
import { World } from '../harness/scenario.mjs';
import { repository } from '../harness/server.mjs';
import { now } from '../harness/time.mjs';
import { CONTENDERS, assertRight, ratelimitd, start } from './contenders.mjs';
import { measure } from './measure.mjs';
import { figuresTable, targetsTable } from './report.mjs';
import { IDLE, KEYS, bytesOfScript, fillLike, openIdle } from './scale.mjs';
import { evaluate, medians } from './targets.mjs';

const WORKLOADS = {
  admitted: { limit: 'admitted', keys: 10_000, connections: 64 },
  denied: { limit: 'denied', keys: 1, connections: 64 },
  single: { limit: 'admitted', keys: 10_000, connections: 1 },
  'one key': { limit: 'admitted', keys: 1, connections: 64 },
  million: { limit: 'admitted', keys: KEYS, connections: 64 },
  idle: { limit: 'admitted', keys: 10_000, connections: 64 },
};

function setting(name, usual, most) {
  const value = Number(process.env[name] || usual);
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new Error(`${name} must be a whole number from 1 to ${most}; got ${process.env[name]}`);
  }
  return value;
}

const options = {
  rounds: setting('BENCH_ROUNDS', 5, 100),
  seconds: setting('BENCH_SECONDS', 3, 30),
  out: process.env.BENCH_OUT || `${repository}build/bench.json`,
};
const began = now();
const say = (text) => console.error(`${((now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}`);

// Runs each entry once a round, in turn, beginning with another one each time. Returns workload -> contender -> samples.
async function alternate(entries) {
  const samples = {};
  const once = async ({ contender, redis, workload, before }, seconds, seed) => {
    await before?.();
    return measure(contender, redis, WORKLOADS[workload], { seconds, seed }).catch((error) => {
      throw new Error(`${contender.name}, ${workload}: ${error.message}`);
    });
  };
  for (const entry of entries) await once(entry, 1, 1000); // what compiles while it runs is compiled
  for (let round = 1; round <= options.rounds; round++) {
    say(`round ${round} of ${options.rounds}`);
    const turn = (round - 1) % entries.length;
    for (const entry of [...entries.slice(turn), ...entries.slice(0, turn)]) {
      const { contender: { name }, workload } = entry;
      ((samples[workload] ??= {})[name] ??= []).push(await once(entry, options.seconds, round));
    }
  }
  return samples;
}

async function againstOthers(world, redis) {
  const entries = [];
  for (const each of CONTENDERS) {
    const contender = await start(world, redis, each);
    for (const workload of each.runs) entries.push({ contender, redis, workload });
  }
  const check = async () => {
    for (const { contender, workload } of entries) await assertRight(contender, WORKLOADS[workload].limit);
  };
  await check();
  entries.sort((a, b) => Object.keys(WORKLOADS).indexOf(a.workload) - Object.keys(WORKLOADS).indexOf(b.workload));
  const samples = await alternate(entries);
  await check();
  return samples;
}

const ours = { name: 'ratelimitd', start: ratelimitd(), runs: ['admitted'] };

async function manyKeys(world, redis, figures) {
  const large = await world.redis();
  const scriptBytes = await bytesOfScript(large);
  const contender = await start(world, redis, ours);
  const other = await start(world, large, ours);
  const bytes = await fillLike(large, () => assertRight(other, 'admitted'));
  figures.memory = { ratelimitd: { bytes }, 'bucket.lua': { bytes: scriptBytes } };
  return alternate([
    { contender, redis, workload: 'one key', before: () => redis.command('FLUSHALL') },
    { contender: other, redis: large, workload: 'million' },
  ]);
}

// 64 connections work while all others are open and say nothing; all of those are answered before and after.
async function manyConnections(world, redis, figures) {
  const contender = await start(world, redis, { ...ours, start: ratelimitd(['--max-connections', String(IDLE + 1000)]) });
  const run = () => measure(contender, redis, WORKLOADS.idle, { seconds: options.seconds, seed: 1 });
  await run();
  const before = residentKiB(contender.pid);
  const idle = await openIdle(contender, contender.path('admitted').join('1'));
  const sample = await run();
  await idle.again();
  figures.idle = { ratelimitd: { bytes: ((residentKiB(contender.pid) - before) * 1024) / IDLE } };
  idle.close();
  return { idle: { ratelimitd: [sample] } };
}

async function bench(world) {
  const redis = await world.redis();
  const figures = {};
  const samples = {};
  for (const [what, part] of Object.entries({ 'other limiters': againstOthers, 'many keys': manyKeys, 'many connections': manyConnections })) {
    say(what);
    Object.assign(samples, await part(world, redis, figures));
  }
  for (const [workload, contenders] of Object.entries(samples)) {
    for (const [name, each] of Object.entries(contenders)) {
      (figures[workload] ??= {})[name] = { ...figures[workload]?.[name], ...medians(each) };
    }
  }
  return { figures, samples, targets: evaluate(figures) };
}

function show({ figures, targets }) {
  const { rounds, seconds } = options;
  console.log(`Medians of ${rounds} rounds of ${seconds} s. CPU, p50 and p99 in microseconds.\n`);
  console.log(`${figuresTable(figures, Object.keys(WORKLOADS), ours.name)}\n`);
  const { ratelimitd: own, 'bucket.lua': guide } = figures.memory;
  console.log(`Redis memory a key, of ${KEYS}: ${own.bytes.toFixed(0)} bytes, by bucket.lua ${guide.bytes.toFixed(0)}.\n`);
  console.log(targetsTable(targets));
  const missed = targets.filter(({ holds }) => !holds).length;
  console.log(`\n${targets.length - missed} targets hold, ${missed} missed. ${((now() - began) / 1000).toFixed(0)} s; ${options.out}`);
}

function machine() {
  const [{ model }] = os.cpus();
  return { model, cpus: os.cpus().length, kernel: os.release(), node: process.version, load: os.loadavg() };
}

async function main() {
  const world = new World();
  let leaving = false;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, () => {
      if (leaving) process.exit(1); // whatever still runs is killed at exit
      leaving = true;
      say('interrupted: stopping what was started');
      world.close().catch(() => {}).then(() => process.exit(1));
    });
  }
  const host = machine();
  if (host.load[0] > host.cpus / 4) say(`this machine is busy (load ${host.load[0].toFixed(1)}): only ratios mean something, and little`);
  try {
    const result = await bench(world);
    show(result);
    mkdirSync(dirname(options.out), { recursive: true });
    writeFileSync(options.out, `${JSON.stringify({ machine: host, rounds: options.rounds, seconds: options.seconds, ...result }, null, 1)}\n`);
  } catch (error) {
    if (!leaving) throw error; // else it is what the stopping did
  } finally {
    if (!leaving) await world.close();
  }
}

await main().catch((error) => {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
});
