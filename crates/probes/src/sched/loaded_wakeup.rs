//! Probe sched.loaded_wakeup: how long after they are due requests are begun, by load, as services hand them to their workers.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::handover::request_queue::RequestQueues;
use crate::workloads::processes::fork;
use crate::workloads::processes::hog::{self, Hog, Priority};

pub static PROBE: Probe = Probe {
    title: Text { en: "Wake-up under load", zh: "负载下的唤醒延迟" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN, WOKEN, Quantity::REQUESTS_DUE],
    explain: Explain {
        what: Text {
            en: "Requests are due at fixed, equal distances. Each of `messengers` processes sleeps until its next one \
                 is due, without timer slack, and wakes a worker by futex. It has `workers` sleeping processes per CPU. \
                 A worker does 300,000 dependent additions (about 0.1 ms) for each request. All share the case's CPUs \
                 as the scheduler decides. Each round first measures the capacity: requests per second while all \
                 workers are busy. Then `load` percent of it are due. The value is the time from the moment a request \
                 was due until a worker begins it (open loop: a delay counts for every request that it delays). woken \
                 is the part from the messenger's call on. hog: a further process on each CPU that is busy for that \
                 percentage of the time. Percentiles cover all requests of all rounds.",
            zh: "请求以固定的等间隔到期。`messengers` 个发送进程各自睡眠到下一个请求到期（无定时器松弛），再用 futex 唤醒一个工作进程；\
                 每个发送进程在每个 CPU 上有 `workers` 个睡眠的工作进程。工作进程为每个请求做 300,000 次相互依赖的加法（约 0.1 ms）。\
                 所有进程共用该用例的 CPU，由调度器安排。每轮先测能力：所有工作进程一直忙碌时每秒完成的请求数；然后按其 `load` 百分比发出请求。\
                 数值是从请求到期到工作进程开始处理的时间（开环：一次延误会计入它所拖延的每一个请求）；woken 是其中自发送方调用起的部分。\
                 hog：每个 CPU 上另有一个进程，按此百分比的时间忙碌。分位数取自所有轮的全部请求。",
        },
        why: Text {
            en: "A service is woken twice for each request: by the network, and to hand the request to a worker. Whether \
                 an idle CPU is found for the worker, or a busy one is interrupted in time, is up to the scheduler.",
            zh: "服务处理每个请求要被唤醒两次：一次由网络唤醒，一次把请求交给工作线程。能否为工作线程找到空闲 CPU，或及时打断忙碌的 CPU，取决于调度器。",
        },
        reading: Text {
            en: "Without a hog the median is two wake-ups: clock.sleep with way=timerfd, and woken, which is close to \
                 sched.wakeup. p90 and p99 are requests that find a CPU busy, and wait for a request to end or for \
                 the scheduler to interrupt it. The wake-ups need CPU time too, on top of `load`: beyond 80 % requests \
                 may come faster than they are done, and the value grows with the length of the run.",
            zh: "没有 hog 时，中位数是两次唤醒：clock.sleep（way=timerfd）加上 woken，后者接近 sched.wakeup。p90 与 p99 是遇到 CPU \
                 正忙的请求，要等一个请求结束，或等调度器打断它。唤醒本身也要占用 CPU，不在 `load` 之内：超过 80% 时，请求可能来得比处理得快，\
                 数值会随运行时间增长。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): 29 to 34 µs, woken 10, p90 43 to 61, \
                 p99 64 to 87; with hog=30 34 to 46 µs, p90 390 to 680, p99 1340 to 1410; at load=50 28 to 35 µs, p90 45 to 110, p99 80 to 520.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测：29 到 34 µs，woken 10，p90 43 到 61，p99 64 到 87；hog=30 时 34 到 46 µs，\
                 p90 390 到 680，p99 1340 到 1410；load=50 时 28 到 35 µs，p90 45 到 110，p99 80 到 520。",
        },
        causes: Text {
            en: "Other tasks on the same CPUs, whose turn lasts a slice of the scheduler (1 to 4 ms); CPU quotas; deep \
                 idle states; a hypervisor with overcommitted CPUs. A p99 of milliseconds with a hog alone: wake-ups do \
                 not interrupt what runs (SCHED_BATCH, sched_features, a scheduler by sched_ext).",
            zh: "同一 CPU 上的其他任务，每次占用一个调度时间片（1 到 4 ms）；CPU 配额；较深的空闲状态；CPU 超配的虚拟机监控程序。\
                 只在有 hog 时 p99 达到毫秒级：唤醒不会打断正在运行的任务（SCHED_BATCH、sched_features、sched_ext 调度器）。",
        },
    },
    related: &["sched.wakeup", "sched.noise", "net.open_loop"],
    axes: &[
        Axis::count("load", "20", Points::Listed { quick: &["20"], standard: &[], thorough: &["50"] }),
        Axis::count("messengers", "1", Points::Listed { quick: &["1"], standard: &["2"], thorough: &[] }),
        Axis::count("workers", "2", Points::Listed { quick: &["2"], standard: &["8"], thorough: &[] }),
        Axis::choice("hog", "none", Points::Listed { quick: &["none"], standard: &["30"], thorough: &[] }),
        Axis::all_threads("cpus", Points::Listed { quick: &["all"], standard: &[], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["load", "hog"] }],
    blocking: true,
    from: Profile::Standard,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// The part of it that begins when a messenger wakes a worker.
const WOKEN: Quantity = Quantity::given(
    "woken",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "from the messenger's call on", zh: "自发送方调用起" },
);

/// The share of a round's time in which workers show what they can do, and its limits.
const CAPACITY_SHARE: f64 = 0.15;
const LEAST_CAPACITY_NS: f64 = 20e6;
const MOST_CAPACITY_NS: f64 = 500e6;

fn measure(case: &mut Case) -> Result<()> {
    let (messengers, workers): (usize, usize) = (case.param("messengers")?, case.param("workers")?);
    let (load, hog) = (case.param::<f64>("load")?, hog::percent(&case.param::<String>("hog")?));
    let cpus = case.thread_cpus();
    let parties = messengers * (workers * cpus.len() + 1) + cpus.len();
    case.may_fill(parties as u64 * fork::LEAST_BYTES)?;
    let none = |error| RoundError::lacking("cannot start so many processes", &error);
    let busy = if hog > 0 { &cpus[..] } else { &[] };
    let _hogs = Hog::on_each(busy, Priority::Nice(0), hog).map_err(none)?;
    let places: Vec<usize> = cpus.iter().map(|cpu| cpu.0).collect();
    let mut queues = RequestQueues::new(messengers, workers * cpus.len(), &places).map_err(none)?;
    let time_ns = (CAPACITY_SHARE * case.grant_ns()).clamp(LEAST_CAPACITY_NS, MOST_CAPACITY_NS);
    let rate = queues.capacity(Duration::from_nanos(time_ns as u64)) * load / 100.0;
    queues.open(rate)?;
    let mut woken_ns = Vec::new();
    case.timed(|clock| {
        let begun = queues.begun()?;
        woken_ns.push(begun.since_posted as f64);
        Ok(clock.ticks(begun.since_due as f64))
    })
    .singly()
    .time()?;
    case.also(WOKEN.name, median_in_place(&mut woken_ns))?;
    case.also(Quantity::REQUESTS_DUE.name, [rate])
}
