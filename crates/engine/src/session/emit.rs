//! Finished resources as text.

use krm_yaml::Result;
use rayon::prelude::*;

use crate::resource::Resource;
use crate::resource::list::Resources;

/// Finished resources as text, one document each: the pieces of it, to be written one after the other. What JSON cannot
/// say, such as an infinity, is an error.
pub fn emit<'r>(built: impl IntoIterator<Item = &'r Resources>) -> Result<Vec<String>> {
    // Long enough that handing out the work costs nothing, short enough that all threads get some.
    const CHUNK: usize = 64;
    let all: Vec<&Resource> = built.into_iter().flatten().collect();
    let pieces = |(number, chunk): (usize, &[&Resource])| {
        let mut pieces = vec![String::with_capacity(PIECE)];
        for (at, r) in chunk.iter().enumerate() {
            let text = pieces.last_mut().expect("there is one from the beginning");
            if number + at > 0 {
                text.push_str("---\n");
            }
            krm_yaml::try_canonical_into(r.node(), text)?;
            if text.len() > PIECE - PIECE / 8 {
                pieces.push(String::with_capacity(PIECE));
            }
        }
        Ok(pieces)
    };
    let pieces: Vec<Vec<String>> = all.par_chunks(CHUNK).enumerate().map(pieces).collect::<Result<_>>()?;
    Ok(pieces.into_iter().flatten().collect())
}

/// How long a piece of the output may get, roughly: a longer one would be copied over and over as it grows.
const PIECE: usize = 32 << 10;
