//! What comparisons of recorded runs find when one side is made slower by a known factor, and what they call different when nothing was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use hostmark_analysis::compare::{Comparison, History, Pool, SAME, Verdict};
use hostmark_model::{Better, CaseRecord, Estimate, Measured, Outcome, Run, Unit, load_run};

/// Of the cases one in so many is made slower, so that the others stay what they are.
const ONE_IN: usize = 10;
const SIDES: [usize; 3] = [1, 3, 5];
const FACTORS: [f64; 5] = [1.05, 1.1, 1.2, 1.5, 2.0];
/// A group is made slower by so much.
const OF_GROUP: [f64; 3] = [1.1, 1.3, 2.0];

/// What is found in the run files of a directory of cases and groups that were made slower.
pub fn of_directory(directory: &Path) -> Result<String, String> {
    let runs = read(directory)?;
    let mut out = String::new();
    groups(&mut out, &runs);
    cases(&mut out, &runs);
    Ok(out)
}

/// What a gate stops of the run files of a directory as they are.
pub fn alarms_of(directory: &Path, has_history: bool) -> Result<String, String> {
    Ok(alarms(&read(directory)?, has_history))
}

fn read(directory: &Path) -> Result<Vec<Run>, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        load_run(&text).map_err(|error| format!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
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

/// The pairs of runs in order, each with all other runs as history or with none.
fn pairs(runs: &[Run], has_history: bool) -> impl Iterator<Item = (usize, usize, Vec<&Run>)> {
    let all = (0..runs.len()).flat_map(|base| (0..runs.len()).map(move |new| (base, new)));
    all.filter(|(base, new)| base != new).map(move |(base, new)| {
        let others = runs.iter().enumerate().filter(|(index, _)| has_history && *index != base && *index != new);
        (base, new, others.map(|(_, run)| run).collect())
    })
}

/// All pairs of runs as they are: how many a gate would stop, and what for.
fn alarms(runs: &[Run], has_history: bool) -> String {
    let (mut all, mut stopped, mut in_order) = (0, 0, 0);
    let mut called: BTreeMap<String, usize> = BTreeMap::new();
    for (base, new, history) in pairs(runs, has_history) {
        let comparison = compared(std::slice::from_ref(&runs[base]), std::slice::from_ref(&runs[new]), &history);
        let is_stopped = comparison.has_regression(0.0);
        (all, stopped) = (all + 1, stopped + usize::from(is_stopped));
        in_order += usize::from(is_stopped && base < new);
        let against = &comparison.new[0];
        let together = against.groups.iter().chain(&against.tables).map(|group| (&group.title.en, group.verdict));
        let cases = against.cases.iter().chain(&against.clock).map(|case| (&case.id, case.verdict));
        let is_called = |verdict| matches!(verdict, Verdict::Slower | Verdict::ChangedShape);
        for (name, _) in together.chain(cases).filter(|(_, verdict)| is_called(*verdict)) {
            *called.entry(name.clone()).or_default() += 1;
        }
    }
    let mut out = format!("exit 1 in {stopped} of {all} pairs, {in_order} of them in order\n");
    called.iter().for_each(|(name, count)| _ = writeln!(out, "  {count:>3} {name}"));
    out
}

/// Each run and the next: how often a group is found that was made slower.
fn groups(out: &mut String, runs: &[Run]) {
    let mut tally: BTreeMap<(String, bool, usize), [usize; 3]> = BTreeMap::new();
    let mut names: Vec<&str> = runs.iter().flat_map(|run| &run.cases).map(|case| group_of(&case.probe)).collect();
    names.sort_unstable();
    names.dedup();
    for has_history in [false, true] {
        for (base, new, history) in pairs(runs, has_history).filter(|(base, new, _)| *new == (base + 1) % runs.len()) {
            for (name, (at, factor)) in
                names.iter().flat_map(|name| OF_GROUP.iter().enumerate().map(move |of| (name, of)))
            {
                let mut slower = runs[new].clone();
                let is_of_group = |case: &&mut CaseRecord| group_of(&case.probe) == *name;
                slower.cases.iter_mut().filter(is_of_group).for_each(|case| slow(case, &runs[new].probes, *factor));
                let comparison = compared(std::slice::from_ref(&runs[base]), &[slower], &history);
                let Some(group) = comparison.new[0].groups.iter().find(|group| group.name == *name) else { continue };
                let [all, found, stopped] = tally.entry(((*name).to_owned(), has_history, at)).or_default();
                *all += 1;
                *found += usize::from(group.verdict == Verdict::Slower);
                *stopped += usize::from(comparison.has_regression(0.0));
            }
        }
    }
    out.push_str("\ngroups, one run a side: factor, pairs; found, exit 1, %\n");
    for ((name, has_history, at), [all, found, stopped]) in tally {
        let share = |part: usize| 100.0 * part as f64 / all.max(1) as f64;
        let history = if has_history { "history" } else { "assumed" };
        let (factor, found, stopped) = (OF_GROUP[at], share(found), share(stopped));
        let _ = writeln!(out, "  {name:<10} {history}  {factor:<4} {all:>4}  {found:>5.1}  {stopped:>5.1}");
    }
}

/// Single cases by runs a side: how often one is found that is slower by so much, what the others are called.
fn cases(out: &mut String, runs: &[Run]) {
    out.push_str(
        "\nsingle cases: runs a side, factor: found of the core's and of others, called the same; of all else called different, %\n",
    );
    for side in SIDES.into_iter().filter(|side| 2 * side <= runs.len()) {
        for has_history in [false, true] {
            for factor in FACTORS {
                let mut tally = [0_usize; 7];
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
                        let is_core = usize::from(matches!(case.unit, Some(Unit::CoreCycles | Unit::Ratio)));
                        match (is_tested, slowed.contains(&case.id), case.verdict) {
                            (false, ..) => {}
                            (true, true, verdict) => {
                                tally[is_core] += 1;
                                tally[2 + is_core] +=
                                    usize::from(matches!(verdict, Verdict::Slower | Verdict::ChangedShape));
                                tally[4] += usize::from(verdict == Verdict::Same);
                            }
                            (true, false, Verdict::Slower | Verdict::Faster | Verdict::ChangedShape) => tally[5] += 1,
                            (true, false, _) => tally[6] += 1,
                        }
                    }
                }
                let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
                let history = if has_history { "history" } else { "assumed" };
                let [others, core, found, found_core, same, wrong, right] = tally;
                let _ = writeln!(
                    out,
                    "  {side}  {history}  {factor:<4}  {:>5.1}  {:>5.1}  {:>5.1}  {:>5.1}",
                    share(found_core, core),
                    share(found, others),
                    share(same, others + core),
                    share(wrong, wrong + right)
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
    let Measured { estimate, also, samples, rounds, .. } = &mut **measured;
    if estimate.agreement.is_some() {
        return;
    }
    samples.iter_mut().flatten().for_each(|sample| *sample *= by);
    for round in rounds {
        round.median *= by;
        round.raw.iter_mut().for_each(|raw| raw.sample_ns *= factor);
    }
    times(estimate, by);
    let of_the_value = also.iter_mut().filter(|(name, _)| Measured::OF_THE_VALUE.contains(&name.as_str()));
    of_the_value.for_each(|(_, also)| times(&mut also.estimate, by));
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
        quiet.range.iter_mut().flatten().for_each(|value| *value *= by);
    }
    if let Some(repetition) = repetition {
        repetition.low *= by;
        repetition.high *= by;
    }
}
