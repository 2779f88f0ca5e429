//! What a file says of itself: contradictions, forms of older versions, and reasons.

use std::io;
use std::sync::LazyLock;

use hostmark_analysis::Spoken;
use hostmark_analysis::consistency::{contradictions, sentence};
use hostmark_analysis::reasons::localized;

use crate::compare::pages::{self, Random, SAMPLES, Scatter, Shape, rounds, scattered};
use crate::prelude::*;
use crate::redact::marked;
use crate::synthetic::of;

const TIME: &str = "ipc.x@n=0";

/// Five rounds of a time, with a disturbed sample that is left out, and percentiles.
fn case_of_a_time() -> CaseRecord {
    let mut case = rounds(TIME, &[99.0, 99.5, 100.0, 101.0, 102.0]);
    let measured = of(&mut case);
    measured.samples[1].push(900.0);
    measured.rounds[1].disturbance_flags.push(DisturbanceFlags::DELAYED);
    measured.noise.left_out = 1;
    for (name, value) in [("p50", 100.0), ("p90", 120.0), ("p999", 300.0)] {
        let one = rounds(TIME, &[value; 5]);
        measured.also.insert(name.into(), Also { estimate: one.measured().unwrap().estimate.clone() });
    }
    measured.histogram = Some(Histogram { values: vec![90, 100, 300], counts: vec![5, 50, 1] });
    case
}

fn a_run() -> Run {
    let mut vote = rounds("fact.x@n=0", &[64.0, 64.0, 64.0]);
    let voted = of(&mut vote);
    voted.samples[0][0] = 128.0;
    voted.estimate = Estimate { ci_low: None, ci_high: None, agreement: Some(1.0), ..voted.estimate.clone() };
    let mut derived = rounds("ipc.x@n=1", &[7.0, 8.0, 9.0]);
    of(&mut derived).rounds.clear();
    let mut negative = rounds("ipc.x@n=2", &[-7.0, -8.0, -9.0]);
    let detail = "the value does not stand out from the noise";
    of(&mut negative).flags.push(Flag::new(FlagKind::UnderResolution, detail));
    let mut run = pages::run("a", vec![case_of_a_time(), vote, derived, negative, rounds("net.x@n=0", &[2e9; 3])]);
    run.started = "2026-11-22T05:00:00Z".into();
    run.finished = Some("2026-11-22T05:01:00Z".into());
    run
}

/// What is said of a case of the run after a change, which is all that is said.
#[track_caller]
fn forged(case: &str, words: &str, change: impl FnOnce(&mut Measured)) {
    let mut run = a_run();
    change(of(run.cases.iter_mut().find(|one| one.id == case).unwrap()));
    let found = contradictions(&run);
    let [one] = found.as_slice() else { panic!("{words}: {found:?}") };
    assert_eq!(one.case.as_deref(), Some(case), "{one:?}");
    let [en, zh] = [Lang::En, Lang::Zh].map(|lang| one.what.get(lang));
    assert!(en.contains(words), "{words}: {one:?}");
    assert!(!zh.is_empty() && zh != en, "{one:?}");
}

#[test]
fn a_true_run_is_not_named() {
    assert_eq!([contradictions(&a_run()), contradictions(&synthetic::plausible())], [[], []]);
    let shapes = [Shape::Normal, Shape::Skewed, Shape::Bimodal];
    for (rounds, shape) in [1, 2, 3, 5, 9, 12].into_iter().zip(shapes.into_iter().cycle()) {
        let scatter = Scatter { rounds, round: 0.3, run: 0.5, shape };
        let run = scattered("b", &mut Random(rounds as u64), 100, scatter, 7);
        assert_eq!(contradictions(&run), [], "{rounds} rounds");
    }
}

#[test]
fn an_end_that_physics_holds_is_no_contradiction() {
    // One round lies below what the clock allows, and the clock's step would reach below it too.
    for (values, low, high) in [([99.0, 100.0, 100.0, 100.0, 102.0], 99.5, 102.0), ([100.0; 5], 100.0, 100.5)] {
        let mut run = a_run();
        run.cases.truncate(1);
        run.cases[0] = rounds(TIME, &values);
        let one = of(&mut run.cases[0]);
        one.bounds = Some(Bounds { least: Some(if low < 100.0 { low } else { 100.0 }), most: None });
        (one.estimate.ci_low, one.estimate.ci_high) = (Some(low), Some(high));
        assert_eq!(contradictions(&run), []);
        of(&mut run.cases[0]).estimate.ci_low = Some(98.0);
        assert_eq!(contradictions(&run).len(), 1);
    }
}

#[test]
fn values_and_intervals_that_cannot_be_together_are_named() {
    let quiet = |low: f64, value: f64, high: f64| {
        Some(Quiet { value, low: Some(low), high: Some(high), range: None, at_hz: Some(3e9) })
    };
    let next = |low: f64, high: f64| Some(Repetition { low, high, deviation: 0.1, runs: 3 });
    forged(TIME, "outside of its rounds", |measured| measured.estimate.range = Some([101.0, 102.0]));
    forged(TIME, "its undisturbed value lies outside", |measured| measured.estimate.quiet = quiet(99.0, 98.0, 102.0));
    forged(TIME, "the clock of its undisturbed value", |measured| {
        measured.estimate.quiet = quiet(97.0, 98.0, 99.0).map(|quiet| Quiet { at_hz: Some(-1.0), ..quiet });
    });
    forged(TIME, "repetition does not hold", |measured| measured.estimate.repetition = next(101.0, 110.0));
    forged(TIME, "repetition does not hold", |measured| {
        measured.estimate.repetition = next(90.0, 110.0).map(|known| Repetition { deviation: -0.1, ..known });
    });
    // What leads is what it has to hold.
    forged(TIME, "repetition does not hold", |measured| {
        (measured.estimate.quiet, measured.estimate.leading) = (quiet(80.0, 80.0, 81.0), Leading::Quiet);
        measured.estimate.repetition = next(90.0, 110.0);
    });
}

#[test]
fn an_estimate_that_cannot_be_is_named() {
    forged(TIME, "the median 3.20 ns lies outside its interval", |measured| measured.estimate.typical = 3.2);
    forged(TIME, "above its end", |measured| measured.estimate.ci_low = Some(2000.0));
    forged(TIME, "one end", |measured| measured.estimate.ci_high = None);
    for confidence in [0.0, 1.0, -0.95, 95.0] {
        forged(TIME, "its confidence", |measured| measured.estimate.confidence = confidence);
    }
    forged(TIME, "is above its largest", |measured| measured.estimate.min = 103.0);
    forged(TIME, "outside its samples", |measured| measured.estimate.mean = 98.0);
    forged(TIME, "its spread is negative", |measured| measured.estimate.stddev *= -1.0);
    forged("fact.x@n=0", "no share", |measured| measured.estimate.agreement = Some(1.5));
    forged("ipc.x@n=1", "3 rounds and 2 samples", |measured| measured.estimate.n = 2);
    forged(TIME, "p90: the median", |measured| measured.also.get_mut("p90").unwrap().estimate.typical = 99.0);
}

#[test]
fn an_estimate_that_its_samples_do_not_give_is_named() {
    forged(TIME, "the median is 100.5 ns, and its samples give 100 ns", |measured| measured.estimate.typical = 100.5);
    forged(TIME, "the smallest sample is", |measured| measured.estimate.min = 90.0);
    forged(TIME, "the largest sample is", |measured| measured.estimate.max = 110.0);
    forged(TIME, "the mean is", |measured| measured.estimate.mean = 100.0);
    forged(TIME, "the standard deviation is", |measured| measured.estimate.stddev *= 0.1);
    forged(TIME, "the median absolute deviation is", |measured| measured.estimate.mad *= 0.1);
    forged(TIME, "the best round is", |measured| measured.estimate.best_round = 100.0);
    forged("net.x@n=0", "the best round is", |measured| measured.estimate.best_round = 3e9);
    forged(TIME, "counts 90 samples, and has 200", |measured| measured.estimate.n = 90);
    forged(TIME, "counts 200 samples, and has 201", |measured| measured.noise.left_out = 0);
    forged(TIME, "4 rounds in its estimate", |measured| measured.estimate.rounds = 4);
    forged(TIME, "samples of 2", |measured| measured.samples.truncate(2));
    forged(TIME, "round 2 has 40 samples and 39 marks", |measured| measured.rounds[2].disturbance_flags.truncate(39));
    forged(TIME, "round 1 has the median", |measured| measured.rounds[1].median = 100.1);
    forged(TIME, "round 0 has the median", |measured| measured.samples[0] = vec![50.0; SAMPLES]);
    forged("fact.x@n=0", "its rounds vote for 64", |measured| {
        measured.estimate.typical = 128.0;
        measured.estimate.range = None;
    });
}

#[test]
fn an_interval_that_its_rounds_do_not_give_is_named() {
    forged(TIME, "its interval is 99.9 ns … 100 ns", |measured| {
        (measured.estimate.ci_low, measured.estimate.ci_high) = (Some(99.9), Some(100.1));
    });
    // The clock's step widens it to both sides; to one alone nothing does.
    forged(TIME, "and its rounds give", |measured| measured.estimate.ci_high = Some(200.0));
    let mut run = a_run();
    let estimate = &mut of(&mut run.cases[0]).estimate;
    (estimate.ci_low, estimate.ci_high) = (Some(80.0), Some(120.0));
    assert_eq!(contradictions(&run), []);
}

#[test]
fn negative_rates_and_times_are_named() {
    let negate = |measured: &mut Measured| {
        let estimate = rounds(TIME, &[-2.0; 3]).measured().unwrap().estimate.clone();
        measured.estimate = Estimate { best_round: -2.0, ..estimate };
        measured.samples.fill(vec![-2.0; SAMPLES]);
        measured.rounds.iter_mut().for_each(|round| round.median = -2.0);
    };
    forged("net.x@n=0", "the rate −2.00 B/s is negative", negate);
    forged("ipc.x@n=2", "is negative", |measured| measured.flags.clear());
}

#[test]
fn percentiles_and_histograms_out_of_order_are_named() {
    forged(TIME, "p90 is 120, above the 110 of p999", |measured| {
        let lower = rounds(TIME, &[110.0; 3]).measured().unwrap().estimate.clone();
        measured.also.insert("p999".into(), Also { estimate: lower });
    });
    forged(TIME, "its histogram", |measured| measured.histogram.as_mut().unwrap().values.swap(0, 1));
    forged(TIME, "its histogram", |measured| measured.histogram.as_mut().unwrap().counts.truncate(2));
}

#[test]
fn a_run_that_ended_before_it_began_is_named() {
    let mut run = a_run();
    run.finished = Some("2026-11-22T04:59:59Z".into());
    let found = contradictions(&run);
    assert!(
        matches!(found.as_slice(), [one] if one.case.is_none() && one.what.to_string().contains("before it started"))
    );
}

#[test]
fn a_sentence_names_the_first_and_counts_the_others() {
    let mut run = a_run();
    assert_eq!(sentence(&run), None);
    for index in [0, 2] {
        of(&mut run.cases[index]).estimate.typical = 1000.0;
    }
    let said = sentence(&run).unwrap();
    let [en, zh] = [Lang::En, Lang::Zh].map(|lang| said.get(lang));
    assert!(en.starts_with("ipc.x@n=0: the median 1.00 µs lies outside") && en.ends_with("; 1 more"));
    assert!(zh.starts_with("ipc.x@n=0：中位数") && zh.ends_with("；另有 1 处"), "{zh}");
}

#[test]
fn a_case_that_contradicts_itself_is_not_comparable_and_others_are() {
    let (base, mut new) = (a_run(), a_run());
    of(&mut new.cases[0]).estimate.typical = 1000.0;
    let judged = |base: &Run, new: &Run| {
        let from = std::slice::from_ref;
        crate::compare::compared(from(base), from(new)).new.remove(0).cases
    };
    for (cases, side) in [(judged(&base, &new), "the other side"), (judged(&new, &base), "the base")] {
        let reason = cases[0].reason.as_ref().unwrap();
        assert_eq!((cases[0].verdict, reason.kind), (Verdict::NotComparable, ReasonKind::ContradictsItself));
        assert!(reason.text.en.starts_with(&format!("{side} contradicts itself: the median 1.00 µs")), "{reason:?}");
        assert!(cases[0].effect.is_none());
        assert!(
            cases[1..]
                .iter()
                .all(|case| { case.reason.as_ref().is_none_or(|reason| reason.kind != ReasonKind::ContradictsItself) })
        );
    }
    assert!(judged(&base, &a_run())[0].reason.is_none());
}

/// What a reader is told whom somebody hands a report in this format, with nothing but words in it.
fn handed(run: &Run, format: &str, lang: Lang) -> String {
    let options = RenderOptions { width: 100, lang, ..RenderOptions::default() };
    let text = format_named(format).unwrap().render(std::slice::from_ref(run), &options).unwrap();
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.retain(|word| !word.starts_with(['#', '>']));
    words.concat().replace('\\', "")
}

#[test]
fn whoever_is_handed_a_report_is_reported_in_it() {
    let mut forged = a_run();
    of(&mut forged.cases[0]).estimate.typical = 350.0;
    for format in ["table", "markdown", "html"] {
        for (lang, said, cure) in [
            (Lang::En, "thefileofthisruncontradictsitself", "measureagain,orrestorethefile"),
            (Lang::Zh, "本次运行的文件自相矛盾", "请重新测量，或恢复该文件"),
        ] {
            let text = handed(&forged, format, lang);
            let at = text.find(said).unwrap_or_else(|| panic!("{format} {said}: {text}"));
            assert!(text[at..].contains(TIME) && text[at..].contains(cure), "{format} {said}");
            let whole = handed(&a_run(), format, lang);
            assert!(!whole.contains(said), "{format} {said}");
        }
    }
}

/// Fields that every file has, by their types.
const EVERY_FILE_HAS: &str = include_str!("../../model/src/every_file_has.txt");
/// Keys that say which of several things stands there, and what is in one of these alone.
const VARIANTS: [&str; 6] = ["measured", "skipped", "failed", "bytes", "printed", "reason"];

/// Every key, with the object it stands in.
fn keys(at: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| keys(&format!("{at}/{index}"), value, found));
        }
        Value::Object(map) => {
            for (key, value) in map {
                found.push((at.to_owned(), key.clone()));
                keys(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, found);
            }
        }
        _ => {}
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_file_without_what_later_versions_added_is_a_run() {
    let whole = serde_json::to_value(marked()).unwrap();
    let needed: HashSet<&str> = EVERY_FILE_HAS.split_whitespace().chain(VARIANTS).collect();
    let mut found = Vec::new();
    keys("", &whole, &mut found);
    let mut tried = HashSet::new();
    for (object, key) in found {
        let is_of_list = |part: &&str| part.parse::<usize>().is_err();
        let kind = object.split('/').filter(is_of_list).collect::<Vec<_>>().join("/");
        if needed.contains(key.as_str()) || !tried.insert(format!("{kind}/{key}")) {
            continue;
        }
        let mut without = whole.clone();
        without.pointer_mut(&object).and_then(Value::as_object_mut).unwrap().remove(&key);
        if let Err(error) = serde_json::from_value::<Run>(without) {
            panic!("{object}/{key}: {error}");
        }
    }
    assert!(tried.len() > 60, "{tried:?}");
}

#[test]
fn a_file_that_lacks_what_every_one_has_is_said_to_be_of_another_version() {
    let mut whole = serde_json::to_value(marked()).unwrap();
    whole["host"]["kernel"].as_object_mut().unwrap().remove("release");
    let error = load_run(&whole.to_string()).unwrap_err();
    assert!(matches!(error, LoadError::Lacking(_)) && error.to_string().contains("another version"), "{error}");
    whole["schema"] = "hostmark.run/2".into();
    assert!(matches!(load_run(&whole.to_string()), Err(LoadError::Newer(_))));
}

/// Reasons of several kinds: of a plan, a host that lacks something, a probe, a worker, a system call.
static REASONS: LazyLock<[Message; 7]> = LazyLock::new(|| {
    let denied = io::Error::from_raw_os_error(13);
    let socket = said("cannot open a socket at {at}", &[("at", "127.0.0.1:0".into())]);
    let bind = said("{what}: {error}", &[("what", "bind".into()), ("error", Message::from(&denied))]);
    let wrong = &[("wrong", "4".into()), ("elements", "16".into())];
    let wrong = said("{wrong} of {elements} elements of a thread are wrong", wrong);
    let lies = said("the scratch directory lies on a device", &[]);
    [
        said("needs {needed} CPUs, and may use {have} here", &[("needed", "64".into()), ("have", "4".into())]),
        said("{what}: {error}", &[("what", socket), ("error", bind)]),
        said("was ended by signal {signal}", &[("signal", "9".into())]),
        said("a copy on CPU {cpu} failed: {reason}", &[("cpu", "3".into()), ("reason", wrong)]),
        said("there is no tmpfs to write to: {reasons}", &[("reasons", lies)]),
        said("{level} could not be told apart from the levels beside it in this run", &[("level", "L3".into())]),
        said("no further process may be started here; raise ulimit -u, or pids.max of the control group", &[]),
    ]
});

fn said(template: &'static str, arguments: &[(&'static str, Message)]) -> Message {
    let nested = |(name, message): &(&'static str, Message)| match message.as_plain() {
        Some(text) if !text.contains(" (os error ") => (*name, MessageArgument::Text(text.to_owned())),
        _ => (*name, MessageArgument::Message(message.clone())),
    };
    Message::new(template, arguments.iter().map(nested).collect())
}

/// A run of which every other case has one of these reasons, or failed for it.
fn run() -> Run {
    let mut run = synthetic::plausible();
    for (place, case) in run.cases.iter_mut().enumerate().filter(|(place, _)| place % 2 == 0) {
        let reason = ReasonCode::Internal.because(&REASONS[place / 2 % REASONS.len()]);
        case.outcome = if place % 4 == 0 { Outcome::Skipped { reason } } else { Outcome::Failed { reason } };
    }
    run
}

/// Three words of a reason in a row, wherever a page shows them.
#[track_caller]
fn has_no_english(page: &str) {
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in REASONS.iter().map(Message::to_string) {
        let words: Vec<&str> = reason.split(' ').collect();
        let is_word = |word: &&str| word.trim_end_matches([',', ':', ';']).chars().all(|c| c.is_ascii_alphabetic());
        for three in words.windows(3).filter(|three| three.iter().all(is_word)) {
            assert!(!page.contains(&three.join(" ")), "'{}' stands in:\n{page}", three.join(" "));
        }
    }
}

#[track_caller]
fn says_all(page: &str) {
    has_no_english(page);
    for reason in REASONS.iter() {
        let zh = localized(reason, Lang::Zh);
        assert!(page.contains(&*zh), "{zh}\nis not in:\n{page}");
    }
}

#[test]
fn people_read_every_reason_in_chinese_and_programs_in_english() {
    let runs = [run()];
    let chinese = RenderOptions { width: 400, lang: Lang::Zh, ..RenderOptions::default() };
    let verbose = RenderOptions { verbose: true, ..chinese };
    let shown = |name: &str, options| format_named(name).unwrap().render(&runs, options).unwrap_or_default();
    REASONS.iter().for_each(|reason| has_no_english(&localized(reason, Lang::Zh)));
    says_all(&shown("table", &chinese));
    says_all(&shown("table", &verbose));
    for name in ["markdown", "answer", "lmbench", "overhead"] {
        has_no_english(&shown(name, &chinese));
    }
    let page = shown("html", &chinese);
    let parts = page.split("<span lang=\"zh-CN\">").skip(1).filter_map(|rest| Some(rest.split_once("</span>")?.0));
    says_all(&parts.collect::<Vec<&str>>().join("\n"));
    assert!(REASONS.iter().all(|reason| page.contains(&reason.to_string())));
    let compared = crate::compare::compared(&runs, &[synthetic::plausible()]);
    says_all(&(comparison::FORMATS[0].render)(&compared, &verbose));
    for name in ["csv", "json", "jsonl"] {
        let text = shown(name, &chinese);
        assert!(text.contains(&REASONS[0].to_string()) && !text.contains(&*localized(&REASONS[0], Lang::Zh)), "{name}");
    }
}
