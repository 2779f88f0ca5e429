//! Gives the law by which throughput grows with the number of parties that work at once.
//!
//! The universal scalability law, `X(n) = X(1) n / (1 + contention (n - 1) + coherence n (n - 1))` (N. J. Gunther, "Guerrilla Capacity
//! Planning", Springer 2007, chapter 4): contention is the share of the work that one party at a time can do, coherence what each pair
//! of parties costs. Without coherence it is Amdahl's law. Beyond the physical cores each further party, on a second thread of a core,
//! adds a smaller amount, so there a straight line goes on.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Points that a law is fitted to, at least: it has up to four parameters.
pub const LEAST_POINTS: usize = 5;
/// A curve whose points lie further from its law than this, as a root mean square of shares, follows none.
pub const MOST_SCATTER: f64 = 0.05;
/// Curves that are made from the residuals of one.
const RESAMPLES: usize = 400;
/// The share of them that an interval leaves out on each side.
const TAIL: f64 = 0.025;
/// What a normal number of deviation 1 exceeds with that probability.
const NORMAL: f64 = 1.959_963_984_540_054;
/// A knee must explain so much of the squared residuals that its two parameters are worth it.
const WORTH_A_KNEE: f64 = 0.5;
/// A law that comes this close to its points, as a share, needs no knee.
const CLOSE: f64 = 0.005;

/// How many parties there were, and what they got done together in one time; any unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The number of parties, 1 or more.
    pub parties: f64,
    /// Work in a time.
    pub throughput: f64,
}

/// A parameter with its 95 % interval. No unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The best fit, 0 or more.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// From where on further parties add another amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// The number of parties up to which the law of the first ones holds.
    pub at: f64,
    /// What each further party adds, as a share of what one does alone.
    pub gain: f64,
}

/// The law of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingLaw {
    /// Throughput of one party.
    pub alone: f64,
    /// The share of the work that only one party at a time can do.
    pub contention: Parameter,
    /// What each pair of parties costs, as a share of the work of one.
    pub coherence: Parameter,
    /// Where second threads of cores begin, or a limit of the whole.
    pub knee: Option<Knee>,
    /// How far the points lie from it: root mean square of the shares.
    pub scatter: f64,
}

impl ScalingLaw {
    /// Throughput of so many parties.
    pub fn at(&self, parties: f64) -> f64 {
        self.curve().at(parties)
    }

    /// The number of parties beyond which the throughput falls; none where it does not, up to a knee where there is one.
    pub fn peak(&self) -> Option<f64> {
        let (contention, coherence) = (self.contention.value, self.coherence.value);
        let peak = ((1.0 - contention).max(0.0) / coherence).sqrt();
        let is_within = self.knee.is_none_or(|knee| peak < knee.at);
        (coherence > 0.0 && is_within && peak.is_finite()).then_some(peak.max(1.0))
    }

    fn curve(&self) -> Curve {
        Curve { alone: self.alone, contention: self.contention.value, coherence: self.coherence.value, knee: self.knee }
    }
}

/// A law without its intervals.
#[derive(Debug, Clone, Copy)]
struct Curve {
    alone: f64,
    contention: f64,
    coherence: f64,
    knee: Option<Knee>,
}

impl Curve {
    fn at(&self, parties: f64) -> f64 {
        let first = self.knee.map_or(parties, |knee| parties.min(knee.at));
        let slowed = 1.0 + self.contention * (first - 1.0) + self.coherence * first * (first - 1.0);
        let further = self.knee.map_or(0.0, |knee| knee.gain * (parties - knee.at).max(0.0));
        self.alone * (first / slowed + further)
    }

    /// The sum of squared shares by which points lie off it.
    fn off(&self, points: &[Point]) -> f64 {
        points.iter().map(|point| (self.at(point.parties) / point.throughput - 1.0).powi(2)).sum()
    }
}

/// The law of a curve with points at [`LEAST_POINTS`] numbers of parties or more; a knee at `cores` where they are known and points lie
/// on both sides, else where it explains most, if it explains enough.
///
/// Least squares of relative deviations, with no parameter below 0; intervals are percentiles of fits to curves made of the law and its
/// own residuals (B. Efron & R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 9), for which `seed` decides.
///
/// `None` of fewer points, of values that are no positive numbers, and where the points scatter by more than [`MOST_SCATTER`].
pub fn law(points: &[Point], cores: Option<f64>, seed: u64) -> Option<ScalingLaw> {
    let is_sound = |point: &Point| {
        point.parties >= 1.0 && point.parties.is_finite() && point.throughput > 0.0 && point.throughput.is_finite()
    };
    let mut counts: Vec<f64> = points.iter().map(|point| point.parties).collect();
    counts.sort_unstable_by(f64::total_cmp);
    counts.dedup();
    if counts.len() < LEAST_POINTS || !points.iter().all(is_sound) {
        return None;
    }
    let curve = best(points, &counts, cores)?;
    let freedom = points.len().saturating_sub(if curve.knee.is_some() { 4 } else { 3 }).max(1) as f64;
    let scatter = (curve.off(points) / freedom).sqrt();
    if scatter > MOST_SCATTER {
        return None;
    }
    let (contention, coherence) = intervals(points, &curve, UNIVERSAL, (scatter, freedom), seed);
    Some(ScalingLaw { alone: curve.alone, contention, coherence, knee: curve.knee, scatter })
}

/// The serial share by Amdahl's law, with the knee of `law` where it has one: for points whose coherence is not known to be above 0.
/// `None` where they follow that law no closer than [`MOST_SCATTER`].
pub fn serial_share(points: &[Point], law: &ScalingLaw, seed: u64) -> Option<Parameter> {
    let curve = match law.knee {
        Some(knee) => bent(points, knee.at, AMDAHL),
        None => smooth(points, AMDAHL),
    }?;
    let freedom = points.len().saturating_sub(if curve.knee.is_some() { 3 } else { 2 }).max(1) as f64;
    let scatter = (curve.off(points) / freedom).sqrt();
    (scatter <= MOST_SCATTER).then(|| intervals(points, &curve, AMDAHL, (scatter, freedom), seed).0)
}

/// The first number of parties that got less done than fewer had, by more than two `scatter`s; none where none did.
pub fn falls_from(points: &[Point], scatter: f64) -> Option<f64> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable_by(|one, other| one.parties.total_cmp(&other.parties));
    let mut most = 0.0_f64;
    for point in sorted {
        if point.throughput < most * (1.0 - 2.0 * scatter.max(CLOSE)) {
            return Some(point.parties);
        }
        most = most.max(point.throughput);
    }
    None
}

fn best(points: &[Point], counts: &[f64], cores: Option<f64>) -> Option<Curve> {
    let whole = smooth(points, UNIVERSAL)?;
    let inner = &counts[1..counts.len() - 1];
    let has_both = |cores: &f64| counts[0] < *cores && *cores < counts[counts.len() - 1];
    let places = match cores.filter(has_both) {
        Some(cores) => vec![cores],
        None => inner.to_vec(),
    };
    let bent = places.into_iter().filter_map(|at| bent(points, at, UNIVERSAL));
    let bent = bent.min_by(|one, other| one.off(points).total_cmp(&other.off(points)));
    let noise = CLOSE.powi(2) * points.len() as f64;
    let is_worth = |bent: &Curve| bent.off(points).max(noise) < WORTH_A_KNEE * whole.off(points);
    Some(bent.filter(is_worth).unwrap_or(whole))
}

/// Sets of the columns 1, `n - 1` and `n (n - 1)` of a law.
type Sets = &'static [&'static [usize]];
/// Those of the universal scalability law.
const UNIVERSAL: Sets = &[&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
/// Those of Amdahl's, which knows no coherence.
const AMDAHL: Sets = &[&[0, 1], &[0]];

/// The best law, by which `n / X(n)` is a sum of 1, `n - 1` and `n (n - 1)`.
fn smooth(points: &[Point], sets: Sets) -> Option<Curve> {
    let terms = |n: f64| [1.0, n - 1.0, n * (n - 1.0)];
    let row = |point: &Point| terms(point.parties).map(|term| term * point.throughput / point.parties);
    let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
    let [one, shared, pairs] = not_negative(&rows, sets)?;
    (one > 0.0).then(|| Curve { alone: 1.0 / one, contention: shared / one, coherence: pairs / one, knee: None })
}

/// The law of the parties up to `at`, and a straight line from there on.
fn bent(points: &[Point], at: f64, sets: Sets) -> Option<Curve> {
    let (first, further): (Vec<Point>, Vec<Point>) = points.iter().partition(|point| point.parties <= at);
    let mut curve = smooth(&first, sets)?;
    let start = curve.at(at);
    // The line's one slope, by least squares of shares.
    let mut sums = (0.0, 0.0);
    for point in &further {
        let (run, left) = ((point.parties - at) / point.throughput, 1.0 - start / point.throughput);
        sums = (sums.0 + run * left, sums.1 + run * run);
    }
    curve.knee = (sums.1 > 0.0).then(|| Knee { at, gain: sums.0 / sums.1 / curve.alone });
    Some(curve)
}

/// The coefficients, none below 0, by which the columns of `rows` come closest to 1: the best of all sets of columns whose own solution
/// has none below 0.
fn not_negative(rows: &[[f64; 3]], sets: Sets) -> Option<[f64; 3]> {
    let off = |solved: &[f64; 3]| -> f64 {
        let sum = |row: &[f64; 3]| row.iter().zip(solved).map(|(value, by)| value * by).sum::<f64>();
        rows.iter().map(|row| (sum(row) - 1.0).powi(2)).sum()
    };
    let solutions = sets.iter().filter(|set| set.len() <= rows.len()).filter_map(|set| solved(rows, set));
    solutions
        .filter(|solved| solved.iter().all(|value| *value >= 0.0 && value.is_finite()))
        .min_by(|one, other| off(one).total_cmp(&off(other)))
}

/// Least squares over a set of columns, by the normal equations and Gaussian elimination.
fn solved(rows: &[[f64; 3]], set: &[usize]) -> Option<[f64; 3]> {
    let sum = |of: &dyn Fn(&[f64; 3]) -> f64| rows.iter().map(of).sum::<f64>();
    let mut matrix: Vec<Vec<f64>> = set
        .iter()
        .map(|&i| {
            let mut line: Vec<f64> = set.iter().map(|&j| sum(&|row| row[i] * row[j])).collect();
            line.push(sum(&|row| row[i]));
            line
        })
        .collect();
    let size = set.len();
    for step in 0..size {
        let pivot = (step..size).max_by(|&a, &b| matrix[a][step].abs().total_cmp(&matrix[b][step].abs()))?;
        matrix.swap(step, pivot);
        let head = matrix[step].clone();
        if head[step].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (_, line) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != step) {
            let factor = line[step] / head[step];
            line.iter_mut().zip(&head).for_each(|(value, of_head)| *value -= factor * of_head);
        }
    }
    let mut found = [0.0; 3];
    for (index, &column) in set.iter().enumerate() {
        found[column] = matrix[index][size] / matrix[index][index];
    }
    Some(found)
}

/// Contention and coherence with their intervals.
fn intervals(
    points: &[Point],
    curve: &Curve,
    sets: Sets,
    (scatter, freedom): (f64, f64),
    seed: u64,
) -> (Parameter, Parameter) {
    // Residuals are smaller than errors by what the fit took from them, and of few points their size is itself uncertain.
    let student = StudentsT::new(0.0, 1.0, freedom).map_or(NORMAL, |law| law.inverse_cdf(1.0 - TAIL));
    let raw: Vec<f64> = points.iter().map(|point| point.throughput / curve.at(point.parties) - 1.0).collect();
    let mean_square = (raw.iter().map(|share| share * share).sum::<f64>() / raw.len() as f64).sqrt();
    let wider = student / NORMAL;
    let grown = if mean_square > 0.0 { wider * scatter / mean_square } else { 1.0 };
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut contention, mut coherence) = (vec![curve.contention], vec![curve.coherence]);
    for _ in 0..RESAMPLES {
        let made = |point: &Point| {
            let share = raw[random.random_range(0..raw.len())] * grown;
            Point { throughput: curve.at(point.parties) * (1.0 + share).max(0.1), ..*point }
        };
        let made: Vec<Point> = points.iter().map(made).collect();
        let again = match curve.knee {
            Some(knee) => bent(&made, knee.at, sets),
            None => smooth(&made, sets),
        };
        if let Some(again) = again {
            contention.push(again.contention);
            coherence.push(again.coherence);
        }
    }
    let of = |value: f64, mut all: Vec<f64>| {
        all.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
        Parameter { value, low: at(TAIL).min(value), high: at(1.0 - TAIL).max(value) }
    };
    (of(curve.contention, contention), of(curve.coherence, coherence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::normal;

    /// A curve at these numbers of parties, with relative noise of this deviation.
    fn made(counts: &[f64], noise: f64, seed: u64, of: impl Fn(f64) -> f64) -> Vec<Point> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let point = |&parties: &f64| Point { parties, throughput: of(parties) * (1.0 + noise * normal(&mut random)) };
        counts.iter().map(point).collect()
    }

    fn universal(contention: f64, coherence: f64) -> impl Fn(f64) -> f64 {
        move |n| 70.0 * n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0))
    }

    const DOUBLED: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    #[test]
    fn planted_parameters_come_back() {
        for (contention, coherence) in [(0.0, 0.0), (0.05, 0.0), (0.02, 0.001), (0.3, 0.01), (0.0, 0.002)] {
            let law = law(&made(&DOUBLED, 0.0, 1, universal(contention, coherence)), None, 7).unwrap();
            assert!((law.alone / 70.0 - 1.0).abs() < 1e-6, "{law:?}");
            assert!((law.contention.value - contention).abs() < 1e-6, "{law:?}");
            assert!((law.coherence.value - coherence).abs() < 1e-6, "{law:?}");
            assert_eq!(law.knee, None);
            assert_eq!(law.peak().is_some(), coherence > 0.0, "{law:?}");
            let serial = serial_share(&made(&DOUBLED, 0.0, 1, universal(contention, coherence)), &law, 7);
            // Coherence that bends the curve is no serial share.
            assert_eq!(
                serial.is_some_and(|share| (share.value - contention).abs() < 1e-6),
                coherence == 0.0,
                "{serial:?}"
            );
        }
    }

    #[test]
    fn intervals_hold_what_was_planted_in_nine_of_ten_noisy_curves() {
        let (contention, coherence) = (0.04, 0.0008);
        let (mut holds, mut fitted) = ([0, 0], 0);
        for seed in 0..200 {
            let points = made(&DOUBLED, 0.01, seed, universal(contention, coherence));
            let Some(law) = law(&points, None, seed) else { continue };
            fitted += 1;
            for (count, (of, planted)) in
                holds.iter_mut().zip([(law.contention, contention), (law.coherence, coherence)])
            {
                *count += usize::from(of.low <= planted && planted <= of.high);
            }
        }
        assert!(fitted > 190 && holds.iter().all(|count| *count * 100 > fitted * 85), "{holds:?} of {fitted}");
    }

    #[test]
    fn second_threads_of_cores_are_a_knee() {
        let counts: Vec<f64> = (1..=16).map(f64::from).collect();
        let smt = |n: f64| 1000.0 * (n.min(8.0) + 0.33 * (n - 8.0).max(0.0));
        for cores in [None, Some(8.0)] {
            let law = law(&made(&counts, 0.002, 5, smt), cores, 7).unwrap();
            let knee = law.knee.unwrap();
            assert!((knee.at - 8.0).abs() <= 1.0 && (knee.gain - 0.33).abs() < 0.05, "{law:?}");
            assert!(law.contention.value < 0.01 && law.peak().is_none(), "{law:?}");
        }
        // By powers of two, as copies are measured.
        let law = law(&made(&DOUBLED, 0.002, 5, |n| n.min(32.0) + 0.2 * (n - 32.0).max(0.0)), Some(32.0), 7).unwrap();
        assert!((law.knee.unwrap().gain - 0.2).abs() < 0.05, "{law:?}");
    }

    #[test]
    fn a_peak_and_the_first_fall_are_where_they_were_planted() {
        let points = made(&DOUBLED, 0.0, 1, universal(0.1, 0.01));
        let law = law(&points, None, 7).unwrap();
        assert!((law.peak().unwrap() - (0.9_f64 / 0.01).sqrt()).abs() < 1e-3, "{law:?}");
        assert_eq!(falls_from(&points, law.scatter), Some(16.0));
        assert_eq!(falls_from(&made(&DOUBLED, 0.0, 1, universal(0.1, 0.0)), 0.0), None);
    }

    #[test]
    fn what_follows_no_law_has_none() {
        let uneven = [1.0, 2.0, 3.8, 5.5, 14.0, 11.0, 40.0];
        let points: Vec<Point> =
            DOUBLED.iter().zip(uneven).map(|(&parties, throughput)| Point { parties, throughput }).collect();
        assert_eq!(law(&points, None, 7), None);
        assert_eq!(law(&points[..4], None, 7), None);
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut points = made(&DOUBLED, 0.0, 1, universal(0.1, 0.0));
            points[3].throughput = wrong;
            assert_eq!(law(&points, None, 7), None);
        }
    }
}
