//! Probes of arithmetic: the latency, throughput and parallelism of operations, and the peak of floating point.

use hostmark_engine::prelude::*;

use crate::kernels::arith::Arrays;
use crate::kernels::flops::{self, FlopsKernel};
use crate::kernels::operation::INDEPENDENT;

/// Probe cpu.latency: how long one arithmetic operation takes when the next one waits for it.
pub static LATENCY: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[TYPE, OP],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["type", "op"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_latency),
    ..crate::texts::cpu::LATENCY
};

/// All that lmbench's four tables of operations show, in every profile.
const TYPE: Axis = Axis { points: Points::quick(&["i64", "f64", "i32", "f32"]), ..super::TYPE };
const OP: Axis = Axis {
    points: Points::quick(&["add", "mul", "div", "bit", "mod"]).standard(&["div_small", "mod_small"]),
    ..super::OP
};

fn measure_latency(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.loops(|n| std::hint::black_box(operation.chain(n))).time()
}

/// Probe cpu.throughput: how many arithmetic operations a second one core does when none waits for another.
pub static THROUGHPUT: Probe = Probe {
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    axes: &[super::TYPE, super::OP],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["type", "op"] }],
    limit: Limit::OperationsPerCycle(&[("", MOST_A_CYCLE)]),
    adds: Some(&[("type", "i64"), ("op", "add")]),
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_throughput),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::cpu::THROUGHPUT)
};

/// Largest plausible value, more than the widest cores can start: those sold have up to 8 adders, and rename up to 10 instructions a cycle.
const MOST_A_CYCLE: u32 = 12;

fn measure_throughput(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.loops(|turns| std::hint::black_box(operation.independent(turns))).rate(INDEPENDENT)
}

/// Probe cpu.parallelism: how many operations of a kind the core has under way at once, from latency and throughput.
pub static PARALLELISM: Probe = Probe {
    unit: Unit::Ratio,
    better: Better::Higher,
    axes: &[super::TYPE, super::OP],
    measure: Measure::Derive { from: &[Source::whole("cpu.latency"), Source::whole("cpu.throughput")], derive },
    ..crate::texts::cpu::PARALLELISM
};

fn derive(cases: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let of = |probe: &str| cases.iter().filter(move |case| case.probe == probe).collect::<Vec<_>>();
    let throughputs = of("cpu.throughput");
    let both = of("cpu.latency").into_iter().filter_map(|latency| {
        let throughput = throughputs.iter().find(|case| case.params == latency.params)?;
        let (ns, rate) = (latency.measured()?, throughput.measured()?);
        let product = |values: &[f64]| values[0] / 1e9 * values[1];
        let at_once = (super::by_round(&[ns, rate], product), super::quiet_of([(ns, false), (rate, true)], product));
        Some(super::derived("cpu.parallelism", latency.params.clone(), &[ns, rate], at_once, PARALLELISM.better))
    });
    both.collect()
}

/// Probe cpu.bogoflops: a small expression with one division, element by element.
pub static BOGOFLOPS: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice("type", "f64", Points::quick(&["f32", "f64"]))],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_bogoflops),
    ..crate::texts::cpu::BOGOFLOPS
};

fn measure_bogoflops(case: &mut Case) -> Result<()> {
    match case.param::<String>("type")?.as_str() {
        "f32" => {
            let mut arrays = Arrays::<f32>::new();
            case.loops(|n| arrays.compute(n)).time()
        }
        _ => {
            let mut arrays = Arrays::<f64>::new();
            case.loops(|n| arrays.compute(n)).time()
        }
    }
}

/// Probe cpu.flops: multiplications and additions a second at their peak, by instruction set and type, on one core and on all.
pub static FLOPS: Probe = Probe {
    axes: &[
        Axis::choice(
            "isa",
            "best",
            Points::quick(&["best"])
                .standard(&["scalar", "sse2", "fma-128", "avx2", "avx512", "amx", "neon", "i8mm", "sve"]),
        ),
        Axis::choice("type", "f64", Points::quick(&["f64"]).standard(&["f32", "bf16", "fp16", "int8"])),
        Axis::threads("threads", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["isa", "type", "threads"] }],
    limit: Limit::OperationsPerCycle(MOST_FLOPS_A_CYCLE),
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_flops),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::cpu::FLOPS)
};

/// A multiplication with its addition counts as two. Two pipes of 512 bits are the most that a core has (Intel's server cores, AMD Zen 5,
/// A64FX; four of 128 bits of Neoverse V2 are half of it), and tiles of 16 × 16 take 16 cycles (Intel's optimization manual on AMX).
const MOST_FLOPS_A_CYCLE: &[(&str, u32)] =
    &[("int8", 2048), ("bf16", 1024), ("fp16", 2 * 2 * 32), ("f32", 2 * 2 * 16), ("", 2 * 2 * 8)];

/// The kernel of an instruction set for a type of factors, or with `best` the fastest for it.
pub(super) fn flops_kernel(name: &str, of: &str) -> Result<&'static FlopsKernel> {
    let is_best = name == "best";
    if !is_best && !flops::is_known(name) {
        return Err(RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name}")));
    }
    let kernel = flops::available(of).rfind(|kernel| is_best || kernel.name == name);
    kernel.ok_or_else(|| match is_best {
        true => RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no instruction for {of}")),
        false => RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no {name} for {of}")),
    })
}

fn measure_flops(case: &mut Case) -> Result<()> {
    let (isa, of): (String, String) = (case.param("isa")?, case.param("type")?);
    let kernel = flops_kernel(&isa, &of)?;
    case.note("isa", kernel.name);
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(|turns| kernel.run(turns)).rate(kernel.operations()),
        cpus => case.workers(cpus, |_| Ok(|turns| kernel.run(turns))).rate(kernel.operations()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A case whose rounds have these medians.
    pub fn record(probe: &str, params: &[(&str, &str)], medians: &[f64]) -> CaseRecord {
        let params = Params(params.iter().map(|&(axis, value)| (axis.to_owned(), value.to_owned())).collect());
        let rounds: Vec<Vec<f64>> = medians.iter().map(|&median| vec![median]).collect();
        let mut record = crate::cpu::derived(probe, params, &[], (rounds, None), Better::Lower);
        if let Outcome::Measured(measured) = &mut record.outcome {
            let round = |(round, &median): (usize, &f64)| RoundRecord {
                round: round as u32,
                median,
                core_hz: Some(2e9),
                cpus: vec![0],
                iterations: 1,
                settled: true,
                ..RoundRecord::default()
            };
            measured.rounds = medians.iter().enumerate().map(round).collect();
        }
        record
    }

    #[test]
    fn what_both_measured_has_their_product_and_nothing_else_has_one() {
        let add = [("type", "i64"), ("op", "add")];
        let mul = [("type", "f64"), ("op", "mul")];
        let cases = [
            record("cpu.latency", &add, &[1.0, 1.0, 1.25, 1.0, 1.0]),
            record("cpu.latency", &mul, &[2.0; 5]),
            record("cpu.throughput", &add, &[4e9, 5e9, 4e9, 5e9, 5e9]),
        ];
        let found = derive(&cases, &HostFacts::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, "cpu.parallelism@type=i64,op=add");
        let estimate = &found[0].measured().unwrap().estimate;
        assert_eq!((estimate.typical, estimate.min, estimate.max), (5.0, 4.0, 5.0));
        assert!(estimate.ci_low.unwrap() < 5.0 && estimate.ci_high.unwrap() >= 5.0);
    }
}
