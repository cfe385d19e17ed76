//! What a string field of a built-in takes a plain scalar for: the text as it is written, or what kustomize makes of it.
//!
//! Each field is built with the plain scalar and with the string it should stand for in quotes; both must give the same.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A plain scalar, and the string it is: where numbers and booleans become strings, and where they are refused.
type Row = (&'static str, Option<&'static str>, Option<&'static str>);

const ROWS: &[Row] = &[
    ("a", Some("a"), Some("a")),
    ("yes", Some("yes"), Some("yes")),
    ("No", Some("No"), Some("No")),
    ("on", Some("on"), Some("on")),
    ("OFF", Some("OFF"), Some("OFF")),
    ("y", Some("y"), Some("y")),
    ("N", Some("N"), Some("N")),
    ("=", Some("="), Some("=")),
    ("1:30", Some("1:30"), Some("1:30")),
    ("2024-01-01", Some("2024-01-01T00:00:00Z"), Some("2024-01-01T00:00:00Z")),
    ("\"017\"", Some("017"), Some("017")),
    ("!!str 017", Some("017"), Some("017")),
    ("!!str yes", Some("yes"), Some("yes")),
    ("true", Some("true"), None),
    ("TRUE", Some("true"), None),
    ("12", Some("12"), None),
    ("-1", Some("-1"), None),
    ("+1", Some("1"), None),
    ("017", Some("15"), None),
    ("0o17", Some("15"), None),
    ("0x1f", Some("31"), None),
    ("0b11", Some("3"), None),
    ("1_000", Some("1000"), None),
    ("1.5", Some("1.5"), None),
    ("1.10", Some("1.1"), None),
    (".5", Some("0.5"), None),
    ("1e3", Some("1000"), None),
    ("1234567.5", Some("1.2345675e+06"), None),
    ("1e99", Some("+Inf"), None),
    ("-1e99", Some("-Inf"), None),
    (".inf", None, None),
    (".nan", None, None),
];

/// In a kustomization itself, which is read as YAML 1.1, the words are booleans and a date stays as it is written.
const KUSTOMIZATION: &[Row] = &[
    ("a", None, Some("a")),
    ("yes", None, None),
    ("off", None, None),
    ("!!str yes", None, Some("yes")),
    ("2024-01-01", None, Some("2024-01-01")),
    ("017", None, None),
    ("true", None, None),
    ("1.5", None, None),
];

const BASE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {old: x}}
spec: {replicas: 1, template: {spec: {containers: [{name: c, image: nginx}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, namespace: other}
data: {a: b}
";

const LOOSE: bool = true;
const STRICT: bool = false;

/// The fields: whether the kustomization lists it under `generators`, whether numbers become strings there, and the
/// configuration, with `@` for the scalar.
const FIELDS: &[(&str, bool, &str)] = &[
    (
        "transformers",
        LOOSE,
        "kind: LabelTransformer\nlabels:\n  k: @\nfieldSpecs: [{path: metadata/labels, create: true}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: AnnotationsTransformer\nannotations:\n  k: @\nfieldSpecs: [{path: metadata/annotations, create: true}]",
    ),
    ("transformers", LOOSE, "kind: PrefixTransformer\nprefix: @\nfieldSpecs: [{path: metadata/name}]"),
    ("transformers", LOOSE, "kind: SuffixTransformer\nsuffix: @\nfieldSpecs: [{path: metadata/name}]"),
    (
        "transformers",
        LOOSE,
        "kind: PrefixSuffixTransformer\nprefix: @\nsuffix: @\nfieldSpecs: [{path: metadata/name}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: NamespaceTransformer\nmetadata:\n  name: n\n  namespace: @\nfieldSpecs: [{path: metadata/namespace, create: true}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: NamespaceTransformer\nmetadata: {name: n, namespace: q}\nsetRoleBindingSubjects: @\nfieldSpecs: [{path: metadata/namespace, create: true}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: ImageTagTransformer\nimageTag:\n  name: @\n  newTag: t\nfieldSpecs: [{path: spec/template/spec/containers/image}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: ImageTagTransformer\nimageTag:\n  name: nginx\n  newName: @\nfieldSpecs: [{path: spec/template/spec/containers/image}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: ImageTagTransformer\nimageTag:\n  name: nginx\n  newTag: @\nfieldSpecs: [{path: spec/template/spec/containers/image}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: ImageTagTransformer\nimageTag:\n  name: nginx\n  tagSuffix: @\nfieldSpecs: [{path: spec/template/spec/containers/image}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: ImageTagTransformer\nimageTag:\n  name: nginx\n  digest: @\nfieldSpecs: [{path: spec/template/spec/containers/image}]",
    ),
    (
        "transformers",
        LOOSE,
        "kind: ReplicaCountTransformer\nreplica:\n  name: @\n  count: 3\nfieldSpecs: [{path: spec/replicas, kind: Deployment}]",
    ),
    ("transformers", LOOSE, "kind: ValueAddTransformer\nvalue: @\ntargets: [{fieldPath: spec/new}]"),
    ("transformers", LOOSE, "kind: ValueAddTransformer\nvalue: q\ntargets:\n- fieldPath: @"),
    (
        "transformers",
        LOOSE,
        "kind: PatchTransformer\npatch: '[{\"op\": \"add\", \"path\": \"/x\", \"value\": 1}]'\ntarget:\n  labelSelector: @",
    ),
    (
        "transformers",
        STRICT,
        "kind: PatchTransformer\npatch: '[{\"op\": \"add\", \"path\": \"/x\", \"value\": 1}]'\ntarget:\n  name: @",
    ),
    (
        "transformers",
        STRICT,
        "kind: PatchTransformer\npatch: '[{\"op\": \"add\", \"path\": \"/x\", \"value\": 1}]'\ntarget:\n  kind: @",
    ),
    (
        "transformers",
        STRICT,
        "kind: PatchTransformer\npatch: '[{\"op\": \"add\", \"path\": \"/x\", \"value\": 1}]'\ntarget:\n  namespace: @",
    ),
    (
        "transformers",
        STRICT,
        "kind: LabelTransformer\nlabels: {k: v}\nfieldSpecs:\n- path: metadata/labels\n  kind: @\n  create: true",
    ),
    (
        "transformers",
        STRICT,
        "kind: LabelTransformer\nlabels: {k: v}\nfieldSpecs:\n- path: metadata/labels\n  group: @\n  create: true",
    ),
    (
        "transformers",
        STRICT,
        "kind: ReplacementTransformer\nreplacements:\n- sourceValue: @\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.old]}]",
    ),
    (
        "transformers",
        STRICT,
        "kind: ReplacementTransformer\nreplacements:\n- source:\n    kind: ConfigMap\n    fieldPath: metadata.name\n    options:\n      delimiter: @\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.old]}]",
    ),
    ("generators", LOOSE, "kind: ConfigMapGenerator\nmetadata:\n  name: @\nliterals: [a=b]"),
    ("generators", LOOSE, "kind: ConfigMapGenerator\nmetadata:\n  name: n\n  namespace: @\nliterals: [a=b]"),
    ("generators", STRICT, "kind: ConfigMapGenerator\noptions:\n  labels:\n    k: @\nliterals: [a=b]"),
    ("generators", STRICT, "kind: ConfigMapGenerator\noptions:\n  annotations:\n    k: @\nliterals: [a=b]"),
    ("generators", STRICT, "kind: SecretGenerator\ntype: @\nliterals: [a=b]"),
    ("generators", STRICT, "kind: ConfigMapGenerator\nliterals:\n- @"),
    ("generators", STRICT, "kind: ConfigMapGenerator\nfiles:\n- @"),
    ("generators", STRICT, "kind: ConfigMapGenerator\nenvs:\n- @"),
    ("generators", STRICT, "kind: SecretGenerator\nfiles:\n- @"),
    ("generators", STRICT, "kind: ConfigMapGenerator\nbehavior: @\nliterals: [a=b]"),
    (
        "generators",
        STRICT,
        "kind: IAMPolicyGenerator\ncloud: gke\nkubernetesService:\n  namespace: n\n  name: @\nserviceAccount: {name: s, projectId: p}",
    ),
    (
        "generators",
        STRICT,
        "kind: IAMPolicyGenerator\ncloud: gke\nkubernetesService: {namespace: n, name: n}\nserviceAccount:\n  name: s\n  projectId: @",
    ),
    ("", STRICT, "namePrefix: @"),
    ("", STRICT, "namespace: @"),
    ("", STRICT, "commonLabels:\n  k: @"),
    ("", STRICT, "images:\n- name: nginx\n  newTag: @"),
];

/// Maps of strings, with `@` for the key. Whatever it looks like, a key is what is written: kustomize refuses some of these,
/// writes others as numbers and times, and which ones depends on the version of Go it was compiled with.
const KEYS: &[(&str, &str)] = &[
    (
        "transformers",
        "kind: LabelTransformer\nlabels:\n  @: v\nfieldSpecs: [{path: metadata/labels, create: true}]",
    ),
    (
        "transformers",
        "kind: AnnotationsTransformer\nannotations:\n  @: v\nfieldSpecs: [{path: metadata/annotations, create: true}]",
    ),
    ("generators", "kind: ConfigMapGenerator\noptions:\n  labels:\n    @: v\nliterals: [a=b]"),
    ("generators", "kind: ConfigMapGenerator\noptions:\n  annotations:\n    @: v\nliterals: [a=b]"),
    ("", "commonAnnotations:\n  @: v"),
    ("", "labels:\n- pairs:\n    @: v"),
];

#[test]
fn keys_are_what_is_written() {
    let folder = Scratch::new("scalar-keys");
    let written = ["yes", "y", "017", "0x1f", "1_000", "1.10", "true", ".inf", "1e3", "2024-01-01"];
    for (list, config) in KEYS {
        // In a file of its own a date is one of RFC 3339, as kustomize has it.
        let dates = usize::from(!list.is_empty());
        for key in &written[..written.len() - dates] {
            let plain = build(&folder, list, &config.replace('@', key));
            let quoted = build(&folder, list, &config.replace('@', &format!("\"{key}\"")));
            assert!(
                plain.is_ok() && plain == quoted,
                "{config}\nwith {key}: {plain:?}\ninstead of {quoted:?}"
            );
            assert!(plain.is_ok_and(|built| built.contains(key)), "{config}\nwith {key}");
        }
    }
}

#[test]
fn string_fields_take_plain_scalars_as_kustomize_does() {
    let folder = Scratch::new("scalar-fields");
    let mut jobs = Vec::new();
    for (list, loose, config) in FIELDS {
        let rows = if list.is_empty() { KUSTOMIZATION } else { ROWS };
        for (plain, if_loose, if_strict) in rows {
            jobs.push((*list, *config, *plain, if *loose { *if_loose } else { *if_strict }));
        }
    }
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((list, config, plain, expected)) = jobs.get(at) else { return };
                    let folder = folder.join(at.to_string());
                    let got = build(&folder, list, &config.replace('@', plain));
                    let fault = match expected {
                        Some(text) => {
                            let wanted = build(&folder, list, &config.replace('@', &format!("\"{text}\"")));
                            (got != wanted).then(|| format!("{got:?}\ninstead of {wanted:?}"))
                        }
                        None => got.ok(),
                    };
                    if let Some(fault) = fault {
                        wrong.lock().unwrap().push(format!("{config}\nwith {plain}: {fault}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n\n{}", wrong.len(), jobs.len(), wrong.join("\n\n"));
}

/// What krm prints; where it fails, the code of the error.
fn build(folder: &Path, list: &str, config: &str) -> Result<String, String> {
    fs::create_dir_all(folder).unwrap();
    let kustomization = match list {
        "" => format!("resources: [base.yaml]\n{config}\n"),
        list => format!("resources: [base.yaml]\n{list}: [config.yaml]\n"),
    };
    let metadata = if config.contains("metadata:\n") || config.contains("metadata: {") {
        ""
    } else {
        "metadata: {name: n}\n"
    };
    for (name, text) in [
        ("kustomization.yaml", kustomization),
        ("base.yaml", BASE.to_owned()),
        ("config.yaml", format!("apiVersion: builtin\n{metadata}{config}\n")),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_krm")).arg("build").arg(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        return Ok(text(output.stdout));
    }
    let errors = text(output.stderr);
    Err(errors
        .lines()
        .find_map(|line| line.strip_prefix("error[")?.split(']').next())
        .unwrap_or("?")
        .to_owned())
}
