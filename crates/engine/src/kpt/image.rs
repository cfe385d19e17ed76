//! Names of images: short ones, tags, and ranges of versions.

use krm_yaml::{Diagnostic, Result, Span};

/// Where short names of images are completed from, and when.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// Put before names without a slash.
    pub prefix: String,
}

/// The tags of an image that can be had.
pub type Tags = dyn Fn(&str) -> Result<Vec<String>> + Send + Sync;

impl Images {
    /// Refuses a prefix that is an address rather than the beginning of a name.
    pub fn new(prefix: &str) -> Result<Self> {
        if prefix.contains("://") || prefix.contains(['?', '#']) {
            let message = format!("`{prefix}` cannot be put before the name of an image");
            return Err(Diagnostic::error("image-prefix", message)
                .help("write it without a scheme or a query, as `registry.example.com/functions`"));
        }
        Ok(Self { prefix: prefix.trim_end_matches('/').to_owned() })
    }

    /// The whole name of an image that may be written short.
    pub fn whole(&self, image: &str) -> String {
        match image.contains('/') || self.prefix.is_empty() {
            true => image.to_owned(),
            false => format!("{}/{image}", self.prefix),
        }
    }

    /// The image to run: completed, with a tag. `tag` replaces the one of the name; a range takes the newest that matches.
    pub fn resolve(&self, image: &str, tag: &str, span: Span, tags: &Tags) -> Result<String> {
        let image = self.whole(image);
        let (name, own) = split_tag(&image);
        if tag.is_empty() {
            return Ok(if own.is_empty() { format!("{image}:latest") } else { image.clone() });
        }
        if is_tag(tag) && Range::parse(tag).is_none_or(|range| range.is_exact()) {
            return Ok(format!("{name}:{tag}"));
        }
        let Some(range) = Range::parse(tag) else {
            return Err(Diagnostic::error(
                "image-tag",
                format!("`{tag}` is neither a tag nor a range of versions"),
            )
            .at(span)
            .help("write a tag, as `v0.2.1`, or a range, as `>=0.2, <0.4` or `v0.2.x`"));
        };
        let there = tags(name)?;
        let newest =
            there.iter().filter_map(|tag| Some((Version::parse(tag)?, tag))).filter(|(v, _)| range.holds(v));
        match newest.max_by(|a, b| a.0.cmp(&b.0)) {
            Some((_, tag)) => Ok(format!("{name}:{tag}")),
            None => Err(Diagnostic::error("image-tag-none", format!("no tag of `{name}` matches `{tag}`"))
                .at(span)
                .help("pull an image that matches, or widen the range")),
        }
    }
}

/// The name, and the tag or digest if it has one.
fn split_tag(image: &str) -> (&str, &str) {
    if let Some((name, digest)) = image.split_once('@') {
        return (split_tag(name).0, digest);
    }
    let last = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[last..].find(':') {
        Some(colon) => (&image[..last + colon], &image[last + colon + 1..]),
        None => (image, ""),
    }
}

/// The name of an image without tag and digest.
pub(crate) fn without_tag(image: &str) -> &str {
    split_tag(image).0
}

fn is_tag(text: &str) -> bool {
    let mut bytes = text.bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 128 && bytes.next().is_some_and(word) && bytes.all(|b| word(b) || matches!(b, b'.' | b'-'))
}

/// Whether a text is a reference to an image by the OCI grammar.
pub fn is_reference(text: &str) -> bool {
    let (text, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    let (name, tag) = split_tag(text);
    let digest_is_good = digest.is_none_or(|digest| {
        digest.split_once(':').is_some_and(|(algorithm, hex)| {
            let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'_' | b'-');
            !algorithm.is_empty()
                && algorithm.bytes().all(good)
                && hex.len() >= 32
                && hex.bytes().all(|b| b.is_ascii_hexdigit())
        })
    });
    let tag_is_good = (text.len() == name.len()) || is_tag(tag);
    let mut parts: Vec<&str> = name.split('/').collect();
    // A first part with a dot, a colon or called `localhost` is a registry, which may have capitals and a port.
    if parts.len() > 1 && (parts[0].contains(['.', ':']) || parts[0] == "localhost") {
        let registry = parts.remove(0);
        let (host, port) = registry.split_once(':').unwrap_or((registry, "0"));
        let label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        if !host.split('.').all(label) || port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
    }
    digest_is_good && tag_is_good && parts.iter().all(|part| is_path_part(part))
}

/// Lower-case letters and digits, with `.`, `_`, `__` or dashes between them.
fn is_path_part(part: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    let ends = bytes.first().is_some_and(|b| word(*b)) && bytes.last().is_some_and(|b| word(*b));
    let between = part.split(|c: char| word(c as u8) && c.is_ascii());
    ends && part.is_ascii()
        && between
            .into_iter()
            .all(|sep| matches!(sep, "" | "." | "_" | "__") || sep.bytes().all(|b| b == b'-'))
}

/// A version of three numbers, and what follows a dash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    numbers: [u64; 3],
    pre: String,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let (version, given) = Self::parse_some(text)?;
        (given == 3).then_some(version)
    }

    /// The version, and how many numbers were written; others are 0.
    fn parse_some(text: &str) -> Option<(Self, usize)> {
        let text = text.trim().strip_prefix('v').unwrap_or(text.trim());
        let text = text.split_once('+').map_or(text, |(text, _)| text);
        let (core, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers = [0; 3];
        let parts: Vec<&str> = core.split('.').collect();
        let given: Vec<&str> =
            parts.iter().take_while(|part| !matches!(**part, "x" | "X" | "*")).copied().collect();
        if parts.len() > 3 || core.is_empty() {
            return None;
        }
        for (at, part) in given.iter().enumerate() {
            numbers[at] = part.parse().ok()?;
        }
        Some((Self { numbers, pre: pre.to_owned() }, given.len()))
    }

    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // A version with a pre-release comes before the one without.
        let pre = |v: &Self| (v.pre.is_empty(), v.pre.clone());
        self.numbers.cmp(&other.numbers).then_with(|| pre(self).cmp(&pre(other)))
    }
}

/// `>=0.1, <0.3`, `~0.2.1`, `^1.2`, `v0.2.x`; parts between `||` are alternatives.
struct Range {
    any: Vec<Vec<(Version, Option<Version>)>>,
    exact: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut any = Vec::new();
        let mut exact = true;
        for alternative in text.split("||") {
            let mut all = Vec::new();
            // `0.4.1 - 0.4.3` is from the one to the other, both included.
            let between =
                alternative.split_once(" - ").map(|(from, to)| format!(">={}, <={}", from.trim(), to.trim()));
            let alternative = between.as_deref().unwrap_or(alternative);
            for part in alternative.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
                let operator =
                    part.trim_end_matches(|c: char| !matches!(c, '<' | '>' | '=' | '~' | '^' | '!'));
                let (version, given) = Version::parse_some(&part[operator.len()..])?;
                exact &= matches!(operator, "" | "=") && given == 3;
                all.push(bounds(operator, version, given)?);
            }
            (!all.is_empty()).then_some(())?;
            any.push(all);
        }
        Some(Self { any, exact })
    }

    fn is_exact(&self) -> bool {
        self.exact
    }

    fn holds(&self, version: &Version) -> bool {
        let within = |(from, to): &(Version, Option<Version>)| {
            version.cmp(from).is_ge() && to.as_ref().is_none_or(|to| version.cmp(to).is_lt())
        };
        version.pre.is_empty() && self.any.iter().any(|all| all.iter().all(within))
    }
}

/// What a comparison allows: from the first, up to but without the second.
fn bounds(operator: &str, version: Version, given: usize) -> Option<(Version, Option<Version>)> {
    let zero = Version { numbers: [0; 3], pre: String::new() };
    // The first version after all those that begin with these numbers.
    let after = |count: usize| -> Option<Version> {
        let at = count.checked_sub(1)?;
        let mut numbers = [0; 3];
        numbers[..=at].copy_from_slice(&version.numbers[..=at]);
        numbers[at] += 1;
        Some(Version { numbers, pre: String::new() })
    };
    Some(match operator {
        "" | "=" => (version.clone(), after(given)),
        ">=" | "=>" => (version, None),
        ">" => (after(given)?, None),
        "<" => (zero, Some(version)),
        "<=" | "=<" => (zero, Some(after(given)?)),
        "~" | "~>" => {
            let to = after(given.min(2));
            (version, to)
        }
        "^" => {
            let first = version.numbers.iter().position(|n| *n > 0).map_or(given, |at| at + 1);
            let to = after(first.min(given));
            (version, to)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_follow_the_grammar() {
        for (text, good) in [
            ("set-labels", true),
            ("set-labels:v0.1", true),
            ("registry.example.com/fns/set-labels:v0.1.5", true),
            ("localhost:5000/a/b", true),
            ("a__b/c-d.e", true),
            ("Set-Labels", false),
            ("set labels", false),
            ("a/b:", false),
            ("a//b", false),
            ("-a", false),
            ("a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true),
            ("a@sha256:xyz", false),
        ] {
            assert_eq!(is_reference(text), good, "{text}");
        }
    }

    #[test]
    fn ranges_take_the_newest_that_matches() {
        let tags = |_: &str| -> Result<Vec<String>> {
            Ok(["latest", "v0.1.0", "v0.2.4", "v0.2.10", "v0.3.0", "v1.0.0-rc1"].map(String::from).to_vec())
        };
        let resolve =
            |tag: &str| Images::new("example.com/fns").unwrap().resolve("no-op", tag, Span::NONE, &tags).ok();
        for (tag, expected) in [
            ("", Some("latest")),
            ("v0.1.4", Some("v0.1.4")),
            ("nightly", Some("nightly")),
            (">=0.1, <0.3", Some("v0.2.10")),
            ("v0.2.x", Some("v0.2.10")),
            ("0.2", Some("v0.2.10")),
            ("~0.2.5", Some("v0.2.10")),
            ("^0.2.0", Some("v0.2.10")),
            ("<=0.2", Some("v0.2.10")),
            ("0.1.0 || 0.3.0", Some("v0.3.0")),
            ("0.1.0 - 0.2.9", Some("v0.2.4")),
            (">1", None),
        ] {
            assert_eq!(resolve(tag), expected.map(|tag| format!("example.com/fns/no-op:{tag}")), "{tag}");
        }
    }
}
