//! How the program is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    // At an address that is known beforehand: otherwise every start begins with putting 30,000 addresses in tables
    // right, which touches 200 pages and takes longer than a small build.
    if (target("OS"), target("ENV")) == ("linux".into(), "gnu".into()) {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
