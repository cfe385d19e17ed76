//! `krm man`: the manual, made of what the command line knows.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};

use clap::{Command, CommandFactory};
use krm_engine::{Diagnostic, Result};

use crate::cli::{Cli, ManArgs};
use crate::os;

/// Which pages show an entry. A command's page also shows those of its subcommands.
enum On {
    Every,
    /// Of commands with this flag.
    Flag(&'static str),
    Commands(&'static [&'static str]),
}

use On::{Commands, Every, Flag};

/// On whose pages it is, a term, and its meaning.
type Entry = (On, &'static str, &'static str);

/// What pages end with: headings, and the entries below them.
const SECTIONS: [(&str, &[Entry]); 2] = [
    (
        "EXIT STATUS",
        &[
            (Every, "0", "done"),
            (Every, "1", "the input is wrong; nothing was written"),
            (Every, "2", "the command line is wrong"),
            (Flag("exit-code"), "3", "there are differences, and --exit-code was given"),
            (Every, "101", "a bug in krm"),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            (
                Every,
                "NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM",
                "whether to use colours, unless --color says so",
            ),
            (Every, "TMPDIR", "where temporary files go"),
            (
                Commands(&["krm-diff", "krm-explain"]),
                "KRM_PAGER, PAGER",
                "the program that shows long answers at a terminal",
            ),
            (
                Flag("network"),
                "KRM_FN_RUNTIME, KPT_FN_RUNTIME",
                "what runs functions that are images: docker, podman or nerdctl; sandbox for none of them, or bwrap, crun or runc",
            ),
            (
                Flag("network"),
                "KRM_SANDBOX_LIMITS",
                "each-process settles for limits on each process if a sandbox cannot have a control group",
            ),
            (
                Flag("network"),
                "DOCKER_CONFIG, REGISTRY_AUTH_FILE",
                "where the logins for registries of images are",
            ),
            (
                Flag("remote-executor"),
                "KRM_REMOTE_EXECUTOR",
                "the server that runs functions, as --remote-executor",
            ),
            (
                Flag("remote-executor"),
                "KRM_REMOTE_INSTANCE_NAME, KRM_REMOTE_TLS_CA, KRM_REMOTE_TLS_CERT, KRM_REMOTE_TLS_KEY, \
                 KRM_REMOTE_CREDENTIAL_HELPER, KRM_REMOTE_EXEC_PROPERTIES, KRM_REMOTE_EXECUTABLES, \
                 KRM_REMOTE_TRUST_SANDBOX, KRM_REMOTE_LOCAL_FALLBACK, KRM_REMOTE_JOBS, KRM_REMOTE_TIMEOUT, \
                 KRM_REMOTE_RETRIES",
                "how to connect to it; same as the flags with these names",
            ),
            (
                Flag("remote-cache"),
                "KRM_REMOTE_CACHE, KRM_REMOTE_UPLOAD, KRM_REMOTE_HEADER",
                "a shared cache, whether to upload to it, and headers for it, as the flags of these names",
            ),
            (Flag("offline"), "XDG_CACHE_HOME", "where what was fetched and what functions printed is kept"),
            (
                Flag("offline"),
                "ALL_PROXY, HTTPS_PROXY, HTTP_PROXY, NO_PROXY",
                "the proxy for what is fetched over HTTP and HTTPS, and the hosts that are reached without it",
            ),
            (
                Flag("offline"),
                "SSL_CERT_FILE, SSL_CERT_DIR",
                "certificates to verify servers by, in place of those of the system",
            ),
            (
                Flag("offline"),
                "GIT_TERMINAL_PROMPT",
                "if `1`, git may ask for a login at the terminal; otherwise it fails instead",
            ),
            (Flag("enable-alpha-plugins"), "KUSTOMIZE_PLUGIN_HOME", "where plugins of the old kind are"),
            (
                Flag("enable-managedby-label"),
                "KUSTOMIZE_ENABLE_MANAGEDBY_LABEL",
                "if `on`, every resource is labelled with the version of the program that built it",
            ),
            (
                Commands(&["krm-fn-render", "krm-fn-eval"]),
                "KPT_IMAGE_PREFIX",
                "what is put before the names of images without a registry",
            ),
            (
                Commands(&["krm-fn-wrap"]),
                "KUST_MERGE",
                "if `false`, what the program prints is not merged into the input",
            ),
            (Commands(&["krm-fn-wrap"]), "KUST_OVERRIDE_DIR", "a folder of patches to merge into the result"),
            (
                Commands(&["krm-pkg-diff"]),
                "KPT_EXTERNAL_DIFF, KPT_EXTERNAL_DIFF_OPTS",
                "the program that compares, and its options",
            ),
        ],
    ),
];

/// Commands whose pages name each other.
const RELATED: [&[&str]; 8] = [
    &["affected", "build", "diff", "explain", "graph", "lint", "plan", "serve"],
    &["build", "create", "edit"],
    &["edit", "lint", "lsp"],
    &["build", "cache", "localize", "lock", "vendor"],
    &["cfg", "diff", "merge", "merge3"],
    &["cfg", "fn", "pkg"],
    &["lsp", "openapi", "schema"],
    &["completion", "help", "man", "version"],
];

pub fn run(args: &ManArgs) -> Result<()> {
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    if let Some(dir) = args.output.as_deref().or_else(|| folder(&args.command, &cli)) {
        let mut changes = os::Changes::to_output(dir)?;
        write_pages(&cli, dir, &mut changes)?;
        return changes.commit();
    }
    let (mut command, mut above) = (&cli, None);
    for name in &args.command {
        let below = command.find_subcommand(name).ok_or_else(|| {
            let message = format!("there is no command `krm {}`", args.command.join(" "));
            let names = command.get_subcommands().map(Command::get_name);
            let error = Diagnostic::error("man-no-command", message);
            match krm_yaml::nearest(name, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("`krm --help` lists the commands; `--output DIR` writes all pages"),
            }
        })?;
        (command, above) = (below, Some(command));
    }
    if args.roff {
        return os::print(&page(command, above));
    }
    if std::io::stdout().is_terminal() && show(&page(command, above)) {
        return Ok(());
    }
    os::print(text(command, above).as_bytes())
}

/// A folder in place of a command: how the pages were once written.
fn folder<'a>(words: &'a [String], cli: &Command) -> Option<&'a Path> {
    match words {
        [word] if word.contains('/') && cli.find_subcommand(word).is_none() => Some(Path::new(word)),
        _ => None,
    }
}

/// Has `man` show the page. Not everyone has it.
fn show(page: &[u8]) -> bool {
    let Ok(mut man) = Process::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    let written = man.stdin.take().is_some_and(|mut to| to.write_all(page).is_ok());
    man.wait().is_ok_and(|status| status.success()) && written
}

/// A page for the command, and one for each below it.
fn write_pages(command: &Command, dir: &Path, changes: &mut os::Changes) -> Result<()> {
    let mut open = vec![(command, None)];
    while let Some((one, above)) = open.pop() {
        open.extend(shown_below(one).map(|below| (below, Some(one))));
        changes.write(&dir.join(clap_mangen::Man::new(one.clone()).get_filename()), &page(one, above))?;
    }
    Ok(())
}

/// The page of a command in the language of manual pages.
fn page(command: &Command, above: Option<&Command>) -> Vec<u8> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).expect("memory can always be written to");
    let page = String::from_utf8(page).expect("a page is text");
    let mut end = String::new();
    for (heading, entries) in SECTIONS {
        end += &format!(".SH \"{heading}\"\n");
        for (_, term, meaning) in entries.iter().filter(|(on, ..)| is_on(on, command)) {
            end += &format!(".TP\n{term}\n{}\n", meaning.replace('-', "\\-"));
        }
    }
    let others = see_also(command, above).into_iter();
    let others: Vec<String> = others.map(|name| format!("\\fB{}\\fR(1)", name.replace('-', "\\-"))).collect();
    end += &format!(".SH \"SEE ALSO\"\n{}\n", others.join(", "));
    (under_examples(&page) + &end).into_bytes()
}

/// A page whose examples are under the heading where readers of manuals look for them. What it is made by cannot know that they
/// are examples.
fn under_examples(page: &str) -> String {
    let extra = page.replacen(".SH EXTRA\n", ".SH EXAMPLES\n", 1);
    ["Example:\n", "Examples:\n"]
        .iter()
        .fold(extra, |page, heading| page.replacen(&format!(".SH EXAMPLES\n{heading}"), ".SH EXAMPLES\n", 1))
}

/// The same as plain text, for pipes and for those who have no `man`.
fn text(command: &Command, above: Option<&Command>) -> String {
    let mut text = command.clone().render_long_help().to_string().trim_end().to_owned() + "\n";
    for (heading, entries) in SECTIONS {
        text += &format!("\n{heading}\n");
        for (_, term, meaning) in entries.iter().filter(|(on, ..)| is_on(on, command)) {
            text += &format!("    {term}\n        {meaning}\n");
        }
    }
    let others: Vec<String> = see_also(command, above).iter().map(|name| format!("{name}(1)")).collect();
    text + &format!("\nSEE ALSO\n    {}\n", others.join(", "))
}

/// Whether the page of a command has an entry.
fn is_on(on: &On, command: &Command) -> bool {
    let is_own = match on {
        Every => true,
        Flag(name) => command.get_arguments().any(|arg| arg.get_long() == Some(name)),
        Commands(names) => names.contains(&&*name(command)),
    };
    is_own || shown_below(command).any(|below| is_on(on, below))
}

/// The command above, those below, and those that have to do with it.
fn see_also(command: &Command, above: Option<&Command>) -> Vec<String> {
    let below = shown_below(command).map(name);
    let Some(above) = above else { return below.collect() };
    // Below `krm` are many commands; below another one they all belong together.
    let is_related = |other: &Command| {
        let both = [command.get_name(), other.get_name()];
        name(above) != "krm" || RELATED.iter().any(|group| both.iter().all(|name| group.contains(name)))
    };
    let beside =
        shown_below(above).filter(|other| other.get_name() != command.get_name() && is_related(other));
    std::iter::once(name(above)).chain(below).chain(beside.map(name)).collect()
}

fn shown_below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

/// The name of its page: `krm-fn-run`.
fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}
