//! `krm lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use krm_engine::files::{ChartAddress, EntryKind, Repository};
use krm_engine::policy::Limits;
use krm_engine::runtime::{Argument, Permission, Scratch, Tool, run_tool};
use krm_engine::workspace::Elsewhere;
use krm_engine::workspace::{VENDORED, Workspace};
use krm_engine::{Diagnostic, Node, Result, Span, World, kpt, pull_args};
use krm_function::annotations::{FUNCTION, LEGACY_CONTAINER, LEGACY_FUNCTION};
use krm_yaml::{Failure, decode, decode_lossy};

use super::vendor;
use crate::os::content::Listing;
use crate::os::locked::{self, Locked};
use crate::os::lockfile::{self, Chart, LockFile, Remote, Resolved, short};
use crate::os::registry::Registry;
use crate::os::{self, Disk};
use crate::report::{Report, Spinner};

/// Record what is fetched from elsewhere, so that every build gets the same
///
/// `krm.lock`, at the top of the repository, records for every repository, file, chart and image that kustomizations and functions
/// name which commit or digest it is, and the SHA-256 of its content; the same for what these name in turn. Builds that find the
/// file take exactly that, from a cache if it was fetched before.
///
/// What is locked stays as it is until it is updated; what nobody names any more is dropped.
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::LOCK)]
pub struct LockArgs {
    /// Lock what these folders need, and leave other entries alone; the whole repository if none is given
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Look up what addresses mean now: all of them, or those that contain one of these texts
    #[arg(long, value_name = "NAME", num_args = 0..)]
    update: Option<Vec<String>>,

    /// Write nothing; fail if the file would change
    #[arg(long)]
    check: bool,

    /// Make no connection; fail if something is neither locked nor on this machine
    #[arg(long)]
    offline: bool,

    /// Lock helm charts too, with the `helm` program
    #[arg(long)]
    enable_helm: bool,

    /// The helm program
    #[arg(long, default_value = "helm", value_name = "PROGRAM")]
    helm_command: String,
}

pub fn run(args: &LockArgs, report: &Report) -> Result<()> {
    let here = [PathBuf::from(".")];
    let dirs: &[PathBuf] = if args.dirs.is_empty() { &here } else { &args.dirs };
    for dir in dirs {
        os::absolute(dir)?;
    }
    let file = lockfile::find(&dirs[0]).unwrap_or_else(|| lockfile::home(&dirs[0]).join(lockfile::NAME));
    let root = file.parent().unwrap_or(Path::new("/")).to_owned();
    let before = before(&file, args.check)?;
    let stays = without_updated(&before, args.update.as_deref())?;
    let disk = Disk::locking(Locked::new(stays, root.clone()).offline(args.offline).with_current_copies());
    let spinner = Spinner::start("fetching what kustomizations name".to_owned());
    let scanned = if args.dirs.is_empty() { vec![root.clone()] } else { args.dirs.clone() };
    let found = find(&disk, &scanned, report)?;
    let mut after = Locking { disk: &disk, args, errors: Vec::new() }.resolve(found)?;
    drop(spinner);
    if !args.dirs.is_empty() {
        keep_others(&mut after, &before);
    }
    let changes = changes(&before, &after);
    if args.check {
        return match changes.is_empty() {
            true => Ok(()),
            false => {
                let message = format!("`{}` is out of date", locked::shown(&file));
                let error = Diagnostic::error("lock-outdated", message);
                let error = changes.into_iter().fold(error, |error, change| error.note(change, Span::NONE));
                Err(error.help(match args.update.is_some() {
                    true => "run `krm lock --update`, check what changes, and commit the file",
                    false => "run `krm lock`, and commit the file",
                }))
            }
        };
    }
    changes.iter().for_each(|change| eprintln!("{change}"));
    if after.is_empty() && !file.exists() {
        eprintln!("nothing is fetched from elsewhere: there is nothing to lock");
        return Ok(());
    }
    let text = after.text()?;
    if os::read(&file).is_ok_and(|there| there == text.as_bytes()) {
        eprintln!("`{}` is up to date", locked::shown(&file));
        say_what_follows(&root, &after);
        return Ok(());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    os::write_into(folder, lockfile::NAME, text.as_bytes())?;
    let (remotes, charts, images) = (after.remotes.len(), after.charts.len(), after.images.len());
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    eprintln!(
        "wrote `{}`: {}, {}, {}",
        locked::shown(&file),
        count(remotes, "address").replace("addresss", "addresses"),
        count(charts, "chart"),
        count(images, "image")
    );
    say_what_follows(&root, &after);
    Ok(())
}

/// Copies in the tree do not follow by themselves: they are committed, and the person who does that has to know.
fn say_what_follows(root: &Path, lock: &LockFile) {
    if vendor::is_outdated(root, lock) {
        eprintln!("`{}` is out of date now: run `krm vendor`", locked::shown(&root.join(VENDORED)));
    }
}

/// The lock file as it is. Writing it again repairs one that cannot be read; checking does not.
fn before(file: &Path, is_check: bool) -> Result<LockFile> {
    if !file.exists() {
        return Ok(LockFile::default());
    }
    match locked::read(file) {
        Err(error) if error.failure() == Some(Failure::InConflict) && !is_check => {
            let text = decode_lossy(os::read(file).unwrap_or_default());
            let Resolved { lock, decisions } = lockfile::resolve_conflicts(&text);
            decisions.iter().for_each(|decision| eprintln!("{decision}"));
            Ok(lock)
        }
        Err(error) if error.failure() == Some(Failure::Malformed) && !is_check => {
            eprintln!("{}: everything is looked up anew", error.message());
            Ok(LockFile::default())
        }
        lock => lock,
    }
}

/// The entries that stay as they are.
fn without_updated(before: &LockFile, update: Option<&[String]>) -> Result<LockFile> {
    let Some(names) = update else { return Ok(before.clone()) };
    if names.is_empty() {
        return Ok(LockFile::default());
    }
    let mut unknown: BTreeSet<&String> = names.iter().collect();
    let is_named = |address: &str, name: &str| {
        let contains = !name.is_empty() && address.contains(name);
        // An address may be named as a kustomization has it, with a folder and a password.
        contains || address == locked_as(name)
    };
    let mut stays = |address: &str| {
        let named: Vec<&String> = names.iter().filter(|name| is_named(address, name)).collect();
        unknown.retain(|name| !named.contains(name));
        named.is_empty()
    };
    let mut after = before.clone();
    after.remotes.retain(|address, _| stays(address));
    after.charts.retain(|chart, _| stays(&lockfile::chart_name(chart)));
    after.images.retain(|image, _| stays(image));
    match unknown.first() {
        None => Ok(after),
        Some(name) => {
            Err(Diagnostic::error("lock-no-entry", format!("no entry of krm.lock contains `{name}`"))
                .help("`--update` without a name updates all entries"))
        }
    }
}

/// The address that an entry has for one that a kustomization names.
fn locked_as(address: &str) -> String {
    match Repository::parse(address) {
        Some(repository) => lockfile::repository_address(&repository),
        None => lockfile::without_secrets(address),
    }
}

/// What the kustomizations and packages in some folders need from elsewhere.
fn find(disk: &Disk, dirs: &[PathBuf], report: &Report) -> Result<Elsewhere> {
    let mut folders = Vec::new();
    let mut images = Elsewhere::default();
    for dir in dirs {
        let workspace = Workspace::scan(disk, &report.sources, dir)?;
        folders.extend(workspace.layers().map(|layer| layer.folder.clone()));
        declared_functions(disk, dir, report, &mut images)?;
    }
    let mut found = Elsewhere::of(disk, &report.sources, folders)?;
    found.images.extend(images.images);
    Ok(found)
}

/// What a file must contain for a function to be declared in it.
const DECLARES: [&str; 4] = [FUNCTION, LEGACY_FUNCTION, LEGACY_CONTAINER, "configFn"];

/// The images of functions that resources of a folder declare for `krm fn run`, and Kptfiles for `krm fn render`.
fn declared_functions(disk: &Disk, dir: &Path, report: &Report, found: &mut Elsewhere) -> Result<()> {
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in disk.list(&folder).unwrap_or_default() {
            let path = folder.join(&entry.name);
            let is_hidden = entry.name.to_string_lossy().starts_with('.');
            let is_yaml = path.extension().is_some_and(|e| e == "yaml" || e == "yml");
            match entry.kind {
                EntryKind::Folder if !is_hidden && !path.ends_with(VENDORED) => open.push(path),
                EntryKind::File if is_yaml || entry.name == kpt::FILE => functions_of(&path, report, found)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn functions_of(file: &Path, report: &Report, found: &mut Elsewhere) -> Result<()> {
    let text = os::read(file).ok().and_then(|bytes| decode(bytes).ok()).unwrap_or_default();
    let is_kptfile = file.ends_with(kpt::FILE);
    let declares = text.contains("image") && DECLARES.iter().any(|word| text.contains(word));
    if !is_kptfile && !declares {
        return Ok(());
    }
    let source = report.sources.add(locked::shown(file), text);
    // Files that are not configuration need not be YAML.
    for document in krm_yaml::parse(&source).unwrap_or_default() {
        match is_kptfile {
            false => found.add_images(&document.root)?,
            true => {
                let lists = ["mutators", "validators"].map(|list| document.root.at(["pipeline", list]));
                let steps = lists.into_iter().flatten().flat_map(Node::items);
                for image in steps.filter_map(|step| step.get("image")) {
                    let name = image.as_str().unwrap_or_default();
                    // Short names depend on flags, and so do ranges of tags.
                    let is_whole = name.contains('/') && name[name.rfind('/').unwrap_or(0)..].contains(':');
                    if is_whole {
                        found.images.entry(name.to_owned()).or_insert(image.span());
                    }
                }
            }
        }
    }
    Ok(())
}

struct Locking<'l> {
    disk: &'l Disk,
    args: &'l LockArgs,
    errors: Vec<Diagnostic>,
}

impl Locking<'_> {
    /// The entries for what was found. What is locked already stays.
    fn resolve(mut self, found: Elsewhere) -> Result<LockFile> {
        let known = self.disk.locked()?.expect("it was made with one");
        self.compare(&found, &known.lock);
        let (mut remotes, mut charts, mut images) = (Entries::new(), Entries::new(), BTreeMap::new());
        for (repository, fetched, place) in found.repositories.into_values() {
            let address = lockfile::repository_address(&repository);
            let remote = match known.lock.repository(&repository) {
                Some((_, remote)) => Ok(remote.clone()),
                None => Listing::of(&fetched.folder, &address).map(|listing| {
                    known.put_tree(&listing, &fetched.folder);
                    Remote { commit: Some(fetched.revision), content: listing.digest() }
                }),
            };
            let added =
                remote.and_then(|remote| add(&mut remotes, &address, address.clone(), (remote, place)));
            self.errors.extend(added.err());
        }
        for (address, (download, place)) in found.files {
            known.put_file(&download.bytes);
            let address = lockfile::without_secrets(&address);
            let remote = Remote { commit: None, content: download.digest };
            self.errors.extend(add(&mut remotes, &address, address.clone(), (remote, place)).err());
        }
        for (chart, place) in found.charts {
            let (name, address) = (lockfile::chart_name(&chart), lockfile::chart_address(&chart));
            let locked = self.chart(known, &chart).map_err(|error| error.at(place));
            let added = locked.and_then(|locked| match locked {
                Some(locked) => add(&mut charts, &name, address, (locked, place)),
                None => Ok(()),
            });
            self.errors.extend(added.err());
        }
        for (image, place) in found.images.into_iter().filter(|(image, _)| !image.contains('@')) {
            match self.image(known, &image) {
                Ok(digest) => drop(images.insert(image, digest)),
                Err(error) => self.errors.push(error.at(place)),
            }
        }
        let lock = LockFile { remotes: without_places(remotes), charts: without_places(charts), images };
        match Diagnostic::join(self.errors) {
            Some(errors) => Err(errors),
            None => Ok(lock),
        }
    }

    /// Looks up addresses that share an entry without it: an entry that is there already hides that they lead to different
    /// content.
    fn compare(&mut self, found: &Elsewhere, known: &LockFile) {
        if self.args.offline {
            return;
        }
        let unlocked = Disk::locking(Locked::new(LockFile::default(), PathBuf::new()));
        let (mut remotes, mut charts) = (Entries::new(), Entries::new());
        let repositories = found.repositories.values().filter(|(one, ..)| known.repository(one).is_some());
        for (repository, _, place) in shared(repositories, |(one, ..)| lockfile::repository_address(one)) {
            let address = lockfile::repository_address(repository);
            let remote = unlocked.fetch(repository).and_then(|fetched| {
                let content = Listing::of(&fetched.folder, &address)?.digest();
                Ok(Remote { commit: Some(fetched.revision), content })
            });
            let remote = remote.map_err(|error| error.at(*place));
            let same =
                remote.and_then(|remote| add(&mut remotes, &address, address.clone(), (remote, *place)));
            self.errors.extend(same.err());
        }
        let files = found.files.iter().filter(|(address, _)| known.file(address).is_some());
        for (address, (_, place)) in shared(files, |(address, _)| lockfile::without_secrets(address)) {
            let file = unlocked.get(address).map_err(|error| error.at(*place));
            let remote = file.map(|file| Remote { commit: None, content: file.digest });
            let address = lockfile::without_secrets(address);
            let same =
                remote.and_then(|remote| add(&mut remotes, &address, address.clone(), (remote, *place)));
            self.errors.extend(same.err());
        }
        // Only helm can tell.
        let with_helm = self.args.enable_helm;
        let locked = found.charts.iter().filter(|(chart, _)| with_helm && known.chart(chart).is_some());
        for (chart, place) in shared(locked, |(chart, _)| lockfile::chart_address(chart)) {
            let (name, address) = (lockfile::chart_name(chart), lockfile::chart_address(chart));
            let content = self.pulled(chart).map_err(|error| error.at(*place));
            let same =
                content.and_then(|(_, listing)| add(&mut charts, &name, address, (listing.digest(), *place)));
            self.errors.extend(same.err());
        }
    }

    fn image(&self, known: &Locked, image: &str) -> Result<String> {
        match known.lock.images.get(image) {
            Some(digest) => Ok(digest.clone()),
            None if self.args.offline => Err(locked::missing_offline(image, Some(known))),
            None => {
                let helper = crate::cli::credential_helper();
                Ok(Registry::of(image, helper.as_deref()).config()?.digest)
            }
        }
    }

    /// A chart that is locked, or is now; `None` if helm may not run for it.
    fn chart(&self, known: &Locked, address: &ChartAddress) -> Result<Option<Chart>> {
        let locked = known.lock.chart(address);
        if locked.is_some() && known.chart(address)?.is_some() {
            return Ok(locked.cloned());
        }
        let name = lockfile::chart_name(address);
        if self.args.offline {
            return Err(locked::missing_offline(&name, Some(known)));
        }
        if !self.args.enable_helm {
            if locked.is_none() {
                eprintln!(
                    "chart `{name}` is not locked: helm pulls it, with your rights, if you pass `--enable-helm`"
                );
            }
            return Ok(locked.cloned());
        }
        let (scratch, listing) = self.pulled(address)?;
        let folder = chart_folder(&scratch, address);
        if let Some(locked) = locked {
            known.check_chart(address, &folder)?;
            return Ok(Some(locked.clone()));
        }
        known.put_tree(&listing, &folder);
        let about = os::read(&folder.join("Chart.yaml")).ok().and_then(|bytes| decode(bytes).ok());
        let about = about.and_then(|text| krm_yaml::parse_str(&text).ok()?.into_iter().next());
        let resolved = about.as_ref().and_then(|about| about.root.get("version")).and_then(Node::text);
        let resolved = resolved.unwrap_or(&address.version).to_owned();
        Ok(Some(Chart { resolved, content: listing.digest() }))
    }

    /// Pulls a chart into a folder that is gone when it is dropped.
    fn pulled(&self, address: &ChartAddress) -> Result<(Scratch, Listing)> {
        let scratch = Scratch::new("krm-chart")?;
        self.pull(address, scratch.path())?;
        let listing = Listing::of(&chart_folder(&scratch, address), &lockfile::chart_name(address))?;
        Ok((scratch, listing))
    }

    fn pull(&self, address: &ChartAddress, home: &Path) -> Result<()> {
        let program = &self.args.helm_command;
        let tool = Tool {
            program: program.clone(),
            args: pull_args(address, home).into_iter().map(Argument::Text).collect(),
            needs: Permission::Given,
            ..Tool::default()
        };
        let name = lockfile::chart_name(address);
        let failed = |why: String| {
            Diagnostic::error("chart-not-pulled", format!("chart `{name}` cannot be pulled: {why}"))
                .help("install helm 3 or 4, or say where it is with `--helm-command`")
        };
        let output = run_tool(&tool, Vec::new(), &Limits::default(), os::supervisor().as_deref())?
            .map_err(|error| failed(format!("`{program}` cannot be started: {error}")))?;
        match output.status.is_success() {
            true => Ok(()),
            false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }
}

/// Where helm puts a chart that is pulled into a folder.
fn chart_folder(home: &Scratch, chart: &ChartAddress) -> PathBuf {
    home.path().join(chart.name.rsplit('/').next().unwrap_or_default())
}

/// Those that have the entry of another, as `entry` names it.
fn shared<T, K: Ord>(all: impl Iterator<Item = T>, entry: impl Fn(&T) -> K) -> impl Iterator<Item = T> {
    let mut by_entry: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for one in all {
        by_entry.entry(entry(&one)).or_default().push(one);
    }
    by_entry.into_values().filter(|those| those.len() > 1).flatten()
}

/// Entries, each with the place that names it.
type Entries<K, V> = BTreeMap<K, (V, Span)>;

/// Adds an entry. Addresses that differ only in what is masked share one, which is wrong if they do not lead to the same.
fn add<K: Ord, V: PartialEq>(
    entries: &mut Entries<K, V>,
    name: &str,
    key: K,
    entry: (V, Span),
) -> Result<()> {
    match entries.get(&key) {
        Some((other, place)) if *other != entry.0 => {
            let message =
                format!("two addresses that have the same entry `{name}` lead to different content");
            Err(Diagnostic::error("lock-ambiguous", message)
                .at(entry.1)
                .note("the other one", *place)
                .help("use addresses that differ in more than their user, password or token"))
        }
        Some(_) => Ok(()),
        None => {
            entries.insert(key, entry);
            Ok(())
        }
    }
}

fn without_places<K: Ord, V>(entries: Entries<K, V>) -> BTreeMap<K, V> {
    entries.into_iter().map(|(key, (value, _))| (key, value)).collect()
}

/// Entries of folders that were not looked at.
fn keep_others(after: &mut LockFile, before: &LockFile) {
    for (address, remote) in &before.remotes {
        after.remotes.entry(address.clone()).or_insert_with(|| remote.clone());
    }
    for (address, chart) in &before.charts {
        after.charts.entry(address.clone()).or_insert_with(|| chart.clone());
    }
    for (image, digest) in &before.images {
        after.images.entry(image.clone()).or_insert_with(|| digest.clone());
    }
}

/// What differs, a line each.
fn changes(before: &LockFile, after: &LockFile) -> Vec<String> {
    type Entries = Vec<(String, String)>;
    let entries = |lock: &LockFile| -> Entries {
        let remotes = lock
            .remotes
            .iter()
            .map(|(address, remote)| (address.clone(), short(remote.version()).to_owned()));
        let charts =
            lock.charts.iter().map(|(address, chart)| (lockfile::chart_name(address), chart.shown()));
        let images = lock.images.iter().map(|(image, digest)| (image.clone(), short(digest).to_owned()));
        remotes.chain(charts).chain(images).collect()
    };
    let (old, new) = (entries(before), entries(after));
    let of = |entries: &Entries, name: &String| {
        entries.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    };
    let mut changes = Vec::new();
    for (name, value) in &new {
        match of(&old, name) {
            None => changes.push(format!("added {name}: {value}")),
            Some(was) if was != *value => changes.push(format!("moved {name}: {was} → {value}")),
            Some(_) => {}
        }
    }
    changes.extend(
        old.iter().filter(|(name, _)| of(&new, name).is_none()).map(|(name, _)| format!("dropped {name}")),
    );
    changes
}
