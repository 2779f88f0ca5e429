//! Times at which a machine is slower than usual, and what came together with them.

use hostmark_stats::descriptive::median;
use serde::Serialize;

use super::turn::{Together, together};
use super::{LEAST_STEP, Line, Subject, Turn, began, between, changed_between, ended, is_real, overlap, seconds};
use crate::fleet::Changed;

/// Stretches of subjects that share so many of their turns are one episode.
const SAME: f64 = 0.5;
/// Levels next to each other are one stretch where the logarithm that one loses is so much of what the other does.
const ALIKE_EPISODES: f64 = 0.3;
/// An episode of one turn is an outlier.
const LEAST_TURNS: usize = 2;
/// Episodes that begin within so many seconds of each other's time of day, on so many days, come every day.
const NEAR_S: f64 = 3600.0;
const LEAST_DAYS: usize = 3;

/// A time at which the machine was slower than usual.
#[derive(Debug, Clone, Serialize)]
pub struct Episode {
    /// Start of its first turn, and of the first turn behind it; before a gap the time at which that was due.
    pub from: String,
    pub to: String,
    pub turns: usize,
    pub seconds: f64,
    /// True where it lasted when the series ended.
    pub goes_on: bool,
    /// Slower subjects, the most first.
    pub subjects: Vec<SlowSubject>,
    pub together: Vec<Together>,
    /// Facts of the machine that its turns have otherwise than the one before it.
    pub facts: Vec<Changed>,
    #[serde(skip)]
    pub(super) place: (usize, usize),
}

#[derive(Debug, Clone, Serialize)]
pub struct SlowSubject {
    #[serde(flatten)]
    pub subject: Subject,
    /// Slowdown beside the usual value.
    pub times: f64,
    pub usual: f64,
    pub then: f64,
}

/// Episodes that come at the same time of day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nightly {
    /// The time of day at which they begin (UTC), seconds since midnight, and how long they last; medians.
    pub begins_s: f64,
    pub seconds: f64,
    pub days: usize,
    /// The episodes, by their places.
    pub episodes: Vec<usize>,
}

/// A stretch in which a line is slower than usual: its first turn and the one behind it, and how it was.
struct Stretch {
    place: (usize, usize),
    slow: SlowSubject,
    /// Probability that outliers alone make it.
    by_chance: f64,
}

/// The episodes, in the order of time. What is slow because a burst is over is none.
pub(super) fn episodes(turns: &[Turn], lines: &[Line], ends: &[usize], bursts: &[Burst], every_s: f64) -> Vec<Episode> {
    // What one thing made slow hides another that came once: turns of episodes that are known say nothing of outliers.
    let mut groups: Vec<Vec<Stretch>> = Vec::new();
    loop {
        let known: Vec<(usize, usize)> = groups.iter().flatten().map(|stretch| stretch.place).collect();
        let more = groups_beside(turns.len(), lines, ends, &known);
        if more.len() <= groups.len() {
            break;
        }
        groups = more;
    }
    let mut all: Vec<Episode> = groups.into_iter().map(|group| whole(turns, group, every_s)).collect();
    all.sort_by_key(|episode| episode.place);
    let is_in_an_episode: Vec<bool> =
        (0..turns.len()).map(|turn| all.iter().any(|one| (one.place.0..one.place.1).contains(&turn))).collect();
    let is_fast = |turn: usize| bursts.iter().any(|one| one.fast.iter().any(|(from, to)| (*from..*to).contains(&turn)));
    let others: Vec<usize> = (0..turns.len()).filter(|turn| !is_in_an_episode[*turn] && !is_fast(*turn)).collect();
    for episode in &mut all {
        let then: Vec<usize> = (episode.place.0..episode.place.1).collect();
        episode.together = together(turns, &then, &others);
    }
    all
}

/// Stretches of lines at the same time that chance does not make, where these turns are known to be slow.
fn groups_beside(turns: usize, lines: &[Line], ends: &[usize], known: &[(usize, usize)]) -> Vec<Vec<Stretch>> {
    let mut groups: Vec<Vec<Stretch>> = Vec::new();
    let all = lines.iter().flat_map(|line| stretches(line, ends, turns, lines.len(), known));
    // What chance makes anyway is no part of anything.
    let all = all.filter(|stretch| stretch.by_chance < 1.0);
    for stretch in all {
        let is_same =
            |group: &&mut Vec<Stretch>| group.iter().any(|known| overlap(&[known.place], &[stretch.place]) >= SAME);
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(stretch),
            None => groups.push(vec![stretch]),
        }
    }
    groups.retain(|group| is_real(turns, group.iter().map(|stretch| stretch.by_chance)));
    // The deepest turns of an episode are none of their own.
    let places: Vec<(usize, usize)> = groups.iter().map(|group| place(group)).collect();
    let is_part = |(from, to): (usize, usize)| {
        let shared = |(first, end): &(usize, usize)| to.min(*end).saturating_sub(from.max(*first));
        places.iter().any(|other| other.1 - other.0 > to - from && shared(other) as f64 >= SAME * (to - from) as f64)
    };
    groups.retain(|group| !is_part(place(group)));
    groups
}

/// The first turn of a group's stretches and the one behind their last: those that most begin or end with, medians.
fn place(group: &[Stretch]) -> (usize, usize) {
    let middle = |mut places: Vec<usize>| {
        places.sort_unstable();
        places[places.len() / 2]
    };
    let first = middle(group.iter().map(|stretch| stretch.place.0).collect());
    (first, middle(group.iter().map(|stretch| stretch.place.1).collect()).max(first + 1))
}

/// Stretches in which a line is slower than usual, between lasting changes.
fn stretches(line: &Line, ends: &[usize], turns: usize, lines: usize, known: &[(usize, usize)]) -> Vec<Stretch> {
    let mut found = Vec::new();
    for (first, end) in between(ends, turns) {
        let (first, end) = (line.place(first), line.place(end));
        let usual = line.usual(first, end);
        // Places from and to, and the level.
        let mut slow: Vec<(usize, usize, f64)> = Vec::new();
        let mut open: Option<(usize, usize, f64)> = None;
        let mut close = |open: Option<(usize, usize, f64)>| {
            let whole = open.filter(|(from, to, _)| to - from >= LEAST_TURNS);
            slow.extend(whole.map(|(from, to, sum)| (from, to, sum / (to - from) as f64)));
        };
        for phase in line.phases.iter().filter(|phase| phase.first < end && phase.end > first) {
            let (from, to) = (phase.first.max(first), phase.end.min(end));
            let lost = usual - phase.level;
            if lost < LEAST_STEP {
                close(open.take());
                continue;
            }
            // What comes next to a deep stretch and is hardly slow is another one.
            let is_alike = |(begin, end, sum): (usize, usize, f64)| {
                let open_lost = usual - sum / (end - begin) as f64;
                lost.min(open_lost) >= ALIKE_EPISODES * lost.max(open_lost)
            };
            if !open.is_some_and(is_alike) {
                close(open.take());
            }
            let (begin, _, sum) = open.unwrap_or((from, to, 0.0));
            open = Some((begin, to, sum + phase.level * (to - from) as f64));
        }
        close(open);
        for (from, to, level) in &slow {
            let by_chance = line.by_chance(*from..*to, (usual, *level), lines, known);
            let (subject, times) = (line.subject.clone(), (usual - level).exp());
            let (usual, then) = (subject.value(usual), subject.value(*level));
            let slow = SlowSubject { subject, times, usual, then };
            found.push(Stretch { place: (line.turn(*from), line.turn(*to)), slow, by_chance });
        }
    }
    found
}

fn whole(turns: &[Turn], group: Vec<Stretch>, every_s: f64) -> Episode {
    let (first, end) = place(&group);
    let mut subjects: Vec<SlowSubject> = group.into_iter().map(|stretch| stretch.slow).collect();
    subjects.sort_by(|one, other| other.times.total_cmp(&one.times));
    Episode {
        from: began(turns, first, every_s).to_string(),
        to: ended(turns, end, every_s).to_string(),
        turns: end - first,
        seconds: seconds(turns, first, end, every_s),
        goes_on: end >= turns.len(),
        subjects,
        together: Vec::new(),
        // Its second turn: the facts of the first are from before it began.
        facts: first
            .checked_sub(1)
            .map_or_else(Vec::new, |before| changed_between(turns, before, (first + 1).min(end - 1))),
        place: (first, end),
    }
}

/// Episodes that come at the same time of day, on several days.
pub(super) fn nightly(episodes: &[Episode]) -> Vec<Nightly> {
    let begins = |episode: &Episode| {
        let time = hostmark_model::timestamp::Timestamp::parse(&episode.from).unwrap_or_default();
        (time.seconds().div_euclid(86_400), time.seconds().rem_euclid(86_400) as f64)
    };
    let mut left: Vec<usize> = (0..episodes.len()).collect();
    let mut all = Vec::new();
    while let Some(first) = left.first().copied() {
        let (_, time) = begins(&episodes[first]);
        let is_near = |index: &usize| {
            let apart = (begins(&episodes[*index]).1 - time).abs();
            apart.min(86_400.0 - apart) <= NEAR_S
        };
        let (near, others): (Vec<usize>, Vec<usize>) = left.iter().copied().partition(is_near);
        left = others;
        let mut days: Vec<i64> = near.iter().map(|index| begins(&episodes[*index]).0).collect();
        days.dedup();
        if days.len() < LEAST_DAYS {
            continue;
        }
        let middle = |of: &dyn Fn(&Episode) -> f64| {
            let values: Vec<f64> = near.iter().map(|index| of(&episodes[*index])).collect();
            hostmark_stats::descriptive::median(&values).unwrap_or(0.0)
        };
        let (begins_s, seconds) = (middle(&|one| begins(one).1), middle(&|one| one.seconds));
        all.push(Nightly { begins_s, seconds, days: days.len(), episodes: near });
    }
    all
}

/// ln(1.25), the least speedup of a burst: allowances give multiples, noise does not.
const LEAST_TIMES: f64 = 0.2231;
/// A machine that is fast for most of the time has no burst, but episodes.
const MOST_SHARE: f64 = 0.5;
/// Bursts are of a length, as an allowance is: the longest is so many times the shortest at most.
const ALIKE: usize = 3;

/// Fast at first, slow for the rest.
#[derive(Debug, Clone, Serialize)]
pub struct Burst {
    /// Subjects that are faster in it, and by which factor, the most first.
    pub subjects: Vec<(Subject, f64)>,
    /// Duration of a burst, seconds; the median where there are several.
    pub fast_s: f64,
    /// The share of the time that is fast.
    pub share: f64,
    pub began: Vec<String>,
    /// Other load of the machine while it was slow.
    pub together: Vec<Together>,
    /// The turns that are fast, from and to.
    #[serde(skip)]
    pub(super) fast: Vec<(usize, usize)>,
}

/// The fast stretches of a line, as places, and how likely outliers alone make the least likely.
struct Fast {
    stretches: Vec<(usize, usize)>,
    times: f64,
    by_chance: f64,
}

/// The fast stretches of a line between changes for good, where they are bursts.
fn fast(line: &Line, first: usize, end: usize, lines: usize) -> Option<Fast> {
    let usual = line.usual(first, end);
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    for phase in line.phases.iter().filter(|phase| phase.first < end && phase.end > first) {
        if phase.level - usual < LEAST_TIMES {
            continue;
        }
        let (from, to) = (phase.first.max(first), phase.end.min(end));
        match stretches.last_mut() {
            Some((_, known)) if *known == from => *known = to,
            _ => stretches.push((from, to)),
        }
    }
    let lengths = || stretches.iter().map(|(from, to)| to - from);
    let (shortest, longest, total) = (lengths().min()?, lengths().max()?, lengths().sum::<usize>());
    let begins_fast = stretches.first().is_some_and(|(from, _)| *from == first);
    let is_burst = begins_fast || stretches.len() >= 2 && longest <= ALIKE * shortest;
    let is_rare = total as f64 <= MOST_SHARE * (end - first) as f64;
    let values: Vec<f64> = stretches.iter().flat_map(|(from, to)| &line.goodness[*from..*to]).copied().collect();
    let level = median(&values).unwrap_or(usual);
    let by_chance = stretches.iter().map(|(from, to)| line.by_chance(*from..*to, (usual, level), lines, &[]));
    let by_chance = by_chance.fold(f64::INFINITY, f64::min);
    (is_burst && is_rare && by_chance < 1.0).then_some(Fast { stretches, times: (level - usual).exp(), by_chance })
}

/// The bursts between changes for good. Subjects whose fast turns are mostly the same have them together.
pub(super) fn bursts(turns: &[Turn], lines: &[Line], ends: &[usize], every_s: f64) -> Vec<Burst> {
    let mut all = Vec::new();
    for (first, end) in between(ends, turns.len()) {
        let mut found: Vec<(Burst, Vec<f64>)> = Vec::new();
        for line in lines {
            let found_here = fast(line, line.place(first), line.place(end), lines.len());
            let Some(Fast { stretches, times, by_chance }) = found_here else {
                continue;
            };
            let fast: Vec<(usize, usize)> =
                stretches.into_iter().map(|(from, to)| (line.turn(from), line.turn(to))).collect();
            let of_line = (line.subject.clone(), times);
            match found.iter_mut().find(|(one, _)| overlap(&one.fast, &fast) >= 0.5) {
                Some((known, chances)) => {
                    known.subjects.push(of_line);
                    chances.push(by_chance);
                }
                None => {
                    let lengths: Vec<f64> = fast.iter().map(|(from, to)| seconds(turns, *from, *to, every_s)).collect();
                    let total: usize = fast.iter().map(|(from, to)| to - from).sum();
                    let is_slow = |turn: usize| !fast.iter().any(|(from, to)| (*from..*to).contains(&turn));
                    let (slow, quick): (Vec<usize>, Vec<usize>) = (first..end).partition(|turn| is_slow(*turn));
                    let burst = Burst {
                        subjects: vec![of_line],
                        fast_s: median(&lengths).unwrap_or(0.0),
                        share: total as f64 / (end - first) as f64,
                        began: fast.iter().map(|(from, _)| began(turns, *from, every_s).to_string()).collect(),
                        together: together(turns, &slow, &quick),
                        fast,
                    };
                    found.push((burst, vec![by_chance]));
                }
            }
        }
        found.retain(|(_, chances)| is_real(turns.len(), chances.iter().copied()));
        all.extend(found.into_iter().map(|(burst, _)| burst));
    }
    all.iter_mut().for_each(|one| one.subjects.sort_by(|(_, one), (_, other)| other.total_cmp(one)));
    all
}
