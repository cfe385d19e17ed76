//! Bases of bases of bases: reported, if there are too many, before memory, stack or patience run out.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("many-bases-{name}")))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }

    /// What a build prints; or says, where it fails.
    fn build(&self, target: &str) -> Result<String, String> {
        let start = Instant::now();
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        let output = krm.arg("build").arg(target).current_dir(&self.0).output().expect("krm starts");
        // What doubles with each of thirty steps takes days.
        assert!(start.elapsed() < Duration::from_secs(60));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
        match output.status.code().expect("no signal") {
            0 => Ok(text(output.stdout)),
            1 => Err(text(output.stderr)),
            code => panic!("{code}: {}", text(output.stderr)),
        }
    }
}

fn refused(result: Result<String, String>, code: &str) {
    let error = result.expect_err("it is too much");
    assert!(error.starts_with(&format!("error[{code}]: ")), "{}", &error[..error.len().min(2000)]);
}

const COMPONENT: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
const COMPOSITION: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\n";
const CONFIG_MAP: &str = "configMapGenerator: [{name: it, options: {disableNameSuffixHash: true}}]\n";

#[test]
fn a_chain_may_be_long_but_not_endless() {
    let place = Place::new("chain");
    place.write("b0/kustomization.yaml", CONFIG_MAP);
    place.write("c0/kustomization.yaml", &format!("{COMPONENT}namePrefix: a\n"));
    for n in 1..=3000 {
        let before = n - 1;
        place.write(
            &format!("b{n}/kustomization.yaml"),
            &format!("namePrefix: a\nresources: [../b{before}]\n"),
        );
        place.write(&format!("c{n}/kustomization.yaml"), &format!("{COMPONENT}components: [../c{before}]\n"));
    }
    let built = place.build("b200").expect("that many are allowed");
    assert!(built.contains(&format!("name: {}it\n", "a".repeat(200))), "{built}");
    refused(place.build("b201"), "bases-too-deep");
    refused(place.build("b3000"), "bases-too-deep");
    place.write("top/kustomization.yaml", "resources: [../b0]\ncomponents: [../c3000]\n");
    refused(place.build("top"), "bases-too-deep");
    // Those in front are planned before those after them: none of them is far from what is known by then.
    let steps: Vec<String> = (0..=3000).step_by(100).map(|n| format!("../b{n}")).collect();
    place.write("steps/kustomization.yaml", &format!("resources: [{}]\n", steps.join(", ")));
    refused(place.build("steps"), "bases-too-deep");
}

#[test]
fn what_doubles_with_each_step_is_refused() {
    let place = Place::new("double");
    place.write("b0/kustomization.yaml", CONFIG_MAP);
    place.write("c0/kustomization.yaml", &format!("{COMPONENT}namePrefix: a\n"));
    place.write("t0/composition.yaml", COMPOSITION);
    place.write("f0/kustomization.yaml", "resources: [missing.yaml]\n");
    for n in 1..30 {
        let before = n - 1;
        let both = |kind: &str| format!("[../{kind}{before}, ../{kind}-{n}]");
        let one = |kind: &str| format!("[../{kind}{before}]");
        place.write(&format!("b{n}/kustomization.yaml"), &format!("resources: {}\n", both("b")));
        place.write(
            &format!("b-{n}/kustomization.yaml"),
            &format!("namePrefix: a{n}\nresources: {}\n", one("b")),
        );
        place.write(&format!("f{n}/kustomization.yaml"), &format!("resources: {}\n", both("f")));
        place.write(&format!("f-{n}/kustomization.yaml"), &format!("resources: {}\n", one("f")));
        place.write(&format!("c{n}/kustomization.yaml"), &format!("{COMPONENT}components: {}\n", both("c")));
        place.write(&format!("c-{n}/kustomization.yaml"), &format!("{COMPONENT}components: {}\n", one("c")));
        let imports = |names: &[String]| {
            let paths: String = names.iter().map(|name| format!("- path: ../{name}\n")).collect();
            format!("{COMPOSITION}transformersFrom:\n{paths}")
        };
        place.write(&format!("t{n}/composition.yaml"), &imports(&[format!("t{before}"), format!("t-{n}")]));
        place.write(&format!("t-{n}/composition.yaml"), &imports(&[format!("t{before}")]));
    }
    let built = place.build("b6").expect("a few are fine");
    assert_eq!(built.matches("kind: ConfigMap").count(), 64);
    refused(place.build("b29"), "bases-too-many");
    place.write("top/kustomization.yaml", "resources: [../b0]\ncomponents: [../c29]\n");
    refused(place.build("top"), "bases-too-many");
    refused(place.build("t29"), "imports-too-many");
    // A fault is reported for each way that leads to it, up to a number.
    refused(place.build("f29"), "file-not-found");
}
