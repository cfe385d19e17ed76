//! The commands in README and docs run as they are printed, from the root of the repository, and print what the page shows.
//!
//! A block marked `sh` is a script. In a block marked `console`, the lines that begin with `$ ` are commands, and what follows one is
//! compared with what it prints; `...` at the end stands for more. All blocks of a page run one after the other in one copy of the
//! repository. What needs a cluster or a registry is marked `text`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "support/session.rs"]
mod session;

/// The first block of the README builds krm and runs this very test.
const BUILDS_KRM: &str = "cargo run --release";

/// `tests/book.rs` runs the examples of this page, each in a folder of its own.
const CODES: &str = "docs/reference/codes.md";

#[test]
fn every_page_runs_and_prints_what_it_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    collect(&root.join("docs"), &mut pages);
    pages.retain(|page| !page.ends_with(CODES));
    pages.sort();
    let copy = Repository::copy(root);
    let mut ran = 0;
    let mut failed = Vec::new();
    for page in &pages {
        let commands = commands(&fs::read_to_string(page).unwrap());
        if commands.is_empty() {
            continue;
        }
        ran += commands.len();
        if let Err(fault) = copy.run(&commands) {
            failed.push(format!("{}: {fault}", page.strip_prefix(root).unwrap().display()));
        }
        copy.reset();
    }
    assert!(ran > 10, "only {ran} commands were found");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Readers find a page by the words of the summary.
#[test]
fn pages_are_called_as_in_the_summary() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for line in summary.lines().filter_map(|line| line.trim_start().strip_prefix("- [")) {
        let Some((title, path)) = line.split_once("](") else { continue };
        // Others are made by `docs/build`.
        let Ok(page) = fs::read_to_string(docs.join(path.trim_end_matches(')'))) else { continue };
        assert_eq!(page.lines().next(), Some(format!("# {title}").as_str()), "{path}");
    }
}

/// What names a release names the one that is made next.
#[test]
fn the_version_is_the_same_everywhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, before) in [
        ("CHANGELOG.md", "\n## "),
        ("action.yml", "default: v"),
        ("bindings/go/README.md", "bindings/go@v"),
        ("bindings/python/Cargo.toml", "\nversion = \""),
        ("docs/guides/argo-cd.md", "krm-argocd:v"),
        ("docs/guides/ci.md", "krm-tools/krm@v"),
        ("docs/guides/ci.md", "krm/krm@v"),
        ("docs/guides/ci.md", "krm-tools/krm:v"),
        ("docs/guides/pre-commit.md", "rev: v"),
        ("docs/library.md", "bindings/go@v"),
        ("editors/vscode/package.json", "\"version\": \""),
        ("packaging/README.md", "krm-tools/krm:v"),
        ("templates/krm.yml", "default: v"),
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let after = text.split(before).nth(1).unwrap_or_else(|| panic!("{file} has no `{before}`"));
        let version: String = after.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        assert_eq!(version, env!("CARGO_PKG_VERSION"), "{file}, after `{before}`");
    }
}

fn collect(dir: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, pages),
            false if path.extension().is_some_and(|end| end == "md") => pages.push(path),
            false => {}
        }
    }
}

/// A command or a script, and what the page shows of its output.
#[derive(Default)]
struct Shown {
    command: String,
    output: String,
}

/// What a page asks its reader to type.
fn commands(page: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block = lines.by_ref().take_while(|line| !line.starts_with("```"));
        match language {
            "sh" => {
                let command = block.collect::<Vec<_>>().join("\n");
                found.push(Shown { command, ..Shown::default() });
            }
            "console" => {
                for line in block {
                    match (line.strip_prefix("$ "), found.last_mut()) {
                        (Some(command), _) => {
                            found.push(Shown { command: command.to_owned(), ..Shown::default() })
                        }
                        (None, Some(Shown { output, .. })) => output.extend([line, "\n"]),
                        (None, None) => {}
                    }
                }
            }
            _ => block.for_each(drop),
        }
    }
    found.retain(|shown| !shown.command.contains(BUILDS_KRM));
    found
}

/// The copy of the repository that the pages use one after the other.
struct Repository {
    files: PathBuf,
    programs: PathBuf,
    /// What each command printed.
    printed: PathBuf,
}

impl Repository {
    fn copy(root: &Path) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs");
        let _ = fs::remove_dir_all(&home);
        let all = Self { files: home.join("krm"), programs: home.join("bin"), printed: home.join("printed") };
        copy(root, &all.files);
        // Some commands compare revisions.
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "."],
            &["commit", "--quiet", "-m", "all"],
            &["tag", "start"],
        ] {
            all.git(args);
        }
        fs::create_dir_all(&all.programs).unwrap();
        fs::create_dir_all(&all.printed).unwrap();
        symlink(env!("CARGO_BIN_EXE_krm"), all.programs.join("krm")).unwrap();
        // Those who switch have both; without kustomize, krm takes its name.
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|folder| folder.join("kustomize").is_file()) {
            symlink(env!("CARGO_BIN_EXE_krm"), all.programs.join("kustomize")).unwrap();
        }
        // There is no cluster to apply to.
        let kubectl = all.programs.join("kubectl");
        fs::write(&kubectl, "#!/bin/sh\nexec cat >/dev/null\n").unwrap();
        fs::set_permissions(kubectl, fs::Permissions::from_mode(0o755)).unwrap();
        all
    }

    fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=krm", "-c", "user.email=krm@example.com"];
        let git = Command::new("git").args(identity).args(args).current_dir(&self.files).status();
        assert!(git.is_ok_and(|status| status.success()), "git {args:?}");
    }

    /// Undoes what a page did.
    fn reset(&self) {
        self.git(&["checkout", "--quiet", "--force", "-B", "main", "start"]);
        self.git(&["clean", "--quiet", "--force", "--force", "-dx"]);
        fs::remove_dir_all(&self.printed).unwrap();
        fs::create_dir_all(&self.printed).unwrap();
    }

    fn run(&self, commands: &[Shown]) -> Result<(), String> {
        let printed = |at: usize| self.printed.join(at.to_string());
        let mut script = "set -e -v -o pipefail\n".to_owned();
        for (at, Shown { command, output }) in commands.iter().enumerate() {
            match output.is_empty() {
                true => script.push_str(&format!("{command}\n")),
                // It may fail: then the page shows the error.
                false => {
                    script.push_str(&format!("{{ {command}\n}} >{} 2>&1 || true\n", printed(at).display()))
                }
            }
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let output = session::bash(&script, &self.files)
            .env("PATH", format!("{}:{path}", self.programs.display()))
            .env("HOME", &self.printed)
            .env("GIT_CEILING_DIRECTORIES", self.files.parent().unwrap())
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = said.lines().rev().take(20).collect();
            return Err(last.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        let shown = commands.iter().enumerate().filter(|(_, shown)| !shown.output.is_empty());
        for (at, Shown { command, output }) in shown {
            let got = fs::read(printed(at)).map_err(|error| error.to_string())?;
            let (got, wanted) =
                (session::plain(&got, &self.files), session::plain(output.as_bytes(), &self.files));
            let is_same = match wanted.strip_suffix("...\n") {
                Some(beginning) => got.starts_with(beginning),
                None => got.trim_end() == wanted.trim_end(),
            };
            if !is_same {
                return Err(format!("$ {command}\n--- the page\n{wanted}--- printed\n{got}"));
            }
        }
        Ok(())
    }
}

/// Copies a folder, but not what was built in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if ["target", ".git", "node_modules"].iter().any(|built| name == *built) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(name));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(fs::read_link(&from).unwrap(), to).unwrap();
        } else if kind.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
