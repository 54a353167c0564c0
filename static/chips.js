/* The chips of the top bar: Redis, version of the settings, admin access. */

import { hasToken } from './api.js';
import { part, setAttr, showLine, setText } from './dom.js';
import { milliseconds, number } from './format.js';
import { drawn } from './frame.js';

const REDIS = {
  unknown: ['Redis: not asked yet', 'quiet'],
  up: ['Redis: up', 'good'],
  local: ['Redis: away, limiting locally', 'bad'],
  open: ['Redis: away, unchecked', 'bad'],
  closed: ['Redis: away, refusing', 'bad'],
};

const LIVE = { off: '', on: 'Live', lost: 'Live updates lost; checking every 2 s.' };

export function mountChips(el, store) {
  store.on('link', ({ server, redis, waiting, latency }) => {
    let [text, tone] = server === 'gone' ? ['Server: not answering', 'bad'] : REDIS[redis];
    if (redis === 'up' && waiting > 0) [text, tone] = [`Redis is slow: no answer for ${waiting.toFixed(1)} s.`, 'bad'];
    else if (redis === 'up' && latency) text += ` ${milliseconds(latency * 1000)}`;
    setText(part(el, 'redis-text'), text);
    setAttr(part(el, 'redis'), 'data-tone', tone);
  });
  store.on('settings', ({ phase, version, status }) => {
    showLine(part(el, 'version'), version ? `Settings v${version}` : '');
    const admin = part(el, 'admin'); // a link to the field for the token, or to what it opened
    showLine(admin, phase === 'locked' ? 'Admin locked' : status === 200 && hasToken() ? 'Admin unlocked' : '');
    admin.parentNode.hidden = admin.hidden;
    setAttr(admin, 'href', phase === 'locked' ? '#token' : '#limiter');
  });
  store.on('live', (live) => showLine(part(el, 'live'), LIVE[live]));
  store.on('run', drawn(() => {
    const { run } = store;
    showLine(part(el, 'running'), run.running ? `${run.label}: ${number(run.done)} of ${number(run.count)}` : '');
  }, 100));
}
