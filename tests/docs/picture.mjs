// Draws docs/images/algorithms.svg: the same requests through all five algorithms, as the real script decides them.
// `node tests/docs/picture.mjs` writes the file; the tests draw it again and compare.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Decider, MICRO, repository } from './decider.mjs';

export const PICTURE = join(repository, 'docs/images/algorithms.svg');

const SECONDS = 30;
const START = 1800000000 * MICRO; // a multiple of ten seconds

// Each 10 at once and 1 a second on average.
const LIMITS = [
  { title: 'Token bucket', algorithm: 'token_bucket', params: { capacity: 10, refill_rate: 1, refill_interval: 1 } },
  { title: 'Leaky bucket', algorithm: 'leaky_bucket', params: { capacity: 10, leak_rate: 1 } },
  { title: 'Fixed window', algorithm: 'fixed_window', params: { limit: 10, window: 10 } },
  { title: 'Sliding window counter', algorithm: 'sliding_window_counter', params: { limit: 10, window: 10, sub_windows: 1 } },
  { title: 'Sliding window log', algorithm: 'sliding_window_log', params: { limit: 10, window: 10 } },
];

const spread = (from, count, every) => Array.from({ length: count }, (_, i) => Math.round((from + i * every) * MICRO));

// One request, a burst before and a burst after the edge of its fixed window, then two a second.
const TRAFFIC = [...spread(0.5, 1, 0), ...spread(9.5, 12, 0.04), ...spread(10.5, 12, 0.04), ...spread(16, 24, 0.5)];

// --- what the script says ---

function mostWithin(times, width) {
  return Math.max(0, ...times.map((first) => times.filter((at) => at >= first && at < first + width).length));
}

async function observe(decider, limit) {
  const key = `picture:${limit.algorithm}`;
  const questions = [
    ...TRAFFIC.map((at) => ({ at, mode: 'take' })),
    ...spread(0, SECONDS * 10 + 1, 0.1).map((at) => ({ at, mode: 'look' })),
  ].sort((a, b) => a.at - b.at || (a.mode > b.mode ? -1 : 1));
  const seen = { allowed: [], denied: [], left: [], edges: new Set() };
  for (const { at, mode } of questions) {
    const answer = await decider.decide(key, limit, { at: START + at, mode });
    seen.left.push([at, answer.remaining]);
    if (mode === 'take') seen[answer.allowed ? 'allowed' : 'denied'].push(at);
    if (mode === 'take' && answer.allowed && limit.algorithm === 'fixed_window') {
      const opened = Number(new Map(await decider.stored(key)).get('window_start')) - START;
      seen.edges.add(opened).add(opened + limit.params.window * MICRO);
    }
  }
  if (limit.algorithm === 'sliding_window_counter') spread(0, SECONDS / 10 + 1, 10).forEach((at) => seen.edges.add(at));
  return seen;
}

// --- drawing ---

const WIDTH = 900;
const LEFT = 30;
const SCALE = (WIDTH - 2 * LEFT) / SECONDS; // pixels a second
const UNIT = 4;                             // pixels a request
const COLUMN = 0.5;                         // seconds a column of requests
const ROW = 130;
const TOP = 130;

const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #1f2933; }
    .title { font-weight: 600; }
    .muted { fill: #5a6472; }
    .page { fill: #ffffff; }
    .allowed { fill: #0063a3; }
    .denied { fill: none; stroke: #b84300; stroke-width: 1; }
    .sent { fill: #5a6472; }
    .left { fill: none; stroke: #1f2933; stroke-width: 1.5; }
    .axis { stroke: #767f8a; stroke-width: 1; }
    .edge { stroke: #767f8a; stroke-width: 1; stroke-dasharray: 2 3; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f2f4f7; }
      .muted { fill: #a7b0bc; }
      .page { fill: #12161c; }
      .allowed { fill: #5ab4f0; }
      .denied { stroke: #ff9a4d; }
      .sent { fill: #a7b0bc; }
      .left { stroke: #f2f4f7; }
      .axis, .edge { stroke: #75808d; }
    }`;

const number = (value) => String(Number(value.toFixed(1)));
const x = (at) => number(LEFT + (at / MICRO) * SCALE);
const text = (left, top, className, words, anchor = 'start') =>
  `<text x="${number(left)}" y="${number(top)}" class="${className}" text-anchor="${anchor}">${words}</text>`;
const line = (className, x1, y1, x2, y2) => `<line class="${className}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;

// One block a request, stacked away from the base line: up (-1) or down (1).
function blocks(times, base, direction, className) {
  const heights = new Map();
  const inset = className === 'denied' ? 0.5 : 0;
  return times.map((at) => {
    const column = Math.floor(at / MICRO / COLUMN);
    const height = heights.get(column) ?? 0;
    heights.set(column, height + 1);
    const top = direction < 0 ? base - 1 - (height + 1) * UNIT + 1 : base + 2 + height * UNIT;
    return `<rect class="${className}" x="${number(LEFT + column * COLUMN * SCALE + 2 + inset)}" y="${number(top + inset)}"`
      + ` width="${number(COLUMN * SCALE - 4 - 2 * inset)}" height="${number(UNIT - 1 - 2 * inset)}"/>`;
  });
}

function steps(left, base) {
  const y = (count) => number(base - 1 - count * UNIT);
  let path = `M${x(left[0][0])} ${y(left[0][1])}`;
  let before = left[0][1];
  for (const [at, count] of left) {
    if (count === before) continue;
    path += `H${x(at)}V${y(count)}`;
    before = count;
  }
  return `<path class="left" d="${path}H${x(SECONDS * MICRO)}"/>`;
}

const counts = ({ allowed, denied }) =>
  `${allowed.length} allowed, ${denied.length} denied; most in any 10 s: ${mostWithin(allowed, 10 * MICRO)}`;

function row(limit, seen, top) {
  const base = top + 72;
  const edges = [...seen.edges].filter((at) => at <= SECONDS * MICRO);
  return [
    text(LEFT, top + 12, 'title', limit.title),
    text(WIDTH - LEFT, top + 12, '', counts(seen), 'end'),
    ...edges.map((at) => line('edge', x(at), top + 20, x(at), base + 44)),
    ...blocks(seen.allowed, base, -1, 'allowed'),
    ...blocks(seen.denied, base, 1, 'denied'),
    line('axis', LEFT, base, WIDTH - LEFT, base),
    steps(seen.left, base),
  ];
}

function legend(y) {
  return [
    `<rect class="allowed" x="${LEFT}" y="${y - 8}" width="12" height="7"/>`, text(LEFT + 18, y, '', 'allowed'),
    `<rect class="denied" x="${LEFT + 80.5}" y="${y - 8}" width="11" height="6"/>`, text(LEFT + 98, y, '', 'denied'),
    `<path class="left" d="M${LEFT + 155} ${y - 4}h20"/>`, text(LEFT + 181, y, '', 'units left'),
    line('edge', LEFT + 265, y - 10, LEFT + 265, y + 2), text(LEFT + 273, y, '', 'edge of a window'),
  ];
}

export async function picture(decider) {
  const rows = [];
  for (const limit of LIMITS) rows.push({ limit, seen: await observe(decider, limit) });
  const height = TOP + LIMITS.length * ROW + 20;
  const said = rows.map(({ limit, seen }) => `${limit.title}: ${counts(seen)}.`).join(' ');
  const lines = [
    `<rect class="page" width="${WIDTH}" height="${height}" rx="6"/>`,
    text(LEFT, 26, 'title', 'The same requests through five limits, each 10 at once and 1 a second on average'),
    ...legend(48),
    text(LEFT, 76, 'title', 'Sent'), text(WIDTH - LEFT, 76, '', `${TRAFFIC.length} requests`, 'end'),
    ...blocks(TRAFFIC, TOP - 8, -1, 'sent'), line('axis', LEFT, TOP - 8, WIDTH - LEFT, TOP - 8),
    ...rows.flatMap(({ limit, seen }, i) => row(limit, seen, TOP + 8 + i * ROW)),
    ...spread(0, 7, 5).map((at) => text(Number(x(at)), height - 8, 'muted', `${at / MICRO} s`, 'middle')),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">The same ${TRAFFIC.length} requests through five algorithms</title>
  <desc id="desc">One request at 0.5 s, bursts of 12 at 9.5 s and 10.5 s, then two a second from 16 s. ${said}</desc>
  <style>${STYLE}
  </style>
${lines.map((each) => `  ${each}`).join('\n')}
</svg>
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const decider = await Decider.start();
  writeFileSync(PICTURE, await picture(decider));
  await decider.close();
}
