/* The Inspector: an answer as it came over the wire, the curl command that repeats it, and what Redis holds of its client.
   Shows the newest answer until somebody chooses another decision. */

import { apiUrl, labState } from './api.js';
import { copyText, curlLine, selectText } from './curl.js';
import { OUTCOMES } from './decision.js';
import { make, part, setAttr, setText, showLine } from './dom.js';
import { drawn } from './frame.js';
import { seconds } from './format.js';

/* Shown in this order where the answer has them; the note says what a value means. */
const SHOWN = [
  ['X-RateLimit-Limit', () => 'the limit'],
  ['X-RateLimit-Remaining', () => 'left, rounded down'],
  ['X-RateLimit-Reset', (value) => `one more at ${timeOfDay(value)}`],
  ['RateLimit-Policy', () => 'quota q, from empty to full in w seconds'],
  ['RateLimit', () => 'r left, one more in t seconds'],
  ['Retry-After', () => 'seconds to wait before another try'],
  ['X-RateLimit-Shadow', () => 'would have been denied'],
  ['Cache-Control', () => 'not to be cached'],
  ['Content-Type', () => 'form of the body'],
];

const VIA = { run: 'fired by the server, so it has no HTTP answer', other: "somebody else's; this page has not seen its answer" };

function timeOfDay(epochSeconds) {
  const date = new Date(Number(epochSeconds) * 1000);
  return Number.isNaN(date.getTime()) ? 'no time' : date.toLocaleTimeString('en-GB');
}

/* Returns open(decision, focus). */
export function mountInspector(el, store) {
  let chosen = null;
  let asked = null; // whose key was last asked for
  const mark = drawn(draw);
  const panes = mountTabs(part(el, 'tabs'), mark);

  function draw() {
    const decision = chosen ?? store.last;
    setText(part(el, 'which'), chosen ? `decision ${chosen.number}` : 'newest answer');
    setText(part(el, 'curl-line'), curlLine(decision?.url ?? apiUrl(store.target, store.settings.values)));
    if (decision) drawAnswer(el, decision);
    const whose = decision ?? store.target;
    if (panes.redis.hidden || asked === whose) return;
    asked = whose;
    drawKey(el, store, whose);
  }

  store.on('answer', () => {
    chosen = null;
    mark();
  });
  store.on('target', mark);
  store.on('settings', () => {
    asked = null;
    mark();
  });
  mark();
  part(el, 'copy').addEventListener('click', async () => {
    const line = part(el, 'curl-line');
    const copied = await copyText(line.textContent);
    if (!copied) selectText(line);
    showLine(part(el, 'copied'), copied ? 'Copied.' : 'Selected. Press Ctrl+C to copy.');
    setTimeout(() => showLine(part(el, 'copied'), ''), 4000);
  });
  return (decision, focus) => {
    chosen = decision;
    draw();
    if (focus) el.focus();
  };
}

function mountTabs(list, changed) {
  const tabs = [...list.children];
  const paneOf = (tab) => document.getElementById(tab.getAttribute('aria-controls'));
  function select(tab) {
    for (const one of tabs) {
      setAttr(one, 'aria-selected', String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
      paneOf(one).hidden = one !== tab;
    }
    changed();
  }
  list.addEventListener('click', (event) => {
    if (tabs.includes(event.target)) select(event.target);
  });
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    select(next);
    next.focus();
  });
  return { redis: paneOf(tabs[3]) };
}

function drawAnswer(el, decision) {
  const line = part(el, 'line');
  const { glyph, word } = OUTCOMES[decision.outcome];
  setAttr(line, 'data-outcome', decision.outcome);
  const wire = decision.via === 'browser';
  const status = decision.status ? `${decision.status} ${decision.statusText}`.trim() : 'no answer';
  setText(line, `${glyph} ${wire ? status : word}`);
  const after = decision.wait ? ` Over HTTP it is a 429 with Retry-After: ${Math.max(1, Math.ceil(decision.wait))}.` : '';
  showLine(part(el, 'none'), wire ? '' : `Decision ${decision.number} for ${decision.client || 'a client'}: ${VIA[decision.via]}.${after}`);
  part(el, 'list').replaceChildren(...(wire ? SHOWN.flatMap(([name, note]) => fromHeaders(name, decision.headers, note)) : []));
  setText(part(el, 'body'), pretty(decision.body ?? '') || '(none)');
}

function fromHeaders(name, headers, note) {
  const value = headers.get(name.toLowerCase());
  return value === undefined ? [] : [entry(name, value, note(value))];
}

function entry(name, value, note) {
  const box = make('div');
  const dd = make('dd');
  dd.append(make('span', 'mono value', value), make('span', 'note', note));
  box.append(make('dt', 'mono', name), dd);
  return box;
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/* The key as it is now, not as it was at the decision. */
async function drawKey(el, store, { policy, client }) {
  const answer = store.locked ? { reason: 'Locked. Enter the admin token in the Limiter panel.' } : await labState(policy, client);
  setText(part(el, 'redis-note'), answer.ok ? answer.json.redis_error ?? `What Redis holds of ${client} now.` : answer.reason);
  part(el, 'redis-list').replaceChildren(...(answer.json?.limits ?? []).filter((limit) => limit.redis_key).flatMap((limit) => [
    entry('key', limit.redis_key, limit.name),
    entry('type', limit.type, limit.type === 'none' ? 'as a client never seen' : ''),
    entry('TTL', limit.ttl === null ? 'none' : seconds(limit.ttl), 'then it says no more than its absence'),
    ...Object.entries(limit.fields).map(([name, value]) => entry(name, typeof value === 'object' ? JSON.stringify(value) : String(value), '')),
  ]));
}
