// The tables that make bench prints, in Markdown so that they can be pasted. Pure.

const fixed = (digits) => (value) => value.toFixed(digits);
const COLUMNS = [
  ['server', 'CPU server', fixed(1)], ['redis', 'CPU Redis', fixed(1)], ['cpu', 'sum', fixed(1)],
  ['rate', 'requests/s', (value) => Math.round(value).toLocaleString('en')], ['p50', 'p50', fixed(0)], ['p99', 'p99', fixed(0)],
];

// Rows of cells as a table; all columns but the first `left` are numbers.
export function table(heads, rows, left = 1) {
  const widths = heads.map((head, i) => Math.max(3, head.length, ...rows.map((row) => row[i].length)));
  const line = (cells) => `| ${cells.map((cell, i) => (i < left ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i < left ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(heads), rule, ...rows.map(line)].join('\n');
}

// `figures`: workload -> contender -> measure -> number; only the workloads named. The last column: the sum of CPU as a
// multiple of contender `own`'s in the same workload.
export function figuresTable(figures, workloads, own) {
  const rows = workloads.flatMap((workload) => Object.entries(figures[workload]).map(([contender, medians]) =>
    [workload, contender, ...COLUMNS.map(([name, , show]) => show(medians[name])), (medians.cpu / figures[workload][own].cpu).toFixed(2)]));
  return table(['workload', 'contender', ...COLUMNS.map(([, head]) => head), 'x ours'], rows, 2);
}

const number = (value) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value < 0.1 ? 4 : 2));

function wanted({ least, most }) {
  return [least !== undefined && `>= ${least}`, most !== undefined && `<= ${most}`].filter(Boolean).join(', ');
}

export function targetsTable(evaluated) {
  const rows = evaluated.map((target) => [
    target.what, target.of[0], target.to ? `x ${target.to[1] === target.of[1] ? target.to[0] : target.to[1]}` : '', wanted(target),
    number(target.value), target.holds ? 'holds' : 'misses',
  ]);
  return table(['what', 'workload', 'against', 'target', 'measured', ''], rows, 3);
}
