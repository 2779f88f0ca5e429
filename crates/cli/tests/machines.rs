//! Plans for machines that are not this one, from guests of two CPUs to servers of a thousand, and runs of them on workers
//! that take as long as such machines would.

use hostmark_engine::mock::{MockWall, Unmetered, Workers};
use hostmark_engine::plan::{Plan, PlannedCase, Priority, Request, plan};
use hostmark_engine::worker::far::NoPeers;
use hostmark_engine::{Eta, RunContext, Wall, mock, run};
use hostmark_model::{CaseId, CpuFact, EACH_POINT, Environment, JobCase, ServiceJob};
use hostmark_present::tables::{GLANCE, NamedTable, TABLES};

use crate::jobs::serving;
use crate::machine::{MACHINES, Machine, machine};
use crate::prelude::*;

const PROFILES: [Profile; 3] = [Profile::Quick, Profile::Standard, Profile::Thorough];

/// Measures a plan on a machine whose rounds take `slower` times what is forecast, by the number of the round; how long that
/// took, and the number of rounds of each case.
pub fn simulated(plan: &Plan, host: &HostFacts, slower: impl Fn(u32) -> f64) -> (Duration, Vec<usize>) {
    let wall = MockWall::default();
    let set_up =
        |id: &str| plan.cases.iter().find(|case| case.id.to_string() == id).map_or(Duration::ZERO, |case| case.set_up);
    let mut workers = Workers::new(&wall, |job: &Job| {
        let of_case =
            |case: &JobCase| Duration::from_nanos(job.budget_ns) + set_up(&case.id).mul_f64(slower(job.round));
        // For a warm-up a worker is started, and its CPU's clock settles.
        let warm_up = job.cases.is_empty().then(|| Duration::from_millis(40).mul_f64(slower(0)));
        let of_round = |time| [(time, mock::line(&mock::samples(&[5.0; 3])).1), mock::line(&mock::done(1000))];
        let rounds = job.cases.iter().map(of_case).chain(warm_up).flat_map(of_round);
        std::iter::once(mock::hello()).chain(rounds).collect()
    });
    let open_service = &|_: &ServiceJob| Ok(serving(&wall, Duration::from_millis(2).mul_f64(slower(1))));
    let (environment, past, peers) = (Environment::bare(), Vec::new(), &NoPeers);
    let setting = RunContext { plan, host, environment, past, open_service, peers, meters: &Unmetered };
    let results = run(&setting, &mut |job| workers.open(job), &wall, &mut Vec::new(), None);
    (wall.elapsed(), results.record.cases.iter().map(|case| case.rounds.len()).collect())
}

fn cells_of(table: &NamedTable, host: &HostFacts) -> Vec<CaseId> {
    table.cells(host, hostmark_host::single(host).unwrap())
}

fn planned(host: &HostFacts, profile: Profile, table: Option<&NamedTable>) -> Plan {
    let request = Request { filters: Vec::new(), profile, seed: 1, set: Vec::new(), inputs: Inputs::default() };
    hostmark::fitted(host, request, table).unwrap()
}

fn fitted(host: &HostFacts, profile: Profile) -> Plan {
    planned(host, profile, None)
}

/// A machine where all is there that a table may need: the kernel module, and root.
fn able(machine: &Machine) -> HostFacts {
    let mut host = machine.facts();
    host.kernel.module_version = Some("1".into());
    host.limits.is_root = Some(true);
    host
}

/// The cells of a table that a plan does not measure, with the reason.
fn lost(table: &NamedTable, plan: &Plan, host: &HostFacts) -> Vec<String> {
    let has = |case: &PlannedCase, cell: &CaseId| {
        let mut pairs = cell.params.0.iter().filter(|(_, value)| value != EACH_POINT);
        case.id.probe == cell.probe && pairs.all(|(axis, value)| case.id.params.get(axis) == Some(value))
    };
    let lack = |cell: &CaseId| {
        if plan.derived.iter().any(|entry| entry.id() == cell.probe) {
            return None;
        }
        let mut of_cell = plan.cases.iter().filter(|case| has(case, cell)).peekable();
        let nothing = of_cell.peek().is_none().then(|| format!("{cell} is not planned"));
        nothing.or_else(|| of_cell.find_map(|case| Some(format!("{}: {}", case.id, case.skip.as_ref()?))))
    };
    let lost = cells_of(table, host).iter().filter_map(lack).collect::<Vec<_>>();
    // One CPU shares nothing.
    let is_alone = host.cpus.len() == 1;
    let of_two =
        |lost: &str| lost.starts_with("net.data_path@") && lost.contains("cpus=2,") && lost.contains(": needs 2 CPUs");
    let is_expected = |lost: &str| lost.starts_with("memory.line@sharers=2: needs 2 CPUs") || of_two(lost);
    lost.into_iter().filter(|lost| !(is_alone && is_expected(lost))).collect()
}

#[test]
fn no_machine_loses_a_cell_of_a_table_that_is_asked_for_by_name() {
    let _beside = beside();
    for machine in MACHINES {
        let host = able(machine);
        for table in TABLES {
            for profile in [Profile::Quick, Profile::Standard] {
                let plan = planned(&host, profile, Some(table));
                // The constants name every placement of a pipe's ends, of which a machine has one or two.
                let is_placement = |cell: &String| table.name == "answer" && cell.starts_with("ipc.round_trip@");
                let lost: Vec<String> =
                    lost(table, &plan, &host).into_iter().filter(|cell| !is_placement(cell)).collect();
                assert_eq!(lost, Vec::<String>::new(), "{} {} {profile:?}", table.name, machine.name);
                let skipped: Vec<_> =
                    plan.cases.iter().filter(|case| case.skip.is_some()).map(|case| &case.id).collect();
                let may_lack =
                    ["lmbench", "answer"].contains(&table.name) || table.name == "data-path" && host.cpus.len() == 1;
                assert!(skipped.is_empty() || may_lack, "{} {}: {skipped:?}", table.name, machine.name);
                assert!(Eta::of(&plan).fits(), "{} {} {profile:?}", table.name, machine.name);
                // What is measured for no cell was not asked for.
                let sources = plan.derived.len();
                let probes: BTreeSet<String> = plan.cases.iter().map(|case| case.id.probe.clone()).collect();
                let asked: BTreeSet<String> = cells_of(table, &host).into_iter().map(|cell| cell.probe).collect();
                assert!(sources > 0 || probes == asked, "{} {}: {probes:?}", table.name, machine.name);
            }
        }
    }
}

#[test]
fn a_table_keeps_the_quick_limit_on_every_machine_and_has_all_rounds_where_it_is_as_fast_as_forecast() {
    let _beside = beside();
    for machine in MACHINES {
        let host = able(machine);
        for table in TABLES {
            let plan = planned(&host, Profile::Quick, Some(table));
            for slower in [1.0, 4.0] {
                let (elapsed, rounds) = simulated(&plan, &host, |_| slower);
                assert!(elapsed < Duration::from_secs(60), "{} {} {slower}: {elapsed:?}", table.name, machine.name);
                let has_few =
                    plan.cases.iter().zip(&rounds).filter(|(case, rounds)| case.skip.is_none() && **rounds < 3);
                let has_few: Vec<String> = has_few.map(|(case, _)| case.id.to_string()).collect();
                assert!(slower > 1.0 || has_few.is_empty(), "{} {}: {has_few:?}", table.name, machine.name);
            }
        }
    }
}

#[test]
fn a_glance_takes_ten_seconds_and_has_five_rounds_of_what_it_measures() {
    let _beside = beside();
    for machine in MACHINES {
        let host = able(machine);
        let plan = planned(&host, Profile::Glance, Some(&GLANCE));
        for slower in [1.0, 2.0] {
            let (elapsed, rounds) = simulated(&plan, &host, |_| slower);
            assert!(elapsed < Duration::from_secs(10), "{} {slower}: {elapsed:?}", machine.name);
            let cheap =
                plan.cases.iter().zip(&rounds).filter(|(case, _)| case.skip.is_none() && !case.has_long_set_up());
            let few: Vec<_> = cheap.filter(|(_, rounds)| **rounds < 5).map(|(case, _)| case.id.to_string()).collect();
            assert!(few.is_empty(), "{} {slower}: {few:?}", machine.name);
        }
    }
}

/// What a quick run has, and what it leaves out for time.
#[test]
fn no_machine_loses_a_default_or_a_cell_of_lmbenchs_tables() {
    let _beside = beside();
    for machine in MACHINES {
        let host = machine.facts();
        // Very many cases for very many CPUs take an unoptimised build seconds.
        let profiles = if host.cpus.len() > 300 { &PROFILES[..2] } else { &PROFILES };
        for &profile in profiles {
            let plan = fitted(&host, profile);
            let of_tables: Vec<_> = plan.cases.iter().filter(|case| case.priority <= Priority::Cell).collect();
            let lost: Vec<String> = of_tables
                .iter()
                .filter(|case| case.skip.as_deref() == Some("no time left"))
                .map(|case| case.id.to_string())
                .collect();
            assert_eq!(lost, Vec::<String>::new(), "{} {profile:?}", machine.name);
            assert!(Eta::of(&plan).fits(), "{} {profile:?}", machine.name);
            // Tables have more cells than there are probes.
            let defaults = plan.cases.iter().filter(|case| case.is_default).count();
            assert!(of_tables.len() > defaults + 20, "{}", of_tables.len());
        }
    }
}

/// Eight fast cores of two threads, and sixteen slow ones.
fn hybrid() -> HostFacts {
    let mut host = machine("hybrid", [1, 24, 1, 1, 24], 36 << 10, 64).facts();
    host.cpus.iter_mut().for_each(|cpu| cpu.max_hz = Some(if cpu.id < 8 { 5.7e9 } else { 4.4e9 }));
    host
}

#[test]
fn each_kind_of_core_has_its_rows_and_only_where_there_are_several() {
    let _beside = beside();
    let is_of_core = |probe: &str| {
        entries(CATALOGUE).any(|entry| entry.id() == probe && entry.axes().iter().any(|axis| axis.name == "core"))
    };
    assert!(
        ["cpu.latency", "cpu.throughput", "memory.latency", "memory.read", "memory.copy"]
            .iter()
            .all(|&probe| is_of_core(probe))
    );
    assert!(
        ["cpu.core_to_core", "memory.stream", "memory.numa_latency", "syscall.null"]
            .iter()
            .all(|&probe| !is_of_core(probe))
    );
    for profile in [Profile::Quick, Profile::Standard] {
        let plan = fitted(&hybrid(), profile);
        for probe in plan.probes().iter().filter(|probe| is_of_core(&probe.id)) {
            assert_eq!(
                probe.axes.last().map(|axis| (&*axis.name, &*axis.default)),
                Some(("core", "performance")),
                "{}",
                probe.id
            );
            let on = |core: &str, is_on: fn(usize) -> bool| {
                let of_probe = plan.cases.iter().filter(|case| case.id.probe == probe.id && case.skip.is_none());
                let of_core = of_probe.filter(|case| case.id.params.get("core") == Some(core));
                let cpus: Vec<usize> = of_core.map(|case| case.cpus[0]).collect();
                assert!(cpus.iter().all(|&cpu| is_on(cpu)), "{} {core} {cpus:?}", probe.id);
                cpus.len()
            };
            let (fast, slow) = (on("performance", |cpu| cpu < 8), on("efficiency", |cpu| cpu >= 8));
            assert!(fast >= 1 && slow >= 1, "{} {profile:?}: {fast} {slow}", probe.id);
        }
        // From the standard profile on, with all sizes: where a level ends is another place.
        let sizes = plan
            .cases
            .iter()
            .filter(|case| case.id.probe == "memory.latency" && case.id.params.get("core") == Some("efficiency"));
        assert!(sizes.count() >= if profile == Profile::Quick { 1 } else { 20 });
    }
    for machine in MACHINES {
        let plan = fitted(&machine.facts(), Profile::Quick);
        assert!(plan.cases.iter().all(|case| case.id.params.get("core").is_none()), "{}", machine.name);
        assert!(plan.probes().iter().all(|probe| probe.axes.iter().all(|axis| axis.name != "core")));
    }
}

#[test]
fn a_kind_of_core_that_is_asked_for_and_not_there_is_skipped_with_the_reason() {
    let _beside = beside();
    let asked = |host: &HostFacts, filter: &str| {
        let inputs = Inputs::default();
        let request =
            Request { filters: vec![filter.into()], profile: Profile::Quick, seed: 1, set: Vec::new(), inputs };
        let plan = plan(CATALOGUE, host, request).unwrap();
        plan.cases.iter().map(|case| (case.id.to_string(), case.skip.clone())).collect::<Vec<_>>()
    };
    let guest = MACHINES[1].facts();
    let skipped = asked(&guest, "cpu.frequency@core=efficiency");
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0].1.as_deref(), Some("the usable cores are all of one kind"));
    // All that it has are its fastest.
    assert!(
        asked(&guest, "cpu.frequency@core=performance")
            .iter()
            .all(|(id, skip)| !id.contains("core=") && skip.is_none())
    );
    assert!(
        asked(&hybrid(), "cpu.frequency@core=efficiency")
            .iter()
            .all(|(id, skip)| id.contains("core=efficiency") && skip.is_none())
    );
    assert_eq!(
        asked(&hybrid(), "cpu.frequency@core=low_power")[0].1.as_deref(),
        Some("the usable cores are of 2 kinds")
    );
}

#[test]
fn every_machine_measures_each_way_in_which_its_cpus_are_apart() {
    let _beside = beside();
    let classes = |machine: &Machine| -> BTreeSet<String> {
        let plan = fitted(&machine.facts(), Profile::Quick);
        let of_pairs = plan.cases.iter().filter(|case| case.id.probe == "cpu.core_to_core" && case.skip.is_none());
        of_pairs.map(|case| case.id.params.get("cpus").unwrap().to_owned()).collect()
    };
    let of = |name: &str| classes(Machine::named(name));
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(of("guest of 2"), set(&["same_cache"]));
    assert_eq!(of("64 CPUs"), set(&["smt_sibling", "same_cache", "other_node"]));
    assert_eq!(of("160 cores without L3"), set(&["other_cache", "other_node"]));
    assert_eq!(
        of("16 caches, NPS4"),
        set(&["smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node"])
    );
    let clusters = ["smt_sibling", "same_cache", "same_package_other_node", "other_node"];
    assert_eq!(of("three clusters a package"), set(&clusters));
}

#[test]
fn a_large_machines_standard_run_has_pairs_of_caches_and_nodes_and_few_of_them_by_chance() {
    let _beside = beside();
    let machine = Machine::named("768 CPUs, NPS4");
    let host = machine.facts();
    let plan = fitted(&host, Profile::Standard);
    let measured: Vec<_> = plan.cases.iter().filter(|case| case.skip.is_none()).collect();
    let fact = |id: usize| &host.cpus[id];
    let pairs: Vec<[usize; 2]> = measured
        .iter()
        .filter(|case| case.id.probe == "cpu.core_to_core" && case.id.params.get("cpus").unwrap().contains('-'))
        .map(|case| [case.cpus[0], case.cpus[1]])
        .collect();
    let count =
        |of: &dyn Fn(&CpuFact, &CpuFact) -> bool| pairs.iter().filter(|pair| of(fact(pair[0]), fact(pair[1]))).count();
    let within = count(&|one, other| one.core.map(|core| core / 16) == other.core.map(|core| core / 16));
    let siblings = count(&|one, other| one.core == other.core);
    let same_package = count(&|one, other| one.package == other.package && one.node != other.node);
    assert!(siblings >= 4 && within - siblings >= 10 && same_package >= 10, "{siblings} {within} {same_package}");
    let nodes = measured.iter().filter(|case| case.id.probe == "memory.numa_latency").count();
    assert_eq!(nodes, 64);
}

#[test]
fn nodes_are_measured_with_each_other_also_where_large_caches_make_that_expensive() {
    let _beside = beside();
    let machine = Machine::named("three clusters a package");
    let plan = fitted(&machine.facts(), Profile::Standard);
    for probe in ["memory.numa_latency", "memory.numa_bandwidth"] {
        let of_probe = plan.cases.iter().filter(|case| case.id.probe == probe && case.skip.is_none());
        let pairs: Vec<&str> = of_probe.filter_map(|case| case.id.params.get("nodes")).collect();
        // Chains of 432 MiB: all pairs but the last few, and every node with the others.
        assert!(pairs.len() >= 30, "{probe}: {pairs:?}");
        let from: BTreeSet<&str> = pairs.iter().filter_map(|pair| pair.split('-').next()).collect();
        assert_eq!(from.len(), 6, "{probe}: {pairs:?}");
    }
}

#[test]
fn memory_beyond_the_last_cache_is_measured_on_every_machine_and_in_every_profile() {
    let _beside = beside();
    for machine in MACHINES.iter().filter(|machine| machine.l3_kib > 0 && machine.packages * machine.cores <= 128) {
        let host = machine.facts();
        for &profile in if host.cpus.len() > 16 { &PROFILES[..2] } else { &PROFILES } {
            let plan = fitted(&host, profile);
            let of_curve = plan.cases.iter().filter(|case| case.id.probe == "memory.latency" && case.skip.is_none());
            let largest = of_curve.filter_map(|case| case.id.params.get("size")?.parse::<u64>().ok()).max().unwrap();
            assert!(largest >= 2 * (machine.l3_kib << 10), "{} {profile:?}: {largest}", machine.name);
        }
    }
}

/// The size that is largest in the plan of a probe's cases, of one thread where it is a bandwidth.
fn largest_size(plan: &Plan, probe: &str) -> Option<u64> {
    let is_bandwidth = ["memory.read", "memory.write", "memory.copy"].contains(&probe);
    let of_probe = plan.cases.iter().filter(|case| case.id.probe == probe && case.skip.is_none());
    let alone = of_probe.filter(|case| !is_bandwidth || case.id.params.get("threads") == Some("1"));
    alone.filter_map(|case| case.id.params.get("size")?.parse().ok()).max()
}

#[test]
fn every_figure_of_memory_leaves_a_large_cache_that_is_reported() {
    let _beside = beside();
    for name in ["guest of 2", "guest of 2 told of 260 MiB", "guest of 2 told of 504 MiB", "desktop", "64 CPUs"] {
        let machine = Machine::named(name);
        let (host, cache) = (machine.facts(), machine.l3_kib << 10);
        for profile in PROFILES {
            let plan = fitted(&host, profile);
            // Of a cache of 504 MiB quick has the time for the curve and for what all CPUs do.
            let of_one_thread: &[&str] = match (profile, machine.l3_kib >> 10) {
                (Profile::Quick, 504) => &[],
                (Profile::Quick, _) => &["memory.read", "memory.write"],
                _ => &["memory.read", "memory.write", "memory.copy"],
            };
            let of_all = ["memory.scaling", "memory.loaded_latency"];
            for probe in of_all.iter().chain(of_one_thread) {
                let largest = largest_size(&plan, probe);
                assert!(largest >= Some(2 * cache), "{name} {profile:?} {probe}: {largest:?}");
            }
        }
    }
    // Ids follow from the host alone: another profile and another time have the same.
    let host = Machine::named("guest of 2 told of 260 MiB").facts();
    let sizes = PROFILES.map(|profile| {
        let plan = fitted(&host, profile);
        let default = plan.cases.iter().find(|case| case.id.probe == "memory.scaling" && case.is_default);
        default.unwrap().id.to_string()
    });
    assert!(sizes.iter().all(|id| *id == sizes[0] && id.contains("size=545259520")), "{sizes:?}");
}

#[test]
fn threads_of_a_large_machine_read_what_can_be_filled() {
    let _beside = beside();
    for name in ["768 CPUs, NPS4", "320 MiB caches"] {
        let host = Machine::named(name).facts();
        let plan = fitted(&host, Profile::Quick);
        let sizes = plan.cases.iter().filter(|case| case.id.probe == "memory.scaling" && case.is_default);
        assert!(
            sizes.clone().count() == 1 && sizes.clone().all(|case| case.id.params.get("size") == Some("67108864")),
            "{name}"
        );
    }
}

#[test]
fn threads_are_scattered_and_laid_compactly_where_that_differs() {
    let _beside = beside();
    let cases = |name: &str| -> Vec<(usize, String, Vec<usize>)> {
        let machine = Machine::named(name);
        let plan = fitted(&machine.facts(), Profile::Standard);
        let of_probe = plan.cases.iter().filter(|case| case.id.probe == "memory.scaling" && case.skip.is_none());
        let param =
            |case: &hostmark_engine::plan::PlannedCase, name: &str| case.id.params.get(name).unwrap().to_owned();
        of_probe
            .map(|case| (param(case, "threads").parse().unwrap(), param(case, "order"), case.cpus.clone()))
            .collect()
    };
    // One thread in each of the 16 caches, which lie on four nodes; near first they would all be in two.
    let caches = |order: &str| -> BTreeSet<usize> {
        let cases = cases("16 caches, NPS4");
        let (.., cpus) = cases.iter().find(|case| case.0 == 16 && case.1 == order).unwrap();
        cpus.iter().map(|cpu| cpu % 128 / 8).collect()
    };
    assert_eq!((caches("scatter").len(), caches("compact").len()), (16, 2));
    let two = cases("desktop");
    let cpus = |order: &str| two.iter().find(|case| case.0 == 2 && case.1 == order).map(|case| case.2.clone());
    let siblings = cpus("siblings").unwrap();
    assert_eq!(siblings[0] % 8, siblings[1] % 8);
    // One cache on one node: as far apart as near.
    assert_eq!((cpus("scatter"), cpus("compact").is_some()), (None, true));
    assert!(cases("guest of 2").iter().all(|case| case.1 == "compact"));
}

#[test]
fn a_quick_run_keeps_its_limit_on_every_machine_with_filling_and_warm_up() {
    let _beside = beside();
    const LIMIT: Duration = Duration::from_secs(60);
    for machine in MACHINES {
        let host = machine.facts();
        let plan = fitted(&host, Profile::Quick);
        for slower in [1.0, 4.0] {
            let (elapsed, rounds) = simulated(&plan, &host, |_| slower);
            assert!(elapsed < LIMIT, "{} {slower}: {elapsed:?}", machine.name);
            let has_few = |priority: Priority| {
                let cases = plan
                    .cases
                    .iter()
                    .zip(&rounds)
                    .filter(move |(case, _)| case.priority <= priority && case.skip.is_none());
                cases.filter(|(_, rounds)| **rounds < 3).map(|(case, _)| case.id.to_string()).collect::<Vec<_>>()
            };
            if slower <= 1.0 {
                assert_eq!(has_few(Priority::Cell), Vec::<String>::new(), "{} {slower}", machine.name);
            }
        }
    }
}

#[test]
fn where_time_is_short_what_reports_more_has_it() {
    let _beside = beside();
    let machine = Machine::named("64 CPUs");
    let host = machine.facts();
    let plan = fitted(&host, Profile::Quick);
    // Slow from the start, and slow when most cases have begun.
    for slower in [[3.0, 3.0], [1.0, 4.0]] {
        let (_, rounds) = simulated(&plan, &host, |round| slower[round.min(1) as usize]);
        let share = |of: &dyn Fn(Priority) -> bool| {
            let cases: Vec<usize> = plan
                .cases
                .iter()
                .zip(&rounds)
                .filter(|(case, _)| case.skip.is_none() && of(case.priority))
                .map(|(_, rounds)| *rounds)
                .collect();
            cases.iter().filter(|&&rounds| rounds >= 3).count() as f64 / cases.len() as f64
        };
        let (tables, further) =
            (share(&|priority| priority <= Priority::Cell), share(&|priority| priority > Priority::Cell));
        // What is in no table may have to do without: an interval of those in tables goes before a value of others.
        assert!(tables > 0.99 && further < 0.9, "{slower:?}: {tables} {further}");
    }
}
