//! `krm serve`: the page of a build, for one user of one machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "support/left_out.rs"]
mod left_out;

use left_out::left_out;

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serve").join(name);
    drop(std::fs::remove_dir_all(&dir));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Puts each file in place whole: a server that looks in the middle would see it empty.
fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let aside = path.with_extension("aside");
        std::fs::write(&aside, text).unwrap();
        std::fs::rename(aside, path).unwrap();
    }
}

const DEPLOYMENT: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n";

/// A server, ended when the test is.
struct Serving {
    child: Child,
    port: u16,
    token: String,
    dir: PathBuf,
}

impl Serving {
    fn start(name: &str, args: &[&str]) -> Self {
        let dir = folder(name);
        write(&dir, &[("app/kustomization.yaml", "resources: [web.yaml]\n"), ("app/web.yaml", DEPLOYMENT)]);
        write(&dir, &[("secret.txt", "nobody may read this\n")]);
        Self::start_in(dir, args)
    }

    fn start_in(dir: PathBuf, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_krm"))
            .arg("serve")
            .args(args)
            .current_dir(&dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("krm starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://127.0.0.1:").expect("an address of this machine");
        let (port, token) = address.split_once("/?token=").expect("a secret");
        Self { port: port.parse().unwrap(), token: token.to_owned(), child, dir }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("someone listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// The answer to a request, word for word.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        // A server that refuses early may not take all of it.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn get(&self, address: &str, headers: &str) -> String {
        self.ask(&format!("GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", self.port))
    }

    fn page(&self) -> String {
        self.get(&format!("/?token={}", self.token), "")
    }

    /// Reads events until one has a name.
    fn events(&self) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        let (port, token) = (self.port, &self.token);
        let request = format!("GET /events/0?token={token} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The data of the next event with a name.
fn next_event(events: &mut BufReader<TcpStream>, name: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(events.read_line(&mut line).expect("an event comes in time") > 0, "the stream ended");
        if line.trim_end() == format!("event: {name}") {
            let mut data = String::new();
            loop {
                line.clear();
                events.read_line(&mut line).unwrap();
                match line.strip_prefix("data: ") {
                    Some(text) => data.push_str(text),
                    None => return data,
                }
            }
        }
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn only_those_who_know_the_secret_get_an_answer() {
    let krm = Serving::start("secret", &["app"]);
    let page = krm.page();
    assert_eq!(status(&page), "200");
    assert!(page.contains("Deployment") && page.contains("default-src 'none'"), "{page}");
    assert!(!page.to_lowercase().contains("access-control-"), "no other page may read it");
    assert!(krm.token.len() >= 32);
    let address = format!("/?token={}", krm.token);
    let (port, token) = (krm.port, &krm.token);
    // No secret, and wrong ones.
    for address in
        ["/", "/?token=", "/?token=x", &address[..address.len() - 1], &format!("{address}0"), "/events/0"]
    {
        assert_eq!(status(&krm.get(address, "")), "403", "{address}");
    }
    // A foreign page that leads here by its own name, and one that sends requests here.
    for host in ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "0.0.0.0", ""] {
        let answer = krm.ask(&format!("GET {address} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(status(&answer), "403", "{host}");
    }
    assert_eq!(status(&krm.ask(&format!("GET {address} HTTP/1.1\r\n\r\n"))), "403");
    for header in [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: https://127.0.0.1",
        "Sec-Fetch-Site: cross-site",
    ] {
        assert_eq!(status(&krm.get(&address, &format!("{header}\r\n"))), "403", "{header}");
    }
    assert_eq!(status(&krm.get(&address, &format!("Origin: http://127.0.0.1:{port}\r\n"))), "200");
    // Nothing but reading.
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let request =
            format!("{method} {address} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(status(&krm.ask(&request)), "405", "{method}");
    }
    // No way leads to a file.
    for path in
        ["/../secret.txt", "/app/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%252e%252e/x"]
    {
        let answer = krm.get(&format!("{path}?token={token}"), "");
        assert_eq!(status(&answer), "403", "{path}");
        assert!(!answer.contains("nobody may read this"));
    }
    for path in ["/secret.txt", "/app/web.yaml", "/target/1", "/target/x", "/events/-1", "//", "/target/0/"] {
        assert_eq!(status(&krm.get(&format!("{path}?token={token}"), "")), "404", "{path}");
    }
}

#[test]
fn other_machines_do_not_reach_it() {
    let krm = Serving::start("loopback", &["app"]);
    // The address by which others know this machine, if there is one.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let outside = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let Some(outside) = outside.ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback()) else {
        left_out("this machine has no address but its own");
        return;
    };
    let reached = TcpStream::connect_timeout(&SocketAddr::from((outside, krm.port)), Duration::from_secs(2));
    assert!(reached.is_err(), "{outside}");
}

#[test]
fn what_is_not_a_request_harms_nobody() {
    let krm = Serving::start("hostile", &["app"]);
    // Some who say nothing, and one who says it slowly, keep nobody waiting.
    let mut silent: Vec<TcpStream> = (0..20).map(|_| krm.connect()).collect();
    silent[0].write_all(b"GET / HT").unwrap();
    let start = Instant::now();
    assert_eq!(status(&krm.page()), "200");
    assert!(start.elapsed() < Duration::from_secs(5));
    let long = format!("GET /?{} HTTP/1.1\r\n", "a".repeat(1 << 20));
    assert!(["431", "none"].contains(&status(&krm.ask(&long))));
    let many = format!("GET / HTTP/1.1\r\n{}", "X-A: b\r\n".repeat(100_000));
    assert!(["431", "none"].contains(&status(&krm.ask(&many))));
    assert_eq!(status(&krm.ask("\x16\x03\x01\x02\x00\x01\r\n\r\n")), "400");
    assert_eq!(status(&krm.ask("GET http://evil.example/ HTTP/1.1\r\n\r\n")), "400");
    // More than it takes are turned away, and those before them still served.
    let crowd: Vec<TcpStream> = (0..100).map(|_| krm.connect()).collect();
    drop(crowd);
    drop(silent);
    let end = Instant::now() + Duration::from_secs(30);
    while status(&krm.page()) != "200" {
        assert!(Instant::now() < end, "it serves again once they are gone");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_page_follows_the_files() {
    let krm = Serving::start("live", &["app"]);
    let first = krm.page();
    let mut events = krm.events();
    next_event(&mut events, "good");
    write(&krm.dir, &[("app/web.yaml", &DEPLOYMENT.replace("replicas: 1", "replicas: 4321"))]);
    next_event(&mut events, "changed");
    let second = krm.page();
    assert!(second != first && second.contains("4321"));
    // Broken input is shown over the last good state.
    write(&krm.dir, &[("app/web.yaml", "a: [\n")]);
    let said = next_event(&mut events, "failed");
    assert!(said.contains("app/web.yaml"), "{said}");
    let failing = krm.page();
    assert!(failing.contains("4321"));
    assert!(failing.contains("<noscript><h2>The build fails now</h2>"), "without script it is shown too");
    let mut others = krm.events();
    next_event(&mut others, "failed");
    // A file that vanishes, and one that comes back.
    std::fs::remove_file(krm.dir.join("app/web.yaml")).unwrap();
    next_event(&mut events, "failed");
    write(&krm.dir, &[("app/web.yaml", &DEPLOYMENT.replace("replicas: 1", "replicas: 8765"))]);
    next_event(&mut events, "changed");
    next_event(&mut others, "good");
    let last = krm.page();
    assert!(last.contains("8765") && !last.contains("The build fails now"));
}

#[test]
fn several_targets_have_a_page_each() {
    let dir = folder("several");
    write(
        &dir,
        &[
            ("a/kustomization.yaml", "resources: [web.yaml]\n"),
            ("a/web.yaml", DEPLOYMENT),
            ("b<img>/kustomization.yaml", "resources: [gone.yaml]\n"),
        ],
    );
    let krm = Serving::start_in(dir, &[]);
    let list = krm.page();
    assert!(list.contains("<bdi>a</bdi></a>") && list.contains("<bdi>b&lt;img&gt;</bdi></a>"), "{list}");
    assert!(list.contains("1 does not build") && list.contains("<div class=\"failure\">"), "{list}");
    // A browser would ask for an icon without the secret, and complain about the refusal.
    assert!(list.contains("rel=\"icon\" href=\"data:") && list.contains("<style>"), "{list}");
    for target in 0..2 {
        let page = krm.get(&format!("/target/{target}?token={}", krm.token), "");
        assert_eq!(status(&page), "200");
    }
}

#[test]
fn the_port_is_free_again_at_once() {
    let krm = Serving::start("port", &["app"]);
    let (port, dir) = (krm.port.to_string(), krm.dir.clone());
    assert_eq!(status(&krm.page()), "200");
    let taken = Command::new(env!("CARGO_BIN_EXE_krm"))
        .args(["serve", "app", "--port", &port])
        .current_dir(&dir)
        .output()
        .unwrap();
    assert_eq!(taken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&taken.stderr).contains("error[serve-port]"));
    drop(krm);
    let again = Serving::start_in(dir, &["app", "--port", &port]);
    assert_eq!(again.port.to_string(), port);
}

#[test]
fn nothing_runs_that_was_not_allowed() {
    let dir = folder("programs");
    let function = "apiVersion: example.com/v1\nkind: Touch\nmetadata:\n  name: touch\n  annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: ./touch.sh\n";
    write(
        &dir,
        &[
            ("app/kustomization.yaml", "resources: [web.yaml]\ntransformers: [touch.yaml]\n"),
            ("app/web.yaml", DEPLOYMENT),
            ("app/touch.yaml", function),
            ("app/touch.sh", "#!/bin/sh\ntouch ran\ncat\n"),
        ],
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.join("app/touch.sh"), mode).unwrap();
    }
    let krm = Serving::start_in(dir.clone(), &["app"]);
    assert_eq!(status(&krm.page()), "200");
    assert!(!dir.join("app/ran").exists() && !dir.join("ran").exists());
}

#[test]
fn fields_that_are_masked_are_not_in_the_page() {
    // Whether there is a browser makes no difference.
    let krm = Serving::start("mask", &["app", "--mask", "spec.replicas", "--open"]);
    write(&krm.dir, &[("app/web.yaml", &DEPLOYMENT.replace("replicas: 1", "replicas: 4321"))]);
    let mut events = krm.events();
    next_event(&mut events, "changed");
    assert!(!krm.page().contains("4321"));
}
