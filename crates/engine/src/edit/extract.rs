//! `extract`: an entry that is written in a kustomization goes to a file of its own; and back.

use krm_yaml::emit::preserve;
use krm_yaml::{Document, Node, Result, Style};

use super::{File, bad_argument, fields, missing};
use crate::files::world::Loader;

impl File {
    /// Puts the path of a file into an entry such as `patches[0]`, and gives what it says now, which is the text of the file.
    pub fn extract(&mut self, entry: &str, path: &str) -> Result<String> {
        let (field, index) = self.entry(entry)?;
        let item = &fields::items(self.root(), field)[index];
        let is_written = |text: &&str| text.contains('\n');
        let text = match field {
            "patches" | "patchesJson6902" => {
                fields::get(item, "patch").and_then(Node::text).map(str::to_owned)
            }
            "patchesStrategicMerge" | "generators" | "transformers" | "validators" => {
                item.as_str().filter(is_written).map(str::to_owned)
            }
            "replacements" if fields::get(item, "path").is_none() => {
                Some(preserve::stream(&[Document::made(item.clone())]))
            }
            "replacements" => None,
            _ => return Err(bad_argument(format!("entries of `{field}` cannot be in files"))),
        };
        let Some(mut text) = text else {
            return Err(missing(format!("`{entry}` is not written in `{}`", self.shown()))
                .help("it names a file already"));
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let items = fields::get_mut(self.root_mut(), field).and_then(Node::as_seq_mut);
        let Some(item) = items.and_then(|items| items.get_mut(index)) else { return Ok(text) };
        match item.as_map_mut() {
            None => name(item, path),
            Some(map) => match fields::position(map, "patch") {
                Some(at) => {
                    map.rename(at, "path");
                    name(map.value_at_mut(at), path);
                }
                None => item.assign([("path", path)].into_iter().collect()),
            },
        }
        Ok(text)
    }

    /// Puts the text of the file that a patch such as `patches[0]` names in the place of its path, and gives the path.
    pub(crate) fn inline_patch(&mut self, entry: &str) -> Result<String> {
        let (field, index) = self.entry(entry)?;
        let item = &fields::items(self.root(), field)[index];
        let path = match field {
            "patches" | "patchesJson6902" => fields::text(item, "path"),
            "patchesStrategicMerge" => item.as_str().filter(|text| !text.contains('\n')).unwrap_or_default(),
            _ => return Err(bad_argument(format!("`{entry}` is not a patch"))),
        };
        if path.is_empty() {
            return Err(missing(format!("`{entry}` does not name a file")));
        }
        let path = path.to_owned();
        let text = self.folder().load(&path, item.span())?.text().replace("\r\n", "\n");
        let items = fields::get_mut(self.root_mut(), field).and_then(Node::as_seq_mut);
        let Some(item) = items.and_then(|items| items.get_mut(index)) else { return Ok(path) };
        let value = match item.as_map_mut() {
            None => item,
            Some(map) => {
                let Some(at) = fields::position(map, "path") else { return Ok(path) };
                map.rename(at, "patch");
                map.value_at_mut(at)
            }
        };
        value.assign(Node::from(text.strip_suffix('\n').unwrap_or(&text)));
        value.set_style(Style::Literal);
        Ok(path)
    }

    /// The field and the number of an entry that exists.
    fn entry<'e>(&self, entry: &'e str) -> Result<(&'e str, usize)> {
        let parts = entry.strip_suffix(']').and_then(|entry| entry.split_once('['));
        let Some((field, index)) = parts.and_then(|(field, index)| Some((field, index.parse().ok()?))) else {
            return Err(bad_argument(format!("`{entry}` does not name an entry"))
                .help("write it as `patches[0]`, with the first entry as 0"));
        };
        let count = fields::items(self.root(), field).len();
        if index < count {
            return Ok((field, index));
        }
        let has = match count {
            0 => "no entries".to_owned(),
            1 => "one entry, number 0".to_owned(),
            several => format!("{several} entries, the last has number {}", several - 1),
        };
        Err(missing(format!("there is no `{entry}` in `{}`", self.shown()))
            .help(format!("`{field}` has {has}")))
    }
}

/// Puts a path where a block of text was.
fn name(node: &mut Node, path: &str) {
    node.assign(Node::from(path));
    node.set_style(Style::Plain);
}
