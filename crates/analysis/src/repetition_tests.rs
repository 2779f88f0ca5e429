//! Tests of the prediction of another run.

use super::*;
use crate::made_up::{case, estimate, run};
use hostmark_model::{Also, Bounds, Leading, Quiet, RunTime};

#[test]
fn a_quantity_that_is_another_cases_value_has_its_interval() {
    let mut level = case("memory.hierarchy", 90.0, 0.01);
    let Outcome::Measured(measured) = &mut level.outcome else { unreachable!() };
    measured.also.insert("read".into(), Also { estimate: estimate(12e9, 0.02) });
    measured.also.insert("leaves".into(), Also { estimate: estimate(3.0, 0.0) });
    let mut run = run("new", vec![case("memory.read", 12e9, 0.02), level]);
    add(&mut run, &Earlier::default());
    let also = |name: &str| run.cases[1].measured().unwrap().also[name].estimate.repetition;
    assert_eq!((also("read"), also("leaves")), (Some(of_id(&run, "memory.read")), None));
}

/// Runs of one case, which differ by its value.
fn runs(id: &str, values: &[f64]) -> Vec<Run> {
    values.iter().enumerate().map(|(number, value)| run(&number.to_string(), vec![case(id, *value, 0.01)])).collect()
}

fn of_id(run: &Run, id: &str) -> Repetition {
    run.cases.iter().find(|case| case.id == id).unwrap().measured().unwrap().estimate.repetition.unwrap()
}

#[test]
fn two_earlier_runs_report_nothing_and_three_report_the_scatter() {
    let before = runs("ipc.pipe", &[100.0, 120.0, 90.0, 110.0]);
    let judged = |count: usize| {
        let mut new = run("new", vec![case("ipc.pipe", 100.0, 0.01)]);
        let earlier = Earlier::of(&new, &before[..count]);
        assert_eq!(earlier.runs(), count);
        add(&mut new, &earlier);
        of_id(&new, "ipc.pipe")
    };
    assert_eq!((judged(0).runs, judged(2).runs, judged(3).runs, judged(4).runs), (0, 0, 3, 4));
    assert_eq!(judged(2), judged(0));
    let known = judged(4);
    assert!(known.low < 90.0 && known.high > 110.0 && known.low > 0.0, "{known:?}");
}

#[test]
fn an_outlier_among_earlier_runs_is_left_out_and_named_and_a_scatter_is_none() {
    let judged = |values: &[f64]| {
        let before = runs("syscall.null", values);
        let mut new = run("new", vec![case("syscall.null", 100.0, 0.01)]);
        let earlier = Earlier::of(&new, &before);
        let left_out = add(&mut new, &earlier).concat();
        let known = of_id(&new, "syscall.null");
        (left_out, known.runs, known.high / known.low < 1.5)
    };
    assert_eq!(judged(&[101.0, 99.0, 20_000.0, 102.0]), ("2".into(), 3, true));
    assert_eq!(judged(&[101.0, 20_000.0, 99.0]).0, "1");
    assert_eq!(judged(&[100.0, 300.0, 101.0, 310.0]), (String::new(), 4, false));
}

#[test]
fn runs_in_other_circumstances_are_no_earlier_runs_and_unknown_facts_part_none() {
    let same = |change: fn(&mut HostFacts)| {
        let mut one = run("0", Vec::new());
        one.host.process.traced = Some(false);
        one.host.limits.group_settings = [("io.limit".into(), "default".into())].into();
        let mut other = one.clone();
        change(&mut other.host);
        crate::compare::has_circumstances_of(&one)(&other)
    };
    assert!(same(|_| ()) && same(|host| host.process.traced = None) && same(|host| host.boot_id = Some("b".into())));
    assert!(!same(|host| host.process.traced = Some(true)));
    assert!(!same(|host| drop(host.limits.group_settings.insert("io.limit".into(), "io.max 8:0 wiops=50".into()))));
}

#[test]
fn runs_of_other_hosts_profiles_and_probes_have_no_part_in_it() {
    let new = run("new", vec![case("ipc.pipe", 100.0, 0.01)]);
    let mut others = vec![new.clone(); 5];
    others[0].host.hostname = "other".into();
    others[1].settings.profile = hostmark_model::Profile::Standard;
    others[2].interrupted = Some("stopped by a signal".into());
    others[4].id = "glance".into();
    others[4].settings.limit_s = 10.0;
    // The fourth is the run itself.
    assert_eq!(Earlier::of(&new, &others), Earlier::default());
    others[3].id = "before".into();
    assert_eq!(Earlier::of(&new, &others).runs(), 1);
}

#[test]
fn what_the_core_does_by_itself_is_expected_as_near_as_it_repeats() {
    let mut core = case("cpu.latency", 100.0, 0.001);
    let Outcome::Measured(measured) = &mut core.outcome else { unreachable!() };
    measured.estimate.quiet =
        Some(Quiet { value: 95.0, low: Some(94.9), high: Some(95.1), range: None, at_hz: Some(3e9) });
    measured.estimate.leading = Leading::Quiet;
    let mut new = run("new", vec![core, case("net.round_trip", 100.0, 0.001)]);
    add(&mut new, &Earlier::default());
    let width = |of: Repetition| of.high / of.low;
    let (core, net) = (of_id(&new, "cpu.latency"), of_id(&new, "net.round_trip"));
    assert!(core.low < 94.9 && 95.1 < core.high && width(core) < 1.01, "{core:?}");
    // Undisturbed values of a core that was never alone are disturbed themselves.
    new.neighbours = Some(hostmark_model::Neighbours { core_shared: Some(0.9), last_cache: None });
    add(&mut new, &Earlier::default());
    assert!(width(of_id(&new, "cpu.latency")) > width(core) && of_id(&new, "net.round_trip") == net);
    // Of a guest that is not known to be alone, more is expected than of one that was.
    let mut with = |hypervisor: Option<&str>, core_shared: Option<f64>| {
        new.host.virtualization.hypervisor = hypervisor.map(Into::into);
        new.neighbours = Some(hostmark_model::Neighbours { core_shared, last_cache: None });
        add(&mut new, &Earlier::default());
        width(of_id(&new, "cpu.latency"))
    };
    assert!(with(Some("kvm"), None) > with(Some("kvm"), Some(0.0)));
    assert_eq!((with(Some("kvm"), Some(0.0)), with(None, None)), (width(core), width(core)));
}

#[test]
fn no_end_lies_where_physics_forbids_and_none_is_made_up() {
    let mut bounded = case("memory.copy", 100.0, 0.01);
    let Outcome::Measured(measured) = &mut bounded.outcome else { unreachable!() };
    measured.bounds = Some(Bounds { least: None, most: Some(101.0) });
    let mut few = case("disk.direct_io", 100.0, 0.01);
    let Outcome::Measured(measured) = &mut few.outcome else { unreachable!() };
    (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
    let mut new = run("new", vec![bounded, few, case("sched.noise", -1.0, 0.01), case("ipc.none", 0.0, 0.0)]);
    add(&mut new, &Earlier::default());
    assert_eq!(of_id(&new, "memory.copy").high, 101.0);
    for id in ["disk.direct_io", "sched.noise", "ipc.none"] {
        let found = new.cases.iter().find(|case| case.id == id).unwrap();
        assert_eq!(found.measured().unwrap().estimate.repetition, None, "{id}");
    }
}

#[test]
fn estimated_again_it_stands_as_the_file_has_it() {
    let before = runs("ipc.pipe", &[100.0, 101.0, 102.0, 103.0, 104.0]);
    let mut new = run("new", vec![case("ipc.pipe", 100.0, 0.01), case("net.round_trip", 7.0, 0.2)]);
    let earlier = Earlier::of(&new, &before);
    add(&mut new, &earlier);
    let mut again = new.clone();
    for case in &mut again.cases {
        let Outcome::Measured(measured) = &mut case.outcome else { unreachable!() };
        measured.estimate.repetition = None;
    }
    keep(&mut again, &new);
    assert_eq!(again, new);
}

#[test]
fn a_value_whose_rounds_agree_is_as_far_off_as_others_of_its_kind() {
    let half_of = |others: f64, wall_s: f64| {
        let mut cases = vec![case("net.round_trip", 100.0, 0.0)];
        cases.extend((0..6).map(|number| case(&format!("net.{number}"), 100.0, others)));
        cases.extend((0..6).map(|number| case(&format!("ipc.{number}"), 100.0, 0.4)));
        let time = Some(RunTime { wall_s, ..RunTime::default() });
        let mut run = Run { time, ..run("new", cases) };
        add(&mut run, &Earlier::default());
        (of_id(&run, "net.round_trip").high / of_id(&run, "net.round_trip").low).ln() / 2.0
    };
    let [calm, busy, short] = [(0.0, 57.0), (0.1, 285.0), (0.1, 57.0 / 4.0)].map(|(others, s)| half_of(others, s));
    // Its kind and the run make it so, and least where its kind agrees as well.
    assert!(calm > 0.01 && busy > 3.0 * calm, "{calm} {busy}");
    assert!((short / busy - 2.0).abs() < 1e-6, "rounds that lie within seconds tell less: {short}");
}

/// A case of the core whose rounds had these clocks, GHz.
fn of_core(ghz: [f64; 5]) -> CaseRecord {
    let mut core = case("cpu.latency", 100.0, 0.0);
    let Outcome::Measured(measured) = &mut core.outcome else { unreachable!() };
    let quiet = Quiet { value: 100.0, low: Some(100.0), high: Some(100.0), range: None, at_hz: Some(3e9) };
    let led = |quiet: Quiet| estimate(quiet.value, 0.0).led_by(Some(quiet));
    measured.estimate = led(quiet);
    measured.also.insert("cycles".into(), Also { estimate: led(quiet.map(|ns| 3.0 * ns)) });
    let round = |number: usize| {
        serde_json::from_value(serde_json::json!({
            "round": number, "median": 100.0, "taints": [], "core_hz": ghz[number] * 1e9, "cpus": [1], "iterations": 1,
            "settled": true, "steal_ns": null, "throttled": null, "waited": null, "others": null
        }))
    };
    measured.rounds = (0..5).map(|number| round(number).unwrap()).collect();
    core
}

#[test]
fn what_is_reported_at_a_clock_differs_by_what_that_did_between_rounds_and_cycles_do_not() {
    let half_with = |ghz: [f64; 5]| {
        let mut new = run("new", vec![of_core(ghz), case("net.round_trip", 100.0, 0.0)]);
        add(&mut new, &Earlier::default());
        let half = |of: Repetition| (of.high / of.low).ln() / 2.0;
        let cycles = |run: &Run| run.cases[0].measured().unwrap().in_cycles().unwrap().repetition.unwrap();
        let mut again = new.clone();
        let Outcome::Measured(measured) = &mut again.cases[0].outcome else { unreachable!() };
        measured.also.values_mut().for_each(|also| also.estimate.repetition = None);
        keep(&mut again, &new);
        assert_eq!(again, new);
        [half(of_id(&new, "cpu.latency")), half(of_id(&new, "net.round_trip")), half(cycles(&new))]
    };
    let (steady, stepping) = (half_with([3.0; 5]), half_with([2.85, 3.0, 2.9, 3.0, 2.95]));
    assert!(steady[0] < 0.006 && (0.05..0.08).contains(&stepping[0]), "{steady:?} {stepping:?}");
    // One look that a neighbour made slow is no clock.
    assert_eq!(half_with([3.0, 3.0, 0.9, 3.0, 3.0]), steady);
    // What waits, and cycles, have no part in that.
    assert_eq!(steady[1..], stepping[1..]);
    assert!((steady[0] - steady[2]).abs() < 1e-9);
}
