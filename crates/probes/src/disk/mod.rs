//! Group disk: what a device delivers to a file on it, past the cache.

mod fsync;
mod mixed;
mod open_loop;
mod read;
mod readahead;
mod replace;
mod sustained_write;
mod write;

crate::group!("disk": read write mixed open_loop readahead sustained_write fsync replace);

use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Disks");

/// Axis pattern: where one request lies after the other.
const PATTERN: Axis = Axis::choice("pattern", "random", Points::quick(&["random"]).standard(&["sequential"]));
/// The same where order is no question.
const PATTERN_OF_ONE: Axis = Axis::choice("pattern", "random", Points::quick(&["random"]).thorough(&["sequential"]));
/// Axis block: bytes of a request.
const BLOCK: Axis = Axis::size(
    "block",
    "4096",
    Points::quick(&["4096"]).standard(&["16384", "131072", "1048576"]).thorough(&["65536"]),
);
/// The axes of requests past the cache; depth: how many are under way at a time.
const REQUESTS: &[Axis] = &[
    PATTERN,
    BLOCK,
    Axis::count("depth", "1", Points::quick(&["1"]).standard(&["2", "4", "8", "16", "32"]).thorough(&["64"])),
];
/// The axes of which every combination is measured.
const FULL_FACTORIAL: &[FullFactorial] = &[
    FullFactorial { from: Profile::Standard, axes: &["pattern", "block"] },
    FullFactorial { from: Profile::Thorough, axes: &["pattern", "block", "depth"] },
];
const OPERATIONS: Quantity =
    Quantity::given("operations", Unit::OperationsPerSecond, Better::Higher, term!("requests"));
/// Time of a write where some requests read: the percentiles are those of the reads.
const WRITES: Quantity = Quantity::given("write_time", Unit::Nanoseconds, Better::Lower, term!("time of a write"));

/// Further quantities beside the rate of requests.
const ALSO: &[Quantity] = &[
    OPERATIONS,
    Quantity::P50,
    Quantity::P99,
    Quantity::P999,
    Quantity::MEAN,
    Quantity::SUSTAINED,
    Quantity::DEVICE_SHARE,
];
