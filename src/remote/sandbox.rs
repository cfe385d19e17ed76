//! What a server keeps programs from, found out before a function is sent there.
//!
//! Which properties mean "no network" differs between servers, and one that does not know a property ignores it. So
//! a call that only prints what the kernel says about it goes first, to the same kind of worker.

use krm_engine::runtime::reapi::Platform;

use super::action::{Describer, MARKER};
use super::client::Client;
use super::execute::CacheLookup;
use super::executor::{length, stream};
use super::starter;
use super::status::{Code, Status};

const NETWORK: &str = "/proc/net/dev";
const RIGHTS: &str = "/proc/self/status";
/// What the call may print.
const MOST: usize = 1 << 20;

/// What a program can reach on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Why it is not one that functions are sent to.
    pub faults: Vec<String>,
    /// The input root is the root of the file system, so that files can be where a function expects them.
    pub is_root: bool,
}

/// Runs the call on such a worker.
pub fn look(client: &Client, describer: &Describer, platform: Platform) -> Result<Sandbox, Status> {
    let marker = format!("/{MARKER}");
    let call = describer
        .report(&[NETWORK, RIGHTS, &marker], platform)
        .map_err(|why| Status::new(Code::UNIMPLEMENTED, why))?;
    client.upload(&call.blobs)?;
    let result = client.execute(&call.action, CacheLookup::Skipped, call.takes)?.result;
    let result = result.ok_or_else(|| Status::new(Code::INTERNAL, "a call ends without a result"))?;
    let stdout = stream(&result.stdout_raw, result.stdout_digest.as_ref())
        .map_err(|why| Status::new(Code::DATA_LOSS, why))?;
    if length(&stdout) > MOST {
        return Err(Status::new(Code::DATA_LOSS, "a program that prints files prints too much"));
    }
    let output = client.read_stream(stdout)?;
    if result.exit_code != 0 || output.is_empty() {
        let message = format!("a program that prints files ends with exit status {}", result.exit_code);
        return Err(Status::new(Code::UNIMPLEMENTED, message));
    }
    Ok(judge(&output))
}

fn judge(output: &[u8]) -> Sandbox {
    let text = |file| String::from_utf8_lossy(starter::printed(output, file));
    let mut faults = Vec::new();
    let network = text(NETWORK);
    let names = network.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let names: Vec<&str> = names.collect();
    let others: Vec<&str> = names.iter().copied().filter(|name| *name != "lo").collect();
    if names.is_empty() {
        faults.push("it does not show which network it gives them".to_owned());
    } else if !others.is_empty() {
        let shown: String = others.join(", ").chars().filter(|c| !c.is_control()).take(80).collect();
        faults.push(format!("it gives them the network ({shown})"));
    }
    let rights = text(RIGHTS);
    match rights.lines().find_map(|line| line.strip_prefix("CapEff:")).map(str::trim) {
        Some(none) if !none.is_empty() && none.bytes().all(|digit| digit == b'0') => {}
        Some(_) => faults.push("it gives them rights of an administrator".to_owned()),
        None => faults.push("it does not show which rights it gives them".to_owned()),
    }
    Sandbox { faults, is_root: text(&format!("/{MARKER}")) == "here\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(network: &str, rights: &str, marker: &str) -> Sandbox {
        judge(format!("{NETWORK}\n{network}\0{RIGHTS}\n{rights}\0/{MARKER}\n{marker}\0").as_bytes())
    }

    #[test]
    fn only_what_is_shown_is_believed() {
        let (lo, eth) = ("Inter-| x\n face |x\n    lo: 1 2\n", "    lo: 1 2\n  eth0: 1 2\n");
        let (none, some) = ("Name:\tstart\nCapEff:\t0000000000000000\n", "CapEff:\t00000000a80425fb\n");
        assert_eq!(judged(lo, none, "here\n"), Sandbox { faults: Vec::new(), is_root: true });
        assert!(!judged(lo, none, "").is_root);
        assert_eq!(judged(eth, none, "").faults, ["it gives them the network (eth0)"]);
        assert_eq!(judged(lo, some, "").faults, ["it gives them rights of an administrator"]);
        assert_eq!(judged("", "", "").faults.len(), 2, "what is not shown is not there");
    }
}
