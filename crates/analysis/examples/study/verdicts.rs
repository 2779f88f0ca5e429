//! What comparisons of recorded runs find when one side is made slower by a known factor, and what they call different when nothing was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use hostmark_analysis::compare::{Comparison, History, Pool, SAME, Verdict};
use hostmark_model::{Better, CaseRecord, Estimate, Measured, Outcome, Run, load_run};

/// Of the cases one in so many is made slower, so that the others stay what they are.
const ONE_IN: usize = 10;
/// Runs a side.
const SIDES: [usize; 3] = [1, 3, 5];
const FACTORS: [f64; 4] = [1.05, 1.1, 1.2, 1.5];
/// A group is made slower by so much.
const OF_GROUP: f64 = 1.1;

/// The tables of the run files of a directory.
pub fn of_directory(directory: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        load_run(&text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let runs: Vec<Run> = paths.iter().map(read).collect::<Result<_, String>>()?;
    let mut out = String::new();
    let _ = writeln!(out, "{} runs\n", runs.len());
    groups(&mut out, &runs);
    cases(&mut out, &runs);
    Ok(out)
}

fn group_of(probe: &str) -> &str {
    probe.split('.').next().unwrap_or(probe)
}

/// A comparison of these two sides; `history` holds runs of neither.
fn compared(base: &[Run], new: &[Run], history: &[&Run]) -> Comparison {
    let mut known = History::default();
    history.iter().for_each(|run| known.add(run));
    Comparison::of(Pool { name: "base", runs: base }, &[Pool { name: "new", runs: new }], &known, SAME)
}

/// All ordered pairs of runs: how often a group is called different as it is, and how often it is found slower by a tenth.
fn groups(out: &mut String, runs: &[Run]) {
    let mut tally: BTreeMap<(String, bool), [usize; 4]> = BTreeMap::new();
    let mut names: Vec<&str> = runs.iter().flat_map(|run| &run.cases).map(|case| group_of(&case.probe)).collect();
    names.sort_unstable();
    names.dedup();
    for (at, base) in runs.iter().enumerate() {
        for (other, new) in runs.iter().enumerate().filter(|(other, _)| *other != at) {
            for has_history in [false, true] {
                let all = runs.iter().enumerate().filter(|(index, _)| *index != at && *index != other);
                let history: Vec<&Run> = all.map(|(_, run)| run).filter(|_| has_history).collect();
                let (base, plain) = (std::slice::from_ref(base), std::slice::from_ref(new));
                let mut note = |name: &str, place: usize, verdict: Verdict| {
                    let counts = tally.entry((name.to_owned(), has_history)).or_default();
                    counts[place] += 1;
                    let is_called = match place {
                        0 => matches!(verdict, Verdict::Slower | Verdict::Faster),
                        _ => verdict == Verdict::Slower,
                    };
                    counts[place + 1] += usize::from(is_called);
                };
                for group in &compared(base, plain, &history).new[0].groups {
                    note(&group.name, 0, group.verdict);
                }
                for name in &names {
                    let mut slower = new.clone();
                    slower
                        .cases
                        .iter_mut()
                        .filter(|case| group_of(&case.probe) == *name)
                        .for_each(|case| slow(case, &new.probes, OF_GROUP));
                    let comparison = compared(base, &[slower], &history);
                    if let Some(group) = comparison.new[0].groups.iter().find(|group| group.name == *name) {
                        note(name, 2, group.verdict);
                    }
                }
            }
        }
    }
    out.push_str("groups, one run a side: called different as they are; found when 1.1 times slower, %\n");
    for ((name, has_history), [all, called, slowed, found]) in tally {
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let history = if has_history { "history" } else { "assumed" };
        let _ = writeln!(
            out,
            "  {name:<10} {history}  {all:>4} pairs  {:>5.1}  {:>5.1}",
            share(called, all),
            share(found, slowed)
        );
    }
}

/// Single cases by runs a side: how often one is found that is slower by so much, what the others are called.
fn cases(out: &mut String, runs: &[Run]) {
    out.push_str(
        "\nsingle cases: runs a side, factor: found, called the same, undecided; of the others called different, %\n",
    );
    for side in SIDES.into_iter().filter(|side| 2 * side <= runs.len()) {
        for has_history in [false, true] {
            for factor in FACTORS {
                let mut tally = [0_usize; 5];
                for turn in 0..runs.len() {
                    let at = |index: usize| &runs[(turn + index) % runs.len()];
                    let base: Vec<Run> = (0..side).map(|index| at(2 * index).clone()).collect();
                    let mut new: Vec<Run> = (0..side).map(|index| at(2 * index + 1).clone()).collect();
                    let history: Vec<&Run> = (2 * side..runs.len()).map(at).filter(|_| has_history).collect();
                    let is_slowed = |index: usize| index % ONE_IN == turn % ONE_IN;
                    let slowed: Vec<String> = base[0]
                        .cases
                        .iter()
                        .enumerate()
                        .filter(|(index, _)| is_slowed(*index))
                        .map(|(_, case)| case.id.clone())
                        .collect();
                    for run in &mut new {
                        let probes = run.probes.clone();
                        run.cases
                            .iter_mut()
                            .filter(|case| slowed.contains(&case.id))
                            .for_each(|case| slow(case, &probes, factor));
                    }
                    for case in &compared(&base, &new, &history).new[0].cases {
                        let is_tested = case.effect.as_ref().is_some_and(|effect| effect.test.is_some())
                            && case.better != Some(Better::Neither);
                        match (is_tested, slowed.contains(&case.id), case.verdict) {
                            (false, ..) => {}
                            (true, true, Verdict::Slower | Verdict::ChangedShape) => tally[0] += 1,
                            (true, true, Verdict::Same) => tally[1] += 1,
                            (true, true, _) => tally[2] += 1,
                            (true, false, Verdict::Slower | Verdict::Faster | Verdict::ChangedShape) => tally[3] += 1,
                            (true, false, _) => tally[4] += 1,
                        }
                    }
                }
                let slowed = (tally[0] + tally[1] + tally[2]).max(1) as f64;
                let others = (tally[3] + tally[4]).max(1) as f64;
                let share = |part: usize, of: f64| 100.0 * part as f64 / of;
                let history = if has_history { "history" } else { "assumed" };
                let _ = writeln!(
                    out,
                    "  {side}  {history}  {factor:<4}  {:>5.1}  {:>5.1}  {:>5.1}  {:>5.1}",
                    share(tally[0], slowed),
                    share(tally[1], slowed),
                    share(tally[2], slowed),
                    share(tally[3], others)
                );
            }
        }
    }
}

/// Makes a case slower in all that its record has.
fn slow(case: &mut CaseRecord, probes: &[hostmark_model::ProbeInfo], factor: f64) {
    let better = probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.better);
    let by = match better {
        Some(Better::Lower) => factor,
        Some(Better::Higher) => 1.0 / factor,
        Some(Better::Neither) | None => return,
    };
    let Outcome::Measured(measured) = &mut case.outcome else { return };
    let Measured { estimate, samples, rounds, .. } = &mut **measured;
    if estimate.agreement.is_some() {
        return;
    }
    samples.iter_mut().flatten().for_each(|sample| *sample *= by);
    rounds.iter_mut().for_each(|round| round.median *= by);
    times(estimate, by);
}

fn times(estimate: &mut Estimate, by: f64) {
    let Estimate {
        typical, ci_low, ci_high, min, max, mean, stddev, mad, best_round, range, quiet, repetition, ..
    } = estimate;
    [typical, min, max, mean, stddev, mad, best_round].into_iter().for_each(|value| *value *= by);
    [ci_low, ci_high].into_iter().flatten().for_each(|value| *value *= by);
    range.iter_mut().flatten().for_each(|value| *value *= by);
    if let Some(quiet) = quiet {
        quiet.value *= by;
        [&mut quiet.low, &mut quiet.high].into_iter().flatten().for_each(|value| *value *= by);
    }
    if let Some(repetition) = repetition {
        repetition.low *= by;
        repetition.high *= by;
    }
}
