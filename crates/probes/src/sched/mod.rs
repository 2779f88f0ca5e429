//! Group sched: from one flow of control to another.

mod contended_lock;
mod context_switch;
mod core_scheduling;
mod fairness;
mod group_depth;
mod idle_exit;
mod ipi;
mod loaded_wakeup;
mod messaging;
mod migration;
mod noise;
mod timer_latency;
mod ucontext;
mod wakeup;

crate::group!("sched", shares_worker true: context_switch ucontext wakeup loaded_wakeup timer_latency idle_exit fairness group_depth core_scheduling messaging migration contended_lock ipi noise);

use hostmark_engine::prelude::Text;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");
