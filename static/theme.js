/* Light or dark: the system's choice, or an override kept in localStorage and applied before the first paint. */

import { setText } from './dom.js';

const STORED = 'theme';
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

function read() {
  try {
    const value = localStorage.getItem(STORED);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system'; // storage may be forbidden; the page works without
  }
}

function write(theme) {
  try {
    if (theme === 'system') localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, theme);
  } catch {
    /* the override then lasts as long as this page */
  }
}

let theme = read();

function apply() {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event('themechange'));
}

apply();
darkSystem.addEventListener('change', apply);

/* The first press always changes what is seen: away from the system's choice, then its explicit twin, then the system. */
function next() {
  const away = darkSystem.matches ? 'light' : 'dark';
  const twin = darkSystem.matches ? 'dark' : 'light';
  return { system: away, [away]: twin, [twin]: 'system' }[theme];
}

export function mountTheme(button, announce) {
  const draw = () => setText(button, `Theme: ${theme}`);

  function toggle() {
    theme = next();
    write(theme);
    apply();
    draw();
    announce(`Theme: ${theme}.`);
  }

  draw();
  button.addEventListener('click', toggle);
  return toggle;
}
