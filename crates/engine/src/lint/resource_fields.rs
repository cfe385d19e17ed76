//! `resource-unknown-field` and `resource-wrong-type`: what Kubernetes refuses by the type of a resource.

use krm_yaml::{Diagnostic, Fix, Node, Span, Tag, nearest};
use rayon::prelude::*;

use super::Check;
use super::roots::{Root, Unbuilt, in_all};
use crate::resource::Gvk;
use crate::resource::names::is_filled_in_later;
use crate::schema::field_types::{FieldTypes, Fields, Shape};

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let mut types = FieldTypes::builtin();
    cx.lint.tree.files.values().flat_map(|facts| &facts.types).for_each(|definition| types.add(definition));
    let resources =
        || roots.iter().filter_map(|root| root.built.as_ref().ok()).flat_map(|built| built.iter());
    // What remote bases define counts as well.
    resources().filter(|r| r.kind() == "CustomResourceDefinition").for_each(|r| types.add(r.node()));
    let found = roots.par_iter().map(|root| {
        let mut walk = Walk { types: &types, gvk: Gvk::default(), found: Vec::new() };
        for r in root.built.iter().flat_map(|built| built.iter()) {
            if let Some(fields) = types.of(r.gvk()) {
                walk.gvk = r.gvk().clone();
                walk.fields(r.node(), fields, "");
            }
        }
        walk.found
    });
    in_all(cx, roots, found.collect(), Unbuilt::DoesNotCount)
}

struct Walk<'a> {
    types: &'a FieldTypes,
    gvk: Gvk,
    found: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn fields(&mut self, node: &Node, fields: &Fields, way: &str) {
        for entry in node.as_map().into_iter().flatten() {
            let Some(name) = entry.key.text() else { continue };
            match fields.get(name) {
                Some(shape) => self.value(&entry.value, shape, name, way),
                // What SOPS adds goes when the file is decrypted.
                None if way.is_empty() && name == "sops" => {}
                None if fields.is_open || is_filled_in_later(name) || entry.value.is_null() => {}
                None => self.unknown(&entry.key, &entry.value, name, fields, way),
            }
        }
    }

    fn value(&mut self, node: &Node, shape: &Shape, name: &str, way: &str) {
        let later = node.text().is_some_and(is_filled_in_later);
        if later || node.is_null() {
            return;
        }
        let below = || if way.is_empty() { name.to_owned() } else { format!("{way}.{name}") };
        let fits = match (shape, node.tag()) {
            (Shape::Anything, _) | (_, Tag::Other) => true,
            (Shape::Fields(at), _) if node.is_map() => {
                let fields = self.types.fields(*at);
                // A map that says nothing about its fields.
                self.fields(node, fields, &below());
                true
            }
            (Shape::Map(values), _) if node.is_map() => {
                let way = below();
                for entry in node.as_map().into_iter().flatten() {
                    self.value(&entry.value, values, entry.key.text().unwrap_or_default(), &way);
                }
                true
            }
            (Shape::List(items), _) if node.is_seq() => {
                let way = below();
                for (at, item) in node.items().iter().enumerate() {
                    self.value(item, items, &format!("[{at}]"), &way);
                }
                true
            }
            (Shape::AnyMap, _) => node.is_map(),
            _ if !node.is_scalar() => false,
            (Shape::Text, tag) => matches!(tag, Tag::Str | Tag::Timestamp | Tag::Binary | Tag::Merge),
            (Shape::Integer, tag) => tag == Tag::Int || tag == Tag::Float && is_whole(node),
            (Shape::Number, tag) => matches!(tag, Tag::Int | Tag::Float),
            (Shape::Boolean, tag) => tag == Tag::Bool,
            (Shape::TextOrNumber, tag) => tag != Tag::Bool,
            _ => false,
        };
        if !fits && !node.span().is_none() {
            self.wrong(node, shape, &below());
        }
    }

    fn unknown(&mut self, key: &Node, value: &Node, name: &str, fields: &Fields, way: &str) {
        // A key that a step made is not in any file; what it wrote below it is.
        let made = key.span().is_none();
        let place = if made { written_in(value) } else { key.span() };
        if place.is_none() {
            return;
        }
        let of = if way.is_empty() { String::new() } else { format!(" in `{}`", path(way)) };
        let message = format!("{} has no field `{name}`{of}", self.gvk.kind);
        let finding = Diagnostic::warning("resource-unknown-field", message).at(place);
        self.found.push(match nearest(name, fields.names()) {
            Some(near) if made => finding.help(format!("did you mean `{near}`?")),
            Some(near) => finding
                .help(format!("did you mean `{near}`?"))
                .fix(Fix::needs_review(format!("write `{near}`")).replace(key.span(), near)),
            None => finding.help("Kubernetes refuses the resource, or drops the field"),
        });
    }

    fn wrong(&mut self, node: &Node, shape: &Shape, way: &str) {
        let message = format!("`{}` must be {}, not {}", path(way), shape.name(), node.kind_name());
        let finding = Diagnostic::warning("resource-wrong-type", message).at(node.span());
        let text = node
            .text()
            .filter(|_| *shape == Shape::Text && matches!(node.tag(), Tag::Int | Tag::Float | Tag::Bool));
        self.found.push(match text {
            Some(text) => finding
                .help(match &*self.gvk.kind {
                    "Secret" => "write it in quotes".to_owned(),
                    _ => format!("write it in quotes: `\"{text}\"`"),
                })
                .fix(Fix::needs_review("put it in quotes").replace(node.span(), format!("\"{text}\""))),
            None => finding,
        });
    }
}

/// Where the first value in a tree is written that is written anywhere.
fn written_in(node: &Node) -> Span {
    let below = node.as_map().into_iter().flatten().map(|entry| &entry.value).chain(node.items());
    match node.span() {
        none if none.is_none() => below.map(written_in).find(|span| !span.is_none()).unwrap_or(Span::NONE),
        span => span,
    }
}

/// `1.0` and `1e3` are whole numbers to JSON.
fn is_whole(node: &Node) -> bool {
    node.text().and_then(|text| text.parse::<f64>().ok()).is_some_and(|number| number.fract() == 0.0)
}

/// `spec.containers.[0]` as people write it.
fn path(way: &str) -> String {
    way.replace(".[", "[")
}
