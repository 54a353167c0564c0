/* The Send panel: its buttons, and in large letters what the last answer was. */

import { part, setAttr, setText, showLine } from './dom.js';
import { OUTCOMES } from './decision.js';
import { milliseconds, number, plural, seconds } from './format.js';
import { BURST_MAX, sendBurst, sendSingle } from './sender.js';

export function mountSend(el, store) {
  const count = el.querySelector('#burst-count');

  function one() {
    sendSingle(store);
  }

  function burst() {
    const text = count.value.trim();
    const valid = /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= BURST_MAX;
    showLine(part(el, 'burst-error'), valid ? '' : `A burst must be a whole number from 1 to ${BURST_MAX}.`);
    setAttr(count, 'aria-invalid', String(!valid));
    if (valid) sendBurst(store, Number(text));
  }

  part(el, 'one').addEventListener('click', one);
  part(el, 'burst').addEventListener('submit', (event) => {
    event.preventDefault();
    burst();
  });
  store.on('decision', (decision) => showAnswer(el, decision));
  store.on('run', (run) => {
    setText(part(el, 'burst-label'), run.running ? `${run.done} of ${run.count}` : 'Send burst');
  });
  return { one, burst };
}

function showAnswer(el, decision) {
  const { glyph, word } = OUTCOMES[decision.outcome];
  const wait = decision.outcome === 'delayed' ? ` ${seconds(decision.delayed)}` : '';
  setAttr(part(el, 'answer'), 'data-outcome', decision.outcome);
  setText(part(el, 'answer-word'), `${glyph} ${word}${wait}`);
  setText(part(el, 'answer-text'), explain(decision));
}

function explain(decision) {
  if (decision.outcome === 'error') return decision.reason;
  const took = `Answered ${decision.status} in ${milliseconds(decision.took)}.`;
  if (decision.outcome === 'denied') {
    return decision.retryAfter === null ? took : `Too few tokens; wait ${seconds(decision.retryAfter)}. ${took}`;
  }
  if (!decision.reading) return `Let through unchecked. ${took}`;
  return `Took ${plural(decision.cost ?? 1, 'token')}, ${number(decision.reading.remaining)} left. ${took}`;
}
