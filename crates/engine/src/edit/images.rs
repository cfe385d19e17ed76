//! `set image`: other names, tags and digests for images.

use krm_yaml::{Diagnostic, Node, Result};

use super::{File, bad_argument, fields};
use crate::kpt::is_reference;
use crate::transformers::split_image;

/// What an argument of `set image` asks for. `*` keeps what the kustomization says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    /// The image, by the name that resources have for it.
    pub name: String,
    new_name: String,
    new_tag: String,
    digest: String,
}

impl ImageChange {
    /// Reads `image=newimage:newtag@digest`, any part after the image optional but not all, or `image:newtag@digest`.
    pub fn parse(text: &str) -> Result<Self> {
        let (image, rest) = match text.split_once('=') {
            Some((image, rest)) => (Some(image), rest),
            None => (None, text),
        };
        let (name, tag, digest) = split_image(rest);
        if name == text {
            return Err(bad_argument(format!("`{text}` says nothing new about an image")).help(
                "write `IMAGE=NEWIMAGE`, `IMAGE:NEWTAG` or `IMAGE@DIGEST`, or a mix: `IMAGE=NEWIMAGE:NEWTAG@DIGEST`",
            ));
        }
        let (name, new_name) = match image {
            Some(image) => (image, name),
            None => (name, ""),
        };
        if name.is_empty() {
            return Err(bad_argument(format!("`{text}` does not name an image"))
                .help("write the name that resources have first: `IMAGE=NEWIMAGE`, `IMAGE:NEWTAG` or `IMAGE@DIGEST`"));
        }
        Ok(Self { name: name.into(), new_name: new_name.into(), new_tag: tag.into(), digest: digest.into() })
    }

    /// What is probably wrong with it. No more than a warning: scripts rely on what is written.
    fn doubt(&self) -> Option<Diagnostic> {
        let Self { name, new_name, new_tag, digest } = self;
        let warning = |message: String| Diagnostic::warning("edit-image", message);
        if self.fields().iter().all(|(_, value)| value.is_empty()) {
            let message = format!("no name, tag or digest is given for `{name}`: its entry changes nothing");
            return Some(warning(message).help(format!("write a tag after the colon: `{name}:1.2.3`")));
        }
        if new_tag.is_empty() && digest.is_empty() && is_version(new_name) {
            let message = format!("`{new_name}` is now the name of the image `{name}`, not its tag");
            return Some(warning(message).help(format!("for the tag write `{name}:{new_name}`")));
        }
        let part = |mark: &str, value: &str| match value {
            "" | "*" => String::new(),
            value => format!("{mark}{value}"),
        };
        let name = if matches!(new_name.as_str(), "" | "*") { name } else { new_name };
        let image = format!("{name}{}{}", part(":", new_tag), part("@", digest));
        (name != "*" && !is_reference(&image)).then(|| {
            warning(format!("`{image}` is not a valid image")).help(
                "an image is a name in lower case, `:` and a tag of letters, digits, `_`, `.` and `-`, or `@` and a digest",
            )
        })
    }

    /// Its fields, in the order people write them.
    fn fields(&self) -> [(&'static str, &str); 3] {
        [("newName", &self.new_name), ("newTag", &self.new_tag), ("digest", &self.digest)]
    }
}

/// Whether a text is a version such as `1.2` or `v1.2.3-rc.1`, and so hardly the name of an image.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text).split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    number.contains('.') && number.split('.').all(is_number)
}

const LISTS: [&str; 2] = ["images", "imageTags"];

impl File {
    /// Sets what is done to images, each in its place in the list; new ones come in the order of their names.
    pub fn set_images(&mut self, mut changes: Vec<ImageChange>) {
        changes.sort_by(|one, other| one.name.cmp(&other.name));
        self.warnings.extend(changes.iter().filter_map(ImageChange::doubt));
        changes.iter().for_each(|change| self.set_image(change));
    }

    /// Moves the tag or digest at the end of a `newName` to the field that is made for it, of the entry in which a byte of
    /// the file is. Says which field, unless the entry has one already.
    pub(crate) fn move_tag_of_new_name(&mut self, at: u32) -> Option<&'static str> {
        let is_there = |item: &Node| item.span().start <= at && at < item.span().end;
        let index = fields::items(self.root(), LISTS[0]).iter().position(is_there)?;
        let item = &fields::items(self.root(), LISTS[0])[index];
        let (name, tag, digest) = split_image(fields::text(item, "newName"));
        let (field, value) = if digest.is_empty() { ("newTag", tag) } else { ("digest", digest) };
        let is_free =
            ["newTag", "digest", "tagSuffix"].iter().all(|field| fields::text(item, field).is_empty());
        if !is_free || value.is_empty() || !tag.is_empty() && !digest.is_empty() {
            return None;
        }
        let (name, value) = (name.to_owned(), value.to_owned());
        let item = fields::get_mut(self.root_mut(), LISTS[0])?.as_seq_mut()?.get_mut(index)?;
        fields::set_text(item, "newName", &name);
        fields::set_text(item, field, &value);
        Some(field)
    }

    fn set_image(&mut self, change: &ImageChange) {
        let is_it = |item: &Node| fields::text(item, "name") == change.name;
        let mut found = false;
        for list in LISTS {
            let count = fields::items(self.root(), list).iter().filter(|item| is_it(item)).count();
            if count == 0 {
                continue;
            }
            let items = fields::get_mut(self.root_mut(), list).and_then(Node::as_seq_mut);
            let Some(items) = items else { continue };
            if !found && let Some(item) = items.iter_mut().find(|item| is_it(item)) {
                update(item, change);
            }
            // A second entry for the same image would have the last word.
            let mut kept = usize::from(!found);
            if count > kept {
                items.retain(|item| !is_it(item) || std::mem::take(&mut kept) == 1);
            }
            found = true;
        }
        if !found {
            let mut item = Node::map();
            item.set("name", change.name.as_str());
            for (field, value) in change.fields().into_iter().filter(|(_, value)| !matches!(*value, "" | "*"))
            {
                item.set(field, value);
            }
            fields::push_by_name(self.root_mut(), LISTS[0], item);
        }
    }
}

/// An entry says what the argument says and no more; only `*` keeps a part.
fn update(item: &mut Node, change: &ImageChange) {
    for (field, value) in change.fields() {
        if value != "*" {
            fields::set_text(item, field, value);
        }
    }
    fields::remove(item, "tagSuffix");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_as_the_reference_splits_them() {
        for (text, parts) in [
            ("nginx:1.27", ["nginx", "", "1.27", ""]),
            ("nginx=example.com:5000/nginx:1.27", ["nginx", "example.com:5000/nginx", "1.27", ""]),
            ("nginx@sha256:24a0", ["nginx", "", "", "sha256:24a0"]),
            ("nginx=my:1@sha256:24a0", ["nginx", "my", "1", "sha256:24a0"]),
            ("nginx=*:1", ["nginx", "*", "1", ""]),
            ("nginx=mine", ["nginx", "mine", "", ""]),
        ] {
            let change = ImageChange::parse(text).unwrap();
            assert_eq!([&change.name, &change.new_name, &change.new_tag, &change.digest], parts, "{text}");
        }
        for text in ["nginx", "", "=mine", ":1.27", "@sha256:24a0", "=:1"] {
            assert_eq!(ImageChange::parse(text).unwrap_err().code(), "edit-argument", "{text}");
        }
    }
    #[test]
    fn what_is_probably_not_meant_is_noticed() {
        for text in [
            "api:",
            "api@",
            "api=",
            "api=1.2",
            "api=v1.2.3-rc.1",
            "a:b:c",
            "api:no spaces",
            "api=x y:1",
            "api@sha256:24a0",
        ] {
            assert!(ImageChange::parse(text).unwrap().doubt().is_some(), "{text}");
        }
        let digest = format!("api@sha256:{}", "0".repeat(64));
        for text in
            ["api:1.2", "api=mine", "api=mine2:1", "api=host:5000/a_b/c.d:v1", "api=*:1", "*:1", &digest]
        {
            let doubt = ImageChange::parse(text).unwrap().doubt();
            assert!(doubt.is_none(), "{text}: {doubt:?}");
        }
    }
}
