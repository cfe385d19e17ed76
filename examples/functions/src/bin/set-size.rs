//! Gives containers the CPU and memory of a T-shirt size: an annotation says `small`, `medium` or `large`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use krm_function::{FunctionResult, Node, Outcome, ResourceList};
use serde::Deserialize;

const HELP: &str = "\
Gives the containers of a workload the CPU and memory of its T-shirt size.

The size is in an annotation of the workload: `example.com/size: small`.

Fields of the functionConfig, all of them optional:
  annotation   What the annotation is called: example.com/size
  default      The size of workloads without the annotation; without a default they are left alone
  sizes        What the sizes mean, each with cpu and memory: small, medium and large";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    annotation: String,
    default: Option<String>,
    sizes: BTreeMap<String, Size>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    cpu: String,
    memory: String,
}

impl Default for Config {
    fn default() -> Self {
        let size = |(name, cpu, memory): (&str, &str, &str)| {
            (name.into(), Size { cpu: cpu.into(), memory: memory.into() })
        };
        let sizes = [("small", "100m", "128Mi"), ("medium", "500m", "512Mi"), ("large", "2", "4Gi")];
        Self { annotation: "example.com/size".into(), default: None, sizes: sizes.map(size).into() }
    }
}

fn main() -> ExitCode {
    krm_function::run_with_help(HELP, set_size)
}

fn set_size(list: &mut ResourceList) -> Outcome {
    let Config { annotation, default, sizes } = list.config()?;
    for object in list.items.iter_mut().filter(|object| object.pod_spec().is_some()) {
        let Some(name) = object.annotation(&annotation).or(default.as_deref()).map(str::to_string) else {
            continue;
        };
        let Some(Size { cpu, memory }) = sizes.get(&name) else {
            let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
            let message = format!("there is no size `{name}`, only {}", known.join(", "));
            let result = FunctionResult::error(message).on(object);
            list.results.push(result.field("metadata.annotations").current_value(name));
            continue;
        };
        let amounts = || Node::from_iter([("cpu", cpu.as_str()), ("memory", memory)]);
        let resources = Node::from_iter([("limits", amounts()), ("requests", amounts())]);
        let patch = Node::from_iter([("resources", resources)]);
        object.edit_containers(|container| {
            krm_function::lay_over(container, &patch);
            Ok(())
        })?;
    }
    Ok(())
}
