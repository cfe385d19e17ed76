//! The functions of `docs/guides/function-languages.md`, in each language this machine has, give the same result.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "support/left_out.rs"]
mod left_out;
#[path = "support/scratch.rs"]
mod scratch;

use left_out::left_out;
use scratch::Scratch;

const EXAMPLES: &str = "examples/languages";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder that is gone with the test.
struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        let path = Scratch::new(&format!("languages-{name}"));
        fs::create_dir(path.join("package")).unwrap();
        fs::copy(root().join(EXAMPLES).join("package/shop.yaml"), path.join("package/shop.yaml")).unwrap();
        Self(path)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let krm = Path::new(env!("CARGO_BIN_EXE_krm"));
        let path = std::env::var("PATH").unwrap_or_default();
        let mut run = Command::new(krm);
        run.args(["fn", "run"])
            .arg(self.0.join("package"))
            .args(["--enable-exec", "--exec-path"])
            .arg(program);
        // Scripts start `krm` by its name.
        run.env("PATH", format!("{}:{path}", krm.parent().unwrap().display()));
        run.args(arguments).output().unwrap()
    }

    fn resources(&self) -> String {
        fs::read_to_string(self.0.join("package/shop.yaml")).unwrap()
    }
}

/// Whether a command succeeds; if not, the test is left out here, which CI does not allow.
fn available(what: &str, command: &mut Command) -> bool {
    let works = command.output().is_ok_and(|output| output.status.success());
    if !works {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{what} is missing");
        left_out(format_args!("{what} is missing"));
    }
    works
}

#[test]
fn the_page_shows_the_files() {
    let page = fs::read_to_string(root().join("docs/guides/function-languages.md")).unwrap();
    for file in ["set_team.py", "set_team.mjs", "go/main.go", "quota.sh", "quota.yaml"] {
        let text = fs::read_to_string(root().join(EXAMPLES).join(file)).unwrap();
        assert!(page.contains(&format!("\n{text}```\n")), "the page shows another {file}");
    }
}

/// What every one of them does to the package, and how it refuses to run without a team.
fn sets_the_team(name: &str, program: &Path) {
    let scratch = Place::new(name);
    let before = scratch.resources();

    let refused = scratch.run(program, &[]);
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("say which team"), "{message}");
    assert_eq!(scratch.resources(), before);

    let output = scratch.run(program, &["--", "team=shop"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let after = scratch.resources();
    // Two labels, one of them new, and no other line; a library may lose the comment beside what it sets, and may quote it.
    let after =
        after.replace("team: 'shop'", "team: shop").replace("team: shop # set by a function", "team: shop");
    let expected = before
        .replace(
            "name: shop # the public name\n",
            "name: shop # the public name\n  labels:\n    team: shop\n",
        )
        .replace("team: nobody # set by a function", "team: shop");
    assert_eq!(after, expected);
}

#[test]
fn python() {
    if available("Python with PyYAML", Command::new("python3").args(["-c", "import yaml"])) {
        sets_the_team("python", &root().join(EXAMPLES).join("set_team.py"));
    }
}

#[test]
fn typescript() {
    if !available("Node with the package yaml", Command::new("node").args(["-e", "require('yaml')"])) {
        return;
    }
    // Modules are looked for beside the program, not along NODE_PATH.
    let scratch = Place::new("node");
    let program = scratch.0.join("set_team.mjs");
    fs::copy(root().join(EXAMPLES).join("set_team.mjs"), &program).unwrap();
    let found = Command::new("node").args(["-p", "require.resolve('yaml')"]).output().unwrap();
    let found = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    let modules = found.ancestors().find(|path| path.ends_with("node_modules")).unwrap();
    std::os::unix::fs::symlink(modules, scratch.0.join("node_modules")).unwrap();
    sets_the_team("typescript", &program);
}

#[test]
fn go() {
    let scratch = Place::new("go-build");
    let program = scratch.0.join("set-team");
    let mut build = Command::new("go");
    build.current_dir(root().join(EXAMPLES).join("go")).args(["build", "-o"]).arg(&program).arg(".");
    if available("Go with the modules of kyaml", &mut build) {
        sets_the_team("go", &program);
    }
}

#[test]
fn shell() {
    let scratch = Place::new("shell");
    let config = root().join(EXAMPLES).join("quota.yaml");
    let program = root().join(EXAMPLES).join("quota.sh");
    let output = scratch.run(&program, &["--fn-config", config.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = fs::read_to_string(scratch.0.join("package/config/shop_resourcequota.yaml")).unwrap();
    assert!(made.contains("  name: shop\n") && made.contains("    pods: \"20\"\n"), "{made}");
}
