/* On narrow screens, a bar with the essentials while the Send button is out of sight. */

import { part, setText } from './dom.js';
import { number, plural } from './format.js';

export function mountDock(el, store, { one, burst }, watched) {
  part(el, 'one').addEventListener('click', one);
  part(el, 'burst').addEventListener('click', burst);
  store.on('reading', ({ remaining, limit }) => {
    setText(part(el, 'tokens'), `${number(remaining)} of ${plural(limit, 'token')} at the last answer`);
  });
  new IntersectionObserver(([entry]) => {
    el.hidden = entry.isIntersecting && !el.contains(document.activeElement);
  }).observe(watched);
}
