//! Probe net.open_loop: round trips that begin when they are due, whether or not the last one is over.

mod carriers;
mod requests;

use carriers::{Datagrams, StreamCarrier};
use hostmark_engine::prelude::*;
use requests::RequestPlan;

use super::udp::questions::LOST;

pub static PROBE: Probe = Probe {
    title: Text { en: "Round trip at a given load", zh: "给定负载下的往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::REQUESTS_DUE, LOST],
    explain: Explain {
        what: Text {
            en: "As net.tcp and net.udp, one byte to a server and back (8 bytes of UDP with several outstanding), but \
                 at fixed times. Each round first measures the capacity of the connection (200 requests without pause, \
                 at most a tenth of its time). It then sends `load` percent of that, or `rate` requests per second. At \
                 most `outstanding` requests are in flight. A request beyond that waits, and its time counts from the \
                 moment it was due (no coordinated omission). A datagram without an answer frees its place after 10 \
                 usual round-trip times (20 ms to 1 s) and counts as lost after 2 s. The client spins; the server \
                 sleeps until a request arrives.",
            zh: "与 net.tcp、net.udp 一样，向服务器发送一个字节并收回（UDP 有多个在途请求时为 8 字节），但按固定时刻发出：每轮先测出连接的能力（不停顿地发送 200 个请求，\
                 最多占十分之一时间），再按其 `load` 百分比或每秒 `rate` 个请求发送。在途请求最多 `outstanding` 个；超出者等待，并从应当发出的时刻计时（避免协调遗漏）。\
                 数据报在通常时间的 10 倍（20 ms 到 1 s）内没有应答则让出位置，2 s 后算作丢失。客户端自旋，服务器睡眠直到请求到来。",
        },
        why: Text {
            en: "Clients do not wait for each other. A loop that sends the next request only after the last answer \
                 stops sending just when the server stalls, so its percentiles miss the stall. Users do notice it.",
            zh: "客户端之间并不相互等待。收到应答才发下一个请求的循环，恰恰在服务器停顿时停止发送，停顿因此不会反映在\
                 分位数中；用户却确实在等待。",
        },
        reading: Text {
            en: "At 10 % close to net.tcp's closed loop on the same CPUs, or above it if a server that idles longer is \
                 more expensive to wake. Percentiles rise with the load, as requests queue behind late ones. At 80 %, \
                 p99 and p99.9 show the machine's stalls, multiplied by the requests queued behind each.",
            zh: "10% 时接近相同 CPU 上 net.tcp 的闭环值；若服务器空闲越久唤醒越贵，则高于它。分位数随负载上升，因为请\
                 求排在迟到者之后；80% 时 p99 与 p99.9 反映机器的停顿，乘以其后排队的请求数。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), two CPUs that share a cache: \
                 tcp 18 to 21 µs at 10 %, 11 to 12 at 50 and 80 %, udp 13 to 17 and 9 to 10, against 15 in the closed \
                 loop of net.tcp. p99.9 is 2 to 4 ms at 80 %, against 0.04 in the closed loop: there a stall of 4 ms \
                 is one slow request, here it delays more than a hundred.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）、共享缓存的两个 CPU 上实测：tcp 在 10% 时 18 到 21 µs，50% 与 80% 时 11 到 12；\
                 udp 分别为 13 到 17 与 9 到 10；net.tcp 的闭环值为 15。80% 时 p99.9 为 2 到 4 ms，闭环中只有 0.04：4 ms 的停顿在闭环里只是一个慢请求，在这里则是一百多个。",
        },
        causes: Text {
            en: "Deep idle states and expensive wake-ups (sched.wakeup); CPU quotas, neighbours and steal, which stop \
                 either side; interrupts and other tasks on the server's CPU (sched.noise).",
            zh: "较深的空闲状态与昂贵的唤醒（sched.wakeup）；使任一方停下的 CPU 配额、邻居虚拟机与 steal；服务器所在 CPU \
                 上的中断与其他任务（sched.noise）。",
        },
    },
    related: &["net.tcp", "net.udp", "sched.wakeup", "sched.noise"],
    axes: &[
        Axis::count("load", "50", Points::Listed { quick: &["50"], standard: &["10", "80"], thorough: &[] }),
        Axis::choice("protocol", "tcp", Points::Listed { quick: &["tcp"], standard: &["udp"], thorough: &[] }),
        Axis::count("outstanding", "1", Points::Listed { quick: &["1"], standard: &["64"], thorough: &["8"] }),
        Axis::count("rate", "auto", Points::Listed { quick: &["auto"], standard: &[], thorough: &[] }),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::Listed {
                quick: &["same_cache"],
                standard: &["smt_sibling", "other_cache", "same_package_other_node", "other_node"],
                thorough: &[],
            },
        ),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["load", "protocol"] },
        FullFactorial { from: Profile::Thorough, axes: &["protocol", "outstanding"] },
    ],
    blocking: true,
    needs: &[Need::Cpus(2)],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
    ..Probe::PLAIN
};

/// Sends back what comes.
static ECHO: Service = Service { name: "echo", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    match serving.param::<String>("protocol")?.as_str() {
        "udp" => super::udp::serve(serving),
        _ => super::tcp::serve(serving),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let plan = RequestPlan {
        outstanding: case.param("outstanding")?,
        load: case.param::<f64>("load")? / 100.0,
        fixed: case.param::<String>("rate")?.parse().ok(),
        grant_ns: case.grant_ns(),
    };
    let (rate, lost) = match case.param::<String>("protocol")?.as_str() {
        "udp" => plan.measure::<Datagrams>(case)?,
        _ => plan.measure::<StreamCarrier>(case)?,
    };
    case.also(LOST.name, lost)?;
    case.also(Quantity::REQUESTS_DUE.name, [rate])
}
