// The playground: files on the left, the result on the right, live.

import { load } from './engine.js';
import { examples } from './examples.js';
import { pack, unpack } from './link.js';

/** @returns {any} */
const $ = (id) => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** What is there before a line is chosen. */
const nothing = $('history').firstElementChild;
const state = { files: {}, open: '', target: '', line: 0 };
let engine;

/** @param {{files: Object<string, string>, target: string, open?: string, look?: string}} project */
function show({ files, target, open, look }) {
  state.files = { ...files };
  state.target = target;
  state.open = open && open in files ? open : Object.keys(files).find((path) => path.startsWith(target)) ?? Object.keys(files)[0];
  state.line = 0;
  edit(state.open);
  build();
  const line = look ? [...$('output').children].findIndex((item) => item.textContent.includes(look)) : -1;
  if (line >= 0) choose(line + 1);
  else $('history').replaceChildren(nothing);
}

// --- files

function drawTree() {
  const items = Object.keys(state.files).sort().map((path) => {
    const parts = path.split('/');
    const name = parts.pop();
    const item = make('li', { id: `file-${path}`, title: path });
    item.append(make('span', { className: 'folder', textContent: parts.length ? `${parts.join('/')}/` : '' }), name);
    item.setAttribute('role', 'option');
    item.setAttribute('aria-selected', String(path === state.open));
    item.dataset.path = path;
    return item;
  });
  $('tree').replaceChildren(...items);
  $('tree').setAttribute('aria-activedescendant', `file-${state.open}`);
}

function edit(path) {
  state.open = path;
  $('text').value = state.files[path] ?? '';
  drawTree();
  drawGutter();
}

function drawGutter(marked = new Set()) {
  const lines = $('text').value.split('\n').length;
  const numbers = Array.from({ length: lines }, (_, index) => {
    const line = make('span', { textContent: `${index + 1}\n` });
    if (marked.has(index + 1)) line.className = 'wrong';
    return line;
  });
  $('gutter').replaceChildren(...numbers);
  $('gutter').scrollTop = $('text').scrollTop;
}

function step(list, key, current) {
  const at = list.indexOf(current);
  const last = list.length - 1;
  const to = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }[key];
  return to === undefined ? undefined : list[to];
}

$('tree').addEventListener('click', (event) => {
  const item = event.target.closest('li');
  if (item) edit(item.dataset.path), markProblems();
});
$('tree').addEventListener('keydown', (event) => {
  const next = step(Object.keys(state.files).sort(), event.key, state.open);
  if (next === undefined) return;
  event.preventDefault();
  edit(next);
  markProblems();
});

$('add').addEventListener('click', () => {
  const path = prompt('Name of the new file', state.open.replace(/[^/]*$/, 'new.yaml'))?.trim();
  if (!path || path in state.files) return;
  state.files[path] = '';
  edit(path);
  build();
  $('text').focus();
});
$('rename').addEventListener('click', () => {
  const path = prompt('New name of the file', state.open)?.trim();
  if (!path || path in state.files) return;
  state.files[path] = state.files[state.open];
  delete state.files[state.open];
  edit(path);
  build();
});
$('remove').addEventListener('click', () => {
  if (Object.keys(state.files).length < 2) return;
  delete state.files[state.open];
  edit(Object.keys(state.files).sort()[0]);
  build();
});

// --- editor

let leaving = false;
$('text').addEventListener('keydown', (event) => {
  if (event.key === 'Escape') leaving = true;
  else if (event.key === 'Tab' && !event.shiftKey && !leaving) {
    event.preventDefault();
    document.execCommand('insertText', false, '  ');
  } else leaving = false;
});
$('text').addEventListener('scroll', () => { $('gutter').scrollTop = $('text').scrollTop; });
$('text').addEventListener('input', () => {
  state.files[state.open] = $('text').value;
  drawGutter();
  build();
});

// --- result

let problems = [];

function build() {
  if (!engine) return;
  drawTargets();
  const start = performance.now();
  const answer = engine.ask(state.files, { ask: 'build', target: state.target });
  const took = performance.now() - start;
  problems = [...(answer.warnings ?? []), ...(answer.errors ?? [])];
  drawProblems();
  markProblems();
  if (answer.output === undefined) {
    $('output').classList.add('stale');
    $('status').textContent = `${answer.errors.length === 1 ? '1 error' : `${answer.errors.length} errors`}; the result below is the last good one`;
  } else {
    $('output').classList.remove('stale');
    drawOutput(answer.output);
    $('status').textContent = `Built in ${took.toFixed(1)} ms`;
  }
  if (state.line) explain(state.line);
}

function drawTargets() {
  const { targets = [] } = engine.ask(state.files, { ask: 'targets' });
  if (!targets.includes(state.target)) targets.push(state.target);
  const options = targets.map((name) => make('option', { value: name, textContent: name, selected: name === state.target }));
  $('target').replaceChildren(...options);
}

function drawProblems() {
  const items = problems.map((problem) => {
    const text = make('pre', { className: problem.severity ?? 'error', textContent: problem.text.trimEnd() });
    if (!problem.place || !(problem.place.file in state.files)) return text;
    const open = make('button', { type: 'button', textContent: `Go to ${problem.place.file}:${problem.place.line}` });
    open.addEventListener('click', () => goTo(problem.place));
    return make('div', { className: 'problem' }, text, open);
  });
  $('problems').replaceChildren(...items);
}

function markProblems() {
  const here = problems.filter((problem) => problem.place?.file === state.open);
  drawGutter(new Set(here.map((problem) => problem.place.line)));
}

function goTo({ file, line, column }) {
  edit(file);
  markProblems();
  const lines = $('text').value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  $('text').focus();
  $('text').setSelectionRange(start, start);
  const height = parseFloat(getComputedStyle($('text')).lineHeight);
  $('text').scrollTop = Math.max(0, (line - 4) * height);
}

function drawOutput(text) {
  const lines = text.replace(/\n$/, '').split('\n').map((line, index) => {
    const item = make('li', { id: `line-${index + 1}` });
    item.setAttribute('role', 'option');
    item.setAttribute('aria-selected', String(index + 1 === state.line));
    const found = /^(\s*(?:- )?)([^\s:'"#][^:]*)(:)(\s.*)?$/.exec(line);
    if (line === '---') item.className = 'separator';
    if (found) item.append(found[1], make('span', { className: 'key', textContent: found[2] }), found[3], make('span', { className: 'value', textContent: found[4] ?? '' }));
    else item.textContent = line || ' ';
    return item;
  });
  $('output').replaceChildren(...lines);
}

function choose(line) {
  $(`line-${state.line}`)?.setAttribute('aria-selected', 'false');
  state.line = line;
  const item = $(`line-${line}`);
  item?.setAttribute('aria-selected', 'true');
  // Within the result only: on a phone the whole page would move.
  const top = item ? item.offsetTop - $('output').offsetTop : 0;
  const { scrollTop, clientHeight } = $('output');
  if (top < scrollTop || top + item?.offsetHeight > scrollTop + clientHeight) $('output').scrollTop = top - clientHeight / 2;
  $('output').setAttribute('aria-activedescendant', `line-${line}`);
  explain(line);
}

$('output').addEventListener('click', (event) => {
  const item = event.target.closest('li');
  if (item && !item.classList.contains('separator')) choose(Number(item.id.slice(5)));
});
$('output').addEventListener('keydown', (event) => {
  const lines = [...$('output').querySelectorAll('li:not(.separator)')];
  const next = step(lines, event.key, $(`line-${state.line}`));
  if (!next) return;
  event.preventDefault();
  choose(Number(next.id.slice(5)));
});

// --- history

function explain(line) {
  const answer = engine.ask(state.files, { ask: 'explain', target: state.target, line });
  const history = answer.histories?.[0];
  if (!history) {
    $('history').replaceChildren(make('p', { className: 'hint', textContent: 'The build fails: there is nothing to explain.' }));
    return;
  }
  const { resource, field, history: events } = history;
  const title = make('p', { className: 'subject' }, make('b', { textContent: `${resource.kind} ${resource.name}` }));
  if (field) title.append(make('code', { textContent: field }));
  const items = events.map((event) => {
    const item = make('li', { className: event.decides ? 'decides' : '' });
    item.append(make('span', { className: 'event', textContent: event.event }));
    if (event.label !== event.event) item.append(' ', make('code', { textContent: event.label }));
    if (event.place && event.place.file in state.files) {
      const link = make('button', { type: 'button', className: 'place', textContent: `${event.place.file}:${event.place.line}` });
      link.addEventListener('click', () => goTo(event.place));
      item.append(link);
    }
    const short = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
    if (field && event.after !== undefined) {
      const change = make('p', { className: 'change' });
      if (event.before !== undefined) change.append(make('del', { textContent: short(event.before) }), ' → ');
      change.append(make('ins', { textContent: short(event.after) }));
      item.append(change);
    }
    return item;
  });
  $('history').replaceChildren(title, make('ol', {}, ...items));
}

// --- examples, targets, links

for (const [name, { title }] of Object.entries(examples)) {
  $('examples').append(make('option', { value: name, textContent: title }));
}
$('examples').addEventListener('change', () => {
  history.replaceState(null, '', location.pathname);
  show(examples[$('examples').value]);
});
$('target').addEventListener('change', () => {
  state.target = $('target').value;
  state.line = 0;
  $('history').replaceChildren(nothing);
  build();
});
$('share').addEventListener('click', async () => {
  history.replaceState(null, '', `#${await pack({ files: state.files, target: state.target, open: state.open })}`);
  try {
    await navigator.clipboard.writeText(location.href);
    $('status').textContent = 'The link is copied: it holds all files.';
  } catch {
    $('status').textContent = 'The link is in the address bar: it holds all files.';
  }
});

async function begin() {
  const start = performance.now();
  engine = await load('krm.wasm');
  const linked = await unpack(location.hash.slice(1));
  show(linked ?? examples.overlay);
  document.documentElement.dataset.ready = (performance.now() - start).toFixed(0);
}
addEventListener('hashchange', async () => {
  const linked = await unpack(location.hash.slice(1));
  if (linked) show(linked);
});
begin().catch((error) => { $('status').textContent = `It cannot start: ${error.message}`; });
