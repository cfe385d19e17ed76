//! Functions in containers: what they are kept from, and what stops them. With a real engine, and with the sandboxes that
//! do without one; the promises are the same.
//!
//! Where none works the tests say so and are left out; under `CI=true` they may not be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::json;

#[path = "support/left_out.rs"]
mod left_out;
#[path = "container/registry.rs"]
mod registry;
#[path = "support/scratch.rs"]
mod scratch;
#[path = "support/shared_scratch.rs"]
mod shared_scratch;

use left_out::left_out;
use registry::{Registry, layer, probe, works};
use scratch::Scratch;
use shared_scratch::shared_scratch;

/// What runs containers, and images made for these tests.
struct Engine {
    /// As KRM_FN_RUNTIME names it.
    binary: &'static str,
    is_sandbox: bool,
    scratch: PathBuf,
    /// Without a list of users, as images made from scratch are; and with one in which nobody has a number of his own.
    plain: String,
    with_users: String,
}

/// Where a machine with control groups of version 1 has those of version 2 as well. crun refuses such a mixture, so it gets
/// a view of the machine without it.
const CGROUP_2_BESIDE_1: &str = "/sys/fs/cgroup/unified";

/// All that work here.
fn engines() -> impl Iterator<Item = &'static Engine> {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    static REGISTRY: OnceLock<Option<Registry>> = OnceLock::new();
    let engines = ENGINES.get_or_init(|| {
        let scratch = shared_scratch("container");
        let root = scratch.join("root");
        fs::create_dir_all(root.join("etc")).expect("a writable temporary folder");
        probe(&root);
        let plain = layer(&root);
        fs::write(root.join("etc/passwd"), "root:x:0:0::/:\nnobody:x:99:99::/:\n").unwrap();
        let with_users = layer(&root);
        let mut engines = Vec::new();
        let engine = ["podman", "docker", "nerdctl"].into_iter().find(|binary| {
            let mut info = command(binary);
            info.arg("info").stdout(Stdio::null()).stderr(Stdio::null());
            info.status().is_ok_and(|status| status.success())
        });
        if let Some(binary) = engine {
            let engine = Engine {
                binary,
                is_sandbox: false,
                scratch: scratch.join(binary),
                plain: "localhost/krm-test-plain:1".into(),
                with_users: "localhost/krm-test-users:1".into(),
            };
            fs::create_dir_all(&engine.scratch).unwrap();
            engine.import(&plain, &engine.plain);
            engine.import(&with_users, &engine.with_users);
            engines.push(engine);
        }
        if let Some(registry) = REGISTRY.get_or_init(|| Registry::start(&scratch)) {
            let config = json!({"Cmd": ["/probe"]});
            registry.push("plain", "1", config.clone(), &[plain]);
            registry.push("users", "1", config, &[with_users]);
            // All but the first need root.
            let is_root = text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() == "0";
            let tools = ["bwrap", "crun", "runc"].into_iter().filter(|tool| works(tool, "--version"));
            for binary in tools.filter(|tool| *tool == "bwrap" || is_root) {
                let engine = Engine {
                    binary,
                    is_sandbox: true,
                    scratch: scratch.join(binary),
                    plain: format!("{}/plain:1", registry.address),
                    with_users: format!("{}/users:1", registry.address),
                };
                fs::create_dir_all(engine.scratch.join("pkg")).unwrap();
                for image in [&engine.plain, &engine.with_users] {
                    let mut krm = engine.krm(&["fn", "run", "pkg", "--dry-run", "--image", image]);
                    let output = krm.current_dir(&engine.scratch).output().expect("krm starts");
                    assert!(output.status.success(), "{binary}: {}", text(&output.stderr));
                }
                engines.push(engine);
            }
        }
        engines
    });
    for (name, is_there) in [
        ("container engine", engines.iter().any(|e| !e.is_sandbox)),
        ("bwrap", engines.iter().any(|e| e.binary == "bwrap")),
    ] {
        assert!(
            is_there || std::env::var("CI").is_err(),
            "no {name} works here, and CI may not leave it out"
        );
        if !is_there {
            left_out(format_args!("no {name} works here"));
        }
    }
    engines.iter()
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
    fn import(&self, layer: &[u8], name: &str) {
        let tar = self.scratch.join("root.tar");
        fs::write(&tar, layer).unwrap();
        let mut import = command(self.binary);
        import.args(["import", "--change", "CMD [\"/probe\"]"]).arg(&tar).arg(name).stdout(Stdio::null());
        assert!(import.status().expect("the engine starts").success());
    }

    /// krm, with this engine.
    fn krm(&self, args: &[&str]) -> Command {
        const KRM: &str = env!("CARGO_BIN_EXE_krm");
        let mut krm = match self.binary == "crun" && Path::new(CGROUP_2_BESIDE_1).exists() {
            true => {
                let mut unshare = command("unshare");
                let then = format!("umount {CGROUP_2_BESIDE_1} && exec \"$@\"");
                unshare.args(["--mount", "--propagation", "private", "sh", "-c", &then, "sh", KRM]);
                unshare
            }
            false => command(KRM),
        };
        krm.args(args).env("KRM_FN_RUNTIME", self.binary).env("XDG_CACHE_HOME", self.scratch.join("cache"));
        krm
    }

    /// Whether anything runs that this krm has started in a container.
    fn is_running(&self, krm: u32) -> bool {
        let name = format!("krm-fn-{krm}-");
        if self.is_sandbox {
            // The control groups are named like the containers.
            let groups = fs::read_dir("/proc").unwrap().flatten();
            let mut groups = groups.filter_map(|entry| fs::read_to_string(entry.path().join("cgroup")).ok());
            return groups.any(|groups| groups.contains(&name));
        }
        let list = command(self.binary).args(["ps", "-q", "--filter", &format!("name={name}")]).output();
        !text(&list.expect("the engine starts").stdout).trim().is_empty()
    }

    /// Waits until nothing runs any more.
    fn wait_until_gone(&self, krm: u32, why: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.is_running(krm) {
            assert!(Instant::now() < deadline, "{}, {why}: the container is still there", self.binary);
            std::thread::sleep(Duration::from_millis(100));
        }
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
        let mut krm =
            self.krm(&["fn", "run", "pkg", "--dry-run", "--allow-empty", "--image-pull-policy", "Never"]);
        krm.args(args).current_dir(&dir).env("HOME_OF_THE_HOST", "here");
        krm.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("krm starts")
    }

    /// The facts a probe reports.
    fn report(&self, name: &str, spec: &str, args: &[&str]) -> Vec<(String, String)> {
        self.facts(name, spec, "report", args)
    }

    fn facts(&self, name: &str, spec: &str, mode: &str, args: &[&str]) -> Vec<(String, String)> {
        let output = self.run(name, spec, mode, args);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{}: {stderr}", self.binary);
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
    for engine in engines() {
        let facts = engine.report("nothing", &image(&engine.plain, ""), &[]);
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
}

#[test]
fn nobody_is_whom_the_image_says() {
    for engine in engines() {
        assert_eq!(fact(&engine.report("users", &image(&engine.with_users, ""), &[]), "Uid"), "99");
        let ours = Command::new("id").arg("-u").output().expect("id starts");
        let facts = engine.report("ourselves", &image(&engine.with_users, ""), &["--as-current-user"]);
        assert_eq!(fact(&facts, "Uid"), text(&ours.stdout).trim());
    }
}

#[test]
fn the_network_needs_both_to_agree() {
    for engine in engines() {
        let wants = image(&engine.plain, "\n  network: true");
        let refused = engine.run("refused", &wants, "report", &[]);
        assert!(!refused.status.success());
        assert!(text(&refused.stderr).contains("error[network-not-enabled]"), "{}", text(&refused.stderr));
        let alone = engine.report("alone", &image(&engine.plain, ""), &["--network"]);
        assert_eq!(fact(&alone, "interfaces"), "lo", "a function that does not ask gets none");
        let both = engine.report("both", &wants, &["--network"]);
        let host = fs::read_to_string("/proc/net/dev").expect("this is Linux");
        let host: Vec<&str> = host.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
        assert_eq!(fact(&both, "interfaces"), host.join(" "));
    }
}

#[test]
fn declared_mounts_and_variables_arrive() {
    for engine in engines() {
        let spec =
            "\n  mounts:\n  - {type: bind, src: pkg/data, dst: /data}\n  envs: [DECLARED=1, GIVEN=declared]";
        let facts = engine.report(
            "mounts",
            &image(&engine.plain, spec),
            &["-e", "GIVEN=by hand", "-e", "HOME_OF_THE_HOST"],
        );
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
            fact(&engine.report("writable", &image(&engine.plain, &writable), &[]), "write-data"),
            "PermissionDenied"
        );
        let facts = engine.report("writable", &image(&engine.plain, &writable), &["--as-current-user"]);
        assert_eq!(fact(&facts, "write-data"), "yes");
        let mount = "type=bind,src=pkg/data,dst=/data";
        assert_eq!(
            fact(&engine.report("mount", &image(&engine.plain, ""), &["--mount", mount]), "read-data"),
            "of the data"
        );
        let outside = image(&engine.plain, "\n  mounts:\n  - {type: bind, src: ../.., dst: /data}");
        let refused = engine.run("outside", &outside, "report", &[]);
        assert!(text(&refused.stderr).contains("error[function-mount-outside]"), "{}", text(&refused.stderr));
    }
}

#[test]
fn declared_mounts_reach_nothing_but_the_package() {
    for engine in engines() {
        let declared = |mount: &str| image(&engine.plain, &format!("\n  mounts: [{mount}]"));
        for (mount, code) in [
            ("{type: volume, src: other, dst: /data}", "function-mount-type"),
            ("{type: image, src: example.com/other:v1, dst: /data}", "function-mount-type"),
            ("{type: glob, src: 'pkg/*', dst: /data}", "function-mount-type"),
            ("{type: bind, src: /etc, dst: /data}", "function-mount-outside"),
            ("{src: pkg/../../other, dst: /data}", "function-mount-outside"),
        ] {
            let refused = engine.run("beyond", &declared(mount), "report", &[]);
            let said = text(&refused.stderr);
            assert!(said.contains(&format!("error[{code}]")), "{}, {mount}: {said}", engine.binary);
            assert!(refused.stdout.is_empty() && !refused.status.success(), "{}, {mount}", engine.binary);
        }
        let facts = engine.report("bind", &declared("{src: pkg/data, dst: /data}"), &[]);
        assert_eq!(fact(&facts, "read-data"), "of the data");
        let facts = engine.report("tmpfs", &declared("{type: tmpfs, dst: /data}"), &[]);
        assert_eq!(fact(&facts, "read-data"), "NotFound");
    }
}

#[test]
fn declared_variables_hand_over_nothing_of_the_caller() {
    for engine in engines() {
        let declared = |envs: &str| image(&engine.plain, &format!("\n  envs: {envs}"));
        for (envs, args) in [
            ("[HOME_OF_THE_HOST]", &[][..]),
            ("[DECLARED=1, HOME_OF_THE_HOST]", &["-e", "OTHER"]),
            ("['*']", &["-e", "HOME_OF_THE_HOST"]),
            ("['HOME_*']", &["-e", "HOME_OF_THE_HOST"]),
        ] {
            let refused = engine.run("handed-over", &declared(envs), "report", args);
            let said = text(&refused.stderr);
            assert!(said.contains("error[function-env-not-given]"), "{}, {envs}: {said}", engine.binary);
        }
        let facts = engine.report("named", &declared("[HOME_OF_THE_HOST]"), &["-e", "HOME_OF_THE_HOST"]);
        assert_eq!(fact(&facts, "env-HOME_OF_THE_HOST"), "here", "{}", engine.binary);
    }
}

#[test]
fn a_glutton_is_stopped() {
    for engine in engines() {
        let output =
            engine.run("hog", &image(&engine.plain, ""), "hog", &["--memory", "64Mi", "--timeout", "60s"]);
        let stderr = text(&output.stderr);
        assert!(!output.status.success());
        assert!(stderr.contains("exit status 137") && stderr.contains(&engine.plain), "{stderr}");
    }
}

#[test]
fn processes_are_bounded() {
    for engine in engines() {
        let output = engine.run("multiply", &image(&engine.plain, ""), "multiply", &[]);
        let stdout = text(&output.stdout);
        let threads =
            stdout.lines().find_map(|line| line.trim().strip_prefix("threads: \"")?.strip_suffix('"'));
        let threads: usize =
            threads.unwrap_or_else(|| panic!("{stdout}{}", text(&output.stderr))).parse().unwrap();
        assert!((100..1100).contains(&threads), "{threads} threads");
    }
}

#[test]
fn one_that_hangs_is_stopped_and_gone() {
    for engine in engines() {
        let start = Instant::now();
        let krm = engine.start("hang", &image(&engine.plain, ""), "hang", &["--timeout", "3s"]);
        let id = krm.id();
        let seen = (0..50).any(|_| {
            engine.is_running(id) || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        });
        assert!(seen, "it runs");
        let stderr = text(&krm.wait_with_output().expect("krm ends").stderr);
        assert!(stderr.contains("stopped after 3 s"), "{stderr}");
        assert!(start.elapsed() < Duration::from_secs(60));
        engine.wait_until_gone(id, "after its time");
    }
}

#[test]
fn a_container_does_not_outlive_krm_whatever_ends_it() {
    for engine in engines() {
        for signal in ["INT", "QUIT", "KILL"] {
            let mut krm = engine.start(&format!("ended-{signal}"), &image(&engine.plain, ""), "hang", &[]);
            let deadline = Instant::now() + Duration::from_secs(30);
            while !engine.is_running(krm.id()) {
                assert!(Instant::now() < deadline, "it never ran");
            }
            let kill = Command::new("kill").args([&format!("-{signal}"), &krm.id().to_string()]).status();
            assert!(kill.expect("kill starts").success());
            assert!(!krm.wait().expect("krm ends").success());
            engine.wait_until_gone(krm.id(), &format!("after SIG{signal}"));
        }
    }
}

#[test]
fn images_are_fetched_when_the_user_says() {
    for engine in engines() {
        let dir = engine.scratch.join("pull");
        fs::create_dir_all(dir.join("pkg")).expect("the scratch folder is ours");
        let run = |image: &str, policy: Option<&str>| {
            let mut krm = engine.krm(&["fn", "run", "pkg", "--dry-run", "--image", image]);
            krm.args(policy.iter().flat_map(|policy| ["--image-pull-policy", policy]));
            let output = krm.current_dir(&dir).output().expect("krm starts");
            (output.status.success(), text(&output.stderr))
        };
        // It is nowhere but here, so anyone who looks elsewhere does not find it. What a sandbox runs has a registry.
        let elsewhere = engine.is_sandbox;
        for (policy, finds) in
            [(None, true), (Some("IfNotPresent"), true), (Some("Never"), true), (Some("Always"), elsewhere)]
        {
            let (found, stderr) = run(&engine.plain, policy);
            assert_eq!(found, finds, "{policy:?}: {stderr}");
        }
        // And what is not here is looked for, unless that is not wanted.
        let missing = "localhost:1/krm-test-missing:1";
        let (found, stderr) = run(missing, None);
        let pulled = match engine.is_sandbox {
            true => "help: check the name and the tag".to_owned(),
            false => {
                format!("help: check the name and the tag, and that `{} pull {missing}` works", engine.binary)
            }
        };
        assert!(
            !found && stderr.contains("error[image-not-pulled]: ") && stderr.contains(&pulled),
            "{stderr}"
        );
        assert_eq!(stderr.to_lowercase().matches("connection refused").count(), 1, "{stderr}");
        let (found, never) = run(missing, Some("Never"));
        assert!(!found && !never.contains("refused"), "{never}");
        assert_ne!(never, stderr);
    }
}

#[test]
fn an_unchanged_step_is_taken_from_the_cache() {
    for engine in engines() {
        let dir = engine.scratch.join("cached");
        fs::create_dir_all(dir.join("pkg")).expect("the scratch folder is ours");
        let run = |image: &str, args: &[&str]| {
            let mut krm = engine.krm(&["fn", "run", "pkg", "--dry-run", "--cache", "--image", image]);
            krm.args(args).current_dir(&dir).env("XDG_CACHE_HOME", dir.join("cache"));
            let output = krm.output().expect("krm starts");
            assert!(output.status.success(), "{}", text(&output.stderr));
            (text(&output.stdout), text(&output.stderr).contains("from the cache"))
        };
        let (first, cached) = run(&engine.plain, &[]);
        assert!(!cached);
        assert_eq!(run(&engine.plain, &[]), (first, true));
        // Another image, another configuration, another environment: another output.
        assert!(!run(&engine.with_users, &[]).1);
        assert!(!run(&engine.plain, &["--", "a=b"]).1);
        assert!(!run(&engine.plain, &["-e", "GIVEN=1"]).1);
    }
}

#[test]
fn the_engine_is_the_one_the_environment_names() {
    let dir = Scratch::new("engine");
    fs::create_dir(dir.join("pkg")).expect("the folder is ours");
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
}

#[test]
fn a_missing_image_is_reported() {
    for engine in engines() {
        let output = engine.run("missing", &image("localhost/krm-test-missing:1", ""), "report", &[]);
        let stderr = text(&output.stderr);
        assert!(!output.status.success());
        assert!(stderr.contains("error[image-not-pulled]: "), "{stderr}");
        assert!(
            stderr.contains("the image `localhost/krm-test-missing:1` is not on this machine"),
            "{stderr}"
        );
        let help = match engine.is_sandbox {
            true => "help: allow another pull policy".to_owned(),
            false => format!("help: run `{} pull localhost", engine.binary),
        };
        assert!(stderr.contains(&help), "{stderr}");
    }
}

/// A function that tries what it must not, with all it can do.
#[test]
fn an_attacker_gets_nowhere() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("LISTENER_OF_THE_HOST={}", listener.local_addr().unwrap());
    for engine in engines() {
        let facts = engine.facts("attack", &image(&engine.plain, ""), "attack", &["-e", &address]);
        let got: Vec<_> = facts.iter().filter(|(_, value)| value == "yes").collect();
        assert!(got.is_empty(), "{}: {got:?}", engine.binary);
        assert_eq!(fact(&facts, "setuid"), "-1", "{}", engine.binary);
        // Whether an engine refuses that is for its seccomp profile to say.
        if engine.is_sandbox {
            assert_eq!(fact(&facts, "unshare"), "-1", "{}", engine.binary);
        }
        assert_eq!(fact(&facts, "connect"), "ConnectionRefused");
        assert_eq!(fact(&facts, "send"), "NetworkUnreachable");
    }
}

#[test]
fn memory_is_bounded_for_all_processes_together() {
    for engine in engines() {
        let facts =
            engine.facts("together", &image(&engine.plain, ""), "hog-together", &["--memory", "100Mi"]);
        let stopped: u32 = fact(&facts, "stopped").parse().unwrap();
        assert!((1..=4).contains(&stopped), "{}: {stopped} of 4 were stopped", engine.binary);
    }
}

#[test]
fn what_a_function_leaves_is_ended() {
    for engine in engines() {
        for (mode, args) in [("orphan", &[][..]), ("orphan-and-hang", &["--timeout", "2s"]), ("fork", &[])] {
            let krm = engine.start(mode, &image(&engine.plain, ""), mode, args);
            let id = krm.id();
            let output = krm.wait_with_output().expect("krm ends");
            assert_eq!(output.status.success(), mode != "orphan-and-hang", "{}", text(&output.stderr));
            engine.wait_until_gone(id, mode);
            if mode == "fork" {
                let stdout = text(&output.stdout);
                let count = stdout
                    .lines()
                    .find_map(|line| line.trim().strip_prefix("threads: \"")?.strip_suffix('"'));
                let count: usize = count.unwrap_or_else(|| panic!("{stdout}")).parse().unwrap();
                assert!((100..1100).contains(&count), "{count} processes");
            }
        }
    }
}

/// The example functions, built as their Containerfile says.
#[test]
fn an_example_is_built_into_an_image_and_runs() {
    for engine in engines().filter(|engine| !engine.is_sandbox) {
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
        assert!(
            text(&refused.stderr).contains("container `c` has no limit on cpu"),
            "{}",
            text(&refused.stderr)
        );
        let passed = run(&["--", "exempt=[c]"]);
        assert!(passed.status.success(), "{}", text(&passed.stderr));
        let mut doc = command(env!("CARGO_BIN_EXE_krm"));
        let doc = doc.args(["fn", "doc", "--image", name]).env("KRM_FN_RUNTIME", engine.binary).output();
        assert!(text(&doc.expect("krm starts").stdout).starts_with("Refuses containers without limits"));
    }
}
