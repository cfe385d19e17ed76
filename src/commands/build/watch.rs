//! `krm build --watch`: builds again what a change reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use krm_engine::files::relative;
use krm_engine::graph::changed_fields;
use krm_engine::lint::warnings::Strictness;
use krm_engine::page::{Wanted, page};
use krm_engine::{
    BuildOptions, Dependencies, Diagnostic, Resource, Resources, Result, Session, World, emit, lint,
};
use rustc_hash::FxHashMap;

use super::after_change::{self, Messenger, News};
use super::{Destination, files, output, world_and_options};
use crate::cli::BuildArgs;
use crate::commands::diff;
use crate::os::{self, Disk, Watch};
use crate::page::{Mode, html};
use crate::report::{self, Report};

/// A target as it was last built.
struct State {
    name: String,
    /// The last result that was good.
    good: Option<Resources>,
    fails: bool,
    dependencies: Option<Arc<Dependencies>>,
}

struct Watching<'a> {
    args: &'a BuildArgs,
    report: &'a Report,
    options: BuildOptions,
    world: Arc<Disk>,
    targets: Vec<State>,
    /// Warnings of the last round: they are shown when they are new.
    warned: BTreeSet<String>,
    /// What was written by us, so that no more is written or removed than changes.
    written: BTreeMap<PathBuf, String>,
    /// To the command that wants to know.
    messenger: Option<Messenger>,
    /// News that was not sent yet, because it was not published yet.
    news: News,
}

/// What came of building some targets again.
#[derive(Default)]
struct Rebuilt {
    /// How many fields of the results changed.
    fields: usize,
    /// The targets whose results changed.
    changed: BTreeSet<String>,
    /// Their results as they were, if what changed is to be shown.
    before: Vec<(usize, Resources)>,
}

/// Builds, and builds again whenever a file changes that matters; never returns unless something is wrong with the command
/// itself.
pub fn run(args: &BuildArgs, report: &Report) -> Result<()> {
    if args.html.is_some() && args.targets.len() > 1 {
        let message = format!("a page shows one folder, and {} are named", args.targets.len());
        return Err(Diagnostic::error("watch-html", message).help("watch one folder, or use `krm serve`"));
    }
    std::thread::scope(|scope| {
        let start = |command: &String| after_change::start(scope, command, report);
        watch(args, report, args.exec.as_ref().map(start).transpose()?)
    })
}

fn watch(args: &BuildArgs, report: &Report, messenger: Option<Messenger>) -> Result<()> {
    let state = |name: &String| State { name: name.clone(), good: None, fails: false, dependencies: None };
    let (disk, options) = world_and_options(&args.flags, &args.targets)?;
    let mut watching = Watching {
        args,
        report,
        options,
        world: Arc::new(disk),
        targets: args.targets.iter().map(state).collect(),
        warned: BTreeSet::new(),
        written: BTreeMap::new(),
        messenger,
        news: News::default(),
    };
    let (mut watch, warning) = Watch::new(args.poll.map(Duration::from_millis));
    warning.iter().for_each(|warning| report.show(warning));
    let all: Vec<usize> = (0..watching.targets.len()).collect();
    let mut started = SystemTime::now();
    watching.build(&all);
    watching.publish()?;
    let mut is_first = true;
    loop {
        let (mut changed, warning) = watch.set(watching.paths(), started);
        warning.iter().for_each(|warning| report.show(warning));
        if std::mem::take(&mut is_first) {
            eprintln!("watching; end with Ctrl-C");
        }
        if changed.is_empty() {
            changed = watch.wait(None);
        }
        started = SystemTime::now();
        if watching.round(&changed)? && args.once {
            return Ok(());
        }
    }
}

impl Watching<'_> {
    /// Everything that was looked at, found or not.
    fn paths(&self) -> BTreeSet<PathBuf> {
        paths_of(self.targets.iter().filter_map(|target| target.dependencies.as_ref()))
    }

    /// Builds what a change reaches; says whether it came to anything.
    fn round(&mut self, changed: &[PathBuf]) -> Result<bool> {
        let start = Instant::now();
        let mut known = FxHashMap::default();
        let reached = |target: &State, known: &mut _| {
            target.dependencies.as_ref().is_none_or(|dependencies| dependencies.affected_by(changed, known))
        };
        let reached: Vec<usize> =
            (0..self.targets.len()).filter(|at| reached(&self.targets[*at], &mut known)).collect();
        if reached.is_empty() {
            return Ok(false);
        }
        let failed_before = self.targets.iter().any(|target| target.fails);
        let mut inputs = self.paths();
        let Rebuilt { fields, changed: results, before } = self.build(&reached);
        inputs.extend(self.paths());
        // Of what came and went in a folder, only what a build looks at.
        let read: Vec<PathBuf> = changed.iter().filter(|path| inputs.contains(*path)).cloned().collect();
        let changed = if read.is_empty() { changed } else { &read[..] };
        let fails = self.targets.iter().any(|target| target.fails);
        let is_new = !results.is_empty() || (failed_before && !fails);
        let files = if is_new { self.publish()? } else { 0 };
        if fields == 0 && !fails && !failed_before && files == 0 {
            return Ok(false);
        }
        self.tell(changed, results, fails);
        let count = |count: usize, what: &str| {
            if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
        };
        let said = match (fails, failed_before) {
            // What others do does not keep a result back.
            (true, _) if is_new => {
                let stays = if self.is_apart() { "" } else { "; the last result stays" };
                format!("{}; {}{stays}", count(fields, "field"), self.failing())
            }
            (true, _) => "does not build; the last result stays".to_owned(),
            (false, true) => format!("builds again, {}", count(fields, "field")),
            (false, false) => count(fields, "field"),
        };
        eprintln!(
            "{} {} → {} of {}, {said}, {} ms",
            os::clock(),
            self.named(changed),
            reached.len(),
            count(self.targets.len(), "target"),
            start.elapsed().as_millis()
        );
        if !before.is_empty() {
            let pair = |(at, old): (usize, Resources)| {
                let target = &self.targets[at];
                Some((target.name.clone(), [old, target.good.clone()?]))
            };
            let results = before.into_iter().filter_map(pair).collect();
            let text = diff::of_results(results, self.named(changed), &*self.world, self.report);
            os::print(text.as_bytes())?;
        }
        Ok(true)
    }

    /// Sends what changed to the command, once it is published.
    fn tell(&mut self, changed: &[PathBuf], results: BTreeSet<String>, fails: bool) {
        let Some(messenger) = &self.messenger else { return };
        let here = self.here();
        self.news.files.extend(changed.iter().map(|file| relative(file, &here)));
        self.news.targets.extend(results);
        if (!fails || self.is_apart()) && !self.news.targets.is_empty() {
            // The thread listens as long as there is a messenger.
            let _ = messenger.send(std::mem::take(&mut self.news));
        }
    }

    /// Whether each target is written to a file of its own, whatever becomes of others.
    fn is_apart(&self) -> bool {
        let destination = Destination::of(self.args, &self.args.targets);
        self.args.html.is_none() && matches!(destination, Ok(Destination::FilePerTarget(_)))
    }

    /// Which targets fail, in a few words.
    fn failing(&self) -> String {
        let all: Vec<&str> =
            self.targets.iter().filter(|target| target.fails).map(|target| target.name.as_str()).collect();
        match &all[..] {
            [one] => format!("{one} does not build"),
            all => format!("{} and {} more do not build", all[0], all.len() - 1),
        }
    }

    fn here(&self) -> PathBuf {
        self.world.real_path(std::path::Path::new(".")).unwrap_or_default()
    }

    /// The files that changed, in a few words.
    fn named(&self, changed: &[PathBuf]) -> String {
        let here = self.here();
        match changed {
            [] => String::new(),
            [one] => relative(one, &here),
            [first, rest @ ..] => format!("{} and {} more", relative(first, &here), rest.len()),
        }
    }

    /// Builds some targets again. Nothing is kept of the files that were read: they would add up.
    fn build(&mut self, which: &[usize]) -> Rebuilt {
        let sources = report::sources();
        let session = Session::new(self.world.clone(), sources.clone(), self.options.clone());
        let names: Vec<String> = which.iter().map(|at| self.targets[*at].name.clone()).collect();
        let built = session.build(&names);
        let mut warned = BTreeSet::new();
        let warnings = lint::warnings::judge(&*self.world, &sources, built.warnings, Strictness::Lenient);
        for warning in warnings {
            let text = format!("{}{:?}", warning.message(), warning.location());
            if !self.warned.contains(&text) {
                self.report.show(&warning);
            }
            warned.insert(text);
        }
        self.warned = warned;
        let mut rebuilt = Rebuilt::default();
        let mut errors = Vec::new();
        for (at, result) in which.iter().zip(built.targets) {
            let target = &mut self.targets[*at];
            target.dependencies = session.dependencies(&target.name);
            match result {
                Ok(resources) => {
                    let fields = target.good.as_ref().map_or(0, |old| differing(old, &resources));
                    rebuilt.fields += fields;
                    if fields > 0 || target.good.is_none() {
                        rebuilt.changed.insert(target.name.clone());
                    }
                    let old = target.good.replace(resources).filter(|_| self.args.diff && fields > 0);
                    rebuilt.before.extend(old.map(|old| (*at, old)));
                    target.fails = false;
                }
                Err(error) => {
                    errors.push((*at, error));
                    target.fails = true;
                }
            }
        }
        let errors = errors.into_iter().map(|(at, error)| (self.targets[at].name.as_str(), error));
        if let Some(error) = self.report.joined(errors) {
            self.report.show(&error);
        }
        rebuilt
    }

    /// Prints or writes the results. If a target fails, its last one stays; and so do all that are written together.
    /// Gives how many files were written.
    fn publish(&mut self) -> Result<usize> {
        if self.targets.iter().any(|target| target.fails) && !self.is_apart() {
            return Ok(0);
        }
        if let Some(file) = &self.args.html {
            self.write_page(file)?;
            return Ok(0);
        }
        let done: Vec<Resources> = self.targets.iter().filter_map(|target| target.good.clone()).collect();
        let Some(path) = &self.args.output else {
            if !self.args.diff {
                os::print_all(&emit(&done)?)?;
            }
            return Ok(0);
        };
        let all: BTreeMap<PathBuf, String> = match self.is_apart() {
            true => {
                let names = output::file_names(&self.args.targets)?.into_iter().map(|name| path.join(name));
                let good =
                    names.zip(&self.targets).filter_map(|(name, target)| Some((name, target.good.as_ref()?)));
                good.map(|(name, items)| Ok((name, emit([items])?.concat()))).collect::<Result<_>>()?
            }
            false => files(path, self.args, &done)?.into_iter().collect(),
        };
        let changed = all.iter().filter(|(file, text)| self.written.get(*file) != Some(*text));
        let changed: Vec<(PathBuf, String)> =
            changed.map(|(file, text)| (file.clone(), text.clone())).collect();
        let gone: Vec<PathBuf> =
            self.written.keys().filter(|file| !all.contains_key(*file)).cloned().collect();
        let count = changed.len() + gone.len();
        if count > 0 {
            match &changed[..] {
                [(file, text)] if file == path => os::write(file, text.as_bytes())?,
                _ => drop(output::write(path, &changed, &gone)?),
            }
        }
        self.written = all;
        Ok(count)
    }
}

impl Watching<'_> {
    /// Writes the page of the one target, as `krm explain --html` does.
    fn write_page(&self, file: &Path) -> Result<()> {
        let sources = report::sources();
        let session = Session::new(self.world.clone(), sources.clone(), self.options.clone());
        let name = &self.targets[0].name;
        let (built, trace) = session.trace(name);
        let wanted = Wanted {
            target: name,
            home: &self.here(),
            depth: 3,
            show_secrets: false,
            mask: &[],
            warnings: &session.warnings_of(name),
            failure: built.as_ref().err(),
            start: None,
        };
        os::write(file, html(&page(&trace, &sources, &wanted), Mode::File).as_bytes())
    }
}

/// Everything on this machine that some builds looked at, found or not.
pub fn paths_of<'d>(all: impl Iterator<Item = &'d Arc<Dependencies>>) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    let mut known = FxHashMap::default();
    for part in all.flat_map(Dependencies::all) {
        if known.insert(Arc::as_ptr(&part), ()).is_none() {
            paths.extend(part.paths().into_iter().map(|(path, _)| path));
            paths.extend(part.listed());
            part.programs().folders.into_iter().for_each(|folder| add_all(folder, &mut paths));
        }
    }
    paths.retain(|path| path.is_absolute());
    paths
}

/// Adds a folder that a program sees, with everything in it.
fn add_all(folder: PathBuf, paths: &mut BTreeSet<PathBuf>) {
    let mut waiting = vec![folder];
    while let Some(path) = waiting.pop() {
        // Links are not followed: they could lead in a circle.
        if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()));
        }
        paths.insert(path);
    }
}

/// How many fields differ between two results. Resources are paired by the ids they had at first; those that are left, in the
/// order of each kind, since a name may have changed where it is written.
fn differing(old: &Resources, new: &Resources) -> usize {
    let mut left: FxHashMap<String, Vec<&Resource>> = FxHashMap::default();
    old.iter().for_each(|r| left.entry(r.original_id().to_string()).or_default().push(r));
    let mut fields = 0;
    let mut unpaired = Vec::new();
    for r in new.iter() {
        let candidates = left.entry(r.original_id().to_string()).or_default();
        let same = candidates.iter().position(|old| old.id() == r.id());
        match same.or((!candidates.is_empty()).then_some(0)) {
            Some(at) => fields += changed_fields(candidates.remove(at).node(), r.node()),
            None => unpaired.push(r),
        }
    }
    let is_left = |r: &&Resource| left.values().flatten().any(|other| std::ptr::eq(*other, *r));
    let mut gone: Vec<&Resource> = old.iter().filter(is_left).collect();
    for r in unpaired {
        fields += match gone.iter().position(|old| old.gvk() == r.gvk()) {
            Some(at) => changed_fields(gone.remove(at).node(), r.node()),
            None => 1,
        };
    }
    fields + gone.len()
}

/// Diagnostics are about the command line here; the files themselves are reported while watching.
pub fn refuse_addresses(targets: &[String]) -> Result<()> {
    match targets.iter().find(|target| target.contains("://")) {
        None => Ok(()),
        Some(address) => Err(Diagnostic::error(
            "watch-remote",
            format!("`{address}` cannot be watched: it is not on this machine"),
        )
        .help("watch folders, or build it without `--watch`")),
    }
}
