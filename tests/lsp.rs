//! The language server, asked by a client over its standard input and output.

#[path = "lsp/client.rs"]
mod client;
#[path = "support/left_out.rs"]
mod left_out;

use client::{Client, folder};
use fastrand::Rng;
use left_out::left_out;
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

/// `file line:character` of each place.
fn places(locations: &Value) -> Vec<String> {
    let shown = |location: &Value| {
        let start = &location["range"]["start"];
        format!("{} {}:{}", location["uri"].as_str().unwrap_or_default(), start["line"], start["character"])
    };
    locations.as_array().map(|all| all.iter().map(shown).collect()).unwrap_or_default()
}

#[test]
fn names_and_paths_lead_to_what_they_mean_and_back() {
    let root = folder("navigation", SHOP);
    let mut client = Client::start(&root, &[]);
    let (base, web) = ("base/kustomization.yaml", "base/web.yaml");
    let (staging, production) =
        ("overlays/staging/kustomization.yaml", "overlays/production/kustomization.yaml");
    for (file, position, leads_to) in [
        // A file, a base, a workload, the target of a patch, an image, and a generator.
        (base, (1, 4), vec!["base/web.yaml 0:0"]),
        (staging, (1, 4), vec!["base/kustomization.yaml 0:0"]),
        (staging, (4, 9), vec!["base/web.yaml 3:8"]),
        (production, (4, 12), vec!["base/web.yaml 3:8"]),
        (production, (5, 11), vec!["base/web.yaml 3:8"]),
        (production, (11, 9), vec!["base/web.yaml 10:15"]),
        (web, (13, 20), vec!["base/kustomization.yaml 3:8"]),
        (web, (5, 13), vec![]),
    ] {
        let found = client.at("textDocument/definition", file, position, json!({}));
        assert_eq!(places(&found), leads_to, "{file} {position:?}");
    }
    let all = json!({"context": {"includeDeclaration": true}});
    let of_web = client.at("textDocument/references", web, (3, 9), all.clone());
    assert_eq!(
        places(&of_web),
        [
            "base/kustomization.yaml 1:2",
            "base/web.yaml 3:8",
            "overlays/production/kustomization.yaml 5:10",
            "overlays/staging/kustomization.yaml 4:8",
        ]
    );
    let others = json!({"context": {"includeDeclaration": false}});
    let of_settings = client.at("textDocument/references", base, (3, 9), others.clone());
    assert_eq!(places(&of_settings), ["base/web.yaml 13:18"]);
    let of_base = client.at("textDocument/references", staging, (1, 4), others);
    assert_eq!(
        places(&of_base),
        ["overlays/production/kustomization.yaml 1:2", "overlays/staging/kustomization.yaml 1:2"]
    );
    let links =
        client.request("textDocument/documentLink", json!({"textDocument": {"uri": client.uri(staging)}}));
    let links = client.relative(&links["result"]);
    assert_eq!(links[0]["target"], "base/kustomization.yaml");
    assert_eq!(links[0]["range"], json!({"start": position((1, 2)), "end": position((1, 12))}));
}

const COMPOSED: &[(&str, &str)] = &[
    (
        "base/composition.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\ntransformers:\n- kind: ResourceGenerator\n  \
         files: [web.yaml]\n- apiVersion: builtin\n  kind: PrefixTransformer\n  metadata:\n    name: prefix\n  prefix: a-\n",
    ),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n",
    ),
    (
        "top/composition.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\ntransformersFrom:\n- path: ../base\n\
         transformerOverrides:\n- apiVersion: builtin\n  kind: PrefixTransformer\n  metadata:\n    name: prefix\n  prefix: b-\n\
         transformerOrder:\n- name: resource-generator\n- name: prefix\n",
    ),
    (
        "package/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: package\npipeline:\n  mutators:\n  - image: example.com/label:v1\n    \
         configPath: labels.yaml\n    selectors:\n    - kind: ConfigMap\n      name: one\n",
    ),
    ("package/labels.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labels\n"),
    ("package/parts/one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"),
    ("package/inner/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: inner\n"),
    ("package/inner/other.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: other\n"),
];

#[test]
fn compositions_and_packages_are_understood_too() {
    let root = folder("composed", COMPOSED);
    let mut client = Client::start(&root, &[]);
    let (base, top, kptfile) = ("base/composition.yaml", "top/composition.yaml", "package/Kptfile");
    for (file, position, leads_to) in [
        // A Composition, a file, a transformer that is overridden, and one in the order.
        (top, (3, 10), "base/composition.yaml 0:0"),
        (base, (4, 12), "base/web.yaml 0:0"),
        (top, (8, 12), "base/composition.yaml 8:10"),
        (top, (12, 10), "base/composition.yaml 8:10"),
        // A file of a package, and a resource that a function is for.
        (kptfile, (7, 20), "package/labels.yaml 0:0"),
        (kptfile, (10, 13), "package/parts/one.yaml 3:8"),
    ] {
        let found = client.at("textDocument/definition", file, position, json!({}));
        assert_eq!(places(&found), [leads_to], "{file} {position:?}");
    }
    let others = json!({"context": {"includeDeclaration": false}});
    let uses = client.at("textDocument/references", base, (8, 12), others);
    assert_eq!(places(&uses), ["top/composition.yaml 8:10", "top/composition.yaml 12:8"]);
    let hover = client.at("textDocument/hover", "base/web.yaml", (3, 9), json!({}));
    let hover = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(hover.contains("In `top`: `b-web`"), "{hover}");
    // Nothing says what else names a resource of a package, so it is not renamed.
    assert_eq!(client.at("textDocument/prepareRename", kptfile, (10, 13), json!({})), Value::Null);

    let mut complete = |file: &str, text: &str| {
        client.open(file, "");
        completions(&mut client, file, text)
    };
    let kind = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\n";
    let head = format!("{kind}transformersFrom: [{{path: ../base}}]\n");
    let order = format!("{head}transformerOrder:\n- name: |\n");
    assert_eq!(complete(top, &order), ["prefix"]);
    let overridden = "transformerOverrides:\n- kind: PrefixTransformer\n  metadata: {name: |}\n";
    assert_eq!(complete(top, &format!("{head}{overridden}")), ["prefix"]);
    let generator = format!("{kind}transformers:\n- kind: ResourceGenerator\n  files: [|]\n");
    assert_eq!(complete(base, &generator), ["web.yaml"]);
    let package =
        "kind: Kptfile\npipeline:\n  mutators:\n  - selectors:\n    - kind: ConfigMap\n      name: |\n";
    assert_eq!(complete(kptfile, package), ["labels", "one"]);
    // The fields of a built-in, and those of what they hold.
    let fields = complete(base, &format!("{kind}transformers:\n- kind: NamespaceTransformer\n  |\n"));
    assert!(
        ["unsetOnly: ", "fieldSpecs:"].iter().all(|field| fields.iter().any(|f| f == field)),
        "{fields:?}"
    );
    let image = "transformers:\n- kind: ImageTagTransformer\n  imageTag:\n    new|\n";
    let fields = complete(base, &format!("{kind}{image}"));
    assert!(fields.contains(&"newTag: ".to_owned()), "{fields:?}");
    let behavior = "transformers:\n- kind: ConfigMapGenerator\n  behavior: |\n";
    assert_eq!(complete(base, &format!("{kind}{behavior}")), ["create", "merge", "replace"]);
    let label = format!("{kind}transformers:\n- kind: LabelTransformer\n  labels: {{a: b}}\n");
    client.change(base, json!([{"text": label}]));
    let hover = client.at("textDocument/hover", base, (4, 4), json!({}));
    let hover = hover["contents"]["value"].as_str().unwrap_or_default();
    assert_eq!(hover, "**labels**: The labels.");
}

#[test]
fn what_is_longer_than_a_line_can_be_folded() {
    let root = folder("folding", SHOP);
    let mut client = Client::start(&root, &[]);
    let mut folds = |file: &str| {
        let params = json!({"textDocument": {"uri": client.uri(file)}});
        let answer = client.request("textDocument/foldingRange", params);
        let all = answer["result"].as_array().cloned();
        let lines = |fold: &Value| (fold["startLine"].clone(), fold["endLine"].clone());
        all.map(|all| all.iter().map(lines).collect::<Vec<_>>())
    };
    let lines =
        |pairs: &[(u64, u64)]| Some(pairs.iter().map(|(a, b)| (json!(a), json!(b))).collect::<Vec<_>>());
    assert_eq!(folds("overlays/staging/kustomization.yaml"), lines(&[(0, 1), (3, 5), (4, 5)]));
    std::fs::write(root.join("notes.yaml"), "a:\n- b\n").expect("a file");
    assert_eq!(folds("notes.yaml"), None);
}

#[test]
fn hints_name_the_elements_that_positions_mean() {
    let patch = "resources:\n- ../../base\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: replace\n      path: \
                 /spec/template/spec/containers/0/image\n      value: nginx:1.28\n";
    let mut files = SHOP.to_vec();
    files.retain(|(name, _)| *name != "overlays/production/kustomization.yaml");
    files.push(("overlays/production/kustomization.yaml", patch));
    let root = folder("hints", &files);
    let ask = |options: Value| {
        let mut client = Client::start_with(&root, &[], options);
        let params = json!({
            "textDocument": {"uri": client.uri("overlays/production/kustomization.yaml")},
            "range": {"start": position((0, 0)), "end": position((20, 0))},
        });
        (client.capabilities["inlayHintProvider"].clone(), client.request("textDocument/inlayHint", params))
    };
    let (offered, answer) = ask(json!({"inlayHints": true}));
    assert_eq!(offered, true);
    assert_eq!(answer["result"][0]["label"], "web", "{answer}");
    assert_eq!(answer["result"][0]["position"], position((6, 50)));
    let (offered, answer) = ask(json!({}));
    assert_eq!((offered, answer["result"].clone()), (Value::Null, json!([])));
}

#[test]
fn a_resource_is_renamed_in_every_file_or_not_at_all() {
    let root = folder("rename", SHOP);
    let mut client = Client::start(&root, &[]);
    let web = "base/web.yaml";
    client.open(web, text(web));
    let prepared = client.at("textDocument/prepareRename", web, (3, 9), json!({}));
    assert_eq!(prepared["placeholder"], "web");
    assert_eq!(client.at("textDocument/prepareRename", web, (5, 13), json!({})), Value::Null);
    let edit = client.at("textDocument/rename", web, (3, 9), json!({"newName": "shop"}));
    let changes = edit["changes"].as_object().expect("edits by file");
    let files: Vec<&str> = changes.keys().map(String::as_str).collect();
    assert_eq!(files, [web, "overlays/production/kustomization.yaml", "overlays/staging/kustomization.yaml"]);
    assert_eq!(
        changes["overlays/staging/kustomization.yaml"],
        json!([{"range": {"start": position((4, 8)), "end": position((4, 11))}, "newText": "shop"}])
    );
    // What is not saved counts: a pattern that would not match the new name.
    let production = "overlays/production/kustomization.yaml";
    client.open(production, &text(production).replace("name: web", "name: we.*"));
    let params = json!({
        "textDocument": {"uri": client.uri(web)},
        "position": position((3, 9)),
        "newName": "shop",
    });
    let refused = client.request("textDocument/rename", params);
    assert_eq!(refused["error"]["code"], -32803, "{refused}");
    assert!(refused["error"]["message"].to_string().contains("would not match"), "{refused}");
}

#[test]
fn files_that_move_are_followed() {
    let root = folder("moves", SHOP);
    let mut client = Client::start(&root, &[]);
    let files = json!({"files": [{"oldUri": client.uri("base"), "newUri": client.uri("common/base")}]});
    let answer = client.request("workspace/willRenameFiles", files);
    let edit = client.relative(&answer["result"]);
    let changes = edit["changes"].as_object().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(changes.len(), 2, "{answer}");
    for file in ["overlays/staging/kustomization.yaml", "overlays/production/kustomization.yaml"] {
        assert_eq!(changes[file][0]["newText"], "../../common/base");
    }
}

#[test]
fn hover_says_what_a_field_means_and_where_a_value_comes_from() {
    let root = folder("hover", SHOP);
    let mut client = Client::start(&root, &[]);
    let mut hover = |file: &str, position: (u64, u64)| {
        let found = client.at("textDocument/hover", file, position, json!({}));
        found["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let replicas = hover("base/web.yaml", (5, 13));
    for part in [
        "**Deployment web** `spec.replicas`",
        "In `overlays/production`: `5`",
        "`base/web.yaml:6` written: `1`",
        "`overlays/production/kustomization.yaml:10` patches[0]: `1` → `5`",
        "In `overlays/staging`: `2`",
        "`overlays/staging/kustomization.yaml:6` replicas[0].count: `1` → `2`",
    ] {
        assert!(replicas.contains(part), "{part}\n\n{replicas}");
    }
    let prefix = hover("overlays/staging/kustomization.yaml", (2, 3));
    assert!(prefix.contains("**namePrefix**") && prefix.contains("in front of all names"), "{prefix}");
    assert!(prefix.contains("in `overlays/staging`"), "{prefix}");
    let base = hover("overlays/staging/kustomization.yaml", (1, 5));
    for part in ["The kustomization in `base`", "Deployment `web`", "ConfigMap `settings`"] {
        assert!(base.contains(part), "{base}");
    }
    let image = hover("overlays/production/kustomization.yaml", (12, 12));
    assert!(image.contains("changes 1 field of 1 resource in `overlays/production`"), "{image}");
    let patched = hover("overlays/production/kustomization.yaml", (9, 14));
    assert!(patched.contains("`1` → `5`"), "{patched}");
}

/// A list whose elements have no names, with one put in front of them.
const ARGUMENTS: &[(&str, &str)] = &[
    ("base/kustomization.yaml", "resources: [web.yaml]\n"),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  template:\n    spec:\n      \
         containers:\n      - name: web\n        image: nginx:1.27\n        args: [--first, --second]\n",
    ),
    (
        "top/kustomization.yaml",
        "resources: [../base]\nnameSuffix: -x\nreplicas:\n- {name: web, count: 3}\nimages:\n- {name: nginx, newTag: '2'}\npatches:\n\
         - target: {kind: Deployment, name: web}\n  patch: |-\n    - op: add\n      path: /spec/template/spec/containers/0/args/0\n      \
         value: --zeroth\n    - op: replace\n      path: /spec/template/spec/containers/0/args/2\n      value: --last\n",
    ),
];

#[test]
fn hover_and_explain_tell_one_story() {
    let root = folder("one-story", ARGUMENTS);
    let mut client = Client::start(&root, &[]);
    let container = "spec.template.spec.containers.[name=web]";
    for (field, value) in [
        ("metadata.name".to_owned(), "web-x"),
        ("spec.replicas".to_owned(), "3"),
        (format!("{container}.image"), "nginx:2"),
        (format!("{container}.args.1"), "--first"),
        (format!("{container}.args.2"), "--last"),
    ] {
        let explain = std::process::Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(["explain", "--format=json", "top", "Deployment/web", &field])
            .current_dir(&root)
            .output()
            .expect("krm starts");
        let answer: Value = serde_json::from_slice(&explain.stdout).expect("JSON");
        let history = answer["history"].as_array().expect("a history");
        let place = &history[0]["place"];
        let at = |key: &str| place[key].as_u64().expect("a number") - 1;
        let file = place["file"].as_str().expect("a file");
        let hover = client.at("textDocument/hover", file, (at("line"), at("column")), json!({}));
        let hover = hover["contents"]["value"].as_str().unwrap_or_default();
        let mut wanted = vec![format!("In `top`: `{value}`")];
        for event in history {
            let place = &event["place"];
            let (file, line) = (place["file"].as_str().unwrap_or_default(), &place["line"]);
            wanted.push(format!("- `{file}:{line}` {}", event["label"].as_str().unwrap_or_default()));
        }
        let lines: Vec<&str> = hover.lines().skip_while(|line| !line.starts_with("In ")).collect();
        assert_eq!(lines.len(), wanted.len(), "{field}: {wanted:#?}\n{hover}");
        for (line, wanted) in lines.iter().zip(&wanted) {
            assert!(line.starts_with(wanted), "{field}: {wanted}\n{hover}");
        }
    }
}

/// What is offered at the `|` of a text that is open.
fn completions(client: &mut Client, file: &str, text: &str) -> Vec<String> {
    let (before, after) = text.split_once('|').expect("a cursor");
    client.change(file, json!([{"text": format!("{before}{after}")}]));
    let line = before.matches('\n').count() as u64;
    let character = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count() as u64;
    let found = client.at("textDocument/completion", file, (line, character), json!({}));
    let items = found["items"].as_array().cloned().unwrap_or_default();
    items.iter().map(|item| item["textEdit"]["newText"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn completion_knows_fields_files_and_names() {
    let root = folder("completion", SHOP);
    std::fs::write(root.join("base/more.yaml"), "").expect("a file");
    let mut client = Client::start(&root, &[]);
    let file = "base/kustomization.yaml";
    client.open(file, "");
    let mut complete = |text: &str| completions(&mut client, file, text);
    let fields = complete("resources:\n- web.yaml\nname|\n");
    for field in ["namespace: ", "namePrefix: ", "images:", "patches:"] {
        assert!(fields.contains(&field.to_owned()), "{field} is not in {fields:?}");
    }
    assert!(!fields.iter().any(|field| field.starts_with("resources")), "{fields:?}");
    // What includes this kustomization, and what is listed already, is not offered.
    assert_eq!(complete("resources:\n- web.yaml\n- |\n"), ["more.yaml"]);
    assert_eq!(complete("resources:\n- web.yaml\nreplicas:\n- name: |\n"), ["web"]);
    assert_eq!(complete("resources:\n- web.yaml\nimages:\n- name: ng|\n"), ["nginx"]);
    assert_eq!(complete("resources:\n- web.yaml\npatches:\n- target:\n    kind: |\n"), ["Deployment"]);
    assert_eq!(complete("resources: [web.yaml]\npatches:\n- target: {kind: Deployment, name: |}\n"), ["web"]);
    let behaviors = complete("configMapGenerator:\n- name: a\n  behavior: |\n");
    assert_eq!(behaviors, ["create", "merge", "replace"]);
    let paths = complete(
        "resources: [web.yaml]\nreplacements:\n- source:\n    kind: Deployment\n    name: web\n    fieldPath: |\n",
    );
    assert!(paths.contains(&"spec.template.spec.containers.[name=web].image".to_owned()), "{paths:?}");
}

#[test]
fn completion_knows_the_fields_of_resources_and_the_names_they_take() {
    let root = folder("resources", SHOP);
    let mut client = Client::start(&root, &[]);
    let web = "base/web.yaml";
    client.open(web, &text(web).replace("        image:", "        im\n        image:"));
    let found = client.at("textDocument/completion", web, (10, 10), json!({}));
    let labels: Vec<&str> =
        found["items"].as_array().expect("items").iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(labels.contains(&"imagePullPolicy") && labels.contains(&"ports"), "{labels:?}");
    // A field that names a ConfigMap: the one that the generator makes.
    let found = client.at("textDocument/completion", web, (14, 20), json!({}));
    assert_eq!(found["items"][0]["label"], "settings", "{found}");
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
    let kinds = completions(&mut client, web, "apiVersion: apps/v1\nkind: |\n");
    assert!(kinds.contains(&"StatefulSet".to_owned()) && !kinds.contains(&"Service".to_owned()), "{kinds:?}");
    let versions = completions(&mut client, web, "kind: Ingress\napiVersion: |\n");
    assert!(versions.contains(&"networking.k8s.io/v1".to_owned()), "{versions:?}");
}

#[test]
fn lint_looks_over_the_shoulder() {
    let root = folder("lint", SHOP);
    let mut client = Client::start(&root, &[]);
    let web = "base/web.yaml";
    client.open(
        web,
        &text(web).replace("replicas: 1", "replica: 1").replace("name: settings", "name: setings"),
    );
    let found = client.diagnostics_of(web);
    let codes: Vec<&str> = found.iter().filter_map(|problem| problem["code"].as_str()).collect();
    assert!(codes.iter().any(|code| code.contains("field")), "{found:?}");
    assert!(found.iter().any(|problem| problem["message"].to_string().contains("setings")), "{found:?}");
    // What is deprecated is marked so, and can be moved on at once.
    let file = "overlays/staging/kustomization.yaml";
    client.open(file, &text(file).replace("resources:", "bases:"));
    let found = client.diagnostics_of(file);
    assert_eq!(found[0]["code"], "deprecated-field", "{found:?}");
    assert_eq!(found[0]["tags"], json!([2]));
    let explained = found[0]["codeDescription"]["href"].as_str().unwrap_or_default();
    assert!(explained.ends_with("/docs/reference/codes.md#deprecated-field"), "{explained}");
    let params = json!({
        "textDocument": {"uri": client.uri(file)},
        "range": found[0]["range"],
        "context": {"diagnostics": [], "only": ["source.fixAll"]},
    });
    let answer = client.request("textDocument/codeAction", params);
    assert_eq!(answer["result"][0]["kind"], "source.fixAll.krm", "{answer}");
    assert!(answer["result"][0]["edit"].to_string().contains("resources"), "{answer}");
    // So is what could as well be removed.
    client.change(
        file,
        json!([{"text": text(file).replace("- name: web\n", "- name: web\n  count: 9\n- name: web\n")}]),
    );
    let found = client.diagnostics_of(file);
    assert_eq!((&found[0]["code"], &found[0]["tags"]), (&json!("duplicate-entry"), &json!([1])), "{found:?}");
}

#[test]
fn symbols_name_resources_and_entries() {
    let root = folder("symbols", SHOP);
    let mut client = Client::start(&root, &[]);
    let mut names = |file: &str| -> Vec<String> {
        let params = json!({"textDocument": {"uri": client.uri(file)}});
        let answer = client.request("textDocument/documentSymbol", params);
        let all = answer["result"].as_array().cloned().unwrap_or_default();
        all.iter().map(|symbol| symbol["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(names("base/web.yaml"), ["Deployment web"]);
    assert_eq!(names("base/kustomization.yaml"), ["resources", "configMapGenerator"]);
    let answer = client.request("workspace/symbol", json!({"query": "web"}));
    let found = client.relative(&answer["result"]);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["location"]["uri"], "base/web.yaml");
}

#[test]
fn commands_show_the_result_and_how_a_value_came_about() {
    let root = folder("commands", SHOP);
    let mut client = Client::start(&root, &[]);
    let uri = client.uri("base/kustomization.yaml");
    let preview = json!({"command": "krm.preview", "arguments": [uri]});
    let answer = client.request("workspace/executeCommand", preview);
    let text = answer["result"].as_str().unwrap_or_default();
    assert!(text.contains("kind: Deployment\n"), "{answer}");
    let explain = json!({"command": "krm.explain", "arguments": [uri, {"line": 0, "character": 2}]});
    let answer = client.request("workspace/executeCommand", explain);
    assert!(answer["result"].is_string(), "{answer}");
    let answer = client.request("workspace/executeCommand", json!({"command": "krm.other"}));
    assert_eq!(answer["error"]["message"], "there is no command `krm.other`");
    // Nobody asked for lenses when the server started.
    assert_eq!(client.capabilities.get("codeLensProvider"), None);
    let params = json!({"textDocument": {"uri": uri}});
    assert_eq!(client.request("textDocument/codeLens", params.clone())["result"], json!([]));
    let mut client = Client::start_with(&root, &[], json!({"codeLens": true}));
    assert!(client.capabilities["codeLensProvider"].is_object());
    let answer = client.request("textDocument/codeLens", params);
    let lens = &answer["result"][0]["command"];
    assert_eq!(lens["title"], "used by 2 roots", "{answer}");
    // What a click on it sends is what the command takes.
    let clicked = json!({"command": lens["command"], "arguments": lens["arguments"]});
    assert!(client.request("workspace/executeCommand", clicked)["result"].is_string());
}

#[test]
fn what_was_probably_meant_is_one_action_away() {
    let root = folder("actions", SHOP);
    let mut client = Client::start(&root, &[]);
    let file = "overlays/staging/kustomization.yaml";
    let text = text(file).replace("namePrefix", "namePrefx");
    client.open(file, &text);
    let found = client.diagnostics_of(file);
    assert_eq!(found[0]["code"], "unknown-field", "{found:?}");
    let params = json!({
        "textDocument": {"uri": client.uri(file)},
        "range": {"start": position((2, 0)), "end": position((2, 0))},
        "context": {"diagnostics": found},
    });
    let answer = client.request("textDocument/codeAction", params);
    let actions = client.relative(&answer["result"]);
    assert_eq!(actions[0]["kind"], "quickfix", "{actions}");
    assert_eq!(
        actions[0]["edit"]["changes"][file],
        json!([{"range": {"start": position((2, 0)), "end": position((2, 9))}, "newText": "namePrefix"}])
    );
}

#[test]
fn an_inline_patch_becomes_a_file() {
    let root = folder("extract", SHOP);
    let file = "overlays/production/kustomization.yaml";
    let edits = json!({"documentChanges": true, "resourceOperations": ["create"]});
    let capabilities = json!({"workspace": {"workspaceEdit": edits}});
    let ask = |client: &mut Client| {
        let params = json!({
            "textDocument": {"uri": client.uri(file)},
            "range": {"start": position((9, 10)), "end": position((9, 10))},
            "context": {"diagnostics": []},
        });
        let answer = client.request("textDocument/codeAction", params);
        client.relative(&answer["result"])
    };
    let actions = ask(&mut Client::start_as(&root, capabilities, json!({})));
    assert_eq!(actions[0]["title"], "Move `patches[0]` to a file", "{actions}");
    let changes = &actions[0]["edit"]["documentChanges"];
    assert_eq!(changes[0], json!({"kind": "create", "uri": "overlays/production/patch.yaml"}));
    let patch = "- op: replace\n  path: /spec/replicas\n  value: 5\n";
    assert_eq!(changes[1]["edits"][0]["newText"], patch);
    assert_eq!(changes[2]["edits"][0]["newText"], "  path: patch.yaml\n");
    // Not for a client that cannot make files.
    assert_eq!(ask(&mut Client::start(&root, &[])), json!([]));
}

#[test]
fn a_patch_in_a_file_becomes_inline() {
    let root = folder(
        "inline",
        &[
            (
                "kustomization.yaml",
                "resources: [web.yaml]\npatches:\n- path: patch.yaml # more\n  target: {kind: Pod}\n",
            ),
            ("web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"),
            ("patch.yaml", "- op: add\n  path: /spec\n  value: {}\n"),
        ],
    );
    let mut client = Client::start(&root, &[]);
    let ask = |client: &mut Client, line: u64| {
        let params = json!({
            "textDocument": {"uri": client.uri("kustomization.yaml")},
            "range": {"start": position((line, 4)), "end": position((line, 4))},
            "context": {"diagnostics": [], "only": ["refactor"]},
        });
        let answer = client.request("textDocument/codeAction", params);
        client.relative(&answer["result"])
    };
    let actions = ask(&mut client, 2);
    assert_eq!(actions[0]["title"], "Write the patch of `patch.yaml` here", "{actions}");
    assert_eq!(actions[0]["kind"], "refactor.inline");
    let edits = actions[0]["edit"]["changes"]["kustomization.yaml"].as_array().expect("edits");
    let text: String = edits.iter().map(|edit| edit["newText"].as_str().unwrap_or_default()).collect();
    assert!(text.contains("patch: |-") && text.contains("    - op: add\n      path: /spec\n"), "{text}");
    // Not for an entry that is not a patch.
    assert_eq!(ask(&mut client, 0), json!([]));
}

#[test]
fn a_client_may_ask_for_problems_itself() {
    let root = folder("pull", &[("kustomization.yaml", "namePrefx: a-\n")]);
    let mut client = Client::start_with(&root, &[], json!({"pullDiagnostics": true}));
    assert_eq!(client.capabilities["diagnosticProvider"]["interFileDependencies"], true);
    client.open("kustomization.yaml", "namePrefx: a-\n");
    let params = json!({"textDocument": {"uri": client.uri("kustomization.yaml")}});
    let answer = client.request("textDocument/diagnostic", params);
    assert_eq!(answer["result"]["kind"], "full", "{answer}");
    assert_eq!(answer["result"]["items"][0]["code"], "unknown-field", "{answer}");
    // They are not sent as well, and those that were sent before the file was opened are taken back.
    assert!(client.diagnostics_of("kustomization.yaml").is_empty(), "{:?}", client.diagnostics);
    // A server that is not asked to says nothing about it.
    assert!(Client::start(&root, &[]).capabilities["diagnosticProvider"].is_null());
}

#[test]
fn a_request_that_was_cancelled_is_answered_as_such() {
    let root = folder("cancelled", SHOP);
    let mut client = Client::start(&root, &[]);
    // The one before keeps the server busy: the folder is read for it.
    let params = json!({"textDocument": {"uri": client.uri("base/web.yaml")}, "position": position((5, 13))});
    let first = client.ask("textDocument/hover", params.clone());
    let second = client.ask("textDocument/hover", params);
    client.notify("$/cancelRequest", json!({"id": second}));
    assert!(client.answer_to(&json!(first)).get("error").is_none());
    let answer = client.answer_to(&json!(second));
    // It may have been quicker than the cancellation; it must be one or the other.
    assert!(answer["error"]["code"] == -32800 || !answer["result"].is_null(), "{answer}");
}

#[test]
fn a_thousand_edits_leave_the_state_of_a_fresh_server() {
    let root = folder("edits", SHOP);
    let mut client = Client::start(&root, &["utf-16"]);
    let mut texts: Vec<(&str, String)> =
        SHOP.iter().map(|(file, text)| (*file, (*text).to_owned())).collect();
    for (file, text) in &texts {
        client.open(file, text);
    }
    let pieces = [
        "",
        "a",
        "\n",
        "  ",
        "- ",
        ": ",
        "😀",
        "ä",
        "name: x\n",
        "web",
        "\r\n",
        "[",
        "]",
        "#",
        "'",
        "replicas:\n",
    ];
    let mut random = Rng::with_seed(42);
    let mut memory = 0;
    for round in 0..1000 {
        let (file, text) = &mut texts[random.usize(..SHOP.len())];
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let from = random.usize(..offsets.len());
        let to = (from + random.usize(..4)).min(offsets.len() - 1);
        let new = pieces[random.usize(..pieces.len())];
        let (start, end) = (in_utf16(text, offsets[from]), in_utf16(text, offsets[to]));
        // Positions cannot lie between the two characters of a line end.
        let splits = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
        if !splits(offsets[from]) && !splits(offsets[to]) {
            text.replace_range(offsets[from]..offsets[to], new);
            client.change(file, replaced(start, end, new));
        }
        // Now and then it is right again, so that builds go on.
        if round % 10 == 9 {
            let (file, text) = &mut texts[random.usize(..SHOP.len())];
            *text = SHOP.iter().find(|(name, _)| name == file).expect("a file of the shop").1.to_owned();
            client.change(file, json!([{"text": text.clone()}]));
        }
        if round % 25 == 0 {
            client.diagnostics_of(texts[0].0);
        }
        if round == 500 {
            memory = client.memory();
        }
    }
    for (file, _) in &texts {
        client.change(file, json!([]));
        client.diagnostics_of(file);
    }
    let grown = client.memory().saturating_sub(memory);
    assert!(grown < 16 << 10, "{grown} KB more after 500 edits");
    let mut fresh = Client::start(&root, &["utf-16"]);
    for (file, text) in &texts {
        fresh.open(file, text);
    }
    for (file, _) in &texts {
        fresh.diagnostics_of(file);
    }
    // The last one that was opened may have brought news of others.
    fresh.request("workspace/symbol", json!({"query": ""}));
    assert_eq!(client.all_diagnostics(), fresh.all_diagnostics());
    for (file, text) in &texts {
        for (line, content) in text.split('\n').enumerate() {
            let at = (line as u64, (content.encode_utf16().count() / 2) as u64);
            for method in ["textDocument/hover", "textDocument/definition", "textDocument/completion"] {
                let (old, new) =
                    (client.at(method, file, at, json!({})), fresh.at(method, file, at, json!({})));
                // Of builds that fail, the histories of when they did not are still known.
                if method != "textDocument/hover" || !new.is_null() {
                    assert_eq!(old, new, "{method} {file} {at:?}");
                }
            }
        }
    }
}

fn in_utf16(text: &str, offset: usize) -> (u64, u64) {
    let before = &text[..offset];
    let ends = |(at, c): &(usize, char)| *c == '\n' || (*c == '\r' && !text[at + 1..].starts_with('\n'));
    let breaks: Vec<usize> = before.char_indices().filter(ends).map(|(at, _)| at + 1).collect();
    let line = &before[breaks.last().copied().unwrap_or_default()..];
    (breaks.len() as u64, line.encode_utf16().count() as u64)
}

#[test]
fn neovim_shows_what_the_server_says() {
    let is_there = std::process::Command::new("nvim").arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "CI has a neovim to try the server with");
        left_out("there is no neovim here");
        return;
    }
    let root = folder("neovim", SHOP);
    let out = root.join("../neovim.out");
    drop(std::fs::remove_file(&out));
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lsp/neovim.lua");
    let status = std::process::Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-n", "-i", "NONE", "-c"])
        .arg(format!("luafile {}", script.display()))
        .env("ROOT", &root)
        .env("OUT", &out)
        .env("KRM", env!("CARGO_BIN_EXE_krm"))
        .env("XDG_STATE_HOME", root.join("../neovim.state"))
        .env("XDG_CACHE_HOME", root.join("../neovim.cache"))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("neovim starts");
    let seen = std::fs::read_to_string(&out).unwrap_or_default();
    for line in [
        "diagnostic replicas-no-match 4:8",
        "hover **Deployment web** `spec.replicas`",
        "hover In `overlays/staging`: `2`",
        "definition base/kustomization.yaml 3:8",
        "renamed name: options",
        "renamed - name: options",
        "action Write `namePrefix`",
        "acted namePrefix: x-",
    ] {
        let is_seen = seen.lines().any(|other| other == line);
        assert!(is_seen, "{line}\n\n{seen}\n{}", String::from_utf8_lossy(&status.stderr));
    }
}
