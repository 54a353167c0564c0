// The page in Debian's Chromium: one browser a test file, a fresh profile a test, and eyes open for what no page of
// ours may do. A test fails on a page error, a policy violation, a request to another host, or an unexpected console error.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after } from 'node:test';

import { chromium } from 'playwright-core';

import { repository } from '../harness/server.mjs';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--host-resolver-rules=MAP elsewhere.example 127.0.0.1',
];
const WAIT_MS = 5000;

let launched = null;

function browser() {
  launched ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  return launched;
}

after(async () => {
  if (launched) await (await launched).close();
});

// What is noticed of a page, and which of it a test expects. `statuses`: besides 429; `lost`: the server goes away.
class Watch {
  problems = [];

  constructor(origin, { statuses = [], lost = false } = {}) {
    this.origin = origin;
    this.expected = [429, ...statuses].map((status) => new RegExp(`status of ${status}\\b`));
    if (!origin.includes('127.0.0.1')) this.expected.push(/Cross-Origin-Opener-Policy header has been ignored/); // not a trustworthy name
    if (lost) this.expected.push(/net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/);
  }

  follow(page) {
    page.on('pageerror', (error) => this.problems.push(`page error: ${error.stack ?? error}`));
    page.on('request', (request) => {
      if (!request.url().startsWith('blob:') && new URL(request.url()).origin !== this.origin) this.problems.push(`request to ${request.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      if (!this.expected.some((pattern) => pattern.test(message.text()))) this.problems.push(`console: ${message.text()}`);
    });
  }

  check() {
    assert.deepEqual(this.problems, []);
  }
}

// Opens the page of `server` (unless `go` is false) at `path`, by default for policy `default`, whose settings are options of
// the server. `options`: of Playwright's context, and Watch's.
export async function openPage(world, server, { statuses, lost, go = true, path = '/?policy=default', host = '127.0.0.1', ...options } = {}) {
  const origin = `http://${host}:${server.port}`;
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  world.owns(() => context.close());
  context.setDefaultTimeout(WAIT_MS);
  const watch = new Watch(origin, { statuses, lost });
  const page = await context.newPage();
  watch.follow(page);
  page.ratelimitdWatch = watch;
  if (options.javaScriptEnabled !== false) {
    await context.exposeBinding('reportViolation', (_, text) => watch.problems.push(text));
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        window.reportViolation(`policy violation: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
  }
  world.owns(() => watch.check());
  if (go) {
    await page.goto(origin + path);
    await settled(page);
  }
  return page;
}

// The first load is over: the settings are shown, or why they are not.
export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('#limiter [data-part="summary"]').textContent.startsWith('Loading'));
}

export const part = (page, panel, name) => page.locator(`#${panel} [data-part="${name}"]`);

export const textOf = (page, panel, name) => part(page, panel, name).textContent();

// Waits until a part's text matches; says what it was instead.
export async function reads(page, panel, name, pattern, ms = WAIT_MS) {
  const selector = `#${panel} [data-part="${name}"]`;
  try {
    await page.waitForFunction(
      ([css, source]) => new RegExp(source).test(document.querySelector(css)?.textContent ?? ''),
      [selector, pattern.source], { timeout: ms },
    );
  } catch (error) {
    const text = await page.locator(selector).textContent();
    throw new Error(`${selector} should match ${pattern}, reads "${text}"`, { cause: error });
  }
}

// The same for an element by its id.
export async function says(page, id, pattern, ms = WAIT_MS) {
  try {
    await page.waitForFunction(
      ([name, source]) => new RegExp(source).test(document.getElementById(name).textContent),
      [id, pattern.source], { timeout: ms },
    );
  } catch (error) {
    throw new Error(`#${id} should match ${pattern}, reads "${await page.locator(`#${id}`).textContent()}"`, { cause: error });
  }
}

export async function tally(page) {
  const counts = {};
  for (const name of ['allowed', 'denied', 'error']) counts[name] = Number((await textOf(page, 'log', name)).replaceAll(',', ''));
  return counts;
}

// Another page in the same browser profile, watched like the first.
export async function openTab(page, watchOf = page) {
  const tab = await page.context().newPage();
  watchOf.ratelimitdWatch.follow(tab);
  await tab.goto(page.url());
  return tab;
}

// A burst of `count` sent by the browser itself.
export async function browserBurst(page, count) {
  await page.check('#from-browser');
  await page.fill('#burst-count', String(count));
  await page.keyboard.press('Enter');
}

// Waits until a run is over and returns what is said of it.
export async function runOver(page, ms = 20000) {
  await page.waitForFunction(() => /^(Sent|Stopped|Two)/.test(document.querySelector('#last [data-part="text"]').textContent), null, { timeout: ms });
  const lines = await page.locator('#last p:visible').allTextContents();
  return lines.join(' ');
}

// Waits until `total` requests have been answered and drawn: tallies and, unless it is paused or filtered, log.
export async function answered(page, total) {
  await page.waitForFunction((wanted) => {
    const number = (el) => Number(el.textContent.replaceAll(',', ''));
    const count = (name) => number(document.querySelector(`#log [data-part="${name}"]`));
    const sum = ['allowed', 'denied', 'delayed', 'error', 'shadow_denied'].reduce((all, name) => all + count(name), 0);
    const still = document.getElementById('filter').value !== 'all' || !document.querySelector('#log [data-part="paused"]').hidden;
    return sum >= wanted && (still || number(document.querySelector('#log tbody td')) >= wanted);
  }, total);
}

// The rows of the log, newest first, as arrays of texts.
export function rows(page) {
  return page.locator('#log tbody tr:not([hidden])').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];

// No violation of the accessibility rules in the page as it is now.
export async function assertAccessible(page, what) {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async (tags) => {
    const result = await globalThis.axe.run(document, { runOnly: tags, resultTypes: ['violations'] });
    return result.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`).join(' | ')}`);
  }, AXE_TAGS);
  assert.deepEqual(violations, [], `axe: ${what}`);
}

export async function assertNoSidewaysScroll(page, what) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${what}: ${content} px of content in a window of ${window} px`);
}

const screenshots = `${repository}build/screenshots/`;

// Kept as build output, for people to look at.
export async function screenshot(page, name, options = {}) {
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: `${screenshots}${name}.png`, ...options });
}
