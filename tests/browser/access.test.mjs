// The page for everybody: keyboard, screen readers, colours, sizes, little motion.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, sleep } from '../harness/time.mjs';
import {
  answered, assertAccessible, assertNoSidewaysScroll, browserBurst, openPage, part, reads, screenshot, settled, tally, textOf,
} from './browser.mjs';

const CALM = bucket(10, 1, 100);

for (const colorScheme of ['light', 'dark']) {
  scenario(`no accessibility violation, ${colorScheme}`, async (world) => {
    const { server } = await world.pair({ args: bucket(10, 1, 1) });
    const page = await openPage(world, server, { colorScheme, statuses: [422] });
    const background = await page.evaluate(() => getComputedStyle(document.querySelector('.panel')).backgroundColor);
    assert.equal(background, colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(18, 22, 28)');
    await assertAccessible(page, 'empty');
    await page.keyboard.press('b');
    await answered(page, 30);
    await page.fill('#set-refill_rate', '0.5');
    await page.fill('#set-refill_interval', '31536000');
    await part(page, 'limiter', 'apply').click();
    await reads(page, 'limiter', 'outcome-text', /Not applied/);
    await page.fill('#set-capacity', '0');
    await assertAccessible(page, 'denied, refused and invalid');
    await page.locator('#shortcuts-open').click();
    await assertAccessible(page, 'list of shortcuts');
  });
}

scenario('no accessibility violation: locked, and on a narrow screen', async (world) => {
  const { server } = await world.pair({ args: CALM, env: { RATELIMITD_ADMIN_TOKEN: 'a-token-for-tests-0123456789' } });
  const page = await openPage(world, server, { statuses: [401], viewport: { width: 320, height: 640 } });
  await page.fill('#token', 'wrong');
  await page.keyboard.press('Enter');
  await reads(page, 'limiter', 'token-error', /isn't right/);
  assert.ok(await page.locator('#dock').isHidden(), 'the dock covers the message');
  await page.locator('#wire h2').click();
  await page.waitForSelector('#dock:not([hidden])');
  await assertAccessible(page, 'locked, with the dock');
});

scenario('keys: send, burst, theme, list; quiet in fields, with modifiers, and when switched off', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { colorScheme: 'light' });
  const sent = () => tally(page).then(({ allowed, denied, error }) => allowed + denied + error);
  await page.keyboard.press('s');
  await answered(page, 1);
  await page.keyboard.press('b');
  await answered(page, 31);

  const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await dark();
  await page.keyboard.press('t');
  assert.equal(await page.locator('#theme').textContent(), 'Theme: dark');
  assert.notEqual(await dark(), before);
  await page.reload();
  await settled(page);
  assert.equal(await page.locator('#theme').textContent(), 'Theme: dark', 'kept over a reload');
  await page.keyboard.press('t');
  await page.keyboard.press('t');
  assert.equal(await page.locator('#theme').textContent(), 'Theme: system');
  assert.equal(await page.evaluate(() => localStorage.getItem('theme')), null);

  await page.locator('#set-capacity').focus();
  for (const key of ['s', 'b', 't', '?']) await page.keyboard.press(key);
  await page.locator('#send h2').click();
  for (const key of ['Control+Shift+s', 'Alt+s', 'Meta+s']) await page.keyboard.press(key);
  assert.equal(await page.locator('dialog[open]').count(), 0);

  await page.keyboard.press('?');
  assert.equal(await page.locator('dialog[open]').count(), 1);
  await page.keyboard.press('s');
  await page.locator('dialog input').uncheck();
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  await page.keyboard.press('s');
  await page.keyboard.press('b');
  await sleep(300);
  assert.equal(await sent(), 0, 'nothing since the reload');
  await page.reload();
  await settled(page);
  await page.keyboard.press('s');
  await sleep(200);
  assert.equal(await sent(), 0, 'the switch is kept');
  await page.locator('#shortcuts-open').click();
  await page.locator('dialog input').check();
  await page.keyboard.press('Escape');
  await page.keyboard.press('s');
  await answered(page, 1);
});

// Everything in tab order, by what it is called.
async function tour(page) {
  const names = [];
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => {
      const el = document.activeElement;
      if (el === document.body) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(el);
      const ring = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
      const own = el.getAttribute('role') === 'tabpanel' ? document.getElementById(el.getAttribute('aria-labelledby')).textContent : null;
      const words = (own ?? el.getAttribute('aria-label') ?? el.labels?.[0]?.textContent ?? el.textContent).trim().replace(/\s+/g, ' ');
      return ring ? words : `${words} (no focus ring)`;
    });
    if (name === null || name === names[0]) break;
    names.push(name);
  }
  return names;
}

scenario('the whole page by keyboard', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  await page.keyboard.press('s');
  await answered(page, 1);
  assert.deepEqual(await tour(page), [
    'Skip to the controls', 'Share', 'Theme: system', 'Shortcuts ?', 'Client', 'Send one S', 'Burst', 'Fire B', 'Rate', 'Start R',
    'Send from this browser', 'Run Burst', '80 % Steady rate', '100 % Steady rate', '150 % Steady rate', 'Run Window edge',
    'Run Many clients', 'Keep current state', 'Token bucket', 'Other policy', '10 / 1 / 1', '100 / 10 / 1', '60 / 1 / 60', 'Capacity',
    'Refill rate', 'Refill interval', 'Table', 'Last 60 s: 1 allowed, 0 denied, 0 delayed, 0 errors. 9 of 10 left.', 'Compare C',
    'Comparison', 'Filter', 'Pause', 'Download CSV',
    'Decisions, newest first. Up and Down choose one, Enter opens it in the Inspector.', 'Headers', 'Headers',
  ]);

  await page.reload();
  await settled(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await answered(page, 1);
  await page.locator('#set-capacity').focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('12');
  await page.keyboard.press('Enter');
  await reads(page, 'limiter', 'outcome-text', /^✓ Applied: capacity 10 → 12/);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'set-capacity', 'the focus stays');
});

scenario('one status, one alert, at most one message in two seconds', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  assert.equal(await page.locator('[role="status"]').count(), 1);
  assert.equal(await page.locator('[role="alert"]').count(), 1);
  assert.equal(await page.locator('[aria-live]').count(), 0);
  await page.evaluate(() => {
    window.heard = [];
    const status = document.getElementById('status');
    new MutationObserver(() => window.heard.push([performance.now(), status.textContent])).observe(status, { childList: true });
  });
  const end = now() + 5000;
  await page.keyboard.press('b');
  while (now() < end) {
    await page.keyboard.press('s');
    await sleep(150);
  }
  const heard = await page.evaluate(() => window.heard);
  assert.ok(heard.length >= 2 && heard.length <= 3, JSON.stringify(heard));
  for (let i = 1; i < heard.length; i++) {
    assert.ok(heard[i][0] - heard[i - 1][0] >= 1900, JSON.stringify(heard));
    assert.match(heard[i][1], /^\d+ requests: \d+ allowed, \d+ denied, \d+ errors\. 0 of 10 tokens left\.$/);
  }
});

scenario('at 400 % zoom nothing scrolls sideways, and what has the focus is in sight', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 });
  await page.keyboard.press('s');
  await answered(page, 1);
  await assertNoSidewaysScroll(page, '400 %');
  for (let i = 0; i < 45; i++) {
    await page.keyboard.press('Tab');
    const hidden = await page.evaluate(() => {
      const el = document.activeElement;
      const { top, bottom, left, right } = el.getBoundingClientRect();
      const [x, y] = [Math.max(1, Math.min(innerWidth - 1, (left + right) / 2)), (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2];
      const seen = document.elementFromPoint(x, y);
      const its = seen && (el.contains(seen) || seen.contains(el) || seen.closest('label')?.control === el);
      return el === document.body || its ? '' : `${el.outerHTML.slice(0, 120)} at ${top} to ${bottom}, under ${seen?.outerHTML.slice(0, 80)}`;
    });
    assert.equal(hidden, '');
    await assertNoSidewaysScroll(page, 'with the focus further down');
  }
});

const WIDTHS = [[320, 640], [768, 1024], [1280, 800], [1920, 1080]];

scenario('no sideways scroll at any width, in light and dark', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 1) });
  for (const colorScheme of ['light', 'dark']) {
    const page = await openPage(world, server, { colorScheme });
    await assertNoSidewaysScroll(page, 'empty');
    await page.keyboard.press('b');
    await answered(page, 30);
    await page.locator('#send h2').click();
    for (const [width, height] of WIDTHS) {
      await page.setViewportSize({ width, height });
      await assertNoSidewaysScroll(page, `${width} px`);
      await screenshot(page, `page-${colorScheme}-${width}`, { fullPage: true });
    }
  }
});

async function smallest(page) {
  return page.locator('button:visible, input:not([type="checkbox"], [type="radio"]):visible, select:visible, label:has(input):visible').evaluateAll((all) => Math.min(
    ...all.map((el) => Math.round(Math.min(el.getBoundingClientRect().height, el.getBoundingClientRect().width))),
  ));
}

scenario('targets are 32 px, and 44 px for fingers', async (world) => {
  const { server } = await world.pair({ args: CALM });
  for (const [hasTouch, least] of [[false, 32], [true, 44]]) {
    const page = await openPage(world, server, { hasTouch, isMobile: hasTouch });
    await page.locator('#send h2').click();
    await page.keyboard.press('s');
    await answered(page, 1);
    assert.equal(await page.evaluate(() => matchMedia('(pointer: coarse)').matches), hasTouch);
    assert.ok(await smallest(page) >= least, `${await smallest(page)} px`);
  }
});

scenario('little motion and forced colours: nothing glides, hatches and borders stay', async (world) => {
  const { server } = await world.pair({ args: bucket(4, 1, 1) });
  const page = await openPage(world, server, { reducedMotion: 'reduce', forcedColors: 'active' });
  await browserBurst(page, 4);
  await answered(page, 4);
  await page.waitForSelector('#bucket [data-state="estimated"]');
  assert.equal(await page.locator('#bucket [data-state="coming"]').count(), 0);
  const looks = await page.locator('#bucket [data-state="estimated"]').first().evaluate((el) => getComputedStyle(el).backgroundImage);
  assert.match(looks, /repeating-linear-gradient/);
  assert.notEqual(await page.locator('#bucket').evaluate((el) => getComputedStyle(el).borderTopStyle), 'none');
  assert.equal(await textOf(page, 'send', 'answer-word'), '✓ allowed');
});
