//! Functions that run on a server.
//!
//! A call goes there if all it needs can go there: an image without network, or an executable if the user says so. Its
//! result comes from the server's cache, or is made. What cannot go there runs on this machine, and a warning says why.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use krm_engine::runtime::reapi::{ActionResult, Digest};
use krm_engine::runtime::{
    Call, Digests, Elsewhere, EnvVar, Exec, Image, Output, Program, Status as Ended, Stream,
};
use krm_engine::{Diagnostic, Result};

use super::action::{Describer, Prepared, mounts};
use super::client::Client;
use super::execute::{CacheLookup, lacks_blobs};
use super::messages::ExecuteResponse;
use super::progress;
use super::sandbox::{self, Sandbox};
use super::status::{Code, Status};
use super::{Address, Connection};
use crate::os;
use crate::os::certificates::CHECK_CERTIFICATES;
use crate::os::registry::{ImageConfig, ImageName, Registry};

/// How much of stderr is kept: its end, where the reason is.
const STDERR_KEPT: usize = 64 << 10;
/// No more of it is read.
const STDERR_READ: usize = 64 << 20;
/// How often a call is sent that the server refuses for blobs it lost.
const ATTEMPTS: usize = 3;

/// What the user says about calls on a server.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Asked of workers, by name and value; an empty value takes a property away.
    pub properties: Vec<(String, String)>,
    /// Variables of `--env` that may be sent, by name.
    pub env: Vec<String>,
    /// Executables are sent as well.
    pub executables: bool,
    /// Functions are sent even if nothing keeps them from the network there.
    pub trust_sandbox: bool,
    /// If the server cannot be reached, functions run on this machine.
    pub local_fallback: bool,
    /// How many functions are sent before the first of them has ended.
    pub jobs: usize,
}

/// A server that runs functions.
pub struct Executor {
    client: Client,
    describer: Describer,
    with: Execution,
    /// Asked for registries, too.
    credential_helper: Option<String>,
    /// What was found out about the workers that run executables, and those that run images.
    executable_sandbox: FoundOnce,
    image_sandbox: FoundOnce,
    images: Mutex<HashMap<String, Arc<OnceLock<Result<ImageConfig>>>>>,
    /// Programs that a warning has named.
    named: Mutex<BTreeSet<String>>,
}

/// Why a call was not made.
enum Unmade {
    /// It has to be made on this machine.
    Here(String),
    Failed(Diagnostic),
    Server(Status),
}

impl From<Status> for Unmade {
    fn from(status: Status) -> Self {
        Unmade::Server(status)
    }
}

type Attempt<T> = std::result::Result<T, Unmade>;

type FoundOnce = OnceLock<std::result::Result<Sandbox, Status>>;

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor({})", self.client.address())
    }
}

impl Elsewhere for Executor {
    fn run(&self, call: &Call) -> Option<Result<Output>> {
        let name = call.program.name();
        match self.try_run(call) {
            Ok(output) => Some(Ok(output)),
            Err(Unmade::Here(why)) => {
                self.say(name, &why);
                None
            }
            Err(Unmade::Server(status)) if self.with.local_fallback && is_out_of_reach(&status) => {
                self.say(name, &format!("{} does not answer: {status}", self.client.address()));
                None
            }
            Err(Unmade::Server(status)) => Some(Err(self.refused(name, &status))),
            Err(Unmade::Failed(error)) => Some(Err(error)),
        }
    }

    fn takes(&self, program: &Program) -> bool {
        matches!(program, Program::Image(_) | Program::Exec(_))
    }

    fn at_once(&self) -> usize {
        self.with.jobs
    }
}

impl Executor {
    /// Nothing is sent yet.
    pub fn new(address: &Address, connection: &Connection, with: Execution) -> Result<Self> {
        #[cfg(target_os = "linux")]
        os::use_small_pages();
        let describer =
            Describer { digests: Arc::new(Digests::default()), properties: with.properties.clone() };
        Ok(Self {
            client: Client::new(address, connection)?,
            describer,
            with,
            credential_helper: connection.credential_helper.clone(),
            executable_sandbox: OnceLock::new(),
            image_sandbox: OnceLock::new(),
            images: Mutex::default(),
            named: Mutex::default(),
        })
    }

    /// Warns, once for each program, that it runs on this machine.
    fn say(&self, name: &str, why: &str) {
        if self.named.lock().expect("no one panics while holding the names").insert(name.to_owned()) {
            let message = format!("`{name}` runs on this machine, not on {}: {why}", self.client.address());
            os::note(Diagnostic::warning("remote-not-sent", message));
        }
    }

    fn refused(&self, name: &str, status: &Status) -> Diagnostic {
        let address = self.client.address();
        let error =
            Diagnostic::error("remote-failed", format!("`{name}` could not run on {address}: {status}"));
        match status.code {
            Code::UNAVAILABLE | Code::DEADLINE_EXCEEDED => error.help(
                "check the address and that the server runs; `--remote-local-fallback` runs functions on this machine instead",
            ),
            Code::UNAUTHENTICATED | Code::PERMISSION_DENIED => error
                .help("pass a token with `--remote-header` or a program that gives one with `--remote-credential-helper`"),
            Code::NOT_TRUSTED => error.help(CHECK_CERTIFICATES),
            _ => error,
        }
    }

    fn try_run(&self, call: &Call) -> Attempt<Output> {
        let start = Instant::now();
        let (prepared, lacks) = match call.program {
            Program::Exec(exec) => self.prepare_executable(call, exec)?,
            Program::Image(image) => (self.prepare_image(call, image)?, None),
            Program::Wasm(_) | Program::Tool(_) => unreachable!("only what it takes is given to it"),
        };
        let most = call.policy.limits.output_for(call.input.len());
        let mut output = self.result_of(&prepared, most)?;
        output.elapsed = start.elapsed();
        match output.cached {
            true => progress::was_cached(),
            false => progress::ran(),
        }
        if output.status == Ended::Exited(127)
            && output.stderr.starts_with(b"krm: the program cannot be started")
        {
            output.fault = Some(self.not_started(call.program.name(), lacks));
        }
        Ok(output)
    }

    fn not_started(&self, name: &str, lacks: Option<String>) -> Diagnostic {
        let address = self.client.address();
        let message = format!("`{name}` cannot be started by the workers of {address}");
        let error = Diagnostic::error("remote-not-started", message);
        match lacks {
            Some(lacks) => error.help(format!(
                "it needs {lacks} on the worker; a program that is linked statically needs nothing of it"
            )),
            None => error.help(
                "the program that the image names is not in the image, or not for this kind of machine",
            ),
        }
    }

    fn prepare_executable(&self, call: &Call, exec: &Exec) -> Attempt<(Prepared, Option<String>)> {
        if !self.with.executables {
            return Err(Unmade::Here("executables are sent only with `--remote-executables`".into()));
        }
        self.check_variables(call)?;
        let file = exec.find().map_err(Unmade::Failed)?;
        let prepared = self.describer.executable(call, exec, &file).map_err(Unmade::Here)?;
        if !self.with.trust_sandbox {
            let platform = || self.describer.executable_platform();
            self.check_sandbox(&self.executable_sandbox, call.program.name(), platform)?;
        }
        Ok((prepared, needs(&file)))
    }

    fn prepare_image(&self, call: &Call, image: &Image) -> Attempt<Prepared> {
        let here = |why: String| Err(Unmade::Here(why));
        if image.network && call.policy.network {
            return here("it uses the network".into());
        }
        if call.policy.as_current_user {
            return here("it runs as the current user".into());
        }
        let mounts = mounts(call, image);
        if let Some(mount) =
            mounts.iter().find(|mount| mount.kind != "tmpfs" && (mount.writable || !mount.is_bind()))
        {
            let what = if mount.is_bind() { "writes to" } else { "uses the volume at" };
            return here(format!("it {what} `{}`", mount.target));
        }
        self.check_variables(call)?;
        let config = self.config(&image.image).map_err(Unmade::Failed)?;
        let name = by_digest(&image.image, &config.digest);
        if !self.with.trust_sandbox || !mounts.is_empty() {
            let platform = || self.describer.image_platform(&name);
            let sandbox = self.check_sandbox(&self.image_sandbox, call.program.name(), platform)?;
            if !mounts.is_empty() && !sandbox.is_root {
                return here("files cannot be mounted there where it expects them".into());
            }
        }
        self.describer.image(call, image, &config, &name).map_err(Unmade::Here)
    }

    /// Variables of this machine may be secrets, and what is sent can be read by everyone who may read the server's blobs.
    fn check_variables(&self, call: &Call) -> Attempt<()> {
        let is_allowed = |name: &String| self.with.env.contains(name);
        match call.policy.env.iter().find(|variable| !is_allowed(&variable.name)) {
            Some(EnvVar { name, .. }) => Err(Unmade::Here(format!(
                "`--env {name}` is for this machine only; to send it, add `--remote-env {name}`"
            ))),
            None => Ok(()),
        }
    }

    /// What an image says about itself, asked once.
    fn config(&self, image: &str) -> Result<ImageConfig> {
        let known = self
            .images
            .lock()
            .expect("no one panics while holding the images")
            .entry(image.to_owned())
            .or_default()
            .clone();
        known.get_or_init(|| Registry::of(image, self.credential_helper.as_deref()).config()).clone()
    }

    /// Refuses a server that does not keep functions from the network, unless it is trusted. What it does is found out
    /// once.
    fn check_sandbox(
        &self,
        found: &FoundOnce,
        name: &str,
        platform: impl FnOnce() -> krm_engine::runtime::reapi::Platform,
    ) -> Attempt<Sandbox> {
        let look = || {
            if !self.client.capabilities()?.executes {
                return Err(Status::new(Code::UNIMPLEMENTED, "the server is a cache: it runs nothing"));
            }
            sandbox::look(&self.client, &self.describer, platform())
        };
        let sandbox = found.get_or_init(look).clone()?;
        if self.with.trust_sandbox || sandbox.faults.is_empty() {
            return Ok(sandbox);
        }
        let address = self.client.address();
        let message = format!(
            "`{name}` is not sent to {address}, which has no sandbox for functions: {}",
            sandbox.faults.join(", and ")
        );
        Err(Unmade::Failed(Diagnostic::error("remote-no-sandbox", message).help(
            "set what the server needs with `--remote-exec-property NAME=VALUE`, or pass `--remote-trust-sandbox` if you trust the functions there as they are",
        )))
    }

    /// The result of a call: from the cache of the server, or made now.
    fn result_of(&self, call: &Prepared, most: usize) -> Attempt<Output> {
        let mut lookup = CacheLookup::Allowed;
        match self.client.result(&call.action) {
            Ok(Some(result)) if result.exit_code == 0 => match self.output(&result, most) {
                Ok(output) => return Ok(Output { cached: true, ..output }),
                // The server dropped what the result names, or has other bytes for it.
                Err(status) if [Code::NOT_FOUND, Code::DATA_LOSS].contains(&status.code) => {
                    lookup = CacheLookup::Skipped
                }
                Err(status) => return Err(status.into()),
            },
            // A failure may have been the server's; it is not taken from a cache.
            Ok(Some(_)) => lookup = CacheLookup::Skipped,
            Ok(None) => {}
            // Who may run programs may not be allowed to read the cache.
            Err(status) if [Code::PERMISSION_DENIED, Code::UNIMPLEMENTED].contains(&status.code) => {}
            Err(status) => return Err(status.into()),
        }
        let mut last = None;
        for _ in 0..ATTEMPTS {
            self.client.upload(&call.blobs)?;
            match self.client.execute(&call.action, lookup, call.takes) {
                Ok(response) => match self.answer(call, &response, most) {
                    Err(status) if [Code::NOT_FOUND, Code::DATA_LOSS].contains(&status.code) => {
                        lookup = CacheLookup::Skipped;
                        last = Some(status);
                    }
                    answer => {
                        let failed = answer.as_ref().is_ok_and(|output| !output.status.is_success());
                        if !(failed && response.cached_result && lookup == CacheLookup::Allowed) {
                            return Ok(answer?);
                        }
                        lookup = CacheLookup::Skipped;
                        last = None;
                    }
                },
                Err(status) if lacks_blobs(&status) => last = Some(status),
                Err(status) => return Err(status.into()),
            }
        }
        let status = last.unwrap_or_else(|| Status::new(Code::ABORTED, "the server gives only old results"));
        Err(status.into())
    }

    fn answer(
        &self,
        call: &Prepared,
        response: &ExecuteResponse,
        most: usize,
    ) -> std::result::Result<Output, Status> {
        let timed_out =
            response.status.as_ref().is_some_and(|status| status.code == Code::DEADLINE_EXCEEDED.0);
        let empty = ActionResult::default();
        let result = match &response.result {
            Some(result) => result,
            None if timed_out => &empty,
            None => return Err(Status::new(Code::INTERNAL, "the call ends without a result")),
        };
        let output = self.output(result, most);
        match timed_out {
            true => {
                let output = output.unwrap_or_else(|_| nothing(Ended::TimedOut(call.takes)));
                Ok(Output { status: Ended::TimedOut(call.takes), ..output })
            }
            false => output.map(|output| Output { cached: response.cached_result, ..output }),
        }
    }

    fn output(&self, result: &ActionResult, most: usize) -> std::result::Result<Output, Status> {
        let data_loss = |why: String| Status::new(Code::DATA_LOSS, why);
        let mut output = nothing(Ended::Exited(result.exit_code));
        let stderr = stream(&result.stderr_raw, result.stderr_digest.as_ref()).map_err(data_loss)?;
        if length(&stderr) <= STDERR_READ {
            output.stderr = self.client.read_stream(stderr)?;
            let dropped = output.stderr.len().saturating_sub(STDERR_KEPT);
            output.stderr.drain(..dropped);
            output.stderr_dropped = dropped as u64;
        }
        let stdout = stream(&result.stdout_raw, result.stdout_digest.as_ref()).map_err(data_loss)?;
        if length(&stdout) > most {
            output.status = Ended::TooMuchOutput;
            return Ok(output);
        }
        output.stdout = self.client.read_stream(stdout)?;
        Ok(output)
    }
}

fn nothing(status: Ended) -> Output {
    Output {
        stdout: Vec::new(),
        stderr: Vec::new(),
        stderr_dropped: 0,
        status,
        elapsed: std::time::Duration::ZERO,
        cached: false,
        fault: None,
    }
}

/// The one stream of a result; servers send the bytes, their digest, or both.
pub fn stream(raw: &[u8], digest: Option<&Digest>) -> std::result::Result<Stream, String> {
    match digest {
        Some(digest) if !digest.is_valid() => Err("the server names a digest that is not valid".into()),
        Some(digest) if raw.is_empty() && digest.size_bytes > 0 => Ok(Stream::At(digest.clone())),
        Some(digest) => digest.verified(raw.to_vec()).map(Stream::Here),
        None => Ok(Stream::Here(raw.to_vec())),
    }
}

pub fn length(stream: &Stream) -> usize {
    match stream {
        Stream::Here(bytes) => bytes.len(),
        Stream::At(digest) => usize::try_from(digest.size_bytes).unwrap_or(usize::MAX),
    }
}

fn is_out_of_reach(status: &Status) -> bool {
    [Code::UNAVAILABLE, Code::DEADLINE_EXCEEDED].contains(&status.code)
}

/// The name of an image with the digest it has, as workers pull it.
fn by_digest(image: &str, digest: &str) -> String {
    let name = ImageName::parse(image);
    let registry = if name.registry == "registry-1.docker.io" { "docker.io" } else { &name.registry };
    format!("{registry}/{}@{digest}", name.path)
}

/// What an executable needs to be started besides itself, if it says.
fn needs(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(4096).read_to_end(&mut start).ok()?;
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        return Some(format!("`{}`", String::from_utf8_lossy(line).trim()));
    }
    let interpreter = interpreter(&start)?;
    Some(format!("`{interpreter}` and the libraries it is linked with"))
}

/// The program that loads an ELF file of 64 bits, as its headers name it; `None` if it is linked statically.
fn interpreter(file: &[u8]) -> Option<String> {
    let number = |at: usize, bytes: usize| {
        let part = file.get(at..at + bytes)?;
        Some(part.iter().rev().fold(0_usize, |all, byte| all << 8 | usize::from(*byte)))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    const INTERPRETER: usize = 3;
    let headers = (0..count).map(|index| first + index * size);
    let header = headers.into_iter().find(|at| number(*at, 4) == Some(INTERPRETER))?;
    let (at, length) = (number(header + 8, 8)?, number(header + 32, 8)?);
    let name = file.get(at..at.checked_add(length)?)?;
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
}
