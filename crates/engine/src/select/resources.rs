//! Choosing resources: the `target` of a patch, the `select` of a replacement.

use krm_yaml::de::strict;
use krm_yaml::{Diagnostic, Result, Spanned, Text};
use regex::Regex;
use serde::Deserialize;

use crate::resource::list::{Names, Resources};
use crate::resource::{Gvk, Resource, ResourceId};
use crate::select::go_regex;
use crate::select::labels::LabelSelector;

use super::near_miss::{NearMiss, Part};

/// Chooses resources. Group, version, kind, name and namespace are regular expressions that must match the whole; what is
/// empty matches anything.
///
/// ```yaml
/// kind: Deployment
/// name: web-.*
/// labelSelector: app=web,tier in (front, back)
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Selector {
    #[serde(deserialize_with = "strict")]
    pub group: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub version: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub kind: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub name: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub namespace: Spanned<Text>,
    pub label_selector: Spanned<Text>,
    pub annotation_selector: Spanned<Text>,
}

impl Selector {
    /// Makes it ready for use, once, however many resources it is then held against.
    pub(crate) fn compile(&self) -> Result<Matcher> {
        Ok(Matcher {
            written: self.clone(),
            group: Pattern::compile(&self.group)?,
            version: Pattern::compile(&self.version)?,
            kind: Pattern::compile(&self.kind)?,
            name: Pattern::compile(&self.name)?,
            namespace: Pattern::compile(&self.namespace)?,
            labels: parse_labels(&self.label_selector),
            annotations: parse_labels(&self.annotation_selector),
        })
    }

    /// Whether no id is asked for: at most labels and annotations.
    pub(crate) fn has_no_id(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.name, &self.namespace].iter().all(|t| t.is_empty())
    }
}

fn parse_labels(text: &Spanned<Text>) -> Result<LabelSelector> {
    LabelSelector::parse(text).map_err(|why| {
        Diagnostic::error("bad-label-selector", format!("`{text}` is not a valid label selector: {why}"))
            .at(text.span)
            .help("write it as for `kubectl get -l`: `app=web,tier in (front, back),!canary`")
    })
}

/// A [`Selector`] ready for use.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    written: Selector,
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    // quirk(target-mistakes-count-late): A label or annotation selector that cannot be parsed is an error only once a
    // resource matches the rest of the target. (`resWrangler.Select`)
    labels: Result<LabelSelector>,
    annotations: Result<LabelSelector>,
}

impl Matcher {
    /// Where the resources are that match, in order.
    pub(crate) fn select(&self, items: &Resources) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for at in items.candidates(self.names()) {
            if self.fits(&items.as_slice()[at])? {
                found.push(at);
            }
        }
        Ok(found)
    }

    /// Whether a resource matches, under its first or its present name and namespace.
    pub(crate) fn fits(&self, r: &Resource) -> Result<bool> {
        let (first, now) = (r.original_id(), r.id());
        let either =
            |pattern: &Pattern, of: fn(&ResourceId) -> &str| pattern.fits(of(first)) || pattern.fits(of(now));
        Ok(either(&self.name, |id| &id.name)
            && either(&self.namespace, ResourceId::effective_namespace)
            && self.fits_gvk(r.gvk())
            && self.fits_labels(r)?)
    }

    /// Whether an id matches; its namespace counts as it is written.
    pub(crate) fn fits_id(&self, id: &ResourceId) -> bool {
        self.fits_gvk(&id.gvk) && self.name.fits(&id.name) && self.namespace.fits(&id.namespace)
    }

    fn fits_gvk(&self, gvk: &Gvk) -> bool {
        self.kind.fits(&gvk.kind) && self.group.fits(&gvk.group) && self.version.fits(&gvk.version)
    }

    /// Whether labels and annotations match.
    pub(crate) fn fits_labels(&self, r: &Resource) -> Result<bool> {
        Ok(has(&self.labels, "labels", r)? && has(&self.annotations, "annotations", r)?)
    }

    /// Why nothing matches: see [`NearMiss::new`].
    pub(crate) fn miss(&self, headline: &str, advice: &str, items: &Resources) -> NearMiss {
        let any = |pattern: &Pattern, of: fn(&ResourceId) -> &str, r: &Resource| {
            r.all_ids().any(|id| pattern.fits(of(id)))
        };
        let fits = |part: Part, r: &Resource| match part {
            Part::Kind => any(&self.kind, |id| &id.gvk.kind, r),
            Part::Group => any(&self.group, |id| &id.gvk.group, r),
            Part::Version => any(&self.version, |id| &id.gvk.version, r),
            Part::Name => any(&self.name, |id| &id.name, r),
            Part::Namespace => {
                any(&self.namespace, |id| &id.namespace, r)
                    || any(&self.namespace, ResourceId::effective_namespace, r)
            }
            // Group and version are asked for one by one.
            Part::ApiVersion => true,
            Part::Labels => has(&self.labels, "labels", r).unwrap_or_default(),
            Part::Annotations => has(&self.annotations, "annotations", r).unwrap_or_default(),
        };
        let Selector { group, version, kind, name, namespace, label_selector, annotation_selector } =
            &self.written;
        let parts = [
            (Part::Kind, kind),
            (Part::Group, group),
            (Part::Version, version),
            (Part::Name, name),
            (Part::Namespace, namespace),
            (Part::Labels, label_selector),
            (Part::Annotations, annotation_selector),
        ];
        NearMiss::new(headline, advice, &parts, &fits, items)
    }

    /// The names that may match.
    pub(crate) fn names(&self) -> Names<'_> {
        match &self.name {
            Pattern::Anything => Names::All,
            Pattern::Plain(name) => match name.split_once('.') {
                Some((prefix, _)) => Names::Prefix(prefix),
                None => Names::Exact(name),
            },
            Pattern::Regex { prefix, .. } => Names::Prefix(prefix),
        }
    }
}

/// Whether the labels or annotations of a resource match.
fn has(selector: &Result<LabelSelector>, field: &str, r: &Resource) -> Result<bool> {
    let labels = r.node().at(["metadata", field]);
    let label = |key: &str| labels?.get(key).map(|value| value.text().unwrap_or_default());
    selector.as_ref().map(|s| s.matches(label)).map_err(Diagnostic::clone)
}

/// A regular expression that must match the whole; most are plain names, and then none is needed.
#[derive(Clone, Debug)]
enum Pattern {
    Anything,
    /// A name; its dots, as in any regular expression, match every character.
    Plain(Text),
    Regex {
        regex: Regex,
        prefix: Text,
    },
}

impl Pattern {
    fn compile(pattern: &Spanned<Text>) -> Result<Self> {
        if pattern.is_empty() {
            return Ok(Pattern::Anything);
        }
        if go_regex::is_plain(pattern) {
            return Ok(Pattern::Plain(pattern.value.clone()));
        }
        let regex = go_regex::compile_anchored(pattern).map_err(|why| {
            Diagnostic::error("bad-regex", format!("`{pattern}` is not a valid regular expression: {why}"))
                .at(pattern.span)
                .help(
                    "in a selector, kinds, names and namespaces are patterns that must match the whole text",
                )
        })?;
        Ok(Pattern::Regex { regex, prefix: literal_prefix(pattern).into() })
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Pattern::Anything => true,
            Pattern::Plain(pattern) => pattern == text || (pattern.contains('.') && fits_dots(pattern, text)),
            Pattern::Regex { regex, .. } => regex.is_match(text),
        }
    }
}

fn fits_dots(pattern: &str, text: &str) -> bool {
    let mut text = text.chars();
    let fits = pattern.chars().all(|p| text.next().is_some_and(|c| p == c || (p == '.' && c != '\n')));
    fits && text.next().is_none()
}

/// The plain characters a pattern begins with; none if another alternative may begin otherwise.
fn literal_prefix(pattern: &str) -> &str {
    if pattern.contains('|') || pattern.contains("(?") {
        return "";
    }
    let end = pattern.find(|c: char| !go_regex::is_plain(c.encode_utf8(&mut [0; 4])) || c == '.');
    let Some(end) = end else { return pattern };
    match pattern.as_bytes()[end] {
        // The last character may be missing altogether.
        b'*' | b'?' | b'{' => pattern[..end].char_indices().last().map_or("", |(last, _)| &pattern[..last]),
        _ => &pattern[..end],
    }
}

#[cfg(test)]
mod tests {
    use krm_yaml::Node;

    use super::*;
    use crate::schema::Schema;

    fn resource(kind: &str, name: &str, namespace: &str) -> Resource {
        let mut node: Node = [("apiVersion", "apps/v1"), ("kind", kind)].into_iter().collect();
        let meta = node.map_at("metadata").expect("the node is a map");
        meta.set("name", name);
        if !namespace.is_empty() {
            meta.set("namespace", namespace);
        }
        meta.map_at("labels").expect("the node is a map").set("app", name);
        Resource::new(node, &Schema::default())
    }

    fn text(text: &str) -> Spanned<Text> {
        Text::from(text).into()
    }

    fn select(selector: Selector) -> Vec<usize> {
        let mut items: Vec<_> = (0..100).map(|i| resource("Deployment", &format!("web-{i}"), "")).collect();
        items.push(resource("Service", "my.svc", "prod"));
        items.push(resource("Service", "my-svc", "prod"));
        selector.compile().unwrap().select(&Resources::from_vec(items)).unwrap()
    }

    #[test]
    fn exact_names_and_patterns_find_what_they_name() {
        let name = |name: &str| Selector { name: text(name), ..Default::default() };
        assert_eq!(select(name("web-7")), [7]);
        assert_eq!(select(name("web-7.")), (70..80).collect::<Vec<_>>());
        assert_eq!(select(name("web-7.*")), [vec![7], (70..80).collect()].concat());
        assert_eq!(select(name("web-9?7")), [7, 97]);
        assert_eq!(select(name("my.svc")), [100, 101]);
        assert_eq!(select(name(r"my\.svc")), [100]);
        assert!(select(name("eb-7")).is_empty());
        assert_eq!(select(name("my-svc|web-1")), [1, 101]);
        assert_eq!(select(name("(?i)WEB-1")), [1]);
        assert_eq!(select(Selector::default()).len(), 102);
    }

    #[test]
    fn all_conditions_must_hold() {
        let service = Selector { kind: text("Service"), group: text("apps"), ..Default::default() };
        assert_eq!(select(service.clone()), [100, 101]);
        assert!(select(Selector { namespace: text("default"), ..service.clone() }).is_empty());
        assert_eq!(
            select(Selector { namespace: text("default"), name: text("web-3"), ..Default::default() }),
            [3]
        );
        assert_eq!(select(Selector { label_selector: text("app in (my-svc, x)"), ..service }), [101]);
    }

    #[test]
    fn the_first_name_still_fits() {
        let mut renamed = resource("Deployment", "web", "");
        renamed.remember_id();
        renamed
            .edit(&Schema::default(), |n| n.get_mut("metadata").expect("just made").set("name", "dev-web"));
        let items = Resources::from_vec(vec![renamed]);
        for name in ["web", "dev-web"] {
            let selector = Selector { name: text(name), ..Default::default() };
            assert_eq!(selector.compile().unwrap().select(&items).unwrap(), [0], "{name}");
        }
    }

    #[test]
    fn mistakes_are_reported() {
        let bad = Selector { name: text("a**"), ..Default::default() };
        assert_eq!(bad.compile().unwrap_err().code(), "bad-regex");
        let bad = Selector { label_selector: text("a in b"), ..Default::default() };
        let items = Resources::from_vec(vec![resource("Pod", "a", "")]);
        assert_eq!(bad.compile().unwrap().select(&items).unwrap_err().code(), "bad-label-selector");
    }
}
