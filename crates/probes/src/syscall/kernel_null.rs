//! Probe syscall.kernel_null: an indirect call of an empty function inside the kernel.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    title: Text { en: "Null call inside the kernel", zh: "内核态空调用" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "The kernel module hostmark (kmod/) calls an empty function through a pointer inside the kernel and \
                 times it, in batches of 10,000. This is the cost of the call itself for code that already runs in the \
                 kernel.",
            zh: "由内核模块 hostmark（kmod/）在内核态通过指针调用一个空函数并计时，每批 10 000 次：这是已在内核态的代\
                 码调用一次的代价。",
        },
        why: Text {
            en: "syscall.null minus this is the price of the way into the kernel and back. Kernel code is full of \
                 calls through pointers, and each pays for its protection against speculation attacks.",
            zh: "syscall.null 减去它就是进出内核的代价。内核里到处是通过指针的调用，防御推测执行攻击的措施每次都要付。",
        },
        reading: Text {
            en: "A few core cycles if the CPU itself protects indirect calls; 20 and more if the kernel uses \
                 retpolines.",
            zh: "CPU 自身能保护间接调用时为几个核心周期；由内核以 retpoline 保护时为 20 个以上。",
        },
        typical: Text {
            en: "A predicted call and return take 2 to 5 core cycles by Agner Fog's tables; a retpoline costs a \
                 mispredicted return, 15 to 30.",
            zh: "据 Agner Fog 的表，预测正确的一次调用与返回为 2 到 5 个核心周期；retpoline 相当于一次预测失败的返回，为 15 到 30 个。",
        },
        causes: Text {
            en: "Retpolines and return thunks: /sys/devices/system/cpu/vulnerabilities/spectre_v2 and retbleed.",
            zh: "retpoline 与返回 thunk：见 /sys/devices/system/cpu/vulnerabilities 下的 spectre_v2 与 retbleed。",
        },
    },
    related: &["syscall.null", "file.kernel_read", "cpu.kernel_sieve"],
    axes: &[Axis::bind_elsewhere(), in_kernel::IRQ],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    in_kernel::measure(case, 16, KernelOperation::NullCall)
}
