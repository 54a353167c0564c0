/* Single-key shortcuts and the list of them. Off in fields, with modifiers, while a dialog is open, or altogether. */

import { part } from './dom.js';

const STORED = 'shortcuts';

function readEnabled() {
  try {
    return localStorage.getItem(STORED) !== 'off';
  } catch {
    return true;
  }
}

function writeEnabled(on) {
  try {
    localStorage.setItem(STORED, on ? 'on' : 'off');
  } catch {
    /* lasts as long as this page */
  }
}

const typing = (target) => target.closest?.('input:not([type="checkbox"], [type="radio"]), textarea, select') !== null;

/* `keys`: { s: function, ... }, in lower case. `?` is the list's own. */
export function mountShortcuts(dialog, opener, keys) {
  const enabled = part(dialog, 'enabled');
  enabled.checked = readEnabled();
  enabled.addEventListener('change', () => writeEnabled(enabled.checked));
  const open = () => dialog.showModal();
  opener.addEventListener('click', open);
  part(dialog, 'close').addEventListener('click', () => dialog.close());
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });

  const actions = { ...keys, '?': open };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
    if (!enabled.checked || dialog.open || typing(event.target)) return;
    const key = event.key.toLowerCase();
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    actions[key]();
  });
}
