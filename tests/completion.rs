//! Completion in real shells: bash, fish and zsh offer folders with a kustomization, and resources.
//!
//! A shell that is not installed is passed over; `.ci/run` has all three.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
            .output()
            .ok()?;
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
    assert!(place.asked("krm build -").is_empty());
    assert!(place.asked("krm merge ").is_empty());
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
}

#[test]
fn zsh_offers_them() {
    let place = Place::new("zsh");
    // A terminal of its own, in which the tabulator is pressed.
    let script = r#"
        zmodload zsh/zpty
        zpty shell 'PS1="" zsh -f -i'
        zpty -w shell 'unsetopt beep zle_bracketed_paste; autoload -Uz compinit; compinit -u -d ./.dump'
        zpty -w shell 'eval "$(krm completion zsh)"; compdef _krm krm; print R''EADY'
        zpty -r -m shell line '*READY*'
        zpty -w -n shell $'krm build overlays/prod\t'
        sleep 3
        zpty -w shell ''
        sleep 2
        zpty -r -t shell line '*'
        while zpty -r -t shell more; do line+=$more; done
        print -r -- "$line"
    "#;
    let Some(found) = place.run("zsh", &["-f", "-c", script]) else { return };
    assert!(found.contains("overlays/production"), "{found}");
}
