/* What is left some time after a reading, by the arithmetic of what comes back at a steady rate. Pure.
   A lower bound where the reading leaves the fraction of a token open; other traffic is unknown to it. */

/* Units that come back each interval, and its length in seconds: from the settings if they may be read, else from the
   RateLimit-Policy header (q units in w seconds). Null where that alone does not tell: the sliding windows. */
export function refillOf(reading, values) {
  const { algorithm, limit, window } = reading;
  const known = values && values.algorithm === algorithm ? values : {};
  if (algorithm.startsWith('sliding')) return null;
  if (algorithm === 'fixed_window') return { rate: limit, interval: known.window ?? window ?? 1 };
  if (known.leak_rate) return { rate: 1, interval: 1 / known.leak_rate };
  if (known.refill_rate) return { rate: known.refill_rate, interval: known.refill_interval };
  return window ? { rate: 1, interval: window / limit } : null;
}

/* { tokens, estimated, nextIn, fullIn, progress }: seconds; null where nothing can be said. `progress` is how far the
   next token is on its way, 0..1. */
export function bucketAt(reading, refill, now) {
  const elapsed = Math.max(0, (now - reading.at) / 1000);
  const { limit, remaining, resetAfter } = reading;
  const missing = limit - remaining;
  if (missing <= 0) return { tokens: limit, estimated: 0, nextIn: 0, fullIn: 0, progress: 0 };

  const first = refill ? Math.max(1, Math.floor(refill.rate)) : 1;
  const ticksToFull = refill ? Math.ceil(Math.max(0, missing - first) / refill.rate) : 0;
  const fullAt = refill ? resetAfter + ticksToFull * refill.interval : null;
  const fullIn = fullAt === null ? null : Math.max(0, fullAt - elapsed);
  if (elapsed < resetAfter) {
    const span = Math.max(resetAfter, refill ? stepSeconds(refill) : resetAfter);
    const nextIn = resetAfter - elapsed;
    return { tokens: remaining, estimated: 0, nextIn, fullIn, progress: 1 - nextIn / span };
  }
  if (!refill) return { tokens: remaining + 1, estimated: 1, nextIn: null, fullIn: null, progress: 0 };

  const since = elapsed - resetAfter;
  const ticks = Math.floor(since / refill.interval + 1e-9);
  const gained = Math.min(missing, first + Math.floor(ticks * refill.rate + 1e-9));
  if (gained >= missing) return { tokens: limit, estimated: missing, nextIn: 0, fullIn: 0, progress: 0 };
  const nextTick = Math.ceil((Math.floor(ticks * refill.rate + 1e-9) + 1) / refill.rate - 1e-9);
  const nextIn = Math.max(0, nextTick * refill.interval - since);
  return { tokens: remaining + gained, estimated: gained, nextIn, fullIn, progress: 1 - Math.min(1, nextIn / stepSeconds(refill)) };
}

/* Whether a reading that arrived later also tells of a later state. Answers of requests that were under way together come
   in any order; of those the one with fewer tokens is the later, since what came back meanwhile is in both. */
export function supersedes(reading, before, refill) {
  if (!before || reading.sent >= before.at) return true;
  if (reading.key !== before.key || reading.limit !== before.limit) return true;
  return reading.remaining <= bucketAt(before, refill, reading.at).tokens;
}

function stepSeconds(refill) {
  return refill.rate >= 1 ? refill.interval : refill.interval / refill.rate;
}
