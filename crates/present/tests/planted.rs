//! A run whose quiet and typical values differ in every case: each number that people or programs read is the leading one, or is called
//! what it is.

use crate::prelude::*;
use crate::{data_path, overhead, tables};

/// What the quiet value is of the typical one, in time.
const BETTER: f64 = 0.77;
/// What a value that does not lead may be called. A strip of samples says what the median of each round is.
const NAMES: [&str; 8] = ["median", "中位数", "undisturbed", "无干扰值", "typical", "quiet", "best round", "最佳一轮"];
/// What people read, and files of other programs.
const FORMATS: [&str; 11] = [
    "table",
    "answer",
    "markdown",
    "html",
    "hosts",
    "card",
    "card-markdown",
    "lmbench",
    "lmbench-result",
    "prometheus",
    "openbenchmarking",
];
/// Units behind the numbers of the page that are no coordinates.
const UNITS: [&str; 6] = [" ns", " µs", " ms", " GB/s", " MB/s", " cycles"];

/// Every second case of a run leads with its quiet value, the others with the typical one. With it the same in which the leading values
/// are all that there is.
fn planted(mut run: Run) -> (Run, Run, Vec<f64>) {
    let mut others = Vec::new();
    let rates: Vec<String> = run.probes.iter().filter(|p| p.better == Better::Higher).map(|p| p.id.clone()).collect();
    let mut plain = run.clone();
    for (index, (case, alone)) in run.cases.iter_mut().zip(&mut plain.cases).enumerate() {
        let (Outcome::Measured(both), Outcome::Measured(alone)) = (&mut case.outcome, &mut alone.outcome) else {
            continue;
        };
        let better = if rates.contains(&case.probe) { 1.0 / BETTER } else { BETTER };
        let leading = if index % 2 == 0 { Leading::Quiet } else { Leading::Typical };
        // No two cases have the same.
        let apart = 1.0 + 0.0137 * index as f64;
        for measured in [&mut *both, &mut *alone] {
            measured.samples.iter_mut().flatten().for_each(|sample| *sample *= apart);
            measured.rounds.iter_mut().for_each(|round| round.median *= apart);
        }
        let mut plant = |both: &mut Estimate, alone: &mut Estimate| {
            for estimate in [&mut *both, &mut *alone] {
                let Estimate { typical, ci_low, ci_high, best_round, min, max, mean, stddev, mad, .. } = estimate;
                let ends = [ci_low.as_mut(), ci_high.as_mut()].into_iter().flatten();
                ends.chain([typical, best_round, min, max, mean, stddev, mad]).for_each(|value| *value *= apart);
            }
            let (typical, value) = (both.typical, both.typical * better);
            let (low, high) = (Some(value * 0.999), Some(value * 1.001));
            both.quiet = Some(Quiet { value, low, high, range: Some([value * 0.998, value * 1.002]), at_hz: None });
            both.leading = leading;
            if leading == Leading::Quiet {
                *alone = Estimate { typical: value, ci_low: low, ci_high: high, ..alone.clone() };
            }
            others.push(if leading == Leading::Quiet { typical } else { value });
        };
        plant(&mut both.estimate, &mut alone.estimate);
        for name in Measured::OF_THE_VALUE {
            if let (Some(both), Some(alone)) = (both.also.get_mut(name), alone.also.get_mut(name)) {
                plant(&mut both.estimate, &mut alone.estimate);
            }
        }
    }
    // What looks like one that leads is no proof of anything.
    let led: Vec<f64> = run.cases.iter().filter_map(|case| Some(case.measured()?.estimate.value())).collect();
    let mantissa = |value: &f64| format!("{value:.2e}").split('e').next().unwrap_or_default().to_owned();
    others.retain(|other| !led.iter().any(|value| mantissa(value) == mantissa(other)));
    (run, plain, others)
}

/// The numbers of a text, each with what stands before it in its line and what behind.
fn numbers(text: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut rest = 0;
        while let Some(start) = line[rest..].find(|c: char| c.is_ascii_digit()).map(|at| rest + at) {
            let length = line[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(line.len() - start);
            let number = line[start..start + length].trim_end_matches('.');
            found.push((number, &line[..start], &line[start + number.len()..]));
            rest = start + length;
        }
    }
    // 100fd is a name, and so is db-17.
    let is_name = |before: &str, behind: &str| {
        let before = before.strip_suffix('-').unwrap_or(before);
        before.ends_with(|c: char| c.is_alphabetic() || c == '_') || behind.starts_with(char::is_alphabetic)
    };
    // A share is no value, nor is one digit: that is one of most values.
    let is_share = |behind: &str| behind.trim_start().starts_with('%');
    found.retain(|(number, before, behind)| digits(number).len() >= 2 && !is_name(before, behind) && !is_share(behind));
    found
}

/// The digits that a number tells.
fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect::<String>().trim_start_matches('0').to_owned()
}

/// Whether a number of so many digits is this value in any unit.
fn is_it(number: &str, value: f64) -> bool {
    let digits = digits(number);
    let shown = format!("{value:.*e}", digits.len() - 1);
    shown.split('e').next().is_some_and(|mantissa| mantissa.replace('.', "") == digits)
}

/// Looks at each number of a text beside those of its control. Those of `others` that have a name.
fn named(what: &str, [text, control]: [String; 2], others: &[f64], with_units: bool) -> Vec<String> {
    assert!(!text.is_empty(), "{what}");
    let is_read = |number: &str, behind: &str| {
        // Where a unit stands behind a value, it has three digits; two are an axis's.
        !with_units || digits(number).len() >= 3 && UNITS.iter().any(|unit| behind.starts_with(unit))
    };
    // What is a number of something else stands there without the planted ones too.
    let mut known: HashMap<&str, usize> = HashMap::new();
    numbers(&control).into_iter().filter(|(number, _, behind)| is_read(number, behind)).for_each(|(number, ..)| {
        *known.entry(number).or_default() += 1;
    });
    let mut named = Vec::new();
    for (number, before, behind) in numbers(&text).into_iter().filter(|(number, _, behind)| is_read(number, behind)) {
        if !others.iter().any(|other| is_it(number, *other)) {
            continue;
        }
        if NAMES.iter().any(|name| before.contains(name)) {
            named.push(number.to_owned());
            continue;
        }
        match known.get_mut(number) {
            Some(left) if *left > 0 => *left -= 1,
            _ => panic!("{what}: {number} does not lead and has no name: {before}>{number}<{behind}"),
        }
    }
    named
}

/// Whether each case's value that does not lead is among these numbers.
fn hold_all(what: &str, named: &[String], run: &Run, others: &[f64]) {
    let all = run.cases.iter().filter_map(|case| {
        let estimate = &case.measured()?.estimate;
        let other = Leading::EACH.into_iter().find(|by| *by != estimate.estimator())?;
        Some((&case.id, estimate.by(other)?.value)).filter(|(_, value)| others.contains(value))
    });
    let named: Vec<&String> = named.iter().filter(|number| digits(number).len() >= 3).collect();
    let lacking: Vec<(&String, f64)> =
        all.filter(|(_, value)| !named.iter().any(|number| is_it(number, *value))).collect();
    assert!(lacking.is_empty(), "{what}: {lacking:?}");
}

fn in_both_languages(formats: &[&'static str]) -> Vec<(&'static str, RenderOptions)> {
    let options = |lang| RenderOptions { lang, verbose: false, width: 400, ..RenderOptions::default() };
    formats.iter().flat_map(|format| [Lang::En, Lang::Zh].map(|lang| (*format, options(lang)))).collect()
}

#[test]
fn every_number_of_every_format_is_the_leading_value_or_is_called_what_it_is() {
    let (run, plain, others) = planted(synthetic::plausible());
    for (format, options) in in_both_languages(&FORMATS) {
        let texts = [&run, &plain].map(|run| format_named(format).unwrap().render_one(run, &options));
        let named = named(format, texts, &others, ["html", "card"].contains(&format));
        if ["table", "markdown", "html"].contains(&format) {
            hold_all(format, &named, &run, &others);
        }
    }
}

#[test]
fn so_is_every_number_of_the_tables_that_are_measured_by_name() {
    for table in ["memory-bandwidth", "size-stride", "pipe"] {
        let (run, plain, others) = planted(tables::run_of(table));
        for (format, options) in in_both_languages(&[table, "table", "markdown"]) {
            let texts = [&run, &plain].map(|run| format_named(format).unwrap().render_one(run, &options));
            hold_all(&format!("{table} as {format}"), &named(format, texts, &others, false), &run, &others);
        }
    }
    let mut run = synthetic::plausible();
    run.cases = ["copy", "scale", "add", "triad"]
        .map(|kernel| {
            let id = format!("memory.stream@kernel={kernel},store=plain,threads=1");
            let mut case = synthetic::value(&id, 1e10 + kernel.len() as f64 * 1e9);
            case.measured_mut().unwrap().notes.insert("elements".into(), "30000000".into());
            case
        })
        .into();
    run.probes.push(synthetic::probe("memory.stream", ("s", "s"), Unit::BytesPerSecond, ("m", "m"), &[]));
    let (run, plain, others) = planted(run);
    let options = RenderOptions::default();
    let texts = [&run, &plain].map(|run| format_named("stream").unwrap().render_one(run, &options));
    hold_all("stream", &named("stream", texts, &others, false), &run, &others);
}

#[test]
fn so_is_every_number_of_a_pipeline() {
    let mut pipelines = data_path::named::one_cpu();
    pipelines.cases.extend(data_path::named::two_cpus().cases);
    let (run, plain, others) = planted(pipelines);
    for (format, options) in in_both_languages(&["data-path"]) {
        let texts = [&run, &plain].map(|run| format_named(format).unwrap().render_one(run, &options));
        named(format, texts, &others, false);
    }
}

#[test]
fn layers_are_of_typical_values_alone_and_say_so() {
    let runs = overhead::reference().map(|run| planted(run).0);
    let alone = runs.clone().map(|mut run| {
        let measured = run.cases.iter_mut().filter_map(|case| match &mut case.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        });
        measured.for_each(|measured| measured.estimate.quiet = None);
        run
    });
    for (format, options) in in_both_languages(&["overhead"]) {
        let text = |runs: &[Run]| format_named(format).unwrap().render(runs, &options).unwrap();
        assert_eq!(text(&runs), text(&alone));
        assert!(NAMES[..2].iter().any(|name| text(&runs).contains(name)));
    }
}

#[test]
fn so_is_every_number_of_a_comparison() {
    let (run, plain, others) = planted(synthetic::plausible());
    let compared = |run: &Run| {
        let mut sides = [run.clone(), run.clone()];
        sides[1].id.push('2');
        let [base, new] = sides.each_ref().map(|run| Pool { name: "a", runs: std::slice::from_ref(run) });
        Comparison::of(base, &[new], &History::default(), SAME)
    };
    let comparisons = [compared(&run), compared(&plain)];
    // A side whose samples tell something else than its values has none to show.
    let is_shown = |case: &CaseRecord| {
        let mut of = comparisons[0].new[0].cases.iter().filter(|of| of.id == case.id);
        of.any(|of| of.effect.is_some())
    };
    let shown = Run { cases: run.cases.iter().filter(|case| is_shown(case)).cloned().collect(), ..run.clone() };
    assert!(shown.cases.len() > 30);
    for (format, options) in in_both_languages(&["table", "markdown", "html"]) {
        let options = RenderOptions { verbose: true, ..options };
        let render = comparison::format_named(format).unwrap().render;
        let texts = comparisons.each_ref().map(|comparison| render(comparison, &options));
        hold_all(format, &named(format, texts, &others, true), &shown, &others);
    }
    for case in &comparisons[0].new[0].cases {
        let stated = run.cases.iter().find(|record| record.id == case.id).unwrap().measured();
        let stated =
            stated.map(|measured| (measured.estimate.stated(), measured.estimate.quiet.unwrap(), &measured.estimate));
        assert_eq!(case.estimator, stated.map(|(stated, ..)| stated.estimator));
        let Some((stated, quiet, estimate)) = stated else { continue };
        assert_eq!(case.base.as_ref().unwrap().value, stated.value);
        let other = case.beside.unwrap();
        assert_ne!(other.estimator, stated.estimator);
        let value = if other.estimator == Leading::Quiet { quiet.value } else { estimate.typical };
        assert_eq!([other.base, other.new], [value; 2]);
    }
}

#[test]
fn so_is_every_value_of_a_fleet() {
    let (mut run, ..) = planted(synthetic::plausible());
    let mut gathering = Gathering::new(&[]);
    for host in 0..6 {
        (run.id, run.host.hostname) = (format!("run-{host}"), format!("host-{host}"));
        gathering.read(&format!("{host}.json"), serde_json::to_string(&run).unwrap().as_bytes());
    }
    // One that is worse in all, and less so by the estimator that does not lead.
    let mut odd = Run { id: "odd".into(), ..run.clone() };
    odd.host.hostname = "odd".into();
    for case in &mut odd.cases {
        let worse = run.probes.iter().any(|probe| probe.id == case.probe && probe.better == Better::Higher);
        let by = |factor: f64| if worse { factor.recip() } else { factor };
        let Some(measured) = case.measured_mut() else { continue };
        let Estimate { typical, quiet, leading, .. } = &mut measured.estimate;
        let factors = if *leading == Leading::Quiet { [1.2, 2.0] } else { [2.0, 1.2] };
        *typical *= by(factors[0]);
        quiet.iter_mut().for_each(|quiet| quiet.value *= by(factors[1]));
    }
    gathering.read("odd.json", serde_json::to_string(&odd).unwrap().as_bytes());
    let all = Fleet::of(&gathering);
    let written = |format: &str, lang| {
        let mut text = String::new();
        let options = RenderOptions { lang, verbose: true, width: 400, ..RenderOptions::default() };
        (fleet::format_named(format).unwrap().write)(&all, &options, &mut |part| text += part);
        text
    };
    let cases = &all.odd().next().unwrap().1.odd_cases;
    assert!(cases.len() > 5 && cases.iter().all(|case| case.beside.is_some()), "{cases:?}");
    for case in cases {
        let beside = case.beside.unwrap();
        assert!((case.change - -0.5).abs() < 1e-6 && (beside.change - (1.0 / 1.2 - 1.0)).abs() < 1e-6, "{case:?}");
        let id = &case.id;
        let [en, zh] = match case.estimator {
            Leading::Quiet => {
                [format!("{id} −50 % (undisturbed; median −17 %)"), format!("{id} −50%（无干扰值；中位数 −17%）")]
            }
            Leading::Typical => [format!("{id} −50 % (undisturbed −17 %)"), format!("{id} −50%（无干扰值 −17%）")],
        };
        let is_said = |format: &str, lang, text: &str| written(format, lang).contains(text);
        assert!(is_said("table", Lang::En, &en) && is_said("table", Lang::Zh, &zh), "{en}");
    }
    let page = written("html", Lang::En);
    assert!(page.matches("−17 %").count() >= 3, "{cases:?}");
    let lines = written("jsonl", Lang::En);
    assert!(lines.lines().count() > 300);
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["host"] == "odd" {
            continue;
        }
        let case = run.cases.iter().find(|case| case.id == line["case"].as_str().unwrap()).unwrap();
        let estimate = &case.measured().unwrap().estimate;
        let stated = estimate.stated();
        let other = estimate.by(stated.estimator.other()).unwrap();
        assert_eq!(line["beside"]["estimator"], other.estimator.word(), "{line}");
        assert!((line["beside"]["value"].as_f64().unwrap() / other.value - 1.0).abs() < 1e-6, "{line}");
        assert_eq!(line["estimator"], stated.estimator.word(), "{line}");
        assert!((line["value"].as_f64().unwrap() / stated.value - 1.0).abs() < 1e-6, "{line}");
    }
}

#[test]
fn values_on_one_and_on_more_cpus_say_of_which_estimator_they_are_however_near() {
    let mut run = synthetic::plausible();
    let axes: &[_] = &[("threads", AxisKind::Threads, "1")];
    run.probes = vec![
        synthetic::probe("cpu.sieve", ("sieve", "sieve"), Unit::OperationsPerSecond, ("core", "core"), axes),
        synthetic::probe("cpu.scaling", ("scaling", "scaling"), Unit::Ratio, ("core", "core"), &[]),
    ];
    run.cases = ["cpu.sieve@threads=1", "cpu.sieve@threads=2", "cpu.scaling@source=cpu.sieve,copies=2"]
        .iter()
        .zip([1830.0, 3697.0, 2.02])
        .map(|(id, typical)| synthetic::value(id, typical))
        .collect();
    let one = run.cases[0].measured_mut().unwrap();
    one.estimate.quiet = Some(Quiet { value: 1850.0, low: None, high: None, range: None, at_hz: None });
    one.estimate.leading = Leading::Quiet;
    for (format, options) in in_both_languages(&["table", "markdown", "html"]) {
        let text = format_named(format).unwrap().render_one(&run, &options);
        let typical = NAMES[usize::from(options.lang == Lang::Zh)];
        for value in ["1.85 ", "3.70 ", "2.02"] {
            let named = |line: &str| line.contains(value) && line.contains(typical);
            assert!(text.lines().any(named), "{format}: {value} has no name: {text}");
        }
        assert!(text.contains(&format!("{typical} 1.83 ")), "{format}: {text}");
        // No name stands there without the number that a reader looks for behind it.
        let of_itself = if options.lang == Lang::Zh { "此为中位数" } else { "the median value" };
        assert!(text.matches(of_itself).count() >= 2, "{format}: {text}");
        assert!(!text.lines().any(|line| line.trim() == typical), "{format}: {text}");
    }
}

#[test]
fn a_row_of_which_nothing_stands_in_a_bank_is_left_out_of_it() {
    let (mut run, ..) = planted(synthetic::plausible());
    for case in &mut run.cases {
        let is_small =
            case.params.get("size").and_then(|size| size.parse::<u64>().ok()).is_some_and(|size| size < 20_000);
        let Some(measured) = case.measured_mut() else { continue };
        measured.estimate.quiet = measured.estimate.quiet.filter(|_| is_small);
    }
    for lang in [Lang::En, Lang::Zh] {
        let options = RenderOptions { lang, width: 60, ..RenderOptions::default() };
        let text = format_named("table").unwrap().render_one(&run, &options);
        assert!(text.lines().any(|line| line.trim_start().starts_with(NAMES[if lang == Lang::En { 2 } else { 3 }])));
        for line in text.lines() {
            assert!(!line.ends_with("  –") || line.contains(|c: char| c.is_ascii_digit()), "{line}: {text}");
        }
    }
}

#[test]
fn a_value_and_its_interval_are_of_one_estimator_wherever_they_stand() {
    let (run, ..) = planted(synthetic::plausible());
    for measured in run.cases.iter().filter_map(CaseRecord::measured) {
        let stated = measured.estimate.stated();
        let (low, high) = stated.interval().unwrap();
        assert!(low <= stated.value && stated.value <= high);
        if stated.estimator == Leading::Quiet {
            assert!((high / low - 1.0) < 0.01 && stated.range.unwrap()[0] > 0.9 * stated.value);
        }
        for name in Measured::OF_THE_VALUE {
            let Some(companion) = measured.companion(name) else { continue };
            assert_eq!(companion.estimator(), stated.estimator);
            let hz = companion.value() / stated.value;
            assert!((hz / (measured.also[name].estimate.typical / measured.estimate.typical) - 1.0).abs() < 1e-9);
        }
    }
}
