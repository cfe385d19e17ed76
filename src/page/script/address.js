// What is chosen, and the address that names it.
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
/**
 * Shows what is wanted; what is not named stays.
 * @param {{step?: number, resource?: number, field?: number, render?: boolean}} wanted
 * @param {{push?: boolean, focus?: boolean, tab?: string}} [how]
 */
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
