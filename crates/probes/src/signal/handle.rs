//! Probe signal.handle: a signal to oneself, and the return from its handler.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Signal handling", zh: "信号处理" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[SENDING, HANDLING],
    explain: Explain {
        what: Text {
            en: "The thread sends itself SIGUSR1 with tgkill. Before the call returns, the kernel builds a frame with \
                 all registers on the stack and enters the handler, which only counts; sigreturn restores the frame. \
                 All signals sent must have been handled. A sample is 256 of them and 256 calls that send none, in \
                 turn.",
            zh: "线程用 tgkill 向自己发送 SIGUSR1。调用返回之前，内核在栈上建立保存全部寄存器的帧并进入处理函数（只计\
                 数），再由 sigreturn 恢复。发出的信号必须全部被处理。一个样本由 256 次这样的发送与 256 次发送空信号轮\
                 流组成。",
        },
        why: Text {
            en: "Run-time systems preempt threads with signals, profilers sample with them, and garbage collectors \
                 stop the world with them. A page fault that a program handles itself also pays this.",
            zh: "语言运行时用信号抢占线程，剖析器用信号采样，垃圾回收器用信号停顿；程序自行处理的缺页也要再付这一代价。",
        },
        reading: Text {
            en: "Two entries to the kernel, tgkill and sigreturn, and the registers saved to the stack and restored. \
                 The wider the vectors (AVX-512, SVE), the bigger the frame: 2.5 KiB and more.",
            zh: "两次进入内核（tgkill 与 sigreturn），并把寄存器存到栈上再恢复。向量越宽（AVX-512、SVE），帧越大：2.5 KiB 以上。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), with AVX-512 in the frame: \
                 1.47 to 1.50 µs, 16 times syscall.null.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（帧中含 AVX-512）：1.47 到 1.50 µs，为 \
                 syscall.null 的 16 倍。",
        },
        causes: Text {
            en: "Page-table isolation, paid at both entries; AMX state in the frame (8 KiB); a signal stack whose \
                 pages are touched for the first time; a debugger attached, which sees every signal first.",
            zh: "两次进入都要付的页表隔离；帧中的 AMX 状态（8 KiB）；首次触及的信号栈页；附着的调试器，它会先看到每个信号。",
        },
    },
    related: &["signal.install", "paging.protection_fault", "syscall.null"],
    differs: Some(Text {
        en: "Like lat_sig catch, a signal to oneself. lmbench subtracts the cost of a kill that sends none. hostmark's \
             value is the whole way from the call to its return; a separate value shows lmbench's. Every signal must \
             have been handled.",
        zh: "与 lat_sig catch 一样给自己发信号；lmbench 减去一次不发送信号的 kill 的代价。hostmark 的数值是从调用到返\
             回的全程，lmbench 的算法另列一值。每个信号都必须已被处理。",
    }),
    limit: Limit::KernelEntry,
    replaces: &["lat_sig"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// What sending costs alone.
const SENDING: Quantity =
    Quantity::given("sending", Unit::Nanoseconds, Better::Lower, Text { en: "sending no signal", zh: "发送空信号" });
/// The value less that, as lmbench gives it.
const HANDLING: Quantity =
    Quantity::given("handling", Unit::Nanoseconds, Better::Lower, Text { en: "less the sending", zh: "减去发送" });

/// Of each kind in a sample.
const BATCH: u32 = 256;

fn measure(case: &mut Case) -> Result<()> {
    let handler = workloads::machine::signal::Handled::install()?;
    let (before, mut due) = (handler.handled(), 0);
    let (mut sending, mut handling) = (Vec::new(), Vec::new());
    case.search(|clock| {
        let mut sent = Ok(());
        let mut nothing_sent = Ok(());
        let both = clock.time(|| sent = (0..BATCH).try_for_each(|_| handler.send())) / f64::from(BATCH);
        let alone =
            clock.time(|| nothing_sent = (0..BATCH).try_for_each(|_| handler.send_nothing())) / f64::from(BATCH);
        sent.and(nothing_sent)?;
        due += u64::from(BATCH);
        sending.push(alone);
        handling.extend(Some(both - alone).filter(|&handling| handling >= 0.0));
        Ok(Some(both))
    })?;
    case.also(SENDING.name, sending)?;
    case.also(HANDLING.name, handling)?;
    match handler.handled() - before {
        handled if handled == due => Ok(()),
        handled => {
            Err(RoundError::failed(ReasonCode::CheckFailed, format!("{due} signals were sent and {handled} handled")))
        }
    }
}
