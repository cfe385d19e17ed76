//! Images without a container engine: fetched, locked, kept and unpacked, with a real registry; and bad days.
//!
//! What they may do once they run is for `tests/container.rs`.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

#[path = "support/left_out.rs"]
mod left_out;
#[path = "container/registry.rs"]
mod registry;
#[path = "support/shared_scratch.rs"]
mod shared_scratch;

use left_out::left_out;
use registry::{Registry, layer, probe, works};
use shared_scratch::shared_scratch;

/// A folder of a test's own.
struct Place {
    dir: PathBuf,
    registry: &'static Registry,
}

/// The folder all tests share: the registry, and the program that images hold.
fn shared() -> &'static Path {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    SHARED.get_or_init(|| {
        let dir = shared_scratch("images");
        fs::create_dir_all(dir.join("root/bin")).unwrap();
        probe(&dir.join("root/bin"));
        dir
    })
}

impl Place {
    /// `None` where there is no registry or no tool: that is said, and CI may not leave it out.
    fn new(name: &str) -> Option<Self> {
        static REGISTRY: OnceLock<Option<Registry>> = OnceLock::new();
        if !works("bwrap", "--version") {
            assert!(std::env::var("CI").is_err(), "CI needs the program `bwrap`");
            left_out("there is no `bwrap` here");
            return None;
        }
        let registry = REGISTRY.get_or_init(|| Registry::start(shared())).as_ref()?;
        let dir = shared().join(name);
        fs::create_dir_all(dir.join("app")).unwrap();
        fs::write(dir.join("app/kustomization.yaml"), "transformers: [fn.yaml]\n").unwrap();
        Some(Self { dir, registry })
    }

    /// Pushes an image that runs the probe, with more layers on top; gives its digest.
    fn push(&self, name: &str, tag: &str, config: Value, more: &[Vec<u8>]) -> String {
        let mut layers = vec![layer(&shared().join("root"))];
        layers.extend(more.iter().cloned());
        self.registry.push(name, tag, config, &layers)
    }

    /// The image that the kustomization of `app` runs.
    fn uses(&self, image: &str) {
        let text = format!(
            "apiVersion: example.com/v1\nkind: Probe\nmetadata:\n  name: probe\n  annotations:\n    \
             config.kubernetes.io/function: |\n      container: {{image: '{}/{image}'}}\n",
            self.registry.address
        );
        fs::write(self.dir.join("app/fn.yaml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(self.dir.join("app")).args(args).stdin(Stdio::null());
        krm.env("KRM_FN_RUNTIME", "sandbox").env("XDG_CACHE_HOME", self.dir.join("cache"));
        krm
    }

    fn build(&self, args: &[&str]) -> Output {
        self.command(&["build", "--enable-alpha-plugins"]).args(args).output().expect("krm starts")
    }

    /// What a build that must succeed prints and says.
    fn builds(&self, args: &[&str]) -> (String, String) {
        let output = self.build(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    }

    /// What a build says that must fail with this code.
    fn fails(&self, args: &[&str], code: &str) -> String {
        let output = self.build(args);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(&format!("error[{code}]")), "{args:?}: {said}");
        assert!(output.stdout.is_empty());
        said
    }

    fn store(&self) -> PathBuf {
        self.dir.join("cache/krm/store/v1")
    }

    /// The one unpacked image.
    fn unpacked(&self) -> PathBuf {
        let all = self.entries("images");
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    fn entries(&self, kind: &str) -> Vec<PathBuf> {
        let list = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        list(&self.store().join(kind)).flat_map(|shelf| list(&shelf).collect::<Vec<_>>()).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn program() -> Value {
    json!({"Entrypoint": ["/bin/probe"], "Env": ["OF_THE_IMAGE=yes", "PATH=/bin"]})
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// A file as a layer.
fn file_layer(path: &str, content: &[u8]) -> Vec<u8> {
    let dir = shared().join(format!("layer-{}", path.replace('/', "-")));
    let file = dir.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
    layer(&dir)
}

/// An archive with one entry, as no well-meaning program writes it.
fn hostile_layer(path: &str, flag: u8, link: &str, size: u64) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[100..107].copy_from_slice(b"0000755");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..136].copy_from_slice(&[&[0x80, 0, 0, 0], &size.to_be_bytes()[..]].concat());
    header[156] = flag;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    [&header[..], &[0; 1024]].concat()
}

#[test]
fn an_image_says_how_it_is_started() {
    let Some(place) = Place::new("says") else { return };
    let mut config = program();
    config["Cmd"] = json!(["by", "default"]);
    config["WorkingDir"] = json!("/made/for/it");
    place.push("says", "1", config, &[]);
    place.uses("says:1");
    let (built, _) = place.builds(&[]);
    for fact in ["env-OF_THE_IMAGE: \"yes\"", "folder: /made/for/it", "arguments: by default"] {
        assert!(built.contains(fact), "{fact}: {built}");
    }
    let image = format!("{}/says:1", place.registry.address);
    let doc = place.command(&["fn", "doc", &image]).output().unwrap();
    assert!(text(&doc.stdout).contains("arguments: \"--help\""), "{}", text(&doc.stderr));
    // One that says nothing, and one that says what is not there.
    for (name, config, code) in [
        ("none", json!({}), "image-no-program"),
        ("wrong", json!({"Cmd": ["/nowhere"]}), "image-not-started"),
    ] {
        place.push(name, "1", config, &[]);
        place.uses(&format!("{name}:1"));
        place.fails(&[], code);
    }
}

#[test]
fn an_image_is_locked_and_another_one_under_its_tag_refused() {
    let Some(place) = Place::new("locked") else { return };
    let first = place.push("locked", "1", program(), &[]);
    place.uses("locked:1");
    place.fails(&["--locked"], "image-not-locked");
    let locked = place.command(&["lock"]).output().unwrap();
    assert!(locked.status.success(), "{}", text(&locked.stderr));
    let lock = fs::read_to_string(place.dir.join("app/krm.lock")).unwrap();
    assert!(lock.contains(&format!("digest: {first}\n")), "{lock}");
    place.fails(&["--offline"], "image-not-pulled");
    let (built, _) = place.builds(&["--locked"]);
    // The tag now means another image: a build with a lock file still gets the first.
    let second = place.push("locked", "1", json!({"Entrypoint": ["/bin/probe", "moved"]}), &[]);
    assert_ne!(first, second);
    assert_eq!(place.builds(&["--locked"]).0, built);
    assert_eq!(place.builds(&["--locked", "--offline"]).0, built);
    fs::remove_dir_all(place.dir.join("cache")).unwrap();
    assert_eq!(place.builds(&["--locked"]).0, built, "by its digest it is still there");
    let check = place.command(&["lock", "--check", "--update"]).output().unwrap();
    assert!(text(&check.stderr).contains("error[lock-outdated]"), "{}", text(&check.stderr));
    // Gone for good.
    fs::remove_dir_all(place.dir.join("cache")).unwrap();
    let (status, _) =
        place.registry.ask("DELETE", &format!("/v2/locked/manifests/{first}"), "text/plain", b"");
    assert_eq!(status, 202);
    place.fails(&["--locked"], "image-not-pulled");
    fs::remove_file(place.dir.join("app/krm.lock")).unwrap();
    assert!(place.builds(&[]).0.contains("arguments: moved"));
    // Packages with a Kptfile are held to the lock file too.
    let image = format!("{}/locked:1", place.registry.address);
    for args in [
        &["fn", "eval", ".", "--image", &image, "--locked"][..],
        &["fn", "run", ".", "--image", &image, "--locked"],
    ] {
        let output = place.command(args).output().unwrap();
        assert!(text(&output.stderr).contains("image-not-locked"), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_tag_is_looked_up_once_unless_asked() {
    let Some(place) = Place::new("tags") else { return };
    place.push("tags", "1", program(), &[]);
    place.uses("tags:1");
    place.builds(&[]);
    place.push("tags", "1", json!({"Entrypoint": ["/bin/probe", "moved"]}), &[]);
    assert!(!place.builds(&[]).0.contains("moved"));
    let image = format!("{}/tags:1", place.registry.address);
    let run = |policy: &str| {
        let args = [
            "fn",
            "run",
            ".",
            "--dry-run",
            "--allow-empty",
            "--image",
            &image,
            "--image-pull-policy",
            policy,
        ];
        let output = place.command(&args).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(!run("Never").contains("moved"));
    assert!(run("Always").contains("moved"));
    assert!(run("Never").contains("moved"));
}

#[test]
fn a_flipped_byte_is_found_and_mended() {
    let Some(place) = Place::new("flipped") else { return };
    place.push("flipped", "1", program(), &[file_layer("etc/more", b"more")]);
    place.uses("flipped:1");
    let (built, said) = place.builds(&[]);
    assert_eq!(said, "");
    type Damage = fn(&Path);
    let damages: [Damage; 6] = [
        |image| flip(&image.join("root/bin/probe")),
        |image| fs::write(image.join("root/etc/extra"), "x").unwrap(),
        |image| fs::remove_file(image.join("root/etc/more")).unwrap(),
        |image| flip(&image.join("about")),
        |image| {
            flip(&image.join("stamp"));
            flip(&image.join("list"));
        },
        |image| {
            fs::remove_file(image.join("root/etc/more")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", image.join("root/etc/more")).unwrap();
        },
    ];
    for damage in damages {
        damage(&place.unpacked());
        // The layers are in the store: nothing has to be fetched.
        let (again, said) = place.builds(&["--offline"]);
        assert!(again == built && said.contains("warning[image-damaged]"), "{said}");
        assert_eq!(place.builds(&[]), (built.clone(), String::new()), "it was mended");
    }
    // Only a note that was lost: everything is compared, and right.
    flip(&place.unpacked().join("stamp"));
    assert_eq!(place.builds(&[]), (built.clone(), String::new()));
    // Damaged as a whole, layers and all.
    flip(&place.unpacked().join("root/bin/probe"));
    let largest =
        place.entries("files").into_iter().max_by_key(|file| file.metadata().unwrap().len()).unwrap();
    flip(&largest);
    let said = place.fails(&["--offline"], "image-unusable");
    assert!(said.contains("was damaged in the cache"), "{said}");
    assert_eq!(place.builds(&[]).0, built, "what is damaged is fetched again");
}

#[test]
fn a_killed_process_leaves_a_store_that_works() {
    let Some(place) = Place::new("killed") else { return };
    let many = shared().join("many");
    fs::create_dir_all(&many).unwrap();
    for number in 0..2000 {
        fs::write(many.join(number.to_string()), format!("{number}\n").repeat(100)).unwrap();
    }
    place.push("killed", "1", program(), &[layer(&many)]);
    place.uses("killed:1");
    let (built, _) = place.builds(&[]);
    for delay in [10, 30, 60, 90, 120, 200] {
        let _ = fs::remove_dir_all(place.dir.join("cache"));
        let mut krm = place.command(&["build", "--enable-alpha-plugins"]);
        let mut krm = krm.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let _ = krm.kill();
        let _ = krm.wait();
        assert_eq!(place.builds(&[]), (built.clone(), String::new()), "killed after {delay} ms");
        assert_eq!(place.builds(&["--offline"]).0, built);
    }
    // What is left half-written goes with the rest, and images are counted.
    let krm = |args: &[&str]| text(&place.command(args).output().unwrap().stdout);
    fs::create_dir_all(place.store().join("new/1-0-abc/root")).unwrap();
    krm(&["cache", "gc"]);
    assert_eq!(fs::read_dir(place.store().join("new")).unwrap().count(), 0);
    assert!(krm(&["cache", "info"]).contains("images          1"), "{}", krm(&["cache", "info"]));
    krm(&["cache", "clear"]);
    assert!(krm(&["cache", "info"]).contains("images          0"), "{}", krm(&["cache", "info"]));
    place.fails(&["--offline"], "image-not-pulled");
}

#[test]
fn many_builds_unpack_one_image() {
    let Some(place) = Place::new("many-builds") else { return };
    place.push("many-builds", "1", program(), &[file_layer("etc/other", b"other")]);
    place.uses("many-builds:1");
    let running: Vec<_> = (0..10)
        .map(|_| {
            let mut krm = place.command(&["build", "--enable-alpha-plugins"]);
            krm.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<Output> = running.into_iter().map(|krm| krm.wait_with_output().unwrap()).collect();
    for output in &outputs {
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(output.stdout, outputs[0].stdout);
    }
    place.unpacked();
    assert_eq!(fs::read_dir(place.store().join("new")).unwrap().count(), 0, "nothing half-written is left");
}

#[test]
fn hostile_images_are_refused_and_nothing_is_written() {
    let Some(place) = Place::new("hostile") else { return };
    let outside = place.dir.join("outside");
    fs::create_dir_all(&outside).unwrap();
    let absolute = outside.join("evil").display().to_string();
    for (number, (layer, code)) in [
        (hostile_layer(&absolute, b'0', "", 0), "image-unsafe"),
        (hostile_layer("../../../../../outside/evil", b'0', "", 0), "image-unsafe"),
        (hostile_layer("hard", b'1', "/etc/passwd", 0), "image-unsafe"),
        (hostile_layer("hard", b'1', "../../../../../../etc/passwd", 0), "image-unsafe"),
        (hostile_layer("dev/sda", b'4', "", 0), "image-unsafe"),
        (hostile_layer("pipe", b'6', "", 0), "image-unsafe"),
        (hostile_layer("huge", b'0', "", 1 << 40), "image-too-large"),
        (b"this is not an archive, but it has a digest all the same".repeat(20).to_vec(), "image-unusable"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("hostile-{number}");
        place.push(&name, "1", program(), &[layer]);
        place.uses(&format!("{name}:1"));
        place.fails(&[], code);
        assert!(place.entries("images").is_empty(), "nothing is kept");
        assert_eq!(fs::read_dir(place.store().join("new")).unwrap().count(), 0);
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    // Through a link of an earlier layer: it stays within the image.
    let link = hostile_layer("away", b'2', &outside.display().to_string(), 0);
    place.push("link", "1", program(), &[link, file_layer("away/file", b"x")]);
    place.uses("link:1");
    place.builds(&[]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_credential_helper_is_asked_for_a_registry() {
    let Some(place) = Place::new("helper") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let lines = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let _ = asked.send(head.join("\n"));
            let _ = client.write_all(
                b"HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    let image = format!("image: '{}/", place.registry.address);
    place.uses("f:v1");
    let function = fs::read_to_string(place.dir.join("app/fn.yaml")).unwrap();
    fs::write(place.dir.join("app/fn.yaml"), function.replace(&image, &format!("image: '{address}/")))
        .unwrap();
    let helper = place.dir.join("app/helper");
    fs::write(&helper, "#!/bin/sh\necho '{\"headers\":{\"Authorization\":[\"Basic b3Blbg==\"]}}'\n").unwrap();
    fs::set_permissions(&helper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut krm =
        place.command(&["build", "--enable-alpha-plugins", "--remote-credential-helper", "./helper"]);
    let output = krm.env("DOCKER_CONFIG", &place.dir).env("HOME", &place.dir).output().unwrap();
    assert!(text(&output.stderr).contains("error[image-not-pulled]"), "{}", text(&output.stderr));
    let requests: Vec<String> = requests.try_iter().collect();
    let shown = |request: &String| request.contains("authorization: Basic b3Blbg==");
    assert_eq!(requests.iter().map(shown).collect::<Vec<_>>(), [false, true], "{requests:?}");
}

#[test]
fn layers_that_krm_cannot_read_are_named() {
    let Some(place) = Place::new("xz") else { return };
    place.registry.push_packed("xz", "1", program(), "xz", &[b"\xfd7zXZ and so on".to_vec()]);
    place.uses("xz:1");
    let said = place.fails(&[], "image-unusable");
    assert!(said.contains("compressed by `xz`") && said.contains("gzip"), "{said}");
    assert!(place.entries("images").is_empty(), "nothing is kept");
}

#[test]
fn layers_may_be_compressed_by_zstd() {
    let Some(place) = Place::new("zstd") else { return };
    place.push("gzip", "1", program(), &[file_layer("etc/other", b"other")]);
    place.uses("gzip:1");
    let (built, _) = place.builds(&[]);
    let packed = |layer: Vec<u8>| compress_to_vec(&layer[..], CompressionLevel::Fastest);
    let mut layers = [layer(&shared().join("root")), file_layer("etc/other", b"other")].map(packed);
    place.registry.push_packed("zstd", "1", program(), "zstd", &layers);
    place.uses("zstd:1");
    assert_eq!(place.builds(&[]).0, built);
    // Half a layer is an error, whatever its digest says.
    layers[1].truncate(layers[1].len() / 2);
    place.registry.push_packed("half", "1", program(), "zstd", &layers);
    place.uses("half:1");
    let said = place.fails(&[], "image-unusable");
    assert!(said.contains("is not an archive"), "{said}");
}

/// A disk of a few blocks.
#[test]
fn a_full_disk_is_named_and_leaves_nothing() {
    let Some(place) = Place::new("full") else { return };
    let disk = place.dir.join("cache");
    fs::create_dir_all(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs"]).arg(&disk).stderr(Stdio::null());
    if !mount.status().is_ok_and(|status| status.success()) {
        left_out("a small disk takes the right to mount");
        return;
    }
    let noise: Vec<u8> = (0..6_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    place.push("full", "1", program(), &[file_layer("noise", &noise)]);
    place.uses("full:1");
    let result = std::panic::catch_unwind(|| {
        let said = place.fails(&[], "store-full");
        assert!(said.contains("No space left on device") && said.contains("krm cache gc"), "{said}");
        assert!(place.entries("images").is_empty());
        assert_eq!(fs::read_dir(place.store().join("new")).unwrap().count(), 0);
    });
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    result.unwrap();
    place.builds(&[]);
}

/// A tool that cannot make a sandbox is reported as such, and a program that fails is not mistaken for it.
#[test]
fn the_fault_of_a_tool_is_not_that_of_a_function() {
    let Some(place) = Place::new("tool") else { return };
    if text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() != "0" {
        left_out("only root can use crun");
        return;
    }
    place.push("tool", "1", program(), &[]);
    place.uses("tool:1");
    let bin = place.dir.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let says = |script: &str| {
        fs::write(bin.join("crun"), format!("#!/bin/sh\n{script}\nexit 1\n")).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(bin.join("crun"), executable).unwrap();
        let mut krm = place.command(&["build", "--enable-alpha-plugins"]);
        text(&krm.env("KRM_FN_RUNTIME", "crun").env("PATH", &path).output().unwrap().stderr)
    };
    let said = says("echo 'runc run failed: made up' >&2");
    assert!(said.contains("error[function-failed]") && said.contains("made up"), "{said}");
    let said = says("test \"$1\" = --log && echo '{\"level\":\"error\",\"msg\":\"no cgroups\"}' >\"$2\"");
    let wanted = "error[sandbox-failed]: `crun` cannot make a sandbox on this machine: no cgroups";
    assert!(said.contains(wanted), "{said}");
}

/// An ordinary user, without a control group.
#[test]
fn limits_that_cannot_be_had_are_an_error() {
    let Some(place) = Place::new("ordinary") else { return };
    if text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() != "0"
        || !works("setpriv", "--version")
    {
        left_out("changing the user takes root, and `setpriv`");
        return;
    }
    place.push("ordinary", "1", program(), &[]);
    place.uses("ordinary:1");
    let cache = place.dir.join("cache");
    fs::create_dir_all(&cache).unwrap();
    std::os::unix::fs::chown(&cache, Some(65534), Some(65534)).unwrap();
    let run = |more: &[(&str, &str)]| {
        let mut krm = Command::new("setpriv");
        krm.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(env!("CARGO_BIN_EXE_krm"));
        krm.args(["build", "--enable-alpha-plugins"]).current_dir(place.dir.join("app")).stdin(Stdio::null());
        krm.env("KRM_FN_RUNTIME", "sandbox").env("XDG_CACHE_HOME", &cache);
        // Under `cargo llvm-cov` the profile goes to a folder that this user cannot write to.
        krm.env("LLVM_PROFILE_FILE", "/dev/null");
        krm.envs(more.iter().copied());
        krm.output().unwrap()
    };
    let refused = run(&[]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("error[sandbox-no-limits]"), "{said}");
    assert!(said.contains("KRM_SANDBOX_LIMITS=each-process"), "{said}");
    let allowed = run(&[("KRM_SANDBOX_LIMITS", "each-process")]);
    let built = text(&allowed.stdout);
    assert!(allowed.status.success(), "{}", text(&allowed.stderr));
    for fact in
        ["Uid: \"65534\"", "CapBnd: \"0000000000000000\"", "interfaces: lo", "write-: ReadOnlyFilesystem"]
    {
        assert!(built.contains(fact), "{fact}: {built}");
    }
    // A service manager that is asked for a scope; this one only writes down what it is asked.
    let bin = place.dir.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let mut script = fs::File::create(bin.join("systemd-run")).unwrap();
    let log = cache.join("asked");
    let body = format!(
        "#!/bin/sh\necho \"$@\" >> {}\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n",
        log.display()
    );
    script.write_all(body.as_bytes()).unwrap();
    drop(script);
    fs::set_permissions(bin.join("systemd-run"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let scoped = run(&[("PATH", &path)]);
    assert!(scoped.status.success(), "{}", text(&scoped.stderr));
    assert_eq!(text(&scoped.stdout), built);
    let asked = fs::read_to_string(&log).unwrap();
    for option in
        ["--user --scope", "--property=MemoryMax=2147483648", "--property=TasksMax=1024", "MemorySwapMax=0"]
    {
        assert!(asked.contains(option), "{option}: {asked}");
    }
}

/// A store that others can write to is not believed.
#[test]
fn the_store_must_be_ours_alone() {
    let Some(place) = Place::new("open") else { return };
    place.push("open", "1", program(), &[]);
    place.uses("open:1");
    fs::create_dir_all(place.store()).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(place.dir.join("cache/krm"), open).unwrap();
    let said = place.fails(&[], "image-no-store");
    assert!(said.contains("help: run `chmod -R go-w "), "{said}");
}
