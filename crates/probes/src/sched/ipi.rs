//! Probe sched.ipi: interrupting other CPUs and having their answer, by how many run.

use crate::running::{Others, beside};
use crate::workloads;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[Axis { default: "2", ..Axis::threads("threads", Points::OfHost(others)) }],
    limit: Limit::KernelEntry,
    needs: &[Need::Cpus(2)],
    measure: Measure::Run(measure),
    ..crate::texts::sched::IPI
};

/// Returns the numbers of others: one; from the standard profile on none, powers of two, and all.
fn others(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len().max(2) as u64;
    match profile {
        Profile::Quick => vec![2],
        _ => (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all).chain([2, all]).collect(),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let barrier = workloads::mappings::protection::Barrier::register()
        .map_err(|error| RoundError::lacking(say!("membarrier is not available"), &error))?;
    let interrupt = |clock: &Clock, others: &Others| -> Result<Ticks> {
        others.all_run();
        let start = clock.start();
        barrier.everywhere()?;
        Ok(clock.end().since(start))
    };
    beside(case, || {}, |case, others| case.timed(|clock| interrupt(clock, others)).singly().time())
}
