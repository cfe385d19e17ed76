//! What becomes of folded (`>`) scalars in a build.

// quirk(folded-text-loses-breaks): A resource is written as YAML and read back before it is printed, and folded (`>`)
// scalars do not survive that: whether the break after a line is doubled depends on the first line of the text instead
// of the line that follows. (go-yaml `yaml_emitter_write_folded_scalar`)

/// The text of a folded scalar as it comes back; `None` if it comes back unharmed.
pub fn distorted(text: &str) -> Option<String> {
    let content = text.trim_start_matches('\n');
    if !content.trim_end_matches('\n').contains('\n') && !text.ends_with("\n\n") || !is_written_folded(text) {
        return None;
    }
    let doubled = !starts_blank(content);
    let mut out = String::with_capacity(text.len() + 8);
    out.push_str(&text[..text.len() - content.len()]);
    let mut rest = content;
    while !rest.is_empty() {
        let end = rest.find('\n').unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.trim_start_matches('\n');
        let breaks = after.len() - rest.len();
        let written = breaks + usize::from(breaks > 0 && doubled && !starts_blank(line));
        out.push_str(line);
        let read = if rest.is_empty() {
            // One break at the end is clipped to one, however it was written; more are kept.
            if breaks > 1 { written } else { breaks }
        } else if starts_blank(line) || starts_blank(rest) {
            written
        } else {
            if written == 1 {
                out.push(' ');
            }
            written - 1
        };
        (0..read).for_each(|_| out.push('\n'));
    }
    (out != text).then_some(out)
}

fn starts_blank(text: &str) -> bool {
    text.starts_with([' ', '\t'])
}

/// Whether go-yaml keeps the style; else it takes double quotes, which are faithful.
fn is_written_folded(text: &str) -> bool {
    let printable = |c| matches!(c, '\t' | '\n' | ' '..='~' | '\u{A0}'..='\u{FFFD}') && c != '\u{FEFF}';
    !text.ends_with(' ') && !text.contains(" \n") && text.chars().all(printable)
}

#[cfg(test)]
mod tests {
    use super::distorted;

    #[test]
    fn one_paragraph_comes_back_unharmed() {
        for text in ["", "\n", "a b\n", "a\nb\n", "\n\na\nb", "a\n\n\nb\n", "  code\n  code\n", "a\n  b \n"] {
            assert_eq!(distorted(text), None, "{text:?}");
        }
    }

    #[test]
    fn breaks_before_indented_lines_double() {
        assert_eq!(distorted("a\n  b\nc\n").as_deref(), Some("a\n\n  b\nc\n"));
        assert_eq!(distorted("a\n\n").as_deref(), Some("a\n\n\n"));
    }

    #[test]
    fn an_indented_first_line_lets_later_breaks_fold() {
        assert_eq!(distorted("  a\nb\nc\n\nd\n").as_deref(), Some("  a\nb c\nd\n"));
    }
}
