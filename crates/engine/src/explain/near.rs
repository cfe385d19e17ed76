//! Entries that would have changed a field if one thing about them, or about the resource, were otherwise.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{FileId, Node, Span, nearest};
use rustc_hash::FxHashMap;

use super::find::{FieldPath, Where};
use super::labels::Labels;
use super::misses::Miss;
use super::text;
use crate::files::world::clean;
use crate::pipeline::trace::{Cause, Seen, Segment, Traced, at};
use crate::pipeline::{StepField, Trace};
use crate::resource::{ResourceId, Track};
use crate::select::go_regex;
use crate::select::labels::LabelSelector;

/// Which entries to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// Those that matched nothing at all.
    Unmatched,
    /// Also those that are for other resources.
    All,
}

/// The entries of which one condition does not hold for a resource, and that would have changed a field of it, or anything if no
/// field is given.
pub fn near_entries(
    trace: &Trace,
    track: Track,
    field: Option<&FieldPath>,
    which: Near,
    labels: &Labels,
) -> Vec<Miss> {
    let mut found = Vec::new();
    let mut search =
        Search { field, which, labels, found: &mut found, matched: Vec::new(), files: OnceCell::new() };
    search.collect(trace, track);
    found
}

impl Where<'_> {
    /// The same of the resource that a field is or was in.
    pub fn near(&self, field: Option<&FieldPath>, which: Near, labels: &Labels) -> Vec<Miss> {
        near_entries(self.trace, self.track, field, which, labels)
    }
}

struct Search<'a> {
    field: Option<&'a FieldPath>,
    which: Near,
    labels: &'a Labels<'a>,
    found: &'a mut Vec<Miss>,
    /// What the step asked for and found, in any resource.
    matched: Vec<Span>,
    /// What was read, by its path.
    files: OnceCell<FxHashMap<PathBuf, FileId>>,
}

/// A resource as a step found it.
struct Given<'t> {
    first: &'t ResourceId,
    /// As it was first.
    written: Option<&'t Node>,
    seen: &'t Seen,
}

/// What an entry asks for and a resource does not have.
struct Failed {
    /// In words: `name`.
    what: &'static str,
    wanted: String,
    wanted_at: Span,
    is: String,
    is_at: Span,
}

impl Search<'_> {
    fn collect(&mut self, trace: &Trace, track: Track) {
        for (_, step) in trace.touching(track, trace.steps.len()) {
            let from = step.change(track).and_then(|change| change.from);
            if let (Some(within), Some(from)) = (&step.within, from) {
                self.collect(within, from);
            }
        }
        let ids = trace.ids(track);
        let Some(first) = ids.first() else { return };
        let mut seen: Option<&Seen> = None;
        // What several entries of a step did comes before the step.
        let mut parts: Vec<&Traced> = Vec::new();
        for step in &trace.steps {
            parts.push(step);
            if let (Some(seen), false) = (seen, step.is_part || step.role.loads()) {
                let notes = parts.iter().flat_map(|part| &part.notes);
                let matched = notes.filter_map(|note| match note.cause {
                    Cause::Matched { asked, .. } => Some(asked),
                    _ => None,
                });
                self.matched = matched.collect();
                self.step(step, &Given { first, written: first_tree(trace, track), seen });
            }
            if !step.is_part {
                parts.clear();
            }
            if let Some(change) = step.change(track) {
                seen = change.after.as_ref();
            }
        }
    }

    fn step(&mut self, step: &Traced, given: &Given) {
        // One step may do what several entries ask for.
        let entries = if step.entries.is_empty() { &[step.place][..] } else { &step.entries };
        for place in entries {
            let Some(entry) = self.labels.node(*place) else { continue };
            let name = self.labels.path(*place).unwrap_or_else(|| step.name.entry());
            match step.name.field {
                StepField::Patches | StepField::PatchesJson6902 => self.patch(step, &name, &entry, given),
                StepField::Replacements => self.replacement(step, &name, &entry, given),
                StepField::Labels => self.pairs(&name, &entry, given),
                _ => {}
            }
        }
        if matches!(step.name.field, StepField::Named(_)) {
            self.function(step, given);
        }
    }

    fn patch(&mut self, step: &Traced, name: &str, entry: &Node, given: &Given) {
        let Some(target) = entry.get("target").filter(|target| self.is_wanted(target.span())) else {
            return;
        };
        let Some(failed) = the_one(given.selector(target)) else { return };
        let file = entry.get("path").and_then(Node::text).and_then(|path| self.file(step.place, path));
        let inline = entry.get("patch").and_then(Node::text);
        let inline = inline.and_then(|text| krm_yaml::parse_str(text).ok()).unwrap_or_default();
        let inline = inline.into_iter().map(|document| document.root);
        let documents = file.iter().flat_map(|documents| documents.iter().cloned()).chain(inline);
        let writes = documents.filter_map(|patch| self.writes(&patch, given)).next();
        let Some(place) = writes else { return };
        let place = text::line_of(place, self.labels.sources).map(|at| format!(" ({at})"));
        let who = format!("`{name}`{}", place.unwrap_or_default());
        self.add(&who, "targets", failed);
    }

    fn replacement(&mut self, step: &Traced, name: &str, entry: &Node, given: &Given) {
        let file = entry.get("path").and_then(Node::text).and_then(|path| self.file(step.place, path));
        let inside =
            file.iter().flat_map(|documents| documents.iter()).flat_map(|root| match root.is_seq() {
                true => root.items().to_vec(),
                false => vec![root.clone()],
            });
        for entry in std::iter::once(entry.clone()).chain(inside) {
            for target in entry.get("targets").map(Node::items).unwrap_or_default() {
                let Some(select) = target.get("select") else { continue };
                let paths = target.get("fieldPaths").map(Node::items).unwrap_or_default();
                let mut paths = paths.iter().filter_map(Node::text);
                if !self.is_wanted(target.span()) {
                    continue;
                }
                let leads = self.field.is_none() || paths.any(|path| self.leads(path, given));
                let failed = the_one(given.selector(select)).filter(|_| leads);
                if let Some(failed) = failed {
                    self.add(&format!("`{name}`"), "selects", failed);
                }
            }
        }
    }

    /// Labels go only where field specs say.
    fn pairs(&mut self, who: &str, entry: &Node, given: &Given) {
        let Some(keys) = self.field.and_then(FieldPath::keys) else { return };
        let Some((key, above)) = keys.split_last() else { return };
        let pair = entry.get("pairs").and_then(|pairs| pairs.get(key));
        let Some(pair) = pair.filter(|_| self.which == Near::All) else { return };
        let above = above.join("/");
        let is = |option: &str| entry.get(option).and_then(Node::as_bool).unwrap_or_default();
        let says = |what: &str| Miss {
            message: format!("`{who}` writes this label, but not here: `{what}: true` would"),
            advice: Vec::new(),
            place: pair.span(),
            met: None,
        };
        let has = |path: &[&str]| given.seen.node.at(path.iter().copied()).is_some();
        match above.as_str() {
            "spec/template/metadata/labels"
                if has(&["spec", "template"]) && !is("includeTemplates") && !is("includeSelectors") =>
            {
                self.found.push(says("includeTemplates"));
            }
            "spec/selector" | "spec/selector/matchLabels"
                if has(&["spec", "selector"]) && !is("includeSelectors") =>
            {
                self.found.push(says("includeSelectors"));
            }
            _ => {}
        }
        for spec in entry.get("fields").map(Node::items).unwrap_or_default() {
            let Some(path) = spec.get("path") else { continue };
            let is_here = path.text().is_some_and(|path| path.trim_matches('/').replace("[]", "") == above);
            let creates = spec.get("create").and_then(Node::as_bool).unwrap_or_default();
            let failed = given.selector(spec);
            match failed.len() {
                0 if is_here && !creates => self.found.push(Miss {
                    message: format!(
                        "`{who}` would write it, but only into a `{above}` that is there: its field spec does not say `create: true`"
                    ),
                    advice: Vec::new(),
                    place: path.span(),
                    met: None,
                }),
                1 if is_here => {
                    let who = format!("the field spec of `{who}`");
                    failed.into_iter().for_each(|failed| self.push(&who, "is for", failed));
                }
                _ => {}
            }
        }
    }

    /// A function of a Kptfile gets only what its selectors choose.
    fn function(&mut self, step: &Traced, given: &Given) {
        let documents = self.labels.documents(step.place.file);
        let pipeline = documents.iter().find_map(|root| root.get("pipeline"));
        let lists = ["mutators", "validators"].into_iter().filter_map(|key| pipeline?.get(key));
        let holds = |function: &&Node| function.span().holds(step.place);
        let Some(function) = lists.flat_map(Node::items).find(holds).cloned() else { return };
        // Whether it would have written the field is known only from what it did elsewhere.
        let field = self.field;
        let wrote = field.is_none_or(|field| {
            let value = |seen: &Option<Seen>| {
                let node = seen.as_ref().map(|seen| &seen.node)?;
                field.ways(node).first().and_then(|way| at(node, way)).cloned()
            };
            step.changes.iter().any(|change| value(&change.before) != value(&change.after))
        });
        let items = |key: &str| function.get(key).map(Node::items).unwrap_or_default().to_vec();
        let is_local = given.seen.id.gvk.kind == "Kptfile";
        if !wrote || is_local {
            return;
        }
        let who = format!("the function of `{}`", step.name.entry());
        for exclude in items("exclude").iter().filter(|exclude| given.selector(exclude).is_empty()) {
            self.found.push(Miss {
                message: format!("{who} does not get this resource: its `exclude` leaves it out"),
                advice: Vec::new(),
                place: exclude.span(),
                met: None,
            });
        }
        let selectors = items("selectors");
        let failed: Vec<Vec<Failed>> = selectors.iter().map(|one| given.selector(one)).collect();
        if failed.iter().all(|failed| !failed.is_empty()) {
            for failed in failed.into_iter().filter_map(the_one) {
                self.push(&format!("{who} does not get this resource: it"), "selects", failed);
            }
        }
    }

    /// Whether an entry is of interest: one that is for other resources may not be.
    fn is_wanted(&self, target: Span) -> bool {
        let is_it = |asked: &Span| asked.holds(target) || target.holds(*asked);
        self.which == Near::All || !self.matched.iter().any(is_it)
    }

    fn add(&mut self, who: &str, asks: &str, failed: Failed) {
        self.push(&format!("{who} would write {}, but", self.it()), asks, failed);
    }

    fn it(&self) -> &'static str {
        if self.field.is_some() { "it" } else { "to it" }
    }

    fn push(&mut self, who: &str, asks: &str, failed: Failed) {
        let Failed { what, wanted, wanted_at, is, is_at } = failed;
        let at = text::place(is_at, self.labels.sources).map(|at| format!(" ({at})")).unwrap_or_default();
        let is_plural = what.ends_with('s');
        let now = match (is.is_empty(), is_plural) {
            (true, false) => format!("it has no {what}"),
            (true, true) => format!("it has no such {what}"),
            (false, false) => format!("the {what} is `{is}`{at}"),
            (false, true) => format!("the {what} are `{is}`{at}"),
        };
        let near = nearest(&wanted, [is.as_str()]).filter(|near| !near.is_empty());
        let near = near.filter(|_| is_plural || go_regex::is_plain(&wanted));
        let miss = Miss {
            message: format!("{who} {asks} the {what} `{wanted}`; {now}"),
            advice: near.map(|near| format!("did you mean `{near}`?")).into_iter().collect(),
            place: wanted_at,
            met: Some(is_at).filter(|at| !at.is_none()),
        };
        if !self.found.contains(&miss) {
            self.found.push(miss);
        }
    }

    /// Where a patch writes the field; for the resource as a whole, where it begins.
    fn writes(&self, patch: &Node, given: &Given) -> Option<Span> {
        let Some(field) = self.field else { return Some(patch.span()) };
        if patch.is_seq() {
            let is_it = |operation: &&Node| {
                operation.get("path").and_then(Node::text).is_some_and(|path| self.leads(path, given))
            };
            return patch.items().iter().find(is_it).and_then(|found| found.get("path")).map(Node::span);
        }
        field.ways(patch).first().and_then(|way| at(patch, way)).map(Node::span)
    }

    /// Whether a path is that of the field, or of something around or within it.
    fn leads(&self, path: &str, given: &Given) -> bool {
        let Some((field, path)) = self.field.zip(FieldPath::parse(path).ok()) else { return false };
        let ways = |path: &FieldPath| -> Vec<Vec<Segment>> { path.ways(&given.seen.node) };
        let meets = |(a, b): (&Vec<Segment>, &Vec<Segment>)| a.starts_with(b) || b.starts_with(a);
        let fields = ways(field);
        path.leads_to(field) || ways(&path).iter().any(|way| fields.iter().any(|field| meets((way, field))))
    }

    /// The documents of a file that an entry names.
    fn file(&self, entry: Span, path: &str) -> Option<Arc<[Node]>> {
        let sources = self.labels.sources;
        let kustomization = sources.get(entry.file)?;
        let folder = Path::new(kustomization.name()).parent().unwrap_or(Path::new(""));
        let files = self.files.get_or_init(|| {
            let all = sources.after(FileId::default()).into_iter();
            all.map(|source| (clean(Path::new(source.name())), source.id())).collect()
        });
        Some(self.labels.documents(*files.get(&clean(&folder.join(path)))?))
    }
}

impl Given<'_> {
    /// What of a selector does not hold.
    fn selector(&self, selector: &Node) -> Vec<Failed> {
        let Given { first, seen, written: origin } = self;
        let (node, id) = (&seen.node, &seen.id);
        let span = |path: &[&str]| node.at(path.iter().copied()).map_or(Span::NONE, Node::span);
        let api_versions = [first.gvk.api_version().to_string(), id.gvk.api_version().to_string()];
        let kind_at = span(&["kind"]);
        let api_at = span(&["apiVersion"]);
        let namespace = |id: &ResourceId| id.effective_namespace().to_owned();
        let simple: [(&str, &'static str, [String; 2], Span); 6] = [
            ("kind", "kind", [first.gvk.kind.to_string(), id.gvk.kind.to_string()], kind_at),
            ("group", "group", [first.gvk.group.to_string(), id.gvk.group.to_string()], api_at),
            ("version", "version", [first.gvk.version.to_string(), id.gvk.version.to_string()], api_at),
            ("apiVersion", "apiVersion", api_versions, api_at),
            ("name", "name", [first.name.to_string(), id.name.to_string()], span(&["metadata", "name"])),
            ("namespace", "namespace", [namespace(first), namespace(id)], span(&["metadata", "namespace"])),
        ];
        let mut failed = Vec::new();
        for (key, what, texts, is_at) in simple {
            let Some((wanted, wanted_at)) = selector.get(key).and_then(written) else { continue };
            let pattern = go_regex::compile_anchored(&wanted).ok();
            let fits = |text: &String| {
                *text == wanted || pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
            };
            if !texts.iter().any(fits) {
                let [is, now] = texts;
                // The name that is written is the one to compare with, unless the step came after a rename.
                let is = if is.is_empty() || nearest(&wanted, [now.as_str()]).is_some() { now } else { is };
                // Where a prefix or a suffix is written is not where this name is.
                let name = ["metadata", key];
                let is_other = node.at(name).and_then(Node::text).is_some_and(|now| now != is);
                let first_at = || origin.and_then(|origin| origin.at(name)).map_or(Span::NONE, Node::span);
                let is_at = if key.starts_with("name") && is_other { first_at() } else { is_at };
                failed.push(Failed { what, wanted, wanted_at, is, is_at });
            }
        }
        for (key, what) in [("labelSelector", "labels"), ("annotationSelector", "annotations")] {
            let Some((wanted, wanted_at)) = selector.get(key).and_then(written) else { continue };
            let of = node.at(["metadata", what]);
            let label = |key: &str| of.and_then(|of| of.get(key)).and_then(Node::text);
            if LabelSelector::parse(&wanted).is_ok_and(|selector| !selector.matches(label)) {
                let is = pairs_of(of, &wanted);
                failed.push(Failed { what, wanted, wanted_at, is, is_at: span(&["metadata", what]) });
            }
        }
        // As a Kptfile writes them.
        for what in ["labels", "annotations"] {
            let Some(wanted) = selector.get(what).filter(|node| node.is_map()) else { continue };
            let of = node.at(["metadata", what]);
            let lacks = |entry: &&krm_yaml::Entry| {
                let key = entry.key.text().unwrap_or_default();
                of.and_then(|of| of.get(key)).and_then(Node::text) != entry.value.text()
            };
            if let Some(entry) = wanted.as_map().into_iter().flatten().find(lacks) {
                let wanted_at = entry.value.span();
                let wanted = format!(
                    "{}={}",
                    entry.key.text().unwrap_or_default(),
                    entry.value.text().unwrap_or_default()
                );
                let (is, is_at) = (pairs_of(of, &wanted), span(&["metadata", what]));
                failed.push(Failed { what, wanted, wanted_at, is, is_at });
            }
        }
        failed
    }
}

/// A resource as it was when it came into a build, or into the base it comes from.
fn first_tree(trace: &Trace, track: Track) -> Option<&Node> {
    let (_, step) = trace.touching(track, trace.steps.len()).next()?;
    let change = step.change(track)?;
    match (&step.within, change.from) {
        (Some(within), Some(from)) => first_tree(within, from),
        _ => change.after.as_ref().map(|seen| &seen.node),
    }
}

/// A text that is written and not empty, and where.
fn written(node: &Node) -> Option<(String, Span)> {
    let text = node.text().filter(|text| !text.is_empty())?;
    Some((text.to_owned(), node.span()))
}

/// What a map has of what a selector is about, as a selector writes it: `app=web,tier=front`. Annotations may hold anything,
/// so no others are shown.
fn pairs_of(map: Option<&Node>, wanted: &str) -> String {
    let pairs = map.and_then(Node::as_map).into_iter().flatten();
    let pairs = pairs.filter(|entry| entry.key.text().is_some_and(|key| wanted.contains(key)));
    let pairs = pairs.filter_map(|entry| Some(format!("{}={}", entry.key.text()?, entry.value.text()?)));
    pairs.collect::<Vec<_>>().join(",")
}

/// The only thing that failed.
fn the_one(mut failed: Vec<Failed>) -> Option<Failed> {
    if failed.len() == 1 { failed.pop() } else { None }
}
