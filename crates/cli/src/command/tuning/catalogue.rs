//! The settings that `hostmark try` turns off and on, as data.

use hostmark_model::Text;

use super::setting::MachineSetting;
use crate::texts::tuning as texts;

/// A setting that can be tried.
#[derive(Debug)]
pub struct Tuning {
    pub name: &'static str,
    /// The texts of its page, `<name>.md`.
    pub texts: TuningTexts,
    /// The rules of findings whose cure it is.
    pub findings: &'static [&'static str],
    /// Concerned cases, the most important first.
    pub cases: &'static [Concerned],
    pub turn: Mechanism,
}

#[derive(Debug)]
pub struct TuningTexts {
    pub what: Text,
    /// Cause of a change: the start of a sentence that goes on with the value, and its negation.
    pub makes: [Text; 2],
    /// Names of the two sides: without it, and with it.
    pub sides: [Text; 2],
    /// Instructions to make it permanent.
    pub permanent: Text,
}

/// A case that a setting concerns.
#[derive(Debug)]
pub struct Concerned {
    /// The filter that selects it; `NEAR` stands for the nearest placement on two CPUs that the machine has.
    pub filter: &'static str,
    /// Name of the cases, within a sentence.
    pub name: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Setting of the measuring processes: prctl(PR_SET_THP_DISABLE).
    HugePages,
    /// Axis of the probe: the first of these that it has, with its values without and with.
    Axis(&'static [[&'static str; 3]]),
    /// Process of hostmark beside the measuring one.
    Neighbour(Neighbour),
    /// Setting of the whole machine, until it is put back.
    Machine(MachineSetting),
}

/// Work of a process beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Keeps all CPUs from idling, and yields to all others.
    Idle,
    /// Reads memory without pause on the nearest other CPU.
    Busy,
}

const fn case(filter: &'static str, name: Text) -> Concerned {
    Concerned { filter, name }
}

/// Stands for the nearest placement on two CPUs.
pub const NEAR: &str = "NEAR";

const PIPE_ACROSS: Concerned = case("ipc.round_trip@by=pipe,cpus=NEAR", term!("a pipe round trip across CPUs"));
const WAKEUP: Concerned = case("sched.wakeup@by=futex,rate=1000,cpus=NEAR", term!("waking another CPU"));
const TCP_ACROSS: Concerned = case("net.tcp@cpus=NEAR", term!("a TCP round trip across CPUs over loopback"));
const FREQUENCY: Concerned = case("cpu.frequency@load=scalar,threads=1", term!("the frequency of one busy core"));
const DRAM: Concerned = case("memory.latency@size=268435456,pattern=random,page=pmd", term!("DRAM latency"));
const NULL_CALL: Concerned = case("syscall.null", term!("a null system call"));

/// All of them: first those that concern hostmark's own processes alone, then those of the whole machine.
pub static TUNINGS: &[Tuning] = &[
    Tuning {
        name: "huge-pages",
        texts: texts::HUGE_PAGES,
        findings: &["memory.huge_pages_off"],
        cases: &[DRAM, case("memory.random_access@op=read,size=268435456,page=pmd", term!("random reads of memory"))],
        turn: Mechanism::HugePages,
    },
    Tuning {
        name: "binding",
        texts: texts::BINDING,
        findings: &["ipc.across_cpus"],
        cases: &[
            case("ipc.round_trip@by=pipe", term!("a pipe round trip")),
            case("net.tcp", term!("a TCP round trip over loopback")),
            case("memory.random_access", term!("random reads of memory")),
        ],
        turn: Mechanism::Axis(&[["bind", "none", "cpu"], ["cpus", "free", "same_cpu"]]),
    },
    Tuning {
        name: "pipe-size",
        texts: texts::PIPE_SIZE,
        findings: &["ipc.pipe_capacity"],
        cases: &[
            case(
                "ipc.bandwidth@by=pipe,message=1048576,cpus=same_cpu",
                term!("the pipe bandwidth of 1 MiB messages on one CPU"),
            ),
            case(
                "ipc.bandwidth@by=pipe,message=1048576,cpus=NEAR",
                term!("the pipe bandwidth of 1 MiB messages across CPUs"),
            ),
            case(
                "ipc.bandwidth@by=pipe,message=65536,cpus=NEAR",
                term!("the pipe bandwidth of 64 KiB messages across CPUs"),
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
                term!("the TCP rate of 64 KiB messages over loopback"),
            ),
            case(
                "net.tcp_bandwidth@message=1048576,cpus=same_cpu",
                term!("the TCP rate of 1 MiB messages over loopback"),
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
            case("memory.read@size=67108864,kernel=best", term!("the read bandwidth of memory")),
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
            term!("mapping and first touching memory"),
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
            case("memory.random_access@size=268435456,bind=none", term!("random reads of memory by an unbound thread")),
            case("memory.read@size=67108864,kernel=best", term!("the read bandwidth of memory")),
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
                term!("the UDP rate received over loopback on one CPU"),
            ),
            case("net.udp_bandwidth@datagram=1472,cpus=NEAR", term!("the UDP rate received over loopback across CPUs")),
        ],
        turn: Mechanism::Machine(MachineSetting::ReceiveBuffer),
    },
];

pub fn named(name: &str) -> Option<&'static Tuning> {
    let name = if name == "idle-neighbour" { "idle-poll" } else { name };
    TUNINGS.iter().find(|tuning| tuning.name == name)
}
