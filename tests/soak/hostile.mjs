// Good and hostile clients at once, as fast as they can: the good ones all get right answers, and afterwards the server is
// the same process with the same descriptors and no more memory.
//
//   HOSTILE_SECONDS=60 node tests/soak/hostile.mjs

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

import { ACTS, misbehave } from '../harness/hostile.mjs';
import { burst } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { sanitizerFactor } from '../harness/server.mjs';
import { now, sleep, until } from '../harness/time.mjs';
import { POLICIES, assertFlat, watch } from './soak.mjs';

const TOKEN = 'sesame-sesame-sesame';
const AUTH = { Authorization: `Bearer ${TOKEN}` };
const FEW = { algorithm: 'token_bucket', capacity: 3, refill_rate: 1, refill_interval: 86400 };
const HOSTILE_LANES = 8;
const SHOWN = 10;
const WARM_KIB = 48 * 1024 * sanitizerFactor(); // what settings and caches take at first, and a sanitizer beside them
const FLAT_AFTER = 30; // seconds: then that is over

// What good clients ask. `i` never comes twice on a lane. Each throws when an answer is wrong, and returns how many there were.
const GOOD = {
  // A key of its own, and a limit of three.
  async 'a whole limit'(ask, lane, i) {
    const answers = await burst(4, 1, () => ask(`/check?policy=few&key=${lane}-${i}`));
    const seen = answers.map(({ status, remaining }) => [status, remaining]);
    const local = answers.some(({ json }) => json.source !== 'redis'); // it was held up: counted anew, in memory
    if (!local) assert.deepEqual(seen, [[200, 2], [200, 1], [200, 0], [429, 0]]);
    return { answers: answers.length, local };
  },
  async 'every policy'(ask, lane, i) {
    for (const policy of POLICIES) {
      const response = await ask(policy === 'default' ? '/api' : `/api/${policy}?user=u${i % 50}`);
      assert.ok([200, 429].includes(response.status), response.text);
      assert.deepEqual([response.json.policy, response.json.allowed], [policy, response.status === 200]);
    }
    return { answers: POLICIES.length };
  },
  async 'settings'(ask, lane, i) {
    const admin = async (status, method, path, body) => {
      const response = await ask(path, { method, body, headers: AUTH });
      assert.equal(response.status, status, `${method} ${path}: ${response.text}`);
      return response.text && response.json;
    };
    const capacity = 10 + (i % 50);
    await admin(200, 'PATCH', '/admin/policies/default', { capacity });
    assert.equal((await admin(200, 'GET', '/admin/policies/default')).capacity, capacity);
    await admin(201, 'PUT', '/admin/policies/temporary', FEW);
    assert.equal((await ask(`/check?policy=temporary&key=${i}`)).status, 200);
    await admin(204, 'DELETE', '/admin/policies/temporary');
    return { answers: 5 };
  },
};
const LANES = ['a whole limit', 'a whole limit', 'every policy', 'every policy', 'settings'];

class Tally {
  counts = {};
  errors = [];

  // Runs it again and again until `end`, which nothing that fails brings about sooner.
  async lane(name, end, each) {
    for (let i = 0; now() < end; i++) {
      const what = name(i);
      this.counts[what] ??= 0;
      try {
        this.counts[what] += await each(what, i);
      } catch (error) {
        this.errors.push(`${what}: ${error.message}`);
      }
    }
  }
}

export function hostile(seconds) {
  scenario(`${seconds} s of good and hostile clients at full speed`, async (world, t) => {
    const { server } = await world.pair({ args: ['--redis-timeout', '5000'], env: { RATELIMITD_ADMIN_TOKEN: TOKEN } });
    assert.equal((await server.request('/admin/policies/few', { method: 'PUT', body: FEW, headers: AUTH })).status, 201);
    const { pid } = server;
    await sleep(300);
    server.http.agent.destroy();
    await sleep(300);
    const { openFiles } = server;
    const end = now() + seconds * 1000;
    const watching = watch([server], end);
    const [good, bad] = [new Tally(), new Tally()];
    const acts = Object.keys(ACTS);
    let local = 0;
    await Promise.all([
      ...LANES.map((name, lane) => {
        const agent = server.http.newAgent({ maxSockets: 1 });
        const ask = (path, options) => server.request(path, { agent, ...options });
        return good.lane(() => name, end, async (what, i) => {
          const done = await GOOD[what](ask, lane, i);
          if (done.local) local++;
          return done.answers;
        });
      }),
      ...Array.from({ length: HOSTILE_LANES }, (_, lane) => bad.lane((i) => acts[(lane * 3 + i) % acts.length], end, async (what) => {
        await misbehave(server.port, what, TOKEN);
        return 1;
      })),
    ]);
    const samples = await watching;
    t.diagnostic(`good: ${JSON.stringify(good.counts)}, ${local} limits counted in memory; hostile: ${JSON.stringify(bad.counts)}`);
    const memory = samples.map((sample) => sample.memory[0]);
    t.diagnostic(`resident KiB: ${memory[0]} at first, ${memory[memory.length >> 1]} half-way, ${memory.at(-1)} at last; descriptors before: ${openFiles}`);
    assert.deepEqual(good.errors.slice(0, SHOWN), []);
    assert.deepEqual(bad.errors.slice(0, SHOWN), []);
    for (const what of Object.keys(GOOD)) assert.ok(good.counts[what] > 0, what);
    for (const what of acts) assert.ok(bad.counts[what] > 0, what);
    assert.ok(local * 10 < good.counts['a whole limit'] / 4, `${local} limits were counted in memory`);
    assert.deepEqual([server.child.running, server.pid], [true, pid]);
    server.http.close();
    await until('descriptors to go back', () => server.openFiles <= openFiles, 20000, 50);
    assert.ok(memory.at(-1) - memory[0] < WARM_KIB, `memory grew from ${memory[0]} to ${memory.at(-1)} KiB`);
    if (seconds >= FLAT_AFTER) assertFlat(samples, ['memory']);
    await server.stop();
  }, { ms: seconds * 1000 + 60000 });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const seconds = Number(process.env.HOSTILE_SECONDS ?? 60);
  if (!(seconds >= 10)) throw new Error(`HOSTILE_SECONDS must be a number from 10 on; got ${process.env.HOSTILE_SECONDS}`);
  hostile(seconds);
}
