/* Puts the page together: one store, the panels, the first load. */

import { mountAccess } from './access.js';
import { mountChips } from './chips.js';
import { mountCompare } from './compare.js';
import { mountDock } from './dock.js';
import { part } from './dom.js';
import { mountForm } from './form.js';
import { mountGauge } from './gauge.js';
import { mountInspector } from './inspector.js';
import { createAsker } from './labstate.js';
import { mountLanes } from './lanes.js';
import { mountLastRun } from './lastrun.js';
import { mountLive } from './live.js';
import { mountLog } from './log.js';
import { mountAlert, mountNote, mountStatus } from './notices.js';
import { mountPicker } from './picker.js';
import { createRunner } from './runs.js';
import { mountScenarios } from './scenarios.js';
import { mountSend } from './send.js';
import { followSettings, loadSettings } from './settings.js';
import { mountShare, openLink } from './share.js';
import { mountShortcuts } from './shortcuts.js';
import { createStore } from './state.js';
import { mountTheme } from './theme.js';
import { mountTimeline } from './timeline.js';

const el = (id) => document.getElementById(id);
const store = createStore();
const announce = mountStatus(el('status'), store);
const note = mountNote(el('note'), store);
const runner = createRunner(store);

mountAlert(el('alert'), el('alert-action'), store, () => loadSettings(store));
mountChips(el('chips'), store);
const send = mountSend(el('send'), store, runner);
const wanted = openLink(store);
if (wanted) note('Set up from a link. Nothing has been sent.');

const reload = followSettings(store);
const ask = createAsker(store, { reload });
mountGauge(el('bucket'), store);
mountTimeline(el('timeline'), store);
mountLanes(el('lanes'), store);
const log = mountLog(el('log'), store, mountInspector(el('wire'), store));
mountLastRun(el('last'), store, announce);
mountScenarios(el('scenarios'), store, runner);
const compare = mountCompare(el('compare'), store, runner);
const choose = mountPicker(el('picker'), store);
mountForm(el('limiter'), store, announce, { ask, wanted });
mountAccess(el('limiter'), store, announce);
mountDock(el('dock'), store, { ...send, stop: runner.stop }, part(el('send'), 'one'));
mountShare(el('share'), store, note);
const theme = mountTheme(el('theme'), announce);
mountShortcuts(el('shortcuts'), el('shortcuts-open'), {
  s: send.one, b: send.burst, r: send.steady, escape: runner.stop, c: compare, t: theme,
  f: () => announce(`Filter: ${log.nextFilter()}.`),
  ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [String(n), () => choose(n)])),
});

mountLive(store, { ask, reload });
loadSettings(store);
