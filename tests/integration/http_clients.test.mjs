// Clients as people have them: curl, ab, wrk and h2load, with keep-alive, HTTP/1.0 and pipelining. Each request is answered
// and counted once. Not how fast.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { bucket } from '../harness/decision.mjs';
import { scrape, total } from '../harness/metrics.mjs';
import { rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment } from '../harness/server.mjs';

const ROOM = 500; // of the 2,000 requests pass
const COUNT = 2000;
const LIMITED = [...bucket(ROOM, 1, 86400), '--redis-timeout', '5000']; // a machine that is held up changes no count

async function client(command, args) {
  const result = await run(command, args, { env: cleanEnvironment() }, 60000);
  assert.equal(result.code, 0, `${command}: ${result.error ?? result.stderr}`);
  return result.stdout;
}

const number = (text, pattern) => Number(text.match(pattern)?.[1] ?? assert.fail(`no ${pattern} in:\n${text}`));
const decisions = async (server) => total(await scrape(server), 'ratelimitd_decisions_total');

scenario('curl with HTTP/1.0 and 1.1, and bytes by hand, get the same answers', async (world) => {
  const { server } = await world.pair({ args: bucket(6, 1, 86400) });
  const url = `http://127.0.0.1:${server.port}/api`;
  const curl = (...args) => client('curl', ['-sS', '-i', ...args]);
  const seen = [];
  for (const args of [['--http1.0', url], ['--http1.0', '-H', 'Connection: keep-alive', url], ['--http1.1', url], ['-d', 'a=b', url]]) {
    const text = await curl(...args);
    seen.push([number(text, /^HTTP\/1\.1 (\d+) /), number(text, /^X-RateLimit-Remaining: (\d+)/m)]);
  }
  for (const head of ['GET /api HTTP/1.0\r\n\r\n', 'GET /api HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /api HTTP/1.0\r\n\r\n']) {
    const { status, headers } = await rawExchange(server.port, head);
    seen.push([status, Number(headers['x-ratelimit-remaining'])]);
  }
  assert.deepEqual(seen, [[200, 5], [200, 4], [200, 3], [200, 2], [200, 1], [200, 0], [429, 0]]);
});

for (const [how, args] of Object.entries({ 'HTTP/1.0, a connection each': [], 'HTTP/1.0 kept alive': ['-k'] })) {
  scenario(`ab, ${how}: ${COUNT} requests, ${ROOM} of them pass`, async (world) => {
    const { server } = await world.pair({ args: LIMITED });
    const text = await client('ab', ['-q', '-l', '-n', COUNT, '-c', 8, ...args, `http://127.0.0.1:${server.port}/api`].map(String));
    assert.equal(number(text, /^Complete requests: +(\d+)$/m), COUNT);
    assert.equal(number(text, /^Failed requests: +(\d+)$/m), 0, text);
    assert.equal(number(text, /^Non-2xx responses: +(\d+)$/m), COUNT - ROOM);
    if (args.length > 0) assert.equal(number(text, /^Keep-Alive requests: +(\d+)$/m), COUNT);
    assert.equal(await decisions(server), COUNT);
  });
}

// Sixteen requests in each write; prints how often each status came.
const PIPELINE = `
local batch
function init()
  local requests = {}
  for i = 1, 16 do requests[i] = wrk.format("GET", "/api") end
  batch = table.concat(requests)
end
function request() return batch end

local threads = {}
function setup(thread) threads[#threads + 1] = thread end
passed, denied, other = 0, 0, 0
function response(status)
  if status == 200 then passed = passed + 1 elseif status == 429 then denied = denied + 1 else other = other + 1 end
end
function done(summary)
  local all = { passed = 0, denied = 0, other = 0 }
  for _, thread in ipairs(threads) do
    for name, sum in pairs(all) do all[name] = sum + thread:get(name) end
  end
  local e = summary.errors
  print(("passed=%d denied=%d other=%d errors=%d"):format(all.passed, all.denied, all.other, e.connect + e.read + e.write + e.timeout))
end
`;

scenario('wrk, 16 requests in one write: each is answered, and as many pass as may', async (world) => {
  const { server } = await world.pair({ args: LIMITED });
  const script = join(world.directory(), 'pipeline.lua');
  writeFileSync(script, PIPELINE);
  const text = await client('wrk', ['-t', '2', '-c', '8', '-d', '2s', '-s', script, `http://127.0.0.1:${server.port}`]);
  const [passed, denied] = [number(text, /passed=(\d+)/), number(text, /denied=(\d+)/)];
  assert.match(text, /other=0 errors=0/, text);
  const decided = await decisions(server);
  assert.equal(passed, ROOM);
  assert.ok(denied > ROOM, text);
  // What was under way when wrk hung up it has not counted.
  assert.ok(decided >= passed + denied && decided <= passed + denied + 8 * 32, `${decided} decided; ${text}`);
});

scenario(`h2load with HTTP/1.1: ${COUNT} requests, one at a time and eight`, async (world) => {
  const { redis } = await world.pair();
  for (const depth of [1, 8]) {
    const server = await world.server({ redis, args: [...LIMITED, '--key-prefix', `depth${depth}:`] });
    const args = ['--h1', '-n', COUNT, '-c', 8, '-m', depth, `http://127.0.0.1:${server.port}/api`];
    const text = await client('h2load', args.map(String));
    assert.match(text, new RegExp(`^requests: ${COUNT} total, ${COUNT} started, ${COUNT} done, ${ROOM} succeeded, ${COUNT - ROOM} failed, 0 errored, 0 timeout$`, 'm'));
    assert.match(text, new RegExp(`^status codes: ${ROOM} 2xx, 0 3xx, ${COUNT - ROOM} 4xx, 0 5xx$`, 'm'));
    assert.equal(await decisions(server), COUNT);
  }
});
