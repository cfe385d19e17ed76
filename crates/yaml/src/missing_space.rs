//! `key:value`, the line that looks like a field and is a text.

/// A line `key:value`, in which a space is missing, with it; nothing if the colon may be meant, as in an address.
///
/// ```
/// assert_eq!(krm_yaml::with_space("namespace:shop"), Some("namespace: shop".to_owned()));
/// assert_eq!(krm_yaml::with_space("https://example.com"), None);
/// ```
pub fn with_space(line: &str) -> Option<String> {
    let (key, value) = line.trim_end().split_once(':')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(is_name);
    let is_value = !value.is_empty() && !value.starts_with([' ', '/', ':']) && !value.contains(": ");
    (is_key && is_value).then(|| format!("{key}: {value}"))
}
