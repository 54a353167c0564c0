// docs/algorithms.md tells the truth: its examples are run by the real script, its picture is drawn again, its figures
// of memory are measured, and its double spending happens.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { Decider, MICRO, PARAMETERS, repository } from '../docs/decider.mjs';
import { doubleSpend, report } from '../docs/double_spend.mjs';
import { measure } from '../docs/memory.mjs';
import { PICTURE, picture } from '../docs/picture.mjs';

const lines = readFileSync(join(repository, 'docs/algorithms.md'), 'utf8').split('\n').map((line) => line.trim());
const START = 1800000000 * MICRO;
const HEADER = '| at | cost | answer | left | one more in | retry after | in Redis | TTL |';

let decider; // of the test that runs

function check(name, body) {
  test(name, async () => {
    decider = await Decider.start();
    try {
      await body();
    } finally {
      await decider.close();
    }
  });
}

// --- reading the document ---

const cells = (line) => line.split('|').slice(1, -1).map((cell) => cell.trim());
const micro = (seconds) => Math.round(Number(seconds) * MICRO);

// The rows of the table whose header is at `at`.
function tableAt(at) {
  const end = lines.findIndex((line, i) => i > at && !line.startsWith('|'));
  return lines.slice(at + 2, end).map(cells);
}

const tableUnder = (header) => tableAt(lines.indexOf(header));

// "`name` 1, `other` 2.5" as {name: 1, other: 2.5}
const settings = (text) => Object.fromEntries([...text.matchAll(/`([a-z_]+)` ([0-9.]+)/g)].map((m) => [m[1], Number(m[2])]));

// Every table of decisions with the settings in the line above it; "then" goes on with the example before.
function examples() {
  const found = [];
  lines.forEach((line, i) => {
    if (line !== HEADER) return;
    const above = lines[i - 2];
    const [, algorithm, more] = above.match(/^(?:`([a-z_]+)`, |then )(`.*):$/) ?? assert.fail(`settings above line ${i + 1}: ${above}`);
    if (algorithm) found.push({ algorithm, line: i + 1, parts: [] });
    found.at(-1).parts.push({ change: settings(more), rows: tableAt(i).map(row) });
  });
  return found;
}

function row([at, cost, answer, left, reset, retry, stored, ttl]) {
  const [, word, delay] = answer.match(/^(allowed|denied)(?: after ([0-9.]+))?$/) ?? assert.fail(`answer: ${answer}`);
  return {
    at: START + micro(at.slice('T+'.length)),
    cost: Number(cost),
    expected: {
      allowed: word === 'allowed',
      held: micro(delay ?? 0),
      remaining: Number(left),
      resetAfter: micro(reset),
      retryAfter: micro(retry),
      stored,
      ttl: ttl === '-' ? -1 : Number(ttl) * 1000,
    },
  };
}

// --- asking the script ---

// Times of day as the document has them: seconds after T.
const relative = (value) => (Number(value) > START / 2 ? `T+${(Number(value) - START) / MICRO}` : value);

async function answer(key, limit, delay, { at, cost }) {
  const said = await decider.decide(key, limit, { at, cost, delay });
  const stored = await decider.stored(key);
  return {
    allowed: said.allowed,
    held: said.allowed ? said.due : 0,
    remaining: said.remaining,
    resetAfter: said.resetAfter,
    retryAfter: said.retryAfter,
    stored: stored.map(([name, value]) => `\`${relative(name)}\` ${relative(value)}`).join(', '),
    ttl: said.ttl,
  };
}

// What was promised is true to the microsecond.
async function assertPromises(key, limit, delay, { at, cost, expected }) {
  const look = (later, units) => decider.decide(key, limit, { at: at + later, cost: units, mode: 'look', delay });
  if (!expected.allowed) {
    assert.equal((await look(expected.retryAfter - 1, cost)).allowed, false, 'a microsecond before retry_after');
    assert.equal((await look(expected.retryAfter, cost)).allowed, true, 'at retry_after');
  }
  assert.equal((await look(expected.resetAfter - 1, 1)).remaining, expected.remaining, 'a microsecond before reset_after');
  assert.ok((await look(expected.resetAfter, 1)).remaining > expected.remaining, 'more at reset_after');
}

test('the document has examples of every algorithm', () => {
  assert.deepEqual([...new Set(examples().map((example) => example.algorithm))].sort(), Object.keys(PARAMETERS).sort());
  assert.ok(examples().flatMap((example) => example.parts).flatMap((part) => part.rows).length > 40, 'rows');
});

for (const { algorithm, line, parts } of examples()) {
  check(`example of ${algorithm} at line ${line}`, async () => {
    const key = `example:${line}`;
    let params = {};
    for (const { change, rows } of parts) {
      params = { ...params, ...change };
      const { max_delay: seconds = 0, ...own } = params;
      assert.deepEqual(Object.keys(own).sort(), [...PARAMETERS[algorithm]].sort(), 'parameters');
      for (const each of rows) {
        assert.deepEqual(await answer(key, { algorithm, params: own }, micro(seconds), each), each.expected);
        await assertPromises(key, { algorithm, params: own }, micro(seconds), each);
      }
    }
  });
}

// --- what else it shows ---

check('the picture is what the script decides', async () => {
  assert.equal(readFileSync(PICTURE, 'utf8'), await picture(decider), 'draw it again: node tests/docs/picture.mjs');
});

check('figures of memory are right within a quarter, and those of the overview are among them', async () => {
  const told = tableUnder('| algorithm | holding | bytes |').map(([name, what, bytes]) => ({ name: name.replaceAll('`', ''), what, bytes: Number(bytes) }));
  const measured = await measure(decider);
  assert.deepEqual(told.map(({ name, what }) => [name, what]), measured.map(({ name, what }) => [name, what]));
  told.forEach(({ name, what, bytes }, i) => {
    assert.ok(Math.abs(bytes - measured[i].bytes) <= measured[i].bytes / 4, `${name} ${what}: ${bytes}, measured ${measured[i].bytes}`);
  });

  const overview = tableUnder('| algorithm | memory of one client, bytes | how exact | bursts | best for |');
  assert.equal(overview.length, Object.keys(PARAMETERS).length);
  for (const [name, bytes] of overview) {
    const own = told.filter((each) => `\`${each.name}\`` === name).map((each) => each.bytes);
    const range = Math.min(...own) === Math.max(...own) ? `${own[0]}` : `${Math.min(...own)} to ${Math.max(...own)}`;
    assert.equal(bytes, range, name);
  }
});

check('three steps spend tokens twice, the script does not', async () => {
  const result = await doubleSpend(decider.redis);
  assert.ok(result.steps > result.tokens, `${result.steps} allowed in three steps`);
  assert.equal(result.script, result.tokens);

  const shown = lines.slice(lines.indexOf('$ node tests/docs/double_spend.mjs') + 1).join('\n');
  assert.ok(shown.startsWith(report({ ...result, steps: result.clients })), 'the output in the document');
});
