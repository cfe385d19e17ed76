//! `krm cache`.

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use krm_engine::{Diagnostic, Result};

use crate::os;
use crate::os::store::{self, Removal, StoredEntry};

/// Show or remove what krm keeps on this machine
///
/// That is, what was fetched and outputs of functions. Everything in the cache can be made or fetched again, and is checked whenever it is used.
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::CACHE)]
pub struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, Subcommand)]
enum CacheCommand {
    /// Print where the cache is, and what it holds
    #[command(after_help = crate::cli::examples::CACHE_INFO)]
    Info,
    /// Remove what has not been used for a while, and what killed processes left behind
    #[command(after_help = crate::cli::examples::CACHE_GC)]
    Gc(GcArgs),
    /// Remove everything
    #[command(after_help = crate::cli::examples::CACHE_CLEAR)]
    Clear,
}

#[derive(Debug, Args)]
struct GcArgs {
    /// Remove entries that have not been used for this long, such as `30d` or `12h`
    #[arg(long, default_value = "30d", value_name = "TIME", value_parser = age)]
    unused_for: Duration,

    /// Remove more, the longest unused first, until no more than this is left, such as `5Gi`
    #[arg(long, value_name = "SIZE", value_parser = crate::cli::size)]
    max_size: Option<u64>,
}

fn age(text: &str) -> Result<Duration, String> {
    krm_engine::duration(text).ok_or_else(|| "expected a time, such as `30d` or `12h`".into())
}

pub fn run(args: &CacheArgs) -> Result<()> {
    let Some(cache) = os::cache_dir() else {
        return Err(Diagnostic::error("cache-no-folder", "there is no folder for caches")
            .help("set HOME or XDG_CACHE_HOME to an absolute path"));
    };
    match &args.command {
        CacheCommand::Info => {
            let mut text = format!("{}\n", cache.display());
            for (kind, entries) in store::entries(&cache) {
                let bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
                text += &format!("{kind:<8} {:>8} {:>10}\n", entries.len(), human(bytes));
            }
            os::print(text.as_bytes())
        }
        CacheCommand::Gc(gc) => {
            let removal = Removal::begin(&cache)?;
            removal.remove_given_up();
            let mut entries: Vec<StoredEntry> =
                store::entries(&cache).into_iter().flat_map(|(_, entries)| entries).collect();
            entries.sort_by_key(|entry| entry.used);
            let mut left: u64 = entries.iter().map(|entry| entry.bytes).sum();
            // A time that is yet to come, by a clock that was wrong, is now.
            let age = |entry: &StoredEntry| SystemTime::now().duration_since(entry.used).unwrap_or_default();
            let (mut count, mut bytes) = (0, 0);
            for entry in &entries {
                if age(entry) >= gc.unused_for || gc.max_size.is_some_and(|most| left > most) {
                    let size = removal.remove(entry)?;
                    left -= size;
                    bytes += size;
                    count += 1;
                }
            }
            removed(count, bytes);
            Ok(())
        }
        CacheCommand::Clear => {
            let removal = Removal::begin(&cache)?;
            removal.remove_given_up();
            let (mut count, mut bytes) = (0, 0);
            for entry in store::entries(&cache).iter().flat_map(|(_, entries)| entries) {
                bytes += removal.remove(entry)?;
                count += 1;
            }
            removed(count, bytes);
            Ok(())
        }
    }
}

fn removed(count: usize, bytes: u64) {
    eprintln!("removed {count} {}, {}", if count == 1 { "entry" } else { "entries" }, human(bytes));
}

fn human(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}
