//! The JSON Schemas that ship with the program accept every example and every case that builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::{BuildOptions, MemoryWorld, Session, Sources};
use krm_yaml::{Node, Tag};

#[test]
fn examples_and_cases_fit_their_schemas() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["examples", "tests/cases/composition", "tests/cases/build"] {
        find(&root.join(folder), &mut files);
    }
    let composition = parse(krm_engine::json_schema::COMPOSITION);
    let kustomization = parse(krm_engine::json_schema::KUSTOMIZATION);
    let kptfile = parse(krm_engine::json_schema::KPTFILE);
    let (mut faults, mut checked) = (Vec::new(), 0);
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let schema = match name {
            "composition.yaml" | "composition.yml" => &composition,
            "kustomization.yaml" | "kustomization.yml" | "Kustomization" => &kustomization,
            "Kptfile" => &kptfile,
            _ => continue,
        };
        // Keys may be in any case, and the last of equal ones wins: no schema can say that.
        let odd = [
            "keys-ignore-case",
            "field-in-two-spellings",
            "last-of-equal-keys-wins",
            "composition-of-another-tool",
        ];
        if odd.iter().any(|case| file.to_string_lossy().contains(case)) {
            continue;
        }
        let text = fs::read_to_string(file).expect("a readable file");
        let Ok(documents) = krm_yaml::parse_str(&text) else { continue };
        let Some(document) = documents.first() else { continue };
        checked += 1;
        if let Err(fault) = check(&document.root, schema, schema) {
            faults.push(format!("{}: {fault}", file.strip_prefix(root).unwrap_or(file).display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 50, "only {checked} files were found");
}

#[test]
fn what_commands_print_for_programs_fits_its_schema() {
    let krm = |args: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(args)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop"))
            .output()
            .expect("krm starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let web = ["overlays/production", "Deployment/web"];
    let image = "spec.template.spec.containers[0].image";
    let commands: &[&[&str]] = &[
        &["diff", "--overlays", "base", "overlays/production"],
        &["explain", web[0], web[1], image],
        &["explain", web[0], web[1], image, "spec.replicas"],
        &["explain", web[0], "base", web[1], image],
        &["explain", web[0]],
        &["explain", web[0], "--blame"],
        &["explain", "--source", "base/web.yaml:6", web[0]],
        &["graph", web[0]],
        &["affected", "--files", "base/web.yaml"],
    ];
    for command in commands {
        let answer = parse(&krm(&[command, &["--format", "json"][..]].concat()));
        let schema = parse(&krm(&["schema", command[0]]));
        if let Err(fault) = check(&answer, &schema, &schema) {
            panic!("{command:?}: {fault}");
        }
        let format = answer.get("format").and_then(Node::as_str);
        assert_eq!(format, Some(format!("krm.{}/1", command[0]).as_str()), "{command:?}");
    }
}

#[test]
fn the_schema_of_a_composition_refuses_what_krm_refuses() {
    let schema = parse(krm_engine::json_schema::COMPOSITION);
    for text in [
        "kind: Kustomization",
        "kind: Composition\nmodules: []",
        "kind: Composition\ntransformersFrom: [{path: ''}]",
        "kind: Composition\ntransformersFrom: [{path: a, importMode: merge}]",
        "kind: Composition\ntransformerOrder: [{kind: A}]",
        "kind: Composition\ntransformers: [{apiVersion: v1}]",
        "kind: Composition\ntransformers: [{kind: A, runtime: {container: {imge: a}}}]",
    ] {
        assert!(check(&parse(text), &schema, &schema).is_err(), "{text}");
    }
}

fn parse(text: &str) -> Node {
    krm_yaml::parse_str(text).expect("what is written here is right").remove(0).root
}

fn find(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        match path.is_dir() {
            true => find(&path, files),
            false => files.push(path),
        }
    }
}

/// As much of JSON Schema as the two schemas use.
fn check(node: &Node, schema: &Node, root: &Node) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
        let path = krm_yaml::Path::pointer(reference.trim_start_matches('#')).expect("a right reference");
        return check(node, path.get(root).expect("a reference within the schema"), root);
    }
    if let Some(types) = schema.get("type") {
        let fits = types.as_str().map_or_else(
            || types.items().iter().any(|kind| is(node, kind.as_str().unwrap_or_default())),
            |kind| is(node, kind),
        );
        if !fits {
            return Err(format!("{node:?} is not {types:?}"));
        }
    }
    if schema.get("const").is_some_and(|wanted| wanted != node) {
        return Err(format!("{node:?} is not {:?}", schema.get("const")));
    }
    if schema.get("enum").is_some_and(|choice| !choice.items().contains(node)) {
        return Err(format!("{node:?} is none of {:?}", schema.get("enum")));
    }
    let least = schema.get("minLength").and_then(Node::as_i64).unwrap_or_default();
    if node.as_str().is_some_and(|text| (text.len() as i64) < least) {
        return Err(format!("{node:?} is too short"));
    }
    for part in schema.get("allOf").map(Node::items).unwrap_or_default() {
        check(node, part, root)?;
    }
    let choices = schema.get("anyOf").map(Node::items).unwrap_or_default();
    if !choices.is_empty() && !choices.iter().any(|choice| check(node, choice, root).is_ok()) {
        return Err(format!("{node:?} matches none of the choices"));
    }
    for name in schema.get("required").map(Node::items).unwrap_or_default() {
        if node.is_map() && node.get(name.as_str().unwrap_or_default()).is_none() {
            return Err(format!("{name:?} is missing"));
        }
    }
    if let Some(items) = schema.get("items") {
        node.items().iter().try_for_each(|item| check(item, items, root))?;
    }
    for entry in node.as_map().into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        match (schema.get("properties").and_then(|p| p.get(key)), schema.get("additionalProperties")) {
            (Some(property), _) => check(&entry.value, property, root).map_err(|e| format!("{key}: {e}"))?,
            (None, Some(more)) if more.is_map() => check(&entry.value, more, root)?,
            (None, Some(more)) if more.as_bool() == Some(false) => return Err(format!("`{key}` is unknown")),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value is of a type. Null stands for nothing written, which every field allows.
fn is(node: &Node, kind: &str) -> bool {
    match kind {
        "string" => matches!(node.tag(), Tag::Str | Tag::Timestamp | Tag::Null),
        "boolean" => matches!(node.tag(), Tag::Bool | Tag::Null),
        "integer" => matches!(node.tag(), Tag::Int | Tag::Null),
        "number" => matches!(node.tag(), Tag::Int | Tag::Float | Tag::Null),
        "array" => node.is_seq() || node.is_null(),
        "object" => node.is_map() || node.is_null(),
        "null" => node.is_null(),
        _ => false,
    }
}

/// Every property of a schema, by its way from the root.
fn properties<'s>(schema: &'s Node, way: &str, found: &mut Vec<(String, &'s Node)>) {
    for entry in schema.as_map().into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        if key == "properties" {
            for property in entry.value.as_map().into_iter().flatten() {
                let way = format!("{way}.{}", property.key.text().unwrap_or_default());
                found.push((way.clone(), &property.value));
                properties(&property.value, &way, found);
            }
        } else {
            properties(&entry.value, way, found);
        }
    }
    schema.items().iter().for_each(|item| properties(item, way, found));
}

#[test]
fn every_property_is_described() {
    let schemas = [
        krm_engine::json_schema::COMPOSITION,
        krm_engine::json_schema::KPTFILE,
        krm_engine::json_schema::KUSTOMIZATION,
    ];
    for text in schemas {
        let schema = parse(text);
        let mut found = Vec::new();
        properties(&schema, "", &mut found);
        assert!(found.len() > 30);
        let bare =
            found.iter().filter(|(_, property)| property.is_map() && property.get("description").is_none());
        let bare: Vec<&str> = bare.map(|(way, _)| way.as_str()).collect();
        assert!(bare.is_empty(), "without a description: {}", bare.join(", "));
    }
}

#[test]
fn fields_are_described_as_their_type_is() {
    let source = include_str!("../crates/engine/src/kustomization/mod.rs");
    let (_, fields) = source.split_once("struct Kustomization {").expect("the type is there");
    let schema = parse(krm_engine::json_schema::KUSTOMIZATION);
    let (mut doc, mut compared) = (String::new(), 0);
    for line in fields.lines().map(str::trim).take_while(|line| *line != "}") {
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|field| field.split_once(':')) {
            let mut words = name.split('_');
            let first = words.next().unwrap_or_default().to_owned();
            let camel = words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..]);
            let described = schema.at(["properties", &camel, "description"]).and_then(Node::as_str);
            assert_eq!(described, Some(doc.trim()), "{camel}");
            (doc, compared) = (String::new(), compared + 1);
        }
    }
    assert_eq!(Some(compared), schema.get("properties").and_then(Node::as_map).map(|all| all.len()));
}

#[test]
fn the_schema_of_a_kustomization_and_the_build_agree() {
    let schema = parse(krm_engine::json_schema::KUSTOMIZATION);
    for (text, is_right) in [
        ("resources: [a.yaml]", true),
        ("resources: a.yaml", false),
        ("resources: [{a: b}]", false),
        ("recources: [a.yaml]", false),
        ("kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: a-", true),
        ("kind: Deployment", false),
        ("images: [{name: a, newTag: '1'}]", true),
        ("images: {name: a}", false),
        ("images: [{name: a, tag: '1'}]", false),
        ("replicas: [{name: a, count: 3}]", true),
        ("replicas: [{name: a, count: three}]", false),
        ("labels: [{pairs: {a: b}, includeSelectors: true}]", true),
        ("labels: [{pairs: {a: b}, includeSelector: true}]", false),
        ("patches: [{path: a.yaml, target: {kind: Deployment}}]", true),
        ("patches: [{path: a.yaml, target: {kinds: Deployment}}]", false),
        ("configMapGenerator: [{name: a, literals: [A=1], options: {disableNameSuffixHash: true}}]", true),
        ("configMapGenerator: [{name: a, literal: [A=1]}]", false),
        ("helmCharts: [{name: a, valuesInline: {b: c}}]", true),
        ("helmCharts: [{name: a, values: {b: c}}]", false),
        (
            "replacements: [{source: {kind: A, name: b}, targets: [{select: {kind: C}, fieldPaths: [a.b]}]}]",
            true,
        ),
        ("replacements: [{sources: {kind: A}}]", false),
        ("sortOptions: {order: fifo}", true),
        ("sortOptions: {sorting: fifo}", false),
    ] {
        let root = parse(text);
        let resource = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";
        let world = MemoryWorld::new([("kustomization.yaml", text), ("a.yaml", resource)]);
        let session = Session::new(Arc::new(world), Sources::new(), BuildOptions::default());
        let by_build = session.pipeline(".");
        assert_eq!(by_build.is_ok(), is_right, "build: {text}: {:?}", by_build.err());
        let by_schema = check(&root, &schema, &schema);
        assert_eq!(by_schema.is_ok(), is_right, "schema: {text}: {by_schema:?}");
    }
}
