//! The kinds of core of a hybrid processor: performance and efficiency cores, big and little ones.

use std::collections::BTreeMap;
use std::fmt;

use hostmark_model::HostFacts;

use super::{FULL_SPEED, Map, Seat, speed};

/// A kind of core, by its speed among those of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreKind {
    /// The fastest that the host has.
    Performance,
    /// Slower ones.
    Efficiency,
    /// The slowest of three kinds and more.
    LowPower,
}

impl CoreKind {
    /// All of them, from fast to slow.
    pub const ALL: [CoreKind; 3] = [CoreKind::Performance, CoreKind::Efficiency, CoreKind::LowPower];

    /// The value of the axis of cores.
    pub const fn name(self) -> &'static str {
        match self {
            CoreKind::Performance => "performance",
            CoreKind::Efficiency => "efficiency",
            CoreKind::LowPower => "low_power",
        }
    }
}

impl fmt::Display for CoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The usable CPUs of each kind of core, from fast to slow, the best of each for a single party first. One kind where the host
/// tells no speeds, or where they differ as those of favoured cores do.
pub fn core_kinds(host: &HostFacts) -> Vec<(CoreKind, Vec<usize>)> {
    let speeds: BTreeMap<usize, f64> = host.cpus.iter().filter_map(|cpu| Some((cpu.id, speed(cpu)?))).collect();
    let fastest = speeds.values().copied().fold(0.0, f64::max);
    let with_speed = |seat: &Seat| (seat.id, speeds.get(&seat.id).copied().unwrap_or(fastest));
    let mut left: Vec<(usize, f64)> = Map::of(host).seats.iter().map(with_speed).collect();
    let mut kinds: Vec<(CoreKind, Vec<usize>)> = Vec::new();
    for kind in CoreKind::ALL {
        let fastest = left.iter().map(|seat| seat.1).fold(0.0, f64::max);
        let is_of_kind = |seat: &(usize, f64)| kind == CoreKind::LowPower || seat.1 >= FULL_SPEED * fastest;
        let (of_kind, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_of_kind);
        left = others;
        if !of_kind.is_empty() {
            kinds.push((kind, of_kind.into_iter().map(|seat| seat.0).collect()));
        }
    }
    kinds
}
