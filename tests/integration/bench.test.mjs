// The parts of make bench that can lie without anything failing: what it reads from wrk and Redis, medians, and which
// targets hold. And the rivals' script: a rival that does something else would be no comparison.

import assert from 'node:assert/strict';
import test from 'node:test';

import { LIMITS, scriptArguments } from '../bench/limits.mjs';
import { cpuOf, measure, microseconds, parseCommands, parseWrk } from '../bench/measure.mjs';
import { figuresTable, targetsTable } from '../bench/report.mjs';
import { assertRight, ratelimitd, script, start } from '../bench/contenders.mjs';
import { TARGETS, evaluate, median, medians } from '../bench/targets.mjs';
import { scenario } from '../harness/scenario.mjs';

// As wrk writes it, the space behind whole seconds included.
const WRK = `Running 3s test @ http://127.0.0.1:8080
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.57ms    2.21ms  33.40ms   92.90%
    Req/Sec    26.60k     4.41k   34.13k    70.00%
  Latency Distribution
     50%    2.05ms
     75%    2.78ms
     90%  980.00us
     99%    1.20s ${''}
  79416 requests in 3.00s, 41.88MB read
REST
Requests/sec:  26455.85
Transfer/sec:     13.95MB
`;

test('what wrk prints is read: counts, rate, and times in every unit', () => {
  const refused = WRK.replace('REST', '  Non-2xx or 3xx responses: 79000');
  assert.deepEqual(parseWrk(refused), { requests: 79416, refused: 79000, rate: 26455.85, p50: 2050, p99: 1200000 });
  assert.equal(parseWrk(WRK.replace('REST\n', '')).refused, 0);
  assert.deepEqual(['87.00us', '2.05ms', '1.20s', '1.50m'].map(microseconds), [87, 2050, 1200000, 90000000]);
  assert.throws(() => microseconds('12'), /not a time/);
});

test('requests without an answer, and a run without answers, are errors', () => {
  assert.throws(() => parseWrk(WRK.replace('REST', '  Socket errors: connect 0, read 3, write 0, timeout 0')), /Socket errors: connect 0, read 3/);
  assert.throws(() => parseWrk(WRK.replace('79416 requests', '0 requests')), /no request was answered/);
  assert.throws(() => parseWrk('unable to connect'), /in what wrk printed/);
});

test('commands of Redis are added up, scripts and what they run, but not INFO', () => {
  const text = '# Commandstats\r\ncmdstat_evalsha:calls=10,usec=5,usec_per_call=0.5\r\ncmdstat_hmget:calls=9,usec=1\r\n' +
    'cmdstat_info:calls=7,usec=1\r\ncmdstat_config|get:calls=1,usec=1\r\n';
  assert.equal(parseCommands(text), 20);
});

test('medians of odd and even counts, and of each measure', () => {
  assert.equal(median([10, 9, 100]), 10);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing/);
  assert.deepEqual(medians([{ a: 1, b: 9 }, { a: 3, b: 7 }, { a: 2, b: 8 }]), { a: 2, b: 8 });
});

const FIGURES = { w: { ours: { x: 3, n: 0.5 }, theirs: { x: 4 } } };
const ratio = { what: 'x', of: ['w', 'ours', 'x'], to: ['w', 'theirs', 'x'] };

test('a target holds up to its bound and not beyond, either way, as a ratio or by itself', () => {
  const holds = (target) => evaluate(FIGURES, [target])[0].holds;
  assert.equal(evaluate(FIGURES, [{ ...ratio, most: 1 }])[0].value, 0.75);
  for (const [bounds, expected] of [[{ most: 0.75 }, true], [{ most: 0.74 }, false], [{ least: 0.75 }, true], [{ least: 0.76 }, false],
    [{ least: 0.7, most: 0.8 }, true], [{ least: 0.8, most: 0.9 }, false]]) {
    assert.equal(holds({ ...ratio, ...bounds }), expected, JSON.stringify(bounds));
  }
  assert.equal(holds({ what: 'n', of: ['w', 'ours', 'n'], most: 0.5 }), true);
  assert.equal(holds({ what: 'n', of: ['w', 'ours', 'n'], most: 0.4 }), false);
  assert.match(targetsTable(evaluate(FIGURES, [{ ...ratio, most: 0.7 }])), /\| x +\| w +\| x theirs \| <= 0\.7 \| +0\.75 \| misses \|/);
});

test('the table of medians has every contender of a workload, and its CPU as a multiple of ours', () => {
  const row = { server: 10, redis: 5, rate: 12345.6, p50: 99.9, p99: 1234 };
  const text = figuresTable({ w: { ours: { ...row, cpu: 15 }, theirs: { ...row, cpu: 37.5 } } }, ['w'], 'ours');
  const cells = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()).join('|'));
  assert.deepEqual(cells.slice(2), ['|w|ours|10.0|5.0|15.0|12,346|100|1234|1.00|', '|w|theirs|10.0|5.0|37.5|12,346|100|1234|2.50|']);
});

test('what was not measured is an error and holds nothing', () => {
  for (const of of [['v', 'ours', 'x'], ['w', 'others', 'x'], ['w', 'ours', 'y']]) {
    assert.throws(() => evaluate(FIGURES, [{ ...ratio, of, most: 9 }]), /nothing measured/);
  }
  for (const { what, most, least } of TARGETS) assert.ok(most !== undefined || least !== undefined, `${what} has a bound`);
});

scenario('bucket.lua takes, denies, refills in whole intervals, writes even when it denies, and never expires', async (world) => {
  const redis = await world.redis();
  const at = async (now, capacity = 2) => (await redis.command('EVAL', script, 1, 'b', capacity, 1, 10, now)).join();
  assert.deepEqual([await at(100), await at(100), await at(100)], ['1,1', '1,0', '0,0']);
  const writes = async () => Number((await redis.command('INFO', 'commandstats')).match(/cmdstat_hmset:calls=(\d+)/)[1]);
  const before = await writes();
  assert.equal(await at(109.9), '0,0');
  assert.equal(await writes(), before + 1);
  assert.deepEqual([await at(110), await at(119), await at(120), await at(1000), await at(1000)], ['1,0', '0,0', '1,0', '1,1', '1,0']);
  assert.equal(await redis.command('PTTL', 'b'), -1);
  assert.deepEqual(scriptArguments(LIMITS.denied), ['1', '1', '86400']);
});

scenario('a run counts answers, processor time and commands, and refuses wrong answers', async (world) => {
  const redis = await world.redis();
  const contender = await start(world, redis, { name: 'ours', start: ratelimitd() });
  const run = (limit, path = contender) => measure(path, redis, { limit, keys: 1, connections: 2 }, { seconds: 1, seed: 1 });
  await assertRight(contender, 'denied');
  const began = cpuOf(contender.pid);
  const [admitted, denied] = [await run('admitted'), await run('denied')];
  const used = (cpuOf(contender.pid) - began) / 1000;
  const counted = Math.floor(admitted.server * admitted.requests + denied.server * denied.requests); // in whole us: a quotient times its divisor is not exact
  assert.ok(counted > 0.8 * used && counted <= used, `${counted} of ${used} us`);
  assert.ok(admitted.commands >= 3 && admitted.commands < 6, `EVALSHA, and what it runs: ${admitted.commands}`);
  assert.ok(denied.commands < 1, `from the denial cache: ${denied.commands}`);
  assert.ok(admitted.redis > 0 && admitted.cpu === admitted.server + admitted.redis);
  await assert.rejects(run('denied', { ...contender, path: () => contender.path('admitted') }), /answers were not 2xx, expected were/);
  await assert.rejects(assertRight({ ...contender, verdict: () => 'denied' }, 'admitted'), /must say "admitted", and said "denied"/);
});
