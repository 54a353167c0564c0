/* A link that sets the page up: policy, client, burst, rate, and settings to apply. Opening one sends nothing, and what it
   says is checked like anything typed. */

import { CLIENT } from './algorithms.js';
import { copyText } from './curl.js';

const FIELDS = [['burst', 'burst-count', 10000], ['rate', 'rate-value', 1000]];
const POLICY = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const byId = (id) => document.getElementById(id);

export function mountShare(button, store, note) {
  button.addEventListener('click', async () => {
    const url = linkOf(store);
    note(await copyText(url) ? 'Link copied. It sets the page up and sends nothing.' : `Copy this link: ${url}`);
  });
}

function linkOf(store) {
  const { policy, client } = store.target;
  const query = new URLSearchParams({ policy, user: client });
  for (const [name, id] of FIELDS) query.set(name, byId(id).value);
  if (byId('from-browser').checked && !store.locked) query.set('browser', '1');
  for (const param of store.settings.algorithm?.parameters ?? []) query.set(param.name, byId(`set-${param.name}`).value);
  return `${location.origin}/?${query}`;
}

/* Returns the values to put into the form, as { name: text }, or null if the page was opened without a link. */
export function openLink(store) {
  const query = new URLSearchParams(location.search);
  if ([...query.keys()].length === 0) return null;
  const target = {};
  if (POLICY.test(query.get('policy') ?? '')) target.policy = query.get('policy');
  if (CLIENT.test(query.get('user') ?? '')) target.client = query.get('user');
  for (const [name, id, most] of FIELDS) {
    const value = Math.trunc(Number(query.get(name) ?? NaN));
    if (!Number.isNaN(value)) byId(id).value = String(Math.min(most, Math.max(1, value)));
  }
  byId('from-browser').checked = query.get('browser') === '1';
  store.setTarget(target);
  return Object.fromEntries([...query].filter(([, text]) => /^[\d.]{1,20}$/.test(text)));
}
