//! What reaches the terminal: nothing that it would obey, and nothing secret. And what happens when there is none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};

#[path = "support/left_out.rs"]
mod left_out;
#[path = "support/scratch.rs"]
mod scratch;

use left_out::left_out;
use scratch::Scratch;

struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("terminal-{name}")))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("a new folder");
        fs::write(&path, text).expect("a new file");
        if text.starts_with("#!") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
    }

    /// Runs a line of shell; `$krm` is the program.
    fn sh(&self, line: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&self.0).env("krm", env!("CARGO_BIN_EXE_krm"));
        shell.output().expect("a shell is there")
    }
}

const ESCAPE: &str = "\u{1b}]0;owned\u{7}";

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

#[test]
fn no_name_reaches_the_terminal_as_an_order() {
    let place = Place::new("escape");
    place.write(&format!("pkg/{ESCAPE}/a.yaml"), &config_map("a"));
    place.write("pkg/b.yaml", "apiVersion: v1\nkind: \"Evil\\e[2J\"\nmetadata: {name: \"b\\e[2J\"}\n");
    let result = r#"{message: "m\e[2J", severity: info, file: {path: "x\e[2J.yaml"}}"#;
    place.write(&format!("fn{ESCAPE}"), &format!("#!/bin/sh\ncat\necho 'results: [{result}]'\n"));
    place.write(&format!("bad{ESCAPE}/kustomization.yaml"), "resources: [\"x\\e[2J\"]\n");
    place.write("escaped/kustomization.yaml", "resources: [\"a\\e[2J.yaml\"]\n");
    place.write("escaped/a\u{1b}[2J.yaml", &config_map("a"));
    for side in ["one", "two"] {
        let generator = "configMapGenerator: [{name: made, files: [text]}]\n";
        place.write(&format!("{side}/kustomization.yaml"), generator);
        place.write(&format!("{side}/text"), &format!("{side} {ESCAPE}\n"));
    }
    for line in [
        "$krm cfg tree pkg",
        "$krm pkg tree pkg",
        "$krm explain escaped; $krm explain escaped ConfigMap; $krm explain escaped --blame",
        "$krm cfg count pkg; $krm cfg count pkg/*/",
        "$krm fn run pkg --dry-run --enable-exec --exec-path ./fn* > /dev/null",
        "$krm build bad*",
        "$krm build bad* --error-format github",
        "$krm build nowhere*\u{1b}[2J",
        "$krm diff --overlays one two",
        "$krm diff --overlays one two --format unified",
        "$krm diff --overlays one two --format markdown",
        "$krm diff --overlays one two --format json",
    ] {
        let Output { stdout, stderr, .. } = place.sh(line);
        let all = [stdout, stderr].concat();
        assert!(!all.is_empty(), "`{line}` says nothing");
        assert!(!all.contains(&0x1b) && !all.contains(&7), "{line}: {}", String::from_utf8_lossy(&all));
    }
}

#[test]
fn a_long_answer_goes_through_the_pager_of_a_terminal() {
    let place = Place::new("pager");
    if !place.sh("command -v script && command -v stty").status.success() {
        assert!(std::env::var_os("CI").is_none(), "script or stty is missing, and CI must have both");
        left_out("script or stty is not there, so no terminal is made to page in");
        return;
    }
    place.write("app/kustomization.yaml", "namePrefix: p-\nresources: [a.yaml]\n");
    place.write("app/a.yaml", &config_map("a"));
    place.write("pager", "#!/bin/sh\ncat > paged\n");
    let paged = |rows: usize, command: &str| {
        let _ = fs::remove_file(place.0.join("paged"));
        let line = format!("stty rows {rows} cols 80; $krm {command}");
        let output = place.sh(&format!("KRM_PAGER=./pager TERM=xterm script -qec '{line}' /dev/null"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {said}");
        (fs::read_to_string(place.0.join("paged")).ok(), said)
    };
    let text = paged(4, "explain app --blame").0.expect("a pager is started");
    assert!(text.contains("name: p-a") && text.contains("\u{1b}[2m"), "{text}");
    let (nothing, _) = paged(4, "diff --overlays app app --format unified");
    assert!(nothing.is_none(), "nothing is not long");
    let at_once = [
        (40, "explain app --blame"),
        (4, "explain app --blame --no-pager"),
        (4, "explain app --blame | cat"),
    ];
    for (rows, command) in at_once {
        let (paged, said) = paged(rows, command);
        assert!(paged.is_none() && said.contains("p-a"), "{command}: {said}");
    }
}

#[test]
fn places_are_links_for_terminals_that_follow_them() {
    let place = Place::new("links");
    if !place.sh("command -v script && command -v stty").status.success() {
        assert!(std::env::var_os("CI").is_none(), "script or stty is missing, and CI must have both");
        left_out("script or stty is not there, so no terminal is made to show links in");
        return;
    }
    place.write("app/kustomization.yaml", "namePrefix: p-\nresources: [a.yaml]\n");
    place.write("app/a.yaml", &config_map("a"));
    place.write("pager", "#!/bin/sh\ncat > paged\n");
    let shown = |rows: usize, variables: &str, command: &str| {
        let line = format!("stty rows {rows} cols 80; $krm explain app {command}");
        let variables = format!("-u SSH_CONNECTION -u FORCE_HYPERLINK KRM_PAGER=./pager {variables}");
        let output = place.sh(&format!("env {variables} script -qec '{line}' /dev/null"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let name = "ConfigMap/a metadata.name";
    let link = format!(
        "\u{1b}]8;;file://{}/app/a.yaml#4\u{1b}\\app/a.yaml:4:9\u{1b}]8;;\u{1b}\\",
        place.0.display()
    );
    let text = shown(40, "TERM=xterm-kitty", name);
    assert!(text.contains(&link), "{text:?}");
    assert!(shown(40, "TERM=xterm FORCE_HYPERLINK=1", name).contains(&link));
    for (rows, variables, command) in [
        (40, "TERM=xterm", name),
        (40, "TERM=xterm-kitty FORCE_HYPERLINK=0", name),
        (40, "TERM=xterm-kitty", "ConfigMap/a metadata.name | cat"),
        (40, "TERM=xterm-kitty FORCE_HYPERLINK=1", "ConfigMap/a metadata.name | cat"),
        (40, "TERM=xterm-kitty", "ConfigMap/a metadata.name --format json"),
        (3, "TERM=xterm-kitty", name),
    ] {
        let text = shown(rows, variables, command);
        assert!(!text.contains("\u{1b}]8"), "{variables} {command}: {text:?}");
    }
    let paged = fs::read_to_string(place.0.join("paged")).expect("a long answer is paged");
    assert!(paged.contains("app/a.yaml:4:9") && !paged.contains("\u{1b}]8"), "{paged:?}");
}

#[test]
fn a_standard_error_that_is_closed_or_full_changes_nothing() {
    let place = Place::new("closed");
    place.write("pkg/a.yaml", &config_map("a"));
    place.write("fn", "#!/bin/sh\ncat\n");
    for (line, status) in [
        ("$krm build nowhere", 1),
        ("$krm no-such-command", 2),
        ("$krm fn run pkg --enable-exec --exec-path ./fn", 0),
        ("$krm fn run pkg --dry-run --output json --enable-exec --exec-path ./fn", 0),
        ("$krm fn run pkg", 0),
        ("$krm build nowhere --error-format sarif", 1),
    ] {
        for to in ["2>&-", "2>/dev/full"] {
            let output = place.sh(&format!("{line} {to}"));
            assert_eq!(output.status.code(), Some(status), "{line} {to}");
        }
    }
}

#[test]
fn tokens_in_addresses_are_not_shown() {
    let place = Place::new("token");
    place
        .write("kustomization.yaml", "resources: ['https://me:geheim@localhost:9/a?token=geheim2&ref=v1']\n");
    let stderr = String::from_utf8_lossy(&place.sh("$krm build .").stderr).into_owned();
    assert!(stderr.contains("localhost:9") && !stderr.contains("geheim"), "{stderr}");
}

#[test]
fn results_are_not_written_through_a_link() {
    let place = Place::new("results");
    place.write("pkg/a.yaml", &config_map("a"));
    place.write("mine", "mine\n");
    place.write("out/kept", "");
    symlink("../mine", place.0.join("out/results-0.yaml")).expect("a new link");
    place.write("fn", "#!/bin/sh\ncat\necho 'results: [{message: m, severity: info}]'\n");
    let output = place.sh("$krm fn run pkg --enable-exec --exec-path ./fn --results-dir out");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("error[link-leads-outside]"), "{stderr}");
    symlink("../mine", place.0.join("out/results.yaml")).expect("a new link");
    let output = place.sh("$krm fn eval pkg --exec ./fn --results-dir out");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("error[link-leads-outside]"), "{stderr}");
    assert_eq!(fs::read_to_string(place.0.join("mine")).expect("it is there"), "mine\n");
}

#[test]
fn a_manual_page_in_a_pipe_is_plain_text() {
    let place = Place::new("man");
    let page = |line: &str| String::from_utf8(place.sh(line).stdout).expect("it is text");
    let text = page("$krm man build");
    assert!(
        text.contains("--enable-helm") && text.contains("\nEXIT STATUS\n    0\n        done\n"),
        "{text}"
    );
    assert!(!text.contains("\n.SH") && !text.contains("\\-"), "{text}");
    let roff = page("$krm man build --roff");
    assert!(roff.contains(".SH \"EXIT STATUS\"\n.TP\n0\ndone\n"), "{roff}");
    assert!(roff.contains(".SH EXAMPLES\n  krm build "), "{roff}");
}

#[test]
fn a_manual_page_has_what_concerns_its_command() {
    let place = Place::new("man-sections");
    let page = |line: &str| String::from_utf8(place.sh(line).stdout).expect("it is text");
    let (build, diff, wrap) = (page("$krm man build"), page("$krm man diff"), page("$krm man fn wrap"));
    assert!(
        diff.contains("\n    3\n        there are differences") && !build.contains("\n    3\n"),
        "{diff}"
    );
    assert!(diff.contains("\n    KRM_PAGER, PAGER\n") && !build.contains("KRM_PAGER"), "{build}");
    assert!(build.contains("\n    KRM_REMOTE_CACHE, ") && !wrap.contains("KRM_REMOTE"), "{wrap}");
    assert!(wrap.contains("\n    KUST_MERGE\n") && !build.contains("KUST_MERGE"), "{wrap}");
    let see_also = build.rsplit("SEE ALSO\n    krm(1), ").next().unwrap_or_default();
    let mut others: Vec<&str> = see_also.trim_end().split(", ").collect();
    others.sort_unstable();
    let expected = "affected cache create diff edit explain graph lint localize lock plan serve vendor";
    let expected: Vec<String> = expected.split(' ').map(|name| format!("krm-{name}(1)")).collect();
    assert_eq!(others, expected);
    assert!(wrap.contains("\n    krm-fn(1), krm-fn-run(1), "), "{wrap}");
    // The page of krm itself has everything.
    let krm = page("$krm man");
    assert!(krm.contains("KRM_PAGER") && krm.contains("KUST_MERGE") && krm.contains("\n    3\n"), "{krm}");
}
