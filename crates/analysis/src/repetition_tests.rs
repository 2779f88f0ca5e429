//! Tests of the prediction of another run.

use super::*;
use hostmark_model::{Also, Bounds, Leading, Noise, Quiet, RunTime};

fn estimate(value: f64, half: f64) -> Estimate {
    serde_json::from_value(serde_json::json!({
        "typical": value, "ci_low": value * (1.0 - half), "ci_high": value * (1.0 + half), "confidence": 0.95,
        "method": "order_statistics", "min": value, "max": value, "mean": value, "stddev": 0.0, "mad": 0.0,
        "best_round": value, "n": 50, "rounds": 5
    }))
    .unwrap()
}

fn case(id: &str, value: f64, half: f64) -> CaseRecord {
    serde_json::from_value(serde_json::json!({
        "id": id, "probe": id, "params": {},
        "outcome": { "measured": {
            "estimate": estimate(value, half), "also": {}, "samples": [], "rounds": [], "noise": Noise::default(), "notes": {},
            "flags": []
        } }
    }))
    .unwrap()
}

fn run(id: &str, cases: Vec<CaseRecord>) -> Run {
    let probes: Vec<serde_json::Value> = Vec::new();
    let run: Run = serde_json::from_value(serde_json::json!({
        "schema": "hostmark.run/1", "id": id, "name": id, "started": "2026-11-24T09:00:00Z", "finished": null,
        "tool": { "version": "0.1.0", "target": "", "libc": "", "static": false },
        "settings": { "profile": "quick", "seed": 1, "filters": [], "rounds": 5, "limit_s": 60.0,
                      "clock": { "source": "tsc", "hz": 1e9, "reason": null, "drift": null }, "cpu": 0, "set": {} },
        "host": HostFacts::default(), "probes": probes, "cases": [], "disturbances": [], "findings": []
    }))
    .unwrap();
    Run { cases, ..run }
}

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

fn of_id(run: &Run, id: &str) -> Repetition {
    run.cases.iter().find(|case| case.id == id).unwrap().measured().unwrap().estimate.repetition.unwrap()
}

#[test]
fn two_earlier_runs_report_nothing_and_three_report_the_scatter() {
    let before: Vec<Run> = [100.0, 120.0, 90.0, 110.0]
        .iter()
        .enumerate()
        .map(|(number, value)| run(&number.to_string(), vec![case("ipc.pipe", *value, 0.01)]))
        .collect();
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
fn what_the_core_does_by_itself_is_expected_nearer_than_what_waits() {
    let mut core = case("cpu.latency", 100.0, 0.001);
    let Outcome::Measured(measured) = &mut core.outcome else { unreachable!() };
    measured.estimate.quiet =
        Some(Quiet { value: 95.0, low: Some(94.9), high: Some(95.1), range: None, at_hz: Some(3e9) });
    measured.estimate.leading = Leading::Quiet;
    let mut new = run("new", vec![core, case("net.tcp", 100.0, 0.001)]);
    add(&mut new, &Earlier::default());
    let width = |of: Repetition| of.high / of.low;
    let (core, net) = (of_id(&new, "cpu.latency"), of_id(&new, "net.tcp"));
    assert!(core.low < 95.0 && 95.0 < core.high && core.high < 100.0, "{core:?}");
    assert!(width(core) < width(net), "{core:?} {net:?}");
}

#[test]
fn no_end_lies_where_physics_forbids_and_none_is_made_up() {
    let mut bounded = case("memory.copy", 100.0, 0.01);
    let Outcome::Measured(measured) = &mut bounded.outcome else { unreachable!() };
    measured.bounds = Some(Bounds { least: None, most: Some(101.0) });
    let mut few = case("disk.read", 100.0, 0.01);
    let Outcome::Measured(measured) = &mut few.outcome else { unreachable!() };
    (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
    let mut new = run("new", vec![bounded, few, case("sched.noise", -1.0, 0.01), case("ipc.none", 0.0, 0.0)]);
    add(&mut new, &Earlier::default());
    assert_eq!(of_id(&new, "memory.copy").high, 101.0);
    for id in ["disk.read", "sched.noise", "ipc.none"] {
        let found = new.cases.iter().find(|case| case.id == id).unwrap();
        assert_eq!(found.measured().unwrap().estimate.repetition, None, "{id}");
    }
}

#[test]
fn estimated_again_it_stands_as_the_file_has_it() {
    let before: Vec<Run> = (0..5)
        .map(|number| run(&number.to_string(), vec![case("ipc.pipe", 100.0 + f64::from(number), 0.01)]))
        .collect();
    let mut new = run("new", vec![case("ipc.pipe", 100.0, 0.01), case("net.tcp", 7.0, 0.2)]);
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
        let mut cases = vec![case("net.tcp", 100.0, 0.0)];
        cases.extend((0..6).map(|number| case(&format!("net.{number}"), 100.0, others)));
        cases.extend((0..6).map(|number| case(&format!("ipc.{number}"), 100.0, 0.4)));
        let time = Some(RunTime { wall_s, ..RunTime::default() });
        let mut run = Run { time, ..run("new", cases) };
        add(&mut run, &Earlier::default());
        (of_id(&run, "net.tcp").high / of_id(&run, "net.tcp").low).ln() / 2.0
    };
    let [calm, busy, short] = [(0.0, 57.0), (0.1, 285.0), (0.1, 57.0 / 4.0)].map(|(others, s)| half_of(others, s));
    assert!((0.014..0.015).contains(&calm) && (0.07..0.09).contains(&busy), "{calm} {busy}");
    assert!((short / busy - 2.0).abs() < 1e-6, "rounds that lie within seconds tell less: {short}");
}

#[test]
fn what_is_reported_at_a_clock_differs_by_what_that_did_between_rounds_and_cycles_do_not() {
    let half_with = |ghz: [f64; 5]| {
        let mut core = case("cpu.latency", 100.0, 0.0);
        let Outcome::Measured(measured) = &mut core.outcome else { unreachable!() };
        let quiet = Quiet { value: 100.0, low: Some(100.0), high: Some(100.0), range: None, at_hz: Some(3e9) };
        let led = |quiet: Quiet| estimate(quiet.value, 0.0).led_by(Some(quiet));
        measured.estimate = led(quiet);
        measured.also.insert("cycles".into(), Also { estimate: led(quiet.map(|ns| 3.0 * ns)) });
        measured.rounds = (0..5)
            .map(|number: u32| {
                serde_json::from_value(serde_json::json!({
                    "round": number, "median": 100.0, "taints": [], "core_hz": ghz[number as usize] * 1e9, "cpus": [1],
                    "iterations": 1, "settled": true, "steal_ns": null, "throttled": null, "waited": null, "others": null
                }))
                .unwrap()
            })
            .collect();
        let mut new = run("new", vec![core, case("net.tcp", 100.0, 0.0)]);
        add(&mut new, &Earlier::default());
        let half = |of: Repetition| (of.high / of.low).ln() / 2.0;
        let cycles = |run: &Run| run.cases[0].measured().unwrap().in_cycles().unwrap().repetition.unwrap();
        let mut again = new.clone();
        let Outcome::Measured(measured) = &mut again.cases[0].outcome else { unreachable!() };
        measured.also.values_mut().for_each(|also| also.estimate.repetition = None);
        keep(&mut again, &new);
        assert_eq!(again, new);
        [half(of_id(&new, "cpu.latency")), half(of_id(&new, "net.tcp")), half(cycles(&new))]
    };
    let (steady, stepping) = (half_with([3.0; 5]), half_with([2.85, 3.0, 2.9, 3.0, 2.95]));
    assert!(steady[0] < 0.006 && (0.05..0.07).contains(&stepping[0]), "{steady:?} {stepping:?}");
    // What waits, and cycles, have no part in that.
    assert_eq!(steady[1..], stepping[1..]);
    assert!((steady[0] - steady[2]).abs() < 1e-9);
}
