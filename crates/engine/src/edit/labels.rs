//! Labels and annotations for all resources.

use krm_yaml::{Node, Result};

use super::{File, bad_argument, exists, fields, missing};

/// `commonLabels` or `commonAnnotations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// The field `commonLabels`.
    Labels,
    /// The field `commonAnnotations`.
    Annotations,
}

impl Common {
    fn field(self) -> &'static str {
        match self {
            Common::Labels => "commonLabels",
            Common::Annotations => "commonAnnotations",
        }
    }

    fn item(self) -> &'static str {
        match self {
            Common::Labels => "label",
            Common::Annotations => "annotation",
        }
    }
}

/// What to do about a label or an annotation that is already set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is an error.
    Refuse,
    /// It gets the new value: `--force`.
    Overwrite,
}

/// Whether the templates of pods get a label, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Templates {
    /// `includeTemplates: true`.
    Included,
    /// Only the resource itself gets it.
    LeftAlone,
}

/// A key and a value, written `key:value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The part before the colon.
    pub key: String,
    /// The part after it, without double quotes around it; empty if there is none.
    pub value: String,
}

impl Pair {
    /// Reads `key:value` or `key`.
    // quirk(edit-drops-quotes-around-values): `kustomize edit` drops one pair of double quotes around the value of a
    // label or an annotation. (kustomize `util.trimQuotes`)
    pub(crate) fn parse(text: &str, kind: Common) -> Result<Self> {
        let (key, value) = text.split_once(':').unwrap_or((text, ""));
        if key.is_empty() {
            let message = format!("`{text}` is not a valid {}", kind.item());
            return Err(bad_argument(message).help("write it as `key:value`; the value may be quoted"));
        }
        let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Ok(Self { key: key.into(), value: bare.unwrap_or(value).into() })
    }

    /// Reads several. Of equal keys the last one counts.
    pub fn parse_all(texts: &[String], kind: Common) -> Result<Vec<Self>> {
        let mut pairs: Vec<Self> = Vec::new();
        for text in texts {
            let pair = Self::parse(text, kind)?;
            pairs.retain(|other| other.key != pair.key);
            pairs.push(pair);
        }
        Ok(pairs)
    }

    /// Whether the key is one Kubernetes takes: `name` or `domain/name`.
    fn has_valid_key(&self) -> bool {
        let is_name = |text: &str| {
            let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            text.len() <= 63
                && ends(text.chars().next())
                && ends(text.chars().next_back())
                && text.chars().all(inside)
        };
        let is_domain = |text: &str| {
            text.len() <= 253
                && text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.ends_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
        };
        match self.key.split_once('/') {
            Some((domain, name)) => is_domain(domain) && is_name(name),
            None => is_name(&self.key),
        }
    }
}

impl File {
    /// Adds labels or annotations.
    pub fn add_common(&mut self, kind: Common, pairs: &[Pair], existing: Existing) -> Result<()> {
        for pair in pairs {
            put(self.root_mut(), kind.field(), kind, pair, existing)?;
        }
        if kind == Common::Labels && self.is_changed() {
            self.note("`commonLabels` is deprecated, and changes selectors too: `krm edit add label --without-selector` adds to `labels` instead");
        }
        Ok(())
    }

    /// Sets labels or annotations, there or not.
    pub fn set_common(&mut self, kind: Common, pairs: &[Pair]) -> Result<()> {
        if let (Common::Annotations, Some(bad)) = (kind, pairs.iter().find(|pair| !pair.has_valid_key())) {
            let message = format!("`{}` is not a valid annotation key", bad.key);
            return Err(bad_argument(message).help(
                "it is a name of up to 63 letters, digits, `-`, `_` and `.`, after `domain/` if it has one",
            ));
        }
        self.add_common(kind, pairs, Existing::Overwrite)
    }

    /// Adds labels to an entry of `labels:` that leaves selectors alone, or to a new one.
    pub fn add_labels_without_selector(
        &mut self,
        pairs: &[Pair],
        templates: Templates,
        existing: Existing,
    ) -> Result<()> {
        let has_templates = templates == Templates::Included;
        let is_on = |entry: &Node, name: &str| fields::get(entry, name).and_then(Node::as_bool) == Some(true);
        let suits = |entry: &Node| {
            !is_on(entry, "includeSelectors") && is_on(entry, "includeTemplates") == has_templates
        };
        if !fields::items(self.root(), "labels").iter().any(suits) {
            let mut entry = Node::map();
            if has_templates {
                entry.set("includeTemplates", true);
            }
            entry.set("pairs", Node::map());
            fields::push(self.root_mut(), "labels", entry);
        }
        let entries = fields::get_mut(self.root_mut(), "labels").and_then(Node::as_seq_mut);
        let Some(entry) = entries.and_then(|entries| entries.iter_mut().find(|entry| suits(entry))) else {
            return Ok(());
        };
        pairs.iter().try_for_each(|pair| put(entry, "pairs", Common::Labels, pair, existing))
    }

    /// Removes labels or annotations; one that does not exist is an error unless `lenient`.
    pub fn remove_common(&mut self, kind: Common, keys: &[&str], lenient: bool) -> Result<()> {
        for key in keys {
            if key.is_empty() {
                return Err(bad_argument(format!("the name of {} is empty", article(kind)))
                    .help("separate several by commas, without spaces"));
            }
            let field = kind.field();
            let pairs = fields::get_mut(self.root_mut(), field);
            match pairs.and_then(|pairs| pairs.remove(key)) {
                Some(_) => {}
                None if lenient => {}
                None => {
                    return Err(missing(format!("{} `{key}` is not in `{field}`", kind.item()))
                        .help("to remove it only if it is there, pass `--ignore-non-existence`"));
                }
            }
            if fields::get(self.root(), field).is_some_and(|pairs| pairs.is_empty()) {
                fields::remove(self.root_mut(), field);
            }
        }
        self.keep_a_document();
        Ok(())
    }
}

fn article(kind: Common) -> &'static str {
    match kind {
        Common::Labels => "a label",
        Common::Annotations => "an annotation",
    }
}

/// Puts a pair into a map of a node.
fn put(node: &mut Node, field: &str, kind: Common, pair: &Pair, existing: Existing) -> Result<()> {
    let Some(map) = fields::make(node, field, Node::map()) else { return Ok(()) };
    match map.get(&pair.key) {
        Some(there) if existing == Existing::Refuse => {
            let message = format!("{} `{}` is already in the kustomization", kind.item(), pair.key);
            Err(exists(message, there.span()).help("`--force` overwrites it"))
        }
        // Untouched, so that it stays the same to the last byte.
        Some(there) if there.as_str() == Some(&pair.value) => Ok(()),
        _ => {
            map.set(&pair.key, Node::from(&pair.value));
            Ok(())
        }
    }
}
