//! Layers that are compressed by Zstandard: one frame, or many one after the other with notes between them.

use std::io::{self, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Reads what all frames of a stream hold.
pub struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
}

impl<R: Read> ZstdFrames<R> {
    pub fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new() }
    }

    /// Begins the next frame; `false` at the end of the stream. Frames that a decoder is to skip are skipped.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut first = [0];
            match self.source.read(&mut first) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            match self.decoder.init(first.as_slice().chain(&mut self.source)) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = (&mut self.source).take(length.into());
                    if io::copy(&mut { skipped }, &mut io::sink())? < length.into() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            } else if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames by `zstd`, the first with a checksum, and between them one to skip that holds `skip!`.
    const FRAMES: &[u8] = b"\x28\xb5\x2f\xfd\x04\x68\x6d\x00\x008a first\x01\x00\x0d\x10\x02\x9d\x43\x7f\x66\
        \x50\x2a\x4d\x18\x05\x00\x00\x00skip!\
        \x28\xb5\x2f\xfd\x00\x58\x59\x00\x00 and second";

    fn read(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        ZstdFrames::new(bytes).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn frames_are_joined_and_notes_between_them_skipped() {
        assert_eq!(read(FRAMES).unwrap(), format!("{} first and second", "a".repeat(32)));
    }

    #[test]
    fn a_stream_that_ends_early_is_an_error() {
        let ends_of_frames = [0, 26, 39];
        for length in 0..FRAMES.len() {
            assert_eq!(read(&FRAMES[..length]).is_ok(), ends_of_frames.contains(&length), "{length} bytes");
        }
    }
}
