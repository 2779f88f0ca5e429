//! Probe cpu.flops: floating-point operations a second at their peak, by instruction set, on one core and on all.

use crate::kernels::flops;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    axes: &[
        Axis::choice(
            "isa",
            "best",
            Points::quick(&["best"]).standard(&["scalar", "sse2", "fma-128", "avx2", "avx512", "neon", "sve"]),
        ),
        Axis::choice("type", "f64", Points::quick(&["f64"]).standard(&["f32"])),
        Axis::threads("threads", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["isa", "type", "threads"] }],
    limit: Limit::OperationsPerCycle(&[("f32", 2 * MOST_F64_A_CYCLE), ("", MOST_F64_A_CYCLE)]),
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::FLOPS
};

/// A fused multiply-add counts as two; two pipes of 512 bits are the most that a core has (Intel's server cores, AMD Zen 5,
/// A64FX; four of 128 bits of Neoverse V2 are half of it).
const MOST_F64_A_CYCLE: u32 = 2 * 2 * 8;

fn measure(case: &mut Case) -> Result<()> {
    let isa: String = case.param("isa")?;
    let kernel = match isa.as_str() {
        "best" => flops::widest(),
        name => flops::kernel(name)
            .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name}")))?,
    };
    let is_double = case.param::<String>("type")? == "f64";
    let kernel_name = kernel.name;
    let kernel = kernel
        .runnable(is_double)
        .ok_or_else(|| RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no {kernel_name}")))?;
    case.note("isa", kernel_name);
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(|turns| kernel.run(turns)).rate(kernel.flops()),
        cpus => case.workers(cpus, |_| Ok(|turns| kernel.run(turns))).rate(kernel.flops()),
    }
}
