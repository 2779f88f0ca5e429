//! No rule speaks from evidence that its own flags spoil, nor where another cause that it names is there.

use hostmark_analysis::findings::{Conclusion, RIVALS, RULES, Rule, conclusions, findings};
use hostmark_model::{Also, CaseRecord, Flag, FlagKind, HostFacts, Outcome, Run};

use crate::synthetic;

/// Makes a rival be there.
fn plant(rival: &str, host: &mut HostFacts) {
    match rival {
        "yields" => host.process.policy = Some("SCHED_IDLE".into()),
        "traced" => host.process.traced = Some(true),
        "clamped" => host.process.uclamp_max = Some(512),
        "quota of one CPU" => host.limits.cpu_quota = Some(0.5),
        "quota" => host.limits.cpu_quota = Some(host.usable_cpus().len() as f64 - 0.5),
        "loopback path" => host.loopback.filter_rules = Some(2000),
        other => panic!("plant {other} here"),
    }
}

/// Says something of every case that has a value.
fn cite_all(run: &Run) -> Vec<Conclusion> {
    let cited = |case: &CaseRecord| Conclusion {
        short: Default::default(),
        text: Default::default(),
        cases: vec![case.id.clone()],
        cost: 0.0,
    };
    run.cases.iter().filter(|case| case.measured().is_some()).map(cited).collect()
}

#[test]
fn every_rule_is_silent_beside_each_of_its_rivals_and_of_each_case_that_a_flag_spoils() {
    let run = synthetic::plausible();
    let is_plain = |case: &CaseRecord| case.measured().is_some_and(|measured| measured.flags.is_empty());
    let at = run.cases.iter().position(is_plain).unwrap();
    let id = &run.cases[at].id;
    for rule in RULES {
        let cited = |run: &Run| conclusions(&Rule { draw: cite_all, ..**rule }, run);
        let is_cited = |run: &Run| cited(run).iter().any(|conclusion| conclusion.cases[0] == *id);
        assert!(is_cited(&run), "{}", rule.id);
        for &kind in rule.doubt.spoiled_by {
            let mut run = run.clone();
            let Outcome::Measured(measured) = &mut run.cases[at].outcome else { unreachable!() };
            measured.flags.push(Flag::new(kind, "planted"));
            assert!(!is_cited(&run) && !cited(&run).is_empty(), "{} stands on a case with {kind:?}", rule.id);
        }
        for rival in rule.doubt.rivals {
            let mut run = run.clone();
            assert!(RIVALS.iter().any(|known| known.id == rival.id) && !(rival.is_there)(&run), "{}", rival.id);
            plant(rival.id, &mut run.host);
            assert!((rival.is_there)(&run) && cited(&run).is_empty(), "{} speaks beside {}", rule.id, rival.id);
        }
    }
}

#[test]
fn a_sync_of_rounds_that_others_disturbed_condemns_no_filesystem_and_one_such_round_saves_none() {
    let drawn = |contended: u32| {
        let mut run = synthetic::empty();
        let mut sync = synthetic::measured(1e6, 0.01);
        sync.also.insert("p99".into(), Also { estimate: synthetic::estimate(25e6, 0.1) });
        sync.noise.contended_rounds = Some(contended);
        sync.flags.push(Flag::new(FlagKind::Contended, "others"));
        let outcome = Outcome::Measured(Box::new(sync));
        run.cases = vec![synthetic::case("disk.fsync@block=2300,space=preallocated", outcome)];
        findings(&run).iter().any(|finding| finding.id == "disk.slow_sync")
    };
    assert!(drawn(1) && drawn(2) && !drawn(3) && !drawn(5));
}
