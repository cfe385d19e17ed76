//! Plugins of the old kind: programs in a folder of their own, found by the type of their configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A kustomization with one generator or transformer of kind `Plug`, and the folder of plugins.
struct Place(Scratch);

impl Place {
    fn new(name: &str, role: &str, config: &str) -> Self {
        let path = Scratch::new(&format!("plugins-{name}"));
        fs::create_dir_all(path.join("home/acme.io/v1/plug")).unwrap();
        fs::create_dir_all(path.join("app")).unwrap();
        let place = Self(path);
        place.write(
            "app/kustomization.yaml",
            &format!("namePrefix: dev-\nresources: [cm.yaml]\n{role}: [plug.yaml]\n"),
        );
        place.write(
            "app/cm.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: one\n",
        );
        let head = "apiVersion: acme.io/v1\nkind: Plug\nmetadata:\n  name: p\n";
        place.write("app/plug.yaml", &format!("{head}{config}"));
        place
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.join(path), text).unwrap();
    }

    fn plugin(&self, script: &str) {
        self.write("home/acme.io/v1/plug/Plug", &format!("#!/bin/sh\n{script}"));
        let path = self.0.join("home/acme.io/v1/plug/Plug");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn build(&self, flags: &[&str]) -> Result<String, String> {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(&self.0).args(["build", "app"]).args(flags);
        let output = krm.env("KUSTOMIZE_PLUGIN_HOME", self.0.join("home")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        match output.status.success() {
            true => Ok(text(output.stdout)),
            false => Err(text(output.stderr)),
        }
    }

    fn refused(&self, code: &str) {
        let error = self.build(&["--enable-alpha-plugins"]).unwrap_err();
        assert!(error.starts_with(&format!("error[{code}]")), "{error}");
    }
}

#[test]
fn a_generator_gets_its_configuration_and_prints_resources() {
    let place = Place::new("generator", "generators", "argsOneLiner: a 'b c'\nargsFromFile: args.txt\n");
    place.write("app/args.txt", "  d e\n\nf\n");
    place.plugin(
        "file=$1; shift
echo apiVersion: v1
echo kind: ConfigMap
echo metadata:
echo '  name: made'
echo '  annotations: {kustomize.config.k8s.io/needs-hash: \"true\"}'
echo data:
printf '  args: \"%s|%s|%s|%s\"\\n' \"$@\"
printf '  kind: \"%s\"\\n' \"$(grep kind: $file)\"
printf '  same: \"%s\"\\n' \"$([ \"$(cat $file)\" = \"$(printenv KUSTOMIZE_PLUGIN_CONFIG_STRING)\" ] && echo yes)\"
printf '  here: \"%s %s\"\\n' \"$(basename $PWD)\" \"$(basename $KUSTOMIZE_PLUGIN_CONFIG_ROOT)\"
",
    );
    let built = place.build(&["--enable-alpha-plugins"]).unwrap();
    for line in ["  args: a|b c|d e|f\n", "  kind: 'kind: Plug'\n", "  same: \"yes\"\n", "  here: app app\n"]
    {
        assert!(built.contains(line), "{line} is not in\n{built}");
    }
    assert!(built.contains("name: dev-made-") && !built.contains("needs-hash"), "{built}");
}

#[test]
fn a_transformer_is_given_all_resources_and_prints_those_to_be() {
    let place = Place::new("transformer", "transformers", "");
    place.plugin(
        "sed 's/one/two/'; printf -- '---\\napiVersion: v1\\nkind: Secret\\nmetadata:\\n  name: new\\n'\n",
    );
    let built = place.build(&["--enable-alpha-plugins"]).unwrap();
    let expected = "apiVersion: v1\ndata:\n  a: two\nkind: ConfigMap\nmetadata:\n  name: dev-cm\n---\n\
                    apiVersion: v1\nkind: Secret\nmetadata:\n  name: new\n";
    assert_eq!(built, expected);
    // What it leaves out is gone.
    place.plugin("echo\n");
    assert_eq!(place.build(&["--enable-alpha-plugins"]).unwrap(), "");
}

#[test]
fn faults_of_plugins_are_reported() {
    let place = Place::new("faults", "transformers", "");
    place.refused("plugin-unknown");
    place.write("home/acme.io/v1/plug/Plug.so", "");
    place.refused("plugin-go");
    place.write("home/acme.io/v1/plug/Plug", "#!/bin/sh\n");
    place.refused("plugin-not-executable");
    place.plugin("echo it is over >&2; exit 3\n");
    place.refused("plugin-failed");
    let error = place.build(&["--enable-alpha-plugins"]).unwrap_err();
    assert!(error.contains("exit status 3") && error.contains("it is over"), "{error}");
    place.plugin("cat > x; cat x; echo ---; cat x\n");
    place.refused("plugin-twins");
    let error = place.build(&[]).unwrap_err();
    assert!(
        error.starts_with("error[plugins-not-enabled]") && error.contains("--enable-alpha-plugins"),
        "{error}"
    );
    place.write("home/acme.io/v1/plug/Plug", "#!/no/such/interpreter\n");
    place.refused("plugin-not-started");
    let place = Place::new("args", "generators", "argsOneLiner: a 'b\n");
    place.plugin("");
    place.refused("plugin-args");
}

#[test]
fn a_type_is_a_name_and_never_a_path() {
    let place = Place::new("names", "generators", "");
    let marker = place.0.join("ran");
    let evil = place.0.join("app/evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.display().to_string();
    // The folder of plugins has a folder of each name that is asked for, so that `..` leads somewhere.
    fs::create_dir_all(place.0.join("home/acme.io/v1/..")).unwrap();
    for (version, kind) in [
        ("acme.io/v1", evil.as_str()),
        ("acme.io/v1", "../../../../app/evil"),
        ("acme.io/..", "../../app/evil"),
        ("../..", "evil"),
    ] {
        place.write("app/plug.yaml", &format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: p\n"));
        let error = place.build(&["--enable-alpha-plugins"]).unwrap_err();
        assert!(!marker.exists(), "{version} {kind} started a program");
        assert!(error.starts_with("error["), "{error}");
    }
}
