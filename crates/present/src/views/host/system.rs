//! The blocks of what runs there: the kernel, virtualization and limits.

use hostmark_analysis::findings::host::tracer;
use hostmark_analysis::format::{amount, number, percent, value};
use hostmark_model::{Audit, HostReport, Lang, Message, Resource, Sight, Text, Unit};
use hostmark_say::say;

use super::{Block, fact, id_list};

pub(super) fn kernel(report: &HostReport) -> Block {
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

pub(super) fn limits(report: &HostReport) -> Block {
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
    let bytes = |count: u64| value(count as f64, Unit::Bytes, Lang::En);
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
            "autogroup_nice" if value == "0" => continue,
            "memory_policy" if value == "default" => continue,
            "personality" if value.bytes().all(|byte| byte == b'0') => continue,
            "timer_slack_ns" => match value.parse() {
                Ok(ns) => say!("timer slack {slack}", slack = amount(ns, Unit::Nanoseconds)),
                Err(_) => continue,
            },
            name => Message::plain(format_args!("{name} {value}")),
        });
    }
    let bounded = process.resource_limits.iter().filter(|(_, bound)| *bound != "unlimited");
    marks.extend(bounded.map(|(name, bound)| format!("{name} {bound}").into()));
    block.row(term!("process"), marks);
}
