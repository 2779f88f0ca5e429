//! The words of a comparison.

use hostmark_analysis::bilingual::{SEMICOLON, Words, each, fixed, joined, same};
use hostmark_analysis::compare::{
    Against, CaseComparison, Evidence, GroupChange, On, ReasonKind, Side, SideValue, Test, Verdict, Without,
};
use hostmark_analysis::format::{called, estimator, in_scale, percent, scale_for};
use hostmark_model::{Lang, Leading, Text, Unit, counted};

use crate::views::profile;

const GROUPS: Text = Text { en: "Groups", zh: "各组" };
const TABLES: Text = Text { en: "Tables", zh: "各表" };
const ODD: Text = Text { en: "unlike the rest: ", zh: "与其余不同：" };

pub(super) const fn verdict_word(verdict: Verdict) -> Text {
    match verdict {
        Verdict::Slower => Text { en: "slower", zh: "变慢" },
        Verdict::Faster => Text { en: "faster", zh: "变快" },
        Verdict::Changed => Text { en: "changed", zh: "有变化" },
        Verdict::ChangedShape => Text { en: "changed shape", zh: "分布有变" },
        Verdict::Inconclusive => Text { en: "inconclusive", zh: "无法判定" },
        Verdict::Same => Text { en: "same", zh: "相同" },
        Verdict::NotComparable => Text { en: "not comparable", zh: "不可比较" },
    }
}

/// The verdict of a case in a cell of a table: of what is undecided the change that would have been seen, of another shape the typical
/// value's.
pub(super) fn verdict_text(case: &CaseComparison) -> Words {
    match (case.verdict, case.decisive_test()) {
        (Verdict::Inconclusive, Some(test)) => unclear_under(test.visible),
        (Verdict::ChangedShape, Some(test)) => {
            let name = case.moved().map_or("", |aspect| aspect.name.as_str());
            let change = signed(test.ratio - 1.0);
            let in_chinese = if name == "typical" { "典型值" } else { name };
            Words { en: format!("{name} {change} %"), zh: format!("{in_chinese} {change} %") }
        }
        (verdict, _) => fixed(verdict_word(verdict)),
    }
}

/// Where half or twice as much would not have been seen, the runs cannot tell.
const MOST_VISIBLE: f64 = 1.0;

fn unclear_under(visible: f64) -> Words {
    if visible > MOST_VISIBLE {
        let times = 1.0 + visible;
        let [en, zh] = match times {
            0.0..=MOST_TIMES => [format!("cannot tell under {times:.1}x"), format!("{times:.1} 倍以下无法判定")],
            _ => ["cannot tell".to_owned(), "无法判定".to_owned()],
        };
        return Words { en, zh };
    }
    let visible = percent(visible);
    Words { en: format!("unclear under {visible}"), zh: format!("{visible} 以下看不出") }
}

/// Nobody looks for a change by more than so many times.
const MOST_TIMES: f64 = 100.0;

/// `same within 5 %`.
fn same_word(same_within: f64, lang: Lang) -> String {
    let within = limit(same_within);
    match lang {
        Lang::En => format!("same within {within}"),
        Lang::Zh => format!("相差不超过 {within}"),
    }
}

/// A limit as it was typed: `5 %`, `2.5 %`.
fn limit(fraction: f64) -> String {
    format!("{} %", (fraction * 1e4).round() / 100.0)
}

/// What cases come to together: by group, and by the tables that people know, each with its heading; none where there is nothing.
pub(super) fn together(against: &Against) -> impl Iterator<Item = (Text, &[GroupChange])> {
    let all = [(GROUPS, against.groups.as_slice()), (TABLES, against.tables.as_slice())];
    all.into_iter().filter(|(_, groups)| !groups.is_empty())
}

/// A group's change, the interval of that, and its verdict.
pub(super) fn group_cells(group: &GroupChange) -> (String, String, Words) {
    let verdict = match group.verdict {
        Verdict::Inconclusive => unclear_under(group.visible),
        verdict => fixed(verdict_word(verdict)),
    };
    (format!("{} %", signed(group.ratio - 1.0)), interval(group.low, group.high), verdict)
}

fn interval(low: f64, high: f64) -> String {
    format!("{} … {}", signed(low - 1.0), signed(high - 1.0))
}

/// What a reader should know of a group: how far its probes differ, and which cases are unlike the rest.
pub(super) fn group_remarks(group: &GroupChange, against: &Against) -> Vec<Words> {
    let mut remarks = Vec::new();
    if group.heterogeneity > NOTABLE_SPREAD {
        let spread = percent(group.heterogeneity);
        remarks.push(Words {
            en: format!("its probes differ by {spread}"), zh: format!("各探针之间相差 {spread}")
        });
    }
    let case = |id: &String| against.cases.iter().find(|case| case.id == *id);
    let odd = group.odd.iter().filter_map(case);
    let odd: Vec<Words> = odd.map(|case| each(|lang| format!("{} {}", case.label.get(lang), change(case).0))).collect();
    if !odd.is_empty() {
        let odd = joined(&odd, SEMICOLON);
        remarks.push(each(|lang| format!("{}{}", ODD.say(lang), odd.get(lang))));
    }
    remarks
}

/// A spread between the probes of a group from which on it is told.
const NOTABLE_SPREAD: f64 = 0.01;

/// Whether a verdict is one of those that a reader looks for: something changed.
pub(super) fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster | Verdict::Changed | Verdict::ChangedShape)
}

/// What is known of a side, one fact each, behind its name.
pub(super) fn of_side(side: &Side) -> Vec<Words> {
    let runs = &side.runs;
    let distinct = |all: Vec<Words>| {
        let mut seen: Vec<Words> = Vec::new();
        for text in all {
            if !seen.contains(&text) {
                seen.push(text);
            }
        }
        joined(&seen, Text { en: " | ", zh: " | " })
    };
    let mut facts = vec![
        distinct(runs.iter().map(|run| same(&run.host)).collect()),
        distinct(runs.iter().map(|run| same(&run.kernel)).collect()),
        distinct(
            runs.iter().map(|run| run.imported.as_ref().map_or_else(|| fixed(profile(run.profile)), same)).collect(),
        ),
    ];
    let count = runs.len();
    facts.push(match count {
        1 => Words { en: "1 run".to_owned(), zh: "1 次运行".to_owned() },
        _ => Words { en: format!("{count} runs, pooled"), zh: format!("{count} 次运行，合并") },
    });
    // In whatever order they were named.
    let started = || runs.iter().map(|run| run.started.as_str());
    facts.extend(started().min().zip(started().max()).map(|(first, last)| match first == last {
        true => same(first),
        false => same(format!("{first} … {last}")),
    }));
    facts.retain(|fact| !fact.en.is_empty());
    facts
}

/// The values of both sides in one scale, so that the eye can compare them.
pub(super) fn values(case: &CaseComparison) -> [Words; 2] {
    let value = |value: &Option<SideValue>| value.as_ref().map(|value| value.value);
    in_one_scale(case, [value(&case.base), value(&case.new)])
}

fn in_one_scale(case: &CaseComparison, values: [Option<f64>; 2]) -> [Words; 2] {
    let known = case.base.as_ref().or(case.new.as_ref()).map_or(0.0, |value| value.value);
    let scale = scale_for(known, case.unit.unwrap_or(Unit::Count));
    values.map(|value| match value {
        None => same("–"),
        Some(value) => {
            each(|lang| format!("{} {}", in_scale(value, scale), scale.suffix.get(lang)).trim_end().to_owned())
        }
    })
}

/// A case as it is called, with the estimator where that is the quiet value.
pub(super) fn label(case: &CaseComparison) -> Words {
    each(|lang| called(case.label.get(lang), case.estimator.unwrap_or_default(), lang))
}

/// What the other estimator says where it is something else: `typical 12.5 → 12.4 GB/s`.
pub(super) fn others(case: &CaseComparison) -> Option<Words> {
    let other = case.beside?;
    let [base, new] = in_one_scale(case, [Some(other.base), Some(other.new)]);
    let name = estimator(other.estimator);
    Some(each(|lang| format!("{} {} → {}", name.get(lang), base.get(lang), new.get(lang))))
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

/// What a verdict stands on: the adjusted p value, how much it changed at most, and how much runs differ.
pub(super) fn grounds(case: &CaseComparison) -> Option<Words> {
    let test = case.decisive_test()?;
    let p = match test.adjusted_p_value {
        p if p < 0.0001 => "p < 0.0001".to_owned(),
        p => format!("p = {p:.4}"),
    };
    let (within, deviation) = (percent(test.within), percent(test.deviation));
    let [en, zh] = match test.runs {
        0 => ["assumed".to_owned(), "假定".to_owned()],
        runs => [counted(runs, "run"), format!("{runs} 次运行")],
    };
    Some(Words {
        en: format!("{p}, changed by {within} at most, runs differ by {deviation} ({en})"),
        zh: format!("{p}，变化不超过 {within}，运行间标准差 {deviation}（{zh}）"),
    })
}

/// Cases without a verdict that share their reason: the reason, and the cases.
pub(super) fn reasons(against: &Against) -> Vec<(&Words, Vec<&CaseComparison>)> {
    let mut groups: Vec<(&Words, Vec<&CaseComparison>)> = Vec::new();
    for case in &against.cases {
        let Some(reason) = &case.reason else { continue };
        match groups.iter_mut().find(|(known, _)| **known == reason.text) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((&reason.text, vec![case])),
        }
    }
    groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    groups
}

/// Why a case has no verdict, in a summary: `failed on the new side`.
fn without(one: &Without, lang: Lang) -> String {
    let what = match one.kind {
        ReasonKind::OneSide => Text { en: "missing", zh: "缺失" },
        ReasonKind::Revision => Text { en: "of another revision", zh: "修订号不同" },
        ReasonKind::Unit => Text { en: "in another unit", zh: "单位不同" },
        ReasonKind::Failed => Text { en: "failed", zh: "失败" },
        ReasonKind::Skipped => Text { en: "skipped", zh: "跳过" },
        ReasonKind::Asked => Text { en: "asked for differently", zh: "测试要求不同" },
        ReasonKind::PageSize => Text { en: "on other pages", zh: "页大小不同" },
        ReasonKind::CacheLevel => Text { en: "in another cache", zh: "所在缓存不同" },
        ReasonKind::ContradictsItself => Text { en: "contradicting itself", zh: "自相矛盾" },
        ReasonKind::Implausible => Text { en: "implausible", zh: "不可信" },
        ReasonKind::OneValue => Text { en: "one value alone", zh: "仅有单个数值" },
        ReasonKind::Derived => Text { en: "computed from others", zh: "由其他用例算得" },
        ReasonKind::TooFewRounds => Text { en: "too few rounds", zh: "轮数不足" },
        ReasonKind::TooFewPairs => Text { en: "too few pairs", zh: "成对运行不足" },
        ReasonKind::NotPositive => Text { en: "zero or negative", zh: "为零或为负" },
    };
    let is_of_the_pair = matches!(
        one.kind,
        ReasonKind::Revision
            | ReasonKind::Unit
            | ReasonKind::Asked
            | ReasonKind::PageSize
            | ReasonKind::CacheLevel
            | ReasonKind::Derived
            | ReasonKind::TooFewPairs
    );
    let (count, what) = (one.cases, what.say(lang));
    let on = match one.on {
        _ if is_of_the_pair => {
            return if lang == Lang::Zh { format!("{count} 个{what}") } else { format!("{count} {what}") };
        }
        On::Base => Text { en: "on the base", zh: "在基准一方" },
        On::New => Text { en: "on the new side", zh: "在对比一方" },
        On::Both => Text { en: "on both sides", zh: "在双方" },
    };
    match lang {
        Lang::En => format!("{count} {what} {}", on.en),
        Lang::Zh => format!("{count} 个{}{what}", on.zh),
    }
}

/// `2 slower, 0 faster, 120 same within 5 %, 60 inconclusive (unclear under 8 %, median), 4 not comparable (3 skipped on both sides, 1 failed
/// on the new side)`.
pub(super) fn summary(against: &Against, lang: Lang) -> String {
    let counts = against.counts;
    let word = |verdict: Verdict| verdict_word(verdict).say(lang).to_owned();
    let undecided = match (lang, counts.visible.map(unclear_under)) {
        (_, None) => word(Verdict::Inconclusive),
        (Lang::En, Some(unclear)) => format!("inconclusive ({}, median)", unclear.en),
        (Lang::Zh, Some(unclear)) => format!("无法判定（{}，中位数）", unclear.zh),
    };
    let (comma, [open, close]) = if lang == Lang::Zh { ("，", ["（", "）"]) } else { (", ", [" (", ")"]) };
    let why: Vec<String> = against.without.iter().map(|one| without(one, lang)).collect();
    let uncompared = format!("{}{open}{}{close}", word(Verdict::NotComparable), why.join(comma));
    let failed = Text { en: "failed in some runs", zh: "在部分运行中失败" }.say(lang).to_owned();
    let all = [
        (counts.slower, word(Verdict::Slower), true),
        (counts.faster, word(Verdict::Faster), true),
        (counts.changed, word(Verdict::Changed), false),
        (counts.changed_shape, word(Verdict::ChangedShape), false),
        (counts.same, same_word(against.same_within, lang), true),
        (counts.inconclusive, undecided, true),
        (counts.not_comparable, uncompared, false),
        (counts.partly_failed, failed, false),
    ];
    let named = all.into_iter().filter(|(count, _, is_always)| *count > 0 || *is_always);
    let one = |(count, word, _): (usize, String, bool)| format!("{count} {word}");
    named.map(one).collect::<Vec<_>>().join(comma)
}

/// What the verdicts stand on, in sentences: where it comes from how much runs differ, and what a verdict needs.
pub(super) fn method(against: &Against) -> Vec<Words> {
    let tests = || against.cases.iter().filter_map(|case| case.effect.as_ref()?.test.as_ref());
    let assumed = tests().filter(|test| test.runs == 0).count();
    let tests_of_runs: Vec<&Test> = tests().filter(|test| test.runs > 0).collect();
    let mut said = Vec::new();
    let mut add = |en: String, zh: String| said.push(Words { en, zh });
    if against.cases.iter().any(|case| case.estimator == Some(Leading::Quiet)) {
        add(
            "(quiet) values are of an undisturbed core, all others typical ones".to_owned(),
            "标有“（空闲值）”的为核心未受干扰时的数值，其余为典型值".to_owned(),
        );
    }
    if let Some(program) = &against.program {
        add(
            format!("one program measured both sides: SHA-256 {program}"),
            format!("双方由同一程序测量：SHA-256 {program}"),
        );
    }
    if !tests_of_runs.is_empty() {
        let runs = tests_of_runs.iter().map(|test| test.runs);
        let (least, most) = runs.fold((usize::MAX, 0), |(low, high), runs| (low.min(runs), high.max(runs)));
        let runs = if least == most { least.to_string() } else { format!("{least} … {most}") };
        let cases = tests_of_runs.len();
        add(
            format!(
                "how much runs differ is told for {} by {}: of both sides, and earlier ones of their environments",
                counted(cases, "case"),
                counted(&runs, "run")
            ),
            format!("{cases} 个用例的运行间差异由 {runs} 次运行得出：双方的运行，以及同一环境早先的运行"),
        );
    }
    if assumed > 0 {
        add(
            format!(
                "how much runs differ is assumed for {}, from runs of other hosts; three runs or more of these environments, or --interleave, tell more",
                counted(assumed, "case")
            ),
            format!(
                "{assumed} 个用例的运行间差异为假定值，取自其他主机的运行；同一环境三次以上的运行或 --interleave 更可靠"
            ),
        );
    }
    if !tests_of_runs.is_empty() || assumed > 0 {
        let within = limit(against.same_within);
        add(
            format!(
                "slower, faster: a p value of at most 5 % after Benjamini and Hochberg over all cases; same: both one-sided tests of a change of {within} say no, adjusted alike; inconclusive: neither, with the change that would have been found four times of five"
            ),
            format!(
                "变慢、变快：对全部用例作 Benjamini–Hochberg 校正后 p 值不大于 5%；相同：变化达到 {within} 的两个单侧检验均被否定（同样校正）； 无法判定：两者皆非，并给出五次中有四次能被发现的变化幅度"
            ),
        );
    }
    let mut aspects = against.cases.iter().filter_map(|case| case.effect.as_ref()).flat_map(|effect| &effect.others);
    if against.counts.changed_shape > 0
        || aspects.any(|aspect| aspect.test.is_shown() && aspect.evidence != Evidence::Repeats)
    {
        add(
            "changed shape: the value is as it was, and the typical value or a percentile moved: some of the operations became slower or faster; only where nothing disturbed either side and it is seen each time (in every round, or four of five pairs of runs), else it is a remark".to_owned(),
            "分布有变：数值未变，而典型值或某个分位数移动，即部分操作变慢或变快；仅当双方均未受扰且每次如此（每一轮，或五对运行中有四对）时才如此判定，否则只作说明".to_owned(),
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_twice_as_much_would_not_have_shown_cannot_be_told() {
        let texts = [0.14, 1.0, 7.32, 150.0, f64::INFINITY].map(|visible| unclear_under(visible).en);
        let expected =
            ["unclear under 14 %", "unclear under 100 %", "cannot tell under 8.3x", "cannot tell", "cannot tell"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn changes_have_a_sign() {
        let texts = [0.378, -0.011, 0.0, 9.0, -0.9996].map(signed);
        assert_eq!(texts, ["+37.8", "−1.1", "+0.0", "+900", "−100"]);
    }
}
