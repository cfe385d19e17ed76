//! `krm diff` in repositories that are made for it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A repository, gone at the end of the test.
struct Repository(Scratch);

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: example.com/web:1.0.0
";

impl Repository {
    fn new(files: &[(&str, &str)]) -> Self {
        let repository = Self(Scratch::new("diff"));
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        files.iter().for_each(|(path, text)| repository.write(path, text));
        repository.commit("first");
        repository
    }

    /// Two overlays over a base.
    fn shop() -> Self {
        let overlay = |name: &str| format!("namePrefix: {name}-\nresources:\n- ../../base\n");
        Self::new(&[
            ("base/kustomization.yaml", "resources:\n- web.yaml\n"),
            ("base/web.yaml", DEPLOYMENT),
            ("overlays/a/kustomization.yaml", &overlay("a")),
            ("overlays/b/kustomization.yaml", &overlay("b")),
        ])
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.0.join(file)).unwrap();
        assert!(text.contains(from), "{file}");
        fs::write(self.0.join(file), text.replace(from, to)).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        let user = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
        self.git(&[&user[..], &["commit", "--quiet", "--message", message]].concat());
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(&self.0).output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn krm(&self, args: &[&str]) -> Output {
        self.krm_in("", args)
    }

    fn krm_in(&self, folder: &str, args: &[&str]) -> Output {
        let temporary = Scratch::new("diff-temporary");
        let output = Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(args)
            .current_dir(self.0.join(folder))
            .env("TMPDIR", &*temporary)
            .output()
            .expect("krm starts");
        assert_eq!(fs::read_dir(&*temporary).unwrap().count(), 0, "{args:?} left temporary files behind");
        output
    }

    /// What `krm diff` prints; it must succeed.
    fn diff(&self, args: &[&str]) -> String {
        let output = self.krm(&[&["diff"], args].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines that say where causes are.
fn causes(text: &str) -> Vec<&str> {
    let lines = text.lines().skip(1).filter(|line| !line.starts_with(' ') && !line.is_empty());
    lines.filter(|line| !line.starts_with("images") && !line.starts_with('!')).collect()
}

#[test]
fn the_working_tree_is_left_alone() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.git(&["add", "base/web.yaml"]);
    let before =
        (repository.git(&["status", "--porcelain"]), fs::read(repository.0.join(".git/index")).unwrap());
    let text = repository.diff(&[]);
    assert!(text.contains("replicas: 1"), "{text}");
    let after =
        (repository.git(&["status", "--porcelain"]), fs::read(repository.0.join(".git/index")).unwrap());
    assert_eq!(before, after);
}

#[test]
fn a_change_is_led_back_to_its_line() {
    type Edit = fn(&Repository);
    let cases: [(&str, Edit, &[&str]); 8] = [
        (
            "a value of the base",
            |r| r.replace("base/web.yaml", "replicas: 1", "replicas: 2"),
            &["base/web.yaml:6                 replicas: 1   →   replicas: 2"],
        ),
        (
            "a prefix",
            |r| r.replace("overlays/a/kustomization.yaml", "namePrefix: a-", "namePrefix: z-"),
            &["overlays/a/kustomization.yaml:1   namePrefix: a-   →   namePrefix: z-"],
        ),
        (
            "an entry that is new counts, not the file it names",
            |r| {
                r.write(
                    "base/patch.yaml",
                    "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: web}\nspec: {replicas: 5}\n",
                );
                r.replace(
                    "base/kustomization.yaml",
                    "- web.yaml\n",
                    "- web.yaml\npatches:\n- path: patch.yaml\n",
                );
            },
            &["base/kustomization.yaml:4       added   - path: patch.yaml"],
        ),
        (
            "a resource that is new",
            |r| {
                r.write("base/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n");
                r.replace("base/kustomization.yaml", "- web.yaml\n", "- web.yaml\n- more.yaml\n");
            },
            &["base/kustomization.yaml:3       added   - more.yaml"],
        ),
        (
            "a component, by the line that includes it",
            |r| {
                r.write("part/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nreplicas:\n- name: web\n  count: 7\n");
                r.replace(
                    "overlays/a/kustomization.yaml",
                    "- ../../base\n",
                    "- ../../base\ncomponents:\n- ../../part\n",
                );
            },
            &["overlays/a/kustomization.yaml:5   added   - ../../part"],
        ),
        (
            "an entry that is gone",
            |r| r.replace("overlays/a/kustomization.yaml", "namePrefix: a-\n", ""),
            &["overlays/a/kustomization.yaml:1   removed   namePrefix: a-"],
        ),
        (
            "a resource that is gone",
            |r| r.replace("base/kustomization.yaml", "- web.yaml\n", "- other.yaml\n"),
            &[],
        ),
        (
            "a comment changes nothing",
            |r| r.replace("base/web.yaml", "replicas: 1", "replicas: 1 # one"),
            &[],
        ),
    ];
    for (name, edit, wanted) in cases {
        let repository = Repository::shop();
        edit(&repository);
        let output = repository.krm(&["diff"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = causes(&text);
        let lines: Vec<&str> = lines.into_iter().filter(|line| !line.contains("   fails")).collect();
        assert_eq!(lines, wanted, "{name}\n{text}{}", stderr(&output));
    }
}

/// Resources that flags are about.
const GUARDED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: deny
spec:
  podSelector: {}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  storageClassName: slow
  resources:
    requests:
      storage: 10Gi
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
spec:
  serviceName: db
";

fn flags(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix("! ")).collect()
}

#[test]
fn a_resource_that_goes_is_listed_with_the_line_that_drops_it() {
    let repository = Repository::shop();
    repository.write("base/guarded.yaml", GUARDED);
    repository.replace("base/kustomization.yaml", "- web.yaml\n", "- web.yaml\n- guarded.yaml\n");
    repository.commit("guarded");
    let policy = GUARDED.split_inclusive("---\n").next().unwrap();
    repository.replace("base/guarded.yaml", policy, "");
    repository.replace("overlays/b/kustomization.yaml", "namePrefix: b-", "namePrefix: c-");
    let text = repository.diff(&["HEAD"]);
    let is_cause = |part: &&str| part.contains("NetworkPolicy") && !part.starts_with('!');
    let parts: Vec<&str> = text.split("\n\n").filter(is_cause).collect();
    assert_eq!(parts.len(), 1, "{text}");
    assert!(parts[0].starts_with("base/guarded.yaml:1"), "{text}");
    assert!(parts[0].contains("a, b"), "{text}");
    let json = repository.diff(&["HEAD", "-o", "json"]);
    assert_eq!(json.matches("NetworkPolicy deny is removed").count(), 1, "{json}");
}

#[test]
fn what_is_replaced_may_change_everything_and_loses_its_data() {
    let repository = Repository::shop();
    repository.write("base/guarded.yaml", GUARDED);
    repository.replace("base/kustomization.yaml", "- web.yaml\n", "- web.yaml\n- guarded.yaml\n");
    repository.commit("guarded");
    repository.replace("base/guarded.yaml", "storageClassName: slow", "storageClassName: fast");
    repository.replace("base/guarded.yaml", "storage: 10Gi", "storage: 5Gi");
    repository.replace("base/guarded.yaml", "serviceName: db", "serviceName: database");
    let refused = [
        "spec.storageClassName cannot be changed",
        "a volume cannot shrink",
        "spec.serviceName cannot be changed",
    ];
    let rename = |overlay: &str| {
        repository.replace(
            &format!("overlays/{overlay}/kustomization.yaml"),
            "namePrefix: ",
            "namePrefix: new-",
        );
    };
    // As long as one overlay keeps the names, the cluster refuses the change there.
    rename("a");
    let text = repository.diff(&["HEAD"]);
    for message in refused {
        assert!(flags(&text).iter().any(|flag| flag.contains(message)), "{message}\n{text}");
    }
    let lost = "PersistentVolumeClaim data is renamed: the new one is empty";
    assert!(flags(&text).iter().any(|flag| flag.contains(lost)), "{text}");
    rename("b");
    let text = repository.diff(&["HEAD"]);
    for message in refused {
        assert!(!text.contains(message), "{message}\n{text}");
    }
    assert!(flags(&text).iter().any(|flag| flag.contains(lost)), "{text}");
}

#[test]
fn generated_content_is_led_back_to_the_file() {
    let repository = Repository::new(&[
        (
            "kustomization.yaml",
            "resources: [web.yaml]\nconfigMapGenerator:\n- name: settings\n  files:\n  - app.properties\n  envs:\n  - app.env\n",
        ),
        (
            "web.yaml",
            &DEPLOYMENT.replace(
                "        image:",
                "        envFrom:\n        - configMapRef: {name: settings}\n        image:",
            ),
        ),
        ("app.properties", "a=1\nb=2\n"),
        ("app.env", "X=1\nY=2\n"),
    ]);
    repository.replace("app.properties", "b=2", "b=3");
    repository.replace("app.env", "Y=2", "Y=3");
    let text = repository.diff(&[]);
    let lines = causes(&text);
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("app.env:2 ") && lines[0].contains("Y=2   →   Y=3"), "{text}");
    assert!(lines[1].starts_with("app.properties:2 ") && lines[1].contains("b=2   →   b=3"), "{text}");
    assert!(text.contains("and follows: name …-"), "{text}");
}

#[test]
fn one_line_that_reaches_many_is_shown_once() {
    let repository = Repository::shop();
    for number in 0..20 {
        let text = format!("namePrefix: o{number}-\nresources:\n- ../../base\n");
        repository.write(&format!("overlays/o{number:02}/kustomization.yaml"), &text);
    }
    repository.commit("more");
    repository.replace("base/web.yaml", "web:1.0.0", "web:2.0.0");
    let text = repository.diff(&[]);
    assert_eq!(causes(&text).len(), 1, "{text}");
    assert!(
        text.starts_with("22 overlays change (of 22): 22 resources, 1 cause. Pods restart: web (22).\n"),
        "{text}"
    );
    assert!(text.contains("all 22 overlays"), "{text}");
    assert!(
        text.contains("! base/web.yaml:17   Deployment web: the image goes from version 1 to 2"),
        "{text}"
    );
}

#[test]
fn a_broken_target_does_not_hide_the_others() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.replace("overlays/b/kustomization.yaml", "- ../../base", "- ../../gone");
    let output = repository.krm(&["diff"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), Some(1));
    assert!(text.contains("replicas: 1   →   replicas: 2"), "{text}");
    assert!(text.contains("overlays/b   fails in the working tree, and built in HEAD"), "{text}");
    assert!(stderr(&output).contains("../../gone"), "{}", stderr(&output));
}

#[test]
fn only_reached_targets_are_built() {
    let repository = Repository::shop();
    // It cannot be built, which nobody notices as long as it is not touched.
    repository.write("overlays/broken/kustomization.yaml", "resources: [missing.yaml]\n");
    repository.commit("broken");
    repository.replace("overlays/a/kustomization.yaml", "a-", "z-");
    let text = repository.diff(&["--stat"]);
    assert_eq!(text, "overlays/a   1 resource   1 field\n");
    assert_eq!(status(&repository.krm(&["diff", "--all"])), Some(1));
}

#[test]
fn targets_that_come_and_go() {
    let repository = Repository::shop();
    repository.write("overlays/new/kustomization.yaml", "resources:\n- ../../base\n");
    fs::remove_dir_all(repository.0.join("overlays/b")).unwrap();
    let text = repository.diff(&[]);
    assert!(text.contains("overlays/new is new\n  1 resource: Deployment web\n"), "{text}");
    assert!(text.contains("overlays/b is gone\n  1 resource: Deployment web\n"), "{text}");
    let text = repository.diff(&["--full"]);
    assert!(text.contains("overlays/new is new\n  Deployment web        added"), "{text}");
}

#[test]
fn a_reference_comes_and_goes_with_the_resource_it_names() {
    let volume = "
      volumes:
      - name: settings
        configMap:
          name: settings
";
    let generator = "configMapGenerator:\n- name: settings\n  literals:\n  - A=1\n";
    let repository = Repository::new(&[
        ("base/kustomization.yaml", "resources:\n- web.yaml\n"),
        ("base/web.yaml", &(DEPLOYMENT.trim_end().to_owned() + volume)),
    ]);
    repository.write("base/kustomization.yaml", &format!("resources:\n- web.yaml\n{generator}"));
    let text = repository.diff(&[]);
    assert_eq!(causes(&text), ["base/kustomization.yaml:4       added   - name: settings"], "{text}");
    assert!(text.contains("base\n    and follows: 1 reference (Deployment web)\n"), "{text}");
    repository.commit("a generator");
    repository.write("base/kustomization.yaml", "resources:\n- web.yaml\n");
    let text = repository.diff(&[]);
    assert_eq!(causes(&text), ["base/kustomization.yaml:4       removed   - name: settings"], "{text}");
    // A reference that says something else now has a cause of its own.
    repository.replace("base/web.yaml", "          name: settings", "          name: others");
    let text = repository.diff(&[]);
    let expected = "base/web.yaml:21                name: settings     →   name: others";
    assert_eq!(causes(&text)[1], expected, "{text}");
}

#[test]
fn the_exit_status_says_whether_there_are_differences() {
    let repository = Repository::shop();
    assert_eq!(status(&repository.krm(&["diff", "--exit-code"])), Some(0));
    assert_eq!(repository.diff(&[]), "no differences between HEAD and the working tree (2 overlays)\n");
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    assert_eq!(status(&repository.krm(&["diff", "--exit-code"])), Some(3));
    assert_eq!(status(&repository.krm(&["diff"])), Some(0));
    assert_eq!(
        status(&repository.krm(&["diff", "--exit-code", "--ignore", "Deployment/spec.replicas"])),
        Some(0)
    );
}

#[test]
fn revisions_and_folders_are_distinguished() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.commit("second");
    for args in [
        &["HEAD~1"][..],
        &["HEAD~1..HEAD"],
        &["HEAD~1", "overlays/a", "overlays/b"],
        &["HEAD~1", "overlays/*"],
    ] {
        assert!(repository.diff(args).starts_with("2 overlays change (of 2)"), "{args:?}");
    }
    assert!(repository.diff(&["HEAD~1", "--", "overlays/a"]).starts_with("1 overlay changes (of 1)"));
    // From a folder below, paths are relative to it.
    let output = repository.krm_in("overlays", &["diff", "HEAD~1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("../base/web.yaml:6") && text.contains("a, b"), "{text}{}", stderr(&output));
    for (args, code) in [
        (&["HEAD~9"][..], "revision-unknown"),
        (&["HEAD", "nowhere"], "diff-no-target"),
        (&["HEAD..nothing"], "revision-unknown"),
    ] {
        let output = repository.krm(&[&["diff"], args].concat());
        assert_eq!(status(&output), Some(1));
        assert!(stderr(&output).starts_with(&format!("error[{code}]")), "{args:?} {}", stderr(&output));
    }
    repository.git(&["branch", "base"]);
    let output = repository.krm(&["diff", "base"]);
    assert!(stderr(&output).starts_with("error[diff-ambiguous]"), "{}", stderr(&output));
    let outside = Command::new(env!("CARGO_BIN_EXE_krm")).arg("diff").current_dir("/").output().unwrap();
    assert!(stderr(&outside).starts_with("error[no-repository]"), "{}", stderr(&outside));
}

#[test]
fn secrets_are_not_shown() {
    let secret = |value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{password: {value}}}\n")
    };
    let repository =
        Repository::new(&[("kustomization.yaml", "resources: [s.yaml]\n"), ("s.yaml", &secret("hunter2"))]);
    repository.write("s.yaml", &secret("hunter3"));
    let shown = |args: &[&str]| repository.diff(args).contains("hunter");
    assert!(!shown(&["-o", "json"]), "{}", repository.diff(&["-o", "json"]));
    assert!(repository.diff(&[]).contains("••• → ••• (changed)"), "{}", repository.diff(&[]));
    assert!(!shown(&[]), "{}", repository.diff(&[]));
    assert!(shown(&["--show-secrets"]));
}

#[test]
fn json_is_the_whole_structure() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 0");
    let text = repository.diff(&["-o", "json"]);
    let data = krm_yaml::parse_str(&text).unwrap().remove(0).root;
    let at = |path: &str| {
        path.split('/').try_fold(&data, |node, key| match key.parse::<usize>() {
            Ok(index) => node.items().get(index),
            Err(_) => node.get(key),
        })
    };
    let text_at = |path: &str| at(path).and_then(|node| node.text()).unwrap_or_default().to_owned();
    assert_eq!(text_at("format"), "krm.diff/1");
    assert_eq!(text_at("causes/0/place/file"), "base/web.yaml");
    assert_eq!(text_at("causes/0/place/line"), "6");
    assert_eq!(text_at("causes/0/before"), "replicas: 1");
    assert_eq!(text_at("causes/0/changes/0"), text_at("changes/0/id"));
    assert_eq!(text_at("changes/0/field"), "spec.replicas");
    assert_eq!(text_at("changes/0/resource/name"), "web");
    assert_eq!(text_at("changes/0/resource/to/name"), "a-web");
    assert_eq!(text_at("changes/0/targets/1"), "overlays/b");
    assert_eq!(text_at("changes/0/to/event"), "written");
    assert_eq!(text_at("flags/0/rule"), "no-replicas");
    assert_eq!(text_at("targets/0/status"), "changed");
}

#[test]
fn two_folders_without_differences_are_perhaps_meant_to_be_compared_with_each_other() {
    let repository = Repository::shop();
    let output = repository.krm(&["diff", "overlays/a", "overlays/b"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "no differences between HEAD and the working tree (2 overlays)\n"
    );
    let hint =
        "help: to compare the two folders with each other: `krm diff --overlays overlays/a overlays/b`\n";
    assert_eq!(stderr(&output), hint);
    for others in [&["overlays/a"][..], &["HEAD", "overlays/a", "overlays/b"], &[]] {
        assert_eq!(stderr(&repository.krm(&[&["diff"], others].concat())), "", "{others:?}");
    }
}

#[test]
fn two_revisions_are_written_as_one_word() {
    let repository = Repository::shop();
    let output = repository.krm(&["diff", "HEAD", "HEAD~0"]);
    assert_eq!(
        stderr(&output),
        "error[diff-two-revisions]: `HEAD` and `HEAD~0` are two revisions\n\
         help: did you mean `HEAD..HEAD~0`?\n"
    );
    assert_eq!(status(&output), Some(1));
}

#[test]
fn a_repository_may_hold_no_kustomization_at_all() {
    let repository = Repository::new(&[("a.txt", "a\n")]);
    repository.write("a.txt", "b\n");
    assert_eq!(repository.diff(&[]), "no differences between HEAD and the working tree (0 overlays)\n");
    assert!(Path::new(&repository.0).exists());
}

/// A folder that `krm build -o` wrote, brought from one revision to the next by the `patch` program.
#[test]
fn unified_differences_apply() {
    let repository = Repository::shop();
    let rendered = repository.0.join("rendered");
    let build = |folder: &str| {
        let output = repository.krm(&["build", "-o", folder, "overlays/a", "overlays/b"]);
        assert!(output.status.success(), "{}", stderr(&output));
    };
    fs::write(repository.0.join(".gitignore"), "rendered\nwanted\n").unwrap();
    build("rendered");
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.replace("overlays/b/kustomization.yaml", "b-", "z-");
    build("wanted");
    let patch = repository.diff(&["-o", "unified"]);
    assert!(patch.contains("--- a/overlays/a.yaml\n+++ b/overlays/a.yaml\n@@ "), "{patch}");
    fs::write(repository.0.join("change.patch"), &patch).unwrap();
    let input = fs::File::open(repository.0.join("change.patch")).unwrap();
    let applied = Command::new("patch").args(["-p1", "--batch"]).current_dir(&rendered).stdin(input).output();
    let applied = applied.expect("patch starts");
    assert!(applied.status.success(), "{}{patch}", String::from_utf8_lossy(&applied.stdout));
    for name in ["overlays/a.yaml", "overlays/b.yaml"] {
        let read = |folder: &str| fs::read_to_string(repository.0.join(folder).join(name)).unwrap();
        assert_eq!(read("rendered"), read("wanted"), "{name}");
    }
}

#[test]
fn rendered_files_are_compared() {
    let repository = Repository::shop();
    assert!(repository.krm(&["build", "-o", "rendered", "overlays/a", "overlays/b"]).status.success());
    let against = |args: &[&str]| repository.diff(&[&["--against", "rendered"], args].concat());
    let none = "no differences between rendered and krm build (2 overlays)\n";
    assert_eq!(against(&["overlays/a", "overlays/b"]), none);
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    let text = against(&["overlays/a", "overlays/b"]);
    assert!(text.contains("rendered says otherwise") && text.contains("1 → 2"), "{text}");
    let text = repository.diff(&["--against", "rendered/overlays/a.yaml", "overlays/a"]);
    assert!(text.contains("1 overlay changes (of 1)"), "{text}");
}

#[test]
fn a_hash_and_its_references_are_one_change_of_rendered_files_too() {
    let with_settings =
        DEPLOYMENT.to_owned() + "        envFrom:\n        - configMapRef: {name: settings}\n";
    let repository = Repository::new(&[
        (
            "app/kustomization.yaml",
            "resources: [web.yaml]\nconfigMapGenerator:\n- {name: settings, literals: [a=1]}\n",
        ),
        ("app/web.yaml", &with_settings),
    ]);
    assert!(repository.krm(&["build", "-o", "rendered", "app"]).status.success());
    repository.replace("app/kustomization.yaml", "a=1", "a=2");
    let text = repository.diff(&["--against", "rendered", "app"]);
    assert!(text.contains("\"1\" → \"2\"") && text.contains("; 1 reference (Deployment web)"), "{text}");
    assert!(!text.contains("configMapRef"), "{text}");
    // The same of a program that builds what was there before.
    let text = repository.diff(&["--with", "sh -c 'cat rendered'", "app"]);
    assert!(text.contains("; 1 reference (Deployment web)"), "{text}");
    // A reference to another object is a change like any other.
    repository.replace("app/web.yaml", "{name: settings}", "{name: others}");
    let text = repository.diff(&["--against", "rendered", "app"]);
    assert!(text.contains("configMapRef"), "{text}");
}

#[test]
fn values_are_shown_side_by_side() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.replace("base/web.yaml", "web:1.0.0", "web:1.5.0");
    let wanted = "\
2 overlays change (of 2): 2 resources, 2 causes. Pods restart: web (2).
    HEAD                                                    │   the working tree

base/web.yaml:6
  - replicas: 1                                             │ + replicas: 2
  Deployment web        spec.replicas                           a, b
  - 1                                                       │ + 2

base/web.yaml:17
  - image: example.com/web:1.0.0                            │ + image: example.com/web:1.5.0
  Deployment web        spec.template.spec.containers[name=web].image  a, b
  - example.com/web:1.0.0                                   │ + example.com/web:1.5.0

images   example.com/web  1.0.0 → 1.5.0  (a, b)
";
    assert_eq!(repository.diff(&["--side-by-side"]), wanted);
    let narrow = repository.diff(&["--side-by-side", "--width", "50"]);
    assert!(narrow.contains("  - example.c…/web:1.0.0 │ + example.c…/web:1.5.0\n"), "{narrow}");
    let two = repository.diff(&["--overlays", "base", "overlays/a", "--side-by-side", "--full"]);
    let rows = "  metadata.name
    base/web.yaml:4                                         │   a/kustomization.yaml:1
  - web                                                     │ + a-web
";
    assert!(two.contains(rows), "{two}");
    let output = repository.krm(&["diff", "--width", "100"]);
    assert_eq!(status(&output), Some(2), "{}", stderr(&output));
}

#[test]
fn another_program_is_compared() {
    let repository = Repository::shop();
    let krm = env!("CARGO_BIN_EXE_krm");
    let same = repository.diff(&["--with", &format!("{krm} build")]);
    assert_eq!(same, format!("no differences between {krm} build and krm build (2 overlays)\n"));
    let other = repository.diff(&["--with", "sh -c 'cat base/web.yaml'", "overlays/a"]);
    assert!(other.contains("the other program") && other.contains("web → a-web"), "{other}");
    let output = repository.krm(&["diff", "--with", "sh -c 'echo no; exit 4'", "overlays/a"]);
    assert_eq!(status(&output), Some(1));
    assert!(stderr(&output).starts_with("error[diff-other-program]"), "{}", stderr(&output));
}

#[test]
fn markdown_fits_into_a_comment() {
    let repository = Repository::shop();
    for number in 0..60 {
        let text = format!("namePrefix: o{number}-\nresources:\n- ../../base\nnameSuffix: -old\n");
        repository.write(&format!("overlays/o{number:02}/kustomization.yaml"), &text);
    }
    repository.commit("more");
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    for number in 0..60 {
        let (file, suffix) = (format!("overlays/o{number:02}/kustomization.yaml"), format!("-new{number}"));
        repository.replace(&file, "-old", &suffix);
    }
    let whole = repository.diff(&["-o", "markdown"]);
    assert!(whole.contains("<details>") && whole.contains("| <code>spec.replicas</code> |"), "{whole}");
    for most in [20_000, 12_000, 9_000, 5_000, 2_000, 500, 200] {
        let text = repository.diff(&["-o", "markdown", "--max-size", &most.to_string()]);
        assert!(text.len() <= most, "{} of {most}", text.len());
        assert!(text.contains("62 overlays change"), "{text}");
        // As many causes as there is room for.
        assert!(most < 1_000 || text.contains("overlays/o05/kustomization.yaml:4"), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert_eq!(text.matches("````").count() % 2, 0);
        assert!(text.trim_end().ends_with("`krm diff --full` shows everything."), "{text}");
    }
    let args = ["HEAD", "overlays/o*", "--only", "Deployment/web", "--format=markdown", "--max-size", "900"];
    let text = repository.diff(&args);
    let command = "`krm diff --full HEAD 'overlays/o*' --only Deployment/web` shows everything.";
    assert!(text.trim_end().ends_with(command), "{text}");
}

#[test]
fn resources_of_a_new_overlay_are_not_counted_as_fields() {
    let repository = Repository::shop();
    repository.write("overlays/c/kustomization.yaml", "resources:\n- ../../base\n");
    repository.write("overlays/a/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n");
    repository.replace("overlays/a/kustomization.yaml", "- ../../base", "- ../../base\n- more.yaml");
    let text = repository.diff(&["--format", "markdown"]);
    assert!(text.contains("overlays/c is new: 1 resource, 1 overlay<"), "{text}");
    assert!(!text.contains("field,") && !text.contains("fields"), "{text}");
    let stat = "overlays/a   1 resource   1 added or removed\noverlays/c   1 resource   new\n";
    assert_eq!(repository.diff(&["--stat"]), stat);
}

#[test]
fn annotations_are_beside_the_lines_that_cause_something() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "app: web\n  template", "app: other\n  template");
    let text = repository.diff(&["-o", "github"]);
    assert!(
        text.starts_with("::notice file=base/web.yaml,line=9,title=krm diff::Deployment web spec.selector"),
        "{text}"
    );
    assert!(
        text.contains("\n::warning file=base/web.yaml,line=9,title=krm diff immutable::Deployment web"),
        "{text}"
    );
}

/// The programs of a revision are those of the revision.
#[cfg(unix)]
#[test]
fn programs_run_as_they_were() {
    use std::os::unix::fs::PermissionsExt;
    let function = |text: &str| format!("#!/bin/sh\nsed 's/replicas: 1/replicas: {text}/'\n");
    let config = "apiVersion: example.com/v1\nkind: Set\nmetadata:\n  name: set\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./set.sh}\n";
    let repository = Repository::new(&[
        ("kustomization.yaml", "resources: [web.yaml]\ntransformers: [set.yaml]\n"),
        ("web.yaml", DEPLOYMENT),
        ("set.yaml", config),
        ("set.sh", &function("5")),
    ]);
    let executable =
        |name: &str| fs::set_permissions(repository.0.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    executable("set.sh");
    repository.commit("a program");
    repository.write("set.sh", &function("6"));
    executable("set.sh");
    let text = repository.diff(&["--enable-alpha-plugins", "--enable-exec"]);
    assert!(text.contains("5 → 6"), "{text}");
    assert!(text.contains("set.sh:2"), "{text}");
}

/// A repository that came in an archive, with a configuration of its own: none of the programs it names runs.
#[test]
#[cfg(unix)]
fn programs_that_the_repository_names_do_not_run() {
    use std::os::unix::fs::PermissionsExt;

    let repository = Repository::shop();
    repository.write(".gitattributes", "*.yaml filter=evil diff=evil merge=evil\n");
    repository.commit("attributes");
    repository.replace("base/web.yaml", "web:1.0.0", "web:1.0.1");
    repository.write(".git/evil", "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/ran\"\nexit 1\n");
    let evil = repository.0.join(".git/evil");
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = repository.0.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["fsmonitor-watchman", "post-index-change", "reference-transaction"] {
        fs::copy(&evil, hooks.join(hook)).unwrap();
    }
    let evil = evil.to_str().unwrap();
    let config = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "remote.origin.uploadpack",
    ];
    config.iter().for_each(|key| drop(repository.git(&["config", key, evil])));
    repository.git(&["config", "filter.evil.required", "true"]);
    // A partial clone, of which an object is missing.
    repository.git(&["config", "remote.origin.url", &format!("file://{}", repository.0.display())]);
    repository.git(&["config", "remote.origin.promisor", "true"]);
    for args in [&["diff", "HEAD"][..], &["diff", "HEAD~1..HEAD"], &["affected", "HEAD"], &["affected"]] {
        let output = repository.krm(args);
        assert_eq!(stderr(&output), "", "{args:?}");
    }
    let blob = repository.git(&["rev-parse", "HEAD:base/web.yaml"]);
    let (folder, name) = blob.trim().split_at(2);
    fs::remove_file(repository.0.join(".git/objects").join(folder).join(name)).unwrap();
    assert_ne!(status(&repository.krm(&["diff", "HEAD"])), Some(0));
    assert!(
        !repository.0.join(".git/ran").exists(),
        "{:?}",
        fs::read_to_string(repository.0.join(".git/ran"))
    );
}

#[test]
fn a_terminal_gets_colours_and_a_pipe_does_not() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "web:1.0.0", "web:1.1.0");
    for (format, red) in
        [("text", "\u{1b}[31m    - example.com/web:1.0.0\u{1b}[0m\n"), ("unified", "\u{1b}[31m-")]
    {
        let coloured = repository.krm(&["--color", "always", "diff", "--format", format]);
        let plain = repository.krm(&["diff", "--format", format]);
        let (coloured, plain) = (coloured.stdout, plain.stdout);
        let (coloured, plain) = (String::from_utf8(coloured).unwrap(), String::from_utf8(plain).unwrap());
        assert!(coloured.contains(red), "{coloured}");
        let mut stripped = coloured;
        for number in ["0", "1", "31", "32", "36"] {
            stripped = stripped.replace(&format!("\u{1b}[{number}m"), "");
        }
        assert_eq!(stripped, plain);
    }
}

#[test]
fn a_folder_without_a_kustomization_means_those_below_it() {
    let overlay = |name: &str| format!("namePrefix: {name}-\nresources:\n- ../../../base\n");
    let repository = Repository::new(&[
        ("base/kustomization.yaml", "resources:\n- web.yaml\n"),
        ("base/web.yaml", DEPLOYMENT),
        ("overlays/eu/dev/kustomization.yaml", &overlay("a")),
        ("overlays/eu/prod/kustomization.yaml", &overlay("b")),
        ("overlays/us/dev/kustomization.yaml", &overlay("c")),
        ("overlays/README.md", "which is which\n"),
        ("docs/README.md", "nothing to build\n"),
    ]);
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    for folders in [&["overlays"][..], &["overlays/*"], &["overlays/eu", "overlays/us/"]] {
        let text = repository.diff(&[&["HEAD"], folders].concat());
        assert!(text.starts_with("3 overlays change (of 3)"), "{folders:?}: {text}");
    }
    let krm = format!("{} build", env!("CARGO_BIN_EXE_krm"));
    let none = format!("no differences between {krm} and krm build (3 overlays)\n");
    assert_eq!(repository.diff(&["--with", &krm, "overlays/eu", "overlays/us"]), none);
    assert_eq!(repository.diff(&["--with", &krm, "overlays/*"]), none);
    let rendered = repository.krm(&["build", "-o", "rendered/", "overlays/eu/dev", "overlays/eu/prod"]);
    assert_eq!(status(&rendered), Some(0), "{}", stderr(&rendered));
    let none = "no differences between rendered and krm build (2 overlays)\n";
    assert_eq!(repository.diff(&["--against", "rendered", "overlays/eu"]), none);
    for args in [&["diff", "HEAD", "docs"][..], &["diff", "--with", &krm, "docs"]] {
        let output = repository.krm(args);
        assert!(stderr(&output).starts_with("error[diff-no-target]"), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn one_mistake_in_a_base_is_reported_once() {
    let repository = Repository::shop();
    for name in ["c", "d"] {
        let text = format!("namePrefix: {name}-\nresources:\n- ../../base\n");
        repository.write(&format!("overlays/{name}/kustomization.yaml"), &text);
    }
    repository.commit("more");
    repository.write("base/kustomization.yaml", "resources:\n- web.yaml\n- wbe.yaml\n");
    let output = repository.krm(&["diff"]);
    assert_eq!(status(&output), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("4 of 4 overlays cannot be built"), "{text}");
    let error = stderr(&output);
    assert_eq!(error.matches("error[").count(), 1, "{error}");
    let targets = "note: in 4 targets: `overlays/a`, `overlays/b`, `overlays/c` and 1 more\n";
    assert!(error.contains(targets), "{error}");
    let build = ["build", "overlays/a", "overlays/b", "overlays/c", "overlays/d"];
    for more in [&[][..], &["--cache"]] {
        let output = repository.krm(&[&build[..], more].concat());
        let error = stderr(&output);
        assert_eq!((status(&output), error.matches("error[").count()), (Some(1), 1), "{error}");
        assert!(error.contains(targets) && !error.contains("included here"), "{error}");
    }
    let github = stderr(&repository.krm(&[&build[..], &["--error-format", "github"]].concat()));
    assert_eq!(github.lines().count(), 1, "{github}");
    let json = stderr(&repository.krm(&[&build[..], &["--error-format", "json"]].concat()));
    assert_eq!(json.lines().count(), 4, "programs get one for each target: {json}");
}

#[test]
fn the_point_at_which_branches_parted_has_a_short_name() {
    let repository = Repository::shop();
    let id = repository.git(&["rev-parse", "HEAD"]);
    let output = repository.krm(&["diff", "HEAD...HEAD"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, format!("no differences between {} and HEAD (2 overlays)\n", &id[..12]));
}

/// What `krm diff` prints for programs.
fn json(repository: &Repository, args: &[&str]) -> serde_json::Value {
    let text = repository.diff(&[args, &["--format", "json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn programs_get_the_values_of_each_overlay() {
    let web = DEPLOYMENT.to_owned() + "        envFrom:\n        - configMapRef: {name: settings}\n";
    let overlay = |name: &str| format!("namePrefix: {name}-\nresources:\n- ../../base\n");
    let repository = Repository::new(&[
        (
            "base/kustomization.yaml",
            "resources: [web.yaml]\nconfigMapGenerator:\n- {name: settings, literals: [a=1]}\n",
        ),
        ("base/web.yaml", &web),
        ("overlays/x/kustomization.yaml", &overlay("x")),
        ("overlays/y/kustomization.yaml", &overlay("y")),
    ]);
    repository.replace("base/kustomization.yaml", "a=1", "a=2");
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    let text = repository.diff(&[]);
    assert_eq!(text.matches("and follows: name …-").count(), 1, "{text}");
    let answer = json(&repository, &[]);
    let changes = answer["changes"].as_array().unwrap();
    for (at, change) in changes.iter().enumerate() {
        assert_eq!(change["id"], at, "{change}");
    }
    let follows: Vec<_> = changes.iter().filter(|change| !change["follows"].is_null()).collect();
    assert_eq!(follows.len(), 4, "a name and a reference in each: {answer}");
    for change in follows {
        let target = change["targets"][0].as_str().unwrap();
        assert_eq!(change["targets"].as_array().unwrap().len(), 1, "{change}");
        let prefix = format!("{}-", target.trim_start_matches("overlays/"));
        let values = ["/before", "/after", "/resource/from/name", "/resource/to/name"];
        for value in values.map(|value| change.pointer(value).unwrap().as_str().unwrap()) {
            assert!(value.starts_with(&prefix), "{change}");
        }
        // A reference follows the name of its own overlay.
        let cause = &changes[change["follows"].as_u64().unwrap() as usize];
        let is_reference = change["resource"]["kind"] == "Deployment";
        assert_eq!(cause["targets"] == change["targets"], is_reference, "{change} {cause}");
    }
    // What is the same in both is there once, with the names of both.
    let replicas: Vec<_> = changes.iter().filter(|change| change["field"] == "spec.replicas").collect();
    assert_eq!(replicas.len(), 1, "{answer}");
    let names = replicas[0]["resource"]["names"].as_array().unwrap();
    let names: Vec<_> = names.iter().map(|one| (&one["target"], &one["from"]["name"])).collect();
    assert_eq!(
        format!("{names:?}"),
        r#"[(String("overlays/x"), String("x-web")), (String("overlays/y"), String("y-web"))]"#
    );
    let ids: Vec<_> = answer["causes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|cause| cause["changes"].as_array().unwrap())
        .collect();
    assert_eq!(ids.len(), changes.len(), "{answer}");
}

#[test]
fn literals_may_be_written_in_any_letters_after_any_space() {
    let generator = |literal: &str| {
        format!("configMapGenerator:\n- name: settings\n  literals:\n  -  {literal}\n  - keep=1\n")
    };
    let repository = Repository::new(&[("kustomization.yaml", &generator("éé=1"))]);
    repository.write("kustomization.yaml", &generator("üü=2"));
    let output = repository.krm(&["diff"]);
    // Such a key is not valid, which is worth an error, and not a crash.
    assert_ne!(status(&output), Some(101), "{}", stderr(&output));
}

#[test]
fn each_line_of_an_env_file_is_a_cause() {
    let repository = Repository::new(&[
        ("kustomization.yaml", "configMapGenerator:\n- {name: settings, envs: [app.env]}\n"),
        ("app.env", "A=1\nB=2\nC=4\n"),
    ]);
    repository.write("app.env", "A=9\nB=2\nC=5\n");
    let text = repository.diff(&[]);
    let wanted =
        ["app.env:1                       A=1   →   A=9", "app.env:3                       C=4   →   C=5"];
    assert_eq!(causes(&text), wanted, "{text}");
    repository.write("app.env", "A=1\nNEW=x\nB=2\nC=6\n");
    let text = repository.diff(&[]);
    let wanted =
        ["app.env:2                       added   NEW=x", "app.env:4                       C=4   →   C=6"];
    assert_eq!(causes(&text), wanted, "{text}");
    // A line beside a new one.
    repository.write("app.env", "A=1\nB=2\nNEW=x\nC=6\n");
    let text = repository.diff(&[]);
    let wanted =
        ["app.env:3                       added   NEW=x", "app.env:4                       C=4   →   C=6"];
    assert_eq!(causes(&text), wanted, "{text}");
    repository.write("app.env", "A=1\nC=4\n");
    let text = repository.diff(&[]);
    assert_eq!(causes(&text), ["app.env:2                       removed   B=2"], "{text}");
    // A line that moved, and is now where another one was.
    repository.write("app.env", "C=7\nB=2\n");
    let text = repository.diff(&[]);
    let wanted = [
        "app.env:1                       C=4 (app.env:3)   →   C=7",
        "app.env:1                       removed   A=1",
    ];
    assert_eq!(causes(&text), wanted, "{text}");
}

#[test]
fn a_changed_order_is_led_back_to_the_elements() {
    let base = DEPLOYMENT.to_owned()
        + "        env:\n        - name: A\n          value: a\n        - name: B\n          value: b\n";
    let head = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n      - name: web\n        env:\n        - name: P1\n          value: one\n";
    let more = "        - name: P2\n          value: two\n        - name: B\n          value: bb\n";
    let repository = Repository::new(&[
        ("kustomization.yaml", "resources: [web.yaml]\npatches:\n- path: patch.yaml\n"),
        ("web.yaml", &base),
        ("patch.yaml", &format!("{head}{more}")),
    ]);
    repository.write("patch.yaml", &head.replace("replicas: 2", "replicas: 1"));
    let text = repository.diff(&[]);
    let order = text.split("\n\n").find(|part| part.contains("[P1, P2, B, A]")).unwrap_or_default();
    assert!(order.starts_with("patch.yaml:16 ") && order.contains("removed   - name: B"), "{text}");
    // And the other way round.
    repository.commit("fewer");
    repository.write("patch.yaml", &format!("{head}{more}"));
    let text = repository.diff(&[]);
    let order = text.split("\n\n").find(|part| part.contains("[P1, P2, B, A]")).unwrap_or_default();
    assert!(order.starts_with("patch.yaml:1") && order.contains("added   - name: "), "{text}");
}

#[test]
fn a_door_that_opens_is_seen_wherever_it_is_written() {
    let repository = Repository::shop();
    let open = "        securityContext:\n          privileged: true\n";
    repository.write("base/web.yaml", &(DEPLOYMENT.to_owned() + open));
    let text = repository.diff(&[]);
    let flag = "base/web.yaml:19   Deployment web: a container becomes privileged (a, b)";
    assert_eq!(flags(&text), [flag], "{text}");
    repository.write(
        "base/web.yaml",
        &(DEPLOYMENT.to_owned() + "      - name: other\n        image: example.com/other:1\n" + open),
    );
    let text = repository.diff(&[]);
    assert!(
        flags(&text).iter().any(|flag| flag.ends_with("a container becomes privileged (a, b)")),
        "{text}"
    );
    repository.write("base/web.yaml", DEPLOYMENT);
    repository.write("base/new.yaml", &(DEPLOYMENT.replace("name: web\nspec", "name: new\nspec") + open));
    repository.replace("base/kustomization.yaml", "- web.yaml\n", "- web.yaml\n- new.yaml\n");
    let text = repository.diff(&[]);
    let flag = "base/kustomization.yaml:3   Deployment new is new, with a privileged container (a, b)";
    assert_eq!(flags(&text), [flag], "{text}");
}

#[test]
fn a_folder_that_is_not_there_did_not_build() {
    let repository = Repository::shop();
    repository.write("overlays/new/kustomization.yaml", "resources: [missing.yaml]\n");
    let output = repository.krm(&["diff"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("overlays/new   fails in the working tree, and is not in HEAD\n"), "{text}");
    repository.commit("broken");
    fs::remove_dir_all(repository.0.join("overlays/new")).unwrap();
    let output = repository.krm(&["diff"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("overlays/new   failed in HEAD, and is not in the working tree\n"), "{text}");
}

#[test]
fn of_an_overlay_that_fails_nothing_is_said() {
    let repository = Repository::shop();
    for name in ["c", "d", "e", "f", "g", "h"] {
        let text = format!("namePrefix: {name}-\nresources:\n- ../../base\n");
        repository.write(&format!("overlays/{name}/kustomization.yaml"), &text);
    }
    repository.commit("more");
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.replace("overlays/b/kustomization.yaml", "- ../../base", "- ../../gone");
    let output = repository.krm(&["diff"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("7 of 8 overlays, 1 cannot be built\n"), "{text}");
}

#[test]
fn a_unified_difference_is_of_what_was_asked_for() {
    let repository = Repository::shop();
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n";
    repository.write("base/service.yaml", service);
    repository.replace("base/kustomization.yaml", "- web.yaml\n", "- web.yaml\n- service.yaml\n");
    repository.commit("a service");
    assert!(repository.krm(&["build", "-o", "rendered", "overlays/a", "overlays/b"]).status.success());
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    repository.replace("base/web.yaml", "web:1.0.0", "web:1.0.1");
    repository.replace("base/service.yaml", "port: 80", "port: 81");
    let changed = |args: &[&str]| -> Vec<String> {
        let text = repository.diff(&[&["--format", "unified"], args, &["HEAD", "overlays/a"]].concat());
        repository.write("patch", &text);
        repository.git(&["apply", "--check", "--directory=rendered", "patch"]);
        let lines = text.lines().filter(|line| !line.starts_with("+++") && !line.starts_with("---"));
        let lines = lines.filter(|line| line.starts_with(['+', '-']));
        lines.map(|line| format!("{}{}", &line[..1], line[1..].trim_start_matches(['-', ' ']))).collect()
    };
    let port = ["-port: 80", "+port: 81"];
    let image = ["-image: example.com/web:1.0.0", "+image: example.com/web:1.0.1"];
    let replicas = "Deployment/spec.replicas";
    assert_eq!(changed(&["--only", "Service/web"]), port);
    assert_eq!(changed(&["--only", "Deployment/web", "--ignore", replicas]), image);
    assert_eq!(changed(&["--ignore", "*/spec.template", "--ignore", replicas]), port);
}

#[test]
fn two_folders_are_compared_alike_in_every_form() {
    let repository = Repository::shop();
    let two = ["--overlays", "overlays/a", "overlays/b"];
    repository.replace(
        "overlays/b/kustomization.yaml",
        "namePrefix: b-\n",
        "namePrefix: b-\nnamespace: two\nreplicas:\n- name: web\n  count: 3\n",
    );
    let text = repository.diff(&two);
    assert!(text.contains("base/web.yaml:6") && text.contains("b/kustomization.yaml:5"), "{text}");
    for format in ["markdown", "html", "github", "json"] {
        let text = repository.diff(&[&two[..], &["--format", format]].concat());
        let said = ["overlays/b/kustomization.yaml:5", "overlays/b/kustomization.yaml,line=5", "\"line\": 5"];
        assert!(said.iter().any(|place| text.contains(place)), "{format}: {text}");
        for wrong in ["the two folders differ", "renamed:", "restart:", "overlay changes", "::warning"] {
            assert!(!text.contains(wrong), "{format}: {wrong}\n{text}");
        }
    }
    let answer = json(&repository, &two);
    assert_eq!(answer["flags"], serde_json::json!([]));
    assert_eq!(answer["restarts"], serde_json::json!([]));
    let causes = answer["causes"].as_array().unwrap();
    assert_eq!(causes[0]["before"], "replicas: 1 (base/web.yaml:6)");
    assert_eq!(causes[0]["after"], "count: 3");
    assert_eq!(
        (&causes[1]["what"], &causes[1]["changes"]),
        (&"prefix and namespace".into(), &serde_json::json!([1, 2]))
    );
}

#[test]
fn how_much_is_built_at_once_and_what_changes_nothing() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "replicas: 1", "replicas: 2");
    let wanted = repository.diff(&[]);
    for args in [&["-j", "1"][..], &["--jobs", "2"], &["--roots"], &["HEAD", "--roots", "overlays"]] {
        assert_eq!(repository.diff(args), wanted, "{args:?}");
    }
    let affected = |args: &[&str]| repository.krm(&[&["affected"], args].concat()).stdout;
    assert_eq!(affected(&["--roots"]), affected(&[]));
    assert_eq!(status(&repository.krm(&["diff", "-j", "0"])), Some(2));
}

#[test]
fn a_guess_is_marked_everywhere() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "name: web\nspec", "name: site\nspec");
    for format in ["text", "markdown", "html", "github"] {
        let text = repository.diff(&["--format", format]);
        assert!(text.contains("(similar)"), "{format}: {text}");
    }
}

#[test]
fn what_may_not_be_seen_hides_no_more_than_that() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  a: one\n  b: two\n";
    let patch = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  c: three\n";
    let repository = Repository::new(&[
        ("kustomization.yaml", "resources:\n- s.yaml\n"),
        ("s.yaml", secret),
        ("patch.yaml", patch),
    ]);
    // Lines that look the same are not the same edit.
    repository.write("s.yaml", &secret.replace("one", "uno").replace("two", "dos"));
    let text = repository.diff(&[]);
    assert_eq!(causes(&text).len(), 2, "{text}");
    assert!(!text.contains("uno") && !text.contains("two"), "{text}");
    // The name of a file is none of the values in it.
    repository.write("s.yaml", secret);
    repository.write("kustomization.yaml", "resources:\n- s.yaml\npatches:\n- path: patch.yaml\n");
    let text = repository.diff(&[]);
    assert_eq!(causes(&text), ["kustomization.yaml:4            added   - path: patch.yaml"], "{text}");
    assert!(!text.contains("three"), "{text}");
}

#[test]
fn a_variable_beside_a_secret_one_is_shown() {
    let vars = "resources: [all.yaml]\nvars:\n- {name: SVC, objref: {kind: Service, name: svc, apiVersion: v1}}\n- name: PASS\n  objref: {kind: Secret, name: s, apiVersion: v1}\n  fieldref: {fieldpath: stringData.pw}\n";
    let all = "apiVersion: v1\nkind: Service\nmetadata: {name: svc}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {pw: hunter2}\n---\n";
    let pod = |command: &str| {
        format!(
            "{all}apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - name: c\n    command: {command}\n"
        )
    };
    let apart = pod(r#"["/bin/sh", "$(SVC)", "--p=$(PASS)"]"#);
    let repository = Repository::new(&[("kustomization.yaml", vars), ("all.yaml", &apart)]);
    let shown = |repository: &Repository| {
        let output = repository.krm(&["explain", ".", "Pod/p", "spec.containers[0].command"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = shown(&repository);
    assert!(text.contains("svc") && !text.contains("hunter2"), "{text}");
    // In one text they cannot be told apart.
    repository.write("all.yaml", &pod(r#"["/bin/sh", "--p=$(PASS)@$(SVC)"]"#));
    let text = shown(&repository);
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn annotations_of_lines_that_are_gone_are_where_they_were() {
    let repository = Repository::shop();
    repository.replace("base/web.yaml", "  replicas: 1\n", "");
    let text = repository.diff(&["--format", "github"]);
    assert!(text.starts_with("::notice file=base/web.yaml,line=6,"), "{text}");
    // Of a folder that is gone there is a place, too.
    let repository = Repository::shop();
    repository.write("overlays/b/guarded.yaml", GUARDED);
    repository.replace("overlays/b/kustomization.yaml", "- ../../base\n", "- ../../base\n- guarded.yaml\n");
    repository.commit("guarded");
    fs::remove_dir_all(repository.0.join("overlays/b")).unwrap();
    let text = repository.diff(&[]);
    let flag = "overlays/b/guarded.yaml:1   NetworkPolicy deny is removed";
    assert!(flags(&text).iter().any(|line| line.starts_with(flag)), "{text}");
}

#[test]
fn other_lines_of_a_file_that_is_one_value_are_counted() {
    let repository = Repository::new(&[
        ("kustomization.yaml", "configMapGenerator:\n- {name: settings, files: [app.conf]}\n"),
        ("app.conf", "a\nb\nc\nd\ne\n"),
    ]);
    repository.write("app.conf", "a\nB\nc\nD\nE\n");
    let text = repository.diff(&[]);
    assert_eq!(
        causes(&text),
        ["app.conf:2                      b   →   B   (and in 2 more lines)"],
        "{text}"
    );
}

#[test]
fn a_table_is_as_wide_as_it_may_be() {
    let repository = Repository::shop();
    repository.replace(
        "overlays/b/kustomization.yaml",
        "- ../../base\n",
        "- ../../base\nimages:\n- name: example.com/web\n  newName: registry.example.com/a/much/longer/name\n",
    );
    let two = ["--overlays", "overlays/a", "overlays/b"];
    let wide = repository.diff(&two);
    assert!(wide.lines().any(|line| line.chars().count() > 100), "a pipe gets all of it: {wide}");
    let narrow = repository.diff(&[&two[..], &["--width", "80"]].concat());
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("yaml:6") && narrow.contains('…'), "{narrow}");
}
