//! Tables by name: those of sizes, and the first screen.

use hostmark_analysis::findings::first_thing_to_do;
use hostmark_present::tables::{TABLES, table_named};
use hostmark_say::say;

use crate::prelude::*;
use crate::synthetic::golden;

pub fn shown(run: &Run, table: &str, lang: Lang) -> String {
    let options = RenderOptions { lang, ..RenderOptions::default() };
    format_named(table).unwrap().render(std::slice::from_ref(run), &options).unwrap()
}

/// The probe's default on the axes that a cell does not name, and `point` where it asks for each.
fn id_of(cell: &CaseId, run: &Run, point: &str) -> String {
    let info = run.probes.iter().find(|info| info.id == cell.probe).unwrap();
    let value = |name: &str, default: &str| match cell.params.get(name) {
        Some(EACH_POINT) => point.to_owned(),
        other => other.unwrap_or(default).to_owned(),
    };
    let axes = info.axes.iter().map(|axis| format!("{}={}", axis.name, value(&axis.name, &axis.default)));
    format!("{}@{}", cell.probe, axes.collect::<Vec<_>>().join(","))
}

fn cells_of(table: &str, run: &Run) -> Vec<CaseId> {
    table_named(table).unwrap().cells(&run.host, run.settings.cpu)
}

/// A run of a table: rates fall and latencies rise with the size, and 3.1 GHz are told beside rates.
pub fn run_of(table: &str) -> Run {
    run_on(table, |_| ())
}

/// The same on a machine that `change` makes of the usual one.
pub fn run_on(table: &str, change: impl FnOnce(&mut Run)) -> Run {
    let mut run = synthetic::plausible();
    change(&mut run);
    run.cases.clear();
    run.probes.push(synthetic::probe(
        "ipc.bandwidth",
        ("pipe bandwidth", "管道带宽"),
        Unit::BytesPerSecond,
        ("Communication", "进程间通信"),
        &[("message", AxisKind::Size, "65536"), ("cpus", AxisKind::Placement, "same_cpu")],
    ));
    run.settings.table = Some(table.to_owned());
    for cell in cells_of(table, &run) {
        let has_each = cell.params.0.iter().any(|(_, value)| value == EACH_POINT);
        for point in if has_each { &["same_cpu", "same_cache"][..] } else { &[""] } {
            let number = |name: &str| cell.params.get(name).and_then(|value| value.parse::<f64>().ok());
            let size = number("size").or_else(|| number("message")).unwrap();
            let median = match number("pattern") {
                Some(stride) => 1.3 + (size / stride).sqrt(),
                None => 7e12 / size.sqrt() + 8e9 + point.len() as f64 * 1e8,
            };
            let mut case = synthetic::value(&id_of(&cell, &run, point), median);
            let measured = case.measured_mut().unwrap();
            if cell.probe == "memory.read" {
                measured.notes.insert("kernel".into(), "avx2-streams".into());
                let estimate = synthetic::estimate(median / 3.1e9, 0.004);
                measured.also.insert("bytes_per_cycle".into(), Also { estimate });
            }
            run.cases.push(case);
        }
    }
    run
}

/// The smallest and the largest median of its rounds.
fn range_of(measured: &Measured) -> Option<[f64; 2]> {
    let medians = || measured.rounds.iter().map(|round| round.median);
    Some([medians().reduce(f64::min)?, medians().reduce(f64::max)?])
}

#[test]
fn a_printed_range_holds_its_value_where_the_quiet_value_leads() {
    let mut run = run_of("memory-bandwidth");
    for measured in run.cases.iter_mut().filter_map(CaseRecord::measured_mut) {
        let (range, value) = (range_of(measured), 1.25 * measured.estimate.typical);
        let quiet = Some(Quiet { value, low: None, high: None, range: None, at_hz: None });
        (measured.estimate.quiet, measured.estimate.leading) = (quiet, Leading::Quiet);
        measured.estimate.range = range;
    }
    let text = shown(&run, "memory-bandwidth", Lang::En);
    let rows = text.lines().filter(|line| line.contains("blocksize:"));
    let ranged: Vec<_> = rows.filter_map(|line| line.split_once('[')).collect();
    assert!(ranged.len() > 10, "{text}");
    for (before, range) in ranged {
        let (low, high) = range.split_once(']').unwrap().0.split_once(" … ").unwrap();
        let value: f64 = before.split_whitespace().filter_map(|word| word.parse().ok()).next_back().unwrap();
        let [low, high]: [f64; 2] = [low, high].map(|end| end.trim().parse().unwrap());
        // Ends have three digits, the value more.
        assert!(low * 0.995 <= value && value <= high * 1.005, "{before}[{range}");
    }
}

/// The same of which two cells were not measured, one is gone, one has too few rounds, and one no one should believe.
fn incomplete(table: &str) -> Run {
    let mut run = run_of(table);
    run.cases[1].outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    run.cases[2].outcome = Outcome::Failed {
        reason: ReasonCode::ProcessDied
            .because(say!("the worker {how}", how = say!("ended with status {code}", code = 1))),
    };
    run.cases.remove(3);
    let few = run.cases[3].measured_mut().unwrap();
    (few.estimate.ci_low, few.estimate.ci_high, few.estimate.range) = (None, None, range_of(few));
    run.cases[4].measured_mut().unwrap().flags = vec![Flag::new(FlagKind::Implausible, "over what ports move")];
    run
}

#[test]
fn each_table_of_sizes_is_as_it_was_of_a_whole_run_and_of_one_that_lacks_cells() {
    for (name, whole, lacking) in
        [("memory-bandwidth", Lang::En, Lang::Zh), ("size-stride", Lang::En, Lang::Zh), ("pipe", Lang::Zh, Lang::En)]
    {
        for (run, lang) in [(run_of(name), whole), (incomplete(name), lacking)] {
            let language = if lang == Lang::En { "en" } else { "zh" };
            golden(&format!("{name}-{language}.txt"), &shown(&run, name, lang));
        }
    }
}

#[test]
fn a_run_of_something_else_says_how_to_measure_the_table() {
    for name in ["memory-bandwidth", "size-stride", "pipe"] {
        let text = shown(&synthetic::empty(), name, Lang::En);
        assert_eq!(text, format!("This run has no cell of this table; measure it by `hostmark run --table {name}`.\n"));
    }
}

#[test]
fn what_was_set_is_said() {
    let mut run = run_of("size-stride");
    run.settings.set.insert("page".into(), "base".into());
    assert!(shown(&run, "size-stride", Lang::En).contains("\nset: page=base\n"));
}

#[test]
fn what_others_took_is_said_below() {
    let mut run = run_of("pipe");
    run.disturbances
        .push(Text { en: "others used 14 % of CPU 1".into(), zh: "其他程序占用了 CPU 1 的 14%".into() });
    let flag = Flag::new(FlagKind::Contended, "others used 46 % of its CPU");
    run.cases[2].measured_mut().unwrap().flags.push(flag);
    let text = shown(&run, "pipe", Lang::En);
    let said = "\nothers used 14 % of CPU 1\n1 of 32 rows were measured while other programs used their CPUs\n";
    assert!(text.contains(said), "{text}");
}

#[test]
fn lines_are_those_of_the_hosts_size() {
    let run = run_on("size-stride", |run| {
        run.host.caches = vec![CacheFact {
            level: 1,
            kind: CacheKind::Data,
            size_bytes: 65536,
            line_bytes: Some(128),
            shared_cpus: vec![0],
            ways: None,
        }];
    });
    let text = shown(&run, "size-stride", Lang::En);
    // At a stride of half a line every second load stays in the line.
    assert!(text.contains("buflen =   16K   stride =    64   lines =   128"), "{text}");
    assert!(text.contains("buflen =   16K   stride =  1024   lines =    16"), "{text}");
}

#[test]
fn every_table_has_its_format_and_each_cell_once() {
    for table in TABLES {
        assert!(format_named(table.name).is_some(), "{}", table.name);
        let cells = cells_of(table.name, &synthetic::plausible());
        let unique: BTreeSet<String> = cells.iter().map(ToString::to_string).collect();
        assert!(cells.len() >= 4 && (table.name == "lmbench" || unique.len() == cells.len()), "{}", table.name);
    }
    assert!(table_named("html").is_none());
}

fn first_screen(run: &Run, options: RenderOptions) -> String {
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
            let text = first_screen(&run, options);
            assert!(text.lines().count() <= 21, "{width} columns:\n{text}");
            assert!(text.lines().all(|line| line.width() <= width), "{width} columns:\n{text}");
            assert!(text != table(&run, options) && text.ends_with('\n') && !text.contains("\n\n\n"), "{text}");
        }
    }
}

#[test]
fn it_has_the_constants_that_the_run_has() {
    let run = thorough::sampled(20);
    let text = first_screen(&run, RenderOptions::default());
    for name in ["L1d latency ", "DRAM ", "null call ", "context switch ", "pipe, "] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
    // What was planned and not measured says why; what was not planned is not there.
    let mut less = run;
    for case in less.cases.iter_mut().filter(|case| ["syscall.null", "sched.context_switch"].contains(&&*case.probe)) {
        case.outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    }
    for format in ["answer", "html", "markdown"] {
        let text =
            format_named(format).unwrap().render_one(&less, &RenderOptions { width: 200, ..RenderOptions::default() });
        assert!(text.contains("null call, context switch: not measured (no time left)"), "{format}: {text}");
    }
    less.cases.retain(|case| case.probe != "syscall.null");
    assert!(!first_screen(&less, RenderOptions::default()).contains("null call"));
}

#[test]
fn a_run_of_few_cases_and_whoever_asks_for_all_get_the_table() {
    let mut few = thorough::sampled(20);
    few.cases.retain(|case| case.probe == "ipc.round_trip");
    assert_eq!(first_screen(&few, RenderOptions::default()), table(&few, RenderOptions::default()));
    let verbose = RenderOptions { verbose: true, ..RenderOptions::default() };
    let run = thorough::sampled(20);
    assert_eq!(first_screen(&run, verbose), table(&run, verbose));
}

#[test]
fn the_page_and_markdown_begin_with_it() {
    let run = thorough::sampled(20);
    let options = RenderOptions::default();
    let markdown = format_named("markdown").unwrap().render_one(&run, &options);
    let page = format_named("html").unwrap().render_one(&run, &options);
    let console = first_screen(&run, options);
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
    let text = first_screen(&run, options);
    assert!(text.contains(&format!("! 2 of {cases} cases failed")), "{text}");
    assert!(text.contains(&format!("! {id}: no answer within 5 s\n")), "{text}");
    // However long a reason is, the rest of the answer stays on the screen.
    run.cases.swap(first, second);
    let text = first_screen(&run, RenderOptions { width: 80, ..RenderOptions::default() });
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
    let measured = case.measured_mut().unwrap();
    let tail = Also { estimate: synthetic::estimate(300e3, 0.01) };
    measured.also.insert(percentile.to_owned(), tail);
    run.cases.push(case);
    run
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_constant_says_which_percentile_it_is() {
    let [best, next] = ["p99", "p90"].map(with_writes);
    assert!(first_screen(&best, RenderOptions::default()).contains("p99 300"));
    assert!(first_screen(&next, RenderOptions::default()).contains("p90 300"));
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
            let shown = first_screen(&run, RenderOptions { width, lang, ..RenderOptions::default() });
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
        let measured = case.measured_mut().unwrap();
        let ns = measured.estimate.typical;
        let quiet = |value: f64, at_hz| Quiet { value, low: Some(value), high: Some(value), range: None, at_hz };
        measured.estimate = measured.estimate.clone().led_by(Some(quiet(ns, Some(3.1e9))));
        let cycles = &mut measured.also.get_mut("cycles").unwrap().estimate;
        *cycles = cycles.clone().led_by(Some(quiet(3.1 * ns, None)));
    }
    let text = first_screen(&run, RenderOptions { width: 200, ..RenderOptions::default() });
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
