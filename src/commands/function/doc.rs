//! `krm fn doc`: what a function says about itself.

use krm_engine::runtime::{Program, Runtime};
use krm_engine::{Diagnostic, Result, Span};

use crate::cli::{FnDocArgs, ProgramArgs};
use crate::commands::function::run::program;
use crate::os;

pub fn run(args: FnDocArgs) -> Result<()> {
    let dir = os::current_dir()?;
    let fetch = &args.sandbox.fetch;
    let mut policy = fetch.restrict(args.sandbox.policy()?, &fetch.disk(&[]))?;
    policy.pinned.accept_images_of_the_user();
    let runtime = Runtime::new(args.sandbox.access.remote.apply(policy, fetch.offline)?);
    let named = args.name.map(|image| ProgramArgs { image: Some(image), exec_path: None, wasm: None });
    let mut program = program(&named.unwrap_or(args.program), &dir, args.sandbox.access.network)
        .expect("the command line demands one");
    let help = vec!["--help".to_string()];
    match &mut program {
        Program::Image(image) => image.args = help,
        Program::Exec(exec) => exec.args = help,
        Program::Wasm(module) => module.args = help,
        Program::Tool(_) => unreachable!("a tool is not a function"),
    }
    let output = runtime.run(&program, Vec::new())?;
    if let Some(fault) = output.fault {
        return Err(fault);
    }
    // Some print it to the one, some to the other; and some call it a failure to be asked.
    let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    if text.is_empty() {
        let message = format!("`{}` says nothing about itself: {}", program.name(), output.status);
        return Err(
            Diagnostic::error("function-without-doc", message).note("it was run with `--help`", Span::NONE)
        );
    }
    os::print(text)
}
