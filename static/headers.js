/* The wire: status line, rate limit headers and body of the last answer as they came, and a curl command to repeat it. */

import { apiUrl } from './api.js';
import { copyText, curlLine, selectText } from './curl.js';
import { OUTCOMES } from './decision.js';
import { make, part, setAttr, setText, showLine } from './dom.js';

/* Shown in this order where the answer has them; the note says what a value means. */
const SHOWN = [
  ['X-RateLimit-Limit', () => 'tokens the bucket holds'],
  ['X-RateLimit-Remaining', () => 'tokens left, rounded down'],
  ['X-RateLimit-Reset', (value) => `the next token comes (${timeOfDay(value)})`],
  ['RateLimit-Policy', () => 'quota q, from empty to full in w seconds'],
  ['RateLimit', () => 'r left, the next one in t seconds'],
  ['Retry-After', () => 'seconds to wait before another try'],
  ['X-RateLimit-Shadow', () => 'would have been denied'],
  ['Cache-Control', () => 'no cache may keep this answer'],
  ['Content-Type', () => 'form of the body'],
];

function timeOfDay(epochSeconds) {
  const date = new Date(Number(epochSeconds) * 1000);
  return Number.isNaN(date.getTime()) ? 'not a time' : date.toLocaleTimeString('en-GB');
}

export function mountHeaders(el, store) {
  mountCurl(el, store);
  let due = 0;
  store.on('decision', () => {
    due = due || requestAnimationFrame(() => {
      due = 0;
      draw(el, store.last);
    });
  });
}

function draw(el, decision) {
  part(el, 'none').hidden = true;
  part(el, 'some').hidden = false;
  const line = part(el, 'line');
  setAttr(line, 'data-outcome', decision.outcome);
  const status = decision.status ? `${decision.status} ${decision.statusText}`.trim() : 'no answer';
  setText(line, `${OUTCOMES[decision.outcome].glyph} ${status}`);
  part(el, 'list').replaceChildren(...SHOWN.flatMap(([name, note]) => entry(name, decision.headers, note)));
  setText(part(el, 'body'), pretty(decision.body) || '(empty)');
}

function entry(name, headers, note) {
  const value = headers.get(name.toLowerCase());
  if (value === undefined) return [];
  const box = make('div');
  const dd = make('dd');
  dd.append(make('span', 'mono value', value), make('span', 'note', note(value)));
  box.append(make('dt', 'mono', name), dd);
  return [box];
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function mountCurl(el, store) {
  const line = part(el, 'curl-line');
  const draw = () => setText(line, curlLine(store.last ? store.last.url : apiUrl()));
  draw();
  store.on('decision', draw);
  part(el, 'copy').addEventListener('click', async () => {
    const copied = await copyText(line.textContent);
    if (!copied) selectText(line);
    showLine(part(el, 'copied'), copied ? 'Copied.' : 'Selected. Press Ctrl+C to copy.');
    setTimeout(() => showLine(part(el, 'copied'), ''), 4000);
  });
}
