//! Probe paging.protection_fault: a store to a read-only page, beyond what handling its signal costs.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::protection::Protected;

pub static PROBE: Probe = Probe {
    title: Text { en: "Protection fault", zh: "写保护异常" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[RAW, HANDLER],
    explain: Explain {
        what: Text {
            en: "A store hits a page that is present and read-only. The kernel turns the fault into SIGSEGV; its \
                 handler counts and steps over the store, so each store faults once. From that time (raw) hostmark \
                 subtracts the handling of a signal: the same handler run by a tgkill to oneself, less a tgkill that \
                 sends no signal. A sample is 64 of each, in turn.",
            zh: "向存在但只读的页存一个字节。内核把该异常变成 SIGSEGV；处理函数只计数并跳过该条存储指令，因此每次存储\
                 恰好触发一次异常。从该时间（raw）中减去处理信号的代价：用 tgkill 向自己发送同一信号并由同一函数处理，\
                 再减去发送空信号的 tgkill。一个样本由三者各 64 次轮流组成。",
        },
        why: Text {
            en: "Garbage collectors, checkpointing and user-level memory managers protect pages to learn who writes to \
                 them. The value is the hardware exception plus the kernel's decision that the access is invalid; the \
                 handler costs extra (signal.handle).",
            zh: "垃圾回收器、检查点和用户态内存管理用页保护来得知谁在写。这里是硬件异常以及内核判定访问不合法的代价；处理函数另计（signal.handle）。",
        },
        reading: Text {
            en: "An exception costs more than a system call, because it is not optimised for speed. raw is what a \
                 program experiences. If raw and handler are both large, signals are slow here, not faults.",
            zh: "异常并非为速度而设计，比系统调用贵。raw 是程序实际感受到的。若 raw 与 handler 都大，则慢的是信号处\
                 理，不是异常。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 0.52 to 0.56 µs, of 1.87 µs \
                 raw and 1.33 for the signal: six times syscall.null.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：0.52 到 0.56 µs，其中 raw 1.87 µs，信号 1.33：为 \
                 syscall.null 的六倍。",
        },
        causes: Text {
            en: "Page-table isolation; a hypervisor that intercepts exceptions; mappings locked by other threads \
                 (mmap lock) while they fault or map themselves.",
            zh: "页表隔离；截获异常的虚拟机监控程序；其他线程缺页或映射时持有的映射锁（mmap lock）。",
        },
    },
    related: &["signal.handle", "paging.fault", "syscall.null"],
    differs: Some(Text {
        en: "lat_sig prot subtracts the cost of a signal that it measured once beforehand. hostmark times both in turn \
             within one sample, 64 of each, so whatever slows one slows the other.",
        zh: "lat_sig prot 减去的是事先单独测得的一次信号处理；这里两者在同一样本内轮流计时，各 64 次，使慢的因素同样作用于两者。",
    }),
    limit: Limit::KernelEntry,
    replaces: &["lat_sig"],
    core_bound: CoreBound::Yes,
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// From the store to the instruction behind it.
const RAW: Quantity =
    Quantity::given("raw", Unit::Nanoseconds, Better::Lower, Text { en: "with its handler", zh: "含处理函数" });
/// What was subtracted.
const HANDLER: Quantity =
    Quantity::given("handler", Unit::Nanoseconds, Better::Lower, Text { en: "handling a signal", zh: "处理信号" });

/// Of each kind in a sample.
const BATCH: u32 = 64;

fn measure(case: &mut Case) -> Result<()> {
    let protected = Protected::install()?;
    let (before, mut due) = (protected.handled(), 0);
    let (mut raw, mut handler) = (Vec::new(), Vec::new());
    case.search(|clock| {
        let mut sent = Ok(());
        let each = |operation: &mut dyn FnMut()| clock.time(|| (0..BATCH).for_each(|_| operation())) / f64::from(BATCH);
        let fault = each(&mut || protected.fault());
        let signal = each(&mut || sent = std::mem::replace(&mut sent, Ok(())).and(protected.send()));
        let nothing = each(&mut || sent = std::mem::replace(&mut sent, Ok(())).and(protected.send_nothing()));
        sent?;
        due += 2 * u64::from(BATCH);
        if signal < nothing {
            return Ok(None);
        }
        raw.push(fault);
        handler.push(signal - nothing);
        Ok(Some(fault - (signal - nothing)))
    })?;
    case.also(RAW.name, raw)?;
    case.also(HANDLER.name, handler)?;
    match protected.handled() - before {
        handled if handled == due => Ok(()),
        handled => Err(RoundError::failed(
            ReasonCode::CheckFailed,
            format!("{due} faults and signals were due and {handled} handled"),
        )),
    }
}
