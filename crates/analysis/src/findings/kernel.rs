//! Rules on system calls, clocks, timers, pipes and the other costs of the kernel.

use hostmark_model::{Audit, CaseRecord, Message, Run, Text, size_text};
use hostmark_say::say;

use super::evidence::{Proven, case_at, lost};
use super::host::named_mitigations;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, TRACED, WRONG, YIELDS};
use crate::curve::{CurvePoint, curve};
use crate::format::{number, percent, rate_text, time_text};
use crate::overhead::{ClaimVerdict, LayerConclusion, conclusions};
use crate::texts::findings as texts;
use crate::typography::COMMA;
use crate::words;

const NULL: &str = "syscall.null";
/// Longest null call without mitigations, both mode switches and the kernel's own path: 100 to 200 cycles on x86 since 2015.
const HARDWARE_CYCLES: f64 = 200.0;
/// More would be a list that nobody reads.
const MOST_NAMED: usize = 4;

pub(super) static MITIGATIONS: Rule = Rule {
    id: "syscall.mitigations",
    shown: Demonstration::Explain("syscall.null"),
    probes: &[NULL],
    cure: Some(texts::mitigations::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| mitigations(run).into_iter().collect(),
};

fn mitigations(run: &Run) -> Option<Conclusion> {
    // What the instruction needs is known of this architecture alone.
    if run.host.cpu.architecture != "x86_64" {
        return None;
    }
    let mut named = named_mitigations(&run.host);
    if named.is_empty() {
        return None;
    }
    let case = case_at(run, NULL, &[("copies", "1")])?;
    let (cycles, took) = (Proven::also(case, "cycles")?, Proven::of_case(case)?);
    if cycles.low <= HARDWARE_CYCLES {
        return None;
    }
    let cost = lost(cycles.value, HARDWARE_CYCLES);
    if named.len() > MOST_NAMED {
        named.truncate(MOST_NAMED);
        named.push("…".to_owned());
    }
    // What else every call passes.
    let is_filtered = run.host.limits.seccomp.as_deref() == Some("filter");
    let is_audited = run.host.kernel.audit == Some(Audit::On);
    let [filter, guards] = match (is_filtered, is_audited) {
        (true, true) => [term!(", a seccomp filter and audit"), term!("mitigations, seccomp and audit")],
        (true, false) => [term!(", and a seccomp filter"), term!("mitigations and seccomp")],
        (false, true) => [term!(", and audit"), term!("mitigations and audit")],
        (false, false) => [Text::default(), term!("CPU vulnerability mitigations")],
    };
    let [took, more] = [took.value, took.value * cost].map(time_text);
    let (share, spent) = (percent(cost), format!("{:.0}", cycles.value));
    let text =
        texts::mitigations::text!(took, spent, more, share, named = words(Message::joined(named, COMMA)), filter);
    let short = texts::mitigations::short!(took, more, share, guards);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

const GETPID: &str = "syscall.getpid";
/// A call and a return that the core predicts take one or two of the hundred nanoseconds of a call.
const PREDICTED: f64 = 0.1;

pub(super) static SLOW_RETURN: Rule = Rule {
    id: "syscall.slow_return",
    shown: Demonstration::Explain(GETPID),
    probes: &[GETPID],
    cure: Some(texts::slow_return::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| slow_return(run).into_iter().collect(),
};

fn slow_return(run: &Run) -> Option<Conclusion> {
    let case = |way| case_at(run, GETPID, &[("way", way)]);
    let (call, bare) = (case("syscall")?, case("bare")?);
    let (returning, instruction) = (Proven::of_case(call)?, Proven::of_case(bare)?);
    let cost = lost(returning.value, instruction.value);
    if cost <= PREDICTED || lost(returning.low, instruction.high) <= 0.0 {
        return None;
    }
    let [took, without, more] =
        [returning.value, instruction.value, returning.value - instruction.value].map(time_text);
    let share = percent(cost);
    let named = named_mitigations(&run.host);
    let guards = match named.is_empty() {
        true => Default::default(),
        false => words(say!(" Mitigations in force: {named}.", named = Message::joined(named, COMMA))),
    };
    let text = texts::slow_return::text!(took, without, more, share, guards);
    let short = texts::slow_return::short!(more, share, took);
    Some(Conclusion { short, text, cases: vec![call.id.clone(), bare.id.clone()], cost })
}

const READ: &str = "clock.read";
/// A reading that the vDSO answers costs a fraction of a system call; one that it hands on costs the whole call and more.
const LIKE_A_CALL: f64 = 0.75;
/// No processor takes this long to read its counter; an exit to the hypervisor takes longer. ns
const INTERCEPTED_NS: f64 = 500.0;
/// Usual cost of a reading where nothing is wrong, ns.
const USUAL_READ_NS: f64 = 25.0;

pub(super) static CLOCK_READ: Rule = Rule {
    id: "clock.slow_read",
    shown: Demonstration::Explain("clock.read"),
    probes: &[READ],
    cure: Some(texts::clock_read::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| [read_by_system_call(run), intercepted_read(run)].into_iter().flatten().collect(),
};

fn reading(run: &Run, source: &str) -> Option<(String, Proven)> {
    let case = case_at(run, READ, &[("source", source)])?;
    Some((case.id.clone(), Proven::of_case(case)?))
}

fn read_by_system_call(run: &Run) -> Option<Conclusion> {
    let ((case, monotonic), (call, whole)) = (reading(run, "monotonic")?, reading(run, "syscall")?);
    if monotonic.low <= LIKE_A_CALL * whole.high {
        return None;
    }
    let counter = reading(run, "tsc").map(|(_, counter)| counter.value).filter(|ns| *ns < monotonic.value);
    let source = run.host.kernel.clock_source.as_deref();
    let source = match source {
        Some(source) => words(say!(" (clock source {source})")),
        None => Default::default(),
    };
    let [costs, call_costs] = [monotonic.value, whole.value].map(time_text);
    let text = texts::clock_read::system_call_text!(costs, call_costs, source);
    let short = texts::clock_read::system_call_short!(costs, call_costs);
    let cost = lost(monotonic.value, counter.unwrap_or(USUAL_READ_NS));
    Some(Conclusion { short, text, cases: vec![case, call], cost })
}

fn intercepted_read(run: &Run) -> Option<Conclusion> {
    let (case, counter) = reading(run, "tsc").filter(|(_, counter)| counter.low > INTERCEPTED_NS)?;
    let costs = time_text(counter.value);
    let text = texts::clock_read::intercepted_text!(costs);
    let short = texts::clock_read::intercepted_short!(costs);
    Some(Conclusion { short, text, cases: vec![case], cost: lost(counter.value, USUAL_READ_NS) })
}

const SLEEP: &str = "clock.sleep";
/// The way that has no slack, and the delay asked for, ns.
const PRECISE_SLEEP: &[(&str, &str)] = &[("way", "timerfd"), ("delay_us", "100")];
const ASKED_NS: f64 = 100e3;
/// Deep idle states and a hypervisor's wake-up take up to 100 µs; twice that is another matter. ns
const LATE_NS: f64 = 200e3;
/// The tick of a kernel without high-resolution timers is 1, 4 or 10 ms; half of the shortest is their least delay. ns
const TICK_NS: f64 = 450e3;
/// Usual latency on an idle server, ns.
const USUAL_LATE_NS: f64 = 10e3;

pub(super) static TIMERS: Rule = Rule {
    id: "clock.coarse_timers",
    shown: Demonstration::Explain("clock.sleep"),
    probes: &[SLEEP],
    cure: Some(texts::timers::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw: |run| coarse_timers(run).into_iter().collect(),
};

fn coarse_timers(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, SLEEP, PRECISE_SLEEP)?;
    let late = Proven::of_case(case).filter(|late| late.low > LATE_NS)?;
    let why = match (late.value >= TICK_NS, run.host.virtualization.hypervisor.is_some()) {
        (true, false) => texts::timers::why_tick!(),
        (true, true) => texts::timers::why_tick_or_guest!(),
        (false, true) => texts::timers::why_guest!(),
        (false, false) => texts::timers::why_idle!(),
    };
    let text_ns = time_text(late.value);
    let text = texts::timers::text!(text_ns, why);
    let cost = lost(ASKED_NS + late.value, ASKED_NS + USUAL_LATE_NS);
    let short = texts::timers::short!(text_ns);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

const ROUND_TRIP: &str = "ipc.round_trip";
const SAME_CPU: &str = "same_cpu";
const PLACEMENT: &str = "cpus";
/// Waking a sleeping CPU by an interrupt takes two to four times a switch. Beyond that something else is in the way.
const FAR_SLOWER: f64 = 5.0;

pub(super) static ACROSS_CPUS: Rule = Rule {
    id: "ipc.across_cpus",
    shown: Demonstration::Try("idle-poll"),
    probes: &[ROUND_TRIP],
    cure: Some(texts::across_cpus::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw: |run| across_cpus(run).into_iter().collect(),
};

fn across_cpus(run: &Run) -> Option<Conclusion> {
    let placed = |case: &&CaseRecord| case.probe == ROUND_TRIP && case.params.get("by") == Some("pipe");
    let place = |case: &CaseRecord| case.params.get(PLACEMENT).unwrap_or_default().to_owned();
    let known = |case: &'_ CaseRecord| Some((case.id.clone(), place(case), Proven::of_case(case)?));
    let all: Vec<(String, String, Proven)> = run.cases.iter().filter(placed).filter_map(known).collect();
    let (here_id, _, here) = all.iter().find(|(_, at, _)| at == SAME_CPU)?;
    // The nearest of the others, by what it takes: what is far is slow by itself.
    let others = all.iter().filter(|(_, at, _)| at != SAME_CPU && at != "free");
    let (id, _, across) = others.min_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    if across.low < FAR_SLOWER * here.high {
        return None;
    }
    let times = number(across.value / here.value);
    let [near, far] = [here, across].map(|proven| time_text(proven.value));
    let why = match run.host.virtualization.hypervisor.is_some() {
        true => texts::across_cpus::why_guest!(),
        false => texts::across_cpus::why_host!(),
    };
    let text = texts::across_cpus::text!(far, near, times, why);
    let short = texts::across_cpus::short!(far, near, times);
    Some(Conclusion { short, text, cases: vec![id.clone(), here_id.clone()], cost: lost(across.value, here.value) })
}

const PIPE_BANDWIDTH: &str = "ipc.bandwidth";
/// Note of the probe on the capacity of its pipe.
const CAPACITY: &str = "capacity_bytes";
/// Least speedup of the best message that fits over the first that does not.
const BEND: f64 = 1.1;

pub(super) static PIPE_CAPACITY: Rule = Rule {
    id: "ipc.pipe_capacity",
    shown: Demonstration::Try("pipe-size"),
    probes: &[PIPE_BANDWIDTH],
    cure: Some(texts::pipe_capacity::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| pipe_capacity(run).into_iter().collect(),
};

fn pipe_capacity(run: &Run) -> Option<Conclusion> {
    let points = curve(run, PIPE_BANDWIDTH, "message", &[]);
    let capacity: u64 = points.iter().find_map(|point| point.case.measured()?.notes.get(CAPACITY)?.parse().ok())?;
    let (fitting, beyond): (Vec<CurvePoint>, Vec<CurvePoint>) = points.iter().partition(|point| point.at <= capacity);
    let value_of = |point: &&CurvePoint| point.estimate.value();
    let best = fitting.iter().max_by(|one, other| value_of(one).total_cmp(&value_of(other)))?;
    let first = beyond.first()?;
    let fastest = beyond.iter().max_by(|one, other| value_of(one).total_cmp(&value_of(other)))?;
    // The first is proven slower, and none that is larger makes up for it.
    if !best.is_above(first, BEND) || value_of(&fastest) >= value_of(&best) {
        return None;
    }
    let factor = number(value_of(&best) / value_of(&first));
    let [most, falls, later] = [best, first, fastest].map(|point| rate_text(value_of(&point)));
    let [fits, over, largest] = [best, first, fastest].map(|point| size_text(point.at));
    let holds = size_text(capacity);
    let rest = match beyond.len() {
        1 => Default::default(),
        _ => words(say!(" No larger message gets over {later} (at {largest}).")),
    };
    let text = texts::pipe_capacity::text!(holds, most, fits, falls, over, factor, rest);
    let short = texts::pipe_capacity::short!(most, fits, falls, over, holds);
    let cost = lost(value_of(&best), value_of(&first));
    Some(Conclusion { short, text, cases: vec![best.case.id.clone(), first.case.id.clone()], cost })
}

pub(super) static LAYERS: Rule = Rule {
    id: "kernel.layers",
    shown: Demonstration::Run,
    probes: &[
        "file.kernel_block",
        "file.block",
        "cpu.kernel_sieve",
        "cpu.sieve",
        "memory.kernel_random_access",
        "memory.random_access",
    ],
    cure: None,
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw: |run| conclusions(run).into_iter().filter_map(proven_claim).collect(),
};

/// Finding of a proven or refuted claim; an open one is no finding.
fn proven_claim(claim: LayerConclusion) -> Option<Conclusion> {
    let text = match claim.verdict {
        ClaimVerdict::So => claim.text,
        ClaimVerdict::NotSo => say!("Not so here: {claim}", claim = claim.text),
        ClaimVerdict::Unknown | ClaimVerdict::Needs => return None,
    };
    Some(Conclusion { short: words(claim.short?), text: words(text), cases: claim.cases, cost: claim.cost })
}

const EXIT: &str = "virt.exit";
/// The loop around an exit: a few instructions.
const AROUND: &str = "overhead";
/// A CPU takes a few ns for the loop, one that is slow or shared some ten; whoever interprets it takes hundreds.
const MOST_AROUND_NS: f64 = 50.0;
/// Note of the cases on where a cause is handled.
const HANDLED_IN: (&str, &str) = ("handled_in", "kernel");

pub(super) static INTERPRETED_GUEST: Rule = Rule {
    id: "virt.interpreted",
    shown: Demonstration::Explain("virt.exit"),
    probes: &[EXIT],
    cure: Some(texts::interpreted_guest::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: |run| interpreted_guest(run).into_iter().collect(),
};

fn interpreted_guest(run: &Run) -> Option<Conclusion> {
    let is_in_kernel = |case: &&CaseRecord| {
        let note = case.measured().and_then(|measured| measured.notes.get(HANDLED_IN.0));
        note.is_some_and(|note| note == HANDLED_IN.1)
    };
    let of_probe = run.cases.iter().filter(|case| case.probe == EXIT).filter(is_in_kernel);
    let slow: Vec<(&CaseRecord, f64)> = of_probe
        .filter_map(|case| Some((case, Proven::also(case, AROUND)?)))
        .filter(|(_, around)| around.low > MOST_AROUND_NS)
        .map(|(case, around)| (case, around.value))
        .collect();
    let least = slow.iter().map(|(_, ns)| *ns).reduce(f64::min)?;
    let least = time_text(least);
    let names: Vec<&str> = slow.iter().filter_map(|(case, _)| case.params.get("cause")).collect();
    let (en, zh) = (names.join(", "), names.join("、"));
    let text = texts::interpreted_guest::text!(least, causes = Text { en, zh });
    let short = texts::interpreted_guest::short!(least);
    Some(Conclusion { short, text, cases: slow.iter().map(|(case, _)| case.id.clone()).collect(), cost: 0.0 })
}
