//! `krm edit set`, and the arguments that describe a patch.

use clap::{Args, Subcommand};
use krm_engine::Result;
use krm_engine::edit::File;
use krm_engine::edit::generators::Generated;
use krm_engine::edit::images::ImageChange;
use krm_engine::edit::labels::{Common, Pair};
use krm_engine::edit::patches::PatchEntry;
use krm_engine::edit::replicas::ReplicasChange;

use crate::cli::examples;

/// Set the value of a field of a kustomization
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_SET)]
pub struct SetArgs {
    #[command(subcommand)]
    leaf: Leaf,
}

#[derive(Debug, Subcommand)]
enum Leaf {
    /// Set annotations for all resources, as `key:value`
    #[command(after_help = "Example:\n  krm edit -C examples/shop/base set annotation team:shop")]
    Annotation {
        /// Keys and values: `team:shop`; or several in one word, separated by commas
        #[arg(required = true, value_name = "KEY:VALUE")]
        pairs: Vec<String>,
    },
    /// Set `buildMetadata`: `originAnnotations`, `transformerAnnotations`, `managedByLabel`; separated by commas
    #[command(name = "buildmetadata")]
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base set buildmetadata originAnnotations,managedByLabel"
    )]
    BuildMetadata {
        /// The words
        #[arg(value_name = "OPTION,...")]
        options: String,
    },
    /// Change literals of a ConfigMap that is generated, or its namespace
    #[command(name = "configmap")]
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base set configmap settings --from-literal=GREETING=welcome"
    )]
    ConfigMap(DataArgs),
    /// Set the name, tag or digest of images
    ///
    /// Written as `IMAGE=NEWIMAGE:NEWTAG@DIGEST`, as `IMAGE:NEWTAG@DIGEST`, or with fewer parts. What is left out is
    /// removed from the entry of that image; `*` in its place keeps it.
    #[command(
        after_help = "Examples:\n  krm edit -C examples/shop/overlays/production set image example.com/shop/web:1.5\n  krm edit -C examples/shop/overlays/production set image example.com/shop/web=nginx:1.29"
    )]
    Image {
        /// The images, as described above
        #[arg(required = true, value_name = "IMAGE")]
        images: Vec<String>,
    },
    /// Set labels for all resources, as `key:value`
    #[command(after_help = "Example:\n  krm edit -C examples/shop/base set label team:shop")]
    Label {
        /// Keys and values: `team:shop`; or several in one word, separated by commas
        #[arg(required = true, value_name = "KEY:VALUE")]
        pairs: Vec<String>,
    },
    /// Set the prefix of all names
    #[command(name = "nameprefix")]
    #[command(after_help = "Example:\n  krm edit -C examples/shop/overlays/production set nameprefix live-")]
    NamePrefix {
        /// The prefix
        #[arg(value_name = "PREFIX")]
        value: String,
    },
    /// Set the namespace of all resources
    #[command(after_help = "Example:\n  krm edit -C examples/shop/overlays/production set namespace shop-eu")]
    Namespace {
        /// The namespace
        #[arg(value_name = "NAMESPACE")]
        value: String,
    },
    /// Set the suffix of all names; write `-- -suffix` for one that begins with a dash
    #[command(name = "namesuffix")]
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/overlays/production set namesuffix -- -blue"
    )]
    NameSuffix {
        /// The suffix
        #[arg(value_name = "SUFFIX")]
        value: String,
    },
    /// Set how many copies workloads run, as `name=count`
    #[command(after_help = "Example:\n  krm edit -C examples/shop/overlays/production set replicas web=5")]
    Replicas {
        /// Names of workloads, and how many copies of each
        #[arg(required = true, value_name = "NAME=COUNT")]
        replicas: Vec<String>,
    },
    /// Change literals of a Secret that is generated, or its namespace
    #[command(
        after_help = "Example:\n  krm edit -C examples/shop/base add secret credentials --from-literal=password=old &&\n    krm edit -C examples/shop/base set secret credentials --from-literal=password=new"
    )]
    Secret(DataArgs),
}

#[derive(Debug, Args)]
struct DataArgs {
    /// The name
    name: String,

    /// A new value for a key that is there, as `key=value`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    from_literal: Vec<String>,

    /// The namespace it is in
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// The namespace it is to be in
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAMESPACE")]
    new_namespace: String,
}

/// A patch, and what it applies to.
#[derive(Debug, Args)]
pub struct PatchArgs {
    /// The file of the patch
    #[arg(long, default_value = "", hide_default_value = true, conflicts_with = "patch")]
    path: String,

    /// The text of the patch
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    patch: String,

    /// The group of the resources
    #[arg(long, default_value = "", hide_default_value = true)]
    group: String,

    /// The version of the resources
    #[arg(long, default_value = "", hide_default_value = true)]
    version: String,

    /// The kind of the resources
    #[arg(long, default_value = "", hide_default_value = true)]
    kind: String,

    /// The name of the resources
    #[arg(long, default_value = "", hide_default_value = true)]
    name: String,

    /// The namespace of the resources
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// The annotations of the resources, as a selector: `a=b,c`
    #[arg(long, default_value = "", hide_default_value = true, value_name = "SELECTOR")]
    annotation_selector: String,

    /// The labels of the resources, as a selector: `a=b,c`
    #[arg(long, default_value = "", hide_default_value = true, value_name = "SELECTOR")]
    label_selector: String,
}

impl PatchArgs {
    /// The entry they describe.
    pub fn entry(&self) -> PatchEntry {
        PatchEntry {
            path: self.path.clone(),
            patch: self.patch.clone(),
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            annotation_selector: self.annotation_selector.clone(),
            label_selector: self.label_selector.clone(),
        }
    }
}

impl SetArgs {
    pub fn apply(&self, file: &mut File) -> Result<()> {
        match &self.leaf {
            Leaf::Annotation { pairs } => {
                file.set_common(Common::Annotations, &Pair::parse_all(pairs, Common::Annotations)?)
            }
            Leaf::BuildMetadata { options } => {
                file.set_build_metadata(&options.split(',').collect::<Vec<_>>())
            }
            Leaf::ConfigMap(args) => args.apply(file, Generated::ConfigMap),
            Leaf::Image { images } => {
                let changes: Result<Vec<_>> = images.iter().map(|text| ImageChange::parse(text)).collect();
                file.set_images(changes?);
                Ok(())
            }
            Leaf::Label { pairs } => {
                file.set_common(Common::Labels, &Pair::parse_all(pairs, Common::Labels)?)
            }
            Leaf::NamePrefix { value } => set_text(file, "namePrefix", value),
            Leaf::Namespace { value } => set_text(file, "namespace", value),
            Leaf::NameSuffix { value } => set_text(file, "nameSuffix", value),
            Leaf::Replicas { replicas } => {
                let changes: Result<Vec<_>> =
                    replicas.iter().map(|text| ReplicasChange::parse(text)).collect();
                file.set_replicas(changes?);
                Ok(())
            }
            Leaf::Secret(args) => args.apply(file, Generated::Secret),
        }
    }
}

impl DataArgs {
    fn apply(&self, file: &mut File, kind: Generated) -> Result<()> {
        file.set_generated(kind, &self.name, &self.namespace, &self.from_literal, &self.new_namespace)
    }
}

fn set_text(file: &mut File, field: &str, value: &str) -> Result<()> {
    file.set_text(field, value);
    Ok(())
}
