/* Puts the page together: one store, the panels, the first load. */

import { mountAccess } from './access.js';
import { mountChips } from './chips.js';
import { mountDock } from './dock.js';
import { part } from './dom.js';
import { mountForm } from './form.js';
import { mountGauge } from './gauge.js';
import { mountHeaders } from './headers.js';
import { mountLog } from './log.js';
import { mountAlert, mountStatus } from './notices.js';
import { mountSend } from './send.js';
import { followSettings, loadSettings } from './settings.js';
import { mountShortcuts } from './shortcuts.js';
import { createStore } from './state.js';
import { mountTheme } from './theme.js';
import { watchRedis } from './watch.js';

const el = (id) => document.getElementById(id);
const store = createStore();
const announce = mountStatus(el('status'), store);

mountAlert(el('alert'), el('alert-action'), store, () => loadSettings(store));
mountChips(el('chips'), store);
mountGauge(el('bucket'), store);
mountLog(el('log'), store);
mountHeaders(el('wire'), store);
mountForm(el('limiter'), store, announce);
mountAccess(el('limiter'), store, announce);
const send = mountSend(el('send'), store);
mountDock(el('dock'), store, send, part(el('send'), 'one'));
const theme = mountTheme(el('theme'), announce);
mountShortcuts(el('shortcuts'), el('shortcuts-open'), { s: send.one, b: send.burst, t: theme });

watchRedis(store);
followSettings(store);
loadSettings(store);
