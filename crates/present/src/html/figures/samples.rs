//! The samples of a case, the disturbed ones shown: of the default case, and of the one whose interval is widest.

use hostmark_analysis::format::{amount, interval_target};
use hostmark_model::{DisturbanceFlags, Estimate, Measured, Message};
use hostmark_say::say;

use super::Figure;
use super::generic::axis_title;
use crate::chart::scale::ScaleKind;
use crate::chart::{Round, Strip};
use crate::runs::{Case, Probe, Runs, plus_minus};

/// Samples of a case that the page shows at most; the run file has all.
pub(in crate::html) const MOST_SAMPLES: usize = 150;

/// The figures of a probe's samples: the default case in each run, then what scatters most.
pub(in crate::html) fn of_samples(runs: &Runs, probe: &Probe) -> Vec<Figure> {
    let (mut all, mut others) = (Vec::new(), Vec::new());
    for run in 0..runs.all.len() {
        let Some(first) = probe.cases.iter().find(|case| case.estimate(run).is_some()) else { continue };
        let width = |case: &Case| case.estimate(run).and_then(Estimate::relative_half_width).unwrap_or(0.0);
        let widest = probe.cases.iter().max_by(|one, other| width(one).total_cmp(&width(other)));
        let target = interval_target(runs.all[run].settings.profile);
        let widest = widest.filter(|case| case.id != first.id && width(case) > target);
        all.extend(figure(runs, probe, first, run));
        others.extend(widest.and_then(|case| figure(runs, probe, case, run)));
    }
    all.append(&mut others);
    all
}

fn figure(runs: &Runs, probe: &Probe, case: &Case, run: usize) -> Option<Figure> {
    let measured = case.record(run)?.measured()?;
    let count: usize = measured.samples.iter().map(Vec::len).sum();
    let rounds: Vec<Round> = (0..measured.samples.len()).map(|index| round(probe, measured, index, count)).collect();
    let shown: usize = rounds.iter().map(|round| round.samples.len()).sum();
    let strip = Strip { y_title: axis_title(probe), y: ScaleKind::Value(probe.unit()), rounds };
    let chart = strip.draw()?;
    let at = probe.all_named(case.params, &probe.varying());
    let name = if at.is_empty() { term!("Samples").into() } else { say!("Samples at {at}") };
    let wide = plus_minus(&measured.estimate);
    let note = match shown < count {
        true => say!(
            "{shown} of {count} samples are shown, evenly picked, every disturbed one as far as there is room; {wide}"
        ),
        false => say!("all {count:sample}; {wide}"),
    };
    Some(Figure { title: runs.of_run(run, name), note: Some(note), chart, probes: Vec::new() })
}

/// One round with as many of its samples as there is room for.
fn round(probe: &Probe, measured: &Measured, index: usize, count: usize) -> Round {
    let samples = &measured.samples[index];
    let record = measured.rounds.get(index);
    let is_disturbed = |at: usize| {
        record
            .and_then(|record| record.disturbance_flags.get(at))
            .is_some_and(|bits| DisturbanceFlags(*bits).is_disturbed())
    };
    let room = if count <= MOST_SAMPLES { samples.len() } else { (samples.len() * MOST_SAMPLES / count.max(1)).max(1) };
    let disturbed = (0..samples.len()).filter(|at| is_disturbed(*at)).count();
    // Disturbed samples get up to half of the room, the others what is left; both evenly picked.
    let for_disturbed = disturbed.min((room / 2).max(room.saturating_sub(samples.len() - disturbed)));
    let picked_disturbed = picked((0..samples.len()).filter(|at| is_disturbed(*at)).collect(), for_disturbed);
    let picked_good = picked((0..samples.len()).filter(|at| !is_disturbed(*at)).collect(), room - for_disturbed);
    let mut places: Vec<usize> = picked_disturbed.into_iter().chain(picked_good).collect();
    places.sort_unstable();
    let samples_shown: Vec<(f64, bool)> =
        places.into_iter().map(|at| (samples[at], is_disturbed(at))).filter(|(value, _)| value.is_finite()).collect();
    let median = record.map_or(measured.estimate.typical, |record| record.median);
    Round { samples: samples_shown, median, reading: round_reading(probe, index, median, samples.len(), disturbed) }
}

/// `most` of `all`, evenly.
fn picked(all: Vec<usize>, most: usize) -> Vec<usize> {
    if all.len() <= most {
        return all;
    }
    (0..most).map(|index| all[index * all.len() / most]).collect()
}

fn round_reading(probe: &Probe, index: usize, median: f64, count: usize, disturbed: usize) -> Message {
    let (round, median) = (index + 1, amount(median, probe.unit()));
    say!("round {round}: median {median}, {count:sample}, {disturbed} disturbed")
}
