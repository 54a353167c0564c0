/* Client lanes: a row for each of the busiest clients, ticks up for allowed and down for denied, and how fairly they were
   served. */

import { make, part, setText } from './dom.js';
import { number } from './format.js';
import { drawn } from './frame.js';
import { colours, prepare } from './paint.js';
import { BINS, binOf } from './series.js';

const LANES = 8;
const LANE_PX = 30;

/* Jain's index: 1 when all shares are equal, 1 / n when one has everything. Pure. */
function fairness(shares) {
  const sum = shares.reduce((all, share) => all + share, 0);
  const squares = shares.reduce((all, share) => all + share * share, 0);
  return squares === 0 ? 1 : (sum * sum) / (shares.length * squares);
}

export function mountLanes(el, store) {
  const { series } = store;
  const names = part(el, 'names');
  const lanes = Array.from({ length: LANES }, () => {
    const lane = make('li');
    lane.append(make('b'), make('span'));
    return lane;
  });
  names.append(...lanes);
  const canvas = part(el, 'canvas');
  const mark = drawn(draw, 250);

  function draw() {
    const busy = [...series.clients.entries()].map(([name, lane]) => ({ name, lane, sum: lane.allowed + lane.denied }))
      .sort((a, b) => b.sum - a.sum);
    const shown = busy.slice(0, LANES);
    part(el, 'box').hidden = shown.length === 0;
    lanes.forEach((item, i) => fill(item, shown[i]));
    setText(part(el, 'more'), moreText(busy));
    setText(part(el, 'fairness'), fairnessText(busy, store.settings.values));
    if (shown.length === 0) return;
    canvas.style.setProperty('height', `${shown.length * LANE_PX}px`);
    const now = binOf(Date.now());
    paint(prepare(canvas), shown, now, colours());
    if (now - series.newest <= BINS + 10) mark();
  }

  for (const topic of ['decisions', 'target', 'settings']) store.on(topic, mark);
  document.addEventListener('themechange', mark);
  new ResizeObserver(mark).observe(part(el, 'box'));
}

function fill(item, client) {
  item.hidden = !client;
  if (!client) return;
  const { name, lane } = client;
  setText(item.firstChild, name);
  setText(item.lastChild, `✓ ${number(lane.allowed)}  ✗ ${number(lane.denied)}  ${lane.tokens === null ? '–' : number(lane.tokens)} left`);
}

function moreText(busy) {
  if (busy.length === 0) return 'No clients yet.';
  const rest = busy.slice(LANES);
  const sum = (key) => number(rest.reduce((all, { lane }) => all + lane[key], 0));
  return rest.length ? `+${rest.length} more: ${sum('allowed')} allowed, ${sum('denied')} denied.` : '';
}

function fairnessText(busy, values) {
  if (busy.length < 2) return '';
  const keys = values && !/\{[^}]*(query|header|ip)/.test(values.key ?? '') ? 'one key for all' : 'one key each';
  const share = fairness(busy.map(({ lane }) => lane.allowed));
  return `${keys}; fairness ${share.toFixed(2)} (1: equal shares)`;
}

const passed = (lane, bin) => lane.count(bin, 0) + lane.count(bin, 2) + lane.count(bin, 4);

function paint({ ctx, width }, shown, now, colour) {
  const first = now - BINS + 1;
  const step = width / BINS;
  shown.forEach(({ lane }, row) => {
    const base = row * LANE_PX + LANE_PX / 2;
    let most = 1;
    for (let bin = first; bin <= now; bin += 1) most = Math.max(most, passed(lane, bin), lane.count(bin, 1));
    const scale = (LANE_PX / 2 - 3) / most;
    ctx.fillStyle = colour.line;
    ctx.fillRect(0, base, width, 1);
    for (let bin = first; bin <= now; bin += 1) {
      const up = passed(lane, bin) * scale, down = lane.count(bin, 1) * scale;
      ctx.fillStyle = colour.allowed;
      if (up) ctx.fillRect((bin - first) * step, base - up, Math.max(1.5, step), up);
      ctx.fillStyle = colour.denied;
      if (down) ctx.fillRect((bin - first) * step, base + 1, Math.max(1.5, step), down);
    }
  });
}
