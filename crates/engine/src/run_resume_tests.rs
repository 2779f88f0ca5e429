//! Runs that go on where another was cut short.

use std::path::Path;

use hostmark_launch::Received;

use super::filled::{filling, touching};
use super::*;
use crate::fixture::resumed;
use crate::mock::go_on;
use crate::record::journal::{Journal, PlanLine};

/// A run with a journal, whose process is gone when it has journalled so many rounds.
fn cut_short(plan: &Plan, path: &Path, rounds: usize, script: fn(&Job) -> Script) -> Vec<PastRound> {
    let mut journal = Journal::create(path, &"run", &PlanLine::of(plan), &Origin::default()).unwrap();
    let mut turns = 0;
    perform(plan, &host(), Some(&mut journal), |job| {
        turns += usize::from(!job.cases.is_empty());
        if turns > rounds { vec![hello(), (Duration::from_millis(2), Received::Interrupted)] } else { script(job) }
    });
    drop(journal);
    let (_, _, past) = resumed::<String>(path).unwrap();
    assert_eq!(past.len(), rounds);
    past
}

fn owned(seen: &Seen) -> Vec<(String, u32)> {
    seen.rounds().into_iter().map(|(case, round)| (case.to_owned(), round)).collect()
}

/// A value that depends on the case and the round, and intervals so wide that more rounds are wanted.
fn varied(job: &Job) -> Script {
    let ns = 5.0 + f64::from(job.round) + job.case().len() as f64;
    match job.case() {
        "net.tcp_connect" => vec![hello(), line(&Event::Skipped { reason: ReasonCode::NotApplicable.because("no") })],
        _ => fine(job, ns, Duration::from_millis(8)),
    }
}

#[test]
fn a_run_that_goes_on_has_exactly_the_rounds_of_one_that_was_never_cut_short() {
    let directory = tempfile::tempdir().unwrap();
    let plan = planned(CATALOGUE, &[], Profile::Quick);
    let whole = perform(&plan, &host(), None, varied);
    let all = owned(&whole);
    assert!(all.iter().any(|(_, round)| *round == QUICK_ROUNDS), "the last pass is one of those that are resumed");
    for rounds in [0, 1, 5, ALL_OF_A, all.len() / 2, all.len() - 2, all.len()] {
        let path = directory.path().join(rounds.to_string());
        let past = cut_short(&plan, &path, rounds, varied);
        let (mut journal, ..) = resumed::<String>(&path).unwrap();
        let seen = go_on(&plan, &host(), Some(&mut journal), past.clone(), varied);
        let mut together: Vec<(String, u32)> = past.iter().map(|p| (p.case.clone(), p.round.round)).collect();
        together.extend(owned(&seen));
        assert_eq!(together, all, "after {rounds}");
        assert_eq!(seen.outcomes.cases, whole.outcomes.cases, "after {rounds}");
        assert!(!seen.results.interrupted);
        drop(journal);
        // The journal went on in the same file.
        assert_eq!(Journal::read::<String>(&path).unwrap().1.len(), all.len());
    }
}

/// A run goes on whose journal has lost the lines that `is_torn` says; gives what it then measures.
fn torn(plan: &Plan, whole: &[PastRound], script: fn(&Job) -> Script, is_torn: &dyn Fn(usize) -> bool) -> usize {
    let kept = |place: &usize| !is_torn(*place);
    let past: Vec<PastRound> = (0..whole.len()).filter(kept).map(|place| whole[place].clone()).collect();
    let seen = go_on(plan, &host(), None, past.clone(), script);
    for case in &seen.results.record.cases {
        let id = case.id.to_string();
        let had: Vec<u32> = case.rounds.iter().map(|round| round.round).collect();
        assert!(had.iter().all(|round| had.iter().filter(|other| *other == round).count() == 1), "{id}: {had:?}");
        let lost = past.iter().find(|past| past.case == id && !had.contains(&past.round.round));
        assert_eq!(lost, None, "{id}: {had:?}");
    }
    seen.results.record.cases.iter().map(|case| case.rounds.len()).sum::<usize>() - past.len()
}

#[test]
fn behind_torn_lines_every_round_that_was_kept_stays_and_what_they_held_is_measured_anew() {
    let directory = tempfile::tempdir().unwrap();
    let slow = |job: &Job| touching(job, Duration::from_secs(4));
    let shared = planned(SHARED, &["many.a"], Profile::Quick);
    // For one round alone no memory is filled again.
    type Answers = fn(&Job) -> Script;
    let plans: [(Plan, Answers, usize); 3] =
        [(planned(CATALOGUE, &[], Profile::Quick), varied, 4), (shared, each, 4), (filling(), slow, 3)];
    for (number, (plan, script, least)) in plans.iter().enumerate() {
        let path = directory.path().join(number.to_string());
        let mut journal = Journal::create(&path, &"run", &PlanLine::of(plan), &Origin::default()).unwrap();
        perform(plan, &host(), Some(&mut journal), script);
        drop(journal);
        let mut whole = resumed::<String>(&path).unwrap().2;
        whole.truncate(whole.len() - 3);
        for place in 0..whole.len() {
            assert!(torn(plan, &whole, *script, &|other| other == place) >= *least, "{place}");
        }
        for every in 2..7 {
            torn(plan, &whole, *script, &|place| place % every == 0);
        }
    }
}

#[test]
fn what_was_learned_and_used_before_is_handed_on() {
    let directory = tempfile::tempdir().unwrap();
    let plan = planned(CATALOGUE, &["net.tcp"], Profile::Quick);
    let past = cut_short(&plan, &directory.path().join("x"), 2, usual);
    let seen = go_on(&plan, &host(), None, past.clone(), usual);
    let job = seen.jobs.iter().find(|job| !job.cases.is_empty()).unwrap();
    assert_eq!((job.round, job.cases[0].iterations), (2, Some(1000)));
    assert!(seen.elapsed > past[1].took.until);
    assert_eq!(seen.progress[0].1, 2);
}

/// Returns the way chosen for a case whose choices are valid for it alone.
fn choice(case: &JobCase) -> Option<String> {
    case.choices.iter().find(|choice| choice.scope == case.id).map(|choice| choice.way.clone())
}

/// A round whose trials take a second; it chooses another way in each round, if it may.
fn choosing(job: &Job) -> Script {
    let mut script = fine(job, 5.0, Duration::from_millis(8));
    if job.cases.first().is_some_and(|case| choice(case).is_none()) {
        let way = format!("way-{}-{}", job.case(), job.round);
        let chosen = line(&Event::Chosen { scope: job.case().into(), way, trials_ns: 1e9 }).1;
        script.insert(1, (Duration::from_secs(1), chosen));
    }
    script
}

#[test]
fn all_rounds_of_a_case_go_the_way_that_its_first_chose_in_a_resumed_run_too() {
    let directory = tempfile::tempdir().unwrap();
    let plan = planned(CATALOGUE, &["memory.latency"], Profile::Quick);
    let path = directory.path().join("x");
    // Cut short within the second replicate: some cases have chosen in the first and go on, all were told before.
    let past = cut_short(&plan, &path, plan.cases.len() + 1, choosing);
    let seen = go_on(&plan, &host(), None, past, choosing);
    let whole = perform(&plan, &host(), None, choosing);
    for (seen, first) in [(&seen, 1), (&whole, 0)] {
        for job in seen.jobs.iter().filter(|job| !job.cases.is_empty()) {
            let expected = (job.round >= first.max(1)).then(|| format!("way-{}-0", job.case()));
            assert_eq!(choice(&job.cases[0]), expected, "{} round {}", job.case(), job.round);
        }
    }
    assert!(whole.jobs.iter().flat_map(|job| &job.cases).any(|case| choice(case).is_some()));
}

#[test]
fn the_time_of_trials_is_not_expected_again() {
    let plan = planned(CATALOGUE, &["memory.latency"], Profile::Quick);
    let seen = perform(&plan, &host(), None, choosing);
    // A minute is nothing to these cases, if only their first rounds have trials of a second each.
    let (_, done, all, left) = seen.progress.iter().find(|(_, done, ..)| *done == plan.cases.len()).unwrap();
    let granted = seen.jobs.iter().map(|job| job.budget_ns).max().unwrap();
    let most = Duration::from_nanos(granted) + Duration::from_millis(100);
    assert!(*left < most * (all - done) as u32, "{left:?} for {} rounds", all - done);
}

#[test]
fn a_case_that_had_no_time_before_has_none_now() {
    let directory = tempfile::tempdir().unwrap();
    let slow = |job: &Job| fine(job, 5.0, Duration::from_millis(400));
    let plan = planned(MANY, &[], Profile::Quick);
    let whole = perform(&plan, &host(), None, slow);
    let past = cut_short(&plan, &directory.path().join("x"), 100, slow);
    let seen = go_on(&plan, &host(), None, past.clone(), slow);
    let mut together: Vec<(String, u32)> = past.iter().map(|p| (p.case.clone(), p.round.round)).collect();
    together.extend(owned(&seen));
    // The warm-up of the second start costs a round at most.
    let both = together.iter().zip(&owned(&whole)).take_while(|(one, other)| one == other).count();
    assert!(both + 2 >= together.len().min(owned(&whole).len()), "{both} of {}", together.len());
    assert!(seen.elapsed <= Duration::from_secs(60).mul_f64(0.97));
}
