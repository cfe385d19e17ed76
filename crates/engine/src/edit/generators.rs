//! ConfigMaps and Secrets that a kustomization generates.

use std::sync::Arc;

use krm_yaml::{Node, Result};

use super::{File, bad_argument, fields, glob, missing};
use crate::files::world::Loader;
use crate::resource::lenient;
use crate::transformers::{ConfigMapGenerator, GeneratorArgs, GeneratorOptions, SecretGenerator};

/// Which generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// An entry of `configMapGenerator:`.
    ConfigMap,
    /// An entry of `secretGenerator:`.
    Secret,
}

impl Generated {
    fn field(self) -> &'static str {
        match self {
            Generated::ConfigMap => "configMapGenerator",
            Generated::Secret => "secretGenerator",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Generated::ConfigMap => "ConfigMap",
            Generated::Secret => "Secret",
        }
    }
}

/// What `add configmap` and `add secret` add.
#[derive(Clone, Debug, Default)]
pub struct Addition {
    /// The name of the generator; must not be empty.
    pub name: String,
    /// Its namespace; empty is the default one.
    pub namespace: String,
    /// `path` or `key=path`; the path may be a pattern.
    pub files: Vec<String>,
    /// Each `key=value`.
    pub literals: Vec<String>,
    /// The path of an env file; empty for none. It cannot be combined with files or literals.
    pub env: String,
    /// `create`, `merge` or `replace`; empty leaves it as it is.
    pub behavior: String,
    /// Of a new secret.
    pub secret_type: String,
    /// Sets `disableNameSuffixHash`; `false` leaves it as it is.
    pub disable_name_suffix_hash: bool,
}

impl Addition {
    fn check(&self) -> Result<()> {
        if self.name.is_empty() {
            return Err(bad_argument("the name is empty"));
        }
        let no_data = self.files.is_empty() && self.literals.is_empty();
        match (self.env.is_empty(), no_data) {
            (true, true) => {
                return Err(bad_argument("no data is given")
                    .help("add some by `--from-literal`, `--from-file` or `--from-env-file`"));
            }
            (false, false) => {
                return Err(bad_argument(
                    "`--from-env-file` cannot be combined with `--from-file` or `--from-literal`",
                )
                .help("run the command twice: the second time adds to what the first one made"));
            }
            _ => {}
        }
        if !["", "create", "merge", "replace"].contains(&self.behavior.as_str()) {
            return Err(bad_argument(format!("`{}` is not a behavior", self.behavior))
                .help("possible values are `create`, `merge` and `replace`"));
        }
        Ok(())
    }
}

impl File {
    /// Adds data to a generator, made if there is none of that name and namespace. The result must be one that can be
    /// generated.
    pub fn add_generated(&mut self, kind: Generated, addition: &Addition) -> Result<()> {
        addition.check()?;
        let files = self.expand_files(&addition.files)?;
        if files.is_empty() && addition.literals.is_empty() && addition.env.is_empty() {
            let patterns = addition.files.join("`, `");
            return Err(missing(format!("no file matches `{patterns}`"))
                .help("paths are relative to the kustomization's folder"));
        }
        let at = match self.generator(kind, &addition.name, &addition.namespace) {
            Some(at) => at,
            None => {
                let mut entry = Node::map();
                fields::set_text(&mut entry, "name", &addition.name);
                fields::set_text(&mut entry, "namespace", &addition.namespace);
                if kind == Generated::Secret {
                    fields::set_text(&mut entry, "type", &addition.secret_type);
                }
                fields::push(self.root_mut(), kind.field(), entry);
                fields::items(self.root(), kind.field()).len() - 1
            }
        };
        let Some(entry) = self.entry_mut(kind, at) else { return Ok(()) };
        if !addition.behavior.is_empty() {
            fields::set_text(entry, "behavior", &addition.behavior);
        }
        if !addition.env.is_empty() {
            fields::push(entry, "envs", Node::from(addition.env.as_str()));
        }
        files.iter().for_each(|file| fields::push(entry, "files", Node::from(file.as_str())));
        addition.literals.iter().for_each(|text| fields::push(entry, "literals", Node::from(text.as_str())));
        if addition.disable_name_suffix_hash
            && let Some(options) = fields::make(entry, "options", Node::map())
            && fields::get(options, "disableNameSuffixHash").and_then(Node::as_bool) != Some(true)
        {
            fields::set(options, "disableNameSuffixHash", Node::from(true));
        }
        self.check_generated(kind, at)
    }

    /// Changes the values of literals that are there, or the namespace.
    pub fn set_generated(
        &mut self,
        kind: Generated,
        name: &str,
        namespace: &str,
        literals: &[String],
        new_namespace: &str,
    ) -> Result<()> {
        if literals.is_empty() && new_namespace.is_empty() {
            return Err(bad_argument("nothing to set is given")
                .help("give `--from-literal KEY=VALUE` or `--new-namespace NAME`"));
        }
        let at = self.generator(kind, name, namespace).ok_or_else(|| self.no_generator(kind, name))?;
        let Some(entry) = self.entry_mut(kind, at) else { return Ok(()) };
        for literal in literals {
            let Some((key, _)) = literal.split_once('=') else {
                return Err(
                    bad_argument(format!("`{literal}` is not a literal")).help("write it as `KEY=VALUE`")
                );
            };
            let is_it =
                |item: &Node| item.text().and_then(|text| text.split_once('=')).map(|(k, _)| k) == Some(key);
            if !fields::items(entry, "literals").iter().any(is_it) {
                return Err(missing(format!("{} `{name}` has no literal `{key}`", kind.kind()))
                    .help(format!("`edit add {}` adds one", kind.kind().to_lowercase())));
            }
            let items = fields::get_mut(entry, "literals").and_then(Node::as_seq_mut);
            for item in items.into_iter().flatten().filter(|item| is_it(item)) {
                if item.text() != Some(literal) {
                    item.assign(Node::from(literal.as_str()));
                }
            }
        }
        if !new_namespace.is_empty() {
            fields::set_text(entry, "namespace", new_namespace);
        }
        self.check_generated(kind, at)
    }

    /// Removes generators by name. That one of several is not there is worth a note; that none is there is an error.
    pub fn remove_generated(&mut self, kind: Generated, names: &[&str], namespace: &str) -> Result<()> {
        let is_named = |entry: &Node, name: &str| {
            fields::text(entry, "name") == name && same_namespace(fields::text(entry, "namespace"), namespace)
        };
        let there =
            |name: &&&str| fields::items(self.root(), kind.field()).iter().any(|entry| is_named(entry, name));
        let absent: Vec<&str> = names.iter().filter(|name| !there(name)).copied().collect();
        if absent.len() == names.len() {
            return Err(self.no_generator(kind, &names.join("`, `")));
        }
        for name in absent {
            self.note(format!("there is no {} `{name}` in `{}`", kind.kind(), self.shown()));
        }
        let stays = |entry: &Node| !names.iter().any(|name| is_named(entry, name));
        self.retain(kind.field(), stays);
        Ok(())
    }

    fn no_generator(&self, kind: Generated, name: &str) -> krm_yaml::Diagnostic {
        let error = missing(format!("no {} `{name}` is generated in `{}`", kind.kind(), self.shown()));
        let all = fields::items(self.root(), kind.field());
        match krm_yaml::nearest(name, all.iter().map(|entry| fields::text(entry, "name"))) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`--namespace` says which one, unless it is in the default namespace"),
        }
    }

    fn generator(&self, kind: Generated, name: &str, namespace: &str) -> Option<usize> {
        fields::items(self.root(), kind.field()).iter().position(|entry| {
            fields::text(entry, "name") == name && same_namespace(fields::text(entry, "namespace"), namespace)
        })
    }

    fn entry_mut(&mut self, kind: Generated, at: usize) -> Option<&mut Node> {
        fields::get_mut(self.root_mut(), kind.field())?.as_seq_mut()?.get_mut(at)
    }

    /// Files by patterns. One with a key must be one.
    fn expand_files(&mut self, files: &[String]) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for file in files {
            let (key, pattern) = match file.split_once('=') {
                Some((key, path)) if !path.contains('=') => (key, path),
                _ => ("", file.split('=').next().unwrap_or_default()),
            };
            let found = glob::expand(&*self.folder().files().world, self.folder().root(), pattern)?;
            match (key, found.as_slice()) {
                ("", []) => self.note(format!("`{pattern}` matches no file")),
                ("", _) => all.extend(found),
                (key, [one]) => all.push(format!("{key}={one}")),
                (key, several) => {
                    let message =
                        format!("`{pattern}` matches {} files, but `{key}` is the key of one", several.len());
                    return Err(bad_argument(message).help("name one file for the key"));
                }
            }
        }
        Ok(all)
    }

    /// Refuses an entry that could not be generated: files that are missing, keys that are there twice.
    fn check_generated(&self, kind: Generated, at: usize) -> Result<()> {
        let Some(entry) = fields::items(self.root(), kind.field()).get(at) else { return Ok(()) };
        let args: GeneratorArgs = krm_yaml::from_node_with(entry, lenient::KUSTOMIZATION)?;
        let options = GeneratorOptions::default();
        let loader: Arc<dyn Loader> = self.folder().clone();
        match kind {
            Generated::ConfigMap => ConfigMapGenerator::new(args, &options, loader)?.check(),
            Generated::Secret => SecretGenerator::new(args, &options, loader).check(),
        }
    }
}

/// No namespace is the default one.
fn same_namespace(a: &str, b: &str) -> bool {
    fn named(namespace: &str) -> &str {
        if namespace.is_empty() { "default" } else { namespace }
    }
    named(a) == named(b)
}
