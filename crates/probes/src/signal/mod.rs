//! Group signal: installing handlers and running them.

mod handle;
mod install;
mod round_trip;

crate::group!("signal": install handle round_trip);

use hostmark_engine::prelude::Text;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");
