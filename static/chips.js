/* The chips of the top bar: Redis, version of the settings, admin access. */

import { part, setAttr, showLine, setText } from './dom.js';

const REDIS = {
  unknown: ['Redis: not asked yet', 'quiet'],
  up: ['Redis: up', 'good'],
  local: ['Redis: away, limiting locally', 'bad'],
  open: ['Redis: away, unchecked', 'bad'],
  closed: ['Redis: away, refusing', 'bad'],
};

export function mountChips(el, store) {
  store.on('link', ({ server, redis }) => {
    const [text, tone] = server === 'gone' ? ['Server: not answering', 'bad'] : REDIS[redis];
    setText(part(el, 'redis-text'), text);
    setAttr(part(el, 'redis'), 'data-tone', tone);
  });
  store.on('settings', ({ phase, version }) => {
    showLine(part(el, 'version'), version ? `Settings v${version}` : '');
    showLine(part(el, 'admin'), phase === 'locked' ? 'Admin locked' : '');
  });
}
