//! `krm edit extract`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use krm_engine::edit::overlay::{self, Overlay};
use krm_engine::edit::{self, File};
use krm_engine::files::{Files, clean};
use krm_engine::{Result, World};

use super::EditScope;
use super::moves::refused;
use crate::cli::examples;
use crate::os::{self, Disk};
use crate::report::Report;

/// Move an entry that is written in a kustomization, such as a patch, to a separate file
///
/// The kustomization is built before and after, and nothing is written if the output would change.
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_EXTRACT)]
pub struct ExtractArgs {
    /// The entry, such as `patches[0]`: a patch, a replacement, or a configuration of a generator or transformer
    #[arg(value_name = "ENTRY")]
    entry: String,

    /// The file, which must not exist; its path begins at the folder of the kustomization
    #[arg(long, value_name = "FILE", value_parser = NonEmptyStringValueParser::new())]
    to: String,
}

impl ExtractArgs {
    pub fn run(&self, scope: &EditScope, report: &Report) -> Result<()> {
        let disk: Arc<dyn World> = Arc::new(Disk::default());
        let dirs = scope.folders(&*disk)?;
        let mut changes = scope.changes(&dirs)?;
        for dir in &dirs {
            let files = Files::new(disk.clone(), report.sources.clone());
            let mut file = File::open(&files, dir)?;
            let own = file.path();
            let folder = own.parent().unwrap_or(Path::new(""));
            let path = clean(&folder.join(&self.to));
            if path.exists() || !path.starts_with(folder) {
                let why = if path.exists() { "exists already" } else { "is outside the kustomization" };
                return Err(refused(format!("`{}` {why}", self.to)));
            }
            let content = file.extract(&self.entry, &self.to)?;
            let text = file.text();
            let new = [(own.clone(), &text), (path.clone(), &content)];
            let new: BTreeMap<_, _> =
                new.into_iter().map(|(path, text)| (path, Some(text.clone().into_bytes()))).collect();
            match overlay::build(disk.clone(), dir) {
                Err(error) => eprintln!(
                    "`{dir}` cannot be built here, so the output is not compared: {}",
                    error.message()
                ),
                Ok(before) => {
                    let after = overlay::build(Arc::new(Overlay::new(disk.clone(), new)), dir)?;
                    if before != after {
                        return Err(refused(format!("the output of `{dir}` would change")));
                    }
                }
            }
            if scope.diff {
                let shown = Path::new(file.shown()).with_file_name("").join(&self.to);
                os::print(edit::diff(file.shown(), file.source().text(), &text).as_bytes())?;
                os::print(edit::diff(&shown.to_string_lossy(), "", &content).as_bytes())?;
            }
            if let Some(changes) = &mut changes {
                changes.edit(&own, file.source().text(), text.as_bytes())?;
                changes.write(&path, content.as_bytes())?;
            }
        }
        changes.map_or(Ok(()), os::Changes::commit)?;
        let folders = dirs.iter().map(|dir| format!("`{dir}`")).collect::<Vec<_>>().join(", ");
        let verb = scope.verb("moved", "would move");
        scope.say(&format!("{verb} `{}` of the kustomization in {folders} to `{}`", self.entry, self.to));
        Ok(())
    }
}
