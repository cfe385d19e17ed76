//! `krm.toml`: the levels of codes, and findings that are silenced in one place.
//!
//! ```toml
//! [lint.levels]
//! deprecated-field = "error"      # or "warning", or "off"
//!
//! [[lint.silence]]
//! code = "unused-file"
//! path = "apps/notes.yaml"        # from the folder of this file; a folder stands for everything that is in it
//! reason = "applied by hand"
//! ```

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Fix, Source, Sources, Span, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rules;
use crate::edit;
use crate::files::relative;
use crate::files::world::World;

/// The name of the file.
pub(crate) const FILE: &str = "krm.toml";

/// How much a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It is not reported.
    Off,
    /// It is reported.
    Warning,
    /// It is reported, and makes the check fail.
    Error,
}

impl Level {
    fn named(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Level::Off),
            "warning" => Some(Level::Warning),
            "error" => Some(Level::Error),
            _ => None,
        }
    }
}

/// The settings of a tree: those of each `krm.toml` count for its folder and all below it.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    files: Vec<File>,
    /// What is wrong with them.
    pub faults: Vec<Diagnostic>,
}

#[derive(Debug)]
struct File {
    folder: PathBuf,
    levels: Vec<(String, Level)>,
    silences: Vec<Silence>,
}

/// An entry of `[[lint.silence]]`.
#[derive(Debug)]
struct Silence {
    code: String,
    path: String,
    span: Span,
    has_reason: bool,
    is_used: bool,
}

impl Settings {
    /// Reads the files of a tree, outermost first.
    pub(crate) fn read<'p>(
        world: &dyn World,
        sources: &Sources,
        here: &Path,
        paths: impl IntoIterator<Item = &'p Path>,
    ) -> Self {
        let mut settings = Self::default();
        for path in paths {
            let Ok(bytes) = world.read(path) else { continue };
            let source = match sources.add_bytes(relative(path, here), bytes) {
                Ok(source) => source,
                Err(error) => {
                    settings.faults.push(error);
                    continue;
                }
            };
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let mut reader = Reader { source: &source, faults: &mut settings.faults };
            let file = reader.file(folder);
            settings.files.extend(file);
        }
        settings
    }

    /// The files that count for a folder: its own, and those of the folders around it.
    pub(crate) fn around(world: &dyn World, sources: &Sources, here: &Path, folder: &Path) -> Self {
        let mut paths: Vec<PathBuf> = folder.ancestors().map(|above| above.join(FILE)).collect();
        paths.retain(|path| world.is_file(path));
        paths.reverse();
        Self::read(world, sources, here, paths.iter().map(PathBuf::as_path))
    }

    /// The level of a code in a file, if any says so; the innermost counts.
    pub(crate) fn level(&self, code: &str, path: &Path) -> Option<Level> {
        let around = self.files.iter().rev().filter(|file| path.starts_with(&file.folder));
        around.flat_map(|file| &file.levels).find(|(of, _)| of == code).map(|(_, level)| *level)
    }

    /// Whether a finding in a file is silenced.
    pub(crate) fn silences(&mut self, code: &str, path: &Path) -> bool {
        let mut is_silenced = false;
        for file in self.files.iter_mut() {
            let Ok(below) = path.strip_prefix(&file.folder) else { continue };
            for silence in file.silences.iter_mut().filter(|silence| silence.code == code) {
                if below.ancestors().any(|part| edit::matches(&silence.path, &part.to_string_lossy())) {
                    (silence.is_used, is_silenced) = (true, true);
                }
            }
        }
        is_silenced
    }

    /// A finding for each silence that nothing was silenced by, and, in strict mode, for each without a reason.
    pub(super) fn unused(&self, strict: bool) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for silence in self.files.iter().flat_map(|file| &file.silences) {
            if !silence.is_used {
                found.push(super::silence::unused(&silence.code, silence.span));
            } else if strict && !silence.has_reason {
                found.push(super::silence::without_reason(&silence.code, silence.span));
            }
        }
        found
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    faults: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn file(&mut self, folder: PathBuf) -> Option<File> {
        let text = self.source.text();
        let root = match DeTable::parse(text) {
            Ok(root) => root,
            Err(error) => {
                let message = error.message().trim_end().replace('\n', ", ");
                let fault =
                    Diagnostic::error("settings-malformed", format!("`{FILE}` cannot be read: {message}"));
                self.faults.push(fault.at(self.span(error.span().unwrap_or_default())));
                return None;
            }
        };
        let mut file = File { folder, levels: Vec::new(), silences: Vec::new() };
        for (key, value) in root.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("lint", DeValue::Table(lint)) => self.lint(lint, &mut file),
                (key_text, _) => self.unknown(key_text, key.span(), &["lint"]),
            }
        }
        Some(file)
    }

    fn lint(&mut self, lint: &DeTable, file: &mut File) {
        for (key, value) in lint {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("levels", DeValue::Table(levels)) => {
                    for (code, level) in levels {
                        if rules::nearest_of_unknown(code.get_ref()).is_some() {
                            self.unknown_code(code.get_ref(), code.span());
                        }
                        match level.get_ref().as_str().and_then(Level::named) {
                            Some(level) => file.levels.push((code.get_ref().to_string(), level)),
                            None => self.wrong("a level is `error`, `warning` or `off`", level.span()),
                        }
                    }
                }
                ("silence", DeValue::Array(entries)) => {
                    for entry in entries {
                        file.silences.extend(self.silence(entry));
                    }
                }
                ("levels", _) => self.wrong("`levels` is a table of codes and levels", value.span()),
                ("silence", _) => self.wrong("`silence` is a list: write `[[lint.silence]]`", value.span()),
                (key_text, _) => self.unknown(key_text, key.span(), &["levels", "silence"]),
            }
        }
    }

    fn silence(&mut self, entry: &Spanned<DeValue>) -> Option<Silence> {
        let Some(fields) = entry.get_ref().as_table() else {
            self.wrong("an entry of `silence` is a table with `code`, `path` and `reason`", entry.span());
            return None;
        };
        let text = |key: &str| {
            let value = fields.get(key)?;
            Some((value.get_ref().as_str()?.to_owned(), value.span()))
        };
        for (key, _) in
            fields.iter().filter(|(key, _)| !["code", "path", "reason"].contains(&key.get_ref().as_ref()))
        {
            self.unknown(key.get_ref(), key.span(), &["code", "path", "reason"]);
        }
        let (Some((code, at)), Some((path, _))) = (text("code"), text("path")) else {
            self.wrong("an entry of `silence` needs a `code` and a `path`", entry.span());
            return None;
        };
        if rules::nearest_of_unknown(&code).is_some() {
            self.unknown_code(&code, at.clone());
        }
        let path = path.trim_start_matches("./").trim_end_matches('/').to_owned();
        let has_reason = text("reason").is_some_and(|(reason, _)| !reason.trim().is_empty());
        Some(Silence { code, path, span: self.span(at), has_reason, is_used: false })
    }

    fn span(&self, range: Range<usize>) -> Span {
        self.source.span(range.start, range.end)
    }

    fn wrong(&mut self, message: &str, range: Range<usize>) {
        let fault = Diagnostic::error("settings-wrong", message).at(self.span(range));
        self.faults.push(fault);
    }

    fn unknown(&mut self, key: &str, range: Range<usize>, known: &[&str]) {
        let span = self.span(range);
        let fault = Diagnostic::error("settings-unknown-key", format!("unknown key `{key}`")).at(span);
        self.faults.push(match nearest(key, known.iter().copied()) {
            Some(near) => fault
                .help(format!("did you mean `{near}`?"))
                .fix(Fix::needs_review(format!("write `{near}`")).replace(span, near)),
            None => fault.help(format!("possible keys are `{}`", known.join("`, `"))),
        });
    }

    fn unknown_code(&mut self, code: &str, range: Range<usize>) {
        let near = rules::nearest_of_unknown(code).unwrap_or_default();
        let fault = Diagnostic::warning("settings-unknown-code", format!("there is no code `{code}`"));
        self.faults.push(fault.at(self.span(range)).help(format!("did you mean `{near}`?")));
    }
}
