//! What we write into files is read alike by other YAML readers, of YAML 1.1 and of 1.2.
//!
//! The readers are real ones, where they are installed; each that is not is named and left out, unless
//! `KRM_READERS_NEEDED` lists it. See `.ci/run`, which installs them all.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use krm_yaml::emit::preserve;
use krm_yaml::{Node, Style, parse_str};
use serde_json::{Value, json};

/// Strings that some reader takes for something else when they are written plain, and their relatives that none does.
const STRINGS: &[&str] = &[
    "=",
    "==",
    "a=b",
    "<<",
    "<",
    "<<<",
    ">",
    "<<: a",
    "yes",
    "no",
    "Yes",
    "NO",
    "on",
    "off",
    "On",
    "OFF",
    "y",
    "n",
    "Y",
    "N",
    "true",
    "True",
    "TRUE",
    "false",
    "tRue",
    "null",
    "Null",
    "NULL",
    "~",
    "",
    " ",
    "nil",
    "none",
    "0",
    "1",
    "-1",
    "+1",
    "01",
    "007",
    "08",
    "0777",
    "0o777",
    "0o8",
    "0O17",
    "0x1F",
    "0X1f",
    "0xZZ",
    "0x",
    "0x_",
    "0b",
    "0b101",
    "0b_",
    "0b2",
    "0o_",
    "1_000",
    "1_",
    "_1",
    "1__0",
    "0_",
    "-_1",
    "1.5",
    ".5",
    "5.",
    ".",
    "..",
    "._",
    "._1",
    "1._",
    "1.2.3",
    "1.2.3.4",
    "1e3",
    "1E+3",
    "1e",
    "1e+",
    "1.5e3",
    "1_0e1_0",
    "+.5",
    "-.5",
    "+.",
    "-",
    "--",
    "---",
    "- a",
    "-a",
    "...",
    "....",
    ".inf",
    "-.inf",
    "+.inf",
    ".Inf",
    ".NaN",
    ".nan",
    "+.nan",
    ".INF",
    "inf",
    "nan",
    "Infinity",
    "1:30",
    "190:20:30",
    "1:60",
    "1:30.5",
    "-1:30",
    "12:30:45",
    "12:30:45.1",
    "1:2:3:4",
    "01:30",
    "08:30",
    "00:00:00:00:00:01",
    "2024-01-01",
    "2024-1-1",
    "2024-13-45",
    "2024-02-30",
    "20240101",
    "2024-01",
    "2024-01-01T00:00:00Z",
    "2024-01-01t0:0:0",
    "2024-01-01 10:11:12",
    "2024-01-01 10:11:12.5 -5",
    "2024-01-01 10:11:12 Z",
    "2024-01-01\t10:11:12",
    "2024-01-01 a",
    "2024-01-01T25:61:61Z",
    "0001-01-01",
    "!",
    "!!str",
    "!a b",
    "&",
    "&a",
    "*",
    "*a",
    "%",
    "%YAML 1.1",
    "@",
    "@a",
    "`",
    "`a",
    "|",
    "|-",
    ">-",
    "?",
    "? a",
    "?a",
    ":",
    ": a",
    ":a",
    "a:",
    "a: b",
    "a:b",
    "a :b",
    "#",
    "#a",
    "a #b",
    "a#b",
    "[",
    "[a]",
    "]",
    "{",
    "{a: b}",
    "}",
    ",",
    ",a",
    "a,b",
    "a, b",
    "'",
    "'a",
    "it's",
    "\"",
    "\"a\"",
    "\\",
    "\\n",
    " a",
    "a ",
    "a  b",
    "\ta",
    "a\tb",
    "a\t",
    "\t",
    "a\nb",
    "a\n",
    "\na",
    "a\n\nb\n",
    "a\n\n",
    " a\nb",
    "\ta\nb",
    "a \nb",
    "a\n b\n",
    "a\nb ",
    "\n",
    "\n\n",
    "# a\nb",
    "---\na",
    "a\n---\nb",
    "a\n...\n",
    "- a\n- b\n",
    "a: b\n",
    "%a\nb",
    "a\r\nb",
    "a\rb",
    "\0",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
    "a\u{85}b",
    "\u{a0}",
    "\u{a0}a",
    "\u{2028}",
    "a\u{2028}b",
    "\u{feff}",
    "\u{feff}a",
    "é",
    "日本",
    "😀",
    "a😀b",
    "\u{fffd}",
    "\u{ffff}",
    "key: [a, b]",
    "0xdeadbeef",
    "1e1000",
    "9223372036854775808",
    "123456789012345678901234",
    "0.1.2",
    "v1",
    "1Gi",
    "500m",
    "1d",
    "1f",
    "0d",
    "E",
    "e",
    "x",
    "true ",
    "no way",
    "12e03",
    "-2E+05",
    "12.30e+2",
];

/// A document for a string in each position it may have, and what a reader should make of it.
fn documents(text: &str) -> Vec<(String, Value)> {
    let map = |key: &str, value: Node| [(Node::from(key), value)].into_iter().collect::<Node>();
    let seq = |item: Node| Node::from(vec![item]);
    let mut trees = vec![
        (map("k", Node::from(text)), json!({ "k": text })),
        (map(text, Node::from("v")), json!({ text: "v" })),
        (seq(Node::from(text)), json!([text])),
        (map("k", seq(map("n", Node::from(text)))), json!({ "k": [{ "n": text }] })),
        (map("k", seq(Node::from(text)).with_style(Style::Flow)), json!({ "k": [text] })),
        (map("k", map("n", Node::from(text)).with_style(Style::Flow)), json!({ "k": { "n": text } })),
    ];
    // A line break or more than a short line of text is not a key in flow style for everyone.
    if text.len() < 20 && !text.contains(['\n', '\r', '\u{85}', '\u{2028}']) {
        trees.push((map("k", map(text, Node::from(1)).with_style(Style::Flow)), json!({ "k": { text: 1 } })));
    }
    let mut documents: Vec<_> =
        trees.into_iter().map(|(tree, json)| (preserve::fresh(&tree), json)).collect();
    // Written over what was there.
    for before in ["k: old # c\nl: 1\n", "k: 1\nl: 1\n", "{k: old, l: 1}\n", "k: 'old'\nl: 1\n"] {
        let mut document = parse_str(before).unwrap().remove(0);
        document.root.set("k", text);
        documents.push((document.text(), json!({ "k": text, "l": 1 })));
    }
    documents
}

/// The lines a reader answers with; nothing where it is not installed.
fn ask(program: &str, arguments: &[&str], lines: &str) -> Option<Vec<Value>> {
    let mut command = Command::new(program);
    // Where Go finds its module.
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers/go"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => panic!("{program}: {error}"),
    };
    let mut input = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    // A reader that is not installed ends without reading.
    let writing = std::thread::spawn(move || drop(input.write_all(lines.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text.strip_prefix("ready\n")?;
    Some(answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn others_read_what_we_write() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers");
    let (python, node) = (&*format!("{folder}/read.py"), &*format!("{folder}/read.js"));
    let readers: &[(&str, &str, &[&str])] = &[
        ("pyyaml", "python3", &[python, "pyyaml"]),
        ("ruamel-1.1", "python3", &[python, "ruamel-1.1"]),
        ("ruamel-1.2", "python3", &[python, "ruamel-1.2"]),
        ("js-yaml", "node", &[node, "js-yaml"]),
        ("yaml-1.1", "node", &[node, "yaml", "1.1"]),
        ("yaml-1.2", "node", &[node, "yaml", "1.2"]),
        ("yaml.v3", "go", &["run", "."]),
    ];
    let needed = std::env::var("KRM_READERS_NEEDED").unwrap_or_default();
    let documents: Vec<(String, Value)> = STRINGS.iter().flat_map(|text| documents(text)).collect();
    let lines: String = documents.iter().map(|(text, _)| json!(text).to_string() + "\n").collect();
    let mut wrong = Vec::new();
    for (name, program, arguments) in readers {
        let Some(answers) = ask(program, arguments, &lines) else {
            assert!(
                !needed.split(' ').any(|needed| needed == *name),
                "{name} is not installed for {program}"
            );
            println!("left out: {name} is not installed for {program}");
            continue;
        };
        assert_eq!(answers.len(), documents.len(), "{name}");
        for (answer, (text, expected)) in answers.iter().zip(&documents) {
            if answer != expected {
                wrong.push(format!("{name} reads {text:?} as {answer}"));
            }
        }
        println!("{name} read {} documents", answers.len());
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
