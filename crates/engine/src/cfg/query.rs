//! Searching for fields: `spec.replicas>3`, `spec.template.spec.containers[name=nginx].image=nginx:1.9`.

use std::ops::ControlFlow;
use std::sync::Arc;

use krm_yaml::path::{self, Path, Rules, Segment, Select};
use krm_yaml::{Diagnostic, Node, Result, Style};
use regex::Regex;

use super::{Item, quantity};

/// A field path that may lead to several fields.
#[derive(Clone, Debug)]
pub(crate) struct SearchPath(Path);

/// A node that a path led to, and the values that chose list items on the way.
pub(crate) struct Found<'n> {
    pub node: &'n Node,
    pub chosen_by: Vec<&'n str>,
}

/// Numbers count the items of a list and name the fields of a map; what does not match leads nowhere.
struct Search;

impl Rules for Search {
    const KEYS_INDEX: bool = true;
}

impl SearchPath {
    /// Reads `a.b[name=c].d`; `\.` is a dot within a name, dots within brackets are plain.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        split(text)?.iter().map(|part| segment(part)).collect::<Result<_>>().map(|path| Self(Path(path)))
    }

    /// Every field the path leads to.
    pub(crate) fn find<'n>(&self, root: &'n Node) -> Vec<Found<'n>> {
        let mut found = Vec::new();
        let see = &mut |node: &'n Node, trail: &Vec<usize>| {
            found.push(Found { node, chosen_by: self.chosen_by(root, trail) });
            Ok(ControlFlow::Continue(()))
        };
        let _ = path::visit(&Search, self.0.segments(), root, &mut Vec::new(), see)
            .expect("no test of ours fails");
        found
    }

    /// The values for which `[name=value]` chose the items on the way.
    fn chosen_by<'n>(&self, root: &'n Node, trail: &[usize]) -> Vec<&'n str> {
        let mut node = root;
        let mut chosen_by = Vec::new();
        for (segment, at) in self.0.segments().iter().zip(trail) {
            node = path::child(node, *at);
            if let Segment::Match(select) = segment {
                let value = if select.key.is_empty() { Some(node) } else { node.get(&select.key) };
                chosen_by.extend(value.and_then(Node::text));
            }
        }
        chosen_by
    }
}

fn segment(text: &str) -> Result<Segment> {
    let Some(inside) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        return Ok(if text == "*" { Segment::Any } else { Segment::Key(text.into()) });
    };
    if inside == "*" {
        return Ok(Segment::Any);
    }
    if inside.parse::<usize>().is_ok() {
        return Ok(Segment::Key(inside.into()));
    }
    let Some((key, value)) = inside.split_once('=') else {
        return Err(Diagnostic::error("field-path", format!("`[{inside}]` chooses no list item"))
            .help("write `[name=value]`, `[0]` or `[*]`"));
    };
    let pattern = regex(value)?;
    let test: path::Test = Arc::new(move |node| Ok(node.text().is_some_and(|text| pattern.is_match(text))));
    Ok(Segment::Match(Box::new(Select { key: key.into(), value: value.into(), test: Some(test) })))
}

fn regex(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Diagnostic::error("regex", format!("`{pattern}` is not a valid regular expression: {why}"))
    })
}

/// Splits a path at its dots and before its brackets.
fn split(text: &str) -> Result<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut in_brackets = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' if !in_brackets => parts.last_mut().expect("never empty").extend(rest.next()),
            '[' if !in_brackets => {
                in_brackets = true;
                parts.push("[".to_owned());
            }
            ']' if in_brackets => {
                in_brackets = false;
                parts.last_mut().expect("never empty").push(']');
                parts.push(String::new());
            }
            '.' if !in_brackets => parts.push(String::new()),
            c => parts.last_mut().expect("never empty").push(c),
        }
    }
    if in_brackets {
        return Err(Diagnostic::error(
            "field-path",
            format!("`{text}` opens a bracket and does not close it"),
        ));
    }
    parts.retain(|part| !part.is_empty());
    match parts.is_empty() {
        true => {
            Err(Diagnostic::error("field-path", "the field path is empty")
                .help("write one as `spec.replicas`"))
        }
        false => Ok(parts),
    }
}

/// A question about a field, answered yes or no for a resource.
#[derive(Clone, Debug)]
pub struct Query {
    path: SearchPath,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Fits(Regex),
    Compares(Comparison, String),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    AtLeast,
    AtMost,
    More,
    Less,
}

impl Query {
    /// Reads `path`, `path=regex`, `path>quantity`, `path>=quantity`, `path<quantity` or `path<=quantity`.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((at, sign)) = operator(text) else {
            let test = Test::Fits(Regex::new("").expect("the empty expression is one"));
            return Ok(Self { path: SearchPath::parse(text)?, test });
        };
        let (path, value) = (SearchPath::parse(&text[..at])?, &text[at + sign.len()..]);
        if operator(value).is_some() && sign != "=" {
            return Err(Diagnostic::error("query", format!("`{text}` compares twice"))
                .help("ask one question at a time"));
        }
        let comparison = match sign {
            "=" => return Ok(Self { path, test: Test::Fits(regex(value)?) }),
            ">=" => Comparison::AtLeast,
            "<=" => Comparison::AtMost,
            ">" => Comparison::More,
            _ => Comparison::Less,
        };
        if quantity::compare(value, value).is_none() {
            return Err(Diagnostic::error("query", format!("`{value}` is not a quantity")).help(
                "compare with a number such as `3`, `500m` or `1Gi`, or use `=` for a regular expression",
            ));
        }
        Ok(Self { path, test: Test::Compares(comparison, value.to_owned()) })
    }

    /// Whether any of the fields the path leads to passes.
    pub fn accepts(&self, item: &Item) -> bool {
        self.path.find(&item.node).iter().any(|found| self.test.accepts(found.node))
    }
}

/// The first operator outside brackets, and where it is.
fn operator(text: &str) -> Option<(usize, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            '<' | '>' | '=' if depth <= 0 => {
                let both = text[at..].starts_with(">=") || text[at..].starts_with("<=");
                return Some((at, &text[at..at + if both { 2 } else { 1 }]));
            }
            _ => {}
        }
    }
    None
}

impl Test {
    fn accepts(&self, node: &Node) -> bool {
        match self {
            Test::Fits(pattern) => pattern.is_match(one_line(node).replace('"', "").trim()),
            Test::Compares(comparison, value) => {
                let Some(order) = node.text().and_then(|text| quantity::compare(text, value)) else {
                    return false;
                };
                match comparison {
                    Comparison::AtLeast => order.is_ge(),
                    Comparison::AtMost => order.is_le(),
                    Comparison::More => order.is_gt(),
                    Comparison::Less => order.is_lt(),
                }
            }
        }
    }
}

/// A node on one line, in flow style and without comments.
pub(crate) fn one_line(node: &Node) -> String {
    let mut node = node.clone();
    super::format::strip_comments(&mut node);
    // Quotes only if the value needs them, however it was written.
    let style = if node.is_scalar() { Style::Any } else { Style::Flow };
    krm_yaml::emit::preserve::fresh(&node.with_style(style)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_dots_and_brackets() {
        assert_eq!(split("a.b[name=x.y].c").unwrap(), ["a", "b", "[name=x.y]", "c"]);
        assert_eq!(split(r"a.b\.c").unwrap(), ["a", "b.c"]);
        assert!(split("a[b").is_err() && split("").is_err());
    }

    #[test]
    fn operators_within_brackets_belong_to_the_path() {
        assert_eq!(operator("a[name=b].c>=3"), Some((11, ">=")));
        assert_eq!(operator("a[name=b].c"), None);
    }
}
