//! Reading: what a text means, where its parts are, what is wrong with it.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};

use krm_yaml::{Node, Source, Style, Value, documents, json, parse, parse_str};

/// The JSON of all documents.
fn read(text: &str) -> String {
    let documents = parse_str(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
    documents.iter().map(|d| json::compact(&d.root)).collect::<Vec<_>>().join(" ")
}

#[test]
fn collections() {
    for (text, expected) in [
        ("a: 1\nb:\n  c: x\n  d: [y, {e: z}]\n", r#"{"a":1,"b":{"c":"x","d":["y",{"e":"z"}]}}"#),
        ("a:\n- 1\n- b: 2\n  c: 3\n-\n  - 4\n  - - 5\n", r#"{"a":[1,{"b":2,"c":3},[4,[5]]]}"#),
        ("a:\n  - x\nb: y\n", r#"{"a":["x"],"b":"y"}"#),
        ("- - a\n  - b\n- ? c\n  : d\n- ? e\n", r#"[["a","b"],{"c":"d"},{"e":null}]"#),
        ("a:\nb: ~\nc: null\nd:   # nothing\n", r#"{"a":null,"b":null,"c":null,"d":null}"#),
        (
            "{a: , b, ? c : d, ? e, \"f\":g, 'h' : i}",
            r#"{"a":null,"b":null,"c":"d","e":null,"f":"g","h":"i"}"#,
        ),
        ("[a, [], {}, b: c, ? d : e, \"f\": g,]", r#"["a",[],{},{"b":"c"},{"d":"e"},{"f":"g"}]"#),
        ("[\n a\n ,\n\tb # c\n]", r#"["a","b"]"#),
        ("a: {\nb: [\nc\n]}\n", r#"{"a":{"b":["c"]}}"#),
        ("? - a\n: b\n", r#"{"[\"a\"]":"b"}"#),
        ("a:\n|\n x\n", r#"{"a":"x\n"}"#),
        (
            "{\"a\": {\"b\": [1, -2.5e3, true, null, \"\\u00e9\\n\"]}}",
            r#"{"a":{"b":[1,-2500,true,null,"é\n"]}}"#,
        ),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn plain_scalars() {
    for (text, expected) in [
        ("a b  c \t", r#""a b  c""#),
        ("a: http://x:80/#y", r#"{"a":"http://x:80/#y"}"#),
        ("a: b:c -d ?e", r#"{"a":"b:c -d ?e"}"#),
        ("a: -x\nb: :y\nc: ?z", r#"{"a":"-x","b":":y","c":"?z"}"#),
        ("a: one\n  two\n\n  three\n\n\n  four\nb: 1", r#"{"a":"one two\nthree\n\nfour","b":1}"#),
        ("[a b, c:d, -]", r#"["a b","c:d","-"]"#),
        ("a: b#c\nd: e #f", r#"{"a":"b#c","d":"e"}"#),
        ("a: b\n  # no more\nc: d", r#"{"a":"b","c":"d"}"#),
        ("<a>: é\n", r#"{"\u003ca\u003e":"é"}"#),
        ("a:\tb\nc : d\n", r#"{"a":"b","c":"d"}"#),
        ("word\n%not a directive\n", r#""word %not a directive""#),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn quoted_scalars() {
    for (text, expected) in [
        (r#""""#, r#""""#),
        ("''", r#""""#),
        ("'it''s \\n'", r#""it's \\n""#),
        (r#""a\tb\"c\\\x41\u0042\U00000043\e\0\_""#, "\"a\\tb\\\"c\\\\ABC\\u001b\\u0000\u{a0}\""),
        ("\"one\n  two \n\n  three\"", r#""one two\nthree""#),
        ("'one\n  two \n\n\n  three'", r#""one two\n\nthree""#),
        ("\"one \\\n  two\\\n\n  three\"", r#""one two\nthree""#),
        ("\"a\\n \n b\"", r#""a\n b""#),
        ("\" a \": ' b '", r#"{" a ":" b "}"#),
        ("- \"a\"# comment\n", r#"["a"]"#),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn block_scalars() {
    for (text, expected) in [
        ("a: |\n  x\n   y\n\n  z\n\n\nb: 1", r#"{"a":"x\n y\n\nz\n","b":1}"#),
        ("a: |-\n  x\n\nb: 1", r#"{"a":"x","b":1}"#),
        ("a: |+\n  x\n\n\nb: 1", r#"{"a":"x\n\n\n","b":1}"#),
        ("a: >\n  x\n  y\n\n  z\n   more\n  end\n", r#"{"a":"x y\nz\n more\nend\n"}"#),
        ("a: >-\n\n  x\n  y", r#"{"a":"\nx y"}"#),
        ("a: |2\n   x\n  y\n", r#"{"a":" x\ny\n"}"#),
        ("a: |-1 # why\n  x\n", r#"{"a":" x"}"#),
        ("a: |+1\n x\n\n", r#"{"a":"x\n\n"}"#),
        ("- |\n x\n- >\n y\n", r#"["x\n","y\n"]"#),
        ("a: |\nb: 1", r#"{"a":"","b":1}"#),
        ("a: |\n  x", r#"{"a":"x"}"#),
        ("--- |\n x\n--- >+\n\n", r#""x\n" "\n""#),
        ("a: |\n  # text\n  ---\n # comment\n", r##"{"a":"# text\n---\n"}"##),
        ("a: |\n  x\t\n  \ty\n", r#"{"a":"x\t\n\ty\n"}"#),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn line_breaks_of_all_kinds() {
    for (text, expected) in [
        ("a: 1\r\nb:\r\n- |\r\n  x\r\n  y\r\n- \"p\r\n  q\"\r\n", r#"{"a":1,"b":["x\ny\n","p q"]}"#),
        ("a: 1\rb: 2\r", r#"{"a":1,"b":2}"#),
        ("a: 1\u{85}b: 2\u{2028}c: 3", r#"{"a":1,"b":2,"c":3}"#),
        ("a: |\n x\u{2029} y\n", r#"{"a":"x\u2029y\n"}"#),
        ("\u{feff}a: 1\n", r#"{"a":1}"#),
        ("a: \u{feff}1\n", "{\"a\":\"\u{feff}1\"}"),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn streams() {
    for (text, expected) in [
        ("", ""),
        ("\n", "null"),
        ("# only\n", "null"),
        ("---\n", "null"),
        ("---\n---\n", "null null"),
        ("a\n---\nb\n", r#""a" "b""#),
        ("a\n...\n---\nb\n...\n", r#""a" "b""#),
        ("--- a\n--- # c\n- b\n", r#""a" ["b"]"#),
        ("%YAML 1.1\n---\na\n", r#""a""#),
        ("%TAG ! tag:example.com,2000:\n---\n!a b\n", r#""b""#),
        ("a: ---\n--- b\n", r#"{"a":"---"} "b""#),
        ("---a\n", r#""---a""#),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn documents_cover_the_source() {
    for (text, expected) in [
        ("a\n---\nb\n", vec!["a\n", "---\nb\n"]),
        ("# c\n---\na\n# d\n---\nb", vec!["# c\n---\na\n# d\n", "---\nb"]),
        ("a\n... # c\n# d\n---\nb\n...\n\n", vec!["a\n... # c\n", "# d\n---\nb\n...\n\n"]),
        (
            "%YAML 1.1\n---\na\n...\n%YAML 1.1\n---\nb\n",
            vec!["%YAML 1.1\n---\na\n...\n", "%YAML 1.1\n---\nb\n"],
        ),
        ("\u{feff}# c\n", vec!["\u{feff}# c\n"]),
    ] {
        let source = Source::detached("t", text);
        let documents = parse(&source).unwrap();
        let stretches: Vec<&str> = documents.iter().map(|d| source.slice(d.span())).collect();
        assert_eq!(stretches, expected, "{text:?}");
    }
}

#[test]
fn what_comes_before_an_error_can_be_read() {
    let source = Source::detached("t", "a: 1\n---\n]\n---\nb: 2\n");
    let read: Vec<_> =
        documents(&source).map(|d| d.map(|d| json::compact(&d.root)).map_err(|e| e.code())).collect();
    assert_eq!(read, [Ok(r#"{"a":1}"#.to_owned()), Err("yaml-value")]);
}

#[test]
fn types_and_tags() {
    for (text, expected) in [
        ("!!str 1", r#""1""#),
        ("!!int \"1\"", "1"),
        ("!!float 1", "1"),
        ("! 1", "1"),
        ("!<tag:yaml.org,2002:str> 1", r#""1""#),
        ("!custom {a: 1}", r#"{"a":1}"#),
        ("!!binary aGk=", r#""hi""#),
        ("!!str", r#""""#),
        ("a: !!map\n  b: !!seq [c]\n", r#"{"a":{"b":["c"]}}"#),
        ("%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1", r#""1""#),
        ("- !!str, a", r#"["a"]"#),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
    let node = parse_str("!a/b%20c x").unwrap().remove(0).root;
    assert_eq!(node.trivia().tag.as_deref(), Some("!a/b%20c"));
}

#[test]
fn anchors_and_aliases() {
    for (text, expected) in [
        ("a: &x 1\nb: *x\n", r#"{"a":1,"b":1}"#),
        ("a: &x [1]\nb: [*x, *x]\n", r#"{"a":[1],"b":[[1],[1]]}"#),
        ("a: &x 1\nb: &x 2\nc: *x\n", r#"{"a":1,"b":2,"c":2}"#),
        ("&a k: &b\n  *a : c\nd: *b\n", r#"{"d":{"k":"c"},"k":{"k":"c"}}"#),
        ("&m\nk: v\n", r#"{"k":"v"}"#),
        ("- &a\n- *a\n", "[null,null]"),
        ("&a !!str 1\n", r#""1""#),
        ("!!map &a\n!!str k: *k\n", "error"),
    ] {
        match parse_str(text) {
            Ok(documents) => assert_eq!(json::compact(&documents[0].root), expected, "{text:?}"),
            Err(error) => assert_eq!(expected, "error", "{text:?}: {error:?}"),
        }
    }
    let root = parse_str("&m\n&k k: &v v\nl: *v\n").unwrap().remove(0).root;
    let anchor = |node: &Node| node.trivia().anchor.as_ref().map(ToString::to_string);
    assert_eq!(anchor(&root).as_deref(), Some("m"));
    assert_eq!(anchor(&root.as_map().unwrap().entries()[0].key).as_deref(), Some("k"));
    assert_eq!(root.get("l").unwrap().trivia().alias.as_deref(), Some("v"));
    assert_eq!(anchor(root.get("l").unwrap()), None);
}

/// Every node's text in the source, in the order of writing.
fn texts(text: &str) -> Vec<String> {
    fn walk(node: &Node, source: &Source, out: &mut Vec<String>) {
        out.push(source.slice(node.span()).to_owned());
        match node.value() {
            Value::Scalar(_) => {}
            Value::Seq(items) => items.iter().for_each(|item| walk(item, source, out)),
            Value::Map(map) => map.iter().for_each(|e| {
                walk(&e.key, source, out);
                walk(&e.value, source, out);
            }),
        }
    }
    let source = Source::detached("t", text);
    let mut out = Vec::new();
    parse(&source).unwrap().iter().for_each(|d| walk(&d.root, &source, &mut out));
    out
}

#[test]
fn spans_are_the_texts_of_nodes() {
    for (text, expected) in [
        ("a: b # c\n", vec!["a: b", "a", "b"]),
        ("'a' : \"b\"\n", vec!["'a' : \"b\"", "'a'", "\"b\""]),
        (
            "a:\n  - b\n  - [c, d ] # e\n",
            vec!["a:\n  - b\n  - [c, d ]", "a", "- b\n  - [c, d ]", "b", "[c, d ]", "c", "d"],
        ),
        (
            "a: |  # c\n  x\n\n  y\n\nb: 1\n",
            vec!["a: |  # c\n  x\n\n  y\n\nb: 1", "a", "|  # c\n  x\n\n  y", "b", "1"],
        ),
        ("a: |+\n  x\n\n\nb: 1\n", vec!["a: |+\n  x\n\n\nb: 1", "a", "|+\n  x\n\n", "b", "1"]),
        ("a: >-\nb:\n", vec!["a: >-\nb:", "a", ">-", "b", ""]),
        ("a: &x !!str b\nc: *x\n", vec!["a: &x !!str b\nc: *x", "a", "b", "c", "*x"]),
        ("? a\n: b\n", vec!["? a\n: b", "a", "b"]),
        ("[a: b, c]", vec!["[a: b, c]", "a: b", "a", "b", "c"]),
        ("one\n two\n", vec!["one\n two"]),
        ("a: b\n  c\nd: e", vec!["a: b\n  c\nd: e", "a", "b\n  c", "d", "e"]),
    ] {
        assert_eq!(texts(text), expected, "{text:?}");
    }
}

#[test]
fn styles_are_kept() {
    let root =
        parse_str("- a\n- 'a'\n- \"a\"\n- |\n a\n- >\n a\n- [a]\n- {a: b}\n- - a\n").unwrap().remove(0).root;
    let styles: Vec<Style> = root.items().iter().map(Node::style).collect();
    use Style::*;
    assert_eq!(styles, [Plain, SingleQuoted, DoubleQuoted, Literal, Folded, Flow, Flow, Block]);
}

#[test]
fn comments_go_where_the_reference_puts_them() {
    fn walk(node: &Node, out: &mut Vec<String>) {
        let trivia = node.trivia();
        let name = node.text().unwrap_or(if node.is_map() { "{}" } else { "[]" });
        for (role, comment) in [("head", &trivia.head), ("line", &trivia.line), ("foot", &trivia.foot)] {
            if !comment.is_empty() {
                out.push(format!("{role} of {name}: {}", comment.replace('\n', "|")));
            }
        }
        match node.value() {
            Value::Scalar(_) => {}
            Value::Seq(items) => items.iter().for_each(|item| walk(item, out)),
            Value::Map(map) => map.iter().for_each(|e| {
                walk(&e.key, out);
                walk(&e.value, out);
            }),
        }
    }
    for (text, expected) in [
        ("# one\na: 1 # two\n", "head of a: # one, line of 1: # two"),
        ("a: 1\n# one\n# two\nb: 2\n", "head of b: # one|# two"),
        ("a: 1\n# one\n\nb: 2\n", "foot of a: # one"),
        ("a: 1\n\n# one\n\n# two\nb: 2\n", "head of b: # one||# two"),
        ("# doc\n\n# one\na: 1\n", "document head: # doc, head of a: # one"),
        ("a: 1\n\n# end\n", "document foot: # end"),
        ("a: # one\n  b: 1\n", "line of a: # one"),
        ("a: # one\n- b\n", "line of a: # one"),
        ("a:\n  # one\n  b: 1\n  # two\nc: 2\n", "head of b: # one, foot of b: # two"),
        ("a:\n  b: 1\n# two\nc: 2\n", "head of c: # two"),
        ("- a # one\n# two\n- b\n", "line of a: # one, head of b: # two"),
        ("# one\n- a: 1\n  # two\n  b: 2\n", "head of {}: # one, head of b: # two"),
        ("- # one\n  a: 1\n", "head of a: # one"),
        ("a: | # one\n  x\n# two\nb: 1\n", "line of x\n: # one, head of b: # two"),
        ("a: [b, # one\n  c # two\n  ] # three\n", "line of []: # three, line of b: # one, line of c: # two"),
        ("a: [b,\n  # one\n  ]\n", "foot of b: # one"),
        ("a: {\n  # one\n  b: 1, # two\n  }\n", "head of b: # one, line of 1: # two"),
        (
            "a:\n# one\n- b\n# two\n- c\n# three\nd: 1\n",
            "head of b: # one, head of c: # two, head of d: # three",
        ),
        ("--- # one\na: 1\n", "head of a: # one"),
        ("a: 1\n# one\n---\n# two\nb: 2\n", "foot of a: # one; head of b: # two"),
        ("a: &x # one\n  b: 1\n", "line of b: # one"),
        ("a:\r\n  b: 1 # one\r\n  # two\r\n\r\n  c: 2\r\n", "foot of b: # two, line of 1: # one"),
    ] {
        let found: Vec<String> = parse_str(text)
            .unwrap()
            .iter()
            .map(|document| {
                let mut out = Vec::new();
                walk(&document.root, &mut out);
                for (role, comment) in [("foot", document.foot()), ("head", document.head())] {
                    if !comment.is_empty() {
                        out.insert(0, format!("document {role}: {comment}"));
                    }
                }
                out.join(", ")
            })
            .collect();
        assert_eq!(found.join("; "), expected, "{text:?}");
    }
}

#[test]
fn errors_have_a_code_a_place_and_advice() {
    for (text, code, place, advice) in [
        ("a:\n\tb: 1\n", "yaml-tab", "2:1", "spaces"),
        ("a: 1\n\t\nb: 2\n", "yaml-tab", "2:1", "spaces"),
        ("a: |\n \tb\n", "yaml-tab", "2:2", "spaces"),
        ("a: 1\nb:2\nc: 3\n", "yaml-key-without-colon", "2:1", "`b: 2`"),
        ("a: 1\nb\n", "yaml-key-without-colon", "2:1", "`key: value`"),
        ("a: 1\nb:\u{a0}2\n", "yaml-key-without-colon", "2:1", "ordinary space"),
        ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\n>>>>>>> other\n", "yaml-conflict", "2:1", "resolve it"),
        ("a: 1\n  b: 2\n", "yaml-nested-value", "2:4", "align it"),
        ("a: b: c\n", "yaml-nested-value", "1:5", "quotes"),
        ("a:\n  b: \"1\"\n   c: 2\n", "yaml-indent", "3:4", "align"),
        ("a:\n    b: 1\n  c: 2\n", "yaml-indent", "3:3", "align"),
        ("a:\n  - b\n - c\n", "yaml-indent", "3:2", "align"),
        ("- a\nb: 1\n", "yaml-list-item", "2:1", "indent"),
        ("- a\n-b\n", "yaml-list-item", "2:1", "space after"),
        ("a: \"b\n", "yaml-unclosed-quote", "1:4", "\\\""),
        ("a: 'it's'\n", "yaml-trailing-text", "1:8", "quoted"),
        ("a: 'it's\n", "yaml-trailing-text", "1:8", "quoted"),
        ("a: [b\nc: d\n", "yaml-flow-separator", "2:2", "`,`"),
        ("a: [b,\n", "yaml-unclosed-bracket", "1:4", "`]`"),
        ("a: {b: 1\n---\n", "yaml-unclosed-bracket", "1:4", "`}`"),
        ("a: [b,, c]\n", "yaml-flow-value", "1:7", "too many"),
        ("a: [? ]\n", "yaml-flow-value", "1:7", "quotes"),
        ("a: ]\n", "yaml-value", "1:4", "bracket"),
        ("a: {{ b }}-c\n", "yaml-trailing-text", "1:11", "template"),
        ("{{- if a }}\nb: 1\n", "yaml-flow-value", "1:3", "template"),
        ("a: 1\n{{ b }}\n", "yaml-key-without-colon", "2:1", "template"),
        ("a: @b\n", "yaml-value", "1:4", "quotes"),
        ("a: %b\n", "yaml-value", "1:4", "quotes"),
        ("a: *.b\n", "yaml-anchor", "1:4", "quotes"),
        ("a: *b\n", "yaml-unknown-anchor", "1:4", "document"),
        ("a: &b [*b]\n", "yaml-recursive-alias", "1:8", ""),
        ("a: &b 1\nc: &d *b\n", "yaml-alias-properties", "2:7", ""),
        ("a: &b &c 1\n", "yaml-second-property", "1:7", ""),
        ("a: !b!c 1\n", "yaml-tag-handle", "1:4", "%TAG"),
        ("a: !!int b\n", "yaml-tag-mismatch", "1:4", "remove"),
        ("a: !!binary b\n", "yaml-tag-mismatch", "1:4", "remove"),
        ("a: - b\n", "yaml-nested-list", "1:4", "own"),
        ("a: ? b\n", "yaml-nested-key", "1:4", "own"),
        (": a\n", "yaml-value-without-key", "1:1", "key"),
        ("a: >x\n", "yaml-block-header", "1:5", "next line"),
        ("a: |0\n", "yaml-block-header", "1:5", "digit"),
        ("a: \"\\q\"\n", "yaml-escape", "1:5", "backslash"),
        ("a: \"\\u12\"\n", "yaml-escape", "1:5", "backslash"),
        ("a: \"\\ud800\"\n", "yaml-escape", "1:5", "pair"),
        ("a: 1\na: 2\n", "yaml-duplicate-key", "2:1", "keep"),
        ("%YAML 1.2\n---\na: 1\n", "yaml-version", "1:1", "remove"),
        ("%FOO\n---\na: 1\n", "yaml-directive", "1:1", "remove"),
        ("a: \u{1}\n", "yaml-control-character", "1:4", "\\x01"),
        ("...\n", "yaml-document", "1:1", "---"),
        ("a\n...\nb\n", "yaml-document", "3:1", "---"),
        ("[a]\nb\n", "yaml-document", "2:1", "---"),
        ("--- a: b\n", "yaml-nested-value", "1:6", "own"),
        ("[- a]", "yaml-flow-value", "1:2", "[a, b]"),
    ] {
        let source = Source::detached("t", text);
        let error = parse(&source).expect_err(text);
        let at = source.position(error.place().start as usize);
        assert_eq!(
            (error.code(), format!("{}:{}", at.line, at.column).as_str()),
            (code, place),
            "{text:?}: {error:?}"
        );
        let help = error.advice().join("\n");
        assert!(help.contains(advice), "{text:?}: {help:?} says nothing of {advice:?}");
        assert!(error.place().end <= text.len() as u32, "{text:?}");
    }
}

#[test]
fn nesting_is_limited() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
        let nested = |depth: usize| format!("{}x{}", open.repeat(depth), close.repeat(depth));
        // Reading, comparing and dropping what is allowed must do with the stack of a thread.
        let deep = parse_str(&nested(400)).unwrap();
        assert_eq!(deep[0].root, parse_str(&nested(400)).unwrap()[0].root);
        for depth in [600, 1_000_000] {
            assert_eq!(parse_str(&nested(depth)).unwrap_err().code(), "yaml-depth", "{open}");
        }
    }
    let block: String = (0..1000).map(|depth| format!("{:depth$}a:\n", "")).collect();
    assert_eq!(parse_str(&block).unwrap_err().code(), "yaml-depth");
}

#[test]
fn aliases_do_not_multiply_without_bounds() {
    let mut laughs = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for i in 1..30 {
        let before = format!("*a{}", i - 1);
        laughs += &format!("a{i}: &a{i} [{}]\n", [before.as_str(); 9].join(", "));
    }
    let begun = Instant::now();
    let error = parse_str(&laughs).unwrap_err();
    assert_eq!(error.code(), "yaml-alias-expansion");
    assert!(begun.elapsed() < Duration::from_secs(1), "took {:?}", begun.elapsed());
    // What people do is well within.
    let many: String = (0..10_000).map(|i| format!("k{i}: *x\n")).collect();
    assert!(parse_str(&format!("x: &x {{a: [b, c], d: e}}\n{many}")).is_ok());
}

#[test]
fn hostile_texts_take_no_time() {
    let texts = [
        "[".repeat(1_000_000),
        "{".repeat(1_000_000),
        "- ".repeat(500_000),
        "? ".repeat(500_000),
        ": ".repeat(500_000),
        "a: ".repeat(300_000),
        "&a ".repeat(300_000),
        "!a ".repeat(300_000),
        "# c\n".repeat(200_000),
        "a:\n".to_owned() + &" \n".repeat(500_000),
        "a: |\n".to_owned() + &" \n".repeat(500_000),
        "a\n".repeat(300_000),
        "\"".to_owned() + &"\n".repeat(500_000),
        "---\n".repeat(200_000),
        "x".repeat(2_000_000) + ": y",
        (0..50_000).map(|i| format!("12345678{i:05}12345678: 1\n")).collect(),
        "- a # b\n".repeat(100_000),
        "# a\n\n".repeat(100_000) + "b",
        "[a, # b\n".repeat(300) + &"]".repeat(300),
    ];
    for text in texts {
        let begun = Instant::now();
        let _ = parse_str(&text);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(10), "{:?}... took {took:?}", &text[..40]);
    }
}
