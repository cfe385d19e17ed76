//! Images that change: what most people look for first.

use std::collections::{BTreeMap, BTreeSet};

use krm_yaml::Node;

use super::{Change, ImageChange};
use crate::transformers::split_image;

/// The images among some changes, each with the targets it changes in.
pub(crate) fn of(changes: &[Change]) -> Vec<ImageChange> {
    let mut images: BTreeMap<(String, String, String), BTreeSet<usize>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.field.ends_with(".image") && !change.masked) {
        for own in &change.own {
            let text = |node: &Option<Node>| node.as_ref().and_then(Node::as_str).map(str::to_owned);
            let (Some(before), Some(after)) = (text(&own.before), text(&own.after)) else { continue };
            let (old, new) = (split(&before), split(&after));
            let key = match old.0 == new.0 {
                true => (new.0.to_owned(), old.1.to_owned(), new.1.to_owned()),
                false => (String::new(), before.clone(), after.clone()),
            };
            images.entry(key).or_default().insert(own.target);
        }
    }
    let images = images.into_iter();
    images
        .map(|((name, before, after), targets)| {
            let targets = targets.into_iter().collect();
            ImageChange { name, before, after, targets }
        })
        .collect()
}

/// The name of an image, and its tag and digest as they are written.
pub(crate) fn split(image: &str) -> (&str, &str) {
    let (name, ..) = split_image(image);
    (name, image.get(name.len() + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_not_a_tag() {
        assert_eq!(split("example.com:5000/a/b"), ("example.com:5000/a/b", ""));
        assert_eq!(split("example.com:5000/a/b:1.2"), ("example.com:5000/a/b", "1.2"));
        assert_eq!(split("a:1@sha256:00"), ("a", "1@sha256:00"));
        assert_eq!(split("a@sha256:00"), ("a", "sha256:00"));
    }
}
