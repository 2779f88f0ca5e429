//! Probe net.open_loop: round trips that begin when they are due, whether or not the last one is over.

use std::io::{self, Read, Write};

use hostmark_engine::prelude::sys::call::named;
use hostmark_engine::prelude::*;

use crate::door::{connect, correspond};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Round trip at a given load", zh: "给定负载下的往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, RATE],
    explain: Explain {
        what: Text {
            en: "As net.tcp and net.udp, one byte to a server and back, but at fixed moments: each round first sends 200 requests one after \
                 the other, which is what one connection can do, then as many a second as `load` percent of that. A request's time counts \
                 from the moment at which it was due; one that is late delays those behind it, and counts for them too (no coordinated \
                 omission). The client spins, on a CPU of its own; the server sleeps until a request comes.",
            zh: "与 net.tcp、net.udp 一样，向服务器发送一个字节并收回，但按固定时刻发出：每轮先逐个发送 200 个请求，得到一条连接的能力，再按其 `load` 百分比的速率发送。\
                 每个请求从应当发出的时刻计时；一个迟到会拖延后面的请求，并同样计入它们（避免协调遗漏）。客户端在自己的 CPU 上自旋，服务器睡眠直到请求到来。",
        },
        why: Text {
            en: "Clients do not wait for each other. A loop that sends the next request when the last was answered stops asking just when the \
                 server stalls, and so leaves the stall out of its percentiles; users do not.",
            zh: "客户端之间并不相互等待。收到应答才发下一个请求的循环，恰恰在服务器停顿时不再发问，停顿因此进不了分位数；用户却实实在在地等着。",
        },
        reading: Text {
            en: "At 10 % close to the closed loop of net.tcp on the same CPUs, or above it where a server that rests longer is dearer to wake. \
                 The percentiles rise with the load, as requests queue behind late ones; at 80 % p99 and p99.9 show the stalls of the \
                 machine, each times the requests that waited behind it.",
            zh: "10 % 时接近相同 CPU 上 net.tcp 的闭环值；若服务器休息越久唤醒越贵，则高于它。分位数随负载上升，因为请求排在迟到者之后；80 % 时 p99 与 p99.9 \
                 反映机器的停顿，乘以其后排队的请求数。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), two CPUs of one cache: tcp 18 to 21 µs at 10 %, 11 to 12 at \
                 50 and 80 %, udp 13 to 17 and 9 to 10, where the closed loop of net.tcp has 15. p99.9 is 2 to 4 ms at 80 %, and 0.04 in the \
                 closed loop: a stall of 4 ms there is one slow request, here it is more than a hundred.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）、共享缓存的两个 CPU 上实测：tcp 在 10 % 时 18 到 21 µs，50 % 与 80 % 时 11 到 12；\
                 udp 分别为 13 到 17 与 9 到 10；net.tcp 的闭环值为 15。80 % 时 p99.9 为 2 到 4 ms，闭环中只有 0.04：4 ms 的停顿在闭环里只是一个慢请求，在这里则是一百多个。",
        },
        causes: Text {
            en: "Deep idle states and dear wake-ups (sched.wakeup); CPU quotas, neighbours and steal, which stop either side; interrupts and \
                 other tasks on the server's CPU (sched.noise).",
            zh: "较深的空闲状态与昂贵的唤醒（sched.wakeup）；使任一方停下的 CPU 配额、邻居与 steal；服务器所在 CPU 上的中断与其他任务（sched.noise）。",
        },
    },
    related: &["net.tcp", "net.udp", "sched.wakeup", "sched.noise"],
    axes: &[
        Axis::count("load", "50", Points::Listed { quick: &["50"], standard: &["10", "80"], thorough: &[] }),
        Axis::choice("protocol", "tcp", Points::Listed { quick: &["tcp"], standard: &["udp"], thorough: &[] }),
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
    cross: &[Cross { from: Profile::Standard, axes: &["load", "protocol"] }],
    limit: Limit::None,
    blocking: true,
    needs: &[Need::Cpus(2)],
    replaces: &[],
    differs: None,
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
};

/// How often requests are due.
const RATE: Quantity = Quantity {
    name: "rate",
    unit: Unit::OperationsPerSecond,
    better: Better::Neither,
    title: Text { en: "requests due", zh: "应发请求" },
};
/// Requests one after the other, by which a round learns what the connection can do.
const CLOSED: u32 = 200;

/// Sends back what comes.
static ECHO: Service = Service { name: "echo", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    match serving.param::<String>("protocol")?.as_str() {
        "udp" => super::udp::serve(serving),
        _ => super::tcp::serve(serving),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<String>("protocol")? == "udp" {
        let socket = correspond(case.far_end()?)?;
        socket.set_nonblocking(true).call("ioctl")?;
        return at_load(case, |byte| socket.send(&[byte]).map(drop).call("sendto"), |back| socket.recv(back));
    }
    let stream = connect(case.far_end()?)?;
    stream.set_nonblocking(true).call("ioctl")?;
    at_load(case, |byte| (&stream).write_all(&[byte]).call("sendto"), |back| (&stream).read(back))
}

/// Requests at the case's load; `receive` never waits.
fn at_load(
    case: &mut Case,
    send: impl Fn(u8) -> io::Result<()>,
    receive: impl Fn(&mut [u8]) -> io::Result<usize>,
) -> Result<()> {
    let load: f64 = case.param("load")?;
    let mut sent = 0_u8;
    let mut exchange = |clock: &Clock| -> io::Result<Ticks> {
        sent = sent.wrapping_add(1);
        send(sent)?;
        let latest = clock.start().0 + clock.ticks(super::PATIENCE.as_nanos() as f64).0;
        let mut back = [0; 2];
        loop {
            match receive(&mut back) {
                Ok(1) if back[0] == sent => return Ok(clock.end()),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => return Err(super::wrong_answer()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && clock.start().0 < latest => {
                    std::hint::spin_loop();
                }
                Err(error) => return Err(named("recvfrom", error)),
            }
        }
    };
    let (mut pace, mut rate) = (None, 0.0);
    case.latencies(|clock| {
        let (period, due) = match &mut pace {
            Some(pace) => pace,
            none => {
                let start = clock.start();
                (0..CLOSED).try_for_each(|_| exchange(clock).map(drop)).map_err(super::unanswered)?;
                let period_ns = clock.ns(clock.end().since(start)) / f64::from(CLOSED) * 100.0 / load;
                rate = 1e9 / period_ns;
                none.insert((clock.ticks(period_ns), clock.start()))
            }
        };
        due.0 += period.0;
        while clock.start() < *due {
            std::hint::spin_loop();
        }
        Ok(exchange(clock).map_err(super::unanswered)?.since(*due))
    })?;
    case.also(RATE.name, [rate])
}
