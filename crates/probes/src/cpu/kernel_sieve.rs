//! Probe cpu.kernel_sieve: the sieve of cpu.sieve inside the kernel, with interrupts on and off.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::kernel_module::Operation;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Prime sieve inside the kernel", zh: "内核态筛法" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "The sieve of cpu.sieve, by the same instructions, done and timed by the module hostmark (kmod/) \
                 inside the kernel. irq=off: the CPU takes no interrupts meanwhile, for 10 ms at most at a time. \
                 bind says where the thread is bound.",
            zh: "由内核模块 hostmark（kmod/）在内核态以相同的指令执行并计时 cpu.sieve 的筛法。irq=off 时 CPU 其间不接受中\
                 断，每次最多 10 ms。bind 表示线程绑定在哪里。",
        },
        why: Text {
            en: "It is the base of the decomposition for the CPU: with interrupts off nothing but the hypervisor \
                 can take the CPU away. What interrupts, the scheduler and user space cost a pure load stands \
                 over it.",
            zh: "它是 CPU 分解的基准：关闭中断后，只有虚拟机监控程序能夺走 CPU。中断、调度器与用户态对纯计算负载的开销都\
                 以它为基准。",
        },
        reading: Text {
            en: "irq=off over irq=on is what interrupts cost: the timer's tick, devices and other CPUs' calls, \
                 mostly under 1 %. cpu.sieve at the same binding is the user's side.",
            zh: "irq=off 与 irq=on 之比就是中断的开销：时钟节拍、设备与其他 CPU 的调用，通常不到 1 %。绑定相同的 cpu.sieve 是\
                 用户态一侧。",
        },
        typical: Text {
            en: "By design the rate of cpu.sieve, less what interrupts take: a tick of 250 Hz that takes 2 µs costs \
                 0.05 %.",
            zh: "按设计即 cpu.sieve 的速率，减去中断所占：250 Hz 的节拍每次 2 µs，开销为 0.05 %。",
        },
        causes: Text {
            en: "irq=on far below irq=off: a busy device whose interrupts go to this CPU (/proc/interrupts), or a \
                 guest whose timer makes it exit at each tick. irq=off below its own usual value: a neighbour on \
                 the sibling thread, steal.",
            zh: "irq=on 远低于 irq=off：某个繁忙设备的中断送到该 CPU（见 /proc/interrupts），或虚拟机在每个节拍都要退出。irq=off 低\
                 于自身平常的值：兄弟线程上的邻居、steal。",
        },
    },
    related: &["cpu.sieve", "memory.kernel_random_access", "sched.noise"],
    differs: None,
    axes: &[Axis::bind(), in_kernel::IRQ],
    cross: in_kernel::CROSSED,
    limit: Limit::None,
    blocking: false,
    needs: in_kernel::NEEDS,
    replaces: &[],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    in_kernel::measure(case, 1, Operation::Sieve)
}
