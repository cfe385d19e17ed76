//! Functions on servers of the Remote Execution API: real ones, which `.ci/servers` starts, and one that misbehaves.
//!
//! Without real servers the tests that need them say so and are left out; with `KRM_SERVERS_NEEDED` they may not be.

#![cfg(all(unix, feature = "remote"))]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use krm_engine::runtime::reapi::{ActionResult, Digest};
use prost::Message;

#[path = "remote_execution/cache.rs"]
mod cache;
#[path = "remote_execution/everywhere.rs"]
mod everywhere;
#[path = "remote_execution/fake.rs"]
mod fake;
// The fake server speaks in the same messages; that they are the published ones is shown by the real servers.
#[path = "support/left_out.rs"]
mod left_out;
#[allow(dead_code)]
#[path = "../src/remote/messages.rs"]
mod messages;
#[path = "support/scratch.rs"]
mod scratch;
#[path = "support/texts.rs"]
mod support;

use fake::{Fake, Instead, NO_SANDBOX, SANDBOX};
use left_out::left_out;
use messages::{Any, BatchReadBlobsRequest, BatchReadBlobsResponse, BlobRead, ExecuteResponse, RpcStatus};
use scratch::Scratch;
use support::texts;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The address of a server, by the variable that holds it.
fn server(name: &str) -> Option<String> {
    let address = std::env::var(name).ok().filter(|address| !address.is_empty());
    if address.is_none() {
        assert!(
            std::env::var_os("KRM_SERVERS_NEEDED").is_none(),
            "{name} is not set, and these tests may not be left out"
        );
        left_out(format_args!("{name} is not set; `.ci/servers` starts servers"));
    }
    address
}

/// A folder of one test alone.
struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = Scratch::new(&format!("remote-{name}"));
        fs::create_dir_all(dir.join("pkg")).expect("the temporary folder can be written to");
        Self(dir)
    }

    /// With one resource, and a function that renames it.
    fn with_function(name: &str) -> Self {
        let folder = Self::new(name);
        folder.write("pkg/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n");
        folder.script("fn", "#!/bin/sh\nwhile IFS= read -r line; do\n  case $line in\n  *'name: a') echo \"${line%a}b\" ;;\n  *) printf '%s\\n' \"$line\" ;;\n  esac\ndone\n");
        folder
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }

    fn script(&self, file: &str, text: &str) {
        self.write(file, text);
        fs::set_permissions(self.0.join(file), fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }

    fn files(&self, below: &str) -> BTreeMap<String, String> {
        let named = |(name, text)| (format!("{below}/{name}"), text);
        texts(&self.0.join(below)).into_iter().map(named).collect()
    }

    fn krm(&self, args: &[&str]) -> Output {
        self.krm_with(args, &[])
    }

    fn krm_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args).current_dir(&self.0).stdin(Stdio::null());
        krm.env("XDG_CACHE_HOME", self.0.join("cache")).envs(variables.iter().copied());
        krm.output().expect("krm starts")
    }

    /// Runs the function on a server.
    fn remotely(&self, server: &str, more: &[&str]) -> Output {
        let args = ["fn", "run", "pkg", "--dry-run", "--enable-exec", "--exec-path", "./fn"];
        let remote = ["--remote-executor", server, "--remote-executables"];
        self.krm(&[&args[..], &remote, more].concat())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// What was said by a command that fails.
fn failed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "nothing is printed of a function that failed");
    text(&output.stderr)
}

const RENAMED: &str = "  name: b\n";

/// The example functions, built.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let manifest = root().join("examples/functions/Cargo.toml");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--bins", "--manifest-path"]).arg(manifest);
        assert!(build.status().expect("cargo starts").success());
        Path::new(env!("CARGO_BIN_EXE_krm")).parent().expect("it is in a folder").to_owned()
    })
}

#[test]
fn a_second_run_takes_results_from_the_cache_of_the_server() {
    let Some(server) = server("KRM_TEST_REAPI_PROGRAMS") else { return };
    let folder = Folder::with_function("cached");
    folder.write(
        "pkg/b.yaml",
        &format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x{}\n", std::process::id()),
    );
    let first = folder.remotely(&server, &["-o", "json"]);
    let second = folder.remotely(&server, &["-o", "json"]);
    assert_eq!(succeeded(&first), succeeded(&second));
    assert!(
        !text(&first.stderr).contains("\"cached\": true") && !text(&first.stderr).contains("\"cached\":true")
    );
    assert!(text(&second.stderr).replace(' ', "").contains("\"cached\":true"), "{}", text(&second.stderr));
}

#[test]
fn a_function_that_fails_or_hangs_does_so_as_on_this_machine() {
    let Some(server) = server("KRM_TEST_REAPI_PROGRAMS") else { return };
    let folder = Folder::with_function("fails");
    folder.script("fn", "#!/bin/sh\ncat >/dev/null\necho 'a reason' >&2\nexit 3\n");
    let here =
        failed(&folder.krm(&["fn", "run", "pkg", "--dry-run", "--enable-exec", "--exec-path", "./fn"]));
    let there = failed(&folder.remotely(&server, &[]));
    let without_times =
        |said: &str| said.lines().filter(|line| !line.starts_with("[FAIL]")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_times(&here), without_times(&there));
    assert!(there.contains("a reason") && there.contains("exit status 3"), "{there}");

    folder.script("fn", "#!/bin/sh\nsleep 60\n");
    let there = failed(&folder.remotely(&server, &["--timeout", "1s"]));
    assert!(there.contains("its time limit"), "{there}");
}

#[test]
fn a_program_without_its_libraries_says_what_it_needs() {
    let Some(server) = server("KRM_TEST_REAPI") else { return };
    let folder = Folder::with_function("libraries");
    let said = failed(&folder.remotely(&server, &[]));
    assert!(said.contains("error[remote-not-started]") && said.contains("it needs `/bin/sh`"), "{said}");
    fs::copy(programs().join("set-size"), folder.0.join("fn")).expect("it was built");
    let said = failed(&folder.remotely(&server, &[]));
    assert!(said.contains("ld-linux") && said.contains("libraries"), "{said}");
}

#[test]
fn a_server_without_a_sandbox_is_refused() {
    let Some(server) = server("KRM_TEST_REAPI_2") else { return };
    let folder = Folder::with_function("sandbox");
    let said = failed(&folder.remotely(&server, &[]));
    assert!(
        said.contains("error[remote-no-sandbox]") && said.contains("it gives them the network"),
        "{said}"
    );
    assert!(said.contains("--remote-trust-sandbox"), "{said}");
    assert!(succeeded(&folder.remotely(&server, &["--remote-trust-sandbox"])).contains(RENAMED));
}

/// A registry, and images made for these tests.
struct Images {
    registry: String,
}

impl Images {
    /// Puts an image with these files into the registry, and returns its name with a digest.
    fn push(&self, name: &str, files: &[(&Path, &str)], config: &str) -> String {
        let folder = Folder::new(&format!("image-{name}"));
        for (source, target) in files {
            let target = folder.0.join("pkg").join(target.trim_start_matches('/'));
            fs::create_dir_all(target.parent().expect("it is in a folder")).expect("the folder is ours");
            fs::copy(source, &target).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        }
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(folder.0.join("layer")).arg("-C").arg(folder.0.join("pkg")).arg(".");
        let tar = tar.status();
        assert!(tar.expect("tar starts").success());
        let unpacked =
            Command::new("gzip").arg("-dc").arg(folder.0.join("layer")).output().expect("gzip starts").stdout;
        let layer = fs::read(folder.0.join("layer")).expect("it was made");
        let diff = Digest::of(&unpacked).hash;
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let config = format!(
            "{{\"architecture\":\"{architecture}\",\"os\":\"linux\",\"config\":{config},\
             \"rootfs\":{{\"type\":\"layers\",\"diff_ids\":[\"sha256:{diff}\"]}}}}"
        );
        let (layer_digest, layer_size) = (self.blob(name, &layer), layer.len());
        let (config_digest, config_size) = (self.blob(name, config.as_bytes()), config.len());
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = format!(
            "{{\"schemaVersion\":2,\"mediaType\":\"{kind}\",\"config\":{{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\
             \"digest\":\"{config_digest}\",\"size\":{config_size}}},\"layers\":[{{\"mediaType\":\
             \"application/vnd.oci.image.layer.v1.tar+gzip\",\"digest\":\"{layer_digest}\",\"size\":{layer_size}}}]}}"
        );
        let url = format!("http://{}/v2/{name}/manifests/v1", self.registry);
        ureq::put(url).header("content-type", kind).send(&manifest).expect("the registry takes a manifest");
        format!("{}/{name}@sha256:{}", self.registry, Digest::of(manifest.as_bytes()).hash)
    }

    fn blob(&self, name: &str, bytes: &[u8]) -> String {
        let digest = format!("sha256:{}", Digest::of(bytes).hash);
        let url = format!("http://{}/v2/{name}/blobs/uploads/", self.registry);
        let begun = ureq::post(url).send_empty().expect("the registry takes blobs");
        let location = begun.headers()["location"].to_str().expect("an address").to_owned();
        let location = match location.starts_with('/') {
            true => format!("http://{}{location}", self.registry),
            false => location,
        };
        let sign = if location.contains('?') { '&' } else { '?' };
        ureq::put(format!("{location}{sign}digest={digest}"))
            .header("content-type", "application/octet-stream")
            .send(bytes)
            .expect("the registry takes a blob");
        digest
    }
}

/// A program and the libraries it is linked with, where it looks for them.
fn with_libraries(program: &Path, target: &str) -> Vec<(PathBuf, String)> {
    let listed = Command::new("ldd").arg(program).output().expect("ldd starts");
    let mut files = vec![(program.to_owned(), target.to_owned())];
    for word in text(&listed.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
        files.push((fs::canonicalize(word).expect("libraries are there"), word.to_owned()));
    }
    files
}

/// The function that reports what it can see and do, as an image.
fn probe(images: &Images) -> String {
    let folder = Folder::new("probe");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut build = Command::new(rustc);
    build.args(["--edition=2024", "-C", "target-feature=+crt-static", "-o"]).arg(folder.0.join("probe"));
    assert!(build.arg(root().join("tests/container/probe.rs")).status().expect("rustc starts").success());
    images.push("probe", &[(&folder.0.join("probe"), "/probe")], "{\"Cmd\":[\"/probe\"]}")
}

#[test]
fn images_are_kept_from_what_they_are_kept_from_here() {
    let (Some(server), Some(registry)) = (server("KRM_TEST_REAPI"), server("KRM_TEST_REGISTRY")) else {
        return;
    };
    let image = probe(&Images { registry });
    let folder = Folder::new("kept");
    let declare = |more: &str| {
        let config = format!(
            "apiVersion: example.com/v1\nkind: Probe\nmetadata:\n  name: probe\n  annotations:\n    \
             config.kubernetes.io/function: |\n      container:\n        image: {image}\n{more}spec:\n  mode: report\n"
        );
        folder.write("pkg/probe.yaml", &config);
    };
    folder.write("pkg/secret", "of the folder\n");
    folder.write("pkg/data/secret", "of the data\n");
    let run = |more: &[&str]| {
        let args = ["fn", "run", "pkg", "--dry-run", "--allow-empty", "--remote-executor", &server];
        folder.krm_with(
            &[&args[..], more].concat(),
            &[("HOME_OF_THE_HOST", "here"), ("KRM_FN_RUNTIME", "podman")],
        )
    };
    let facts = |output: &Output| -> BTreeMap<String, String> {
        let printed = succeeded(output);
        let facts = printed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": "));
        facts.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned())).collect()
    };

    declare(
        "        mounts:\n        - type: bind\n          src: pkg/data\n          dst: /data\n        envs:\n        - DECLARED=yes\n",
    );
    let output = run(&[]);
    assert!(!text(&output.stderr).contains("runs on this machine"), "{}", text(&output.stderr));
    let seen = facts(&output);
    for (name, expected) in [
        ("Uid", "65534"),
        ("Gid", "65534"),
        ("NoNewPrivs", "1"),
        ("CapEff", "0000000000000000"),
        ("interfaces", "lo"),
        ("read-local", "of the folder"),
        ("read-data", "of the data"),
        ("env-LOG_TO_STDERR", "true"),
        ("env-DECLARED", "yes"),
        ("env-HOME_OF_THE_HOST", "unset"),
    ] {
        assert_eq!(seen.get(name).map(String::as_str), Some(expected), "{name} in {seen:?}");
    }
    // Nothing that is written there comes back.
    assert_eq!(
        folder.files("pkg").keys().collect::<Vec<_>>(),
        ["pkg/data/secret", "pkg/probe.yaml", "pkg/secret"]
    );

    // A variable of this machine is sent only if it is named for servers too.
    declare("");
    let sent = facts(&run(&["--env", "GIVEN=secret", "--remote-env", "GIVEN"]));
    assert_eq!(sent.get("env-GIVEN").map(String::as_str), Some("secret"));
    let kept = text(&run(&["--env", "GIVEN=secret", "--image-pull-policy", "Never"]).stderr);
    assert!(kept.contains("`--env GIVEN` is for this machine only"), "{kept}");

    // What needs the network or writes to a mount is not sent.
    declare("        network: true\n");
    let stays = text(&run(&["--network", "--image-pull-policy", "Never"]).stderr);
    assert!(stays.contains("warning[remote-not-sent]") && stays.contains("it uses the network"), "{stays}");
    declare(
        "        mounts:\n        - type: bind\n          src: pkg/data\n          dst: /data\n          rw: true\n",
    );
    let stays = text(&run(&["--image-pull-policy", "Never"]).stderr);
    assert!(stays.contains("it writes to `/data`"), "{stays}");
}

#[test]
fn an_image_that_cannot_be_pulled_is_an_error() {
    let (Some(server), Some(registry)) = (server("KRM_TEST_REAPI"), server("KRM_TEST_REGISTRY")) else {
        return;
    };
    let folder = Folder::with_function("not-pulled");
    let image = format!("{registry}/none:v1");
    let output =
        folder.krm(&["fn", "run", "pkg", "--dry-run", "--image", &image, "--remote-executor", &server]);
    let said = failed(&output);
    assert!(said.contains("cannot be looked up") && said.contains("404"), "{said}");
}

fn well(_: &fake::Asked, _: &mut fake::State) -> Option<Instead> {
    None
}

#[test]
fn the_fake_works_as_the_real_ones_do() {
    let folder = Folder::with_function("fake");
    let fake = Fake::start(SANDBOX, well);
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
    let state = fake.state.lock().unwrap();
    let call = state.executed.last().unwrap();
    assert_eq!(call.arguments, [".krm/start", ".krm/stdin", "", ".krm/program/fn", "", ".krm/program/fn"]);
    let names: Vec<&str> = call.environment_variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["LOG_TO_STDERR", "PATH", "STRUCTURED_RESULTS"], "nothing of this machine is sent");
}

#[test]
fn as_many_calls_are_in_flight_as_the_user_says() {
    const CALLS: usize = 200;
    let folder = Folder::with_function("in-flight");
    let function = format!(
        "apiVersion: v1\nkind: Fn\nmetadata:\n  name: fn\n  annotations:\n    config.kubernetes.io/function: |\n      \
         exec: {{path: {}}}\n",
        folder.0.join("fn").display()
    );
    let targets: Vec<String> = (0..CALLS).map(|number| format!("clusters/c{number}")).collect();
    for target in &targets {
        let resource =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  from: {target}\n");
        folder.write(&format!("{target}/a.yaml"), &resource);
        folder.write(&format!("{target}/fn.yaml"), &function);
        folder
            .write(&format!("{target}/kustomization.yaml"), "resources: [a.yaml]\ntransformers: [fn.yaml]\n");
    }
    // A program that is worth sending once.
    let program = fs::read_to_string(folder.0.join("fn")).expect("it was written");
    folder.script("fn", &format!("{program}# {}\n", "x".repeat(100_000)));
    let fake = Fake::start(SANDBOX, |asked, state| {
        if asked.method == "BatchUpdateBlobs" {
            let blobs = messages::BatchUpdateBlobsRequest::decode(asked.message).expect("it is one").requests;
            state.large_blobs += blobs.iter().filter(|blob| blob.data.len() > 100_000).count();
        }
        None
    });
    // Nobody gets an answer before all have asked.
    fake.state.lock().unwrap().together = Some(std::sync::Arc::new(tokio::sync::Barrier::new(CALLS)));
    let flags = ["--enable-alpha-plugins", "--enable-exec", "--remote-executor", &fake.address];
    let more =
        ["--remote-executables", "--remote-jobs", "200", "--remote-timeout", "20s", "--remote-retries", "0"];
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let built = succeeded(&folder.krm(&[&["build"], &targets[..], &flags, &more].concat()));
    assert_eq!(built.matches(RENAMED).count(), CALLS);
    assert_eq!(fake.state.lock().unwrap().large_blobs, 1, "the program is sent once");
}

#[test]
fn subpackages_are_rendered_with_as_many_calls_in_flight_as_the_user_says() {
    const CALLS: usize = 20;
    let folder = Folder::with_function("render-in-flight");
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
    folder.write("pkg/Kptfile", kptfile);
    for number in 0..CALLS {
        let package = format!("pkg/p{number}");
        let function = format!("pipeline:\n  mutators:\n  - exec: {}\n", folder.0.join("fn").display());
        folder.write(&format!("{package}/Kptfile"), &format!("{kptfile}{function}"));
        let resource =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  from: p{number}\n");
        folder.write(&format!("{package}/a.yaml"), &resource);
    }
    let fake = Fake::start(SANDBOX, well);
    // Nobody gets an answer before all have asked.
    fake.state.lock().unwrap().together = Some(std::sync::Arc::new(tokio::sync::Barrier::new(CALLS)));
    let flags = ["--allow-exec", "--remote-executor", &fake.address, "--remote-executables"];
    let more = ["--remote-jobs", "20", "--remote-timeout", "20s", "--remote-retries", "0"];
    succeeded(&folder.krm(&[&["fn", "render", "pkg"], &flags[..], &more].concat()));
    let rendered = folder.files("pkg");
    assert_eq!(
        rendered.values().filter(|text| text.contains("ConfigMap") && text.contains(RENAMED)).count(),
        CALLS
    );
}

#[test]
fn a_terminal_shows_what_becomes_of_calls_and_a_pipe_does_not() {
    let folder = Folder::with_function("progress");
    let fake = Fake::start(SANDBOX, well);
    fake.state.lock().unwrap().takes = std::time::Duration::from_millis(1500);
    let piped = folder.remotely(&fake.address, &[]);
    assert!(succeeded(&piped).contains(RENAMED));
    assert!(!text(&piped.stderr).contains("1 running"), "{}", text(&piped.stderr));
    let command = format!(
        "{} fn run pkg --dry-run --enable-exec --exec-path ./fn --remote-executor {} --remote-executables",
        env!("CARGO_BIN_EXE_krm"),
        fake.address
    );
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(&folder.0).stdin(Stdio::null());
    let Ok(screen) = script.env("XDG_CACHE_HOME", folder.0.join("cache")).output() else {
        left_out("there is no `script` here");
        return;
    };
    let screen = text(&screen.stdout);
    assert!(screen.contains(" s; 1 running)") && screen.contains("name: b"), "{screen}");
}

#[test]
fn a_server_that_ignores_the_sandbox_gets_no_function() {
    let folder = Folder::with_function("ignores");
    let fake = Fake::start(NO_SANDBOX, well);
    let said = failed(&folder.remotely(&fake.address, &[]));
    assert!(said.contains("error[remote-no-sandbox]") && said.contains("(eth0)"), "{said}");
    let state = fake.state.lock().unwrap();
    assert_eq!(state.executed.len(), 1, "only the question itself was run");
    let sent = state.blobs.values().any(|blob| text(blob).contains("name: a"));
    assert!(!sent, "nothing of the package was sent");
}

#[test]
fn nobody_answers() {
    let folder = Folder::with_function("nobody");
    let said = failed(&folder.remotely("grpc://127.0.0.1:1", &["--remote-retries", "1"]));
    assert!(said.contains("error[remote-failed]") && said.contains("UNAVAILABLE"), "{said}");
    let here = folder.remotely("grpc://127.0.0.1:1", &["--remote-retries", "0", "--remote-local-fallback"]);
    assert!(succeeded(&here).contains(RENAMED));
    assert!(text(&here.stderr).contains("runs on this machine"), "{}", text(&here.stderr));
}

#[test]
fn a_status_counts_more_than_a_result() {
    let folder = Folder::with_function("status");
    let fake = Fake::start(SANDBOX, |asked, _| {
        let is_function = asked.method == "Execute" && asked.before > 0;
        is_function.then(|| {
            let result =
                ActionResult { stdout_raw: b"kind: ResourceList\n".to_vec(), ..ActionResult::default() };
            let status =
                RpcStatus { code: 13, message: "the image could not be pulled".into(), details: Vec::new() };
            Instead::Messages(
                vec![fake::done(&ExecuteResponse {
                    result: Some(result),
                    status: Some(status),
                    ..ExecuteResponse::default()
                })],
                0,
            )
        })
    });
    let said = failed(&folder.remotely(&fake.address, &[]));
    assert!(said.contains("the image could not be pulled (INTERNAL)"), "{said}");
}

#[test]
fn a_server_that_has_a_bad_moment_is_asked_again() {
    let folder = Folder::with_function("moment");
    let fake =
        Fake::start(SANDBOX, |asked, _| (asked.before < 2).then_some(Instead::Status(14, "in a moment")));
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
}

#[test]
fn a_call_whose_stream_breaks_is_waited_for_or_made_anew() {
    let folder = Folder::with_function("breaks");
    // After the first sign of life, nothing; and nobody to wait with.
    let fake = Fake::start(SANDBOX, |asked, _| {
        let first = asked.method == "Execute" && asked.before < 2;
        first.then(|| Instead::Messages(vec![fake::running()], 14))
    });
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
    assert!(fake.asked("WaitExecution") >= 1);

    // Half a message, then the end.
    let fake = Fake::start(SANDBOX, |asked, _| {
        let first = asked.method == "Execute" && asked.before < 1;
        first.then(|| Instead::Cut(vec![0, 0, 0, 0, 100, 1, 2, 3]))
    });
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
}

#[test]
fn blobs_that_a_server_loses_are_sent_again() {
    let folder = Folder::with_function("loses");
    let fake = Fake::start(SANDBOX, |asked, state| {
        let first = asked.method == "Execute" && asked.before == 1;
        first.then(|| {
            state.blobs.clear();
            // A violation of type MISSING.
            let missing = Any {
                type_url: "type.googleapis.com/google.rpc.PreconditionFailure".into(),
                value: b"\x0a\x09\x0a\x07MISSING".to_vec(),
            };
            let status = RpcStatus { code: 9, message: "a blob is missing".into(), details: vec![missing] };
            Instead::Messages(
                vec![fake::done(&ExecuteResponse { status: Some(status), ..ExecuteResponse::default() })],
                0,
            )
        })
    });
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
}

#[test]
fn wrong_bytes_are_not_believed() {
    let folder = Folder::with_function("wrong");
    let fake = Fake::start(SANDBOX, |asked, _| {
        let is_output = asked.method == "BatchReadBlobs" && asked.before > 0;
        is_output.then(|| {
            let digest = BatchReadBlobsRequest::decode(asked.message).unwrap().digests.remove(0);
            let data = vec![b'x'; digest.size_bytes as usize];
            let answer = BatchReadBlobsResponse {
                responses: vec![BlobRead { digest: Some(digest), data, status: None }],
            };
            Instead::Messages(vec![answer.encode_to_vec()], 0)
        })
    });
    let said = failed(&folder.remotely(&fake.address, &[]));
    assert!(said.contains("DATA_LOSS"), "{said}");
}

#[test]
fn a_server_that_goes_away_after_the_answer() {
    let folder = Folder::with_function("gone");
    // What the sandbox is like can still be read; what the function printed cannot.
    let fake = Fake::start(SANDBOX, |asked, _| {
        let is_output = asked.method == "BatchReadBlobs" && asked.before > 0;
        is_output.then_some(Instead::Status(14, "the server is shutting down"))
    });
    let said = failed(&folder.remotely(&fake.address, &["--remote-retries", "1"]));
    assert!(said.contains("the server is shutting down (UNAVAILABLE)"), "{said}");
    let here = folder.remotely(&fake.address, &["--remote-retries", "0", "--remote-local-fallback"]);
    assert!(succeeded(&here).contains(RENAMED));
    assert!(text(&here.stderr).contains("runs on this machine"), "{}", text(&here.stderr));
}

#[test]
fn a_result_whose_output_is_lost_is_made_anew() {
    let folder = Folder::with_function("lost");
    let fake = Fake::start(SANDBOX, |asked, _| {
        let is_first = asked.method == "GetActionResult";
        is_first.then(|| {
            let result = ActionResult { stdout_digest: Some(Digest::of(b"gone")), ..ActionResult::default() };
            Instead::Messages(vec![result.encode_to_vec()], 0)
        })
    });
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
    // And one of a call that failed is not taken from the cache.
    let fake = Fake::start(SANDBOX, |asked, _| {
        let result = ActionResult { exit_code: 1, ..ActionResult::default() };
        (asked.method == "GetActionResult").then(|| Instead::Messages(vec![result.encode_to_vec()], 0))
    });
    assert!(succeeded(&folder.remotely(&fake.address, &[])).contains(RENAMED));
}

#[test]
fn a_token_that_has_expired_is_renewed() {
    let folder = Folder::with_function("token");
    let answers = |asked: &fake::Asked, _: &mut fake::State| {
        (asked.authorization != "Bearer 2").then_some(Instead::Status(16, "the token has expired"))
    };
    let fake = Fake::start(SANDBOX, answers);
    folder.script(
        "helper",
        "#!/bin/sh\ntest \"$1\" = get || exit 1\nread -r question\ncase $question in *'\"uri\":\"https://127.0.0.1:'*) ;; *) exit 1 ;; esac\n\
         echo x >>asked\nprintf '{\"headers\":{\"Authorization\":[\"Bearer %s\"]},\"expires\":\"2100-01-01T00:00:00Z\"}' \"$(wc -l <asked | tr -d ' ')\"\n",
    );
    let output = folder.remotely(&fake.address, &["--remote-credential-helper", "./helper"]);
    assert!(succeeded(&output).contains(RENAMED));
    assert_eq!(fs::read_to_string(folder.0.join("asked")).unwrap(), "x\nx\n", "asked once, and once more");

    // To a clock that is wrong every token has expired: the helper is asked each time, and the server decides.
    folder.script(
        "late",
        "#!/bin/sh\nprintf '{\"headers\":{\"Authorization\":[\"Bearer 2\"]},\"expires\":\"2000-01-01T00:00:00Z\"}'\n",
    );
    let output = folder.remotely(&fake.address, &["--remote-credential-helper", "./late"]);
    assert!(succeeded(&output).contains(RENAMED));

    // Without a helper there is nothing to renew.
    let said = failed(&folder.remotely(&fake.address, &[]));
    assert!(
        said.contains("the token has expired (UNAUTHENTICATED)") && said.contains("--remote-header"),
        "{said}"
    );
}

#[test]
fn certificates_are_checked() {
    let folder = Folder::with_function("certificates");
    folder.write("not.pem", "hello\n");
    let said = failed(&folder.remotely("grpcs://127.0.0.1:1", &["--remote-tls-ca", "not.pem"]));
    assert!(
        said.contains("error[remote-certificate-unusable]") && said.contains("no certificate in it"),
        "{said}"
    );
    let said = failed(&folder.remotely("grpcs://127.0.0.1:1", &["--remote-tls-cert", "not.pem"]));
    assert!(said.contains("--remote-tls-key"), "{said}");
    // A server that does not speak TLS.
    let fake = Fake::start(SANDBOX, well);
    let address = fake.address.replace("grpc://", "grpcs://");
    let said = failed(&folder.remotely(&address, &["--remote-retries", "0"]));
    assert!(said.contains("TLS"), "{said}");
}

#[test]
fn what_gives_access_is_not_shown() {
    let folder = Folder::with_function("shown");
    for arguments in [
        ["--remote-header", "Authorization: Bearer hunter2"],
        ["--remote-cache", "me:hunter2@example.com"],
        ["--remote-cache", "https://me:hunter2@example.com/?x"],
        ["--remote-cache", "grpcs://me:hunter2@example.com"],
        ["--remote-executor", "hunter2@example.com"],
        ["--remote-executor", "grpcs://me:hunter2@example.com"],
    ] {
        let fixed = ["--remote-cache", "http://127.0.0.1:1"];
        let fixed = if arguments[0] == "--remote-cache" { &[][..] } else { &fixed };
        let output = folder.krm(&[&["fn", "run", "pkg", "--dry-run"], fixed, &arguments].concat());
        let said = failed(&output);
        assert!(said.contains(arguments[0]) && !said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_header_is_sent() {
    let folder = Folder::with_function("header");
    let answers = |asked: &fake::Asked, _: &mut fake::State| {
        (asked.authorization != "Bearer x").then_some(Instead::Status(16, "who are you"))
    };
    let fake = Fake::start(SANDBOX, answers);
    let header = "authorization=Bearer x";
    assert!(succeeded(&folder.remotely(&fake.address, &["--remote-header", header])).contains(RENAMED));
    let args =
        ["fn", "run", "pkg", "--dry-run", "--enable-exec", "--exec-path", "./fn", "--remote-executables"];
    let by_environment = [("KRM_REMOTE_EXECUTOR", fake.address.as_str()), ("KRM_REMOTE_HEADER", header)];
    assert!(succeeded(&folder.krm_with(&args, &by_environment)).contains(RENAMED));
}

/// A certificate for servers at 127.0.0.1 and one for clients, each signed by itself.
fn certificates(folder: &Folder) -> bool {
    ["server", "client"].iter().all(|name| {
        let mut make = Command::new("openssl");
        make.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ]);
        make.args([
            "-subj",
            &format!("/CN={name}"),
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        make.args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.pem")]).current_dir(&folder.0);
        make.output().is_ok_and(|output| output.status.success())
    })
}

#[test]
fn both_sides_show_their_certificates() {
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::server::WebPkiClientVerifier;
    use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto};
    let folder = Folder::with_function("tls");
    if !certificates(&folder) {
        left_out("openssl makes no certificates here");
        return;
    }
    let certificate = |name: &str| CertificateDer::from_pem_file(folder.0.join(name)).expect("it was made");
    let config = |asks: bool| {
        let provider = std::sync::Arc::new(crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the provider has them");
        let mut clients = RootCertStore::empty();
        clients.add(certificate("client.pem")).expect("it is a certificate");
        let builder = match asks {
            true => {
                let verifier = WebPkiClientVerifier::builder_with_provider(clients.into(), provider);
                builder.with_client_cert_verifier(verifier.build().expect("there is a certificate"))
            }
            false => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::from_pem_file(folder.0.join("server.key")).expect("it was made");
        let mut config =
            builder.with_single_cert(vec![certificate("server.pem")], key).expect("they are a pair");
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    };
    let fake = Fake::start_with(Some(config(false)), SANDBOX, well);
    let output = folder.remotely(&fake.address, &["--remote-tls-ca", "server.pem"]);
    assert!(succeeded(&output).contains(RENAMED));
    // Nobody the system trusts has signed for it.
    let said = failed(&folder.remotely(&fake.address, &["--remote-retries", "0"]));
    assert!(said.contains("no connection over TLS") && said.contains("--remote-tls-ca"), "{said}");
    assert!(!said.contains("token"), "it is not about tokens: {said}");
    let run = ["fn", "run", "pkg", "--dry-run", "--enable-exec", "--exec-path", "./fn", "--cache=all"];
    let cached = folder.krm(&[&run[..], &["--remote-cache", &fake.address]].concat());
    assert!(succeeded(&cached).contains(RENAMED));
    let said = text(&cached.stderr);
    assert!(said.contains("no connection over TLS") && said.contains("--remote-tls-ca"), "{said}");
    assert!(!said.contains("token"), "it is not about tokens: {said}");

    let asks = Fake::start_with(Some(config(true)), SANDBOX, well);
    let own = [
        "--remote-tls-ca",
        "server.pem",
        "--remote-tls-cert",
        "client.pem",
        "--remote-tls-key",
        "client.key",
    ];
    assert!(succeeded(&folder.remotely(&asks.address, &own)).contains(RENAMED));
    let said =
        failed(&folder.remotely(&asks.address, &["--remote-tls-ca", "server.pem", "--remote-retries", "0"]));
    assert!(said.contains("error[remote-failed]"), "{said}");
}
