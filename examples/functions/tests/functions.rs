//! The functions as an orchestrator starts them: a list on stdin, a list on stdout.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

struct Answer {
    stdout: String,
    stderr: String,
    status: Option<i32>,
}

fn call(program: &str, args: &[&str], input: &str) -> Answer {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the function starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads its input");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Answer { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status.code() }
}

const REQUIRE_LIMITS: &str = env!("CARGO_BIN_EXE_require-limits");
const SET_SIZE: &str = env!("CARGO_BIN_EXE_set-size");
const INJECT_SIDECAR: &str = env!("CARGO_BIN_EXE_inject-sidecar");
const MATCH_SELECTORS: &str = env!("CARGO_BIN_EXE_match-selectors");
const NGINX: &str = env!("CARGO_BIN_EXE_nginx");

/// A list with a Deployment in it, its container with these further lines.
fn deployment(annotations: &str, container: &str, function_config: &str) -> String {
    format!(
        "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web # the front door
    annotations:
      internal.config.kubernetes.io/path: shop/web.yaml
      internal.config.kubernetes.io/index: '1'
{annotations}  spec:
    template:
      metadata:
        labels:
          app: web
      spec:
        containers:
        # serves the pages
        - name: web
          image: web:1
{container}{function_config}"
    )
}

#[test]
fn limits_are_required() {
    let limited = "          resources:\n            limits:\n              cpu: 1\n";
    let input = deployment("", limited, "");
    let answer = call(REQUIRE_LIMITS, &[], &input);
    assert_eq!(answer.status, Some(1));
    assert_eq!(
        answer.stdout,
        input
            + "\
results:
- message: container `web` has no limit on memory
  severity: error
  resourceRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
  file:
    path: shop/web.yaml
    index: 1
  field:
    path: spec.template.spec.containers[0].resources.limits.memory
"
    );
    assert!(answer.stderr.ends_with("container `web` has no limit on memory\n"), "{}", answer.stderr);
    for config in [
        "functionConfig:\n  kind: ConfigMap\n  data:\n    limits: '[cpu]'\n",
        "functionConfig:\n  kind: RequireLimits\n  spec:\n    exempt: [web]\n",
    ] {
        let input = deployment("", limited, config);
        let answer = call(REQUIRE_LIMITS, &[], &input);
        assert_eq!((answer.status, answer.stdout, answer.stderr), (Some(0), input, String::new()));
    }
}

#[test]
fn sizes_become_resources() {
    let answer = call(SET_SIZE, &[], &deployment("      example.com/size: small\n", "", ""));
    let resources = "          resources:
            limits:
              cpu: 100m
              memory: 128Mi
            requests:
              cpu: 100m
              memory: 128Mi
";
    let sized = deployment("      example.com/size: small\n", resources, "");
    assert_eq!((answer.status, answer.stdout), (Some(0), sized.clone()));
    assert_eq!(call(SET_SIZE, &[], &sized).stdout, sized, "again changes nothing");

    let unsized_ones = "functionConfig:\n  kind: ConfigMap\n  data:\n    default: small\n";
    let answer = call(SET_SIZE, &[], &deployment("", "", unsized_ones));
    assert_eq!((answer.status, answer.stdout), (Some(0), deployment("", resources, unsized_ones)));

    let config = "functionConfig:\n  kind: Sizes\n  spec:\n    sizes:\n      tiny:\n        cpu: 10m\n        memory: 8Mi\n";
    let answer = call(SET_SIZE, &[], &deployment("      example.com/size: tiny\n", "", config));
    assert!(answer.stdout.contains("cpu: 10m"), "{}", answer.stdout);
    let answer = call(SET_SIZE, &[], &deployment("      example.com/size: huge\n", "", config));
    assert_eq!(answer.status, Some(1));
    assert!(answer.stderr.contains("there is no size `huge`, only tiny"), "{}", answer.stderr);
}

#[test]
fn sidecars_come_to_those_who_ask() {
    let config = "\
functionConfig:
  apiVersion: example.com/v1
  kind: Sidecar
  metadata:
    name: log
  spec:
    pod:
      containers:
      - name: log
        image: log:2
";
    let asking = "      example.com/inject: proxy, log\n";
    let sidecar = "        - name: log\n          image: log:2\n";
    let answer = call(INJECT_SIDECAR, &[], &deployment(asking, "", config));
    assert_eq!((answer.status, answer.stdout), (Some(0), deployment(asking, sidecar, config)));
    // What was put in by an earlier version is renewed, and what a person did to it stays.
    let older = "        - name: log\n          image: log:1\n          tty: true # for now\n";
    let answer = call(INJECT_SIDECAR, &[], &deployment(asking, older, config));
    assert_eq!(answer.stdout, deployment(asking, &older.replace("log:1", "log:2"), config));
    let silent = deployment("", "", config);
    assert_eq!(call(INJECT_SIDECAR, &[], &silent).stdout, silent);
}

#[test]
fn selectors_must_find_pods() {
    let service = |selector: &str, namespace: &str| {
        format!(
            "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: web\n{namespace}  spec:\n    selector:\n{selector}"
        )
    };
    let check = |selector: &str, namespace: &str| {
        let answer = call(MATCH_SELECTORS, &[], &deployment("", &service(selector, namespace), ""));
        (answer.status, answer.stderr)
    };
    assert_eq!(check("      app: web\n", "").0, Some(0));
    let (status, stderr) = check("      app: wbe\n", "");
    let message = "the selector finds no pods: none have the label `app: wbe`";
    assert_eq!(
        (status, stderr.as_str()),
        (Some(1), &*format!("[error] v1/Service/web spec.selector: {message}\n"))
    );
    assert_eq!(check("      app: web\n", "    namespace: elsewhere\n").0, Some(1));
    let other = "      app: web\n- kind: Pod\n  metadata:\n    name: b\n    labels:\n      tier: b\n";
    assert_eq!(check(other, "").0, Some(0));
    let both =
        "      app: web\n      tier: b\n- kind: Pod\n  metadata:\n    name: b\n    labels:\n      tier: b\n";
    assert!(check(both, "").1.ends_with("none have all of these labels\n"));
}

#[test]
fn an_abstraction_is_made_concrete_and_keeps_what_people_did() {
    let list = |replicas: u32, items: &str| {
        format!(
            "apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: example.com/v1beta1\n  kind: Nginx\n  metadata:\n    name: my-instance\n  spec:\n    replicas: {replicas}\n{items}"
        )
    };
    let first = call(NGINX, &[], &list(3, "items: []\n"));
    assert_eq!((first.status, first.stderr.as_str()), (Some(0), ""));
    let items = &first.stdout[first.stdout.find("items:").expect("there are some")..];
    assert_eq!(items.matches("kind: Deployment").count() + items.matches("kind: Service").count(), 2);
    assert!(items.contains("    replicas: 3\n"));

    let container = "          image: nginx:1.27\n";
    let by_hand = items.replace(
        container,
        &format!("{container}          resources:\n            limits:\n              cpu: 2 # measured\n"),
    );
    assert_ne!(by_hand, items);
    let again = call(NGINX, &[], &list(5, &by_hand));
    assert_eq!(again.stdout, list(5, &by_hand.replace("replicas: 3", "replicas: 5")));
}

#[test]
fn mistakes_in_the_configuration_name_the_field() {
    let config = "functionConfig:\n  kind: Nginx\n  metadata:\n    name: a\n  spec:\n    replicas: many\n";
    let answer = call(NGINX, &[], &deployment("", "", config));
    assert_eq!((answer.status, answer.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        answer.stderr,
        "error[function-config]: functionConfig: `spec.replicas`: expected an integer, found a string\n \
         --> <stdin>:26:15\n   |\n26 |     replicas: many\n   |               ^^^^\n"
    );
}

#[test]
fn functions_explain_themselves() {
    for program in [REQUIRE_LIMITS, SET_SIZE, INJECT_SIDECAR, MATCH_SELECTORS, NGINX] {
        let answer = call(program, &["--help"], "");
        assert_eq!(answer.status, Some(0));
        assert!(answer.stdout.contains("\nUsage: "), "{}", answer.stdout);
    }
    let answer = call(NGINX, &["--hlep"], "");
    assert_eq!((answer.status, answer.stdout.as_str()), (Some(2), ""));
}

#[test]
fn functions_work_on_files() {
    let dir = tempfile::tempdir().expect("the temporary folder can be written to");
    let file = |name: &str, text: &str| -> PathBuf {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("the file can be written");
        path
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web # front\n  annotations:\n    example.com/size: s\nspec:\n  containers:\n  - name: web\n";
    let pods = file("pods.yaml", &format!("{pod}---\n{pod}"));
    let config =
        file("sizes.yaml", "kind: Sizes\nspec:\n  sizes:\n    s:\n      cpu: 1m\n      memory: 2Mi\n");
    let answer = call(SET_SIZE, &["--config", &config.to_string_lossy(), &pods.to_string_lossy()], "");
    let sized = format!(
        "{pod}    resources:\n      limits:\n        cpu: 1m\n        memory: 2Mi\n      requests:\n        cpu: 1m\n        memory: 2Mi\n"
    );
    assert_eq!((answer.status, answer.stdout), (Some(0), format!("{sized}---\n{sized}")));
}
