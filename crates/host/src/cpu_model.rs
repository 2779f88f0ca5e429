//! The processor's model, clocks and protections, and what the firmware tells of the machine.

use hostmark_model::{CoreKindFact, CpuFact, CpuFacts, FirmwareFacts, HostFacts, MemoryModule, design_that_can};

use crate::cpus::{CpuInfo, Stanza};
use crate::placement::{CoreKind, core_kinds};
use crate::root::{Root, parse_cpu_list};

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
            .or_else(|| arm_model(root, cpuinfo))
            .or_else(|| root.is_this_machine().then(brand).flatten()),
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

/// Returns the model's name as the processor itself has it, where /proc/cpuinfo cannot be read.
#[cfg(target_arch = "x86_64")]
fn brand() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    const LEAVES: std::ops::RangeInclusive<u32> = 0x8000_0002..=0x8000_0004;
    let has_name = __cpuid(0x8000_0000).eax >= *LEAVES.end();
    let words = LEAVES.map(__cpuid).flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]);
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).filter(|byte| *byte != 0).collect();
    let name = String::from_utf8_lossy(&bytes).trim().to_owned();
    (has_name && !name.is_empty()).then_some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn brand() -> Option<String> {
    None
}

/// Returns the name of an x86 design, unless the model's name has it. Arm's names are those of designs.
fn microarchitecture(cpuinfo: &CpuInfo) -> Option<String> {
    let number = |key: &str| cpuinfo.first(key)?.parse().ok();
    let numbers = (number("cpu family")?, number("model")?, number("stepping")?);
    let has = |flag: &str| cpuinfo.words("flags").any(|word| word == flag);
    let name = x86_name(cpuinfo.first("vendor_id")?, numbers, has)?;
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
    Some(arm_implementer(code).map_or_else(|| format!("{code:#04x}"), str::to_owned))
}

/// The distinct cores in the order in which they appear, joined by `+` (big and little cores differ), each with the
/// revision of its design (errata and their cures go by it).
fn arm_model(root: &Root, cpuinfo: &CpuInfo) -> Option<String> {
    cpuinfo.first("CPU implementer")?;
    let on_ec2 = root.text("/sys/class/dmi/id/sys_vendor").is_some_and(|vendor| vendor == "Amazon EC2");
    let core = |stanza: &Stanza| {
        let number = |key| hex(stanza.get(key)?);
        let mut name = arm_name(number("CPU implementer")?, number("CPU part")?, on_ec2);
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

/// Design of an x86 processor.
struct Design {
    vendor: &'static str,
    family: u32,
    models: (u32, u32),
    name: &'static str,
}

/// The known designs: vendor, family, first and last model, name. They are from the Linux kernel's asm/intel-family.h, and AMD's and Hygon's
/// revision guides. A hypervisor's own model of a processor has the model 0.
fn designs() -> impl Iterator<Item = Design> {
    include_str!("designs.tsv").lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let vendor = columns.next()?;
        let mut number = || hex(columns.next()?);
        let (family, models) = (number()?, (number()?, number()?));
        Some(Design { vendor, family, models, name: columns.next()? })
    })
}

/// The design's name, as far as what it can do does not contradict it; none of one that is not known.
fn x86_name(vendor: &str, numbers: (u32, u32, u32), has: impl Fn(&str) -> bool) -> Option<String> {
    let (family, model, stepping) = numbers;
    Some(design_that_can(vendor, design(vendor, family, model, stepping)?, has))
}

fn design(vendor: &str, family: u32, model: u32, stepping: u32) -> Option<&'static str> {
    let is_it =
        |one: &Design| one.vendor == vendor && one.family == family && (one.models.0..=one.models.1).contains(&model);
    let known = designs().find(is_it)?.name;
    Some(match (known, model, stepping) {
        // Later designs of one model.
        ("Skylake-SP", 0x55, 5..=9) => "Cascade Lake",
        ("Skylake-SP", 0x55, 10..) => "Cooper Lake",
        ("Kaby Lake", 0x8e, 10..) | ("Kaby Lake", 0x9e, 10..) => "Coffee Lake",
        _ => known,
    })
}

/// Arm's implementer codes (MIDR_EL1 bits 31:24) with the name of each, as Arm assigned them, and its parts behind it: implementer, part,
/// name. An implementer itself has no part.
fn parts() -> impl Iterator<Item = (u32, Option<u32>, &'static str)> {
    include_str!("arm_parts.tsv").lines().filter_map(|line| {
        let (code, rest) = line.split_once('\t')?;
        let (part, name) = rest.split_once('\t')?;
        Some((hex(code)?, hex(part), name))
    })
}

/// Amazon's own processors carry Arm's ids; each generation uses another core, so that on EC2 the core names the chip.
const GRAVITONS: &[(u32, &str)] = &[
    (0xd08, "AWS Graviton"),
    (0xd0c, "AWS Graviton2"),
    (0xd40, "AWS Graviton3"),
    (0xd4f, "AWS Graviton4"),
    (0xd84, "AWS Graviton5"),
];

/// Returns the designer of the processor.
fn arm_implementer(code: u32) -> Option<&'static str> {
    parts().find(|known| (known.0, known.1) == (code, None)).map(|known| known.2)
}

/// A name of implementer and part: `Arm Neoverse N1`; the bare numbers where they are unknown.
fn arm_name(implementer_code: u32, part: u32, on_ec2: bool) -> String {
    let core = match (arm_implementer(implementer_code), arm_part_name(implementer_code, part)) {
        (Some(maker), Some(name)) => format!("{maker} {name}"),
        (Some(maker), None) => format!("{maker} part {part:#05x}"),
        _ => format!("implementer {implementer_code:#04x} part {part:#05x}"),
    };
    let graviton = GRAVITONS.iter().find(|(known, _)| on_ec2 && implementer_code == 0x41 && *known == part);
    match graviton {
        Some((_, chip)) => format!("{chip} ({core})"),
        None => core,
    }
}

fn arm_part_name(implementer: u32, part: u32) -> Option<&'static str> {
    parts().find(|known| (known.0, known.1) == (implementer, Some(part))).map(|known| known.2)
}

const DMI_DIR: &str = "/sys/class/dmi/id";
/// The firmware's table entries of type 17, one a slot; root alone may read them.
const ENTRY_DIR: &str = "/sys/firmware/dmi/entries";
/// Directory of a loaded EDAC driver, which everybody may read.
const EDAC_DIR: &str = "/sys/devices/system/edac/mc";
/// The largest machines have 96 slots.
const MOST_MODULES: usize = 192;

pub(crate) fn read_firmware(root: &Root) -> FirmwareFacts {
    let text = |name: &str| root.text(&format!("{DMI_DIR}/{name}"));
    let mut memory_modules = from_tables(root);
    if memory_modules.is_empty() {
        memory_modules = from_edac(root);
    }
    FirmwareFacts {
        vendor: text("sys_vendor"),
        product: text("product_name").or_else(|| root.text("/sys/firmware/devicetree/base/model")),
        bios_version: text("bios_version"),
        bios_date: text("bios_date"),
        memory_modules,
    }
}

fn from_tables(root: &Root) -> Vec<MemoryModule> {
    let names = root.names(ENTRY_DIR);
    let slots = names.iter().filter(|name| name.starts_with("17-")).take(MOST_MODULES);
    slots.filter_map(|name| module(&root.bytes(&format!("{ENTRY_DIR}/{name}/raw"))?)).collect()
}

/// SMBIOS structure "Memory Device"; None for an empty slot and for a damaged entry.
fn module(entry: &[u8]) -> Option<MemoryModule> {
    let word = |at: usize| Some(u16::from_le_bytes([*entry.get(at)?, *entry.get(at + 1)?]));
    let length = usize::from(*entry.get(1)?);
    let size_bytes = match word(0x0c)? {
        0 | 0xffff => return None,
        // Too large for the field: mebibytes in a longer one.
        0x7fff => u64::from(word(0x1c)?) << 20 | u64::from(word(0x1e)? & 0x7fff) << 36,
        size if size & 0x8000 != 0 => u64::from(size & 0x7fff) << 10,
        size => u64::from(size) << 20,
    };
    let kind = match *entry.get(0x12)? {
        0x18 => Some("DDR3"),
        0x1a => Some("DDR4"),
        0x1e => Some("LPDDR4"),
        0x20 => Some("HBM"),
        0x21 => Some("HBM2"),
        0x22 => Some("DDR5"),
        0x23 => Some("LPDDR5"),
        _ => None,
    };
    // The configured rate where the structure is long enough to hold it, else the module's own.
    let configured = (length > 0x21).then(|| word(0x20)).flatten().filter(|rate| *rate > 0);
    let rate = configured.or_else(|| word(0x15)).filter(|rate| *rate > 0 && *rate < 0xffff);
    let slot = usize::from(*entry.get(0x10)?);
    Some(MemoryModule {
        slot: string(entry.get(length..)?, slot),
        kind: kind.map(str::to_owned),
        size_bytes,
        transfers_per_s: rate.map(|millions| u64::from(millions) * 1_000_000),
    })
}

/// The n-th of the strings that follow a structure; 0 is none.
fn string(strings: &[u8], number: usize) -> Option<String> {
    let text = strings.split(|byte| *byte == 0).nth(number.checked_sub(1)?)?;
    let text = String::from_utf8_lossy(text).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn from_edac(root: &Root) -> Vec<MemoryModule> {
    let mut modules = Vec::new();
    for controller in root.names(EDAC_DIR).iter().filter(|name| name.starts_with("mc")) {
        for name in root.names(&format!("{EDAC_DIR}/{controller}")) {
            if !(name.starts_with("dimm") || name.starts_with("rank")) || modules.len() == MOST_MODULES {
                continue;
            }
            let text = |file: &str| root.text(&format!("{EDAC_DIR}/{controller}/{name}/{file}"));
            let mebibytes = text("size").and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
            if mebibytes > 0 {
                modules.push(MemoryModule {
                    slot: text("dimm_label"),
                    kind: text("dimm_mem_type"),
                    size_bytes: mebibytes << 20,
                    transfers_per_s: None,
                });
            }
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_are_recognized_by_model_and_stepping() {
        for (vendor, family, model, stepping, name) in [
            ("GenuineIntel", 6, 85, 4, Some("Skylake-SP")),
            ("GenuineIntel", 6, 94, 3, Some("Skylake")),
            ("GenuineIntel", 6, 106, 6, Some("Ice Lake-SP")),
            ("GenuineIntel", 6, 85, 7, Some("Cascade Lake")),
            ("GenuineIntel", 6, 85, 11, Some("Cooper Lake")),
            ("GenuineIntel", 6, 207, 2, Some("Emerald Rapids")),
            ("AuthenticAMD", 25, 1, 1, Some("Zen 3, Milan")),
            ("AuthenticAMD", 26, 2, 1, Some("Zen 5, Turin")),
            ("AuthenticAMD", 6, 207, 2, None),
            ("GenuineIntel", 6, 9999, 0, None),
        ] {
            assert_eq!(design(vendor, family, model, stepping), name);
        }
    }

    #[test]
    fn what_it_can_do_stands_before_its_numbers() {
        let named = |numbers, flags: &[&str]| x86_name("GenuineIntel", numbers, |flag| flags.contains(&flag));
        assert_eq!(named((6, 0xa7, 1), &["avx512f", "amx_tile"]).as_deref(), Some("≥ Sapphire Rapids"));
        assert_eq!(named((6, 0xa7, 1), &["avx512f"]).as_deref(), Some("Rocket Lake"));
        assert_eq!(named((6, 9999, 0), &["amx_tile"]), None);
    }

    #[test]
    fn no_model_has_two_names() {
        assert_eq!(designs().count(), include_str!("designs.tsv").lines().count());
        for (at, one) in designs().enumerate() {
            let overlaps = |other: &Design| {
                (other.vendor, other.family) == (one.vendor, one.family)
                    && other.models.0 <= one.models.1
                    && one.models.0 <= other.models.1
            };
            assert!(!designs().skip(at + 1).any(|other| overlaps(&other)), "{}", one.name);
        }
    }

    #[test]
    fn every_part_has_a_known_implementer_and_stands_once() {
        assert!(parts().all(|part| arm_implementer(part.0).is_some()) && parts().is_sorted());
        assert_eq!(parts().count(), include_str!("arm_parts.tsv").lines().count());
        assert!(GRAVITONS.iter().all(|(part, _)| arm_part_name(0x41, *part).is_some()));
    }

    #[test]
    fn unknown_parts_keep_their_numbers() {
        assert_eq!(arm_name(0x41, 0xd0c, false), "Arm Neoverse N1");
        assert_eq!(arm_name(0x41, 0xd40, true), "AWS Graviton3 (Arm Neoverse V1)");
        assert_eq!(arm_name(0xc0, 0xac3, true), "Ampere AmpereOne");
        assert_eq!(arm_name(0x41, 0xfff, true), "Arm part 0xfff");
        assert_eq!(arm_name(0x99, 0x1, false), "implementer 0x99 part 0x001");
    }

    /// A structure of 0x28 bytes with these words, and its strings.
    fn entry(words: &[(usize, u16)], kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 0x28];
        (bytes[0], bytes[1], bytes[0x10], bytes[0x12]) = (17, 0x28, 2, kind);
        for (at, word) in words {
            bytes[*at..at + 2].copy_from_slice(&word.to_le_bytes());
        }
        bytes.extend(b"maker\0DIMM_A1\0\0");
        bytes
    }

    #[test]
    fn a_module_reports_slot_kind_size_and_rate() {
        let found = module(&entry(&[(0x0c, 0x7fff), (0x1c, 0), (0x1e, 1), (0x15, 6400), (0x20, 5600)], 0x22)).unwrap();
        assert_eq!((found.slot.as_deref(), found.kind.as_deref()), (Some("DIMM_A1"), Some("DDR5")));
        assert_eq!((found.size_bytes, found.transfers_per_s), (64 << 30, Some(5_600_000_000)));
        assert_eq!(module(&entry(&[(0x0c, 16384)], 0x1a)).unwrap().size_bytes, 16 << 30);
    }

    #[test]
    fn empty_slots_and_damaged_entries_are_no_modules() {
        let whole = entry(&[(0x0c, 16384), (0x15, 3200)], 0x1a);
        assert!(module(&entry(&[], 0x1a)).is_none());
        for length in 0..0x28 {
            assert!(module(&whole[..length]).is_none(), "{length}");
        }
    }
}
