//! Repositories and files from elsewhere: real ones of git, made on the fly, and a server of our own for HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A folder of a test's own, with a `tmp` in it that must be empty in the end.
struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        let path = Scratch::new(&format!("remote-{name}"));
        fs::create_dir_all(path.join("tmp")).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, dir: &str, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.0.join(dir)).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]);
        let output = git.args(["-c", "protocol.file.allow=always"]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A repository with a base whose prefix distinguishes its two commits: the first is tagged `v1`.
    fn repository(&self, name: &str) -> String {
        self.write(&format!("{name}/base/kustomization.yaml"), "resources: [cm.yaml]\nnamePrefix: one-\n");
        self.write(&format!("{name}/base/cm.yaml"), CONFIG_MAP);
        self.git(name, &["init", "--quiet", "--initial-branch=main"]);
        self.commit(name);
        self.git(name, &["tag", "v1"]);
        self.write(&format!("{name}/base/kustomization.yaml"), "resources: [cm.yaml]\nnamePrefix: two-\n");
        self.commit(name);
        format!("file://{}", self.0.join(name).display())
    }

    fn commit(&self, name: &str) {
        self.git(name, &["add", "--all"]);
        self.git(name, &["commit", "--quiet", "--message=change"]);
    }

    fn command(&self, target: &str) -> Command {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(&self.0).args(["build", target]).env("TMPDIR", self.0.join("tmp"));
        krm.env("GIT_CONFIG_COUNT", "1");
        krm.env("GIT_CONFIG_KEY_0", "protocol.file.allow").env("GIT_CONFIG_VALUE_0", "always");
        krm
    }

    /// What a build prints, or what it complains about.
    fn build(&self, target: &str) -> Result<String, String> {
        self.outcome(self.command(target))
    }

    fn outcome(&self, mut krm: Command) -> Result<String, String> {
        let output = krm.output().unwrap();
        let left: Vec<_> = fs::read_dir(self.0.join("tmp")).unwrap().collect();
        assert!(left.is_empty(), "temporary files are left: {left:?}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        match output.status.success() {
            true => Ok(text(output.stdout)),
            false => Err(text(output.stderr)),
        }
    }
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n";

fn named(name: &str) -> String {
    CONFIG_MAP.replace("name: cm", &format!("name: {name}"))
}

#[test]
fn a_repository_is_a_target_by_ref_and_folder() {
    let place = Place::new("target");
    let url = place.repository("shop");
    assert_eq!(place.build(&format!("{url}//base")).unwrap(), named("two-cm"));
    assert_eq!(place.build(&format!("{url}//base?ref=v1")).unwrap(), named("one-cm"));
    assert_eq!(place.build(&format!("{url}//base?version=main&submodules=false")).unwrap(), named("two-cm"));
    let error = place.build(&format!("{url}//base?ref=v9")).unwrap_err();
    assert!(error.contains("[git-failed]") && error.contains("couldn't find remote ref v9"), "{error}");
    assert!(error.contains("help: it has `main`, `v1`"), "{error}");
    let error = place.build(&format!("{url}//base?ref=1")).unwrap_err();
    assert!(error.contains("help: did you mean `v1`?"), "{error}");
    let error = place.build(&format!("{url}//base?ref=mian")).unwrap_err();
    assert!(error.contains("help: did you mean `main`?") && !error.contains("ls-remote"), "{error}");
    let error = place.build(&format!("{url}//base?ref=release")).unwrap_err();
    assert!(error.contains("help: it has `main`, `v1`"), "{error}");
    let error = place.build(&format!("{url}//base?ref=0123abc")).unwrap_err();
    assert!(error.contains("help: write a commit with all of its 40 digits"), "{error}");
    let error = place.build(&format!("{url}//bass")).unwrap_err();
    assert!(
        error.contains("[repository-no-folder]") && error.contains("help: did you mean `base`?"),
        "{error}"
    );
    let error = place.build(&format!("{url}//bsae/app/web")).unwrap_err();
    assert!(error.contains("help: did you mean `base/app/web`?"), "{error}");
    let error = place.build(&format!("{url}//base/cm.yaml")).unwrap_err();
    assert!(error.contains("[base-not-a-folder]"), "{error}");
    // An option in place of a ref stays a ref.
    let error = place.build(&format!("{url}//base?ref=--upload-pack=touch%20pwned")).unwrap_err();
    assert!(error.contains("[git-failed]") && !place.0.join("pwned").exists(), "{error}");
}

#[test]
fn a_repository_is_a_base_a_component_and_a_source_of_files() {
    let place = Place::new("base");
    let url = place.repository("shop");
    place.write("shop/part/kustomization.yaml", "kind: Component\nnameSuffix: -part\n");
    place.commit("shop");
    place.write(
        "app/kustomization.yaml",
        &format!("resources:\n- {url}//base?ref=v1\n- {url}//base\ncomponents:\n- {url}//part\n"),
    );
    let both = format!("{}---\n{}", named("one-cm-part"), named("two-cm-part"));
    assert_eq!(place.build("app").unwrap(), both);
}

#[test]
fn a_composition_imports_from_a_repository() {
    let place = Place::new("composition");
    place.write("repo/shared/composition.yaml", COMPOSITION);
    place.write("repo/shared/cm.yaml", CONFIG_MAP);
    place.git("repo", &["init", "--quiet", "--initial-branch=main"]);
    place.commit("repo");
    let address = format!("file://{}", place.0.join("repo").display());
    place.write(
        "here/composition.yaml",
        &format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\n\
             transformersFrom:\n- path: {address}//shared?ref=main\n\
             transformerOverrides:\n- apiVersion: builtin\n  kind: PrefixTransformer\n  prefix: ours-\n"
        ),
    );
    assert_eq!(place.build("here").unwrap(), named("ours-cm"));

    // A path within means the repository, and does not lead out of it.
    place.write("repo/shared/composition.yaml", &COMPOSITION.replace("cm.yaml", "../../secret.yaml"));
    place.write("secret.yaml", CONFIG_MAP);
    place.commit("repo");
    assert!(place.build("here").unwrap_err().contains("secret.yaml"));
}

#[test]
fn a_composition_is_named_by_its_file_elsewhere() {
    let place = Place::new("composition-file");
    place.write("repo/shared/live.yaml", COMPOSITION);
    place.write("repo/shared/cm.yaml", CONFIG_MAP);
    place.git("repo", &["init", "--quiet", "--initial-branch=main"]);
    place.commit("repo");
    let address = format!("file://{}//shared/live.yaml?ref=main", place.0.join("repo").display());
    for field in ["resources", "generators"] {
        place.write("here/kustomization.yaml", &format!("{field}:\n- {address}\n"));
        assert_eq!(place.build("here").unwrap(), named("theirs-cm"), "{field}");
    }
    place.write("here/kustomization.yaml", "");
    fs::remove_file(place.0.join("here/kustomization.yaml")).unwrap();
    place.write(
        "here/composition.yaml",
        &format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\n\
             transformersFrom:\n- path: {address}\n"
        ),
    );
    assert_eq!(place.build("here").unwrap(), named("theirs-cm"));

    // What a plan says of the import: its address and revision, and not the folder it was cloned to.
    let mut git = Command::new("git");
    let head = git.current_dir(place.0.join("repo")).args(["rev-parse", "HEAD"]).output().unwrap();
    let revision = String::from_utf8(head.stdout).unwrap();
    let like = place.command("here");
    let mut plan = Command::new(like.get_program());
    plan.current_dir(&place.0).args(["plan", "here"]);
    plan.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let planned = place.outcome(plan).unwrap();
    let from = format!("# from {}:4 at main ({})\n", address.replace("?ref=main", ""), revision.trim());
    assert!(planned.contains(&from), "{planned}");
    assert!(!planned.contains("krm-git"), "{planned}");

    // By HTTP, the file alone is there: what it names beside it is not.
    let (url, _) = serve(&[("/live.yaml", COMPOSITION_ALONE), ("/beside.yaml", COMPOSITION)]);
    place.write("by-http/cm.yaml", CONFIG_MAP);
    place.write(
        "by-http/kustomization.yaml",
        &format!("resources: [cm.yaml]\ntransformers: ['{url}/live.yaml']\n"),
    );
    assert_eq!(place.build("by-http").unwrap(), named("theirs-cm"));
    place.write("by-http/kustomization.yaml", &format!("resources: ['{url}/beside.yaml']\n"));
    let error = place.build("by-http").unwrap_err();
    assert!(error.contains("[file-not-found]") && error.contains("/beside.yaml:6"), "{error}");
    place.write(
        "by-http/kustomization.yaml",
        &format!("resources: [cm.yaml]\ntransformers: ['{url}/none.yaml']\n"),
    );
    let error = place.build("by-http").unwrap_err();
    assert!(error.contains("[http-status]"), "{error}");
}

const COMPOSITION_ALONE: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
transformers:
- apiVersion: builtin
  kind: PrefixTransformer
  prefix: theirs-
";

const COMPOSITION: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
transformers:
- apiVersion: builtin
  kind: ResourceAccumulator
  resources: [cm.yaml]
- apiVersion: builtin
  kind: PrefixTransformer
  prefix: theirs-
";

#[test]
fn what_comes_from_a_repository_stays_in_it() {
    let place = Place::new("inside");
    let url = place.repository("shop");
    place.write("outside/kustomization.yaml", "resources: [cm.yaml]\n");
    place.write("outside/cm.yaml", CONFIG_MAP);
    let outside = place.0.join("outside").display().to_string();
    let cases = [
        ("files", format!("resources: [{outside}/cm.yaml]\n"), "[file-outside-root]"),
        ("above", "resources: [../base/cm.yaml]\n".into(), "[file-outside-root]"),
        ("bases", "resources: [../../../../../../../../../../tmp]\n".into(), "[base-outside-repository]"),
        ("cycle", format!("resources: ['{url}//cycle']\n"), "[repository-cycle]"),
    ];
    for (name, text, _) in &cases {
        place.write(&format!("shop/{name}/kustomization.yaml"), text);
    }
    std::os::unix::fs::symlink(&outside, place.0.join("shop/link")).unwrap();
    place.commit("shop");
    for (name, _, code) in &cases {
        let mut krm = place.command(&format!("{url}//{name}"));
        krm.args(["--load-restrictor", "LoadRestrictionsNone"]);
        let error = place.outcome(krm).unwrap_err();
        assert!(error.contains(code), "{name}: {error}");
    }
    let error = place.build(&format!("{url}//link")).unwrap_err();
    assert!(error.contains("[base-outside-repository]"), "{error}");
    // Places in a clone are shown by the repository's address, not by a folder that is gone.
    let error = place.build(&format!("{url}//above")).unwrap_err();
    assert!(error.contains(&format!("--> {url}//above/kustomization.yaml:1:13")), "{error}");
}

#[test]
fn submodules_come_along_unless_they_are_unwanted() {
    let place = Place::new("submodules");
    let url = place.repository("shop");
    place.repository("parts");
    place.git("shop", &["submodule", "--quiet", "add", "../parts", "parts"]);
    place.write("shop/all/kustomization.yaml", "resources: [../parts/base]\n");
    place.commit("shop");
    assert_eq!(place.build(&format!("{url}//all")).unwrap(), named("two-cm"));
    let error = place.build(&format!("{url}//all?submodules=false")).unwrap_err();
    assert!(error.contains("[file-not-found]"), "{error}");
}

/// Puts a script called `git` in front of the real one.
fn with_git(place: &Place, krm: &mut Command, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    place.write("bin/git", script);
    fs::set_permissions(place.0.join("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
    krm.env("PATH", format!("{}:{}", place.0.join("bin").display(), std::env::var("PATH").unwrap()));
}

#[test]
fn a_repository_is_fetched_once_in_a_run() {
    let place = Place::new("once");
    let url = place.repository("shop");
    for name in ["a", "b", "c"] {
        let text = format!("namePrefix: {name}-\nresources: ['{url}//base']\n");
        place.write(&format!("app/{name}/kustomization.yaml"), &text);
    }
    place.write("app/kustomization.yaml", "resources: [a, b, c]\n");
    let mut krm = place.command("app");
    let log = place.0.join("log");
    with_git(
        &place,
        &mut krm,
        &format!("#!/bin/sh\necho $1 >> {}\nPATH=${{PATH#*:}} exec git \"$@\"\n", log.display()),
    );
    let built = place.outcome(krm).unwrap();
    assert_eq!(built.matches("kind: ConfigMap").count(), 3);
    assert_eq!(fs::read_to_string(log).unwrap().matches("fetch").count(), 1);
}

#[test]
fn a_time_limit_ends_git_and_all_it_started() {
    let place = Place::new("timeout");
    let late = place.0.join("late");
    let mut krm = place.command("https://github.com/acme/shop?timeout=300ms");
    let script = format!("#!/bin/sh\n[ $1 = fetch ] || exit 0\n(sleep 2; touch {}) & wait\n", late.display());
    with_git(&place, &mut krm, &script);
    let start = Instant::now();
    let error = place.outcome(krm).unwrap_err();
    assert!(error.contains("[git-timeout]"), "{error}");
    assert!(start.elapsed() < Duration::from_millis(1900), "{:?}", start.elapsed());
    std::thread::sleep(Duration::from_millis(2200).saturating_sub(start.elapsed()));
    assert!(!late.exists(), "what git started lives on");
}

#[test]
fn passwords_are_not_shown() {
    let place = Place::new("password");
    // Nobody listens there.
    let address = "https://me:sesame@127.0.0.1:1/acme/shop.git//app";
    place.write("k/kustomization.yaml", &format!("resources: [\"{address}\"]\n"));
    for target in ["k", address] {
        for format in ["text", "json"] {
            let mut krm = place.command(target);
            krm.args(["--error-format", format]);
            let error = place.outcome(krm).expect_err("there is nothing");
            assert!(error.contains("https://me:******@127.0.0.1:1/acme/shop.git//app"), "{error}");
            assert!(!error.contains("sesame"), "{error}");
        }
    }
}

#[test]
fn without_git_the_error_says_so() {
    let place = Place::new("no-git");
    let mut krm = place.command("https://github.com/acme/shop");
    krm.env("PATH", "/nowhere");
    let error = place.outcome(krm).unwrap_err();
    assert!(error.contains("[git-not-started]"), "{error}");
}

/// A server for a few files; counts what it is asked for.
fn serve(files: &'static [(&'static str, &'static str)]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap_or_default();
            let file = files.iter().find(|(name, _)| *name == path);
            count.fetch_add(usize::from(file.is_some()), Ordering::Relaxed);
            let (status, body) = file.map_or(("404 Not Found", "no"), |(_, text)| ("200 OK", *text));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    (address, asked)
}

#[test]
fn files_come_by_http_once_in_a_run() {
    let place = Place::new("http");
    let (url, asked) = serve(&[
        ("/cm.yaml", CONFIG_MAP),
        ("/patch.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: b\n"),
        ("/page/a/b", "<html>no resources here</html>"),
    ]);
    for name in ["a", "b"] {
        let text = format!(
            "namePrefix: {name}-\nresources: ['{url}/cm.yaml']\npatches: [{{path: '{url}/patch.yaml'}}]\n"
        );
        place.write(&format!("app/{name}/kustomization.yaml"), &text);
    }
    place.write("app/kustomization.yaml", "resources: [a, b]\n");
    let built = place.build("app").unwrap();
    assert_eq!(built.matches("  a: b\n").count(), 2, "{built}");
    assert_eq!(asked.load(Ordering::Relaxed), 2);

    place.write("bad/kustomization.yaml", &format!("resources: ['{url}/none.yaml']\n"));
    let error = place.build("bad").unwrap_err();
    assert!(error.contains("[http-status]") && error.contains("404 Not Found"), "{error}");
    assert!(!error.contains("git"), "{error}");
    // A server that does not answer is not git's business either.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    place.write("bad/kustomization.yaml", &format!("resources: ['http://{closed}/acme/shop/none.yaml']\n"));
    let error = place.build("bad").unwrap_err();
    assert!(error.starts_with("error[http-failed]") && !error.contains("git"), "{error}");
    // Neither a file of resources nor a repository: both faults are reported.
    place.write("bad/kustomization.yaml", &format!("resources: ['{url}/x/y/z']\n"));
    let error = place.build("bad").unwrap_err();
    assert!(error.contains("[git-failed]") && error.contains("404 Not Found"), "{error}");
    place.write("bad/kustomization.yaml", &format!("resources: ['{url}/page/a/b']\n"));
    let error = place.build("bad").unwrap_err();
    assert!(error.contains("[not-a-resource]"), "{error}");
}

#[test]
fn a_page_that_is_not_a_resource_may_be_a_repository() {
    let place = Place::new("page");
    place.repository("shop");
    let (url, _) = serve(&[("/acme/shop/base", "<html>a page about the repository</html>")]);
    place.write("app/kustomization.yaml", &format!("resources: ['{url}/acme/shop/base']\n"));
    let mut krm = place.command("app");
    krm.env("GIT_CONFIG_KEY_0", format!("url.{}.insteadOf", Path::new(&place.0).join("shop").display()));
    krm.env("GIT_CONFIG_VALUE_0", format!("{url}/acme/shop"));
    assert_eq!(place.outcome(krm).unwrap(), named("two-cm"));
}

#[test]
fn what_comes_over_the_network_names_nothing_of_this_machine() {
    let place = Place::new("of-this-machine");
    let secret = place.repository("secret");
    place.repository("public");
    place.write("public/base/kustomization.yaml", &format!("resources: ['{secret}//base']\n"));
    place.commit("public");
    let public = format!("file://{}", place.0.join("public").display());
    // Named by someone on this machine, it may.
    assert!(place.build(&format!("{public}//base")).is_ok());
    // git finds the address on this machine because its configuration says so; for krm it is an address of the network.
    let mut krm = place.command("https://git.example.com/acme/public//base");
    krm.env("GIT_CONFIG_COUNT", "2");
    krm.env("GIT_CONFIG_KEY_1", format!("url.file://{}/.insteadOf", place.0.display()));
    krm.env("GIT_CONFIG_VALUE_1", "https://git.example.com/acme/");
    let error = place.outcome(krm).unwrap_err();
    assert!(error.starts_with("error[repository-of-this-machine]"), "{error}");
}
