//! What must hold of every merge, tried on trees made at random.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use arbtest::arbitrary::Unstructured;
use arbtest::arbtest;
use krm_engine::merge::{Destination, File, Merged, Options, Side, merge_files, merge3_files, three_way};
use krm_engine::{Node, Schema};
use krm_yaml::{Document, Source, Style};

/// Tries a property on trees made at random: the same ones in every run, so that what passes for one passes for all.
///
/// A failure names its seed: `arbtest(..).seed(..).minimize()` in its place looks for a smaller tree that fails too.
/// `KRM_ROUNDS` asks for more trees, `KRM_FIRST_SEED` for others.
fn for_all(property: impl Fn(&mut Random)) {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first: u64 = from_environment("KRM_FIRST_SEED").unwrap_or(0);
    for seed in first..first + from_environment("KRM_ROUNDS").unwrap_or(300) {
        let property = |bytes: &mut Unstructured| {
            property(&mut Random(bytes));
            Ok(())
        };
        arbtest(property).seed(seed << 32 | BYTES).run();
    }
}

/// How much chance goes into one round: enough for a few large trees. The low half of a seed is this size.
const BYTES: u64 = 8192;

const INFER: Options = Options { infer: true, prepend: false, as_reference: false };

struct Random<'r, 'b>(&'r mut Unstructured<'b>);

impl Random<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.int_in_range(0..=n - 1).expect("without bytes it is the first")
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// A text, with comments.
    fn text(&mut self) -> String {
        Writer::text(self, true)
    }
}

/// Writes random YAML, in the many ways people do.
struct Writer<'w, 'r, 'b> {
    random: &'w mut Random<'r, 'b>,
    out: String,
    comments: bool,
}

const KEYS: [&str; 8] = ["alpha", "beta", "gamma", "delta", "'quoted'", "\"double\"", "with-dash", "x.y/z"];
const SCALARS: [&str; 12] = [
    "1",
    "two",
    "'three'",
    "\"4\"",
    "true",
    "5.5",
    "six seven",
    "\"\"",
    "0x10",
    "'a: b'",
    "~x",
    "2024-01-01",
];

impl<'w, 'r, 'b> Writer<'w, 'r, 'b> {
    fn text(random: &'w mut Random<'r, 'b>, comments: bool) -> String {
        let mut writer = Writer { random, out: String::new(), comments };
        if comments && writer.random.chance(30) {
            writer.out.push_str("# in front\n\n");
        }
        writer.out.push_str("apiVersion: v1\nkind: Thing\nmetadata:\n  name: thing\nspec:");
        writer.value(2, 4);
        writer.out
    }

    fn comment(&mut self, indent: usize) {
        if self.comments && self.random.chance(5) {
            self.out.push('\n');
        }
        if self.comments && self.random.chance(20) {
            let word = self.random.pick(&["one", "two", "three"]);
            self.out.push_str(&format!("{:indent$}# {word}\n", ""));
        }
    }

    fn end_line(&mut self) {
        if self.comments && self.random.chance(15) {
            let spaces = if self.random.chance(30) { "  " } else { " " };
            self.out.push_str(&format!("{spaces}# behind"));
        }
        self.out.push('\n');
    }

    /// A value after `key:` or `-`.
    fn value(&mut self, indent: usize, depth: usize) {
        match self.random.below(if depth == 0 { 4 } else { 10 }) {
            0..4 => {
                let scalar = self.random.pick(&SCALARS);
                self.out.push_str(&format!(" {scalar}"));
                self.end_line();
            }
            4 => {
                let flow =
                    self.random.pick(&["[]", "{}", "[a, b]", "{a: 1}", "[1, {b: 2}]", "|", "[a,", "{a:"]);
                self.out.push_str(&format!(" {flow}"));
                self.end_line();
                let rest = match flow {
                    "|" => "line\n",
                    "[a," => "b]",
                    "{a:" => "1, b: 2}",
                    _ => return,
                };
                self.out.push_str(&format!("{:indent$}{rest}", ""));
                match rest {
                    "line\n" if self.random.chance(50) => {
                        self.out.push_str(&format!("\n{:indent$}  # no comment\n", ""));
                    }
                    "line\n" => {}
                    _ => self.end_line(),
                }
            }
            5 | 6 => {
                self.end_line();
                let wide = if self.random.chance(30) { 2 } else { 0 };
                self.list(indent - 2 + wide, depth - 1);
            }
            _ => {
                self.end_line();
                self.map(indent, depth - 1);
            }
        }
    }

    fn map(&mut self, indent: usize, depth: usize) {
        let mut keys: Vec<&str> = KEYS.into_iter().filter(|_| self.random.chance(40)).collect();
        if keys.is_empty() {
            keys.push("only");
        }
        if self.random.chance(50) {
            keys.reverse();
        }
        for key in keys {
            self.comment(indent);
            self.out.push_str(&format!("{:indent$}{key}:", ""));
            self.value(indent + 2, depth);
        }
    }

    fn list(&mut self, indent: usize, depth: usize) {
        let named = self.random.chance(50);
        let mut names: Vec<&str> =
            ["web", "db", "'cache'", "log"].into_iter().filter(|_| self.random.chance(60)).collect();
        if names.is_empty() {
            names.push("web");
        }
        if self.random.chance(50) {
            names.reverse();
        }
        for name in names {
            self.comment(indent);
            match named {
                true => {
                    self.out.push_str(&format!("{:indent$}- name: {name}", ""));
                    self.end_line();
                    self.map(indent + 2, depth.saturating_sub(1));
                }
                false => {
                    let scalar = self.random.pick(&SCALARS);
                    self.out.push_str(&format!("{:indent$}- {scalar}", ""));
                    self.end_line();
                }
            }
        }
        self.comment(indent);
    }
}

fn file(text: &str) -> File {
    File::read("a.yaml", &Source::detached("a.yaml", text)).unwrap_or_else(|e| panic!("{e:?} in\n{text}"))
}

fn root(text: &str) -> Node {
    file(text).documents.remove(0).root
}

fn merge(source: &str, dest: &str, options: Options) -> String {
    let merged =
        merge_files(&[file(source)], vec![file(dest)], Destination::OneFile, &Schema::builtin(), options);
    merged.unwrap().files[0].text()
}

fn merge3(original: &str, updated: &str, dest: &str) -> String {
    let [o, u, d] = [original, updated, dest].map(file);
    let into = Destination::OneFile;
    let merged = merge3_files(&[o], &[u], vec![d], into, Side::Theirs, &Schema::builtin(), INFER);
    merged.unwrap().files[0].text()
}

#[test]
fn merging_a_text_with_itself_changes_no_byte() {
    for_all(|random| {
        let text = random.text();
        for prepend in [false, true] {
            assert_eq!(merge(&text, &text, Options { prepend, ..INFER }), text);
        }
    });
}

#[test]
fn an_update_that_changes_nothing_changes_no_byte() {
    for_all(|random| {
        let (original, dest) = (random.text(), random.text());
        assert_eq!(merge3(&original, &original, &dest), dest);
    });
}

#[test]
fn a_destination_that_is_the_original_becomes_the_update() {
    for_all(|random| {
        let comments = random.chance(50);
        let [original, updated] = [(); 2].map(|()| Writer::text(random, comments));
        let merged = merge3(&original, &updated, &original);
        assert_eq!(root(&merged), root(&updated), "{original}---\n{updated}---\n{merged}");
        let trees = three_way(
            Some(&root(&original)),
            &root(&updated),
            &root(&original),
            Side::Theirs,
            &Schema::builtin(),
            INFER,
        );
        let (_, conflicts) = trees.unwrap();
        assert!(conflicts.is_empty(), "nobody else changed anything");
    });
}

#[test]
fn merging_twice_changes_nothing_more() {
    for_all(|random| {
        let (mut source, dest) = (random.text(), random.text());
        if random.chance(50) {
            // What goes takes the comments next to it along.
            source = source.replace(": two\n", ": null\n");
        }
        for prepend in [false, true] {
            let options = Options { prepend, ..INFER };
            let once = merge(&source, &dest, options);
            assert_eq!(merge(&source, &once, options), once, "{source}---\n{dest}");
        }
        let updated = random.text();
        let once = merge3(&source, &updated, &dest);
        let again = merge3(&source, &updated, &once);
        assert_eq!(again, once, "{source}---\n{dest}---\n{updated}");
    });
}

/// What is read back is what the merge made: every value, and every comment where it was.
#[test]
fn the_text_says_what_the_tree_does() {
    for_all(|random| {
        let [source, dest, updated] = [(); 3].map(|()| random.text());
        let [s, d, u] = [&source, &dest, &updated].map(|text| file(text));
        let schema = Schema::builtin();
        let into = Destination::OneFile;
        let two = merge_files(std::slice::from_ref(&s), vec![d.clone()], into, &schema, INFER).unwrap().files;
        let three = merge3_files(&[s], &[u], vec![d], into, Side::Theirs, &schema, INFER).unwrap().files;
        for merged in [&two[0], &three[0]] {
            let (text, document) = (merged.text(), &merged.documents[0]);
            let again = file(&text).documents.remove(0);
            let texts = format!("{source}---\n{dest}---\n{updated}---\n{text}");
            assert_eq!(again.root, document.root, "{texts}");
            let lost = missing(&comments(document), &comments(&again));
            assert!(lost.is_empty(), "{lost:?} of {texts}");
        }
    });
}

/// All lines of all comments, but for those within brackets: they stay with the brackets.
fn comments(document: &Document) -> Vec<String> {
    fn collect(node: &Node, all: &mut Vec<String>) {
        let trivia = node.trivia();
        for text in [&trivia.head, &trivia.line, &trivia.foot] {
            all.extend(text.lines().filter(|line| !line.is_empty()).map(str::to_owned));
        }
        if node.style() == Style::Flow {
            return;
        }
        node.as_map().into_iter().flatten().for_each(|entry| {
            collect(&entry.key, all);
            collect(&entry.value, all);
        });
        node.items().iter().for_each(|item| collect(item, all));
    }
    let margins = [document.head(), document.foot()].into_iter().flat_map(str::lines);
    let mut all: Vec<String> = margins.map(str::to_owned).collect();
    collect(&document.root, &mut all);
    all.sort();
    all
}

/// What the first list has more often than the second.
fn missing(of: &[String], from: &[String]) -> Vec<String> {
    let count = |list: &[String], line: &String| list.iter().filter(|other| *other == line).count();
    of.iter().filter(|line| count(of, line) > count(from, line)).cloned().collect()
}

/// A part that neither the source nor an update mentions stays as it is: order, comments, layout.
#[test]
fn parts_nobody_speaks_of_keep_every_byte() {
    for_all(|random| {
        let [source, dest, updated] = [(); 3].map(|()| random.text());
        let other = random.text();
        let own = other.split_once("\nspec:").expect("every text has a spec").1;
        let dest = dest.replacen("\nspec:", &format!("\nown:{own}spec:"), 1);
        let dest = format!("{dest}mine:{own}");
        for merged in [merge(&source, &dest, INFER), merge3(&source, &updated, &dest)] {
            let texts = format!("{source}---\n{dest}---\n{updated}---\n{merged}");
            assert!(merged.contains(&format!("\nown:{own}")), "{texts}");
            assert!(merged.contains(&format!("\nmine:{own}")), "{texts}");
        }
    });
}

#[test]
fn only_the_lines_of_a_changed_field_change() {
    for_all(|random| {
        let dest = random.text();
        let source = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: thing\n  labels: {new: label}\n";
        let merged = merge(source, &dest, INFER);
        let expected = dest.replacen("  name: thing\n", "  name: thing\n  labels: {new: label}\n", 1);
        assert_eq!(merged, expected);
    });
}

/// Whatever is written: the answer is a result or a diagnostic.
#[test]
fn nothing_makes_it_panic() {
    for_all(|random| {
        let mut spoiled = || {
            let mut bytes = random.text().into_bytes();
            for _ in 0..random.below(6) {
                let at = random.below(bytes.len());
                let byte = *b"- :#[]{}&*!|>'\"\n~$<"[random.below(19)..].first().expect("within");
                match random.below(3) {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    _ => drop(bytes.remove(at)),
                }
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            File::read("a.yaml", &Source::detached("a.yaml", text))
        };
        let [Ok(a), Ok(b), Ok(c)] = [(); 3].map(|()| spoiled()) else { return };
        let schema = Schema::builtin();
        for options in [INFER, Options::PATCH, Options { prepend: true, ..INFER }] {
            let into = Destination::OneFile;
            let merged = merge_files(std::slice::from_ref(&a), vec![b.clone()], into, &schema, options);
            if let Ok(merged) = merged {
                merged.files[0].text();
            }
            let [original, updated] = [std::slice::from_ref(&a), std::slice::from_ref(&b)];
            for side in [Side::Theirs, Side::Ours] {
                let dest = vec![c.clone()];
                if let Ok(merged) = merge3_files(original, updated, dest, into, side, &schema, options) {
                    merged.files[0].text();
                }
            }
        }
    });
}

#[test]
fn what_did_not_change_is_shared() {
    let dest = root("a: {b: {c: 1}}\nd: {e: [1, 2]}\n");
    let source = root("a: {b: {c: 2}}\n");
    let merged = krm_engine::merge::two_way(&source, &dest, &Schema::builtin(), INFER).unwrap();
    let Merged::Changed(merged) = merged else { panic!("something changed") };
    assert!(merged.get("d").unwrap().same(dest.get("d").unwrap()));
    assert!(!merged.get("a").unwrap().same(dest.get("a").unwrap()));
}
