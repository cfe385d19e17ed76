//! `krm edit remove`.

use clap::{Args, Subcommand};
use krm_engine::Result;
use krm_engine::edit::File;
use krm_engine::edit::generators::Generated;
use krm_engine::edit::labels::Common;
use krm_engine::edit::lists::Paths;

use super::set::PatchArgs;
use crate::cli::examples;

/// Remove entries from a kustomization
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_REMOVE)]
pub struct RemoveArgs {
    #[command(subcommand)]
    leaf: Leaf,
}

#[derive(Debug, Subcommand)]
enum Leaf {
    /// Remove annotations by their keys, separated by commas
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base remove annotation team --ignore-non-existence"
    )]
    Annotation(KeyArgs),
    /// Remove words from `buildMetadata`, separated by commas
    #[command(name = "buildmetadata")]
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add buildmetadata originAnnotations &&\n    krm edit -C examples/shop/base remove buildmetadata originAnnotations"
    )]
    BuildMetadata {
        /// The words
        #[arg(value_name = "OPTION,...")]
        options: String,
    },
    /// Remove components
    #[command(
        after_help = "Example:\n  krm edit -C examples/answers/regions/europe remove component ../../components/tracing"
    )]
    Component(PathArgs),
    /// Remove ConfigMaps that are generated, by their names, separated by commas
    #[command(name = "configmap")]
    #[command(after_help = "Example:\n  krm edit -C examples/shop/base remove configmap settings")]
    ConfigMap(NameArgs),
    /// Remove files that configure transformers
    #[command(
        after_help = "Example:\n  touch examples/shop/base/fields.yaml &&\n    krm edit -C examples/shop/base add configuration fields.yaml &&\n    krm edit -C examples/shop/base remove configuration fields.yaml"
    )]
    Configuration(PathArgs),
    /// Remove files that configure generators
    #[command(
        after_help = "Example:\n  touch examples/shop/base/tenants.yaml &&\n    krm edit -C examples/shop/base add generator tenants.yaml &&\n    krm edit -C examples/shop/base remove generator tenants.yaml"
    )]
    Generator(PathArgs),
    /// Remove labels by their keys, separated by commas
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base remove label team --ignore-non-existence"
    )]
    Label(KeyArgs),
    /// Remove patches that are exactly as described
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add patch --kind Deployment \\\n    --patch '[{op: replace, path: /spec/replicas, value: 2}]' &&\n    krm edit -C examples/shop/base remove patch --kind Deployment \\\n    --patch '[{op: replace, path: /spec/replicas, value: 2}]'"
    )]
    Patch(PatchArgs),
    /// Remove resources
    #[command(after_help = "Example:\n  krm edit -C examples/shop/base remove resource web.yaml")]
    Resource(PathArgs),
    /// Remove Secrets that are generated, by their names, separated by commas
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add secret credentials --from-literal=password=old &&\n    krm edit -C examples/shop/base remove secret credentials"
    )]
    Secret(NameArgs),
    /// Remove files that configure transformers to run
    #[command(
        after_help = "Example:\n  touch examples/shop/base/labels.yaml &&\n    krm edit -C examples/shop/base add transformer labels.yaml &&\n    krm edit -C examples/shop/base remove transformer labels.yaml"
    )]
    Transformer(PathArgs),
    /// Remove files that configure validators
    #[command(
        after_help = "Example:\n  touch examples/shop/base/policy.yaml &&\n    krm edit -C examples/shop/base add validator policy.yaml &&\n    krm edit -C examples/shop/base remove validator policy.yaml"
    )]
    Validator(PathArgs),
}

#[derive(Debug, Args)]
struct PathArgs {
    /// Paths as they are written in the file, or patterns: `*.yaml`
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
}

#[derive(Debug, Args)]
struct KeyArgs {
    /// The keys
    #[arg(value_name = "KEY,...")]
    keys: String,
    /// Accept that one does not exist
    #[arg(short, long)]
    ignore_non_existence: bool,
}

#[derive(Debug, Args)]
struct NameArgs {
    /// The names
    #[arg(value_name = "NAME,...")]
    names: String,
    /// The namespace they are in
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,
}

impl RemoveArgs {
    pub fn apply(&self, file: &mut File) -> Result<()> {
        let paths = |file: &mut File, list, args: &PathArgs| file.remove_paths(list, &args.paths);
        let keys = |file: &mut File, kind, args: &KeyArgs| {
            let keys: Vec<&str> = args.keys.split(',').collect();
            file.remove_common(kind, &keys, args.ignore_non_existence)
        };
        let names = |file: &mut File, kind, args: &NameArgs| {
            file.remove_generated(kind, &args.names.split(',').collect::<Vec<_>>(), &args.namespace)
        };
        match &self.leaf {
            Leaf::Annotation(args) => keys(file, Common::Annotations, args),
            Leaf::BuildMetadata { options } => {
                file.remove_build_metadata(&options.split(',').collect::<Vec<_>>())
            }
            Leaf::Component(args) => paths(file, Paths::Components, args),
            Leaf::ConfigMap(args) => names(file, Generated::ConfigMap, args),
            Leaf::Configuration(args) => paths(file, Paths::Configurations, args),
            Leaf::Generator(args) => paths(file, Paths::Generators, args),
            Leaf::Label(args) => keys(file, Common::Labels, args),
            Leaf::Patch(args) => {
                file.remove_patch(&args.entry());
                Ok(())
            }
            Leaf::Resource(args) => paths(file, Paths::Resources, args),
            Leaf::Secret(args) => names(file, Generated::Secret, args),
            Leaf::Transformer(args) => paths(file, Paths::Transformers, args),
            Leaf::Validator(args) => paths(file, Paths::Validators, args),
        }
    }
}
