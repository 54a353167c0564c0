/* Small helpers for the document: finding a panel's parts, writing text.
   Never parses markup; everything shown is set as text. */

export const part = (root, name) => root.querySelector(`[data-part="${name}"]`);

/* Writes only what differs, so that selections and screen readers are left alone. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

export function setAttr(el, name, value) {
  if (el.getAttribute(name) !== value) el.setAttribute(name, value);
}

export function make(tag, className = '', text = '') {
  const el = document.createElement(tag);
  if (className) el.className = className;
  if (text) el.textContent = text;
  return el;
}

/* Shows a line with its text, or hides it when there is none. */
export function showLine(el, text) {
  setText(el, text);
  el.hidden = text === '';
}
