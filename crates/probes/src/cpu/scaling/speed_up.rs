//! What several copies come to together, as a multiple of one alone.

use hostmark_engine::prelude::*;

/// What `copies` come to together as a multiple of one alone.
pub fn speed_up(alone: &Measured, many: &Measured, copies: u64, is_rate: bool) -> Measured {
    let ratio = |one: f64, each: f64| copies as f64 * if is_rate { each / one } else { one / each };
    // What disturbed the copies stands with them: this has one value a round, not their samples.
    let noise = Noise::default();
    let mut measured = Measured { also: Default::default(), histogram: None, noise, bounds: None, ..many.clone() };
    // Rounds of one pass lie near each other in time.
    measured.rounds.retain(|round| alone.rounds.iter().any(|other| other.round == round.round));
    for round in &mut measured.rounds {
        let one = alone.rounds.iter().find(|other| other.round == round.round).map_or(f64::NAN, |other| other.median);
        round.median = ratio(one, round.median);
        round.taints = vec![0];
    }
    measured.samples = measured.rounds.iter().map(|round| vec![round.median]).collect();
    let (one, each) = (&alone.estimate, &many.estimate);
    let median = ratio(one.median, each.median);
    let values = if measured.samples.is_empty() { &vec![vec![median]] } else { &measured.samples };
    let interval = interval(one, each, is_rate).map(|(low, high)| (median * low, median * high));
    measured.estimate = Estimate {
        median,
        ci_low: interval.map(|interval| interval.0),
        ci_high: interval.map(|interval| interval.1),
        method: each.method,
        ..estimate(values, 0.0, Better::Higher)
    };
    measured
}

/// The ends of the interval as multiples of the quotient: of two independent values the distances on the logarithms join
/// as squares, and the one's low end meets the other's high end.
fn interval(one: &Estimate, each: &Estimate, is_rate: bool) -> Option<(f64, f64)> {
    let (above, below) = if is_rate { (each, one) } else { (one, each) };
    let low = |of: &Estimate| Some((of.ci_low? / of.median).ln());
    let high = |of: &Estimate| Some((of.ci_high? / of.median).ln());
    Some(((-low(above)?.hypot(high(below)?)).exp(), high(above)?.hypot(low(below)?).exp()))
}
