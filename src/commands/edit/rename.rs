//! `krm edit rename`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use krm_engine::edit::overlay::{self, Overlay};
use krm_engine::edit::rename::{self, Rename};
use krm_engine::{Diagnostic, Result, World, edit};

use super::{EditScope, moves};
use crate::cli::examples;
use crate::os::{self, Disk};
use crate::report::{Report, counted, names};

/// Rename a resource; references, patches, selectors and replacements follow
///
/// Everything that includes it is built before and after, and nothing is written if more than the name would change.
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_RENAME)]
pub struct RenameArgs {
    /// The resource, as `Kind/name`, such as `Deployment/web`
    #[arg(value_name = "KIND/NAME")]
    resource: String,

    /// Its new name
    #[arg(value_name = "NEW-NAME")]
    name: String,

    /// The folder whose kustomizations are looked at, if not the repository
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl RenameArgs {
    pub fn run(&self, scope: &EditScope, report: &Report) -> Result<()> {
        let Some((kind, name)) = self.resource.split_once('/') else {
            return Err(Diagnostic::error(
                "rename-resource",
                format!("`{}` does not name a resource", self.resource),
            )
            .help("write it as `Kind/name`, such as `Deployment/web`"));
        };
        let rename = Rename { kind: kind.into(), name: name.into(), new: self.name.clone() };
        let here = os::absolute(std::path::Path::new("."))?;
        let root = match &self.root {
            Some(root) => os::absolute(root)?,
            None => moves::repository(&here)?,
        };
        let mut changes = scope.changes(&[root.to_string_lossy().into_owned()])?;
        let disk: Arc<dyn World> = Arc::new(Disk::around(&[root.to_string_lossy().into_owned()]));
        let plan = rename::plan(&*disk, &report.sources, &root, &rename)?;
        let new: BTreeMap<PathBuf, Option<Vec<u8>>> = plan
            .edits
            .iter()
            .map(|(path, _, text)| (path.clone(), Some(text.clone().into_bytes())))
            .collect();
        let world: Arc<dyn World> = Arc::new(Overlay::new(disk.clone(), new));
        for folder in &plan.roots {
            let dir = folder.to_string_lossy().into_owned();
            let shown = krm_engine::files::relative(folder, &here);
            let before = match overlay::build(disk.clone(), &dir) {
                Ok(before) => before,
                Err(error) => {
                    eprintln!(
                        "`{shown}` cannot be built here, so its output is not compared: {}",
                        error.message()
                    );
                    continue;
                }
            };
            let after = overlay::build(world.clone(), &dir)?;
            rename::equal_but_for_the_name(&before, &after, &rename).map_err(|what| {
                let message = format!("more than the name would change in the output of `{shown}`: {what}");
                Diagnostic::error("rename-changes-output", message)
                    .help("a function or a custom resource may use the name; rename it there by hand first")
            })?;
        }
        for (path, source, text) in &plan.edits {
            if scope.diff {
                os::print(
                    edit::diff(&krm_engine::files::relative(path, &here), source.text(), text).as_bytes(),
                )?;
            }
            if let Some(changes) = &mut changes {
                changes.edit(path, source.text(), text.as_bytes())?;
            }
        }
        changes.map_or(Ok(()), os::Changes::commit)?;
        scope.say(&format!(
            "{} {kind} `{name}` to `{}` in {}: {}",
            scope.verb("renamed", "would rename"),
            self.name,
            counted(plan.edits.len(), "file"),
            names(plan.edits.iter().map(|(path, _, _)| krm_engine::files::relative(path, &here)))
        ));
        Ok(())
    }
}
