// Chunked uploads that microhttpd can get no further with, beside honest ones that are merely slow: who is cut off, and what
// it costs.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';

import { processorSeconds, run } from '../harness/child.mjs';
import { burst } from '../harness/http.mjs';
import { RawConnection } from '../harness/raw.mjs';
import { scenario } from '../harness/scenario.mjs';
import { cleanEnvironment, sanitizerFactor } from '../harness/server.mjs';
import { sleep, until } from '../harness/time.mjs';

const HEAD = 'POST /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';

async function open(world, server) {
  const raw = await RawConnection.open(server.port);
  world.owns(() => raw.close());
  return raw;
}

// Chunks with pauses longer than what counts as stuck.
async function upload(world, server, pause) {
  const raw = await open(world, server);
  await raw.send(HEAD);
  await raw.sendPieces(Array(8).fill('2\r\nab\r\n'), pause);
  await raw.send('0\r\n\r\n');
  return (await raw.answer()).status;
}

const uploads = (world, server) => Promise.all([300, 340, 380, 420, 450].map((pause) => upload(world, server, pause)));

async function stick(world, server, size) {
  const raw = await open(world, server);
  await raw.send(HEAD);
  await raw.send(`1;${'x'.repeat(size - 2)}`);
  return raw;
}

scenario('a client whose chunk line has no end is cut off, those that pause between chunks are not', async (world) => {
  const { server } = await world.pair({ threads: 1 });
  const statuses = uploads(world, server);
  for (let i = 0; i < 3; i++) {
    const raw = await stick(world, server, 20000);
    await raw.ended(3000);
    assert.match(raw.received.toString(), /^HTTP\/1\.1 400 /);
  }
  assert.deepEqual(await statuses, Array(5).fill(200));
});

// Thirty-two requests in each write.
const PIPELINE = `
function init()
  local one = wrk.format("GET", "/healthz")
  batch = string.rep(one, 32)
end
function request() return batch end
`;

scenario('under load uploads that pause between chunks are not cut off', async (world) => {
  const { server } = await world.pair({ threads: 1 });
  const script = `${world.directory()}/pipeline.lua`;
  writeFileSync(script, PIPELINE);
  const args = ['-t1', '-c200', '-d4', '-s', script, `http://127.0.0.1:${server.port}`];
  const [statuses, load] = await Promise.all([uploads(world, server), run('wrk', args, { env: cleanEnvironment() }, 30000)]);
  assert.equal(load.code, 0, load.stderr);
  assert.deepEqual(statuses, Array(5).fill(200));
});

// One of these fills the buffer to the last byte: nothing of it is left to be read, as with an honest client.
scenario('a chunk line that fills the memory exactly costs next to no processor time, and goes when its client goes', async (world) => {
  const { server } = await world.pair({ threads: 1 });
  assert.equal((await server.request('/api', { agent: false })).status, 200);
  await sleep(300);
  const { openFiles } = server;
  const raws = await burst(100, 10, (i) => stick(world, server, 11020 + i));
  await until('those beyond to be cut off', () => raws.filter((raw) => raw.closed).length > 0, 3000);
  await sleep(1000);
  assert.ok(raws.filter((raw) => !raw.closed).length > 0);
  const before = processorSeconds(server.pid);
  await sleep(2000);
  const spent = processorSeconds(server.pid) - before;
  assert.ok(spent < 0.4 * sanitizerFactor(), `${spent} s of processor time in 2 s`);
  for (const raw of raws) raw.halfClose();
  await until('descriptors to go back', () => server.openFiles <= openFiles, 8000);
});
