//! Fixes that take something out of a file.

use krm_yaml::{Fix, Span};

use super::Check;
use super::fix::as_edits;
use crate::edit;
use crate::files::folder::Files;
use crate::workspace::Layer;

/// The layer whose file a span is in.
pub(super) fn layer_of<'a>(cx: &Check<'a>, span: Span) -> Option<&'a Layer> {
    let path = cx.path_of(span)?;
    cx.lint.workspace.layer(path.parent()?).filter(|layer| layer.file == path)
}

/// The fix that removes the entry of a list of a kustomization in which a span begins; the field goes with its last entry.
pub(super) fn without_entry(cx: &Check, span: Span, fix: Fix) -> Option<Fix> {
    let layer = layer_of(cx, span)?;
    // Texts that are only tried need not be kept among those of the run.
    let files = Files::new(cx.lint.world.clone(), krm_yaml::Sources::new());
    let mut file = edit::File::open(&files, &layer.shown).ok()?;
    let source = layer.source.as_ref().filter(|source| source.text() == file.source().text())?;
    if !file.remove_entry_at(span.start) {
        return None;
    }
    Some(as_edits(fix, source, &file.text())).filter(|fix| !fix.edits().is_empty())
}

/// The fix that removes the line of a value, and the lines of the fields that would be left empty, which is all there is to
/// do in block style. `None` of anything else, and of a part that an operation of a JSON patch cannot do without.
pub(super) fn without_line(cx: &Check, span: Span) -> Option<Fix> {
    let source = cx.lint.sources.get(span.file)?;
    let text = source.text();
    let (start, end) = lines_of(text, span)?;
    Some(Fix::needs_review("remove it").replace(source.span(start, end), ""))
}

fn lines_of(text: &str, span: Span) -> Option<(usize, usize)> {
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let says_something = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let of = lines.partition_point(|(at, _)| *at <= span.start as usize).checked_sub(1)?;
    let (line_at, line) = lines[of];
    // The whole of it must be `key: value` and perhaps a comment.
    let value = text.get(span.range())?;
    let (key, rest) = line.split_at(span.start as usize - line_at);
    let after = rest.strip_prefix(value)?.trim();
    let is_key = |key: &str| {
        key.trim_end().ends_with(':') && !key.trim_start().starts_with(['-', '{', '[', '?', '"', '\''])
    };
    if value.contains('\n') || !is_key(key) || !(after.is_empty() || after.starts_with('#')) {
        return None;
    }
    let (mut first, mut last) = (of, of);
    loop {
        let width = indent(lines[first].1);
        let before = lines[..first].iter().rposition(|(_, line)| says_something(line))?;
        let next = lines[last + 1..].iter().map(|(_, line)| *line).find(|line| says_something(line));
        let is_operation = lines[..first]
            .iter()
            .rev()
            .take_while(|(_, line)| indent(line) >= width || line.trim_start().starts_with('-'))
            .chain(lines[last + 1..].iter().take_while(|(_, line)| indent(line) >= width))
            .any(|(_, line)| line.trim_start().trim_start_matches("- ").starts_with("op:"));
        if is_operation {
            return None;
        }
        // A neighbour at the same depth: the map keeps an entry. So does the item whose first key is after a dash.
        let above = lines[before].1;
        let depth_of_key = |line: &str| match line.trim_start().starts_with("- ") {
            true => indent(line) + 2,
            false => indent(line),
        };
        let has_sibling_above = {
            let mut up =
                lines[..first].iter().rev().map(|(_, line)| *line).filter(|line| says_something(line));
            up.find(|line| depth_of_key(line) <= width).is_some_and(|line| depth_of_key(line) == width)
        };
        let has_sibling_below =
            next.is_some_and(|line| indent(line) == width && !line.trim_start().starts_with('-'));
        if has_sibling_above || has_sibling_below {
            let start = lines[first].0;
            let end = lines[last].0 + lines[last].1.len();
            return Some((start, end));
        }
        // The field around it would be empty, and goes too.
        let is_parent = indent(above) < width && is_key(above) && above.trim_end().ends_with(':');
        if !is_parent || indent(above) == 0 && width == 0 {
            return None;
        }
        (first, last) = (before, last);
    }
}

#[cfg(test)]
mod tests {
    use krm_yaml::{FileId, Span};

    use super::lines_of;

    /// The text without the value that is marked.
    fn without(text: &str) -> Option<String> {
        let start = text.find('<')?;
        let end = text.find('>')? - 1;
        let text = text.replace(['<', '>'], "");
        let (from, to) = lines_of(&text, Span::new(FileId::NONE, start, end))?;
        Some(format!("{}{}", &text[..from], &text[to..]))
    }

    #[test]
    fn fields_that_are_left_empty_go_too() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(without("a: 1\nspec:\n  b: <2>\n  c: 3\n"), some("a: 1\nspec:\n  c: 3\n"));
        assert_eq!(without("a: 1\nspec:\n  b: <2> # why\n"), some("a: 1\n"));
        assert_eq!(without("a: 1\nspec:\n  x:\n    b: <2>\nz: 1\n"), some("a: 1\nz: 1\n"));
        assert_eq!(without("l:\n- name: x\n  image: <y>\n"), some("l:\n- name: x\n"));
        assert_eq!(without("l:\n- <x>\n"), None);
        assert_eq!(without("a: {b: <1>}\n"), None);
        assert_eq!(without("- op: replace\n  path: /a\n  value: <1>\n"), None);
    }
}
