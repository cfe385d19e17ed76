//! Functions in containers, with a real engine: what they are kept from, and what stops them.
//!
//! Where no engine works the tests say so and are left out; under `CI=true` they may not be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The engine, and images made for these tests.
struct Engine {
    binary: &'static str,
    scratch: PathBuf,
}

/// Without a list of users, as images made from scratch are; and with one in which nobody has a number of his own.
const PLAIN: &str = "localhost/krm-test-plain:1";
const WITH_USERS: &str = "localhost/krm-test-users:1";

fn engine() -> Option<&'static Engine> {
    static ENGINE: OnceLock<Option<Engine>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        let binary = ["podman", "docker", "nerdctl"].into_iter().find(|binary| {
            command(binary)
                .arg("info")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|s| s.success())
        })?;
        let scratch = std::env::temp_dir().join(format!("krm-container-{}", std::process::id()));
        fs::create_dir_all(&scratch).expect("a writable temporary folder");
        let engine = Engine { binary, scratch };
        engine.make_images();
        Some(engine)
    });
    if engine.is_none() {
        assert!(
            std::env::var("CI").is_err(),
            "no container engine works here, and CI may not leave these tests out"
        );
        eprintln!("left out: no container engine works here");
    }
    engine.as_ref()
}

/// A command that finds the settings podman needs.
fn command(binary: &str) -> Command {
    let mut command = Command::new(binary);
    let has_runc = Command::new("runc").arg("--version").stdout(Stdio::null()).status().is_ok();
    if std::env::var_os("CONTAINERS_CONF").is_none() && has_runc {
        let conf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/container/containers.conf");
        command.env("CONTAINERS_CONF", conf);
    }
    command
}

impl Engine {
    fn make_images(&self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/container/probe.rs");
        let root = self.scratch.join("root");
        fs::create_dir_all(root.join("etc")).expect("the scratch folder is ours");
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
        let mut build = Command::new(rustc);
        build
            .args(["--edition=2024", "-C", "target-feature=+crt-static", "-o"])
            .arg(root.join("probe"))
            .arg(source);
        assert!(build.status().expect("rustc starts").success());
        self.import(&root, PLAIN);
        fs::write(root.join("etc/passwd"), "root:x:0:0::/:\nnobody:x:99:99::/:\n")
            .expect("the scratch folder is ours");
        self.import(&root, WITH_USERS);
    }

    fn import(&self, root: &Path, name: &str) {
        let tar = self.scratch.join("root.tar");
        let packed = Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(root).arg(".").status();
        assert!(packed.expect("tar starts").success());
        let mut import = command(self.binary);
        import.args(["import", "--change", "CMD [\"/probe\"]"]).arg(&tar).arg(name).stdout(Stdio::null());
        assert!(import.status().expect("the engine starts").success());
    }

    /// Makes a package whose one function is an image, and runs it.
    fn run(&self, name: &str, spec: &str, mode: &str, args: &[&str]) -> Output {
        self.start(name, spec, mode, args).wait_with_output().expect("krm ends")
    }

    fn start(&self, name: &str, spec: &str, mode: &str, args: &[&str]) -> Child {
        let dir = self.scratch.join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("pkg/data")).expect("the scratch folder is ours");
        let spec = spec.replace('\n', "\n      ");
        let config = format!(
            "apiVersion: example.com/v1\nkind: Probe\nmetadata:\n  name: probe\n  annotations:\n    \
             config.kubernetes.io/function: |\n      {spec}\nspec:\n  mode: {mode}\n"
        );
        fs::write(dir.join("pkg/probe.yaml"), config).expect("the scratch folder is ours");
        fs::write(dir.join("pkg/secret"), "of the folder\n").expect("the scratch folder is ours");
        fs::write(dir.join("pkg/data/secret"), "of the data\n").expect("the scratch folder is ours");
        let mut krm = command(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "pkg", "--dry-run", "--allow-empty", "--image-pull-policy", "Never"])
            .args(args);
        krm.current_dir(&dir).env("KRM_FN_RUNTIME", self.binary).env("HOME_OF_THE_HOST", "here");
        krm.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("krm starts")
    }

    /// The facts a probe reports.
    fn report(&self, name: &str, spec: &str, args: &[&str]) -> Vec<(String, String)> {
        let output = self.run(name, spec, "report", args);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stderr}");
        let facts = stdout.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": "));
        facts.map(|(key, value)| (key.into(), value.trim_matches('"').into())).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fact<'f>(facts: &'f [(String, String)], name: &str) -> &'f str {
    let found = facts.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no fact `{name}` in {facts:?}"))
}

fn image(name: &str, more: &str) -> String {
    format!("container:\n  image: {name}{more}")
}

#[test]
fn a_container_can_do_next_to_nothing() {
    let Some(engine) = engine() else { return };
    let facts = engine.report("nothing", &image(PLAIN, ""), &[]);
    for (name, expected) in [
        ("Uid", "65534"),
        ("Gid", "65534"),
        ("NoNewPrivs", "1"),
        ("CapEff", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("interfaces", "lo"),
        ("write-", "ReadOnlyFilesystem"),
        ("write-tmp", "yes"),
        ("read-local", "of the folder"),
        ("write-local", "ReadOnlyFilesystem"),
        ("read-data", "NotFound"),
        ("env-LOG_TO_STDERR", "true"),
        ("env-STRUCTURED_RESULTS", "true"),
        ("env-HOME_OF_THE_HOST", "unset"),
    ] {
        assert_eq!(fact(&facts, name), expected, "{name}");
    }
}

#[test]
fn nobody_is_whom_the_image_says() {
    let Some(engine) = engine() else { return };
    assert_eq!(fact(&engine.report("users", &image(WITH_USERS, ""), &[]), "Uid"), "99");
    let ours = Command::new("id").arg("-u").output().expect("id starts");
    let facts = engine.report("ourselves", &image(WITH_USERS, ""), &["--as-current-user"]);
    assert_eq!(fact(&facts, "Uid"), text(&ours.stdout).trim());
}

#[test]
fn the_network_needs_both_to_agree() {
    let Some(engine) = engine() else { return };
    let wants = image(PLAIN, "\n  network: true");
    let refused = engine.run("refused", &wants, "report", &[]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("error[network-not-enabled]"), "{}", text(&refused.stderr));
    let alone = engine.report("alone", &image(PLAIN, ""), &["--network"]);
    assert_eq!(fact(&alone, "interfaces"), "lo", "a function that does not ask gets none");
    let both = engine.report("both", &wants, &["--network"]);
    let host = fs::read_to_string("/proc/net/dev").expect("this is Linux");
    let host: Vec<&str> = host.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(fact(&both, "interfaces"), host.join(" "));
}

#[test]
fn declared_mounts_and_variables_arrive() {
    let Some(engine) = engine() else { return };
    let spec =
        "\n  mounts:\n  - {type: bind, src: pkg/data, dst: /data}\n  envs: [DECLARED=1, GIVEN=declared]";
    let facts =
        engine.report("mounts", &image(PLAIN, spec), &["-e", "GIVEN=by hand", "-e", "HOME_OF_THE_HOST"]);
    for (name, expected) in [
        ("read-data", "of the data"),
        ("write-data", "ReadOnlyFilesystem"),
        ("env-DECLARED", "1"),
        ("env-GIVEN", "by hand"),
        ("env-HOME_OF_THE_HOST", "here"),
    ] {
        assert_eq!(fact(&facts, name), expected, "{name}");
    }
    // Writable only where that is said. Nobody may write there all the same, unless the folder lets him.
    let writable = spec.replace("dst: /data", "dst: /data, rw: true");
    assert_eq!(
        fact(&engine.report("writable", &image(PLAIN, &writable), &[]), "write-data"),
        "PermissionDenied"
    );
    let facts = engine.report("writable", &image(PLAIN, &writable), &["--as-current-user"]);
    assert_eq!(fact(&facts, "write-data"), "yes");
    let mount = "type=bind,src=pkg/data,dst=/data";
    assert_eq!(
        fact(&engine.report("mount", &image(PLAIN, ""), &["--mount", mount]), "read-data"),
        "of the data"
    );
    let outside = image(PLAIN, "\n  mounts:\n  - {type: bind, src: ../.., dst: /data}");
    let refused = engine.run("outside", &outside, "report", &[]);
    assert!(text(&refused.stderr).contains("error[function-mount-outside]"), "{}", text(&refused.stderr));
}

#[test]
fn a_glutton_is_stopped() {
    let Some(engine) = engine() else { return };
    let output = engine.run("hog", &image(PLAIN, ""), "hog", &["--memory", "64Mi", "--timeout", "60s"]);
    let stderr = text(&output.stderr);
    assert!(!output.status.success());
    assert!(stderr.contains("exit status 137") && stderr.contains(PLAIN), "{stderr}");
}

#[test]
fn processes_are_bounded() {
    let Some(engine) = engine() else { return };
    let output = engine.run("multiply", &image(PLAIN, ""), "multiply", &[]);
    let stdout = text(&output.stdout);
    let threads = stdout.lines().find_map(|line| line.trim().strip_prefix("threads: \"")?.strip_suffix('"'));
    let threads: usize =
        threads.unwrap_or_else(|| panic!("{stdout}{}", text(&output.stderr))).parse().unwrap();
    assert!((100..1100).contains(&threads), "{threads} threads");
}

#[test]
fn one_that_hangs_is_stopped_and_gone() {
    let Some(engine) = engine() else { return };
    let start = Instant::now();
    let krm = engine.start("hang", &image(PLAIN, ""), "hang", &["--timeout", "3s"]);
    let name = format!("name=krm-fn-{}-", krm.id());
    let running = || {
        let list = command(engine.binary).args(["ps", "-q", "--filter", &name]).output();
        !text(&list.expect("the engine starts").stdout).trim().is_empty()
    };
    let seen = || {
        (0..50).any(|_| {
            running() || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        })
    };
    assert!(seen(), "it runs");
    let stderr = text(&krm.wait_with_output().expect("krm ends").stderr);
    assert!(stderr.contains("stopped after 3 s"), "{stderr}");
    assert!(start.elapsed() < Duration::from_secs(60));
    let deadline = Instant::now() + Duration::from_secs(20);
    while running() {
        assert!(Instant::now() < deadline, "the container is still there");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_container_does_not_outlive_krm_whatever_ends_it() {
    let Some(engine) = engine() else { return };
    for signal in ["INT", "QUIT", "KILL"] {
        let mut krm = engine.start(&format!("ended-{signal}"), &image(PLAIN, ""), "hang", &[]);
        let name = format!("name=krm-fn-{}-", krm.id());
        let running = || {
            let list = command(engine.binary).args(["ps", "-q", "--filter", &name]).output();
            !text(&list.expect("the engine starts").stdout).trim().is_empty()
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !running() {
            assert!(Instant::now() < deadline, "it never ran");
        }
        let kill = Command::new("kill").args([&format!("-{signal}"), &krm.id().to_string()]).status();
        assert!(kill.expect("kill starts").success());
        assert!(!krm.wait().expect("krm ends").success());
        while running() {
            assert!(Instant::now() < deadline, "after SIG{signal} the container is still there");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
fn images_are_fetched_when_the_user_says() {
    let Some(engine) = engine() else { return };
    let dir = engine.scratch.join("pull");
    fs::create_dir_all(dir.join("pkg")).expect("the scratch folder is ours");
    let run = |image: &str, policy: Option<&str>| {
        let mut krm = command(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "pkg", "--dry-run", "--image", image]);
        krm.args(policy.iter().flat_map(|policy| ["--image-pull-policy", policy]));
        let output = krm.current_dir(&dir).env("KRM_FN_RUNTIME", engine.binary).output().expect("krm starts");
        (output.status.success(), text(&output.stderr))
    };
    // It is nowhere but here, so anyone who looks elsewhere does not find it.
    for (policy, finds) in
        [(None, true), (Some("IfNotPresent"), true), (Some("Never"), true), (Some("Always"), false)]
    {
        let (found, stderr) = run(PLAIN, policy);
        assert_eq!(found, finds, "{policy:?}: {stderr}");
    }
    // And what is not here is looked for, unless that is not wanted.
    let missing = "localhost:1/krm-test-missing:1";
    let (found, stderr) = run(missing, None);
    let pulled =
        format!("help: check the name and the tag, and that `{} pull {missing}` works", engine.binary);
    assert!(!found && stderr.contains("error[image-not-pulled]: ") && stderr.contains(&pulled), "{stderr}");
    assert_eq!(stderr.matches("connection refused").count(), 1, "{stderr}");
    let (found, never) = run(missing, Some("Never"));
    assert!(!found && !never.contains("refused"), "{never}");
    assert_ne!(never, stderr);
}

#[test]
fn an_unchanged_step_is_taken_from_the_cache() {
    let Some(engine) = engine() else { return };
    let dir = engine.scratch.join("cached");
    fs::create_dir_all(dir.join("pkg")).expect("the scratch folder is ours");
    let run = |image: &str, args: &[&str]| {
        let mut krm = command(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "pkg", "--dry-run", "--cache", "--image", image]).args(args);
        krm.current_dir(&dir).env("KRM_FN_RUNTIME", engine.binary).env("XDG_CACHE_HOME", dir.join("cache"));
        let output = krm.output().expect("krm starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr).contains("from the cache"))
    };
    let (first, cached) = run(PLAIN, &[]);
    assert!(!cached);
    assert_eq!(run(PLAIN, &[]), (first, true));
    // Another image, another configuration, another environment: another output.
    assert!(!run(WITH_USERS, &[]).1);
    assert!(!run(PLAIN, &["--", "a=b"]).1);
    assert!(!run(PLAIN, &["-e", "GIVEN=1"]).1);
}

#[test]
fn the_engine_is_the_one_the_environment_names() {
    let dir = std::env::temp_dir().join(format!("krm-engine-{}", std::process::id()));
    fs::create_dir_all(dir.join("pkg")).expect("the temporary folder can be written to");
    let nerdctl = dir.join("nerdctl");
    fs::write(&nerdctl, "#!/bin/sh\necho \"$@\" > called\nexec cat\n").expect("the folder is ours");
    fs::set_permissions(&nerdctl, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the file is ours");
    let run = |variable: &str, name: &str| {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "pkg", "--dry-run", "--image", "example.com/some:1"]).current_dir(&dir);
        let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap_or_default());
        let output = krm.env("PATH", path).env(variable, name).output().expect("krm starts");
        (output.status.success(), text(&output.stderr))
    };
    for variable in ["KRM_FN_RUNTIME", "KPT_FN_RUNTIME"] {
        assert!(run(variable, "nerdctl").0);
        let called = fs::read_to_string(dir.join("called")).expect("it was called");
        assert!(
            called.starts_with("run --rm -i ") && called.contains("--network none --user nobody"),
            "{called}"
        );
        fs::remove_file(dir.join("called")).expect("the file is ours");
        let (succeeded, stderr) = run(variable, "lorry");
        assert!(!succeeded && stderr.contains("error[container-engine-unknown]"), "{stderr}");
    }
    let _ = fs::remove_dir_all(&dir);
}

#[test]
fn an_image_that_is_not_there_is_told() {
    let Some(engine) = engine() else { return };
    let output = engine.run("missing", &image("localhost/krm-test-missing:1", ""), "report", &[]);
    let stderr = text(&output.stderr);
    assert!(!output.status.success());
    assert!(stderr.contains("error[image-not-pulled]: "), "{stderr}");
    assert!(stderr.contains("the image `localhost/krm-test-missing:1` is not on this machine"), "{stderr}");
    assert!(stderr.contains(&format!("help: run `{} pull localhost", engine.binary)), "{stderr}");
}

/// The example functions, built as their Containerfile says.
#[test]
fn an_example_is_built_into_an_image_and_runs() {
    let Some(engine) = engine() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target = root.join("target/static");
    let built = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args([
            "build",
            "--quiet",
            "-p",
            "krm-example-functions",
            "--bin",
            "require-limits",
            "--target",
            &triple,
        ])
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(root)
        .status();
    assert!(built.expect("cargo starts").success());
    let name = "localhost/krm-test-require-limits:1";
    let image_built = command(engine.binary)
        .args(["build", "-q", "-t", name, "-f", "examples/functions/Containerfile"])
        .args(["--build-arg", "FUNCTION=require-limits"])
        .args(["--build-arg", &format!("BINARIES=target/static/{triple}/debug"), "."])
        .current_dir(root)
        .output()
        .expect("the engine starts");
    assert!(image_built.status.success(), "{}", text(&image_built.stderr));

    let dir = engine.scratch.join("example");
    fs::create_dir_all(dir.join("pkg")).expect("the scratch folder is ours");
    let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n";
    fs::write(dir.join("pkg/a.yaml"), pod).expect("the scratch folder is ours");
    let run = |args: &[&str]| {
        let mut krm = command(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "pkg", "--image", name, "--image-pull-policy", "Never"]).args(args);
        krm.current_dir(&dir).env("KRM_FN_RUNTIME", engine.binary).output().expect("krm starts")
    };
    let refused = run(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("container `c` has no limit on cpu"), "{}", text(&refused.stderr));
    let passed = run(&["--", "exempt=[c]"]);
    assert!(passed.status.success(), "{}", text(&passed.stderr));
    let mut doc = command(env!("CARGO_BIN_EXE_krm"));
    let doc = doc.args(["fn", "doc", "--image", name]).env("KRM_FN_RUNTIME", engine.binary).output();
    assert!(text(&doc.expect("krm starts").stdout).starts_with("Refuses containers without limits"));
}
