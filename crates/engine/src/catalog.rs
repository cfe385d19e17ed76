//! Catalogs (KEP-2906): lists of functions by their kind, which a user may trust.
//!
//! A transformer that names no program is looked up in the catalogs the user trusts (`--trusted-catalog`), in the order
//! they are given. What a catalog names must have the digest the catalog gives: an image is asked for by it, an executable
//! is checked before it may run. Trust does not replace the flags that let programs run at all.

use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, Node, Result, Sources, Spanned, Text};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::files::world::World;
use crate::resource::Gvk;

/// A catalog the user trusts.
#[derive(Debug)]
pub(crate) struct Catalog {
    functions: Vec<Listed>,
    /// The folder its paths start from.
    folder: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    kind: Spanned<Text>,
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    krm_functions: Vec<Spanned<Listed>>,
}

/// A function of a catalog. Whatever else it says, of publishers and licences, is for people.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Listed {
    group: Text,
    names: Names,
    versions: Vec<Version>,
    /// Minimal catalogs name one program for all versions.
    runtime: Option<Runtime>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Names {
    kind: Text,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    name: Text,
    runtime: Option<Runtime>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Runtime {
    container: Option<Container>,
    exec: Option<Exec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    image: Spanned<Text>,
    sha256: Text,
    require_network: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Exec {
    platforms: Vec<Platform>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Platform {
    bin: Text,
    os: Text,
    arch: Text,
    uri: Spanned<Text>,
    sha256: Text,
}

impl Catalog {
    /// Reads a catalog.
    pub(crate) fn load(path: &str, world: &dyn World, sources: &Sources) -> Result<Self> {
        let bytes = world.read(Path::new(path)).map_err(|error| {
            Diagnostic::error("catalog-unreadable", format!("cannot read the catalog `{path}`: {error}"))
        })?;
        let source = sources.add_bytes(path, bytes)?;
        let root =
            krm_yaml::parse(&source)?.into_iter().next().map_or_else(Node::null, |document| document.root);
        let file: File = krm_yaml::from_node(&root)?;
        if !matches!(file.kind.as_str(), "Catalog" | "KRMFunctionCatalog") {
            return Err(Diagnostic::error("catalog-kind", format!("`{path}` is not a catalog"))
                .at(if file.kind.is_empty() { source.span(0, 0) } else { file.kind.span() })
                .help("its kind must be `Catalog` or `KRMFunctionCatalog`"));
        }
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
        let folder = world.real_path(&if folder.as_os_str().is_empty() { ".".into() } else { folder });
        let folder = folder.map_err(|error| Diagnostic::error("catalog-unreadable", error.to_string()))?;
        let functions = file.spec.krm_functions.into_iter().map(|listed| listed.value).collect();
        Ok(Self { functions, folder })
    }

    /// What `runtime:` would be written for a kind, if the catalog has it.
    fn find(&self, gvk: &Gvk, world: &dyn World) -> Result<Option<Node>> {
        let listed =
            self.functions.iter().find(|listed| listed.group == gvk.group && listed.names.kind == gvk.kind);
        let Some(listed) = listed else { return Ok(None) };
        let version = listed.versions.iter().find(|version| version.name == gvk.version);
        let runtime = version.and_then(|version| version.runtime.as_ref()).or(listed.runtime.as_ref());
        match runtime.filter(|_| version.is_some() || listed.versions.is_empty()) {
            None => Ok(None),
            Some(Runtime { container: Some(container), .. }) => container.runtime().map(Some),
            Some(Runtime { exec: Some(exec), .. }) => exec.runtime(&self.folder, gvk, world).map(Some),
            Some(_) => Ok(None),
        }
    }
}

/// The `runtime:` of the first catalog that knows a kind.
pub(crate) fn find(catalogs: &[Catalog], gvk: &Gvk, world: &dyn World) -> Result<Option<Node>> {
    for catalog in catalogs {
        if let Some(runtime) = catalog.find(gvk, world)? {
            return Ok(Some(runtime));
        }
    }
    Ok(None)
}

impl Container {
    fn runtime(&self) -> Result<Node> {
        let mut container = Node::map();
        let pinned = match self.sha256.is_empty() || self.image.contains("@sha256:") {
            true => self.image.to_string(),
            false => format!("{}@sha256:{}", self.image, self.sha256),
        };
        if !pinned.contains("@sha256:") {
            return Err(no_digest(&self.image));
        }
        container.set("image", pinned);
        if self.require_network {
            container.set("network", true);
        }
        Ok([("container", container)].into_iter().collect())
    }
}

impl Exec {
    fn runtime(&self, folder: &Path, gvk: &Gvk, world: &dyn World) -> Result<Node> {
        let (os, arch) = (std::env::consts::OS, go_arch());
        let Some(platform) = self.platforms.iter().find(|p| p.os == os && p.arch == arch) else {
            let message = format!("the catalog has no program for {} on this kind of machine", gvk.kind);
            let there: Vec<String> = self.platforms.iter().map(|p| format!("{}/{}", p.os, p.arch)).collect();
            return Err(Diagnostic::error("catalog-no-platform", message)
                .help(format!("it has programs for: {}", there.join(", "))));
        };
        if platform.sha256.is_empty() {
            return Err(no_digest(&platform.uri));
        }
        let path = platform.uri.strip_prefix("file://").unwrap_or(&platform.uri);
        let path = if path.is_empty() { platform.bin.as_str() } else { path };
        let path = folder.join(path);
        let bytes = world.read(&path).map_err(|error| {
            let message = format!("cannot read `{}`: {error}", platform.uri);
            Diagnostic::error("catalog-program-unreadable", message).at(platform.uri.span())
        })?;
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != platform.sha256 {
            let message = format!("`{}` is not what the catalog promises", platform.uri);
            return Err(Diagnostic::error("catalog-digest", message)
                .at(platform.uri.span())
                .note(format!("its sha256 is {digest}"), krm_yaml::Span::NONE)
                .help("someone changed the program, or the catalog is of another version: do not run it before you know"));
        }
        let exec: Node = [("path", path.to_string_lossy().into_owned())].into_iter().collect();
        Ok([("exec", exec)].into_iter().collect())
    }
}

fn no_digest(program: &Spanned<Text>) -> Diagnostic {
    Diagnostic::error("catalog-no-digest", format!("the catalog gives no digest for `{program}`"))
        .at(program.span())
        .help("a program that is trusted by name alone could be another one tomorrow: add its `sha256`")
}

/// The machine as catalogs call it.
fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
