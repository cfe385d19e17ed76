//! Nothing a function starts outlives it, nor krm: not what leaves its process group, and whatever ends krm.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A package with one resource, and a function: a shell script.
struct Place(Scratch);

impl Place {
    fn new(name: &str, script: &str) -> Self {
        let path = Scratch::new(&format!("outlive-{name}"));
        fs::create_dir_all(path.join("pkg")).unwrap();
        fs::write(path.join("pkg/a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
            .unwrap();
        let place = Self(path);
        let function = place.0.join("function");
        fs::write(&function, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&function, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(&self.0).args(["fn", "run", "pkg", "--enable-exec", "--exec-path", "./function"]);
        krm.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        krm
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts krm, and waits until the function has started everything.
    fn start(&self) -> Child {
        let krm = self.command(&[]).spawn().unwrap();
        await_file(&self.0.join("pid"));
        krm
    }

    /// The process that tries to outlive all others.
    fn survivor(&self) -> PathBuf {
        await_file(&self.0.join("pid"));
        Path::new("/proc").join(fs::read_to_string(self.0.join("pid")).unwrap().trim())
    }
}

fn await_file(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while fs::read(path).map_or(true, |text| text.is_empty()) {
        assert!(Instant::now() < deadline, "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_soon_gone(process: &Path) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    // One that is dead but not yet collected by its new parent is gone.
    let alive = || fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while alive() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    !alive()
}

/// Starts a process in a session of its own, whose parent is gone at once, and which holds none of our streams.
const LEAVE: &str =
    "(setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 600' </dev/null >/dev/null 2>&1 &)\n";

#[test]
fn a_process_that_left_the_group_ends_with_the_time_limit() {
    let place = Place::new("timeout", &format!("{LEAVE}sleep 600\n"));
    let output = place.run(&["--timeout", "1500ms"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("stopped after 1.5 s"), "{stderr}");
    assert!(is_soon_gone(&place.survivor()));
}

#[test]
fn a_process_that_left_the_group_ends_with_the_function() {
    let place = Place::new("end", &format!("{LEAVE}while ! [ -e pid ]; do sleep 0.01; done; exec cat\n"));
    let start = Instant::now();
    let output = place.run(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(is_soon_gone(&place.survivor()));
}

#[test]
fn an_interrupted_render_changes_nothing_and_says_so() {
    use std::os::unix::process::ExitStatusExt;
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let place = Place::new(&format!("render-{signal}"), &format!("{LEAVE}sleep 600\n"));
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./function\n";
        fs::write(place.0.join("pkg/Kptfile"), kptfile).unwrap();
        // Several times: what comes first, the end of the function or that of krm, is a matter of luck.
        for _ in 0..5 {
            let _ = fs::remove_file(place.0.join("pid"));
            let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
            krm.current_dir(&place.0).args(["fn", "render", "pkg", "--allow-exec"]);
            let krm = krm.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            await_file(&place.0.join("pid"));
            let kill = Command::new("kill").args([&format!("-{signal}"), &krm.id().to_string()]).status();
            assert!(kill.unwrap().success());
            let output = krm.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(number), "{stderr}");
            assert!(stderr.ends_with("\ninterrupted; nothing was written\n"), "{stderr}");
            assert!(!stderr.contains("FAIL"), "{stderr}");
            assert_eq!(fs::read_to_string(place.0.join("pkg/Kptfile")).unwrap(), kptfile);
            assert_eq!(fs::read_dir(place.0.join("pkg")).unwrap().count(), 2);
        }
    }
}

#[test]
fn nothing_outlives_krm_whatever_ends_it() {
    for signal in ["TERM", "INT", "HUP", "QUIT", "KILL", "ABRT"] {
        let place = Place::new(signal, &format!("{LEAVE}sleep 600\n"));
        let mut krm = place.start();
        let kill = Command::new("kill").args([&format!("-{signal}"), &krm.id().to_string()]).status();
        assert!(kill.unwrap().success());
        assert!(!krm.wait().unwrap().success());
        assert!(is_soon_gone(&place.survivor()), "after SIG{signal}");
    }
}

#[test]
fn the_exit_of_a_function_is_reported_as_it_was() {
    let message = |name: &str, script: &str| {
        let output = Place::new(name, script).run(&[]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(message("exit", "exit 7\n").contains("exit status 7"));
    assert!(message("signal", "kill -SEGV $$\n").contains("killed by signal 11 (SIGSEGV)"));
    assert!(message("killed", "kill -KILL $$\n").contains("killed by signal 9 (SIGKILL)"));
    let open = message("open", "sleep 600 &\nexec cat\n");
    assert!(open.contains("kept its output open"), "{open}");
    let missing = Place::new("interpreter", "");
    fs::write(missing.0.join("function"), "#!/no/such/interpreter\n").unwrap();
    let stderr = String::from_utf8_lossy(&missing.run(&[]).stderr).into_owned();
    assert!(stderr.contains("there is no `/no/such/interpreter`"), "{stderr}");
}

#[test]
fn a_function_that_signals_its_process_group_is_reported_as_killed() {
    for signal in ["TERM", "KILL"] {
        let place =
            Place::new(&format!("group-{signal}"), &format!("trap '' TERM\nkill -{signal} 0\nexec cat\n"));
        let output = place.run(&[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("killed by signal 9 (SIGKILL)"), "{stderr}");
    }
}

/// Renders a package with five functions, all of them the script.
fn render(place: &Place) {
    let functions = "  - exec: ./function\n".repeat(5);
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n{functions}"
    );
    fs::write(place.0.join("pkg/Kptfile"), kptfile).unwrap();
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    let output = krm.current_dir(&place.0).args(["fn", "render", "pkg", "--allow-exec"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn one_supervisor_runs_the_functions_of_a_pipeline_and_ends_what_each_leaves() {
    let script = format!(
        "echo $PPID >> supervisors\n\
         [ -e pid ] && [ -e /proc/$(cat pid)/exe ] && exit 5\n\
         rm -f pid\n\
         {LEAVE}while ! [ -e pid ]; do sleep 0.01; done; exec cat\n"
    );
    let place = Place::new("pipeline", &script);
    render(&place);
    assert!(is_soon_gone(&place.survivor()));
    let supervisors = fs::read_to_string(place.0.join("supervisors")).unwrap();
    let first = supervisors.lines().next().unwrap();
    assert_eq!(supervisors.lines().collect::<Vec<_>>(), vec![first; 5]);
    assert!(is_soon_gone(&Path::new("/proc").join(first)));
}

#[test]
fn functions_that_share_a_supervisor_share_no_open_files() {
    let place = Place::new("files", "ls /proc/self/fd >> files\nexec cat\n");
    render(&place);
    let without_krm = Command::new("ls").arg("/proc/self/fd").output().unwrap().stdout;
    let without_krm = String::from_utf8(without_krm).unwrap();
    assert_eq!(fs::read_to_string(place.0.join("files")).unwrap(), without_krm.repeat(5));
}
