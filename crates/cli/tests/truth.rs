//! Truth: what the engine says of things whose cost is known, by the checks of `hostmark self-check`, and that command. One at a time.

use hostmark::self_check::bench::{Bench, BenchRound, least};
use hostmark::self_check::checks::{PERCENT, PUT_DELAY_NS, competitor, l1_cache};
use hostmark::self_check::{Known, Line, Outcome, Report, checks, compete};
use hostmark_engine::worker;
use hostmark_model::Choice;

use crate::prelude::*;

/// Rounds of which the least disturbed counts.
const ROUNDS: u32 = 8;

fn bench() -> Bench {
    Bench::here().expect("a CPU to run on")
}

/// What is put in comes back: on a machine that others disturb nothing is told.
fn passes(quiet: &Quiet, line: &Line) {
    match (line.outcome, &line.reason) {
        (Outcome::NotPossible, Some(reason)) => skipped(&reason.en),
        (outcome, _) => {
            quiet.holds(outcome == Outcome::Passed, || format!("{line:?}"));
        }
    }
}

/// The least of so many rounds; none where they cannot be had, as on a machine that is busy.
fn least_of(quiet: &Quiet, case: &str, count: u32, of: impl Fn(&BenchRound) -> f64) -> Option<f64> {
    let rounds = bench().rounds(CATALOGUE, case, count);
    quiet.holds(rounds.is_ok(), || format!("{case}: {:?}", rounds.as_ref().err()));
    rounds.ok().map(|rounds| least(&rounds, of))
}

#[test]
fn the_first_round_of_a_bandwidth_chooses_a_kernel_and_later_ones_take_it() {
    let _alone = alone();
    let bench = bench();
    let note = |events: &[Event], key: &str| {
        events.iter().find_map(|event| match event {
            Event::Note { key: found, value } if found == key => Some(value.clone()),
            _ => None,
        })
    };
    let way_of = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Chosen { scope, way, trials_ns } => Some((scope.clone(), way.clone(), *trials_ns)),
            _ => None,
        })
    };
    for case in [
        "memory.read@size=16384,kernel=best,page=base,threads=1",
        "memory.copy@size=16777216,kernel=best,page=base,threads=1",
        "memory.write@size=1048576,kernel=best,page=base,threads=2",
        "memory.stream2@kernel=copy,size=65536,page=base",
        "memory.stream@kernel=copy,store=best,threads=2,page=base,elements=1000000",
    ] {
        let go = |chosen: Option<Choice>| {
            let job = bench.job(case);
            let threads = if case.contains("threads=2") { 2 } else { 1 };
            let job = job.with(|job| {
                job.cpus = vec![job.cpus[0]; threads];
                job.choices.extend(chosen);
            });
            std::thread::spawn(move || worker::answer(CATALOGUE, job)).join().expect("a worker that ends")
        };
        let first = go(None);
        let (scope, chosen, trials_ns) = way_of(&first).unwrap_or_else(|| panic!("{case}: {:?}", first.last()));
        assert_eq!(note(&first, "kernel").as_ref(), Some(&chosen), "{case}");
        assert!(trials_ns > 0.0 && matches!(first.last(), Some(Event::Done { .. })), "{case}: {:?}", first.last());
        let taken = |way: &str| {
            let later = go(Some(Choice { scope: scope.clone(), way: way.into() }));
            (!matches!(later.last(), Some(Event::Failed { .. }))).then(|| (note(&later, "kernel"), way_of(&later)))
        };
        // Also one that its trials did not choose.
        let other = ["avx2", "sse2", "neon", "nt", "nt-avx2", "nt-neon"]
            .into_iter()
            .find(|way| *way != chosen && taken(way).is_some());
        for choice in [chosen.as_str(), other.unwrap_or_else(|| panic!("{case} has no other way"))] {
            assert_eq!(taken(choice), Some((Some(choice.to_owned()), None)), "{case}");
        }
        assert!(matches!(go(Some(Choice { scope, way: "none".into() })).last(), Some(Event::Failed { .. })), "{case}");
    }
}

#[test]
fn an_empty_unrolled_body_takes_under_a_fifth_of_a_cycle() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let Some(cycles) = least_of(&quiet, "clock.loop", ROUNDS, BenchRound::cycles) else { return };
    quiet.holds((0.0..0.2).contains(&cycles), || format!("{cycles}"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_chain_of_dependent_multiplies_takes_three_cycles_each() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    passes(&quiet, &checks::multiply(&mut bench(), 3..=3));
}

#[test]
fn a_truth_that_is_wrong_never_passes() {
    let _alone = alone();
    let start = &mut |cpu, percent| compete(Path::new(PROGRAM), cpu, percent);
    let mut bench = bench();
    let size = bench.host.cache(bench.cpu, 1).map(|cache| cache.size_bytes * 4);
    for line in [
        l1_cache(&mut bench, size),
        checks::delay(&mut bench, &Known { put: PUT_DELAY_NS, expected: 20_500 }),
        checks::sleep(&mut bench, 1.01),
        competitor(&mut bench, &Known { put: PERCENT, expected: 90 }, start),
    ] {
        assert_ne!(line.outcome, Outcome::Passed, "{line:?}");
    }
}

#[test]
fn each_level_is_slower_than_the_one_above() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let bench = bench();
    let Some(l2) = bench.host.cache(bench.cpu, 2).map(|cache| cache.size_bytes) else {
        return skipped("the size of L2 is unknown here");
    };
    let case = |bytes: u64| format!("memory.latency@size={bytes},pattern=random,page=pmd,copies=1");
    let Some(in_l1) = least_of(&quiet, &case(8 << 10), 3, BenchRound::median) else { return };
    let Some(in_l2) = least_of(&quiet, &case(l2 / 2), 3, BenchRound::median) else { return };
    let Some(in_dram) = least_of(&quiet, &case(256 << 20), 3, BenchRound::median) else { return };
    quiet.holds(in_l1 * 1.5 < in_l2 && in_l2 * 3.0 < in_dram, || format!("{in_l1} {in_l2} {in_dram}"));
}

/// All checks together end within this time; a loaded machine starts processes late.
const SOON: Duration = Duration::from_secs(90);

#[test]
fn what_every_check_puts_in_comes_back_and_the_exit_code_follows_from_them() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let home = Home::new();
    let (code, out, errors) = home.says(&["self-check", "--format", "json"]);
    assert_eq!(errors, "");
    let report: Report = serde_json::from_str(&out).unwrap();
    let ids: Vec<&str> = report.checks.iter().map(|line| line.id.as_str()).collect();
    let all =
        ["delay", "sleep", "multiply", "l1_cache", "compare", "competitor", "fleet", "quota", "disk", "link", "relay"];
    assert_eq!(ids, all);
    let has = |outcome: Outcome| report.checks.iter().any(|line| line.outcome == outcome);
    let expected = if has(Outcome::Error) { 3 } else { i32::from(has(Outcome::Failed)) };
    assert_eq!(code, expected, "{out}");
    // It needs nothing but this program.
    assert_eq!(report.checks[6].outcome, Outcome::Passed, "{out}");
    for line in &report.checks {
        let has_reason = matches!(line.outcome, Outcome::NotPossible | Outcome::Error);
        assert_eq!(has_reason, line.reason.is_some(), "{line:?}");
        passes(&quiet, line);
    }
    let stored = files(home.data.path());
    assert!(stored.len() == 1 && stored[0].parent().unwrap().ends_with("hostmark/self-checks"), "{stored:?}");
    assert_eq!(fs::read_to_string(&stored[0]).unwrap(), out);
    assert!(files(home.scratch.path()).is_empty() && processes(&home).is_empty());
}

#[test]
fn one_that_is_killed_beside_its_competitor_leaves_no_process() {
    let _alone = alone();
    let home = Home::new();
    let mut child = Running::start(&mut home.hostmark(&["self-check", "--lang", "zh"]));
    let is_there = within(SOON, || processes(&home).iter().any(|(_, word)| word == "neighbour"));
    child.kill().unwrap();
    let output = child.ends(SOON * 4);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(is_there && output.stderr.is_empty(), "{text}");
    // Headline, an empty line, and the checks before that of the competitor.
    assert!(text.lines().count() == 2 + 5 && text.contains("按 CLOCK_MONOTONIC_RAW 延迟 20.00 µs"), "{text}");
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
    assert!(files(home.data.path()).is_empty());
}

#[test]
fn a_run_names_the_self_check_that_passed_here_and_strict_runs_demand_it() {
    let _alone = alone();
    let home = Home::new();
    let strict = ["run", "clock.loop", "--strict", "--format", "json"];
    let (code, out, errors) = home.says(&strict);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(errors.starts_with("hostmark: no self-check of this program has passed on this host"), "{errors}");
    let (code, _, _) = home.says(&["self-check"]);
    if code != 0 {
        return skipped("the self-check did not pass here");
    }
    let out = succeeded(home.says(&strict));
    let checked = load_run(&out).unwrap().trust.unwrap().self_check.unwrap();
    assert!(checked.has_passed() && checked.passed >= 1, "{checked:?}");
    let (_, out, _) = home.says(&["run", "clock.loop", "--full"]);
    assert!(out.replace('\n', " ").contains("self-check passed on"), "{out}");
    // Another program's is none.
    let stored = &files(&home.data.path().join("hostmark/self-checks"))[0];
    fs::rename(stored, stored.with_file_name("vm-00000000-00000000.json")).unwrap();
    assert_eq!(home.says(&strict).0, 2);
}

// Runs are timed: one at a time.

/// A run of one probe at the points that are set.
fn run_of(probe: &str, sets: &[&str]) -> Run {
    let home = Home::new();
    let mut arguments = vec!["run", probe, "--format", "json"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let json = succeeded(home.says(&arguments));
    assert!(files(home.scratch.path()).is_empty());
    load_run(&json).unwrap()
}

/// The case at these points; none where this machine cannot measure it.
fn at<'a>(run: &'a Run, points: &[(&str, &str)]) -> Option<&'a Measured> {
    let is_at = |case: &&hostmark_model::CaseRecord| points.iter().all(|&(axis, at)| case.params.get(axis) == Some(at));
    run.cases.iter().find(is_at).expect("a case for each point that was set").measured()
}

fn best(measured: &Measured) -> f64 {
    measured.estimate.best_round
}

#[test]
fn a_fork_copies_page_tables_and_huge_pages_have_few() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run_of("process.fork_resident", &["resident=4M,256M", "page=base,pmd"]);
    let time = |resident, page| at(&run, &[("resident", resident), ("page", page)]);
    let (Some(small), Some(large)) = (time("4194304", "base"), time("268435456", "base")) else {
        return skipped("there is too little memory");
    };
    quiet.holds(best(large) > 3.0 * best(small), || format!("{} and {} ns", best(small), best(large)));
    if let Some(huge) = time("268435456", "pmd") {
        quiet.holds(best(huge) < 0.5 * best(large), || format!("{} and {} ns", best(huge), best(large)));
    }
}

#[test]
fn a_switch_on_one_cpu_is_none_between_two() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run_of("sched.context_switch", &["cpus=same_cpu,same_cache", "processes=2", "footprint=0"]);
    let one = at(&run, &[("cpus", "same_cpu")]).expect("every machine has one CPU");
    let Some(two) = at(&run, &[("cpus", "same_cache")]) else { return skipped("no two CPUs share a cache") };
    quiet.holds(best(two) > 1.3 * best(one), || format!("{} ns on one, {} ns between two", best(one), best(two)));
}

#[test]
fn a_switch_costs_more_the_deeper_its_control_groups_are() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run_of("sched.group_depth", &["depth=1,4,8", "groups=one,two"]);
    let depth = |depth, groups| at(&run, &[("depth", depth), ("groups", groups)]).map(best);
    let of = |groups| Some([depth("1", groups)?, depth("4", groups)?, depth("8", groups)?]);
    let (Some(one), Some(two)) = (of("one"), of("two")) else { return skipped("no control groups can be made here") };
    let says = || format!("in one group {one:?} ns, in two {two:?} ns");
    quiet.holds(one[2] > 1.02 * one[0], says);
    quiet.holds(two[1] > 1.1 * two[0] && two[2] > 1.1 * two[1] && two[2] > 1.2 * one[2], says);
}

#[test]
fn faults_cost_what_the_kernel_has_to_do_in_them() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run_of("paging.fault", &["kind=anonymous,anonymous_pmd,file,file_major,first"]);
    let kind = |kind| at(&run, &[("kind", kind)]);
    let (Some(base), Some(file)) = (kind("anonymous"), kind("file")) else {
        return skipped("faults were not measured");
    };
    // Sixteen pages that are there already against one that has to be cleared.
    let per_page = file.also["per_page"].estimate.best_round;
    quiet.holds(1.5 * per_page < best(base), || format!("{per_page} ns a page of a file, {} ns a new one", best(base)));
    if let Some(pmd) = kind("anonymous_pmd") {
        // 512 times the bytes to clear. (How much cheaper a byte is depends on where the cleared memory lay before.)
        quiet.holds(best(pmd) > 10.0 * best(base), || {
            format!("{} ns a huge page, {} ns a base page", best(pmd), best(base))
        });
    }
    if let Some(major) = kind("file_major") {
        quiet.holds(best(major) > 5.0 * best(file), || {
            format!("{} ns from the device, {} ns from the cache", best(major), best(file))
        });
    }
    // The same fault, of new pages and of those just given back: neither is free, and what a host adds is on the first.
    let Some(first) = kind("first") else { return skipped("first faults were not measured") };
    let again = first.also["again"].estimate.best_round;
    quiet.holds(3.0 * best(first) > again, || format!("{} ns at first, {again} ns again", best(first)));
    let is_alike = 3.0 * again > best(base) && again < 10.0 * best(base);
    quiet.holds(is_alike, || format!("{again} ns again, {} ns of few pages", best(base)));
}

// Runs are timed: one at a time.

/// A short run of this home, kept there.
fn run(home: &Home) -> Run {
    let json = succeeded(home.says(&["run", "syscall.getpid", "clock.loop", "--format", "json"]));
    load_run(&json).unwrap()
}

/// How many runs tell where another run's values are expected.
fn runs_behind(run: &Run) -> Vec<u32> {
    let estimates = run.cases.iter().filter_map(|case| Some(&case.measured()?.estimate));
    estimates.filter_map(|estimate| Some(estimate.repetition?.runs)).collect()
}

#[test]
fn three_kept_runs_report_what_is_assumed_before_and_a_file_estimated_again_says_the_same() {
    let _alone = alone();
    let home = Home::new();
    let first = run(&home);
    assert!(
        !runs_behind(&first).is_empty() && runs_behind(&first).iter().all(|&runs| runs == 0),
        "{:?}",
        runs_behind(&first)
    );
    assert_eq!(first.trust.as_ref().map(|trust| trust.runs), Some(0));
    run(&home);
    // What lies there besides has no part in it.
    let kept = home.data.path().join("hostmark/runs");
    for (number, text) in ["{", "", "[]"].iter().enumerate() {
        fs::write(kept.join(format!("20260101T000000Z-{}-000{number}.json", first.host.hostname)), text).unwrap();
    }
    assert_eq!(files(&kept).len(), 5);
    let third = run(&home);
    assert!(runs_behind(&third).iter().all(|&runs| runs == 0), "{:?}", runs_behind(&third));
    let fourth = run(&home);
    assert!(runs_behind(&fourth).iter().all(|&runs| runs == 3), "{:?}", runs_behind(&fourth));
    assert_eq!(fourth.trust.as_ref().map(|trust| trust.runs), Some(3));
    for estimate in fourth.cases.iter().filter_map(|case| Some(&case.measured()?.estimate)) {
        let next = estimate.repetition.unwrap();
        assert!(next.low <= estimate.value() && estimate.value() <= next.high, "{next:?}");
    }
    let (code, again, _) = home.says(&["report", "last", "--reestimate", "--format", "json"]);
    let again = load_run(&again).unwrap();
    assert_eq!((code, &again.cases, &again.trust), (0, &fourth.cases, &fourth.trust));
    // The head says what the grade stands on, and --verbose both intervals.
    let (_, text, _) = home.says(&["report", "last", "--verbose"]);
    assert!(text.contains("TRUST ") && text.contains("by 3 earlier runs"), "{text}");
    assert!(text.contains("this run ") && text.contains("scatter of 3 runs"), "{text}");
}
