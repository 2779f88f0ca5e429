//! Probe external.command: the time, CPU time and memory of any command.

use hostmark_engine::prelude::*;

use crate::executed::{self, AXES, PEAK_MEMORY, SYSTEM, USER};

pub static PROBE: Probe = Probe {
    title: Text { en: "Command", zh: "命令" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[USER, SYSTEM, PEAK_MEMORY],
    explain: Explain {
        what: Text {
            en: "The command of --command is split into words like in a shell, but runs without one: write sh -c '…' \
                 yourself for pipes and variables. Each round executes it once, from its start until it has been \
                 waited for; the first counts like the others. Its standard input is empty, and its output goes to a \
                 file in the scratch directory. When it ends, hostmark kills whatever it left running, daemons \
                 included. user and system time are its own and those of all descendants that were waited for; peak \
                 memory is that of the largest single process. It may use `cpus` CPUs. With --bytes, or with --value \
                 and --unit, external.rate and its siblings measure it instead. A status other than 0 fails the case \
                 and shows the last line of its output.",
            zh: "--command 指定的命令，按 shell 的规则拆分为单词，但不经过 shell：需要管道或变量时请自行写 sh -c '…'。每轮执行一次，从启动到回收为止；\
                 第一次与其他各次同样计入。标准输入为空；其输出写入临时目录中的文件。命令结束后仍在运行的后代进程（包括守护进程）\
                 一律终止。用户态与内核态时间包括它和全部已回收的后代进程；内存峰值取其中最大的单个进程。可使用 `cpus` 个 CPU。给出 --bytes，或 --value 与 --unit 时，改由 external.rate 等探针测量。退出状态非 0 则用例失败，并给出其最后一行输出。",
        },
        why: Text {
            en: "Your real load (a kernel build, a database's own benchmark, SPECjbb) decides; the other probes \
                 explain it. Here it gets rounds, an interval and the host's facts, as they do.",
            zh: "起决定作用的是您自己的真实负载（编译内核、数据库自带的基准、SPECjbb），其他探针解释它为何如此。在这里\
                 它同样有多轮、区间和主机信息。",
        },
        reading: Text {
            en: "(user + system) / wall time is the average number of busy CPUs. If it is far below `cpus`, the \
                 command waits: for a disk, a lock or its own serial part. Much system time points to page faults, \
                 forks or small files. A first round far slower than the others found its files uncached. A build must \
                 clean up itself: --command 'sh -c \"make clean && make -j4\"'.",
            zh: "（用户态 + 内核态）除以挂钟时间，就是平均忙碌的 CPU 数；远低于 `cpus` 说明命令在等待磁盘、锁或自身的串行部分。内核态时间多，指向缺页、\
                 fork 或小文件。第一轮明显慢于其余各轮，说明文件当时不在缓存中。编译必须自行清理：--command 'sh -c \"make clean && make -j4\"'。",
        },
        typical: Text {
            en: "None: it is the command's own. Starting it and waiting for it costs what process.spawn shows: measured with hostmark on a \
                 2-CPU KVM guest (Cascade Lake, Linux 6.18) 0.07 to 0.16 ms, which matters for commands of a few milliseconds.",
            zh: "没有：取决于命令本身。启动并等待它的代价见 process.spawn：用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测为 \
                 0.07 到 0.16 ms，只对几毫秒的命令有影响。",
        },
        causes: Text {
            en: "Files not yet cached in the first round, a CPU quota or neighbours (hostmark host), too little \
                 memory, a slow disk (disk.fsync), expensive forks and page faults (process.fork_exec, paging.fault).",
            zh: "第一轮时文件尚未缓存；CPU 配额或邻居虚拟机（hostmark host）；内存不足；磁盘慢（disk.fsync）；fork 与缺\
                 页昂贵（process.fork_exec、paging.fault）。",
        },
    },
    axes: AXES,
    blocking: true,
    needs: &[Need::Command],
    related: &["external.rate", "external.time", "process.spawn", "disk.fsync", "paging.fault"],
    section: crate::section::EXTERNAL,
    measure: Measure::Run(executed::timed),
    ..Probe::PLAIN
};
