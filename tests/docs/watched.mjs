// What watchers cost: instructions a request of ratelimitd under callgrind, with two listeners on /lab/events and with none.
//
//   node tests/docs/watched.mjs [REQUESTS]        (10,000, at 1,000 a second)
//
// Each server gets the same requests at the same pace; what its start costs is taken off by a server that gets none.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { RedisServer } from '../harness/redis.mjs';
import { program } from '../harness/server.mjs';
import { sleep } from '../harness/time.mjs';

const REQUESTS = Number(process.argv[2] ?? 10000);
const RATE = 1000;
const WATCHERS = 2;

function startServer(redis, directory) {
  const child = spawn('valgrind', ['--tool=callgrind', `--callgrind-out-file=${directory}/out`, program, '--port', '0', '--threads', '2',
    '--redis-host', '127.0.0.1', '--redis-port', String(redis.port)]);
  let text = '';
  const port = new Promise((resolve, reject) => {
    const look = (data) => {
      text += data;
      const found = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.on('exit', () => reject(new Error(text)));
  });
  return { child, port, ended: new Promise((resolve) => child.on('exit', resolve)) };
}

function ask(port, agent, path) {
  return new Promise((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', path, agent }, (answer) => answer.resume().on('end', resolve)).on('error', reject);
  });
}

function watch(port) {
  return new Promise((resolve) => {
    http.get({ port, host: '127.0.0.1', path: '/lab/events', agent: false }, (answer) => {
      answer.resume();
      resolve(answer);
    });
  });
}

// `count` requests by an absolute schedule, on a few connections, each client with its own bucket now and then empty.
async function traffic(port, count) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  const start = Date.now();
  const going = [];
  for (let i = 0; i < count; i++) {
    const early = start + (i * 1000) / RATE - Date.now();
    if (early > 2) await sleep(early);
    going.push(ask(port, agent, `/api/token-bucket?user=u${i % 50}`));
  }
  await Promise.all(going);
  const seconds = (Date.now() - start) / 1000;
  agent.destroy();
  return seconds;
}

async function measure(watchers, count) {
  const directory = mkdtempSync(join(tmpdir(), 'ratelimitd-watched-'));
  const redis = await RedisServer.prepare();
  await redis.start();
  const server = startServer(redis, directory);
  try {
    const port = await server.port;
    const streams = [];
    for (let i = 0; i < watchers; i++) streams.push(await watch(port));
    const seconds = count ? await traffic(port, count) : (await sleep((REQUESTS / RATE) * 1000), REQUESTS / RATE);
    streams.forEach((stream) => stream.destroy());
    server.child.kill('SIGTERM');
    await server.ended;
    const total = readdirSync(directory).reduce((sum, name) => sum + Number(/^(?:summary|totals): (\d+)/m.exec(readFileSync(join(directory, name), 'utf8'))[1]), 0);
    return { total, seconds };
  } finally {
    server.child.kill('SIGKILL');
    await redis.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

const idle = await measure(0, 0);
const alone = await measure(0, REQUESTS);
const watched = await measure(WATCHERS, REQUESTS);
const each = ({ total }) => Math.round((total - idle.total) / REQUESTS);
console.log(`idle ${idle.total} instructions in ${idle.seconds} s`);
console.log(`without watchers ${each(alone)} a request (${alone.seconds.toFixed(1)} s), with ${WATCHERS} ${each(watched)} (${watched.seconds.toFixed(1)} s): ${(100 * (each(watched) / each(alone) - 1)).toFixed(2)} % more`);
