//! Differences as text for people: by cause, each change once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use krm_engine::Node;
use krm_engine::diff::lines::unified;
use krm_engine::diff::{
    Cause, Change, ChangeKind, Diff, Differing, Location, Own, Restart, Status, TargetDiff, alike, ending,
};
use krm_engine::explain::text::value;
use krm_function::elements::inferred_key;
use rustc_hash::{FxHashMap, FxHashSet};

use super::columns::Columns;
use super::count;
use crate::report::columns::{padded, width};
use crate::report::sanitize;

/// The columns: where a cause is, the resource, its field, its values.
const PLACE: usize = 32;
const RESOURCE: usize = 22;
const FIELD: usize = 33;
const VALUES: usize = 26;
/// Longer values are shown by their beginning and end, unless everything is asked for.
const LONGEST: usize = 400;

/// How differences are shown.
#[derive(Clone, Copy)]
pub struct Form {
    /// Nothing is shortened.
    pub full: bool,
    /// Values are beside each other.
    pub columns: Option<Columns>,
}

/// What is shown, and how.
struct Shown<'d> {
    diff: &'d Diff,
    names: Vec<String>,
    form: Form,
}

pub fn diff(diff: &Diff, form: Form) -> String {
    let folded = if form.full { None } else { Some(diff.folded()) };
    let diff = folded.as_ref().unwrap_or(diff);
    let mut out = summary(diff);
    let shown = Shown { diff, names: short_names(diff), form };
    let names = &shown.names;
    if let Some(columns) = form.columns.filter(|_| diff.differs()) {
        out.push_str(&columns.names(&diff.from, &diff.to));
    }
    let aligned: Vec<bool> = diff.causes.iter().map(|cause| width(&heading(cause)) < PLACE - 2).collect();
    let before = |cause: &Cause| width(cause.before.as_deref().unwrap_or_default());
    let of_lines = diff.causes.iter().zip(&aligned).filter(|(_, aligned)| **aligned);
    let of_lines = of_lines.map(|(cause, _)| before(cause)).filter(|width| *width <= 48).max().unwrap_or(0);
    for (cause, aligned) in diff.causes.iter().zip(aligned) {
        out.push('\n');
        out.push_str(&match form.columns {
            Some(columns) => cause_rows(cause, columns),
            None => cause_line(cause, aligned, of_lines),
        });
        out.push_str(&shown.changes(&cause.changes));
    }
    out.push_str(&images(diff, names, form.full));
    out.push_str(&flags(diff, names, form.full));
    out.push_str(&failures(diff));
    if diff.ignored > 0 {
        let _ = writeln!(out, "\n{} left out (--ignore)", counted(diff.ignored, "difference", "differences"));
    }
    out
}

/// What happened, in a line.
pub fn summary(diff: &Diff) -> String {
    let changed = count(diff, Status::Changed);
    let (added, removed, failed) =
        (count(diff, Status::Added), count(diff, Status::Removed), count(diff, Status::Failed));
    let total = diff.targets.len();
    if changed + added + removed + failed == 0 {
        let overlays = counted(total, "overlay", "overlays");
        return format!("no differences between {} and {} ({overlays})\n", diff.from, diff.to);
    }
    let mut parts = Vec::new();
    if failed > 0 {
        parts.push(format!("{failed} of {} cannot be built", counted(total, "overlay", "overlays")));
    }
    if changed > 0 || added + removed + failed == 0 {
        let verb = if changed == 1 { "overlay changes" } else { "overlays change" };
        parts.push(format!("{changed} {verb} (of {total})"));
    }
    for (number, word) in [(added, "new"), (removed, "gone")] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    if changed + added + removed == 0 {
        let others = if failed == total { "" } else { "; the others do not change" };
        return format!("{}{others}.\n", parts.join(", "));
    }
    let resources: usize = diff.targets.iter().map(|target| target.resources).sum();
    let head = match diff.overlays {
        true => format!("{} and {} differ", diff.from, diff.to),
        false => parts.join(", "),
    };
    let mut line = format!(
        "{head}: {}, {}.",
        counted(resources, "resource", "resources"),
        counted(diff.causes.len(), "cause", "causes")
    );
    if !diff.restarts.is_empty() {
        // Several kinds may have the same name.
        let is_unclear = |restart: &Restart| {
            diff.restarts.iter().any(|other| other.name == restart.name && other.kind != restart.kind)
        };
        let each = |restart: &Restart| {
            let kind = if is_unclear(restart) { format!("{} ", restart.kind) } else { String::new() };
            format!("{kind}{} ({})", one_line(&restart.name), restart.targets)
        };
        const MOST: usize = 12;
        let all: Vec<String> = diff.restarts.iter().take(MOST).map(each).collect();
        let more = diff.restarts.len() - all.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let _ = write!(line, " Pods restart: {}{more}.", all.join(", "));
    }
    line.push('\n');
    line
}

pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `file:line`.
pub fn place(place: &Location) -> String {
    format!("{}:{}", one_line(&place.file), place.line)
}

/// A name that others chose, in one line.
pub fn one_line(text: &str) -> String {
    sanitize::inert(text).replace(['\n', '\t'], "\u{fffd}")
}

/// What targets are called for short, each in one line.
pub fn short_names(diff: &Diff) -> Vec<String> {
    diff.short_names().iter().map(|name| one_line(name)).collect()
}

/// Where a cause is, and what it is in words.
pub fn heading(cause: &Cause) -> String {
    let parts = [cause.place.as_ref().map(place), cause.what.as_deref().map(one_line)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("   ")
}

fn cause_line(cause: &Cause, aligned: bool, width: usize) -> String {
    let place = heading(cause);
    let (before, after) = lines(cause);
    let lead = if aligned { padded(&place, PLACE) } else { format!("{place}   ") };
    let line = match (before, after) {
        // Words say it better than the lines.
        _ if cause.what.is_some() => lead,
        (Some(before), Some(after)) if aligned => format!("{lead}{}   →   {after}", padded(&before, width)),
        (Some(before), Some(after)) => format!("{lead}{before}   →   {after}"),
        (Some(before), None) => format!("{lead}removed   {before}"),
        (None, Some(after)) => format!("{lead}added   {after}"),
        (None, None) => lead,
    };
    format!("{}{}\n", line.trim_end(), and_in(cause))
}

/// The same with both lines beside each other.
fn cause_rows(cause: &Cause, columns: Columns) -> String {
    let head = format!("{}{}\n", heading(cause), and_in(cause));
    match (cause.what.is_some(), lines(cause)) {
        (true, _) => head,
        (false, (before, after)) => head + &columns.row(before.as_deref(), after.as_deref()),
    }
}

/// Where else the same edit is.
pub fn and_in(cause: &Cause) -> String {
    let own = cause.place.as_ref().map(|place| place.file.as_str());
    let (here, elsewhere): (Vec<&Location>, Vec<&Location>) =
        cause.also.iter().partition(|place| Some(place.file.as_str()) == own);
    const MOST: usize = 3;
    let mut parts = Vec::new();
    if cause.more == 0 && (1..=MOST).contains(&here.len()) {
        let lines: Vec<String> = here.iter().map(|place| place.line.to_string()).collect();
        parts.push(format!("line{} {}", if lines.len() == 1 { "" } else { "s" }, lines.join(", ")));
    } else if cause.more + here.len() > 0 {
        parts.push(counted(cause.more + here.len(), "more line", "more lines"));
    }
    match elsewhere[..] {
        [] => {}
        [one] => parts.push(place(one)),
        _ => parts.push(counted(elsewhere.len(), "more file", "more files")),
    }
    if parts.is_empty() { String::new() } else { format!("   (and in {})", parts.join(" and ")) }
}

/// The line that is the cause, as it was and as it is.
fn lines(cause: &Cause) -> (Option<String>, Option<String>) {
    let inert = |text: &String| sanitize::inert(text).into_owned();
    (cause.before.as_ref().map(inert), cause.after.as_ref().map(inert))
}

impl Shown<'_> {
    /// The changes of a cause; what follows from one is below it.
    fn changes(&self, all: &[usize]) -> String {
        let all: Vec<&Change> = all.iter().map(|id| &self.diff.changes[*id]).collect();
        if let Some(whole) = self.whole(&all) {
            return whole;
        }
        let mut by_cause: FxHashMap<usize, Vec<&Change>> = FxHashMap::default();
        for change in &all {
            by_cause.entry(change.follows.unwrap_or(usize::MAX)).or_default().push(change);
        }
        let resource = all.iter().map(|change| width(&label(change)) + 2).max().unwrap_or(0).max(RESOURCE);
        let mut out = String::new();
        let roots: Vec<&Change> = all.iter().filter(|change| change.follows.is_none()).copied().collect();
        let mut shown: Vec<bool> = vec![false; roots.len()];
        let mut groups: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        roots.iter().enumerate().for_each(|(at, change)| groups.entry(sort(change)).or_default().push(at));
        for at in 0..roots.len() {
            if shown[at] {
                continue;
            }
            // The same change of many resources is shown once: a namespace, a label, a prefix.
            let alike = groups.remove(&sort(roots[at])).unwrap_or_else(|| vec![at]);
            // A namespace is that of everything, however little that is.
            let most = if roots[at].field == "metadata.namespace" { 1 } else { 3 };
            match alike.len() > most && !self.form.full {
                true => {
                    let many: Vec<&Change> = alike.iter().map(|other| roots[*other]).collect();
                    alike.iter().for_each(|other| shown[*other] = true);
                    out.push_str(&self.folded(&many, resource));
                    let all_follow: Vec<&Change> =
                        many.iter().flat_map(|change| followers(change, &by_cause)).collect();
                    out.push_str(&follow(&all_follow));
                }
                false => {
                    shown[at] = true;
                    out.push_str(&self.line(roots[at], values(roots[at]), &label(roots[at]), resource));
                    out.push_str(&follow(&followers(roots[at], &by_cause)));
                }
            }
        }
        out
    }

    /// What is in an overlay that is new or gone: the cause names it, so it is enough to say what it holds.
    fn whole(&self, all: &[&Change]) -> Option<String> {
        const MOST: usize = 6;
        let is_whole = |change: &&Change| {
            let status = |at: &usize| self.diff.targets[*at].status;
            change.targets.iter().all(|at| matches!(status(at), Status::Added | Status::Removed))
        };
        if self.form.full || self.form.columns.is_some() || all.is_empty() || !all.iter().all(is_whole) {
            return None;
        }
        let labels = match all.len() <= MOST {
            true => all.iter().map(|change| label(change)).collect(),
            false => kinds(all),
        };
        let more = if all.len() <= MOST { "" } else { " (--full)" };
        Some(format!("  {}: {}{more}\n", counted(all.len(), "resource", "resources"), labels.join(", ")))
    }

    fn folded(&self, many: &[&Change], width: usize) -> String {
        let shown = alike(many.iter().flat_map(|change| pairs(change))).unwrap_or_else(|| values(many[0]));
        let mut out = self.line(many[0], shown, &counted(many.len(), "resource", "resources"), width);
        let labels: Vec<String> = many.iter().map(|change| label(change)).collect();
        const MOST: usize = 6;
        let more = labels.len().saturating_sub(MOST);
        let shown = labels[..labels.len().min(MOST)].join(", ");
        let more = if more == 0 { String::new() } else { format!(" and {more} more (--full)") };
        let _ = writeln!(out, "    {shown}{more}");
        out
    }

    fn line(&self, change: &Change, shown: (String, String), label: &str, resource: usize) -> String {
        let Form { full, columns } = self.form;
        let targets = match full {
            true => list(&change.targets, &self.names),
            false => targets(&change.targets, self.diff, &self.names),
        };
        let label = padded(label, resource);
        let field = match change.field.is_empty() {
            true => change.kind.name().to_owned(),
            false => sanitize::inert(&change.field).into_owned(),
        };
        // Of values beside each other, the overlays are above the right one.
        let column = columns.map_or(FIELD + VALUES, |columns| columns.middle().saturating_sub(2 + resource));
        let head = match width(&field) + 2 <= column {
            true => format!("  {label}{}{targets}", padded(&field, column)),
            false => format!("  {label}{field}  {targets}"),
        };
        let mut out = format!("{}\n", head.trim_end());
        match columns {
            // All of a resource that comes or goes is much, and rarely what people look for.
            _ if change.field.is_empty() && (columns.is_none() || !full) => return out,
            Some(columns) => return out + &columns.change(change, full),
            None => {}
        }
        let guessed = similar(change);
        let (before, after) = shown;
        let hidden = if change.masked && before == after { " (changed)" } else { "" };
        let pair = format!("{before} → {after}{hidden}{guessed}");
        if width(&field) <= FIELD - 2 && width(&pair) <= VALUES - 2 {
            let line = format!("  {label}{}{}{targets}", padded(&field, FIELD), padded(&pair, VALUES));
            return format!("{}\n", line.trim_end());
        }
        if !change.masked
            && let Some(lines) = changed_lines(change, full)
        {
            out.push_str(&lines);
            return out;
        }
        for (sign, node, text) in [('-', &change.before, before), ('+', &change.after, after)] {
            if node.is_some() {
                let text = if full { text } else { shortened(&text) };
                let guessed = if sign == '+' { guessed } else { "" };
                let _ = writeln!(out, "    {sign} {text}{guessed}");
            }
        }
        out
    }
}

/// What is the same in changes of several resources that are shown once.
fn sort(change: &Change) -> (ChangeKind, &str, &[usize], bool, String, usize) {
    let Change { kind, field, targets, masked, .. } = change;
    let text = |node: &Option<Node>| node.as_ref().map(krm_yaml::json::compact).unwrap_or_default();
    let mut parts: Vec<String> = pairs(change)
        .iter()
        .map(|(before, after)| Differing::of(before, after))
        .map(|part| format!("{}\0{}", part.before, part.after))
        .collect();
    parts.dedup();
    if parts.len() != 1 {
        parts = vec![text(&change.before), text(&change.after)];
    }
    // What comes or goes is not the same as anything else.
    let own = if field.is_empty() { change.id + 1 } else { 0 };
    (*kind, field, targets, *masked, parts.join("\0"), own)
}

/// The values of a change in each overlay, if all are texts in a line.
fn pairs(change: &Change) -> Vec<(&str, &str)> {
    fn line(node: &Option<Node>) -> Option<&str> {
        node.as_ref().and_then(Node::as_str).filter(|text| !text.contains('\n'))
    }
    let own = change.own.iter().map(|own| line(&own.before).zip(line(&own.after)));
    own.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// A resource as people call it.
pub fn label(change: &Change) -> String {
    sanitize::inert(&format!("{} {}", change.resource.kind, change.resource.name)).into_owned()
}

/// How many resources of each kind there are, in the order of the kinds: `2 Deployment`.
fn kinds(changes: &[&Change]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    changes.iter().for_each(|change| *counts.entry(&change.resource.kind).or_default() += 1);
    counts.iter().map(|(kind, count)| format!("{count} {}", sanitize::inert(kind))).collect()
}

/// Says that two resources are taken for one because they are alike.
pub fn similar(change: &Change) -> &'static str {
    if change.guessed && change.kind == ChangeKind::Renamed { " (similar)" } else { "" }
}

/// Whether overlays have values of their own.
pub fn is_own(change: &Change) -> bool {
    let differs = |own: &Own| (&own.before, &own.after) != (&change.before, &change.after);
    change.own.iter().any(differs)
}

/// The two values as text.
pub fn values(change: &Change) -> (String, String) {
    if let (ChangeKind::Moved, Some(before), Some(after)) = (change.kind, &change.before, &change.after) {
        let key = inferred_key(&[before.items(), after.items()]);
        return (order(before, key), order(after, key));
    }
    // Names that end in the same hash in every overlay, and begin otherwise.
    let several = is_own(change);
    if several
        && !change.elided
        && let Some((before, after)) = alike(pairs(change))
    {
        return (sanitize::inert(&before).into_owned(), sanitize::inert(&after).into_owned());
    }
    let is_ending = change.elided && several;
    let shown = |node: &Option<Node>| match node.as_ref().map(inline) {
        None => "–".to_owned(),
        Some(name) if is_ending => ending(&name),
        Some(value) => value,
    };
    (shown(&change.before), shown(&change.after))
}

/// A value in a line: of a map every scalar with the way to it, of a list its elements.
fn inline(node: &Node) -> String {
    let scalars = node.items().iter().all(Node::is_scalar);
    if node.is_seq() && scalars {
        return format!("[{}]", node.items().iter().map(value).collect::<Vec<_>>().join(", "));
    }
    let mut leaves = Vec::new();
    match node.is_map() && !node.is_empty() && flatten(node, &mut String::new(), &mut leaves) {
        true => leaves.join(", "),
        false => value(node),
    }
}

/// Every scalar of a map; false if a list is in the way.
fn flatten(node: &Node, path: &mut String, leaves: &mut Vec<String>) -> bool {
    let Some(map) = node.as_map().filter(|map| !map.is_empty()) else {
        leaves.push(format!("{path} {}", inline(node)));
        return node.is_scalar() || node.items().iter().all(Node::is_scalar);
    };
    map.iter().all(|entry| {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(entry.key.text().unwrap_or_default());
        let flat = flatten(&entry.value, path, leaves);
        path.truncate(length);
        flat
    })
}

/// The elements of a list, each by the key that tells it from the others, or else in full.
fn order(list: &Node, key: Option<&str>) -> String {
    let name = |element: &Node| value(key.and_then(|key| element.get(key)).unwrap_or(element));
    format!("[{}]", list.items().iter().map(name).collect::<Vec<_>>().join(", "))
}

/// Of texts over several lines those that differ.
fn changed_lines(change: &Change, full: bool) -> Option<String> {
    const MOST: usize = 12;
    let text = |node: &Option<Node>| node.as_ref().and_then(Node::text).map(str::to_owned);
    let (before, after) = (text(&change.before)?, text(&change.after)?);
    if !before.trim_end().contains('\n') && !after.trim_end().contains('\n') {
        return None;
    }
    let difference = unified(&before, &after, 0);
    let lines = difference.lines().filter(|line| !line.starts_with("@@") && !line.starts_with('\\'));
    let lines: Vec<String> = lines
        .map(|line| {
            let (sign, rest) = line.split_at(1);
            format!("    {sign} {}\n", shortened(&sanitize::inert(rest)))
        })
        .collect();
    let most = if full { lines.len() } else { MOST };
    let more = lines.len().saturating_sub(most);
    let mut out: String = lines.into_iter().take(most).collect();
    if more > 0 {
        let _ = writeln!(out, "    … {} (--full)", counted(more, "more line", "more lines"));
    }
    Some(out)
}

/// A long text by its beginning and its end.
fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONGEST * 2 / 3).collect();
    let tail: String = text.chars().skip(length - LONGEST / 4).collect();
    format!("{head} … {tail}")
}

/// The changes that follow from one, directly or by way of others.
fn followers<'c>(change: &Change, followers: &FxHashMap<usize, Vec<&'c Change>>) -> Vec<&'c Change> {
    let mut found: Vec<&Change> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut open = vec![change.id];
    while let Some(id) = open.pop() {
        for follower in followers.get(&id).into_iter().flatten().filter(|other| seen.insert(other.id)) {
            open.push(follower.id);
            found.push(follower);
        }
    }
    found.sort_by_key(|change| change.id);
    found
}

/// What follows from a change, in a line.
fn follow(all: &[&Change]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut parts = Vec::new();
    let renamed: Vec<&&Change> = all.iter().filter(|change| change.kind == ChangeKind::Renamed).collect();
    let names = |change: &&&Change| -> Vec<String> {
        if !change.elided {
            let (before, after) = values(change);
            return vec![format!("{before} → {after}")];
        }
        let end = |node: &Option<Node>| ending(node.as_ref().and_then(Node::text).unwrap_or_default());
        change.own.iter().map(|own| format!("{} → {}", end(&own.before), end(&own.after))).collect()
    };
    let mut seen = FxHashSet::default();
    let names: Vec<String> = renamed.iter().flat_map(names).collect();
    let names: Vec<&String> = names.iter().filter(|name| seen.insert(*name)).collect();
    // What each overlay adds makes another hash of it.
    parts.extend(names.iter().take(3).map(|name| format!("name {name}")));
    if names.len() > 3 {
        parts.push(counted(names.len() - 3, "more name", "more names"));
    }
    let references: Vec<&&Change> = all.iter().filter(|change| change.kind != ChangeKind::Renamed).collect();
    if !references.is_empty() {
        let mut users: Vec<String> = references.iter().map(|change| label(change)).collect();
        users.sort();
        users.dedup();
        const MOST: usize = 6;
        let more = users.len().saturating_sub(MOST);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let users = users[..users.len().min(MOST)].join(", ");
        let mut fields: Vec<(&str, &str, &str)> = references
            .iter()
            .map(|change| (&*change.resource.kind, &*change.resource.name, &*change.field))
            .collect();
        fields.sort_unstable();
        fields.dedup();
        let each = if references.iter().any(|change| change.targets.len() > 1) { " each" } else { "" };
        parts.push(format!("{}{each} ({users}{more})", counted(fields.len(), "reference", "references")));
    }
    format!("    and follows: {}\n", parts.join("; "))
}

/// The targets of a change in short: by name if they are few, or else how many and which not.
pub fn targets(of: &[usize], diff: &Diff, names: &[String]) -> String {
    const MOST: usize = 6;
    let compared: Vec<usize> = diff
        .targets
        .iter()
        .enumerate()
        // Of one that cannot be built nobody knows.
        .filter(|(_, target)| !matches!(target.status, Status::Same | Status::Failed))
        .map(|(at, _)| at)
        .collect();
    if of.len() <= MOST {
        return list(of, names);
    }
    let mut of = of.to_vec();
    of.sort_unstable();
    let missing: Vec<usize> = compared.iter().filter(|at| !of.contains(at)).copied().collect();
    let failed = super::count(diff, Status::Failed);
    let but = if failed == 0 { String::new() } else { format!(", {failed} cannot be built") };
    let head = format!("{} of {} overlays{but}", of.len(), diff.targets.len());
    match missing.len() {
        0 if failed > 0 && of.len() + failed == diff.targets.len() => head,
        0 if of.len() == diff.targets.len() => format!("all {} overlays", of.len()),
        1..=3 => format!("{head}; not in {}", list(&missing, names)),
        _ => format!("{head}: {} …", list(&of[..3], names)),
    }
}

/// Some targets by name.
fn list(of: &[usize], names: &[String]) -> String {
    let mut of = of.to_vec();
    of.sort_unstable();
    of.iter().map(|at| names[*at].as_str()).collect::<Vec<_>>().join(", ")
}

fn images(diff: &Diff, names: &[String], full: bool) -> String {
    if diff.images.is_empty() {
        return String::new();
    }
    const MOST: usize = 30;
    let most = if full { diff.images.len() } else { MOST.min(diff.images.len()) };
    let column = diff.images.iter().map(|image| width(&image.name)).max().unwrap_or(0);
    let mut out = String::from("\n");
    for (at, image) in diff.images[..most].iter().enumerate() {
        let lead = if at == 0 { "images" } else { "" };
        let name = match image.name.is_empty() {
            true => String::new(),
            false => format!("{}  ", padded(&one_line(&image.name), column)),
        };
        let targets = targets(&image.targets, diff, names);
        let or_none = |tag: &str| if tag.is_empty() { "no tag".to_owned() } else { one_line(tag) };
        let _ = writeln!(
            out,
            "{lead:<6}   {name}{} → {}  ({targets})",
            or_none(&image.before),
            or_none(&image.after)
        );
    }
    if most < diff.images.len() {
        let _ = writeln!(out, "         and {} more (--full)", diff.images.len() - most);
    }
    out
}

fn flags(diff: &Diff, names: &[String], full: bool) -> String {
    /// How many that differ only by the resource are shown.
    const MOST: usize = 3;
    let (mut lines, mut seen) = (Vec::new(), FxHashSet::default());
    let mut alike: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for flag in diff.warnings() {
        let of = &diff.changes[flag.change].targets;
        let at = flag.place.as_ref().map(|at| format!("{}   ", place(at))).unwrap_or_default();
        let line = format!("! {at}{} ({})\n", sanitize::inert(&flag.message), targets(of, diff, names));
        if !seen.insert(line.clone()) {
            continue;
        }
        alike.entry((flag.rule, flag.place.as_ref(), of)).or_default().push(lines.len());
        lines.push(line);
    }
    for (_, same) in alike.iter().filter(|(_, same)| !full && same.len() > MOST) {
        let more = counted(same.len() - MOST, "more like it", "more like these");
        lines[same[MOST]] = format!("!   and {more} (--full)\n");
        same[MOST + 1..].iter().for_each(|at| lines[*at].clear());
    }
    if lines.is_empty() { String::new() } else { format!("\n{}", lines.concat()) }
}

/// The targets that cannot be compared; why is said on standard error.
fn failures(diff: &Diff) -> String {
    let failed = diff.targets.iter().filter(|target| target.status == Status::Failed);
    let line = |target: &TargetDiff| {
        let side = match &target.errors {
            [Some(a), Some(b)] if a.message() == b.message() => "fails on both sides alike".to_owned(),
            [Some(_), Some(_)] => "fails on both sides".to_owned(),
            [Some(_), None] if !target.there[1] => {
                format!("failed in {}, and is not in {}", diff.from, diff.to)
            }
            [Some(_), None] => format!("failed in {}, and builds in {}", diff.from, diff.to),
            _ if !target.there[0] => format!("fails in {}, and is not in {}", diff.to, diff.from),
            _ => format!("fails in {}, and built in {}", diff.to, diff.from),
        };
        format!("{}   {side}\n", one_line(&target.directory))
    };
    let lines: String = failed.map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// How much differs, target by target.
pub fn stat(diff: &Diff) -> String {
    let changed: Vec<&TargetDiff> =
        diff.targets.iter().filter(|target| target.status != Status::Same).collect();
    let column = changed.iter().map(|target| width(&one_line(&target.directory))).max().unwrap_or(0);
    let line = |target: &&TargetDiff| {
        let head = format!("{}   ", padded(&one_line(&target.directory), column));
        let resources = counted(target.resources, "resource", "resources");
        match target.status {
            Status::Failed => format!("{head}fails\n"),
            Status::Added => format!("{head}{resources}   new\n"),
            Status::Removed => format!("{head}{resources}   gone\n"),
            _ => {
                let mut line = format!("{head}{resources}");
                if target.whole > 0 {
                    let _ = write!(line, "   {} added or removed", target.whole);
                }
                if target.fields > 0 {
                    let _ = write!(line, "   {}", counted(target.fields, "field", "fields"));
                }
                if target.follow > 0 {
                    let _ = write!(line, "   {} more follow", target.follow);
                }
                line + "\n"
            }
        }
    };
    changed.iter().map(line).collect()
}
