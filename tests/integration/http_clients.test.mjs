// Clients as people have them: curl, ab, wrk, h2load and nginx, with keep-alive, HTTP/1.0 and pipelining. Each request is
// answered and counted once. Not how fast. A browser: tests/browser.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { bucket } from '../harness/decision.mjs';
import { burst, statuses } from '../harness/http.mjs';
import { scrape, total } from '../harness/metrics.mjs';
import { Nginx } from '../harness/nginx.mjs';
import { RawConnection, rawExchange } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment, program } from '../harness/server.mjs';
import { sleep } from '../harness/time.mjs';

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

scenario('curl that offers HTTP/2, or uploads without knowing how much, is served by HTTP/1.1', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 86400) });
  const url = `http://127.0.0.1:${server.port}/api`;
  const written = ['-sS', '-o', join(world.directory(), 'answer'), '-w', '%{http_code} HTTP/%{http_version}'];
  for (const args of [['--http2'], ['--compressed'], ['-H', 'Transfer-Encoding: chunked', '-d', 'abc'], ['-X', 'DELETE'], ['-F', 'a=b']]) {
    assert.equal(await client('curl', [...written, ...args, url]), '200 HTTP/1.1', args.join(' '));
  }
  const [, line] = (await client('curl', ['-sS', '-i', '-T', program, '-H', 'Expect:', url])).match(/^HTTP\/1\.1 (.*?)\r\n/);
  assert.equal(line, '413 Content Too Large');
});

// As `printf ... | nc -N` does: all bytes, and the end at once or a little later.
scenario('bytes by hand with their end behind them get one answer', async (world) => {
  const { server } = await world.pair();
  const cases = [
    [200, 'GET /api HTTP/1.0\r\n\r\n'], [200, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'], [400, 'hello\n'], [400, 'hello\r\n\r\n'],
    [400, 'GET /healthz\r\n\r\n'], [400, 'GET /healthz HTTP/1.1\r\n\r\n'], [400, 'GET /healthz HTTP/1.0\n\n'], [505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ];
  for (const [status, bytes] of cases) {
    for (const pause of [0, 20]) {
      const raw = await RawConnection.open(server.port);
      const sent = raw.send(bytes);
      if (pause > 0) await sleep(pause);
      raw.halfClose();
      await sent;
      assert.equal((await raw.answer()).status, status, bytes);
      await raw.ended();
      assert.equal(raw.received.length, 0, bytes);
      raw.close();
    }
  }
});

for (const [how, lines] of Object.entries({
  'HTTP/1.0, a connection each': '', 'HTTP/1.1, connections kept': 'proxy_http_version 1.1; proxy_set_header Connection "";',
})) {
  scenario(`nginx in front by ${how}: pages, decisions and bodies come through, and each is counted once`, async (world) => {
    const { server } = await world.pair({ args: [...bucket(60, 1, 86400), '--redis-timeout', '5000', '--trusted-proxy', '127.0.0.1'] });
    const nginx = await Nginx.start((port) => `upstream limiter { server 127.0.0.1:${server.port}; keepalive 4; }
      server { listen 127.0.0.1:${port}; location / { ${lines} proxy_pass http://limiter; proxy_set_header X-Forwarded-For $remote_addr; } }`);
    world.owns(() => nginx.close());
    const responses = await burst(80, 8, (i) => nginx.request('/api', i % 2 ? { method: 'POST', body: `n=${i}` } : {}));
    assert.deepEqual(statuses(responses), { 200: 60, 429: 20 });
    assert.equal(await decisions(server), 80);
    const [page, direct] = [await nginx.request('/'), await server.request('/')];
    assert.deepEqual([page.status, page.text === direct.text], [200, true]);
    const head = await nginx.request('/', { method: 'HEAD' });
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', direct.headers['content-length']]);
    assert.equal((await nginx.request('/nowhere')).status, 404);
  });
}

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
