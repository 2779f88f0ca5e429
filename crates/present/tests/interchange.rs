//! The formats for other programs: each is read here by its own rules, of a plausible run and of one with hostile texts.

use hostmark_present::export::FORMATS;

use crate::prelude::*;

fn render(format: &str, run: &Run) -> String {
    format_named(format).unwrap().render_one(run, &RenderOptions::default())
}

fn runs() -> [Run; 3] {
    [synthetic::plausible(), synthetic::empty(), thorough::hostile()]
}

#[test]
fn prometheus_text_is_read_by_its_rules_whatever_the_names_are() {
    for run in runs() {
        let samples = prometheus(&render("prometheus", &run));
        let info = samples.iter().find(|(name, ..)| name == "hostmark_run_info").unwrap();
        assert_eq!(info.2, 1.0);
        let counts: f64 = samples.iter().filter(|(name, ..)| name == "hostmark_run_cases").map(|sample| sample.2).sum();
        assert_eq!(counts as usize, run.cases.len());
    }
}

#[test]
fn prometheus_values_are_in_base_units_with_the_unit_in_the_name() {
    let mut run = synthetic::plausible();
    run.trust = serde_json::from_str(r#"{"grade":"B","within":0.084,"runs":0,"doubts":[]}"#).unwrap();
    let samples = prometheus(&render("prometheus", &run));
    let find = |name: &str| samples.iter().find(|sample| sample.0 == name).unwrap_or_else(|| panic!("no {name}"));
    let case = |probe: &str| run.cases.iter().find(|case| case.probe == probe).unwrap();
    let call = case("syscall.null").measured().unwrap();
    assert!((find("hostmark_syscall_null_seconds").2 / (call.estimate.typical * 1e-9) - 1.0).abs() < 1e-12);
    let (low, high) =
        (find("hostmark_syscall_null_interval_low_seconds").2, find("hostmark_syscall_null_interval_high_seconds").2);
    assert!(low < high && low <= call.estimate.typical * 1e-9);
    let read = case("memory.read");
    let sample = find("hostmark_memory_read_bytes_per_second");
    assert_eq!(sample.2, read.measured().unwrap().estimate.typical);
    assert_eq!(sample.1, with_estimator(&read.params, "typical"));
    assert_eq!(find("hostmark_run_trust_info").1[0], ("grade".to_owned(), "B".to_owned()));
    assert_eq!(find("hostmark_run_trust_within_ratio").2, 0.084);
}

#[test]
fn a_label_that_prometheus_takes_itself_gets_another_name_and_a_short_unit_too() {
    let mut run = synthetic::empty();
    for id in ["fio.read", "fio.again_per_gb"] {
        run.probes.push(synthetic::probe(id, ("a", "b"), Unit::BytesPerSecond, ("c", "d"), &[]));
        run.cases.push(synthetic::value(&format!("{id}@job=x,number=1"), 5.0));
    }
    let samples = prometheus(&render("prometheus", &run));
    assert!(samples.iter().any(|sample| sample.0 == "hostmark_fio_again_per_gigabyte_bytes_per_second"));
    let read = samples.iter().find(|sample| sample.0 == "hostmark_fio_read_bytes_per_second").unwrap();
    assert_eq!(read.1[0], ("axis_job".to_owned(), "x".to_owned()));
}

/// Elements of a document that is well-formed: path and text of each that has no children.
fn xml(text: &str) -> Vec<(String, String)> {
    let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    let (mut open, mut leaves, mut last) = (Vec::<&str>::new(), Vec::new(), "");
    while let Some(start) = rest.find('<') {
        let content = &rest[..start];
        assert!(!content.contains('>'), "{content}");
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        match tag.strip_prefix('/') {
            Some(name) => {
                assert_eq!(open.last(), Some(&name));
                if last == name {
                    leaves.push((open.join("/"), unescaped(content)));
                }
                open.pop();
                last = "";
            }
            None => {
                assert!(content.trim().is_empty() && tag.chars().all(char::is_alphanumeric), "{tag}");
                open.push(tag);
                last = tag;
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    leaves
}

fn unescaped(text: &str) -> String {
    assert!(!text.chars().any(char::is_control), "{text:?}");
    for (at, _) in text.match_indices('&') {
        let known = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"];
        assert!(known.iter().any(|entity| text[at..].starts_with(entity)), "{text}");
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

#[test]
fn the_openbenchmarking_file_has_the_elements_of_its_schema_in_their_order() {
    const GENERATED: [&str; 8] = [
        "Title",
        "LastModified",
        "TestClient",
        "Description",
        "Notes",
        "InternalTags",
        "ReferenceID",
        "PreSetEnvironmentVariables",
    ];
    const SYSTEM: [&str; 7] = ["Identifier", "Hardware", "Software", "User", "TimeStamp", "TestClientVersion", "Notes"];
    const RESULT: [&str; 11] = [
        "Identifier",
        "Title",
        "AppVersion",
        "Arguments",
        "Description",
        "Scale",
        "Proportion",
        "DisplayFormat",
        "Data/Entry/Identifier",
        "Data/Entry/Value",
        "Data/Entry/RawString",
    ];
    for run in runs() {
        let leaves = xml(&render("openbenchmarking", &run));
        let paths: Vec<&str> =
            leaves.iter().map(|(path, _)| path.strip_prefix("PhoronixTestSuite/").unwrap()).collect();
        let within =
            |name: &str, leaves: &[&str]| leaves.iter().map(|leaf| format!("{name}/{leaf}")).collect::<Vec<_>>();
        let head = [within("Generated", &GENERATED), within("System", &SYSTEM)].concat();
        assert_eq!(&paths[..head.len()], &head[..]);
        let results = &paths[head.len()..];
        assert_eq!(results.len() % RESULT.len(), 0);
        assert!(results.len() / RESULT.len() >= run.cases.iter().filter(|case| case.measured().is_some()).count());
        for result in results.chunks(RESULT.len()) {
            assert_eq!(result, within("Result", &RESULT));
        }
        for (path, text) in &leaves {
            if path.ends_with("Value") {
                assert!(text.parse::<f64>().unwrap().is_finite());
            }
            let mut longest = [("Generated/Title", 126), ("Result/Title", 50), ("Identifier", 128)].into_iter();
            assert!(!longest.any(|(end, most)| path.ends_with(end) && text.chars().count() > most), "{path}: {text}");
            if path.ends_with("LastModified") || path.ends_with("TimeStamp") {
                assert_eq!((text.len(), text.matches(['-', ':', ' ']).count()), (19, 5), "{text}");
            }
        }
    }
}

#[test]
fn openbenchmarking_values_and_directions_are_the_runs() {
    let run = synthetic::plausible();
    let leaves = xml(&render("openbenchmarking", &run));
    let at = leaves.iter().position(|(_, text)| text == "syscall.null@copies=1").unwrap();
    let of = |name: &str| &leaves[at..].iter().find(|(path, _)| path.ends_with(name)).unwrap().1;
    let call = run.cases.iter().find(|case| case.id == "syscall.null@copies=1").unwrap().measured().unwrap();
    assert_eq!((of("Proportion").as_str(), of("Scale").as_str()), ("LIB", "Nanoseconds"));
    assert_eq!(of("Value").parse::<f64>().unwrap(), call.estimate.typical);
    assert_eq!(of("RawString").split(':').count(), call.rounds.len());
}

#[test]
fn every_line_of_jsonl_is_one_case_whole_in_itself() {
    for run in runs() {
        let text = render("jsonl", &run);
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), run.cases.len());
        for (line, case) in lines.iter().zip(&run.cases) {
            assert_eq!((line["case"].as_str(), line["run"].as_str()), (Some(&*case.id), Some(&*run.name)));
            match &case.outcome {
                Outcome::Measured(measured) => {
                    assert_eq!(line["estimate"]["typical"].as_f64(), Some(measured.estimate.typical));
                    assert_eq!(line["samples"].as_array().unwrap().len(), measured.samples.len());
                }
                Outcome::Skipped { reason } | Outcome::Failed { reason } => {
                    assert_eq!(line["reason"].as_str(), Some(&**reason));
                }
            }
        }
    }
}

#[test]
fn markdown_has_a_row_for_each_case() {
    for (run, lang) in runs().into_iter().flat_map(|run| [Lang::En, Lang::Zh].map(|lang| (run.clone(), lang))) {
        let options = RenderOptions { lang, verbose: true, ..RenderOptions::default() };
        let text = format_named("markdown").unwrap().render_one(&run, &options);
        let cells =
            |line: &str| line.replace("\\|", "").split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let rows = text.lines().filter(|line| line.starts_with('|')).map(cells).filter(|cells| cells.len() == 7);
        let rows: Vec<Vec<String>> = rows.collect();
        let heads = text.lines().filter(|line| line.starts_with("|---|--:")).count();
        assert_eq!(rows.len(), run.cases.len() + 2 * heads, "{text}");
        assert!(rows.iter().all(|cells| !cells[2].is_empty()), "{text}");
    }
    let text = render("markdown", &synthetic::plausible());
    assert!(["## ", " … ", "skipped: ", "**FAILED**: "].iter().all(|part| text.contains(part)), "{text}");
}

/// The core's clock in runs whose values are [`led`].
const GHZ: f64 = 3.1;

/// A run whose quiet values lead and are a fifth better than the typical ones, with the same in cycles beside each: every second has a
/// quiet value of its cycles too, as cases have that are told at a clock.
fn led() -> Run {
    let mut run = synthetic::plausible();
    let quiet = |of: &mut Estimate, better: f64, at_hz: Option<f64>| {
        let value = of.typical * better;
        let (low, high) = (Some(value * 0.999), Some(value * 1.001));
        (of.quiet, of.leading, of.repetition) =
            (Some(Quiet { value, low, high, range: None, at_hz }), Leading::Quiet, None);
    };
    let is_rate = |probe: &ProbeInfo| probe.unit == Unit::BytesPerSecond;
    for probe in &mut run.probes {
        let (name, unit) = if is_rate(probe) { ("bytes_per_cycle", Unit::Ratio) } else { ("cycles", Unit::CoreCycles) };
        let title = Text { en: name.to_owned(), zh: name.to_owned() };
        probe.also.retain(|also| also.name != name);
        probe.also.push(QuantityInfo { name: name.into(), unit, better: Better::Neither, title });
    }
    for (index, case) in run.cases.iter_mut().enumerate() {
        let probe = run.probes.iter().find(|probe| probe.id == case.probe).unwrap();
        let Some(measured) = case.measured_mut() else { continue };
        let typical = measured.estimate.typical;
        let (name, cycles, better) = match is_rate(probe) {
            true => ("bytes_per_cycle", typical / GHZ / 1e9, 1.25),
            false => ("cycles", typical * GHZ, 0.8),
        };
        let at_hz = (index % 2 == 0).then_some(GHZ * 1e9);
        let mut estimate = synthetic::estimate(cycles, 0.004);
        if at_hz.is_some() {
            quiet(&mut estimate, better, None);
        }
        measured.also.insert(name.into(), Also { estimate });
        quiet(&mut measured.estimate, better, at_hz);
    }
    run
}

/// Cases with a value, with what leads of it and of its cycles.
fn leading(run: &Run) -> impl Iterator<Item = (&CaseRecord, &Measured, f64, f64)> {
    run.cases.iter().filter_map(|case| {
        let measured = case.measured()?;
        let better = measured.estimate.quiet?.value / measured.estimate.typical;
        let of_cycles = ["cycles", "bytes_per_cycle"].iter().find_map(|name| measured.also.get(*name)).unwrap();
        Some((case, measured, better * measured.estimate.typical, better * of_cycles.estimate.typical))
    })
}

fn with_estimator(params: &Params, estimator: &str) -> Vec<(String, String)> {
    params.0.iter().cloned().chain([("estimator".to_owned(), estimator.to_owned())]).collect()
}

fn is_near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-5
}

#[test]
fn every_export_gives_the_leading_value_of_a_case_and_of_its_cycles() {
    let run = led();
    let csv = render("csv", &run);
    let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let jsonl: Vec<serde_json::Value> =
        render("jsonl", &run).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let prometheus = prometheus(&render("prometheus", &run));
    for (case, measured, value, cycles) in leading(&run) {
        let name = if measured.also.contains_key("cycles") { "cycles" } else { "bytes_per_cycle" };
        for (quantity, wanted, typical) in
            [("value", value, measured.estimate.typical), (name, cycles, measured.also[name].estimate.typical)]
        {
            let quoted = format!("{}{quantity}", if case.id.contains(',') { "\"" } else { "" });
            let is_row = |line: &&str| line.contains(&case.id) && line.contains(&format!(",{quantity},"));
            let row = csv.lines().find(is_row).unwrap_or_else(|| panic!("{} {quoted}", case.id));
            // The id alone may have commas, and it stands before what is read here.
            let cells: Vec<&str> = row.split(',').rev().collect();
            let cell = |name: &str| cells[heads.len() - 1 - at(name)];
            assert!(is_near(cell("value").parse().unwrap(), wanted), "{row}");
            assert_eq!((cell("estimator"), cell("typical").parse()), ("quiet", Ok(typical)), "{row}");
        }
        let line = jsonl.iter().find(|line| line["case"] == case.id.as_str()).unwrap();
        for (of, wanted) in [(line, value), (&line["also"][name], cycles)] {
            assert!(is_near(of["value"].as_f64().unwrap(), wanted) && of["estimator"] == "quiet", "{line}");
        }
        let is_it = |sample: &&Sample, part: &str| {
            let start = format!("hostmark_{}_{part}", case.probe.replace('.', "_"));
            sample.0.starts_with(&start)
                && !sample.0.contains("_interval_")
                && sample.1 == with_estimator(&case.params, "quiet")
        };
        let (part, base) = if name == "cycles" { ("seconds", 1e-9) } else { ("bytes_per_second", 1.0) };
        for (part, wanted) in [(part, value * base), (name, cycles)] {
            let sample = prometheus.iter().find(|sample| is_it(sample, part)).unwrap_or_else(|| panic!("{part}"));
            assert!(is_near(sample.2, wanted), "{sample:?}");
        }
    }
}

#[test]
fn every_format_has_a_name_of_its_own_and_ends_with_a_line_break() {
    let names: HashSet<&str> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(names.len(), FORMATS.len());
    for format in FORMATS {
        assert!(!format.description.en.is_empty() && !format.description.zh.is_empty());
        for run in [synthetic::plausible(), synthetic::empty()] {
            let text = format.render_one(&run, &RenderOptions::default());
            // Without a case there is no line of a case.
            let is_right = text.ends_with('\n') || (text.is_empty() && run.cases.is_empty());
            assert!(is_right, "{}", format.name);
        }
    }
    assert!(format_named("no such format").is_none());
}

/// A sample of the text format: its name, its labels, its value.
pub type Sample = (String, Vec<(String, String)>, f64);

/// Reads the text format by its rules, and holds it to those of the textfile collector and of promtool's check.
pub fn prometheus(text: &str) -> Vec<Sample> {
    let (mut samples, mut kinds, mut seen) = (Vec::new(), HashMap::new(), HashSet::new());
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut family = String::new();
    let mut closed = HashSet::new();
    for line in text.strip_suffix("# EOF\n").unwrap().lines() {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && !help.is_empty() && closed.insert(name.to_owned()), "{line}");
            // As promtool's rule is.
            assert!(
                !name.split('_').any(|part| ["s", "ms", "us", "ns", "b", "kb", "mb", "gb"].contains(&part)),
                "{line}"
            );
            family = name.to_owned();
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!((name, kind), (family.as_str(), "gauge"));
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            continue;
        }
        let end = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(end);
        // All samples of a family stand below its TYPE.
        assert_eq!(name, family, "{line}");
        let mut labels = Vec::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            loop {
                let (label, value) = rest.split_once("=\"").unwrap();
                assert!(is_name(label) && !label.starts_with("__"), "{line}");
                let (mut text, mut chars, mut length) = (String::new(), value.chars(), 0);
                loop {
                    let c = chars.next().expect("a label's value ends");
                    length += c.len_utf8();
                    match c {
                        '"' => break,
                        '\\' => {
                            let escaped = chars.next().unwrap();
                            assert!(matches!(escaped, '\\' | '"' | 'n'), "{line}");
                            length += escaped.len_utf8();
                            text.push(escaped);
                        }
                        c => text.push(c),
                    }
                }
                assert!(!labels.iter().any(|(known, _)| known == label), "{line}");
                labels.push((label.to_owned(), text));
                rest = &value[length..];
                match rest.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => break,
                }
            }
            rest = rest.strip_prefix('}').unwrap();
        }
        // Those of the run, by which files of several may lie in one folder.
        let own = labels.split_off(labels.len() - 2);
        assert_eq!(own.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["run", "host"], "{line}");
        let number = rest.strip_prefix(' ').unwrap();
        assert!(!number.contains(' '), "a timestamp: {line}");
        let number: f64 = number.parse().unwrap();
        assert!(number.is_finite(), "{line}");
        assert!(seen.insert((name.to_owned(), labels.clone())), "twice: {line}");
        assert!(!["_total", "_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end)), "{line}");
        samples.push((name.to_owned(), labels, number));
    }
    samples
}

#[test]
fn services_that_follow_benchmarks_get_every_value_that_counts_with_its_direction() {
    let mut run = synthetic::plausible();
    let rates: Vec<String> = run.probes.iter().filter(|p| p.better == Better::Higher).map(|p| p.id.clone()).collect();
    let doubtful = run.cases.iter().position(|case| rates.contains(&case.probe) && case.measured().is_some()).unwrap();
    run.cases[doubtful].measured_mut().unwrap().flags.push(Flag::new(FlagKind::Unconfirmed, "planted"));
    let is_sure = |one: &&Measured| {
        !one.flags.iter().any(|flag| matches!(flag.kind, FlagKind::Unconfirmed | FlagKind::Implausible))
    };
    let is_judged = |case: &&CaseRecord| run.probes.iter().any(|p| p.id == case.probe && p.better != Better::Neither);
    let judged: HashMap<&str, (&Measured, bool)> = run
        .cases
        .iter()
        .filter(is_judged)
        .filter_map(|case| Some((case.id.as_str(), (case.measured().filter(is_sure)?, rates.contains(&case.probe)))))
        .collect();
    assert!(!judged.contains_key(run.cases[doubtful].id.as_str()));
    assert!(judged.values().any(|(_, is_rate)| *is_rate) && judged.values().any(|(_, is_rate)| !is_rate));

    let entries: Vec<serde_json::Value> = serde_json::from_str(&render("github-action-benchmark", &run)).unwrap();
    assert_eq!(entries.len(), judged.len());
    for entry in &entries {
        let (measured, is_rate) = judged[entry["name"].as_str().unwrap()];
        let (value, own) = (entry["value"].as_f64().unwrap(), measured.estimate.value());
        let cost = match entry["unit"].as_str().unwrap() {
            unit if unit.starts_with("1/") => 1.0 / own,
            unit if unit.starts_with("ns/") => 1e9 / own,
            _ if !is_rate => own,
            unit => panic!("{unit} of a rate"),
        };
        assert!((value / cost - 1.0).abs() < 1e-12, "{entry}");
    }
    let metrics: HashMap<String, HashMap<String, serde_json::Value>> =
        serde_json::from_str(&render("bencher", &run)).unwrap();
    assert_eq!(metrics.len(), judged.len());
    for (name, measures) in &metrics {
        let metric = measures.values().next().unwrap();
        assert_eq!(metric["value"].as_f64(), Some(judged[name.as_str()].0.estimate.value()), "{name}");
    }
    let text = render("go-bench", &run);
    let lines: Vec<Vec<&str>> =
        text.lines().filter(|line| line.starts_with("Benchmark")).map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), judged.values().map(|(measured, _)| measured.rounds.len()).sum::<usize>());
    for line in lines {
        let [name, samples, value, unit] = line[..] else { panic!("{line:?}") };
        assert!(name["Benchmark".len()..].starts_with(char::is_uppercase) && name.ends_with("-1"), "{name}");
        assert!(samples.parse::<u64>().is_ok_and(|samples| samples > 0) && value.parse::<f64>().is_ok(), "{line:?}");
        assert!(text.contains(&format!("Unit {unit} better=")), "{unit}");
    }
}

#[test]
fn a_brief_has_figures_their_limits_codes_and_the_next_command_in_two_kilobytes() {
    let run = synthetic::plausible();
    let brief = |format: &str, lang| {
        format_named(format).unwrap().render_one(&run, &RenderOptions { lang, ..RenderOptions::default() })
    };
    for (format, lang) in [("brief", Lang::En), ("brief", Lang::Zh), ("brief-json", Lang::En), ("brief-json", Lang::Zh)]
    {
        let text = brief(format, lang);
        assert!(text.len() <= 2048, "{format} {lang:?}: {} bytes", text.len());
    }
    let json: serde_json::Value = serde_json::from_str(&brief("brief-json", Lang::En)).unwrap();
    let dram = run.cases.iter().find(|case| case.id == "memory.hierarchy@level=dram").unwrap().measured().unwrap();
    let figure = &json["figures"]["memory.hierarchy@level=dram"];
    let value = figure[0].as_f64().unwrap();
    assert!((value / dram.estimate.value() - 1.0).abs() < 1e-3 && figure[3] == "ns", "{figure}");
    let codes: Vec<&str> =
        json["findings"].as_array().unwrap().iter().filter_map(|found| found["code"].as_str()).collect();
    assert!(
        !codes.is_empty()
            && codes.iter().all(|code| hostmark_analysis::findings::RULES.iter().any(|rule| rule.id == *code))
    );
    let is_limited = |figure: &serde_json::Value| !figure[4].as_array().unwrap().is_empty();
    assert!(json["figures"].as_object().unwrap().values().any(is_limited), "{json}");
    assert!(json["next"].as_str().unwrap().starts_with("hostmark "));
    let text = brief("brief", Lang::En);
    assert!(text.contains("DRAM: ") && text.contains(codes[0]) && text.contains("next: hostmark "), "{text}");
}
