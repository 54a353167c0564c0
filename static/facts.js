/* What the State panel says beside the number left, by algorithm: a label, a text, and a name for each. Pure. `state` are
   the algorithm's own values from /lab/state, where they may be asked for. */

import { number, seconds } from './format.js';

const wait = (s) => (s === null ? 'not known' : s > 0 ? seconds(s) : 'now');
const used = ({ limit }, { tokens }) => `${number(limit - tokens)} of ${number(limit)}`;
const round = (value, places = 2) => number(Math.round(value * 10 ** places) / 10 ** places);

const FACTS = {
  token_bucket: (reading, now) => [
    ['next', 'Next token in', now.nextIn === 0 ? 'full' : wait(now.nextIn)],
    ['full', 'Full in', now.fullIn === 0 ? 'full' : wait(now.fullIn)],
  ],
  fixed_window: (reading, now) => [
    ['used', 'Used', used(reading, now)],
    ['next', 'Window resets in', now.nextIn === 0 ? 'no window open' : wait(now.nextIn)],
  ],
  sliding_window_log: (reading, now) => [
    ['used', 'Used', used(reading, now)],
    ['next', 'Oldest leaves in', now.nextIn === 0 ? 'nothing in it' : wait(now.nextIn)],
  ],
  sliding_window_counter: (reading, now, state) => [
    ['formula', 'Estimate', formula(state, reading) ?? `${used(reading, now)} used`],
    ['next', 'One more in', wait(now.nextIn)],
  ],
  leaky_bucket: (reading, now, state, leaked) => [
    ['level', 'Level', state?.level === undefined ? used(reading, now) : `${round(Math.max(0, state.level - leaked))} of ${number(reading.limit)}`],
    ['next', 'Room for one more in', wait(now.nextIn)],
  ],
};

/* prev 8 x 0.42 + cur 5 = 8.4 of 10 */
function formula(state, { limit }) {
  if (!state || state.previous === undefined) return null;
  const sum = state.previous * state.weight + state.current;
  return `prev ${number(state.previous)} × ${round(state.weight)} + cur ${number(state.current)} = ${round(sum, 1)} of ${number(limit)}`;
}

/* `leaked`: how much has leaked since the reading. */
export const factsOf = (reading, now, leaked) => (FACTS[reading.algorithm] ?? FACTS.sliding_window_log)(reading, now, reading.state, leaked);
