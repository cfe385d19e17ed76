//! Completion in real shells: bash, fish and zsh offer folders with a kustomization, and resources.
//!
//! A shell that is not installed is left out with a message; CI has all three.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "support/left_out.rs"]
mod left_out;

/// A folder with targets and other folders, and krm on the path.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("completion").join(name);
        drop(fs::remove_dir_all(&root));
        for (path, text) in [
            ("base/kustomization.yaml", "resources: [web.yaml]\n"),
            (
                "base/web.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: front}\n",
            ),
            ("overlays/production/kustomization.yaml", "resources: [../../base]\n"),
            ("overlays/staging/kustomization.yaml", "resources: [../../base]\n"),
            ("overlays/notes/readme.txt", "nothing to build\n"),
            ("other/readme.txt", "nothing to build\n"),
        ] {
            let path = root.join("tree").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(root.join("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_krm"), root.join("bin/krm")).unwrap();
        Self(root)
    }

    /// What a program prints in the tree; nothing if it is not installed.
    fn run(&self, program: &str, args: &[&str]) -> Option<String> {
        let path = format!("{}:{}", self.0.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new(program)
            .args(args)
            .current_dir(self.0.join("tree"))
            .env("PATH", path)
            .env("HOME", &self.0)
            .env("TERM", "dumb")
            .output();
        let Ok(output) = output else {
            // `kubectl` is not a shell, and can only be downloaded.
            assert!(program == "kubectl" || std::env::var_os("CI").is_none(), "CI completes in {program}");
            left_out::left_out(format!("completion in {program}"));
            return None;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    fn asked(&self, line: &str) -> Vec<String> {
        let krm = self.0.join("bin/krm");
        let answer = self.run(krm.to_str().unwrap(), &["__complete", line]).unwrap();
        answer.lines().map(str::to_owned).collect()
    }
}

#[test]
fn folders_with_a_kustomization_and_resources_are_offered() {
    let place = Place::new("asked");
    assert_eq!(place.asked("krm build "), ["base", "overlays/"]);
    assert_eq!(place.asked("krm build --strict ov"), ["overlays/"]);
    assert_eq!(place.asked("krm diff main overlays/"), ["overlays/production", "overlays/staging"]);
    assert_eq!(place.asked("krm explain overlays/staging "), ["ConfigMap/web", "Service/front"]);
    assert_eq!(place.asked("krm explain base Se"), ["Service/front"]);
    assert_eq!(place.asked("krm explain --strict base Se"), ["Service/front"]);
    assert!(place.asked("krm build -").is_empty());
    assert!(place.asked("krm merge ").is_empty());
}

#[test]
fn folders_are_not_offered_as_values_of_flags() {
    let place = Place::new("values");
    for line in [
        "krm diff --format ",
        "krm build --error-format ",
        "krm build -o ",
        "krm build -qo ",
        "krm lint --color a",
    ] {
        assert!(place.asked(line).is_empty(), "{line}");
    }
    for line in [
        "krm diff --format json ",
        "krm build -q ",
        "krm build -oout ",
        "krm build --color=never ",
        "krm build --cache ",
    ] {
        assert_eq!(place.asked(line), ["base", "overlays/"], "{line}");
    }
}

#[test]
fn commands_and_codes_are_offered_to_help_and_man() {
    let place = Place::new("topics");
    assert_eq!(place.asked("krm help expl")[..2], ["explain", "explain-ambiguous"]);
    assert_eq!(place.asked("krm man fn ren"), ["render"]);
    assert_eq!(place.asked("krm help replicas-"), ["replicas-no-match"]);
    let all = place.asked("krm help ");
    assert!(all.contains(&"build".to_owned()) && !all.contains(&"__complete".to_owned()), "{all:?}");
}

#[test]
fn hidden_commands_are_in_no_script() {
    let place = Place::new("hidden");
    let krm = place.0.join("bin/krm");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(krm.to_str().unwrap(), &["completion", shell]).unwrap();
        let offered =
            script.lines().filter(|line| line.contains("__complete") && !line.contains("krm __complete"));
        assert_eq!(offered.collect::<Vec<_>>(), [""; 0], "{shell}");
        assert!(!script.contains("alpha-list-builtin-plugin"), "{shell}");
        assert!(script.contains("--version") || shell == "fish", "{shell}");
    }
}

#[test]
fn kubectl_gets_everything_from_a_link_of_that_name() {
    let place = Place::new("kubectl");
    let link = place.0.join("bin/kubectl_complete-krm");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_krm"), &link).unwrap();
    let ask = |words: &[&str]| place.run(link.to_str().unwrap(), words).unwrap();
    assert_eq!(ask(&["exp"]), "explain\n:4\n");
    assert_eq!(ask(&["build", "ov"]), "overlays/\n:6\n");
    assert_eq!(ask(&["build", "--error-format", "js"]), "json\n:4\n");
    assert_eq!(ask(&["build", "--error-format=js"]), "--error-format=json\n:4\n");
    assert_eq!(ask(&["build", "--explain-c"]), "--explain-cache\n:4\n");
    assert_eq!(ask(&["edit", "add", "patc"]), "patch\n:4\n");
    assert_eq!(ask(&["completion", "f"]), "fish\n:4\n");
    assert_eq!(ask(&["merge", ""]), ":0\n", "any file will do");
    // By kubectl itself, which finds plugins on the path.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_krm"), place.0.join("bin/kubectl-krm")).unwrap();
    let Some(found) = place.run("kubectl", &["__complete", "krm", "build", "ov"]) else { return };
    assert!(found.starts_with("overlays/\n:6"), "{found}");
}

#[test]
fn fish_offers_them() {
    let place = Place::new("fish");
    let ask = |line: &str| format!("krm completion fish | source; complete -C '{line}'");
    let Some(found) = place.run("fish", &["-c", &ask("krm build overlays/")]) else { return };
    let words: Vec<&str> = found.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
    assert!(words.contains(&"overlays/production") && words.contains(&"overlays/staging"), "{found}");
    let found = place.run("fish", &["-c", &ask("krm explain base Conf")]).unwrap();
    assert!(found.contains("ConfigMap/web"), "{found}");
    let words = |line: &str| {
        let found = place.run("fish", &["-c", &ask(line)]).unwrap();
        found.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(words("krm build "), ["base", "overlays/"], "nothing else");
    assert_eq!(words("krm build oth"), ["other/"], "a folder if nothing else fits");
    assert_eq!(words("krm edit add patc"), ["patch"]);
    assert_eq!(words("krm edit add patch --annotation-s"), ["--annotation-selector"]);
    let found = place.run("fish", &["-c", &ask("krm bui")]).unwrap();
    assert!(found.starts_with("build"), "{found}");
}

#[test]
fn bash_offers_them() {
    let place = Place::new("bash");
    let script = "eval \"$(krm completion bash)\"; COMP_LINE='krm build ov'; COMP_POINT=${#COMP_LINE}; \
                  COMP_WORDS=(krm build ov); COMP_CWORD=2; _krm_candidates krm ov build; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let Some(found) = place.run("bash", &["-c", script]) else { return };
    assert_eq!(found, "overlays/\n");
    let script = "eval \"$(krm completion bash)\"; COMP_LINE='krm diff --format j'; COMP_POINT=${#COMP_LINE}; \
                  COMP_WORDS=(krm diff --format j); COMP_CWORD=3; _krm_candidates krm j --format; printf '%s\\n' \"${COMPREPLY[@]}\"";
    assert_eq!(place.run("bash", &["-c", script]).unwrap(), "json\n");
}

#[test]
fn zsh_offers_them() {
    let place = Place::new("zsh");
    // A terminal of its own, in which the tabulator is pressed.
    let press = |line: &str, end: &str| {
        r#"
        zmodload zsh/zpty
        zpty shell 'PS1="" zsh -f -i'
        zpty -w shell 'unsetopt beep zle_bracketed_paste; autoload -Uz compinit; compinit -u -d ./.dump'
        zpty -w shell 'eval "$(krm completion zsh)"; compdef _krm krm; print R''EADY'
        zpty -r -m shell line '*READY*'
        zpty -w -n shell $'LINE'
        sleep 3
        zpty -w shell 'END'
        sleep 2
        zpty -r -t shell line '*'
        while zpty -r -t shell more; do line+=$more; done
        print -r -- "$line"
        "#
        .replace("LINE", line)
        .replace("END", end)
    };
    let Some(found) = place.run("zsh", &["-f", "-c", &press(r"krm build overlays/prod\t", "")]) else {
        return;
    };
    assert!(found.contains("overlays/production"), "{found}");
    // All that it offers, once each.
    let found = place.run("zsh", &["-f", "-c", &press(r"krm build \t\t", "")]).unwrap();
    assert!(found.contains("base") && !found.contains("other"), "{found}");
}
