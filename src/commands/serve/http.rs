//! As much of HTTP/1.1 as a page of this machine needs: one GET, one answer.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;

/// None of our requests is longer.
const LONGEST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// A request, as far as it matters.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    /// Which kind of page asks, by the browser's own word.
    pub site: Option<String>,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Malformed,
    TooLong,
    /// Only GET is answered.
    Method,
    /// Not from here, or without the secret.
    Forbidden,
    NotFound,
    /// Too many at a time.
    Busy,
    /// The client went away, or takes too long.
    Gone,
}

impl Refusal {
    fn status(self) -> &'static str {
        match self {
            Refusal::Malformed => "400 Bad Request",
            Refusal::TooLong => "431 Request Header Fields Too Large",
            Refusal::Method => "405 Method Not Allowed",
            Refusal::Forbidden => "403 Forbidden",
            Refusal::NotFound => "404 Not Found",
            Refusal::Busy => "503 Service Unavailable",
            Refusal::Gone => "408 Request Timeout",
        }
    }
}

/// Reads the head of a request. A body is never wanted, and never read.
pub fn read(mut stream: &TcpStream) -> Result<Request, Refusal> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    // A client that sends a byte now and then must not stay forever.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let count = stream.read(&mut chunk).map_err(|_| Refusal::Gone)?;
        if count == 0 || std::time::Instant::now() > end {
            return Err(Refusal::Gone);
        }
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(request) = parse(&bytes)? {
            return Ok(request);
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(Refusal::TooLong);
        }
    }
}

/// The request that bytes begin with; `None` if its head is not complete.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(length)) if length <= LONGEST_HEAD => {}
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLong),
        Err(_) => return Err(Refusal::Malformed),
    }
    let mut request = Request { method: parsed.method.unwrap_or_default().to_owned(), ..Request::default() };
    // An address with a host of its own is for proxies.
    let address = parsed.path.filter(|path| path.starts_with('/')).ok_or(Refusal::Malformed)?;
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    (request.path, request.query) = (path.to_owned(), query.to_owned());
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| Refusal::Malformed)?.trim().to_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => request.hosts.push(value),
            "origin" => request.origins.push(value),
            "sec-fetch-site" => request.site = Some(value),
            _ => {}
        }
    }
    Ok(Some(request))
}

impl Request {
    /// Refuses whatever does not come from one of our pages. A foreign page can have a name that leads here, but then the name
    /// is in `Host`; it can send requests, but then its own is in `Origin`; and it does not know the secret.
    pub fn check(&self, port: u16, token: &str) -> Result<(), Refusal> {
        let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        let [host] = &self.hosts[..] else { return Err(Refusal::Forbidden) };
        let is_ours = ours.iter().any(|ours| ours.eq_ignore_ascii_case(host));
        let is_own = |origin: &String| {
            origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host))
        };
        let foreign_site = self.site.as_deref().is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if !is_ours || !self.origins.iter().all(is_own) || foreign_site || leads_elsewhere(&self.path) {
            return Err(Refusal::Forbidden);
        }
        if self.method != "GET" {
            return Err(Refusal::Method);
        }
        let given = self.query.split('&').find_map(|pair| pair.strip_prefix("token="));
        match given.is_some_and(|given| is_same(given.as_bytes(), token.as_bytes())) {
            true => Ok(()),
            false => Err(Refusal::Forbidden),
        }
    }
}

/// Whether a path would leave the folder it begins in, however it is written.
fn leads_elsewhere(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let plain = lower.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    plain.contains("..") || plain.contains('\\') || plain.contains("%00") || plain.contains("%25")
}

/// Compares in a time that does not depend on where the texts differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// An answer.
pub struct Response {
    head: String,
    body: Vec<u8>,
}

/// What every answer says: nobody keeps it, frames it, or learns where it came from.
const HEADERS: &str = "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\nCross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n";

/// What events begin with.
pub const EVENTS_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\nretry: 1000\n\n";

impl Response {
    pub fn page(html: &str) -> Self {
        let policy =
            "Content-Security-Policy: frame-ancestors 'none'\r\nContent-Type: text/html; charset=utf-8\r\n";
        Self::new("200 OK", policy, html.as_bytes().to_vec())
    }

    pub fn refused(refusal: &Refusal) -> Self {
        let allow = if *refusal == Refusal::Method { "Allow: GET\r\n" } else { "" };
        let headers = format!(
            "{allow}Content-Security-Policy: default-src 'none'\r\nContent-Type: text/plain; charset=utf-8\r\n"
        );
        let text = match refusal {
            Refusal::Forbidden => "Open the address that krm printed, secret included.\n".to_owned(),
            refusal => format!("{}\n", refusal.status()),
        };
        Self::new(refusal.status(), &headers, text.into_bytes())
    }

    fn new(status: &str, headers: &str, body: Vec<u8>) -> Self {
        let head = format!("HTTP/1.1 {status}\r\n{HEADERS}{headers}Content-Length: {}\r\n\r\n", body.len());
        Self { head, body }
    }

    pub fn send(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.write_all(self.head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

/// Reads a little more of what a client sends after it was answered: what was not read would make the system take the answer
/// back.
pub fn drain(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(std::time::Duration::from_millis(200)))?;
    let mut rest = [0; 4096];
    let mut left = 64;
    while left > 0 && stream.read(&mut rest)? > 0 {
        left -= 1;
    }
    Ok(())
}

/// An event of a stream, whatever lines its text has.
pub fn event(name: &str, text: &str) -> String {
    let mut out = format!("event: {name}\n");
    text.split(['\n', '\r']).for_each(|line| {
        let _ = writeln!(out, "data: {line}");
    });
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(head: &str) -> Request {
        parse(head.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn foreign_requests_are_refused() {
        let ok = "GET /?token=secret HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n";
        assert_eq!(request(ok).check(80, "secret"), Ok(()));
        for (from, to, refusal) in [
            ("127.0.0.1", "evil.example", Refusal::Forbidden),
            ("127.0.0.1:80", "127.0.0.1:81", Refusal::Forbidden),
            ("Host: 127.0.0.1:80\r\n", "", Refusal::Forbidden),
            ("\r\n\r\n", "\r\nHost: evil.example\r\n\r\n", Refusal::Forbidden),
            ("\r\n\r\n", "\r\nOrigin: http://evil.example\r\n\r\n", Refusal::Forbidden),
            ("\r\n\r\n", "\r\nOrigin: null\r\n\r\n", Refusal::Forbidden),
            ("\r\n\r\n", "\r\nSec-Fetch-Site: cross-site\r\n\r\n", Refusal::Forbidden),
            ("token=secret", "token=secre", Refusal::Forbidden),
            ("?token=secret", "", Refusal::Forbidden),
            ("GET /", "GET /../etc/passwd", Refusal::Forbidden),
            ("GET /", "GET /%2e%2E/etc/passwd", Refusal::Forbidden),
            ("GET /", "GET /%252e%252e/", Refusal::Forbidden),
            ("GET /", "GET /..%5c", Refusal::Forbidden),
            ("GET", "POST", Refusal::Method),
            ("GET", "OPTIONS", Refusal::Method),
        ] {
            assert_eq!(request(&ok.replacen(from, to, 1)).check(80, "secret"), Err(refusal), "{to}");
        }
        for (from, to) in [
            ("127.0.0.1", "localhost"),
            ("127.0.0.1", "[::1]"),
            ("\r\n\r\n", "\r\nOrigin: http://127.0.0.1:80\r\nSec-Fetch-Site: same-origin\r\n\r\n"),
        ] {
            assert_eq!(request(&ok.replacen(from, to, 1)).check(80, "secret"), Ok(()), "{to}");
        }
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        assert_eq!(parse(b"\x16\x03\x01"), Err(Refusal::Malformed));
        assert_eq!(parse(b"GET http://evil.example/ HTTP/1.1\r\n\r\n"), Err(Refusal::Malformed));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost"), Ok(None));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
        assert_eq!(parse(many.as_bytes()), Err(Refusal::TooLong));
    }

    #[test]
    fn an_event_keeps_its_lines() {
        assert_eq!(event("failed", "a\nb\r\nc"), "event: failed\ndata: a\ndata: b\ndata: \ndata: c\n\n");
    }
}
