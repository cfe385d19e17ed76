// What the page does: shows and hides what is in its data. Everything that is computed from configuration was computed by
// krm. Texts of users become text nodes, never markup.
'use strict';
(async () => {
  const root = document.documentElement;
  const $ = (selector, within = document) => within.querySelector(selector);
  /** Makes an element. Props that are functions are listeners; others are attributes. */
  const h = (tag, props, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(props || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (typeof value === 'function') element.addEventListener(key, value);
      else if (key === 'class') element.className = value;
      else element.setAttribute(key, value === true ? '' : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
    return element;
  };
  const sr = (text) => h('span', { class: 'sr' }, text);
  const plural = (count, what) => `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;

  // ---------------------------------------------------------------- data
  const read = async (element) => {
    const text = element.textContent;
    if (element.dataset.encoding !== 'gzip') return JSON.parse(text);
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return JSON.parse(await new Response(plain).text());
  };
  /** Adds up what `compact.rs` wrote as distances. */
  const unpack = (raw) => {
    const sum = () => { let at = 0; return (distance) => (at += distance); };
    const some = (add, value) => (value === null ? undefined : add(value));
    const text = sum(), name = sum(), place = sum(), event = sum();
    const lineText = sum(), file = sum(), line = sum(), column = sum();
    const label = sum(), at = sum(), before = sum(), after = sum();
    const files = raw.files.map(([fileName, flat]) => {
      const number = sum();
      const map = new Map();
      for (let i = 0; i < flat.length; i += 2) map.set(number(flat[i]), lineText(flat[i + 1]));
      return { name: fileName, map };
    });
    const places = [];
    for (let i = 0; i < raw.places.length; i += 5) {
      const [f, l, c] = [file(raw.places[i]), line(raw.places[i + 1]), column(raw.places[i + 2])];
      places.push([f, l, c, l + raw.places[i + 3], c + raw.places[i + 4]]);
    }
    const events = raw.events.map(([k, s, l, p, b, a, flags, w]) => ({
      k: raw.kinds[k], s, l: label(l), p: some(at, p), b: some(before, b), a: some(after, a), d: Boolean(flags & 1), m: Boolean(flags & 2),
      w: w && w.map(([t, causePlace, e]) => ({ t, p: causePlace ?? undefined, e: e.length ? e : undefined })),
    }));
    const resources = raw.resources.map(([apiVersion, kind, origin, gone, versions, whole, fields]) => {
      const path = sum();
      return {
        apiVersion, kind, origin: some(place, origin), gone: gone ?? undefined,
        versions: versions.map(([s, namespace, n, hunks]) => {
          let field = -1;
          const lines = hunks.map(([from, removed, flat]) => {
            for (let i = 0; i < flat.length; i += 2) {
              flat[i] = text(flat[i]);
              flat[i + 1] = field += flat[i + 1] + 1;
            }
            return [from, removed, flat];
          });
          return [s, namespace, name(n), lines];
        }),
        whole: whole.map(event),
        fields: fields.map(([p, e, composite]) => [path(p), Array.isArray(e) ? e.map(event) : place(e), composite]),
      };
    });
    return { ...raw, files, places, events, resources };
  };
  let data, result, changes, hues, byName, lineCache;
  const T = (id) => data.texts[id];

  const take = (fresh) => {
    data = unpack(fresh);
    result = data.steps.length;
    lineCache = new Map();
    byName = undefined;
    changes = data.steps.map(() => []);
    data.resources.forEach((resource, r) => {
      resource.versions.forEach((version, v) => changes[version[0]].push({ r, v, sign: v ? 'mod' : 'add' }));
      if (resource.gone !== undefined) changes[resource.gone].push({ r, v: resource.versions.length - 1, sign: 'del' });
    });
    for (const of of changes) of.sort((a, b) => a.r - b.r);
    const names = [];
    for (const layer of [...data.layers].reverse()) {
      if (layer.kind !== 'finish' && !names.includes(layer.name)) names.push(layer.name);
    }
    hues = data.layers.map((layer) => (layer.kind === 'finish' ? 8 : names.indexOf(layer.name) % 8));
  };
  const stepName = (s) => {
    if (s === result) return data.failure ? 'Stopped here' : 'Result';
    const step = data.steps[s];
    if (data.layers[step.layer].kind !== 'finish') return step.label;
    return step.label === 'hash' ? 'hash suffixes' : step.label.replaceAll('-', ' ');
  };
  const layerOf = (s) => data.layers[data.steps[s].layer];
  const hueOf = (s) => (data.steps[s] ? hues[data.steps[s].layer] : 0);
  /** The number of the version a resource has after a step; -1 before it came. */
  const versionAt = (resource, s) => resource.versions.findLastIndex((version) => version[0] <= s);
  /** The lines of a version: texts and fields, one after the other. */
  const linesOf = (r, v) => {
    if (v < 0) return [];
    const key = r * 4096 + v;
    let lines = lineCache.get(key);
    if (lines) return lines;
    const before = linesOf(r, v - 1);
    lines = [];
    let at = 0;
    for (const [from, removed, added] of data.resources[r].versions[v][3]) {
      for (; at < from; at++) lines.push(before[at]);
      for (let i = 0; i < added.length; i += 2) lines.push([added[i], added[i + 1]]);
      at += removed;
    }
    for (; at < before.length; at++) lines.push(before[at]);
    if (lineCache.size > 20000) lineCache.clear();
    lineCache.set(key, lines);
    return lines;
  };
  const eventsOf = (r, f) => {
    const resource = data.resources[r];
    const [, events] = resource.fields[f];
    if (typeof events !== 'number') return events.map((id) => data.events[id]);
    return [{ k: 'written', s: resource.versions[0][0], p: events, d: resource.gone === undefined }];
  };
  const isLeaf = (r, f) => data.resources[r].fields[f][2] !== 1;
  /** The event that made a field what it is after a step. */
  const eventAt = (r, f, s) => {
    const events = eventsOf(r, f);
    if (!isLeaf(r, f)) return events[0];
    return events.findLast((event) => event.s <= s && event.k !== 'removed' && event.k !== 'deleted') || events[0];
  };
  const labelOf = (event) => (event.l === undefined ? 'written' : T(event.l));
  const placeText = (p) => `${data.files[data.places[p][0]].name}:${data.places[p][1]}`;
  const shortPlace = (p) => placeText(p).split('/').slice(-2).join('/');
  const whereText = (event) => (!event ? '' : event.p === undefined ? `→ ${labelOf(event)}` : shortPlace(event.p));
  /** The resources there are after a step: those of its layer and of what that is made of. */
  const there = (s) => {
    const all = [];
    const since = s === result ? 0 : data.steps[s].since;
    data.resources.forEach((resource, r) => {
      const first = resource.versions[0][0];
      if (first < since || first > s) return;
      if (resource.gone !== undefined && resource.gone < s) return;
      all.push(r);
    });
    return all;
  };
  const nameOf = (r, v) => {
    const resource = data.resources[r];
    const version = resource.versions[v === undefined || v < 0 ? resource.versions.length - 1 : v];
    return { kind: T(resource.kind), namespace: T(version[1]), name: T(version[2]) };
  };
  const idOf = (r) => {
    const { kind, namespace, name } = nameOf(r);
    return namespace ? `${kind}/${namespace}/${name}` : `${kind}/${name}`;
  };

  // ---------------------------------------------------------------- what is chosen
  const chosen = { step: 0, resource: undefined, field: undefined };
  let only = true; // show only what the step changed
  const address = (s, r, f) => {
    const parts = [];
    if (s !== result) parts.push(`step=${encodeURIComponent(data.steps[s].id)}`);
    if (r !== undefined) parts.push(`resource=${encodeURIComponent(idOf(r))}`);
    if (r !== undefined && f !== undefined) parts.push(`field=${encodeURIComponent(T(data.resources[r].fields[f][0]))}`);
    return `#${parts.join('&') || 'result'}`;
  };
  const fromAddress = (hash) => {
    const number = /^#step-(\d+)$/.exec(hash);
    if (number) return { step: Math.min(+number[1], result) };
    const params = new URLSearchParams(hash.slice(1));
    const wanted = { step: result };
    if (params.has('step')) {
      const s = data.steps.findIndex((step) => step.id === params.get('step'));
      if (s >= 0) wanted.step = s;
    }
    if (params.has('resource')) {
      if (!byName) {
        byName = new Map();
        data.resources.forEach((_, r) => { if (!byName.has(idOf(r))) byName.set(idOf(r), r); });
      }
      wanted.resource = byName.get(params.get('resource'));
      if (wanted.resource !== undefined && params.has('field')) {
        const f = data.resources[wanted.resource].fields.findIndex(([path]) => T(path) === params.get('field'));
        if (f >= 0) wanted.field = f;
      }
    }
    return wanted;
  };
  const go = (wanted, { push = true, focus, tab } = {}) => {
    const step = wanted.step ?? chosen.step;
    const moved = step !== chosen.step;
    chosen.step = step;
    if ('resource' in wanted) chosen.resource = wanted.resource;
    if ('resource' in wanted || 'field' in wanted) chosen.field = wanted.field;
    if (moved && !('resource' in wanted)) {
      // The chosen resource stays where it can; otherwise the first that changed takes its place.
      const of = changes[step] || [];
      if (step !== result && of.length && !of.some(({ r }) => r === chosen.resource)) {
        chosen.resource = undefined;
        chosen.field = undefined;
      }
    }
    const hash = address(chosen.step, chosen.resource, chosen.field);
    // An address without anything is that of the result.
    if (hash !== (location.hash || '#result')) history[push ? 'pushState' : 'replaceState'](null, '', hash);
    if (moved || wanted.render) { only = true; renderStep(); } else markChosen();
    renderHistory();
    markStep();
    if (tab) showTab(tab);
    if (focus) focusChosen();
  };

  // ---------------------------------------------------------------- source lines
  const excerpt = (p, open = true) => {
    const [f, line, column, endLine, endColumn] = data.places[p];
    const file = data.files[f];
    const list = h('ol');
    const last = Math.min(endLine, line + 6);
    for (let n = Math.max(1, line - 2); n <= last + 2; n++) {
      const id = file.map.get(n);
      if (id === undefined) continue;
      const text = T(id);
      const item = h('li', { 'data-n': n, class: n >= line && n <= last ? 'at' : null });
      if (n === line && endLine === line && endColumn > column) {
        const chars = [...text];
        item.append(h('span', null, chars.slice(0, column - 1).join(''), h('mark', null, chars.slice(column - 1, endColumn - 1).join('')), chars.slice(endColumn - 1).join('')));
      } else item.append(h('span', null, text));
      list.append(item);
    }
    return h('div', { class: 'excerpt', tabindex: 0, role: 'group', 'aria-label': `Source, ${placeText(p)}` }, h('span', { class: 'file' }, placeText(p)), open && list);
  };

  // ---------------------------------------------------------------- words that differ
  /** The part in the middle that differs, cut at the borders of words. */
  const differing = (before, after) => {
    const cut = /[^\p{L}\p{N}]+|[\p{L}\p{N}]+/gu;
    const a = before.match(cut) || [], b = after.match(cut) || [];
    let start = 0, end = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start++;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    // A version is one word.
    const isPart = (word) => /^(\d+|\.)$/.test(word || '');
    if (isPart(a[start]) || isPart(b[start])) while (start && isPart(a[start - 1])) start--;
    if (isPart(a[a.length - end - 1]) || isPart(b[b.length - end - 1])) while (end && isPart(a[a.length - end])) end--;
    const parts = (of) => [of.slice(0, start).join(''), of.slice(start, of.length - end).join(''), of.slice(of.length - end).join('')];
    return [parts(a), parts(b)];
  };
  const marked = ([head, middle, tail], tag) => [head, middle && h(tag, null, middle), tail];

  // ---------------------------------------------------------------- a resource
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
    const box = h('div', { class: 'yaml placed', role: 'listbox', 'aria-label': `${name.kind} ${name.name}, line by line`, 'data-r': r });
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
    go({ resource: +row.parentElement.dataset.r, field: +row.dataset.f }, { push: false, tab: narrow.matches ? undefined : null });
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

  // ---------------------------------------------------------------- the middle
  const main = $('#resources');
  const CHUNK = 150;
  let more;
  const renderStep = () => {
    const s = chosen.step;
    const all = there(s);
    const changed = s === result ? [] : changes[s];
    const onlyChanged = s !== result && only;
    const unchanged = new Set(changed.map(({ r }) => r));
    const entries = changed.map((entry) => entry);
    if (!onlyChanged) {
      for (const r of all) if (!unchanged.has(r)) entries.push({ r, v: versionAt(data.resources[r], s), sign: 'same' });
      if (s !== result) entries.sort((a, b) => a.r - b.r);
    }
    const head = h('div', { class: 'step-head' },
      s !== result && h('span', { class: `chip c${hueOf(s)}` }, h('bdi', null, layerOf(s).name)),
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
    for (const warning of data.warnings) {
      if (s !== result && warning.step !== s) continue;
      box.append(h('div', { class: 'warned-box' }, h('p', null, h('b', null, '! '), warning.message),
        warning.advice.map((advice) => h('p', null, advice)),
        warning.place !== undefined && excerpt(warning.place)));
    }
    const place = s === result ? undefined : data.steps[s].place;
    const warned = data.warnings.some((warning) => warning.step === s && warning.place !== undefined);
    if (place !== undefined && !warned) box.append(excerpt(place));
    const list = h('div', { class: 'cards' });
    const bar = h('div', { class: 'bar' });
    if (s !== result) {
      const button = (label, value) => h('button', { type: 'button', 'aria-pressed': String(only === value), click: () => { only = value; renderStep(); markChosen(); } }, label);
      bar.append(h('div', { class: 'seg', role: 'group', 'aria-label': 'Which resources' },
        button(`Changed ${changed.length.toLocaleString('en')}`, true), button(`All ${Math.max(all.length, changed.length).toLocaleString('en')}`, false)));
    }
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
        const isOpen = entry.r === chosen.resource || (lines < 260 && (entry.sign === 'mod' || s === result || entry.sign === 'del' || entries.length < 12));
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

  // ---------------------------------------------------------------- the right
  const aside = $('#history');
  const valueOf = (r, f) => {
    const resource = data.resources[r];
    const lines = linesOf(r, resource.versions.length - 1).filter(([, field]) => field === f);
    if (!lines.length) return undefined;
    return lines.map(([t], i) => (i ? T(t) : T(t).replace(/^\s*(- )*/, '').replace(/^("[^"]*"|[^\s:"'][^:]*):( |$)/, ''))).join('\n');
  };
  const changeOf = (event) => {
    const before = event.b === undefined ? undefined : T(event.b);
    const after = event.a === undefined ? undefined : T(event.a);
    if (event.m) return h('p', { class: 'change' }, '••• → ••• (changed)');
    if (before !== undefined && after !== undefined && before !== after) {
      const [old, now] = differing(before, after);
      return h('div', { class: 'change' },
        h('div', null, h('span', null, '−'), sr('before: '), h('bdi', null, marked(old, 'del'))),
        h('div', null, h('span', null, '+'), sr('after: '), h('bdi', null, marked(now, 'ins'))));
    }
    if (after !== undefined) return h('div', { class: 'change' }, h('div', null, h('bdi', null, after)));
    if (before !== undefined) return h('div', { class: 'change' }, h('div', null, h('span', null, '−'), sr('removed: '), h('bdi', null, h('del', null, before))));
    return null;
  };
  const eventItem = (event, r, f, depth) => {
    const s = event.s;
    const label = labelOf(event);
    const now = depth === 0 && s === chosen.step;
    const jump = (click) => { click.preventDefault(); go({ step: s, resource: r, field: f }, { tab: 'resources' }); };
    const head = h('div', { class: 'ev-head' },
      event.k === 'input' ? h('span', { class: 'mono' }, label)
        : h('a', { href: r === undefined ? `#step-${s}` : address(s, r, f), click: r === undefined ? null : jump, title: `Show the step ${data.steps[s].id}` }, label === 'written' ? 'written' : label),
      h('span', { class: 'what' }, [label.includes(event.k) || event.k === 'input' ? null : `${event.k} · `, h('bdi', null, layerOf(s).name)]),
      event.d && h('span', { class: 'edit' }, 'edit here to change it'));
    const why = (event.w || []).map((cause) => h('details', { class: 'why', open: depth < 1 && Boolean(cause.e) },
      h('summary', null, T(cause.t)),
      cause.p !== undefined && excerpt(cause.p),
      cause.e && h('ol', { class: 'events' }, cause.e.map((id) => eventItem(data.events[id], undefined, undefined, depth + 1)))));
    return h('li', { class: `c${hueOf(s)}${now ? ' now' : ''}${depth === 0 && chosen.step !== result && s > chosen.step ? ' later' : ''}` },
      h('div', { class: 'body' }, head, now && sr('this step'), changeOf(event), event.p !== undefined && excerpt(event.p), why));
  };
  const copying = (text) => {
    const button = h('button', { type: 'button', class: 'plain', click: async () => {
      try { await navigator.clipboard.writeText(text); } catch {
        const area = h('textarea', null, text);
        document.body.append(area); area.select(); document.execCommand('copy'); area.remove();
      }
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    } }, 'Copy');
    return h('div', { class: 'copy' }, h('code', null, text), button);
  };
  const quoted = (text) => (/^[\w./=:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const renderHistory = () => {
    aside.replaceChildren();
    aside.scrollTop = 0;
    const { resource: r, field: f } = chosen;
    if (r === undefined) { renderOverview(); return; }
    const resource = data.resources[r];
    const { kind, namespace, name } = nameOf(r);
    aside.append(h('p', { class: 'crumbs' }, kind, h('bdi', null, f === undefined ? '' : name), namespace && h('span', null, 'in ', h('bdi', null, namespace))));
    if (f === undefined) {
      aside.append(h('h2', { class: 'words' }, h('bdi', null, name)));
      if (resource.gone !== undefined) aside.append(h('p', { class: 'value gone' }, 'Not in the result.'));
      const list = h('ol', { class: 'events' }, resource.whole.map((id) => eventItem(data.events[id], r, undefined, 0)));
      aside.append(list);
      const many = resource.fields.map((field, i) => [i, typeof field[1] === 'number' ? 1 : field[1].length]).filter(([i, n]) => n > 1 && isLeaf(r, i)).sort((a, b) => b[1] - a[1]).slice(0, 30);
      if (many.length) {
        aside.append(h('h3', null, 'Fields that changed on the way'), h('ul', { class: 'fields' }, many.map(([i, n]) => h('li', null,
          h('a', { href: address(chosen.step, r, i), click: (event) => { event.preventDefault(); go({ resource: r, field: i }); } },
            h('code', null, T(resource.fields[i][0])), h('span', { class: 'num' }, plural(n, 'event')))))));
      }
      aside.append(h('h3', null, 'On the command line'), copying(`krm explain ${quoted(data.target)} ${quoted(idOf(r))}`));
      return;
    }
    const path = T(resource.fields[f][0]);
    aside.append(h('h2', null, h('bdi', null, path)));
    const events = eventsOf(r, f);
    const last = events[events.length - 1];
    const value = isLeaf(r, f) ? valueOf(r, f) : undefined;
    if (last && (last.k === 'removed' || last.k === 'deleted')) aside.append(h('p', { class: 'value gone' }, last.k === 'deleted' ? 'Not in the result: the resource was removed.' : 'Not in the result: it was removed.'));
    else if (value !== undefined) aside.append(h('p', { class: 'value' }, h('bdi', null, value)));
    aside.append(h('ol', { class: 'events' }, events.map((event) => eventItem(event, r, f, 0))));
    if (path) aside.append(h('h3', null, 'On the command line'), copying(`krm explain ${quoted(data.target)} ${quoted(idOf(r))} ${quoted(path)}`));
  };
  let shares;
  const renderOverview = () => {
    if (!shares || shares.of !== data) {
      const counts = new Map();
      let total = 0;
      data.resources.forEach((resource, r) => {
        if (resource.gone !== undefined) return;
        for (const [, f] of linesOf(r, resource.versions.length - 1)) {
          const event = eventAt(r, f, result);
          const layer = event ? layerOf(event.s).name : '';
          counts.set(layer, (counts.get(layer) || 0) + 1);
          total++;
        }
      });
      shares = { of: data, total, list: [...counts].sort((a, b) => b[1] - a[1]) };
    }
    const hue = (name) => hues[data.layers.findIndex((layer) => layer.name === name)] ?? 8;
    aside.append(h('h2', { class: 'words' }, 'Where the result comes from'));
    if (shares.total) {
      const bar = h('div', { class: 'share', 'aria-hidden': 'true' });
      for (const [name, n] of shares.list) {
        const part = h('i', { class: `c${hue(name)}` });
        part.style.flexGrow = n;
        bar.append(part);
      }
      aside.append(bar, h('ul', { class: 'legend' }, shares.list.map(([name, n]) => h('li', null,
        h('span', { class: `chip c${hue(name)}` }, h('bdi', null, name)),
        h('span', { class: 'num' }, `${plural(n, 'line')} · ${Math.max(1, Math.round((100 * n) / shares.total))} %`)))));
    }
    aside.append(h('p', { class: 'hint' }, 'The colour beside each line is that of the layer that last wrote it. Choose a line for its history, or a step for what it changed.'));
    if (data.warnings.length) {
      aside.append(h('h3', null, plural(data.warnings.length, 'warning')), h('ul', { class: 'fields' }, data.warnings.map((warning) => h('li', null,
        warning.step === undefined ? h('p', null, warning.message)
          : h('a', { href: address(warning.step), click: (event) => { event.preventDefault(); go({ step: warning.step, resource: undefined }, { tab: 'resources' }); } }, h('span', null, warning.message))))));
    }
  };

  // ---------------------------------------------------------------- the left and the strip
  const graph = $('#graph');
  const strip = $('#strip');
  const rowsOfGraph = () => [...graph.querySelectorAll('a.row')];
  const markStep = () => {
    for (const row of rowsOfGraph()) {
      const now = +row.dataset.step === chosen.step;
      row.tabIndex = now ? 0 : -1;
      if (now) row.setAttribute('aria-current', 'step'); else row.removeAttribute('aria-current');
      if (now && !narrow.matches) row.scrollIntoView({ block: 'nearest' });
    }
    const slider = $('input', strip);
    slider.value = chosen.step;
    slider.setAttribute('aria-valuetext', chosen.step === result ? 'result' : `${layerOf(chosen.step).name}, ${stepName(chosen.step)}`);
    const old = $('.now', strip);
    if (old) old.classList.remove('now');
    strip.querySelectorAll('i')[chosen.step]?.classList.add('now');
  };
  graph.addEventListener('click', (event) => {
    const row = event.target.closest('a.row');
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ step: +row.dataset.step }, { tab: 'resources' });
  });
  graph.addEventListener('keydown', (event) => {
    const rows = rowsOfGraph();
    const at = rows.indexOf(document.activeElement);
    if (at < 0) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined || !rows[to]) return;
    event.preventDefault();
    go({ step: +rows[to].dataset.step }, { push: false });
    rows[to].focus();
  });
  const renderStrip = () => {
    const bars = h('div', { class: 'bars' });
    const most = Math.max(1, ...changes.map((of) => of.length));
    for (let s = 0; s <= result; s++) {
      const n = s === result ? 0 : changes[s].length;
      const warned = data.warnings.some((warning) => warning.step === s);
      const bar = h('i', { class: `c${hueOf(s)}${n || s === result ? '' : ' zero'}${warned ? ' warned' : ''}`, title: s === result ? stepName(s) : `${data.steps[s].id}: ${plural(n, 'resource')}` });
      bar.style.setProperty('--size', s === result ? '100%' : n ? `${25 + (75 * Math.log(n)) / Math.log(most + 1)}%` : '3px');
      bars.append(bar);
    }
    const slider = h('input', { type: 'range', min: 0, max: result, step: 1, 'aria-label': 'Step', input: () => go({ step: +slider.value }, { push: false }) });
    bars.append(slider);
    let dragging = false;
    const choose = (event) => {
      const all = [...bars.querySelectorAll('i')];
      const s = all.findIndex((bar) => event.clientX < bar.getBoundingClientRect().right + 1);
      go({ step: s < 0 ? result : s }, { push: false });
    };
    bars.addEventListener('pointerdown', (event) => { dragging = true; bars.setPointerCapture(event.pointerId); choose(event); });
    bars.addEventListener('pointermove', (event) => { if (dragging) choose(event); });
    bars.addEventListener('pointerup', () => { dragging = false; });
    bars.addEventListener('pointercancel', () => { dragging = false; });
    const by = (d) => () => go({ step: Math.max(0, Math.min(result, chosen.step + d)) });
    strip.replaceChildren(
      h('button', { type: 'button', class: 'icon', 'aria-label': 'Previous step', title: 'Previous step  [', click: by(-1) }, icon('M12 4 6 10l6 6')),
      h('button', { type: 'button', class: 'icon', 'aria-label': 'Next step', title: 'Next step  ]', click: by(1) }, icon('M8 4l6 6-6 6')), bars);
    strip.hidden = false;
  };

  // ---------------------------------------------------------------- search
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
          found.push({ title: T(t).trim(), note: `${nameOf(r).kind} ${nameOf(r).name}`, mono: true, to: { step: resource.gone === undefined ? result : resource.gone, resource: r, field: f } });
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

  // ---------------------------------------------------------------- light and dark, help, tabs
  const icon = (d) => {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    for (const [key, value] of Object.entries({ viewBox: '0 0 20 20', width: 18, height: 18, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6, 'stroke-linecap': 'round', 'aria-hidden': 'true' })) svg.setAttribute(key, value);
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', d);
    svg.append(path);
    return svg;
  };
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

  // ---------------------------------------------------------------- begin
  try {
    take(await read($('#data')));
  } catch (error) {
    // An old browser: what is there without script is shown.
    root.classList.remove('js');
    return;
  }
  tools.append(input, popup, theme, h('button', { type: 'button', class: 'icon', 'aria-label': 'Help', title: 'Keys  ?', click: () => help.showModal() }, '?'));
  $('.panes').append(tabs);
  document.body.append(help);
  const begin = () => {
    renderStrip();
    showTab('resources');
    const wanted = location.hash.length > 1 ? fromAddress(location.hash)
      : { step: result, resource: data.start?.resource, field: data.start?.field };
    go({ resource: undefined, ...wanted, render: true }, { push: false });
    root.dataset.ready = '';
  };
  chosen.step = result;
  begin();

  // ---------------------------------------------------------------- live
  const from = root.dataset.events;
  if (!from) return;
  const notice = $('#notice');
  const tell = (text, detail) => {
    notice.hidden = !text;
    notice.classList.toggle('bad', Boolean(detail));
    notice.replaceChildren(text || '', detail ? h('pre', null, detail) : '');
  };
  const source = new EventSource(from);
  source.addEventListener('changed', async () => {
    const response = await fetch(location.href.split('#')[0]);
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    const hash = location.hash;
    take(await read($('#data', fresh)));
    graph.replaceChildren(...$('#graph', fresh).childNodes);
    $('.facts').replaceChildren(...$('.facts', fresh).childNodes);
    document.title = fresh.title;
    renderStrip();
    go({ resource: undefined, ...fromAddress(hash), render: true }, { push: false });
    tell('');
  });
  source.addEventListener('failed', (event) => tell('The build fails. What is below is the last that succeeded.', event.data));
  source.addEventListener('good', () => tell(''));
  source.onerror = () => tell('The connection to krm is lost. Trying again.');
  source.onopen = () => tell('');
})();
