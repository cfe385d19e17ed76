//! `krm merge`, and what it shares with `krm merge3`: writing files back.

use std::path::{Path, PathBuf};

use krm_engine::merge::{Destination, File, News, Options, Outcome, What, merge_files};
use krm_engine::{Diagnostic, Result, Schema, package};
use krm_yaml::Node;
use rayon::prelude::*;

use super::input::{YAML_AND_JSON, read, read_resources};
use crate::cli::{ListArgs, MergeArgs};
use crate::os;
use crate::report::Report;

pub fn run(args: MergeArgs, report: &Report) -> Result<()> {
    let paths: Vec<&str> = args.sources.iter().chain([&args.dest]).map(String::as_str).collect();
    refuse_two_inputs(&paths)?;
    let mut output = MergeOutput::new(&args.dest, args.write)?;
    let (schema, options) = (Schema::of(args.lists.kube_version.into()), options(&args.lists));
    let mut merged =
        Outcome { files: read(&args.dest, YAML_AND_JSON, &report.sources)?, ..Outcome::default() };
    for source in &args.sources {
        let source = read_resources(source, &report.sources)?;
        let next = merge_files(&source, merged.files, output.destination(), &schema, options)?;
        merged.files = next.files;
        merged.news.extend(next.news);
        merged.warnings.extend(next.warnings);
    }
    merged.warnings.iter().for_each(|warning| report.show(warning));
    output.finish(&merged, report)
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
pub(super) struct MergeOutput {
    path: PathBuf,
    /// None if the result is printed.
    changes: Option<os::Changes>,
    is_folder: bool,
}

impl MergeOutput {
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

    pub fn destination(&self) -> Destination {
        if self.is_folder { Destination::Folder } else { Destination::OneFile }
    }

    /// Prints the result, or writes the files that changed: all of them or, if one cannot be written, none. Standard error
    /// says what came and went.
    pub fn finish(&mut self, merged: &Outcome, report: &Report) -> Result<()> {
        let Some(mut changes) = self.changes.take() else {
            merged.news.iter().for_each(|news| report.tell(&described(news, None)));
            return os::print(printed(&merged.files).as_bytes());
        };
        let mut written = Vec::new();
        for file in &merged.files {
            let renamed = file.renamed_from.as_ref().filter(|_| !file.is_empty());
            if file.is_untouched() && renamed.is_none() {
                continue;
            }
            let path = self.place(&file.path);
            let before = file.source.as_ref().map(|source| source.text());
            let is_new = file.source.is_none() || renamed.is_some();
            if self.is_folder && is_new {
                refuse_unread(&self.path, &file.path)?;
            }
            if file.is_empty() && self.is_folder {
                let path = self.place(file.renamed_from.as_ref().unwrap_or(&file.path));
                if file.source.is_some() {
                    written.push(change("removed", &path, None));
                    changes.remove(&path, before)?;
                }
                continue;
            }
            if let Some(old) = renamed.map(|old| self.place(old)) {
                written.push(change("renamed", &old, Some(&path)));
                changes.remove(&old, before)?;
            } else {
                written.push(change("wrote", &path, None));
            }
            match before.filter(|_| renamed.is_none()) {
                Some(before) => changes.edit(&path, before, file.text().as_bytes())?,
                None => drop(changes.write(&path, file.text().as_bytes())?),
            }
        }
        changes.commit()?;
        merged.news.iter().for_each(|news| report.tell(&described(news, Some(&self.place(&news.path)))));
        written.iter().for_each(|line| report.tell(line));
        Ok(())
    }

    /// Where a file of the destination is.
    fn place(&self, path: &str) -> PathBuf {
        if self.is_folder { self.path.join(path) } else { self.path.clone() }
    }
}

/// ``added Deployment `web` to app.yaml``, as text and for programs.
fn described(news: &News, place: Option<&Path>) -> (String, Node) {
    let (verb, preposition) = match news.what {
        What::Added => ("added", "to"),
        What::Removed => ("removed", "from"),
    };
    let file = place.map_or_else(|| news.path.clone(), |place| place.display().to_string());
    let mut object = Node::from_iter([("change", verb), ("resource", &*news.resource)]);
    let mut text = format!("{verb} {}", news.resource);
    if !file.is_empty() {
        object.set("file", file.as_str());
        text.push_str(&format!(" {preposition} {file}"));
    }
    (text, object)
}

fn change(verb: &str, path: &Path, to: Option<&Path>) -> (String, Node) {
    let mut object = Node::from_iter([("change", verb), ("file", &*path.to_string_lossy())]);
    let mut text = format!("{verb} {}", path.display());
    if let Some(to) = to {
        object.set("to", &*to.to_string_lossy());
        text.push_str(&format!(" to {}", to.display()));
    }
    (text, object)
}

/// Refuses to add a file to a package that leaves it out: it is there unread, or would not be read the next time.
fn refuse_unread(package: &Path, name: &str) -> Result<()> {
    let path = package.join(name);
    if !package::may_be_read(name) {
        let message = format!("`{}` would be added, and is not read as configuration", path.display());
        return Err(Diagnostic::error("merge-unread", message).help("give it a name that ends in `.yaml`"));
    }
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
