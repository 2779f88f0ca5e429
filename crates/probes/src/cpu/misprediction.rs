//! Probe cpu.misprediction: what a branch costs that the core guessed wrongly.

use hostmark_engine::prelude::*;

/// Share of random branches that any predictor guesses wrongly.
const WRONG: f64 = 0.5;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, RANDOM, PREDICTED],
    measure: Measure::Derive { from: &[Source::whole("cpu.branch")], derive },
    ..crate::texts::cpu::MISPREDICTION
};

const RANDOM: Quantity =
    Quantity::given("random", Unit::Nanoseconds, Better::Lower, term!("a branch of random direction"));
const PREDICTED: Quantity = Quantity::given("predicted", Unit::Nanoseconds, Better::Lower, term!("a predicted branch"));

fn derive(cases: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let measured = |pattern: &str| {
        let case = cases.iter().find(|case| case.params.get("pattern") == Some(pattern));
        case.and_then(CaseRecord::measured)
    };
    let (Some(random), Some(predicted)) = (measured(super::branch::UNKNOWABLE), measured(super::branch::ALTERNATING))
    else {
        return Vec::new();
    };
    let both = [random, predicted];
    let lost = |values: &[f64]| (values[0] - values[1]) / WRONG;
    let quiet = super::quiet_of(both.map(|source| (source, false)), lost);
    let values = (super::by_round(&both, lost), quiet);
    let mut record = super::derived("cpu.misprediction", Params::default(), &both, values, PROBE.better);
    if let Outcome::Measured(measured) = &mut record.outcome {
        let mut also = |name: &str, estimate: Estimate| measured.also.insert(name.to_owned(), Also { estimate });
        also(RANDOM.name, random.estimate.clone());
        also(PREDICTED.name, predicted.estimate.clone());
        // Each part in cycles of its own round's clock; what is quiet, in those of the clock that it is told at.
        if let Some(cycles) = super::cycles_by_round(&both, lost) {
            let at_the_clock = quiet.and_then(|quiet| {
                let ghz = quiet.at_hz? / 1e9;
                Some(quiet.map(|number| number * ghz))
            });
            also(Quantity::CORE_CYCLES.name, estimate(&cycles, 0.0, Better::Lower).led_by(at_the_clock));
        }
    }
    vec![record]
}

#[cfg(test)]
#[path = "misprediction_tests.rs"]
mod tests;
