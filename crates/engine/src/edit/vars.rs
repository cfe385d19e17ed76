//! `fix --vars`: `vars` become `replacements`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use krm_yaml::{Diagnostic, Node, Result};

use super::{File, fields};
use crate::files::world::Loader;
use crate::kustomization::FILE_NAMES;

/// Texts that change beside the kustomization: the name shown, before and after.
pub(crate) type Texts = BTreeMap<PathBuf, (String, String, String)>;

impl File {
    /// Makes a replacement of each var, with a target for each field that holds `$(NAME)`. The files that hold it get a
    /// placeholder, since a replacement takes the place of what is there. Says whether there were any vars.
    ///
    /// The resources are those of this kustomization and of the folders it names, and files of patches.
    pub fn fix_vars(&mut self, texts: &mut Texts) -> Result<bool> {
        let vars = fields::items(self.root(), "vars").to_vec();
        if vars.is_empty() {
            return Ok(false);
        }
        let mut files = Vec::new();
        self.touched(self.root(), "", &mut files);
        let mut replacements = fields::items(self.root(), "replacements").to_vec();
        for var in &vars {
            let name = fields::text(var, "name").to_owned();
            let mut targets = Vec::new();
            for touched in &files {
                self.targets(&name, touched, texts, &mut targets)?;
            }
            let mut replacement = Node::map();
            replacement.set("source", source(var));
            if !targets.is_empty() {
                replacement.set("targets", Node::from(targets));
            }
            replacements.push(replacement);
        }
        let root = self.root_mut();
        fields::remove(root, "vars");
        fields::set(root, "replacements", Node::from(replacements));
        Ok(true)
    }

    /// The files of resources and patches, here and in folders that are named.
    fn touched(&self, root: &Node, folder: &str, files: &mut Vec<Touched>) {
        let join = |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
        let world = &self.folder().files().world;
        for list in ["resources", "bases"] {
            for path in fields::items(root, list).iter().filter_map(Node::text) {
                let (path, full) = (join(path), self.folder().root().join(join(path)));
                if !world.is_dir(&full) {
                    files.push(Touched { path, selector: None });
                    continue;
                }
                let below = FILE_NAMES.iter().map(|name| full.join(name)).find(|file| world.is_file(file));
                let text = below.and_then(|file| krm_yaml::decode(world.read(&file).ok()?).ok());
                let documents = text.and_then(|text| krm_yaml::parse_str(&text).ok()).unwrap_or_default();
                if let Some(document) = documents.first() {
                    self.touched(&document.root, &path, files);
                }
            }
        }
        for patch in fields::items(root, "patches") {
            let path = fields::text(patch, "path");
            if !path.is_empty() {
                let selector = fields::get(patch, "target").cloned().unwrap_or_else(Node::map);
                files.push(Touched { path: join(path), selector: Some(selector) });
            }
        }
    }

    /// The fields of a file that hold a var, as targets; and the file with placeholders.
    fn targets(
        &self,
        var: &str,
        touched: &Touched,
        texts: &mut Texts,
        targets: &mut Vec<Node>,
    ) -> Result<()> {
        let place = self.folder().root().join(&touched.path);
        let place = self.folder().files().world.real_path(&place).unwrap_or(place);
        if !texts.contains_key(&place) {
            let Some(text) =
                self.folder().files().world.read(&place).ok().and_then(|bytes| krm_yaml::decode(bytes).ok())
            else {
                return Ok(());
            };
            texts.insert(place.clone(), (touched.path.clone(), text.clone(), text));
        }
        let Some((_, _, text)) = texts.get_mut(&place) else { return Ok(()) };
        let written = format!("$({var})");
        if !text.contains(&written) {
            return Ok(());
        }
        for document in krm_yaml::parse_str(text)? {
            let mut found = Vec::new();
            find(&document.root, &written, &mut Vec::new(), &mut found)?;
            for (path, options) in found {
                let mut target = Node::map();
                target.set("select", touched.selector.clone().unwrap_or_else(|| identity(&document.root)));
                target.set("fieldPaths", Node::from(vec![Node::from(path)]));
                if let Some(options) = options {
                    target.set("options", options);
                }
                targets.push(target);
            }
        }
        *text = text.replace(&written, &format!("{var}_PLACEHOLDER"));
        Ok(())
    }
}

struct Touched {
    path: String,
    /// What a patch applies to.
    selector: Option<Node>,
}

fn source(var: &Node) -> Node {
    let reference = fields::get(var, "objref").cloned().unwrap_or_else(Node::map);
    let mut source = Node::map();
    let api_version = fields::text(&reference, "apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let field =
        fields::get(var, "fieldref").map(|field| fields::text(field, "fieldPath")).unwrap_or_default();
    for (key, value) in [
        ("group", group),
        ("version", version),
        ("kind", fields::text(&reference, "kind")),
        ("name", fields::text(&reference, "name")),
        ("namespace", fields::text(&reference, "namespace")),
        ("fieldPath", field),
    ] {
        fields::set_text(&mut source, key, value);
    }
    source
}

/// A selector for one resource.
fn identity(resource: &Node) -> Node {
    let text = |path: &[&str]| resource.at(path.iter().copied()).and_then(Node::text).unwrap_or_default();
    let api_version = text(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let mut select = Node::map();
    for (key, value) in [
        ("group", group),
        ("version", version),
        ("kind", text(&["kind"])),
        ("name", text(&["metadata", "name"])),
        ("namespace", text(&["metadata", "namespace"])),
    ] {
        fields::set_text(&mut select, key, value);
    }
    select
}

/// The ways to scalars that hold a var, and how it is parted from what is around it.
fn find(
    node: &Node,
    var: &str,
    way: &mut Vec<String>,
    found: &mut Vec<(String, Option<Node>)>,
) -> Result<()> {
    if let Some(text) = node.text().filter(|text| text.contains(var)) {
        found.push((way.join("."), options(text, var).map_err(|error| error.at(node.span()))?));
    }
    for (at, item) in node.items().iter().enumerate() {
        way.push(at.to_string());
        find(item, var, way, found)?;
        way.pop();
    }
    for entry in node.as_map().into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        way.push(if key.contains('.') { format!("[{key}]") } else { key.to_owned() });
        find(&entry.value, var, way, found)?;
        way.pop();
    }
    Ok(())
}

/// The delimiter and the index of a var within a text; nothing if it is the whole text.
fn options(text: &str, var: &str) -> Result<Option<Node>> {
    if text == var {
        return Ok(None);
    }
    let at = text.find(var).unwrap_or_default();
    let (before, after) = (text[..at].chars().next_back(), text[at + var.len()..].chars().next());
    let delimiter = match (before, after) {
        (None, Some(one)) | (Some(one), None) => one,
        (Some(before), Some(after)) if before == after => before,
        _ => {
            let message = format!("`{var}` has different characters before and after it");
            return Err(Diagnostic::error("var-not-delimited", message)
                .help("a replacement cannot take its place: change the text, or keep `vars`"));
        }
    };
    let index = text.split(delimiter).position(|part| part == var);
    let index = match (index, before) {
        (Some(index), _) => index,
        (None, None) => 0,
        (None, Some(_)) => text.split(delimiter).count() - 1,
    };
    let mut options = Node::map();
    options.set("delimiter", delimiter.to_string());
    if index > 0 {
        options.set("index", index as i64);
    }
    Ok(Some(options))
}
