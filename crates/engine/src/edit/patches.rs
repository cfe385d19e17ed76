//! `add patch` and `remove patch`.

use krm_yaml::{Diagnostic, Node, Result, Span, Style, from_node};

use super::{File, bad_argument, fields};
use crate::transformers::{Patch, PatchSpec};

/// A patch and what it applies to. Empty texts say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchEntry {
    /// The file of the patch, relative to the kustomization. Either this or `patch` is given.
    pub path: String,
    /// The text of the patch.
    pub patch: String,
    /// The group of the target. This and all below are conditions on resources.
    pub group: String,
    /// The version of the target, without its group.
    pub version: String,
    /// The kind of the target.
    pub kind: String,
    /// The name of the target; a regular expression.
    pub name: String,
    /// The namespace of the target; a regular expression.
    pub namespace: String,
    /// Annotations the target has, written as a label selector.
    pub annotation_selector: String,
    /// Labels the target has, such as `app=web,tier!=cache`.
    pub label_selector: String,
}

impl PatchEntry {
    /// The same, known to have either a path or a text.
    pub fn with_patch(self) -> Result<Self> {
        match self.path.is_empty() && self.patch.is_empty() {
            false => Ok(self),
            true => Err(bad_argument("no patch is given")
                .help("name its file by `--path`, or give its text by `--patch`")),
        }
    }

    fn target(&self) -> [(&'static str, &str); 7] {
        [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("annotationSelector", &self.annotation_selector),
            ("labelSelector", &self.label_selector),
        ]
    }

    fn has_target(&self) -> bool {
        self.target().iter().any(|(_, value)| !value.is_empty())
    }

    /// Whether an entry of `patches:` is this one and says nothing else.
    fn is(&self, entry: &Node) -> bool {
        let target = fields::get(entry, "target");
        fields::get(entry, "options").is_none()
            && fields::text(entry, "path") == self.path
            && fields::text(entry, "patch") == self.patch
            && target.is_some() == self.has_target()
            && target.is_none_or(|target| {
                self.target().iter().all(|(field, value)| fields::text(target, field) == *value)
            })
    }

    fn node(&self) -> Node {
        let mut entry = Node::map();
        if !self.path.is_empty() {
            entry.set("path", self.path.as_str());
        }
        if !self.patch.is_empty() {
            let style = if self.patch.contains('\n') { Style::Literal } else { Style::Any };
            entry.set("patch", Node::from(self.patch.as_str()).with_style(style));
        }
        if self.has_target() {
            let written = self.target().into_iter().filter(|(_, value)| !value.is_empty());
            entry.set("target", written.collect::<Node>());
        }
        entry
    }
}

impl File {
    /// Adds a patch. A text that no build accepts is refused; the file of a patch may still be written.
    pub fn add_patch(&mut self, patch: &PatchEntry) -> Result<()> {
        if fields::items(self.root(), "patches").iter().any(|entry| patch.is(entry)) {
            self.note(format!("this patch is already in `{}`", self.shown()));
            return Ok(());
        }
        let node = patch.node();
        let spec: PatchSpec = from_node(&node)?;
        if let Err(error) = Patch::new(&spec, Span::NONE, &*self.folder) {
            let why = error.message();
            let advised = |doubt: Diagnostic| {
                error.advice().iter().fold(doubt, |doubt, advice| doubt.help(advice.as_str()))
            };
            if patch.path.is_empty() {
                return Err(advised(bad_argument(format!("the patch cannot be used: {why}"))));
            }
            let message = format!("`{}` is added, but cannot be built yet: {why}", patch.path);
            self.warnings.push(advised(Diagnostic::warning("edit-patch", message).at(error.place())));
        }
        fields::push(self.root_mut(), "patches", node);
        Ok(())
    }

    /// Removes the patches that are exactly this one.
    pub fn remove_patch(&mut self, patch: &PatchEntry) {
        if self.retain("patches", |entry| !patch.is(entry)) == 0 {
            self.note(format!("no patch in `{}` is exactly this one", self.shown()));
        }
    }
}
