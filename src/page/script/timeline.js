// The left and the time line: every step.
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
  slider.setAttribute('aria-valuetext', chosen.step === result ? 'result' : `${layerName(layerOf(chosen.step).name)}, ${stepName(chosen.step)}`);
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
  let run, layer;
  for (let s = 0; s <= result; s++) {
    const n = s === result ? 0 : changes[s].length;
    if (s === result || layer !== data.steps[s].layer) {
      layer = data.steps[s]?.layer;
      const name = s === result ? stepName(s) : layerName(layerOf(s).name);
      // The last part of a path says the most, and there is not room for all.
      run = h('div', { class: `run c${hueOf(s)}`, title: name }, h('b', null, h('bdi', null, name.split('/').at(-1) || name)));
      bars.append(run);
    }
    const warned = data.warnings.some((warning) => warning.step === s);
    const deletes = s !== result && changes[s].some(({ sign }) => sign === 'del');
    const bar = h('i', { class: `${n || s === result ? '' : 'zero'}${deletes ? ' deletes' : ''}`, 'data-sign': (warned ? '!' : '') + (deletes ? '✕' : '') || null,
      title: s === result ? stepName(s) : `${data.steps[s].id}: ${plural(n, 'resource')}${deletes ? ', some removed' : ''}${warned ? ', with a warning' : ''}` });
    bar.style.setProperty('--size', s === result ? '100%' : n ? `${25 + (75 * Math.log(n)) / Math.log(most + 1)}%` : '3px');
    run.append(bar);
    run.style.flexGrow = run.children.length - 1;
    run.style.maxWidth = `${6 * (run.children.length - 1)}rem`;
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
