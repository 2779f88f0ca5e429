//! Finds cache levels on a curve of latency over size: change points in log latency over log size.
//!
//! A curve is a chain of plateaus (a level that answers) and ramps (a size that fits a level in part). The chain of
//! least cost is found by dynamic programming, as in Jackson et al., "An algorithm for optimal partitioning of data
//! on an interval" (IEEE Signal Processing Letters 2005), with a bounded quadratic loss against outliers (Fearnhead
//! & Rigaill, "Changepoint detection in the presence of outliers", JASA 2019). Neighbours that differ by less than
//! [`LEAST_STEP`] are one level, so that noise and TLB reach invent none.

use crate::descriptive;

/// Two levels differ at least by this ratio of latencies. Missing the first TLB makes a second-level cache look up to
/// half slower than it is, within one level; the closest levels sold (a system cache and its DRAM) differ by two
/// thirds.
pub const LEAST_STEP: f64 = 1.6;

/// Cost of a point on a ramp: the squared residual, in standard deviations, at which a plateau lets it go.
const RAMP_POINT: f64 = 9.0;
/// The most that a point on a plateau costs: an outlier. It is more than on a ramp, so that plateaus end with points
/// that belong to them.
const OUTLIER: f64 = 10.0;
/// Cost of one more plateau: more than two points on a ramp, so that inside the curve it takes three that agree.
const PLATEAU: f64 = 20.0;
/// The last plateau may be two points: the sweep is cut short where memory is.
const LAST_PLATEAU: f64 = 12.0;
/// Cost of the second plateau when one or two points stand before it as the first: less than to give one up, as
/// sweeps that start at the capacity of the first cache are usual.
const SHORT_START: f64 = 5.0;
/// Points that make such a short start, at most.
const SHORT_START_POINTS: usize = 2;
/// An inner plateau holds over half an octave at least, and one that holds over less than a whole one costs more:
/// a dense sweep of a ramp shows short ones.
const LEAST_WIDTH_OCTAVES: f64 = 0.5;
/// Surcharge for each octave that is missing, as a part of the price.
const NARROW: f64 = 1.5;
/// A step between levels exceeds the noise of one point by this factor, besides [`LEAST_STEP`].
const STEP_OVER_NOISE: f64 = 3.0;
/// Factor by which a step exceeds the error that the rounds of both levels leave: a difference beyond its 95 % interval.
const STEP_OVER_ERROR: f64 = 2.0;
/// The error of a median of equally good points, over that of their mean.
const MEDIAN_ERROR: f64 = 1.25;
/// Slopes that a plateau may have, in log latency per octave of size: TLB reach and neighbours raise it slowly.
const SLOPES: [f64; 3] = [0.0, 0.05, 0.1];
/// Rise per octave (Theil and Sen's median of slopes) above which points are a ramp, if they rise in all by half a step that is
/// out of the noise, and no plateau however long it is.
const STEEPEST: f64 = 0.2;
/// The noise is taken to be this at least (5 %), as quiet points are not that equal within one level.
const LEAST_NOISE: f64 = 0.05;
/// Scales the median distance from a running median of five to a standard deviation, for normal noise.
const NOISE_FACTOR: f64 = 1.7;
/// Points on either side that enter the estimate of a point's noise, which is not the same on all levels.
const NOISE_REACH: usize = 6;
/// A size still fits when fewer of its loads miss than this, seen through the noise of a quiet level.
const FITS: f64 = 0.1;
/// Largest number of points that are not thinned by medians of neighbours: the search takes cubic time.
const MOST_POINTS: usize = 200;

/// A point of a curve with how well its rounds know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Size of the working set, in any unit.
    pub size: f64,
    /// Latency there, in any unit.
    pub latency: f64,
    /// Standard error of the logarithm of the latency, from the rounds; 0 where nothing is known of it.
    pub error: f64,
}

/// Level of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// Median latency of the points on the plateau, in the unit given.
    pub latency: f64,
    /// Smallest size on the plateau, in the unit given.
    pub first_size: f64,
    /// Largest size on the plateau.
    pub last_size: f64,
    /// Largest size that this level holds. `None` on a last plateau that nothing follows: DRAM, or a curve that
    /// ends before the next level. Where a ramp follows that reaches no plateau it is `last_size`, a lower bound.
    pub capacity: Option<f64>,
}

/// A point in the coordinates of the search.
#[derive(Clone, Copy)]
struct SearchPoint {
    size: f64,
    octave: f64,
    log_latency: f64,
    error: f64,
}

/// A plateau as the indexes of its first and last point.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

/// Finds the levels of a curve of `(size, latency)` points of which nothing else is known; see [`plateaus_of`].
pub fn plateaus(points: &[(f64, f64)]) -> Vec<Plateau> {
    let readings: Vec<Reading> = points.iter().map(|&(size, latency)| Reading { size, latency, error: 0.0 }).collect();
    plateaus_of(&readings)
}

/// Finds the levels of a curve, fastest first.
///
/// How far a point may lie from its plateau is judged by the scatter of its neighbours and by its own rounds, whichever is more;
/// and two levels are two only where they differ by more than the rounds of their points leave open.
///
/// Units are free (the answers have them). Points that are not positive and finite are dropped, points of one size
/// become their median; order does not matter, ascending is usual. No point gives no plateau.
///
/// The capacity is where the latency crosses the geometric mean of two neighbouring levels, interpolated in the
/// logarithms. There about a third of the loads miss, which lies between the two ways in which caches fill: least
/// recently used lines over randomly placed pages, where half of the loads miss as the size reaches the capacity,
/// and random replacement, where hardly any do. When a size that fits entirely is followed by one of which the part
/// `f` misses, the step may be steeper than the sweep. The more misses, the less the crossing counts, and the more
/// the size that gives `f` under random replacement (`f = 1 − exp(−f · size / capacity)`), no less than the size
/// that fits: a step from nothing to everything gives the size that fits.
pub fn plateaus_of(points: &[Reading]) -> Vec<Plateau> {
    let points = prepare(points);
    let noise = noise(&points);
    // A point whose rounds disagree says less than one whose rounds agree.
    let free: Vec<f64> = noise.iter().zip(&points).map(|(noise, point)| noise.max(point.error)).collect();
    let mut spans = join(&points, &noise, search(&points, &free));
    // Levels between others are held together by both; what stands at the end must be flat by itself.
    spans.pop_if(|last| last.first > 0 && !is_flat(&points, &noise, *last));
    let levels: Vec<f64> = spans.iter().map(|&span| level(&points, span)).collect();
    let describe = |index: usize| {
        let span = spans[index];
        let capacity = match spans.get(index + 1) {
            Some(&next) => Some(capacity(&points, span, next, levels[index], levels[index + 1])),
            None => {
                // One high point at the very end is as likely an outlier.
                let ramp = &points[span.last + 1..];
                let is_left = |point: &SearchPoint| point.log_latency - levels[index] > LEAST_STEP.ln();
                let left = ramp.len() >= 2 && ramp[ramp.len() - 2..].iter().all(is_left);
                left.then(|| points[span.last].size)
            }
        };
        Plateau {
            latency: levels[index].exp(),
            first_size: points[span.first].size,
            last_size: points[span.last].size,
            capacity,
        }
    };
    (0..spans.len()).map(describe).collect()
}

/// Drops what is no point, sorts by size, and merges points of one size (or, of very many, neighbours).
fn prepare(points: &[Reading]) -> Vec<SearchPoint> {
    let usable = |value: f64| value > 0.0 && value.is_finite();
    let is_point = |point: &Reading| usable(point.size) && usable(point.latency);
    let mut sorted: Vec<Reading> = points.iter().copied().filter(is_point).collect();
    sorted.sort_by(|a, b| a.size.total_cmp(&b.size));
    let merge = |group: &[Reading]| {
        let middle = |of: fn(&Reading) -> f64| descriptive::median(&group.iter().map(of).collect::<Vec<f64>>());
        let error = middle(|point| point.error).filter(|error| *error > 0.0).unwrap_or(0.0);
        Some(Reading { size: middle(|point| point.size)?, latency: middle(|point| point.latency)?, error })
    };
    let merged: Vec<Reading> = sorted.chunk_by(|a, b| a.size == b.size).filter_map(merge).collect();
    let thinned = merged.chunks(merged.len().div_ceil(MOST_POINTS).max(1)).filter_map(merge);
    thinned
        .map(|point| SearchPoint {
            size: point.size,
            octave: point.size.log2(),
            log_latency: point.latency.ln(),
            error: point.error,
        })
        .collect()
}

/// The noise at each point, as a standard deviation of log latency: the median distance from a running median,
/// which a ramp does not disturb.
fn noise(points: &[SearchPoint]) -> Vec<f64> {
    let distance = |index: usize| {
        let reach = 2.min(index).min(points.len() - 1 - index);
        let window: Vec<f64> = points[index - reach..=index + reach].iter().map(|point| point.log_latency).collect();
        let distance = (points[index].log_latency - descriptive::median(&window)?).abs();
        (reach == 2).then_some(distance)
    };
    let distances: Vec<Option<f64>> = (0..points.len()).map(distance).collect();
    let around = |index: usize| {
        let window = &distances[index.saturating_sub(NOISE_REACH)..(index + NOISE_REACH + 1).min(points.len())];
        let known: Vec<f64> = window.iter().copied().flatten().collect();
        (NOISE_FACTOR * descriptive::median(&known).unwrap_or(0.0)).max(LEAST_NOISE)
    };
    (0..points.len()).map(around).collect()
}

/// The bounded quadratic loss of a plateau over the points, at the best of the slopes that it may have.
fn loss(points: &[SearchPoint], noise: &[f64]) -> f64 {
    let at = |slope: f64| {
        let flat: Vec<f64> = points.iter().map(|point| point.log_latency - slope * point.octave).collect();
        let middle = descriptive::median(&flat).unwrap_or(0.0);
        flat.iter().zip(noise).map(|(value, noise)| ((value - middle) / noise).powi(2).min(OUTLIER)).sum::<f64>()
    };
    SLOPES.iter().map(|&slope| at(slope)).fold(f64::INFINITY, f64::min)
}

/// The chain of plateaus of least cost. The first point is always on one: a curve starts inside some level.
fn search(points: &[SearchPoint], noise: &[f64]) -> Vec<Span> {
    let count = points.len();
    // For each point: the least cost of a chain whose last plateau ends there, where that one starts, and the end
    // of the plateau before it.
    let mut best: Vec<(f64, usize, Option<usize>)> = Vec::with_capacity(count);
    for last in 0..count {
        let mut least = (loss(&points[..=last], &noise[..=last]), 0, None);
        // The cheapest chain that can stand before a plateau which starts at `first`, ramp included.
        let mut before = (f64::INFINITY, None);
        for first in 1..=last {
            let extended = before.0 + RAMP_POINT;
            before =
                if best[first - 1].0 <= extended { (best[first - 1].0, Some(first - 1)) } else { (extended, before.1) };
            let held = last + 1 - first;
            let width = points[last].octave - points[first].octave;
            let price = match last + 1 == count {
                true if held >= 2 => LAST_PLATEAU,
                false if held >= 3 && width >= LEAST_WIDTH_OCTAVES => PLATEAU * (1.0 + NARROW * (1.0 - width).max(0.0)),
                _ => continue,
            };
            let own = loss(&points[first..=last], &noise[first..=last]);
            if before.0 + price + own < least.0 {
                least = (before.0 + price + own, first, before.1);
            }
            for end in 0..first.min(if held >= 3 { SHORT_START_POINTS } else { 0 }) {
                let start = loss(&points[..=end], &noise[..=end]) + RAMP_POINT * (first - 1 - end) as f64;
                if start + SHORT_START + own < least.0 {
                    least = (start + SHORT_START + own, first, Some(end));
                }
            }
        }
        best.push(least);
    }
    let total = |last: usize| best[last].0 + RAMP_POINT * (count - 1 - last) as f64;
    let mut end = (0..count).min_by(|&a, &b| total(a).total_cmp(&total(b)));
    let mut spans = Vec::new();
    while let Some(last) = end {
        let (_, first, before) = best[last];
        spans.push(Span { first, last });
        end = before;
    }
    spans.reverse();
    spans
}

/// The level of a plateau: the median log latency of its points.
fn level(points: &[SearchPoint], span: Span) -> f64 {
    let values: Vec<f64> = points[span.first..=span.last].iter().map(|point| point.log_latency).collect();
    descriptive::median(&values).unwrap_or(0.0)
}

/// Tells whether the points of a plateau do not rise all the way: a slope of many points costs as little as a plateau of outliers.
fn is_flat(points: &[SearchPoint], noise: &[f64], span: Span) -> bool {
    let around = descriptive::median(&noise[span.first..=span.last]).unwrap_or(0.0);
    let least_rise = (LEAST_STEP.ln() / 2.0).max(STEP_OVER_NOISE * around);
    let points = &points[span.first..=span.last];
    let slope =
        |one: &SearchPoint, other: &SearchPoint| (other.log_latency - one.log_latency) / (other.octave - one.octave);
    let later = |index: usize| &points[index + 1..];
    let slopes: Vec<f64> = (0..points.len())
        .flat_map(|index| later(index).iter().map(move |other| slope(&points[index], other)))
        .collect();
    let width = points[points.len() - 1].octave - points[0].octave;
    descriptive::median(&slopes).is_none_or(|slope| slope <= STEEPEST || slope * width <= least_rise)
}

/// Returns the error of a level by its rounds: that of a median of its points.
fn error(points: &[SearchPoint], span: Span) -> f64 {
    let errors: Vec<f64> = points[span.first..=span.last].iter().map(|point| point.error).collect();
    MEDIAN_ERROR * descriptive::median(&errors).unwrap_or(0.0) / (errors.len() as f64).sqrt()
}

/// Joins neighbours that do not rise by [`LEAST_STEP`], out of the noise and out of what the rounds leave open, with what lies
/// between them.
fn join(points: &[SearchPoint], noise: &[f64], spans: Vec<Span>) -> Vec<Span> {
    let least_step = |below: Span, above: Span| {
        let around = descriptive::median(&noise[below.last..=above.first]).unwrap_or(0.0);
        let open = error(points, below).hypot(error(points, above));
        LEAST_STEP.ln().max(STEP_OVER_NOISE * around).max(STEP_OVER_ERROR * open)
    };
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for mut span in spans {
        while let Some(&below) = joined.last()
            && level(points, span) - level(points, below) < least_step(below, span)
        {
            joined.pop();
            span.first = below.first;
        }
        joined.push(span);
    }
    joined
}

/// The size at which the latency leaves the lower of two neighbouring levels; see [`plateaus`].
fn capacity(points: &[SearchPoint], lower: Span, upper: Span, lower_level: f64, upper_level: f64) -> f64 {
    let middle = 0.5 * (lower_level + upper_level);
    let points = &points[lower.first..=upper.last];
    let is_above = |point: &SearchPoint| point.log_latency > middle;
    // The split with the fewest points on the wrong side: an outlier moves it by nothing. The last point below the
    // middle and the first above it are then neighbours.
    let mut wrong = points.iter().filter(|point| !is_above(point)).count();
    let mut least = (usize::MAX, 1);
    for split in 1..points.len() {
        if is_above(&points[split - 1]) {
            wrong += 1;
        } else {
            wrong -= 1;
        }
        if wrong < least.0 {
            least = (wrong, split);
        }
    }
    let (inside, outside) = (points[least.1 - 1], points[least.1]);
    let missing = |point: SearchPoint| {
        (point.log_latency.exp() - lower_level.exp()) / (upper_level.exp() - lower_level.exp()).max(f64::MIN_POSITIVE)
    };
    let rise = outside.log_latency - inside.log_latency;
    let part = if rise > 0.0 { ((middle - inside.log_latency) / rise).clamp(0.0, 1.0) } else { 0.0 };
    let crossing = inside.octave + part * (outside.octave - inside.octave);
    if missing(inside) > FITS {
        return crossing.exp2();
    }
    let missing = missing(outside).max(FITS);
    if missing > 1.0 - FITS {
        return inside.size;
    }
    let random = (outside.octave + (missing / -(1.0 - missing).ln()).log2()).max(inside.octave).min(crossing);
    (missing * random + (1.0 - missing) * crossing).exp2()
}
