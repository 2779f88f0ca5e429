//! Memory that was used, freed and reported to the host, and is touched again once the host has had time to take it back.

use std::thread;
use std::time::Duration;

use super::first::AGAIN;
use super::pass::Pass;
use crate::workloads::mappings::balloon::reports_free_pages;
use crate::workloads::mappings::mapping::Mapping;
use hostmark_engine::prelude::*;

/// In huge pages: the kernel reports blocks of that size and larger, and gives such pages out of them alone.
const BYTES: usize = 64 << 20;
/// Mapped at a time, so that the worker can tell how far it is, and give up in time.
const PIECE_BYTES: usize = 16 << 20;
/// The kernel begins to report 2 s after pages were freed, and goes on every 2 s.
const WAIT: Duration = Duration::from_secs(5);

/// Measures it, once a round.
pub(super) fn returned(case: &mut Case) -> Result<()> {
    if !reports_free_pages() {
        return Err(RoundError::skipped(
            ReasonCode::Hardware,
            say!("no balloon device takes reports of free pages: nothing tells when the host takes them back"),
        ));
    }
    let page = Pages::Pmd.bytes();
    let (piece_bytes, pieces) =
        (PIECE_BYTES.next_multiple_of(page), BYTES.div_ceil(PIECE_BYTES.next_multiple_of(page)));
    let mut filling = case.filling((piece_bytes * pieces) as u64)?;
    let touch = |all: &[Mapping], clock: &Clock, advance: &mut dyn FnMut() -> Result<()>| {
        let (mut took, mut faults) = (Ticks(0), 0);
        for piece in all {
            let pass = Pass::of(clock, || piece.write_every(page, piece_bytes))?;
            (took, faults) = (Ticks(took.0 + pass.took.0), faults + pass.faults);
            advance()?;
        }
        match faults * page as u64 > 2 * (piece_bytes * pieces) as u64 {
            true => Err(RoundError::skipped(ReasonCode::HugePages, say!("the kernel gives no huge pages"))),
            false => Ok((took, faults)),
        }
    };
    let map = || (0..pieces).map(|_| Mapping::anonymous(piece_bytes, Pages::Pmd)).collect::<std::io::Result<Vec<_>>>();
    let mut again_ns = Vec::new();
    case.once(|clock| {
        let used = map()?;
        touch(&used, clock, &mut || filling.advance(piece_bytes as u64))?;
        used.iter().try_for_each(Mapping::give_back)?;
        let (took, faults) = touch(&used, clock, &mut || Ok(()))?;
        again_ns.push(clock.ns(took) / faults.max(1) as f64);
        drop(used);
        thread::sleep(WAIT);
        match touch(&map()?, clock, &mut || Ok(()))? {
            (_, 0) => Err(RoundError::failed(ReasonCode::CheckFailed, say!("the kernel counted no faults"))),
            known => Ok(known),
        }
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}
