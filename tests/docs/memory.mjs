// What one client costs in Redis under each algorithm, by MEMORY USAGE: the table of docs/algorithms.md.
//
//   node tests/docs/memory.mjs

import { fileURLToPath } from 'node:url';

import { Decider, MICRO } from './decider.mjs';

const START = 1800000000 * MICRO;
const windows = (count) => Array.from({ length: count }, (_, i) => i);

// What is in the key when it is measured: one decision at each of these seconds. A log is filled with `entries`.
const CASES = [
  { name: 'token_bucket', params: { capacity: 10, refill_rate: 1, refill_interval: 1 }, seconds: [0] },
  { name: 'leaky_bucket', params: { capacity: 10, leak_rate: 1 }, seconds: [0] },
  { name: 'fixed_window', params: { limit: 10, window: 10 }, seconds: [0] },
  { name: 'sliding_window_counter', what: '`sub_windows` 1', params: { limit: 10, window: 10, sub_windows: 1 }, seconds: [0, 10] },
  { name: 'sliding_window_counter', what: '`sub_windows` 10', params: { limit: 20, window: 10, sub_windows: 10 }, seconds: windows(11) },
  { name: 'sliding_window_counter', what: '`sub_windows` 60', params: { limit: 99, window: 60, sub_windows: 60 }, seconds: windows(61) },
  { name: 'sliding_window_log', what: '10 entries', entries: 10 },
  { name: 'sliding_window_log', what: '100 entries', entries: 100 },
  { name: 'sliding_window_log', what: '1000 entries', entries: 1000 },
  { name: 'sliding_window_log', what: '100000 entries', entries: 100000 },
];

// Members as the script writes them, but all in one call.
const FILL = `for i = 1, tonumber(ARGV[1]) do
  redis.call("ZADD", KEYS[1], string.format("%.0f", tonumber(ARGV[2]) + i), string.format("%016.0f:1", i))
end`;

async function fill(decider, key, each) {
  if (each.entries) {
    const limit = { algorithm: each.name, params: { limit: 100000, window: 10 } };
    await decider.redis.command('EVAL', FILL, 1, key, each.entries - 1, START);
    const { remaining } = await decider.decide(key, limit, { at: START + each.entries });
    if (remaining !== 100000 - each.entries) throw new Error(`the script counts ${100000 - remaining} entries of ${each.entries}`);
  } else {
    const limit = { algorithm: each.name, params: each.params };
    for (const second of each.seconds) await decider.decide(key, limit, { at: START + second * MICRO });
  }
}

// [{name, what, bytes}]
export async function measure(decider) {
  const measured = [];
  for (const [i, each] of CASES.entries()) {
    const key = `rl:default:${each.name}:{ip:192.0.2.${100 + i}}`;
    await fill(decider, key, each);
    measured.push({ name: each.name, what: each.what ?? '', bytes: await decider.redis.command('MEMORY', 'USAGE', key, 'SAMPLES', 0) });
    await decider.redis.command('DEL', key);
  }
  return measured;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const decider = await Decider.start();
  for (const { name, what, bytes } of await measure(decider)) console.log(`${name} ${what}: ${bytes}`);
  await decider.close();
}
