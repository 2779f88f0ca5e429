//! Memory that the kernel gave for the first time, and the same amount again: what a hypervisor adds that takes pages back.

use super::pass::Pass;
use crate::workloads::mappings::mapping::Mapping;
use hostmark_engine::prelude::*;

/// A page that was touched, given back to the kernel, and touched again.
pub(in crate::paging) const AGAIN: Quantity =
    Quantity::given("again", Unit::Nanoseconds, Better::Lower, term!("again"));

/// So much that the kernel cannot have it all from what other programs gave back just now.
const BYTES: usize = 128 << 20;
/// Mapped at a time, so that the worker can tell how far it is, and give up in time.
const PIECE_BYTES: usize = 16 << 20;

/// Measures it: once a round, since all later passes would find the pages of the first.
pub(super) fn first(case: &mut Case) -> Result<()> {
    let mut filling = case.filling(BYTES as u64)?;
    let touch =
        |piece: &Mapping, clock: &Clock| Pass::of(clock, || piece.write_every(Pages::Base.bytes(), PIECE_BYTES));
    let mut again_ns = Vec::with_capacity(BYTES / PIECE_BYTES);
    case.once(|clock| {
        let mut pieces = Vec::with_capacity(BYTES / PIECE_BYTES);
        let (mut took, mut faults) = (Ticks(0), 0);
        for _ in 0..BYTES / PIECE_BYTES {
            let piece = Mapping::anonymous(PIECE_BYTES, Pages::Base)?;
            let pass = touch(&piece, clock)?;
            (took, faults) = (Ticks(took.0 + pass.took.0), faults + pass.faults);
            filling.advance(PIECE_BYTES as u64)?;
            pieces.push(piece);
        }
        pieces.iter().try_for_each(Mapping::give_back)?;
        for piece in &pieces {
            let pass = touch(piece, clock)?;
            again_ns.push(clock.ns(pass.took) / pass.faults.max(1) as f64);
        }
        match faults {
            0 => Err(RoundError::failed(ReasonCode::CheckFailed, say!("the kernel counted no faults"))),
            _ => Ok((took, faults)),
        }
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}
