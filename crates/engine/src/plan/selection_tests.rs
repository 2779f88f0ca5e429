//! Sources of derived probes: no more of another probe than they need of it.

use hostmark_model::Profile;

use super::*;
use crate::fixture::{CATALOGUE, PLAIN, WORDS, host, ids, params, planned, request};
use crate::plan::{Plan, PlanError, plan};
use crate::probe::{Axis, Catalogue, FullFactorial, Group, Points, Probe};

static SWEPT: Probe = Probe {
    axes: &[
        Axis::count("n", "2", Points::quick(&["1", "4"])),
        Axis::choice("way", "in", Points::quick(&["out"])),
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

static TYPED: Probe = Probe {
    axes: &[
        Axis::size("footprint", "0", Points::quick(&["0", "16384"])),
        Axis::size("small", "4096", Points::quick(&["0"])),
        Axis::size("size", "4096", Points::quick(&["65536"])),
        Axis::choice("stride", "64", Points::quick(&["64", "4096", "random"])),
        Axis::choice("block", "1k", Points::quick(&["1k", "4k"])),
    ],
    ..PLAIN
};

static PRODUCT: Probe = Probe {
    axes: &[Axis::size("rows", "1", Points::quick(&["2"])), Axis::size("columns", "1", Points::quick(&["2"]))],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["rows", "columns"] }],
    ..PLAIN
};

/// A probe whose values may be typed in several ways, and one of two axes of which every combination is measured.
static SIZES: Catalogue =
    &[&Group { name: "typed", shares_worker: false, probes: &[("sizes", &TYPED), ("product", &PRODUCT)] }];

#[test]
fn more_cases_than_anybody_measures_are_refused() {
    let values = |axis: &str, most: usize| {
        let values: Vec<String> = (1..=most).map(|value| value.to_string()).collect();
        format!("{axis}={}", values.join(","))
    };
    let planned = |set: Vec<String>| {
        let request = crate::plan::Request { set, ..request(&["typed.product"], Profile::Quick) };
        plan(SIZES, &host(), request).map(|plan| plan.cases.len()).map_err(|error| error.to_string())
    };
    assert_eq!(planned(vec![values("rows", 9), values("columns", 9)]), Ok(81));
    // A product that would take hours, and terabytes, before anybody counted it.
    for set in [vec![values("rows", 50_000), values("columns", 50_000)], vec![values("rows", (1 << 16) + 1)]] {
        let refused = planned(set).unwrap_err();
        assert_eq!(refused, "typed.product brings the plan to more than 20000 cases; name fewer values by --set");
    }
}

#[test]
fn a_value_is_the_same_however_it_is_typed() {
    let set = |set: &str| {
        let plan =
            plan(SIZES, &host(), crate::plan::Request { set: vec![set.to_owned()], ..request(&[], Profile::Quick) });
        plan.map(|plan| plan.bases["typed.sizes"].clone()).map_err(|error| error.to_string())
    };
    for (typed, axis, value) in [
        ("footprint=0", "footprint", "0"),
        ("footprint=0K", "footprint", "0"),
        ("footprint=0g", "footprint", "0"),
        ("footprint=00", "footprint", "0"),
        ("footprint=16k", "footprint", "16384"),
        ("small=0M", "small", "0"),
        ("stride=4K", "stride", "4096"),
        ("stride=064", "stride", "64"),
        ("block=1024", "block", "1k"),
        ("block=4K", "block", "4k"),
    ] {
        assert_eq!(set(typed).map(|base| base.get(axis).map(str::to_owned)), Ok(Some(value.to_owned())), "{typed}");
    }
    // Nothing is no size where the probe has no such point, and what is near a name is none.
    for typed in ["size=0", "size=0K", "stride=128", "stride=K", "stride=RANDOM", "block=k"] {
        assert!(set(typed).unwrap_err().contains(" for typed.sizes; use "), "{typed}");
    }
}

fn with(filters: &[&str], set: &[&str]) -> Result<Plan, PlanError> {
    let mut request = request(filters, Profile::Quick);
    request.set = set.iter().map(|&set| set.to_owned()).collect();
    plan(CATALOGUE, &host(), request)
}

fn set_ids(filters: &[&str], set: &[&str]) -> Vec<String> {
    ids(&with(filters, set).unwrap())
}

#[test]
fn what_is_set_replaces_the_points_of_its_axis_and_its_first_value_stands_for_a_default_that_is_not_among_them() {
    let replaced = [
        "memory.latency@size=65536,pattern=random",
        "memory.latency@size=4096,pattern=random",
        "memory.latency@size=1048576,pattern=random",
        "memory.latency@size=65536,pattern=in_page",
    ];
    assert_eq!(set_ids(&["memory.latency"], &["size=1M,64K,4k,4096"]), replaced);
    let set = ["size=1M,4K"];
    let cases = [
        "memory.latency@size=1048576,pattern=random",
        "memory.latency@size=4096,pattern=random",
        "memory.latency@size=1048576,pattern=in_page",
    ];
    assert_eq!(set_ids(&["memory.latency"], &set), cases);
    let plan = with(&["memory.latency"], &set).unwrap();
    assert_eq!(plan.cases.iter().map(|case| case.is_default).collect::<Vec<_>>(), [true, false, false]);
    // A reader of the run finds where the others were swept.
    assert_eq!(plan.probes()[0].axes[0].default, "1048576");
    assert_eq!(with(&["memory.latency"], &["size=64K,1M"]).unwrap().probes()[0].axes[0].default, "65536");
}

#[test]
fn axes_that_may_be_crossed_are_crossed_when_all_of_them_are_set() {
    let cases = [
        "memory.latency@size=4096,pattern=64",
        "memory.latency@size=1048576,pattern=64",
        "memory.latency@size=4096,pattern=random",
        "memory.latency@size=1048576,pattern=random",
    ];
    let mut full = set_ids(&["memory.latency"], &["size=4K,1M", "memory.latency:pattern=64,random"]);
    full.sort();
    let mut wanted = cases.map(str::to_owned);
    wanted.sort();
    assert_eq!(full, wanted);
    // One of them alone sweeps, and so do axes whose combinations no probe measures.
    assert_eq!(set_ids(&["memory.latency"], &["size=4K,1M"]).len(), 3);
    assert_eq!(set_ids(&["memory.stream"], &["threads=1,2", "passes=3,4"]).len(), 3);
}

#[test]
fn the_closest_name_counts() {
    let set = ["size=4K", "memory:size=8K", "memory.latency:size=16K"];
    for (count, size) in [(1, 4096), (2, 8192), (3, 16384)] {
        let first = &set_ids(&["memory.latency"], &set[..count])[0];
        assert_eq!(*first, format!("memory.latency@size={size},pattern=random"));
    }
    assert_eq!(
        set_ids(&["net", "memory.latency"], &["lat_mem_rd:pattern=64"])[0],
        "memory.latency@size=65536,pattern=64"
    );
    assert_eq!(
        set_ids(&["memory.latency@pattern=in_page"], &["size=4K"]),
        ["memory.latency@size=4096,pattern=in_page"]
    );
}

#[test]
fn a_thread_count_that_the_host_lacks_is_skipped_with_the_reason() {
    let plan = with(&["memory.stream"], &["threads=1,64", "passes=3"]).unwrap();
    let skips: Vec<Option<&str>> = plan.cases.iter().map(|case| case.skip.as_deref()).collect();
    assert_eq!(skips, [None, Some("needs 64 CPUs, and may use 4 here")]);
    assert!(plan.cases.iter().all(|case| case.id.params.get("passes") == Some("3")));
}

#[test]
fn a_source_that_a_derived_probe_selected_can_be_set() {
    let ids = set_ids(&["memory.hierarchy"], &["memory.latency:size=4K"]);
    assert!(ids.iter().all(|id| id.starts_with("memory.latency@size=4096,")), "{ids:?}");
}

#[test]
fn what_cannot_be_set_is_refused_with_what_can() {
    for (filters, set, sentence) in [
        (
            &["memory.latency"][..],
            &["size"][..],
            "'size' is not of the form [PROBE:]AXIS=V1,V2; write --set size=4K,1M or --set memory.read:size=4K",
        ),
        (
            &[],
            &["=4K"],
            "'=4K' is not of the form [PROBE:]AXIS=V1,V2; write --set size=4K,1M or --set memory.read:size=4K",
        ),
        (&[], &["zzz:size=4K"], "no probe is called 'zzz'; hostmark list shows all"),
        (
            &["memory.latency"],
            &["size=4K,x"],
            "invalid size 'x' for memory.latency; use bytes, as 4096, 32K, 64M or 1G",
        ),
        (&["memory.latency"], &["size="], "invalid size '' for memory.latency; use bytes, as 4096, 32K, 64M or 1G"),
        (
            &["memory.latency"],
            &["pattern=rand"],
            "invalid pattern 'rand' for memory.latency; use in_page, random, stride, 64",
        ),
        (&["memory.latency"], &["memory.latency:colour=1"], "memory.latency has no axis 'colour'; use size, pattern"),
        (&["memory"], &["colour=1"], "no selected probe has an axis 'colour'; use size, pattern, threads, passes"),
        (
            &["net.tcp"],
            &["size=4K"],
            "--set size=4K is for no selected probe; select one that has this axis, or leave it out",
        ),
        (
            &["net.tcp"],
            &["memory:size=4K"],
            "--set memory:size=4K is for no selected probe; select one that has this axis, or leave it out",
        ),
        (
            &["memory"],
            &["size=4K", "size=8K"],
            "--set size=4K and --set size=8K set the same axis; give all its values in one",
        ),
    ] {
        let Err(error) = with(filters, set) else { panic!("{set:?}") };
        assert_eq!(error.to_string(), sentence);
    }
}

fn cell(probe: &str, at: &[(&str, &str)]) -> CaseId {
    CaseId { probe: probe.into(), params: params(at) }
}

fn planned_cells(cells: &[CaseId], set: &[&str], profile: Profile) -> Plan {
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
        let plan = planned_cells(&cells, &[], profile);
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
        ids(&planned_cells(&cells, &["pattern=in_page"], Profile::Quick)),
        ["memory.latency@size=8192,pattern=in_page"]
    );
}

#[test]
fn a_computed_cell_brings_what_it_is_computed_from() {
    let plan = planned_cells(&[cell("memory.hierarchy", &[("level", "l1d")])], &[], Profile::Quick);
    assert_eq!(plan.derived.iter().map(Entry::id).collect::<Vec<_>>(), ["memory.hierarchy"]);
    assert!(ids(&plan).len() > 3 && ids(&plan).iter().all(|id| id.starts_with("memory.latency@")), "{:?}", ids(&plan));
}

#[test]
fn each_point_of_an_axis_is_a_cell_and_a_word_stands_for_its_number() {
    let plan = planned_cells(&[cell("ipc.pipe", &[("cpus", EACH_POINT)])], &[], Profile::Quick);
    assert!(ids(&plan).len() > 3 && ids(&plan).contains(&"ipc.pipe@cpus=other_node".to_owned()), "{:?}", ids(&plan));
    let words = [cell("words.all", &[("threads", "all")])];
    let plan = plan_table(WORDS, &host(), request(&[], Profile::Quick), &words).unwrap();
    assert_eq!(ids(&plan), ["words.all@threads=4,elements=2097152"]);
}

#[test]
fn a_cell_without_a_probe_or_an_axis_is_refused() {
    let refused = |cell| plan_table(CATALOGUE, &host(), request(&[], Profile::Quick), &[cell]).err().unwrap();
    assert_eq!(refused(cell("memory.no", &[])), PlanError::UnknownProbe("memory.no".into(), None));
    let refused = refused(cell("ipc.pipe", &[("size", EACH_POINT)])).to_string();
    assert!(refused.starts_with("ipc.pipe has no axis 'size'; use "), "{refused}");
}
