//! What one value may be at most or at least, whatever else a run measured.

use hostmark_model::{AxisKind, Bounds, HostFacts, Leading, Measured, Message, Params};
use hostmark_say::say;

use crate::estimate::core_width;
use crate::probe::{Limit, Probe};

/// The core's frequency and the value are each known to about a percent.
const TOLERANCE: f64 = 1.03;
/// Peak rates of arithmetic come with a clock that wide vectors lower, and that is timed beside them and not with them.
const PEAK_TOLERANCE: f64 = 1.25;

/// The clock of a core whose frequency no case of the run knows, hertz: above the highest boost that is sold (6.2 GHz), so
/// that neither a time nor a rate is blamed for it.
const FASTEST_HZ: f64 = 7e9;

/// From a load that hits the first cache to the next that needs its result, core cycles. No x86 core since Core 2 and K8 has
/// less than 3, most have 4 or 5 (the makers' optimisation manuals); Cortex-A55 has 2 for chains of pointers.
#[cfg(target_arch = "x86_64")]
const LEAST_LOAD_CYCLES: f64 = 3.0;
#[cfg(not(target_arch = "x86_64"))]
const LEAST_LOAD_CYCLES: f64 = 2.0;

/// Into the kernel and back, core cycles. Both ways change the privilege, and no core fetches ahead across that: each costs
/// at least the refill of a pipeline as a mispredicted branch does, 10 cycles on the shortest server pipelines.
const LEAST_ENTRY_CYCLES: f64 = 20.0;
/// Calls that must follow one another in a hand-over: one party gives. That the other waited for it may be over before.
const ENTRIES_A_HAND_OVER: f64 = 1.0;

/// Most bytes per core cycle that one thread loads, and more than it stores: two 64-byte loads (Intel Skylake-SP and later, AMD Zen 5).
const MOST_LOADED_BYTES_A_CYCLE: f64 = 128.0;
/// Most bytes that it loads and stores together: a 64-byte store beside these.
const MOST_BYTES_A_CYCLE: f64 = 192.0;

/// Most bytes a second of one socket's memory: above HBM3 beside CPU cores (5.3 TB/s by data sheet, AMD MI300A), and over
/// five times the widest DIMM platforms (16 channels of 12.8 GT/s, 1.6 TB/s).
const MOST_DRAM_BYTES_A_SECOND: f64 = 8e12;

/// What a value of this probe can be, whatever it is. `core_hz`: the fastest clock of a core in the run.
pub(super) fn of(
    probe: &Probe,
    measured: &Measured,
    params: &Params,
    core_hz: Option<f64>,
    host: &HostFacts,
) -> Option<Bounds> {
    let hz = core_hz.unwrap_or(FASTEST_HZ);
    let least_cycles = |least: f64| Bounds { least: Some(least * 1e9 / hz), most: None };
    let most = |most: f64| Bounds { least: None, most: Some(most) };
    let threads = threads_of(probe, params, measured);
    Some(match probe.limit {
        Limit::None
        | Limit::Voted
        | Limit::Switch
        | Limit::Saturating(_)
        | Limit::PowerOfTwo
        | Limit::Link
        | Limit::Copies(_) => return None,
        Limit::CyclesPerOp => least_cycles(1.0),
        Limit::Rising(_) | Limit::RisingOf(..) | Limit::DramLatency => least_cycles(LEAST_LOAD_CYCLES),
        Limit::KernelEntry => least_cycles(LEAST_ENTRY_CYCLES),
        Limit::HandOvers(count) => least_cycles(LEAST_ENTRY_CYCLES * ENTRIES_A_HAND_OVER * f64::from(count)),
        Limit::BytesPerCycle => most(loaded_bytes(host) * hz * threads),
        Limit::DramBandwidth => {
            let of_memory = MOST_DRAM_BYTES_A_SECOND * host.cpu.packages.max(1) as f64;
            most(of_memory.min(MOST_BYTES_A_CYCLE * hz * threads))
        }
        Limit::OperationsPerCycle(known) => {
            let of_case = |word: &str| word.is_empty() || params.0.iter().any(|(_, value)| value == word);
            let each = f64::from(known.iter().find(|(word, _)| of_case(word))?.1);
            most(each * hz * threads)
        }
    })
}

/// What no value of this probe can be, as a sentence where one of this case is it: the leading one, the other, or a sample. `core_hz`:
/// the fastest clock of a core in the run.
pub(super) fn broken(
    probe: &Probe,
    measured: &Measured,
    params: &Params,
    core_hz: Option<f64>,
    host: &HostFacts,
) -> Option<Message> {
    let estimate = &measured.estimate;
    let both = Leading::EACH.into_iter().filter_map(|by| Some((estimate.by(by)?.value, core_hz)));
    // A sample is short: the core may have had a clock that no round had all along. What rounds vote on is theirs all together, and
    // differences scatter to both sides of nothing.
    let are_times = estimate.agreement.is_none() && estimate.min > 0.0;
    let samples = [estimate.min, estimate.max].map(|sample| (sample, None)).into_iter().filter(|_| are_times);
    let threads = threads_of(probe, params, measured);
    both.chain(samples).find_map(|(value, core_hz)| broken_by(value, probe, params, threads, core_hz, host))
}

/// Whether no machine can have this sample, of a round on so many CPUs. What rounds vote on is theirs all together.
pub(super) fn is_forbidden(probe: &Probe, params: &Params, cpus: usize, value: f64, host: &HostFacts) -> bool {
    probe.limit != Limit::PowerOfTwo
        && broken_by(value, probe, params, threads(probe, params, Some(cpus)), None, host).is_some()
}

pub(super) fn broken_by(
    value: f64,
    probe: &Probe,
    params: &Params,
    threads: f64,
    core_hz: Option<f64>,
    host: &HostFacts,
) -> Option<Message> {
    let hz = core_hz.unwrap_or(FASTEST_HZ);
    let cycles = value * hz / 1e9;
    let per_cycle = value / hz / threads;
    let too_fast = |least: f64, what: Message| {
        let is_broken = cycles * TOLERANCE < least;
        is_broken.then(|| say!("{cycles:.2} core cycles for {what}, which takes at least {least:.0}"))
    };
    let ports = |most: f64| {
        let is_broken = per_cycle > most * TOLERANCE;
        is_broken
            .then(|| say!("{per_cycle:.0} bytes per core cycle, and this core's ports move no more than {most:.0}"))
    };
    match probe.limit {
        Limit::None | Limit::Voted | Limit::Switch | Limit::Saturating(_) | Limit::Link | Limit::Copies(_) => None,
        Limit::CyclesPerOp => too_fast(1.0, say!("a dependent operation")),
        Limit::Rising(_) | Limit::RisingOf(..) | Limit::DramLatency => {
            too_fast(LEAST_LOAD_CYCLES, say!("a load on which the next depends"))
        }
        Limit::KernelEntry => too_fast(LEAST_ENTRY_CYCLES, say!("a way into the kernel and back")),
        Limit::HandOvers(count) => {
            let least = LEAST_ENTRY_CYCLES * ENTRIES_A_HAND_OVER * f64::from(count);
            too_fast(least, say!("the system calls of a hand-over between two parties"))
        }
        Limit::BytesPerCycle => ports(loaded_bytes(host)),
        Limit::DramBandwidth => ports(MOST_BYTES_A_CYCLE).or_else(|| {
            let sockets = host.cpu.packages.max(1) as f64;
            let (each, most) = (value / sockets / 1e12, MOST_DRAM_BYTES_A_SECOND / 1e12);
            (each > most).then(|| say!("{each:.1} TB/s a socket, and no memory gives more than {most:.0}"))
        }),
        Limit::OperationsPerCycle(most) => {
            let of_case = |word: &str| word.is_empty() || params.0.iter().any(|(_, value)| value == word);
            let most = f64::from(most.iter().find(|(word, _)| of_case(word))?.1);
            let is_broken = per_cycle > most * PEAK_TOLERANCE;
            is_broken
                .then(|| say!("{per_cycle:.1} operations per core cycle, and the widest cores do at most {most:.0}"))
        }
        Limit::PowerOfTwo => {
            let is_one = value >= 1.0 && value.fract() == 0.0 && (value as u64).is_power_of_two();
            (!is_one).then(|| say!("{value} bytes, and the line of every cache is a power of two"))
        }
    }
}

/// Bytes that a core of the host loads in a cycle at most; of a design that is not known, as the widest do.
fn loaded_bytes(host: &HostFacts) -> f64 {
    core_width::loaded_bytes_by_design(host).unwrap_or(MOST_LOADED_BYTES_A_CYCLE)
}

/// On how many CPUs the work was done at once: as the case says, or as many as it had.
fn threads(probe: &Probe, params: &Params, cpus: Option<usize>) -> f64 {
    let threads = probe.axis_of(AxisKind::Threads).and_then(|axis| params.get(axis.name)?.parse::<f64>().ok());
    let all = cpus.filter(|_| probe.axis_of(AxisKind::Nodes).is_some());
    threads.or(all.map(|cpus| cpus as f64)).unwrap_or(1.0).max(1.0)
}

/// Threads of a measured case.
pub(super) fn threads_of(probe: &Probe, params: &Params, measured: &Measured) -> f64 {
    threads(probe, params, most_cpus(measured))
}

/// The CPUs of the round that had most of them.
fn most_cpus(measured: &Measured) -> Option<usize> {
    measured.rounds.iter().map(|round| round.cpus.len()).max()
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
