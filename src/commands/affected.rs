//! `krm affected`: which targets a change reaches.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use krm_engine::files::clean;
use krm_engine::files::relative;
use krm_engine::graph::{Inputs, InputsOptions, Reached};
use krm_engine::{Diagnostic, Node, Result, Sources, World};

use crate::cli::{FormatArg, OutputFormat, examples};
use crate::commands::targets::Targets;
use crate::os::git::{Git, Range, Side, SideFiles};
use crate::os::locked::Fetching;
use crate::os::{self, Disk};
use crate::report::{Report, sanitize, say};

/// List the targets that a change reaches, one folder per line
///
/// A target is reached if a file it is made of changed, came or went: its own, or one of any base or component it includes.
/// Nothing is built, started or fetched. The change is what differs between a revision and the working tree (`HEAD`, if none
/// is named), between two revisions (`A..B`), what B did since it left A (`A...B`), or a list of files. A target that cannot be
/// read counts as reached by any change.
#[derive(Debug, Args)]
#[command(after_help = examples::AFFECTED)]
pub struct AffectedArgs {
    /// A revision or two, then folders: targets, or folders that have targets below them; the current one without any
    #[arg(value_name = "[REV] [DIR...]")]
    words: Vec<String>,

    /// The revision to compare with, if a folder has the same name
    #[arg(long, value_name = "REV", conflicts_with = "files")]
    since: Option<String>,

    /// The files that changed, as seen from the current folder; `-` reads them from standard input, one per line
    #[arg(long, value_name = "FILE", num_args = 1..)]
    files: Vec<String>,

    /// Look at all targets that no other includes, in the current folder or below those named; this is the default without folders
    #[arg(long)]
    roots: bool,

    #[command(flatten)]
    output: FormatArg<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    /// With the files that reach each target
    Json,
    /// Names end in a zero byte, for `xargs -0`
    Null,
}

impl OutputFormat for Format {
    const DEFAULT: &'static str = "text";
}

/// A change, and the files it leads to.
struct Change {
    world: Arc<dyn World>,
    /// Real paths in that world.
    files: Vec<PathBuf>,
    /// What was there before, if that is known.
    before: Option<Arc<dyn World>>,
    range: Option<Range>,
}

pub fn run(args: &AffectedArgs, report: &Report) -> Result<()> {
    let (change, dirs) = args.change()?;
    let targets = Targets::find(&*change.world, &report.sources, dirs)?;
    let options = InputsOptions::default();
    let inputs =
        Inputs::of(change.world.clone(), &report.sources, &targets.workspace, &targets.names, options);
    let text = match args.output.format {
        Format::Json => {
            let reached = inputs.reached_by(&change.files);
            json(&change, &targets, &reached, dirs)
        }
        Format::Text | Format::Null => {
            let reached = inputs.reached(&change.files);
            explain_failures(&reached);
            let end = if args.output.format == Format::Null { "\0" } else { "\n" };
            reached.into_iter().map(|reached| reached.target + end).collect()
        }
    };
    os::print(text.as_bytes())
}

/// Says why targets are listed whatever changed.
fn explain_failures(reached: &[Reached]) {
    const MOST: usize = 5;
    let failing: Vec<(&str, &Diagnostic)> =
        reached.iter().filter_map(|one| Some((one.target.as_str(), one.failure.as_ref()?))).collect();
    for (target, failure) in failing.iter().take(MOST) {
        let at = failure.location().map(|at| format!(" ({at})")).unwrap_or_default();
        let message = sanitize::without_passwords(failure.message());
        say(&format!("`{target}` is always listed, because it cannot be read{at}: {message}\n"));
    }
    if failing.len() > MOST {
        say(&format!("{} more are listed because they cannot be read\n", failing.len() - MOST));
    }
}

impl AffectedArgs {
    /// The change that is meant, and the folders that are left of the command line.
    fn change(&self) -> Result<(Change, &[String])> {
        if !self.files.is_empty() {
            let world: Arc<dyn World> = Arc::new(Disk::around(&self.words));
            let here = os::current_dir()?;
            let mut files = Vec::new();
            for file in &self.files {
                match file.as_str() {
                    "-" => files.extend(listed()?),
                    file => files.push(PathBuf::from(file)),
                }
            }
            let files = files.iter().flat_map(|file| real_paths(&*world, &here.join(file))).collect();
            return Ok((Change { world, files, before: None, range: None }, &self.words));
        }
        let git = Git::open(&os::current_dir()?)?;
        let (revision, dirs) = match (&self.since, self.words.split_first()) {
            (Some(since), _) => (since.as_str(), &self.words[..]),
            (None, Some((first, rest))) if is_revision(&git, first) => (first.as_str(), rest),
            (None, _) => ("HEAD", &self.words[..]),
        };
        Ok((Change::between(&git, git.range(revision)?, dirs)?, dirs))
    }
}

/// A word that could be either is a folder, as the one thing that can be seen; `--since` says otherwise.
fn is_revision(git: &Git, word: &str) -> bool {
    let is_range = word.contains("..") && !word.contains('/') && word != "..";
    is_range || (!Path::new(word).is_dir() && git.is_revision(word)) || !Path::new(word).exists()
}

impl Change {
    fn between(git: &Git, range: Range, dirs: &[String]) -> Result<Self> {
        let fetching = Fetching { targets: dirs.to_vec(), ..Fetching::default() };
        let before = git.files(&range.from, fetching.clone())?.world;
        let SideFiles { world, root, .. } = git.files(&range.to, fetching)?;
        let files = git.changed(&range)?;
        let files = files.iter().flat_map(|file| real_paths(&*world, &root.join(file))).collect();
        Ok(Self { world, files, before: Some(before), range: Some(range) })
    }
}

/// The files that differ in a range of revisions, as real paths, and the world they are in: that of its second revision.
pub fn changed_files(range: &str) -> Result<(Arc<dyn World>, Vec<PathBuf>)> {
    let git = Git::open(&os::current_dir()?)?;
    let range = git.range(range)?;
    let SideFiles { world, root, .. } = git.files(&range.to, Fetching::default())?;
    let files = git.changed(&range)?;
    let files = files.iter().filter_map(|file| real_paths(&*world, &root.join(file)).pop()).collect();
    Ok((world, files))
}

/// All targets that are meant, and those of them that changed since a revision: in the working tree, with everything that is
/// not ignored. `REV...` means the point at which the current branch left REV.
pub fn changed_since(
    revision: &str,
    dirs: &[String],
    sources: &Sources,
) -> Result<(Vec<String>, Vec<String>)> {
    if revision.contains("..") && !revision.ends_with("...") {
        let message = format!("`{revision}` names two revisions, and what is built is the working tree");
        return Err(Diagnostic::error("changed-since-range", message)
            .help("name one revision, or `REV...` for the point at which the current branch left it"));
    }
    let git = Git::open(&os::current_dir()?)?;
    let range = git.range(revision)?;
    let change = Change::between(&git, Range { from: range.from, to: Side::WorkTree }, dirs)?;
    let targets = Targets::find(&*change.world, sources, dirs)?;
    let options = InputsOptions::default();
    let inputs = Inputs::of(change.world.clone(), sources, &targets.workspace, &targets.names, options);
    let changed = inputs.reached(&change.files).into_iter().map(|reached| reached.target).collect();
    Ok((targets.names, changed))
}

/// File names on standard input: one a line, or each ended by a zero byte.
fn listed() -> Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| {
        Diagnostic::error("input-unreadable", format!("cannot read standard input: {error}"))
    })?;
    let end = if bytes.contains(&0) { 0 } else { b'\n' };
    let names = bytes.split(|byte| *byte == end).map(|name| match end {
        0 => name,
        _ => name.strip_suffix(b"\r").unwrap_or(name),
    });
    Ok(names.filter(|name| !name.is_empty()).map(|name| PathBuf::from(os::os_string(name))).collect())
}

/// A path as it was given, and the real one as far as the file is there: it may be a link, or be gone.
pub fn real_paths(world: &dyn World, path: &Path) -> Vec<PathBuf> {
    let path = clean(path);
    let found = path.ancestors().find_map(|above| Some((above, world.real_path(above).ok()?)));
    let real = found.and_then(|(above, real)| {
        let rest = path.strip_prefix(above).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    let mut paths = vec![path.clone()];
    paths.extend(real.filter(|real| *real != path));
    paths
}

const FORMAT: &str = "krm.affected/1";

fn json(change: &Change, targets: &Targets, reached: &[Reached], dirs: &[String]) -> String {
    let here = change.world.real_path(Path::new(".")).unwrap_or_default();
    let mut object = Node::map();
    object.set("format", FORMAT);
    if let Some(range) = &change.range {
        object.set("from", range.from.name());
        object.set("to", range.to.name());
    }
    object.set("of", targets.names.len() as i64);
    let one = |reached: &Reached| {
        let mut data = Node::map();
        data.set("directory", reached.target.as_str());
        data.set("reason", if reached.failure.is_some() { "fails" } else { "changed" });
        if let Some(failure) = &reached.failure {
            data.set("message", &*sanitize::without_passwords(failure.message()));
        }
        let mut files: Vec<String> = reached.files.iter().map(|file| relative(file, &here)).collect();
        files.sort();
        files.dedup();
        data.set("files", Node::from(files.into_iter().map(Node::from).collect::<Vec<_>>()));
        data
    };
    object.set("targets", Node::from(reached.iter().map(one).collect::<Vec<_>>()));
    object.set(
        "removed",
        Node::from(removed(change, targets, dirs).into_iter().map(Node::from).collect::<Vec<_>>()),
    );
    krm_yaml::json::pretty(&object) + "\n"
}

/// The targets that were there before the change, and are no longer.
fn removed(change: &Change, targets: &Targets, dirs: &[String]) -> Vec<String> {
    let Some(before) = &change.before else { return Vec::new() };
    let Ok(old) = Targets::find(&**before, &Sources::new(), dirs) else { return Vec::new() };
    let is_there = |name: &String| {
        let real = change.world.real_path(Path::new(name)).ok();
        real.is_some_and(|real| targets.workspace.layer(&real).is_some())
    };
    old.names.into_iter().filter(|name| !is_there(name)).collect()
}
