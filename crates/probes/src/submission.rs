//! Submission of an io_uring's entries: axis `submission`.

use hostmark_engine::prelude::*;
/// The thread itself by a call; on the standard profile also a thread of the kernel that looks for them (SQPOLL).
pub const SUBMISSION: Axis = Axis::choice("submission", "call", Points::quick(&["call"]).standard(&["polled"]));

/// The core's own where the thread itself calls: a thread of the kernel is waited for.
pub const CORE_BOUND: CoreBound =
    CoreBound::Within(|params| (params.get(SUBMISSION.name) == Some(SUBMISSION.default)).then_some(0.0));

/// The CPU of the kernel's thread, the nearest other one, noted; none where the thread itself calls, as it has to without a ring.
pub fn poller(case: &mut Case, has_ring: bool) -> Result<Option<usize>> {
    if case.param::<String>("submission")? != "polled" {
        return Ok(None);
    }
    if !has_ring {
        return Err(RoundError::not_applicable(say!("a call is made by the thread itself")));
    }
    let cpu = case.other_cpu().ok_or_else(|| {
        RoundError::skipped(ReasonCode::TooFewCpus, say!("needs a second CPU for the kernel's thread"))
    })?;
    case.note("poller_cpu", cpu.0);
    Ok(Some(cpu.0))
}
