/* The five algorithms as the page presents them: the built-in policy of each, its line of the comparison table, and the
   words for what it counts. Settings and their bounds are not here: those come from GET /algorithms. */

export const ALGORITHMS = [
  ['token_bucket', 'Token bucket', '136 bytes', 'exact', 'the whole capacity after a rest', 'APIs whose clients come in bursts'],
  ['fixed_window', 'Fixed window', '136 bytes', 'up to 2 L − 1 across an edge', 'the whole limit, and again after an edge', 'quotas that people read'],
  ['sliding_window_log', 'Sliding window log', '424 bytes to 12 MB', 'exact in any window', 'the whole limit', 'small limits to the letter: logins, payments'],
  ['sliding_window_counter', 'Sliding window counter', '136 to 872 bytes', 'an estimate', 'the whole limit; room comes back gradually', 'large limits for many clients'],
  ['leaky_bucket', 'Leaky bucket', '136 bytes', 'exact', 'the whole capacity after a rest', 'an even flow to what takes no bursts'],
].map(([name, title, memory, accuracy, bursts, best]) => ({ name, title, memory, accuracy, bursts, best, policy: name.replaceAll('_', '-') }));

export const builtIn = (policy) => ALGORITHMS.find((one) => one.policy === policy) ?? null;

export const titleOf = (name) => ALGORITHMS.find((one) => one.name === name)?.title ?? name;

/* What is left, in the algorithm's own words. */
export const unitOf = (name) => (name === 'token_bucket' ? 'token' : 'request');

/* { burst, rate }: what fits at once after a rest, and how many come back a second on average. Null for what this page
   does not know. */
export function shapeOf(values) {
  if (values?.algorithm === 'token_bucket') return { burst: values.capacity, rate: values.refill_rate / values.refill_interval };
  if (values?.algorithm === 'leaky_bucket') return { burst: values.capacity, rate: values.leak_rate };
  if (values?.window) return { burst: values.limit, rate: values.limit / values.window };
  return null;
}

/* { low, high }: how many of `count` requests a new client has let through, at once (rate 0) or at `rate` a second; by the
   formulas, before the server predicts it exactly. */
export function foretell(values, count, rate) {
  const { burst, rate: back } = shapeOf(values);
  const span = rate ? (count - 1) / rate : 0;
  const most = values.window && values.algorithm !== 'sliding_window_counter'
    ? burst * (Math.floor(span / values.window) + 1) : burst + Math.floor(span * back + 1e-9);
  const least = rate && rate <= back ? count : values.window ? burst * (Math.floor(span / values.window) || 1) : most;
  return [Math.min(count, least), Math.min(count, most)];
}

/* The settings that the Redis guide shows, for its token bucket. */
export const PRESETS = [[10, 1, 1], [100, 10, 1], [60, 1, 60]].map(([capacity, refill_rate, refill_interval]) => ({
  capacity, refill_rate, refill_interval,
}));

export const CLIENT = /^[A-Za-z0-9._-]{1,64}$/;
