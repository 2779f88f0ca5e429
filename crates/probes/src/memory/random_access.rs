//! Probes of accesses in other orders than a chain's: at random, owning, unaligned, and as prefetchers guess.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::kernels::chase::{Chain, shuffled};
use crate::kernels::forwarding::{self, PLACES, Unaligned};
use crate::kernels::random_access::{Access, Blocks, OrderedLoads};
use crate::workloads::machine::kernel_module::KernelOperation;

/// Probe memory.random_access: loads and stores of single words at random places, none of which waits for another.
pub static RANDOM_ACCESS: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "read", Points::quick(&["read"]).standard(&["write"])),
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::InAll(1)),
        Axis::choice("within", "all", Points::quick(&["all"]).standard(&["l1_blocks_1k"]).thorough(&["l1_blocks_4k"])),
        super::PMD_FIRST,
        Axis::bind_elsewhere(),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "size", "within"] }],
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    measure: Measure::Run(measure_random_access),
    ..crate::texts::memory::RANDOM_ACCESS
};

/// A size beyond most caches, with the profile others, and one that means memory where that is larger: all powers of two, as blocks are.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let listed: &[u64] = match profile {
        Profile::Glance | Profile::Quick => &[],
        Profile::Standard => &[1 << 20],
        Profile::Thorough => &[1 << 20, 32 << 10, 16 << 20, 256 << 20],
    };
    let far = super::beyond(host, super::USUAL_BYTES).map(u64::next_power_of_two);
    [super::USUAL_BYTES].iter().chain(listed).copied().chain(far).collect()
}

fn measure_random_access(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let access = match case.param::<String>("op")?.as_str() {
        "write" => Access::Write,
        _ => Access::Read,
    };
    let block = match case.param::<String>("within")?.as_str() {
        "l1_blocks_1k" => 1 << 10,
        "l1_blocks_4k" => 4 << 10,
        _ => usize::try_from(size)?,
    };
    let pages = super::pages(case)?;
    let seed = case.seed();
    let mut buffer = case.touched(size, pages, None)?;
    let mut blocks = Blocks::new(buffer.bytes_mut(), block, seed)?;
    let lines = size / case.line_bytes();
    case.steady_over(size).after(|| blocks.access(access, lines));
    case.loops(|n| blocks.access(access, n)).time()
}

/// Ten thousand accesses are over too soon.
const TIMES: u64 = 16;
const OP: Axis = Axis::choice("op", "read", Points::quick(&["read", "write"]));
const SIZE: Axis =
    Axis::size("size", "67108864", Points::quick(&["67108864"]).standard(&["1048576"]).thorough(&["268435456"]))
        .fills(Fill::InAll(1));

/// Probe memory.kernel_random_access: the accesses of memory.random_access inside the kernel, with interrupts on and off.
pub static KERNEL_RANDOM_ACCESS: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[OP, SIZE, Axis::bind(), in_kernel::IRQ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "bind", "irq"] }],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    measure: Measure::Run(measure_kernel_random_access),
    ..crate::texts::memory::KERNEL_RANDOM_ACCESS
};

fn measure_kernel_random_access(case: &mut Case) -> Result<()> {
    let (bytes, seed) = (case.param("size")?, case.seed());
    case.may_fill(bytes)?;
    let operation = match case.param::<String>("op")?.as_str() {
        "write" => KernelOperation::RandomWrite { bytes, seed },
        _ => KernelOperation::RandomRead { bytes, seed },
    };
    in_kernel::measure(case, TIMES, operation)
}

/// Probe memory.ownership: what a line costs that a core takes to write, by the level that holds it.
pub static OWNERSHIP: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "own", Points::quick(&["own", "write"])),
        Axis::size("size", "67108864", Points::OfHost(sizes_by_level)).fills(Fill::Chain),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "size"] }],
    limit: Limit::Rising("size"),
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    from: Profile::Standard,
    measure: Measure::Run(measure_ownership),
    ..crate::texts::memory::OWNERSHIP
};

/// Half of each cache, four times what all but the last hold, and what is beyond all: powers of two, as of memory.latency.
fn sizes_by_level(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let largest = super::largest(host, profile);
    let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let powers: Vec<u64> =
        caches.filter_map(|cache| cache.size_bytes.checked_ilog2()).map(|power| 1 << power).collect();
    let halves = powers.iter().map(|power| power / 2);
    let fourfold = powers.iter().rev().skip(1).map(|power| 4 * power);
    let sizes_by_level = halves.chain(fourfold).chain([super::USUAL_BYTES]).filter(|&size| size <= largest);
    sizes_by_level.chain(super::beyond(host, super::USUAL_BYTES)).collect()
}

fn measure_ownership(case: &mut Case) -> Result<()> {
    let (op, size): (String, u64) = (case.param("op")?, case.param("size")?);
    let (line, seed) = (case.line_bytes(), case.seed());
    let mut buffer = super::chained(case, size, Pages::Pmd, None)?;
    let chain = Chain::random(buffer.bytes_mut(), line as usize, seed)?;
    let mut chain = chain.settled(case.llc_bytes(), line, &case.steady());
    let mut walk = |n| if op == "write" { chain.walk_writing(n) } else { chain.walk_owning(n) };
    // From the first sample on what leaves a cache is dirty.
    walk(size.min(case.llc_bytes().max(super::USUAL_BYTES)) / line);
    case.loops(walk).time()
}

/// A boundary of the lines of every core, of 64, 128 or 256 bytes, as each quarter of it is.
const LINES_BYTES: usize = 1024;
/// Distance of accesses that need not lie at a boundary: to other banks of the cache as well, of which each serves one line at a time.
const APART_BYTES: usize = 256 + 8;

/// Probe memory.unaligned_access: loads and stores that span two cache lines or two pages, beside aligned ones.
pub static UNALIGNED_ACCESS: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("spans", "line", Points::quick(&["nothing", "inside", "line", "page"])),
        Axis::choice("op", "load", Points::quick(&["load", "store", "dependent_load"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["spans", "op"] }],
    core_bound: CoreBound::Yes,
    section: super::STRUCTURE,
    from: Profile::Standard,
    measure: Measure::Run(measure_unaligned_access),
    ..crate::texts::memory::UNALIGNED_ACCESS
};

fn measure_unaligned_access(case: &mut Case) -> Result<()> {
    let access: forwarding::Access = case.param("op")?;
    let page_bytes = Pages::Base.bytes();
    let (first, distance) = match case.param::<String>("spans")?.as_str() {
        "nothing" => (LINES_BYTES, APART_BYTES),
        "inside" => (LINES_BYTES + 4, APART_BYTES),
        "line" => (LINES_BYTES - 4, LINES_BYTES / 4),
        _ => (page_bytes - 4, page_bytes),
    };
    let mut memory = case.buffer(((PLACES + 1) * page_bytes) as u64, Pages::Base, None)?;
    let offsets = std::array::from_fn(|place| first + place * distance);
    let mut accesses = Unaligned::new(access, memory.bytes_mut(), offsets)?;
    case.loops(|n| accesses.access(n)).time()
}

/// Bytes in which prefetchers stay: base pages of x86-64, whatever those of this host are.
const PAGE_BYTES: usize = 4096;
/// Independent loads in a sample, and dependent ones beside it: some tens of microseconds and more each.
const LOADS: usize = 16 << 10;
const LINKS: u64 = 1024;
/// The dependent loads take this share of a round's time, first and without a pause.
const CHAIN_SHARE: f64 = 0.3;

/// The same order as a chain.
const ORDERED_LATENCY: Quantity =
    Quantity::given("latency", Unit::Nanoseconds, Better::Lower, term!("latency in that order"));

/// Probe memory.prefetch: what the hardware's prefetchers give, as bandwidth and latency by the order in which lines are read.
pub static PREFETCH: Probe = Probe {
    revision: 2,
    also: &[ORDERED_LATENCY],
    axes: &[
        Axis::choice(
            "order",
            "ascending",
            Points::quick(&["ascending", "random"]).standard(&[
                "descending",
                "stride_2",
                "stride_4",
                "stride_8",
                "stride_page",
                "random_pages",
            ]),
        ),
        Axis::settled_size("size", super::latency::size).fills(Fill::Chain),
        super::PMD_FIRST,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["order", "page"] }],
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    from: Profile::Standard,
    measure: Measure::Run(measure_prefetch),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::memory::PREFETCH)
};

fn measure_prefetch(case: &mut Case) -> Result<()> {
    let (size, order): (u64, String) = (case.param("size")?, case.param("order")?);
    let (pages, line, seed) = (super::pages(case)?, case.line_bytes() as usize, case.seed());
    // The two orders, and what is made of them.
    case.may_fill(2 * size + size / line as u64 * 16)?;
    let mut of_loads = case.buffer(size, pages, None)?;
    let mut of_chain = super::chained(case, size, pages, None)?;
    let order = lines_in(&order, size as usize / line, PAGE_BYTES / line, seed);
    let mut loads = OrderedLoads::new(of_loads.bytes_mut(), line, &order)?;
    let chain = Chain::ordered(of_chain.bytes_mut(), line, order)?;
    let mut chain = chain.settled(case.llc_bytes(), line as u64, &case.steady());
    let (chain_ns, mut latencies_ns) = (CHAIN_SHARE * case.grant_ns(), Vec::new());
    case.timed(|clock| {
        chain_first(clock, chain_ns, &mut latencies_ns, || chain.walk_by_one_load(LINKS));
        let start = clock.start();
        std::hint::black_box(loads.load(LOADS));
        Ok((clock.end().since(start), LOADS as u64))
    })
    .rate(line as u64)?;
    case.also(ORDERED_LATENCY.name, latencies_ns)
}

/// Walks the chain once before anything else is loaded: other loads would drive its page tables out of the caches.
fn chain_first(clock: &Clock, budget_ns: f64, latencies_ns: &mut Vec<f64>, mut walk: impl FnMut()) {
    let (begin, is_due) = (clock.start(), latencies_ns.is_empty());
    while is_due && (latencies_ns.is_empty() || clock.ns(clock.start().since(begin)) < budget_ns) {
        latencies_ns.push(clock.time(&mut walk) / LINKS as f64);
    }
}

/// All of so many lines, each once, in the order of this name.
fn lines_in(order: &str, lines: usize, lines_a_page: usize, seed: u64) -> Vec<u32> {
    let number = |line: usize| line as u32;
    match order {
        "descending" => (0..lines).rev().map(number).collect(),
        "random" => shuffled(lines, seed).into_iter().map(number).collect(),
        "random_pages" => shuffled(lines.div_ceil(lines_a_page), seed)
            .into_iter()
            .flat_map(|page| page * lines_a_page..lines.min((page + 1) * lines_a_page))
            .map(number)
            .collect(),
        "stride_page" => strided(lines, lines_a_page),
        stride => strided(lines, stride.strip_prefix("stride_").and_then(|stride| stride.parse().ok()).unwrap_or(1)),
    }
}

/// Every `stride`-th line, a power of two, from each of the first lines on. These come in an order in which neighbours are a quarter of all
/// passes apart or more: by then what a prefetcher fetched beside the lines of one pass has left the caches.
fn strided(lines: usize, stride: usize) -> Vec<u32> {
    let bits = stride.trailing_zeros();
    let first = |pass: usize| if bits == 0 { 0 } else { pass.reverse_bits() >> (usize::BITS - bits) };
    (0..stride).flat_map(|pass| (first(pass)..lines).step_by(stride)).map(|line| line as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_in_each_cache_and_beyond_all() {
        let sizes_by_level = |kib: &[u64]| {
            let cache = |(level, kib): (u8, &u64)| CacheFact {
                level,
                size_bytes: kib << 10,
                shared_cpus: vec![0],
                ..CacheFact::default()
            };
            let cpu = CpuFact { id: 0, online: true, allowed: true, ..CpuFact::default() };
            let caches = (1..).zip(kib).map(cache).collect();
            let mut host = HostFacts { cpus: vec![cpu], caches, ..HostFacts::default() };
            host.memory.available_bytes = 64 << 30;
            super::sizes_by_level(&host, Profile::Standard).into_iter().map(|bytes| bytes >> 10).collect::<Vec<_>>()
        };
        assert_eq!(sizes_by_level(&[48, 1280, 30 << 10]), [16, 512, 8 << 10, 4096, 128, 64 << 10, 120 << 10]);
        assert_eq!(sizes_by_level(&[32, 1024, 260 << 10]), [16, 512, 128 << 10, 4096, 128, 64 << 10, 520 << 10]);
        assert_eq!(sizes_by_level(&[]), [64 << 10]);
        assert_eq!(sizes_by_level(&[0, 512]), [256, 64 << 10]);
    }

    #[test]
    fn the_chain_is_walked_without_a_pause_and_before_the_loads() {
        let (clock, mut latencies_ns, mut walks) = (Clock::MonotonicRaw, Vec::new(), Vec::new());
        for loads in 0..3 {
            chain_first(&clock, 1e5, &mut latencies_ns, || walks.push(loads));
        }
        assert!(walks.iter().all(|&loads| loads == 0) && walks.len() == latencies_ns.len(), "{walks:?}");
        let mut one = Vec::new();
        chain_first(&clock, 0.0, &mut one, || {});
        assert_eq!(one.len(), 1);
    }

    #[test]
    fn orders_are_what_their_names_say() {
        let first = |order: &str| lines_in(order, 4096, 64, 7)[..4].to_vec();
        assert_eq!(first("ascending"), [0, 1, 2, 3]);
        assert_eq!(first("descending"), [4095, 4094, 4093, 4092]);
        assert_eq!(first("stride_4"), [0, 4, 8, 12]);
        assert_eq!(first("stride_page"), [0, 64, 128, 192]);
        let pages = lines_in("random_pages", 4096, 64, 7);
        assert!(pages.chunks(64).all(|page| page[0] % 64 == 0 && page.windows(2).all(|pair| pair[1] == pair[0] + 1)));
        assert_ne!(pages, lines_in("ascending", 4096, 64, 7));
        for order in
            ["ascending", "descending", "stride_2", "stride_4", "stride_8", "stride_page", "random_pages", "random"]
        {
            for lines in [4096, 4100] {
                let mut order = lines_in(order, lines, 64, 7);
                order.sort_unstable();
                assert_eq!(order, (0..lines as u32).collect::<Vec<_>>(), "each line once");
            }
        }
        // Neighbours are a quarter of the passes apart.
        let strided = strided(4096, 8);
        let place = |line: u32| strided.iter().position(|&one| one == line).unwrap();
        assert!((0..7).all(|line| place(line).abs_diff(place(line + 1)) >= 1024), "{strided:?}");
    }
}
