//! KVM, guests and stolen time.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("there is no cause '{}'", "没有退出原因“{0}”"),
    ("KVM here cannot do {}", "这里的 KVM 不支持 {0}"),
    ("the kernel gives no I/O port", "内核不开放 I/O 端口"),
    ("the kernel does not tell stolen time", "内核不报告 CPU steal"),
    ("/proc/stat has no such column", "/proc/stat 没有该列"),
    ("the guest's instructions are those of x86_64", "虚拟机的指令属于 x86_64"),
    ("its interface is version {}, not {}", "其接口为版本 {0}，而不是 {1}"),
    ("it lacks the capability {}", "它缺少能力 {0}"),
    ("the guest ended by {}", "虚拟机结束：{0}"),
    ("the guest left by {} where it was to by {}", "虚拟机以 {0} 退出，而预期是 {1}"),
    ("the guest left {} times where it was to {} times", "虚拟机退出了 {0} 次，而预期是 {1} 次"),
];
