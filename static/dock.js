/* On narrow screens, a bar with the essentials while the Send button is out of sight. */

import { part, setText } from './dom.js';
import { number } from './format.js';

export function mountDock(el, store, { one, burst, stop }, watched) {
  part(el, 'one').addEventListener('click', one);
  part(el, 'burst').addEventListener('click', burst);
  part(el, 'stop').addEventListener('click', stop);
  store.on('run', (run) => { part(el, 'stop').disabled = !run.running; });
  store.on('reading', ({ remaining, limit }) => {
    setText(part(el, 'tokens'), `${number(remaining)} of ${number(limit)} left`);
  });
  new IntersectionObserver(([entry]) => {
    el.hidden = entry.isIntersecting && !el.contains(document.activeElement);
  }).observe(watched);
}
