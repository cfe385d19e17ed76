//! A function for testing modules: tells what it can reach, or misbehaves as it is asked to.

use std::io::Read;

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("there is an input");
    let mode = input.lines().find_map(|line| line.trim().strip_prefix("mode: ")).unwrap_or("copy");
    match mode.trim_matches(['"', '\'']) {
        "report" => report(),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "hog" => hog(),
        "crash" => panic!("lost my way"),
        "endless" => loop {
            println!("kind: ConfigMap");
        },
        _ => print!("{input}"),
    }
}

/// Prints one ConfigMap with everything worth knowing.
fn report() {
    println!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: report\ndata:");
    fact("read-passwd", std::fs::read_to_string("/etc/passwd").map(|_| "yes"));
    fact("read-here", std::fs::read_dir(".").map(|_| "yes"));
    fact("write", std::fs::write("probe", "x").map(|()| "yes"));
    fact("connect", std::net::TcpStream::connect("127.0.0.1:80").map(|_| "yes"));
    fact("listen", std::net::TcpListener::bind("127.0.0.1:0").map(|_| "yes"));
    let variables: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    fact("variables", Ok::<_, std::io::Error>(&*variables.join(" ")));
}

fn fact(name: &str, value: std::io::Result<&str>) {
    println!("  {name}: {:?}", value.unwrap_or("refused"));
}

/// Takes memory, and uses it, until stopped.
fn hog() {
    let mut taken = Vec::new();
    loop {
        taken.push(vec![1_u8; 1 << 20]);
    }
}
