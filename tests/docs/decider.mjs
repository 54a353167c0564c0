// Asks the real script, with the time passed in: what the examples, the picture and the tests of the documents run.
// Makes no decision of its own.
//
// Times are microseconds; a limit is {algorithm, params}, the parameters as people write them ({capacity: 10, ...}).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { RedisServer } from '../harness/redis.mjs';

export const repository = fileURLToPath(new URL('../../', import.meta.url));
export const MICRO = 1000000;

// In the order in which the script takes them.
export const PARAMETERS = {
  token_bucket: ['capacity', 'refill_rate', 'refill_interval'],
  fixed_window: ['limit', 'window'],
  sliding_window_log: ['limit', 'window'],
  sliding_window_counter: ['limit', 'window', 'sub_windows'],
  leaky_bucket: ['capacity', 'leak_rate'],
};

// Joined as the build does it.
export function script(algorithm) {
  const read = (name) => readFileSync(join(repository, 'lua', `${name}.lua`), 'utf8');
  return [read('prelude'), read(algorithm), `local algorithm = ${algorithm}`, read('decide_one')].join('\n');
}

// Keys expire by Redis's own clock, which knows nothing of the time passed in. So the TTL that the script sets is
// reported behind its reply (-1: none was set), and the key is kept for an hour.
const reporting = (text) => `
local ttl = -1
local real = redis
local redis = {pcall = real.pcall, call = function(...)
  local command = {...}
  if command[1] == "PEXPIRE" then
    ttl = tonumber(command[3])
    command[3] = math.max(ttl, 3600000)
  end
  return real.call(unpack(command))
end}
local function decide()
${text}
end
local reply = decide()
reply[#reply + 1] = ttl
return reply`;

// The arguments behind the keys: cost, mode, longest delay, the limit, the time.
export function scriptArguments({ algorithm, params }, { cost = 1, mode = 'take', delay = 0, at }) {
  const names = PARAMETERS[algorithm];
  const numbers = [0, 1, 2].map((i) => (names[i] ? Math.round(params[names[i]] * MICRO) : 0));
  return [cost * MICRO, ...numbers, mode, delay, ...(at === undefined ? [] : [at])];
}

export class Decider {
  static async start() {
    const decider = new Decider();
    decider.redis = await RedisServer.prepare();
    await decider.redis.start();
    decider.digests = {};
    for (const algorithm of Object.keys(PARAMETERS)) {
      decider.digests[algorithm] = await decider.redis.command('SCRIPT', 'LOAD', reporting(script(algorithm)));
    }
    return decider;
  }

  async decide(key, limit, request) {
    const digest = this.digests[limit.algorithm];
    const reply = await this.redis.command('EVALSHA', digest, 1, key, ...scriptArguments(limit, request));
    const [now, due, remaining, resetAfter, ttl] = reply;
    const allowed = due <= (request.delay ?? 0);
    return { now, allowed, due, remaining, resetAfter, retryAfter: allowed ? 0 : due - (request.delay ?? 0), ttl };
  }

  // What the key holds, as [name, value] pairs: fields of a hash, or members and times of a log, in order.
  async stored(key) {
    const type = await this.redis.command('TYPE', key);
    const flat = type === 'zset'
      ? await this.redis.command('ZRANGE', key, 0, -1, 'WITHSCORES')
      : await this.redis.command('HGETALL', key);
    return flat.flatMap((name, i) => (i % 2 ? [] : [[name, flat[i + 1]]]));
  }

  close() {
    return this.redis.close();
  }
}
