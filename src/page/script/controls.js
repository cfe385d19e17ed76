// Light and dark, help, tabs and keys.
const keep = (value) => { try { if (value === undefined) return localStorage.getItem('krm-theme'); localStorage.setItem('krm-theme', value); } catch { /* not kept */ } return undefined; };
const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
const kept = keep();
if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
const theme = h('button', { type: 'button', class: 'icon', 'aria-label': 'Light or dark', title: 'Light or dark', click: () => { root.dataset.theme = isDark() ? 'light' : 'dark'; keep(root.dataset.theme); } },
  icon('M10 3a7 7 0 1 0 7 7 5.500 5.500 0 0 1-7-7z'));
const keys = [['/', 'find a resource, a field or a value'], ['[  ]', 'the step before, the step after'], ['↑  ↓', 'through steps, or lines of a resource'], ['Enter', 'open; show the history of a line'], ['Esc', 'back to the resource, then to the overview'], ['?', 'this help']];
const help = h('dialog', { 'aria-labelledby': 'help-title' }, h('h2', { id: 'help-title' }, 'Keys'),
  h('dl', null, keys.map(([key, what]) => [h('dt', null, key.split('  ').map((one, i) => [i ? ' ' : '', h('kbd', null, one)])), h('dd', null, what)])),
  h('p', { class: 'step-sub' }, 'The address of this page names the step, the resource and the field that are shown: send it to someone with the file.'),
  h('form', { method: 'dialog' }, h('button', { class: 'plain' }, 'Close')));
const tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Parts of the page' });
const narrow = matchMedia('(max-width: 59.99rem)');
const panes = { graph: 'Steps', resources: 'Resources', history: 'History' };
for (const [id, label] of Object.entries(panes)) {
  tabs.append(h('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': id, click: () => showTab(id) }, label));
}
tabs.addEventListener('keydown', (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const all = [...tabs.children];
  const to = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
  to.click();
  to.focus();
});
const showTab = (wanted) => {
  for (const id of Object.keys(panes)) {
    $(`#${id}`).classList.toggle('shown', id === wanted);
    const tab = $(`#tab-${id}`);
    tab.setAttribute('aria-selected', String(id === wanted));
    tab.tabIndex = id === wanted ? 0 : -1;
  }
  if (narrow.matches) scrollTo(0, 0);
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const typing = event.target === input;
  if (typing) return;
  if (event.key === '/') { event.preventDefault(); input.focus(); input.select(); }
  else if (event.key === '?') { help.showModal(); }
  else if (event.key === '[' || event.key === ']') go({ step: Math.max(0, Math.min(result, chosen.step + (event.key === ']' ? 1 : -1))) });
  else if (event.key === 'Escape') {
    if (chosen.field !== undefined) go({ resource: chosen.resource, field: undefined });
    else if (chosen.resource !== undefined) go({ resource: undefined });
    else if (chosen.step !== result) go({ step: result });
  }
});
addEventListener('popstate', () => go({ resource: undefined, ...fromAddress(location.hash), render: true }, { push: false }));
addEventListener('hashchange', () => {
  const wanted = fromAddress(location.hash);
  if (address(chosen.step, chosen.resource, chosen.field) !== location.hash) go({ resource: undefined, ...wanted, render: true }, { push: false });
});
