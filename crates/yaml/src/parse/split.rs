//! Long streams, read on several cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem;
use rayon::prelude::*;

use super::cursor::Parser;
use super::options::DuplicateKeys;
use super::stream::Documents;
use crate::diag::{Diagnostic, Result};
use crate::document::Document;
use crate::source::Source;

/// Streams shorter than this are not worth waking another core for.
const PARALLEL_FROM: usize = if cfg!(test) { 4 << 10 } else { 128 << 10 };

/// The fewest documents worth giving to a core.
const AT_ONCE: usize = 16;

pub(crate) fn parse(source: &Arc<Source>, duplicate_keys: DuplicateKeys) -> Result<Vec<Document>> {
    let text = source.text();
    let starts = if text.len() < PARALLEL_FROM { Vec::new() } else { starts(text) };
    if starts.len() < 2 {
        return Documents::of(source, duplicate_keys).collect();
    }
    let cut_wrong = AtomicBool::new(false);
    let read: Vec<Result<Document>> = (0..starts.len())
        .into_par_iter()
        .with_min_len(AT_ONCE)
        .map_init(
            || Parser::new(source, 0..0, duplicate_keys),
            |parser, at| {
                let end = starts.get(at + 1).map_or(text.len(), |next| *next);
                let parser = parser.as_mut().map_err(|error| error.clone())?;
                parser.only_document(starts[at]..end, &cut_wrong)
            },
        )
        .collect();
    if cut_wrong.into_inner() {
        return Documents::of(source, duplicate_keys).collect();
    }
    // In order, so that the first error of the text is the one reported.
    read.into_iter().collect()
}

/// Where documents begin that can be read by themselves: in front of lines `---`, since at the beginning of a line
/// nothing but a document begins so. Nothing if documents depend on more than that.
fn starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let starts_odd = matches!(bytes.first(), Some(b'%' | b'.'));
    if starts_odd || memmem::find(bytes, b"\n%").is_some() || memmem::find(bytes, b"\n...").is_some() {
        return Vec::new();
    }
    let mut starts = vec![0];
    for newline in memmem::find_iter(bytes, b"\n---") {
        let start = newline + 1;
        let is_marker = matches!(bytes.get(start + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        // Comments in front of the first `---` are not a document.
        let is_first = starts.len() == 1 && text[..start].lines().all(is_blank_or_comment);
        if is_marker && !is_first {
            starts.push(start);
        }
    }
    starts
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim_start_matches(['\u{feff}', ' ', '\t', '\r']);
    line.is_empty() || line.starts_with('#')
}

impl Parser<'_> {
    /// Reads the one document that is in a range of the text. Says so if there turn out to be more.
    fn only_document(&mut self, range: std::ops::Range<usize>, cut_wrong: &AtomicBool) -> Result<Document> {
        let start = range.start;
        self.restart(range)?;
        let source = self.source;
        let read = self.document(source, start, false);
        if !self.at_end() && read.as_ref().is_some_and(Result::is_ok) {
            if !self.at_marker() {
                return Err(self.not_a_document(self.pos));
            }
            cut_wrong.store(true, Ordering::Relaxed);
        }
        read.unwrap_or_else(|| Err(Diagnostic::error("yaml-document", "expected a document")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::preserve;

    /// Reads a text on several cores and one after the other, and compares.
    fn both_ways(text: String) -> Result<Vec<Document>> {
        assert!(text.len() > PARALLEL_FROM);
        let source = Source::detached("t", text);
        let (all, one_by_one) =
            (parse(&source, DuplicateKeys::Refuse), Documents::of(&source, DuplicateKeys::Refuse).collect());
        match (&all, &one_by_one) {
            (Ok(all), Ok(one_by_one)) => {
                let one_by_one: &Vec<Document> = one_by_one;
                assert_eq!(all.len(), one_by_one.len());
                for (a, b) in all.iter().zip(one_by_one) {
                    assert_eq!(
                        (&a.root, a.span(), a.head(), a.foot()),
                        (&b.root, b.span(), b.head(), b.foot())
                    );
                }
                assert_eq!(preserve::stream(all), source.text());
            }
            (Err(a), Err(b)) => assert_eq!((a.code(), a.place()), (b.code(), b.place())),
            (a, b) => panic!("{:?} and {:?}", a.as_ref().err(), b.as_ref().err()),
        }
        all
    }

    fn many(document: &str) -> String {
        document.repeat(PARALLEL_FROM / document.len() + 10)
    }

    #[test]
    fn long_streams_read_as_short_ones_do() {
        let count = |text: String| both_ways(text).expect("the text is fine").len();
        let one = "---\na: 1 # one\nb: |\n  ---\n  x\n# foot\n\n";
        let n = many(one).len() / one.len();
        assert_eq!(count(many(one)), n);
        assert_eq!(count(format!("# head\n\n{}", many(one))), n);
        assert_eq!(count(format!("a: first\n{}", many(one))), n + 1);
        assert_eq!(count(format!("\u{feff}{}---", many(one))), n + 1);
        assert_eq!(count(format!("{}---\r\nlast: 1\r\n", many(one))), n + 1);
        assert_eq!(count(format!("{}...\n{}", many(one), many(one))), 2 * n);
        let odd = "---\na: 1\r---\rb: 2\n";
        assert_eq!(count(many(odd)), 2 * many(odd).len() / odd.len());
        assert_eq!(count(format!("%YAML 1.1\n{}", many(one))), n);
        let apart = "a: &x 1\n\n\n\nb: *x\n---\n";
        assert_eq!(count(many(apart)), many(apart).len() / apart.len() + 1);
    }

    #[test]
    fn the_first_error_is_reported() {
        let one = "---\na: 1\n";
        let error = |middle: &str| {
            let text = format!("{}{middle}{}---\n}}\n", many(one), many(one));
            both_ways(text).expect_err("the text is wrong").code()
        };
        assert_eq!(error("---\na: [\n"), "yaml-unclosed-bracket");
        assert_eq!(error("---\na: \"x\n"), "yaml-unclosed-quote");
        assert_eq!(error("---\na: *x\n"), "yaml-unknown-anchor");
        assert_eq!(error("---\n[a]\nb\n"), "yaml-document");
        assert_eq!(error("---\na: \u{7}\n"), "yaml-control-character");
        assert_eq!(error(""), "yaml-value");
    }
}
