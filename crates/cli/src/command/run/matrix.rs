//! Every pair of hosts of a run, each alone: a tournament in which pairs that share no host are measured at the same time.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::{Observer, Wall};
use hostmark_launch::supervise::{Ending, Errors, Heard, Membership, Supervised, Terms};
use hostmark_model::{CaseRecord, HERE, Inputs, PairRun, Profile, Scratch, load_run};

use crate::command::janitor::Janitor;
use crate::command::measure::own_program;
use crate::command::place::Place;
use crate::command::{inputs, lost};
use crate::signals::StopRequest;
use crate::wall::SinceStart;

/// What is measured between two hosts, from the first of them.
const FILTERS: [&str; 2] =
    ["net.tcp@to=peer,cpus=two_hosts", "net.tcp_bandwidth@to=peer,cpus=two_hosts,congestion=default,direction=send"];
/// Beyond its limit a pair may take this: two logins, the copying.
const SLACK: Duration = Duration::from_secs(120);
/// How long one that is asked to end may take.
const GRACE: Duration = Duration::from_secs(5);
/// Bytes that a run prints at most.
const MOST_BYTES: usize = 64 << 20;
/// How long a pair takes by experience.
const EXPECTED: Duration = Duration::from_secs(6);
/// Characters of a reason at most.
const LONGEST_REASON: usize = 500;

/// The hosts of a run, this one first.
pub struct Hosts<'a> {
    /// Where its peers are.
    pub places: &'a [Place],
    /// What they are called.
    pub names: &'a [String],
    /// What lets us in at servers among them.
    pub token_file: Option<&'a Path>,
}

impl Hosts<'_> {
    fn name(&self, host: usize) -> &str {
        host.checked_sub(1).map_or(HERE, |peer| &self.names[peer])
    }

    /// Measures all pairs, both ways; fewer where the person asked to stop.
    pub fn measure(&self, seed: u64, stop: &StopRequest, observer: &mut dyn Observer) -> Result<Vec<PairRun>> {
        let program = own_program()?;
        let mut janitor = Janitor::start(&program).map_err(lost)?;
        let data = match janitor.directory(&inputs::scratch(&Inputs::default())) {
            Scratch::Made { path, .. } => OsString::from_vec(path.0),
            Scratch::Missing(sentence) => return Err(lost(sentence)),
        };
        let mut measured = Vec::new();
        let rounds = tournament(self.places.len() + 1);
        let (all, begin) = (rounds.iter().map(|round| 2 * round.len()).sum::<usize>(), SinceStart::now());
        let mut turn = 0;
        for round in rounds {
            let back: Vec<(usize, usize)> = round.iter().map(|&(from, to)| (to, from)).collect();
            for pairs in [round, back] {
                let shown: Vec<String> =
                    pairs.iter().map(|&(from, to)| format!("{} → {}", self.name(from), self.name(to))).collect();
                let done = measured.len();
                // As long as those before; the first has nobody to learn from.
                let each = begin.elapsed().checked_div(done as u32).unwrap_or(EXPECTED);
                observer.round(&shown.join(", "), done, all, each * (all - done.min(all)) as u32);
                let begun: Vec<_> = pairs
                    .iter()
                    .map(|&pair| (pair, self.begin(&program, pair, seed, &data, stop, &mut janitor)))
                    .collect();
                for (pair, process) in begun {
                    let cases = process.map(|process| heard(process, &mut janitor));
                    let (from, to) = (self.name(pair.0).to_owned(), self.name(pair.1).to_owned());
                    match cases {
                        Ok(Ok(Some(cases))) => measured.push(PairRun { from, to, turn, cases, failed: None }),
                        // What there is of a pair that was stopped is none.
                        Ok(Ok(None)) => {}
                        Ok(Err(why)) | Err(why) => {
                            measured.push(PairRun { from, to, turn, cases: Vec::new(), failed: Some(why) });
                        }
                    }
                }
                turn += 1;
                if stop.signal().is_some() {
                    return Ok(measured);
                }
            }
        }
        Ok(measured)
    }

    /// Starts a run of this program for a pair.
    fn begin(
        &self,
        program: &PathBuf,
        (from, to): (usize, usize),
        seed: u64,
        data: &OsString,
        stop: &StopRequest,
        janitor: &mut Janitor,
    ) -> Result<Supervised, String> {
        let mut command = Command::new(program);
        command.arg("run").args(FILTERS).args(["--profile", "quick", "--format", "json"]);
        command.args(["--seed", &seed.to_string()]).env("XDG_DATA_HOME", data);
        if let Some(peer) = from.checked_sub(1) {
            command.args(["--on", self.places[peer].shown()]);
        }
        let is_served = |host: usize| host.checked_sub(1).is_some_and(|peer| self.places[peer].is_served());
        if let Some(file) = self.token_file.filter(|_| is_served(from) || is_served(to)) {
            command.arg("--token-file").arg(file);
        }
        command.args(["--peer", to.checked_sub(1).map_or(HERE, |peer| self.places[peer].shown())]);
        let (errors, ending) = (Errors::Heard, Ending::Asked(GRACE));
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop: Some(stop.readable()) };
        let process = Supervised::start(command, terms).map_err(|error| error.to_string())?;
        janitor.tell(&CleanupEntry::Group(process.id()));
        Ok(process)
    }
}

/// The cases that a pair's run printed; none when the person asked to stop.
fn heard(mut process: Supervised, janitor: &mut Janitor) -> Result<Option<Vec<CaseRecord>>, String> {
    let heard = process.hear_out(profile_limits(Profile::Quick).limit * 2 + SLACK, MOST_BYTES);
    let text = process.heard();
    process.ends_within(GRACE);
    let status = process.end();
    if status.is_ok() {
        janitor.tell(&CleanupEntry::Reaped(process.id()));
    }
    match heard {
        Ok(Heard::Stopped) => return Ok(None),
        Ok(Heard::Closed) => {}
        Ok(_) => return Err("it did not end in time".into()),
        Err(error) => return Err(error.to_string()),
    }
    match load_run(&String::from_utf8_lossy(&text)) {
        Ok(run) if run.interrupted.is_none() => Ok(Some(run.cases)),
        _ => {
            let why = process.last_word().unwrap_or_else(|| "it printed no run".into());
            Err(why.chars().filter(|character| !character.is_control()).take(LONGEST_REASON).collect())
        }
    }
}

/// The rounds of a tournament of so many hosts: each pair once, and no host twice in a round (the circle method).
fn tournament(hosts: usize) -> Vec<Vec<(usize, usize)>> {
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
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_meets_once_and_no_host_is_twice_in_a_round() {
        for hosts in 0..12 {
            let rounds = tournament(hosts);
            let all: Vec<_> = rounds.iter().flatten().copied().collect();
            let pairs: BTreeSet<_> =
                (0..hosts).flat_map(|one| (one + 1..hosts).map(move |other| (one, other))).collect();
            assert_eq!(all.len(), pairs.len(), "{hosts}");
            assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), pairs, "{hosts}");
            for round in &rounds {
                let present: Vec<usize> = round.iter().flat_map(|&(one, other)| [one, other]).collect();
                assert_eq!(present.iter().collect::<BTreeSet<_>>().len(), present.len(), "{hosts}: {round:?}");
            }
            // As few rounds as there can be.
            assert!(hosts < 2 || rounds.len() == hosts - 1 + hosts % 2, "{hosts}");
        }
    }
}
