//! Text around the verdicts of `hostmark try`: the setting's effect here, and how to make it permanent. And the list of settings.

use hostmark_analysis::compare::{Against, CaseComparison, Comparison, Test, Verdict};
use hostmark_analysis::format::{number, percent, percent_number};
use hostmark_analysis::typography::COMMA;
use hostmark_analysis::words;
use hostmark_model::{Message, Text};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::console::page::{Page, Style};

/// Changes that the sentence tells at most.
const MOST_SHOWN: usize = 3;
/// Least ratio of a change that is shown as a factor.
const FACTOR: f64 = 2.0;

const SETTINGS: Text = term!("SETTINGS TO TRY");

/// Texts of a trial beside its verdicts.
#[derive(Debug, Clone)]
pub struct TrialText {
    /// The start of a sentence that goes on with what changed, and of one that goes on with what did not.
    pub makes: [Text; 2],
    /// Cases by their filters, `probe@axis=value`, and what each measures, the most important first. Others have their labels.
    pub names: Vec<(String, Text)>,
    /// Instructions to make it permanent.
    pub permanent: Text,
    pub pairs: u32,
}

/// Says in a comparison what the setting does here and, where a case got better or otherwise changed, how it is made permanent.
pub fn say(comparison: &mut Comparison, trial: &TrialText) {
    for against in &mut comparison.new {
        let does = words(sentence(against, trial));
        let pays = against.cases.iter().any(|case| PAYS.contains(&case.verdict));
        let keep = pays.then(|| words(say!("To make it permanent: {permanent}", permanent = trial.permanent)));
        against.said = std::iter::once(does).chain(keep).collect();
    }
}

/// Verdicts after which somebody may want to keep the setting.
const PAYS: [Verdict; 3] = [Verdict::Faster, Verdict::Changed, Verdict::ChangedShape];

/// Effect of the setting here.
fn sentence(against: &Against, trial: &TrialText) -> Message {
    let cases = in_order(against, trial);
    let of = |wanted: &[Verdict]| -> Vec<&(&CaseComparison, Message)> {
        cases.iter().filter(|(case, _)| wanted.contains(&case.verdict)).collect()
    };
    let changed = of(&[Verdict::Slower, Verdict::Faster, Verdict::Changed, Verdict::ChangedShape]);
    let (same, undecided) = (of(&[Verdict::Same]), of(&[Verdict::Inconclusive]));
    let [makes, keeps] = trial.makes;
    if !changed.is_empty() {
        let parts = changed.iter().take(MOST_SHOWN).filter_map(|(case, name)| {
            let change = change(case.decisive_test()?);
            Some(say!("{name} {change}"))
        });
        return say!("{makes} {parts}.", parts = listed(parts.collect()));
    }
    if !same.is_empty() {
        let parts = same.iter().take(MOST_SHOWN).filter_map(|(case, name)| {
            let within = percent(case.decisive_test()?.within);
            Some(say!("{name} (by {within} at most)"))
        });
        return say!("{keeps} {parts} here.", parts = listed(parts.collect()));
    }
    let pairs = trial.pairs;
    match undecided.first() {
        Some((case, name)) => {
            let more = (pairs * 4).max(10);
            let range = case.decisive_test().map(range).unwrap_or_default();
            say!("{pairs} pairs cannot tell what it does to {name} ({range}); try --pairs {more}.")
        }
        None => say!("No case could be compared; the reasons stand below."),
    }
}

/// `a, b and c`
fn listed(mut parts: Vec<Message>) -> Message {
    match parts.pop() {
        Some(last) if !parts.is_empty() => say!("{parts} and {last}", parts = Message::joined(parts, COMMA)),
        last => Message::joined(last, COMMA),
    }
}

/// The cases with what they are called: those that the setting concerns first, in their order.
fn in_order<'a>(against: &'a Against, trial: &TrialText) -> Vec<(&'a CaseComparison, Message)> {
    let named = trial.names.iter().filter_map(|(filter, name)| {
        let case = against.cases.iter().find(|case| is_at(case, filter))?;
        Some((case, Message::from(*name)))
    });
    let named: Vec<(&CaseComparison, Message)> = named.collect();
    let mut others: Vec<&CaseComparison> = against.cases.iter().collect();
    others.retain(|case| named.iter().all(|(known, _)| known.id != case.id));
    let size = |case: &CaseComparison| case.decisive_test().map_or(0.0, |test| test.ratio.ln().abs());
    others.sort_by(|one, other| size(other).total_cmp(&size(one)));
    // Nothing else is told where the setting's own cases are there.
    match named.is_empty() {
        true => {
            let quoted = |case: &CaseComparison| say!("'{name}'", name = case.label);
            others.into_iter().map(|case| (case, quoted(case))).collect()
        }
        false => named,
    }
}

/// Tells whether a case lies where a filter says.
fn is_at(case: &CaseComparison, filter: &str) -> bool {
    let (probe, points) = filter.split_once('@').unwrap_or((filter, ""));
    let mut points = points.split(',').filter_map(|point| point.split_once('='));
    case.probe == probe && points.all(|(axis, value)| case.params.get(axis) == Some(value))
}

/// `18 % lower (12 … 23 %)`, `3.4 times as high (3.1 … 3.7)`.
fn change(test: &Test) -> Message {
    let Test { ratio, low, high, .. } = *test;
    if ratio >= FACTOR {
        let (times, range) = (number(ratio), format!("{} … {}", number(low), number(high)));
        return say!("{times} times as high ({range})");
    }
    let (by, range) = (percent((ratio - 1.0).abs()), range(test));
    if ratio < 1.0 { say!("{by} lower ({range})") } else { say!("{by} higher ({range})") }
}

/// The interval of a change: of one that is certain of its direction without signs.
fn range(test: &Test) -> Message {
    let [low, high] = [test.low, test.high].map(|ratio| ratio - 1.0);
    let signed = |fraction: f64| match fraction > 0.0 {
        true => format!("+{}", percent_number(fraction)),
        false => percent_number(fraction),
    };
    match (low >= 0.0, high <= 0.0) {
        (true, _) => format!("{} … {} %", percent_number(low), percent_number(high)).into(),
        (_, true) => format!("{} … {} %", percent_number(-high), percent_number(-low)).into(),
        _ => say!("between {low} and {high} %", low = signed(low), high = signed(high)),
    }
}

/// A setting as the list shows it.
#[derive(Debug, Clone)]
pub struct Listed<'a> {
    pub name: &'a str,
    pub what: Text,
    pub findings: &'a [&'a str],
    /// Reason why it cannot be tried here, if it cannot.
    pub possible: Result<(), Text<String>>,
}

/// The settings, and which of them can be tried here.
pub fn list(all: &[Listed], options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    let (title, how) = (page.say(SETTINGS), page.say(term!("hostmark try TUNING")));
    page.heading(title, how);
    let width = all.iter().map(|one| one.name.width()).max().unwrap_or(0);
    let lang = options.lang;
    for one in all {
        let name = format!("  {}{}  ", one.name, " ".repeat(width - one.name.width()));
        let indent = " ".repeat(name.width());
        page.paragraph(&name, one.what.get(lang), Style::Plain);
        if let Err(why) = &one.possible {
            let cannot = page.say(term!("not here: "));
            page.paragraph(&indent, &format!("{cannot}{}", why.get(lang)), Style::Warning);
        }
        if !one.findings.is_empty() {
            let cures = page.say(term!("finding: "));
            page.paragraph(&indent, &format!("{cures}{}", one.findings.join(", ")), Style::Dim);
        }
    }
    page.into_text()
}

#[cfg(test)]
mod tests {
    use hostmark_analysis::compare::{Counts, Effect, Side};
    use hostmark_model::{Better, Lang, Params};

    use super::*;

    fn test(ratio: f64, low: f64, high: f64) -> Test {
        Test {
            ratio,
            low,
            high,
            p_value: 0.001,
            adjusted_p_value: 0.001,
            same_p_value: 1.0,
            within: 0.021,
            visible: 0.03,
            deviation: 0.01,
            runs: 10,
        }
    }

    fn case(probe: &str, size: &str, verdict: Verdict, test: Test) -> CaseComparison {
        CaseComparison {
            id: format!("{probe}@size={size}"),
            typed: String::new(),
            probe: probe.into(),
            params: Params(vec![("size".into(), size.into())]),
            label: Text { en: format!("Case of {probe}"), zh: format!("{probe} 的用例") },
            figure: None,
            section: Text::default(),
            unit: None,
            better: Some(Better::Lower),
            estimator: None,
            beside: None,
            base: None,
            new: None,
            effect: Some(Effect { ratio: test.ratio, test: Some(test), others: Vec::new() }),
            verdict,
            reason: None,
            failed_runs: 0,
            remarks: Vec::new(),
        }
    }

    fn said(cases: Vec<CaseComparison>, names: &[(&str, Text)]) -> [String; 2] {
        let side = Side { name: "b".into(), runs: Vec::new(), disturbances: Vec::new() };
        let against = Against {
            side,
            differs: Vec::new(),
            same: 0,
            program: Default::default(),
            said: Vec::new(),
            warnings: Vec::new(),
            same_within: 0.05,
            clock: None,
            groups: Vec::new(),
            tables: Vec::new(),
            cases,
            without: Vec::new(),
            counts: Counts::default(),
        };
        let trial = TrialText {
            makes: [Text { en: "It makes", zh: "它使" }, Text { en: "It does not change", zh: "它不改变" }],
            names: names.iter().map(|(filter, name)| ((*filter).to_owned(), *name)).collect(),
            permanent: Text { en: "do it", zh: "去做" },
            pairs: 5,
        };
        let base = Side { name: "a".into(), runs: Vec::new(), disturbances: Vec::new() };
        let mut comparison = Comparison { schema: String::new(), base, new: vec![against] };
        say(&mut comparison, &trial);
        let pays = comparison.new[0].cases.iter().any(|case| case.verdict == Verdict::Faster);
        let [does, keep @ ..] = &comparison.new[0].said[..] else { panic!("nothing is said") };
        // What makes nothing faster is not to be kept.
        assert_eq!(
            keep.iter().map(|keep| keep.en.as_str()).collect::<Vec<_>>(),
            ["To make it permanent: do it"].repeat(pays.into())
        );
        [does.en.clone(), does.zh.clone()]
    }

    const LATENCY: (&str, Text) = ("a.latency@size=64", Text { en: "DRAM latency", zh: "DRAM 延迟" });
    const CALL: (&str, Text) = ("a.call", Text { en: "a call", zh: "调用" });

    #[test]
    fn what_changed_is_reported_first_in_the_setting_s_own_order() {
        let cases = || {
            vec![
                case("a.call", "1", Verdict::Slower, test(1.05, 1.02, 1.08)),
                case("a.latency", "32", Verdict::Slower, test(9.0, 8.0, 10.0)),
                case("a.latency", "64", Verdict::Faster, test(0.82, 0.77, 0.88)),
            ]
        };
        let [en, zh] = said(cases(), &[LATENCY, CALL]);
        assert_eq!(en, "It makes DRAM latency 18 % lower (12 … 23 %) and a call 5.0 % higher (2.0 … 8.0 %).");
        assert_eq!(zh, "它使 DRAM 延迟降低 18 %（12 … 23 %），调用升高 5.0 %（2.0 … 8.0 %）。");
        let [en, _] = said(cases(), &[]);
        assert!(en.starts_with("It makes 'Case of a.latency' 9.00 times as high (8.00 … 10.0), "), "{en}");
    }

    #[test]
    fn what_did_not_change_or_cannot_be_reported_is_no_change() {
        let cases = |verdict| vec![case("a.latency", "64", verdict, test(1.01, 0.97, 1.06))];
        let [en, zh] = said(cases(Verdict::Same), &[LATENCY]);
        assert_eq!(en, "It does not change DRAM latency (by 2.1 % at most) here.");
        assert_eq!(zh, "它不改变 DRAM 延迟（至多 2.1 %）。");
        let [en, zh] = said(cases(Verdict::Inconclusive), &[LATENCY]);
        assert_eq!(en, "5 pairs cannot tell what it does to DRAM latency (between −3.0 and +6.0 %); try --pairs 20.");
        assert_eq!(zh, "5 对运行无法判定其对 DRAM 延迟的影响（在 −3.0 与 +6.0% 之间）；请试 --pairs 20。");
        let [en, zh] = said(cases(Verdict::NotComparable), &[LATENCY]);
        assert!(en.starts_with("No case could be compared") && zh.starts_with("没有可比较的用例"), "{en} {zh}");
    }

    #[test]
    fn a_setting_that_cannot_be_tried_says_why_in_the_list() {
        let why = Text { en: "no root".to_owned(), zh: "无 root 权限".to_owned() };
        let what = Text { en: "what it does", zh: "作用" };
        let listed = [
            Listed { name: "long-name", what, findings: &["a.rule", "b.rule"], possible: Ok(()) },
            Listed { name: "other", what, findings: &[], possible: Err(why) },
        ];
        let text = list(&listed, &RenderOptions::default());
        let expected = "SETTINGS TO TRY   hostmark try TUNING\n  long-name  what it does\n             finding: a.rule, b.rule\n  other      what it does\n             not here: no root\n";
        assert_eq!(text, expected);
        let text = list(&listed, &RenderOptions { lang: Lang::Zh, ..RenderOptions::default() });
        assert!(text.contains("此处不可用：无 root 权限"), "{text}");
    }
}
