//! The benchmarks of perf bench as probes of a run.

use hostmark_model::{AxisKind, Unit};

use super::super::foreign::{ForeignQuantity, Source};
use crate::texts::perf::programs as texts;

const THREADS: (&str, AxisKind) = ("threads", AxisKind::Count);
const PARTIES: (&str, AxisKind) = ("parties", AxisKind::Choice);
const MEM: &[(&str, AxisKind)] = &[("function", AxisKind::Choice), ("size", AxisKind::Size)];

use Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};

pub(super) static SOURCE: Source = Source {
    format: "perf-bench",
    tool: "perf bench",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity::plain("perf.sched_pipe", texts::SCHED_PIPE_TITLE, Nanoseconds, &[PARTIES], texts::SCHED_PIPE),
        ForeignQuantity::plain(
            "perf.sched_pipe_total",
            texts::SCHED_PIPE_TOTAL_TITLE,
            Nanoseconds,
            &[],
            texts::SCHED_PIPE_TOTAL,
        ),
        ForeignQuantity::plain(
            "perf.sched_messaging",
            texts::SCHED_MESSAGING_TITLE,
            Nanoseconds,
            &[("groups", AxisKind::Count), PARTIES],
            texts::SCHED_MESSAGING,
        ),
        ForeignQuantity::plain(
            "perf.syscall_basic",
            texts::SYSCALL_BASIC_TITLE,
            Nanoseconds,
            &[],
            texts::SYSCALL_BASIC,
        ),
        ForeignQuantity::plain(
            "perf.syscall_getpgid",
            texts::SYSCALL_GETPGID_TITLE,
            Nanoseconds,
            &[],
            texts::SYSCALL_GETPGID,
        ),
        ForeignQuantity::plain("perf.syscall_fork", texts::SYSCALL_FORK_TITLE, Nanoseconds, &[], texts::SYSCALL_FORK),
        ForeignQuantity::plain(
            "perf.syscall_execve",
            texts::SYSCALL_EXECVE_TITLE,
            Nanoseconds,
            &[],
            texts::SYSCALL_EXECVE,
        ),
        ForeignQuantity::plain(
            "perf.syscall_total",
            texts::SYSCALL_TOTAL_TITLE,
            Nanoseconds,
            &[("call", AxisKind::Choice)],
            texts::SYSCALL_TOTAL,
        ),
        ForeignQuantity::plain("perf.memcpy", texts::MEMCPY_TITLE, BytesPerSecond, MEM, texts::MEMCPY),
        ForeignQuantity::plain("perf.memset", texts::MEMSET_TITLE, BytesPerSecond, MEM, texts::MEMSET),
        ForeignQuantity::plain("perf.mmap", texts::MMAP_TITLE, BytesPerSecond, MEM, texts::MMAP),
        ForeignQuantity::plain(
            "perf.futex_hash",
            texts::FUTEX_HASH_TITLE,
            OperationsPerSecond,
            &[THREADS],
            texts::FUTEX_HASH,
        ),
        ForeignQuantity::plain("perf.futex_wake", texts::FUTEX_WAKE_TITLE, Nanoseconds, &[THREADS], texts::FUTEX_WAKE),
        ForeignQuantity::plain(
            "perf.futex_wake_parallel",
            texts::FUTEX_WAKE_PARALLEL_TITLE,
            Nanoseconds,
            &[THREADS],
            texts::FUTEX_WAKE_PARALLEL,
        ),
        ForeignQuantity::plain(
            "perf.futex_requeue",
            texts::FUTEX_REQUEUE_TITLE,
            Nanoseconds,
            &[THREADS],
            texts::FUTEX_REQUEUE,
        ),
        ForeignQuantity::plain(
            "perf.futex_lock_pi",
            texts::FUTEX_LOCK_PI_TITLE,
            OperationsPerSecond,
            &[THREADS],
            texts::FUTEX_LOCK_PI,
        ),
        ForeignQuantity::plain(
            "perf.epoll_wait",
            texts::EPOLL_WAIT_TITLE,
            OperationsPerSecond,
            &[THREADS],
            texts::EPOLL_WAIT,
        ),
        ForeignQuantity::plain(
            "perf.epoll_ctl",
            texts::EPOLL_CTL_TITLE,
            OperationsPerSecond,
            &[THREADS, ("op", AxisKind::Choice)],
            texts::EPOLL_CTL,
        ),
        ForeignQuantity::plain(
            "perf.operation",
            texts::OPERATION_TITLE,
            Nanoseconds,
            &[("benchmark", AxisKind::Choice)],
            texts::OPERATION,
        ),
    ],
};

/// Names of perf bench, with the probe of its result and that of a total time alone.
const NAMES: &[(&str, &str, Option<&str>)] = &[
    ("sched/pipe", "perf.sched_pipe", Some("perf.sched_pipe_total")),
    ("sched/messaging", "perf.sched_messaging", None),
    ("syscall/basic", "perf.syscall_basic", Some("perf.syscall_total")),
    ("syscall/getpgid", "perf.syscall_getpgid", Some("perf.syscall_total")),
    ("syscall/fork", "perf.syscall_fork", Some("perf.syscall_total")),
    ("syscall/execve", "perf.syscall_execve", Some("perf.syscall_total")),
    ("mem/memcpy", "perf.memcpy", None),
    ("mem/memset", "perf.memset", None),
    ("mem/mmap", "perf.mmap", None),
    ("futex/hash", "perf.futex_hash", None),
    ("futex/wake", "perf.futex_wake", None),
    ("futex/wake-parallel", "perf.futex_wake_parallel", None),
    ("futex/requeue", "perf.futex_requeue", None),
    ("futex/lock-pi", "perf.futex_lock_pi", None),
    ("epoll/wait", "perf.epoll_wait", None),
    ("epoll/ctl", "perf.epoll_ctl", None),
];

/// The probe of a benchmark's result, or of its total time alone; none of a benchmark without one of its own.
pub(super) fn program(name: &str, what: &str) -> Option<&'static str> {
    let (_, result, total) = NAMES.iter().find(|(known, ..)| *known == name)?;
    if what == "total" { *total } else { Some(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_program() {
        for (name, result, total) in NAMES {
            for id in std::iter::once(result).chain(total) {
                assert!(SOURCE.programs.iter().any(|program| program.id == *id), "{name}: {id}");
            }
        }
    }
}
