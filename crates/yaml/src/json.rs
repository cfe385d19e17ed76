//! Trees as JSON.

use std::borrow::Cow;

use crate::map::Entry;
use crate::node::{Node, Tag, Value};

/// Writes a tree as JSON the way Go's `encoding/json` does: keys sorted, no spaces, `<`, `>` and `&` escaped.
///
/// ```
/// let tree = krm_yaml::Node::from_iter([("b", "<1>"), ("a", "2")]);
/// assert_eq!(krm_yaml::json::compact(&tree), r#"{"a":"2","b":"\u003c1\u003e"}"#);
/// ```
pub fn compact(node: &Node) -> String {
    let mut out = String::new();
    write(node, &mut out, Layout { sorted: true, indented: false, in_key: false }, 0);
    out
}

/// The same on indented lines, without a line break at the end.
pub fn indented(node: &Node) -> String {
    let mut out = String::new();
    write(node, &mut out, Layout { sorted: true, indented: true, in_key: false }, 0);
    out
}

/// Writes a tree as JSON on indented lines, without a line break at the end. Keys keep their order, and numbers their
/// spelling if JSON allows it.
pub fn pretty(node: &Node) -> String {
    let mut out = String::new();
    write(node, &mut out, Layout { sorted: false, indented: true, in_key: false }, 0);
    out
}

#[derive(Clone, Copy)]
struct Layout {
    sorted: bool,
    indented: bool,
    /// This is the text of a key.
    in_key: bool,
}

fn write(node: &Node, out: &mut String, layout: Layout, depth: usize) {
    match node.value() {
        Value::Scalar(text) if !layout.sorted && is_number(node, text) => out.push_str(text),
        Value::Scalar(text) => scalar(node, text, out),
        Value::Seq(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                separate(i, out, layout, depth + 1);
                write(item, out, layout, depth + 1);
            }
            close(']', items.is_empty(), out, layout, depth);
        }
        Value::Map(map) => {
            let mut sorted: Vec<&Entry> = Vec::new();
            let is_sorted =
                map.entries().windows(2).all(|pair| key(&pair[0].key, layout) <= key(&pair[1].key, layout));
            if layout.sorted && !is_sorted {
                sorted.extend(map.iter());
                sorted.sort_by(|a, b| key(&a.key, layout).cmp(&key(&b.key, layout)));
            }
            out.push('{');
            for (i, entry) in map.iter().enumerate() {
                let entry = sorted.get(i).copied().unwrap_or(entry);
                separate(i, out, layout, depth + 1);
                string(&key(&entry.key, layout), out);
                out.push_str(if layout.indented { ": " } else { ":" });
                write(&entry.value, out, layout, depth + 1);
            }
            close('}', map.is_empty(), out, layout, depth);
        }
    }
}

/// The text of a key. JSON has no keys that are collections: their JSON is the text. A collection within such a key is only
/// named, since its quotes would need twice the backslashes at every level.
fn key(key: &Node, layout: Layout) -> Cow<'_, str> {
    match key.text() {
        // However it is written: `~`, `null`, or not at all.
        _ if key.is_null() => Cow::Borrowed("null"),
        Some(text) => Cow::Borrowed(text),
        None if layout.in_key => Cow::Borrowed("..."),
        None => {
            let mut text = String::new();
            write(key, &mut text, Layout { sorted: true, indented: false, in_key: true }, 0);
            Cow::Owned(text)
        }
    }
}

fn separate(i: usize, out: &mut String, layout: Layout, depth: usize) {
    if i > 0 {
        out.push(',');
    }
    if layout.indented {
        new_line(out, depth);
    }
}

fn close(bracket: char, empty: bool, out: &mut String, layout: Layout, depth: usize) {
    if layout.indented && !empty {
        new_line(out, depth);
    }
    out.push(bracket);
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    (0..depth).for_each(|_| out.push_str("  "));
}

fn scalar(node: &Node, text: &str, out: &mut String) {
    match node.tag() {
        Tag::Null => out.push_str("null"),
        Tag::Bool => out.push_str(if node.as_bool() == Some(true) { "true" } else { "false" }),
        Tag::Int | Tag::Float => {
            match (crate::scalar::resolve::int(text), crate::scalar::resolve::float(text)) {
                (Some(n), _) => out.push_str(&n.to_string()),
                (_, Some(n)) if n.is_finite() => crate::scalar::number::json(n, out),
                // JSON has no infinities.
                _ => string(text, out),
            }
        }
        Tag::Timestamp => match crate::scalar::resolve::timestamp(text) {
            Some(timestamp) => string(&timestamp, out),
            None => string(text, out),
        },
        Tag::Binary => string(crate::scalar::binary::text(text).as_deref().unwrap_or(text), out),
        _ => string(text, out),
    }
}

/// Whether a scalar is a number that is written as in JSON.
fn is_number(node: &Node, text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if !matches!(node.tag(), Tag::Int | Tag::Float) {
        return false;
    }
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = text.split_at(digits(text));
    let rest = match rest.strip_prefix('.') {
        Some(fraction) if digits(fraction) > 0 => &fraction[digits(fraction)..],
        _ => rest,
    };
    let is_exponent = |exponent: &str| !exponent.is_empty() && digits(exponent) == exponent.len();
    let ends = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => is_exponent(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => rest.is_empty(),
    };
    ends && (whole == "0" || whole.starts_with(|first: char| ('1'..='9').contains(&first)))
}

/// Appends a quoted string, escaped as Go does it so that it may be in HTML.
fn string(text: &str, out: &mut String) {
    out.push('"');
    let mut start = 0;
    for (at, b) in text.bytes().enumerate() {
        if !matches!(b, 0..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&' | 0xE2) {
            continue;
        }
        let (escaped, width): (&str, usize) = match b {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0x08 => ("\\b", 1),
            0x0C => ("\\f", 1),
            0xE2 if text[at..].starts_with('\u{2028}') => ("\\u2028", 3),
            0xE2 if text[at..].starts_with('\u{2029}') => ("\\u2029", 3),
            0xE2 => continue,
            _ => ("", 1),
        };
        out.push_str(&text[start..at]);
        if escaped.is_empty() {
            out.push_str("\\u00");
            for digit in [b >> 4, b & 15] {
                out.push(char::from_digit(digit.into(), 16).expect("four bits"));
            }
        } else {
            out.push_str(escaped);
        }
        start = at + width;
    }
    out.push_str(&text[start..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Style;
    use crate::source::Span;

    fn plain(text: &str) -> Node {
        Node::scalar(text, crate::scalar::resolve::plain(text), Style::Plain, Span::NONE)
    }

    fn tree() -> Node {
        let list = Node::from(vec![plain("0x10"), plain("~"), Node::seq(), Node::map()]);
        Node::from_iter([("b", list), ("a10", plain("TRUE")), ("a2", plain("1.0"))])
    }

    #[test]
    fn compact_sorts_keys_byte_by_byte() {
        assert_eq!(compact(&tree()), r#"{"a10":true,"a2":1,"b":[16,null,[],{}]}"#);
    }

    #[test]
    fn pretty_keeps_the_order_and_indents_by_two() {
        let lines = [
            "{",
            "  \"b\": [",
            "    16,",
            "    null,",
            "    [],",
            "    {}",
            "  ],",
            "  \"a10\": true,",
            "  \"a2\": 1.0",
            "}",
        ];
        assert_eq!(pretty(&tree()), lines.join("\n"));
        assert_eq!(pretty(&Node::map()), "{}");
    }

    #[test]
    fn keys_are_strings_whatever_they_were() {
        let tree = Node::from_iter([(plain("1"), plain("a")), (Node::from(vec![plain("x")]), plain("b"))]);
        assert_eq!(compact(&tree), r#"{"1":"a","[\"x\"]":"b"}"#);
        for null in ["? \n", "~:\n", "null:\n"] {
            let tree = crate::parse::parse_str(&format!("{null}a: 1\n")).expect("it is YAML").remove(0).root;
            assert_eq!(compact(&tree), r#"{"a":1,"null":null}"#, "{null:?}");
        }
    }

    #[test]
    fn keys_within_keys_do_not_double_the_text_at_every_level() {
        let tree = |text: &str| crate::parse::parse_str(text).expect("it is YAML").remove(0).root;
        assert_eq!(compact(&tree("? ? a\n")), r#"{"{\"a\":null}":null}"#);
        assert_eq!(compact(&tree("? ? ? a\n")), r#"{"{\"...\":null}":null}"#);
        assert!(compact(&tree(&"? ".repeat(60))).len() < 100);
    }

    #[test]
    fn strings_are_escaped_for_html_and_for_nothing_else() {
        let text = "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}<>&\u{2028}\u{2029}\u{2027}é😀";
        let expected =
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\\u003c\\u003e\\u0026\\u2028\\u2029\u{2027}é😀\"";
        assert_eq!(compact(&Node::from(text)), expected);
    }

    #[test]
    fn pretty_keeps_numbers_that_are_json() {
        for written in ["1.0", "-0", "12345678901234567890123", "0.10", "1E+3", "18446744073709551615"] {
            assert_eq!(pretty(&plain(written)), written);
        }
        for (written, expected) in
            [("0x10", "16"), ("1_000", "1000"), ("1.", "1"), (".5", "0.5"), ("+1", "1")]
        {
            assert_eq!(pretty(&plain(written)), expected);
        }
    }

    #[test]
    fn numbers_are_those_of_go() {
        for (written, expected) in [
            ("1e3", "1000"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("-0.0", "-0"),
            ("1_0", "10"),
        ] {
            assert_eq!(compact(&plain(written)), expected, "{written}");
        }
    }
}
