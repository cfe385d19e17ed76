// The beginning.
const begin = async () => {
  try {
    take(await read($('#data')));
  } catch {
    // An old browser: what is there without script is shown.
    root.classList.remove('js');
    return;
  }
  tools.append(input, popup, theme, h('button', { type: 'button', class: 'icon', 'aria-label': 'Help', title: 'Keys  ?', click: () => help.showModal() }, '?'));
  $('.panes').append(tabs);
  document.body.append(help);
  chosen.step = result;
  renderStrip();
  showTab('resources');
  const wanted = location.hash.length > 1 ? fromAddress(location.hash)
    : { step: result, resource: data.start?.resource, field: data.start?.field };
  go({ resource: undefined, ...wanted, render: true }, { push: false });
  root.dataset.ready = '';
  if (root.dataset.events) listen(root.dataset.events);
};
begin();
