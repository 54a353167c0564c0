// What others do shows live: their traffic, their changes, Redis going and coming back. Links set up and never send.

import assert from 'node:assert/strict';

import { bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { now, sleep } from '../harness/time.mjs';
import { answered, assertAccessible, openPage, openTab, part, reads, rows, runOver, says, settled, tally, textOf } from './browser.mjs';

const TOKEN = 'a-token-for-tests-0123456789';

const patch = (server, policy, body) => server.request(`/admin/policies/${policy}`, { method: 'PATCH', body });

scenario('requests of others come into tally, log and lanes; our own are counted once', async (world) => {
  const { server } = await world.pair();
  const page = await openPage(world, server, { path: '/' });
  await reads(page, 'chips', 'live', /^Live$/);
  await page.keyboard.press('s');
  await answered(page, 1);
  for (let i = 0; i < 12; i++) await server.request('/api/token-bucket?user=zoe');
  await server.request('/api/fixed-window?user=zoe');
  await answered(page, 13);
  await caughtUp(page, server);
  assert.deepEqual(await tally(page), { allowed: 12, denied: 2, error: 0 });
  const log = await rows(page);
  assert.equal(log.filter(([, , client]) => client === 'zoe').length, 12);
  assert.deepEqual((await page.locator('#lanes li:visible b').allTextContents()).slice(0, 1), ['zoe']);
});

// Everything that was decided until now has been heard: somebody else's request, sent now, is in the log.
async function caughtUp(page, server) {
  await server.request('/api/token-bucket?user=last');
  await page.waitForFunction(() => [...document.querySelectorAll('#log .c-client')].some((cell) => cell.textContent === 'last'));
}

scenario('an answer that is held for seconds is counted once, and others are counted meanwhile', async (world) => {
  const { server } = await world.pair();
  await patch(server, 'token-bucket', { capacity: 2, refill_rate: 1, on_limit: 'delay', max_delay: 10 });
  const page = await openPage(world, server, { path: '/' });
  await reads(page, 'chips', 'live', /^Live$/);
  for (let i = 0; i < 4; i++) await page.keyboard.press('s');
  await server.request('/api/token-bucket?user=zoe');
  await answered(page, 5);
  await caughtUp(page, server);
  assert.deepEqual(await tally(page), { allowed: 4, denied: 0, error: 0 });
  assert.equal(await textOf(page, 'log', 'delayed'), '2');
  const log = await rows(page);
  assert.deepEqual(log.map(([, , client]) => client).sort(), ['alice', 'alice', 'alice', 'alice', 'last', 'zoe']);
  assert.equal(log.filter(([, , , outcome]) => /^◷ delayed [012]\.\d s$/.test(outcome)).length, 2);
});

scenario('without the stream the page asks every two seconds, says so, and what it sent meanwhile hides nobody later', async (world) => {
  const { server } = await world.pair();
  const page = await openPage(world, server, { go: false, statuses: [502] });
  await page.route('**/lab/events', (route) => route.fulfill({ status: 502, body: '' }));
  await page.goto(`http://127.0.0.1:${server.port}/`);
  await reads(page, 'chips', 'live', /^Live updates lost; checking every 2 s\.$/);
  for (let i = 1; i <= 3; i++) {
    await page.keyboard.press('s');
    await answered(page, i);
  }
  await patch(server, 'token-bucket', { capacity: 20 });
  await reads(page, 'chips', 'version', /^Settings v2$/);
  await page.unroute('**/lab/events');
  await reads(page, 'chips', 'live', /^Live$/);
  for (let i = 0; i < 3; i++) await server.request('/api/token-bucket?user=zoe');
  await caughtUp(page, server);
  assert.deepEqual(await tally(page), { allowed: 7, denied: 0, error: 0 });
});

scenario('a tab that was hidden during a run says that its counts are complete', async (world) => {
  const { server } = await world.pair();
  const page = await openPage(world, server, { path: '/' });
  const hide = (hidden) => page.evaluate((state) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => state });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await page.fill('#rate-value', '50');
  await page.keyboard.press('Enter');
  await reads(page, 'log', 'allowed', /^[1-9]/);
  await hide(true);
  await reads(page, 'chips', 'live', /^$/);
  await hide(false);
  await says(page, 'note', /^This tab was hidden, so drawing paused\. Counts are complete\.$/);
  await reads(page, 'chips', 'live', /^Live$/);
  await page.locator('#send h2').click();
  await page.keyboard.press('Escape');
  const text = await runOver(page);
  const [, sent] = /^Stopped at (\d+) of 3,000/.exec(text) ?? assert.fail(text);
  await answered(page, Number(sent));
});

scenario('under a foreign name the page is locked and says why; sending works', async (world) => {
  const { server } = await world.pair();
  const page = await openPage(world, server, { path: '/', host: 'elsewhere.example', statuses: [403] });
  assert.equal(await textOf(page, 'chips', 'admin'), 'Admin locked');
  assert.match(await textOf(page, 'limiter', 'access-reason'), /Host/);
  await page.keyboard.press('s');
  await answered(page, 1);
  assert.match(await textOf(page, 'send', 'answer-word'), /allowed$/);
  assert.ok(await page.getByRole('button', { name: 'Run Burst' }).isDisabled());
});

scenario('two tabs: a change shows in the other within a second, with its version; a stale one is not applied', async (world) => {
  const { server } = await world.pair();
  const a = await openPage(world, server, { path: '/', statuses: [412] });
  const b = await openTab(a);
  for (const page of [a, b]) await reads(page, 'chips', 'live', /^Live$/);
  await b.fill('#set-refill_rate', '3');
  await a.fill('#set-capacity', '20');
  await part(a, 'limiter', 'apply').click();
  await reads(a, 'limiter', 'outcome-text', /^✓ Applied: capacity 10 → 20\. Version 2\.$/);
  await reads(b, 'chips', 'version', /^Settings v2$/, 1000);
  assert.match(await textOf(b, 'limiter', 'changed'), /^v2, changed \d\d:\d\d:\d\d$/);
  assert.equal(await b.locator('#set-capacity-hint').textContent(), 'Now 20. Range 1 to 1,000,000,000.');
  await part(b, 'limiter', 'apply').click();
  await reads(b, 'limiter', 'outcome-text', /^Someone else changed the settings \(now version 2\)\. Load theirs, or apply yours over them\.$/);
  await part(b, 'limiter', 'theirs').click();
  assert.equal(await b.inputValue('#set-capacity'), '20');
});

scenario('nine tabs: the ninth loads like the first', async (world) => {
  const { server } = await world.pair();
  const start = now();
  const page = await openPage(world, server, { path: '/' });
  const first = now() - start;
  for (let i = 2; i <= 8; i++) await settled(await openTab(page));
  const before = now();
  const ninth = await openTab(page);
  await settled(ninth);
  const took = now() - before;
  assert.ok(took < 1000 + first, `${took} ms, and ${first} ms for the first`);
  await ninth.keyboard.press('s');
  await answered(ninth, 1);
});

scenario('Redis stops under 20 a second: errors are errors, said at once, and over without a reload', async (world) => {
  const { redis, server } = await world.pair();
  await patch(server, 'token-bucket', { capacity: 1000000, on_redis_error: 'closed' });
  const page = await openPage(world, server, { path: '/', statuses: [503] });
  await page.keyboard.press('r');
  await reads(page, 'log', 'allowed', /^[1-9]/);
  await redis.kill();
  await says(page, 'alert', /^Redis can't be reached\. Requests are refused with 503 until it is back\. Trying again in 2 s\.$/, 3000);
  await reads(page, 'log', 'error', /^[1-9]/);
  await assertAccessible(page, 'Redis away');
  const { denied } = await tally(page);
  assert.equal(denied, 0, 'an error was counted as denied');
  await redis.start();
  await says(page, 'alert', /^Redis is back\. Decisions come from it again\.$/, 8000);
  await page.keyboard.press('Escape');
});

scenario('a slow Redis is told by its age, and the page stays responsive', async (world) => {
  const { redis, server } = await world.pair();
  const page = await openPage(world, server, { path: '/', statuses: [503] });
  await reads(page, 'chips', 'live', /^Live$/);
  await redis.command('CLIENT', 'PAUSE', '2000', 'ALL');
  await reads(page, 'chips', 'redis-text', /^Redis is slow: no answer for \d\.\d s\.$|away/, 3000);
  await page.keyboard.press('t');
  assert.match(await page.locator('#theme').textContent(), /^Theme: (light|dark)$/);
  await reads(page, 'chips', 'redis-text', /^Redis: up/, 8000);
});

scenario('a link sets the page up, cut to what is allowed, and sends nothing', async (world) => {
  const { redis, server } = await world.pair();
  const sent = [];
  const open = async (path) => {
    const page = await openPage(world, server, { go: false });
    page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    await page.goto(`http://127.0.0.1:${server.port}${path}`);
    await settled(page);
    return page;
  };
  const odd = await open('/?run=burst&burst=99999999&rate=-5&user=%3Cimg%20src=x%20onerror=alert(1)%3E&policy=../admin&capacity=1e9x&browser=yes');
  assert.equal(await odd.inputValue('#burst-count'), '10000');
  assert.equal(await odd.inputValue('#rate-value'), '1');
  assert.equal(await odd.inputValue('#client'), 'alice');
  assert.ok(await odd.locator('#picker input[value="token-bucket"]').isChecked());
  assert.equal(await odd.locator('#note').textContent(), 'Set up from a link. Nothing has been sent.');
  for (const wrong of ['a b', '', '<b>', 'x'.repeat(64) + 'y', 'ä']) {
    await odd.locator('#client').evaluate((input, text) => { input.value = text; }, wrong);
    await part(odd, 'send', 'one').click();
    assert.match(await textOf(odd, 'send', 'client-error'), /^A client is 1 to 64 letters/, wrong);
  }

  const first = await openPage(world, server, { path: '/', permissions: ['clipboard-read', 'clipboard-write'] });
  await first.keyboard.press('5');
  await first.waitForSelector('#set-leak_rate');
  await first.fill('#set-capacity', '25');
  await first.fill('#burst-count', '77');
  await first.fill('#client', 'carol');
  await first.keyboard.press('Enter');
  await first.click('#share');
  await first.waitForFunction(() => document.getElementById('note').textContent.startsWith('Link copied'));
  const link = await first.evaluate(() => navigator.clipboard.readText());
  const second = await open(link.slice(link.indexOf('/?')));
  assert.ok(await second.locator('#picker input[value="leaky-bucket"]').isChecked());
  assert.deepEqual(await Promise.all(['#client', '#burst-count', '#set-capacity'].map((id) => second.inputValue(id))), ['carol', '77', '25']);
  assert.ok(await part(second, 'limiter', 'apply').isEnabled(), 'to be applied by hand');
  await sleep(300);
  assert.ok(sent.every((path) => !/^\/(api(\/.*)?|lab\/runs)$/.test(path)), sent.join(' '));
  assert.deepEqual(await redis.keys('rl:leaky'), []);
});

scenario('locked: the browser still sends, up to 20, and sees what it got; nothing else is asked', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
  const page = await openPage(world, server, { path: '/', statuses: [401] });
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  assert.ok(await page.locator('#from-browser').isDisabled());
  await page.keyboard.press('b');
  await answered(page, 15);
  await page.keyboard.press('4');
  await page.keyboard.press('s');
  await answered(page, 16);
  await reads(page, 'bucket', 'of', /^of 10 requests left$/);
  assert.ok(await page.getByRole('button', { name: 'Run Burst' }).isDisabled());
  assert.ok(await part(page, 'compare', 'run').isDisabled());
  assert.equal(await page.locator('#pane-headers .value').first().textContent(), '10');
  await sleep(500);
  assert.deepEqual([...new Set(asked.filter((path) => path.startsWith('/lab')))], []);
  for (const headers of [{ Origin: 'http://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
    const answer = await server.request('/lab/state?policy=default&user=x', { headers: { ...headers, Authorization: `Bearer ${TOKEN}` } });
    assert.equal(answer.status, 403);
  }
});

scenario('the log waits while it is read; filters; Enter opens the Inspector; CSV is safe', async (world) => {
  const { server } = await world.pair();
  const page = await openPage(world, server, { path: '/' });
  await page.fill('#burst-count', '30');
  await page.keyboard.press('Enter');
  await answered(page, 30);
  await page.selectOption('#filter', 'denied');
  await page.waitForFunction(() => document.querySelectorAll('#log tbody tr:not([hidden])').length === 20);
  await part(page, 'log', 'scroll').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const chosen = await page.evaluate(() => document.activeElement.cells[0].textContent);
  await page.keyboard.press('s');
  await answered(page, 31);
  await reads(page, 'log', 'paused', /^Paused, 1 new\.$/);
  await page.keyboard.press('Enter');
  assert.equal(await textOf(page, 'wire', 'which'), `decision ${chosen}`);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'wire');
  await page.waitForFunction(() => document.querySelector('#log [data-part="paused"]').hidden);

  const [download] = await Promise.all([page.waitForEvent('download'), part(page, 'log', 'csv').click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trim().split('\r\n');
  assert.equal(lines.length, 32);
  assert.match(lines[1], /^31,\d{4}-\d\d-\d\dT.*,token-bucket,alice,(allowed|denied),/);
  const safe = await page.evaluate(async () => (await import('/csv.js')).csvOf([{ number: 1, at: 0, policy: 'p', client: '=1+1', outcome: '@x', remaining: null, wait: null, took: null, via: 'a"b,' }]));
  assert.match(safe, /,'=1\+1,'@x,,,,"a""b,"\r\n$/);
});

// What is sent before the stream is there may be decided before or after the server counts for it.
for (const [when, later] of [['before', { events: 500, api: 0 }], ['after', { events: 0, api: 700 }]]) {
  scenario(`an own request of the moment at which the stream begins, decided ${when} it, counts once`, async (world) => {
    const { server } = await world.pair({ args: bucket(10, 1, 100) });
    const page = await openPage(world, server, { go: false });
    const hold = (path, ms) => page.route((url) => url.pathname === path, async (route) => {
      await sleep(ms);
      await route.continue();
    });
    await hold('/lab/events', later.events);
    await hold('/api', later.api);
    const asked = page.waitForRequest('**/lab/events');
    await page.goto(`http://127.0.0.1:${server.port}/?policy=default`);
    await page.keyboard.press('s');
    await asked;
    await answered(page, 1);
    await reads(page, 'chips', 'live', /^Live$/);
    await sleep(1000); // five counts
    assert.equal((await tally(page)).allowed, 1);
    await server.request('/api');
    await answered(page, 2);
    assert.equal((await tally(page)).allowed, 2);
  });
}
