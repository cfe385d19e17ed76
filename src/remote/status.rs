//! How a call to a server ended, in the words of gRPC.

use std::fmt;

/// A status other than OK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: Code,
    pub message: String,
    /// A `google.rpc.Status` with more about it, encoded, if the server sent one.
    pub details: Vec<u8>,
}

/// The codes of gRPC, as numbered there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

impl Code {
    pub const OK: Code = Code(0);
    pub const CANCELLED: Code = Code(1);
    pub const UNKNOWN: Code = Code(2);
    pub const INVALID_ARGUMENT: Code = Code(3);
    pub const DEADLINE_EXCEEDED: Code = Code(4);
    pub const NOT_FOUND: Code = Code(5);
    pub const PERMISSION_DENIED: Code = Code(7);
    pub const RESOURCE_EXHAUSTED: Code = Code(8);
    pub const FAILED_PRECONDITION: Code = Code(9);
    pub const ABORTED: Code = Code(10);
    pub const UNIMPLEMENTED: Code = Code(12);
    pub const INTERNAL: Code = Code(13);
    pub const UNAVAILABLE: Code = Code(14);
    pub const DATA_LOSS: Code = Code(15);
    pub const UNAUTHENTICATED: Code = Code(16);
    /// Not of gRPC: one side does not accept the certificate of the other.
    pub const NOT_TRUSTED: Code = Code(-1);

    /// Whether the same call may succeed a little later.
    pub fn is_passing(self) -> bool {
        [
            Self::UNKNOWN,
            Self::DEADLINE_EXCEEDED,
            Self::RESOURCE_EXHAUSTED,
            Self::ABORTED,
            Self::INTERNAL,
            Self::UNAVAILABLE,
        ]
        .contains(&self)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        match usize::try_from(self.0).ok().and_then(|number| NAMES.get(number)) {
            Some(name) => f.write_str(name),
            None => write!(f, "status {}", self.0),
        }
    }
}

impl Status {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Vec::new() }
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::UNAVAILABLE, message)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a server says may be long, and hold anything.
        let message: String =
            self.message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
        match message.trim() {
            "" => write!(f, "{}", self.code),
            message if self.code == Code::NOT_TRUSTED => f.write_str(message),
            message => write!(f, "{message} ({})", self.code),
        }
    }
}

impl From<h2::Error> for Status {
    fn from(error: h2::Error) -> Self {
        match error.reason() {
            Some(h2::Reason::CANCEL) if error.is_remote() => Status::new(Code::CANCELLED, error.to_string()),
            _ => Status::unavailable(error.to_string()),
        }
    }
}

/// What a proxy or a server that does not speak gRPC means.
pub fn of_http(status: http::StatusCode) -> Status {
    let code = match status.as_u16() {
        400 => Code::INTERNAL,
        401 => Code::UNAUTHENTICATED,
        403 => Code::PERMISSION_DENIED,
        404 => Code::UNIMPLEMENTED,
        429 | 502..=504 => Code::UNAVAILABLE,
        _ => Code::UNKNOWN,
    };
    Status::new(code, format!("the server answers with HTTP status {}", status.as_u16()))
}
