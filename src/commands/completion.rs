//! `krm completion` and `krm man`: what clap knows, for shells and for people.

use clap::CommandFactory;
use krm_engine::{Diagnostic, Result};

use crate::cli::{Cli, CompletionArgs, ManArgs};
use crate::os;

pub fn completion(args: CompletionArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "krm", &mut script);
    os::print(&script)
}

pub fn man(args: ManArgs) -> Result<()> {
    match args.dir {
        Some(dir) => {
            let made = std::fs::create_dir_all(&dir);
            made.and_then(|()| clap_mangen::generate_to(Cli::command(), &dir)).map_err(|error| {
                Diagnostic::error("man-not-written", format!("cannot write to `{}`: {error}", dir.display()))
                    .help("name a folder that may be written to")
            })
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).expect("memory can always be written to");
            os::print(&page)
        }
    }
}
