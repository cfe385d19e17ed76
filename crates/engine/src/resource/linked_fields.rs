//! Labels and annotations that change together.
//!
//! Kustomize puts a label that it adds to a resource in several places, say to metadata, selector and pod template,
//! there as one and the same node. A later change to any of them, by a patch, a replacement or another label, therefore
//! changes them all. People's builds depend on it, so we remember which fields are one, and let them follow each other.
//! A JSON patch and a function give the resource a new tree, and with it end what was shared.

// quirk(labels-put-at-once-change-together): A label that one step puts into several fields is the same node in all of
// them: a later change to one changes all. (`labels.Filter`, kyaml `FieldSetter`)

use krm_yaml::{Node, Span, Spanned, Text};

use super::fields::FieldPath;

/// The groups of fields of one resource that are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Vec<Group>);

/// A key that was put into several maps at once.
#[derive(Clone, Debug)]
struct Group {
    key: Text,
    /// Where the maps are.
    maps: Vec<FieldPath>,
    value: Text,
    /// Where it is written.
    span: Span,
}

impl Shared {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets what was shared: the tree is a new one.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Remembers that a key was put into these maps at once.
    pub(crate) fn add<'p>(
        &mut self,
        key: &Text,
        maps: impl Iterator<Item = &'p FieldPath>,
        value: &Spanned<Text>,
    ) {
        let mut maps: Vec<FieldPath> = maps.cloned().collect();
        if maps.len() > 1 {
            maps.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
            self.0.push(Group { key: key.clone(), maps, value: value.value.clone(), span: value.span });
        }
    }

    /// Takes a map out of all this.
    pub(crate) fn leave(&mut self, map: &str) {
        self.0.iter_mut().for_each(|group| group.maps.retain(|path| path.as_str() != map));
    }

    /// Whether a key is one that is shared.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|group| group.key == key)
    }

    /// Lets the others follow if one was changed. Where several were, the last one in the order of paths counts: that is
    /// the order in which they are written.
    pub(crate) fn follow(&mut self, root: &mut Node) {
        self.0.retain_mut(|group| {
            let (mut changed, mut written) = (None, None);
            group.maps.retain(|map| {
                let (mut is_there, mut differs) = (false, None);
                each_value(root, map, &group.key, |value| {
                    is_there = true;
                    if value.text() != Some(&group.value) {
                        differs.get_or_insert_with(|| value.clone());
                    } else if value.span() != group.span {
                        written = Some(value.span());
                    }
                });
                if differs.is_some() {
                    changed = differs;
                }
                // What was removed is no longer part of it.
                is_there
            });
            match (changed, written) {
                (Some(new), _) => {
                    group
                        .maps
                        .iter()
                        .for_each(|map| set(root, map, &group.key, &mut |field| *field = new.clone()));
                    group.value = new.text().map(Text::from).unwrap_or_default();
                    group.span = new.span();
                }
                // The same again, by another entry.
                (None, Some(span)) => {
                    group
                        .maps
                        .iter()
                        .for_each(|map| set(root, map, &group.key, &mut |field| field.set_span(span)));
                    group.span = span;
                }
                (None, None) => {}
            }
            group.maps.len() > 1
        });
    }
}

/// Shows what is under a key in every map that a path leads to.
fn each_value(root: &Node, map: &FieldPath, key: &str, mut see: impl FnMut(&Node)) {
    map.visit(root, &mut |map| {
        map.get(key).into_iter().for_each(&mut see);
        Ok(())
    })
    .expect("the path was followed before, and nothing here fails");
}

fn set(root: &mut Node, map: &FieldPath, key: &str, change: &mut dyn FnMut(&mut Node)) {
    let put = &mut |map: &mut Node| {
        map.get_mut(key).into_iter().for_each(&mut *change);
        Ok(())
    };
    map.edit(root, None, put).expect("the path was followed before, and nothing here fails");
}
