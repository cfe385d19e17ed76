//! What in a strategic merge patch has another effect than it seems to have: elements of lists without their key, and
//! elements whose key is nearly that of another.

use krm_yaml::{Diagnostic, Fix, Node};

use crate::pipeline::Context;
use crate::resource::Resource;
use crate::schema::Type;

/// Warns of elements that the merge drops or adds, where they were probably meant for one that is there.
pub(super) fn warn_of_elements(patch: &Node, r: &Resource, cx: &Context) {
    if let Some(of) = cx.schema.type_of(r.gvk()) {
        walk(patch, r.node(), of, "", cx);
    }
}

fn walk(patch: &Node, old: &Node, of: Type, field: &str, cx: &Context) {
    if let Some(map) = patch.as_map() {
        for entry in map {
            let Some(key) = entry.key.text() else { continue };
            if let (Some(below), Some(of)) = (old.get(key), of.field(key)) {
                walk(&entry.value, below, of, key, cx);
            }
        }
    } else if let (Some([key, more @ ..]), true) = (of.merge_keys(), patch.is_seq()) {
        let keys = std::iter::once(key).chain(more).map(AsRef::as_ref);
        let keys: Vec<&str> = keys.collect();
        list(patch.items(), old.items(), &keys, of, field, cx);
    }
}

fn list(patch: &[Node], old: &[Node], keys: &[&str], of: Type, field: &str, cx: &Context) {
    let value = |element: &Node| element.get(keys[0]).and_then(Node::text).unwrap_or_default().to_owned();
    let has_key = |element: &Node| keys.iter().any(|key| element.get(key).is_some_and(|v| !v.is_null()));
    for element in patch.iter().filter(|element| element.is_map() && element.get("$patch").is_none()) {
        if !has_key(element) {
            let end = match patch.iter().any(has_key) {
                true => "is dropped",
                false => "empties the list",
            };
            let message = format!("an element of `{field}` without its key `{}` {end}", keys[0]);
            let names: Vec<String> = old.iter().map(value).filter(|name| !name.is_empty()).take(5).collect();
            let warning = Diagnostic::warning("patch-element-no-key", message).at(element.span());
            cx.warn(match names.is_empty() {
                true => warning.help(format!("add `{}`, by which elements are known", keys[0])),
                false => warning.help(format!(
                    "add `{}`, by which elements are known: there is `{}`",
                    keys[0],
                    names.join("`, `")
                )),
            });
            continue;
        }
        let name = value(element);
        match old.iter().find(|other| value(other) == name) {
            Some(other) => {
                if let Some(items) = of.items() {
                    walk(element, other, items, field, cx);
                }
            }
            None => {
                let is_meant = |near: &Node| patch.iter().any(|element| value(element) == value(near));
                let near =
                    old.iter().find(|other| differs_by_a_letter(&name, &value(other)) && !is_meant(other));
                if let Some(near) = near {
                    let message = format!("the patch adds `{name}` to `{field}`, beside `{}`", value(near));
                    let span = element.get(keys[0]).map_or(element.span(), Node::span);
                    cx.warn(
                        Diagnostic::warning("patch-element-near", message)
                            .at(span)
                            .note("this one is there", near.get(keys[0]).map_or(near.span(), Node::span))
                            .help(format!("write `{}` if that one is meant", value(near)))
                            .fix(
                                Fix::needs_review(format!("write `{}`", value(near)))
                                    .replace(span, value(near)),
                            ),
                    );
                }
            }
        }
    }
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
