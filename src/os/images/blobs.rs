//! Layers, as they come from a registry.

use std::io::Write;
use std::time::Duration;

use krm_engine::Result;

use crate::os::http::{TOO_LONG, is_timeout};
use crate::os::registry::Registry;

/// The bytes of a layer that a registry must send in a second, on average.
const SLOWEST: u64 = 64 << 10;
/// The time a registry has for the largest layer.
const LAYER_WITHIN: Duration = Duration::from_secs(1800);

impl Registry {
    /// Writes a blob somewhere, as it comes. Nothing is verified, but no more than `most` bytes are written.
    pub fn copy_blob(&mut self, digest: &str, most: u64, to: &mut dyn Write) -> Result<()> {
        let within = (self.within + Duration::from_secs(most / SLOWEST)).min(LAYER_WITHIN);
        let mut response = self.response("blobs", digest, within)?;
        // A body of exactly this size is not too large.
        let mut body = response.body_mut().with_config().limit(most.saturating_add(1)).reader();
        std::io::copy(&mut body, to).map(drop).map_err(|error| self.failed(explained(&error)))
    }
}

/// Why an answer could not be read to its end.
fn explained(error: &std::io::Error) -> String {
    if is_timeout(error) { TOO_LONG.into() } else { error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_registry_that_answers_in_drops_is_given_up() {
        let image = format!("{}/a:v1", crate::os::http::dripping_server());
        let mut registry = Registry::within(&image, None, Duration::from_millis(300));
        let start = Instant::now();
        let manifest = registry.config().map(drop).unwrap_err();
        let layer = registry.copy_blob("sha256:00", 1000, &mut std::io::sink()).unwrap_err();
        for error in [manifest, layer] {
            assert!(error.to_string().ends_with("the server takes too long"), "{error}");
        }
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
