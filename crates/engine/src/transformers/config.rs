//! Which fields hold names, labels, images: the field specs transformers work on.

use std::sync::{Arc, LazyLock};

use krm_yaml::{Result, Spanned, Text, de};
use serde::Deserialize;

use super::sort_order::{gvk_text, legacy_rank};
use crate::files::world::Loader;
use crate::resource::fields::{FieldPath, FieldSpec, FieldSpecs};
use crate::resource::{Gvk, lenient};

/// Field specs by what they are for: the defaults, and what `configurations:` and `crds:` add. Cheap to clone.
///
/// ```yaml
/// images:
/// - path: spec/runLatest/container/image
///   kind: MyKind
/// nameReference:
/// - kind: ConfigMap
///   fieldSpecs:
///   - path: spec/settings/name
///     kind: MyKind
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct TransformerConfig {
    pub name_prefix: FieldSpecs,
    pub name_suffix: FieldSpecs,
    pub namespace: FieldSpecs,
    pub common_labels: FieldSpecs,
    pub labels: FieldSpecs,
    pub template_labels: FieldSpecs,
    pub volume_claim_template_labels: FieldSpecs,
    pub common_annotations: FieldSpecs,
    pub name_reference: NameReferences,
    pub var_reference: FieldSpecs,
    pub images: FieldSpecs,
    pub replicas: FieldSpecs,
}

/// Name references in order. Cheap to clone.
pub(crate) type NameReferences = Arc<Vec<NameReference>>;

/// A kind, and the fields in which others name resources of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NameReference {
    pub group: Text,
    pub version: Text,
    pub kind: Text,
    #[serde(rename = "fieldSpecs")]
    pub referrers: FieldSpecs,
}

impl NameReference {
    /// The kind that is named, as a pattern.
    pub(crate) fn target(&self) -> Gvk {
        Gvk { group: self.group.clone(), version: self.version.clone(), kind: self.kind.clone() }
    }
}

impl TransformerConfig {
    /// The fields of the kinds Kubernetes itself has.
    pub(crate) fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Reads the files of a kustomization's `configurations:`.
    pub(crate) fn load(loader: &dyn Loader, paths: &[Spanned<Text>]) -> Result<Self> {
        let mut config = Self::default();
        for path in paths {
            let source = loader.load(&path.value, path.span)?;
            // quirk(configuration-first-document): Of a file in `configurations:` the first document counts, and the
            // others are not read. (`builtinconfig.makeTransformerConfigFromBytes`)
            if let Some(document) = krm_yaml::parse(&source)?.first().filter(|d| !d.root.is_null()) {
                config.merge(&de::from_node_with(&document.root, OPTIONS)?).map_err(|d| d.at(path.span))?;
            }
        }
        Ok(config)
    }

    /// Adds field specs; none is ever taken away. It is a mistake if two disagree on whether to create a field.
    pub(crate) fn merge(&mut self, more: &Self) -> Result<()> {
        for (mine, more) in self.lists_mut().into_iter().zip(more.lists()) {
            let merged = mine.merged(more)?;
            if !merged.same(mine) {
                *mine = if merged.same(more) { merged } else { sorted(merged) };
            }
        }
        if Arc::ptr_eq(&self.name_reference, &more.name_reference) || more.name_reference.is_empty() {
            return Ok(());
        }
        if self.name_reference.is_empty() && Arc::ptr_eq(&more.name_reference, &BUILTIN.name_reference) {
            self.name_reference = more.name_reference.clone();
            return Ok(());
        }
        let all = Arc::make_mut(&mut self.name_reference);
        for reference in more.name_reference.iter() {
            match all.iter_mut().find(|known| known.target() == reference.target()) {
                Some(known) => known.referrers = sorted(known.referrers.merged(&reference.referrers)?),
                None => all.push(reference.clone()),
            }
        }
        all.sort_by_cached_key(|r| sort_key(&r.target()));
        Ok(())
    }

    fn lists(&self) -> [&FieldSpecs; 11] {
        [
            &self.name_prefix,
            &self.name_suffix,
            &self.namespace,
            &self.common_labels,
            &self.labels,
            &self.template_labels,
            &self.volume_claim_template_labels,
            &self.common_annotations,
            &self.var_reference,
            &self.images,
            &self.replicas,
        ]
    }

    /// The same lists, to be changed, in the same order.
    fn lists_mut(&mut self) -> [&mut FieldSpecs; 11] {
        [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.labels,
            &mut self.template_labels,
            &mut self.volume_claim_template_labels,
            &mut self.common_annotations,
            &mut self.var_reference,
            &mut self.images,
            &mut self.replicas,
        ]
    }
}

static BUILTIN: LazyLock<TransformerConfig> =
    LazyLock::new(|| read_table(include_str!("../../data/field-specs.txt")));

/// Strict as to fields, loose as to what is a text.
const OPTIONS: de::Options = lenient::NAMED_FILE;

/// The names of [`TransformerConfig::lists`], in the same order.
const NAMES: [&str; 11] = [
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "templateLabels",
    "volumeClaimTemplateLabels",
    "commonAnnotations",
    "varReference",
    "images",
    "replicas",
];

fn sorted(specs: FieldSpecs) -> FieldSpecs {
    let key = |s: &FieldSpec| {
        sort_key(&Gvk { group: s.group.clone(), version: s.version.clone(), kind: s.kind.clone() })
    };
    let mut list = specs.as_slice().to_vec();
    list.sort_by_cached_key(key);
    FieldSpecs::new(list)
}

fn sort_key(gvk: &Gvk) -> (i64, String) {
    (legacy_rank(&gvk.kind), gvk_text(gvk))
}

/// Reads our own table of defaults, whose form is explained at its top. It is ours, so mistakes in it are bugs.
fn read_table(text: &'static str) -> TransformerConfig {
    let mut sections = text.split("\n[");
    let sets = Arc::new(read_sets(sections.next().expect("the sets come first")));
    let mut config = TransformerConfig::default();
    let mut references = Vec::with_capacity(32);
    for section in sections {
        let (name, lines) = section.split_once("]\n").expect("a section has lines");
        if let Some(target) = name.strip_prefix("nameReference ") {
            let Gvk { group, version, kind } = read_kind(target);
            let referrers = FieldSpecs::new(read_specs(lines, &sets));
            references.push(NameReference { group, version, kind, referrers });
        } else {
            let at = NAMES.iter().position(|known| *known == name).expect("a section has a known name");
            let sets = Arc::clone(&sets);
            *config.lists_mut()[at] = FieldSpecs::built_in(move || read_specs(lines, &sets));
        }
    }
    config.name_reference = Arc::new(references);
    config
}

/// Words for several kinds, in the order of the table.
type Sets = Vec<(&'static str, Vec<Gvk>)>;

fn read_sets(lines: &'static str) -> Sets {
    let read = |line: &'static str| {
        let (name, kinds) = line.split_once(" = ").expect("a set has kinds");
        (name, kinds.split(' ').map(read_kind).collect())
    };
    lines.lines().filter_map(|line| line.strip_prefix('$')).map(read).collect()
}

fn read_specs(lines: &'static str, sets: &Sets) -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (path, kinds) = line.split_once(' ').expect("a path has kinds");
        let (path, create) = path.strip_suffix('+').map_or((path, false), |path| (path, true));
        let mut paths = Paths { path, below_pods: Vec::new() };
        let mut spec = |Gvk { group, version, kind }| {
            let path = paths.of(&kind);
            FieldSpec { group, version, kind, path, create }
        };
        for kind in kinds.split(' ') {
            match kind.strip_prefix('$') {
                Some(name) => {
                    let (_, kinds) = sets.iter().find(|(set, _)| *set == name).expect("a set has been read");
                    specs.extend(kinds.iter().cloned().map(&mut spec));
                }
                None => specs.push(spec(read_kind(kind))),
            }
        }
    }
    specs
}

/// A path of the table, which means different fields of different kinds if it starts at pods.
struct Paths {
    path: &'static str,
    /// The paths already put together, by the location of the pod's spec: many kinds share one.
    below_pods: Vec<(&'static str, FieldPath)>,
}

impl Paths {
    fn of(&mut self, kind: &str) -> FieldPath {
        let Some(rest) = self.path.strip_prefix('@') else {
            return FieldPath::new(Text::from_static_str(self.path));
        };
        let pod = match kind {
            "Pod" => "spec/",
            "PodTemplate" => "template/spec/",
            "CronJob" => "spec/jobTemplate/spec/template/spec/",
            _ => "spec/template/spec/",
        };
        if let Some((_, path)) = self.below_pods.iter().find(|(known, _)| *known == pod) {
            return path.clone();
        }
        let path = FieldPath::new([pod, rest].concat());
        self.below_pods.push((pod, path.clone()));
        path
    }
}

/// Reads `Kind/version.group`.
fn read_kind(text: &'static str) -> Gvk {
    let text = if text == "*" { "" } else { text };
    let (front, group) = text.split_once('.').unwrap_or((text, ""));
    let (kind, version) = front.split_once('/').unwrap_or((front, ""));
    let [group, version, kind] = [group, version, kind].map(Text::from_static_str);
    Gvk { group, version, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_defaults_is_read_whole_and_is_in_order() {
        let config = TransformerConfig::builtin();
        let plain: usize = config.lists().iter().map(|l| l.as_slice().len()).sum();
        let named: usize = config.name_reference.iter().map(|r| r.referrers.as_slice().len()).sum();
        assert_eq!((plain, named), (138, 166));
        let mut again = config.name_reference.as_ref().clone();
        again.sort_by_cached_key(|r| sort_key(&r.target()));
        let kinds = |all: &[NameReference]| all.iter().map(|r| r.kind.clone()).collect::<Vec<_>>();
        assert_eq!(kinds(&again), kinds(&config.name_reference));
        let role = config.name_reference.iter().find(|r| r.kind == "Secret").expect("secrets are named");
        let cron = Gvk::new("batch/v1", "CronJob");
        let paths: Vec<_> = role.referrers.fitting(&cron).map(|s| s.path.to_string()).collect();
        assert_eq!(paths[0], "spec/jobTemplate/spec/template/spec/volumes/secret/secretName");
    }

    #[test]
    fn built_in_lists_are_distinct_and_only_that_of_labels_is_empty() {
        let config = TransformerConfig::builtin();
        for (list, name) in config.lists().into_iter().zip(NAMES) {
            assert_eq!(list.is_empty(), name == "labels", "{name}");
            assert_eq!(list.as_slice().is_empty(), name == "labels", "{name}");
            let taken_over = FieldSpecs::default().merged(&sorted(list.clone())).unwrap();
            assert_eq!(taken_over.as_slice().len(), list.as_slice().len());
        }
    }

    #[test]
    fn merging_the_defaults_with_themselves_changes_nothing() {
        let mut config = TransformerConfig::builtin();
        config.merge(&TransformerConfig::builtin()).unwrap();
        assert!(config.images.same(&TransformerConfig::builtin().images));
        let images = FieldSpecs::from_iter([FieldSpec::new("spec/containers[]/image")]);
        let other = TransformerConfig { images, ..TransformerConfig::default() };
        assert_eq!(config.merge(&other).unwrap_err().code(), "field-specs-conflict");
    }
}
