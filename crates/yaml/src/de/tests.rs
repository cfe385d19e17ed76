//! Typed reading, from trees made by hand so that every span is known.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::node::{Seq, Style, Tag};
use crate::source::{Source, Sources};

#[derive(Debug, Deserialize, PartialEq, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Config {
    name_prefix: String,
    resources: Vec<Spanned<String>>,
    replicas: Vec<Replica>,
    options: Option<BTreeMap<String, String>>,
    inline: Option<Node>,
    mode: Mode,
    enabled: bool,
    share: f64,
    small: u8,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Replica {
    name: String,
    #[serde(default)]
    count: i64,
}

#[derive(Debug, Deserialize, PartialEq, Default)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Quiet,
    Loud,
    Level(u8),
    Both {
        left: u8,
        right: u8,
    },
}

/// A tree in which every scalar has the span of its first mention in the source.
struct Tree {
    source: std::sync::Arc<Source>,
}

impl Tree {
    fn new() -> Self {
        let text = "namePrefix resources replicas options inline mode name count a b c web bogus";
        Self { source: Sources::new().add("config.yaml", text) }
    }

    fn span(&self, text: &str) -> Span {
        let start = self.source.text().find(text).unwrap_or_default();
        self.source.span(start, start + text.len())
    }

    fn str(&self, text: &str) -> Node {
        Node::string(text).with_span(self.span(text))
    }

    fn map(&self, entries: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
        let map: Node = entries.into_iter().map(|(k, v)| (self.str(k), v)).collect();
        map.with_span(self.source.span(0, 76))
    }
}

fn error<T: std::fmt::Debug + for<'n> Deserialize<'n>>(node: &Node) -> (String, Span) {
    let d = from_node::<T>(node).unwrap_err();
    let advice: String = d.advice().iter().map(|h| format!(" | {h}")).collect();
    (format!("{}: {d}{advice}", d.code()), d.place())
}

fn plain(text: &str) -> Node {
    Node::scalar(text, crate::scalar::resolve::plain(text), Style::Plain, Span::NONE)
}

#[test]
fn everything_is_read() {
    let t = Tree::new();
    let inline = t.map([("x", Node::from(1))]);
    let node = t.map([
        ("namePrefix", t.str("a")),
        ("resources", Node::from(vec![t.str("b"), t.str("web")])),
        ("replicas", Node::from(vec![t.map([("name", t.str("web")), ("count", Node::from(3))])])),
        ("options", t.map([("a", t.str("b"))])),
        ("inline", inline.clone()),
        ("mode", t.str("loud")),
        ("enabled", Node::from(true)),
        ("share", plain("0.5")),
        ("small", plain("1e1")),
    ]);
    let config: Config = from_node(&node).unwrap();
    assert_eq!(config.name_prefix, "a");
    assert_eq!(config.resources[1].span(), t.span("web"));
    assert_eq!(config.resources[1].to_string(), "web");
    assert_eq!(config.replicas, [Replica { name: "web".into(), count: 3 }]);
    assert_eq!(config.options.unwrap()["a"], "b");
    assert!(config.inline.unwrap().same(&inline), "the tree is shared, not copied");
    assert_eq!((config.mode, config.enabled, config.share, config.small), (Mode::Loud, true, 0.5, 10));
}

#[test]
fn null_leaves_the_default() {
    let null = || Node::null();
    let node: Node = [("namePrefix", null()), ("inline", null()), ("replicas", null())].into_iter().collect();
    assert_eq!(from_node::<Config>(&node).unwrap(), Config::default());
    assert_eq!(from_node::<Config>(&Node::null()).unwrap(), Config::default());
    let strings: BTreeMap<String, String> = from_node(&[("a", null())].into_iter().collect()).unwrap();
    assert_eq!(strings["a"], "");
}

#[test]
fn unknown_fields_are_refused_at_their_key() {
    let t = Tree::new();
    let (message, place) = error::<Config>(&t.map([("resource", Node::null())]));
    assert_eq!(message, "unknown-field: unknown field `resource` | did you mean `resources`?");
    assert_eq!(place, t.span("resource"));

    let replica = t.map([("name", t.str("a")), ("bogus", t.str("b"))]);
    let (message, place) = error::<Config>(&t.map([("replicas", Node::from(vec![replica]))]));
    assert_eq!(
        message,
        "unknown-field: unknown field `bogus` in `replicas[0]` | known fields are `name`, `count`"
    );
    assert_eq!(place, t.span("bogus"));
}

#[test]
fn wrong_types_are_refused_at_the_value_with_its_path() {
    let t = Tree::new();
    let list = Node::from(Seq::new()).with_span(t.span("c"));
    let (message, place) = error::<Config>(&t.map([("namePrefix", list)]));
    assert_eq!(message, "wrong-type: `namePrefix`: expected a string, found a list");
    assert_eq!(place, t.span("c"));

    let replica = t.map([("name", plain("12"))]);
    let (message, _) = error::<Config>(&t.map([("replicas", Node::from(vec![replica]))]));
    assert_eq!(
        message,
        "wrong-type: `replicas[0].name`: expected a string, found an integer | put it in quotes: \"12\""
    );
    let (message, _) = error::<Config>(&t.map([("resources", t.str("a"))]));
    assert_eq!(
        message,
        "wrong-type: `resources`: expected a list, found a string | write it as an item of a list: `- a`"
    );
    let (message, _) = error::<Config>(&t.map([("small", plain("300"))]));
    assert_eq!(message, "wrong-type: `small`: expected an integer from 0 to 255, found 300");
    let (message, _) = error::<Config>(&t.str("a"));
    assert_eq!(message, "wrong-type: expected a map, found a string");
}

#[test]
fn missing_fields_are_refused_at_the_map_or_the_null_in_their_stead() {
    let t = Tree::new();
    let (message, place) = error::<Replica>(&t.map([("count", Node::from(1))]));
    assert_eq!(message, "missing-field: missing field `name`");
    assert_eq!(place, t.source.span(0, 76));
    let null = Node::null().with_span(t.span("b"));
    assert_eq!(error::<Replica>(&t.map([("name", null)])).1, t.span("b"));
}

#[test]
fn enums_are_words_or_maps_of_one() {
    let t = Tree::new();
    let mode = |node: &Node| from_node::<Mode>(node);
    assert_eq!(mode(&t.str("quiet")).unwrap(), Mode::Quiet);
    assert_eq!(mode(&t.map([("level", Node::from(3))])).unwrap(), Mode::Level(3));
    let both = t.map([("left", Node::from(1)), ("right", Node::from(2))]);
    assert_eq!(mode(&t.map([("both", both)])).unwrap(), Mode::Both { left: 1, right: 2 });
    let (message, _) = error::<Config>(&t.map([("mode", t.str("lout"))]));
    assert_eq!(message, "unknown-value: `mode`: unknown value `lout` | did you mean `loud`?");
    let (message, _) = error::<Mode>(&t.map([("level", t.str("b"))]));
    assert_eq!(message, "wrong-type: `level`: expected an integer, found a string");
}

#[test]
fn case_may_be_left_open_and_the_last_in_byte_order_wins() {
    let node: Node = [("NamePrefix", "a"), ("nameprefix", "b"), ("NAMEPREFIX", "c")].into_iter().collect();
    assert_eq!(from_node::<Config>(&node).unwrap_err().code(), "unknown-field");
    let config: Config = from_node_with(&node, OLD).unwrap();
    assert_eq!(config.name_prefix, "b");
}

const OLD: Options = Options::STRICT.case_insensitive().old_booleans();
const LOOSE: Options = OLD.loose_strings().rfc3339().unknown_fields();

#[test]
fn bare_yes_is_a_boolean_where_the_old_words_count() {
    let node: Node = [("enabled", plain("yes"))].into_iter().collect();
    assert_eq!(from_node::<Config>(&node).unwrap_err().code(), "wrong-type");
    assert!(from_node_with::<Config>(&node, OLD).unwrap().enabled);
    let node: Node = [("namePrefix", plain("on"))].into_iter().collect();
    assert_eq!(from_node_with::<Config>(&node, OLD).unwrap_err().code(), "wrong-type");
}

#[test]
fn a_built_ins_configuration_may_be_loose() {
    let node: Node =
        [("kind", plain("x")), ("namePrefix", plain("12")), ("enabled", plain("yes"))].into_iter().collect();
    let config: Config = from_node_with(&node, LOOSE).unwrap();
    assert_eq!((config.name_prefix.as_str(), config.enabled), ("12", true));
    let node: Node = [("namePrefix", plain("true"))].into_iter().collect();
    assert_eq!(from_node_with::<Config>(&node, LOOSE).unwrap().name_prefix, "true");
}

#[test]
fn scalars_become_strings_as_go_prints_them() {
    let read = |text: &str, options: Options| {
        let node = Node::from_iter([("namePrefix", plain(text))]);
        from_node_with::<Config>(&node, options).map(|config| config.name_prefix).map_err(|e| e.code())
    };
    for (text, loose) in [
        ("017", "15"),
        ("0x1F", "31"),
        ("1_000", "1000"),
        ("1.10", "1.1"),
        ("1e3", "1000"),
        ("1234567.5", "1.2345675e+06"),
        ("18446744073709551616", "1.8446744e+19"),
        ("TRUE", "true"),
    ] {
        assert_eq!(read(text, LOOSE).as_deref(), Ok(loose), "{text}");
        assert_eq!(read(text, OLD), Err("wrong-type"), "{text}");
    }
    assert_eq!(read(".inf", LOOSE), Err("wrong-type"));
    assert_eq!(read("2024-01-01", LOOSE).as_deref(), Ok("2024-01-01T00:00:00Z"));
    assert_eq!(read("2024-01-01", OLD).as_deref(), Ok("2024-01-01"));
}

#[test]
fn strict_fields_take_strings_alone() {
    #[derive(Deserialize, Debug)]
    struct Kind {
        #[serde(deserialize_with = "super::strict")]
        kind: String,
    }
    let read = |text: &str| from_node_with::<Kind>(&Node::from_iter([("kind", plain(text))]), LOOSE);
    assert_eq!(read("a").unwrap().kind, "a");
    assert_eq!(read("1").unwrap_err().code(), "wrong-type");
}

#[test]
fn trees_and_spans_survive_a_buffer() {
    #[derive(Deserialize)]
    struct Flat {
        #[serde(flatten)]
        rest: BTreeMap<String, Node>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(i64),
        Name(Spanned<String>),
    }
    let node: Node = [("a", plain("1")), ("b", plain("x")), ("c", plain("1.5"))].into_iter().collect();
    let flat: Flat = from_node(&node).unwrap();
    assert_eq!((flat.rest["a"].as_i64(), flat.rest["b"].as_str()), (Some(1), Some("x")));
    assert_eq!((flat.rest["c"].tag(), flat.rest["c"].text()), (Tag::Float, Some("1.5")));
    assert!(matches!(from_node(&plain("7")), Ok(Either::Number(7))));
    assert!(
        matches!(from_node(&plain("x")), Ok(Either::Name(name)) if *name == "x" && name.span().is_none())
    );
}

#[test]
fn a_custom_message_gets_its_place() {
    #[derive(Debug, Deserialize)]
    struct Port(
        #[serde(deserialize_with = "port")]
        #[allow(dead_code)]
        u16,
    );
    fn port<'de, D: serde::Deserializer<'de>>(d: D) -> Result<u16, D::Error> {
        let text = String::deserialize(d)?;
        text.strip_prefix(':').and_then(|n| n.parse().ok()).ok_or_else(|| serde::de::Error::custom("no port"))
    }
    let t = Tree::new();
    let ports = t.map([("a", t.str("web"))]);
    assert_eq!(
        error::<BTreeMap<String, Port>>(&ports),
        ("invalid-value: `a`: no port".into(), t.span("web"))
    );
}
