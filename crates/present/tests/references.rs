//! References: every value has its source, ours are what docs/study says, a ratio stands beside the nearest kind of machine, and a
//! number without an interval never gets a verdict.

use hostmark_analysis::references::{Reference, Standing, beside, built_in, named, of_run, usual};
use hostmark_present::render::{against::against, references};

use crate::prelude::*;

#[test]
fn every_value_has_address_date_machine_and_method() {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/references")).unwrap();
    let mut names = Vec::new();
    // One file says how to send in another.
    let is_reference = |path: &std::path::PathBuf| path.extension().is_none_or(|ending| ending != "md");
    for path in files.map(|file| file.unwrap().path()).filter(is_reference) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(Reference::parse(&text, &name, &name).err(), None, "{name}");
        names.push(name);
    }
    names.sort();
    // None of the directory is left out, whether by its name or because it could not be read.
    assert_eq!(built_in().iter().map(|reference| reference.name.clone()).collect::<Vec<String>>(), names);
    for reference in built_in() {
        assert!(!reference.values.is_empty(), "{}", reference.name);
        for value in reference.values.iter().chain(reference.classes.iter().flat_map(|class| &class.values)) {
            let (source, at) = (value.source(reference), format!("{} of {}", value.id, reference.name));
            assert!(source.is_whole(), "{at}");
            let is_address = ["https://", "document: ", "docs/"].iter().any(|begin| source.address.starts_with(begin));
            assert!(is_address, "{at}: {}", source.address);
            assert!(source.date.contains("20"), "{at}: {}", source.date);
            // A number with an interval is ours, or what is usual; a published one says in what it was measured otherwise.
            assert_eq!(value.interval.is_some(), value.differs.is_none(), "{at}");
            let is_ours = source.address == "docs/study";
            assert_eq!(value.interval.is_some(), is_ours || reference.design.is_some(), "{at}");
            assert_eq!(reference.design.is_some(), reference.name.starts_with("usual-"), "{at}");
            // Half of the servers lie within what eight of ten do; a maker tells a number.
            assert_eq!(value.half.is_some(), reference.design.is_some() && value.quantity.is_empty(), "{at}");
            assert_ne!((value.id.as_str(), value.quantity.as_str(), reference.design.is_some()), L1D_IN_TIME, "{at}");
            if let (Some([low, high]), Some([below, above])) = (value.interval, value.half) {
                assert!(low <= below && below <= value.value && value.value <= above && above <= high, "{at}");
            }
        }
    }
}

/// At another clock it is another number, and says nothing of a core.
const L1D_IN_TIME: (&str, &str, bool) = ("memory.hierarchy@level=l1d", "", true);

#[test]
fn a_file_without_one_of_the_four_is_refused() {
    let whole = serde_json::json!({
        "schema": "hostmark.reference/1", "machine": {"en": "m", "zh": "m"}, "address": "a", "date": "d",
        "method": {"en": "how", "zh": "how"}, "values": [{"id": "syscall.null", "value": 50.0}],
    });
    let read = |json: &serde_json::Value| Reference::parse(&json.to_string(), "mine", "mine.json");
    assert_eq!(read(&whole).unwrap().name, "mine");
    for (key, empty) in [
        ("address", "".into()),
        ("date", " ".into()),
        ("machine", serde_json::json!({"en": "", "zh": "m"})),
        ("method", serde_json::json!({"en": "how", "zh": ""})),
    ] {
        let mut less = whole.clone();
        less[key] = empty;
        assert!(read(&less).unwrap_err().contains("syscall.null"), "{key}");
        less.as_object_mut().unwrap().remove(key);
        assert!(read(&less).is_err(), "{key}");
    }
    for value in [
        serde_json::json!({"id": "syscall.null", "value": -1.0}),
        serde_json::json!({"id": "syscall.null", "value": 0.0}),
        serde_json::json!({"id": "no id", "value": 1.0}),
        serde_json::json!({"id": "syscall.null", "value": 1.0, "interval": [2.0, 3.0]}),
        serde_json::json!({"id": "syscall.null", "value": 1.0, "interval": [0.0, 3.0]}),
        serde_json::json!({"id": "syscall.null", "value": "many"}),
    ] {
        let mut wrong = whole.clone();
        wrong["values"][0] = value.clone();
        assert!(read(&wrong).is_err(), "{value}");
    }
}

/// The values of each case in the runs that are kept in docs/study.
fn recorded() -> HashMap<String, Vec<f64>> {
    let mut all: HashMap<String, Vec<f64>> = HashMap::new();
    for folder in ["b", "c", "d"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study").join(folder);
        let table = std::fs::read_to_string(folder.join("runs.tsv")).unwrap();
        let mut case = "";
        for line in table.lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["run", ..] => {}
                ["case", id] => case = id,
                [_, value, ..] => all.entry(case.to_owned()).or_default().push(value.parse().unwrap()),
                _ => panic!("{line}"),
            }
        }
    }
    all
}

#[test]
fn ours_is_what_the_recorded_runs_come_to() {
    let recorded = recorded();
    let ours = named("emerald-rapids-kvm").unwrap();
    for value in &ours.values {
        // An id without all axes means the probe's defaults: the case is the one that has the value.
        let probe = value.id.split('@').next().unwrap();
        let is_fitting = |values: &&Vec<f64>| {
            let mut sorted = (*values).clone();
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len();
            let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
            let ends =
                [sorted[(0.05 * (n - 1) as f64).floor() as usize], sorted[(0.95 * (n - 1) as f64).ceil() as usize]];
            n >= 20 && (median / value.value - 1.0).abs() < 1e-9 && value.interval == Some(ends)
        };
        let found = match recorded.get(&value.id) {
            Some(values) => Some(values).filter(is_fitting).is_some(),
            None => recorded.iter().any(|(id, values)| id.starts_with(&format!("{probe}@")) && is_fitting(&values)),
        };
        assert!(found, "{}", value.id);
    }
}

fn text(run: &Run, lang: Lang, width: usize) -> String {
    let options = RenderOptions { width, lang, ..RenderOptions::default() };
    format_named("answer").unwrap().render_one(run, &options)
}

/// The large run on such a machine as ours was.
fn on_such_a_machine() -> Run {
    let mut run = thorough::thorough();
    run.host.cpu.architecture = "x86_64".into();
    run.host.cpu.vendor = Some("GenuineIntel".into());
    run
}

/// The same run with every value of a probe times a factor.
fn times(mut run: Run, probe: &str, factor: f64) -> Run {
    for measured in
        run.cases.iter_mut().filter(|case| case.probe == probe).filter_map(hostmark_model::CaseRecord::measured_mut)
    {
        measured.estimate = synthetic::estimate(measured.estimate.typical * factor, 0.001);
    }
    run
}

const MEMORY: &str = "memory.hierarchy@level=dram";

fn of_memory(run: &Run) -> f64 {
    run.cases.iter().find(|case| case.id == MEMORY).unwrap().measured().unwrap().estimate.value()
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn constants_stand_with_words_beside_the_nearest_machine() {
    let run = on_such_a_machine();
    let ours = named("emerald-rapids-kvm").unwrap();
    let reference = ours.values.iter().find(|value| value.id == MEMORY).unwrap();
    // Three times the reference is worse than both intervals explain, a third of it is not bad, the same is neither.
    for (factor, words) in [(3.0, " % slower !"), (1.0 / 3.0, " % faster"), (1.0, "same")] {
        let factor = factor * reference.value / of_memory(&run);
        let text = text(&times(run.clone(), "memory.hierarchy", factor), Lang::En, 100);
        let row = text.lines().find(|line| line.starts_with("DRAM")).unwrap();
        assert!(row.contains(words), "{row} has not {words}\n{text}");
        assert_eq!(text.matches("beside emerald-rapids-kvm, one machine; hostmark explain").count(), 1, "{text}");
    }
}

#[test]
fn a_host_is_judged_by_servers_of_its_design_and_never_by_another_vendor() {
    let mut run = of_constants();
    let mut named = |vendor: &str, model: &str, design: Option<&str>| {
        run.host.cpu.vendor = Some(vendor.into());
        run.host.cpu.model = Some(model.into());
        run.host.cpu.microarchitecture = design.map(str::to_owned);
        beside(&run).map(|nearest| nearest.reference.name.clone())
    };
    let [amd, intel] = ["AuthenticAMD", "GenuineIntel"];
    assert_eq!(named(amd, "AMD EPYC", Some("Zen 3, Milan")).as_deref(), Some("usual-zen-3-milan"));
    assert_eq!(named(intel, "Processor", Some("Granite Rapids")).as_deref(), Some("usual-granite-rapids"));
    assert_eq!(named(intel, "Processor", Some("≥ Sapphire Rapids")).as_deref(), Some("emerald-rapids-kvm"));
    assert_eq!(named(intel, "Processor", Some("Lunar Lake")).as_deref(), Some("emerald-rapids-kvm"));
    assert_eq!(named(amd, "AMD EPYC", None), None);
    // A desktop's processor of a server's generation is no server's.
    assert_eq!(named(intel, "Intel Core i5-6500", Some("Skylake")).as_deref(), Some("emerald-rapids-kvm"));
    // As a hypervisor's model is called, in one word.
    assert_eq!(named(intel, "Intel Xeon Processor (Cascadelake)", None).as_deref(), Some("usual-cascade-lake"));
}

#[test]
fn a_guest_stands_beside_servers_with_about_as_many_cpus() {
    let mut run = of_constants();
    run.host.cpu.model = None;
    run.host.cpu.microarchitecture = Some("Ice Lake-SP".into());
    let cpu = run.host.cpus[0].clone();
    let mut beside_what = |cpus: usize| {
        run.host.cpus = (0..cpus).map(|id| hostmark_model::CpuFact { id, online: true, ..cpu.clone() }).collect();
        beside(&run).unwrap().source().to_string()
    };
    assert_eq!(beside_what(2), "usual: 32 Ice Lake-SP cloud servers with 1 to 2 CPUs (Spare Cores, 2026)");
    assert_eq!(beside_what(300), "usual: 65 Ice Lake-SP cloud servers with 32 CPUs or more (Spare Cores, 2026)");
    // Of a class with few servers nothing is told: all of the kind stand there.
    run.host.cpu.microarchitecture = Some("Haswell-EP".into());
    run.host.cpus.truncate(2);
    assert_eq!(beside(&run).unwrap().source().to_string(), "usual: 29 Haswell-EP cloud servers (Spare Cores, 2026)");
}

/// What of the large run the constants are made of: the rest takes long to go through.
fn of_constants() -> Run {
    let mut run = on_such_a_machine();
    let groups = ["memory.hierarchy", "syscall.null", "clock.read", "cpu.frequency", "sched.context_switch"];
    run.cases.retain(|case| groups.contains(&case.probe.as_str()));
    run
}

#[test]
fn what_nine_of_ten_servers_of_a_design_deliver_is_held_against_a_run() {
    let mut run = of_constants();
    run.host.cpu.model = None;
    run.host.cpu.microarchitecture = Some("Ice Lake-SP".into());
    let of_design = usual(&run.host).unwrap();
    assert_eq!(of_design.name, "usual-ice-lake-sp");
    let standings = |factor: f64| {
        let mut run = run.clone();
        for case in run.cases.iter_mut().filter(|case| case.probe == "memory.hierarchy") {
            let level = format!("memory.hierarchy@level={}", case.params.get("level").unwrap());
            let known = of_design.values.iter().find(|value| value.id == level);
            if let (Outcome::Measured(measured), Some(known)) = (&mut case.outcome, known) {
                let estimate = synthetic::estimate(known.value * factor, 0.001);
                match known.quantity.as_str() {
                    "" => measured.estimate = estimate,
                    cycles => drop(measured.also.insert(cycles.to_owned(), Also { estimate })),
                }
            }
        }
        let clock = of_design.values.iter().find(|value| value.id.starts_with("cpu.frequency")).unwrap();
        let mut info = synthetic::probe("cpu.frequency", ("clock", "频率"), Unit::Hertz, ("Group", "组"), &[]);
        info.better = Better::Higher;
        run.probes.insert(0, info);
        run.cases.insert(0, synthetic::value(&clock.id, clock.value / factor));
        against(&run, of_design).unwrap().standings().collect::<Vec<_>>()
    };
    assert!(standings(1.0).iter().all(|standing| *standing == Standing::Within), "{:?}", standings(1.0));
    assert!(standings(9.0).iter().all(|standing| *standing == Standing::Worse), "{:?}", standings(9.0));
    assert!(standings(0.1).iter().all(|standing| *standing == Standing::Better), "{:?}", standings(0.1));
    run.host.cpu.microarchitecture = None;
    assert_eq!(usual(&run.host).map(|reference| &reference.name), None);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn of_another_architecture_there_is_no_nearest_machine_and_markdown_says_the_same() {
    let mut run = on_such_a_machine();
    let options = RenderOptions::default();
    let markdown = format_named("markdown").unwrap().render_one(&run, &options);
    assert!(markdown.contains("hostmark explain emerald\\-rapids\\-kvm") || markdown.contains("emerald-rapids-kvm"));
    run.host.cpu.architecture = "riscv64".into();
    assert!(!text(&run, Lang::En, 100).contains("hostmark explain"));
}

/// What stands beside a reference, row by row.
fn rows(run: &Run, reference: &Reference) -> Vec<Value> {
    let json: Value = serde_json::from_str(&against(run, reference).unwrap().json()).unwrap();
    json["rows"].as_array().unwrap().clone()
}

#[test]
fn a_published_number_gets_a_ratio_and_no_verdict() {
    let run = times(on_such_a_machine(), "syscall.null", 1000.0);
    let published = rows(&run, named("x220").unwrap());
    assert!(!published.is_empty() && published.iter().all(|row| row["standing"] == "other_method"), "{published:?}");
    assert!(published.iter().all(|row| row["reference_interval"].is_null() && row["ratio"].as_f64().unwrap() > 0.0));
    // One of the same method without an interval is no better.
    let mut alike = named("x220").unwrap().clone();
    alike.values.iter_mut().for_each(|value| value.differs = None);
    assert!(rows(&run, &alike).iter().all(|row| row["standing"] == "no_interval"));
    // With intervals on both sides the direction tells.
    let standing = |run: &Run| {
        let all = rows(run, named("emerald-rapids-kvm").unwrap());
        all.iter().find(|row| row["id"] == "syscall.null").unwrap()["standing"].clone()
    };
    assert_eq!(standing(&run), "worse");
    // Of rounds that do not agree, one of them as good as the reference, nothing is said.
    let mut unstable = run;
    for case in unstable.cases.iter_mut().filter(|case| case.probe == "syscall.null") {
        let Some(measured) = case.measured_mut() else { continue };
        let value = measured.estimate.value();
        measured.estimate = synthetic::estimate(value, 0.5);
        measured.estimate.range = Some([value / 2000.0, value * 2.0]);
    }
    assert_eq!(standing(&unstable), "unsteady");
}

#[test]
fn a_run_is_a_reference_and_stands_beside_itself_as_the_same() {
    let run = on_such_a_machine();
    let itself = of_run(&run, "mine", "mine.json");
    let rows = rows(&run, &itself);
    let measured = run.cases.iter().filter(|case| case.measured().is_some()).count();
    assert!(rows.len() > measured / 2, "{} of {measured}", rows.len());
    for row in rows {
        assert_eq!(row["ratio"], 1.0, "{row}");
        assert!(row["standing"] != "worse" && row["standing"] != "better", "{row}");
    }
}

#[test]
fn what_is_shown_has_the_sources_and_steers_no_terminal() {
    let run = on_such_a_machine();
    for (lang, reference) in
        [Lang::En, Lang::Zh].into_iter().flat_map(|lang| built_in().iter().map(move |one| (lang, one)))
    {
        let options = RenderOptions { lang, ..RenderOptions::default() };
        let page = references::page(reference, &run.probes, &options);
        let joined: String = page.split_whitespace().collect();
        for value in &reference.values {
            let address: String = value.source(reference).address.split_whitespace().collect();
            assert!(joined.contains(&address) && joined.contains(&run.typed_id(&value.id)), "{page}");
        }
    }
    let mut hostile = named("x220").unwrap().clone();
    hostile.machine.en = "a\u{1b}[31mred".into();
    hostile.address = "http://x/\u{202e}".into();
    hostile.values[0].differs.as_mut().unwrap().en = "b\u{7}".into();
    let options = RenderOptions::default();
    let table = against(&run, &hostile).unwrap();
    for text in [references::page(&hostile, &run.probes, &options), table.table(&options), table.json()] {
        assert!(!text.chars().any(|c| hostmark_analysis::escape::steers(c) && c != '\n'), "{text:?}");
    }
}
