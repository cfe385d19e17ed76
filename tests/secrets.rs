//! Values of Secrets are in no answer unless someone asks for them, and those of fields named by `--mask` never are: not in
//! the text, not in the data, not in the page.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// In a Secret as text, in base64 and as kubectl applied it, in a patch, in a generator's literal, file and env file, in a
/// JSON patch that is a file, in one that overwrites itself, in one that tests, and in patches that match nothing.
const VALUES: [&str; 17] = [
    "hunter-one",
    "aHVudGVyLXR3bw==",
    "hunter-two",
    "hunter-three",
    "hunter-four",
    "aHVudGVyLWZvdXI=",
    "hunter-five",
    "aHVudGVyLWZpdmUK",
    "hunter-six",
    "hunter-seven",
    "hunter-eight",
    "hunter-nine",
    "hunter-ten",
    "hunter-eleven",
    "hunter-twelve",
    "hunter-thirteen",
    "hunter-fourteen",
];

const FILES: [(&str, &str); 9] = [
    (
        "base/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, labels: {a: b}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":\"hunter-fourteen\"}'}}\nstringData:\n  one: hunter-one\ndata: {two: aHVudGVyLXR3bw==}\n",
    ),
    ("base/kustomization.yaml", "resources: [secret.yaml]\n"),
    (
        "live/web.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        env:
        - {name: USER, valueFrom: {secretKeyRef: {name: made, key: four}}}
        - {name: COPY, value: x}
        - {name: PART, value: a-b}
        - {name: OTHER, value: zorblax}
",
    ),
    ("live/five.txt", "hunter-five\n"),
    ("live/seven.env", "seven=hunter-seven\n"),
    (
        "live/values.yaml",
        "- {op: add, path: /data/eight, value: hunter-eight}
- {op: replace, path: /data/eight, value: hunter-nine}
- {op: test, path: /data/eight, value: hunter-nine}
",
    ),
    ("live/unused.yaml", "- {op: add, path: /data/ten, value: hunter-ten}\n"),
    (
        "live/kustomization.yaml",
        "resources: [../base, web.yaml]
secretGenerator:
- {name: made, literals: [four=hunter-four], files: [five.txt], envs: [seven.env]}
patches:
- patch: |-
    apiVersion: v1
    kind: Secret
    metadata: {name: keys, labels: {c: d}}
    stringData: {one: hunter-three}
- target: {kind: Secret, name: keys}
  patch: |-
    - op: add
      path: /stringData/six
      value: hunter-six
- {path: values.yaml, target: {kind: Secret, name: made}}
- {path: unused.yaml, target: {kind: Secret, name: mode}}
- target: {kind: Secret, name: kees}
  patch: '[{op: add, path: /stringData/six, value: hunter-eleven}]'
- target: {kind: Secret, name: kees}
  patch: |-
    - op: add
      path: /stringData/six
      value: hunter-twelve
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: none}, stringData: {one: hunter-thirteen}}'
  target: {name: none}
replacements:
- source: {kind: Secret, name: keys, fieldPath: stringData.one}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ['spec.template.spec.containers.[name=web].env.[name=COPY].value']
- source: {kind: Secret, name: keys, fieldPath: stringData.six, options: {delimiter: '-', index: 0}}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ['spec.template.spec.containers.[name=web].env.[name=PART].value']
    options: {delimiter: '-', index: 1}
",
    ),
    ("live/.gitkeep", ""),
];

struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Scratch::new(&format!("secrets-{name}"));
        for (path, text) in FILES {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        Self(folder)
    }

    fn krm(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(&self.0).output().expect("krm starts")
    }

    fn commit(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "first"]);
    }

    fn git(&self, args: &[&str]) {
        let user = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
        let output =
            Command::new("git").args(user).args(args).current_dir(&self.0).output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn leaks(text: &[u8]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(text);
    VALUES.into_iter().filter(|value| text.contains(value)).collect()
}

fn leaks_of(output: &Output) -> Vec<&'static str> {
    let mut all = leaks(&output.stdout);
    all.extend(leaks(&output.stderr));
    all
}

const QUESTIONS: [&[&str]; 28] = [
    &[],
    &["Secret/keys"],
    &["Secret/keys", "stringData.one"],
    &["Secret/keys", "stringData.six"],
    &["Secret/keys", "stringData"],
    &["Secret/keys", "data.two"],
    &["Secret/keys", "metadata.labels.c"],
    &["Secret/made"],
    &["Secret/made", "data.four"],
    &["Secret/made", "data.seven"],
    &["Secret/made", "data.eight", "--steps"],
    &["Secret/keys", "stringData.one", "--steps"],
    &["Secret/keys", "stringData", "--steps", "--max", "1"],
    &["Secret/made", "data.four", "--steps"],
    &["Secret/made", "metadata.name", "--steps"],
    &["Deployment/web"],
    &["Deployment/web", "spec.template.spec.containers"],
    &["Deployment/web", "spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef.name", "--steps"],
    &["Deployment/web", "spec.template.spec.containers[0].env[name=COPY].value", "--steps"],
    &["Deployment/web", "spec.template.spec.containers[0].env[name=PART].value", "--steps"],
    &["--blame"],
    &["--source", "base/secret.yaml:5"],
    &["--source", "base/secret.yaml:6"],
    &["--source", "live/kustomization.yaml:3"],
    &["--source", "live/kustomization.yaml:9"],
    &["--source", "live/kustomization.yaml:14"],
    &["--source", "live/values.yaml:2"],
    &["--source", "live/web.yaml:11"],
];

/// What is not secret is shown, also beside what is.
#[test]
fn only_values_are_hidden() {
    let folder = Folder::new("shown");
    for (question, wanted) in [
        (&["Secret/keys"][..], "written"),
        (&["Secret/made", "data.four", "--steps"], "made"),
        (&["Secret/keys", "stringData.one", "--steps"], "Secret"),
        (&["Deployment/web", "spec.template.spec.containers[0].env[name=OTHER].value", "--steps"], "zorblax"),
        (&["--source", "live/kustomization.yaml:14"], "value: •••  reaches"),
        (&["--blame"], "six: •••"),
        (&["--blame"], "value: zorblax"),
    ] {
        let output = folder.krm(&[&["explain", "live"], question].concat());
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(wanted), "{question:?} {wanted}: {said}");
    }
}

/// Fields that are named by `--mask` in any way, the ways they are asked about, and what stays to be seen.
#[test]
fn fields_that_are_masked_are_not_shown() {
    const ENV: &str = "spec.template.spec.containers[name=web].env";
    let folder = Folder::new("mask");
    folder.commit();
    let text = fs::read_to_string(folder.0.join("live/web.yaml")).unwrap();
    for mask in [
        ENV,
        "spec.template.spec.containers[0].env[3].value",
        "/spec/template/spec/containers/0/env/3",
        "spec.template.spec.containers.[name=web].env.[name=OTHER].value",
        "spec.template",
    ] {
        fs::write(folder.0.join("live/web.yaml"), text.replace("value: zorblax", "value: quuxly")).unwrap();
        for question in [
            &["Deployment/web"][..],
            &["Deployment/web", "spec.template"],
            &["Deployment/web", "spec.template.spec.containers[name=web].env[name=OTHER]", "--steps"],
            &["Deployment/web", "spec.template.spec.containers[0].env[3].value", "--steps"],
            &["--blame"],
            &["--line", "30"],
            &["--source", "live/web.yaml:13"],
        ] {
            for format in ["text", "json"] {
                let args =
                    [&["explain", "live", "--show-secrets", "-o", format, "--mask", mask], question].concat();
                let output = folder.krm(&args);
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
                assert!(!said.contains("quuxly"), "{args:?}: {said}");
            }
        }
        let args = ["explain", "live", "--show-secrets", "--mask", mask, "--html", "page.html"];
        assert!(folder.krm(&args).status.success());
        let page = String::from_utf8_lossy(&page(&folder.0)).into_owned();
        assert!(!page.contains("quuxly") && page.contains("hunter-one"), "{mask}");
        for format in ["text", "json", "markdown", "github", "unified", "html"] {
            for more in [&["HEAD"][..], &["--overlays", "base", "live"]] {
                let args = [&["diff", "-o", format, "--show-secrets", "--mask", mask], more].concat();
                let output = folder.krm(&args);
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(!said.contains("quuxly") && !said.contains("zorblax"), "{args:?}: {said}");
                let is_page = format == "html";
                assert!(more[0] != "HEAD" || is_page || said.contains("•••"), "{args:?}: {said}");
            }
        }
        let another = "spec.template.spec.containers[name=other].env";
        let args = ["explain", "live", "--blame", "--mask", another];
        assert!(String::from_utf8_lossy(&folder.krm(&args).stdout).contains("value: quuxly"));
    }
}

#[test]
fn explain_shows_none() {
    let folder = Folder::new("explain");
    let mut faults = Vec::new();
    for question in QUESTIONS {
        for format in ["text", "json"] {
            let args = [&["explain", "live", "-o", format], question].concat();
            let output = folder.krm(&args);
            // What matched nothing is a warning.
            if !output.status.success() || !leaks_of(&output).is_empty() {
                faults.push(format!(
                    "{args:?}: {:?} {}",
                    leaks_of(&output),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for asked in [&["--blame"][..], &["Secret/keys", "stringData.one"], &["Secret/keys", "-o", "json"]] {
        let output = folder.krm(&[&["explain", "live", "--show-secrets"], asked].concat());
        assert!(leaks_of(&output).contains(&"hunter-three"), "{asked:?}");
    }
}

#[test]
fn pages_hold_none() {
    let folder = Folder::new("pages");
    for command in ["explain", "graph"] {
        let output = folder.krm(&[command, "live", "--html", "page.html"]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(leaks(&page(&folder.0)), [""; 0], "{command}");
        assert_eq!(leaks_of(&output), [""; 0], "{command}");
    }
}

fn page(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("page.html")).expect("a page")
}

#[test]
fn differences_show_none() {
    let folder = Folder::new("diff");
    folder.commit();
    fs::write(folder.0.join("rendered.yaml"), folder.krm(&["build", "live"]).stdout).unwrap();
    for (path, text) in FILES {
        fs::write(folder.0.join(path), text.replace("hunter-", "hunter-no-").replace("aHV", "bHV")).unwrap();
    }
    for format in ["text", "json", "markdown", "github", "unified", "html"] {
        for more in [
            &["HEAD"][..],
            &["HEAD", "--only", "Deployment/web"],
            &["HEAD", "--ignore", "Secret/data", "--ignore", "Secret/stringData"],
            &["--overlays", "base", "live"],
            &["--against", "rendered.yaml", "live"],
        ] {
            let args = [&["diff", "-o", format], more].concat();
            let output = folder.krm(&args);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(more.len() > 1 || said.contains("keys"), "{args:?}: {said}");
            assert_eq!(leaks_of(&output), [""; 0], "{args:?}: {said}");
            assert!(!said.contains("hunter-") && !said.contains("bHV"), "{args:?}: {said}");
        }
    }
}

/// Lines that errors and warnings show hold none, and neither does what they say.
#[test]
fn diagnostics_show_none() {
    let folder = Folder::new("diagnostics");
    for (name, text, code) in [
        (
            "a",
            "secretGenerator:\n- {name: made, literals: [hunter-four], files: [none.txt]}\n",
            "generator-literal",
        ),
        (
            "b",
            "secretGenerator:\n- {name: made, literals: [a=hunter-four], files: [none.txt]}\n",
            "file-not-found",
        ),
        (
            "c",
            "resources: [../base]\npatches:\n- target: {kind: Secret, name: kees}\n  patch: '[{op: add, path: /stringData/six, value: hunter-six}]'\n",
            "patch-target-no-match",
        ),
        (
            "d",
            "resources: [../base]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: remove, path: /stringData/none, value: hunter-six}\n",
            "json-patch",
        ),
        (
            "f",
            "secretGenerator:\n- {name: made, envs: [a.env], literals: [seven=x]}\n",
            "generator-key-twice",
        ),
        ("e", "resources: [secret.yaml]\nnamePrefix: a-\n", "duplicate"),
    ] {
        fs::create_dir_all(folder.0.join(name)).unwrap();
        fs::write(folder.0.join(name).join("kustomization.yaml"), text).unwrap();
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {one: hunter-one, one: hunter-two}\n";
        fs::write(folder.0.join(name).join("secret.yaml"), secret).unwrap();
        fs::write(folder.0.join(name).join("a.env"), "seven=hunter-seven\n").unwrap();
        for args in
            [&["build", "--strict"][..], &["lint"], &["explain"], &["--error-format", "json", "build"]]
        {
            let output = folder.krm(&[args, &[name]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(args[0] != "build" || said.contains(code), "{name} {args:?}: {said}");
            assert_eq!(leaks(&output.stderr), [""; 0], "{name} {args:?}: {said}");
            // What is built is built with everything.
            if !args.contains(&"build") {
                assert_eq!(leaks(&output.stdout), [""; 0], "{name} {args:?}");
            }
        }
    }
}

#[test]
fn graphs_and_lint_show_none() {
    let folder = Folder::new("graphs");
    for format in ["tree", "json", "dot", "mermaid", "svg"] {
        for level in ["files", "steps", "resources"] {
            let args = ["graph", "live", "--level", level, "--format", format];
            let output = folder.krm(&args);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(leaks_of(&output), [""; 0], "{args:?}: {said}");
        }
    }
    for format in ["text", "json", "github", "sarif"] {
        let output = folder.krm(&["--error-format", format, "lint", "live"]);
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("mode") || said.contains("kees"), "{format}: {said}");
        assert_eq!(leaks_of(&output), [""; 0], "{format}: {said}");
    }
}
