//! A function in a build.

use krm_function::annotations::{PLUGIN_BEHAVIOR as BEHAVIOR, PLUGIN_NEEDS_HASH as NEEDS_HASH};
use krm_function::{FunctionResult, Severity};
use krm_yaml::{Diagnostic, Node, Result, Span, Style, Text};

use super::{Answer, Form, Function, Locator, Sent, each_node};
use crate::files::world::provide;
use crate::pipeline::trace::Cause;
use crate::pipeline::{Call, Context, Ran, Transformer};
use crate::resource::history;
use crate::resource::list::Resources;
use crate::resource::{Behavior, Resource, Track};
use crate::runtime::reapi::Digest;

impl Transformer for Function {
    fn is_program(&self) -> bool {
        true
    }

    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        cx.note(Track::NONE, Span::NONE, || Cause::Called {
            program: self.name().into(),
            digest: self.digest(cx),
            config: self.config().cloned(),
            place: self.config().map_or(self.place, Node::span),
        });
        match self.form {
            Form::Plain => self.transform_plain(items, cx),
            Form::AsWritten => self.edit_files(items, cx),
        }
    }
}

impl Function {
    /// The digest of an executable or a module. An image says its own, if it has one.
    fn digest(&self, cx: &Context) -> Option<Text> {
        let content = cx.world.read(&self.program().file()?).ok()?;
        Some(format!("sha256:{}", Digest::of(&content).hash).into())
    }

    /// Runs on what is there; on nothing, the program is given its own configuration as the only resource, since some
    /// expect one.
    fn transform_plain(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let generating = items.is_empty();
        let sent: Vec<Sent> = match generating {
            true => self.config_as_sent().into_iter().collect(),
            false => items.iter().map(|r| Sent { node: plain(r.node().clone()), home: None }).collect(),
        };
        let answer = self.observed(&sent, items.as_slice(), cx)?;
        let located = Locator::new(sent.iter().map(|sent| (&sent.node, None)), &answer.results);
        self.malformed_results(&answer).into_iter().for_each(|warning| cx.warn(warning));
        if let Some(failure) = answer.failure {
            return Err(with_results(failure, &answer.results, &located));
        }
        for result in answer.results.iter().filter(|result| result.severity() != Severity::Info) {
            let warning = finding(self.name(), result).into_warning().at(self.place);
            cx.warn(match located.find(result) {
                found if found.is_none() => warning,
                found => warning.note("about this", found),
            });
        }
        let mut old: Vec<Option<Resource>> = std::mem::take(items).into_vec().into_iter().map(Some).collect();
        let mut added = Vec::new();
        let mut kept: Vec<Option<Resource>> = old.iter().map(|_| None).collect();
        for returned in answer.items {
            let node = returned.node;
            match returned.from {
                // Its own configuration comes back: that is not a resource of the build.
                Some(_) if generating => {}
                Some(from) => {
                    let mut resource = old[from].take().expect("each is found once");
                    let unchanged = resource.node().same(&node);
                    if !unchanged {
                        replace(&mut resource, node, cx);
                    }
                    kept[from] = Some(resource);
                }
                None if generating => added.push(generated(node, cx)?),
                None => added.push(made(node, cx)?),
            }
        }
        // In the order they had, new ones last.
        *items = Resources::from_vec(kept.into_iter().flatten().chain(added).collect());
        items.refuse_duplicates().map_err(|d| {
            Diagnostic::error("function-twins", format!("function `{}` failed: {d}", self.name()))
                .at(self.place)
                .help("each resource must have a unique kind and name")
        })
    }

    /// Runs on resources that are kept in files, and takes what comes back as edits of these.
    fn edit_files(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let sent = |r: &Resource| Sent { node: r.node().clone(), home: r.home.clone() };
        let sent: Vec<Sent> = items.iter().map(sent).collect();
        let answer = self.observed(&sent, items.as_slice(), cx)?;
        if let Some(failure) = answer.failure {
            match cx.observer.filter(|_| self.defer_failure) {
                Some(observer) => observer.deferred(failure),
                None => return Err(failure),
            }
            // A program that failed without a word about what it was given has not asked for it to go.
            if answer.items.iter().all(|returned| returned.from.is_none()) {
                return Ok(());
            }
        }
        let mut old: Vec<Option<Resource>> = std::mem::take(items).into_vec().into_iter().map(Some).collect();
        let returned = answer.items.into_iter().map(|returned| {
            let known = returned.from.map(|from| old[from].take().expect("each is found once"));
            let mut resource = match known {
                None => Resource::new(returned.node, cx.schema),
                Some(mut known) => {
                    if !known.node().same(&returned.node) {
                        known.edit(cx.schema, |node| *node = returned.node);
                    }
                    known
                }
            };
            resource.home = returned.home;
            resource
        });
        *items = Resources::from_vec(returned.collect());
        Ok(())
    }

    /// Calls the program, and notifies the observer.
    fn observed(&self, sent: &[Sent], given: &[Resource], cx: &Context) -> Result<Answer> {
        let call = Call { program: self.name(), place: self.place, given };
        if let Some(observer) = cx.observer {
            observer.starts(&call);
        }
        for path in self.program().looks_for() {
            provide(cx.world, &path).map_err(|error| error.at(self.place))?;
        }
        let answer = self.call(sent, cx.sources)?;
        if let Some(observer) = cx.observer {
            let warnings = self.malformed_results(&answer);
            observer.ended(&call, &answer.ran(&warnings))?;
        }
        Ok(answer)
    }
}

impl Answer {
    fn ran<'a>(&'a self, warnings: &'a [Diagnostic]) -> Ran<'a> {
        Ran {
            warnings,
            results: &self.results,
            raw_results: self.raw_results.as_ref(),
            failure: self.failure.as_ref(),
            status: &self.status,
            stderr: &self.stderr,
            elapsed: self.elapsed,
            cached: self.cached,
        }
    }
}

impl Function {
    /// A warning for each result that breaks the schema, which says what is wrong with it.
    fn malformed_results(&self, answer: &Answer) -> Vec<Diagnostic> {
        let malformed = answer.results.iter().filter_map(|result| {
            let faults = result.faults();
            let message =
                format!("a result of function `{}` breaks the schema: {}", self.name(), faults.join("; "));
            (!faults.is_empty()).then(|| {
                Diagnostic::warning("function-result-malformed", message)
                    .at(result.node().span())
                    .at(self.place)
                    .help(
                        "a result is a map with a `message` and a `severity` of `error`, `warning` or `info`",
                    )
            })
        });
        malformed.collect()
    }
}

/// What a function says about a resource, as an error or a warning.
pub fn finding(function: &str, result: &FunctionResult) -> Diagnostic {
    let finding = Diagnostic::warning("function-result", format!("function `{function}` says: {result}"));
    if result.severity() == Severity::Error { finding.into_error() } else { finding }
}

/// Why a function failed, with what it has to say about that: a program that prints results need not write to stderr.
fn with_results(failure: Diagnostic, results: &[FunctionResult], located: &Locator) -> Diagnostic {
    /// More than anyone reads in one error.
    const MOST: usize = 50;
    let shown = results.iter().take(MOST);
    let failure = shown.fold(failure, |d, result| d.note(result.to_string(), located.find(result)));
    match results.len().saturating_sub(MOST) {
        0 => failure,
        more => failure.note(format!("and {more} results more"), Span::NONE),
    }
}

/// A resource as a build sends it: without comments, quotes and braces, its keys in order. Programs that look at the text
/// see what they would see in the reference.
// quirk(functions-see-plain-text): A function of a build gets resources without comments, quotes and braces, with their
// keys in order. (`fnplugin.FnPlugin`, `resmap.AsYaml`)
fn plain(mut node: Node) -> Node {
    each_node(&mut node, &|node| {
        node.set_style(Style::Any);
        if node.has_trivia() {
            node.clear_trivia();
        }
        if let Some(map) = node.as_map_mut() {
            map.entries_mut().sort_by(|a, b| a.key.text().cmp(&b.key.text()));
        }
    });
    node
}

/// Takes over a changed tree, and remembers who the resource was if that changed.
fn replace(resource: &mut Resource, node: Node, cx: &Context) {
    let text = |node: &Node, keys: &[&str]| {
        node.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default().to_owned()
    };
    let who = |node: &Node| {
        [text(node, &["kind"]), text(node, &["metadata", "name"]), text(node, &["metadata", "namespace"])]
    };
    if who(resource.node()) != who(&node) {
        resource.remember_id();
    }
    resource.edit(cx.schema, |old| *old = node);
}

/// A new resource. It may say itself where it came from.
fn made(node: Node, cx: &Context) -> Result<Resource> {
    let mut resource = Resource::new(node, cx.schema);
    history::recall(&mut resource, cx.schema)?;
    Ok(resource)
}

/// A resource made from nothing, and what else it says about itself.
fn generated(node: Node, cx: &Context) -> Result<Resource> {
    with_options(made(node, cx)?, cx)
}

/// Takes what a generated resource says of its hash and behavior into its fields.
pub(super) fn with_options(mut resource: Resource, cx: &Context) -> Result<Resource> {
    let needs_hash = resource.annotation(NEEDS_HASH).map(str::to_owned);
    let behavior = resource.annotation(BEHAVIOR).map(str::to_owned);
    if let Some(text) = needs_hash {
        resource.needs_hash = match text.as_str() {
            "true" => true,
            "false" => false,
            _ => return Err(odd_annotation(&resource, NEEDS_HASH, "`true` or `false`")),
        };
    }
    if let Some(text) = behavior {
        resource.behavior = match text.as_str() {
            "create" => Behavior::Create,
            "replace" => Behavior::Replace,
            "merge" => Behavior::Merge,
            _ => Behavior::Unspecified,
        };
    }
    resource.edit(cx.schema, |node| {
        let mut object = krm_function::Object::from(node.take());
        object.remove_annotation(NEEDS_HASH);
        object.remove_annotation(BEHAVIOR);
        *node = object.into_node();
    });
    Ok(resource)
}

fn odd_annotation(resource: &Resource, key: &str, wanted: &str) -> Diagnostic {
    Diagnostic::error(
        "function-odd-annotation",
        format!("the annotation `{key}` of {} must be {wanted}", resource.id()),
    )
    .at(resource.span())
}
