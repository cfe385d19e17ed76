// A page that is served: it follows the files.
const notice = $('#notice');
const tell = (text, detail) => {
  notice.hidden = !text;
  notice.classList.toggle('bad', Boolean(detail));
  notice.replaceChildren(text || '', detail ? h('pre', null, detail) : '');
};
const listen = (address) => {
  const source = new EventSource(address);
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
};
