//! A cache of our own that speaks HTTP, and misbehaves on request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn is(&self, method: &str, kind: &str) -> bool {
        self.method == method && self.path.contains(&format!("/{kind}/"))
    }
}

/// What it answers.
pub enum Reply {
    /// As a cache should.
    Properly,
    Status(u16),
    Body(Vec<u8>),
    /// These bytes, whatever they are, and the end of the connection.
    Raw(Vec<u8>),
    /// Nothing for so long.
    Silence(Duration),
    /// Bytes without end.
    Endless,
    /// A byte now and then.
    Drops,
}

type Answer = dyn Fn(&Request, &BTreeMap<String, Vec<u8>>) -> Reply + Send + Sync;

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Vec<u8>>,
    requests: Vec<Request>,
    answer: Option<Arc<Answer>>,
}

#[derive(Clone)]
pub struct Server {
    pub address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || serve(client, &shared));
            }
        });
        Self { address, state }
    }

    /// From now on it answers like this.
    pub fn answers(
        &self,
        answer: impl Fn(&Request, &BTreeMap<String, Vec<u8>>) -> Reply + Send + Sync + 'static,
    ) {
        self.state.lock().unwrap().answer = Some(Arc::new(answer));
    }

    pub fn behaves(&self) {
        self.state.lock().unwrap().answer = None;
    }

    /// What it was asked since the last time this was called.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    /// Changes what it holds.
    pub fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) {
        change(&mut self.state.lock().unwrap().entries);
    }
}

fn serve(client: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut client = client;
    while let Some(request) = read(&mut reader) {
        let reply = {
            let mut state = state.lock().unwrap();
            state.requests.push(request.clone());
            let answer = state.answer.clone();
            match answer.map_or(Reply::Properly, |answer| answer(&request, &state.entries)) {
                Reply::Properly if request.method == "PUT" => {
                    state.entries.insert(request.path.clone(), request.body.clone());
                    Reply::Status(200)
                }
                Reply::Properly => state
                    .entries
                    .get(&request.path)
                    .map_or(Reply::Status(404), |body| Reply::Body(body.clone())),
                other => other,
            }
        };
        let head = |status: u16, length: usize| {
            let elsewhere = if status == 302 { "Location: http://127.0.0.1:1/ac/x\r\n" } else { "" };
            format!("HTTP/1.1 {status} X\r\n{elsewhere}Content-Length: {length}\r\n\r\n").into_bytes()
        };
        let sent = match reply {
            Reply::Properly => unreachable!("it has been turned into another"),
            Reply::Status(status) => client.write_all(&head(status, 0)),
            Reply::Body(body) => client.write_all(&[head(200, body.len()), body].concat()),
            Reply::Raw(bytes) => {
                let _ = client.write_all(&bytes);
                return;
            }
            Reply::Silence(time) => {
                std::thread::sleep(time);
                return;
            }
            Reply::Drops => {
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
                while client.write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(100));
                }
                return;
            }
            Reply::Endless => {
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while client.write_all(&[b'x'; 1 << 16]).is_ok() {}
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines.first()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers = lines.split_off(1);
    let length = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}
