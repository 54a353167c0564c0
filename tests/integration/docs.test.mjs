// README and --help tell of the same options.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { repository, runProgram } from '../harness/server.mjs';

const optionsIn = (text, pattern) => new Set([...text.matchAll(pattern)].map((match) => match[1]));

test('every option of --help stands in the README\'s table, and every option there is one', async () => {
  const readme = readFileSync(`${repository}README.md`, 'utf8');
  const rows = readme.split('\n').filter((line) => line.startsWith('|')).map((line) => line.split('|')[1]).join('\n');
  const documented = optionsIn(rows, /`--([a-z][a-z0-9-]*)/g);
  const offered = optionsIn((await runProgram(['--help'])).stdout, /^\s*--([a-z][a-z0-9-]*)/gm);
  assert.ok(offered.size > 10, 'options in --help');
  assert.deepEqual([...documented].sort(), [...offered].sort());
});

test('docs/redis.md tells every error of Redis that the program knows, with its outcome and its words', () => {
  const source = readFileSync(`${repository}src/redis/redis_fault.c`, 'utf8');
  const page = readFileSync(`${repository}docs/redis.md`, 'utf8');
  const known = [...source.matchAll(/\{"([^"]+)", (true|false), "([^"]+)"\}/g)];
  assert.ok(known.length > 15, `${known.length} errors`);
  for (const [, code, away, meaning] of known) {
    assert.ok(page.includes(`| \`${code}\` | ${away === 'true' ? 'away' : 'this one'} | ${meaning} |`), code);
  }
});
