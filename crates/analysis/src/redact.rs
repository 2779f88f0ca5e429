//! Runs that may be shown to anybody: what names a host, a person or a place is replaced, what explains the figures stays.
//!
//! Names are found where a run keeps them, and then replaced wherever they stand, in reasons and findings too. Equal names have equal
//! placeholders in all runs that are redacted together, so that two runs of one host still are of one.

mod leaves;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hostmark_model::{HERE, Run, Sampled, Settings};
use serde_json::Value;

use leaves::{Leaf, Leaves};

/// Arguments of the kernel that explain figures; others, as the disk's identity, go.
const REVEALING: &[&str] = &[
    "mitigations",
    "isolcpus",
    "nohz",
    "nohz_full",
    "rcu_nocbs",
    "nosmt",
    "maxcpus",
    "nr_cpus",
    "mem",
    "idle",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "cpufreq.default_governor",
    "cpuidle.off",
    "transparent_hugepage",
    "hugepages",
    "hugepagesz",
    "default_hugepagesz",
    "numa_balancing",
    "preempt",
    "clocksource",
    "tsc",
    "nopti",
    "pti",
    "nospectre_v1",
    "nospectre_v2",
    "spectre_v2",
    "spec_store_bypass_disable",
    "l1tf",
    "mds",
    "tsx",
    "tsx_async_abort",
    "retbleed",
    "srbds",
    "gather_data_sampling",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "nox2apic",
    "nokaslr",
    "threadirqs",
    "irqaffinity",
    "audit",
    "init_on_alloc",
    "init_on_free",
    "page_poison",
    "slub_debug",
    "selinux",
    "apparmor",
    "quiet",
    "nowatchdog",
    "nmi_watchdog",
    "psi",
    "cgroup_disable",
    "haltpoll",
    "kvm-intel.nested",
    "systemd.unified_cgroup_hierarchy",
];
/// Files that every Linux has.
const COMMON_PATHS: &[&str] =
    &["/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev/shm", "/dev/pts", "/tmp", "/run"];
/// Of these what lies below is somebody's.
const EMPTY: &[&str] = &["/tmp", "/run", "/dev/shm"];
/// Names that many hosts have: they name none, and are words of our texts.
const COMMON_NAMES: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "(none)",
    "vm",
    "host",
    "linux",
    "server",
    "guest",
    "debian",
    "ubuntu",
    HERE,
];
/// Texts of these are read as they stand: numbers of versions look like addresses.
const VERSIONS: &[&str] =
    &["release", "version", "bios_version", "microcode", "module_version", "schema", "digest", "target"];
/// What stands for what somebody typed.
const GONE: &str = "redacted";

/// Replaces what names hosts, people and places in these runs.
pub fn redact(mut runs: Vec<Run>) -> Vec<Run> {
    let mut names = RedactedNames::default();
    runs.iter_mut().for_each(|run| names.find(run));
    runs.iter_mut().for_each(|run| names.run(run));
    runs
}

/// The fields of a run, as their paths in its file, in which something is left that may name somebody.
pub fn unredacted(run: &Run) -> Vec<String> {
    let mut names = RedactedNames { keeps_placeholders: true, ..RedactedNames::default() };
    let mut redacted = run.clone();
    names.find(&mut redacted);
    names.run(&mut redacted);
    let mut found = Vec::new();
    let [one, other] = [run, &redacted].map(|run| serde_json::to_value(run).unwrap_or_default());
    differing("", &one, &other, &mut found);
    found
}

/// The paths at which two values differ.
fn differing(at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            // One that redaction leaves out is null there.
            let null = &Value::Null;
            one.iter().for_each(|(key, value)| differing(&below(key), value, other.get(key).unwrap_or(null), found));
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).enumerate().for_each(|(index, (one, other))| {
                differing(&below(&index.to_string()), one, other, found);
            });
        }
        (one, other) if one == other => {}
        _ => found.push(at.to_owned()),
    }
}

/// Whether a text is what stands for a name: `host-1`.
fn is_placeholder(text: &str, kind: &str) -> bool {
    let number = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// The names that are replaced; the placeholder has the number of a name.
#[derive(Debug, Default)]
struct RedactedNames {
    /// Whether placeholders stay as they are. Else they are names like others: a host may be called `host-1`.
    keeps_placeholders: bool,
    hosts: Vec<String>,
    users: Vec<String>,
    paths: Vec<String>,
    addresses: Vec<IpAddr>,
}

/// The number of a name, from 1; it gets one where it has none.
fn number<T: PartialEq>(all: &mut Vec<T>, name: T) -> usize {
    all.iter().position(|known| *known == name).unwrap_or_else(|| {
        all.push(name);
        all.len() - 1
    }) + 1
}

impl RedactedNames {
    /// Finds the hosts and users of a run.
    fn find(&mut self, run: &mut Run) {
        self.host(&run.host.hostname);
        self.place(run.place.as_deref().unwrap_or_default());
        for peer in &run.peers {
            self.host(&peer.host.hostname);
            self.host(&peer.name);
            self.place(peer.place.as_deref().unwrap_or_default());
        }
        run.settings.inputs.peers.iter().for_each(|peer| self.host(peer));
        for pair in &run.pairs {
            self.host(&pair.from);
            self.host(&pair.to);
        }
        run.each("", &mut |field, leaf| {
            if let Leaf::Text(text) = leaf {
                self.users_of(text);
                // A note of what was imported.
                if field == "host" {
                    self.host(text);
                }
            }
        });
    }

    fn host(&mut self, name: &str) {
        if name.is_empty() || name == HERE || (self.keeps_placeholders && is_placeholder(name, "host")) {
            return;
        }
        number(&mut self.hosts, name.to_owned());
        // A name without its domain names the same host.
        let is_address = name.parse::<IpAddr>().is_ok();
        if let Some((first, _)) = name.split_once('.').filter(|_| !is_address && !name.contains(char::is_whitespace)) {
            self.host(first);
        }
    }

    /// A command that leads somewhere: its last word, as `ada@db-17`, is a user and a host.
    fn place(&mut self, place: &str) {
        if place.is_empty() {
            return;
        }
        self.host(place);
        for word in place.split_whitespace().filter(|word| !word.starts_with('-')) {
            if let Some((user, host)) = word.split_once('@') {
                number(&mut self.users, user.to_owned());
                self.host(host);
            }
        }
        let last = place.split_whitespace().last().unwrap_or_default().trim_start_matches("tcp:");
        let last = last.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
        if place.contains(char::is_whitespace) || place.starts_with("tcp:") {
            self.host(last);
        }
    }

    /// The users whose homes stand in a text.
    fn users_of(&mut self, text: &str) {
        for (at, _) in text.match_indices("/home/") {
            let user = text[at + 6..].split(|c: char| c == '/' || c.is_whitespace()).next().unwrap_or_default();
            if !user.is_empty() {
                number(&mut self.users, user.to_owned());
            }
        }
    }

    /// Replaces what is found in a run.
    fn run(&mut self, run: &mut Run) {
        let hostname = &run.host.hostname;
        if !hostname.is_empty() {
            // A kept run is called by its time, its host, and a random end.
            run.name = run.name.replace(&format!("-{hostname}-"), &format!("-{}-", self.whole(hostname)));
        }
        let Settings { set, inputs, .. } = &mut run.settings;
        let pattern = match &mut inputs.sampled {
            Some(Sampled::Printed { pattern, .. }) => Some(pattern),
            _ => None,
        };
        let typed = [run.imported.as_mut().map(|imported| &mut imported.file), pattern, run.note.as_mut()];
        let set = set.iter_mut().filter(|(name, _)| ["command", "value"].contains(&name.as_str()));
        typed.into_iter().flatten().chain(set.map(|(_, text)| text)).for_each(|text| *text = GONE.into());
        for command in std::iter::once(&mut inputs.command).chain(run.guest.as_mut().map(|guest| &mut guest.command)) {
            if !command.is_empty() {
                *command = vec![GONE.into()];
            }
        }
        if run.imported.is_some() {
            // They quote what stands in the file besides.
            run.disturbances.clear();
        }
        run.host.boot_id = None;
        run.peers.iter_mut().for_each(|peer| peer.host.boot_id = None);
        run.each("", &mut |field, leaf| match leaf {
            Leaf::Text(text) => *text = self.text(field, text),
            Leaf::Path(path) => path.0 = self.path(&String::from_utf8_lossy(&path.0)).into_bytes(),
            Leaf::Address(ip) if is_of_somebody(*ip) => *ip = self.address(*ip),
            Leaf::Address(_) => {}
        });
    }

    fn text(&mut self, key: &str, text: &str) -> String {
        match key {
            "hostname" | "from" | "place" => return self.whole(text),
            "command_line" | "append" => return revealing_options(text),
            "options" if text.contains('=') => return mount_option(text),
            "device" if !text.starts_with("/dev/") && text.contains(['/', ':']) => return self.path(text),
            _ => {}
        }
        // The longest first: a host's name may be part of the command that leads to it.
        let mut hosts: Vec<(usize, String)> = self.hosts.iter().cloned().enumerate().collect();
        hosts.retain(|(_, host)| text.contains(host) && !COMMON_NAMES.contains(&host.as_str()));
        hosts.sort_by_key(|(_, host)| std::cmp::Reverse(host.len()));
        let mut text = text.to_owned();
        for (index, host) in hosts {
            text = replaced(&text, &host, &format!("host-{}", index + 1));
        }
        for (index, user) in self.users.iter().enumerate().filter(|(_, user)| *user != "root") {
            text = replaced(&text, user, &format!("user-{}", index + 1));
        }
        if !VERSIONS.contains(&key) {
            text = self.in_addresses(&text);
        }
        self.in_paths(&text)
    }

    /// A text that is a host's name, or a way to it.
    fn whole(&self, text: &str) -> String {
        let known = self.hosts.iter().position(|host| host == text);
        known.map_or_else(|| text.to_owned(), |index| format!("host-{}", index + 1))
    }

    fn path(&mut self, path: &str) -> String {
        if self.keeps_placeholders && is_placeholder(path, "path") {
            return path.to_owned();
        }
        format!("path-{}", number(&mut self.paths, path.to_owned()))
    }

    /// Replaces the paths in a text, but for those of every Linux and for devices.
    fn in_paths(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('/') {
            let (before, from) = rest.split_at(at);
            let begins = before.chars().next_back().or(out.chars().next_back());
            let is_end = |c: char| c.is_whitespace() || "'\"`,;:()<>|，；：（）“”".contains(c);
            let path = &from[..from.find(is_end).unwrap_or(from.len())];
            // A unit as MB/s, a fraction, and the address of a page are none.
            let is_path = begins.is_none_or(|c| c.is_whitespace() || "'\"`=,:([（，：“".contains(c))
                && path.len() > 1
                && !path.starts_with("//");
            out += before;
            let taken = match is_path {
                true => path.len(),
                false if path.starts_with("//") => path.len(),
                false => 1,
            };
            let is_common = |common: &&str| {
                let below = path.strip_prefix(*common);
                below.is_some_and(|below| below.is_empty() || (below.starts_with('/') && !EMPTY.contains(common)))
            };
            let is_device = path.strip_prefix("/dev/").is_some_and(|name| !name.contains('/'));
            match is_path && !is_device && !COMMON_PATHS.iter().any(is_common) {
                true => out += &self.path(path),
                false => out += &from[..taken],
            }
            rest = &from[taken..];
        }
        out + rest
    }

    /// Replaces the addresses of networks and of cards in a text.
    fn in_addresses(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(is_part) {
            let (before, from) = rest.split_at(at);
            let word = &from[..from.find(|c| !is_part(c)).unwrap_or(from.len())];
            out += before;
            let is_whole = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            let apart = is_whole(out.chars().next_back()) && is_whole(from[word.len()..].chars().next());
            let address = word.trim_end_matches(['.', ':']);
            // With a port behind it.
            let host = address.split(':').next().unwrap_or_default();
            let address = if host.parse::<Ipv4Addr>().is_ok() { host } else { address };
            match address.parse::<IpAddr>() {
                Ok(ip) if apart && is_of_somebody(ip) => {
                    out += &self.address(ip).to_string();
                    out += &word[address.len()..];
                }
                _ if apart && is_mac(address) => out += GONE,
                _ => out += word,
            }
            rest = &from[word.len()..];
        }
        out + rest
    }

    /// One of those that are kept for documents (RFC 5737, RFC 3849).
    fn address(&mut self, ip: IpAddr) -> IpAddr {
        let is_placeholder = match ip {
            IpAddr::V4(ip) => ip.octets()[..3] == [192, 0, 2],
            IpAddr::V6(ip) => ip.segments()[..7] == [0x2001, 0xdb8, 0, 0, 0, 0, 0],
        };
        if self.keeps_placeholders && is_placeholder {
            return ip;
        }
        let number = number(&mut self.addresses, ip);
        match ip {
            IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, number as u8).into(),
            IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number as u16).into(),
        }
    }
}

/// Whether an address is somebody's: not that of the machine to itself, and not that of all.
fn is_of_somebody(ip: IpAddr) -> bool {
    !ip.is_loopback() && !ip.is_unspecified()
}

/// The kernel's arguments that explain figures, and how many others there are.
fn revealing_options(command_line: &str) -> String {
    let is_revealing = |word: &&str| REVEALING.contains(&word.split('=').next().unwrap_or_default());
    let words: Vec<&str> = command_line.split_whitespace().filter(is_revealing).collect();
    words.join(" ")
}

/// An option of a mount keeps its value where that is a number or a word of the kernel's, which has no address or name in it.
fn mount_option(option: &str) -> String {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || b"kmgKMG%".contains(&byte));
    let is_revealing = ["data", "errors", "compress", "proto", "vers", "sec"].contains(&name);
    if is_plain || is_revealing { option.to_owned() } else { name.to_owned() }
}

fn is_mac(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    parts.len() == 6 && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Every place of a name that is no part of a longer word.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, from) = rest.split_at(at);
        let after = &from[name.len()..];
        out += before;
        let is_whole = !is_part(out.chars().next_back()) && !is_part(after.chars().next());
        out += if is_whole { by } else { name };
        rest = after;
    }
    out + rest
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
