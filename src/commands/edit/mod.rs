//! `krm edit`: changes of kustomization files, by the words of `kustomize edit`.

mod add;
mod extract;
mod fix;
mod moves;
mod remove;
mod rename;
mod set;

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use krm_engine::edit::{self, File};
use krm_engine::files::Files;
use krm_engine::{Result, World};

use crate::cli::examples;
use crate::os::{self, Disk};
use crate::report::Report;

/// Edit a kustomization file: add, set and remove entries
///
/// Only the lines that are meant change: comments, order, blank lines, quotes and line ends stay as they are.
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT)]
pub struct EditArgs {
    #[command(subcommand)]
    verb: Verb,

    /// The folder of the kustomization, if not this one; may be a pattern, and may be given several times
    #[arg(short = 'C', long = "dir", global = true, value_name = "DIR", display_order = 800)]
    dirs: Vec<String>,

    /// Show what would change, and change nothing
    #[arg(long, global = true, display_order = 801)]
    diff: bool,

    /// Change nothing; only report whether it would succeed
    #[arg(long, global = true, display_order = 802)]
    dry_run: bool,

    /// Report nothing but what went wrong
    #[arg(short, long, global = true, display_order = 803)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(add::AddArgs),
    Set(set::SetArgs),
    Remove(remove::RemoveArgs),
    Fix(Box<fix::FixArgs>),
    Move(moves::MoveArgs),
    Rename(rename::RenameArgs),
    Extract(extract::ExtractArgs),
    #[command(hide = true)]
    AlphaListBuiltinPlugin,
}

pub fn run(args: EditArgs, report: &Report) -> Result<()> {
    let scope = EditScope { dirs: args.dirs, diff: args.diff, dry_run: args.dry_run, quiet: args.quiet };
    match args.verb {
        Verb::Add(args) => scope.edit(report, |file| args.apply(file)),
        Verb::Set(args) => scope.edit(report, |file| args.apply(file)),
        Verb::Remove(args) => scope.edit(report, |file| args.apply(file)),
        Verb::Fix(args) => args.run(&scope, report),
        Verb::Move(args) => args.run(&scope, report),
        Verb::Rename(args) => args.run(&scope, report),
        Verb::Extract(args) => args.run(&scope, report),
        Verb::AlphaListBuiltinPlugin => list_builtins(),
    }
}

/// Which kustomizations are edited, and whether they are written.
struct EditScope {
    dirs: Vec<String>,
    diff: bool,
    dry_run: bool,
    quiet: bool,
}

impl EditScope {
    /// Says what was done.
    fn say(&self, what: &str) {
        if !self.quiet {
            eprintln!("{what}");
        }
    }

    /// A verb for what was done, or would be.
    fn verb(&self, done: &'static str, would: &'static str) -> &'static str {
        if self.diff || self.dry_run { would } else { done }
    }

    /// Makes the same edit in every folder: in all of them or, if one fails, in none.
    fn edit(&self, report: &Report, apply: impl Fn(&mut File) -> Result<()>) -> Result<()> {
        let disk: Arc<dyn World> = Arc::new(Disk::default());
        let files = Files::new(disk.clone(), report.sources.clone());
        let dirs = self.folders(&*disk)?;
        let changes = self.changes(&dirs)?;
        let mut edited = Vec::new();
        for dir in &dirs {
            let mut file = File::open(&files, dir)?;
            apply(&mut file)?;
            file.warnings().iter().for_each(|warning| report.show(warning));
            edited.push(file);
        }
        self.finish(&edited, changes)
    }

    fn folders(&self, world: &dyn World) -> Result<Vec<String>> {
        if self.dirs.is_empty() {
            return Ok(vec![".".into()]);
        }
        let mut all = Vec::new();
        for dir in &self.dirs {
            let found = edit::expand(world, Path::new("."), dir)?;
            // One that matches nothing is reported as a folder that does not exist.
            all.extend(if found.is_empty() { vec![dir.clone()] } else { found });
        }
        Ok(all)
    }

    /// What files are changed with, if they are; begun before they are read.
    fn changes(&self, dirs: &[String]) -> Result<Option<os::Changes>> {
        let dirs: Vec<&Path> = dirs.iter().map(Path::new).collect();
        (!self.diff && !self.dry_run).then(|| os::Changes::in_packages(&dirs)).transpose()
    }

    fn finish(&self, files: &[File], mut changes: Option<os::Changes>) -> Result<()> {
        for file in files {
            file.notes().iter().for_each(|note| self.say(note));
            if !file.is_changed() {
                if file.notes().is_empty() {
                    self.say(&format!("nothing changes in `{}`", file.shown()));
                }
                continue;
            }
            let text = file.text();
            if self.diff {
                os::print(edit::diff(file.shown(), file.source().text(), &text).as_bytes())?;
            }
            if let Some(changes) = &mut changes {
                changes.edit(&file.path(), file.source().text(), text.as_bytes())?;
            }
        }
        changes.map_or(Ok(()), os::Changes::commit)
    }
}

fn list_builtins() -> Result<()> {
    let mut text = String::from("Builtin plugins:\n\n");
    for kind in krm_engine::builtin_kinds() {
        text.push_str(&format!(" * {kind}\n"));
    }
    os::print(text.as_bytes())
}
