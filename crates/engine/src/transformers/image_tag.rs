//! `images:` changes names, tags and digests of container images.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use krm_yaml::{Diagnostic, Failure, Node, Result, Span, Spanned, Text, Value, nearest};
use regex::Regex;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{Setup, read_config, setter};
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::fields::FieldSpecs;
use crate::resource::list::Resources;
use crate::resource::{Gvk, Resource};
use crate::select::go_regex;

/// Changes images called `name` wherever containers are listed.
///
/// ```yaml
/// images:
/// - name: nginx
///   newName: registry.example.com/nginx
///   newTag: "1.27"
/// - name: redis
///   digest: sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3
/// - name: postgres
///   tagSuffix: -alpine
/// ```
///
/// `name` is the image without tag and digest; it is read as a regular expression. A new tag or digest replaces both the old
/// tag and the old digest. `tagSuffix` is put after the tag there is, and counts only without them.
///
/// Images are found in the items of every list called `containers` or `initContainers`, at any depth, and in the fields that
/// `configurations:` name. CustomResourceDefinitions are left alone. A name that matches no image is a warning.
#[derive(Clone, Debug)]
pub(crate) struct ImageTag {
    images: Vec<Pattern>,
    /// Those that may match an image, by the last part of its name; the others may match any.
    by_last_part: FxHashMap<Text, Vec<usize>>,
    others: Vec<usize>,
    field_specs: FieldSpecs,
}

/// One entry of a kustomization's `images:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Image {
    pub name: Spanned<Text>,
    pub new_name: Spanned<Text>,
    pub tag_suffix: Spanned<Text>,
    pub new_tag: Spanned<Text>,
    pub digest: Spanned<Text>,
}

impl Image {
    /// A warning about a tag in the new name: the old tag, or the new one, comes after it.
    pub(crate) fn name_with_tag(&self) -> Option<Diagnostic> {
        let name = &self.new_name;
        let last = name.rsplit('/').next().unwrap_or_default();
        let (_, tag) = last.split_once([':', '@'])?;
        let message = format!("`newName` has the tag `{tag}`, and gets another one after it");
        let without = &name[..name.len() - tag.len() - 1];
        let field = if last.contains('@') { "digest" } else { "newTag" };
        let warning = Diagnostic::warning("image-name-with-tag", message).failing(Failure::Misplaced);
        Some(warning.at(name.span()).help(format!("write `newName: {without}` and `{field}: {tag}`")))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    image_tag: Spanned<Image>,
    field_specs: Option<FieldSpecs>,
}

impl ImageTag {
    /// All entries as one step: each resource is looked at once, however many there are.
    pub(crate) fn new(images: Vec<Spanned<Image>>, field_specs: FieldSpecs) -> Self {
        let images: Vec<Pattern> = images.into_iter().map(Pattern::new).collect();
        let mut by_last_part: FxHashMap<Text, Vec<usize>> = FxHashMap::default();
        let mut others = Vec::new();
        for (at, image) in images.iter().enumerate() {
            match image.last_part() {
                Some(part) => by_last_part.entry(part.into()).or_default().push(at),
                None => others.push(at),
            }
        }
        Self { images, by_last_part, others, field_specs }
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { image_tag, field_specs } = read_config(config)?;
        setup.warn(image_tag.name_with_tag());
        let field_specs = setup.field_specs(field_specs, |defaults| &defaults.images);
        Ok(Box::new(Self::new(vec![image_tag], field_specs)))
    }
}

impl Transformer for ImageTag {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let found: Vec<AtomicBool> = self.images.iter().map(|_| AtomicBool::new(false)).collect();
        items.edit_apart(|r| match r.kind() {
            "CustomResourceDefinition" => Ok(()),
            _ => self.change(r, &found, cx).map_err(|error| {
                let asked = self.images.first().map_or(Span::NONE, |image| image.image.span);
                error
                    .note("`images` looks into this field of every resource", asked)
                    .help("or build this resource in a kustomization without `images`, beside this one")
            }),
        })?;
        let mut there = None;
        for (image, _) in self.images.iter().zip(found).filter(|(_, found)| !found.load(Relaxed)) {
            let there = there.get_or_insert_with(|| self.names(items));
            cx.warn(no_match(&image.image, there));
        }
        Ok(())
    }
}

impl ImageTag {
    fn change(&self, r: &mut Resource, found: &[AtomicBool], cx: &Context) -> Result<()> {
        let (gvk, track) = (r.gvk().clone(), r.track);
        let mut next = 0;
        // Entries work one after the other, each on what the one before it left; so the first
        // that matches now goes first, and then the later ones are matched again.
        let mut null_list = false;
        while let Some(at) = self.first_fitting(r.node(), &gvk, next, &mut null_list)? {
            null_list = false;
            found[at].store(true, Relaxed);
            let image = &self.images[at];
            r.edit(cx.schema, |root| {
                let change = |field: &mut Node| {
                    let met = field.span();
                    image.change(field)?;
                    cx.note(track, field.span(), || Cause::Matched { asked: image.image.name.span, met });
                    Ok(())
                };
                each_listed(root, &|field| image.fits_node(field), &mut |field| change(field))?;
                let change = &mut |field: &mut Node| match field.is_scalar() {
                    true if image.fits_node(field) => change(field),
                    true => Ok(()),
                    false => Err(not_an_image(field)),
                };
                self.field_specs.edit(&gvk, root, None, change)
            })?;
            if self.images.len() > 1 {
                cx.part(at, r);
            }
            next = at + 1;
        }
        if null_list {
            // quirk(null-where-a-list-is-expected): A field spec with `name[]` turns a null there into an empty list,
            // whether or not anything else is changed. (`fieldspec.Filter.handleSequence`)
            r.edit(cx.schema, |root| self.field_specs.edit(&gvk, root, None, &mut |_| Ok(())))?;
        }
        Ok(())
    }

    /// The first entry, from one on, that matches an image of the resource.
    fn first_fitting(
        &self,
        root: &Node,
        gvk: &Gvk,
        from: usize,
        null_list: &mut bool,
    ) -> Result<Option<usize>> {
        if from >= self.images.len() {
            return Ok(None);
        }
        let mut first: Option<usize> = None;
        let mut see = |field: &Node| {
            *null_list |= field.is_null();
            let Some(text) = field.text() else { return Err(not_an_image(field)) };
            let end = first.unwrap_or(self.images.len());
            let part = last_part(text);
            let by_part = self.by_last_part.get(part).map_or(&[][..], Vec::as_slice);
            for list in [by_part, &self.others] {
                let candidates = list[list.partition_point(|at| *at < from)..].iter().copied();
                let fits = |at: &usize| self.images[*at].fits(text);
                if let Some(at) = candidates.take_while(|at| *at < end).find(fits) {
                    first = Some(first.map_or(at, |first| first.min(at)));
                }
            }
            Ok(())
        };
        visit_listed(root, &mut Vec::new(), &mut |field, _| see(field))?;
        self.field_specs.fitting(gvk).try_for_each(|spec| spec.visit(root, &mut see))?;
        Ok(first)
    }
}

impl ImageTag {
    /// The images of all resources, without tags and digests.
    fn names(&self, items: &Resources) -> BTreeSet<Text> {
        let mut names = BTreeSet::new();
        for r in items.iter().filter(|r| r.kind() != "CustomResourceDefinition") {
            let mut add = |field: &Node| {
                names.extend(field.text().map(|text| Text::from(without_tail(text))));
                Ok(())
            };
            // What is wrong with a resource was reported before.
            let _ = visit_listed(r.node(), &mut Vec::new(), &mut |field, _| add(field));
            let _ = self.field_specs.fitting(r.gvk()).try_for_each(|spec| spec.visit(r.node(), &mut add));
        }
        names
    }
}

/// An image without its tag and digest.
fn without_tail(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

/// An image among those there are that was perhaps meant: one of a similar name, of the same name elsewhere, or the one
/// the entry names with its tag.
fn near_image<'n>(wanted: &str, there: &'n BTreeSet<Text>) -> Option<&'n str> {
    let all = || there.iter().map(Text::as_str);
    let bare = without_tail(wanted);
    let by_name = || all().find(|name| last_part(name) == last_part(bare));
    let by_part = || {
        let part = nearest(last_part(bare), all().map(last_part))?;
        all().find(|name| last_part(name) == part)
    };
    all().find(|name| *name == bare).or_else(by_name).or_else(|| nearest(bare, all())).or_else(by_part)
}

/// What to say of an entry that changes nothing.
fn no_match(image: &Spanned<Image>, there: &BTreeSet<Text>) -> Diagnostic {
    let name = &image.name;
    match name.is_empty() {
        true => Diagnostic::warning("image-no-name", "this entry names no image, and changes none")
            .at(image.span)
            .help("add `name:` with the image as written in the resource, without tag and digest"),
        false => {
            let warning = Diagnostic::warning("image-no-match", format!("no image is named `{name}`"))
                .failing(Failure::NoMatch)
                .at(name.span);
            match near_image(name, there) {
                Some(near) => warning.help(format!("did you mean `{near}`?")),
                None => warning.help("use the name as written in the resource, without tag and digest"),
            }
        }
    }
}

fn not_an_image(field: &Node) -> Diagnostic {
    let message = format!("expected the name of an image, found {}", field.kind_name());
    Diagnostic::error("image-not-a-string", message)
        .at(field.span())
        .help("write the image as a text, or correct the field spec that leads here")
}

/// An entry and how its name is matched.
#[derive(Clone, Debug)]
struct Pattern {
    image: Spanned<Image>,
    name: NamePattern,
}

#[derive(Clone, Debug)]
enum NamePattern {
    /// No special characters, apart from dots.
    Plain,
    Regex(Regex),
    /// Matches nothing.
    // quirk(invalid-image-patterns-match-nothing): The `name` of an image that is not a valid regular expression is not
    // a mistake: it matches no image, not even one of that name. (`image.IsImageMatched`)
    Invalid,
}

/// What may follow a name: a tag, and a digest by any algorithm.
const TAIL: &str = r"(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$";

impl Pattern {
    fn new(image: Spanned<Image>) -> Self {
        let name = match go_regex::is_plain(&image.name) {
            true => NamePattern::Plain,
            false => match go_regex::compile(&format!("^{}{TAIL}", image.name.value)) {
                Ok(regex) => NamePattern::Regex(regex),
                Err(_) => NamePattern::Invalid,
            },
        };
        Self { image, name }
    }

    /// What the last part of a name must be, if that is certain.
    fn last_part(&self) -> Option<&str> {
        let part = self.image.name.rsplit('/').next().unwrap_or_default();
        // A dot may stand for anything, also for the end of the name.
        (matches!(self.name, NamePattern::Plain) && !part.contains(['.', ':', '@'])).then_some(part)
    }

    fn fits_node(&self, field: &Node) -> bool {
        field.text().is_some_and(|text| self.fits(text))
    }

    fn fits(&self, text: &str) -> bool {
        match &self.name {
            NamePattern::Plain => after_name(&self.image.name, text).is_some_and(is_tail),
            NamePattern::Regex(regex) => regex.is_match(text),
            NamePattern::Invalid => false,
        }
    }

    fn change(&self, field: &mut Node) -> Result<()> {
        let Image { name: pattern, new_name, tag_suffix, new_tag, digest } = &self.image.value;
        // Of several texts that set it the last one in the image counts.
        let place = [digest, new_tag, tag_suffix, new_name].into_iter().find(|text| !text.is_empty());
        let place = place.unwrap_or(pattern).span;
        let (name, old_tag, old_digest) = split(field.text().unwrap_or_default());
        let mut changed = if new_name.is_empty() { name.to_owned() } else { new_name.to_string() };
        let (tag, digest) = match (new_tag.as_str(), digest.as_str()) {
            ("", "") if !tag_suffix.is_empty() => (format!("{old_tag}{tag_suffix}"), ""),
            ("", "") => (old_tag.to_owned(), old_digest),
            (tag, digest) => (tag.to_owned(), digest),
        };
        if !tag.is_empty() {
            changed.push(':');
            changed.push_str(&tag);
        }
        if !digest.is_empty() {
            changed.push('@');
            changed.push_str(digest);
        }
        setter::untyped(field, &changed, place)
    }
}

// quirk(image-names-are-patterns): The `name` of an image is a regular expression: a dot in it matches any character.
// (`image.IsImageMatched`)
/// What follows the name in an image that begins with it; a dot in the name stands for any character.
fn after_name<'t>(name: &str, text: &'t str) -> Option<&'t str> {
    let mut rest = text.chars();
    for wanted in name.chars() {
        let c = rest.next()?;
        if c != wanted && (wanted != '.' || c == '\n') {
            return None;
        }
    }
    Some(rest.as_str())
}

/// [`TAIL`], by hand: it is asked for every image of a build.
fn is_tail(mut text: &str) -> bool {
    let part = |text: &str| {
        text.find(|c: char| !c.is_ascii_alphanumeric() && !"_.{}-".contains(c)).unwrap_or(text.len())
    };
    if let Some(tag) = text.strip_prefix(':') {
        text = &tag[part(tag)..];
    }
    let Some(digest) = text.strip_prefix('@') else { return text.is_empty() };
    let Some((algorithm, value)) = digest.split_once(':') else { return false };
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric());
    algorithm.split(['.', '+', '_', '-']).all(word) && part(value) == value.len()
}

/// What follows the last slash, without tag and digest: these hold no slash.
fn last_part(text: &str) -> &str {
    let part = text.rsplit('/').next().unwrap_or_default();
    part.split([':', '@']).next().unwrap_or_default()
}

/// Name, tag and digest. A colon or an at sign in the part before the first slash belongs to the registry.
pub fn split(text: &str) -> (&str, &str, &str) {
    let path = text.find('/').unwrap_or(0);
    let at = text[path..].find('@').map(|i| i + path);
    let colon = text[path..].find(':').map(|i| i + path);
    match (colon, at) {
        (None, None) => (text, "", ""),
        (Some(colon), None) => (&text[..colon], &text[colon + 1..], ""),
        (Some(colon), Some(at)) if colon < at => (&text[..colon], &text[colon + 1..at], &text[at + 1..]),
        (_, Some(at)) => (&text[..at], "", &text[at + 1..]),
    }
}

/// The names under which containers are listed, whatever the kind.
fn lists_containers(key: &Node) -> bool {
    matches!(key.text(), Some("containers" | "initContainers"))
}

/// Sees the image of every item of every list of containers, at any depth, and by what places one gets there.
fn visit_listed<'n>(
    node: &'n Node,
    way: &mut Vec<usize>,
    see: &mut dyn FnMut(&'n Node, &[usize]) -> Result<()>,
) -> Result<()> {
    for (at, entry) in node.as_map().into_iter().flatten().enumerate() {
        // Most values are scalars, and nothing is in these.
        if entry.value.is_scalar() {
            continue;
        }
        way.push(at);
        visit_listed(&entry.value, way, see)?;
        if lists_containers(&entry.key) {
            for (number, item) in entry.value.items().iter().enumerate() {
                let Some(map) = item.as_map() else { continue };
                let Some(image) = map.position("image") else { continue };
                if !map.entries()[image].value.is_null() {
                    way.extend([number, image]);
                    see(&map.entries()[image].value, way)?;
                    way.truncate(way.len() - 2);
                }
            }
        }
        way.pop();
    }
    for (at, item) in node.items().iter().enumerate() {
        way.push(at);
        visit_listed(item, way, see)?;
        way.pop();
    }
    Ok(())
}

/// Edits the same, if they match; trees without such stay shared.
fn each_listed(
    root: &mut Node,
    fits: &dyn Fn(&Node) -> bool,
    edit: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let mut ways = Vec::new();
    visit_listed(root, &mut Vec::new(), &mut |image, way| {
        if fits(image) {
            ways.push(way.to_vec());
        }
        Ok(())
    })?;
    ways.into_iter().try_for_each(|way| {
        let image = way.into_iter().fold(&mut *root, |node, at| match node.value_mut() {
            Value::Map(map) => Arc::make_mut(map).value_at_mut(at),
            Value::Seq(items) => &mut Arc::make_mut(items)[at],
            Value::Scalar(_) => unreachable!("ways lead through collections"),
        });
        edit(image)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_split_into_name_tag_and_digest() {
        assert_eq!(split("nginx"), ("nginx", "", ""));
        assert_eq!(split("nginx:1"), ("nginx", "1", ""));
        assert_eq!(split("host:80/nginx:1@sha256:f"), ("host:80/nginx", "1", "sha256:f"));
        assert_eq!(split("host:80/nginx@sha256:f"), ("host:80/nginx", "", "sha256:f"));
        assert_eq!(split("host:80/nginx"), ("host:80/nginx", "", ""));
    }

    #[test]
    fn plain_names_fit_as_their_regular_expressions_do() {
        let names = ["nginx", "a.b/c", "docker.io/nginx", "x"];
        let images = [
            "nginx",
            "nginx:",
            "nginx:1.0_{TAG}-x",
            "nginx:a:b",
            "nginx@sha256:0f",
            "nginx:1@sha256:0f",
            "nginx@sha256",
            "nginx@:f",
            "nginx@sha2+b.c:f",
            "nginx@a..b:f",
            "nginxx",
            "a/nginx",
            "a.b/c:1",
            "aXb/c",
            "a/b/c",
            "docker.io/nginx",
            "x/y",
            "",
            "x:é",
        ];
        for name in names {
            let image = Image { name: Text::from(name).into(), ..Image::default() };
            let regex = go_regex::compile(&format!("^{name}{TAIL}")).unwrap();
            for text in images {
                assert_eq!(
                    Pattern::new(image.clone().into()).fits(text),
                    regex.is_match(text),
                    "{name} in {text}"
                );
            }
        }
    }
}
