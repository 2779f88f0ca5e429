//! Probe memory.parallelism: how many times faster many independent chains of loads go than one, by size.

use hostmark_engine::prelude::*;

use crate::kernels::parallel::{Chains, LINKS_A_TURN};

/// A walk lasts at least so long, ns.
const WALK_NS: f64 = 200_000.0;

/// Time per load over all chains.
const SHARE: Quantity =
    Quantity::given("load", Unit::Nanoseconds, Better::Lower, term!("time per load over all chains"));

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[SHARE],
    axes: &[
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain),
        Axis::count("chains", "32", Points::quick(&["32"]).standard(&["2", "4", "8", "16", "24"]).thorough(&["12"])),
        Axis::choice("page", "pmd", Points::quick(&["pmd"]).standard(&["base"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "chains"] }],
    limit: Limit::Saturating("chains"),
    is_structure: true,
    section: super::STRUCTURE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::PARALLELISM
};

/// Half of each cache, in the quick profile only of the second level; and memory.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let Some(cpu) = single(host) else { return Vec::new() };
    let levels: &[u8] = if profile == Profile::Quick { &[2] } else { &[1, 2, 3] };
    let half = |level: &u8| Some(host.cache(cpu, *level)?.size_bytes / 2 / 4096 * 4096);
    let sizes = levels.iter().filter_map(half).chain([64 << 20]);
    sizes.filter(|&size| size > 0 && size <= super::largest(host, profile)).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let (size, chains): (u64, usize) = (case.param("size")?, case.param("chains")?);
    let pages = super::pages(case)?;
    let mut buffer = crate::chained::chained(case, size, pages, None)?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let walks = Chains::new(buffer.bytes_mut(), line, chains, seed);
    let mut walks = walks.map_err(crate::fastest::refused)?;
    let chains = chains as u64;
    // What stays cached is cached, and what does not is not.
    case.steady_over(size).after(|| walks.walk_each(walks.lines() / chains / LINKS_A_TURN + 1));
    let (mut turns_of_one, mut turns_of_each) = (16, 16);
    let mut loads_ns = Vec::new();
    case.search(|clock| {
        let one = paced(clock, &mut turns_of_one, |turns| walks.walk_one(turns));
        let each = paced(clock, &mut turns_of_each, |turns| walks.walk_each(turns)) / chains as f64;
        loads_ns.push(each);
        Ok(Some(one / each))
    })?;
    case.also(SHARE.name, loads_ns)
}

/// Nanoseconds a link of a walk, which is made longer until it lasts long enough.
fn paced(clock: &Clock, turns: &mut u64, mut walk: impl FnMut(u64)) -> f64 {
    loop {
        let ns = clock.time(|| walk(*turns));
        if ns >= WALK_NS {
            return ns / (*turns * LINKS_A_TURN) as f64;
        }
        *turns *= 2;
    }
}
