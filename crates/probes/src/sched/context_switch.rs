//! Probe sched.context_switch: from one process to the next, by their number and by the memory that each uses.

use crate::kernels::bandwidth::{self, ReadKernel};
use crate::workloads::handover::token_ring::{Member, Pipes, Ring};
use crate::workloads::processes::program;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::WHOLE, Quantity::OVERHEAD],
    axes: &[
        Axis::count("processes", "2", Points::quick(&["2", "8", "16"]).standard(&["4", "24", "32", "64", "96"])),
        Axis::size("footprint", "0", Points::quick(&["0", "16384", "65536"]).standard(&["4096", "32768"])),
        Axis::choice("kind", "process", Points::quick(&["process"]).standard(&["thread"])),
        Axis::placements("cpus", "same_cpu", Points::quick(&["same_cpu"]).standard(&["same_cache", "free"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["processes", "footprint"] }],
    limit: Limit::Switch,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::sched::CONTEXT_SWITCH
};

/// A member's work: it sums memory of its own, if any.
fn summing(memory: &Allotment, kernel: &'static ReadKernel) -> std::io::Result<impl FnMut() + use<>> {
    let memory = memory.map().map_err(|refused| std::io::Error::other(Message::from(refused)))?;
    let has_footprint = !memory.bytes().is_empty();
    if has_footprint {
        kernel.run(memory.bytes(), 1).map_err(|refused| std::io::Error::other(Message::from(refused)))?;
    }
    Ok(move || {
        if has_footprint {
            // It takes this memory, as it did above.
            let _ = kernel.run(memory.bytes(), 1);
        }
    })
}

fn measure(case: &mut Case) -> Result<()> {
    let members: usize = case.param("processes")?;
    let footprint: usize = case.param("footprint")?;
    case.may_fill((footprint as u64).saturating_add(program::LEAST_BYTES).saturating_mul(members as u64))?;
    let memory = case.allot(members as u64 + 1, footprint as u64, Pages::Base, None)?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let kernel = bandwidth::read("scalar").ok_or_else(|| RoundError::internal(say!("there is no scalar kernel")))?;
    let is_thread = case.param::<String>("kind")? == "thread";
    let member = if is_thread { Member::Thread } else { Member::Process };
    let none = |error| RoundError::lacking(say!("cannot build a ring of {members}"), &error);
    let pipes = Pipes::new(members).map_err(none)?;
    let is_free = case.param::<String>("cpus")? == "free";
    let place = |number: usize| if is_free { cpus.clone() } else { vec![cpus[number % cpus.len()]] };
    let of_members = memory.clone();
    let ring = Ring::new(member, members, place, move || summing(&of_members, kernel)).map_err(none)?;
    let work = std::cell::RefCell::new(summing(&memory, kernel).map_err(none)?);
    case.loops(|n| {
        let mut work = work.borrow_mut();
        (0..n).try_for_each(|_| {
            ring.tour()?;
            work();
            Ok::<(), RoundError>(())
        })
    })
    .beyond(|n| {
        let mut work = work.borrow_mut();
        (0..n).try_for_each(|_| pipes.tour(&mut *work))
    })
    .each(members as u64)
    .steady()
    .time()
}
