//! A folder of one test alone.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::Path;

use tempfile::TempDir;

/// Used like its path, which is the real one, as krm prints it. The folder is gone with the value.
pub struct Scratch(TempDir);

impl Scratch {
    /// The name only tells people which test a folder belongs to.
    pub fn new(name: &str) -> Self {
        let parent = std::env::temp_dir().canonicalize().expect("there is a temporary folder");
        let dir = tempfile::Builder::new().prefix(&format!("krm-{name}-")).tempdir_in(parent);
        Self(dir.expect("the temporary folder is writable"))
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl AsRef<OsStr> for Scratch {
    fn as_ref(&self) -> &OsStr {
        self.as_os_str()
    }
}
