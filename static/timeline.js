/* The Timeline: the last minute in bins of 100 ms, what was left as a step line, window edges and changes. The same as a
   cursor's text, a sentence and a table of seconds. */

import { make, part, setAttr, setText } from './dom.js';
import { clock, letThrough, number, plural } from './format.js';
import { drawn } from './frame.js';
import { colours, hatch, prepare } from './paint.js';
import { BINS, BIN_MS, binOf } from './series.js';

const PAD = { left: 30, right: 34, top: 20, bottom: 20 };
const SECOND = 1000 / BIN_MS;

export function mountTimeline(el, store) {
  const canvas = part(el, 'canvas');
  const { series } = store;
  let cursor = null; // a bin, or null
  let peak = 0; // most in a second since the page was opened
  const mark = drawn(draw, 100);
  const markTexts = drawn(texts, 1000);

  function draw() {
    const now = binOf(Date.now());
    paint(prepare(canvas), store, now, cursor);
    if (now - series.newest <= BINS + 10 && !document.hidden) mark();
  }

  function texts() {
    const now = binOf(Date.now());
    const counts = sums(series, now - BINS + 1, now);
    const left = store.reading ? ` ${number(store.reading.remaining)} of ${number(store.reading.limit)} left.` : '';
    setAttr(canvas, 'aria-label', counts.every((count) => count === 0) ? 'No requests in the last 60 s.'
      : `Last 60 s: ${countsText(counts)}.${left}`);
    part(el, 'watched').hidden = counts[4] === 0;
    if (!part(el, 'table').hidden) drawTable(part(el, 'sums'), series, now);
    const busiest = busiestSecond(series, now);
    if (busiest.count > peak) {
      peak = busiest.count;
      setText(part(el, 'peak'), `Busiest second: ${plural(peak, 'request')}, from ${clock(busiest.bin * BIN_MS).slice(0, -2)}.`);
    }
    if (now - series.newest <= BINS + 20) markTexts();
  }

  function move(bin) {
    const now = binOf(Date.now());
    cursor = Math.min(now, Math.max(now - BINS + 1, bin));
    setText(part(el, 'cursor'), binText(series, cursor));
    mark();
  }

  canvas.addEventListener('focus', texts);
  canvas.addEventListener('keydown', (event) => {
    const from = cursor ?? Math.min(series.newest || Infinity, binOf(Date.now()));
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - 10, PageDown: from + 10, Home: 0, End: Infinity }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  });
  canvas.addEventListener('pointermove', (event) => {
    const width = (canvas.clientWidth - PAD.left - PAD.right) / BINS;
    move(binOf(Date.now()) - BINS + 1 + Math.floor((event.offsetX - PAD.left) / width));
  });
  part(el, 'table-toggle').addEventListener('click', ({ currentTarget }) => {
    const box = part(el, 'table');
    box.hidden = !box.hidden;
    setAttr(currentTarget, 'aria-expanded', String(!box.hidden));
    drawTable(part(el, 'sums'), series, binOf(Date.now()));
  });
  const refresh = () => {
    mark();
    markTexts();
  };
  for (const topic of ['decisions', 'reading', 'settings', 'run']) store.on(topic, refresh);
  document.addEventListener('visibilitychange', refresh);
  document.addEventListener('themechange', refresh);
  new ResizeObserver(mark).observe(canvas);
}

const total = (series, bin) => [0, 1, 2, 3, 4].reduce((sum, kind) => sum + series.all.count(bin, kind), 0);

function sums(series, from, to) {
  const out = [0, 0, 0, 0, 0];
  for (let bin = from; bin <= to; bin += 1) for (let k = 0; k < 5; k += 1) out[k] += series.all.count(bin, k);
  return out;
}

/* The ten bins in a row with the most requests: { count, bin }, its first. */
function busiestSecond(series, now) {
  const found = { count: 0, bin: 0 };
  let sum = 0;
  const first = now - BINS + 1;
  for (let bin = first; bin <= now; bin += 1) {
    sum += total(series, bin) - (bin - SECOND < first ? 0 : total(series, bin - SECOND));
    if (sum > found.count) Object.assign(found, { count: sum, bin: bin - SECOND + 1 });
  }
  return found;
}

function leftIn(series, from, to) {
  for (let bin = to; bin >= from; bin -= 1) if (!Number.isNaN(series.all.leftAt(bin))) return number(series.all.leftAt(bin));
  return '–';
}

const countsText = ([allowed, denied, delayed, error, watched]) => (
  `${letThrough(allowed, watched)} allowed, ${number(denied)} denied, ${number(delayed)} delayed, ${number(error)} errors`);

function binText(series, bin) {
  const left = leftIn(series, bin - BINS + 1, bin);
  const marks = series.marks.filter(({ at }) => binOf(at) === bin).map(({ text }) => ` Settings changed: ${text}.`).join('');
  return `${clock(bin * BIN_MS).slice(0, -2)}: ${countsText(sums(series, bin, bin))}, ${left} left.${marks}`;
}

function drawTable(body, series, now) {
  const rows = [];
  const last = Math.floor(now / SECOND);
  for (let second = last; second > last - BINS / SECOND; second -= 1) {
    const from = second * SECOND;
    const [allowed, ...counts] = sums(series, from, from + SECOND - 1);
    const texts = [letThrough(allowed, counts.pop()), ...counts.map(number)];
    if (texts.every((text) => text === '0')) continue;
    const row = make('tr');
    row.append(make('td', '', clock(second * 1000).slice(0, 8)), ...texts.map((text) => make('td', 'num', text)));
    row.append(make('td', 'num', leftIn(series, from, from + SECOND - 1)));
    rows.push(row);
  }
  body.replaceChildren(...rows);
}

/* --- drawing --- */

const nice = (value) => [4, 10, 20, 30, 50, 100, 200, 300, 500, 1000].find((step) => step >= value) ?? Math.ceil(value / 1000) * 1000;

function paint({ ctx, width, height }, store, now, cursor) {
  const { series, reading } = store;
  const colour = colours();
  const box = { x: PAD.left, y: PAD.top, w: width - PAD.left - PAD.right, h: height - PAD.top - PAD.bottom };
  const first = now - BINS + 1;
  let top = 4;
  for (let bin = first; bin <= now; bin += 1) {
    top = Math.max(top, total(series, bin));
  }
  top = nice(top);
  const limit = reading?.limit ?? 0; // drawn a little below the top
  const view = {
    ctx, series, first, now, colour, box, top,
    limit, most: limit * 1.1,
    x: (bin) => box.x + ((bin - first) / BINS) * box.w,
    y: (value, most) => box.y + box.h * (1 - value / most),
  };
  paintGrid(view);
  paintBars(view);
  if (limit) paintLeft(view);
  paintMarks(view);
  if (cursor !== null && cursor >= first) line(view, view.x(cursor + 0.5), colour.text, [], 1);
}

function line({ ctx, box }, x, colour, dash, width = 1) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(Math.round(x) + 0.5, box.y);
  ctx.lineTo(Math.round(x) + 0.5, box.y + box.h);
  ctx.stroke();
  ctx.setLineDash([]);
}

function paintGrid({ ctx, colour, box, top, limit, most, y }) {
  ctx.strokeStyle = colour.line;
  ctx.fillStyle = colour.muted;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const part of [0, 0.5, 1]) {
    const at = Math.round(y(part, 1)) + 0.5;
    ctx.moveTo(box.x, at);
    ctx.lineTo(box.x + box.w, at);
  }
  ctx.stroke();
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  for (const part of [0, 0.5, 1]) ctx.fillText(number(top * part), box.x - 5, y(part, 1));
  if (limit) {
    ctx.textAlign = 'left';
    const short = (n) => (n >= 1e6 ? `${+(n / 1e6).toFixed(1)}M` : n >= 1e4 ? `${+(n / 1e3).toFixed(1)}k` : String(n));
    for (const value of [0, limit]) ctx.fillText(short(value), box.x + box.w + 5, y(value, most));
  }
  ctx.textBaseline = 'alphabetic';
  for (let s = 0; s <= 60; s += box.w < 330 ? 30 : 15) {
    ctx.textAlign = s === 60 ? 'left' : s === 0 ? 'right' : 'center';
    ctx.fillText(s === 0 ? 'now' : `${s} s ago`, box.x + box.w * (1 - s / 60), box.y + box.h + 14);
  }
}

/* Allowed from the base, upon it what would be denied and what was delayed, denied hatched on top; errors as x on the base line. */
function paintBars(view) {
  const { ctx, series, first, now, colour, box, top, x, y } = view;
  const w = Math.max(2.5, box.w / BINS);
  const solid = new Path2D(), dotted = new Path2D(), striped = new Path2D(), watched = new Path2D(), crosses = new Path2D();
  for (let bin = first; bin <= now; bin += 1) {
    let base = 0;
    for (const [kind, path] of [[0, solid], [4, watched], [2, dotted], [1, striped]]) {
      const count = series.all.count(bin, kind);
      if (count) path.rect(x(bin), y(base + count, top), w, (box.h * count) / top);
      base += count;
    }
    if (series.all.count(bin, 3)) {
      const [cx, cy] = [x(bin) + w / 2, box.y + box.h - 4];
      crosses.moveTo(cx - 4, cy - 4);
      crosses.lineTo(cx + 4, cy + 4);
      crosses.moveTo(cx + 4, cy - 4);
      crosses.lineTo(cx - 4, cy + 4);
    }
  }
  ctx.fillStyle = colour.allowed;
  ctx.fill(solid);
  ctx.fillStyle = hatch(ctx, colour.allowed, true);
  ctx.fill(dotted);
  ctx.fillStyle = hatch(ctx, colour.allowed);
  ctx.fill(watched);
  ctx.globalAlpha = 0.35;
  ctx.fillStyle = colour.denied;
  ctx.fill(striped);
  ctx.globalAlpha = 1;
  ctx.fillStyle = hatch(ctx, colour.denied);
  ctx.fill(striped);
  ctx.strokeStyle = colour.text;
  ctx.lineWidth = 2;
  ctx.stroke(crosses);
}

function paintLeft({ ctx, series, first, now, colour, box, limit, most, x, y }) {
  const height = (left) => y(Math.min(left, limit), most);
  ctx.strokeStyle = colour.text;
  ctx.lineWidth = 1;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(box.x, Math.round(height(limit)) + 0.5);
  ctx.lineTo(box.x + box.w, Math.round(height(limit)) + 0.5);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.lineWidth = 2;
  ctx.beginPath();
  let level = NaN;
  for (let bin = first; bin <= now; bin += 1) {
    const left = series.all.leftAt(bin);
    if (Number.isNaN(left)) continue;
    if (Number.isNaN(level)) ctx.moveTo(x(bin), height(left));
    else ctx.lineTo(x(bin), height(level));
    ctx.lineTo(x(bin), height(left));
    level = left;
  }
  if (!Number.isNaN(level)) ctx.lineTo(x(now + 1), height(level));
  ctx.stroke();
}

function paintMarks(view) {
  const { ctx, series, first, now, colour, box, x } = view;
  const seen = (at) => at / BIN_MS >= first && at / BIN_MS <= now;
  for (const at of series.edges.filter(seen)) line(view, x(at / BIN_MS), colour.muted, [2, 3]);
  ctx.fillStyle = colour.text;
  for (const { at, text } of series.marks.filter((mark) => seen(mark.at))) {
    const left = x(at / BIN_MS);
    line(view, left, colour.text, [], 1);
    ctx.textAlign = left > box.x + box.w / 2 ? 'right' : 'left';
    ctx.fillText(text, left, box.y - 7);
  }
}
