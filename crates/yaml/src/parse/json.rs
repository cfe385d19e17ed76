//! Sources that are JSON.
//!
//! Nearly all JSON is YAML, and nearly is not enough for a file or an answer that some program wrote: JSON has surrogate
//! pairs (`"\ud83d\ude00"`), allows a line break between a key and its colon, keys of any length, and characters in
//! strings that YAML refuses (U+007F) or takes for line breaks (U+0085, U+2028). So a source that is one JSON value is
//! read as that. What is not falls through to the YAML parser, which also reports what is wrong.

use std::sync::Arc;

use super::cursor::Parser;
use super::options::DuplicateKeys;
use crate::document::Document;
use crate::node::{Style, Tag};
use crate::scalar::resolve;
use crate::source::Source;

/// Reads a source that is one JSON array or object and nothing else.
///
/// For JSON that YAML reads too, the tree is the one YAML gives: tags, styles and spans included.
pub(crate) fn read(source: &Arc<Source>, duplicate_keys: DuplicateKeys) -> Option<Document> {
    let text = source.text().strip_prefix('\u{feff}').unwrap_or(source.text());
    // Most sources are left after one byte.
    let inner = text.trim_start_matches(WHITE_SPACE).strip_prefix(['{', '['])?;
    let next = inner.trim_start_matches(WHITE_SPACE).bytes().next()?;
    if !matches!(next, b'"' | b'{' | b'[' | b'}' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
        return None;
    }
    let mut parser = Parser::of_json(source, duplicate_keys)?;
    parser.skip_json_space();
    parser.json_value()?;
    parser.skip_json_space();
    if !parser.at_end() {
        return None;
    }
    let root = parser.nodes.pop()?;
    Some(Document::new(root, source.clone(), source.span(0, source.text().len())))
}

const WHITE_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

impl Parser<'_> {
    fn skip_json_space(&mut self) {
        while matches!(self.here(), b' ' | b'\t' | b'\n' | b'\r') {
            self.pos += 1;
        }
    }

    fn json_value(&mut self) -> Option<()> {
        match self.here() {
            b'"' => self.json_string(),
            b'{' => self.json_object(),
            b'[' => self.json_array(),
            b't' => self.json_word("true", Tag::Bool),
            b'f' => self.json_word("false", Tag::Bool),
            b'n' => self.json_word("null", Tag::Null),
            _ => self.json_number(),
        }
    }

    fn json_object(&mut self) -> Option<()> {
        let (start, first, first_hash) = (self.pos, self.nodes.len(), self.hashes.len());
        self.descend(start).ok()?;
        self.pos += 1;
        self.skip_json_space();
        while self.here() != b'}' || self.nodes.len() > first {
            self.json_string()?;
            self.hash_key();
            self.skip_json_space();
            self.json_byte(b':')?;
            self.skip_json_space();
            self.json_value()?;
            if !self.json_separator(b'}')? {
                break;
            }
        }
        self.json_byte(b'}')?;
        self.depth -= 1;
        self.take_map(first, first_hash, Style::Flow, start, self.pos).ok()
    }

    fn json_array(&mut self) -> Option<()> {
        let (start, first) = (self.pos, self.nodes.len());
        self.descend(start).ok()?;
        self.pos += 1;
        self.skip_json_space();
        while self.here() != b']' || self.nodes.len() > first {
            self.json_value()?;
            if !self.json_separator(b']')? {
                break;
            }
        }
        self.json_byte(b']')?;
        self.depth -= 1;
        self.take_seq(first, Style::Flow, start, self.pos);
        Some(())
    }

    /// Goes over what follows a value: whether that is a comma, after which another value must come.
    fn json_separator(&mut self, close: u8) -> Option<bool> {
        self.skip_json_space();
        match self.here() {
            b',' => {
                self.pos += 1;
                self.skip_json_space();
                Some(true)
            }
            byte => (byte == close).then_some(false),
        }
    }

    fn json_byte(&mut self, byte: u8) -> Option<()> {
        (self.here() == byte).then(|| self.pos += 1)
    }

    fn json_word(&mut self, word: &str, tag: Tag) -> Option<()> {
        let start = self.pos;
        self.text[start..].starts_with(word).then(|| {
            self.pos += word.len();
            self.push_scalar(word, tag, Style::Plain, start, self.pos);
        })
    }

    fn json_number(&mut self) -> Option<()> {
        let start = self.pos;
        self.pos += usize::from(self.here() == b'-');
        match self.here() {
            b'0' => self.pos += 1,
            _ => self.json_digits()?,
        }
        if self.here() == b'.' {
            self.pos += 1;
            self.json_digits()?;
        }
        if matches!(self.here(), b'e' | b'E') {
            self.pos += 1;
            self.pos += usize::from(matches!(self.here(), b'+' | b'-'));
            self.json_digits()?;
        }
        let text = &self.text[start..self.pos];
        // What no double can hold is for YAML to judge.
        let tag = Some(resolve::plain(text)).filter(|tag| matches!(tag, Tag::Int | Tag::Float))?;
        self.push_scalar(text, tag, Style::Plain, start, self.pos);
        Some(())
    }

    fn json_digits(&mut self) -> Option<()> {
        let start = self.pos;
        while self.here().is_ascii_digit() {
            self.pos += 1;
        }
        (self.pos > start).then_some(())
    }

    fn json_string(&mut self) -> Option<()> {
        let start = self.pos;
        self.json_byte(b'"')?;
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        let mut from = self.pos;
        loop {
            match *self.bytes.get(self.pos)? {
                b'"' => break,
                b'\\' => {
                    text.push_str(&self.text[from..self.pos]);
                    self.json_escape(&mut text)?;
                    from = self.pos;
                }
                ..0x20 => return None,
                _ => self.pos += 1,
            }
        }
        let last = &self.text[from..self.pos];
        self.pos += 1;
        if text.is_empty() {
            self.push_scalar(last, Tag::Str, Style::DoubleQuoted, start, self.pos);
        } else {
            text.push_str(last);
            self.push_scalar(&text, Tag::Str, Style::DoubleQuoted, start, self.pos);
        }
        self.scratch = text;
        Some(())
    }

    fn json_escape(&mut self, text: &mut String) -> Option<()> {
        let c = match self.at(self.pos + 1) {
            b'u' => return self.code_unit_escape(text),
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return None,
        };
        text.push(c);
        self.pos += 2;
        Some(())
    }

    /// Reads the `\u` escape here, or two of them that make up one character. Half of such a pair is not a character.
    pub(crate) fn code_unit_escape(&mut self, text: &mut String) -> Option<()> {
        let first = self.hex(self.pos + 2, 4)?;
        let is_pair = (0xD800..0xDC00).contains(&first) && self.bytes[self.pos + 6..].starts_with(b"\\u");
        let second = if is_pair { self.hex(self.pos + 8, 4) } else { None };
        let (code, len) = match second {
            Some(second @ 0xDC00..0xE000) => (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12),
            _ => (first, 6),
        };
        text.push(char::from_u32(code)?);
        self.pos += len;
        Some(())
    }

    /// The number that hexadecimal digits stand for.
    pub(crate) fn hex(&self, start: usize, digits: usize) -> Option<u32> {
        let hex = self.bytes.get(start..start + digits)?;
        hex.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::stream::Documents;
    use crate::{Node, Value, json};

    /// A tree with everything that reading decides.
    fn described(node: &Node) -> String {
        let own = format!("{:?} {:?} {:?}", node.tag(), node.style(), node.span());
        let inner: Vec<String> = match node.value() {
            Value::Scalar(text) => vec![format!("{text:?}")],
            Value::Seq(items) => items.iter().map(described).collect(),
            Value::Map(map) => map.iter().flat_map(|e| [described(&e.key), described(&e.value)]).collect(),
        };
        format!("{own} {inner:?}")
    }

    fn read_text(text: &str) -> Option<Document> {
        read(&Source::detached("t", text), DuplicateKeys::Refuse)
    }

    #[test]
    fn json_is_read_as_yaml_reads_it() {
        for text in [
            "{}",
            "[]",
            "\u{feff} {\"a\": [1, -2.5e3, true, null, \"x\"], \"b\": {\"\": {}}}\n",
            "[[], [ ], {\"a\":\"b\\n\\u00e9\\\"\"},\n 0, 12345678901234567890]",
            "{\"<<\": 1, \"y\": \"no\"}",
        ] {
            let source = Source::detached("t", text);
            let ours = read(&source, DuplicateKeys::Refuse).expect(text);
            let yaml = Documents::of_yaml(&source, DuplicateKeys::Refuse).next().unwrap().unwrap();
            assert_eq!(described(&ours.root), described(&yaml.root), "{text}");
            assert_eq!((ours.span(), ours.head(), ours.foot()), (yaml.span(), yaml.head(), yaml.foot()));
        }
    }

    #[test]
    fn what_only_json_has_is_read() {
        let long = "k".repeat(2000);
        for (text, value) in [
            (r#"["\ud83d\ude00", "\u00e9\/"]"#, r#"["😀","é/"]"#),
            ("{\"a\"\n:\n1}", r#"{"a":1}"#),
            ("{\n\t\"a\":\t1\n}", r#"{"a":1}"#),
            ("[\"\u{7f}\u{85}x \u{2028} y\u{ffff}\"]", "[\"\u{7f}\u{85}x \\u2028 y\u{ffff}\"]"),
            (&format!("{{\"{long}\":1}}"), &format!("{{\"{long}\":1}}")),
        ] {
            assert_eq!(json::compact(&crate::parse::parse_str(text).unwrap()[0].root), value);
        }
    }

    #[test]
    fn what_is_not_json_is_left_to_yaml() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a: 1}",
            "[01]",
            "[1.]",
            "[-]",
            "[tru]",
            "[\"\t\"]",
            "[\"\\x41\"]",
            "[\"\\ud83d\"]",
            "[\"\\ude00\\ud83d\"]",
            "[1] x",
            "{}{}",
            "[1e999]",
            "{} # x",
            "{\"a\":1,\"a\":2}",
        ] {
            assert!(read_text(text).is_none(), "{text}");
        }
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read_text(&deep(500)).is_some() && read_text(&deep(501)).is_none());
    }
}
