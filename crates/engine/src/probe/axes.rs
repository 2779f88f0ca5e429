//! Axes that probes share: places of the parties, binding of the thread, memory that a round fills, and far ends.

use std::collections::BTreeSet;

use hostmark_host::{CoreKind, Order, Placement};
use hostmark_model::{AxisKind, HERE, HostFacts, PEER_AXIS, Params, Profile, Reason, ReasonCode};
use hostmark_say::say;

use super::{Axis, Entry, FREE, Points, Probe};
use crate::case::surroundings::{BIND, CPU, LAST, NONE};

/// Returns the placements of two parties that a host has: on one CPU and on the nearest two, and from the standard profile
/// on all. A host without CPUs gets all that there are, as names to choose from.
fn near(host: &HostFacts, profile: Profile) -> Vec<String> {
    let has = |placement: &Placement| host.cpus.is_empty() || hostmark_host::pair(host, *placement).is_ok();
    let [same, others @ ..] = Placement::ALL;
    let most = if profile >= Profile::Standard { others.len() } else { 1 };
    let mut points = vec![same.name().to_owned()];
    points.extend(
        others.iter().filter(|placement| has(placement)).take(most).map(|placement| placement.name().to_owned()),
    );
    if profile >= Profile::Standard {
        points.push(FREE.to_owned());
    }
    points
}

/// The orders of threads that differ on this host; all orders for a host whose CPUs are unknown.
pub(super) fn orders(host: &HostFacts, profile: Profile) -> Vec<String> {
    let is_another = |order: &Order| {
        let mut sizes = hostmark_host::domains(host);
        sizes.push(2);
        *order == Order::Compact
            || host.cpus.is_empty()
            || sizes.into_iter().any(|threads| {
                let set = |order| hostmark_host::in_order(host, threads, order).into_iter().collect::<BTreeSet<_>>();
                set(*order) != set(Order::Compact)
            })
    };
    let orders = Order::ALL.iter().filter(|order| **order == Order::Compact || profile >= Profile::Standard);
    orders.filter(|order| is_another(order)).map(|order| order.name().to_owned()).collect()
}

/// The kinds of core that a host has; of a host without CPUs all that there are, as names to choose from.
fn kinds(host: &HostFacts, _: Profile) -> Vec<String> {
    match host.cpus.is_empty() {
        true => CoreKind::ALL.map(|kind| kind.name().to_owned()).to_vec(),
        false => hostmark_host::core_kinds(host).iter().map(|(kind, _)| kind.name().to_owned()).collect(),
    }
}

impl Axis {
    /// The axis of the kinds of core: the fastest is the default.
    pub(super) const fn kinds() -> Axis {
        Axis::choice("core", CoreKind::Performance.name(), Points::NamesOfHost(kinds))
    }

    /// Tells whether `a-b`, two CPUs, is a value of it.
    pub(crate) fn takes_pairs(&self) -> bool {
        self.kind == AxisKind::Placement && matches!(self.points, Points::NamesOfHost(_))
    }

    /// An axis of placements of two parties: one CPU (the default) and the nearest two from quick on, the others from standard on.
    pub const fn near(name: &'static str) -> Axis {
        let points = Points::NamesOfHost(near);
        Axis::new(name, AxisKind::Placement, Placement::SameCpu.name(), points)
    }

    /// The same, with the choice of the scheduler from the quick profile on.
    pub const fn near_and_free(name: &'static str) -> Axis {
        let points = Points::NamesOfHost(|host, profile| {
            let mut points = near(host, profile);
            if !points.iter().any(|point| point == FREE) {
                points.push(FREE.to_owned());
            }
            points
        });
        Axis::new(name, AxisKind::Placement, Placement::SameCpu.name(), points)
    }

    /// An axis of the placements of two parties that `points` names; `a-b` is the pair of these two CPUs.
    pub const fn placements(name: &'static str, default: &'static str, points: Points) -> Axis {
        Axis::new(name, AxisKind::Placement, default, points)
    }
}

impl Axis {
    /// Axis that binds a case's thread: nowhere (the default), to CPU 0, which often serves interrupts, or the last; by hand to any.
    pub const fn bind() -> Axis {
        Axis::choice(BIND, NONE, Points::quick(&[NONE, "0", LAST]))
    }

    /// An axis of placements for a probe that is bound to the plan's CPU by default; the others come from the standard profile on.
    pub const fn bind_elsewhere() -> Axis {
        Axis::choice(BIND, CPU, Points::quick(&[CPU]).standard(&[NONE, "0", LAST]))
    }

    /// Tells whether the id of any CPU is a value of it.
    pub(crate) fn takes_a_cpu(&self) -> bool {
        self.name == BIND
    }
}

/// Bytes that a round fills for each unit of an axis' number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Values that fill nothing that takes time.
    Nothing,
    /// Bytes in all, for all threads together.
    InAll(u64),
    EachThread(u64),
    /// A chain of as many bytes, by one thread.
    Chain,
}

impl Axis {
    /// The same axis with what a round fills for it.
    pub const fn fills(self, fill: Fill) -> Axis {
        Axis { fill, ..self }
    }
}

/// Name of the peer's address that answered first.
const ANY: &str = "any";
/// The placement of two ends that have a CPU each, of two machines.
pub(crate) const TWO_HOSTS: &str = "two_hosts";
/// The machine of the far end, by what the run calls it.
pub(crate) const TO: Axis = Axis::choice(PEER_AXIS, HERE, Points::quick(&[HERE]));
/// The version of the Internet Protocol by which a peer is reached.
pub(crate) const IP: Axis = Axis::choice("ip", ANY, Points::quick(&[ANY]).standard(&["4", "6"]));

/// Reason to skip a case of a peer that the run does not have.
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
    /// Returns how many of its threads may share a CPU.
    pub(crate) fn threads_per_cpu(&self) -> usize {
        self.axis_of(AxisKind::Threads).map_or(1, |axis| axis.threads_per_cpu)
    }
}
