//! Probe syscall.getrandom: random bytes from the kernel, by how many are asked for.

use rustix::rand::{GetRandomFlags, getrandom};

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "getrandom", zh: "取随机数 getrandom" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "getrandom(2) without flags fills the same `size` bytes over and over, by the system call, as rustix \
                 (used here), musl, and glibc before 2.41 make it. Every call must return `size`. The vDSO's \
                 getrandom (Linux 6.11 and later), by which newer versions of glibc answer without the kernel, is \
                 not measured.",
            zh: "不带标志的 getrandom(2) 反复填充同一块 `size` 字节的内存，每次都发出系统调用：rustix（此处所用）、musl 和 2.41 之前的 \
                 glibc 都是如此。每次调用都必须返回 `size`。不测 vDSO 的 getrandom（Linux 6.11 起），较新的 glibc 靠它不进内核即可作答。",
        },
        why: Text {
            en: "Keys, nonces, tokens, UUIDs and the seeds of hash tables come from it: a server can ask several times \
                 for each connection.",
            zh: "密钥、随机数 nonce、令牌、UUID 和散列表的种子都由它而来：服务器可能为每个连接询问数次。",
        },
        reading: Text {
            en: "A fixed part, which is syscall.null and one block of ChaCha20 that also makes the generator's next \
                 key, and one further block for each 64 bytes. Up to 32 bytes come with the first block. The slope \
                 over `size` is the price of the cipher and of copying its output.",
            zh: "固定部分是 syscall.null 加一个 ChaCha20 分组（它同时产生发生器的下一个密钥）；此外每 64 字节再加一个分组。不超过 32 \
                 字节的结果来自第一个分组。随 `size` 的斜率就是密码运算与复制结果的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Emerald Rapids, Linux 6.18): 305 to 321 ns for 16 bytes, \
                 918 to 962 ns for 256, 10.3 to 10.9 µs for 4096: 2.5 to 2.6 ns a byte.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Emerald Rapids，Linux 6.18）上实测：16 字节 305 到 321 ns，256 字节 918 到 962 \
                 ns，4096 字节 10.3 到 10.9 µs，即每字节 2.5 到 2.6 ns。",
        },
        causes: Text {
            en: "If even 16 bytes are slow beside syscall.null: seccomp filters, auditing, security modules. If only \
                 the slope is steep: a slow core, or a kernel built for size. Copies of a program on many CPUs should \
                 not slow each other, since every CPU has its own key.",
            zh: "若 16 字节相对 syscall.null 就已偏慢：seccomp 过滤器、审计、安全模块。若只是斜率偏大：核心较慢，或内核按体积优化编译。\
                 多个 CPU 上的程序不应互相拖慢，因为每个 CPU 有自己的密钥。",
        },
    },
    related: &["syscall.null", "syscall.read_zero", "clock.read"],
    axes: &[Axis::size(
        "size",
        "16",
        Points::Listed { quick: &["16", "256", "4096"], standard: &["32", "1024"], thorough: &["65536"] },
    )],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let size: usize = case.param("size")?;
    case.may_fill(size as u64)?;
    let mut bytes = vec![0_u8; size];
    case.calls(|| {
        let fill = || getrandom(bytes.as_mut_slice(), GetRandomFlags::empty());
        let given = workloads::by_function(fill).call("getrandom")?;
        if given == size {
            Ok(())
        } else {
            Err(RoundError::failed(ReasonCode::CheckFailed, "getrandom gave too little"))
        }
    })
    .time()
}
