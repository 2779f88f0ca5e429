//! A number that is made of several measured ones, with the interval that theirs give it.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Propagated {
    pub(crate) value: f64,
    /// None where one of the numbers that it is made of has none.
    pub(crate) interval: Option<(f64, f64)>,
}

/// Factor that tests whether a number without an interval matters.
const NUDGE: f64 = 1.01;

/// Result of `make` for `values` with the interval that theirs cause; none where `make` gives nothing.
///
/// Each value in turn is moved to both ends of its interval while the others stay. The steps that the result makes are those of independent
/// errors: they add up as the root of their squares, downwards and upwards apart. A value that stands in both parts of a quotient moves
/// both at once, so that it does not count twice.
pub(crate) fn joined(values: &[Propagated], make: impl Fn(&[f64]) -> Option<f64>) -> Option<Propagated> {
    let make = |values: &[f64]| make(values).filter(|made| made.is_finite());
    let mut at: Vec<f64> = values.iter().map(|one| one.value).collect();
    let value = make(&at)?;
    let (mut down, mut up) = (0.0, 0.0);
    let mut moved = |index: usize, to: f64| {
        let stood = std::mem::replace(&mut at[index], to);
        let made = make(&at);
        at[index] = stood;
        made.map(|made| made - value)
    };
    let mut widen = |index: usize, ends: Option<(f64, f64)>| -> Option<()> {
        let Some((low, high)) = ends else {
            return (moved(index, values[index].value * NUDGE)? == 0.0).then_some(());
        };
        let (one, other) = (moved(index, low)?, moved(index, high)?);
        down += one.min(other).min(0.0).powi(2);
        up += one.max(other).max(0.0).powi(2);
        Some(())
    };
    let has_interval = (0..values.len()).try_for_each(|index| widen(index, values[index].interval));
    Some(Propagated { value, interval: has_interval.map(|()| (value - f64::sqrt(down), value + f64::sqrt(up))) })
}

/// Propagates a quotient of positive numbers: steps are factors, so that neither end of a wide interval falls below zero.
pub(crate) fn propagated_ratio(values: &[Propagated], make: impl Fn(&[f64]) -> Option<f64>) -> Option<Propagated> {
    let logarithm = joined(values, |values| make(values).filter(|ratio| *ratio > 0.0).map(f64::ln))?;
    let interval = logarithm.interval.map(|(low, high)| (low.exp(), high.exp()));
    Some(Propagated { value: make(&values.iter().map(|one| one.value).collect::<Vec<f64>>())?, interval })
}

impl Propagated {
    /// The quotient of this and another number, where that is above zero.
    pub(crate) fn over(self, base: Propagated) -> Option<Propagated> {
        propagated_ratio(&[self, base], |values| (values[1] > 0.0).then(|| values[0] / values[1]))
    }

    /// The number as text, with its interval if `all` is shown.
    pub(crate) fn text(&self, all: bool, shown: impl Fn(f64) -> String) -> String {
        match self.interval.filter(|_| all) {
            Some((low, high)) => format!("{} ({} … {})", shown(self.value), shown(low), shown(high)),
            None => shown(self.value),
        }
    }

    /// A ratio as the fraction that one part lies over the other.
    pub(crate) fn beyond_one(self) -> Propagated {
        let interval = self.interval.map(|(low, high)| (low - 1.0, high - 1.0));
        Propagated { value: self.value - 1.0, interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(values: &[f64]) -> Option<f64> {
        (values[1] != 0.0).then(|| values[0] / values[1])
    }

    fn of<const N: usize>(values: [(f64, Option<(f64, f64)>); N]) -> [Propagated; N] {
        values.map(|(value, interval)| Propagated { value, interval })
    }

    #[test]
    fn independent_errors_add_up_as_the_root_of_their_squares() {
        let made = joined(&of([(3.0, Some((2.7, 3.3))), (4.0, Some((3.6, 4.4)))]), |v| Some(v[0] + v[1])).unwrap();
        let (low, high) = made.interval.unwrap();
        assert!((made.value - 7.0).abs() < 1e-12 && (low - 6.5).abs() < 1e-12 && (high - 7.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_less_than_nothing_however_wide_the_intervals_are() {
        let values = of([(200.0, Some((29.0, 480.0))), (16.0, Some((7.6, 250.0)))]);
        let fraction = propagated_ratio(&values, ratio).unwrap().beyond_one();
        let (low, high) = fraction.interval.unwrap();
        assert!((fraction.value - 11.5).abs() < 1e-12 && -1.0 < low && low < 0.0 && high > 11.5, "{low} {high}");
        // Steps of several percent are nearly the same either way.
        let values = of([(3.0, Some((2.91, 3.09))), (4.0, Some((3.88, 4.12)))]);
        let (one, other) = (joined(&values, ratio).unwrap(), propagated_ratio(&values, ratio).unwrap());
        assert!((one.interval.unwrap().0 - other.interval.unwrap().0).abs() < 0.001);
    }

    #[test]
    fn a_value_in_both_parts_of_a_quotient_does_not_count_twice() {
        let made = joined(&of([(3.0, Some((2.0, 4.0)))]), |v| Some(v[0] / v[0])).unwrap();
        assert_eq!(made, Propagated { value: 1.0, interval: Some((1.0, 1.0)) });
    }

    #[test]
    fn one_without_an_interval_leaves_none_where_it_matters_and_only_there() {
        let some = Some((0.9, 1.1));
        assert_eq!(joined(&of([(1.0, some), (1.0, None)]), ratio).unwrap().interval, None);
        assert!(joined(&of([(1.0, some), (1.0, some), (5.0, None)]), ratio).unwrap().interval.is_some());
        assert_eq!(joined(&of([(1.0, some), (0.0, some)]), ratio), None);
        // An end at which nothing can be made leaves the value without an interval.
        assert_eq!(joined(&of([(1.0, some), (1.0, Some((0.0, 2.0)))]), ratio).unwrap().interval, None);
    }
}
