//! Runs of this program between two hosts, and the rounds in which all hosts meet.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::plan::profile_limits;
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{CaseRecord, HERE, Profile, load_run};

use crate::command::measure::machine::{janitor_of_runs, own_program};
use crate::command::processes::janitor::Janitor;
use crate::signals::StopRequest;

/// What is measured between two hosts, from the first of them.
const FILTERS: [&str; 2] =
    ["net.tcp@to=peer,cpus=two_hosts", "net.tcp_bandwidth@to=peer,cpus=two_hosts,congestion=default,direction=send"];
/// Bytes that a run prints at most.
const MOST_BYTES: usize = 64 << 20;
/// Characters of a reason at most.
const LONGEST_REASON: usize = 500;

/// Runs between two hosts.
pub struct Pairs<'a> {
    program: PathBuf,
    /// Where those runs are kept, which nobody asked for: it goes with the janitor.
    data: OsString,
    janitor: Janitor,
    seed: Option<u64>,
    stop: &'a StopRequest,
}

impl Pairs<'_> {
    /// With the seed of all random sequences, where there is one.
    pub fn new(seed: Option<u64>, stop: &StopRequest) -> Result<Pairs<'_>> {
        let program = own_program()?;
        let (janitor, data) = janitor_of_runs()?;
        Ok(Pairs { program, data, janitor, seed, stop })
    }

    /// Starts one that measures at a place, which is here where there is none, and has its peer at another.
    pub fn begin(
        &mut self,
        from: Option<&str>,
        to: Option<&str>,
        token_file: Option<&Path>,
    ) -> Result<Supervised, String> {
        let mut command = command(&self.program);
        command.arg("run").args(FILTERS).args(["--profile", "quick", "--format", "json"]);
        command.args(self.seed.into_iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
        command.env("XDG_DATA_HOME", &self.data);
        command.args(from.into_iter().flat_map(|from| ["--on", from]));
        if let Some(file) = token_file {
            command.arg("--token-file").arg(file);
        }
        command.args(["--peer", to.unwrap_or(HERE)]);
        let (errors, ending) = (Errors::Captured, Ending::Asked(timing().end));
        let terms =
            Terms { group: Membership::Own, has_input: false, errors, ending, stop: Some(self.stop.readable()) };
        let process = Supervised::start(command, terms).map_err(|error| error.to_string())?;
        self.janitor.record(&CleanupEntry::Group(process.id()));
        Ok(process)
    }

    /// Waits for the end of one, where it could be started: the cases that it printed; none when the person asked to stop, as what
    /// there is of such a pair is none.
    pub fn collect(&mut self, process: Result<Supervised, String>) -> Option<Result<Vec<CaseRecord>, String>> {
        let cases = process.and_then(|process| self.printed(process));
        let is_whole = cases.is_ok() || self.stop.signal().is_none();
        is_whole.then_some(cases)
    }

    fn printed(&mut self, mut process: Supervised) -> Result<Vec<CaseRecord>, String> {
        // Beyond its limit it may take as much again, and two logins with the copying.
        let limit = (profile_limits(Profile::Quick).limit + timing().login) * 2;
        let outcome = process.drain(limit, MOST_BYTES);
        let text = process.take_buffered();
        process.ends_within(timing().end);
        let status = process.end();
        if status.is_ok() {
            self.janitor.record(&CleanupEntry::Reaped(process.id()));
        }
        match outcome {
            Ok(ReadOutcome::Closed) => {}
            Ok(_) => return Err("it did not end in time".into()),
            Err(error) => return Err(error.to_string()),
        }
        match load_run(&String::from_utf8_lossy(&text)) {
            Ok(run) if run.interrupted.is_none() => Ok(run.cases),
            _ => {
                let why = process.last_word().unwrap_or_else(|| "it printed no run".into());
                Err(why.chars().filter(|character| !character.is_control()).take(LONGEST_REASON).collect())
            }
        }
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
