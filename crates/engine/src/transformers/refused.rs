//! Warnings about names, labels and annotations that build, and that every cluster refuses.

use krm_yaml::{Diagnostic, Node, Span, Spanned, Text};

use super::{GeneratorArgs, GeneratorOptions, Pairs};
use crate::resource::names::{
    SUBDOMAIN, is_dns_label, is_dns_subdomain, is_filled_in_later, is_key, is_label_value,
};

pub(crate) fn prefix(text: &Spanned<Text>) -> Option<Diagnostic> {
    part("prefix", text, |prefix| is_dns_subdomain(&format!("{prefix}a")))
}

pub(crate) fn suffix(text: &Spanned<Text>) -> Option<Diagnostic> {
    part("suffix", text, |suffix| is_dns_subdomain(&format!("a{suffix}")))
}

fn part(what: &str, text: &Spanned<Text>, is_right: impl Fn(&str) -> bool) -> Option<Diagnostic> {
    let message = || format!("Kubernetes refuses names with the {what} `{text}`");
    name(text, is_right, message, SUBDOMAIN)
}

/// For what a generator makes.
pub(crate) fn generator(args: &GeneratorArgs, root: &Node) -> Vec<Diagnostic> {
    let text = &args.name;
    let refused = name(text, is_dns_subdomain, || format!("Kubernetes refuses the name `{text}`"), SUBDOMAIN);
    let mut warnings: Vec<Diagnostic> = refused.into_iter().chain(namespace(&args.namespace)).collect();
    warnings.extend(generator_options(&args.options, root));
    warnings
}

pub(crate) fn generator_options(options: &GeneratorOptions, root: &Node) -> Vec<Diagnostic> {
    let mut warnings = labels(&options.labels, root);
    warnings.extend(annotations(&options.annotations, root));
    warnings
}

pub(crate) fn namespace(text: &Spanned<Text>) -> Option<Diagnostic> {
    let message = || format!("Kubernetes refuses the namespace `{text}`");
    name(text, is_dns_label, message, LABEL)
}

const LABEL: &str =
    "it has at most 63 lower-case letters, digits and `-`, and begins and ends with a letter or digit";

fn name(
    text: &Spanned<Text>,
    is_right: impl Fn(&str) -> bool,
    message: impl Fn() -> String,
    help: &'static str,
) -> Option<Diagnostic> {
    let is_refused = !text.is_empty() && !is_filled_in_later(text) && !is_right(text);
    is_refused.then(|| Diagnostic::warning("name-refused", message()).at(text.span()).help(help))
}

/// Labels, which were read from somewhere in a tree.
pub(crate) fn labels(pairs: &Pairs, root: &Node) -> Vec<Diagnostic> {
    let refused = pairs.iter().filter_map(|(key, value)| {
        let (span, help) = match is_key(key) || is_filled_in_later(key) {
            false => (key_span(root, value.span()), KEY),
            true if is_label_value(value) || is_filled_in_later(value) => return None,
            true => (
                value.span(),
                "a value has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit; \
                 annotations may hold any text",
            ),
        };
        let message = format!("Kubernetes refuses the label `{key}: {}`", value.value);
        Some(Diagnostic::warning("label-refused", message).at(span).help(help))
    });
    refused.collect()
}

/// Annotations, of which only the keys matter.
pub(crate) fn annotations(pairs: &Pairs, root: &Node) -> Vec<Diagnostic> {
    let refused = pairs.iter().filter(|(key, _)| !is_key(key) && !is_filled_in_later(key));
    let warning = |(key, value): (&Text, &Spanned<Text>)| {
        let message = format!("Kubernetes refuses an annotation with the key `{key}`");
        Diagnostic::warning("annotation-refused", message).at(key_span(root, value.span())).help(KEY)
    };
    refused.map(warning).collect()
}

const KEY: &str = "a key has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit; it may \
                   have a domain and `/` in front";

/// The span of the key that has this value, or of the value if the tree does not have it.
fn key_span(root: &Node, value: Span) -> Span {
    fn find(node: &Node, value: Span) -> Option<Span> {
        let in_map = node.as_map().into_iter().flatten().find_map(|entry| {
            if entry.value.span() == value { Some(entry.key.span()) } else { find(&entry.value, value) }
        });
        in_map.or_else(|| node.items().iter().find_map(|item| find(item, value)))
    }
    find(root, value).filter(|span| !span.is_none()).unwrap_or(value)
}
