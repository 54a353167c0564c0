/* Sends from this browser, one request or a burst, and hands each decision to the store. Draws nothing. */

import { sendOne } from './api.js';
import { decisionOf } from './decision.js';

export const BURST_MAX = 20;

export async function sendSingle(store) {
  const decision = decisionOf(await sendOne());
  store.addDecision(decision);
  return decision;
}

/* Starts all `count` at once; the browser itself opens about six connections and queues the rest. One burst at a time. */
export async function sendBurst(store, count) {
  if (store.run && store.run.running) return;
  const began = performance.now();
  const run = { count, done: 0, allowed: 0, denied: 0, delayed: 0, error: 0, seconds: 0, running: true };
  store.setRun(run);
  await Promise.all(Array.from({ length: count }, async () => {
    const decision = await sendSingle(store);
    run.done += 1;
    run[decision.outcome] += 1;
    store.setRun(run);
  }));
  run.running = false;
  run.seconds = (performance.now() - began) / 1000;
  store.setRun(run);
}
