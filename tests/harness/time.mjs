// Waiting and measuring: sleeps that are never short, polling with a deadline, and how late this machine runs timers.
// Knows nothing of servers.

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

export const now = () => performance.now();

// Node's timers may fire up to a millisecond early; a test that waits "exactly as told" must not.
export async function sleep(ms) {
  const end = now() + ms;
  for (let left = ms; left > 0; left = end - now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(left)));
  }
}

// Polls until `probe` gives something truthy, and returns that. Throws with `what` when `ms` have passed.
export async function until(what, probe, ms = 5000, every = 10) {
  const end = now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (now() > end) throw new Error(`timed out after ${ms} ms waiting for ${what}`);
    await sleep(every);
  }
}

// The promise's value, or an error that says what did not happen in time.
export async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${ms} ms waiting for ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Calls `each(i)` every `period` ms by an absolute schedule until `total` ms have passed; a slot that was missed is left out.
export async function polled(period, total, each) {
  const start = now();
  const results = [];
  for (let slot = 0; slot * period < total; slot = Math.max(slot + 1, Math.ceil((now() - start) / period))) {
    await sleep(start + slot * period - now());
    if (now() - start < total) results.push(await each(results.length));
  }
  return results;
}

// For measurements that mean something only when nothing holds them up: `measure(attempt)` is run anew, with a new key,
// if it took more than `ms`; what it says counts when it was in time. A machine that never is in time is an error.
export async function undisturbed(ms, measure, attempts = 6) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const start = now();
    try {
      const value = await measure(attempt);
      if (now() - start <= ms) return value;
    } catch (error) {
      if (now() - start <= ms) throw error;
    }
  }
  throw new Error(`this machine was held up ${attempts} times: a measurement of ${ms} ms was never in time`);
}

// How late timers of this process fire while a test runs. Tests of upper time bounds add it, since a machine that holds
// up the observer holds up what is observed: it is the only slack they give.
export class Lateness {
  #histogram = monitorEventLoopDelay({ resolution: 5 });

  constructor() {
    this.#histogram.enable();
  }

  ms() {
    return Math.max(0, this.#histogram.max / 1e6 - 5);
  }

  stop() {
    this.#histogram.disable();
    return this.ms();
  }
}
