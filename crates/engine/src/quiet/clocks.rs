//! The clocks that a run's cores held: what core-bound values are told at.

use hostmark_model::HostFacts;
use hostmark_stats::descriptive;

use crate::record::{CaseRounds, Round, Sampled};

/// So much of the time a core may have had less.
const LESS: f64 = 0.1;

/// Of each kind of core, the clock that it held nine tenths of the time, hertz.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Clocks(Vec<(Option<usize>, f64)>);

impl Clocks {
    /// Those of all rounds of a run.
    pub(crate) fn of_run(host: &HostFacts, cases: &[CaseRounds]) -> Clocks {
        let mut of_kind: Vec<(Option<usize>, Vec<f64>)> = Vec::new();
        for round in cases.iter().flat_map(|case| &case.rounds) {
            let (Some(&cpu), Some(sampled)) = (round.cpus.first(), &round.sampled) else { continue };
            let seen = seen(sampled);
            let kind = host.kind_of_core(cpu);
            match of_kind.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, all)) => all.extend(seen),
                None => of_kind.push((kind, seen)),
            }
        }
        Clocks(of_kind.into_iter().filter_map(|(kind, seen)| Some((kind, held(&seen)?))).collect())
    }

    /// That of the core of `cpu`; where the run knows none, that of these rounds.
    pub(super) fn of(&self, host: &HostFacts, cpu: Option<usize>, rounds: &[(&Round, &Sampled)]) -> Option<f64> {
        let kind = host.kind_of_core(cpu?);
        let known = self.0.iter().find(|(of, _)| *of == kind).map(|(_, hz)| *hz);
        known.or_else(|| held(&rounds.iter().flat_map(|(_, sampled)| seen(sampled)).collect::<Vec<_>>()))
    }
}

/// The frequencies beside a round's samples, as far as they are known.
fn seen(sampled: &Sampled) -> Vec<f64> {
    sampled.core_hz().into_iter().filter(|hz| *hz > 0.0).collect()
}

fn held(seen: &[f64]) -> Option<f64> {
    descriptive::quantile(seen, LESS)
}
