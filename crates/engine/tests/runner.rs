//! A build whose files are in memory and whose functions run elsewhere: nothing of this machine is touched.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use krm_engine::runtime::{Action, Call, Output, Program, Runner, Runtime, Status};
use krm_engine::{BuildOptions, MemoryWorld, Policy, Session, Sources, emit};

const FUNCTION: &str = "apiVersion: example.com/v1
kind: Probe
metadata:
  name: probe
  annotations:
    config.kubernetes.io/function: |
      container:
        image: example.com/shout:v1
        envs: [VOLUME=11]
";

/// Runs an image that nobody has: it replaces one word, and notes what it was asked.
#[derive(Default)]
struct Shout(Mutex<Vec<String>>);

impl Runner for Shout {
    fn describe(&self, _call: &Call) -> Option<Action> {
        None
    }

    fn run(&self, call: &Call) -> krm_engine::Result<Output> {
        let Program::Image(image) = call.program else { panic!("an image was declared") };
        let env =
            call.environment().into_iter().filter_map(|var| Some(format!("{}={}", var.name, var.value?)));
        self.0.lock().unwrap().push(format!("{} {}", image.image, env.collect::<Vec<_>>().join(" ")));
        let text = String::from_utf8_lossy(&call.input).replace("hello", "HELLO");
        Ok(Output {
            stdout: text.into_bytes(),
            stderr: Vec::new(),
            stderr_dropped: 0,
            status: Status::Exited(0),
            elapsed: Duration::ZERO,
            cached: false,
            fault: None,
        })
    }
}

#[test]
fn functions_of_a_build_run_where_the_embedder_says() {
    let world = MemoryWorld::new([
        ("app/kustomization.yaml", "resources: [a.yaml]\ntransformers: [fn.yaml]\n"),
        ("app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  say: hello\n"),
        ("app/fn.yaml", FUNCTION),
    ]);
    let world = Arc::new(world);
    let build = |functions: bool| {
        let shout = Arc::new(Shout::default());
        let policy = Policy { functions, ..Policy::default() };
        let runtime = Arc::new(Runtime::with_runner(policy, shout.clone()));
        let session =
            Session::with_runtime(world.clone(), Sources::default(), BuildOptions::default(), runtime);
        let built = session.build(&["app".to_owned()]);
        (built, shout)
    };
    let (built, shout) = build(true);
    let target = built.targets.into_iter().next().expect("one target").expect("it builds");
    assert!(emit([&target]).expect("it can be written").concat().contains("say: HELLO"));
    assert_eq!(
        *shout.0.lock().unwrap(),
        ["example.com/shout:v1 LOG_TO_STDERR=true STRUCTURED_RESULTS=true VOLUME=11"]
    );
    let (built, shout) = build(false);
    let error = built.targets.into_iter().next().expect("one target").expect_err("it is not allowed");
    assert_eq!(error.code(), "functions-not-enabled");
    assert!(shout.0.lock().unwrap().is_empty());
}
