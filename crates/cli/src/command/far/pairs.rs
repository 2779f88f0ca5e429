//! Runs of this program between two hosts, and the rounds in which all hosts meet.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use hostmark_engine::plan::profile_limits;
use hostmark_launch::supervise::Supervised;
use hostmark_launch::timing::timing;
use hostmark_model::{CaseRecord, HERE, Profile};

use crate::command::measure::machine::own_program;
use crate::command::measure::own_run::OwnRuns;
use crate::signals::StopRequest;

/// What is measured between two hosts, from the first of them.
const FILTERS: [&str; 2] =
    ["net.tcp@to=peer,cpus=two_hosts", "net.tcp_bandwidth@to=peer,cpus=two_hosts,congestion=default,direction=send"];
/// Runs between two hosts.
pub struct Pairs<'a> {
    runs: OwnRuns,
    seed: Option<u64>,
    stop: &'a StopRequest,
}

impl Pairs<'_> {
    /// With the seed of all random sequences, where there is one.
    pub fn new(seed: Option<u64>, stop: &StopRequest) -> Result<Pairs<'_>> {
        Ok(Pairs { runs: OwnRuns::of(&own_program()?)?, seed, stop })
    }

    /// Starts one that measures at a place, which is here where there is none, and has its peer at another.
    pub fn begin(
        &mut self,
        from: Option<&str>,
        to: Option<&str>,
        token_file: Option<&Path>,
    ) -> Result<Supervised, String> {
        let mut arguments: Vec<OsString> = FILTERS.iter().chain(&["--profile", "quick"]).map(OsString::from).collect();
        if let Some(seed) = self.seed {
            arguments.extend(["--seed".into(), seed.to_string().into()]);
        }
        arguments.extend(from.into_iter().flat_map(|from| ["--on".into(), from.into()]));
        arguments.extend(token_file.into_iter().flat_map(|file| ["--token-file".into(), file.into()]));
        arguments.extend(["--peer".into(), to.unwrap_or(HERE).into()]);
        self.runs.begin(&[], arguments, Some(self.stop.readable()))
    }

    /// Waits for the end of one, where it could be started: the cases that it printed; none when the person asked to stop, as what
    /// there is of such a pair is none.
    pub fn collect(&mut self, process: Result<Supervised, String>) -> Option<Result<Vec<CaseRecord>, String>> {
        let cases = process.and_then(|process| self.printed(process));
        let is_whole = cases.is_ok() || self.stop.signal().is_none();
        is_whole.then_some(cases)
    }

    fn printed(&mut self, process: Supervised) -> Result<Vec<CaseRecord>, String> {
        // Beyond its limit it may take as much again, and two logins with the copying.
        let limit = (profile_limits(Profile::Quick).limit + timing().login) * 2;
        self.runs.printed(process, limit).map(|run| run.cases)
    }
}

/// The rounds of a tournament of so many hosts, each followed by the same pairs the other way: each pair once either way, and no host
/// twice in a round (the circle method).
pub fn tournament(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    // With an odd number one has nobody to meet in each round.
    let seats = hosts + hosts % 2;
    let rounds = 0..seats.saturating_sub(1);
    let met = |round: usize, seat: usize| match seat {
        0 => 0,
        _ => 1 + (seat - 1 + round) % (seats - 1),
    };
    rounds
        .map(|round| {
            let pairs = (0..seats / 2).map(|seat| (met(round, seat), met(round, seats - 1 - seat)));
            let mut pairs: Vec<_> = pairs.map(|(one, other)| (one.min(other), one.max(other))).collect();
            pairs.retain(|&(_, other)| other < hosts);
            pairs
        })
        .flat_map(|pairs| [pairs.clone(), pairs.into_iter().map(|(one, other)| (other, one)).collect()])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_meets_once_either_way_and_no_host_is_twice_in_a_round() {
        for hosts in 0..12 {
            let rounds = tournament(hosts);
            let all: Vec<_> = rounds.iter().flatten().copied().collect();
            let others = |one| (0..hosts).filter(move |other| *other != one).map(move |other| (one, other));
            let pairs: BTreeSet<_> = (0..hosts).flat_map(others).collect();
            assert_eq!(all.len(), pairs.len(), "{hosts}");
            assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), pairs, "{hosts}");
            for round in &rounds {
                let present: Vec<usize> = round.iter().flat_map(|&(one, other)| [one, other]).collect();
                assert_eq!(present.iter().collect::<BTreeSet<_>>().len(), present.len(), "{hosts}: {round:?}");
            }
            // As few rounds as there can be.
            assert!(hosts < 2 || rounds.len() == 2 * (hosts - 1 + hosts % 2), "{hosts}");
        }
    }
}
