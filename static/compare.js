/* The Compare panel: the traffic of the Burst and Rate fields through all five algorithms at once, on keys of their own. */

import { ALGORITHMS, shapeOf, titleOf } from './algorithms.js';
import { make, part, setAttr, setText } from './dom.js';
import { number, seconds } from './format.js';
import { idle } from './runs.js';

const COMPARED_MAX = 2000;

/* Returns start(), for the shortcut. */
export function mountCompare(el, store, runner) {
  const rows = ALGORITHMS.map(({ title }) => {
    const row = make('tr');
    const head = make('th', '', title);
    head.scope = 'row';
    row.append(head, ...Array.from({ length: 4 }, () => make('td', 'num', '–')));
    return row;
  });
  part(el, 'rows').append(...rows);
  const button = part(el, 'run');

  /* A burst of three times what fits, then one and a half times what comes back, for ten seconds at most. */
  async function start() {
    const shape = shapeOf(store.settings.values);
    if (!shape || store.locked || runner.busy()) return;
    const rate = Math.min(200, Math.max(1, shape.burst));
    const count = Math.max(2, Math.min(COMPARED_MAX, Math.round(shape.burst * 3), rate * 20));
    const text = `${number(count)} requests at ${number(rate)}/s through each`;
    setText(part(el, 'text'), `${text}...`);
    const run = await runner.start({
      label: 'Compare', count: count * ALGORITHMS.length, rate, quiet: true, body: { scenario: 'compare', count, rate },
      why: 'Each algorithm with the same limit: as many at once, and as many in the long run.',
    });
    if (run?.total?.rows) run.total.rows.forEach((row) => fill(rows, row));
    setText(part(el, 'text'), run?.total ? `${text}, on keys of their own.` : run?.refused || 'Stopped.');
  }

  const draw = () => { button.disabled = store.locked || !idle(store) || !store.settings.values; };
  button.addEventListener('click', start);
  store.on('settings', draw);
  store.on('run', draw);
  draw();
  return start;
}

function fill(rows, result) {
  const row = rows[ALGORITHMS.findIndex((one) => one.name === result.algorithm)];
  if (!row) return;
  const missed = result.matches === false;
  setAttr(row, 'data-matches', String(!missed));
  const texts = [
    titleOf(result.algorithm), number(result.allowed + result.delayed), number(result.denied), number(result.most_in_window),
    result.longest_wait > 0 ? seconds(result.longest_wait) : 'none',
  ];
  texts.forEach((text, i) => setText(row.cells[i], text));
}
