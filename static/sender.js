/* Sends from this browser, one request or a few, and hands each answer to the store. Draws nothing. */

import { sendOne } from './api.js';
import { decisionOf } from './decision.js';

export const BROWSER_MAX = 20;

export async function sendSingle(store) {
  store.sent(store.target.policy);
  const decision = decisionOf(await sendOne(store.target, store.settings.values));
  store.addAnswer(decision);
  return decision;
}

const later = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    resolve();
  }, { once: true });
});

/* Sends `run.count` requests, all at once (the browser opens about six connections and queues the rest) or `rate` a second. */
export async function sendSeveral(store, run, rate, signal) {
  const began = performance.now();
  await Promise.all(Array.from({ length: run.count }, async (_, i) => {
    if (rate) await later((i * 1000) / rate, signal);
    if (signal.aborted) return;
    const decision = await sendSingle(store);
    run.done += 1;
    run[decision.outcome] += 1;
    store.setRun(run);
  }));
  run.seconds = (performance.now() - began) / 1000;
}
