//! What is in front of a node: anchors and tags; also aliases, and directives.

use super::comment::After;
use super::cursor::{Anchored, Parser};
use crate::diag::Result;
use crate::node::{Node, Tag, Value};
use crate::text::Text;

/// What a `%TAG` directive declares.
pub(crate) struct Handle {
    pub handle: Text,
    pub prefix: Text,
}

/// The anchor and the tag of a node.
#[derive(Default)]
pub(crate) struct Properties {
    pub anchor: Option<Anchor>,
    pub tag: Option<WrittenTag>,
}

pub(crate) struct Anchor {
    name: Text,
    at: usize,
    /// What had come out of aliases before the anchored node.
    before: usize,
}

pub(crate) struct WrittenTag {
    written: Text,
    means: Option<Tag>,
    at: usize,
}

/// As much text may come out of aliases, were they written out; in large documents, a few times their own size.
/// go-yaml draws its line at 400,000 nodes.
const EXPANSION: usize = 16 << 20;

/// The prefix of the tags every YAML reader knows, `!!str` for short.
const CORE: &str = "tag:yaml.org,2002:";

impl Properties {
    pub(crate) fn is_empty(&self) -> bool {
        self.anchor.is_none() && self.tag.is_none()
    }
}

impl Parser<'_> {
    /// Whether an anchor or a tag begins here.
    #[inline]
    pub(crate) fn at_property(&self) -> bool {
        matches!(self.here(), b'&' | b'!')
    }

    /// Reads one anchor or tag into `properties`.
    pub(crate) fn property(&mut self, properties: &mut Properties) -> Result<()> {
        let start = self.pos;
        if self.here() == b'&' {
            let name = self.anchor_name()?;
            if properties.anchor.is_some() {
                return Err(self.second_property(start, "anchor"));
            }
            self.has_references = true;
            self.anchors
                .insert(name.clone(), Anchored { node: None, weight: 0, place: self.span(start, self.pos) });
            properties.anchor = Some(Anchor { name, at: start, before: self.expanded });
        } else {
            let tag = self.tag()?;
            if properties.tag.is_some() {
                return Err(self.second_property(start, "tag"));
            }
            properties.tag = Some(tag);
        }
        self.key_allowed = false;
        Ok(())
    }

    /// Joins the properties of two lines, where they turn out to be of one node.
    pub(crate) fn join(&self, mut a: Properties, b: Properties) -> Result<Properties> {
        if let Some(anchor) = b.anchor.as_ref().filter(|_| a.anchor.is_some()) {
            return Err(self.second_property(anchor.at, "anchor"));
        }
        if let Some(tag) = b.tag.as_ref().filter(|_| a.tag.is_some()) {
            return Err(self.second_property(tag.at, "tag"));
        }
        a.anchor = a.anchor.or(b.anchor);
        a.tag = a.tag.or(b.tag);
        Ok(a)
    }

    /// Gives the node on top its anchor and tag.
    #[cold]
    pub(crate) fn apply(&mut self, properties: Properties) -> Result<()> {
        let mut node = self.nodes.pop().expect("a node was read after its properties");
        if let Some(tag) = properties.tag {
            self.apply_tag(tag, &mut node)?;
        }
        if let Some(Anchor { name, before, .. }) = properties.anchor {
            node.trivia_mut().anchor = Some(name.clone());
            let weight = 1 + node.span().len() + (self.expanded - before);
            let mut copy = node.clone();
            copy.clear_trivia();
            if node.tag() == Tag::Other {
                copy.trivia_mut().tag = node.trivia().tag.clone();
            }
            let place = self.anchors.get(&name).map_or(node.span(), |a| a.place);
            self.anchors.insert(name, Anchored { node: Some(copy), weight, place });
        }
        self.nodes.push(node);
        Ok(())
    }

    fn apply_tag(&mut self, tag: WrittenTag, node: &mut Node) -> Result<()> {
        if tag.written != "!" {
            let fits = match (tag.means, node.value()) {
                (None, _) => true,
                (Some(means), Value::Scalar(text)) => fits(text, means),
                (Some(Tag::Seq), Value::Seq(_)) | (Some(Tag::Map), Value::Map(_)) => true,
                // quirk(tag-of-a-collection-is-ignored): A list or map stays one, whatever type of YAML its tag names,
                // such as `!!str`; a scalar whose tag does not match is refused. (go-yaml `decoder.sequence`,
                // `decoder.mapping`)
                (Some(_), Value::Seq(_)) => return self.keep_tag(tag, node, Tag::Seq),
                (Some(_), Value::Map(_)) => return self.keep_tag(tag, node, Tag::Map),
            };
            if !fits {
                return Err(self.tag_does_not_fit(&tag.written, tag.at, node));
            }
            let means = tag.means.unwrap_or(Tag::Other);
            return self.keep_tag(tag, node, means);
        }
        let means = node.tag();
        self.keep_tag(tag, node, means)
    }

    fn keep_tag(&mut self, tag: WrittenTag, node: &mut Node, means: Tag) -> Result<()> {
        node.set_tag(means);
        node.trivia_mut().tag = Some(tag.written);
        Ok(())
    }

    /// Reads the alias that begins here: a copy of what its anchor names.
    #[cold]
    pub(crate) fn alias(&mut self) -> Result<()> {
        let start = self.pos;
        let name = self.anchor_name()?;
        let span = self.span(start, self.pos);
        self.has_references = true;
        self.key_allowed = false;
        let Some(anchored) = self.anchors.get(&name) else { return Err(self.unknown_alias(&name, span)) };
        let Some(node) = &anchored.node else {
            return Err(self.alias_of_itself(&name, span, anchored.place));
        };
        self.expanded = self.expanded.saturating_add(anchored.weight);
        if self.expanded > EXPANSION.max(4 * self.bytes.len()) {
            return Err(self.too_many_aliases(span, anchored.place));
        }
        let mut node = node.clone().with_span(span);
        node.trivia_mut().alias = Some(name);
        self.nodes.push(node);
        Ok(())
    }

    /// Reads the name after `&` or `*`.
    fn anchor_name(&mut self) -> Result<Text> {
        let start = self.pos;
        self.pos += 1;
        while is_word(self.here()) {
            self.pos += 1;
        }
        let ends = self.is_blank_or_end(self.pos)
            || matches!(self.here(), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if self.pos == start + 1 || !ends {
            return Err(self.bad_anchor(start));
        }
        Ok(self.text[start + 1..self.pos].into())
    }

    fn tag(&mut self) -> Result<WrittenTag> {
        let start = self.pos;
        self.pos += 1;
        let full: String = if self.here() == b'<' {
            self.pos += 1;
            let uri = self.uri(start)?;
            if self.here() != b'>' {
                return Err(self.bad_tag(start));
            }
            self.pos += 1;
            uri
        } else {
            while is_word(self.here()) {
                self.pos += 1;
            }
            if self.here() == b'!' {
                self.pos += 1;
                let handle = &self.text[start..self.pos];
                let uri = self.uri(start)?;
                match self.handles.iter().find(|h| h.handle == handle) {
                    Some(h) => format!("{}{uri}", h.prefix),
                    None if handle == "!!" => format!("{CORE}{uri}"),
                    None => return Err(self.unknown_handle(start, handle)),
                }
            } else {
                self.pos = start + 1;
                let prefix =
                    self.handles.iter().find(|h| h.handle == "!").map_or("!", |h| &h.prefix).to_owned();
                let suffix = if self.is_blank_or_end(self.pos) { String::new() } else { self.uri(start)? };
                if suffix.is_empty() { "!".to_owned() } else { format!("{prefix}{suffix}") }
            }
        };
        if !self.is_blank_or_end(self.pos) {
            return Err(self.bad_tag(start));
        }
        let means = match full.strip_prefix(CORE) {
            Some("null") => Some(Tag::Null),
            Some("bool") => Some(Tag::Bool),
            Some("int") => Some(Tag::Int),
            Some("float") => Some(Tag::Float),
            Some("str") => Some(Tag::Str),
            Some("timestamp") => Some(Tag::Timestamp),
            Some("binary") => Some(Tag::Binary),
            Some("merge") => Some(Tag::Merge),
            Some("seq") => Some(Tag::Seq),
            Some("map") => Some(Tag::Map),
            _ => None,
        };
        // A tag that leans on a directive is kept in words that mean the same without it.
        let written = if self.handles.is_empty() {
            self.text[start..self.pos].into()
        } else {
            independent(&full).into()
        };
        Ok(WrittenTag { written, means, at: start })
    }

    /// Reads the characters a tag may have, `%41` standing for `A`.
    fn uri(&mut self, start: usize) -> Result<String> {
        let from = self.pos;
        let mut bytes = Vec::new();
        loop {
            let byte = self.here();
            if byte == b'%' {
                let hex =
                    self.text.get(self.pos + 1..self.pos + 3).and_then(|h| u8::from_str_radix(h, 16).ok());
                let Some(byte) = hex else { return Err(self.bad_tag(start)) };
                bytes.push(byte);
                self.pos += 3;
            } else if is_uri(byte) {
                bytes.push(byte);
                self.pos += 1;
            } else {
                break;
            }
        }
        if self.pos == from {
            return Err(self.bad_tag(start));
        }
        String::from_utf8(bytes).map_err(|_| self.bad_tag(start))
    }

    /// Reads the directives in front of a document, to the token after them.
    pub(crate) fn directives(&mut self) -> Result<()> {
        let mut version = false;
        while self.here() == b'%' && self.pos == self.line_start {
            let start = self.pos;
            let line_end = self.line_end(start);
            let line = &self.text[start + 1..line_end];
            let line = line.find(" #").or_else(|| line.find("\t#")).map_or(line, |at| &line[..at]);
            let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
            match words.next() {
                Some("YAML") if !version => {
                    version = true;
                    // A comment may follow the number directly.
                    let number = words.next().unwrap_or_default().split('#').next();
                    if number != Some("1.1") || words.next().is_some() {
                        return Err(self.bad_version(start, line_end));
                    }
                }
                Some("TAG") => match (words.next(), words.next(), words.next()) {
                    (Some(handle), Some(prefix), None)
                        if is_handle(handle) && prefix.bytes().all(|b| b == b'%' || is_uri(b)) =>
                    {
                        self.declare(start, handle, prefix)?
                    }
                    _ => return Err(self.bad_directive(start, line_end)),
                },
                _ => return Err(self.bad_directive(start, line_end)),
            }
            self.pos = line_end;
            self.key_allowed = false;
            self.skip(After::lead(start))?;
        }
        Ok(())
    }

    fn declare(&mut self, start: usize, handle: &str, prefix: &str) -> Result<()> {
        if self.handles.iter().any(|h| h.handle == handle) {
            return Err(self.bad_directive(start, self.line_end(start)));
        }
        self.handles.push(Handle { handle: handle.into(), prefix: prefix.into() });
        Ok(())
    }
}

/// Whether a scalar can be what its tag says.
fn fits(text: &str, tag: Tag) -> bool {
    match tag {
        Tag::Null | Tag::Bool | Tag::Int | Tag::Timestamp => crate::scalar::resolve::plain(text) == tag,
        Tag::Float => matches!(crate::scalar::resolve::plain(text), Tag::Float | Tag::Int),
        Tag::Binary => crate::scalar::binary::decode(text).is_some(),
        _ => true,
    }
}

/// A tag in full, written so that it needs no directive.
fn independent(full: &str) -> String {
    let escaped = |text: &str| {
        let mut out = String::new();
        for byte in text.bytes() {
            if is_word(byte) || b";/?:@&=+$,.~*'()[]".contains(&byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        out
    };
    match (full.strip_prefix(CORE), full.strip_prefix('!')) {
        (Some(name), _) => format!("!!{}", escaped(name)),
        (_, Some(name)) => format!("!{}", escaped(name)),
        _ => format!("!<{}>", escaped(full)),
    }
}

fn is_handle(text: &str) -> bool {
    let inner = text.strip_prefix('!');
    inner.is_some_and(|inner| {
        inner.is_empty() || inner.strip_suffix('!').is_some_and(|i| i.bytes().all(is_word))
    })
}

/// The characters of tags.
fn is_uri(byte: u8) -> bool {
    is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte)
}

/// The characters of the names of anchors.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
