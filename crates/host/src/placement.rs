//! Which CPUs a case runs on: pure functions over the host's facts.
//!
//! CPU 0 takes most interrupts of many machines, and slow cores would stand for a machine that they are not; both come
//! last wherever there is a choice.

mod kinds;
mod node_pairs;
mod threads;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

use hostmark_model::{CpuFact, HostFacts, Message};
use hostmark_say::say;

pub use kinds::{CoreKind, core_kinds};
pub use node_pairs::node_pairs;
pub use threads::{Order, domains, in_order, spread};

/// Favoured cores differ by some percent in frequency; other kinds of core differ by more.
const FULL_SPEED: f64 = 0.9;
/// A CPU is busy when programs use this much more of its time than of the quietest one's. The look is short.
const BUSIER: f64 = 0.3;
/// What a busy thread takes from the other one of its core.
const FROM_SIBLING: f64 = 0.5;

/// How the two parties of a case stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// Both on one CPU.
    SameCpu,
    /// On the two threads of one core.
    SmtSibling,
    /// On two cores that share their last-level cache.
    SameCache,
    /// On one node, with two last-level caches.
    OtherCache,
    /// On two nodes of one package, as NPS and sub-NUMA clusters make them.
    SamePackageOtherNode,
    /// On two nodes.
    OtherNode,
}

impl Placement {
    /// All of them, from near to far.
    pub const ALL: [Placement; 6] = [
        Placement::SameCpu,
        Placement::SmtSibling,
        Placement::SameCache,
        Placement::OtherCache,
        Placement::SamePackageOtherNode,
        Placement::OtherNode,
    ];

    /// The value of a placement axis, such as `same_cpu` or `other_node`.
    pub const fn name(self) -> &'static str {
        match self {
            Placement::SameCpu => "same_cpu",
            Placement::SmtSibling => "smt_sibling",
            Placement::SameCache => "same_cache",
            Placement::OtherCache => "other_cache",
            Placement::SamePackageOtherNode => "same_package_other_node",
            Placement::OtherNode => "other_node",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Placement {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        Placement::ALL.into_iter().find(|placement| placement.name() == text).ok_or_else(|| {
            say!("'{text}' is no placement; use {names}", names = Placement::ALL.map(Placement::name).join(", "))
        })
    }
}

/// The CPU for cases of one party: usable, at full speed, with memory of its own node, not busy, not CPU 0, a core's first
/// thread, away from CPU 0's core; each as far as the host has a choice. None when no CPU is usable.
pub fn single(host: &HostFacts) -> Option<usize> {
    Map::of(host).seats.first().map(|seat| seat.id)
}

/// Two CPUs that stand to each other as `placement` says, or why the host has none.
///
/// `OtherNode` takes another package where there is one (that is what a second node means to most), else the nearest
/// other node.
pub fn pair(host: &HostFacts, placement: Placement) -> Result<[usize; 2], Message> {
    let map = Map::of(host);
    let Some(first) = map.seats.first() else { return Err(say!("no CPU is usable")) };
    if placement == Placement::SameCpu {
        return Ok([first.id, first.id]);
    }
    if map.seats.len() == 1 {
        return Err(say!("only one CPU is usable"));
    }
    map.lacks(placement)?;
    map.seats
        .iter()
        .find_map(|one| map.partner(one, placement).map(|other| [one.id, other.id]))
        .ok_or_else(|| map.reason(placement))
}

/// The usable CPUs of a memory node, the best for a single party first.
pub fn of_node(host: &HostFacts, node: usize) -> Vec<usize> {
    Map::of(host).seats.iter().filter(|seat| seat.node == Some(node)).map(|seat| seat.id).collect()
}

/// One usable CPU of each last-level cache, the best of each; of a host that does not tell its caches one of each node.
pub fn of_caches(host: &HostFacts) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    Map::of(host).seats.iter().filter(|seat| seen.insert((seat.node, seat.cache))).map(|seat| seat.id).collect()
}

/// A usable CPU, with what matters for choosing it.
struct Seat {
    id: usize,
    is_slow: bool,
    is_busy: bool,
    /// The least usable id of its core's threads; its own id where the siblings are not told.
    core: usize,
    /// 0 for the core's first usable thread, 1 for its second …; CPU 0 is the last of its core.
    thread: usize,
    node: Option<usize>,
    package: Option<usize>,
    /// Its last-level cache, as an index into the facts.
    cache: Option<usize>,
}

/// The usable CPUs, the best for a single party first.
struct Map<'a> {
    host: &'a HostFacts,
    seats: Vec<Seat>,
}

impl<'a> Map<'a> {
    fn of(host: &'a HostFacts) -> Map<'a> {
        let usable: Vec<&CpuFact> = host.cpus.iter().filter(|cpu| cpu.online && cpu.allowed).collect();
        let ids: BTreeSet<usize> = usable.iter().map(|cpu| cpu.id).collect();
        let caches = last_level_caches(host);
        let fastest = usable.iter().filter_map(|cpu| speed(cpu)).fold(0.0, f64::max);
        let quietest = usable.iter().filter_map(|cpu| load(host, cpu)).fold(f64::INFINITY, f64::min);
        let with_memory: BTreeSet<usize> =
            host.nodes.iter().filter(|node| node.memory_bytes > 0).map(|node| node.id).collect();
        let mut seats: Vec<Seat> = usable
            .iter()
            .map(|cpu| {
                let before = |other: &&usize| (**other == 0, **other) < (cpu.id == 0, cpu.id);
                let threads = || cpu.siblings.iter().filter(|id| ids.contains(id));
                Seat {
                    id: cpu.id,
                    is_slow: speed(cpu).is_some_and(|speed| speed < FULL_SPEED * fastest),
                    is_busy: load(host, cpu).is_some_and(|load| load >= quietest + BUSIER),
                    core: threads().min().copied().unwrap_or(cpu.id),
                    thread: threads().filter(before).count(),
                    node: cpu.node,
                    package: cpu.package,
                    cache: caches.get(&cpu.id).copied(),
                }
            })
            .collect();
        let lacks_memory = |seat: &Seat| seat.node.is_some_and(|node| !with_memory.contains(&node));
        seats.sort_by_key(|seat| {
            let is_last_choice = (seat.is_slow, lacks_memory(seat), seat.is_busy, seat.id == 0);
            (is_last_choice, seat.thread, seat.core == 0, seat.id)
        });
        Map { host, seats }
    }

    /// The best partner of `one`, which is not `one` itself.
    fn partner(&self, one: &Seat, placement: Placement) -> Option<&Seat> {
        let mut others = self.seats.iter().filter(|other| other.id != one.id);
        match placement {
            Placement::SameCpu => None,
            Placement::SmtSibling => others.find(|other| other.core == one.core),
            Placement::SameCache => {
                others.find(|other| other.core != one.core && one.cache.is_some() && other.cache == one.cache)
            }
            Placement::OtherCache => others
                .filter(|other| other.node == one.node && other.cache != one.cache)
                .filter(|other| one.cache.is_some() && other.cache.is_some())
                .min_by_key(|other| other.package != one.package),
            Placement::SamePackageOtherNode => others
                .filter(|other| one.node.is_some() && other.node.is_some() && other.node != one.node)
                .filter(|other| one.package.is_some() && other.package == one.package)
                .min_by_key(|other| self.distance(one, other)),
            Placement::OtherNode => others
                .filter(|other| one.node.is_some() && other.node.is_some() && other.node != one.node)
                .min_by_key(|other| (other.package == one.package, self.distance(one, other))),
        }
    }

    /// Says at once what no pair of CPUs can have, so that no pairs need be tried.
    fn lacks(&self, placement: Placement) -> Result<(), Message> {
        let distinct = |of: fn(&Seat) -> Option<usize>| self.seats.iter().filter_map(of).collect::<BTreeSet<_>>().len();
        let has = match placement {
            Placement::SameCpu => true,
            Placement::SmtSibling => self.seats.iter().any(|seat| seat.thread > 0),
            Placement::SameCache => distinct(|seat| seat.cache) > 0,
            Placement::OtherCache => distinct(|seat| seat.cache) > 1,
            Placement::SamePackageOtherNode => distinct(|seat| seat.node) > distinct(|seat| seat.package),
            Placement::OtherNode => distinct(|seat| seat.node) > 1,
        };
        if has { Ok(()) } else { Err(self.reason(placement)) }
    }

    fn reason(&self, placement: Placement) -> Message {
        let no_caches = self.seats.iter().all(|seat| seat.cache.is_none());
        match placement {
            Placement::SameCpu => say!("no CPU is usable"),
            Placement::SmtSibling => say!("no two usable CPUs are threads of one core"),
            Placement::SameCache | Placement::OtherCache if no_caches => {
                say!("the host does not tell which CPUs share a cache")
            }
            Placement::SameCache => say!("no two usable cores share a last-level cache"),
            Placement::OtherCache => say!("the usable CPUs of a node share one last-level cache"),
            Placement::SamePackageOtherNode => say!("no package has usable CPUs on two memory nodes"),
            Placement::OtherNode => say!("the usable CPUs are all on one memory node"),
        }
    }

    /// The kernel's distance between the nodes of two CPUs; the local one where it is not told.
    fn distance(&self, from: &Seat, to: &Seat) -> u32 {
        const LOCAL: u32 = 10;
        const UNKNOWN: u32 = u32::MAX;
        if from.node == to.node {
            return LOCAL;
        }
        let position = |id: Option<usize>| self.host.nodes.iter().position(|node| Some(node.id) == id);
        let distance = || self.host.nodes.get(position(from.node)?)?.distances.get(position(to.node)?).copied();
        distance().unwrap_or(UNKNOWN)
    }
}

/// How fast a CPU is, in whichever measure the kernel gives.
fn speed(cpu: &CpuFact) -> Option<f64> {
    cpu.capacity.map(f64::from).or(cpu.max_hz)
}

/// How much of a CPU's time programs use, those on the other threads of its core included.
fn load(host: &HostFacts, cpu: &CpuFact) -> Option<f64> {
    let siblings = host.cpus.iter().filter(|other| other.id != cpu.id && cpu.siblings.contains(&other.id));
    Some(cpu.busy? + FROM_SIBLING * siblings.filter_map(|other| other.busy).sum::<f64>())
}

/// CPU to the index of its largest-level data or unified cache.
fn last_level_caches(host: &HostFacts) -> HashMap<usize, usize> {
    let mut found: HashMap<usize, usize> = HashMap::new();
    for (index, cache) in host.caches.iter().enumerate() {
        if cache.kind == hostmark_model::CacheKind::Instruction {
            continue;
        }
        for cpu in &cache.shared_cpus {
            let best = found.entry(*cpu).or_insert(index);
            if host.caches[*best].level < cache.level {
                *best = index;
            }
        }
    }
    found
}
