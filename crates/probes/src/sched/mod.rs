//! Group sched: from one flow of control to another.

mod migration;
mod sharing;
mod wakeup;

crate::group!("sched", shares_worker true:
    context_switch = CONTEXT_SWITCH ucontext = UCONTEXT wakeup = wakeup::WAKEUP
    loaded_wakeup = wakeup::LOADED_WAKEUP timer_latency = wakeup::TIMER_LATENCY idle_exit = wakeup::IDLE_EXIT
    fairness = sharing::FAIRNESS group_depth = GROUP_DEPTH core_scheduling = sharing::CORE_SCHEDULING
    messaging = MESSAGING migration = migration::MIGRATION contended_lock = sharing::CONTENDED_LOCK
    ipi = migration::IPI noise = sharing::NOISE
);

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::{self, ReadKernel};
use crate::own_group::OwnGroup;
use crate::workloads::handover::exchange;
use crate::workloads::handover::token_ring::{Crowd, Gathered, Member, MessageChannel, Pipes, Ring};
use crate::workloads::machine::context;
use crate::workloads::processes;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// Probe sched.context_switch: from one process to the next, by their number and by the memory that each uses.
pub static CONTEXT_SWITCH: Probe = Probe {
    revision: 3,
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
    measure: Measure::Run(measure_context_switch),
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

fn measure_context_switch(case: &mut Case) -> Result<()> {
    let members: usize = case.param("processes")?;
    let footprint: usize = case.param("footprint")?;
    case.may_fill((footprint as u64).saturating_add(processes::LEAST_BYTES).saturating_mul(members as u64))?;
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

/// Probe sched.ucontext: a pair of switches between two stacks of one thread.
pub static UCONTEXT: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice("way", "own", Points::quick(&["own"]).standard(&["libc", "own_mask"]))],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_ucontext),
    ..crate::texts::sched::UCONTEXT
};

fn measure_ucontext(case: &mut Case) -> Result<()> {
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

/// Probe sched.group_depth: from one process to the next, by how deep in control groups they are.
pub static GROUP_DEPTH: Probe = Probe {
    axes: &[
        Axis::choice("depth", "4", Points::quick(&["0", "1", "4", "8"]).thorough(&["2", "16"])),
        Axis::choice("groups", "one", Points::quick(&["one", "two"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["depth", "groups"] }],
    limit: Limit::HandOvers(1),
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure_group_depth),
    ..crate::texts::sched::GROUP_DEPTH
};

/// Round trips between two looks at the clock: what begins and ends them, two switches of its own, is a five hundredth.
const ROUND_TRIPS: u64 = 500;

fn measure_group_depth(case: &mut Case) -> Result<()> {
    let depth: usize = case.param("depth")?;
    let count = match case.param::<String>("groups")?.as_str() {
        _ if depth == 0 => 0,
        "two" => 2,
        _ => 1,
    };
    let [cpu] = case.cpus::<1>()?;
    let groups: Vec<OwnGroup> = (0..count).map(|_| OwnGroup::nested(depth)).collect::<Result<_>>()?;
    // After the groups, so that both end before these are removed.
    let mut pair = None;
    let mut both = exchange::working(&[cpu.0], || {
        let pair = match &mut pair {
            Some(pair) => pair,
            // The second begins here, in the first one's group.
            none => {
                let second = exchange::by_pipe(&[cpu.0])?;
                groups.get(1).map_or(Ok(()), |group| group.admit(second.pid())).map_err(std::io::Error::other)?;
                none.insert(second)
            }
        };
        (0..ROUND_TRIPS).try_for_each(|_| pair.there_and_back())?;
        pair.check()
    })?;
    groups.first().map_or(Ok(()), |group| group.admit(both.pid()))?;
    both.there_and_back()?;
    case.calls(|| both.there_and_back()).each(2 * ROUND_TRIPS).time()?;
    Ok(both.check()?)
}

/// Probe sched.messaging: many processes that all send to one another.
pub static MESSAGING: Probe = Probe {
    axes: &[
        Axis::count("groups", "1", Points::quick(&["1"]).standard(&["4", "10"]).thorough(&["20"])),
        Axis::choice("channel", "socket", Points::quick(&["socket"]).standard(&["pipe"])),
        Axis::placements("cpus", "free", Points::quick(&["free"]).standard(&["same_cpu"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["groups", "channel", "cpus"] }],
    blocking: true,
    measure: Measure::Run(measure_messaging),
    ..crate::texts::sched::MESSAGING
};

fn measure_messaging(case: &mut Case) -> Result<()> {
    let channel = match case.param::<String>("channel")?.as_str() {
        "pipe" => MessageChannel::Pipe,
        _ => MessageChannel::Socket,
    };
    let crowd = Crowd { groups: case.param("groups")?, senders: 20, messages: 100, bytes: 100, channel };
    let members = crowd.groups as u64 * 2 * crowd.senders as u64;
    case.may_fill(members * processes::LEAST_BYTES)?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let gathered = Gathered::new(crowd, &cpus).or_lacking(|| say!("cannot start so many processes"))?;
    case.calls(|| gathered.burst()).each(crowd.total()).time()
}
