/* Live traffic and health: listens to /lab/events while this tab is seen, takes off what this page sent itself, and hands the
   rest to the store. Without the stream it asks /lab/state every two seconds. */

import { readLines } from './api.js';

const RETRY_MS = 2000;
const OWN_MS = 250;    // an answer of our own is here by then
const STREAMS = 2;     // of one browser: it opens six connections to a server, and needs some for the rest
const OUTCOMES = ['allowed', 'denied', 'delayed', 'error'];

/* `ask()` fetches the state once, `reload()` the settings. Returns start(), for after unlocking. */
export function mountLive(store, { ask, reload }) {
  let stopper = null;
  let timer = 0;
  const own = createOwn(store);

  async function listen(lock) {
    if (!lock) return null;
    stopper = new AbortController();
    let event = '';
    return readLines('/lab/events', {
      signal: stopper.signal,
      opened: () => store.setLive('on'),
      line(text) {
        if (text.startsWith('event: ')) event = text.slice(7);
        else if (text.startsWith('data: ')) heard(event, JSON.parse(text.slice(6)));
      },
    });
  }

  function heard(event, data) {
    if (event === 'stats') setTimeout(() => own.others(data), OWN_MS);
    else if (event === 'config') follow(data.version);
    else if (event === 'health') health(store, data);
  }

  function follow(version) {
    if (store.settings.version !== null && String(version) !== store.settings.version) reload();
  }

  async function start() {
    clearTimeout(timer);
    if (stopper || document.hidden || store.locked) return;
    stopper = new AbortController(); // holds the place while a stream is waited for
    const answer = await withSlot(listen);
    stopper = null;
    if (document.hidden || store.locked || answer?.status === 401 || answer?.status === 403) return void store.setLive('off');
    if (store.live === 'on') store.setLive('lost');
    else if (answer) store.setLive('lost');
    await ask();
    timer = setTimeout(start, RETRY_MS);
  }

  function stop() {
    clearTimeout(timer);
    stopper?.abort();
    store.setLive('off');
  }

  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : setTimeout(start, 50)));
  store.on('settings', () => (store.locked ? store.live !== 'off' && stop() : store.settings.phase === 'ready' && store.live === 'off' && start()));
}

/* Runs `use` while one of the browser's few streams is ours; without one, with null. Where locks are unknown there is no
   counting. */
function withSlot(use, slot = 0) {
  if (!navigator.locks) return use(true);
  if (slot === STREAMS) return use(null);
  return navigator.locks.request(`live-${slot}`, { ifAvailable: true }, (lock) => (lock ? use(lock) : withSlot(use, slot + 1)));
}

function health(store, { redis, waiting, latency, on_redis_error: mode }) {
  const away = store.settings.values?.on_redis_error ?? mode;
  store.setLink({ server: 'up', redis: redis === 'down' ? away : 'up', waiting: redis === 'slow' ? waiting : 0, latency });
}

/* Counts of all traffic hold what this page sent too: that is told apart by what the page has counted itself. */
function createOwn(store) {
  const zero = () => Object.fromEntries(OUTCOMES.map((name) => [name, 0]));
  const owed = { policies: zero(), runs: zero() };
  let samples = [];
  const owe = (kind, list) => list.forEach((one) => { owed[kind][one.outcome] += 1; });
  store.on('answer', (decision) => {
    if (decision.status !== 0) owe('policies', [decision]);
    samples.push(decision);
    samples = samples.slice(-200);
  });
  store.on('batch', (list) => owe('runs', list));
  store.on('target', (_, other) => { if (other) for (const kind of Object.keys(owed)) owed[kind] = zero(); });

  /* Is this sample an answer that this page has itself? */
  function mine(sample) {
    const i = samples.findIndex((one) => one.outcome === sample.outcome && one.reading?.key === sample.key && Math.abs(one.at - sample.time) < 1500);
    if (i >= 0) samples.splice(i, 1);
    return i >= 0;
  }

  function others(stats) {
    const { policy } = store.target;
    const left = zero();
    for (const kind of ['policies', 'runs']) {
      const counts = stats[kind]?.[policy] ?? {};
      for (const name of OUTCOMES) {
        const count = (counts[name] ?? 0) + (name === 'allowed' ? counts.shadow_denied ?? 0 : 0);
        const own = Math.min(count, owed[kind][name]);
        owed[kind][name] -= own;
        left[name] += count - own;
      }
    }
    const list = (stats.sample ?? []).filter((sample) => sample.policy === policy && !mine(sample)).map(decisionOf).filter((one) => {
      const room = left[one.outcome] > 0;
      if (room) left[one.outcome] -= 1;
      return room;
    });
    if (list.length) store.addDecisions(list);
    for (const name of OUTCOMES) if (left[name]) store.addCounts(name, left[name], Date.now() - OWN_MS);
  }

  return { others };
}

function decisionOf({ time, policy, key, outcome, remaining, wait }) {
  return {
    outcome: outcome === 'shadow_denied' ? 'allowed' : outcome, at: time, client: key.replace(/^user:/, ''), policy, via: 'other',
    remaining, wait: outcome === 'denied' ? wait : null, delayed: outcome === 'delayed' ? wait : 0, took: null,
  };
}
