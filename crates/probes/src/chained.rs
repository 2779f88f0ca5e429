//! A buffer for chains through all of its lines.

use hostmark_engine::prelude::*;

/// What a chain is built from: of each line its place in the order, and the number of the next.
const NUMBERS_OF_LINE: u64 = 2;

/// The buffer, where there is also room for the order in which its lines are linked. Whoever links them writes all of every
/// line.
pub fn chained(case: &mut Case, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
    let order_bytes = bytes / case.line_bytes() * NUMBERS_OF_LINE * size_of::<u32>() as u64;
    drop(case.allot(1, bytes + order_bytes, pages, node)?);
    case.touched(bytes, pages, node)
}
