//! What an event makes of the places that decide a value.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use krm_yaml::{Node, Sources, Span};

use super::{Elements, Found, Piece, Site, Sites, scalars, tree};
use crate::explain::find::FieldPath;
use crate::explain::references::references;
use crate::files::world::clean;
use crate::pipeline::Role;
use crate::pipeline::trace::{Cause, Event, EventKind, Input, InputKind, Segment, at};
use crate::resource::Track;
use crate::transformers::split_image;

/// How much of a value a text gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Part,
}

impl Sites<'_> {
    pub(super) fn event(&self, event: &Event, found: &mut Found) {
        let (trace, until) = (event.trace, event.index);
        if !event.step.role.loads() {
            self.step(event, found);
        }
        if !event.step.role.loads() && (event.step.role == Role::Transform || event.before.is_some()) {
            self.identity(trace, until, event.resource, found);
        }
        let through = references(event, self.labels).into_iter();
        found.conditions.extend(through.map(|(_, place)| Site::Text(place)));
        match event.kind {
            EventKind::Moved | EventKind::Merged | EventKind::Normalised => {}
            EventKind::Removed | EventKind::Deleted | EventKind::Dropped => found.overwrite(),
            // What a program printed is nowhere to be found.
            EventKind::ByFunction | EventKind::Inflated => {
                found.overwrite();
                // Everything that a chart makes may depend on any of its values.
                for cause in &event.causes {
                    let Cause::Inflated { chart } = cause else { continue };
                    let files = chart.values.iter().filter_map(|path| self.file(chart.entry, path));
                    found.conditions.extend(files);
                }
            }
            EventKind::Followed => self.followed(event, found),
            EventKind::Copied => self.copied(event, found),
            EventKind::Hashed => {
                for key in ["data", "binaryData", "stringData", "type"] {
                    let path = [Segment::Key(key.into())];
                    if tree(trace, until, event.resource).is_some_and(|root| at(root, &path).is_some()) {
                        self.add_plain(trace, until, event.resource, &path, found);
                    }
                }
            }
            EventKind::Generated => self.generated(event, found),
            _ => self.set(event, found),
        }
    }

    pub(super) fn set(&self, event: &Event, found: &mut Found) {
        let causes: Vec<&Cause> = event.step.causes(event.resource, event.written).collect();
        let by_patch = |cause: &&Cause| matches!(cause, Cause::Merged { .. } | Cause::Patched { .. });
        let matched = causes.iter().find_map(|cause| match cause {
            Cause::Matched { asked, .. } => Some(*asked),
            _ => None,
        });
        let image = matched.filter(|_| !causes.iter().any(&by_patch));
        if let Some(entry) = image.and_then(|asked| self.entry_with(asked, "name")) {
            let sets =
                |key: &str| entry.get(key).filter(|value| value.text().is_some_and(|text| !text.is_empty()));
            if ["newName", "newTag", "digest", "tagSuffix"].into_iter().any(|key| sets(key).is_some()) {
                return self.image(event, &entry, found);
            }
        }
        let extent = match !causes.iter().any(by_patch) && is_inserted(event.before, event.after) {
            true => Extent::Part,
            false => Extent::Whole,
        };
        if extent == Extent::Whole {
            found.overwrite();
        }
        self.written(event, extent, found);
    }

    /// Adds the text that a value was written by. A text that differs from the value is a condition of it.
    pub(super) fn written(&self, event: &Event, extent: Extent, found: &mut Found) {
        let Some(source) = self.labels.sources.get(event.written.file) else { return };
        let slice = source.slice(event.written);
        if let Some(anchor) = slice.strip_prefix('*') {
            found.conditions.insert(Site::Text(event.written));
            let anchor = self.anchored(event.written, anchor);
            return found.decides.extend(anchor.map(|span| (Site::Text(span), Piece::All)));
        }
        let inside = slice.trim_matches(['"', '\'']);
        let is_value = event.after.and_then(Node::text).is_some_and(|value| {
            let is_folded = slice.starts_with(['|', '>']) || slice.contains(['\n', '\\']);
            is_folded
                || value == inside
                || extent == Extent::Part && !inside.is_empty() && value.contains(inside)
        });
        match is_value {
            true => found.decides.push((Site::Text(event.written), Piece::All)),
            false => found.conditions.extend([Site::Text(event.written)]),
        }
    }

    /// The scalar that an alias stands for.
    pub(super) fn anchored(&self, alias: Span, name: &str) -> Option<Span> {
        let source = self.labels.sources.get(alias.file)?;
        let mark = format!("&{name}");
        let at = source.text()[..alias.start as usize]
            .rmatch_indices(&mark)
            .map(|(at, _)| at)
            .find(|at| source.text()[at + mark.len()..].starts_with([' ', '\n', '\t']))?;
        let mut first: Option<Span> = None;
        for document in self.labels.documents(alias.file).iter() {
            scalars(document, &mut |span| {
                let is_nearer = first.is_none_or(|first| span.start < first.start);
                if span.start as usize >= at && is_nearer {
                    first = Some(span);
                }
            });
        }
        first
    }

    /// An entry of `images:` replaces the name, or the tag and digest, or both.
    pub(super) fn image(&self, event: &Event, entry: &Node, found: &mut Found) {
        let before = event.before.and_then(Node::text).unwrap_or_default();
        let name_length = split_image(before).0.len();
        let mut pieces: Vec<(Site, Piece)> = Vec::new();
        for (site, piece) in std::mem::take(&mut found.decides) {
            let whole = match (&site, piece) {
                (Site::Text(span), Piece::All) => self.labels.sources.get(span.file).and_then(|source| {
                    let offset = source.slice(*span).find(before).filter(|_| !before.is_empty())?;
                    let start = span.start as usize + offset;
                    Some((
                        source.span(start, start + name_length),
                        source.span(start + name_length, start + before.len()),
                    ))
                }),
                _ => None,
            };
            match whole {
                Some((name, tail)) => {
                    pieces.push((Site::Text(name), Piece::Name));
                    if !tail.is_empty() {
                        pieces.push((Site::Text(tail), Piece::Tail));
                    }
                }
                None => pieces.push((site, piece)),
            }
        }
        // Whatever the name is decided by is what the entry has to fit.
        let with_tail = entry
            .get("name")
            .and_then(Node::text)
            .is_some_and(|name| name.contains([':', '@', '*', '?', '(']));
        let of_name = |(_, piece): &&(Site, Piece)| with_tail || *piece != Piece::Tail;
        found.conditions.extend(pieces.iter().filter(of_name).map(|(site, _)| site.clone()));
        let mut replace = |keys: &[&str], what: Piece| {
            let set: Vec<&Node> =
                keys.iter().filter_map(|key| entry.get(key)).filter(|value| !value.is_null()).collect();
            if set.is_empty() {
                return;
            }
            let (kept, gone): (Vec<_>, Vec<_>) = pieces.drain(..).partition(|(_, piece)| *piece != what);
            found.overwritten.extend(gone.into_iter().map(|(site, _)| site));
            pieces = kept;
            pieces.extend(set.into_iter().map(|value| (Site::Text(value.span()), what)));
        };
        replace(&["newName"], Piece::Name);
        replace(&["newTag", "digest"], Piece::Tail);
        if entry.get("newTag").is_none() && entry.get("digest").is_none() {
            pieces.extend(entry.get("tagSuffix").map(|value| (Site::Text(value.span()), Piece::Tail)));
        }
        found.decides = pieces;
    }

    pub(super) fn generated(&self, event: &Event, found: &mut Found) {
        found.overwrite();
        let key = match event.path.last() {
            Some(Segment::Key(key)) if event.path.len() == 2 => Some(key),
            _ => None,
        };
        let input = event.causes.iter().find_map(|cause| match cause {
            Cause::Generated { inputs } => {
                inputs.iter().find(|input| Some(&input.key) == key && input.entry == event.written)
            }
            _ => None,
        });
        let Some(input) = input else { return self.written(event, Extent::Whole, found) };
        let site = match input.kind {
            InputKind::Literal => self.after_key(input.entry, found),
            InputKind::File(_) | InputKind::Env(..) => {
                found.conditions.insert(Site::Text(input.entry));
                input.site(self.labels.sources)
            }
        };
        found.decides.extend(site.map(|site| (site, Piece::All)));
    }

    /// The value of `key=value`; the key is a condition.
    pub(super) fn after_key(&self, literal: Span, found: &mut Found) -> Option<Site> {
        let source = self.labels.sources.get(literal.file)?;
        let slice = source.slice(literal);
        let start = literal.start as usize;
        let quoted = slice.starts_with(['"', '\'']);
        let key = slice.find('=')?;
        let end = start + slice.len() - usize::from(quoted);
        found.conditions.insert(Site::Text(source.span(start, start + key)));
        Some(Site::Text(source.span((start + key + 1).min(end), end)))
    }

    /// A file that an entry names.
    pub(super) fn file(&self, entry: Span, path: &str) -> Option<Site> {
        named_file(self.labels.sources, entry, path).map(Site::File)
    }

    pub(super) fn followed(&self, event: &Event, found: &mut Found) {
        // What is written there says which resource is meant. If that is called so still, it decides the value, too.
        let is_same = event.before.and_then(Node::text) == event.after.and_then(Node::text);
        if !is_same {
            let own = std::mem::take(&mut found.decides);
            found.conditions.extend(own.into_iter().map(|(site, _)| site));
        }
        let is_namespace = matches!(event.path.last(), Some(Segment::Key(key)) if key == "namespace");
        for cause in &event.causes {
            let Cause::Followed { target, rule, .. } = cause else { continue };
            let key = if is_namespace { "namespace" } else { "name" };
            let path = [Segment::Key("metadata".into()), Segment::Key(key.into())];
            let name = self.field(event.trace, event.index, *target, &path, Elements::Without);
            match is_same {
                true => found.conditions.extend(name.all()),
                false => {
                    found.decides.extend(name.decides.iter().cloned());
                    found.conditions.extend(name.conditions.iter().cloned());
                }
            }
            self.identity(event.trace, event.index, *target, found);
            if let Some(source) = self.labels.sources.get(rule.file) {
                found.conditions.insert(Site::File(clean(Path::new(source.name()))));
            }
        }
        let root = event.step.change(event.resource).and_then(|change| change.after.as_ref());
        if let (Some(root), Some((_, above))) = (root, event.path.split_last()) {
            self.keys(event.trace, event.index, event.resource, &root.node, above, found);
        }
    }

    pub(super) fn copied(&self, event: &Event, found: &mut Found) {
        let mut is_part = false;
        let mut sources: Vec<(Track, Cow<str>)> = Vec::new();
        let mut values = Vec::new();
        for cause in &event.causes {
            match cause {
                Cause::Copied { source, entry, path } => {
                    sources.extend(source.as_ref().map(|(track, field)| (*track, field.as_str().into())));
                    let text = |span: Span| {
                        self.labels.sources.get(span.file).map(|source| source.slice(span).to_owned())
                    };
                    is_part |= text(*entry).is_some_and(|text| text.contains("delimiter"));
                    // A path may lead on into a text that is YAML or JSON.
                    let keys =
                        FieldPath::parse(text(*path).unwrap_or_default().trim_matches(['"', '\''])).ok();
                    is_part |= keys.is_some_and(|keys| keys.length() > event.path.len());
                    if source.is_none() {
                        let value =
                            self.with_span(*entry).and_then(|entry| entry.get("sourceValue").cloned());
                        values.extend(value.map(|value| Site::Text(value.span())));
                    }
                }
                Cause::Expanded { source, field, .. } => {
                    sources.push((*source, field.as_str().into()));
                    is_part = true;
                }
                Cause::Patched { operation } => {
                    let from = operation.source_of(&event.path);
                    sources.extend(from.map(|from| (event.resource, from.into())));
                }
                _ => {}
            }
        }
        match is_part {
            // The rest of the text is still what it was.
            true => {
                let own = std::mem::take(&mut found.decides);
                found.conditions.extend(own.into_iter().map(|(site, _)| site));
                found.conditions.extend(values);
            }
            false => {
                found.overwrite();
                found.decides.extend(values.into_iter().map(|site| (site, Piece::All)));
            }
        }
        for (track, field) in sources {
            self.source(event, track, &field, is_part, found);
        }
    }

    /// What the source of a copy depends on.
    pub(super) fn source(&self, event: &Event, track: Track, field: &str, is_part: bool, found: &mut Found) {
        self.identity(event.trace, event.index, track, found);
        let root = tree(event.trace, event.index, track);
        let ways = root.zip(FieldPath::parse(field).ok()).map(|(root, field)| field.ways(root));
        for way in ways.unwrap_or_default() {
            let mut one = Found::default();
            self.add_below(event.trace, event.index, track, &way, &mut one);
            match is_part {
                true => found.conditions.extend(one.decides.into_iter().map(|(site, _)| site)),
                false => found.decides.extend(one.decides),
            }
            found.conditions.extend(one.conditions);
        }
    }
}

impl Input {
    /// The file, or the line of it, that the value was read from; `None` for a literal.
    pub(crate) fn site(&self, sources: &Sources) -> Option<Site> {
        match &self.kind {
            InputKind::Literal => None,
            InputKind::File(path) => named_file(sources, self.entry, path).map(Site::File),
            InputKind::Env(path, line) => {
                named_file(sources, self.entry, path).map(|path| Site::Line(path, *line))
            }
        }
    }
}

/// A file by the path that an entry of another file gives.
fn named_file(sources: &Sources, entry: Span, path: &str) -> Option<PathBuf> {
    let source = sources.get(entry.file)?;
    let folder = Path::new(source.name()).parent().unwrap_or(Path::new(""));
    Some(clean(&folder.join(path)))
}

/// Whether a text is what was there before with something put in front, at the end or in between.
fn is_inserted(before: Option<&Node>, after: Option<&Node>) -> bool {
    let text = |node: Option<&Node>| node.and_then(Node::text).unwrap_or_default().to_owned();
    let (before, after) = (text(before), text(after));
    let shared = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let start = shared(&mut before.bytes(), &mut after.bytes());
    let end = shared(&mut before.bytes().rev(), &mut after.bytes().rev());
    !before.is_empty()
        && before.len() < after.len()
        && (start + end >= before.len() || after.contains(&before))
}
