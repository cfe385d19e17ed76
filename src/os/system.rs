//! System calls that the standard library does not offer. All unsafe code of the program is here.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

/// Ends the process at once: what had to be written has been written. Only the counts of a coverage build have not: the
/// normal way out writes them.
pub fn exit(status: i32) -> ! {
    if std::env::var_os("LLVM_PROFILE_FILE").is_some() {
        std::process::exit(status);
    }
    #[allow(unsafe_code)]
    // SAFETY: it takes a number, and does not return.
    unsafe {
        libc::_exit(status)
    }
}

/// Makes a file that grows beyond the limit of the system an error, as a full disk is. By default it would end the
/// process on the spot and leave temporary files.
pub fn survive_file_limits() {
    #[allow(unsafe_code)]
    // SAFETY: ignoring a signal runs none of our code, and there is no other thread yet.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Disables huge pages for this process and its children. Each of many threads that only wait
/// touches a little memory of its own, and of a huge page the system clears all.
#[cfg(all(target_os = "linux", feature = "remote"))]
pub fn use_small_pages() {
    #[allow(unsafe_code)]
    // SAFETY: it takes numbers, and changes nothing but how much memory a page is.
    unsafe {
        libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
    }
}

/// The time of day, as the user's clock has it: `12:03:04`.
pub fn clock() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs() as _;
    let mut time = std::mem::MaybeUninit::<libc::tm>::zeroed();
    #[allow(unsafe_code)]
    // SAFETY: both point to values that live until it returns; all zeros are a valid `tm`, so that it is one even if the call
    // fails.
    let time = unsafe {
        libc::localtime_r(&seconds, time.as_mut_ptr());
        time.assume_init()
    };
    format!("{:02}:{:02}:{:02}", time.tm_hour, time.tm_min, time.tm_sec)
}

/// The user whose rights this process has.
pub fn user() -> u32 {
    #[allow(unsafe_code)]
    // SAFETY: it takes nothing and cannot fail.
    unsafe {
        libc::geteuid()
    }
}

/// Closes a folder to everyone else.
pub fn make_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

/// How to rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    /// Both names exist and swap what they name, in one step.
    Exchange,
    /// The new name must not exist.
    NoReplace,
}

/// Renames in one step. Not every file system can: [`is_unsupported`] recognizes the error.
pub fn rename(from: &Path, to: &Path, how: Rename) -> Result<()> {
    let (from, to) = (c_string(from)?, c_string(to)?);
    #[cfg(target_os = "linux")]
    let done = {
        let flags = match how {
            Rename::Exchange => libc::RENAME_EXCHANGE,
            Rename::NoReplace => libc::RENAME_NOREPLACE,
        };
        #[allow(unsafe_code)]
        // SAFETY: both paths end in a zero byte and outlive the call.
        unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                from.as_ptr(),
                libc::AT_FDCWD,
                to.as_ptr(),
                flags,
            )
        }
    };
    #[cfg(target_os = "macos")]
    let done = {
        let flags = match how {
            Rename::Exchange => libc::RENAME_SWAP,
            Rename::NoReplace => libc::RENAME_EXCL,
        };
        #[allow(unsafe_code)]
        // SAFETY: both paths end in a zero byte and outlive the call.
        unsafe {
            libc::renamex_np(from.as_ptr(), to.as_ptr(), flags)
        }
    };
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    let done = {
        let _ = (from, to, how);
        return Err(Error::from_raw_os_error(libc::ENOSYS));
    };
    if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Whether an error of [`rename`] means that the file system does not know the way, not that the way is blocked.
pub fn is_unsupported(error: &Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP))
}

/// The extended attributes of a file by name. Access control lists are among them.
#[cfg(target_os = "linux")]
pub fn attributes(file: &File) -> Result<Vec<(CString, Vec<u8>)>> {
    let fd = file.as_raw_fd();
    #[allow(unsafe_code)]
    // SAFETY: the length given is that of the buffer; with a length of 0 nothing is written.
    let names = fill(|buffer, length| unsafe { libc::flistxattr(fd, buffer.cast(), length) })?;
    let names =
        names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    let read = |name: &CStr| {
        #[allow(unsafe_code)]
        // SAFETY: the name ends in a zero byte, and the length given is that of the buffer.
        fill(|buffer, length| unsafe { libc::fgetxattr(fd, name.as_ptr(), buffer.cast(), length) })
    };
    names.map(|name| Ok((name.to_owned(), read(name)?))).collect()
}

/// Calls until the buffer is large enough. A file system without attributes has none.
#[cfg(target_os = "linux")]
fn fill(call: impl Fn(*mut u8, usize) -> isize) -> Result<Vec<u8>> {
    loop {
        let needed = call(std::ptr::null_mut(), 0);
        if needed == 0 {
            return Ok(Vec::new());
        }
        let mut buffer = vec![0; usize::try_from(needed).unwrap_or_default()];
        let length = if needed > 0 { call(buffer.as_mut_ptr(), buffer.len()) } else { needed };
        if length >= 0 {
            buffer.truncate(length as usize);
            return Ok(buffer);
        }
        match Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENOTSUP) => return Ok(Vec::new()),
            // It has grown between the two calls.
            error if error.raw_os_error() == Some(libc::ERANGE) => {}
            error => return Err(error),
        }
    }
}

/// Sets an extended attribute.
#[cfg(target_os = "linux")]
pub fn set_attribute(file: &File, name: &CStr, value: &[u8]) -> Result<()> {
    #[allow(unsafe_code)]
    // SAFETY: the name ends in a zero byte, and the length given is that of the value.
    let done =
        unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub fn attributes(_: &File) -> Result<Vec<(CString, Vec<u8>)>> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
pub fn set_attribute(_: &File, _: &CStr, _: &[u8]) -> Result<()> {
    Ok(())
}

/// Signals that ask the process to end.
const ENDING: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
/// The last signal that came while they were held back.
static HELD: AtomicI32 = AtomicI32::new(0);

/// While this lives, signals that ask the process to end are noted; on drop the last one takes effect.
pub struct HoldSignals([libc::sigaction; ENDING.len()]);

impl HoldSignals {
    pub fn new() -> Self {
        extern "C" fn note(signal: i32) {
            HELD.store(signal, Ordering::Relaxed);
        }
        HELD.store(0, Ordering::Relaxed);
        #[allow(unsafe_code)]
        // SAFETY: zeroes are a valid value of this plain structure, and the handler does nothing but store a number. A signal
        // that was ignored before, as under nohup, stays ignored.
        Self(ENDING.map(|signal| unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = note as extern "C" fn(i32) as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, &mut before);
            }
            before
        }))
    }

    /// Whether a signal came.
    pub fn came() -> bool {
        HELD.load(Ordering::Relaxed) != 0
    }
}

impl Drop for HoldSignals {
    fn drop(&mut self) {
        for (signal, before) in ENDING.iter().zip(&self.0) {
            #[allow(unsafe_code)]
            // SAFETY: it puts back what was in force before.
            unsafe {
                libc::sigaction(*signal, before, std::ptr::null_mut());
            }
        }
        let signal = HELD.swap(0, Ordering::Relaxed);
        if signal == 0 {
            return;
        }
        #[allow(unsafe_code)]
        // SAFETY: it takes a number.
        unsafe {
            libc::raise(signal);
        }
        // A handler may pass it on to a thread, which ends the process in a moment.
        std::thread::sleep(std::time::Duration::from_secs(2));
        exit(128 + signal)
    }
}

fn c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::from_raw_os_error(libc::EINVAL))
}
