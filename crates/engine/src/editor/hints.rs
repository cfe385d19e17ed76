//! What a text does not say itself: which element a position in a JSON patch means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use krm_yaml::Span;

use super::Editor;
use super::problems::FileSpan;
use crate::pipeline::trace::positions;

/// A word to show after a piece of text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hint {
    /// What it is shown after.
    pub place: FileSpan,
    /// A word: the name of the element that is meant.
    pub text: String,
    /// The same at length.
    pub description: String,
}

impl Editor {
    /// The names of the elements that JSON patches in a file mean by positions. One that means different elements in
    /// different builds has no hint: `krm lint` reports it.
    pub fn hints(&mut self, path: &Path) -> Vec<Hint> {
        self.sync();
        let path = self.world.place(path);
        let roots = self.roots_using(&path).into_iter().take(super::hover::MOST_BUILDS);
        let traces: Vec<_> = roots.filter_map(|root| self.trace(&root)).collect();
        // Known once something was built of it.
        let Some(source) = self.session.text_of(&path) else { return Vec::new() };
        let mut found: BTreeMap<(u32, u32), BTreeSet<(String, String)>> = BTreeMap::new();
        for position in traces.iter().flat_map(positions).filter(|p| p.written.file == source.id()) {
            let names = found.entry((position.written.start, position.written.end)).or_default();
            names.insert((position.element, format!("`{}` of {}", position.path, position.resource)));
        }
        let hint = |((start, end), names): ((u32, u32), BTreeSet<(String, String)>)| {
            let (text, _) = names.first()?.clone();
            let is_one = names.iter().all(|(name, _)| *name == text);
            let span = Span { file: source.id(), start, end };
            let place = FileSpan { path: path.clone(), source: source.clone(), span };
            let description = names.into_iter().map(|(_, at)| at).collect::<Vec<_>>().join("\n");
            is_one.then_some(Hint { place, text, description })
        };
        found.into_iter().filter_map(hint).collect()
    }
}
