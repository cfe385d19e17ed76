//! `ValueAddTransformer` writes one value into fields of many resources.

use krm_yaml::path::{self, Edits, Leaf, Path, Rules, Segment, Select};
use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Text};
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
/// is made. More targets may be in a file that `targetFilePath` names.
#[derive(Clone, Debug)]
pub(crate) struct ValueAdd {
    value: Spanned<Text>,
    targets: Vec<FieldTarget>,
}

#[derive(Clone, Debug)]
struct FieldTarget {
    resources: Option<Matcher>,
    field: Field,
    /// 0 replaces the value.
    position: usize,
}

#[derive(Clone, Debug)]
enum Field {
    /// The namespace is more than a field.
    Namespace(Namespace),
    Path(Path, Span),
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
            value = Spanned::new(folder.to_string_lossy().as_ref().into(), config.span());
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
        let targets = targets.into_iter().map(|t| FieldTarget::new(t, &value)).collect::<Result<_>>()?;
        Ok(Box::new(Self { value, targets }))
    }
}

impl FieldTarget {
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
                .help("1 is the first part of the path; 0 replaces all of it"));
        };
        let field = match field_path.as_str() {
            "metadata/namespace" => Field::Namespace(Namespace::new(value.clone(), Default::default())),
            path => Field::Path(Path(segments(path).map_err(|d| d.at(field_path.span))?), field_path.span),
        };
        if let Field::Path(path, place) = &field {
            limits::refuse_long(path.segments().len()).map_err(|d| d.at(*place))?;
        }
        Ok(Self { resources: selector.map(|s| s.compile()).transpose()?, field, position })
    }
}

/// Reads names between slashes, of which numbers, `-` and `[field=value]` are items of lists; `\/` is a slash within a name.
/// Empty names do not count.
fn segments(path: &str) -> Result<Vec<Segment>> {
    let names = path::split(path, '/');
    names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).map(segment).collect()
}

fn segment(name: &str) -> Result<Segment> {
    let inside = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    // What has more than 64 bits is a name.
    match (name, inside.and_then(|inside| inside.split_once('=')), name.parse::<i64>()) {
        ("-", ..) => Ok(Segment::Last),
        ("*", ..) => Err(refused("`*` is not a name here: each target is one field".to_owned())),
        ("<<", ..) => Err(refused("`<<` is a merge key, and cannot be added".to_owned())),
        (_, Some((key, value)), _) => {
            Ok(Segment::Match(Box::new(Select { key: key.into(), value: value.into(), test: None })))
        }
        (_, None, Ok(index)) => match usize::try_from(index) {
            Ok(index) => Ok(Segment::Index(index)),
            Err(_) => Err(refused(format!("the index `{index}` cannot be negative"))),
        },
        (_, None, Err(_)) => Ok(Segment::Key(name.into())),
    }
}

fn refused(message: String) -> Diagnostic {
    Diagnostic::error("value-add-path", message)
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
                        .edit(cx.schema, |root| {
                            let mut write = Write { add: self, position: target.position, place: *span };
                            path::edit(&mut write, path.segments(), root).map(drop)
                        })
                        .map_err(|d| d.at(*span)),
                })?;
            }
        }
        Ok(())
    }
}

/// Writes the value where a path ends. A null or the end of a list on the way is where it ends in vain.
struct Write<'a> {
    add: &'a ValueAdd,
    position: usize,
    place: Span,
}

impl Rules for Write<'_> {
    const FIRST_MATCH: bool = true;
    const ANY_VALUE: bool = false;

    fn mismatch(&self, segment: &Segment, node: &Node) -> Result<()> {
        let wanted = if matches!(segment, Segment::Key(_)) { "a map" } else { "a list" };
        let message = format!("`{segment}` needs {wanted}, but comes after {}", node.kind_name());
        Err(refused(message).note("here", node.span()))
    }
}

impl Edits for Write<'_> {
    fn leaf(&mut self, field: &mut Node) -> Result<()> {
        let value = &self.add.value;
        let text = match self.position {
            0 => value.to_string(),
            n => insert_part(field.text().unwrap_or_default(), n - 1, value),
        };
        setter::untyped(field, &text, value.span)
    }

    fn create(&self) -> Option<Leaf> {
        Some(Leaf::Scalar)
    }

    fn place(&self) -> Span {
        self.place
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
    fn a_part_goes_where_the_options_say() {
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
        let names: Vec<_> =
            segments("/metadata/annotations/a.io\\/b").unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["metadata", "annotations", "a.io/b"]);
        assert_eq!(segments("a/9223372036854775808").unwrap()[1].to_string(), "9223372036854775808");
        for refused in ["a/-1", "a/*", "<<", "a/-9223372036854775808/b"] {
            assert!(segments(refused).is_err(), "{refused}");
        }
    }
}
