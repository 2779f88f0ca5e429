//! The page of a host keeps its width in both languages, and each effect and each cure its line.

use hostmark_analysis::findings::host::{host_findings, host_report};
use hostmark_model::{DirectoryFact, Disturbed, HostFacts, HugePages, Lang, Purpose, QueueingDiscipline, Sight};
use hostmark_present::RenderOptions;
use hostmark_present::render::host::host as page;
use unicode_width::UnicodeWidthStr;

use crate::machines;
use crate::machines::Tree;
use crate::noise::everything;

/// Machines of all kinds, one with control characters wherever a file may have some.
fn all() -> Vec<HostFacts> {
    let mut all: Vec<HostFacts> = [
        machines::small_guest(),
        machines::two_sockets(),
        machines::chiplets(),
        machines::arm_server(),
        machines::small_container(),
        machines::one_cpu(),
        machines::large_server(),
        machines::hybrid(),
        Tree::new(),
    ]
    .iter()
    .map(Tree::facts)
    .collect();
    let no_sys = machines::small_guest();
    no_sys.remove("/sys");
    all.push(no_sys.facts());
    // Where nothing can be written: by the mount, and by the user's rights.
    for (option, writable) in [("ro", None), ("rw", Some(false))] {
        let mut host = machines::small_guest().facts();
        let directory = |purpose| DirectoryFact {
            purpose,
            path: "/srv".into(),
            options: vec![option.into()],
            writable,
            ..Default::default()
        };
        host.storage.directories = [Purpose::Scratch, Purpose::Data].map(directory).to_vec();
        all.push(host);
    }
    // Where little can be seen.
    for sight in [Sight::NotAbove, Sight::Nothing] {
        let mut host = machines::small_guest().facts();
        for group in &mut host.limits.groups {
            (group.path, group.sight) = (Some("/kubepods.slice/".repeat(9)), sight);
        }
        host.loopback.queue = Some(QueueingDiscipline { kind: "noqueue".into(), ..Default::default() });
        all.push(host);
    }
    for policy in ["SCHED_BATCH", "SCHED_DEADLINE"] {
        let mut host = machines::small_guest().facts();
        host.process.policy = Some(policy.into());
        all.push(host);
    }
    all.push(hostile());
    all
}

/// Every rule has something to say of this machine, and its texts would steer a terminal.
fn hostile() -> HostFacts {
    let bad = "\u{1b}[2J\u{7}\u{202e}\nlong words ".repeat(12);
    let tree = machines::two_sockets();
    tree.file("/proc/cmdline", &bad)
        .file("/proc/sys/kernel/hostname", &bad)
        .file("/proc/self/status", "Uid:\t1000\t1000\t0\t0\nCpus_allowed_list:\t0-511\nSeccomp:\t2\n")
        .file("/proc/sys/kernel/perf_event_paranoid", "4\n")
        .file("/proc/sys/kernel/numa_balancing", "1\n")
        .file("/sys/kernel/mm/ksm/run", "1\n")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
        .file("/sys/devices/system/cpu/cpufreq/boost", "1\n")
        .file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hyperv_clocksource_tsc_page\n");
    for (name, status) in [
        ("meltdown", "PTI"),
        ("spec_rstack_overflow", "Safe RET"),
        ("reg_file_data_sampling", "Clear Register File"),
        ("spectre_v2", "Retpolines; BHI: SW loop"),
    ] {
        tree.file(&format!("/sys/devices/system/cpu/vulnerabilities/{name}"), format!("Mitigation: {status}\n"));
    }
    let mut host = tree.facts();
    host.virtualization.hypervisor = Some(bad.clone());
    host.virtualization.container = Some(bad.clone());
    host.process.policy = Some("SCHED_IDLE".into());
    (host.process.traced, host.process.uclamp_max) = (Some(true), Some(512));
    host.process.resource_limits = [(bad.clone(), bad.clone())].into();
    let attributes = [
        ("timer_slack_ns", "5000000"),
        ("store_bypass", "thread force mitigated"),
        ("tracer", &bad),
        ("io_priority", "idle"),
    ];
    host.process.attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    host.limits.group_settings = [("io.limit".into(), "io.max 8:0 rbps=max wiops=50".into())].into();
    host.loopback.sysctls = [("tcp_wmem".into(), bad.clone())].into();
    (host.cpus[0].max_hz, host.cpus[0].limit_hz) = (Some(3.9e9), Some(1.6e9));
    host.memory.transparent_huge_pages_forbidden = Some(true);
    host.loopback.filter_rules = Some(u64::MAX);
    host.loopback.queue = Some(QueueingDiscipline { kind: bad.clone(), bits_per_s: Some(1), ..Default::default() });
    (host.loopback.programs, host.loopback.mtu_bytes) = (Some(vec![bad.clone(); 3]), Some(0));
    host.memory.swap_used_bytes = 1 << 30;
    host.memory.available_bytes = 100 << 20;
    host.limits.cpu_quota = Some(0.123_456);
    host.kernel.audit = Some(hostmark_model::Audit::On);
    for directory in &mut host.storage.directories {
        (directory.path, directory.available_bytes) = (bad.clone(), Some(1));
        directory.stack = vec![bad.clone(); 3];
    }
    host
}

#[test]
fn every_machine_fits_its_width_in_both_languages_and_steers_no_terminal() {
    for (index, host) in all().into_iter().enumerate() {
        for lang in [Lang::En, Lang::Zh] {
            for width in [80, 100] {
                let report = host_report(host.clone(), everything());
                let text = page(&report, &RenderOptions { width, lang, ..RenderOptions::default() });
                assert!(text.ends_with('\n') && !text.contains("\n\n\n"), "{index}");
                assert!(text.lines().all(|line| line.width() <= width), "{index}: {text}");
                let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
                assert!(!text.contains(steers), "{index}: {text:?}");
            }
        }
    }
}

#[test]
fn an_effect_and_a_cure_are_a_line_each_on_80_columns() {
    let mut seen = std::collections::BTreeSet::new();
    let mut hosts = [all(), vec![hostile()]].concat();
    hosts.last_mut().unwrap().memory.huge_pages = Some(vec![HugePages { page_bytes: 2 << 20, count: 1 << 30 }]);
    for host in &mut hosts {
        // A name that has to be escaped grows; a real one does not.
        host.virtualization.hypervisor = host.virtualization.hypervisor.as_ref().map(|_| "microsoft".into());
        let mut live = everything();
        live.busy.as_mut().unwrap().name = "fifteen-letters".into();
        for finding in host_findings(host, &live) {
            for line in [&finding.effect.en, &finding.effect.zh] {
                assert!(line.width() <= 80 - 3, "{}: {} {line}", finding.id, line.width());
                assert!(!line.is_empty() && !line.ends_with([':', '：']), "{}: {line}", finding.id);
            }
            for line in [&finding.cure.en, &finding.cure.zh] {
                assert!(line.width() <= 80 - 5, "{}: {} {line}", finding.id, line.width());
            }
            seen.insert(finding.id);
        }
    }
    let unseen = |rule: &&&hostmark_analysis::findings::host::HostRule| !seen.contains(rule.id);
    let unseen: Vec<&str> =
        hostmark_analysis::findings::host::HOST_RULES.iter().filter(unseen).map(|rule| rule.id).collect();
    assert_eq!(unseen, Vec::<&str>::new(), "every rule was seen");
}

#[test]
fn a_page_has_five_blocks_and_what_disturbs() {
    let text = page(&host_report(machines::small_container().facts(), Disturbed::default()), &RenderOptions::default());
    let headings = [
        "CPU",
        "MEMORY",
        "KERNEL",
        "VIRTUALIZATION AND LIMITS",
        "STORAGE AND NETWORK",
        "WHAT WOULD DISTURB A MEASUREMENT   worst first",
    ];
    let found: Vec<usize> = headings
        .iter()
        .map(|heading| text.lines().position(|line| line == *heading).unwrap_or_else(|| panic!("{heading}: {text}")))
        .collect();
    assert!(found.is_sorted(), "{text}");
    assert!(text.contains("\n 1 a quota of 0.500 CPU for 2 usable"), "{text}");
    let quiet = page(&host_report(machines::chiplets().facts(), Disturbed::default()), &RenderOptions::default());
    assert!(quiet.contains("WHAT WOULD DISTURB A MEASUREMENT   nothing"), "{quiet}");
}

#[test]
fn what_nobody_can_look_for_is_unknown_and_not_absent() {
    // Marker files prove nothing where /proc does not tell whose namespaces these are.
    let marked = Tree::new();
    marked.file("/.dockerenv", "");
    let without_proc = machines::two_sockets();
    without_proc.file("/.dockerenv", "").remove("/proc");
    for tree in [Tree::new(), marked, without_proc] {
        let host = tree.facts();
        assert_eq!((host.virtualization.container.as_deref(), host.virtualization.container_unknown), (None, true));
        let limits = host.limits.clone();
        assert!(limits.unknown && limits.is_root.is_none() && limits.cpu_quota.is_none(), "{limits:?}");
        let report = host_report(host, Disturbed::default());
        assert!(report.is_disturbed(), "{:?}", report.findings);
        for (lang, claims, says) in [
            (Lang::En, ["no container", "no CPU quota", "no memory limit", "not root"], "unknown"),
            (Lang::Zh, ["非容器", "无 CPU 配额", "无内存限额", "非 root"], "未知"),
        ] {
            let options = RenderOptions { lang, ..Default::default() };
            let shown = page(&report, &options);
            assert!(!claims.iter().any(|claim| shown.contains(claim)), "{shown}");
            assert!(shown.matches(says).count() > 4, "{shown}");
        }
    }
}
