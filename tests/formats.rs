//! `--error-format`: what programs read is one valid document, whatever happens.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use krm_yaml::Node;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

struct Place(Scratch);

impl Place {
    /// A build with a warning and, if wanted, two errors.
    fn new(name: &str, fails: bool) -> Self {
        let dir = Scratch::new(&format!("formats-{name}"));
        let more = if fails { ", missing.yaml, \"gone <&>, 100%: ä.yaml\"" } else { "" };
        let text = format!("resources: [a.yaml{more}]\ncommonLabels: {{a: b}}\n");
        fs::write(dir.join("kustomization.yaml"), text).expect("a new file");
        fs::write(dir.join("a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
            .expect("a new file");
        Self(dir)
    }

    fn krm(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(&self.0).output();
        let output = output.expect("krm starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    }
}

/// Fails unless the text is one JSON document.
fn json(text: &str) -> Node {
    assert!(text.ends_with('\n') && text.trim_start().starts_with(['{', '[']), "{text}");
    let mut documents = krm_yaml::parse_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0).root
}

fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    let found = path.iter().try_fold(node, |node, key| match key.parse::<usize>() {
        Ok(index) => node.items().get(index),
        Err(_) => node.get(key),
    });
    found.and_then(Node::text).unwrap_or_else(|| panic!("there is no {path:?} in {node:?}"))
}

#[test]
fn sarif_has_what_its_schema_requires() {
    for (fails, status) in [(true, 1), (false, 0)] {
        let place = Place::new("sarif", fails);
        let (code, stderr) = place.krm(&["build", "--error-format", "sarif"]);
        assert_eq!(code, Some(status), "{stderr}");
        let log = json(&stderr);
        assert_eq!(text(&log, &["version"]), "2.1.0");
        let run = &log.get("runs").expect("required").items()[0];
        assert_eq!(text(run, &["tool", "driver", "name"]), "krm");
        assert_eq!(text(run, &["invocations", "0", "executionSuccessful"]), (!fails).to_string());
        let rules: Vec<&str> = run
            .get("tool")
            .and_then(|tool| tool.get("driver")?.get("rules"))
            .expect("they are listed")
            .items()
            .iter()
            .map(|rule| text(rule, &["id"]))
            .collect();
        assert_eq!(rules.iter().collect::<BTreeSet<_>>().len(), rules.len(), "each rule once");
        let results = run.get("results").expect("required").items();
        assert_eq!(
            results.iter().filter(|r| text(r, &["level"]) == "error").count(),
            if fails { 2 } else { 0 }
        );
        for result in results {
            let index: usize = text(result, &["ruleIndex"]).parse().expect("a number");
            assert_eq!(rules[index], text(result, &["ruleId"]));
            assert!(["error", "warning"].contains(&text(result, &["level"])));
            assert!(!text(result, &["message", "text"]).is_empty());
            let location = ["locations", "0", "physicalLocation"];
            let uri = text(result, &[&location[..], &["artifactLocation", "uri"]].concat());
            assert_eq!(uri, "kustomization.yaml");
            for key in ["startLine", "startColumn", "endLine", "endColumn"] {
                let number = text(result, &[&location[..], &["region", key]].concat());
                assert!(number.parse::<usize>().expect("a number") > 0);
            }
        }
    }
}

#[test]
fn gitlab_has_what_code_quality_requires() {
    let place = Place::new("gitlab", true);
    let (code, stderr) = place.krm(&["build", "--error-format=gitlab"]);
    assert_eq!(code, Some(1));
    let issues = json(&stderr);
    let mut fingerprints = BTreeSet::new();
    for issue in issues.items() {
        assert!(!text(issue, &["description"]).is_empty() && !text(issue, &["check_name"]).is_empty());
        assert!(["major", "minor"].contains(&text(issue, &["severity"])));
        assert_eq!(text(issue, &["location", "path"]), "kustomization.yaml");
        assert!(text(issue, &["location", "lines", "begin"]).parse::<usize>().expect("a number") > 0);
        assert!(fingerprints.insert(text(issue, &["fingerprint"])), "each of its own");
    }
    assert!(issues.items().len() >= 2);
    assert_eq!(place.krm(&["version", "--error-format=gitlab"]), (Some(0), "[]\n".into()));
}

#[test]
fn github_has_a_command_for_each() {
    let place = Place::new("github", true);
    let (_, stderr) = place.krm(&["build", "--error-format", "github"]);
    let commands: Vec<&str> = stderr.lines().collect();
    assert!(
        commands.iter().all(|line| line.starts_with("::error ") || line.starts_with("::warning ")),
        "{stderr}"
    );
    assert_eq!(commands.iter().filter(|line| line.starts_with("::error ")).count(), 2, "{stderr}");
    assert!(commands.iter().all(|line| line.contains("file=kustomization.yaml,line=")), "{stderr}");
    assert!(stderr.contains("100%25: ä.yaml"), "{stderr}");
}

#[test]
fn junit_is_well_formed() {
    for fails in [true, false] {
        let place = Place::new("junit", fails);
        let (_, stderr) = place.krm(&["build", "--error-format", "junit"]);
        let count = |word: &str| stderr.matches(word).count();
        assert_eq!(count("<failure "), if fails { 2 } else { 0 }, "{stderr}");
        assert_eq!(count("<testcase "), count("</testcase>") + count("/>"), "{stderr}");
        assert!(!stderr.contains("gone <&>"), "{stderr}");
        // A real parser, where there is one.
        let check = "import sys, xml.dom.minidom; xml.dom.minidom.parseString(sys.argv[1])";
        if let Ok(python) = Command::new("python3").args(["-c", check, &stderr]).output() {
            assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
        }
    }
}

#[test]
fn a_wrong_command_line_is_reported_in_the_format_it_asks_for() {
    let place = Place::new("usage", false);
    for format in ["sarif", "gitlab"] {
        let (code, stderr) = place.krm(&["no-such-command", "--error-format", format]);
        assert_eq!(code, Some(2));
        json(&stderr);
    }
    let (_, stderr) = place.krm(&["no-such-command", "--error-format=github"]);
    assert!(stderr.starts_with("::error title=usage::"), "{stderr}");
}

#[test]
fn nothing_else_is_written_beside_a_document() {
    let place = Place::new("alone", false);
    for args in [&["fn", "run", "."][..], &["merge", "a.yaml", "a.yaml", "--write"], &["cfg", "fmt", "."]] {
        let (code, stderr) = place.krm(&[args, &["--error-format", "sarif"]].concat());
        assert_eq!(code, Some(0), "{stderr}");
        json(&stderr);
    }
}

#[test]
fn colours_are_used_when_asked_for() {
    let place = Place::new("colour", true);
    let is_coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args).current_dir(&place.0).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        krm.envs(variables.iter().copied());
        krm.output().expect("krm starts").stderr.contains(&0x1b)
    };
    assert!(!is_coloured(&["build"], &[]));
    assert!(is_coloured(&["build", "--color", "always"], &[("NO_COLOR", "1"), ("TERM", "dumb")]));
    assert!(is_coloured(&["build", "--color=always"], &[]));
    assert!(is_coloured(&["build"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&["build", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&["no-such-command", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}
