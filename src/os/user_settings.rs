//! `krm/krm.toml` in the user's folder for settings: servers that all of this user's runs use.
//!
//! ```toml
//! [remote]
//! cache = "https://cache.example.com"
//! header = ["Authorization=Bearer ..."]
//! ```
//!
//! A key says what the variable `KRM_REMOTE_...` of the same name says, and variables and flags win. No file in
//! a repository can set any of this: a repository must not choose where its outputs are sent or its functions run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use krm_engine::{Diagnostic, Result};
use toml::de::{DeTable, DeValue};

/// What is before a key in the name of its variable.
const PREFIX: &str = "KRM_REMOTE_";

/// The keys, and what their values are.
const KEYS: [(&str, Kind); 16] = [
    ("cache", Kind::Text),
    ("credential-helper", Kind::Path),
    ("exec-properties", Kind::Texts(",")),
    ("executables", Kind::Switch),
    ("executor", Kind::Text),
    ("header", Kind::Texts("\n")),
    ("instance-name", Kind::Text),
    ("jobs", Kind::Number),
    ("local-fallback", Kind::Switch),
    ("retries", Kind::Number),
    ("timeout", Kind::Text),
    ("tls-ca", Kind::Path),
    ("tls-cert", Kind::Path),
    ("tls-key", Kind::Path),
    ("trust-sandbox", Kind::Switch),
    ("upload", Kind::Switch),
];

#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// Relative to the folder of the file, unless it is a name without a slash.
    Path,
    /// A list, which the variable separates by this.
    Texts(&'static str),
    Switch,
    Number,
}

impl Kind {
    fn expected(self) -> &'static str {
        match self {
            Self::Text | Self::Path => "a text in quotes",
            Self::Texts(_) => "a list of texts, as in `[\"NAME=VALUE\"]`",
            Self::Switch => "`true` or `false`",
            Self::Number => "a number",
        }
    }

    /// The value as its variable would have it.
    fn read(self, value: &DeValue, folder: &Path) -> Option<String> {
        match (self, value) {
            (Self::Text, DeValue::String(text)) => Some(text.to_string()),
            (Self::Path, DeValue::String(text)) if text.contains('/') => {
                Some(folder.join(&**text).to_string_lossy().into_owned())
            }
            (Self::Path, DeValue::String(text)) => Some(text.to_string()),
            (Self::Texts(separator), DeValue::Array(all)) => {
                let all: Option<Vec<&str>> = all.iter().map(|one| one.get_ref().as_str()).collect();
                all.map(|all| all.join(separator))
            }
            (Self::Switch, DeValue::Boolean(on)) => Some(on.to_string()),
            (Self::Number, DeValue::Integer(number)) => Some(number.to_string()),
            _ => None,
        }
    }
}

type Settings = BTreeMap<&'static str, String>;

/// The value for a variable that is not set.
pub fn instead_of(variable: &str) -> Option<String> {
    let key = variable.strip_prefix(PREFIX)?.to_ascii_lowercase().replace('_', "-");
    all().as_ref().ok()?.get(&*key).cloned()
}

/// Whether the file can be used, if there is one.
pub fn check() -> Result<()> {
    all().as_ref().map(|_| ()).map_err(Clone::clone)
}

/// What the file says; it is read once.
fn all() -> &'static Result<Settings> {
    static ALL: OnceLock<Result<Settings>> = OnceLock::new();
    ALL.get_or_init(|| match super::environment::config_dir() {
        Some(folder) => read(&folder.join("krm.toml")),
        None => Ok(Settings::new()),
    })
}

fn read(file: &Path) -> Result<Settings> {
    let unusable = |why: String| {
        Diagnostic::error("user-settings-unusable", format!("`{}` cannot be used: {why}", file.display()))
    };
    let bytes = match super::read_with_metadata(file) {
        Ok((bytes, meta)) if is_private(&meta) => bytes,
        Ok(_) => {
            let error = unusable("other users can write to it, or it is theirs".into());
            return Err(error.help(format!("run `chmod go-w '{}'` if it is yours", file.display())));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Settings::new()),
        // A folder that this user may not look into holds none of their settings: `HOME` may be another user's.
        Err(error)
            if error.kind() == std::io::ErrorKind::PermissionDenied && file.symlink_metadata().is_err() =>
        {
            return Ok(Settings::new());
        }
        Err(error) => return Err(unusable(error.to_string())),
    };
    let text = String::from_utf8(bytes).map_err(|_| unusable("it is not UTF-8".into()))?;
    parse(&text, file.parent().unwrap_or(Path::new("/"))).map_err(unusable)
}

fn parse(text: &str, folder: &Path) -> std::result::Result<Settings, String> {
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let root = DeTable::parse(text).map_err(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        format!("{message} (line {})", line(error.span().unwrap_or_default().start))
    })?;
    let mut settings = Settings::new();
    for (key, value) in root.get_ref() {
        let DeValue::Table(remote) = value.get_ref() else {
            return Err(format!("line {}: expected `[remote]`", line(key.span().start)));
        };
        if key.get_ref() != "remote" {
            return Err(format!(
                "line {}: expected `[remote]`, not `[{}]`",
                line(key.span().start),
                key.get_ref()
            ));
        }
        for (key, value) in remote {
            let at = line(key.span().start);
            let Some((name, kind)) = KEYS.iter().find(|(name, _)| key.get_ref() == name) else {
                let names = KEYS.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "line {at}: `{}` is not a key of `[remote]`; those are {names}",
                    key.get_ref()
                ));
            };
            // The value may be a secret: it is not shown.
            let value = kind.read(value.get_ref(), folder);
            let value = value.ok_or_else(|| format!("line {at}: `{name}` is {}", kind.expected()))?;
            settings.insert(name, value);
        }
    }
    Ok(settings)
}

/// Whether a file is this user's, and nobody else can write to it.
fn is_private(meta: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        meta.uid() == super::system::user() && meta.mode() & 0o022 == 0
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_variables_say() {
        let text = "[remote]\ncache = 'https://a'\nheader = ['A=1', 'B=2']\nupload = true\njobs = 8\ntls-ca = 'certs/ca.pem'\n\
                    tls-key = '/k.pem'\ncredential-helper = 'helper'\n";
        let settings = parse(text, Path::new("/home/me/.config/krm")).unwrap();
        let expected = [
            ("cache", "https://a"),
            ("credential-helper", "helper"),
            ("header", "A=1\nB=2"),
            ("jobs", "8"),
            ("tls-ca", "/home/me/.config/krm/certs/ca.pem"),
            ("tls-key", "/k.pem"),
            ("upload", "true"),
        ];
        assert_eq!(settings, Settings::from(expected.map(|(key, value)| (key, value.to_owned()))));
        assert_eq!(parse("", Path::new("/")), Ok(Settings::new()));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line() {
        for (text, why) in [
            ("[remote", "line 1"),
            ("\ncache = 'x'\n", "line 2: expected `[remote]`"),
            ("[lint]\n", "not `[lint]`"),
            ("[remote]\ncahce = 'x'\n", "line 2: `cahce` is not a key"),
            ("[remote]\nupload = 'yes'\n", "line 2: `upload` is `true` or `false`"),
            ("[remote]\nheader = 'A=secret'\n", "line 2: `header` is a list"),
        ] {
            let said = parse(text, Path::new("/")).unwrap_err();
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
        }
    }
}
