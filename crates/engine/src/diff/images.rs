//! Images that change: what most people look for first.

use krm_yaml::Node;

use super::{Change, ImageChange};
use crate::transformers::split_image;

/// The images among some changes, each with the targets it changes in.
pub(crate) fn of(changes: &[Change]) -> Vec<ImageChange> {
    let mut images: Vec<ImageChange> = Vec::new();
    for change in changes.iter().filter(|change| change.field.ends_with(".image") && !change.masked) {
        let text = |node: &Option<Node>| node.as_ref().and_then(Node::as_str).map(str::to_owned);
        let (Some(before), Some(after)) = (text(&change.before), text(&change.after)) else { continue };
        let (old, new) = (split(&before), split(&after));
        let (name, before, after) = match old.0 == new.0 {
            true => (new.0.to_owned(), old.1.to_owned(), new.1.to_owned()),
            false => (String::new(), before.clone(), after.clone()),
        };
        let alike =
            |image: &&mut ImageChange| (&image.name, &image.before, &image.after) == (&name, &before, &after);
        match images.iter_mut().find(alike) {
            Some(known) => known.targets.extend(&change.targets),
            None => images.push(ImageChange { name, before, after, targets: change.targets.clone() }),
        }
    }
    for image in &mut images {
        image.targets.sort_unstable();
        image.targets.dedup();
    }
    images.sort_by(|a, b| (&a.name, &a.before, &a.after).cmp(&(&b.name, &b.before, &b.after)));
    images
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
