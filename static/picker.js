/* Chooses the policy: five radios for the built-in ones, each with its line of the comparison table, and a select for
   others. */

import { readConfig } from './api.js';
import { ALGORITHMS, builtIn } from './algorithms.js';
import { make, part, setAttr } from './dom.js';

/* Returns choose(number), for the keys 1 to 5. */
export function mountPicker(el, store) {
  const select = el.querySelector('#other-policy');
  const radios = ALGORITHMS.map(makeRadio);
  part(el, 'radios').append(...radios.map((radio) => radio.el));
  const choose = (policy) => store.setTarget({ policy });

  function draw() {
    const { policy } = store.target;
    radios.forEach((radio) => { radio.input.checked = radio.policy === policy; });
    select.value = builtIn(policy) ? '' : policy;
  }

  /* Other policies are known from the configuration, which not everybody may read. */
  async function list() {
    const answer = await readConfig();
    const names = Object.keys(answer.json?.policies ?? {}).filter((name) => !builtIn(name));
    if (!answer.ok || names.join() === listed) return;
    listed = names.join();
    part(el, 'others').hidden = names.length === 0;
    select.replaceChildren(...['', ...names].map((name) => {
      const option = make('option', '', name || '–');
      option.value = name;
      return option;
    }));
    draw();
  }

  let listed = null;
  let version = null;
  for (const radio of radios) radio.input.addEventListener('change', () => choose(radio.policy));
  select.addEventListener('change', () => select.value && choose(select.value));
  store.on('target', draw);
  store.on('settings', (settings) => {
    if (settings.phase !== 'ready' || settings.version === version) return;
    version = settings.version;
    list();
  });
  draw();
  return (number) => choose(ALGORITHMS[number - 1].policy);
}

function makeRadio({ name, policy, title, memory, accuracy, bursts, best }, i) {
  const el = make('label', 'radio');
  const input = make('input');
  input.type = 'radio';
  input.name = 'algorithm';
  input.value = policy;
  setAttr(input, 'aria-keyshortcuts', String(i + 1));
  setAttr(input, 'aria-describedby', `about-${name}`);
  const about = make('span', 'about');
  about.id = `about-${name}`;
  about.textContent = `${memory} · ${accuracy} · bursts: ${bursts} · best for ${best}`;
  el.append(input, make('span', 'radio-title', title), about);
  setAttr(input, 'aria-label', title);
  return { el, input, policy };
}
