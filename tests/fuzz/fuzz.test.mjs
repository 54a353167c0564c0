// Runs each fuzzer: first every file of its corpus, then new inputs for a while. What makes one fail is kept in
// build/fuzz/found and belongs into the corpus, once it is mended. Files with names of hexadecimal digits were found by
// running for longer: the fewest that reach what was reached.
//
//   FUZZ_SECONDS (30) for each, FUZZ_JOBS (2) at once, FUZZ_ONLY: those whose name has it

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { run } from '../harness/child.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = join(here, '../../build/fuzz');
const found = join(build, 'found');
const seconds = Number(process.env.FUZZ_SECONDS || 30);
const jobs = Number(process.env.FUZZ_JOBS || 2);

const INPUT_MAX = 4096;
const env = {
  ...process.env,
  // A Redis that announces an array of 2^31 elements makes hiredis ask for memory for all of them; it copes with a no.
  ASAN_OPTIONS: 'allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=1',
  UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
};

const targets = readdirSync(here).filter((name) => /^fuzz_\w+\.c$/.test(name)).map((name) => basename(name, '.c'))
  .filter((name) => name.includes(process.env.FUZZ_ONLY ?? ''));

// Its own words, and the place of the input, when it fails.
async function fuzz(target, args, ms) {
  const program = join(build, 'fuzz', target);
  assert.ok(existsSync(program), `${target} is not built: make fuzzers`);
  const common = [`-artifact_prefix=${found}/${target}-`, '-timeout=10', '-rss_limit_mb=2048', '-print_final_stats=1', `-max_len=${INPUT_MAX}`];
  const result = await run(program, [...common, ...args], { env }, ms);
  assert.ok(result.code === 0 && !result.error, `${target} ended with ${result.code ?? result.signal ?? result.error}:\n${result.stderr.slice(-6000)}`);
  return { runs: Number(result.stderr.match(/stat::number_of_executed_units:\s*(\d+)/)?.[1] ?? 0), words: result.stderr };
}

mkdirSync(found, { recursive: true });
assert.ok(targets.length > 0, 'there is something to fuzz');

test('fuzzers', { concurrency: jobs }, async (t) => {
  await Promise.all(targets.map((target) => t.test(target, async (each) => {
    const name = target.replace(/^fuzz_/, '');
    const corpus = join(here, 'corpus', name);
    const files = readdirSync(corpus).map((file) => join(corpus, file));
    assert.ok(files.length > 0, `${target} has a corpus`);
    const replay = await fuzz(target, files, 60_000);
    assert.equal((replay.words.match(/^Executed /gm) ?? []).length, files.length, `all of ${corpus} is replayed`);

    const scratch = mkdtempSync(join(tmpdir(), 'ratelimitd-fuzz-'));
    try {
      const { runs, words } = await fuzz(target, [`-max_total_time=${seconds}`, `-dict=${join(here, 'dict', name)}`, scratch, corpus], seconds * 1000 + 60_000);
      assert.ok(words.includes(`${files.length} files found in ${corpus}`), `${target} began with its corpus`);
      assert.ok(runs > 100, `${target} tried ${runs} inputs`);
      each.diagnostic(`${runs} inputs in ${seconds} s`);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  })));
});
