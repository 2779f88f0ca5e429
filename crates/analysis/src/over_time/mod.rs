//! Steadiness of a machine: its series of runs over time.

mod changes;
mod compared;
mod episodes;
#[cfg(test)]
mod made_up;
mod subjects;
#[cfg(test)]
mod tests;
mod turn;

use hostmark_model::Text;
use hostmark_model::timestamp::Timestamp;
use hostmark_stats::descriptive::{median, quantile};
use hostmark_stats::phases::{Phase, phases};
use serde::Serialize;

use crate::fleet::Changed;

pub use changes::LastingChange;
pub use compared::{ComparedSubject, SeriesComparison, SeriesVerdict, compared};
pub use episodes::{Burst, Episode, Nightly, SlowSubject};
pub use subjects::{Course, Hour, SubjectOverTime};
pub use turn::{Cause, Company, Gap, Subject, THINNED, Together, Turn, slower};

/// The schema of `--format json`.
pub const SCHEMA: &str = "hostmark.over-time/1";

/// Fewer turns say nothing of time.
pub const LEAST_TURNS: usize = 6;
/// A level that differs by less is the same to who buys a machine, as logarithm: 5 %.
const LEAST_STEP: f64 = 0.0488;
/// Largest distance from the best value that is as good, as logarithm: 10 %.
pub(crate) const NEAR_BEST: f64 = 0.0953;
/// Quantile of the turns that is the best value: the very best is chance.
const BEST: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Most values are near their best for 95 % of the time, and all for most of it.
    Steady,
    /// Most values are near their best for 80 % of the time.
    MostlySteady,
    Unsteady,
}

/// Episodes and bursts that outliers make by chance, expected in a whole series of quiet turns; of more it is none.
const MOST_BY_CHANCE: f64 = 0.01;

/// Tells whether simultaneous stretches of several lines, each with its probability by chance, are more than chance.
fn is_real(turns: usize, each: impl Iterator<Item = f64>) -> bool {
    turns as f64 * each.map(|one| one.min(1.0)).product::<f64>() <= MOST_BY_CHANCE
}

#[derive(Debug, Clone, Serialize)]
pub struct OverTime {
    /// The schema and its major version.
    pub schema: &'static str,
    pub host: String,
    /// The series' name; none of runs that a person put together.
    pub series: Option<String>,
    pub turns: usize,
    /// Start of the first turn and of the last.
    pub first: String,
    pub last: String,
    /// Usual time from turn to turn, seconds.
    pub every_s: f64,
    pub steadiness: Steadiness,
    /// The share of the time in which a value is within 10 % of its best: of the value in the middle, and of the worst.
    pub near_best: f64,
    pub worst: Option<(Subject, f64)>,
    pub subjects: Vec<SubjectOverTime>,
    /// The parts of a series of less than a day.
    pub course: Option<Course>,
    /// Times at which the machine became slower or faster for good.
    pub changes: Vec<LastingChange>,
    /// Fast starts that do not last.
    pub bursts: Vec<Burst>,
    /// Times at which it was slower than usual.
    pub episodes: Vec<Episode>,
    /// Recorded causes that an episode may come together with.
    pub recorded: Vec<Cause>,
    /// Episodes that come at the same hour on several days.
    pub nightly: Vec<Nightly>,
    /// Facts that changed when no value did, as far as they stand with no change and no episode.
    pub facts: Vec<ChangedFacts>,
    pub gaps: Vec<Gap>,
}

/// Facts of the machine that a turn has otherwise than the one before it.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedFacts {
    pub since: String,
    pub facts: Vec<Changed>,
}

/// A subject's values in the order of turns, and what is known of them.
struct Line {
    subject: Subject,
    turns: Vec<usize>,
    /// The logarithms of its values, more being better.
    goodness: Vec<f64>,
    /// The levels at which they stay.
    phases: Vec<Phase>,
}

impl Line {
    /// The turn of the value at this place; of the place behind the last the turn behind that.
    fn turn(&self, place: usize) -> usize {
        self.turns.get(place).copied().unwrap_or_else(|| self.turns.last().map_or(0, |last| last + 1))
    }

    /// The place of the first value of this turn or a later one.
    fn place(&self, turn: usize) -> usize {
        self.turns.partition_point(|one| *one < turn)
    }

    /// Expected number of stretches so long and so far from the usual level that outliers make by chance in so many lines, for each start.
    /// Lines that jump have many. Turns that are `known` to be slow for a reason are no outliers.
    fn by_chance(
        &self,
        places: std::ops::Range<usize>,
        (usual, level): (f64, f64),
        lines: usize,
        known: &[(usize, usize)],
    ) -> f64 {
        let half = f64::midpoint(usual, level);
        let is_like = |goodness: f64| if level < usual { goodness <= half } else { goodness >= half };
        let is_known = |place: usize| known.iter().any(|(from, to)| (*from..*to).contains(&self.turn(place)));
        let alike =
            |some: &mut dyn Iterator<Item = usize>| some.filter(|place| is_like(self.goodness[*place])).count() as f64;
        let others = || (0..self.goodness.len()).filter(|place| !places.contains(place) && !is_known(*place));
        let count = places.len() as f64;
        let then = alike(&mut places.clone()) / count;
        let usually = (alike(&mut others()) + 1.0) / (others().count() as f64 + 1.0);
        // Chernoff's bound of the binomial law: Hoeffding, "Probability inequalities for sums of bounded random variables", JASA 1963.
        let part = |share: f64, of: f64| if share > 0.0 { share * (share / of).ln() } else { 0.0 };
        let distance = part(then, usually) + part(1.0 - then, 1.0 - usually);
        lines as f64 * if then > usually { (-count * distance).exp() } else { 1.0 }
    }

    /// The level at which most values of these places stay, by phases.
    fn usual(&self, first: usize, end: usize) -> f64 {
        let within = self.phases.iter().flat_map(|phase| {
            let count = phase.end.min(end).saturating_sub(phase.first.max(first));
            std::iter::repeat_n(phase.level, count)
        });
        median(&within.collect::<Vec<f64>>()).unwrap_or(0.0)
    }
}

/// Analyses the turns of one host; none for fewer than [`LEAST_TURNS`].
pub fn over_time(mut turns: Vec<Turn>) -> Option<OverTime> {
    turns.sort_by_key(|turn| turn.started);
    let (first, last) = (turns.first()?, turns.last()?);
    if turns.len() < LEAST_TURNS {
        return None;
    }
    // Of a series those that are not thinned yet.
    let week_s = if last.series.is_some() { THINNED[0].0 as f64 * 86_400.0 } else { f64::INFINITY };
    let whole = turns.partition_point(|turn| last.started.since(turn.started) > week_s);
    let whole = if turns.len() - whole < LEAST_TURNS { 0 } else { whole };
    let gaps: Vec<f64> = turns[whole..].windows(2).map(|pair| pair[1].started.since(pair[0].started)).collect();
    let every_s = median(&gaps).filter(|every_s| *every_s > 0.0)?;
    let lines = lines(&turns);
    let changes = changes::changes(&turns, &lines);
    let ends: Vec<usize> = changes.iter().map(|change| change.turn).collect();
    let bursts = episodes::bursts(&turns, &lines, &ends, every_s);
    let episodes = episodes::episodes(&turns, &lines, &ends, &bursts, every_s);
    let (nightly, gaps) = (episodes::nightly(&episodes), turn::gaps(&turns, every_s));
    let facts = other_facts(&turns, &changes, &episodes);
    let course = Course::of(&turns, every_s);
    let subjects: Vec<SubjectOverTime> =
        lines.iter().map(|line| subjects::of_line(line, &turns, course, every_s)).collect();
    let shares: Vec<f64> = subjects.iter().map(|one| one.near_best).collect();
    let near_best = median(&shares)?;
    let worst = subjects.iter().min_by(|one, other| one.near_best.total_cmp(&other.near_best));
    let worst = worst.map(|one| (one.subject.clone(), one.near_best));
    let steadiness = match near_best {
        share if share >= 0.95 && worst.as_ref().is_some_and(|(_, worst)| *worst >= 0.5) => Steadiness::Steady,
        share if share >= 0.8 => Steadiness::MostlySteady,
        _ => Steadiness::Unsteady,
    };
    Some(OverTime {
        schema: SCHEMA,
        host: last.host.clone(),
        series: last.series.as_ref().map(|series| series.name.clone()),
        turns: turns.len(),
        first: first.started.to_string(),
        last: last.started.to_string(),
        every_s,
        steadiness,
        near_best,
        worst,
        subjects,
        course,
        changes,
        bursts,
        episodes,
        recorded: turn::recorded(&turns),
        nightly,
        facts,
        gaps,
    })
}

/// Facts that changed from turn to turn and stand nowhere else: a quota that no value shows, a link that is free again.
fn other_facts(turns: &[Turn], changes: &[LastingChange], episodes: &[Episode]) -> Vec<ChangedFacts> {
    let of = |turn: usize| {
        let near = turn.saturating_sub(1)..=turn + 1;
        let of_changes = changes.iter().filter(|one| near.contains(&one.turn)).flat_map(|one| &one.facts);
        let of_episodes = episodes.iter().filter(|one| near.contains(&one.place.0)).flat_map(|one| &one.facts);
        let told: Vec<&Changed> = of_changes.chain(of_episodes).collect();
        let facts: Vec<Changed> = changed_facts(turns, turn).into_iter().filter(|fact| !told.contains(&fact)).collect();
        (!facts.is_empty()).then(|| ChangedFacts { since: turns[turn].started.to_string(), facts })
    };
    (1..turns.len()).filter_map(of).collect()
}

/// The subjects in the order in which turns have them, those of enough turns.
fn lines(turns: &[Turn]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        for (subject, value) in &turn.values {
            let goodness = subject.goodness(*value);
            match lines.iter_mut().find(|line| line.subject.key == subject.key) {
                Some(line) => {
                    line.turns.push(index);
                    line.goodness.push(goodness);
                }
                None => {
                    let (subject, turns, goodness) = (subject.clone(), vec![index], vec![goodness]);
                    lines.push(Line { subject, turns, goodness, phases: Vec::new() });
                }
            }
        }
    }
    lines.retain(|line| line.turns.len() >= LEAST_TURNS);
    lines.iter_mut().for_each(|line| line.phases = phases(&line.goodness, LEAST_STEP));
    lines
}

/// The turns from the first and from each of these ends on to the next, the last to the end of all: the first of each, and the one behind it.
fn between(ends: &[usize], turns: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends.iter().copied().chain([turns]))
}

/// Overlap of two sets of stretches, as a share of their union; a stretch is its first turn and the one behind its last.
fn overlap(one: &[(usize, usize)], other: &[(usize, usize)]) -> f64 {
    let shared: usize =
        one.iter().flat_map(|(a, b)| other.iter().map(move |(c, d)| (*b.min(d)).saturating_sub(*a.max(c)))).sum();
    let count = |all: &[(usize, usize)]| all.iter().map(|(from, to)| to - from).sum::<usize>();
    shared as f64 / (count(one) + count(other) - shared).max(1) as f64
}

/// Start of a turn; of the one behind the last the time at which it was due.
fn began(turns: &[Turn], turn: usize, every_s: f64) -> Timestamp {
    let last = turns.last().map(|turn| turn.started).unwrap_or_default();
    let behind = last.after(std::time::Duration::from_secs_f64(every_s.clamp(0.0, 1e9)));
    turns.get(turn).map_or(behind, |turn| turn.started)
}

/// End of the turns before this one: its start, unless there is a gap.
fn ended(turns: &[Turn], end: usize, every_s: f64) -> Timestamp {
    match turn::is_before(turns, end, every_s) {
        true => began(&turns[..end], end, every_s),
        false => began(turns, end, every_s),
    }
}

/// Facts that a turn has otherwise than the one before it.
fn changed_facts(turns: &[Turn], turn: usize) -> Vec<Changed> {
    turn.checked_sub(1).map_or_else(Vec::new, |before| changed_between(turns, before, turn))
}

/// Facts that a turn has otherwise than an earlier one.
fn changed_between(turns: &[Turn], before: usize, turn: usize) -> Vec<Changed> {
    let (Some(before), Some(now)) = (turns.get(before), turns.get(turn)) else { return Vec::new() };
    let keys: std::collections::BTreeSet<&String> = before.facts.keys().chain(now.facts.keys()).collect();
    let of = |key: &&String| {
        let (was, is) = (before.facts.get(*key), now.facts.get(*key));
        let label = is.or(was).map(|(label, _)| label.clone())?;
        let text = |fact: Option<&(Text<String>, String)>| fact.map_or(String::new(), |(_, text)| text.clone());
        (text(was) != text(is)).then(|| Changed { label, from: text(was), to: text(is) })
    };
    keys.iter().filter_map(of).collect()
}

/// Seconds from one turn to another, without gaps.
fn seconds(turns: &[Turn], first: usize, end: usize, every_s: f64) -> f64 {
    let lasted = |turn: usize| ended(turns, turn + 1, every_s).since(began(turns, turn, every_s)).max(0.0);
    (first..end).map(lasted).sum()
}

fn best(goodness: &[f64]) -> f64 {
    quantile(goodness, BEST).unwrap_or(0.0)
}
