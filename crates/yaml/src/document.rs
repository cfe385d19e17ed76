//! One document of a stream: its tree, and the text it came from.

use std::sync::Arc;

use crate::node::{Node, Style, Tag};
use crate::source::{Source, Span};
use crate::text::Text;

/// A document: edit [`Document::root`], then ask for [`Document::text`].
#[derive(Clone, Debug)]
pub struct Document {
    /// The tree, to be edited.
    pub root: Node,
    /// The tree as it was read. Shares everything with `root` that no edit has touched.
    original: Node,
    source: Arc<Source>,
    span: Span,
    references: bool,
    comments: Option<Box<Comments>>,
}

/// Comments of a document that belong to no node.
#[derive(Clone, Debug)]
struct Comments {
    head: Text,
    /// The head as it was read.
    written_head: Text,
    foot: Text,
}

impl Document {
    /// `span` covers everything of the document in the source: directives, `---`, comments, content, `...`, up to where
    /// the next document begins. The spans of a stream's documents therefore cover the whole source.
    pub(crate) fn new(root: Node, source: Arc<Source>, span: Span) -> Self {
        Self { original: root.clone(), root, source, span, references: false, comments: None }
    }

    /// A document that has no text yet, and is written from scratch.
    ///
    /// ```
    /// use krm_yaml::{Document, Node, emit::preserve, parse_str};
    /// let mut docs = parse_str("a: 1\n")?;
    /// docs.push(Document::made(Node::from_iter([("b", 2)])));
    /// assert_eq!(preserve::stream(&docs), "a: 1\n---\nb: 2\n");
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn made(root: Node) -> Self {
        let source = Source::detached("", "");
        let span = source.span(0, 0);
        let nothing = Node::scalar("", Tag::Null, Style::Plain, span);
        Self { root, ..Self::new(nothing, source, span) }
    }

    pub(crate) fn with_references(mut self, references: bool) -> Self {
        self.references = references;
        self
    }

    pub(crate) fn with_comments(mut self, head: Text, foot: Text) -> Self {
        self.comments = Some(Box::new(Comments { written_head: head.clone(), head, foot }));
        self
    }

    /// The comments above the document: those an empty line separates from its first node.
    pub fn head(&self) -> &str {
        self.comments.as_ref().map_or("", |comments| &comments.head)
    }

    /// Puts other comments above the document, or none: lines that begin with `#`.
    ///
    /// ```
    /// let mut docs = krm_yaml::parse_str("# of 2025\n\na: 1\n")?;
    /// docs[0].set_head("# of 2026");
    /// assert_eq!(docs[0].text(), "# of 2026\n\na: 1\n");
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn set_head(&mut self, head: impl Into<Text>) {
        let none = || Box::new(Comments { head: Text::new(), written_head: Text::new(), foot: Text::new() });
        self.comments.get_or_insert_with(none).head = head.into();
    }

    /// The comments above the document as they were read.
    pub(crate) fn written_head(&self) -> &str {
        self.comments.as_ref().map_or("", |comments| &comments.written_head)
    }

    /// Whether nothing was edited.
    pub fn is_as_written(&self) -> bool {
        self.root.same(&self.original)
            && self.root.trivia() == self.original.trivia()
            && self.head() == self.written_head()
    }

    /// The comments below the document that belong to no node.
    pub fn foot(&self) -> &str {
        self.comments.as_ref().map_or("", |comments| &comments.foot)
    }

    /// Whether the document was written with anchors, aliases or merge keys.
    pub fn has_references(&self) -> bool {
        self.references
    }

    /// The tree as it was read, before any edit.
    pub fn original(&self) -> &Node {
        &self.original
    }

    /// The text it was read from.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The whole stretch of the source that belongs to this document.
    pub fn span(&self) -> Span {
        self.span
    }
}
