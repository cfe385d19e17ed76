//! What the generators of ConfigMaps and Secrets have in common: where data comes from, and what is done with it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Text};
use serde::Deserialize;

use super::{Setup, refused, setter};
use crate::files::world::Loader;
use crate::pipeline::Context;
use crate::pipeline::trace::{Cause, Input, InputKind};
use crate::resource::list::Resources;
use crate::resource::{Behavior, Resource, Track, lenient};

/// One entry of a kustomization's `configMapGenerator:` or `secretGenerator:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct GeneratorArgs {
    pub name: Spanned<Text>,
    pub namespace: Spanned<Text>,
    pub behavior: Spanned<Text>,
    /// `key=value`
    pub literals: Vec<Spanned<Text>>,
    /// `path`, whose last part is the key, or `key=path`.
    pub files: Vec<Spanned<Text>>,
    /// Files with a `key=value` in each line.
    pub envs: Vec<Spanned<Text>>,
    /// The old form of `envs`.
    pub env: Spanned<Text>,
    pub options: GeneratorOptions,
    /// Of secrets only.
    #[serde(rename = "type")]
    pub kind_of_secret: Spanned<Text>,
}

/// A kustomization's `generatorOptions:`, and the `options:` of each generator.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct GeneratorOptions {
    pub labels: BTreeMap<Text, Spanned<Text>>,
    pub annotations: BTreeMap<Text, Spanned<Text>>,
    pub disable_name_suffix_hash: bool,
    pub immutable: Spanned<bool>,
}

impl GeneratorOptions {
    /// Fills in what is not said here. What is switched on for all cannot be switched off for one.
    pub(crate) fn or(mut self, all: &GeneratorOptions) -> Self {
        let fill = |mine: &mut BTreeMap<Text, Spanned<Text>>, all: &BTreeMap<Text, Spanned<Text>>| {
            all.iter().for_each(|(k, v)| {
                mine.entry(k.clone()).or_insert_with(|| v.clone());
            });
        };
        fill(&mut self.labels, &all.labels);
        fill(&mut self.annotations, &all.annotations);
        self.disable_name_suffix_hash |= all.disable_name_suffix_hash;
        if !self.immutable.value {
            self.immutable = all.immutable;
        }
        self
    }
}

/// A generator's arguments with everything that was said elsewhere taken in.
#[derive(Clone)]
pub(super) struct Generator {
    pub args: GeneratorArgs,
    pub loader: Arc<dyn Loader>,
}

/// A value and where it was written, if it was.
pub(super) struct Value {
    pub bytes: Vec<u8>,
    pub span: Span,
}

impl Generator {
    /// From a kustomization's field.
    pub(crate) fn new(mut args: GeneratorArgs, options: &GeneratorOptions, loader: Arc<dyn Loader>) -> Self {
        let env = std::mem::take(&mut args.env);
        if !env.is_empty() {
            args.envs.push(env);
        }
        args.options = args.options.or(options);
        Self { args, loader }
    }

    /// From a configuration of its own, where name and namespace may be in the metadata.
    pub(crate) fn from_config(config: &Node, setup: &Setup) -> Result<Self> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metadata {
            name: Spanned<Text>,
            namespace: Spanned<Text>,
        }
        let mut args: GeneratorArgs = krm_yaml::from_node_with(config, lenient::INLINED_CONFIGURATION)?;
        // The old form is one of kustomization files only.
        args.env = Spanned::default();
        let metadata: Metadata = match config.get("metadata") {
            Some(node) => super::read_config(node)?,
            None => Metadata::default(),
        };
        if args.name.is_empty() {
            args.name = metadata.name;
        }
        if args.namespace.is_empty() {
            args.namespace = metadata.namespace;
        }
        setup.warn(refused::generator(&args, config));
        Ok(Self { args, loader: setup.loader.clone() })
    }

    /// The resource without its data.
    pub(crate) fn start(&self, kind: &str) -> Result<Node> {
        let GeneratorArgs { name, namespace, .. } = &self.args;
        if name.is_empty() {
            return Err(Diagnostic::error("generator-no-name", format!("a generated {kind} needs a name"))
                .at(name.span)
                .at(self.sources().next().map_or(Span::NONE, |source| source.span))
                .help("add `name:` to the generator"));
        }
        let mut metadata = Node::map();
        metadata.set("name", setter::fresh(name).with_span(name.span));
        if !namespace.is_empty() {
            metadata.set("namespace", setter::fresh(namespace).with_span(namespace.span));
        }
        let mut root = Node::map();
        root.set_span(name.span);
        root.set("apiVersion", Node::from("v1").with_span(name.span));
        root.set("kind", Node::from(kind).with_span(name.span));
        root.set("metadata", metadata);
        Ok(root)
    }

    /// Adds what the options ask for, and hands it over.
    pub(crate) fn finish(&self, mut root: Node, items: &mut Resources, cx: &Context) -> Result<()> {
        let options = &self.args.options;
        for (field, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
            if pairs.is_empty() {
                continue;
            }
            let pairs =
                pairs.iter().map(|(key, value)| (key.as_str(), setter::fresh(value).with_span(value.span)));
            root.get_mut("metadata").expect("it was made at the start").set(field, pairs.collect::<Node>());
        }
        if options.immutable.value {
            root.set("immutable", Node::from(true).with_span(options.immutable.span));
        }
        let mut resource = Resource::new(root, cx.schema);
        resource.needs_hash = !options.disable_name_suffix_hash;
        resource.behavior = self.behavior(cx);
        cx.note(Track::NONE, Span::NONE, || Cause::Generated { inputs: self.inputs() });
        items.push(resource)
    }

    fn behavior(&self, cx: &Context) -> Behavior {
        let behavior = &self.args.behavior;
        match behavior.value.as_str() {
            "create" => Behavior::Create,
            "replace" => Behavior::Replace,
            "merge" => Behavior::Merge,
            "" => Behavior::Unspecified,
            other => {
                cx.warn(
                    Diagnostic::warning(
                        "generator-behavior-unknown",
                        format!("there is no behavior `{other}`"),
                    )
                    .at(behavior.span)
                    .help("write `create`, `replace` or `merge`; anything else counts as `create`"),
                );
                Behavior::Unspecified
            }
        }
    }

    /// All that data comes from.
    fn sources(&self) -> impl Iterator<Item = &Spanned<Text>> {
        let GeneratorArgs { literals, files, envs, .. } = &self.args;
        literals.iter().chain(files).chain(envs)
    }

    /// Where the data comes from. What cannot be read was refused before.
    fn inputs(&self) -> Vec<Input> {
        let mut inputs = Vec::new();
        let merged = self.args.behavior.value == "merge";
        let mut add = |key: &str, kind, entry| inputs.push(Input { key: key.into(), kind, entry, merged });
        for path in &self.args.envs {
            let content = self.loader.load_bytes(path, path.span).unwrap_or_default();
            let text = String::from_utf8_lossy(&content);
            let keys = env_lines(&content).unwrap_or_default();
            let mut lines = text.split('\n').zip(1..);
            for (key, _) in keys {
                let of_key = |(line, _): &(&str, usize)| {
                    let line = line.trim_start_matches('\u{feff}').trim_start();
                    line.strip_prefix(key).is_some_and(|rest| {
                        matches!(rest.trim_end_matches('\r').chars().next(), None | Some('='))
                    })
                };
                let number = lines.find(of_key).map_or(0, |(_, number)| number);
                add(key, InputKind::Env(path.value.clone(), number), path.span);
            }
        }
        for literal in &self.args.literals {
            if let Ok((key, _)) = split_literal(literal) {
                add(key, InputKind::Literal, literal.span);
            }
        }
        for file in &self.args.files {
            if let Ok((key, path)) = split_file(file) {
                add(key, InputKind::File(path.into()), file.span);
            }
        }
        inputs
    }

    /// The data by key for a resource of a kind. Each key may come only once.
    pub(crate) fn data(&self, kind: &str) -> Result<BTreeMap<Text, Value>> {
        let mut data = BTreeMap::new();
        let mut add = |key: &str, bytes: Vec<u8>, place: Span| match data.entry(Text::from(key)) {
            Entry::Vacant(free) => {
                free.insert(Value { bytes, span: place });
                Ok(())
            }
            Entry::Occupied(first) => Err(self.twice(kind, key, first.get().span, place)),
        };
        for path in &self.args.envs {
            let content = self.loader.load_bytes(path, path.span)?;
            for (key, value) in env_lines(&content).map_err(|d| d.at(path.span))? {
                add(key, value.into(), path.span)?;
            }
        }
        for literal in &self.args.literals {
            let (key, value) = split_literal(literal)?;
            add(key, value.into(), literal.span)?;
        }
        for file in &self.args.files {
            let (key, path) = split_file(file)?;
            add(key, self.loader.load_bytes(path, file.span)?, file.span)?;
        }
        Ok(data)
    }
}

impl Generator {
    /// The error for a key that appears twice. Of env files it shows the lines, unless they are secret.
    #[cold]
    fn twice(&self, kind: &str, key: &str, first: Span, second: Span) -> Diagnostic {
        let (mut of_first, of_second) = match kind {
            "Secret" => (Vec::new(), Vec::new()),
            _ => (self.lines_of(key, first), self.lines_of(key, second)),
        };
        of_first.truncate(1);
        let first = of_first.first().copied().unwrap_or(first);
        let second = of_second.into_iter().find(|line| *line != first).unwrap_or(second);
        let message = format!("`{}` has the key `{key}` twice", self.args.name.value);
        Diagnostic::error("generator-key-twice", message)
            .at(second)
            .note("it comes first from here", first)
            .help("remove one of them, or give a file another key: `key=path`")
    }

    /// The lines of an env file that set a key, if the place is that of an env file.
    fn lines_of(&self, key: &str, place: Span) -> Vec<Span> {
        let Some(path) = self.args.envs.iter().find(|path| path.span == place) else { return Vec::new() };
        let Ok(source) = self.loader.load(path, place) else { return Vec::new() };
        let mut at = 0;
        let lines = source.text().split_inclusive('\n').filter_map(|line| {
            let start = at + line.len() - line.trim_start().len();
            at += line.len();
            let line = line.trim();
            let sets = line.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
            sets.then(|| source.span(start, start + line.len()))
        });
        lines.collect()
    }
}

fn split_literal(literal: &Spanned<Text>) -> Result<(&str, &str)> {
    match literal.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key, unquote(value))),
        // What it says may be secret.
        _ => Err(Diagnostic::error("generator-literal", "this literal has no key")
            .at(literal.span)
            .help("write a key, `=` and a value, as in `- FOO=bar`")),
    }
}

/// Takes off one pair of quotes.
fn unquote(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// Key and path of `key=path`, or of a path alone.
fn split_file(file: &Spanned<Text>) -> Result<(&str, &str)> {
    let wrong = |message: String, help: &str| {
        Err(Diagnostic::error("generator-file", message).at(file.span).help(help))
    };
    match file.split_once('=') {
        None => Ok((base_name(file), file)),
        Some(("", _)) => {
            wrong(format!("the file `{file}` has no key before `=`"), "write `key=path`, or the path alone")
        }
        Some((_, "")) => wrong(format!("the key `{file}` has no path"), "write `key=path`"),
        Some((_, path)) if path.contains('=') => {
            wrong(format!("`{file}` has more than one `=`"), "neither key nor path may hold a `=`")
        }
        Some((key, path)) => Ok((key, path)),
    }
}

/// The last part of a path, as Go's `path.Base` finds it.
fn base_name(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" if path.is_empty() => ".",
        "" => "/",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

/// Keys and values of an env file. There are no quotes, escapes or substitutions in it.
fn env_lines(content: &[u8]) -> Result<Vec<(&str, &str)>> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Err(Diagnostic::error("generator-env-encoding", "the file is not UTF-8")
            .help("an env file holds lines of text; for anything else use `files:`"));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).trim_start());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('=').unwrap_or((line, "")));
    Ok(pairs.filter(|(key, _)| !key.is_empty()).collect())
}

/// Base64, as a Secret holds it.
// quirk(base64-breaks-lines): Base64 of seventy characters and more is written in lines of seventy. (kyaml
// `encodeBase64`)
pub(super) fn base64(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let digits = STANDARD.encode(bytes);
    if digits.len() < LINE {
        return digits;
    }
    let mut lines = String::with_capacity(digits.len() + digits.len() / LINE + 1);
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE));
        lines.push_str(line);
        lines.push('\n');
        rest = more;
    }
    lines
}

/// What a Secret holds in base64, if it is text.
pub(crate) fn decoded(base64: &str) -> Option<String> {
    String::from_utf8(krm_yaml::binary::decode(base64)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_comes_in_lines_of_seventy() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"a"), "YQ==");
        assert_eq!(base64(b"ab"), "YWI=");
        assert_eq!(base64(b"abc"), "YWJj");
        assert_eq!(base64(&[0xff; 51]), "/".repeat(68));
        assert_eq!(base64(&[0xff; 54]), format!("{}\n//\n", "/".repeat(70)));
        assert_eq!(base64(&[0xff; 105]), format!("{0}\n{0}\n", "/".repeat(70)));
    }

    #[test]
    fn env_files_are_taken_by_the_word() {
        let lines = env_lines("\u{feff}A=1\r\n # no\n\n  B=\"x\"=y\nC\n=d\nE = f\n".as_bytes()).unwrap();
        assert_eq!(lines, [("A", "1"), ("B", "\"x\"=y"), ("C", ""), ("E ", " f")]);
    }

    #[test]
    fn literals_lose_one_pair_of_quotes() {
        assert_eq!(unquote("\"a\""), "a");
        assert_eq!(unquote("'\"a\"'"), "\"a\"");
        assert_eq!(unquote("\"a'"), "\"a'");
        assert_eq!(unquote("\""), "\"");
    }

    #[test]
    fn files_are_keyed_by_their_last_part() {
        assert_eq!(base_name("a/b.txt"), "b.txt");
        assert_eq!(base_name("a/b/"), "b");
        assert_eq!(base_name("/"), "/");
    }
}
