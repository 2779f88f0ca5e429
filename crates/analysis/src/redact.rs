//! Runs that may be shown to anybody: what names a host, a person or a place is replaced, what explains the figures stays.
//!
//! Names are found where a run keeps them, and then replaced wherever they stand, in reasons and findings too. Equal names have equal
//! placeholders in all runs that are redacted together, so that two runs of one host still are of one.

mod leaves;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hostmark_model::{HERE, Run, Sampled, Settings, Text};
use serde_json::Value;

use self::leaves::{
    CONTAINERS, FILESYSTEMS, LAYERS, SERIES, build, is_device, is_disk, is_interface, is_listed, release,
};
use leaves::{Leaf, Leaves};

/// Arguments of the kernel that explain figures; others, as the disk's identity, go.
const REVEALING: &str = "\
    mitigations isolcpus nohz nohz_full rcu_nocbs nosmt maxcpus nr_cpus mem idle processor.max_cstate \
    intel_idle.max_cstate intel_pstate amd_pstate cpufreq.default_governor cpuidle.off transparent_hugepage \
    hugepages hugepagesz default_hugepagesz numa_balancing preempt clocksource tsc nopti pti nospectre_v1 \
    nospectre_v2 spectre_v2 spec_store_bypass_disable l1tf mds tsx tsx_async_abort retbleed srbds \
    gather_data_sampling iommu intel_iommu amd_iommu nox2apic nokaslr threadirqs irqaffinity audit init_on_alloc \
    init_on_free page_poison slub_debug selinux apparmor quiet nowatchdog nmi_watchdog psi cgroup_disable \
    haltpoll kvm-intel.nested systemd.unified_cgroup_hierarchy";
/// Files that every Linux has.
const COMMON_PATHS: &[&str] =
    &["/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev/shm", "/dev/pts", "/tmp", "/run"];
/// Public directories whose content may name somebody.
const EMPTY: &[&str] = &["/tmp", "/run", "/dev/shm", "/usr/local", "/sys/fs/cgroup"];
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
const VERSIONS: &[&str] = &["version", "bios_version", "microcode", "module_version", "schema", "digest", "target"];
/// Replacement of text that somebody typed.
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

/// Tells whether a text is a placeholder of a name: `host-1`.
fn is_placeholder(text: &str, kind: &str) -> bool {
    let number = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// The names that are replaced; the placeholder has the number of a name.
#[derive(Debug, Default)]
struct RedactedNames {
    /// True where placeholders stay as they are. Else they are names like others: a host may be called `host-1`.
    keeps_placeholders: bool,
    hosts: Numbered,
    users: Numbered,
    paths: HashMap<String, usize>,
    addresses: HashMap<IpAddr, usize>,
    /// Other private names by kind: runs, series, interfaces, disks, processes.
    others: BTreeMap<&'static str, Numbered>,
    /// Releases of kernels that name more than a kernel.
    releases: Numbered,
}

/// The number of a name, from 1; it gets one where it has none.
fn number<T: Eq + Hash>(all: &mut HashMap<T, usize>, name: T) -> usize {
    let next = all.len() + 1;
    *all.entry(name).or_insert(next)
}

/// Names with their numbers, found in a text by their first words.
#[derive(Debug, Default)]
struct Numbered {
    numbers: HashMap<String, usize>,
    by_word: HashMap<String, Vec<String>>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> usize {
        if !self.numbers.contains_key(name) {
            let word = ascii_words(name).next().unwrap_or_default().to_owned();
            self.by_word.entry(word).or_default().push(name.to_owned());
        }
        number(&mut self.numbers, name.to_owned())
    }

    /// The names that stand in a text, with their numbers: the longest first, as a name may be part of another.
    fn of_text(&self, text: &str) -> Vec<(&str, usize)> {
        // A name of no such word, as a Chinese one, may be anywhere.
        let words: HashSet<&str> = ascii_words(text).chain([""]).collect();
        let names = words.into_iter().filter_map(|word| self.by_word.get(word)).flatten();
        let names = names.filter(|name| text.contains(name.as_str()));
        let mut found: Vec<(&str, usize)> = names.map(|name| (name.as_str(), self.numbers[name])).collect();
        found.sort_by_key(|(name, number)| (std::cmp::Reverse(name.len()), *number));
        found
    }
}

/// Tells whether a sign is part of a word, in which no name is replaced.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn ascii_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty())
}

impl RedactedNames {
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
            let Leaf::Text(text) = leaf else { return };
            self.users_of(text);
            match field {
                // A note of what was imported.
                "host" | "asked.hostname" => self.host(text),
                "interface" if !is_interface(text) => drop(self.other("interface", text)),
                "disk" if !is_disk(text) => drop(self.other("disk", text)),
                "series" if !SERIES.contains(&text.as_str()) => drop(self.other("series", text)),
                "release" if release(text) != *text => drop(self.releases.number(text)),
                _ => {}
            }
        });
        let of_people = run.disturbances.iter().flat_map(|text| [&text.en, &text.zh]);
        of_people.for_each(|text| processes(text).for_each(|(name, _)| drop(self.other("process", name))));
    }

    fn other(&mut self, kind: &'static str, name: &str) -> String {
        if self.keeps_placeholders && is_placeholder(name, kind) {
            return name.to_owned();
        }
        format!("{kind}-{}", self.others.entry(kind).or_default().number(name))
    }

    fn host(&mut self, name: &str) {
        if name.is_empty() || name == HERE || (self.keeps_placeholders && is_placeholder(name, "host")) {
            return;
        }
        self.hosts.number(name);
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
                self.users.number(user);
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
                self.users.number(user);
            }
        }
    }

    /// Replaces what is found in a run.
    fn run(&mut self, run: &mut Run) {
        run.name = self.name_of(run);
        let Settings { set, inputs, .. } = &mut run.settings;
        let pattern = match &mut inputs.sampled {
            Some(Sampled::Printed { pattern, .. }) => Some(pattern),
            _ => None,
        };
        let typed = [run.imported.as_mut().map(|imported| &mut imported.file), pattern, run.note.as_mut()];
        let set = set.iter_mut().filter(|(name, _)| ["command", "value", "scratch", "unit"].contains(&name.as_str()));
        typed.into_iter().flatten().chain(set.map(|(_, text)| text)).for_each(|text| *text = GONE.into());
        for command in std::iter::once(&mut inputs.command).chain(run.guest.as_mut().map(|guest| &mut guest.command)) {
            if !command.is_empty() {
                *command = vec![GONE.into()];
            }
        }
        for text in run.disturbances.iter_mut().flat_map(|text| [&mut text.en, &mut text.zh]) {
            *text = self.without_processes(text);
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
            "run" => return text.to_owned(),
            "hostname" | "from" | "place" => return self.whole(text),
            "interface" if !is_interface(text) => return self.other("interface", text),
            "disk" if !is_disk(text) => return self.other("disk", text),
            "series" if !SERIES.contains(&text) => return self.other("series", text),
            "release" => return release(text),
            "build" => return build(text),
            "container" if !is_listed(CONTAINERS, text) => return GONE.into(),
            "mounted" | "layer" => return self.layer(text),
            "folder" if !text.starts_with('/') => return self.path(text),
            "command_line" | "append" => return revealing_options(text),
            "options" if text.contains('=') => return mount_option(text),
            _ => {}
        }
        let hosts = self.hosts.of_text(text).into_iter().filter(|(host, _)| !COMMON_NAMES.contains(host));
        let mut text = all_replaced(text, hosts, |_, number| format!("host-{number}"));
        for (kind, names) in &self.others {
            let others = names.of_text(&text).into_iter().filter(|(name, _)| is_distinctive(name));
            text = all_replaced(&text, others, |_, number| format!("{kind}-{number}"));
        }
        text = all_replaced(&text, self.releases.of_text(&text), |full, _| release(full));
        let users = self.users.of_text(&text).into_iter().filter(|(user, _)| *user != "root");
        text = all_replaced(&text, users, |_, number| format!("user-{number}"));
        if !VERSIONS.contains(&key) {
            text = self.in_addresses(&text);
        }
        self.in_paths(&text)
    }

    /// A run's name: of one that was kept, its time, its host and its random end stay; what a person typed goes.
    fn name_of(&mut self, run: &Run) -> String {
        let digits =
            |part: &str, more: &str| part.bytes().all(|c| c.is_ascii_hexdigit() || more.as_bytes().contains(&c));
        let (stamp, rest) = run.name.split_once('-').unwrap_or((&run.name, ""));
        match rest.rsplit_once('-') {
            _ if run.name == run.id => run.name.clone(),
            Some((middle, end)) if stamp.ends_with('Z') && digits(stamp, "TZ") && digits(end, "") => {
                let hosts = self.hosts.numbers.iter();
                let is_host =
                    hosts.filter(|(host, _)| *host == middle || file_part(host) == middle).map(|(_, at)| at).min();
                let is_kept = self.keeps_placeholders && is_placeholder(middle, "host");
                let middle = match is_host {
                    _ if is_kept => middle.to_owned(),
                    Some(number) => format!("host-{number}"),
                    None => self.other("run", middle),
                };
                format!("{stamp}-{middle}-{end}")
            }
            _ => self.other("run", &run.name.clone()),
        }
    }

    /// Redacted layer of a directory: a filesystem, or a device with its kind behind it. Kernel names stay, private ones do not.
    fn layer(&mut self, layer: &str) -> String {
        let (name, kind) = match layer.rsplit_once(" (") {
            Some((name, kind)) if LAYERS.contains(&kind.trim_end_matches([')', '0', '1', '4', '5', '6'])) => {
                (name, format!(" ({kind}"))
            }
            Some((name, _)) => (name, String::new()),
            None => (layer, String::new()),
        };
        let parts: Vec<String> = name
            .split('+')
            .map(|part| match part.strip_prefix("/dev/").unwrap_or(part) {
                plain if is_disk(plain) || is_listed(FILESYSTEMS, part) => part.to_owned(),
                _ => self.path(part),
            })
            .collect();
        parts.join("+") + &kind
    }

    /// A sentence in which processes have numbers in the place of names.
    fn without_processes(&mut self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        for (name, at) in processes(text) {
            let end = at - (text.len() - rest.len());
            out += &rest[..end];
            out += &self.other("process", name);
            rest = &rest[end + name.len()..];
        }
        out + rest
    }

    /// A text that is a host's name, or a way to it.
    fn whole(&self, text: &str) -> String {
        self.hosts.numbers.get(text).map_or_else(|| text.to_owned(), |number| format!("host-{number}"))
    }

    fn path(&mut self, path: &str) -> String {
        if self.keeps_placeholders && is_placeholder(path, "path") {
            return path.to_owned();
        }
        let next = self.paths.len() + 1;
        format!("path-{}", self.paths.entry(path.to_owned()).or_insert(next))
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
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            };
            let is_device = path.strip_prefix("/dev/").is_some_and(is_device);
            let is_somebodys = EMPTY.iter().any(|empty| path.strip_prefix(empty).is_some_and(|below| below.len() > 1));
            match is_path && !is_device && (is_somebodys || !COMMON_PATHS.iter().any(is_common)) {
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

/// Tells whether an address may identify somebody: neither loopback nor unspecified.
fn is_of_somebody(ip: IpAddr) -> bool {
    !ip.is_loopback() && !ip.is_unspecified()
}

/// The words behind a process's share.
const SHARE: Text = term!(" % of a CPU");

/// The names of processes in a sentence on those that disturbed a run, with where they stand: between a number and a share of a CPU.
fn processes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.match_indices("pid ").filter_map(|(at, _)| {
        let digits = text[at + 4..].find(|c: char| !c.is_ascii_digit())? + at + 4;
        // The name itself may have a comma.
        let (begin, name) = if let Some(rest) = text[digits..].strip_prefix(", ") {
            (digits + 2, rest[..rest.find(SHARE.en)?].rsplit_once(", ")?.0)
        } else {
            let rest = text[digits..].strip_prefix('，')?;
            (digits + '，'.len_utf8(), &rest[..rest.find(SHARE.zh)?])
        };
        Some((name, begin))
    })
}

/// Tells whether a name cannot be a word or a number of our texts; other names are replaced only in their own field and sentence.
fn is_distinctive(name: &str) -> bool {
    name.len() >= 4 && name.contains(char::is_alphabetic) && name.contains(|c: char| !c.is_alphabetic())
}

/// A host's name as the files of runs have it.
fn file_part(host: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    host.chars().take(40).map(keep).collect()
}

/// The kernel's arguments that explain figures, and how many others there are.
fn revealing_options(command_line: &str) -> String {
    let is_revealing = |word: &&str| is_listed(REVEALING, word.split('=').next().unwrap_or_default());
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

/// A text with each of these names replaced.
fn all_replaced<'a>(
    text: &str,
    names: impl IntoIterator<Item = (&'a str, usize)>,
    by: impl Fn(&str, usize) -> String,
) -> String {
    names.into_iter().fold(text.to_owned(), |text, (name, number)| replaced(&text, name, &by(name, number)))
}

/// Every place of a name that is no part of a longer word.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(is_of_word);
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
