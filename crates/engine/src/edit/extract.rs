//! `extract`: an entry that is written in a kustomization goes to a file of its own.

use krm_yaml::emit::preserve;
use krm_yaml::{Document, Node, Result, Style};

use super::{File, bad_argument, fields, missing};

impl File {
    /// Puts the path of a file into an entry such as `patches[0]`, and gives what it says now, which is the text of the file.
    pub fn extract(&mut self, entry: &str, path: &str) -> Result<String> {
        let parts = entry.strip_suffix(']').and_then(|entry| entry.split_once('['));
        let Some((field, index)) = parts.and_then(|(field, index)| Some((field, index.parse().ok()?))) else {
            return Err(bad_argument(format!("`{entry}` does not name an entry"))
                .help("write it as `patches[0]`, with the first entry as 0"));
        };
        let entries = fields::items(self.root(), field);
        let Some(item) = entries.get::<usize>(index) else {
            let has = match entries.len() {
                0 => "no entries".to_owned(),
                1 => "one entry, number 0".to_owned(),
                several => format!("{several} entries, the last has number {}", several - 1),
            };
            return Err(missing(format!("there is no `{entry}` in `{}`", self.shown()))
                .help(format!("`{field}` has {has}")));
        };
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
}

/// Puts a path where a block of text was.
fn name(node: &mut Node, path: &str) {
    node.assign(Node::from(path));
    node.set_style(Style::Plain);
}
