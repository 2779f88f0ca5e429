//! The settings that `hostmark try` turns off and on, as data.

use hostmark_model::Text;

use super::setting::MachineSetting;
use crate::texts::tuning as texts;

/// A setting that can be tried.
#[derive(Debug)]
pub struct Tuning {
    /// What a person types.
    pub name: &'static str,
    /// The texts of its page, `<name>.md`.
    pub texts: TuningTexts,
    /// The rules of findings whose cure it is.
    pub findings: &'static [&'static str],
    /// What it concerns, the first before all.
    pub cases: &'static [Concerned],
    /// How it is turned.
    pub turn: Mechanism,
}

/// Texts of a setting.
#[derive(Debug)]
pub struct TuningTexts {
    /// Effect of the setting.
    pub what: Text,
    /// Cause of a change: the start of a sentence that goes on with the value, and its negation.
    pub makes: [Text; 2],
    /// Names of the two sides: without it, and with it.
    pub sides: [Text; 2],
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

const fn case(filter: &'static str, en: &'static str, zh: &'static str) -> Concerned {
    Concerned { filter, name: Text { en, zh } }
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
        texts: texts::HUGE_PAGES,
        findings: &["memory.huge_pages_off"],
        cases: &[
            DRAM,
            case("memory.random_access@op=read,size=268435456,page=pmd", "random reads of memory", "随机读内存"),
        ],
        turn: Mechanism::HugePages,
    },
    Tuning {
        name: "binding",
        texts: texts::BINDING,
        findings: &["ipc.across_cpus"],
        cases: &[
            case("ipc.pipe", "a pipe round trip", "管道往返"),
            case("net.tcp", "a TCP round trip over loopback", "本机 TCP 往返"),
            case("memory.random_access", "random reads of memory", "随机读内存"),
        ],
        turn: Mechanism::Axis(&[["bind", "none", "cpu"], ["cpus", "free", "same_cpu"]]),
    },
    Tuning {
        name: "pipe-size",
        texts: texts::PIPE_SIZE,
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
    },
    Tuning {
        name: "zerocopy",
        texts: texts::ZEROCOPY,
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
    },
    Tuning {
        name: "idle-poll",
        texts: texts::IDLE_POLL,
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Neighbour(Neighbour::Idle),
    },
    Tuning {
        name: "busy-neighbour",
        texts: texts::BUSY_NEIGHBOUR,
        findings: &["run.neighbours", "cpu.shared_cores"],
        cases: &[
            DRAM,
            case("memory.read@size=67108864,kernel=best", "the read bandwidth of memory", "内存读带宽"),
            FREQUENCY,
            NULL_CALL,
        ],
        turn: Mechanism::Neighbour(Neighbour::Busy),
    },
    Tuning {
        name: "thp",
        texts: texts::THP,
        findings: &["memory.huge_pages_off"],
        cases: &[case(
            "paging.mmap@size=67108864,touch=tenth,backing=anonymous",
            "mapping and first touching memory",
            "映射并首次访问内存",
        )],
        turn: Mechanism::Machine(MachineSetting::TransparentHugePages),
    },
    Tuning {
        name: "governor",
        texts: texts::GOVERNOR,
        findings: &["cpu.governor", "host.governor"],
        cases: &[WAKEUP, FREQUENCY, NULL_CALL, PIPE_ACROSS],
        turn: Mechanism::Machine(MachineSetting::Governor),
    },
    Tuning {
        name: "idle-states",
        texts: texts::IDLE_STATES,
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Machine(MachineSetting::IdleStates),
    },
    Tuning {
        name: "haltpoll",
        texts: texts::HALTPOLL,
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Machine(MachineSetting::IdleGovernor),
    },
    Tuning {
        name: "turbo",
        texts: texts::TURBO,
        findings: &["host.turbo"],
        cases: &[FREQUENCY, NULL_CALL, DRAM],
        turn: Mechanism::Machine(MachineSetting::Turbo),
    },
    Tuning {
        name: "numa-balancing",
        texts: texts::NUMA_BALANCING,
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
    },
    Tuning {
        name: "udp-buffer",
        texts: texts::UDP_BUFFER,
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
    },
];

/// The setting of that name.
pub fn named(name: &str) -> Option<&'static Tuning> {
    let name = if name == "idle-neighbour" { "idle-poll" } else { name };
    TUNINGS.iter().find(|tuning| tuning.name == name)
}
