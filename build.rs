//! How the program is linked, and which commit it is made of.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    // At an address that is known beforehand: otherwise every start begins with putting 30,000 addresses in tables
    // right, which touches 200 pages and takes longer than a small build.
    if (target("OS"), target("ENV")) == ("linux".into(), "gnu".into()) {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    println!("cargo:rerun-if-env-changed=KRM_COMMIT");
    // Only what is released says it: a test build would be compiled anew for every commit.
    if std::env::var("PROFILE").as_deref() == Ok("release") && std::env::var_os("KRM_COMMIT").is_none() {
        println!("cargo:rerun-if-changed=.git/HEAD");
        println!("cargo:rerun-if-changed=.git/logs/HEAD");
        let asked = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
        if let Some(asked) = asked.ok().filter(|asked| asked.status.success()) {
            println!("cargo:rustc-env=KRM_COMMIT={}", String::from_utf8_lossy(&asked.stdout).trim());
        }
    }
}
