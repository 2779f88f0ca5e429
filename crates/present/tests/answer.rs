//! The answer that stands first: one screen, whatever the width and the language, and the table where a run is none of a machine.

use hostmark_analysis::findings::first_thing_to_do;
use hostmark_model::{Also, Better, Doubt, Finding, Lang, Outcome, QuantityInfo, Quiet, ReasonCode, Run, Text, Unit};
use hostmark_present::RenderOptions;
use hostmark_present::export::format_named;
use unicode_width::UnicodeWidthStr;

use crate::synthetic;
use crate::thorough;

fn shown(run: &Run, options: RenderOptions) -> String {
    format_named("answer").unwrap().render_one(run, &options)
}

fn table(run: &Run, options: RenderOptions) -> String {
    format_named("table").unwrap().render_one(run, &options)
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn it_is_one_screen_at_every_width_in_both_languages() {
    let run = thorough::sampled(20);
    for lang in [Lang::En, Lang::Zh] {
        for width in [60, 72, 80, 100, 132, 160, 200] {
            let options = RenderOptions { width, lang, ..RenderOptions::default() };
            let text = shown(&run, options);
            assert!(text.lines().count() <= 21, "{width} columns:\n{text}");
            assert!(text.lines().all(|line| line.width() <= width), "{width} columns:\n{text}");
            assert!(text != table(&run, options) && text.ends_with('\n') && !text.contains("\n\n\n"), "{text}");
        }
    }
}

#[test]
fn it_has_the_constants_that_the_run_has() {
    let run = thorough::sampled(20);
    let text = shown(&run, RenderOptions::default());
    for name in ["L1d latency ", "DRAM ", "null call ", "context switch ", "pipe, "] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
    // What was planned and not measured says why; what was not planned is not there.
    let mut less = run;
    for case in less.cases.iter_mut().filter(|case| ["syscall.null", "sched.context_switch"].contains(&&*case.probe)) {
        case.outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    }
    let text = shown(&less, RenderOptions::default());
    assert!(text.contains("null call, context switch: not measured (no time left)"), "{text}");
    less.cases.retain(|case| case.probe != "syscall.null");
    assert!(!shown(&less, RenderOptions::default()).contains("null call"));
}

#[test]
fn a_run_of_few_cases_and_whoever_asks_for_all_get_the_table() {
    let mut few = thorough::sampled(20);
    few.cases.retain(|case| case.probe == "ipc.round_trip");
    assert_eq!(shown(&few, RenderOptions::default()), table(&few, RenderOptions::default()));
    let verbose = RenderOptions { verbose: true, ..RenderOptions::default() };
    let run = thorough::sampled(20);
    assert_eq!(shown(&run, verbose), table(&run, verbose));
}

#[test]
fn the_page_and_markdown_begin_with_it() {
    let run = thorough::sampled(20);
    let options = RenderOptions::default();
    let markdown = format_named("markdown").unwrap().render_one(&run, &options);
    let page = format_named("html").unwrap().render_one(&run, &options);
    let console = shown(&run, options);
    for text in [&markdown, &page] {
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} is not in\n{text}"));
        // Before the first table of cases, the facts and all findings.
        let rest = text.find("\n## Memory").or_else(|| text.find("id=\"host\"")).unwrap();
        for word in ["null call", "DRAM", "Main findings"] {
            assert!(at(word) < rest, "{word} does not stand first");
        }
    }
    // The same values.
    let null = console.split("null call ").nth(1).unwrap().trim().split(' ').next().unwrap().trim();
    assert!(markdown.contains(&format!("null call {null}")), "{null} is not in\n{markdown}");
}

#[test]
fn what_is_absent_is_reported_wherever_the_constants_stand() {
    let mut run = thorough::sampled(20);
    for case in run.cases.iter_mut().filter(|case| case.probe == "sched.context_switch") {
        case.outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    }
    let options = RenderOptions { width: 200, ..RenderOptions::default() };
    for format in ["answer", "html", "markdown"] {
        let text = format_named(format).unwrap().render_one(&run, &options);
        assert!(text.contains("context switch: not measured (no time left)"), "{format}:\n{text}");
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn the_first_case_that_failed_is_named_with_its_reason() {
    let mut run = thorough::sampled(20);
    run.cases.retain(|case| !matches!(case.outcome, Outcome::Failed { .. }));
    let others = run.cases.iter_mut().filter(|case| case.probe == "ipc.round_trip");
    for (case, why) in others.zip(["no answer within 5 s".to_owned(), "x ".repeat(500)]) {
        case.outcome = Outcome::Failed { reason: ReasonCode::TimedOut.because(why) };
    }
    let failed: Vec<usize> =
        (0..run.cases.len()).filter(|&at| matches!(run.cases[at].outcome, Outcome::Failed { .. })).collect();
    let &[first, second] = &failed[..] else { panic!("{failed:?}") };
    let (id, cases) = (run.cases[first].id.clone(), run.cases.len());
    let options = RenderOptions { width: 200, ..RenderOptions::default() };
    let text = shown(&run, options);
    assert!(text.contains(&format!("! 2 of {cases} cases failed")), "{text}");
    assert!(text.contains(&format!("! {id}: no answer within 5 s\n")), "{text}");
    // However long a reason is, the rest of the answer stays on the screen.
    run.cases.swap(first, second);
    let text = shown(&run, RenderOptions { width: 80, ..RenderOptions::default() });
    assert!(text.contains("x…\n") && text.lines().count() <= 24, "{text}");
}

/// A run that has the times of writes to a disk, with one percentile beside the median.
fn with_writes(percentile: &str) -> Run {
    let mut run = thorough::sampled(20);
    let mut info = synthetic::probe("disk.fsync", ("write", "写"), Unit::Nanoseconds, ("Disk", "磁盘"), &[]);
    let title = Text { en: percentile.to_owned(), zh: percentile.to_owned() };
    info.also = vec![QuantityInfo { name: percentile.into(), unit: Unit::Nanoseconds, better: Better::Neither, title }];
    run.probes.push(info);
    let mut case = synthetic::value("disk.fsync", 141e3);
    let Outcome::Measured(measured) = &mut case.outcome else { panic!("it is measured") };
    let tail = Also { estimate: synthetic::estimate(300e3, 0.01) };
    measured.also.insert(percentile.to_owned(), tail);
    run.cases.push(case);
    run
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_constant_says_which_percentile_it_is() {
    let [best, next] = ["p99", "p90"].map(with_writes);
    assert!(shown(&best, RenderOptions::default()).contains("p99 300"));
    assert!(shown(&next, RenderOptions::default()).contains("p90 300"));
    // Beside each other no value stands under the other's name.
    let page = format_named("html").unwrap().render(&[best, next], &RenderOptions::default()).unwrap();
    let row = page.split("</tr>").find(|row| row.contains(" p99</span></th>")).expect("a row");
    assert!(row.contains("p90 300"), "{row}");
}

/// About as long as findings and reasons are.
fn finding(number: usize) -> Finding {
    let en = "A round trip through a pipe takes 34.6 µs between two CPUs and 3.96 µs on one, 8.73 times as long: the CPU that waits goes idle, \
              which leaves the guest, and waking it is an interrupt that the hypervisor delivers. Pipelines pay it each time they wait.";
    let zh = "管道往返在两个 CPU 之间需 34.6 µs，在同一 CPU 上为 3.96 µs，是其 8.73 倍：等待的 CPU 进入空闲即退出虚拟机。流水线每次等待都要付出这一代价。";
    let text = |en: &str, zh: &str| Text { en: en.to_owned(), zh: zh.to_owned() };
    Finding {
        id: format!("kept.number_{number}"),
        short: text(
            "Pipe round trip: 34.6 µs between two CPUs, 3.96 µs on one (8.73x), with a kernel of Linux",
            "管道往返：两个 CPU 之间 34.6 µs，同一 CPU 上 3.96 µs，相差 8.73 倍，内核的版本为 Linux 6",
        ),
        text: text(en, zh),
        cure: Some(text(
            "Let two processes share a CPU. Or hand over more at a time.",
            "让两个进程共用一个 CPU。或每次多传一些。",
        )),
        command: Some("hostmark try idle-poll".into()),
        cases: Vec::new(),
        cost: 0.99,
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn three_findings_stand_in_it_however_many_reasons_the_grade_has() {
    let mut run = thorough::sampled(20);
    run.findings = (0..3).map(finding).collect();
    let text = |en: &str, zh: &str| Text { en: en.to_owned(), zh: zh.to_owned() };
    let doubt = Doubt {
        text: text(
            "other processes used the CPUs of 6.4 % of the cases, and rounds disagree by much",
            "其他进程占用了 CPU，各轮相差很大",
        ),
        cure: text("stop them, or choose other CPUs (--cpu)", "请停止这些进程，或选用其他 CPU（--cpu）"),
    };
    let trust = serde_json::json!({"grade": "C", "within": 0.21, "core": 0.08, "others": 0.35, "runs": 0, "doubts": vec![doubt; 4]});
    run.trust = serde_json::from_value(trust).unwrap();
    for lang in [Lang::En, Lang::Zh] {
        for width in [100, 132, 200] {
            let shown = shown(&run, RenderOptions { width, lang, ..RenderOptions::default() });
            assert!(shown.lines().count() <= 21, "{width}:\n{shown}");
            assert_eq!(shown.matches("34.6 µs").count(), 3, "{width}:\n{shown}");
            let joined = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(joined(&shown).matches(&joined(finding(0).short.get(lang))).count(), 3, "{width}:\n{shown}");
            // What costs most has the first thing to do below it, where lines are wide enough.
            let first = first_thing_to_do(finding(0).cure.as_ref().unwrap().get(lang)).to_owned();
            assert!(width < 132 || shown.contains(&first), "{width}: {first} is not in\n{shown}");
        }
    }
}

#[test]
fn what_the_core_does_by_itself_has_its_cycles() {
    let mut run = synthetic::plausible();
    let is_of_core = |id: &str| id.starts_with("cpu.latency@") || id == "memory.hierarchy@level=l1d";
    for case in run.cases.iter_mut().filter(|case| is_of_core(&case.id)) {
        let Outcome::Measured(measured) = &mut case.outcome else { panic!("it is measured") };
        let ns = measured.estimate.typical;
        let quiet = |value: f64, at_hz| Quiet { value, low: Some(value), high: Some(value), range: None, at_hz };
        measured.estimate = measured.estimate.clone().led_by(Some(quiet(ns, Some(3.1e9))));
        let cycles = &mut measured.also.get_mut("cycles").unwrap().estimate;
        *cycles = cycles.clone().led_by(Some(quiet(3.1 * ns, None)));
    }
    let text = shown(&run, RenderOptions { width: 200, ..RenderOptions::default() });
    let row = |label: &str| text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_else(|| panic!("{text}"));
    assert!(row("L1d latency").trim().starts_with("4.06 cycles"), "{text}");
    let text = table(&run, RenderOptions { width: 200, ..RenderOptions::default() });
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    let of =
        |begin: &str| lines.iter().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {text}"));
    assert!(of("MEMORY HIERARCHY").contains("size cycles latency"), "{text}");
    assert!(of("operation latency by op,").contains("cycles add mul"), "{text}");
    assert_eq!(of("type i64 1.00"), "type i64 1.00 3.00 14.2 14.3");
    assert_eq!(of("ns type i64"), "ns type i64 0.323 0.968 4.58 4.61");
    // A row of its own: the cycles in its column, the time first of what stands behind.
    let single = &mut run;
    single.cases.retain(|case| !case.id.starts_with("cpu.latency@") || case.id.ends_with("type=i64,op=add"));
    for format in ["table", "markdown"] {
        let text = format_named(format).unwrap().render_one(single, &RenderOptions::default());
        let (before, behind) = text.split_once("1.00 cycles").unwrap_or_else(|| panic!("{text}"));
        assert!(before.lines().last().unwrap().contains("operation latency"), "{text}");
        assert!(behind.lines().take(2).any(|line| line.contains("0.323 ns")), "{text}");
    }
}
