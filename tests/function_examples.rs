//! The examples of functions, as the documentation says to run them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

#[path = "support/left_out.rs"]
mod left_out;
#[path = "support/scratch.rs"]
mod scratch;
#[path = "support/texts.rs"]
mod support;

use left_out::left_out;
use scratch::Scratch;
use support::texts;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of this test alone.
struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("examples-{name}")))
    }

    /// With what an example holds.
    fn copy_of(name: &str, example: &str) -> Self {
        let folder = Self::new(name);
        let copied = Command::new("cp").arg("-r").arg(root().join(example).join(".")).arg(&folder.0).status();
        assert!(copied.expect("cp starts").success());
        folder
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).expect("the folder is ours");
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "{file} has no {from}");
        self.write(file, &text.replacen(from, to, 1));
    }

    fn files(&self) -> BTreeMap<String, String> {
        texts(&self.0)
    }

    /// `krm fn run FOLDER --enable-exec`, from the top of the project.
    fn run(&self) -> Output {
        let krm = Path::new(env!("CARGO_BIN_EXE_krm"));
        self.run_with(krm.parent().expect("it lies in a folder"))
    }

    /// The same where programs are found in another folder first.
    fn run_with(&self, programs: &Path) -> Output {
        let krm = Path::new(env!("CARGO_BIN_EXE_krm"));
        let mut path = programs.as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut run = Command::new(krm);
        run.args(["fn", "run"]).arg(&self.0).arg("--enable-exec").current_dir(root()).env("PATH", path);
        run.stdin(Stdio::null()).output().expect("krm starts")
    }

    fn succeeds(&self) -> String {
        let output = self.run();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        stderr
    }
}

#[test]
fn a_website_is_generated_sized_and_checked() {
    let website = Folder::copy_of("website", "examples/website");
    let given = website.files();
    let told = website.succeeds();
    assert_eq!(told.matches("[PASS]").count(), 4, "{told}");
    let made = website.files();
    let new: Vec<&String> = made.keys().filter(|name| !given.contains_key(*name)).collect();
    assert_eq!(new, ["config/website_deployment.yaml", "config/website_service.yaml"]);
    let changed: Vec<&String> = given.keys().filter(|name| given[*name] != made[*name]).collect();
    assert_eq!(changed, ["search.yaml"], "only the one that had no size yet");
    let search = &made["search.yaml"];
    assert!(search.contains("size: large # the index lives in memory\n") && search.contains("memory: 4Gi\n"));
    assert!(made["config/website_deployment.yaml"].contains("memory: 128Mi\n"));
    website.succeeds();
    assert_eq!(website.files(), made, "again changes nothing");

    // What people do to what was generated stays, where the generator says nothing about it.
    let deployment = "config/website_deployment.yaml";
    let by_hand = "    spec:\n      terminationGracePeriodSeconds: 5 # it is stateless\n";
    website.replace(deployment, "    spec:\n", by_hand);
    website.replace("functions/10-generate.yaml", "replicas: 3", "replicas: 5");
    website.succeeds();
    let renewed = website.read(deployment);
    assert!(renewed.contains(by_hand) && renewed.contains("replicas: 5\n"), "{renewed}");

    // A mistake is reported, with its place, and nothing is written: not even what went before it.
    website.replace("search.yaml", "  selector:\n    app: search", "  selector:\n    app: saerch");
    website.replace("functions/10-generate.yaml", "replicas: 5", "replicas: 7");
    let before = website.files();
    let output = website.run();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(told.contains("the selector finds no pods: none have the label `app: saerch`"), "{told}");
    assert!(told.contains("search.yaml:33:5"), "{told}");
    assert_eq!(website.files(), before);
}

const SCRIPT: &str = "examples/functions/nginx.sh";
const DECLARATION: &str = "\
apiVersion: example.com/v1beta1
kind: Nginx
metadata:
  name: my-instance
  annotations:
    config.kubernetes.io/local-config: \"true\"
    config.kubernetes.io/function: |
      exec:
        path: examples/functions/nginx.sh
spec:
  replicas: 5
";

#[test]
fn a_script_is_a_function_through_wrap() {
    let package = Folder::new("script");
    package.write("nginx.yaml", DECLARATION);
    package.succeeds();
    let deployment = "config/my-instance_deployment.yaml";
    assert_eq!(
        package.files().keys().collect::<Vec<_>>(),
        [deployment, "config/my-instance_service.yaml", "nginx.yaml"]
    );
    let generated = package.read(deployment);
    assert!(generated.contains("  replicas: 5\n") && generated.contains("      instance: my-instance\n"));
    let limits = "        resources:\n          limits:\n            cpu: 2 # by hand\n";
    package.replace(
        deployment,
        "        image: nginx:1.27\n",
        &format!("        image: nginx:1.27\n{limits}"),
    );
    package.replace("nginx.yaml", "replicas: 5", "replicas: 7");
    package.succeeds();
    let renewed = package.read(deployment);
    assert!(renewed.contains("  replicas: 7\n") && renewed.contains(limits), "{renewed}");
}

/// Scripts written for other programs call `wrap` in other words; a link of the program's name is all they need.
#[test]
fn scripts_of_older_programs_run_as_they_are() {
    for (name, words) in [
        ("config", "config run wrap -- $0"),
        ("kustomize", "kustomize config run wrap -- $0"),
        ("kustomize", "kustomize fn run wrap -- $0"),
    ] {
        let programs = Folder::new("programs");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_krm"), programs.0.join(name)).expect("a new name");
        let ours = fs::read_to_string(root().join(SCRIPT)).expect("it is there");
        assert!(ours.contains("krm fn wrap -- \"$0\""));
        programs.write("nginx.sh", &ours.replace("krm fn wrap -- \"$0\"", words));
        let script = programs.0.join("nginx.sh");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("the file is ours");

        let package = Folder::new("older");
        package.write("nginx.yaml", &DECLARATION.replace(SCRIPT, &script.display().to_string()));
        let output = package.run_with(&programs.0);
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(package.read("config/my-instance_deployment.yaml").contains("  replicas: 5\n"), "{words}");
        assert!(package.read("config/my-instance_service.yaml").contains("  name: my-instance\n"), "{words}");
    }
}

/// The same programs, run by somebody else.
#[test]
fn another_orchestrator_runs_them_to_the_same_effect() {
    if Command::new("kpt").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        left_out("kpt is not installed here");
        return;
    }
    let (theirs, ours) =
        (Folder::copy_of("kpt", "examples/website"), Folder::copy_of("krm", "examples/website"));
    let kpt = |function: &str, config: &str| {
        let program = root().join("examples/functions/run").join(function);
        let mut eval = Command::new("kpt");
        eval.args(["fn", "eval"]).arg(&theirs.0).arg("--exec").arg(program);
        eval.arg("--fn-config").arg(theirs.0.join("functions").join(config));
        eval.output().expect("kpt starts")
    };
    let succeeds = |function: &str, config: &str| {
        let output = kpt(function, config);
        assert!(output.status.success(), "{function}: {}", String::from_utf8_lossy(&output.stderr));
    };
    ours.succeeds();
    succeeds("nginx", "10-generate.yaml");
    succeeds("set-size", "20-sizes.yaml");
    succeeds("require-limits", "30-limits.yaml");
    succeeds("match-selectors", "40-selectors.yaml");
    assert_eq!(theirs.read("search.yaml"), ours.read("search.yaml"));
    // The one names the files of new resources in its way, the other in the specification's.
    for (kind, generated) in [("deployment", "replicas: 3"), ("service", "targetPort: ")] {
        let made = theirs.read(&format!("{kind}_website.yaml"));
        assert!(made.contains(generated), "{made}");
        assert_eq!(made, ours.read(&format!("config/website_{kind}.yaml")));
    }
    theirs.replace("search.yaml", "  selector:\n    app: search", "  selector:\n    app: saerch");
    let refused = kpt("match-selectors", "40-selectors.yaml");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("none have the label `app: saerch`"), "{told}");
}
