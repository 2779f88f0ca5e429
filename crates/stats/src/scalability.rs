//! Tells how throughput grows with the number of parties that work at once: linear, with a knee, by a law, falling or uneven.
//!
//! The universal scalability law, `X(n) = X(1) n / (1 + contention (n - 1) + coherence n (n - 1))` (N. J. Gunther, "Guerrilla Capacity
//! Planning", Springer 2007, chapter 4): contention is the share of the work that one party at a time can do, coherence what each pair
//! of parties costs. Without coherence it is Amdahl's law. Beyond the physical cores each further party, on a second thread of a core,
//! adds a smaller amount: there the law ends, and a straight line goes on.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Points of which anything is told, at least.
pub const LEAST_POINTS: usize = 5;
/// Points that a law is fitted to, at least: one more than it has parameters.
const LEAST_OF_LAW: usize = 4;
/// Share within which values count as the same: `cpu.scaling` counts no loss below it either.
pub const MOST_SCATTER: f64 = 0.05;
/// Curves that are made from the residuals of one.
const RESAMPLES: usize = 400;
/// The share of them that an interval leaves out on each side.
const TAIL: f64 = 0.025;
/// Quantile of the normal distribution that is exceeded with that probability.
const NORMAL: f64 = 1.959_963_984_540_054;
/// A knee that no topology explains must explain so much of the squared residuals that its two parameters are worth it.
const WORTH_A_KNEE: f64 = 0.5;
/// A law leaves no more than this of the squares by which points lie off a straight line.
const LEFT_BY_LAW: f64 = 0.1;
/// A law that comes this close to its points, as a share, needs no knee.
const CLOSE: f64 = 0.005;

/// Number of parties, and what they got done together in one time; any unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The number of parties, 1 or more.
    pub parties: f64,
    /// Work in a time.
    pub throughput: f64,
}

impl Point {
    /// Returns the work of each of them.
    pub fn each(&self) -> f64 {
        self.throughput / self.parties
    }
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

/// Knee of a curve, from which on further parties add another amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// The number of parties up to which the law of the first ones holds.
    pub at: f64,
    /// Gain by each further party, as a share of what one does alone.
    pub gain: f64,
}

/// The law of a curve, up to its knee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingLaw {
    /// Throughput of one party.
    pub alone: f64,
    /// The share of the work that only one party at a time can do.
    pub contention: Parameter,
    /// Cost of each pair of parties, as a share of the work of one.
    pub coherence: Parameter,
    /// The contention alone by Amdahl's law, where the coherence is not known to be above 0 and that law fits too.
    pub serial: Option<Parameter>,
    /// Distance of the points from it: root mean square of the shares.
    pub scatter: f64,
}

impl ScalingLaw {
    /// Throughput of so many parties.
    pub fn at(&self, parties: f64) -> f64 {
        Curve { alone: self.alone, contention: self.contention.value, coherence: self.coherence.value }.at(parties)
    }

    /// The number of parties beyond which the throughput falls; none where it is not known to, or not before the `knee` at which the law
    /// ends.
    pub fn peak(&self, knee: Option<Knee>) -> Option<f64> {
        let (contention, coherence) = (self.contention.value, self.coherence.value);
        let peak = ((1.0 - contention).max(0.0) / coherence).sqrt();
        let peak = (self.coherence.low > 0.0 && peak.is_finite()).then_some(peak.max(1.0));
        peak.filter(|peak| knee.is_none_or(|knee| *peak < knee.at))
    }
}

/// The first points of a curve, of which each party does the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear {
    /// The smallest number: that after one party where one alone does another amount.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// Work of each, as a share of what one does alone.
    pub each: f64,
}

/// The number of parties that did least of what the others let expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// The number.
    pub at: f64,
    /// The share that is missing.
    pub share: f64,
}

/// Growth of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Growth {
    /// Growth without a law: somewhere it did less than what fewer and more parties did allows.
    Uneven(Dip),
    /// Growth in which each party adds no more than those before it did.
    Smooth {
        /// Linear part, up to the knee; `None` where not even the first points are linear.
        linear: Option<Linear>,
        /// Point where second threads of cores begin, or a limit of the whole.
        knee: Option<Knee>,
        /// The law up to the knee, where that is not linear and follows one.
        law: Option<ScalingLaw>,
        /// The first number of parties that got less done than fewer had.
        falls_from: Option<f64>,
    },
}

/// Returns the growth of a curve with points at [`LEAST_POINTS`] numbers of parties or more; a knee at `cores` where they are known
/// and points lie on both sides, else where it explains most, if it explains enough.
///
/// Least squares of relative deviations, with no parameter below 0; intervals are percentiles of fits to curves made of the law and its
/// own residuals (B. Efron & R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 9), for which `seed` decides.
///
/// `None` of fewer points, and of values that are no positive numbers.
pub fn growth(points: &[Point], cores: Option<f64>, seed: u64) -> Option<Growth> {
    let is_sound = |point: &Point| {
        point.parties >= 1.0 && point.parties.is_finite() && point.throughput > 0.0 && point.throughput.is_finite()
    };
    let mut points = points.to_vec();
    points.sort_unstable_by(|one, other| one.parties.total_cmp(&other.parties));
    points.dedup_by_key(|point| point.parties);
    if points.len() < LEAST_POINTS || !points.iter().all(is_sound) {
        return None;
    }
    // One alone may have another clock than several.
    if let Some(dip) = deepest_dip(&points[1..]).filter(|dip| dip.share > MOST_SCATTER) {
        return Some(Growth::Uneven(dip));
    }
    let alone = points[0].each();
    let whole = linear(&points, alone);
    // One alone that is unlike all others bends nothing.
    let alike = &points[usize::from(whole.is_some_and(|linear| linear.from > points[0].parties))..];
    let is_straight = whole.is_some_and(|linear| linear.to == points[points.len() - 1].parties);
    let knee = if is_straight { None } else { knee(alike, cores) };
    let knee = knee.map(|knee| Knee { gain: knee.gain / alone, ..knee });
    let first = before(&points, knee.map(|knee| knee.at));
    let linear = linear(first, alone);
    let is_linear = linear.is_some_and(|linear| linear.to == first[first.len() - 1].parties);
    let law = if is_linear { None } else { law(first, seed) };
    Some(Growth::Smooth { linear, knee, law, falls_from: falls_from(&points) })
}

fn before(points: &[Point], at: Option<f64>) -> &[Point] {
    &points[..points.partition_point(|point| at.is_none_or(|at| point.parties <= at))]
}

/// Returns the point that lies deepest below what others let expect. Up to the most, no party adds more than those before it;
/// beyond, none adds anything.
fn deepest_dip(points: &[Point]) -> Option<Dip> {
    let most = (0..points.len()).max_by(|&a, &b| points[a].throughput.total_cmp(&points[b].throughput))?;
    let none = Point { parties: 0.0, throughput: 0.0 };
    let dip = |index: usize| {
        let (point, later) = (points[index], &points[index + 1..]);
        let fewer = points[..index].iter().chain([&none]);
        let chord = |one: &Point, other: &Point| {
            let slope = (other.throughput - one.throughput) / (other.parties - one.parties);
            one.throughput + slope * (point.parties - one.parties)
        };
        let expected: f64 = match index < most {
            true => fewer.flat_map(|one| later.iter().map(move |other| chord(one, other))).fold(0.0, f64::max),
            false => later.iter().map(|other| other.throughput).fold(0.0, f64::max),
        };
        Dip { at: point.parties, share: 1.0 - point.throughput / expected.max(point.throughput) }
    };
    (0..points.len()).map(dip).max_by(|one, other| one.share.total_cmp(&other.share))
}

/// The first points that lie within [`MOST_SCATTER`] of each other by what each party does; without one alone where no other is like it.
fn linear(points: &[Point], alone: f64) -> Option<Linear> {
    let stretch = |from: usize| {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        let is_like = |point: &&Point| {
            (least, most) = (least.min(point.each()), most.max(point.each()));
            least >= most * (1.0 - MOST_SCATTER)
        };
        let like: Vec<&Point> = points[from..].iter().take_while(is_like).collect();
        let each = like.iter().map(|point| point.each()).sum::<f64>() / like.len() as f64;
        (like.len() > 1).then(|| Linear { from: like[0].parties, to: like[like.len() - 1].parties, each: each / alone })
    };
    stretch(0).or_else(|| stretch(1))
}

/// The first number of parties that got less done than fewer had, by more than [`MOST_SCATTER`]; none where none did.
fn falls_from(points: &[Point]) -> Option<f64> {
    let mut most = 0.0_f64;
    let falls = points.iter().find(|point| {
        most = most.max(point.throughput);
        point.throughput < most * (1.0 - MOST_SCATTER)
    });
    falls.map(|point| point.parties)
}

/// The law of points that follow one no worse than [`MOST_SCATTER`], and far better than a straight line.
fn law(points: &[Point], seed: u64) -> Option<ScalingLaw> {
    let fitted = |sets: Sets| {
        let curve = smooth(points, sets)?;
        let freedom = points.len().checked_sub(sets[0].len()).filter(|freedom| *freedom > 0)? as f64;
        let scatter = (curve.off(points) / freedom).sqrt();
        let straight = smooth(points, STRAIGHT)?.off(points);
        let is_close = scatter <= MOST_SCATTER && curve.off(points) <= LEFT_BY_LAW * straight;
        is_close.then(|| (scatter, intervals(points, &curve, sets, (scatter, freedom), seed), curve.alone))
    };
    if points.len() < LEAST_OF_LAW {
        return None;
    }
    let (scatter, (contention, coherence), alone) = fitted(UNIVERSAL)?;
    let amdahl = if coherence.low <= 0.0 { fitted(AMDAHL) } else { None };
    Some(ScalingLaw { alone, contention, coherence, serial: amdahl.map(|(_, (serial, _), _)| serial), scatter })
}

/// Returns the knee of a curve, with the gain in its unit. At the cores it need only be closer with a knee than without.
fn knee(points: &[Point], cores: Option<f64>) -> Option<Knee> {
    let last = points[points.len() - 1];
    // Siblings that add what cores do are cores, whatever the topology tells.
    let is_notable = |knee: &Knee| {
        let at_knee = last.throughput - knee.gain * (last.parties - knee.at);
        last.throughput < at_knee / knee.at * last.parties * (1.0 - MOST_SCATTER)
    };
    closest_knee(points, cores).filter(is_notable)
}

fn closest_knee(points: &[Point], cores: Option<f64>) -> Option<Knee> {
    let whole = smooth(points, UNIVERSAL)?.off(points);
    let (first, last) = (points[0].parties, points[points.len() - 1].parties);
    let freedom = |parameters: usize| points.len().saturating_sub(parameters).max(1) as f64;
    if let Some(cores) = cores.filter(|cores| first <= *cores && *cores < last) {
        let (knee, off) = bent(points, cores)?;
        return (off / freedom(4) < whole / freedom(3)).then_some(knee);
    }
    // One point beyond would lie on any line.
    let inner = &points[1..points.len() - 2];
    let bent = inner.iter().filter_map(|point| bent(points, point.parties));
    let (knee, off) = bent.min_by(|one, other| one.1.total_cmp(&other.1))?;
    let noise = CLOSE.powi(2) * points.len() as f64;
    (off.max(noise) < WORTH_A_KNEE * whole).then_some(knee)
}

/// A straight line that begins at `at` on the law of the parties up to there, and the squares by which the points lie off both.
fn bent(points: &[Point], at: f64) -> Option<(Knee, f64)> {
    let first = before(points, Some(at));
    let (further, curve) = (&points[first.len()..], smooth(first, UNIVERSAL)?);
    let start = curve.at(at);
    // The line's one slope, by least squares of shares.
    let (mut across, mut along) = (0.0, 0.0);
    for point in further {
        let (run, left) = ((point.parties - at) / point.throughput, 1.0 - start / point.throughput);
        (across, along) = (across + run * left, along + run * run);
    }
    let gain = across / along;
    let off = |point: &Point| ((start + gain * (point.parties - at)) / point.throughput - 1.0).powi(2);
    (along > 0.0).then(|| (Knee { at, gain }, curve.off(first) + further.iter().map(off).sum::<f64>()))
}

/// A law without its intervals.
#[derive(Debug, Clone, Copy)]
struct Curve {
    alone: f64,
    contention: f64,
    coherence: f64,
}

impl Curve {
    fn at(&self, parties: f64) -> f64 {
        let slowed = 1.0 + self.contention * (parties - 1.0) + self.coherence * parties * (parties - 1.0);
        self.alone * parties / slowed
    }

    /// The sum of squared shares by which points lie off it.
    fn off(&self, points: &[Point]) -> f64 {
        points.iter().map(|point| (self.at(point.parties) / point.throughput - 1.0).powi(2)).sum()
    }
}

/// Sets of the columns 1, `n - 1` and `n (n - 1)` of a law.
type Sets = &'static [&'static [usize]];
/// Parameter sets of the universal scalability law.
const UNIVERSAL: Sets = &[&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
/// Parameter sets of Amdahl's law, which knows no coherence.
const AMDAHL: Sets = &[&[0, 1], &[0]];
/// Parameter set of parties that do not hinder each other.
const STRAIGHT: Sets = &[&[0]];

/// The best law, by which `n / X(n)` is a sum of 1, `n - 1` and `n (n - 1)`.
fn smooth(points: &[Point], sets: Sets) -> Option<Curve> {
    let terms = |n: f64| [1.0, n - 1.0, n * (n - 1.0)];
    let row = |point: &Point| terms(point.parties).map(|term| term * point.throughput / point.parties);
    let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
    let [one, shared, pairs] = not_negative(&rows, sets)?;
    (one > 0.0).then(|| Curve { alone: 1.0 / one, contention: shared / one, coherence: pairs / one })
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
        if let Some(again) = smooth(&made, sets) {
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

    /// Returns the parts of a smooth curve: linear part, knee, law, first fall.
    #[track_caller]
    fn smooth_growth(
        points: &[Point],
        cores: Option<f64>,
    ) -> (Option<Linear>, Option<Knee>, Option<ScalingLaw>, Option<f64>) {
        match growth(points, cores, 7) {
            Some(Growth::Smooth { linear, knee, law, falls_from }) => (linear, knee, law, falls_from),
            other => panic!("{other:?} of {points:?}"),
        }
    }

    #[test]
    fn planted_parameters_come_back() {
        for (contention, coherence) in [(0.05, 0.0), (0.02, 0.001), (0.3, 0.01), (0.0, 0.002)] {
            let (_, knee, law, _) = smooth_growth(&made(&DOUBLED, 0.0, 1, universal(contention, coherence)), None);
            let law = law.unwrap();
            assert!((law.alone / 70.0 - 1.0).abs() < 1e-6, "{law:?}");
            assert!((law.contention.value - contention).abs() < 1e-6, "{law:?}");
            assert!((law.coherence.value - coherence).abs() < 1e-6, "{law:?}");
            assert_eq!(knee, None);
            assert_eq!(law.peak(knee).is_some(), coherence > 0.0, "{law:?}");
            // Coherence that bends the curve is no serial share.
            let is_serial = law.serial.is_some_and(|share| (share.value - contention).abs() < 1e-6);
            assert_eq!(is_serial, coherence == 0.0, "{law:?}");
        }
    }

    #[test]
    fn a_law_whose_coherence_may_be_nothing_has_no_peak() {
        let parameter = |value, low| Parameter { value, low, high: 2.0 * value };
        let law = |low| ScalingLaw {
            alone: 1.0,
            contention: parameter(0.1, 0.05),
            coherence: parameter(0.001, low),
            serial: None,
            scatter: 0.01,
        };
        assert_eq!((law(0.0).peak(None), law(1e-4).peak(None)), (None, Some(30.0)));
    }

    #[test]
    fn intervals_hold_what_was_planted_in_nine_of_ten_noisy_curves() {
        let (contention, coherence) = (0.04, 0.0008);
        let (mut holds, mut fitted) = ([0, 0], 0);
        for seed in 0..200 {
            let points = made(&DOUBLED, 0.01, seed, universal(contention, coherence));
            let Some(Growth::Smooth { law: Some(law), .. }) = growth(&points, None, seed) else { continue };
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
    fn what_is_linear_has_no_law() {
        // A law fitted to its noise would have a peak that nothing supports.
        for seed in 0..50 {
            let (linear, knee, law, falls) =
                smooth_growth(&made(&DOUBLED, 0.005, seed, universal(0.0, 0.0)), Some(32.0));
            let linear = linear.unwrap();
            assert!((linear.from, linear.to) == (1.0, 64.0) && (linear.each - 1.0).abs() < 0.02, "{linear:?}");
            assert_eq!((knee, law, falls), (None, None, None));
        }
        // The clock of one alone is higher, or it was disturbed.
        for each in [0.85, 1.25] {
            let of = |n: f64| if n == 1.0 { 1.0 } else { each * n };
            let (linear, knee, law, _) = smooth_growth(&made(&DOUBLED, 0.002, 3, of), None);
            let linear = linear.unwrap();
            assert!((linear.from, linear.to) == (2.0, 64.0) && (linear.each - each).abs() < 0.01, "{linear:?}");
            assert_eq!((knee, law), (None, None));
        }
    }

    #[test]
    fn second_threads_of_cores_are_a_knee() {
        let counts: Vec<f64> = (1..=16).map(f64::from).collect();
        for gain in [0.0, 0.33] {
            let smt = |n: f64| 1000.0 * (n.min(8.0) + gain * (n - 8.0).max(0.0));
            for (seed, cores) in (0..40).zip([None, Some(8.0)].into_iter().cycle()) {
                let (linear, knee, law, falls) = smooth_growth(&made(&counts, 0.002, seed, smt), cores);
                let knee = knee.unwrap();
                assert!((knee.at - 8.0).abs() <= 1.0 && (knee.gain - gain).abs() < 0.05, "{knee:?}");
                assert!((linear.unwrap().to - 8.0).abs() <= 1.0 && law.is_none() && falls.is_none(), "{linear:?}");
            }
        }
        // By powers of two, as copies are measured: one point beyond the cores is enough where they are known.
        let smt = made(&DOUBLED, 0.002, 5, |n| n.min(32.0) + 0.2 * (n - 32.0).max(0.0));
        let (linear, knee, law, _) = smooth_growth(&smt, Some(32.0));
        assert!((knee.unwrap().gain - 0.2).abs() < 0.05 && linear.unwrap().to == 32.0 && law.is_none(), "{knee:?}");
        let (linear, knee, ..) = smooth_growth(&smt, None);
        assert!(knee.is_none() && linear.unwrap().to == 32.0, "{knee:?}");
    }

    #[test]
    fn contention_up_to_a_knee_is_that_of_the_cores_alone() {
        let counts: Vec<f64> = (1..=32).map(f64::from).collect();
        let cores = universal(0.03, 0.0);
        let smt = |n: f64| cores(n.min(16.0)) + 70.0 * 0.1 * (n - 16.0).max(0.0);
        let mut held = 0;
        for seed in 0..50 {
            let (_, knee, law, _) = smooth_growth(&made(&counts, 0.003, seed, smt), Some(16.0));
            let (knee, law) = (knee.unwrap(), law.unwrap());
            assert!(knee.at == 16.0 && (knee.gain - 0.1).abs() < 0.03, "{knee:?}");
            held += usize::from(law.contention.low <= 0.03 && 0.03 <= law.contention.high);
        }
        assert!(held >= 43, "{held} of 50");
    }

    #[test]
    fn a_peak_and_the_first_fall_are_where_they_were_planted() {
        let (.., law, falls) = smooth_growth(&made(&DOUBLED, 0.0, 1, universal(0.1, 0.01)), None);
        assert!((law.unwrap().peak(None).unwrap() - (0.9_f64 / 0.01).sqrt()).abs() < 1e-3, "{law:?}");
        assert_eq!(falls, Some(16.0));
        assert_eq!(smooth_growth(&made(&DOUBLED, 0.0, 1, universal(0.1, 0.0)), None).3, None);
    }

    #[test]
    fn what_goes_down_and_up_again_is_uneven() {
        let points = |throughputs: [f64; 7]| -> Vec<Point> {
            DOUBLED.iter().zip(throughputs).map(|(&parties, throughput)| Point { parties, throughput }).collect()
        };
        let uneven = |throughputs| match growth(&points(throughputs), None, 7) {
            Some(Growth::Uneven(dip)) => dip,
            other => panic!("{other:?}"),
        };
        let dip = uneven([1.0, 2.0, 4.0, 8.0, 12.0, 32.0, 64.0]);
        assert!(dip.at == 16.0 && (dip.share - 0.25).abs() < 1e-9, "{dip:?}");
        assert_eq!(uneven([1.0, 2.0, 4.0, 8.0, 6.0, 4.0, 7.0]).at, 32.0);
        // A clock that rises midway is no scaling either.
        assert_eq!(uneven([1.0, 2.0, 4.0, 9.6, 19.2, 38.4, 76.8]).share, 1.0 - 1.0 / 1.2);
    }

    #[test]
    fn what_is_no_curve_has_no_growth() {
        let points = made(&DOUBLED, 0.0, 1, universal(0.1, 0.0));
        assert_eq!(growth(&points[..4], None, 7), None);
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut points = points.clone();
            points[3].throughput = wrong;
            assert_eq!(growth(&points, None, 7), None);
        }
    }
}
