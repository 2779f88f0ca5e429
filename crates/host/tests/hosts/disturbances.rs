//! Rules on a host fire where they should, and nowhere else.

use hostmark_analysis::findings::host::{HOST_RULES, host_findings, host_report};
use hostmark_model::{
    BusyTask, CoreKindFact, DirectoryFact, Disturbed, HostFacts, HostWeight, LoopbackFacts, Purpose,
    QueueingDiscipline, Sight,
};

use crate::machines;
use crate::tree::Tree;

/// What is different from a quiet machine.
type Change = fn(&mut HostFacts);

fn ids(host: &HostFacts, disturbed: &Disturbed) -> Vec<String> {
    host_findings(host, disturbed).into_iter().map(|finding| finding.id["host.".len()..].to_owned()).collect()
}

fn at_rest(host: &HostFacts) -> Vec<String> {
    ids(host, &Disturbed::default())
}

/// A bare machine of two single-thread cores on which no rule has anything to say.
fn quiet() -> HostFacts {
    let tree = machines::small_guest();
    tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu\n\n")
        .remove("/sys/devices/system/cpu/vulnerabilities/mds");
    tree.facts()
}

/// What the rules say of the quiet machine after one change.
fn after(change: impl FnOnce(&mut HostFacts)) -> Vec<String> {
    let mut host = quiet();
    change(&mut host);
    at_rest(&host)
}

#[test]
fn rules_of_known_machines_fire_and_no_others() {
    assert_eq!(at_rest(&quiet()), Vec::<String>::new());
    assert_eq!(at_rest(&Tree::new().facts()), ["no_proc", "limits_unseen"], "nothing is known, and that is said");
    assert_eq!(at_rest(&machines::small_guest().facts()), ["mitigations", "nested_paging_unknown"]);
    assert_eq!(at_rest(&machines::two_sockets().facts()), ["governor", "smt_siblings"]);
    assert_eq!(at_rest(&machines::small_container().facts()), ["cpu_quota", "little_memory"]);
    assert_eq!(at_rest(&machines::arm_server().facts()), ["nested_paging_unknown"]);
    assert_eq!(at_rest(&machines::one_cpu().facts()), ["single_cpu"]);
}

#[test]
fn a_machine_without_sys_is_judged_by_what_is_left() {
    let tree = machines::small_guest();
    tree.remove("/sys");
    assert_eq!(at_rest(&tree.facts()), ["limits_unseen", "nested_paging_unknown", "no_sys"]);
}

#[test]
fn a_read_only_system_keeps_no_runs() {
    let tree = machines::one_cpu();
    tree.file("/proc/self/mountinfo", "27 1 254:0 / / ro,relatime - squashfs /dev/vda rw\n");
    let host = tree.facts();
    assert_eq!(at_rest(&host), ["single_cpu", "no_room_for_runs", "no_scratch"]);
    let found = host_findings(&host, &Disturbed::default());
    assert!(found[1..].iter().all(|finding| finding.effect.en.contains("read-only")));
}

#[test]
fn each_fact_calls_its_own_rule() {
    let cases: [(&str, Change); 33] = [
        ("yields_to_others", |host| host.process.policy = Some("SCHED_IDLE".into())),
        ("yields_to_others", |host| host.process.nice = Some(5)),
        ("traced", |host| host.process.traced = Some(true)),
        ("scheduling_policy", |host| host.process.policy = Some("SCHED_BATCH".into())),
        ("scheduling_policy", |host| host.process.policy = Some("SCHED_FIFO".into())),
        ("clamped", |host| host.process.uclamp_max = Some(512)),
        ("huge_pages_forbidden", |host| host.memory.transparent_huge_pages_forbidden = Some(true)),
        ("limits_unseen", |host| host.limits.groups[1].sight = Sight::Nothing),
        ("limits_above_unseen", |host| host.limits.groups[0].sight = Sight::NotAbove),
        ("no_proc", |host| (host.memory.total_bytes, host.memory.available_bytes) = (0, 0)),
        ("cpu_quota", |host| host.limits.cpu_quota = Some(1.5)),
        ("single_cpu", |host| host.cpus[1].allowed = false),
        ("smt_siblings", |host| {
            host.cpu.smt_active = Some(true);
            host.cpus[0].siblings = vec![0, 1];
        }),
        ("governor", |host| host.cpu.governor = Some("schedutil".into())),
        ("governor", |host| {
            let kind = |governor: &str| CoreKindFact { governor: Some(governor.into()), ..Default::default() };
            host.cpu.kinds = vec![kind("performance"), kind("powersave")];
        }),
        ("turbo", |host| host.cpu.turbo = Some(true)),
        ("little_memory", |host| host.memory.available_bytes = 200 << 20),
        ("swap_in_use", |host| host.memory.swap_used_bytes = 1 << 30),
        ("numa_balancing", |host| {
            host.memory.numa_balancing = Some(1);
            host.nodes.push(host.nodes[0].clone());
        }),
        ("same_page_merging", |host| host.memory.same_page_merging = Some(1)),
        ("clock_source", |host| host.kernel.clock_source = Some("hpet".into())),
        ("seccomp", |host| host.limits.seccomp = Some("filter".into())),
        ("no_huge_pages", |host| host.memory.transparent_huge_pages = Some("never".into())),
        ("perf_not_permitted", |host| {
            host.limits.is_root = Some(false);
            host.kernel.perf_event_paranoid = Some(4);
        }),
        ("loopback_path", |host| host.loopback.filter_rules = Some(20)),
        ("loopback_path", |host| host.loopback.mtu_bytes = Some(1500)),
        ("loopback_path", |host| host.loopback.programs = Some(vec!["xdp".into()])),
        ("loopback_path", |host| {
            let queue = QueueingDiscipline { kind: "tbf".into(), ..Default::default() };
            host.loopback = LoopbackFacts {
                queue: Some(queue),
                filter_rules: Some(0),
                programs: Some(Vec::new()),
                mtu_bytes: None,
            };
        }),
        ("packet_filter_unseen", |host| {
            host.loopback.queue = Some(QueueingDiscipline { kind: "noqueue".into(), ..Default::default() });
        }),
        ("load", |host| host.activity.load = Some([1.7, 0.0, 0.0])),
        ("no_room_for_runs", |host| {
            let data = DirectoryFact { purpose: Purpose::Data, available_bytes: Some(4096), ..Default::default() };
            host.storage.directories = vec![data];
        }),
        ("no_room_for_runs", |host| {
            let data = DirectoryFact { purpose: Purpose::Data, writable: Some(false), ..Default::default() };
            host.storage.directories = vec![data];
        }),
        ("no_scratch", |host| {
            let scratch = DirectoryFact { purpose: Purpose::Scratch, writable: Some(false), ..Default::default() };
            host.storage.directories = vec![scratch];
        }),
    ];
    for (id, change) in cases {
        assert_eq!(after(change), [id]);
    }
}

#[test]
fn what_is_harmless_calls_none() {
    let cases: [Change; 19] = [
        |host| (host.process.policy, host.process.nice) = (Some("SCHED_OTHER".into()), Some(-5)),
        |host| host.process.traced = Some(false),
        |host| (host.loopback.filter_rules, host.loopback.mtu_bytes) = (Some(19), Some(65536)),
        |host| host.loopback.programs = Some(vec![]),
        |host| host.process.uclamp_max = Some(1024),
        |host| host.storage.directories = vec![DirectoryFact { writable: Some(true), ..Default::default() }],
        |host| host.limits.cpu_quota = Some(2.0),
        |host| host.cpu.governor = Some("performance".into()),
        |host| host.cpu.turbo = Some(false),
        |host| host.cpu.isolated = Some(vec![]),
        |host| host.memory.swap_used_bytes = 1 << 20,
        |host| host.memory.numa_balancing = Some(1),
        |host| host.memory.same_page_merging = Some(2),
        |host| host.kernel.perf_event_paranoid = Some(4),
        |host| host.limits.seccomp = Some("off".into()),
        |host| host.activity.load = Some([0.3, 9.0, 9.0]),
        |host| host.memory.transparent_huge_pages = Some("madvise".into()),
        |host| drop(host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: Enhanced IBRS".into())),
        |host| drop(host.kernel.vulnerabilities.insert("mds".into(), "Vulnerable: Clear CPU buffers attempted".into())),
    ];
    for (index, change) in cases.into_iter().enumerate() {
        assert_eq!(after(change), Vec::<String>::new(), "case {index}");
    }
    // A second thread that is offline shares nothing.
    let offline = |host: &mut HostFacts| {
        host.cpu.smt_active = Some(true);
        host.cpus[0].siblings = vec![0, 1];
        host.cpus[1].online = false;
    };
    assert_eq!(after(offline), ["single_cpu"]);
    let arm = |host: &mut HostFacts| {
        host.cpu.architecture = "aarch64".into();
        host.kernel.clock_source = Some("arch_sys_counter".into());
    };
    assert_eq!(after(arm), Vec::<String>::new());
}

/// The worst that there is.
pub fn everything() -> Disturbed {
    Disturbed {
        busy: Some(BusyTask {
            pid: 4_194_304,
            name: "a\u{1b}[31m\u{202e}long-name".into(),
            cpus: 12.34,
            last_cpu: 1535,
        }),
        steal_share: Some(0.123),
        load: Some([123.45, 1.0, 1.0]),
        processes_unseen: true,
    }
}

#[test]
fn what_others_do_is_distinguished_from_its_threshold_on() {
    assert_eq!(ids(&quiet(), &everything()), ["steal", "busy_process", "load", "processes_unseen"]);
    let little = Disturbed {
        busy: Some(BusyTask { cpus: 0.05, ..Default::default() }),
        steal_share: Some(0.005),
        load: Some([0.2; 3]),
        processes_unseen: false,
    };
    assert_eq!(ids(&quiet(), &little), Vec::<String>::new());
}

#[test]
fn only_what_makes_values_scatter_fails_a_check() {
    let report = |host| host_report(host, Disturbed::default());
    assert!(!report(quiet()).is_disturbed());
    assert!(!report(machines::small_guest().facts()).is_disturbed(), "a guest with mitigations can be a quiet one");
    assert!(report(machines::small_container().facts()).is_disturbed());
    let weights: Vec<HostWeight> = HOST_RULES.iter().map(|rule| rule.weight).collect();
    assert!(weights.is_sorted(), "disturbances first, notes last");
}

#[test]
fn rules_have_ids_of_their_own_and_cures_in_both_languages() {
    let mut ids: Vec<&str> = HOST_RULES.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), HOST_RULES.len());
    for rule in HOST_RULES {
        assert!(rule.id.starts_with("host."), "{}", rule.id);
        assert!(rule.cure.en.is_ascii() || rule.cure.en.contains('…'), "{}", rule.id);
        assert!(rule.cure.zh.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{}", rule.id);
    }
}
