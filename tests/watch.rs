//! `krm build --watch`: builds again what changes reach, whatever happens to the files.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
#[path = "support/left_out.rs"]
mod left_out;

#[cfg(target_os = "linux")]
use left_out::left_out;

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("watch").join(name);
    drop(std::fs::remove_dir_all(&dir));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A krm that watches, ended when the test is.
struct Watching {
    child: Child,
    stderr: Receiver<String>,
    said: Vec<String>,
}

impl Watching {
    fn start(dir: &Path, command: &mut Command) -> Self {
        // Files as young as the process are built twice, to be sure.
        std::thread::sleep(Duration::from_millis(50));
        let mut child = command
            .current_dir(dir)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("krm starts");
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (send, stderr) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).take_while(|line| send.send(line.clone()).is_ok()).count()
        });
        let mut watching = Self { child, stderr, said: Vec::new() };
        watching.wait_for("watching; end with Ctrl-C");
        watching
    }

    fn krm(dir: &Path, args: &[&str]) -> Self {
        Self::start(dir, Command::new(env!("CARGO_BIN_EXE_krm")).arg("build").arg("--watch").args(args))
    }

    /// The next line that holds a text.
    fn wait_for(&mut self, text: &str) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match self.stderr.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => self.said.push(line),
                Err(error) => panic!("{error}: no line with `{text}` in {:#?}", self.said),
            }
        }
    }

    /// How many rounds were reported within a time.
    fn rounds(&mut self, time: Duration) -> usize {
        let end = Instant::now() + time;
        let mut rounds = 0;
        while let Ok(line) = self.stderr.recv_timeout(end.saturating_duration_since(Instant::now())) {
            rounds += usize::from(line.contains(" → "));
        }
        rounds
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn service(name: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n")
}

fn tree(name: &str) -> PathBuf {
    let dir = folder(name);
    write(
        &dir,
        &[
            ("base/kustomization.yaml", "resources: [web.yaml]\n"),
            ("base/web.yaml", &service("web")),
            ("a/kustomization.yaml", "resources: [../base]\nnamePrefix: a-\n"),
            ("b/kustomization.yaml", "resources: [../base]\nnamePrefix: b-\n"),
        ],
    );
    dir
}

fn output(dir: &Path, file: &str) -> String {
    std::fs::read_to_string(dir.join("out").join(file)).unwrap_or_default()
}

#[test]
fn a_change_reaches_what_it_reaches() {
    let dir = tree("reaches");
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out/"]);
    assert!(output(&dir, "a.yaml").contains("name: a-web"));
    let untouched = std::fs::metadata(dir.join("out/b.yaml")).unwrap().modified().unwrap();
    write(&dir, &[("a/kustomization.yaml", "resources: [../base]\nnamePrefix: x-\n")]);
    let line = krm.wait_for(" → ");
    assert!(line.contains("a/kustomization.yaml → 1 of 2 targets, 1 field, "), "{line}");
    assert!(output(&dir, "a.yaml").contains("name: x-web"));
    assert_eq!(std::fs::metadata(dir.join("out/b.yaml")).unwrap().modified().unwrap(), untouched);
    write(&dir, &[("base/web.yaml", &service("shop"))]);
    let line = krm.wait_for(" → ");
    assert!(line.contains("base/web.yaml → 2 of 2 targets, 2 fields, "), "{line}");
    assert!(output(&dir, "b.yaml").contains("name: b-shop"));
    // A file that was looked for and not found counts; one that nobody looks for does not.
    write(&dir, &[("base/notes.txt", "nothing")]);
    write(&dir, &[("b/kustomization.yml", "resources: []\n")]);
    krm.wait_for("does not build; the last result stays");
    assert!(output(&dir, "b.yaml").contains("name: b-shop"));
    std::fs::remove_file(dir.join("b/kustomization.yml")).unwrap();
    krm.wait_for("builds again");
}

#[cfg(unix)]
#[test]
fn programs_and_charts_are_watched() {
    let dir = folder("programs");
    let function = "apiVersion: example.com/v1\nkind: Rename\nmetadata:\n  name: rename\n  annotations:\n    \
                    config.kubernetes.io/function: |\n      exec: {path: ../bin/rename}\n";
    write(
        &dir,
        &[
            ("app/kustomization.yaml", "resources: [web.yaml]\ntransformers: [rename.yaml]\n"),
            ("app/web.yaml", &service("web")),
            ("app/rename.yaml", function),
            ("bin/rename", "#!/bin/sh\nsed s/web/first/\n"),
            ("chart/kustomization.yaml", "helmCharts: [{name: shop, releaseName: shop}]\n"),
            ("chart/charts/shop/values.yaml", "{}\n"),
            ("chart/charts/shop/templates/deep/web.yaml", &service("one")),
            // What helm prints for a chart without any template syntax.
            ("bin/helm", "#!/bin/sh\ncat \"$3\"/templates/deep/*\n"),
        ],
    );
    for program in ["rename", "helm"] {
        let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.join("bin").join(program), may_run).unwrap();
    }
    let helm = dir.join("bin/helm").display().to_string();
    let flags = ["app", "chart", "-o", "out", "--enable-alpha-plugins", "--enable-exec", "--enable-helm"];
    let mut watching = Watching::krm(&dir, &[&flags[..], &["--helm-command", &helm]].concat());
    write(&dir, &[("bin/rename", "#!/bin/sh\nsed s/web/second/\n")]);
    let line = watching.wait_for(" → ");
    assert!(line.contains("bin/rename → 1 of 2 targets, 1 field"), "{line}");
    write(&dir, &[("chart/charts/shop/templates/deep/web.yaml", &service("two"))]);
    let line = watching.wait_for(" → ");
    assert!(line.contains("deep/web.yaml → 1 of 2 targets"), "{line}");
    write(&dir, &[("chart/charts/shop/templates/deep/z.yaml", &format!("---\n{}", service("more")))]);
    let line = watching.wait_for(" → ");
    assert!(line.contains("→ 1 of 2 targets"), "{line}");
}

/// What `--diff` shows of a change to a base of two overlays.
fn shown_of_a_change(name: &str) -> String {
    let dir = tree(name);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec $krm build --watch --diff --once a b > shown"]);
    let mut krm = Watching::start(&dir, shell.env("krm", env!("CARGO_BIN_EXE_krm")));
    write(&dir, &[("base/web.yaml", &(service("web") + "spec:\n  type: NodePort\n"))]);
    krm.wait_for("base/web.yaml → 2 of 2 targets, 2 fields, ");
    assert!(krm.child.wait().unwrap().success());
    std::fs::read_to_string(dir.join("shown")).unwrap()
}

#[test]
fn with_diff_it_shows_what_a_change_does() {
    let shown = shown_of_a_change("diff");
    assert!(shown.starts_with("2 overlays change (of 2): 2 resources, 1 cause."), "{shown}");
    assert!(shown.contains("\nbase/web.yaml\n"), "{shown}");
    assert!(shown.contains("NodePort") && !shown.contains("apiVersion"), "{shown}");
}

#[test]
fn a_file_that_vanishes_and_comes_back_ends_nothing() {
    let dir = tree("vanishes");
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out/"]);
    std::fs::remove_file(dir.join("base/web.yaml")).unwrap();
    krm.wait_for("does not build; the last result stays");
    assert!(output(&dir, "a.yaml").contains("name: a-web"), "the last result stays");
    write(&dir, &[("base/web.yaml", &service("new"))]);
    let line = krm.wait_for("builds again");
    assert!(line.contains("2 of 2 targets"), "{line}");
    assert!(output(&dir, "a.yaml").contains("name: a-new"));
    // A whole folder goes, and comes back as another one.
    std::fs::rename(dir.join("base"), dir.join("elsewhere")).unwrap();
    krm.wait_for("does not build");
    write(&dir, &[("elsewhere/web.yaml", &service("moved"))]);
    std::fs::rename(dir.join("elsewhere"), dir.join("base")).unwrap();
    krm.wait_for("builds again");
    assert!(output(&dir, "a.yaml").contains("name: a-moved"));
    write(&dir, &[("base/web.yaml", &service("last"))]);
    krm.wait_for(" → 2 of 2 targets, 2 fields");
    // Editors write another file and rename it.
    write(&dir, &[("base/.web.yaml.swp", &service("swapped"))]);
    std::fs::rename(dir.join("base/.web.yaml.swp"), dir.join("base/web.yaml")).unwrap();
    krm.wait_for(" → 2 of 2 targets, 2 fields");
    assert!(output(&dir, "a.yaml").contains("name: a-swapped"));
}

#[test]
fn a_thousand_files_at_once_are_few_rounds() {
    let dir = folder("thousand");
    let names: Vec<String> = (0..1000).map(|at| format!("r{at}.yaml")).collect();
    write(&dir, &[("app/kustomization.yaml", &format!("resources: [{}]\n", names.join(", ")))]);
    let all = |word: &str| {
        for (at, name) in names.iter().enumerate() {
            write(&dir, &[(&format!("app/{name}"), &service(&format!("{word}{at}")))]);
        }
    };
    all("before");
    let mut krm = Watching::krm(&dir, &["app", "-o", "all.yaml"]);
    all("after");
    krm.wait_for(" → ");
    let more = krm.rounds(Duration::from_secs(3));
    assert!(more < 10, "{more} rounds more");
    let text = std::fs::read_to_string(dir.join("all.yaml")).unwrap();
    assert_eq!(text.matches("name: after").count(), 1000);
}

#[test]
fn a_command_hears_what_changed() {
    let dir = tree("exec");
    // Each run takes a while, so that the next changes come during it.
    let command =
        r"sh -c 'cat > heard.$$; sleep 0.5; echo ran >&2; mv heard.$$ run-$(ls run-* 2>/dev/null | wc -l)'";
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out/", "--exec", command]);
    write(&dir, &[("a/kustomization.yaml", "resources: [../base]\nnamePrefix: x-\n")]);
    krm.wait_for(" → 1 of 2 targets");
    let runs = || {
        let names = std::fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("heard.")).count()
    };
    let end = Instant::now() + Duration::from_secs(30);
    while runs() == 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    write(&dir, &[("b/kustomization.yaml", "resources: [../base]\nnamePrefix: y-\n")]);
    krm.wait_for(" → 1 of 2 targets");
    // Nothing is said while a target fails; what changed meanwhile is part of the next news.
    write(&dir, &[("a/kustomization.yaml", "resources: [../gone]\n")]);
    krm.wait_for("does not build");
    write(&dir, &[("a/kustomization.yaml", "resources: [../base]\nnamePrefix: z-\n")]);
    krm.wait_for("builds again");
    let end = Instant::now() + Duration::from_secs(30);
    let heard = loop {
        let runs = (0..).map_while(|at| std::fs::read_to_string(dir.join(format!("run-{at}"))).ok());
        let runs: Vec<String> = runs.collect();
        if runs.len() > 1 || Instant::now() > end {
            break runs;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let first = "{\n  \"format\": \"krm.watch/1\",\n  \"files\": [\n    \"a/kustomization.yaml\"\n  ],\n  \"targets\": [\n    \"a\"\n  ]\n}\n";
    assert_eq!(heard[0], first);
    let both = "\"targets\": [\n    \"a\",\n    \"b\"\n  ]";
    assert!(
        heard.len() == 2 && heard[1].contains(both),
        "what changed during a run is one run more: {heard:?}"
    );
}

#[test]
fn a_command_that_fails_ends_nothing() {
    let dir = tree("exec-fails");
    let mut krm = Watching::krm(&dir, &["a", "-o", "out/", "--exec", "false"]);
    write(&dir, &[("base/web.yaml", &service("one"))]);
    krm.wait_for("error[watch-exec]: `false` failed: exit status: 1");
    write(&dir, &[("base/web.yaml", &service("two"))]);
    krm.wait_for("error[watch-exec]: `false` failed: exit status: 1");
}

#[test]
fn polling_sees_the_same() {
    let dir = tree("polling");
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out/", "--poll", "30"]);
    write(&dir, &[("base/web.yaml", &service("polled"))]);
    krm.wait_for(" → 2 of 2 targets, 2 fields");
    std::fs::remove_file(dir.join("base/web.yaml")).unwrap();
    krm.wait_for("does not build");
    write(&dir, &[("base/web.yaml", &service("back"))]);
    krm.wait_for("builds again");
    assert!(output(&dir, "b.yaml").contains("name: b-back"));
}

/// The limit is set in a user namespace, where it harms nobody else.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_the_system_means_polling() {
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let dir = tree(limit);
        let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$0\" build --watch a -o out/");
        let can = Command::new("unshare")
            .args(["-Ur", "sh", "-c", &format!("echo 0 > /proc/sys/user/{limit}")])
            .output()
            .is_ok_and(|output| output.status.success());
        if !can {
            left_out("this system makes no user namespace, so the limit cannot be set");
            return;
        }
        let mut command = Command::new("unshare");
        command.args(["-Ur", "sh", "-c", &script, env!("CARGO_BIN_EXE_krm")]);
        let mut krm = Watching::start(&dir, &mut command);
        if !krm.said.iter().any(|line| line.contains("warning[watch-polls]")) {
            krm.wait_for("warning[watch-polls]");
        }
        write(&dir, &[("base/web.yaml", &service("polled"))]);
        krm.wait_for("base/web.yaml → 1 of 1 target, 1 field");
    }
}

#[test]
fn it_ends_at_once_and_leaves_nothing_half_written() {
    let dir = tree("ends");
    let mut krm = Watching::krm(&dir, &["a", "-o", "out/"]);
    let start = Instant::now();
    // Not SIGINT: who started the tests in the background may have them ignore it, and krm with them.
    let status = Command::new("kill").args(["-TERM", &krm.child.id().to_string()]).status().unwrap();
    assert!(status.success());
    krm.child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let left: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn one_resource_of_several_overlays_is_one_row() {
    let shown = shown_of_a_change("rows");
    assert_eq!(shown.matches("NodePort").count(), 1, "{shown}");
    assert!(shown.contains("Service web ") && shown.contains(" a, b\n"), "{shown}");
}

#[test]
fn only_what_is_read_is_named_and_an_error_is_shown_once() {
    let dir = tree("named");
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out"]);
    // An editor that writes another file first.
    write(&dir, &[("base/.web.yaml.swp", "x"), ("base/4913", "")]);
    write(&dir, &[("base/web.yaml", &(service("web") + "spec:\n  type: NodePort\n"))]);
    let line = krm.wait_for(" → 2 of 2 targets");
    assert!(line.contains(" base/web.yaml → "), "{line}");
    write(&dir, &[("base/web.yaml", "a: [\n")]);
    krm.wait_for("does not build");
    let errors = krm.said.iter().filter(|line| line.starts_with("error[")).count();
    assert_eq!(errors, 1, "{:#?}", krm.said);
}

#[test]
fn a_page_is_kept_up_to_date() {
    let dir = tree("page");
    let mut krm = Watching::krm(&dir, &["a", "--html", "page.html"]);
    assert!(std::fs::read_to_string(dir.join("page.html")).unwrap().contains("a-web"));
    write(&dir, &[("base/web.yaml", &(service("web") + "spec:\n  type: NodePort\n"))]);
    krm.wait_for(" → 1 of 1 target");
    assert!(std::fs::read_to_string(dir.join("page.html")).unwrap().contains("NodePort"));
}

#[test]
fn a_target_that_fails_does_not_keep_others_back() {
    let dir = tree("others");
    write(&dir, &[("b/kustomization.yaml", "resources: [no.yaml]\n")]);
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out/"]);
    assert!(output(&dir, "a.yaml").contains("name: a-web"), "it is written though the other fails");
    assert!(!dir.join("out/b.yaml").exists());
    write(&dir, &[("a/kustomization.yaml", "resources: [../base]\nnamePrefix: x-\n")]);
    let line = krm.wait_for(" → ");
    assert!(line.contains("1 of 2 targets, 1 field; b does not build, "), "{line}");
    assert!(output(&dir, "a.yaml").contains("name: x-web"));
    write(&dir, &[("b/kustomization.yaml", "resources: [../base]\nnamePrefix: b-\n")]);
    krm.wait_for("builds again");
    assert!(output(&dir, "b.yaml").contains("name: b-web"));
}

#[test]
fn a_target_that_is_gone_is_waited_for() {
    let dir = tree("target");
    let mut krm = Watching::krm(&dir, &["a", "b", "-o", "out/"]);
    std::fs::remove_dir_all(dir.join("b")).unwrap();
    krm.wait_for("does not build");
    assert!(output(&dir, "b.yaml").contains("name: b-web"), "the last result stays");
    write(&dir, &[("b/kustomization.yaml", "resources: [../base]\nnamePrefix: c-\n")]);
    krm.wait_for("builds again");
    assert!(output(&dir, "b.yaml").contains("name: c-web"));
}
