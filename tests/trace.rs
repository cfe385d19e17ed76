//! The laws of a trace, on every case there is: it changes nothing, it has no gaps, and it knows where everything is from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::files::{DirEntry, EntryKind};
use krm_engine::trace::{Cause, Event, EventKind, Segment, at};
use krm_engine::{BuildOptions, MemoryWorld, Node, Session, Sources, Span, Trace, World, emit};

/// The files of this machine, to be read.
struct Disk;

impl World for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        fs::read(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }
    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }
    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let kind = if entry.path().is_dir() { EntryKind::Folder } else { EntryKind::File };
            entries.push(DirEntry { name: entry.file_name(), kind });
        }
        entries.sort();
        Ok(entries)
    }
    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        fs::canonicalize(path)
    }
}

/// The folders that cases build without any option.
fn cases() -> Vec<PathBuf> {
    fn visit(dir: &Path, found: &mut Vec<PathBuf>) {
        if dir.join("in").is_dir() {
            let args = fs::read_to_string(dir.join("args")).unwrap_or_else(|_| "build in".into());
            let words: Vec<&str> = args.split_whitespace().collect();
            if let ["build", target] = words[..]
                && !target.starts_with('-')
            {
                found.push(dir.join(target));
            }
            return;
        }
        for entry in fs::read_dir(dir).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                visit(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"), &mut found);
    found.sort();
    found
}

/// Every scalar of a tree, and the way to it.
fn scalars(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(&Node, &[Segment])) {
    if node.is_scalar() {
        return see(node, path);
    }
    for entry in node.as_map().into_iter().flatten() {
        // Keys that are not texts cannot be named.
        if let Some(key) = entry.key.text().filter(|key| node.as_map().unwrap().get(key).is_some()) {
            path.push(Segment::Key(key.into()));
            scalars(&entry.value, path, see);
            path.pop();
        }
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(index));
        scalars(item, path, see);
        path.pop();
    }
}

fn same(a: Option<&Node>, b: Option<&Node>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        (None, None) => true,
        _ => false,
    }
}

/// What is wrong with a history.
fn fault(events: &[Event], value: &Node) -> Option<String> {
    let first = events.first().map_or(Some("it has no history"), |first| {
        let is_origin = matches!(
            first.kind,
            EventKind::Written | EventKind::Generated | EventKind::Inflated | EventKind::ByFunction
        );
        let is_set = first.before.is_none() && !first.asked.is_none();
        // What a built-in adds by itself has no place, but a step that says so.
        let by_itself = first.step.name.folder.is_empty();
        (!is_origin && !is_set && !by_itself).then_some("its first event is not an origin")
    });
    if let Some(first) = first {
        return Some(first.into());
    }
    for pair in events.windows(2) {
        // After a removal a field may come anew.
        if !same(pair[0].after, pair[1].before) {
            return Some(format!(
                "{} ({}) leaves {:?}, and {} ({}) finds {:?}",
                pair[0].step.name,
                pair[0].kind.name(),
                pair[0].after,
                pair[1].step.name,
                pair[1].kind.name(),
                pair[1].before
            ));
        }
    }
    let last = events.last().and_then(|event| event.after);
    (!same(last, Some(value))).then(|| format!("the last event leaves {last:?}"))
}

/// Every map, list and scalar of a tree, and the way to it.
fn nodes(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(&Node, &[Segment])) {
    see(node, path);
    for entry in node.as_map().into_iter().flatten() {
        if let Some(key) = entry.key.text().filter(|key| node.get(key).is_some()) {
            path.push(Segment::Key(key.into()));
            nodes(&entry.value, path, see);
            path.pop();
        }
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(index));
        nodes(item, path, see);
        path.pop();
    }
}

/// Whether two values are the same and written in the same places.
fn is_untouched(a: &Node, b: &Node) -> bool {
    let (mut places, mut others) = (Vec::new(), Vec::new());
    scalars(a, &mut Vec::new(), &mut |node, path| places.push((path.to_vec(), node.span())));
    scalars(b, &mut Vec::new(), &mut |node, path| others.push((path.to_vec(), node.span())));
    let order = |place: &(Vec<Segment>, Span)| format!("{:?}", place.0);
    places.sort_by_key(order);
    others.sort_by_key(order);
    a == b && places == others
}

/// Every event of a history changes a value, the place where it is written or its position, and none is about another
/// element of a list: an element keeps its key unless the key itself is written where the element is.
fn empty_event(events: &[Event]) -> Option<String> {
    events.windows(2).find_map(|pair| {
        let [last, event] = pair else { return None };
        let name = format!("{} ({})", event.step.name, event.kind.name());
        let (Some(before), Some(after)) = (event.before, event.after) else { return None };
        let is_written_anew = event.written != before.span() && before.is_scalar();
        if is_untouched(before, after) && !is_written_anew && last.path == event.path {
            return Some(format!("{name} changes nothing"));
        }
        let change = event.step.change(event.resource)?;
        let (old, new) = (&change.before.as_ref()?.node, &change.after.as_ref()?.node);
        let positions = event.path.iter().enumerate().filter(|(_, s)| matches!(s, Segment::Index(_)));
        positions.map(|(depth, _)| depth).find_map(|depth| {
            let (old, new) = (at(old, &last.path[..=depth])?, at(new, &event.path[..=depth])?);
            let key = |element: &Node| element.get("name").and_then(Node::text).map(str::to_owned);
            let is_another = key(old) != key(new) && old.span() != new.span();
            is_another.then(|| format!("{name} makes {:?} of {:?}", key(new), key(old)))
        })
    })
}

/// Each change starts from what the one before it left, and the last one leaves the result.
fn check_chain(trace: &Trace, name: &str, faults: &mut Vec<String>) {
    let mut now = std::collections::BTreeMap::new();
    for step in &trace.steps {
        for change in &step.changes {
            let was = now.remove(&change.resource);
            let fits = match (&was, &change.before) {
                (None, None) => true,
                (Some(was), Some(before)) => before.node.same(was),
                _ => false,
            };
            if !fits {
                faults.push(format!("{name}: {} does not start from what was there", step.name));
            }
            if let Some(after) = &change.after {
                now.insert(change.resource, after.node.clone());
            }
        }
        if let Some(within) = &step.within {
            check_chain(within, name, faults);
        }
    }
    for (track, seen) in &trace.result {
        if !now.get(track).is_some_and(|node| node.same(&seen.node)) {
            faults.push(format!("{name}: the result is not what the last step left"));
        }
    }
}

#[test]
fn a_trace_changes_nothing_and_has_no_gaps() {
    let cases = cases();
    assert!(cases.len() > 200, "cases are found");
    let mut faults = Vec::new();
    let (mut built, mut values) = (0, 0);
    for case in &cases {
        let name = case.display().to_string();
        let session = Session::new(Arc::new(Disk), Sources::new(), BuildOptions::default());
        let plain = session.build(std::slice::from_ref(&name)).into_result();
        let (traced, trace) = session.trace(&name);
        let (plain, traced) = match (plain, traced) {
            (Ok(plain), Ok(traced)) => (plain, traced),
            (Err(a), Err(b)) if a.code() == b.code() => continue,
            (a, b) => {
                faults.push(format!("{name}: {:?} without a trace, {:?} with one", a.err(), b.err()));
                continue;
            }
        };
        built += 1;
        match (emit(&plain), emit([&traced])) {
            (Ok(plain), Ok(traced)) if plain.concat() != traced.concat() => {
                faults.push(format!("{name}: the trace changes the result"));
            }
            _ => {}
        }
        check_chain(&trace, &name, &mut faults);
        for (track, seen) in &trace.result {
            scalars(&seen.node, &mut Vec::new(), &mut |value, path| {
                values += 1;
                assert!(at(&seen.node, path).is_some());
                if let Some(fault) = fault(&trace.history(*track, path), value) {
                    faults.push(format!("{name}: {path:?}: {fault}"));
                }
            });
            nodes(&seen.node, &mut Vec::new(), &mut |_, path| {
                if let Some(fault) = empty_event(&trace.history(*track, path)) {
                    faults.push(format!("{name}: {path:?}: {fault}"));
                }
            });
        }
    }
    assert!(built > 150 && values > 1000, "{built} cases build, to {values} values");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

const FILES: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        "resources:\n- web.yaml\nconfigMapGenerator:\n- name: settings\n  literals:\n  - GREETING=hello\n  envs:\n  - app.env\n",
    ),
    ("base/app.env", "# comment\ncurrency=EUR\n"),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n\
         \x20     - name: web\n        image: shop/web:1.0.0\n        env:\n        - name: HOST\n          value: REPLACE_ME\n\
         \x20       - name: VAR\n          value: $(VARIABLE)\n        envFrom:\n        - configMapRef:\n            name: settings\n\
         ---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\n",
    ),
    (
        "part/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: sidecar.yaml\n",
    ),
    (
        "part/sidecar.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: tracer\n        image: shop/tracer:0.9\n",
    ),
    (
        "app/kustomization.yaml",
        "namespace: shop\nnamePrefix: prod-\nnameSuffix: -v2\nresources:\n- ../base\ncomponents:\n- ../part\nimages:\n- name: shop/tracer\n\
         \x20 newTag: \"1\"\n- name: shop/web\n  newName: eu/shop/web\n  newTag: 1.4.2\nreplicas:\n- name: web\n  count: 3\nlabels:\n- pairs:\n    team: shop\n\
         commonAnnotations:\n  note: hello\npatches:\n- target:\n    kind: Service\n  patch: |-\n    - op: add\n      path: /spec\n      value: {type: NodePort}\n\
         replacements:\n- source:\n    kind: Service\n    name: web\n    fieldPath: metadata.name\n  targets:\n  - select:\n      kind: Deployment\n    fieldPaths:\n\
         \x20   - spec.template.spec.containers.[name=web].env.[name=HOST].value\nvars:\n- name: VARIABLE\n  objref:\n    apiVersion: v1\n    kind: Service\n    name: web\n\
         buildMetadata: [managedByLabel, originAnnotations]\n",
    ),
];

/// A field of the result: where its value is written, and what happened to it.
fn history_of(trace: &Trace, sources: &Sources, kind: &str, path: &[Segment]) -> String {
    let (track, seen) =
        trace.result.iter().find(|(_, seen)| &*seen.id.gvk.kind == kind).expect("it is there");
    let place = |span: Span| match sources.get(span.file) {
        Some(source) => {
            let position = source.position(span.start as usize);
            format!("{}:{}:{}", source.name(), position.line, position.column)
        }
        None => "nowhere".into(),
    };
    let value = at(&seen.node, path).unwrap_or_else(|| panic!("{path:?} of {kind}"));
    let events = trace.history(*track, path);
    let events: Vec<String> = events
        .iter()
        .map(|event| format!("{} {}", event.step.name_of(event.written), event.kind.name()))
        .collect();
    format!("{} {}: {}", value.text().unwrap_or_default(), place(value.span()), events.join(", "))
}

#[test]
fn every_value_knows_the_text_that_set_it() {
    let sources = Sources::new();
    let world = Arc::new(MemoryWorld::new(FILES.iter().copied()));
    let session = Session::new(world, sources.clone(), BuildOptions::default());
    let (result, trace) = session.trace("app");
    result.expect("it builds");
    let path = |text: &str| -> Vec<Segment> {
        let segment = |part: &str| match part.parse() {
            Ok(index) => Segment::Index(index),
            Err(_) => Segment::Key(part.replace('~', "/").as_str().into()),
        };
        text.split(' ').map(segment).collect()
    };
    let label = path("metadata labels app.kubernetes.io~managed-by");
    let managed_by = at(&trace.result[0].1.node, &label).and_then(Node::text).expect("it is labelled");
    let web = "spec template spec containers 1";
    let name = "prod-web-v2";
    let generated = "prod-settings-v2-";
    let expected = [
        ("Deployment", "spec replicas".to_owned(), "3 app/kustomization.yaml:16:10: base#resources[0] written, app#replicas[0] set".to_owned()),
        ("Deployment", "metadata namespace".into(), "shop app/kustomization.yaml:1:12: app#namespace set".into()),
        (
            "Deployment",
            "metadata name".into(),
            format!("{name} app/kustomization.yaml:3:13: base#resources[0] written, app#namePrefix renamed, app#nameSuffix renamed"),
        ),
        (
            "Deployment",
            format!("{web} image"),
            "eu/shop/web:1.4.2 app/kustomization.yaml:13:11: base#resources[0] written, part#patches[0] moved, app#images[1] set".into(),
        ),
        (
            "Deployment",
            "spec template spec containers 0 image".into(),
            "shop/tracer:1 app/kustomization.yaml:10:11: part#patches[0] set, app#images[0] set".into(),
        ),
        (
            "Deployment",
            format!("{web} env 0 value"),
            format!("{name} app/kustomization.yaml:38:7: base#resources[0] written, part#patches[0] moved, app#replacements[0] copied"),
        ),
        (
            "Deployment",
            format!("{web} env 1 value"),
            format!("{name} app/kustomization.yaml:40:9: base#resources[0] written, part#patches[0] moved, #var-references copied"),
        ),
        ("Deployment", "metadata labels team".into(), "shop app/kustomization.yaml:19:11: app#labels[0] set".into()),
        ("Deployment", "metadata annotations note".into(), "hello app/kustomization.yaml:21:9: app#commonAnnotations set".into()),
        (
            "Deployment",
            "metadata labels app.kubernetes.io~managed-by".into(),
            format!("{managed_by} app/kustomization.yaml:45:17: #managed-by-label set"),
        ),
        ("Service", "spec type".into(), "NodePort app/kustomization.yaml:28:21: app#patches[0] set".into()),
        ("ConfigMap", "data GREETING".into(), "hello base/kustomization.yaml:6:5: base#configMapGenerator[0] generated".into()),
        ("ConfigMap", "data currency".into(), "EUR base/kustomization.yaml:8:5: base#configMapGenerator[0] generated".into()),
        ("ConfigMap", "kind".into(), "ConfigMap base/kustomization.yaml:4:9: base#configMapGenerator[0] generated".into()),
    ];
    let mut faults = Vec::new();
    for (kind, field, expected) in &expected {
        let found = history_of(&trace, &sources, kind, &path(field));
        if found != *expected {
            faults.push(format!("{kind} {field}\n  expected {expected}\n  found    {found}"));
        }
    }
    // The hash is asked for by the generator, and the reference follows it.
    let hashed = history_of(&trace, &sources, "ConfigMap", &path("metadata name"));
    let steps =
        "base#configMapGenerator[0] generated, app#namePrefix renamed, app#nameSuffix renamed, #hash hashed";
    if !(hashed.starts_with(generated) && hashed.ends_with(&format!(" base/kustomization.yaml:4:9: {steps}")))
    {
        faults.push(format!("the name of the ConfigMap: {hashed}"));
    }
    let followed =
        history_of(&trace, &sources, "Deployment", &path(&format!("{web} envFrom 0 configMapRef name")));
    let steps = "base#resources[0] written, part#patches[0] moved, #name-references followed";
    if !(followed.starts_with(generated)
        && followed.ends_with(&format!(" base/kustomization.yaml:4:9: {steps}")))
    {
        faults.push(format!("the reference to the ConfigMap: {followed}"));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const GONE: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        "resources: [web.yaml, scaler.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [A=1]\n",
    ),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  paused: true\n  template:\n    spec:\n      containers:\n\
         \x20     - name: web\n        args: [--plain]\n        resources: {limits: {memory: 1Gi}}\n",
    ),
    (
        "base/scaler.yaml",
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 3}\n",
    ),
    (
        "app/kustomization.yaml",
        "resources: [../base]\npatches:\n- path: less.yaml\n- target: {kind: Deployment}\n  patch: |-\n    - op: remove\n      path: /spec/template/spec/containers/0/resources\n\
         - patch: |-\n    $patch: delete\n    apiVersion: autoscaling/v2\n    kind: HorizontalPodAutoscaler\n    metadata: {name: web}\n\
         configMapGenerator:\n- name: settings\n  behavior: merge\n  literals: [B=2]\n",
    ),
    (
        "app/less.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  paused: null\n  template:\n    spec:\n      containers:\n\
         \x20     - name: web\n        args: null\n        resources: {limits: {memory: 2Gi}}\n",
    ),
];

#[test]
fn what_is_gone_has_a_history() {
    let world = Arc::new(MemoryWorld::new(GONE.iter().copied()));
    let session = Session::new(world, Sources::new(), BuildOptions::default());
    let (result, trace) = session.trace("app");
    result.expect("it builds");
    let find = |kind: &str| {
        let all = trace.resources();
        let found = all.into_iter().find(|(_, seen, _)| &*seen.id.gvk.kind == kind);
        found.unwrap_or_else(|| panic!("there is a {kind}"))
    };
    let keys = |path: &str| -> Vec<Segment> {
        let segment = |part: &str| part.parse().map_or_else(|_| Segment::Key(part.into()), Segment::Index);
        path.split('.').filter(|part| !part.is_empty()).map(segment).collect()
    };
    let events_of = |kind: &str, path: &str| -> Vec<String> {
        let events = trace.history(find(kind).0, &keys(path));
        events.iter().map(|event| format!("{} {}", event.step.name, event.kind.name())).collect()
    };
    assert_eq!(
        events_of("Deployment", "spec.paused"),
        ["base#resources[0] written", "app#patches[0] removed"]
    );
    assert_eq!(
        events_of("Deployment", "spec.template.spec.containers.0.args"),
        ["base#resources[0] written", "app#patches[0] removed"]
    );
    assert_eq!(
        events_of("Deployment", "spec.template.spec.containers.0.resources.limits.memory"),
        ["base#resources[0] written", "app#patches[0] set", "app#patches[1] removed"]
    );
    // The whole resource, and what was in it.
    assert!(!find("HorizontalPodAutoscaler").2, "it is not in the result");
    for path in ["", "spec.maxReplicas"] {
        let events = events_of("HorizontalPodAutoscaler", path);
        assert_eq!(events, ["base#resources[1] written", "app#patches[2] deleted"], "{path}");
    }
    // A generator that merges makes new keys, and leaves the others.
    assert_eq!(events_of("ConfigMap", "data.B"), ["app#configMapGenerator[0] generated"]);
    assert_eq!(events_of("ConfigMap", "data.A"), ["base#configMapGenerator[0] generated"]);

    // A patch says what it asked for.
    let events = trace.history(find("Deployment").0, &keys("spec.template.spec.containers.0.resources"));
    let removed = events.last().expect("it was removed");
    let operation = removed.causes.iter().find_map(|cause| match cause {
        Cause::Patched { operation } => Some(operation),
        _ => None,
    });
    let operation = operation.expect("it was a JSON patch");
    let path = "/spec/template/spec/containers/0/resources";
    assert_eq!((&*operation.name, &*operation.path), ("remove", path));
    let merged = |cause: &&Cause| match cause {
        Cause::Merged { patch, .. } => patch.at(["spec", "paused"]).is_some_and(Node::is_null),
        _ => false,
    };
    let events = trace.history(find("Deployment").0, &keys("spec.paused"));
    assert!(events.last().expect("it was removed").causes.iter().copied().any(|cause| merged(&cause)));
}

/// Where a value keeps its place though a step writes another, and why.
const SAME_PLACE: [(&str, &str); 4] = [
    ("build/json-patch-large-numbers", "a JSON patch rounds numbers that it does not name"),
    ("build/vars-in-fields-of-choice", "`$$(NAME)` is written there, which is what `$(NAME)` comes from"),
    ("build/vars-take-values-of-resources", "the same"),
    ("quirks/null-data-is-empty-text", "a null is written there, which becomes an empty text"),
];

/// A value that a step writes has the place of the text that set it, and not that of the text it replaced.
fn check_setters(trace: &Trace, name: &str, faults: &mut Vec<String>) -> usize {
    let mut written = 0;
    for step in &trace.steps {
        written += step.within.as_ref().map_or(0, |within| check_setters(within, name, faults));
        for change in &step.changes {
            let Some(after) = &change.after else { continue };
            // What a generator made has the place of its entry, which also asks for the hash.
            let made_at = after.node.get("kind").map(Node::span);
            scalars(&after.node, &mut Vec::new(), &mut |node, path| {
                let before = change.before.as_ref().and_then(|before| at(&before.node, path));
                if before.is_some_and(|before| before.text() == node.text()) {
                    return;
                }
                written += 1;
                let is_kept = before.is_some_and(|before| before.is_scalar() && before.span() == node.span());
                if node.span().is_none() || (is_kept && made_at != Some(node.span())) {
                    let what = if is_kept { "the place of what it replaced" } else { "no place" };
                    faults.push(format!("{name}: {} {path:?}: {:?} has {what}", step.name, node.text()));
                }
            });
        }
    }
    written
}

#[test]
fn every_setter_gives_a_value_its_place() {
    let (mut faults, mut written) = (Vec::new(), 0);
    for case in &cases() {
        let name = case.display().to_string();
        if SAME_PLACE.iter().any(|(except, _)| name.contains(except)) {
            continue;
        }
        let session = Session::new(Arc::new(Disk), Sources::new(), BuildOptions::default());
        let (_, trace) = session.trace(&name);
        written += check_setters(&trace, &name, &mut faults);
    }
    assert!(written > 2000, "{written} values are written");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
