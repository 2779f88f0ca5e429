//! Points as a person sets them: what they replace, where the others are swept, and what is refused.

use hostmark_model::Profile;

use crate::fixture::{CATALOGUE, PLAIN, host, request};
use crate::plan::{Plan, PlanError, plan};
use crate::probe::{Axis, Catalogue, FullFactorial, Group, Points, Probe};

const fn listed(quick: &'static [&'static str]) -> Points {
    Points::Listed { quick, standard: &[], thorough: &[] }
}

static TYPED: Probe = Probe {
    axes: &[
        Axis::size("footprint", "0", listed(&["0", "16384"])),
        Axis::size("small", "4096", listed(&["0"])),
        Axis::size("size", "4096", listed(&["65536"])),
        Axis::choice("stride", "64", listed(&["64", "4096", "random"])),
        Axis::choice("block", "1k", listed(&["1k", "4k"])),
    ],
    ..PLAIN
};

static PRODUCT: Probe = Probe {
    axes: &[Axis::size("rows", "1", listed(&["2"])), Axis::size("columns", "1", listed(&["2"]))],
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
        assert_eq!(refused, "typed.product brings the plan to more than 65536 cases; name fewer values by --set");
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
        assert!(set(typed).unwrap_err().contains("is no value of typed.sizes's axis"), "{typed}");
    }
}

fn with(filters: &[&str], set: &[&str]) -> Result<Plan, PlanError> {
    let mut request = request(filters, Profile::Quick);
    request.set = set.iter().map(|&set| set.to_owned()).collect();
    plan(CATALOGUE, &host(), request)
}

fn ids(filters: &[&str], set: &[&str]) -> Vec<String> {
    with(filters, set).unwrap().cases.iter().map(|case| case.id.to_string()).collect()
}

#[test]
fn what_is_set_replaces_the_points_of_the_axis_and_no_other() {
    assert_eq!(
        ids(&["memory.latency"], &["size=1M,64K,4k,4096"]),
        [
            "memory.latency@size=65536,pattern=random",
            "memory.latency@size=4096,pattern=random",
            "memory.latency@size=1048576,pattern=random",
            "memory.latency@size=65536,pattern=in_page",
        ]
    );
}

#[test]
fn the_first_value_stands_for_a_default_that_is_not_among_them() {
    let set = ["size=1M,4K"];
    let cases = [
        "memory.latency@size=1048576,pattern=random",
        "memory.latency@size=4096,pattern=random",
        "memory.latency@size=1048576,pattern=in_page",
    ];
    assert_eq!(ids(&["memory.latency"], &set), cases);
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
    let mut full = ids(&["memory.latency"], &["size=4K,1M", "memory.latency:pattern=64,random"]);
    full.sort();
    let mut wanted = cases.map(str::to_owned);
    wanted.sort();
    assert_eq!(full, wanted);
    // One of them alone sweeps, and so do axes whose combinations no probe measures.
    assert_eq!(ids(&["memory.latency"], &["size=4K,1M"]).len(), 3);
    assert_eq!(ids(&["memory.stream"], &["threads=1,2", "passes=3,4"]).len(), 3);
}

#[test]
fn the_closest_name_counts() {
    let set = ["size=4K", "memory:size=8K", "memory.latency:size=16K"];
    for (count, size) in [(1, 4096), (2, 8192), (3, 16384)] {
        let first = &ids(&["memory.latency"], &set[..count])[0];
        assert_eq!(*first, format!("memory.latency@size={size},pattern=random"));
    }
    assert_eq!(ids(&["net", "memory.latency"], &["lat_mem_rd:pattern=64"])[0], "memory.latency@size=65536,pattern=64");
    assert_eq!(ids(&["memory.latency@pattern=in_page"], &["size=4K"]), ["memory.latency@size=4096,pattern=in_page"]);
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
    let ids = ids(&["memory.hierarchy"], &["memory.latency:size=4K"]);
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
            "'x' is no value of memory.latency's axis size; use bytes, as 4096, 32K, 64M or 1G",
        ),
        (
            &["memory.latency"],
            &["size="],
            "'' is no value of memory.latency's axis size; use bytes, as 4096, 32K, 64M or 1G",
        ),
        (
            &["memory.latency"],
            &["pattern=rand"],
            "'rand' is no value of memory.latency's axis pattern; use in_page, random, stride, 64",
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
