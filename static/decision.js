/* Turns an HTTP answer into a decision: allowed, denied, delayed, let through by a policy that only watches though it would be
   denied, or error, kept apart. Pure; sends nothing. */

export const OUTCOMES = {
  allowed: { glyph: '✓', word: 'allowed' },
  denied: { glyph: '✗', word: 'denied' },
  delayed: { glyph: '◷', word: 'delayed' },
  error: { glyph: '!', word: 'error' },
  shadow_denied: { glyph: '✓', word: 'would be denied', short: 'would deny' },
};

const finite = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null);

function outcomeOf(answer) {
  const { status, json } = answer;
  if (!json || typeof json.allowed !== 'boolean') return 'error';
  if (status === 429) return 'denied';
  if (status !== 200) return 'error';
  if (json.shadow_denied === true) return 'shadow_denied';
  return json.delayed > 0 ? 'delayed' : 'allowed';
}

function words(answer) {
  if (answer.problem) return answer.problem;
  const { json } = answer;
  if (json && typeof json.detail === 'string') return json.detail;
  if (json && typeof json.error === 'string') return json.error;
  return answer.status === 200 ? 'The answer is not a decision this page can read.' : `The server answered ${answer.status}.`;
}

/* How Redis is doing, as far as this answer tells: up, local, open, closed or null for nothing learnt. */
function redisOf(answer) {
  const { source = null, allowed = false } = answer.json ?? {};
  if (source === 'redis' || source === 'cache') return 'up';
  if (source === 'local') return 'local';
  if (source === 'none') return allowed ? 'open' : 'closed';
  return answer.status === 503 ? 'closed' : null;
}

/* What an answer says of the bucket, or null where it carries no numbers (Redis away and let through unchecked). */
export function readingOf(answer) {
  const { json, headers } = answer;
  if (!json || finite(json.limit) === null || finite(json.remaining) === null) return null;
  const window = /;\s*w=(\d+)/.exec(headers.get('ratelimit-policy') ?? '');
  return {
    sent: answer.sent,
    at: answer.arrived,
    client: answer.client ?? '',
    limit: json.limit,
    remaining: json.remaining,
    resetAfter: finite(json.reset_after) ?? 0,
    window: window ? Number(window[1]) : null,
    source: String(json.source ?? ''),
    policy: answer.policy ?? String(json.policy ?? ''),
    algorithm: String(json.algorithm ?? ''),
    key: String(json.key ?? ''),
  };
}

export function decisionOf(answer) {
  const outcome = outcomeOf(answer);
  const json = answer.json ?? {};
  return {
    outcome,
    at: answer.wallClock.getTime(),
    client: answer.client ?? '',
    policy: answer.policy ?? String(json.policy ?? ''),
    remaining: finite(json.remaining),
    wait: outcome === 'denied' ? finite(json.retry_after) : null,
    via: 'browser',
    status: answer.status,
    statusText: answer.statusText,
    headers: answer.headers,
    body: answer.body,
    url: answer.url,
    took: answer.took,
    sent: answer.sent,
    cost: finite(json.cost),
    delayed: finite(json.delayed) ?? 0,
    reading: outcome === 'error' ? null : readingOf(answer),
    redis: redisOf(answer),
    reached: answer.status !== 0,
    reason: outcome === 'error' ? words(answer) : '',
  };
}
