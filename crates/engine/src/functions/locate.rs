//! Where in the user's files a result of a function points to.

use krm_function::{FunctionResult, Object};
use krm_yaml::{Node, Path, Span};
use rustc_hash::FxHashMap;

use crate::resource::Home;

/// Finds resources by what results say about them: file and index, or identity.
#[derive(Default)]
pub struct Locator<'i> {
    by_home: FxHashMap<(&'i str, usize), &'i Node>,
    by_name: FxHashMap<[String; 4], &'i Node>,
}

impl<'i> Locator<'i> {
    /// Indexes the resources a function was given; no work when there are no results to look up.
    pub fn new(
        given: impl Iterator<Item = (&'i Node, Option<&'i Home>)>,
        results: &[FunctionResult],
    ) -> Self {
        let mut locator = Self::default();
        for (node, home) in given.filter(|_| !results.is_empty()) {
            if let Some(home) = home {
                locator.by_home.entry((&home.path, home.index)).or_insert(node);
            }
            let object = Object::from(node.clone());
            let name = [object.api_version(), object.kind(), object.namespace(), object.name()];
            locator.by_name.entry(name.map(str::to_owned)).or_insert(node);
        }
        locator
    }

    /// The field a result names, or the innermost part of the way to it that exists; `Span::NONE` when the result names
    /// no resource that was sent.
    pub fn find(&self, result: &FunctionResult) -> Span {
        let at_home = result.file().and_then(|file| self.by_home.get(&(file, result.file_index())));
        let named = || {
            let named = result.resource()?;
            let name = [named.api_version, named.kind, named.namespace, named.name];
            self.by_name.get(&name.map(str::to_owned))
        };
        at_home.or_else(named).map_or(Span::NONE, |node| field_span(result, node))
    }
}

fn field_span(result: &FunctionResult, root: &Node) -> Span {
    let Ok(path) = Path::bracketed(result.field_path().unwrap_or_default()) else { return root.span() };
    let segments = path.segments();
    let way = (1..=segments.len()).rev().map(|length| Path(segments[..length].to_vec()));
    let spans = way.filter_map(|path| path.get(root).map(Node::span));
    spans.chain([root.span()]).find(|span| !span.is_none()).unwrap_or(Span::NONE)
}
