//! The blocks of what can be touched: CPU, memory, storage and network.

use std::collections::BTreeMap;

use hostmark_analysis::bilingual::{COLON, COMMA, Words, each, fixed, joined, same};
use hostmark_analysis::format::{number, value};
use hostmark_analysis::network::queue_text;
use hostmark_model::{
    CacheKind, CoreKindFact, DirectoryFact, HostReport, HugePages, Lang, LoopbackFacts, NetworkInterface, NodeFact,
    Purpose, Text, Unit,
};

use super::{Block, fact, id_list, switch};
use crate::words::{amount, said};

/// More devices would bury the rest; the file has all of them.
const MOST_DEVICES: usize = 8;
/// Mount options up to here; the first ones say most.
const MOST_OPTIONS: usize = 6;

pub(super) fn cpu(report: &HostReport) -> Block {
    let (host, cpu) = (&report.host, &report.host.cpu);
    let mut block = Block::new(Text::name("CPU"), &host.hostname);
    block.row(term!("model"), [same(cpu.named_model().unwrap_or_default()), same(&cpu.architecture)]);
    let online: Vec<usize> = host.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let usable = host.usable_cpus();
    let mut counts = Vec::new();
    if !online.is_empty() {
        counts.push(said!("{count} online ({cpus})", count = online.len(), cpus = id_list(&online)));
        if usable != online {
            counts.push(said!("{count} usable ({cpus})", count = usable.len(), cpus = id_list(&usable)));
        }
        if cpu.packages > 0 {
            counts.push(said!("{packages:package}", packages = cpu.packages));
        }
        counts.extend(cpu.smt_active.map(|is_on| fact(Text::name("SMT"), switch(is_on))));
    }
    block.row(Text { en: "CPUs", zh: "CPU" }, counts);
    block.row(term!("caches"), caches(report));
    let max_hz = host.cpus.iter().filter_map(|cpu| cpu.max_hz).fold(0.0, f64::max);
    let mut clock = Vec::new();
    if max_hz > 0.0 {
        clock.push(up_to(max_hz));
    }
    clock.extend(cpu.governor.as_ref().map(|name| said!("governor {name}")));
    clock.extend(cpu.frequency_driver.as_ref().map(|name| said!("driver {name}")));
    clock.extend(cpu.turbo.map(|is_on| fact(term!("turbo"), switch(is_on))));
    if clock.is_empty() {
        clock.push(fixed(term!("not visible from here")));
    }
    block.row(term!("frequency"), clock);
    block.row(term!("core kinds"), cpu.kinds.iter().map(of_kind));
    let kept = [("isolcpus", &cpu.isolated), ("nohz_full", &cpu.tickless), ("rcu_nocbs", &cpu.callback_free)];
    let kept = kept.iter().filter_map(|(name, ids)| {
        ids.as_ref().filter(|ids| !ids.is_empty()).map(|ids| same(format!("{name} {}", id_list(ids))))
    });
    block.row(term!("kept apart"), kept);
    let mut firmware: Vec<Words> = cpu.microcode.iter().map(|code| said!("microcode {code}")).collect();
    let maker = [&host.firmware.vendor, &host.firmware.product].map(|part| part.clone().unwrap_or_default()).join(" ");
    firmware.push(same(maker.trim()));
    firmware.extend(host.firmware.bios_version.as_ref().map(|version| {
        let date = host.firmware.bios_date.as_ref().map(|date| format!(" ({date})")).unwrap_or_default();
        said!("firmware {version}{date}")
    }));
    block.row(term!("machine"), firmware);
    block
}

fn up_to(hz: f64) -> Words {
    said!("up to {clock}", clock = amount(hz, Unit::Hertz))
}

/// `performance 0-15: up to 5.70 GHz, governor performance`, with the limit where one is set below that.
fn of_kind(kind: &CoreKindFact) -> Words {
    let limit = kind.limit_hz.filter(|&limit| kind.max_hz.is_none_or(|most| limit < most));
    let parts = [
        kind.max_hz.map(up_to),
        limit.map(|limit| said!("limited to {clock}", clock = amount(limit, Unit::Hertz))),
        kind.governor.as_ref().map(|name| said!("governor {name}")),
    ];
    let parts: Vec<Words> = parts.into_iter().flatten().collect();
    let name = match kind.name.as_str() {
        "performance" => fixed(term!("performance")),
        "efficiency" => fixed(term!("efficiency")),
        "low_power" => fixed(term!("low power")),
        other => same(other),
    };
    let cpus = each(|lang| format!("{} {}", name.get(lang), id_list(&kind.cpus)));
    joined(&[cpus, joined(&parts, COMMA)], COLON)
}

/// `L2 1 MiB × 2`: each kind of cache once, with its number.
fn caches(report: &HostReport) -> Vec<Words> {
    let mut counts: BTreeMap<(u8, u8, u64), usize> = BTreeMap::new();
    for cache in &report.host.caches {
        let kind = match cache.kind {
            CacheKind::Data => 0,
            CacheKind::Instruction => 1,
            CacheKind::Unified => 2,
        };
        *counts.entry((cache.level, kind, cache.size_bytes)).or_default() += 1;
    }
    let name = |((level, kind, size), count): (&(u8, u8, u64), &usize)| {
        let letter = ["d", "i", ""][usize::from(*kind)];
        let times = if *count > 1 { format!(" × {count}") } else { String::new() };
        let size = match *size {
            0 => fixed(term!("of untold size")),
            bytes => amount(bytes as f64, Unit::Bytes),
        };
        each(|lang| format!("L{level}{letter} {}{times}", size.get(lang)))
    };
    counts.iter().map(name).collect()
}

fn bytes(count: u64) -> String {
    value(count as f64, Unit::Bytes, Lang::En)
}

pub(super) fn memory(report: &HostReport) -> Block {
    let (host, memory) = (&report.host, &report.host.memory);
    let mut block = Block::new(term!("Memory"), "");
    let mut size = Vec::new();
    if memory.total_bytes > 0 {
        size.push(same(bytes(memory.total_bytes)));
        size.push(said!("{size} available", size = bytes(memory.available_bytes)));
        size.push(match memory.swap_total_bytes {
            0 => fixed(term!("no swap")),
            total => said!("swap {total}, {used} used", total = bytes(total), used = bytes(memory.swap_used_bytes)),
        });
    }
    block.row(term!("size"), size);
    let mut kinds: BTreeMap<(String, u64, Option<u64>), usize> = BTreeMap::new();
    for module in &host.firmware.memory_modules {
        let kind = module.kind.clone().unwrap_or_default();
        *kinds.entry((kind, module.size_bytes, module.transfers_per_s)).or_default() += 1;
    }
    let module = |((kind, size, rate), count): (&(String, u64, Option<u64>), &usize)| {
        let rate = rate.map(|rate| format!(" {} MT/s", rate / 1_000_000)).unwrap_or_default();
        same(format!("{count} × {} {kind}{rate}", bytes(*size)))
    };
    block.row(term!("modules"), kinds.iter().map(module));
    let node = |node: &NodeFact| {
        let cpus = if node.cpus.is_empty() { "–".to_owned() } else { id_list(&node.cpus) };
        same(format!("{}: {}, CPU {cpus}{}", node.id, bytes(node.memory_bytes), pools(&node.huge_pages)))
    };
    block.row(term!("nodes"), host.nodes.iter().map(node));
    let mut pages = Vec::new();
    if memory.page_bytes > 0 {
        pages.push(said!("base {size}", size = bytes(memory.page_bytes)));
    }
    pages.extend(memory.pmd_page_bytes.map(|size| said!("huge {size}", size = bytes(size))));
    pages.extend(memory.transparent_huge_pages.as_ref().map(|mode| same(format!("THP {mode}"))));
    pages.extend(memory.transparent_huge_page_defrag.as_ref().map(|mode| same(format!("defrag {mode}"))));
    pages.extend(memory.huge_pages.as_ref().map(|all| match all.is_empty() {
        true => fixed(term!("none reserved")),
        false => said!("reserved{pools}", pools = pools(all)),
    }));
    block.row(term!("pages"), pages);
    let mut ways = Vec::new();
    ways.extend(memory.same_page_merging.map(|mode| fact(Text::name("KSM"), switch(mode == 1))));
    let plain = [
        (term!("NUMA balancing"), memory.numa_balancing),
        (Text::name("zone_reclaim"), memory.zone_reclaim_mode),
        (Text::name("swappiness"), memory.swappiness),
        (Text::name("overcommit"), memory.overcommit),
    ];
    ways.extend(plain.iter().filter_map(|(name, mode)| Some(fact(*name, same((*mode)?.to_string())))));
    block.row(term!("policies"), ways);
    block
}

fn pools(pools: &[HugePages]) -> String {
    pools.iter().map(|pool| format!(" {} × {}", pool.count, bytes(pool.page_bytes))).collect()
}

pub(super) fn devices(report: &HostReport) -> Block {
    let host = &report.host;
    let mut block = Block::new(term!("Storage and network"), "");
    for directory in &host.storage.directories {
        let label = match directory.purpose {
            Purpose::Scratch => term!("scratch"),
            Purpose::Data => term!("runs"),
        };
        block.row(label, place(directory));
    }
    let devices = host.storage.devices.iter().map(|device| {
        let size = amount(device.size_bytes as f64, Unit::Bytes);
        let mut words = vec![each(|lang| format!("{} {}", device.name, size.get(lang)))];
        words.extend(device.model.as_ref().map(same));
        words.extend(device.rotational.map(|rotational| fixed(rotation(&device.name, rotational))));
        words.extend(device.scheduler.as_ref().map(same));
        joined(&words, Text::name(", "))
    });
    block.row(term!("disks"), few(devices.collect()));
    block.row(term!("network"), few(host.network.iter().map(interface).collect()));
    block.row(term!("loopback"), loopback(&host.loopback));
    block
}

fn loopback(lo: &LoopbackFacts) -> Vec<Words> {
    let mut words: Vec<Words> = lo.mtu_bytes.map(|mtu| same(format!("MTU {mtu}"))).into_iter().collect();
    words.extend(lo.queue.as_ref().map(|queue| same(queue_text(queue))));
    match lo.filter_rules {
        Some(0) => words.push(fixed(term!("no packet-filter rules"))),
        Some(1) => words.push(said!("{rules} packet-filter rule", rules = 1)),
        Some(rules) => words.push(said!("{rules} packet-filter rules")),
        None if lo.is_unknown() => {}
        None => words.push(fixed(term!("packet-filter rules unknown"))),
    }
    words.extend(lo.programs.iter().flatten().map(same));
    words
}

/// Virtual disks do not say what they are, and the kernel takes silence for rotation.
fn rotation(name: &str, is_rotational: bool) -> Text {
    let is_virtual = name.starts_with("vd") || name.starts_with("xvd");
    match is_rotational {
        true if is_virtual => term!("virtual"),
        true => term!("rotational"),
        false => term!("non-rotational"),
    }
}

/// The first ones, and how many more there are.
fn few(mut all: Vec<Words>) -> Vec<Words> {
    let more = all.len().saturating_sub(MOST_DEVICES);
    if more > 0 {
        all.truncate(MOST_DEVICES);
        all.push(said!("{devices} more", devices = more));
    }
    all
}

fn place(directory: &DirectoryFact) -> Vec<Words> {
    let mut facts = vec![same(&directory.path)];
    if let (Some(filesystem), Some(device)) = (&directory.filesystem, &directory.device) {
        facts.push(same(if filesystem == device { filesystem.clone() } else { format!("{filesystem} {device}") }));
    }
    // The mount names its own device.
    if directory.stack.len() > 2 || directory.filesystem.as_deref() == Some("overlay") {
        let stack: Vec<Words> = directory.stack.iter().map(same).collect();
        facts.push(joined(&stack, Text { en: " on ", zh: " ← " }));
    }
    facts.extend(directory.available_bytes.map(|room| said!("{room} free", room = amount(room as f64, Unit::Bytes))));
    let options: Vec<&str> = directory.options.iter().take(MOST_OPTIONS).map(String::as_str).collect();
    facts.push(same(options.join(",") + if directory.options.len() > MOST_OPTIONS { ",…" } else { "" }));
    facts
}

fn interface(link: &NetworkInterface) -> Words {
    let mut words = vec![same(&link.name)];
    words.extend(link.driver.as_ref().map(same));
    words.extend(link.bits_per_s.map(|rate| match rate {
        rate if rate >= 1_000_000_000 => same(format!("{} Gbit/s", number(rate as f64 / 1e9))),
        rate => same(format!("{} Mbit/s", number(rate as f64 / 1e6))),
    }));
    words.extend(link.mtu_bytes.map(|mtu| same(format!("MTU {mtu}"))));
    words.extend(link.state.as_deref().map(|state| match state {
        "up" => fixed(term!("up")),
        "down" => fixed(term!("down")),
        "unknown" => Words::default(),
        other => same(other),
    }));
    joined(&words, Text::name(" "))
}
