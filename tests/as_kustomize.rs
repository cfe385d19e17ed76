//! krm under the name of kustomize: the command lines that tools around it run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a base and an overlay, and a link called `kustomize`.
struct Repository(PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("as-kustomize").join(name);
        drop(fs::remove_dir_all(&root));
        for (path, text) in [
            ("base/kustomization.yaml", "resources: [web.yaml]\n"),
            (
                "base/web.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      \
                 containers: [{name: web, image: nginx}]\n",
            ),
            (
                "parts/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {part: a}\n",
            ),
            ("app/kustomization.yaml", "# ours\nresources:\n- ../base # theirs\n"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_krm"), root.join("kustomize")).unwrap();
        Self(root)
    }

    fn run(&self, dir: &str, args: &[&str]) -> Output {
        Command::new(self.0.join("kustomize")).args(args).current_dir(self.0.join(dir)).output().unwrap()
    }

    /// Runs a command that must succeed; what it prints.
    fn done(&self, dir: &str, args: &[&str]) -> String {
        let output = self.run(dir, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "kustomize {}\n{said}", args.join(" "));
        String::from_utf8(output.stdout).unwrap()
    }

    fn app(&self) -> String {
        fs::read_to_string(self.0.join("app/kustomization.yaml")).unwrap()
    }
}

#[test]
fn the_commands_of_argo_cd() {
    let repository = Repository::new("argo-cd");
    // It compares the version with what a feature needs.
    assert_eq!(repository.done(".", &["version"]), "v5.8.2\n");
    assert!(repository.done(".", &["version", "--short"]).starts_with("{v5.8.2 "));
    for args in [
        &["edit", "set", "nameprefix", "--", "my-"][..],
        &["edit", "set", "namesuffix", "--", "-blue"],
        &["edit", "set", "image", "nginx=example.com/nginx:1.27", "other:v2"],
        &["edit", "set", "replicas", "web=3"],
        &["edit", "add", "label", "--force", "--without-selector", "--include-templates", "team:a"],
        &["edit", "add", "annotation", "--force", "note:b"],
        &["edit", "set", "namespace", "--", "shop"],
        &["edit", "add", "component", "../parts"],
        &[
            "edit",
            "add",
            "patch",
            "--kind",
            "Deployment",
            "--name",
            "web",
            "--patch",
            "- op: remove\n  path: /x\n",
        ],
        &[
            "edit",
            "remove",
            "patch",
            "--kind",
            "Deployment",
            "--name",
            "web",
            "--patch",
            "- op: remove\n  path: /x\n",
        ],
    ] {
        assert_eq!(repository.done("app", args), "", "{args:?}");
    }
    let text = repository.app();
    assert!(text.starts_with("# ours\nresources:\n- ../base # theirs\n"), "{text}");
    let built = repository.done(
        ".",
        &[
            "build",
            "app",
            "--enable-helm",
            "--load-restrictor=LoadRestrictionsNone",
            "--helm-kube-version",
            "1.30",
        ],
    );
    for line in
        ["image: example.com/nginx:1.27", "name: my-web-blue", "replicas: 3", "namespace: shop", "team: a"]
    {
        assert!(built.contains(line), "{line}\n{built}");
    }
}

#[test]
fn the_commands_of_flux_tooling() {
    let repository = Repository::new("flux");
    let flags =
        ["--load-restrictor=LoadRestrictionsNone", "--reorder=legacy", "--enable-alpha-plugins=false"];
    let built = repository.done(".", &[&["build", "./app"], &flags[..]].concat());
    assert!(built.starts_with("apiVersion: apps/v1\nkind: Deployment\n"));
    repository.done("base", &["--stack-trace", "cfg", "tree", "."]);
    fs::create_dir(repository.0.join("new")).unwrap();
    fs::write(repository.0.join("new/a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
        .unwrap();
    repository.done("new", &["create", "--autodetect", "--recursive", "--namespace", "flux-system"]);
    let made = fs::read_to_string(repository.0.join("new/kustomization.yaml")).unwrap();
    assert_eq!(
        made,
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a.yaml\nnamespace: flux-system\n"
    );
}

#[test]
fn usage_is_as_that_of_kustomize() {
    let repository = Repository::new("usage");
    let help = repository.done(".", &[]);
    assert!(
        help.contains("Usage: kustomize") && help.contains("localize") && !help.contains("merge3"),
        "{help}"
    );
    assert!(repository.done(".", &["help", "edit", "set"]).contains("kustomize edit set"));
    assert!(repository.done(".", &["completion", "bash"]).contains("_kustomize"));
    // A wrong flag, a wrong command, and input that is wrong are all the same to kustomize.
    for args in
        [&["build", "--nope"][..], &["nope"], &["build", "nowhere"], &["edit", "set", "image", "nginx"]]
    {
        assert_eq!(repository.run(".", args).status.code(), Some(1), "{args:?}");
    }
    // Nor are mistakes passed over that kustomize does not mind.
    for args in [&["edit", "nope"][..], &["cfg", "nope"], &["create", "extra"], &["version", "extra"]] {
        assert_eq!(repository.run("app", args).status.code(), Some(1), "{args:?}");
    }
    let facts = repository.done(".", &["version", "-o", "json"]);
    assert!(facts.contains("\"version\": \"v5.8.2\""), "{facts}");
}

#[test]
fn files_are_written_without_a_word() {
    let repository = Repository::new("quiet");
    let output = repository.run(".", &["build", "base", "-o", "."]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(repository.0.join("apps_v1_deployment_web.yaml").exists());
}
