//! The blocks of what runs there: the kernel, virtualization and limits.

use hostmark_analysis::format::{number, percent, value};
use hostmark_model::{Audit, HostReport, Lang, Resource, Sight, Unit, counted};

use super::Block;

pub(super) fn kernel(report: &HostReport, block: &mut Block) {
    let (kernel, activity) = (&report.host.kernel, &report.host.activity);
    block.title("Kernel", "内核", "");
    block.row("release", "版本", &[kernel.named().unwrap_or_default(), kernel.version.clone()]);
    block.row("command line", "命令行", &kernel.command_line.clone().into_iter().collect::<Vec<_>>());
    let others: Vec<&str> = kernel
        .clock_sources
        .iter()
        .map(String::as_str)
        .filter(|name| Some(*name) != kernel.clock_source.as_deref())
        .collect();
    let mut clock: Vec<String> = kernel.clock_source.clone().into_iter().collect();
    if !others.is_empty() {
        let [others, words] = [others.join(" "), block.say("also available:", "另可选").to_owned()];
        clock.push(format!("({words} {others})"));
    }
    block.row("clock source", "时钟源", &clock);
    let is_safe = |status: &&String| status.starts_with("Not affected");
    let mitigated: Vec<&str> = by_status(report, "Mitigation");
    let vulnerable: Vec<&str> = by_status(report, "Vulnerable");
    let safe = kernel.vulnerabilities.values().filter(is_safe).count();
    let mut lines = Vec::new();
    if !mitigated.is_empty() {
        lines.push(format!("{} {}", block.say("mitigated:", "已缓解："), mitigated.join(" ")));
    }
    if !vulnerable.is_empty() {
        lines.push(format!("{} {}", block.say("vulnerable:", "未缓解："), vulnerable.join(" ")));
    }
    if safe > 0 {
        lines.push(match block.lang {
            Lang::En => format!("not affected by {safe}"),
            Lang::Zh => format!("不受影响 {safe} 项"),
        });
    }
    block.row("mitigations", "漏洞缓解", &lines);
    let mut permits = Vec::new();
    permits.extend(kernel.perf_event_paranoid.map(|level| format!("perf_event_paranoid {level}")));
    permits.extend(kernel.io_uring_disabled.map(|level| format!("io_uring_disabled {level}")));
    block.row("permits", "权限", &permits);
    let audit = kernel.audit.map(|audit| match audit {
        Audit::Off => block.say("off", "关闭"),
        Audit::Exempt => block.say("on, all processes exempt", "开启，但豁免所有进程"),
        Audit::On => block.say("on: every system call pays for it", "开启：每次系统调用都有代价"),
        Audit::Untold => block
            .say("unknown without CAP_AUDIT_CONTROL outside of containers", "未知：须在容器外并有 CAP_AUDIT_CONTROL"),
    });
    let rules = kernel.audit_rules.filter(|rules| *rules > 0).map(|rules| match block.lang {
        Lang::En => counted(rules, "rule"),
        Lang::Zh => format!("{rules} 条规则"),
    });
    block.row("audit", "审计", &audit.map(str::to_owned).into_iter().chain(rules).collect::<Vec<_>>());
    let mut load = Vec::new();
    load.extend(activity.uptime_s.map(|seconds| {
        let hours = seconds / 3600.0;
        match hours {
            h if h >= 48.0 => format!("{} {:.0} d", block.say("up", "已运行"), h / 24.0),
            h => format!("{} {h:.1} h", block.say("up", "已运行")),
        }
    }));
    let loads = report.disturbed.load.or(activity.load);
    load.extend(
        loads.map(|load| format!("{} {}", block.say("load", "负载"), load.map(|load| format!("{load:.2}")).join(" "))),
    );
    let waits = activity.pressure.iter().filter(|(_, pressure)| pressure.some > 0.0);
    let waits: Vec<String> = waits.map(|(name, pressure)| format!("{name} {}", percent(pressure.some))).collect();
    if !activity.pressure.is_empty() {
        let none = block.say("none", "无").to_owned();
        let reported = if waits.is_empty() { none } else { waits.join(", ") };
        load.push(format!("{} {reported}", block.say("pressure", "压力")));
    }
    block.row("activity", "活动", &load);
}

/// The names of the vulnerabilities of which the kernel's word begins so.
fn by_status<'a>(report: &'a HostReport, start: &str) -> Vec<&'a str> {
    let all = report.host.kernel.vulnerabilities.iter();
    all.filter(|(_, status)| status.starts_with(start)).map(|(name, _)| name.as_str()).collect()
}

pub(super) fn limits(report: &HostReport, block: &mut Block) {
    let (host, around) = (&report.host, &report.host.virtualization);
    block.title("Virtualization and limits", "虚拟化与限制", "");
    let guest = match &around.hypervisor {
        Some(name) if block.lang == Lang::Zh => format!("{name} 虚拟机"),
        Some(name) => format!("{name} guest"),
        None => block.say("no hypervisor seen", "未见虚拟机监控程序").to_owned(),
    };
    let container = match &around.container {
        Some(name) if block.lang == Lang::Zh => format!("{name} 容器"),
        Some(name) => format!("in a {name} container"),
        None if around.container_unknown => {
            block.say("container unknown without /proc", "无 /proc，是否容器未知").to_owned()
        }
        None => block.say("no container", "非容器").to_owned(),
    };
    block.row("runs in", "环境", &[guest, container]);
    let mut gives: Vec<String> = around.extension.clone().into_iter().collect();
    let reported = [
        ("nested paging", "嵌套分页", around.nested_paging),
        ("tagged TLB", "带标记 TLB", around.tagged_tlb),
        ("guests of guests", "嵌套虚拟机", around.nested_guests),
        ("access to /dev/kvm", "/dev/kvm 权限", around.kvm_permitted),
    ];
    for (en, zh, on) in reported {
        let state = on.map(|on| if on { block.say("yes", "有") } else { block.say("no", "无") });
        gives.extend(state.map(|state| format!("{} {state}", block.say(en, zh))));
    }
    if gives.is_empty() {
        gives.push(block.say("none visible", "未见").to_owned());
    }
    block.row("extensions", "虚拟化扩展", &gives);
    let usable = host.usable_cpus().len();
    let mut may = Vec::new();
    let bytes = |count: u64| value(count as f64, Unit::Bytes, Lang::En);
    let [cpu, memory] = [Resource::Cpu, Resource::Memory].map(|resource| host.limits.sight(resource));
    may.push(match (host.limits.cpu_quota, cpu) {
        (Some(quota), _) if block.lang == Lang::Zh => format!("CPU 配额 {}（可用 {usable} 个）", number(quota)),
        (Some(quota), _) => format!("CPU quota {} of {usable}", number(quota)),
        (None, Sight::Nothing) => block.say("CPU quota unknown", "CPU 配额未知").to_owned(),
        (None, Sight::NotAbove) => {
            block.say("no CPU quota in the visible groups", "可见的控制组无 CPU 配额").to_owned()
        }
        (None, Sight::Whole) => block.say("no CPU quota", "无 CPU 配额").to_owned(),
    });
    may.push(match (host.limits.memory_limit_bytes, memory) {
        (Some(limit), _) => {
            let used = host.limits.memory_used_bytes.map(|used| match block.lang {
                Lang::En => format!(", {} used", bytes(used)),
                Lang::Zh => format!("，已用 {}", bytes(used)),
            });
            format!("{} {}{}", block.say("memory limit", "内存限额"), bytes(limit), used.unwrap_or_default())
        }
        (None, Sight::Nothing) => block.say("memory limit unknown", "内存限额未知").to_owned(),
        (None, Sight::NotAbove) => {
            block.say("no memory limit in the visible groups", "可见的控制组无内存限额").to_owned()
        }
        (None, Sight::Whole) => block.say("no memory limit", "无内存限额").to_owned(),
    });
    may.extend(host.limits.unseen_groups().into_iter().map(|group| match block.lang {
        Lang::En => format!("in group {group}, whose limits cannot be seen"),
        Lang::Zh => format!("所在控制组 {group} 的限制不可见"),
    }));
    may.extend(host.limits.cgroup_version.map(|version| format!("cgroup v{version}")));
    may.extend(host.limits.seccomp.as_ref().map(|mode| format!("seccomp {mode}")));
    let user = match host.limits.is_root {
        Some(true) => "root",
        Some(false) => block.say("not root", "非 root"),
        None => block.say("user unknown", "用户未知"),
    };
    may.push(user.to_owned());
    block.row("limits", "限制", &may);
    process(report, block);
}

/// How the kernel treats this process; what is as usual of it is left out, but for its class.
fn process(report: &HostReport, block: &mut Block) {
    let process = &report.host.process;
    let mut scheduling: Vec<String> = process.policy.clone().into_iter().collect();
    scheduling.extend(process.nice.map(|nice| format!("nice {nice}")));
    let priority = process.priority.filter(|priority| *priority > 0);
    scheduling.extend(priority.map(|priority| format!("{} {priority}", block.say("priority", "优先级"))));
    scheduling.extend(process.uclamp_min.map(|clamp| format!("uclamp.min {clamp}")));
    scheduling.extend(process.uclamp_max.map(|clamp| format!("uclamp.max {clamp}")));
    let host = &report.host;
    if host.cpus.iter().any(|cpu| cpu.online && !cpu.allowed) {
        scheduling.push(format!("{} {}", block.say("CPUs", "CPU"), super::id_list(&host.usable_cpus())));
    }
    if scheduling.is_empty() {
        scheduling.push(block.say("unknown", "未知").to_owned());
    }
    block.row("scheduling", "调度", &scheduling);
    let mut marks: Vec<String> = Vec::new();
    if process.traced == Some(true) {
        marks.push(block.say("traced (ptrace)", "被跟踪（ptrace）").to_owned());
    }
    if process.no_new_privs == Some(true) {
        marks.push("no_new_privs".to_owned());
    }
    if host.memory.transparent_huge_pages_forbidden == Some(true) {
        marks.push(block.say("huge pages forbidden (prctl)", "大页被禁用（prctl）").to_owned());
    }
    let bounded = process.resource_limits.iter().filter(|(_, bound)| *bound != "unlimited");
    marks.extend(bounded.map(|(name, bound)| format!("{name} {bound}")));
    block.row("process", "本进程", &marks);
}
