//! Label selectors: `app=web,tier in (front, back),!canary`.

use krm_yaml::Text;

/// A parsed label selector: all of its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: Text,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<Text>),
    NotIn(Vec<Text>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads the syntax of Kubernetes: `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`, `k>1`, `k<1`,
    /// separated by commas. The error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: lex(text)?, at: 0 };
        let mut requirements = Vec::new();
        while parser.peek() != &Token::End {
            requirements.push(parser.requirement()?);
            match parser.next() {
                Token::End => break,
                Token::Symbol(",") if matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) => {}
                Token::Symbol(",") => {
                    return Err(format!("expected a key after `,`, found {}", parser.peek()));
                }
                other => return Err(format!("expected `,` or the end, found {other}")),
            }
        }
        Ok(Self(requirements))
    }

    /// Whether labels match, given a way to look one up.
    pub(crate) fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|r| {
            let value = label(&r.key);
            let number = || value.and_then(|v| v.parse::<i64>().ok());
            match &r.test {
                Test::Exists => value.is_some(),
                Test::Missing => value.is_none(),
                Test::In(values) => value.is_some_and(|v| values.iter().any(|wanted| wanted == v)),
                Test::NotIn(values) => value.is_none_or(|v| values.iter().all(|unwanted| unwanted != v)),
                Test::Above(limit) => number().is_some_and(|n| n > *limit),
                Test::Below(limit) => number().is_some_and(|n| n < *limit),
            }
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'t> {
    /// A key, a value, `in` or `notin`: which one, the place decides.
    Word(&'t str),
    Symbol(&'static str),
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(text) | Token::Symbol(text) => write!(f, "`{text}`"),
            Token::End => f.write_str("the end"),
        }
    }
}

fn lex(text: &str) -> Result<Vec<Token<'_>>, String> {
    // The longer ones first.
    const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else {
            let end = rest.find(|c: char| " \t\r\n=!(),><".contains(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens.push(Token::End);
    Ok(tokens)
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.tokens[self.at].clone();
        // The end stays the end, however often it is asked for.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = *self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("expected a key, found {other}")),
        };
        if !is_key(key) {
            return Err(format!("`{key}` is not a valid label key"));
        }
        let bare = matches!(self.peek(), Token::End | Token::Symbol(","));
        let test = match (negated, bare) {
            (true, _) => Test::Missing,
            (false, true) => Test::Exists,
            (false, false) => self.test()?,
        };
        Ok(Requirement { key: key.into(), test })
    }

    fn test(&mut self) -> Result<Test, String> {
        Ok(match self.next() {
            Token::Symbol("=" | "==") => Test::In(vec![self.value()?]),
            Token::Symbol("!=") => Test::NotIn(vec![self.value()?]),
            Token::Symbol(">") => Test::Above(self.number()?),
            Token::Symbol("<") => Test::Below(self.number()?),
            Token::Word("in") => Test::In(self.values()?),
            Token::Word("notin") => Test::NotIn(self.values()?),
            other => return Err(format!("expected `=`, `==`, `!=`, `in` or `notin`, found {other}")),
        })
    }

    fn number(&mut self) -> Result<i64, String> {
        let value = self.value()?;
        value.parse().map_err(|_| format!("`{value}` is not an integer, which `<` and `>` need"))
    }

    fn value(&mut self) -> Result<Text, String> {
        match self.peek().clone() {
            Token::End | Token::Symbol(",") => Ok(Text::new()),
            Token::Word(value) => {
                self.next();
                checked_value(value)
            }
            other => Err(format!("expected a value, found {other}")),
        }
    }

    /// `(a,b)`; an empty place between commas is the empty value.
    fn values(&mut self) -> Result<Vec<Text>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("expected `(`, found {other}")),
        }
        let mut values = Vec::new();
        loop {
            values.push(match self.peek() {
                Token::Symbol("," | ")") => Text::new(),
                _ => self.value()?,
            });
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("expected `,` or `)`, found {other}")),
            }
        }
    }
}

fn checked_value(value: &str) -> Result<Text, String> {
    match value.is_empty() || is_name(value) {
        true => Ok(value.into()),
        false => Err(format!("`{value}` is not a valid label value")),
    }
}

/// `name`, or `example.com/name`.
fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Up to 63 letters, digits, `-`, `_` and `.`, the first and the last of them a letter or a digit.
fn is_name(name: &str) -> bool {
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    name.len() <= 63
        && ends(name.as_bytes().first())
        && ends(name.as_bytes().last())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| is_plain(b) || b == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_fit_as_in_kubernetes() {
        let labels = |key: &str| match key {
            "app" => Some("web"),
            "tier" => Some("front"),
            "empty" => Some(""),
            "n" => Some("5"),
            "example.com/x" => Some("y"),
            _ => None,
        };
        for (selector, fits) in [
            ("", true),
            ("  ", true),
            ("app=web", true),
            ("app == web", true),
            ("app!=web", false),
            ("none!=web", true),
            ("app", true),
            ("!app", false),
            ("!none", true),
            ("none", false),
            ("app in (api, web)", true),
            ("app notin (api,web)", false),
            ("none notin (a)", true),
            ("none in (a)", false),
            ("empty in ()", true),
            ("empty in (,a)", true),
            ("empty=", true),
            ("empty=,app=web", true),
            ("app in (in,notin)", false),
            ("in", false),
            ("n>4,n<6", true),
            ("n>5", false),
            ("app>1", false),
            ("example.com/x=y", true),
            ("app=web,tier=back", false),
            ("app=web\n,tier=front", true),
        ] {
            let parsed = LabelSelector::parse(selector).unwrap_or_else(|e| panic!("{selector}: {e}"));
            assert_eq!(parsed.matches(labels), fits, "{selector}");
        }
    }

    #[test]
    fn mistakes_are_refused() {
        for selector in [
            "=",
            "a=b,",
            ",a",
            "a b",
            "a in b",
            "a in (b",
            "a=(",
            "a>x",
            "-a=b",
            "a=-b",
            "a/b/c",
            "A.com/b",
            "a=b c",
            "!!a",
            "a=https://x",
            "(a)",
            "a in (b c)",
        ] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
