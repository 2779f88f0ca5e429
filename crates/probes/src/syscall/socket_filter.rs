//! Probe syscall.socket_filter: a datagram through a socket with a packet filter, by the filter's length.

use std::os::unix::net::UnixDatagram;

use hostmark_engine::prelude::*;

use crate::workloads::machine::bpf;
use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    title: Text { en: "Datagram through a packet filter", zh: "经过包过滤器的数据报" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A datagram of one byte is written into one end of a Unix socket pair and read from the other, by one thread. The receiving \
                 socket has a classic BPF filter (SO_ATTACH_FILTER) that lets it through after `instructions` instructions: a load, \
                 comparisons, the permission. filter=none attaches none. The value is the time per datagram.",
            zh: "同一线程向一对 Unix 数据报套接字的一端写入一字节数据报，从另一端读出。接收套接字挂有经典 BPF 过滤器（SO_ATTACH_FILTER），在 \
                 `instructions` 条指令之后放行：一次加载、若干比较、放行。filter=none 不挂过滤器。数值是每个数据报的时间。",
        },
        why: Text {
            en: "tcpdump, DHCP clients, udev and network monitors filter this way, and so does systemd. Each packet that such a socket \
                 could receive pays for the filter, also those that it refuses. It needs no privilege.",
            zh: "tcpdump、DHCP 客户端、udev、网络监控以及 systemd 都这样过滤。这种套接字可能收到的每个包都要经过过滤器，被拒绝的也不例外。\
                 它不需要特权。",
        },
        reading: Text {
            en: "none is two system calls and a buffer. 2 instructions minus that are the fixed price of a filter; from there the value grows \
                 with the length in a straight line, by about as much per instruction as in syscall.seccomp with filter=argument, since the kernel \
                 translates both alike.",
            zh: "none 是两次系统调用加一个缓冲区。2 条指令减去它是过滤器的固定代价；此后数值随长度线性增长，每条指令的增量与 syscall.seccomp 的 filter=argument \
                 大致相同，因为内核对二者做同样的翻译。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs: none 1.87 to 1.88 µs, 2 instructions 1.86 to 1.91, 512 instructions 1.95 to 2.01: some 0.2 ns for each.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（五次运行）：none 1.87 到 1.88 µs，2 条指令 1.86 到 1.91，512 条 1.95 到 2.01：每条约 0.2 ns。",
        },
        causes: Text {
            en: "An interpreter instead of compiled filters (net.core.bpf_jit_enable=0); constant blinding (bpf_jit_harden); security modules \
                 that look at each datagram; see also ipc.unix_dgram.",
            zh: "过滤器由解释器执行（net.core.bpf_jit_enable=0）；常数混淆（bpf_jit_harden）；检查每个数据报的安全模块；另见 ipc.unix_dgram。",
        },
    },
    related: &["syscall.bpf", "syscall.seccomp", "ipc.unix_dgram"],
    axes: &[
        Axis::choice(
            "filter",
            "attached",
            Points::Listed { quick: &["attached", "none"], standard: &[], thorough: &[] },
        ),
        Axis::count(
            "instructions",
            "64",
            Points::Listed { quick: &["64"], standard: &["2", "512", "2048"], thorough: &["8"] },
        ),
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (near, far) = UnixDatagram::pair().call("socketpair")?;
    if case.param::<String>("filter")? != "none" {
        let instructions = case.param("instructions")?;
        bpf::filter(&far, instructions)
            .map_err(|error| RoundError::lacking("cannot attach a packet filter", &error))?;
    }
    let (near, far) = (near.into(), far.into());
    case.loops(|n| {
        (0..n).try_for_each(|_| {
            files::write_byte(&near)?;
            files::read_byte(&far)
        })
    })
    .time()
}
