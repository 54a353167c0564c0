/* What the page knows, in one place: decisions, the newest reading of the bucket, settings, and how server and Redis do.
   Panels subscribe to a topic and read; it draws nothing and sends nothing. */

import { refillOf, supersedes } from './estimate.js';

const RING = 5000;

export function createStore() {
  const listeners = new Map();
  const ring = new Array(RING);
  let total = 0;

  const store = {
    counts: { allowed: 0, denied: 0, delayed: 0, error: 0 },
    last: null,    // newest decision
    reading: null, // newest numbers of the bucket, see decision.js
    run: null,     // the last burst: { count, done, allowed, denied, delayed, error, seconds, running }
    settings: { phase: 'loading', policy: 'default', version: null, values: null, algorithm: null, reason: '' },
    link: { server: 'unknown', redis: 'unknown' },

    /* Topics: decision, reading, run, settings, link. Returns the way to stop listening. */
    on(topic, listener) {
      if (!listeners.has(topic)) listeners.set(topic, new Set());
      listeners.get(topic).add(listener);
      return () => listeners.get(topic).delete(listener);
    },

    addDecision(decision) {
      decision.number = total + 1;
      ring[total % RING] = decision;
      total += 1;
      store.last = decision;
      store.counts[decision.outcome] += 1;
      emit('decision', decision);
      if (decision.reading) store.setReading(decision.reading);
      store.setLink({ server: decision.reached ? 'up' : 'gone', ...(decision.redis ? { redis: decision.redis } : {}) });
    },

    /* The newest `count` decisions, newest first. */
    newest(count) {
      const out = [];
      for (let i = total - 1; i >= 0 && i >= total - RING && out.length < count; i -= 1) out.push(ring[i % RING]);
      return out;
    },

    /* Takes a reading unless one of a later state is there already. */
    setReading(reading) {
      if (!supersedes(reading, store.reading, refillOf(reading, store.settings.values))) return;
      store.reading = reading;
      emit('reading', reading);
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
      if (next.server === store.link.server && next.redis === store.link.redis) return;
      const before = store.link;
      store.link = next;
      emit('link', next, before);
    },
  };

  function emit(topic, ...args) {
    for (const listener of listeners.get(topic) ?? []) listener(...args);
  }

  return store;
}
