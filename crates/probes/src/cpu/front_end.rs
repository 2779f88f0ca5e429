//! Probe cpu.front_end: how fast the core gets its instructions, by the size of the loop that they are in.

use crate::kernels::branch::{MOST_BYTES, StraightCode};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    axes: &[
        Axis::size(
            "size",
            "16384",
            Points::quick(&["4096", "65536", "1048576"])
                .standard(&[
                    "2048", "8192", "16384", "24576", "32768", "131072", "262144", "524288", "2097152", "4194304",
                ])
                .thorough(&["12288", "49152", "98304", "196608", "393216", "786432", "8388608", "67108864"]),
        )
        .fills(Fill::EachThread(1)),
        Axis::count("length", "4", Points::quick(&["4"]).standard(&["2"]).thorough(&["8"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["size", "length"] }],
    limit: Limit::OperationsPerCycle(&[("", MOST_A_CYCLE)]),
    core_bound: CoreBound::SIZE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::FRONT_END
};

/// Largest plausible value, more than the widest cores take: those sold rename up to 10 instructions a cycle.
const MOST_A_CYCLE: u32 = 16;

fn measure(case: &mut Case) -> Result<()> {
    let (size, length): (usize, usize) = (case.param("size")?, case.param("length")?);
    if size > MOST_BYTES {
        return Err(RoundError::not_applicable(say!("the loop has 64 MiB at most")));
    }
    case.may_fill(size as u64)?;
    let code = StraightCode::new(size, length).ok_or_else(|| {
        let text = say!("this architecture has no filler of {length} bytes");
        RoundError::skipped(ReasonCode::Architecture, text)
    })?;
    let code = code.map_err(|error| RoundError::lacking(say!("cannot execute generated code"), &error))?;
    case.loops(|turns| code.run(turns)).rate(code.instructions())
}
