//! Probe virt.cpuid: cpuid inside a guest, which the hypervisor answers.

use hostmark_engine::prelude::*;

use crate::workloads::machine::sensitive;

pub static PROBE: Probe = Probe {
    title: Text { en: "cpuid in a guest", zh: "虚拟机内的 cpuid" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "cpuid, leaf 0, runs over and over. Intel CPUs exit the guest for every cpuid; AMD CPUs do so if the \
                 hypervisor asks for it, as all common ones do.",
            zh: "反复执行 cpuid（leaf 0）。Intel CPU 上每次 cpuid 都会退出虚拟机；AMD CPU 上只要虚拟机监控程序要求就会退出，常见的都要求。",
        },
        why: Text {
            en: "The cheapest exit that any program can cause without privileges: no exit of this guest costs less. \
                 Programs call it to choose code for the CPU, and some to order the reading of the time-stamp counter.",
            zh: "这是任何程序无需特权就能引起的最便宜的退出，即本虚拟机任何一次退出的下限。程序用它按 CPU 选择代码，有的还用它为读取时间戳计数器定序。",
        },
        reading: Text {
            en: "The switch into the hypervisor and back. A multiple of virt.exit on the host means a guest within a \
                 guest; below 100 ns the CPU itself answers.",
            zh: "进入虚拟机监控程序再返回。若为宿主机上 virt.exit 的数倍，说明是嵌套虚拟机；低于 100 ns 说明是 CPU 自己回答的。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest within another (Emerald Rapids, Linux 6.18): 8 to 10 µs.",
            zh: "用 hostmark 在嵌套的双 CPU KVM 虚拟机（Emerald Rapids，Linux 6.18）上实测：8 到 10 µs。",
        },
        causes: Text {
            en: "A hypervisor within another; mitigations at each exit on the host; a hypervisor that handles cpuid in \
                 user space; a confidential guest (TDX, SEV-ES), whose own kernel answers.",
            zh: "虚拟机监控程序嵌套；宿主机每次退出时的漏洞缓解；在用户空间处理 cpuid 的虚拟机监控程序；机密虚拟机（TDX、SEV-ES），由其内核回答。",
        },
    },
    related: &["virt.exit", "virt.timer", "virt.port"],
    needs: &[Need::Guest],
    core_bound: CoreBound::Yes,
    section: crate::section::VIRTUALIZATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    if sensitive::cpuid().is_none() {
        return Err(RoundError::skipped(ReasonCode::Architecture, "this architecture has no cpuid"));
    }
    case.loops(|times| {
        for _ in 0..times {
            std::hint::black_box(sensitive::cpuid());
        }
    })
    .time()
}
