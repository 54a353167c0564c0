// Draws docs/images/scale.svg from docs/images/scale.json, which `make bench-scale` writes. Measures nothing.
// `node tests/bench/growth_plots.mjs` draws it anew; the tests draw it and compare.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { repository } from '../harness/server.mjs';

export const FIGURES = join(repository, 'docs/images/scale.json');
export const PLOTS = join(repository, 'docs/images/scale.svg');

const SIZE = { width: 900, height: 640 };
const PLOT = { width: 340, height: 190, left: 75, top: 90, across: 435, down: 285 };

const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #1f2933; }
    .title { font-weight: 600; }
    .muted { fill: #5a6472; }
    .page { fill: #ffffff; }
    .axis { stroke: #767f8a; stroke-width: 1; }
    .grid { stroke: #d9dee4; stroke-width: 1; }
    .server { fill: none; stroke: #0063a3; stroke-width: 2; }
    .redis { fill: none; stroke: #b84300; stroke-width: 2; stroke-dasharray: 6 3; }
    .dot-server { fill: #0063a3; }
    .dot-redis { fill: #b84300; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f2f4f7; }
      .muted { fill: #a7b0bc; }
      .page { fill: #12161c; }
      .axis { stroke: #75808d; }
      .grid { stroke: #2c343e; }
      .server { stroke: #5ab4f0; }
      .redis { stroke: #ff9a4d; }
      .dot-server { fill: #5ab4f0; }
      .dot-redis { fill: #ff9a4d; }
    }`;

const PANELS = [
  { name: 'keys', title: 'Keys in Redis', unit: 'CPU a decision, us' },
  { name: 'connections', title: 'Connections, all busy', unit: 'CPU a decision, us' },
  { name: 'threads', title: 'Threads of the server, on 2 CPUs', unit: 'CPU a decision, us', base: 2 },
  { name: 'policies', title: 'Policies', unit: 'instructions of the server, thousands' },
];

const number = (value) => String(Number(value.toFixed(1)));
const short = (value) => (value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value));
const text = (x, y, className, words, anchor = 'start') =>
  `<text x="${number(x)}" y="${number(y)}" class="${className}" text-anchor="${anchor}">${words}</text>`;
const line = (className, x1, y1, x2, y2) =>
  `<line class="${className}" x1="${number(x1)}" y1="${number(y1)}" x2="${number(x2)}" y2="${number(y2)}"/>`;

// What a panel shows: {server: [[at, value]...], redis: ...}.
function series(figures) {
  if (figures[0].instructions !== undefined) return { server: figures.map(({ at, instructions }) => [at, instructions / 1000]) };
  return { server: figures.map(({ at, server }) => [at, server]), redis: figures.map(({ at, redis }) => [at, redis]) };
}

function ticks(most) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((each) => most / each <= 5);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step);
}

function panel({ title, unit, base = 10 }, figures, left, top) {
  const lines = series(figures);
  const steps = ticks(Math.max(...Object.values(lines).flat().map(([, value]) => value)));
  const last = Math.log(figures.at(-1).at) / Math.log(base);
  const x = (at) => left + (Math.log(at) / Math.log(base) / last) * PLOT.width;
  const y = (value) => top + PLOT.height - (value / steps.at(-1)) * PLOT.height;
  return [
    text(left, top - 26, 'title', title), text(left, top - 10, 'muted', unit),
    ...steps.flatMap((step) => [
      line(step === 0 ? 'axis' : 'grid', left, y(step), left + PLOT.width, y(step)), text(left - 8, y(step) + 4, 'muted', short(step), 'end'),
    ]),
    ...figures.map(({ at }) => text(x(at), top + PLOT.height + 18, 'muted', short(at), 'middle')),
    ...Object.entries(lines).flatMap(([name, points]) => [
      `<polyline class="${name}" points="${points.map(([at, value]) => `${number(x(at))},${number(y(value))}`).join(' ')}"/>`,
      ...points.map(([at, value]) => `<circle class="dot-${name}" cx="${number(x(at))}" cy="${number(y(value))}" r="3"/>`),
    ]),
  ];
}

const said = (figures) => PANELS.map(({ name, title }) => {
  const values = figures[name].map((each) => `${each.at}: ${Math.round(each.instructions ?? each.server)}`);
  return `${title}: ${values.join(', ')}.`;
}).join(' ');

export function plots(figures) {
  const lines = [
    `<rect class="page" width="${SIZE.width}" height="${SIZE.height}" rx="6"/>`,
    text(30, 28, 'title', 'What a decision costs as things grow'),
    line('server', 500, 24, 530, 24), text(538, 28, '', 'server'), line('redis', 610, 24, 640, 24), text(648, 28, '', 'Redis'),
    ...PANELS.flatMap((each, i) =>
      panel(each, figures[each.name], PLOT.left + (i % 2) * PLOT.across, PLOT.top + Math.floor(i / 2) * PLOT.down)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" role="img" aria-labelledby="title desc">
  <title id="title">What a decision costs as keys, connections, threads and policies grow</title>
  <desc id="desc">Microseconds of the server's CPU a decision, and for policies its instructions. ${said(figures)}</desc>
  <style>${STYLE}
  </style>
${lines.map((each) => `  ${each}`).join('\n')}
</svg>
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PLOTS, plots(JSON.parse(readFileSync(FIGURES, 'utf8'))));
