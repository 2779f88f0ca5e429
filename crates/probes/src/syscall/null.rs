//! Probe syscall.null: into the kernel and back with next to nothing done there.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Null call (getppid)", zh: "空系统调用（getppid）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "getppid by the system-call instruction (syscall, svc), so that neither libc nor the vDSO can answer \
                 instead of the kernel. The kernel saves the registers, looks up one pointer and returns.",
            zh: "用系统调用指令（syscall、svc）直接执行 getppid，libc 与 vDSO 都无法代替内核作答。内核保存寄存器、\
                 查一个指针，然后返回。",
        },
        why: Text {
            en: "It is the price that every system call pays before it does its work: the mode switch, and what the kernel \
                 adds to guard against speculation attacks, seccomp filters and auditing. A program that makes a million \
                 calls a second pays it a million times.",
            zh: "这是每个系统调用在做正事之前都要付的代价：模式切换，以及内核为防御推测执行攻击、seccomp 过滤器和审计所加的\
                 开销。每秒一百万次调用的程序就要付一百万次。",
        },
        reading: Text {
            en: "30 to 80 ns on a recent CPU with hardware mitigations; 100 to 400 ns where page-table isolation (Meltdown) or \
                 microcode clearing is in force; a seccomp filter (containers) adds 20 to 100 ns. A jump between two \
                 kernels is almost always a mitigation: compare /sys/devices/system/cpu/vulnerabilities.",
            zh: "较新的、带硬件缓解的 CPU 上为 30 到 80 ns；启用页表隔离（Meltdown）或微码清除时为 100 到 400 ns;\
                 seccomp 过滤器（容器）再加 20 到 100 ns。两个内核之间的跳变几乎总是由缓解措施引起：请比较 \
                 /sys/devices/system/cpu/vulnerabilities。",
        },
    },
    axes: &[Axis::copies(Profile::Quick)],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    case.time_n(|n| {
        for _ in 0..n {
            std::hint::black_box(sys::getppid());
        }
    })
}
