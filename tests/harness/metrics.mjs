// Reads Prometheus's text format, strictly enough for tests. Knows no metric.

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/;

// Name and labels as written -> value: "ratelimitd_redis_up" or 'x_total{policy="default",...}'.
export function parseMetrics(text) {
  const samples = new Map();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = line.match(SAMPLE);
    if (!match) throw new Error(`not a sample: ${line}`);
    const name = match[2] === undefined ? match[1] : `${match[1]}{${match[2]}}`;
    if (samples.has(name)) throw new Error(`twice: ${name}`);
    samples.set(name, Number(match[3]));
  }
  return samples;
}

export async function scrape(server) {
  const response = await server.request('/metrics');
  if (response.status !== 200) throw new Error(`/metrics: ${response.status} ${response.text}`);
  return parseMetrics(response.text);
}

// Sum of a family's samples that have all of `labels`.
export function total(samples, name, labels = {}) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const [sample, value] of samples) {
    if (sample !== name && !sample.startsWith(`${name}{`)) continue;
    if (wanted.every((text) => sample.includes(text))) sum += value;
  }
  return sum;
}
