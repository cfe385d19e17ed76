//! `krm openapi`.

use std::process::{Command, Stdio};

use clap::{Args, Subcommand, ValueEnum};
use krm_engine::{Diagnostic, Node, Result};

use crate::os;

/// Show the types of Kubernetes that builds use, or fetch those of a cluster
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::OPENAPI)]
pub struct OpenapiArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the version of Kubernetes whose types builds use
    #[command(after_help = crate::cli::examples::OPENAPI_INFO)]
    Info,
    /// Print the types of the cluster that `kubectl` talks to
    #[command(after_help = crate::cli::examples::OPENAPI_FETCH)]
    Fetch {
        /// How to print them
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Json,
    Yaml,
}

pub fn run(args: &OpenapiArgs) -> Result<()> {
    match args.verb {
        Verb::Info => os::print(b"{title:Kubernetes,version:v1.21.2}\n"),
        Verb::Fetch { format } => fetch(format),
    }
}

fn fetch(format: Format) -> Result<()> {
    let failed = |why: String| {
        Diagnostic::error("openapi-fetch", format!("cannot fetch the types of the cluster: {why}"))
            .help("make sure that kubectl is installed, and that `kubectl get --raw /openapi/v2` works")
    };
    let output = Command::new("kubectl")
        // Gives up on a cluster that does not answer, or only one byte at a time.
        .args(["get", "--raw", "/openapi/v2", "--request-timeout=60s"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("kubectl: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() || output.stdout.is_empty() {
        return Err(failed(if said.is_empty() { "kubectl printed nothing".into() } else { said }));
    }
    let text =
        String::from_utf8(output.stdout).map_err(|_| failed("the output of kubectl is not UTF-8".into()))?;
    let documents = krm_yaml::parse_str(&text).map_err(|error| failed(error.message().to_owned()))?;
    let Some(mut root) = documents.into_iter().next().map(|document| document.root).filter(Node::is_map)
    else {
        return Err(failed("kubectl printed no JSON".into()));
    };
    sort(&mut root);
    let text = match format {
        // Go escapes these in JSON.
        Format::Json => {
            krm_yaml::json::pretty(&root)
                .replace('&', "\\u0026")
                .replace('<', "\\u003c")
                .replace('>', "\\u003e")
                + "\n"
        }
        Format::Yaml => krm_yaml::canonical(&root) + "\n",
    };
    os::print(text.as_bytes())
}

/// Keys in alphabetical order.
fn sort(node: &mut Node) {
    if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(sort);
    } else if let Some(map) = node.as_map_mut() {
        map.entries_mut().sort_by(|a, b| a.key.text().cmp(&b.key.text()));
        map.values_mut().for_each(|(_, value)| sort(value));
    }
}
