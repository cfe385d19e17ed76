//! What a file is part of: the result of its kustomization, and the roots that use it.

use std::path::Path;

use krm_yaml::Result;

use super::{Editor, FileSpan};
use crate::session::emit;

/// A file of a kustomization, and who builds it.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Where to show it: the beginning of the file.
    pub place: FileSpan,
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

    /// The other roots that a kustomization is part of; `None` if there are none.
    pub fn usage(&mut self, path: &Path) -> Option<Usage> {
        self.sync();
        let path = self.world.place(path);
        let own = self.layer_of(&path)?.folder.clone();
        let others = self.roots_using(&path).into_iter().filter(|folder| *folder != own);
        let roots: Vec<String> =
            others.filter_map(|folder| Some(self.workspace.layer(&folder)?.shown.clone())).collect();
        if roots.is_empty() {
            return None;
        }
        Some(Usage { place: self.start_of(&path)?, roots })
    }
}
