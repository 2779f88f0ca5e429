//! Axes of placements: where the two parties of a case run.

use std::collections::BTreeSet;

use hostmark_host::{CoreKind, Order, Placement};
use hostmark_model::{AxisKind, HostFacts, Profile};

use super::{Axis, FREE, Points};

/// The placements of two parties that a host has: on one CPU and on the nearest two, and from the standard profile on all.
/// Of a host without CPUs all that there are, as names to choose from.
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

    /// Whether `a-b`, two CPUs, is a value of it.
    pub(crate) fn takes_pairs(&self) -> bool {
        self.kind == AxisKind::Placement && matches!(self.points, Points::NamesOfHost(_))
    }

    /// An axis of placements of two parties: on one CPU and on the nearest two from the quick profile on, on all others from
    /// the standard one. One CPU is the default.
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
