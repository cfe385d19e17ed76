//! Why nothing matches: which part of a selector is to blame, and what would have matched.

use std::collections::BTreeSet;

use krm_yaml::{Fix, Node, Span, Spanned, Text, nearest};

use crate::resource::list::Resources;
use crate::resource::{Resource, ResourceId};
use crate::select::go_regex;

/// A part of what is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Kind,
    Group,
    Version,
    /// Group and version in one.
    ApiVersion,
    Name,
    Namespace,
    Labels,
    Annotations,
}

/// What to say of a search that found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NearMiss {
    pub message: String,
    /// The part to blame; none if it takes several to match nothing.
    pub place: Span,
    pub help: String,
    /// The edit that writes what was probably meant.
    pub fix: Option<Fix>,
}

/// The most resources to compare with: there may be as many patches that match nothing.
const MOST: usize = 300;

impl NearMiss {
    /// Names the first part that nothing matches of what matches the parts before it. Parts are given as they are written, and
    /// those that are empty match anything. The headline is given too, and the advice if there is none better.
    pub(crate) fn new(
        headline: &str,
        advice: &str,
        parts: &[(Part, &Spanned<Text>)],
        fits: &dyn Fn(Part, &Resource) -> bool,
        items: &Resources,
    ) -> Self {
        let parts = if items.len() > MOST { &[] } else { parts };
        let mut left: Vec<&Resource> = items.iter().take(MOST).collect();
        let mut noun = "resource".to_owned();
        for (part, wanted) in parts.iter().filter(|(_, wanted)| !wanted.is_empty()) {
            let fitting: Vec<&Resource> = left.iter().copied().filter(|r| fits(*part, r)).collect();
            if fitting.is_empty() && !left.is_empty() {
                return Self {
                    message: format!("{headline}: {}", part.blame(&noun, wanted)),
                    place: wanted.span,
                    help: part.advice(wanted, &left).unwrap_or_else(|| advice.to_owned()),
                    fix: part
                        .near(wanted, &left)
                        .filter(|_| !wanted.span.is_none())
                        .map(|near| Fix::needs_review(format!("write `{near}`")).replace(wanted.span, near)),
                };
            }
            left = fitting;
            match part {
                Part::Kind if go_regex::is_plain(wanted) => noun = wanted.to_string(),
                Part::Name => noun = format!("{noun} `{wanted}`"),
                _ => {}
            }
        }
        Self { message: headline.to_owned(), place: Span::NONE, help: advice.to_owned(), fix: None }
    }
}

/// A kind of resource as a sentence names one of it: `a Deployment`, `an Ingress`.
pub(crate) fn with_article(kind: &str) -> String {
    let is_an = kind.starts_with(['A', 'E', 'I', 'O']) || kind.starts_with("HTTP");
    format!("{} {kind}", if is_an { "an" } else { "a" })
}

impl Part {
    fn blame(self, noun: &str, wanted: &str) -> String {
        let one = with_article(noun);
        match self {
            Part::Kind => format!("there is no {noun} of kind `{wanted}`"),
            Part::Group => format!("there is no {noun} of group `{wanted}`"),
            Part::Version => format!("there is no {noun} of version `{wanted}`"),
            Part::ApiVersion => format!("there is no {noun} of apiVersion `{wanted}`"),
            Part::Name => format!("there is {one}, but none named `{wanted}`"),
            Part::Namespace => format!("there is {one}, but none in namespace `{wanted}`"),
            Part::Labels => format!("there is {one}, but none with labels `{wanted}`"),
            Part::Annotations => format!("there is {one}, but none with annotations `{wanted}`"),
        }
    }

    /// The nearest word that would match. Labels and annotations are several words, so none can take their place.
    fn near(self, wanted: &str, left: &[&Resource]) -> Option<String> {
        if !go_regex::is_plain(wanted) || matches!(self, Part::Labels | Part::Annotations) {
            return None;
        }
        let texts: BTreeSet<String> = left.iter().flat_map(|r| self.texts(r)).collect();
        nearest(wanted, texts.iter().map(String::as_str)).filter(|near| !near.is_empty()).map(str::to_owned)
    }

    /// What would match: the nearest word, or what there is if that is little. Of a pattern nobody can tell.
    fn advice(self, wanted: &str, left: &[&Resource]) -> Option<String> {
        if !go_regex::is_plain(wanted) && !matches!(self, Part::Labels | Part::Annotations) {
            return None;
        }
        let texts: BTreeSet<String> = left.iter().flat_map(|r| self.texts(r)).collect();
        if let Some(near) = nearest(wanted, texts.iter().map(String::as_str)) {
            return Some(format!("did you mean `{near}`?"));
        }
        let all: Vec<&str> = texts.iter().filter(|text| !text.is_empty()).map(String::as_str).collect();
        match (all.len(), self) {
            (0, Part::Group) => Some("leave out `group`: it has none".into()),
            (0, Part::Namespace) => Some("leave out `namespace`: its kind has none".into()),
            (0, Part::Labels) => Some("it has no labels".into()),
            (0, Part::Annotations) => Some("it has no annotations".into()),
            (1, _) => Some(format!("there is only `{}`", all[0])),
            (2..=5, _) => Some(format!("there are only `{}`", all.join("`, `"))),
            _ => None,
        }
    }

    /// What a resource has there.
    fn texts(self, r: &Resource) -> Vec<String> {
        let ids = [r.original_id(), r.id()];
        let api_versions = || ids.iter().map(|id| id.gvk.api_version()).collect();
        let of = |text: fn(&ResourceId) -> &str| ids.iter().map(|id| text(id).to_owned()).collect();
        let pairs = |field| {
            let map = r.node().at(["metadata", field]).and_then(Node::as_map);
            let pair = |key: &Node, value: &Node| Some(format!("{}={}", key.text()?, value.text()?));
            map.into_iter().flatten().filter_map(|entry| pair(&entry.key, &entry.value)).collect()
        };
        match self {
            Part::Kind => of(|id| &id.gvk.kind),
            Part::Group => of(|id| &id.gvk.group),
            Part::Version => of(|id| &id.gvk.version),
            Part::ApiVersion => api_versions(),
            Part::Name => of(|id| &id.name),
            Part::Namespace if r.id().cluster_scoped => Vec::new(),
            Part::Namespace => of(ResourceId::effective_namespace),
            Part::Labels => pairs("labels"),
            Part::Annotations => pairs("annotations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_article;

    #[test]
    fn kinds_have_the_article_that_is_spoken() {
        let kinds = ["Deployment", "Ingress", "ApplicationSet", "HTTPRoute", "User"];
        assert_eq!(
            kinds.map(with_article),
            ["a Deployment", "an Ingress", "an ApplicationSet", "an HTTPRoute", "a User"]
        );
    }
}
