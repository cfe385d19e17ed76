//! `ValueAddTransformer` writes one value into fields of many resources.

use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Style, Tag, Text};
use serde::Deserialize;

use super::{Namespace, Setup, read_config, setter};
use crate::limits;
use crate::pipeline::{Context, Transformer};
use crate::resource::lenient;
use crate::resource::list::{Names, Resources};
use crate::select::resources::{Matcher, Selector};

/// Writes a value into fields of the resources that are selected.
///
/// ```yaml
/// apiVersion: builtin
/// kind: ValueAddTransformer
/// metadata:
///   name: any
/// value: my-project
/// targets:
/// - fieldPath: metadata/namespace
/// - selector: {kind: Bucket}
///   fieldPath: spec/folder
///   filePathPosition: 2
/// ```
///
/// Without a `value` it is the name of the kustomization's folder. With a `filePathPosition` the value becomes that part of
/// the path the field holds: 1 is the first; beyond the last it goes to the end. What is missing on the way to the field
/// is made. More targets may stand in a file that `targetFilePath` names.
#[derive(Clone, Debug)]
pub struct ValueAdd {
    value: Spanned<Text>,
    targets: Vec<Target>,
}

#[derive(Clone, Debug)]
struct Target {
    resources: Option<Matcher>,
    field: Field,
    /// 0 replaces the value.
    position: usize,
}

#[derive(Clone, Debug)]
enum Field {
    /// The namespace is more than a field.
    Namespace(Namespace),
    Path(Vec<Text>, Span),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    value: Spanned<Text>,
    #[serde(default)]
    targets: Vec<Spanned<TargetConfig>>,
    target_file_path: Option<Spanned<Text>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetConfig {
    selector: Option<Selector>,
    #[serde(default)]
    field_path: Spanned<Text>,
    #[serde(default)]
    file_path_position: Spanned<i64>,
}

#[derive(Deserialize)]
struct TargetFile {
    #[serde(default)]
    targets: Vec<Spanned<TargetConfig>>,
}

impl ValueAdd {
    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { mut value, mut targets, target_file_path } = read_config(config)?;
        value.value = value.trim().into();
        if value.is_empty() {
            let folder = setup.loader.root().file_name().unwrap_or_default();
            value.value = folder.to_string_lossy().as_ref().into();
        }
        if let Some(path) = target_file_path.filter(|path| !path.is_empty()) {
            let source = setup.loader.load(&path, path.span)?;
            for document in krm_yaml::parse(&source)?.into_iter().take(1) {
                let file: TargetFile =
                    krm_yaml::from_node_with(&document.root, lenient::NAMED_FILE.unknown_fields())?;
                targets.extend(file.targets);
            }
        }
        if targets.is_empty() {
            return Err(Diagnostic::error(
                "value-add-no-target",
                "a ValueAddTransformer needs at least one target",
            )
            .at(config.span())
            .help("add `targets: [{selector: {...}, fieldPath: a/b}]`"));
        }
        let targets = targets.into_iter().map(|t| Target::new(t, &value)).collect::<Result<_>>()?;
        Ok(Box::new(Self { value, targets }))
    }
}

impl Target {
    fn new(config: Spanned<TargetConfig>, value: &Spanned<Text>) -> Result<Self> {
        let Spanned { value: config, span } = config;
        let TargetConfig { selector, field_path, file_path_position } = config;
        if field_path.is_empty() {
            return Err(Diagnostic::error(
                "value-add-no-field",
                "a target does not say which field is meant",
            )
            .at(span)
            .help("add `fieldPath: spec/folder`"));
        }
        let Ok(position) = usize::try_from(*file_path_position) else {
            let message = format!("`filePathPosition` cannot be {file_path_position}");
            return Err(Diagnostic::error("value-add-position", message)
                .at(file_path_position.span)
                .help("1 is the first place in the path; 0 replaces all of it"));
        };
        let field = match field_path.as_str() {
            "metadata/namespace" => Field::Namespace(Namespace::new(value.clone(), Default::default())),
            path => Field::Path(split(path), field_path.span),
        };
        if let Field::Path(names, place) = &field {
            limits::refuse_long(names.len()).map_err(|d| d.at(*place))?;
        }
        Ok(Self { resources: selector.map(|s| s.compile()).transpose()?, field, position })
    }
}

/// Splits at `/`; `\/` is a slash within a name. Empty names do not count.
fn split(path: &str) -> Vec<Text> {
    let mut names: Vec<String> = Vec::new();
    for part in path.split('/') {
        match names.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.extend(["/", part]);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).map(Text::from).collect()
}

impl Transformer for ValueAdd {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        for target in &self.targets {
            let chosen = match &target.resources {
                Some(matcher) => matcher.select(items)?,
                None => items.candidates(Names::All),
            };
            for at in chosen {
                items.edit_at(at, |r| match &target.field {
                    Field::Namespace(namespace) => namespace.put(r, cx),
                    Field::Path(path, span) => r
                        .edit(cx.schema, |root| self.write(root, path, target.position))
                        .map_err(|d| d.at(*span)),
                })?;
            }
        }
        Ok(())
    }
}

impl ValueAdd {
    fn write(&self, root: &mut Node, path: &[Text], position: usize) -> Result<()> {
        let Some(field) = find_or_make(root, path)? else { return Ok(()) };
        let text = match position {
            0 => self.value.to_string(),
            n => insert_part(field.text().unwrap_or_default(), n - 1, &self.value),
        };
        setter::untyped(field, &text, self.value.span)
    }
}

/// The node at the end of a path; maps, lists and the node itself are made where they are missing. `None` where a null
/// or the end of a list is in the way.
fn find_or_make<'n>(root: &'n mut Node, path: &[Text]) -> Result<Option<&'n mut Node>> {
    let mut node = root;
    for (at, name) in path.iter().enumerate() {
        if node.is_null() {
            return Ok(None);
        }
        let wrong = |wanted: &str, node: &Node| {
            let message = format!("`{name}` needs {wanted}, but stands behind {}", node.kind_name());
            Diagnostic::error("value-add-path", message).note("here", node.span())
        };
        let index = match name.as_str() {
            "-" => Some(node.items().len().wrapping_sub(1)),
            name => name.parse().ok(),
        };
        let item = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).and_then(|n| n.split_once('='));
        node = if index.is_some() || item.is_some() {
            if !node.is_seq() {
                return Err(wrong("a list", node));
            }
            let items = node.as_seq_mut().expect("just seen to be a list");
            match (index, item) {
                (_, Some((key, value))) => item_or_new(items, key, value),
                (Some(index), None) => match items.get_mut(index) {
                    Some(item) => item,
                    None => return Ok(None),
                },
                (None, None) => unreachable!("one of them was just seen"),
            }
        } else {
            if !node.is_map() {
                return Err(wrong("a map", node));
            }
            if node.get(name).is_none() {
                node.set(name, missing(path.get(at + 1)));
            }
            node.get_mut(name).expect("it was there, or was just made")
        };
    }
    Ok(Some(node))
}

fn item_or_new<'n>(items: &'n mut Vec<Node>, key: &str, value: &str) -> &'n mut Node {
    let text = |node: &Node| node.text() == Some(value);
    let found = items.iter().position(|item| match key {
        "" => text(item),
        key => item.get(key).is_some_and(text),
    });
    let at = found.unwrap_or_else(|| {
        items.push(match key {
            "" => Node::from(value),
            key => [(key, value)].into_iter().collect(),
        });
        items.len() - 1
    });
    &mut items[at]
}

/// What a path goes on from where nothing is yet.
fn missing(next: Option<&Text>) -> Node {
    match next {
        None => Node::scalar("", Tag::Null, Style::Any, Span::NONE),
        Some(name) if name.starts_with('[') && name.ends_with(']') => Node::seq(),
        Some(name) if name.bytes().all(|b| b.is_ascii_digit()) => Node::seq(),
        Some(_) => Node::map(),
    }
}

/// Makes a text part of a file path. What is absolute stays so.
fn insert_part(path: &str, position: usize, part: &str) -> String {
    let (root, rest) = match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    };
    let mut parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.insert(position.min(parts.len()), part);
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_goes_where_it_is_told() {
        for (path, position, result) in [
            ("", 0, "X"),
            ("/", 3, "/X"),
            ("a", 0, "X/a"),
            ("/a", 0, "/X/a"),
            ("a", 1, "a/X"),
            ("/a", 9, "/a/X"),
            ("a/b/c", 2, "a/b/X/c"),
            ("/a/b/c", 2, "/a/b/X/c"),
        ] {
            assert_eq!(insert_part(path, position, "X"), result, "{path} {position}");
        }
    }

    #[test]
    fn paths_split_at_slashes_that_are_not_escaped() {
        assert_eq!(split("/metadata/annotations/a.io\\/b"), ["metadata", "annotations", "a.io/b"]);
    }
}
