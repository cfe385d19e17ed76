//! Comments that silence a finding: `# krm: ignore[code] reason`, on the line or above it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Fix, Source, Sources, Span};
use rustc_hash::FxHashMap;

use super::tree::Tree;
use crate::files::relative;
use crate::files::world::World;

/// How such a comment begins.
pub(super) const MARK: &str = "krm: ignore[";

/// All comments of a tree that silence something.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    files: FxHashMap<PathBuf, Vec<Comment>>,
}

#[derive(Debug)]
struct Comment {
    /// The lines it counts for: its own, and the next one that is not a comment.
    lines: [usize; 2],
    codes: Vec<Code>,
    has_reason: bool,
}

#[derive(Debug)]
struct Code {
    text: String,
    span: Span,
    /// The whole comment, with the line break where nothing else is on the line: what goes when it is not needed.
    whole: Span,
    is_used: bool,
}

impl Comments {
    pub(crate) fn read(world: &dyn World, sources: &Sources, here: &Path, tree: &Tree) -> Self {
        let marked = tree.files.iter().filter(|(_, facts)| facts.has_silence);
        let files = marked.filter_map(|(path, _)| {
            let source = sources.add_bytes(relative(path, here), world.read(path).ok()?).ok()?;
            Some((path.clone(), in_source(&source)))
        });
        Self { files: files.collect() }
    }

    /// Those of one file.
    pub(crate) fn of(source: &Arc<Source>, path: &Path) -> Self {
        let comments = if source.text().contains(MARK) { in_source(source) } else { Vec::new() };
        Self { files: FxHashMap::from_iter([(path.to_owned(), comments)]) }
    }

    /// Whether a finding on a line of a file is silenced.
    pub(crate) fn silence(&mut self, code: &str, path: &Path, line: usize) -> bool {
        let mut is_silenced = false;
        for comment in self.files.get_mut(path).into_iter().flatten() {
            for named in comment.codes.iter_mut().filter(|named| named.text == code) {
                if comment.lines.contains(&line) {
                    (named.is_used, is_silenced) = (true, true);
                }
            }
        }
        is_silenced
    }

    /// A finding for each that nothing was silenced by, in files of which `is_sure` says that everything was looked at.
    pub(crate) fn unused(&self, strict: bool, is_sure: &dyn Fn(&Path) -> bool) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (path, comment) in
            self.files.iter().flat_map(|(path, all)| all.iter().map(move |one| (path, one)))
        {
            for code in &comment.codes {
                if !code.is_used && is_sure(path) {
                    let finding = unused(&code.text, code.span);
                    found.push(match comment.codes.len() {
                        1 => finding.fix(Fix::safe("remove the comment").replace(code.whole, "")),
                        _ => finding,
                    });
                } else if code.is_used && strict && !comment.has_reason {
                    found.push(without_reason(&code.text, code.span));
                }
            }
        }
        found
    }
}

fn in_source(source: &Arc<Source>) -> Vec<Comment> {
    let mut found = Vec::new();
    let lines: Vec<&str> = source.text().lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(mark) = line.find(MARK) else { continue };
        let before = &line[..mark];
        let Some(hash) = before.rfind('#').filter(|hash| before[hash + 1..].trim().is_empty()) else {
            continue;
        };
        let Some(end) = line[mark..].find(']') else { continue };
        let start = source.line_start(at + 1).unwrap_or_default();
        let is_alone = line[..hash].trim().is_empty();
        let next = lines.iter().enumerate().skip(at + 1).find(|(_, line)| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        let whole = match is_alone {
            true => source.span(start, source.line_start(at + 2).unwrap_or(source.text().len())),
            false => source.span(start + line[..hash].trim_end().len(), start + line.len()),
        };
        let (from, list) = (mark + MARK.len(), &line[mark + MARK.len()..mark + end]);
        let mut offset = from;
        let mut codes = Vec::new();
        for part in list.split(',') {
            let lead = part.len() - part.trim_start().len();
            let text = part.trim().to_owned();
            let begin = start + offset + lead;
            codes.push(Code { span: source.span(begin, begin + text.len()), text, whole, is_used: false });
            offset += part.len() + 1;
        }
        let lines = [at + 1, if is_alone { next.map_or(0, |(at, _)| at + 1) } else { 0 }];
        found.push(Comment { lines, codes, has_reason: !line[mark + end + 1..].trim().is_empty() });
    }
    found
}

pub(super) fn unused(code: &str, span: Span) -> Diagnostic {
    let message = format!("`{code}` is silenced here, but not found");
    let unused = Diagnostic::warning("silence-unused", message).failing(Failure::Unnecessary).at(span);
    match super::rules::nearest_of_unknown(code) {
        Some(near) => unused.help(format!("did you mean `{near}`?")),
        None => unused.help("remove it, so that it hides nothing later"),
    }
}

pub(super) fn without_reason(code: &str, span: Span) -> Diagnostic {
    let message = format!("`{code}` is silenced without a reason");
    Diagnostic::warning("silence-without-reason", message)
        .at(span)
        .help("say why, after the `]` or as `reason`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_count_for_their_line_and_the_next() {
        let sources = Sources::new();
        let source =
            sources.add("a.yaml", "# krm: ignore[a, b] because\n# more\nx: 1\ny: 2 # krm: ignore[c]\n");
        let found = in_source(&source);
        let codes: Vec<&str> =
            found.iter().flat_map(|one| &one.codes).map(|code| code.text.as_str()).collect();
        assert_eq!(codes, ["a", "b", "c"]);
        assert_eq!((found[0].lines, found[1].lines), ([1, 3], [4, 0]));
        assert!(found[0].has_reason && !found[1].has_reason);
        assert_eq!(source.slice(found[0].codes[1].span), "b");
        assert_eq!(source.slice(found[1].codes[0].whole), " # krm: ignore[c]");
    }
}
