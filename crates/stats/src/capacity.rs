//! Brackets the capacity of a level between points of its curve whose intervals prove on which side they lie.

use crate::change::LEAST_STEP;

/// Factor by which a reported capacity may lie outside the bracket before the two contradict each other. Randomly placed pages overflow
/// some sets of a cache from two thirds of its capacity on, and random replacement keeps part of the lines beyond it.
const TOLERANCE: f64 = 1.5;

/// A point of a curve with the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyPoint {
    /// Size of the working set, in the unit of the answer.
    pub size: f64,
    /// Lower end of the latency's interval.
    pub low: f64,
    /// Upper end of the latency's interval.
    pub high: f64,
}

/// Bounds that a curve proves for a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bracket {
    /// The largest size that is proven to fit.
    pub fits: Option<f64>,
    /// The smallest size above it that is proven not to fit.
    pub leaves: Option<f64>,
}

impl Bracket {
    /// The bracket of a level whose latency is `level`, where the next one's is `next` (`None`: the curve shows none).
    ///
    /// A size fits when its whole interval is within the step that tells two levels apart; it does not when its whole interval
    /// is beyond that, and beyond the geometric mean of the two levels. Points between prove nothing.
    pub fn of(points: &[LatencyPoint], level: f64, next: Option<f64>) -> Bracket {
        let most = level * LEAST_STEP;
        let middle = next.map_or(f64::INFINITY, |next| (level * next).sqrt());
        let fitting = |point: &&LatencyPoint| point.high <= most.min(middle);
        let fits = points.iter().filter(fitting).map(|point| point.size).reduce(f64::max);
        let leaving = |point: &&LatencyPoint| point.low > most.max(middle) && fits.is_none_or(|fits| point.size > fits);
        Bracket { fits, leaves: points.iter().filter(leaving).map(|point| point.size).reduce(f64::min) }
    }

    /// Tells whether a reported capacity is proven to be smaller than the real one.
    pub fn is_over(&self, reported: f64) -> bool {
        self.fits.is_some_and(|fits| fits > reported * TOLERANCE)
    }

    /// Tells whether a reported capacity is proven to be larger than the real one.
    pub fn is_under(&self, reported: f64) -> bool {
        self.leaves.is_some_and(|leaves| leaves * TOLERANCE < reported)
    }

    /// The capacity to reason with: the one told, unless the bracket contradicts it; else what is proven to fit.
    pub fn size(&self, reported: Option<f64>) -> Option<f64> {
        reported.filter(|&reported| !self.is_over(reported) && !self.is_under(reported)).or(self.fits).or(self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(all: &[(f64, f64, f64)]) -> Vec<LatencyPoint> {
        all.iter().map(|&(size, low, high)| LatencyPoint { size, low, high }).collect()
    }

    #[test]
    fn a_size_stands_between_the_last_point_that_fits_and_the_first_that_does_not() {
        let curve = points(&[(32.0, 1.6, 1.7), (48.0, 1.6, 1.7), (64.0, 5.2, 5.5), (96.0, 5.3, 5.4)]);
        let bracket = Bracket::of(&curve, 1.67, Some(5.34));
        assert_eq!(bracket, Bracket { fits: Some(48.0), leaves: Some(64.0) });
        assert!(!bracket.is_over(48.0) && !bracket.is_under(48.0));
        assert_eq!(bracket.size(Some(48.0)), Some(48.0));
    }

    #[test]
    fn a_disturbed_point_widens_the_bracket_and_moves_neither_end() {
        // 32 and 64 were disturbed in one round: their intervals reach over both levels.
        let curve =
            points(&[(16.0, 1.6, 1.7), (32.0, 0.6, 9.0), (48.0, 1.6, 1.7), (64.0, 1.2, 20.0), (96.0, 5.3, 5.4)]);
        assert_eq!(Bracket::of(&curve, 1.67, Some(5.34)), Bracket { fits: Some(48.0), leaves: Some(96.0) });
        // A point that was slow in all rounds is below one that is proven to fit.
        let curve = points(&[(16.0, 1.6, 1.7), (32.0, 4.0, 4.1), (48.0, 1.6, 1.7), (64.0, 5.3, 5.4)]);
        assert_eq!(Bracket::of(&curve, 1.67, Some(5.34)), Bracket { fits: Some(48.0), leaves: Some(64.0) });
    }

    #[test]
    fn what_is_reported_is_contradicted_only_far_outside_the_bracket() {
        let bracket = Bracket { fits: Some(1448.0), leaves: Some(2896.0) };
        for reported in [1024.0, 2048.0, 4096.0] {
            assert!(!bracket.is_over(reported) && !bracket.is_under(reported), "{reported}");
        }
        assert!(bracket.is_over(512.0) && bracket.is_under(8192.0));
        assert_eq!((bracket.size(Some(2048.0)), bracket.size(Some(8192.0))), (Some(2048.0), Some(1448.0)));
        let open = Bracket { fits: Some(1448.0), leaves: None };
        assert!(!open.is_under(1e9) && open.is_over(512.0));
        assert_eq!(Bracket::of(&[], 1.0, None), Bracket::default());
    }
}
