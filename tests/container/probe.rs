//! A function for testing containers: tells what it can see and do, or misbehaves as it is asked to.

use std::io::Read;
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

unsafe extern "C" {
    fn setuid(user: u32) -> i32;
    fn setsid() -> i32;
    fn fork() -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn unshare(what: i32) -> i32;
    fn wait(status: *mut i32) -> i32;
    fn close(file: i32) -> i32;
    fn _exit(code: i32) -> !;
}

const NEW_USERS: i32 = 0x1000_0000;

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("there is an input");
    let mode = input.lines().find_map(|line| line.trim().strip_prefix("mode: ")).unwrap_or("report");
    match mode.trim_matches(['"', '\'']) {
        "hang" => std::thread::sleep(Duration::from_secs(600)),
        "hog" => hog(),
        "hog-together" => hog_together(),
        "multiply" => multiply(),
        "fork" => fork_many(),
        "orphan" => orphan(false),
        "orphan-and-hang" => orphan(true),
        "attack" => attack(),
        _ => report(),
    }
}

/// Prints one ConfigMap with everything worth knowing.
fn report() {
    start();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for field in ["Uid", "Gid", "NoNewPrivs", "CapEff", "CapBnd"] {
        let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(":"));
        fact(field, value.unwrap_or("?").split_whitespace().next().unwrap_or("?"));
    }
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names: Vec<&str> = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    fact("interfaces", &names.join(" "));
    for place in ["/", "/tmp", "/local", "/data"] {
        fact(&format!("write{}", place.replace('/', "-")), &outcome(std::fs::write(format!("{place}/probe"), "x")));
        let read = std::fs::read_to_string(format!("{place}/secret")).unwrap_or_else(|e| format!("{:?}", e.kind()));
        fact(&format!("read{}", place.replace('/', "-")), read.trim());
    }
    for name in ["LOG_TO_STDERR", "STRUCTURED_RESULTS", "DECLARED", "GIVEN", "HOME_OF_THE_HOST", "OF_THE_IMAGE"] {
        fact(&format!("env-{name}"), &std::env::var(name).unwrap_or_else(|_| "unset".into()));
    }
    fact("folder", &std::env::current_dir().map_or("?".into(), |dir| dir.display().to_string()));
    fact("arguments", &std::env::args().skip(1).collect::<Vec<_>>().join(" "));
}

/// Tries what no function may, and tells how that went.
fn attack() {
    start();
    let host = std::env::var("LISTENER_OF_THE_HOST").unwrap_or_default();
    fact("connect", &outcome(TcpStream::connect(&*host).map(drop)));
    let send = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"x", "192.0.2.1:53"));
    fact("send", &outcome(send.map(drop)));
    for path in ["/probe", "/etc/new", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/dev/new"] {
        let open = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
        fact(&format!("open{}", path.replace('/', "-")), if open.is_ok() { "yes" } else { "no" });
    }
    // The image has none: what is there is the host's.
    for path in ["/etc/shadow", "/proc/1/root/etc/shadow", "/oldroot/etc/shadow", "/../etc/shadow"] {
        let read = std::fs::read(path);
        fact(&format!("read{}", path.replace(['/', '.'], "-")), if read.is_ok() { "yes" } else { "no" });
    }
    // SAFETY: numbers in, numbers out.
    unsafe {
        fact("setuid", &setuid(0).to_string());
        fact("unshare", &unshare(NEW_USERS).to_string());
        // Everyone this process can see: not krm.
        let _ = kill(-1, 9);
    }
    let others = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let programs = others.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
    fact("sees-krm", if programs.into_iter().any(|name| name.trim() == "krm") { "yes" } else { "no" });
}

fn start() {
    println!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:");
    println!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: report\n  data:");
}

fn outcome(result: std::io::Result<()>) -> String {
    match result {
        Ok(()) => "yes".to_string(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn fact(name: &str, value: &str) {
    println!("    {name}: {value:?}");
}

/// Takes memory, and uses it, until stopped.
fn hog() {
    let mut taken = Vec::new();
    loop {
        taken.push(vec![1_u8; 1 << 20]);
    }
}

/// Has four processes take a little less than the limit each, and tells how many of them were stopped.
fn hog_together() {
    // SAFETY: the children do nothing but take memory, and end.
    let stopped = unsafe {
        for _ in 0..4 {
            if fork() == 0 {
                let taken = vec![1_u8; 40 << 20];
                std::thread::sleep(Duration::from_secs(2));
                _exit(i32::from(taken[taken.len() / 2]) - 1);
            }
        }
        let mut status = 0;
        let mut stopped = 0;
        while wait(&mut status) > 0 {
            stopped += i32::from(status != 0);
        }
        stopped
    };
    start();
    fact("stopped", &stopped.to_string());
}

/// Starts threads until that fails, and tells how many there were.
fn multiply() {
    let mut count = 0;
    while count < 5000 {
        let started = std::thread::Builder::new().stack_size(64 << 10).spawn(|| std::thread::sleep(Duration::from_secs(60)));
        if started.is_err() {
            break;
        }
        count += 1;
    }
    println!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: report\ndata:\n  threads: \"{count}\"");
    std::process::exit(0);
}

/// The same with processes, which are left.
fn fork_many() {
    let mut count = 0;
    while count < 5000 {
        // SAFETY: the child only sleeps.
        match unsafe { fork() } {
            0 => std::thread::sleep(Duration::from_secs(600)),
            -1 => break,
            _ => count += 1,
        }
    }
    println!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: report\ndata:\n  threads: \"{count}\"");
    std::process::exit(0);
}

/// Leaves a process in a session of its own.
fn orphan(hangs: bool) {
    // SAFETY: the child only sleeps.
    unsafe {
        if fork() == 0 {
            setsid();
            if fork() == 0 {
                for file in 0..3 {
                    close(file);
                }
                std::thread::sleep(Duration::from_secs(600));
            }
            _exit(0);
        }
    }
    if hangs {
        std::thread::sleep(Duration::from_secs(600));
    }
    start();
    fact("left", "one");
}
