/* One number of the settings form, made from its line in GET /algorithms: label, unit, range, message. */

import { make, setAttr, setText, showLine } from './dom.js';
import { number } from './format.js';

/* The words for what is allowed, or '' if the text is a valid value. Pure. */
function fault(param, text) {
  const value = valueOf(text);
  const decimals = (text.trim().split('.')[1] ?? '').length;
  const fits = value !== null && value >= param.minimum && value <= param.maximum && decimals <= (param.whole ? 0 : 6);
  if (fits) return '';
  return param.whole
    ? `${param.title} must be a whole number from ${rangeOf(param)}.`
    : `${param.title} must be a number from ${rangeOf(param)}, with at most six decimals.`;
}

const rangeOf = (param) => `${number(param.minimum)} to ${number(param.maximum)}`;

export function valueOf(text) {
  const trimmed = text.trim();
  return /^(\d+(\.\d*)?|\.\d+)$/.test(trimmed) ? Number(trimmed) : null;
}

/* { el, param, text(), set(value), live(value), check() -> valid? } */
export function makeField(param, changed) {
  const id = `set-${param.name}`;
  const el = make('div', 'field');
  const label = make('label', '', param.title);
  label.htmlFor = id;
  const input = make('input');
  input.id = id;
  input.type = 'text';
  input.inputMode = param.whole ? 'numeric' : 'decimal';
  input.autocomplete = 'off';
  input.maxLength = 24;
  const unit = make('span', 'unit', param.unit);
  const hint = make('p', 'help');
  hint.id = `${id}-hint`;
  const error = make('p', 'error');
  error.id = `${id}-error`;
  error.hidden = true;
  input.setAttribute('aria-describedby', `${hint.id} ${error.id}`);
  const box = make('div', 'with-unit');
  box.append(input, unit);
  el.append(label, box, error, hint);

  const field = {
    el,
    param,
    text: () => input.value,
    set(value) {
      input.value = String(value);
      field.check();
    },
    live(value) {
      setText(hint, `Now ${number(value)}. Range ${rangeOf(param)}.`);
    },
    check() {
      const message = fault(param, input.value);
      showLine(error, message);
      setAttr(input, 'aria-invalid', String(message !== ''));
      return message === '';
    },
  };
  input.addEventListener('input', changed);
  return field;
}
