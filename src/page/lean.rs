//! Style and script without what only their readers need: comments and spaces. A page is sent around; its source is here.

/// A style sheet without comments, and without the spaces that mean nothing.
pub fn style(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
        } else if c == '"' {
            rest = copy(rest, quoted(rest, c), &mut out);
        } else if c.is_whitespace() {
            rest = rest.trim_start();
            // Before a colon a space says "within"; after one it says nothing.
            let is_idle = out.ends_with(['{', '}', ';', ':', ',', '>']) || out.is_empty();
            if !is_idle && !rest.starts_with(['{', '}', ';', ',', '>']) && !rest.starts_with("/*") {
                out.push(' ');
            }
        } else if rest.starts_with("0.") && !out.ends_with(|c: char| c.is_alphanumeric() || c == '.') {
            rest = &rest[1..];
        } else {
            if c == '}' && out.ends_with(';') {
                out.pop();
            }
            rest = copy(rest, c.len_utf8(), &mut out);
        }
    }
    out
}

/// A script without comments and indentation. Lines stay lines unless it is certain that a statement goes on, so that
/// what ends where no semicolon is does not change.
pub fn script(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() || rest.starts_with("//") || rest.starts_with("/*") {
            let (next, new_line) = idle(rest);
            rest = next;
            let (Some(before), Some(after)) = (out.chars().next_back(), rest.chars().next()) else {
                continue;
            };
            if new_line {
                if !"{([,;\n".contains(before) && !"}])?:.".contains(after) {
                    out.push('\n');
                }
            } else if is_word(before) && is_word(after) || before == after && "+-".contains(after) {
                out.push(' ');
            }
        } else if c == '\'' || c == '"' {
            rest = copy(rest, quoted(rest, c), &mut out);
        } else if c == '`' {
            rest = copy(rest, template(rest), &mut out);
        } else if c == '/'
            && out.ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '\n'])
        {
            rest = copy(rest, expression(rest), &mut out);
        } else {
            rest = copy(rest, c.len_utf8(), &mut out);
        }
    }
    out
}

fn copy<'t>(text: &'t str, length: usize, out: &mut String) -> &'t str {
    let (head, rest) = text.split_at(length);
    out.push_str(head);
    rest
}

/// What comes after spaces and comments, and whether they end a line.
fn idle(mut text: &str) -> (&str, bool) {
    let mut new_line = false;
    loop {
        let trimmed = text.trim_start();
        new_line |= text[..text.len() - trimmed.len()].contains('\n');
        text = if trimmed.starts_with("//") {
            trimmed.find('\n').map_or("", |at| &trimmed[at..])
        } else if trimmed.starts_with("/*") {
            trimmed.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return (trimmed, new_line);
        };
    }
}

/// The length of a string in quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a regular expression, up to its second slash.
fn expression(text: &str) -> usize {
    let (mut escaped, mut within) = (false, false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => within = true,
            ']' => within = false,
            '/' if !within => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a template, with what is computed within it.
fn template(text: &str) -> usize {
    let mut at = 1;
    while let Some(c) = text[at..].chars().next() {
        at += match c {
            '`' => return at + 1,
            '\\' => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '$' if text[at + 1..].starts_with('{') => 2 + computed(&text[at + 2..]),
            c => c.len_utf8(),
        };
    }
    text.len()
}

/// The length of what is computed within a template, with the brace that ends it.
fn computed(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        at += match c {
            '}' if depth == 0 => return at + 1,
            '\'' | '"' => quoted(&text[at..], c),
            '`' => template(&text[at..]),
            c => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                c.len_utf8()
            }
        };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_keeps_what_means_something() {
        let sheet = "/* Why */\n.a .b, .a > .c { margin: 0 1px; content: \"a  ;  b\"; }\n\n@media (min-width: 60rem) {\n  .a :focus { width: calc(1px + 0.5rem); height: 10.5px; }\n}\n";
        assert_eq!(
            style(sheet),
            ".a .b,.a>.c{margin:0 1px;content:\"a  ;  b\"}@media (min-width:60rem){.a :focus{width:calc(1px + .5rem);height:10.5px}}"
        );
    }

    #[test]
    fn a_script_keeps_what_means_something() {
        let code = "// Why.\nconst a = (b) => {\n  /** What. */\n  const c = b + +1; // and so on\n  return c\n  d = `x  ${f({ a: '}' })}  // y`;\n};\n";
        assert_eq!(script(code), "const a=(b)=>{const c=b+ +1;return c\nd=`x  ${f({ a: '}' })}  // y`;};");
        assert_eq!(script("a = b\n  ? c\n  : d;\nx = y / 2;"), "a=b?c:d;x=y/2;");
        assert_eq!(script("t.match( /[/ ]\\/  x/ ) ;"), "t.match(/[/ ]\\/  x/);");
        assert_eq!(script("const x = 'a  // b';\n\n\nlet y"), "const x='a  // b';let y");
    }
}
