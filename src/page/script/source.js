// Lines of source files.
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
