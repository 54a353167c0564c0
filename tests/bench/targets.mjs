// Medians of the measured rounds, and what they have to be. Pure.

const OURS = 'ratelimitd';
const WEBDIS = 'webdis';
const LUA = 'nginx + Lua + Redis';
const EXPRESS = 'express-rate-limit';
const BARE = 'ratelimitd without Redis';
const UNCACHED = 'ratelimitd, denial cache off';

// A figure is [workload, contender, measure]; `of` alone, or its ratio to `to`. One of `most` and `least` is what it must be.
export const TARGETS = [
  { what: 'CPU of server + Redis', of: ['admitted', OURS, 'cpu'], to: ['admitted', WEBDIS, 'cpu'], most: 0.75 },
  { what: 'CPU of server + Redis', of: ['admitted', OURS, 'cpu'], to: ['admitted', LUA, 'cpu'], most: 0.55 },
  { what: 'CPU of server + Redis', of: ['admitted', OURS, 'cpu'], to: ['admitted', EXPRESS, 'cpu'], most: 0.12 },
  { what: 'CPU of server', of: ['admitted', OURS, 'server'], to: ['admitted', BARE, 'server'], most: 1.45 },
  { what: 'throughput', of: ['admitted', OURS, 'rate'], to: ['admitted', WEBDIS, 'rate'], least: 1.3 },
  { what: 'throughput', of: ['admitted', OURS, 'rate'], to: ['admitted', LUA, 'rate'], least: 1.5 },
  { what: 'CPU of server, denial cache on', of: ['denied', OURS, 'server'], to: ['denied', BARE, 'server'], most: 1.1 },
  { what: 'Redis commands a denial, denial cache on', of: ['denied', OURS, 'commands'], most: 0.01 },
  { what: 'CPU of server + Redis, denial cache off', of: ['denied', UNCACHED, 'cpu'], to: ['denied', WEBDIS, 'cpu'], most: 0.65 },
  { what: 'p99', of: ['admitted', OURS, 'p99'], to: ['admitted', WEBDIS, 'p99'], most: 1 },
  { what: 'p50 of one connection', of: ['single', OURS, 'p50'], to: ['single', WEBDIS, 'p50'], most: 1.1 },
  { what: 'throughput, 1,000,000 keys to 1', of: ['million', OURS, 'rate'], to: ['one key', OURS, 'rate'], least: 0.9, most: 1.1 },
  { what: 'bytes of Redis memory a key', of: ['memory', OURS, 'bytes'], to: ['memory', 'bucket.lua', 'bytes'], most: 1.5 },
  { what: 'bytes of an idle connection', of: ['idle', OURS, 'bytes'], most: 12 * 1024 },
];

export function median(values) {
  if (values.length === 0) throw new Error('the median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Of objects with the same members: each member's median.
export function medians(samples) {
  return Object.fromEntries(Object.keys(samples[0]).map((name) => [name, median(samples.map((sample) => sample[name]))]));
}

// `figures`: workload -> contender -> measure -> number. Tells each target's value and whether it holds.
export function evaluate(figures, targets = TARGETS) {
  const look = ([workload, contender, measure]) => {
    const value = figures[workload]?.[contender]?.[measure];
    if (!Number.isFinite(value)) throw new Error(`nothing measured for ${contender}, ${workload}: ${measure}`);
    return value;
  };
  return targets.map((target) => {
    const value = look(target.of) / (target.to ? look(target.to) : 1);
    const holds = value <= (target.most ?? Infinity) && value >= (target.least ?? -Infinity);
    return { ...target, value, holds };
  });
}
