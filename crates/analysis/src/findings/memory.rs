//! Rules on memory: caches unlike those that the host reports, huge pages, first touch, bandwidth.

use std::collections::HashSet;

use hostmark_model::{
    CacheFact, CaseRecord, Estimate, HostFacts, Lang, MemoryModule, Message, Resource, Run, Sight, Text, Unit,
    size_text,
};
use hostmark_say::say;

use super::evidence::{Proven, case_at, lost};
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA, QUOTA_OF_ONE, Rule, YIELDS};
use crate::curve::{CurvePoint, curve};
use crate::format::{bytes_text, number, percent, rate_text, time_text, value};
use crate::levels::{HIERARCHY, LEVELS, Level, last_cache_size};
use crate::split_huge_pages::{EFFECTIVE_PAGE, cut_into};
use crate::texts::findings as texts;
use crate::words;

pub(super) static CACHE_SIZE: Rule = Rule {
    id: "memory.cache_size_differs",
    shown: Demonstration::Explain("memory.latency"),
    probes: &[HIERARCHY],
    cure: Some(texts::cache_size::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: |run| LEVELS.iter().filter_map(|level| cache_size(run, *level)).collect(),
};

fn cache_size(run: &Run, level: Level) -> Option<Conclusion> {
    let bracket = level.bracket(run)?;
    let reported = level.reported(run)?.size_bytes as f64;
    let name = level.name;
    let says = bytes_text(reported);
    let (short, text) = if bracket.is_under(reported) {
        let leaves = bytes_text(bracket.leaves?);
        let short = texts::cache_size::smaller_short!(name, says, leaves);
        let text = texts::cache_size::smaller_text!(name, says, leaves);
        (short, text)
    } else if bracket.is_over(reported) {
        let fits = bytes_text(bracket.fits?);
        let short = texts::cache_size::larger_short!(name, says, fits);
        let text = texts::cache_size::larger_text!(name, says, fits);
        (short, text)
    } else {
        return None;
    };
    Some(Conclusion {
        short,
        text,
        cases: level.case(run).map(|case| case.id.clone()).into_iter().collect(),
        cost: 0.0,
    })
}

pub(super) static CACHE_STRUCTURE: Rule = Rule {
    id: "memory.cache_structure_differs",
    shown: Demonstration::Run,
    probes: &[HIERARCHY],
    cure: Some(texts::cache_structure::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: |run| LEVELS.iter().flat_map(|level| cache_structure(run, level)).collect(),
};

fn cache_structure(run: &Run, level: &Level) -> Vec<Conclusion> {
    let Some(reported) = level.reported(run) else { return Vec::new() };
    let cases: Vec<String> = level.case(run).map(|case| case.id.clone()).into_iter().collect();
    let texts = [line_size(run, level, reported), ways(run, level, reported)];
    texts
        .into_iter()
        .flatten()
        .map(|(short, text)| Conclusion { short, text, cases: cases.clone(), cost: 0.0 })
        .collect()
}

type Sentences = (Text<String>, Text<String>);

fn line_size(run: &Run, level: &Level, reported: &CacheFact) -> Option<Sentences> {
    let (measured, says) = (level.also(run, "line")?, reported.line_bytes?);
    differs(measured, says as f64).then(|| {
        let (name, measured) = (level.name, value(measured.value(), Unit::Count, Lang::En));
        let short = texts::cache_structure::line_short!(name, says, measured);
        let text = texts::cache_structure::line_text!(name, says, measured);
        (short, text)
    })
}

fn ways(run: &Run, level: &Level, reported: &CacheFact) -> Option<Sentences> {
    let (measured, says) = (level.also(run, "ways")?, reported.ways?);
    differs(measured, f64::from(says)).then(|| {
        let (name, measured) = (level.name, value(measured.value(), Unit::Count, Lang::En));
        let short = texts::cache_structure::ways_short!(name, says, measured);
        let text = texts::cache_structure::ways_text!(name, says, measured);
        (short, text)
    })
}

/// The share of rounds that must agree before the host is contradicted: a neighbour disturbs some of them.
const SURE: f64 = 0.75;

/// Tells whether the rounds agree on another value. Without a vote nothing is proven: a median of rounds may be a size that no cache has.
fn differs(measured: &Estimate, reported: f64) -> bool {
    reported > 0.0 && measured.value() != reported && measured.agreement.is_some_and(|share| share >= SURE)
}

const LATENCY: &str = "memory.latency";

/// Least slowdown by base pages: less is within the effect of page placement.
const SLOWER_BY_BASE_PAGES: f64 = 0.10;

pub(super) static HUGE_PAGES: Rule = Rule {
    id: "memory.huge_pages_off",
    shown: Demonstration::Try("huge-pages"),
    probes: &[LATENCY],
    cure: Some(texts::huge_pages::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: huge_pages,
};

fn huge_pages(run: &Run) -> Vec<Conclusion> {
    let setting = match run.host.memory.transparent_huge_pages.as_deref() {
        None | Some("always") => return Vec::new(),
        Some(setting) => setting,
    };
    let Some((base, huge)) = largest_pair(run) else { return Vec::new() };
    let (Some(slow), Some(fast)) = (estimate(base), estimate(huge)) else { return Vec::new() };
    let slower = slow.value() / fast.value() - 1.0;
    // Intervals that overlap prove nothing, nor do values without one.
    let is_apart = matches!((slow.interval(), fast.interval()), (Some((low, _)), Some((_, high))) if low > high);
    if slower.is_nan() || slower <= SLOWER_BY_BASE_PAGES || !is_apart {
        return Vec::new();
    }
    let (times, base_ns, huge_ns) = (percent(slower), time_text(slow.value()), time_text(fast.value()));
    let text = texts::huge_pages::text!(times, base_ns, huge_ns, setting);
    let short = texts::huge_pages::short!(base_ns, huge_ns);
    let cases = vec![base.id.clone(), huge.id.clone()];
    vec![Conclusion { short, text, cases, cost: lost(slow.value(), fast.value()) }]
}

fn estimate(case: &CaseRecord) -> Option<&Estimate> {
    case.measured().map(|measured| &measured.estimate).filter(|estimate| estimate.value() > 0.0)
}

/// The largest size in memory that was measured with both pages and else alike.
fn largest_pair(run: &Run) -> Option<(&CaseRecord, &CaseRecord)> {
    let in_memory = last_cache_size(run).unwrap_or(0.0);
    let size = |case: &CaseRecord| case.params.get("size").and_then(|size| size.parse::<u64>().ok());
    let cases = || run.cases.iter().filter(|case| case.probe == LATENCY && estimate(case).is_some());
    let base = cases().filter(|case| case.params.get("page") == Some("base"));
    let pairs = base.filter(|case| size(case).is_some_and(|bytes| bytes as f64 > in_memory)).filter_map(|base| {
        let wanted = base.params.with("page", "pmd");
        cases().find(|case| case.params == wanted).map(|huge| (base, huge))
    });
    // Chains in random order show page walks; a stride may hide them.
    pairs.max_by_key(|(base, _)| (base.params.get("pattern") == Some("random"), size(base)))
}

pub(super) static SPLIT_HUGE_PAGES: Rule = Rule {
    id: "memory.huge_pages_cut",
    shown: Demonstration::Explain("memory.effective_page"),
    probes: &[EFFECTIVE_PAGE],
    cure: Some(texts::split_huge_pages::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: |run| split_huge_pages(run).into_iter().collect(),
};

fn split_huge_pages(run: &Run) -> Option<Conclusion> {
    let (case, bytes) = cut_into(run)?;
    let [walk, base] = [Proven::also(case, "huge")?, Proven::also(case, "base")?];
    let (page, walk_ns, base_ns) = (bytes_text(bytes), time_text(walk.value), time_text(base.value));
    let memory = LEVELS.iter().find(|level| level.cache.is_none()).and_then(|level| level.case(run));
    let cost = memory.and_then(Proven::of_case).map_or(0.0, |load| walk.value / load.value);
    let text = texts::split_huge_pages::text!(page, walk_ns, base_ns);
    let cases = [Some(case), memory.filter(|memory| memory.measured().is_some())];
    let short = texts::split_huge_pages::short!(page, walk_ns);
    Some(Conclusion { short, text, cases: cases.into_iter().flatten().map(|case| case.id.clone()).collect(), cost })
}

const FAULT: &str = "paging.fault";
/// Pages that lie in a cache are zeroed faster too; by less than this.
const SLOWER_FIRST: f64 = 2.0;
/// First touch of memory on servers whose host keeps it backed, bytes a second.
const USUAL_RATE: f64 = 6e9;
/// Factor from which on no processor is the cause.
const MUCH_SLOWER: f64 = 12.0;
/// The interrupts, walks and zeroing of a fault are counted by pages of this size where the run does not tell another.
const USUAL_PAGE_BYTES: u64 = 4096;

pub(super) static FIRST_TOUCH: Rule = Rule {
    id: "memory.first_touch",
    shown: Demonstration::Explain("paging.fault"),
    probes: &[FAULT],
    cure: Some(texts::first_touch::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: first_touch,
};

fn first_touch(run: &Run) -> Vec<Conclusion> {
    // All say the same; the dearest one says how bad it gets.
    let all = [costly_first_touch(run, "first"), costly_first_touch(run, "returned"), slow_first_touch(run)]
        .into_iter()
        .flatten();
    all.max_by(|one, other| one.cost.total_cmp(&other.cost)).into_iter().collect()
}

/// First touch at a small part of the usual rate, by the look before the run.
fn slow_first_touch(run: &Run) -> Option<Conclusion> {
    run.host.virtualization.hypervisor.as_ref()?;
    let rate = run.host.memory_look.as_ref()?.first_touch_bytes_per_s;
    if !(rate > 0.0 && rate < USUAL_RATE / MUCH_SLOWER) {
        return None;
    }
    let [slow, fast] = [rate, USUAL_RATE].map(rate_text);
    let times = number(USUAL_RATE / rate);
    let text = texts::first_touch::slow_text!(times, slow, fast);
    Some(Conclusion {
        short: texts::first_touch::slow_short!(slow, fast),
        text,
        cases: Vec::new(),
        cost: 1.0 - rate / USUAL_RATE,
    })
}

fn costly_first_touch(run: &Run, kind: &str) -> Option<Conclusion> {
    // Without a hypervisor nobody else gives memory or takes it.
    run.host.virtualization.hypervisor.as_ref()?;
    let case = case_at(run, FAULT, &[("kind", kind)])?;
    let (first, again) = (Proven::of_case(case)?, Proven::also(case, "again")?);
    if first.value < SLOWER_FIRST * again.value || first.low <= again.high {
        return None;
    }
    let memory = &run.host.memory;
    let page = match kind {
        "returned" => memory.pmd_page_bytes?,
        _ => Some(memory.page_bytes).filter(|bytes| *bytes > 0).unwrap_or(USUAL_PAGE_BYTES),
    };
    let rate = |ns: f64| rate_text(page as f64 * 1e9 / ns);
    let (times, cost) = (number(first.value / again.value), lost(first.value, again.value));
    let [slow, fast] = [first.value, again.value].map(rate);
    let share = percent(cost);
    let short = match kind {
        "returned" => texts::first_touch::returned_short!(times, slow, fast),
        _ => texts::first_touch::first_short!(times, slow, fast),
    };
    let text = match kind {
        "returned" => texts::first_touch::returned_text!(times, slow, fast, share),
        _ => texts::first_touch::first_text!(times, slow, fast, share),
    };
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

const STREAM: &str = "memory.stream";
const READ: &str = "memory.read";
/// A channel is eight bytes wide (two halves of four with DDR5).
const CHANNEL_BYTES: f64 = 8.0;
/// Server processors reach 70 to 90 % of the nominal rate; less than half of it has another cause.
const FAR_UNDER: f64 = 0.5;
const USUAL_SHARE: f64 = 0.75;
/// Reading buffers of this multiple of the last cache lies in memory for the most part.
const IN_MEMORY_FROM: f64 = 2.0;
/// Bytes that the bus moves for each that STREAM counts, by kernel, where plain stores read their line first.
const MOVED: [(&str, f64); 4] = [("copy", 1.5), ("scale", 1.5), ("add", 4.0 / 3.0), ("triad", 4.0 / 3.0)];

/// Kernels, as cases note them, whose stores go past the caches, and that of the C library.
const PAST_CACHES: &str = "nt";
const LIBRARY: &str = "libc";

pub(super) static MEMORY_MODULES: Rule = Rule {
    id: "memory.below_modules",
    shown: Demonstration::Run,
    probes: &[STREAM, READ],
    cure: Some(texts::memory_modules::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw: |run| below_modules(run).into_iter().collect(),
};

fn below_modules(run: &Run) -> Option<Conclusion> {
    if !has_whole_machine(&run.host) {
        return None;
    }
    let modules = &run.host.firmware.memory_modules;
    let (channels, rate) = (least_channels(modules)?, slowest_module(modules)?);
    let allowed = channels as f64 * CHANNEL_BYTES * rate;
    let moved = most_moved(run);
    // The fastest of all must be far under it, by the upper end of its interval.
    let (case, fastest) = moved.iter().max_by(|one, other| one.1.value.total_cmp(&other.1.value))?;
    if moved.iter().any(|(_, moved)| moved.high >= FAR_UNDER * allowed) {
        return None;
    }
    let cost = lost(USUAL_SHARE * allowed, fastest.value);
    let count = modules.len();
    let [got, nominal] = [fastest.value, allowed].map(rate_text);
    let (share, millions) = (percent(fastest.value / allowed), rate / 1e6);
    let text = texts::memory_modules::text!(got, share, nominal, count, millions, channels);
    let short = texts::memory_modules::short!(got, share, nominal);
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
fn slowest_module(modules: &[MemoryModule]) -> Option<f64> {
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
    let beyond = last_cache_size(run).map_or(f64::INFINITY, |size| IN_MEMORY_FROM * size * all as f64);
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

const WRITE: &str = "memory.write";
const COPY: &str = "memory.copy";

/// Least factor between two values that is worth a word.
const NOTABLE_FACTOR: f64 = 1.1;
/// Buffers from this multiple of the last cache on lie in memory for the most part.
const IN_MEMORY_FROM_WRITES: f64 = 1.5;
/// Bytes on the bus for a byte written by plain stores, and for one copied by them.
const WRITTEN: f64 = 2.0;
const COPIED: f64 = 3.0;

/// Kernels, as cases note them, whose stores are no plain ones.
const OTHER_STORES: [&str; 3] = ["nt", "rep", "libc"];

pub(super) static WRITE_ALLOCATE: Rule = Rule {
    id: "memory.write_allocate",
    shown: Demonstration::Explain("memory.write"),
    probes: &[READ, WRITE, COPY],
    cure: Some(texts::write_allocate::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: write_allocate,
};

fn write_allocate(run: &Run) -> Vec<Conclusion> {
    let Some(beyond) = in_memory(run) else { return Vec::new() };
    let mut read_write_copy = [READ, WRITE, COPY].map(|probe| curve(run, probe, "size", &[]));
    read_write_copy[1..].iter_mut().for_each(|points| points.retain(is_plain));
    let [read, write, copy] = read_write_copy;
    let both = |point: &&CurvePoint| point.at as f64 >= beyond && point_at(&read, point.at).is_some();
    let Some(stored) = write.iter().rfind(both) else { return Vec::new() };
    let Some(loaded) = point_at(&read, stored.at).filter(|loaded| loaded.is_above(stored, NOTABLE_FACTOR)) else {
        return Vec::new();
    };
    let factor = number(loaded.estimate.value() / stored.estimate.value());
    let [reads, writes, bus] =
        [loaded.estimate.value(), stored.estimate.value(), WRITTEN * stored.estimate.value()].map(rate_text);
    let size = size_text(stored.at);
    let mut text = vec![Message::from(texts::write_allocate::text!(size, writes, reads, factor, bus))];
    let short = texts::write_allocate::short!(writes, reads);
    let mut cases = vec![loaded.case.id.clone(), stored.case.id.clone()];
    if let Some(copied) = point_at(&copy, stored.at).filter(|copied| stored.is_above(copied, NOTABLE_FACTOR)) {
        let [copies, bus] = [copied.estimate.value(), COPIED * copied.estimate.value()].map(rate_text);
        text.push(say!(
            " Copying gets {copies} and lies below both: the source is read, the destination read and written back, three \
             bytes for each byte copied, {bus} in all."
        ));
        cases.push(copied.case.id.clone());
    }
    // Plain stores lose what other stores are proven to save; where none is measured, nothing is known to be lost.
    let mut cost = 0.0_f64;
    for (kernel, name) in [("nt", NON_TEMPORAL), ("rep", STRING)] {
        let other = curve(run, WRITE, "size", &[("kernel", kernel)]);
        let ahead = add_other_stores(&mut text, &mut cases, name, &write, &other, beyond);
        cost = cost.max(ahead.unwrap_or(0.0));
    }
    vec![Conclusion { short, text: words(Message::joined(text, "")), cases, cost }]
}

const NON_TEMPORAL: Text = term!("Non-temporal stores, which skip that read,");
const STRING: Text = term!("String stores (rep stosb)");

/// Adds the rates of other stores in memory beside plain ones, and their crossing; returns the proven share that plain ones lose.
fn add_other_stores(
    text: &mut Vec<Message>,
    cases: &mut Vec<String>,
    name: Text,
    plain: &[CurvePoint],
    other: &[CurvePoint],
    beyond: f64,
) -> Option<f64> {
    let pairs: Vec<(&CurvePoint, &CurvePoint)> =
        other.iter().filter_map(|other| Some((plain.iter().find(|plain| plain.at == other.at)?, other))).collect();
    let (stored, others) = pairs.last().filter(|(plain, _)| plain.at as f64 >= beyond)?;
    let [rate_of_others, ratio] =
        [rate_text(others.estimate.value()), number(others.estimate.value() / stored.estimate.value())];
    let size = size_text(others.at);
    cases.push(others.case.id.clone());
    // Ahead from here on: at every size that is left no interval says otherwise.
    let is_ahead = |(plain, other): &&(&CurvePoint, &CurvePoint)| other.is_above(plain, 1.0);
    let ahead = pairs.iter().rev().take_while(is_ahead).count();
    let behind = pairs.len() - ahead;
    if ahead > 0 && behind > 0 && pairs[behind - 1].0.is_above(pairs[behind - 1].1, 1.0) {
        let [before, from] = [behind - 1, behind].map(|index| size_text(pairs[index].0.at));
        text.push(say!(
            " {name} get {rate_of_others} at {size}, {ratio} × plain; they fall behind up to {before} and lead from {from} on."
        ));
    } else if pairs.len() > 1 && pairs.iter().all(|(plain, other)| plain.is_above(other, 1.0)) {
        text.push(say!(
            " {name} get {rate_of_others} at {size}, {ratio} × plain; they stay behind at every size measured."
        ));
    } else {
        text.push(say!(" {name} get {rate_of_others} at {size}, {ratio} × plain."));
    }
    others.is_above(stored, 1.0).then(|| lost(others.estimate.value(), stored.estimate.value()))
}

/// Tells whether a point was written or copied by plain stores. Others do not read the line first, or are unknown.
fn is_plain(point: &CurvePoint) -> bool {
    let kernel = point.case.measured().and_then(|measured| measured.notes.get("kernel"));
    !kernel.is_some_and(|kernel| OTHER_STORES.contains(&kernel.as_str()))
}

fn point_at<'a>(points: &'a [CurvePoint<'a>], size: u64) -> Option<&'a CurvePoint<'a>> {
    points.iter().find(|point| point.at == size)
}

/// Size from which on buffers lie in memory by all that is known of the caches, bytes; none where nothing is.
fn in_memory(run: &Run) -> Option<f64> {
    let reported = LEVELS.iter().filter_map(|level| Some(level.reported(run)?.size_bytes as f64));
    let last = reported.chain(last_cache_size(run)).fold(0.0, f64::max);
    (last > 0.0).then_some(IN_MEMORY_FROM_WRITES * last)
}
