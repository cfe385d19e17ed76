//! Pages in a real browser: `tests/page/check.js` opens them in Chromium and looks at them as people and tools would.
//!
//! It takes `node`, the packages `playwright-core` and `axe-core` (in `target/readers/node`, or where `NODE_PATH` says), and
//! Chromium (`CHROMIUM`, or by its usual names). Where one is missing this says so and leaves the browser out, except in CI.
//! What needs no browser is checked anyway.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

const FLAGS: [&str; 3] =
    ["--enable-alpha-plugins", "--enable-exec", "--load-restrictor=LoadRestrictionsNone"];

/// A folder that is gone with the test.
struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("page-{name}")))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a page, and returns it.
    fn page(&self, within: &Path, args: &[&str], name: &str) -> String {
        let file = self.0.join(name);
        let output = Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(["explain", "--html"])
            .arg(&file)
            .args(args)
            .current_dir(within)
            .output()
            .expect("krm starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty(), "the page is the answer");
        fs::read_to_string(file).unwrap()
    }
}

fn answers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/answers")
}

fn example(folder: &Folder) -> String {
    let mut args = FLAGS.to_vec();
    args.extend(["overlays/production"]);
    folder.page(&answers(), &args, "example.html")
}

/// Names and values that would like to be more than that.
fn hostile(folder: &Folder) -> String {
    folder.write(
        "hostile/kustomization.yaml",
        "namePrefix: p-\nresources: [a.yaml]\nlabels:\n- pairs: {x: '</script><script>hacked=1</script>'}\n",
    );
    folder.write(
        "hostile/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '</script><img src=x onerror=hacked=1>'\ndata:\n  \
         \"\\u202Eevil\\u2066\": \"a\\u202Eb\\u200Fc\"\n  '<!--': '<script>hacked=1</script>'\n  amp: '&lt;b&gt; \"quoted\" ''single'''\n",
    );
    folder.page(&folder.0, &["hostile"], "hostile.html")
}

/// A Secret in every place it can be written in.
fn secret(folder: &Folder) -> String {
    folder.write(
        "secret/kustomization.yaml",
        "resources: [s.yaml]\nnamespace: vault\nsecretGenerator:\n- name: made\n  literals: [PASSWORD=hunter2]\n  envs: [s.env]\n\
         patches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: plain}\n    stringData: {b: zebra77}\n\
         - target: {kind: Secret, name: plain}\n  patch: |-\n    - op: add\n      path: /stringData/c\n      value: walrus88\n\
         - target: {kind: Secret, name: nobody}\n  patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: nobody}\n    stringData: {d: ocelot99}\n",
    );
    folder.write("secret/s.env", "TOKEN=badger55\n");
    folder.write(
        "secret/s.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: plain\nstringData:\n  a: gibbon44\n  long: |\n    lemur33\n    marmot22\n",
    );
    folder.page(&folder.0, &["secret"], "secret.html")
}

/// A base with very many resources, and layers that change all of them.
fn many(folder: &Folder, count: usize) -> String {
    let mut files = String::from("resources:\n");
    for at in 0..count {
        let name = format!("many/base/r{at}.yaml");
        files.push_str(&format!("- r{at}.yaml\n"));
        let text = match at % 2 {
            0 => format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{at}\nspec:\n  replicas: {}\n  selector:\n    \
                 matchLabels:\n      app: app-{at}\n  template:\n    metadata:\n      labels:\n        app: app-{at}\n    spec:\n      \
                 containers:\n      - name: app\n        image: registry.example.com/app:{at}\n",
                at % 7
            ),
            _ => format!(
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: app-{at}\nspec:\n  selector:\n    app: app-{at}\n  ports:\n  - \
                 port: {}\n    targetPort: 8080\n",
                1000 + at
            ),
        };
        folder.write(&name, &text);
    }
    folder.write("many/base/kustomization.yaml", &files);
    folder.write(
        "many/top/kustomization.yaml",
        "resources: [../base]\nnamespace: shop\nnamePrefix: prod-\nlabels:\n- pairs: {team: web}\nimages:\n- name: \
         registry.example.com/app\n  newName: mirror.example.com/app\n",
    );
    folder.page(&folder.0, &["many/top"], "many.html")
}

/// Pages without script: what differs, also between names that would like to be more, and who uses whom.
fn plain(folder: &Folder) -> String {
    hostile(folder);
    folder.write("other/kustomization.yaml", "namePrefix: q-\nresources: [../hostile]\n");
    let write = |within: &Path, name: &str, args: &[&str]| {
        let file = folder.0.join(name);
        let output = Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(args)
            .arg("--html")
            .arg(&file)
            .current_dir(within)
            .output()
            .expect("krm starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty(), "the page is the answer");
        fs::read_to_string(file).unwrap()
    };
    let overlays = ["overlays/staging", "overlays/production"];
    let args = [&["diff"][..], &FLAGS, &["--overlays"], &overlays].concat();
    let page = write(&answers(), "diff.html", &args);
    write(&answers(), "layers.html", &["graph"]);
    page + &write(&folder.0, "hostile-diff.html", &["diff", "--full", "--overlays", "hostile", "other"])
}

#[test]
fn pages_of_differences_hold_no_script() {
    let folder = Folder::new("plain");
    let pages = plain(&folder);
    for loads in ["<script", " src=\"", "url(", "@import", "<iframe", "<img"] {
        assert!(!pages.contains(loads), "{loads}");
    }
    assert!(pages.contains("default-src 'none'"));
    assert!(pages.contains("eu.registry.example.com/shop/web:<ins>1.4.2</ins>"), "what differs is marked");
    assert!(!pages.contains(['\u{202e}', '\u{2066}', '\u{200f}']), "nothing turns the direction of writing");
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let folder = Folder::new("self-contained");
    let page = example(&folder);
    assert!(page.contains("default-src 'none'"));
    // What names of other places are in there are texts of the example, not addresses to load.
    for loads in [" src=", "url(", "@import", "<iframe", "<object", "<base"] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.len() < 150_000, "{} bytes", page.len());
    assert!(
        !page.contains(env!("CARGO_MANIFEST_DIR")),
        "where this machine keeps files is nobody's business"
    );
    let again = folder.page(
        &folder.0,
        &[FLAGS[0], FLAGS[1], FLAGS[2], &answers().join("overlays/production").display().to_string()],
        "far.html",
    );
    assert!(again.contains("shop/web"), "the page of a folder elsewhere");
    assert!(!again.contains(env!("CARGO_MANIFEST_DIR")), "nor if it was named by where it is");
    assert!(again.contains("<h1><bdi>overlays/production</bdi></h1>"));
}

#[test]
fn the_folder_one_is_in_has_a_name() {
    let folder = Folder::new("here");
    folder.write("shop/kustomization.yaml", "namePrefix: a-\n");
    let page = folder.page(&folder.0.join("shop"), &["."], "here.html");
    assert!(page.contains("<title>shop · krm</title>"));
}

/// A picture of 60 boxes in a column shows nobody anything.
#[test]
fn a_fleet_is_drawn_as_one() {
    let folder = Folder::new("fleet");
    folder.write("base/kustomization.yaml", "namePrefix: a-\n");
    for number in 0..60 {
        folder.write(&format!("clusters/c{number}/kustomization.yaml"), "resources: [../../base]\n");
    }
    let file = folder.0.join("fleet.html");
    let output = Command::new(env!("CARGO_BIN_EXE_krm"))
        .args(["graph", "--html"])
        .arg(&file)
        .arg("clusters")
        .current_dir(&folder.0)
        .output()
        .expect("krm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(file).unwrap();
    assert!(page.contains(">clusters/c0 and 59 like it</text>"));
    assert_eq!(page.matches("<rect").count(), 2);
    assert!(page.contains("clusters/c59/kustomization.yaml:1"), "the list has them all");
}

#[test]
fn values_of_secrets_are_not_in_a_page() {
    let folder = Folder::new("secrets");
    let page = secret(&folder);
    for value in [
        "hunter2",
        "aHVudGVyMg",
        "zebra77",
        "walrus88",
        "ocelot99",
        "badger55",
        "YmFkZ2VyNTU",
        "gibbon44",
        "lemur33",
        "marmot22",
    ] {
        assert!(!page.contains(value), "{value}");
    }
    assert!(page.contains("•••"));
    let shown = folder.page(&folder.0, &["--show-secrets", "secret"], "shown.html");
    assert!(shown.contains("gibbon44"));
}

#[test]
fn masked_values_are_not_in_the_list_of_steps() {
    let folder = Folder::new("masked");
    let target = folder.0.join("app");
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("pod.yaml"), "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: web\n    image: web:1\n").unwrap();
    let kustomization = "resources: [pod.yaml]\nimages:\n- name: web\n  newTag: wombat7\n";
    std::fs::write(target.join("kustomization.yaml"), kustomization).unwrap();
    let mask = ["--mask", "spec.containers.[name=web].image", "app"];
    let page = folder.page(&folder.0, &mask, "masked.html");
    assert!(!page.contains("wombat7"));
    assert!(folder.page(&folder.0, &["app"], "shown.html").contains("wombat7"));
}

#[test]
fn a_package_is_a_layer_and_its_functions_are_steps() {
    let folder = Folder::new("package");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = folder.page(root, &["examples/package", "--allow-exec"], "package.html");
    assert!(page.contains("this folder</bdi></span><span class=\"tag\">package</span>"), "the root package");
    assert!(page.contains("db</bdi></span><span class=\"tag\">package</span>"), "the one below");
    assert!(page.contains("pipeline.mutators[0]") && !page.contains("<bdi>finish</bdi>"));
}

#[test]
fn nothing_of_a_name_becomes_markup() {
    let folder = Folder::new("hostile");
    let page = hostile(&folder);
    assert_eq!(page.matches("<script").count(), 3, "one early, one with data, one that runs");
    assert!(!page.contains("<img"));
    assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{200f}']), "nothing turns the direction of writing");
}

/// The size that is promised. How long a browser takes is measured by `benches/answers.py`.
#[test]
fn four_thousand_resources_are_three_megabytes_at_most() {
    let folder = Folder::new("many");
    let page = many(&folder, 4000);
    assert!(page.len() <= 3 << 20, "{} bytes", page.len());
}

#[test]
fn pages_work_in_a_browser() {
    let Some((node, chromium, modules)) = browser() else { return };
    let folder = Folder::new("browser");
    example(&folder);
    hostile(&folder);
    secret(&folder);
    plain(&folder);
    many(&folder, 1000);
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/check.js");
    let output = Command::new(node)
        .arg(check)
        .arg(&folder.0)
        .env("CHROMIUM", chromium)
        .env("NODE_PATH", modules)
        .output()
        .expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_served_page_follows_the_files_in_a_browser() {
    let Some((node, chromium, modules)) = browser() else { return };
    let folder = Folder::new("served");
    folder.write("kustomization.yaml", "namePrefix: a-\nresources: [web.yaml]\n");
    folder.write("web.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n");
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"))
        .args(["serve", "."])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("krm starts");
    let mut address = String::new();
    BufReader::new(krm.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let output = Command::new(node)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/served.js"))
        .args([address.trim(), folder.0.join("kustomization.yaml").to_str().unwrap()])
        .env("CHROMIUM", chromium)
        .env("NODE_PATH", modules)
        .output();
    krm.kill().unwrap();
    krm.wait().unwrap();
    let output = output.expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Node, Chromium, and where packages are; says which is missing.
fn browser() -> Option<(PathBuf, PathBuf, PathBuf)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program =
        |name: &str| std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    let chromium = std::env::var_os("CHROMIUM")
        .map(PathBuf::from)
        .or_else(|| ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(program));
    let modules = std::env::var_os("NODE_PATH").map(PathBuf::from);
    let modules = modules
        .into_iter()
        .chain([Path::new(env!("CARGO_MANIFEST_DIR")).join("target/readers/node/node_modules")]);
    let modules =
        modules.into_iter().find(|dir| dir.join("playwright-core").is_dir() && dir.join("axe-core").is_dir());
    let missing = match (program("node"), chromium, modules) {
        (Some(node), Some(chromium), Some(modules)) => return Some((node, chromium, modules)),
        (None, ..) => "node",
        (_, None, _) => "Chromium",
        (.., None) => "the packages playwright-core and axe-core",
    };
    assert!(std::env::var_os("CI").is_none(), "{missing} is not there, and CI looks at pages in a browser");
    eprintln!("pages are not looked at in a browser: {missing} is not there");
    None
}
