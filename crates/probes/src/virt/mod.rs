//! Group virt: what it costs to leave a guest for its hypervisor, and what the hypervisor takes.

mod cpuid;
mod exit;
mod port;
mod steal;
mod timer;

crate::group!("virt": exit cpuid port timer steal);

use hostmark_engine::prelude::Text;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Virtualization");
