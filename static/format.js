/* Numbers, times and durations as the page writes them. Pure. */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 });

export const number = (n) => grouped.format(n);

export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/* Of those let through, `watched` would be denied if the policy did more than watch. */
export const letThrough = (allowed, watched) => `${number(allowed + watched)}${watched ? ` (${number(watched)} would be denied)` : ''}`;

/* A wait as people read it. Rounded up in its last place: who waits that long has waited enough. */
export function seconds(s) {
  if (s >= 86400 * 2) return `${number(Math.ceil(s / 8640) / 10)} days`;
  if (s >= 7200) return `${number(Math.ceil(s / 360) / 10)} h`;
  if (s >= 120) {
    const whole = Math.ceil(s);
    return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  }
  const places = s >= 10 ? 1 : 2;
  const scale = 10 ** places;
  return `${(Math.ceil(s * scale - 1e-9) / scale).toFixed(places)} s`;
}

/* How long ago, in whole tenths up to ten seconds, then seconds, so that it does not flicker. */
export function ago(s) {
  if (s < 10) return `${Math.max(0, s).toFixed(1)} s ago`;
  if (s < 120) return `${Math.floor(s)} s ago`;
  return `${Math.floor(s / 60)} min ago`;
}

export const milliseconds = (ms) => (ms < 1000 ? `${ms < 100 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export function clock(time) {
  const date = new Date(time);
  const two = (n) => String(n).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
