//! The hard wall limit, and who gives way when time is short.

use hostmark_model::CaseRecord;

use super::*;

/// Time that quick's limit leaves for everything up to the last answer.
const HARD: Duration = Duration::from_millis(58_200);

fn rounds_of(seen: &Seen, id: &str) -> usize {
    seen.rounds().iter().filter(|(case, _)| *case == id).count()
}

fn defaults_and_others(seen: &Seen) -> (Vec<&CaseRecord>, Vec<&CaseRecord>) {
    seen.outcomes.cases.iter().partition(|case| case.id.ends_with("@n=1"))
}

/// A run of twenty probes of ten cases each, or of those that these filters name, which keeps its limit.
fn limited(filters: &[&str], script: impl FnMut(&Job) -> Script) -> Seen {
    let seen = perform(&planned(MANY, filters, Profile::Quick), &host(), None, script);
    assert!(seen.elapsed <= HARD, "{:?}", seen.elapsed);
    seen
}

fn rounds(case: &CaseRecord) -> u32 {
    case.measured().map_or(0, |measured| measured.estimate.rounds)
}

/// A machine on which every round takes `slow` times what it was granted, and then some.
fn loaded(job: &Job, slow: u32, overhead: Duration) -> Script {
    let granted = Duration::from_nanos(job.budget_ns);
    fine(job, 5.0, granted * (slow - 1) + overhead)
}

#[test]
fn a_quick_run_of_200_cases_gives_all_of_them_all_rounds() {
    let seen = limited(&[], usual);
    assert!(seen.elapsed <= Duration::from_secs(57) + Duration::from_millis(200), "{:?}", seen.elapsed);
    assert!(seen.elapsed > Duration::from_secs(50));
    for case in &seen.outcomes.cases {
        assert!(rounds_of(&seen, &case.id) >= 3);
        assert!(case.measured().unwrap().flags.is_empty());
    }
}

#[test]
fn the_limit_is_kept_on_a_machine_ten_times_too_slow() {
    for overhead_ms in [0, 8, 40, 150] {
        let overhead = Duration::from_millis(overhead_ms);
        let seen = limited(&[], |job| loaded(job, 10, overhead));
        let (defaults, others) = defaults_and_others(&seen);
        for case in defaults {
            let measured = case.measured().unwrap();
            assert!(measured.estimate.rounds >= 3, "{}: {}", case.id, measured.estimate.rounds);
        }
        let dropped = others.iter().filter(|case| !is_measured(&case.outcome)).collect::<Vec<_>>();
        assert!(!dropped.is_empty() && dropped.len() < others.len());
        for case in dropped {
            assert_eq!(case.outcome, Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") });
        }
        // Time is given to cases that can come to an interval with it.
        let complete = others.iter().filter_map(|case| case.measured()).filter(|it| it.estimate.rounds >= 3).count();
        let begun = others.iter().filter(|case| is_measured(&case.outcome)).count();
        assert!(10 * complete >= 8 * begun, "{complete} of {begun}");
    }
}

#[test]
fn where_time_is_short_every_case_has_an_interval_before_any_has_more_rounds() {
    // All seven rounds of 200 cases take 574 s, five of them 410 s, and there are 285 s: enough for five of 139 cases.
    let plan = planned(MANY, &[], Profile::Standard);
    let seen = perform(&plan, &host(), None, |job| fine(job, 5.0, Duration::from_millis(400)));
    let (defaults, others) = defaults_and_others(&seen);
    assert!(defaults.into_iter().all(|case| rounds(case) >= 5));
    let begun = others.iter().filter(|case| rounds(case) > 0).count();
    let complete = others.iter().filter(|case| rounds(case) >= 5).count();
    assert!(complete * 100 >= begun * 95 && complete >= 105, "{complete} of {begun}");
    assert!(seen.elapsed > Duration::from_secs(280) && seen.elapsed <= Duration::from_secs(291), "{:?}", seen.elapsed);
}

#[test]
fn when_time_is_not_enough_for_the_defaults_they_have_all_of_it() {
    let seen = limited(&[], |job| fine(job, 5.0, Duration::from_secs(2)));
    let (defaults, others) = defaults_and_others(&seen);
    assert!(defaults.iter().all(|case| is_measured(&case.outcome)));
    assert!(others.iter().all(|case| reason(&case.outcome) == "no time left"));
    // Even the first replicate does not fit: the first defaults are measured, and no other case.
    let seen = limited(&[], |job| fine(job, 5.0, Duration::from_secs(4)));
    let (defaults, others) = defaults_and_others(&seen);
    assert!((12..20).contains(&defaults.iter().filter(|case| is_measured(&case.outcome)).count()));
    assert!(others.iter().all(|case| reason(&case.outcome) == "no time left"));
}

#[test]
fn a_round_under_way_at_the_limit_is_no_round() {
    let mut turns = 0;
    let seen = perform(&planned(MANY, &["many.a"], Profile::Standard), &host(), None, |job| {
        turns += 1;
        // The first case takes all of the time but a second.
        let overhead = if turns == 2 { Duration::from_secs(15) } else { Duration::from_secs(16) };
        fine(job, 5.0, overhead)
    });
    let limit = Duration::from_secs(300).mul_f64(0.97);
    assert!(seen.elapsed <= limit, "{:?}", seen.elapsed);
    let kept: u32 = seen.outcomes.cases.iter().filter_map(|case| case.measured()).map(|it| it.estimate.rounds).sum();
    assert!(seen.rounds().len() as u32 - kept <= 1);
}

#[test]
fn one_slow_round_does_not_cost_the_others_their_place() {
    let mut turns = 0;
    let seen = limited(&[], |job| {
        turns += 1;
        fine(job, 5.0, Duration::from_millis(if turns == 3 { 4_000 } else { 8 }))
    });
    assert!(seen.outcomes.cases.iter().all(|case| is_measured(&case.outcome)));
    let whole = seen.outcomes.cases.iter().filter(|case| case.measured().unwrap().estimate.rounds >= 3).count();
    assert!(whole >= 195, "{whole}");
}

/// A machine on which all rounds of many.a would take 80 s.
fn expensive(job: &Job) -> Script {
    let overhead = if job.case().starts_with("many.a@") { 2_660 } else { 8 };
    fine(job, 5.0, Duration::from_millis(overhead))
}

#[test]
fn one_expensive_probe_does_not_take_the_place_of_many_cheap_ones() {
    let seen = limited(&[], expensive);
    let (expensive, cheap): (Vec<&CaseRecord>, Vec<&CaseRecord>) =
        seen.outcomes.cases.iter().partition(|case| case.probe == "many.a");
    assert!(cheap.iter().all(|case| rounds(case) >= 5));
    // As many as there is time for, and all of their rounds.
    let expensive: Vec<u32> = expensive.into_iter().map(rounds).collect();
    assert!(expensive[0] >= 3);
    assert!((2..=3).contains(&expensive.iter().filter(|&&rounds| rounds >= 5).count()), "{expensive:?}");
}

#[test]
fn what_is_slow_to_fill_has_one_round_and_the_others_when_all_have_theirs() {
    let mut plan = planned(MANY, &[], Profile::Quick);
    for case in plan.cases.iter_mut().filter(|case| case.id.probe == "many.a") {
        case.set_up = Duration::from_millis(30);
    }
    let seen = perform(&plan, &host(), None, expensive);
    assert!(seen.elapsed <= HARD, "{:?}", seen.elapsed);
    let (slow, others): (Vec<&CaseRecord>, Vec<&CaseRecord>) =
        seen.outcomes.cases.iter().partition(|case| case.probe == "many.a");
    assert!(others.iter().all(|case| rounds(case) >= 3));
    assert!(others.iter().filter(|case| rounds(case) >= 5).count() >= 170);
    // More of them have a value than where each had been promised five rounds, and no time is left.
    assert!(slow.iter().filter(|case| rounds(case) > 0).count() > 3 && rounds(slow[0]) >= 1);
    assert!(seen.elapsed > Duration::from_secs(50), "{:?}", seen.elapsed);
}

#[test]
fn a_machine_that_slows_down_midway_costs_rounds_and_keeps_the_limit() {
    let seen = limited(&[], |job| match job.round {
        0 => usual(job),
        _ => loaded(job, 10, Duration::ZERO),
    });
    let (defaults, others) = defaults_and_others(&seen);
    assert!(others.iter().all(|case| is_measured(&case.outcome)));
    assert!(defaults.iter().all(|case| case.measured().unwrap().estimate.rounds >= 3));
    let lost = others.iter().filter_map(|case| case.measured()).filter(|it| it.estimate.rounds < 3);
    for measured in lost {
        let kinds: Vec<FlagKind> = measured.flags.iter().map(|flag| flag.kind).collect();
        assert_eq!(kinds, [FlagKind::FewRounds, FlagKind::RoundsLost]);
    }
}

#[test]
fn where_rounds_enough_for_an_interval_remain_a_case_loses_one_and_not_its_place() {
    // Standard: ten cases of seven rounds, of which time has five.
    let mut turns = 0;
    let seen = perform(&planned(MANY, &["many.a"], Profile::Standard), &host(), None, |job| {
        turns += 1;
        fine(job, 5.0, Duration::from_millis(5_000))
    });
    assert!(seen.elapsed <= Duration::from_secs(300).mul_f64(0.97));
    let rounds: Vec<u32> = seen.outcomes.cases.iter().map(|case| case.measured().unwrap().estimate.rounds).collect();
    assert!(rounds.iter().all(|&rounds| rounds >= 5), "{rounds:?}");
}

#[test]
fn warming_many_cpus_does_not_take_the_run() {
    let mut plan = planned(CATALOGUE, &["net"], Profile::Quick);
    plan.cases[0].cpus = (0..512).collect();
    let seen = perform(&plan, &host(), None, |job| match job.case() {
        "" => vec![hello(), (Duration::from_millis(200), line(&done(0)).1)],
        _ => usual(job),
    });
    let warmed: Vec<usize> = seen.jobs.iter().filter(|job| job.cases.is_empty()).map(|job| job.cpus[0]).collect();
    assert_eq!((warmed[0], warmed.len()), (plan.cpu, 15));
    assert!(seen.outcomes.cases.iter().all(|case| is_measured(&case.outcome)));
}

#[test]
fn a_warm_up_that_hangs_is_left_behind() {
    let seen = perform(&planned(CATALOGUE, &["net"], Profile::Quick), &host(), None, |job| {
        if job.cases.is_empty() { vec![(Duration::from_secs(900), hello().1)] } else { usual(job) }
    });
    assert_eq!(seen.ended, seen.jobs.len());
    assert!(seen.outcomes.cases.iter().all(|case| is_measured(&case.outcome)));
    assert!(seen.elapsed < Duration::from_secs(5));
}

#[test]
fn the_time_left_over_goes_to_the_widest_intervals_once() {
    // Ten cases of 750 ms a round: seven replicates leave about 4.4 s, which are five rounds.
    let seen = limited(&["many.a"], |job| {
        let n: u32 = job.case().rsplit('=').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        fine(job, 100.0 + f64::from(n * job.round.min(2)), Duration::from_millis(650))
    });
    let extra: Vec<&str> = seen.rounds().into_iter().filter(|(_, round)| *round == 7).map(|(case, _)| case).collect();
    let mut sorted = extra.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["many.a@n=10", "many.a@n=6", "many.a@n=7", "many.a@n=8", "many.a@n=9"]);
    assert!(seen.elapsed <= Duration::from_secs(57), "{:?}", seen.elapsed);
    assert!(seen.rounds().iter().all(|(_, round)| *round <= 7));
}

#[test]
fn an_interval_that_is_narrow_enough_gets_no_more_rounds() {
    // Half widths of seven rounds about 1000: well under 2 %, and well over.
    let seen = perform(&planned(CATALOGUE, &["net"], Profile::Quick), &host(), None, |job| {
        let spread = if job.case() == "net.tcp" { 5.0 } else { 30.0 };
        fine(job, 1000.0 + spread * f64::from(job.round), Duration::ZERO)
    });
    assert_eq!((rounds_of(&seen, "net.tcp"), rounds_of(&seen, "net.tcp_connect")), (7, 8));
}

#[test]
fn a_round_that_was_lost_is_made_up_for_in_the_time_left_over() {
    // Hardly any time seems left when the first replicates end, and then the machine is fast again.
    let seen = limited(&["many.a", "many.b", "many.c", "many.d"], |job| match job.round {
        1 => fine(job, 5.0, Duration::from_millis(650)),
        _ => fine(job, 5.0, Duration::ZERO),
    });
    let made_up: Vec<&str> = seen.rounds().into_iter().filter(|(_, round)| *round == 7).map(|(case, _)| case).collect();
    assert!(!made_up.is_empty());
    assert!(made_up.iter().all(|case| rounds_of(&seen, case) <= 7));
}

#[test]
fn hanging_cases_do_not_take_all_time() {
    let seen = limited(&[], |job| match job.case() {
        "many.a@n=1" | "many.b@n=2" | "many.c@n=3" => vec![hello(), (Duration::from_secs(900), hello().1)],
        _ => usual(job),
    });
    let failed = seen.outcomes.cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed { .. }));
    assert_eq!(failed.count(), 3);
    // What they took is gone, and with it some of what tells least.
    let measured = seen.outcomes.cases.iter().filter(|case| is_measured(&case.outcome)).count();
    assert!(measured >= 180, "{measured} of {}", seen.outcomes.cases.len());
}
