//! The data of a page.

use serde::Serialize;

use super::compact;
use super::tables::Tables;

/// Which of [`Page::texts`].
pub type TextId = u32;
/// Which of [`Page::places`].
pub type PlaceId = u32;
/// Which of [`Page::events`].
pub type EventId = u32;

/// Everything that is shown.
#[derive(Clone, Debug)]
pub struct Page {
    /// What was built.
    pub target: String,
    /// Each text once: lines of resources and files, values, names.
    pub texts: Vec<String>,
    pub files: Vec<FileLines>,
    pub places: Vec<Place>,
    pub events: Vec<Event>,
    pub layers: Vec<Layer>,
    /// In the order in which they ran.
    pub steps: Vec<PageStep>,
    /// Every resource that was ever there; those of the result first, in its order.
    pub resources: Vec<Resource>,
    pub warnings: Vec<Warning>,
    /// Why the build stopped: everything else is what was there until then.
    pub failure: Option<String>,
    pub start: Option<Start>,
}

impl Page {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        target: String,
        layers: Vec<Layer>,
        steps: Vec<PageStep>,
        resources: Vec<Resource>,
        warnings: Vec<Warning>,
        failure: Option<String>,
        start: Option<Start>,
        tables: Tables,
    ) -> Self {
        let (texts, files, places, events) = tables.finish();
        Self { target, texts, files, places, events, layers, steps, resources, warnings, failure, start }
    }

    pub fn text(&self, id: TextId) -> &str {
        &self.texts[id as usize]
    }

    /// `file:line`.
    pub fn place(&self, id: PlaceId) -> String {
        let place = &self.places[id as usize];
        format!("{}:{}", self.files[place.file as usize].name, place.line)
    }

    /// As JSON, the way the script of a page reads it. This is not a format for others: it changes with the page.
    pub fn json(&self) -> String {
        compact::json(self)
    }
}

/// The lines of a file that places point at, and their neighbours.
#[derive(Clone, Debug)]
pub struct FileLines {
    pub name: String,
    /// Number, from 1, and text; in order.
    pub lines: Vec<(u32, TextId)>,
}

/// A range of a file, lines and columns counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: u32,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

/// A kustomization, a component or a Composition that took part; one that is used twice is there twice.
#[derive(Clone, Debug, Serialize)]
pub struct Layer {
    pub name: String,
    pub kind: LayerKind,
    /// How many layers it is below the target.
    pub depth: u32,
    /// It was there before, from another user.
    pub again: bool,
}

impl Layer {
    /// Whether nobody asked for it: see [`LayerKind::Finish`].
    pub fn is_finish(&self) -> bool {
        self.kind == LayerKind::Finish
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    Kustomization,
    Component,
    Composition,
    /// A folder of resources that functions work on.
    Package,
    /// What comes at the end of every build.
    Finish,
}

/// A step. Which resources it changed is known by their versions.
#[derive(Clone, Debug, Serialize)]
pub struct PageStep {
    /// `overlays/production#images[0]`.
    pub id: String,
    pub layer: u32,
    /// `images[0]`.
    pub label: String,
    /// What the entry says, in a few words.
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceId>,
    pub role: &'static str,
    /// Which run it belongs to: a base has one of its own, and its resources are not yet those of the layers above.
    pub run: u32,
    /// The first step of this run or of one below it.
    pub since: u32,
}

/// A resource, from where it came to where it went.
#[derive(Clone, Debug)]
pub struct Resource {
    pub api_version: TextId,
    pub kind: TextId,
    pub origin: Option<PlaceId>,
    pub versions: Vec<Version>,
    /// The step that took it away.
    pub gone: Option<u32>,
    /// What happened to it as a whole.
    pub whole: Vec<EventId>,
    pub fields: Vec<Field>,
}

/// A resource after a step that changed it.
#[derive(Clone, Debug)]
pub struct Version {
    pub step: u32,
    pub namespace: TextId,
    pub name: TextId,
    /// From the version before; all of the first.
    pub hunks: Vec<Hunk>,
}

/// Lines that are replaced.
#[derive(Clone, Debug)]
pub struct Hunk {
    /// The first line of the version before, from 0.
    pub at: u32,
    pub removed: u32,
    pub added: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub text: TextId,
    /// Which of the fields of the resource it shows.
    pub field: u32,
}

/// A field of a resource, whatever its path was at a step.
#[derive(Clone, Debug)]
pub struct Field {
    /// As it last was, elements of lists by their keys.
    pub path: TextId,
    pub events: FieldEvents,
    /// It has no parts.
    pub is_leaf: bool,
}

#[derive(Clone, Debug)]
pub enum FieldEvents {
    /// It was written with its resource, and nothing happened since.
    Written(PlaceId),
    Several(Vec<EventId>),
}

/// Something that happened to a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// `written`, `set`, `followed` and so on.
    pub kind: &'static str,
    pub step: u32,
    /// What to call it: `images[0].newTag`.
    pub label: TextId,
    pub place: Option<PlaceId>,
    pub before: Option<TextId>,
    pub after: Option<TextId>,
    /// Its place decides the value of the result.
    pub decides: bool,
    /// The values are not shown; they differ.
    pub masked: bool,
    pub why: Vec<Why>,
}

/// A cause of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Why {
    pub text: TextId,
    pub place: Option<PlaceId>,
    pub events: Vec<EventId>,
}

/// Something the build wonders about.
#[derive(Clone, Debug, Serialize)]
pub struct Warning {
    pub message: String,
    pub advice: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceId>,
    /// The step it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

/// What to show first.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Start {
    pub resource: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<u32>,
}
