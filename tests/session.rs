//! A session that is asked again: what it runs, and what it does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krm_engine::files::Repository;
use krm_engine::files::{DirEntry, Download, Fetched};
use krm_engine::{BuildOptions, MemoryWorld, Pipeline, Resources, Session, Sources, StepField, World, emit};

/// A world that counts how often each file is read.
#[derive(Default)]
struct Counting {
    world: MemoryWorld,
    reads: Mutex<BTreeMap<PathBuf, usize>>,
}

impl Counting {
    fn new(files: &[(&str, &str)]) -> Arc<Self> {
        let world = MemoryWorld::new(files.iter().copied());
        Arc::new(Self { world, reads: Mutex::default() })
    }

    /// The files read since it was last asked.
    fn reads(&self) -> Vec<String> {
        let reads = std::mem::take(&mut *self.reads.lock().unwrap());
        reads.into_keys().map(|path| path.display().to_string()).collect()
    }
}

impl World for Counting {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        *self.reads.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        self.world.read(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        self.world.is_dir(path)
    }
    fn is_file(&self, path: &Path) -> bool {
        self.world.is_file(path)
    }
    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        self.world.list(dir)
    }
    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        self.world.real_path(path)
    }
    fn fetch(&self, repository: &Repository) -> krm_engine::Result<Fetched> {
        self.world.fetch(repository)
    }
    fn get(&self, address: &str) -> krm_engine::Result<Download> {
        self.world.get(address)
    }
}

const FILES: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        "resources: [web.yaml]\nconfigMapGenerator: [{name: c, files: [data.txt]}]\n",
    ),
    ("base/web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
    ("base/data.txt", "one\n"),
    ("other/kustomization.yaml", "configMapGenerator: [{name: d, files: [more.txt]}]\n"),
    ("other/more.txt", "two\n"),
    ("a/kustomization.yaml", "namePrefix: a-\nresources: [../base, ../other]\n"),
    ("b/kustomization.yaml", "namePrefix: b-\nresources: [../base]\n"),
    ("c/kustomization.yaml", "namePrefix: c-\nresources: [../other]\ncomponents: [../extra]\n"),
    ("extra/kustomization.yaml", "kind: Component\nnameSuffix: -x\n"),
];

fn targets(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn text(built: &[Resources]) -> String {
    emit(built).unwrap().concat()
}

fn build(session: &Session, names: &[&str]) -> String {
    text(&session.build(&targets(names)).into_result().unwrap())
}

fn paths(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

#[test]
fn only_what_depends_on_a_change_runs_again() {
    let world = Counting::new(FILES);
    let session = Session::new(world.clone(), Sources::new(), BuildOptions::default());
    let names = ["a", "b", "c"];
    let first = build(&session, &names);
    let other = Session::new(world.clone(), Sources::new(), BuildOptions::default());
    assert_eq!(first, text(&other.build_once(&targets(&names)).into_result().unwrap()));
    world.reads();

    // Nothing changed, nothing runs: not even the generators, which read their files when they run.
    assert_eq!(build(&session, &names), first);
    assert_eq!(world.reads(), [""; 0]);

    // A file of one base: that base, and those who use it.
    world.world.write("base/data.txt", "changed\n");
    let affected = session.invalidate(&paths(&["/base/data.txt"]));
    assert_eq!(affected.targets, ["a", "b"]);
    assert_eq!(affected.bases, paths(&["/base"]));
    let second = build(&session, &names);
    assert_ne!(second, first);
    assert!(second.contains("changed"));
    assert!(!world.reads().iter().any(|path| path.starts_with("/other") || path.starts_with("/c/")));

    // A component belongs to the one who names it.
    assert_eq!(session.affected_by(&paths(&["/extra/kustomization.yaml"])).targets, ["c"]);
    // A file nobody looked at.
    assert_eq!(session.affected_by(&paths(&["/base/README.md", "/elsewhere"])), Default::default());
    // A second kustomization file, which was looked for and missing, is an error when it comes.
    assert_eq!(session.affected_by(&paths(&["/other/Kustomization"])).targets, ["a", "c"]);
    // A folder as a whole.
    assert_eq!(session.affected_by(&paths(&["/base"])).targets, ["a", "b"]);
}

#[test]
fn what_failed_is_tried_again_when_what_it_missed_comes() {
    let world = Counting::new(&[("a/kustomization.yaml", "resources: [late.yaml]\n")]);
    let session = Session::new(world.clone(), Sources::new(), BuildOptions::default());
    let fails = |session: &Session| session.build(&targets(&["a"])).into_result().map(drop).unwrap_err();
    assert_eq!(fails(&session).code(), "file-not-found");
    world.world.write("a/late.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n");
    // Nobody has said so yet.
    assert_eq!(fails(&session).code(), "file-not-found");
    assert_eq!(session.invalidate(&paths(&["/a/late.yaml"])).targets, ["a"]);
    assert!(build(&session, &["a"]).contains("name: web"));
}

#[test]
fn warnings_are_given_each_time() {
    let base = "resources: []\nimages: [{name: nowhere, newTag: v1}]\n";
    let world = Counting::new(&[
        ("base/kustomization.yaml", base),
        ("a/kustomization.yaml", "namePrefix: a-\nresources: [../base]\n"),
    ]);
    let session = Session::new(world, Sources::new(), BuildOptions::default());
    for _ in 0..2 {
        let warnings = session.build(&targets(&["a"])).warnings;
        assert_eq!(warnings.iter().map(|w| w.code()).collect::<Vec<_>>(), ["image-no-match"]);
    }
}

#[test]
fn every_step_has_a_name_and_a_place() {
    let world = Counting::new(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\nreplicas: [{name: web, count: 2}]\n"),
        (
            "base/web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n",
        ),
        (
            "app/kustomization.yaml",
            "resources: [../base]\nnamespace: ns\nnamePrefix: p-\nnameSuffix: -s\nimages: [{name: a, newTag: b}, {name: c, newTag: d}]\n\
             labels: [{pairs: {a: b}}]\ncommonAnnotations: {c: d}\nconfigMapGenerator: [{name: g, literals: [a=b]}]\n\
             patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {paused: true}}'}]\n\
             replacements: [{sourceValue: x, targets: [{select: {kind: Deployment}, fieldPaths: [spec.x], options: {create: true}}]}]\n\
             components: [../part]\ntransformers: [t.yaml]\n",
        ),
        ("part/kustomization.yaml", "kind: Component\nnameSuffix: -part\n"),
        (
            "app/t.yaml",
            "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: t}\nannotations: {e: f}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n",
        ),
    ]);
    let session = Session::new(world, Sources::new(), BuildOptions::default());
    let pipeline = session.pipeline("app").unwrap();
    let names = |pipeline: &Pipeline| pipeline.steps.iter().map(|s| s.name.to_string()).collect::<Vec<_>>();
    assert_eq!(
        names(&pipeline),
        [
            "app#resources[0]",
            "app#configMapGenerator[0]",
            "part#nameSuffix",
            "app#components[0]",
            "app#patches[0]",
            "app#namespace",
            "app#namePrefix",
            "app#nameSuffix",
            "app#labels[0]",
            "app#commonAnnotations",
            "app#images",
            "app#replacements[0]",
            "app#transformers[0]",
            "#hash",
            "#name-references",
            "#local-config",
            "#legacy-order",
            "#build-metadata",
        ]
    );
    let asked = pipeline.steps.iter().filter(|s| !s.name.folder.is_empty());
    for step in asked {
        assert!(!step.place.is_none(), "{step:?} has no place");
    }
    let base = pipeline.steps[0].inner().expect("the first one is a base");
    assert_eq!(names(base), ["base#resources[0]", "base#replicas[0]"]);
    let images = pipeline.steps.iter().find(|step| step.name.field == StepField::Images).unwrap();
    assert_eq!(images.name_of(images.entries[1]).to_string(), "app#images[1]");
}

#[test]
fn a_base_that_is_used_in_many_ways_is_traced_without_waiting_for_itself() {
    let mut files: Vec<(String, String)> = vec![
        ("base/kustomization.yaml".into(), "resources: [a.yaml, b.yaml, c.yaml]\n".into()),
        ("top/kustomization.yaml".into(), String::new()),
    ];
    for name in ["a", "b", "c"] {
        let service = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n");
        files.push((format!("base/{name}.yaml"), service));
    }
    let mut all = String::from("resources:\n");
    for number in 0..40 {
        let layer = format!("namePrefix: p{number}-\nresources: [../base]\n");
        files.push((format!("layer{number}/kustomization.yaml"), layer));
        all += &format!("- ../layer{number}\n");
    }
    files[1].1 = all;
    let world = Arc::new(MemoryWorld::new(files));
    let session = Session::new(world, Sources::new(), BuildOptions::default());
    let plain = build(&session, &["top"]);
    let (traced, trace) = session.trace("top");
    assert_eq!(plain, text(&[traced.unwrap()]));
    assert_eq!(trace.result.len(), 120);
}
