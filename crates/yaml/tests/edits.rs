//! Generated documents under generated edits. Whatever the edit, the text must read back as the edited tree; what the
//! edit does not concern must stay, comments included.
//!
//! `EDITS=100000 cargo test --test edits` tries more, `FIRST=n` others; a failure names its seed, and `SEED=n` tries just
//! that one.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod chance;

use chance::{Chance, with_chance};
use krm_yaml::emit::preserve;
use krm_yaml::{Document, Entry, Node, Style, Value, parse_str};

impl Chance<'_, '_> {
    /// True once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn has_gaps(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

/// Writes documents.
struct Author<'c, 'r, 'b> {
    chance: &'c mut Chance<'r, 'b>,
    text: String,
    names: usize,
    comments: usize,
    anchors: Vec<String>,
    newline: &'static str,
    step: usize,
    wide: usize,
    /// Whether values may be left out. Comments near those go to odd places, as in the reference.
    gaps: bool,
}

const SCALARS: &[&str] = &[
    "x",
    "some words",
    "1",
    "0x1F",
    "1.5",
    "true",
    "~",
    "null",
    "2001-01-01",
    "'q'",
    "'it''s'",
    "\"d\"",
    "\"a\\tb\"",
    "\"\"",
    "''",
    "a#b",
    "http://x/y",
    "é",
    "-x",
    "!!str 7",
    "!local v",
    "yes",
];

impl<'c, 'r, 'b> Author<'c, 'r, 'b> {
    fn document(seed: u64, chance: &'c mut Chance<'r, 'b>) -> String {
        let newline = if chance.one_in(6) { "\r\n" } else { "\n" };
        let step = if chance.one_in(4) { 4 } else { 2 };
        let wide = *chance.pick(&[0, 0, 2, step]);
        let (text, anchors) = (String::new(), Vec::new());
        let gaps = has_gaps(seed);
        let mut author = Self { chance, text, names: 0, comments: 0, anchors, newline, step, wide, gaps };
        if author.chance.one_in(4) {
            author.comment(0);
            author.text.push_str(author.newline);
        }
        if author.text.is_empty() && author.chance.one_in(4) {
            author.text.push_str("---");
            author.text.push_str(newline);
        }
        if author.chance.one_in(6) {
            author.seq(0, 4, false)
        } else {
            author.map(0, 4, false)
        }
        if author.chance.one_in(5) {
            let kept = author.text.trim_end_matches(['\r', '\n']).len();
            author.text.truncate(kept);
        }
        author.text
    }

    fn comment(&mut self, column: usize) {
        self.comments += 1;
        self.text.push_str(&format!("{}# c{}{}", " ".repeat(column), self.comments, self.newline));
    }

    /// Ends a line, sometimes with a comment.
    fn end_line(&mut self) {
        if self.chance.one_in(5) {
            self.comments += 1;
            let gap = *self.chance.pick(&[" ", "  ", "    "]);
            self.text.push_str(&format!("{gap}# c{}", self.comments));
        } else if self.chance.one_in(20) {
            self.text.push(' ');
        }
        self.text.push_str(self.newline);
    }

    fn above(&mut self, column: usize, first: bool) {
        if !first && self.chance.one_in(6) {
            self.text.push_str(self.newline);
        }
        if self.chance.one_in(6) {
            self.comment(column);
            if self.chance.one_in(4) {
                self.comment(column);
            }
        }
    }

    fn below(&mut self, column: usize) {
        if self.chance.one_in(10) {
            self.comment(column);
            self.text.push_str(self.newline);
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        match self.chance.below(8) {
            0 => format!("'k{}'", self.names),
            1 => format!("\"k {}\"", self.names),
            _ => format!("k{}", self.names),
        }
    }

    fn map(&mut self, column: usize, depth: usize, inline: bool) {
        let count = 1 + self.chance.below(4);
        for at in 0..count {
            if !(inline && at == 0) {
                self.above(column, at == 0);
                self.text.push_str(&" ".repeat(column));
            }
            let name = self.name();
            if self.chance.one_in(25) {
                self.text.push_str(&format!("? {name}{}{}:", self.newline, " ".repeat(column)));
            } else {
                self.text.push_str(&name);
                self.text.push(':');
            }
            self.value(column, depth, false);
            self.below(column);
        }
    }

    fn seq(&mut self, column: usize, depth: usize, inline: bool) {
        let count = 1 + self.chance.below(4);
        for at in 0..count {
            if !(inline && at == 0) {
                self.above(column, at == 0);
                self.text.push_str(&" ".repeat(column));
            }
            self.text.push('-');
            self.value(column, depth, true);
        }
    }

    fn value(&mut self, column: usize, depth: usize, item: bool) {
        let anchor = self.chance.one_in(15);
        self.names += 1;
        let name = format!("a{}", self.names);
        if anchor {
            self.text.push_str(&format!(" &{name}"));
        }
        match self.chance.below(if depth == 0 { 8 } else { 14 }) {
            0 if !anchor && self.gaps => self.end_line(),
            1 if !item => {
                self.text.push_str(&format!("{}{}below", self.newline, " ".repeat(column + self.step)));
                self.end_line();
            }
            2 => self.block_scalar(column),
            3 => {
                self.text.push(' ');
                if self.chance.one_in(4) {
                    self.rows(if item { column + 2 } else { column }, 1);
                } else {
                    self.flow(2);
                }
                self.end_line();
            }
            4 if !anchor && !self.anchors.is_empty() => {
                let alias = self.chance.pick(&self.anchors.clone()).clone();
                self.text.push_str(&format!(" *{alias}"));
                self.end_line();
            }
            8..=10 if item && !anchor => {
                self.text.push(' ');
                self.map(column + 2, depth - 1, true);
            }
            8..=10 => {
                self.end_line();
                self.map(column + self.step, depth - 1, false);
            }
            11 | 12 if item && !anchor => {
                self.text.push(' ');
                self.seq(column + 2, depth - 1, true);
            }
            11 | 12 => {
                self.end_line();
                let column = if item { column + 2 } else { column + self.wide };
                self.seq(column, depth - 1, false);
            }
            _ => {
                let scalar = *self.chance.pick(SCALARS);
                let scalar = if anchor { "plain" } else { scalar };
                self.text.push_str(&format!(" {scalar}"));
                self.end_line();
            }
        }
        if anchor {
            self.anchors.push(name);
        }
    }

    fn block_scalar(&mut self, column: usize) {
        let sign = *self.chance.pick(&["|", "|-", "|+", ">", ">-"]);
        self.text.push_str(&format!(" {sign}"));
        self.end_line();
        for _ in 0..1 + self.chance.below(3) {
            let line = *self.chance.pick(&["text", "more text", "# not a comment", "- x", "a: b"]);
            self.text.push_str(&format!("{}{line}{}", " ".repeat(column + self.step), self.newline));
            if self.chance.one_in(6) {
                self.text.push_str(self.newline);
            }
        }
    }

    /// A collection within brackets, an entry on each line, some with comments.
    fn rows(&mut self, column: usize, depth: usize) {
        let (open, close) = if self.chance.one_in(2) { ("[", "]") } else { ("{", "}") };
        self.text.push_str(open);
        self.text.push_str(self.newline);
        let count = 1 + self.chance.below(4);
        for at in 0..count {
            self.above(column + 2, at == 0);
            self.text.push_str(&" ".repeat(column + 2));
            if open == "{" {
                let name = self.name();
                self.text.push_str(&format!("{name}: "));
            }
            match self.chance.below(5) {
                0 if depth > 0 => self.rows(column + 2, depth - 1),
                1 => self.flow(1),
                _ => {
                    let scalar = *self.chance.pick(&["x", "1", "'q'", "\"d\"", "two words", "true"]);
                    self.text.push_str(scalar);
                }
            }
            if at + 1 < count || self.chance.one_in(3) {
                self.text.push(',');
            }
            self.end_line();
        }
        self.text.push_str(&format!("{}{close}", " ".repeat(column)));
    }

    fn flow(&mut self, depth: usize) {
        let (open, close) = if self.chance.one_in(2) { ("[", "]") } else { ("{", "}") };
        let padding = if self.chance.one_in(4) { " " } else { "" };
        let comma = if self.chance.one_in(5) { "," } else { ", " };
        self.text.push_str(open);
        let count = self.chance.below(4);
        if count > 0 {
            self.text.push_str(padding);
        }
        for at in 0..count {
            if at > 0 {
                self.text.push_str(comma);
            }
            if open == "{" {
                let name = self.name();
                self.text.push_str(&format!("{name}: "));
            }
            if depth > 0 && self.chance.one_in(4) {
                self.flow(depth - 1);
            } else {
                let scalar = *self.chance.pick(&["x", "1", "'q'", "\"d\"", "two words", "true"]);
                self.text.push_str(scalar);
            }
        }
        if count > 0 {
            self.text.push_str(padding);
        }
        self.text.push_str(close);
    }
}

/// A value to put into a tree.
fn any_value(chance: &mut Chance, depth: usize) -> Node {
    const TEXTS: &[&str] = &[
        "new",
        "two words",
        "",
        " lead",
        "trail ",
        "a: b",
        "a #b",
        "- x",
        "yes",
        "1",
        "null",
        "~",
        "line\nline\n",
        "line\n",
        "a\n\nb",
        "\n",
        "a\n\n",
        " a\nb",
        "a \nb",
        "\ttab",
        "it's",
        "\"q\"",
        "[x",
        "{x",
        "x]",
        "x, y",
        "&a",
        "*a",
        "!t",
        "%x",
        "@x",
        "`x",
        "---",
        "...",
        "--- x",
        "é\u{2028}",
        "😀",
        "#c",
        "?",
        ":",
        "? x",
        "a:",
        "key:\n  x",
    ];
    match chance.below(if depth == 0 { 8 } else { 11 }) {
        0 => Node::from(chance.below(100) as i32),
        1 => Node::from(true),
        2 => Node::null(),
        3 => Node::string(*chance.pick(TEXTS)).with_style(*chance.pick(&[
            Style::Plain,
            Style::SingleQuoted,
            Style::DoubleQuoted,
            Style::Literal,
            Style::Folded,
        ])),
        4..=7 => Node::from(*chance.pick(TEXTS)),
        8 => {
            let style = *chance.pick(&[Style::Any, Style::Any, Style::Flow]);
            let items: Vec<Node> = (0..chance.below(3)).map(|_| any_value(chance, depth - 1)).collect();
            Node::from(items).with_style(style)
        }
        _ => {
            let style = *chance.pick(&[Style::Any, Style::Any, Style::Flow]);
            let pairs: Vec<(String, Node)> =
                (0..chance.below(3)).map(|at| (format!("n{at}"), any_value(chance, depth - 1))).collect();
            Node::from_iter(pairs).with_style(style)
        }
    }
}

/// Edits some place of a tree.
fn edit(node: &mut Node, chance: &mut Chance, fresh: usize) {
    let len = match node.value() {
        Value::Map(map) => map.len(),
        Value::Seq(items) => items.len(),
        Value::Scalar(_) => 0,
    };
    if len > 0 && !chance.one_in(3) {
        let at = chance.below(len);
        match node.as_map_mut() {
            Some(map) => edit(map.value_at_mut(at), chance, fresh),
            None => edit(&mut node.as_seq_mut().expect("a sequence")[at], chance, fresh),
        }
        return;
    }
    let value = any_value(chance, 2);
    if len == 0 {
        match node.value() {
            Value::Map(_) if !chance.one_in(3) => node.set("fresh", value),
            Value::Seq(_) if !chance.one_in(3) => node.as_seq_mut().expect("a sequence").push(value),
            _ => node.assign(value),
        }
        return;
    }
    let (at, other) = (chance.below(len), chance.below(len));
    if let Some(map) = node.as_map_mut() {
        match chance.below(6) {
            0 | 1 => map.insert_at(chance.below(len + 1), Node::from(format!("f{fresh}")), value),
            2 => drop(map.remove_at(at)),
            3 => map.entries_mut().swap(at, other),
            4 => map.rename(at, format!("r {fresh}")),
            _ => map.value_at_mut(at).assign(value),
        }
        return;
    }
    let items = node.as_seq_mut().expect("a sequence");
    match chance.below(5) {
        0 | 1 => items.insert(chance.below(len + 1), value),
        2 => drop(items.remove(at)),
        3 => items.swap(at, other),
        _ => items[at].assign(value),
    }
}

/// The comments on all nodes of a tree.
fn comments(node: &Node, found: &mut Vec<String>) {
    let trivia = node.trivia();
    for comment in [&trivia.head, &trivia.line, &trivia.foot] {
        found.extend(comment.lines().filter(|line| !line.is_empty()).map(str::to_owned));
    }
    match node.value() {
        _ if trivia.alias.is_some() => {}
        Value::Scalar(_) => {}
        Value::Seq(items) => items.iter().for_each(|item| comments(item, found)),
        Value::Map(map) => map.iter().for_each(|Entry { key, value }| {
            comments(key, found);
            comments(value, found);
        }),
    }
}

fn comments_of(node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    comments(node, &mut found);
    found
}

fn has_comment(text: &str, comment: &str) -> bool {
    text.match_indices(comment)
        .any(|(at, _)| !text[at + comment.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

fn read(text: &str, seed: u64) -> Document {
    let mut docs = parse_str(text).unwrap_or_else(|error| panic!("seed {seed}: {error:?} in\n{text}"));
    assert_eq!(docs.len(), 1, "seed {seed}:\n{text}");
    docs.remove(0)
}

/// Runs a check for many seeds, or for the one in `SEED`.
fn for_seeds(check: impl Fn(u64, &mut Chance)) {
    let check = |seed| with_chance(seed, |chance| check(seed, chance));
    if let Ok(seed) = std::env::var("SEED") {
        return check(seed.parse().expect("SEED is a number"));
    }
    let first = number("FIRST").unwrap_or(0);
    (first..first + edits()).for_each(check);
}

/// How many edits to try.
fn edits() -> u64 {
    number("EDITS").unwrap_or(3000)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn untouched_documents_come_out_as_they_went_in() {
    for_seeds(|seed, chance| {
        let text = Author::document(seed, chance);
        assert_eq!(read(&text, seed).text(), text, "seed {seed}");
    });
}

#[test]
fn edited_documents_read_back_as_the_edited_tree() {
    for_seeds(|seed, chance| {
        let before = Author::document(seed, chance);
        let mut doc = read(&before, seed);
        for fresh in 0..1 + chance.below(3) {
            edit(&mut doc.root, chance, fresh);
        }
        let after = preserve::document_unguarded(&doc);
        let again = read(&after, seed);
        let shown =
            || format!("seed {seed}\n--- before\n{before}\n--- after\n{after}\n--- tree\n{:?}", doc.root);
        assert_eq!(again.root, doc.root, "{}", shown());
        if has_gaps(seed) {
            return;
        }
        for comment in comments_of(&doc.root) {
            assert!(has_comment(&after, &comment), "lost {comment}: {}", shown());
        }
        let replaced = doc.root.tag() != doc.original().tag() || doc.root.is_empty();
        if replaced || doc.has_references() || before.contains("? ") {
            // What is above the root stays, whatever the root becomes; and comments after an anchor or a `?` are
            // in odd places of the tree.
            return;
        }
        let kept = comments_of(&doc.root);
        for comment in comments_of(doc.original()).iter().filter(|c| !kept.contains(c)) {
            assert!(!has_comment(&after, comment), "left {comment}: {}", shown());
        }
    });
}

#[test]
fn trees_without_a_text_read_back_with_their_comments() {
    for_seeds(|seed, chance| {
        let before = Author::document(seed, chance);
        let doc = read(&before, seed);
        for layout in
            [preserve::Layout::COMPACT, preserve::Layout::WIDE, preserve::Layout { step: 4, seq: 0 }]
        {
            let after = preserve::fresh_document(doc.head(), &doc.root, doc.foot(), layout);
            let shown = || format!("seed {seed}\n--- before\n{before}\n--- after\n{after}");
            assert_eq!(read(&after, seed).root, doc.root, "{}", shown());
            if has_gaps(seed) || doc.has_references() || before.contains("? ") {
                continue;
            }
            for comment in comments_of(&doc.root) {
                assert!(has_comment(&after, &comment), "lost {comment}: {}", shown());
            }
        }
    });
}

/// The paths to all scalars that are written on one line and not shared.
fn lone_scalars(node: &Node, text: &str, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    match node.value() {
        _ if node.trivia().alias.is_some() || node.trivia().anchor.is_some() => {}
        Value::Scalar(_) if !text[node.span().range()].contains('\n') => found.push(path.clone()),
        Value::Scalar(_) => {}
        Value::Seq(items) => items.iter().enumerate().for_each(|(at, item)| {
            path.push(at);
            lone_scalars(item, text, path, found);
            path.pop();
        }),
        Value::Map(map) => map.iter().enumerate().for_each(|(at, entry)| {
            path.push(at);
            lone_scalars(&entry.value, text, path, found);
            path.pop();
        }),
    }
}

fn at<'n>(node: &'n mut Node, path: &[usize]) -> &'n mut Node {
    path.iter().fold(node, |node, at| {
        if node.is_map() {
            node.as_map_mut().expect("a map").value_at_mut(*at)
        } else {
            &mut node.as_seq_mut().expect("a sequence")[*at]
        }
    })
}

#[test]
fn an_edited_scalar_changes_its_line_and_no_other() {
    for_seeds(|seed, chance| {
        let before = Author::document(seed, chance);
        let mut doc = read(&before, seed);
        let mut places = Vec::new();
        lone_scalars(&doc.root, &before, &mut Vec::new(), &mut places);
        if places.is_empty() {
            return;
        }
        let place = chance.pick(&places).clone();
        at(&mut doc.root, &place).assign(Node::from(770_077));
        let after = preserve::document_unguarded(&doc);
        let shown = || format!("seed {seed}\n--- before\n{before}\n--- after\n{after}");
        let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
        assert_eq!(old.len(), new.len(), "{}", shown());
        assert_eq!(old.iter().zip(&new).filter(|(a, b)| a != b).count(), 1, "{}", shown());
        assert_eq!(read(&after, seed).root, doc.root, "{}", shown());
    });
}

/// The paths to all scalars within brackets, shared ones apart.
fn bracketed_scalars(node: &Node, within: bool, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    let within = within || node.style() == Style::Flow;
    let children: Vec<&Node> = match node.value() {
        _ if node.trivia().alias.is_some() || node.trivia().anchor.is_some() => Vec::new(),
        Value::Scalar(_) if within => return found.push(path.clone()),
        Value::Scalar(_) => Vec::new(),
        Value::Seq(items) => items.iter().collect(),
        Value::Map(map) => map.iter().map(|entry| &entry.value).collect(),
    };
    for (at, child) in children.into_iter().enumerate() {
        path.push(at);
        bracketed_scalars(child, within, path, found);
        path.pop();
    }
}

/// A value at the margin, below a key that is left out and has an anchor: found by fuzzing.
#[test]
fn a_value_below_a_key_without_a_text_can_be_replaced() {
    let mut document = krm_yaml::parse_str("&s:\n|").unwrap().remove(0);
    document.root.set("", krm_yaml::Node::from(""));
    let again = krm_yaml::parse_str(&document.text()).expect("an edited document is YAML");
    assert_eq!(again[0].root, document.root);
}

#[test]
fn comments_within_brackets_follow_the_tree() {
    for_seeds(|seed, chance| {
        let before = Author::document(seed, chance);
        let mut doc = read(&before, seed);
        let mut places = Vec::new();
        bracketed_scalars(&doc.root, false, &mut Vec::new(), &mut places);
        if places.is_empty() {
            return;
        }
        let place = chance.pick(&places).clone();
        let comment = *chance.pick(&["", "# new"]);
        let kind = chance.below(2);
        let target = at(&mut doc.root, &place[..place.len() - 1]);
        let last = place[place.len() - 1];
        let bearer = match target.as_map_mut() {
            Some(map) if kind == 0 => map.key_at_mut(last),
            Some(map) => map.value_at_mut(last),
            None => &mut target.as_seq_mut().expect("a sequence")[last],
        };
        match kind {
            0 => bearer.trivia_mut().head = comment.into(),
            _ => bearer.trivia_mut().line = comment.into(),
        }
        let after = preserve::document_unguarded(&doc);
        let shown =
            || format!("seed {seed} {place:?} {kind} {comment}\n--- before\n{before}\n--- after\n{after}");
        let again = read(&after, seed);
        assert_eq!(again.root, doc.root, "{}", shown());
        // Those at the end of a document may change hands, as they do in the reference.
        let all = |doc: &Document| {
            let mut all = comments_of(&doc.root);
            all.extend(doc.foot().lines().filter(|line| !line.is_empty()).map(str::to_owned));
            all.sort();
            all
        };
        assert_eq!(all(&again), all(&doc), "{}", shown());
    });
}

/// Every document of the files beside the repository, where they are.
fn found_documents() -> Vec<(String, Document)> {
    fn collect(folder: &std::path::Path, found: &mut Vec<(String, Document)>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, found);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let is_yaml = path.extension().is_some_and(|ext| ext == "yaml" || ext == "json");
                let docs = if is_yaml { parse_str(&text).unwrap_or_default() } else { Vec::new() };
                found.extend(docs.into_iter().map(|doc| (path.display().to_string(), doc)));
            }
        }
    }
    let mut found = Vec::new();
    collect(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"),
        &mut found,
    );
    // The suite is one long list of texts.
    let rows = found
        .iter()
        .filter(|(path, _)| path.ends_with("suite.json"))
        .flat_map(|(_, doc)| doc.root.items().to_vec());
    let texts: Vec<String> = rows.filter_map(|row| Some(row.get("yaml")?.as_str()?.to_owned())).collect();
    for text in texts {
        found.extend(parse_str(&text).unwrap_or_default().into_iter().map(|doc| (format!("{text:?}"), doc)));
    }
    if found.is_empty() {
        println!("left out: the conformance files are not there");
    }
    found
}

#[test]
fn edited_files_read_back_as_the_edited_tree() {
    let (first, rounds) = (number("FIRST").unwrap_or(0), edits() / 3000);
    for (place, original) in found_documents().iter().filter(|(_, doc)| doc.span().len() < 100_000) {
        for round in first..first + rounds {
            let mut doc = original.clone();
            let seed = doc.span().len() as u64 * 1000 + round;
            with_chance(seed, |chance| edit(&mut doc.root, chance, 0));
            let after = preserve::document_unguarded(&doc);
            let shown = || {
                let before = &doc.source().text()[doc.span().range()];
                format!("{place}\n--- before\n{before}\n--- after\n{after}\n--- tree\n{:?}", doc.root)
            };
            let again = parse_str(&after).unwrap_or_else(|error| panic!("{error:?} {}", shown()));
            assert_eq!(again.len(), 1, "{}", shown());
            assert_eq!(again[0].root, doc.root, "{}", shown());
        }
    }
}

#[test]
fn a_tab_before_a_root_goes_with_it() {
    let mut doc = parse_str("\t{}\n").unwrap().remove(0);
    doc.root = Node::from("first\nsecond\n");
    assert_eq!(preserve::document_unguarded(&doc), "|\n  first\n  second\n");
}
