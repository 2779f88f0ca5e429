//! The processor's model and abilities, as x86 and aarch64 tell them.

use hostmark_model::{CoreKindFact, CpuFact, CpuFacts, HostFacts};

use crate::arm;
use crate::cpu_list::parse_cpu_list;
use crate::cpuinfo::{CpuInfo, Stanza};
use crate::placement::{CoreKind, core_kinds};
use crate::root::Root;
use crate::x86;

const CPU_DIR: &str = "/sys/devices/system/cpu";

pub(crate) fn read(root: &Root, cpuinfo: &CpuInfo, cpus: &[CpuFact]) -> CpuFacts {
    let is_arm = cpuinfo.first("CPU implementer").is_some();
    let mut features: Vec<String> =
        cpuinfo.words(if is_arm { "Features" } else { "flags" }).map(str::to_owned).collect();
    features.sort_unstable();
    features.dedup();
    let mut packages: Vec<usize> = cpus.iter().filter(|cpu| cpu.online).filter_map(|cpu| cpu.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let first_usable = cpus.iter().find(|cpu| cpu.online && cpu.allowed);
    let frequency =
        |name: &str| first_usable.and_then(|cpu| root.text(&format!("{CPU_DIR}/cpu{}/cpufreq/{name}", cpu.id)));
    CpuFacts {
        architecture: architecture(root, cpuinfo),
        vendor: if is_arm { arm_vendor(cpuinfo) } else { cpuinfo.first("vendor_id").map(str::to_owned) },
        model: cpuinfo
            .first("model name")
            .filter(|name| !is_arm || !name.starts_with("ARMv8 Processor"))
            .map(str::to_owned)
            .or_else(|| arm_model(root, cpuinfo)),
        microarchitecture: microarchitecture(cpuinfo),
        microcode: cpuinfo.first("microcode").map(str::to_owned),
        features,
        packages: packages.len(),
        governor: frequency("scaling_governor"),
        frequency_driver: frequency("scaling_driver"),
        turbo: turbo(root),
        isolated: root.id_list(&format!("{CPU_DIR}/isolated")),
        tickless: tickless(root),
        callback_free: root
            .text("/proc/cmdline")
            .and_then(|line| parse_cpu_list(line.split_whitespace().find_map(|word| word.strip_prefix("rcu_nocbs="))?)),
        smt_active: smt_active(root, cpus),
        kinds: Vec::new(),
    }
}

/// What an x86 design is called, unless the model's name has it. Arm's names are those of designs.
fn microarchitecture(cpuinfo: &CpuInfo) -> Option<String> {
    let number = |key: &str| cpuinfo.first(key)?.parse().ok();
    let numbers = (number("cpu family")?, number("model")?, number("stepping")?);
    let has = |flag: &str| cpuinfo.words("flags").any(|word| word == flag);
    let name = x86::name(cpuinfo.first("vendor_id")?, numbers, has)?;
    let is_in_name = cpuinfo.first("model name").is_some_and(|model| model.contains(&name));
    (!is_in_name).then_some(name)
}

/// The kinds of core of a host that is read so far, and what holds the clock of each: its fastest CPU is asked.
pub(crate) fn kinds(root: &Root, host: &HostFacts) -> Vec<CoreKindFact> {
    let kinds = core_kinds(host);
    let fact = |(kind, cpus): &(CoreKind, Vec<usize>)| {
        let speed = |cpu: usize| host.cpus.iter().find(|known| known.id == cpu).and_then(|known| known.max_hz);
        let fastest = cpus
            .iter()
            .copied()
            .max_by(|one, other| speed(*one).unwrap_or(0.0).total_cmp(&speed(*other).unwrap_or(0.0)));
        let file = |name: &str| fastest.and_then(|cpu| root.text(&format!("{CPU_DIR}/cpu{cpu}/cpufreq/{name}")));
        let mut cpus = cpus.clone();
        cpus.sort_unstable();
        CoreKindFact {
            name: kind.name().to_owned(),
            cpus,
            max_hz: fastest.and_then(speed),
            limit_hz: file("scaling_max_freq").and_then(|khz| Some(khz.parse::<f64>().ok()? * 1e3)),
            governor: file("scaling_governor"),
        }
    };
    if kinds.len() > 1 { kinds.iter().map(fact).collect() } else { Vec::new() }
}

/// A kernel without a tickless CPU writes nothing or `(null)`.
fn tickless(root: &Root) -> Option<Vec<usize>> {
    let text = root.raw(&format!("{CPU_DIR}/nohz_full"))?;
    if text.trim() == "(null)" { Some(Vec::new()) } else { parse_cpu_list(&text) }
}

/// intel_pstate counts the other way round; all other drivers share one file.
fn turbo(root: &Root) -> Option<bool> {
    let off = root.number::<u8>(&format!("{CPU_DIR}/intel_pstate/no_turbo")).map(|off| off == 0);
    off.or_else(|| Some(root.number::<u8>(&format!("{CPU_DIR}/cpufreq/boost"))? != 0))
}

fn architecture(root: &Root, cpuinfo: &CpuInfo) -> String {
    // This binary runs here, so it is of this machine's architecture.
    if root.is_this_machine() {
        return std::env::consts::ARCH.to_owned();
    }
    let known = root.text("/proc/sys/kernel/arch");
    known.unwrap_or_else(|| match (cpuinfo.first("vendor_id"), cpuinfo.first("CPU implementer")) {
        (Some(_), _) => "x86_64".to_owned(),
        (_, Some(_)) => "aarch64".to_owned(),
        _ => String::new(),
    })
}

fn smt_active(root: &Root, cpus: &[CpuFact]) -> Option<bool> {
    match root.text(&format!("{CPU_DIR}/smt/active")).as_deref() {
        Some("1") => Some(true),
        Some("0") => Some(false),
        _ => {
            let mut known = cpus.iter().filter(|cpu| cpu.online && !cpu.siblings.is_empty()).peekable();
            known.peek()?;
            Some(known.any(|cpu| cpu.siblings.len() > 1))
        }
    }
}

fn arm_vendor(cpuinfo: &CpuInfo) -> Option<String> {
    let code = hex(cpuinfo.first("CPU implementer")?)?;
    Some(arm::implementer(code).map_or_else(|| format!("{code:#04x}"), str::to_owned))
}

/// The distinct cores in the order in which they appear, joined by `+` (big and little cores differ), each with the
/// revision of its design (errata and their cures go by it).
fn arm_model(root: &Root, cpuinfo: &CpuInfo) -> Option<String> {
    cpuinfo.first("CPU implementer")?;
    let on_ec2 = root.text("/sys/class/dmi/id/sys_vendor").is_some_and(|vendor| vendor == "Amazon EC2");
    let core = |stanza: &Stanza| {
        let number = |key| hex(stanza.get(key)?);
        let mut name = arm::model(number("CPU implementer")?, number("CPU part")?, on_ec2);
        if let (Some(variant), Some(revision)) = (number("CPU variant"), stanza.get("CPU revision")) {
            name.push_str(&format!(" r{variant}p{revision}"));
        }
        Some(name)
    };
    let mut names: Vec<String> = Vec::new();
    for name in cpuinfo.processors().iter().filter_map(core) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(" + "))
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
