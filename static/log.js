/* The Decisions panel: tallies and the newest decisions in 40 rows that are made once and reused. */

import { make, part, setAttr, setText, showLine } from './dom.js';
import { OUTCOMES } from './decision.js';
import { clock, milliseconds, number, plural, seconds } from './format.js';

const ROWS = 40;
const COLUMNS = ['num', 'c-time', 'c-outcome', 'num c-status', 'num', 'num', 'num c-took'];

export function mountLog(el, store) {
  const rows = Array.from({ length: ROWS }, makeRow);
  part(el, 'rows').append(...rows);
  let due = 0;

  function draw() {
    due = 0;
    drawTally(el, store.counts);
    const decisions = store.newest(ROWS);
    rows.forEach((row, i) => fillRow(row, decisions[i]));
    part(el, 'empty').hidden = decisions.length > 0;
  }

  store.on('decision', () => {
    due = due || requestAnimationFrame(draw);
  });
  store.on('run', (run) => showLine(part(el, 'run'), runText(run)));
}

function drawTally(el, counts) {
  setText(part(el, 'allowed'), number(counts.allowed + counts.delayed));
  setText(part(el, 'denied'), number(counts.denied));
  setText(part(el, 'error'), number(counts.error));
}

function makeRow() {
  const row = make('tr');
  row.hidden = true;
  row.append(...COLUMNS.map((name) => make('td', name)));
  return row;
}

function fillRow(row, decision) {
  row.hidden = !decision;
  if (!decision) return;
  const { glyph, word } = OUTCOMES[decision.outcome];
  const { reading } = decision;
  const texts = [
    number(decision.number),
    clock(decision.at),
    `${glyph} ${word}`,
    decision.status ? String(decision.status) : '–',
    reading ? number(reading.remaining) : '–',
    decision.retryAfter === null ? '–' : seconds(decision.retryAfter),
    milliseconds(decision.took),
  ];
  texts.forEach((text, i) => setText(row.cells[i], text));
  setAttr(row, 'data-outcome', decision.outcome);
}

export function runText(run) {
  if (run.running) return `Burst: ${number(run.done)} of ${number(run.count)}.`;
  const errors = `errors ${number(run.error)}`;
  return `Sent ${plural(run.count, 'request')} from this browser in ${run.seconds.toFixed(2)} s. `
    + `Allowed ${number(run.allowed + run.delayed)}, denied ${number(run.denied)}, ${errors}.`;
}
