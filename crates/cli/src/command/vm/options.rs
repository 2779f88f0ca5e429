//! Options of `hostmark vm run`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use hostmark_engine::sys::affinity;
use hostmark_host::parse_cpu_list;
use hostmark_launch::guest::NetSpec;

use crate::command::far::Target;
use crate::command::measure::inputs::{CommandWords, ProfileName, command, seed};
use crate::language::said;

/// Executor of a guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccelName {
    /// On the CPU, through /dev/kvm
    Kvm,
    /// In QEMU's software emulation; its values say nothing about KVM
    Tcg,
}

/// Formats that show several runs.
pub const FORMATS: [&str; 3] = ["overhead", "html", "lmbench"];

#[derive(Debug, Args)]
pub struct VmRunArguments {
    /// What to measure: groups, probes or cases
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Measure in this existing guest, e.g. 'ssh vm1'
    #[arg(long, value_name = "PLACE", conflicts_with_all = OF_A_MADE_GUEST)]
    pub on: Option<String>,
    /// Measure one more environment: its name and place
    #[arg(long, value_name = "NAME=PLACE", value_parser = also, hide_short_help = true)]
    pub also: Vec<(String, String)>,
    /// Measure the network to this machine too, from all sides
    #[arg(long, value_name = "PLACE")]
    pub peer: Vec<String>,
    /// Reach the peer by this address
    #[arg(long, value_name = "ADDRESS", requires = "peer", hide_short_help = true)]
    pub via: Vec<IpAddr>,
    /// Runs per side [default: 5; 2 with --accel tcg]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// Time limit for all runs of a side
    #[arg(long, value_enum, default_value = "quick")]
    pub profile: ProfileName,
    /// Seed of the order and of all runs, decimal or 0x…
    #[arg(long, value_name = "N", value_parser = seed, hide_short_help = true)]
    pub seed: Option<u64>,
    /// Override an axis's values on all sides, e.g. size=4K,1M
    #[arg(long, value_name = "[PROBE:]AXIS=V1,V2", hide_short_help = true)]
    pub set: Vec<String>,
    /// Measure this command on all sides, and nothing else
    #[arg(long, value_name = "COMMAND", value_parser = command, conflicts_with = "filters")]
    pub command: Option<CommandWords>,
    /// Store the runs in this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Output format
    #[arg(long, default_value = "overhead", value_parser = PossibleValuesParser::new(FORMATS))]
    pub format: String,
    /// Show what would be measured and for how long, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print every interval
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub guest: GuestArguments,
}

/// Default number of measurements of a side; where its guest is emulated.
const RUNS: u32 = 5;
const EMULATED_RUNS: u32 = 2;

impl VmRunArguments {
    /// Number of measurements of each side.
    pub fn runs(&self) -> u32 {
        self.runs.unwrap_or(if self.is_emulated() { EMULATED_RUNS } else { RUNS })
    }

    pub fn peers(&self) -> Result<Vec<Target>> {
        self.peer.iter().map(|typed| Target::named(typed, "--peer", None)).collect()
    }

    /// Tells whether the guest is one that QEMU emulates.
    pub fn is_emulated(&self) -> bool {
        self.on.is_none() && self.guest.accel == AccelName::Tcg
    }
}

const OF_A_MADE_GUEST: [&str; 18] = [
    "kernel",
    "modules",
    "module",
    "image",
    "accel",
    "cpu_model",
    "machine",
    "smp",
    "nodes",
    "memory",
    "hugepages",
    "disk",
    "pin",
    "net",
    "append",
    "qemu_arg",
    "qemu",
    "boot_timeout",
];

/// The guest that is made and booted.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The guest")]
pub struct GuestArguments {
    /// How the guest runs
    #[arg(hide_short_help = true, long, value_enum, default_value = "kvm")]
    pub accel: AccelName,
    /// Kernel of the guest
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Modules of that kernel, e.g. /lib/modules/VERSION
    #[arg(hide_short_help = true, long, value_name = "DIR")]
    pub modules: Option<PathBuf>,
    /// hostmark's kernel module, built for that kernel
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub module: Option<PathBuf>,
    /// Disk image of a distribution, for --command
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Virtual CPUs
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub smp: u32,
    /// CPU model, by its QEMU name
    #[arg(hide_short_help = true, long, visible_alias = "cpu", value_name = "MODEL", value_parser = cpu_model)]
    pub cpu_model: Option<String>,
    /// Machine type, by its QEMU name
    #[arg(hide_short_help = true, long, value_name = "TYPE")]
    pub machine: Option<String>,
    /// NUMA nodes, with equal shares of CPUs and memory
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub nodes: u32,
    /// Memory size, e.g. 1G
    #[arg(hide_short_help = true, long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub memory: u64,
    /// Back the memory with host huge pages of this size
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = size)]
    pub hugepages: Option<u64>,
    /// Virtio disk for the file probes, e.g. 4G,qcow2
    #[arg(hide_short_help = true, long, value_name = "SIZE[,…]", value_parser = disk)]
    pub disk: Option<Disk>,
    /// Network card: user, or tap=DEVICE,ADDRESS
    #[arg(hide_short_help = true, long, value_name = "user|tap=…", value_parser = net)]
    pub net: Option<NetSpec>,
    /// Host CPU of each virtual CPU, e.g. 2-5
    #[arg(hide_short_help = true, long, value_name = "LIST", value_parser = pins)]
    pub pin: Option<Pins>,
    /// Add a word to the kernel command line
    #[arg(hide_short_help = true, long, value_name = "WORD", allow_hyphen_values = true)]
    pub append: Vec<String>,
    /// Add a word to QEMU's command line
    #[arg(hide_short_help = true, long, value_name = "WORD", allow_hyphen_values = true)]
    pub qemu_arg: Vec<String>,
    /// QEMU executable
    #[arg(hide_short_help = true, long, value_name = "PROGRAM")]
    pub qemu: Option<OsString>,
    /// Time limit for booting, in seconds
    #[arg(hide_short_help = true, long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub boot_timeout: Duration,
}

/// A model, and no list of CPUs as other commands take one by the same word.
fn cpu_model(typed: &str) -> Result<String, String> {
    match parse_cpu_list(typed) {
        None if !typed.is_empty() => Ok(typed.to_owned()),
        _ => Err(said!("it is no model of a CPU; give one as host or max, and the host's CPUs by --pin")),
    }
}

/// CPUs of the host, in the order of the virtual ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins(pub Vec<usize>);

fn pins(typed: &str) -> Result<Pins, String> {
    // In the order in which they were typed, and one perhaps several times.
    let parts: Option<Vec<Vec<usize>>> = typed.split(',').map(parse_cpu_list).collect();
    let list: Vec<usize> = parts.unwrap_or_default().concat();
    if list.is_empty() {
        return Err(said!("it is no list of CPUs; give one as 2-5 or 0,2"));
    }
    let allowed = affinity::allowed().unwrap_or_default();
    match list.iter().find(|cpu| !allowed.is_empty() && !allowed.contains(cpu)) {
        Some(cpu) => Err(said!("this process may not use CPU {cpu}; choose others")),
        None => Ok(Pins(list)),
    }
}

/// Bytes of a size as a person types it: `512M`, `1G`, `2GiB`.
pub fn size(typed: &str) -> Result<u64, String> {
    let upper = typed.trim().to_ascii_uppercase();
    let digits = upper.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: Option<u64> = match &upper[digits.len()..] {
        "K" | "KIB" => Some(1 << 10),
        "M" | "MIB" => Some(1 << 20),
        "G" | "GIB" => Some(1 << 30),
        "T" | "TIB" => Some(1 << 40),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    bytes.filter(|bytes| (1..=1 << 50).contains(bytes)).ok_or_else(|| said!("it is no size; give one as 512M or 1G"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    pub size: u64,
    pub is_qcow2: bool,
    pub cache: String,
    pub iothread: bool,
}

const CACHES: [&str; 5] = ["none", "writeback", "writethrough", "directsync", "unsafe"];

fn disk(typed: &str) -> Result<Disk, String> {
    let mut parts = typed.split(',');
    let size = size(parts.next().unwrap_or_default())?;
    let mut disk = Disk { size, is_qcow2: false, cache: "none".into(), iothread: false };
    for part in parts {
        match (part, part.strip_prefix("cache=")) {
            ("raw", _) => disk.is_qcow2 = false,
            ("qcow2", _) => disk.is_qcow2 = true,
            ("iothread", _) => disk.iothread = true,
            (_, Some(cache)) if CACHES.contains(&cache) => cache.clone_into(&mut disk.cache),
            (_, Some(_)) => {
                return Err(said!("QEMU has no such cache mode; choose {join}", join = CACHES.join(", ")));
            }
            _ => {
                return Err(said!("'{part}' says nothing of a disk; choose raw, qcow2, cache=MODE or iothread"));
            }
        }
    }
    Ok(disk)
}

/// Characters of an interface's name at most, as the kernel has it.
const LONGEST_INTERFACE: usize = 15;

fn net(typed: &str) -> Result<NetSpec, String> {
    if typed == "user" {
        return Ok(NetSpec::User);
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = |name: &&str| (1..=LONGEST_INTERFACE).contains(&name.len()) && name.bytes().all(is_plain);
    let tap = || {
        let (name, rest) = typed.strip_prefix("tap=")?.split_once(',')?;
        let (address, prefix) = rest.split_once('/')?;
        let prefix = prefix.parse().ok().filter(|bits| (1..=31).contains(bits))?;
        let interface = Some(name).filter(is_name)?.to_owned();
        Some(NetSpec::Tap { interface, address: address.parse().ok()?, prefix })
    };
    tap().ok_or_else(|| said!("it is no network; give user, or as tap=tap0,10.0.5.2/24 a device that is there"))
}

fn seconds(typed: &str) -> Result<Duration, String> {
    let number = typed.parse::<u64>().ok().filter(|number| (1..=3600).contains(number));
    number.map(Duration::from_secs).ok_or_else(|| said!("it is no number of seconds from 1 to 3600; give one as 60"))
}

/// Names of sides that are there by themselves.
pub const NATIVE: &str = "native";
pub const GUEST: &str = "guest";
pub const FREE: &str = "native-free";
/// Characters of a side's name at most: it is part of names of files.
const LONGEST_NAME: usize = 40;

/// A further side: its name, and what leads there.
fn also(typed: &str) -> Result<(String, String), String> {
    let (name, place) =
        typed.split_once('=').ok_or_else(|| said!("it has no equals sign; give it as container='docker exec -i c'"))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match () {
        () if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) => {
            Err(said!("its name has to be letters, digits, dashes and underscores, 40 at most; give another"))
        }
        () if [NATIVE, GUEST, FREE].contains(&name) => Err(said!("{name} is there by itself; give another name")),
        () if place.trim().is_empty() => Err(said!("nothing leads there; give a command, as 'docker exec -i c'")),
        () => Ok((name.to_owned(), place.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn sizes_are_typed_with_a_unit() {
        let sizes = [("1G", 1 << 30), ("512m", 512 << 20), ("2MiB", 2 << 20), ("4K", 4096)];
        for (typed, bytes) in sizes {
            assert_eq!(size(typed), Ok(bytes), "{typed}");
        }
        for wrong in ["", "G", "1", "0G", "-1G", "1.5G", "1X", "99999999999T", "1 G x", "１G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_disk_and_a_network_say_how_they_are_made() {
        let disk = |typed: &str| super::disk(typed);
        let plain = Disk { size: 4 << 30, is_qcow2: false, cache: "none".into(), iothread: false };
        assert_eq!(disk("4G"), Ok(plain.clone()));
        let all = Disk { is_qcow2: true, cache: "writeback".into(), iothread: true, ..plain };
        assert_eq!(disk("4G,qcow2,cache=writeback,iothread"), Ok(all));
        for wrong in ["", "x", "4G,", "4G,file=/dev/sda", "4G,cache=", "4G,cache=none,,"] {
            assert!(disk(wrong).is_err(), "{wrong}");
        }
        let tap = NetSpec::Tap { interface: "tap0".into(), address: Ipv4Addr::new(10, 0, 5, 2), prefix: 24 };
        assert_eq!((net("user"), net("tap=tap0,10.0.5.2/24")), (Ok(NetSpec::User), Ok(tap)));
        let at = ",10.0.5.2/24";
        for wrong in ["", "tap", "tap=tap0", "none", "tap=tap0,10.0.5.2", "tap=tap0,10.0.5/24", "tap=tap0,10.0.5.2/33"]
        {
            assert!(net(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "a,script=/bin/sh", "0123456789abcdef", "a/b"] {
            assert!(net(&format!("tap={wrong}{at}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_further_side_has_a_name_that_may_be_part_of_a_files() {
        assert_eq!(also("c=docker exec -i c=d"), Ok(("c".into(), "docker exec -i c=d".into())));
        for wrong in ["", "c", "=x", "native=x", "guest=x", "native-free=x", "../a=x", "a b=x", "c=", "c= ", "\u{e9}=x"]
        {
            assert!(also(wrong).is_err(), "{wrong}");
        }
        assert!(also(&format!("{}=x", "a".repeat(41))).is_err());
    }

    #[test]
    fn virtual_cpus_are_pinned_in_the_order_that_was_typed() {
        let first = affinity::allowed().unwrap()[0];
        assert_eq!(pins(&format!("{first},{first}")), Ok(Pins(vec![first, first])));
        for wrong in ["", ",", "x", "1-", "0-99999999999", "999999"] {
            assert!(pins(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_boot_takes_seconds_and_not_for_ever() {
        assert_eq!(seconds("60"), Ok(Duration::from_secs(60)));
        for wrong in ["", "0", "3601", "1m", "-1"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
