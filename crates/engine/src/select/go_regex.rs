//! Go's regular expressions.
//!
//! People write patterns for kustomize, whose engine is Go's. It and the `regex` crate agree on most; where they do
//! not, a pattern must mean what it means in Go, or be refused as Go refuses it. [`compile`] therefore reads the pattern
//! as Go would, and writes it out anew in terms both understand alike: `\d`, `\s`, `\w` and `\b` are ASCII, `\Q..\E`
//! quotes, `[a&&b]` is three characters, `a{,2}` is plain text, `a**`, `x{2}{3}` and `x{1001}` are mistakes.

use regex::Regex;

/// Compiles a pattern as Go's `regexp.Compile` would. The error says what is wrong with it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = Translator::new(pattern).run()?;
    Regex::new(&translated).map_err(|e| {
        // The last line says what is wrong; the others show the pattern, which is no longer the user's.
        let text = e.to_string();
        text.trim_end().rsplit('\n').next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}

/// Compiles a pattern that must match the whole text.
pub(crate) fn compile_anchored(pattern: &str) -> Result<Regex, String> {
    compile(&format!("^(?:{pattern})$"))
}

/// Whether a pattern has no special characters except `.`.
pub(crate) fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['\\', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}

struct Translator<'p> {
    rest: std::str::Chars<'p>,
    out: String,
    /// What `*` and its like may follow.
    before: Before,
}

#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Item,
    Repeat,
}

impl<'p> Translator<'p> {
    fn new(pattern: &'p str) -> Self {
        let out = String::with_capacity(pattern.len() + 8);
        Self { rest: pattern.chars(), out, before: Before::Nothing }
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.as_str().strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.chars();
                true
            }
            None => false,
        }
    }

    fn item(&mut self, text: &str) {
        self.out.push_str(text);
        self.before = Before::Item;
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
        self.before = Before::Item;
    }

    fn run(mut self) -> Result<String, String> {
        while let Some(c) = self.rest.next() {
            match c {
                '(' => self.group()?,
                ')' => self.item(")"),
                '|' => {
                    self.out.push('|');
                    self.before = Before::Nothing;
                }
                '[' => {
                    self.class()?;
                    self.before = Before::Item;
                }
                '*' | '+' | '?' => self.repeat(c.to_string())?,
                '{' => match self.counts() {
                    Some(counts) => self.repeat(counts?)?,
                    None => self.literal('{'),
                },
                '\\' => self.escape()?,
                '^' | '$' | '.' => {
                    self.out.push(c);
                    self.before = Before::Item;
                }
                c => self.literal(c),
            }
        }
        Ok(self.out)
    }

    fn repeat(&mut self, operator: String) -> Result<(), String> {
        match self.before {
            Before::Nothing => return Err(format!("nothing to repeat before `{operator}`")),
            Before::Repeat => return Err(format!("`{operator}` repeats a repetition")),
            Before::Item => {}
        }
        self.out.push_str(&operator);
        if self.eat("?") {
            self.out.push('?');
        }
        self.before = Before::Repeat;
        Ok(())
    }

    /// What is in braces, if it is a repetition; else the brace is an ordinary character.
    fn counts(&mut self) -> Option<Result<String, String>> {
        let (inside, rest) = self.rest.as_str().split_once('}')?;
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            (is_number && (text.len() == 1 || !text.starts_with('0')))
                .then(|| text.parse::<u32>().unwrap_or(u32::MAX))
        };
        let (min, max) = match inside.split_once(',') {
            None => {
                let n = number(inside)?;
                (n, Some(n))
            }
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        self.rest = rest.chars();
        if min > 1000 || max.is_some_and(|max| max > 1000 || max < min) {
            return Some(Err(format!("`{{{inside}}}` is not a valid count; at most 1000 are allowed")));
        }
        Some(Ok(format!("{{{inside}}}")))
    }

    /// What follows `(`.
    fn group(&mut self) -> Result<(), String> {
        self.before = Before::Nothing;
        if !self.eat("?") {
            self.out.push('(');
            return Ok(());
        }
        if self.eat("P<") || self.eat("<") {
            let (name, rest) = self.rest.as_str().split_once('>').ok_or("a group's name lacks its `>`")?;
            let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_name {
                return Err(format!("`{name}` is not a valid name for a group"));
            }
            self.rest = rest.chars();
            self.out.push('(');
            return Ok(());
        }
        let mut flags = String::new();
        loop {
            match self.rest.next() {
                Some(c @ ('i' | 'm' | 's' | 'U')) => flags.push(c),
                Some('-') if !flags.contains('-') => flags.push('-'),
                Some(end @ (':' | ')')) => {
                    if flags.ends_with('-') {
                        return Err("a `-` in a group must be followed by a flag".into());
                    }
                    match end {
                        ')' if flags.is_empty() => {}
                        end => self.out.extend(["(?", &flags, if end == ':' { ":" } else { ")" }]),
                    }
                    return Ok(());
                }
                Some(c) => return Err(format!("`(?{flags}{c}` is not supported")),
                None => return Err("a `(` lacks its `)`".into()),
            }
        }
    }

    /// What follows a backslash outside a class.
    fn escape(&mut self) -> Result<(), String> {
        match self.peek() {
            Some('Q') => {
                self.rest.next();
                while let Some(c) = (!self.eat("\\E")).then(|| self.rest.next()).flatten() {
                    self.literal(c);
                }
            }
            Some(c @ ('A' | 'z')) => {
                self.rest.next();
                self.item(&format!("\\{c}"));
            }
            Some(c @ ('b' | 'B')) => {
                self.rest.next();
                self.item(&format!("(?-u:\\{c})"));
            }
            _ => match self.class_escape()? {
                Escape::Char(c) => self.literal(c),
                Escape::Class(class) => self.item(&class),
            },
        }
        Ok(())
    }

    /// What follows a backslash anywhere: a character, or a set of them.
    fn class_escape(&mut self) -> Result<Escape, String> {
        let c = self.rest.next().ok_or("the pattern ends in a `\\`")?;
        let char = match c {
            'd' => return Ok(Escape::Class("[0-9]".into())),
            'D' => return Ok(Escape::Class("[^0-9]".into())),
            's' => return Ok(Escape::Class(r"[\t\n\f\r ]".into())),
            'S' => return Ok(Escape::Class(r"[^\t\n\f\r ]".into())),
            'w' => return Ok(Escape::Class("[0-9A-Za-z_]".into())),
            'W' => return Ok(Escape::Class("[^0-9A-Za-z_]".into())),
            'p' | 'P' => return self.property(c == 'P'),
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => self.hex()?,
            '0'..='7' => {
                // A single digit other than 0 would be a back reference, which Go does not have.
                let is_octal =
                    |c: Option<char>| c.filter(|c| ('0'..='7').contains(c)).and_then(|c| c.to_digit(8));
                if c != '0' && is_octal(self.peek()).is_none() {
                    return Err(format!("`\\{c}` is not supported"));
                }
                let mut code = c.to_digit(8).expect("it is one of these digits");
                for _ in 0..2 {
                    let Some(digit) = is_octal(self.peek()) else { break };
                    self.rest.next();
                    code = code * 8 + digit;
                }
                char::from_u32(code).expect("three octal digits are below the surrogates")
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            c => return Err(format!("`\\{c}` is not supported")),
        };
        Ok(Escape::Char(char))
    }

    fn hex(&mut self) -> Result<char, String> {
        let (digits, least): (String, usize) = match self.eat("{") {
            true => {
                let (digits, rest) = self.rest.as_str().split_once('}').ok_or("`\\x{` lacks its `}`")?;
                self.rest = rest.chars();
                (digits.into(), 1)
            }
            false => (self.rest.by_ref().take(2).collect(), 2),
        };
        let is_hex = digits.len() >= least && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let char = is_hex.then(|| u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)).flatten();
        char.ok_or_else(|| format!("`\\x` is followed by `{digits}`, which is not the number of a character"))
    }

    /// What follows `\p` and `\P`.
    fn property(&mut self, negated: bool) -> Result<Escape, String> {
        let name: String = match self.eat("{") {
            true => {
                let (name, rest) = self.rest.as_str().split_once('}').ok_or("`\\p{` lacks its `}`")?;
                self.rest = rest.chars();
                name.into()
            }
            false => self.rest.next().ok_or("`\\p` lacks the name of a class")?.into(),
        };
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, !negated),
            None => (name.as_str(), negated),
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') {
            return Err(format!("`{name}` is not a class of characters"));
        }
        Ok(Escape::Class(format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' })))
    }

    /// What follows `[`.
    fn class(&mut self) -> Result<(), String> {
        const UNCLOSED: &str = "a `[` lacks its `]`";
        let open = if self.eat("^") { "[^" } else { "[" };
        self.out.push_str(open);
        let mut first = true;
        loop {
            if !first && self.eat("]") {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.as_str().starts_with("[:") && self.rest.as_str()[2..].contains(":]") {
                self.posix_class()?;
                continue;
            }
            let low = match self.rest.next().ok_or(UNCLOSED)? {
                '\\' => match self.class_escape()? {
                    Escape::Char(c) => c,
                    Escape::Class(class) => {
                        self.out.push_str(&class);
                        continue;
                    }
                },
                c => c,
            };
            push_literal(&mut self.out, low);
            let rest = self.rest.as_str();
            if !rest.starts_with('-') || rest.starts_with("-]") {
                continue;
            }
            self.rest.next();
            let high = match self.rest.next().ok_or(UNCLOSED)? {
                '\\' => match self.class_escape()? {
                    Escape::Char(c) => c,
                    Escape::Class(class) => return Err(format!("`{class}` cannot end a range")),
                },
                c => c,
            };
            if high < low {
                return Err(format!("`{low}-{high}` is a range from high to low"));
            }
            self.out.push('-');
            push_literal(&mut self.out, high);
        }
    }

    /// `[:alpha:]` within a class.
    fn posix_class(&mut self) -> Result<(), String> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let (name, rest) = self.rest.as_str()[2..].split_once(":]").expect("the caller saw the end");
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(format!("`[:{name}:]` is not a class of characters"));
        }
        self.out.extend(["[:", name, ":]"]);
        self.rest = rest.chars();
        Ok(())
    }
}

enum Escape {
    Char(char),
    Class(String),
}

/// Writes a character so that it stands for itself, in a class and outside.
fn push_literal(out: &mut String, c: char) {
    match c {
        c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
        c if r"\.+*?()|[]{}^$#&-~".contains(c) => out.extend(['\\', c]),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Go makes of each pattern on each text.
    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, text, fits) in [
            ("web", "web", true),
            ("web", "webs", false),
            ("web|api", "api", true),
            ("web.*", "web-1", true),
            (r"\Qa.b\E", "a.b", true),
            (r"\Qa.b\E", "axb", false),
            (r"\d+", "12", true),
            (r"\d", "٣", false),
            (r"\w", "é", false),
            (r"[\w-]+", "a-b_1", true),
            (r"[^\D]", "1", true),
            (r"a\<b", "a<b", true),
            (r"a\_b", "a_b", true),
            ("[a&&b]+", "a&b", true),
            ("[[a]+", "[a", true),
            ("[a-]+", "a-", true),
            ("[]a]+", "]a", true),
            ("[+--]+", "+,-", true),
            ("a{,2}", "a{,2}", true),
            ("a{", "a{", true),
            ("a{02}", "a{02}", true),
            ("a{2}", "aa", true),
            ("a{2,3}?", "aaa", true),
            ("(?i)WEB", "web", true),
            ("(?i:W)eb", "web", true),
            ("(?P<n>a)(?<m>b)", "ab", true),
            (r"\x41\x{42}\101", "ABA", true),
            ("[[:alpha:]]+", "abc", true),
            ("[[:^alpha:]]+", "123", true),
            (r"\p{Greek}", "λ", true),
            (r"\p{^Greek}", "λ", false),
            ("a)(?:b", "ab", true),
            ("a||b", "", true),
            ("()", "", true),
            ("a.b", "a\nb", false),
            ("(?s)a.b", "a\nb", true),
        ] {
            let regex = compile_anchored(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            assert_eq!(regex.is_match(text), fits, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "a**",
            "a+*",
            "x{2}{3}",
            "a{1001}",
            "a{3,2}",
            "[a--b]",
            "*a",
            "(*)",
            "|*",
            "(",
            "a)",
            "[a",
            "[]",
            r"\1",
            r"\8",
            r"\Z",
            r"a\E",
            r"\G",
            r"\u0041",
            r"(?=a)",
            "(?x)a",
            "[[:foo:]]",
            r"[a-\d]",
            "a\\",
            r"\p{}",
            "(?i-)a",
            r"\x4",
            r"\xzz",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
