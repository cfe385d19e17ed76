//! `IAMPolicyGenerator` makes a service account that stands for one of a cloud provider.

use krm_yaml::{Diagnostic, Node, Result, Spanned, Style, Text, resolve};
use serde::Deserialize;

use super::Setup;
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;
use crate::resource::{Resource, lenient};

/// Makes a ServiceAccount that acts as a Google service account.
///
/// ```yaml
/// apiVersion: builtin
/// kind: IAMPolicyGenerator
/// metadata:
///   name: any
/// cloud: gke
/// kubernetesService: {name: web, namespace: shop}
/// serviceAccount: {name: web-robot, projectId: my-project}
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct IamPolicy {
    cloud: Spanned<Text>,
    kubernetes_service: KubernetesService,
    service_account: ServiceAccount,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct KubernetesService {
    name: Spanned<Text>,
    namespace: Spanned<Text>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServiceAccount {
    name: Spanned<Text>,
    project_id: Spanned<Text>,
}

impl IamPolicy {
    pub(super) fn make(config: &Node, _setup: &Setup) -> Result<Box<dyn Transformer>> {
        let policy: Self = krm_yaml::from_node_with(config, lenient::INLINED_CONFIGURATION)?;
        if *policy.cloud != "gke" {
            let message = format!("the cloud `{}` is not known", policy.cloud);
            let place = if policy.cloud.span.is_none() { config.span() } else { policy.cloud.span };
            return Err(Diagnostic::error("iam-policy-cloud", message).at(place).help("write `cloud: gke`"));
        }
        // An address that begins with `@` cannot be read. See quirk(iam-policy-names-are-read-again).
        if policy.service_account.name.is_empty() {
            let place = config.get("serviceAccount").unwrap_or(config).span();
            return Err(Diagnostic::error(
                "iam-policy-account",
                "the service account of the cloud has no name",
            )
            .at(place)
            .help("write `serviceAccount: {name: ..., projectId: ...}`"));
        }
        Ok(Box::new(policy))
    }
}

impl Transformer for IamPolicy {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        // quirk(iam-policy-names-are-read-again): An IAMPolicyGenerator writes its names into a text, without quotes,
        // and reads that as YAML: a name of digits alone is a number. (`iampolicygenerator.Filter`)
        let written = |text: &Spanned<Text>| {
            Node::scalar(text.value.clone(), resolve::plain(text), Style::Any, text.span)
        };
        let KubernetesService { name, namespace } = &self.kubernetes_service;
        let ServiceAccount { name: account, project_id } = &self.service_account;
        let robot = format!("{account}@{project_id}.iam.gserviceaccount.com");
        let robot = Node::from(robot).with_span(account.span);
        // What is always the same is there because of the cloud.
        let always = |text: &str| Node::from(text).with_span(self.cloud.span);
        let mut node: Node =
            [("apiVersion", always("v1")), ("kind", always("ServiceAccount"))].into_iter().collect();
        node.set_span(self.cloud.span);
        let mut meta: Node =
            [("annotations", [("iam.gke.io/gcp-service-account", robot)].into_iter().collect::<Node>())]
                .into_iter()
                .collect();
        meta.set("name", written(name));
        if !namespace.is_empty() {
            meta.set("namespace", written(namespace));
        }
        node.set("metadata", meta);
        items.push(Resource::new(node, cx.schema))
    }
}
