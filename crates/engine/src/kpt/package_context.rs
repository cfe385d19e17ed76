//! The function that is part of kpt: it states the package's name in a resource.

use std::sync::Arc;

use krm_yaml::{Node, Result, Spanned, Text};

use super::image::without_tag;
use super::kptfile::{Function, Kptfile};
use super::plan::Plan;
use super::progress::{call_of, say, say_holds};
use super::select::selects;
use super::tree::{in_folder, path};
use crate::functions;
use crate::pipeline::{Context, PackageEvent, Role, Step, StepName, Transformer, Work};
use crate::resource::list::Resources;
use crate::resource::{Home, Resource};

/// The image by which a Kptfile asks for it.
const IMAGE: &str = "builtins/gen-pkg-context";
/// The file that holds a package's name.
pub const CONTEXT_FILE: &str = "package-context.yaml";

/// The resource that holds a package's name, for functions that ask for it.
pub fn package_context(name: &str) -> Node {
    let mut object = krm_function::Object::new("v1", "ConfigMap", "kptfile.kpt.dev");
    object.set_annotation(krm_function::annotations::LOCAL_CONFIG, "true");
    object.set("data", Node::from_iter([("name", name)]));
    object.into_node()
}

/// Whether a Kptfile asks for this function.
pub(super) fn is_meant(function: &Function) -> bool {
    !function.is_exec() && without_tag(&function.image) == IMAGE
}

/// Makes or replaces the resource that holds the package's name.
pub(super) struct PackageContext {
    plan: Arc<Plan>,
    member: usize,
    package: Text,
    function: Spanned<Function>,
    role: Role,
}

impl PackageContext {
    pub(crate) fn step(
        plan: &Arc<Plan>,
        member: usize,
        kptfile: &Kptfile,
        function: &Spanned<Function>,
        name: StepName,
        role: Role,
    ) -> Step {
        let (plan, package) = (plan.clone(), kptfile.metadata.name.clone());
        let made = Self { plan, member, package, function: function.clone(), role };
        Step::new(name, function.span(), role, Work::new(made))
    }

    fn make(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let tree = &self.plan.tree;
        let file = in_folder(&tree.members[self.member].folder, CONTEXT_FILE);
        let made = package_context(&self.package);
        match items.iter().position(|r| path(r) == file) {
            Some(at) => items.edit_at(at, |r| {
                if r.node().at(["data", "name"]).and_then(Node::text) != Some(&self.package) {
                    r.edit(cx.schema, |node| *node = functions::updated(node, &made));
                }
            }),
            None => {
                tree.package().may_be_made(&file, cx.world)?;
                let mut made = Resource::new(made, cx.schema);
                let number = Some(tree.number_of_new(self.member, tree.next_new(self.member, items)));
                made.home = Some(Box::new(Home { number, ..Home::new(file, 0) }));
                items.as_vec_mut().push(made);
            }
        }
        say_holds(cx, self.member, items);
        Ok(())
    }
}

impl Transformer for PackageContext {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let Function { selectors, exclude, .. } = &*self.function;
        let count = (!selectors.is_empty() || !exclude.is_empty())
            .then(|| items.iter().filter(|r| selects(selectors, exclude, r.node())).count());
        let package = self.plan.tree.members[self.member].shown.clone();
        say(cx, self.member, PackageEvent::CallStarts { shown: IMAGE.to_owned(), package, count });
        let made = self.make(items, cx);
        let mut called = call_of(&self.function, IMAGE, self.role);
        if made.is_ok() {
            let mut result =
                Node::from_iter([("message", "generated package context"), ("severity", "info")]);
            result.set("file", Node::from_iter([("path", CONTEXT_FILE)]));
            called.results.push(result);
        } else {
            called = called.failed();
        }
        say(cx, self.member, PackageEvent::CallEnded(called));
        made
    }
}
