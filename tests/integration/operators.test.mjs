// What operators look at: /healthz, /readyz and /metrics, with Redis there, away and frozen.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';

import { assertNotLimited, assertRefused, bucket } from '../harness/decision.mjs';
import { Load } from '../harness/http.mjs';
import { parseMetrics, scrape, total } from '../harness/metrics.mjs';
import { scenario } from '../harness/scenario.mjs';
import { Lateness, sleep, until } from '../harness/time.mjs';

const decisions = (samples, labels) => total(samples, 'ratelimitd_decisions_total', labels);

function promtool(text) {
  return new Promise((resolve, reject) => {
    const child = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    child.on('error', reject).on('close', (code) => resolve({ code, output }));
    child.stdin.end(text);
  });
}

scenario('/metrics counts decisions of all threads by policy, algorithm and outcome', async (world) => {
  const { server } = await world.pair({ args: bucket(10, 1, 600), threads: 2 });
  await server.request('/admin/policies/shadow', { method: 'PUT', body: { algorithm: 'fixed_window', limit: 1, window: 600, on_limit: 'shadow' } });
  await server.request('/admin/policies/slow', { method: 'PUT', body: { algorithm: 'leaky_bucket', capacity: 1, leak_rate: 20, on_limit: 'delay', max_delay: 1 } });
  const lanes = Array.from({ length: 6 }, () => server.http.newAgent({ maxSockets: 1 }));
  await Promise.all(lanes.map(async (agent) => {
    for (let i = 0; i < 5; i++) await server.hit('k', {}, { agent });
  }));
  await server.hit('k', { cost: 0 });
  for (let i = 0; i < 3; i++) await server.hit('s', { policy: 'shadow' });
  for (let i = 0; i < 2; i++) await server.hit('d', { policy: 'slow' });
  const samples = await scrape(server);

  const of = (policy, algorithm, outcome) => samples.get(`ratelimitd_decisions_total{policy="${policy}",algorithm="${algorithm}",outcome="${outcome}"}`);
  assert.equal(of('default', 'token_bucket', 'allowed'), 10);
  assert.equal(of('default', 'token_bucket', 'denied'), 20);
  assert.equal(of('shadow', 'fixed_window', 'allowed'), 1);
  assert.equal(of('shadow', 'fixed_window', 'shadow_denied'), 2);
  assert.equal(of('slow', 'leaky_bucket', 'allowed'), 1);
  assert.equal(of('slow', 'leaky_bucket', 'delayed'), 1);
  assert.equal(decisions(samples, {}), 35, 'a peek is no decision');
  assert.equal(total(samples, 'ratelimitd_decisions_by_source_total', {}), 35);
  assert.equal(samples.get('ratelimitd_decision_seconds_count'), 35);
  assert.equal(samples.get('ratelimitd_denial_cache_hits_total'), total(samples, 'ratelimitd_decisions_by_source_total', { source: 'cache' }));
  assert.ok(samples.get('ratelimitd_redis_seconds_count') >= total(samples, 'ratelimitd_decisions_by_source_total', { source: 'redis' }));
  assert.equal(samples.get('ratelimitd_redis_up'), 1);
  assert.equal(samples.get('ratelimitd_connections_open'), 7);
  assert.equal(samples.get('ratelimitd_threads'), 2);
  assert.equal(samples.get('ratelimitd_config_version'), 3);
  assert.equal(samples.get(`ratelimitd_build_info{version="${server.version}"}`), 1);
});

scenario('/metrics passes promtool, is public, is not limited, and names no client', async (world) => {
  const { server } = await world.pair({ env: { RATELIMITD_ADMIN_TOKEN: 'a-token-that-nobody-gave-0' } });
  for (const key of ['secret-client', '10.1.2.3', '%22%5C%0A']) await server.request(`/check?policy=default&key=${key}`);
  const response = await server.request('/metrics', { headers: { Via: '1.1 somebody', Host: 'metrics.example' } });
  assert.equal(response.status, 200);
  assert.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assertNotLimited(response);
  assert.doesNotMatch(response.text, /secret-client|10\.1\.2\.3|%22/);
  assert.deepEqual(await promtool(response.text), { code: 0, output: '' });
  const head = await server.request('/metrics', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
  assertRefused(await server.request('/metrics', { method: 'POST' }), 405);
});

scenario('scrapes under load neither fail nor hold anybody up, and counts only rise', async (world) => {
  const { server } = await world.pair({ args: bucket(1000000, 1, 1) });
  const lateness = new Lateness();
  const load = new Load(10, 1, (lane) => server.hit(`k${lane}`));
  let before = 0;
  for (let i = 0; i < 40; i++) {
    const response = await server.request('/metrics');
    assert.equal(response.status, 200);
    assert.ok(response.ms < 200 + lateness.ms(), `a scrape took ${response.ms.toFixed(0)} ms`);
    const now = decisions(parseMetrics(response.text), {});
    assert.ok(now >= before, `${now} after ${before}`);
    before = now;
  }
  const answered = (await load.stop()).filter(({ error }) => !error).length;
  lateness.stop();
  assert.equal(decisions(await scrape(server), {}), answered);
});

scenario('/metrics tells of an outage: Redis down, decisions without it, time-outs, reconnects', async (world) => {
  const { redis, server } = await world.pair({ args: ['--on-redis-error', 'closed', '--redis-timeout', '100'] });
  await server.hit('k');
  redis.freeze();
  await Promise.all(Array.from({ length: 8 }, () => server.hit('k')));
  const frozen = await scrape(server);
  assert.equal(frozen.get('ratelimitd_redis_up'), 0);
  assert.ok(frozen.get('ratelimitd_redis_timeouts_total') >= 1);
  assert.equal(decisions(frozen, { outcome: 'error' }), 8);
  redis.thaw();
  await redis.restart();
  await until('Redis is up again', async () => (await scrape(server)).get('ratelimitd_redis_up') === 1, 2500, 50);
  assert.ok((await scrape(server)).get('ratelimitd_redis_reconnects_total') >= 1);
});

scenario('/readyz: ready with Redis; without it only while no policy is closed; a frozen Redis shows without traffic', async (world) => {
  const { redis, server } = await world.pair({ args: ['--redis-timeout', '150'] });
  assert.deepEqual((await server.request('/readyz')).json, { status: 'ready', redis: 'up' });
  redis.freeze();
  const frozen = await server.request('/readyz');
  assert.deepEqual([frozen.status, frozen.json], [200, { status: 'ready', redis: 'down' }], 'no policy needs Redis');
  redis.thaw();
  await until('Redis is back', async () => (await server.request('/readyz')).json.redis === 'up', 2000, 50);
  const put = await server.request('/admin/policies/pay', { method: 'PUT', body: { on_redis_error: 'closed' } });
  assert.equal(put.status, 201, put.text);
  assert.equal((await server.request('/readyz')).status, 200);

  redis.freeze();
  const lateness = new Lateness();
  const refused = await server.request('/readyz');
  assertRefused(refused, 503, /no answer within 150 ms.*policy pay/);
  assert.equal(refused.headers['retry-after'], '1');
  assert.ok(refused.ms < 200 + lateness.stop(), `${refused.ms} ms`);
  redis.thaw();
  await until('ready again', async () => (await server.request('/readyz')).status === 200, 2000, 50);

  await redis.kill();
  await sleep(100);
  assertRefused(await server.request('/readyz'), 503, /Redis is away/);
  assert.equal((await server.request('/healthz')).status, 200, 'the process serves all the same');
  await redis.start();
  await until('ready again', async () => (await server.request('/readyz')).status === 200, 2000, 50);
});
