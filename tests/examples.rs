//! The examples do what their texts say.

use std::path::Path;
use std::process::Command;

fn build(folder: &str) -> String {
    let flags = ["build", "--enable-alpha-plugins", "--enable-exec"];
    let output = Command::new(env!("CARGO_BIN_EXE_krm"))
        .args(flags)
        .arg(folder)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))
        .output()
        .expect("krm starts");
    assert!(output.status.success(), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("krm writes text")
}

#[test]
fn the_shop_has_its_production_settings() {
    let text = build("shop/overlays/production");
    for part in ["replicas: 3", "web:1.4", "GREETING: welcome", "namespace: shop", "memory: 512Mi"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn the_stories_of_the_proposal_run() {
    let app = build("composition/app");
    assert!(
        app.contains("team/my-app:v1.0") && app.contains("name: logger") && !app.contains("Monitor"),
        "{app}"
    );
    let staging = build("composition/staging");
    assert!(staging.contains("team/my-app:v1.1-beta"), "{staging}");
    assert!(staging.contains("kind: Monitor") && staging.contains("name: my-app-metrics"), "{staging}");
}

#[test]
fn a_composition_replaces_four_layers() {
    let composition = build("composition/production/top");
    assert!(
        composition.contains("team/my-app:v1.2") && composition.contains("namespace: live"),
        "{composition}"
    );
    assert_eq!(composition, build("composition/kustomization/4-top"));
}

#[test]
fn an_update_of_a_package_keeps_its_edits() {
    let output = Command::new(env!("CARGO_BIN_EXE_krm"))
        .args([
            "merge3",
            "--original",
            "upstream-v1",
            "--updated",
            "upstream-v2",
            "--dest",
            "ours",
            "--report",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/update-a-package"))
        .output()
        .expect("krm starts");
    let (text, report) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}");
    let theirs = ["example.com/cache:2.0", "name: exporter", "readinessProbe", "port: 9121", "NetworkPolicy"];
    let ours = [
        "replicas: 3 # one per zone",
        "disk: fast",
        "team: shop",
        "name: cache-alerts",
        "# The cache of the shop.",
    ];
    for part in theirs.into_iter().chain(ours) {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(!text.contains("cache-legacy"), "{text}");
    assert!(
        report.contains("`spec.template.spec.containers[name=cache].args` of Deployment `cache`"),
        "{report}"
    );
}
