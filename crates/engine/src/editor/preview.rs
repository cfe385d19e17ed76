//! What a file is part of: the result of its kustomization, and the roots that use it.

use std::path::Path;

use krm_yaml::Result;

use super::{Editor, Place};
use crate::session::emit;

/// A file of a kustomization, and who builds it.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Where to show it: the beginning of the file.
    pub place: Place,
    /// The roots, in the order of their paths.
    pub roots: Vec<String>,
}

impl Editor {
    /// What the kustomization in the folder of a file builds to, from the texts that are open. Nothing is run or fetched.
    /// `None` if there is no kustomization around it.
    pub fn preview(&mut self, path: &Path) -> Option<Result<String>> {
        self.sync();
        let path = self.world.place(path);
        let mut folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(self.root()));
        let layer = folders.find_map(|folder| self.workspace.layer(folder))?;
        let built = self.session.build(std::slice::from_ref(&layer.shown)).into_result();
        Some(built.and_then(|built| Ok(emit(&built)?.concat())))
    }

    /// The roots that a kustomization is part of, itself apart; `None` if there are none.
    pub fn usage(&mut self, path: &Path) -> Option<Usage> {
        self.sync();
        let path = self.world.place(path);
        let layer = self.layer_of(&path)?;
        let source = layer.source.clone()?;
        let uses = |root: &&&crate::workspace::Layer| {
            root.folder != layer.folder
                && self.workspace.closure(root).iter().any(|part| part.folder == layer.folder)
        };
        let roots: Vec<String> =
            self.workspace.roots().iter().filter(uses).map(|root| root.shown.clone()).collect();
        let span = source.span(0, 0);
        (!roots.is_empty()).then(|| Usage { place: Place { path, source, span }, roots })
    }
}
