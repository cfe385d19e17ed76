//! A package in memory, whose functions run in this process: it is planned once, and rendered again and again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use krm_engine::kpt::{self, Images, Outcome, Render, Settings, Tree};
use krm_engine::package::Surroundings;
use krm_engine::runtime::{Action, Call, Output, Program, Runner, Runtime, Status};
use krm_engine::{Diagnostic, MemoryWorld, Observer, PackageEvent, Policy, Sources};

/// `add` makes a resource without saying where it goes, `shout` replaces a word; `check` fails if it is asked to.
#[derive(Default)]
struct Functions {
    fails: AtomicBool,
}

impl Runner for Functions {
    fn describe(&self, _call: &Call) -> Option<Action> {
        None
    }

    fn run(&self, call: &Call) -> krm_engine::Result<Output> {
        let Program::Image(image) = call.program else { panic!("the Kptfiles name images") };
        let text = String::from_utf8_lossy(&call.input);
        let (text, code) = match image.image.as_str() {
            "example.com/add:v1" => {
                let new = "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {say: hello}}";
                (text.replacen("\nitems:\n", &format!("\nitems:\n- {new}\n"), 1), 0)
            }
            "example.com/shout:v1" => (text.replace("hello", "HELLO"), 0),
            "example.com/check:v1" => (text.into_owned(), i32::from(self.fails.load(Ordering::Relaxed))),
            other => panic!("nothing names `{other}`"),
        };
        Ok(Output {
            stdout: text.into_bytes(),
            stderr: Vec::new(),
            stderr_dropped: 0,
            status: Status::Exited(code),
            elapsed: Duration::ZERO,
            cached: false,
            fault: None,
        })
    }
}

/// Writes down what happens in packages.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Observer for Heard {
    fn in_package(&self, package: usize, event: &PackageEvent) {
        let event = match event {
            PackageEvent::Starts { shown } => shown.clone(),
            PackageEvent::CallStarts { shown, count, .. } => format!("{shown} on {count:?}"),
            PackageEvent::CallEnded(called) => format!("exit code {}", called.exit_code),
            PackageEvent::NotCalled(_) => "not called".to_owned(),
            PackageEvent::Ended => "ended".to_owned(),
        };
        self.0.lock().unwrap().push(format!("{package}: {event}"));
    }

    fn starts(&self, call: &krm_engine::Call) {
        assert!(call.program.starts_with("example.com/"), "programs are heard of, too");
    }

    fn deferred(&self, failure: Diagnostic) {
        panic!("nothing may wait: {failure}");
    }
}

fn world(asks: &str) -> MemoryWorld {
    let kptfile = |name: &str, asks: &str, pipeline: &str| {
        let meta = format!("metadata:\n  name: {name}\n  annotations: {{{asks}}}\n");
        format!("apiVersion: kpt.dev/v1\nkind: Kptfile\n{meta}pipeline:\n{pipeline}")
    };
    let root = "  mutators:
  - image: example.com/shout:v1
    selectors: [{name: new}]
  - image: example.com/add:v1
  validators:
  - image: example.com/check:v1
";
    let config = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  say: hello\n")
    };
    MemoryWorld::new([
        ("app/Kptfile", kptfile("app", asks, root)),
        ("app/a.yaml", config("a")),
        ("app/one/Kptfile", kptfile("one", "", "  mutators:\n  - image: example.com/add:v1\n")),
        ("app/one/b.yaml", config("b")),
        ("app/two/Kptfile", kptfile("two", "", "  mutators:\n  - image: example.com/shout:v1\n")),
        ("app/two/c.yaml", config("c")),
    ])
}

/// What came of a render: the files that change, the calls as the results file has them, and what was heard.
type Seen = (Vec<(String, Option<String>)>, String, Vec<String>);

/// Plans a package once, and renders it with functions that do not fail, that do, and that do not again.
fn render_three_times(asks: &str) -> [Seen; 3] {
    let (world, sources, functions) = (world(asks), Sources::default(), Arc::new(Functions::default()));
    let policy = Policy { functions: true, ..Policy::default() };
    let runtime = Arc::new(Runtime::with_runner(policy, functions.clone()));
    let root = Path::new("app");
    let kptfile = kpt::root_kptfile(&world, root, &sources).expect("there is a Kptfile");
    let tree = Arc::new(Tree::read(&world, root, kptfile, &sources).expect("it is a package"));
    let settings = Settings {
        runtime: runtime.clone(),
        dir: "app".into(),
        allow_empty: false,
        images: Images::new("").expect("no prefix is fine"),
        tags: Arc::new(|_| Ok(Vec::new())),
    };
    let render = Render::plan(&tree, settings);
    [false, true, false].map(|fails| {
        functions.fails.store(fails, Ordering::Relaxed);
        let heard = Heard::default();
        let (world, sources, runtime) = (&world, &sources, &*runtime);
        let with = Surroundings { world, sources, runtime, observer: Some(&heard), trace: None };
        let Outcome { resources, calls, failure, .. } = render.run(with);
        assert_eq!(failure.is_some(), fails, "{failure:?}");
        let changes = tree.changes(&resources, world).expect("it can be written");
        let changes = changes.into_iter().map(|change| (change.path, change.text)).collect();
        (changes, kpt::results_file(&calls, fails), heard.0.into_inner().unwrap())
    })
}

#[test]
fn a_package_is_planned_once_and_rendered_any_number_of_times() {
    for asks in ["", "kpt.dev/save-on-render-failure: 'true'", "kpt.dev/bfs-rendering: 'true'"] {
        let [first, failed, again] = render_three_times(asks);
        assert_eq!(first, again, "{asks}");
        let paths = |seen: &Seen| seen.0.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&first), ["two/c.yaml", "configmap_new.yaml", "one/configmap_new.yaml"], "{asks}");
        let saved = if asks.contains("save") { paths(&first) } else { Vec::new() };
        assert_eq!(paths(&failed), saved, "{asks}");
        assert_eq!(failed.2.last().map(String::as_str), Some("0: exit code 1"), "{asks}");
    }
}

#[test]
fn packages_are_heard_of_one_after_the_other() {
    let [(_, _, heard), ..] = render_three_times("");
    let expected = [
        "1: app/one",
        "1: example.com/add:v1 on None",
        "1: exit code 0",
        "1: ended",
        "2: app/two",
        "2: example.com/shout:v1 on None",
        "2: exit code 0",
        "2: ended",
        "0: app",
        "0: example.com/shout:v1 on Some(1)",
        "0: exit code 0",
        "0: example.com/add:v1 on None",
        "0: exit code 0",
        "0: example.com/check:v1 on None",
        "0: exit code 0",
        "0: ended",
    ];
    assert_eq!(heard, expected);
}
