//! Steal, switches, load and the busiest process.

use hostmark_host::{NoiseSnapshot, busiest_other};

use crate::tree::Tree;

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
