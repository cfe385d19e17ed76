//! Command lines as other programs have them, in our words.

use std::ffi::OsString;
use std::path::Path;

/// Words that changed their place: what scripts written for older programs say.
///
/// `kustomize config run wrap -- CMD`, `kustomize fn run wrap -- CMD` and, through a link of that name, `config run wrap --
/// CMD` are all `krm fn wrap -- CMD`. Without anything between the two words and the command: a folder may be called
/// `wrap`, too. And `kustomize help build` is `kustomize build --help`.
pub fn older_words(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.first().is_some_and(|name| Path::new(name).file_stem().is_some_and(|stem| stem == "config")) {
        args.insert(1, "config".into());
    }
    let word = |at: usize| args.get(at).and_then(|arg| arg.to_str()).unwrap_or_default();
    if word(1) == "help" && super::as_kustomize::is_called() {
        args.remove(1);
        args.push("--help".into());
        return args;
    }
    let (replaced, by): (_, &[&str]) = match [word(1), word(2), word(3), word(4)] {
        ["config" | "fn", "run", "wrap", "--"] => (1..4, &["fn", "wrap"]),
        ["config" | "fn", "run", "xargs", "--"] => (1..4, &["fn", "xargs"]),
        ["config", "run" | "source" | "sink" | "wrap" | "xargs", ..] => (1..2, &["fn"]),
        ["config", ..] => (1..2, &["cfg"]),
        _ => return args,
    };
    args.splice(replaced, by.iter().map(OsString::from));
    args
}

/// Makes `--switch` of `--switch=true`, and nothing of `--switch=false`.
pub fn plain_switches(mut args: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let mut verb = command;
    for word in args.iter().skip(1).map_while(|arg| arg.to_str()) {
        let Some(below) = verb.find_subcommand(word) else { break };
        verb = below;
    }
    let is_switch = |name: &str| {
        let named = |arg: &&clap::Arg| arg.get_long() == Some(name);
        verb.get_arguments().find(named).is_some_and(|arg| !arg.get_action().takes_values())
    };
    // What follows is for another program.
    let mut ours = true;
    args.retain_mut(|arg| {
        ours &= arg != "--";
        let written = arg.to_str().and_then(|text| text.strip_prefix("--")?.split_once('='));
        let Some((name, value)) = written.filter(|(name, _)| ours && is_switch(name)) else { return true };
        let plain = format!("--{name}");
        match value {
            "true" | "TRUE" | "True" | "t" | "T" | "1" => {
                *arg = plain.into();
                true
            }
            "false" | "FALSE" | "False" | "f" | "F" | "0" => false,
            _ => true,
        }
    });
    args
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn switches_may_have_values() {
        let plain = |text| plain_switches(words(text), &Cli::command());
        assert_eq!(
            plain("krm build --enable-helm=true --strict=false --output=true --enable-exec=maybe"),
            words("krm build --enable-helm --output=true --enable-exec=maybe")
        );
        assert_eq!(
            plain("krm fn run . --network=true --dry-run=false --image x -- --network=true"),
            words("krm fn run . --network --image x -- --network=true")
        );
    }

    #[test]
    fn scripts_may_use_the_words_they_were_written_with() {
        for (written, ours) in [
            ("config run wrap -- ./script", "config fn wrap -- ./script"),
            ("/usr/bin/config run xargs -- ./script", "/usr/bin/config fn xargs -- ./script"),
            ("kustomize config run wrap -- ./script", "kustomize fn wrap -- ./script"),
            ("kustomize fn run wrap -- ./script", "kustomize fn wrap -- ./script"),
            ("config run pkg --dry-run", "config fn run pkg --dry-run"),
            ("kustomize config tree pkg", "kustomize cfg tree pkg"),
            ("krm fn run wrap --image x -- a=b", "krm fn run wrap --image x -- a=b"),
            ("krm build config", "krm build config"),
            ("krm help fn run", "krm help fn run"),
            ("krm build help", "krm build help"),
        ] {
            assert_eq!(older_words(words(written)), words(ours), "{written}");
        }
    }
}
