// The settings form: a live change is seen at once and keeps tokens; nothing is reported as applied unless it was.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { until } from '../harness/time.mjs';
import { answered, browserBurst, openPage, part, reads, rows, says, settled, textOf } from './browser.mjs';

const KEY = 'ip:127.0.0.1';
const CALM = bucket(10, 1, 100);
const TOKEN = 'a-token-for-tests-0123456789';
const IN_FORCE = /^In force: capacity 10, refill rate 1, refill interval 100\.$/;

const submit = (page) => part(page, 'limiter', 'apply').click();
const outcome = (page) => textOf(page, 'limiter', 'outcome-text');

async function hint(page, name) {
  return page.locator(`#set-${name}-hint`).textContent();
}

async function limits(server) {
  const { capacity, refill_rate: rate, refill_interval: interval } = await server.settings();
  return { capacity, rate, interval };
}

scenario('the form is made from /algorithms and the live policy', async (world) => {
  const { server } = await world.pair({ args: bucket(7, 0.25, 1.5) });
  const page = await openPage(world, server);
  const { algorithms } = (await server.request('/algorithms')).json;
  const { parameters, summary } = algorithms.find((one) => one.name === 'token_bucket');
  const shown = await page.locator('#limiter .field').evaluateAll((fields) => fields.map((field) => [
    field.querySelector('label').textContent, field.querySelector('input').value, field.querySelector('.unit').textContent,
  ]));
  assert.deepEqual(shown, parameters.map((one, i) => [one.title, ['7', '0.25', '1.5'][i], one.unit]));
  assert.equal(await textOf(page, 'limiter', 'summary'), summary);
  assert.equal(await hint(page, 'capacity'), 'Now 7. Range 1 to 1,000,000,000.');
  assert.ok(await part(page, 'limiter', 'apply').isDisabled(), 'nothing to apply yet');
});

// Columns of the timeline that are of the text's colour from top to bottom: markers of changes.
function markers(page) {
  return page.locator('#timeline canvas').evaluate((canvas) => {
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const [r, g, b] = getComputedStyle(canvas).color.match(/\d+/g).map(Number);
    const near = (at) => Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 60 && data[at + 3] > 200;
    let count = 0;
    for (let x = 0; x < width; x += 1) {
      let dark = 0;
      for (let y = 24; y < height - 24; y += 1) dark += near((y * width + x) * 4);
      if (dark > (height - 48) * 0.95) count += 1;
    }
    return count;
  });
}

scenario('a live change shows the new limit and keeps the tokens', async (world) => {
  const { redis, server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  await browserBurst(page, 8);
  await answered(page, 8);
  assert.equal(await textOf(page, 'bucket', 'tokens'), '2');

  const patch = page.waitForRequest((request) => request.method() === 'PATCH');
  await page.fill('#set-capacity', '20');
  await submit(page);
  const sent = await patch;
  assert.equal(sent.postData(), '{"capacity":20}');
  assert.equal(sent.headers()['content-type'], 'application/json');
  assert.match(sent.headers()['if-match'], /^"\d+"$/);

  await reads(page, 'limiter', 'outcome-text', /^✓ Applied: capacity 10 → 20\. Version \d+\.$/);
  await reads(page, 'bucket', 'of', /^of 20 tokens left$/);
  await until('a line on the timeline', async () => await markers(page) === 1);
  await page.locator('#timeline canvas').focus();
  await page.keyboard.press('End');
  for (let i = 0; i < 100 && !/v\d/.test(await textOf(page, 'timeline', 'cursor')); i++) await page.keyboard.press('ArrowLeft');
  assert.match(await textOf(page, 'timeline', 'cursor'), / Settings changed: v2\.$/);
  assert.equal(await textOf(page, 'bucket', 'tokens'), '2', 'kept, and asked of Redis without taking');
  assert.equal(await redis.command('HGET', redis.key(KEY), 'tokens'), '2');
  await page.locator('#send h2').click();
  await page.keyboard.press('s');
  await answered(page, 9);
  assert.equal((await rows(page))[0][4], '1', 'the next answer follows from two');
  assert.equal(await page.locator('#pane-headers dl > div .value').first().textContent(), '20');

  await page.reload();
  await settled(page);
  assert.equal(await page.inputValue('#set-capacity'), '20');
});

scenario('an invalid value is named, cannot be sent, and the live value stays in sight', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  let patches = 0;
  page.on('request', (request) => { patches += request.method() === 'PATCH' ? 1 : 0; });
  const wrong = [
    ['capacity', ['0', '-5', '1.5', '1000000001', 'ten', '', '1e3', '0x10', '1,000'], 'Capacity must be a whole number from 1 to 1,000,000,000.'],
    ['refill_rate', ['0', '-1', '0.0000001', '1.1234567', 'NaN', '∞'], 'Refill rate must be a number from 0.000001 to 1,000,000,000, with at most six decimals.'],
    ['refill_interval', ['0', '0.0001', '31536001'], 'Refill interval must be a number from 0.001 to 31,536,000, with at most six decimals.'],
  ];
  for (const [name, values, message] of wrong) {
    for (const value of values) {
      await page.fill(`#set-${name}`, value);
      assert.equal(await page.locator(`#set-${name}-error`).textContent(), message, value);
      assert.equal(await page.locator(`#set-${name}`).getAttribute('aria-invalid'), 'true');
      assert.ok(await part(page, 'limiter', 'apply').isDisabled(), `${name} ${value}`);
      await page.keyboard.press('Enter');
    }
    assert.match(await hint(page, name), name === 'refill_interval' ? /^Now 100\./ : /^Now 10?\./);
    await part(page, 'limiter', 'reset').click();
  }
  assert.equal(patches, 0);
  assert.deepEqual(await limits(server), { capacity: 10, rate: 1, interval: 100 });
});

scenario('what the server refuses is reported with its reason and the live value', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { statuses: [422, 503] });
  await page.fill('#set-capacity', '1000000000');
  const answer = page.waitForResponse((response) => response.request().method() === 'PATCH');
  await submit(page);
  const refusal = await answer;
  assert.equal(refusal.status(), 422);
  await reads(page, 'limiter', 'outcome-text', /^! Not applied\. /);
  assert.equal(await outcome(page), `! Not applied. ${(await refusal.json()).detail}`);
  assert.match(await textOf(page, 'limiter', 'outcome-live'), IN_FORCE);
  assert.match(await hint(page, 'capacity'), /^Now 10\./);
  assert.equal(await page.inputValue('#set-capacity'), '1000000000', 'what was typed is still there to be corrected');

  await page.route('**/admin/policies/default', (route) => (route.request().method() === 'PATCH'
    ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"detail":"Redis is away: <b>nothing</b> was changed."}' })
    : route.fallback()));
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /^! Not applied\. Redis is away: <b>nothing<\/b> was changed\.$/);
  assert.match(await textOf(page, 'limiter', 'outcome-live'), IN_FORCE);
  assert.deepEqual(await limits(server), { capacity: 10, rate: 1, interval: 100 });
  await page.unrouteAll();
  await page.reload();
  await settled(page);
  assert.equal(await page.inputValue('#set-capacity'), '10');
});

scenario('saving while the server is stopped is not reported as saved', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { lost: true });
  await page.fill('#set-capacity', '20');
  await server.stop();
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /^! Not confirmed\. The demo server isn't answering\.$/);
  assert.equal(await textOf(page, 'limiter', 'outcome-live'), 'In force when last seen: capacity 10, refill rate 1, refill interval 100.');
  await says(page, 'alert', /^The demo server isn't answering\. Start it, then press Try again\.$/);
});

scenario('a change made elsewhere in the meantime is not overwritten unasked', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { statuses: [412] });
  const other = () => part(page, 'limiter', 'conflict');

  await page.fill('#set-refill_rate', '3');
  await server.patch({ capacity: 50 });
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /^Someone else changed the settings \(now version 2\)\. Load theirs, or apply yours over them\.$/);
  assert.equal(await textOf(page, 'limiter', 'outcome-live'), 'In force: capacity 50, refill rate 1, refill interval 100.');
  assert.deepEqual(await limits(server), { capacity: 50, rate: 1, interval: 100 });
  await part(page, 'limiter', 'mine').click();
  await reads(page, 'limiter', 'outcome-text', /^✓ Applied: refill rate 1 → 3\. Version 3\.$/);
  assert.deepEqual(await limits(server), { capacity: 50, rate: 3, interval: 100 }, 'theirs kept where mine did not touch it');
  assert.ok(await other().isHidden());

  await page.fill('#set-capacity', '60');
  await server.patch({ capacity: 70 });
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /now version 4/);
  await part(page, 'limiter', 'theirs').click();
  assert.equal(await page.inputValue('#set-capacity'), '70');
  assert.ok(await part(page, 'limiter', 'outcome').isHidden());
  assert.deepEqual(await limits(server), { capacity: 70, rate: 3, interval: 100 });

  await page.fill('#set-capacity', '90');
  await server.patch({ capacity: 80 });
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /now version 5/);
  await part(page, 'limiter', 'mine').click();
  await reads(page, 'limiter', 'outcome-text', /^✓ Applied: capacity 80 → 90\. Version 6\.$/);
});

scenario('an answer under another limit brings the form up to date', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  await server.patch({ capacity: 12 });
  await page.keyboard.press('s');
  await page.waitForFunction(() => document.querySelector('#set-capacity').value === '12');
});

scenario('locked: sending works, the wrong token is told, the right one unlocks and is kept nowhere', async (world) => {
  const { server } = await world.pair({ args: CALM, env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const page = await openPage(world, server, { statuses: [401] });
  assert.equal(await textOf(page, 'limiter', 'access-text'),
    'Settings, server-fired runs and live traffic are locked. Enter the admin token. Sending from this browser still works.');
  assert.equal(await textOf(page, 'chips', 'admin'), 'Admin locked');
  await part(page, 'chips', 'admin').click();
  assert.equal(await page.evaluate(() => document.activeElement.id), 'token', 'the chip leads to the field');
  await page.locator('#send h2').click();
  assert.equal(await page.locator('#set-capacity').count(), 0);
  await page.keyboard.press('s');
  await answered(page, 1);
  assert.equal((await rows(page))[0][3], '✓ allowed');

  for (const wrong of ['wrong', `${TOKEN}x`, TOKEN.slice(1)]) {
    await page.fill('#token', wrong);
    await page.keyboard.press('Enter');
    await reads(page, 'limiter', 'token-error', /^That token isn't right\.$/);
    assert.equal(await page.inputValue('#token'), '');
    assert.equal(await page.locator('#set-capacity').count(), 0);
  }
  await page.fill('#token', TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#set-capacity');
  assert.ok(await part(page, 'limiter', 'access').isHidden());
  await page.fill('#set-capacity', '11');
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /^✓ Applied: capacity 10 → 11\./);

  const readable = await page.evaluate(() => [
    document.documentElement.outerHTML, location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage),
    ...[...document.querySelectorAll('input')].map((input) => input.value),
  ].join('\n'));
  assert.ok(!readable.includes(TOKEN), 'the token can be read somewhere');
  await page.reload();
  await settled(page);
  assert.ok(await part(page, 'limiter', 'access').isVisible(), 'and is forgotten with the page');
});

scenario('a token that is no longer right: the change is refused and said to be', async (world) => {
  const { server } = await world.pair({ args: CALM, env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const page = await openPage(world, server, { statuses: [401] });
  await page.fill('#token', TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#set-capacity');
  await page.route('**/admin/**', (route) => route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer old' } }));
  await page.fill('#set-capacity', '11');
  await submit(page);
  await reads(page, 'limiter', 'outcome-text', /^! Not applied\. That token isn't right\.$/);
  assert.match(await textOf(page, 'limiter', 'outcome-live'), /^In force when last seen: capacity 10,/);
  await page.unrouteAll();
  const { capacity } = await server.settings({ headers: { Authorization: `Bearer ${TOKEN}` } });
  assert.equal(capacity, 10);
});
