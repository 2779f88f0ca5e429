//! Equal number of runs and passes on every side: the best of many is better than the best of few, on one and the same machine.

use hostmark_model::imported::stream::PASSES;
use hostmark_model::{CaseRecord, Message};
use hostmark_say::say;

use super::Environment;
use crate::stream_times::passes;

/// Number of runs of each side that count, and of passes of each run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    pub(super) runs: usize,
    /// None where a run does not tell its passes.
    pub(super) passes: Option<usize>,
}

impl Numbers {
    /// Numbers that every side has of a case, by each one's measured cases; sides without any do not count.
    pub(super) fn of(sides: &[&[&CaseRecord]]) -> Numbers {
        let sides = || sides.iter().filter(|side| !side.is_empty());
        let runs = sides().map(|side| side.len()).min().unwrap_or(0);
        let all: Option<Vec<usize>> =
            sides().flat_map(|side| side.iter()).map(|case| passes(case.measured()?)).collect();
        Numbers { runs, passes: all.and_then(|all| all.into_iter().min()) }
    }

    /// Remarks on runs and passes that do not count.
    pub(super) fn remarks(self, environments: &[Environment], sides: &[&[&CaseRecord]]) -> Vec<Message> {
        let surplus = environments.iter().zip(sides).filter(|(_, side)| side.len() > self.runs).map(|(one, side)| {
            let (name, runs, all) = (one.name, self.runs, side.len());
            match runs {
                1 => say!(
                    "{name}: the first of {all} runs counts, as many as every side has: the best of more is higher"
                ),
                _ => say!(
                    "{name}: the first {runs} of {all} runs counts, as many as every side has: the best of more is higher"
                ),
            }
        });
        let measured = || sides.iter().flat_map(|side| side.iter()).filter_map(|case| case.measured());
        let most = measured().filter_map(passes).max();
        let passes = self.passes.zip(most).filter(|(count, most)| count < most).map(|(count, most)| {
            say!("the first {count} passes of each run count, of up to {most}: as many as every run has")
        });
        surplus.chain(passes).chain(unequal(measured().filter_map(|one| one.notes.get(PASSES)))).collect()
    }
}

/// Outputs of STREAM have the best pass alone: of other numbers of passes nothing can be left out.
fn unequal<'a>(noted: impl Iterator<Item = &'a String>) -> Option<Message> {
    let mut all: Vec<&str> = noted.map(String::as_str).filter(|passes| !passes.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    (all.len() > 1).then(|| {
        let passes = Message::joined(all, say!(" and "));
        say!("STREAM made {passes} passes: the best of more is higher")
    })
}
