//! The command line: parse, dispatch, exit code.

/// Writes a line to standard error. It replaces the macro of the standard library, which panics when standard
/// error is closed, and passes on to the terminal whatever is in a name.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::report::say(&format!("{}\n", format_args!($($text)*))) };
}

mod cli;
mod commands;
mod os;
mod page;
#[cfg(feature = "remote")]
mod remote;
mod report;

use std::io::Write;

#[cfg(target_os = "linux")]
use krm_engine::runtime::supervisor;
use krm_yaml::Failure;

use crate::cli::{Cli, Command, FnCommand, PkgCommand};
use crate::report::Report;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// 0 done, 1 the input is wrong, 2 the command line is wrong (clap's own), 3 there are differences (asked for), 101 a bug in krm (a panic's own).
fn main() -> ! {
    let status = run();
    // The rest is for the system to take back: it does so at once, while the allocator would first give it back page by
    // page.
    let _ = std::io::stdout().flush();
    krm_engine::runtime::remove_scratch();
    os::exit(status)
}

fn run() -> i32 {
    #[cfg(target_os = "linux")]
    if supervisor::is_asked_for(std::env::args_os().nth(1).as_deref()) {
        supervisor::main();
    }
    report::own_up_to_panics();
    os::survive_file_limits();
    if commands::completion::is_asked_by_kubectl() {
        return i32::from(commands::completion::answer_kubectl().is_err());
    }
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(usage) => return usage.show(),
    };
    let report = Report::new(cli.error_format(), cli.everywhere.color);
    // The exit status of a command that did what it was asked: one may have found something.
    let mut done = 0;
    let result = match cli.command {
        Command::Affected(args) => commands::affected::run(&args, &report),
        Command::Build(args) => commands::build::run(args, &report),
        Command::Cache(args) => commands::cache::run(&args),
        Command::Cfg(args) => commands::cfg::run(*args, &report),
        Command::Complete(args) => commands::completion::candidates(&args),
        Command::Completion(args) => commands::completion::completion(args),
        Command::Create(args) => commands::create::run(&args),
        Command::Diff(args) => commands::diff::run(*args, &report).map(|status| done = status),
        Command::Explain(args) => commands::explain::run(*args, &report),
        Command::Edit(args) => commands::edit::run(*args, &report),
        Command::Fn(args) => match args.command {
            FnCommand::Run(args) => commands::function::run::run(args, &report),
            FnCommand::Render(args) => commands::function::render::run(&args, &report),
            FnCommand::Eval(args) => commands::function::eval::run(&args, &report),
            FnCommand::Source(args) => commands::function::source::run(args, &report),
            FnCommand::Sink(args) => commands::function::sink::run(args, &report),
            FnCommand::Wrap(args) => commands::function::wrap::wrap(args, &report),
            FnCommand::Xargs(args) => commands::function::wrap::xargs(args, &report),
            FnCommand::Doc(args) => commands::function::doc::run(*args),
        },
        Command::Graph(args) => commands::graph::run(*args, &report),
        Command::Help(args) => commands::help::run(&args),
        Command::Lint(args) => commands::lint::run(*args, &report).map(|found| done = i32::from(found)),
        Command::Localize(args) => commands::localize::run(&args, &report),
        Command::Lock(args) => commands::lock::run(&args, &report),
        Command::Lsp(args) => commands::lsp::run(&args),
        Command::Man(args) => commands::man::run(&args),
        Command::Merge(args) => commands::merge::run(args, &report),
        Command::Merge3(args) => commands::merge3::run(args, &report),
        Command::Openapi(args) => commands::openapi::run(&args),
        Command::Pkg(args) => match args.command {
            PkgCommand::Init(args) => commands::pkg::init::run(&args),
            PkgCommand::Get(args) => commands::pkg::get::run(&args, &report),
            PkgCommand::Update(args) => commands::pkg::update::run(&args, &report),
            PkgCommand::Diff(args) => commands::pkg::diff::run(&args, &report),
            PkgCommand::Tree(args) => commands::pkg::tree::run(&args, &report),
            PkgCommand::Cat(args) => commands::pkg::cat::run(&args, &report),
        },
        Command::Plan(args) => commands::plan::run(args, &report),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Vendor(args) => commands::vendor::run(&args),
        Command::Serve(args) => commands::serve::run(&args, &report),
        Command::Version(args) => commands::version::run(args),
    };
    os::shared_cache::finish_uploads();
    os::take_notes().iter().for_each(|note| report.show(note));
    let status = match result {
        Ok(()) => done,
        Err(error) => {
            report.show(&error);
            if error.failure() == Some(Failure::CommandLine) { 2 } else { 1 }
        }
    };
    report.finish();
    status
}
