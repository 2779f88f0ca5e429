//! How fast a link is at least: what takes longer on its way is given up, at both of its ends.

use std::time::Duration;

/// Bytes that a link carries in a second at least.
pub const SLOWEST_LINK: usize = 32 << 10;

/// How long so many bytes may be on their way.
pub fn on_the_way(bytes: usize) -> Duration {
    Duration::from_secs((bytes / SLOWEST_LINK) as u64)
}
