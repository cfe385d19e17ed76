// The right: the history of what is chosen.
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
    h('span', { class: 'what' }, [label.includes(event.k) || event.k === 'input' ? null : `${event.k} · `, h('bdi', null, layerName(layerOf(s).name))]),
    event.d && h('span', { class: 'edit' }, 'edit here to change it'));
  const why = (event.w || []).map((cause) => h('details', { class: 'why', open: depth < 1 && Boolean(cause.e) },
    h('summary', null, prose(T(cause.t))),
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
      h('span', { class: `chip c${hue(name)}` }, h('bdi', null, layerName(name))),
      h('span', { class: 'num' }, `${plural(n, 'line')} · ${Math.max(1, Math.round((100 * n) / shares.total))} %`)))));
  }
  aside.append(h('p', { class: 'hint' }, 'The colour beside each line is that of the layer that last wrote it. Choose a line for its history, or a step for what it changed.'));
  if (data.warnings.length) {
    aside.append(h('h3', null, plural(data.warnings.length, 'warning')), h('ul', { class: 'fields' }, data.warnings.map((warning) => h('li', null,
      warning.step === undefined ? h('p', null, prose(warning.message))
        : h('a', { href: address(warning.step), click: (event) => { event.preventDefault(); go({ step: warning.step, resource: undefined }, { tab: 'resources' }); } }, h('span', null, prose(warning.message)))))));
  }
};
