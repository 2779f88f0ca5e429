//! Probe paging.unmap: giving pages back, by their number and by how many threads of the process run meanwhile.

use hostmark_engine::prelude::*;

use super::THREADS;
use crate::running::{Others, beside};
use crate::workloads::mappings::mapping::Mapping;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[
        Axis::choice("by", "munmap", Points::quick(&["munmap", "dontneed"]).standard(&["free"])),
        Axis::count("pages", "1", Points::quick(&["1", "64"]).standard(&["512"]).thorough(&["8192"])),
        THREADS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["pages", "threads"] }],
    limit: Limit::KernelEntry,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::UNMAP
};

fn measure(case: &mut Case) -> Result<()> {
    let by = case.param::<String>("by")?;
    let page = Pages::Base.bytes();
    let bytes = case.param::<usize>("pages")?.saturating_mul(page);
    case.may_fill(bytes as u64)?;
    let give_back = |clock: &Clock, others: &Others| -> Result<Ticks> {
        let mapping = Mapping::anonymous(bytes, Pages::Base)?;
        mapping.write_every(page, bytes);
        others.all_run();
        let start = clock.start();
        match by.as_str() {
            "munmap" => drop(mapping),
            "free" => mapping.give_back_lazily()?,
            _ => mapping.give_back()?,
        }
        Ok(clock.end().since(start))
    };
    beside(case, || {}, |case, others| case.timed(|clock| give_back(clock, others)).singly().time())
}
