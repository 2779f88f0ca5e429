//! The blocks of what runs there: the kernel, virtualization and limits.

use hostmark_analysis::bilingual::{Words, each, fixed, same};
use hostmark_analysis::format::{number, percent, value};
use hostmark_model::{Audit, HostReport, Lang, Resource, Sight, Text, Unit};

use super::{Block, fact, id_list};
use crate::words::said;

pub(super) fn kernel(report: &HostReport) -> Block {
    let (kernel, activity) = (&report.host.kernel, &report.host.activity);
    let mut block = Block::new(term!("Kernel"), "");
    block.row(term!("release"), [same(kernel.named().unwrap_or_default()), same(&kernel.version)]);
    block.row(term!("command line"), kernel.command_line.as_ref().map(same));
    let others = kernel.clock_sources.iter().map(String::as_str);
    let others: Vec<&str> = others.filter(|name| Some(*name) != kernel.clock_source.as_deref()).collect();
    let others = (!others.is_empty()).then(|| {
        let others = said!("also available: {others}", others = others.join(" "));
        each(|lang| format!("({})", others.get(lang)))
    });
    block.row(term!("clock source"), kernel.clock_source.as_ref().map(same).into_iter().chain(others));
    let [mitigated, vulnerable, safe] =
        ["Mitigation", "Vulnerable", "Not affected"].map(|status| by_status(report, status));
    let mut lines = Vec::new();
    if !mitigated.is_empty() {
        lines.push(said!("mitigated: {names}", names = mitigated.join(" ")));
    }
    if !vulnerable.is_empty() {
        lines.push(said!("vulnerable: {names}", names = vulnerable.join(" ")));
    }
    if !safe.is_empty() {
        lines.push(said!("not affected by {count}", count = safe.len()));
    }
    block.row(term!("mitigations"), lines);
    let mut permits = Vec::new();
    permits.extend(kernel.perf_event_paranoid.map(|level| same(format!("perf_event_paranoid {level}"))));
    permits.extend(kernel.io_uring_disabled.map(|level| same(format!("io_uring_disabled {level}"))));
    block.row(term!("permits"), permits);
    let audit = kernel.audit.map(|audit| match audit {
        Audit::Off => term!("off"),
        Audit::Exempt => term!("on, all processes exempt"),
        Audit::On => term!("on: every system call pays for it"),
        Audit::Untold => term!("unknown without CAP_AUDIT_CONTROL outside of containers"),
    });
    let rules = kernel.audit_rules.filter(|rules| *rules > 0).map(|rules| said!("{rules:rule}"));
    block.row(term!("audit"), audit.map(fixed).into_iter().chain(rules));
    let mut load = Vec::new();
    load.extend(activity.uptime_s.map(|seconds| match seconds / 3600.0 {
        hours if hours >= 48.0 => said!("up {days:.0} d", days = hours / 24.0),
        hours => said!("up {hours:.1} h"),
    }));
    let loads = report.disturbed.load.or(activity.load);
    load.extend(loads.map(|load| said!("load {averages}", averages = load.map(|load| format!("{load:.2}")).join(" "))));
    let waits = activity.pressure.iter().filter(|(_, pressure)| pressure.some > 0.0);
    let waits: Vec<String> = waits.map(|(name, pressure)| format!("{name} {}", percent(pressure.some))).collect();
    if !activity.pressure.is_empty() {
        let waits = if waits.is_empty() { fixed(term!("none")) } else { same(waits.join(", ")) };
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

pub(super) fn limits(report: &HostReport) -> Block {
    let (host, around) = (&report.host, &report.host.virtualization);
    let mut block = Block::new(term!("Virtualization and limits"), "");
    let guest = match &around.hypervisor {
        Some(name) => said!("{name} guest"),
        None => fixed(term!("no hypervisor seen")),
    };
    let container = match &around.container {
        Some(name) => said!("in a {name} container"),
        None if around.container_unknown => fixed(term!("container unknown without /proc")),
        None => fixed(term!("no container")),
    };
    block.row(term!("runs in"), [guest, container]);
    let mut gives: Vec<Words> = around.extension.iter().map(same).collect();
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
        gives.push(fixed(term!("none visible")));
    }
    block.row(term!("extensions"), gives);
    let usable = host.usable_cpus().len();
    let bytes = |count: u64| value(count as f64, Unit::Bytes, Lang::En);
    let [cpu, memory] = [Resource::Cpu, Resource::Memory].map(|resource| host.limits.sight(resource));
    let quota = match (host.limits.cpu_quota, cpu) {
        (Some(quota), _) => said!("CPU quota {quota} of {usable}", quota = number(quota)),
        (None, Sight::Nothing) => fixed(term!("CPU quota unknown")),
        (None, Sight::NotAbove) => fixed(term!("no CPU quota in the visible groups")),
        (None, Sight::Whole) => fixed(term!("no CPU quota")),
    };
    let limit = match (host.limits.memory_limit_bytes.map(bytes), memory) {
        (Some(limit), _) => match host.limits.memory_used_bytes.map(bytes) {
            Some(used) => said!("memory limit {limit}, {used} used"),
            None => said!("memory limit {limit}"),
        },
        (None, Sight::Nothing) => fixed(term!("memory limit unknown")),
        (None, Sight::NotAbove) => fixed(term!("no memory limit in the visible groups")),
        (None, Sight::Whole) => fixed(term!("no memory limit")),
    };
    let mut may = vec![quota, limit];
    let unseen = host.limits.unseen_groups().into_iter();
    may.extend(unseen.map(|group| said!("in group {group}, whose limits cannot be seen")));
    may.extend(host.limits.cgroup_version.map(|version| same(format!("cgroup v{version}"))));
    may.extend(host.limits.seccomp.as_ref().map(|mode| same(format!("seccomp {mode}"))));
    may.push(fixed(match host.limits.is_root {
        Some(true) => Text::name("root"),
        Some(false) => term!("not root"),
        None => term!("user unknown"),
    }));
    block.row(term!("limits"), may);
    process(report, &mut block);
    block
}

/// How the kernel treats this process; what is as usual of it is left out, but for its class.
fn process(report: &HostReport, block: &mut Block) {
    let process = &report.host.process;
    let mut scheduling: Vec<Words> = process.policy.iter().map(same).collect();
    scheduling.extend(process.nice.map(|nice| same(format!("nice {nice}"))));
    let priority = process.priority.filter(|priority| *priority > 0);
    scheduling.extend(priority.map(|priority| said!("priority {priority}")));
    scheduling.extend(process.uclamp_min.map(|clamp| same(format!("uclamp.min {clamp}"))));
    scheduling.extend(process.uclamp_max.map(|clamp| same(format!("uclamp.max {clamp}"))));
    let host = &report.host;
    if host.cpus.iter().any(|cpu| cpu.online && !cpu.allowed) {
        scheduling.push(said!("CPUs {list}", list = id_list(&host.usable_cpus())));
    }
    if scheduling.is_empty() {
        scheduling.push(fixed(term!("unknown")));
    }
    block.row(term!("scheduling"), scheduling);
    let mut marks: Vec<Words> = Vec::new();
    if process.traced == Some(true) {
        marks.push(fixed(term!("traced (ptrace)")));
    }
    if process.no_new_privs == Some(true) {
        marks.push(same("no_new_privs"));
    }
    if host.memory.transparent_huge_pages_forbidden == Some(true) {
        marks.push(fixed(term!("huge pages forbidden (prctl)")));
    }
    let bounded = process.resource_limits.iter().filter(|(_, bound)| *bound != "unlimited");
    marks.extend(bounded.map(|(name, bound)| same(format!("{name} {bound}"))));
    block.row(term!("process"), marks);
}
