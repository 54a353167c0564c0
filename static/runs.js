/* Runs: fired by the server (POST /lab/runs) or, a few requests, by this browser; one at a time, and stopped together. Puts
   what comes back into the store. Draws nothing. */

import { readLines } from './api.js';
import { framesMeasured, measureFrames } from './frame.js';
import { sendSeveral } from './sender.js';

const OUTCOMES = { A: 'allowed', D: 'denied', L: 'delayed', S: 'shadow_denied', E: 'error' };

export const idle = (store) => !store.run?.running;

/* `start(plan)`: { label, count, rate, body (of /lab/runs), why, browser, quiet }. A quiet run is not of the target's limit
   and stays out of its log. A run is the plan and { done, allowed, ..., prediction, total, refused }. */
export function createRunner(store) {
  let stopper = null;

  async function start(plan) {
    if (!idle(store)) return null;
    stopper = new AbortController();
    const run = {
      ...plan, policy: store.target.policy, scenario: plan.body.scenario, done: 0, allowed: 0, denied: 0, delayed: 0, error: 0, shadow_denied: 0, seconds: 0,
      running: true, stopped: false, refused: '', prediction: null, unforetold: '', limit: null, total: null, frames: null,
    };
    store.setRun(run);
    measureFrames();
    if (plan.browser) await sendSeveral(store, run, plan.rate, stopper.signal);
    else await fire(run, stopper.signal);
    run.running = false;
    run.stopped = stopper.signal.aborted;
    run.frames = framesMeasured();
    store.setRun(run);
    return run;
  }

  async function fire(run, signal) {
    const began = performance.now();
    const body = { policy: run.policy, user: store.target.client, ...run.body };
    const answer = await readLines('/lab/runs', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal,
      line: createReader(store, run, body),
    });
    run.seconds = run.total?.seconds ?? (performance.now() - began) / 1000;
    if (answer.ok || answer.kind === 'stopped') return;
    run.refused = answer.reason;
    if (answer.kind === 'gone') store.setLink({ server: 'gone' });
    if (answer.status === 401) store.setSettings({ phase: 'locked', status: 401 });
  }

  return { start, stop: () => stopper?.abort(), busy: () => !idle(store) };
}

/* Takes the lines of a run: the plan, then decisions in parallel arrays, then the totals. */
function createReader(store, run, body) {
  let began = 0;
  let nameOf = () => body.user;
  return (text) => {
    const line = JSON.parse(text);
    if (line.plan) {
      began = Date.now();
      run.prediction = line.prediction ?? null;
      run.unforetold = line.no_prediction ?? '';
      run.limit = line.limits?.[0]?.limit ?? line.limits?.[0]?.capacity ?? null;
      if (!run.quiet) run.count = line.plan.count;
      if (line.plan.clients > 1) nameOf = (i) => `${body.user}-${i + 1}`;
      if (line.plan.edge) store.series.edge(began + line.plan.edge * 1000);
    } else if (line.done) {
      run.total = line;
      if (line.edge) store.series.edge(began + line.edge * 1000);
    } else take(store, run, line, body.policy, began, nameOf);
    store.setRun(run);
  };
}

function take(store, run, { t, c, o, s, w }, policy, began, nameOf) {
  const list = [];
  for (let i = 0; i < o.length; i += 1) {
    const outcome = OUTCOMES[o[i]];
    run.done += 1;
    run[outcome] += 1;
    list.push({
      outcome, at: began + t[i], client: nameOf(c[i]), policy, via: 'run', remaining: s[i] < 0 ? null : s[i] / 100, took: null,
      wait: outcome === 'denied' ? w[i] / 1000 : null, delayed: w[i] / 1000,
    });
  }
  if (!run.quiet && list.length) store.addRun(list);
}
