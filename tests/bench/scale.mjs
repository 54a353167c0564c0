// What grows: a million keys in Redis, ten thousand open connections. Fills and counts; the load is measured elsewhere.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { burst } from '../harness/http.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { LIMITS } from './limits.mjs';
import { script } from './contenders.mjs';

export const KEYS = 1_000_000;
export const IDLE = 10_000;
const BATCH = 10_000;

// Copies the hash KEYS[1], with its time to live, to ARGV[1] .. i .. ARGV[2] for i from ARGV[3] to ARGV[4].
const COPY = `
local fields = redis.call("HGETALL", KEYS[1])
local ttl = redis.call("PTTL", KEYS[1])
for i = tonumber(ARGV[3]), tonumber(ARGV[4]) do
  local key = ARGV[1] .. string.format("%d", i) .. ARGV[2]
  redis.call("HSET", key, unpack(fields))
  if ttl > 0 then redis.call("PEXPIRE", key, ttl) end
end`;

const usedMemory = async (redis) => Number((await redis.command('INFO', 'memory')).match(/^used_memory:(\d+)/m)[1]);

// Copies what is at `${before}1${after}` to k2..kN. Returns the bytes of Redis that one key more takes.
async function copyKey(redis, before, after) {
  const began = await usedMemory(redis);
  for (let from = 2; from <= KEYS; from += BATCH) {
    await redis.command('EVAL', COPY, 1, `${before}1${after}`, before, after, from, Math.min(KEYS, from + BATCH - 1));
  }
  assert.equal(await redis.command('DBSIZE') >= KEYS, true, 'all keys are there');
  return ((await usedMemory(redis)) - began) / (KEYS - 1);
}

// Bytes a key as bucket.lua keeps it; leaves nothing behind.
export async function bytesOfScript(redis) {
  const { capacity, rate, interval, prefix } = LIMITS.admitted;
  for (let i = 0; i < 10; i++) {
    await redis.command('EVAL', script, 1, `${prefix}k1`, capacity, rate, interval, Date.now() / 1000);
  }
  const bytes = await copyKey(redis, `${prefix}k`, '');
  await redis.command('FLUSHALL');
  return bytes;
}

// Bytes a key as the server keeps it; leaves the million there.
export async function fillLike(redis, ask) {
  for (let i = 0; i < 10; i++) await ask();
  return copyKey(redis, 'rl:admitted:token_bucket:{k', '}');
}

function assertFilesEnough() {
  const [, most] = readFileSync('/proc/self/limits', 'utf8').match(/^Max open files +\S+ +(\S+)/m);
  if (Number(most) < IDLE + 200) throw new Error(`${IDLE} connections need more than ${most} open files: raise ulimit -Hn`);
}

// Opens connections that have asked once, and keeps them until close(); again() lets all ask once more.
export async function openIdle(server, path) {
  assertFilesEnough();
  const bytes = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  const ask = async (connection) => {
    await connection.send(bytes);
    const { status } = await connection.answer({ ms: 20000 });
    assert.equal(status, 200, 'the answer on an idle connection');
  };
  const connections = await burst(IDLE, 64, async () => {
    const connection = await RawConnection.open(server.port);
    await ask(connection);
    return connection;
  });
  return {
    again: () => burst(IDLE, 64, (i) => ask(connections[i])),
    close: () => connections.forEach((connection) => connection.close()),
  };
}
