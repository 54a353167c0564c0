/* A request as a curl command, safe to paste into a shell. Pure but for copying. */

/* Quotes a word for POSIX shells where it needs quoting. */
function shellWord(text) {
  return /^[A-Za-z0-9_.,/:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export const curlLine = (url) => `curl -i ${shellWord(url)}`;

/* True if the text is in the clipboard; browsers allow that on localhost and over HTTPS only. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function selectText(el) {
  getSelection().selectAllChildren(el);
}
