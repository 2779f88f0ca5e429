//! Fast starts that do not last: CPU credits and burst allowances that are used up.

use hostmark_stats::descriptive::median;
use serde::Serialize;

use super::together::{Together, together};
use super::{Line, Subject, Turn, began, between, is_real, overlap, seconds};

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
