//! The benchmarks of perf bench as probes of a run.

use hostmark_model::{AxisKind, Unit};

use super::super::foreign::{ForeignQuantity, Source, t};

const THREADS: (&str, AxisKind) = ("threads", AxisKind::Count);
const PARTIES: (&str, AxisKind) = ("parties", AxisKind::Choice);
const MEM: &[(&str, AxisKind)] = &[("function", AxisKind::Choice), ("size", AxisKind::Size)];

use Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};

pub(super) static SOURCE: Source = Source {
    format: "perf-bench",
    tool: "perf bench",
    section: t("Measured by perf bench", "perf bench 测得"),
    reading: t(
        "A mean over one run of the benchmark's loop, warm-up and the loop itself included, by a clock of microseconds; which CPUs \
         it used is not told. hostmark's probes of the same name differ in this.",
        "对该基准测试循环一次运行的平均值，含预热和循环本身，用微秒级时钟计时；所用 CPU 未给出。hostmark 的同类探针在这些方面不同。",
    ),
    programs: &[
        ForeignQuantity::plain(
            "perf.sched_pipe",
            t("perf bench: pipe", "perf bench：管道"),
            Nanoseconds,
            &[PARTIES],
            t(
                "A round trip of a 4-byte token between two processes or threads over two pipes.",
                "两个进程或线程经两条管道往返一个 4 字节令牌的时间。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.sched_pipe_total",
            t("perf bench: pipe, total", "perf bench：管道，总时间"),
            Nanoseconds,
            &[],
            t(
                "The total time of all round trips; the simple format does not tell how many.",
                "全部往返的总时间；simple 格式不给出次数。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.sched_messaging",
            t("perf bench: messaging", "perf bench：消息传递"),
            Nanoseconds,
            &[("groups", AxisKind::Count), PARTIES],
            t(
                "The time in which groups of 20 senders and 20 receivers sent all their messages.",
                "各组 20 个发送者与 20 个接收者发完全部消息的时间。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.syscall_basic",
            t("perf bench: getppid", "perf bench：getppid"),
            Nanoseconds,
            &[],
            t("A getppid through libc, in a loop.", "循环中经 libc 调用一次 getppid。"),
        ),
        ForeignQuantity::plain(
            "perf.syscall_getpgid",
            t("perf bench: getpgid", "perf bench：getpgid"),
            Nanoseconds,
            &[],
            t("A getpgid through libc, in a loop.", "循环中经 libc 调用一次 getpgid。"),
        ),
        ForeignQuantity::plain(
            "perf.syscall_fork",
            t("perf bench: fork", "perf bench：fork"),
            Nanoseconds,
            &[],
            t("A fork, and the end of the child.", "一次 fork 及子进程结束。"),
        ),
        ForeignQuantity::plain(
            "perf.syscall_execve",
            t("perf bench: execve", "perf bench：execve"),
            Nanoseconds,
            &[],
            t("A fork, an execve of /bin/true, and its end.", "一次 fork、执行 /bin/true 及其结束。"),
        ),
        ForeignQuantity::plain(
            "perf.syscall_total",
            t("perf bench: system calls, total", "perf bench：系统调用，总时间"),
            Nanoseconds,
            &[("call", AxisKind::Choice)],
            t(
                "The total time of a syscall benchmark; the simple format does not tell of how many calls.",
                "系统调用基准的总时间；simple 格式不给出次数。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.memcpy",
            t("perf bench: memcpy", "perf bench：memcpy"),
            BytesPerSecond,
            MEM,
            t("Bytes copied a second by the function named.", "所列函数每秒复制的字节数。"),
        ),
        ForeignQuantity::plain(
            "perf.memset",
            t("perf bench: memset", "perf bench：memset"),
            BytesPerSecond,
            MEM,
            t("Bytes set a second by the function named.", "所列函数每秒填充的字节数。"),
        ),
        ForeignQuantity::plain(
            "perf.mmap",
            t("perf bench: mmap", "perf bench：mmap"),
            BytesPerSecond,
            MEM,
            t(
                "Bytes mapped and populated a second, at once or by page faults, as the function's name tells.",
                "每秒映射并分配的字节数；按函数名，一次性分配或由缺页逐页分配。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.futex_hash",
            t("perf bench: futex hash", "perf bench：futex 哈希"),
            OperationsPerSecond,
            &[THREADS],
            t(
                "Failing futex waits a second of each thread, on a thousand futexes of its own.",
                "每个线程每秒在自己的一千个 futex 上执行的（立即失败的）等待次数。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.futex_wake",
            t("perf bench: futex wake", "perf bench：futex 唤醒"),
            Nanoseconds,
            &[THREADS],
            t(
                "The time in which one thread woke all that waited on a futex; each run is a sample.",
                "一个线程唤醒某个 futex 上全部等待者的时间；每次运行为一个样本。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.futex_wake_parallel",
            t("perf bench: futex wake in parallel", "perf bench：futex 并行唤醒"),
            Nanoseconds,
            &[THREADS],
            t(
                "The time of one of several threads that wake at once; each run is a sample.",
                "多个线程同时唤醒时单个线程的时间；每次运行为一个样本。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.futex_requeue",
            t("perf bench: futex requeue", "perf bench：futex 重排队"),
            Nanoseconds,
            &[THREADS],
            t(
                "The time in which all that waited on a futex were moved to another; each run is a sample.",
                "把某个 futex 上全部等待者移到另一个 futex 的时间；每次运行为一个样本。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.futex_lock_pi",
            t("perf bench: futex lock with priority inheritance", "perf bench：优先级继承 futex 锁"),
            OperationsPerSecond,
            &[THREADS],
            t(
                "Locks and unlocks a second of each thread, all on one futex.",
                "各线程在同一个 futex 上每秒加锁并解锁的次数。",
            ),
        ),
        ForeignQuantity::plain(
            "perf.epoll_wait",
            t("perf bench: epoll wait", "perf bench：epoll 等待"),
            OperationsPerSecond,
            &[THREADS],
            t("Events that each thread took from epoll a second.", "每个线程每秒从 epoll 取得的事件数。"),
        ),
        ForeignQuantity::plain(
            "perf.epoll_ctl",
            t("perf bench: epoll_ctl", "perf bench：epoll_ctl"),
            OperationsPerSecond,
            &[THREADS, ("op", AxisKind::Choice)],
            t("epoll_ctl calls of one kind a second of each thread.", "每个线程每秒某一类 epoll_ctl 调用的次数。"),
        ),
        ForeignQuantity::plain(
            "perf.operation",
            t("perf bench: another operation", "perf bench：其他操作"),
            Nanoseconds,
            &[("benchmark", AxisKind::Choice)],
            t(
                "The time of one operation of the benchmark named; the note `setup` is what perf prints about it.",
                "所列基准测试的一次操作的时间；注记 `setup` 为 perf 打印的说明。",
            ),
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
