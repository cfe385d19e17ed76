//! Texts that are being typed: what can be read of one that is not right yet.

use krm_yaml::{Document, DuplicateKeys, ParseOptions, Source, Sources};

/// How many lines may be taken out of a text before nothing is made of it.
const MOST: usize = 6;

/// A text of the same length that can be read: lines that make that impossible are blank in it. `first` is a line, from 1,
/// that is known to be unfinished. `None` if it takes more than a few lines.
pub(crate) fn repair(text: &str, first: Option<usize>) -> Option<String> {
    let fault = |text: &str| -> Option<usize> {
        let sources = Sources::new();
        let source = sources.add("", text);
        let options = ParseOptions::default().duplicate_keys(DuplicateKeys::Keep);
        let error = krm_yaml::parse_with(&source, options).err()?;
        Some(source.position(error.place().start as usize).line)
    };
    let mut text = text.to_owned();
    let Some(mut line) = fault(&text) else { return Some(text) };
    for _ in 0..MOST {
        // An unfinished line is often reported at the one after it.
        let tries = first.into_iter().chain([line, line.saturating_sub(1), line + 1]);
        let whole = tries.map(|line| without_line(&text, line)).find(|text| fault(text).is_none());
        if whole.is_some() {
            return whole;
        }
        let first = first.filter(|line| without_line(&text, *line) != text);
        text = without_line(&text, first.unwrap_or(line));
        match fault(&text) {
            None => return Some(text),
            Some(next) => line = next,
        }
    }
    None
}

/// The documents of a text, read as far as they can be; every span is that of the text as it is.
pub(crate) fn documents(text: &str, first: Option<usize>) -> Vec<Document> {
    let Some(text) = repair(text, first) else { return Vec::new() };
    let source = Source::detached("", text);
    let options = ParseOptions::default().duplicate_keys(DuplicateKeys::Keep);
    krm_yaml::parse_with(&source, options).unwrap_or_default()
}

/// The text with spaces for the characters of a line (from 1).
fn without_line(text: &str, line: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, written) in text.split_inclusive('\n').enumerate() {
        if at + 1 != line {
            out.push_str(written);
            continue;
        }
        let content = written.trim_end_matches(['\n', '\r']);
        out.extend(std::iter::repeat_n(' ', content.len()));
        out.push_str(&written[content.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_lines_hide_nothing_else() {
        for text in [
            "resources:\n- a.yaml\npat\nimages:\n- name: x\n",
            "resources:\n- a.yaml\npatches:\n- path: 'x\nimages: []\n",
            "resources:\n- a.yaml\nimages:\n- name: x\n  newTag\n  digest: y\n",
        ] {
            let repaired = repair(text, None).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(repaired.len(), text.len());
            let documents = documents(text, None);
            let resources = documents[0].root.get("resources");
            assert!(resources.is_some(), "{text}\n{repaired}");
        }
        assert_eq!(without_line("ä: 1\r\nb\r\n", 1), "     \r\nb\r\n");
    }
}
