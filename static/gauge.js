/* The bucket: tokens left as a gauge, a countdown to the next token, and where the number is from.
   Between answers it shows an estimate and says so; it asks the server nothing. */

import { make, part, setAttr, setText } from './dom.js';
import { bucketAt, refillOf } from './estimate.js';
import { ago, number, plural, seconds } from './format.js';

const PIPS_MAX = 24;         // more tokens than this are drawn as one bar
const TEXT_EVERY_MS = 100;   // running figures change at most this often
const SPEAK_EVERY_MS = 1000; // so does what a screen reader may read out
const GLIDE_S = 3;           // a token that takes longer is not drawn every frame

const ORIGINS = {
  redis: 'from Redis',
  cache: 'from the denial cache',
  local: "from this server's memory",
};

export function mountGauge(el, store) {
  const gauge = part(el, 'gauge');
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  let textAt = -Infinity;
  let spokenAt = -Infinity;
  let tokensShown = null;
  let timer = 0;
  let frame = 0;

  function draw() {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    const { reading } = store;
    if (!reading) return;
    const now = performance.now();
    const bucket = bucketAt(reading, refillOf(reading, store.settings.values), now);
    drawTokens(gauge, reading.limit, bucket, calm.matches);
    const changed = bucket.tokens !== tokensShown;
    if (changed || now - textAt >= TEXT_EVERY_MS) {
      textAt = now;
      drawText(el, reading, bucket, now);
    }
    if (now - spokenAt >= SPEAK_EVERY_MS || (changed && tokensShown === null)) {
      spokenAt = now;
      speak(gauge, reading, bucket);
    }
    tokensShown = bucket.tokens;
    schedule(bucket, now - reading.at);
  }

  function schedule(bucket, age) {
    if (bucket.nextIn > 0 && bucket.nextIn <= GLIDE_S && !calm.matches) frame = requestAnimationFrame(draw);
    else timer = setTimeout(draw, bucket.nextIn > 0 || age < 10000 ? TEXT_EVERY_MS : SPEAK_EVERY_MS);
  }

  function redraw() {
    textAt = -Infinity;
    draw();
  }

  store.on('reading', redraw);
  store.on('settings', redraw);
  document.addEventListener('visibilitychange', redraw);
}

function drawTokens(gauge, limit, bucket, calm) {
  if (limit <= PIPS_MAX) drawPips(gauge, limit, bucket, calm);
  else drawBar(gauge, limit, bucket);
}

function fit(gauge, kind, count) {
  if (gauge.dataset.kind === kind && gauge.childElementCount === count) return;
  gauge.dataset.kind = kind;
  gauge.replaceChildren(...Array.from({ length: count }, () => make('span')));
}

function drawPips(gauge, limit, bucket, calm) {
  fit(gauge, 'pips', limit);
  const known = bucket.tokens - bucket.estimated;
  [...gauge.children].forEach((pip, i) => {
    const state = i < known ? 'known' : i < bucket.tokens ? 'estimated' : i === bucket.tokens && !calm ? 'coming' : 'empty';
    setAttr(pip, 'data-state', state);
    if (state === 'coming') pip.style.setProperty('--part', `${(bucket.progress * 100).toFixed(1)}%`);
  });
}

function drawBar(gauge, limit, bucket) {
  fit(gauge, 'bar', 2);
  const [known, estimated] = gauge.children;
  setAttr(known, 'data-state', 'known');
  setAttr(estimated, 'data-state', 'estimated');
  known.style.setProperty('--part', `${((bucket.tokens - bucket.estimated) / limit) * 100}%`);
  estimated.style.setProperty('--part', `${(bucket.estimated / limit) * 100}%`);
}

function drawText(el, reading, bucket, now) {
  setText(part(el, 'tokens'), number(bucket.tokens));
  setText(part(el, 'of'), `of ${plural(reading.limit, 'token')} left`);
  setText(part(el, 'next'), waitText(bucket.nextIn));
  setText(part(el, 'full'), waitText(bucket.fullIn));
  setText(part(el, 'key'), reading.key || '–');
  const origin = `${ORIGINS[reading.source] ?? 'from the server'} ${ago((now - reading.at) / 1000)}`;
  setText(part(el, 'origin'), bucket.estimated > 0 ? `${origin}, +${number(bucket.estimated)} estimated since` : origin);
}

function waitText(wait) {
  if (wait === null) return 'not known';
  return wait > 0 ? seconds(wait) : 'full';
}

function speak(gauge, reading, bucket) {
  setAttr(gauge, 'aria-valuemax', String(reading.limit));
  setAttr(gauge, 'aria-valuenow', String(bucket.tokens));
  setAttr(gauge, 'aria-valuetext', `${number(bucket.tokens)} of ${plural(reading.limit, 'token')}`);
}
