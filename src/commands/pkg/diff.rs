//! `krm pkg diff`: a package and its upstream, compared by a program.

use std::path::Path;
use std::process::{Command, Stdio};

use krm_engine::kpt::{self, Files, Kptfile, kptfile_source};
use krm_engine::runtime::Scratch;
use krm_engine::{Diagnostic, Result};
use krm_yaml::Failure;

use super::upstream::{NO_PACKAGE, Upstream, folder_and_reference, read_files};
use crate::cli::PkgDiffArgs;
use crate::os::{self, Disk};
use crate::report::Report;

/// What the package is called while it is compared: nothing else is called so.
const HERE: &str = "krm-package-as-it-is-here";

pub fn run(args: &PkgDiffArgs, report: &Report) -> Result<()> {
    let (dir, reference) = folder_and_reference(&args.package);
    let kind = args.diff_type.as_deref().unwrap_or(if reference.is_empty() { "local" } else { "combined" });
    let sides: &[&str] = match kind {
        "local" => &["here", "remote"],
        "remote" => &["remote", "target"],
        "combined" => &["here", "target"],
        "3way" => &["here", "remote", "target"],
        _ => {
            return Err(Diagnostic::error("diff-type", format!("`{kind}` is not a valid comparison"))
                .failing(Failure::CommandLine)
                .help("use `local`, `remote`, `combined` or `3way`"));
        }
    };
    let tool = Tool::named(args);
    if sides.len() > 2 && tool.is_default {
        let message = "`3way` needs a program that compares three folders, and `diff` compares two";
        return Err(Diagnostic::error("diff-three-sides", message)
            .failing(Failure::CommandLine)
            .help("name one with `--diff-tool`, such as `meld`, or compare two at a time: `local`, `remote`, `combined`"));
    }
    let disk = Disk::without_lock();
    let source = kptfile_source(&disk, dir, &report.sources, NO_PACKAGE)?;
    let (kptfile, document) = Kptfile::read(&source)?;
    let mut upstream = Upstream::of(&kptfile, dir, document.root.span())?;
    let remote = upstream.reference.clone();
    let target = if reference.is_empty() { remote.clone() } else { reference.to_owned() };
    let scratch = Scratch::new("krm-diff")?;
    let mut names = Vec::new();
    for side in sides {
        let (name, files) = match *side {
            "here" => (HERE.to_owned(), read_files(dir, &disk)?.files),
            side => {
                upstream.reference = if side == "remote" { remote.clone() } else { target.clone() };
                (format!("{side}-{}", upstream.reference.replace('/', "-")), upstream.fetch(&disk)?.files)
            }
        };
        stage(&scratch.path().join(&name), files)?;
        names.push(name);
    }
    let package = os::absolute(dir)?.display().to_string();
    let text = tool.compare(scratch.path(), &names)?.replace(HERE, &package);
    os::print(text.as_bytes())
}

/// Writes the files of one side, without the Kptfile of the package itself.
fn stage(folder: &Path, mut files: Files) -> Result<()> {
    files.remove(kpt::FILE);
    os::make_dir(folder)?;
    for (path, bytes) in kpt::noted(&files) {
        let file = folder.join(path);
        file.parent().map_or(Ok(()), os::make_dir)?;
        // Tools show UTF-8.
        let text = krm_yaml::decode(bytes.clone()).map_or(bytes, String::into_bytes);
        os::write(&file, &text)?;
    }
    Ok(())
}

/// The program that compares folders.
struct Tool {
    program: String,
    options: Option<String>,
    is_default: bool,
}

impl Tool {
    fn named(args: &PkgDiffArgs) -> Self {
        let program = args.diff_tool.clone().or_else(|| os::variable("KPT_EXTERNAL_DIFF"));
        let options = args.diff_tool_opts.clone().or_else(|| os::variable("KPT_EXTERNAL_DIFF_OPTS"));
        let is_default = program.is_none();
        Self { program: program.unwrap_or_else(|| "diff".to_owned()), options, is_default }
    }

    /// Runs the program; that there are differences is not a failure.
    fn compare(&self, folder: &Path, names: &[String]) -> Result<String> {
        let Self { program, options, is_default } = self;
        let is_plain = *is_default && options.is_none();
        let options = options.as_deref().unwrap_or(if is_plain { "-r" } else { "" });
        let mut command = Command::new(program);
        command.args(options.split_whitespace()).args(names).current_dir(folder).stdin(Stdio::null());
        let output = command.stderr(Stdio::inherit()).output().map_err(|error| {
            Diagnostic::error("diff-tool", format!("`{program}` cannot be started: {error}"))
                .help("name another program with `--diff-tool`")
        })?;
        if *is_default && output.status.code().is_none_or(|code| code > 1) {
            let message = format!("`{program}` could not compare the folders: {}", output.status);
            return Err(Diagnostic::error("diff-tool-failed", message)
                .help("it says why above; options for it come from `--diff-tool-opts`"));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Folders below are compared without being asked, so nothing is said of the option.
        let plain = |line: &str| match line.strip_prefix("diff -r ") {
            Some(rest) => format!("diff {rest}"),
            None => line.to_owned(),
        };
        Ok(if is_plain { text.split_inclusive('\n').map(plain).collect() } else { text })
    }
}
