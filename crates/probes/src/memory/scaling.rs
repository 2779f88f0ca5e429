//! Probe memory.scaling: how fast threads read memory together, by their number and by how they lie over the CPUs.

use hostmark_engine::prelude::*;

use crate::fastest::{BEST, Candidates, refused};
use crate::kernels::bandwidth;

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[
        Axis::all_threads("threads", Points::NamesOfHost(threads)),
        Axis::order(),
        Axis { points: Points::NamesOfHost(sizes), ..Axis::settled_size("size", size) }.fills(Fill::EachThread(1)),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["threads", "order"] },
        FullFactorial { from: Profile::Thorough, axes: &["threads", "order", "size"] },
    ],
    limit: Limit::BytesPerCycle,
    measure: Measure::Run(measure),
    ..crate::texts::memory::SCALING
};

/// All; from the standard profile on powers of two, and as many as there are packages, nodes, caches and cores.
fn threads(host: &HostFacts, profile: Profile) -> Vec<String> {
    let all = host.usable_cpus().len() as u64;
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all);
    let counts = powers.chain(domains(host).into_iter().map(|count| count as u64));
    let counts = counts.filter(|&count| count < all && profile >= Profile::Standard);
    counts.map(|count| count.to_string()).chain(["all".into()]).collect()
}

/// Largest amount that all threads fill together.
const MOST_BYTES: u64 = 16 << 30;

/// Returns a size with which one thread leaves its last cache, so that the sweep stays in memory from its first point on; 64 MiB
/// where so much for every thread is more than memory holds or than is filled in reasonable time.
fn size(host: &HostFacts) -> u64 {
    let (outside, threads) = (super::outside_caches(host), host.usable_cpus().len() as u64);
    let most = MOST_BYTES.min(may_fill_bytes(host));
    if outside.saturating_mul(threads) > most { super::USUAL_BYTES } else { outside }
}

/// Returns the further sizes: in the thorough profile half of the last cache.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<String> {
    let last = single(host).and_then(|cpu| host.last_level_cache(cpu)).filter(|_| profile == Profile::Thorough);
    let half = last.map(|cache| cache.size_bytes / 2 / (2 << 20) * (2 << 20)).filter(|&half| half > 0);
    half.map(|half| half.to_string()).into_iter().chain(["auto".into()]).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let (size, cpus) = (case.param::<u64>("size")?, case.thread_cpus());
    let allotment = case.allot(cpus.len() as u64, size, Pages::Pmd, None)?;
    let usual = bandwidth::best_read(super::reach(case, size));
    let kernels = Candidates::of(BEST, bandwidth::reads().iter(), usual)?;
    let kernel = kernels.chosen_in_lockstep(case, &cpus, &allotment, (size, size), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    case.workers(&cpus, |_| {
        let buffer = allotment.touch()?;
        kernel.run(buffer.bytes(), 1).map_err(refused)?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
    .of_long_iterations(size >= crate::fastest::LONG_PASS_BYTES)
    .rate(size)
}
