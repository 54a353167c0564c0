/* All HTTP of the page, and nothing else: what is sent, with which headers, and how an answer or its absence is told.
   The admin token lives in a variable here; it is never stored, shown or put into an address. */

const TIMEOUT_MS = 10000;
const HELD_MS = 35000; // an answer may be delayed by half a minute
const GONE = "The demo server isn't answering.";

let token = '';

export function setToken(value) {
  token = value;
}

export const hasToken = () => token !== '';

function parse(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/* Resolves always. Status 0 means that no answer came, with `problem` saying so in words. */
async function exchange(path, options = {}, ms = TIMEOUT_MS) {
  const url = new URL(path, location.origin).href;
  const sent = performance.now();
  const answer = { url, sent, status: 0, statusText: '', headers: new Map(), body: '', json: null, problem: '', type: '' };
  try {
    const response = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(ms), ...options });
    answer.body = await response.text();
    answer.status = response.status;
    answer.statusText = response.statusText;
    answer.headers = new Map(response.headers);
    answer.json = parse(answer.body);
  } catch (error) {
    answer.problem = error.name === 'TimeoutError'
      ? `No answer within ${ms / 1000} s.`
      : GONE;
  }
  answer.arrived = performance.now();
  answer.took = answer.arrived - sent;
  answer.wallClock = new Date();
  return answer;
}

function admin(path, options = {}) {
  const headers = { Accept: 'application/json', ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  return exchange(path, { ...options, headers });
}

/* The server's own words about a refusal: problem+json `detail`, else what the status says. */
function reasonOf(answer) {
  const json = answer.json ?? {};
  for (const text of [answer.problem, json.detail, json.error, json.title]) {
    if (typeof text === 'string' && text) return text;
  }
  return `The server answered ${answer.status} ${answer.statusText}.`.replace(' .', '.');
}

const REFUSALS = new Map([[0, 'gone'], [401, 'locked'], [403, 'locked'], [412, 'changed'], [503, 'unavailable']]);

/* { ok, kind, status, reason, json, version }: kind is '', gone, locked, changed, unavailable or refused. */
function verdict(answer) {
  const ok = answer.status >= 200 && answer.status < 300;
  const etag = /^"(\d+)"$/.exec(answer.headers.get('etag') ?? '');
  return {
    ok,
    kind: ok ? '' : (REFUSALS.get(answer.status) ?? 'refused'),
    status: answer.status,
    reason: ok ? '' : reasonOf(answer),
    json: answer.json,
    version: etag ? etag[1] : null,
  };
}

/* Where a request of `client` under a policy goes: the policy's own path, or /check where it has none. */
function apiPath({ policy, client }, values) {
  const path = values?.paths?.[0] ?? (values || policy === 'default' ? null : `/api/${policy}`);
  if (policy === 'default') return `${path ?? '/api'}?user=${client}`;
  return path ? `${path}?user=${client}` : `/check?${new URLSearchParams({ policy, key: `user:${client}` })}`;
}

export const apiUrl = (target, values) => new URL(apiPath(target, values), location.origin).href;

/* One real request to the limited resource. */
export async function sendOne(target, values) {
  return Object.assign(await exchange(apiPath(target, values), {}, HELD_MS), target);
}

/* What `key` has left, without taking from it. Only some callers may ask: others get 403. */
export function peek(policy, key) {
  const query = new URLSearchParams({ policy, key, cost: '0' });
  return exchange(`/check?${query}`);
}

export async function algorithms() {
  return verdict(await exchange('/algorithms'));
}

const policyPath = (name) => `/admin/policies/${encodeURIComponent(name)}`;

export async function readPolicy(name) {
  return verdict(await admin(policyPath(name)));
}

/* Applies `change` if the settings are still at `version` (null: whatever they are now). */
export async function changePolicy(name, change, version) {
  const headers = { 'Content-Type': 'application/json' };
  if (version !== null) headers['If-Match'] = `"${version}"`;
  return verdict(await admin(policyPath(name), { method: 'PATCH', headers, body: JSON.stringify(change) }));
}

export async function readConfig() {
  return verdict(await admin('/admin/config'));
}

/* What Redis holds of a client, and forgetting him. */
export async function readKey(policy, key, options) {
  return verdict(await admin(`/admin/keys?${new URLSearchParams({ policy, key })}`, options));
}

export const forgetKey = (policy, key) => readKey(policy, key, { method: 'DELETE' });

/* A peek with the algorithm's own values. */
export async function labState(policy, user) {
  const answer = await admin(`/lab/state?${new URLSearchParams({ policy, user })}`);
  return { ...verdict(answer), sent: answer.sent, arrived: answer.arrived };
}

/* An answer that is read while it comes: `line(text)` gets each line. Resolves when it is over, with the verdict. */
export async function readLines(path, { signal, line, opened = () => {}, ...options }) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    const response = await fetch(path, { cache: 'no-store', signal, ...options, headers });
    if (!response.ok) {
      const body = await response.text();
      return verdict({ status: response.status, statusText: response.statusText, headers: response.headers, json: parse(body), problem: '' });
    }
    opened();
    await eachLine(response.body.getReader(), line);
    return { ok: true, kind: '', status: response.status, reason: '' };
  } catch (error) {
    const stopped = signal?.aborted;
    return { ok: false, kind: stopped ? 'stopped' : 'gone', status: 0, reason: stopped ? '' : GONE };
  }
}

async function eachLine(reader, line) {
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop();
    lines.forEach(line);
  }
  if (rest) line(rest);
}
