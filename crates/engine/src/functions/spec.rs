//! Which program a functionConfig is for.

use std::path::Path;

use krm_function::annotations::{FUNCTION, LEGACY_CONTAINER, LEGACY_FUNCTION};
use krm_yaml::{Diagnostic, Node, Result, Span, Spanned};
use serde::Deserialize;

use crate::files::paths;
use crate::runtime::{EnvVar, Exec, Image, Module, Mount, Program};

/// The content of an annotation or a `runtime` field.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct FunctionSpec {
    /// A failure lets the others run, and is reported at the end.
    pub defer_failure: bool,
    container: Option<ContainerSpec>,
    exec: Option<ExecSpec>,
    wasm: Option<WasmSpec>,
    starlark: Option<Spanned<serde::de::IgnoredAny>>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ContainerSpec {
    image: String,
    network: Network,
    mounts: Vec<MountSpec>,
    envs: Vec<String>,
}

/// `true`, or as it was written before: `{required: true}`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Network {
    Wanted(bool),
    Older { required: bool },
}

impl Default for Network {
    fn default() -> Self {
        Network::Wanted(false)
    }
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct MountSpec {
    r#type: String,
    src: Spanned<String>,
    dst: String,
    rw: bool,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct ExecSpec {
    path: String,
    args: Vec<String>,
    envs: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct WasmSpec {
    path: String,
    args: Vec<String>,
    envs: Vec<String>,
}

impl FunctionSpec {
    /// What a resource says about the program it configures, and where it says so; `None` if it configures none.
    ///
    /// Looked for in this order: the annotation `config.kubernetes.io/function`, its older name, the field
    /// `metadata.configFn`, the annotation that names an image alone, and the field `runtime`.
    pub(crate) fn of(config: &Node) -> Result<Option<(Self, Span)>> {
        let declared = Self::in_metadata(config)?;
        let Some(runtime) = config.get("runtime").filter(|runtime| names_a_program(runtime)) else {
            return Ok(declared);
        };
        let place = runtime.span();
        let spec: Self = krm_yaml::from_node(runtime).map_err(|e| malformed("runtime", &e, e.place()))?;
        match declared {
            Some((other, there)) if other != spec => Err(Diagnostic::error(
                "function-declared-twice",
                "two different programs are named for one configuration",
            )
            .at(place)
            .note("the other one", there)
            .help("keep one of them")),
            _ => Ok(Some((spec, place))),
        }
    }

    fn in_metadata(config: &Node) -> Result<Option<(Self, Span)>> {
        refuse_odd_annotations(config)?;
        let annotation = |key| {
            let node = config.at(["metadata", "annotations", key])?;
            node.text().map(|text| (key, text, node.span()))
        };
        if let Some((key, text, place)) = annotation(FUNCTION).or_else(|| annotation(LEGACY_FUNCTION)) {
            // The text is counted in its own lines; errors point to the annotation.
            let parsed = krm_yaml::parse_str(text).map_err(|e| malformed(key, &e, place))?;
            let root = parsed.into_iter().next().map_or_else(Node::null, |doc| doc.root);
            let spec = krm_yaml::from_node(&root).map_err(|e| malformed(key, &e, place))?;
            return Ok(Some((spec, place)));
        }
        if let Some(field) = config.at(["metadata", "configFn"]).filter(|field| !field.is_null()) {
            let spec =
                krm_yaml::from_node(field).map_err(|e| malformed("metadata.configFn", &e, e.place()))?;
            return Ok(Some((spec, field.span())));
        }
        Ok(annotation(LEGACY_CONTAINER).map(|(_, image, place)| {
            let container = ContainerSpec { image: image.into(), ..ContainerSpec::default() };
            (Self { container: Some(container), ..Self::default() }, place)
        }))
    }

    /// How the program runs, if one is named.
    pub(crate) fn runs_as(&self) -> Option<&'static str> {
        match (&self.container, &self.exec, &self.wasm) {
            (Some(_), _, _) => Some("container"),
            (_, Some(_), _) => Some("exec"),
            (_, _, Some(_)) => Some("wasm"),
            _ => None,
        }
    }

    /// Whether a configuration, or an override of one, names a program.
    pub(crate) fn names_program(config: &Node) -> bool {
        config.get("runtime").is_some_and(names_a_program) || declaration(config).is_some()
    }

    /// Moves the name of a program from the metadata to `runtime`.
    pub(crate) fn move_to_runtime(config: &mut Node) -> Result<()> {
        let Some((keys, value)) = declaration(config).map(|(keys, value)| (keys, value.clone())) else {
            return Ok(());
        };
        let (key, place) = (keys[keys.len() - 1], value.span());
        let mut spec = match value.text() {
            _ if value.is_map() => value,
            Some(image) if key == LEGACY_CONTAINER => {
                let container: Node = [("image", image)].into_iter().collect();
                [("container", container)].into_iter().collect()
            }
            text => {
                let parsed = krm_yaml::parse_str(text.unwrap_or_default());
                let parsed = parsed.map_err(|e| malformed(key, &e, place))?;
                parsed.into_iter().next().map_or_else(Node::null, |doc| doc.root)
            }
        };
        set_spans(&mut spec, place);
        let holder = keys[..keys.len() - 1].iter().try_fold(&mut *config, |node, key| node.get_mut(key));
        if let Some(holder) = holder {
            holder.remove(key);
        }
        for map in [&["metadata", "annotations"][..], &["metadata"]] {
            let (last, above) = map.split_last().expect("there is a key");
            let holder = above.iter().try_fold(&mut *config, |node, key| node.get_mut(key));
            if let Some(holder) = holder
                && holder.get(last).is_some_and(Node::is_empty)
            {
                holder.remove(last);
            }
        }
        config.set("runtime", spec);
        Ok(())
    }

    /// The program to start.
    pub(crate) fn program(&self, folders: Folders, place: Span) -> Result<Program> {
        let dir = folders.dir;
        if self.starlark.is_some() {
            return Err(Diagnostic::error("function-starlark", "functions in Starlark are not supported")
                .at(place)
                .help("run the script with the catalog's `starlark` function, an image that takes it as configuration"));
        }
        let given = [
            self.container.as_ref().filter(|container| !container.image.is_empty()).map(|_| "container"),
            self.exec.as_ref().filter(|exec| !exec.path.is_empty()).map(|_| "exec"),
            self.wasm.as_ref().filter(|wasm| !wasm.path.is_empty()).map(|_| "wasm"),
        ];
        if let [first, second, ..] = given.into_iter().flatten().collect::<Vec<_>>()[..] {
            let message = format!("the function names two programs: `{first}` and `{second}`");
            return Err(Diagnostic::error("function-two-programs", message)
                .at(place)
                .help("keep one of them"));
        }
        if let Some(container) = self.container.as_ref().filter(|container| !container.image.is_empty()) {
            return container.program(folders, place);
        }
        if let Some(exec) = self.exec.as_ref().filter(|exec| !exec.path.is_empty()) {
            let env = exec.envs.iter().map(|text| EnvVar::parse(text)).collect();
            return Ok(Program::Exec(Exec {
                path: exec.path.clone(),
                args: exec.args.clone(),
                env,
                dir: dir.to_path_buf(),
            }));
        }
        if let Some(wasm) = self.wasm.as_ref().filter(|wasm| !wasm.path.is_empty()) {
            let env = wasm.envs.iter().map(|text| EnvVar::parse(text)).collect();
            let path = dir.join(&wasm.path).to_string_lossy().into_owned();
            return Ok(Program::Wasm(Module { path, args: wasm.args.clone(), env }));
        }
        Err(Diagnostic::error("function-without-program", "the function names no program to run")
            .at(place)
            .help("name one: `container: {image: ...}`, `exec: {path: ...}` or `wasm: {path: ...}`"))
    }
}

/// The folders that matter to a program.
#[derive(Clone, Copy)]
pub(crate) struct Folders<'a> {
    /// Where it runs, and what its paths are relative to.
    pub dir: &'a Path,
    /// That of the functionConfig, which containers see at `/local`.
    pub local: Option<&'a Path>,
    /// What the mounts it declares must be below; without one, no file of this machine can be mounted.
    pub bounds: Option<&'a Path>,
}

impl ContainerSpec {
    fn program(&self, folders: Folders, place: Span) -> Result<Program> {
        let mounts = self.mounts.iter().map(|mount| mount.resolve(folders, place)).collect::<Result<_>>()?;
        Ok(Program::Image(Image {
            image: self.image.clone(),
            network: matches!(self.network, Network::Wanted(true) | Network::Older { required: true }),
            mounts,
            env: self.envs.iter().map(|text| EnvVar::parse(text)).collect(),
            local: folders.local.map(Path::to_path_buf),
            args: Vec::new(),
        }))
    }
}

impl MountSpec {
    /// A file that people pass on must not reach outside its folder; the user who runs it may allow that with `--mount`.
    fn resolve(&self, folders: Folders, place: Span) -> Result<Mount> {
        if !["", "bind", "tmpfs"].contains(&self.r#type.as_str()) {
            let message = format!("a function may not declare a mount of type `{}`", self.r#type);
            return Err(Diagnostic::error("function-mount-type", message).at(place).help(
                "a file may declare `bind` mounts below its folder, and `tmpfs`; others can be given with `--mount`",
            ));
        }
        let source = Path::new(self.src.as_str());
        let outside = || {
            let message = format!("a function may not mount `{}`", self.src.as_str());
            Diagnostic::error("function-mount-outside", message)
                .at(place)
                .help("mounts a file declares must be relative and below its folder; others can be given with `--mount`")
        };
        if source.is_absolute() || paths::leaves(source) {
            return Err(outside());
        }
        let Folders { dir, bounds, .. } = folders;
        let mount = Mount {
            kind: self.r#type.clone(),
            source: self.src.value.clone(),
            target: self.dst.clone(),
            writable: self.rw,
        };
        let inside = match bounds {
            Some(bounds) => mount.within(dir).really_within(bounds),
            None => Some(mount).filter(|mount| !mount.is_bind()),
        };
        inside.ok_or_else(|| {
            let error = outside().note("with links followed, it leads out of that folder", Span::NONE);
            match bounds == Some(dir) {
                true => error,
                false => error.help("the path begins at the folder the command is given in"),
            }
        })
    }
}

/// Refuses annotations that are meant to name a program and do not: no function would run, and no one would notice.
fn refuse_odd_annotations(config: &Node) -> Result<()> {
    const KEYS: [&str; 3] = [FUNCTION, LEGACY_FUNCTION, LEGACY_CONTAINER];
    let annotations = config.at(["metadata", "annotations"]).and_then(Node::as_map);
    for entry in annotations.into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        if KEYS.contains(&key) {
            if entry.value.text().is_none() {
                let message = format!("`{key}` must be text, not {}", entry.value.kind_name());
                return Err(Diagnostic::error("function-malformed", message)
                    .at(entry.value.span())
                    .help("put `|` after the colon and indent what follows, so that it is text"));
            }
        } else if let Some((group @ ("config.kubernetes.io" | "config.k8s.io"), name)) = key.split_once('/')
            && krm_yaml::nearest(name, ["function"]).is_some()
        {
            let message = format!("there is no annotation `{key}`");
            return Err(Diagnostic::error("function-annotation-unknown", message)
                .at(entry.key.span())
                .help(format!("did you mean `{group}/function`?")));
        }
    }
    Ok(())
}

/// Whether a field called `runtime` is the one that names a program: other kinds may have a field with this name.
fn names_a_program(runtime: &Node) -> bool {
    ["container", "exec", "wasm", "starlark"].iter().any(|key| runtime.get(key).is_some_and(Node::is_map))
}

/// Where in the metadata a program is named, and how.
fn declaration(config: &Node) -> Option<(&'static [&'static str], &Node)> {
    const PLACES: [&[&str]; 4] = [
        &["metadata", "annotations", FUNCTION],
        &["metadata", "annotations", LEGACY_FUNCTION],
        &["metadata", "configFn"],
        &["metadata", "annotations", LEGACY_CONTAINER],
    ];
    PLACES.into_iter().find_map(|keys| {
        let value = config.at(keys.iter().copied()).filter(|value| !value.is_empty())?;
        Some((keys, value))
    })
}

/// A text within a text is counted in its own lines: what is read from it gets the span of the outer text.
fn set_spans(node: &mut Node, place: Span) {
    node.set_span(place);
    if let Some(map) = node.as_map_mut() {
        map.values_mut().for_each(|(_, value)| set_spans(value, place));
    }
    node.as_seq_mut().into_iter().flatten().for_each(|item| set_spans(item, place));
}

fn malformed(what: &str, error: &Diagnostic, place: Span) -> Diagnostic {
    let diagnostic =
        Diagnostic::error("function-malformed", format!("`{what}` cannot be read: {error}")).at(place);
    error.advice().iter().fold(diagnostic, |d, advice| d.help(advice.clone()))
}
