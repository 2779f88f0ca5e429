//! What takes long to fill: who does its rounds, and what becomes of the others' where time is short.

use std::collections::HashSet;

use hostmark_model::CaseRecord;

use super::*;
use crate::mock::go_on;
use crate::plan::Priority;
use crate::record::journal::{Journal, PlanLine};

/// Ten cases of one probe, each of which fills memory.
pub(super) fn filling() -> Plan {
    let mut plan = planned(SHARED, &["many.a"], Profile::Quick);
    plan.cases.iter_mut().for_each(|case| case.set_up = Duration::from_millis(30));
    plan
}

/// A worker that takes so long to touch what its first case fills, and skips one case.
pub(super) fn touching(job: &Job, first_touch: Duration, skipped: &str) -> Script {
    if job.cases.is_empty() {
        return usual(job);
    }
    let (mut script, mut overhead, mut has_skipped) = (vec![hello()], first_touch, false);
    for case in &job.cases {
        match case.id == skipped {
            false => script.extend(fine(job, 5.0, overhead).into_iter().skip(1)),
            // Once: the worker knows too that it has no further round.
            true if !std::mem::replace(&mut has_skipped, true) => {
                script.push(line(&Event::Skipped { reason: ReasonCode::TooLittleMemory.because("no memory") }));
            }
            true => {}
        }
        overhead = Duration::from_millis(40);
    }
    script
}

fn jobs_of(seen: &Seen) -> Vec<&Job> {
    seen.jobs.iter().filter(|job| !job.cases.is_empty()).collect()
}

fn rounds_had(seen: &Seen, id: &str) -> Vec<u32> {
    let case = seen.outcomes.cases.iter().find(|case| case.id == id).unwrap();
    case.measured().map_or(Vec::new(), |measured| measured.rounds.iter().map(|round| round.round).collect())
}

#[test]
fn where_memory_is_slow_to_touch_the_worker_that_filled_it_does_all_rounds() {
    let slow = perform(&filling(), &host(), None, |job| touching(job, Duration::from_secs(4), "none"));
    // The default by itself, as it comes first, or all together: no memory is filled in a later replicate.
    assert!(jobs_of(&slow).iter().all(|job| job.round == 0), "{:?}", slow.rounds());
    assert!(jobs_of(&slow).len() <= 2);
    for case in &slow.outcomes.cases {
        assert_eq!(rounds_had(&slow, &case.id), [0, 1, 2, 3, 4], "{}", case.id);
    }
    // Each round has numbers of its own.
    let seeds: HashSet<u64> = jobs_of(&slow).iter().flat_map(|job| &job.cases).map(|case| case.seed).collect();
    assert_eq!(seeds.len(), 50);
}

#[test]
fn rounds_that_were_disturbed_move_no_round_of_another_case() {
    let own_ns = |id: &str| id.rsplit('=').next().unwrap().parse::<f64>().unwrap();
    for times in 1..=3_usize {
        let seen = perform(&filling(), &host(), None, |job| {
            if job.cases.is_empty() {
                return usual(job);
            }
            let (mut script, mut overhead, mut left) = (vec![hello()], Duration::from_secs(4), times);
            for case in &job.cases {
                let is_disturbed = case.id == "many.a@n=3" && left > 0;
                left -= usize::from(is_disturbed);
                let reason = ReasonCode::Disturbed.because("its threads never ran at the same time");
                match is_disturbed {
                    true => script.push(line(&Event::Skipped { reason })),
                    false => script.extend(fine(job, own_ns(&case.id), overhead).into_iter().skip(1)),
                }
                overhead = Duration::from_millis(40);
            }
            script
        });
        for case in &seen.outcomes.cases {
            let medians = |case: &CaseRecord| -> Vec<f64> {
                case.measured()
                    .map_or(Vec::new(), |measured| measured.rounds.iter().map(|round| round.median).collect())
            };
            let medians = medians(case);
            assert!(medians.iter().all(|median| *median == own_ns(&case.id)), "{times} {}: {medians:?}", case.id);
            assert!(medians.len() + times >= 5, "{times} {}: {medians:?}", case.id);
        }
    }
}

#[test]
fn trials_of_the_first_rounds_are_not_taken_for_slow_memory() {
    let seen = perform(&filling(), &host(), None, |job| {
        let mut script = touching(job, Duration::from_millis(60), "none");
        // The first round of all chooses for a second and more.
        if job.round == 0 && !job.cases.is_empty() {
            let chosen = Event::Chosen { scope: "all".into(), way: "nt".into(), trials_ns: 1.5e9 };
            script.insert(1, (Duration::from_millis(1500), line(&chosen).1));
        }
        script
    });
    assert!((0..5).all(|replicate| jobs_of(&seen).iter().any(|job| job.round == replicate)));
}

#[test]
fn where_memory_is_fast_to_touch_rounds_lie_apart() {
    let fast = perform(&filling(), &host(), None, |job| touching(job, Duration::from_millis(60), "none"));
    let replicates: Vec<u32> = jobs_of(&fast).iter().map(|job| job.round).collect();
    assert!((0..5).all(|replicate| replicates.contains(&replicate)), "{replicates:?}");
    for case in &fast.outcomes.cases {
        assert!(rounds_had(&fast, &case.id).starts_with(&[0, 1, 2, 3, 4]), "{}", case.id);
    }
}

#[test]
fn where_a_machine_is_busy_no_default_goes_without_for_the_rounds_of_another() {
    // Three probes fill memory, and the others take two seconds a round each: less than a minute in all is a round of every default.
    let mut plan = planned(SHARED, &[], Profile::Quick);
    let fills = |id: &str| ["many.a@", "many.b@", "many.c@"].iter().any(|probe| id.starts_with(probe));
    plan.cases
        .iter_mut()
        .filter(|case| fills(&case.id.to_string()))
        .for_each(|case| case.set_up = Duration::from_millis(30));
    let seen = perform(&plan, &host(), None, |job| match job.cases.first() {
        Some(case) if fills(&case.id) => touching(job, Duration::from_secs(4), "none"),
        Some(_) => {
            let rounds = job.cases.iter().flat_map(|_| fine(job, 5.0, Duration::from_millis(1900)).into_iter().skip(1));
            std::iter::once(hello()).chain(rounds).collect()
        }
        None => usual(job),
    });
    let defaults = seen.outcomes.cases.iter().filter(|case| case.id.ends_with("@n=1"));
    for case in defaults {
        assert!(is_measured(&case.outcome), "{}: {:?}", case.id, case.outcome);
    }
}

#[test]
fn cells_that_fill_nothing_wait_for_none_that_fills_a_machine() {
    // As STREAM on a host that tells of 300 MiB of cache: cells of gigabytes, each of which takes seconds a round, as forecast.
    let mut plan = planned(SHARED, &["many.a", "many.b", "many.c"], Profile::Quick);
    let fills = |id: &str| id.starts_with("many.a@");
    plan.cases.retain(|case| {
        !fills(&case.id.to_string()) || ["=1", "=2", "=3", "=4"].iter().any(|n| case.id.to_string().ends_with(n))
    });
    for case in &mut plan.cases {
        case.priority = case.priority.min(Priority::Cell);
        if fills(&case.id.to_string()) {
            case.set_up = Duration::from_secs(5);
        }
    }
    let seen = perform(&plan, &host(), None, |job| match job.cases.first() {
        Some(case) if fills(&case.id) => {
            let rounds = job.cases.iter().flat_map(|_| fine(job, 5.0, Duration::from_secs(5)).into_iter().skip(1));
            std::iter::once(hello()).chain(rounds).collect()
        }
        _ => usual(job),
    });
    for case in &seen.outcomes.cases {
        let least = if fills(&case.id) { 1 } else { 5 };
        assert!(rounds_had(&seen, &case.id).len() >= least, "{}: {:?}", case.id, case.outcome);
    }
}

#[test]
fn what_came_to_no_value_is_not_waited_for_again() {
    let seen = perform(&filling(), &host(), None, |job| touching(job, Duration::from_secs(4), "many.a@n=4"));
    assert_eq!(reason(seen.outcome("many.a@n=4")), "no memory");
    for case in seen.outcomes.cases.iter().filter(|case| case.id != "many.a@n=4") {
        assert_eq!(rounds_had(&seen, &case.id), [0, 1, 2, 3, 4], "{}", case.id);
    }
}

#[test]
fn a_run_cut_short_while_it_did_later_rounds_goes_on_with_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let script = |job: &Job| touching(job, Duration::from_secs(4), "none");
    for kept in [1, 9, 10, 11, 27, 49] {
        let path = directory.path().join(kept.to_string());
        let plan = filling();
        let mut journal = Journal::create(&path, &"run", &PlanLine::of(&plan), &Origin::default()).unwrap();
        perform(&plan, &host(), Some(&mut journal), script);
        drop(journal);
        let (_, _, mut past) = crate::fixture::resumed::<String>(&path).unwrap();
        past.truncate(kept);
        let seen = go_on(&plan, &host(), None, past, script);
        for case in &seen.outcomes.cases {
            let mut had = rounds_had(&seen, &case.id);
            had.sort_unstable();
            had.dedup();
            assert!(had.len() == case.measured().unwrap().rounds.len(), "{}: a round twice", case.id);
            assert!(had.len() >= 3, "after {kept}, {}: {had:?}", case.id);
        }
    }
}

#[test]
fn where_not_all_can_have_five_rounds_the_last_give_way_and_the_others_have_them() {
    // All begin, as forecast; then a round takes so long that 200 cases can have three more each and not four.
    let plan = planned(MANY, &[], Profile::Quick);
    let seen = perform(&plan, &host(), None, |job| match job.round {
        0 => usual(job),
        _ => fine(job, 5.0, Duration::from_millis(64)),
    });
    let rounds: Vec<usize> = seen.outcomes.cases.iter().map(|case| rounds_had(&seen, &case.id).len()).collect();
    let complete = rounds.iter().filter(|rounds| **rounds >= 5).count();
    assert!(complete >= 120, "{complete} of {}: {rounds:?}", rounds.len());
    assert!(rounds.iter().all(|rounds| *rounds >= 1));
}

#[test]
fn small_sizes_are_not_taken_to_be_as_slow_as_the_large_default_of_their_probe() {
    // A machine that takes 2 ms to touch a MiB: the default fills 64 MiB, its other cases next to nothing.
    let mut plan = planned(SHARED, &[], Profile::Quick);
    let is_default = |id: &str| id.ends_with("@n=1");
    for case in &mut plan.cases {
        let fills = is_default(&case.id.to_string());
        case.set_up = Duration::from_millis(if fills { 30 } else { 15 });
    }
    let seen = perform(&plan, &host(), None, |job| {
        let round = |case: &hostmark_model::JobCase| {
            let overhead = Duration::from_millis(if is_default(&case.id) { 250 } else { 5 });
            fine(job, 5.0, overhead).into_iter().skip(1).collect::<Vec<_>>()
        };
        if job.cases.is_empty() {
            usual(job)
        } else {
            std::iter::once(hello()).chain(job.cases.iter().flat_map(round)).collect()
        }
    });
    for case in &seen.outcomes.cases {
        assert!(rounds_had(&seen, &case.id).len() >= 5, "{}: {:?}", case.id, rounds_had(&seen, &case.id));
    }
}

#[test]
fn in_a_short_run_what_is_slow_to_fill_has_the_time_that_the_others_leave() {
    // As glance on a host that tells of 300 MiB of cache: 19 cells that fill nothing, and one that takes seconds a round.
    let mut plan = planned(SHARED, &["many.a", "many.b"], Profile::Quick);
    plan.request.inputs.limit_s = Some(10);
    let fills = |id: &str| id == "many.a@n=1";
    for case in &mut plan.cases {
        case.priority = case.priority.min(Priority::Cell);
        case.set_up = if fills(&case.id.to_string()) { Duration::from_millis(600) } else { Duration::from_millis(15) };
    }
    let seen = perform(&plan, &host(), None, |job| {
        let round = |case: &hostmark_model::JobCase| {
            let overhead = Duration::from_millis(if fills(&case.id) { 2500 } else { 30 });
            fine(job, 5.0, overhead).into_iter().skip(1).collect::<Vec<_>>()
        };
        if job.cases.is_empty() {
            usual(job)
        } else {
            std::iter::once(hello()).chain(job.cases.iter().flat_map(round)).collect()
        }
    });
    for case in seen.outcomes.cases.iter().filter(|case| !fills(&case.id)) {
        assert!(rounds_had(&seen, &case.id).len() >= 5, "{}: {:?}", case.id, rounds_had(&seen, &case.id));
    }
}
