//! The examples of functions, as the documentation says to run them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of this test alone.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("krm-examples-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("the temporary folder can be written to");
        Self(dir)
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
        let mut files = BTreeMap::new();
        let mut waiting = vec![self.0.clone()];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(dir).expect("the folder is ours") {
                let path = entry.expect("the folder can be read").path();
                match path.is_dir() {
                    true => waiting.push(path),
                    false => {
                        let name = path.strip_prefix(&self.0).expect("it lies there").display().to_string();
                        files.insert(name.clone(), self.read(&name));
                    }
                }
            }
        }
        files
    }

    /// `krm fn run FOLDER --enable-exec`, from the top of the project.
    fn run(&self) -> Output {
        let krm = Path::new(env!("CARGO_BIN_EXE_krm"));
        let mut path = krm.parent().expect("it lies in a folder").as_os_str().to_owned();
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

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
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

    // A mistake is told, with its place, and nothing is written: not even what went before it.
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

#[test]
fn a_script_is_a_function_through_wrap() {
    let package = Folder::new("script");
    let declaration = "apiVersion: example.com/v1beta1
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
    package.write("nginx.yaml", declaration);
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
