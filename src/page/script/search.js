// The search.
const tools = $('#tools');
const popup = h('ul', { class: 'found', id: 'found', role: 'listbox', 'aria-label': 'Found', hidden: true });
const input = h('input', { class: 'find', type: 'search', placeholder: 'Find a resource, field or value  /', role: 'combobox', 'aria-label': 'Find a resource, field or value', 'aria-expanded': 'false', 'aria-controls': 'found', 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false' });
let hits = [];
let hit = -1;
const search = (text) => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  if (!words.length) return found;
  const fits = (candidate) => { const lower = candidate.toLowerCase(); return words.every((word) => lower.includes(word)); };
  data.resources.forEach((resource, r) => {
    if (found.length < 30 && fits(idOf(r))) {
      const { kind, name, namespace } = nameOf(r);
      found.push({ title: `${kind} ${name}`, note: resource.gone === undefined ? namespace : 'not in the result', to: { step: resource.gone ?? result, resource: r, field: undefined } });
    }
  });
  data.steps.forEach((step, s) => { if (found.length < 45 && fits(`${step.id} ${step.detail}`)) found.push({ title: step.id, note: 'step', to: { step: s, resource: undefined } }); });
  const texts = new Set();
  data.texts.forEach((line, id) => { if (fits(line)) texts.add(id); });
  for (let r = 0; r < data.resources.length && found.length < 100; r++) {
    const resource = data.resources[r];
    for (const [t, f] of linesOf(r, resource.versions.length - 1)) {
      if (found.length >= 100) break;
      if (texts.has(t) || texts.has(resource.fields[f][0]) && isLeaf(r, f)) {
        found.push({ title: T(t).trim(), note: `${nameOf(r).kind} ${nameOf(r).name} · ${T(resource.fields[f][0])}`, mono: true, to: { step: resource.gone === undefined ? result : resource.gone, resource: r, field: f } });
      }
    }
  }
  return found;
};
const showHits = () => {
  hits = search(input.value);
  hit = hits.length ? 0 : -1;
  popup.replaceChildren(...hits.map((found, i) => h('li', { role: 'option', id: `hit-${i}`, 'aria-selected': String(i === hit), click: () => choose(i) },
    h('b', { class: found.mono ? 'mono' : null }, found.title), h('span', null, found.note || ''))));
  if (!hits.length) popup.append(h('li', { class: 'none', role: 'option', 'aria-selected': 'false', 'aria-disabled': 'true' }, 'Nothing found'));
  expand(Boolean(input.value.trim()));
};
const expand = (open) => {
  popup.hidden = !open;
  input.setAttribute('aria-expanded', String(open));
  if (open && hit >= 0) input.setAttribute('aria-activedescendant', `hit-${hit}`); else input.removeAttribute('aria-activedescendant');
};
const choose = (i) => {
  expand(false);
  input.value = '';
  go({ ...hits[i].to, render: true }, { focus: true, tab: 'resources' });
};
input.addEventListener('input', showHits);
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { event.preventDefault(); if (popup.hidden) input.blur(); expand(false); return; }
  if (event.key === 'Enter' && hit >= 0 && !popup.hidden) { event.preventDefault(); choose(hit); return; }
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !hits.length) return;
  event.preventDefault();
  popup.children[hit].setAttribute('aria-selected', 'false');
  hit = (hit + by + hits.length) % hits.length;
  popup.children[hit].setAttribute('aria-selected', 'true');
  popup.children[hit].scrollIntoView({ block: 'nearest' });
  expand(true);
});
input.addEventListener('blur', () => setTimeout(() => expand(false), 150));
