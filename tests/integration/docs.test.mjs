// README, --help and the pages: the same options, links that lead somewhere, examples that work.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { linesPattern } from '../docs/tour.mjs';
import { run } from '../harness/child.mjs';
import { scenario } from '../harness/scenario.mjs';
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

const PAGES = ['README.md', ...readdirSync(`${repository}docs`).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
const read = (page) => readFileSync(join(repository, page), 'utf8');

// As GitHub makes them of headings.
const anchors = (text) => [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
  heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));

test('every link of the pages leads to a file and a heading that are there', () => {
  let links = 0;
  for (const page of PAGES) {
    for (const [, target] of read(page).replaceAll(/^```.*?^```/gms, '').matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file, anchor] = target.split('#');
      const path = file ? join(page, '..', file) : page;
      assert.ok(existsSync(join(repository, path)), `${page}: ${target}`);
      if (anchor) assert.ok(anchors(read(path)).includes(anchor), `${page}: ${target}`);
      links++;
    }
  }
  assert.ok(links > 40, `${links} links`);
});

scenario('the file that docs/api.md shows is a whole configuration, and `default` must be in one', async (world) => {
  const shown = read('docs/api.md').match(/^```json\n(\{"policies": .*?)^```/ms)[1];
  const file = join(world.directory(), 'policies.json');
  writeFileSync(file, shown);
  const { server } = await world.pair({ args: ['--config', file] });
  const inForce = (await server.request('/admin/config')).json.policies;
  for (const [name, policy] of Object.entries(JSON.parse(shown).policies)) {
    for (const [member, value] of Object.entries(policy)) assert.deepEqual(inForce[name][member], value, `${name}.${member}`);
  }
  assert.deepEqual(Object.keys(inForce).sort(), Object.keys(JSON.parse(shown).policies).sort(), 'none is added');
  const { default: left, ...others } = JSON.parse(shown).policies;
  writeFileSync(file, JSON.stringify({ policies: others }));
  const refused = await runProgram(['--config', file]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /default/);
});

scenario('the commands by which docs/algorithms.md is followed by hand print what it says', async (world) => {
  const { server } = await world.pair();
  const lines = read('docs/algorithms.md').match(/^```console\n(.*?)^```/ms)[1].trimEnd().split('\n');
  assert.equal(lines.length, 8);
  for (let i = 0; i < lines.length; i += 2) {
    const { stdout } = await run('sh', ['-c', lines[i].slice(2).replace('8080', server.port)]);
    assert.match(stdout, linesPattern([lines[i + 1]]), lines[i]);
  }
});

test('docs/service.md: the unit\'s options are there, and its token has 32 characters', async () => {
  const unit = read('docs/service.md').match(/^```ini\n(.*?)^```/ms)[1];
  const options = unit.match(/^ExecStart=\S+ratelimitd (.*)$/m)[1];
  const known = optionsIn((await runProgram(['--help'])).stdout, /^\s*--([a-z][a-z0-9-]*)/gm);
  for (const [, name] of options.matchAll(/--([a-z0-9-]+)/g)) assert.ok(known.has(name), name);
  const make = read('docs/service.md').match(/(head -c .*?) > /)[1];
  const { stdout } = await run('sh', ['-c', make]);
  assert.match(stdout, /^[A-Za-z0-9+/]{32}\n$/);
});
