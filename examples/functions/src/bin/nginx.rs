//! An abstraction: `kind: Nginx` stands for a Deployment and a Service.

use std::process::ExitCode;

use krm_function::{Object, Outcome, ResourceList};
use serde::Deserialize;

const HELP: &str = "\
Generates a Deployment and a Service from a functionConfig of kind Nginx.

Changes to what was generated are kept where they do not contradict the functionConfig: limits set by hand stay.

The functionConfig's name is that of the Deployment and the Service. Its fields, all of them optional:
  replicas   How many pods: 1
  image      What they run: nginx:1.27";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nginx {
    #[serde(default = "one")]
    replicas: u32,
    #[serde(default = "image")]
    image: String,
}

fn one() -> u32 {
    1
}

fn image() -> String {
    "nginx:1.27".into()
}

fn main() -> ExitCode {
    krm_function::run_with_help(HELP, generate)
}

fn generate(list: &mut ResourceList) -> Outcome {
    let Nginx { replicas, image } = list.config()?;
    let name = match list.function_config.as_ref().map_or("", |config| config.name()) {
        "" => return Err("the functionConfig has no name, which would be that of the Deployment".into()),
        name => name,
    };
    let generated = Object::parse_all(&format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels:
    app: nginx
    instance: {name}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app: nginx
      instance: {name}
  template:
    metadata:
      labels:
        app: nginx
        instance: {name}
    spec:
      containers:
      - name: nginx
        image: {image}
        ports:
        - containerPort: 80
---
apiVersion: v1
kind: Service
metadata:
  name: {name}
  labels:
    app: nginx
    instance: {name}
spec:
  selector:
    app: nginx
    instance: {name}
  ports:
  - name: http
    port: 80
    targetPort: 80
"
    ))?;
    list.generate_all(generated);
    Ok(())
}
