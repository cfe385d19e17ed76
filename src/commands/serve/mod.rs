//! `krm serve`: the page of a build, kept up to date while files change.

mod http;
mod server;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use krm_engine::explain::FieldPath;
use krm_engine::files::Offline;
use krm_engine::page::{Wanted, page};
use krm_engine::runtime::Runtime;
use krm_engine::{BuildOptions, Dependencies, Result, Session, Sources, World};
use rustc_hash::FxHashMap;

use self::server::{Server, View};
use crate::cli::{BuildFlags, examples};
use crate::commands::build;
use crate::commands::masks::masked_fields;
use crate::commands::targets::Targets;
use crate::os::{self, Disk, Watch};
use crate::page::{Mode, html};
use crate::report::{self, Report};

/// Show builds in a browser, and show them again when files change
///
/// The page is that of `krm explain --html`. It is served to this machine alone, at an address that holds a secret; requests
/// without it are refused. Functions and charts run only with the flags that allow it, and remote bases are fetched only with
/// `--allow-fetch`. The first line on standard output is the address. End it with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = examples::SERVE)]
pub struct ServeArgs {
    /// Folders with a kustomization or a Composition, or folders that have such folders below them
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,

    /// The port; any that is free without it
    #[arg(long, default_value_t = 0, value_name = "N", hide_default_value = true)]
    port: u16,

    /// Fetch remote bases, as `krm build` does
    #[arg(long)]
    allow_fetch: bool,

    /// Show the values of Secrets
    #[arg(long)]
    show_secrets: bool,

    /// Do not show the values of this field; may be given several times
    #[arg(long, value_name = "FIELD")]
    mask: Vec<String>,

    /// Open the page in a browser
    #[arg(long)]
    open: bool,

    /// Look at files every MS milliseconds, for file systems that do not say when a file changes
    #[arg(long, value_name = "MS")]
    poll: Option<u64>,

    #[command(flatten)]
    flags: BuildFlags,
}

/// What is shown, and what it depends on.
struct Serving<'a> {
    args: &'a ServeArgs,
    options: BuildOptions,
    world: Arc<dyn World>,
    names: Vec<String>,
    dependencies: Vec<Option<Arc<Dependencies>>>,
    home: PathBuf,
    mask: Vec<FieldPath>,
}

pub fn run(args: &ServeArgs, report: &Report) -> Result<()> {
    let names = Targets::find(&Disk::default(), &Sources::new(), &args.dirs)?.names;
    let (disk, options) = build::world_and_options(&args.flags, &names)?;
    let disk: Arc<dyn World> = Arc::new(disk);
    let mut serving = Serving {
        args,
        options,
        world: if args.allow_fetch { disk } else { Arc::new(Offline(disk)) },
        dependencies: vec![None; names.len()],
        names,
        home: os::absolute(&os::current_dir()?)?,
        mask: masked_fields(&args.mask)?,
    };
    let server = Server::bind(args.port, &serving.names)?;
    let mut started = SystemTime::now();
    let all: Vec<usize> = (0..serving.names.len()).collect();
    serving.show(&all, &server);
    let address = server.address().to_owned();
    let views = server.start();
    os::print(format!("{address}\n").as_bytes())?;
    if args.open {
        os::open_in_browser(&address);
    }
    let (mut watch, warning) = Watch::new(args.poll.map(Duration::from_millis));
    warning.iter().for_each(|warning| report.show(warning));
    loop {
        let (mut changed, warning) = watch.set(serving.paths(), started);
        warning.iter().for_each(|warning| report.show(warning));
        if changed.is_empty() {
            changed = watch.wait(None);
        }
        started = SystemTime::now();
        let reached = serving.reached(&changed);
        serving.show(&reached, &views);
    }
}

impl Serving<'_> {
    /// Builds targets, and shows what came of it.
    fn show(&mut self, which: &[usize], server: &Server) {
        let sources = report::sources();
        let (runtime, _) = Runtime::skipping(self.options.policy.clone());
        let session = Session::with_runtime(
            self.world.clone(),
            sources.clone(),
            self.options.clone(),
            Arc::new(runtime),
        );
        for at in which {
            let name = &self.names[*at];
            let (built, trace) = session.trace(name);
            let warnings = session.warnings_of(name);
            self.dependencies[*at] = session.dependencies(name);
            let failure = built.err().map(|error| error.located(&sources));
            let text = failure.as_ref().map(|error| error.render(&sources));
            // The first view is of whatever there is; later the last good one stays below the failure.
            let wanted = Wanted {
                target: name,
                home: &self.home,
                depth: 3,
                show_secrets: self.args.show_secrets,
                mask: &self.mask,
                warnings: &warnings,
                failure: failure.as_ref(),
                start: None,
            };
            let made = || html(&page(&trace, &sources, &wanted), Mode::Live { events: &server.events(*at) });
            server.update(*at, View { html: made, failure: text });
        }
    }

    /// The targets that a change reaches.
    fn reached(&self, changed: &[PathBuf]) -> Vec<usize> {
        let mut known = FxHashMap::default();
        let is_reached = |at: &usize| {
            let dependencies = self.dependencies[*at].as_ref();
            dependencies.is_none_or(|dependencies| dependencies.affected_by(changed, &mut known))
        };
        (0..self.names.len()).filter(is_reached).collect()
    }

    fn paths(&self) -> BTreeSet<PathBuf> {
        build::watch::paths_of(self.dependencies.iter().flatten())
    }
}
