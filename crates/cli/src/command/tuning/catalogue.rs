//! The settings that `hostmark try` turns off and on, as data.

use hostmark_model::Text;

use super::setting::MachineSetting;

/// A setting that can be tried.
#[derive(Debug)]
pub struct Tuning {
    /// What a person types.
    pub name: &'static str,
    /// What it does.
    pub what: Text,
    /// What changes the value: the start of a sentence that goes on with the value, and its negation.
    pub makes: [Text; 2],
    /// What the two sides are called: without it, and with it.
    pub sides: [Text; 2],
    /// The rules of findings whose cure it is.
    pub findings: &'static [&'static str],
    /// What it concerns, the first before all.
    pub cases: &'static [Concerned],
    /// How it is turned.
    pub turn: Mechanism,
    /// How it is made permanent.
    pub permanent: Text,
}

/// A case that a setting concerns.
#[derive(Debug)]
pub struct Concerned {
    /// The filter that selects it; `NEAR` stands for the nearest placement on two CPUs that the machine has.
    pub filter: &'static str,
    /// What it measures, within a sentence.
    pub name: Text,
}

/// How a setting is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// For the processes that measure: prctl(PR_SET_THP_DISABLE).
    HugePages,
    /// By an axis of the probe: the first of these that it has, with its values without and with.
    Axis(&'static [[&'static str; 3]]),
    /// By a process of hostmark's beside.
    Neighbour(Neighbour),
    /// For the whole machine, until it is put back.
    Machine(MachineSetting),
}

/// What a process beside does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Keeps all CPUs from idling, and yields to all others.
    Idle,
    /// Reads memory without pause on the nearest other CPU.
    Busy,
}

const fn t(en: &'static str, zh: &'static str) -> Text {
    Text { en, zh }
}

const fn case(filter: &'static str, en: &'static str, zh: &'static str) -> Concerned {
    Concerned { filter, name: t(en, zh) }
}

/// Stands for the nearest placement on two CPUs.
pub const NEAR: &str = "NEAR";

const PIPE_ACROSS: Concerned = case("ipc.pipe@cpus=NEAR", "a pipe round trip across CPUs", "跨 CPU 的管道往返");
const WAKEUP: Concerned = case("sched.wakeup@by=futex,rate=1000,cpus=NEAR", "waking another CPU", "唤醒另一个 CPU");
const TCP_ACROSS: Concerned =
    case("net.tcp@cpus=NEAR", "a TCP round trip across CPUs over loopback", "跨 CPU 的本机 TCP 往返");
const FREQUENCY: Concerned =
    case("cpu.frequency@load=scalar,threads=1", "the frequency of one busy core", "单个繁忙核心的频率");
const DRAM: Concerned = case("memory.latency@size=268435456,pattern=random,page=pmd", "DRAM latency", "DRAM 延迟");
const NULL_CALL: Concerned = case("syscall.null", "a null system call", "空系统调用");

/// All of them: first those that concern hostmark's own processes alone, then those of the whole machine.
pub static TUNINGS: &[Tuning] = &[
    Tuning {
        name: "huge-pages",
        what: t(
            "huge pages for memory that asks for them: off by prctl(PR_SET_THP_DISABLE)",
            "为主动申请的内存提供大页；关闭时用 prctl(PR_SET_THP_DISABLE)",
        ),
        makes: [t("Huge pages make", "使用大页使"), t("Huge pages do not change", "使用大页不改变")],
        sides: [t("base pages", "基本页"), t("huge pages", "大页")],
        findings: &["memory.huge_pages_off"],
        cases: &[
            DRAM,
            case("memory.random_access@op=read,size=268435456,page=pmd", "random reads of memory", "随机读内存"),
        ],
        turn: Mechanism::HugePages,
        permanent: t(
            "In a program: madvise(MADV_HUGEPAGE) on large, long-lived memory, or GLIBC_TUNABLES=glibc.malloc.hugetlb=1 for malloc. For all programs: echo always > /sys/kernel/mm/transparent_hugepage/enabled now, transparent_hugepage=always on the kernel's command line from the next boot on. Databases may want the opposite: read their manual first.",
            "程序内：对大块、长期使用的内存调用 madvise(MADV_HUGEPAGE)，malloc 可用 GLIBC_TUNABLES=glibc.malloc.hugetlb=1。对所有程序：立即生效用 echo always > /sys/kernel/mm/transparent_hugepage/enabled，重启后仍生效则在内核命令行加 transparent_hugepage=always。部分数据库的建议相反，请先查阅其手册。",
        ),
    },
    Tuning {
        name: "binding",
        what: t("threads bound to one CPU instead of left to the scheduler", "线程绑定到一个 CPU，而不是交给调度器"),
        makes: [
            t("Binding to one CPU makes", "绑定到一个 CPU 使"),
            t("Binding to one CPU does not change", "绑定到一个 CPU 不改变"),
        ],
        sides: [t("left to the scheduler", "由调度器安排"), t("bound to one CPU", "绑定到一个 CPU")],
        findings: &["ipc.across_cpus"],
        cases: &[
            case("ipc.pipe", "a pipe round trip", "管道往返"),
            case("net.tcp", "a TCP round trip over loopback", "本机 TCP 往返"),
            case("memory.random_access", "random reads of memory", "随机读内存"),
        ],
        turn: Mechanism::Axis(&[["bind", "none", "cpu"], ["cpus", "free", "same_cpu"]]),
        permanent: t(
            "taskset -c 3 PROGRAM, or CPUAffinity=3 in a systemd unit; two processes that wait for each other on the same CPU, those that compute at the same time on different ones.",
            "taskset -c 3 程序，或在 systemd 单元中设置 CPUAffinity=3；互相等待的两个进程放在同一 CPU，同时计算的放在不同 CPU。",
        ),
    },
    Tuning {
        name: "pipe-size",
        what: t(
            "pipes that hold 1 MiB instead of the usual 64 KiB, by fcntl(F_SETPIPE_SZ)",
            "用 fcntl(F_SETPIPE_SZ) 把管道容量从通常的 64 KiB 增至 1 MiB",
        ),
        makes: [t("Pipes of 1 MiB make", "1 MiB 的管道使"), t("Pipes of 1 MiB do not change", "1 MiB 的管道不改变")],
        sides: [t("usual pipe", "默认容量"), t("pipe of 1 MiB", "1 MiB 容量")],
        findings: &["ipc.pipe_capacity"],
        cases: &[
            case(
                "ipc.pipe_bandwidth@message=1048576,cpus=same_cpu",
                "the pipe bandwidth of 1 MiB messages on one CPU",
                "同一 CPU 上 1 MiB 消息的管道带宽",
            ),
            case(
                "ipc.pipe_bandwidth@message=1048576,cpus=NEAR",
                "the pipe bandwidth of 1 MiB messages across CPUs",
                "跨 CPU 的 1 MiB 消息管道带宽",
            ),
            case(
                "ipc.pipe_bandwidth@message=65536,cpus=NEAR",
                "the pipe bandwidth of 64 KiB messages across CPUs",
                "跨 CPU 的 64 KiB 消息管道带宽",
            ),
        ],
        turn: Mechanism::Axis(&[["capacity", "default", "1m"]]),
        permanent: t(
            "fcntl(fd, F_SETPIPE_SZ, 1048576) in the program that makes the pipe; /proc/sys/fs/pipe-max-size is the most that a user may ask for.",
            "在创建管道的程序中调用 fcntl(fd, F_SETPIPE_SZ, 1048576)；普通用户的上限见 /proc/sys/fs/pipe-max-size。",
        ),
    },
    Tuning {
        name: "zerocopy",
        what: t(
            "TCP sent with MSG_ZEROCOPY instead of a copy into the kernel",
            "TCP 用 MSG_ZEROCOPY 发送，而不复制进内核",
        ),
        makes: [t("MSG_ZEROCOPY makes", "MSG_ZEROCOPY 使"), t("MSG_ZEROCOPY does not change", "MSG_ZEROCOPY 不改变")],
        sides: [t("send", "send"), t("send with MSG_ZEROCOPY", "带 MSG_ZEROCOPY 的 send")],
        findings: &["net.tcp_loopback"],
        cases: &[
            case(
                "net.tcp_bandwidth@message=65536,cpus=same_cpu",
                "the TCP rate of 64 KiB messages over loopback",
                "64 KiB 消息的本机 TCP 速率",
            ),
            case(
                "net.tcp_bandwidth@message=1048576,cpus=same_cpu",
                "the TCP rate of 1 MiB messages over loopback",
                "1 MiB 消息的本机 TCP 速率",
            ),
        ],
        turn: Mechanism::Axis(&[["method", "write", "zero_copy"]]),
        permanent: t(
            "setsockopt(SO_ZEROCOPY) once, send(MSG_ZEROCOPY) for messages over 10 KB, and read the completions from the socket's error queue. Over loopback the kernel copies all the same; over a network card it does not: measure with --peer as well.",
            "对套接字设置一次 SO_ZEROCOPY，对 10 KB 以上的消息使用 send(MSG_ZEROCOPY)，并从套接字错误队列读取完成通知。环回接口上内核仍会复制，经网卡则不会：请再用 --peer 测量。",
        ),
    },
    Tuning {
        name: "idle-poll",
        what: t(
            "CPUs kept from idling by spinning threads that yield to everything (SCHED_IDLE), as idle=poll does",
            "用让位于一切任务的自旋线程（SCHED_IDLE）阻止 CPU 空闲，效果如 idle=poll",
        ),
        makes: [
            t("CPUs that never idle make", "CPU 从不空闲使"),
            t("CPUs that never idle do not change", "CPU 从不空闲不改变"),
        ],
        sides: [t("CPUs idle", "CPU 可空闲"), t("CPUs kept awake", "CPU 保持唤醒")],
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Neighbour(Neighbour::Idle),
        permanent: t(
            "It costs power, and on a shared host CPU time. idle=poll on the kernel's command line; in a guest cpuidle_haltpoll.force=1, or kvm.halt_poll_ns on the host; a program that waits for latency may hold /dev/cpu_dma_latency open with 0 written to it.",
            "代价是功耗，在共享宿主机上还占用 CPU 时间。在内核命令行加 idle=poll；虚拟机中可用 cpuidle_haltpoll.force=1，或在宿主机上设置 kvm.halt_poll_ns；对延迟敏感的程序可打开 /dev/cpu_dma_latency，写入 0 并保持打开。",
        ),
    },
    Tuning {
        name: "busy-neighbour",
        what: t("the nearest other CPU busy with reading memory without pause", "最近的另一个 CPU 不停地读内存"),
        makes: [
            t("A busy neighbour CPU makes", "繁忙的相邻 CPU 使"),
            t("A busy neighbour CPU does not change", "繁忙的相邻 CPU 不改变"),
        ],
        sides: [t("neighbour idle", "相邻 CPU 空闲"), t("neighbour busy", "相邻 CPU 繁忙")],
        findings: &["run.neighbours", "cpu.shared_cores"],
        cases: &[
            DRAM,
            case("memory.read@size=67108864,kernel=best", "the read bandwidth of memory", "内存读带宽"),
            FREQUENCY,
            NULL_CALL,
        ],
        turn: Mechanism::Neighbour(Neighbour::Busy),
        permanent: t(
            "To keep neighbours away: a cpuset or isolcpus= for what must be fast, nosmt or core scheduling where the neighbour is the other thread of the core, and limits of bandwidth by resctrl where the CPU has them.",
            "隔开邻居：为关键程序设置 cpuset 或 isolcpus=；邻居是同一核心的另一线程时，用 nosmt 或核心调度；CPU 支持时用 resctrl 限制带宽。",
        ),
    },
    Tuning {
        name: "thp",
        what: t(
            "transparent huge pages for all memory: /sys/kernel/mm/transparent_hugepage/enabled never, always",
            "对所有内存启用透明大页：/sys/kernel/mm/transparent_hugepage/enabled 取 never 或 always",
        ),
        makes: [t("THP=always makes", "THP=always 使"), t("THP=always does not change", "THP=always 不改变")],
        sides: [t("THP=never", "THP=never"), t("THP=always", "THP=always")],
        findings: &["memory.huge_pages_off"],
        cases: &[case(
            "paging.mmap@size=67108864,touch=tenth,backing=anonymous",
            "mapping and first touching memory",
            "映射并首次访问内存",
        )],
        turn: Mechanism::Machine(MachineSetting::TransparentHugePages),
        permanent: t(
            "echo always > /sys/kernel/mm/transparent_hugepage/enabled now; transparent_hugepage=always on the kernel's command line from the next boot on. Your own program tells more than these cases: --command.",
            "立即生效：echo always > /sys/kernel/mm/transparent_hugepage/enabled；重启后仍生效：内核命令行加 transparent_hugepage=always。用 --command 测量自己的程序更能说明问题。",
        ),
    },
    Tuning {
        name: "governor",
        what: t(
            "the cpufreq governor performance instead of powersave or schedutil",
            "cpufreq 调速器用 performance，而非 powersave 或 schedutil",
        ),
        makes: [
            t("The governor performance makes", "performance 调速器使"),
            t("The governor performance does not change", "performance 调速器不改变"),
        ],
        sides: [t("saving governor", "节能调速器"), t("performance", "performance")],
        findings: &["cpu.governor", "host.governor"],
        cases: &[WAKEUP, FREQUENCY, NULL_CALL, PIPE_ACROSS],
        turn: Mechanism::Machine(MachineSetting::Governor),
        permanent: t(
            "cpupower frequency-set -g performance now; a tuned profile (tuned-adm profile throughput-performance) or cpupower.service from the next boot on.",
            "立即生效：cpupower frequency-set -g performance；重启后仍生效：使用 tuned（tuned-adm profile throughput-performance）或 cpupower.service。",
        ),
    },
    Tuning {
        name: "idle-states",
        what: t(
            "idle states deeper than the lightest forbidden on all CPUs: cpuidle/state*/disable",
            "在所有 CPU 上禁用除最浅以外的空闲状态：cpuidle/state*/disable",
        ),
        makes: [
            t("Forbidding deep idle states makes", "禁用深空闲状态使"),
            t("Forbidding deep idle states does not change", "禁用深空闲状态不改变"),
        ],
        sides: [t("all idle states", "全部空闲状态"), t("lightest only", "仅最浅状态")],
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Machine(MachineSetting::IdleStates),
        permanent: t(
            "tuned-adm profile latency-performance, or intel_idle.max_cstate=1 processor.max_cstate=1 on the kernel's command line. It costs power, and turbo of the other cores.",
            "tuned-adm profile latency-performance，或在内核命令行加 intel_idle.max_cstate=1 processor.max_cstate=1。代价是功耗以及其他核心的睿频。",
        ),
    },
    Tuning {
        name: "haltpoll",
        what: t(
            "the cpuidle governor haltpoll instead of menu, in a guest",
            "虚拟机的 cpuidle 调速器用 haltpoll 而非 menu",
        ),
        makes: [
            t("The idle governor haltpoll makes", "空闲调速器 haltpoll 使"),
            t("The idle governor haltpoll does not change", "空闲调速器 haltpoll 不改变"),
        ],
        sides: [t("menu", "menu"), t("haltpoll", "haltpoll")],
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Machine(MachineSetting::IdleGovernor),
        permanent: t(
            "echo haltpoll > /sys/devices/system/cpu/cpuidle/current_governor now; cpuidle.governor=haltpoll on the kernel's command line from the next boot on.",
            "立即生效：echo haltpoll > /sys/devices/system/cpu/cpuidle/current_governor；重启后仍生效：内核命令行加 cpuidle.governor=haltpoll。",
        ),
    },
    Tuning {
        name: "turbo",
        what: t(
            "frequencies above the nominal one: intel_pstate/no_turbo or cpufreq/boost",
            "高于标称的频率：intel_pstate/no_turbo 或 cpufreq/boost",
        ),
        makes: [t("Turbo makes", "睿频使"), t("Turbo does not change", "睿频不改变")],
        sides: [t("no turbo", "关闭睿频"), t("turbo", "启用睿频")],
        findings: &["host.turbo"],
        cases: &[FREQUENCY, NULL_CALL, DRAM],
        turn: Mechanism::Machine(MachineSetting::Turbo),
        permanent: t(
            "It is on unless the firmware or a power profile forbids it. Off gives figures that repeat better: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost.",
            "除非固件或电源策略禁用，默认启用。关闭后数值更易复现：echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo，或 echo 0 > /sys/devices/system/cpu/cpufreq/boost。",
        ),
    },
    Tuning {
        name: "numa-balancing",
        what: t(
            "the kernel moves pages and threads between memory nodes: kernel.numa_balancing",
            "内核在内存节点间迁移页面与线程：kernel.numa_balancing",
        ),
        makes: [t("NUMA balancing makes", "NUMA 平衡使"), t("NUMA balancing does not change", "NUMA 平衡不改变")],
        sides: [t("no balancing", "关闭"), t("balancing", "启用")],
        findings: &["host.numa_balancing"],
        cases: &[
            case(
                "memory.random_access@size=268435456,bind=none",
                "random reads of memory by an unbound thread",
                "未绑定线程的随机读内存",
            ),
            case("memory.read@size=67108864,kernel=best", "the read bandwidth of memory", "内存读带宽"),
        ],
        turn: Mechanism::Machine(MachineSetting::NumaBalancing),
        permanent: t(
            "sysctl kernel.numa_balancing=1 now, a line in /etc/sysctl.d from the next boot on; 0 where programs place their memory themselves.",
            "立即生效：sysctl kernel.numa_balancing=1；重启后仍生效：写入 /etc/sysctl.d。程序自行安排内存位置时设为 0。",
        ),
    },
    Tuning {
        name: "udp-buffer",
        what: t(
            "receive buffers of 8 MiB instead of 208 KiB for sockets that ask for none: net.core.rmem_default",
            "未自行设置的套接字接收缓冲区从 208 KiB 增至 8 MiB：net.core.rmem_default",
        ),
        makes: [
            t("A receive buffer of 8 MiB makes", "8 MiB 的接收缓冲区使"),
            t("A receive buffer of 8 MiB does not change", "8 MiB 的接收缓冲区不改变"),
        ],
        sides: [t("208 KiB", "208 KiB"), t("8 MiB", "8 MiB")],
        findings: &["net.udp_loss"],
        cases: &[
            case(
                "net.udp_bandwidth@datagram=1472,cpus=same_cpu",
                "the UDP rate received over loopback on one CPU",
                "同一 CPU 上本机 UDP 的接收速率",
            ),
            case(
                "net.udp_bandwidth@datagram=1472,cpus=NEAR",
                "the UDP rate received over loopback across CPUs",
                "跨 CPU 的本机 UDP 接收速率",
            ),
        ],
        turn: Mechanism::Machine(MachineSetting::ReceiveBuffer),
        permanent: t(
            "setsockopt(SO_RCVBUF) in the program, up to net.core.rmem_max; or sysctl net.core.rmem_default=8388608 and a line in /etc/sysctl.d.",
            "在程序中用 setsockopt(SO_RCVBUF) 设置，上限为 net.core.rmem_max；或 sysctl net.core.rmem_default=8388608，并写入 /etc/sysctl.d。",
        ),
    },
];

/// The setting of that name.
pub fn named(name: &str) -> Option<&'static Tuning> {
    let name = if name == "idle-neighbour" { "idle-poll" } else { name };
    TUNINGS.iter().find(|tuning| tuning.name == name)
}
