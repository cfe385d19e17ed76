//! Functions that are WebAssembly modules, built from source: what they can reach, and what stops them.
//!
//! Without Rust's target `wasm32-wasip1` they cannot be built: then the tests say so and are left out; under `CI=true`
//! they may not be.
#![cfg(feature = "wasm")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

#[path = "support/left_out.rs"]
mod left_out;
#[path = "support/shared_scratch.rs"]
mod shared_scratch;

use left_out::left_out;
use shared_scratch::shared_scratch;

const TARGET: &str = "wasm32-wasip1";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of these tests, with the modules in it.
fn modules() -> Option<&'static Path> {
    static MODULES: OnceLock<Option<PathBuf>> = OnceLock::new();
    let modules = MODULES.get_or_init(|| {
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
        let dir =
            Command::new(&rustc).args(["--print", "target-libdir", "--target", TARGET]).output().ok()?;
        if !Path::new(text(&dir.stdout).trim()).is_dir() {
            return None;
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scratch = shared_scratch("modules");
        let probe = Command::new(rustc)
            .args(["--edition=2024", "-O", "--target", TARGET, "-o"])
            .arg(scratch.join("probe.wasm"))
            .arg(root.join("tests/wasm/probe.rs"))
            .status();
        assert!(probe.expect("rustc starts").success());
        let examples = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
            .args(["build", "--quiet", "--release", "-p", "krm-example-functions", "--target", TARGET])
            .current_dir(root)
            .env("CARGO_TARGET_DIR", root.join("target/modules"))
            .status();
        assert!(examples.expect("cargo starts").success());
        let nginx = root.join("target/modules").join(TARGET).join("release/nginx.wasm");
        fs::copy(nginx, scratch.join("nginx.wasm")).expect("it was built");
        Some(scratch)
    });
    if modules.is_none() {
        assert!(std::env::var("CI").is_err(), "no {TARGET} here, and CI may not leave these tests out");
        left_out(format_args!("`rustup target add {TARGET}` has not been run here"));
    }
    modules.as_deref()
}

/// Runs a module on a folder of its own that holds one resource.
fn run(modules: &Path, name: &str, module: &str, args: &[&str]) -> (Output, PathBuf) {
    let dir = modules.join(name);
    fs::create_dir_all(dir.join("pkg")).expect("the folder is ours");
    fs::write(dir.join("pkg/a.yaml"), "kind: Thing\nmetadata:\n  name: a # kept\n")
        .expect("the folder is ours");
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    krm.args(["fn", "run", "pkg", "--wasm"]).arg(modules.join(module)).args(args);
    krm.current_dir(&dir).env("XDG_CACHE_HOME", modules.join("cache"));
    (krm.output().expect("krm starts"), dir)
}

fn refused(name: &str, mode: &str, flags: &[&str], message: &str) {
    let Some(modules) = modules() else { return };
    let mode = format!("mode={mode}");
    let args: Vec<&str> = flags.iter().copied().chain(["--", &mode]).collect();
    let (output, dir) = run(modules, name, "probe.wasm", &args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(message) && stderr.contains("probe.wasm` failed: "), "{stderr}");
    assert_eq!(fs::read_dir(dir.join("pkg")).expect("it is there").count(), 1, "no file changes");
}

#[test]
fn a_real_function_generates_and_keeps_what_people_did() {
    let Some(modules) = modules() else { return };
    let config = modules.join("nginx.yaml");
    let nginx = |replicas| {
        format!(
            "apiVersion: example.com/v1\nkind: Nginx\nmetadata:\n  name: web\nspec:\n  replicas: {replicas}\n"
        )
    };
    fs::write(&config, nginx(3)).expect("the folder is ours");
    let args = ["--fn-config", config.to_str().expect("a name in UTF-8")];
    let (output, dir) = run(modules, "nginx", "nginx.wasm", &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let deployment = dir.join("pkg/config/web_deployment.yaml");
    let generated = fs::read_to_string(&deployment).expect("it was generated");
    assert!(generated.contains("  replicas: 3\n") && dir.join("pkg/config/web_service.yaml").exists());
    let by_hand = generated.replace("image: nginx:1.27", "image: nginx:1.27\n        tty: true # by hand");
    fs::write(&deployment, &by_hand).expect("the folder is ours");
    fs::write(&config, nginx(5)).expect("the folder is ours");
    let (output, _) = run(modules, "nginx", "nginx.wasm", &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let renewed = fs::read_to_string(&deployment).expect("it is there");
    assert_eq!(renewed, by_hand.replace("replicas: 3", "replicas: 5"));
}

#[test]
fn files_and_network_are_refused() {
    let Some(modules) = modules() else { return };
    let flags = ["--dry-run", "--allow-empty", "-e", "GIVEN=1", "--", "mode=report"];
    let (output, _) = run(modules, "report", "probe.wasm", &flags);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for fact in ["read-passwd", "read-here", "write", "connect", "listen"] {
        assert!(stdout.contains(&format!("  {fact}: \"refused\"\n")), "{fact} in {stdout}");
    }
    assert!(
        stdout.contains("  variables: \"GIVEN LOG_TO_STDERR STRUCTURED_RESULTS\"\n"),
        "of our environment nothing: {stdout}"
    );
}

#[test]
fn a_loop_is_stopped() {
    refused("loop", "loop", &["--timeout", "300ms"], "stopped after 0.3 s, its time limit");
}

#[test]
fn a_glutton_is_stopped() {
    refused("hog", "hog", &["--memory", "64Mi"], "it wanted more than 64 MiB of memory");
}

#[test]
fn a_crash_tells_why() {
    refused("crash", "crash", &[], "lost my way");
}

#[test]
fn output_without_end_is_cut_off() {
    refused("endless", "endless", &[], "stopped for printing too much");
}

#[test]
fn a_copy_changes_nothing() {
    let Some(modules) = modules() else { return };
    let (output, dir) = run(modules, "copy", "probe.wasm", &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        fs::read_to_string(dir.join("pkg/a.yaml")).expect("it is there"),
        "kind: Thing\nmetadata:\n  name: a # kept\n"
    );
}
