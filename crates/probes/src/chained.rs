//! A buffer for chains through all of its lines.

use hostmark_engine::prelude::*;

/// The buffer, where there is also room for the order in which its lines are linked.
pub fn chained(case: &mut Case, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
    let order_bytes = bytes / case.line_bytes() * size_of::<u32>() as u64;
    drop(case.allot(1, bytes + order_bytes, pages, node)?);
    case.buffer(bytes, pages, node)
}
