//! What Kubernetes takes for names, labels and keys.

/// What to say of a name that is not a DNS subdomain.
pub(crate) const SUBDOMAIN: &str =
    "names have lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit";

/// Kinds whose names may be anything that can be part of an address.
pub(crate) fn may_be_any_text(kind: &str) -> bool {
    ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "User", "Group"].contains(&kind)
}

pub(crate) fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

/// A DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends.
pub(crate) fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && is_dns_label_of_any_length(name)
}

pub(crate) fn is_dns_label_of_any_length(name: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(alphanumeric)
        && name.ends_with(alphanumeric)
        && name.chars().all(|c| alphanumeric(c) || c == '-')
}

/// A DNS subdomain, which is what most kinds want for a name.
pub(crate) fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_dns_label_of_any_length)
}

/// The key of a label or an annotation: a name, which may have a domain and `/` in front.
pub(crate) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((domain, name)) => is_dns_subdomain(domain) && is_qualified(name),
        None => is_qualified(key),
    }
}

pub(crate) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_qualified(value)
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_qualified(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.'))
}

/// Whether another tool, or a variable, gives the text its final form.
pub(crate) fn is_filled_in_later(text: &str) -> bool {
    // What SOPS encrypted is a text whatever it will be.
    text.starts_with("ENC[")
        || text.contains("${")
        || text.contains("$(")
        || text.contains("{{")
        || text.contains("<%")
}
