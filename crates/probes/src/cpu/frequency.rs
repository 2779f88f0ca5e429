//! Probe cpu.frequency: the core's actual clock under load.

use std::sync::atomic::{AtomicBool, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::flops::FlopsKernel;
use crate::kernels::{arith, flops};

/// The clock once the vectors are over.
const AFTER: Quantity = Quantity::given(
    "after",
    Unit::Hertz,
    Better::Higher,
    Text { en: "4 ms after the vectors", zh: "向量结束 4 ms 后" },
);

pub static PROBE: Probe = Probe {
    title: Text { en: "Core frequency", zh: "核心频率" },
    revision: 1,
    unit: Unit::Hertz,
    better: Better::Higher,
    also: &[AFTER],
    explain: Explain {
        what: Text {
            en: "A chain of dependent register additions takes exactly one core cycle each, so additions per second \
                 are the core's frequency. load=scalar runs the chain alone, on one core or on every usable CPU at \
                 once; with several threads the value is their mean while all run. load=simd runs fused multiply-adds \
                 of the widest vectors for 0.1 to 0.5 ms before each 0.05 ms of the chain, and times the chain alone. \
                 The other threads run the multiply-adds without pause; the value is that of the first CPU. load=avx2 and avx512 do so \
                 with vectors of that width, and then run the chain for 4 ms more: `after` is the clock at its end.",
            zh: "一串相互依赖的寄存器加法；每次恰好一个核心周期，因此每秒加法次数就是核心频率。load=scalar：只运行这串加法，在一个核心上，或同时在所有\
                 可用 CPU 上；多线程时，数值是它们在共同时间内的平均值。load=simd：每次先运行约 0.1 到 0.5 ms 最宽向量的融合乘加，再单独计时 0.05 \
                 ms 的加法；其他线程不停地运行乘加，数值为第一个 CPU 的频率。load=avx2 与 avx512 用该宽度的向量，之后再运行 4 ms 加法，`after` 为\
                 其末尾的频率。",
        },
        why: Text {
            en: "The name plate and the kernel's cpufreq files show a nominal or requested clock. This is the clock \
                 that your program gets, with turbo, power limits and neighbours. Every latency in cycles depends on \
                 it.",
            zh: "型号标称值和内核 cpufreq 文件给出的是标称或请求的频率；这里测的是程序真正得到的频率，包含睿频、功耗限\
                 制和邻居虚拟机的影响。所有以周期表示的延迟都以它为基础。",
        },
        reading: Text {
            en: "Compare one thread with all: a drop is the power or turbo limit. SMT siblings share one core's adders \
                 without loss here, since a dependent chain leaves them mostly idle. The gap from scalar down to simd \
                 is the clock that wide vectors cost; `after` above the value is the clock coming back. A case lasts 0.5, 3 or 20 s by profile; a clock that falls over \
                 minutes shows only in longer runs.",
            zh: "对比单线程与全部线程：下降来自功耗或睿频限制。SMT 兄弟线程在此共享加法器而不受损失，因为依赖链让加法器大多空闲。simd 低于 scalar 的部分，是宽向量付出的\
                 频率；`after` 高于数值的部分，是频率在恢复。按档不同，一个用例持续 0.5、3 或 20 s：若频率在数分钟内才下降，需要更长的运行才能看到。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 3.09 GHz scalar, 2.4 GHz \
                 beside AVX-512 on all pipes, 2.5 GHz nominal. Intel's specification updates list three turbo limits \
                 a model (no AVX, AVX2, AVX-512): 5 to 30 % apart up to Cascade Lake, little on later Intel, AMD and \
                 Arm, where power alone decides.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：scalar 3.09 GHz，AVX-512 占满流水线时 2.4 GHz，\
                 标称 2.5 GHz。Intel 的规格更新为每个型号列出三档睿频上限（无 AVX、AVX2、AVX-512）：到 Cascade Lake 为止相差 5 到 30%；之后的 \
                 Intel、AMD 和 Arm 很小，只取决于功耗。",
        },
        causes: Text {
            en: "A power-saving governor or energy preference, thermal throttling, a power cap (RAPL, BMC), turbo \
                 disabled in firmware, neighbours that use up the power of a shared socket. In a guest also a virtual \
                 CPU that was not running: a separate value counts its steal.",
            zh: "节能的调频策略或能耗偏好、过热降频、功耗封顶（RAPL、BMC）、固件中关闭睿频、同一插槽的邻居虚拟机耗尽功\
                 率。在虚拟机里还可能是虚拟 CPU 没有在运行：其 steal 会与数值一并给出。",
        },
    },
    related: &["cpu.latency", "cpu.flops", "cpu.scaling", "cpu.sieve"],
    differs: Some(Text {
        en: "mhz times loops of different instruction mixes and takes the greatest common divisor of their cycles, \
             which is off by whole factors on cores that fuse or split operations. A dependent addition takes one \
             cycle by design on every x86-64 and aarch64 server core, and hostmark times the chain on the loaded core.",
        zh: "mhz 测几个不同指令组合的循环，再求其周期的最大公约数；在会融合或拆分操作的核心上会差整数倍。依赖的加法链在所有 x86-64 与 aarch64 服务器核心上按设计都是每个\
             一个周期，而且是在有负载的核心上测的。",
    }),
    axes: &[
        Axis::choice(
            "load",
            "scalar",
            Points::Listed { quick: &["scalar", "simd"], standard: &["avx2", "avx512"], thorough: &[] },
        ),
        Axis::threads("threads", Points::OfHost(one_and_all)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["load", "threads"] }],
    replaces: &["mhz"],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn one_and_all(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, host.usable_cpus().len() as u64]
}

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("load")?.as_str() {
        "scalar" => {}
        "simd" => return beside_vectors(case, flops::widest(), false),
        name => {
            let kernel = flops::kernel(name);
            let none = || RoundError::skipped(ReasonCode::Architecture, format!("this architecture has no {name}"));
            return beside_vectors(case, kernel.ok_or_else(none)?, true);
        }
    }
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(add).rate(1),
        cpus => {
            // Of n threads each counts an n-th, so that the sum over all is their mean.
            let share = cpus.len() as u64;
            case.workers(cpus, |_| Ok(move |n| add(n * share))).rate(1)
        }
    }
}

/// Additions that are timed at once: 50 µs, long against the clock's cost, and short against the two thirds of a
/// millisecond for which cores keep the clock of wide vectors after the last of them.
const ADDITIONS: u64 = 150_000;
/// Turns of multiply-adds before: 0.1 to 0.5 ms, by the width and the number of pipes.
const TURNS: u64 = 4_000;

/// Additions after which the clock is looked at again: 4 ms and more, several times as long as a clock is kept.
const ADDITIONS_AFTER: u64 = 80 * ADDITIONS;

fn beside_vectors(case: &mut Case, kernel: &FlopsKernel, is_followed: bool) -> Result<()> {
    let none = || RoundError::skipped(ReasonCode::Hardware, format!("this CPU has no {}", kernel.name));
    let vectors = kernel.runnable(true).ok_or_else(none)?;
    case.note("isa", kernel.name);
    let mut after_hz = Vec::new();
    let stop = AtomicBool::new(false);
    let others = case.thread_cpus().split_off(1);
    let load = |cpu: Cpu| {
        threads::bind(cpu)?;
        while !stop.load(Ordering::Relaxed) {
            vectors.run(TURNS / 8);
        }
        Ok(())
    };
    let load = &load;
    std::thread::scope(|scope| {
        let loads = threads::start(scope, others.iter().map(|&cpu| move || load(cpu)))?;
        let observed = case
            .timed(|clock| {
                vectors.run(TURNS);
                let start = clock.start();
                add(ADDITIONS);
                let beside = clock.end().since(start);
                if is_followed {
                    add(ADDITIONS_AFTER);
                    after_hz.push(ADDITIONS as f64 * 1e9 / clock.time(|| add(ADDITIONS)));
                }
                Ok(beside)
            })
            .rate(ADDITIONS);
        stop.store(true, Ordering::Relaxed);
        // A frequency without its load would be the wrong one.
        threads::join(loads).and(observed)
    })?;
    case.also(AFTER.name, after_hz)
}

fn add(n: u64) {
    std::hint::black_box(arith::add_chain(n, 1, std::hint::black_box(1)));
}
