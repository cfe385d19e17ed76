//! Two properties of every build: done again it gives the same bytes, and its output, built, gives itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use fastrand::Rng;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

#[test]
fn building_again_changes_nothing() {
    let scratch = Scratch::new("rebuild");
    let mut checked = 0;
    let mut faults = Vec::new();
    for (name, output) in outputs() {
        // These annotations are about the build that wrote them, so another one writes others.
        if output.is_empty()
            || output.contains("config.kubernetes.io/origin")
            || output.contains("/transformations:")
        {
            continue;
        }
        let dir = scratch.join(name.replace('/', "-"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("all.yaml"), &output).unwrap();
        fs::write(dir.join("kustomization.yaml"), "resources:\n- all.yaml\n").unwrap();
        let again = build(&dir, &["--reorder", "none"]);
        if again.as_deref() != Ok(output.as_str()) {
            faults.push(format!("{name}: {}", again.unwrap_or_else(|error| error)));
        }
        checked += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(checked > 30, "only {checked} outputs were looked at");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let scratch = Scratch::new("rebuild");
    let mut random = Rng::with_seed(7);
    for round in 0..40 {
        let dir = scratch.join(round.to_string());
        write_kustomization(&dir, &mut random);
        let first = build(&dir, &[]).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        for _ in 0..3 {
            assert_eq!(build(&dir, &[]).as_deref(), Ok(first.as_str()), "{}", dir.display());
        }
        let again = dir.join("again");
        fs::create_dir_all(&again).unwrap();
        fs::write(again.join("all.yaml"), &first).unwrap();
        fs::write(again.join("kustomization.yaml"), "resources:\n- all.yaml\n").unwrap();
        assert_eq!(build(&again, &[]).as_deref(), Ok(first.as_str()), "{}", dir.display());
    }
}

/// A base with many resources that name each other, under an overlay that changes all of them.
fn write_kustomization(dir: &Path, random: &mut Rng) {
    let (base, overlay) = (dir.join("base"), dir.to_owned());
    fs::create_dir_all(&base).unwrap();
    let count = 1 + random.usize(..60);
    let mut all = String::new();
    for i in 0..count {
        let other = random.usize(..count);
        let word = word(random);
        all += &format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-{i}\ndata:\n  key: {word:?}\n---\napiVersion: apps/v1\n\
             kind: Deployment\nmetadata:\n  name: app-{i}\nspec:\n  selector: {{matchLabels: {{app: a{i}}}}}\n  template:\n    \
             metadata: {{labels: {{app: a{i}}}}}\n    spec:\n      containers:\n      - name: c\n        image: x:{i}\n        \
             envFrom:\n        - configMapRef: {{name: cm-{other}}}\n"
        );
    }
    fs::write(base.join("all.yaml"), all).unwrap();
    let kustomization = "resources:\n- all.yaml\nconfigMapGenerator:\n- name: made\n  literals: [a=1]\n";
    fs::write(base.join("kustomization.yaml"), kustomization).unwrap();
    let mut text = "resources:\n- base\n".to_owned();
    let fields = [
        "namePrefix: p-\n",
        "nameSuffix: -s\n",
        "namespace: ns\n",
        "labels:\n- pairs: {l: m}\n  includeSelectors: true\n",
        "commonAnnotations: {a: b}\n",
        "images:\n- name: x\n  newTag: new\n",
        "patches:\n- target: {kind: Deployment}\n  patch: '[{op: add, path: /spec/replicas, value: 3}]'\n",
    ];
    text.extend(fields.into_iter().filter(|_| random.bool()));
    fs::write(overlay.join("kustomization.yaml"), text).unwrap();
}

/// What our own cases print.
fn outputs() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/build");
    let mut found: Vec<(String, String)> = fs::read_dir(root)
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            // Several targets may well give resources of one id.
            let args = fs::read_to_string(path.join("args")).unwrap_or_default();
            if args.split_whitespace().filter(|arg| arg.starts_with("in")).count() > 1 {
                return None;
            }
            let output = fs::read_to_string(path.join("stdout")).ok()?;
            Some((path.file_name()?.to_str()?.to_owned(), output))
        })
        .collect();
    found.sort();
    found
}

fn build(dir: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_krm")).arg("build").arg(dir).args(args).output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn word(random: &mut Rng) -> String {
    let letters =
        ["a", "0", ":", " ", "#", "-", "\n", "yes", "1e3", "é", "'", "\"", "{", "\t", "~", "null", "0x1"];
    (0..random.usize(..6)).map(|_| letters[random.usize(..letters.len())]).collect()
}
