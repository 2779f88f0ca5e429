//! Commands that lead into a namespace or to another user, one after another.

use std::process::{Child, Command, Stdio};

use super::spot::Spot;
use crate::skip::skipped;

fn succeeds(words: &[&str]) -> bool {
    let status = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A network namespace that has a name, until it is dropped.
struct Network(String);

impl Network {
    fn new() -> Option<Network> {
        let name = format!("hostmark-test-{}", std::process::id());
        succeeds(&["sudo", "-n", "ip", "netns", "add", &name]).then_some(Network(name))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        succeeds(&["sudo", "-n", "ip", "netns", "del", &self.0]);
    }
}

#[test]
fn sudo_leads_into_a_network_namespace() {
    let Some(network) = Network::new() else {
        return skipped("no network namespace can be made here by sudo and ip");
    };
    let spot = Spot::of(|temporary| {
        let temporary = format!("TMPDIR={temporary}");
        let words = ["sudo", "-n", "env", &temporary, "ip", "netns", "exec", &network.0];
        words.map(str::to_owned).to_vec()
    });
    spot.works();
}

/// A process with namespaces of its own, which ends when it is dropped.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nsenter_leads_into_another_processs_namespaces() {
    let words = ["-r", "--mount", "--net", "sh", "-c", "echo; exec cat"];
    let Ok(holder) = Command::new("unshare").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return skipped("there is no unshare here");
    };
    let mut holder = Holder(holder);
    let mut begun = [0];
    if std::io::Read::read(holder.0.stdout.as_mut().unwrap(), &mut begun).unwrap() == 0 {
        return skipped("no user, mount and network namespaces can be made here");
    }
    let target = holder.0.id().to_string();
    let enter = ["nsenter", "--preserve-credentials", "-t", &target, "-U", "-m", "-n"];
    if !succeeds(&[&enter[..], &["true"]].concat()) {
        return skipped("no namespaces can be entered here by nsenter");
    }
    let spot = Spot::of(|temporary| {
        let temporary = format!("TMPDIR={temporary}");
        ["env", &temporary].into_iter().chain(enter).map(str::to_owned).collect()
    });
    spot.works();
}
