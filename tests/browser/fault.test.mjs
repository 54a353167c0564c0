// The page when server or Redis goes away: said once, in the contract's words, and errors are never counted as denials.

import assert from 'node:assert/strict';

import { Child } from '../harness/child.mjs';
import { bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment, program } from '../harness/server.mjs';
import { assertAccessible, answered, openPage, part, rows, says, tally, textOf } from './browser.mjs';

const CALM = bucket(10, 1, 100);

scenario('server gone: an error and the remedy; back with Try again', async (world) => {
  const { redis, server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { lost: true });
  await page.keyboard.press('s');
  await answered(page, 1);
  await server.stop();
  await page.keyboard.press('s');
  await answered(page, 2);
  await says(page, 'alert', /^The demo server isn't answering\. Start it, then press Try again\.$/);
  assert.deepEqual(await tally(page), { allowed: 1, denied: 0, error: 1 });
  assert.equal((await rows(page))[0][3], '! error');
  assert.equal(await textOf(page, 'send', 'answer-text'), "The demo server isn't answering.");
  await assertAccessible(page, 'server gone');

  await startAgain(world, server.port, redis);
  await part(page, 'alert-action', 'again').click();
  await says(page, 'alert', /^The demo server is answering again\.$/);
  assert.ok(await part(page, 'alert-action', 'again').isHidden());
  await page.locator('#send h2').click();
  await page.keyboard.press('s');
  await answered(page, 3);
  assert.deepEqual(await tally(page), { allowed: 2, denied: 0, error: 1 });
});

// Another server where one was before.
async function startAgain(world, port, redis) {
  const args = ['--port', String(port), '--threads', '2', '--redis-host', '127.0.0.1', '--redis-port', String(redis.port), ...CALM];
  const child = new Child(program, args, { env: cleanEnvironment() });
  world.owns(() => child.end('SIGTERM'));
  await child.output(/listening on/);
}

scenario('the alert stays in sight further down, and nothing with the focus lies under it', async (world) => {
  const { redis, server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { statuses: [503] });
  await redis.kill();
  await page.keyboard.press('s');
  await says(page, 'alert', /^Redis can't be reached\./);
  for (const width of [1280, 800]) {
    await page.setViewportSize({ width, height: 500 });
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    const { top, bottom } = await page.locator('#alert').evaluate((el) => el.getBoundingClientRect());
    assert.ok(top >= 0 && bottom <= 170, `from ${top} to ${bottom}`);
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press('Shift+Tab');
      const under = await page.evaluate((edge) => {
        const el = document.activeElement;
        return !el.closest('header, .skip') && el !== document.body && el.getBoundingClientRect().bottom < edge + 20 ? el.outerHTML.slice(0, 120) : '';
      }, bottom);
      assert.equal(under, '', `${width} px`);
    }
  }
});

const AWAY = [
  ['closed', /^Redis can't be reached\. Requests are refused with 503 until it is back\. Trying again in 2 s\.$/, 'error'],
  ['open', /^Redis can't be reached\. Requests are let through unchecked\.$/, 'allowed'],
];

for (const [mode, words, counted] of AWAY) {
  scenario(`Redis gone, ${mode}: named, counted as ${counted}, and cleared without a reload`, async (world) => {
    const { redis, server } = await world.pair({ args: [...CALM, '--on-redis-error', mode] });
    const page = await openPage(world, server, { statuses: [503] });
    await page.keyboard.press('s');
    await answered(page, 1);
    await redis.kill();
    for (let i = 2; i <= 4; i++) {
      await page.keyboard.press('s');
      await answered(page, i);
    }
    await says(page, 'alert', words, 3000);
    const expected = { allowed: 1, denied: 0, error: 0 };
    expected[counted] += 3;
    assert.deepEqual(await tally(page), expected);
    if (mode === 'open') assert.equal((await rows(page))[0][4], '–', 'no made-up number');
    await redis.start();
    await says(page, 'alert', /^Redis is back\. Decisions come from it again\.$/, 8000);
  });
}
