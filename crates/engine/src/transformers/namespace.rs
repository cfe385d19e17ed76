//! `namespace:` moves everything into one namespace.

use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Text};
use serde::Deserialize;

use super::{Setup, read_config, refused, setter};
use crate::pipeline::{Context, Transformer};
use crate::resource::Resource;
use crate::resource::fields::{Create, FieldSpec, FieldSpecs};
use crate::resource::list::Resources;

/// Puts every resource into a namespace, and updates references to it.
///
/// ```yaml
/// namespace: staging
/// ```
///
/// Kinds that live outside namespaces stay there. A `v1` Namespace takes the name itself, and role bindings, API services and
/// conversion webhooks look for their subjects and services in it. What a helm chart made is left to helm.
///
/// As a step it has two more options. With `unsetOnly`, what has a namespace keeps it. `setRoleBindingSubjects`
/// says which subjects of role bindings move: `defaultOnly` those called `default`, `allServiceAccounts` all that are
/// service accounts, `none` none.
///
/// ```yaml
/// apiVersion: builtin
/// kind: NamespaceTransformer
/// metadata:
///   name: any
///   namespace: staging
/// setRoleBindingSubjects: allServiceAccounts
/// unsetOnly: true
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    namespace: Spanned<Text>,
    field_specs: FieldSpecs,
    unset_only: bool,
    subjects: Subjects,
}

/// Which subjects of role bindings are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subjects {
    NamedDefault,
    ServiceAccounts,
    None,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    metadata: Metadata,
    field_specs: Option<FieldSpecs>,
    #[serde(default)]
    unset_only: bool,
    #[serde(default)]
    set_role_binding_subjects: Spanned<Text>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    namespace: Spanned<Text>,
}

impl Namespace {
    pub(crate) fn new(namespace: Spanned<Text>, field_specs: FieldSpecs) -> Self {
        Self { namespace, field_specs, unset_only: false, subjects: Subjects::NamedDefault }
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { metadata, field_specs, unset_only, set_role_binding_subjects: which } =
            read_config(config)?;
        let subjects = match which.value.as_str() {
            "" | "defaultOnly" => Subjects::NamedDefault,
            "allServiceAccounts" => Subjects::ServiceAccounts,
            "none" => Subjects::None,
            other => {
                let message = format!("`setRoleBindingSubjects` cannot be `{other}`");
                return Err(Diagnostic::error("role-binding-subjects-unknown", message)
                    .at(which.span)
                    .help("write `defaultOnly`, `allServiceAccounts` or `none`"));
            }
        };
        setup.warn(refused::namespace(&metadata.namespace));
        let field_specs = setup.field_specs(field_specs, |defaults| &defaults.namespace);
        Ok(Box::new(Self { namespace: metadata.namespace, field_specs, unset_only, subjects }))
    }
}

impl Transformer for Namespace {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let own = FieldSpec::created("metadata/namespace");
        items.edit_apart(|r| {
            if r.node().is_empty() || r.from_helm {
                return Ok(());
            }
            r.remember_id();
            self.set(r, &own, cx)
        })?;
        refuse_equal_ids(items, &self.namespace)
    }
}

impl Namespace {
    /// Puts one resource into the namespace, whatever made it; its earlier id is forgotten.
    pub(super) fn put(&self, r: &mut Resource, cx: &Context) -> Result<()> {
        self.set(r, &FieldSpec::created("metadata/namespace"), cx)
    }

    fn set(&self, r: &mut Resource, own: &FieldSpec, cx: &Context) -> Result<()> {
        let gvk = r.gvk().clone();
        let cluster_scoped = r.id().cluster_scoped;
        let binding = matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
        let in_core = gvk.group.is_empty() && gvk.version == "v1";
        r.edit(cx.schema, |root| {
            let mut write = |field: &mut Node| self.write(field);
            if !cluster_scoped {
                own.edit(root, Some(Create::Scalar), &mut |field| match field.text() {
                    // A null that is spelt out counts as set here.
                    Some(text) if self.unset_only && !text.is_empty() => Ok(()),
                    _ => write(field),
                })?;
            }
            if binding {
                self.set_subjects(root)?;
            }
            for spec in self.field_specs.fitting(&gvk) {
                let skip = match spec.path.as_str() {
                    // Done above, and only for what has a namespace.
                    "metadata/namespace" => true,
                    // Other kinds called Namespace keep their names.
                    "metadata/name" => !in_core,
                    "subjects/namespace" => binding && spec.kind == gvk.kind,
                    _ => false,
                };
                if !skip {
                    spec.edit(root, Some(Create::Scalar), &mut write)?;
                }
            }
            Ok(())
        })
    }

    fn write(&self, field: &mut Node) -> Result<()> {
        let is_set = field.is_scalar() && !field.is_null() && field.text().is_some_and(|t| !t.is_empty());
        match self.unset_only && is_set {
            true => Ok(()),
            false => setter::string(field, &self.namespace.value, self.namespace.span),
        }
    }

    fn set_subjects(&self, root: &mut Node) -> Result<()> {
        let wanted = |subject: &Node| {
            let is = |key, text| subject.get(key).and_then(Node::text) == Some(text);
            match self.subjects {
                Subjects::NamedDefault => is("name", "default"),
                Subjects::ServiceAccounts => is("kind", "ServiceAccount"),
                Subjects::None => false,
            }
        };
        if self.subjects == Subjects::None || root.get("subjects").is_none_or(Node::is_null) {
            return Ok(());
        }
        if !root.get("subjects").is_some_and(|s| s.is_seq()) {
            let subjects = root.get("subjects").expect("just seen");
            let message = format!("expected a list of subjects, found {}", subjects.kind_name());
            return Err(Diagnostic::error("subjects-not-a-list", message)
                .at(subjects.span())
                .help("write the subjects of a role binding as a list"));
        }
        let items = root.get("subjects").map(Node::items).unwrap_or_default();
        if let Some(wrong) = items.iter().find(|item| !item.is_map() && !item.is_null()) {
            return Err(not_a_subject(wrong));
        }
        if !items.iter().any(wanted) {
            return Ok(());
        }
        let subjects = root.get_mut("subjects").and_then(Node::as_seq_mut).expect("just seen to be a list");
        for subject in subjects.iter_mut().filter(|s| wanted(s)) {
            match subject.get_mut("namespace") {
                Some(field) => self.write(field)?,
                None => {
                    subject.set("namespace", setter::fresh(&self.namespace).with_span(self.namespace.span))
                }
            }
        }
        Ok(())
    }
}

/// What is found in the list of subjects of a role binding and is none.
pub(super) fn not_a_subject(node: &Node) -> Diagnostic {
    let message = format!("expected a subject, found {}", node.kind_name());
    Diagnostic::error("subject-not-a-map", message)
        .at(node.span())
        .help("write the `kind` and `name` of the subject, or take the item out")
}

fn refuse_equal_ids(items: &Resources, namespace: &Spanned<Text>) -> Result<()> {
    let Some([first, r]) = items.duplicates() else { return Ok(()) };
    let id = r.id();
    let message = format!("{} `{}` would appear twice in namespace `{namespace}`", id.gvk.kind, id.name);
    let error = Diagnostic::error("namespace-conflict", message).at(r.span());
    if first.span() != r.span() {
        return Err(error
            .note("the other one is this", first.span())
            .note("the namespace is set here", namespace.span)
            .help("rename one of them, or leave it out of this kustomization"));
    }
    // One resource, included by two ways that set other namespaces or none.
    let [one, other] = [first, r].map(|r| match r.previous_ids().last().map(|id| id.namespace.as_str()) {
        None | Some("") => "in no namespace".to_owned(),
        Some(namespace) => format!("in namespace `{namespace}`"),
    });
    Err(error
        .note(format!("it is included twice: {one}, and {other}"), Span::NONE)
        .note("the namespace is set here", namespace.span)
        .help("let the bases that include it distinguish the copies with `namePrefix` or `nameSuffix`"))
}
