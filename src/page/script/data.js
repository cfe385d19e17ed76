// The data: unpacked, and what can be asked of it.
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
/** What a layer is called: the target may be the folder one is in. */
const layerName = (name) => (name === '.' ? 'this folder' : name);
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
