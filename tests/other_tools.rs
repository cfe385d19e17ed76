//! The files that CI systems, Argo CD and pre-commit read from this repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use krm_yaml::Node;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn documents(path: &str) -> Vec<Node> {
    let documents = krm_yaml::parse_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    documents.into_iter().map(|document| document.root).collect()
}

fn text<'a>(root: &'a Node, path: &[&str]) -> &'a str {
    root.at(path.iter().copied()).and_then(Node::text).unwrap_or_else(|| panic!("nothing at {path:?}"))
}

#[test]
fn the_gitlab_component_is_yaml_that_passes_its_inputs_on() {
    let all = documents("templates/krm.yml");
    assert_eq!(all.len(), 2, "inputs, and what is done with them");
    let paths = all[1].at(["krm", "artifacts", "paths"]).map(Node::items).unwrap();
    assert_eq!(paths.iter().filter_map(Node::text).collect::<Vec<_>>(), ["$[[ inputs.output ]]"]);
    assert_eq!(text(&all[0], &["spec", "inputs", "version", "default"]), VERSION);
}

const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

#[test]
fn the_github_action_refuses_machines_that_have_no_release() {
    let action = documents("action.yml").remove(0);
    assert_eq!(text(&action, &["inputs", "version", "default"]), VERSION);
    let steps = action.at(["runs", "steps"]).map(Node::items).unwrap();
    let script = text(&steps[0], &["run"]);
    for (system, processor) in [("macOS", "ARM64"), ("Windows", "X64"), ("Linux", "ARM")] {
        let mut bash = Command::new("bash");
        bash.args(["-c", script])
            .env("VERSION", VERSION)
            .env("RUNNER_OS", system)
            .env("RUNNER_ARCH", processor);
        let output = bash.env("RUNNER_TEMP", "/nowhere").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!output.status.success(), "{system}");
        assert_eq!(said, format!("::error::this action has no krm for {system} on {processor}\n"));
    }
}

#[test]
fn a_release_is_made_with_everything_the_guides_name() {
    let workflow = documents(".github/workflows/release.yml").remove(0);
    let steps = workflow.at(["jobs", "packages", "steps"]).map(Node::items).unwrap();
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step.get("run").and_then(Node::text)).collect();
    let scripts = scripts.join("\n");
    assert!(scripts.contains("gh release create"), "nothing else makes the release");
    assert!(scripts.contains(" wasm32-unknown-unknown"), "bindings/go embeds the module of a release");
    assert!(scripts.contains("packaging/images dist ghcr.io/krm-tools"));
    assert!(
        scripts.contains("tag --force \"bindings/go/"),
        "`go get` takes a module in a folder by such a tag"
    );
    let images = read("packaging/images");
    for (guide, image) in [("docs/guides/ci.md", "krm"), ("docs/guides/argo-cd.md", "krm-argocd")] {
        assert!(read(guide).contains(&format!("image: ghcr.io/krm-tools/{image}:{VERSION}\n")), "{guide}");
        let mut words = images.split([' ', ';', '\n']);
        assert!(words.any(|word| word.ends_with(&format!(":{image}"))), "{image} is built");
    }
}

#[test]
fn argo_cd_runs_the_functions_of_a_composition() {
    let plugin = documents("packaging/argocd/plugin.yaml").remove(0);
    let command = plugin.at(["spec", "generate", "command"]).map(Node::items).unwrap();
    let words: Vec<&str> = command.iter().filter_map(Node::text).collect();
    assert_eq!(words, ["/usr/local/bin/krm", "build", ".", "--enable-alpha-plugins"]);
    let glob = text(&plugin, &["spec", "discover", "find", "glob"]);
    assert!(!glob.contains('/'), "a kustomization deep below an application is not the one it builds");
}

#[test]
fn the_hooks_of_pre_commit_can_be_read() {
    let hooks = documents(".pre-commit-hooks.yaml").remove(0);
    let ids = hooks.items().iter().map(|hook| text(hook, &["id"]));
    assert_eq!(ids.collect::<Vec<_>>(), ["krm-fmt", "krm-lint"]);
    // pre-commit shows nothing of a hook that passes.
    assert_eq!(text(&hooks.items()[1], &["entry"]), "krm lint --strict");
}
