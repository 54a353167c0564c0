/* While Redis is away, looks every two seconds whether it is back, by a peek that takes nothing from any bucket. */

import { peek } from './api.js';
import { decisionOf, readingOf } from './decision.js';
import { REDIS_AWAY } from './notices.js';

const EVERY_MS = 2000;

export function watchRedis(store) {
  let timer = 0;

  async function look() {
    timer = 0;
    if (document.hidden) return next();
    const { policy = 'default', key = 'page:probe' } = store.reading ?? {};
    const answer = await peek(policy, key);
    if (answer.status === 403) return undefined; // not ours to ask: the next request will tell
    const { redis, reached } = decisionOf(answer);
    const reading = readingOf(answer);
    if (redis === 'up' && reading && store.reading) store.setReading(reading);
    store.setLink({ server: reached ? 'up' : 'gone', ...(redis ? { redis } : {}) });
    return next();
  }

  function next() {
    if (!timer && REDIS_AWAY[store.link.redis] && store.link.server === 'up') timer = setTimeout(look, EVERY_MS);
  }

  store.on('link', next);
}
