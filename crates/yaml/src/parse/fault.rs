//! What can be wrong with a text, and what to do about it.

use super::cursor::{MAX_DEPTH, Parser};
use crate::diag::{Diagnostic, Failure};
use crate::node::Node;
use crate::source::Span;

const KEY_WITHOUT_COLON: &str = "yaml-key-without-colon";

/// Indentation and structure.
impl Parser<'_> {
    pub(crate) fn tab_in_indentation(&self, at: usize) -> Diagnostic {
        let tabs = self.bytes[at..].iter().take_while(|b| **b == b'\t').count();
        self.error("yaml-tab", "a tab cannot indent", at, at + tabs).help("indent with spaces")
    }

    pub(crate) fn too_deep(&self, at: usize) -> Diagnostic {
        let message = format!("collections are nested more than {MAX_DEPTH} deep");
        self.error("yaml-depth", message, at, at + 1)
            .help("this is more than any manifest needs; is it data of another kind?")
    }

    /// In a map, where a key must be.
    pub(crate) fn not_a_key(&self, at: usize, map: usize) -> Diagnostic {
        if !self.key_allowed {
            return self.text_after_value(at);
        }
        if self.column() > self.indent {
            return self
                .bad_indent(at, "this line is indented more than the keys of its map")
                .note("the map begins here", self.line_of(map));
        }
        let place = self.span(at, self.line_end(at));
        let error = Diagnostic::error("yaml-key", "expected a key")
            .at(place)
            .note("of the map that begins here", self.line_of(map));
        match self.here() {
            b'-' => {
                error.help("an item of a list cannot be among the keys of a map; indent it below its key")
            }
            b':' => error.help("write the key in front of the `:`, `\"\"` for an empty one"),
            _ => self.template(error, at),
        }
    }

    /// In a sequence, where a `-` must be.
    pub(crate) fn not_an_entry(&self, at: usize, seq: usize) -> Diagnostic {
        if !self.key_allowed {
            return self.text_after_value(at);
        }
        if self.column() > self.indent {
            return self
                .bad_indent(at, "this line is indented more than the items of its list")
                .note("the list begins here", self.line_of(seq));
        }
        let error = Diagnostic::error("yaml-list-item", "expected `- ` and an item of the list")
            .at(self.span(at, self.line_end(at)))
            .note("of the list that begins here", self.line_of(seq));
        if self.here() == b'-' {
            return error.help("put a space after the `-`");
        }
        self.template(error, at)
            .help("indent this line to make it part of the item above, or less to end the list")
    }

    fn bad_indent(&self, at: usize, message: &str) -> Diagnostic {
        let error = Diagnostic::error("yaml-indent", message).at(self.span(at, self.line_end(at)));
        self.template(error, at).help("align it with what it belongs to; a `: ` or `- ` may be missing above")
    }

    fn text_after_value(&self, at: usize) -> Diagnostic {
        let error = Diagnostic::error("yaml-trailing-text", "expected the end of the line")
            .at(self.span(at, self.line_end(at)));
        self.template(error, at)
            .help("text after a quoted value or a closing bracket must be within it, or a comment")
    }

    /// A key without its `:`.
    pub(crate) fn key_without_value(&self, start: usize, map: usize) -> Diagnostic {
        let line_end = self.line_end(start);
        let line = &self.text[start..line_end];
        let error = Diagnostic::error(KEY_WITHOUT_COLON, "expected `:` after this key")
            .at(self.span(start, line_end))
            .note("of the map that begins here", self.line_of(map));
        if start < self.line_start {
            return error.help("a key must be on one line");
        }
        if self.here() == b':' {
            return error.help("a key may have 1024 characters; write a longer one after `? `");
        }
        if line.starts_with('-') {
            return error.help("put a space after the `-` to make it an item of a list");
        }
        match line.find(':') {
            Some(colon) if !line.starts_with(['"', '\'']) => {
                let (key, value) = line.split_at(colon + 1);
                self.template(error, start).help(format!("put a space after the `:`, as in `{key} {value}`"))
            }
            _ => self
                .template(error, start)
                .help("write `key: value`, or indent the line to make it part of the value above"),
        }
    }

    pub(crate) fn value_without_key(&self, at: usize) -> Diagnostic {
        self.error("yaml-value-without-key", "expected a key in front of this `:`", at, at + 1)
            .help("write `key: value`; quote a text that begins with `: `")
    }

    /// A `:` where there is no place for a key.
    pub(crate) fn value_not_allowed(&self, colon: usize, start: usize) -> Diagnostic {
        let error = self.error("yaml-nested-value", "a map cannot begin here", colon, colon + 1);
        if start >= self.line_start {
            return self.template(error, colon).help(
                "put a value that contains `: ` in quotes, or begin the inner map on a line of its own",
            );
        }
        let line = self.bytes[self.line_start..].iter().take_while(|b| **b == b' ').count() + self.line_start;
        let start_line = self.bytes[..start].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        // A line in the same column that lacks but a space is what is wrong, not this one.
        if line - self.line_start == start - start_line
            && let Some(meant) = crate::missing_space::with_space(&self.text[start..self.line_end(start)])
        {
            return Diagnostic::error(KEY_WITHOUT_COLON, "expected a space after this key")
                .at(self.line_of(start))
                .help(format!("put a space after the `:`, as in `{meant}`"));
        }
        self.template(error, colon)
            .note("this line goes on from here", self.line_of(start))
            .note("because of its indentation", self.span(line, colon))
            .help("align it with the key above, or put the value above in quotes")
    }

    pub(crate) fn entry_not_allowed(&self, at: usize) -> Diagnostic {
        self.error("yaml-nested-list", "a list cannot begin here", at, at + 1)
            .help("begin the list on a line of its own, below its key; quote a text that begins with `- `")
    }

    pub(crate) fn key_not_allowed(&self, at: usize) -> Diagnostic {
        self.error("yaml-nested-key", "a map cannot begin here", at, at + 1)
            .help("begin the map on a line of its own; quote a text that begins with `? `")
    }

    pub(crate) fn duplicate_key(&self, first: &Node, second: &Node) -> Diagnostic {
        Diagnostic::error(
            "yaml-duplicate-key",
            format!("the key `{}` appears twice", second.text().unwrap_or_default()),
        )
        .at(second.span())
        .failing(Failure::DuplicateKey)
        .note("first here", first.span())
        .help("keep one of them")
    }

    /// After a document, where the next must begin.
    pub(crate) fn not_a_document(&self, at: usize) -> Diagnostic {
        let error = Diagnostic::error("yaml-document", "expected the end of the document")
            .at(self.span(at, self.line_end(at)));
        self.template(error, at).help("a further document begins with a line `---`")
    }
}

/// What other programs left in the text.
impl Parser<'_> {
    /// The conflict that a merge left in the text after an offset, which then explains whatever else is wrong.
    pub(super) fn in_conflict(&self, start: usize) -> Option<Diagnostic> {
        let mut at = start;
        let mut lines = self.text[start..].split_inclusive('\n').map(|line| {
            let begins = at;
            at += line.len();
            (begins, line)
        });
        let (marker, _) =
            lines.find(|(_, line)| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))?;
        let error = Diagnostic::error("yaml-conflict", "this is a conflict that git left")
            .at(self.line_of(marker))
            .failing(Failure::InConflict);
        let error = match lines.find(|(_, line)| line.starts_with(">>>>>>> ")) {
            Some((end, _)) => error.note("it ends here", self.line_of(end)),
            None => error,
        };
        Some(error.help("resolve it: keep what is right, and remove the lines that git added"))
    }
}

/// Scalars.
impl Parser<'_> {
    pub(crate) fn unclosed_quote(&self, start: usize) -> Diagnostic {
        let quote = self.at(start) as char;
        self.error("yaml-unclosed-quote", format!("this `{quote}` is never closed"), start, start + 1)
            .help(match quote {
                '\'' => "a `'` within single quotes is written `''`; a text that merely contains one needs no quotes",
                _ => "a `\"` within double quotes is written `\\\"`",
            })
    }

    pub(crate) fn unknown_escape(&self, start: usize) -> Diagnostic {
        let end = self.text[start + 1..].chars().next().map_or(start + 1, |c| start + 1 + c.len_utf8());
        self.error(
            "yaml-escape",
            format!("`{}` is not an escape sequence", &self.text[start..end]),
            start,
            end,
        )
        .help("write `\\\\` for a backslash, or use single quotes, where a backslash is just that")
    }

    pub(crate) fn bad_code(&self, start: usize, digits: usize) -> Diagnostic {
        let sign = self.at(start + 1) as char;
        let end = start + 2 + digits;
        if let Some(code) =
            self.text.get(start..end).filter(|code| code[2..].bytes().all(|b| b.is_ascii_hexdigit()))
        {
            let error = self.error("yaml-escape", format!("`{code}` is not a character"), start, end);
            return match u32::from_str_radix(&code[2..], 16) {
                Ok(0xd800..=0xdfff) => {
                    error.help("a character that JSON writes as a pair needs both: `\\ud83d\\ude00`")
                }
                _ => error.help("the last one is `\\U0010FFFF`"),
            };
        }
        self.error(
            "yaml-escape",
            format!("expected {digits} hexadecimal digits of a character after `\\{sign}`"),
            start,
            start + 2,
        )
        .help("write `\\\\` for a backslash, or use single quotes, where a backslash is just that")
    }

    pub(crate) fn text_after_block_header(&self, at: usize) -> Diagnostic {
        Diagnostic::error("yaml-block-header", "expected the end of the line after the sign of a block text")
            .at(self.span(at, self.line_end(at)))
            .help("begin the text on the next line; put a value that begins with `|` or `>` in quotes")
    }

    pub(crate) fn zero_indentation(&self, at: usize) -> Diagnostic {
        self.error("yaml-block-header", "the indentation of a block text is 1 to 9", at, at + 1)
            .help("leave the digit out if the text does not begin with spaces")
    }

    pub(crate) fn no_token(&self, at: usize) -> Diagnostic {
        let Some(c) = self.text[at..].chars().next() else {
            return self.error("yaml-value", "expected a value", at, at);
        };
        let error = self.error("yaml-value", format!("no value begins with `{c}`"), at, at + c.len_utf8());
        let error = match c {
            ']' | '}' => error.help("the bracket it closes is missing, or closed before"),
            ',' => error.help("a `,` separates items within `[]` and `{}` only"),
            '\t' => return self.tab_in_indentation(at),
            _ => error.help("put the value in quotes"),
        };
        self.template(error, at)
    }
}

/// Flow collections.
impl Parser<'_> {
    pub(crate) fn no_separator(&self, at: usize, start: usize) -> Diagnostic {
        if self.at_end() || (at == self.line_start && (self.at_marker() || self.here() == b'%')) {
            return self.unclosed_flow(start);
        }
        let close = self.closing(start);
        let error = Diagnostic::error("yaml-flow-separator", format!("expected `,` or `{close}`"))
            .at(self.span(at, self.line_end(at)))
            .note("of what begins here", self.span(start, start + 1));
        self.template(error, at)
            .help("separate items by `,`; a key within brackets must be on one line with its `:`")
    }

    pub(crate) fn unclosed_flow(&self, start: usize) -> Diagnostic {
        let open = self.at(start) as char;
        let error =
            self.error("yaml-unclosed-bracket", format!("this `{open}` is never closed"), start, start + 1);
        self.template(error, start).help(format!("close it with `{}`", self.closing(start)))
    }

    pub(crate) fn no_flow_node(&self, at: usize, start: usize) -> Diagnostic {
        let c = self.text[at..].chars().next().unwrap_or_default();
        let error = self
            .error("yaml-flow-value", format!("expected a value, not `{c}`"), at, at + c.len_utf8())
            .note("of what begins here", self.span(start, start + 1));
        match c {
            ',' => error.help("there is one `,` too many"),
            ':' => error.help("write the key in front of the `:`; put a text that begins with `:` in quotes"),
            _ => self.template(error, at).help("put the value in quotes"),
        }
    }

    pub(crate) fn entry_in_flow(&self, at: usize) -> Diagnostic {
        let error = self.error("yaml-flow-value", "a `- ` list cannot be within brackets", at, at + 1);
        self.template(error, at).help("write the inner list as `[a, b]`; quote a text that begins with `- `")
    }

    fn closing(&self, start: usize) -> char {
        if self.at(start) == b'{' { '}' } else { ']' }
    }
}

/// Anchors, aliases, tags and directives.
impl Parser<'_> {
    pub(crate) fn bad_anchor(&self, start: usize) -> Diagnostic {
        let (what, sign) = if self.at(start) == b'&' { ("an anchor", '&') } else { ("an alias", '*') };
        let end = start + 1 + self.bytes[start + 1..].iter().take_while(|b| b.is_ascii_graphic()).count();
        self.error(
            "yaml-anchor",
            format!("`{sign}` begins the name of {what}, of letters, digits, `-` and `_`"),
            start,
            end,
        )
        .help(format!("put a text that begins with `{sign}` in quotes"))
    }

    pub(crate) fn unknown_alias(&self, name: &str, span: Span) -> Diagnostic {
        Diagnostic::error("yaml-unknown-anchor", format!("no anchor `&{name}` comes before this alias"))
            .at(span)
            .help("an anchor counts within its own document only; put a text that begins with `*` in quotes")
    }

    pub(crate) fn alias_of_itself(&self, name: &str, span: Span, anchor: Span) -> Diagnostic {
        Diagnostic::error("yaml-recursive-alias", format!("the anchor `&{name}` contains itself"))
            .at(span)
            .note("the anchor is here", anchor)
    }

    pub(crate) fn too_many_aliases(&self, span: Span, anchor: Span) -> Diagnostic {
        Diagnostic::error("yaml-alias-expansion", "the aliases of this document expand to too much")
            .at(span)
            .note("what this one names", anchor)
            .help("aliases within anchors within aliases multiply; write out what is meant")
    }

    pub(crate) fn property_of_alias(&self, at: usize) -> Diagnostic {
        self.error("yaml-alias-properties", "an alias cannot have an anchor or a tag", at, at + 1)
            .help("use the anchor that the alias names")
    }

    pub(crate) fn second_property(&self, at: usize, what: &str) -> Diagnostic {
        self.error("yaml-second-property", format!("a second {what} for one value"), at, at + 1)
            .help("keep one of them")
    }

    pub(crate) fn bad_tag(&self, start: usize) -> Diagnostic {
        self.error("yaml-tag", "this is not a tag", start, self.pos.max(start + 1))
            .help("put a text that begins with `!` in quotes")
    }

    pub(crate) fn unknown_handle(&self, start: usize, handle: &str) -> Diagnostic {
        self.error("yaml-tag-handle", format!("`{handle}` is not declared"), start, start + handle.len())
            .help(format!("declare it with `%TAG {handle} PREFIX` in front of the document"))
    }

    pub(crate) fn tag_does_not_fit(&self, tag: &str, at: usize, node: &Node) -> Diagnostic {
        let text = node.text().unwrap_or_default();
        let shown = text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end]);
        self.error("yaml-tag-mismatch", format!("`{shown}` is not a `{tag}`"), at, at + tag.len())
            .help("remove the tag")
    }

    pub(crate) fn bad_version(&self, start: usize, end: usize) -> Diagnostic {
        self.error("yaml-version", "expected `%YAML 1.1`", start, end)
            .help("remove the line; most readers refuse any other version")
    }

    pub(crate) fn bad_directive(&self, start: usize, end: usize) -> Diagnostic {
        self.error("yaml-directive", "expected `%YAML 1.1` or `%TAG HANDLE PREFIX`, each once", start, end)
            .help("remove the line; put a text that begins with `%` in quotes")
    }
}

impl Parser<'_> {
    fn error(&self, code: &'static str, message: impl Into<String>, start: usize, end: usize) -> Diagnostic {
        Diagnostic::error(code, message).at(self.span(start, end.min(self.bytes.len()).max(start)))
    }

    /// The rest of the line at an offset.
    fn line_of(&self, at: usize) -> Span {
        self.span(at, self.line_end(at))
    }

    /// Adds advice if the line holds a template.
    fn template(&self, error: Diagnostic, at: usize) -> Diagnostic {
        let start = self.bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        if self.text[start..self.line_end(at)].contains("{{") {
            return error.help("`{{ }}` looks like a template: render it first, or put the value in quotes");
        }
        error
    }
}
