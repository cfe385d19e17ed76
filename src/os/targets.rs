//! Outputs of builds, kept for the next time, with everything a build looked at.
//!
//! A record says of a target what the last builds of it looked at, in which state each of that was, and what came out. If
//! all of it is in that state again, so is the output: a build is a function of what it looks at, also of what it looked for
//! and did not find. States are digests of content, never times, so records hold in another checkout as well.
//!
//! ```text
//! CACHE/store/v1/targets/9a/4c02...    the record of a target, by the digest of krm, options and the target's path
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use krm_engine::Dependencies;
use krm_engine::files::{clean, hex};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::content::{Listing, sha256};
use super::store::{Kept, Store};
use super::{Disk, lockfile};

const FORMAT: &str = "krm target 1";
/// So many builds of a target are remembered: a branch and its parent, mostly.
const VARIANTS: usize = 4;

/// The outputs of targets.
pub struct Targets<'d> {
    store: Store,
    disk: &'d Disk,
    /// What paths in records are relative to: the top of the repository.
    root: PathBuf,
    here: PathBuf,
    /// All that a record's name depends on, apart from the target.
    options: String,
    started: SystemTime,
    states: Mutex<FxHashMap<String, Arc<OnceLock<String>>>>,
}

/// What a look-up gave.
pub enum Found {
    Kept {
        output: Vec<u8>,
        warnings: String,
        /// How much was looked at.
        inputs: usize,
    },
    /// Why it has to be built.
    Changed(String),
}

/// A build that was.
struct Variant {
    output: String,
    warnings: String,
    /// Things that were looked at, and their states.
    inputs: BTreeMap<String, String>,
}

impl<'d> Targets<'d> {
    /// `options` says everything about a build that is not in files. `None` if there is no store to trust.
    pub fn open(disk: &'d Disk, options: &str) -> Option<Self> {
        let store = Store::open().filter(Store::is_private)?;
        let here = super::current_dir().ok()?.canonicalize().ok()?;
        let root = lockfile::home(&here);
        let inside = here.strip_prefix(&root).unwrap_or(&here).to_path_buf();
        let program = store.own_digest()?;
        let options = format!("{FORMAT}\n{program}\n{options}\n{}\n", inside.display());
        let (started, states) = (SystemTime::now(), Mutex::default());
        disk.record_reading();
        Some(Self { store, disk, root, here, options, started, states })
    }

    /// What is kept of a target, if nothing it looked at has changed.
    pub fn look_up(&self, target: &str) -> Found {
        let variants = self.read(target);
        let Some(last) = variants.first() else { return Found::Changed("it was not built before".into()) };
        let holds =
            |variant: &&Variant| variant.inputs.iter().all(|(thing, state)| self.state(thing) == *state);
        let Some(variant) = variants.iter().find(holds) else {
            let changed = last.inputs.iter().find(|(thing, state)| self.state(thing) != **state);
            let thing = changed.map_or("something", |(thing, _)| thing);
            let (kind, name) = thing.split_once(' ').unwrap_or(("path", thing));
            return Found::Changed(match kind {
                "list" => format!("a file was added to or removed from `{name}`"),
                "image" | "remote" => format!("krm.lock says something else of `{name}`"),
                _ => format!("`{name}` changed"),
            });
        };
        let text = |digest: &str| match self.store.file(digest) {
            Kept::Sound(bytes) => Some(bytes),
            _ => None,
        };
        match (text(&variant.output), text(&variant.warnings)) {
            (Some(output), Some(warnings)) => Found::Kept {
                output,
                warnings: String::from_utf8_lossy(&warnings).into_owned(),
                inputs: variant.inputs.len(),
            },
            _ => Found::Changed("its output is no longer in the cache".into()),
        }
    }

    /// Keeps what a target was built to. The error says why it cannot be kept; that costs nothing but time.
    pub fn keep(
        &self,
        target: &str,
        dependencies: &Arc<Dependencies>,
        output: &str,
        warnings: &str,
    ) -> Result<(), String> {
        let mut inputs = BTreeMap::new();
        let mut add = |kind: &str, name: String| -> Result<(), String> {
            let thing = format!("{kind} {name}");
            let state = match self.disk.state_when_read(kind, &self.path(&name)) {
                Some(state) => state,
                None => {
                    if self.changed_meanwhile(&self.path(&name)) {
                        return Err(format!("`{name}` changed while it was built"));
                    }
                    self.state(&thing)
                }
            };
            if state.is_empty() {
                return Err(format!("`{name}` cannot be read"));
            }
            inputs.insert(thing, state);
            Ok(())
        };
        for part in dependencies.all() {
            let programs = part.programs();
            if let Some(why) = programs.unknown.into_iter().next() {
                return Err(why);
            }
            for address in part.remotes() {
                add("remote", address.clone()).map_err(|_| format!("`{address}` is not in krm.lock"))?;
            }
            // What is in the store is known by what the lock file says of it.
            let here = |path: &PathBuf| !self.store.holds(path);
            for path in part.paths().into_iter().map(|(path, _)| path).filter(here) {
                add("path", self.name(&path))?;
            }
            for folder in part.listed().iter().filter(|path| here(path)) {
                add("list", self.name(folder))?;
            }
            for folder in programs.folders.iter().filter(|path| here(path)) {
                add("tree", self.name(folder))?;
            }
            for image in programs.images {
                add("image", image.clone()).map_err(|_| format!("the image `{image}` is not in krm.lock"))?;
            }
        }
        let failed = |error: std::io::Error| format!("the cache cannot be written to: {error}");
        self.store.put_file(output.as_bytes()).map_err(failed)?;
        self.store.put_file(warnings.as_bytes()).map_err(failed)?;
        let new =
            Variant { output: sha256(output.as_bytes()), warnings: sha256(warnings.as_bytes()), inputs };
        let mut variants = self.read(target);
        variants.retain(|variant| variant.inputs != new.inputs);
        variants.insert(0, new);
        variants.truncate(VARIANTS);
        self.store.put_record("targets", &self.key(target), write(&variants).as_bytes()).map_err(failed)
    }

    /// The name of a target's record.
    fn key(&self, target: &str) -> String {
        let path = Path::new(target).canonicalize().unwrap_or_else(|_| target.into());
        // The path as written is part of warnings.
        hex(&Sha256::digest(format!("{}{}\n{target}\n", self.options, self.name(&path))))
    }

    fn read(&self, target: &str) -> Vec<Variant> {
        let text = self.store.record("targets", &self.key(target)).and_then(|b| String::from_utf8(b).ok());
        text.and_then(|text| parse(&text)).unwrap_or_default()
    }

    /// A path as records have it.
    fn name(&self, path: &Path) -> String {
        let path = clean(&self.here.join(path));
        path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The state of something now. It is found out once, however many targets ask.
    fn state(&self, thing: &str) -> String {
        let cell = {
            let mut states = self.states.lock().expect("no one panics while holding the states");
            states.entry(thing.to_owned()).or_default().clone()
        };
        cell.get_or_init(|| {
            let (kind, name) = thing.split_once(' ').unwrap_or(("path", thing));
            match kind {
                "remote" => self.locked_content(name),
                "image" => self.locked_image(name),
                "list" => listing_state(&self.path(name)),
                "tree" => Listing::of(&self.path(name), name).map_or(String::new(), |list| list.digest()),
                _ => path_state(&self.path(name)),
            }
        })
        .clone()
    }

    /// What the lock file says of an address; nothing of one that is not locked.
    fn locked_content(&self, address: &str) -> String {
        let Ok(Some(locked)) = self.disk.locked() else { return String::new() };
        let repository = krm_engine::files::Repository::parse(address);
        let remote = repository
            .and_then(|repository| Some(locked.lock.repository(&repository)?.1))
            .or_else(|| locked.lock.file(address));
        remote.map_or(String::new(), |remote| remote.content.clone())
    }

    fn locked_image(&self, image: &str) -> String {
        if let Some((_, digest)) = image.split_once('@') {
            return digest.to_owned();
        }
        let Ok(Some(locked)) = self.disk.locked() else { return String::new() };
        locked.lock.images.get(image).cloned().unwrap_or_default()
    }

    /// Whether something was changed after the build began, by its times.
    fn changed_meanwhile(&self, path: &Path) -> bool {
        let Ok(meta) = path.metadata() else { return false };
        meta.is_file() && meta.modified().is_ok_and(|at| at >= self.started)
    }
}

/// What is at a path, links followed; and where they lead.
pub fn path_state(path: &Path) -> String {
    let Ok(meta) = path.metadata() else { return "nothing".to_owned() };
    let what = match meta.is_dir() {
        true => "folder".to_owned(),
        false => match super::read(path) {
            Ok(bytes) => sha256(&bytes),
            Err(_) => return String::new(),
        },
    };
    link_state(path, what)
}

/// The same with the content known.
pub fn link_state(path: &Path, what: String) -> String {
    match path.canonicalize() {
        Ok(real) if real != path => {
            let way = krm_engine::files::relative(&real, path.parent().unwrap_or(path));
            format!("{what} {way}")
        }
        Ok(_) => what,
        Err(_) => String::new(),
    }
}

/// The names in a folder, and what they are.
pub fn listing_state(folder: &Path) -> String {
    let Ok(entries) = fs::read_dir(folder) else { return "nothing".to_owned() };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let kind = entry.file_type().map_or('?', |kind| match kind {
                kind if kind.is_dir() => 'd',
                kind if kind.is_file() => 'f',
                kind if kind.is_symlink() => 'l',
                _ => 'o',
            });
            format!("{kind} {}\n", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    sha256(names.concat().as_bytes())
}

/// Records as text; the last line is a digest of all others.
fn write(variants: &[Variant]) -> String {
    let mut text = format!("{FORMAT}\n");
    for variant in variants {
        text += &format!("build {} {}\n", variant.output, variant.warnings);
        for (thing, state) in &variant.inputs {
            text += &format!("{}\t{}\n", state.replace(['\n', '\t'], " "), thing.replace(['\n', '\t'], " "));
        }
    }
    text += &format!("{}\n", sha256(text.as_bytes()));
    text
}

fn parse(text: &str) -> Option<Vec<Variant>> {
    let body = &text[..text.strip_suffix('\n')?.rfind('\n')? + 1];
    (text[body.len()..].trim_end() == sha256(body.as_bytes())).then_some(())?;
    let mut lines = body.lines();
    (lines.next()? == FORMAT).then_some(())?;
    let mut variants: Vec<Variant> = Vec::new();
    for line in lines {
        if let Some(outputs) = line.strip_prefix("build ") {
            let (output, warnings) = outputs.split_once(' ')?;
            let inputs = BTreeMap::new();
            variants.push(Variant { output: output.into(), warnings: warnings.into(), inputs });
        } else {
            let (state, thing) = line.split_once('\t')?;
            variants.last_mut()?.inputs.insert(thing.to_owned(), state.to_owned());
        }
    }
    Some(variants)
}
