//! Probe syscall.bpf: how long an eBPF program takes inside the kernel, by what it does.

use hostmark_engine::prelude::*;

use crate::workloads::machine::bpf::{Program, Work};

/// What the kernel says a run took.
const KERNEL: Quantity = Quantity::given(
    "kernel",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "as the kernel timed it", zh: "内核自身的计时" },
);

pub static PROBE: Probe = Probe {
    title: Text { en: "eBPF program", zh: "eBPF 程序" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, Quantity::REFERENCE_CYCLES, Quantity::BATCH_CYCLES, KERNEL],
    explain: Explain {
        what: Text {
            en: "Loads an eBPF program of the type socket filter, attaches it to nothing, and has the kernel run it 10,000 times by one \
                 call (BPF_PROG_TEST_RUN); the value is the time per run. program=empty only returns; add adds a register a thousand \
                 times, each to the sum before; time calls bpf_ktime_get_ns; array looks an entry up in an array map and adds to it \
                 atomically; hash does so in a hash map. What the program returns is checked, and the maps must have \
                 counted every run. `kernel` is what the kernel itself timed, in whole nanoseconds.",
            zh: "加载一个 socket filter 类型的 eBPF 程序，不挂接到任何对象，用一次调用让内核运行它 10 000 次（BPF_PROG_TEST_RUN）；数值是每次运行的\
                 时间。program=empty 只返回；add 把寄存器依次累加一千次；time 调用 bpf_ktime_get_ns；array 在数组 map 中查找一项并原子加一；hash \
                 在哈希 map 中做同样的事。检查程序的返回值，且 map 必须记下每次运行。`kernel` 是内核自身的计时，取整到纳秒。",
        },
        why: Text {
            en: "Tracing, networking and security agents attach such programs to calls and packets. Each event then pays for a run: \
                 an entry, and what the program calls.",
            zh: "跟踪、网络与安全代理把这类程序挂在系统调用和数据包上。此后每个事件都要付一次运行的代价：进入程序，以及程序所调用的功能。",
        },
        reading: Text {
            en: "empty is the entry and the test run's own loop. add takes a thousand core cycles at least, one for each dependent \
                 addition, where the program is compiled (JIT), and many times that where it is interpreted; the core hides most of \
                 the entry under it, as it does with short programs. time and hash beyond empty are the price of the helper. The hook to \
                 which a program is attached comes on top.",
            zh: "empty 是进入程序以及测试循环本身。程序经 JIT 编译时，add 至少需要一千个核心周期，每次相互依赖的加法一个；解释执行时为其许多倍。核心会\
                 让进入程序的大部分代价与之重叠，短程序也是如此。time、hash 高出 empty 的部分是相应 helper 的代价。程序所挂的钩子另计。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs: empty 26.2 ns (96 core cycles), array 27.0, hash 50.6, time 56.4, add 276 (1016 cycles).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（五次运行）：empty 26.2 ns（96 个核心周期），array 27.0，hash 50.6，time 56.4，add 276（1016 个周期）。",
        },
        causes: Text {
            en: "An interpreter (net.core.bpf_jit_enable=0); constant blinding (bpf_jit_harden); retpolines before helpers; statistics \
                 of programs (kernel.bpf_stats_enabled); a slow clock source. Skipped: it needs CAP_BPF or root, and containers forbid it.",
            zh: "解释执行（net.core.bpf_jit_enable=0）；常数混淆（bpf_jit_harden）；调用 helper 前的 retpoline；程序统计（kernel.bpf_stats_enabled）；\
                 时钟源很慢。被跳过：需要 CAP_BPF 或 root，容器会禁止。",
        },
    },
    related: &["syscall.socket_filter", "syscall.seccomp", "syscall.null"],
    axes: &[Axis::choice(
        "program",
        "empty",
        Points::Listed { quick: &["empty", "add", "time", "array", "hash"], standard: &[], thorough: &[] },
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// So many calls in a row that signals end are no chance.
const INTERRUPTED: usize = 100;

fn measure(case: &mut Case) -> Result<()> {
    let work = match case.param::<String>("program")?.as_str() {
        "add" => Work::Add,
        "time" => Work::Time,
        "array" => Work::Array,
        "hash" => Work::Hash,
        _ => Work::Nothing,
    };
    let mut program = Program::load(work).map_err(|error| RoundError::lacking("cannot load a BPF program", &error))?;
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
        Err(RoundError::failed(ReasonCode::CheckFailed, "signals ended every run of the BPF program"))
    });
    batches.time()?;
    program.check()?;
    case.also(KERNEL.name, kernel_ns)
}
