//! Group paging: pages that come, go, and change what may be done with them.

mod collapse;
mod fault;
mod mmap;
mod parallel_fault;
mod protect;
mod protection_fault;
mod reclaim;
mod swap;
mod unmap;
mod user_fault;

crate::group!("paging": fault parallel_fault user_fault collapse mmap unmap reclaim swap protect protection_fault);

use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Paging");

/// Axis threads: of one process, each on its own CPU.
pub(crate) const THREADS: Axis = Axis::threads("threads", Points::OfHost(crate::running::powers_of_two));
