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
#[non_exhaustive]
pub struct Page {
    /// What was built.
    pub target: String,
    /// What to call it: the folder one is in has a name.
    pub title: String,
    /// Each text once: lines of resources and files, values, names.
    pub texts: Vec<String>,
    /// Those that something on the page points at.
    pub files: Vec<FileLines>,
    /// [`PlaceId`]s are indexes into these.
    pub places: Vec<Place>,
    /// [`EventId`]s are indexes into these.
    pub events: Vec<Event>,
    /// In the order in which their first steps ran.
    pub layers: Vec<Layer>,
    /// In the order in which they ran.
    pub steps: Vec<PageStep>,
    /// Every resource that was ever there; those of the result first, in its order.
    pub resources: Vec<Resource>,
    /// In the order in which they were given.
    pub warnings: Vec<Warning>,
    /// Why the build stopped: everything else is what was there until then.
    pub failure: Option<String>,
    /// What to show first; `None` shows the page from its top.
    pub start: Option<Start>,
}

impl Page {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        (target, title): (String, String),
        layers: Vec<Layer>,
        steps: Vec<PageStep>,
        resources: Vec<Resource>,
        warnings: Vec<Warning>,
        failure: Option<String>,
        start: Option<Start>,
        tables: Tables,
    ) -> Self {
        let (texts, files, places, events) = tables.finish();
        Self {
            target,
            title,
            texts,
            files,
            places,
            events,
            layers,
            steps,
            resources,
            warnings,
            failure,
            start,
        }
    }

    /// The text of an id. It panics for one of another page.
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
#[non_exhaustive]
pub struct FileLines {
    /// The path, as messages show it.
    pub name: String,
    /// Number, from 1, and text; in order.
    pub lines: Vec<(u32, TextId)>,
}

/// A range of a file, lines and columns counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which of [`Page::files`].
    pub file: u32,
    /// The first line.
    pub line: u32,
    /// The first column, in characters.
    pub column: u32,
    /// The last line.
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
}

/// A kustomization, a component or a Composition that took part; one that is used twice is there twice.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Layer {
    /// Its folder, as steps name it; `finish` or `files` for what has none.
    pub name: String,
    /// What it is.
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

/// What makes something a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LayerKind {
    /// A folder with a kustomization.
    Kustomization,
    /// A folder with a component.
    Component,
    /// A folder with a Composition.
    Composition,
    /// A folder of resources that functions work on.
    Package,
    /// What comes at the end of every build.
    Finish,
}

/// A step. Which resources it changed is known by their versions.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PageStep {
    /// `overlays/production#images[0]`.
    pub id: String,
    /// Which of [`Page::layers`] asked for it.
    pub layer: u32,
    /// `images[0]`.
    pub label: String,
    /// What the entry says, in a few words.
    pub detail: String,
    /// The entry or field that asked for it; `None` for what comes at the end of every build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceId>,
    /// What it is for: `load`, `generate`, `transform` and so on.
    pub role: &'static str,
    /// Which run it belongs to: a base has one of its own, and its resources are not yet those of the layers above.
    pub run: u32,
    /// The first step of this run or of one below it.
    pub since: u32,
}

/// A resource, from where it came to where it went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resource {
    /// Its `apiVersion`, group included.
    pub api_version: TextId,
    /// Its `kind`.
    pub kind: TextId,
    /// Where it is written; `None` if it is not written in a file.
    pub origin: Option<PlaceId>,
    /// Oldest first.
    pub versions: Vec<Version>,
    /// The step that took it away.
    pub gone: Option<u32>,
    /// What happened to it as a whole.
    pub whole: Vec<EventId>,
    /// Lines have indexes into these.
    pub fields: Vec<Field>,
}

/// A resource after a step that changed it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Version {
    /// Which of [`Page::steps`] left it so.
    pub step: u32,
    /// Its namespace; an empty text for none.
    pub namespace: TextId,
    /// Its name.
    pub name: TextId,
    /// From the version before; all of the first.
    pub hunks: Vec<Hunk>,
}

/// Lines that are replaced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hunk {
    /// The first line of the version before, from 0.
    pub at: u32,
    /// How many lines go.
    pub removed: u32,
    /// The lines that take their place.
    pub added: Vec<Line>,
}

/// A line of a resource as YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Without its line break.
    pub text: TextId,
    /// Which of the fields of the resource it shows.
    pub field: u32,
}

/// A field of a resource, whatever its path was at a step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Field {
    /// As it last was, elements of lists by their keys.
    pub path: TextId,
    /// What happened to it.
    pub events: FieldEvents,
    /// It has no parts.
    pub is_leaf: bool,
}

/// What happened to a field, in as few words as possible.
#[derive(Clone, Debug)]
pub enum FieldEvents {
    /// It was written with its resource, and nothing happened since.
    Written(PlaceId),
    /// Oldest first.
    Several(Vec<EventId>),
}

/// Something that happened to a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Event {
    /// `written`, `set`, `followed` and so on.
    pub kind: &'static str,
    /// Which of [`Page::steps`] it happened in.
    pub step: u32,
    /// What to call it: `images[0].newTag`.
    pub label: TextId,
    /// Where the new value is written, or what asked for it; `None` if neither is in a file.
    pub place: Option<PlaceId>,
    /// The value before; `None` if there was none, or if it is not shown.
    pub before: Option<TextId>,
    /// The value since; `None` if there is none, or if it is not shown.
    pub after: Option<TextId>,
    /// Its place decides the value of the result.
    pub decides: bool,
    /// The values are not shown; they differ.
    pub masked: bool,
    /// Its causes.
    pub why: Vec<Why>,
}

/// A cause of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Why {
    /// In words.
    pub text: TextId,
    /// Where it is written; `None` if it is not written anywhere.
    pub place: Option<PlaceId>,
    /// The history of what it was taken from, if it was taken from somewhere.
    pub events: Vec<EventId>,
}

/// Something the build wonders about.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub advice: Vec<String>,
    /// Where it is; `None` if it is not about a line of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceId>,
    /// The step it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

/// What to show first.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Start {
    /// Which of [`Page::resources`].
    pub resource: u32,
    /// Which of its fields; `None` shows it as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<u32>,
}
