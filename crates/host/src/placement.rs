//! Placement of a case on CPUs: pure functions over the host's facts.
//!
//! CPU 0 takes most interrupts of many machines, and slow cores would stand for a machine that they are not; both come
//! last wherever there is a choice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::str::FromStr;

use hostmark_model::{CpuFact, HostFacts, Message, NodeFact, Profile};
use hostmark_say::say;

/// Favoured cores differ by some percent in frequency; other kinds of core differ by more.
const FULL_SPEED: f64 = 0.9;
/// A CPU is busy when programs use this much more of its time than of the quietest one's. The look is short.
const BUSIER: f64 = 0.3;
/// Share of a core that a busy thread takes from the other one.
const FROM_SIBLING: f64 = 0.5;

/// Topological relation of the two parties of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    SameCpu,
    /// Parties on the two threads of one core.
    SmtSibling,
    /// Parties on two cores that share their last-level cache.
    SameCache,
    /// Parties on one node, with two last-level caches.
    OtherCache,
    /// Parties on two nodes of one package, as NPS and sub-NUMA clusters make them.
    SamePackageOtherNode,
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

/// Returns one usable CPU of each last-level cache, the best of each; of a host that does not tell its caches one of each node.
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
    /// Last-level cache, as an index into the facts.
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

/// Returns the speed of a CPU, in whichever measure the kernel gives.
fn speed(cpu: &CpuFact) -> Option<f64> {
    cpu.capacity.map(f64::from).or(cpu.max_hz)
}

/// Returns how much of a CPU's time programs use, those on the other threads of its core included.
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

/// A kind of core, by its speed among those of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreKind {
    /// The fastest that the host has.
    Performance,
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

/// Order of threads over the CPUs.
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
    pub const ALL: [Order; 3] = [Order::Compact, Order::Scatter, Order::Siblings];

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

/// The CPUs for `n` threads: one per core, near cores first, then the cores' other threads. Shorter when fewer are usable.
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

/// Returns how many packages, nodes, last-level caches and cores the usable CPUs have, each number once and in ascending
/// order: the numbers of threads at which something new begins to be shared.
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

/// Number of nodes whose pairs are all measured in the standard profile, and in the thorough one.
const STANDARD_NODES: usize = 8;
const THOROUGH_NODES: usize = 16;
/// The distance to a node where the kernel does not tell it.
const UNKNOWN: u32 = u32::MAX;

/// Pairs of a node with usable CPUs and a node with memory, each at most once. Quick has the first node with itself, with one
/// node of each distance, and with one without CPUs; the longer profiles have all pairs of a few nodes, and of many each node
/// with itself, each with one of each distance, and every node without CPUs from each package.
pub fn node_pairs(host: &HostFacts, profile: Profile) -> Vec<[usize; 2]> {
    let usable = host.usable_cpus();
    let has_cpus = |node: &&NodeFact| node.cpus.iter().any(|cpu| usable.contains(cpu));
    let sources: Vec<&NodeFact> = host.nodes.iter().filter(has_cpus).collect();
    let targets: Vec<(usize, &NodeFact)> =
        host.nodes.iter().enumerate().filter(|(_, node)| node.memory_bytes > 0).collect();
    let mut pairs = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |from: &NodeFact, to: &NodeFact| {
        if seen.insert([from.id, to.id]) {
            pairs.push([from.id, to.id]);
        }
    };
    let Some(first) = sources.first() else { return Vec::new() };
    one_of_each_distance(first, &targets, 0).into_iter().for_each(|to| add(first, to));
    targets.iter().find(|(_, to)| to.cpus.is_empty()).into_iter().for_each(|(_, to)| add(first, to));
    let most = match profile {
        Profile::Glance | Profile::Quick => return pairs,
        Profile::Standard => STANDARD_NODES,
        Profile::Thorough => THOROUGH_NODES,
    };
    for (nth, from) in sources.iter().enumerate() {
        one_of_each_distance(from, &targets, nth).into_iter().for_each(|to| add(from, to));
    }
    let package = |node: &NodeFact| {
        let of_node = |cpu: &&hostmark_model::CpuFact| node.cpus.contains(&cpu.id);
        host.cpus.iter().find(of_node).and_then(|cpu| cpu.package)
    };
    let mut packages = BTreeSet::new();
    for from in sources.iter().filter(|from| packages.insert(package(from))) {
        targets.iter().filter(|(_, to)| to.cpus.is_empty()).for_each(|(_, to)| add(from, to));
    }
    if sources.len().max(targets.len()) <= most {
        sources.iter().for_each(|from| targets.iter().for_each(|(_, to)| add(from, to)));
    }
    pairs
}

/// The node itself, and one other of each distance, near to far; `turn` says which, so that no node stands for all.
fn one_of_each_distance<'a>(from: &NodeFact, targets: &[(usize, &'a NodeFact)], turn: usize) -> Vec<&'a NodeFact> {
    let own = targets.iter().map(|(_, to)| *to).filter(|to| to.id == from.id);
    let mut by_distance: BTreeMap<u32, Vec<&NodeFact>> = BTreeMap::new();
    for &(index, to) in targets.iter().filter(|(_, to)| to.id != from.id) {
        by_distance.entry(from.distances.get(index).copied().unwrap_or(UNKNOWN)).or_default().push(to);
    }
    own.chain(by_distance.into_values().map(|nodes| nodes[turn % nodes.len()])).collect()
}
