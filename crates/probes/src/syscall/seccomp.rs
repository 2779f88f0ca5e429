//! Probe syscall.seccomp: a null call behind a filter of system calls, by the filter's length and by what it looks at.

use hostmark_engine::prelude::*;
use sys::call_filter::{LooksAt, allow_all_after};

use crate::workloads;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::choice("filter", "argument", Points::quick(&["argument", "number", "none"])),
        Axis::count("instructions", "64", Points::quick(&["64"]).standard(&["2", "512"]).thorough(&["4096"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["filter", "instructions"] }],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::SECCOMP
};

fn measure(case: &mut Case) -> Result<()> {
    let looks_at = match case.param::<String>("filter")?.as_str() {
        "number" => Some(LooksAt::Number),
        "argument" => Some(LooksAt::Argument),
        _ => None,
    };
    let instructions = case.param::<u16>("instructions")?;
    let cpus = case.thread_cpus();
    case.workers(&cpus, |_| {
        // The filter is this thread's alone, which ends with the round.
        if let Some(at) = looks_at {
            allow_all_after(instructions, at)
                .map_err(|error| RoundError::lacking(say!("cannot install a seccomp filter"), &error))?;
        }
        Ok(|calls: u64| {
            for _ in 0..calls {
                std::hint::black_box(workloads::getppid());
            }
        })
    })
    .time()
}
