//! Runs that fill their time, go on where another was cut short, or lose something while they go on.

use std::cell::{Cell, RefCell};
use std::path::Path;

use hostmark_launch::Received;

use super::*;
use crate::fixture::resumed;
use crate::mock::{Unmetered, go_on, perform_kept, perform_on};
use crate::plan::Priority;
use crate::record::contention::Meters;
use crate::record::journal::{Journal, PlanLine};

/// Lets these cases fill memory.
fn fill(plan: &mut Plan, fills: impl Fn(&str) -> bool) {
    let filling = plan.cases.iter_mut().filter(|case| fills(&case.id.to_string()));
    filling.for_each(|case| case.set_up = Duration::from_millis(30));
}

/// Ten cases of one probe, each of which fills memory.
fn filling() -> Plan {
    let mut plan = planned(SHARED, &["many.a"], Profile::Quick);
    fill(&mut plan, |_| true);
    plan
}

/// Answers of a worker to a job: the round of each of its cases in the time granted, and so much more.
fn answers(job: &Job, mut overhead: impl FnMut(&str) -> Duration) -> Script {
    if job.cases.is_empty() {
        return usual(job);
    }
    let rounds = job.cases.iter().flat_map(|case| fine(job, 5.0, overhead(&case.id)).into_iter().skip(1));
    std::iter::once(hello()).chain(rounds).collect()
}

/// The rounds of a job's cases, each in the time granted, told one after the other.
pub(super) fn each(job: &Job) -> Script {
    answers(job, |_| Duration::from_millis(8))
}

/// A worker that takes so long to touch what its first case fills, which later ones find.
fn touching(job: &Job, first_touch: Duration) -> Script {
    let mut next = first_touch;
    answers(job, |_| std::mem::replace(&mut next, Duration::from_millis(40)))
}

fn rounds_had(seen: &Seen, id: &str) -> Vec<u32> {
    let case = seen.outcomes.cases.iter().find(|case| case.id == id).unwrap();
    case.measured().map_or(Vec::new(), |measured| measured.rounds.iter().map(|round| round.round).collect())
}

fn assert_five_rounds(seen: &Seen) {
    let had = |case: &hostmark_model::CaseRecord| rounds_had(seen, &case.id);
    assert!(seen.outcomes.cases.iter().all(|case| had(case).starts_with(&[0, 1, 2, 3, 4])), "{:?}", seen.rounds());
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
    assert_five_rounds(&seen);
}

#[test]
fn one_that_has_ended_meanwhile_is_followed_by_a_fresh_one() {
    // Given a further job, it says nothing and has ended.
    let script = |job: &Job| touching(job, Duration::from_millis(40));
    let seen = perform_kept(&filling(), &host(), script, |_| Vec::new());
    assert_five_rounds(&seen);
}

#[test]
fn memory_that_a_case_lacks_is_given_back_for_it() {
    let mut plan = planned(SHARED, &["many.a", "many.b"], Profile::Quick);
    fill(&mut plan, |id| id.starts_with("many.a@"));
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
    assert_five_rounds(&seen);
}

#[test]
fn where_a_machine_is_busy_no_default_goes_without_for_the_rounds_of_another() {
    // Three probes fill memory, and the others take two seconds a round each: less than a minute in all is a round of every default.
    let mut plan = planned(SHARED, &[], Profile::Quick);
    let fills = |id: &str| ["many.a@", "many.b@", "many.c@"].iter().any(|probe| id.starts_with(probe));
    fill(&mut plan, fills);
    let seen = perform(&plan, &host(), None, |job| match fills(job.case()) {
        true => touching(job, Duration::from_secs(4)),
        false => answers(job, |_| Duration::from_millis(1900)),
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
    let seen = perform(&plan, &host(), None, |job| match fills(job.case()) {
        true => answers(job, |_| Duration::from_secs(5)),
        false => usual(job),
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
    let overhead = |id: &str| Duration::from_millis(if is_default(id) { 250 } else { 5 });
    let seen = perform(&plan, &host(), None, |job| answers(job, overhead));
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
    let overhead = |id: &str| Duration::from_millis(if fills(id) { 2500 } else { 30 });
    let seen = perform(&plan, &host(), None, |job| answers(job, overhead));
    for case in &seen.outcomes.cases {
        let rounds = rounds_had(&seen, &case.id);
        match fills(&case.id) {
            true => assert!(matches!(case.outcome, Outcome::Skipped { .. }), "{rounds:?}"),
            false => assert!(rounds.len() >= 5, "{}: {rounds:?}", case.id),
        }
    }
}

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
fn choice(job: &Job, case: &JobCase) -> Option<String> {
    job.choices.iter().find(|choice| choice.scope == case.id).map(|choice| choice.way.clone())
}

/// A round whose trials take a second; it chooses another way in each round, if it may.
fn choosing(job: &Job) -> Script {
    let mut script = fine(job, 5.0, Duration::from_millis(8));
    if job.cases.first().is_some_and(|case| choice(job, case).is_none()) {
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
            assert_eq!(choice(job, &job.cases[0]), expected, "{} round {}", job.case(), job.round);
        }
    }
    assert!(whole.jobs.iter().any(|job| job.cases.iter().any(|case| choice(job, case).is_some())));
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

/// A kernel that tells which CPUs there are, and nothing else.
struct Shrinking(RefCell<Vec<usize>>);

impl Meters for Shrinking {
    fn allowed_cpus(&self) -> Option<Vec<usize>> {
        Some(self.0.borrow().clone())
    }
}

/// A kernel that tells how hot it is, each time another.
struct Heating(Cell<f64>);

impl Meters for Heating {
    fn hottest_celsius(&self) -> Option<f64> {
        let celsius = self.0.get();
        self.0.set(120.0 - celsius);
        Some(celsius)
    }
}

#[test]
fn a_run_keeps_the_hottest_of_its_temperatures() {
    let plan = planned(CATALOGUE, &["net.tcp"], Profile::Quick);
    assert_eq!(perform_on(&Heating(Cell::new(71.0)), &plan, &host(), usual).results.hottest_celsius, Some(71.0));
    assert_eq!(perform_on(&Unmetered, &plan, &host(), usual).results.hottest_celsius, None);
}

/// A run from which `cpu` is taken when so many rounds have begun.
fn without(cpu: usize, after: usize, plan: &Plan) -> Seen {
    let (meters, rounds) = (Shrinking(RefCell::new(vec![0, 1, 2, 3])), Cell::new(0));
    perform_on(&meters, plan, &host(), |job| {
        rounds.set(rounds.get() + usize::from(!job.cases.is_empty()));
        if rounds.get() > after {
            meters.0.borrow_mut().retain(|&other| other != cpu);
        }
        usual(job)
    })
}

fn flags(outcome: &Outcome) -> Vec<FlagKind> {
    let Outcome::Measured(measured) = outcome else { panic!("{}", reason(outcome)) };
    measured.flags.iter().map(|flag| flag.kind).collect()
}

#[test]
fn another_cpu_stands_in_for_one_that_was_taken() {
    let plan = planned(CATALOGUE, &["net.tcp"], Profile::Quick);
    let seen = without(plan.cpu, 3, &plan);
    assert_eq!(seen.results.taken.iter().map(|taken| taken.what).collect::<Vec<_>>(), [Resource::Cpu(plan.cpu)]);
    // Those before stay; the one that was under way is measured again, as far as there is time.
    let used: Vec<usize> = seen.jobs.iter().filter(|job| !job.cases.is_empty()).map(|job| job.cpus[0]).collect();
    assert!(used[..4].iter().all(|&cpu| cpu == plan.cpu) && used[4..].iter().all(|&cpu| cpu != plan.cpu), "{used:?}");
    assert!(used.len() >= QUICK_ROUNDS as usize, "{used:?}");
    assert!(is_measured(seen.outcome("net.tcp")));
    let cpus = |of: &[Round]| of.iter().map(|round| round.cpus.clone()).collect::<Vec<_>>();
    let kept = cpus(&seen.results.record.cases.iter().find(|case| case.id.probe == "net.tcp").unwrap().rounds);
    assert!(kept[..3].iter().all(|cpus| cpus[..] == [plan.cpu]) && kept[3..].iter().all(|cpus| cpus[..] != [plan.cpu]));
}

#[test]
fn a_case_that_needs_what_was_taken_keeps_what_it_has_and_others_go_on() {
    let plan = planned(CATALOGUE, &["ipc.pipe", "net.tcp"], Profile::Quick);
    let two = plan.cases.iter().find(|case| case.cpus.iter().any(|&cpu| cpu != plan.cpu)).unwrap();
    let (id, other) = (two.id.to_string(), *two.cpus.iter().find(|&&cpu| cpu != plan.cpu).unwrap());
    let late = without(other, plan.cases.len() * 2, &plan);
    assert!(flags(late.outcome(&id)).contains(&FlagKind::RoundsLost));
    assert_eq!(flags(late.outcome("net.tcp")), []);
    // From the start, it has no value, and says why.
    let early = without(other, 0, &plan);
    let message = reason(early.outcome(&id));
    assert!(message.starts_with(&format!("CPU {other} was taken from this run after ")), "{message}");
    assert!(early.rounds().iter().filter(|(case, _)| *case == id).count() <= 1);
    assert_eq!(flags(early.outcome("net.tcp")), []);
}
