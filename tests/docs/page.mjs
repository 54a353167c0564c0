// Draws docs/images/page.png: the page in light colours, 1280 wide, after some traffic.
//
//   node tests/docs/page.mjs

import { mkdirSync } from 'node:fs';

import { chromium } from 'playwright-core';

import { RedisServer } from '../harness/redis.mjs';
import { Server, repository } from '../harness/server.mjs';
import { sleep } from '../harness/time.mjs';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

// Single requests, a burst by the server, and many clients.
async function traffic(page) {
  for (const key of ['s', 's', 's']) {
    await page.keyboard.press(key);
    await sleep(900);
  }
  for (const [name, ms] of [['Run Burst', 3000], ['Run Many clients', 5000], ['150 % Steady rate', 10500]]) {
    await page.getByRole('button', { name }).click();
    await sleep(ms);
  }
  await page.keyboard.press('s');
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.mouse.move(640, 60);
  await sleep(500);
}

const redis = await RedisServer.prepare();
await redis.start();
const server = await Server.start({ redis });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
  await page.goto(`http://127.0.0.1:${server.port}`);
  await page.waitForSelector('#limiter .field');
  await traffic(page);
  mkdirSync(`${repository}docs/images`, { recursive: true });
  await page.screenshot({ path: `${repository}docs/images/page.png` });
} finally {
  await browser.close();
  await server.stop();
  await redis.close();
}
