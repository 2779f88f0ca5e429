//! Probe memory.loaded_latency: what a load from DRAM takes while the other CPUs use the memory's bandwidth.

use std::sync::atomic::Ordering;

use hostmark_engine::prelude::*;

use crate::kernels::chase::Chain;

mod traffic;

use traffic::{Mix, Traffic};

/// Traffic that the other CPUs made beside a sample, as the bus carries it.
const INJECTED: Quantity =
    Quantity::given("injected", Unit::BytesPerSecond, Better::Neither, Text { en: "injected traffic", zh: "注入流量" });

pub static PROBE: Probe = Probe {
    title: Text { en: "Loaded memory latency", zh: "有负载的内存延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, INJECTED],
    explain: Explain {
        what: Text {
            en: "One CPU follows a random chain of dependent loads through `size` bytes (auto: 4 times its \
                 last-level cache, 64 to 512 MiB, but at least twice the cache); the value is the time of one of \
                 these loads. Meanwhile all other CPUs of `threads` stream through their own memory, `traffic` bytes \
                 in total (auto: 4 times all last-level caches, up to 512 MiB or twice the caches, whichever is \
                 larger; at least 16 MiB per CPU). After each 1 KiB they execute `delay` dependent one-cycle \
                 additions; delay=idle has no traffic. mix=read only reads; read_write only stores, by plain stores, \
                 for which the bus reads each line and writes it back; two_to_one reads and stores by turns, so that the bus \
                 reads twice as much as it writes; write stores past the caches. `injected` is \
                 the traffic of the other CPUs as the bus carries it, without the chain's own loads. The method is \
                 that of Intel's Memory Latency Checker.",
            zh: "一个 CPU 沿随机的相关加载链走过 `size` 字节的内存（auto：其末级缓存的 4 倍，64 到 512 MiB，但不小于\
                 该缓存的 2 倍），数值为一次加载的时间。同时 `threads` 中其他所有 CPU 各自处理自己的内存，合计 \
                 `traffic` 字节（auto：全部末级缓存的 4 倍，至多 512 MiB 或缓存的 2 倍，取较大者；每个 CPU 至少 16 \
                 MiB），每次 1 KiB，其间做 `delay` 次相关的单周期加法；idle 表示无负载。mix：read 只读；read_write \
                 只用普通存储，总线先读入每一行再写回；two_to_one 轮流读与存储，总线读的数据是写的两倍；write 为绕过缓存的存储。附加量 `injected` 是其他 CPU 同时搬运\
                 的流量，按总线计；不含链自身的加载。方法与 Intel Memory Latency Checker 相同。",
        },
        why: Text {
            en: "A busy server never sees the idle latency of data sheets. Latency over traffic is a curve with a \
                 knee, from which on more load makes everything wait: the knee shows how much of the bandwidth is \
                 usable.",
            zh: "繁忙的服务器见不到手册上的空载延迟。延迟随流量变化的曲线有一个拐点，此后再加负载一切都要等待；拐点\
                 说明带宽中有多少真正可用。",
        },
        reading: Text {
            en: "The curve is flat near the idle latency while queues are empty, then steep from the knee on. read_write makes the \
                 bus change direction, so its knee comes earlier. A few CPUs cannot saturate a socket's memory: a \
                 small guest sees only the flat part, unless its neighbours add load. A rise that it does see is \
                 mostly contention on the ring or mesh.",
            zh: "队列为空时曲线平坦，接近空载延迟，到拐点后陡升。read_write 使总线频繁换向，拐点更早。少量 CPU 跑不满一路\
                 的内存，因此小虚拟机只看到平坦部分，除非邻居虚拟机补上其余负载；此时看到的上升多半来自环形或网状互连上\
                 的争用。",
        },
        typical: Text {
            en: "Published runs of Memory Latency Checker: 2-socket Cascade Lake 82 ns idle, 103 at 120 GB/s, 120 at \
                 181, 156 at its limit of 226; 2-socket Xeon Silver 4110 82 ns idle, 99 at 68 GB/s, 130 at 136. Measured \
                 with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 116 to 120 ns idle, 125 to 145 beside \
                 10 GB/s of one other CPU.",
            zh: "Memory Latency Checker 的公开结果：双路 Cascade Lake 空载 82 ns，120 GB/s 时 103，181 时 120，极限 \
                 226 时 156；双路 Xeon Silver 4110 空载 82，68 GB/s 时 99，136 时 130。用 hostmark 在双 CPU 的 KVM \
                 虚拟机（Cascade Lake，Linux 6.18）上实测：空载 116 到 120 ns，另一个 CPU 产生 10 GB/s 时 125 到 145。",
        },
        causes: Text {
            en: "Unpopulated channels or slow DIMMs move the knee to the left; so do neighbours, whose traffic is not \
                 in `injected`. A high idle latency: see memory.latency.",
            zh: "通道未插满或内存条较慢使拐点左移；邻居虚拟机也会，而其流量不计入 injected。空载延迟本身就高：见 \
                 memory.latency。",
        },
    },
    related: &["memory.latency", "memory.stream", "memory.numa_bandwidth"],
    axes: &[
        Axis::choice(
            "delay",
            "0",
            Points::Listed {
                quick: &["idle", "0"],
                standard: &["4096", "2048", "1024", "512", "256", "128", "64"],
                thorough: &["16384", "8192", "32"],
            },
        ),
        Axis::choice(
            "mix",
            "read",
            Points::Listed { quick: &["read"], standard: &["two_to_one", "read_write", "write"], thorough: &[] },
        ),
        Axis::all_threads("threads", Points::Listed { quick: &["all"], standard: &[], thorough: &[] }),
        Axis::settled_size("size", size).fills(Fill::Chain),
        Axis::settled_size("traffic", traffic).fills(Fill::InAll(1)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["delay", "mix"] }],
    limit: Limit::DramLatency,
    needs: &[Need::Cpus(2)],
    section: crate::section::LATENCY,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// The others' memory together is as many times all caches as the chain's, on average no less than this a thread.
const LEAST_TRAFFIC_BYTES: u64 = 16 << 20;

pub(super) fn size(host: &HostFacts) -> u64 {
    super::outside_caches(host)
}

fn traffic(host: &HostFacts) -> u64 {
    let cpus = host.usable_cpus();
    let others = cpus.len().saturating_sub(1).max(1) as u64;
    let caches = host.last_level_caches_bytes(&cpus);
    let far = (super::TIMES_CACHE * caches).min(super::MOST_OUTSIDE_BYTES.max(super::LEAST_TIMES_CACHE * caches));
    far.max(LEAST_TRAFFIC_BYTES * others).next_multiple_of(1 << 20)
}

fn measure(case: &mut Case) -> Result<()> {
    let delay: String = case.param("delay")?;
    let mix = Mix::named(&case.param::<String>("mix")?)?;
    let [_, others @ ..] = &case.thread_cpus()[..] else {
        return Err(RoundError::skipped(ReasonCode::TooFewCpus, "needs 2 CPUs"));
    };
    let others = if delay == "idle" { Vec::new() } else { others.to_vec() };
    let delay: u64 = if delay == "idle" { 0 } else { case.param("delay")? };
    let line = case.line_bytes();
    let (chain_bytes, all_bytes): (u64, u64) = (case.param("size")?, case.param("traffic")?);
    let each = (all_bytes / others.len().max(1) as u64).next_multiple_of(1 << 20);
    let traffic_bytes = each.next_multiple_of(Pages::Pmd.bytes() as u64) * others.len() as u64;
    case.may_fill(chain_bytes.next_multiple_of(Pages::Pmd.bytes() as u64) + traffic_bytes)?;
    let mut buffer = crate::chained::chained(case, chain_bytes, Pages::Pmd, None)?;
    let chain = Chain::random(buffer.bytes_mut(), line as usize, case.seed());
    let chain = chain.map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line, &case.steady());
    case.note("injectors", others.len());
    let allotment = case.allot(others.len() as u64, each, Pages::Pmd, None)?;
    let traffic = Traffic::new(mix, delay, allotment)?;
    case.note("kernel", traffic.kernel());
    traffic.beside(&others, |moved| {
        case.loops(|n| chain.walk(n)).with_counter(INJECTED.name, || moved.load(Ordering::Relaxed)).time()
    })
}
