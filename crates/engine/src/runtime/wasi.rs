//! WASI preview 1, as much of it as a function needs.
//!
//! A module sees three open streams, its arguments and its environment. There is no file to open and no socket: every
//! call about them returns "not capable". Time is made up (it begins in 2000 and advances whenever it is read), and so are
//! random numbers: the same input gives the same output.
//!
//! What one call can make the host do is bounded: streams take and give a part at a time, as they may, and every byte
//! that is moved is charged to the module like an instruction.

use std::sync::Arc;

use wasmi::errors::HostError;
use wasmi::{Caller, Error, Extern, Linker, Module, Val, ValType};

type Result<T> = std::result::Result<T, Error>;

const WASI: &str = "wasi_snapshot_preview1";

// Error numbers of the specification.
const SUCCESS: i32 = 0;
const BAD_FD: i32 = 8;
const FAULT: i32 = 21;
const INVALID: i32 = 28;
const NOT_SEEKABLE: i32 = 70;
const NOT_CAPABLE: i32 = 76;

/// 2000-01-01T00:00:00Z in nanoseconds.
const BEGINNING: u64 = 946_684_800_000_000_000;
/// How far time advances whenever it is read.
const TICK: u64 = 1_000;

const STDERR_KEPT: usize = 64 * 1024;

/// How many buffers of a list, and how many bytes in all, one call reads or writes. The module learns how many bytes it
/// was, and calls again.
const MOST_BUFFERS: i32 = 1024;
const MOST_BYTES: usize = 1 << 20;
/// How many random bytes one call gives, and how many events it waits for.
const MOST_CHANCE: usize = 16 << 20;
const MOST_EVENTS: i32 = 4096;

/// Everything a module can reach.
pub(super) struct Machine {
    args: Vec<String>,
    env: Vec<String>,
    input: Arc<Vec<u8>>,
    read: usize,
    stdout: Vec<u8>,
    most_stdout: usize,
    stderr: Vec<u8>,
    /// Nanoseconds since it started.
    time: u64,
    chance: u64,
}

/// The module ended itself.
#[derive(Debug)]
pub(super) struct Exit(pub i32);

/// The module printed more than it may.
#[derive(Debug)]
pub(super) struct TooMuchOutput;

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit status {}", self.0)
    }
}
impl std::error::Error for Exit {}
impl HostError for Exit {}

impl std::fmt::Display for TooMuchOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "too much output")
    }
}
impl std::error::Error for TooMuchOutput {}
impl HostError for TooMuchOutput {}

impl Machine {
    pub(super) fn new(args: Vec<String>, env: Vec<String>, input: Arc<Vec<u8>>, most_stdout: usize) -> Self {
        let (stdout, stderr) = (Vec::new(), Vec::new());
        Self { args, env, input, read: 0, stdout, most_stdout, stderr, time: 0, chance: 0 }
    }

    /// Stdout and the end of stderr.
    pub(super) fn into_output(mut self) -> (Vec<u8>, Vec<u8>) {
        let cut = self.stderr.len().saturating_sub(STDERR_KEPT);
        self.stderr.drain(..cut);
        (self.stdout, self.stderr)
    }

    fn now(&mut self) -> u64 {
        self.time += TICK;
        self.time
    }

    fn write(&mut self, fd: i32, bytes: &[u8]) -> Result<()> {
        match fd {
            1 if self.stdout.len() + bytes.len() > self.most_stdout => {
                return Err(Error::host(TooMuchOutput));
            }
            1 => self.stdout.extend_from_slice(bytes),
            _ => {
                self.stderr.extend_from_slice(bytes);
                if self.stderr.len() > 4 * STDERR_KEPT {
                    let cut = self.stderr.len() - STDERR_KEPT;
                    self.stderr.drain(..cut);
                }
            }
        }
        Ok(())
    }

    /// SplitMix64.
    fn chance(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The module's memory; addresses may be outside of it.
struct Bytes<'a>(&'a mut [u8]);

impl Bytes<'_> {
    fn at(&mut self, address: i32, length: usize) -> Option<&mut [u8]> {
        let start = address as u32 as usize;
        self.0.get_mut(start..start.checked_add(length)?)
    }

    fn put<const N: usize>(&mut self, address: i32, bytes: [u8; N]) -> Option<()> {
        self.at(address, N)?.copy_from_slice(&bytes);
        Some(())
    }

    fn get<const N: usize>(&mut self, address: i32) -> Option<[u8; N]> {
        self.at(address, N)?.try_into().ok()
    }

    fn u32(&mut self, address: i32) -> Option<u32> {
        self.get(address).map(u32::from_le_bytes)
    }

    fn u64(&mut self, address: i32) -> Option<u64> {
        self.get(address).map(u64::from_le_bytes)
    }

    fn put_u32(&mut self, address: i32, number: usize) -> Option<()> {
        self.put(address, (number as u32).to_le_bytes())
    }

    fn put_u64(&mut self, address: i32, number: u64) -> Option<()> {
        self.put(address, number.to_le_bytes())
    }

    /// One buffer of a list of them: address and length.
    fn buffer(&mut self, list: i32, number: i32) -> Option<(i32, usize)> {
        let at = list.checked_add(number.checked_mul(8)?)?;
        Some((self.u32(at)? as i32, self.u32(at.checked_add(4)?)? as usize))
    }

    /// Writes texts that end in zero, and a list of where each begins.
    fn put_texts(&mut self, texts: &[String], mut list: i32, mut at: i32) -> Option<()> {
        for text in texts {
            self.put_u32(list, at as u32 as usize)?;
            let place = self.at(at, text.len() + 1)?;
            place[..text.len()].copy_from_slice(text.as_bytes());
            place[text.len()] = 0;
            (list, at) = (list.wrapping_add(4), at.wrapping_add(text.len() as i32 + 1));
        }
        Some(())
    }

    fn put_sizes(&mut self, texts: &[String], count: i32, size: i32) -> Option<()> {
        self.put_u32(count, texts.len())?;
        self.put_u32(size, texts.iter().map(|t| t.len() + 1).sum())
    }
}

/// Returns success if all addresses were in the module's memory.
fn answer(done: Option<()>) -> i32 {
    done.map_or(FAULT, |()| SUCCESS)
}

fn is_stream(fd: i32) -> bool {
    (0..=2).contains(&fd)
}

/// Defines all of WASI for a module. `machine` finds the machine in what the store holds.
pub(super) fn define<T: 'static>(
    linker: &mut Linker<T>,
    module: &Module,
    machine: fn(&mut T) -> &mut Machine,
) -> Result<()> {
    streams(linker, machine)?;
    surroundings(linker, machine)?;
    linker.func_wrap(WASI, "proc_exit", |code: i32| -> Result<()> { Err(Error::host(Exit(code))) })?;
    linker.func_wrap(WASI, "sched_yield", || SUCCESS)?;
    // No folder was opened for it in advance, which is how a module finds out that there are none.
    linker.func_wrap(WASI, "fd_prestat_get", |_: i32, _: i32| BAD_FD)?;
    linker.func_wrap(WASI, "fd_prestat_dir_name", |_: i32, _: i32, _: i32| BAD_FD)?;
    refuse_the_rest(linker, module)
}

/// Everything else in WASI: files, sockets, signals.
fn refuse_the_rest<T: 'static>(linker: &mut Linker<T>, module: &Module) -> Result<()> {
    for import in module.imports().filter(|import| import.module() == WASI) {
        let Some(wanted) = import.ty().func().cloned() else { continue };
        let refuse = |_: Caller<'_, T>, _: &[Val], results: &mut [Val]| {
            results.iter_mut().for_each(|result| *result = Val::I32(NOT_CAPABLE));
            Ok(())
        };
        if wanted.results().iter().all(|ty| matches!(ty, ValType::I32)) {
            // Fails for those defined above: they stay.
            let _ = linker.func_new(WASI, import.name(), wanted, refuse);
        }
    }
    Ok(())
}

/// Gives a closure the module's memory and the machine.
fn with<T: 'static, R>(
    caller: &mut Caller<'_, T>,
    machine: fn(&mut T) -> &mut Machine,
    absent: R,
    act: impl FnOnce(&mut Bytes<'_>, &mut Machine) -> R,
) -> R {
    let Some(memory) = caller.get_export("memory").and_then(Extern::into_memory) else { return absent };
    let (bytes, data) = memory.data_and_store_mut(caller);
    act(&mut Bytes(bytes), machine(data))
}

/// Charges a module for bytes that were moved on its behalf.
fn charge<T>(caller: &mut Caller<'_, T>, bytes: usize) {
    let left = caller.get_fuel().unwrap_or_default().saturating_sub(bytes as u64);
    caller.set_fuel(left).expect("fuel is counted");
}

fn streams<T: 'static>(linker: &mut Linker<T>, machine: fn(&mut T) -> &mut Machine) -> Result<()> {
    let read = move |mut caller: Caller<'_, T>, fd: i32, list: i32, count: i32, done: i32| {
        if fd != 0 {
            return BAD_FD;
        }
        let (answer, total) = with(&mut caller, machine, (FAULT, 0), |bytes, machine| {
            let mut total = 0;
            let mut copy = || {
                for number in 0..count.min(MOST_BUFFERS) {
                    let (at, length) = bytes.buffer(list, number)?;
                    let rest = &machine.input[machine.read..];
                    let n = length.min(rest.len()).min(MOST_BYTES - total);
                    bytes.at(at, n)?.copy_from_slice(&rest[..n]);
                    machine.read += n;
                    total += n;
                }
                bytes.put_u32(done, total)
            };
            (answer(copy()), total)
        });
        charge(&mut caller, total);
        answer
    };
    linker.func_wrap(WASI, "fd_read", read)?;

    let write = move |mut caller: Caller<'_, T>, fd: i32, list: i32, count: i32, done: i32| -> Result<i32> {
        if !matches!(fd, 1 | 2) {
            return Ok(BAD_FD);
        }
        let mut total = 0;
        let answer = with(&mut caller, machine, Ok(FAULT), |bytes, machine| {
            for number in 0..count.min(MOST_BUFFERS) {
                let Some((at, length)) = bytes.buffer(list, number) else { return Ok(FAULT) };
                let n = length.min(MOST_BYTES - total);
                // All of it must be in the module's memory, even if only a part is used.
                if bytes.at(at, length).is_none() {
                    return Ok(FAULT);
                }
                let Some(text) = bytes.at(at, n) else { return Ok(FAULT) };
                machine.write(fd, text)?;
                total += n;
            }
            Ok(answer(bytes.put_u32(done, total)))
        });
        charge(&mut caller, total);
        answer
    };
    linker.func_wrap(WASI, "fd_write", write)?;

    // What a stream is: something of no known kind that can be read or written. A character device would be taken for a
    // terminal, with a person at it.
    let stat = move |mut caller: Caller<'_, T>, fd: i32, at: i32| {
        if !is_stream(fd) {
            return BAD_FD;
        }
        let rights: u64 = if fd == 0 { 1 << 1 } else { 1 << 6 };
        let mut stat = [0; 24];
        stat[8..16].copy_from_slice(&rights.to_le_bytes());
        with(&mut caller, machine, FAULT, |bytes, _| answer(bytes.put(at, stat)))
    };
    linker.func_wrap(WASI, "fd_fdstat_get", stat)?;
    let file_stat = move |mut caller: Caller<'_, T>, fd: i32, at: i32| {
        if !is_stream(fd) {
            return BAD_FD;
        }
        with(&mut caller, machine, FAULT, |bytes, _| answer(bytes.put(at, [0; 64])))
    };
    linker.func_wrap(WASI, "fd_filestat_get", file_stat)?;
    let fine = |fd: i32| if is_stream(fd) { SUCCESS } else { BAD_FD };
    linker.func_wrap(WASI, "fd_close", fine)?;
    linker.func_wrap(WASI, "fd_sync", fine)?;
    linker.func_wrap(WASI, "fd_fdstat_set_flags", move |fd: i32, _: i32| fine(fd))?;
    let seek = |fd: i32| if is_stream(fd) { NOT_SEEKABLE } else { BAD_FD };
    linker.func_wrap(WASI, "fd_seek", move |fd: i32, _: i64, _: i32, _: i32| seek(fd))?;
    linker.func_wrap(WASI, "fd_tell", move |fd: i32, _: i32| seek(fd))?;
    Ok(())
}

fn surroundings<T: 'static>(linker: &mut Linker<T>, machine: fn(&mut T) -> &mut Machine) -> Result<()> {
    let args = move |mut caller: Caller<'_, T>, list: i32, texts: i32| {
        with(&mut caller, machine, FAULT, |bytes, m| answer(bytes.put_texts(&m.args, list, texts)))
    };
    linker.func_wrap(WASI, "args_get", args)?;
    let args = move |mut caller: Caller<'_, T>, count: i32, size: i32| {
        with(&mut caller, machine, FAULT, |bytes, m| answer(bytes.put_sizes(&m.args, count, size)))
    };
    linker.func_wrap(WASI, "args_sizes_get", args)?;
    let env = move |mut caller: Caller<'_, T>, list: i32, texts: i32| {
        with(&mut caller, machine, FAULT, |bytes, m| answer(bytes.put_texts(&m.env, list, texts)))
    };
    linker.func_wrap(WASI, "environ_get", env)?;
    let env = move |mut caller: Caller<'_, T>, count: i32, size: i32| {
        with(&mut caller, machine, FAULT, |bytes, m| answer(bytes.put_sizes(&m.env, count, size)))
    };
    linker.func_wrap(WASI, "environ_sizes_get", env)?;

    let time = move |mut caller: Caller<'_, T>, clock: i32, _precision: i64, at: i32| {
        with(&mut caller, machine, FAULT, |bytes, machine| {
            let beginning = if clock == 0 { BEGINNING } else { 0 };
            answer(bytes.put_u64(at, beginning + machine.now()))
        })
    };
    linker.func_wrap(WASI, "clock_time_get", time)?;
    let resolution = move |mut caller: Caller<'_, T>, _clock: i32, at: i32| {
        with(&mut caller, machine, FAULT, |bytes, _| answer(bytes.put_u64(at, TICK)))
    };
    linker.func_wrap(WASI, "clock_res_get", resolution)?;

    let random = move |mut caller: Caller<'_, T>, at: i32, length: i32| {
        let length = length as u32 as usize;
        if length > MOST_CHANCE {
            return INVALID;
        }
        charge(&mut caller, length);
        with(&mut caller, machine, FAULT, |bytes, machine| {
            let Some(place) = bytes.at(at, length) else { return FAULT };
            place.chunks_mut(8).for_each(|chunk| {
                chunk.copy_from_slice(&machine.chance().to_le_bytes()[..chunk.len()]);
            });
            SUCCESS
        })
    };
    linker.func_wrap(WASI, "random_get", random)?;

    let poll = move |mut caller: Caller<'_, T>, list: i32, events: i32, count: i32, done: i32| {
        if !(1..=MOST_EVENTS).contains(&count) {
            return INVALID;
        }
        charge(&mut caller, 48 * count as usize);
        with(&mut caller, machine, FAULT, |bytes, machine| {
            answer(poll(bytes, machine, list, events, count, done))
        })
    };
    linker.func_wrap(WASI, "poll_oneoff", poll)?;
    Ok(())
}

/// Waiting. Streams are always ready, and any time that is waited for has come.
fn poll(
    bytes: &mut Bytes<'_>,
    machine: &mut Machine,
    list: i32,
    events: i32,
    count: i32,
    done: i32,
) -> Option<()> {
    const CLOCK: u8 = 0;
    /// A time that is a point and not a duration.
    const ABSOLUTE: u8 = 1;
    let mut ready = Vec::new();
    let mut waits = Vec::new();
    for i in 0..count {
        let at = list.checked_add(i.checked_mul(48)?)?;
        let (user, [kind]) = (bytes.u64(at)?, bytes.get::<1>(at.checked_add(8)?)?);
        if kind != CLOCK {
            ready.push((user, kind));
            continue;
        }
        at.checked_add(48)?;
        let (clock, timeout, [flags]) = (bytes.u32(at + 16)?, bytes.u64(at + 24)?, bytes.get::<1>(at + 40)?);
        let until = match (flags & ABSOLUTE, clock) {
            (0, _) => machine.time.saturating_add(timeout),
            (_, 0) => timeout.saturating_sub(BEGINNING),
            _ => timeout,
        };
        waits.push((until, user));
    }
    if ready.is_empty() {
        let until = waits.iter().map(|(until, _)| *until).min()?;
        machine.time = machine.time.max(until);
        ready.extend(waits.iter().filter(|(time, _)| *time <= until).map(|(_, user)| (*user, CLOCK)));
    }
    for (i, (user, kind)) in ready.iter().enumerate() {
        let mut event = [0; 32];
        event[..8].copy_from_slice(&user.to_le_bytes());
        event[10] = *kind;
        event[16..24].copy_from_slice(&(machine.input.len() - machine.read).max(1).to_le_bytes());
        bytes.put(events.checked_add(32 * i as i32)?, event)?;
    }
    bytes.put_u32(done, ready.len())
}
