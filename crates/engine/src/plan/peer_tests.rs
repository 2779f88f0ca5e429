//! Runs with peers: which cases go there, and what those of other runs look like.

use hostmark_model::{Inputs, Profile};

use super::*;
use crate::fixture::{PLAIN, host, ids, request};
use crate::probe::{Group, Probe};
static BETWEEN: Probe = Probe {
    axes: &[
        Axis::count("n", "2", Points::quick(&["1"])),
        Axis::choice("way", "in", Points::quick(&["in"]).standard(&["out"])).of_links(),
        Axis::near_and_free("cpus"),
        Axis::copies(Profile::Quick),
    ],
    ..crate::fixture::BETWEEN
};
static NET: Catalogue =
    &[&Group { name: "net", shares_worker: false, probes: &[("between", &BETWEEN), ("alone", &PLAIN)] }];

fn planned(filters: &[&str], set: &[&str], peers: &[&str], profile: Profile) -> Result<Plan, PlanError> {
    let inputs = Inputs { peers: peers.iter().map(|&peer| peer.to_owned()).collect(), ..Inputs::default() };
    let set = set.iter().map(|&set| set.to_owned()).collect();
    plan(NET, &host(), Request { inputs, set, ..request(filters, profile) })
}

#[test]
fn without_peers_no_case_knows_of_them() {
    let plan = planned(&["net"], &[], &[], Profile::Standard).unwrap();
    assert!(ids(&plan).iter().all(|id| !id.contains("to=") && !id.contains("ip=")), "{:?}", ids(&plan));
    assert!(plan.probes().iter().all(|probe| probe.axes.iter().all(|axis| axis.name != "to" && axis.name != "ip")));
}

#[test]
fn each_peer_has_a_default_of_its_own_and_no_placement_of_one_machine() {
    let plan = planned(&["net"], &[], &["a", "b"], Profile::Quick).unwrap();
    for peer in ["a", "b"] {
        let there: Vec<&PlannedCase> =
            plan.cases.iter().filter(|case| case.id.params.get("to") == Some(peer)).collect();
        let shown: Vec<String> = there.iter().map(|case| case.id.to_string()).collect();
        assert_eq!(
            shown,
            [
                format!("net.between@n=2,way=in,cpus=two_hosts,copies=1,to={peer},ip=any"),
                format!("net.between@n=1,way=in,cpus=two_hosts,copies=1,to={peer},ip=any"),
                format!("net.between@n=2,way=in,cpus=free,copies=1,to={peer},ip=any"),
                format!("net.between@n=2,way=out,cpus=two_hosts,copies=1,to={peer},ip=any"),
            ]
        );
        assert!(
            there[0].is_default
                && there[0].priority == Priority::Default
                && !there[1].is_default
                && !there[2].is_default
        );
        assert!(there.iter().all(|case| case.skip.is_none()) && there[0].cpus.len() == 1);
    }
    let here = plan.cases.iter().filter(|case| case.id.params.get("to") == Some("here"));
    // What tells of links is there from quick on where there is one.
    assert!(here.clone().all(|case| case.id.params.get("way") == Some("in")));
    assert!(here.clone().count() > 3 && here.clone().filter(|case| case.is_default).count() == 1);
    // What has no far half stays as it is.
    assert!(plan.cases.iter().any(|case| case.id.to_string() == "net.alone"), "{:?}", ids(&plan));
}

#[test]
fn longer_profiles_go_by_both_versions_of_the_protocol() {
    let plan = planned(&["net.between@to=a"], &[], &["a"], Profile::Standard).unwrap();
    let ways: Vec<_> = plan.cases.iter().filter_map(|case| case.id.params.get("ip")).collect();
    assert!(ways.contains(&"4") && ways.contains(&"6"), "{ways:?}");
    let plan = planned(&["net.between"], &[], &["a"], Profile::Standard).unwrap();
    let here = plan.cases.iter().filter(|case| case.id.params.get("to") == Some("here"));
    assert!(here.into_iter().all(|case| case.id.params.get("ip") == Some("any")));
}

#[test]
fn filters_and_sets_choose_among_them() {
    let to = |filters: &[&str], set: &[&str]| {
        let plan = planned(filters, set, &["a", "b"], Profile::Quick).unwrap();
        let mut to: Vec<String> =
            plan.cases.iter().filter_map(|case| Some(case.id.params.get("to")?.to_owned())).collect();
        to.dedup();
        to
    };
    assert_eq!(to(&["net"], &[]), ["here", "a", "b"]);
    assert_eq!(to(&["net.between@to=b"], &[]), ["b"]);
    // Of a group those that have a far end.
    assert_eq!(to(&["net@to=b"], &[]), ["b"]);
    assert_eq!(to(&["net.between"], &["to=a,here"]), ["here", "a"]);
    assert_eq!(to(&["net.between"], &["to=b"]), ["b"]);
}

#[test]
fn a_peer_that_is_none_is_skipped_with_what_to_do() {
    for peers in [&[][..], &["a"]] {
        let plan = planned(&["net.between@to=c"], &[], peers, Profile::Quick).unwrap();
        let [case] = plan.cases.as_slice() else { panic!("{:?}", ids(&plan)) };
        assert_eq!(case.skip.as_deref(), Some("no peer of this run is called c; name it by --peer"));
    }
    let plan = planned(&["net.between@cpus=two_hosts"], &[], &[], Profile::Quick).unwrap();
    assert_eq!(plan.cases[0].skip.as_deref(), Some("two hosts need a peer; name one by --peer"));
    assert!(planned(&["net.between@to=A b"], &[], &["a"], Profile::Quick).is_err());
    assert!(planned(&["net.alone@to=a"], &[], &["a"], Profile::Quick).is_err());
}
