//! Buffers for chains through their lines, and the random chain through one.

use hostmark_engine::prelude::*;

use crate::fastest::refused;
use crate::kernels::chase::Chain;

/// Numbers a line from which a chain is built: its place in the order, and the number of the next.
const NUMBERS_OF_LINE: u64 = 2;

/// Returns the buffer, where there is also room for the order in which its lines are linked. The caller links them and
/// writes all of every line.
pub fn chained(case: &mut Case, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
    let order_bytes = bytes / case.line_bytes() * NUMBERS_OF_LINE * size_of::<u32>() as u64;
    drop(case.allot(1, bytes + order_bytes, pages, node)?);
    case.touched(bytes, pages, node)
}

/// A load from memory takes so long at least, ns: by half of it on the fastest machines.
const LEAST_LOAD_NS: f64 = 30.0;

/// Lines that the round's loads need, where the buffer is memory and has many more.
fn few_lines(case: &Case, bytes: u64) -> Option<u64> {
    let needed = (case.grant_ns() / LEAST_LOAD_NS) as u64;
    Some(needed).filter(|&lines| case.is_outside_caches(bytes) && 2 * lines <= bytes / case.line_bytes())
}

/// Time of a load that needs the one before, along a random chain through `memory`: through all of its lines, or as many as the round needs. The samples
/// are taken by `measure`.
pub fn loads(
    case: &mut Case,
    memory: &mut [u8],
    measure: impl FnOnce(&mut Case, &mut Chain<'_>) -> Result<()>,
) -> Result<()> {
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let Some(lines) = few_lines(case, memory.len() as u64) else {
        let chain = Chain::random(memory, line, seed).map_err(refused)?;
        return measure(case, &mut chain.settled(case.llc_bytes(), line as u64, &case.steady()));
    };
    let mut chain = Chain::sparse(memory, line, lines, seed).map_err(refused)?;
    measure(case, &mut chain)?;
    match chain.has_come_back() {
        true => Err(RoundError::wrong(say!("the loads were too fast to come from memory"))),
        false => Ok(()),
    }
}
