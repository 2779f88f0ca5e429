//! What each estimator makes of a known cost, as rounds and samples become more.

use hostmark_stats::descriptive::{median, quantile};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::estimators::ALL;
use crate::recorded::Round;

/// The cost at the held clock, in any unit, and that clock.
const COST: f64 = 100.0;
const SUSTAINED_HZ: f64 = 3e9;
const RUNS: usize = 200;

/// What disturbs a simulated round.
struct Disturbance {
    name: &'static str,
    /// The factor of a round as a whole, and the core's frequency in it.
    round: fn(&mut Pcg64Mcg) -> (f64, f64),
    /// The factor of a sample, and whether it is marked.
    sample: fn(&mut Pcg64Mcg) -> (f64, bool),
}

const DISTURBANCES: &[Disturbance] = &[
    Disturbance { name: "nothing", round: |_| (1.0, SUSTAINED_HZ), sample: |_| (1.0, false) },
    Disturbance {
        name: "interruptions",
        round: |_| (1.0, SUSTAINED_HZ),
        sample: |random| (if chance(random, 0.2) { 1.0 + 0.5 * exponential(random) } else { 1.0 }, false),
    },
    Disturbance {
        name: "a shared core, marked nine times of ten",
        round: |_| (1.0, SUSTAINED_HZ),
        sample: |random| if chance(random, 0.4) { (1.6, chance(random, 0.9)) } else { (1.0, false) },
    },
    Disturbance {
        name: "a clock that steps with the package's load",
        round: |random| {
            let hz = if chance(random, 0.6) { SUSTAINED_HZ } else { 3.3e9 };
            (SUSTAINED_HZ / hz, hz)
        },
        sample: |_| (1.0, false),
    },
    Disturbance {
        name: "half of the rounds beside a neighbour, 1.4 times",
        round: |random| (if chance(random, 0.5) { 1.4 } else { 1.0 }, SUSTAINED_HZ),
        sample: |_| (1.0, false),
    },
];

/// The bias in percent of the cost, by rounds and samples a round: its median over simulated runs.
pub fn text() -> String {
    let out = &mut String::new();
    for disturbance in DISTURBANCES {
        *out += &(format!("{}: bias in %, with rounds x samples", disturbance.name) + "\n");
        *out += &(format!("  {:36}    5x40   5x160   5x640  10x160  20x160", "") + "\n");
        for (name, estimator) in ALL {
            let shown = [(5, 40), (5, 160), (5, 640), (10, 160), (20, 160)].map(|(rounds, samples)| {
                let mut random = Pcg64Mcg::seed_from_u64(27);
                let one = |_| {
                    let rounds: Vec<Round> = (0..rounds).map(|_| round(disturbance, samples, &mut random)).collect();
                    estimator(&rounds, false, SUSTAINED_HZ)
                };
                let all: Vec<f64> = (0..RUNS).filter_map(one).collect();
                format!("{:7.2}", median(&all).map_or(f64::NAN, |value| (value / COST - 1.0) * 100.0))
            });
            *out += &(format!("  {name:36} {}", shown.join(" ")) + "\n");
        }
    }
    std::mem::take(out)
}

fn round(disturbance: &Disturbance, samples: usize, random: &mut Pcg64Mcg) -> Round {
    let (factor, hz) = (disturbance.round)(random);
    let mut kept = Vec::new();
    let mut all = Vec::new();
    for _ in 0..samples {
        let (own, is_marked) = (disturbance.sample)(random);
        // The clock's own noise.
        let value = COST * factor * own * (1.0 + 0.002 * normal(random));
        all.push(value);
        if !is_marked {
            kept.push(value);
        }
    }
    let thin = |values: &[f64]| (0..15).filter_map(|step| quantile(values, f64::from(step) / 14.0)).collect();
    Round {
        median: median(&all).unwrap_or(0.0),
        core_hz: Some(hz),
        marked: 1.0 - kept.len() as f64 / all.len() as f64,
        values: thin(&kept),
        cycles: thin(&kept.iter().map(|value| value * hz / 1e9).collect::<Vec<f64>>()),
    }
}

fn chance(random: &mut Pcg64Mcg, share: f64) -> bool {
    random.random::<f64>() < share
}

fn exponential(random: &mut Pcg64Mcg) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    (2.0 * exponential(random)).sqrt() * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
