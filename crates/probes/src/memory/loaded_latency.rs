//! Probe memory.loaded_latency: what a load from DRAM takes while the other CPUs use the memory's bandwidth.

use std::sync::atomic::Ordering;

use hostmark_engine::prelude::*;

mod traffic;

use traffic::{Mix, Traffic};

/// Traffic that the other CPUs made beside a sample, as the bus carries it.
const INJECTED: Quantity =
    Quantity::given("injected", Unit::BytesPerSecond, Better::Neither, term!("injected traffic"));

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, INJECTED],
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
    ..crate::texts::memory::LOADED_LATENCY
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
    let (chain_bytes, all_bytes): (u64, u64) = (case.param("size")?, case.param("traffic")?);
    let each = (all_bytes / others.len().max(1) as u64).next_multiple_of(1 << 20);
    let traffic_bytes = each.next_multiple_of(Pages::Pmd.bytes() as u64) * others.len() as u64;
    case.may_fill(chain_bytes.next_multiple_of(Pages::Pmd.bytes() as u64) + traffic_bytes)?;
    let mut buffer = crate::chained::chained(case, chain_bytes, Pages::Pmd, None)?;
    case.note("injectors", others.len());
    let allotment = case.allot(others.len() as u64, each, Pages::Pmd, None)?;
    let traffic = Traffic::new(mix, delay, allotment)?;
    case.note("kernel", traffic.kernel());
    crate::chained::loads(case, buffer.bytes_mut(), |case, chain| {
        traffic.beside(&others, |moved| {
            case.loops(|n| chain.walk(n)).with_counter(INJECTED.name, || moved.load(Ordering::Relaxed)).time()
        })
    })
}
