// docs/tour.md cannot rot: its commands are run and its tables acted out, in its order, beside a real server and Redis.

import assert from 'node:assert/strict';

import { Tour, pattern, quoted, steps } from '../docs/tour.mjs';
import { scenario } from '../harness/scenario.mjs';
import { until } from '../harness/time.mjs';
import { openPage, settled } from './browser.mjs';

const PANELS = {
  Send: '#send', State: '#bucket', Inspector: '#wire', Scenarios: '#scenarios', 'Last run': '#last', Limiter: '#limiter', Timeline: '#timeline', 'Top bar': '.bar', Alert: '#alert',
};
const RUN_MS = 25000;

const ACTIONS = [
  [/^(|a second later)$/, async () => {}],
  [/^reload the page$/, async (page) => {
    await page.reload();
    await settled(page);
    await page.waitForFunction(() => document.querySelector('#chips [data-part="live"]').textContent === 'Live');
  }],
  [/^tick `[^`]+`$/, (page, [label]) => page.getByLabel(label, { exact: true }).click()],
  [/^press `\w`$/, (page, [key]) => page.keyboard.press(key.toLowerCase())],
  [/^click `[^`]+` of `[^`]+`$/, (page, [word, of]) => page.getByRole('button', { name: `${word} ${of}`, exact: true }).click()],
  [/^type `\w+` into `\w+`( and click `\w+`)?$/, async (page, [text, label, button]) => {
    await page.getByLabel(label, { exact: true }).fill(text);
    if (!button) return; // typing is enough
    await page.getByRole('button', { name: button, exact: true }).click();
    await page.locator('#send h2').click();
  }],
];

async function act(page, action) {
  const [, perform] = ACTIONS.find(([form]) => form.test(action)) ?? assert.fail(`what is "${action}"?`);
  await perform(page, quoted(action));
}

function near(text, slack) {
  if (slack === 0) return pattern(text);
  const numbers = (middle) => Array.from({ length: 2 * slack + 1 }, (_, i) => middle - slack + i).join('|');
  return new RegExp(text.replace(/\d+/, (digits) => `\\b(?:${numbers(Number(digits))})\\b`));
}

async function sees(page, { panel, texts, slack }) {
  const shown = async () => (await page.locator(PANELS[panel] ?? assert.fail(`what is "${panel}"?`)).innerText()).replace(/\s+/g, ' ');
  assert.ok(texts.length > 0);
  for (const text of texts) {
    const wanted = near(text, slack);
    await until(`${panel} to show ${text}`, async () => wanted.test(await shown()), RUN_MS, 20)
      .catch(async (error) => assert.fail(`${error.message}; it shows: ${await shown()}`));
  }
}

// A scenario is begun anew when this machine was too busy to be on time.
async function pageStep(page, step, attempts) {
  try {
    await act(page, step.action);
    await sees(page, step);
  } catch (error) {
    if (attempts === 1 || !step.action.startsWith('click')) throw error;
    await pageStep(page, step, attempts - 1);
  }
}

scenario('the tour, from its beginning to its end', async (world) => {
  const tour = await Tour.begin(world);
  const all = steps();
  assert.ok(all.filter(({ kind }) => kind === 'command').length > 15 && all.filter(({ kind }) => kind === 'page').length > 15);
  let page = null;
  for (const step of all) {
    if (step.kind === 'program') await tour.program(step);
    else if (step.kind === 'command') await tour.command(step);
    else {
      page ??= await openPage(world, { port: Number(new URL(tour.url).port) }, { path: '/' });
      await pageStep(page, step, 3);
    }
  }
}, { ms: 200000 });
