//! The axes of probes whose far end may be on another machine. No probe declares them; cases have them in runs with peers.

use hostmark_model::{AxisKind, HERE, PEER_AXIS, Params, Reason, ReasonCode};
use hostmark_say::say;

use super::{Axis, Entry, FREE, Points, Probe};

/// Whichever address answered first.
const ANY: &str = "any";
/// The placement of two ends that have a CPU each, of two machines.
pub(crate) const TWO_HOSTS: &str = "two_hosts";
/// The machine of the far end, by what the run calls it.
pub(crate) const TO: Axis =
    Axis::choice(PEER_AXIS, HERE, Points::Listed { quick: &[HERE], standard: &[], thorough: &[] });
/// The version of the Internet Protocol by which a peer is reached.
pub(crate) const IP: Axis =
    Axis::choice("ip", ANY, Points::Listed { quick: &[ANY], standard: &["4", "6"], thorough: &[] });

/// Why a case of a peer that the run does not have is skipped.
pub(crate) fn no_such_peer(peer: &str) -> Reason {
    ReasonCode::NoPeer.because(say!("no peer of this run is called {peer}; name it by --peer"))
}

impl Entry {
    /// The point with its far end at a peer; none of a point that one machine alone has, as two CPUs of one cache.
    pub(crate) fn towards(&self, params: &Params, peer: &str) -> Option<Params> {
        let value = |kind| self.probe.axis_of(kind).and_then(|axis| Some((axis.name, params.get(axis.name)?)));
        if value(AxisKind::Copies).is_some_and(|(_, copies)| copies != "1") {
            return None;
        }
        let placed = match (self.probe.axis_of(AxisKind::Placement), value(AxisKind::Placement)) {
            (Some(axis), Some((name, placement))) if [axis.default, TWO_HOSTS].contains(&placement) => {
                params.with(name, TWO_HOSTS)
            }
            (_, Some((_, FREE)) | None) => params.clone(),
            _ => return None,
        };
        Some(placed.with(TO.name, peer))
    }

    /// The peer at which the far end of a case is; none where it is here.
    pub(crate) fn peer<'a>(&self, params: &'a Params) -> Option<&'a str> {
        params.get(TO.name).filter(|&to| self.probe.service().is_some() && to != HERE)
    }
}

impl Axis {
    /// The same axis, whose points tell most where two hosts are apart: of those the quick profile has them too.
    pub const fn of_links(self) -> Axis {
        Axis { is_of_links: true, ..self }
    }

    /// The same axis of threads, of which so many may share a CPU: more than there are CPUs are spread over these in turn.
    pub const fn sharing_cpus(self, threads_per_cpu: usize) -> Axis {
        Axis { threads_per_cpu, ..self }
    }
}

impl Probe {
    /// How many of its threads may share a CPU.
    pub(crate) fn threads_per_cpu(&self) -> usize {
        self.axis_of(AxisKind::Threads).map_or(1, |axis| axis.threads_per_cpu)
    }
}
