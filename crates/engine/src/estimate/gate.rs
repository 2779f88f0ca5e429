//! The plausibility gate: no number that physics forbids is reported as good.

use hostmark_model::{
    AxisKind, Bounds, CaseRecord, DisturbanceFlags, Flag, FlagKind, HostFacts, Leading, Measured, Message, NetworkPath,
    Outcome, Params, Peer, Quiet,
};
use hostmark_say::say;

use crate::estimate::core_width;
use crate::probe::{Entry, Limit, Probe, TO, ValueSource};
use crate::record::{CaseRounds, Round, Sampled};

mod relations;

/// Marks every value of a run that physics forbids, by itself or beside others. `entries`: the probe of each record.
pub(crate) fn mark(entries: &[Entry], records: &mut [CaseRecord], host: &HostFacts, peers: &[Peer]) {
    // A case's own clock may be timed while others have the core, and a core may hold its highest clock in a single round.
    let fastest_hz = records.iter().flat_map(core_hz).max_by(f64::total_cmp);
    for (entry, record) in entries.iter().zip(&mut *records) {
        hold(entry, record, fastest_hz, host, peers);
    }
    let found: Vec<Option<Message>> = (entries.iter().zip(&*records))
        .map(|(entry, record)| match entry.probe.limit {
            Limit::Link => link_broken(record.measured()?, &record.params, peers),
            Limit::Copies(axis) => copies_broken(record.measured()?, &record.params, axis),
            _ => broken(entry.probe, record.measured()?, &record.params, fastest_hz, host),
        })
        .collect();
    for (record, detail) in records.iter_mut().zip(found) {
        if let Some(detail) = detail {
            flag(record, detail);
        }
    }
    relations::mark(entries, records, host);
}

/// Largest share of impossible samples. Where more are, something is wrong with the case.
const MOST_FORBIDDEN: f64 = 0.25;

/// Marks samples that no machine can have: they are left out. A round that has no others is lost.
pub(crate) fn mark_samples(case: &mut CaseRounds, host: &HostFacts) {
    let (probe, params) = (case.entry.probe, &case.id.params);
    let sampled = || case.rounds.iter().filter_map(|round| Some((round, round.sampled.as_ref()?)));
    let is_forbidden = |value: f64, cpus: &[usize]| is_forbidden(probe, params, cpus.len(), value, host);
    let of_round = |(round, sampled): (&Round, &Sampled)| {
        sampled.values.iter().map(|value| is_forbidden(*value, &round.cpus)).collect::<Vec<bool>>()
    };
    let forbidden: Vec<Vec<bool>> = sampled().map(of_round).collect();
    let all = forbidden.iter().map(Vec::len).sum::<usize>();
    let count = forbidden.iter().flatten().filter(|is_so| **is_so).count();
    let may_be_left_out = count as f64 <= MOST_FORBIDDEN * all as f64;
    let is_never_below_zero = probe.unit.is_time_or_rate();
    let rounds = case.rounds.iter_mut().filter(|round| round.sampled.is_some());
    for (round, forbidden) in rounds.zip(forbidden) {
        let Some(sampled) = &mut round.sampled else { continue };
        for ((flags, is_so), value) in sampled.disturbance_flags.iter_mut().zip(&forbidden).zip(&sampled.values) {
            let is_left_out = *is_so && may_be_left_out || is_never_below_zero && *value < 0.0;
            let mark = if is_left_out { DisturbanceFlags::FORBIDDEN } else { 0 };
            *flags = *flags & !DisturbanceFlags::FORBIDDEN | mark;
        }
        if sampled.disturbance_flags.iter().all(|flags| !DisturbanceFlags(*flags).is_possible()) {
            round.sampled = None;
        }
    }
}

/// Marks values that stand beside the same in cycles of a clock that no core of the run had; `of` tells the probe of each.
pub(crate) fn mark_clocks(of: &[Entry], cases: &mut [CaseRecord], seen_hz: impl Iterator<Item = f64>) {
    let seen = seen_hz
        .filter(|&hz| hz > 0.0)
        .fold([f64::INFINITY, 0.0], |[slowest, fastest], hz| [hz.min(slowest), hz.max(fastest)]);
    for record in cases.iter_mut().filter(|_| seen[1] > 0.0) {
        let unit = of.iter().find(|entry| entry.id() == record.probe).map(|entry| entry.probe.unit);
        unit.into_iter().for_each(|unit| relations::mark_clocks(unit, record, seen));
    }
}

/// Holds the ends of a value's intervals to what physics allows: that a value may lie there is no reason to say so.
fn hold(entry: &Entry, record: &mut CaseRecord, fastest_hz: Option<f64>, host: &HostFacts, peers: &[Peer]) {
    let Outcome::Measured(measured) = &mut record.outcome else { return };
    measured.bounds = match entry.probe.limit {
        Limit::Link => most_link(&record.params, peers).map(|most| Bounds { least: None, most: Some(most) }),
        Limit::Copies(axis) => most_copies(&record.params, axis).map(|most| Bounds { least: None, most: Some(most) }),
        _ => bounds_of(entry.probe, measured, &record.params, fastest_hz, host),
    };
    let Some(bounds) = measured.bounds else { return };
    let estimate = &mut measured.estimate;
    if let (Some(low), Some(high)) = (&mut estimate.ci_low, &mut estimate.ci_high) {
        (*low, *high) = bounds.held((*low, *high), estimate.typical);
    }
    if let Some(Quiet { value, low: Some(low), high: Some(high), .. }) = &mut estimate.quiet {
        (*low, *high) = bounds.held((*low, *high), *value);
    }
    hold_in_cycles(entry, measured, &record.params, host);
}

/// Takes away the same value in cycles of the core where it is none that a core can have: the clock beside the case was timed while others
/// had the core. At 1 GHz a cycle is a nanosecond, so that the bounds of times and rates are those of cycles.
fn hold_in_cycles(entry: &Entry, measured: &mut Measured, params: &Params, host: &HostFacts) {
    let names = entry.probe.also.iter().filter_map(|quantity| match quantity.source {
        ValueSource::CoreCycles => Some((quantity.name, 1.0)),
        ValueSource::EachCoreCycle => Some((quantity.name, 1e9)),
        _ => None,
    });
    for (name, scale) in names {
        let found = measured.companion(name).and_then(|companion| {
            let value = companion.value() * scale;
            broken_by(value, entry.probe, params, threads_of(entry.probe, params, measured), Some(1e9), host)
        });
        if let Some(detail) = found {
            measured.also.remove(name);
            measured.notes.insert(format!("no_{name}"), detail.to_string());
        }
    }
}

/// The core's frequency in each round of a value; none where threads that the gate knows nothing of did the work.
fn core_hz(record: &CaseRecord) -> impl Iterator<Item = f64> {
    let rounds = record.measured().map_or(&[][..], |measured| &measured.rounds);
    rounds.iter().filter_map(|round| round.core_hz).filter(|&hz| hz > 0.0)
}

fn flag(record: &mut CaseRecord, detail: Message) {
    remark(record, FlagKind::Implausible, detail);
}

fn remark(record: &mut CaseRecord, kind: FlagKind, detail: Message) {
    let flag = Flag::new(kind, detail);
    if let Outcome::Measured(measured) = &mut record.outcome
        && !measured.flags.contains(&flag)
    {
        measured.flags.push(flag);
    }
}

/// The core's frequency and the value are each known to about a percent; one alone and several at once differ by as much.
const TOLERANCE: f64 = 1.03;
/// Peak rates of arithmetic come with a clock that wide vectors lower, and that is timed beside them and not with them.
const PEAK_TOLERANCE: f64 = 1.25;

/// The clock of a core of unknown frequency, hertz: above the highest boost sold (6.2 GHz), so that no value is blamed for it.
const FASTEST_HZ: f64 = 7e9;

/// Least latency of a load that hits the first cache, core cycles. No x86 core since Core 2 and K8 has less than 3, most
/// have 4 or 5 (the makers' optimisation manuals); Cortex-A55 has 2 for chains of pointers.
#[cfg(target_arch = "x86_64")]
const LEAST_LOAD_CYCLES: f64 = 3.0;
#[cfg(not(target_arch = "x86_64"))]
const LEAST_LOAD_CYCLES: f64 = 2.0;

/// Least cost of entering the kernel and returning, core cycles. Both ways change the privilege, and no core fetches ahead across that:
/// each costs at least the refill of a pipeline as a mispredicted branch does, 10 cycles on the shortest server pipelines.
const LEAST_ENTRY_CYCLES: f64 = 20.0;
/// Calls that must follow one another in a hand-over: one party gives. That the other waited for it may be over before.
const ENTRIES_A_HAND_OVER: f64 = 1.0;

/// Most bytes per core cycle that one thread loads, and more than it stores: two 64-byte loads (Intel Skylake-SP and later, AMD Zen 5).
const MOST_LOADED_BYTES_A_CYCLE: f64 = 128.0;
/// Most bytes that it loads and stores together: a 64-byte store beside these.
const MOST_BYTES_A_CYCLE: f64 = 192.0;

/// Most bytes a second of one socket's memory: above HBM3 beside CPU cores (5.3 TB/s, AMD MI300A) and the widest DIMMs (1.6 TB/s).
const MOST_DRAM_BYTES_A_SECOND: f64 = 8e12;

/// Returns the physical bounds of a probe's values. `core_hz`: the fastest clock of a core in the run.
fn bounds_of(
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

/// Returns a sentence where the leading value, the other or a sample is impossible. `core_hz`: the run's fastest core clock.
fn broken(
    probe: &Probe,
    measured: &Measured,
    params: &Params,
    core_hz: Option<f64>,
    host: &HostFacts,
) -> Option<Message> {
    let estimate = &measured.estimate;
    let both = Leading::EACH.into_iter().filter_map(|by| Some((estimate.by(by)?.value, core_hz)));
    // In a short sample the core may have had another clock. Rounds vote together, and differences scatter to both sides of zero.
    let are_times = estimate.agreement.is_none() && estimate.min > 0.0;
    let samples = [estimate.min, estimate.max].map(|sample| (sample, None)).into_iter().filter(|_| are_times);
    let threads = threads_of(probe, params, measured);
    both.chain(samples).find_map(|(value, core_hz)| broken_by(value, probe, params, threads, core_hz, host))
}

/// Tells whether no machine can have this sample, of a round on so many CPUs. Values on which rounds vote are judged together.
fn is_forbidden(probe: &Probe, params: &Params, cpus: usize, value: f64, host: &HostFacts) -> bool {
    probe.limit != Limit::PowerOfTwo
        && broken_by(value, probe, params, threads(probe, params, Some(cpus)), None, host).is_some()
}

fn broken_by(
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
    core_width::design(host).map_or(MOST_LOADED_BYTES_A_CYCLE, |(.., bytes)| *bytes)
}

/// Returns on how many CPUs the work was done at once: as the case says, or as many as it had.
fn threads(probe: &Probe, params: &Params, cpus: Option<usize>) -> f64 {
    let threads = probe.axis_of(AxisKind::Threads).and_then(|axis| params.get(axis.name)?.parse::<f64>().ok());
    let all = cpus.filter(|_| probe.axis_of(AxisKind::Nodes).is_some());
    threads.or(all.map(|cpus| cpus as f64)).unwrap_or(1.0).max(1.0)
}

fn threads_of(probe: &Probe, params: &Params, measured: &Measured) -> f64 {
    threads(probe, params, measured.rounds.iter().map(|round| round.cpus.len()).max())
}

/// Returns the number of copies, which is also the most that they do in times of one.
fn most_copies(params: &Params, axis: &str) -> Option<f64> {
    params.get(axis)?.parse().ok()
}

/// Returns a sentence where so many copies cannot have this value.
fn copies_broken(measured: &Measured, params: &Params, axis: &str) -> Option<Message> {
    let (most, value) = (most_copies(params, axis)?, measured.estimate.typical);
    let is_broken = value > most * TOLERANCE;
    is_broken.then(|| {
        say!("{value:.2} times what one does alone, and {most} copies do at most {most} times: one alone was disturbed")
    })
}

/// A rate, bytes a second, and what may pass beyond it at once, bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Most {
    rate: f64,
    burst: f64,
}

/// Returns the limit of one way to a peer or back, with all that packets take; `None` where no fact tells it.
fn one_way(peer: &Peer, sends: bool) -> Option<Most> {
    let paths = [peer.path.as_ref(), peer.path_back.as_ref()];
    let sender = paths[usize::from(!sends)];
    let burst = sender.and_then(|path| path.queue.as_ref()?.burst_bytes).unwrap_or(0) as f64;
    let limit = sender.and_then(NetworkPath::limit_bits_per_s).map(|bits| (bits, burst));
    let links = paths.into_iter().flatten().filter_map(NetworkPath::link_bits_per_s).map(|bits| (bits, 0.0));
    let (bits, burst) = links.chain(limit).min_by_key(|(bits, _)| *bits)?;
    Some(Most { rate: bits as f64 / 8.0, burst })
}

/// Returns the limit of the ways that a case's bytes go.
fn link_of(params: &Params, peers: &[Peer]) -> Option<Most> {
    let peer = peers.iter().find(|peer| Some(&*peer.name) == params.get(TO.name))?;
    match params.get("direction") {
        Some("send") => one_way(peer, true),
        Some("both") => {
            let (there, back) = (one_way(peer, true)?, one_way(peer, false)?);
            Some(Most { rate: there.rate + back.rate, burst: there.burst + back.burst })
        }
        _ => one_way(peer, false),
    }
}

/// Returns the highest possible rate of a case, bytes a second.
fn most_link(params: &Params, peers: &[Peer]) -> Option<f64> {
    link_of(params, peers).map(|most| most.rate)
}

/// Says of the first sample that is faster than its link that it is.
fn link_broken(measured: &Measured, params: &Params, peers: &[Peer]) -> Option<Message> {
    let most = link_of(params, peers)?;
    let samples = measured.rounds.iter().zip(&measured.samples).flat_map(|(round, samples)| {
        let sample_ns = round.raw.as_ref().map_or(f64::INFINITY, |raw| raw.sample_ns.max(1.0));
        samples.iter().map(move |sample| (*sample, most.rate + most.burst * 1e9 / sample_ns))
    });
    let (sample, most) = samples.into_iter().find(|(sample, most)| sample > most)?;
    let [sample, most] = [sample, most].map(|rate| rate * 8.0 / 1e6);
    Some(say!("a sample of {sample:.1} Mbit/s, and the link lets {most:.1} Mbit/s through with all that packets take"))
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
