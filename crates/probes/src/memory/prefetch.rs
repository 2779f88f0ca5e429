//! Probe memory.prefetch: what the hardware's prefetchers give, as bandwidth and latency by the order in which lines are read.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{Chain, shuffled};
use crate::kernels::random_access::OrderedLoads;

/// Bytes in which prefetchers stay: base pages of x86-64, whatever those of this host are.
const PAGE_BYTES: usize = 4096;
/// Independent loads in a sample, and dependent ones beside it: some tens of microseconds and more each.
const LOADS: usize = 16 << 10;
const LINKS: u64 = 1024;
/// The dependent loads take this share of a round's time, first and without a pause.
const CHAIN_SHARE: f64 = 0.3;

/// The same order as a chain.
const LATENCY: Quantity = Quantity::given("latency", Unit::Nanoseconds, Better::Lower, term!("latency in that order"));

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[LATENCY],
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
        Axis::settled_size("size", super::loaded_latency::size).fills(Fill::Chain),
        super::PMD_FIRST,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["order", "page"] }],
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::memory::PREFETCH
};

fn measure(case: &mut Case) -> Result<()> {
    let (size, order): (u64, String) = (case.param("size")?, case.param("order")?);
    let (pages, line, seed) = (super::pages(case)?, case.line_bytes() as usize, case.seed());
    // The two orders, and what is made of them.
    case.may_fill(2 * size + size / line as u64 * 16)?;
    let mut of_loads = case.buffer(size, pages, None)?;
    let mut of_chain = crate::chained::chained(case, size, pages, None)?;
    let order = lines_in(&order, size as usize / line, PAGE_BYTES / line, seed);
    let mut loads = OrderedLoads::new(of_loads.bytes_mut(), line, &order).map_err(crate::fastest::refused)?;
    let chain = Chain::ordered(of_chain.bytes_mut(), line, order).map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line as u64, &case.steady());
    let (chain_ns, mut latencies_ns) = (CHAIN_SHARE * case.grant_ns(), Vec::new());
    case.timed(|clock| {
        chain_first(clock, chain_ns, &mut latencies_ns, || chain.walk_by_one_load(LINKS));
        let start = clock.start();
        std::hint::black_box(loads.load(LOADS));
        Ok((clock.end().since(start), LOADS as u64))
    })
    .rate(line as u64)?;
    case.also(LATENCY.name, latencies_ns)
}

/// Walks the chain for so long, once and before anything else is loaded: other loads in between would drive its page tables out of the
/// caches, and the walk after them would pay for that.
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
    fn every_order_has_each_line_once() {
        for order in
            ["ascending", "descending", "stride_2", "stride_4", "stride_8", "stride_page", "random_pages", "random"]
        {
            for lines in [4096, 4100] {
                let mut order = lines_in(order, lines, 64, 7);
                order.sort_unstable();
                assert_eq!(order, (0..lines as u32).collect::<Vec<_>>());
            }
        }
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
        // Neighbours are a quarter of the passes apart.
        let strided = strided(4096, 8);
        let place = |line: u32| strided.iter().position(|&one| one == line).unwrap();
        assert!((0..7).all(|line| place(line).abs_diff(place(line + 1)) >= 1024), "{strided:?}");
    }
}
