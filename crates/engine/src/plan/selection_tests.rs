//! What derived probes bring along: no more of another probe than they need of it.

use hostmark_model::Profile;

use super::*;
use crate::fixture::{CATALOGUE, PLAIN, host, planned, request};
use crate::plan::{Plan, plan};
use crate::probe::{Axis, FullFactorial, Group, Points, Probe};

static SWEPT: Probe = Probe {
    axes: &[
        Axis::count("n", "2", Points::Listed { quick: &["1", "4"], standard: &[], thorough: &[] }),
        Axis::choice("way", "in", Points::Listed { quick: &["out"], standard: &[], thorough: &[] }),
        Axis::copies(Profile::Quick),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["n", "way"] }],
    replaces: &["lat_swept"],
    ..PLAIN
};
static SCALING: Probe = computed(&[Source::along("work.swept", &["copies"]), Source::along("work.plain", &["copies"])]);
static CURVE: Probe = computed(&[Source::along("work.swept", &["n"]), Source::along("work.other", &[])]);
static ALL: Probe = computed(&[Source::whole("work.swept")]);

const fn computed(from: &'static [Source]) -> Probe {
    Probe { measure: Measure::Derive { from, derive: |_, _| Vec::new() }, ..PLAIN }
}

static WORK: Catalogue = &[
    &Group { name: "sum", shares_worker: false, probes: &[("scaling", &SCALING), ("curve", &CURVE), ("all", &ALL)] },
    &Group { name: "work", shares_worker: false, probes: &[("swept", &SWEPT), ("plain", &PLAIN), ("other", &SWEPT)] },
];

fn of(filters: &[&str]) -> Plan {
    planned(WORK, filters, Profile::Quick)
}

fn ids(plan: &Plan) -> Vec<String> {
    plan.cases.iter().map(|case| case.id.to_string()).collect()
}

fn swept(points: &[&str]) -> Vec<String> {
    points.iter().map(|point| format!("work.swept@{point}")).collect()
}

const WHOLE: [&str; 6] = [
    "n=2,way=in,copies=1",
    "n=1,way=in,copies=1",
    "n=4,way=in,copies=1",
    "n=2,way=out,copies=1",
    "n=2,way=in,copies=2",
    "n=2,way=in,copies=4",
];

#[test]
fn only_what_is_needed_of_a_probe_is_brought_along() {
    let scaling = of(&["sum.scaling"]);
    let [default, .., two, four] = WHOLE;
    // The plain one has no such axis here, and so nothing to be compared.
    assert_eq!(ids(&scaling), swept(&[default, two, four]));
    assert_eq!(scaling.selected.iter().map(Entry::id).collect::<Vec<_>>(), ["sum.scaling", "work.swept"]);
    let [_, one, four, ..] = WHOLE;
    let other = "work.other@n=2,way=in,copies=1".to_owned();
    assert_eq!(ids(&of(&["sum.curve"])), [swept(&[default, one, four]), vec![other]].concat());
    assert_eq!(ids(&of(&["sum.all"])), swept(&WHOLE));
}

#[test]
fn the_needs_of_several_join_in_the_order_of_the_probes_own_cases() {
    let points = swept(&WHOLE);
    let needed: Vec<&String> = points.iter().filter(|id| !id.contains("way=out")).collect();
    let both = ids(&of(&["sum.curve", "sum.scaling"]));
    assert_eq!(both[..5].iter().collect::<Vec<_>>(), needed);
    assert_eq!(ids(&of(&["sum"]))[..6], points);
}

#[test]
fn what_is_asked_for_is_whole_and_comes_in_its_order() {
    for filters in [&["sum.scaling", "work.swept"][..], &["work.swept", "sum.scaling"], &["lat_swept", "sum.scaling"]] {
        assert_eq!(ids(&of(filters))[..6], swept(&WHOLE));
    }
    // A case apart comes with those that are needed, at its place; one that was not planned, last.
    let points = ids(&of(&["sum.scaling", "work.swept@way=out", "work.swept@n=3"]));
    let [default, _, _, out, two, four] = WHOLE;
    assert_eq!(points[..5], swept(&[default, out, two, four, "n=3,way=in,copies=1"]));
    // Without a filter nothing is left out, and a longer profile brings along no product that nobody needs.
    assert_eq!(ids(&planned(WORK, &[], Profile::Quick)).len(), 13);
    assert_eq!(ids(&planned(WORK, &["sum.scaling"], Profile::Thorough)), ids(&of(&["sum.scaling"])));
}

#[test]
fn a_run_says_what_it_measured_for_the_sake_of_others_alone() {
    let brought = |plan: &Plan| -> Vec<(String, Vec<String>)> {
        plan.probes().into_iter().map(|probe| (probe.id, probe.brought_by)).collect()
    };
    let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        brought(&of(&["sum.scaling", "sum.curve", "work.plain"])),
        [
            ("sum.scaling".to_owned(), vec![]),
            ("sum.curve".to_owned(), vec![]),
            ("work.swept".to_owned(), named(&["sum.scaling", "sum.curve"])),
            ("work.plain".to_owned(), vec![]),
            ("work.other".to_owned(), named(&["sum.curve"])),
        ]
    );
    assert!(brought(&planned(WORK, &[], Profile::Quick)).iter().all(|(_, by)| by.is_empty()));
}

#[test]
fn where_an_axis_is_set_its_first_value_stands_for_the_default() {
    let mut request = request(&["sum.scaling"], Profile::Quick);
    request.set = vec!["n=7,8".into()];
    let plan = plan(WORK, &host(), request).unwrap();
    assert_eq!(ids(&plan)[..3], swept(&["n=7,way=in,copies=1", "n=7,way=in,copies=2", "n=7,way=in,copies=4"]));
}

#[test]
fn a_derived_probe_selects_what_it_stands_on() {
    let plan = planned(CATALOGUE, &["memory.hierarchy"], Profile::Quick);
    assert_eq!(ids(&plan), ids(&planned(CATALOGUE, &["memory.latency"], Profile::Quick)));
    let selected: Vec<String> = plan.selected.iter().map(Entry::id).collect();
    assert_eq!(selected, ["memory.hierarchy", "memory.latency"]);
    assert_eq!(plan.derived.iter().map(Entry::id).collect::<Vec<_>>(), ["memory.hierarchy"]);
    // A point that was asked for beside it comes on top.
    let with_point = ids(&planned(CATALOGUE, &["memory.hierarchy", "memory.latency@size=48K"], Profile::Quick));
    assert_eq!(with_point.len(), 6);
    assert_eq!(with_point[0], "memory.latency@size=65536,pattern=random");
}

#[test]
fn a_filter_that_is_said_again_costs_nothing() {
    let filters = vec!["memory".to_owned(); 1000];
    assert_eq!(Selection::parse(CATALOGUE, &filters).unwrap().filters.len(), 1);
    let filters = ["n=2,way=in", "way=in,n=2", "way=in,n=2,way=in"].map(|pairs| format!("work.swept@{pairs}"));
    assert_eq!(Selection::parse(WORK, &filters).unwrap().filters.len(), 1);
}

#[test]
fn filters_that_pick_the_same_cases_keep_each_of_them_once() {
    let filters = ["", "@n=2", "@way=in", "@copies=1", "@n=2,way=in", "@n=9", "@n=9,way=in"];
    let filters = filters.map(|pairs| format!("work.swept{pairs}"));
    let selection = Selection::parse(WORK, &filters).unwrap();
    let [entry, ..] = crate::plan::pick(WORK, &filters).unwrap()[..] else { panic!("no probe") };
    let planned: Vec<Params> = of(&["work.swept"]).cases.into_iter().map(|case| case.id.params).collect();
    let points = selection.points(&entry, &planned, &host());
    // The two that have no case here are points beyond, of which the plan takes one.
    assert_eq!(points[..planned.len()], planned);
    assert_eq!(points.len(), planned.len() + 2);
}
