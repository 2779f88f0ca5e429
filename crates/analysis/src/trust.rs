//! Trust in a run: the fraction within which the next run's values are expected, as a grade with its reasons.

use hostmark_model::{
    CaseRecord, Doubt, Estimate, FlagKind, Grade, Lang, Measured, Message, Repetition, Run, SelfChecked, Text, Trust,
};

use hostmark_say::say;
use hostmark_stats::interval::LEAST_ROUNDS;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::Spoken;
use crate::escape::visible;
use crate::findings::host::{limits_unseen, tracer, yields};
use crate::findings::steal::stolen_share;
use crate::format::percent;
use crate::neighbours::{SHARED, core_shared, of_rounds, slowed};
use crate::repetition::is_of_core;
use crate::typography::SEMICOLON;
use crate::words;

/// Share of a run's values that lie within the promised fraction.
const PROMISED: f64 = 0.9;
/// Within what fraction, for an A, a B, a C and a D.
const WITHIN_A: f64 = 0.05;
const WITHIN_B: f64 = 0.15;
const WITHIN_C: f64 = 0.3;
const WITHIN_D: f64 = 1.0;
/// The share of the CPUs' time from which most values are those of the competition.
const MOST_DISTURBED: f64 = 0.5;
/// The share of a run's values, of looks, or of its time from which something is a reason.
const NOTABLE: f64 = 0.05;
/// A 95 % interval is so many standard deviations wide to either side.
const HALF_IN_DEVIATIONS: f64 = 1.96;

/// The trust in a run that has values; the least where none of them says how far another run's may lie.
pub fn trust(run: &Run) -> Option<Trust> {
    if run.imported.is_some() {
        return None;
    }
    let measured = || run.cases.iter().filter_map(CaseRecord::measured).map(|measured| &measured.estimate);
    measured().next()?;
    let differences: Vec<(bool, f64)> = measured().filter_map(differences).flatten().collect();
    let near = |parts: &[bool]| {
        let of_parts = differences.iter().filter(|(is_of_core, _)| parts.contains(is_of_core));
        within(&of_parts.map(|(_, difference)| *difference).collect::<Vec<_>>(), PROMISED)
    };
    let within = near(&[true, false]);
    let runs = measured().filter_map(|estimate| estimate.repetition).map(|known| known.runs).max().unwrap_or(0);
    let others = others(run);
    let doubts = doubts(run, others);
    // Runs that tell how far runs lie apart had no such disturbance: lasting competition moves all values alike and scatters none.
    let disturbed = match doubts.is_empty() {
        _ if others >= MOST_DISTURBED => Grade::F,
        _ if others >= WITHIN_C || tracer(&run.host).is_some() => Grade::D,
        _ if others >= WITHIN_B => Grade::C,
        true => Grade::A,
        false => Grade::B,
    };
    let grade = of_within(within).max(disturbed);
    let (core, others, left_out) = (near(&[true]), near(&[false]), Vec::new());
    Some(Trust { grade, within, core, others, runs, left_out, doubts, self_check: None })
}

/// The grade of what another run is expected to be off.
fn of_within(within: Option<f64>) -> Grade {
    match within {
        Some(near) if near <= WITHIN_A => Grade::A,
        Some(near) if near <= WITHIN_B => Grade::B,
        Some(near) if near <= WITHIN_C => Grade::C,
        Some(near) if near <= WITHIN_D => Grade::D,
        _ => Grade::F,
    }
}

/// Trust, given what `hostmark self-check` found on the host: after a wrong known value, others are orders of magnitude at best.
pub fn with_self_check(mut trust: Trust, found: Option<SelfChecked>) -> Trust {
    if let Some(found) = found.as_ref().filter(|found| found.failed > 0) {
        let (failed, day) = (found.failed, found.day());
        let text = words(say!("hostmark self-check found {failed:known value} wrong on this host, {day}"));
        let cure = term!("run it again, and read which").to_owned_text();
        trust.doubts.insert(0, Doubt { text, cure });
        trust.grade = trust.grade.max(Grade::D);
    }
    Trust { self_check: found, ..trust }
}

/// Standard deviations, on logarithms, to less and to more, that hold another run's value; each with whether the core alone limits it.
fn differences(estimate: &Estimate) -> Option<[(bool, f64); 2]> {
    let (Repetition { low, high, .. }, value) = (estimate.repetition?, estimate.value());
    let sides = [value / low, high / value].map(|side| (is_of_core(estimate), side.ln() / HALF_IN_DEVIATIONS));
    sides.iter().all(|(_, sd)| sd.is_finite()).then_some(sides)
}

/// Within what fraction of this run's values the given share of another run's lie: each differs by a normal law of its own, of
/// these standard deviations of the logarithms' difference. `None` without any.
pub fn within(differences: &[f64], share: f64) -> Option<f64> {
    let law = Normal::new(0.0, 1.0).ok()?;
    if differences.is_empty() || differences.iter().any(|sd| !sd.is_finite()) {
        return None;
    }
    let coverage = |by: f64| {
        let of = |sd: &f64| if *sd > 0.0 { 2.0 * law.cdf(by / sd) - 1.0 } else { 1.0 };
        differences.iter().map(of).sum::<f64>() / differences.len() as f64
    };
    let (mut too_near, mut enough) = (0.0, differences.iter().fold(0.0, |most: f64, sd| most.max(*sd)) * 10.0);
    for _ in 0..60 {
        let middle = (too_near + enough) / 2.0;
        if coverage(middle) < share { too_near = middle } else { enough = middle }
    }
    Some(enough.exp_m1())
}

/// The share of the CPUs' time that others had in this run's rounds, as far as it is known.
fn others(run: &Run) -> f64 {
    of_rounds(run.cases.iter().filter_map(CaseRecord::measured).flat_map(|measured| &measured.rounds)).unwrap_or(0.0)
}

/// Origin of a doubt. Those that a reader can remove come first, mere observations last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DoubtSource {
    /// Options of the run, or its end.
    Run,
    /// This system: its processes, its quotas, its settings.
    System,
    /// Other users of the same hardware.
    Neighbours,
    /// Values that disagree, whatever the cause.
    Unknown,
}

/// Doubts about the run, in which others had this share of the CPUs' time: by their cause, and the worst of each first.
fn doubts(run: &Run, others: f64) -> Vec<Doubt> {
    let mut all: Vec<(DoubtSource, f64, Doubt)> = Vec::new();
    let mut doubt = |cause: DoubtSource, weight: f64, text: Message, cure: Text| {
        all.push((cause, weight, Doubt { text: words(text), cure: cure.to_owned_text() }));
    };
    let measured: Vec<_> = run.cases.iter().filter_map(CaseRecord::measured).collect();
    let count = measured.len().max(1) as f64;
    let share_of =
        |is_so: &dyn Fn(&Measured) -> bool| measured.iter().filter(|measured| is_so(measured)).count() as f64 / count;
    let flagged = |kind: FlagKind| share_of(&|measured| measured.flags.iter().any(|flag| flag.kind == kind));

    if run.interrupted.is_some() {
        doubt(DoubtSource::Run, 1.0, say!("the run was stopped before its end"), term!("continue it, or run it again"));
    }
    let unsteady = share_of(&|measured| measured.estimate.is_unsteady() && measured.estimate.agreement.is_none());
    if unsteady >= NOTABLE {
        doubt(
            DoubtSource::Unknown,
            unsteady,
            say!("rounds of {unsteady} of the values disagree by over 25 %", unsteady = percent(unsteady)),
            term!("rerun when the machine is idle"),
        );
    }
    let has_no_interval = |estimate: &Estimate| estimate.agreement.is_none() && estimate.of_this_run().is_none();
    let has_rounds = |estimate: &Estimate| estimate.rounds >= LEAST_ROUNDS as u32;
    let few = share_of(&|Measured { estimate, .. }| {
        estimate.rounds > 0 && has_no_interval(estimate) && !has_rounds(estimate)
    });
    if few >= NOTABLE {
        doubt(
            DoubtSource::Unknown,
            few,
            say!("time ran out: {few} of the values have fewer than five rounds", few = percent(few)),
            term!("run longer (--profile standard) or less (hostmark run memory)"),
        );
    }
    let few = share_of(&|Measured { estimate, .. }| has_no_interval(estimate) && has_rounds(estimate));
    if few >= NOTABLE {
        doubt(
            DoubtSource::Neighbours,
            few,
            say!("{few} of the values have undisturbed samples in fewer than five rounds", few = percent(few)),
            term!("repeat off-peak"),
        );
    }
    let contended = flagged(FlagKind::Contended);
    if others.max(contended) >= NOTABLE {
        let text = match others >= NOTABLE {
            true => say!("other processes used {others} of the CPUs' time while cases ran", others = percent(others)),
            false => {
                say!("other processes used the CPUs of {contended} of the cases", contended = percent(contended))
            }
        };
        let cure = term!("stop them, or choose other CPUs (--cpu)");
        doubt(DoubtSource::System, others.max(contended), text, cure);
    }
    let throttled = flagged(FlagKind::Throttled);
    if throttled > 0.0 {
        doubt(
            DoubtSource::System,
            throttled.max(NOTABLE),
            say!("a CPU quota stopped hostmark in {throttled} of the cases", throttled = percent(throttled)),
            term!("lift the quota of its control group while it runs"),
        );
    }
    if let Some(tracer) = tracer(&run.host) {
        doubt(
            DoubtSource::Run,
            2.0,
            say!("traced by {tracer}"),
            term!("measure without strace, gdb or another tracer"),
        );
    }
    if let Some(yields) = yields(&run.host) {
        let cure = term!("start it with chrt --other 0 and nice 0, in a group of usual weight");
        doubt(DoubtSource::System, 1.0, yields.into(), cure);
    }
    if let Some(unseen) = limits_unseen(&run.host) {
        let cure = term!("mount /sys/fs/cgroup, or measure outside");
        doubt(DoubtSource::System, NOTABLE, unseen.into(), cure);
    }
    let unsettled = flagged(FlagKind::Unsettled);
    if unsettled >= NOTABLE {
        doubt(
            DoubtSource::System,
            unsettled,
            say!("the core's frequency did not settle in {unsettled} of the cases", unsettled = percent(unsettled)),
            term!("set the performance governor"),
        );
    }
    if let Some(stolen) = stolen_share(run) {
        doubt(
            DoubtSource::Neighbours,
            stolen,
            say!("other VMs took {stolen} of the CPUs' time (steal)", stolen = percent(stolen)),
            term!("take an instance with CPUs of its own"),
        );
    }
    let core_shared = match core_shared(run) {
        Ok(shared) => (shared >= SHARED).then(|| {
            (shared, say!("another VM or thread used this core {shared} of the time", shared = percent(shared)))
        }),
        Err(is_alone) => (!is_alone && measured.iter().any(|measured| is_of_core(&measured.estimate)))
            .then(|| (NOTABLE, term!("it could not be told whether another VM or thread used this core").into())),
    };
    if let Some((weight, text)) = core_shared {
        let cure = term!("repeat off-peak, or use an instance with dedicated cores");
        doubt(DoubtSource::Neighbours, weight, text, cure);
    }
    if let Some((fastest, slowest)) = slowed(run) {
        let times = slowest / fastest;
        doubt(
            DoubtSource::Neighbours,
            1.0 - 1.0 / times,
            say!("L3 up to {times:.1}x slower at times"),
            term!("repeat off-peak"),
        );
    }
    // What a tracer does is no neighbour's fault, nor another program's.
    if tracer(&run.host).is_some() {
        all.retain(|(source, ..)| *source == DoubtSource::Run);
    }
    all.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    all.into_iter().map(|(_, _, doubt)| doubt).collect()
}

/// The grade and its reasons, a line each, for the head of a report.
pub fn lines(trust: &Trust) -> Vec<Text<String>> {
    std::iter::once(graded(trust, promised(trust, Some(by(trust))))).chain(trust.doubts.iter().map(doubted)).collect()
}

/// The grade in a line for the first screen: `TRUST C   core figures repeat within 8 %, the rest within 30 %`.
pub fn line(trust: &Trust) -> Text<String> {
    let is_kept = trust.grade == Grade::F || trust.grade > of_within(trust.within);
    let says = if is_kept { promised(trust, None) } else { repeats(trust) };
    graded(trust, says)
}

/// The first of the reasons why a grade is no better, in a line.
pub fn why(trust: &Trust, count: usize) -> Option<Message> {
    let reasons = trust.doubts.iter().take(count).map(|doubt| Message::from(&doubt.text));
    let reasons = Message::joined(reasons, SEMICOLON);
    match trust.doubts.len().saturating_sub(count) {
        _ if reasons.is_empty() => None,
        0 => Some(say!("why: {reasons}")),
        left => Some(say!("why: {reasons}; {left} more: --full")),
    }
}

/// Basis of the grade, and the self-check on this host.
fn by(trust: &Trust) -> Message {
    let by = by_runs(trust);
    match trust.self_check.as_ref().filter(|checked| checked.has_passed()) {
        Some(checked) => say!("{by}; self-check passed on this host, {day}", day = checked.day()),
        None => by,
    }
}

fn by_runs(trust: &Trust) -> Message {
    match trust.runs {
        0 => term!("estimated from other machines until three runs are stored here").into(),
        runs => match &trust.left_out[..] {
            [] => say!("by {runs} earlier runs"),
            [one] => say!("by {runs} earlier runs, without outliers of {one}"),
            [first, others @ ..] => {
                say!("by {runs} earlier runs, without outliers of {first} and {count:other}", count = others.len())
            }
        },
    }
}

fn graded(trust: &Trust, promised: Message) -> Text<String> {
    let grade = trust.grade.letter();
    // The spaces stay between them only where the promise is a plain text.
    let line = |lang| say!("TRUST {grade}   {promised}", promised = promised.get(lang)).get(lang);
    Text { en: line(Lang::En), zh: line(Lang::Zh) }
}

/// Width of a promise. A width beyond a doubling is none.
fn within_or_not(fraction: f64) -> Message {
    match fraction <= WITHIN_D {
        true => say!("within {width}", width = percent(fraction)),
        false => term!("not within a factor of 2").into(),
    }
}

/// Range in which nine of ten figures of another run lie.
fn repeats(trust: &Trust) -> Message {
    match (trust.core, trust.others) {
        (Some(core), Some(others)) => {
            let [core_grade, others_grade] = [core, others].map(|within| of_within(Some(within)).letter());
            let [core, others] = [core, others].map(within_or_not);
            say!("core figures repeat {core} ({core_grade}), the rest {others} ({others_grade})")
        }
        (one, other) => {
            let within = one.or(other).or(trust.within).map(within_or_not).unwrap_or_default();
            say!("figures repeat {within}")
        }
    }
}

/// Promise of the grade, with its basis where it is to have one.
fn promised(trust: &Trust, by: Option<Message>) -> Message {
    let Some(within) = trust.within else {
        return term!("do not use: too few rounds to say how far a repeat may differ").into();
    };
    let with_basis = |says: Message| match &by {
        Some(by) => say!("{says}; {by}"),
        None => says,
    };
    let near = repeats(trust);
    let good_for = match trust.grade {
        Grade::A | Grade::B | Grade::C => return with_basis(near),
        Grade::D => term!("large differences only"),
        Grade::F => term!("do not use"),
    };
    // A run beside steady competition repeats well, and is no measure of the machine for that.
    if trust.grade > of_within(trust.within) {
        let is_wrong = trust.self_check.as_ref().is_some_and(|found| found.failed > 0);
        let why = match is_wrong {
            true => term!("a known value came back wrong"),
            false => term!("other tasks or a quota took the CPUs"),
        };
        let within = within_or_not(within);
        return with_basis(say!("{good_for}: {why}; repeats {within}"));
    }
    with_basis(say!("{good_for}: {near}"))
}

/// Promise of the grade, without the grade.
pub fn promise(trust: &Trust) -> Text<String> {
    words(promised(trust, Some(by(trust))))
}

/// A reason with what to do about it.
pub fn doubted(doubt: &Doubt) -> Text<String> {
    let Doubt { text, cure } = doubt;
    let Text { en, zh } = words(say!("{text}: {cure}"));
    Text { en: visible(&en), zh: visible(&zh) }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
