//! Makes text that others wrote fit to be shown: no passwords, nothing a terminal would obey, no endless lines.

use std::borrow::Cow;

/// How many characters of a line are shown, and how many of them are before the one that is meant.
const WIDTH: usize = 160;
const AHEAD: usize = 60;

/// A text as people may see it: without passwords, and without what a terminal would obey.
pub fn shown(text: &str) -> String {
    inert(&without_passwords(text)).into_owned()
}

/// Hides the passwords in addresses, character by character, so that columns stay the same.
///
/// `https://me:secret@example.com` has one, and so does `https://token-of-some-length@example.com`.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    with_passwords_as(text, |secret| "*".repeat(secret.chars().count()))
}

/// Puts something else in the place of every password and token in addresses.
pub fn with_passwords_as(text: &str, hide: impl Fn(&str) -> String) -> Cow<'_, str> {
    let hide = |secret: &str| if secret.is_empty() { String::new() } else { hide(secret) };
    let text = with_tokens_as(text, &hide);
    if !text.contains("://") {
        return text;
    }
    let text = &*text;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || "/?#\"'`<>".contains(c);
        let host = &after[..after.find(ends).unwrap_or(after.len())];
        if let Some(at) = host.rfind('@') {
            let user = &host[..at];
            let open = match user.find(':') {
                Some(colon) => colon + 1,
                // A name is short; anything else gives access.
                None if user.len() >= 20 => 0,
                None => user.len(),
            };
            out.push_str(&user[..open]);
            out.push_str(&hide(&user[open..]));
            rest = &after[at..];
        } else {
            rest = after;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a parameter gives access, by its name in small letters. `author`, `keyword` and `design` do not.
fn gives_access(name: &str) -> bool {
    let has = |word: &str, is_meant: &dyn Fn(&str, &str) -> bool| {
        name.match_indices(word).any(|(at, _)| is_meant(&name[..at], &name[at + word.len()..]))
    };
    ["token", "secret", "passw", "pwd", "credential"].iter().any(|word| name.contains(word))
        || has("key", &|_, after| !after.starts_with("word") && !after.starts_with("board"))
        || has("auth", &|_, after| !after.starts_with("or") || after.starts_with("ori"))
        || has("sig", &|before, _| !before.ends_with(|c: char| c.is_ascii_alphabetic()))
}

/// Replaces the values of parameters that give access, as in `https://example.com/a?token=secret&ref=main`.
fn with_tokens_as<'t>(text: &'t str, hide: &dyn Fn(&str) -> String) -> Cow<'t, str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_value = |c: char| !c.is_whitespace() && !"&#\"'`<>".contains(c);
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices(['?', '&']) {
        let rest = &text[at + 1..];
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let Some(value) = rest[name.len()..].strip_prefix('=') else { continue };
        let lower = name.to_ascii_lowercase();
        if at < copied || !gives_access(&lower) {
            continue;
        }
        let start = text.len() - value.len();
        let value = &value[..value.find(|c| !is_value(c)).unwrap_or(value.len())];
        out.push_str(&text[copied..start]);
        out.push_str(&hide(value));
        copied = start + value.len();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Shows what a terminal would obey, or what turns the direction of writing, as one sign that it is there.
pub fn inert(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    // A line break of another system is not one of these.
    let text =
        if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    match text.contains(acts) {
        true => Cow::Owned(text.replace(acts, "\u{fffd}")),
        false => text,
    }
}

/// The same without marks that turn the direction of writing only for the text next to them: for pages.
pub fn left_to_right(text: &str) -> String {
    inert(text).replace(['\u{200e}', '\u{200f}', '\u{61c}'], "\u{fffd}")
}

/// What is shown of a line around a column, counted from 1, and the column there.
pub fn window(line: &str, column: usize) -> (Cow<'_, str>, usize) {
    if line.len() <= WIDTH || line.chars().count() <= WIDTH + AHEAD {
        return (Cow::Borrowed(line), column);
    }
    let skipped = (column - 1).saturating_sub(AHEAD);
    let mut rest = line.chars().skip(skipped);
    let mut shown: String = rest.by_ref().take(WIDTH).collect();
    if rest.next().is_some() {
        shown.push('…');
    }
    match skipped {
        0 => (Cow::Owned(shown), column),
        _ => (Cow::Owned(format!("…{shown}")), column - skipped + 1),
    }
}

/// The beginning of a text that nobody would read to its end.
pub fn beginning(text: &str) -> Cow<'_, str> {
    const MOST: usize = 4000;
    match text.len() > MOST {
        true => Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(MOST)])),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_give_access_by_their_names() {
        for name in [
            "token",
            "access_token",
            "apikey",
            "x-amz-signature",
            "sig",
            "auth",
            "authorization",
            "x-goog-credential",
        ] {
            assert!(gives_access(name), "{name}");
        }
        for name in ["author", "keyword", "design", "ref", "keyboard"] {
            assert!(!gives_access(name), "{name}");
        }
    }

    #[test]
    fn passwords_are_hidden_and_nothing_else() {
        for (text, shown) in [
            ("`https://me:secret@example.com/a` failed", "`https://me:******@example.com/a` failed"),
            ("ssh://git@example.com/a:b@c", "ssh://git@example.com/a:b@c"),
            ("https://0123456789abcdefghij@example.com", "https://********************@example.com"),
            ("http://a:b@c https://d:e@f", "http://a:*@c https://d:*@f"),
            ("https://me:p@ss@example.com", "https://me:****@example.com"),
            ("https://example.com:80/a@b:c", "https://example.com:80/a@b:c"),
            ("git@example.com:a/b", "git@example.com:a/b"),
            ("`https://a.b/c?token=abc&ref=main`", "`https://a.b/c?token=***&ref=main`"),
            ("a.b/c?ref=main&access_token=abc: failed", "a.b/c?ref=main&access_token=**** failed"),
            ("https://a.b/?X-Amz-Signature=0f", "https://a.b/?X-Amz-Signature=**"),
            ("what? key=1", "what? key=1"),
            ("https://a.b/c?token=***", "https://a.b/c?token=***"),
            ("https://a.b/c?token=", "https://a.b/c?token="),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn terminals_have_nothing_to_obey() {
        assert_eq!(inert("a\u{1b}]0;title\u{7}b\tc\nd\r\ne"), "a\u{fffd}]0;title\u{fffd}b\tc\nd\ne");
        assert_eq!(inert("a\u{202e}b\u{9b}c\u{7f}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(inert("Grüße, 世界"), "Grüße, 世界");
    }

    #[test]
    fn long_lines_are_shown_around_the_place() {
        assert_eq!(window("short", 3), ("short".into(), 3));
        let line: String = (0..100_000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
        let (start, column) = window(&line, 5);
        assert_eq!((start.chars().count(), column), (WIDTH + 1, 5));
        let (middle, column) = window(&line, 50_000);
        assert_eq!(middle.chars().count(), WIDTH + 2);
        assert_eq!(middle.chars().nth(column - 1), line.chars().nth(50_000 - 1));
        let (end, column) = window(&line, 100_000);
        assert_eq!(end.chars().nth(column - 1), line.chars().last());
    }
}
