//! What the user allows.
//!
//! Made once, where the command line is read, and never converted: every program that starts, by whatever way, starts
//! under the same [`Policy`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Elsewhere, EnvVar, Images, Mount, Store};

/// What the user allows and asks for, whatever a configuration declares. The default allows nothing.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Functions and legacy plugins may run at all: `--enable-alpha-plugins` of `build`.
    pub functions: bool,
    /// Functions may be executables of this machine: `--enable-exec`.
    pub exec: bool,
    /// Containers that ask for the network get it: `--network`.
    pub network: bool,
    /// Which network that is: `--network-name`; the host's without one.
    pub network_name: Option<String>,
    /// Containers run as the current user instead of `nobody`: `--as-current-user`.
    pub as_current_user: bool,
    /// Mounted into every container, after what the function declares: `--mount`. Sources are absolute.
    pub mounts: Vec<Mount>,
    /// For every function, winning over what it declares: `--env`.
    pub env: Vec<EnvVar>,
    /// When to fetch an image: `--image-pull-policy`.
    pub pull: Pull,
    /// What names of images mean.
    pub pinned: PinnedImages,
    /// The program that runs containers; the first that works if none is named.
    pub container_engine: Option<String>,
    /// Who has the files of images, so that they can run without an engine.
    pub images: Option<Arc<dyn Images>>,
    /// Where memory and processes of a sandbox cannot be bounded as a whole, limits on each process will do.
    pub limits_of_each_process: bool,
    /// What each program may use up.
    pub limits: Limits,
    /// The program that keeps watch over what is started and ends all of it, even when this process is killed. It is
    /// started with [`supervisor::COMMAND`](crate::runtime::supervisor::COMMAND); only Linux has the means.
    pub supervisor: Option<PathBuf>,
    /// The folder for what can be made again; without one nothing is kept.
    pub cache_dir: Option<PathBuf>,
    /// Which outputs are kept: `--cache`.
    pub cache: Keep,
    /// Where they are kept besides this machine: `--remote-cache`.
    pub shared_cache: Option<Arc<dyn Store>>,
    /// Who runs functions in place of this machine: `--remote-executor`.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Folders in which legacy plugins are looked for; the first that exists counts.
    pub plugin_homes: Vec<PathBuf>,
    /// `--enable-helm` and what belongs to it; without it no chart is inflated.
    pub helm: Option<Helm>,
}

/// How charts are inflated.
#[derive(Clone, Debug, Default)]
pub struct Helm {
    /// `--helm-command`
    pub command: String,
    /// `--helm-api-versions`
    pub api_versions: Vec<String>,
    /// `--helm-kube-version`; empty if none was given.
    pub kube_version: String,
    /// `--helm-debug`
    pub debug: bool,
}

/// Digests of images, as a lock file has them.
#[derive(Clone, Debug, Default)]
pub struct PinnedImages {
    /// By the name as written: `sha256:` and the digest.
    pub digests: BTreeMap<String, String>,
    /// No other image may run: `--locked`.
    pub only: bool,
    /// Called with the name of every other image that runs, if someone wants to know.
    pub not_pinned: Option<fn(&str)>,
}

impl PinnedImages {
    /// The image to run in place of one that is written that way, if it is pinned: its name with a digest.
    pub(crate) fn resolve(&self, image: &str) -> Option<String> {
        let digest = self.digests.get(image)?;
        let last = image.rfind('/').map_or(0, |slash| slash + 1);
        let name = image[last..].find(':').map_or(image, |colon| &image[..last + colon]);
        Some(format!("{name}@{digest}"))
    }

    /// Whether an image may run: it is pinned, or names its digest itself, or neither is asked for.
    pub(crate) fn allow(&self, image: &str) -> bool {
        !self.only || self.is_pinned(image)
    }

    /// Whether the digest of an image is known, from its name or from here.
    fn is_pinned(&self, image: &str) -> bool {
        image.contains('@') || self.digests.contains_key(image)
    }

    /// Does not warn about images that are not locked: the user named them.
    pub fn accept_images_of_the_user(&mut self) {
        self.not_pinned = None;
    }

    /// Says that an image runs, unless it is pinned.
    pub(crate) fn runs(&self, image: &str) {
        if let Some(not_pinned) = self.not_pinned.filter(|_| !self.is_pinned(image)) {
            not_pinned(image);
        }
    }
}

/// When to fetch an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pull {
    /// Before every run.
    Always,
    /// If it is not here yet.
    #[default]
    IfNotPresent,
    /// One that is not here is an error.
    Never,
}

/// Whose outputs are kept, to be used again when program, configuration and input are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Keep {
    /// Every program runs each time.
    #[default]
    Nothing,
    /// Of programs in a sandbox, which can depend on nothing but what they are given: images without network, and
    /// modules.
    Sandboxed,
    /// Of executables too.
    Everything,
}

/// What a program may use up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run, 5 minutes by default; then it is stopped.
    pub timeout: Duration,
    /// Bytes of memory, of containers and modules.
    pub memory: u64,
    /// Processes and threads, of containers.
    pub processes: u32,
    /// Bytes of output; at least this much, more if the input is large.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(300), memory: 2 << 30, processes: 1024, output: 256 << 20 }
    }
}

impl Limits {
    /// How much a program may print that was given so much.
    pub fn output_for(&self, input: usize) -> usize {
        self.output.max(input.saturating_mul(8))
    }
}
