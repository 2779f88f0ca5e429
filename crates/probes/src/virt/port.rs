//! Probe virt.port: a write to an I/O port inside a guest.

use hostmark_engine::prelude::*;

use crate::workloads::machine::sensitive::Port;

pub static PROBE: Probe = Probe {
    title: Text { en: "Port write in a guest", zh: "虚拟机内写 I/O 端口" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "root, who may request the port with ioperm, writes a 0 byte to port 0x80 over and over. Firmware \
                 reports its progress codes there, and Linux itself writes to it as a delay; no device reacts.",
            zh: "以 root 身份（可用 ioperm 申请端口）反复向端口 0x80 写入一个 0 字节。它是固件进度码的端口，Linux 自己也用写它来延时；没有设备对它作出反应。",
        },
        why: Text {
            en: "This is how a guest reaches an emulated device: the hypervisor hands the write to the process that \
                 emulates devices (QEMU, Firecracker). Each access to an emulated serial port or disk costs this.",
            zh: "访问模拟设备就是这条路：虚拟机监控程序把写操作交给模拟设备的进程（QEMU、Firecracker）。模拟的串口或磁盘每次访问都要付出它。",
        },
        reading: Text {
            en: "virt.cpuid plus the way to the emulating process and back. Several times that: the process is busy or \
                 takes a global lock. Hardly more: the kernel answers for the port.",
            zh: "virt.cpuid 加上往返模拟进程的路程。若为其数倍：该进程繁忙，或要获取全局锁；若相差无几：由内核代答该端口。",
        },
        typical: Text {
            en: "By design virt.exit@cause=port of the host and what the process does with the write. On bare metal \
                 the port is on a slow bus: the kernel's documentation gives 2 µs for the delay that can replace this \
                 write (io_delay=udelay).",
            zh: "按设计等于宿主机的 virt.exit@cause=port 加上该进程对写操作的处理。物理机上该端口在慢速总线上：内核文档中可代替这种写操作的延时为 2 µs（io_delay=udelay）。",
        },
        causes: Text {
            en: "As for virt.cpuid; a process that logs each unknown port. Under 300 ns the write did not exit: some \
                 kernels let port 0x80 through on AMD.",
            zh: "同 virt.cpuid；进程对每个未知端口记日志。低于 300 ns 说明没有退出：有的内核在 AMD 上放行端口 0x80。",
        },
    },
    related: &["virt.exit", "virt.cpuid", "disk.read"],
    needs: &[Need::Guest, Need::Root],
    section: crate::section::VIRTUALIZATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let port = Port::open().map_err(|error| RoundError::lacking("the kernel gives no I/O port", &error))?;
    case.calls(|| port.write()).time()
}
