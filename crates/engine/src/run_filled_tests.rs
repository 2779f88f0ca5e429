//! Cases that take long to fill: who does their rounds, and what becomes of the others' where time is short.

use super::*;
use crate::mock::perform_kept;
use crate::plan::Priority;

/// Ten cases of one probe, each of which fills memory.
pub(super) fn filling() -> Plan {
    let mut plan = planned(SHARED, &["many.a"], Profile::Quick);
    plan.cases.iter_mut().for_each(|case| case.set_up = Duration::from_millis(30));
    plan
}

/// A worker that takes so long to touch what its first case fills, which later ones find.
pub(super) fn touching(job: &Job, first_touch: Duration) -> Script {
    if job.cases.is_empty() {
        return usual(job);
    }
    let (mut script, mut overhead) = (vec![hello()], first_touch);
    for _ in &job.cases {
        script.extend(fine(job, 5.0, overhead).into_iter().skip(1));
        overhead = Duration::from_millis(40);
    }
    script
}

fn rounds_had(seen: &Seen, id: &str) -> Vec<u32> {
    let case = seen.outcomes.cases.iter().find(|case| case.id == id).unwrap();
    case.measured().map_or(Vec::new(), |measured| measured.rounds.iter().map(|round| round.round).collect())
}

/// A worker that touches its memory for four seconds, once.
fn slow(job: &Job) -> Script {
    touching(job, Duration::from_secs(4))
}

/// Rounds of a job that follows, by the same worker.
fn touched(job: &Job) -> Script {
    touching(job, Duration::from_millis(40)).split_off(1)
}

#[test]
fn one_worker_touches_memory_for_the_rounds_of_all_replicates() {
    let seen = perform_kept(&filling(), &host(), slow, touched);
    let jobs: Vec<&Job> = seen.jobs.iter().filter(|job| !job.cases.is_empty()).collect();
    assert!(jobs.len() >= 5 && jobs.iter().all(|job| job.is_followed), "{:?}", seen.rounds());
    // Those of the CPUs' warm-up, and one that filled memory.
    assert_eq!(seen.ended, seen.jobs.len() - jobs.len() + 1);
    for case in &seen.outcomes.cases {
        assert!(rounds_had(&seen, &case.id).starts_with(&[0, 1, 2, 3, 4]), "{}", case.id);
    }
}

#[test]
fn one_that_has_ended_meanwhile_is_followed_by_a_fresh_one() {
    // Given a further job, it says nothing and has ended.
    let script = |job: &Job| touching(job, Duration::from_millis(40));
    let seen = perform_kept(&filling(), &host(), script, |_| Vec::new());
    for case in &seen.outcomes.cases {
        assert!(rounds_had(&seen, &case.id).starts_with(&[0, 1, 2, 3, 4]), "{}", case.id);
    }
}

#[test]
fn memory_that_a_case_lacks_is_given_back_for_it() {
    let mut plan = planned(SHARED, &["many.a", "many.b"], Profile::Quick);
    let filling = plan.cases.iter_mut().filter(|case| case.id.probe == "many.a");
    filling.for_each(|case| case.set_up = Duration::from_millis(30));
    let mut lacked = false;
    let script = |job: &Job| {
        // From the second replicate on a worker keeps memory.
        if job.round == 1 && job.case().starts_with("many.b") && !std::mem::replace(&mut lacked, true) {
            return vec![hello(), line(&Event::Skipped { reason: ReasonCode::TooLittleMemory.because("no memory") })];
        }
        touching(job, Duration::from_millis(40))
    };
    let seen = perform_kept(&plan, &host(), script, touched);
    assert!(lacked);
    for case in &seen.outcomes.cases {
        assert!(rounds_had(&seen, &case.id).starts_with(&[0, 1, 2, 3, 4]), "{}", case.id);
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
        Some(case) if fills(&case.id) => touching(job, Duration::from_secs(4)),
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
fn a_glance_has_five_rounds_of_what_it_measures_and_leaves_out_what_is_too_slow_to_fill() {
    // A host that tells of 300 MiB of cache: 19 cells that fill nothing, and one that takes seconds a round.
    let mut plan = planned(SHARED, &["many.a", "many.b"], Profile::Glance);
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
    for case in &seen.outcomes.cases {
        let rounds = rounds_had(&seen, &case.id);
        match fills(&case.id) {
            true => assert!(matches!(case.outcome, Outcome::Skipped { .. }), "{rounds:?}"),
            false => assert!(rounds.len() >= 5, "{}: {rounds:?}", case.id),
        }
    }
}
