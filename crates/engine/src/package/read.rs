//! From folder to package.

use std::path::Path;

use krm_yaml::{Diagnostic, Document, Node, Result, Source, Sources, decode_lossy};
use rayon::prelude::*;

use super::chart::{is_chart, is_chart_template};
use super::ignore::{BadPattern, Ignore};
use super::{File, Package, Spot};
use crate::files::world::{EntryKind, World};
use crate::resource::wrapper::{ItemPath, for_each_resource};

/// Endings of the files that hold configuration, as functions see it.
const ENDINGS: [&str; 3] = [".yaml", ".yml", ".json"];
/// The file that names what is not of the package.
pub const IGNORE: &str = ".krmignore";
/// Files that make a folder a package of its own, to which the `.krmignore` of those above does not apply.
pub const PACKAGE_FILES: [&str; 2] = ["Krmfile", "Kptfile"];

/// The files with one of these endings in a folder and those below, relative to it, in the order of their names. Those a
/// `.krmignore` names are left out, and a link to a file outside is refused.
pub fn files(world: &dyn World, root: &Path, endings: &[&str]) -> Result<Vec<String>> {
    let Walk { paths, links, .. } = Walk::of(world, root, endings)?;
    refuse_leaving(world, root, &links)?;
    Ok(paths)
}

/// Whether a file may be one of configuration, by its name.
pub fn may_be_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || PACKAGE_FILES.contains(&name)
}

/// Whether a `.krmignore` of a package names a file or a folder above it, whether it exists or not.
pub fn leaves_out(world: &dyn World, root: &Path, path: &str) -> Result<bool> {
    let mut ignored = Ignored::read(world, root, "")?;
    let ends = path.match_indices('/').map(|(end, _)| end);
    for folder in ends.map(|end| &path[..end]) {
        let place = root.join(folder);
        if PACKAGE_FILES.iter().any(|file| world.is_file(&place.join(file))) {
            ignored = Ignored::read(world, &place, folder)?;
        } else if ignored.names(folder, EntryKind::Folder) {
            return Ok(true);
        }
    }
    Ok(ignored.names(path, EntryKind::File))
}

/// Refuses a link to a file outside: what is read, shown, merged and given to functions is in the package, and nothing else
/// of the machine.
fn refuse_leaving(world: &dyn World, root: &Path, links: &[String]) -> Result<()> {
    let Ok(real_root) = world.real_path(root) else { return Ok(()) };
    for path in links {
        if world.real_path(&root.join(path)).is_ok_and(|real| !real.starts_with(&real_root)) {
            let message = format!("`{path}` is a link to a file outside the package");
            return Err(Diagnostic::error("package-file-outside", message)
                .help(format!("put the file itself there, or name the link in {IGNORE}")));
        }
    }
    Ok(())
}

impl Package {
    /// Reads every file of configuration in a folder and those below, in the order of their names; or a single file.
    pub fn read(world: &dyn World, root: &Path, sources: &Sources) -> Result<Self> {
        let (root, paths, mode) = if world.is_dir(root) {
            let Walk { paths, links, .. } = Walk::of(world, root, &ENDINGS)?;
            refuse_leaving(world, root, &links)?;
            (root.to_path_buf(), paths, Templates::PassedOver)
        } else if world.is_file(root) {
            let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
            (parent.unwrap_or(Path::new(".")).to_path_buf(), vec![name], Templates::Read)
        } else {
            let message = format!("there is no folder `{}`", root.display());
            return Err(Diagnostic::error("package-not-found", message));
        };
        let Read { files: good, templates } = read_all(world, &root, paths, sources, mode)?;
        let mut resources = Vec::new();
        for (file, File { documents, path }) in good.iter().enumerate() {
            for (document, read) in documents.iter().enumerate() {
                if !(is_chart(path) && read.root.get("kind").is_none()) && is_resource(read)? {
                    let paths = item_paths(read).into_iter();
                    resources.extend(paths.map(|items| Spot { file, document, items }));
                }
            }
        }
        Ok(Package { root, files: good, resources, templates })
    }
}

impl Package {
    /// Reads these files of a folder. Every document that holds anything counts as a resource, or as a list of them.
    pub(crate) fn read_paths(
        world: &dyn World,
        root: &Path,
        paths: Vec<String>,
        sources: &Sources,
    ) -> Result<Self> {
        let Read { files, templates } = read_all(world, root, paths, sources, Templates::Read)?;
        let mut resources = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let holds = file.documents.iter().enumerate().filter(|(_, document)| !document.root.is_null());
            for (document, read) in holds {
                let paths = item_paths(read).into_iter();
                resources.extend(paths.map(|items| Spot { file: at, document, items }));
            }
        }
        Ok(Package { root: root.to_path_buf(), files, resources, templates })
    }
}

/// What becomes of the templates of Helm charts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Templates {
    PassedOver,
    /// As any other file, which fails for most: so does kpt, and a file that was named is not passed over.
    Read,
}

struct Read {
    files: Vec<File>,
    templates: usize,
}

/// Reads files side by side; of those that cannot be read it names all. What is not [configuration](is_configuration) is
/// left out.
fn read_all(
    world: &dyn World,
    root: &Path,
    paths: Vec<String>,
    sources: &Sources,
    templates: Templates,
) -> Result<Read> {
    let files: Vec<Result<Content>> =
        paths.into_par_iter().map(|path| File::read(world, root, path, sources, templates)).collect();
    let mut good = Read { files: Vec::with_capacity(files.len()), templates: 0 };
    let mut bad = Vec::new();
    for file in files {
        match file {
            Ok(Content::Configuration(file)) => good.files.push(file),
            Ok(Content::Other) => {}
            Ok(Content::Template) => good.templates += 1,
            Err(error) => bad.push(error),
        }
    }
    if let Some(error) = Diagnostic::join(bad) {
        return Err(error);
    }
    Ok(good)
}

/// What a file turned out to be.
enum Content {
    Configuration(File),
    Template,
    Other,
}

impl File {
    fn read(
        world: &dyn World,
        root: &Path,
        path: String,
        sources: &Sources,
        templates: Templates,
    ) -> Result<Content> {
        let place = root.join(&path);
        // Shown as the user would write it: without the `./` in front.
        let shown = place.strip_prefix(".").unwrap_or(&place).display().to_string();
        let bytes = world.read(&place).map_err(|e| {
            Diagnostic::error("package-file-unreadable", format!("cannot read `{shown}`: {e}"))
        })?;
        let source = sources
            .add_bytes(shown, bytes)
            .map_err(|d| d.help(format!("name it in {IGNORE} if it is not configuration")))?;
        if templates == Templates::PassedOver && is_chart_template(world, &place, source.text()) {
            return Ok(Content::Template);
        }
        let parsed = krm_yaml::parse(&source);
        if !is_configuration(&path, &source, parsed.as_deref()) {
            return Ok(Content::Other);
        }
        Ok(Content::Configuration(File { documents: parsed?, path }))
    }
}

/// Whether a file of a folder holds configuration. YAML does. In JSON, programs of every kind keep their settings, some of
/// them with comments, so it has to look like a resource.
pub fn is_configuration(
    path: &str,
    source: &Source,
    parsed: std::result::Result<&[Document], &Diagnostic>,
) -> bool {
    const TYPE: [&str; 2] = ["apiVersion", "kind"];
    if !path.ends_with(".json") {
        return true;
    }
    match parsed {
        Ok(documents) => {
            documents.iter().any(|document| TYPE.iter().any(|key| document.root.get(key).is_some()))
        }
        Err(_) => TYPE.iter().all(|key| source.text().contains(&format!("\"{key}\""))),
    }
}

/// The paths of the resources in a document. A list whose items do not say their kind is one resource: an item alone would
/// not be one.
fn item_paths(document: &Document) -> Vec<ItemPath> {
    let (mut paths, mut all_say_kind) = (Vec::new(), true);
    for_each_resource(&document.root, &mut |path, node, _| {
        all_say_kind &= node.get("kind").and_then(Node::text).is_some_and(|kind| !kind.is_empty());
        paths.push(path.clone());
    });
    if all_say_kind { paths } else { vec![ItemPath::new()] }
}

/// Whether a document is a Kubernetes object. Others may lie around in a package and are left alone; but one that half
/// looks like an object is a mistake.
fn is_resource(document: &Document) -> Result<bool> {
    let root = &document.root;
    let text = |key| root.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    match (text("apiVersion"), text("kind")) {
        (_, Some(_)) => Ok(true),
        (None, None) => Ok(false),
        (Some(_), None) => {
            Err(Diagnostic::error("resource-without-kind", "a resource has an apiVersion but no kind")
                .at(root.span())
                .help(format!("add its kind, or name the file in {IGNORE}")))
        }
    }
}

/// The diagnostic for a file or folder whose name is not text.
fn bad_name(place: &Path) -> Diagnostic {
    let message = format!("the name `{}` is not UTF-8", place.display());
    Diagnostic::error("package-file-name", message).help(format!("rename it, or name it in {IGNORE}"))
}

struct Walk<'w> {
    world: &'w dyn World,
    endings: &'w [&'w str],
    paths: Vec<String>,
    /// Those that are links.
    links: Vec<String>,
}

/// The patterns that hold in a folder, and the folder they are relative to.
#[derive(Default)]
pub(crate) struct Ignored {
    patterns: Ignore,
    base: String,
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("package-folder-unreadable", format!("cannot read `{}`: {error}", path.display()))
}

impl Ignored {
    /// What a package leaves out.
    pub(crate) fn read(world: &dyn World, dir: &Path, base: &str) -> Result<Self> {
        let file = dir.join(IGNORE);
        let patterns = match world.is_file(&file) {
            true => {
                let bytes = world.read(&file).map_err(|error| unreadable(&file, &error))?;
                Ignore::parse(&decode_lossy(bytes)).map_err(|BadPattern { line, why }| {
                    let message = format!("line {line} of `{}` is not a pattern: {why}", file.display());
                    Diagnostic::error("ignore-bad-pattern", message)
                        .help("patterns are written as in `.gitignore`; put `\\` before a special character that is meant literally")
                })?
            }
            false => Ignore::default(),
        };
        Ok(Self { patterns, base: base.to_owned() })
    }

    pub(crate) fn names(&self, path: &str, kind: EntryKind) -> bool {
        let relative = path.strip_prefix(&self.base).unwrap_or(path).trim_start_matches('/');
        self.patterns.matches(relative, kind)
    }
}

impl<'w> Walk<'w> {
    fn of(world: &'w dyn World, root: &Path, endings: &'w [&'w str]) -> Result<Self> {
        let mut walk = Walk { world, endings, paths: Vec::new(), links: Vec::new() };
        walk.folder(root, "", &Ignored::default())?;
        Ok(walk)
    }

    fn folder(&mut self, dir: &Path, below: &str, outer: &Ignored) -> Result<()> {
        let entries = self.world.list(dir).map_err(|error| unreadable(dir, &error))?;
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let inner = match below.is_empty() || PACKAGE_FILES.iter().any(|name| has(name)) {
            true => &Ignored::read(self.world, dir, below)?,
            false => outer,
        };
        // What git keeps for itself is not configuration, whatever it is called.
        for entry in entries.into_iter().filter(|entry| entry.name != ".git") {
            let place = dir.join(&entry.name);
            let name = entry.name.to_string_lossy();
            let path = if below.is_empty() { name.clone().into_owned() } else { format!("{below}/{name}") };
            let is_config = self.endings.iter().any(|ending| name.ends_with(ending));
            let is_folder = entry.kind == EntryKind::Folder;
            // A package below is left out by nobody but itself.
            let own = || PACKAGE_FILES.iter().any(|file| self.world.is_file(&place.join(file)));
            if (!is_folder && !is_config) || (inner.names(&path, entry.kind) && !(is_folder && own())) {
                continue;
            }
            if entry.name.to_str().is_none() {
                // Skipping it would silently lose what is in it.
                return Err(bad_name(&place));
            }
            match entry.kind {
                EntryKind::Folder => self.folder(&place, &path, inner)?,
                EntryKind::File => self.paths.push(path),
                // Links to folders are not followed: they may lead anywhere, and round in circles.
                EntryKind::Link if self.world.is_file(&place) => {
                    self.links.push(path.clone());
                    self.paths.push(path);
                }
                EntryKind::Link | EntryKind::Other => {}
            }
        }
        Ok(())
    }
}
