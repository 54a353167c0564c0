// Instances that die without a word: what they had admitted is counted in Redis, and nothing is admitted twice.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, sleep } from '../harness/time.mjs';

const CAPACITY = 100;
const RATE = 10;
const INTERVAL = 0.5;
const DURING_MS = 8000;
const KILL_EVERY_MS = 500;
const SEED = Number(process.env.SEED ?? Date.now() % 100000);

// A small generator, so that a run can be had again: SEED.
function generator(seed) {
  let state = seed + 1;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

scenario('five instances, killed at random: admissions stay within capacity and refill', async (world) => {
  const random = generator(SEED);
  const redis = await world.redis();
  const options = { redis, threads: 1, args: [...bucket(CAPACITY, RATE, INTERVAL), '--on-redis-error', 'closed'] };
  const servers = await Promise.all(Array.from({ length: 5 }, () => world.server(options)));
  let admissions = 0, answers = 0, kills = 0;
  const began = now();
  const over = () => now() - began > DURING_MS;

  const client = async (i) => {
    for (let n = i; !over(); n++) {
      const response = await servers[n % 5].hit('k').catch(() => null); // it was killed meanwhile
      if (!response) continue;
      assert.ok([200, 429].includes(response.status), `${response.status} ${response.text}`);
      answers++;
      admissions += response.status === 200;
      await sleep(2);
    }
  };
  const killer = async () => {
    for (; !over(); kills++) {
      await sleep(KILL_EVERY_MS);
      const victim = random(5);
      await servers[victim].kill();
      servers[victim] = await world.server(options);
    }
  };
  await Promise.all([killer(), ...Array.from({ length: 10 }, (_, i) => client(i))]);

  const intervals = Math.ceil((now() - began) / 1000 / INTERVAL);
  const most = CAPACITY + RATE * intervals;
  console.log(`# SEED=${SEED}: ${admissions} of ${answers} admitted (${most} at most), ${kills} killed`);
  assert.ok(kills >= 4, `${kills} kills`);
  assert.ok(admissions <= most, `${admissions} admitted, ${most} at most`);
  // Answers of the dead are lost to their clients, who ask again: most of what there was is still handed out.
  assert.ok(admissions >= CAPACITY + RATE * (intervals - 6), `${admissions} admitted of ${most}`);
}, { ms: 60000 });
