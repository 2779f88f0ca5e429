//! Group paging: pages that come, go, and change what may be done with them.

mod fault;
mod mmap;
mod parallel_fault;
mod protect;
mod protection_fault;
mod unmap;

crate::group!("paging": fault parallel_fault mmap unmap protect protection_fault);

use hostmark_engine::prelude::*;

/// Axis threads: of one process, each on its own CPU.
const THREADS: Axis = Axis::threads("threads", Points::OfHost(threads));

/// 1, and from the standard profile on 2, 4 … and all usable CPUs.
fn threads(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    match profile {
        Profile::Quick => vec![1],
        _ => (0..).map(|power| 1 << power).take_while(|&threads| threads < all).chain([all.max(1)]).collect(),
    }
}
