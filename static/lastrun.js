/* The Last run panel: what was sent, what became of it, what was predicted, and how well both ends kept up. */

import { part, setAttr, setText, showLine } from './dom.js';
import { milliseconds, number, plural } from './format.js';
import { drawn } from './frame.js';

const WHY_TWICE = 'Each window counts from zero, whatever came just before it. ';

export function mountLastRun(el, store, announce) {
  const mark = drawn(() => draw(el, store.run), 100);
  let told = null;
  store.on('run', (run) => {
    mark();
    if (run.running || told === run) return;
    told = run;
    announce([textOf(run), verdictOf(run)].filter(Boolean).join(' '));
  });
}

function draw(el, run) {
  part(el, 'text').classList.remove('empty');
  setText(part(el, 'text'), textOf(run));
  const verdict = verdictOf(run);
  setAttr(part(el, 'verdict'), 'data-tone', run.total?.matches === false ? 'bad' : 'good');
  showLine(part(el, 'verdict'), verdict);
  showLine(part(el, 'why'), whyOf(run));
  showLine(part(el, 'perf'), perfOf(run));
}

/* Allowed 10, denied 17, delayed 3, errors 0. */
export function countsOf({ allowed, denied, delayed, error, shadow_denied: watched }) {
  const passed = `${number(allowed + watched)}${watched ? `, of which ${number(watched)} would have been denied (shadow)` : ''}`;
  return `Allowed ${passed}, denied ${number(denied)}${delayed ? `, delayed ${number(delayed)}` : ''}, errors ${number(error)}.`;
}

/* Burst: 412 of 1,000. / Sent 1,000 in 0.11 s. Allowed 10, denied 990, errors 0. */
function textOf(run) {
  if (run.running) return `${run.label}: ${number(run.done)} of ${number(run.count)}.`;
  if (run.refused) return run.refused;
  const counts = countsOf(run);
  if (run.stopped || run.total?.stopped) return `Stopped at ${number(run.done)} of ${number(run.count)}. ${counts}`;
  return `Sent ${number(run.done)} in ${run.seconds < 0.1 ? milliseconds(run.seconds * 1000) : `${run.seconds.toFixed(2)} s`}${run.browser ? ' from this browser' : ''}. ${counts}`;
}

const range = ({ allowed, least, most }) => (least === most ? number(allowed) : `${number(allowed)} (${number(least)} to ${number(most)})`);

/* Predicted 10: matches. / Predicted 10: differs by 2. What only watches lets more through than was predicted to fit. */
function verdictOf(run) {
  const { prediction, total } = run;
  if (!prediction) return '';
  const watched = run.shadow_denied > 0;
  if (!total || total.matches === null || run.stopped) return `Predicted ${range(prediction)} ${watched ? 'within the limit' : 'allowed'}.`;
  const got = total.allowed + total.delayed;
  const off = Math.max(prediction.least - got, got - prediction.most);
  return `Predicted ${range(prediction)}${watched ? ' within the limit' : ''}: ${total.matches ? 'matches' : `differs by ${number(off)}`}.`;
}

function whyOf(run) {
  const edge = run.total && run.scenario === 'window_edge'
    ? `${number(run.total.most_in_window)} allowed within ${number(run.total.window)} s; limit ${number(run.limit)}. ${run.total.most_in_window > run.limit && !run.shadow_denied ? WHY_TWICE : ''}` : '';
  return `${edge}${run.unforetold && !run.prediction ? `No prediction: ${run.unforetold}` : run.why ?? ''}`.trim();
}

function perfOf(run) {
  if (run.running || run.refused) return '';
  const texts = [];
  if (run.rate && run.done > 1 && run.total) texts.push(`asked ${number(run.rate)}/s, achieved ${number(Math.round(run.total.rate * 10) / 10)}/s`);
  if (run.total?.dropped) texts.push(`${plural(run.total.dropped, 'request')} dropped`);
  if (run.frames && run.seconds >= 1) texts.push(`drew at ${run.frames} frames a second`);
  const text = texts.join('; ');
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : '';
}
