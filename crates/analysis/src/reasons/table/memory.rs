//! Memory: buffers, caches, pages, and the kernels that go through them.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("pages of this size need gigabytes", "这种大小的页需要数 GB 内存"),
    ("a huge page has no page table", "大页没有页表这一级"),
    ("there are not so many addresses", "没有这么多地址"),
    ("so many addresses cannot be mapped", "无法映射这么多地址"),
    ("the kernel gave no huge pages", "内核没有给出大页"),
    ("the kernel gives no huge pages", "内核不提供大页"),
    ("huge pages are forbidden for this process by prctl", "本进程被 prctl 禁用大页"),
    (
        "huge pages are forbidden for this process by prctl (PR_SET_THP_DISABLE)",
        "本进程被 prctl 禁用大页（PR_SET_THP_DISABLE）",
    ),
    ("there is no pattern {}", "没有图案 {0}"),
    ("memory errors: {} wrong words, {}", "内存错误：{0} 个字不正确，{1}"),
    ("at {} expected {}, found {}", "位置 {0} 应为 {1}，实为 {2}"),
    ("a stride of {} bytes does not fit a smaller buffer", "步长 {0} 字节超出较小的缓冲区"),
    ("there is no mix {}", "没有混合方式 {0}"),
    ("there are no pages '{}'", "没有页类型“{0}”"),
    ("'{}' is no pair of nodes", "“{0}”不是一对节点"),
    ("part of the memory does not lie on node {}", "部分内存不在节点 {0} 上"),
    ("STREAM has no {}", "STREAM 没有 {0}"),
    ("STREAM2 has no {}", "STREAM2 没有 {0}"),
    ("there is no such operation with {} stores: libc copies alone", "没有使用 {0} 存储的这种操作：libc 只能复制"),
    ("{} of {} elements of a thread are wrong", "一个线程的 {1} 个元素中有 {0} 个不正确"),
    ("as many huge pages as a second level holds are gigabytes", "第二级 TLB 能容纳的大页合计达数 GB"),
    ("the page table is walked beyond the second level", "超出第二级 TLB 后要遍历页表"),
    ("memory.latency was not measured", "没有测量 memory.latency"),
    ("no plateau of the curve is memory for certain: {} may be", "曲线上没有能确定为内存的平台：{0} 可能是"),
    ("others had the CPU while the last cache was looked at", "查看末级缓存时，CPU 被其他程序占用"),
    ("no buffer was large enough to be sure of missing the last-level cache", "没有大到一定不命中末级缓存的缓冲区"),
    (
        "the latency curve shows {} plateaus, and none of them is {} for certain",
        "延迟曲线有 {0} 个平台，都不能确定为 {1}",
    ),
    (
        "cannot use {} bytes of memory: give a non-zero multiple of {} bytes",
        "无法使用 {0} 字节的内存：大小须为 {1} 字节的非零整数倍",
    ),
    ("cannot use this memory: give a start aligned to {} bytes", "无法使用这块内存：起始地址须按 {0} 字节对齐"),
    ("cannot copy {} bytes onto {} bytes: give equal lengths", "无法把 {0} 字节复制到 {1} 字节：长度须相等"),
    (
        "cannot build a chain with steps of {} bytes: give a non-zero multiple of 8 that fits the memory",
        "无法建立步长 {0} 字节的链：步长须为 8 的非零整数倍，且不超过内存大小",
    ),
    ("cannot build a chain of {} nodes: give fewer than 2^32", "无法建立 {0} 个节点的链：须少于 2^32 个"),
    ("cannot follow {} chains: there are loops of {} chains", "无法同时走 {0} 条链：只有 {1} 条链的循环"),
    (
        "cannot run the {} kernel: this CPU lacks its instructions, choose another kernel",
        "无法运行 {0} 内核函数：此 CPU 缺少所需指令，请选择其他内核函数",
    ),
    ("the kernel counted no faults", "内核没有统计到缺页"),
    ("{} faults and signals were due and {} handled", "应有 {0} 次异常与信号，处理了 {1} 次"),
    (
        "no balloon device takes reports of free pages: nothing tells when the host takes them back",
        "没有接收空闲页报告的气球设备：无法得知宿主机何时收回这些页",
    ),
    ("mmap gave address 0", "mmap 返回了地址 0"),
    ("memory was mapped at address 0", "内存映射到了地址 0"),
    ("there is a protected page already", "已有一个受保护的页"),
];
