//! What the network carries between the hosts of a fleet: a tournament in which every two meet, both ways.

use anyhow::Result;
use hostmark_engine::Wall;
use hostmark_launch::supervise::Supervised;
use hostmark_model::{CaseRecord, Estimate, FleetPair};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::directory::Directory;
use super::measuring::quoted;
use super::places::{HostAccess, Places};
use crate::command::far::pairs::{Pairs, tournament};
use crate::language::said;
use crate::output;
use crate::signals::StopRequest;
use crate::wall::SinceStart;

/// The time between two looks at a way that is being made.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Measures all pairs of these hosts that are not measured yet, so many hosts at once; fewer where the person asked to stop. Each host
/// is given by its number among the places and its row.
pub fn measure(
    directory: &mut Directory,
    hosts: &[(usize, usize)],
    places: &mut dyn Places,
    at_once: usize,
    stop: &StopRequest,
) -> Result<()> {
    let name = |directory: &Directory, host: usize| directory.hosts()[hosts[host].1].host.clone();
    let mut runs = Pairs::new(directory.request().seed, stop)?;
    let rounds = tournament(hosts.len());
    let all = rounds.iter().map(Vec::len).sum::<usize>();
    let mut over = 0;
    for (turn, pairs) in (0..).zip(rounds) {
        for together in pairs.chunks((at_once / 2).max(1)) {
            let mut begun = Vec::new();
            for &(from, to) in together {
                let (from_name, to_name) = (name(directory, from), name(directory, to));
                if directory.has_pair(&from_name, &to_name) {
                    over += 1;
                    continue;
                }
                let (since, ends) = (SinceStart::now(), [from, to].map(|host| hosts[host].0));
                begun.push((from_name, to_name, since, begin(&mut runs, ends, places, stop)));
            }
            for (from, to, since, process) in begun {
                let Some(outcome) = runs.collect(process) else { continue };
                over += 1;
                let why = outcome.as_ref().err().map(|why| said!(" failed: {why}")).unwrap_or_default();
                let seconds = (since.elapsed().as_secs_f64() * 10.0).round() / 10.0;
                output::remark(&said!("pair {over} of {all}: {from} → {to}{why} after {seconds} s"));
                directory.add_pair(pair_record(from, to, turn, outcome));
            }
            directory.save()?;
            if stop.signal().is_some() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Starts the run between two hosts once there are ways to both.
fn begin(
    runs: &mut Pairs,
    ends: [usize; 2],
    places: &mut dyn Places,
    stop: &StopRequest,
) -> Result<Supervised, String> {
    let [from, to] = ends.map(|host| open(places, host, stop));
    runs.begin(Some(&from?), Some(&to?), None)
}

/// The command that leads to a host, as one word for `--on`.
fn open(places: &mut dyn Places, host: usize, stop: &StopRequest) -> Result<String, String> {
    let readable = stop.readable();
    loop {
        if stop.signal().is_some() {
            return Err(said!("stopped by a signal"));
        }
        match places.way(host) {
            HostAccess::Open(words) => return quoted(&words).map_err(|error| crate::command::sentence(&error)),
            HostAccess::Closed(why) => return Err(why),
            HostAccess::NotYet => {
                let _ = poll(&mut [PollFd::new(&*readable, PollFlags::IN)], Some(&LOOK));
            }
        }
    }
}

fn pair_record(from: String, to: String, turn: u32, outcome: Result<Vec<CaseRecord>, String>) -> FleetPair {
    let (cases, failed) = match outcome {
        Ok(cases) => (cases, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let of = |probe: &str| -> Vec<Estimate> {
        let cases = cases.iter().filter(|case| case.probe == probe);
        cases.filter_map(|case| Some(case.measured()?.estimate.clone())).collect()
    };
    let bandwidth = of("net.tcp_bandwidth").into_iter().max_by(|one, other| one.value().total_cmp(&other.value()));
    let round_trip = of("net.tcp").into_iter().next();
    let is_empty = bandwidth.is_none() && round_trip.is_none();
    let failed = failed.or_else(|| is_empty.then(|| said!("its run has no value")));
    FleetPair { from, to, turn, bandwidth, round_trip, failed }
}
