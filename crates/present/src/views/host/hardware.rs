//! The blocks of what can be touched: CPU, memory, storage and network.

use std::collections::BTreeMap;

use hostmark_analysis::format::{number, value};
use hostmark_analysis::network::queue_text;
use hostmark_model::{
    CacheKind, CoreKindFact, DirectoryFact, HostReport, HugePages, LoopbackFacts, NetworkInterface, Purpose, Unit,
    counted,
};

use super::{Block, id_list};

/// More devices would bury the rest; the file has all of them.
const MOST_DEVICES: usize = 8;
/// Mount options up to here; the first ones say most.
const MOST_OPTIONS: usize = 6;

pub(super) fn cpu(report: &HostReport, block: &mut Block) {
    let (host, cpu) = (&report.host, &report.host.cpu);
    block.title("CPU", "CPU", &host.hostname);
    block.row("model", "型号", &[cpu.named_model().unwrap_or_default(), cpu.architecture.clone()]);
    let online: Vec<usize> = host.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let usable = host.usable_cpus();
    let mut counts = Vec::new();
    if !online.is_empty() {
        let (cpus, packages) = (online.len(), cpu.packages);
        counts.push(format!("{cpus} {} ({})", block.say("online", "个在线"), id_list(&online)));
        if usable != online {
            counts.push(format!("{} {} ({})", usable.len(), block.say("usable", "个可用"), id_list(&usable)));
        }
        if packages > 0 {
            let many = if packages == 1 { "package" } else { "packages" };
            counts.push(format!("{packages} {}", block.say(many, "个封装")));
        }
        counts.extend(cpu.smt_active.map(|on| format!("SMT {}", switch(block, on))));
    }
    block.row("CPUs", "CPU", &counts);
    block.row("caches", "缓存", &caches(report, block));
    let max_hz = host.cpus.iter().filter_map(|cpu| cpu.max_hz).fold(0.0, f64::max);
    let mut clock = Vec::new();
    if max_hz > 0.0 {
        clock.push(format!("{} {}", block.say("up to", "最高"), value(max_hz, Unit::Hertz, block.lang)));
    }
    clock.extend(cpu.governor.as_ref().map(|name| format!("{} {name}", block.say("governor", "调频策略"))));
    clock.extend(cpu.frequency_driver.as_ref().map(|name| format!("{} {name}", block.say("driver", "驱动"))));
    clock.extend(cpu.turbo.map(|on| format!("{} {}", block.say("turbo", "睿频"), switch(block, on))));
    if clock.is_empty() {
        clock.push(block.say("not visible from here", "从本机不可见").to_owned());
    }
    block.row("frequency", "频率", &clock);
    let kinds: Vec<String> = cpu.kinds.iter().map(|kind| of_kind(kind, block)).collect();
    block.row("core kinds", "核心种类", &kinds);
    let kept = [("isolcpus", &cpu.isolated), ("nohz_full", &cpu.tickless), ("rcu_nocbs", &cpu.callback_free)];
    let kept = kept.iter().filter_map(|(name, ids)| {
        ids.as_ref().filter(|ids| !ids.is_empty()).map(|ids| format!("{name} {}", id_list(ids)))
    });
    block.row("kept apart", "隔离", &kept.collect::<Vec<_>>());
    let mut firmware: Vec<String> =
        cpu.microcode.iter().map(|code| format!("{} {code}", block.say("microcode", "微码"))).collect();
    let maker = [&host.firmware.vendor, &host.firmware.product].map(|part| part.clone().unwrap_or_default()).join(" ");
    firmware.push(maker.trim().to_owned());
    firmware.extend(host.firmware.bios_version.as_ref().map(|version| {
        let date = host.firmware.bios_date.as_ref().map(|date| format!(" ({date})")).unwrap_or_default();
        format!("{} {version}{date}", block.say("firmware", "固件"))
    }));
    block.row("machine", "机器", &firmware);
}

/// `performance 0-15: up to 5.70 GHz, governor performance`, with the limit where one is set below that.
fn of_kind(kind: &CoreKindFact, block: &Block) -> String {
    let hz = |hz: f64| value(hz, Unit::Hertz, block.lang);
    let limit = kind.limit_hz.filter(|&limit| kind.max_hz.is_none_or(|most| limit < most));
    let parts = [
        kind.max_hz.map(|most| format!("{} {}", block.say("up to", "最高"), hz(most))),
        limit.map(|limit| format!("{} {}", block.say("limited to", "限制在"), hz(limit))),
        kind.governor.as_ref().map(|name| format!("{} {name}", block.say("governor", "调频策略"))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let name = match kind.name.as_str() {
        "performance" => block.say("performance", "性能核"),
        "efficiency" => block.say("efficiency", "能效核"),
        "low_power" => block.say("low power", "低功耗核"),
        other => other,
    };
    let cpus = format!("{name} {}", id_list(&kind.cpus));
    if parts.is_empty() { cpus } else { [cpus, parts.join(block.say(", ", "，"))].join(block.say(": ", "：")) }
}

/// `L2 1 MiB × 2`: each kind of cache once, with its number.
fn caches(report: &HostReport, block: &Block) -> Vec<String> {
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
            0 => block.say("of untold size", "大小未知").to_owned(),
            bytes => value(bytes as f64, Unit::Bytes, block.lang),
        };
        format!("L{level}{letter} {size}{times}")
    };
    counts.iter().map(name).collect()
}

fn switch(block: &Block, on: bool) -> &'static str {
    if on { block.say("on", "开启") } else { block.say("off", "关闭") }
}

pub(super) fn memory(report: &HostReport, block: &mut Block) {
    let (host, memory) = (&report.host, &report.host.memory);
    block.title("Memory", "内存", "");
    let bytes = |count: u64| value(count as f64, Unit::Bytes, hostmark_model::Lang::En);
    let mut size = Vec::new();
    if memory.total_bytes > 0 {
        size.push(bytes(memory.total_bytes));
        size.push(format!("{} {}", bytes(memory.available_bytes), block.say("available", "可用")));
        size.push(match memory.swap_total_bytes {
            0 => block.say("no swap", "无交换区").to_owned(),
            total if block.lang == hostmark_model::Lang::En => {
                format!("swap {}, {} used", bytes(total), bytes(memory.swap_used_bytes))
            }
            total => format!("交换区 {}，已用 {}", bytes(total), bytes(memory.swap_used_bytes)),
        });
    }
    block.row("size", "容量", &size);
    let modules: Vec<String> = {
        let mut kinds: BTreeMap<(String, u64, Option<u64>), usize> = BTreeMap::new();
        for module in &host.firmware.memory_modules {
            let kind = module.kind.clone().unwrap_or_default();
            *kinds.entry((kind, module.size_bytes, module.transfers_per_s)).or_default() += 1;
        }
        let name = |((kind, size, rate), count): (&(String, u64, Option<u64>), &usize)| {
            let rate = rate.map(|rate| format!(" {} MT/s", rate / 1_000_000)).unwrap_or_default();
            format!("{count} × {} {kind}{rate}", bytes(*size))
        };
        kinds.iter().map(name).collect()
    };
    block.row("modules", "内存条", &modules);
    let node = |node: &hostmark_model::NodeFact| {
        let cpus = if node.cpus.is_empty() { "–".to_owned() } else { id_list(&node.cpus) };
        format!("{}: {}, CPU {cpus}{}", node.id, bytes(node.memory_bytes), pools(&node.huge_pages))
    };
    block.row("nodes", "节点", &host.nodes.iter().map(node).collect::<Vec<_>>());
    let mut pages = Vec::new();
    if memory.page_bytes > 0 {
        pages.push(format!("{} {}", block.say("base", "基本页"), bytes(memory.page_bytes)));
    }
    pages.extend(memory.pmd_page_bytes.map(|size| format!("{} {}", block.say("huge", "大页"), bytes(size))));
    pages.extend(memory.transparent_huge_pages.as_ref().map(|mode| format!("THP {mode}")));
    pages.extend(memory.transparent_huge_page_defrag.as_ref().map(|mode| format!("defrag {mode}")));
    pages.extend(memory.huge_pages.as_ref().map(|all| match all.is_empty() {
        true => block.say("none reserved", "未预留大页").to_owned(),
        false => format!("{}{}", block.say("reserved", "已预留"), pools(all)),
    }));
    block.row("pages", "页", &pages);
    let mut ways = Vec::new();
    let merging =
        memory.same_page_merging.map(|mode| if mode == 1 { block.say("on", "开启") } else { block.say("off", "关闭") });
    ways.extend(merging.map(|state| format!("KSM {state}")));
    let plain = [
        ("NUMA balancing", "NUMA 均衡", memory.numa_balancing),
        ("zone_reclaim", "zone_reclaim", memory.zone_reclaim_mode),
        ("swappiness", "swappiness", memory.swappiness),
        ("overcommit", "overcommit", memory.overcommit),
    ];
    ways.extend(plain.iter().filter_map(|(en, zh, mode)| Some(format!("{} {}", block.say(en, zh), (*mode)?))));
    block.row("policies", "策略", &ways);
}

fn pools(pools: &[HugePages]) -> String {
    let one = |pool: &HugePages| {
        format!(" {} × {}", pool.count, value(pool.page_bytes as f64, Unit::Bytes, hostmark_model::Lang::En))
    };
    pools.iter().map(one).collect()
}

pub(super) fn devices(report: &HostReport, block: &mut Block) {
    let host = &report.host;
    block.title("Storage and network", "存储与网络", "");
    for directory in &host.storage.directories {
        let (en, zh) = match directory.purpose {
            Purpose::Scratch => ("scratch", "临时目录"),
            Purpose::Data => ("runs", "运行目录"),
        };
        block.row(en, zh, &place(directory, block));
    }
    let devices = host.storage.devices.iter().map(|device| {
        let mut words = vec![format!("{} {}", device.name, value(device.size_bytes as f64, Unit::Bytes, block.lang))];
        words.extend(device.model.clone());
        words.extend(rotation(&device.name, device.rotational, block));
        words.extend(device.scheduler.clone());
        words.join(", ")
    });
    let devices: Vec<String> = devices.collect();
    block.row("disks", "磁盘", &few(block, devices));
    let links: Vec<String> = host.network.iter().map(|link| interface(link, block)).collect();
    block.row("network", "网络", &few(block, links));
    block.row("loopback", "环回接口", &loopback(&host.loopback, block));
}

fn loopback(lo: &LoopbackFacts, block: &Block) -> Vec<String> {
    let mut words: Vec<String> = lo.mtu_bytes.map(|mtu| format!("MTU {mtu}")).into_iter().collect();
    words.extend(lo.queue.as_ref().map(queue_text));
    match lo.filter_rules {
        Some(0) => words.push(block.say("no packet-filter rules", "无包过滤规则").to_owned()),
        Some(rules) if block.lang == hostmark_model::Lang::Zh => words.push(format!("{rules} 条包过滤规则")),
        Some(rules) => words.push(counted(rules, "packet-filter rule")),
        None if lo.is_unknown() => {}
        None => words.push(block.say("packet-filter rules unknown", "包过滤规则未知").to_owned()),
    }
    words.extend(lo.programs.iter().flatten().cloned());
    words
}

/// Virtual disks do not say what they are, and the kernel takes silence for rotation.
fn rotation(name: &str, rotational: Option<bool>, block: &Block) -> Option<String> {
    let is_virtual = name.starts_with("vd") || name.starts_with("xvd");
    let word = match rotational? {
        true if is_virtual => block.say("virtual", "虚拟"),
        true => block.say("rotational", "旋转"),
        false => block.say("non-rotational", "非旋转"),
    };
    Some(word.to_owned())
}

/// The first ones, and how many more there are.
fn few(block: &Block, mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(MOST_DEVICES);
    if more > 0 {
        all.truncate(MOST_DEVICES);
        all.push(if block.lang == hostmark_model::Lang::Zh {
            format!("另有 {more} 个")
        } else {
            format!("{more} more")
        });
    }
    all
}

fn place(directory: &DirectoryFact, block: &Block) -> Vec<String> {
    let mut facts = vec![directory.path.clone()];
    if let (Some(filesystem), Some(device)) = (&directory.filesystem, &directory.device) {
        facts.push(if filesystem == device { filesystem.clone() } else { format!("{filesystem} {device}") });
    }
    // The mount names its own device.
    if directory.stack.len() > 2 || directory.filesystem.as_deref() == Some("overlay") {
        facts.push(directory.stack.join(block.say(" on ", " ← ")));
    }
    facts.extend(
        directory
            .available_bytes
            .map(|room| format!("{} {}", value(room as f64, Unit::Bytes, block.lang), block.say("free", "空闲"))),
    );
    let options: Vec<&str> = directory.options.iter().take(MOST_OPTIONS).map(String::as_str).collect();
    facts.push(options.join(",") + if directory.options.len() > MOST_OPTIONS { ",…" } else { "" });
    facts
}

fn interface(link: &NetworkInterface, block: &Block) -> String {
    let mut words = vec![link.name.clone()];
    words.extend(link.driver.clone());
    words.extend(link.bits_per_s.map(|rate| match rate {
        rate if rate >= 1_000_000_000 => format!("{} Gbit/s", number(rate as f64 / 1e9)),
        rate => format!("{} Mbit/s", number(rate as f64 / 1e6)),
    }));
    words.extend(link.mtu_bytes.map(|mtu| format!("MTU {mtu}")));
    let state = link.state.as_deref().map(|state| match state {
        "up" => block.say("up", "已连接").to_owned(),
        "down" => block.say("down", "未连接").to_owned(),
        "unknown" => String::new(),
        other => other.to_owned(),
    });
    words.extend(state.filter(|state| !state.is_empty()));
    words.join(" ")
}
