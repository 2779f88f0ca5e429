//! Probe cpu.kernel_sieve: the sieve of cpu.sieve inside the kernel, with interrupts on and off.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    title: Text { en: "Prime sieve inside the kernel", zh: "内核态筛法" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "The kernel module hostmark (kmod/) runs and times the sieve of cpu.sieve inside the kernel, with the \
                 same instructions. irq=off keeps interrupts off, for at most 10 ms at a time. bind sets the CPU of \
                 the thread.",
            zh: "由内核模块 hostmark（kmod/）在内核态以相同的指令执行并计时 cpu.sieve 的筛法。irq=off 时 CPU 其间不接受中\
                 断，每次最多 10 ms。bind 表示线程绑定在哪里。",
        },
        why: Text {
            en: "This is the baseline for the CPU: with interrupts off, only the hypervisor can take the CPU away. The \
                 difference to it is what interrupts, the scheduler and user space cost a pure computation.",
            zh: "它是 CPU 分解的基准：关闭中断后，只有虚拟机监控程序能夺走 CPU。中断、调度器与用户态对纯计算负载的开销都\
                 以它为基准。",
        },
        reading: Text {
            en: "irq=off divided by irq=on is the cost of interrupts: the timer tick, devices and calls from other \
                 CPUs, mostly under 1 %. cpu.sieve with the same binding is the user-space side.",
            zh: "irq=off 与 irq=on 之比就是中断的开销：时钟节拍、设备与其他 CPU 的调用，通常不到 1%。绑定相同的 cpu.sieve 是\
                 用户态一侧。",
        },
        typical: Text {
            en: "By design the rate of cpu.sieve, less what interrupts take: a tick of 250 Hz that takes 2 µs costs \
                 0.05 %.",
            zh: "按设计即 cpu.sieve 的速率，减去中断所占：250 Hz 的节拍每次 2 µs，开销为 0.05%。",
        },
        causes: Text {
            en: "irq=on far below irq=off: a busy device interrupts this CPU (/proc/interrupts), or the timer of a \
                 guest makes it exit at each tick. irq=off below its own usual value: a neighbour on the sibling \
                 thread, steal.",
            zh: "irq=on 远低于 irq=off：某个繁忙设备的中断送到该 CPU（见 /proc/interrupts），或虚拟机在每个节拍都要退\
                 出。irq=off 低于自身平常的值：兄弟线程上的其他负载、steal。",
        },
    },
    related: &["cpu.sieve", "memory.kernel_random_access", "sched.noise"],
    axes: &[Axis::bind(), in_kernel::IRQ],
    full_factorial: in_kernel::FULL_FACTORIAL,
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    in_kernel::measure(case, 1, KernelOperation::Sieve)
}
