// A child process of a test: collected output, a promise of its end, and no survivor when the test process ends.
// Does not know what the child is.

import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

import { within } from './time.mjs';

const alive = new Set();
process.on('exit', () => alive.forEach((child) => child.signal('SIGKILL')));

export class Child {
  stdout = '';
  stderr = '';
  #process;
  #listeners = new Set();

  constructor(command, args, options = {}) {
    this.name = `${command} ${args.join(' ')}`;
    this.#process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.pid = this.#process.pid;
    this.running = true;
    alive.add(this);
    for (const stream of ['stdout', 'stderr']) {
      this.#process[stream].setEncoding('utf8').on('data', (text) => {
        this[stream] += text;
        this.#listeners.forEach((listener) => listener());
      });
    }
    this.exited = new Promise((resolve) => {
      const end = (result) => {
        this.running = false;
        alive.delete(this);
        resolve(result);
        this.#listeners.forEach((listener) => listener());
      };
      this.#process.on('error', (error) => end({ code: null, signal: null, error }));
      this.#process.on('close', (code, signal) => end({ code, signal }));
    });
  }

  signal(name) {
    if (this.running && this.pid) this.#process.kill(name);
  }

  // Waits until stdout or stderr matches; the match is returned. A child that ends first is an error.
  async output(pattern, ms = 10000) {
    let listener;
    const found = new Promise((resolve, reject) => {
      listener = () => {
        const match = this.stdout.match(pattern) ?? this.stderr.match(pattern);
        if (match) resolve(match);
        else if (!this.running) reject(new Error(`${this.name} ended before it printed ${pattern}:\n${this.#tail()}`));
      };
      this.#listeners.add(listener);
      listener();
    });
    try {
      return await within(ms, `${pattern} from ${this.name}`, found);
    } catch (error) {
      throw new Error(`${error.message}\n${this.#tail()}`);
    } finally {
      this.#listeners.delete(listener);
    }
  }

  #tail() {
    return `${this.stdout}${this.stderr}`.slice(-2000);
  }

  // Sends the signal and waits for the end. A child that does not end is killed, and that is an error.
  async end(name, ms = 8000) {
    this.signal(name);
    try {
      return await within(ms, `the end of ${this.name} after ${name}`, this.exited);
    } catch (error) {
      this.signal('SIGKILL');
      await this.exited;
      throw error;
    }
  }

  async kill() {
    this.signal('SIGKILL');
    return this.exited;
  }
}

// Runs a program to its end.
export async function run(command, args, options = {}, ms = 10000) {
  const child = new Child(command, args, options);
  const result = await child.end(0, ms);
  return { ...result, stdout: child.stdout, stderr: child.stderr };
}

const stat = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  } catch {
    return null;
  }
};

// Whether a process is there and not a zombie.
export const processRuns = (pid) => !['Z', 'X', undefined].includes(stat(pid)?.[0]);

export const childrenOf = (pid) =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && stat(name)?.[1] === String(pid)).map(Number);

export const openFiles = (pid) => readdirSync(`/proc/${pid}/fd`).length;

export const peakKiB = (pid) => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)[1]);
export const residentKiB = (pid) => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

// Processor time it has had so far; the kernel counts in hundredths.
export const processorSeconds = (pid) => stat(pid).slice(11, 13).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
