//! krm as a WebAssembly module without a system below it.
//!
//! The host allocates room in the module's memory, writes a question there, calls [`krm_answer`] and reads the answer: JSON
//! both ways, see `krm_bindings`. A question may bring its files with it, under `files`; otherwise the module asks the host
//! for each file when it is needed, through the imports of [`host`].

mod host;

use std::collections::BTreeMap;
use std::sync::Arc;

use krm_engine::{MemoryWorld, World};
use serde::Deserialize;

/// The part of a question that says where the files are.
#[derive(Deserialize)]
struct Files {
    files: BTreeMap<String, String>,
    question: serde_json::Value,
}

/// Room for `length` bytes that the host may write.
#[unsafe(no_mangle)]
pub extern "C" fn krm_allocate(length: usize) -> *mut u8 {
    Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
}

/// Gives back room that [`krm_allocate`] gave, or the room of an answer.
///
/// # Safety
/// The address and the length are those that were given, and no one uses them any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn krm_free(address: *mut u8, length: usize) {
    // SAFETY: `krm_allocate` and `krm_answer` give boxed slices of exactly this length.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(address, length)) });
}

/// Answers the question at an address. The room of the question is taken; that of the answer is the host's to free. What is
/// returned is the answer's address in the upper and its length in the lower half.
///
/// # Safety
/// The address is one that [`krm_allocate`] gave for this length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn krm_answer(address: *mut u8, length: usize) -> u64 {
    // SAFETY: as above; the host gives it up by calling this.
    let question = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(address, length)) };
    let question = String::from_utf8_lossy(&question);
    let answer = match serde_json::from_str::<Files>(&question) {
        Ok(Files { files, question }) => {
            let world: Arc<dyn World> = Arc::new(MemoryWorld::new(files));
            krm_bindings::answer(world, &question.to_string())
        }
        Err(_) => krm_bindings::answer(Arc::new(host::Host), &question),
    };
    let answer = Box::leak(answer.into_bytes().into_boxed_slice());
    (answer.as_ptr() as u64) << 32 | answer.len() as u64
}
