//! What the link to another machine lets through, whatever a receiver's buffers make of it.

use hostmark_model::{Measured, Message, NetworkPath, Params, Peer};
use hostmark_say::say;

use crate::probe::TO;

/// A rate, bytes a second, and what may pass beyond it at once, bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Most {
    rate: f64,
    burst: f64,
}

/// Of one way to a peer or back, with all that packets take; none where no fact tells it.
fn one_way(peer: &Peer, sends: bool) -> Option<Most> {
    let paths = [peer.path.as_ref(), peer.path_back.as_ref()];
    let sender = paths[usize::from(!sends)];
    let burst = sender.and_then(|path| path.queue.as_ref()?.burst_bytes).unwrap_or(0) as f64;
    let limit = sender.and_then(NetworkPath::limit_bits_per_s).map(|bits| (bits, burst));
    let links = paths.into_iter().flatten().filter_map(NetworkPath::link_bits_per_s).map(|bits| (bits, 0.0));
    let (bits, burst) = links.chain(limit).min_by_key(|(bits, _)| *bits)?;
    Some(Most { rate: bits as f64 / 8.0, burst })
}

/// Of the ways that a case's bytes go.
fn of(params: &Params, peers: &[Peer]) -> Option<Most> {
    let peer = peers.iter().find(|peer| Some(&*peer.name) == params.get(TO.name))?;
    match params.get("direction") {
        Some("send") => one_way(peer, true),
        Some("both") => {
            let (there, back) = (one_way(peer, true)?, one_way(peer, false)?);
            Some(Most { rate: there.rate + back.rate, burst: there.burst + back.burst })
        }
        _ => one_way(peer, false),
    }
}

/// What a case's rate cannot exceed, bytes a second.
pub(super) fn most(params: &Params, peers: &[Peer]) -> Option<f64> {
    of(params, peers).map(|most| most.rate)
}

/// Says of the first sample that is faster than its link that it is.
pub(super) fn broken(measured: &Measured, params: &Params, peers: &[Peer]) -> Option<Message> {
    let most = of(params, peers)?;
    let samples = measured.rounds.iter().zip(&measured.samples).flat_map(|(round, samples)| {
        let sample_ns = round.raw.as_ref().map_or(f64::INFINITY, |raw| raw.sample_ns.max(1.0));
        samples.iter().map(move |sample| (*sample, most.rate + most.burst * 1e9 / sample_ns))
    });
    let (sample, most) = samples.into_iter().find(|(sample, most)| sample > most)?;
    let [sample, most] = [sample, most].map(|rate| rate * 8.0 / 1e6);
    Some(say!("a sample of {sample:.1} Mbit/s, and the link lets {most:.1} Mbit/s through with all that packets take"))
}

#[cfg(test)]
mod tests {
    use hostmark_model::{Outcome, QueueingDiscipline, RoundRecord};

    use super::*;
    use crate::fixture::{host, params, record, round_at};

    const MBIT: u64 = 1_000_000;

    fn path(link_mbit: Option<u64>, limit_mbit: Option<u64>) -> Option<NetworkPath> {
        let bits_per_s = limit_mbit.map(|mbit| mbit * MBIT);
        let queue =
            QueueingDiscipline { kind: "tbf".into(), bits_per_s, burst_bytes: Some(125_000), ..Default::default() };
        let bits_per_s = link_mbit.map(|mbit| mbit * MBIT);
        Some(NetworkPath { bits_per_s, queue: Some(queue), ..NetworkPath::default() })
    }

    /// A peer to which go 1000 Mbit/s through a queue of 80, and from which come 500 through none.
    fn peer() -> Peer {
        let (path, path_back) = (path(Some(1000), Some(80)), path(Some(500), None));
        Peer { name: "db".into(), host: host(), place: None, address: None, path, path_back }
    }

    #[test]
    fn the_narrowest_place_of_the_way_that_bytes_go_is_what_they_are_held_against() {
        let mbit = |point: &[(&str, &str)], peer| most(&params(point), &[peer]).map(|rate| rate * 8.0 / MBIT as f64);
        let of = |direction| mbit(&[("to", "db"), ("direction", direction)], peer());
        assert_eq!(["send", "receive", "both"].map(of), [Some(80.0), Some(500.0), Some(580.0)]);
        assert_eq!(mbit(&[("direction", "send")], peer()), None, "loopback");
        assert_eq!(mbit(&[("to", "web"), ("direction", "send")], peer()), None);
        let half_known = Peer { path: None, path_back: path(None, Some(7)), ..peer() };
        assert_eq!(mbit(&[("to", "db"), ("direction", "both")], half_known), None);
    }

    #[test]
    fn one_sample_above_the_link_is_enough_and_a_burst_is_none() {
        // Samples of a second: 80 Mbit/s, and a megabit at once.
        let said = |samples: &[f64]| {
            let mut record = record("net.tcp_bandwidth", samples);
            let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
            measured.samples = vec![samples.to_vec()];
            let mut round = round_at(0.0);
            round.raw = Some(hostmark_model::Raw { sample_ns: 1e9, ..Default::default() });
            measured.rounds = vec![RoundRecord { ..round }];
            broken(measured, &params(&[("to", "db"), ("direction", "send")]), &[peer()])
        };
        assert_eq!(said(&[9.9e6, 10.1e6, 1e6]), None);
        let found = said(&[9.9e6, 20e6, 1e6]).unwrap();
        assert!(
            found.to_string().starts_with("a sample of 160.0 Mbit/s, and the link lets 81.0 Mbit/s through"),
            "{found}"
        );
    }
}
