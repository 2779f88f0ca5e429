//! Probe net.data_path: how fast bytes go through a row of processes, pipes and TCP, and where each process' time goes.

mod points;
mod quantities;

use hostmark_engine::prelude::*;

use crate::workloads::pipeline::{Endpoint, Method, Pace, Path, Pipeline, PipelinePlan};

pub static PROBE: Probe = Probe {
    title: Text { en: "Data path", zh: "数据通路" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: quantities::ALSO,
    explain: Explain {
        what: Text {
            en: "`amount` bytes travel along `path`: from a source through pipes and loopback TCP connections to a \
                 sink. Sources are zero (/dev/zero), file (cached), cold_file (first dropped from this system's page cache; a hypervisor or device may still hold it) and \
                 memory. Sinks are null (written to /dev/null) and memory (left where they were read). A process \
                 between each two stations reads and writes `block` bytes at a time. A word before a station makes the \
                 process use splice, sendfile or send with MSG_ZEROCOPY instead, or poll: at most 16 KiB at a time, \
                 and poll before each call, as Debian's nc does. zero_pipe_poll_socket_poll_null is `dd bs=64k | nc` \
                 and `nc > /dev/null`; zero_pipe_socket_null is the same with 64 KiB blocks and no poll. All processes may run on the first `cpus` CPUs, where the scheduler places \
                 them. The time runs from the start of the first process to the arrival of the last byte. Each process \
                 reports its CPU time, its switches, the bytes it copied, and its waiting time in the reading and in \
                 the writing call (one block of each MiB is timed with its CPU clock; time not running is waiting). \
                 close and behind make two processes on one CPU alternate after each block, with no block or eight \
                 blocks between them.",
            zh: "`amount` 字节沿 `path` 前进：从来源经管道和环回上的 TCP 连接到达终点。来源有 zero（/dev/zero）、file\
                 （已缓存的文件）、cold_file（事先从本系统的页缓存中丢弃，虚拟机监控程序或设备可能仍留有）和 memory（内存）；终点有 null（写入 /dev/null）和 \
                 memory（读到即止）。每两站之间有一个进程，每次读写 `block` 字节；站名之前的词表示该进程改用 splice、\
                 sendfile 或带 MSG_ZEROCOPY 的 send；poll 则如 Debian 的 nc：每次至多 16 KiB，每次调用前先 poll。\
                 zero_pipe_poll_socket_poll_null 即 `dd bs=64k | nc` 与 `nc > /dev/null`；zero_pipe_socket_null 与之相同，但用 \
                 64 KiB 块且不用 poll。所有进程都可在前 `cpus` 个 CPU 上运行，由调度器安排。时间从第一个进程开始算到最后一个字节到达。每个进程给出其 \
                 CPU 时间、切换次数、复制的字节，以及在读调用和写调用中等待了多久（每 MiB 有一块用其 CPU 时钟计时，未\
                 运行即为等待）。close 与 behind 让同一 CPU 上的两个进程每块之后轮换，二者之间分别没有积压和积压八块。",
        },
        why: Text {
            en: "A transfer with `dd | nc` is slower than TCP itself: each further process copies each byte twice and \
                 needs a CPU. This shows how much a proxy, a log shipper or a backup loses that way, and in which \
                 process.",
            zh: "用 `dd | nc` 传输比 TCP 本身慢：每多一个进程，每个字节就多复制两次，还要占用 CPU。代理、日志传输或备份因此损失多少、损失在哪个进程，这里给出答案。",
        },
        reading: Text {
            en: "memory_socket_memory is TCP alone. What a path loses against it goes into further copies, switches \
                 and waits. The process that waits least for its neighbours is the slowest. On one CPU the times of \
                 all processes add up. On two they overlap, but a process that sleeps on another CPU must be woken, \
                 which in a guest costs more than a copy. The view `report --format data-path` draws each path.",
            zh: "memory_socket_memory 只有 TCP；一条通路比它少的部分花在了更多的复制、切换和等待上。等待相邻进程最少的\
                 那个进程最慢。在一个 CPU 上各进程的时间相加；在两个上可以重叠，但睡在另一个 CPU 上的进程要被唤醒，在\
                 虚拟机里这比一次复制更贵。`report --format data-path` 画出每条通路。",
        },
        typical: Text {
            en: "A published course document reports for a Celeron 1037U (two cores) `dd | nc` to `nc > /dev/null` at \
                 580 MB/s, `nc < file` cached at 1074 MB/s, cold at 116 MB/s, and guesses 1.6 GB/s for TCP alone. \
                 Measured with hostmark on a 2-CPU KVM guest (Zen 5, Linux 6.18), one CPU, 64 KiB blocks: 2.2 to 2.3 \
                 GB/s of 3.2 to 3.6 for TCP alone under bbr, 2.2 to 2.3 of 8.3 to 9.2 under reno. On a Xeon guest \
                 under bbr: 1.03 GB/s with nc's polls, as Debian's nc itself (0.92 to 1.02), and 1.68 without.",
            zh: "一份课程文档在 Celeron 1037U（双核）上测得：`dd | nc` 到 `nc > /dev/null` 为 580 MB/s，`nc < file` 已缓存 1074 MB/s，未缓存 116 \
                 MB/s，并推测单独的 TCP 为 1.6 GB/s。用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 5，Linux 6.18）的一个 CPU 上实测（64 KiB 块）：bbr 下 2.2 到 2.3 \
                 GB/s，单独的 TCP 为 3.2 到 3.6；reno 下 2.2 到 2.3，单独的 TCP 为 8.3 到 9.2。在一台 Xeon 虚拟机上（bbr）：像 nc 那样 poll 时 1.03 GB/s，\
                 与 Debian 的 nc 相同（0.92 到 1.02 倍），不用 poll 时 1.68。",
        },
        causes: Text {
            en: "Processes that only pass data on (cat, pv); small blocks, each of which costs two system calls and \
                 often a switch; expensive wake-ups on several CPUs; a congestion control that paces (bbr); packet \
                 filters; a slow disk with cold_file.",
            zh: "只做转手的进程（cat、pv）；块太小，每块要付两次系统调用，往往还有一次切换；多个 CPU 上昂贵的唤醒；在环回接口上限速的拥塞控制（bbr）；包过滤；cold_file 之下的慢磁盘。",
        },
    },
    related: &["net.tcp_bandwidth", "ipc.pipe_bandwidth", "memory.copy", "disk.read"],
    axes: &[
        Axis::choice("path", "zero_pipe_socket_null", points::PATHS),
        Axis::threads("cpus", Points::OfHost(points::cpus)),
        Axis::size(
            "block",
            "65536",
            Points::Listed {
                quick: &["65536"],
                standard: &["4096", "16384", "1048576"],
                thorough: &["8192", "262144"],
            },
        ),
        Axis::size(
            "amount",
            "67108864",
            Points::Listed { quick: &["67108864"], standard: &["4194304"], thorough: &["1073741824"] },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["path", "cpus"] }],
    blocking: true,
    section: crate::section::NETWORK,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Bytes of a transfer at most: at 1 GB/s a round of two lasts half a minute.
const MOST_BYTES: u64 = 16 << 30;

fn measure(case: &mut Case) -> Result<()> {
    let path: Path = case.param("path")?;
    let amount: u64 = case.param("amount")?;
    if amount > MOST_BYTES {
        let most = MOST_BYTES >> 30;
        return Err(RoundError::skipped(
            ReasonCode::NotApplicable,
            format!("a transfer of over {most} GiB may last longer than a round: name less"),
        ));
    }
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    if path.pace != Pace::Free && cpus.len() > 1 {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, "only processes of one CPU take turns"));
    }
    let file = match path.stages[0].from {
        Endpoint::File => {
            let directory = case.scratch_dir()?;
            Some(crate::place::filled(case, &directory, amount)?)
        }
        Endpoint::ColdFile => Some(crate::place::on_device(case, amount)?),
        _ => None,
    };
    let block: u64 = case.param("block")?; // of which each process has a copy of its own
    case.may_fill(block.saturating_mul(path.stages.len() as u64 + 1))?;
    let mut block = case.buffer(block, Pages::Base, None)?;
    let plan = PipelinePlan { path: &path, file: file.as_ref(), amount, cpus: &cpus };
    let started = Pipeline::start(&plan, block.bytes_mut());
    let mut pipeline =
        started.map_err(|error| RoundError::lacking("these processes cannot be connected so", &error))?;
    let is_cold = path.stages[0].from == Endpoint::ColdFile;
    let (device, mut moved) = (is_cold.then(|| crate::place::Device::of(case)).transpose()?, 0);
    case.timed(|clock| {
        moved += amount;
        Ok(clock.ticks(pipeline.transfer()? as f64))
    })
    .rate(amount)?;
    device.map_or(Ok(()), |device| device.give(case, moved, |work| work.read_bytes))?;
    case.note("stages", &path);
    if let Some(algorithm) = &pipeline.congestion_control {
        case.note("congestion_control", algorithm);
    }
    if let Some(bytes) = pipeline.pipe_bytes {
        case.note("pipe_bytes", bytes);
    }
    if path.stages.iter().any(|stage| stage.by == Method::ZeroCopy) {
        let copied = pipeline.accounts()[0].copied > 0;
        case.note("zero_copy", if copied { "copied" } else { "not copied" });
    }
    quantities::give(case, pipeline.accounts(), sys::counters::has_run_delay())
}
