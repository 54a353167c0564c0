// The page's first load, its requests, and that what it shows is what was on the wire and in Redis.

import assert from 'node:assert/strict';

import { run } from '../harness/child.mjs';
import { bucket } from '../harness/decision.mjs';
import { scenario } from '../harness/scenario.mjs';
import { until } from '../harness/time.mjs';
import {
  answered, assertNoSidewaysScroll, browserBurst, openPage, part, reads, rows, runOver, says, screenshot, settled, tally, textOf,
} from './browser.mjs';

const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
  + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const PAGE_MAX = 120 * 1024;
const KEY = 'ip:127.0.0.1';
const CALM = bucket(10, 1, 100); // no token comes back while a test looks

scenario('first load: exact policy, nothing from elsewhere, small, ready to press', async (world) => {
  const { redis, server } = await world.pair();
  const page = await openPage(world, server, { go: false });
  const bodies = [];
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (/^\/([\w]+\.\w+)?$/.test(pathname)) bodies.push(response.body().then((body) => body.length));
  });
  const first = await page.goto(`http://127.0.0.1:${server.port}/`);
  await settled(page);

  assert.equal(first.status(), 200);
  const headers = first.headers();
  assert.equal(headers['content-security-policy'], CSP);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['referrer-policy'], 'no-referrer');
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  assert.equal(headers['cache-control'], 'no-cache');
  assert.match(headers.etag, /^"[^"]+"$/);

  const size = (await Promise.all(bodies)).reduce((sum, length) => sum + length, 0);
  assert.ok(size > 10000 && size <= PAGE_MAX, `${size} bytes`);
  assert.equal(await page.locator('h1').count(), 1);
  assert.equal(await page.locator('[style], [onclick], script:not([src])').count(), 0);
  assert.match(await textOf(page, 'log', 'empty'), /^No requests yet\. Press Send one or choose a scenario\.$/);
  assert.ok(await part(page, 'send', 'one').isEnabled());
  assert.deepEqual(await redis.keys(), [], 'loading the page spent something');
  await screenshot(page, 'first-load');
});

scenario('without script the page says so and offers curl', async (world) => {
  const { server } = await world.pair();
  const page = await openPage(world, server, { javaScriptEnabled: false, go: false });
  await page.goto(`http://127.0.0.1:${server.port}/`);
  assert.match(await page.locator('noscript').innerText(), /This page needs JavaScript\. You can still try:\s+curl -i localhost:8080\/api/);
  assert.equal(await page.locator('button:visible').count(), 0);
});

scenario('S sends one; row, gauge and Redis agree', async (world) => {
  const { redis, server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  await page.keyboard.press('s');
  await answered(page, 1);

  const [[number, , client, outcome, left, wait]] = await rows(page);
  assert.deepEqual([number, client, outcome, left, wait], ['1', 'alice', '✓ allowed', '9', '–']);
  assert.equal(await textOf(page, 'bucket', 'tokens'), '9');
  assert.equal(await textOf(page, 'bucket', 'of'), 'of 10 tokens left');
  assert.equal(await textOf(page, 'bucket', 'key'), KEY);
  assert.match(await textOf(page, 'bucket', 'origin'), /^from Redis \d\.\d s ago$/);
  const meter = page.getByRole('meter', { name: 'Left' });
  assert.equal(await meter.getAttribute('aria-valuetext'), '9 of 10 tokens');
  assert.equal(await meter.getAttribute('aria-valuenow'), '9');
  assert.equal(await meter.getAttribute('aria-valuemax'), '10');
  assert.equal(await meter.locator('[data-state="known"]').count(), 9);
  assert.equal(await redis.command('HGET', redis.key(KEY), 'tokens'), '9');
  await says(page, 'status', /^allowed\. 9 of 10 tokens left\.$/);
});

scenario('three tokens: three allowed, then denied, and the headers shown are the wire\'s', async (world) => {
  const { server } = await world.pair({ args: bucket(3, 0.5, 10) });
  const page = await openPage(world, server);
  let last = null;
  page.on('response', (response) => {
    if (new URL(response.url()).pathname === '/api') last = response;
  });
  for (let i = 1; i <= 4; i++) {
    await part(page, 'send', 'one').click();
    await answered(page, i);
    await assertShownIsWire(page, last);
  }
  assert.deepEqual((await rows(page)).map((row) => row[3]), ['✗ denied', '✓ allowed', '✓ allowed', '✓ allowed']);
  assert.deepEqual(await tally(page), { allowed: 3, denied: 1, error: 0 });
  assert.equal(await textOf(page, 'wire', 'line'), '✗ 429 Too Many Requests');
  assert.equal(await textOf(page, 'send', 'answer-word'), '✗ denied');
  const { retry_after: wait } = await last.json();
  assert.equal((await rows(page))[0][5], `${(Math.ceil(wait * 10) / 10).toFixed(1)} s`);
});

async function assertShownIsWire(page, response) {
  const wire = await response.allHeaders();
  const shown = await page.locator('#pane-headers dl > div').evaluateAll((all) => all.map((box) => [
    box.querySelector('dt').textContent, box.querySelector('.value').textContent,
  ]));
  const expected = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit-Policy', 'RateLimit'];
  if (response.status() === 429) expected.push('Retry-After');
  assert.deepEqual(shown.map(([name]) => name), [...expected, 'Cache-Control', 'Content-Type']);
  for (const [name, value] of shown) assert.equal(value, wire[name.toLowerCase()], name);
  assert.deepEqual(JSON.parse(await textOf(page, 'wire', 'body')), await response.json());
}

// Empties the bucket, then clicks Send one `early` and `late` ms around the moment the countdown promises; in the page,
// to be on time.
function clickAround([early, late]) {
  const facts = document.querySelector('#bucket [data-part="facts"]');
  const next = () => facts.querySelector('[data-part="next"]').textContent;
  const word = document.querySelector('#send [data-part="answer-word"]');
  const log = () => document.querySelectorAll('#log tbody tr:not([hidden])').length;
  const at = (time) => new Promise((resolve) => setTimeout(resolve, time - performance.now()));
  const changed = () => new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      observer.disconnect();
      resolve(performance.now());
    });
    observer.observe(facts, { childList: true, characterData: true, subtree: true });
  });
  async function press(time) {
    const before = log();
    await at(time);
    const pressed = performance.now();
    document.querySelector('#send [data-part="one"]').click();
    while (log() === before) await new Promise((resolve) => setTimeout(resolve, 2));
    return { off: pressed - time, outcome: word.textContent };
  }
  return (async () => {
    do await press(0);
    while (word.textContent !== '✗ denied');
    const due = await changed() + parseFloat(next()) * 1000;
    return [await press(due + early), await press(due + late)];
  })();
}

scenario('the countdown is true: 150 ms early is denied, 150 ms late is allowed', async (world) => {
  const { server } = await world.pair({ args: bucket(3, 0.5, 1) });
  const page = await openPage(world, server);
  for (let attempt = 1; ; attempt++) {
    const [early, late] = await page.evaluate(clickAround, [-150, 150]);
    if (early.off > 60 && attempt < 4) continue; // this machine was late: the press was not early
    assert.equal(early.outcome, '✗ denied', `pressed ${early.off} ms after the time`);
    assert.equal(late.outcome, '✓ allowed', `pressed ${late.off} ms after the time`);
    break;
  }
});

scenario('tokens that come back are shown as estimated until the next answer', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 2, 0.5) });
  const page = await openPage(world, server);
  await browserBurst(page, 10);
  await answered(page, 10);
  await reads(page, 'bucket', 'origin', /^from Redis \d\.\d s ago, \+[468] estimated since$/);
  assert.ok(await page.locator('#bucket [data-state="estimated"]').count() >= 4);
  await reads(page, 'bucket', 'full', /^full$/);
  await part(page, 'send', 'one').click();
  await reads(page, 'log', 'allowed', /^11$/);
  assert.equal((await rows(page))[0][4], '9', 'full when asked again, as estimated');
});

scenario('a burst from this browser is counted, and kept to 20', async (world) => {
  const { redis, server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  for (const wrong of ['0', '21', '-1', '1.5', 'ten', '']) {
    await browserBurst(page, wrong);
    assert.equal(await textOf(page, 'send', 'burst-error'), 'A burst sent from this browser must be a whole number from 1 to 20.', wrong);
  }
  assert.deepEqual(await redis.keys(), [], 'an invalid burst was sent');

  await browserBurst(page, 20);
  assert.match(await runOver(page), /^Sent 20 in \d[\d.]* m?s from this browser\. Allowed 10, denied 10, errors 0\./);
  await answered(page, 20);
  assert.equal((await rows(page)).length, 20);
  assert.ok(await part(page, 'send', 'burst-error').isHidden());

  await page.locator('#send h2').click();
  await page.keyboard.press('b');
  await answered(page, 40);
  await page.keyboard.press('s');
  await answered(page, 41);
  await page.waitForFunction(() => document.querySelector('#log tbody tr').cells[0].textContent === '41');
  assert.equal(await page.locator('#log tbody tr').count(), 40, 'rows are reused');
});

scenario('the copied curl line works when run', async (world) => {
  const { server } = await world.pair({ args: bucket(1, 1, 100) });
  const page = await openPage(world, server, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.keyboard.press('s');
  await answered(page, 1);
  await page.click('#tab-curl');
  await part(page, 'wire', 'copy').click();
  await reads(page, 'wire', 'copied', /^Copied\.$/);
  const line = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(line, `curl -i 'http://127.0.0.1:${server.port}/api?user=alice'`);
  const { stdout } = await run('sh', ['-c', line]);
  assert.match(stdout, /^HTTP\/1\.1 429 /);
  assert.match(stdout, /^X-RateLimit-Remaining: 0\r$/m);
});

const HOSTILE = [
  '<img src=x onerror=alert(1)>', `'"><svg/onload=alert(1)>`, '</script><script>alert(1)</script>', 'javascript:alert(1)', '{{7*7}}', 'a\u2028b',
];

scenario('hostile text in keys, reasons and bodies stays text', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server, { statuses: [500], viewport: { width: 320, height: 640 } });
  const real = (await server.request('/api')).json;
  let answer = null;
  await page.route('**/api?*', (route) => route.fulfill(answer));
  const elements = await page.locator('*').count();
  for (const [i, text] of HOSTILE.entries()) {
    const refused = i % 2 === 1;
    const body = { ...real, key: text, detail: text, error: text, source: text, policy: text };
    answer = {
      status: refused ? 500 : 200, contentType: 'application/json', headers: { 'Retry-After': encodeURI(text) }, body: JSON.stringify(body),
    };
    await page.keyboard.press('s');
    await answered(page, i + 1);
    const [panel, name] = refused ? ['send', 'answer-text'] : ['bucket', 'key'];
    await until(`${name} to read ${text}`, async () => (await textOf(page, panel, name)) === text);
    assert.equal(JSON.parse(await textOf(page, 'wire', 'body')).key, text);
    await assertNoSidewaysScroll(page, text);
  }
  assert.equal(await page.locator('main img, main svg, main script').count(), 0);
  assert.ok(await page.locator('*').count() < elements + 60);
});

// A bucket by the definition, tick by tick, read at random moments; the page's estimate must agree with it until the
// bucket is read again. Runs in the page.
async function compareEstimates(rounds) {
  const { bucketAt, supersedes } = await import('/estimate.js');
  const faults = [];
  const pick = (list) => list[Math.floor(Math.random() * list.length)];
  for (let i = 0; i < rounds; i++) {
    const rate = pick([1, 2, 3, 7, 0.5, 0.25, 0.125]); // no fraction is hidden in `remaining` for these
    const interval = pick([0.25, 1, 2, 10]);
    const limit = pick([1, 2, 3, 10, 24, 100]);
    const remaining = Math.floor(Math.random() * limit);
    const phase = Math.random() * interval; // until the next tick
    const ticksToOne = Math.ceil(1 / rate);
    const at = (seconds) => {
      const ticks = seconds < phase ? 0 : Math.floor((seconds - phase) / interval + 1e-9) + 1;
      return Math.min(limit, remaining + Math.floor(ticks * rate + 1e-9));
    };
    const reading = { algorithm: 'token_bucket', at: 0, sent: -5, limit, remaining, resetAfter: phase + (ticksToOne - 1) * interval, window: null, key: 'k' };
    for (let n = 0; n < 20; n++) {
      const now = Math.random() * 3 * (limit / rate) * interval;
      const { tokens, estimated, nextIn, fullIn } = bucketAt(reading, { rate, interval }, now * 1000);
      const right = tokens === at(now) && estimated === tokens - remaining
        && (tokens === limit ? nextIn === 0 && fullIn === 0
          : at(now + nextIn + 1e-6) > tokens && at(now + nextIn - 1e-6) === tokens
            && at(now + fullIn + 1e-6) === limit && at(now + fullIn - 1e-6) < limit);
      if (!right) faults.push({ rate, interval, limit, remaining, phase, now, tokens, nextIn, fullIn, right: at(now) });
    }
  }
  const late = { algorithm: 'token_bucket', at: 100, sent: 0, limit: 10, remaining: 0, resetAfter: 1, key: 'k' };
  const older = { ...late, at: 120, sent: 10, remaining: 3 };
  const refill = { rate: 1, interval: 1 };
  const order = [supersedes(late, older, refill), supersedes(older, late, refill), supersedes({ ...older, sent: 100 }, late, refill),
    supersedes({ ...older, limit: 20 }, late, refill), supersedes({ ...older, at: 3200 }, late, refill)];
  return { faults: faults.slice(0, 3), order };
}

scenario('the estimate agrees with a bucket simulated tick by tick; answers may arrive in any order', async (world) => {
  const { server } = await world.pair({ args: CALM });
  const page = await openPage(world, server);
  const { faults, order } = await page.evaluate(compareEstimates, 500);
  assert.deepEqual(faults, []);
  assert.deepEqual(order, [true, false, true, true, true]);
});
