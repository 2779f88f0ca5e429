//! Probe virt.exit: from a guest into the hypervisor and back, by cause.

use hostmark_engine::prelude::*;

use crate::workloads::machine::tiny_guest::{ExitCause, Pass, TIMES, TinyGuest};

pub static PROBE: Probe = Probe {
    title: Text { en: "VM exit", zh: "虚拟机退出" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, Quantity::WHOLE, Quantity::OVERHEAD],
    explain: Explain {
        what: Text {
            en: "A guest made through /dev/kvm executes one exiting instruction 200 times in a loop, in 64-bit kernel \
                 mode, without a kernel or devices. KVM handles cause=cpuid (leaf 0), msr (rdmsr of IA32_APIC_BASE) \
                 and hypercall (vmcall or vmmcall, KVM_HC_VAPIC_POLL_IRQ) inside the host's kernel. It hands port \
                 (out), mmio (a store to an address without memory) and hlt to the process that runs the guest, which \
                 re-enters it at once with KVM_RUN. The same loop without the instruction is timed in turn and \
                 subtracted; both parts are shown too. A 201st exit ends either loop.",
            zh: "通过 /dev/kvm 创建的虚拟机在 64 位内核态循环执行 200 次会引起退出的指令，虚拟机里没有内核和设备。\
                 cause=cpuid（leaf 0）、msr（rdmsr 读 IA32_APIC_BASE）和 hypercall（vmcall 或 vmmcall，\
                 KVM_HC_VAPIC_POLL_IRQ）由 KVM 在宿主机内核中处理；port（out）、mmio（写没有内存的地址）和 hlt 交给运\
                 行虚拟机的进程，进程立即用 KVM_RUN 再次进入。交替测量不含该指令的同一循环并减去它，两者都列在数值旁。\
                 每个循环以第 201 次退出结束。",
        },
        why: Text {
            en: "Beyond nested paging, a guest pays for exits: for its timers, interrupts to other CPUs, device \
                 registers and idle CPUs. The cost of one exit times their number (perf kvm stat, \
                 /sys/kernel/debug/kvm) is the time that a workload loses.",
            zh: "除嵌套分页外，虚拟机付出的代价就是退出：定时器、发往其他 CPU 的中断、设备寄存器、空闲的 CPU。单次代价乘以次数（perf kvm stat、/sys/kernel/debug/kvm）就是负载损失的时间。",
        },
        reading: Text {
            en: "cpuid, msr and hypercall cost the switch out of the guest and back. port, mmio and hlt add the way to \
                 user space: a system call and the guest's registers; mmio also decodes the store. The overhead is the \
                 loop itself, a few ns. If it is hundreds, this KVM interprets the guest's kernel code one instruction \
                 at a time, and the value is one more instruction, not an exit of the CPU. nested=yes: KVM itself runs \
                 in a guest, and each exit takes several of the hypervisor below.",
            zh: "cpuid、msr、hypercall 的代价是离开虚拟机再返回。port、mmio、hlt 还要进出用户空间：一次系统调用，外加虚拟机寄存器；mmio 还要解码该写指令。overhead 是循环本身，只有几纳秒：\
                 若达数百纳秒，说明这里的 KVM 逐条解释虚拟机的内核代码，数值只是多一条指令，而非 CPU 的一次退出。nested=yes：KVM 本身运行在虚拟机里，每次退出都要经过下层虚拟机监控程序数次。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Emerald Rapids, Linux 6.18), whose own KVM interprets kernel code: 0.4 to 0.6 µs for cpuid and msr beside a loop \
                 of 0.7 to 1.4 µs, 9 to 20 µs for port, mmio and hlt.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Emerald Rapids，Linux 6.18）上实测，其 KVM 解释执行内核代码：cpuid 与 msr 为 0.4 到 0.6 µs（循环为 0.7 到 1.4 µs），\
                 port、mmio、hlt 为 9 到 20 µs。",
        },
        causes: Text {
            en: "KVM within a guest; mitigations at each entry and exit (l1tf, mds, spectre_v2 in /sys/devices/system/cpu/vulnerabilities); a kernel with debugging or tracing of KVM; \
                 for port, mmio and hlt also whatever makes syscall.null slow.",
            zh: "KVM 运行在虚拟机里；每次进出时的漏洞缓解（/sys/devices/system/cpu/vulnerabilities 下的 l1tf、mds、spectre_v2）；内核开启了 KVM 的调试或跟踪；port、mmio、hlt 还受一切使 \
                 syscall.null 变慢的因素影响。",
        },
    },
    related: &["virt.cpuid", "virt.timer", "syscall.null", "sched.ipi"],
    axes: &[Axis::choice(
        "cause",
        "cpuid",
        Points::Listed { quick: &["cpuid", "msr", "hypercall", "port", "mmio", "hlt"], standard: &[], thorough: &[] },
    )],
    needs: &[Need::Kvm],
    section: crate::section::VIRTUALIZATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("cause")?;
    let cause = ExitCause::of_name(&name)
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, format!("there is no cause '{name}'")))?;
    let unable = |error| RoundError::unable(ReasonCode::Kernel, format_args!("KVM here cannot do {name}"), error);
    let mut guest = TinyGuest::new(cause).map_err(unable)?;
    // Whether KVM can do both is known once it did.
    guest.pass(Pass::Empty).and_then(|()| guest.pass(Pass::Loaded)).map_err(unable)?;
    case.note("handled_in", if cause.is_for_user_space() { "user space" } else { "kernel" });
    case.note("nested", if guest.is_nested() { "yes" } else { "no" });
    let guest = std::cell::RefCell::new(guest);
    let passes = |pass, times| -> Result<()> {
        let mut guest = guest.borrow_mut();
        (0..times).try_for_each(|_| guest.pass(pass)).map_err(RoundError::from)
    };
    case.loops(|times| passes(Pass::Loaded, times)).beyond(|times| passes(Pass::Empty, times)).each(TIMES).time()
}
