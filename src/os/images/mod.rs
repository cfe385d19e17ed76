//! Images without a container engine: fetched from their registries, kept in the store, unpacked once.
//!
//! Every part is compared with its digest when it is fetched and again when it is unpacked. Of what was unpacked, the
//! files are compared by content whenever the system says that one of them may have changed. Believing that takes a store
//! that nobody else can write to.

mod blobs;
mod inventory;
mod layer;
mod stored;
mod tar;
mod zstd;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use krm_engine::policy::Pull;
use krm_engine::runtime::{Images, LocalImage, image_not_pulled};
use krm_engine::{Diagnostic, Result, Span};
use serde::{Deserialize, Serialize};

use self::layer::{Budget, Fault, unpack};
use self::stored::{Hashing, not_stored};
use self::zstd::ZstdFrames;
use super::content::{ContentKind, sha256};
use super::note;
use super::registry::{ImageConfig, ImageName, Layer, Parts, Registry};
use super::store::{Kept, Store};

/// Images of this user.
#[derive(Default)]
pub struct LocalImages {
    store: OnceLock<Option<Store>>,
    /// What names mean. A run is too short for that to change, and two calls of one image fetch it once.
    known: Mutex<HashMap<String, LocalImage>>,
    credential_helper: Option<String>,
}

impl fmt::Debug for LocalImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalImages").finish_non_exhaustive()
    }
}

/// What is remembered of an unpacked image.
#[derive(Serialize, Deserialize)]
struct About {
    entrypoint: Vec<String>,
    command: Vec<String>,
    env: Vec<String>,
    folder: String,
    /// The digest of the list of files.
    list: String,
}

impl Images for LocalImages {
    fn image(&self, name: &str, pull: Pull) -> Result<LocalImage> {
        let mut known = self.known.lock().expect("no one panics while holding the images");
        if let Some(image) = known.get(name) {
            return Ok(image.clone());
        }
        let store = self.store()?;
        let image =
            Fetch { store, name, pull, credential_helper: self.credential_helper.as_deref(), registry: None }
                .image()?;
        known.insert(name.to_owned(), image.clone());
        Ok(image)
    }
}

impl LocalImages {
    pub fn new(credential_helper: Option<String>) -> Self {
        Self { credential_helper, ..Self::default() }
    }

    fn store(&self) -> Result<&Store> {
        let refused = |why: String| {
            Diagnostic::error("image-no-store", format!("there is no folder to unpack images into: {why}"))
        };
        let store = self.store.get_or_init(Store::open).as_ref();
        let store = store.ok_or_else(|| {
            refused("there is no folder for caches".into())
                .help("set HOME or XDG_CACHE_HOME to an absolute path")
        })?;
        match store.is_private() {
            true => Ok(store),
            false => {
                let folder = store.root().display();
                Err(refused(format!("others can write to `{folder}`, or to a folder above it"))
                    .help(format!("run `chmod -R go-w {folder}`, or set XDG_CACHE_HOME to another folder")))
            }
        }
    }
}

/// One image on its way.
struct Fetch<'f> {
    store: &'f Store,
    name: &'f str,
    pull: Pull,
    credential_helper: Option<&'f str>,
    registry: Option<Registry>,
}

impl Fetch<'_> {
    fn image(&mut self) -> Result<LocalImage> {
        let reference = ImageName::parse(self.name).reference;
        let tag = sha256(self.name.as_bytes())["sha256:".len()..].to_owned();
        let kept = || String::from_utf8(self.store.record("tags", &tag)?).ok();
        let digest = match reference.contains(':') {
            true => Some(reference.clone()),
            false if self.pull == Pull::Always => None,
            false => kept(),
        };
        let mut replace = false;
        if let Some(digest) = &digest {
            match self.kept(digest) {
                Kept::Sound(image) => return Ok(image),
                Kept::Missing => {}
                Kept::Damaged(why) => {
                    replace = true;
                    let message = format!("the copy of `{}` in the cache is damaged: {why}", self.name);
                    note(
                        Diagnostic::warning("image-damaged", message)
                            .note("it is unpacked again", Span::NONE),
                    );
                }
            }
        }
        let (name, wanted) = (self.name.to_owned(), digest.unwrap_or(reference));
        let config = ImageConfig::read(&name, &wanted, self)?;
        if !wanted.contains(':') {
            // What a tag meant is only a note for the next time.
            let _ = self.store.put_record("tags", &tag, config.digest.as_bytes());
            // Somebody may have unpacked it by another name.
            if let Kept::Sound(image) = self.kept(&config.digest) {
                return Ok(image);
            }
        }
        for layer in &config.layers {
            self.layer(layer)?;
        }
        self.unpack(&config, replace)?;
        match self.kept(&config.digest) {
            Kept::Sound(image) => Ok(image),
            Kept::Missing => Err(self.unusable("another process removed it")),
            Kept::Damaged(why) => Err(self.unusable(&why)),
        }
    }

    /// The image with this digest, if it was unpacked before.
    fn kept(&self, digest: &str) -> Kept<LocalImage> {
        let Some(folder) = self.store.folder("images", digest) else { return Kept::Missing };
        match check(&folder) {
            Ok(About { entrypoint, command, env, folder: starts_in, .. }) => Kept::Sound(LocalImage {
                digest: digest.to_owned(),
                root: folder.join("root"),
                entrypoint,
                command,
                env,
                folder: starts_in,
            }),
            Err(why) => Kept::Damaged(why),
        }
    }

    fn registry(&mut self) -> Result<&mut Registry> {
        if self.pull == Pull::Never {
            return Err(image_not_pulled(self.name, self.pull)
                .help("allow another pull policy, or a connection if `--offline` forbids it"));
        }
        let (name, helper) = (self.name, self.credential_helper);
        Ok(self.registry.get_or_insert_with(|| Registry::of(name, helper)))
    }

    /// The error for something the registry does not give.
    fn not_pulled(&self, error: &Diagnostic) -> Diagnostic {
        image_not_pulled(self.name, self.pull)
            .note(error.message().to_owned(), Span::NONE)
            .help("check the name and the tag; a private registry needs `docker login` or `podman login`")
    }

    fn unusable(&self, why: &str) -> Diagnostic {
        Diagnostic::error("image-unusable", format!("the image `{}` cannot be unpacked: {why}", self.name))
    }

    /// Sees to it that a layer is in the store.
    fn layer(&mut self, layer: &Layer) -> Result<()> {
        if self.store.has(&layer.digest, ContentKind::File) {
            return Ok(());
        }
        let store = self.store;
        let registry = self.registry()?;
        let fetched = store.put_pieces(&layer.digest, |to| registry.copy_blob(&layer.digest, layer.size, to));
        match fetched? {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(self.unusable(&format!("its registry gives something else for `{}`", layer.digest)))
            }
            Err(error) => Err(self.not_pulled(&error)),
        }
    }

    /// Unpacks all layers into a folder of the store.
    fn unpack(&self, config: &ImageConfig, replace: bool) -> Result<()> {
        let unpacked = self.store.put_folder("images", &config.digest, replace, |folder| {
            let root = folder.join("root");
            let made = fs::create_dir(&root).and_then(|()| {
                fs::set_permissions(&root, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            });
            made.map_err(|error| not_stored(&error))?;
            let mut budget = Budget::default();
            for layer in &config.layers {
                self.unpack_layer(layer, &root, &mut budget)?;
            }
            self.seal(config, folder).map_err(|error| not_stored(&error))
        });
        unpacked.map(drop)
    }

    /// Unpacks a layer, and compares it with its digest on the way.
    fn unpack_layer(&self, layer: &Layer, root: &Path, budget: &mut Budget) -> Result<()> {
        let digest = &layer.digest;
        let lost = || self.unusable(&format!("its layer `{digest}` is gone from the cache"));
        let mut hashing = Hashing::new(self.store.open_file(digest).ok_or_else(lost)?);
        let compression = layer.media_type.rsplit(['.', '+']).next().unwrap_or_default();
        let unpacked = match compression {
            "gzip" => unpack(flate2::read::MultiGzDecoder::new(&mut hashing), root, budget).map(drop),
            "zstd" => unpack(ZstdFrames::new(BufReader::new(&mut hashing)), root, budget).map(drop),
            "tar" => unpack(&mut hashing, root, budget).map(drop),
            other => {
                let message = format!("its layers are compressed by `{other}`, which krm does not read");
                return Err(self
                    .unusable(&message)
                    .help("push the image with layers compressed by gzip or zstd"));
            }
        };
        // To the end, whatever the archive says about where that is.
        let read_on = std::io::copy(&mut hashing.by_ref(), &mut std::io::sink());
        if read_on.is_err() || hashing.digest() != *digest {
            self.store.remove_file(digest);
            return Err(self
                .unusable(&format!("its layer `{digest}` was damaged in the cache"))
                .help("it was removed, and is fetched by the next run"));
        }
        unpacked.map_err(|fault| match fault {
            Fault::Unsafe(why) => {
                let message = format!("the image `{}` is not safe to unpack: {why}", self.name);
                Diagnostic::error("image-unsafe", message).help("nothing was kept; use another image")
            }
            Fault::TooLarge(why) => {
                let message = format!("the image `{}` is too large: {why}", self.name);
                Diagnostic::error("image-too-large", message).help("nothing was kept; use a smaller image")
            }
            Fault::Malformed(why) => self.unusable(&format!("its layer `{digest}` is not an archive: {why}")),
            Fault::Disk(error) => not_stored(&error),
        })
    }

    /// Writes down what was unpacked.
    fn seal(&self, config: &ImageConfig, folder: &Path) -> std::io::Result<()> {
        let root = folder.join("root");
        let list = inventory::list(&root)?;
        let about = About {
            entrypoint: config.entrypoint.clone(),
            command: config.command.clone(),
            env: config.env.clone(),
            folder: config.folder.clone(),
            list: sha256(list.as_bytes()),
        };
        let about = serde_json::to_string(&about)?;
        fs::write(folder.join("about"), format!("{}\n{about}", sha256(about.as_bytes())))?;
        fs::write(folder.join("list"), list)?;
        fs::write(folder.join("stamp"), inventory::stamp(&root)?)
    }
}

/// Compares an unpacked image with what was written down; the error says what differs.
fn check(folder: &Path) -> Result<About, String> {
    let text = |name: &str| {
        let bytes = super::read(&folder.join(name)).ok();
        bytes
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| format!("`{name}` cannot be read"))
    };
    let about = text("about")?;
    let about = about.split_once('\n').filter(|(digest, about)| sha256(about.as_bytes()) == *digest);
    let about = about.and_then(|(_, about)| serde_json::from_str::<About>(about).ok());
    let about = about.ok_or("`about` was changed")?;
    let root = folder.join("root");
    let failed = |error: std::io::Error| format!("`{}` cannot be read: {error}", root.display());
    let stamp = inventory::stamp(&root).map_err(failed)?;
    if text("stamp").is_ok_and(|kept| kept == stamp) {
        return Ok(about);
    }
    let list = text("list")?;
    if sha256(list.as_bytes()) != about.list {
        return Err("`list` was changed".into());
    }
    let there = inventory::list(&root).map_err(failed)?;
    if let Some(path) = inventory::first_difference(&there, &list) {
        return Err(format!("`{path}` was changed, added or removed"));
    }
    // Moved to another disk, say. What it holds is right.
    let _ = fs::write(folder.join("stamp"), stamp);
    Ok(about)
}

/// Manifests and configurations: from the store, or from the registry and then kept.
impl Parts for Fetch<'_> {
    fn manifest(&mut self, reference: &str) -> Result<Vec<u8>> {
        if let Kept::Sound(bytes) = self.store.file(reference) {
            return Ok(bytes);
        }
        let bytes = self.registry()?.manifest(reference).map_err(|error| self.not_pulled(&error))?;
        self.store.put_file(&bytes).map_err(|error| not_stored(&error))?;
        Ok(bytes)
    }

    fn blob(&mut self, digest: &str) -> Result<Vec<u8>> {
        if let Kept::Sound(bytes) = self.store.file(digest) {
            return Ok(bytes);
        }
        let bytes = self.registry()?.blob(digest).map_err(|error| self.not_pulled(&error))?;
        if sha256(&bytes) == digest {
            self.store.put_file(&bytes).map_err(|error| not_stored(&error))?;
        }
        Ok(bytes)
    }
}
