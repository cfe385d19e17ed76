//! What can be started, and what it asks for.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A container image, run by docker, podman or nerdctl.
    Image(Image),
    /// An executable of this machine.
    Exec(Exec),
    /// A WebAssembly module that speaks WASI preview 1.
    Wasm(Module),
    /// A program that is not a function, such as helm.
    Tool(Tool),
}

impl Program {
    /// What the program is called in messages: the image, the path.
    pub fn name(&self) -> &str {
        match self {
            Program::Image(image) => &image.image,
            Program::Exec(exec) => &exec.path,
            Program::Wasm(module) => &module.path,
            Program::Tool(tool) => &tool.program,
        }
    }

    /// The file of an executable or a module. An executable that is found by the user's `PATH` is not part of any tree.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match self {
            Program::Exec(exec) => exec.path.contains('/').then(|| exec.dir.join(&exec.path)),
            Program::Wasm(module) => Some(PathBuf::from(&module.path)),
            Program::Image(_) | Program::Tool(_) => None,
        }
    }

    /// The files and folders it looks for on the disk: itself, the folder it runs in, what is mounted.
    pub(crate) fn looks_for(&self) -> Vec<PathBuf> {
        match self {
            Program::Image(image) => {
                let mounts = image.mounts.iter().filter(|mount| matches!(&*mount.kind, "" | "bind"));
                mounts.map(|mount| PathBuf::from(&mount.source)).collect()
            }
            Program::Exec(exec) => self.file().into_iter().chain([exec.dir.clone()]).collect(),
            Program::Wasm(_) => self.file().into_iter().collect(),
            Program::Tool(tool) => tool.dir.iter().cloned().collect(),
        }
    }
}

/// An image and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Image {
    /// Its name, with a tag or a digest.
    pub image: String,
    /// It asks for the network; it gets it if the user agrees.
    pub network: bool,
    /// With relative sources already made absolute.
    pub mounts: Vec<Mount>,
    /// What the function declares; the user's variables come on top.
    pub env: Vec<EnvVar>,
    /// The folder of the functionConfig, to be seen read-only at `/local`.
    pub local: Option<PathBuf>,
    /// What follows the image on the command line.
    pub args: Vec<String>,
}

/// An executable and how to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// A name to be found in `PATH`, or a path; a relative one is relative to `dir`.
    pub path: String,
    /// Those after the name of the program.
    pub args: Vec<String>,
    /// On top of the environment we have.
    pub env: Vec<EnvVar>,
    /// Where it runs: the folder of the kustomization, or the one the command was given in.
    pub dir: PathBuf,
}

/// A module and how to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The file; a relative one is relative to where this process runs.
    pub path: String,
    /// Those after the name of the program.
    pub args: Vec<String>,
    /// All the environment it gets, besides the user's own additions.
    pub env: Vec<EnvVar>,
}

/// A program that is not a function: helm, a legacy plugin, git.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tool {
    /// A name to be found in `PATH`, or a path.
    pub program: String,
    /// Those after the name of the program.
    pub args: Vec<Argument>,
    /// On top of the environment we have; `None` takes a variable away.
    pub env: Vec<(String, Option<String>)>,
    /// Where it runs; where this process does without one.
    pub dir: Option<PathBuf>,
    /// Files it is given, in a folder of its own that is gone afterwards: name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Which permission it needs.
    pub needs: Permission,
    /// How long it may take, if not as long as other programs.
    pub timeout: Option<Duration>,
}

/// An argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Passed on as it is.
    Text(String),
    /// The path of the file of this number in [`Tool::files`].
    File(usize),
}

impl<T: Into<String>> From<T> for Argument {
    fn from(text: T) -> Self {
        Argument::Text(text.into())
    }
}

/// What the user must have allowed for a tool to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Permission {
    /// `--enable-alpha-plugins`
    #[default]
    Plugins,
    /// `--enable-helm`
    Helm,
    /// None: the command itself asks for it, as fetching a repository does.
    Given,
}

/// Something of this machine to be seen in the container.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mount {
    /// `bind`, `volume` or `tmpfs`; `bind` if empty.
    pub kind: String,
    /// The path on this machine, or the name of a volume; empty for `tmpfs`.
    pub source: String,
    /// The path in the container.
    pub target: String,
    /// It may be written to.
    pub writable: bool,
}

impl Mount {
    /// Reads `type=bind,src=/data,dst=/data,rw=true`. Unknown options are ignored:
    /// configurations that have some run with kustomize.
    pub fn parse(text: &str) -> Self {
        let mut mount = Mount::default();
        for (key, value) in text.split(',').filter_map(|option| option.split_once('=')) {
            match key {
                "type" => mount.kind = value.into(),
                "src" | "source" => mount.source = value.into(),
                "dst" | "target" => mount.target = value.into(),
                "rw" => mount.writable = value == "true",
                _ => {}
            }
        }
        mount
    }

    /// Whether it shows a file or folder of this machine.
    pub fn is_bind(&self) -> bool {
        self.kind.is_empty() || self.kind == "bind"
    }

    /// The same with a source that does not depend on where the engine's daemon runs.
    pub fn within(mut self, dir: &Path) -> Self {
        if self.is_bind() && !Path::new(&self.source).is_absolute() {
            self.source = dir.join(&self.source).to_string_lossy().into_owned();
        }
        self
    }

    /// The same with links followed; `None` if they lead out of the folder. A source that does not exist is left for the
    /// engine to complain about.
    pub(crate) fn really_within(mut self, dir: &Path) -> Option<Self> {
        if let (true, Ok(real), Ok(dir)) =
            (self.is_bind(), Path::new(&self.source).canonicalize(), dir.canonicalize())
        {
            if !real.starts_with(dir) {
                return None;
            }
            self.source = real.to_string_lossy().into_owned();
        }
        Some(self)
    }
}

/// A variable for a function's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvVar {
    /// The part before `=`.
    pub name: String,
    /// `None` passes on the value it has here.
    pub value: Option<String>,
}

impl EnvVar {
    /// Reads `NAME=value` or `NAME`.
    pub fn parse(text: &str) -> Self {
        match text.split_once('=') {
            Some((name, value)) => Self { name: name.into(), value: Some(value.into()) },
            None => Self { name: text.into(), value: None },
        }
    }

    /// Whether this is a name and nothing that container engines read as a pattern of names.
    pub fn is_a_name(&self) -> bool {
        let odd = |c: char| c.is_control() || c.is_whitespace() || "*?=".contains(c);
        !self.name.is_empty() && !self.name.starts_with('-') && !self.name.contains(odd)
    }
}
