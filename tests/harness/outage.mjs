// What the contract says of requests while Redis is away: in time, by the chosen mode, and from Redis again within 2 s.

import assert from 'node:assert/strict';

import { REDUCED_TYPE, assertDecisionBody } from './decision.mjs';
import { sanitizerFactor } from './server.mjs';
import { until } from './time.mjs';

export const TIMEOUT = 250;
export const MARGIN = 50 * sanitizerFactor(); // of the contract: each request within --redis-timeout and 50 ms
export const BACK = 2000; // of the contract: from Redis again within 2 s

// The documented answer while Redis is away.
export const OUTAGE = {
  local(response) {
    assert.ok([200, 429].includes(response.status), `status ${response.status}`);
    assertDecisionBody(response, { source: 'local' });
    assert.match(response.headers['x-ratelimit-remaining'], /^[0-9]+$/);
  },
  open(response) {
    assert.equal(response.status, 200);
    assert.equal(response.json.source, 'none');
    assert.equal(response.json.allowed, true);
    assert.match(response.headers['x-ratelimit-limit'], /^[0-9]+$/);
    for (const name of ['x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy', 'retry-after']) {
      assert.equal(response.headers[name], undefined, name);
    }
    assert.equal(typeof response.json.remaining === 'number', false, 'no made-up numbers');
  },
  closed(response) {
    assert.equal(response.status, 503);
    assert.match(response.headers['retry-after'], /^[1-9][0-9]*$/);
    assert.equal(response.headers['content-type'].split(';')[0], 'application/problem+json');
    assert.match(response.json.type, REDUCED_TYPE);
    assert.equal(response.headers['x-ratelimit-remaining'], undefined);
  },
};

export const fromRedis = (response) => response.status !== 503 && response.json.source === 'redis';

export async function assertInTime(promises, lateness) {
  const responses = await Promise.all(promises);
  const bound = TIMEOUT + MARGIN + lateness.ms();
  for (const { ms } of responses) assert.ok(ms <= bound, `answered after ${ms.toFixed(0)} ms, bound ${bound.toFixed(0)} ms`);
  return responses;
}

// Every worker has a link of its own: eight connections at once reach all of them.
export const recovered = (server) => until('decisions from Redis on every worker', async () => {
  const responses = await Promise.all(Array.from({ length: 8 }, () => server.hit('recovery', { cost: 0 })));
  return responses.every(fromRedis);
}, BACK, 50);
export const answers = (limits, mode) => ['--on-redis-error', mode, '--redis-timeout', String(TIMEOUT), ...(limits ?? [])];

// Every word of a log line that a person is to find: waits for it.
export const logged = (server, pattern, ms = 2000) => until(`${pattern} in the log`, () => pattern.test(server.log), ms);
