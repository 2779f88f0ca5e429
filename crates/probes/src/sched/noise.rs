//! Probe sched.noise: the time that a thread which never waits loses to everything else.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Noise: time lost in each second", zh: "噪声：每秒损失的时间" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[
        Quantity::given("gaps", Unit::Count, Better::Lower, Text { en: "gaps in each second", zh: "每秒的间隙数" }),
        Quantity::given(
            "longest",
            Unit::Nanoseconds,
            Better::Lower,
            Text { en: "longest gap of a round", zh: "一轮中最长的间隙" },
        ),
        Quantity::given("typical", Unit::Nanoseconds, Better::Lower, Text { en: "mean gap", zh: "间隙的平均长度" }),
    ],
    explain: Explain {
        what: Text {
            en: "A thread only reads the clock, on one CPU, for stretches of 40 ms. If two successive readings are \
                 more than 500 ns further apart than usual, the CPU did something else: a gap. The value is the time \
                 lost per second in all gaps, beyond the usual distance of readings. Shown alongside: the number of \
                 gaps per second, the longest gap of a round (0 if none) and their mean length.",
            zh: "一个线程在一个 CPU 上只读时钟，每段 40 ms。若相邻两次读数的间隔超过通常间隔加 500 ns，说明 CPU 去做了别的事：这就是一个间隙。数值是每秒内所有间隙损失的时间\
                 （扣除通常间隔）；旁边列出每秒的间隙数、一轮中最长的间隙（没有则为 0）及其平均长度。",
        },
        why: Text {
            en: "Timer ticks, interrupts, kernel threads, other programs, firmware (SMI) and the hypervisor take this \
                 time from a program. Parallel programs wait at barriers for the unluckiest thread; real-time work \
                 suffers from the longest gap.",
            zh: "这是定时器节拍、中断、内核线程、其他程序、固件（SMI）和虚拟机监控程序从程序那里占用的时间。在屏障处会\
                 合的并行程序要等最不走运的线程，实时任务则取决于最长的间隙。",
        },
        reading: Text {
            en: "A number of gaps per second near CONFIG_HZ (100, 250, 1000) is the timer tick; their mean length is \
                 the cost of a tick. A guest pays several exits for each tick. The longest gap is what real-time work \
                 waits for.",
            zh: "每秒间隙数接近 CONFIG_HZ（100、250、1000）就是定时器节拍，平均长度即一个节拍的代价。虚拟机每个节拍要付数次退出。旁边的最长间隙，就是实时任务要等的时\
                 间。",
        },
        typical: Text {
            en: "By design: CONFIG_HZ ticks of 1 to 5 µs, 0.1 to 5 ms of each second; with nohz_full nearly nothing. \
                 Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), beside compilers on both \
                 CPUs: 120 to 500 ms, 675 to 1500 gaps, the longest 5 to 8 ms: what a busy machine looks like.",
            zh: "按其构成：CONFIG_HZ 个节拍，每个 1 到 5 µs，即每秒 0.1 到 5 ms；启用 nohz_full 时几乎为零。用 hostmark 在双 CPU 的 KVM 虚拟机\
                 （Cascade Lake，Linux 6.18）上实测（两个 CPU 上都有编译任务）：120 到 500 ms，675 到 1500 个间隙，最长 5 到 8 ms：这就是繁忙机器\
                 的样子。",
        },
        causes: Text {
            en: "Gaps of milliseconds: another program had the CPU, or steal. Gaps of 50 µs and more without a busy \
                 process in the run's warnings: the hypervisor or the firmware (SMI; turbostat counts them). Many \
                 short ones: device interrupts (/proc/interrupts names them).",
            zh: "毫秒级的间隙：其他程序占用了 CPU，或发生了 steal。50 µs 以上而警告中没有繁忙进程：虚拟机监控程序或固件（SMI，turbostat 可计数）。大量短间隙：设\
                 备中断，见 /proc/interrupts。",
        },
    },
    related: &["clock.sleep", "sched.wakeup", "cpu.sieve"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A stretch has whole ticks of every usual rate: 4, 10, 12 or 40.
const STRETCH_NS: f64 = 40e6;
/// A distance this much above the usual one is a gap: less than any interrupt takes, ten times a reading of the clock.
const GAP_NS: f64 = 500.0;
/// Readings that the usual distance is taken from.
const READINGS: usize = 1001;

/// The usual distance of two readings: the median of many.
fn usual(clock: &Clock) -> Ticks {
    let mut readings = vec![clock.end(); READINGS + 1];
    readings.iter_mut().for_each(|reading| *reading = clock.end());
    let mut distances: Vec<Ticks> = readings.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    distances.sort_unstable();
    distances[READINGS / 2]
}

fn measure(case: &mut Case) -> Result<()> {
    let (mut gaps_a_second, mut lengths_ns, mut longest_ns) = (Vec::new(), Vec::new(), 0.0_f64);
    let mut is_first = true;
    case.search(|clock| {
        let usual = usual(clock);
        let (gap, stretch) = (Ticks(usual.0 + clock.ticks(GAP_NS).0), clock.ticks(STRETCH_NS));
        let (mut gaps, mut lost) = (0_u32, Ticks(0));
        let begin = clock.start();
        let mut last = begin;
        let mut longest = Ticks(0);
        while last.since(begin) < stretch {
            let now = clock.end();
            let distance = now.since(last);
            if distance > gap {
                gaps += 1;
                lost.0 += distance.since(usual).0;
                longest = longest.max(distance.since(usual));
            }
            last = now;
        }
        if std::mem::take(&mut is_first) {
            return Ok(None);
        }
        let seconds = clock.ns(last.since(begin)) / 1e9;
        gaps_a_second.push(f64::from(gaps) / seconds);
        lengths_ns.extend((gaps > 0).then(|| clock.ns(lost) / f64::from(gaps)));
        longest_ns = longest_ns.max(clock.ns(longest));
        Ok(Some(clock.ns(lost) / seconds))
    })?;
    case.also("gaps", gaps_a_second)?;
    case.also("typical", lengths_ns)?;
    case.also("longest", [longest_ns])
}
