//! Probe cpu.flops: floating-point operations a second at their peak, by instruction set, on one core and on all.

use hostmark_engine::prelude::*;

use crate::kernels::flops;

pub static PROBE: Probe = Probe {
    title: Text { en: "Peak floating-point rate", zh: "浮点峰值速率" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "Fused multiply-adds run on 12 or 24 independent registers, without memory access; each counts as two \
                 operations per vector element. isa: fma-128, avx2 and avx512 are fused, with 128, 256 and 512 bits. \
                 scalar and sse2 on x86 use as many multiplications as additions, like programs built for any x86-64; \
                 scalar, neon and sve on Arm are fused. best is the widest that the CPU has (noted).",
            zh: "在 12 或 24 个互不等待的寄存器上做融合乘加，不访问内存；每条对向量的每个元素计两次运算。isa：\
                 fma-128、avx2、avx512 分别是 128、256、512 位的融合乘加；x86 的 scalar 与 sse2 是数目相等的乘法和加\
                 法，即面向任意 x86-64 的程序所用；arm 的 scalar、neon、sve 均为融合乘加。best 为 CPU 具备的最宽者（见\
                 备注）。",
        },
        why: Text {
            en: "The ceiling of dense linear algebra, signal processing and inference on a CPU. Together with memory \
                 bandwidth it forms the roofline against which programs are compared.",
            zh: "它是 CPU 上稠密线性代数、信号处理和推理的上限：与内存带宽一起构成衡量程序的屋顶线。",
        },
        reading: Text {
            en: "Frequency × lanes × 2 × pipes, with the frequency of cpu.frequency@load=simd. All threads together \
                 should give one thread's rate times the cores, less what power limits cost. SMT siblings share the \
                 pipes and add nothing.",
            zh: "频率 × 元素数 × 2 × 流水线数，其中频率取 cpu.frequency@load=simd。全部线程应为单线程乘以核心数，再减去功耗限制；SMT 兄弟线程共用流水线，不\
                 会增加。",
        },
        typical: Text {
            en: "By design (Intel's and AMD's optimisation manuals): 16 f64 operations a cycle with AVX2, 32 with \
                 AVX-512, but 16 with one such pipe, as in small Xeons, or with two halves, as in Zen 4; 16 on Arm \
                 with four NEON pipes. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 31.8 of \
                 32 a cycle, 76 Gflop/s on one core.",
            zh: "按设计（Intel 与 AMD 的优化手册）：AVX2 每周期 16 次 f64 运算，AVX-512 为 32 次；只有一条 512 位流水线的小型 Xeon，或由两半拼成的 \
                 Zen 4，为 16 次；Arm 用四条 NEON 流水线为 16 次。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：每\
                 周期 31.8 次（上限 32），单核 76 Gflop/s。",
        },
        causes: Text {
            en: "The lower clock of wide vectors (Intel up to Cascade Lake); power limits with all cores busy; a busy \
                 SMT sibling; in a guest, an instruction set that the hypervisor hides (a note shows the isa of best).",
            zh: "宽向量所得的较低频率（Cascade Lake 及以前的 Intel）、全部核心时的功耗限制、繁忙的 SMT 兄弟线程；在虚\
                 拟机里还有被虚拟机监控程序隐藏的指令集：isa=best 所选备注中注明。",
        },
    },
    related: &["cpu.frequency", "cpu.throughput", "memory.stream"],
    axes: &[
        Axis::choice(
            "isa",
            "best",
            Points::Listed {
                quick: &["best"],
                standard: &["scalar", "sse2", "fma-128", "avx2", "avx512", "neon", "sve"],
                thorough: &[],
            },
        ),
        Axis::choice("type", "f64", Points::Listed { quick: &["f64"], standard: &["f32"], thorough: &[] }),
        Axis::threads("threads", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["isa", "type", "threads"] }],
    limit: Limit::OperationsPerCycle(&[("f32", 2 * MOST_F64_A_CYCLE), ("", MOST_F64_A_CYCLE)]),
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A fused multiply-add counts as two; two pipes of 512 bits are the most that a core has (Intel's server cores, AMD Zen 5,
/// A64FX; four of 128 bits of Neoverse V2 are half of it).
const MOST_F64_A_CYCLE: u32 = 2 * 2 * 8;

fn measure(case: &mut Case) -> Result<()> {
    let isa: String = case.param("isa")?;
    let kernel = match isa.as_str() {
        "best" => flops::widest(),
        name => flops::kernel(name)
            .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, format!("this architecture has no {name}")))?,
    };
    let is_double = case.param::<String>("type")? == "f64";
    let kernel_name = kernel.name;
    let kernel = kernel
        .runnable(is_double)
        .ok_or_else(|| RoundError::skipped(ReasonCode::Hardware, format!("this CPU has no {kernel_name}")))?;
    case.note("isa", kernel_name);
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(|turns| kernel.run(turns)).rate(kernel.flops()),
        cpus => case.workers(cpus, |_| Ok(|turns| kernel.run(turns))).rate(kernel.flops()),
    }
}
