//! Probes of dependent loads: by size and pattern, beside traffic, and on many chains at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::arith::add_chain;
use crate::kernels::bandwidth::{self, ReadKernel, WriteKernel};
use crate::kernels::chase::{Chain, WINDOW_PAGES};
use crate::kernels::parallel::{Chains, LINKS_A_TURN};

/// Lines that the adjacent-line prefetcher brings in: one of each pair is visited, or load would decide which are under way.
const PAIR_BYTES: usize = 128;

/// Probe memory.latency: one load that needs the one before, by size, pattern and page.
pub static LATENCY: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis {
            at_a_glance: Some(few_sizes),
            ..Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain)
        },
        Axis::choice(
            "pattern",
            "random",
            Points::quick(&["random", "in_page", "64", "4096"])
                .standard(&["128", "256", "512", "1024", "8192", "16384"]),
        ),
        super::PAGE,
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "pattern"] }],
    // Of a fixed stride prefetchers guess the more the longer it goes on, and a few lines may meet in one set.
    limit: Limit::RisingOf("size", ("pattern", &["random", "in_page"])),
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    measure: Measure::Run(measure_latency),
    ..crate::texts::memory::LATENCY
};

/// Sizes beside the quarter octaves and those around the host's own caches, KiB: those of the classic tables of latency by size and stride.
const THOROUGH_KIB: [u64; 22] = [
    48, 160, 192, 224, 320, 448, 576, 768, 832, 1280, 1536, 1792, 2304, 2560, 3072, 3328, 3584, 4352, 5120, 6144, 6400,
    7168,
];

/// Two points an octave (one beyond 64 MiB, where the largest has to leave a very large cache), from the standard profile on four, so that a level's end lies between two close points.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let an_octave = if profile == Profile::Quick { 2 } else { 4 };
    let largest = super::largest(host, profile);
    let first = if profile == Profile::Thorough { 1 << 10 } else { 4 << 10 };
    let point = |step: u32| {
        let bytes = first as f64 * 2_f64.powf(f64::from(step) / f64::from(an_octave));
        (bytes / 1024.0).round() as u64 * 1024
    };
    let own = single(host).map(|cpu| host.sizes_around_caches(cpu)).into_iter().flatten();
    let between = own.flat_map(|around| around.sizes).chain(THOROUGH_KIB.map(|kib| kib * 1024));
    let between = between.filter(|&size| profile == Profile::Thorough && size <= largest);
    let far = super::beyond(host, super::largest(host, Profile::Quick));
    let is_kept = |size: &u64| profile > Profile::Quick || *size <= super::USUAL_BYTES || size.is_power_of_two();
    (0..).map(point).take_while(|&size| size <= largest).filter(is_kept).chain(between).chain(far).collect()
}

/// Returns the quick profile's sizes that tell each level: three of each cache, near three times the one before, and the two largest.
fn few_sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = sizes(host, profile);
    let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let ends: Vec<u64> = caches.map(|cache| host.effective_bytes(cache)).filter(|&bytes| bytes > 0).collect();
    let begins = ends.first().map(|first| first / 16).into_iter().chain(ends.iter().copied());
    let of_cache = |(begin, &end): (u64, &u64)| {
        let from_threefold = |size: &u64| (*size as f64 / (3 * begin) as f64).ln().abs();
        let mut inside: Vec<u64> = all.iter().copied().filter(|size| (begin + begin / 4..end).contains(size)).collect();
        inside.sort_by(|one, other| from_threefold(one).total_cmp(&from_threefold(other)));
        inside.truncate(3);
        inside
    };
    let largest = all.iter().rev().take(2).copied();
    if ends.is_empty() { all } else { begins.zip(&ends).flat_map(of_cache).chain(largest).collect() }
}

fn measure_latency(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let pattern: String = case.param("pattern")?;
    let pages = super::pages(case)?;
    let line = case.line_bytes() as usize;
    let mut buffer = super::chained(case, size, pages, None)?;
    let memory = buffer.bytes_mut();
    let chain = match pattern.as_str() {
        "random" => return super::loads(case, memory, |case, chain| case.loops(|n| chain.walk(n)).time()),
        "in_page" => Chain::windowed(memory, line.max(PAIR_BYTES), 4096, WINDOW_PAGES, case.seed()),
        stride => {
            let stride: u64 = stride.parse()?;
            if stride > size {
                return Err(RoundError::not_applicable(say!(
                    "a stride of {stride} bytes does not fit a smaller buffer"
                )));
            }
            Chain::strided(memory, stride as usize)
        }
    };
    let chain = chain?;
    let mut chain = chain.settled(case.llc_bytes(), line as u64, &case.steady());
    case.loops(|n| chain.walk(n)).time()
}

/// Traffic that the other CPUs made beside a sample, as the bus carries it.
const INJECTED: Quantity =
    Quantity::given("injected", Unit::BytesPerSecond, Better::Neither, term!("injected traffic"));

/// Probe memory.loaded_latency: what a load from DRAM takes while the other CPUs use the memory's bandwidth.
pub static LOADED_LATENCY: Probe = Probe {
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
        Axis::all_threads("threads", Points::NamesOfHost(threads)),
        Axis::settled_size("size", size).fills(Fill::Chain),
        Axis::settled_size("traffic", traffic).fills(Fill::InAll(1)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["delay", "mix"] }],
    limit: Limit::DramLatency,
    needs: &[Need::Cpus(2)],
    section: super::LATENCY,
    measure: Measure::Run(measure_loaded_latency),
    ..crate::texts::memory::LOADED_LATENCY
};

/// The others' memory together is as many times all caches as the chain's, on average no less than this a thread.
const LEAST_TRAFFIC_BYTES: u64 = 16 << 20;

pub(super) fn size(host: &HostFacts) -> u64 {
    super::outside_caches(host)
}

/// As many as read memory together in `memory.scaling`; one has nobody beside it.
fn threads(host: &HostFacts, profile: Profile) -> Vec<String> {
    super::bandwidth::scaling_threads(host, profile).into_iter().filter(|threads| threads != "1").collect()
}

fn traffic(host: &HostFacts) -> u64 {
    let cpus = host.usable_cpus();
    let others = cpus.len().saturating_sub(1).max(1) as u64;
    let caches = host.last_level_caches_bytes(&cpus);
    let far = (super::TIMES_CACHE * caches).min(super::MOST_OUTSIDE_BYTES.max(super::LEAST_TIMES_CACHE * caches));
    far.max(LEAST_TRAFFIC_BYTES * others).next_multiple_of(1 << 20)
}

fn measure_loaded_latency(case: &mut Case) -> Result<()> {
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
    let mut buffer = super::chained(case, chain_bytes, Pages::Pmd, None)?;
    case.note("injectors", others.len());
    let allotment = case.allot(others.len() as u64, each, Pages::Pmd, None)?;
    let traffic = Traffic::new(mix, delay, allotment)?;
    case.note("kernel", traffic.kernel());
    super::loads(case, buffer.bytes_mut(), |case, chain| {
        traffic.beside(&others, |moved| {
            case.loops(|n| chain.walk(n)).with_counter(INJECTED.name, || moved.load(Ordering::Relaxed)).time()
        })
    })
}

/// Bytes that are moved between two delays: 16 lines, so that a burst is short.
const BURST_BYTES: usize = 1024;
/// Bursts between two looks at the common counter: threads would hinder each other there.
const BURSTS_A_LOOK: usize = 16;

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

/// A walk lasts at least so long, ns.
const WALK_NS: f64 = 200_000.0;

/// Time per load over all chains.
const SHARE: Quantity =
    Quantity::given("load", Unit::Nanoseconds, Better::Lower, term!("time per load over all chains"));

/// Probe memory.parallelism: how many times faster many independent chains of loads go than one, by size.
pub static PARALLELISM: Probe = Probe {
    revision: 2,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[SHARE],
    axes: &[
        Axis::size("size", "67108864", Points::OfHost(halves_of_caches)).fills(Fill::Chain),
        Axis::count("chains", "32", Points::quick(&["32"]).standard(&["2", "4", "8", "16", "24"]).thorough(&["12"])),
        Axis::choice("page", "pmd", Points::quick(&["pmd"]).standard(&["base"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "chains"] }],
    limit: Limit::Saturating("chains"),
    is_structure: true,
    section: super::STRUCTURE,
    measure: Measure::Run(measure_parallelism),
    ..crate::texts::memory::PARALLELISM
};

/// Half of each cache, in the quick profile only of the second level; and memory.
fn halves_of_caches(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let Some(cpu) = single(host) else { return Vec::new() };
    let levels: &[u8] = if profile == Profile::Quick { &[2] } else { &[1, 2, 3] };
    let half = |level: &u8| Some(host.cache(cpu, *level)?.size_bytes / 2 / 4096 * 4096);
    let halves_of_caches = levels.iter().filter_map(half).chain([64 << 20]);
    halves_of_caches.filter(|&size| size > 0 && size <= super::largest(host, profile)).collect()
}

fn measure_parallelism(case: &mut Case) -> Result<()> {
    let (size, chains): (u64, usize) = (case.param("size")?, case.param("chains")?);
    let pages = super::pages(case)?;
    let mut buffer = super::chained(case, size, pages, None)?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let walks = Chains::new(buffer.bytes_mut(), line, chains, seed);
    let mut walks = walks?;
    let chains = chains as u64;
    // What stays cached is cached, and what does not is not.
    case.steady_over(size).after(|| walks.walk_each(walks.lines() / chains / LINKS_A_TURN + 1));
    let (mut turns_of_one, mut turns_of_each) = (16, 16);
    let mut loads_ns = Vec::new();
    case.search(|clock| {
        let one = paced(clock, &mut turns_of_one, |turns| walks.walk_one(turns));
        let each = paced(clock, &mut turns_of_each, |turns| walks.walk_each(turns)) / chains as f64;
        loads_ns.push(each);
        Ok(Some(one / each))
    })?;
    case.also(SHARE.name, loads_ns)
}

/// Nanoseconds a link of a walk, which is made longer until it lasts long enough.
fn paced(clock: &Clock, turns: &mut u64, mut walk: impl FnMut(u64)) -> f64 {
    loop {
        let ns = clock.time(|| walk(*turns));
        if ns >= WALK_NS {
            return ns / (*turns * LINKS_A_TURN) as f64;
        }
        *turns *= 2;
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
