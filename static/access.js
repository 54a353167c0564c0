/* The locked state of the settings: says why, and takes the admin token, which goes to the api module and nowhere else. */

import { hasToken, setToken } from './api.js';
import { part, showLine } from './dom.js';
import { loadSettings } from './settings.js';

export function mountAccess(el, store, announce) {
  const form = part(el, 'access');
  const input = el.querySelector('#token');
  const error = part(el, 'token-error');

  store.on('settings', (settings) => {
    const locked = settings.phase === 'locked';
    form.hidden = !locked;
    showLine(part(el, 'access-reason'), locked && settings.status === 403 ? settings.reason : '');
  });

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    input.value = '';
    if (!hasToken()) {
      showLine(error, 'Enter the admin token.');
      return;
    }
    const answer = await loadSettings(store);
    const wrong = answer.status === 401;
    if (wrong) setToken('');
    showLine(error, wrong ? "That token isn't right." : '');
    input.setAttribute('aria-invalid', String(wrong));
    announce(wrong ? "That token isn't right." : answer.ok ? 'Settings unlocked.' : answer.reason);
    if (answer.ok) (el.querySelector('.field input') ?? el).focus();
    else input.focus();
  });
}
