/* The Decisions panel: tallies, and the newest decisions in 40 rows that are made once and reused. It waits while somebody
   looks at it. */

import { saveCsv } from './csv.js';
import { make, part, setAttr, setText, showLine } from './dom.js';
import { OUTCOMES } from './decision.js';
import { clock, milliseconds, number, seconds } from './format.js';
import { drawn } from './frame.js';
import { RING } from './state.js';

const ROWS = 40;
const COLUMNS = ['num', 'c-time', 'c-client', 'c-outcome', 'num', 'num', 'num c-took'];

const FILTERS = {
  all: () => true,
  denied: ({ outcome }) => outcome === 'denied' || outcome === 'shadow_denied',
  error: (decision) => decision.outcome === 'error',
  client: (decision, store) => decision.client === store.target.client,
};

/* `open(decision)` shows one in the Inspector. Returns { nextFilter }. */
export function mountLog(el, store, open) {
  const rows = Array.from({ length: ROWS }, makeRow);
  const body = part(el, 'rows');
  const filter = el.querySelector('#filter');
  const pause = part(el, 'pause');
  const scroll = part(el, 'scroll');
  let shown = [];
  let heldAt = null; // the total when it was paused
  body.append(...rows);

  const selected = () => !getSelection().isCollapsed && getSelection().containsNode(body, true);
  const held = () => pause.getAttribute('aria-pressed') === 'true' || scroll.matches(':hover, :focus-within') || selected();
  const markTally = drawn(() => drawTally(el, store.counts), 50);
  const mark = drawn(draw, 200);

  function hold() {
    heldAt = held() ? heldAt ?? store.total : null;
    mark();
  }

  function draw() {
    const fresh = heldAt === null ? 0 : store.total - heldAt;
    showLine(part(el, 'paused'), heldAt === null ? '' : `Paused, ${number(fresh)} new.`);
    shown = store.newest(ROWS, (decision) => FILTERS[filter.value](decision, store), heldAt ?? undefined);
    rows.forEach((row, i) => fillRow(row, shown[i]));
    part(el, 'empty').hidden = store.total > 0;
  }

  const at = (target) => rows.indexOf(target.closest('tr'));
  scroll.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const now = at(event.target);
    if (step && shown.length) {
      event.preventDefault();
      rows[Math.min(shown.length - 1, Math.max(0, now + step))].focus();
    } else if (event.key === 'Enter' && shown[now]) open(shown[now], true);
  });
  body.addEventListener('click', (event) => {
    if (shown[at(event.target)]) open(shown[at(event.target)], false);
  });
  for (const kind of ['focusin', 'focusout', 'pointerenter', 'pointerleave']) scroll.addEventListener(kind, () => setTimeout(hold));
  document.addEventListener('selectionchange', hold);
  pause.addEventListener('click', () => {
    setAttr(pause, 'aria-pressed', String(pause.getAttribute('aria-pressed') !== 'true'));
    hold();
  });
  filter.addEventListener('change', mark);
  part(el, 'csv').addEventListener('click', () => saveCsv(store.newest(RING)));
  store.on('decisions', () => {
    markTally();
    mark();
  });
  store.on('target', mark);
  return {
    nextFilter() {
      filter.selectedIndex = (filter.selectedIndex + 1) % filter.options.length;
      mark();
      return filter.selectedOptions[0].textContent;
    },
  };
}

function drawTally(el, counts) {
  for (const name of Object.keys(counts)) setText(part(el, name), number(counts[name]));
  for (const name of ['delayed', 'shadow_denied']) part(el, name).parentNode.hidden = counts[name] === 0;
}

function makeRow() {
  const row = make('tr');
  row.hidden = true;
  row.tabIndex = -1;
  row.append(...COLUMNS.map((name) => make('td', name)));
  return row;
}

function fillRow(row, decision) {
  row.hidden = !decision;
  if (!decision) return;
  const { glyph, word, short = word } = OUTCOMES[decision.outcome];
  const held = decision.outcome === 'delayed' && decision.delayed ? ` ${decision.delayed.toFixed(1)} s` : '';
  const texts = [
    number(decision.number),
    clock(decision.at),
    decision.client || '–',
    `${glyph} ${short}${held}`,
    decision.remaining === null ? '–' : number(decision.remaining),
    decision.wait === null ? '–' : seconds(decision.wait),
    decision.took === null ? '–' : milliseconds(decision.took),
  ];
  texts.forEach((text, i) => setText(row.cells[i], text));
  setAttr(row, 'data-outcome', decision.outcome);
}
