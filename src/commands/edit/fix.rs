//! `krm edit fix`.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use krm_engine::edit::fix::PatchOrder;
use krm_engine::edit::overlay::{self, Overlay};
use krm_engine::edit::{self, File};
use krm_engine::explain::difference_without_secrets;
use krm_engine::files::Files;
use krm_engine::{BuildOptions, Diagnostic, Result, World};

use super::EditScope;
use crate::cli::{BuildFlags, as_kustomize, examples};
use crate::commands::build;
use crate::os::{self, Disk};
use crate::report::Report;

/// Move what is in deprecated fields to today's, and add a missing type
///
/// The kustomization is built before and after, and nothing is written if the output would change, or if it cannot be built:
/// pass the flags that `krm build` needs.
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_FIX)]
pub struct FixArgs {
    /// Turn `vars` into `replacements`, too; this may change files of resources
    #[arg(long)]
    vars: bool,

    /// Write even if the output changes, or if it cannot be built
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    flags: BuildFlags,
}

impl FixArgs {
    pub fn run(&self, scope: &EditScope, report: &Report) -> Result<()> {
        let dirs = scope.folders(&Disk::default())?;
        let (disk, options) = build::world_and_options(&self.flags, &dirs)?;
        let disk: Arc<dyn World> = Arc::new(disk);
        let mut changes = scope.changes(&dirs)?;
        let mut messages = Vec::new();
        for dir in &dirs {
            let fixed = self.fix(&disk, &options, dir, report)?;
            let Some(fixed) = fixed else {
                messages.push(format!("nothing is deprecated in `{dir}`"));
                continue;
            };
            for (shown, before, after) in fixed.texts.values().filter(|_| scope.diff) {
                os::print(edit::diff(shown, before, after).as_bytes())?;
            }
            messages.push(format!("fixed in `{dir}`: {}", fixed.done.join(", ")));
            if let Some(changes) = &mut changes {
                for (path, (_, before, after)) in &fixed.texts {
                    changes.edit(path, before, after.as_bytes())?;
                }
            }
        }
        changes.map_or(Ok(()), os::Changes::commit)?;
        messages.iter().for_each(|line| scope.say(line));
        Ok(())
    }

    /// The first way to fix that leaves the output as it was.
    fn fix(
        &self,
        disk: &Arc<dyn World>,
        options: &BuildOptions,
        dir: &str,
        report: &Report,
    ) -> Result<Option<Fixed>> {
        let before = overlay::build_with(disk.clone(), dir, options.clone());
        let is_forced = self.force || as_kustomize::is_called();
        let mut refusal = None;
        for order in [PatchOrder::Reference, PatchOrder::Acting] {
            let files = Files::new(disk.clone(), report.sources.clone());
            let mut file = File::open(&files, dir)?;
            let mut done = file.fix(order)?;
            let mut texts = BTreeMap::new();
            if self.vars && file.fix_vars(&mut texts)? {
                done.push("vars -> replacements");
            }
            if !file.is_changed() {
                return Ok(None);
            }
            texts
                .insert(file.path(), (file.shown().to_owned(), file.source().text().to_owned(), file.text()));
            let fixed = Fixed { done, texts };
            let before = match &before {
                Ok(before) => before,
                Err(error) if is_forced => {
                    let why = error.message();
                    eprintln!("`{dir}` cannot be built here, so the output is not compared: {why}");
                    return Ok(Some(fixed));
                }
                Err(error) => return Err(not_built(dir, error)),
            };
            let new = fixed
                .texts
                .iter()
                .map(|(path, (_, _, text))| (path.clone(), Some(text.clone().into_bytes())));
            let world = Arc::new(Overlay::new(disk.clone(), new.collect()));
            let why = match overlay::build_with(world, dir, options.clone()) {
                Ok(after) if after == *before => return Ok(Some(fixed)),
                Ok(after) => difference_without_secrets("output", before, &after),
                Err(error) => error.message().to_owned(),
            };
            refusal.get_or_insert((fixed, why));
        }
        let Some((fixed, why)) = refusal else { return Ok(None) };
        if is_forced {
            eprintln!("warning: the output of `{dir}` changes:\n{why}");
            return Ok(Some(fixed));
        }
        let error =
            Diagnostic::error("fix-changes-output", format!("the fix would change the output of `{dir}`"));
        let error = why.lines().take(40).fold(error, |error, line| error.note(line, krm_engine::Span::NONE));
        Err(error.help("fix it by hand, or use `--force` if the new output is what you want"))
    }
}

/// Without its output, nobody knows whether a fix keeps it.
fn not_built(dir: &str, error: &Diagnostic) -> Diagnostic {
    let message = format!("`{dir}` cannot be built here, so the fix cannot be checked");
    Diagnostic::error("fix-not-checked", message).note(error.message(), krm_engine::Span::NONE).help(
        "pass the flags that `krm build` needs, such as `--enable-helm`, or `--force` to write it unchecked",
    )
}

/// What a fix moved, and the texts it changed: the name shown, before, and after.
struct Fixed {
    done: Vec<&'static str>,
    texts: BTreeMap<std::path::PathBuf, (String, String, String)>,
}
