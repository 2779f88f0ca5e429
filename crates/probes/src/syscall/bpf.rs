//! Probe syscall.bpf: how long an eBPF program takes inside the kernel, by what it does.

use crate::workloads::machine::bpf::{Program, Work};
use hostmark_engine::prelude::*;

/// Duration of a run as the kernel reports it.
const KERNEL: Quantity = Quantity::given("kernel", Unit::Nanoseconds, Better::Lower, term!("as the kernel timed it"));

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, Quantity::REFERENCE_CYCLES, Quantity::BATCH_CYCLES, KERNEL],
    axes: &[Axis::choice("program", "empty", Points::quick(&["empty", "add", "time", "array", "hash"]))],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::BPF
};

/// Number of calls in a row that signals end from which on it is no chance.
const INTERRUPTED: usize = 100;

fn measure(case: &mut Case) -> Result<()> {
    let work = match case.param::<String>("program")?.as_str() {
        "add" => Work::Add,
        "time" => Work::Time,
        "array" => Work::Array,
        "hash" => Work::Hash,
        _ => Work::Nothing,
    };
    let mut program =
        Program::load(work).map_err(|error| RoundError::lacking(say!("cannot load a BPF program"), &error))?;
    let mut kernel_ns = Vec::new();
    let batches = case.timed_batches(|clock, runs, _| {
        let times = u32::try_from(runs)?;
        for _ in 0..INTERRUPTED {
            let start = clock.start();
            match program.run(times) {
                Ok(took_ns) => {
                    let took = clock.end().since(start);
                    kernel_ns.push(f64::from(took_ns));
                    return Ok((took, runs));
                }
                // Any signal to this process ends the call, and the kernel says nothing of the runs until then.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => program.resume()?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(RoundError::wrong(say!("signals ended every run of the BPF program")))
    });
    batches.time()?;
    program.check()?;
    case.also(KERNEL.name, kernel_ns)
}
