//! A connection to a server that speaks gRPC: messages out, messages in, a status at the end.
//!
//! gRPC is HTTP/2 with messages that say their length. One thread of its own drives all connections and everything in
//! flight on them; callers block, each for its own call. A connection that breaks is made again by the next call.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, HeaderValue, Request};
use prost::Message;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::address::Address;
use super::status::{Code, Status, of_http};
use crate::os::credentials::Credentials;

/// How long a connection may take to be made.
const TO_CONNECT: Duration = Duration::from_secs(10);
/// A silent connection is asked for a sign of life this often, and given up if there is none for as long again: what
/// runs on a server may take minutes, and a network that fails says nothing.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// No message is larger: of several blobs at once a server sends less, of one blob pieces.
const LARGEST_MESSAGE: usize = 64 << 20;

type Sender = SendRequest<Bytes>;
/// What is done with a message; an error ends the call.
pub type Sink = Box<dyn FnMut(Bytes) -> Result<(), Status> + Send>;

/// A connection to one server, made when it is first needed.
pub struct Channel {
    server: Arc<Server>,
    credentials: Credentials,
    handle: Handle,
}

struct Server {
    address: Address,
    tls: Option<Arc<ClientConfig>>,
    /// The connection, and the number of it.
    connection: tokio::sync::Mutex<(u64, Option<Sender>)>,
}

impl Channel {
    pub fn new(
        address: Address,
        tls: Option<Arc<ClientConfig>>,
        credentials: Credentials,
    ) -> Result<Self, Status> {
        let handle = driver()?;
        let server = Arc::new(Server { address, tls, connection: tokio::sync::Mutex::default() });
        Ok(Self { server, credentials, handle })
    }

    pub fn address(&self) -> &Address {
        &self.server.address
    }

    /// One message out, one in.
    pub fn unary<R: Message + Default>(
        &self,
        method: &'static str,
        request: &impl Message,
        within: Duration,
    ) -> Result<R, Status> {
        self.exchange(method, vec![framed(request)].into_iter(), within)
    }

    /// Some messages out, one in.
    pub fn exchange<R: Message + Default>(
        &self,
        method: &'static str,
        requests: impl Iterator<Item = Bytes> + Send + 'static,
        within: Duration,
    ) -> Result<R, Status> {
        let answer = Arc::new(Mutex::new(None));
        let kept = answer.clone();
        let sink: Sink = Box::new(move |bytes| {
            *kept.lock().expect("nothing here panics") = Some(bytes);
            Ok(())
        });
        self.call(method, requests, sink, within)?;
        let answer = answer.lock().expect("nothing here panics").take();
        decode(answer.ok_or_else(|| Status::new(Code::INTERNAL, "the server answers without a message"))?)
    }

    /// Some messages out, any number in, each given to `sink`.
    pub fn call(
        &self,
        method: &'static str,
        requests: impl Iterator<Item = Bytes> + Send + 'static,
        sink: Sink,
        within: Duration,
    ) -> Result<(), Status> {
        let uri = format!("https://{}/", self.server.address.authority());
        let headers = self.credentials.headers(&uri);
        let headers = headers.map_err(|why| Status::new(Code::PERMISSION_DENIED, why))?;
        let server = self.server.clone();
        let (done, wait) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let call = server.call(method, headers, requests, sink, within);
            let result = timeout(within, call).await.unwrap_or_else(|_| {
                let message = format!("no answer within {} s", within.as_secs_f64());
                Err(Status::new(Code::DEADLINE_EXCEEDED, message))
            });
            let _ = done.send(result);
        });
        let result =
            wait.recv().unwrap_or_else(|_| Err(Status::new(Code::INTERNAL, "the call was abandoned")));
        if result.as_ref().is_err_and(|status| status.code == Code::UNAUTHENTICATED) {
            // A token may have expired before its time: the next attempt asks for another.
            self.credentials.forget();
        }
        result
    }

    /// Whether another attempt may have other credentials.
    pub fn can_renew_credentials(&self) -> bool {
        self.credentials.can_renew()
    }
}

/// A message as it goes over the wire: whether it is compressed, its length, itself.
pub fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut frame = BytesMut::with_capacity(5 + length);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(length).expect("messages of blobs are cut into pieces"));
    message.encode(&mut frame).expect("the room was made for it");
    frame.freeze()
}

pub fn decode<R: Message + Default>(bytes: Bytes) -> Result<R, Status> {
    R::decode(bytes)
        .map_err(|error| Status::new(Code::INTERNAL, format!("the answer cannot be read: {error}")))
}

/// The thread that drives connections, started with the first of them.
fn driver() -> Result<Handle, Status> {
    static DRIVER: OnceLock<Result<Handle, String>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let handle = runtime.handle().clone();
        let drive = move || runtime.block_on(pending::<()>());
        std::thread::Builder::new()
            .name("krm-remote".into())
            .spawn(drive)
            .map_err(|error| error.to_string())?;
        Ok(handle)
    });
    driver.clone().map_err(|error| Status::new(Code::INTERNAL, error))
}

impl Server {
    async fn call(
        &self,
        method: &'static str,
        headers: HeaderMap,
        requests: impl Iterator<Item = Bytes>,
        mut sink: Sink,
        within: Duration,
    ) -> Result<(), Status> {
        let mut sender = self.ready().await?;
        let request = self.request(method, headers, within)?;
        let (response, mut stream) = sender.send_request(request, false)?;
        let mut requests = requests.peekable();
        while let Some(bytes) = requests.next() {
            stream.reserve_capacity(bytes.len());
            // A server may have heard enough before the end: it has the blob already, or wants none.
            match poll_fn(|cx| stream.poll_capacity(cx)).await {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            }
            if stream.send_data(bytes, requests.peek().is_none()).is_err() {
                break;
            }
        }
        let (head, mut body) = response.await?.into_parts();
        if head.status != http::StatusCode::OK {
            return Err(of_http(head.status));
        }
        // An answer without messages has its status at once.
        if let Some(result) = status_in(&head.headers) {
            return result;
        }
        let mut waiting = BytesMut::new();
        while let Some(chunk) = body.data().await {
            let chunk = chunk?;
            let _ = body.flow_control().release_capacity(chunk.len());
            waiting.extend_from_slice(&chunk);
            while let Some(message) = take_message(&mut waiting)? {
                sink(message)?;
            }
        }
        let trailers = body.trailers().await?;
        let broken = || Status::unavailable("the answer ends in the middle");
        let result = trailers.as_ref().and_then(status_in).ok_or_else(broken)?;
        if result.is_ok() && !waiting.is_empty() {
            return Err(broken());
        }
        result
    }

    fn request(
        &self,
        method: &'static str,
        headers: HeaderMap,
        within: Duration,
    ) -> Result<Request<()>, Status> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri = format!("{scheme}://{}{method}", self.address.authority());
        let mut request = Request::post(uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("user-agent", concat!("krm/", env!("CARGO_PKG_VERSION")))
            .header("grpc-timeout", format!("{}m", within.as_millis().min(99_999_999)))
            .body(())
            .map_err(|error| Status::new(Code::INVALID_ARGUMENT, error.to_string()))?;
        request.headers_mut().extend(headers);
        Ok(request)
    }

    /// A connection that takes one more call.
    async fn ready(&self) -> Result<Sender, Status> {
        for _ in 0..2 {
            let (number, sender) = self.connected().await?;
            if let Ok(sender) = sender.ready().await {
                return Ok(sender);
            }
            // It has ended since; unless another call noticed first, the next is a new one.
            let mut connection = self.connection.lock().await;
            if connection.0 == number {
                connection.1 = None;
            }
        }
        Err(Status::unavailable("the server closes connections as soon as they are made"))
    }

    async fn connected(&self) -> Result<(u64, Sender), Status> {
        let mut connection = self.connection.lock().await;
        if let (number, Some(sender)) = &*connection {
            return Ok((*number, sender.clone()));
        }
        let sender = match timeout(TO_CONNECT, self.connect()).await {
            Ok(made) => made?,
            Err(_) => return Err(Status::unavailable("no connection within 10 s")),
        };
        *connection = (connection.0 + 1, Some(sender.clone()));
        Ok((connection.0, sender))
    }

    async fn connect(&self) -> Result<Sender, Status> {
        let refused = |error: std::io::Error| Status::unavailable(error.to_string());
        let tcp =
            TcpStream::connect((self.address.host.as_str(), self.address.port)).await.map_err(refused)?;
        let _ = tcp.set_nodelay(true);
        let Some(tls) = &self.tls else { return speak(tcp).await };
        let name = ServerName::try_from(self.address.host.clone())
            .map_err(|error| Status::new(Code::INVALID_ARGUMENT, error.to_string()))?;
        let secure = TlsConnector::from(tls.clone()).connect(name, tcp).await.map_err(|error| {
            // Trying again does not make a certificate better.
            let code = if error.get_ref().is_some() { Code::NOT_TRUSTED } else { Code::UNAVAILABLE };
            Status::new(code, format!("no connection over TLS: {error}"))
        })?;
        if secure.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(Status::new(Code::UNIMPLEMENTED, "the server does not speak HTTP/2"));
        }
        speak(secure).await
    }
}

/// Begins to speak HTTP/2, and keeps an eye on the other side.
async fn speak<T>(io: T) -> Result<Sender, Status>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, mut connection) = h2::client::Builder::new()
        .initial_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .max_header_list_size(64 << 10)
        .enable_push(false)
        .handshake(io)
        .await?;
    let pings = connection.ping_pong();
    tokio::spawn(async move {
        let silent = async {
            let Some(mut pings) = pings else { return pending().await };
            loop {
                sleep(SIGN_OF_LIFE).await;
                if !matches!(timeout(SIGN_OF_LIFE, pings.ping(h2::Ping::opaque())).await, Ok(Ok(_))) {
                    return;
                }
            }
        };
        // Whichever is first: either way all calls on it end.
        let (mut connection, mut silent) = (pin!(connection), pin!(silent));
        poll_fn(|cx| match connection.as_mut().poll(cx).is_ready() || silent.as_mut().poll(cx).is_ready() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    });
    Ok(sender)
}

/// The next whole message.
fn take_message(waiting: &mut BytesMut) -> Result<Option<Bytes>, Status> {
    let Some((head, _)) = waiting.split_first_chunk::<5>() else { return Ok(None) };
    if head[0] != 0 {
        return Err(Status::new(Code::INTERNAL, "the server compresses what it must not"));
    }
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > LARGEST_MESSAGE {
        return Err(Status::new(Code::INTERNAL, format!("the server sends a message of {length} bytes")));
    }
    if waiting.len() < 5 + length {
        waiting.reserve(5 + length - waiting.len());
        return Ok(None);
    }
    waiting.advance(5);
    Ok(Some(waiting.split_to(length).freeze()))
}

/// The status, if these headers have one.
fn status_in(headers: &HeaderMap) -> Option<Result<(), Status>> {
    use base64::Engine as _;
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let code = text(headers.get("grpc-status")?).parse().map_or(Code::UNKNOWN, Code);
    if code == Code::OK {
        return Some(Ok(()));
    }
    let message = headers.get("grpc-message").map(text).unwrap_or_default();
    let message = percent_encoding::percent_decode_str(&message).decode_utf8_lossy().into_owned();
    let details = headers.get("grpc-status-details-bin").map(text).unwrap_or_default();
    let details = base64::engine::general_purpose::STANDARD_NO_PAD
        .decode(details.trim_end_matches('='))
        .unwrap_or_default();
    Some(Err(Status { code, message, details }))
}
