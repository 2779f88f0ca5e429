//! Steal, switches, load and the busiest process; rules on a host fire where they should, and nowhere else.

use hostmark_analysis::findings::host::{HOST_RULES, host_findings, host_report};
use hostmark_host::{CpuTimes, NoiseSnapshot, RoundCounters, RoundLosses, busiest_other};
use hostmark_model::{BusyTask, Disturbed, HostFacts, HostWeight, Throttling};

use crate::machines;
use crate::machines::Tree;
use crate::recorded::quiet;

fn counters(tree: &Tree, uptime: &str, steal: [u64; 2], switches: u64) {
    tree.file("/proc/uptime", format!("{uptime} 99.00\n")).file("/proc/loadavg", "1.03 0.66 0.31 3/93 8824\n").file(
        "/proc/stat",
        format!(
            "cpu  9 9 9 9 9 9 9 {} 0 0\ncpu0 1 2 3 4 5 6 7 {} 0 0\ncpu9 1 2 3 4 5 6 7 {} 0 0\nintr 5 0\n\
                 ctxt {switches}\nprocs_running 2\n",
            steal[0] + steal[1],
            steal[0],
            steal[1]
        ),
    );
}

/// One process that has used `ticks` and was last on `cpu`.
fn process(tree: &Tree, pid: u32, name: &str, parent: u32, ticks: u64, cpu: usize) {
    process_since(tree, pid, name, parent, ticks, cpu, 100);
}

fn process_since(tree: &Tree, pid: u32, name: &str, parent: u32, ticks: u64, cpu: usize, started: u64) {
    let zeros = |count: usize| "0 ".repeat(count);
    let line =
        format!("{pid} ({name}) S {parent} {}{ticks} 0 {}{started} {}{cpu} 0 0\n", zeros(9), zeros(6), zeros(16));
    tree.file(&format!("/proc/{pid}/stat"), &line);
    if name == "hostmark" && parent == 1 {
        tree.file("/proc/self/stat", line);
    }
}

fn both(first: impl FnOnce(&Tree), second: impl FnOnce(&Tree)) -> [NoiseSnapshot; 2] {
    let tree = Tree::new();
    tree.status("0-3", 0);
    counters(&tree, "100.00", [5, 0], 1000);
    first(&tree);
    let before = NoiseSnapshot::read_with_processes(&tree.root());
    counters(&tree, "102.00", [7, 1], 1700);
    second(&tree);
    [before, NoiseSnapshot::read_with_processes(&tree.root())]
}

/// What a round on these CPUs lost between two states of the machine.
fn lost(cpus: &[usize], first: impl FnOnce(&Tree), second: impl FnOnce(&Tree)) -> RoundLosses {
    let tree = Tree::new();
    first(&tree);
    let counters = RoundCounters::begin(&tree.root(), cpus);
    second(&tree);
    counters.end()
}

#[test]
fn a_round_lost_what_was_stolen_of_its_own_cpus() {
    // On 1024 of them, CPU 7 is offline; 30 ms go from each, and 50 ms from CPU 1000.
    let stat = |later: u64| {
        let steal = |cpu: u64| cpu + later * if cpu == 1000 { 5 } else { 3 };
        let row = |cpu: u64| format!("cpu{cpu} 1 2 3 4 5 6 7 {} 0 0\n", steal(cpu));
        let rows: String = (0..1024).filter(|&cpu| cpu != 7).map(row).collect();
        move |tree: &Tree| {
            tree.file("/proc/stat", format!("cpu  9 9 9 9 9 9 9 9 0 0\n{rows}intr 5 0\nctxt 9\n"));
        }
    };
    let stolen = |cpus: &[usize]| lost(cpus, stat(0), stat(1)).steal_ns;
    assert_eq!(stolen(&[0]), Some(30_000_000));
    assert_eq!(stolen(&[1000, 3]), Some(80_000_000));
    assert_eq!((stolen(&[1023]), stolen(&[7]), stolen(&[3000]), stolen(&[])), (Some(30_000_000), None, None, Some(0)));
    // The counter may step back.
    assert_eq!(lost(&[5], stat(1), stat(0)).steal_ns, Some(0));
    assert_eq!(lost(&[5], |_| (), stat(0)), RoundLosses { steal_ns: None, throttled: None });
}

#[test]
fn counters_are_read_per_cpu_and_compared() {
    let [before, after] = both(|_| (), |_| ());
    assert_eq!(before.steal_ns.iter().map(|(cpu, ns)| (*cpu, *ns)).collect::<Vec<_>>(), [(0, 50_000_000), (9, 0)]);
    assert_eq!((before.context_switches, after.context_switches), (Some(1000), Some(1700)));
    assert_eq!((before.load, before.running), (Some([1.03, 0.66, 0.31]), Some(2)));
    assert_eq!(before.elapsed_ns(&after), Some(2_000_000_000));
    assert_eq!(before.steal_ns_until(&after, &[0, 9]), Some(30_000_000));
    assert_eq!(before.steal_share(&after, &[0]), Some(0.01));
    assert_eq!((before.steal_share(&after, &[]), before.steal_share(&after, &[4])), (None, None));
    assert_eq!(after.steal_share(&before, &[0]), None, "time does not run backwards");
}

#[test]
fn others_have_used_what_neither_we_nor_idle_did() {
    let at = |uptime: u32, user: [u64; 2], own: [u64; 4]| {
        let tree = Tree::new();
        let cpu = |cpu: usize| format!("cpu{cpu} {} 10 20 4000 5 600 700 800 0 0\n", user[cpu]);
        let own: Vec<String> = own.iter().map(u64::to_string).collect();
        tree.file("/proc/uptime", format!("{uptime}.00 99.00\n"))
            .file("/proc/stat", format!("cpu  9 9 9 9 9 9 9 9 0 0\n{}{}", cpu(0), cpu(1)))
            .file("/proc/self/stat", format!("7 (a) b) S 1 {}{} 0 0\n", "0 ".repeat(9), own.join(" ")));
        NoiseSnapshot::read(&tree.root())
    };
    let before = at(100, [1000, 5000], [10, 20, 30, 40]);
    // Two seconds later: CPU 1 was busy for 1.8 s, of which 0.3 s were ours and 0.9 s our children's.
    let after = at(102, [1000, 5180], [30, 30, 100, 60]);
    let share = before.others_share(&after, &[1]).unwrap();
    assert!((share - 0.3).abs() < 1e-9, "{share}");
    let share = before.others_share(&after, &[0, 1]).unwrap();
    assert!((share - 0.15).abs() < 1e-9, "{share}");
    // What is ours may have run elsewhere: never less than nothing.
    assert_eq!(before.others_share(&after, &[0]), Some(0.0));
    assert_eq!((before.others_share(&after, &[]), before.others_share(&after, &[2])), (None, None));
    assert_eq!(at(102, [0; 2], [0; 4]).others_share(&after, &[1]), None, "no second lies between");
}

#[test]
fn what_quotas_did_is_read_from_the_group_and_those_around_it() {
    let group = "/sys/fs/cgroup/user.slice";
    let groups = |tree: &Tree| {
        tree.file("/proc/self/cgroup", "0::/user.slice/app.scope\n")
            .file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n")
            .file("/sys/fs/cgroup/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n")
            .file(&format!("{group}/cpu.stat"), "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 500\n")
            .file(&format!("{group}/app.scope/cpu.stat"), "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    };
    let later = |tree: &Tree| {
        tree.file(&format!("{group}/cpu.stat"), "nr_periods 9\nnr_throttled 4\nthrottled_usec 40500\n")
            .file(&format!("{group}/app.scope/cpu.stat"), "nr_periods 1\nnr_throttled 1\nthrottled_usec 7\n");
    };
    assert_eq!(lost(&[0], groups, later).throttled, Some(Throttling { periods: 2, ns: 40_007_000.0 }));
    // A group that is made anew has smaller counters.
    let back = |tree: &Tree| {
        groups(tree);
        later(tree);
    };
    assert_eq!(lost(&[0], back, groups).throttled, Some(Throttling { periods: 0, ns: 0.0 }));
}

#[test]
fn the_first_version_counts_quotas_in_nanoseconds_and_other_controllers_none() {
    let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let losses = lost(
        &[0],
        |tree| {
            tree.file("/proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n")
                .file("/proc/self/mountinfo", mounts)
                .file("/sys/fs/cgroup/memory/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 1\n")
                .file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 50\n");
        },
        |tree| {
            tree.file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 2\nnr_throttled 2\nthrottled_time 75\n");
        },
    );
    assert_eq!(losses.throttled, Some(Throttling { periods: 1, ns: 25.0 }));
    assert_eq!(lost(&[0], |_| (), |_| ()).throttled, None);
}

#[test]
fn counters_that_stand_still_or_jump_are_unknown() {
    let times = |ticks: u64, at_ns| CpuTimes::of(&format!("cpu0 {ticks} 0 0 {ticks} 0 0 0 0 0 0\n"), at_ns).unwrap();
    let (before, later) = (times(100, 0), times(150, 1_000_000_000));
    assert!(before.used(&later, 0).is_some() && !before.stand_until(&later));
    let standing = times(100, 1_000_000_000);
    assert!(before.used(&standing, 0).is_none() && before.stand_until(&standing));
    assert_eq!(before.used(&times(44_000_000_000, 1_000_000_000), 0), None);
    let [before, after] = both(|_| (), |tree| counters(tree, "102.00", [44_000_000_000, 1], 9));
    assert!(before.has_broken_steal(&after, &[0]) && !before.has_broken_steal(&after, &[9]));
    assert_eq!((before.steal_share(&after, &[0]), before.steal_share(&after, &[9])), (None, Some(0.005)));
    let busy = |uptime: &str, ticks: u64| {
        let tree = Tree::new();
        tree.file("/proc/uptime", format!("{uptime} 99.00\n"))
            .file("/proc/stat", format!("cpu0 {ticks} 0 0 40 0 0 0 0 0 0\n"));
        NoiseSnapshot::read(&tree.root())
    };
    let [from, to, jumped] = [busy("100.00", 5), busy("102.00", 105), busy("102.00", 99_999_999)];
    assert!(from.has_broken_use(&jumped, &[0]) && !from.has_broken_use(&to, &[0]));
    assert_eq!(from.others_share(&jumped, &[0]), None);
    let jumped = |tree: &Tree| counters(tree, "1.00", [44_000_000_000, 1], 9);
    assert_eq!(lost(&[0], |tree| counters(tree, "1.00", [5, 1], 9), jumped).steal_ns, None);
    // A sandbox writes zeros, or nothing at all.
    for stat in ["cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n", ""] {
        let write = |tree: &Tree| {
            tree.file("/proc/stat", stat)
                .file("/proc/loadavg", "0.00 0.00 0.00 0/0 0\n")
                .file("/proc/uptime", "9.0 9\n");
        };
        let [before, after] = both(write, write);
        assert!(before.has_standing_counters(&after), "{stat}");
        assert_eq!((after.steal_ns.len(), after.load, lost(&[0], write, write).steal_ns), (0, None, None), "{stat}");
    }
}

#[test]
fn perf_trace_is_a_tracer_where_it_follows_this_process() {
    let traced = |words: &str, parent: u32| {
        let tree = Tree::new();
        process(&tree, 40, "perf", 1, 5, 0);
        process(&tree, 41, "bash", parent, 5, 0);
        // The first one is this process.
        [1, 41].iter().for_each(|&parent| process(&tree, 42, "hostmark", parent, 5, 0));
        tree.file("/proc/self/status", "TracerPid:\t0\n");
        tree.file("/proc/40/cmdline", words.replace(' ', "\0"));
        tree.facts().process.attributes.remove("tracer")
    };
    for (words, parent) in
        [("perf trace -p 7,42", 1), ("perf trace -p41", 1), ("perf trace -a", 1), ("perf trace ls", 40)]
    {
        assert_eq!(traced(words, parent).as_deref(), Some("perf trace (40)"), "{words}");
    }
    for (words, parent) in [("perf trace -p 7", 1), ("perf stat -p 42", 1), ("perf report", 40)] {
        assert_eq!(traced(words, parent), None, "{words}");
    }
}

#[test]
fn programs_outside_of_a_pid_namespace_are_hidden_and_what_they_use_is_known() {
    let at = |uptime: u32, user: u64, own: u64| {
        let tree = Tree::new();
        tree.status("0", 0)
            .file("/proc/uptime", format!("{uptime}.00 99.00\n"))
            .file("/proc/stat", format!("cpu0 {user} 0 0 4000 5 600 700 0 0 0\n"))
            .link("/proc/self/ns/pid", "pid:[4026532211]");
        process(&tree, 1, "hostmark", 1, own, 0);
        NoiseSnapshot::read_with_processes(&tree.root())
    };
    let (before, after) = (at(100, 1000, 10), at(102, 1180, 30));
    assert!(!after.sees_others());
    let unseen = before.unseen_cpus(&after).unwrap();
    assert!((0.7..0.8).contains(&unseen), "{unseen}");
    assert_eq!(before.unseen_cpus(&at(102, 1020, 30)), Some(0.0));
}

#[test]
fn the_busiest_other_process_is_named() {
    let [before, after] = both(
        |tree| {
            process(tree, 50, "hostmark", 1, 10, 0);
            process(tree, 51, "worker", 50, 10, 1);
            process(tree, 4711, "cc1 plus)", 1, 1000, 1);
            process(tree, 20, "idle", 2, 7, 0);
        },
        |tree| {
            process(tree, 50, "hostmark", 1, 300, 0);
            process(tree, 51, "worker", 50, 300, 1);
            process(tree, 52, "grandchild", 51, 300, 1);
            process(tree, 4711, "cc1 plus)", 1, 1196, 1);
            process(tree, 20, "idle", 2, 8, 0);
        },
    );
    let busy = busiest_other(&before, &after).unwrap();
    assert_eq!((busy.pid, busy.name.as_str(), busy.last_cpu), (4711, "cc1 plus)", 1));
    assert!((busy.cpus - 0.98).abs() < 1e-9);
    assert!(before.has_all_processes());
}

#[test]
fn a_pass_that_is_kept_waiting_sees_every_process_all_the_same() {
    let tree = Tree::new();
    (1..=20).for_each(|pid| process(&tree, pid, "other", 1, 7, 0));
    // The newest is looked at first, and answers only after a while.
    let slow = tree.pipe("/proc/9999/stat");
    let answers = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(slow, "9999 (slow) S 1 \n").unwrap();
    });
    assert!(NoiseSnapshot::read_with_processes(&tree.root()).has_all_processes());
    answers.join().unwrap();
}

#[test]
fn a_process_that_came_between_counts_whole_and_a_reused_number_is_another() {
    let [before, after] = both(
        |tree| process_since(tree, 30, "old", 1, 5000, 0, 100),
        |tree| process_since(tree, 30, "new", 1, 50, 0, 10_050),
    );
    let busy = busiest_other(&before, &after).unwrap();
    assert_eq!((busy.name.as_str(), busy.cpus), ("new", 0.25));
}

#[test]
fn processes_on_other_cpus_and_short_spans_do_not_count() {
    let [before, after] = both(|tree| process(tree, 30, "far", 1, 0, 64), |tree| process(tree, 30, "far", 1, 190, 64));
    assert_eq!(busiest_other(&before, &after), None);
    assert_eq!(busiest_other(&after, &after), None);
    let empty = NoiseSnapshot::read_with_processes(&Tree::new().root());
    assert_eq!((busiest_other(&empty, &empty), empty.uptime_ns, empty.load), (None, None, None));
}

fn ids(host: &HostFacts, disturbed: &Disturbed) -> Vec<String> {
    host_findings(host, disturbed).into_iter().map(|finding| finding.id["host.".len()..].to_owned()).collect()
}

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
        unseen_cpus: Some(12.34),
        counters_stand: true,
    }
}

#[test]
fn what_others_do_is_distinguished_from_its_threshold_on() {
    assert_eq!(
        ids(&quiet(), &everything()),
        ["steal", "busy_process", "busy_unseen", "load", "counters_stand", "processes_unseen"]
    );
    let little = Disturbed {
        busy: Some(BusyTask { cpus: 0.05, ..Default::default() }),
        steal_share: Some(0.005),
        load: Some([0.2; 3]),
        unseen_cpus: Some(0.05),
        ..Disturbed::default()
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
