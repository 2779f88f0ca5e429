//! Probe syscall.null: into the kernel and back with next to nothing done there.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Null call (getppid)", zh: "空系统调用（getppid）" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "getppid is called by a function around the system-call instruction (syscall, svc), as libraries do, \
                 but without one, so the kernel must answer, not libc or the vDSO. The kernel saves the registers, \
                 looks up one pointer and returns. The value is the time of one call. copies is the number of \
                 processes that do this at the same time, each on its own CPU; the value is still the time of one \
                 call of one process.",
            zh: "通过一个只含系统调用指令（syscall、svc）的函数调用 getppid，与各种库相同，但不经过库，\
                 libc 与 vDSO 都无法代替内核作答。内核保存寄存器、查一个指针，然后返回。数值为一次调用的时间。copies 为同时这样做的进程数，各在自己的 CPU 上，数值仍是\
                 一个进程一次调用的时间。",
        },
        why: Text {
            en: "Every system call pays this price before it does its work: the mode switch, mitigations for \
                 speculative-execution attacks, seccomp filters and auditing. A program with a million calls per \
                 second pays it a million times every second.",
            zh: "这是每个系统调用在做正事之前都要付的代价：模式切换、推测执行攻击的缓解措施、seccomp 过滤器和审计。\
                 每秒调用一百万次的程序，每秒就要付一百万次。",
        },
        reading: Text {
            en: "The pair of instructions that enters and leaves the kernel (syscall and sysret, svc and eret) is a \
                 small part; the rest is entry code and mitigations for speculative-execution attacks. Some make the \
                 first return after the call slow, which every program pays: syscall.getpid has it apart (way=bare). On \
                 one machine, read the other system calls as multiples of this value.",
            zh: "进出内核的一对指令（syscall 与 sysret，svc 与 eret）只占一小部分；其余是入口代码，以及防御推测执行\
                 攻击的措施。有的措施使调用之后的第一次函数返回变慢，每个程序都要付：\
                 syscall.getpid 的 way=bare 把它分开。在同一台机器上，其他系统调用最好按此值的倍数来读。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 89 to 92 ns, 275 core \
                 cycles. A Core i5-2520M of 2011, before Meltdown was known: 50 ns (Ubuntu 16.10). Page-table \
                 isolation writes CR3 at each entry and exit, about a hundred cycles each according to the kernel's \
                 documentation (x86/pti): 70 ns and more on top.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：89 到 92 ns，275 个核心周期。\
                 2011 年的 Core i5-2520M（Meltdown 公开之前，Ubuntu 16.10）：50 ns。页表隔离在每次进出内核时都写 CR3，\
                 据内核文档（x86/pti）每次约一百个周期：再加 70 ns 以上。",
        },
        causes: Text {
            en: "Mitigations first: if the value jumps from one kernel version to another, the cause is almost \
                 always a mitigation (compare /sys/devices/system/cpu/vulnerabilities). Then seccomp filters \
                 (containers), auditing rules, a tracer. Microseconds: another program answers the call (gVisor, \
                 User Mode Linux).",
            zh: "首先是漏洞缓解措施：换了内核版本后数值跳变，几乎总是由它引起，请比较 \
                 /sys/devices/system/cpu/vulnerabilities。其次是 seccomp 过滤器（容器）、审计规则、跟踪器；若由另一\
                 个程序代答系统调用（gVisor、User Mode Linux），则为微秒级。",
        },
    },
    related: &["syscall.getpid", "syscall.read_zero", "syscall.write_null", "cpu.scaling", "clock.read"],
    differs: Some(Text {
        en: "The same call, getppid, through a function as well, but as the difference between a long and a short run \
             of calls, in which the clock cancels out; lat_syscall null includes its loop and its clock \
             (docs/accuracy.md).",
        zh: "同样是 getppid，也通过函数调用，但取一长一短两串调用之差，时钟的代价由此抵消；lat_syscall null 的值中\
             含有循环与时钟的代价（见 docs/accuracy.md）。",
    }),
    axes: &[Axis::copies(Profile::Quick)],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    case.loops(|n| {
        for _ in 0..n {
            std::hint::black_box(workloads::getppid());
        }
    })
    .time()
}
