//! Tests that outliers of synthetic fleets are found, and that fleets without outliers have hardly any.

use hostmark_stats::selection::discoveries;

use super::*;
use crate::fleet::made_up::{Fleet, Odd};

fn found(fleet: &Fleet) -> Vec<usize> {
    let (columns, group_of_probe) = fleet.columns();
    let scores = scores(fleet.hosts, &columns, &group_of_probe, fleet.groups);
    let p: Vec<f64> = scores.hosts.iter().map(|p| p.unwrap_or(1.0)).collect();
    discoveries(&p, FALSE_DISCOVERIES)
}

/// The degrees of freedom of the tails of made-up fleets: normal, and heavy in probes and cases.
const NORMAL: f64 = 0.0;
const HEAVY: f64 = 4.0;

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn of_two_hundred_fleets_without_an_odd_host_at_most_one_in_twenty_names_one() {
    for (hosts, tails) in [(5, HEAVY), (8, NORMAL), (20, HEAVY)] {
        let named = (0..200).filter(|seed| !found(&Fleet::of(hosts, tails, *seed)).is_empty()).count();
        // Ten are expected at most; more than sixteen would be one chance in fifty.
        assert!(named <= 16, "{hosts} hosts: {named} of 200");
    }
}

#[test]
fn a_shift_of_a_fifth_is_found() {
    for (hosts, tails, odd, least) in [
        (8, NORMAL, Odd::All, 0.9),
        (8, HEAVY, Odd::Group, 0.7),
        (12, HEAVY, Odd::All, 0.9),
        (20, HEAVY, Odd::Group, 0.9),
        (40, NORMAL, Odd::All, 0.9),
        (40, HEAVY, Odd::Group, 0.9),
    ] {
        let (mut hits, mut planted, mut wrong, trials) = (0, 0, 0.0, 12);
        for seed in 0..trials {
            let mut fleet = Fleet::of(hosts, tails, 1000 + seed);
            let count = fleet.plant(0.05, 0.2, odd);
            let found = found(&fleet);
            let own = found.iter().filter(|host| **host < count).count();
            planted += count;
            hits += own;
            wrong += (found.len() - own) as f64 / found.len().max(1) as f64;
        }
        let recall = hits as f64 / planted as f64;
        assert!(recall >= least, "{hosts} hosts, {odd:?}: {recall}");
        // The mean share of wrong discoveries is 5 % at most; of a dozen fleets it may be one in eight.
        assert!(wrong / (trials as f64) < 0.13, "{hosts} hosts, {odd:?}: {wrong} of {trials}");
    }
}

#[test]
fn one_probe_alone_is_enough_where_it_is_far_out() {
    let mut fleet = Fleet::of(20, NORMAL, 5);
    fleet.plant(0.05, 0.5, Odd::Probe);
    assert_eq!(found(&fleet), [0]);
}

#[test]
fn values_that_never_vary_name_nobody_and_half_a_percent_is_nothing() {
    let columns = |shift: f64| -> Vec<ScoreColumn> {
        let values = |_| (0..10).map(|host| Some(if host == 0 { shift } else { 0.0 })).collect();
        (0..20).map(|probe| ScoreColumn { probe, values: values(probe), own: Vec::new() }).collect()
    };
    let odd = |shift: f64| {
        let scores = scores(10, &columns(shift), &[0; 20], 1);
        let p: Vec<f64> = scores.hosts.iter().map(|p| p.unwrap_or(1.0)).collect();
        discoveries(&p, FALSE_DISCOVERIES)
    };
    assert!(odd(0.0).is_empty() && odd(0.005).is_empty());
    assert_eq!(odd(-0.2), [0]);
}

#[test]
fn a_host_that_lacks_most_of_a_group_has_no_place_in_it() {
    let fleet = Fleet::of(8, NORMAL, 3);
    let (mut columns, group_of_probe) = fleet.columns();
    // All probes of the first group but one, and everything of the last host.
    columns.iter_mut().filter(|column| column.probe < 4).for_each(|column| column.values[0] = None);
    columns.iter_mut().for_each(|column| column.values[7] = None);
    let scores = scores(8, &columns, &group_of_probe, fleet.groups);
    assert!(scores.groups[0].apart[0].is_none() && scores.groups[1].apart[0].is_some());
    assert!(scores.hosts[0].is_some() && scores.hosts[7].is_none());
}
