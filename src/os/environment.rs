//! What the environment says about where programs are, and where things are kept.

use std::path::PathBuf;

/// A variable, or what the user's settings say in its place. An empty variable says nothing, and takes back a setting.
pub fn setting(name: &str) -> Option<String> {
    let value = super::variable(name).or_else(|| super::user_settings::instead_of(name));
    value.filter(|value| !value.is_empty())
}

/// A variable that names a file or a folder.
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder in which krm keeps what it can make again.
pub fn cache_dir() -> Option<PathBuf> {
    user_dir("XDG_CACHE_HOME", ".cache")
}

/// The folder for what the user sets.
pub fn config_dir() -> Option<PathBuf> {
    user_dir("XDG_CONFIG_HOME", ".config")
}

/// The folder of krm where a variable says, or else in this folder of the user's home.
fn user_dir(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let absolute = |name| path(name).filter(|path| path.is_absolute());
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(otherwise)))?;
    Some(folder.join("krm"))
}

/// The program that runs containers, if the user names one. kpt has the same choice under another name.
pub fn container_engine() -> Option<String> {
    ["KRM_FN_RUNTIME", "KPT_FN_RUNTIME"].into_iter().find_map(setting)
}

/// Whether limits on each process will do for a sandbox if a control group cannot be had.
pub fn limits_of_each_process() -> bool {
    super::variable("KRM_SANDBOX_LIMITS").is_some_and(|value| value == "each-process")
}

/// The folders legacy plugins may be in; the first that exists counts.
pub fn plugin_homes() -> Vec<PathBuf> {
    let home = path("HOME");
    let homes = [
        path("KUSTOMIZE_PLUGIN_HOME"),
        path("XDG_CONFIG_HOME").map(|dir| dir.join("kustomize/plugin")),
        home.as_ref().map(|dir| dir.join(".config/kustomize/plugin")),
        home.map(|dir| dir.join("kustomize/plugin")),
    ];
    homes.into_iter().flatten().collect()
}

/// What keeps watch over programs that are started: this very program, if the system has the means.
pub fn supervisor() -> Option<PathBuf> {
    // By this name it is found also when a new version has been put in its place.
    let itself = PathBuf::from("/proc/self/exe");
    (cfg!(target_os = "linux") && itself.exists()).then_some(itself)
}
