//! JSON patches (RFC 6902), read from JSON or YAML, with kustomize's reading of the standard.

use krm_yaml::path::{self, Children, Edits, Rules, Segment, Signs};
use krm_yaml::{Diagnostic, Failure, Map, Node, Result, Span, Style, Tag, Text};

use crate::limits;

/// The operations of a JSON patch.
///
/// ```yaml
/// - op: replace
///   path: /spec/replicas
///   value: 3
/// - {op: add, path: /spec/template/spec/containers/0/args/-, value: --verbose}
/// - {op: remove, path: /metadata/labels/a~1b}
/// ```
///
/// Where the reference is laxer than the standard, so are we: `replace` adds a key a map does not have, an index may count
/// from the end (`-1`), and what is before a path's first slash is passed over.
// quirk(json-patch-is-lax): JSON patches are applied more loosely than the standard says: `replace` adds a key a map
// does not have, an index may count from the end (`-1`), and what comes before the first slash of a path is ignored.
// (json-patch `partialDoc.set`, `partialArray.get`, `findObject`)
#[derive(Clone, Debug)]
pub(crate) struct JsonPatch(Vec<Operation>);

/// What an operation may do.
pub(crate) const OPERATIONS: [&str; 6] = ["add", "copy", "move", "remove", "replace", "test"];
/// Other names for some of them.
const OTHER_WORDS: [(&str, &str); 10] = [
    ("append", "add"),
    ("create", "add"),
    ("insert", "add"),
    ("change", "replace"),
    ("merge", "replace"),
    ("set", "replace"),
    ("update", "replace"),
    ("clear", "remove"),
    ("delete", "remove"),
    ("unset", "remove"),
];

/// Sees the number of an operation, and the tree that it left.
pub(crate) type Done<'d> = &'d mut dyn FnMut(usize, &Node);

/// An operation of a JSON patch that was applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Applied {
    /// `add`, `replace`, `remove` and so on.
    pub name: Text,
    /// The JSON pointer, as it is written: positions in lists are those at this step.
    pub path: Text,
    /// Where it takes the value from, if it copies or moves one.
    pub from: Option<Text>,
    /// The operation: its `op`.
    pub span: Span,
    /// What it writes or tests; `None` if nothing is written there.
    pub value: Option<Node>,
    /// Where it says what to do, and on what: its `op`, its path, and more if there is more.
    pub asked: Vec<Span>,
}

#[derive(Clone, Debug)]
struct Operation {
    op: Text,
    /// Where it says what to do; the whole operation if it does not.
    op_span: Span,
    path: Option<Text>,
    from: Option<Text>,
    from_span: Span,
    /// `None` if nothing is written, which most operations treat as null.
    value: Option<Node>,
    span: Span,
}

impl JsonPatch {
    /// Reads a patch; each operation is only checked when it is applied, and so never if no resource
    /// matches.
    pub(crate) fn read(patch: &Node) -> Result<Self> {
        let Some(items) = patch.as_seq() else {
            let message = format!("a JSON patch is a list of operations, not {}", patch.kind_name());
            return Err(Diagnostic::error("json-patch-not-a-list", message)
                .at(patch.span())
                .help("put `- ` before each operation, as in `- {op: remove, path: /spec/replicas}`"));
        };
        items.iter().map(Operation::read).collect::<Result<_>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an operation sets or removes all annotations at once.
    pub(crate) fn sweeps_annotations(&self) -> bool {
        let all =
            |path: &Option<Text>| matches!(path.as_deref(), Some("" | "/metadata" | "/metadata/annotations"));
        self.0.iter().any(|operation| operation.op != "test" && all(&operation.path))
    }

    /// A warning for each path that does not begin with a slash: its first part is passed over.
    pub(crate) fn paths_without_slash(&self) -> impl Iterator<Item = Diagnostic> {
        let odd = |path: &&str| !path.is_empty() && !path.starts_with('/') && path.contains('/');
        self.0.iter().filter_map(move |operation| {
            let path = operation.path.as_deref().filter(odd)?;
            let ignored = path.split('/').next().unwrap_or_default();
            let message = format!("`{ignored}` is ignored: the path does not begin with a slash");
            let warning = Diagnostic::warning("json-patch-no-slash", message).at(operation.span);
            Some(warning.help(format!("write `/{path}`")))
        })
    }

    /// What an operation says, given what it left. Of a value that it copied to the end of a list, the path has the
    /// position there.
    pub(crate) fn applied(&self, number: usize, after: &Node) -> Applied {
        let operation = &self.0[number];
        let written = operation.path.clone().unwrap_or_default();
        let list = written.strip_suffix("/-").filter(|_| operation.from.is_some());
        let last = list.and_then(|list| get(after, list).ok()??.items().len().checked_sub(1));
        let path = list.zip(last).map(|(list, last)| Text::from(format!("{list}/{last}")));
        let tested = operation.value.as_ref().filter(|_| operation.op == "test").map(Node::span);
        let spans = [operation.op_span, operation.span, operation.from_span];
        Applied {
            name: operation.op.clone(),
            path: path.unwrap_or(written),
            from: operation.from.clone(),
            span: operation.op_span,
            value: operation.value.clone(),
            asked: spans.into_iter().chain(tested).filter(|span| !span.is_none()).collect(),
        }
    }

    /// How many operations there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Applies the operations in order, with a warning for those that do not do what they say. The first that does not
    /// apply is an error. `done` sees what each left, if someone wants to know.
    pub(crate) fn apply(
        &self,
        root: &mut Node,
        warn: &mut dyn FnMut(Diagnostic),
        mut done: Option<Done>,
    ) -> Result<()> {
        let mut copies = limits::Copies::default();
        for (number, operation) in self.0.iter().enumerate() {
            if let Some(path) =
                operation.path.as_deref().filter(|path| operation.op == "replace" && !path.is_empty())
                && let Ok(None) = get(root, path)
            {
                let message = format!("there is no `{path}` to replace, so it is added");
                let warning = Diagnostic::warning("json-patch-replace-adds", message).at(operation.span);
                let warning = match near_pointer(root, path) {
                    Some(near) => warning.help(format!("did you mean `{near}`?")),
                    None => warning,
                };
                warn(warning.help("write `op: add` if that is meant, which replaces too"));
            }
            operation.apply(root, &mut copies).map_err(|d| how_far(d, operation, root).at(operation.span))?;
            if let Some(done) = &mut done {
                done(number, root);
            }
        }
        as_json(root);
        string_annotations(root);
        Ok(())
    }
}

impl Operation {
    fn read(node: &Node) -> Result<Self> {
        if !node.is_map() && !node.is_null() {
            let message = format!("an operation of a JSON patch is a map, not {}", node.kind_name());
            return Err(Diagnostic::error("json-patch-not-a-map", message)
                .at(node.span())
                .help("it has `op`, `path` and, for most, `value`"));
        }
        let text = |key| node.get(key).and_then(Node::as_str).map(Text::from);
        let mut value = node.get("value").cloned();
        if let Some(value) = &mut value {
            as_old_yaml(value);
        }
        let place = node.get("path").map_or(node.span(), Node::span);
        Ok(Self {
            op: text("op").unwrap_or_default(),
            op_span: node.get("op").map_or(node.span(), Node::span),
            path: text("path"),
            from: text("from"),
            from_span: node.get("from").map_or(Span::NONE, Node::span),
            value,
            span: place,
        })
    }

    fn apply(&self, root: &mut Node, copies: &mut limits::Copies) -> Result<()> {
        limits::refuse_long(self.path.as_deref().map_or(0, |path| path.matches('/').count()))?;
        let value = || self.value.clone().unwrap_or_else(Node::null);
        match self.op.as_str() {
            "add" => add(root, self.path()?, value()),
            "remove" => remove(root, self.path()?).map(drop),
            "replace" => replace(root, self.path()?, value()),
            "move" => {
                let moved = remove(root, self.from()?)?;
                limits::Copies::default().add(&moved)?;
                add(root, self.path()?, moved)
            }
            "copy" => {
                let from = self.from()?;
                let copied = get(root, from)?.cloned().unwrap_or_else(Node::null);
                copies.add(&copied)?;
                add(root, self.path()?, copied)
            }
            "test" => self.test(root, self.path()?),
            _ => Err(self.unknown()),
        }
    }

    fn unknown(&self) -> Diagnostic {
        let message = match self.op.as_str() {
            "" => "this operation of a JSON patch has no `op`".into(),
            op => format!("there is no JSON patch operation `{op}`"),
        };
        let op = self.op.to_lowercase();
        let words = || OPERATIONS.into_iter().chain(OTHER_WORDS.iter().map(|(word, _)| *word));
        let word = words().find(|word| *word == op).or_else(|| krm_yaml::nearest(&op, words()));
        let meant =
            word.map(|word| OTHER_WORDS.iter().find(|(other, _)| *other == word).map_or(word, |(_, op)| op));
        let error = Diagnostic::error("json-patch-operation", message).at(self.op_span);
        let error = match meant {
            Some(meant) => error.help(format!("did you mean `{meant}`?")),
            None => error,
        };
        error.help(format!("`op` is one of `{}`", OPERATIONS.join("`, `")))
    }

    fn path(&self) -> Result<&str> {
        self.path.as_deref().ok_or_else(|| self.lacks("path"))
    }

    fn from(&self) -> Result<&str> {
        self.from.as_deref().ok_or_else(|| self.lacks("from"))
    }

    fn lacks(&self, field: &str) -> Diagnostic {
        let message = format!("this `{}` operation has no `{field}`", self.op);
        Diagnostic::error("json-patch-incomplete", message)
            .help(format!("write `{field}` as a JSON pointer, such as `/spec/replicas`"))
    }

    fn test(&self, root: &mut Node, path: &str) -> Result<()> {
        let wanted = self.value.as_ref();
        let holds = match path {
            "" => wanted.is_some_and(|wanted| root == wanted),
            _ => match get(root, path)?.filter(|value| !value.is_null()) {
                None => wanted.is_none_or(Node::is_null),
                Some(value) => wanted.is_some_and(|wanted| same(value, wanted)),
            },
        };
        match holds {
            true => Ok(()),
            false => {
                Err(Diagnostic::error("json-patch-test", format!("`{path}` is not what the patch expects"))
                    .help("the patch tests this value before it changes others: look at both"))
            }
        }
    }
}

/// Equal as JSON: integers and other numbers are compared by value.
fn same(a: &Node, b: &Node) -> bool {
    let number = |node: &Node| match node.tag() {
        Tag::Int | Tag::Float => krm_yaml::resolve::float(node.text()?),
        _ => None,
    };
    match (a.as_map(), b.as_map(), a.as_seq(), b.as_seq()) {
        (Some(a), Some(b), ..) => {
            let has =
                |key: &Node, value: &Node| key.text().and_then(|k| b.get(k)).is_some_and(|b| same(value, b));
            a.len() == b.len() && a.iter().all(|entry| has(&entry.key, &entry.value))
        }
        (_, _, Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => a == b || number(a).is_some_and(|a| number(b) == Some(a)),
    }
}

/// Adds how far a path leads, if it leads nowhere.
fn how_far(error: Diagnostic, operation: &Operation, root: &Node) -> Diagnostic {
    let path = match operation.op.as_str() {
        "move" | "copy" => &operation.from,
        _ => &operation.path,
    };
    let Some(path) = path.as_deref() else { return error };
    let Some((_, path)) = path.split_once('/') else {
        let dotted = path.contains('.') || root.get(path).is_some();
        return match dotted {
            true => error.help(format!(
                "write `/{}`: a path begins with `/`, and so does each part",
                path.replace('.', "/")
            )),
            false => error,
        };
    };
    if error.failure() == Some(Failure::NoSuchIndex) {
        let list = path.rsplit_once('/').and_then(|(list, _)| get(root, &format!("/{list}")).ok().flatten());
        return match list.map(|list| list.items().len()) {
            Some(1) => error.help("the list has one element"),
            Some(length) => error.help(format!("the list has {length} elements")),
            None => error,
        };
    }
    if error.failure() != Some(Failure::NoSuchPath) {
        return error;
    }
    let (mut node, mut reached) = (root, String::new());
    let mut rest = path;
    let mut element = None;
    for part in path.split('/') {
        let next = match path::step(&Pointer, &Segment::Key(path::from_pointer(part)), node) {
            Ok(Children::One(at)) => Some((at, path::child(node, at))),
            _ => None,
        };
        let Some((at, next)) = next else {
            let error = match element {
                Some((at, item)) => which_element(error, at, item),
                None => error,
            };
            if let Some(escaped) = unescaped_key(node, rest).or_else(|| unescaped_new_key(&reached, rest)) {
                return error
                    .help(format!("write `{reached}/{escaped}`: a `/` within a key is written `~1`"));
            }
            return match (near_part(node, part), node.as_seq()) {
                (Some(near), _) => error.help(format!("did you mean `{reached}/{near}`?")),
                (None, Some(items)) if index(part, items.len()).is_none() => error.help(format!(
                    "`{reached}` is a list: name its items by their index, as in `{reached}/0`"
                )),
                (None, Some(items)) => error.help(format!("`{reached}` is a list of {}", items.len())),
                (None, None) if reached.is_empty() => error,
                (None, None) => error.help(format!("it leads as far as `{reached}`")),
            };
        };
        if node.is_seq() {
            element = Some((at, next));
        }
        node = next;
        reached = format!("{reached}/{part}");
        rest = rest.get(part.len() + 1..).unwrap_or_default();
    }
    error
}

/// The key of a map that is nearest to a part of a path, as a path has it.
fn near_part(node: &Node, part: &str) -> Option<String> {
    let keys = node.as_map().into_iter().flatten().filter_map(|entry| entry.key.text());
    krm_yaml::nearest(part, keys).map(path::to_pointer)
}

/// A path whose last part does not exist, with the nearest part that does.
fn near_pointer(root: &Node, path: &str) -> Option<String> {
    let (above, last) = path.rsplit_once('/')?;
    let node = if above.is_empty() { root } else { get(root, above).ok()?? };
    near_part(node, last).map(|near| format!("{above}/{near}"))
}

/// Adds which element of a list a position means: other patches may have inserted elements before it.
fn which_element(error: Diagnostic, at: usize, item: &Node) -> Diagnostic {
    let name = item.get("name").and_then(Node::text);
    let name = name.map_or("this one".to_owned(), |name| format!("`{name}`"));
    error.note(format!("element {at} is {name}"), item.span())
}

/// The rest of a path, where it begins with a key whose slash was not escaped.
fn unescaped_key(node: &Node, rest: &str) -> Option<String> {
    let keys = node.as_map().into_iter().flatten().filter_map(|entry| entry.key.text());
    let key = keys.filter(|key| key.contains('/')).find(|key| {
        rest.strip_prefix(*key).is_some_and(|after| after.is_empty() || after.starts_with('/'))
    })?;
    Some(format!("{}{}", path::to_pointer(key), &rest[key.len()..]))
}

/// The same for a key that is to be added, as to annotations: their values are texts, into which no path leads.
fn unescaped_new_key(reached: &str, rest: &str) -> Option<String> {
    const MAPS_OF_TEXTS: [&str; 4] = ["annotations", "labels", "matchLabels", "nodeSelector"];
    let is_one = MAPS_OF_TEXTS.contains(&reached.rsplit('/').next()?) && rest.contains('/');
    is_one.then(|| path::to_pointer(&path::from_pointer(rest)))
}

fn missing(path: &str) -> Diagnostic {
    Diagnostic::error("json-patch-path", format!("there is no `{path}` in the resource"))
        .failing(Failure::NoSuchPath)
        .help("all of a path must be there, but for the last part of an `add`")
}

/// JSON pointers in which an index may count from the end. See quirk(json-patch-is-lax).
pub(crate) struct Pointer;

impl Rules for Pointer {
    const KEYS_INDEX: bool = true;
    const SIGNS: Signs = Signs::FromEnd;
}

/// The names in a pointer. What is before the first slash does not count, and without any it leads nowhere.
pub(crate) fn names(path: &str) -> Result<impl DoubleEndedIterator<Item = Text>> {
    let (_, names) = path.split_once('/').ok_or_else(|| missing(path))?;
    Ok(names.split('/').map(path::from_pointer))
}

/// A pointer: the way to the map or list that holds what it names, and the last name.
fn pointer(path: &str) -> Result<(Vec<Segment>, Text)> {
    let mut names = names(path)?;
    let last = names.next_back().unwrap_or_default();
    Ok((names.map(Segment::Key).collect(), last))
}

/// Changes the map or list that holds what a path names.
fn change<T>(root: &mut Node, path: &str, change: impl FnOnce(&mut Node, &str) -> Result<T>) -> Result<T> {
    let (parents, last) = pointer(path)?;
    let mut edit = Change { last: &last, change: Some(change), done: None };
    path::edit(&mut edit, &parents, root)?;
    edit.done.ok_or_else(|| missing(path))
}

struct Change<'p, F, T> {
    last: &'p str,
    change: Option<F>,
    done: Option<T>,
}

impl<F, T> Rules for Change<'_, F, T> {
    const KEYS_INDEX: bool = true;
    const SIGNS: Signs = Signs::FromEnd;
}

impl<F: FnOnce(&mut Node, &str) -> Result<T>, T> Edits for Change<'_, F, T> {
    fn leaf(&mut self, container: &mut Node) -> Result<()> {
        if (container.is_map() || container.is_seq())
            && let Some(change) = self.change.take()
        {
            self.done = Some(change(container, self.last)?);
        }
        Ok(())
    }
}

/// The position of an item in a list.
fn position(key: &str, items: &[Node], path: &str) -> Result<usize> {
    let at = index(key, items.len()).filter(|at| *at < items.len());
    at.ok_or_else(|| bad_index(key, path))
}

/// An index into a list of a certain length; from the end if it is negative.
fn index(text: &str, len: usize) -> Option<usize> {
    path::index(text, len, Signs::FromEnd)
}

fn bad_index(key: &str, path: &str) -> Diagnostic {
    Diagnostic::error("json-patch-index", format!("`{key}` in `{path}` is not an index of that list"))
        .failing(Failure::NoSuchIndex)
        .help("indexes count from 0; `-` is the position after the last element")
}

/// What a path leads to; `None` if a map has no such field.
fn get<'n>(root: &'n Node, path: &str) -> Result<Option<&'n Node>> {
    let (parents, last) = pointer(path)?;
    let container = path::first(&Pointer, &parents, root)?.filter(|node| node.is_map() || node.is_seq());
    let container = container.ok_or_else(|| missing(path))?;
    match container.as_seq() {
        Some(items) => position(&last, items, path).map(|at| Some(&items[at])),
        None => Ok(container.get(&last)),
    }
}

fn add(root: &mut Node, path: &str, value: Node) -> Result<()> {
    change(root, path, |container, key| {
        let Some(items) = container.as_seq_mut() else {
            put(container, key, value);
            return Ok(());
        };
        let at = match key {
            "-" => items.len(),
            key => index(key, items.len() + 1)
                .filter(|at| *at <= items.len())
                .ok_or_else(|| bad_index(key, path))?,
        };
        items.insert(at, value);
        Ok(())
    })
}

/// Sets a field to exactly this value: nothing of the previous one is kept.
fn put(container: &mut Node, key: &str, value: Node) {
    let Some(map) = container.as_map_mut() else { return };
    match map.position(key) {
        Some(at) => *map.value_at_mut(at) = value,
        None => map.push(Node::from(key), value),
    }
}

fn replace(root: &mut Node, path: &str, value: Node) -> Result<()> {
    if path.is_empty() {
        if !value.is_map() {
            let message = format!("a resource cannot be replaced by {}", value.kind_name());
            return Err(Diagnostic::error("json-patch-root", message).at(value.span()));
        }
        *root = value;
        return Ok(());
    }
    change(root, path, |container, key| {
        match container.as_seq_mut() {
            None => put(container, key, value),
            Some(items) => {
                let at = position(key, items, path)?;
                items[at] = value;
            }
        }
        Ok(())
    })
}

fn remove(root: &mut Node, path: &str) -> Result<Node> {
    change(root, path, |container, key| match container.as_seq_mut() {
        Some(items) => Ok(items.remove(position(key, items, path)?)),
        None => container.remove(key).ok_or_else(|| missing(path)),
    })
}

/// Gives values the types of YAML 1.1.
// quirk(json-patch-reads-old-booleans): Patches are read by the rules of YAML 1.1: `yes` is true. (sigs.k8s.io/yaml
// `YAMLToJSON`)
fn as_old_yaml(node: &mut Node) {
    each_scalar(node, &mut |scalar| {
        if scalar.style() == Style::Plain {
            match scalar.tag() {
                Tag::Timestamp => scalar.set_tag(Tag::Str),
                Tag::Str => {
                    if let Some(truth) = scalar.text().and_then(krm_yaml::resolve::old_boolean) {
                        scalar.assign(Node::from(truth).with_span(scalar.span()));
                    }
                }
                _ => {}
            }
        }
    });
    old_keys(node);
}

/// The same for keys, which become texts again.
fn old_keys(node: &mut Node) {
    if let Some(map) = node.as_map_mut() {
        for at in 0..map.len() {
            let key = &map.entries()[at].key;
            let truth =
                key.text().filter(|_| key.style() == Style::Plain).and_then(krm_yaml::resolve::old_boolean);
            if let Some(truth) = truth {
                map.rename(at, if truth { "true" } else { "false" });
            }
            old_keys(map.value_at_mut(at));
        }
    }
    node.as_seq_mut().into_iter().flatten().for_each(old_keys);
}

/// Makes a tree what it would be after a detour through JSON.
// quirk(json-patch-large-numbers): A patched resource goes through JSON as a whole: quotes are lost where they are not
// needed, and numbers have the precision of a double. (`patchjson6902.Filter`)
fn as_json(node: &mut Node) {
    const EXACT: i128 = 1 << 53;
    each_scalar(node, &mut |scalar| {
        match scalar.tag() {
            Tag::Int => {
                let value = scalar.text().and_then(krm_yaml::resolve::int).unwrap_or_default();
                if value.abs() > EXACT {
                    // As few digits as identify the double, and zeros; what 64 bits cannot hold is not an integer any more.
                    let double = value as f64;
                    let fits = double > i64::MIN as f64 && double < u64::MAX as f64;
                    let tag = if fits { Tag::Int } else { Tag::Float };
                    *scalar = Node::scalar(double.to_string(), tag, Style::Any, scalar.span());
                }
            }
            Tag::Timestamp => {
                if let Some(text) = scalar.text().and_then(krm_yaml::resolve::timestamp) {
                    *scalar = Node::string(text).with_span(scalar.span());
                }
            }
            // It is written and read once for that, and folded texts do not all come back as they were.
            Tag::Str if scalar.style() == Style::Folded => {
                if let Some(text) = scalar.text().and_then(krm_yaml::emit::distorted) {
                    *scalar = Node::string(text).with_span(scalar.span());
                }
            }
            Tag::Null if scalar.text() == Some("") => *scalar = Node::null().with_span(scalar.span()),
            _ => {}
        }
        scalar.set_style(Style::Any);
    });
}

fn each_scalar(node: &mut Node, change: &mut dyn FnMut(&mut Node)) {
    if let Some(map) = node.as_map_mut() {
        (0..map.len()).for_each(|at| each_scalar(map.value_at_mut(at), change));
    } else if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(|item| each_scalar(item, change));
    } else {
        change(node);
    }
}

/// Turns all annotations into strings.
// quirk(json-patch-annotations-are-strings): After a JSON patch all annotations are strings, whatever the patch wrote.
// (kyaml `RNode.SetAnnotations`)
fn string_annotations(root: &mut Node) {
    let Some(metadata) = root.get("metadata") else { return };
    let Some(annotations) = metadata.get("annotations") else { return };
    let values = annotations.as_map().into_iter().flatten();
    let strings: Map = values.fold(Map::new(), |mut map, entry| {
        map.push(entry.key.clone(), text_of(&entry.value));
        map
    });
    let Some(metadata) = root.get_mut("metadata") else { return };
    match strings.is_empty() {
        true => drop(metadata.remove("annotations")),
        false => metadata.set("annotations", Node::from(strings)),
    }
}

fn text_of(value: &Node) -> Node {
    let text = match value.tag() {
        Tag::Str => return value.clone(),
        Tag::Int | Tag::Float => {
            let number = value.text().and_then(krm_yaml::resolve::float).unwrap_or_default();
            shortest(number).into()
        }
        Tag::Bool => Text::from(if value.as_bool() == Some(true) { "true" } else { "false" }),
        Tag::Null => "null".into(),
        _ => value.text().unwrap_or_default().into(),
    };
    Node::string(text).with_span(value.span())
}

/// A number as Go writes it by default: with an exponent of ten from a million on.
fn shortest(number: f64) -> String {
    let written = format!("{number:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    match exponent.parse::<i32>().unwrap_or_default() {
        -4..6 => format!("{number}"),
        exponent => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(patch: &str, to: &str) -> Result<String> {
        let parse = |text: &str| krm_yaml::parse_str(text).unwrap().remove(0).root;
        let mut root = parse(to);
        JsonPatch::read(&parse(patch))?.apply(&mut root, &mut |_| {}, None)?;
        Ok(krm_yaml::json::compact(&root))
    }

    #[test]
    fn operations_change_maps_and_lists() {
        for (patch, to, expected) in [
            ("[{op: add, path: /a/-, value: 3}]", "a: [1, 2]", r#"{"a":[1,2,3]}"#),
            ("[{op: add, path: /a/0, value: 0}]", "a: [1, 2]", r#"{"a":[0,1,2]}"#),
            ("[{op: add, path: /a/-1, value: 9}]", "a: [1, 2]", r#"{"a":[1,2,9]}"#),
            ("[{op: replace, path: /a/-1, value: 9}]", "a: [1, 2]", r#"{"a":[1,9]}"#),
            ("[{op: replace, path: /b, value: on}]", "a: 1", r#"{"a":1,"b":true}"#),
            ("[{op: remove, path: /a/0}]", "a: [1, 2]", r#"{"a":[2]}"#),
            ("[{op: move, from: /a/x, path: /b}]", "a: {x: 1}", r#"{"a":{},"b":1}"#),
            ("[{op: copy, from: /a/y, path: /b}]", "a: {x: 1}", r#"{"a":{"x":1},"b":null}"#),
            ("[{op: test, path: /a, value: 1}]", "a: 1.0", r#"{"a":1}"#),
            ("[{op: test, path: /b, value: null}]", "a: 1", r#"{"a":1}"#),
            ("[{op: add, path: /a/b~1c~0d, value: x}]", "a: {}", r#"{"a":{"b/c~d":"x"}}"#),
            ("[{op: add, path: a/b, value: x}]", "a: {}", r#"{"a":{},"b":"x"}"#),
            (
                "[{op: add, path: /metadata/annotations, value: {a: 1, b: true, c: 10000000, d: [x]}}]",
                "metadata: {}",
                r#"{"metadata":{"annotations":{"a":"1","b":"true","c":"1e+07","d":""}}}"#,
            ),
        ] {
            assert_eq!(apply(patch, to).unwrap(), expected, "{patch} on {to}");
        }
    }

    #[test]
    fn what_does_not_apply_is_an_error() {
        for (patch, to, code) in [
            ("[{op: add, path: /b/c, value: 1}]", "a: 1", "json-patch-path"),
            ("[{op: add, path: /a/c, value: 1}]", "a: 1", "json-patch-path"),
            ("[{op: add, path: '', value: 1}]", "a: 1", "json-patch-path"),
            ("[{op: remove, path: /b}]", "a: 1", "json-patch-path"),
            ("[{op: add, path: /a/2, value: 1}]", "a: [1]", "json-patch-index"),
            ("[{op: replace, path: /a/1, value: 1}]", "a: [1]", "json-patch-index"),
            ("[{op: test, path: /a, value: 2}]", "a: 1", "json-patch-test"),
            ("[{op: test, path: /a}]", "a: 1", "json-patch-test"),
            ("[{op: ad, path: /a}]", "a: 1", "json-patch-operation"),
            ("[{op: add}]", "a: 1", "json-patch-incomplete"),
            ("[foo]", "a: 1", "json-patch-not-a-map"),
            ("{op: add}", "a: 1", "json-patch-not-a-list"),
        ] {
            assert_eq!(apply(patch, to).unwrap_err().code(), code, "{patch} on {to}");
        }
    }
}
