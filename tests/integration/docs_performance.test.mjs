// The plots of docs/performance.md are those of the figures beside them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { FIGURES, PLOTS, plots } from '../bench/growth_plots.mjs';

const figures = JSON.parse(readFileSync(FIGURES, 'utf8'));

test('docs/images/scale.svg is drawn from docs/images/scale.json', () => {
  assert.equal(readFileSync(PLOTS, 'utf8'), plots(figures), 'draw it again: node tests/bench/growth_plots.mjs');
});

test('a thousand policies cost a decision hardly more than one', () => {
  const [one, thousand] = [1, 1000].map((count) => figures.policies.find(({ at }) => at === count).instructions);
  assert.ok(thousand < 1.1 * one, `${one} instructions with one policy, ${thousand} with a thousand`);
});
