//! `krm edit move` and `krm edit rename` killed at any moment: once the next command has run, all files are old or all of
//! them new.
//!
//! `KRM_KILLS=500 cargo test --test edit_killed` is the long run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "support/scratch.rs"]
mod scratch;
#[path = "support/texts.rs"]
mod support;

use scratch::Scratch;
use support::texts;

const OVERLAYS: usize = 30;

fn tree(name: &str) -> Scratch {
    let root = Scratch::new(&format!("edit-killed-{name}"));
    let write = |path: String, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it is in the tree")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    };
    write("base/kustomization.yaml".into(), "resources: [web.yaml]\n");
    write("base/web.yaml".into(), "apiVersion: v1\nkind: Service\nmetadata:\n  name: web # the front\n");
    for at in 0..OVERLAYS {
        let patch = "apiVersion: v1\n  kind: Service\n  metadata: {name: web}\n  spec: {type: NodePort}\n";
        let text =
            format!("# {at}\nresources:\n- ../../base # below\npatchesStrategicMerge:\n- |-\n  {patch}");
        write(format!("overlays/{at}/kustomization.yaml"), &text);
    }
    root
}

fn krm(root: &Path, args: &[&str]) -> Command {
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    krm.args(args).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    krm
}

/// Kills a command at many moments of its time, and its reverse likewise.
fn all_or_nothing(name: &str, there: &[&str], back: &[&str]) {
    let root = tree(name);
    let old = texts(&root);
    let begun = Instant::now();
    assert!(krm(&root, there).status().expect("krm starts").success());
    let takes = begun.elapsed();
    let new = texts(&root);
    assert_ne!(old, new);
    assert!(krm(&root, back).status().expect("krm starts").success());
    assert_eq!(texts(&root), old, "the way back leads to where it began");
    let kills = std::env::var("KRM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(60);
    let (mut state, mut seen) = (0, [0, 0]);
    for kill in 0..kills {
        let mut child = krm(&root, if state == 0 { there } else { back }).spawn().expect("krm starts");
        std::thread::sleep(
            takes.mul_f64((kill * 7 % kills) as f64 / kills as f64) + Duration::from_micros(kill as u64),
        );
        let _ = child.kill();
        let _ = child.wait();
        // The next to come finishes what was begun, or undoes it.
        assert!(krm(&root, &["cfg", "count", "."]).status().expect("krm starts").success());
        let now = texts(&root);
        state = match () {
            () if now == old => 0,
            () if now == new => 1,
            () => panic!("after kill {kill} the files are neither old nor new: {now:#?}"),
        };
        seen[state] += 1;
        // Files are all or nothing; a folder that a move left empty may remain.
        for folder in ["base", "common"] {
            let _ = fs::remove_dir(root.join(folder));
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "the moments were ill chosen: {seen:?}");
}

#[test]
fn a_move_is_all_or_nothing() {
    all_or_nothing(
        "move",
        &["edit", "move", "--root", ".", "base", "common"],
        &["edit", "move", "--root", ".", "common", "base"],
    );
}

#[test]
fn a_rename_is_all_or_nothing() {
    all_or_nothing(
        "rename",
        &["edit", "rename", "--root", ".", "Service/web", "front"],
        &["edit", "rename", "--root", ".", "Service/front", "web"],
    );
}
