//! Probe signal.handle: a signal to oneself, and the return from its handler.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Signal handling", zh: "信号处理" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[SENDING, HANDLING],
    explain: Explain {
        what: Text {
            en: "The thread sends SIGUSR1 to itself by tgkill. Before the call returns the kernel builds a frame with all registers on \
                 the stack and enters the handler, which counts; sigreturn restores the frame. All signals sent must have been \
                 handled. 256 of them and 256 calls that send none, in turn, make a sample.",
            zh: "线程用 tgkill 向自己发送 SIGUSR1。调用返回之前，内核在栈上建立保存全部寄存器的帧并进入处理函数（只计数），再由 sigreturn 恢复。 \
                 发出的信号必须全部被处理。一个样本由 256 次这样的发送与 256 次发送空信号轮流组成。",
        },
        why: Text {
            en: "Run-time systems preempt threads, profilers sample and garbage collectors stop the world by signals; a page fault \
                 that a program handles itself costs this on top.",
            zh: "语言运行时用信号抢占线程，剖析器用信号采样，垃圾回收器用信号停顿；程序自行处理的缺页也要再付这一代价。",
        },
        reading: Text {
            en: "8 to 20 times syscall.null: two entries to the kernel, and the vector registers saved and restored. The wider they are \
                 (AVX-512, SVE), the bigger the frame.",
            zh: "为 syscall.null 的 8 到 20 倍：两次进入内核，外加保存与恢复向量寄存器。向量越宽（AVX-512、SVE），帧越大。",
        },
    },
    axes: &[],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_sig"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

/// What sending costs alone.
const SENDING: Quantity = Quantity {
    name: "sending",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    title: Text { en: "sending no signal", zh: "发送空信号" },
};
/// The value less that, as lmbench gives it.
const HANDLING: Quantity = Quantity {
    name: "handling",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    title: Text { en: "less the sending", zh: "减去发送" },
};

/// Of each kind in a sample.
const BATCH: u32 = 256;

fn measure(case: &mut Case) -> Result<()> {
    let handler = sys::signal::Handled::install()?;
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
        handling.push(both - alone);
        Ok(Some(both))
    })?;
    case.also(SENDING.name, sending)?;
    case.also(HANDLING.name, handling)?;
    match handler.handled() - before {
        handled if handled == due => Ok(()),
        handled => Err(Stop::failed(format!("{due} signals were sent and {handled} handled"))),
    }
}
