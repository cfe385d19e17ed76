//! Values of a kustomization that build, and then are refused by a cluster or mean something else than they seem to.

use krm_yaml::de::Noticed;
use krm_yaml::{Diagnostic, Failure, Fix, Spanned, Text};

use super::Kustomization;
use crate::transformers::{Image, Pairs};

/// A warning for each field whose name was only known by ignoring its case. Other tools may not know it.
pub(super) fn field_case(noticed: Vec<Noticed>) -> Vec<Diagnostic> {
    let folded = noticed.into_iter().filter_map(|key| {
        let field = key.field?;
        let message = format!("`{}` is read as `{field}`", key.key);
        let warning = Diagnostic::warning("field-case", message).at(key.place);
        let fix = Fix::safe(format!("write `{field}`")).replace(key.place, field);
        Some(warning.help(format!("write `{field}`: capital letters matter to other tools")).fix(fix))
    });
    folded.collect()
}

/// A warning for each name, label or image that cannot be meant so.
pub(super) fn warnings(k: &Kustomization) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let mut name = |what: &str, part: &Spanned<Text>, ends: Ends, dots: bool| {
        if !part.is_empty() && !is_name(part, ends, dots) {
            let message = format!("Kubernetes refuses names with the {what} `{part}`");
            let allowed = if dots { ", `-` and `.`" } else { " and `-`" };
            warnings.push(Diagnostic::warning("name-refused", message).at(part.span()).help(format!(
                "names have lower-case letters, digits{allowed}, and begin and end with a letter or digit"
            )));
        }
    };
    name("prefix", &k.name_prefix, Ends::First, true);
    name("suffix", &k.name_suffix, Ends::Last, true);
    name("namespace", &k.namespace, Ends::Both, false);
    for generator in k.config_map_generator.iter().chain(&k.secret_generator) {
        name("name", &generator.name, Ends::Both, true);
    }
    let pairs = k.labels.iter().map(|label| &label.pairs).chain([&k.common_labels]);
    pairs.for_each(|pairs| labels(pairs, &mut warnings));
    k.images.iter().for_each(|image| new_name(image, &mut warnings));
    warnings
}

/// Which ends of a name a part of it makes up.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    First,
    Last,
    Both,
}

fn is_name(text: &str, ends: Ends, dots: bool) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let allowed = |c: char| alphanumeric(Some(c)) || c == '-' || (dots && c == '.');
    text.chars().all(allowed)
        && (ends == Ends::Last || alphanumeric(text.chars().next()))
        && (ends == Ends::First || alphanumeric(text.chars().last()))
        && text.len() <= if dots { 253 } else { 63 }
}

fn labels(pairs: &Pairs, warnings: &mut Vec<Diagnostic>) {
    for (key, value) in pairs {
        // Variables are filled in later.
        if value.contains("$(") || is_label_value(value) {
            continue;
        }
        let message = format!("Kubernetes refuses the label `{key}: {value}`");
        warnings.push(Diagnostic::warning("label-refused", message).at(value.span()).help(
            "a value has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit; \
             annotations may hold any text",
        ));
    }
}

fn is_label_value(value: &str) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    value.is_empty()
        || (value.len() <= 63
            && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && alphanumeric(value.chars().next())
            && alphanumeric(value.chars().last()))
}

/// A tag in a new name is followed by the old tag, or by the new one.
fn new_name(image: &Spanned<Image>, warnings: &mut Vec<Diagnostic>) {
    let name = &image.new_name;
    let last = name.rsplit('/').next().unwrap_or_default();
    let Some((_, tag)) = last.split_once([':', '@']) else { return };
    let message = format!("`newName` has the tag `{tag}`, and gets another one after it");
    let without = &name[..name.len() - tag.len() - 1];
    let field = if last.contains('@') { "digest" } else { "newTag" };
    warnings.push(
        Diagnostic::warning("image-name-with-tag", message)
            .failing(Failure::Misplaced)
            .at(name.span())
            .help(format!("write `newName: {without}` and `{field}: {tag}`")),
    );
}
