/* Asks what the target has left, without taking from it: /lab/state with the algorithm's own values where that is open, else a
   peek. Asked after answers, runs and changes, when a countdown is over that no arithmetic continues, and at the page's
   will. */

import { labState, peek } from './api.js';
import { decisionOf, readingOf } from './decision.js';
import { REDIS_AWAY } from './notices.js';

const SOON_MS = 300;
const AGAIN_MS = 1000;

export function createAsker(store, { reload }) {
  let timer = 0;
  let askedAt = -Infinity;
  let clock = 0;

  async function ask() {
    clearTimeout(timer);
    timer = 0;
    askedAt = performance.now();
    const { policy, client } = store.target;
    return store.locked ? byPeek() : byState(policy, client);
  }

  async function byState(policy, client) {
    const answer = await labState(policy, client);
    if (answer.kind === 'gone') store.setLink({ server: 'gone' });
    if (!answer.ok) return;
    const { json } = answer;
    const reading = readingOf({ json: json.decision, headers: new Map(), sent: answer.sent, arrived: answer.arrived, client });
    const values = Object.fromEntries((json.limits?.[0]?.values ?? []).map(({ name, value }) => [name, value]));
    if (reading) store.setReading({ ...reading, state: values });
    grid(json.redis_time);
    const mode = { local: 'local', none: store.settings.values?.on_redis_error ?? 'open' }[json.decision?.source];
    store.setLink({ server: 'up', redis: mode ?? 'up' });
    if (store.settings.version !== null && String(json.version) !== store.settings.version) reload();
  }

  /* The windows of the sliding window counter lie on the grid of Redis's clock. */
  function grid(now) {
    const { algorithm, window, sub_windows: parts } = store.settings.values ?? {};
    if (!now || algorithm !== 'sliding_window_counter') return;
    const sub = window / parts;
    store.series.edge(Date.now() + (Math.ceil(now / sub) * sub - now) * 1000);
  }

  async function byPeek() {
    const { client, key = 'page:probe', policy } = store.reading ?? store.target;
    const answer = Object.assign(await peek(policy, key), { client });
    if (answer.status === 403) return; // not ours to ask: the next request will tell
    const { redis, reached } = decisionOf(answer);
    const reading = readingOf(answer);
    if (reading && store.reading) store.setReading(reading);
    store.setLink({ server: reached ? 'up' : 'gone', ...(redis ? { redis } : {}) });
  }

  function soon(ms = SOON_MS) {
    if (document.hidden) return;
    if (!timer) timer = setTimeout(ask, Math.max(ms, askedAt + AGAIN_MS - performance.now()));
  }

  /* The sliding windows: what comes back after the next one is known to Redis alone, and the counter's weight moves. */
  function countdown(reading) {
    clearTimeout(clock);
    if (!reading.algorithm.startsWith('sliding') || reading.resetAfter <= 0 || store.locked) return;
    const most = reading.algorithm === 'sliding_window_counter' ? AGAIN_MS : 2e9;
    const ms = Math.min(reading.resetAfter * 1000 + 20, most);
    clock = setTimeout(() => store.reading === reading && !document.hidden && ask(), ms);
  }

  store.on('reading', (reading) => {
    countdown(reading);
    if (reading.state === undefined && !store.locked && reading.algorithm !== 'token_bucket') soon();
  });
  /* While Redis is away. */
  async function look() {
    looking = true;
    if (!document.hidden) await ask();
    looking = false;
    watch();
  }

  function watch() {
    if (!looking && REDIS_AWAY[store.link.redis] && store.link.server === 'up') {
      looking = true;
      setTimeout(look, 2000);
    }
  }

  let looking = false;
  store.on('link', watch);
  store.on('run', (run) => { if (!run.running && !run.browser && !run.quiet) soon(0); });
  store.on('target', () => { if (!store.locked) soon(0); });
  return ask;
}
