//! Entries that might have changed a field and did not.

use krm_engine::explain::{Explanation, FieldPath, Miss, Near, Where, each_scalar, misses};
use krm_engine::{Diagnostic, Node, split_image};
use krm_yaml::nearest;

use super::{Answerer, Traced};

impl Answerer<'_> {
    /// What almost changed a field, or anything of a resource.
    pub(super) fn all_misses(&self, one: &Traced, place: &Where, answer: &Explanation) -> Vec<Miss> {
        let field = FieldPath::parse(&answer.field).ok().filter(|_| !answer.field.is_empty());
        let which = if self.steps { Near::All } else { Near::Unmatched };
        let mut all = place.near(field.as_ref(), which, self.labels);
        all.extend(self.near_images(one, place, answer).iter().map(miss));
        all.extend(misses(place));
        all
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
            // The warning may know better what was meant: one name may be the end of another.
            let is_advised =
                |image: &String| warning.advice().iter().any(|advice| advice.contains(&format!("`{image}`")));
            name.is_some_and(|name| {
                nearest(name, images.iter().map(String::as_str)).is_some() || images.iter().any(is_advised)
            })
        });
        warnings
    }
}

fn miss(warning: &Diagnostic) -> Miss {
    Miss::new(warning.message(), warning.advice(), warning.place())
}
