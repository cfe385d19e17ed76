//! Two folders of one tree, side by side.

use std::sync::Arc;

use krm_engine::diff::{Change, ChangeKind, Diff, Given, Outcome, Side, Tail, TargetDiff};
use krm_engine::{Result, Session};

use super::columns::Columns;
use super::text::Form;
use super::{Compared, DiffArgs, text};
use crate::commands::build;
use crate::report::columns::{self, padded, width};
use crate::report::{Report, sanitize};

pub fn compare(args: &DiffArgs, from: &str, to: &str, report: &Report) -> Result<Compared> {
    let (disk, options) = build::world_and_options(&args.flags, &[from.to_owned(), to.to_owned()])?;
    let disk = Arc::new(disk);
    let session = Session::new(disk.clone(), report.sources.clone(), options);
    let outcome = |target: &str| match session.trace(target) {
        (Ok(_), trace) => Outcome::Built(trace),
        (Err(error), _) => Outcome::Failed(error.located(&report.sources)),
    };
    let (changed, lock) = Default::default();
    let given = Given { directory: to.to_owned(), from: outcome(from), to: outcome(to), changed, lock };
    let sources = &report.sources;
    let side = |name: &str| Side { name: name.to_owned(), world: &*disk, sources, root: None };
    Ok(Compared::new(&side(from), &side(to), vec![given], &super::options(args)?))
}

/// A row: the field, the value and its place on both sides.
struct Row {
    field: String,
    from: String,
    to: String,
    place: String,
}

/// A table for each resource that differs, in so many columns if the room is limited.
pub fn text(diff: &Diff, Form { full, columns }: Form, room: Option<usize>) -> String {
    let mut out = String::new();
    let mut changes: Vec<&Change> = diff.changes.iter().collect();
    changes.sort_by(|a, b| {
        let key = |change: &Change| (change.resource.clone(), change.field.clone());
        key(a).cmp(&key(b))
    });
    let mut rest = &changes[..];
    let mut as_expected = Vec::new();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|change| change.resource == first.resource).count();
        let (own, others) = rest.split_at(count);
        rest = others;
        if !full && own.iter().all(|change| is_expected(change)) {
            as_expected.push(text::label(first));
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&match columns {
            Some(columns) => beside_each_other(own, diff, columns, full),
            None => table(own, diff, full, room),
        });
    }
    if !as_expected.is_empty() {
        let blank = if out.is_empty() { "" } else { "\n" };
        let verb = if as_expected.len() == 1 { "differs" } else { "differ" };
        let all = as_expected.join(", ");
        out.push_str(&format!("{blank}{all} {verb} by prefix and namespace only (--full)\n"));
    }
    let is_built = |target: &TargetDiff| target.errors.iter().all(Option::is_none);
    if out.is_empty() && diff.targets.iter().all(is_built) {
        out.push_str(&format!("no differences between {} and {}\n", diff.from, diff.to));
    }
    out
}

/// The changes of a resource as they are shown, and how many are not because they are what one expects.
fn shown<'c>(changes: &[&'c Change], full: bool) -> (Vec<&'c Change>, String) {
    let (expected, shown): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| !full && is_expected(change));
    let more = match expected.len() {
        0 => String::new(),
        1 => "  1 more differs by prefix and namespace only (--full)\n".to_owned(),
        more => format!("  {more} more differ by prefix and namespace only (--full)\n"),
    };
    (shown, more)
}

/// The values of both folders in two columns, each below the place it is from.
fn beside_each_other(changes: &[&Change], diff: &Diff, columns: Columns, full: bool) -> String {
    let (shown, more) = shown(changes, full);
    let mut out = format!("{}\n{}", text::label(changes[0]), columns.names(&diff.from, &diff.to));
    for change in shown {
        let at = |tail: &Option<Tail>| tail.as_ref().map(place).unwrap_or_default();
        let field = match change.field.is_empty() {
            true => format!(
                "the resource is in {} only",
                if change.after.is_some() { &diff.to } else { &diff.from }
            ),
            false => sanitize::inert(&change.field).into_owned(),
        };
        out.push_str(&format!("  {field}\n{}", columns.places(&at(&change.from), &at(&change.to))));
        if full || !change.field.is_empty() {
            out.push_str(&columns.change(change, full));
        }
    }
    out + &more
}

fn table(changes: &[&Change], diff: &Diff, full: bool, room: Option<usize>) -> String {
    let name = text::label(changes[0]);
    let (shown, more) = shown(changes, full);
    let mut rows: Vec<Row> = shown.into_iter().map(row).collect();
    rows.insert(0, Row { field: name, from: diff.from.clone(), to: diff.to.clone(), place: String::new() });
    let column = |of: &dyn Fn(&Row) -> &str| rows.iter().map(|row| width(of(row))).max().unwrap_or(0);
    let mut widths = [column(&|r| &r.field), column(&|r| &r.from), column(&|r| &r.to), column(&|r| &r.place)];
    if let Some(room) = room {
        fit(&mut widths, room.saturating_sub(AROUND));
        let short = |text: &str, columns: usize| columns::folded(text, columns, 0..0);
        for row in &mut rows {
            let Row { field, from, to, place } = row;
            (*field, *from) = (short(field, widths[0]), short(from, widths[1]));
            (*to, *place) = (short(to, widths[2]), short(place, widths[3]));
        }
    }
    let [first, second, third, _] = widths;
    let first = first + 2;
    let mut out = String::new();
    for (at, Row { field, from, to, place }) in rows.iter().enumerate() {
        let field = if at == 0 { field.clone() } else { format!("  {field}") };
        let (field, from, to) = (padded(&field, first), padded(from, second), padded(to, third));
        let line = format!("{field}   {from}   {to}   {place}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out + &more
}

/// Before the fields, and between the columns.
const AROUND: usize = 11;

/// Makes the widest columns narrower until all of them fit, as far as there is something left to read.
fn fit(widths: &mut [usize; 4], room: usize) {
    const NARROWEST: usize = 8;
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else { return };
        *widest -= 1;
    }
}

/// What differs by the names of the two folders alone is what one expects.
fn is_expected(change: &Change) -> bool {
    change.derived || change.kind == ChangeKind::Renamed || change.field == "metadata.namespace"
}

fn row(change: &Change) -> Row {
    if change.field.is_empty() {
        let there = |is_there: bool| if is_there { "here" } else { "–" }.to_owned();
        let tail = change.to.as_ref().or(change.from.as_ref());
        return Row {
            field: "the resource".to_owned(),
            from: there(change.before.is_some()),
            to: there(change.after.is_some()),
            place: tail.map(place).unwrap_or_default(),
        };
    }
    let (before, after) = text::values(change);
    // Where only the registry differs, the last parts are the same.
    let (before, after) = match change.field.ends_with(".image") && last_part(&before) != last_part(&after) {
        true => (last_part(&before), last_part(&after)),
        false => (before, after),
    };
    let at = |tail: &Option<Tail>| tail.as_ref().map(place).unwrap_or_default();
    let from = match (change.before.is_some(), at(&change.from)) {
        (true, place) if !place.is_empty() => format!("{before}  {place}"),
        _ => before,
    };
    Row { field: folded(&change.field), from, to: after, place: at(&change.to) }
}

/// `file:line`, with the last folder alone.
fn place(tail: &Tail) -> String {
    let Some(place) = &tail.place else { return tail.label.clone() };
    let mut parts = place.file.rsplit('/');
    let file = parts.next().unwrap_or_default();
    let at = match parts.next() {
        Some(folder) => format!("{folder}/{file}:{}", place.line),
        None => format!("{file}:{}", place.line),
    };
    if tail.event == "by function" { format!("function {file}:{}", place.line) } else { at }
}

/// The last part of an image's name, with its tag.
fn last_part(image: &str) -> String {
    image.rsplit_once('/').map_or_else(|| image.to_owned(), |(_, last)| format!("…/{last}"))
}

/// A long way to a container without what everybody knows.
fn folded(field: &str) -> String {
    match field.strip_prefix("spec.template.spec.") {
        Some(rest) => format!("…{rest}"),
        None => field.to_owned(),
    }
}
