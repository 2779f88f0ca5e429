//! The facts of a host, a table for each part of it.

use std::collections::BTreeMap;

use hostmark_analysis::findings::host::tracer;
use hostmark_analysis::format::{amount, number, percent, value};
use hostmark_analysis::network::queue_text;
use hostmark_analysis::typography::{COLON, COMMA};
use hostmark_model::{
    Audit, CacheKind, CoreKindFact, DirectoryFact, HostReport, HugePages, Lang, LoopbackFacts, Message,
    NetworkInterface, NodeFact, Purpose, Resource, Sight, Text, Unit,
};
use hostmark_say::say;

use crate::document::{Cell, Row, Table, TableLayout};

/// A label in front of facts a row; what nobody tells has no facts.
pub(crate) fn facts(report: &HostReport) -> Vec<Table> {
    let parts = [cpu, memory, kernel, limits, devices];
    parts.into_iter().map(|part| part(report).0).collect()
}

/// A table while it is filled.
struct Block(Table);

impl Block {
    fn new(title: Text, remark: &str) -> Block {
        let (title, caption) = (title.into(), remark.into());
        Block(Table { title, caption, layout: TableLayout::Labels, ..Table::default() })
    }

    /// Adds a row. A fact without words is none.
    fn row(&mut self, label: Text, facts: impl IntoIterator<Item = Message>) {
        let facts = facts.into_iter().filter(|fact| !fact.is_empty());
        let facts = Cell { lines: facts.collect(), ..Cell::default() };
        self.0.rows.push(Row { cells: vec![Message::from(label).into(), facts], ..Row::default() });
    }
}

/// A fact with a space before its value: `turbo on`.
fn fact(name: Text, value: impl Into<Message>) -> Message {
    Message::joined([name.into(), value.into()], " ")
}

const fn switch(is_on: bool) -> Text {
    if is_on { term!("on") } else { term!("off") }
}

/// A list of ids as the kernel writes it: `0-3,8`.
pub(crate) fn id_list(ids: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for id in ids {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*id) => *last = *id,
            _ => parts.push((*id, *id)),
        }
    }
    let part =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// More devices would bury the rest; the file has all of them.
const MOST_DEVICES: usize = 8;
/// Mount options up to here; the first ones say most.
const MOST_OPTIONS: usize = 6;

fn cpu(report: &HostReport) -> Block {
    let (host, cpu) = (&report.host, &report.host.cpu);
    let mut block = Block::new(Text::name("CPU"), &host.hostname);
    block.row(term!("model"), [cpu.named_model().unwrap_or_default().into(), Message::plain(&cpu.architecture)]);
    let online: Vec<usize> = host.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let usable = host.usable_cpus();
    let mut counts = Vec::new();
    if !online.is_empty() {
        counts.push(say!("{count} online ({cpus})", count = online.len(), cpus = id_list(&online)));
        if usable != online {
            counts.push(say!("{count} usable ({cpus})", count = usable.len(), cpus = id_list(&usable)));
        }
        if cpu.packages > 0 {
            counts.push(say!("{packages:package}", packages = cpu.packages));
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
    let limits = host.cpus.iter().filter_map(|cpu| cpu.limit_hz);
    let limit = limits.min_by(f64::total_cmp).map(|limit| amount(limit, Unit::Hertz));
    clock.extend(limit.map(|limit| say!("limited to {limit} (scaling_max_freq)")));
    clock.extend(cpu.governor.as_ref().map(|name| say!("governor {name}")));
    clock.extend(cpu.frequency_driver.as_ref().map(|name| say!("driver {name}")));
    clock.extend(cpu.turbo.map(|is_on| fact(term!("turbo"), switch(is_on))));
    if clock.is_empty() {
        clock.push(term!("not visible from here").into());
    }
    block.row(term!("frequency"), clock);
    block.row(term!("core kinds"), cpu.kinds.iter().map(of_kind));
    let kept = [("isolcpus", &cpu.isolated), ("nohz_full", &cpu.tickless), ("rcu_nocbs", &cpu.callback_free)];
    let kept = kept.iter().filter_map(|(name, ids)| {
        ids.as_ref().filter(|ids| !ids.is_empty()).map(|ids| format!("{name} {}", id_list(ids)).into())
    });
    block.row(term!("kept apart"), kept);
    let mut firmware: Vec<Message> = cpu.microcode.iter().map(|code| say!("microcode {code}")).collect();
    let maker = [&host.firmware.vendor, &host.firmware.product].map(|part| part.clone().unwrap_or_default()).join(" ");
    firmware.push(maker.trim().into());
    firmware.extend(host.firmware.bios_version.as_ref().map(|version| {
        let date = host.firmware.bios_date.as_ref().map(|date| format!(" ({date})")).unwrap_or_default();
        say!("firmware {version}{date}")
    }));
    block.row(term!("machine"), firmware);
    block
}

fn up_to(hz: f64) -> Message {
    say!("up to {clock}", clock = amount(hz, Unit::Hertz))
}

/// `performance 0-15: up to 5.70 GHz, governor performance`, with the limit where one is set below that.
fn of_kind(kind: &CoreKindFact) -> Message {
    let limit = kind.limit_hz.filter(|&limit| kind.max_hz.is_none_or(|most| limit < most));
    let parts = [
        kind.max_hz.map(up_to),
        limit.map(|limit| say!("limited to {clock}", clock = amount(limit, Unit::Hertz))),
        kind.governor.as_ref().map(|name| say!("governor {name}")),
    ];
    let parts: Vec<Message> = parts.into_iter().flatten().collect();
    let name = match kind.name.as_str() {
        "performance" => Message::from(term!("performance")),
        "efficiency" => term!("efficiency").into(),
        "low_power" => term!("low power").into(),
        other => other.into(),
    };
    let cpus = Message::joined([name, id_list(&kind.cpus).into()], " ");
    Message::joined([cpus, Message::joined(parts, COMMA)], COLON)
}

/// `L2 1 MiB × 2`: each kind of cache once, with its number.
fn caches(report: &HostReport) -> Vec<Message> {
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
        let times = if *count > 1 { format!("× {count}") } else { String::new() };
        let size = match *size {
            0 => term!("of untold size").into(),
            bytes => amount(bytes as f64, Unit::Bytes),
        };
        Message::joined([format!("L{level}{letter}").into(), size, times.into()], " ")
    };
    counts.iter().map(name).collect()
}

fn bytes(count: u64) -> String {
    value(count as f64, Unit::Bytes, Lang::En)
}

fn memory(report: &HostReport) -> Block {
    let (host, memory) = (&report.host, &report.host.memory);
    let mut block = Block::new(term!("Memory"), "");
    let mut size = Vec::new();
    if memory.total_bytes > 0 {
        size.push(bytes(memory.total_bytes).into());
        size.push(say!("{size} available", size = bytes(memory.available_bytes)));
        size.push(match memory.swap_total_bytes {
            0 => term!("no swap").into(),
            total => say!("swap {total}, {used} used", total = bytes(total), used = bytes(memory.swap_used_bytes)),
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
        format!("{count} × {} {kind}{rate}", bytes(*size)).into()
    };
    block.row(term!("modules"), kinds.iter().map(module));
    let node = |node: &NodeFact| {
        let cpus = if node.cpus.is_empty() { "–".to_owned() } else { id_list(&node.cpus) };
        format!("{}: {}, CPU {cpus}{}", node.id, bytes(node.memory_bytes), pools(&node.huge_pages)).into()
    };
    block.row(term!("nodes"), host.nodes.iter().map(node));
    let mut pages = Vec::new();
    if memory.page_bytes > 0 {
        pages.push(say!("base {size}", size = bytes(memory.page_bytes)));
    }
    pages.extend(memory.pmd_page_bytes.map(|size| say!("huge {size}", size = bytes(size))));
    pages.extend(memory.transparent_huge_pages.as_ref().map(|mode| format!("THP {mode}").into()));
    pages.extend(memory.transparent_huge_page_defrag.as_ref().map(|mode| format!("defrag {mode}").into()));
    pages.extend(memory.huge_pages.as_ref().map(|all| match all.is_empty() {
        true => term!("none reserved").into(),
        false => say!("reserved{pools}", pools = pools(all)),
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
    ways.extend(plain.iter().filter_map(|(name, mode)| Some(fact(*name, Message::plain((*mode)?.to_string())))));
    block.row(term!("policies"), ways);
    block
}

fn pools(pools: &[HugePages]) -> String {
    pools.iter().map(|pool| format!(" {} × {}", pool.count, bytes(pool.page_bytes))).collect()
}

fn devices(report: &HostReport) -> Block {
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
        let mut words = vec![Message::joined([Message::plain(&device.name), size], " ")];
        words.extend(device.model.as_ref().map(Message::plain));
        words.extend(device.rotational.map(|rotational| rotation(&device.name, rotational).into()));
        words.extend(device.scheduler.as_ref().map(Message::plain));
        Message::joined(words, Text::name(", "))
    });
    block.row(term!("disks"), few(devices.collect()));
    block.row(term!("network"), few(host.network.iter().map(interface).collect()));
    block.row(term!("loopback"), loopback(&host.loopback));
    block
}

fn loopback(lo: &LoopbackFacts) -> Vec<Message> {
    let mut words: Vec<Message> = lo.mtu_bytes.map(|mtu| format!("MTU {mtu}").into()).into_iter().collect();
    words.extend(lo.queue.as_ref().map(|queue| queue_text(queue).into()));
    match lo.filter_rules {
        Some(0) => words.push(term!("no packet-filter rules").into()),
        Some(1) => words.push(say!("{rules} packet-filter rule", rules = 1)),
        Some(rules) => words.push(say!("{rules} packet-filter rules")),
        None if lo.is_unknown() => {}
        None => words.push(term!("packet-filter rules unknown").into()),
    }
    let buffers = ["tcp_rmem", "tcp_wmem"].into_iter().filter_map(|name| Some((name, lo.sysctls.get(name)?)));
    words.extend(buffers.map(|(name, sizes)| Message::plain(format_args!("{name} {sizes}"))));
    words.extend(lo.programs.iter().flatten().map(Message::plain));
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
fn few(mut all: Vec<Message>) -> Vec<Message> {
    let more = all.len().saturating_sub(MOST_DEVICES);
    if more > 0 {
        all.truncate(MOST_DEVICES);
        all.push(say!("{devices} more", devices = more));
    }
    all
}

fn place(directory: &DirectoryFact) -> Vec<Message> {
    let mut facts = vec![Message::plain(&directory.path)];
    if let (Some(filesystem), Some(device)) = (&directory.filesystem, &directory.device) {
        facts.push(Message::plain(if filesystem == device {
            filesystem.clone()
        } else {
            format!("{filesystem} {device}")
        }));
    }
    // The mount names its own device.
    if directory.stack.len() > 2 || directory.filesystem.as_deref() == Some("overlay") {
        let stack: Vec<Message> = directory.stack.iter().map(Message::plain).collect();
        facts.push(Message::joined(stack, Text { en: " on ", zh: " ← " }));
    }
    facts.extend(directory.available_bytes.map(|room| say!("{room} free", room = amount(room as f64, Unit::Bytes))));
    let options: Vec<&str> = directory.options.iter().take(MOST_OPTIONS).map(String::as_str).collect();
    facts.push(Message::plain(options.join(",") + if directory.options.len() > MOST_OPTIONS { ",…" } else { "" }));
    facts
}

fn interface(link: &NetworkInterface) -> Message {
    let mut words = vec![Message::plain(&link.name)];
    words.extend(link.driver.as_ref().map(Message::plain));
    words.extend(link.bits_per_s.map(|rate| match rate {
        rate if rate >= 1_000_000_000 => format!("{} Gbit/s", number(rate as f64 / 1e9)).into(),
        rate => format!("{} Mbit/s", number(rate as f64 / 1e6)).into(),
    }));
    words.extend(link.mtu_bytes.map(|mtu| format!("MTU {mtu}").into()));
    words.extend(link.state.as_deref().map(|state| match state {
        "up" => term!("up").into(),
        "down" => term!("down").into(),
        "unknown" => Message::default(),
        other => other.into(),
    }));
    Message::joined(words, Text::name(" "))
}

fn kernel(report: &HostReport) -> Block {
    let (kernel, activity) = (&report.host.kernel, &report.host.activity);
    let mut block = Block::new(term!("Kernel"), "");
    block.row(term!("release"), [kernel.named().unwrap_or_default().into(), Message::plain(&kernel.version)]);
    block.row(term!("command line"), kernel.command_line.as_ref().map(Message::plain));
    let others = kernel.clock_sources.iter().map(String::as_str);
    let others: Vec<&str> = others.filter(|name| Some(*name) != kernel.clock_source.as_deref()).collect();
    let others = (!others.is_empty()).then(|| {
        let others = say!("also available: {others}", others = others.join(" "));
        say!("({others})")
    });
    block.row(term!("clock source"), kernel.clock_source.as_ref().map(Message::plain).into_iter().chain(others));
    let [mitigated, vulnerable, safe] =
        ["Mitigation", "Vulnerable", "Not affected"].map(|status| by_status(report, status));
    let mut lines = Vec::new();
    if !mitigated.is_empty() {
        lines.push(say!("mitigated: {names}", names = mitigated.join(" ")));
    }
    if !vulnerable.is_empty() {
        lines.push(say!("vulnerable: {names}", names = vulnerable.join(" ")));
    }
    if !safe.is_empty() {
        lines.push(say!("not affected by {count}", count = safe.len()));
    }
    block.row(term!("mitigations"), lines);
    let mut permits = Vec::new();
    permits.extend(kernel.perf_event_paranoid.map(|level| format!("perf_event_paranoid {level}").into()));
    permits.extend(kernel.io_uring_disabled.map(|level| format!("io_uring_disabled {level}").into()));
    block.row(term!("permits"), permits);
    let audit = kernel.audit.map(|audit| match audit {
        Audit::Off => term!("off"),
        Audit::Exempt => term!("on, all processes exempt"),
        Audit::On => term!("on: every system call pays for it"),
        Audit::Untold => term!("unknown without CAP_AUDIT_CONTROL outside of containers"),
    });
    let rules = kernel.audit_rules.filter(|rules| *rules > 0).map(|rules| say!("{rules:rule}"));
    block.row(term!("audit"), audit.map(Message::from).into_iter().chain(rules));
    let mut load = Vec::new();
    load.extend(activity.uptime_s.map(|seconds| match seconds / 3600.0 {
        hours if hours >= 48.0 => say!("up {days:.0} d", days = hours / 24.0),
        hours => say!("up {hours:.1} h"),
    }));
    let loads = report.disturbed.load.or(activity.load);
    load.extend(loads.map(|load| say!("load {averages}", averages = load.map(|load| format!("{load:.2}")).join(" "))));
    let waits = activity.pressure.iter().filter(|(_, pressure)| pressure.some > 0.0);
    let waits: Vec<String> = waits.map(|(name, pressure)| format!("{name} {}", percent(pressure.some))).collect();
    if !activity.pressure.is_empty() {
        let waits = if waits.is_empty() { Message::from(term!("none")) } else { Message::plain(waits.join(", ")) };
        load.push(fact(term!("pressure"), waits));
    }
    block.row(term!("activity"), load);
    block
}

/// The names of the vulnerabilities of which the kernel's word begins so.
fn by_status<'a>(report: &'a HostReport, start: &str) -> Vec<&'a str> {
    let all = report.host.kernel.vulnerabilities.iter();
    all.filter(|(_, status)| status.starts_with(start)).map(|(name, _)| name.as_str()).collect()
}

fn limits(report: &HostReport) -> Block {
    let (host, around) = (&report.host, &report.host.virtualization);
    let mut block = Block::new(term!("Virtualization and limits"), "");
    let guest = match &around.hypervisor {
        Some(name) => say!("{name} guest"),
        None => term!("no hypervisor seen").into(),
    };
    let container = match &around.container {
        Some(name) => say!("in a {name} container"),
        None if around.container_unknown => term!("container unknown without /proc").into(),
        None => term!("no container").into(),
    };
    block.row(term!("runs in"), [guest, container]);
    let mut gives: Vec<Message> = around.extension.iter().map(Message::plain).collect();
    let reported = [
        (term!("nested paging"), around.nested_paging),
        (term!("tagged TLB"), around.tagged_tlb),
        (term!("guests of guests"), around.nested_guests),
        (term!("access to /dev/kvm"), around.kvm_permitted),
    ];
    for (what, has) in reported {
        gives.extend(has.map(|has| fact(what, if has { term!("yes") } else { term!("no") })));
    }
    if gives.is_empty() {
        gives.push(term!("none visible").into());
    }
    block.row(term!("extensions"), gives);
    let usable = host.usable_cpus().len();
    let [cpu, memory] = [Resource::Cpu, Resource::Memory].map(|resource| host.limits.sight(resource));
    let quota = match (host.limits.cpu_quota, cpu) {
        (Some(quota), _) => say!("CPU quota {quota} of {usable}", quota = number(quota)),
        (None, Sight::Nothing) => term!("CPU quota unknown").into(),
        (None, Sight::NotAbove) => term!("no CPU quota in the visible groups").into(),
        (None, Sight::Whole) => term!("no CPU quota").into(),
    };
    let limit = match (host.limits.memory_limit_bytes.map(bytes), memory) {
        (Some(limit), _) => match host.limits.memory_used_bytes.map(bytes) {
            Some(used) => say!("memory limit {limit}, {used} used"),
            None => say!("memory limit {limit}"),
        },
        (None, Sight::Nothing) => term!("memory limit unknown").into(),
        (None, Sight::NotAbove) => term!("no memory limit in the visible groups").into(),
        (None, Sight::Whole) => term!("no memory limit").into(),
    };
    let mut may = vec![quota, limit];
    let unseen = host.limits.unseen_groups().into_iter();
    may.extend(unseen.map(|group| say!("in group {group}, whose limits cannot be seen")));
    may.extend(host.limits.cgroup_version.map(|version| format!("cgroup v{version}").into()));
    let set = host.limits.group_settings.values().filter(|set| *set != "default");
    may.extend(set.map(Message::plain));
    may.extend(host.limits.seccomp.as_ref().map(|mode| format!("seccomp {mode}").into()));
    may.push(Message::from(match host.limits.is_root {
        Some(true) => Text::name("root"),
        Some(false) => term!("not root"),
        None => term!("user unknown"),
    }));
    block.row(term!("limits"), may);
    process(report, &mut block);
    block
}

/// Bytes of message queues that a user may have unless somebody says otherwise (MQ_BYTES_MAX).
const USUAL_QUEUES_BYTES: &str = "819200";

/// Scheduling of this process; defaults are left out, but for its class.
fn process(report: &HostReport, block: &mut Block) {
    let process = &report.host.process;
    let mut scheduling: Vec<Message> = process.policy.iter().map(Message::plain).collect();
    scheduling.extend(process.nice.map(|nice| format!("nice {nice}").into()));
    let priority = process.priority.filter(|priority| *priority > 0);
    scheduling.extend(priority.map(|priority| say!("priority {priority}")));
    scheduling.extend(process.uclamp_min.map(|clamp| format!("uclamp.min {clamp}").into()));
    scheduling.extend(process.uclamp_max.map(|clamp| format!("uclamp.max {clamp}").into()));
    let host = &report.host;
    if host.cpus.iter().any(|cpu| cpu.online && !cpu.allowed) {
        scheduling.push(say!("CPUs {list}", list = id_list(&host.usable_cpus())));
    }
    if scheduling.is_empty() {
        scheduling.push(term!("unknown").into());
    }
    block.row(term!("scheduling"), scheduling);
    let mut marks: Vec<Message> = Vec::new();
    marks.extend(tracer(host).map(|tracer| say!("traced by {tracer}")));
    if process.no_new_privs == Some(true) {
        marks.push("no_new_privs".into());
    }
    if host.memory.transparent_huge_pages_forbidden == Some(true) {
        marks.push(term!("huge pages forbidden (prctl)").into());
    }
    for (name, value) in &process.attributes {
        marks.push(match name.as_str() {
            "tracer" | "memory_nodes" | "indirect_branch" => continue,
            _ if ["", "0", "00000000", "default", "none", "off"].contains(&value.as_str()) => continue,
            "timer_slack_ns" => match value.parse() {
                Ok(ns) => say!("timer slack {slack}", slack = amount(ns, Unit::Nanoseconds)),
                Err(_) => continue,
            },
            name => Message::plain(format_args!("{name} {value}")),
        });
    }
    let is_usual = |bound: &str| ["unlimited", USUAL_QUEUES_BYTES].contains(&bound);
    let bounded = process.resource_limits.iter().filter(|(_, bound)| !is_usual(bound));
    marks.extend(bounded.map(|(name, bound)| format!("{name} {bound}").into()));
    block.row(term!("process"), marks);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_the_kernel_writes_them() {
        assert_eq!(id_list(&[0, 1, 2, 4, 6, 7]), "0-2,4,6-7");
        assert_eq!(id_list(&[usize::MAX, usize::MAX]), format!("{0},{0}", usize::MAX));
        assert_eq!(id_list(&[]), "");
    }
}
