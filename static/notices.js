/* What is said aloud: one status line, at most one message in two seconds, and one alert for server or Redis lost and back. */

import { part, setAttr, setText } from './dom.js';
import { OUTCOMES } from './decision.js';
import { unitOf } from './algorithms.js';
import { letThrough, number, plural } from './format.js';

const STATUS_EVERY_MS = 2000;
const BACK_FOR_MS = 8000;

export const REDIS_AWAY = {
  closed: "Redis can't be reached. Requests are refused with 503 until it is back. Trying again in 2 s.",
  open: "Redis can't be reached. Requests are let through unchecked.",
  local: "Redis can't be reached. This server limits on its own until it is back.",
};

/* Returns announce(text), for panels with something to say. */
export function mountStatus(el, store) {
  let saidAt = -Infinity;
  let timer = 0;
  let message = '';
  let since = [];

  function flush() {
    timer = 0;
    saidAt = performance.now();
    const texts = [summary(since, store.reading), message].filter(Boolean);
    since = [];
    message = '';
    setText(el, texts.join(' '));
  }

  function soon() {
    if (!timer) timer = setTimeout(flush, Math.max(150, saidAt + STATUS_EVERY_MS - performance.now()));
  }

  store.on('answer', ({ outcome }) => {
    since.push(outcome);
    soon();
  });
  return (text) => {
    message = text;
    soon();
  };
}

function summary(outcomes, reading) {
  if (outcomes.length === 0) return '';
  const left = reading ? ` ${number(reading.remaining)} of ${plural(reading.limit, unitOf(reading.algorithm))} left.` : '';
  if (outcomes.length === 1) return `${OUTCOMES[outcomes[0]].word}.${left}`;
  const count = (name) => outcomes.filter((outcome) => outcome === name).length;
  const [denied, errors, watched] = ['denied', 'error', 'shadow_denied'].map(count);
  const allowed = letThrough(outcomes.length - denied - errors - watched, watched);
  return `${plural(outcomes.length, 'request')}: ${allowed} allowed, ${denied} denied, ${plural(errors, 'error')}.${left}`;
}

export function mountAlert(el, action, store, again) {
  let timer = 0;

  function show(text, tone) {
    clearTimeout(timer);
    setText(el, text);
    setAttr(el, 'data-tone', text ? tone : 'none');
  }

  store.on('link', (link, before) => {
    action.hidden = link.server !== 'gone';
    if (link.server === 'gone') show("The demo server isn't answering. Start it, then press Try again.", 'bad');
    else if (REDIS_AWAY[link.redis]) show(REDIS_AWAY[link.redis], 'bad');
    else if (before.server === 'gone') back('The demo server is answering again.');
    else if (REDIS_AWAY[before.redis]) back('Redis is back. Decisions come from it again.');
  });

  function back(text) {
    show(text, 'good');
    timer = setTimeout(() => show('', 'none'), BACK_FOR_MS);
  }

  part(action, 'again').addEventListener('click', again);
}

/* A line for what is worth reading once: a link opened, a tab that was hidden. */
export function mountNote(el, store) {
  let timer = 0;
  function note(text) {
    clearTimeout(timer);
    setText(el, text);
    setAttr(el, 'data-tone', text ? 'note' : 'none');
    timer = setTimeout(note, 20000, '');
  }

  let drawn = true;
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) drawn = !store.run?.running;
    else if (!drawn) note('This tab was hidden, so drawing paused. Counts are complete.');
  });
  return note;
}
