//! The wire: every form that may come in goes out as it came.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use krm_function::{FunctionResult, Object, ResourceList, Severity};

fn same(text: &str) -> ResourceList {
    let list = ResourceList::parse(text).expect("the text is a list");
    assert_eq!(list.to_string(), text);
    list
}

#[test]
fn every_version_and_kind_of_list_comes_out_as_it_went_in() {
    for head in [
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n",
        "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\n",
        "apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\n",
        "apiVersion: v1\nkind: List\n",
        "apiVersion: v1\nkind: ConfigMapList\n",
    ] {
        let list = same(&format!(
            "{head}items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: b\n"
        ));
        assert_eq!(list.items.len(), 2);
        assert_eq!(list.items[1].name(), "b");
    }
    let bare = same("kind: A\n---\nkind: B\n");
    assert_eq!((bare.items.len(), bare.kind()), (2, None));
    let empty = same("apiVersion: v1\nkind: List\nitems: []\n");
    assert!(empty.items.is_empty());
    let mut filled = empty;
    filled.items.push(Object::new("v1", "Secret", "a"));
    let text =
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n";
    assert_eq!(filled.to_string(), text);
}

#[test]
fn an_object_may_be_called_a_list() {
    let list = same("apiVersion: example.com/v1\nkind: AllowList\nmetadata:\n  name: a\nitems:\n- kind: X\n");
    assert_eq!((list.items.len(), list.kind()), (1, None));
}

#[test]
fn comments_order_and_unknown_fields_survive() {
    let text = "\
# above
kind: ResourceList
apiVersion: config.kubernetes.io/v1
functionConfig:
  kind: Web # the config
  metadata:
    name: w
vendor: # nobody knows this
  x: 1
items:
# about the first
- kind: A
  spec:
    b: 2 # two
    a: '1'
other: true
";
    let mut list = same(text);
    assert_eq!(list.function_config.as_ref().map(Object::kind), Some("Web"));
    list.items[0].set_field("spec.a", "3").unwrap();
    assert_eq!(list.to_string(), text.replace("'1'", "'3'"));
    list.results.push(FunctionResult::info("hello"));
    let with_results =
        format!("{}results:\n- message: hello\n  severity: info\n", text.replace("'1'", "'3'"));
    assert_eq!(list.to_string(), with_results);
}

#[test]
fn json_stays_json() {
    let list = ResourceList::parse(r#"{"kind":"ResourceList","items":[{"kind":"A","n":1.5}]}"#).unwrap();
    let text = list.to_string();
    assert_eq!(
        text,
        "{\n  \"kind\": \"ResourceList\",\n  \"items\": [\n    {\n      \"kind\": \"A\",\n      \"n\": 1.5\n    }\n  ]\n}\n"
    );
}

#[test]
fn results_are_read_in_every_shape() {
    let today = ResourceList::parse(
        "\
kind: ResourceList
items: []
results:
- message: bad
  resourceRef: {apiVersion: v1, kind: Service, name: web, namespace: shop}
  field: {path: spec.ports.0.port, currentValue: x, proposedValue: 80}
  file: {path: service.yaml, index: 2}
  tags: {team: a}
  vendor: 1
- {message: hm, severity: warning}
",
    )
    .unwrap();
    let first = &today.results[0];
    assert_eq!(first.severity(), Severity::Error, "error when absent");
    assert_eq!(first.to_string(), "[error] v1/Service/shop/web spec.ports.0.port: bad");
    assert_eq!((first.file(), first.file_index()), (Some("service.yaml"), 2));
    assert_eq!(first.proposed().and_then(|node| node.as_i64()), Some(80));
    assert_eq!(first.tags().collect::<Vec<_>>(), [("team", "a")]);
    assert!(today.to_string().contains("vendor: 1"));
    assert_eq!(today.results[1].severity(), Severity::Warning);

    let older = ResourceList::parse(
        "\
kind: ResourceList
results:
  name: check
  items:
  - message: bad
    severity: info
    resourceRef: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}
    field: {path: spec.x, suggestedValue: y}
",
    )
    .unwrap();
    assert_eq!(older.results[0].to_string(), "[info] v1/Service/shop/web spec.x: bad");
    assert_eq!(older.results[0].proposed().and_then(|node| node.text()), Some("y"));
    assert_eq!(older.raw_results().and_then(|raw| raw.get("name")).and_then(|n| n.text()), Some("check"));
}

#[test]
fn what_is_not_a_list_is_reported() {
    for (text, code) in [
        ("kind: ResourceList\nitems: {a: b}\n", "list-malformed"),
        ("kind: ResourceList\nitems: [a]\n", "list-item-not-an-object"),
        ("kind: ResourceList\nfunctionConfig: a\n", "list-malformed"),
        ("just text\n", "list-item-not-an-object"),
    ] {
        assert_eq!(ResourceList::parse(text).unwrap_err().code(), code, "{text}");
    }
    assert!(ResourceList::parse("kind: ResourceList\nitems: [\n").is_err());
}

#[test]
fn generated_objects_keep_what_people_added() {
    let mut list = ResourceList::parse(
        "\
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    annotations:
      internal.config.kubernetes.io/path: web.yaml
  spec:
    replicas: 1
    template:
      spec:
        containers:
        - name: web
          image: web:1 # ours
          resources:
            limits:
              cpu: 2 # set by hand
        - name: sidecar
          image: side:1
",
    )
    .unwrap();
    let generated = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 5
  template:
    spec:
      containers:
      - name: web
        image: web:2
";
    list.generate(Object::parse(generated).unwrap());
    let once = list.to_string();
    assert_eq!(
        once,
        "\
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    annotations:
      internal.config.kubernetes.io/path: web.yaml
  spec:
    replicas: 5
    template:
      spec:
        containers:
        - name: web
          image: web:2 # ours
          resources:
            limits:
              cpu: 2 # set by hand
        - name: sidecar
          image: side:1
"
    );
    list.generate(Object::parse(generated).unwrap());
    assert_eq!(list.to_string(), once, "again changes nothing");
    list.generate(Object::new("v1", "Service", "web"));
    assert_eq!(list.items.len(), 2);
}

#[test]
fn a_list_of_one_kind_says_it_for_its_objects() {
    let list = ResourceList::parse(
        "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata:\n    name: a # its name\n- {kind: Other}\n",
    )
    .unwrap();
    assert_eq!(
        list.to_string(),
        "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    \
         name: a # its name\n- {kind: Other}\n"
    );
    let bare = "kind: ResourceList\nitems:\n- metadata:\n    name: a\n";
    assert_eq!(ResourceList::parse(bare).unwrap().to_string(), bare);
}
