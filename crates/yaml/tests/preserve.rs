//! Edits, and the text they leave behind. Every case is also read again: it must mean what the edited tree means.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use krm_yaml::emit::preserve;
use krm_yaml::path::Missing;
use krm_yaml::{Document, Node, Path, Style, Trivia, parse_str};

fn one(text: &str) -> Document {
    let mut docs = parse_str(text).unwrap_or_else(|error| panic!("{error:?} in {text:?}"));
    assert_eq!(docs.len(), 1, "{text:?}");
    docs.remove(0)
}

/// A value from its YAML.
fn yaml(text: &str) -> Node {
    one(text).root
}

fn set(path: &str, value: impl Into<Node>) -> impl FnOnce(&mut Node) {
    let (path, value) = (Path::dotted(path).unwrap(), value.into());
    move |root| path.set(root, value, Missing::Create).unwrap()
}

fn remove(path: &str) -> impl FnOnce(&mut Node) {
    let path = Path::dotted(path).unwrap();
    move |root| drop(path.remove(root, Missing::Refuse).unwrap())
}

fn append(path: &str, value: impl Into<Node>) -> impl FnOnce(&mut Node) {
    let (path, value) = (Path::dotted(path).unwrap(), value.into());
    move |root| path.append(root, value, Missing::Create).unwrap()
}

/// Edits a document and compares its text.
#[track_caller]
fn check(before: &str, edit: impl FnOnce(&mut Node), after: &str) {
    let mut doc = one(before);
    edit(&mut doc.root);
    let text = preserve::document_unguarded(&doc);
    assert_eq!(text, after, "\n--- got\n{text}\n--- expected\n{after}");
    assert_eq!(yaml(&text), doc.root, "read again:\n{text}");
}

#[test]
fn nothing_changed() {
    for text in ["", "a: 1", "# only a comment\n", "---\n...\n", "\u{feff}a: 1\n", "a:   'x'   # y\r\n"] {
        for doc in parse_str(text).unwrap() {
            assert_eq!(doc.text(), text);
        }
    }
}

#[test]
fn scalars_keep_their_style_and_comment() {
    check("a: 1 # one\nb: 2\n", set("a", 3), "a: 3 # one\nb: 2\n");
    check("a: \"x\"   # why\n", set("a", "y"), "a: \"y\"   # why\n");
    check("a: 'x'\n", set("a", "it's"), "a: 'it''s'\n");
    check("a: x\n", set("a", "y: z"), "a: 'y: z'\n");
    check("a: x\n", set("a", "yes"), "a: \"yes\"\n");
    check("a: x\n", set("a", "1"), "a: \"1\"\n");
    check("a: \"1\"\n", set("a", 2), "a: 2\n");
    check("a: one\n  two\nb: 2\n", set("a", "three"), "a: three\nb: 2\n");
    check("a:\n  one # c\nb: 2\n", set("a", "two"), "a:\n  two # c\nb: 2\n");
    check("a:\nb: 2\n", set("a", "x"), "a: x\nb: 2\n");
    check("a: # c\nb: 2\n", set("a", "x"), "a: x # c\nb: 2\n");
    check("- a # c\n-\n- b\n", set("1", "x"), "- a # c\n- x\n- b\n");
    check("a: x", set("a", "z"), "a: z");
    check("x", |root| *root = Node::from("z"), "z");
    check("--- x # c\n", |root| root.assign("z".into()), "--- z # c\n");
    check("a: {b: \"x\", c: 1}\n", set("a.b", "y"), "a: {b: \"y\", c: 1}\n");
    check("a: {b: x, c: 1}\n", set("a.b", "y, z"), "a: {b: 'y, z', c: 1}\n");
}

#[test]
fn block_scalars_stay_blocks() {
    check("a: |\n  x\nb: 1\n", set("a", "y\nz\n"), "a: |\n  y\n  z\nb: 1\n");
    check("a: | # c\n    x\n    y\nb: 1\n", set("a", "y\n"), "a: | # c\n    y\nb: 1\n");
    check("a: |-\n  x\nb: 1\n", set("a", "y\n\n"), "a: |+\n  y\n\nb: 1\n");
    check("a: |+\n  x\n\nb: 1\n", set("a", "y"), "a: |-\n  y\nb: 1\n");
    check("a: |\n  x\nb: 1\n", set("a", " y\n"), "a: |2\n   y\nb: 1\n");
    check("a: |\n  x", set("a", "y\n"), "a: |\n  y\n");
    check("a: |\n  x\n", set("a", "y \nz"), "a: \"y \\nz\"\n");
    check("a: >\n  x\n  y\nb: 1\n", set("a", "z\nw\n"), "a: >\n  z\n\n  w\nb: 1\n");
    check("a: | # c\n  x\nb: 1\n", set("a", 1), "a: 1 # c\nb: 1\n");
    check("a: 1 # c\nb: 1\n", set("a", "x\ny\n"), "a: | # c\n  x\n  y\nb: 1\n");
    check("- |\n  x\n- 1\n", set("0", "y\nz"), "- |-\n  y\n  z\n- 1\n");
    check("- - |\n    x\n", set("0.0", " y\n"), "- - |2\n     y\n");
}

#[test]
fn entries_are_added_where_they_stand() {
    check("a: 1\nb: 2\n", set("c", 3), "a: 1\nb: 2\nc: 3\n");
    check("a: 1\nb: 2", set("c", 3), "a: 1\nb: 2\nc: 3\n");
    check("a: 1\r\nb: 2\r\n", set("c.d", 3), "a: 1\r\nb: 2\r\nc:\r\n  d: 3\r\n");
    check("m:\n    a: 1\nn: 2\n", set("m.b.c", 3), "m:\n    a: 1\n    b:\n        c: 3\nn: 2\n");
    check(
        "a: 1\n\n# about b\nb: 2\n",
        |root| root.as_map_mut().unwrap().insert_at(1, "x".into(), 9.into()),
        "a: 1\nx: 9\n\n# about b\nb: 2\n",
    );
    check(
        "# about a\na: 1\n",
        |root| root.as_map_mut().unwrap().insert_at(0, "x".into(), 9.into()),
        "x: 9\n# about a\na: 1\n",
    );
    check("- a: 1\n- b: 2\n", set("0.c", 3), "- a: 1\n  c: 3\n- b: 2\n");
    check(
        "- a: 1\n  b: 2\n",
        |root| root.as_seq_mut().unwrap()[0].as_map_mut().unwrap().insert_at(0, "x".into(), 9.into()),
        "- x: 9\n  a: 1\n  b: 2\n",
    );
    check("a: {}\n", set("a.b", 1), "a:\n  b: 1\n");
    check("a: [] # none\nb: 1\n", append("a", "x"), "a: # none\n- x\nb: 1\n");
    check("w:\n  - 1\na: []\n", append("a", "x"), "w:\n  - 1\na:\n  - x\n");
    check("a:\nb: 1\n", set("a.x", 1), "a:\n  x: 1\nb: 1\n");
    check("a: 1 # c\nb: 1\n", set("a", yaml("x: 1\ny: 2")), "a: # c\n  x: 1\n  y: 2\nb: 1\n");
    check("- 1\n- 2\n", set("0", yaml("x: 1\ny: 2")), "- x: 1\n  y: 2\n- 2\n");
}

#[test]
fn entries_are_removed_with_their_lines() {
    check("a: 1\nb: 2\nc: 3\n", remove("b"), "a: 1\nc: 3\n");
    check("a: 1\n\nb: 2\n\nc: 3\n", remove("b"), "a: 1\n\nc: 3\n");
    check("a: 1\n\nb: 2\n", remove("b"), "a: 1\n");
    check("a: 1\n\nb: 2\n", remove("a"), "b: 2\n");
    check("m:\n  a: 1\n\n  b:\n    c: 2\nn: 3\n", remove("m.b"), "m:\n  a: 1\nn: 3\n");
    check("m:\n  a: 1\nn: 3\n", remove("m.a"), "m: {}\nn: 3\n");
    check("m: # c\n  a: 1\nn: 3\n", remove("m.a"), "m: {} # c\nn: 3\n");
    check("m:\n- a\nn: 3\n", remove("m.0"), "m: []\nn: 3\n");
    check("- a: 1\n  b: 2\n", remove("0.a"), "- b: 2\n");
    check("- a: 1\n  b: 2\n- c: 1\n", remove("0"), "- c: 1\n");
    check("- - x\n  - y\n", remove("0.0"), "- - y\n");
    check("a: 1\n", remove("a"), "{}\n");
    check("a: |+\n  x\n\nb: 1\n\nc: 2\n", remove("b"), "a: |+\n  x\n\nc: 2\n");
}

#[test]
fn items_follow_the_style_around_them() {
    check("l:\n- a\n- b # c\nm: 1\n", append("l", "x"), "l:\n- a\n- b # c\n- x\nm: 1\n");
    check("l:\n  - a\nm: 1\n", append("l", yaml("k: v\nw: 1")), "l:\n  - a\n  - k: v\n    w: 1\nm: 1\n");
    check("l:\n  - a\nm: 1\n", set("k.0", "x"), "l:\n  - a\nm: 1\nk:\n  - x\n");
    check("l:\n- a\nm: 1\n", set("k.0", "x"), "l:\n- a\nm: 1\nk:\n- x\n");
    check("- a\n\n- b\n", |root| root.as_seq_mut().unwrap().push("x".into()), "- a\n\n- b\n\n- x\n");
    check("l: [a, b]\n", append("l", "x"), "l: [a, b, x]\n");
    check("l: [ a ]\n", append("l", "x"), "l: [ a, x ]\n");
    check("l: [\n  a,\n  b\n]\n", append("l", "x"), "l: [\n  a,\n  b,\n  x\n]\n");
    check("l: [a, b, c]\n", remove("l.1"), "l: [a, c]\n");
    check("l: [a]\n", remove("l.0"), "l: []\n");
    check("m: {a: 1, b: 2}\n", set("m.c", "x: y"), "m: {a: 1, b: 2, c: 'x: y'}\n");
    check("m: {a: 1, b: 2}\n", remove("m.a"), "m: {b: 2}\n");
    check("m: {a}\n", set("m.a", 1), "m: {a: 1}\n");
    check("m: [x: y]\n", set("m.0.x", 1), "m: [x: 1]\n");
    check("m: [x: y]\n", set("m.0.z", 1), "m: [{x: y, z: 1}]\n");
}

#[test]
fn json_stays_json() {
    check(
        "{\n  \"a\": 1,\n  \"l\": [1, 2],\n  \"e\": {}\n}\n",
        |root| {
            root.set("b", "x");
            set("e.k", "v")(root);
            append("l", "s")(root);
        },
        "{\n  \"a\": 1,\n  \"l\": [1, 2, \"s\"],\n  \"e\": {\"k\": \"v\"},\n  \"b\": \"x\"\n}\n",
    );
    check("{\"a\":1,\"b\":2}", set("c", true), "{\"a\":1,\"b\":2,\"c\": true}");
}

#[test]
fn blocks_move_with_their_order() {
    check(
        "a: 1\nb:\n  x: 1\nc: 3\n",
        |root| root.as_map_mut().unwrap().entries_mut().reverse(),
        "c: 3\nb:\n  x: 1\na: 1\n",
    );
    check(
        "- a: 1\n  b: 2\n- c: 3\n",
        |root| {
            root.as_seq_mut().unwrap().reverse();
            root.as_seq_mut().unwrap()[1].as_map_mut().unwrap().entries_mut().reverse();
        },
        "- c: 3\n- b: 2\n  a: 1\n",
    );
    check("- a\n- b\n- c", |root| root.as_seq_mut().unwrap().rotate_left(1), "- b\n- c\n- a\n");
    let reversed = |head: &'static str| {
        move |root: &mut Node| {
            let map = root.as_seq_mut().unwrap()[0].as_map_mut().unwrap();
            map.entries_mut().reverse();
            map.key_at_mut(0).trivia_mut().head = head.into();
        }
    };
    check("- a: 1\n  b: 2\n", reversed("# why"), "- # why\n  b: 2\n  a: 1\n");
    check("- a: 1\n  # why\n  b: 2\n", reversed(""), "- b: 2\n  a: 1\n");
}

#[test]
fn keys_are_renamed_in_place() {
    check(
        "a: 1 # one\n'b': 2 # two\n",
        |root| root.as_map_mut().unwrap().rename(1, "c d"),
        "a: 1 # one\n'c d': 2 # two\n",
    );
}

#[test]
fn aliases_stay_true() {
    let text = "a: &x\n  k: 1\nb: *x\nc: *x\n";
    check(text, set("a.k", 2), "a: &x\n  k: 2\nb:\n  k: 1\nc:\n  k: 1\n");
    check(text, set("b.k", 2), "a: &x\n  k: 1\nb:\n  k: 2\nc: *x\n");
    check(
        text,
        |root| ["a", "b", "c"].iter().for_each(|key| root.get_mut(key).unwrap().set("k", 2)),
        "a: &x\n  k: 2\nb: *x\nc: *x\n",
    );
    check(text, remove("a"), "b:\n  k: 1\nc:\n  k: 1\n");
    check("a: &x 1\nb: *x # c\n", set("a", 2), "a: &x 2\nb: 1 # c\n");
    check("a: &x 1\nb: [*x, 2]\n", set("a", 2), "a: &x 2\nb: [1, 2]\n");
    check("a: !!str 1\n", set("a", "x"), "a: x\n");
    check("a: !t {x: 1}\n", set("a.x", 2), "a: !t {x: 2}\n");
}

#[test]
fn a_comment_goes_with_the_block_a_text_replaces() {
    check(
        "a:\n  b:\n      x: 1\n    # deep\n\n  c: 2\nd: 3\n",
        |root| {
            remove("a.c")(root);
            set("a.b", yaml("|\n  line\n"))(root);
            let map = root.get_mut("a").unwrap().as_map_mut().unwrap();
            map.key_at_mut(0).clear_trivia();
        },
        "a:\n  b: |\n      line\nd: 3\n",
    );
}

#[test]
fn comments_above_a_document_are_replaced() {
    for (before, head, after) in [
        ("# a\n# b\n\n# c\nx: 1\n", "# d", "# d\n\n# c\nx: 1\n"),
        ("\n# a\n\n# b\n\nx: 1\n", "# d\n\n# e", "\n# d\n\n# e\n\nx: 1\n"),
        ("# a\n\n\n# c\nx: 1\n", "", "# c\nx: 1\n"),
        ("x: 1\n", "# d", "# d\n\nx: 1\n"),
        ("\u{feff}x: 1\r\n", "# d", "\u{feff}# d\r\n\r\nx: 1\r\n"),
        ("# a\n\n---\nx: 1\n", "# d", "# d\n\n---\nx: 1\n"),
        ("%YAML 1.1\n---\n\n# a\n\nx: 1\n", "# d", "%YAML 1.1\n---\n\n# d\n\nx: 1\n"),
    ] {
        let mut doc = one(before);
        doc.set_head(head);
        let text = preserve::document_unguarded(&doc);
        assert_eq!(text, after, "of {before:?}");
        assert_eq!(one(&text).head(), head, "of {before:?}");
        assert_eq!(doc.text(), after, "of {before:?}");
    }
}

#[test]
fn roots_are_replaced() {
    check("# c\na: 1\n", |root| *root = yaml("- x"), "# c\n- x\n");
    check("--- x\n", |root| *root = yaml("a: 1"), "---\na: 1\n");
    check("# nothing\n", |root| *root = yaml("a: 1"), "# nothing\na: 1\n");
    check("---\n# nothing\n...\n", |root| *root = yaml("a: 1"), "---\n# nothing\na: 1\n...\n");
    check("a: 1\nb: 2\n", |root| *root = Node::from("x"), "x\n");
}

#[test]
fn streams_keep_their_separators() {
    let text = "a: 1\n---\nb: 2\n---\nc: 3";
    let docs = parse_str(text).unwrap();
    assert_eq!(preserve::stream(&docs), text);
    assert_eq!(preserve::stream(&docs[1..]), "---\nb: 2\n---\nc: 3");
    assert_eq!(preserve::stream(&[docs[0].clone(), docs[2].clone()]), "a: 1\n---\nc: 3");
    assert_eq!(preserve::stream(&[docs[2].clone(), docs[0].clone()]), "---\nc: 3\n---\na: 1\n");
    let mut edited = docs.clone();
    edited[1].root.set("b", 20);
    assert_eq!(preserve::stream(&edited), "a: 1\n---\nb: 20\n---\nc: 3");
}

#[test]
fn fresh_trees_follow_their_styles() {
    let mut node = yaml("a:\n- x: 1\n  y: [p, 'q']\n- - 1\nb: |\n  t\nc: {}\n");
    node.set("d", "yes");
    node.set("e", Node::from("v").with_style(Style::DoubleQuoted));
    let expected = "a:\n- x: 1\n  y: [p, 'q']\n- - 1\nb: |\n  t\nc: {}\nd: \"yes\"\ne: \"v\"\n";
    assert_eq!(preserve::fresh(&node), expected);
    let wide = preserve::fresh_with(&node, preserve::Layout::WIDE);
    assert!(wide.starts_with("a:\n  - x: 1\n    y: [p, 'q']\n  - - 1\nb:"), "{wide}");
}

#[test]
fn comments_go_with_what_they_are_about() {
    let text = "# doc\n\n# about a\na: 1 # one\n# below a\n\n# about b\nb: # block\n  # about c\n  c: 2\n  # below c\n\n# about d\nd: 3\n";
    check(
        text,
        remove("a"),
        "# doc\n\n# about b\nb: # block\n  # about c\n  c: 2\n  # below c\n\n# about d\nd: 3\n",
    );
    check(text, remove("b"), "# doc\n\n# about a\na: 1 # one\n# below a\n\n# about d\nd: 3\n");
    check(
        text,
        remove("b.c"),
        "# doc\n\n# about a\na: 1 # one\n# below a\n\n# about b\nb: {} # block\n\n# about d\nd: 3\n",
    );
    check(
        text,
        remove("d"),
        "# doc\n\n# about a\na: 1 # one\n# below a\n\n# about b\nb: # block\n  # about c\n  c: 2\n  # below c\n",
    );
    check(
        text,
        |root| {
            let map = root.as_map_mut().unwrap();
            let a = map.entries_mut().remove(0);
            map.entries_mut().push(a);
        },
        "# doc\n\n# about b\nb: # block\n  # about c\n  c: 2\n  # below c\n\n# about d\nd: 3\n\n# about a\na: 1 # one\n# below a\n",
    );
    check("- a # one\n# about b\n- b # two\n", remove("1"), "- a # one\n");
    check("- - a\n  # about b\n  - b\n", remove("0.0"), "- # about b\n  - b\n");
    check("- - a\n  # about b\n  - b\n", set("0", vec![Node::from("b")]), "- - b\n");
    check("- a # one\n# about b\n- b # two\n", remove("0"), "# about b\n- b # two\n");
}

#[test]
fn comments_can_be_edited() {
    let line = |key: &'static str, comment: &'static str| {
        move |root: &mut Node| root.get_mut(key).unwrap().trivia_mut().line = comment.into()
    };
    check("a: 1 # one\nb: 2\n", line("a", "# uno"), "a: 1 # uno\nb: 2\n");
    check("a: 1 # one\nb: 2\n", line("a", ""), "a: 1\nb: 2\n");
    check("a: 1 # one\nb: 2\n", line("b", "# two"), "a: 1 # one\nb: 2 # two\n");
    check("a: |\n  x\nb: 2\n", line("a", "# text"), "a: | # text\n  x\nb: 2\n");
    check("a:\n  x: 1\nb: 2\n", line("a", "# map"), "a: # map\n  x: 1\nb: 2\n");
    check("a: [1] # c\nb: 2\n", line("a", "# d"), "a: [1] # d\nb: 2\n");
    check(
        "- - 1\n  - 2\n",
        |root| root.as_seq_mut().unwrap()[0].trivia_mut().line = "# pair".into(),
        "- # pair\n  - 1\n  - 2\n",
    );
    let head = |at: usize, comment: &'static str| {
        move |root: &mut Node| root.as_map_mut().unwrap().key_at_mut(at).trivia_mut().head = comment.into()
    };
    check("# h\na: 1\nb: 2\n", head(0, "# i\n# j"), "# i\n# j\na: 1\nb: 2\n");
    check("# h\na: 1\nb: 2\n", head(0, ""), "a: 1\nb: 2\n");
    check("m:\n  a: 1\n", |root| head(0, "# new")(root.get_mut("m").unwrap()), "m:\n  # new\n  a: 1\n");
    let foot = |at: usize, comment: &'static str| {
        move |root: &mut Node| root.as_map_mut().unwrap().key_at_mut(at).trivia_mut().foot = comment.into()
    };
    check("a: 1\n# f\n\nb: 2\n", foot(0, "# g"), "a: 1\n# g\n\nb: 2\n");
    check("a: 1\n# f\n\nb: 2\n", foot(0, ""), "a: 1\n\nb: 2\n");
    let doc = {
        let mut doc = one("# h\na: 1 # one\n");
        doc.root = yaml("a: 2");
        doc
    };
    assert_eq!(doc.text(), "a: 2\n");
}

#[test]
fn documents_can_be_added() {
    let mut docs = parse_str("a: 1\n...\n").unwrap();
    docs.insert(0, Document::made(yaml("b: 2")));
    docs.push(Document::made(yaml("c: 3")));
    let text = preserve::stream(&docs);
    assert_eq!(text, "b: 2\n---\na: 1\n...\n---\nc: 3\n");
    assert_eq!(parse_str(&text).unwrap().len(), 3);
}

#[test]
fn fresh_trees_have_their_comments_as_the_reference_puts_them() {
    // Read, and rewritten: indentation, blank lines and the distance of comments are the writer's.
    let cases = [
        ("a:   1    # one\n\n\nb: 2\n", "a: 1 # one\nb: 2\n"),
        ("# doc\n\n# head\na: 1\n", "# doc\n\n# head\na: 1\n"),
        ("a: 1\n# foot\n\nb: 2\n", "a: 1\n# foot\n\nb: 2\n"),
        (
            "m:\n    # about x\n    x: 1\n    # below x\n\nn: 2\n",
            "m:\n  # about x\n  x: 1\n  # below x\nn: 2\n",
        ),
        ("m: # c\n    x: 1\n", "m: # c\n  x: 1\n"),
        (
            "l:\n    # about p\n    -   p # one\n    # about q\n    -   k: q\n        w: 1\n",
            "l:\n# about p\n- p # one\n# about q\n- k: q\n  w: 1\n",
        ),
        ("t: | # c\n     x\n", "t: | # c\n  x\n"),
        ("f: [a,   b] # c\n", "f: [a, b] # c\n"),
        ("f: [a, # one\n  b]\n", "f: [a, # one\n  b]\n"),
        ("a: &x {k: 1}\nb: *x\n", "a: &x {k: 1}\nb: *x\n"),
        ("a: !!str 1\nb: !t x\n", "a: !!str 1\nb: !t x\n"),
        ("? [x]\n: 1\n", "? [x]\n: 1\n"),
        ("a: 1\n\n# the end\n", "a: 1\n\n# the end\n"),
    ];
    for (before, after) in cases {
        let doc = one(before);
        let text = preserve::fresh_document(doc.head(), &doc.root, doc.foot(), preserve::Layout::COMPACT);
        assert_eq!(text, after, "of {before:?}");
    }
}

#[test]
fn of_equal_keys_the_last_is_the_one_that_is_edited() {
    let source = krm_yaml::Source::detached("twice", "a: 1\nb: 2\na: 3 # c\n");
    let options = krm_yaml::ParseOptions::default().duplicate_keys(krm_yaml::DuplicateKeys::LastWins);
    let mut doc = krm_yaml::parse_with(&source, options).unwrap().remove(0);
    doc.root.set("a", 4);
    let again = krm_yaml::Source::detached("again", doc.text());
    assert_eq!(krm_yaml::parse_with(&again, options).unwrap()[0].root, doc.root);
}

#[test]
fn comments_within_brackets_can_be_edited() {
    let item = |at: usize, edit: fn(&mut Trivia)| {
        move |root: &mut Node| edit(root.get_mut("k").unwrap().as_seq_mut().unwrap()[at].trivia_mut())
    };
    let rows = "k: [\n  # one\n  a, # x\n\n  b,   # y\n  c\n] # end\n";
    check(rows, item(1, |b| b.line = "# z".into()), "k: [\n  # one\n  a, # x\n\n  b,   # z\n  c\n] # end\n");
    check(rows, item(0, |a| a.line = "# z".into()), "k: [\n  # one\n  a, # z\n\n  b,   # y\n  c\n] # end\n");
    check(rows, item(1, |b| b.line = "".into()), "k: [\n  # one\n  a, # x\n\n  b,\n  c\n] # end\n");
    check(
        rows,
        item(2, |c| c.head = "# two\n# lines".into()),
        "k: [\n  # one\n  a, # x\n\n  b,   # y\n  # two\n  # lines\n  c\n] # end\n",
    );
    check(
        rows,
        item(2, |c| c.line = "# last".into()),
        "k: [\n  # one\n  a, # x\n\n  b,   # y\n  c # last\n] # end\n",
    );
    check("k: [\n   a]\n", item(0, |a| a.head = "# x".into()), "k: [\n   # x\n   a]\n");
    check(rows, item(0, |a| a.head = "".into()), "k: [\n  a, # x\n\n  b,   # y\n  c\n] # end\n");
    // What was on one line is broken where a comment ends it.
    let short = "k: [a, b, c]\n";
    check(short, item(0, |a| a.line = "# x".into()), "k: [a, # x\n  b, c]\n");
    check(short, item(0, |a| a.head = "# x".into()), "k: [\n  # x\n  a, b, c]\n");
    check(short, item(2, |c| c.line = "# x".into()), "k: [a, b, c # x\n]\n");
    check(short, item(1, |b| b.foot = "# x".into()), "k: [a, b,\n  # x\n\n  c]\n");
}

#[test]
fn comments_of_entries_within_braces_can_be_edited() {
    let text = "- k: {\n    a: 1, # one\n    # about b\n    b: [2, 3] # two\n  }\n- z\n";
    fn map(root: &mut Node) -> &mut krm_yaml::Map {
        root.as_seq_mut().unwrap()[0].get_mut("k").unwrap().as_map_mut().unwrap()
    }
    check(
        text,
        |root| map(root).value_at_mut(0).trivia_mut().line = "# uno".into(),
        "- k: {\n    a: 1, # uno\n    # about b\n    b: [2, 3] # two\n  }\n- z\n",
    );
    check(
        text,
        |root| map(root).key_at_mut(1).trivia_mut().head = "".into(),
        "- k: {\n    a: 1, # one\n    b: [2, 3] # two\n  }\n- z\n",
    );
    check(
        text,
        |root| map(root).value_at_mut(1).as_seq_mut().unwrap()[0].trivia_mut().line = "# inner".into(),
        "- k: {\n    a: 1, # one\n    # about b\n    b: [2, # inner\n      3] # two\n  }\n- z\n",
    );
    // They go with what they are about.
    check(
        text,
        |root| drop(map(root).remove_at(0)),
        "- k: {\n    # about b\n    b: [2, 3] # two\n  }\n- z\n",
    );
    check(text, |root| drop(map(root).remove_at(1)), "- k: {\n    a: 1 # one\n  }\n- z\n");
    check(
        text,
        |root| map(root).entries_mut().swap(0, 1),
        "- k: {\n    # about b\n    b: [2, 3], # two\n    a: 1 # one\n  }\n- z\n",
    );
    check(
        text,
        |root| map(root).push(Node::from("c"), yaml("{d: 4} # four")),
        "- k: {\n    a: 1, # one\n    # about b\n    b: [2, 3], # two\n    c: {d: 4} # four\n  }\n- z\n",
    );
    check(
        "k: [a: 1, # one\n  b]\n",
        |root| root.get_mut("k").unwrap().as_seq_mut().unwrap()[0].as_map_mut().unwrap().rename(0, "c"),
        "k: [{c: 1}, # one\n  b]\n",
    );
}

#[test]
fn what_follows_a_block_scalar_does_not_become_part_of_it() {
    // One that moved to the end of a list.
    check(
        "a:\n- |+\n  x\n- y\n\nb: 1\nc: 2\n",
        |root| {
            root.get_mut("a").unwrap().as_seq_mut().unwrap().swap(0, 1);
            root.remove("c");
        },
        "a:\n- y\n- |+\n  x\nb: 1\n",
    );
    // The comment of a scalar that a map has taken the place of.
    check(
        "- a # one\n- b\n",
        |root| {
            let items = root.as_seq_mut().unwrap();
            items[0].assign(Node::from_iter([("k", Node::string("x").with_style(Style::Folded))]));
            items.insert(1, Node::from("a"));
        },
        "- # one\n  k: >-\n    x\n- a\n- b\n",
    );
    // One that ended with the text, and has lost its comment.
    check(
        "- > # c\n  a",
        |root| {
            let items = root.as_seq_mut().unwrap();
            items[0].trivia_mut().line = "".into();
            items.push(Node::from("b"));
        },
        "- >-\n  a\n- b\n",
    );
    // A deep comment above the next one, or at the end.
    let literal = |at: usize| {
        move |root: &mut Node| {
            let items = root.as_seq_mut().unwrap();
            items[at].assign(Node::string("x\n").with_style(Style::Literal));
            items.insert(0, Node::from("z"));
        }
    };
    check("- a\n    # c\n- b\n", literal(0), "- z\n- |\n  x\n# c\n- b\n");
    check(
        "- a\n- b:\n    c:\n    # c\n\n",
        |root| {
            let items = root.as_seq_mut().unwrap();
            items.swap(0, 1);
            *items[0].get_mut("b").unwrap() = Node::from(vec![Node::string("\n")]);
        },
        "- b:\n  - |2+\n\n- a\n    # c\n\n",
    );
    check(
        "a:\n  b: |\n    x\n\n  # c\n\n",
        |root| {
            root.set("a", Node::string("y").with_style(Style::Literal));
            root.as_map_mut().unwrap().insert_at(0, Node::from("z"), Node::from(1));
        },
        "z: 1\na: |-\n  y\n\n# c\n\n",
    );
}
