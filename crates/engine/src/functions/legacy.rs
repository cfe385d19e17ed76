//! Plugins of the old kind: programs found by the type of their configuration.
//!
//! They know nothing about the functions specification. A generator prints resources; a transformer is given all of them on
//! its standard input, and prints those that are to be. Their configuration is in a file, named as the first argument, and
//! in the environment.

use std::path::{Path, PathBuf};

use krm_function::Object;
use krm_function::annotations::PLUGIN_ID as ID;
use krm_yaml::{Diagnostic, Failure, Node, Result, Span, Spanned, Text, decode_lossy};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{quoting, transform};
use crate::files::world::{Loader, provide};
use crate::pipeline::{Context, Role, Transformer};
use crate::resource::list::Resources;
use crate::resource::{IdKey, Resource, ResourceId};
use crate::resource::{history, lenient, read};
use crate::runtime::plugin::{self, Found};
use crate::runtime::{Argument, Permission, Program, Runtime, Tool};

/// A plugin of the old kind and its configuration.
#[derive(Debug)]
pub(crate) struct LegacyPlugin {
    program: PathBuf,
    args: Vec<String>,
    config: String,
    /// The kustomization's folder, where it runs.
    root: PathBuf,
    generates: bool,
    place: Span,
}

/// Longer variables cannot be handed to a program.
const LONGEST_VARIABLE: usize = 131_071;

impl LegacyPlugin {
    /// The program that runs.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The plugin for a configuration; `None` if there is none. Refuses one that the user did not allow.
    pub(crate) fn find(
        config: &Resource,
        role: Role,
        loader: &dyn Loader,
        runtime: &Runtime,
    ) -> Result<Option<Self>> {
        let gvk = config.gvk();
        let place = config.node().get("kind").map_or(config.span(), Node::span);
        let fault = |code, message: String, help: &str| Diagnostic::error(code, message).at(place).help(help);
        let program = match plugin::find(&runtime.policy().plugin_homes, &gvk.group, &gvk.version, &gvk.kind)
        {
            Found::Nothing => return Ok(None),
            Found::Go(path) => {
                let message =
                    format!("`{}` is a Go plugin, which only programs in Go can load", path.display());
                let help = "make a program of it that reads resources and prints resources, and put it in the same \
                            folder without an ending; or make it a function, which runs everywhere";
                return Err(fault("plugin-go", message, help));
            }
            Found::NotExecutable(path) => {
                let message = format!("the plugin `{}` is not executable", path.display());
                return Err(fault("plugin-not-executable", message, &format!("chmod +x {}", path.display())));
            }
            Found::Program(path) => path,
        };
        if !runtime.policy().functions {
            let message = format!("`{}` is a plugin, and plugins are not enabled", program.display());
            let help = "it would run with your rights: if you trust this configuration, pass `--enable-alpha-plugins`";
            return Err(fault("plugins-not-enabled", message, help).failing(Failure::NotEnabled));
        }
        Ok(Some(Self {
            program,
            args: arguments(config, loader)?,
            config: krm_yaml::canonical(config.node()),
            root: loader.root().to_owned(),
            generates: role == Role::Generate,
            place,
        }))
    }

    fn run(&self, input: Vec<u8>, cx: &Context) -> Result<Vec<u8>> {
        let name = self.program.display();
        let root = self.root.display().to_string();
        let variables =
            [("KUSTOMIZE_PLUGIN_CONFIG_STRING", &self.config), ("KUSTOMIZE_PLUGIN_CONFIG_ROOT", &root)];
        let variables =
            variables.into_iter().filter(|(n, value)| n.len() + 1 + value.len() <= LONGEST_VARIABLE);
        let tool = Tool {
            program: name.to_string(),
            args: std::iter::once(Argument::File(0)).chain(self.args.iter().map(Argument::from)).collect(),
            env: variables.map(|(name, value)| (name.to_owned(), Some(value.clone()))).collect(),
            dir: Some(self.root.clone()),
            files: vec![("config.yaml".to_owned(), self.config.clone().into_bytes())],
            needs: Permission::Plugins,
            timeout: None,
        };
        provide(cx.world, &self.root)?;
        let output = cx.runtime.run(&Program::Tool(tool), input).map_err(|error| {
            let message = format!("the plugin `{name}` cannot be started: {error}");
            Diagnostic::error("plugin-not-started", message).failing(Failure::NoSuchProgram).at(self.place)
        })?;
        if !output.status.is_success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let message = format!("the plugin `{name}` failed: {}", output.status);
            let failure = Diagnostic::error("plugin-failed", message).failing(Failure::ProgramFailed);
            return Err(quoting(failure.at(self.place), &stderr));
        }
        Ok(output.stdout)
    }

    fn read(&self, output: Vec<u8>, cx: &Context) -> Result<Vec<Resource>> {
        let source = cx.sources.add_bytes(format!("output of {}", self.program.display()), output);
        let read = source.and_then(|source| read::read(&source, cx.schema));
        read.map_err(|d| d.note("the plugin is configured here", self.place))
    }
}

/// What is in the configuration for programs that do not want to read it.
fn arguments(config: &Resource, loader: &dyn Loader) -> Result<Vec<String>> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Config {
        args_one_liner: Spanned<Text>,
        args_from_file: Spanned<Text>,
    }
    let config: Config = krm_yaml::from_node_with(config.node(), lenient::CONFIGURATION)?;
    let Some(mut args) = split_words(&config.args_one_liner) else {
        return Err(Diagnostic::error("plugin-args", "a quote in `argsOneLiner` is not closed")
            .at(config.args_one_liner.span)
            .help("close it, or put `\\` before it if it is part of the text"));
    };
    if !config.args_from_file.is_empty() {
        let bytes = loader.load_bytes(&config.args_from_file, config.args_from_file.span)?;
        let text = decode_lossy(bytes);
        let lines = text.split('\n').map(|line| line.trim_start_matches(' '));
        args.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
    }
    Ok(args)
}

/// Splits a line as a shell does, comments included; `None` if a quote is not closed.
pub(crate) fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.extend(chars.next()),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('#', None) => break,
            (c, None) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (c, _) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    quote.is_none().then_some(words)
}

impl Transformer for LegacyPlugin {
    fn is_program(&self) -> bool {
        true
    }

    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        if self.generates {
            let made = self.read(self.run(Vec::new(), cx)?, cx)?;
            return made.into_iter().try_for_each(|r| items.push(transform::with_options(r, cx)?));
        }
        let texts: Vec<String> = items.iter().map(sent).collect();
        let mut returned = self.read(self.run(texts.join("---\n").into_bytes(), cx)?, cx)?;
        for r in &mut returned {
            r.edit(cx.schema, |node| {
                let mut object = Object::from(node.take());
                object.remove_annotation(ID);
                *node = object.into_node();
            });
        }
        // Those that are still there keep their place; new ones come last, and what is missing is gone.
        let old: Vec<Resource> = std::mem::take(items).into_vec();
        let places: FxHashMap<IdKey, usize> =
            old.iter().enumerate().map(|(at, r)| (r.id().key(), at)).collect();
        let mut kept: Vec<Option<Resource>> = old.iter().map(|_| None).collect();
        let mut added = Vec::new();
        for mut new in returned {
            match places.get(&new.id().key()) {
                None => added.push(new),
                Some(at) => {
                    let before = &old[*at];
                    new.track = before.track;
                    new.origin = before.origin.clone();
                    new.transformations = before.transformations.clone();
                    new.referring_vars = before.referring_vars.clone();
                    if new.previous_ids().is_empty() {
                        new.inherit_ids(before);
                    }
                    if kept[*at].replace(new).is_some() {
                        return Err(self.twice(before.id()));
                    }
                }
            }
        }
        *items = Resources::from_vec(kept.into_iter().flatten().chain(added).collect());
        items.refuse_duplicates().map_err(|d| d.note("the plugin is configured here", self.place))
    }
}

impl LegacyPlugin {
    fn twice(&self, id: &ResourceId) -> Diagnostic {
        let message = format!("the plugin `{}` printed {id} twice", self.program.display());
        Diagnostic::error("plugin-twins", message).at(self.place)
    }
}

/// A resource as a plugin gets it: with what is remembered of it, and who it is.
fn sent(r: &Resource) -> String {
    let mut object = Object::from(r.node().clone());
    for (key, value) in history::annotations(r) {
        object.set_annotation(key, &value);
    }
    let id = r.id();
    let fields = [
        ("group", &id.gvk.group),
        ("kind", &id.gvk.kind),
        ("name", &id.name),
        ("namespace", &id.namespace),
        ("version", &id.gvk.version),
    ];
    let id: Node = fields
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key, value.clone()))
        .collect();
    object.set_annotation(ID, &krm_yaml::canonical(&id));
    krm_yaml::canonical(&object.into_node())
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn words_are_split_as_in_a_shell() {
        for (line, words) in [
            ("", vec![]),
            ("  a  b ", vec!["a", "b"]),
            (r#"a 'b c' "d e""#, vec!["a", "b c", "d e"]),
            (r#"a\ b "c\"d" 'e\f'"#, vec!["a b", "c\"d", r"e\f"]),
            ("a # b", vec!["a"]),
            ("a#b c", vec!["a"]),
        ] {
            assert_eq!(split_words(line).unwrap(), words, "{line}");
        }
        assert_eq!(split_words("a 'b"), None);
    }
}
