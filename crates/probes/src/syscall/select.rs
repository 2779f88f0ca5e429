//! Probe syscall.select: asking once about many descriptors.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "select", zh: "多路等待 select" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "pselect6 by the system-call instruction over a number of descriptors of one open file, to read, with a timeout of \
                 zero: the kernel looks, answers and does not wait. kind=tcp: a TCP connection over loopback on which nothing has \
                 come; kind=file: a regular file, which is always ready and is not even asked; kind=pipe: the read end of a pipe \
                 with a byte in it, which is asked and ready.",
            zh: "用系统调用指令对同一打开文件的若干描述符执行 pselect6（可读，超时为零）：内核查看、回答，不等待。kind=tcp：没有数据到达的\
                 回环 TCP 连接；kind=file：普通文件，总是就绪，内核并不调用它；kind=pipe：一个有一字节可读的管道读端，被询问且就绪。",
        },
        why: Text {
            en: "The oldest way to wait for many descriptors, and the worst to scale: the kernel looks at every descriptor up to \
                 the highest at every call, and ends at number 1023.",
            zh: "等待多个描述符的最老办法，也最不易扩展：内核每次都要查看直到最大编号的每个描述符，而且编号止于 1023。",
        },
        reading: Text {
            en: "Linear: 10 to 30 ns a descriptor, of which the call into its file is the greater part; indirect calls guarded by \
                 retpolines show here. tcp costs more than file, as each socket has its own state to look at.",
            zh: "线性增长：每个描述符 10 到 30 ns，大部分花在调用该文件的函数上；受 retpoline 保护的间接调用在此显现。tcp 比 file 贵， \
                 因为要查看每个套接字自己的状态。",
        },
    },
    axes: &[super::DESCRIPTORS, KIND],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_select"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

/// lmbench's summary has a column for each of the quick ones.
const KIND: Axis =
    Axis { points: Points::Listed { quick: &["tcp", "file"], standard: &["pipe"], thorough: &[] }, ..super::KIND };

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let select = set.select()?;
    let ask = || select.ask();
    case.time(ask)
}
