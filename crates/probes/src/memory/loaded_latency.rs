//! Probe memory.loaded_latency: what a load from DRAM takes while the other CPUs use the memory's bandwidth.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::arith::add_chain;
use crate::kernels::bandwidth::{self, ReadKernel, WriteKernel};

/// Traffic that the other CPUs made beside a sample, as the bus carries it.
const INJECTED: Quantity =
    Quantity::given("injected", Unit::BytesPerSecond, Better::Neither, term!("injected traffic"));

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, INJECTED],
    axes: &[
        Axis::choice(
            "delay",
            "0",
            Points::quick(&["idle", "0"])
                .standard(&["4096", "2048", "1024", "512", "256", "128", "64"])
                .thorough(&["16384", "8192", "32"]),
        ),
        Axis::choice("mix", "read", Points::quick(&["read"]).standard(&["two_to_one", "read_write", "write"])),
        Axis::all_threads("threads", Points::quick(&["all"])),
        Axis::settled_size("size", size).fills(Fill::Chain),
        Axis::settled_size("traffic", traffic).fills(Fill::InAll(1)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["delay", "mix"] }],
    limit: Limit::DramLatency,
    needs: &[Need::Cpus(2)],
    section: super::LATENCY,
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

/// Bytes that are moved between two delays: 16 lines, so that a burst is short.
const BURST_BYTES: usize = 1024;
/// Bursts between two looks at the common counter: threads would hinder each other there.
const BURSTS_A_LOOK: usize = 16;

/// Composition of the traffic.
#[derive(Clone, Copy)]
enum Mix {
    Read,
    TwoToOne,
    ReadWrite,
    Write,
}

impl Mix {
    fn named(name: &str) -> Result<Mix> {
        match name {
            "read" => Ok(Mix::Read),
            "two_to_one" => Ok(Mix::TwoToOne),
            "read_write" => Ok(Mix::ReadWrite),
            "write" => Ok(Mix::Write),
            _ => Err(RoundError::internal(say!("there is no mix {name}"))),
        }
    }
}

/// A burst's kernel: plain and forward, as the prefetchers like it.
#[derive(Clone, Copy)]
enum BurstKernel {
    Read(&'static ReadKernel),
    Write(&'static WriteKernel),
}

struct Traffic {
    /// Kernels that run in turn, each with the bytes that the bus carries for each byte named by its burst.
    kernels: Vec<(BurstKernel, u64)>,
    delay: u64,
    memory: Allotment,
}

impl Traffic {
    /// Traffic of `mix`, with `delay` core cycles after each burst, over the memory that each thread is allotted.
    fn new(mix: Mix, delay: u64, memory: Allotment) -> Result<Traffic> {
        const PLAIN: [&str; 3] = ["avx2", "neon", "sse2"];
        let write = |names: &[&str]| {
            let found = names.iter().filter_map(|name| bandwidth::write(name)).find(|kernel| (kernel.is_available)());
            found.map(BurstKernel::Write)
        };
        let read = || {
            let mut known = PLAIN.iter().filter_map(|name| bandwidth::read(name));
            known.find(|kernel| (kernel.is_available)()).map(BurstKernel::Read)
        };
        let kernels = match mix {
            Mix::Read => vec![(read(), 1)],
            Mix::TwoToOne => vec![(read(), 1), (write(&PLAIN), 2)],
            Mix::ReadWrite => vec![(write(&PLAIN), 2)],
            Mix::Write => vec![(write(&["nt"]), 1)],
        };
        let known = kernels.into_iter().map(|(kernel, bus_bytes)| Some((kernel?, bus_bytes)));
        let kernels = known.collect::<Option<Vec<_>>>().ok_or_else(|| {
            RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no such kernel"))
        })?;
        Ok(Traffic { kernels, delay, memory })
    }

    /// The kernel's name.
    fn kernel(&self) -> &'static str {
        match self.kernels[0].0 {
            BurstKernel::Read(kernel) => kernel.name,
            BurstKernel::Write(kernel) => kernel.name,
        }
    }

    /// Runs `body` while a thread on each of `cpus` makes traffic; it is given what all of them moved so far, bytes.
    fn beside(&self, cpus: &[Cpu], body: impl FnOnce(&AtomicU64) -> Result<()>) -> Result<()> {
        let (moved, over, begun) = (AtomicU64::new(0), AtomicBool::new(false), Barrier::new(cpus.len() + 1));
        let make = |cpu: Cpu| -> Result<Buffer> {
            threads::bind(cpu)?;
            self.memory.touch()
        };
        let (moved, over, begun, make) = (&moved, &over, &begun, &make);
        std::thread::scope(|scope| {
            let work = move |cpu: Cpu| -> Result<()> {
                let made = make(cpu);
                begun.wait();
                let mut buffer = made?;
                while !over.load(Ordering::Relaxed) {
                    self.go_over(buffer.bytes_mut(), moved, over)?;
                }
                Ok(())
            };
            let loads = threads::start(scope, cpus.iter().map(|&cpu| move || work(cpu)))?;
            begun.wait();
            let ends = StopOnDrop(over);
            let measured = body(moved);
            drop(ends);
            // A latency without its load would be the wrong one.
            threads::join(loads).and(measured)
        })
    }

    /// Goes over the memory once, or until it is over.
    fn go_over(&self, memory: &mut [u8], moved: &AtomicU64, over: &AtomicBool) -> Result<()> {
        let mut value = 0;
        for part in memory.chunks_mut(BURSTS_A_LOOK * BURST_BYTES) {
            let mut bus_bytes = 0;
            for (burst, (kernel, times)) in part.chunks_exact_mut(BURST_BYTES).zip(self.kernels.iter().cycle()) {
                let done = match kernel {
                    BurstKernel::Read(kernel) => kernel.run(burst, 1).map(drop),
                    BurstKernel::Write(kernel) => kernel.run(burst, 1, value),
                };
                done.map_err(RoundError::internal)?;
                bus_bytes += BURST_BYTES as u64 * times;
                value = add_chain(self.delay, value, 1);
            }
            moved.fetch_add(bus_bytes, Ordering::Relaxed);
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }
}

/// Ends the traffic however the body ends.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Allotment {
        Allotment::small(1 << 20, Pages::Pmd).unwrap()
    }

    #[test]
    fn traffic_runs_beside_the_body_and_ends_with_it() {
        let cpu = Cpu(*sys::affinity::allowed().unwrap().last().unwrap());
        for mix in ["read", "two_to_one", "read_write", "write"] {
            let traffic = Traffic::new(Mix::named(mix).unwrap(), 10, memory()).unwrap();
            let mut seen = 0;
            let body = |moved: &AtomicU64| {
                // More than once over the memory, and still going.
                while moved.load(Ordering::Relaxed) < 3 << 20 {
                    std::thread::yield_now();
                }
                seen = moved.load(Ordering::Relaxed);
                Ok(())
            };
            traffic.beside(&[cpu], body).unwrap();
            assert!(seen >= 3 << 20 && seen % (8 << 10) == 0, "{mix} {seen}");
        }
    }

    #[test]
    fn a_cpu_that_cannot_be_had_is_reported() {
        let traffic = Traffic::new(Mix::Read, 0, memory()).unwrap();
        let result = traffic.beside(&[Cpu(1 << 16)], |_| Ok(()));
        assert!(matches!(result, Err(RoundError::Skipped(reason)) if reason.contains("65536")));
    }
}
