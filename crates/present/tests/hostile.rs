//! Promises of every printer: no line is wider than asked for, and nothing of a run steers or is markup.

use std::time::{Duration, Instant};

use hostmark_analysis::escape::steers;
use hostmark_analysis::findings::host::host_report;
use hostmark_analysis::{consistency, findings};
use hostmark_present::render::{handbook, host};

use crate::data_path::named::one_cpu;
use crate::mutated::{Mutator, trials};
use crate::peers;
use crate::prelude::*;
use crate::synthetic::*;

/// A bell, colours by both introducers, a change of direction of each kind, marks without a picture, a formula, markup.
const EVIL: &str = "=1+1\u{1b}[31m\u{9b}31m\u{7}\u{0}\u{7f}\r\n\t\u{202e}\u{2066}\u{200f}\u{61c}\u{feff}\u{e0041}<b>|`";

/// The ways to the strings of a document; `*` stands for any place of a list and any key of a map that may have any.
fn ways(value: &Value, way: &mut Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    match value {
        Value::String(_) => drop(found.insert(way.clone())),
        Value::Array(values) => values.iter().for_each(|value| step("*", value, way, found)),
        Value::Object(map) => map.iter().for_each(|(key, value)| step(key, value, way, found)),
        _ => {}
    }
}

fn step(key: &str, value: &Value, way: &mut Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    way.push(key.to_owned());
    ways(value, way, found);
    way.pop();
}

/// Puts the hostile text, or its key, behind every string on this way.
fn spoil(value: &mut Value, way: &[String], is_key: bool) {
    match (value, way) {
        (Value::Object(map), [last]) if is_key => {
            if let Some(old) = map.remove(last) {
                map.insert(format!("{EVIL}{last}"), old);
            }
        }
        // First and last: what begins with a formula, and what only ends with what steers.
        (Value::String(text), []) => *text = format!("{EVIL}{text}{EVIL}"),
        (Value::Array(values), [_, rest @ ..]) => values.iter_mut().for_each(|value| spoil(value, rest, is_key)),
        (Value::Object(map), [key, rest @ ..]) => {
            if let Some(value) = map.get_mut(key) {
                spoil(value, rest, is_key);
            }
        }
        _ => {}
    }
}

/// A run in which every string and every key that the schema leaves free is hostile, and how many ways there were.
fn hostile(of: &Run) -> (Run, usize) {
    let mut whole = serde_json::to_value(of).unwrap();
    let mut found = BTreeSet::new();
    ways(&whole, &mut Vec::new(), &mut found);
    let mut spoilt = 0;
    for way in &found {
        for is_key in [false, true] {
            let mut trial = whole.clone();
            spoil(&mut trial, way, is_key);
            // What cannot be loaded, or is dropped as an unknown field, is no way for a text.
            let run = load_run(&trial.to_string());
            if run.is_ok_and(|run| serde_json::to_value(&run).is_ok_and(|again| again == trial)) && trial != whole {
                (whole, spoilt) = (trial, spoilt + 1);
            }
        }
    }
    (load_run(&whole.to_string()).unwrap(), spoilt)
}

/// A run with a text wherever one may stand.
fn with_every_text() -> Run {
    let mut run = peers::three_hosts();
    run.cases.extend(one_cpu().cases);
    // Every outcome and every probe once is enough: each string is tried by itself.
    let mut seen = BTreeSet::new();
    run.cases.retain(|case| seen.insert((case.probe.clone(), case.measured().is_some())));
    let text = || hostmark_model::Text { en: "x".to_owned(), zh: "x".to_owned() };
    run.interrupted = Some("x".into());
    run.finished = Some("x".into());
    run.disturbances = vec![text()];
    run.again = Some(Again { version: "x".into(), gaps: vec![Gap { what: text(), cases: vec!["x".into()] }] });
    let events = vec![
        Event::Note { key: "x".into(), value: "x".into() },
        Event::Failed { reason: ReasonCode::CheckFailed.because("x") },
    ];
    run.lost_rounds = vec![LostRound { case: "x".into(), round: 0, cpus: vec![0], others: None, events }];
    run.settings.filters = vec!["x".into()];
    run.settings.set.insert("command".into(), "x".into());
    run.host.kernel.command_line = Some("x".into());
    run.host.kernel.vulnerabilities.insert("x".into(), "x".into());
    run.findings = hostmark_analysis::findings(&run);
    run
}

fn options() -> impl Iterator<Item = RenderOptions> {
    let all = [(Lang::En, false), (Lang::En, true), (Lang::Zh, false), (Lang::Zh, true)];
    all.into_iter().map(|(lang, verbose)| RenderOptions { lang, verbose, ..RenderOptions::default() })
}

/// Nothing of a file steers, and none of it is markup: no element of HTML, and in Markdown neither a tag nor a bar between cells.
#[track_caller]
pub fn steers_nothing(format: &str, text: &str) {
    let found = text.char_indices().find(|&(_, c)| c != '\n' && steers(c));
    let around =
        |at: usize| text[..at].chars().rev().take(80).collect::<Vec<char>>().into_iter().rev().collect::<String>();
    assert!(found.is_none(), "{format}: {found:?} behind {:?}", found.map(|(at, _)| around(at)));
    assert!(format != "html" || text.matches("<script").count() == 1, "text of the file is markup");
    if ["html", "markdown"].contains(&format) {
        let markup =
            ["<script>alert", "<img", "<svg/", "<b>|", "\n# TYPE"].into_iter().find(|part| text.contains(part));
        assert_eq!(markup, None, "{format}: {text}");
    }
    if format == "markdown" {
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        for table in text.split("\n\n").filter(|block| block.starts_with("| ")) {
            let rows: Vec<usize> = table.lines().filter(|line| line.starts_with('|')).map(bars).collect();
            assert!(rows.len() > 2 && rows.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
        }
    }
}

#[test]
fn hostile_texts_are_shown_as_text_in_every_format() {
    let native = Run { name: "native".into(), ..plausible() };
    let runs = [native.clone(), native, thorough::hostile(), thorough::hostile()];
    let sides = ["a", "b"].map(|name| {
        let mut run = thorough::hostile();
        for text in [&mut run.id, &mut run.name, &mut run.host.kernel.release, &mut run.cases[1].id] {
            text.push_str(name);
        }
        [run]
    });
    let comparison = crate::compare::compared(&sides[0], &sides[1]);
    let sets = if cfg!(feature = "system") { usize::MAX } else { 1 };
    for options in options().take(sets) {
        for format in export::FORMATS {
            let texts = [Some(format.render_one(&runs[2], &options)), format.render(&runs, &options)];
            for text in texts.iter().flatten() {
                steers_nothing(format.name, text);
                assert!(format.name != "html" || text.contains("&lt;script&gt;alert(1)"), "the text is not there");
            }
        }
        for format in export::comparison::FORMATS {
            steers_nothing(format.name, &(format.render)(&comparison, &options));
        }
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn no_string_of_a_file_steers_in_any_format_of_a_run_and_of_a_comparison_or_is_a_formula() {
    let (run, spoilt) = hostile(&with_every_text());
    // The file has many more free texts than its name and its host.
    assert!(spoilt > 60, "{spoilt}");
    let mut new = run.clone();
    new.host.kernel.release += "other";
    new.cases.truncate(run.cases.len() / 2);
    let pool = |of| Pool { name: &run.name, runs: std::slice::from_ref(of) };
    let comparison = Comparison::of(pool(&run), &[pool(&new)], &History::default(), SAME);
    for options in options() {
        for format in export::FORMATS {
            steers_nothing(format.name, &format.render_one(&run, &options));
            if let Some(text) = format.render(&[run.clone(), run.clone()], &options) {
                steers_nothing(format.name, &text);
            }
        }
        for format in export::comparison::FORMATS {
            steers_nothing(format.name, &(format.render)(&comparison, &options));
        }
    }
    let text = |format: &str| export::format_named(format).unwrap().render_one(&run, &RenderOptions::default());
    assert_eq!(load_run(&text("json")).unwrap(), run);
    let rows: Vec<_> = csv::Reader::from_reader(text("csv").as_bytes()).into_records().map(Result::unwrap).collect();
    assert!(rows.len() >= run.cases.len());
    for field in rows.iter().flatten() {
        let is_formula = field.trim_start().starts_with(['=', '+', '-', '@']);
        assert!(!is_formula || field.parse::<f64>().is_ok(), "{field:?}");
    }
}

/// Far more than any takes on a loaded machine: one that goes over a hostile number of steps has no end.
const ENDLESS: Duration = Duration::from_secs(60);

fn small() -> Run {
    let mut run = peers::three_hosts();
    let mut seen = std::collections::BTreeSet::new();
    let mut of_probe = std::collections::BTreeMap::<String, usize>::new();
    run.cases.retain(|case| {
        let count = of_probe.entry(case.probe.clone()).or_default();
        *count += 1;
        seen.insert((case.probe.clone(), case.measured().is_some())) || *count < 5
    });
    run
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_the_values_of_a_run_are_it_is_shown_in_every_format() {
    let run = small();
    let whole = serde_json::to_value(&run).unwrap();
    let mut draw = Mutator::new(0x5eed);
    let mut read = 0;
    for trial in 0..2 * trials(150) {
        // More documents, where few of the first could be read.
        if trial >= trials(150) && read > trials(150) / 4 {
            break;
        }
        let mut document = whole.clone();
        draw.document(&mut document);
        let Ok(hostile) = serde_json::from_value::<Run>(document.clone()) else { continue };
        read += 1;
        #[expect(clippy::disallowed_methods, reason = "bounds a wait")]
        let begin = Instant::now();
        let text = document.to_string();
        let shown = std::panic::catch_unwind(|| show(&hostile, &run, trial));
        let name = || {
            let file = std::env::temp_dir().join(format!("hostmark-hostile-{trial}.json"));
            let _ = std::fs::write(&file, &text);
            file
        };
        assert!(shown.is_ok(), "trial {trial}: {}", name().display());
        assert!(begin.elapsed() < ENDLESS, "trial {trial}: {}", name().display());
    }
    assert!(read > trials(150) / 4, "only {read} could be read");
}

fn show(hostile: &Run, other: &Run, trial: usize) {
    let lang = if trial.is_multiple_of(2) { Lang::En } else { Lang::Zh };
    let options = RenderOptions { lang, verbose: trial % 4 < 2, ..RenderOptions::default() };
    consistency::sentence(hostile);
    let mut again = hostile.clone();
    again.findings = findings(hostile);
    for format in export::FORMATS {
        steers_nothing(format.name, &format.render_one(&again, &options));
    }
    let pool = |run| Pool { name: "a", runs: std::slice::from_ref(run) };
    let comparison = Comparison::of(pool(other), &[pool(&again)], &History::default(), SAME);
    for format in export::comparison::FORMATS {
        steers_nothing(format.name, &(format.render)(&comparison, &options));
    }
    if let Some(both) = export::format_named("html").and_then(|html| html.render(&[again, other.clone()], &options)) {
        steers_nothing("html", &both);
    }
}

const WIDTHS: [usize; 7] = [60, 72, 80, 100, 132, 160, 200];

/// Formats for a terminal that show one run. One form is as its author's program prints it, whatever the width: stream.
const OF_ONE: [&str; 7] = ["answer", "table", "memory-bandwidth", "size-stride", "pipe", "lmbench", "data-path"];

/// A run with everything: one that is like those of machines, one of a large machine with pairs of CPUs, and those whose texts are
/// odd or mean.
fn runs() -> Vec<(&'static str, Run)> {
    let named = |name: &str, mut run: Run| {
        run.name = name.to_owned();
        run
    };
    vec![
        ("plausible", named("before", plausible())),
        ("thorough", named("20261125T030221Z-a-host-of-a-long-name-7238", thorough::thorough())),
        ("pairs", named("pairs", thorough::with_charts(thorough::thorough(), 12))),
        ("hostile", named("hostile", thorough::hostile())),
        ("odd", named("odd", thorough::odd())),
        ("empty", named("empty", empty())),
        ("data path", named("data path", one_cpu())),
    ]
}

fn every(check: impl Fn(RenderOptions)) {
    for lang in [Lang::En, Lang::Zh] {
        for width in WIDTHS {
            // What is shown of everything is as wide as its rows are: the narrowest tells.
            for verbose in [false, true].into_iter().take(if width == 60 { 2 } else { 1 }) {
                check(RenderOptions { width, lang, verbose, color: false });
            }
        }
    }
}

#[track_caller]
fn assert_fits(what: &str, text: &str, options: &RenderOptions) {
    for line in text.lines() {
        assert!(
            line.width() <= options.width && !line.ends_with(' '),
            "{what}, {} columns, {:?}: {} wide\n{line}",
            options.width,
            options.lang,
            line.width()
        );
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_page_of_a_run_keeps_its_width() {
    for (name, run) in runs() {
        every(|options| {
            // The other formats have the same values of all of these.
            let formats = if ["thorough", "odd", "data path"].contains(&name) { &OF_ONE[..] } else { &OF_ONE[..2] };
            for format in formats {
                let text = format_named(format).unwrap().render_one(&run, &options);
                assert_fits(&format!("{format} of {name}"), &text, &options);
            }
        });
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_page_of_several_runs_keeps_its_width() {
    let runs: Vec<Run> = runs().into_iter().map(|(_, run)| run).collect();
    let many: Vec<Run> = runs.iter().chain(&runs).cloned().collect();
    every(|options| {
        for format in ["hosts", "overhead", "lmbench"] {
            for some in [&runs[..2], &many].into_iter().take(if options.width == 60 { 2 } else { 1 }) {
                assert_fits(format, &format_named(format).unwrap().render(some, &options).unwrap(), &options);
            }
        }
    });
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_comparison_keeps_its_width() {
    let slower = |mut run: Run| {
        for measured in run.cases.iter_mut().filter_map(hostmark_model::CaseRecord::measured_mut) {
            measured.estimate.typical *= 1.5;
            measured.rounds.iter_mut().for_each(|round| round.median *= 1.5);
        }
        run
    };
    for (name, base) in &runs() {
        let new = slower(base.clone());
        let pool = |run| Pool { name, runs: std::slice::from_ref(run) };
        let compared = Comparison::of(pool(base), &[pool(&new)], &History::default(), SAME);
        every(|options| assert_fits(name, &(comparison::FORMATS[0].render)(&compared, &options), &options));
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_host_and_the_handbook_keep_their_width() {
    for (name, run) in runs() {
        let report = host_report(run.host.clone(), Disturbed::default());
        every(|options| {
            assert_fits(name, &host::host(&report, &options), &options);
            // The handbook is of the program's own probes, whose texts nobody else writes.
            if !["hostile", "odd"].contains(&name) {
                assert_fits(name, &handbook::contents(&run.probes, &options), &options);
                assert_fits(name, &handbook::pages(&run.probes, &options), &options);
            }
        });
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn no_number_is_parted_from_its_unit_by_the_end_of_a_line() {
    const UNITS: [&str; 12] = ["ns", "µs", "ms", "s", "%", "KiB", "MiB", "GiB", "GB/s", "MB/s", "GHz", "秒"];
    let ends_with_number = |line: &str| {
        let last = line.trim_end().rsplit(' ').next().unwrap_or_default();
        !last.is_empty()
            && last.chars().all(|c| c.is_ascii_digit() || ".±<≈≤−".contains(c))
            && last.ends_with(|c: char| c.is_ascii_digit())
    };
    let begins_with_unit = |line: &str| {
        let first =
            line.trim_start().split([' ', ',', '，', ';', '；', '.', '。', ':', ')']).next().unwrap_or_default();
        UNITS.contains(&first)
    };
    for (name, run) in runs().into_iter().filter(|(name, _)| ["plausible", "thorough"].contains(name)) {
        every(|options| {
            if options.width > 100 || options.verbose {
                return;
            }
            for format in ["answer", "table"] {
                let text = format_named(format).unwrap().render_one(&run, &options);
                let lines: Vec<&str> = text.lines().collect();
                for pair in lines.windows(2) {
                    let is_parted = ends_with_number(pair[0]) && begins_with_unit(pair[1]);
                    assert!(!is_parted, "{format} of {name}, {} columns:\n{}\n{}", options.width, pair[0], pair[1]);
                }
            }
        });
    }
}
