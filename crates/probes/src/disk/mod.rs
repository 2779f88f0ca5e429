//! Group disk: what a device delivers to a file on it, past the cache.

mod direct_io;
mod fsync;
mod mixed;
mod open_loop;
mod readahead;
mod replace;
mod sustained_write;

crate::group!("disk": direct_io mixed open_loop readahead sustained_write fsync replace);

use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Disks");

const OPERATIONS: Quantity =
    Quantity::given("operations", Unit::OperationsPerSecond, Better::Higher, term!("requests"));
/// Time of a write where some requests read: the percentiles are those of the reads.
const WRITES: Quantity = Quantity::given("write_time", Unit::Nanoseconds, Better::Lower, term!("time of a write"));
