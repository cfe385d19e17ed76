//! Steps that have a configuration of their own: what `generators:`, `transformers:` and `validators:` list.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Node, Result, Span, Spanned, Text, embedded};

use super::compose::{Discarded, is_accumulator};
use super::odd_values;
use super::origin::{append, by_config};
use super::plan::{Here, Inherited, Plan};
use crate::files::dependencies::Found;
use crate::files::folder::Folder;
use crate::files::world::{Loader, clean};
use crate::functions::{Function, LegacyPlugin};
use crate::pipeline::{Pipeline, Role, Step, StepField, Transformer, Work};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::resource::read;
use crate::runtime::Program;
use crate::transformers::{self, Setup, TransformerConfig};

impl Plan<'_> {
    /// Adds the steps of a list.
    // quirk(inline-steps-run-first): Of `generators`, `transformers` and `validators`, inline objects run before files
    // and folders, wherever they are in the list. (`KustTarget.configureExternalTransformers`)
    pub(crate) fn external(
        &mut self,
        here: &Here,
        role: Role,
        field: StepField,
        entries: &[Node],
    ) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut configs = Resources::new();
        let mut paths = Vec::new();
        // Which entry each configuration comes from.
        let mut asked = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            match self.inline(here, entry)? {
                Some(objects) => configs.append(Resources::from_vec(objects))?,
                None => {
                    paths
                        .push((at, Spanned::new(Text::from(entry.text().unwrap_or_default()), entry.span())));
                }
            }
            asked.resize(configs.len(), at);
        }
        let mut compositions = Vec::new();
        // A run of paths up to a Composition, which is itself run and gives no configurations.
        for (at, path) in paths {
            match self.composition_at(here.folder, &path)? {
                None => self.build_configs(here.folder, &[path], here.scope, &mut configs)?,
                Some(composition) => compositions.push((configs.len(), (at, composition))),
            }
            asked.resize(configs.len(), at);
        }
        let mut compositions = compositions.into_iter().peekable();
        for at in 0..=configs.len() {
            while let Some((_, (entry, (folder, name, place)))) =
                compositions.next_if(|(position, _)| *position == at)
            {
                let composed = self.composed(&folder, &name, here.scope, place)?;
                let work = match role {
                    Role::Validate => Work::new(Discarded(composed, place)),
                    _ => Work::new(composed),
                };
                self.steps.push(Step::new(here.name(field.clone(), Some(entry)), place, role, work));
            }
            if let Some(config) = configs.get(at) {
                if role != Role::Validate && self.accumulate(config.node(), here.folder, here.scope)? {
                    continue;
                }
                let work = Work::Transform(self.make(config, role, here.folder, None)?.into());
                let name = here.name(field.clone(), asked.get(at).copied());
                let origin = by_config(config).map(Arc::new);
                self.steps.push(Step { origin, ..Step::new(name, config.span(), role, work) });
            }
        }
        Ok(())
    }

    /// What a file or a folder named among transformers gives: the one place where a build runs within planning.
    pub(super) fn build_configs(
        &self,
        folder: &Arc<Folder>,
        paths: &[Spanned<Text>],
        scope: &Inherited,
        configs: &mut Resources,
    ) -> Result<()> {
        let mut plan = Plan::new(self.planning, self.schema.clone(), &self.dependencies);
        plan.load(folder, StepField::Transformers, paths, scope)?;
        let pipeline = Pipeline { steps: plan.steps, schema: plan.schema };
        pipeline.run(configs, &self.planning.context(&self.schema, &self.dependencies))
    }

    /// Makes a step of its configuration.
    pub(super) fn make(
        &self,
        config: &Resource,
        role: Role,
        folder: &Arc<Folder>,
        defaults: Option<&TransformerConfig>,
    ) -> Result<Box<dyn Transformer>> {
        let gvk = config.gvk();
        let place = config.node().get("kind").map_or(config.span(), Node::span);
        if gvk.group.is_empty() && gvk.version == "builtin" {
            let Some(make) = transformers::builtin(&gvk.kind) else {
                let message = format!("there is no built-in `{}`", gvk.kind);
                let diagnostic = Diagnostic::error("unknown-builtin", message).at(place);
                return Err(match krm_yaml::nearest(&gvk.kind, transformers::kinds()) {
                    _ if is_accumulator(config.node()) => {
                        diagnostic.help("it adds resources: list it under `generators:` or `transformers:`")
                    }
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                });
            };
            let loader: Arc<dyn Loader> = folder.clone();
            // `fieldSpecs: default` asks for the fields a kustomization's own field would change; kustomize
            // refuses it, so it cannot have another meaning.
            let mut node = config.node().clone();
            let wants_defaults = node.get("fieldSpecs").and_then(Node::text) == Some("default");
            if wants_defaults {
                node.remove("fieldSpecs");
            }
            let is_composed = defaults.is_some();
            let defaults = defaults.or(wants_defaults.then_some(&self.config));
            let setup = Setup { loader: &loader, defaults, warn: &|warning| self.warn([warning]) };
            let (made, noticed) = krm_yaml::de::noticing(|| make(&node, &setup));
            let is_word = node.get("fieldSpecs").is_some_and(|specs| specs.as_str().is_some());
            let made = if is_word {
                made.map_err(|d| d.help("or write `default` for the usual fields"))
            } else {
                made
            };
            let unknown = transformers::unknown_fields(&node, &noticed);
            self.warn(odd_values::field_case(noticed));
            return match is_composed.then_some(()) {
                // quirk(built-ins-ignore-unknown-fields): A field that a built-in does not know, in a configuration of
                // its own, is ignored; in a kustomization it is a mistake.
                // (`builtins.AnnotationsTransformerPlugin.Config`)
                None => {
                    self.warn(unknown);
                    made
                }
                Some(_) => match Diagnostic::join(unknown.into_iter().map(Diagnostic::into_error)) {
                    Some(errors) => Err(errors),
                    None => made,
                },
            };
        }
        // A program is looked for, and runs, where it was named.
        let runtime_at = config.node().get("runtime").map_or(config.span(), innermost);
        let dir = folder.elsewhere(runtime_at).unwrap_or(folder).root();
        let runtime = &self.planning.runtime;
        if let Some(function) = Function::from_config(config.node(), dir, Some(folder.root()), runtime)? {
            self.note_program(function.program());
            return Ok(Box::new(function));
        }
        let cataloged = self.planning.cataloged(gvk, &self.dependencies);
        if let Some(program) = cataloged.map_err(|d| d.note("looked up for this", place))? {
            let mut config = config.node().clone();
            config.set("runtime", program);
            let function = Function::from_config(&config, dir, Some(folder.root()), runtime);
            let function = function.map_err(|d| d.at(place))?.expect("its program was just named");
            self.note_program(function.program());
            return Ok(Box::new(function));
        }
        match LegacyPlugin::find(config, role, &**folder, runtime)? {
            Some(plugin) => {
                let why = format!("it runs the plugin {}", config.id());
                self.dependencies.runs(|programs| programs.unknown.push(why));
                self.dependencies.looked(plugin.program(), Found::Something);
                Ok(Box::new(plugin))
            }
            None if config.node().get("runtime").is_some() => {
                let message = format!("the field `runtime` of {} does not name a program", config.id());
                Err(Diagnostic::error("plugin-unknown", message)
                    .failing(Failure::NoSuchProgram)
                    .at(runtime_at)
                    .help("write `exec: {path: ./PROGRAM}`, `container: {image: IMAGE}` or `wasm: {path: ./MODULE}` in it"))
            }
            None => {
                let message = format!("{} is neither a built-in nor a function", config.id());
                Err(Diagnostic::error("plugin-unknown", message).failing(Failure::NoSuchProgram)
                    .at(place)
                    .help("a built-in has `apiVersion: builtin`")
                    .help("a function has the annotation `config.kubernetes.io/function` or a field `runtime` that names its program")
                    .help("a plugin of the older kind is a program in `$KUSTOMIZE_PLUGIN_HOME/GROUP/VERSION/kind/Kind`, with the kind in small letters as the folder; see `--enable-alpha-plugins`"))
            }
        }
    }

    /// Notes what the output of a program depends on besides its input and its configuration.
    fn note_program(&self, program: &Program) {
        let policy = self.planning.runtime.policy();
        self.dependencies.runs(|programs| match program {
            Program::Wasm(_) => {}
            Program::Image(image) if image.network => {
                programs.unknown.push(format!("`{}` has the network", image.image));
            }
            Program::Image(image) => {
                programs.images.push(image.image.clone());
                programs.folders.extend(image.local.clone());
                for mount in image.mounts.iter().chain(&policy.mounts) {
                    match mount.is_bind() && !mount.writable {
                        true => programs.folders.push(mount.source.clone().into()),
                        false if mount.kind == "tmpfs" => {}
                        false => programs.unknown.push(format!("`{}` is mounted", mount.source)),
                    }
                }
            }
            Program::Exec(_) | Program::Tool(_) => {
                programs.unknown.push(format!("it runs `{}`, which may read anything", program.name()));
            }
        });
        if let Some(file) = program.file() {
            self.dependencies.looked(&clean(&file), Found::Something);
        }
    }

    /// The objects an entry holds; none if it is a path.
    fn inline(&self, here: &Here, entry: &Node) -> Result<Option<Vec<Resource>>> {
        let objects = match entry.as_str() {
            None if entry.is_map() => read::of_trees(vec![entry.clone()], &self.schema)?,
            None => {
                let message = format!("expected a path or an object, found {}", entry.kind_name());
                return Err(Diagnostic::error("wrong-type", message).at(entry.span()));
            }
            Some(text) if !text.contains(['\n', ':', '{']) => return Ok(None),
            Some(text) => {
                let roots = embedded::parse(entry, Some(&here.file.source));
                match roots.and_then(|roots| read::of_trees(roots, &self.schema)) {
                    Ok(objects) => objects,
                    // Several lines are not a path: then the object has the fault.
                    Err(error) if text.trim_end().contains('\n') => return Err(error),
                    Err(_) => return Ok(None),
                }
            }
        };
        let origin = here.scope.origin.as_ref().map(|origin| append(origin, here.file.name()));
        let with_origin = |mut r: Resource| {
            r.origin = origin.clone().map(Box::new);
            r
        };
        Ok(Some(objects.into_iter().map(with_origin).collect()))
    }
}

/// Where the program itself is named: an override may have changed it alone.
fn innermost(runtime: &Node) -> Span {
    let program = ["container", "exec", "wasm"].into_iter().find_map(|kind| runtime.get(kind));
    let name = program.and_then(|program| program.get("path").or_else(|| program.get("image")));
    name.or(program).unwrap_or(runtime).span()
}
