//! Texts that nobody would write: whatever comes, reading must end well, and what is accepted must come out as it went
//! in, survive an edit, and mean the same in canonical form.
//!
//! Runs for a few seconds; `FUZZ_SECONDS=3600 cargo test --release -p krm-yaml --test fuzz` looks longer. A failure prints
//! the text; add it to `FOUND`.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod chance;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use chance::{Chance, with_chance};
use krm_yaml::emit::preserve;
use krm_yaml::{Document, Node, Style, Tag, Value, json, parse_str, try_canonical_into};

/// What to begin with: a bit of everything.
const SEEDS: &[&str] = &[
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web # why\n  labels: {a: b, c: 'd'}\nspec:\n  ports:\n  - port: 80\n    name: \"http\"\n",
    "# head\n\na: 1\n# foot\n\nb:\n  # inner\n  - c # line\n  -\n    d: e\n  - - f\n    - g\n# end\n",
    "a: |\n  x\n   y\n\n  z\nb: >-\n  p\n  q\n\n  r\nc: |+2\n   s\n\nd: >+\n\n e\n\n",
    "a: 'one\n  two\n\n  three'\nb: \"one \\\n  two\\n\\u00e9\"\nc: plain\n  goes on\n",
    "x: &x {a: [1, 2.5, ~], b: *y}\n",
    "x: &x [1]\ny: {<<: &z {a: 1}, b: *x}\nz: *z\n",
    "? a\n: b\n? - c\n: - d\n? |\n  e\n: f\n",
    "[a, [b, {c: d, ? e : f, g}], \"h\": i, # j\n  'k' ]\n",
    "%YAML 1.1\n%TAG !e! tag:example.com,2000:\n---\n!e!a b\n...\n---\n!!str 1\n",
    "--- # one\na\n---\n- b\n...\n# two\n---\n{c: d}\n",
    "a:\r\n  b: 1 # c\r\n\r\n  d: |\r\n    e\r\n",
    "\u{feff}é: ü😀\nß: \"\\x41\"\n",
    "{\"a\": {\"b\": [1, -2.5e3, true, null, \"\\u00e9\\n\"]}}",
    "a: 0x1F\nb: 1_000\nc: 2001-12-14\nd: .inf\ne: 0o17\nf: !!binary aGk=\ng: yes\n",
    "k: {{ .Values.x }}\nl: \"{{ y }}\"\n",
    "",
];

/// Texts that once went wrong, or that the reference and we did not agree on.
const FOUND: &[&str] = &[
    "[? ]\n",
    "[?,x]\n",
    "!!null :\n",
    "<<: [?x]\n",
    " [\n  ! ]\n",
    "&a: &b b\n*b : *a\n",
    // Begins with a character whose last byte is that of a line break, and has such a break elsewhere.
    "é #|\n  \u{2028}\n: f\n",
    "key:  #anchor\n !!map\n  a: b\n",
    "---\na: >2\n  \t-\n",
    "- >1- # Both\n \ttext\n\n\n",
    "---\ntop1:  #&node1\n  &node4\n  &k4 key4 &k1 key1: one\n",
];

/// What may be put in, besides single bytes.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "\t",
    ":",
    "-",
    "#",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&",
    "*",
    "!",
    "|",
    ">",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "?",
    "\\",
    ".",
    "~",
    "  ",
    "\n  ",
    ": ",
    "- ",
    "? ",
    "\n- ",
    "\n---\n",
    "\n...\n",
    "\r\n",
    "\r",
    "é",
    "\u{2028}",
    "\u{85}",
    "<<: ",
    "\\n",
    "a",
    "0",
    " #",
    "\n\n",
    "&x ",
    "*x",
    "!!str ",
    "!t ",
    "|\n",
    ">-\n",
    "\u{feff}",
    "\u{0}",
    "|2",
    "---",
    "...",
    "''",
    "\"\"",
    "[]",
    "{}",
    "{{",
    "}}",
    "\n# c\n",
    "key: value\n",
    "%YAML 1.1\n",
    "\u{7f}",
    "😀",
];

fn mutate(text: &mut String, chance: &mut Chance) {
    let at = boundary(text, chance.below(text.len() + 1));
    match chance.below(6) {
        0 | 1 => text.insert_str(at, chance.pick::<&str>(PIECES)),
        2 => {
            let end = boundary(text, (at + 1 + chance.below(5)).min(text.len()));
            text.replace_range(at.min(end)..end, "");
        }
        3 => {
            let end = boundary(text, (at + 1).min(text.len()));
            text.replace_range(at.min(end)..end, chance.pick::<&str>(PIECES));
        }
        4 => {
            let from = boundary(text, chance.below(text.len() + 1));
            let to = boundary(text, (from + chance.below(20)).min(text.len()));
            let copy = text[from..to.max(from)].to_owned();
            text.insert_str(at, &copy);
        }
        _ => {
            let other = *chance.pick(SEEDS);
            let cut = boundary(other, chance.below(other.len() + 1));
            text.truncate(at);
            text.push_str(&other[cut..]);
        }
    }
}

/// The next place where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn check(text: &str) {
    let Ok(documents) = parse_str(text) else { return };
    assert_eq!(preserve::stream(&documents), text, "what was not edited must stay");
    for document in &documents {
        check_canonical(document);
        // A block scalar that the end of the text cuts off means another value once something follows.
        if text.ends_with('\n') {
            check_edit(document);
        }
    }
}

fn check_canonical(document: &Document) {
    let mut resolved = document.clone();
    if resolved.resolve_references().is_err() {
        return;
    }
    let mut canonical = String::new();
    if try_canonical_into(&resolved.root, &mut canonical).is_err() || has_odds(&resolved.root) {
        return;
    }
    let again =
        parse_str(&canonical).unwrap_or_else(|error| panic!("canonical form: {error:?}\n{canonical}"));
    let again = again.first().map_or_else(|| "null".to_owned(), |d| json::compact(&d.root));
    assert_eq!(again, json::compact(&resolved.root), "canonical form:\n{canonical}");
}

/// Whether something does not survive canonical form as it is: keys that become strings, and what the reference loses.
fn has_odds(node: &Node) -> bool {
    match node.value() {
        Value::Scalar(text) => {
            text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
                || (node.is_null() && text.is_empty())
                || matches!(node.tag(), Tag::Float | Tag::Timestamp | Tag::Binary | Tag::Other)
        }
        Value::Seq(items) => items.iter().any(has_odds),
        Value::Map(map) => {
            map.iter().any(|e| e.key.tag() != Tag::Str || has_odds(&e.key) || has_odds(&e.value))
        }
    }
}

/// Changes the first scalar that is a plain value, writes, and reads again.
fn check_edit(document: &Document) {
    let mut edited = document.clone();
    if !edit(&mut edited.root) {
        return;
    }
    let text = edited.text();
    let again = parse_str(&text).unwrap_or_else(|error| panic!("after the edit: {error:?}\n{text}"));
    assert_eq!(again.len(), 1, "after the edit:\n{text}");
    assert_eq!(json::compact(&again[0].root), json::compact(&edited.root), "after the edit:\n{text}");
}

fn edit(node: &mut Node) -> bool {
    let has_references = |node: &Node| node.trivia().alias.is_some() || node.trivia().anchor.is_some();
    if has_references(node) {
        return false;
    }
    if node.is_scalar() {
        node.assign(Node::string("edited: \"so\" # it\nis"));
        return true;
    }
    match node.value() {
        Value::Scalar(_) => false,
        Value::Seq(_) => node.as_seq_mut().is_some_and(|items| items.iter_mut().any(edit)),
        Value::Map(_) => {
            // A key over several lines that was written without a value does not take one so easily.
            let flow = node.style() == Style::Flow;
            let may_edit = |key: &Node, value: &Node| {
                let is_simple =
                    matches!(key.style(), Style::Plain | Style::SingleQuoted | Style::DoubleQuoted);
                !value.span().is_empty() || (is_simple && !flow)
            };
            node.as_map_mut().is_some_and(|map| map.values_mut().any(|(k, v)| may_edit(k, v) && edit(v)))
        }
    }
}

fn check_loudly(text: &str) {
    if catch_unwind(AssertUnwindSafe(|| check(text))).is_err() {
        panic!("went wrong with {text:?}");
    }
}

#[test]
fn no_text_does_harm() {
    SEEDS.iter().chain(FOUND).for_each(|text| check_loudly(text));
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    let mut seed = std::env::var("FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x5EED_u64);
    let begun = Instant::now();
    let mut tried = 0;
    while begun.elapsed() < Duration::from_secs(seconds) {
        with_chance(seed, |chance| {
            let at = chance.below(SEEDS.len() + FOUND.len());
            let mut text = (*SEEDS.iter().chain(FOUND).nth(at).expect("within")).to_owned();
            for _ in 0..=chance.below(6) {
                mutate(&mut text, chance);
                check_loudly(&text);
                tried += 1;
            }
        });
        seed += 1;
    }
    println!("{tried} texts tried");
    assert!(tried > 100, "only {tried} texts tried");
}
