//! Where a server is: `grpc://HOST[:PORT][/INSTANCE]`, or `grpcs://` for a connection over TLS.

use std::fmt;

/// An address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub tls: bool,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// The short form of `--remote-instance-name`.
    pub instance: String,
}

impl Address {
    pub fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected `grpc://HOST:PORT` or `grpcs://HOST:PORT`";
        let (tls, rest) = match (text.strip_prefix("grpcs://"), text.strip_prefix("grpc://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(EXPECTED.into()),
        };
        let (authority, instance) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(EXPECTED)?)),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let is_named = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
        if host.is_empty() || !host.chars().all(is_named) {
            return Err(EXPECTED.into());
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| EXPECTED)?,
            None if tls => 443,
            None => 80,
        };
        let instance = instance.trim_matches('/').to_owned();
        if instance.contains(['?', '#']) || instance.contains(char::is_control) {
            return Err(EXPECTED.into());
        }
        Ok(Self { tls, host: host.to_owned(), port, instance })
    }

    /// Host and port, as in the header of a request.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "grpcs" } else { "grpc" }, self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_nothing_else() {
        for (text, shown, instance) in [
            ("grpc://localhost:8980", "grpc://localhost:8980", ""),
            ("grpcs://cache.example.com", "grpcs://cache.example.com:443", ""),
            ("grpcs://cache.example.com/team/main/", "grpcs://cache.example.com:443", "team/main"),
            ("grpc://[::1]:50051", "grpc://[::1]:50051", ""),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((&*address.to_string(), &*address.instance), (shown, instance), "{text}");
        }
        for text in [
            "localhost:8980",
            "grpc://",
            "grpc://a:b",
            "grpc://u@h:1",
            "grpc://a:99999",
            "grpc://[::1",
            "http://a",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
