//! Weeks that are made up, of which it is known what happened in them: for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Better, SeriesTurn, Unit};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Company, Subject, Turn};
use crate::fleet::made_up::heavy;
use crate::words;

/// A turn every ten minutes.
pub(super) const EVERY_S: u64 = 600;
pub(super) const TURNS_OF_HOUR: usize = 6;
const TURNS: usize = 7 * 24 * TURNS_OF_HOUR;
/// Groups of subjects, and how much their values scatter from turn to turn.
const GROUPS: [(&str, f64); 5] =
    [("cpu", 0.004), ("memory", 0.02), ("syscall", 0.015), ("disk", 0.06), ("twofold", 0.02)];
const OF_GROUP: usize = 4;

/// A week of a machine; what happens is counted in turns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MadeUpWeek {
    pub(super) seed: u64,
    /// CPU credits for so many turns; the CPU is 2.5 times slower then.
    pub(super) credits: Option<usize>,
    /// A neighbour that takes memory bandwidth and cores from 2 to 4 in the night (UTC).
    pub(super) neighbour: bool,
    /// A kernel with slower system calls from this turn on.
    pub(super) kernel: Option<usize>,
}

impl MadeUpWeek {
    /// Turns of the week: values with Student's tails, a day's course of one percent, common drift, outliers, and two levels of some.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let start = Timestamp::parse("2026-11-02T00:00:00Z").unwrap();
        let mut shared = 0.0;
        let turn = |index: usize| {
            shared = 0.7 * shared + 0.003 * heavy(&mut random, 0.0);
            let hour = index % (24 * TURNS_OF_HOUR);
            let is_night = self.neighbour && (2 * TURNS_OF_HOUR..4 * TURNS_OF_HOUR).contains(&hour);
            let is_spent = self.credits.is_some_and(|credits| index >= credits);
            let is_new = self.kernel.is_some_and(|first| index >= first);
            let day = 0.01 * (std::f64::consts::TAU * hour as f64 / (24 * TURNS_OF_HOUR) as f64).sin();
            let mut values = Vec::new();
            for (group, scatter) in GROUPS {
                for subject in 0..OF_GROUP {
                    let noise = scatter * heavy(&mut random, 6.0) + shared + day;
                    let outlier = if random.random::<f64>() < 0.01 { -0.3 } else { 0.0 };
                    let slower = match group {
                        "cpu" if is_spent => 2.5_f64.ln(),
                        "memory" if is_night => 1.25_f64.ln(),
                        "syscall" if is_new => 1.2_f64.ln(),
                        // A value that has two levels by itself, of which each turn has one.
                        "twofold" if random.random::<f64>() < 0.4 => 0.5,
                        _ => 0.0,
                    };
                    let key = format!("{group}.s{subject}");
                    let (name, unit, better) = (words(&key), Unit::Nanoseconds, Better::Lower);
                    let value = 100.0 * (slower - noise - outlier).exp();
                    values.push((Subject { key, name, unit, better }, value));
                }
            }
            let mut share = |usual: f64, more: f64| Some((usual + more) * (1.0 + 0.3 * random.random::<f64>()));
            let company = Company {
                steal: share(0.002, if is_spent { 0.5 } else { 0.0 }),
                others: share(0.03, 0.0),
                core_shared: share(0.02, if is_night { 0.4 } else { 0.0 }),
                last_cache_ns: share(20.0, if is_night { 15.0 } else { 0.0 }),
                throttled: Some(0.0),
                waited: Some(0.02),
                celsius: None,
            };
            let release = if is_new { "6.12.9" } else { "6.12.8" };
            let fact = (words("kernel release"), release.to_owned());
            Turn {
                host: "made-up".to_owned(),
                name: format!("turn-{index}"),
                started: start.after(Duration::from_secs(EVERY_S * index as u64)),
                series: Some(SeriesTurn { name: "week".to_owned(), every_s: EVERY_S as f64, until: None }),
                values,
                company,
                facts: BTreeMap::from([("host.kernel.release".to_owned(), fact)]),
            }
        };
        (0..TURNS).map(turn).collect()
    }
}
