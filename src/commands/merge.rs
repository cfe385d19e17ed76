//! `krm merge`, and what it shares with `krm merge3`: writing files back.

use std::path::{Path, PathBuf};

use krm_engine::merge::{File, Options, merge_files};
use krm_engine::{Diagnostic, Result, Schema, package};
use rayon::prelude::*;

use super::input::read;
use crate::cli::{ListArgs, MergeArgs};
use crate::os;
use crate::report::Report;

pub fn run(args: MergeArgs, report: &Report) -> Result<()> {
    refuse_two_inputs(&[&args.source, &args.dest])?;
    let mut target = Target::new(&args.dest, args.write)?;
    let source = read(&args.source, &report.sources)?;
    let dest = read(&args.dest, &report.sources)?;
    let merged = merge_files(
        &source,
        dest,
        target.is_one_file(),
        &Schema::of(args.lists.kube_version.into()),
        options(&args.lists),
    )?;
    target.finish(&merged)
}

pub(super) fn options(lists: &ListArgs) -> Options {
    Options { infer: !lists.no_infer, prepend: lists.prepend, as_reference: false }
}

/// There is only one standard input.
pub(super) fn refuse_two_inputs(paths: &[&str]) -> Result<()> {
    match paths.iter().filter(|path| **path == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Diagnostic::error("merge-one-input", "only one of the arguments can be `-`")
            .help("there is only one standard input: name a file or a folder for the others")),
    }
}

/// Where the result goes.
pub(super) struct Target {
    path: PathBuf,
    /// None where the result is printed.
    changes: Option<os::Changes>,
    is_folder: bool,
}

impl Target {
    pub fn new(path: &str, write: bool) -> Result<Self> {
        if path == "-" && write {
            return Err(Diagnostic::error(
                "merge-write-to-input",
                "standard input cannot be written back to",
            )
            .help("leave out `--write`: the result is printed"));
        }
        let changes = write.then(|| os::Changes::in_packages(&[Path::new(path)])).transpose()?;
        Ok(Self { path: path.into(), changes, is_folder: Path::new(path).is_dir() })
    }

    pub fn is_one_file(&self) -> bool {
        !self.is_folder
    }

    /// Prints the result, or writes the files that changed: all of them or, where one cannot be, none.
    pub fn finish(&mut self, files: &[File]) -> Result<()> {
        let Some(mut changes) = self.changes.take() else {
            return os::print(printed(files).as_bytes());
        };
        for file in files.iter().filter(|file| !file.is_untouched()) {
            let path = if self.is_folder { self.path.join(&file.path) } else { self.path.clone() };
            if self.is_folder && file.source.is_none() {
                refuse_unread(&self.path, &file.path)?;
            }
            let before = file.source.as_ref().map(|source| source.text());
            match (file.is_empty() && self.is_folder, before) {
                (true, _) => changes.remove(&path, before)?,
                (false, Some(before)) => changes.edit(&path, before, file.text().as_bytes())?,
                (false, None) => changes.write(&path, file.text().as_bytes())?,
            }
        }
        changes.commit()
    }
}

/// Refuses to add a file to a package that leaves it out: it stands there unread, or would not be read the next time.
fn refuse_unread(package: &Path, name: &str) -> Result<()> {
    let path = package.join(name);
    let why = if path.exists() {
        "is there already, and was not merged"
    } else if package::leaves_out(&os::Disk::default(), package, name)? {
        "would be added, and is to be left out"
    } else {
        return Ok(());
    };
    Err(Diagnostic::error("merge-unread", format!("`{}` {why}", path.display())).help(format!(
        "take it out of `{0}`, or name it in the `{0}` of what comes in as well",
        package::IGNORE
    )))
}

/// All files as one stream. Blank lines in front say nothing there, and it ends with a line break.
fn printed(files: &[File]) -> String {
    let texts: Vec<String> = files.par_iter().map(File::text).collect();
    let mut out = String::with_capacity(texts.iter().map(|text| text.len() + 4).sum());
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let text = text.trim_start_matches('\u{feff}');
        let blank = text.split_inclusive('\n').take_while(|line| line.trim().is_empty());
        let text = &text[blank.map(str::len).sum::<usize>()..];
        if !out.is_empty() && !text.starts_with("---") {
            out.push_str("---\n");
        }
        out.push_str(text);
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}
