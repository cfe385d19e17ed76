//! Images whose files are on this machine, for runners that do without a container engine.

use std::fmt;
use std::path::PathBuf;

use krm_yaml::{Diagnostic, Result};

use crate::runtime::policy::Pull;

/// Has the files of images. The program that embeds the engine fetches and keeps them.
pub trait Images: fmt::Debug + Send + Sync {
    /// An image by its name, which may have a digest; fetched if that is needed and allowed.
    fn image(&self, name: &str, pull: Pull) -> Result<LocalImage>;
}

/// The files of an image, and what it says about how it is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalImage {
    /// `sha256:` and the digest of its manifest.
    pub digest: String,
    /// The folder with its files. Others use it too: it must not be changed.
    pub root: PathBuf,
    /// What is started: a program and its first arguments.
    pub entrypoint: Vec<String>,
    /// What follows the entry point unless arguments are given.
    pub command: Vec<String>,
    /// As `NAME=value`.
    pub env: Vec<String>,
    /// The folder to start in; `/` if empty.
    pub folder: String,
}

/// The error for an image that is not on this machine.
pub fn image_not_pulled(image: &str, pull: Pull) -> Diagnostic {
    let message = match pull {
        Pull::Never => format!("the image `{image}` is not on this machine, and may not be pulled"),
        Pull::Always | Pull::IfNotPresent => format!("the image `{image}` could not be pulled"),
    };
    Diagnostic::error("image-not-pulled", message)
}
