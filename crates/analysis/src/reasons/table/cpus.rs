//! Instructions and clocks that a CPU lacks.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("this architecture has no {}", "此架构没有 {0}"),
    ("this architecture has no {} kernel", "此架构没有 {0} 内核函数"),
    ("this architecture has no such kernel", "此架构没有这种内核函数"),
    ("this CPU has no {}", "此 CPU 没有 {0}"),
    ("no atomic operation is known here", "这里没有可用的原子操作"),
    ("no CPU has an instruction for this; libraries loop for it", "没有 CPU 提供这种指令；函数库用循环实现"),
    ("the loop has 256 targets at most", "该循环最多有 256 个目标"),
    ("the loop has 64 MiB at most", "该循环最多 64 MiB"),
    ("this architecture has no filler of {} bytes", "此架构没有 {0} 字节的填充指令"),
    ("cannot execute generated code", "无法执行生成的代码"),
    ("found {} primes below {}, not {}", "在 {1} 以下找到 {0} 个素数，而不是 {2} 个"),
    ("this architecture has no cpuid", "此架构没有 cpuid"),
    ("this architecture has no I/O ports", "此架构没有 I/O 端口"),
];
