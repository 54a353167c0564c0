/* The Send panel: whom it sends as, its buttons, and in large letters what the last answer was. */

import { CLIENT, unitOf } from './algorithms.js';
import { part, setAttr, setText, showLine } from './dom.js';
import { OUTCOMES } from './decision.js';
import { milliseconds, number, plural, seconds } from './format.js';
import { drawn } from './frame.js';
import { countsOf } from './lastrun.js';
import { BROWSER_MAX, sendSingle } from './sender.js';

const COUNT_MAX = 10000;
const RATE_MAX = 1000;
const SECONDS_MAX = 60;
const TYPED_MS = 300; // without a key: a name is typed to its end

/* Shows or clears a field's message. */
function judge(el, input, name, message) {
  showLine(part(el, name), message);
  setAttr(input, 'aria-invalid', String(message !== ''));
  return message === '';
}

export function mountSend(el, store, runner) {
  const client = el.querySelector('#client');
  const count = el.querySelector('#burst-count');
  const rate = el.querySelector('#rate-value');
  const browser = el.querySelector('#from-browser');
  let locked = false;
  let typing = 0;

  function one() {
    if (checkClient()) sendSingle(store);
  }

  function checkClient() {
    const valid = CLIENT.test(client.value);
    if (valid) store.setTarget({ client: client.value });
    return judge(el, client, 'client-error', valid ? '' : 'A client is 1 to 64 letters, digits, dots, dashes or underscores.');
  }

  function wholeUpTo(input, name, what, max) {
    const value = Number(input.value);
    const valid = /^\d+$/.test(input.value.trim()) && value >= 1 && value <= max;
    const where = browser.checked ? ' sent from this browser' : '';
    return judge(el, input, name, valid ? '' : `${what}${where} must be a whole number from 1 to ${number(max)}.`) ? value : 0;
  }

  function burst() {
    const n = wholeUpTo(count, 'burst-error', 'A burst', browser.checked ? BROWSER_MAX : COUNT_MAX);
    if (!n || !checkClient()) return;
    runner.start({ label: 'Burst', count: n, rate: 0, browser: browser.checked, body: { scenario: 'burst', count: n } });
  }

  function steady() {
    if (runner.busy()) return runner.stop();
    const perSecond = wholeUpTo(rate, 'rate-error', 'A rate', RATE_MAX);
    if (!perSecond || !checkClient()) return undefined;
    const n = browser.checked ? BROWSER_MAX : Math.min(COUNT_MAX, perSecond * SECONDS_MAX);
    return runner.start({
      label: `${number(perSecond)} a second`, count: n, rate: perSecond, browser: browser.checked,
      body: { scenario: 'steady', count: n, rate: perSecond },
    });
  }

  function help() {
    setText(part(el, 'help'), browser.checked
      ? `Up to ${BROWSER_MAX} at a time, as this browser manages.`
      : `The server fires: bursts of up to ${number(COUNT_MAX)}, up to ${number(RATE_MAX)}/s for ${SECONDS_MAX} s.`);
  }

  part(el, 'one').addEventListener('click', one);
  for (const [name, act] of [['burst', burst], ['rate', steady]]) {
    part(el, name).addEventListener('submit', (event) => {
      event.preventDefault();
      act();
    });
  }
  part(el, 'stop').addEventListener('click', runner.stop);
  client.addEventListener('change', checkClient);
  client.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => CLIENT.test(client.value) && checkClient(), TYPED_MS);
  });
  browser.addEventListener('change', help);
  store.on('target', (target) => { client.value = target.client; });
  store.on('answer', (decision) => showAnswer(el, decision));
  store.on('run', drawn(() => drawRun(el, store.run), 100));
  store.on('settings', () => {
    if (store.locked === locked) return;
    locked = store.locked;
    browser.checked = locked; // the server fires for administrators only
    browser.disabled = locked;
    if (locked && Number(count.value) > BROWSER_MAX) count.value = '15';
    help();
  });
  help();
  return { one, burst, steady };
}

function drawRun(el, run) {
  part(el, 'stop').disabled = !run.running;
  setText(part(el, 'rate-label'), run.running ? 'Stop' : 'Start');
  if (run.browser || run.stopped || run.refused) return;
  setAttr(part(el, 'answer'), 'data-outcome', 'none');
  setText(part(el, 'answer-word'), `${run.label}: ${number(run.done)} of ${number(run.count)}.`);
  setText(part(el, 'answer-text'), countsOf(run));
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
  const unit = unitOf(decision.reading?.algorithm ?? '');
  if (decision.outcome === 'denied') return decision.wait === null ? took : `Too few ${unit}s left; wait ${seconds(decision.wait)}. ${took}`;
  if (!decision.reading) return `Let through unchecked. ${took}`;
  if (decision.outcome === 'shadow_denied') return `Too few ${unit}s left, so none was taken; this policy only watches (shadow). ${took}`;
  return `Took ${plural(decision.cost ?? 1, unit)}, ${number(decision.reading.remaining)} left. ${took}`;
}
