//! What the table and the markdown of a comparison have in common: words, signs and groups.

pub(crate) mod markdown;

use hostmark_model::{Lang, Text, Unit};

use crate::compare::{Against, CaseComparison, FloorSource, Level, Side, Value, Verdict};
use crate::format::{in_scale, percent, scale_for};

/// Up to this many cases all are shown; of more only those that changed, unless everything is asked for.
const FEW_CASES: usize = 24;

pub(crate) const BASE: Text = Text { en: "base", zh: "基准" };
pub(crate) const NEW: Text = Text { en: "new", zh: "对比" };
pub(crate) const CHANGE: Text = Text { en: "change", zh: "变化" };
pub(crate) const INTERVAL: Text = Text { en: "95 % interval", zh: "95 % 区间" };
pub(crate) const VERDICT: Text = Text { en: "verdict", zh: "判定" };
pub(crate) const CASE: Text = Text { en: "case", zh: "用例" };
pub(crate) const DIFFERS: Text = Text { en: "DIFFERS", zh: "差异" };
pub(crate) const CASES: Text = Text { en: "CASES", zh: "用例" };
pub(crate) const NOT_COMPARABLE: Text = Text { en: "NOT COMPARABLE", zh: "不可比较" };
pub(crate) const UNKNOWN: Text = Text { en: "not known", zh: "未知" };
pub(crate) const DISTURBED: Text = Text { en: "disturbed", zh: "受扰" };

pub(crate) const fn verdict_word(verdict: Verdict) -> Text {
    match verdict {
        Verdict::Slower => Text { en: "slower", zh: "变慢" },
        Verdict::Faster => Text { en: "faster", zh: "变快" },
        Verdict::Changed => Text { en: "changed", zh: "有变化" },
        Verdict::NoDifference => Text { en: "no difference", zh: "无差异" },
        Verdict::NotComparable => Text { en: "not comparable", zh: "不可比较" },
    }
}

/// What is known of a side, one fact each, behind its name.
pub(crate) fn of_side(side: &Side, lang: Lang) -> Vec<String> {
    let mut facts = Vec::new();
    let mut distinct = |all: Vec<String>| {
        let mut seen: Vec<String> = Vec::new();
        all.into_iter().filter(|text| !text.is_empty()).for_each(|text| {
            if !seen.contains(&text) {
                seen.push(text);
            }
        });
        if !seen.is_empty() {
            facts.push(seen.join(" | "));
        }
    };
    distinct(side.runs.iter().map(|run| run.host.clone()).collect());
    let kernel = |release: &String| if release.is_empty() { String::new() } else { format!("Linux {release}") };
    distinct(side.runs.iter().map(|run| kernel(&run.kernel)).collect());
    distinct(side.runs.iter().map(|run| run.imported.clone().unwrap_or_else(|| profile(run.profile, lang))).collect());
    let count = side.runs.len();
    facts.push(match lang {
        Lang::En if count == 1 => "1 run".to_owned(),
        Lang::En => format!("{count} runs, pooled"),
        Lang::Zh if count == 1 => "1 次运行".to_owned(),
        Lang::Zh => format!("{count} 次运行，合并"),
    });
    facts.extend(match side.runs.as_slice() {
        [only] => Some(only.started.clone()),
        [first, .., last] => Some(format!("{} … {}", first.started, last.started)),
        [] => None,
    });
    facts
}

fn profile(profile: hostmark_model::Profile, lang: Lang) -> String {
    let word = match profile {
        hostmark_model::Profile::Quick => Text { en: "quick profile", zh: "快速档" },
        hostmark_model::Profile::Standard => Text { en: "standard profile", zh: "标准档" },
        hostmark_model::Profile::Thorough => Text { en: "thorough profile", zh: "详尽档" },
    };
    word.say(lang).to_owned()
}

/// The cases of a table, the greatest changes first; how many without a difference are left out.
pub(crate) fn shown(against: &Against, verbose: bool) -> (Vec<&CaseComparison>, usize) {
    let judged: Vec<&CaseComparison> =
        against.cases.iter().filter(|case| case.verdict != Verdict::NotComparable).collect();
    let is_all = verbose || judged.len() <= FEW_CASES;
    let left_out = if is_all { 0 } else { against.counts.no_difference };
    let is_shown = |case: &&CaseComparison| is_all || case.verdict != Verdict::NoDifference;
    let mut cases: Vec<&CaseComparison> = judged.into_iter().filter(is_shown).collect();
    // Those without a difference keep the catalogue's order, where neighbours are related.
    let size = |case: &CaseComparison| match case.verdict {
        Verdict::NoDifference => 0.0,
        _ => case.effect.as_ref().map_or(0.0, |effect| effect.ratio.ln().abs()),
    };
    cases.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(size(b).total_cmp(&size(a))));
    (cases, left_out)
}

/// The values of both sides in one scale, so that the eye can compare them.
pub(crate) fn values(case: &CaseComparison, lang: Lang) -> [String; 2] {
    let unit = case.unit.unwrap_or(Unit::Count);
    let known = case.base.as_ref().or(case.new.as_ref()).map_or(0.0, |value| value.median);
    let scale = scale_for(known, unit);
    let one = |value: &Option<Value>| match value {
        None => "–".to_owned(),
        Some(value) => format!("{} {}", in_scale(value.median, scale), scale.suffix.get(lang)).trim_end().to_owned(),
    };
    [one(&case.base), one(&case.new)]
}

/// `+37.8`, `−1.1`: a fraction as percent without the sign of percent.
pub(crate) fn signed(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let digits = if percent.abs() < 99.95 { 1 } else { 0 };
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.*}", digits, percent.abs())
}

/// The change of a case, and its interval.
pub(crate) fn change(case: &CaseComparison) -> [String; 2] {
    let change = case.change().map_or_else(|| "–".to_owned(), |change| format!("{} %", signed(change)));
    let test = case.effect.as_ref().and_then(|effect| effect.test.as_ref());
    let interval = test.map(|test| format!("{} … {}", signed(test.low - 1.0), signed(test.high - 1.0)));
    [change, interval.unwrap_or_else(|| "–".to_owned())]
}

/// What a verdict stands on: the adjusted p value and the noise floor.
pub(crate) fn grounds(case: &CaseComparison, lang: Lang) -> Option<String> {
    let test = case.effect.as_ref()?.test.as_ref()?;
    let p = match test.adjusted_p_value {
        p if p < 0.0001 => "p < 0.0001".to_owned(),
        p => format!("p = {p:.4}"),
    };
    let floor = percent(test.floor.fraction);
    let (en, zh) = match (test.floor.source, test.floor.runs) {
        (FloorSource::History, Some(runs)) => {
            (format!("noise floor {floor} from {runs} runs"), format!("噪声下限 {floor}（来自 {runs} 次运行）"))
        }
        (FloorSource::Runs, _) => ("between runs".to_owned(), "按运行比较".to_owned()),
        _ => (format!("noise floor {floor} from the rounds"), format!("噪声下限 {floor}（来自各轮）")),
    };
    Some(match lang {
        Lang::En => format!("{p}, {en}"),
        Lang::Zh => format!("{p}，{zh}"),
    })
}

/// Cases without a verdict that share their reason: the reason, and the cases.
pub(crate) fn reasons(against: &Against, lang: Lang) -> Vec<(&str, Vec<&CaseComparison>)> {
    let mut groups: Vec<(&str, Vec<&CaseComparison>)> = Vec::new();
    for case in &against.cases {
        let Some(reason) = &case.reason else { continue };
        let text = reason.text.get(lang);
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((text, vec![case])),
        }
    }
    groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    groups
}

/// `2 slower, 0 faster, 309 no difference, 1 not comparable`.
pub(crate) fn summary(against: &Against, lang: Lang) -> String {
    let counts = against.counts;
    let all = [
        (counts.slower, Verdict::Slower),
        (counts.faster, Verdict::Faster),
        (counts.changed, Verdict::Changed),
        (counts.no_difference, Verdict::NoDifference),
        (counts.not_comparable, Verdict::NotComparable),
    ];
    let is_told = |(count, verdict): &&(usize, Verdict)| *count > 0 || *verdict != Verdict::Changed;
    let one = |(count, verdict): &(usize, Verdict)| format!("{count} {}", verdict_word(*verdict).say(lang));
    all.iter().filter(is_told).map(one).collect::<Vec<_>>().join(if lang == Lang::Zh { "，" } else { ", " })
}

/// What the verdicts stand on, in sentences: what an observation was, and where the noise floor comes from.
pub(crate) fn method(against: &Against, lang: Lang) -> Vec<String> {
    let tests = || against.cases.iter().filter_map(|case| case.effect.as_ref()?.test.as_ref());
    let of = |wanted: FloorSource| tests().filter(|test| test.floor.source == wanted).count();
    let by_runs = tests().filter(|test| test.level == Level::Run).count();
    let (history, rounds) = (of(FloorSource::History), of(FloorSource::Rounds));
    let mut said = Vec::new();
    let mut add = |en: String, zh: String| said.push(if lang == Lang::Zh { zh } else { en });
    if let Some(program) = &against.program {
        let program = crate::escape::visible(program);
        add(
            format!("one program measured both sides: SHA-256 {program}"),
            format!("双方由同一程序测量：SHA-256 {program}"),
        );
    }
    if by_runs > 0 {
        add(
            format!("{by_runs} cases are compared by the values of their runs, several a side"),
            format!("{by_runs} 个用例按各次运行的数值比较，每方多次运行"),
        );
    }
    if history > 0 {
        let runs = tests().filter_map(|test| test.floor.runs);
        let (least, most) = runs.fold((usize::MAX, 0), |(low, high), runs| (low.min(runs), high.max(runs)));
        let runs = if least == most { least.to_string() } else { format!("{least} … {most}") };
        add(
            format!("noise floor of {history} cases: how much {runs} runs of the same environment differ"),
            format!("{history} 个用例的噪声下限：同一环境 {runs} 次运行之间的差异"),
        );
    }
    if rounds > 0 {
        add(
            format!(
                "noise floor of {rounds} cases: how much two rounds differ, as fewer than three earlier runs of these \
                 environments are known; several runs a side, or --interleave, tell more"
            ),
            format!(
                "{rounds} 个用例的噪声下限：两轮之间的差异，因为这些环境已知的早先运行不足三次；每方多次运行或 --interleave 更可靠"
            ),
        );
    }
    if by_runs + history + rounds > 0 {
        add(
            "a difference needs all three: an interval without 0, a change over the noise floor, and a p value of at \
             most 5 % after Benjamini and Hochberg over all cases"
                .into(),
            "判为有差异须同时满足：区间不含 0；变化超过噪声下限；对全部用例作 Benjamini–Hochberg 校正后 p 值不大于 5 %"
                .into(),
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign() {
        let texts = [0.378, -0.011, 0.0, 9.0, -0.9996].map(signed);
        assert_eq!(texts, ["+37.8", "−1.1", "+0.0", "+900", "−100"]);
    }
}
