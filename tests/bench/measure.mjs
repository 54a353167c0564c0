// One run of load against one contender, and what it cost by the operating system's accounting. Judges nothing.

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { childrenOf, run } from '../harness/child.mjs';

const loadScript = fileURLToPath(new URL('load.lua', import.meta.url));

const UNITS = { us: 1, ms: 1e3, s: 1e6, m: 60e6 };

// "1.25ms" as wrk writes it, in microseconds.
export function microseconds(text) {
  const match = text.match(/^([0-9.]+)(us|ms|s|m)$/);
  if (!match) throw new Error(`not a time of wrk: ${text}`);
  return Number(match[1]) * UNITS[match[2]];
}

function only(text, pattern) {
  const match = text.match(pattern);
  if (!match) throw new Error(`no ${pattern} in what wrk printed:\n${text}`);
  return match[1];
}

// What wrk prints with --latency. A request that got no answer is an error.
export function parseWrk(text) {
  const errors = text.match(/^ +Socket errors: .*$/m);
  if (errors) throw new Error(`wrk: ${errors[0].trim()}`);
  const requests = Number(only(text, /^ +(\d+) requests in /m));
  if (requests === 0) throw new Error('wrk: no request was answered');
  return {
    requests,
    refused: Number(text.match(/^ +Non-2xx or 3xx responses: (\d+)$/m)?.[1] ?? 0),
    rate: Number(only(text, /^Requests\/sec: +([0-9.]+)$/m)),
    p50: microseconds(only(text, /^ +50% +(\S+) *$/m)),
    p99: microseconds(only(text, /^ +99% +(\S+) *$/m)),
  };
}

// How often Redis ran a command, those in scripts included, by INFO commandstats; INFO itself excepted.
export function parseCommands(text) {
  let calls = 0;
  for (const [, name, count] of text.matchAll(/^cmdstat_([^:]+):calls=(\d+),/gm)) if (name !== 'info') calls += Number(count);
  return calls;
}

const threadNanoseconds = (path) => {
  try {
    return Number(readFileSync(`${path}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return 0; // a thread that ended between the listing and this
  }
};

// CPU that the threads of a process and of its children have had so far, in nanoseconds: what utime and stime of
// /proc/PID/stat round to 10 ms.
export function cpuOf(pid) {
  const own = readdirSync(`/proc/${pid}/task`).reduce((sum, id) => sum + threadNanoseconds(`/proc/${pid}/task/${id}`), 0);
  return childrenOf(pid).reduce((sum, child) => sum + cpuOf(child), own);
}

async function usage(contender, redis) {
  const commands = parseCommands(await redis.command('INFO', 'commandstats'));
  return { commands, server: cpuOf(contender.pid), redis: cpuOf(redis.pid) };
}

// `workload`: limit, keys, connections; `contender.strays`: how many answers of a run may be the other verdict. Costs are
// per answered request: CPU in microseconds, commands of Redis.
export async function measure(contender, redis, workload, { seconds, seed }) {
  const { limit, keys, connections } = workload;
  const [before, after] = contender.path(limit);
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '--latency', '-s', loadScript,
    `http://127.0.0.1:${contender.port}`, '--', before, after, keys, seed].map(String);
  const began = await usage(contender, redis);
  const { code, error, stdout, stderr } = await run('wrk', args, {}, (seconds + 30) * 1000);
  const ended = await usage(contender, redis);
  if (code !== 0) throw new Error(`wrk: ${error ?? stderr}`);
  const load = parseWrk(stdout);
  const refused = limit === 'denied' && contender.deniedStatus >= 400 ? load.requests : 0;
  if (Math.abs(load.refused - refused) > contender.strays) {
    throw new Error(`${load.refused} of ${load.requests} answers were not 2xx, expected were ${refused}`);
  }
  const cost = (name) => (ended[name] - began[name]) / load.requests;
  const [server, inRedis] = [cost('server') / 1000, cost('redis') / 1000];
  return { ...load, server, redis: inRedis, cpu: server + inRedis, commands: cost('commands') };
}
