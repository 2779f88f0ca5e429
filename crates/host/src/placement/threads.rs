//! In which order the threads of a case take the CPUs: near first, far apart first, or core by core.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::hash::Hash;
use std::str::FromStr;

use hostmark_model::{HostFacts, Message};
use hostmark_say::say;

use super::{Map, Seat};

/// How threads are laid over the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// A core each, the near cores first: a cache, a node and a package are full before the next is begun.
    Compact,
    /// A core each, as far apart as there are packages, nodes and caches: as many threads as caches have one each.
    Scatter,
    /// Core by core, all threads of one before the next.
    Siblings,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 3] = [Order::Compact, Order::Scatter, Order::Siblings];

    /// The value of an axis.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Compact => "compact",
            Order::Scatter => "scatter",
            Order::Siblings => "siblings",
        }
    }
}

impl FromStr for Order {
    type Err = Message;

    fn from_str(text: &str) -> Result<Order, Message> {
        let known = Order::ALL.into_iter().find(|order| order.name() == text);
        known.ok_or_else(|| {
            say!("'{text}' is no order of threads; use {names}", names = Order::ALL.map(Order::name).join(", "))
        })
    }
}

/// The CPUs for `n` threads: one per core first, the near cores first, then the cores' other threads. Shorter when
/// fewer CPUs are usable.
pub fn spread(host: &HostFacts, n: usize) -> Vec<usize> {
    in_order(host, n, Order::Compact)
}

/// The CPUs for `n` threads in this order. Shorter when fewer CPUs are usable.
pub fn in_order(host: &HostFacts, n: usize, order: Order) -> Vec<usize> {
    let map = Map::of(host);
    let mut seats: Vec<&Seat> = map.seats.iter().collect();
    let Some(home) = seats.first().copied() else { return Vec::new() };
    // A cache is as good as the best CPU that it serves: that of CPU 0's core alone comes last of its node.
    let caches = ranks(&seats, |seat| seat.cache);
    let near = |seat: &Seat| {
        let far = (map.distance(home, seat), seat.node, seat.package != home.package, seat.package);
        (far, caches[&seat.cache])
    };
    match order {
        Order::Compact => {
            seats.sort_by_key(|seat| (seat.thread, seat.is_slow, seat.is_busy, near(seat), seat.id == 0, seat.id));
        }
        Order::Scatter => {
            let packages = ranks(&seats, |seat| seat.package);
            let nodes = ranks_within(&seats, |seat| seat.package, |seat| seat.node);
            let caches = ranks_within(&seats, |seat| (seat.package, seat.node), |seat| seat.cache);
            let of_cache = |seat: &Seat| (seat.thread, seat.is_slow, seat.is_busy, seat.node, seat.cache);
            let places = ranks_within(&seats, of_cache, |seat| seat.id);
            seats.sort_by_key(|seat| {
                let place = places[&(of_cache(seat), seat.id)];
                let cache = caches[&((seat.package, seat.node), seat.cache)];
                let node = nodes[&(seat.package, seat.node)];
                (seat.thread, seat.is_slow, seat.is_busy, place, cache, node, packages[&seat.package])
            });
        }
        Order::Siblings => {
            let cores = ranks(&seats, |seat| seat.core);
            seats.sort_by_key(|seat| (seat.is_slow, near(seat), cores[&seat.core], seat.thread));
        }
    }
    seats.into_iter().take(n).map(|seat| seat.id).collect()
}

/// How many packages, nodes, last-level caches and cores the usable CPUs have, each number once and in ascending order: the
/// numbers of threads at which something new begins to be shared.
pub fn domains(host: &HostFacts) -> Vec<usize> {
    let map = Map::of(host);
    let count = |of: &dyn Fn(&Seat) -> Option<usize>| map.seats.iter().filter_map(of).collect::<BTreeSet<_>>().len();
    let counts: BTreeSet<usize> = [
        count(&|seat| seat.package),
        count(&|seat| seat.node),
        count(&|seat| seat.cache),
        count(&|seat| Some(seat.core)),
    ]
    .into();
    counts.into_iter().filter(|&count| count > 0).collect()
}

/// The place of each value in the order in which the seats have them.
fn ranks<K: Eq + Hash>(seats: &[&Seat], of: impl Fn(&Seat) -> K) -> HashMap<K, usize> {
    let mut ranks = HashMap::new();
    for seat in seats {
        let next = ranks.len();
        ranks.entry(of(seat)).or_insert(next);
    }
    ranks
}

/// The same among the seats of one group, counted from 0 in each.
fn ranks_within<G: Eq + Hash + Clone, K: Eq + Hash>(
    seats: &[&Seat],
    group: impl Fn(&Seat) -> G,
    of: impl Fn(&Seat) -> K,
) -> HashMap<(G, K), usize> {
    let (mut ranks, mut counts): (HashMap<(G, K), usize>, HashMap<G, usize>) = (HashMap::new(), HashMap::new());
    for seat in seats {
        ranks.entry((group(seat), of(seat))).or_insert_with(|| {
            let count = counts.entry(group(seat)).or_default();
            *count += 1;
            *count - 1
        });
    }
    ranks
}
