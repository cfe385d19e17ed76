//! Entries that might have changed a field and did not, by the warnings of the build and by its trace.

use krm_engine::explain::{Explanation, FieldPath, Miss, Where, each_scalar, misses};
use krm_engine::{Diagnostic, Node, Span, split_image};
use krm_yaml::{Failure, nearest};

use super::{Answerer, Traced};

/// What is explained: what the selectors of entries are compared with.
pub(super) struct About<'a> {
    pub kind: &'a str,
    pub namespace: &'a str,
    pub names: Vec<&'a str>,
    /// Empty for the resource as a whole.
    pub field: &'a str,
}

impl<'a> About<'a> {
    pub(super) fn answer(answer: &'a Explanation) -> Self {
        let names = answer.names.iter().map(|name| &**name).collect();
        Self { kind: &answer.gvk.kind, namespace: &answer.namespace, names, field: &answer.field }
    }
}

impl Answerer<'_> {
    /// What almost changed a field, or anything of a resource.
    pub(super) fn all_misses(&self, one: &Traced, place: &Where, answer: &Explanation) -> Vec<Miss> {
        let warnings = self.misses(one, &About::answer(answer)).into_iter();
        let warnings = warnings.chain(self.near_images(one, place, answer));
        let mut all: Vec<Miss> = warnings.map(|warning| miss(&warning)).collect();
        all.extend(misses(place));
        all
    }

    /// Warnings of patches and replacements that would have written a field, if one thing about them were otherwise.
    pub(super) fn misses(&self, one: &Traced, about: &About) -> Vec<Diagnostic> {
        let mut warnings = self.session.warnings_of(&one.target);
        warnings.retain(|warning| {
            let place = warning.place();
            warning.failure() == Some(Failure::NoMatch)
                && (self.would_write(place, about) || self.would_copy(place, about))
        });
        warnings
    }

    /// Warnings of entries under `images:` that match nothing, but name almost an image that is explained.
    fn near_images(&self, one: &Traced, place: &Where, answer: &Explanation) -> Vec<Diagnostic> {
        let mut images: Vec<String> = Vec::new();
        let mut add = |value: &Node| {
            images.extend(value.text().map(|text| split_image(text).0.to_owned()));
        };
        if answer.pointer.ends_with("/image") {
            let values = answer.history.iter().flat_map(|entry| entry.before.iter().chain(&entry.after));
            values.for_each(&mut add);
        } else if let Some(root) = place.value().filter(|_| answer.field.is_empty()) {
            each_scalar(root, &mut Vec::new(), &mut |value, path| {
                if path.last().is_some_and(|last| last.is_key("image")) {
                    add(value);
                }
            });
        }
        let mut warnings = self.session.warnings_of(&one.target);
        warnings.retain(|warning| {
            let field = self.labels.field(warning.place());
            let is_image =
                field.is_some_and(|field| field.starts_with("images[") && field.ends_with("].name"));
            let entry = self.labels.entry(warning.place()).filter(|_| is_image);
            let name = entry.as_ref().and_then(|entry| entry.get("name")?.text());
            name.is_some_and(|name| nearest(name, images.iter().map(String::as_str)).is_some())
        });
        warnings
    }

    /// Whether the target of a replacement leads to a field.
    fn would_copy(&self, place: Span, about: &About) -> bool {
        let Some(entry) = self.labels.entry_of_any(place) else { return false };
        let targets = entry.get("targets").map(Node::items).unwrap_or_default();
        let Some(target) = targets.iter().find(|target| target.span().holds(place)) else { return false };
        let paths = target.get("fieldPaths").map(Node::items).unwrap_or_default().iter();
        let mut paths = paths.filter_map(|path| FieldPath::parse(path.text()?).ok());
        let leads = |path: FieldPath| {
            about.field.is_empty() || FieldPath::parse(about.field).is_ok_and(|field| path.leads_to(&field))
        };
        target.get("select").is_some_and(|select| about.is_nearly(select, place)) && paths.any(leads)
    }

    /// Whether a patch that an entry of a kustomization holds or names writes a field.
    fn would_write(&self, place: Span, about: &About) -> bool {
        let Some(entry) = self.labels.entry(place) else { return false };
        if entry.get("target").is_some_and(|target| !about.is_nearly(target, place)) {
            return false;
        }
        let texts = [("patch", false), ("path", true)].into_iter().filter_map(|(key, is_file)| {
            let text = entry.get(key)?.as_str()?.to_owned();
            match is_file {
                false => Some(text),
                true => {
                    let source = self.report.sources.get(place.file)?;
                    let folder = std::path::Path::new(source.name()).parent()?.to_owned();
                    std::fs::read_to_string(folder.join(text)).ok()
                }
            }
        });
        let Ok(field) = FieldPath::parse(about.field) else { return false };
        texts.flat_map(|text| krm_yaml::parse_str(&text).unwrap_or_default()).any(|document| {
            let root = &document.root;
            match root.is_seq() {
                _ if about.field.is_empty() => true,
                true => root.items().iter().any(|op| {
                    let path = op.get("path").and_then(Node::as_str).unwrap_or_default();
                    FieldPath::parse(path).is_ok_and(|path| path.leads_to(&field))
                }),
                false => !field.ways(root).is_empty(),
            }
        })
    }
}

impl About<'_> {
    /// Whether a selector would match the resource if one thing were otherwise. What fails is at a place.
    fn is_nearly(&self, selector: &Node, place: Span) -> bool {
        let misses = |key: &str, texts: &[&str]| {
            let Some(wanted) = selector.get(key).and_then(|node| Some((node.text()?, node.span()))) else {
                return false;
            };
            let is_pattern = wanted.0.contains(['*', '+', '?', '|', '(', '[', '^', '$', '\\']);
            match is_pattern {
                true => wanted.1.holds(place),
                false => !wanted.0.is_empty() && !texts.contains(&wanted.0),
            }
        };
        let by_labels = ["labelSelector", "annotationSelector"].into_iter();
        let by_labels = by_labels.filter_map(|key| selector.get(key)).filter(|node| node.span().holds(place));
        let failed = usize::from(misses("kind", &[self.kind]))
            + usize::from(misses("name", &self.names))
            + usize::from(misses("namespace", &[self.namespace]))
            + by_labels.count();
        failed == 1
    }
}

fn miss(warning: &Diagnostic) -> Miss {
    Miss { message: warning.message().to_owned(), advice: warning.advice().to_vec(), place: warning.place() }
}
