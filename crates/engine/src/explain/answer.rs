//! What there is to say about a field, as data: its history, and why each thing happened.

use krm_yaml::{Node, Span, Text};

use super::misses::Miss;
use super::sites::{Part, Site};
use crate::pipeline::trace::{EventKind, Inflation, Input, Segment};
use crate::pipeline::{StepField, Trace};
use crate::resource::Gvk;

/// Everything there is to say about a field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// Group, version and kind of its resource.
    pub gvk: Gvk,
    /// The namespace of its resource, as last seen; empty for none.
    pub namespace: Text,
    /// The name of its resource, as last seen.
    pub name: Text,
    /// Every name it had, oldest first.
    pub names: Vec<Text>,
    /// Where the resource is written.
    pub origin: Span,
    /// The field, with merge keys for indexes; empty for the resource as a whole.
    pub field: String,
    /// The same as a JSON pointer, with indexes.
    pub pointer: String,
    /// Whether it is in the result, and if not, why.
    pub state: State,
    /// The value, as it is or last was, without what is [hidden](super::Hidden).
    pub value: Option<Node>,
    /// What happened to it, oldest first.
    pub history: Vec<HistoryEntry>,
    /// Of elements of lists on the way: how they moved.
    pub elements: Vec<Moves>,
    /// Its value, or a part of it, is not shown.
    pub masked: bool,
    /// All places it depends on, if they were asked for: see [`Sites`](super::Sites).
    pub sites: Vec<(Part, Site)>,
    /// Of a map or a list: where its parts are written, if that was asked for.
    pub parts: Vec<Site>,
    /// The steps that left it alone, if they were asked for.
    pub left_alone: Vec<(String, Span)>,
    /// Entries that would have changed it, and what they miss.
    pub misses: Vec<Miss>,
}

/// Whether there is anything to be seen in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It is in the result.
    Present,
    /// The field was removed.
    Removed,
    /// The whole resource was.
    Deleted,
    /// The resource is left out, since it is only there for tools.
    Dropped,
}

impl State {
    /// The word for it in JSON and in text, such as `present`.
    pub fn name(self) -> &'static str {
        match self {
            State::Present => "present",
            State::Removed => "removed",
            State::Deleted => "deleted",
            State::Dropped => "dropped",
        }
    }
}

/// Which step of which trace something happened in. Good for comparing with other moments of the same run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Moment {
    /// The address of the trace: a base that two layers load has one trace.
    trace: usize,
    pub(crate) index: usize,
}

impl Moment {
    pub(crate) fn new(trace: &Trace, index: usize) -> Self {
        Self { trace: std::ptr::from_ref(trace) as usize, index }
    }

    pub(crate) fn is_in(self, trace: &Trace) -> bool {
        self.trace == std::ptr::from_ref(trace) as usize
    }
}

/// One thing that happened to the field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// What kind of thing happened.
    pub event: EventKind,
    pub(crate) moment: Moment,
    /// What was there, without what is [hidden](super::Hidden).
    pub before: Option<Node>,
    /// What is there since; `None` if it was removed.
    pub after: Option<Node>,
    /// Something of the two is not shown.
    pub masked: bool,
    /// The two differ; also if that cannot be seen because they are not shown.
    pub changed: bool,
    /// The fields within a map or a list that differ, though they are shown as the same.
    pub(crate) hidden_changes: Vec<Vec<Segment>>,
    /// Where the new value is written, or else the entry that asked for the change.
    pub place: Span,
    /// The file, or the line of it, that a generator read the value from; `place` is the entry that names the file.
    pub read_from: Option<Site>,
    /// What to call it: `written`, `images[0].newTag`, `patches[0]`.
    pub label: String,
    /// The folder of the kustomization; empty of what comes at the end of every build.
    pub layer: String,
    /// The step; `None` of what a file brought.
    pub step: Option<ChangingStep>,
    /// Why, as far as it is known: what was followed, copied, matched or run.
    pub because: Vec<Because>,
    /// What nobody can look into.
    pub opaque: Option<Opaque>,
    /// This place decides the value of the result.
    pub decides: bool,
    /// What it wrote is used by nothing: the entry of the history, from 0, that overwrites or removes it.
    pub never_seen: Option<usize>,
}

/// A step that changed the field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangingStep {
    /// Its name in full: `overlays/production#images[0]`.
    pub id: String,
    /// What asks for it.
    pub field: StepField,
    /// The index of the entry, from 0; `None` if the field has no entries.
    pub entry: Option<u32>,
    /// What the step is for: `load`, `generate`, `transform` and so on.
    pub role: &'static str,
    /// The entry or field that asked for it.
    pub place: Span,
}

/// Why a value became what it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Because {
    /// A rule says that the field names a resource, and that was renamed.
    Followed {
        /// The kind of resource that the rule says is named.
        kind: Gvk,
        /// The kind of the resource that the field is in.
        by: Text,
        /// The field of the rule, with slashes: `spec/template/spec/volumes/configMap/name`.
        field: Text,
        /// Where the rule is written; `NONE` for one that is built in.
        rule: Span,
        /// The resource that is meant, as it was called before: `ConfigMap settings`.
        target: String,
        /// How it came to its new name, oldest first; empty if causes are not followed that far.
        renames: Vec<HistoryEntry>,
        /// The field holds the namespace of the resource that is meant, and `renames` says where that comes from.
        is_namespace: bool,
    },
    /// It was copied from a field with this history.
    Copied {
        /// The kind and the first name of the resource it was copied from; empty if that is not known.
        resource: String,
        /// The field it was copied from.
        field: Text,
        /// Of that field, oldest first; empty if causes are not followed that far.
        history: Vec<HistoryEntry>,
    },
    /// The content that was hashed.
    Hash {
        /// What generators put into the resource and is still there.
        inputs: Vec<Input>,
    },
    /// The same entry sets another part of the value here.
    Also {
        /// What to call it: `images[0].newName`.
        label: String,
        /// Where it is written.
        place: Span,
    },
    /// It came to its field through a merge key or an alias.
    Through {
        /// `merge key`, `alias` or `anchor`.
        what: &'static str,
        /// Where that is written.
        place: Span,
    },
    /// A condition: what was asked for.
    Condition {
        /// What it is called: `images[0].name`.
        what: Option<String>,
        /// Where it is written.
        text: Span,
    },
    /// One thing that an entry asks for, and what met it in the resource.
    Met {
        /// What it is called: `patches[0].target.kind`.
        what: String,
        /// Where it is written.
        text: Span,
        /// Where the resource says it; `NONE` if that is not known.
        met: Span,
    },
    /// Helm made it.
    Chart {
        /// The chart, and what went into it.
        chart: Box<Inflation>,
    },
    /// A function returned it.
    Program {
        /// The image or the path.
        program: Text,
        /// `sha256:` and the digest of an executable or a module; `None` for an image.
        digest: Option<Text>,
        /// Where its configuration says the same as the new value: probably that is where it comes from.
        guess: Option<Span>,
    },
}

/// Why there is nothing to say about a part of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opaque {
    /// It came out of a helm chart.
    Chart,
    /// A function returned it.
    Function,
    /// A built-in adds it by itself.
    Default,
}

impl Opaque {
    /// The word for it in JSON, such as `chart`.
    pub fn name(self) -> &'static str {
        match self {
            Opaque::Chart => "chart",
            Opaque::Function => "function",
            Opaque::Default => "default",
        }
    }
}

/// How an element of a list moved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Moves {
    /// The list.
    pub path: String,
    /// What the element is known by, such as `name` and `web`; `None` if its list has no key.
    pub key: Option<(Text, Text)>,
    /// Where its key is written.
    pub place: Span,
    /// Where it was first.
    pub first: usize,
    /// In the order in which they happened; never empty.
    pub moves: Vec<Move>,
}

/// One change of its position.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Move {
    /// The index before, from 0.
    pub from: usize,
    /// The index after, from 0.
    pub to: usize,
    /// The step it moved in, by its full name: `overlays/production#patches[0]`.
    pub step: String,
    /// What made it move.
    pub place: Span,
    /// How, in words.
    pub why: String,
}
