//! The size of a structure of the core, as rounds read it: whoever else uses the structure only takes from it.
//!
//! Rounds then see one of two sizes, all of it or the part that a busy thread of the same core leaves, and their median may be
//! neither. The value is the best that repeats, and a remark says what the other rounds saw.

use hostmark_model::{Better, Flag, FlagKind, Quiet};
use hostmark_say::say;
use hostmark_stats::{descriptive, interval};

/// Readings of one state lie within this part of each other.
const NEAR: f64 = 0.05;
/// So many readings, and this part of all, make a state: fewer may be a search that was disturbed.
const LEAST_READINGS: usize = 2;
const LEAST_SHARE: f64 = 0.2;

/// From this share of the looks at its core on, a case hardly saw all of a structure.
const MOSTLY_SHARED: f64 = 0.5;

/// The remark on a value of which all rounds say the same, where another thread ran on its core most of the time.
pub(crate) fn beside_another(shared: Option<f64>) -> Option<Flag> {
    let percent = shared.filter(|shared| *shared >= MOSTLY_SHARED)? * 100.0;
    let detail = say!("seen beside another thread, which ran on its core {percent:.0} % of the time");
    Some(Flag::new(FlagKind::PartlyUsed, detail))
}

/// The value from the samples of each round, and the remark where rounds saw different sizes; none without a best value.
pub(crate) fn of(rounds: &[Vec<f64>], better: Better) -> Option<(Quiet, Option<Flag>)> {
    let is_higher_better = match better {
        Better::Higher => true,
        Better::Lower => false,
        Better::Neither => return None,
    };
    let mut readings = rounds.concat();
    readings.sort_by(f64::total_cmp);
    if is_higher_better {
        readings.reverse();
    }
    let least = LEAST_READINGS.max((LEAST_SHARE * readings.len() as f64).ceil() as usize);
    let is_near = |one: f64, other: f64| (one - other).abs() <= NEAR * one.abs().max(other.abs());
    let is_better = |one: f64, other: f64| if is_higher_better { one > other } else { one < other };
    // Of readings that all differ none repeats: the one in the middle is as good as any.
    let state = readings.iter().enumerate().find_map(|(index, &best)| {
        let state: Vec<f64> = readings[index..].iter().copied().filter(|&reading| is_near(best, reading)).collect();
        (state.len() >= least).then_some(state)
    });
    let value = descriptive::median(state.as_ref().unwrap_or(&readings))?;
    let saw = |round: &&Vec<f64>| round.iter().any(|&reading| is_near(value, reading) || is_better(reading, value));
    let (with, without): (Vec<&Vec<f64>>, Vec<&Vec<f64>>) = rounds.iter().partition(saw);
    let of_round = |round: &&Vec<f64>| {
        let own: Vec<f64> = round.iter().copied().filter(|&reading| is_near(value, reading)).collect();
        descriptive::median(if own.is_empty() { round } else { &own })
    };
    let medians: Vec<f64> = with.iter().filter_map(of_round).collect();
    let own = interval::of_medians(&medians, 0.0).map(|interval| interval.floored(value, 0.0));
    let range = descriptive::min(&medians).zip(descriptive::max(&medians));
    let quiet = Quiet {
        value,
        low: own.map(|own| own.low),
        high: own.map(|own| own.high),
        range: range.map(|(low, high)| [low.min(value), high.max(value)]),
        at_hz: None,
    };
    let others =
        descriptive::median(&without.iter().filter_map(|round| descriptive::median(round)).collect::<Vec<f64>>());
    let flag = others.map(|others| {
        let (with, all, others) = (with.len(), rounds.len(), digits(others));
        Flag::new(FlagKind::PartlyUsed, say!("seen in {with} of {all:round}, and {others} in the others"))
    });
    Some((quiet, flag))
}

/// A number by three digits.
fn digits(number: f64) -> String {
    if number.abs() >= 100.0 || number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_two_states_give_the_better_and_name_the_other() {
        let rounds: Vec<Vec<f64>> = [426.0, 242.0, 428.0, 242.0, 240.0, 425.0].map(|size| vec![size; 2]).to_vec();
        let (quiet, flag) = of(&rounds, Better::Higher).unwrap();
        assert_eq!((quiet.value, quiet.range), (426.0, Some([425.0, 428.0])));
        // Three rounds have no interval.
        assert_eq!((quiet.low, quiet.high), (None, None));
        let expected = "seen in 3 of 6 rounds, and 242 in the others";
        assert_eq!(flag.map(|flag| flag.detail).as_deref(), Some(expected));
    }

    #[test]
    fn rounds_that_agree_have_an_interval_and_no_remark() {
        let (quiet, flag) = of(&[320.0, 317.0, 321.0, 318.0, 320.0].map(|size| vec![size]), Better::Higher).unwrap();
        assert_eq!((quiet.value, flag), (320.0, None));
        assert!(quiet.low.unwrap() <= 320.0 && quiet.high.unwrap() >= 320.0);
    }

    #[test]
    fn one_reading_beyond_all_others_is_no_state() {
        let rounds: Vec<Vec<f64>> = [320.0, 711.0, 319.0, 321.0, 320.0].map(|size| vec![size]).to_vec();
        assert_eq!(of(&rounds, Better::Higher).unwrap().0.value, 320.0);
        // Where none repeats it is the one in the middle.
        assert_eq!(of(&[vec![100.0], vec![200.0], vec![400.0]], Better::Higher).unwrap().0.value, 200.0);
        assert_eq!(of(&[vec![7.0]], Better::Higher).unwrap().0.value, 7.0);
        assert_eq!(of(&[vec![7.0]], Better::Neither), None);
    }
}
