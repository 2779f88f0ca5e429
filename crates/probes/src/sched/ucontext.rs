//! Probe sched.ucontext: a pair of switches between two stacks of one thread.

use crate::workloads::machine::context;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice("way", "own", Points::quick(&["own"]).standard(&["libc", "own_mask"]))],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::sched::UCONTEXT
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "own" => {
            let mut coroutine = context::Coroutine::new()?;
            case.loops(|n| (0..n).for_each(|_| coroutine.there_and_back())).time()
        }
        "own_mask" => {
            let mut coroutine = context::Coroutine::new()?;
            case.calls(|| {
                context::set_signal_mask()?;
                coroutine.there_and_back();
                context::set_signal_mask()
            })
            .time()
        }
        _ => by_libc(case),
    }
}

#[cfg(target_env = "gnu")]
fn by_libc(case: &mut Case) -> Result<()> {
    let mut coroutine = context::by_libc::LibcCoroutine::new()?;
    case.calls(|| coroutine.there_and_back()).time()
}

#[cfg(not(target_env = "gnu"))]
fn by_libc(_: &mut Case) -> Result<()> {
    Err(RoundError::skipped(ReasonCode::Kernel, say!("this C library has no swapcontext")))
}
