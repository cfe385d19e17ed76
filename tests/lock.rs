//! Lock files, copies in the tree, and the store: with real repositories of git, and servers of our own for HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A folder of a test's own: `app` is what is built, `cache` what krm keeps.
struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        let path = Scratch::new(&format!("lock-{name}"));
        fs::create_dir_all(path.join("tmp")).unwrap();
        fs::create_dir_all(path.join("app")).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn git(&self, dir: &str, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.0.join(dir)).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]);
        let output = git.args(["-c", "protocol.file.allow=always"]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A repository with a base, tagged `v1`.
    fn repository(&self, name: &str) -> String {
        self.write(&format!("{name}/base/kustomization.yaml"), "resources: [cm.yaml]\nnamePrefix: one-\n");
        self.write(&format!("{name}/base/cm.yaml"), CONFIG_MAP);
        self.git(name, &["init", "--quiet", "--initial-branch=main"]);
        self.commit(name);
        self.git(name, &["tag", "v1"]);
        format!("file://{}", self.0.join(name).display())
    }

    fn commit(&self, name: &str) {
        self.git(name, &["add", "--all"]);
        self.git(name, &["commit", "--quiet", "--message=change"]);
    }

    /// Another state of the repository.
    fn change(&self, name: &str, prefix: &str) {
        let text = format!("resources: [cm.yaml]\nnamePrefix: {prefix}-\n");
        self.write(&format!("{name}/base/kustomization.yaml"), &text);
        self.commit(name);
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(self.0.join("app")).args(args).env("TMPDIR", self.0.join("tmp"));
        krm.env("XDG_CACHE_HOME", self.0.join("cache")).env("HOME", self.0.join("home"));
        krm.env("GIT_CONFIG_COUNT", "1");
        krm.env("GIT_CONFIG_KEY_0", "protocol.file.allow").env("GIT_CONFIG_VALUE_0", "always");
        krm
    }

    fn krm(&self, args: &[&str]) -> Result<String, String> {
        outcome(&self.command(args).output().unwrap())
    }

    /// What a command that must succeed says on standard error.
    fn says(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {said}");
        said
    }

    /// A command that must fail with this code.
    fn fails(&self, args: &[&str], code: &str) -> String {
        let error = self.krm(args).expect_err("it fails");
        assert!(error.contains(&format!("[{code}]")), "{args:?}: {error}");
        error
    }

    /// The one entry of this kind in the store.
    fn stored(&self, kind: &str) -> PathBuf {
        let shelves = fs::read_dir(self.0.join("cache/krm/store/v1").join(kind)).unwrap();
        let all: Vec<_> = shelves
            .flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    fn clear_cache(&self) {
        let _ = fs::remove_dir_all(self.0.join("cache"));
    }

    /// Everything in the folder that is built, by name.
    fn tree(&self) -> Vec<(String, Vec<u8>)> {
        fn visit(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() && !path.is_symlink() {
                    true => visit(&path, found),
                    false => found.push((path.display().to_string(), fs::read(&path).unwrap_or_default())),
                }
            }
        }
        let mut found = Vec::new();
        visit(&self.0.join("app"), &mut found);
        found.sort();
        found
    }
}

fn outcome(output: &Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => {
            assert!(output.stdout.is_empty(), "nothing is printed when something is wrong");
            Err(text(&output.stderr))
        }
    }
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n";

fn named(name: &str) -> String {
    CONFIG_MAP.replace("name: cm", &format!("name: {name}"))
}

/// A server whose files can be changed, and which counts requests.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Served>>);

#[derive(Default)]
struct Served {
    files: Vec<(String, String)>,
    asked: usize,
    /// What requests have to show, and what is said to those that do not.
    wants: Option<(String, String)>,
}

impl Server {
    fn start(files: &[(&str, &str)]) -> (Self, String) {
        let server = Self::default();
        files.iter().for_each(|(path, text)| server.set(path, text));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answering = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let mut served = answering.0.lock().unwrap();
                served.asked += 1;
                let file = served.files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.clone());
                let (mut status, mut body) =
                    file.map_or(("404 Not Found", "no".to_owned()), |text| ("200 OK", text));
                let mut challenge = String::new();
                if let Some((wanted, said)) = &served.wants
                    && !headers.iter().any(|line| *line == format!("authorization: {wanted}"))
                {
                    challenge = format!("WWW-Authenticate: {said}\r\n");
                    (status, body) = ("401 Unauthorized", String::new());
                }
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\n{challenge}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
            }
        });
        (server, address)
    }

    fn set(&self, path: &str, text: &str) {
        let mut served = self.0.lock().unwrap();
        served.files.retain(|(name, _)| name != path);
        served.files.push((path.to_owned(), text.to_owned()));
    }

    /// From now on requests have to show something.
    fn wants(&self, authorization: &str, challenge: &str) {
        self.0.lock().unwrap().wants = Some((authorization.to_owned(), challenge.to_owned()));
    }

    fn asked(&self) -> usize {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

#[test]
fn a_branch_that_moves_does_not_move_builds() {
    let place = Place::new("branch");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    let first = place.git("shop", &["rev-parse", "HEAD"]);
    let said = place.says(&["lock"]);
    assert!(said.contains("wrote `krm.lock`: 1 address, 0 charts, 0 images"), "{said}");
    let lock = place.read("app/krm.lock");
    assert!(
        lock.contains(&format!("- address: {url}?ref=main\n  commit: {first}\n  content: sha256:")),
        "{lock}"
    );
    place.change("shop", "two");
    let second = place.git("shop", &["rev-parse", "HEAD"]);
    assert_eq!(place.krm(&["build"]).unwrap(), named("one-cm"));
    // Also where nothing was kept: the commit is asked for by its name.
    place.clear_cache();
    assert_eq!(place.krm(&["build", "--locked"]).unwrap(), named("one-cm"));
    // An entry that lost its commit is not one that builds use: it is rewritten.
    place.write("app/krm.lock", &lock.replace(&format!("  commit: {first}\n"), ""));
    place.fails(&["build", "--locked"], "remote-not-locked");
    place.fails(&["lock", "--check"], "lock-outdated");
    place.says(&["lock"]);
    place.says(&["build", "--locked"]);
    place.write("app/krm.lock", &lock);
    // Locking again changes nothing, and a check of what addresses mean now says what moved.
    assert!(place.says(&["lock"]).contains("is up to date"));
    place.krm(&["lock", "--check"]).unwrap();
    let error = place.fails(&["lock", "--update", "--check"], "lock-outdated");
    assert!(error.contains(&format!("{} → {}", &first[..12], &second[..12])), "{error}");
    assert_eq!(place.read("app/krm.lock"), lock);
    place.fails(&["lock", "--update", "nothing-like-it"], "lock-no-entry");
    // Nothing is named by an empty text, as a variable of a script may be.
    place.fails(&["lock", "--update", ""], "lock-no-entry");
    let said = place.says(&["lock", "--update", "shop"]);
    assert!(said.contains(&format!("{} → {}", &first[..12], &second[..12])), "{said}");
    assert_eq!(place.krm(&["build", "--locked"]).unwrap(), named("two-cm"));
    // The address as the kustomization has it names the same entry.
    place.change("shop", "three");
    place.says(&["lock", "--update", &format!("{url}//base?ref=main")]);
    assert_eq!(place.krm(&["build", "--locked"]).unwrap(), named("three-cm"));
}

/// Each side of a difference is built with the lock file it has, and a change that comes from there is blamed on it.
#[test]
fn differences_see_what_was_locked_then() {
    let place = Place::new("diff");
    let url = place.repository("shop");
    place.write("app/a/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.write("app/b/kustomization.yaml", "namePrefix: b-\nresources: [cm.yaml]\n");
    place.write("app/b/cm.yaml", CONFIG_MAP);
    place.git("app", &["init", "--quiet", "--initial-branch=main"]);
    place.says(&["lock"]);
    place.commit("app");
    place.change("shop", "two");
    let second = place.git("shop", &["rev-parse", "HEAD"]);
    place.says(&["lock", "--update"]);
    let wanted = format!("remote base moved: {url}?ref=main is now commit {}", &second[..12]);
    let check = |revisions: &str| {
        let said = place.krm(&["diff", "--locked", revisions]).unwrap();
        assert!(said.starts_with("1 overlay changes (of 2): 1 resource, 1 cause."), "{said}");
        assert!(said.contains(&format!("krm.lock:5   {wanted}")), "{said}");
        assert!(said.contains("one-cm → two-cm"), "{said}");
    };
    check("HEAD");
    place.commit("app");
    check("HEAD~1..HEAD");
    let said = place.krm(&["diff", "--format", "json", "HEAD~1..HEAD"]).unwrap();
    assert!(said.contains(&wanted) && said.contains("\"file\": \"krm.lock\""), "{said}");
}

/// Git changes line ends if its user wants that, as most do on Windows. A lock file is for all machines.
#[test]
fn settings_of_git_do_not_change_what_is_locked() {
    let place = Place::new("line-ends");
    let url = place.repository("shop");
    place.write("shop/.gitattributes", "*.yaml text=auto\n");
    place.commit("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    for (name, value) in [("core.autocrlf", "true"), ("core.eol", "crlf")] {
        let krm = |args: &[&str]| {
            place.clear_cache();
            let mut krm = place.command(args);
            krm.env("GIT_CONFIG_COUNT", "2").env("GIT_CONFIG_KEY_1", name).env("GIT_CONFIG_VALUE_1", value);
            outcome(&krm.output().unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        assert_eq!(krm(&["build", "--locked"]), named("one-cm"));
        krm(&["lock", "--update"]);
        assert_eq!(place.read("app/krm.lock"), lock, "{name}");
    }
}

#[test]
fn a_tag_that_moves_is_an_error_where_its_commit_is_gone() {
    let place = Place::new("retag");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    place.says(&["lock"]);
    // History is rewritten, and what it was is gone for good.
    place.write("shop/base/kustomization.yaml", "resources: [cm.yaml]\nnamePrefix: evil-\n");
    place.git("shop", &["add", "--all"]);
    place.git("shop", &["commit", "--quiet", "--amend", "--message=other"]);
    place.git("shop", &["tag", "--force", "v1"]);
    place.git("shop", &["reflog", "expire", "--expire=now", "--all"]);
    place.git("shop", &["gc", "--quiet", "--prune=now"]);
    assert_eq!(place.krm(&["build"]).unwrap(), named("one-cm"), "what was kept is as good");
    place.clear_cache();
    let before = place.tree();
    let error = place.fails(&["build"], "lock-moved");
    assert!(error.contains("`v1` of"), "{error}");
    assert_eq!(place.tree(), before);
}

#[test]
fn offline_builds_need_no_network_and_name_all_that_is_missing() {
    let place = Place::new("offline");
    let shop = place.repository("shop");
    let parts = place.repository("parts");
    let (server, http) = Server::start(&[("/more.yaml", &named("more"))]);
    // One that leads to another.
    place.write(
        "shop/all/kustomization.yaml",
        &format!("resources: ['{parts}//base?ref=v1']\nnamePrefix: all-\n"),
    );
    place.commit("shop");
    place.write("app/a/kustomization.yaml", &format!("resources: ['{shop}//all']\n"));
    place.write("app/b/kustomization.yaml", &format!("resources: ['{http}/more.yaml']\n"));
    place.write(
        "app/b/two/kustomization.yaml",
        &format!("resources: ['{http}/more.yaml', '{parts}//base?ref=v1']\n"),
    );
    place.fails(&["build", "a", "--offline"], "offline-missing");
    place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    assert_eq!(lock.matches("- address:").count(), 3, "{lock}");
    let built = place.krm(&["build", "a", "b"]).unwrap();
    assert!(built.contains("all-one-cm") && built.contains("name: more"), "{built}");
    server.asked();
    for name in ["shop", "parts"] {
        fs::rename(place.0.join(name), place.0.join(format!("{name}-gone"))).unwrap();
    }
    assert_eq!(place.krm(&["build", "a", "b", "--offline"]).unwrap(), built);
    assert_eq!(place.krm(&["build", "a", "b"]).unwrap(), built);
    place.krm(&["lock", "--check", "--offline"]).unwrap();
    assert_eq!(server.asked(), 0, "what is kept is not fetched");
    place.clear_cache();
    let error = place.fails(&["build", "a", "b/two", "--offline"], "offline-missing");
    for address in [shop.clone(), format!("{parts}?ref=v1"), format!("{http}/more.yaml")] {
        assert!(error.contains(&address), "{address}: {error}");
    }
    assert_eq!(server.asked(), 0);
}

#[test]
fn what_is_not_locked_is_refused_if_asked() {
    let place = Place::new("not-locked");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    // Without a lock file nothing changes, and nothing is kept.
    let said = place.says(&["build"]);
    assert!(said.is_empty() && !place.0.join("cache").exists(), "{said}");
    place.fails(&["build", "--locked"], "remote-not-locked");
    place.says(&["lock"]);
    place.krm(&["build", "--locked"]).unwrap();
    place.write("app/new/kustomization.yaml", &format!("resources: ['{url}//base']\n"));
    let said = place.says(&["build", "new"]);
    assert!(said.contains("warning[remote-not-locked]") && said.contains(&url), "{said}");
    place.fails(&["build", "new", "--locked"], "remote-not-locked");
    let error = place.fails(&["build", "new", "--strict"], "remote-not-locked");
    assert!(error.contains("new/kustomization.yaml:1:13"), "{error}");
    place.fails(&["lock", "--check"], "lock-outdated");
    // Of a folder alone, without what others need.
    fs::remove_file(place.0.join("app/kustomization.yaml")).unwrap();
    place.says(&["lock", "new"]);
    assert_eq!(place.read("app/krm.lock").matches("- address:").count(), 2);
    let said = place.says(&["lock"]);
    assert!(said.contains(&format!("dropped {url}?ref=v1")), "{said}");
    assert_eq!(place.read("app/krm.lock").matches("- address:").count(), 1);
}

#[test]
fn a_strict_build_needs_no_lock_file() {
    let place = Place::new("strict");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    assert_eq!(place.krm(&["build", "--strict"]).unwrap(), named("one-cm"));
}

#[test]
fn a_lock_file_that_is_not_yaml_is_refused_by_builds_and_written_anew_by_lock() {
    let place = Place::new("broken");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    for broken in ["version: 1\nremotes: [\n", "version: 1\n  remotes: {}\n", &format!("{lock}---\n{lock}")] {
        for command in [&["build"][..], &["lock", "--check"], &["vendor"], &["vendor", "--check"]] {
            place.write("app/krm.lock", broken);
            let error = place.fails(command, "lock-malformed");
            assert!(error.contains("run `krm lock` to rewrite it"), "{error}");
        }
        let said = place.says(&["lock"]);
        assert!(said.contains("everything is looked up anew"), "{said}");
        assert_eq!(place.read("app/krm.lock"), lock);
    }
    fs::write(place.0.join("app/krm.lock"), b"version: 1 \xff").unwrap();
    place.fails(&["build"], "lock-malformed");
    place.says(&["lock"]);
    assert_eq!(place.read("app/krm.lock"), lock);
}

#[test]
fn copies_that_cannot_be_written_offline_are_all_named_at_once() {
    let place = Place::new("vendor-offline");
    let (shop, parts) = (place.repository("shop"), place.repository("parts"));
    place.write(
        "app/kustomization.yaml",
        &format!("resources: ['{shop}//base?ref=v1', '{parts}//base?ref=v1']\nnamePrefix: a-\n"),
    );
    place.says(&["lock"]);
    place.clear_cache();
    let error = place.fails(&["vendor", "--offline"], "offline-missing");
    assert_eq!(error.matches("error[").count(), 1, "{error}");
    assert!(error.contains(&shop) && error.contains(&parts), "{error}");
    assert!(
        error.contains("run `krm vendor` without `--offline`") && !error.contains("krm lock`"),
        "{error}"
    );
    // The copies in the tree do not count: `krm vendor` replaces them.
    place.says(&["vendor"]);
    place.clear_cache();
    let lists = fs::read_dir(place.0.join("app/vendor/krm")).unwrap().map(|entry| entry.unwrap().path());
    let list = lists.into_iter().find(|path| path.extension().is_some_and(|e| e == "sha256")).unwrap();
    fs::remove_file(list).unwrap();
    place.fails(&["vendor", "--offline"], "offline-missing");
}

#[test]
fn a_pointer_of_git_lfs_in_a_repository_is_not_used_in_silence() {
    let place = Place::new("lfs");
    let url = place.repository("shop");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    place.write("shop/base/logo.txt", pointer);
    place.write("shop/base/kustomization.yaml", "configMapGenerator: [{name: logo, files: [logo.txt]}]\n");
    place.commit("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base']\n"));
    let said = place.says(&["build"]);
    assert!(said.contains("warning[git-lfs-pointer]") && said.contains("install Git LFS"), "{said}");
    place.fails(&["build", "--strict"], "git-lfs-pointer");
}

#[test]
fn the_lock_file_counts_to_the_top_of_its_repository() {
    let place = Place::new("top");
    let url = place.repository("shop");
    place.git("app", &["init", "--quiet"]);
    place.write("app/clusters/eu/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.says(&["lock", "clusters/eu"]);
    place.change("shop", "two");
    assert_eq!(place.krm(&["build", "clusters/eu"]).unwrap(), named("one-cm"), "found from a folder below");
    place.git("app/clusters", &["init", "--quiet"]);
    assert_eq!(place.krm(&["build", "clusters/eu"]).unwrap(), named("two-cm"), "not past another repository");
}

#[test]
fn a_file_that_changes_is_an_error() {
    let place = Place::new("http");
    let (server, url) = Server::start(&[("/cm.yaml", CONFIG_MAP), ("/a/b/c", "<html>a page</html>")]);
    place.write("app/kustomization.yaml", &format!("resources: ['{url}/cm.yaml']\n"));
    place.says(&["lock"]);
    server.set("/cm.yaml", &named("evil"));
    assert_eq!(place.krm(&["build"]).unwrap(), CONFIG_MAP);
    place.clear_cache();
    let error = place.fails(&["build"], "lock-mismatch");
    assert_eq!(error.matches("sha256:").count(), 2, "{error}");
    place.fails(&["lock", "--check", "--update"], "lock-outdated");
    place.says(&["lock", "--update"]);
    assert_eq!(place.krm(&["build"]).unwrap(), named("evil"));
}

#[test]
fn a_flipped_byte_in_the_store_is_found() {
    let place = Place::new("flip");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    place.says(&["lock"]);
    type Damage = fn(&Path);
    let damages: [Damage; 4] = [
        |tree| flip(&tree.join("files/base/cm.yaml")),
        |tree| fs::write(tree.join("files/base/more.yaml"), "x").unwrap(),
        |tree| fs::remove_file(tree.join("files/base/cm.yaml")).unwrap(),
        |tree| flip(&tree.join("list")),
    ];
    for damage in damages {
        damage(&place.stored("trees"));
        place.fails(&["build", "--offline"], "store-damaged");
        let output = place.command(&["build"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), named("one-cm"));
        assert!(String::from_utf8_lossy(&output.stderr).contains("warning[store-damaged]"));
        assert_eq!(place.krm(&["build", "--offline"]).unwrap(), named("one-cm"), "it was mended");
    }
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn copies_in_the_tree_come_first_and_are_checked() {
    let place = Place::new("vendor");
    let url = place.repository("shop");
    let (server, http) = Server::start(&[("/cm.yaml", &named("more"))]);
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1', '{http}/cm.yaml']\n"));
    place.fails(&["vendor"], "no-lock-file");
    place.says(&["lock"]);
    let built = place.krm(&["build"]).unwrap();
    place.fails(&["vendor", "--check"], "vendor-outdated");
    place.clear_cache();
    let said = place.says(&["vendor"]);
    assert!(said.contains("2 entries"), "{said}");
    place.krm(&["vendor", "--check", "--offline"]).unwrap();
    assert!(place.says(&["vendor"]).contains("is up to date"));
    fs::remove_dir_all(place.0.join("shop")).unwrap();
    place.clear_cache();
    server.asked();
    assert_eq!(place.krm(&["build", "--offline"]).unwrap(), built);
    assert_eq!(
        place.krm(&["lock", "--check", "--offline"]),
        Ok(String::new()),
        "copies are not kustomizations of ours"
    );
    assert_eq!(server.asked(), 0);
    // The lists are what other tools read.
    let names: Vec<String> = fs::read_dir(place.0.join("app/vendor/krm"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let list = names.iter().find(|name| name.ends_with(".sha256")).unwrap();
    let folder = place.0.join("app/vendor/krm").join(list.trim_end_matches(".sha256"));
    let mut sums = Command::new("sha256sum");
    sums.args(["--check", "--quiet", &format!("../{list}")]).current_dir(&folder);
    assert!(sums.status().unwrap().success());

    flip(&folder.join("base/cm.yaml"));
    let error = place.fails(&["build"], "vendor-damaged");
    assert!(error.contains("base/cm.yaml"), "{error}");
    place.fails(&["vendor", "--check"], "vendor-outdated");
    flip(&folder.join("base/cm.yaml"));
    let file = names.iter().find(|name| name.contains("cm.yaml")).unwrap();
    flip(&place.0.join("app/vendor/krm").join(file));
    place.fails(&["build", "--offline"], "vendor-outdated");
    flip(&place.0.join("app/vendor/krm").join(file));
    // What cannot be had is not replaced by less.
    place.write("app/vendor/krm/stale-0123abcd", "x");
    let before = place.tree();
    place.fails(&["vendor"], "git-failed");
    assert_eq!(place.tree(), before);
}

#[test]
fn a_lock_file_that_is_a_link_out_of_the_tree_is_not_written() {
    let place = Place::new("link");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    place.write("mine", "version: 1\n");
    std::os::unix::fs::symlink("../mine", place.0.join("app/krm.lock")).unwrap();
    place.fails(&["lock"], "link-leads-outside");
    assert_eq!(fs::read_to_string(place.0.join("mine")).unwrap(), "version: 1\n");
}

#[test]
fn hostile_repositories_are_refused_by_name() {
    let place = Place::new("hostile");
    let url = place.repository("shop");
    for (target, code) in [("/etc/passwd", "content-unsafe"), ("../../outside", "content-unsafe")] {
        let _ = fs::remove_file(place.0.join("shop/link"));
        std::os::unix::fs::symlink(target, place.0.join("shop/link")).unwrap();
        place.commit("shop");
        place.write("app/kustomization.yaml", &format!("resources: ['{url}//base']\n"));
        let before = place.tree();
        place.fails(&["lock"], code);
        assert_eq!(place.tree(), before, "nothing is written");
        assert!(!place.0.join("cache/krm/store/v1/trees").exists(), "nothing is kept");
    }
    for address in [
        "ext::sh -c touch% pwned",
        "git::ext::sh -c touch% pwned//x",
        &format!("{url}//base?ref=--upload-pack=touch%20pwned"),
        &format!("{url}//base?ref=-h"),
    ] {
        place.write("app/kustomization.yaml", &format!("resources: [\"{address}\"]\n"));
        let before = place.tree();
        let locked = place.krm(&["lock"]);
        let built = place.krm(&["build"]);
        assert!(built.is_err(), "{address}");
        // What is not an address is not locked; what is one cannot be.
        if let Err(error) = locked {
            assert!(error.contains("[git-failed]"), "{address}: {error}");
        }
        assert_eq!(place.tree(), before, "{address}");
        assert!(!place.0.join("app/pwned").exists() && !place.0.join("pwned").exists(), "{address}");
    }
    // A lock file is an input like any other.
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    let commit = lock.lines().find_map(|line| line.trim().strip_prefix("commit: ")).unwrap();
    for (commit, code) in [
        (lock.replace(commit, "--upload-pack=touch"), "lock-malformed"),
        (lock.replace("version: 1", "version: 2"), "lock-version"),
        (lock.replace("sha256:", "md5:"), "lock-malformed"),
        (format!("<<<<<<< a\n{lock}=======\n{lock}>>>>>>> b\n"), "lock-in-conflict"),
    ] {
        place.write("app/krm.lock", &commit);
        place.fails(&["build"], code);
    }
    place.says(&["lock"]);
    assert_eq!(place.read("app/krm.lock"), lock, "a conflict is resolved by locking again");
}

#[test]
fn fifty_builds_share_a_store() {
    let place = Place::new("fifty");
    let url = place.repository("shop");
    for number in 0..80 {
        place.write(&format!("shop/more/{number}.txt"), &"text\n".repeat(number * 10));
    }
    place.commit("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base']\n"));
    place.says(&["lock"]);
    place.clear_cache();
    let running: Vec<_> = (0..50)
        .map(|_| {
            let mut krm = place.command(&["build", "--locked"]);
            krm.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert_eq!(outcome(&output).as_deref(), Ok(&*named("one-cm")));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    place.stored("trees");
    let left = fs::read_dir(place.0.join("cache/krm/store/v1/new")).unwrap().count();
    assert_eq!(left, 0, "nothing half-written is left");
    assert_eq!(place.krm(&["build", "--offline"]).unwrap(), named("one-cm"));
}

/// Whatever is removed is fetched again, and no build sees the half of it.
#[test]
fn a_cache_is_cleared_while_others_build() {
    let place = Place::new("cleared");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=v1']\n"));
    place.says(&["lock"]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clearing = scope.spawn(|| {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                place.says(&["cache", "clear"]);
                place.says(&["cache", "gc", "--unused-for", "1s", "--max-size", "1"]);
                count += 1;
            }
            count
        });
        let builds: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..6 {
                        let output = place.command(&["build", "--locked"]).output().unwrap();
                        assert_eq!(outcome(&output), Ok(named("one-cm")));
                        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
                    }
                })
            })
            .collect();
        let builds: Vec<_> = builds.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        builds.into_iter().for_each(|build| build.expect("every build succeeds"));
        assert!(clearing.join().expect("every removal succeeds") > 0);
    });
}

#[test]
fn nothing_is_removed_that_a_build_is_using() {
    let place = Place::new("in-use");
    let url = place.repository("shop");
    let (started, go) = (place.0.join("started"), place.0.join("go"));
    let wait = format!(
        "#!/bin/sh\ntouch '{}'\nwhile ! test -e '{}'; do sleep 0.05; done\nexec cat\n",
        started.display(),
        go.display()
    );
    place.write("app/wait.sh", &wait);
    make_executable(&place.0.join("app/wait.sh"));
    place.write(
        "app/fn.yaml",
        "apiVersion: example.com/v1\nkind: Wait\nmetadata:\n  name: w\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./wait.sh}\n",
    );
    let text = format!("resources: ['{url}//base?ref=v1']\ntransformers: [fn.yaml]\n");
    place.write("app/kustomization.yaml", &text);
    place.says(&["lock"]);
    let mut build = place.command(&["build", "--locked", "--enable-alpha-plugins", "--enable-exec"]);
    let build = build.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !started.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut clearing = place.command(&["cache", "clear"]).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(clearing.try_wait().unwrap().is_none(), "it waits for the build");
    assert!(place.stored("trees").is_dir());
    fs::write(go, "").unwrap();
    assert_eq!(outcome(&build.wait_with_output().unwrap()), Ok(named("one-cm")));
    let cleared = clearing.wait_with_output().unwrap();
    let said = String::from_utf8(cleared.stderr).unwrap();
    assert!(cleared.status.success() && said.starts_with("waiting for another krm"), "{said}");
    assert!(said.contains("removed 1 entry"), "{said}");
}

#[test]
fn a_killed_process_leaves_a_store_that_works() {
    let place = Place::new("killed");
    let url = place.repository("shop");
    for number in 0..300 {
        place.write(&format!("shop/more/{number}.txt"), &format!("{number}\n").repeat(50));
    }
    place.commit("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base']\n"));
    place.says(&["lock"]);
    for delay in [20, 30, 40, 50, 60, 80, 100, 120] {
        place.clear_cache();
        let mut child = place.command(&["build"]).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(place.krm(&["build"]).unwrap(), named("one-cm"));
        assert_eq!(place.krm(&["build", "--offline"]).unwrap(), named("one-cm"));
    }
    // What it left goes with the rest, and what another version keeps there stays.
    place.write("cache/krm/store/v1/new/1-0-abc/files/half", "ha");
    place.write("cache/krm/store/v2/other", "x");
    place.krm(&["cache", "gc"]).unwrap();
    assert_eq!(fs::read_dir(place.0.join("cache/krm/store/v1/new")).unwrap().count(), 0);
    let info = place.krm(&["cache", "info"]).unwrap();
    assert!(info.contains("folders         1"), "{info}");
    place.krm(&["cache", "gc", "--max-size", "1"]).unwrap();
    place.fails(&["build", "--offline"], "offline-missing");
    place.krm(&["build"]).unwrap();
    place.krm(&["cache", "clear"]).unwrap();
    let info = place.krm(&["cache", "info"]).unwrap();
    assert!(
        info.contains("folders         0") && place.0.join("cache/krm/store/v2/other").exists(),
        "{info}"
    );
}

#[test]
fn a_full_disk_costs_a_warning() {
    let place = Place::new("full");
    let text = format!("{CONFIG_MAP}data:\n  a: {}\n", "x".repeat(8000));
    let (_server, url) = Server::start(&[("/cm.yaml", &text)]);
    place.write("app/kustomization.yaml", &format!("resources: ['{url}/cm.yaml']\n"));
    place.says(&["lock"]);
    place.clear_cache();
    // No file may have more than some blocks; standard output is a pipe.
    let krm = env!("CARGO_BIN_EXE_krm");
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("ulimit -f 2; {krm} build")]).current_dir(place.0.join("app"));
    let output = shell.env("XDG_CACHE_HOME", place.0.join("cache")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("warning[store-not-written]"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("xxxx"));
    place.fails(&["build", "--offline"], "offline-missing");
    // Nor does it matter that there is no store at all.
    place.clear_cache();
    place.write("cache", "a file where the folder should be");
    assert!(place.krm(&["build"]).unwrap().contains("xxxx"));
    fs::remove_file(place.0.join("cache")).unwrap();
}

#[test]
fn images_are_pinned_by_digest() {
    let place = Place::new("images");
    let config = "{\"config\":{\"Entrypoint\":[\"/f\"]}}";
    let manifest = format!("{{\"config\":{{\"digest\":\"{}\"}},\"layers\":[]}}", sha256(config));
    let digest = sha256(&manifest);
    let path = |what: &str| format!("/v2/fn/label/{what}");
    let (server, url) = Server::start(&[
        (&path("manifests/v1"), &manifest),
        (&path(&format!("blobs/{}", sha256(config))), config),
    ]);
    let image = format!("{}/fn/label", url.trim_start_matches("http://"));
    place.write("app/kustomization.yaml", "resources: [cm.yaml]\ntransformers: [fn.yaml]\n");
    place.write("app/cm.yaml", CONFIG_MAP);
    let function = format!(
        "apiVersion: example.com/v1\nkind: Label\nmetadata:\n  name: l\n  annotations:\n    config.kubernetes.io/function: |\n      container: {{image: '{image}:v1'}}\n"
    );
    place.write("app/fn.yaml", &function);
    // An engine that says what it was asked to run, and gives back what it got.
    place.write("bin/podman", &format!("#!/bin/sh\necho \"$@\" >> {}/log\nexec cat\n", place.0.display()));
    make_executable(&place.0.join("bin/podman"));
    let run = |args: &[&str]| {
        let mut krm = place.command(args);
        krm.env("KRM_FN_RUNTIME", "podman");
        krm.env("PATH", format!("{}:{}", place.0.join("bin").display(), std::env::var("PATH").unwrap()));
        krm.output().unwrap()
    };
    let output = |more: &[&str]| run(&[&["build", "--enable-alpha-plugins"], more].concat());
    let build = |more: &[&str]| outcome(&output(more));
    let log = || fs::read_to_string(place.0.join("log")).unwrap();
    assert_eq!(build(&[]).unwrap(), CONFIG_MAP);
    assert_eq!(String::from_utf8_lossy(&output(&[]).stderr), "", "there is no lock file");
    assert!(log().ends_with(&format!("{image}:v1\n")), "{}", log());
    assert!(build(&["--locked"]).unwrap_err().contains("[image-not-locked]"));
    place.write("app/krm.lock", "version: 1\n");
    let said = String::from_utf8(output(&[]).stderr).unwrap();
    assert!(said.contains(&format!("warning[remote-not-locked]: `{image}:v1` is not in krm.lock")), "{said}");
    assert!(build(&["--strict"]).unwrap_err().contains("[image-not-locked]"));
    let by_hand = run(&["fn", "run", ".", "--dry-run", "--image", &format!("{image}:v1")]);
    let said = String::from_utf8(by_hand.stderr).unwrap();
    assert!(said.contains("[PASS]") && !said.contains("krm.lock"), "the user has just named it: {said}");
    place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    assert!(lock.contains(&format!("- image: {image}:v1\n  digest: {digest}\n")), "{lock}");
    assert_eq!(build(&["--locked"]).unwrap(), CONFIG_MAP);
    assert!(log().ends_with(&format!("{image}@{digest}\n")), "{}", log());
    assert!(build(&["--offline"]).is_ok() && log().contains("--pull=never"));
    // Another image under the same tag is found only by those who ask.
    server.asked();
    let other = manifest.replace("[]", "[ ]");
    server.set(&path("manifests/v1"), &other);
    place.krm(&["lock", "--check"]).unwrap();
    assert_eq!(server.asked(), 0);
    let error = place.fails(&["lock", "--check", "--update"], "lock-outdated");
    assert!(error.contains(&format!("moved {image}:v1")), "{error}");
    // A registry that lies is found out.
    server.set(&path(&format!("blobs/{}", sha256(config))), "{}");
    place.fails(&["lock", "--update"], "registry-failed");
    assert_eq!(place.read("app/krm.lock"), lock);
}

/// A login may be in a file, with a program that docker asks, or with a credential helper.
#[test]
fn registries_are_shown_logins() {
    let place = Place::new("logins");
    let config = "{\"config\":{\"Entrypoint\":[\"/f\"]}}";
    let manifest = format!("{{\"config\":{{\"digest\":\"{}\"}},\"layers\":[]}}", sha256(config));
    let (server, url) = Server::start(&[
        ("/v2/f/manifests/v1", &manifest),
        (&format!("/v2/f/blobs/{}", sha256(config)), config),
    ]);
    let registry = url.trim_start_matches("http://");
    place.write("app/kustomization.yaml", "resources: [fn.yaml]\n");
    place.write(
        "app/fn.yaml",
        &format!(
            "apiVersion: example.com/v1\nkind: F\nmetadata:\n  name: f\n  annotations:\n    config.kubernetes.io/function: |\n      container: {{image: '{registry}/f:v1'}}\n"
        ),
    );
    let script = |path: &str, text: &str| {
        place.write(path, &format!("#!/bin/sh\ntest \"$1\" = get || exit 9\nread -r asked\n{text}\n"));
        make_executable(&place.0.join(path));
    };
    let lock = |env: &[(&str, String)]| {
        let _ = fs::remove_file(place.0.join("app/krm.lock"));
        let mut krm = place.command(&["lock"]);
        krm.env("PATH", format!("{}:{}", place.0.join("bin").display(), std::env::var("PATH").unwrap()));
        for name in ["DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "KRM_REMOTE_CREDENTIAL_HELPER"]
        {
            krm.env_remove(name);
        }
        outcome(&krm.envs(env.iter().cloned()).output().unwrap()).map(|_| place.read("app/krm.lock"))
    };
    let docker = |text: String| {
        place.write("docker/config.json", &text);
        vec![("DOCKER_CONFIG", place.0.join("docker").display().to_string())]
    };
    let locked = |env: &[(&str, String)]| {
        let lock = lock(env).unwrap();
        assert!(lock.contains(&sha256(&manifest)), "{lock}");
    };

    // `me:hunter2`
    server.wants("Basic bWU6aHVudGVyMg==", "Basic realm=\"r\"");
    let error = lock(&[]).unwrap_err();
    assert!(
        error.contains("[registry-failed]") && error.contains(&format!("docker login {registry}")),
        "{error}"
    );
    locked(&docker(format!("{{\"auths\":{{\"{registry}\":{{\"auth\":\"bWU6aHVudGVyMg==\"}}}}}}")));
    script(
        "bin/docker-credential-safe",
        &format!(
            "test \"$asked\" = {registry} || exit 8\necho '{{\"Username\":\"me\",\"Secret\":\"hunter2\"}}'"
        ),
    );
    locked(&docker(format!("{{\"credHelpers\":{{\"{registry}\":\"safe\"}},\"credsStore\":\"empty\"}}")));
    locked(&docker("{\"credsStore\":\"safe\"}".to_owned()));
    // One that has no login leaves it to others; one that fails does not.
    script("bin/docker-credential-empty", "echo 'credentials not found in native keychain'; exit 1");
    locked(&docker(format!(
        "{{\"auths\":{{\"{registry}\":{{\"auth\":\"bWU6aHVudGVyMg==\"}}}},\"credsStore\":\"empty\"}}"
    )));
    script("bin/docker-credential-broken", "echo hunter2; exit 1");
    let error = lock(&docker("{\"credsStore\":\"broken\"}".to_owned())).unwrap_err();
    assert!(error.contains("`docker-credential-broken` gives no login"), "{error}");
    let error = lock(&docker("{\"credsStore\":\"missing\"}".to_owned())).unwrap_err();
    assert!(error.contains("`docker-credential-missing` cannot be started"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");

    let helper = |answer: &str| {
        script(
            "helper",
            &format!(
                "case $asked in *'\"uri\":\"{url}/\"'*) ;; *) exit 8 ;; esac\necho '{{\"headers\":{{\"Authorization\":[\"{answer}\"]}}}}'"
            ),
        );
        vec![("KRM_REMOTE_CREDENTIAL_HELPER", place.0.join("helper").display().to_string())]
    };
    locked(&helper("Basic bWU6aHVudGVyMg=="));
    // A token that a helper gives is not exchanged for another.
    server.wants("Bearer t", "Bearer realm=\"http://127.0.0.1:1/token\"");
    locked(&helper("Bearer t"));
    script("helper", "echo nothing for you >&2; exit 1");
    let error = lock(&[("KRM_REMOTE_CREDENTIAL_HELPER", place.0.join("helper").display().to_string())]);
    assert!(error.as_ref().is_err_and(|error| error.contains("nothing for you")), "{error:?}");
}

#[test]
fn charts_are_locked_and_kept() {
    let place = Place::new("charts");
    place.write(
        "app/kustomization.yaml",
        "helmCharts:\n- {name: web, repo: 'https://me:sesame@example.com/charts', version: 1.0.0, releaseName: r}\n",
    );
    // A helm that pulls a chart whose content is in a file, and prints its values.
    place.write(
        "bin/helm",
        "#!/bin/sh\nif [ $1 = pull ]; then\n  echo pull >> $LOG\n  d=$4/web; mkdir -p $d/templates; cp $CONTENT $d/values.yaml\n  \
         printf 'name: web\\nversion: 1.0.0\\n' > $d/Chart.yaml\nelse\n  cat $3/values.yaml\nfi\n",
    );
    make_executable(&place.0.join("bin/helm"));
    place.write("content", CONFIG_MAP);
    let helm = place.0.join("bin/helm").display().to_string();
    let run = |args: &[&str]| {
        let mut krm = place.command(args);
        krm.args(["--enable-helm", "--helm-command", &helm]);
        krm.env("LOG", place.0.join("log")).env("CONTENT", place.0.join("content"));
        outcome(&krm.output().unwrap())
    };
    let pulls = || fs::read_to_string(place.0.join("log")).unwrap_or_default().lines().count();
    let said = place.says(&["lock"]);
    assert!(said.contains("is not locked"), "{said}");
    run(&["lock"]).unwrap();
    let lock = place.read("app/krm.lock");
    assert!(lock.contains("repository: https://example.com/charts\n"), "{lock}");
    assert!(lock.contains("resolved: 1.0.0\n") && !lock.contains("sesame"), "{lock}");
    assert_eq!(pulls(), 1);
    let before = place.tree();
    assert_eq!(run(&["build", "--offline"]).unwrap(), CONFIG_MAP);
    assert_eq!((pulls(), place.tree()), (1, before), "nothing is pulled, and nothing left in the tree");
    place.write("content", &named("evil"));
    assert_eq!(run(&["build"]).unwrap(), CONFIG_MAP);
    // A localized copy takes the chart that is locked, and needs neither the lock file nor the store.
    run(&["localize", ".", "../copy"]).unwrap();
    assert_eq!(place.read("copy/charts/web-1.0.0/web/values.yaml"), CONFIG_MAP);
    place.says(&["vendor"]);
    place.clear_cache();
    assert_eq!(run(&["build", "--offline"]).unwrap(), CONFIG_MAP);
    fs::remove_dir_all(place.0.join("app/vendor")).unwrap();
    assert!(run(&["build", "--offline"]).unwrap_err().contains("[offline-missing]"));
    assert_eq!(run(&["build", "../copy", "--offline"]).unwrap(), CONFIG_MAP);
    assert!(run(&["build"]).unwrap_err().contains("[lock-mismatch]"));
}

#[test]
fn secrets_stay_out_of_the_lock_file() {
    let place = Place::new("secrets");
    let (_server, url) = Server::start(&[("/cm.yaml", CONFIG_MAP)]);
    let with = url.replace("http://", "http://me:sesame@");
    place.write("app/kustomization.yaml", &format!("resources: ['{with}/cm.yaml']\n"));
    let said = place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    assert!(!lock.contains("sesame") && !said.contains("sesame"), "{lock}{said}");
    assert_eq!(place.krm(&["build", "--offline"]).unwrap(), CONFIG_MAP);
}

#[test]
fn addresses_that_differ_only_in_a_masked_parameter_share_an_entry() {
    let place = Place::new("parameters");
    let (server, url) =
        Server::start(&[("/cm.yaml?key=web", &named("web")), ("/cm.yaml?key=api", &named("web"))]);
    let resources = |keys: &[&str]| {
        let entries: Vec<String> = keys.iter().map(|key| format!("- {url}/cm.yaml?key={key}\n")).collect();
        place.write("app/kustomization.yaml", &format!("resources:\n{}", entries.concat()));
    };
    resources(&["web"]);
    let said = place.says(&["lock"]);
    let lock = place.read("app/krm.lock");
    assert!(!lock.contains("key=web") && !said.contains("key=web"), "{lock}{said}");
    assert_eq!(lock.matches("?key=***\n").count(), 1, "{lock}");
    assert_eq!(place.krm(&["build", "--locked"]).unwrap(), named("web"));
    // An entry is found by the address in it, which is masked, as well.
    place.says(&["vendor"]);
    place.clear_cache();
    assert_eq!(place.krm(&["build", "--offline"]).unwrap(), named("web"));
    // Masks had other forms, and are still understood.
    place.write("app/krm.lock", &lock.replace("***", "***-1a2b"));
    assert_eq!(place.krm(&["build", "--offline"]).unwrap(), named("web"));
    // Another token leads to the same file.
    resources(&["web", "api"]);
    place.says(&["lock"]);
    assert_eq!(place.read("app/krm.lock"), lock);
    // Two tokens that lead to two files are found out, whether there is an entry already or not.
    server.set("/cm.yaml?key=api", &named("api"));
    for args in [&["lock"][..], &["lock", "--check"], &["lock", "--update"]] {
        let said = place.fails(args, "lock-ambiguous");
        assert!(!said.contains("key=web"), "{said}");
    }
    assert_eq!(place.read("app/krm.lock"), lock);
}

#[test]
fn an_entry_does_not_hide_that_another_user_gets_another_repository() {
    let place = Place::new("users");
    let (one, two) = (place.repository("one"), place.repository("two"));
    place.change("two", "other");
    let address = |user: &str| format!("https://{user}@git.example.com/shop.git");
    let lock_with = |web: &str, db: &str| {
        let mut command = place.command(&["lock"]);
        command.env("GIT_CONFIG_COUNT", "2");
        for (number, (url, user)) in [(web, "web:a"), (db, "db:b")].iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), format!("url.{url}.insteadOf"));
            command.env(format!("GIT_CONFIG_VALUE_{number}"), address(user));
        }
        outcome(&command.output().unwrap())
    };
    let resources = |users: &[&str]| {
        let entries: Vec<String> =
            users.iter().map(|user| format!("- {}//base?ref=main\n", address(user))).collect();
        place.write("app/kustomization.yaml", &format!("resources:\n{}", entries.concat()));
    };
    resources(&["web:a"]);
    lock_with(&one, &two).unwrap();
    let lock = place.read("app/krm.lock");
    resources(&["web:a", "db:b"]);
    let said = lock_with(&one, &two).unwrap_err();
    assert!(said.contains("error[lock-ambiguous]"), "{said}");
    // What is locked stays if both users get the same repository, though its branch moved.
    place.change("one", "later");
    lock_with(&one, &format!("{one}/.git")).unwrap();
    assert_eq!(place.read("app/krm.lock"), lock);
}

#[test]
fn a_conflict_in_the_lock_file_is_resolved_to_one_of_its_sides() {
    let place = Place::new("conflict");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.says(&["lock"]);
    let ours = place.read("app/krm.lock");
    place.change("shop", "two");
    place.says(&["lock", "--update"]);
    let theirs = place.read("app/krm.lock");
    place.change("shop", "three");
    place.write("app/krm.lock", &format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> feature\n"));
    let said = place.says(&["lock"]);
    assert_eq!(place.read("app/krm.lock"), ours);
    assert!(said.contains(&format!("kept {url}?ref=main: ")), "{said}");
    assert!(said.contains(" of `HEAD`, not ") && said.contains(" of `feature`\n"), "{said}");
}

fn sha256(text: &str) -> String {
    use std::io::Write;
    let mut sum = Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    sum.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = sum.wait_with_output().unwrap();
    format!("sha256:{}", String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap())
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_revision_is_built_by_its_own_lock_file_and_copies() {
    let place = Place::new("revisions");
    let url = place.repository("shop");
    place.git("app", &["init", "--quiet", "--initial-branch=main"]);
    place.write("app/web/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.write("app/plain/kustomization.yaml", "resources: [cm.yaml]\n");
    place.write("app/plain/cm.yaml", CONFIG_MAP);
    place.says(&["lock"]);
    place.says(&["vendor"]);
    place.commit("app");
    place.git("app", &["tag", "one"]);
    place.change("shop", "two");
    place.says(&["lock", "--update"]);
    // The lock file alone changed: what it names is built, whatever is in the tree.
    place.git("app", &["rm", "-r", "--quiet", "--cached", "vendor"]);
    fs::remove_dir_all(place.0.join("app/vendor")).unwrap();
    let diff = place.krm(&["diff", "one"]).unwrap();
    assert!(diff.contains("one-cm") && diff.contains("two-cm"), "{diff}");
    place.says(&["vendor"]);
    place.commit("app");
    place.write(
        "app/web/kustomization.yaml",
        &format!("namePrefix: b-\nresources: ['{url}//base?ref=main']\n"),
    );
    // From here on there is nothing but the copies in the revisions.
    fs::rename(place.0.join("shop"), place.0.join("gone")).unwrap();
    place.clear_cache();
    let diff = place.krm(&["diff", "HEAD"]).unwrap();
    assert!(diff.contains("two-cm") && diff.contains("b-two-cm"), "{diff}");
    let diff = place.krm(&["diff", "one..HEAD", "--offline"]).unwrap();
    assert!(diff.contains("one-cm") && diff.contains("two-cm"), "{diff}");
    let diff = place.krm(&["diff", "one..HEAD", "--offline", "we*"]).unwrap();
    assert!(diff.contains("1 overlay changes (of 1)"), "{diff}");
    assert_eq!(place.krm(&["affected", "HEAD"]).unwrap(), "web\n");
    assert_eq!(place.krm(&["affected", "one..HEAD"]).unwrap(), "web\n");
    assert_eq!(place.krm(&["build", "--changed-since", "one"]).unwrap(), named("b-two-cm"));
    let explained = place.krm(&["explain", "web", "ConfigMap/cm", "metadata.name"]).unwrap();
    assert!(explained.contains("b-two-cm"), "{explained}");
}

#[cfg(unix)]
#[test]
fn copies_in_a_revision_keep_their_links() {
    let place = Place::new("revision-links");
    let url = place.repository("shop");
    std::os::unix::fs::symlink("cm.yaml", place.0.join("shop/base/link.yaml")).unwrap();
    place.write("shop/base/kustomization.yaml", "resources: [link.yaml]\n");
    place.commit("shop");
    place.git("app", &["init", "--quiet", "--initial-branch=main"]);
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.says(&["lock"]);
    place.says(&["vendor"]);
    place.commit("app");
    place.write("app/kustomization.yaml", &format!("namePrefix: b-\nresources: ['{url}//base?ref=main']\n"));
    place.clear_cache();
    let diff = place.krm(&["diff", "HEAD", "--offline"]).unwrap();
    assert!(diff.contains("b-cm"), "{diff}");
}

#[test]
fn revisions_know_what_an_address_is_from_the_lock_file() {
    let place = Place::new("revision-kind");
    let url = place.repository("shop");
    // Such an address could be that of a file, which nobody serves.
    let address = "https://127.0.0.1:1/team/shop.git";
    place.write("home/.gitconfig", &format!("[url \"{url}\"]\n\tinsteadOf = {address}\n"));
    place.git("app", &["init", "--quiet", "--initial-branch=main"]);
    place.write("app/kustomization.yaml", &format!("resources: ['{address}//base?ref=main']\n"));
    place.says(&["lock"]);
    place.commit("app");
    place.write(
        "app/kustomization.yaml",
        &format!("namePrefix: b-\nresources: ['{address}//base?ref=main']\n"),
    );
    assert_eq!(place.says(&["diff", "HEAD"]), "");
    assert_eq!(place.says(&["diff", "HEAD", "--locked"]), "");
    place.fails(&["diff", "HEAD~0..HEAD", "--all", "--offline", "--locked", "nothing"], "diff-no-target");
    // Without the file, flags that refuse what is not locked count on both sides.
    fs::remove_file(place.0.join("app/krm.lock")).unwrap();
    let output = place.command(&["diff", "HEAD", "--offline"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("error[offline-missing]"), "{said}");
}

#[test]
fn lint_and_others_use_what_is_locked_and_fetch_nothing() {
    let place = Place::new("lint");
    let url = place.repository("shop");
    let (server, http) = Server::start(&[("/more.yaml", &named("more"))]);
    let text = format!(
        "resources: ['{url}//base?ref=main', '{http}/more.yaml']\nreplicas: [{{name: wbe, count: 2}}]\n"
    );
    place.write("app/kustomization.yaml", &text);
    let said = place.says(&["lint"]);
    assert!(said.contains("not built: `.`") && said.contains("would have to be fetched"), "{said}");
    place.says(&["lock"]);
    server.asked();
    // From the store, and then from copies in the tree.
    let fails = |place: &Place| {
        let said = place.krm(&["lint"]).unwrap_err();
        assert!(said.contains("replicas-no-match") && !said.contains("not built"), "{said}");
    };
    fails(&place);
    place.says(&["vendor"]);
    place.clear_cache();
    fails(&place);
    place.write("app/kustomization.yaml", text.split("replicas").next().unwrap());
    assert_eq!(place.says(&["lint", "--locked"]), "nothing found in 1 root\n");
    // From elsewhere than the folder of the lock file.
    for args in [&["plan", "app", "--deep"][..], &["localize", "app", "copy"], &["graph", "app"]] {
        let output = place.command(args).current_dir(&place.0).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(server.asked(), 0, "what is kept is not fetched");
}

#[test]
fn copies_that_are_out_of_date_are_not_called_damaged() {
    let place = Place::new("outdated");
    let url = place.repository("shop");
    place.write("app/kustomization.yaml", &format!("resources: ['{url}//base?ref=main']\n"));
    place.says(&["lock"]);
    place.says(&["vendor"]);
    place.change("shop", "two");
    let said = place.says(&["lock", "--update"]);
    assert!(said.contains("`vendor/krm` is out of date now: run `krm vendor`"), "{said}");
    let error = place.fails(&["build"], "vendor-outdated");
    assert!(error.contains("run `krm vendor`") && !error.contains("git"), "{error}");
    // Neither is a reason not to write or check the lock file.
    assert!(place.says(&["lock"]).contains("`vendor/krm` is out of date now"));
    assert_eq!(place.says(&["lock", "--check"]), "");
    let error = place.fails(&["vendor", "--check"], "vendor-outdated");
    assert!(error.contains("has another content"), "{error}");
    place.says(&["vendor"]);
    assert_eq!(place.krm(&["build"]).unwrap(), named("two-cm"));
    assert!(!place.says(&["lock"]).contains("out of date"));
    // A file that someone edits is another matter.
    let copies = fs::read_dir(place.0.join("app/vendor/krm")).unwrap().map(|entry| entry.unwrap().path());
    let copy = copies.into_iter().find(|path| path.is_dir()).unwrap();
    fs::write(copy.join("base/cm.yaml"), named("edited")).unwrap();
    place.fails(&["build"], "vendor-damaged");
    place.fails(&["lock"], "vendor-damaged");
}
