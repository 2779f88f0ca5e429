//! How far a run can be trusted: within what fraction the next run's values are to be expected, as a grade with its reasons.

use hostmark_model::{
    CaseRecord, Doubt, Estimate, FlagKind, Grade, Repetition, Run, SelfChecked, Text, Trust, counted,
};
use hostmark_stats::repetition;

use crate::escape::visible;
use crate::findings::host::{limits_unseen, yields};
use crate::findings::steal::stolen_share;
use crate::format::percent;
use crate::neighbours::{SHARED, of_rounds, slowed};
use crate::repetition::least_deviation;

/// So many of a run's values are to lie within what is promised.
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
    let differences: Vec<f64> = measured().filter_map(difference).collect();
    measured().next()?;
    let within = repetition::within(&differences, PROMISED);
    let runs = measured().filter_map(|estimate| estimate.repetition).map(|known| known.runs).max().unwrap_or(0);
    let others = others(run);
    let doubts = doubts(run, others);
    // What disturbed a run was not in those that tell how far runs lie apart: competition that goes on all the time moves all
    // values alike, and scatters none.
    let disturbed = match doubts.is_empty() {
        _ if others >= MOST_DISTURBED => Grade::F,
        _ if others >= WITHIN_C => Grade::D,
        _ if others >= WITHIN_B => Grade::C,
        true => Grade::A,
        false => Grade::B,
    };
    let grade = of_within(within).max(disturbed);
    Some(Trust { grade, within, runs, doubts, self_check: None })
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

/// The same, knowing what `hostmark self-check` found on the host: where a known value came back wrong, others are orders of magnitude at
/// best.
pub fn with_self_check(mut trust: Trust, found: Option<SelfChecked>) -> Trust {
    if let Some(found) = found.as_ref().filter(|found| found.failed > 0) {
        let (failed, day) = (found.failed, found.day());
        let text = Text {
            en: format!(
                "hostmark self-check found {} wrong on this host, {day}",
                counted(failed as usize, "known value")
            ),
            zh: format!("hostmark self-check 于 {day} 在本机发现 {failed} 个已知值有误"),
        };
        let cure = term!("run it again, and read which").to_owned_text();
        trust.doubts.insert(0, Doubt { text, cure });
        trust.grade = trust.grade.max(Grade::D);
    }
    Trust { self_check: found, ..trust }
}

/// The standard deviation of the logarithm of another run's value over this one's. What runs differ by has what one run does not
/// know in it, where runs tell it. Else the values' own intervals tell it, each its own: nine of ten of them are asked for, and what
/// their kind has in common widens each but not the nine.
fn difference(estimate: &Estimate) -> Option<f64> {
    let Repetition { deviation, runs, .. } = estimate.repetition?;
    let (low, high) = estimate.of_this_run()?;
    let own = (high / low).ln() / 2.0 / HALF_IN_DEVIATIONS;
    let of_one = if runs > 0 { deviation } else { least_deviation(estimate).hypot(own) };
    Some(of_one * std::f64::consts::SQRT_2).filter(|sd| sd.is_finite())
}

/// The share of the CPUs' time that others had in this run's rounds, as far as it is known.
fn others(run: &Run) -> f64 {
    of_rounds(run.cases.iter().filter_map(CaseRecord::measured).flat_map(|measured| &measured.rounds)).unwrap_or(0.0)
}

/// Who brought a doubt about. What a reader can end comes first, and what is merely seen of a cause last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DoubtSource {
    /// How the run was asked for, or ended.
    Run,
    /// This system: its processes, its quotas, its settings.
    System,
    /// Whoever else the hardware serves.
    Neighbours,
    /// Values that disagree, whatever the cause.
    Unknown,
}

/// What makes it less trustworthy, in which others had this share of the CPUs' time: by its cause, and the worst of each first.
fn doubts(run: &Run, others: f64) -> Vec<Doubt> {
    let mut all: Vec<(DoubtSource, f64, Doubt)> = Vec::new();
    let mut doubt = |cause: DoubtSource, weight: f64, en: String, zh: String, cure: Text| {
        let (en_cure, zh_cure) = (cure.en.to_owned(), cure.zh.to_owned());
        all.push((cause, weight, Doubt { text: Text { en, zh }, cure: Text { en: en_cure, zh: zh_cure } }));
    };
    let measured: Vec<_> = run.cases.iter().filter_map(CaseRecord::measured).collect();
    let count = measured.len().max(1) as f64;
    let share_of = |is_so: &dyn Fn(&hostmark_model::Measured) -> bool| {
        measured.iter().filter(|measured| is_so(measured)).count() as f64 / count
    };
    let flagged = |kind: FlagKind| share_of(&|measured| measured.flags.iter().any(|flag| flag.kind == kind));
    let in_percent = |share: f64| percent(share);

    if run.interrupted.is_some() {
        doubt(
            DoubtSource::Run,
            1.0,
            "the run was stopped before its end".into(),
            "运行在结束前被停止".into(),
            term!("continue it, or run it again"),
        );
    }
    let unsteady = share_of(&|measured| measured.estimate.is_unsteady() && measured.estimate.agreement.is_none());
    if unsteady >= NOTABLE {
        doubt(
            DoubtSource::Unknown,
            unsteady,
            format!("rounds of {} of the values disagree by over 25 %", in_percent(unsteady)),
            format!("{} 的数值各轮相差超过 25%", in_percent(unsteady)),
            term!("rerun when the machine is idle"),
        );
    }
    let few = share_of(&|measured| {
        measured.estimate.agreement.is_none()
            && measured.estimate.rounds > 0
            && measured.estimate.of_this_run().is_none()
    });
    if few >= NOTABLE {
        doubt(
            DoubtSource::Run,
            few,
            format!("{} of the values have fewer than five rounds", in_percent(few)),
            format!("{} 的数值不足五轮", in_percent(few)),
            term!("take a longer profile (--profile standard), or fewer cases"),
        );
    }
    let contended = flagged(FlagKind::Contended);
    if others.max(contended) >= NOTABLE {
        let (en, zh) = match others >= NOTABLE {
            true => (
                format!("other processes used {} of the CPUs' time", in_percent(others)),
                format!("其他进程占用了 {} 的 CPU 时间", in_percent(others)),
            ),
            false => (
                format!("other processes used the CPUs of {} of the cases", in_percent(contended)),
                format!("{} 的用例有其他进程占用其 CPU", in_percent(contended)),
            ),
        };
        let cure = term!("stop them, or choose other CPUs (--cpu)");
        doubt(DoubtSource::System, others.max(contended), en, zh, cure);
    }
    let throttled = flagged(FlagKind::Throttled);
    if throttled > 0.0 {
        doubt(
            DoubtSource::System,
            throttled.max(NOTABLE),
            format!("a CPU quota stopped hostmark in {} of the cases", in_percent(throttled)),
            format!("CPU 配额在 {} 的用例中暂停了 hostmark", in_percent(throttled)),
            term!("lift the quota of its control group while it runs"),
        );
    }
    if let Some(yields) = yields(&run.host) {
        let cure = term!("start it with chrt --other 0 and nice 0");
        doubt(DoubtSource::System, 1.0, yields.en, yields.zh, cure);
    }
    if let Some(unseen) = limits_unseen(&run.host) {
        let cure = term!("mount /sys/fs/cgroup, or measure outside");
        doubt(DoubtSource::System, NOTABLE, unseen.en, unseen.zh, cure);
    }
    let unsettled = flagged(FlagKind::Unsettled);
    if unsettled >= NOTABLE {
        doubt(
            DoubtSource::System,
            unsettled,
            format!("the core's frequency did not settle in {} of the cases", in_percent(unsettled)),
            format!("{} 的用例中核心频率未稳定", in_percent(unsettled)),
            term!("set the performance governor"),
        );
    }
    if let Some(stolen) = stolen_share(run) {
        doubt(
            DoubtSource::Neighbours,
            stolen,
            format!("the hypervisor gave {} of the CPUs' time to others", in_percent(stolen)),
            format!("宿主机把 {} 的 CPU 时间分给了其他虚拟机", in_percent(stolen)),
            term!("take an instance with CPUs of its own"),
        );
    }
    let core_shared = run.neighbours.as_ref().and_then(|neighbours| neighbours.core_shared);
    if let Some(shared) = core_shared.filter(|shared| *shared >= SHARED) {
        doubt(
            DoubtSource::Neighbours,
            shared,
            format!("a neighbour shared this physical core {} of the time", in_percent(shared)),
            format!("有 {} 的时间邻居虚拟机共用此物理核心", in_percent(shared)),
            term!("rerun later, or use an instance with dedicated cores"),
        );
    }
    if let Some((fastest, slowest)) = slowed(run) {
        let times = slowest / fastest;
        doubt(
            DoubtSource::Neighbours,
            1.0 - 1.0 / times,
            format!("the last-level cache was up to {times:.1}x slower at times: others use it"),
            format!("末级缓存有时慢到 {times:.1} 倍：邻居虚拟机在争用"),
            term!("rerun at a quieter hour"),
        );
    }
    all.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    all.into_iter().map(|(_, _, doubt)| doubt).collect()
}

/// The grade and its reasons, a line each, for the head of a report.
pub fn lines(trust: &Trust) -> Vec<Text<String>> {
    std::iter::once(graded(trust, by(trust))).chain(trust.doubts.iter().map(doubted)).collect()
}

/// The grade in a line for the answer, which has `left` more reasons elsewhere.
pub fn line(trust: &Trust, left: usize) -> Text<String> {
    let mut by = match trust.runs {
        0 => term!("estimated").to_owned_text(),
        _ => by_runs(trust),
    };
    if has_passed(trust) {
        by.en += ", self-check passed";
        by.zh += "，自检通过";
    }
    let Text { mut en, mut zh } = graded(trust, by);
    if left > 0 {
        let (noun, lead) = if left < trust.doubts.len() { ("more reason", "另有 ") } else { ("reason", "") };
        en = format!("{en}; {}: --full", counted(left, noun));
        zh = format!("{zh}；{lead}{left} 条原因：--full");
    }
    Text { en, zh }
}

fn has_passed(trust: &Trust) -> bool {
    trust.self_check.as_ref().is_some_and(SelfChecked::has_passed)
}

/// What the grade stands on, and what checked the values on this host.
fn by(trust: &Trust) -> Text<String> {
    let Text { mut en, mut zh } = by_runs(trust);
    if let Some(checked) = trust.self_check.as_ref().filter(|checked| checked.has_passed()) {
        en = format!("{en}; self-check passed on this host, {}", checked.day());
        zh = format!("{zh}；本机自检于 {} 通过", checked.day());
    }
    Text { en, zh }
}

fn by_runs(trust: &Trust) -> Text<String> {
    match trust.runs {
        0 => term!("estimated from other machines until three runs are stored here").to_owned_text(),
        runs => Text { en: format!("by {runs} earlier runs"), zh: format!("依据此前 {runs} 次运行") },
    }
}

/// The grade, and what it stands on: `TRUST B of A–F  repeat this run, and 9 of 10 values lie within ±11 % …`.
fn graded(trust: &Trust, by: Text<String>) -> Text<String> {
    let (grade, Text { en, zh }) = (trust.grade.letter(), promised(trust, by));
    Text { en: format!("TRUST {grade} of A–F  {en}"), zh: format!("可信度 {grade}（A–F）  {zh}") }
}

/// What the grade promises, and on what ground.
fn promised(trust: &Trust, by: Text<String>) -> Text<String> {
    let Some(within) = trust.within.map(percent) else {
        return term!("do not use: no value has rounds enough to tell how far another run may lie").to_owned_text();
    };
    let good_for = match trust.grade {
        Grade::A | Grade::B | Grade::C => Text { en: "", zh: "" },
        Grade::D => term!("orders of magnitude only"),
        Grade::F => term!("do not use"),
    };
    let Text { en: by, zh: by_zh } = by;
    // A run beside steady competition repeats well, and is no measure of the machine for that.
    if !good_for.en.is_empty() && trust.grade > of_within(trust.within) {
        let is_wrong = trust.self_check.as_ref().is_some_and(|found| found.failed > 0);
        let why = match is_wrong {
            true => term!("a known value came back wrong"),
            false => term!("others had the CPUs"),
        };
        return Text {
            en: format!("{}: {}; a repeat under the same conditions lies within ±{within} ({by})", good_for.en, why.en),
            zh: format!("{}：{}；相同条件下再次运行相差不超过 ±{within}（{by_zh}）", good_for.zh, why.zh),
        };
    }
    let [then, then_zh] = if good_for.en.is_empty() { [""; 2] } else { [": ", "："] };
    Text {
        en: format!("repeat this run, and 9 of 10 values lie within ±{within} ({by}){then}{}", good_for.en),
        zh: format!("再次运行，90% 的数值相差不超过 ±{within}（{by_zh}）{then_zh}{}", good_for.zh),
    }
}

/// What the grade promises, without the grade.
pub fn promise(trust: &Trust) -> Text<String> {
    promised(trust, by(trust))
}

/// A reason with what to do about it.
pub fn doubted(doubt: &Doubt) -> Text<String> {
    let Doubt { text, cure } = doubt;
    Text { en: visible(&format!("{}: {}", text.en, cure.en)), zh: visible(&format!("{}：{}", text.zh, cure.zh)) }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
