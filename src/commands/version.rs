//! `krm version`.

use krm_engine::{Node, Result};

use crate::cli::{DataFormat, VersionArgs};
use crate::os;

pub fn run(args: VersionArgs) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let text = match args.output {
        None if args.short => format!("{version}\n"),
        None => format!("krm {version}\n"),
        Some(format) => {
            let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
            let facts: Node = [("version", version), ("platform", &platform)].into_iter().collect();
            match format {
                DataFormat::Json => krm_yaml::json::pretty(&facts) + "\n",
                DataFormat::Yaml => krm_yaml::canonical(&facts),
            }
        }
    };
    os::print(text.as_bytes())
}
