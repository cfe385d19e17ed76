//! A server for one user on one machine: a few fixed addresses, GET only, and a secret in each.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use krm_engine::{Diagnostic, Result};

use super::http::{self, Refusal, Request, Response};
use crate::os;
use crate::page::{counted, escaped, plain_page};
use crate::report::sanitize;

/// More at a time than a browser opens.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a line is sent to find out who is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A server and what it shows. Clones show the same.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    listeners: Vec<TcpListener>,
    port: u16,
    token: String,
    address: String,
    names: Vec<String>,
    shown: Mutex<Vec<Shown>>,
    /// Something new is shown.
    news: Condvar,
    connections: AtomicUsize,
}

/// What is shown of a target.
#[derive(Clone, Default)]
struct Shown {
    /// How often the page changed.
    version: u64,
    html: Arc<str>,
    /// Why the build fails now, if it does.
    failure: Option<Arc<str>>,
}

impl Shown {
    /// The last good page. Its script hears why the build fails now; a browser that runs none reads it here.
    fn page(&self) -> Cow<'_, str> {
        match &self.failure {
            Some(failure) if !self.html.contains("<section class=\"failure\">") => {
                let failure = escaped(failure);
                let notice =
                    format!("<noscript><h2>The build fails now</h2><pre>{failure}</pre></noscript>\n");
                Cow::Owned(self.html.replacen("</header>", &format!("{notice}</header>"), 1))
            }
            _ => Cow::Borrowed(&self.html),
        }
    }
}

/// A new view of a target. The page is made only if it is shown.
pub struct View<F: FnOnce() -> String> {
    pub html: F,
    pub failure: Option<String>,
}

const HELD: &str = "no one panics while holding what is shown";

impl Server {
    /// Takes a port of this machine, which nobody else can reach.
    pub fn bind(port: u16, names: &[String]) -> Result<Self> {
        let not_bound = |error: std::io::Error| {
            Diagnostic::error("serve-port", format!("cannot serve at port {port}: {error}"))
                .help("name another port, or leave out `--port` to get one that is free")
        };
        let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(not_bound)?;
        let port = first.local_addr().map_err(not_bound)?.port();
        let mut listeners = vec![first];
        // A browser may know `localhost` by its newer address; a machine need not have one.
        listeners.extend(TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))));
        let token = os::secret()?;
        let address = format!("http://127.0.0.1:{port}/?token={token}");
        let shown = Mutex::new(vec![Shown::default(); names.len()]);
        let (names, news, connections) = (names.to_vec(), Condvar::new(), AtomicUsize::new(0));
        Ok(Self(Arc::new(Shared { listeners, port, token, address, names, shown, news, connections })))
    }

    /// The address to open, secret included.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// The address at which the page of a target hears of news.
    pub fn events(&self, target: usize) -> String {
        format!("/events/{target}?token={}", self.0.token)
    }

    /// Shows something new of a target.
    pub fn update<F: FnOnce() -> String>(&self, target: usize, view: View<F>) {
        let is_first = self.0.shown.lock().expect(HELD)[target].version == 0;
        // While a build fails, the last good page stays.
        let html = (view.failure.is_none() || is_first).then(view.html);
        let mut all = self.0.shown.lock().expect(HELD);
        let shown = &mut all[target];
        if let Some(html) = html.filter(|html| **html != *shown.html) {
            shown.html = html.into();
            shown.version += 1;
        }
        shown.failure = view.failure.map(Into::into);
        self.0.news.notify_all();
    }

    /// Answers requests from now on, in threads.
    pub fn start(self) -> Self {
        for at in 0..self.0.listeners.len() {
            let server = self.clone();
            std::thread::spawn(move || server.listen(at));
        }
        self
    }

    fn listen(&self, at: usize) {
        for stream in self.0.listeners[at].incoming() {
            let Ok(stream) = stream else { continue };
            let server = self.clone();
            if self.0.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                self.0.connections.fetch_sub(1, Ordering::Relaxed);
                let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
                let _ = Response::refused(&Refusal::Busy).send(&stream);
                continue;
            }
            std::thread::spawn(move || {
                server.answer(&stream);
                server.0.connections.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// One request, one answer. Nobody hears of a client that goes away.
    fn answer(&self, stream: &TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let response = match http::read(stream).and_then(|request| self.response(&request)) {
            Ok(Answer::Response(response)) => response,
            Ok(Answer::Events(target)) => {
                let _ = self.tell(stream, target);
                return;
            }
            Err(refusal) => Response::refused(&refusal),
        };
        let _ = response.send(stream).and_then(|()| http::drain(stream));
    }

    fn response(&self, request: &Request) -> Result<Answer, Refusal> {
        let Shared { port, token, .. } = &*self.0;
        request.check(*port, token)?;
        let target =
            |text: &str| text.parse().ok().filter(|at| *at < self.0.names.len()).ok_or(Refusal::NotFound);
        let page = |at: usize| {
            let shown = self.0.shown.lock().expect(HELD)[at].clone();
            Answer::Response(Response::page(&shown.page()))
        };
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        match &parts[..] {
            [""] if self.0.names.len() == 1 => Ok(page(0)),
            [""] => Ok(Answer::Response(Response::page(&self.list()))),
            ["target", at] => Ok(page(target(at)?)),
            ["events", at] => Ok(Answer::Events(target(at)?)),
            _ => Err(Refusal::NotFound),
        }
    }

    /// The targets, if there are several.
    fn list(&self) -> String {
        let mut body = String::from("<div class=\"targets\">\n");
        let shown = self.0.shown.lock().expect(HELD);
        for (at, name) in self.0.names.iter().enumerate() {
            let link = format!("href=\"/target/{at}?token={}\"", self.0.token);
            let name = escaped(&sanitize::left_to_right(name));
            let failure = shown[at].failure.as_deref();
            let failure = failure.map(|failure| {
                let failure = escaped(failure);
                format!(
                    "<p class=\"facts\">does not build</p><div class=\"failure\"><pre>{failure}</pre></div>"
                )
            });
            let class = if failure.is_some() { " failing" } else { "" };
            let _ = writeln!(
                body,
                "<article class=\"card node{class}\"><h2><a {link}><bdi>{name}</bdi></a></h2>{}</article>",
                failure.unwrap_or_else(|| "<p class=\"facts\">builds</p>".to_owned())
            );
        }
        body.push_str("</div>\n");
        let failing = shown.iter().filter(|shown| shown.failure.is_some()).count();
        let facts = match failing {
            0 => "all of them build".to_owned(),
            1 => "1 does not build".to_owned(),
            more => format!("{more} do not build"),
        };
        let title = counted(self.0.names.len(), "target");
        plain_page(&title, &facts, ("Targets", ""), ("What is served", &body))
    }

    /// Tells a page what is new, until it is closed.
    fn tell(&self, mut stream: &TcpStream, target: usize) -> std::io::Result<()> {
        stream.write_all(http::EVENTS_HEAD.as_bytes())?;
        let mut known = {
            let shown = self.0.shown.lock().expect(HELD)[target].clone();
            stream.write_all(state(&shown).as_bytes())?;
            shown
        };
        loop {
            let is_known = |all: &mut Vec<Shown>| {
                let now = &all[target];
                now.version == known.version && now.failure == known.failure
            };
            let all = self.0.shown.lock().expect(HELD);
            let (all, waited) = self.0.news.wait_timeout_while(all, HEARTBEAT, is_known).expect(HELD);
            let now = all[target].clone();
            drop(all);
            let mut text = String::new();
            if waited.timed_out() {
                text.push_str(": still here\n\n");
            }
            if now.version != known.version {
                text.push_str(&http::event("changed", &now.version.to_string()));
            }
            if now.failure != known.failure {
                text.push_str(&state(&now));
            }
            known = now;
            stream.write_all(text.as_bytes())?;
        }
    }
}

enum Answer {
    Response(Response),
    Events(usize),
}

fn state(shown: &Shown) -> String {
    match &shown.failure {
        Some(failure) => http::event("failed", failure),
        None => http::event("good", &shown.version.to_string()),
    }
}
