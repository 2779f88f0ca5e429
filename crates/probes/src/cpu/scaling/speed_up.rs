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
        round.disturbance_flags = vec![0];
    }
    // Where no round of the one has its like, their values alone tell.
    let together = || vec![ratio(alone.estimate.typical, many.estimate.typical)];
    measured.samples = measured.rounds.iter().map(|round| vec![round.median]).collect();
    measured.estimate = match measured.samples.is_empty() {
        true => Estimate { range: None, ..estimate(&[together()], 0.0, Better::Higher) },
        false => estimate(&measured.samples, 0.0, Better::Higher),
    };
    measured
}
