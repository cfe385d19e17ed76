//! `krm edit add`.

use clap::{Args, Subcommand};
use krm_engine::Result;
use krm_engine::edit::File;
use krm_engine::edit::generators::{Addition, Generated};
use krm_engine::edit::labels::{Common, Existing, Pair, Templates};
use krm_engine::edit::lists::Paths;

use super::set::PatchArgs;
use crate::cli::examples;

/// Add an entry to a kustomization
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_ADD)]
pub struct AddArgs {
    #[command(subcommand)]
    leaf: Leaf,
}

#[derive(Debug, Subcommand)]
enum Leaf {
    /// Add annotations for all resources, as `key:value`
    #[command(after_help = "Example:\n  krm edit -C examples/shop/base add annotation team:shop")]
    Annotation {
        /// Keys and values: `team:shop`; or several in one word, separated by commas
        #[arg(required = true, value_name = "KEY:VALUE")]
        pairs: Vec<String>,
        /// Overwrite existing values
        #[arg(short, long)]
        force: bool,
    },
    /// Add folders with kustomizations to `resources`, separated by commas
    #[command(after_help = "Example:\n  krm edit -C examples/answers/overlays/staging add base ../../base")]
    Base {
        /// The folders
        #[arg(value_name = "DIR,...")]
        paths: String,
    },
    /// Add words to `buildMetadata`: `originAnnotations`, `transformerAnnotations`, `managedByLabel`; separated by commas
    #[command(name = "buildmetadata")]
    #[command(after_help = "Example:\n  krm edit -C examples/shop/base add buildmetadata originAnnotations")]
    BuildMetadata {
        /// The words
        #[arg(value_name = "OPTION,...")]
        options: String,
    },
    /// Add components: folders, patterns or addresses
    #[command(
        after_help = "Example:\n  krm edit -C examples/answers/overlays/staging add component ../../components/tracing"
    )]
    Component {
        /// Paths from the folder of the kustomization
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Add a ConfigMap to generate, or data to one that is generated
    #[command(name = "configmap")]
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add configmap features --from-literal=DARK_MODE=on"
    )]
    ConfigMap(ConfigMapArgs),
    /// Add files that configure transformers
    #[command(
        after_help = "Example:\n  touch examples/shop/base/fields.yaml &&\n    krm edit -C examples/shop/base add configuration fields.yaml"
    )]
    Configuration {
        /// Paths from the folder of the kustomization
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Add files that configure generators
    #[command(
        after_help = "Example:\n  touch examples/shop/base/tenants.yaml &&\n    krm edit -C examples/shop/base add generator tenants.yaml"
    )]
    Generator {
        /// Paths from the folder of the kustomization
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Add labels for all resources, as `key:value`
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add label team:shop --without-selector"
    )]
    Label {
        /// Keys and values: `team:shop`; or several in one word, separated by commas
        #[arg(required = true, value_name = "KEY:VALUE")]
        pairs: Vec<String>,
        /// Overwrite existing values
        #[arg(short, long)]
        force: bool,
        /// Leave selectors alone: add to `labels` instead of `commonLabels`
        #[arg(long)]
        without_selector: bool,
        /// Label the templates of pods, too
        #[arg(long, requires = "without_selector")]
        include_templates: bool,
    },
    /// Add a patch: a file or a text, and what it applies to
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add patch --kind Deployment \\\n    --patch '[{op: replace, path: /spec/replicas, value: 2}]'"
    )]
    Patch(PatchArgs),
    /// Add resources: files, folders, patterns or addresses
    #[command(
        after_help = "Example:\n  touch examples/shop/base/cache.yaml && krm edit -C examples/shop/base add resource cache.yaml"
    )]
    Resource {
        /// Paths from the folder of the kustomization
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
        /// Take the paths as they are, there or not
        #[arg(long)]
        no_verify: bool,
    },
    /// Add a Secret to generate, or data to one that is generated
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add secret credentials --from-literal=password=changeit"
    )]
    Secret(SecretArgs),
    /// Add files that configure transformers to run
    #[command(
        after_help = "Example:\n  touch examples/shop/base/labels.yaml &&\n    krm edit -C examples/shop/base add transformer labels.yaml"
    )]
    Transformer {
        /// Paths from the folder of the kustomization
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Add files that configure validators
    #[command(
        after_help = "Example:\n  touch examples/shop/base/policy.yaml &&\n    krm edit -C examples/shop/base add validator policy.yaml"
    )]
    Validator {
        /// Paths from the folder of the kustomization
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
}

/// Where data comes from.
#[derive(Debug, Args)]
struct DataArgs {
    /// The name
    name: String,

    /// A file, as `path` or `key=path`; the path may be a pattern; may be given several times
    #[arg(long, value_name = "[KEY=]PATH", value_delimiter = ',')]
    from_file: Vec<String>,

    /// A value, as `key=value`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    from_literal: Vec<String>,

    /// A file with a `key=value` in each line
    #[arg(long, default_value = "", hide_default_value = true, value_name = "PATH")]
    from_env_file: String,

    /// Add no hash to the name
    #[arg(long = "disableNameSuffixHash")]
    disable_name_suffix_hash: bool,

    /// The namespace
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,
}

#[derive(Debug, Args)]
struct ConfigMapArgs {
    #[command(flatten)]
    data: DataArgs,

    /// What to do with one that a base has made: `create`, `merge` or `replace`
    #[arg(long, default_value = "", hide_default_value = true)]
    behavior: String,
}

#[derive(Debug, Args)]
struct SecretArgs {
    #[command(flatten)]
    data: DataArgs,

    /// The type of a new Secret
    #[arg(long = "type", default_value = "Opaque", value_name = "TYPE")]
    secret_type: String,
}

impl DataArgs {
    fn addition(&self) -> Addition {
        Addition {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            files: self.from_file.clone(),
            literals: self.from_literal.clone(),
            env: self.from_env_file.clone(),
            disable_name_suffix_hash: self.disable_name_suffix_hash,
            ..Addition::default()
        }
    }
}

fn existing(force: bool) -> Existing {
    if force { Existing::Overwrite } else { Existing::Refuse }
}

impl AddArgs {
    pub fn apply(&self, file: &mut File) -> Result<()> {
        match &self.leaf {
            Leaf::Annotation { pairs, force } => {
                let pairs = Pair::parse_all(pairs, Common::Annotations)?;
                file.add_common(Common::Annotations, &pairs, existing(*force))
            }
            Leaf::Base { paths } => file.add_bases(&paths.split(',').collect::<Vec<_>>()),
            Leaf::BuildMetadata { options } => {
                file.add_build_metadata(&options.split(',').collect::<Vec<_>>())
            }
            Leaf::Component { paths } => file.add_paths(Paths::Components, paths),
            Leaf::ConfigMap(args) => {
                let behavior = args.behavior.clone();
                file.add_generated(Generated::ConfigMap, &Addition { behavior, ..args.data.addition() })
            }
            Leaf::Configuration { paths } => file.add_paths(Paths::Configurations, paths),
            Leaf::Generator { paths } => file.add_paths(Paths::Generators, paths),
            Leaf::Label { pairs, force, without_selector, include_templates } => {
                let pairs = Pair::parse_all(pairs, Common::Labels)?;
                let templates = if *include_templates { Templates::Included } else { Templates::LeftAlone };
                match without_selector {
                    true => file.add_labels_without_selector(&pairs, templates, existing(*force)),
                    false => file.add_common(Common::Labels, &pairs, existing(*force)),
                }
            }
            Leaf::Patch(args) => file.add_patch(&args.entry().with_patch()?),
            Leaf::Resource { paths, no_verify: false } => file.add_paths(Paths::Resources, paths),
            Leaf::Resource { paths, no_verify: true } => {
                file.add_paths_unverified(Paths::Resources, paths);
                Ok(())
            }
            Leaf::Secret(args) => {
                let secret_type = args.secret_type.clone();
                file.add_generated(Generated::Secret, &Addition { secret_type, ..args.data.addition() })
            }
            Leaf::Transformer { paths } => file.add_paths(Paths::Transformers, paths),
            Leaf::Validator { paths } => file.add_paths(Paths::Validators, paths),
        }
    }
}
