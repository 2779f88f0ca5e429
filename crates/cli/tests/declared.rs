//! What probes declare, they give: the whole catalogue in real short rounds.

use hostmark_engine::probe::Need;
use hostmark_present::{RenderOptions, export};

use crate::prelude::*;

/// How often what lacks a quantity is measured again, alone.
const ATTEMPTS: usize = 3;
/// Quantities that the engine makes of a value and of the core's frequency beside it.
const OF_THE_VALUE: [&str; 3] = ["cycles", "bytes_per_cycle", "operations_per_cycle"];

#[test]
fn every_probe_ends_measured_or_skipped_and_gives_what_it_declares() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let home = Home::new();
    let (_, json, errors) = home.says(&["run", "--format", "json"]);
    let run = load_run(&json).unwrap_or_else(|error| panic!("{error}\n{errors}"));
    of_its_record_come_the_same_outcomes(&home, &json, &run);
    let more = |filters: &[&str]| {
        let (_, json, errors) = home.says(&[&["run", "--format", "json"], filters].concat());
        load_run(&json).unwrap_or_else(|error| panic!("{error}\n{errors}")).cases
    };
    let mut cases = run.cases;
    // Probes that begin with a longer profile are measured by name.
    let later: Vec<String> =
        entries(CATALOGUE).filter(|entry| entry.probe.from != Profile::Quick).map(|entry| entry.id()).collect();
    cases.extend(more(&later.iter().map(String::as_str).collect::<Vec<_>>()));
    for case in &cases {
        // A machine that stands still is no fault of a probe; every other failure is.
        if let Outcome::Failed { reason } = &case.outcome {
            assert!(reason.starts_with("no answer within"), "{}: {reason}", case.id);
        }
    }
    for entry in entries(CATALOGUE) {
        let is_there = cases.iter().any(|case| case.probe == entry.id());
        assert!(
            is_there || entry.probe.needs.iter().any(|need| matches!(need, Need::Command | Need::CommandValue(_))),
            "{} is absent",
            entry.id()
        );
    }
    // What only a longer profile has: the pipeline of most processes, streams in both directions, a lock that two want,
    // the frequency after vectors, memory that moves with a thread.
    let longer = [
        "net.data_path@path=zero_pipe_socket_pipe_pipe_null",
        "net.tcp_bandwidth@direction=both",
        "sched.contended_lock@threads=2",
        "cpu.frequency@load=avx2",
        "sched.migration@footprint=16384",
    ];
    cases.extend(more(&longer));
    // Where memory is slow to touch or neighbours are busy, the whole catalogue leaves too little time for some: what lacks
    // has a run of its own, with all that it is derived from.
    for _ in 0..ATTEMPTS {
        let lacking: BTreeSet<String> = missing(&cases).into_iter().map(|(probe, _)| probe).collect();
        if lacking.is_empty() {
            break;
        }
        cases.extend(more(&lacking.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    quiet.holds(missing(&cases).is_empty(), || format!("{:?}", missing(&cases)));
    assert!(files(home.scratch.path()).is_empty());
}

/// The probes of which no case gives a quantity that they declare, and the quantity.
fn missing(cases: &[CaseRecord]) -> Vec<(String, &'static str)> {
    let mut missing = Vec::new();
    for entry in entries(CATALOGUE) {
        let id = entry.id();
        let measured: Vec<_> =
            cases.iter().filter(|case| case.probe == id).filter_map(|case| case.measured()).collect();
        let given: BTreeSet<&str> = measured.iter().flat_map(|one| one.also.keys().map(String::as_str)).collect();
        // A percentile takes ten operations beyond it, which short rounds need not have.
        let is_percentile = |name: &str| name.strip_prefix('p').is_some_and(|number| number.parse::<u32>().is_ok());
        // What a device did is told of cold files alone, which a quick run has not, and where there is a device.
        let is_of_avx = |name: &str| name == "after" && !cfg!(target_arch = "x86_64");
        let is_rare = |name: &str| is_percentile(name) || name == "device_share" || is_of_avx(name);
        let declared = entry.probe.also.iter().filter(|quantity| !is_rare(quantity.name));
        for quantity in declared {
            let is_of_one_thread = |one: &&&Measured| one.rounds.iter().all(|round| round.core_hz.is_some());
            let lacks = |one: &&Measured| !one.also.contains_key(quantity.name);
            // Some quantities belong to some points of a probe; what follows from a value is there for each.
            let is_missing = match OF_THE_VALUE.contains(&quantity.name) {
                true => measured.iter().filter(is_of_one_thread).any(lacks),
                false => !measured.is_empty() && !given.contains(quantity.name),
            };
            if is_missing {
                missing.push((id.clone(), quantity.name));
            }
        }
    }
    missing
}

/// The most that a file may grow by what estimates are made of: they are never more than all the rest of it. How much they are follows
/// from how many operations the machine does in a round: 1.25 to 1.46 times were seen.
const GROWTH: f64 = 2.0;

fn of_its_record_come_the_same_outcomes(home: &Home, json: &str, run: &Run) {
    let again = |of: &str| succeeded(home.says(&["report", of, "--reestimate", "--format", "json"]));
    // All but the end, where it says that they were made again.
    let same = json.trim_end().strip_suffix("\n}").unwrap();
    let made = again("last");
    assert!(made.starts_with(same), "{:?}", made.lines().zip(json.lines()).find(|(one, other)| one != other));
    let said = made[same.len()..].split_whitespace().collect::<String>();
    assert_eq!(said, format!(r#","again":{{"version":"{}","gaps":[]}}}}"#, run.tool.version));

    // The same file without what estimates are made of.
    let mut old = run.clone();
    old.lost_rounds.clear();
    for case in &mut old.cases {
        if let Outcome::Measured(measured) = &mut case.outcome {
            measured.rounds.iter_mut().for_each(|round| round.raw = None);
        }
    }
    let format = export::format_named("json").unwrap();
    let text = format.render_one(&old, &RenderOptions::default());
    let growth = json.len() as f64 / text.len() as f64;
    assert!(growth > 1.0 && growth < GROWTH, "{growth}");
}
