//! Choice of cases where time is short.

use hostmark_model::{CpuFact, Profile};

use super::*;
use crate::fixture::{CATALOGUE, MANY, PLAIN, host, planned, request};
use crate::plan::plan;
use crate::probe::{Axis, Catalogue, Fill, FullFactorial, Group, Need, Points, Probe};

fn sizes(_: &HostFacts, _: Profile) -> Vec<u64> {
    (1..=150).map(|step| step * 4096).collect()
}

const SIZE: Axis = Axis::size("size", "4096", Points::OfHost(sizes));
const PAGE: Axis = Axis::choice("page", "base", Points::quick(&["pmd"]).standard(&["huge"]));

/// 300 cases in the quick profile: the default, 149 more of a curve, and 150 beside another choice. The largest fills 490 MB.
static WIDE: Probe = Probe {
    axes: &[SIZE.fills(Fill::InAll(800)), PAGE],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["size", "page"] }],
    ..PLAIN
};
static ROOT: Probe = Probe { needs: &[Need::Root], ..PLAIN };
static OVERFULL: Catalogue = &[
    &Group { name: "wide", shares_worker: false, probes: &[("memory", &WIDE)] },
    &Group { name: "late", shares_worker: false, probes: &[("root", &ROOT), ("plain", &PLAIN)] },
];

fn fitted(catalogue: Catalogue, host: &HostFacts, profile: Profile, cells: &[TableCell]) -> Plan {
    let mut plan = plan(catalogue, host, request(&[], profile)).unwrap();
    plan.fit(host, &[], cells);
    plan
}

fn no_root() -> HostFacts {
    let mut host = host();
    host.limits.is_root = Some(false);
    host
}

fn is_dropped(case: &PlannedCase) -> bool {
    case.skip == Some(no_time())
}

#[test]
fn what_the_time_does_not_hold_is_skipped_and_never_a_default_or_a_cell() {
    let cell = TableCell { probe: "wide.memory", at: &[("size", "614400"), ("page", "pmd")] };
    let plan = fitted(OVERFULL, &no_root(), Profile::Quick, &[cell]);
    assert_eq!(plan.cases.len(), 302);
    let (dropped, measured): (Vec<&PlannedCase>, Vec<&PlannedCase>) =
        plan.cases.iter().partition(|case| is_dropped(case));
    assert!(dropped.len() > 100 && measured.len() > 80, "{} of {}", dropped.len(), plan.cases.len());
    // The dearest case of all is there, as it is a cell; of the others the dearest ones go.
    assert!(measured.iter().any(|case| case.id.to_string() == "wide.memory@size=614400,page=pmd"));
    let most_expensive = |page: &str| {
        let kept =
            measured.iter().filter(|case| case.priority > Priority::Cell && case.id.params.get("page") == Some(page));
        kept.map(|case| case.set_up).max().unwrap()
    };
    // Points of the curve may cost several times as much as others.
    assert!(
        most_expensive("base") > 2 * most_expensive("pmd"),
        "{:?} {:?}",
        most_expensive("base"),
        most_expensive("pmd")
    );
    assert!(dropped.iter().all(|case| case.priority > Priority::Cell));
    // What could not be measured anyway takes no time, and keeps its own reason.
    let root = plan.cases.iter().find(|case| case.id.probe == "late.root").unwrap();
    assert_eq!(root.skip.as_deref(), Some("needs root"));
    // What stays fits, with all rounds and the samples that a plan has room for.
    let taken: Duration =
        measured.iter().filter(|case| case.skip.is_none()).map(|case| TimeBudget::planned(5, case.set_up)).sum();
    assert!(taken <= Duration::from_secs(57) && taken > Duration::from_secs(50), "{taken:?}");
    assert!(fitted(CATALOGUE, &host(), Profile::Quick, &[]).cases.iter().all(|case| !is_dropped(case)));
}

#[test]
fn curves_come_before_choices_and_a_shorter_profile_before_what_a_longer_one_adds() {
    let plan = fitted(OVERFULL, &no_root(), Profile::Standard, &[]);
    let sequence: Vec<&PlannedCase> = plan.by_priority().into_iter().map(|index| &plan.cases[index]).collect();
    let place = |id: &str| sequence.iter().position(|case| case.id.to_string() == id).unwrap();
    let ids = ["size=4096,page=base", "size=8192,page=base", "size=4096,page=pmd", "size=4096,page=huge"];
    let places = ids.map(|id| place(&format!("wide.memory@{id}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(sequence[..2].iter().all(|case| case.is_default));
    // A product tells less than either of its axes, and a dear point of the curve comes after a cheap choice.
    assert!(place("wide.memory@size=8192,page=pmd") > places[2]);
    let expensive = place("wide.memory@size=614400,page=base");
    assert!(expensive > places[2] && expensive < places[3], "{expensive} {places:?}");
}

#[test]
fn a_cell_that_is_computed_brings_the_curve_that_it_is_made_of() {
    let plan = fitted(CATALOGUE, &host(), Profile::Standard, &[TableCell { probe: "memory.hierarchy", at: &[] }]);
    let cells: Vec<String> =
        plan.cases.iter().filter(|case| case.priority == Priority::Cell).map(|case| case.id.to_string()).collect();
    assert!(cells.len() >= 3 && cells.iter().all(|id| id.starts_with("memory.latency@")), "{cells:?}");
    // No more of it than the quick profile has.
    assert!(!cells.iter().any(|id| id.contains("pattern=stride")), "{cells:?}");
    let none = fitted(CATALOGUE, &host(), Profile::Quick, &[TableCell { probe: "no.such", at: &[] }]);
    assert!(none.cases.iter().all(|case| case.priority != Priority::Cell));
}

#[test]
fn what_many_threads_fill_is_forecast() {
    let threads: fn(&HostFacts, Profile) -> Vec<u64> = |host, _| vec![1, host.usable_cpus().len() as u64];
    let each = Box::leak(Box::new(Probe {
        axes: Box::leak(Box::new([
            Axis::size("size", "67108864", Points::quick(&[])).fills(Fill::EachThread(1)),
            Axis::threads("threads", Points::OfHost(threads)),
        ])),
        ..PLAIN
    }));
    let probes: &'static [(&'static str, &'static Probe)] = Box::leak(Box::new([("read", &*each)]));
    let group: &'static Group = Box::leak(Box::new(Group { name: "memory", shares_worker: false, probes }));
    let catalogue: Catalogue = Box::leak(Box::new([group]));
    let mut host = host();
    let cpu = host.cpus[0].clone();
    host.cpus = (0..768).map(|id| CpuFact { id, siblings: vec![id], ..cpu.clone() }).collect();
    let set_up = |host: &HostFacts| {
        let plan = fitted(catalogue, host, Profile::Quick, &[]);
        [plan.cases[0].set_up, plan.cases[1].set_up].map(|time| time.as_secs_f64())
    };
    // 48 GiB on one node take seconds; eight nodes fill them side by side.
    let [one, all] = set_up(&host);
    assert!(one < 0.1 && (1.0..3.0).contains(&all), "{one} {all}");
    let node = host.nodes[0].clone();
    host.nodes = (0..8).map(|id| hostmark_model::NodeFact { id, ..node.clone() }).collect();
    assert!(set_up(&host)[1] < all / 4.0);
}

#[test]
fn a_command_has_no_limit_to_fit() {
    let mut plan = planned(MANY, &[], Profile::Quick);
    plan.request.inputs.command = vec!["make".into()];
    plan.cases.iter_mut().for_each(|case| case.set_up = Duration::from_secs(60));
    plan.fit(&host(), &[], &[]);
    assert!(plan.cases.iter().all(|case| case.skip.is_none()));
}

#[test]
fn a_small_plan_has_what_a_case_may_take_and_a_large_one_shares_the_limit() {
    let plan = planned(CATALOGUE, &["net", "ipc.pipe@cpus=other_node"], Profile::Quick);
    let small = Eta::of(&plan);
    assert_eq!((small.cases, small.rounds, small.least_rounds), (2, 5, 5));
    assert_eq!(small.samples, Duration::from_millis(100));
    assert!(small.fits() && small.in_all() < Duration::from_secs(2));
    assert!(small.of_cases(&plan, &planned(CATALOGUE, &["net"], Profile::Quick).cases) <= small.in_all());
    let large = Eta::of(&planned(MANY, &[], Profile::Quick));
    assert_eq!(large.cases, 200);
    assert!(large.in_all() <= Duration::from_secs(57) && large.in_all() > Duration::from_secs(55));
}
