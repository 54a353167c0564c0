// What the Makefile and its scripts do beside building: install, tell without doing, name what is missing.

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from '../harness/child.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment, program, repository } from '../harness/server.mjs';

// Not as part of the make that runs the tests.
function environment(extra = {}) {
  const { MAKEFLAGS, MFLAGS, MAKELEVEL, MAKEOVERRIDES, NO_INSTALL, ...rest } = cleanEnvironment(extra);
  return rest;
}
const make = (args, ms) => run('make', ['-C', repository, ...args], { env: environment() }, ms);

// `-o all`: what was built is taken as it is.
scenario('make install brings program, README and the pages it links to, and uninstall takes all away', async (world) => {
  const directory = world.directory();
  const place = [`BIN=${program}`, '-o', 'all', 'PREFIX=/usr', `DESTDIR=${directory}`];
  const installed = await make([...place, 'install'], 20000);
  assert.equal(installed.code, 0, installed.stderr);
  assert.ok(statSync(join(directory, 'usr/bin/ratelimitd')).mode & 0o111);
  const documents = join(directory, 'usr/share/doc/ratelimitd');
  const pages = ['README.md', 'CHANGELOG.md', ...readdirSync(`${repository}docs`).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
  let links = 0;
  for (const page of pages) {
    const text = readFileSync(join(documents, page), 'utf8');
    assert.equal(text, readFileSync(repository + page, 'utf8'), page);
    for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
      if (/^\.\.\/(lua|src|tests)\b/.test(target)) continue; // the sources are not installed
      assert.ok(existsSync(join(documents, page, '..', target)), `${page}: ${target}`);
      links++;
    }
  }
  assert.ok(links > 20, `${links} links`);
  assert.equal((await make([...place, 'uninstall'], 20000)).code, 0);
  assert.deepEqual(readdirSync(directory, { recursive: true }).filter((name) => name.includes('ratelimitd')), []);
  assert.equal(existsSync(documents), false);
});

scenario('make -n lint tells what it would do and does nothing', async () => {
  const { code, stdout, stderr } = await make(['-n', 'lint', 'NO_INSTALL=1'], 20000);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /bash tests\/lint\/run\.sh/);
  assert.doesNotMatch(stdout, /^(ok|FAILED) /m);
});

// In a tree that holds nothing but the script and a lock file: the packages are there, as plain `npm ci` leaves them.
scenario('NO_INSTALL: npm packages are no package of Debian\'s, and what to do about them is a line of its own', async (world) => {
  const tree = world.directory();
  mkdirSync(join(tree, 'tests/setup'), { recursive: true });
  mkdirSync(join(tree, 'tests/node_modules'));
  copyFileSync(`${repository}tests/setup/install.sh`, join(tree, 'tests/setup/install.sh'));
  writeFileSync(join(tree, 'tests/package-lock.json'), '{}\n');
  const check = () => run('sh', [join(tree, 'tests/setup/install.sh'), '--check', 'test'], { env: environment() }, 30000);
  const without = await check();
  assert.equal(without.code, 1);
  const lines = without.stderr.split('\n').filter((line) => line.includes('npm'));
  assert.equal(lines.length, 1, without.stderr);
  assert.match(lines[0], /^missing: the npm packages of tests\/package\.json.*npm ci/);
  assert.doesNotMatch(lines[0], /Debian/);
  copyFileSync(join(tree, 'tests/package-lock.json'), join(tree, 'tests/node_modules/.installed-lock'));
  assert.doesNotMatch((await check()).stderr, /npm packages/);
});
