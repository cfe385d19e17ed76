//! Outputs of builds, kept for the next time, with everything a build looked at.
//!
//! A record says of a target what the last builds of it looked at, in which state each of that was, and what came out. If
//! all of it is in that state again, so is the output: a build is a function of what it looks at, including what it looked for
//! and did not find. States are digests of content, never times, so records hold in another checkout as well.
//!
//! ```text
//! CACHE/store/v1/targets/9a/4c02...    the record of a target, by the digest of krm, options and the target's path
//! ```
//!
//! A cache that machines share holds outputs by the digest of everything that a build looked at, and, since one has to know what
//! that is, the last lists of what was looked at, by the name of the record. A list is a hint: a wrong one finds nothing.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use krm_engine::Dependencies;
use krm_engine::files::{clean, hex};
use krm_engine::runtime::reapi::{self, Digest as Key};
use krm_engine::runtime::{Outputs, Store as SharedStore};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::content::{Listing, sha256};
use super::store::{Kept, Store};
use super::{Disk, lockfile};

const FORMAT: &str = "krm target 1";
/// How many builds of a target to remember: usually a branch and its parent.
const VARIANTS: usize = 4;

/// The outputs of targets.
pub struct Targets<'d> {
    store: Store,
    disk: &'d Disk,
    /// What paths in records are relative to: the top of the repository.
    root: PathBuf,
    here: PathBuf,
    /// Everything that a record's name depends on, apart from the target.
    options: String,
    started: SystemTime,
    shared: Option<Arc<dyn SharedStore>>,
    /// Lists that the shared cache has, by target.
    hints: Mutex<FxHashMap<String, Vec<List>>>,
    states: Mutex<FxHashMap<String, Arc<OnceLock<String>>>>,
}

/// What a look-up gave.
pub enum Found {
    Kept {
        output: Vec<u8>,
        warnings: String,
        /// How much was looked at.
        inputs: usize,
        /// Another machine built it.
        is_from_elsewhere: bool,
    },
    /// Why it has to be built.
    Changed(String),
}

/// Things that a build looked at, in order.
type List = Vec<String>;

/// No output of a target, and no list, is larger.
const LARGEST_OUTPUT: usize = 256 << 20;
const LARGEST_HINT: usize = 16 << 20;
/// More than any target looks at.
const LONGEST_LIST: usize = 100_000;

/// A build that was.
struct Variant {
    output: String,
    warnings: String,
    /// Things that were looked at, and their states.
    inputs: BTreeMap<String, String>,
}

impl<'d> Targets<'d> {
    /// `options` says everything about a build that is not in files. `None` if there is no store to trust.
    pub fn open(disk: &'d Disk, options: &str, shared: Option<Arc<dyn SharedStore>>) -> Option<Self> {
        let store = Store::open().filter(Store::is_private)?;
        let here = super::current_dir().ok()?.canonicalize().ok()?;
        let root = lockfile::home(&here);
        let inside = here.strip_prefix(&root).unwrap_or(&here).to_path_buf();
        let program = store.own_digest()?;
        let options = format!("{FORMAT}\n{program}\n{options}\n{}\n", inside.display());
        let (started, states) = (SystemTime::now(), Mutex::default());
        disk.record_reading();
        let hints = Mutex::default();
        Some(Self { store, disk, root, here, options, started, shared, hints, states })
    }

    /// What is kept of a target, if nothing it looked at has changed.
    pub fn look_up(&self, target: &str) -> Found {
        let variants = self.read(target);
        match self.look_up_here(&variants) {
            Found::Changed(why) => self.look_up_elsewhere(target, &variants).unwrap_or(Found::Changed(why)),
            found => found,
        }
    }

    fn look_up_here(&self, variants: &[Variant]) -> Found {
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
                is_from_elsewhere: false,
            },
            _ => Found::Changed("its output is no longer in the cache".into()),
        }
    }

    /// What another machine built of a target in the same state; by what was looked at here before, or there.
    fn look_up_elsewhere(&self, target: &str, variants: &[Variant]) -> Option<Found> {
        let shared = self.shared.as_ref()?;
        let mut tried: Vec<List> = Vec::new();
        let mut attempt = |list: List| {
            if tried.contains(&list) {
                return None;
            }
            let inputs: BTreeMap<String, String> =
                list.iter().map(|thing| (thing.clone(), self.state(thing))).collect();
            tried.push(list);
            if inputs.values().any(String::is_empty) {
                return None;
            }
            let found = shared.load(&self.shared_key(target, &inputs), LARGEST_OUTPUT)?;
            let warnings = String::from_utf8(found.stderr).ok()?;
            let inputs_read = inputs.len();
            // Next time it is found here. If it cannot be kept, it is fetched again.
            let _ = self.put(target, inputs, &found.stdout, warnings.as_bytes());
            Some(Found::Kept { output: found.stdout, warnings, inputs: inputs_read, is_from_elsewhere: true })
        };
        let known = variants.iter().map(|variant| variant.inputs.keys().cloned().collect());
        if let Some(found) = known.into_iter().find_map(&mut attempt) {
            return Some(found);
        }
        let lists = shared.load(&self.hint_key(target), LARGEST_HINT).map(|hint| parse_lists(&hint.stdout));
        let lists = lists.unwrap_or_default();
        let hints = || self.hints.lock().expect("no one panics while holding the hints");
        hints().insert(target.to_owned(), lists.clone());
        lists.into_iter().find_map(attempt)
    }

    /// The key of an output: the digest of an action that builds a target from all it looks at.
    fn shared_key(&self, target: &str, inputs: &BTreeMap<String, String>) -> Key {
        let inputs: String = inputs.iter().map(|(thing, state)| format!("{state}\t{thing}\n")).collect();
        Key::of_message(&reapi::Action {
            command_digest: Some(Key::of(self.key(target).as_bytes())),
            input_root_digest: Some(Key::of(inputs.as_bytes())),
            salt: FORMAT.into(),
            ..reapi::Action::default()
        })
    }

    /// The key of the lists of what a target looks at.
    fn hint_key(&self, target: &str) -> Key {
        Key::of_message(&reapi::Action {
            command_digest: Some(Key::of(self.key(target).as_bytes())),
            salt: format!("{FORMAT} lists").into(),
            ..reapi::Action::default()
        })
    }

    /// Gives an output to other machines. The list goes last: it leads to nothing before the output is there.
    fn share(&self, target: &str, inputs: &BTreeMap<String, String>, output: &[u8], warnings: &[u8]) {
        let Some(shared) = &self.shared else { return };
        let outputs = Outputs { stdout: output.to_vec(), stderr: warnings.to_vec() };
        shared.keep(&self.shared_key(target, inputs), &outputs);
        let list: List = inputs.keys().cloned().collect();
        let mut lists = {
            let hints = self.hints.lock().expect("no one panics while holding the hints");
            hints.get(target).cloned().unwrap_or_default()
        };
        if !lists.contains(&list) {
            lists.insert(0, list);
            lists.truncate(VARIANTS);
            let hint = Outputs { stdout: write_lists(&lists).into_bytes(), stderr: Vec::new() };
            shared.keep(&self.hint_key(target), &hint);
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
        if inputs.keys().all(|thing| may_be_shared(thing)) {
            self.share(target, &inputs, output.as_bytes(), warnings.as_bytes());
        }
        self.put(target, inputs, output.as_bytes(), warnings.as_bytes())
            .map_err(|error| format!("the cache cannot be written to: {error}"))
    }

    /// Keeps an output on this machine.
    fn put(
        &self,
        target: &str,
        inputs: BTreeMap<String, String>,
        output: &[u8],
        warnings: &[u8],
    ) -> std::io::Result<()> {
        self.store.put_file(output)?;
        self.store.put_file(warnings)?;
        let new = Variant { output: sha256(output), warnings: sha256(warnings), inputs };
        let mut variants = self.read(target);
        variants.retain(|variant| variant.inputs != new.inputs);
        variants.insert(0, new);
        variants.truncate(VARIANTS);
        self.store.put_record("targets", &self.key(target), write(&variants).as_bytes())
    }

    /// The name of a target's record.
    fn key(&self, target: &str) -> String {
        let path = clean(&self.here.join(target));
        let path = match self.disk.paths().is_direct(&path) {
            true => path,
            false => Path::new(target).canonicalize().unwrap_or_else(|_| target.into()),
        };
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
            match states.get(thing) {
                Some(cell) => cell.clone(),
                None => states.entry(thing.to_owned()).or_default().clone(),
            }
        };
        cell.get_or_init(|| {
            let (kind, name) = thing.split_once(' ').unwrap_or(("path", thing));
            match kind {
                "remote" => self.locked_content(name),
                "image" => self.locked_image(name),
                "list" => super::states::of_list(&self.path(name)),
                "tree" => Listing::of(&self.path(name), name).map_or(String::new(), |list| list.digest()),
                _ => self.disk.paths().of_path(&self.path(name)),
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

/// Lists as text: a line for each thing, an empty one after each list.
fn write_lists(lists: &[List]) -> String {
    let line = |thing: &String| format!("{}\n", thing.replace(['\n', '\t'], " "));
    lists.iter().map(|list| list.iter().map(line).chain(["\n".to_owned()]).collect::<String>()).collect()
}

/// Lists that anyone may have written: what is in them is only looked at.
fn parse_lists(bytes: &[u8]) -> Vec<List> {
    let text = String::from_utf8_lossy(bytes);
    let lists = text.split("\n\n").take(VARIANTS).map(|list| list.lines().map(str::to_owned).collect());
    let is_sound = |list: &List| {
        !list.is_empty() && list.len() <= LONGEST_LIST && list.iter().all(|thing| may_be_shared(thing))
    };
    lists.filter(is_sound).collect()
}

/// Whether something may be in a list that others read, or wrote. A server must not have us read what is outside of the
/// repository, nor what git keeps: the state of it becomes part of what we ask for. And an address may hold a password.
fn may_be_shared(thing: &str) -> bool {
    let Some((kind, name)) = thing.split_once(' ') else { return false };
    let is_inside = |part: Component| match part {
        Component::Normal(name) => name != ".git",
        part => part == Component::CurDir,
    };
    match kind {
        "remote" => !name.contains('@'),
        "image" => true,
        "path" | "list" | "tree" => Path::new(name).components().all(is_inside),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_from_elsewhere_leads_nowhere_else() {
        let lists = vec![vec!["path a/b.yaml".to_owned(), "list a".into()], vec!["image x".into()]];
        assert_eq!(parse_lists(write_lists(&lists).as_bytes()), lists);
        for thing in [
            "path /etc/passwd",
            "path ../other/secret",
            "path a/../../x",
            "path .git/config",
            "tree /",
            "remote https://me:secret@example.com/x",
            "other x",
            "x",
        ] {
            assert_eq!(parse_lists(format!("path a\n{thing}\n\n").as_bytes()), Vec::<List>::new(), "{thing}");
        }
        assert!(parse_lists(b"").is_empty() && parse_lists(&[0xff, 0xfe]).is_empty());
    }
}
