//! Probe cpu.per_cpu_counter: an increment of the CPU's own counter by a restartable sequence, beside a shared one and a thread's own.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernels::atomic;
use crate::kernels::restartable::{CpuCounters, Restartable, add_alone};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("way", "rseq", Points::quick(&["rseq", "atomic", "thread"])),
        Axis::threads("threads", Points::OfHost(crate::running::powers_of_two)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["way", "threads"] }],
    limit: Limit::CyclesPerOp,
    from: Profile::Standard,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::PER_CPU_COUNTER
};

enum Adder {
    Restartable(Restartable),
    Shared(&'static atomic::AtomicMethod),
    Alone(Cpu),
}

impl Adder {
    fn of(way: &str, cpu: Cpu) -> Result<Adder> {
        let none = |error| RoundError::lacking(say!("there are no restartable sequences here"), &error);
        match way {
            "atomic" => atomic::method("best").map(Adder::Shared).ok_or_else(|| {
                RoundError::skipped(ReasonCode::Architecture, say!("no atomic operation is known here"))
            }),
            "thread" => Ok(Adder::Alone(cpu)),
            _ => Restartable::of_this_thread().map(Adder::Restartable).map_err(none),
        }
    }

    fn add(&self, counters: &CpuCounters, n: u64) {
        match self {
            Adder::Restartable(thread) => {
                thread.add(counters, n);
            }
            Adder::Shared(method) => method.fetch_add(counters.of(0), n),
            Adder::Alone(cpu) => add_alone(counters.of(cpu.0), n),
        }
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let way: String = case.param("way")?;
    let (counters, due) = (CpuCounters::default(), AtomicU64::new(0));
    let make = |cpu: Cpu| {
        let (adder, counters, due) = (Adder::of(&way, cpu)?, &counters, &due);
        Ok::<_, RoundError>(move |n: u64| {
            adder.add(counters, n);
            due.fetch_add(n, Ordering::Relaxed);
        })
    };
    let [here] = case.cpus::<1>()?;
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(make(here)?).time()?,
        cpus => case.workers(cpus, make).time()?,
    }
    match (due.load(Ordering::Relaxed), counters.sum()) {
        (due, sum) if due == sum => Ok(()),
        (due, sum) => {
            let text = say!("{due} increments were made, and the counters came to {sum}");
            Err(RoundError::wrong(text))
        }
    }
}
