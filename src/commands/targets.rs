//! Which folders are meant: those that are named, or everything there is to build below them.

use std::path::PathBuf;

use krm_engine::files::target_folder;
use krm_engine::workspace::{Layer, Workspace};
use krm_engine::{Result, Sources, World};

/// A tree of kustomizations, and the folders in it that are meant.
pub struct Targets {
    pub workspace: Workspace,
    /// As a build would be given them.
    pub names: Vec<String>,
    folders: Vec<PathBuf>,
}

impl Targets {
    /// A folder with a kustomization or a Composition is a target; any other stands for all targets below it, which are those
    /// that nothing includes. No folder at all means the current one.
    pub fn find(world: &dyn World, sources: &Sources, dirs: &[String]) -> Result<Self> {
        let current = [".".to_owned()];
        let dirs = if dirs.is_empty() { &current[..] } else { dirs };
        let mut all = Vec::new();
        let mut starts = Vec::new();
        for dir in dirs {
            let real = target_folder(world, dir)?;
            let is_target = Workspace::of(world, &Sources::new(), vec![real.clone()]).layer(&real).is_some();
            match is_target {
                true => all.push(real.clone()),
                false => all.extend(Workspace::folders_below(world, &real)?),
            }
            starts.push((dir, real, is_target));
        }
        let workspace = Workspace::of(world, sources, all);
        let (mut names, mut folders) = (Vec::new(), Vec::new());
        for (dir, real, is_target) in starts {
            let below = || workspace.roots().into_iter().filter(|layer| layer.folder.starts_with(&real));
            let found: Vec<(String, PathBuf)> = match is_target {
                true => vec![(dir.clone(), real)],
                false => below().map(|layer| (layer.shown.clone(), layer.folder.clone())).collect(),
            };
            for (name, folder) in found {
                if !folders.contains(&folder) {
                    names.push(name);
                    folders.push(folder);
                }
            }
        }
        Ok(Self { workspace, names, folders })
    }

    /// The layers of the targets.
    pub fn layers(&self) -> Vec<&Layer> {
        self.folders.iter().filter_map(|folder| self.workspace.layer(folder)).collect()
    }

    /// The layer of a target.
    pub fn layer(&self, at: usize) -> Option<&Layer> {
        self.workspace.layer(self.folders.get(at)?)
    }
}
