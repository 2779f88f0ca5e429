//! What stands beside a number that is not to be trusted.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("an interval takes {} rounds, and there is {}", "置信区间需要 {0} 轮，只有 {1} 轮"),
    ("an interval takes {} rounds, and there are {}", "置信区间需要 {0} 轮，只有 {1} 轮"),
    ("a sample is shorter than the clock's smallest step", "样本短于时钟的最小步长"),
    ("the value does not stand out from the noise", "数值未能超出噪声"),
    ("in {} of {} over half of the samples were disturbed, and stay", "{1}中有 {0} 轮超过一半的样本受扰，仍予保留"),
    ("in {} of {} the core's frequency did not settle", "{1}中有 {0} 轮核心频率未稳定"),
    ("in {} of {} a CPU quota stopped the process", "{1}中有 {0} 轮进程因 CPU 配额被暂停"),
    ("in {} of {} others used {} % of the time of a CPU", "{1}中有 {0} 轮其他进程占用了 {2}% 的 CPU 时间"),
    ("the best round was {} % faster", "最好的一轮快 {0}%"),
    ("seen in {} of {}, and {} in the others", "{1}中有 {0} 轮如此，其余为 {2}"),
    ("seen beside another thread, which ran on its core {} % of the time", "测量时其核心有 {0}% 的时间被另一线程共用"),
    ("the host reports no such cache", "主机没有报告这种缓存"),
    (
        "the largest buffer ({} MiB) is under twice the reported last cache ({} MiB)",
        "最大的缓冲区（{0} MiB）不到所报告末级缓存（{1} MiB）的两倍",
    ),
    ("a cache or memory: neither its size nor its time tells", "缓存或内存：由容量和时间都无法判断"),
    (
        "within the reported last cache, which neighbours may use: neither its size nor its time tells",
        "位于所报告的末级缓存之内，而邻居可能也在使用：由容量和时间都无法判断",
    ),
    ("no reported cache is of its size", "没有哪级报告的缓存是这个容量"),
    ("lower than {}, though {} is larger: one of the two is wrong", "低于 {0}，而其 {1} 更大：两者必有一错"),
    ("lower than {}, which a cache holds: one of the two is wrong", "低于缓存所能容纳的 {0}：两者必有一错"),
    (
        "{} times what one does alone, and {} copies do at most {} times: one alone was disturbed",
        "为单独一份的 {0} 倍，而 {1} 份至多为 {2} 倍：单独一份受了干扰",
    ),
    ("the device did {} % of what was asked of it", "设备只完成了所要求的 {0}%"),
    (
        "a sample of {} Mbit/s, and the link lets {} Mbit/s through with all that packets take",
        "有样本达到 {0} Mbit/s，而链路连同报文开销最多通过 {1} Mbit/s",
    ),
    ("{} core cycles for {}, which takes at least {}", "{1}只用了 {0} 个核心周期，而至少需要 {2} 个"),
    ("a dependent operation", "一次相互依赖的运算"),
    ("a load on which the next depends", "一次被后续依赖的加载"),
    ("a way into the kernel and back", "一次进出内核"),
    ("the system calls of a hand-over between two parties", "双方一次交接的系统调用"),
    (
        "{} bytes per core cycle, and this core's ports move no more than {}",
        "每核心周期 {0} 字节，而该核心的端口最多 {1} 字节",
    ),
    ("{} TB/s a socket, and no memory gives more than {}", "每插槽 {0} TB/s，而没有内存能超过 {1} TB/s"),
    (
        "{} operations per core cycle, and the widest cores do at most {}",
        "每核心周期 {0} 次运算，而最宽的核心最多 {1} 次",
    ),
    ("{} bytes, and the line of every cache is a power of two", "{0} 字节，而缓存行的大小总是 2 的幂"),
    ("at least this: {} {} are the most that were measured, and {}", "这是下限：{1}={0} 是测过的最大值，{2}"),
    ("no smaller number was measured", "没有测量更小的值"),
    ("it still rises there", "且此处仍在上升"),
    ("takes {}, and is far below what {} says: one of the two is wrong", "含{0}，却远低于 {1} 的结果：两者必有一错"),
    (
        "it implies a core clock of {} GHz, and the run saw {} to {} GHz",
        "由此推得核心频率为 {0} GHz，而本次运行测到的为 {1} 到 {2} GHz",
    ),
    ("a switch", "一次切换"),
    ("{} switches", "{0} 次切换"),
    (
        "{} do not fit, and the host reports {}: neighbours probably use the rest",
        "实测容纳不下 {0}，而主机报告 {1}：其余部分可能被邻居虚拟机占用",
    ),
    (
        "at {}; the last cache is shared and holds about {} for you now",
        "取自 {0} 处；末级缓存由多方共享，目前约有 {1} 归本机使用",
    ),
    ("{} fit, and the host reports {}", "实测可容纳 {0}，而主机报告 {1}"),
];
