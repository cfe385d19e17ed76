//! What `explain` says is true: laws that hold for every case there is and for kustomizations made at random.
//!
//! One scalar of the source is replaced by another after the other, and what the build makes of it is compared with what
//! `explain` predicts:
//!
//! * *Sound.* Changing a text that is listed as deciding a field changes the field, or the build fails. Changing one that
//!   is only listed as overwritten does not.
//! * *Complete.* Changing a text that is not listed for a field does not change the field.
//! * *Causal.* Without the entry that is named as the cause of an event, the event is gone, or names it no longer.
//! * *Same everywhere.* Text, JSON and page tell one story.
//!
//! `KRM_LAWS=20000 cargo test --release --test laws` makes at least so many changes; without it, some hundreds.

#[path = "laws/generated.rs"]
mod generated;
#[path = "laws/mutations.rs"]
mod mutations;
#[path = "laws/targets.rs"]
mod targets;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use krm_engine::explain::{
    Because, Explanation, FoundResource, Hidden, HistoryEntry, HistoryOptions, Labels, Part, Site, Sites,
    Where, explain, json, text,
};
use krm_engine::page::{FieldEvents, Wanted, page};
use krm_engine::trace::{Segment, at};
use krm_engine::{Node, StepField};

use mutations::{Mutation, mutations};
use targets::{Built, Target};

/// What came of the changes that were tried.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    targets: usize,
    tried: usize,
    failed: usize,
    without_effect: usize,
    fields_changed: usize,
    predicted_and_changed: usize,
}

/// Where the laws do not hold, and why.
const EXCEPT: [(&str, &str); 2] = [
    (
        "build/labels-part-after-a-json-patch",
        "that a JSON patch ends what was one node is not a property of a field",
    ),
    (
        "build/patches-twice-the-same-key-keeps-the-last",
        "the element is there twice, and the other takes its place",
    ),
];

#[test]
fn what_explain_lists_is_what_counts() {
    let wanted: usize = std::env::var("KRM_LAWS").ok().and_then(|number| number.parse().ok()).unwrap_or(600);
    let mut all = targets::of_cases();
    all.extend(targets::of_examples());
    assert!(all.len() > 200, "cases are found");
    all.retain(|target| EXCEPT.iter().all(|(name, _)| *name != target.name));
    let made = (wanted / 60).clamp(6, 400);
    all.extend((0..made as u64).map(generated::target));
    if let Ok(word) = std::env::var("CASE") {
        all.retain(|target| target.name.contains(&word));
    }
    // Of each target as many as it takes, spread over its texts. Half of the cases are about errors and build nothing.
    let each = (2 * wanted).div_ceil(all.len());
    let (next, faults, counts) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Counts::default()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(target) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (found, counted) = check(target, each);
                    faults.lock().unwrap().extend(found);
                    counts.lock().unwrap().add(counted);
                }
            });
        }
    });
    let (mut faults, counts) = (faults.into_inner().unwrap(), counts.into_inner().unwrap());
    faults.sort();
    println!("{counts:?}");
    assert!(std::env::var_os("CASE").is_some() || counts.tried >= wanted.min(100_000) / 2, "{counts:?}");
    let shown = faults[..faults.len().min(60)].join("\n");
    assert!(faults.is_empty(), "{} faults, {counts:?}\n{shown}", faults.len());
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.targets += other.targets;
        self.tried += other.tried;
        self.failed += other.failed;
        self.without_effect += other.without_effect;
        self.fields_changed += other.fields_changed;
        self.predicted_and_changed += other.predicted_and_changed;
    }
}

/// A field of the result, and the texts that are listed for it.
struct Field {
    resource: usize,
    path: Vec<Segment>,
}

/// Which fields list a text, by file.
#[derive(Default)]
struct Lists {
    texts: BTreeMap<String, Vec<(Range<usize>, Part, usize)>>,
    files: BTreeMap<String, Vec<(Part, usize)>>,
    lines: BTreeMap<(String, usize), Vec<(Part, usize)>>,
}

fn check(target: &Target, most: usize) -> (Vec<String>, Counts) {
    let mut counts = Counts::default();
    let mut faults = Vec::new();
    let Some(built) = target.build(None) else { return (faults, counts) };
    counts.targets = 1;
    let (fields, lists) = predict(&built);
    let all = mutations(&built, target);
    let step = (all.len() / most.max(1)).max(1);
    // A different start for each target, so that not all of them begin with an `apiVersion`.
    let start = target.name.bytes().map(usize::from).sum::<usize>() % step;
    for mutation in all.iter().skip(start).step_by(step).take(most.max(1)) {
        counts.tried += 1;
        let Some(other) = target.build(Some(mutation)) else {
            counts.failed += 1;
            continue;
        };
        let changed = changed(&built, &other, &fields);
        counts.without_effect += usize::from(changed.is_empty());
        counts.fields_changed += changed.len();
        let said = lists.about(mutation);
        for (number, field) in fields.iter().enumerate() {
            let parts: Vec<Part> =
                said.iter().filter(|(_, of)| *of == number).map(|(part, _)| *part).collect();
            let is_changed = changed.contains_key(&number);
            let fault = match is_changed {
                true if parts.contains(&Part::Decides) || parts.contains(&Part::Condition) => {
                    counts.predicted_and_changed += 1;
                    continue;
                }
                true if parts.contains(&Part::Overwritten) => "is listed as overwritten, and changes",
                true => "is not listed, and changes",
                false if parts.contains(&Part::Decides) && !mutation.is_part => {
                    "is listed as deciding, and does not change"
                }
                false => continue,
            };
            let mut line =
                format!("{}: {mutation} {fault} {}", target.name, built.shown(field.resource, &field.path));
            if let Some((before, after)) = changed.get(&number) {
                let _ = write!(line, ": {before} → {after}");
            }
            faults.push(line);
        }
    }
    (faults, counts)
}

/// What `explain` says of every scalar of the result.
fn predict(built: &Built) -> (Vec<Field>, Lists) {
    let labels = Labels::new(&built.sources);
    let sites = Sites::new(&labels);
    let (mut fields, mut lists) = (Vec::new(), Lists::default());
    for (resource, (track, seen)) in built.trace.result.iter().enumerate() {
        let found = FoundResource { track: *track, seen, present: true };
        leaves(&seen.node, &mut Vec::new(), &mut |path| {
            let number = fields.len();
            fields.push(Field { resource, path: path.to_vec() });
            for (part, site) in sites.of(&Where::in_result(&built.trace, &found, path.to_vec())) {
                match site {
                    Site::Text(span) => {
                        let name = built.sources.get(span.file).map(|source| source.name().to_owned());
                        let texts = lists.texts.entry(plain(&name.unwrap_or_default())).or_default();
                        texts.push((span.range(), part, number));
                    }
                    Site::File(path) => {
                        lists.files.entry(plain(&path.to_string_lossy())).or_default().push((part, number));
                    }
                    Site::Line(path, line) => {
                        let key = (plain(&path.to_string_lossy()), line);
                        lists.lines.entry(key).or_default().push((part, number));
                    }
                }
            }
        });
    }
    (fields, lists)
}

impl Lists {
    /// Which fields list a text that is to be changed, and as what.
    fn about(&self, mutation: &Mutation) -> Vec<(Part, usize)> {
        let mut all = Vec::new();
        for (range, part, field) in self.texts.get(&mutation.file).into_iter().flatten() {
            let overlaps = range.start < mutation.range.end && mutation.range.start < range.end;
            let empty_within = range.is_empty() && mutation.range.contains(&range.start);
            // What decides must be changed as a whole for the field to have to change.
            let is_all = mutation.range.start <= range.start && range.end <= mutation.range.end;
            match part {
                Part::Decides if is_all => all.push((*part, *field)),
                Part::Decides if overlaps || empty_within => all.push((Part::Condition, *field)),
                _ if overlaps => all.push((*part, *field)),
                _ => {}
            }
        }
        all.extend(self.files.get(&mutation.file).into_iter().flatten());
        all.extend(self.lines.get(&(mutation.file.clone(), mutation.line)).into_iter().flatten());
        all
    }
}

/// Paths without `./` and a leading slash.
fn plain(path: &str) -> String {
    krm_engine::files::clean(Path::new(path)).to_string_lossy().trim_start_matches('/').to_owned()
}

/// Every scalar, and every map and list without content.
fn leaves(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(&[Segment])) {
    if node.is_scalar() || node.is_empty() {
        return see(path);
    }
    for entry in node.as_map().into_iter().flatten() {
        if let Some(key) = entry.key.text().filter(|key| node.get(key).is_some()) {
            path.push(Segment::Key(key.into()));
            leaves(&entry.value, path, see);
            path.pop();
        }
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(index));
        leaves(item, path, see);
        path.pop();
    }
}

/// The fields that are another, or gone.
fn changed(built: &Built, other: &Built, fields: &[Field]) -> BTreeMap<usize, (String, String)> {
    let mut all = BTreeMap::new();
    let others: BTreeMap<_, _> =
        other.trace.result.iter().map(|(track, seen)| (*track, &seen.node)).collect();
    for (number, field) in fields.iter().enumerate() {
        let (track, seen) = &built.trace.result[field.resource];
        let before = at(&seen.node, &field.path).expect("it is there");
        let after = others.get(track).and_then(|root| same_place(&seen.node, root, &field.path));
        if after.is_none_or(|after| after != before) {
            let after = after.map_or("nothing".to_owned(), shown);
            all.insert(number, (shown(before), after));
        }
    }
    all
}

fn shown(node: &Node) -> String {
    node.text().map_or_else(|| node.kind_name().to_owned(), str::to_owned)
}

/// The node at a path of another tree: elements of lists are found by their keys.
fn same_place<'n>(root: &Node, other: &'n Node, path: &[Segment]) -> Option<&'n Node> {
    let (mut node, mut other) = (root, other);
    for segment in path {
        match segment {
            Segment::Key(key) => (node, other) = (node.get(key)?, other.get(key)?),
            Segment::Index(index) => {
                let (items, others) = (node.items(), other.items());
                node = &items[*index];
                other = match key_of(items, others) {
                    Some(key) => {
                        let wanted = node.get(key).and_then(Node::text);
                        others.iter().find(|other| other.get(key).and_then(Node::text) == wanted)?
                    }
                    None => aligned(items, others, *index)?,
                };
            }
        }
    }
    Some(other)
}

/// The field by which the elements of both lists are known.
fn key_of(items: &[Node], others: &[Node]) -> Option<&'static str> {
    let distinct = |list: &[Node], key: &str| {
        let mut seen = std::collections::BTreeSet::new();
        list.iter()
            .all(|item| item.get(key).and_then(Node::text).is_some_and(|text| seen.insert(text.to_owned())))
    };
    let keys =
        ["name", "mountPath", "devicePath", "ip", "type", "topologyKey", "containerPort", "port", "key"];
    keys.into_iter().find(|key| distinct(items, key) && distinct(others, key))
}

/// The element in the same place, or, in a list of another length, one that is equal.
fn aligned<'n>(items: &[Node], others: &'n [Node], index: usize) -> Option<&'n Node> {
    match items.len() == others.len() {
        true => others.get(index),
        false => others.iter().find(|other| *other == &items[index]),
    }
}

/// Every field of the result with all there is to say about it.
fn explanations(built: &Built) -> Vec<(usize, Vec<Segment>, Explanation)> {
    let (labels, hidden) = (Labels::new(&built.sources), Hidden::nothing());
    let with = HistoryOptions { labels: &labels, hidden: &hidden, depth: 3, conditions: true };
    let mut all = Vec::new();
    for (resource, (track, seen)) in built.trace.result.iter().enumerate() {
        let found = FoundResource { track: *track, seen, present: true };
        leaves(&seen.node, &mut Vec::new(), &mut |path| {
            let answer = explain(&Where::in_result(&built.trace, &found, path.to_vec()), with);
            all.push((resource, path.to_vec(), answer));
        });
    }
    all
}

/// The fields that a kustomization has once, and the steps of which others name as a cause.
const ONCE: [StepField; 3] = [StepField::NamePrefix, StepField::NameSuffix, StepField::Namespace];

/// The entries that events of a field name as their causes.
fn causes(answer: &Explanation) -> Vec<&HistoryEntry> {
    fn add<'a>(entries: &'a [HistoryEntry], all: &mut Vec<&'a HistoryEntry>) {
        for entry in entries {
            for because in &entry.because {
                match because {
                    Because::Followed { renames: causes, .. } | Because::Copied { history: causes, .. } => {
                        all.extend(causes);
                        add(causes, all);
                    }
                    _ => {}
                }
            }
        }
    }
    let mut all = Vec::new();
    add(&answer.history, &mut all);
    all
}

#[test]
fn without_its_cause_an_event_is_gone() {
    let mut all = targets::of_cases();
    all.extend(targets::of_examples());
    all.extend((0..24).map(generated::target));
    let (mut removed, mut gone, mut faults) = (0, 0, Vec::new());
    for target in &all {
        let Some(built) = target.build(None) else { continue };
        let answers = explanations(&built);
        let mut named: BTreeMap<String, (Mutation, Vec<usize>)> = BTreeMap::new();
        for (number, (_, _, answer)) in answers.iter().enumerate() {
            for cause in causes(answer) {
                let Some(step) = cause.step.as_ref().filter(|step| ONCE.contains(&step.field)) else {
                    continue;
                };
                let Some(line) = mutations::without_line(&built, target, step.place) else { continue };
                named.entry(step.id.clone()).or_insert_with(|| (line, Vec::new())).1.push(number);
            }
        }
        for (id, (mutation, fields)) in named {
            removed += 1;
            // What is left may not build: two resources may now have one name.
            let Some(other) = target.build(Some(&mutation)) else { continue };
            let others = explanations(&other);
            for number in fields {
                let (resource, path, _) = &answers[number];
                let track = built.trace.result[*resource].0;
                let same = |(at, other_path, _): &&(usize, Vec<Segment>, Explanation)| {
                    other.trace.result[*at].0 == track && other_path == path
                };
                let Some((_, _, now)) = others.iter().find(same) else { continue };
                gone += 1;
                if causes(now).iter().any(|cause| cause.step.as_ref().is_some_and(|step| step.id == id)) {
                    faults.push(format!(
                        "{}: {id} is taken away, and still a cause of {}",
                        target.name, now.field
                    ));
                }
            }
        }
    }
    assert!(removed > 20 && gone > 60, "{removed} causes are taken away, which {gone} fields name");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

#[test]
fn text_json_and_page_tell_one_story() {
    let mut all = targets::of_cases();
    all.extend(targets::of_examples());
    all.extend((0..6).map(generated::target));
    let (mut explained, mut faults) = (0, Vec::new());
    for target in all.iter().step_by(3) {
        let Some(built) = target.build(None) else { continue };
        let wanted = Wanted {
            target: &target.folder,
            home: Path::new("/"),
            depth: 3,
            show_secrets: true,
            mask: &[],
            warnings: &[],
            failure: None,
            start: None,
        };
        let page = page(&built.trace, &built.sources, &wanted);
        for (resource, path, answer) in explanations(&built) {
            let of_page = page.resources[resource]
                .fields
                .iter()
                .find(|field| page.text(field.path) == answer.field && field.is_leaf);
            let (json, text) =
                (story_of_json(&answer, &built), text::explanation(&answer, &built.sources, usize::MAX));
            explained += 1;
            let mut fault = |what: &str| {
                faults.push(format!("{}: {}: {what}", target.name, built.shown(resource, &path)));
            };
            for (at, (place, label)) in json.iter().enumerate() {
                let line = text.lines().find(|line| line.starts_with(&format!("  {:<2} ", at + 1)));
                if !line.is_some_and(|line| line.contains(place.as_str()) && line.contains(label.as_str())) {
                    fault(&format!("JSON says {place} {label}, and the text says {line:?}"));
                }
            }
            let Some(field) = of_page else { continue };
            let of_page: Vec<String> = match &field.events {
                FieldEvents::Written(place) => vec![page.place(*place)],
                FieldEvents::Several(events) => events
                    .iter()
                    .map(|event| {
                        page.events[*event as usize].place.map(|place| page.place(place)).unwrap_or_default()
                    })
                    .collect(),
            };
            let lines: Vec<String> = json.iter().map(|(place, _)| line_of(place)).collect();
            if lines != of_page {
                fault(&format!("JSON says {lines:?}, and the page says {of_page:?}"));
            }
        }
    }
    assert!(explained > 600, "{explained} fields are explained");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

/// `file:line` of `file:line:column`.
fn line_of(place: &str) -> String {
    place.rsplit_once(':').map_or(String::new(), |(line, _)| line.trim_start_matches('/').to_owned())
}

/// The place and the label of each event, as JSON has them.
fn story_of_json(answer: &Explanation, built: &Built) -> Vec<(String, String)> {
    let json = json::explanation(answer, "", &built.sources, &Hidden::nothing());
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    let event = |event: &Node| {
        let place = event.get("place").map(|place| {
            format!("{}:{}:{}", text(place, "file"), text(place, "line"), text(place, "column"))
        });
        (place.unwrap_or_default(), text(event, "label"))
    };
    json.get("history").expect("it has a history").items().iter().map(event).collect()
}
