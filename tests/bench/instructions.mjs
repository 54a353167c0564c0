// Instructions a decision costs the server (one thread, 64 connections): `node tests/bench/instructions.mjs [--profile]`.
// --profile prints where they go, by function, libraries included.

import { RedisServer } from '../harness/redis.mjs';
import { cleanEnvironment, program } from '../harness/server.mjs';
import { Callgrind } from './callgrind.mjs';
import { exactLoad } from './exact_load.mjs';

const CONNECTIONS = 64;
const REQUESTS = Number(process.env.REQUESTS ?? 6000);
const WARM_UP = 1000;
const START_LINE = /listening on http:\/\/\S+:(\d+) /;

const LARGE = ['--capacity', '1000000000', '--refill-rate', '1000'];
const SMALL = ['--capacity', '1', '--refill-rate', '0.000001'];

// With few connections where the denial cache answers: it keeps no denial that was under way for more than 4 ms, and
// under valgrind all is fifty times slower.
export const WORKLOADS = {
  admitted: { args: LARGE, path: (i) => `/api?user=${i % 10000}`, status: 200 },
  denied: { args: SMALL, path: () => '/api?user=hot', status: 429, connections: 2 },
  'denied, no cache': { args: [...SMALL, '--denial-cache', 'off'], path: () => '/api?user=hot', status: 429 },
};

// `inspect` gets the Callgrind before it is closed.
export async function instructionsOf({ args, path, status, connections = CONNECTIONS }, { requests = REQUESTS, inspect } = {}) {
  const redis = await RedisServer.prepare();
  await redis.start();
  const address = ['--redis-socket', redis.socket, '--port', '0', '--threads', '1'];
  const server = await Callgrind.start(program, [...address, ...args], START_LINE, { env: cleanEnvironment() });
  try {
    const port = Number(server.match[1]);
    await exactLoad(port, WARM_UP, connections, path);
    let statuses;
    const total = await server.count(async () => { statuses = await exactLoad(port, requests, connections, path); });
    if (statuses[status] !== requests) throw new Error(`wanted ${requests} answers ${status}: ${JSON.stringify(statuses)}`);
    await inspect?.(server);
    return Math.round(total / requests);
  } finally {
    await server.close();
    await redis.close();
  }
}

async function main() {
  const profile = process.argv.includes('--profile');
  const only = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  for (const [name, workload] of Object.entries(WORKLOADS)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const inspect = profile ? async (server) => console.log(await server.profile(...(process.env.ANNOTATE ?? '--auto=no').split(' '))) : undefined;
    console.log(`${name}: ${await instructionsOf(workload, { inspect })} instructions a decision`);
  }
}

if (import.meta.url === `file://${process.argv[1]}`) await main();
