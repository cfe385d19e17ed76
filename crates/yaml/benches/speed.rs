//! How fast it reads and writes, beside the crates people use today: all in one run, since machines differ.
//!
//! `cargo bench -p krm-yaml` takes a minute; with a file as argument that is read instead of what is made here. Under
//! `cargo test --benches` the inputs are small, to see that it works.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use krm_yaml::{Source, canonical_into, parse};

#[global_allocator]
static ALLOCATOR: Counting = Counting(mimalloc::MiMalloc);

fn main() {
    // The allocator is to keep what it has between runs; it reads this once, at the start.
    const KEEP: &str = "MIMALLOC_PURGE_DELAY";
    if std::env::var_os(KEEP).is_none() {
        let mut again =
            std::process::Command::new(std::env::current_exe().expect("the path of this program"));
        let status =
            again.args(std::env::args_os().skip(1)).env(KEEP, "-1").status().expect("it starts again");
        std::process::exit(status.code().unwrap_or(1));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|a| a == "--bench");
    let (size, runs) = if is_bench { (50_000_000, 4) } else { (50_000, 1) };
    match arguments.iter().find(|a| !a.starts_with("--")) {
        Some(file) => measure(file, &std::fs::read_to_string(file).expect("a readable file"), runs),
        None => {
            measure("ordinary manifests", &manifests(size), runs);
            measure("manifests full of comments", &commented(size / 5), runs);
            measure("one large CRD", &resource_definition(size / 50), runs * 4);
        }
    }
}

/// A name, and what to time.
type Reader<'a> = (&'a str, &'a dyn Fn() -> Duration);

/// How long it takes to make something; not how long to drop it.
fn timed<T>(make: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    let made = black_box(make());
    let took = begun.elapsed();
    drop(made);
    took
}

/// Times every reader on a text, in turns, and prints the best of each.
fn measure(name: &str, text: &str, runs: usize) {
    let source = Source::detached(name, text);
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let others: [Reader; 3] = [
        ("unsafe-libyaml, events", &|| timed(|| libyaml_events(text))),
        ("saphyr-parser, events", &|| timed(|| saphyr_events(text))),
        ("serde_yaml_ng, tree", &|| timed(|| serde_tree(text))),
    ];
    let ours: [Reader; 2] = [
        ("krm-yaml, tree, 1 core", &|| timed(|| one_core.install(|| read(&source)))),
        ("krm-yaml, tree", &|| timed(|| read(&source))),
    ];
    let writers: [Reader; 3] = [
        ("serde_yaml_ng, read and write", &|| timed(|| serde_round_trip(text))),
        ("krm-yaml, read and write, 1 core", &|| timed(|| one_core.install(|| round_trip(&source)))),
        ("krm-yaml, read and write", &|| timed(|| round_trip(&source))),
    ];
    let all: Vec<_> = others.iter().chain(&ours).chain(&writers).collect();
    let mut best = vec![Duration::MAX; all.len()];
    for _ in 0..runs {
        for ((_, run), best) in all.iter().zip(&mut best) {
            *best = run().min(*best);
        }
    }
    let speeds: Vec<f64> = best.iter().map(|time| text.len() as f64 / 1e6 / time.as_secs_f64()).collect();
    let fastest = speeds[..others.len()].iter().copied().fold(0.0, f64::max);
    let writer = speeds[others.len() + ours.len()];
    println!("\n{name}, {:.1} MB", text.len() as f64 / 1e6);
    for (at, ((name, _), speed)) in all.iter().zip(&speeds).enumerate() {
        let beside = if at < others.len() + ours.len() { fastest } else { writer };
        println!("  {name:<34} {speed:>7.1} MB/s {:>6.1}x", speed / beside);
    }
    COUNTS.store(true, Ordering::Relaxed);
    let before = LIVE.load(Ordering::Relaxed);
    let tree = read(&source);
    let bytes = LIVE.load(Ordering::Relaxed).wrapping_sub(before);
    COUNTS.store(false, Ordering::Relaxed);
    println!(
        "  memory of the tree: {:.1} times the text, of {} documents",
        bytes as f64 / text.len() as f64,
        tree.len()
    );
}

fn read(source: &std::sync::Arc<Source>) -> Vec<krm_yaml::Document> {
    parse(source).expect("the text is fine")
}

fn round_trip(source: &std::sync::Arc<Source>) -> String {
    let mut out = String::new();
    for document in read(source) {
        out.push_str("---\n");
        canonical_into(&document.root, &mut out);
    }
    out
}

fn serde_tree(text: &str) -> Vec<serde_yaml_ng::Value> {
    use serde::Deserialize as _;
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    documents.map(|d| serde_yaml_ng::Value::deserialize(d).expect("the text is fine")).collect()
}

fn serde_round_trip(text: &str) -> String {
    let mut out = String::new();
    for value in serde_tree(text) {
        out.push_str("---\n");
        out.push_str(&serde_yaml_ng::to_string(&value).expect("what was read can be written"));
    }
    out
}

fn saphyr_events(text: &str) {
    let events = saphyr_parser::Parser::new_from_str(text);
    events.for_each(|event| drop(black_box(event.expect("the text is fine"))));
}

fn libyaml_events(text: &str) {
    use std::mem::MaybeUninit;
    use unsafe_libyaml::*;
    // SAFETY: as the C library asks: initialised before use, every event deleted, the text outlives the parser.
    unsafe {
        let mut parser = MaybeUninit::<yaml_parser_t>::uninit();
        let parser = parser.as_mut_ptr();
        assert!(yaml_parser_initialize(parser).ok);
        yaml_parser_set_input_string(parser, text.as_ptr(), text.len() as u64);
        let mut event = MaybeUninit::<yaml_event_t>::uninit();
        let event = event.as_mut_ptr();
        loop {
            assert!(yaml_parser_parse(parser, event).ok);
            let is_end = (*event).type_ == YAML_STREAM_END_EVENT;
            yaml_event_delete(event);
            if is_end {
                break;
            }
        }
        yaml_parser_delete(parser);
    }
}

/// A stream of what people deploy.
fn manifests(size: usize) -> String {
    let mut text = String::with_capacity(size + 2000);
    for i in 0.. {
        if text.len() >= size {
            break;
        }
        write!(
            text,
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop-{i}\n  labels:\n    app: shop-{i}\n\
             spec:\n  replicas: {}\n  selector:\n    matchLabels:\n      app: shop-{i}\n  template:\n    metadata:\n\
             \x20     labels:\n        app: shop-{i}\n    spec:\n      serviceAccountName: shop-{i}\n      containers:\n\
             \x20     - name: web\n        image: registry.example.com/shop/web:{i}\n        args: [\"--port\", \"8080\"]\n\
             \x20       ports:\n        - containerPort: 8080\n          name: http\n        resources:\n\
             \x20         limits: {{cpu: 500m, memory: 256Mi}}\n---\napiVersion: v1\nkind: Service\nmetadata:\n\
             \x20 name: shop-{i}\nspec:\n  selector:\n    app: shop-{i}\n  ports:\n  - port: 80\n    targetPort: http\n\
             ---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop-{i}\ndata:\n  GREETING: hello world\n\
             \x20 DEBUG: \"false\"\n  shop.conf: |\n    listen = 8080\n    root = /srv/shop\n",
            i % 5 + 1,
        )
        .expect("a String takes everything");
    }
    text
}

/// Manifests as explained as the values of charts are.
fn commented(size: usize) -> String {
    let mut text = String::with_capacity(size + 2000);
    let plain = manifests(size / 2);
    for (at, line) in plain.lines().enumerate() {
        let pad = &line[..line.len() - line.trim_start().len()];
        let is_plain = line.starts_with("---") || line.ends_with('|') || line.contains(" = ");
        match at % 4 {
            _ if is_plain => writeln!(text, "{line}"),
            0 => {
                writeln!(text, "{pad}# What this is good for, and what happens when it is left out.\n{line}")
            }
            1 => writeln!(text, "{line} # see the manual"),
            2 => writeln!(
                text,
                "\n{pad}## @section Part {at}\n{pad}## A longer explanation of all that follows here.\n{line}"
            ),
            _ => writeln!(text, "{line}"),
        }
        .expect("a String takes everything");
    }
    text
}

/// One document: deep, with long descriptions, as generators make them.
fn resource_definition(size: usize) -> String {
    let mut text = String::from(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: shops.example.com\n\
         spec:\n  group: example.com\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n",
    );
    for i in 0.. {
        if text.len() >= size {
            break;
        }
        for depth in 0..8 {
            let pad = " ".repeat(10 + 4 * depth);
            write!(
                text,
                "{pad}field{i}level{depth}:\n{pad}  description: |-\n{pad}    What the field is for, in a sentence as long as\n\
                 {pad}    those in real definitions are. See https://example.com/docs#field.\n{pad}  type: object\n\
                 {pad}  x-kubernetes-map-type: atomic\n{pad}  required: [\"a\", \"b\"]\n{pad}  properties:\n"
            )
            .expect("a String takes everything");
        }
        writeln!(text, "{}leaf: {{type: string}}", " ".repeat(42)).expect("a String takes everything");
    }
    text
}

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Knows how much is allocated.
struct Counting(mimalloc::MiMalloc);

// SAFETY: mimalloc does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.load(Ordering::Relaxed) {
            LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        }
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if COUNTS.load(Ordering::Relaxed) {
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        unsafe { self.0.dealloc(pointer, layout) }
    }
}
