//! A registry on this machine, with images made here: Debian's `docker-registry`, spoken to by plain HTTP.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub struct Registry {
    /// `127.0.0.1` and a port.
    pub address: String,
    /// It ends when this is closed, however this process ends.
    _input: ChildStdin,
    _shell: Child,
}

impl Registry {
    /// Starts a registry that keeps images in a folder; `None` if there is no such program. CI may not leave it out.
    pub fn start(folder: &Path) -> Option<Self> {
        if !works("docker-registry", "--version") {
            assert!(std::env::var("CI").is_err(), "CI needs the program `docker-registry`");
            super::left_out("there is no `docker-registry` here");
            return None;
        }
        fs::create_dir_all(folder.join("registry")).unwrap();
        // Free now; nobody else on this machine asks for exactly this one.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\n\
             http: {{addr: '{address}'}}\n",
            folder.join("registry").display()
        );
        fs::write(folder.join("registry.yml"), config).unwrap();
        let script = "docker-registry serve \"$0\" </dev/null >/dev/null 2>&1 & read line; kill $!";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(folder.join("registry.yml")).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let input = shell.stdin.take().unwrap();
        let registry = Self { address, _input: input, _shell: shell };
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(&registry.address).is_err() {
            assert!(Instant::now() < deadline, "the registry does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(registry)
    }

    /// Pushes an image of these layers, each an archive; gives its digest.
    pub fn push(&self, name: &str, tag: &str, config: Value, layers: &[Vec<u8>]) -> String {
        let layers: Vec<Vec<u8>> = layers.iter().map(|layer| gzip(layer)).collect();
        self.push_packed(name, tag, config, "gzip", &layers)
    }

    /// The same with layers that are compressed already.
    pub fn push_packed(&self, name: &str, tag: &str, config: Value, by: &str, layers: &[Vec<u8>]) -> String {
        let kind = format!("application/vnd.oci.image.layer.v1.tar+{by}");
        let pushed = |layer: &Vec<u8>| {
            let digest = self.push_blob(name, layer);
            json!({"mediaType": kind, "digest": digest, "size": layer.len()})
        };
        let layers: Vec<Value> = layers.iter().map(pushed).collect();
        let config =
            json!({"architecture": "amd64", "os": "linux", "config": config, "rootfs": {"type": "layers"}});
        let config = config.to_string();
        let digest = self.push_blob(name, config.as_bytes());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": config.len()},
            "layers": layers,
        })
        .to_string();
        let path = format!("/v2/{name}/manifests/{tag}");
        let (status, _) =
            self.ask("PUT", &path, "application/vnd.oci.image.manifest.v1+json", manifest.as_bytes());
        assert_eq!(status, 201, "{path}");
        sha256(manifest.as_bytes())
    }

    fn push_blob(&self, name: &str, bytes: &[u8]) -> String {
        let (status, location) = self.ask("POST", &format!("/v2/{name}/blobs/uploads/"), "text/plain", b"");
        assert_eq!(status, 202);
        let path = location.split_once(&self.address).map_or(&*location, |(_, path)| path);
        let digest = sha256(bytes);
        let (status, _) =
            self.ask("PUT", &format!("{path}&digest={digest}"), "application/octet-stream", bytes);
        assert_eq!(status, 201);
        digest
    }

    /// Asks for something; gives the status and where to go from there.
    pub fn ask(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        let location = answer.lines().find_map(|line| line.strip_prefix("Location: "));
        (status, location.unwrap_or_default().trim().to_owned())
    }
}

/// Whether a program is there and starts.
pub fn works(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A folder as a layer.
pub fn layer(folder: &Path) -> Vec<u8> {
    let tar = Command::new("tar").args(["-c", "--owner=0", "--group=0", "-C"]).arg(folder).arg(".").output();
    let tar = tar.expect("tar starts");
    assert!(tar.status.success());
    tar.stdout
}

/// The program that tests of containers run as a function, built once for a folder.
pub fn probe(folder: &Path) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/container/probe.rs");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut build = Command::new(rustc);
    build
        .args(["--edition=2024", "-C", "target-feature=+crt-static", "-o"])
        .arg(folder.join("probe"))
        .arg(source);
    assert!(build.status().expect("rustc starts").success());
    fs::read(folder.join("probe")).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
