//! One mistake in a base is an error of every target that is built from it.

use krm_engine::{Diagnostic, Span};
use krm_yaml::Note;
use rustc_hash::FxHashMap;

use super::all;

/// The most targets to name.
const MOST: usize = 3;

/// An error, and the targets that have it.
struct Repeated<'t> {
    error: Diagnostic,
    targets: Vec<&'t str>,
}

/// The errors of targets in the order they came, each once; one of several targets names them.
pub fn once_each<'t>(errors: impl IntoIterator<Item = (&'t str, Diagnostic)>) -> Vec<Diagnostic> {
    let mut found: Vec<Repeated> = Vec::new();
    let mut known = FxHashMap::default();
    for (target, error) in errors {
        for error in all(&error) {
            let at = *known.entry(key(error)).or_insert(found.len());
            match found.get_mut(at) {
                None => found.push(Repeated { error: error.alone(), targets: vec![target] }),
                Some(same) if same.targets.last() != Some(&target) => same.targets.push(target),
                Some(_) => {}
            }
        }
    }
    found.into_iter().map(Repeated::shown).collect()
}

impl Repeated<'_> {
    fn shown(self) -> Diagnostic {
        let Self { error, targets } = self;
        if targets.len() == 1 {
            return error;
        }
        let named: Vec<String> = targets.iter().take(MOST).map(|target| format!("`{target}`")).collect();
        let more = targets.len() - named.len();
        let named = match more {
            0 => named.join(", "),
            _ => format!("{} and {more} more", named.join(", ")),
        };
        error
            // Each target has its own.
            .without_notes(Note::is_inclusion)
            .note(format!("in {} targets: {named}", targets.len()), Span::NONE)
    }
}

/// What makes two errors the same to a reader.
fn key(error: &Diagnostic) -> (&'static str, String) {
    let place = |location: Option<&krm_yaml::Location>| location.map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{}\0{}", place(error.location()), error.message());
    for note in error.notes().iter().filter(|note| !note.is_inclusion()) {
        text += &format!("\0{}\0{}", place(note.location()), note.message);
    }
    error.advice().iter().for_each(|advice| text += &format!("\0{advice}"));
    (error.code(), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use krm_engine::Sources;

    #[test]
    fn an_error_of_many_targets_is_shown_once() {
        let sources = Sources::new();
        let base = sources.add("base/a.yaml".to_owned(), "a: 1\n".to_owned());
        let error = |target: &str, message: &str| {
            let own =
                sources.add(format!("{target}/kustomization.yaml"), "resources: [../base]\n".to_owned());
            let error = Diagnostic::error("code", message).at(base.span(0, 1)).included(own.span(0, 9));
            error.located(&sources)
        };
        let targets = ["a", "b", "c", "d", "e"];
        let errors = targets.iter().map(|target| (*target, error(target, "it is wrong")));
        let found = once_each(errors.chain([("b", error("b", "something else"))]));
        let [same, other] = &found[..] else { panic!("{found:?}") };
        let notes: Vec<&str> = same.notes().iter().map(|note| note.message.as_str()).collect();
        assert_eq!(notes, ["in 5 targets: `a`, `b`, `c` and 2 more"]);
        let notes: Vec<&str> = other.notes().iter().map(|note| note.message.as_str()).collect();
        assert_eq!(notes, ["included here"], "what only one target has stays as it is");
    }
}
