//! Tests of a trial's sentences, in both languages.

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
