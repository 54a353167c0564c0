/* The State panel: what is left as a gauge, the algorithm's own figures, and where the number is from. Between answers it
   shows an estimate and says so; it asks the server nothing. */

import { titleOf, unitOf } from './algorithms.js';
import { make, part, setAttr, setText } from './dom.js';
import { bucketAt, refillOf } from './estimate.js';
import { factsOf } from './facts.js';
import { ago, number, plural } from './format.js';

const PIPS_MAX = 24;         // more than this are drawn as one bar
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
    const changed = bucket.tokens !== tokensShown;
    drawTokens(gauge, reading.limit, bucket, calm.matches || reading.algorithm.includes('window'));
    if (changed || now - textAt >= TEXT_EVERY_MS) {
      textAt = now;
      drawText(el, reading, bucket, now, store.settings.values?.leak_rate ?? 0);
    }
    if (now - spokenAt >= SPEAK_EVERY_MS || (changed && tokensShown === null)) {
      spokenAt = now;
      speak(gauge, reading, bucket);
    }
    tokensShown = bucket.tokens;
    schedule(bucket, now - reading.at);
  }

  function schedule(bucket, age) {
    if (document.hidden) return;
    if (bucket.nextIn > 0 && bucket.nextIn <= GLIDE_S && !calm.matches) frame = requestAnimationFrame(draw);
    else timer = setTimeout(draw, bucket.nextIn > 0 || age < 10000 ? TEXT_EVERY_MS : SPEAK_EVERY_MS);
  }

  function redraw() {
    textAt = -Infinity;
    draw();
  }

  /* Nothing is known yet of another client or policy. */
  function clear() {
    const { algorithm } = store.settings.values ?? {};
    setText(part(el, 'about'), store.settings.algorithm?.summary ?? '');
    if (algorithm) setText(part(el, 'title'), `State: ${titleOf(algorithm).toLowerCase()}`);
    if (store.reading) return redraw();
    tokensShown = null;
    gauge.replaceChildren();
    setText(part(el, 'tokens'), '–');
    setText(part(el, 'of'), 'left');
    setText(part(el, 'key'), '');
    setText(part(el, 'origin'), 'Known after the first answer.');
    part(el, 'facts').replaceChildren();
    return undefined;
  }

  store.on('reading', redraw);
  store.on('settings', clear);
  store.on('target', clear);
  document.addEventListener('visibilitychange', redraw);
}

function drawTokens(gauge, limit, bucket, still) {
  if (limit <= PIPS_MAX) drawPips(gauge, limit, bucket, still);
  else drawBar(gauge, limit, bucket);
}

function fit(gauge, kind, count) {
  if (gauge.dataset.kind === kind && gauge.childElementCount === count) return;
  gauge.dataset.kind = kind;
  gauge.replaceChildren(...Array.from({ length: count }, () => make('span')));
}

function drawPips(gauge, limit, bucket, still) {
  fit(gauge, 'pips', limit);
  const known = bucket.tokens - bucket.estimated;
  [...gauge.children].forEach((pip, i) => {
    const state = i < known ? 'known' : i < bucket.tokens ? 'estimated' : i === bucket.tokens && !still ? 'coming' : 'empty';
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

function drawText(el, reading, bucket, now, rate) {
  setText(part(el, 'title'), `State: ${titleOf(reading.algorithm).toLowerCase()}`);
  setText(part(el, 'tokens'), number(bucket.tokens));
  setText(part(el, 'of'), `of ${plural(reading.limit, unitOf(reading.algorithm))} left`);
  setText(part(el, 'key'), reading.key);
  drawFacts(part(el, 'facts'), factsOf(reading, bucket, ((now - reading.at) / 1000) * rate));
  const origin = `${ORIGINS[reading.source] ?? 'from the server'} ${ago((now - reading.at) / 1000)}`;
  setText(part(el, 'origin'), bucket.estimated > 0 ? `${origin}, +${number(bucket.estimated)} estimated since` : origin);
}

function drawFacts(list, facts) {
  while (list.childElementCount > facts.length) list.lastChild.remove();
  facts.forEach(([name, label, text], i) => {
    if (!list.children[i]) {
      const box = make('div');
      box.append(make('dt'), make('dd'));
      list.append(box);
    }
    const [dt, dd] = list.children[i].children;
    setText(dt, label);
    setText(dd, text);
    setAttr(dd, 'data-part', name);
  });
}

function speak(gauge, reading, bucket) {
  setAttr(gauge, 'aria-valuemax', String(reading.limit));
  setAttr(gauge, 'aria-valuenow', String(bucket.tokens));
  setAttr(gauge, 'aria-valuetext', `${number(bucket.tokens)} of ${plural(reading.limit, unitOf(reading.algorithm))}`);
}
