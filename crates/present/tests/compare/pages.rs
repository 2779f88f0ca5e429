//! A comparison as people and programs read it: its very text, its width, its safety, and JSON that reads back.

use super::simulated::{Random, Scatter, Shape, rounds, run, scattered};
use crate::golden::holds;
use hostmark_analysis::compare::{Comparison, History, Pool, SAME, SCHEMA};
use hostmark_model::*;
use hostmark_present::RenderOptions;
use hostmark_present::export::comparison::{FORMATS, format_named};
use unicode_width::UnicodeWidthStr;

use crate::synthetic;

#[track_caller]
fn golden(name: &str, text: &str) {
    let again = "cargo test -p hostmark-present --test all compare::";
    holds(env!("CARGO_MANIFEST_DIR"), &format!("tests/golden/{name}"), text, again);
}

fn compared(base: Run, new: &[Run]) -> Comparison {
    let news: Vec<Pool> = new.iter().map(|run| Pool { name: &run.name, runs: std::slice::from_ref(run) }).collect();
    Comparison::of(Pool { name: &base.name, runs: std::slice::from_ref(&base) }, &news, &History::default(), SAME)
}

/// A kernel update that made calls dearer: what changed, what did not, what cannot be told.
fn an_update() -> Comparison {
    let skipped = |id: &str| {
        synthetic::case(id, Outcome::Skipped { reason: ReasonCode::HugePages.because("the kernel gave no huge pages") })
    };
    let side = |name: &str, factor: f64| {
        let near = |id: &str, value: f64| rounds(id, &[value * 0.999, value, value * 1.0012]);
        let mut run = run(
            name,
            vec![
                near("ipc.x@n=0", 88.1 * factor),
                near("ipc.x@n=1", 1620.0 * factor.sqrt()),
                near("ipc.x@n=2", 104.0 * factor.powf(0.005)),
                near("net.x@n=0", 12.4e9 * factor),
                near("fact.x@n=0", 12.0),
                skipped("fact.x@n=1"),
            ],
        );
        run.host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: unret".into());
        run
    };
    let mut new = side("after", 1.378);
    new.host.kernel.release = "6.18.4".into();
    new.host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: IBPB".into());
    new.disturbances.push(Text {
        en: "a busy process (pid 4711, cc1plus, 98 % of a CPU) disturbed this run".into(),
        zh: "有繁忙的进程（pid 4711，cc1plus，占一个 CPU 的 98%）干扰了本次运行".into(),
    });
    new.cases.push(rounds("ipc.x@n=9", &[1.0, 1.0, 1.0]));
    if let Outcome::Measured(measured) = &mut new.cases[1].outcome {
        measured.noise.disturbed = 30;
    }
    compared(side("before", 1.0), &[new])
}

#[test]
fn the_table_in_english_at_100_columns() {
    let options = RenderOptions { width: 100, ..RenderOptions::default() };
    golden("comparison-100-en.txt", &(format_named("table").unwrap().render)(&an_update(), &options));
}

#[test]
fn the_table_in_chinese_at_80_columns() {
    let options = RenderOptions { width: 80, lang: Lang::Zh, verbose: true, ..RenderOptions::default() };
    golden("comparison-80-zh.txt", &(format_named("table").unwrap().render)(&an_update(), &options));
}

#[test]
fn runs_named_in_any_order_began_before_they_ended() {
    let at = |name: &str, hour: &str| Run {
        started: format!("2026-11-21T{hour}:00:00Z"),
        ..run(name, vec![rounds("ipc.x@n=0", &[100.0; 5])])
    };
    let (base, new) = ([at("b", "09"), at("a", "07")], [at("c", "10")]);
    let (base, new) = (Pool { name: "before", runs: &base }, [Pool { name: "after", runs: &new }]);
    let comparison = Comparison::of(base, &new, &History::default(), SAME);
    let text = (format_named("table").unwrap().render)(&comparison, &RenderOptions::default());
    assert!(text.contains("2026-11-21T07:00:00Z … 2026-11-21T09:00:00Z"), "{text}");
}

#[test]
fn one_run_differs_from_none() {
    let [one, other] = ["a", "b"].map(|name| run(name, vec![rounds("ipc.x@n=0", &[100.0; 5])]));
    let (hosts, options) = (hostmark_present::export::format_named("hosts").unwrap(), RenderOptions::default());
    assert!(!hosts.render_one(&one, &options).contains("identical ("));
    assert!(hosts.render(&[one, other], &options).unwrap().contains("identical ("));
}

#[test]
fn the_markdown() {
    let text = (format_named("markdown").unwrap().render)(&an_update(), &RenderOptions::default());
    golden("comparison.md", &text);
}

#[test]
fn the_json_reads_back() {
    let comparison = an_update();
    let text = (format_named("json").unwrap().render)(&comparison, &RenderOptions::default());
    // What is for the eye alone is not in it.
    let again =
        (format_named("json").unwrap().render)(&serde_json::from_str(&text).unwrap(), &RenderOptions::default());
    assert_eq!(again, text);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], SCHEMA);
    assert_eq!(value["new"][0]["cases"][0]["verdict"], "slower");
    assert_eq!(value["new"][0]["cases"][0]["effect"]["test"]["runs"], 0);
}

#[test]
fn many_cases_are_shown_by_what_changed() {
    let mut random = Random(3);
    let scatter = Scatter { rounds: 5, round: 0.002, run: 0.0, shape: Shape::Normal };
    let base = scattered("a", &mut random, 120, scatter, 0);
    let new = scattered("b", &mut random, 120, scatter, 6);
    let comparison = compared(base, &[new]);
    let table = |verbose| (FORMATS[0].render)(&comparison, &RenderOptions { verbose, ..RenderOptions::default() });
    let rows = |text: &str, word: &str| text.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!(rows(&table(false), "slower"), 6);
    let text = table(false);
    let left_out =
        text.split_once("not shown: ").and_then(|(_, rest)| rest.split_once(" inconclusive")).map(|(of, _)| of);
    let counts = left_out.and_then(|of| of.split_once(" same, ")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(counts.0.parse::<u32>().unwrap() + counts.1.parse::<u32>().unwrap(), 114);
    assert!(table(true).lines().filter(|line| line.contains("unclear under") || line.ends_with("same")).count() >= 114);
}

/// What could steer a terminal, or be markup, wherever a file may have it.
fn hostile() -> Comparison {
    const EVIL: &str = "\u{1b}[31m|<img src=x>\n\u{202e}`*_";
    let side = |name: &str| {
        let mut run = run(name, vec![rounds("ipc.x@n=0", &[1.0, 1.1, 1.2])]);
        run.name = format!("{name}{EVIL}");
        run.host.hostname = EVIL.into();
        run.host.kernel.command_line = Some(format!("{name}={EVIL}"));
        run.host.kernel.vulnerabilities.insert(format!("{EVIL}{name}"), EVIL.into());
        run.disturbances.push(Text { en: EVIL.into(), zh: EVIL.into() });
        run.started = EVIL.into();
        run.probes[0].title = Text { en: EVIL.into(), zh: EVIL.into() };
        if let Outcome::Measured(measured) = &mut run.cases[0].outcome {
            measured.notes.insert("kernel".into(), format!("{name}{EVIL}"));
        }
        run.cases.push(synthetic::case("ipc.x@n=1", Outcome::Failed { reason: ReasonCode::CheckFailed.because(EVIL) }));
        run.cases[1].id = format!("{EVIL}{name}");
        run
    };
    compared(side("a"), &[side("b"), side("c")])
}

#[test]
fn nothing_steers_a_terminal_and_lines_fit() {
    for comparison in [hostile(), an_update()] {
        for width in [40, 80, 100, 160] {
            for lang in [Lang::En, Lang::Zh] {
                for verbose in [false, true] {
                    let options = RenderOptions { width, lang, verbose, color: false };
                    let text = (FORMATS[0].render)(&comparison, &options);
                    assert!(text.ends_with('\n') && !text.chars().any(|c| c != '\n' && c.is_control()), "{text:?}");
                    for line in text.lines() {
                        assert!(line.width() <= width && !line.ends_with(' '), "{} > {width}: {line:?}", line.width());
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_from_a_file_is_markup_in_markdown() {
    for lang in [Lang::En, Lang::Zh] {
        for verbose in [false, true] {
            let options = RenderOptions { lang, verbose, ..RenderOptions::default() };
            let text = (format_named("markdown").unwrap().render)(&hostile(), &options);
            assert!(!text.contains('<') && !text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
            assert!(text.replace("\\`", "").find('`').is_none(), "{text}");
            // A bar from a file would make a row longer than its heading.
            let bars = |line: &str| line.replace("\\|", "").matches('|').count();
            let rows: Vec<usize> = text.lines().filter(|line| line.starts_with('|')).map(bars).collect();
            assert!(rows.iter().all(|bars| [4, 6, 7].contains(bars)), "{rows:?}");
        }
    }
}
