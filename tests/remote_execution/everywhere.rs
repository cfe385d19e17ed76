//! Functions make the same bytes wherever they run, and wherever their outputs are kept.
//!
//! Those of the examples, and three that others wrote: `.ci/functions` builds them, and `.ci/servers` says where they are.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// How a function is declared, by its name.
type Declared<'a> = &'a dyn Fn(&str) -> String;

/// A package, and the functions it declares.
struct Work {
    name: &'static str,
    functions: &'static [&'static str],
    /// The folder of their programs.
    programs: PathBuf,
    /// Fills a folder; each function is declared as the second argument says.
    fill: fn(&Folder, Declared<'_>),
    /// Something that only all of them together make: a file, and a part of it.
    proof: &'static [(&'static str, &'static str)],
}

fn works() -> Vec<Work> {
    let examples = Work {
        name: "examples",
        functions: &["nginx", "set-size", "require-limits", "match-selectors", "inject-sidecar"],
        programs: programs().to_owned(),
        fill: website,
        proof: &[
            ("pkg/search.yaml", "image: shipper:1"),
            ("pkg/config/website_deployment.yaml", "kind: Deployment"),
        ],
    };
    let foreign = std::env::var_os("KRM_TEST_FUNCTIONS").filter(|programs| !programs.is_empty());
    if foreign.is_none() {
        super::left_out("KRM_TEST_FUNCTIONS is not set; `.ci/functions` builds functions that others wrote");
    }
    let foreign = foreign.map(|programs| Work {
        name: "foreign",
        functions: &["set-namespace", "starlark", "apply-replacements"],
        programs: programs.into(),
        fill: shop,
        proof: &[
            ("pkg/web.yaml", "namespace: shop"),
            ("pkg/web.yaml", "replicas: 6"),
            ("pkg/web.yaml", "image: web:2"),
        ],
    });
    [examples].into_iter().chain(foreign).collect()
}

impl Work {
    fn folder(&self, way: &str, start: &dyn Fn(&str) -> String) -> Folder {
        // Tests run side by side, and each begins with what is made here.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Folder::new(&format!("{}-{way}-{count}", self.name));
        (self.fill)(&folder, start);
        folder
    }

    /// The same with executables.
    fn with_executables(&self, way: &str) -> Folder {
        self.folder(way, &|function| {
            format!("exec:\n        path: {}\n", self.programs.join(function).display())
        })
    }

    /// What a run left, apart from the declarations.
    fn made(&self, folder: &Folder) -> BTreeMap<String, String> {
        let mut files = folder.files("pkg");
        files.retain(|name, _| !name.starts_with("pkg/functions/"));
        for (file, part) in self.proof {
            let made = files.get(*file).map(String::as_str).unwrap_or_default();
            assert!(made.contains(part), "all functions ran, but {file} is\n{made}");
        }
        files
    }

    /// What they make on this machine, without any cache.
    fn made_here(&self) -> BTreeMap<String, String> {
        let here = self.with_executables("here");
        succeeded(&here.krm(&["fn", "run", "pkg", "--enable-exec"]));
        self.made(&here)
    }
}

/// The website of the examples, with all five example functions.
fn website(folder: &Folder, start: &dyn Fn(&str) -> String) {
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(root().join("examples/website/.")).arg(folder.0.join("pkg"));
    assert!(copy.status().expect("cp starts").success());
    let sidecar = "apiVersion: example.com/v1\nkind: Sidecar\nmetadata:\n  name: shipper\n  annotations:\n    \
                   config.kubernetes.io/function: |\n      exec:\n        path: examples/functions/run/inject-sidecar\n    \
                   config.kubernetes.io/local-config: \"true\"\nspec:\n  pod:\n    containers:\n    - name: shipper\n      image: shipper:1\n";
    folder.write("pkg/functions/50-sidecar.yaml", sidecar);
    let search = fs::read_to_string(folder.0.join("pkg/search.yaml")).expect("the example has it");
    let asks = search.replacen("  annotations:\n", "  annotations:\n    example.com/inject: shipper\n", 1);
    folder.write("pkg/search.yaml", &asks);
    for (file, declared) in folder.files("pkg/functions") {
        let (before, rest) =
            declared.split_once("exec:\n        path: examples/functions/run/").expect("it is a program");
        let (function, after) = rest.split_once('\n').expect("a line ends");
        folder.write(&file, &format!("{before}{}{after}", start(function)));
    }
}

/// A Deployment, and what the functions of others make of it.
fn shop(folder: &Folder, start: &dyn Fn(&str) -> String) {
    folder.write(
        "pkg/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web # stays\nspec:\n  replicas: 3\n  template:\n    \
         spec:\n      containers:\n      - name: web\n        image: web:1\n",
    );
    let declare = |file: &str, function: &str, head: &str, rest: &str| {
        let text = format!(
            "{head}metadata:\n  name: {function}\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n    \
             config.kubernetes.io/function: |\n      {}{rest}",
            start(function)
        );
        folder.write(&format!("pkg/functions/{file}"), &text);
    };
    let map = "apiVersion: v1\nkind: ConfigMap\n";
    declare("10.yaml", "set-namespace", map, "data:\n  namespace: shop\n");
    let source = "source: |\n  for resource in ctx.resource_list[\"items\"]:\n    if resource[\"kind\"] == \"Deployment\":\n      \
                  resource[\"spec\"][\"replicas\"] *= 2\n";
    declare("20.yaml", "starlark", "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\n", source);
    folder.write(
        "pkg/image.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: image\ndata:\n  image: web:2\n",
    );
    let replacements = "replacements:\n- source:\n    kind: ConfigMap\n    name: image\n    fieldPath: data.image\n  targets:\n  \
                        - select:\n      kind: Deployment\n    fieldPaths:\n    - spec.template.spec.containers.[name=web].image\n";
    let head = "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\n";
    declare("30.yaml", "apply-replacements", head, replacements);
}

#[test]
fn executables_make_the_same_bytes_on_two_unrelated_servers() {
    for work in works() {
        let here = work.made_here();
        for (name, more) in
            [("KRM_TEST_REAPI_PROGRAMS", &[][..]), ("KRM_TEST_REAPI_2", &["--remote-trust-sandbox"])]
        {
            let Some(server) = server(name) else { continue };
            let there = work.with_executables(name);
            let args =
                ["fn", "run", "pkg", "--enable-exec", "--remote-executor", &server, "--remote-executables"];
            let output = there.krm(&[&args[..], more].concat());
            succeeded(&output);
            assert!(!text(&output.stderr).contains("runs on this machine"), "{}", text(&output.stderr));
            assert_eq!(work.made(&there), here, "{name}");
        }
    }
}

#[test]
fn a_cache_on_the_disk_and_on_two_kinds_of_servers_has_the_same_bytes() {
    let http = Bazel::start();
    let grpc = server("KRM_TEST_REAPI");
    let http = http.as_ref().map(|bazel| bazel.address.as_str());
    for work in works() {
        let here = work.made_here();
        for (name, address) in [("disk", Some("")), ("http", http), ("grpc", grpc.as_deref())] {
            let Some(address) = address else { continue };
            let folder = work.with_executables(name);
            let args = ["fn", "run", "pkg", "--enable-exec", "--cache=all", "--remote-cache", address];
            succeeded(&folder.krm(&[&args[..], &["--remote-upload", "--dry-run"]].concat()));
            if !address.is_empty() {
                fs::remove_dir_all(folder.0.join("cache")).expect("what is on the disk would be found first");
            }
            let output = folder.krm(&args);
            succeeded(&output);
            let said = text(&output.stderr);
            let cached = said.matches("from the cache").count();
            assert!(cached >= work.functions.len(), "{name}: {said}");
            assert_eq!(said.matches("[PASS]").count(), cached, "{name}: {said}");
            assert_eq!(work.made(&folder), here, "{name}");
        }
    }
}

#[test]
fn images_without_a_shell_make_the_same_bytes_with_no_engine_here() {
    let Some(registry) = server("KRM_TEST_REGISTRY") else { return };
    let images = Images { registry };
    let server = server("KRM_TEST_REAPI");
    let server = server.as_deref().map(|address| ("KRM_REMOTE_EXECUTOR", address));
    for work in works() {
        let here = work.made_here();
        let push = |function: &str| {
            let program = work.programs.join(function);
            let files = with_libraries(&program, &format!("/opt/functions/{function}"));
            let files: Vec<(&Path, &str)> =
                files.iter().map(|(from, to)| (from.as_path(), to.as_str())).collect();
            // Found in the image's PATH, started in its folder.
            let config = format!(
                "{{\"Entrypoint\":[\"{function}\"],\"Env\":[\"PATH=/usr/bin:/opt/functions\"],\"WorkingDir\":\"/opt/functions\"}}"
            );
            images.push(function, &files, &config)
        };
        let pushed: BTreeMap<&str, String> =
            work.functions.iter().map(|function| (*function, push(function))).collect();
        // On a server, and in a sandbox of this machine.
        for way in server.into_iter().chain([("KRM_FN_RUNTIME", "sandbox")]) {
            let folder =
                work.folder(way.0, &|function| format!("container:\n        image: {}\n", pushed[function]));
            let output = folder.krm_with(&["fn", "run", "pkg"], &[way]);
            succeeded(&output);
            assert!(!text(&output.stderr).contains("runs on this machine"), "{}", text(&output.stderr));
            assert_eq!(work.made(&folder), here, "{way:?}");
        }
    }
}

/// An HTTP cache that others wrote, while a test runs.
pub struct Bazel {
    process: std::process::Child,
    _folder: Folder,
    pub address: String,
}

impl Bazel {
    fn start() -> Option<Self> {
        Self::start_with("http", &[])
    }

    pub fn start_with(scheme: &str, more: &[&str]) -> Option<Self> {
        let program = server("KRM_BAZEL_REMOTE")?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("there is a free port").port();
        let folder = Folder::new(&format!("bazel-remote-{port}"));
        let mut command = Command::new(program);
        command.arg("--dir").arg(folder.0.join("data")).args(["--max_size", "1", "--grpc_address", "none"]);
        command.args(["--http_address", &format!("127.0.0.1:{port}")]).args(more);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let bazel = Self { process, _folder: folder, address: format!("{scheme}://127.0.0.1:{port}") };
        for _ in 0..500 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(bazel);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("bazel-remote does not answer");
    }
}

impl Drop for Bazel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
