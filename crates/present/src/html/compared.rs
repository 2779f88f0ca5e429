//! One side against another: what differs, a forest plot of the changes, and every case.

use hostmark_analysis::compare::{Against, CaseComparison, Group, Side, Verdict};
use hostmark_model::{Lang, Text};
use serde::Serialize;

use super::bilingual::{Words, each, fixed, same};
use super::figures::Figure;
use crate::chart::scale::{Kind, change};
use crate::chart::{Rows, ValueRow};
use crate::render::comparison as words;

/// Rows of a forest plot: so many changes at most, and so many rows at least where there are cases without a change.
const MOST_CHANGES: usize = 40;
const LEAST_ROWS: usize = 12;

/// A comparison of two sides as the page shows it.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    base: Named,
    new: Named,
    summary: Words,
    differs: Vec<Differs>,
    same: usize,
    said: Vec<Words>,
    warnings: Vec<Words>,
    together: Vec<Together>,
    /// The changes, the greatest first.
    changed: Vec<Case>,
    /// All others, by section.
    rest: Vec<Case>,
    method: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    facts: Words,
    disturbances: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Differs {
    label: Words,
    base: Words,
    new: Words,
}

/// What cases come to together, under one heading.
#[derive(Debug, Serialize)]
struct Together {
    heading: Words,
    rows: Vec<Changed>,
}

#[derive(Debug, Serialize)]
struct Changed {
    title: Words,
    cases: usize,
    change: String,
    interval: String,
    verdict: Words,
    sign: &'static str,
    kind: &'static str,
    remarks: Words,
}

#[derive(Debug, Serialize)]
struct Case {
    /// The section's title where it begins.
    section: Option<Words>,
    id: String,
    label: Words,
    base: Words,
    new: Words,
    change: String,
    /// The change in percent, by which rows are sorted.
    key: String,
    interval: String,
    verdict: Words,
    sign: &'static str,
    /// The class of the row: the verdict in one word.
    kind: &'static str,
    remarks: Words,
}

/// What the page says of `against`, apart from its picture.
pub(super) fn compared(base: &Side, against: &Against) -> Compared {
    let unknown = |value: &Option<String>| value.as_ref().map_or_else(|| fixed(words::UNKNOWN), same);
    let differs = against.differs.iter().map(|difference| Differs {
        label: difference.label.clone(),
        base: unknown(&difference.base),
        new: unknown(&difference.new),
    });
    let (mut changed, rest): (Vec<&CaseComparison>, Vec<&CaseComparison>) =
        against.cases.iter().partition(|case| words::is_change(case.verdict));
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let mut last: Option<&Words> = None;
    let rest = rest.into_iter().map(|case| {
        let section = (last != Some(&case.section)).then(|| case.section.clone());
        last = Some(&case.section);
        row(case, section)
    });
    Compared {
        base: named(base),
        new: named(&against.side),
        summary: each(|lang| words::summary(against, lang)),
        differs: differs.collect(),
        same: against.same,
        said: against.said.clone(),
        warnings: against.warnings.clone(),
        together: words::together(against).map(|part| together(against, part)).collect(),
        changed: changed.into_iter().map(|case| row(case, None)).collect(),
        rest: rest.collect(),
        method: both(words::method(against, Lang::En), words::method(against, Lang::Zh)),
    }
}

fn both(en: Vec<String>, zh: Vec<String>) -> Vec<Words> {
    en.into_iter().zip(zh).map(|(en, zh)| Words { en, zh }).collect()
}

fn named(side: &Side) -> Named {
    Named {
        name: side.name.clone(),
        facts: each(|lang| words::of_side(side, lang).join(" · ")),
        disturbances: side.disturbances.clone(),
    }
}

fn together(against: &Against, (heading, groups): (Text, &[Group])) -> Together {
    let row = |group: &Group| {
        let (sign, kind) = sign(group.verdict);
        let [change, interval, _] = words::group_cells(group, Lang::En);
        Changed {
            title: group.title.clone(),
            cases: group.cases,
            change,
            interval,
            verdict: each(|lang| words::group_cells(group, lang)[2].clone()),
            sign,
            kind,
            remarks: each(|lang| words::group_remarks(group, against, lang).join(separator(lang))),
        }
    };
    Together { heading: fixed(heading), rows: groups.iter().map(row).collect() }
}

/// How large a change is: as much for a half as for twice.
fn size(case: &CaseComparison) -> f64 {
    case.effect.as_ref().map_or(0.0, |effect| effect.ratio.ln().abs())
}

fn row(case: &CaseComparison, section: Option<Words>) -> Case {
    let [base, new] = [0, 1].map(|side| each(|lang| words::values(case, lang)[side].clone()));
    let [change, interval] = words::change(case);
    let (sign, kind) = sign(case.verdict);
    let remarks = each(|lang| {
        let reason = case.reason.iter().map(|reason| reason.text.get(lang).to_owned());
        let remarks = case.remarks.iter().map(|remark| remark.get(lang).to_owned());
        let grounds = words::grounds(case, lang).filter(|_| words::is_change(case.verdict));
        let all: Vec<String> =
            words::others(case, lang).into_iter().chain(reason).chain(grounds).chain(remarks).collect();
        all.join(separator(lang))
    });
    Case {
        section,
        id: case.typed().to_owned(),
        label: each(|lang| words::label(case, lang)),
        base,
        new,
        change,
        key: case.effect.as_ref().map(|effect| format!("{:.3}", (effect.ratio - 1.0) * 100.0)).unwrap_or_default(),
        interval,
        verdict: each(|lang| words::verdict_text(case, lang)),
        sign,
        kind,
        remarks,
    }
}

/// What stands between two remarks.
fn separator(lang: Lang) -> &'static str {
    if lang == Lang::Zh { "；" } else { "; " }
}

/// The sign of a verdict, which tells it without colour, and its class.
fn sign(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Slower => ("▼", "slower"),
        Verdict::Faster => ("▲", "faster"),
        Verdict::Changed => ("◆", "changed"),
        Verdict::ChangedShape => ("◇", "changed"),
        Verdict::Same => ("=", "equal"),
        Verdict::Inconclusive => ("?", "equal"),
        Verdict::NotComparable => ("–", "equal"),
    }
}

/// Which colour and shape a verdict has in the plot; they are named below it in this order.
fn style(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Slower => 1,
        Verdict::Faster => 2,
        Verdict::Changed | Verdict::ChangedShape => 3,
        Verdict::Inconclusive => 4,
        Verdict::Same | Verdict::NotComparable => 0,
    }
}

/// The changes of all cases with an interval, the greatest first; none where there is no such case.
pub(super) fn forest(against: &Against) -> Option<Figure> {
    let known = |case: &&CaseComparison| case.effect.as_ref().is_some_and(|effect| effect.test.is_some());
    let mut cases: Vec<&CaseComparison> = against.cases.iter().filter(known).collect();
    cases.sort_by(|a, b| {
        let is_equal = |case: &CaseComparison| !words::is_change(case.verdict);
        is_equal(a).cmp(&is_equal(b)).then(size(b).total_cmp(&size(a)))
    });
    let changed = cases.iter().filter(|case| words::is_change(case.verdict)).count();
    let (all, shown) = (cases.len(), changed.clamp(LEAST_ROWS, MOST_CHANGES).min(cases.len()));
    cases.truncate(shown);
    let row = |case: &&CaseComparison| {
        let effect = case.effect.as_ref()?;
        let test = effect.test.as_ref()?;
        let verdict = words::verdict_word(case.verdict);
        let (sign, _) = sign(case.verdict);
        let told = change(effect.ratio);
        let interval = format!("{} … {}", change(test.low), change(test.high));
        Some(ValueRow {
            label: each(|lang| words::label(case, lang)),
            remark: each(|lang| format!("{told} {sign} {}", verdict.get(lang))),
            value: effect.ratio,
            interval: Some((test.low, test.high)),
            style: style(case.verdict),
            reading: each(|lang| format!("{told} [95 %: {interval}] {}", verdict.get(lang))),
        })
    };
    let styles = [Verdict::Same, Verdict::Slower, Verdict::Faster, Verdict::Changed, Verdict::Inconclusive];
    let chart = Rows {
        x_title: Words { en: "new against base, %".to_owned(), zh: "相对基准的变化，%".to_owned() },
        x: Kind::Change,
        rows: cases.iter().filter_map(row).collect(),
        styles: styles.into_iter().map(|verdict| fixed(words::verdict_word(verdict))).collect(),
    };
    let chart = chart.draw()?;
    let note = (shown < all).then(|| Words {
        en: format!("{shown} of {all} cases, the greatest changes first; all stand in the table below."),
        zh: format!("显示 {all} 个用例中的 {shown} 个，变化最大者在前；全部见下表。"),
    });
    let title = Words { en: "Changes with their intervals".to_owned(), zh: "变化及其区间".to_owned() };
    Some(Figure { title, note, chart, probes: Vec::new() })
}
