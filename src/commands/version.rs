//! `krm version`.

use krm_engine::{KUSTOMIZE_VERSION, Node, Result};

use crate::cli::{DataFormat, VersionArgs, as_kustomize};
use crate::os;

pub fn run(args: VersionArgs) -> Result<()> {
    if as_kustomize::is_called() {
        return of_kustomize(&args);
    }
    let version = env!("CARGO_PKG_VERSION");
    let text = match args.output {
        None if args.short => format!("{version}\n"),
        None => {
            let kustomize = KUSTOMIZE_VERSION.trim_start_matches('v');
            format!("krm {version}{}, kustomize {kustomize} compatible\n", commit(" (", ")"))
        }
        Some(format) => {
            let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
            let mut facts: Node = [("version", version), ("platform", &platform)].into_iter().collect();
            facts.set("kustomize", KUSTOMIZE_VERSION);
            if let Some(commit) = COMMIT {
                facts.set("commit", commit);
            }
            match format {
                DataFormat::Json => krm_yaml::json::pretty(&facts) + "\n",
                DataFormat::Yaml => krm_yaml::canonical(&facts),
            }
        }
    };
    os::print(text.as_bytes())
}

/// The commit that a release was built from.
const COMMIT: Option<&str> = option_env!("KRM_COMMIT");

fn commit(before: &str, after: &str) -> String {
    COMMIT.map(|commit| format!("{before}{commit}{after}")).unwrap_or_default()
}

/// What `kustomize version` prints, for the programs that read it.
fn of_kustomize(args: &VersionArgs) -> Result<()> {
    let version = KUSTOMIZE_VERSION;
    // In the words of Go.
    let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let build = format!("krm {}", env!("CARGO_PKG_VERSION"));
    let facts = [
        ("version", version),
        ("gitCommit", "unknown"),
        ("buildDate", "unknown"),
        ("goOs", os),
        ("goArch", arch),
        ("goVersion", &build),
    ];
    let facts: Node = facts.into_iter().collect();
    os::print(
        match args.output {
            None if args.short => format!("{{{version}  unknown   }}\n"),
            None => format!("{version}\n"),
            Some(DataFormat::Json) => krm_yaml::json::pretty(&facts) + "\n",
            Some(DataFormat::Yaml) => krm_yaml::emit::preserve::fresh(&facts) + "\n",
        }
        .as_bytes(),
    )
}
