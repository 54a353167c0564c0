/* The Scenarios panel: each says what it sends and what the arithmetic predicts, and runs on the server. */

import { forgetKey, readKey } from './api.js';
import { foretell, shapeOf } from './algorithms.js';
import { make, part, setText } from './dom.js';
import { number, plural } from './format.js';
import { idle } from './runs.js';

const CLIENTS = 50;
const HEAVY = 8;
const COUNT_MAX = 10000;
const STEADY_S = 10;

const whole = (value, max) => Math.max(1, Math.min(max, Math.round(value)));

/* Each with its variants: the words of a button, and what that sends under limits of this shape: { count, rate, ... }. */
const SCENARIOS = [
  ['Burst', 'Three times as many as fit, at once.', [['Run', ({ burst }) => ({ scenario: 'burst', count: whole(burst * 3, COUNT_MAX), rate: 0 })]]],
  ['Steady rate', `A share of what comes back, for ${STEADY_S} s.`, [0.8, 1, 1.5].map((share) => [`${share * 100} %`, ({ rate }) => {
    const perSecond = Math.min(1000, Math.max(0.02, Number((rate * share).toFixed(6))));
    return { scenario: 'steady', count: whole(perSecond * STEADY_S, COUNT_MAX), rate: perSecond };
  }])],
  ['Window edge', 'The limit just before an edge by the Redis clock, and again just after.', [['Run', ({ burst }) => (
    burst > COUNT_MAX / 2 ? null : { scenario: 'window_edge', count: 2 * burst })]]],
  ['Many clients', `${CLIENTS} clients in 3 s; one sends ${HEAVY} times as much as each other.`, [['Run', ({ burst }) => {
    const count = Math.max(1, Math.min(Math.ceil(burst / 4), 100)) * (CLIENTS - 1 + HEAVY);
    return { scenario: 'many_clients', count, rate: Math.min(1000, Math.ceil(count / 3)), clients: CLIENTS };
  }]]],
];

export function mountScenarios(el, store, runner) {
  const keep = el.querySelector('#keep-state');
  const cards = SCENARIOS.map(([title, sentence, variants]) => makeCard(title, sentence, variants, start));
  part(el, 'list').append(...cards.map((card) => card.el));

  async function start(title, plan) {
    const shape = shapeOf(store.settings.values);
    const planned = shape && plan(shape);
    if (!planned || runner.busy()) return;
    const { count, rate = 0, ...body } = planned;
    if (body.scenario !== 'window_edge') Object.assign(body, { count, rate });
    if (body.clients) store.series.resetLanes();
    if (!keep.checked && body.clients) body.user = `m${(Date.now() % 46656).toString(36)}`;
    else if (!keep.checked) await forget(store);
    await runner.start({ label: title, count, rate, body });
  }

  function draw() {
    const shape = shapeOf(store.settings.values);
    const open = !store.locked && idle(store);
    for (const card of cards) {
      const texts = card.buttons.map(({ button, plan, word }) => {
        const planned = shape && plan(shape);
        button.disabled = !planned || !open;
        return planned ? `${word}${numbersOf(planned, store.settings.values)}` : '';
      });
      setText(card.numbers, store.locked ? '' : texts.join('\n'));
    }
  }

  let busy = false;
  store.on('settings', draw);
  store.on('run', (run) => {
    if (busy !== run.running) draw();
    busy = run.running;
  });
}

/* What is sent, and what is expected by the formulas. */
function numbersOf({ scenario, count, rate, clients }, values) {
  const sent = plural(count, 'request');
  if (scenario === 'window_edge') {
    const { burst } = shapeOf(values);
    return `${sent}: ${values.algorithm === 'fixed_window' ? `${number(2 * burst - 1)} allowed within a window's length; limit ${number(burst)}` : `about ${number(burst)} allowed within a window's length`}.`;
  }
  const each = clients && count / (clients - 1 + HEAVY);
  const one = (n) => foretell(values, n, (n * rate) / count);
  const [low, high] = clients ? one(each).map((few, i) => few * (clients - 1) + one(each * HEAVY)[i]) : foretell(values, count, rate);
  const range = low === high ? number(low) : `${number(low)} to ${number(high)}`;
  const what = { shadow: 'within the limit', delay: 'allowed at once' }[values.on_limit] ?? 'allowed';
  return `${sent}${rate ? ` at ${number(Number(rate.toFixed(3)))}/s` : ' within 0.1 s'}: ${range} ${what}.`;
}

function makeCard(title, sentence, variants, start) {
  const el = make('li', 'card');
  const head = make('div');
  const numbers = make('p', 'help lines');
  const buttons = variants.map(([text, plan]) => {
    const button = make('button', 'button small', text);
    button.type = 'button';
    button.disabled = true;
    const several = variants.length > 1;
    button.setAttribute('aria-label', `${text} ${title}`);
    button.addEventListener('click', () => start(several ? `${title}, ${text}` : title, plan));
    return { button, plan, word: several ? `${text}: ` : '' };
  });
  head.append(make('h3', '', title), ...buttons.map(({ button }) => button));
  el.append(head, make('p', 'help', sentence), numbers);
  return { el, buttons, numbers };
}

/* The client as if never seen. Asks first, since a browser logs each 404 as an error. */
async function forget(store) {
  const { policy, client } = store.target;
  const key = store.reading?.key ?? `user:${client}`;
  const held = await readKey(policy, key);
  if (held.ok && held.json.limits.some((limit) => limit.type !== 'none')) await forgetKey(policy, key);
}
