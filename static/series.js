/* What happened in the last minute, in 600 bins of 100 ms, in all and for each client. Draws nothing. */

export const BIN_MS = 100;
export const BINS = 600;
const OUTCOME_NAMES = ['allowed', 'denied', 'delayed', 'error', 'shadow_denied'];
const KINDS = OUTCOME_NAMES.length;
const CLIENTS_MAX = 100;

/* Counts by outcome in a ring of bins; a bin of an earlier minute counts as empty. */
class Bins {
  constructor() {
    this.stamp = new Float64Array(BINS).fill(-1);
    this.counts = new Uint32Array(BINS * KINDS);
    this.left = new Float32Array(BINS).fill(NaN);
  }

  slot(bin) {
    const i = bin % BINS;
    if (this.stamp[i] < bin) {
      this.stamp[i] = bin;
      this.counts.fill(0, i * KINDS, (i + 1) * KINDS);
      this.left[i] = NaN;
    }
    return this.stamp[i] === bin ? i : -1;
  }

  add(bin, outcome, count) {
    const i = this.slot(bin);
    if (i >= 0) this.counts[i * KINDS + outcome] += count;
  }

  /* Of outcome number `outcome` in a bin. */
  count(bin, outcome) {
    const i = bin % BINS;
    return this.stamp[i] === bin ? this.counts[i * KINDS + outcome] : 0;
  }

  leftAt(bin) {
    const i = bin % BINS;
    return this.stamp[i] === bin ? this.left[i] : NaN;
  }
}

export const binOf = (at) => Math.floor(at / BIN_MS);

export function createSeries() {
  const clients = new Map();
  const series = {
    all: new Bins(),
    clients,
    marks: [], // { at, text }: changes of settings
    edges: [], // times of window edges
    newest: 0, // bin

    add(at, client, outcome, count = 1, left = null) {
      const bin = binOf(at);
      const kind = OUTCOME_NAMES.indexOf(outcome);
      series.newest = Math.max(series.newest, bin);
      series.all.add(bin, kind, count);
      if (!client) return;
      lane(client).add(bin, kind, count);
      if (left !== null) lane(client).tokens = left;
    },

    /* What was left for the chosen client. */
    level(at, left) {
      const i = series.all.slot(binOf(at));
      if (i >= 0) series.all.left[i] = left;
    },

    mark(text, at = Date.now()) {
      series.marks.push({ at, text });
      if (series.marks.length > 20) series.marks.shift();
      series.newest = Math.max(series.newest, binOf(at));
    },

    edge(at) {
      const near = series.edges.findIndex((other) => Math.abs(other - at) < 150);
      if (near >= 0) series.edges[near] = at;
      else series.edges.push(at);
      if (series.edges.length > 60) series.edges.shift();
    },

    resetLanes: () => clients.clear(),
  };

  function lane(client) {
    let found = clients.get(client);
    if (!found) {
      if (clients.size >= CLIENTS_MAX) clients.delete(clients.keys().next().value);
      found = Object.assign(new Bins(), { allowed: 0, denied: 0, tokens: null });
      found.add = add;
      clients.set(client, found);
    }
    return found;
  }

  function add(bin, kind, count) {
    Bins.prototype.add.call(this, bin, kind, count);
    if (kind === 1) this.denied += count;
    else if (kind !== 3) this.allowed += count;
  }

  return series;
}
