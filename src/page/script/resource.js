// A resource, line by line.
const coloured = (text, continues) => {
  const match = continues ? null : /^(\s*(?:- )*)([^\s:#"'{[&*!|>-][^:]*|"[^"]*")(:)(\s.*)?$/.exec(text);
  if (match) return [match[1], h('span', { class: 'k' }, match[2]), h('span', { class: 'p' }, match[3]), match[4] || ''];
  return [text];
};
/** The lines that are shown of a resource after a step: what changed with some lines around it, or all. */
const rowsOf = (r, v, sign, all) => {
  const rows = [];
  const resource = data.resources[r];
  if (sign !== 'mod') {
    const kind = sign === 'del' ? 'del' : sign === 'add' ? 'add' : '';
    for (const [t, f] of linesOf(r, v)) rows.push({ kind: all && sign === 'add' ? '' : kind, t, f });
    return rows;
  }
  const before = linesOf(r, v - 1);
  let at = 0;
  for (const [from, removed, added] of resource.versions[v][3]) {
    for (; at < from; at++) rows.push({ kind: '', t: before[at][0], f: before[at][1] });
    const gone = before.slice(from, from + removed);
    const come = [];
    for (let i = 0; i < added.length; i += 2) come.push([added[i], added[i + 1]]);
    // A line that only changed its value stands beside what it was.
    const pairs = gone.length && gone.length === come.length && gone.every((line, i) => line[1] === come[i][1]);
    if (pairs) {
      gone.forEach((line, i) => {
        const words = line[0] === come[i][0] ? null : differing(T(line[0]), T(come[i][0]));
        // Two that look the same have values that are not shown.
        rows.push({ kind: 'del', t: line[0], f: line[1], words: words && words[0], hidden: !words });
        rows.push({ kind: 'add', t: come[i][0], f: come[i][1], words: words && words[1], hidden: !words });
      });
    } else {
      for (const [t, f] of gone) rows.push({ kind: 'del', t, f });
      for (const [t, f] of come) rows.push({ kind: 'add', t, f });
    }
    at = from + removed;
  }
  for (; at < before.length; at++) rows.push({ kind: '', t: before[at][0], f: before[at][1] });
  // What went in one place and came in another has only moved.
  const key = (row) => `${row.t} ${row.f}`;
  const gone = new Set(rows.filter((row) => row.kind === 'del' && !row.hidden).map(key));
  const moved = new Set(rows.filter((row) => row.kind === 'add' && gone.has(key(row))).map(key));
  for (const row of rows) if (row.kind && moved.has(key(row))) row.moved = true;
  return rows;
};
const AROUND = 3;
const yamlOf = (r, v, sign, s) => {
  const rows = rowsOf(r, v, sign, sign === 'add');
  const name = nameOf(r, v);
  const box = h('div', { class: 'yaml', role: 'listbox', 'aria-label': `${name.kind} ${name.name}, line by line`, 'data-r': r });
  const keep = new Uint8Array(rows.length);
  if (sign === 'mod') {
    rows.forEach((row, i) => {
      if (row.kind) for (let n = Math.max(0, i - AROUND); n <= Math.min(rows.length - 1, i + AROUND); n++) keep[n] = 1;
      if (chosen.resource === r && chosen.field !== undefined && row.f === chosen.field) keep[i] = 1;
    });
  } else keep.fill(1);
  let previous;
  const line = (row) => {
    const event = eventAt(r, row.f, row.kind === 'del' ? s - 1 : s);
    const continues = previous === row.f;
    previous = row.f;
    const words = { add: row.moved ? 'moved to here ' : 'added ', del: row.moved ? 'moved from here ' : 'removed ' }[row.kind];
    const element = h('div', {
      role: 'option', tabindex: -1, 'aria-selected': 'false', 'data-f': row.f,
      class: `${row.kind}${row.moved ? ' moved' : ''} c${event ? hueOf(event.s) : 8}`.trim(),
    }, h('span', { class: 'g', 'aria-hidden': 'true' }, { add: row.moved ? '⇥' : '+', del: row.moved ? '⇤' : '−' }[row.kind] || ''), words && sr(words),
    h('span', { class: 't' }, row.words ? marked(row.words, row.kind === 'add' ? 'ins' : 'del') : coloured(T(row.t), continues)),
    h('span', { class: 'w', 'aria-hidden': 'true' }, whereText(event)));
    return element;
  };
  for (let i = 0; i < rows.length; i++) {
    if (keep[i]) { box.append(line(rows[i])); continue; }
    let end = i;
    while (end < rows.length && !keep[end]) end++;
    // What is as long as the words that would stand for it is shown.
    if (end - i <= 2) { for (; i < end; i++) box.append(line(rows[i])); i--; continue; }
    const hidden = rows.slice(i, end);
    const fold = h('div', { class: 'fold', role: 'option', tabindex: -1, 'aria-selected': 'false' }, `⋯ ${plural(hidden.length, 'line')} that did not change`);
    fold.open = () => {
      previous = undefined;
      const lines = hidden.map(line);
      fold.replaceWith(...lines);
      return lines[0];
    };
    box.append(fold);
    i = end - 1;
  }
  if (box.firstChild) box.firstChild.tabIndex = 0;
  box.addEventListener('click', (event) => {
    const row = event.target.closest('.yaml > div');
    if (!row) return;
    if (row.open) { row.open().focus(); return; }
    if (String(getSelection())) return;
    pick(row);
  });
  box.addEventListener('keydown', (event) => {
    const row = event.target.closest('.yaml > div');
    const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, Home: box.firstChild, End: box.lastChild }[event.key];
    if (to) { event.preventDefault(); to.open ? focusRow(to) : pick(to); }
    else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (row.open) pick(row.open()); else { pick(row); showTab('history'); }
    }
  });
  return box;
};
const focusRow = (row) => {
  for (const other of row.parentElement.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
};
const pick = (row) => {
  focusRow(row);
  go({ resource: +row.parentElement.dataset.r, field: +row.dataset.f }, { push: false });
  if (narrow.matches && !row.matches(':focus-visible')) showTab('history');
};

const card = ({ r, v, sign }, s, open) => {
  const resource = data.resources[r];
  const { kind, namespace, name } = nameOf(r, v);
  const words = { add: 'added', mod: 'changed', del: 'removed', same: 'unchanged' }[sign];
  const element = h('details', { class: `card${sign === 'del' ? ' gone' : ''}`, 'data-r': r },
    h('summary', null,
      s === result ? null : h('span', { class: `sign ${sign}`, title: words }, h('span', { 'aria-hidden': 'true' }, { add: '+', mod: '~', del: '−', same: '=' }[sign]), sr(words)),
      h('span', { class: 'kind' }, kind), h('bdi', { class: 'rname' }, name),
      namespace && h('bdi', { class: 'ns', title: 'namespace' }, namespace),
      resource.origin !== undefined && h('span', { class: 'from' }, placeText(resource.origin))));
  const fill = () => {
    if (!element.querySelector('.yaml')) element.append(yamlOf(r, v, sign, s));
  };
  element.fill = fill;
  element.addEventListener('toggle', () => { if (element.open) { fill(); markChosen(); } });
  $('summary', element).addEventListener('click', () => {
    // Opening a resource shows its history; closing it keeps what is shown.
    if (!element.open && chosen.resource !== r) go({ resource: r, field: undefined });
  });
  if (open) { fill(); element.open = true; }
  return element;
};
