/* The decisions as a CSV file. Cells that a spreadsheet would take for a formula begin with an apostrophe. */

const COLUMNS = ['number', 'time', 'policy', 'client', 'outcome', 'left', 'wait_s', 'took_ms', 'sent_by'];

const cell = (value) => {
  const text = value === null || value === undefined ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const lineOf = (d) => [d.number, new Date(d.at).toISOString(), d.policy, d.client, d.outcome, d.remaining, d.wait, d.took?.toFixed(1), d.via];

/* Newest first, as given. */
export const csvOf = (decisions) => `${[COLUMNS, ...decisions.map(lineOf)].map((line) => line.map(cell).join(',')).join('\r\n')}\r\n`;

export function saveCsv(decisions) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([csvOf(decisions)], { type: 'text/csv' }));
  link.download = 'decisions.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
