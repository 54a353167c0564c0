// What became of a request, told the same everywhere: what only would be denied is not counted as allowed, a held one is
// counted as held, a denial of a server-fired run has its wait.

import assert from 'node:assert/strict';

import { scenario } from '../harness/scenario.mjs';
import { answered, assertAccessible, openPage, part, reads, rows, runOver, screenshot, tally, textOf } from './browser.mjs';

const SLOW = { refill_interval: 1000 }; // no token comes back while a test looks

// A page for the token bucket after a change of its settings.
async function pageWith(world, change) {
  const { server } = await world.pair();
  const answer = await server.request('/admin/policies/token-bucket', { method: 'PATCH', body: change });
  assert.equal(answer.status, 200, answer.text);
  const page = await openPage(world, server, { path: '/' });
  await reads(page, 'chips', 'live', /^Live$/);
  return { server, page };
}

async function fireBurst(page, count) {
  await page.fill('#burst-count', String(count));
  await page.keyboard.press('Enter');
  const text = await runOver(page);
  await answered(page, count);
  return text;
}

scenario('a policy that only watches: what would be denied is counted apart, and nothing is said to be taken', async (world) => {
  const { server, page } = await pageWith(world, { ...SLOW, on_limit: 'shadow' });
  await reads(page, 'limiter', 'summary', /This policy only watches \(shadow\): it denies nobody\.$/);
  await reads(page, 'scenarios', 'list', /30 requests within 0\.1 s: 10 within the limit\./);
  assert.match(await fireBurst(page, 30),
    /^Sent 30 in .* Allowed 30, of which 20 would have been denied \(shadow\), denied 0, errors 0\. Predicted 10 within the limit: matches\.$/);
  assert.equal(await textOf(page, 'send', 'answer-text'), 'Allowed 30, of which 20 would have been denied (shadow), denied 0, errors 0.');
  assert.deepEqual((await rows(page))[0].slice(3, 5), ['✓ would deny', '0']);

  await page.locator('#send h2').click();
  await page.keyboard.press('s');
  await answered(page, 31);
  assert.equal(await textOf(page, 'send', 'answer-word'), '✓ would be denied');
  assert.match(await textOf(page, 'send', 'answer-text'), /^Too few tokens left, so none was taken; this policy only watches \(shadow\)\. Answered 200 in /);
  assert.equal(await textOf(page, 'wire', 'line'), '✓ 200 OK');
  assert.match(await textOf(page, 'wire', 'list'), /X-RateLimit-Shadowdenied/);

  for (let i = 0; i < 12; i++) await server.request('/api/token-bucket?user=zoe');
  await answered(page, 43);
  assert.deepEqual(await tally(page), { allowed: 20, denied: 0, error: 0 });
  assert.equal(await textOf(page, 'log', 'shadow_denied'), '23');
  const zoe = (await rows(page)).filter(([, , client]) => client === 'zoe').map(([, , , outcome]) => outcome);
  assert.equal(zoe.filter((outcome) => outcome === '✓ would deny').length, 2, zoe.join());

  await page.click('#timeline [data-part="table-toggle"]');
  const cells = await page.locator('#timeline tbody tr').evaluateAll((all) => all.map((row) => [row.cells[1].textContent, row.cells[2].textContent]));
  const sum = (pattern) => cells.reduce((all, [text]) => all + Number(pattern.exec(text)?.[1] ?? 0), 0);
  assert.deepEqual([sum(/^(\d+)/), sum(/\((\d+) would be denied\)$/)], [43, 23]);
  assert.ok(cells.every(([, denied]) => denied === '0'));
  await page.selectOption('#filter', 'denied');
  await page.waitForFunction(() => document.querySelectorAll('#log tbody tr:not([hidden])').length === 23);
  await assertAccessible(page, 'shadow');
  await screenshot(page, 'shadow', { fullPage: true });
});

scenario('a run under a policy that delays: the same three numbers in Send and in Last run', async (world) => {
  const { page } = await pageWith(world, { refill_interval: 0.1, on_limit: 'delay', max_delay: 0.5 });
  await reads(page, 'limiter', 'summary', /This policy delays: it holds requests for up to 0\.5 s before it denies any\.$/);
  const text = await fireBurst(page, 30);
  const [counts] = /Allowed \d+, denied \d+, delayed [1-9]\d*, errors 0\./.exec(text) ?? assert.fail(text);
  await reads(page, 'send', 'answer-text', new RegExp(`^${counts}$`));
  const [allowed, denied, delayed] = counts.match(/\d+/g).map(Number);
  assert.equal(allowed + denied + delayed, 30);
  assert.deepEqual(await tally(page), { allowed, denied, error: 0 });
});

scenario('a denial of a server-fired burst shows its wait, and the Inspector its Retry-After', async (world) => {
  const { page } = await pageWith(world, { refill_interval: 100 });
  await fireBurst(page, 30);
  const log = await rows(page);
  const [number, , , outcome, , wait] = log[0];
  assert.equal(outcome, '✗ denied');
  const [, seconds] = /^(\d+\.\d) s$/.exec(wait) ?? assert.fail(wait);
  assert.ok(seconds > 98 && seconds <= 100, wait);
  assert.ok(log.filter(([, , , word]) => word === '✓ allowed').every((row) => row[5] === '–'), 'who is allowed waits for nothing');
  await page.locator('#log tbody tr').first().click();
  const text = await textOf(page, 'wire', 'none');
  const [, told] = new RegExp(`^Decision ${number} for alice: .* 429 with Retry-After: (\\d+)\\.$`).exec(text) ?? assert.fail(text);
  assert.ok(told - seconds >= 0 && told - seconds < 1, `${told} for a wait of ${seconds} s`);
});

scenario('a rate that was kept is not said to be exceeded', async (world) => {
  const { page } = await pageWith(world, { refill_rate: 5 });
  await page.getByRole('button', { name: '80 % Steady rate' }).click();
  await page.waitForSelector('#send [data-part="stop"]:enabled');
  const text = await runOver(page);
  const [, achieved] = /Asked 4\/s, achieved ([\d.]+)\/s/.exec(text) ?? assert.fail(text);
  assert.ok(achieved >= 3.8 && achieved <= 4, text);
});

scenario('a client\'s name counts soon after it is typed, and a wrong one is told only when it is left', async (world) => {
  const { server, page } = await pageWith(world, SLOW);
  for (let i = 0; i < 8; i++) await server.request('/api/token-bucket?user=dora');
  await page.locator('#client').focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('dora', { delay: 30 });
  await reads(page, 'bucket', 'key', /^user:dora$/);
  await reads(page, 'bucket', 'tokens', /^2$/);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'client', 'without leaving the field');
  await page.keyboard.type(' x');
  await page.waitForTimeout(500);
  assert.ok(await part(page, 'send', 'client-error').isHidden());
  assert.equal(await textOf(page, 'bucket', 'key'), 'user:dora');
  await page.keyboard.press('Tab');
  assert.match(await textOf(page, 'send', 'client-error'), /^A client is 1 to 64 letters/);
});
