//! The history of a value, as data and as text.

use krm_engine::explain::{self, FieldPath, Hidden, HistoryOptions, Labels, ResourceName, Where, json, text};
use krm_engine::{Diagnostic, Node, Session, Sources};

/// What is to be explained.
pub struct Wanted {
    pub resource: Option<String>,
    pub field: Option<String>,
    pub line: Option<usize>,
}

/// How many causes of causes are followed, as by the command.
const DEPTH: usize = 3;

pub fn explain(
    session: &Session,
    sources: &Sources,
    target: &str,
    wanted: &Wanted,
) -> Result<Node, Diagnostic> {
    let (built, trace) = session.trace(target);
    built?;
    let labels = Labels::new(sources);
    let mut found = Vec::new();
    let places = match (&wanted.resource, wanted.line) {
        (None, Some(line)) => {
            let (resource, path) = explain::lines::at_line(&trace, line)?;
            vec![Where::in_result(&trace, &resource, path)]
        }
        (Some(name), None) => {
            found.extend(explain::resources(&trace, &ResourceName::parse(name)?)?);
            let field = wanted.field.as_deref().map(FieldPath::parse).transpose()?;
            let places = found.iter().flat_map(|found| match &field {
                None => vec![Where::whole(&trace, found)],
                Some(field) => explain::locate(&trace, found, field),
            });
            places.collect()
        }
        _ => {
            let message = "what is to be explained is a resource or a line of the output";
            return Err(Diagnostic::error("question-malformed", message));
        }
    };
    if let (true, Some(name), Some(field)) = (places.is_empty(), &wanted.resource, &wanted.field) {
        let message = format!("`{name}` has no field `{field}`, and never had");
        return Err(Diagnostic::error("explain-no-field", message)
            .help("check the spelling; leave out the field to see the whole resource"));
    }
    let hidden = Hidden::secrets([&*trace], sources);
    let with = HistoryOptions { labels: &labels, hidden: &hidden, depth: DEPTH, conditions: true };
    let histories = places.iter().map(|place| {
        let history = explain::explain(place, with);
        let mut node = json::explanation(&history, target, sources, &hidden);
        node.set("text", text::explanation(&history, sources, usize::MAX).as_str());
        node
    });
    let mut answer = Node::map();
    answer.set("histories", histories.collect::<Vec<_>>());
    Ok(answer)
}
