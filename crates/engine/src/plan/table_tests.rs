//! A table's plan: its cells, what they are computed from, and nothing else.

use hostmark_model::Profile;

use super::*;
use crate::fixture::{CATALOGUE, WORDS, host, params, request};

fn cell(probe: &str, at: &[(&str, &str)]) -> CaseId {
    CaseId { probe: probe.into(), params: params(at) }
}

fn ids(plan: &Plan) -> Vec<String> {
    plan.cases.iter().map(|case| case.id.to_string()).collect()
}

fn planned(cells: &[CaseId], set: &[&str], profile: Profile) -> Plan {
    let set = set.iter().map(|&set| set.to_owned()).collect();
    plan_table(CATALOGUE, &host(), Request { set, ..request(&[], profile) }, cells).unwrap()
}

#[test]
fn a_cell_is_one_case_whatever_the_profile_sweeps_beside_it() {
    // Of the default's size and pattern the stars have other cases as well; 48 KiB is in none.
    let cells = [
        cell("memory.latency", &[("size", "65536")]),
        cell("memory.latency", &[("size", "49152"), ("pattern", "64")]),
        cell("net.tcp", &[]),
    ];
    for profile in [Profile::Quick, Profile::Standard, Profile::Thorough] {
        let plan = planned(&cells, &[], profile);
        let wanted = ["memory.latency@size=65536,pattern=random", "memory.latency@size=49152,pattern=64", "net.tcp"];
        assert_eq!(ids(&plan), wanted, "{profile:?}");
        assert!(plan.cases.iter().all(|case| case.priority <= Priority::Cell), "{profile:?}");
        // What a run file says was typed.
        assert!(plan.request.filters.is_empty());
    }
}

#[test]
fn what_is_set_stands_on_the_axes_that_a_cell_does_not_name() {
    let cells = [cell("memory.latency", &[("size", "8192")])];
    assert_eq!(
        ids(&planned(&cells, &["pattern=in_page"], Profile::Quick)),
        ["memory.latency@size=8192,pattern=in_page"]
    );
}

#[test]
fn a_computed_cell_brings_what_it_is_computed_from() {
    let plan = planned(&[cell("memory.hierarchy", &[("level", "l1d")])], &[], Profile::Quick);
    assert_eq!(plan.derived.iter().map(Entry::id).collect::<Vec<_>>(), ["memory.hierarchy"]);
    assert!(ids(&plan).len() > 3 && ids(&plan).iter().all(|id| id.starts_with("memory.latency@")), "{:?}", ids(&plan));
}

#[test]
fn each_point_of_an_axis_is_a_cell_and_a_word_stands_for_its_number() {
    let plan = planned(&[cell("ipc.pipe", &[("cpus", EACH_POINT)])], &[], Profile::Quick);
    assert!(ids(&plan).len() > 3 && ids(&plan).contains(&"ipc.pipe@cpus=other_node".to_owned()), "{:?}", ids(&plan));
    let words = [cell("words.all", &[("threads", "all")])];
    let plan = plan_table(WORDS, &host(), request(&[], Profile::Quick), &words).unwrap();
    assert_eq!(ids(&plan), ["words.all@threads=4,elements=2097152"]);
}

#[test]
fn a_cell_without_a_probe_or_an_axis_is_refused() {
    let refused = |cell| plan_table(CATALOGUE, &host(), request(&[], Profile::Quick), &[cell]).err().unwrap();
    assert!(matches!(refused(cell("memory.no", &[])), PlanError::UnknownProbe { .. }));
    assert!(matches!(refused(cell("ipc.pipe", &[("size", EACH_POINT)])), PlanError::UnknownAxis { .. }));
}
