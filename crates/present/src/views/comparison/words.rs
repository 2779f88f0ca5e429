//! The words of a comparison.

use hostmark_analysis::compare::{
    Against, CaseComparison, Evidence, GroupChange, On, ReasonKind, RunName, Side, SideValue, Test, Verdict, Without,
};
use hostmark_analysis::format::{called, estimator, in_scale, percent, scale_for};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::typography::{COLON, COMMA, SEMICOLON};
use hostmark_model::{Better, Leading, Message, Text, Unit};
use hostmark_say::say;

use crate::runs::is_of_the_value;
use crate::views::profile;

const GROUPS: Text = term!("Groups");
const TABLES: Text = term!("Tables");

pub(super) const fn verdict_word(verdict: Verdict) -> Text {
    match verdict {
        Verdict::Slower => term!("slower", "change"),
        Verdict::Faster => term!("faster"),
        Verdict::Changed => term!("changed"),
        Verdict::ChangedShape => term!("changed shape"),
        Verdict::Inconclusive => term!("cannot tell"),
        Verdict::Same => term!("same"),
        Verdict::NotComparable => term!("not comparable"),
    }
}

/// The verdict of a case in a cell of a table: of what is undecided the change that would have been seen, of another shape the typical
/// value's.
pub(super) fn verdict_text(case: &CaseComparison) -> Message {
    match (case.verdict, case.decisive_test()) {
        (Verdict::Inconclusive, Some(test)) => unclear_under(test.visible),
        (Verdict::ChangedShape, Some(test)) => {
            let name = case.moved().map_or("", |aspect| aspect.name.as_str());
            let change = signed(test.ratio - 1.0);
            let name = if name == "typical" { Message::from(term!("median")) } else { Message::plain(name) };
            say!("{name} {change} %")
        }
        (verdict, _) => verdict_word(verdict).into(),
    }
}

/// Largest detectable change shown in percent: greater ones are factors, or cannot be told.
const MOST_VISIBLE: f64 = 1.0;

fn unclear_under(visible: f64) -> Message {
    let times = 1.0 + visible;
    match visible > MOST_VISIBLE {
        true if times <= MOST_TIMES => say!("cannot tell: would miss <{times:.1}x"),
        true => verdict_word(Verdict::Inconclusive).into(),
        false => say!("cannot tell: would miss <{visible}", visible = percent(visible)),
    }
}

/// Largest factor that is shown: nobody looks for a greater change.
const MOST_TIMES: f64 = 100.0;

/// `same within 5 %`.
fn same_word(same_within: f64) -> Message {
    say!("same within {within}", within = limit(same_within))
}

/// A limit as it was typed: `5 %`, `2.5 %`.
fn limit(fraction: f64) -> String {
    format!("{} %", (fraction * 1e4).round() / 100.0)
}

/// Changes of cases together: by group, and by the tables that people know, each with its heading; none where there is nothing.
pub(super) fn together(against: &Against) -> impl Iterator<Item = (Text, &[GroupChange])> {
    let all = [(GROUPS, against.groups.as_slice()), (TABLES, against.tables.as_slice())];
    all.into_iter().filter(|(_, groups)| !groups.is_empty())
}

/// A group's change, the interval of that, and its verdict.
pub(super) fn group_cells(group: &GroupChange) -> (String, String, Message) {
    let verdict = match group.verdict {
        Verdict::Inconclusive => unclear_under(group.visible),
        verdict => verdict_word(verdict).into(),
    };
    (format!("{} %", signed(group.ratio - 1.0)), interval(group.low, group.high), verdict)
}

fn interval(low: f64, high: f64) -> String {
    let high = if high > MOST_TIMES { format!(">{MOST_TIMES}x") } else { signed(high - 1.0) };
    format!("{} … {high}", signed(low - 1.0))
}

/// Remarks on a group for readers: the spread of its probes, and its outliers.
pub(super) fn group_remarks(group: &GroupChange, against: &Against) -> Vec<Message> {
    let mut remarks = Vec::new();
    if group.heterogeneity > NOTABLE_SPREAD {
        let spread = percent(group.heterogeneity);
        remarks.push(say!("probes scatter by {spread}"));
    }
    let case = |id: &String| against.cases.iter().find(|case| case.id == *id);
    let odd = group.odd.iter().filter_map(case);
    let odd: Vec<Message> =
        odd.map(|case| Message::joined([Message::from(&case.label), change(case).0.into()], " ")).collect();
    if !odd.is_empty() {
        remarks.push(say!("outlier in this group: {odd}", odd = Message::joined(odd, SEMICOLON)));
    }
    remarks
}

/// A spread between the probes of a group from which on it is told.
const NOTABLE_SPREAD: f64 = 0.01;

/// Tells whether a verdict is a change.
pub(super) fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster | Verdict::Changed | Verdict::ChangedShape)
}

/// Facts about a side, one each, behind its name.
pub(super) fn of_side(side: &Side) -> Vec<Message> {
    let runs = &side.runs;
    let each = |of: &dyn Fn(&RunName) -> Message| {
        let all = grouped(runs.iter().map(|run| (of(run), ())));
        Message::joined(all.into_iter().map(|(text, _)| text), Text::name(" | "))
    };
    let mut facts = vec![
        each(&|run| Message::plain(&run.host)),
        each(&|run| Message::plain(&run.kernel)),
        each(&|run| run.imported.as_ref().map_or_else(|| profile(run.profile).into(), Message::plain)),
    ];
    facts.push(match runs.len() {
        1 => say!("{runs:run}", runs = 1),
        runs => say!("{runs} runs, pooled"),
    });
    // In whatever order they were named.
    let started = || runs.iter().map(|run| run.started.as_str());
    facts.extend(started().min().zip(started().max()).map(|(first, last)| match first == last {
        true => first.into(),
        false => format!("{first} … {last}").into(),
    }));
    facts.retain(|fact| !fact.is_empty());
    facts
}

/// The values of both sides in one scale, so that the eye can compare them.
pub(super) fn values(case: &CaseComparison) -> [Message; 2] {
    let value = |value: &Option<SideValue>| value.as_ref().map(|value| value.value);
    in_one_scale(case, [value(&case.base), value(&case.new)])
}

fn in_one_scale(case: &CaseComparison, values: [Option<f64>; 2]) -> [Message; 2] {
    let known = case.base.as_ref().or(case.new.as_ref()).map_or(0.0, |value| value.value);
    let scale = scale_for(known, case.unit.unwrap_or(Unit::Count));
    values.map(|value| match value {
        None => "–".into(),
        Some(value) => scale.with_suffix(in_scale(value, scale)),
    })
}

/// A case as it is called, with the estimator where that is the quiet value.
pub(super) fn label(case: &CaseComparison) -> Message {
    called(&case.label, case.estimator.unwrap_or_default())
}

/// Values of the other estimator where they differ: `typical 12.5 → 12.4 GB/s`.
pub(super) fn others(case: &CaseComparison) -> Option<Message> {
    let other = case.beside?;
    let [base, new] = in_one_scale(case, [Some(other.base), Some(other.new)]);
    let name = estimator(other.estimator);
    Some(Message::joined([name.into(), Message::joined([base, new], " → ")], " "))
}

/// Flags about the value of each side.
pub(super) fn flags(case: &CaseComparison) -> impl Iterator<Item = Message> {
    let sides = [(&case.base, term!("on the base")), (&case.new, term!("on the new side"))];
    sides.into_iter().filter_map(|(side, place)| {
        let flags = side.as_ref()?.flags.iter().filter(|kind| is_of_the_value(**kind));
        let flags: Vec<Message> = flags.map(|kind| crate::words::flag(*kind).into()).collect();
        (!flags.is_empty()).then(|| say!("{place}: {flags}", flags = Message::joined(flags, COMMA)))
    })
}

/// `+37.8`, `−1.1`: a fraction as percent without the sign of percent.
pub(super) fn signed(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let digits = if percent.abs() < 99.95 { 1 } else { 0 };
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.*}", digits, percent.abs())
}

/// The change of a case, and its interval.
pub(super) fn change(case: &CaseComparison) -> (String, String) {
    let none = || "–".to_owned();
    let change = case.change().map_or_else(none, |change| format!("{} %", signed(change)));
    let test = case.effect.as_ref().and_then(|effect| effect.test.as_ref());
    (change, test.map_or_else(none, |test| interval(test.low, test.high)))
}

/// Grounds of a verdict: the adjusted p value, the largest possible change, and the spread between runs.
pub(super) fn grounds(case: &CaseComparison) -> Option<Message> {
    let test = case.decisive_test()?;
    let p = match test.adjusted_p_value {
        p if p < 0.0001 => "p < 0.0001".to_owned(),
        p => format!("p = {p:.4}"),
    };
    let deviation = percent(test.deviation);
    let by = match test.runs {
        0 => say!("assumed"),
        runs => say!("{runs:run}"),
    };
    let change = changed_by(test.within);
    Some(say!("{p}, {change}, runs differ by {deviation} ({by})"))
}

fn changed_by(within: f64) -> Message {
    match within <= MOST_VISIBLE {
        true => say!("changed by {within} at most", within = percent(within)),
        false => say!("perhaps by more than a factor of 2"),
    }
}

/// Cases without a verdict that share their reason: the reason, and the cases.
pub(super) fn reasons(against: &Against) -> Vec<(&Text<String>, Vec<&CaseComparison>)> {
    let mut groups = grouped(against.cases.iter().filter_map(|case| Some((&case.reason.as_ref()?.text, case))));
    groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    groups
}

/// Reason why a case has no verdict, in a summary: `failed on the new side`.
fn without(one: &Without) -> Message {
    let what = match one.kind {
        ReasonKind::OneSide => term!("missing"),
        ReasonKind::Revision => term!("of another revision"),
        ReasonKind::Unit => term!("in another unit"),
        ReasonKind::Failed => term!("failed"),
        ReasonKind::Skipped => term!("skipped", "comparison"),
        ReasonKind::OtherKernel => term!("by another inner loop"),
        ReasonKind::Asked => term!("asked for differently"),
        ReasonKind::PageSize => term!("on other pages"),
        ReasonKind::CacheLevel => term!("in another cache"),
        ReasonKind::ContradictsItself => term!("contradicting itself"),
        ReasonKind::Implausible => term!("implausible"),
        ReasonKind::Unconfirmed => term!("unconfirmed"),
        ReasonKind::OneValue => term!("one value alone"),
        ReasonKind::Derived => term!("computed from others"),
        ReasonKind::TooFewRounds => term!("too few rounds"),
        ReasonKind::TooFewPairs => term!("too few pairs"),
        ReasonKind::NotPositive => term!("zero or negative"),
    };
    let is_of_the_pair = matches!(
        one.kind,
        ReasonKind::Revision
            | ReasonKind::Unit
            | ReasonKind::OtherKernel
            | ReasonKind::Asked
            | ReasonKind::PageSize
            | ReasonKind::CacheLevel
            | ReasonKind::Derived
            | ReasonKind::TooFewPairs
    );
    let count = one.cases;
    let on = match one.on {
        _ if is_of_the_pair => return say!("{count} {what}"),
        On::Base => term!("on the base"),
        On::New => term!("on the new side"),
        On::Both => term!("on both sides"),
    };
    say!("{count} {what} {on}")
}

/// `2 slower, 0 faster, 120 same within 5 %, 60 cannot tell: would miss <8 % (median), 4 not comparable (3 skipped on both sides, 1 failed
/// on the new side)`.
pub(super) fn summary(against: &Against) -> Message {
    let counts = against.counts;
    let word = |verdict: Verdict| verdict_word(verdict).into();
    let undecided = match counts.visible.map(unclear_under) {
        None => word(Verdict::Inconclusive),
        Some(unclear) => say!("{unclear} (median)"),
    };
    let why = Message::joined(against.without.iter().map(without), COMMA);
    let all = [
        (counts.slower, word(Verdict::Slower), true),
        (counts.faster, word(Verdict::Faster), true),
        (counts.changed, word(Verdict::Changed), false),
        (counts.changed_shape, word(Verdict::ChangedShape), false),
        (counts.same, same_word(against.same_within), true),
        (counts.inconclusive, undecided, true),
        (counts.not_comparable, say!("not comparable ({why})"), false),
        (counts.partly_failed, say!("failed in some runs"), false),
    ];
    let named = all.into_iter().filter(|(count, _, is_always)| *count > 0 || *is_always);
    Message::joined(named.map(|(count, word, _)| say!("{count} {word}")), COMMA)
}

/// Verdict of a comparison in a sentence, with the greatest factors: `B: 1.32x slower in DRAM, same within 5 % in 31 others`.
pub(super) fn verdict(against: &Against) -> Message {
    let changed = |verdict: Verdict| {
        let cases = against.cases.iter().filter(|case| case.verdict == verdict);
        let change =
            |case: &CaseComparison| Some((cost(case)?, case.figure.map_or_else(|| label(case), Message::from)));
        cases.filter_map(change).collect::<Vec<_>>()
    };
    let counts = against.counts;
    let (same, open) = (counts.same, counts.inconclusive);
    let rest = [
        (same > 0).then(|| say!("{what} in {same}", what = same_word(against.same_within))),
        (open > 0).then(|| say!("cannot tell in {open}")),
    ];
    sentence(&against.side.name, [changed(Verdict::Slower), changed(Verdict::Faster)], rest)
}

/// Sentence of what is slower and faster about a side, by its factors, and of the rest.
pub(crate) fn sentence(
    side: &str,
    changed: [Vec<(f64, Message)>; 2],
    rest: impl IntoIterator<Item = Option<Message>>,
) -> Message {
    let part = |(mut all, verdict): (Vec<(f64, Message)>, Verdict)| {
        all.sort_by(|(one, _), (other, _)| other.ln().abs().total_cmp(&one.ln().abs()));
        let others = all.len().saturating_sub(1);
        let (cost, what) = all.into_iter().next()?;
        let (times, word) = (times(cost.max(cost.recip())), verdict_word(verdict));
        Some(match others {
            0 => say!("{times}x {word} in {what}"),
            more => say!("{times}x {word} in {what} (the largest of {count})", count = more + 1),
        })
    };
    let changed = changed.into_iter().zip([Verdict::Slower, Verdict::Faster]).map(part);
    let parts: Vec<Message> = changed.chain(rest).flatten().collect();
    let says = if parts.is_empty() { say!("nothing to compare") } else { Message::joined(parts, COMMA) };
    // The names of many files say less than the column's head.
    let name = if side.chars().count() > 40 { super::NEW.into() } else { Message::plain(side) };
    Message::joined([name, says], COLON)
}

/// Factor with as many digits as one can bear.
pub(super) fn times(factor: f64) -> String {
    if factor < 9.995 { format!("{factor:.2}") } else { format!("{factor:.0}") }
}

/// Cost of a case over the base's, above 1 for a slower one.
pub(super) fn cost(case: &CaseComparison) -> Option<f64> {
    let ratio = case.effect.as_ref()?.ratio;
    Some(if case.better == Some(Better::Higher) { ratio.recip() } else { ratio })
}

/// Verdict on a key figure, also on one that is computed from others, by the intervals of both sides.
pub(super) fn figure_verdict(case: &CaseComparison) -> Message {
    let ends = |side: &Option<SideValue>| side.as_ref().and_then(|side| side.low.zip(side.high));
    match (case.verdict, cost(case), ends(&case.base), ends(&case.new)) {
        (Verdict::NotComparable, Some(cost), Some((low, high)), Some((from, to))) if from > high || to < low => {
            verdict_word(if cost > 1.0 { Verdict::Slower } else { Verdict::Faster }).into()
        }
        (Verdict::NotComparable, ..) => verdict_word(Verdict::Inconclusive).into(),
        _ => verdict_text(case),
    }
}

/// Limit of one run a side, and the command that tells more; nothing where a side has more.
pub(super) fn one_run(base: &Side, against: &Against) -> Vec<Message> {
    if base.runs.len() > 1 || against.side.runs.len() > 1 {
        return Vec::new();
    }
    let says = match against.counts.visible.filter(|visible| *visible <= MOST_VISIBLE).map(percent) {
        Some(visible) => say!("one run a side shows changes from about {visible} on; three or more tell smaller ones:"),
        None => say!("one run a side shows large changes only; three or more tell smaller ones:"),
    };
    vec![says, Message::plain("hostmark compare A1,A2,A3 B1,B2,B3")]
}

/// Method of the verdicts, in sentences: the source of the spread between runs, and the requirements of a verdict.
pub(super) fn method(against: &Against) -> Vec<Message> {
    let tests = || against.cases.iter().filter_map(|case| case.effect.as_ref()?.test.as_ref());
    let assumed = tests().filter(|test| test.runs == 0).count();
    let tests_of_runs: Vec<&Test> = tests().filter(|test| test.runs > 0).collect();
    let mut told = Vec::new();
    if against.cases.iter().any(|case| case.estimator == Some(Leading::Quiet)) {
        told.push(say!("(undisturbed) values are of an undisturbed core, all others medians"));
    }
    told.extend(against.clock.as_ref().map(|_| say!("cycles leave the clock out; its row is in no total")));
    if let Some(program) = against.program.as_ref().and_then(|program| program.get(..12)) {
        told.push(say!("one program measured both sides: SHA-256 {program}…"));
    }
    if !tests_of_runs.is_empty() {
        let runs = tests_of_runs.iter().map(|test| test.runs);
        let (least, most) = runs.fold((usize::MAX, 0), |(low, high), runs| (low.min(runs), high.max(runs)));
        let runs = if least == most { least.to_string() } else { format!("{least} … {most}") };
        told.push(say!("run-to-run spread measured for {cases:case}, by {runs:run}", cases = tests_of_runs.len()));
    }
    if assumed > 0 {
        told.push(say!("run-to-run spread assumed for {assumed:case}; three runs a side, or --interleave, measure it"));
    }
    if !tests_of_runs.is_empty() || assumed > 0 {
        told.push(say!(
            "slower/faster: at most 5 % of these are false. same: a {within} change is ruled out. cannot tell: neither, and a change smaller than the one named would go unseen",
            within = limit(against.same_within)
        ));
    }
    let mut aspects = against.cases.iter().filter_map(|case| case.effect.as_ref()).flat_map(|effect| &effect.others);
    if against.counts.changed_shape > 0
        || aspects.any(|aspect| aspect.test.is_shown() && aspect.evidence != Evidence::Repeats)
    {
        told.push(say!(
            "changed shape: the value is as it was, and the median or a percentile moved: some of the operations became slower or faster; only where nothing disturbed either side and it is seen each time (in every round, or four of five pairs of runs), else it is a remark"
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_twice_as_much_would_not_have_shown_cannot_be_told() {
        assert_eq!([150.0, f64::INFINITY].map(|visible| unclear_under(visible).to_string()), ["cannot tell"; 2]);
        let texts = [0.14, 1.0, 7.32].map(|visible| unclear_under(visible).to_string());
        let expected = ["<14 %", "<100 %", "<8.3x"].map(|least| format!("cannot tell: would miss {least}"));
        assert_eq!(texts, expected);
        let texts = [0.14, 6.34].map(|within| changed_by(within).to_string());
        assert_eq!(texts, ["changed by 14 % at most", "perhaps by more than a factor of 2"]);
    }

    #[test]
    fn changes_have_a_sign() {
        let texts = [0.378, -0.011, 0.0, 9.0, -0.9996].map(signed);
        assert_eq!(texts, ["+37.8", "−1.1", "+0.0", "+900", "−100"]);
    }
}
