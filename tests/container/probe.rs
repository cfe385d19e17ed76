//! A function for testing containers: tells what it can see and do, or misbehaves as it is asked to.

use std::io::Read;
use std::time::Duration;

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("there is an input");
    let mode = input.lines().find_map(|line| line.trim().strip_prefix("mode: ")).unwrap_or("report");
    match mode.trim_matches(['"', '\'']) {
        "hang" => std::thread::sleep(Duration::from_secs(600)),
        "hog" => hog(),
        "multiply" => multiply(),
        _ => report(),
    }
}

/// Prints one ConfigMap with everything worth knowing.
fn report() {
    println!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:");
    println!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: report\n  data:");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for field in ["Uid", "Gid", "NoNewPrivs", "CapEff", "CapBnd"] {
        let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(":"));
        fact(field, value.unwrap_or("?").split_whitespace().next().unwrap_or("?"));
    }
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names: Vec<&str> = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    fact("interfaces", &names.join(" "));
    for place in ["/", "/tmp", "/local", "/data"] {
        let able = match std::fs::write(format!("{place}/probe"), "x") {
            Ok(()) => "yes".to_string(),
            Err(error) => format!("{:?}", error.kind()),
        };
        fact(&format!("write{}", place.replace('/', "-")), &able);
        let read = std::fs::read_to_string(format!("{place}/secret")).unwrap_or_else(|e| format!("{:?}", e.kind()));
        fact(&format!("read{}", place.replace('/', "-")), read.trim());
    }
    for name in ["LOG_TO_STDERR", "STRUCTURED_RESULTS", "DECLARED", "GIVEN", "HOME_OF_THE_HOST"] {
        fact(&format!("env-{name}"), &std::env::var(name).unwrap_or_else(|_| "unset".into()));
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
