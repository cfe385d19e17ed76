//! Whether a text is formatted except for where its comments are.
//!
//! The rules by which comments belong to fields are go-yaml's, and by them a comment that was formatted may belong to
//! something else when it is read again, and move further each time. So a text whose comments are where formatting may
//! have put them is not formatted again.

/// Whether a text differs from what formatting made of it in the places of its comments alone, all of which are at some
/// level of what is around them.
pub fn differ_alone(text: &str, formatted: &str) -> bool {
    if !text.ends_with('\n') || text.contains('\r') {
        return false;
    }
    let (text, formatted) = (Lines::of(text), Lines::of(formatted));
    let sorted = |lines: &Lines| {
        let mut comments: Vec<_> = lines.gaps.iter().flatten().filter(|line| !line.is_empty()).collect();
        comments.sort_unstable_by_key(|line| line.trim_start());
        comments.into_iter().map(|line| line.trim_start().to_owned()).collect::<Vec<_>>()
    };
    text.data == formatted.data
        && text.gaps.iter().zip(&formatted.gaps).all(|(gap, other)| is_spaced(gap, other))
        && sorted(&text) == sorted(&formatted)
        && text.comments_are_at_a_level()
}

/// A text as its lines of data, and the comments and empty lines in front of each and after the last.
struct Lines<'t> {
    data: Vec<&'t str>,
    gaps: Vec<Vec<&'t str>>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let mut lines = Self { data: Vec::new(), gaps: vec![Vec::new()] };
        for line in text.lines() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                lines.gaps.last_mut().expect("never empty").push(line);
            } else {
                lines.data.push(line);
                lines.gaps.push(Vec::new());
            }
        }
        lines
    }

    fn comments_are_at_a_level(&self) -> bool {
        // The levels that are open above a line, the innermost last.
        let mut levels: Vec<usize> = Vec::new();
        for (at, gap) in self.gaps.iter().enumerate() {
            let next = self.data.get(at).map_or(0, |line| indent(line));
            let is_at_a_level =
                |line: &&str| line.is_empty() || indent(line) == next || levels.contains(&indent(line));
            if !gap.iter().all(is_at_a_level) {
                return false;
            }
            if let Some(line) = self.data.get(at) {
                levels.retain(|level| *level < next);
                levels.push(next);
                let mut rest = line.trim_start();
                // What an item of a list holds is a level of its own.
                while let Some(item) = rest.strip_prefix("- ") {
                    levels.push(line.len() - item.len());
                    rest = item;
                }
            }
        }
        true
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether empty lines are only where formatting leaves any: one after a comment, and within text.
fn is_spaced(gap: &[&str], formatted: &[&str]) -> bool {
    let is_plain = |gap: &[&str]| gap.iter().all(|line| line.is_empty());
    match is_plain(gap) {
        true => gap.is_empty() || is_plain(formatted) && gap.len() == formatted.len(),
        false => !gap[0].is_empty() && gap.windows(2).all(|pair| !(pair[0].is_empty() && pair[1].is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: &str =
        "rules:\n- level: None\n  users:\n  - a\n# Second part.\n\n# The rest.\n- level: All\n";

    #[test]
    fn comments_alone_may_differ() {
        let twice = "rules:\n- level: None\n  users:\n  - a\n# The rest.\n- level: All\n  # Second part.\n";
        assert!(differ_alone(ONCE, twice));
        assert!(!differ_alone(ONCE, &twice.replace("All", "Some")));
        assert!(!differ_alone(ONCE, &twice.replace("Second", "First")));
    }

    #[test]
    fn what_formatting_would_mend_is_not_formatted() {
        let formatted = "a:\n- b: 1\n# c\nd: 1\n";
        assert!(differ_alone("a:\n- b: 1\n  # c\nd: 1\n", formatted));
        for text in [
            "a:\n- b: 1\n# c\nd: 1",
            "a:\n- b: 1\n # c\nd: 1\n",
            "a:\n- b: 1\n\n# c\nd: 1\n",
            "a:\n- b: 1\n# c\n\n\nd: 1\n",
            "a:\n\n- b: 1\n# c\nd: 1\n",
            "a:\n  - b: 1\n# c\nd: 1\n",
        ] {
            assert!(!differ_alone(text, formatted), "{text:?}");
        }
    }
}
