//! Adds containers to the pods of workloads that ask for them by an annotation.

use std::process::ExitCode;

use krm_function::{Node, Outcome, ResourceList};
use serde::Deserialize;

const HELP: &str = "\
Adds containers, and what they need, to the pods of workloads that ask for them.

A workload asks by an annotation: `example.com/inject: log-shipper`, where `log-shipper` is the name of the functionConfig.
Running it again renews what was added and leaves the rest alone.

Fields of the functionConfig:
  pod   What to merge into the description of the pods: containers, initContainers, volumes ...";

const ANNOTATION: &str = "example.com/inject";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    pod: Node,
}

fn main() -> ExitCode {
    krm_function::run_with_help(HELP, inject)
}

fn inject(list: &mut ResourceList) -> Outcome {
    let config: Config = list.config()?;
    let name = list.function_config.as_ref().map_or("", |config| config.name());
    for object in list.items.iter_mut().filter(|object| asks_for(object.annotation(ANNOTATION), name)) {
        if let Some(pod) = object.pod_spec_mut() {
            krm_function::lay_over(pod, &config.pod);
        }
    }
    Ok(())
}

/// A workload may ask for several: `log-shipper, proxy`.
fn asks_for(annotation: Option<&str>, name: &str) -> bool {
    annotation.is_some_and(|names| names.split(',').any(|asked| asked.trim() == name))
}
