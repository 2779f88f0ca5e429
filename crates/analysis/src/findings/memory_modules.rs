//! Memory bandwidth far below what the modules allow.

use std::collections::HashSet;

use hostmark_model::{CaseRecord, HostFacts, Lang, MemoryModule, Resource, Run, Sight, Unit};

use super::evidence::{Proven, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA, Rule, YIELDS};
use crate::curve::curve;
use crate::format::{percent, value};
use crate::levels::last_cache_size;
use crate::texts::findings::memory_modules as texts;

const STREAM: &str = "memory.stream";
const READ: &str = "memory.read";
/// A channel is eight bytes wide (two halves of four with DDR5).
const CHANNEL_BYTES: f64 = 8.0;
/// Server processors reach 70 to 90 % of the nominal rate; less than half of it has another cause.
const FAR_UNDER: f64 = 0.5;
const USUAL: f64 = 0.75;
/// Reading buffers of this multiple of the last cache lies in memory for the most part.
const IN_MEMORY: f64 = 2.0;
/// Bytes that the bus moves for each that STREAM counts, by kernel, where plain stores read their line first.
const MOVED: [(&str, f64); 4] = [("copy", 1.5), ("scale", 1.5), ("add", 4.0 / 3.0), ("triad", 4.0 / 3.0)];

/// Kernels, as cases note them, whose stores go past the caches, and that of the C library.
const PAST_CACHES: &str = "nt";
const LIBRARY: &str = "libc";

pub(super) static RULE: Rule = Rule {
    id: "memory.below_modules",
    shown: Demonstration::Run,
    probes: &[STREAM, READ],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    if !has_whole_machine(&run.host) {
        return None;
    }
    let modules = &run.host.firmware.memory_modules;
    let (channels, rate) = (least_channels(modules)?, slowest(modules)?);
    let allowed = channels as f64 * CHANNEL_BYTES * rate;
    let moved = most_moved(run);
    // The fastest of all must be far under it, by the upper end of its interval.
    let (case, fastest) = moved.iter().max_by(|one, other| one.1.value.total_cmp(&other.1.value))?;
    if moved.iter().any(|(_, moved)| moved.high >= FAR_UNDER * allowed) {
        return None;
    }
    let cost = lost(USUAL * allowed, fastest.value);
    let count = modules.len();
    let [got, nominal] = [fastest.value, allowed].map(|rate| value(rate, Unit::BytesPerSecond, Lang::En));
    let (share, millions) = (percent(fastest.value / allowed), rate / 1e6);
    let text = texts::text!(got, share, nominal, count, millions, channels);
    let short = short(texts::short!(got, share, nominal));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

/// Tells whether the run could use all of a machine whose firmware reports real modules: a hypervisor invents them.
fn has_whole_machine(host: &HostFacts) -> bool {
    let is_all = host.cpus.iter().all(|cpu| !cpu.online || cpu.allowed);
    let has_no_quota = host.limits.cpu_quota.is_none() && host.limits.sight(Resource::Cpu) != Sight::Nothing;
    host.virtualization.hypervisor.is_none() && is_all && !host.cpus.is_empty() && has_no_quota
}

/// The number of channels that these modules take at least. DDR5 has room for two modules on a channel, DDR4 for three;
/// slots whose names end in a letter and a number (DIMM_A1) tell the channel by the letter. Of other kinds nothing is known.
fn least_channels(modules: &[MemoryModule]) -> Option<usize> {
    let is_kind = |kind: &str| !modules.is_empty() && modules.iter().all(|module| module.kind.as_deref() == Some(kind));
    let most_on_one = if is_kind("DDR5") {
        2
    } else if is_kind("DDR4") {
        3
    } else {
        return None;
    };
    let named: Option<HashSet<&str>> = modules.iter().map(|module| channel_name(module.slot.as_deref()?)).collect();
    Some(modules.len().div_ceil(most_on_one).max(named.map_or(0, |named| named.len())))
}

fn channel_name(slot: &str) -> Option<&str> {
    let name = slot.trim_end_matches(|c: char| c.is_ascii_digit());
    (name.len() < slot.len() && name.ends_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

/// Transfers a second of the slowest module, whose rate all run at; none where one does not tell.
fn slowest(modules: &[MemoryModule]) -> Option<f64> {
    let rates: Option<Vec<u64>> = modules.iter().map(|module| module.transfers_per_s).collect();
    rates?.into_iter().min().filter(|rate| *rate > 0).map(|rate| rate as f64)
}

/// Memory traffic of each case of all CPUs.
fn most_moved(run: &Run) -> Vec<(&CaseRecord, Proven)> {
    let all = run.host.usable_cpus().len();
    let scaled =
        |proven: Proven, by: f64| Proven { low: proven.low * by, value: proven.value * by, high: proven.high * by };
    // Earlier runs have a word for the number.
    let on_all = |case: &&CaseRecord| case.params.get("threads").is_some_and(|it| it == "all" || it == all.to_string());
    let streams = run.cases.iter().filter(|case| case.probe == STREAM).filter(on_all);
    let mut moved: Vec<(&CaseRecord, Proven)> = streams
        .filter_map(|case| {
            let kernel = case.params.get("kernel")?;
            let by = match case.measured()?.notes.get("kernel").map(String::as_str) {
                // Nothing is read for the sake of these stores.
                Some(past) if past.starts_with(PAST_CACHES) => 1.0,
                // Which stores the C library took, nobody tells.
                Some(LIBRARY) => return None,
                _ => MOVED.iter().find(|(name, _)| *name == kernel)?.1,
            };
            Some((case, scaled(Proven::of_case(case)?, by)))
        })
        .collect();
    let beyond = last_cache_size(run).map_or(f64::INFINITY, |size| IN_MEMORY * size * all as f64);
    for point in curve(run, READ, "size", &[("threads", &all.to_string())]) {
        if point.at as f64 >= beyond
            && let Some(proven) = Proven::of_case(point.case)
        {
            moved.push((point.case, proven));
        }
    }
    // Without STREAM on all CPUs, the threads of a read may be too few to fill the channels.
    if moved.iter().any(|(case, _)| case.probe == STREAM) { moved } else { Vec::new() }
}
