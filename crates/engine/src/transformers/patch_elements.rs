//! What in a strategic merge patch has another effect than it seems to have: elements of lists without their key, and
//! elements whose key is nearly that of another.

use krm_yaml::{Diagnostic, Fix, Node};

use crate::merge::{KeyedList, each_element};
use crate::pipeline::Context;
use crate::resource::Resource;

/// Warns of elements that the merge drops or adds, where they were probably meant for one that is there.
pub(super) fn warn_of_elements(patch: &Node, r: &Resource, cx: &Context) {
    let Some(of) = cx.schema.type_of(r.gvk()) else { return };
    each_element(patch, r.node(), of, &mut |list, element, other| {
        if !list.has_key(element) {
            let end = match list.source.iter().any(|element| list.has_key(element)) {
                true => "is dropped",
                false => "empties the list",
            };
            let message = format!("an element of `{}` without its key `{}` {end}", list.field, list.key());
            let warning = Diagnostic::warning("patch-element-no-key", message).at(element.span());
            cx.warn(warning.help(list.advice("known")));
        } else if other.is_none() {
            warn_of_near(list, element, cx);
        }
    });
}

/// Warns of a new element whose key is nearly that of one that is there, and that the patch does not name.
fn warn_of_near(list: &KeyedList, element: &Node, cx: &Context) {
    let value = |element: &Node| element.get(list.key()).and_then(Node::text).unwrap_or_default().to_owned();
    let name = value(element);
    let is_meant = |near: &Node| list.source.iter().any(|element| value(element) == value(near));
    let near = list.dest.iter().find(|other| differs_by_a_letter(&name, &value(other)) && !is_meant(other));
    let Some(near) = near else { return };
    let message = format!("the patch adds `{name}` to `{}`, beside `{}`", list.field, value(near));
    let place = |element: &Node| element.get(list.key()).map_or(element.span(), Node::span);
    let fix = Fix::needs_review(format!("write `{}`", value(near))).replace(place(element), value(near));
    cx.warn(
        Diagnostic::warning("patch-element-near", message)
            .at(place(element))
            .note("this one is there", place(near))
            .help(format!("write `{}` if that one is meant", value(near)))
            .fix(fix),
    );
}

/// Whether two names differ by one letter that was added, left out, mistaken or swapped with the next. Digits number
/// things, so they do not count.
fn differs_by_a_letter(a: &str, b: &str) -> bool {
    if a.len() < 3 || b.len() < 3 || a.len().abs_diff(b.len()) > 1 || a == b {
        return false;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    let letters = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_alphabetic);
    match (a, b) {
        ([a], [b]) => letters(&[*a]) && letters(&[*b]),
        ([one], []) | ([], [one]) => letters(&[*one]),
        ([a, b], [c, d]) => a == d && b == c && letters(&[*a, *b]),
        _ => false,
    }
}
