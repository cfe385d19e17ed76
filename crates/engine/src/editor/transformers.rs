//! The transformers that Compositions define, override and put in order, by their names.

use std::path::Path;

use krm_yaml::{Node, Text};

use super::Editor;
use super::cursor::Cursor;
use super::problems::FileSpan;
use crate::workspace::{Layer, LayerKind};

/// A transformer in a Composition.
#[derive(Clone, Debug)]
pub(crate) struct NamedTransformer {
    pub kind: Text,
    pub name: Text,
    /// Where the name is.
    pub place: FileSpan,
}

/// The fields that name transformers of others, and the way to the name in an entry of each.
const USES: [(&str, &[&str]); 2] =
    [("transformerOverrides", &["metadata", "name"]), ("transformerOrder", &["name"])];

impl Editor {
    /// The transformers that a Composition and those it imports define.
    pub(super) fn transformers_below(&self, path: &Path) -> Vec<NamedTransformer> {
        let Some(layer) = self.layer_of(path) else { return Vec::new() };
        self.workspace.closure(layer).into_iter().flat_map(defined).collect()
    }

    /// Where the transformers are defined that the cursor is on a name of.
    pub(super) fn transformers_meant(&self, path: &Path, cursor: &Cursor) -> Vec<FileSpan> {
        let Some(name) = name_at(cursor) else { return Vec::new() };
        let all = self.transformers_below(path).into_iter();
        all.filter(|transformer| transformer.name == name).map(|transformer| transformer.place).collect()
    }

    /// Where a transformer is overridden or put in order, by any Composition that has it.
    pub(super) fn transformer_uses(
        &self,
        path: &Path,
        cursor: &Cursor,
        with_definition: bool,
    ) -> Vec<FileSpan> {
        let Some(name) = name_at(cursor) else { return Vec::new() };
        let mut found = Vec::new();
        for layer in self.together(path) {
            let uses = USES.iter().flat_map(|(field, way)| names(layer, field, way));
            let own = defined(layer).into_iter().filter(|_| with_definition);
            found.extend(uses.chain(own).filter(|transformer| transformer.name == name));
        }
        found.into_iter().map(|transformer| transformer.place).collect()
    }
}

/// The name of a transformer under the cursor.
fn name_at(cursor: &Cursor) -> Option<Text> {
    let is_name = matches!(
        cursor.keys()[..],
        ["transformers" | "transformerOverrides", "*", "metadata", "name"]
            | ["transformerOrder", "*", "name"]
    );
    cursor.node.text().filter(|_| is_name && !cursor.on_key).map(Text::from)
}

fn defined(layer: &Layer) -> Vec<NamedTransformer> {
    names(layer, "transformers", &["metadata", "name"])
}

/// The names at the same way in each entry of a list.
fn names(layer: &Layer, field: &str, way: &[&str]) -> Vec<NamedTransformer> {
    let entries = layer.root.as_ref().and_then(|root| root.get(field)).map(Node::items).unwrap_or_default();
    let of = |entry: &Node| {
        let name = entry.at(way.iter().copied())?;
        let source = layer.source.clone().filter(|source| source.id() == name.span().file)?;
        Some(NamedTransformer {
            kind: entry.get("kind").and_then(Node::text).unwrap_or_default().into(),
            name: name.text()?.into(),
            place: FileSpan { path: layer.file.clone(), source, span: name.span() },
        })
    };
    entries.iter().filter(|_| layer.kind == LayerKind::Composition).filter_map(of).collect()
}
