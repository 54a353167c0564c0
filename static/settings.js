/* Loads the live settings and changes them: the talk between form and server. What it knows goes into the store;
   a change counts as applied only on a 2xx answer. */

import { algorithms, changePolicy, readPolicy } from './api.js';

const RELOAD_EVERY_MS = 2000;

let table = null; // GET /algorithms, kept once it came

async function algorithmOf(values) {
  if (!table) {
    const answer = await algorithms();
    if (!answer.ok) return { gone: answer.kind === 'gone', reason: answer.reason };
    table = answer.json.algorithms ?? answer.json;
  }
  return { algorithm: table.find((one) => one.name === values.algorithm) ?? null };
}

/* Reads the settings in force. On failure what was known stays, and `phase` says what is wrong:
   loading, ready, locked, gone, unavailable or refused. */
export async function loadSettings(store) {
  const { policy } = store.target;
  const answer = await readPolicy(policy);
  if (policy !== store.target.policy) return answer; // another was chosen meanwhile
  store.setLink({ server: answer.kind === 'gone' ? 'gone' : 'up' });
  if (!answer.ok) {
    store.setSettings({ phase: answer.kind, reason: answer.reason, status: answer.status });
    return answer;
  }
  const { algorithm = null, reason = '' } = await algorithmOf(answer.json);
  if (policy !== store.target.policy) return answer;
  const { version } = store.settings;
  if (version !== null && version !== answer.version) store.series.mark(`v${answer.version}`);
  store.setSettings({
    changedAt: version !== null && version !== answer.version ? Date.now() : store.settings.changedAt,
    phase: reason ? 'refused' : 'ready',
    reason,
    status: answer.status,
    version: answer.version,
    values: answer.json,
    algorithm,
  });
  return answer;
}

/* Sends a change, then reads back what is in force, whatever the answer was. Returns { answer, live }. */
export async function applySettings(store, change, version) {
  const answer = await changePolicy(store.target.policy, change, version);
  return { answer, live: await loadSettings(store) };
}

/* Notices changes made elsewhere: an answer under another limit, or a tab that was hidden for a while. */
export function followSettings(store) {
  let loadedAt = performance.now();
  let timer = 0;

  function reload() {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      if (store.settings.phase === 'ready') loadSettings(store);
    }, loadedAt + RELOAD_EVERY_MS - performance.now());
  }

  store.on('target', (target, other) => { if (other) loadSettings(store); });
  store.on('settings', () => { loadedAt = performance.now(); });
  store.on('reading', (reading) => {
    const { phase, algorithm, values } = store.settings;
    if (phase === 'ready' && algorithm && reading.algorithm === values.algorithm && reading.limit !== values[algorithm.parameters[0].name]) reload();
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) reload();
  });
  return () => loadSettings(store);
}
