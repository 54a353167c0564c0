// Counts instructions: a program under valgrind's callgrind, asked an exact number of times. A busy machine does not
// change such a count, as it does times. Measures no time.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Child, run } from '../harness/child.mjs';

export class Callgrind {
  // `expected` matches what the program prints when it is ready.
  static async start(command, args, expected, options = {}) {
    const counted = new Callgrind();
    counted.directory = mkdtempSync(join(tmpdir(), 'ratelimitd-callgrind-'));
    const wanted = ['--tool=callgrind', '--instr-atstart=no', `--callgrind-out-file=${join(counted.directory, 'out')}`];
    counted.child = new Child('valgrind', [...wanted, command, ...args], options);
    counted.match = await counted.child.output(expected, 120000);
    return counted;
  }

  // Instructions that the program executes while `work` runs.
  async count(work) {
    await this.#control('--instr=on');
    await this.#control('--zero');
    await work();
    await this.#control('--dump');
    await this.#control('--instr=off');
    this.dumps = (this.dumps ?? 0) + 1;
    return Number(readFileSync(this.file, 'utf8').match(/^(?:summary|totals): (\d+)/m)[1]);
  }

  get file() {
    return join(this.directory, `out.${this.dumps}`);
  }

  // What callgrind_annotate prints of the last count.
  async profile(...args) {
    return (await run('callgrind_annotate', [...args, this.file])).stdout;
  }

  async #control(what) {
    const result = await run('callgrind_control', [what, String(this.child.pid)]);
    if (result.code !== 0) throw new Error(`callgrind_control ${what}: ${result.stdout}${result.stderr}`);
  }

  async close() {
    await this.child.end('SIGTERM', 60000);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
