//! A cache that machines share over HTTP: what it is asked and given, and everything that can be wrong with it.
//!
//! Whatever the server does, the output is the one of a run without it, and there is one warning.
#![cfg(feature = "wasm")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "support/left_out.rs"]
mod left_out;
#[path = "support/scratch.rs"]
mod scratch;
#[path = "shared_cache/server.rs"]
mod server;

use left_out::left_out;
use scratch::Scratch;
use server::{Reply, Request, Server};

/// A module that prints what it reads.
const ECHO: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (loop $more
      (i32.store (i32.const 0) (i32.const 16))
      (i32.store (i32.const 4) (i32.const 65536))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (i32.store (i32.const 4) (i32.load (i32.const 8)))
      (if (i32.load (i32.const 8)) (then
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
        (br $more))))))"#;

/// A repository, and the caches of several machines.
struct Place(Scratch);

/// What a command did.
struct Ran {
    good: bool,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn warnings(&self) -> usize {
        self.stderr.matches("warning[remote-cache-failed]").count()
    }
}

impl Place {
    fn new(name: &str) -> Self {
        let place = Self(Scratch::new(&format!("shared-{name}")));
        fs::create_dir(place.0.join(".git")).unwrap();
        fs::write(place.0.join("echo.wasm"), wat::parse_str(ECHO).unwrap()).unwrap();
        place.write("pkg/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n");
        place.write("base/kustomization.yaml", "resources: [cm.yaml]\n");
        place.write("base/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n");
        for cluster in ["eu", "us"] {
            let text = format!("namePrefix: {cluster}-\nresources: [../../base]\n");
            place.write(&format!("clusters/{cluster}/kustomization.yaml"), &text);
        }
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, path: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(path, &format!("#!/bin/sh\n{text}"));
        fs::set_permissions(self.0.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs krm on a machine: each has its own cache.
    fn krm(&self, machine: &str, env: &[(&str, &str)], args: &[&str]) -> Ran {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(&self.0).args(args).env("XDG_CACHE_HOME", self.0.join("machines").join(machine));
        for name in ["KRM_REMOTE_CACHE", "KRM_REMOTE_UPLOAD", "KRM_REMOTE_HEADER", "http_proxy", "HTTP_PROXY"]
        {
            krm.env_remove(name);
        }
        let output = krm.envs(env.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { good: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The function, on a machine, with further arguments.
    fn run(&self, machine: &str, more: &[&str]) -> Ran {
        self.run_with(machine, &[("KRM_REMOTE_TIMEOUT", "400ms")], more)
    }

    fn run_with(&self, machine: &str, env: &[(&str, &str)], more: &[&str]) -> Ran {
        let args = [&["fn", "run", "pkg", "--wasm", "echo.wasm", "--dry-run"], more].concat();
        self.krm(machine, env, &args)
    }

    /// Has a machine fill the cache.
    fn fill(&self, server: &Server) -> String {
        let ran = self.run("ci", &["--remote-cache", &server.address, "--remote-upload"]);
        assert!(ran.good && ran.warnings() == 0, "{}", ran.stderr);
        server.requests();
        ran.stdout
    }

    /// A large resource: its output is not part of the result.
    fn with_much(&self) {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: {}\n",
            "x".repeat(100_000)
        );
        self.write("pkg/a.yaml", &text);
    }
}

#[test]
fn what_one_machine_computes_another_uses() {
    let (place, server) = (Place::new("shared"), Server::start());
    let plain = place.run("plain", &[]);
    assert!(plain.good && plain.stdout.contains("name: a"), "{}", plain.stderr);
    // Without `--remote-upload` nothing is sent but a key.
    let first = place.run("one", &["--remote-cache", &server.address]);
    assert_eq!(first.stdout, plain.stdout);
    let asked = server.requests();
    assert!(asked.len() == 1 && asked[0].is("GET", "ac") && asked[0].body.is_empty(), "{asked:?}");
    // Uploads: blobs before results.
    assert_eq!(place.fill(&server), plain.stdout);
    let ran = place.run("three", &["--remote-cache", &format!("{}/", server.address)]);
    assert_eq!(ran.stdout, plain.stdout);
    assert!(ran.stderr.contains("from the cache"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 1, "small outputs come with the result");
    // It is on this machine now.
    let ran = place.run("three", &["--remote-cache", &server.address]);
    assert!(ran.stderr.contains("from the cache") && server.requests().is_empty(), "{}", ran.stderr);
    // Without connections there is none.
    place.run("four", &["--remote-cache", &server.address, "--offline"]);
    assert!(server.requests().is_empty());
}

#[test]
fn blobs_are_uploaded_before_results() {
    let (place, server) = (Place::new("order"), Server::start());
    place.with_much();
    place.run("ci", &["--remote-cache", &format!("{}/team/x", server.address), "--remote-upload"]);
    let paths: Vec<String> =
        server.requests().into_iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    assert!(paths[0].starts_with("GET /team/x/ac/"), "{paths:?}");
    assert!(paths[1].starts_with("PUT /team/x/cas/"), "{paths:?}");
    assert!(paths[2].starts_with("PUT /team/x/ac/"), "{paths:?}");
    assert_eq!(paths[0][4..], paths[2][4..], "one key");
}

#[test]
fn the_environment_says_the_same_as_flags() {
    let (place, server) = (Place::new("environment"), Server::start());
    let env = [
        ("KRM_REMOTE_CACHE", server.address.as_str()),
        ("KRM_REMOTE_UPLOAD", "true"),
        ("KRM_REMOTE_HEADER", "Authorization=Bearer one\nX-Team=two"),
    ];
    place.run_with("ci", &env, &["--remote-header", "X-Job=three"]);
    let asked = server.requests();
    assert_eq!(asked.len(), 3, "{asked:?}");
    for request in &asked {
        for header in ["authorization: Bearer one", "x-team: two", "x-job: three"] {
            assert!(
                request.headers.iter().any(|given| given.eq_ignore_ascii_case(header)),
                "{header}: {request:?}"
            );
        }
    }
    // A flag wins, and an empty one turns it off.
    place.run_with("two", &env, &["--remote-cache", ""]);
    assert!(server.requests().is_empty());
    // A file of the repository says nothing about it.
    place.write("krm.toml", &format!("[remote]\ncache = \"{}\"\nupload = true\n", server.address));
    place.run("three", &["--cache"]);
    assert!(server.requests().is_empty(), "a repository decides where nothing is sent");
}

#[cfg(unix)]
#[test]
fn settings_of_the_user_say_the_same_as_the_environment() {
    use std::os::unix::fs::PermissionsExt;
    let (place, server) = (Place::new("settings"), Server::start());
    let text = format!("[remote]\ncache = '{}'\nupload = true\nheader = ['X-Team=two']\n", server.address);
    place.write("config/krm/krm.toml", &text);
    let config = place.0.join("config");
    let config = ("XDG_CONFIG_HOME", config.to_str().unwrap());
    let ran = place.run_with("ci", &[config], &[]);
    assert!(ran.good, "{}", ran.stderr);
    let asked = server.requests();
    assert_eq!(asked.len(), 3, "{asked:?}");
    for request in &asked {
        assert!(request.headers.iter().any(|given| given.eq_ignore_ascii_case("x-team: two")), "{request:?}");
    }
    // A variable wins, also an empty one, and so does a flag.
    place.run_with("two", &[config, ("KRM_REMOTE_CACHE", "")], &["--cache"]);
    place.run_with("three", &[config], &["--remote-cache", ""]);
    assert!(server.requests().is_empty());
    // What others can write to is not believed.
    let file = place.0.join("config/krm/krm.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = place.run_with("four", &[config], &[]);
    assert!(!ran.good && ran.stderr.contains("error[user-settings-unusable]"), "{}", ran.stderr);
    assert!(server.requests().is_empty());
}

#[test]
fn a_credential_helper_is_asked_and_asked_again() {
    let (place, server) = (Place::new("helper"), Server::start());
    let output = place.fill(&server);
    place.script("helper", &format!(
        "test \"$1\" = get || exit 1\nread -r question\ncase $question in *'\"uri\":\"{}/team/\"'*) ;; *) exit 1 ;; esac\n\
         echo x >>asked\nprintf '{{\"headers\":{{\"Authorization\":[\"Bearer %s\"]}}}}' \"$(wc -l <asked | tr -d ' ')\"\n",
        server.address
    ));
    let address = format!("{}/team", server.address);
    server.answers(|request, _| {
        match request.headers.iter().any(|line| line.eq_ignore_ascii_case("authorization: Bearer 2")) {
            true => Reply::Properly,
            false => Reply::Status(401),
        }
    });
    let upload = ["--remote-cache", &address, "--remote-upload"];
    let ran = place.run("other-ci", &[&upload[..], &["--remote-credential-helper", "./helper"]].concat());
    assert_eq!((ran.warnings(), ran.stdout), (0, output.clone()), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(place.0.join("asked")).unwrap(), "x\nx\n", "asked once, and once more");
    assert!(server.requests().iter().any(|request| request.is("PUT", "ac")), "it was let in to write");

    // The same by the environment; and a helper that fails costs a warning.
    fs::write(place.0.join("asked"), "x\n").unwrap();
    let env = [("KRM_REMOTE_CREDENTIAL_HELPER", "./helper"), ("KRM_REMOTE_CACHE", &address)];
    let ran = place.run_with("desk", &env, &[]);
    assert_eq!((ran.warnings(), ran.stdout), (0, output.clone()), "{}", ran.stderr);
    assert!(server.requests().iter().all(|request| request.method == "GET"));
    place.script("helper", "echo locked out >&2\nexit 1\n");
    let ran = place.run_with("other", &env, &[]);
    assert_eq!((ran.warnings(), ran.stdout), (1, output), "{}", ran.stderr);
    assert!(ran.stderr.contains("`./helper` gives no credentials") && ran.stderr.contains("locked out"));
    assert!(server.requests().is_empty(), "a server is not asked without what it wants to see");
}

#[test]
fn secrets_are_not_sent() {
    let (place, server) = (Place::new("secrets"), Server::start());
    let secret = "hunter2-and-more";
    let with = |machine: &str, value: &str, more: &[&str]| {
        let env = [("TOKEN", value)];
        let args = [&["--env", "TOKEN", "--remote-cache", &server.address], more].concat();
        place.run_with(machine, &env, &args)
    };
    assert!(with("ci", secret, &["--remote-upload"]).good);
    for request in server.requests() {
        let all = format!("{request:?}{}", String::from_utf8_lossy(&request.body));
        assert!(!all.contains("hunter2") && !all.contains("TOKEN"), "{all}");
    }
    // It counts all the same.
    assert!(with("two", secret, &[]).stderr.contains("from the cache"));
    assert!(!with("three", "another", &[]).stderr.contains("from the cache"));
}

#[test]
fn executables_are_not_asked_for_unless_wanted() {
    let (place, server) = (Place::new("executables"), Server::start());
    let run = |more: &[&str]| {
        let args = [
            "fn",
            "run",
            "pkg",
            "--exec-path",
            "cat",
            "--enable-exec",
            "--dry-run",
            "--remote-cache",
            &server.address,
        ];
        let ran = place.krm("one", &[], &[&args, more].concat());
        assert!(ran.good, "{}", ran.stderr);
        server.requests().len()
    };
    assert_eq!(run(&[]), 0);
    assert_eq!(run(&["--cache=all"]), 1);
}

/// Runs on a new machine while the server answers like this; the output is right, and there is this one warning.
fn on_a_bad_day(
    name: &str,
    fill: bool,
    warning: &str,
    answer: impl Fn(&Request, &std::collections::BTreeMap<String, Vec<u8>>) -> Reply + Send + Sync + 'static,
) -> Vec<Request> {
    let (place, server) = (Place::new(name), Server::start());
    place.with_much();
    let plain = place.run("plain", &[]).stdout;
    if fill {
        assert_eq!(place.fill(&server), plain);
    }
    server.answers(answer);
    let start = Instant::now();
    let ran = place.run("new", &["--remote-cache", &server.address, "--remote-upload"]);
    assert!(ran.good, "{}", ran.stderr);
    assert_eq!(ran.stdout, plain, "{name}");
    assert_eq!(ran.warnings(), 1, "{name}: {}", ran.stderr);
    assert!(ran.stderr.contains(warning), "{name}: {}", ran.stderr);
    assert!(start.elapsed() < Duration::from_secs(20), "{name}");
    // Nothing wrong was kept, here or there.
    assert_eq!(place.run("new", &["--cache"]).stdout, plain, "{name}");
    server.behaves();
    let other = place.run("other", &["--remote-cache", &server.address]);
    assert_eq!(other.stdout, plain, "{name}");
    server.requests()
}

/// Changes some of what the server has, before it answers.
fn changed(
    kind: &'static str,
    change: impl Fn(&mut Vec<u8>) + Send + Sync + 'static,
) -> impl Fn(&Request, &std::collections::BTreeMap<String, Vec<u8>>) -> Reply + Send + Sync {
    move |request, entries| match (request.is("GET", kind), entries.get(&request.path)) {
        (true, Some(body)) => {
            let mut body = body.clone();
            change(&mut body);
            Reply::Body(body)
        }
        _ => Reply::Properly,
    }
}

#[test]
fn a_server_that_is_not_there() {
    let place = Place::new("down");
    let plain = place.run("plain", &[]);
    // A port that nobody listens on.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = place.run("one", &["--remote-cache", &format!("http://{closed}"), "--remote-upload"]);
    assert!(ran.good && ran.stdout == plain.stdout && ran.warnings() == 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot be reached"), "{}", ran.stderr);
    // No such host.
    let ran = place.run("two", &["--remote-cache", "http://host.invalid"]);
    assert!(ran.good && ran.stdout == plain.stdout && ran.warnings() == 1, "{}", ran.stderr);
}

#[test]
fn a_server_that_breaks_off() {
    on_a_bad_day("hangs-up", true, "cannot be reached", |_, _| Reply::Raw(Vec::new()));
    on_a_bad_day("half-a-head", true, "cannot be reached", |_, _| Reply::Raw(b"HTTP/1.1 20".to_vec()));
    on_a_bad_day("half-a-result", true, "middle of an answer", |request, _| match request.is("GET", "ac") {
        true => Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc".to_vec()),
        false => Reply::Properly,
    });
    on_a_bad_day("half-a-blob", true, "middle of an answer", |request, entries| {
        match (request.is("GET", "cas"), entries.get(&request.path)) {
            (true, Some(body)) => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                Reply::Raw([head.as_bytes(), &body[..body.len() / 2]].concat())
            }
            _ => Reply::Properly,
        }
    });
    on_a_bad_day("not-http", true, "cannot be reached", |_, _| Reply::Raw(b"SSH-2.0-x\r\n".to_vec()));
    // It goes away after the answer: what was read is used, what was not uploaded is not.
    on_a_bad_day("no-uploads", false, "cannot be reached", |request, _| match &*request.method {
        "PUT" => Reply::Raw(Vec::new()),
        _ => Reply::Properly,
    });
}

#[test]
fn a_server_that_is_slow() {
    let long = Duration::from_secs(30);
    on_a_bad_day("silent", true, "does not answer within 0.4 s", move |_, _| Reply::Silence(long));
    on_a_bad_day("silent-blob", true, "does not answer within 0.4 s", move |request, _| {
        if request.is("GET", "cas") { Reply::Silence(long) } else { Reply::Properly }
    });
    on_a_bad_day("silent-upload", false, "does not answer within 0.4 s", move |request, _| {
        if request.method == "PUT" { Reply::Silence(long) } else { Reply::Properly }
    });
    for kind in ["ac", "cas"] {
        on_a_bad_day(&format!("drops-{kind}"), true, "does not answer within 0.4 s", move |request, _| {
            if request.is("GET", kind) { Reply::Drops } else { Reply::Properly }
        });
    }
}

#[test]
fn a_server_that_lies() {
    on_a_bad_day(
        "other-bytes",
        true,
        "other bytes under the digest",
        changed("cas", |body| body[50_000] ^= 1),
    );
    on_a_bad_day(
        "cut-short",
        true,
        "other bytes under the digest",
        changed("cas", |body| body.truncate(50_000)),
    );
    on_a_bad_day("too-long", true, "longer than", changed("cas", |body| body.extend([b'x'; 100])));
    on_a_bad_day("no-result", true, "is not a result", changed("ac", |body| *body = b"\xff<html>".to_vec()));
    on_a_bad_day("empty-result", true, "without the digests", changed("ac", Vec::clear));
    // `exit_code` is field 4, a number; `stdout_digest` is field 6, and its size is field 2 of that.
    on_a_bad_day(
        "failed-call",
        true,
        "failed with exit status 1",
        changed("ac", |body| body.extend(b"\x20\x01")),
    );
    on_a_bad_day(
        "huge",
        true,
        "bytes, and 268435456 are allowed",
        changed("ac", |body| {
            body.extend(b"\x32\x0a\x10\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
        }),
    );
    on_a_bad_day(
        "way-out",
        true,
        "without the digests",
        changed("ac", |body| {
            body.extend(b"\x32\x12\x0a\x10../../etc/passwd");
        }),
    );
    on_a_bad_day("endless", true, "longer than", |request, _| match request.is("GET", "cas") {
        true => Reply::Endless,
        false => Reply::Properly,
    });
}

#[test]
fn a_server_that_lost_the_blob_of_a_result() {
    on_a_bad_day("lost", true, "not its output", |request, _| match request.is("GET", "cas") {
        true => Reply::Status(404),
        false => Reply::Properly,
    });
}

#[test]
fn a_server_that_refuses() {
    for status in [401, 403] {
        let name = format!("denied-{status}");
        on_a_bad_day(&name, true, "a token may have expired", move |_, _| Reply::Status(status));
    }
    // Who may only read still reads.
    let after = on_a_bad_day("read-only", false, "a token may have expired", |request, _| {
        if request.method == "PUT" { Reply::Status(403) } else { Reply::Properly }
    });
    assert!(after.iter().any(|request| request.is("GET", "ac")));
    on_a_bad_day("full", false, "is full (status 507)", |request, _| {
        if request.method == "PUT" { Reply::Status(507) } else { Reply::Properly }
    });
    on_a_bad_day("too-large", false, "too large for it", |request, _| {
        if request.is("PUT", "cas") { Reply::Status(413) } else { Reply::Properly }
    });
    on_a_bad_day("static-files", false, "takes no uploads", |request, _| {
        if request.method == "PUT" { Reply::Status(405) } else { Reply::Properly }
    });
    on_a_bad_day("broken", true, "fails (status 500)", |_, _| Reply::Status(500));
    on_a_bad_day("elsewhere", true, "leads elsewhere (status 302)", |_, _| Reply::Status(302));
}

#[test]
fn a_result_is_not_uploaded_without_its_blob() {
    let (place, server) = (Place::new("refused-blob"), Server::start());
    place.with_much();
    server.answers(|request, _| if request.is("PUT", "cas") { Reply::Status(500) } else { Reply::Properly });
    place.run("ci", &["--remote-cache", &server.address, "--remote-upload"]);
    assert!(!server.requests().iter().any(|request| request.is("PUT", "ac")));
}

/// Builds both clusters on a machine, and gives what `--explain-cache` says.
fn build(place: &Place, machine: &str, more: &[&str]) -> Vec<String> {
    let targets = ["build", "clusters/eu", "clusters/us"];
    let plain = place.krm("plain", &[], &targets);
    assert!(plain.good, "{}", plain.stderr);
    let args = [&targets[..], &["--explain-cache"], more].concat();
    let ran = place.krm(machine, &[("KRM_REMOTE_TIMEOUT", "400ms")], &args);
    assert!(ran.good, "{}", ran.stderr);
    assert_eq!(ran.stdout, plain.stdout, "a cache must not change the output: {more:?}");
    ran.stderr
        .lines()
        .filter(|line| line.starts_with("clusters/") || line.contains("remote-cache"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_fleet_is_built_once() {
    let (place, server) = (Place::new("fleet"), Server::start());
    let remote = ["--remote-cache", &server.address];
    let upload = [&remote[..], &["--remote-upload"]].concat();
    let first = build(&place, "ci", &upload);
    assert_eq!(
        first,
        [
            "clusters/eu: built, because it was not built before",
            "clusters/us: built, because it was not built before"
        ]
    );
    let is_shared = |lines: &[String]| {
        lines.len() == 2
            && lines
                .iter()
                .all(|line| line.contains(": unchanged, ") && line.ends_with("from the shared cache"))
    };
    let second = build(&place, "two", &remote);
    assert!(is_shared(&second), "{second:?}");
    // They are on that machine now.
    server.requests();
    let again = build(&place, "two", &remote);
    assert!(again.iter().all(|line| line.contains("unchanged") && !line.contains("shared")), "{again:?}");
    assert!(server.requests().is_empty());
    // One cluster changes: one is built, and found by the others.
    place.write("clusters/us/kustomization.yaml", "namePrefix: new-\nresources: [../../base]\n");
    let changed = build(&place, "ci", &upload);
    assert!(
        changed[0].contains("unchanged") && changed[1].contains("`clusters/us/kustomization.yaml` changed"),
        "{changed:?}"
    );
    let two = build(&place, "two", &remote);
    assert!(two[1].ends_with("from the shared cache"), "{two:?}");
    // A machine that was never here before, and a target that reads other files than it did.
    place.write("clusters/us/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n");
    place.write("clusters/us/kustomization.yaml", "resources: [../../base, more.yaml]\n");
    build(&place, "ci", &upload);
    let three = build(&place, "three", &remote);
    assert!(is_shared(&three), "{three:?}");
    // Back as it was: older lists are known as well.
    place.write("clusters/us/kustomization.yaml", "namePrefix: us-\nresources: [../../base]\n");
    let four = build(&place, "four", &remote);
    assert!(is_shared(&four), "{four:?}");
}

#[test]
fn a_fleet_on_bad_days() {
    let (place, server) = (Place::new("bad-fleet"), Server::start());
    let remote = ["--remote-cache", &server.address];
    build(&place, "ci", &[&remote[..], &["--remote-upload"]].concat());
    let warned = |lines: &[String]| lines.iter().filter(|line| line.contains("remote-cache-failed")).count();
    type Day = fn(&Request) -> Reply;
    let bad_days: [(&str, Day); 4] = [
        ("down", |_| Reply::Raw(Vec::new())),
        ("denied", |_| Reply::Status(401)),
        ("silent", |_| Reply::Silence(Duration::from_secs(30))),
        ("nonsense", |_| Reply::Body(b"\x2a\x03abc".to_vec())),
    ];
    for (name, day) in bad_days {
        server.answers(move |request, _| day(request));
        let start = Instant::now();
        let lines = build(&place, name, &remote);
        assert_eq!(warned(&lines), 1, "{name}: {lines:?}");
        assert!(
            lines.iter().filter(|line| line.contains("built, because")).count() == 2,
            "{name}: {lines:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(10), "{name}");
    }
    server.behaves();
    // A bit is lost in everything it has.
    server.change(|entries| {
        for body in entries.values_mut() {
            let middle = body.len() / 2;
            body[middle] ^= 1;
        }
    });
    let lines = build(&place, "flipped", &remote);
    assert_eq!(warned(&lines), 1, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("built, because")).count(), 2, "{lines:?}");
}

#[test]
fn a_server_that_fails_is_not_asked_for_ever() {
    let (place, server) = (Place::new("patience"), Server::start());
    let targets: Vec<String> = (0..40).map(|n| format!("many/{n}")).collect();
    for target in &targets {
        place.write(&format!("{target}/kustomization.yaml"), "resources: [../../base]\n");
    }
    server.answers(|_, _| Reply::Status(500));
    let mut args = vec!["build", "--remote-cache", &server.address, "--remote-upload"];
    args.extend(targets.iter().map(String::as_str));
    let ran = place.krm("one", &[], &args);
    assert!(ran.good && ran.warnings() == 1, "{}", ran.stderr);
    // Those that are on their way when it is given up are as many as threads.
    assert!(server.requests().len() <= 3 + 32, "{}", server.requests().len());
}

/// The address of a cache that is started here, if the program is.
fn bazel_remote(place: &Path) -> Option<(std::process::Child, String)> {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(std::env::var("KRM_BAZEL_REMOTE").unwrap_or("bazel-remote".into()));
    command.args(["--dir", place.join("server").to_str().unwrap(), "--max_size", "1"]);
    command.args(["--http_address", &format!("127.0.0.1:{port}"), "--grpc_address", "none"]);
    let started = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn();
    let Ok(child) = started else {
        assert!(std::env::var("KRM_SERVERS_NEEDED").is_err(), "no bazel-remote here, and it is needed");
        left_out("bazel-remote is not in PATH (`.ci/bazel-remote/install` builds it)");
        return None;
    };
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "bazel-remote does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some((child, format!("http://127.0.0.1:{port}")))
}

#[test]
fn a_real_server() {
    let place = Place::new("real");
    let Some((mut child, address)) = bazel_remote(&place.0) else { return };
    let done = std::panic::catch_unwind(|| {
        let remote = ["--remote-cache", &address];
        let upload = [&remote[..], &["--remote-upload"]].concat();
        for much in [false, true] {
            if much {
                place.with_much();
            }
            let plain = place.run("plain", &[]).stdout;
            let ci = place.run("ci", &upload);
            assert!(ci.stdout == plain && ci.warnings() == 0, "{}", ci.stderr);
            let two = place.run("two", &remote);
            assert!(two.stdout == plain && two.stderr.contains("from the cache"), "{}", two.stderr);
        }
        build(&place, "ci", &upload);
        let two = build(&place, "two", &remote);
        assert!(two.len() == 2 && two.iter().all(|line| line.ends_with("from the shared cache")), "{two:?}");
    });
    let _ = child.kill();
    let _ = child.wait();
    done.unwrap();
}
