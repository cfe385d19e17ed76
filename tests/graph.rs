//! `krm graph` on trees that are broken, hostile or large.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[path = "support/left_out.rs"]
mod left_out;

use left_out::left_out;

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph").join(name);
    drop(std::fs::remove_dir_all(&dir));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn krm(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(dir).output().expect("krm starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("krm writes text")
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";

#[test]
fn a_broken_target_hides_no_other() {
    let dir = folder("broken");
    write(
        &dir,
        &[
            ("good/kustomization.yaml", "resources: [web.yaml]\n"),
            ("good/web.yaml", SERVICE),
            ("torn/kustomization.yaml", "resources: [\n"),
            ("empty-name/kustomization.yaml", "resources: ['']\n"),
            ("gone/kustomization.yaml", "resources: [gone.yaml]\n"),
        ],
    );
    for level in ["layers", "files", "steps", "resources"] {
        for format in ["tree", "json", "dot", "svg", "mermaid"] {
            let output = krm(&dir, &["graph", "-o", format, "--level", level]);
            assert!(stdout(&output).contains("good"), "{level} {format}");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("torn/kustomization.yaml"), "{level} {format}: {said}");
            assert_eq!(output.status.code(), Some(1), "{level} {format}");
        }
    }
    let output = krm(&dir, &["graph", "--html", "page.html"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("torn/kustomization.yaml"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(std::fs::read_to_string(dir.join("page.html")).unwrap().contains("good"));
}

/// Names that would end a string, a line, a tag, or turn the direction of a text.
const HOSTILE: [&str; 6] = [
    "a\"]; evil [label=\"x.yaml",
    "</text><script>alert(1)</script>.yaml",
    "back\\slash\\N.yaml",
    "semi;colon`tick`#35;.yaml",
    "bidi\u{202e}lmay.yaml",
    "escape\u{1b}[31m.yaml",
];

#[test]
fn names_stay_names_in_every_format() {
    let dir = folder("names");
    let mut list = String::from("resources:\n");
    for (at, name) in HOSTILE.iter().filter(|name| !name.contains('/')).enumerate() {
        let text = SERVICE.replace("web", &format!("web{at}"));
        write(&dir, &[(&format!("app/{name}"), &text)]);
    }
    for name in HOSTILE {
        let json: String = name
            .chars()
            .map(|c| match c {
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\u{1b}' => "\\e".to_owned(),
                c => c.to_string(),
            })
            .collect();
        list.push_str(&format!("- \"{json}\"\n"));
    }
    write(&dir, &[("app/kustomization.yaml", &list)]);
    let svg = stdout(&krm(&dir, &["graph", "app", "-o", "svg", "--level", "files"]));
    assert!(!svg.contains("<script") && !svg.contains('\u{202e}') && !svg.contains('\u{1b}'), "{svg}");
    let dot = stdout(&krm(&dir, &["graph", "app", "-o", "dot", "--level", "files"]));
    assert!(!dot.contains('\u{1b}'));
    // Outside of quotes there are only our own words.
    let mut outside = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for c in dot.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if !quoted => outside.push(c),
            _ => {}
        }
    }
    assert!(!outside.contains("evil") && !quoted, "{dot}");
    let mermaid = stdout(&krm(&dir, &["graph", "app", "-o", "mermaid", "--level", "files"]));
    assert!(!mermaid.contains("<script") && !mermaid.contains('`'), "{mermaid}");
    let tree = stdout(&krm(&dir, &["graph", "app", "--level", "files"]));
    assert!(!tree.contains('\u{1b}') && !tree.contains('\u{202e}'), "{tree:?}");
    match Command::new("dot").arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Err(_) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "Graphviz is missing, and CI has it read what krm writes"
            );
            left_out("Graphviz is not installed, so `dot` does not read what krm writes");
        }
        Ok(mut child) => {
            use std::io::Write;
            child.stdin.take().unwrap().write_all(dot.as_bytes()).unwrap();
            assert!(child.wait_with_output().unwrap().status.success());
        }
    }
}

#[test]
fn a_layer_that_is_used_often_is_drawn_once() {
    let dir = folder("diamonds");
    // Each layer uses the next one twice: 2^40 ways lead to the last.
    for level in 0..40 {
        let next = level + 1;
        for side in ["a", "b"] {
            let text = format!("resources: [../a{next}, ../b{next}]\n");
            write(&dir, &[(&format!("{side}{level}/kustomization.yaml"), &text)]);
        }
    }
    write(&dir, &[("a40/kustomization.yaml", "resources: [web.yaml]\n"), ("a40/web.yaml", SERVICE)]);
    write(&dir, &[("b40/kustomization.yaml", "resources: []\n")]);
    let tree = stdout(&krm(&dir, &["graph", "a0", "--level", "layers"]));
    assert_eq!(tree.lines().count(), 159, "each of 80 entries once, and the root");
    let users = stdout(&krm(&dir, &["graph", "--reverse", "a40/web.yaml"]));
    assert!(users.lines().count() < 400, "{}", users.lines().count());
    // There are more ways than anyone reads; a few are given, at once.
    let ways = stdout(&krm(&dir, &["graph", "--why", "a40/web.yaml", "a0"]));
    assert!((1..=100).contains(&ways.lines().count()), "{}", ways.lines().count());
}

#[test]
fn what_is_outside_the_repository_is_left_out_for_argocd() {
    let dir = folder("argocd");
    write(
        &dir,
        &[
            ("outside/extra.yaml", SERVICE),
            ("repo/.git", "gitdir: elsewhere\n"),
            ("repo/base/kustomization.yaml", "nameSuffix: -x\n"),
            ("repo/app/kustomization.yaml", "resources: [../../outside/extra.yaml, ../base]\n"),
        ],
    );
    let output = krm(&dir, &["graph", "repo/app", "-o", "argocd"]);
    assert_eq!(stdout(&output), ".;../base\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("warning[argocd-outside]"), "{said}");
}

#[test]
fn the_graph_of_the_same_files_is_the_same() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/answers");
    for format in ["json", "dot", "mermaid", "svg"] {
        let once = || stdout(&krm(&dir, &["graph", "-o", format, "--level", "resources"]));
        let first = once();
        assert!(first.contains("regions/europe"), "{format}");
        assert!((0..3).all(|_| once() == first), "{format}");
    }
}
