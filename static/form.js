/* The Limiter panel's form: made from GET /algorithms and the live policy, applied by PATCH. It reports a change only when
   the server confirmed it, and on any refusal gives the server's reason beside the values still in force. */

import { PRESETS } from './algorithms.js';
import { make, part, setAttr, setText, showLine } from './dom.js';
import { makeField, valueOf } from './field.js';
import { clock, number } from './format.js';
import { applySettings } from './settings.js';

/* `ask()` asks Redis for the client's state, so that a change is seen to keep it. `wanted`: values from a link, to be applied by hand. */
export function mountForm(el, store, announce, { ask, wanted }) {
  const form = part(el, 'settings');
  let fields = [];
  let base = null; // what the fields were filled from: { policy, algorithm, version, values }
  let busy = false;

  const edited = () => fields.filter((field) => valueOf(field.text()) !== base.values[field.param.name]);

  function refresh() {
    const valid = fields.map((field) => field.check()).every(Boolean);
    const count = edited().length;
    part(form, 'apply').disabled = busy || !valid || count === 0;
    part(form, 'reset').disabled = busy || count === 0;
  }

  function fill() {
    const { algorithm, version, values, policy } = store.settings;
    base = { algorithm, version, values, policy };
    fields.forEach((field) => field.set(values[field.param.name]));
    refresh();
  }

  function rebuild(algorithm) {
    fields = algorithm.parameters.map((param) => makeField(param, refresh));
    part(form, 'fields').replaceChildren(...fields.map((field) => field.el));
    setText(part(form, 'carry'), `A change keeps what clients have, cut to the new ${fields[0].param.title.toLowerCase()}.`);
    part(form, 'presets').replaceChildren(...(algorithm.name === 'token_bucket' ? PRESETS.map(makePreset) : []));
  }

  function makePreset(values) {
    const button = make('button', 'button small', Object.values(values).map((value) => number(value)).join(' / '));
    button.type = 'button';
    button.addEventListener('click', () => setAll(values));
    return button;
  }

  function setAll(values) {
    for (const field of fields) if (values[field.param.name] !== undefined) field.set(values[field.param.name]);
    refresh();
  }

  function draw(settings) {
    const { algorithm, values } = settings;
    showLine(part(el, 'summary'), summaryOf(settings));
    setText(part(el, 'changed'), changedText(settings));
    form.hidden = !algorithm;
    part(form, 'fieldset').disabled = settings.phase === 'locked';
    if (base && base.policy !== settings.policy) hide(el);
    if (!algorithm) return;
    const fresh = !base || base.algorithm !== algorithm || base.policy !== settings.policy;
    if (fresh) rebuild(algorithm);
    fields.forEach((field) => field.live(values[field.param.name]));
    if (fresh || edited().length === 0) fill();
    if (wanted) setAll(wanted);
    wanted = null;
    refresh();
  }

  async function apply(version) {
    const { values } = store.settings; // in force as far as known; not what the fields began with, after a conflict
    const changes = edited().map((field) => [field.param, values[field.param.name], valueOf(field.text())]);
    if (busy || changes.length === 0 || !fields.every((field) => field.check())) return;
    busy = true;
    refresh();
    const { answer, live } = await applySettings(store, Object.fromEntries(changes.map(([p, , to]) => [p.name, to])), version);
    busy = false;
    if (answer.ok && live.ok) fill();
    if (answer.ok) ask();
    refresh();
    const report = answer.ok ? applied(changes, answer, live) : refused(answer, live, store.settings);
    show(el, report);
    announce(report.text);
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply(base.version);
  });
  part(form, 'reset').addEventListener('click', () => {
    fill();
    hide(el);
  });
  part(el, 'theirs').addEventListener('click', () => {
    fill();
    hide(el);
    fields[0].el.querySelector('input').focus();
  });
  part(el, 'mine').addEventListener('click', () => {
    part(el, 'outcome').focus();
    apply(store.settings.version);
  });
  store.on('settings', draw);
}

function summaryOf({ phase, algorithm, values, reason }) {
  if (phase === 'loading') return "Loading the limiter's settings...";
  if (algorithm) return `${algorithm.summary}${onLimit(values)}`;
  if (phase === 'locked') return '';
  if (phase === 'ready') return `The settings of this policy (${values.algorithm ?? 'several limits'}) can't be changed on this page.`;
  return `The settings can't be shown. ${reason}`;
}

function onLimit({ on_limit: mode, max_delay: most }) {
  if (mode === 'shadow') return ' This policy only watches (shadow): it denies nobody.';
  return mode === 'delay' ? ` This policy delays: it holds requests for up to ${number(most)} s before it denies any.` : '';
}

function changedText({ version, changedAt }) {
  if (!version) return '';
  return changedAt ? `v${version}, changed ${clock(changedAt).slice(0, 8)}` : `v${version}, unchanged since you came`;
}

const named = (param, value) => `${param.title.toLowerCase()} ${number(value)}`;

function inForce({ algorithm, values }) {
  return algorithm ? algorithm.parameters.map((param) => named(param, values[param.name])).join(', ') : 'not known';
}

function applied(changes, answer, live) {
  const list = changes.map(([param, from, to]) => `${named(param, from)} → ${number(to)}`).join(', ');
  const version = live.version ?? answer.version;
  return { tone: 'good', text: `✓ Applied: ${list}.${version ? ` Version ${version}.` : ''}`, live: '' };
}

/* What to say of a change that was not confirmed, by kind of refusal. */
function refused(answer, live, settings) {
  const seen = live.ok ? 'In force' : 'In force when last seen';
  const report = { tone: 'bad', text: `! Not applied. ${answer.reason}`, live: `${seen}: ${inForce(settings)}.` };
  if (answer.kind === 'changed') {
    report.text = `Someone else changed the settings (now version ${settings.version}). Load theirs, or apply yours over them.`;
    report.conflict = true;
  } else if (answer.kind === 'gone') {
    report.text = `! Not confirmed. ${answer.reason}`;
  } else if (answer.status === 401) {
    report.text = "! Not applied. That token isn't right.";
  }
  return report;
}

function show(el, report) {
  setAttr(part(el, 'outcome'), 'data-tone', report.tone);
  setText(part(el, 'outcome-text'), report.text);
  showLine(part(el, 'outcome-live'), report.live);
  part(el, 'conflict').hidden = !report.conflict;
  part(el, 'outcome').hidden = false;
}

function hide(el) {
  part(el, 'outcome').hidden = true;
}
