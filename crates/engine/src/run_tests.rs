//! Runs against scripted workers: which rounds are ordered, what is kept, what one bad worker costs.

use std::collections::HashSet;

use hostmark_launch::Received;
use hostmark_model::{Event, FlagKind, PROTOCOL, Profile};

use super::*;
use crate::fixture::{CATALOGUE, MANY, ODD, SHARED, host, planned};
use crate::mock::{STARVED, Script, Seen, done, fine, hello, line, perform, samples, usual};
use crate::record::journal::{Journal, Origin, PlanLine};

#[path = "run_budget_tests.rs"]
mod budget;
#[path = "run_filled_tests.rs"]
mod filled;

const ALL_OF_A: usize = 10;

/// The quick profile's rounds; intervals of steady cases are narrow enough, and need no more.
const QUICK_ROUNDS: u32 = 7;

fn measure(filters: &[&str], script: impl FnMut(&Job) -> Script) -> Seen {
    perform(&planned(CATALOGUE, filters, Profile::Quick), &host(), None, script)
}

fn is_measured(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Measured(_))
}

fn reason(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Skipped { reason } | Outcome::Failed { reason } => reason,
        Outcome::Measured(_) => panic!("it was measured"),
    }
}

#[test]
fn every_case_gets_its_rounds_each_in_a_fresh_worker() {
    let seen = measure(&["net", "memory.stream"], usual);
    let mut rounds = seen.rounds();
    rounds.sort_unstable();
    let cases: Vec<&str> = seen.outcomes.cases.iter().map(|case| case.id.as_str()).collect();
    let expected = cases.iter().flat_map(|&case| (0..QUICK_ROUNDS).map(move |round| (case, round)));
    let mut expected: Vec<(&str, u32)> = expected.collect();
    expected.sort_unstable();
    assert_eq!(rounds, expected);
    assert_eq!(seen.ended, seen.jobs.len());
    for case in &seen.outcomes.cases {
        let measured = case.measured().unwrap();
        assert_eq!((measured.estimate.typical, measured.estimate.rounds), (5.0, QUICK_ROUNDS));
        assert!(measured.flags.is_empty(), "{:?}", measured.flags);
    }
    assert!(!seen.results.interrupted && seen.results.journal_lost.is_none());
}

#[test]
fn an_order_says_all_that_the_worker_needs() {
    let seen = measure(&["net.tcp"], usual);
    let warm_up = &seen.jobs[0];
    assert_eq!((warm_up.case(), warm_up.cpus.len()), ("", 1));
    let job = &seen.jobs[1];
    assert_eq!((job.environment.protocol, job.environment.parent), (PROTOCOL, std::process::id()));
    assert_eq!((job.case(), job.round, job.llc_bytes), ("net.tcp", 0, 4 << 20));
    assert_eq!(job.llc_sum_bytes, 4 << 20);
    assert!(job.budget_ns <= 500_000_000 / 3 + 1, "{}", job.budget_ns);
    let scratches: HashSet<&str> = seen.jobs[1..].iter().map(|job| job.folder.as_str()).collect();
    let seeds: HashSet<u64> = seen.jobs[1..].iter().map(|job| job.cases[0].seed).collect();
    assert_eq!([seen.jobs.len() - 1, scratches.len(), seeds.len()], [QUICK_ROUNDS as usize; 3]);
}

#[test]
fn every_cpu_of_the_plan_is_warmed_once_and_no_other() {
    let cpus = |seen: &Seen| {
        let warm_ups = seen.jobs.iter().filter(|job| job.cases.is_empty());
        warm_ups.map(|job| job.cpus[0]).collect::<Vec<usize>>()
    };
    let all = measure(&["ipc"], usual);
    let mut warmed = cpus(&all);
    let single = all.jobs.iter().find(|job| job.case() == "ipc.pipe@cpus=same_cpu").unwrap().cpus[0];
    assert_eq!(warmed[0], single);
    warmed.sort_unstable();
    assert_eq!(warmed, [0, 1, 2, 3]);
    assert_eq!(cpus(&measure(&["net.tcp"], usual)), [single]);
    // Cases that are skipped beforehand need no CPU.
    assert_eq!(cpus(&measure(&["ipc.pipe@cpus=other_node"], usual)).len(), 1);
}

#[test]
fn what_a_round_learned_is_handed_on() {
    let mut turn = 0;
    let seen = measure(&["net.tcp"], |job| {
        let mut script = usual(job);
        if !job.cases.is_empty() {
            turn += 1;
            script.pop();
            script.push(line(&done(turn * 100)));
        }
        script
    });
    let handed: Vec<Option<u64>> = seen.jobs[1..].iter().map(|job| job.cases[0].iterations).collect();
    let learned = (1..QUICK_ROUNDS as u64).map(|round| Some(round * 100));
    assert_eq!(handed, std::iter::once(None).chain(learned).collect::<Vec<_>>());
}

#[test]
fn replicates_are_shuffled_by_the_seed_and_the_defaults_begin() {
    let order_of = |seed: u64| {
        let mut plan = planned(MANY, &[], Profile::Quick);
        plan.request.seed = seed;
        let seen = perform(&plan, &host(), None, usual);
        seen.rounds().into_iter().map(|(case, round)| (case.to_owned(), round)).collect::<Vec<_>>()
    };
    let one = order_of(1);
    assert_eq!(one, order_of(1));
    assert_ne!(one, order_of(2));
    let replicate = |round: u32| {
        let of_replicate = one.iter().filter(move |(_, own)| *own == round);
        of_replicate.map(|(case, _)| case.clone()).collect::<Vec<String>>()
    };
    let (first, second) = (replicate(0), replicate(1));
    assert_eq!((first.len(), second.len()), (200, 200));
    assert!(first[..20].iter().all(|case| case.ends_with("@n=1")) && !first[20].ends_with("@n=1"));
    assert!(!second[..20].iter().all(|case| case.ends_with("@n=1")));
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_ne!(first[..20], sorted[..20]);
    assert!(one.windows(2).all(|pair| pair[0].1 <= pair[1].1));
}

#[test]
fn a_round_has_the_same_seed_whatever_else_is_selected() {
    let seed = |filters: &[&str]| {
        let seen = measure(filters, usual);
        seen.jobs.iter().find(|job| job.case() == "net.tcp" && job.round == 2).unwrap().cases[0].seed
    };
    assert_eq!(seed(&["net.tcp"]), seed(&[]));
}

#[test]
fn a_bad_worker_costs_its_case_and_says_why() {
    let text = |text: &str| (Duration::ZERO, Received::Line(text.into()));
    let death = || (Duration::from_millis(3), Received::Ended("was killed by signal 11".into()));
    let chatter = || (0..20_000).map(|_| line(&Event::Note { key: "a".into(), value: "b".into() }));
    let other = Event::Hello { protocol: PROTOCOL + 1, pid: 1 };
    use ReasonCode::{NoValue, ProcessDied, Protocol, ResourceLimit, TimedOut};
    let scripts: Vec<(Script, ReasonCode, &str)> = vec![
        (vec![death()], ProcessDied, "the worker was killed by signal 11"),
        (vec![hello(), line(&samples(&[5.0])), death()], ProcessDied, "the worker was killed by signal 11"),
        (vec![hello(), (Duration::from_secs(900), line(&done(1)).1)], TimedOut, "no answer within 5 s"),
        (
            vec![hello(), text("Segmentation fault")],
            Protocol,
            "the worker wrote what is no event: expected value at line 1 column 1",
        ),
        (
            vec![hello(), text("")],
            Protocol,
            "the worker wrote what is no event: EOF while parsing a value at line 1 column 0",
        ),
        (vec![line(&other)], Protocol, "the worker speaks protocol 4, not 3"),
        (vec![line(&samples(&[5.0])), line(&done(1))], Protocol, "the worker did not say which protocol it speaks"),
        (vec![hello(), hello()], Protocol, "the worker greeted twice"),
        (
            vec![hello()].into_iter().chain(chatter()).collect(),
            Protocol,
            "the worker wrote 10000 lines and was not done",
        ),
        (vec![], ResourceLimit, "no worker could be started: no processes left"),
        (vec![hello(), line(&done(1))], NoValue, "no round gave a finite value"),
    ];
    for (script, code, expected) in scripts {
        let seen = measure(&["net"], |job| if job.case() == "net.tcp" { script.clone() } else { usual(job) });
        assert_eq!(seen.outcome("net.tcp"), &Outcome::Failed { reason: code.because(expected) });
        assert!(is_measured(seen.outcome("net.tcp_connect")), "{expected}");
        let opened = seen.jobs.iter().filter(|job| !script.is_empty() || job.case() != "net.tcp").count();
        assert_eq!(seen.ended, opened, "{expected}");
        assert!(seen.elapsed <= Duration::from_secs(60).mul_f64(0.97));
    }
}

#[test]
fn a_case_that_fails_is_skipped_or_loses_its_worker_has_no_further_round() {
    let skipped = Event::Skipped { reason: ReasonCode::HugePages.because("no huge pages") };
    let failed = Event::Failed { reason: ReasonCode::CheckFailed.because("ENOSPC") };
    let died = (Duration::ZERO, Received::Ended("ended with status 1".into()));
    for (last, round, expected) in [
        (line(&skipped), 0, "no huge pages"),
        (line(&failed), 0, "ENOSPC"),
        (died, 2, "the worker ended with status 1"),
    ] {
        let seen = measure(&["net"], |job| match job.case() {
            "net.tcp" if job.round == round => vec![hello(), last.clone()],
            _ => usual(job),
        });
        assert_eq!(seen.rounds().iter().filter(|(case, _)| *case == "net.tcp").count(), round as usize + 1);
        assert_eq!(reason(seen.outcome("net.tcp")), expected);
        assert_eq!(matches!(seen.outcome("net.tcp"), Outcome::Skipped { .. }), expected == "no huge pages");
    }
}

#[test]
fn what_stood_still_once_costs_a_round_and_twice_the_case() {
    let hangs = || vec![hello(), (Duration::from_secs(900), line(&done(1)).1)];
    let of_tcp = |standing: &[u32]| {
        let standing = standing.to_owned();
        measure(&["net"], move |job| match job.case() {
            "net.tcp" if standing.contains(&job.round) => hangs(),
            _ => usual(job),
        })
    };
    for round in [0, 2, 4] {
        let seen = of_tcp(&[round]);
        let Outcome::Measured(measured) = seen.outcome("net.tcp") else { panic!("{:?}", seen.outcome("net.tcp")) };
        let lost = measured.flags.iter().find(|flag| flag.kind == FlagKind::RoundsLost).unwrap();
        let expected =
            format!("{} of {} rounds: no answer within 5 s", measured.rounds.len(), measured.rounds.len() + 1);
        assert_eq!(lost.detail, expected);
    }
    let seen = of_tcp(&[1, 3]);
    assert_eq!(reason(seen.outcome("net.tcp")), "no answer within 5 s");
    assert_eq!(seen.rounds().iter().filter(|(case, _)| *case == "net.tcp").count(), 4);
}

#[test]
fn what_was_known_beforehand_is_skipped_without_a_round() {
    let seen = measure(&["ipc.pipe@cpus=other_node", "net.tcp"], usual);
    assert_eq!(reason(seen.outcome("ipc.pipe@cpus=other_node")), "the usable CPUs are all on one memory node");
    assert!(seen.rounds().iter().all(|(case, _)| *case == "net.tcp"));
}

fn interrupted_at(turn: usize) -> Seen {
    let mut turns = 0;
    measure(&["net"], |job| {
        turns += 1;
        if turns == turn { vec![hello(), (Duration::from_millis(5), Received::Interrupted)] } else { usual(job) }
    })
}

#[test]
fn a_stop_keeps_complete_rounds_and_is_obeyed_at_once() {
    // A warm-up, then two cases per replicate.
    let seen = interrupted_at(5);
    assert!(seen.results.interrupted);
    assert_eq!((seen.jobs.len(), seen.ended), (5, 5));
    let rounds: Vec<u32> = seen.outcomes.cases.iter().map(|case| case.measured().unwrap().estimate.rounds).collect();
    assert_eq!(rounds.iter().sum::<u32>(), 3);
    for case in &seen.outcomes.cases {
        let kinds: Vec<FlagKind> = case.measured().unwrap().flags.iter().map(|flag| flag.kind).collect();
        assert_eq!(kinds, [FlagKind::FewRounds, FlagKind::RoundsLost]);
    }
}

#[test]
fn what_a_stop_left_out_says_so_also_in_the_warm_up() {
    for (turn, measured) in [(1, 0), (3, 1)] {
        let seen = interrupted_at(turn);
        assert_eq!((seen.results.interrupted, seen.jobs.len()), (true, turn));
        let (done, left): (Vec<_>, Vec<_>) = seen.outcomes.cases.iter().partition(|case| is_measured(&case.outcome));
        assert_eq!((done.len(), left.len()), (measured, 2 - measured));
        let interrupted = Outcome::Skipped { reason: ReasonCode::Interrupted.because("interrupted") };
        assert!(left.iter().all(|case| case.outcome == interrupted));
    }
}

#[test]
fn records_are_in_catalogue_order_with_defaults_first() {
    let seen = measure(&[], usual);
    let mut ids: Vec<&str> = seen.outcomes.cases.iter().map(|case| case.id.as_str()).collect();
    // The derived records repeat those of latency, and stand where their probe stands.
    assert_eq!(ids.drain(..5).collect::<Vec<_>>(), ids[..5]);
    let plan = planned(CATALOGUE, &[], Profile::Quick);
    assert_eq!(ids, plan.cases.iter().map(|case| case.id.to_string()).collect::<Vec<_>>());
    assert!(seen.outcomes.cases[..5].iter().all(|case| case.probe == "memory.hierarchy"));
}

#[test]
fn a_derived_probe_without_anything_to_stand_on_says_so() {
    let skip = Event::Skipped { reason: ReasonCode::TooLittleMemory.because("no memory") };
    let seen = measure(&["memory.hierarchy"], |_| vec![hello(), line(&skip)]);
    assert_eq!(reason(seen.outcome("memory.hierarchy")), "needs other cases, which were not measured");
    assert_eq!(seen.outcomes.cases.len(), 6);
}

#[test]
fn a_derived_probe_that_goes_wrong_costs_itself_alone() {
    let seen = perform(&planned(ODD, &[], Profile::Quick), &host(), None, usual);
    let outcome = |probe: &str| &seen.outcomes.cases.iter().find(|case| case.probe == probe).unwrap().outcome;
    assert_eq!(outcome("odd.breaks"), &Outcome::Failed { reason: ReasonCode::Internal.because("panicked: no curve") });
    let nan = ReasonCode::NoValue.because("it came to no finite value");
    assert_eq!(outcome("odd.nan"), &Outcome::Failed { reason: nan });
    assert!(is_measured(outcome("net.tcp")));
}

#[test]
fn a_latency_that_falls_with_its_size_is_marked() {
    let seen = measure(&["memory.latency"], |job| {
        let ns = if job.case().contains("size=4194304") { 90.0 } else { 40.0 };
        fine(job, ns, Duration::ZERO)
    });
    let flags = |size: u64| {
        let id = format!("memory.latency@size={size},pattern=random");
        let Outcome::Measured(measured) = seen.outcome(&id) else { panic!("{id}") };
        measured.flags.iter().map(|flag| flag.kind).collect::<Vec<_>>()
    };
    assert_eq!(flags(4 << 20), []);
    assert_eq!(flags(8 << 20), [FlagKind::Implausible]);
}

#[test]
fn every_complete_round_is_journalled() {
    let directory = tempfile::tempdir().unwrap();
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let mut journal =
        Journal::create(&directory.path().join("x"), &"run", &PlanLine::of(&plan), &Origin::default()).unwrap();
    let mut turns = 0;
    let seen = perform(&plan, &host(), Some(&mut journal), |job| {
        turns += 1;
        match turns {
            3 => vec![hello(), line(&Event::Failed { reason: ReasonCode::CheckFailed.because("broken") })],
            5 => vec![hello(), line(&samples(&[5.0])), (Duration::ZERO, Received::Interrupted)],
            _ => usual(job),
        }
    });
    assert!(seen.results.interrupted && seen.results.journal_lost.is_none());
    let text = std::fs::read_to_string(journal.path()).unwrap();
    let lines = text.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let rounds: Vec<(String, u32)> =
        lines.map(|line| (line["case"].as_str().unwrap().into(), line["round"].as_u64().unwrap() as u32)).collect();
    // The warm-up and the round that was stopped are none.
    let ordered: Vec<(String, u32)> = seen.rounds().into_iter().map(|(case, round)| (case.to_owned(), round)).collect();
    assert_eq!(rounds, ordered[..ordered.len() - 1]);
}

#[test]
fn a_journal_that_cannot_be_written_is_reported_and_the_run_goes_on() {
    let mut journal = Journal::on_full_device();
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let seen = perform(&plan, &host(), Some(&mut journal), usual);
    let error = seen.results.journal_lost.as_ref().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(seen.rounds().len(), 2 * QUICK_ROUNDS as usize);
    assert!(seen.outcomes.cases.iter().all(|case| is_measured(&case.outcome)));
}

#[test]
fn progress_counts_rounds_up_to_their_number() {
    let seen = perform(&planned(MANY, &["many.a"], Profile::Quick), &host(), None, |job| {
        if job.case() == "many.a@n=7" {
            vec![hello(), line(&Event::Skipped { reason: ReasonCode::NotApplicable.because("no") })]
        } else {
            usual(job)
        }
    });
    for (position, (case, done, all, left)) in seen.progress.iter().enumerate() {
        assert_eq!((*done, case.as_str()), (position, seen.rounds()[position].0));
        assert!(done < all && *left <= Duration::from_secs(57));
    }
    assert_eq!(seen.progress[0].2, QUICK_ROUNDS as usize * ALL_OF_A);
    assert_eq!(seen.progress.last().map(|last| last.1 + 1), seen.progress.last().map(|last| last.2));
}

/// A fill that goes on for so many seconds, with a word every four, and the round after it.
fn slow_set_up(seconds: u64) -> Script {
    let word = |n: u64| (Duration::from_secs(4), line(&Event::Filled { bytes: n, of_bytes: seconds / 4 }).1);
    let set_up = (1..=seconds / 4).map(word);
    let end = [line(&samples(&[5.0, 5.0, 5.0])), line(&done(1000))];
    std::iter::once(hello()).chain(set_up).chain(end).collect()
}

#[test]
fn a_worker_that_reports_how_far_its_set_up_is_has_not_hung() {
    // Patience is 5 s; the first round's set-up takes 16.
    let mut first = true;
    let seen = measure(&["net.tcp"], |job| match std::mem::take(&mut first) && !job.cases.is_empty() {
        true => slow_set_up(16),
        false => {
            first |= job.cases.is_empty();
            usual(job)
        }
    });
    assert!(is_measured(seen.outcome("net.tcp")), "{:?}", seen.outcome("net.tcp"));
    assert!(seen.elapsed > Duration::from_secs(16));
    // A word is no part of the round, and silence after it is a hang.
    let mut script = slow_set_up(8);
    script[3].0 = Duration::from_secs(6);
    let seen = measure(&["net.tcp"], |job| if job.cases.is_empty() { usual(job) } else { script.clone() });
    let timed_out = ReasonCode::TimedOut.because("no answer within 5 s");
    assert_eq!(seen.outcome("net.tcp"), &Outcome::Failed { reason: timed_out });
    // One that only ever reports its set-up is ended.
    let word = || line(&Event::Filled { bytes: 1, of_bytes: 2 });
    let babble: Script = std::iter::once(hello()).chain((0..50_000).map(|_| word())).collect();
    let seen = measure(&["net.tcp"], |job| if job.cases.is_empty() { usual(job) } else { babble.clone() });
    assert_eq!(reason(seen.outcome("net.tcp")), "the worker wrote 10000 lines and was not done");
}

#[test]
fn a_worker_that_waits_for_a_cpu_is_waited_for_and_then_skipped() {
    let silent = |seconds: u64| {
        vec![hello(), (Duration::from_secs(seconds), line(&samples(&[5.0, 5.0, 5.0])).1), line(&done(1000))]
    };
    for (seconds, is_done) in [(9, true), (900, false)] {
        let seen = measure(&[STARVED], |job| if job.cases.is_empty() { usual(job) } else { silent(seconds) });
        assert_eq!(is_measured(seen.outcome(STARVED)), is_done, "{:?}", seen.outcome(STARVED));
        if !is_done {
            let Outcome::Skipped { reason } = seen.outcome(STARVED) else { panic!("{:?}", seen.outcome(STARVED)) };
            assert!(reason.starts_with("in 16 s it had too little of a CPU"), "{reason}");
        }
    }
}

/// The cases of the jobs of a replicate.
fn units(seen: &Seen, replicate: u32) -> Vec<Vec<String>> {
    let ids = |job: &Job| job.cases.iter().map(|case| case.id.clone()).collect::<Vec<String>>();
    seen.jobs.iter().filter(|job| !job.cases.is_empty() && job.round == replicate).map(ids).collect()
}

#[test]
fn one_worker_measures_what_shares_one_and_no_more_than_a_part_of_the_run() {
    let plan = planned(SHARED, &[], Profile::Quick);
    let seen = perform(&plan, &host(), None, filled::each);
    // Those that every case has share the time; there are more where time is left.
    for replicate in 0..TimeBudget::rounds(&plan) {
        let units = units(&seen, replicate);
        let mut all: Vec<String> = units.concat();
        all.sort_unstable();
        let mut cases: Vec<String> = plan.cases.iter().map(|case| case.id.to_string()).collect();
        cases.sort_unstable();
        assert_eq!(all, cases, "each has its round in each pass");
        // Three seconds of rounds of a tenth each.
        assert!(units.iter().any(|unit| unit.len() > 10) && units.iter().all(|unit| unit.len() <= 32), "{units:?}");
    }
    assert_ne!(units(&seen, 1), units(&seen, 2), "in another sequence each time");
    // The first replicate begins with the defaults.
    assert!(units(&seen, 0)[0].iter().all(|case| case.ends_with("@n=1")), "{:?}", units(&seen, 0)[0]);
    let rounds = seen.outcomes.cases.iter().map(|case| case.measured().unwrap().estimate.rounds);
    assert!(rounds.clone().all(|rounds| rounds >= 5), "{:?}", rounds.collect::<Vec<u32>>());
    assert_eq!(seen.ended, seen.jobs.len());
}

#[test]
fn a_worker_that_dies_costs_the_case_under_way_alone() {
    let plan = planned(SHARED, &["many.a"], Profile::Quick);
    // It ends in the middle of one case, and after another.
    let seen = perform(&plan, &host(), None, |job| {
        let mut script = vec![hello()];
        for (place, case) in job.cases.iter().enumerate() {
            if case.id == "many.a@n=4" {
                script.push(line(&samples(&[1.0])));
                return script;
            }
            script.extend(usual(job).into_iter().skip(1));
            if case.id == "many.a@n=7" && place + 1 < job.cases.len() {
                return script;
            }
        }
        if job.cases.is_empty() { usual(job) } else { script }
    });
    let failed: Vec<&str> =
        seen.outcomes.cases.iter().filter(|case| !is_measured(&case.outcome)).map(|case| case.id.as_str()).collect();
    assert_eq!(failed, ["many.a@n=4"]);
    assert_eq!(reason(seen.outcome("many.a@n=4")), "the worker ended with status 0");
    for case in seen.outcomes.cases.iter().filter(|case| is_measured(&case.outcome)) {
        assert_eq!(case.measured().unwrap().estimate.rounds, QUICK_ROUNDS, "{}", case.id);
    }
}

#[test]
fn after_a_failure_the_next_case_has_a_fresh_worker() {
    let seen = perform(&planned(SHARED, &["many.a"], Profile::Quick), &host(), None, |job| {
        let mut script = vec![hello()];
        for case in &job.cases {
            match &*case.id {
                "many.a@n=4" => {
                    script.push(line(&Event::Failed { reason: ReasonCode::CheckFailed.because("it broke") }))
                }
                _ => script.extend(usual(job).into_iter().skip(1)),
            }
        }
        if job.cases.is_empty() { usual(job) } else { script }
    });
    assert_eq!(reason(seen.outcome("many.a@n=4")), "it broke");
    let met_it = |unit: &Vec<String>| unit.iter().position(|case| case == "many.a@n=4");
    let first = units(&seen, 0).into_iter().find(|unit| met_it(unit).is_some()).unwrap();
    let after = &first[met_it(&first).unwrap() + 1..];
    // What was to follow it in the same worker is the whole of another's job.
    assert!(after.is_empty() || units(&seen, 0).iter().any(|unit| unit == after), "{first:?}");
    assert!(seen.outcomes.cases.iter().filter(|case| is_measured(&case.outcome)).count() == ALL_OF_A - 1);
}
