//! Refuses containers without limits on CPU and memory.

use std::process::ExitCode;

use krm_function::{FunctionResult, Node, Outcome, ResourceList};
use serde::Deserialize;

const HELP: &str = "\
Refuses containers without limits on CPU and memory.

Fields of the functionConfig, all of them optional:
  limits   Which limits a container must have: [cpu, memory]
  exempt   Names of containers that need none";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    limits: Vec<String>,
    exempt: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { limits: vec!["cpu".into(), "memory".into()], exempt: Vec::new() }
    }
}

fn main() -> ExitCode {
    krm_function::run_with_help(HELP, require_limits)
}

fn require_limits(list: &mut ResourceList) -> Outcome {
    let config: Config = list.config()?;
    for object in &list.items {
        for (path, container) in object.containers() {
            let name = container.get("name").and_then(Node::text).unwrap_or("without a name");
            if config.exempt.iter().any(|exempt| exempt == name) {
                continue;
            }
            for limit in &config.limits {
                if container.at(["resources", "limits", limit]).is_none_or(Node::is_null) {
                    let message = format!("container `{name}` has no limit on {limit}");
                    let field = format!("{path}.resources.limits.{limit}");
                    list.results.push(FunctionResult::error(message).on(object).field(field));
                }
            }
        }
    }
    Ok(())
}
