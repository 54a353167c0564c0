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
