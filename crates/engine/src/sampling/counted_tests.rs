//! Counters that are moved by what runs under them.

use std::cell::Cell;
use std::path::Path;

use super::*;

/// Events that the mock has, each with what it grows by in an iteration and what switching the counters adds.
type Grows<'a> = &'a [(PerfEvent, u64)];

/// Events that switching adds to each of the mock's counters.
const SWITCHING: u64 = 500;

/// A machine whose counters grow with the iterations of the body.
fn counted(grows: Grows, root: &Root, pmu: Option<CorePmu>, in_kernel: bool, iterations: u64) -> Counted {
    let done = Cell::new(0);
    let mut counter = |events: &[PerfEvent], work: &mut dyn FnMut() -> Result<()>| {
        let each = |event: &PerfEvent| grows.iter().find(|(known, _)| known == event).map(|(_, each)| *each);
        let Some(each) = events.iter().map(each).collect::<Option<Vec<u64>>>() else { return Ok(None) };
        let before = done.get();
        work()?;
        Ok(Some(each.iter().map(|each| each * (done.get() - before) + SWITCHING).collect()))
    };
    let wanted = Wanted { root, pmu, in_kernel };
    let mut body = |n| {
        done.set(done.get() + n);
        Ok(())
    };
    count(&wanted, iterations, &mut body, &mut counter, &|| true).unwrap()
}

fn nowhere() -> Root {
    Root::at("/nonexistent")
}

const OF_PROGRAMS: PerfEvent = PerfEvent { in_kernel: false, ..PerfEvent::CYCLES };
const INSTRUCTIONS_OF_PROGRAMS: PerfEvent = PerfEvent { in_kernel: false, ..PerfEvent::INSTRUCTIONS };

#[test]
fn what_an_iteration_does_comes_back_without_what_switching_the_counters_costs() {
    let grows = [(PerfEvent::CYCLES, 4), (PerfEvent::INSTRUCTIONS, 7), (PerfEvent::BRANCH_MISSES, 0)];
    // Long loops as the difference of two lengths, one operation by itself.
    for iterations in [1, 31, 32, 1 << 20] {
        let counted = counted(&grows, &nowhere(), None, true, iterations);
        let expected = [("branch_misses", 0.0), ("counted_cycles", 4.0), ("instructions", 7.0), (IPC.name, 1.75)];
        assert_eq!(counted, expected.into(), "{iterations}");
    }
}

#[test]
fn the_kernels_part_is_counted_where_it_is_measured_and_a_counter_that_is_missing_takes_no_other_along() {
    let grows = [(OF_PROGRAMS, 1), (INSTRUCTIONS_OF_PROGRAMS, 3), (PerfEvent::MIGRATIONS, 1)];
    let counted_in = |in_kernel| counted(&grows, &nowhere(), None, in_kernel, 64);
    assert_eq!(counted_in(false)["instructions"], 3.0);
    // Faults and switches are one group with migrations, and this machine has none of them.
    assert_eq!(counted_in(true), Counted::new());
}

#[test]
fn each_of_many_things_in_an_iteration_has_its_part_and_shares_stay() {
    let mut counted: Counted = [("instructions", 64.0), (IPC.name, 4.0), (TOP_DOWN[0].name, 0.5)].into();
    share(&mut counted, 8);
    assert_eq!(counted, [("instructions", 8.0), (IPC.name, 4.0), (TOP_DOWN[0].name, 0.5)].into());
}

fn write(tree: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = tree.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A hybrid processor whose first two CPUs have counters that the kernel calls number 4, and name the slots of top-down.
fn hybrid(tree: &Path) -> Root {
    let devices = tree.join("sys/bus/event_source/devices");
    write(
        &devices,
        &[
            ("cpu_core/type", "4\n"),
            ("cpu_core/cpus", "0-1\n"),
            ("cpu_core/format/event", "config:0-7\n"),
            ("cpu_core/format/umask", "config:8-15\n"),
            ("cpu_core/events/slots", "event=0x00,umask=0x4\n"),
            ("cpu_core/events/topdown-retiring", "event=0x00,umask=0x80\n"),
            ("cpu_core/events/topdown-bad-spec", "event=0x00,umask=0x81\n"),
            ("cpu_core/events/topdown-fe-bound", "event=0x00,umask=0x82\n"),
            ("cpu_core/events/topdown-be-bound", "event=0x00,umask=0x83\n"),
            ("cpu_atom/type", "10\n"),
            ("cpu_atom/cpus", "2-3\n"),
            ("uncore_imc/type", "14\n"),
            ("uncore_imc/cpumask", "0\n"),
        ],
    );
    Root::at(tree)
}

#[test]
fn top_down_is_told_as_shares_of_slots_where_the_kernel_names_them_and_they_add_up() {
    let tree = tempfile::tempdir().unwrap();
    let root = hybrid(tree.path());
    let slot = |config| PerfEvent { kind: 4, config, in_kernel: true };
    let grows = |last| {
        let parts = [(slot(0x8000), 300), (slot(0x8100), 50), (slot(0x8200), 50), (slot(0x8300), last)];
        [vec![(slot(0x400), 600)], parts.to_vec(), vec![(PerfEvent::CYCLES.of_device(4), 100)]].concat()
    };
    let of = |last, cpu| counted(&grows(last), &root, CorePmu::of_cpu(&root, cpu), true, 4096);
    let shares = of(200, 1);
    let parts = TOP_DOWN.map(|share| (shares[share.name] * 600.0).round());
    assert_eq!(parts, [300.0, 50.0, 50.0, 200.0]);
    // What lies beside them is none.
    assert!(!of(90, 1).contains_key(TOP_DOWN[0].name));
    // The other kind of core names no slots, and is asked by its own number.
    assert_eq!(of(200, 3), Counted::new());
    let small = [(PerfEvent::CYCLES.of_device(10), 2), (PerfEvent::INSTRUCTIONS.of_device(10), 3)];
    assert_eq!(counted(&small, &root, CorePmu::of_cpu(&root, 3), true, 64)[IPC.name], 1.5);
}

/// A package that uses `each_uj` in an iteration, in a counter that wraps at `most_uj`; the energy of an iteration, joules.
fn energy_of(each_uj: u64, most_uj: u64, turns: u32) -> Option<f64> {
    let tree = tempfile::tempdir().unwrap();
    let zone = tree.path().join("sys/class/powercap/intel-rapl:0");
    let most = most_uj.to_string();
    write(&zone, &[("name", "package-0\n"), ("max_energy_range_uj", &most), ("energy_uj", "7\n")]);
    let meter = EnergyMeter::of_cpu(&Root::at(tree.path()), 0).unwrap();
    let (used, left) = (Cell::new(7), Cell::new(turns));
    let mut body = |n: u64| {
        used.set(used.get() + n * each_uj);
        std::fs::write(zone.join("energy_uj"), format!("{}\n", used.get() % most_uj)).unwrap();
        Ok(())
    };
    let has_time = || left.replace(left.get().saturating_sub(1)) > 0;
    energy(&meter, 50, &mut body, &has_time).unwrap().get(ENERGY.name).copied()
}

#[test]
fn the_energy_of_an_operation_comes_back_also_where_its_counter_begins_anew() {
    let is_about = |joules: Option<f64>, expected: f64| (joules.unwrap() / expected - 1.0).abs() < 1e-9;
    assert!(is_about(energy_of(3, u64::MAX, 40), 3e-6));
    // It wraps every eight readings.
    assert!(is_about(energy_of(3, 1200, 40), 3e-6));
    // Too few moves tell nothing, and a counter that stands still never does.
    assert_eq!(energy_of(3, u64::MAX, LEAST_MOVES), None);
    assert_eq!(energy_of(0, u64::MAX, 40), None);
}

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EACCES: i32 = 13;

/// Returns the messages where these calls are refused by this error.
fn said(is_refused: fn(PerfEvent) -> bool, number: i32) -> Vec<String> {
    let refused = |event| is_refused(event).then(|| io::Error::from_raw_os_error(number));
    of(&Root::at("/nonexistent"), 0, &refused).into_iter().map(|text| text.en).collect()
}

#[test]
fn each_thing_that_is_missing_is_told_once_with_what_helps() {
    let energy = "no energy: the machine shows no counter of it (RAPL), as most guests of hypervisors";
    assert_eq!(said(|_| false, 0), [energy]);
    let is_of_processor = |event: PerfEvent| event != PerfEvent::PAGE_FAULTS;
    let [hardware, last] = &said(is_of_processor, ENOENT)[..] else { panic!("not two") };
    assert!(hardware.contains("virtual PMU") && last == energy, "{hardware}");
    // Whoever may count programs alone has the hardware's groups.
    let [kernel, software, _] = &said(|event| event.in_kernel, EACCES)[..] else { panic!("not three") };
    assert!(kernel.contains("outside the groups cpu and memory") && kernel.contains("paranoid"), "{kernel}");
    assert!(software.starts_with("no counters of the kernel"), "{software}");
    let filtered = said(|_| true, EPERM);
    assert!(filtered.len() == 3 && filtered[0].contains("filter of system calls"), "{filtered:?}");
}
