//! Rules on the CPUs: their clock, and work of several copies beside that of one alone.

use hostmark_model::{CaseRecord, HostFacts, Message, Run, Text};
use hostmark_say::say;
use hostmark_stats::descriptive::median;
use hostmark_stats::scalability::{Growth, Point, growth};

use super::evidence::{Proven, case_at, lost};
use super::host::FOLLOWING_GOVERNORS;
use super::{CLAMPED, CLOCK_LIMIT, Conclusion, DISTURBED, Demonstration, Doubt, QUOTA, Rule, YIELDS};
use crate::format::{frequency_text, number, percent, percent_number};
use crate::groups::grouped;
use crate::texts::findings as texts;
use crate::typography::COMMA;
use crate::words;

const FREQUENCY: &str = "cpu.frequency";
const ONE_THREAD: &[(&str, &str)] = &[("load", "scalar"), ("threads", "1")];
/// Less than this below the highest frequency is what heat and other cores' work take.
const BELOW_LIMIT: f64 = 0.10;

pub(super) static GOVERNOR: Rule = Rule {
    id: "cpu.governor",
    shown: Demonstration::Try("governor"),
    probes: &[FREQUENCY],
    cure: Some(texts::governor::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&CLAMPED, &CLOCK_LIMIT] },
    draw: |run| governor_below(run).into_iter().collect(),
};

fn governor_below(run: &Run) -> Option<Conclusion> {
    let cpu = &run.host.cpu;
    let governor = cpu.governor.as_deref().filter(|name| FOLLOWING_GOVERNORS.contains(name))?;
    // The driver's highest may be that of a turbo which somebody switched off.
    if cpu.turbo == Some(false) {
        return None;
    }
    let most = run.host.cpus.iter().find(|cpu| cpu.id == run.settings.cpu)?.max_hz.filter(|hz| *hz > 0.0)?;
    let case = case_at(run, FREQUENCY, ONE_THREAD)?;
    let ran = Proven::of_case(case)?;
    if ran.high >= most * (1.0 - BELOW_LIMIT) {
        return None;
    }
    let cost = lost(most, ran.value);
    let (share, [ran, most]) = (percent(cost), [ran.value, most].map(frequency_text));
    let text = texts::governor::text!(ran, share, most, governor);
    let short = texts::governor::short!(ran, share, most, governor);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

const SCALING: &str = "cpu.scaling";
/// The source that needs nothing but a core.
pub(crate) const PURE: &str = "cpu.sieve";
/// A copy must lose more than this share to be worth a word.
pub(crate) const NOTABLE: f64 = 0.10;

/// The most copies of a source that were measured at once.
struct Together<'a> {
    case: &'a CaseRecord,
    source: &'a str,
    copies: f64,
    /// Throughput together, in multiples of one alone.
    times: Proven,
}

/// Largest number of copies of each source, in the order of the run.
fn most_copies(run: &Run) -> Vec<Together<'_>> {
    let all = run.cases.iter().filter(|case| case.probe == SCALING).filter_map(together);
    let by_source = grouped(all.map(|together| (together.source, together)));
    let more = |one: &Together, other: &Together| one.copies.total_cmp(&other.copies);
    // Of several as large, the first.
    by_source.into_iter().filter_map(|(_, all)| all.into_iter().rev().max_by(more)).collect()
}

fn together(case: &CaseRecord) -> Option<Together<'_>> {
    let copies: f64 = case.params.get("copies")?.parse().ok()?;
    let source = case.params.get("source")?;
    (copies > 1.0).then_some(Together { case, source, copies, times: Proven::of_case(case)? })
}

/// Throughput of several copies of a source, in multiples of one alone: one point for each number of copies.
pub(crate) fn curve_of_source(run: &Run, source: &str) -> Vec<Point> {
    let all = run.cases.iter().filter(|case| case.probe == SCALING).filter_map(together);
    let of_source = all.filter(|together| together.source == source);
    let point = |together: Together| Point { parties: together.copies, throughput: together.times.value };
    std::iter::once(Point { parties: 1.0, throughput: 1.0 }).chain(of_source.map(point)).collect()
}

/// The sources that were measured with several copies, in the order of the run.
pub(crate) fn sources(run: &Run) -> Vec<&str> {
    let mut sources = Vec::new();
    for together in run.cases.iter().filter(|case| case.probe == SCALING).filter_map(together) {
        if !sources.contains(&together.source) {
            sources.push(together.source);
        }
    }
    sources
}

/// The cores among the usable CPUs, as the host tells its siblings; none where it has no CPU.
pub(crate) fn usable_cores(host: &HostFacts) -> Option<usize> {
    let usable = host.usable_cpus();
    let is_first = |id: &&usize| {
        let cpu = host.cpus.iter().find(|cpu| cpu.id == **id);
        cpu.is_none_or(|cpu| cpu.siblings.iter().all(|other| other >= *id || !usable.contains(other)))
    };
    let cores = usable.iter().filter(is_first).count();
    (cores > 0).then_some(cores)
}

/// Two threads of one core do at most this share of what two cores do; a virtual CPU that had a core of its own did more.
const OF_ONE_CORE: f64 = 0.8;

/// A line takes at most so long between threads of one core, and more between cores: published measurements have 5 to 10 ns and 18 or more.
const WITHIN_CORE_NS: f64 = 12.0;
const BETWEEN_CORES_NS: f64 = 15.0;

/// Fastest and slowest round of a line's way between the two usable CPUs, ns; none where there are more CPUs or it was not measured.
fn transfer(run: &Run) -> Option<(f64, f64)> {
    let is_one =
        |case: &&CaseRecord| case.probe == "cpu.core_to_core" && case.params.get("method") == Some("compare_and_swap");
    let measured = run.cases.iter().filter(is_one).find_map(CaseRecord::measured);
    let measured = measured.filter(|_| run.host.usable_cpus().len() == 2)?;
    let rounds: Vec<f64> = measured.samples.iter().filter_map(|round| median(round)).collect();
    Some((rounds.iter().copied().reduce(f64::min)?, rounds.iter().copied().reduce(f64::max)?))
}

/// Says whether the usable CPUs are cores or threads of a core, whatever the host tells: by what they do together in multiples of one
/// alone, and of two CPUs by the time that a line takes between them. None where neither tells: other programs, a quota or a slower clock
/// may take as much as a core has.
pub fn cores_by_measurement(run: &Run) -> Option<Message> {
    let (host, usable) = (&run.host, run.host.usable_cpus().len());
    let (times, line) = (times_together(run), transfer(run));
    let is_guest = host.virtualization.hypervisor.is_some();
    let told = usable_cores(host).filter(|cores| *cores < usable);
    let known = told.or((is_guest && usable == 2).then_some(1));
    let by_line = line.and_then(|(least, most)| match (least, most) {
        (_, most) if most <= WITHIN_CORE_NS => known.map(|_| true),
        (least, _) if least >= BETWEEN_CORES_NS => Some(false),
        _ => None,
    });
    let line_changes = line.is_some_and(|(least, most)| least <= WITHIN_CORE_NS && most >= BETWEEN_CORES_NS);
    let scaled = times.map(|[value, low, high, ..]| [value, low, high].map(number));
    let by_times = times.and_then(|[value, _, _, least, most]| {
        let copies = usable as f64;
        let are_cores = least > OF_ONE_CORE && value / copies >= 1.0 - NOTABLE;
        let are_threads = most < OF_ONE_CORE && slower_clock(run, copies).is_none() && known.is_some();
        (are_cores || are_threads).then_some(are_threads)
    });
    let times_change = times.is_some_and(|[.., least, most]| least < OF_ONE_CORE && most >= 1.0 - NOTABLE);
    if is_guest && (line_changes || times_change || by_times.zip(by_line).is_some_and(|(one, other)| one != other)) {
        let times = scaled.map(|[_, low, high]| say!("{low} to {high}x one"));
        let why = Message::joined(times.into_iter().chain(line.map(apart)), COMMA);
        return Some(say!("at times on one core ({why})"));
    }
    let times = scaled.filter(|_| by_times.is_some()).map(|[value, ..]| say!("{value}x"));
    // One of them: the line of the machine has 80 columns.
    let why = times.or(line.filter(|_| by_line.is_some()).map(apart))?;
    Some(match by_times.or(by_line)? {
        true => say!("threads of {cores:core} ({why})", cores = known?),
        false => say!("{usable:core} ({why})"),
    })
}

/// Time of a line between two CPUs by its fastest and slowest round.
fn apart((least, most): (f64, f64)) -> Message {
    match [least, most].map(|ns| format!("{ns:.0}")) {
        [one, other] if one == other => say!("{one} ns apart"),
        [least, most] => say!("{least} to {most} ns apart"),
    }
}

/// Work of all usable CPUs in multiples of one alone with its interval, and the least and most share of a round; none where something else
/// than cores set it.
fn times_together(run: &Run) -> Option<[f64; 5]> {
    let (host, usable) = (&run.host, run.host.usable_cpus().len());
    let all = most_copies(run);
    let sieve = all.iter().find(|together| together.source == PURE && together.copies == usable as f64)?;
    let measured = sieve.case.measured()?;
    let is_spoiled = measured.flags.iter().any(|flag| DISTURBED.contains(&flag.kind));
    // More than all copies are worth is one that was alone at a bad moment.
    let is_beyond = sieve.times.value > sieve.copies * (1.0 + NOTABLE);
    if is_spoiled || is_beyond || host.limits.cpu_quota.is_some_and(|quota| quota < sieve.copies) {
        return None;
    }
    let shares: Vec<f64> = measured.samples.iter().filter_map(|round| Some(median(round)? / sieve.copies)).collect();
    let (least, most) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
    Some([sieve.times.value, sieve.times.low, sieve.times.high, least, most])
}

pub(super) static SCALING_FALLS: Rule = Rule {
    id: "cpu.scaling_falls",
    shown: Demonstration::Run,
    probes: &[SCALING],
    cure: Some(texts::scaling::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw: scaling_falls,
};

/// Resource that the copies of a source share.
const SHARED: &[(&str, Text)] = &[
    ("syscall.null", term!("little but the cores' clock")),
    ("memory.latency", term!("the last-level cache and the memory channels")),
    ("process.fork_exit", term!("the kernel's locks of memory and processes")),
    ("ipc.bandwidth", term!("caches and memory")),
    ("net.round_trip", term!("the loopback device and its soft interrupts")),
    ("net.tcp_connect", term!("the tables of sockets and ports")),
];

fn scaling_falls(run: &Run) -> Vec<Conclusion> {
    let all = most_copies(run);
    let pure = all.iter().find(|together| together.source == PURE);
    let mut found: Vec<(f64, &Together)> = all
        .iter()
        .filter(|together| together.source != PURE)
        .filter_map(|together| Some((hindered(together, pure)?, together)))
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some((cost, worst)) = found.first() else { return Vec::new() };
    let part = |together: &Together| {
        let (source, times, copies) = (together.source, number(together.times.value), together.copies);
        let shared = SHARED.iter().find(|(name, _)| *name == source).map(|(_, shared)| *shared);
        match shared {
            Some(shared) => say!("{source} {times} of {copies} ({shared})"),
            None => say!("{source} {times} of {copies}"),
        }
    };
    let parts = words(Message::joined(found.iter().map(|(_, together)| part(together)), COMMA));
    let law = law(run, worst.source).unwrap_or_default();
    let text = texts::scaling::text!(parts, law);
    let (source, times, copies) = (worst.source, number(worst.times.value), worst.copies);
    let short = texts::scaling::short!(source, copies, times);
    vec![Conclusion {
        short,
        text,
        cases: found.iter().map(|(_, together)| together.case.id.clone()).collect(),
        cost: *cost,
    }]
}

/// Law of a source's growth with its copies: the part that waits for one at a time, the best number, and the first with less.
fn law(run: &Run, source: &str) -> Option<Text<String>> {
    let (points, cores) = (curve_of_source(run, source), usable_cores(&run.host).map(|cores| cores as f64));
    let Some(Growth::Smooth { law: Some(law), knee, falls_from, .. }) = growth(&points, cores, run.settings.seed)
    else {
        return None;
    };
    let [value, low, high] = [law.contention.value, law.contention.low, law.contention.high].map(percent_number);
    let mut text = vec![say!(
        " By the universal scalability law {value} % of the work of {source} can be done by one copy at a time only ({low} to {high} %)"
    )];
    if let Some(peak) = law.peak(knee) {
        text.push(say!("; {peak:.0} copies would do most"));
    }
    if let Some(copies) = falls_from {
        text.push(say!("; {copies} do less than fewer did"));
    }
    text.push(say!("."));
    Some(words(Message::joined(text, "")))
}

/// The proven share that each copy loses beyond pure computation with as many; none without a figure of pure computation.
fn hindered(together: &Together, pure: Option<&Together>) -> Option<f64> {
    let pure = pure.filter(|pure| pure.copies >= together.copies)?;
    // Of fewer copies than the sieve's each has no less of a core.
    let share = |times: f64, copies: f64| (times / copies).min(1.0);
    let expected = share(pure.times.low, pure.copies);
    let is_proven = together.times.high / together.copies < expected * (1.0 - NOTABLE);
    is_proven.then(|| lost(share(pure.times.value, pure.copies), together.times.value / together.copies))
}

pub(super) static SHARED_CORES: Rule = Rule {
    id: "cpu.shared_cores",
    shown: Demonstration::Run,
    probes: &[SCALING, PURE, FREQUENCY],
    cure: Some(texts::shared_cores::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw: |run| shared_cores(run).into_iter().collect(),
};

fn shared_cores(run: &Run) -> Option<Conclusion> {
    let all = most_copies(run);
    let sieve = all.iter().find(|together| together.source == PURE)?;
    if sieve.times.high / sieve.copies >= 1.0 - NOTABLE {
        return None;
    }
    let cost = lost(sieve.copies, sieve.times.value);
    let (times, copies, share) = (number(sieve.times.value), sieve.copies, percent(cost));
    let why = reason(run, sieve);
    let text = texts::shared_cores::text!(copies, times, share, why);
    let short = texts::shared_cores::short!(copies, times, share);
    Some(Conclusion { short, text, cases: vec![sieve.case.id.clone()], cost })
}

fn reason(run: &Run, sieve: &Together) -> Text<String> {
    if let Some(cores) = usable_cores(&run.host).filter(|cores| (*cores as f64) < sieve.copies) {
        return words(say!("They are threads of {cores:core} (SMT): two threads of a core share its execution units."));
    }
    if let Some((alone, all)) = slower_clock(run, sieve.copies) {
        let [alone, all] = [alone, all].map(frequency_text);
        return texts::shared_cores::why_clock!(alone, all);
    }
    if run.host.virtualization.hypervisor.is_some() {
        return texts::shared_cores::why_guest!();
    }
    texts::shared_cores::why_unknown!()
}

/// The clock with one core busy and with all, where the second is proven lower by over half of what is worth a word.
fn slower_clock(run: &Run, copies: f64) -> Option<(f64, f64)> {
    let at = |threads: &str| Proven::at(run, FREQUENCY, &[("load", "scalar"), ("threads", threads)]);
    let (alone, all) = (at("1")?, at(&copies.to_string())?);
    (all.high < alone.low * (1.0 - NOTABLE / 2.0)).then_some((alone.value, all.value))
}
