//! Probe syscall.seccomp: a null call behind a filter of system calls, by the filter's length and by what it looks at.

use hostmark_engine::prelude::*;
use sys::call_filter::{LooksAt, allow_all_after};

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Null call behind seccomp", zh: "seccomp 过滤下的空系统调用" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A thread installs a seccomp filter that allows everything after `instructions` BPF instructions (a load, \
                 comparisons, the permission), then calls getppid as syscall.null does. The value is the time per call; the filter \
                 ends with the thread. filter=number looks at the call's number alone; argument looks at its first argument too; \
                 none installs no filter.",
            zh: "一个线程安装 seccomp 过滤器，它在 `instructions` 条 BPF 指令（一次加载、若干比较、最后放行）之后允许一切调用；然后像 \
                 syscall.null 那样调用 getppid。数值是每次调用的时间；过滤器随线程结束。filter=number 只看调用号；argument 还看第一个参数；none \
                 不安装过滤器。",
        },
        why: Text {
            en: "Containers, browsers and systemd services run behind such filters, which every system call passes. Their length \
                 is usually tens to hundreds of instructions.",
            zh: "容器、浏览器和 systemd 服务都运行在这样的过滤器之后，每次系统调用都要经过。其长度通常为几十到几百条指令。",
        },
        reading: Text {
            en: "The tax is the ratio to filter=none. Since Linux 5.11 the kernel works out once which numbers a filter always allows \
                 and then skips it: number costs the same at any length. argument runs the program each time: a fixed part, and the \
                 slope over instructions.",
            zh: "代价是与 filter=none 之比。自 Linux 5.11 起，内核会事先算出过滤器必定放行的调用号，之后跳过过滤器：number 的代价与长度无关。\
                 argument 每次都要执行程序：一个固定部分，加上随 instructions 的斜率。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18): none 76 to 79 ns, number 84 to 86, argument \
                 103 to 105 with 64 instructions and 160 to 163 with 512: half a core cycle for each instruction.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18）上实测：none 76 到 79 ns，number 84 到 86，argument 在 64 条指令时 \
                 103 到 105，512 条时 160 到 163：每条指令约半个核心周期。",
        },
        causes: Text {
            en: "A filter that is interpreted (net.core.bpf_jit_enable=0), several filters on top of each other, a kernel before \
                 5.11; on kernels before 5.16 speculative store bypass is turned off for filtered threads, which slows their code as \
                 well.",
            zh: "过滤器由解释器执行（net.core.bpf_jit_enable=0）、多个过滤器叠加、早于 5.11 的内核；早于 5.16 的内核会为被过滤的线程关闭推测\
                 性存储绕过，其代码本身也因此变慢。",
        },
    },
    related: &["syscall.null", "syscall.getpid", "cpu.store_forwarding"],
    axes: &[
        Axis::choice(
            "filter",
            "argument",
            Points::Listed { quick: &["argument", "number", "none"], standard: &[], thorough: &[] },
        ),
        Axis::count(
            "instructions",
            "64",
            Points::Listed { quick: &["64"], standard: &["2", "512"], thorough: &["4096"] },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["filter", "instructions"] }],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
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
                .map_err(|error| RoundError::lacking("cannot install a seccomp filter", &error))?;
        }
        Ok(|calls: u64| {
            for _ in 0..calls {
                std::hint::black_box(workloads::getppid());
            }
        })
    })
    .time()
}
