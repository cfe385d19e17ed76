//! The language server, asked by a client over its standard input and output.

#[path = "lsp/client.rs"]
mod client;

use client::{Client, folder};
use serde_json::{Value, json};

const SHOP: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        "resources:\n- web.yaml\nconfigMapGenerator:\n- name: settings\n  literals: [COLOUR=blue]\n",
    ),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  template:\n    spec:\n      \
         containers:\n      - name: web\n        image: nginx:1.27\n        envFrom:\n        - configMapRef:\n            \
         name: settings\n",
    ),
    (
        "overlays/staging/kustomization.yaml",
        "resources:\n- ../../base\nnamePrefix: staging-\nreplicas:\n- name: web\n  count: 2\n",
    ),
    (
        "overlays/production/kustomization.yaml",
        "resources:\n- ../../base\npatches:\n- target:\n    kind: Deployment\n    name: web\n  patch: |-\n    - op: replace\n      \
         path: /spec/replicas\n      value: 5\nimages:\n- name: nginx\n  newTag: \"1.28\"\n",
    ),
];

fn text(file: &str) -> &'static str {
    SHOP.iter().find(|(name, _)| *name == file).expect("a file of the shop").1
}

fn replaced(start: (u64, u64), end: (u64, u64), text: &str) -> Value {
    json!([{
        "range": {"start": position(start), "end": position(end)},
        "text": text,
    }])
}

fn position((line, character): (u64, u64)) -> Value {
    json!({"line": line, "character": character})
}

#[test]
fn problems_are_reported_while_typing_and_go_again() {
    let root = folder("typing", SHOP);
    let mut client = Client::start(&root, &[]);
    assert_eq!(client.capabilities["positionEncoding"], "utf-16");
    let file = "overlays/staging/kustomization.yaml";
    client.open(file, text(file));
    assert_eq!(client.diagnostics_of(file), Vec::<Value>::new());
    client.change(file, replaced((4, 8), (4, 11), "wbe"));
    let found = client.diagnostics_of(file);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "replicas-no-match");
    assert_eq!(found[0]["severity"], 1);
    assert_eq!(found[0]["range"], json!({"start": position((4, 8)), "end": position((4, 11))}));
    // The disk is as it was; only the open text counts.
    client.change(file, replaced((4, 8), (4, 11), "web"));
    assert_eq!(client.diagnostics_of(file), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_mistake_in_a_base_is_reported_once_with_the_overlays_it_breaks() {
    let root = folder("base", SHOP);
    let mut client = Client::start(&root, &["utf-8", "utf-16"]);
    assert_eq!(client.capabilities["positionEncoding"], "utf-8");
    client.open("base/kustomization.yaml", "resources:\n- web.yml\n");
    let found = client.diagnostics_of("base/kustomization.yaml");
    assert_eq!(found.len(), 1, "{found:?}");
    let related = found[0]["relatedInformation"].to_string();
    for overlay in ["overlays/staging", "overlays/production"] {
        assert!(related.contains(overlay), "{related}");
    }
    assert_eq!(client.all_diagnostics().len(), 1);
    client.close("base/kustomization.yaml");
    // Any question after it shows that the notification was taken in; then what is saved counts again.
    client.open("overlays/staging/kustomization.yaml", text("overlays/staging/kustomization.yaml"));
    client.diagnostics_of("overlays/staging/kustomization.yaml");
    assert_eq!(client.all_diagnostics().len(), 0);
}

#[test]
fn positions_are_right_with_every_line_end_and_beyond_the_basic_plane() {
    let yaml = "resources:\r\n- base.yaml\r\nreplicas: # 😀\r\n- {note: 😀é, name: x}\r\n";
    let root = folder("positions", &[("kustomization.yaml", yaml), ("base.yaml", "")]);
    for (encoding, emoji) in [("utf-8", 6), ("utf-16", 3), ("utf-32", 2)] {
        let mut client = Client::start(&root, &[encoding]);
        client.open("kustomization.yaml", yaml);
        let found = client.diagnostics_of("kustomization.yaml");
        // `- {` and the key begin alike in all; what comes after the emoji does not.
        let unknown =
            found.iter().find(|d| d["code"] == "unknown-field").unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!(unknown["range"]["start"], position((3, 3)), "{encoding}");
        // An edit after the emoji lands where it is meant: the name becomes a field of its own line.
        let name = (3, 9 + emoji + 2);
        client.change("kustomization.yaml", replaced((name.0, name.1), (name.0, name.1 + 4), "nam"));
        let found = client.diagnostics_of("kustomization.yaml");
        let messages: Vec<&str> = found.iter().filter_map(|d| d["message"].as_str()).collect();
        assert!(messages.iter().any(|m| m.contains("`nam`")), "{encoding}: {messages:?}");
        let at = found
            .iter()
            .find(|d| d["message"].as_str().is_some_and(|m| m.contains("`nam`")))
            .expect("just seen");
        assert_eq!(at["range"]["start"], position(name), "{encoding}");
    }
}

#[test]
fn malformed_messages_are_answered_and_survived() {
    let root = folder("malformed", SHOP);
    let mut client = Client::start(&root, &[]);
    for (body, code, id) in [
        ("{\"jsonrpc\": \"2.0\", \"id\": 7, \"meth", -32700, Value::Null),
        ("[1, 2]", -32600, Value::Null),
        ("{\"jsonrpc\": \"2.0\", \"id\": \"seven\"}", -32600, json!("seven")),
        ("{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"no/such\"}", -32601, json!(8)),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"textDocument/hover\", \"params\": 3}",
            -32602,
            json!(9),
        ),
    ] {
        client.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        let answer = client.answer_to(&id);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    // Notifications that nobody knows, or that cannot be read, change nothing.
    client.notify("$/setTrace", json!({"value": "off"}));
    client.notify("textDocument/didChange", json!({"textDocument": 3}));
    client.open("overlays/staging/kustomization.yaml", text("overlays/staging/kustomization.yaml"));
    client.diagnostics_of("overlays/staging/kustomization.yaml");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_life_of_a_server_is_as_the_protocol_says() {
    let root = folder("life", SHOP);
    let mut client = Client::start_bare(&root);
    let early = client.request("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002, "{early}");
    client.notify("exit", Value::Null);
    assert_eq!(client.hang_up(), Some(1));
    let client = Client::start(&root, &[]);
    assert_eq!(client.hang_up(), Some(0));
}
