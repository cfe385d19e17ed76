// The middle: the resources after a step.
const main = $('#resources');
const CHUNK = 150;
/** Up to this many resources are seen at once. */
const FEW = 12;
let kind = ''; // show only this kind
let more;
const renderStep = () => {
  const s = chosen.step;
  const all = there(s);
  const changed = s === result ? [] : changes[s];
  const onlyChanged = s !== result && only;
  const unchanged = new Set(changed.map(({ r }) => r));
  let entries = [...changed];
  if (!onlyChanged) {
    for (const r of all) if (!unchanged.has(r)) entries.push({ r, v: versionAt(data.resources[r], s), sign: 'same' });
    if (s !== result) entries.sort((a, b) => a.r - b.r);
  }
  const head = h('div', { class: 'step-head' },
    s !== result && h('span', { class: `chip c${hueOf(s)}` }, h('bdi', null, layerName(layerOf(s).name))),
    h('h2', { id: 'step-title', tabindex: -1 }, stepName(s)));
  const parts = [];
  if (s === result) parts.push(data.failure ? 'What was there when the build failed.' : `${plural(all.length, 'resource')}. Choose a line to see where it comes from.`);
  else {
    const count = (sign) => changed.filter((entry) => entry.sign === sign).length;
    const words = [[count('add'), 'added'], [count('mod'), 'changed'], [count('del'), 'removed']].filter(([n]) => n);
    parts.push(words.length ? `${words.map(([n, word], i) => `${i ? n.toLocaleString('en') : plural(n, 'resource')} ${word}`).join(', ')}, ${all.length.toLocaleString('en')} in all.` : 'Changes nothing.');
  }
  const box = h('div', { class: 'live' }, head, h('p', { class: 'step-sub' }, parts.join(' ')));
  if (s === result && data.failure) box.append(h('div', { class: 'failure' }, h('b', null, 'The build failed'), h('pre', null, data.failure)));
  const warnings = data.warnings.filter((warning) => s === result || warning.step === s);
  const boxes = warnings.map((warning) => h('div', { class: 'warned-box' }, h('p', null, h('b', null, '! '), prose(warning.message)),
    warning.advice.map((advice) => h('p', null, prose(advice))),
    warning.place !== undefined && excerpt(warning.place)));
  // Many of them would be all there is to see.
  if (boxes.length > 2) box.append(h('details', { class: 'warned-more' }, h('summary', null, `! ${plural(boxes.length, 'warning')}`), boxes));
  else box.append(...boxes);
  const place = s === result ? undefined : data.steps[s].place;
  const warned = data.warnings.some((warning) => warning.step === s && warning.place !== undefined);
  if (place !== undefined && !warned) box.append(excerpt(place));
  const list = h('div', { class: 'cards' });
  const bar = h('div', { class: 'bar' });
  const kinds = new Map();
  for (const { r } of entries) { const name = nameOf(r).kind; kinds.set(name, (kinds.get(name) || 0) + 1); }
  // What was looked for is shown, whatever its kind.
  if (!kinds.has(kind) || (chosen.resource !== undefined && nameOf(chosen.resource).kind !== kind)) kind = '';
  if (s !== result) {
    const button = (label, value) => h('button', { type: 'button', 'aria-pressed': String(only === value), click: () => { only = value; renderStep(); markChosen(); } }, label);
    bar.append(h('div', { class: 'seg', role: 'group', 'aria-label': 'Which resources' },
      button(`Changed ${changed.length.toLocaleString('en')}`, true), button(`All ${Math.max(all.length, changed.length).toLocaleString('en')}`, false)));
  }
  if (entries.length > FEW && kinds.size > 1) {
    const option = (value, label, n) => h('option', { value, selected: value === kind }, `${label} (${n.toLocaleString('en')})`);
    const select = h('select', { class: 'plain', 'aria-label': 'Kind', change: () => {
      kind = select.value;
      if (kind && chosen.resource !== undefined && nameOf(chosen.resource).kind !== kind) go({ resource: undefined });
      renderStep();
      $('select', main).focus();
    } },
      option('', 'All kinds', entries.length), [...kinds].sort().map(([name, n]) => option(name, name, n)));
    bar.append(select);
  }
  if (kind) entries = entries.filter(({ r }) => nameOf(r).kind === kind);
  if (entries.length > 1) {
    bar.append(h('span', { class: 'spacer' }),
      h('button', { type: 'button', class: 'plain', click: () => setAll(true) }, 'Open all'),
      h('button', { type: 'button', class: 'plain', click: () => setAll(false) }, 'Close all'));
  }
  const setAll = (open) => { for (const element of list.children) if (element.fill) element.open = open; };
  let lines = 0;
  let next = 0;
  const add = (until) => {
    const fragment = document.createDocumentFragment();
    for (; next < Math.min(until, entries.length); next++) {
      const entry = entries[next];
      // A few screens are open from the beginning.
      const isOpen = entry.r === chosen.resource || (lines < 260 && (entry.sign === 'mod' || s === result || entry.sign === 'del' || entries.length < FEW));
      if (isOpen) lines += entry.sign === 'mod' ? 12 : linesOf(entry.r, entry.v).length;
      fragment.append(card(entry, s, isOpen));
    }
    list.append(fragment);
    if (moreButton) {
      moreButton.hidden = next >= entries.length;
      moreButton.textContent = `Show more (${(entries.length - next).toLocaleString('en')} left)`;
    }
  };
  let moreButton;
  if (entries.length > CHUNK) moreButton = h('button', { type: 'button', class: 'plain', click: () => add(next + CHUNK) }, '');
  const at = entries.findIndex((entry) => entry.r === chosen.resource);
  add(Math.max(CHUNK, at + 20));
  if (!entries.length) list.append(h('div', { class: 'empty' }, s === result ? 'Nothing is in the result.' : 'This step left every resource as it was.'));
  box.append(bar, list, moreButton || '');
  if (more) more.disconnect();
  if (moreButton) {
    more = new IntersectionObserver((seen) => { if (seen.some((entry) => entry.isIntersecting) && next < entries.length) add(next + CHUNK); }, { root: narrow.matches ? null : main, rootMargin: '600px' });
    more.observe(moreButton);
  }
  const old = $('.live', main);
  if (old) old.replaceWith(box); else main.append(box);
  if (!narrow.matches) main.scrollTop = 0;
  markChosen(true);
};
const markChosen = (scroll) => {
  for (const element of main.querySelectorAll('[aria-selected="true"]')) element.setAttribute('aria-selected', 'false');
  for (const element of main.querySelectorAll('.card.chosen')) element.classList.remove('chosen');
  if (chosen.resource === undefined) return;
  const element = $(`.card[data-r="${chosen.resource}"]`, main);
  if (!element) return;
  element.classList.add('chosen');
  let seen = element;
  if (chosen.field !== undefined) {
    if (!element.open) { element.fill(); element.open = true; }
    const rows = element.querySelectorAll(`[data-f="${chosen.field}"]`);
    rows.forEach((row) => row.setAttribute('aria-selected', 'true'));
    if (rows.length) seen = rows[rows.length - 1];
  }
  // Cards get their real height when they are first painted, which moves what is below them: look again after that.
  const show = (again) => requestAnimationFrame(() => { seen.scrollIntoView({ block: 'nearest' }); if (again) show(again - 1); });
  if (scroll) show(2);
};
const focusChosen = () => {
  const row = $('[aria-selected="true"]', main);
  if (row) { focusRow(row); row.scrollIntoView({ block: 'center' }); } else $('#step-title').focus();
};
