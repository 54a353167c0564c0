// Why a limit has to be decided in one step: 50 clients at once, a bucket of 10 tokens, a real Redis.
// Decides once as read, decide, write, which lets more than 10 through, and once by the script, which does not.
//
//   node tests/docs/double_spend.mjs

import { fileURLToPath } from 'node:url';

import { RedisServer } from '../harness/redis.mjs';
import { script, scriptArguments } from './decider.mjs';

const CLIENTS = 50;
const TOKENS = 10;
const LIMIT = { algorithm: 'token_bucket', params: { capacity: TOKENS, refill_rate: 1, refill_interval: 3600 } };

async function inThreeSteps(redis) {
  const tokens = Number((await redis.command('GET', 'tokens')) ?? TOKENS); // read
  if (tokens < 1) return false;                                            // decide
  await redis.command('SET', 'tokens', tokens - 1);                        // write
  return true;
}

async function byScript(redis) {
  const reply = await redis.command('EVAL', script(LIMIT.algorithm), 1, 'bucket', ...scriptArguments(LIMIT, { cost: 1 }));
  return reply[1] === 0; // nothing to wait for
}

// Each client has a connection of its own, as so many servers would.
export async function doubleSpend(server) {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => server.connect()));
  const count = async (decide) => (await Promise.all(clients.map(decide))).filter((allowed) => allowed).length;
  const result = { clients: CLIENTS, tokens: TOKENS, steps: await count(inThreeSteps), script: await count(byScript) };
  clients.forEach((client) => client.close());
  return result;
}

export const report = ({ clients, tokens, steps, script: atomic }) => `${clients} clients at once, ${tokens} tokens
read, decide, write: ${steps} allowed
one script:          ${atomic} allowed
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await RedisServer.prepare();
  await server.start();
  process.stdout.write(report(await doubleSpend(server)));
  await server.close();
}
