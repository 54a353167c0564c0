// Node's http and rate-limiter-flexible on Redis: a fixed window that Redis counts. What is used up it answers from
// memory (inMemoryBlockOnConsumed), as its manual advises for speed.

import http from 'node:http';

import { RateLimiterRedis } from 'rate-limiter-flexible';

import { LIMITS } from '../limits.mjs';
import { answer, connect, failed, listen, parse } from './service.mjs';

const storeClient = await connect();
const limiters = Object.fromEntries(Object.entries(LIMITS).map(([name, { capacity }]) => [name, new RateLimiterRedis({
  storeClient, useRedisPackage: true, keyPrefix: `flexible-${name}`, points: capacity, duration: 86400, inMemoryBlockOnConsumed: capacity + 1,
})]));

function decide(request, response) {
  const [name, key] = parse(request.url);
  limiters[name].consume(key).then(
    (result) => answer(response, true, result.remainingPoints),
    (refusal) => (refusal instanceof Error ? failed(response, refusal) : answer(response, false, 0)),
  );
}

listen(http.createServer(decide));
