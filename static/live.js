/* Live traffic and health: listens to /lab/events while this tab is seen, takes off what this page sent itself, and hands the
   rest to the store. Without the stream it asks /lab/state every two seconds. */

import { readLines } from './api.js';
import { OUTCOMES } from './decision.js';

const RETRY_MS = 2000;
const STREAMS = 2;     // of one browser: it opens six connections to a server, and needs some for the rest

/* `ask()` fetches the state once, `reload()` the settings. Returns start(), for after unlocking. */
export function mountLive(store, { ask, reload }) {
  let stopper = null;
  let timer = 0;
  const own = createOwn(store);

  async function listen(lock) {
    if (!lock) return null;
    stopper = new AbortController();
    let event = '';
    own.asked();
    return readLines('/lab/events', {
      signal: stopper.signal,
      opened() {
        own.opened();
        store.setLive('on');
      },
      line(text) {
        if (text.startsWith('event: ')) event = text.slice(7);
        else if (text.startsWith('data: ')) heard(event, JSON.parse(text.slice(6)));
      },
    });
  }

  function heard(event, data) {
    if (event === 'stats') own.heard(data);
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
    if (store.live === 'on' || answer) store.setLive('lost');
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

/* Counts of all traffic hold what this page sent too. What it has the answer of is taken off them; while it waits for answers,
   as many are held back. By number and not by time: an answer may take half a minute. */
function createOwn(store) {
  const accounts = new Map(); // of kind and policy
  const names = Object.keys(OUTCOMES);
  const zero = () => Object.fromEntries(names.map((name) => [name, 0]));
  let asked = Infinity; // when the stream was asked for, and since when it is there
  let since = Infinity;
  let heard = 0; // counts that it has brought
  let answers = []; // own, to be told from samples

  function account(kind, policy) {
    const name = `${kind} ${policy}`;
    if (!accounts.has(name)) accounts.set(name, { policy, flying: 0, owed: zero(), maybe: zero(), held: zero(), samples: [] });
    return accounts.get(name);
  }

  /* One answer of our own: counted already, or about to be. Of what was under way while the stream began nobody here knows
     whether it is counted; if so, then at once. */
  function settle(to, outcome, sent) {
    if (to.held[outcome] > 0) to.held[outcome] -= 1;
    else if (sent > since || performance.now() > asked) {
      to.owed[outcome] += 1;
      to.maybe[outcome] += sent <= since && heard < 2;
    }
  }

  function forgetMaybe(to) {
    for (const name of names) to.owed[name] = Math.max(0, to.owed[name] - to.maybe[name]);
    to.maybe = zero();
  }

  const same = (sample, one) => sample.outcome === one.outcome && sample.key === one.reading?.key;

  store.on('sent', (policy) => { account('policies', policy).flying += 1; });
  store.on('answer', (decision) => {
    const to = account('policies', decision.policy);
    to.flying -= 1;
    if ([200, 429, 503].includes(decision.status)) settle(to, decision.outcome, decision.sent);
    else if (decision.status === 0) to.held.delayed = Math.max(0, to.held.delayed - 1); // given up, and held still
    const i = to.samples.findIndex((sample) => same(sample, decision));
    if (i >= 0) to.samples.splice(i, 1);
    else answers = [...answers, decision].slice(-200);
    release(to);
  });
  store.on('batch', (list) => list.forEach((one) => settle(account('runs', one.policy), one.outcome, store.live === 'on' ? Infinity : 0)));
  store.on('run', (run) => {
    if (run.quiet || run.browser) return;
    const to = account('runs', run.policy);
    to.flying = run.running ? run.count - run.done : 0;
    release(to);
  });

  /* Is this sample an answer that this page has itself? */
  function mine(sample) {
    const i = answers.findIndex((one) => same(sample, one) && Math.abs(one.at - one.delayed * 1000 - sample.time) < 1500);
    if (i >= 0) answers.splice(i, 1);
    return i >= 0;
  }

  /* What cannot be ours is others'. */
  function release(from) {
    const list = [];
    for (const name of names) {
      let free = Math.max(0, from.held[name] - from.flying);
      from.held[name] -= free;
      from.samples = from.samples.filter((sample) => {
        const taken = free > 0 && sample.outcome === name;
        if (taken) list.push(decisionOf(sample));
        free -= taken;
        return !taken;
      });
      if (free && from.policy === store.target.policy) store.addCounts(name, free, Date.now());
    }
    if (from.flying === 0) from.samples = [];
    if (list.length && from.policy === store.target.policy) store.addDecisions(list.sort((a, b) => a.at - b.at));
  }

  return {
    asked() {
      asked = performance.now();
      heard = 0;
      for (const one of accounts.values()) one.maybe = zero();
    },

    opened() {
      since = performance.now();
      for (const one of accounts.values()) Object.assign(one, { owed: { ...one.maybe }, held: zero(), samples: [] });
    },

    heard(stats) {
      for (const sample of stats.sample) {
        if (!mine(sample)) account('policies', sample.policy).samples.push(sample);
      }
      for (const kind of ['policies', 'runs']) {
        for (const [policy, counts] of Object.entries(stats[kind])) {
          const to = account(kind, policy);
          for (const name of names) {
            const own = Math.min(counts[name], to.owed[name]);
            to.owed[name] -= own;
            to.held[name] += counts[name] - own;
          }
          release(to);
        }
      }
      heard += 1;
      if (heard === 2) for (const one of accounts.values()) forgetMaybe(one);
    },
  };
}

function decisionOf({ time, policy, key, outcome, remaining, wait }) {
  return {
    outcome, at: time, client: key.replace(/^user:/, ''), policy, via: 'other',
    remaining, wait: outcome === 'denied' ? wait : null, delayed: outcome === 'delayed' ? wait : 0, took: null,
  };
}
