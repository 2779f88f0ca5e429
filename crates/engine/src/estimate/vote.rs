//! A discrete quantity: rounds vote, and the number that most of them name is the value.

use hostmark_model::{FlagKind, IntervalMethod, Measured, Reason, ReasonCode};
use hostmark_say::say;
use hostmark_stats::descriptive;

/// Makes the estimate of a measurement a vote of its rounds, of which there were `rounds`: those without a sample abstain, and
/// so do those whose samples name two numbers equally often. Without a majority of all rounds there is no value.
pub fn elect(measured: &mut Measured, rounds: usize) -> Result<(), Reason> {
    let votes: Vec<f64> = measured.samples.iter().filter_map(|samples| descriptive::mode(samples)).collect();
    for (round, samples) in measured.rounds.iter_mut().zip(&measured.samples) {
        round.median = descriptive::mode(samples).unwrap_or(round.median);
    }
    let agreeing = |value: f64| votes.iter().filter(|&&vote| vote == value).count();
    let elected = descriptive::mode(&votes).filter(|&value| 2 * agreeing(value) > rounds);
    let Some(value) = elected else { return Err(without(&votes, rounds)) };
    let estimate = &mut measured.estimate;
    (estimate.typical, estimate.best_round) = (value, value);
    (estimate.ci_low, estimate.ci_high, estimate.method) = (None, None, IntervalMethod::None);
    estimate.agreement = Some(agreeing(value) as f64 / rounds as f64);
    // Every vote counts: a disturbed one that names another number does so beside others of its round.
    estimate.n = measured.samples.iter().map(|samples| samples.len() as u64).sum();
    measured.noise.left_out = 0;
    measured.flags.retain(|flag| flag.kind != FlagKind::FewRounds);
    Ok(())
}

/// Why there is no value.
fn without(votes: &[f64], rounds: usize) -> Reason {
    let mut named: Vec<f64> = votes.to_vec();
    named.sort_by(f64::total_cmp);
    named.dedup();
    let each: Vec<String> = named
        .iter()
        .map(|value| format!("{value} by {}", votes.iter().filter(|vote| *vote == value).count()))
        .collect();
    let text = match each.is_empty() {
        true => say!("none of {rounds:round} agreed with itself on a value"),
        false => say!("no value was found by most of {rounds:round}: {each}", each = each.join(", ")),
    };
    ReasonCode::Inconclusive.because(text)
}

#[cfg(test)]
mod tests {
    use hostmark_model::{Better, Noise};

    use super::*;
    use crate::estimate::estimate;

    fn measured(samples: &[&[f64]]) -> Measured {
        let samples: Vec<Vec<f64>> = samples.iter().map(|samples| samples.to_vec()).collect();
        Measured {
            estimate: estimate(&samples, 0.0, Better::Neither),
            also: Default::default(),
            samples,
            histogram: None,
            rounds: Vec::new(),
            noise: Noise::default(),
            notes: Default::default(),
            flags: Vec::new(),
            bounds: None,
        }
    }

    #[test]
    fn most_rounds_name_the_value_and_no_mean_of_two_is_one() {
        // A median of the medians would be 96 here.
        let mut four = measured(&[&[64.0, 64.0], &[64.0, 128.0, 64.0], &[128.0, 128.0], &[64.0]]);
        assert_eq!(elect(&mut four, 4), Ok(()));
        assert_eq!((four.estimate.typical, four.estimate.agreement), (64.0, Some(0.75)));
        assert_eq!((four.estimate.ci_low, four.estimate.ci_high), (None, None));
    }

    #[test]
    fn without_a_majority_there_is_a_reason_and_no_value() {
        let mut disturbed = measured(&[&[256.0, 256.0, 512.0], &[128.0, 512.0, 512.0], &[64.0, 256.0, 128.0]]);
        let reason = "no value was found by most of 3 rounds: 256 by 1, 512 by 1";
        assert_eq!(elect(&mut disturbed, 3), Err(ReasonCode::Inconclusive.because(reason)));
        // Rounds that found nothing count as rounds.
        let mut two = measured(&[&[64.0], &[64.0]]);
        assert!(elect(&mut two, 4).is_err());
        let mut tied = measured(&[&[64.0, 128.0]]);
        assert_eq!(
            elect(&mut tied, 1),
            Err(ReasonCode::Inconclusive.because("none of 1 round agreed with itself on a value"))
        );
    }
}
