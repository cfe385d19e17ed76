//! Lists of paths: `resources`, `components`, `generators` and so on; and `buildMetadata`, a list of words.

use krm_yaml::{Node, Result, Span};

use super::{File, bad_argument, exists, fields, glob, missing};
use crate::files::repository::Repository;
use crate::files::world::Loader;
use crate::kustomization::BUILD_METADATA;

/// A field that lists paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// Files, folders and addresses under `resources:`.
    Resources,
    /// Folders under `components:`.
    Components,
    /// Files under `configurations:`.
    Configurations,
    /// Files under `generators:`.
    Generators,
    /// Files under `transformers:`.
    Transformers,
    /// Files under `validators:`.
    Validators,
}

impl Paths {
    pub(crate) fn field(self) -> &'static str {
        match self {
            Paths::Resources => "resources",
            Paths::Components => "components",
            Paths::Configurations => "configurations",
            Paths::Generators => "generators",
            Paths::Transformers => "transformers",
            Paths::Validators => "validators",
        }
    }

    /// One of them, in messages.
    fn item(self) -> &'static str {
        self.field().trim_end_matches('s')
    }

    /// All fields it may be written in. What is called a base today was a field once.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Paths::Resources => &["resources", "bases"],
            Paths::Components => &["components"],
            Paths::Configurations => &["configurations"],
            Paths::Generators => &["generators"],
            Paths::Transformers => &["transformers"],
            Paths::Validators => &["validators"],
        }
    }

    /// Whether a path may be an address, and one that leads nowhere is an error.
    fn may_be_remote(self) -> bool {
        matches!(self, Paths::Resources | Paths::Components)
    }
}

impl File {
    /// Adds paths to a list. Patterns become the files they match; each must match at least one.
    pub fn add_paths(&mut self, list: Paths, patterns: &[String]) -> Result<()> {
        let mut found = Vec::new();
        patterns.iter().try_for_each(|pattern| not_empty(pattern))?;
        for pattern in patterns {
            let paths = glob::expand(&*self.folder().files().world, self.folder().root(), pattern)?;
            if paths.is_empty() {
                if list.may_be_remote() {
                    self.reach(pattern)?;
                    found.push(pattern.clone());
                } else {
                    self.note(format!("`{pattern}` matches no file"));
                }
            }
            found.extend(paths);
        }
        self.add_paths_unverified(list, &found);
        Ok(())
    }

    /// Adds paths to a list as they are, without checking what is there.
    pub fn add_paths_unverified(&mut self, list: Paths, paths: &[String]) {
        for path in paths {
            if path == self.name() {
                continue;
            }
            match self.has_path(list, path) {
                Some(_) => self.note(format!("{} `{path}` is already in `{}`", list.item(), self.shown())),
                None => self.push_path(list, path),
            }
        }
    }

    /// Adds folders to `resources`, each of which must exist and not be listed yet.
    pub fn add_bases(&mut self, paths: &[&str]) -> Result<()> {
        for path in paths {
            not_empty(path)?;
            let full = self.folder().root().join(path);
            let world = &self.folder().files().world;
            if !world.is_dir(&full) && !world.is_file(&full) {
                return Err(missing(format!("`{path}` does not exist"))
                    .help("a base is a folder, relative to the kustomization's"));
            }
            if let Some(place) = self.has_path(Paths::Resources, path) {
                return Err(exists(format!("base `{path}` is already in the kustomization"), place));
            }
            self.push_path(Paths::Resources, path);
        }
        Ok(())
    }

    /// Removes the paths that a pattern matches.
    pub fn remove_paths(&mut self, list: Paths, patterns: &[String]) -> Result<()> {
        patterns.iter().try_for_each(|pattern| glob::check(pattern))?;
        let mut removed = 0;
        for field in list.fields() {
            let stays = |item: &Node| {
                !item.text().is_some_and(|path| patterns.iter().any(|pattern| glob::matches(pattern, path)))
            };
            removed += self.retain(field, stays);
        }
        if removed == 0 {
            self.note(format!("no {} in `{}` matches", list.item(), self.shown()));
        }
        Ok(())
    }

    /// Removes the entry of a list in which a byte of the file is; the field goes with its last entry.
    pub(crate) fn remove_entry_at(&mut self, at: u32) -> bool {
        let is_there = |item: &Node| item.span().start <= at && at < item.span().end;
        let mut fields = self.root().as_map().into_iter().flatten();
        let Some(name) = fields
            .find(|field| field.value.items().iter().any(is_there))
            .and_then(|field| field.key.text().map(str::to_owned))
        else {
            return false;
        };
        self.retain(&name, |item| !is_there(item)) == 1
    }

    fn push_path(&mut self, list: Paths, path: &str) {
        fields::push(self.root_mut(), list.field(), Node::from(path));
    }

    fn has_path(&self, list: Paths, path: &str) -> Option<Span> {
        let mut all = list.fields().iter().flat_map(|field| fields::items(self.root(), field));
        all.find(|item| item.text() == Some(path)).map(Node::span)
    }

    /// Whether an address leads somewhere.
    fn reach(&self, path: &str) -> Result<()> {
        let is_remote = Repository::parse(path).is_some() || path.contains("://");
        if !is_remote {
            return Err(missing(format!("`{path}` matches no file or folder"))
                .help("paths are relative to the kustomization's folder; `--no-verify` adds one that is not there yet"));
        }
        let base = self.folder().base(path, Span::NONE);
        base.map(drop).or_else(|error| self.folder().load(path, Span::NONE).map(drop).map_err(|_| error))
    }

    /// `add buildmetadata`: words that must not be there yet.
    pub fn add_build_metadata(&mut self, options: &[&str]) -> Result<()> {
        check_build_metadata(options)?;
        for option in options {
            let there = fields::items(self.root(), "buildMetadata");
            if let Some(item) = there.iter().find(|item| item.text() == Some(option)) {
                let message = format!("buildMetadata option `{option}` is already in the kustomization");
                return Err(exists(message, item.span()));
            }
            fields::push(self.root_mut(), "buildMetadata", Node::from(*option));
        }
        Ok(())
    }

    /// `set buildmetadata`: exactly these words, in this order.
    pub fn set_build_metadata(&mut self, options: &[&str]) -> Result<()> {
        check_build_metadata(options)?;
        let there = fields::items(self.root(), "buildMetadata");
        if there.iter().map(|item| item.text().unwrap_or_default()).eq(options.iter().copied()) {
            return Ok(());
        }
        let kept = |option: &&str| {
            let same = there.iter().find(|item| item.text() == Some(option));
            same.cloned().unwrap_or_else(|| Node::from(*option))
        };
        let items: Vec<Node> = options.iter().map(kept).collect();
        match fields::make(self.root_mut(), "buildMetadata", Node::seq()).and_then(Node::as_seq_mut) {
            Some(list) => *list = items,
            None => fields::set(self.root_mut(), "buildMetadata", Node::from(items)),
        }
        Ok(())
    }

    /// `remove buildmetadata`: words that are not in the list are ignored.
    pub fn remove_build_metadata(&mut self, options: &[&str]) -> Result<()> {
        check_build_metadata(options)?;
        let stays = |item: &Node| !item.text().is_some_and(|text| options.contains(&text));
        self.retain("buildMetadata", stays);
        Ok(())
    }
}

fn not_empty(path: &str) -> Result<()> {
    match path {
        "" => Err(bad_argument("a path is empty").help("paths are relative to the kustomization's folder")),
        _ => Ok(()),
    }
}

fn check_build_metadata(options: &[&str]) -> Result<()> {
    match options.iter().find(|option| !BUILD_METADATA.contains(option)) {
        None => Ok(()),
        Some(unknown) => Err(bad_argument(format!("`{unknown}` is not a buildMetadata option"))
            .help(format!("possible values are `{}`", BUILD_METADATA.join("`, `")))),
    }
}
