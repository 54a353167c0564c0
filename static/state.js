/* What the page knows, in one place: whom it sends as, decisions, the newest reading of the limit, settings, and how server
   and Redis do. Panels subscribe to a topic and read; it draws nothing and sends nothing. */

import { refillOf, supersedes } from './estimate.js';
import { createSeries } from './series.js';

export const RING = 5000;

export function createStore() {
  const listeners = new Map();
  const ring = new Array(RING);
  let total = 0;

  const store = {
    target: { policy: 'token-bucket', client: 'alice' },
    counts: { allowed: 0, denied: 0, delayed: 0, error: 0, shadow_denied: 0 },
    last: null,    // newest answer to this browser
    reading: null, // newest numbers of the target, see decision.js
    run: null,     // the last run, see runs.js
    settings: { phase: 'loading', policy: 'token-bucket', version: null, values: null, algorithm: null, reason: '' },
    link: { server: 'unknown', redis: 'unknown', latency: null, waiting: 0 },
    live: 'off',   // whether /lab/events is heard: off, on or lost
    series: createSeries(),

    /* Topics: decisions, batch (of a run), sent, answer, reading, run, settings, link, target, live. */
    on(topic, listener) {
      if (!listeners.has(topic)) listeners.set(topic, new Set());
      listeners.get(topic).add(listener);
    },

    get total() { return total; },
    get locked() { return store.settings.phase === 'locked'; },

    /* Decisions in order of time; each { outcome, at, client, policy, remaining, wait, took, via }, with the whole answer
       where this browser got it. */
    addDecisions(list) {
      for (const decision of list) {
        decision.number = total + 1;
        ring[total % RING] = decision;
        total += 1;
        store.counts[decision.outcome] += 1;
        if (decision.policy === store.target.policy) store.series.add(decision.at, decision.client, decision.outcome, 1, decision.remaining);
      }
      emit('decisions', list);
    },

    /* Decisions of a run by the server; what was left for the target with each goes into the chart. */
    addRun(list) {
      const { client } = store.target;
      for (const { at, client: whose, remaining } of list) {
        if (whose === client && remaining !== null) store.series.level(at, remaining);
      }
      store.addDecisions(list);
      emit('batch', list);
    },

    /* Others' decisions that are known by number only. */
    addCounts(outcome, count, at) {
      store.counts[outcome] += count;
      store.series.add(at, '', outcome, count);
      emit('decisions', []);
    },

    /* A request of this browser is on its way. */
    sent: (policy) => emit('sent', policy),

    /* An answer to this browser. */
    addAnswer(decision) {
      store.last = decision;
      store.addDecisions([decision]);
      emit('answer', decision);
      if (decision.reading) store.setReading(decision.reading);
      store.setLink({ server: decision.reached ? 'up' : 'gone', ...(decision.redis ? { redis: decision.redis } : {}) });
    },

    /* The newest `count` decisions that `wanted` accepts, newest first, from number `until` down. */
    newest(count, wanted = () => true, until = total) {
      const out = [];
      for (let i = until - 1; i >= 0 && i >= total - RING && out.length < count; i -= 1) {
        if (wanted(ring[i % RING])) out.push(ring[i % RING]);
      }
      return out;
    },

    /* Takes a reading unless it is of somebody else, or one of a later state is there already. */
    setReading(reading) {
      const { policy, client } = store.target;
      if (reading.policy !== policy || reading.client !== client) return;
      if (!supersedes(reading, store.reading, refillOf(reading, store.settings.values))) return;
      store.reading = reading;
      store.series.level(Date.now(), reading.remaining);
      if (reading.algorithm === 'fixed_window' && reading.remaining < reading.limit) store.series.edge(Date.now() + reading.resetAfter * 1000);
      emit('reading', reading);
    },

    setTarget(change) {
      const next = { ...store.target, ...change };
      if (next.policy === store.target.policy && next.client === store.target.client) return;
      const other = next.policy !== store.target.policy;
      store.target = next;
      store.reading = null;
      if (other) store.setSettings({ phase: store.locked ? 'locked' : 'loading', policy: next.policy, values: null, algorithm: null });
      emit('target', next, other);
    },

    setRun(run) {
      store.run = run;
      emit('run', run);
    },

    setSettings(change) {
      store.settings = { ...store.settings, ...change };
      emit('settings', store.settings);
    },

    setLink(change) {
      const next = { ...store.link, ...change };
      if (Object.keys(next).every((name) => next[name] === store.link[name])) return;
      const before = store.link;
      store.link = next;
      emit('link', next, before);
    },

    setLive(live) {
      if (store.live === live) return;
      store.live = live;
      emit('live', live);
    },
  };

  function emit(topic, ...args) {
    for (const listener of listeners.get(topic) ?? []) listener(...args);
  }

  return store;
}
