//! A localized copy builds to the same bytes as the original when what it was fetched from is gone.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

struct Place(Scratch);

impl Place {
    fn named(name: &str) -> Self {
        Self(Scratch::new(&format!("localize-{name}")))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, dir: &str, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.0.join(dir)).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]);
        let output = git.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(&self.0).args(args).env("GIT_CONFIG_COUNT", "1");
        krm.env("GIT_CONFIG_KEY_0", "protocol.file.allow").env("GIT_CONFIG_VALUE_0", "always");
        krm
    }

    fn krm(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn done(&self, args: &[&str]) -> String {
        let output = self.krm(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn files(root: &Path) -> Vec<String> {
    fn visit(dir: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => visit(&path, root, found),
                false => found.push(path.strip_prefix(root).unwrap().display().to_string()),
            }
        }
    }
    let mut found = Vec::new();
    visit(root, root, &mut found);
    found.sort();
    found
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

#[test]
fn a_copy_builds_to_the_same_bytes_without_the_original() {
    let place = Place::named("git");
    place.write("repo/base/kustomization.yaml", "resources: [cm.yaml, ../deeper]\n");
    place.write("repo/base/cm.yaml", CONFIG_MAP);
    place.write("repo/deeper/kustomization.yaml", "namePrefix: deep-\nresources: [cm.yaml]\n");
    place.write("repo/deeper/cm.yaml", CONFIG_MAP);
    place.write("repo/README.md", "not named");
    place.git("repo", &["init", "--quiet", "--initial-branch=main"]);
    place.git("repo", &["add", "--all"]);
    place.git("repo", &["commit", "--quiet", "--message=one"]);
    place.git("repo", &["tag", "v1"]);
    let address = format!("file://{}/repo//base?ref=v1", place.0.display());
    // Two overlays share it: it is stored once.
    for name in ["one", "two"] {
        let text = format!("# {name}\nresources:\n- {address} # theirs\nnamePrefix: {name}-\n");
        place.write(&format!("app/{name}/kustomization.yaml"), &text);
    }
    place.write("app/all/kustomization.yaml", "resources: [../one, ../two]\n");
    let before = place.done(&["build", "app/all"]);
    place.done(&["localize", "app/all", "copy", "--scope", "app"]);
    fs::rename(place.0.join("repo"), place.0.join("gone")).unwrap();
    assert!(!place.krm(&["build", "app/all"]).status.success(), "the original needs the repository");
    assert_eq!(place.done(&["build", "copy/all"]), before);
    let stored = files(&place.0.join("copy"));
    let bases = stored.iter().filter(|path| path.ends_with("base/cm.yaml")).count();
    assert_eq!((bases, stored.len()), (1, 7), "{stored:#?}");
    assert!(!stored.iter().any(|path| path.ends_with("README.md")));
    let text = fs::read_to_string(place.0.join("copy/one/kustomization.yaml")).unwrap();
    assert!(
        text.starts_with("# one\nresources:\n- ../localized-files/") && text.contains("/v1/base # theirs\n"),
        "{text}"
    );
}

/// Serves two files until the test ends.
fn serve(files: [(&'static str, &'static str); 2]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap_or_default();
            let found = files.iter().find(|(name, _)| *name == path);
            let (status, body) = found.map_or(("404 Not Found", "no"), |(_, text)| ("200 OK", *text));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

#[test]
fn files_that_come_by_http_are_stored() {
    let place = Place::named("http");
    let address = serve([
        ("/settings.yaml", CONFIG_MAP),
        ("/patch.yaml", "- op: add\n  path: /data\n  value: {colour: blue}\n"),
    ]);
    let text = format!(
        "# ours\nresources:\n- {address}/settings.yaml # theirs\npatches:\n- path: {address}/patch.yaml\n  target: {{kind: ConfigMap}}\n"
    );
    place.write("app/kustomization.yaml", &text);
    let before = place.done(&["build", "app"]);
    place.done(&["localize", "app", "copy"]);
    let stored = fs::read_to_string(place.0.join("copy/kustomization.yaml")).unwrap();
    assert!(!stored.contains("http://"), "{stored}");
    assert!(stored.starts_with("# ours\n") && stored.contains("settings.yaml # theirs\n"), "{stored}");
    assert_eq!(place.done(&["build", "copy"]), before);
}

#[test]
fn what_differs_only_in_its_user_or_token_is_stored_apart() {
    let place = Place::named("users");
    let address = serve([
        ("/settings.yaml?token=a", CONFIG_MAP),
        ("/settings.yaml?token=b", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"),
    ]);
    let mut text =
        format!("resources:\n- {address}/settings.yaml?token=a\n- {address}/settings.yaml?token=b\n");
    let mut settings = String::new();
    for user in ["web", "db"] {
        place.write(&format!("{user}/kustomization.yaml"), "resources: [cm.yaml]\n");
        place.write(&format!("{user}/cm.yaml"), &CONFIG_MAP.replace("settings", user));
        place.git(user, &["init", "--quiet", "--initial-branch=main"]);
        place.git(user, &["add", "--all"]);
        place.git(user, &["commit", "--quiet", "--message=one"]);
        let url = format!("https://{user}:x@git.example.com/shop.git");
        text += &format!("- {url}?ref=main\n");
        settings += &format!("[url \"file://{}/{user}\"]\n\tinsteadOf = {url}\n", place.0.display());
    }
    place.write("app/kustomization.yaml", &text);
    place.write("gitconfig", &settings);
    let run = |args: &[&str]| {
        let output =
            place.command(args).env("GIT_CONFIG_GLOBAL", place.0.join("gitconfig")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let before = run(&["build", "app"]);
    run(&["localize", "app", "copy", "--no-verify"]);
    assert_eq!(run(&["build", "copy"]), before);
    let stored = files(&place.0.join("copy")).join("\n");
    assert!(stored.contains("git.example.com/shop/main/") && stored.contains("shop/2-main/"), "{stored}");
}

#[cfg(unix)]
#[test]
fn executables_can_be_run_and_private_files_stay_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::named("modes");
    place.write(
        "t/kustomization.yaml",
        "generators: [fn.yaml]\nsecretGenerator:\n- {name: s, files: [key.pem]}\n",
    );
    place.write(
        "t/fn.yaml",
        "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: fn\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./fn.sh}\n",
    );
    place.write(
        "t/fn.sh",
        "#!/bin/sh\ncat <<END\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: made}\nEND\n",
    );
    place.write("t/key.pem", "private\n");
    for (file, mode) in [("t/fn.sh", 0o755), ("t/key.pem", 0o600)] {
        fs::set_permissions(place.0.join(file), fs::Permissions::from_mode(mode)).unwrap();
    }
    let flags = ["--enable-alpha-plugins", "--enable-exec"];
    place.done(&[&["localize", "t", "copy"], &flags[..]].concat());
    let mode = |file: &str| fs::metadata(place.0.join(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("copy/fn.sh") & 0o100, mode("copy/key.pem")), (0o100, 0o600));
    let built = |dir: &str| place.done(&[&["build", dir], &flags[..]].concat());
    assert_eq!(built("copy"), built("t"));
}
