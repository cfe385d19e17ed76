//! What of two texts differs: names of overlays have parts of their own around what a change does to them.

/// Two texts, by what they share at both ends and what differs between. Words stay whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Differing<'t> {
    /// What both begin with.
    pub lead: &'t str,
    /// What only the first has.
    pub before: &'t str,
    /// What only the second has.
    pub after: &'t str,
    /// What both end in.
    pub tail: &'t str,
}

impl<'t> Differing<'t> {
    /// Splits two texts.
    pub fn of(before: &'t str, after: &'t str) -> Self {
        let lead = common(before.char_indices(), after.char_indices());
        let is_end = |at: &usize| is_boundary(before, *at) && is_boundary(after, *at);
        let lead = (0..=lead).rev().find(is_end).unwrap_or(0);
        let (rest_before, rest_after) = (&before[lead..], &after[lead..]);
        let mut tail = 0;
        let mut length = 0;
        for (a, b) in rest_before.chars().rev().zip(rest_after.chars().rev()) {
            if a != b {
                break;
            }
            length += a.len_utf8();
            if is_boundary(before, before.len() - length) && is_boundary(after, after.len() - length) {
                tail = length;
            }
        }
        Self {
            lead: &before[..lead],
            before: &rest_before[..rest_before.len() - tail],
            after: &rest_after[..rest_after.len() - tail],
            tail: &before[before.len() - tail..],
        }
    }
}

/// How several pairs of texts look in which the same part differs, each with ends of its own; `None` if other parts do.
pub fn alike<'t>(pairs: impl IntoIterator<Item = (&'t str, &'t str)>) -> Option<(String, String)> {
    let pairs: Vec<Differing> = pairs.into_iter().map(|(a, b)| Differing::of(a, b)).collect();
    let first = *pairs.first()?;
    if pairs.iter().any(|pair| (pair.before, pair.after) != (first.before, first.after)) {
        return None;
    }
    let (mut lead, mut tail) = (first.lead, first.tail);
    for pair in &pairs {
        let shared = common(lead.chars().rev().map(|c| (0, c)), pair.lead.chars().rev().map(|c| (0, c)));
        lead = &lead[lead.len() - shared..];
        tail = &tail[..common(tail.char_indices(), pair.tail.char_indices())];
    }
    let is_lead = pairs.iter().all(|pair| pair.lead.len() == lead.len());
    let is_tail = pairs.iter().all(|pair| pair.tail.len() == tail.len());
    // A part of a word says nothing.
    let lead = match is_lead {
        true => lead.to_owned(),
        false => format!("…{}", lead.trim_start_matches(char::is_alphanumeric)),
    };
    let tail = match is_tail {
        true => tail.to_owned(),
        false => format!("{}…", tail.trim_end_matches(char::is_alphanumeric)),
    };
    Some((format!("{lead}{}{tail}", first.before), format!("{lead}{}{tail}", first.after)))
}

/// The length of what two texts begin with, in bytes.
fn common(a: impl Iterator<Item = (usize, char)>, b: impl Iterator<Item = (usize, char)>) -> usize {
    a.zip(b).take_while(|((_, a), (_, b))| a == b).map(|((_, c), _)| c.len_utf8()).sum()
}

/// Whether no word goes on across a position.
fn is_boundary(text: &str, at: usize) -> bool {
    if !text.is_char_boundary(at) {
        return false;
    }
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !is_word(text[..at].chars().next_back()) || !is_word(text[at..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        for (before, after, parts) in [
            ("p0-web", "p0-www", ["p0-", "web", "www", ""]),
            ("p0-web", "p0-web-v2", ["p0-web", "", "-v2", ""]),
            ("a-web", "zz-web", ["", "a", "zz", "-web"]),
            ("r.example.com/a:1.0", "r.example.com/a:1.1", ["r.example.com/a:1.", "0", "1", ""]),
            ("é-ü", "é-u", ["é-", "ü", "u", ""]),
            ("a", "b", ["", "a", "b", ""]),
            ("", "b", ["", "", "b", ""]),
            ("x-x", "x-x-x", ["x-x", "", "-x", ""]),
        ] {
            let found = Differing::of(before, after);
            assert_eq!([found.lead, found.before, found.after, found.tail], parts, "{before} {after}");
        }
    }

    #[test]
    fn ends_that_differ_are_left_out() {
        let shown = |pairs: &[(&str, &str)]| {
            alike(pairs.iter().copied()).map(|(before, after)| format!("{before} → {after}"))
        };
        assert_eq!(shown(&[("p0-web", "p0-www"), ("p1-web", "p1-www")]).as_deref(), Some("…-web → …-www"));
        assert_eq!(shown(&[("p-a", "q-a"), ("p-b", "q-b")]).as_deref(), Some("p-… → q-…"));
        assert_eq!(shown(&[("web", "www"), ("b-web", "b-www")]).as_deref(), Some("…web → …www"));
        assert_eq!(shown(&[("a-1", "a-2"), ("a-1", "a-2")]).as_deref(), Some("a-1 → a-2"));
        assert_eq!(shown(&[("a-1", "a-2"), ("a-1", "a-3")]), None);
        assert_eq!(
            shown(&[("r1.io/a:1", "r1.io/a:2"), ("r2.io/a:1", "r2.io/a:2")]).as_deref(),
            Some("….io/a:1 → ….io/a:2")
        );
    }
}
