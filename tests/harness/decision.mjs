// What the contract says of every answer that was limited, written down once: members, fields, and how they agree.

import assert from 'node:assert/strict';

export const QUOTA_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
export const REDUCED_TYPE = /temporary-reduced-capacity$/;

export const LIMIT_FIELDS = [
  'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy',
];

const MEMBERS = [
  'allowed', 'policy', 'algorithm', 'key', 'cost', 'limit', 'remaining', 'reset_after', 'retry_after', 'delayed', 'source',
];
const PROBLEM_MEMBERS = ['type', 'title', 'error', 'status', 'detail', 'violated-policies'];

// Options of the command line for a token bucket in policy `default`.
export const bucket = (capacity, rate, interval) => [
  '--capacity', String(capacity), '--refill-rate', String(rate), '--refill-interval', String(interval),
];

const sorted = (names) => [...names].sort();
const secondsUp = (seconds) => Math.ceil(Number(seconds.toFixed(3)));

// The fields of a decision that Redis made. `sentAt`, `gotAt`: this machine's clock around it, in ms, if Reset is to be checked.
export function assertLimitFields(response, { sentAt, gotAt } = {}) {
  const { headers } = response;
  for (const name of LIMIT_FIELDS) assert.equal(response.count(name), 1, `${name} once on a ${response.status}`);
  for (const name of LIMIT_FIELDS.slice(0, 3)) assert.match(headers[name], /^[0-9]+$/, name);
  assert.equal(headers['cache-control'], 'no-store');
  assert.ok(response.remaining <= response.number('X-RateLimit-Limit'));
  assert.match(headers['ratelimit-policy'], /^"default";q=[0-9]+;w=[1-9][0-9]*$/);
  assert.match(headers.ratelimit, /^"default";r=[0-9]+;t=[0-9]+$/);
  if (response.status === 429) {
    assert.equal(response.count('retry-after'), 1);
    assert.match(headers['retry-after'], /^[1-9][0-9]*$/);
  } else {
    assert.equal(headers['retry-after'], undefined, `Retry-After on a ${response.status}`);
  }
  if (response.text) assertFieldsAgree(response, sentAt, gotAt);
}

function assertFieldsAgree(response, sentAt, gotAt) {
  const { headers, json } = response;
  assert.equal(response.number('X-RateLimit-Limit'), json.limit);
  assert.equal(response.remaining, json.remaining);
  assert.equal(headers.ratelimit, `"default";r=${json.remaining};t=${secondsUp(json.reset_after)}`);
  if (response.status === 429) assert.equal(response.number('Retry-After'), Math.max(1, secondsUp(json.retry_after)));
  if (sentAt === undefined) return;
  const reset = response.number('X-RateLimit-Reset');
  const earliest = Math.ceil(sentAt / 1000 + json.reset_after - 0.002);
  const latest = Math.ceil(gotAt / 1000 + json.reset_after + 0.002);
  assert.ok(reset >= earliest && reset <= latest, `Reset ${reset} is not within ${earliest}..${latest}`);
}

// Body of a decision; `expected` gives members to compare.
export function assertDecisionBody(response, expected = {}) {
  const { json } = response;
  const denied = response.status === 429;
  assert.equal(response.headers['content-type'].split(';')[0], denied ? 'application/problem+json' : 'application/json');
  assert.deepEqual(sorted(Object.keys(json)), sorted(denied ? [...MEMBERS, ...PROBLEM_MEMBERS] : MEMBERS));
  for (const name of ['reset_after', 'retry_after', 'delayed']) {
    assert.match(response.text, new RegExp(`"${name}":(0|[0-9]+\\.[0-9]{3})[,}]`), `${name} in seconds with milliseconds`);
  }
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(json[name], value, name);
  if (denied) assertProblem(json);
}

function assertProblem(json) {
  assert.equal(json.type, QUOTA_TYPE);
  assert.equal(json.title, 'Rate limit exceeded');
  assert.equal(json.error, 'Rate limit exceeded');
  assert.equal(json.status, 429);
  assert.match(json.detail, /\w+ .*\w+/);
  assert.deepEqual(json['violated-policies'], ['default']);
}

export function assertNotLimited(response) {
  for (const name of LIMIT_FIELDS) assert.equal(response.headers[name], undefined, `${name} on a ${response.status}`);
}

// An error in the house's form.
export function assertRefused(response, status, words = /./) {
  assert.equal(response.status, status, `${response.status}: ${response.text.slice(0, 300)}`);
  assert.equal(response.headers['content-type'].split(';')[0], 'application/problem+json');
  assert.equal(response.json.status, status);
  assert.match(response.json.detail ?? '', words);
  assertNotLimited(response);
}
