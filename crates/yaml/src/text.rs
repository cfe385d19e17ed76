//! The text of scalars and keys.

use std::borrow::{Borrow, Cow};
use std::ffi::OsStr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::path::Path;
use std::str::FromStr;

use lean_string::LeanString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text of a scalar or a key: up to 16 bytes in place, shared beyond.
///
/// A clone never copies a long text, and a text that is edited is copied first if others share it. It derefs to `str`,
/// so that everything a `&str` can do, it can.
///
/// ```
/// use krm_yaml::Text;
/// let name = Text::from("web");
/// let mut longer = name.clone();
/// longer.push_str("-canary");
/// assert_eq!((name.as_str(), &*longer), ("web", "web-canary"));
/// ```
// A type of our own: how the bytes are kept is nobody's business, and may change.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Text(LeanString);

impl Text {
    /// Returns the empty text.
    #[inline]
    pub const fn new() -> Self {
        Self(LeanString::new())
    }

    /// Returns a text that lives as long as the program, without copying it.
    #[inline]
    pub const fn from_static_str(text: &'static str) -> Self {
        Self(LeanString::from_static_str(text))
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Appends a text.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Appends a character.
    #[inline]
    pub fn push(&mut self, c: char) {
        self.0.push(c);
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.0.as_str()
    }
}

/// As of the `str`: maps keyed by texts are searched by `&str`.
impl Hash for Text {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

impl Borrow<str> for Text {
    #[inline]
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<str> for Text {
    #[inline]
    fn as_ref(&self) -> &str {
        self
    }
}

impl AsRef<Path> for Text {
    #[inline]
    fn as_ref(&self) -> &Path {
        self.as_str().as_ref()
    }
}

impl AsRef<OsStr> for Text {
    #[inline]
    fn as_ref(&self) -> &OsStr {
        self.as_str().as_ref()
    }
}

impl AsRef<[u8]> for Text {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Equal to every kind of string, from both sides.
macro_rules! equal_to {
    ($($other:ty),*) => {$(
        impl PartialEq<$other> for Text {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                self.as_str() == <$other as AsRef<str>>::as_ref(other)
            }
        }

        impl PartialEq<Text> for $other {
            #[inline]
            fn eq(&self, other: &Text) -> bool {
                <$other as AsRef<str>>::as_ref(self) == other.as_str()
            }
        }
    )*};
}
equal_to!(str, &str, String, Cow<'_, str>);

/// Made of every kind of string.
macro_rules! made_of {
    ($($other:ty),*) => {$(
        impl From<$other> for Text {
            #[inline]
            fn from(text: $other) -> Self {
                Self(LeanString::from(text))
            }
        }
    )*};
}
made_of!(&str, String, &String, Cow<'_, str>, Box<str>, char);

impl From<&Text> for Text {
    #[inline]
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

impl From<Text> for String {
    #[inline]
    fn from(text: Text) -> Self {
        text.0.into()
    }
}

impl From<&Text> for String {
    #[inline]
    fn from(text: &Text) -> Self {
        text.as_str().to_owned()
    }
}

impl FromStr for Text {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.into())
    }
}

impl FromIterator<char> for Text {
    fn from_iter<I: IntoIterator<Item = char>>(chars: I) -> Self {
        Self(chars.into_iter().collect())
    }
}

impl<'a> FromIterator<&'a str> for Text {
    fn from_iter<I: IntoIterator<Item = &'a str>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl fmt::Display for Text {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for Text {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Text {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LeanString::deserialize(deserializer).map(Self)
    }
}
