//! Probe syscall.kernel_null: an indirect call of an empty function inside the kernel.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::kernel_module::Operation;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Null call inside the kernel", zh: "内核态空调用" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "An empty function is called through a pointer, done and timed by the module hostmark (kmod/) \
                 inside the kernel, in batches of 10,000: what is left of a system call for who is there already.",
            zh: "由内核模块 hostmark（kmod/）在内核态通过指针调用一个空函数并计时，每批 10 000 次：对已身处内核的一方而言，\
                 系统调用所剩下的就是它。",
        },
        why: Text {
            en: "syscall.null less this is the price of the way into the kernel and back. Calls through pointers \
                 are everywhere in it, and what guards them against speculation attacks is paid at each.",
            zh: "syscall.null 减去它就是进出内核的代价。内核里到处是通过指针的调用，防御推测执行攻击的措施每次都要付。",
        },
        reading: Text {
            en: "A few core cycles where the CPU guards indirect calls by itself; 20 and more where the kernel \
                 does it by retpolines.",
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
    differs: None,
    axes: &[Axis::bind_elsewhere(), in_kernel::IRQ],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: in_kernel::NEEDS,
    replaces: &[],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    in_kernel::measure(case, 16, Operation::NullCall)
}
