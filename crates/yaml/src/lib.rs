//! A YAML tree that loses nothing.
//!
//! Reading keeps comments, styles and the location of every value. There are two ways to write: in the form the text had,
//! where only the lines that an edit had to change differ, and in canonical form, byte for byte as the Go programs print it
//! that most configuration is made with.
//!
//! ```
//! use krm_yaml::path::{Missing, Path};
//! use krm_yaml::{Node, canonical, parse_str};
//!
//! let text = "\
//! ## The front door.
//! title: Gate
//! server: {name: web}    # the name everyone uses
//! listen:
//!     ports:
//!     - {name: http, port: 80}   # behind the proxy
//! ";
//! let mut documents = parse_str(text)?;
//! let Some(gate) = documents.first_mut() else { return Ok(()) }; // an empty text holds none
//!
//! // Look.
//! assert_eq!(gate.root.at(["server", "name"]).and_then(Node::as_str), Some("web"));
//!
//! // Edit: by path, creating what is missing if asked to, or by hand.
//! let port = Path::dotted("listen.ports.[name=http].port")?;
//! port.set(&mut gate.root, Node::from(8080), Missing::Refuse)?;
//! if let Some(listen) = gate.root.get_mut("listen") {
//!     listen.set("public", true);
//! }
//!
//! // Write: as it was, apart from the edits...
//! assert_eq!(gate.text(), "\
//! ## The front door.
//! title: Gate
//! server: {name: web}    # the name everyone uses
//! listen:
//!     ports:
//!     - {name: http, port: 8080}   # behind the proxy
//!     public: true
//! ");
//!
//! // ...or in canonical form.
//! assert_eq!(canonical(&gate.root), "\
//! listen:
//!   ports:
//!   - name: http
//!     port: 8080
//!   public: true
//! server:
//!   name: web
//! title: Gate
//! ");
//! # Ok::<(), krm_yaml::Diagnostic>(())
//! ```
//!
//! # Where to find things
//!
//! | to | see |
//! | --- | --- |
//! | read bytes, files, streams | [`parse()`], [`documents`], [`decode`], [`Sources`] |
//! | look and edit | [`Node`], [`Map`], [`path`] |
//! | read into your own types, and write them | [`from_node`], [`Spanned`], [`de`]; [`to_node`], [`ser`] |
//! | write | [`Document::text`], [`canonical()`], [`json`], [`emit::preserve`] |
//! | say what is wrong, and where | [`Diagnostic`], [`Span`] |
//!
//! # What it costs
//!
//! A node is forty bytes. Collections are shared and copied on write: a clone costs a counter, an edit copies the way from
//! the root down to it. Long streams are read on several cores. Nesting is limited, and so is what aliases may expand to,
//! so that no input takes more than its share of stack, memory or time.
//!
//! # Which YAML
//!
//! The one that go-yaml v3 reads, since the programs that read most configuration are built on it: the syntax of YAML 1.1
//! with some of 1.2, and types that are a mix of both. Where the standard and go-yaml v3 differ, this crate follows
//! go-yaml v3: in what it accepts, in what a scalar means, and in which node a comment belongs to.
//!
//! * `true` and `false` are booleans in lower, upper and title case. `yes`, `no`, `on`, `off`, `y` and `n` are strings, but
//!   are quoted in canonical form, as other readers think otherwise.
//! * `0x1F`, `0o17`, `017` and `0b11` are integers, `1_000` too. What does not fit 64 bits is a float. Dates and times are
//!   timestamps, and become strings of RFC 3339 in canonical form and JSON.
//! * Equal keys in a map are an error, unless [asked otherwise](ParseOptions).
//!
//! Of the YAML test suite, every case that go-yaml accepts gives the same JSON, and every invalid one it refuses is
//! refused. What remains are its habits, which this crate shares:
//!
//! * Refused, though valid: `%YAML 1.2` and directives other than `%YAML 1.1` and `%TAG`; keys left out (`: value`, `[? ]`); a
//!   flow key on another line than its `:`; `:x` as a flow scalar; anchors with other characters than
//!   letters, digits, `-` and `_`; tabs where an indentation could be.
//! * Accepted, though invalid: a comment without a space before its `#` after a quote or bracket; quoted and flow text
//!   less indented than the block around it; `[-]`; the escape `\'`; anything after the end of a root that is a scalar or
//!   in brackets, when only the first document is asked for ([`documents`]).
//! * Accepted, though go-yaml makes no value of it: keys that are collections, which become JSON in a string if JSON is
//!   written and an error if the canonical form [is checked](try_canonical_into); a stream without any document.

#![deny(missing_docs)]
#![warn(unreachable_pub)]

pub mod de;
pub mod diag;
pub mod document;
pub mod embedded;
pub mod emit;
mod encoding;
pub mod json;
pub mod map;
pub mod merge_keys;
mod missing_space;
pub mod node;
pub mod parse;
pub mod path;
pub mod scalar;
pub mod ser;
mod similar;
pub mod source;
mod text;

pub use de::{Options, Spanned, from_node, from_node_with, from_node_with_all_errors};
pub use diag::{
    Diagnostic, Edit, EditError, Failure, Fix, Location, Note, Part, Result, Severity, apply_edits, sanitize,
};
pub use document::Document;
pub use emit::{canonical, canonical_into, try_canonical_into, try_canonical_whole_into};
pub use encoding::{decode, decode_lossy, encode_like};
pub use map::{Entry, Map};
pub use missing_space::with_space;
pub use node::{Node, Seq, Style, Tag, Trivia, Value};
pub use parse::{
    DuplicateKeys, ParseOptions, documents, odd_spaces, odd_spaces_in, parse, parse_str, parse_with,
};
pub use path::Path;
pub use scalar::{binary, resolve};
pub use ser::to_node;
pub use similar::{distance, nearest};
pub use source::{FileId, Position, Source, Sources, Span};
pub use text::Text;

// The example of the README has to run too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
