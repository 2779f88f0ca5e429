//! The fastest of several walks through a chain: what disturbs only adds.

use hostmark_engine::prelude::*;

use super::Chain;

/// Nanoseconds a load of the fastest of `times` walks of `loads` through the nodes at `offsets`, after one that is not
/// timed: what disturbs only adds.
pub fn fastest_ns(clock: &Clock, memory: &mut [u8], offsets: &[usize], loads: usize, times: usize) -> Result<f64> {
    let chain = Chain::through(memory, offsets);
    let mut chain = chain.map_err(|refused| RoundError::failed(ReasonCode::Internal, refused))?;
    let loads = loads as u64;
    chain.walk(loads);
    let walk = |_| clock.time(|| chain.walk(loads));
    Ok((0..times).map(walk).fold(f64::INFINITY, f64::min) / loads as f64)
}
