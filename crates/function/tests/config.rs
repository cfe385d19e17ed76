//! What configures a function: typed, and with errors that name the field.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;

use krm_function::ResourceList;
use serde::Deserialize;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Config {
    count: i64,
    #[serde(default)]
    tag: String,
    #[serde(default)]
    limits: Vec<String>,
    #[serde(default)]
    sizes: BTreeMap<String, Size>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Size {
    cpu: String,
}

fn config(function_config: &str) -> Result<Config, String> {
    let text = format!("kind: ResourceList\nfunctionConfig: {function_config}\n");
    ResourceList::parse(&text).expect("the text is a list").config().map_err(|error| error.to_string())
}

#[test]
fn fields_stand_under_spec_or_data_or_at_the_top() {
    let plain = Config { count: 3, tag: String::new(), limits: vec![], sizes: BTreeMap::new() };
    assert_eq!(config("{kind: Web, metadata: {name: a}, spec: {count: 3}}"), Ok(plain));
    let tagged = Config { count: 3, tag: "1.10".into(), limits: vec!["cpu".into()], sizes: BTreeMap::new() };
    assert_eq!(
        config("{kind: ConfigMap, data: {count: '3', tag: '1.10', limits: '[cpu]'}}").as_ref(),
        Ok(&tagged)
    );
    assert_eq!(config("{kind: Web, metadata: {name: a}, count: 3, tag: '1.10', limits: [cpu]}"), Ok(tagged));
}

#[test]
fn a_text_of_a_config_map_stays_text_where_text_is_asked_for() {
    let read = config("{kind: ConfigMap, data: {count: '1', tag: '[not, a, list]'}}").expect("it is text");
    assert_eq!(read.tag, "[not, a, list]");
}

#[test]
fn errors_name_the_field() {
    for (function_config, message) in [
        ("{kind: Web, spec: {count: many}}", "`spec.count`: expected an integer, found a string"),
        (
            "{kind: Web, spec: {count: 1, sizes: {s: {cpu: [1]}}}}",
            "`spec.sizes.s.cpu`: expected a string, found a list",
        ),
        ("{kind: Web, spec: {count: 1, sizes: {s: {}}}}", "missing field `cpu` in `spec.sizes.s`"),
        ("{kind: Web, spec: {cuont: 1}}", "unknown field `cuont` in `spec`"),
        ("{kind: Web, cuont: 1}", "unknown field `cuont`"),
        ("{kind: ConfigMap, data: {count: many}}", "`data.count`: expected an integer, found a string"),
        ("{kind: ConfigMap}", "missing field `count` in `data`"),
        ("{kind: Web, spec: [1]}", "`spec`: expected a map, found a list"),
        ("null", "missing field `count`"),
    ] {
        assert_eq!(config(function_config), Err(format!("functionConfig: {message}")), "{function_config}");
    }
}
