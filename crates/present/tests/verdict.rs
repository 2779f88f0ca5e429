//! What a constant comes to beside what is usual: the same words and the same direction wherever they stand, and none lost on a screen.

use hostmark_analysis::constants::{ConstantValue, name_of, of_run};
use hostmark_analysis::findings;
use hostmark_analysis::references::{NearestReference, ReferenceVerdict, Standing, Tone, beside};
use hostmark_present::render::against::against;

use crate::prelude::*;

fn shown(run: &Run, format: &str, lang: Lang, width: usize) -> String {
    format_named(format).unwrap().render_one(run, &RenderOptions { width, lang, ..RenderOptions::default() })
}

/// A run of the constants alone, on an x86 processor of this vendor and design.
fn of_design(vendor: &str, design: &str) -> Run {
    let mut run = synthetic::plausible();
    let [time, rate] = [Unit::Nanoseconds, Unit::BytesPerSecond];
    run.cases.retain(|case| case.probe == "memory.hierarchy");
    run.probes.retain(|probe| probe.id == "memory.hierarchy");
    for (probe, unit, cases) in [
        ("memory.read", rate, &[("", 13.4e9)][..]),
        ("memory.stream", rate, &[("@kernel=triad", 25.8e9)]),
        ("cpu.frequency", Unit::Hertz, &[("@load=scalar,threads=1", 3.03e9)]),
        ("clock.read", time, &[("@source=monotonic", 31.1)]),
        ("syscall.null", time, &[("", 185.0)]),
        ("sched.context_switch", time, &[("", 2850.0)]),
        ("paging.fault", time, &[("@kind=anonymous", 3310.0)]),
        ("process.exec", time, &[("@way=fork,child=static", 316e3)]),
        ("ipc.round_trip", time, &[("@by=pipe,cpus=same_cpu", 7540.0), ("@by=pipe,cpus=same_cache", 15.4e3)]),
        ("net.round_trip", time, &[("@protocol=tcp,cpus=same_cpu", 22.5e3)]),
        ("net.tcp_bandwidth", rate, &[("@cpus=same_cpu", 2.19e9)]),
        ("disk.fsync", time, &[("", 238e3)]),
    ] {
        let mut info = synthetic::probe(probe, (probe, probe), unit, ("Group", "组"), &[]);
        info.better = if unit == time { Better::Lower } else { Better::Higher };
        for (at, value) in cases {
            let mut case = synthetic::value(&format!("{probe}{at}"), *value);
            if probe == "disk.fsync" {
                let title = Text { en: "p90".to_owned(), zh: "p90".to_owned() };
                info.also = vec![QuantityInfo { name: "p90".into(), unit, better: Better::Lower, title }];
                case.measured_mut()
                    .unwrap()
                    .also
                    .insert("p90".to_owned(), Also { estimate: synthetic::estimate(296e3, 0.23) });
            }
            run.cases.push(case);
        }
        run.probes.push(info);
    }
    // A design's own.
    for (level, cycles) in [("l1d", 4.0), ("l2", 12.1)] {
        run = with_cycles(run, level, cycles, 0.01);
    }
    run.findings = Vec::new();
    run.host.cpu.architecture = "x86_64".into();
    run.host.cpu.vendor = Some(vendor.into());
    run.host.cpu.model = Some("Processor".into());
    run.host.cpu.microarchitecture = Some(design.into());
    run
}

/// One beside what is usual, one beside a machine, and one beside nothing.
fn runs() -> [Run; 3] {
    [("AuthenticAMD", "Zen 3, Milan"), ("GenuineIntel", "Lunar Lake"), ("AuthenticAMD", "Zen 9")]
        .map(|(vendor, design)| of_design(vendor, design))
}

/// The run with this latency of a level, and rounds that lie so far to either side.
fn with_latency(mut run: Run, level: &str, ns: f64, half: f64) -> Run {
    let id = format!("memory.hierarchy@level={level}");
    for case in run.cases.iter_mut().filter(|case| case.id == id) {
        let measured = case.measured_mut().unwrap();
        measured.estimate = synthetic::estimate(ns, half);
        measured.estimate.range = Some([ns * (1.0 - half), ns * (1.0 + half)]);
    }
    run
}

fn measured_of<'a>(run: &'a mut Run, probe: &str, level: Option<&str>) -> &'a mut Measured {
    let is_it = |case: &&mut CaseRecord| case.probe == probe && case.params.get("level") == level;
    let case = run.cases.iter_mut().find(is_it).unwrap();
    case.measured_mut().unwrap()
}

/// The run with so many cycles of a level of the core, and rounds that lie so far to either side.
fn with_cycles(mut run: Run, level: &str, cycles: f64, half: f64) -> Run {
    let mut estimate = synthetic::estimate(cycles, half);
    estimate.range = Some([cycles * (1.0 - half), cycles * (1.0 + half)]);
    measured_of(&mut run, "memory.hierarchy", Some(level)).also.insert("cycles".into(), Also { estimate });
    run
}

fn with_clock(mut run: Run, hz: f64) -> Run {
    measured_of(&mut run, "cpu.frequency", None).estimate = synthetic::estimate(hz, 0.002);
    run
}

fn verdict_of(run: &Run, name: &str) -> Option<ReferenceVerdict> {
    let nearest = beside(run).unwrap();
    let lines = of_run(run);
    let constant = lines.iter().flat_map(|(_, constants)| constants).find(|constant| constant.name.en == name).unwrap();
    nearest.verdict(constant)
}

/// What is usual for Zen 3, Milan has this as the ends of DRAM's latency.
fn ends(run: &Run) -> [f64; 2] {
    let NearestReference { reference, .. } = beside(run).unwrap();
    let values = reference.values_for(&run.host);
    values.iter().find(|value| value.id.ends_with("level=dram")).unwrap().interval.unwrap()
}

#[test]
fn memory_that_the_last_cache_may_hold_in_part_is_no_more_than_about_as_slow() {
    let [run, ..] = runs();
    let [_, high] = ends(&run);
    let mut run = with_latency(run, "dram", high * 1.6, 0.02);
    assert_eq!(verdict_of(&run, "DRAM").unwrap().tone, Tone::Bad);
    for case in run.cases.iter_mut().filter(|case| case.id.ends_with("level=dram")) {
        case.measured_mut().unwrap().flags.push(Flag::new(FlagKind::SmallBuffer, "256 MiB"));
    }
    let said = verdict_of(&run, "DRAM").unwrap();
    assert_eq!((said.words.en.starts_with("about "), said.tone), (true, Tone::Plain), "{said:?}");
}

#[test]
fn slower_is_what_lies_beyond_nine_of_ten_servers_by_more_than_its_interval() {
    let [run, ..] = runs();
    let [low, high] = ends(&run);
    let said = |ns: f64, half: f64| verdict_of(&with_latency(run.clone(), "dram", ns, half), "DRAM").unwrap();
    for (ns, half, words, tone) in [
        (high * 1.6, 0.02, "60 % slower !", Tone::Bad),
        (high * 1.3, 0.02, "30 % slower !", Tone::Bad),
        (high * 1.1, 0.02, "10 % slower", Tone::Doubtful),
        // Its interval reaches into what is usual.
        (high * 1.1, 0.12, "perhaps slower", Tone::Plain),
        (low / 1.1, 0.12, "perhaps faster", Tone::Plain),
        (high * 1.01, 0.12, "as usual", Tone::Plain),
        ((low + high) / 2.0, 0.02, "as usual", Tone::Plain),
        (low / 1.1, 0.02, "10 % faster", Tone::Good),
        (low / 2.0, 0.02, "100 % faster", Tone::Good),
        ((low + high) / 2.0, 0.5, "unsteady", Tone::Doubtful),
        // However far rounds lie apart, all of them are beyond.
        (high * 4.0, 0.5, "300 % slower !", Tone::Bad),
        // What rounds to nothing.
        (high * 1.003, 0.001, "as usual", Tone::Plain),
    ] {
        let verdict = said(ns, half);
        assert_eq!((verdict.words.en.as_str(), verdict.tone), (words, tone), "{ns} ±{half}");
        let says = |word: &str| f64::from(u8::from(words.contains(word) && !words.contains("perhaps")));
        let direction = says("faster") - says("slower");
        assert_eq!(verdict.better.ln().signum() * f64::from(u8::from(verdict.better != 1.0)), direction, "{words}");
    }
    // One round has nothing that would tell how far it can be off.
    let mut single = with_latency(run, "dram", high * 2.0, 0.02);
    for case in single.cases.iter_mut().filter(|case| case.id.ends_with("level=dram")) {
        let measured = case.measured_mut().unwrap();
        (measured.estimate.ci_low, measured.estimate.ci_high, measured.estimate.range) = (None, None, None);
    }
    let verdict = verdict_of(&single, "DRAM").unwrap();
    assert!(verdict.words.en.starts_with("about ") && verdict.tone == Tone::Plain, "{verdict:?}");
}

#[test]
fn nothing_of_a_row_is_lost_at_80_and_120_columns_in_either_language() {
    for run in runs() {
        // As long as rows get: a range in place of an interval.
        let run = with_latency(with_latency(run, "l2", 4.21, 0.6), "l3", 38.0, 0.3);
        let nearest = beside(&run);
        for (lang, width) in [Lang::En, Lang::Zh].into_iter().flat_map(|lang| [(lang, 80), (lang, 120)]) {
            let text = shown(&run, "answer", lang, width);
            assert!(text.lines().count() <= 21 && text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            let lines = of_run(&run);
            assert!(lines.iter().map(|(_, constants)| constants.len()).sum::<usize>() >= 17, "{lines:?}");
            for constant in lines.iter().flat_map(|(_, constants)| constants) {
                let spoken = |part: Message| hostmark_analysis::spoken(&part, lang);
                let range = nearest.and_then(|one| one.range_beside(constant)).map(spoken);
                let [here, repeat] = [constant.here(), constant.repeat()].map(spoken);
                // Beside one machine the rest is in `compare --against`.
                let words = nearest
                    .filter(|nearest| nearest.is_usual() || constant.is_of_machine())
                    .and_then(|nearest| nearest.verdict(constant))
                    .map(|verdict| verdict.words.get(lang).to_owned());
                for part in [Some(here), Some(repeat), range, words].into_iter().flatten() {
                    // Chinese has no blank before %.
                    let part = if lang == Lang::Zh { part.replace(" %", "%") } else { part };
                    assert!(text.contains(&part), "{width}: {part} is not in\n{text}");
                }
            }
            assert_eq!(text.lines().filter(|line| line.starts_with("L3 ")).count(), 1, "{width}:\n{text}");
            let usual = if lang == Lang::En { "similar servers" } else { "同类服务器" };
            assert_eq!(text.contains(usual), nearest.is_some_and(|nearest| nearest.is_usual()), "{text}");
        }
    }
}

/// What a picture says of a constant: better, worse or neither.
fn direction(number: f64, middle: f64) -> i32 {
    if (number - middle).abs() < 0.051 { 0 } else { (number - middle).signum() as i32 }
}

fn after<'a>(text: &'a str, begin: &str) -> &'a str {
    text.split_once(begin).unwrap_or_else(|| panic!("{begin} is not in\n{text}")).1
}

fn number(text: &str, begin: &str) -> f64 {
    let rest = after(text, begin);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap();
    rest[..end].parse().unwrap()
}

#[test]
fn words_and_pictures_say_the_same_in_every_view() {
    let [usual, machine, _] = runs();
    let [low, high] = ends(&usual);
    for (ns, expected) in [(high * 2.0, -1), ((low + high) / 2.0, 0), (low / 2.0, 1)] {
        for run in [&usual, &machine].map(|run| with_latency(run.clone(), "dram", ns, 0.01)) {
            let verdict = verdict_of(&run, "DRAM").unwrap();
            for lang in [Lang::En, Lang::Zh] {
                let words = verdict.words.get(lang);
                for format in ["answer", "html", "card", "markdown", "card-markdown"] {
                    let text = shown(&run, format, lang, 100);
                    // The marks of markdown are kept from being any.
                    let plain = text.replace('\\', "");
                    assert!(plain.contains(words), "{format}: {words} is not in\n{text}");
                }
            }
            let page = shown(&run, "html", Lang::En, 100);
            let strip = after(&page, "<th scope=\"row\">DRAM</th>").split("</tr>").next().unwrap();
            let [left, width, mark] =
                ["<i style=\"left:", "width:", "<b style=\"left:"].map(|begin| number(strip, begin));
            let drawn = direction(mark, mark.clamp(left, left + width));
            let card = shown(&run, "card", Lang::En, 100);
            let reach = after(after(&card, "· DRAM<"), "stroke=\"#e3e6ea\"");
            let reach = number(after(reach, "<path d="), "h");
            let side = direction(verdict.better.ln(), 0.0);
            assert_eq!((drawn, direction(reach, 0.0)), (side, side), "{verdict:?}\n{strip}");
            if beside(&run).unwrap().is_usual() {
                assert_eq!(side, expected, "{verdict:?}");
            }
        }
    }
}

/// Colour stands out what is worse and what is better.
#[test]
fn what_is_better_is_green_and_what_is_much_slower_red() {
    let [run, ..] = runs();
    let [low, high] = ends(&run);
    let coloured = |ns: f64| {
        let options = RenderOptions { color: true, ..RenderOptions::default() };
        format_named("answer").unwrap().render_one(&with_latency(run.clone(), "dram", ns, 0.01), &options)
    };
    assert!(coloured(high * 2.0).contains("\u{1b}[31m100 % slower !"));
    assert!(coloured(low / 2.0).contains("\u{1b}[32m100 % faster"));
}

#[test]
fn a_constant_that_nothing_is_known_of_has_no_word() {
    let [usual, _, unknown] = runs();
    let is_known = |constant: &ConstantValue| beside(&usual).unwrap().verdict(constant).is_some();
    let lines = of_run(&usual);
    let known: Vec<&str> = lines
        .iter()
        .flat_map(|(_, constants)| constants)
        .filter(|constant| is_known(constant))
        .map(|constant| constant.name.en)
        .collect();
    assert_eq!(known, ["L1d", "L2", "L3", "DRAM", "clock"]);
    assert!(beside(&unknown).is_none());
    assert!(!shown(&unknown, "answer", Lang::En, 80).contains("usual"));
}

#[test]
fn what_is_far_slower_than_usual_is_a_finding_with_its_cause() {
    let [run, beside_one, without] = runs().map(|run| with_latency(run, "l3", 14.0, 0.02));
    let found = |run: &Run| {
        let all = findings::findings(run).into_iter().map(crate::synthetic::sound);
        all.into_iter().find(|finding| finding.id == "machine.slower_than_usual")
    };
    let high = ends(&run)[1];
    for same in [&run, &beside_one, &without] {
        assert_eq!(found(&with_latency(same.clone(), "dram", high, 0.02)), None);
    }
    assert_eq!(found(&with_latency(without, "dram", high * 4.0, 0.02)), None);
    let slow = with_latency(run, "dram", high * 1.6, 0.02);
    let finding = found(&slow).unwrap();
    assert!((finding.cost - (1.0 - 1.0 / 1.6)).abs() < 0.01 && finding.cases.len() == 1, "{finding:?}");
    assert!(finding.short.en.starts_with("DRAM ") && finding.short.zh.starts_with("DRAM "), "{finding:?}");
    assert!(finding.short.en.contains("; 90 % of similar servers stay below "), "{}", finding.short.en);
    assert_eq!(findings::findings(&slow)[0].id, finding.id);
    assert!(finding.text.en.contains("Nothing else") && finding.text.en.contains("Zen 3"), "{}", finding.text.en);
    // A core that is slow as well is another line of it.
    let finding = found(&with_clock(with_cycles(slow.clone(), "l1d", 7.0, 0.02), 1.5e9)).unwrap();
    assert!(
        finding.short.en.starts_with("core clock 1.50 GHz; 90 % of similar servers give more than "),
        "{}",
        finding.short.en
    );
    assert!(finding.text.en.contains("L1d 7.00 cycles: 56 % slower than") && finding.cases.len() == 3, "{finding:?}");
    // Huge pages that the hypervisor cuts.
    let mut cut = slow;
    cut.host.memory.pmd_page_bytes = Some(2 << 20);
    let mut measured = synthetic::measured(4096.0, 0.0);
    measured.estimate.agreement = Some(1.0);
    for (name, ns) in [("huge", 78.0), ("base", 80.0)] {
        measured.also.insert(name.into(), Also { estimate: synthetic::estimate(ns, 0.02) });
    }
    cut.cases.push(synthetic::case("memory.effective_page", Outcome::Measured(Box::new(measured))));
    let finding = found(&cut).unwrap();
    assert!(finding.short.en.ends_with("; page walks are 78.0 ns of it"), "{}", finding.short.en);
    assert!(finding.text.en.contains("page-table walks are 78.0 ns of each load"), "{}", finding.text.en);
}

#[test]
fn a_fleet_says_where_each_host_lies_in_what_is_usual_even_where_all_are_slow() {
    let [run, _, without] = runs().map(|run| with_latency(run, "l3", 14.0, 0.02));
    let [low, high] = ends(&run);
    let at = |name: &str, ns: f64| named(with_latency(run.clone(), "dram", ns, 0.02), name);
    let all = fleet_of(&[
        at("slow", high * 2.0),
        at("slower", high * 3.0),
        at("usual", (low + high) / 2.0),
        at("fast", low / 2.0),
        named(without, "unknown"),
    ]);
    let known: Vec<_> = all.kinds.iter().flat_map(|of| &of.usual).filter(|of| of.name.to_string() == "DRAM").collect();
    let [dram] = known[..] else { panic!("{known:?}") };
    assert_eq!((dram.better, dram.within), (1, 1));
    let worse: Vec<(&str, f64)> = dram.worse.iter().map(|(host, times)| (host.as_str(), times.round())).collect();
    assert_eq!(worse, [("slower", 3.0), ("slow", 2.0)]);
    let hosts = all.kinds.iter().flat_map(|kind| &kind.hosts);
    assert!(hosts.filter(|host| host.usual.is_empty()).map(|host| &host.name).eq(["unknown"]));
    for (lang, said) in [(Lang::En, "2: slower 200 %, slow 100 %"), (Lang::Zh, "2：slower 200%，slow 100%")] {
        let text = table_of(&all, lang);
        assert!(text.contains(said), "{text}");
    }
}

/// What a constant comes to on the first screen, beside its base by name, and in a fleet of this run alone.
fn said_everywhere(run: &Run, name: &str) -> [(Standing, String); 3] {
    let here = verdict_of(run, name).unwrap();
    let base = beside(run).unwrap().reference;
    let rows = against(run, base).unwrap();
    let at = base.values_for(&run.host).iter().position(|value| name_of(&value.id).unwrap().en == name).unwrap();
    let standing = rows.standings().nth(at).unwrap();
    let table = rows.table(&RenderOptions { width: 120, ..RenderOptions::default() });
    let line = table.lines().find(|line| line.trim_start().starts_with(&format!("{name} "))).unwrap();
    let host = hosts(std::slice::from_ref(run)).kinds[0].hosts[0].usual[at].clone();
    let times = if host.over < 1.0 { format!("{:.0} %", (host.over.recip() - 1.0) * 100.0) } else { String::new() };
    [(here.standing, here.words.en), (standing, line.to_owned()), (host.standing, times)]
}

fn named(mut run: Run, name: &str) -> Run {
    (run.host.hostname, run.id) = (name.to_owned(), name.to_owned());
    run
}

fn fleet_of(runs: &[Run]) -> Fleet {
    let mut gathering = Gathering::new(&[]);
    for run in runs {
        gathering.read(&run.id, serde_json::to_string(run).unwrap().as_bytes());
    }
    Fleet::of(&gathering)
}

/// A fleet of these runs, each of a host of its own.
fn hosts(runs: &[Run]) -> Fleet {
    let own = |(number, run): (usize, &Run)| named(run.clone(), &format!("h{number}"));
    fleet_of(&runs.iter().enumerate().map(own).collect::<Vec<_>>())
}

fn table_of(all: &Fleet, lang: Lang) -> String {
    let mut text = String::new();
    let options = RenderOptions { lang, ..RenderOptions::default() };
    (fleet::format_named("table").unwrap().write)(all, &options, &mut |part| text += part);
    text
}

/// Of so few rounds there is no interval, and all that they came to.
fn in_few_rounds(mut run: Run, range: [f64; 2]) -> Run {
    let estimate = &mut measured_of(&mut run, "memory.hierarchy", Some("dram")).estimate;
    (estimate.typical, estimate.rounds, estimate.method) = ((range[0] + range[1]) / 2.0, 3, IntervalMethod::None);
    (estimate.ci_low, estimate.ci_high, estimate.range) = (None, None, Some(range));
    run
}

#[test]
fn screen_base_and_fleet_say_the_same() {
    let [run, ..] = runs().map(|run| with_latency(run, "l3", 14.0, 0.02));
    let [low, high] = ends(&run);
    let dram = |ns: f64, half: f64| with_latency(run.clone(), "dram", ns, half);
    let flagged = |kind, mut run: Run| {
        let flag = Flag::new(kind, "256 MiB");
        measured_of(&mut run, "memory.hierarchy", Some("dram")).flags.push(flag);
        run
    };
    let without = |mut run: Run| {
        let estimate = &mut measured_of(&mut run, "memory.hierarchy", Some("dram")).estimate;
        (estimate.ci_low, estimate.ci_high, estimate.range) = (None, None, None);
        run
    };
    for (run, name, standing) in [
        (dram(high * 1.44, 0.02), "DRAM", Standing::Worse),
        (in_few_rounds(run.clone(), [high * 1.3, high * 1.6]), "DRAM", Standing::Worse),
        (in_few_rounds(run.clone(), [high * 0.95, high * 1.3]), "DRAM", Standing::PerhapsWorse),
        (dram((low + high) / 2.0, 0.02), "DRAM", Standing::Within),
        (dram(high * 1.1, 0.12), "DRAM", Standing::PerhapsWorse),
        (dram(low / 1.1, 0.12), "DRAM", Standing::PerhapsBetter),
        (dram((low + high) / 2.0, 0.5), "DRAM", Standing::Unsteady),
        (dram(low / 2.0, 0.02), "DRAM", Standing::Better),
        (flagged(FlagKind::SmallBuffer, dram(high * 2.0, 0.02)), "DRAM", Standing::SmallBuffer),
        (flagged(FlagKind::Contended, dram(high * 1.44, 0.02)), "DRAM", Standing::Disturbed),
        (flagged(FlagKind::Contended, dram(low / 2.0, 0.02)), "DRAM", Standing::Better),
        (without(dram(high * 2.0, 0.02)), "DRAM", Standing::NoInterval),
        (with_cycles(run.clone(), "l2", 30.0, 0.02), "L2", Standing::Worse),
        (with_clock(run.clone(), 1.0e9), "clock", Standing::Worse),
    ] {
        let all = said_everywhere(&run, name);
        assert!(all.iter().all(|(said, _)| *said == standing), "{standing:?}: {all:?}");
        let [(_, words), (_, line), (_, times)] = all;
        let words = standing.why_none().map_or(words, |why| why.en.to_owned());
        assert!(line.ends_with(&words) && words.starts_with(&times), "{words} {line} {times}");
        assert_eq!(standing == Standing::Worse, words.contains("slower") && !words.contains("perhaps"), "{words}");
    }
}

#[test]
fn a_core_is_judged_in_cycles_and_its_clock_in_hertz() {
    let [run, ..] = runs();
    // At half of its clock all of a core takes twice the time.
    let slow = with_clock(with_latency(with_latency(run, "l1d", 2.6, 0.01), "l2", 8.0, 0.01), 1.5e9);
    let words = |name| verdict_of(&slow, name).unwrap().words.en;
    assert_eq!(["L1d", "L2"].map(words), ["as usual", "as usual"]);
    assert!(words("clock").contains("slower"), "{}", words("clock"));
    let screen = shown(&slow, "answer", Lang::En, 120);
    assert!(screen.contains("  3.5 … 4.5 "), "{screen}");
    // Without its cycles nothing is known of it.
    let mut unknown = slow;
    measured_of(&mut unknown, "memory.hierarchy", Some("l1d")).also.remove("cycles");
    // Usual cycles keep their unit beside a time.
    let screen = shown(&unknown, "answer", Lang::En, 120);
    assert!(screen.lines().any(|line| line.starts_with("L1d") && line.contains("3.5 … 4.5 cycles")), "{screen}");
    assert_eq!(verdict_of(&unknown, "L1d").unwrap().standing, Standing::NoCycles);
    assert_eq!(said_everywhere(&unknown, "L1d").map(|(standing, _)| standing), [Standing::NoCycles; 3]);
    // Beside one machine, of which the time alone is known, it is a ratio.
    let [_, beside_one, _] = runs();
    assert_eq!(verdict_of(&beside_one, "L1d").unwrap().standing, Standing::OtherClock);
}

#[test]
fn ten_hosts_with_slow_memory_are_told_so_however_few_rounds_they_had() {
    let [run, ..] = runs().map(|run| with_latency(run, "l3", 14.0, 0.02));
    let high = ends(&run)[1];
    let slow: Vec<Run> = (0..10)
        .map(|host| {
            let times = 1.35 + 0.03 * f64::from(host);
            in_few_rounds(run.clone(), [high * (times - 0.04), high * (times + 0.04)])
        })
        .collect();
    let all = hosts(&slow);
    let dram = all.kinds[0].usual.iter().find(|case| case.name.to_string() == "DRAM").unwrap();
    assert!(dram.worse.len() == 10 && dram.is_slow_as_a_whole() && dram.unknown.is_empty(), "{dram:?}");
    let text = table_of(&all, Lang::En);
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("10 of 10 have slower DRAM than 9 of 10 such servers"), "{text}");
    // A level that a host lacks is a row that says so.
    let mut lacking = slow[0].clone();
    lacking.cases.retain(|case| case.params.get("level") != Some("l3"));
    let all = hosts(&[lacking]);
    let third = all.kinds[0].usual.iter().find(|case| case.name.to_string() == "L3").unwrap();
    assert_eq!((third.judged(), third.unknown[0].1.to_string().as_str()), (0, "not measured"));
}
