//! Probe sched.ucontext: a pair of switches between two stacks of one thread.

use hostmark_engine::prelude::*;

use crate::workloads::machine::context;

pub static PROBE: Probe = Probe {
    title: Text { en: "User context switch, pair", zh: "用户态上下文切换（一对）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "One thread switches to a coroutine on another stack and back; the coroutine does nothing else. \
                 way=own saves and restores the registers that a call must preserve, in hostmark's own instructions. \
                 own_mask also sets the signal mask with a system call at each of the two switches. libc calls \
                 swapcontext, which does both.",
            zh: "一个线程切换到另一个栈上的协程再切回来；协程不做别的事。way=own 用自己的指令保存和恢复调用约定要求保留的寄存器；\
                 own_mask 还在两次切换时各用一次系统调用设置信号掩码；libc 调用 swapcontext，两者都做。",
        },
        why: Text {
            en: "Coroutines, fibres and green threads depend on this switch. The expensive part of ucontext is not the \
                 switch but the system call that saves the signal mask; most run-times therefore leave it out.",
            zh: "协程、纤程和绿色线程都依赖这种切换。它表明 ucontext 中昂贵的不是切换本身，而是保存信号掩码的系统调\
                 用，因此多数运行时都省去它。",
        },
        reading: Text {
            en: "own is mostly two mispredicted returns, since each leads to the other stack. own_mask and libc add \
                 two system calls for the signal mask, so twice syscall.null and a little.",
            zh: "own 大半是两次预测失败的返回，因为每次都返回到另一个栈。own_mask 与 libc 因信号掩码多两次系统调用，约为两倍 syscall.null 再多一点。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): own 26 ns (80 core cycles), \
                 own_mask 249, libc 398 to 407 ns for the pair. A Core i5-2520M of 2011: 422 ns by the C library.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：一对切换 own 26 ns（80 个核心周期），own_mask 249，\
                 libc 398 到 407 ns。2011 年的 Core i5-2520M：C 库 422 ns。",
        },
        causes: Text {
            en: "A libc far above own_mask saves more (the floating-point environment, shadow stacks); an own above \
                 40 ns: mitigations of returns (retpolines in user code, shadow stacks), or a busy SMT sibling.",
            zh: "libc 远高于 own_mask：其 swapcontext 保存更多（浮点环境、影子栈）；own 超过 40 ns：对返回指令的缓解措施（用户代码的 retpoline、影子\
                 栈），或繁忙的 SMT 兄弟线程。",
        },
    },
    related: &["sched.context_switch", "syscall.null", "cpu.misprediction"],
    axes: &[Axis::choice(
        "way",
        "own",
        Points::Listed { quick: &["own"], standard: &["libc", "own_mask"], thorough: &[] },
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "own" => {
            let mut coroutine = context::Coroutine::new()?;
            case.loops(|n| (0..n).for_each(|_| coroutine.there_and_back())).time()
        }
        "own_mask" => {
            let mut coroutine = context::Coroutine::new()?;
            case.calls(|| {
                context::set_signal_mask()?;
                coroutine.there_and_back();
                context::set_signal_mask()
            })
            .time()
        }
        _ => by_libc(case),
    }
}

#[cfg(target_env = "gnu")]
fn by_libc(case: &mut Case) -> Result<()> {
    let mut coroutine = context::by_libc::LibcCoroutine::new()?;
    case.calls(|| coroutine.there_and_back()).time()
}

#[cfg(not(target_env = "gnu"))]
fn by_libc(_: &mut Case) -> Result<()> {
    Err(RoundError::skipped(ReasonCode::Kernel, "this C library has no swapcontext"))
}
