//! Field paths: one type for the three ways people write them.
//!
//! | written | parsed by | who writes so |
//! | --- | --- | --- |
//! | `spec/template/spec/containers[]/image` | [`Path::slashed`] | field specs |
//! | `spec.containers.[name=web].image`, `a.0.b`, `a.*`, `a.-` | [`Path::dotted`] | replacements, results |
//! | `/spec/containers/0/~1x` | [`Path::pointer`] | JSON patches (RFC 6901) |
//!
//! [`Path::get`] and [`Path::get_all`] look; [`Path::set`], [`Path::insert`], [`Path::append`], [`Path::remove`] and
//! [`Path::edit`] change, and copy nothing but the way to what they change.
//!
//! ```
//! use krm_yaml::path::{Missing, Path};
//! use krm_yaml::Node;
//!
//! let mut pod = Node::map();
//! let image = Path::dotted("spec.containers.[name=web].image")?;
//! image.set(&mut pod, Node::from("nginx"), Missing::Create)?;
//! assert_eq!(Path::pointer("/spec/containers/0/name")?.get(&pod).and_then(Node::as_str), Some("web"));
//! # Ok::<(), krm_yaml::Diagnostic>(())
//! ```

mod edit;
mod walk;

use std::fmt;

use crate::diag::{Diagnostic, Result};
use crate::node::Text;

pub use edit::Missing;

/// A parsed field path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Path(pub Vec<Segment>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A map key; also an index where a sequence stands and the key is a number.
    Key(Text),
    /// A map key of a field spec: sequences on the way to it are entered, item by item.
    Field(Text),
    /// `name[]` in a field spec: every item of the sequence.
    Each,
    /// `[k=v]`: the items whose field `k` is `v`; an empty `k` (`[=v]`) matches scalar items.
    Match { key: Text, value: Text },
    /// The same, with the value a regular expression that may match anywhere: see [`Path::dotted_patterns`].
    Pattern { key: Text, pattern: Text },
    /// `*`: every value of a map, every item of a sequence.
    Any,
    /// `-`: behind the last item; where something is looked up, the last item.
    Append,
}

impl Path {
    /// Parses the path of a field spec: names between slashes, `\/` for a slash within a name, `name[]` where a
    /// sequence must stand.
    pub fn slashed(text: &str) -> Result<Self> {
        let mut segments = Vec::new();
        for name in split(text, '/') {
            let field = name.strip_suffix("[]").unwrap_or(&name);
            if field.is_empty() {
                return Err(Diagnostic::error(
                    "path-empty-field",
                    format!("the path `{text}` has an empty field name"),
                )
                .help("write the names of the fields with one slash between them, as in `spec/replicas`"));
            }
            segments.push(Segment::Field(field.into()));
            if field.len() < name.len() {
                segments.push(Segment::Each);
            }
        }
        Ok(Self(segments))
    }

    /// Parses the path of a replacement: names between dots, `\.` for a dot within a name. Brackets hold together what
    /// has dots of its own: `[name=a.b]` finds an item of a list, `[a.b/c]` is the key `a.b/c`.
    pub fn dotted(text: &str) -> Result<Self> {
        let mut parts = split(text, '.').into_iter();
        let mut segments = Vec::new();
        while let Some(mut part) = parts.next() {
            if part.starts_with('[') && !part.ends_with(']') {
                while !part.ends_with(']') {
                    let Some(more) = parts.next() else { break };
                    part = format!("{part}.{more}");
                }
                if !part.contains('=') {
                    segments.push(Segment::Key(part.trim_matches(['[', ']']).into()));
                    continue;
                }
            }
            segments.push(match part.as_str() {
                "*" => Segment::Any,
                "-" => Segment::Append,
                _ if part.starts_with('[') && part.ends_with(']') => selector(&part, text)?,
                _ => Segment::Key(part.into()),
            });
        }
        Ok(Self(segments))
    }

    /// As [`Path::dotted`], but `[k=v]` takes `v` for a regular expression that may match anywhere in the value as it
    /// is written. So the reference reads the paths of a replacement's targets: `[name=web]` also finds `webhook`.
    pub fn dotted_patterns(text: &str) -> Result<Self> {
        let mut path = Self::dotted(text)?;
        for segment in &mut path.0 {
            if let Segment::Match { key, value } = segment {
                let (key, pattern) = (std::mem::take(key), std::mem::take(value));
                walk::check_pattern(&pattern, text)?;
                *segment = Segment::Pattern { key, pattern };
            }
        }
        Ok(path)
    }

    /// Parses a JSON pointer: empty for the root, else each name behind a slash, with `~1` for a slash and `~0` for a
    /// tilde.
    pub fn pointer(text: &str) -> Result<Self> {
        let Some(names) = text.strip_prefix('/') else {
            if text.is_empty() {
                return Ok(Self::default());
            }
            return Err(Diagnostic::error(
                "path-no-slash",
                format!("the path `{text}` does not begin with a slash"),
            )
            .help(format!("write `/{text}`")));
        };
        let segment = |name: &str| match name {
            "-" => Segment::Append,
            _ => Segment::Key(name.replace("~1", "/").replace("~0", "~").into()),
        };
        Ok(Self(names.split('/').map(segment).collect()))
    }

    /// The steps.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether the path is that of the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

/// Splits at a delimiter; a backslash before one keeps it. A delimiter at the very start does not count.
fn split(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = text.split(delimiter).peekable();
    let first = parts.next().unwrap_or("");
    let first = if first.is_empty() && parts.peek().is_some() { parts.next().unwrap_or("") } else { first };
    let mut out = vec![first.to_string()];
    for part in parts {
        let last = out.last_mut().expect("there is a first part");
        if last.ends_with('\\') {
            last.pop();
            last.push(delimiter);
            last.push_str(part);
        } else {
            out.push(part.to_string());
        }
    }
    out
}

/// Reads `[key=value]`.
fn selector(part: &str, whole: &str) -> Result<Segment> {
    let Some((key, value)) = part[1..part.len() - 1].split_once('=') else {
        return Err(Diagnostic::error(
            "path-bad-selector",
            format!("`{part}` in the path `{whole}` has no `=`"),
        )
        .help("write `[field=value]` to find an item of a list, or a number to count"));
    };
    Ok(Segment::Match { key: key.into(), value: value.into() })
}

/// The path as people write it: with slashes where it is that of a field spec, else with dots.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slashed = self.0.iter().any(|s| matches!(s, Segment::Field(_)));
        let delimiter = if slashed { '/' } else { '.' };
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 && *segment != Segment::Each {
                write!(f, "{delimiter}")?;
            }
            match segment {
                Segment::Key(name) | Segment::Field(name) if name.contains(delimiter) => {
                    f.write_str(&name.replace(delimiter, &format!("\\{delimiter}")))?;
                }
                Segment::Key(name) | Segment::Field(name) => f.write_str(name)?,
                Segment::Each => f.write_str("[]")?,
                Segment::Match { key, value } | Segment::Pattern { key, pattern: value } => {
                    write!(f, "[{key}={value}]")?;
                }
                Segment::Any => f.write_str("*")?,
                Segment::Append => f.write_str("-")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Segment {
        Segment::Key(text.into())
    }

    fn field(text: &str) -> Segment {
        Segment::Field(text.into())
    }

    fn item(key: &str, value: &str) -> Segment {
        Segment::Match { key: key.into(), value: value.into() }
    }

    #[test]
    fn slashed_paths_know_lists_and_escapes() {
        let cases: &[(&str, &[Segment])] = &[
            ("spec/replicas", &[field("spec"), field("replicas")]),
            ("/spec/replicas", &[field("spec"), field("replicas")]),
            ("a/b[]/c", &[field("a"), field("b"), Segment::Each, field("c")]),
            (r"metadata/annotations/x.io\/y", &[field("metadata"), field("annotations"), field("x.io/y")]),
        ];
        for (text, segments) in cases {
            assert_eq!(Path::slashed(text).unwrap().0, *segments, "{text}");
        }
        assert_eq!(Path::slashed("").unwrap_err().code(), "path-empty-field");
        assert_eq!(Path::slashed("a//b").unwrap_err().code(), "path-empty-field");
        assert_eq!(Path::slashed("a/[]").unwrap_err().code(), "path-empty-field");
    }

    #[test]
    fn dotted_paths_know_brackets_indexes_and_escapes() {
        let cases: &[(&str, &[Segment])] = &[
            ("spec.replicas", &[key("spec"), key("replicas")]),
            (".spec", &[key("spec")]),
            ("a.[k=v].c", &[key("a"), item("k", "v"), key("c")]),
            ("a.[k=v.w.x].c", &[key("a"), item("k", "v.w.x"), key("c")]),
            ("a.[=-jar]", &[key("a"), item("", "-jar")]),
            ("a.[k=v=w]", &[key("a"), item("k", "v=w")]),
            ("metadata.annotations.[x.io/y]", &[key("metadata"), key("annotations"), key("x.io/y")]),
            (
                r"metadata.annotations.x\.io/y.z",
                &[key("metadata"), key("annotations"), key("x.io/y"), key("z")],
            ),
            ("a.0.*.-", &[key("a"), key("0"), Segment::Any, Segment::Append]),
            ("a.[k=v.open", &[key("a"), key("[k=v.open")]),
        ];
        for (text, segments) in cases {
            assert_eq!(Path::dotted(text).unwrap().0, *segments, "{text}");
        }
        assert_eq!(Path::dotted("a.[name]").unwrap_err().code(), "path-bad-selector");
    }

    #[test]
    fn pointers_decode_their_escapes() {
        assert_eq!(Path::pointer("").unwrap().0, []);
        assert_eq!(Path::pointer("/").unwrap().0, [key("")]);
        assert_eq!(
            Path::pointer("/a~1b/~01/0/-").unwrap().0,
            [key("a/b"), key("~1"), key("0"), Segment::Append]
        );
        assert_eq!(Path::pointer("a/b").unwrap_err().code(), "path-no-slash");
    }

    #[test]
    fn paths_print_as_they_are_written() {
        for text in ["spec/a[]/b", r"x/y.io\/z"] {
            assert_eq!(Path::slashed(text).unwrap().to_string(), text);
        }
        for text in ["a.b.[k=v.w].0.*.-", r"a.x\.io/y"] {
            assert_eq!(Path::dotted(text).unwrap().to_string(), text);
        }
        assert_eq!(Path::pointer("/a~1b/0").unwrap().to_string(), "a/b.0");
    }
}
