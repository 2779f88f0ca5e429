//! What a host has no more of, or lets this user have no more of, and what helps.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("files are limited to {} bytes here; raise ulimit -f", "这里的文件最大 {0} 字节；请调高 ulimit -f"),
    ("{} files may be open here; raise ulimit -n", "这里最多打开 {0} 个文件；请调高 ulimit -n"),
    ("the machine may open no further files; raise fs.file-max", "整机打开的文件数已到上限；请调高 fs.file-max"),
    (
        "no further process may be started here; raise ulimit -u, or pids.max of the control group",
        "这里不能再启动进程；请调高 ulimit -u 或 cgroup 的 pids.max",
    ),
    (
        "a process may have {} MiB of addresses here; raise ulimit -v",
        "这里每个进程的地址空间上限为 {0} MiB；请调高 ulimit -v",
    ),
    ("free memory, or raise the limit of the control group", "请释放内存，或调高 cgroup 的内存上限"),
    ("the system has no more of them; look at ipcs -l", "系统中这类对象已用尽；请查看 ipcs -l"),
    (
        "the file system is full; make room, or name another directory by --scratch",
        "文件系统已满；请腾出空间，或用 --scratch 指定其他目录",
    ),
    (
        "the quota is used up; make room, or name another directory by --scratch",
        "磁盘配额已用尽；请腾出空间，或用 --scratch 指定其他目录",
    ),
    ("the loopback interface is down; bring it up by: ip link set lo up", "回环接口未启用；请执行 ip link set lo up"),
    (
        "the loopback interface was set down after {} s; bring it up by: ip link set lo up",
        "运行 {0} s 后，环回接口被停用；请执行 ip link set lo up",
    ),
    (
        "nobody answered in time; look for a packet filter, a full queue or a machine that stands still",
        "未及时得到应答；请检查包过滤、队列是否已满，以及机器是否停顿",
    ),
    (
        "the other end is gone; look for who ends processes, and for a packet filter",
        "另一端已不存在；请检查是否有程序在结束进程，以及包过滤",
    ),
    (
        "the address cannot be reached; look at the addresses and routes of this network namespace",
        "无法到达该地址；请检查本网络命名空间的地址和路由",
    ),
    (
        "this process may not; look at its user, capabilities and system call filter",
        "本进程无此权限；请检查其用户、权能和系统调用过滤器",
    ),
    (
        "this kernel or filesystem cannot; look at its version and configuration",
        "此内核或文件系统不支持；请检查其版本和配置",
    ),
    ("the device or filesystem fails; look at dmesg", "设备或文件系统出错；请查看 dmesg"),
    ("a file or device is missing; look for who removes or unmounts it", "缺少文件或设备；请检查是谁删除或卸载了它"),
    ("not expected here; measure the case alone, and look at dmesg", "意料之外的错误；请单独测量该用例，并查看 dmesg"),
    (
        "needs {} MiB of memory; a case of this run may fill {} MiB: half of what was free at its start, or its share of hostmark serve",
        "需要 {0} MiB 内存；本次运行的每个用例最多写满 {1} MiB：开始时空闲内存的一半，或 hostmark serve 分给它的份额",
    ),
    (
        "needs {} MiB of memory, and how much is free is unknown here (open, read): mount /proc and /sys",
        "需要 {0} MiB 内存，而这里无法得知空闲内存（open、read 失败）：请挂载 /proc 与 /sys",
    ),
    (
        "needs {} MiB of memory; {} can spare {} MiB, of which at most half is filled",
        "需要 {0} MiB 内存；{1}还能提供 {2} MiB，其中最多写满一半",
    ),
    (
        "needs {} MiB of memory; {} can spare {} MiB, of which at most half is filled by {} copies",
        "需要 {0} MiB 内存；{1}还能提供 {2} MiB，{3} 个副本合计最多写满其中一半",
    ),
    (
        "memory ran short while it was filled: {} MiB are left to fill, and {} can spare {} MiB",
        "写入途中内存不足：还要写满 {0} MiB，而{1}只能提供 {2} MiB",
    ),
    ("the machine", "整机"),
    ("the control group {}", "cgroup {0}"),
    ("{} bytes are not small: ask the case for them", "{0} 字节不算小：应向用例申请"),
    ("cannot allocate memory on node {}", "无法在节点 {0} 上分配内存"),
    ("no memory", "内存不够用"),
    (
        "filling {} MiB at {} MB/s takes {} s, and a round of this run may take {} s to set up; use a longer profile",
        "以 {1} MB/s 写满 {0} MiB 需要 {2} s，而本次运行每轮的准备时间上限为 {3} s；请换用更长的档位",
    ),
    (
        "in {} s it had too little of a CPU, or waited for a device: look for a process of real-time priority, a CPU quota or a slow disk",
        "在 {0} s 内几乎没有得到 CPU，或一直在等待设备：请检查是否有实时优先级的进程、CPU 配额或慢速磁盘",
    ),
    ("needs a file of {} MiB where there is room for {} MiB", "需要 {0} MiB 的文件，而剩余空间只有 {1} MiB"),
    (
        "its threads never ran at the same time: a CPU quota, or processes of higher priority, held the CPUs",
        "各线程从未同时运行：CPU 配额或更高优先级的进程占住了 CPU",
    ),
    (
        "needs {} MiB of memory; {} can spare {} MiB, of which at most half is filled{}",
        "需要 {0} MiB 内存；{1}还能提供 {2} MiB，其中最多写满一半{3}",
    ),
    ("raise RLIMIT_MEMLOCK (ulimit -l)", "请调高 RLIMIT_MEMLOCK（ulimit -l）"),
    ("{} KiB cannot be locked ({}): {}", "无法锁定 {0} KiB 内存（{1}）：{2}"),
];
