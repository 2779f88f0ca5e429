//! The findings: each is drawn from what it needs, and from nothing less.

use hostmark_analysis::findings::{self, Conclusion, RIVALS, RULES, Rule, conclusions};
use hostmark_present::render::console::table;

use crate::prelude::*;
use crate::synthetic::sound;

fn findings(run: &Run) -> Vec<Finding> {
    findings::findings(run).into_iter().map(sound).collect()
}

fn ids(run: &Run) -> Vec<String> {
    findings(run).into_iter().map(|finding| finding.id).collect()
}

fn change(run: &mut Run, id: &str, change: impl FnOnce(&mut Measured)) {
    let case = run.cases.iter_mut().find(|case| case.id == id).unwrap();
    let Outcome::Measured(measured) = &mut case.outcome else { panic!("{id} has no value") };
    change(measured);
}

const BASE: &str = "memory.latency@size=268435456,pattern=random,page=base";

#[test]
fn the_plausible_run_has_what_can_be_changed_before_what_explains_its_curves() {
    let found = findings(&synthetic::plausible());
    let ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
    let to_change = ["memory.huge_pages_off", "memory.rounds_differ", "memory.cache_size_differs"];
    assert_eq!(ids[..3], to_change);
    assert_eq!(ids[3..], ["memory.write_allocate"]);
    for finding in &found {
        assert!(!finding.cases.is_empty() && finding.cure.is_some());
        assert!(!finding.text.en.is_empty() && !finding.text.zh.is_empty());
    }
    assert!(found[0].text.en.contains("27 %") && found[0].text.zh.contains("27 %"));
}

#[test]
fn huge_pages_are_no_finding_when_they_are_on_or_the_difference_is_not_sure() {
    let mut always = synthetic::plausible();
    always.host.memory.transparent_huge_pages = Some("always".into());
    let mut unknown = synthetic::plausible();
    unknown.host.memory.transparent_huge_pages = None;
    let mut unsure = synthetic::plausible();
    change(&mut unsure, BASE, |measured| measured.estimate = synthetic::estimate(122.0, 0.3));
    let mut small = synthetic::plausible();
    change(&mut small, BASE, |measured| measured.estimate = synthetic::estimate(104.0, 0.001));
    let mut open = synthetic::plausible();
    change(&mut open, BASE, |measured| measured.estimate.ci_low = None);
    for run in [always, unknown, unsure, small, open] {
        assert!(!ids(&run).contains(&"memory.huge_pages_off".to_owned()));
    }
}

#[test]
fn a_pipe_across_cpus_is_a_finding_where_it_is_proven_to_be_far_slower_than_on_one() {
    let with = |across: f64, spread: f64| {
        let mut run = synthetic::plausible();
        let here = synthetic::estimate(2600.0, 0.02);
        change(&mut run, "ipc.round_trip@by=pipe,cpus=same_cpu", |measured| measured.estimate = here);
        for case in
            run.cases.iter_mut().filter(|case| case.id.starts_with("ipc.round_trip@") && !case.id.ends_with("same_cpu"))
        {
            if let Outcome::Measured(measured) = &mut case.outcome {
                measured.estimate = synthetic::estimate(across, spread);
            }
        }
        findings(&run).into_iter().find(|finding| finding.id == "ipc.across_cpus")
    };
    let found = with(48_000.0, 0.05).unwrap();
    assert!(found.text.en.contains("18.5 times") && found.text.zh.contains("18.5 倍"), "{}", found.text.en);
    assert!((found.cost - (1.0 - 2600.0 / 48_000.0)).abs() < 1e-9 && found.cases.len() == 2);
    // What a wake-up costs anywhere is none, nor what is not proven.
    assert!(with(9000.0, 0.05).is_none() && with(14_000.0, 0.5).is_none());
}

#[test]
fn a_cache_that_is_proven_to_be_of_another_size_is_a_finding_and_one_between_two_points_is_none() {
    let with = |fits: f64, leaves: Option<f64>| {
        let mut run = synthetic::plausible();
        run.cases.retain(|case| case.probe != "memory.hierarchy" || case.id == "memory.hierarchy@level=l2");
        change(&mut run, "memory.hierarchy@level=l2", |measured| {
            measured.also.get_mut("size").unwrap().estimate.typical = fits;
            match leaves {
                Some(leaves) => measured.also.get_mut("leaves").unwrap().estimate.typical = leaves,
                None => drop(measured.also.remove("leaves")),
            }
        });
        let sizes = findings(&run).into_iter().filter(|finding| finding.id == "memory.cache_size_differs");
        sizes.map(|finding| finding.text.en.split(':').next().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let mib = 1_048_576.0;
    assert_eq!(with(2.0 * mib, None), ["L2 is reported as 1 MiB, but a working set of 2 MiB still fits"]);
    let smaller = ["L2 is reported as 1 MiB, but a working set of 512 KiB no longer fits"];
    assert_eq!(with(0.25 * mib, Some(0.5 * mib)), smaller);
    for (fits, leaves) in [(1.4, 2.8), (0.7, 2.8), (0.5, 0.7), (0.1, 9.0)] {
        assert_eq!(with(fits * mib, Some(leaves * mib)), [""; 0]);
    }
}

#[test]
fn lines_and_ways_that_measure_otherwise_are_findings_where_the_rounds_agree() {
    let mut run = synthetic::plausible();
    let reported = run.host.caches.iter_mut().find(|cache| cache.level == 1).unwrap();
    (reported.line_bytes, reported.ways) = (Some(64), Some(8));
    let voted = |value: f64, agreement| {
        let estimate = synthetic::estimate(value, 0.0);
        Also { estimate: hostmark_model::Estimate { ci_low: None, ci_high: None, agreement, ..estimate } }
    };
    let with = |line: f64, ways: f64, agreement: Option<f64>| {
        let mut run = run.clone();
        change(&mut run, "memory.hierarchy@level=l1d", |measured| {
            measured.also.insert("line".into(), voted(line, agreement));
            measured.also.insert("ways".into(), voted(ways, agreement));
        });
        let all = findings(&run).into_iter().filter(|finding| finding.id == "memory.cache_structure_differs");
        all.map(|finding| finding.text.en).collect::<Vec<String>>()
    };
    assert_eq!(with(64.0, 8.0, Some(1.0)), Vec::<String>::new());
    // Two of three rounds, or a value that no round voted on.
    assert_eq!(with(256.0, 6.0, Some(0.66)), Vec::<String>::new());
    assert_eq!(with(256.0, 6.0, None), Vec::<String>::new());
    assert_eq!(with(64.0, 6.0, Some(1.0)), ["L1d is reported with 8 ways, but 6 lines fill a set."]);
    assert!(with(128.0, 8.0, Some(1.0))[0].contains("units of 128 bytes"));
}

#[test]
fn an_even_run_on_a_truthful_host_has_nothing_to_change() {
    let mut run = synthetic::plausible();
    run.host.memory.transparent_huge_pages = Some("always".into());
    change(&mut run, "memory.hierarchy@level=l3", |measured| {
        measured.estimate = synthetic::estimate(22.0, 0.01);
        measured.flags.clear();
        measured.also.get_mut("leaves").unwrap().estimate.typical = 33e6;
    });
    run.cases.retain(|case| !["memory.read", "memory.write", "memory.copy"].contains(&case.probe.as_str()));
    assert_eq!(ids(&run), Vec::<String>::new());
}

#[test]
fn an_empty_run_has_none() {
    assert_eq!(findings(&synthetic::empty()), Vec::new());
}

#[test]
fn what_the_defaults_of_linux_cost_stands_apart_from_the_findings_of_a_machine() {
    let mut run = synthetic::plausible();
    let mut flood = synthetic::value("net.udp_bandwidth@datagram=1472,cpus=same_cpu", 1e8);
    flood.measured_mut().unwrap().also.insert("loss".into(), Also { estimate: synthetic::estimate(0.65, 0.01) });
    run.cases.retain(|case| case.probe != "net.udp_bandwidth");
    run.cases.push(flood);
    // It costs more than all others, and stands behind those of this machine.
    assert_eq!(ids(&run)[3..], ["net.udp_loss", "memory.write_allocate"]);
    let text = table(&run, &RenderOptions { width: 100, ..RenderOptions::default() });
    let (here, everywhere) = text.split_once("WORTH KNOWING").unwrap();
    assert!(here.contains("  3  ") && !here.contains("A UDP flood"), "{text}");
    assert!(everywhere.contains("  4  A UDP flood") && everywhere.contains("  5  In DRAM"), "{text}");
    // Nor does it take the room of others where that is short.
    assert!(findings::leading(&run).iter().all(|finding| finding.id.starts_with("memory.")));
}

#[test]
fn few_rounds_in_two_states_prove_nothing_that_does_not_hold_in_both() {
    let with = |rounds: u32, range: [f64; 2]| {
        let mut run = synthetic::plausible();
        change(&mut run, BASE, |measured| {
            let [low, high] = range;
            let narrow = synthetic::estimate(122.0, 0.01);
            measured.estimate = Estimate { rounds, range: Some([low, high]), ..narrow };
        });
        ids(&run).contains(&"memory.huge_pages_off".to_owned())
    };
    // Its interval lies above what huge pages take, 96 ns; a round of six was in the other state.
    assert!(with(6, [121.0, 123.0]) && !with(6, [90.0, 123.0]));
    // Many rounds tell how often it is there.
    assert!(with(10, [90.0, 123.0]));
}

#[test]
fn every_rule_has_a_name_of_its_own_and_names_its_probes() {
    let names: HashSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(names.len(), RULES.len());
    let of_host = |id: &str| id.starts_with("run.");
    assert!(RULES.iter().all(|rule| rule.probes.is_empty() == of_host(rule.id)));
}

#[test]
fn the_short_text_of_every_rule_is_held_to_its_form() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let entries =
        |path: &std::path::Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut paths: Vec<std::path::PathBuf> = entries(&directory);
    paths.extend(paths.clone().iter().filter(|path| path.is_dir()).flat_map(|path| -> Vec<_> { entries(path) }));
    // By `synthetic::sound`, or through `synthetic::found`.
    let holds = |text: &str| {
        text.contains("sound") || text.lines().any(|line| line.contains("synthetic::") && line.contains("found"))
    };
    let holding = paths.iter().filter(|path| path.extension().is_some_and(|name| name == "rs"));
    let holding: Vec<String> =
        holding.map(|path| std::fs::read_to_string(path).unwrap()).filter(|text| holds(text)).collect();
    for rule in RULES {
        let name = format!("\"{}\"", rule.id);
        assert!(holding.iter().any(|text| text.contains(&name)), "no test draws {name} and holds it to its form");
    }
}

/// Findings on syncs of 1 ms with these further quantities, as (short, text).
fn said_of_syncs(also: &[(&str, f64, f64)], change: impl FnOnce(&mut Measured)) -> Vec<(String, String)> {
    let mut sync = synthetic::measured(1e6, 0.01);
    for &(name, value, spread) in also {
        sync.also.insert(name.into(), Also { estimate: synthetic::estimate(value, spread) });
    }
    change(&mut sync);
    let outcome = Outcome::Measured(Box::new(sync));
    let cases = vec![synthetic::case("disk.fsync@block=2300,space=preallocated", outcome)];
    let found = synthetic::found(&Run { cases, ..synthetic::empty() }, "disk.slow_sync");
    found.into_iter().map(|finding| (finding.short.en, finding.text.en)).collect()
}

#[test]
fn a_sync_that_is_too_slow_for_consensus_is_reported_and_one_that_may_be_is_reported_as_that() {
    for (p99, spread, short, text) in [
        (12e6, 0.5, " may take 12.0 ms or more", " may be too slow for etcd"),
        (25e6, 0.1, "", " is too slow for etcd"),
    ] {
        let said = said_of_syncs(&[("p99", p99, spread)], |_| ());
        assert!(said.len() == 1 && said[0].0.contains(short) && said[0].1.contains(text), "{said:?}");
    }
    assert_eq!(said_of_syncs(&[("p99", 8e6, 0.5)], |_| ()), []);
    // Rounds that others disturbed condemn no filesystem, and one such round saves none.
    let beside = |rounds: u32| {
        said_of_syncs(&[("p99", 25e6, 0.1)], |sync| {
            sync.noise.contended_rounds = Some(rounds);
            sync.flags.push(Flag::new(FlagKind::Contended, "others"));
        })
    };
    assert_eq!([1, 2, 3, 5].map(|rounds| beside(rounds).len()), [1, 1, 0, 0]);
}

#[test]
fn a_sync_that_a_limit_makes_stall_is_reported_though_its_median_is_fast_and_its_percentile_is_not_known() {
    let drawn = |mean: f64, slow: u64| {
        said_of_syncs(&[("mean", mean, 0.3), ("sustained", 1e9 / mean, 0.3)], |sync| {
            sync.estimate = synthetic::measured(0.71e6, 0.01).estimate;
            let counts = vec![100 - slow, slow];
            sync.histogram = Some(hostmark_model::Histogram { values: vec![710_000, 90_000_000], counts });
        })
    };
    let [(_, stalls), (_, slow)] = &drawn(11.4e6, 12)[..] else { panic!("{:?}", drawn(11.4e6, 12)) };
    assert!(slow.contains(" is too slow for etcd") && slow.contains("12 of 100 appends"), "{slow}");
    assert!(stalls.contains("at most 710 µs, but 11.4 ms on average") && stalls.contains(" 88 a second"), "{stalls}");
    assert!(drawn(4e6, 4).iter().any(|(_, text)| text.contains(" may be too slow for etcd")));
    // One of a hundred is what they ask for, and a mean near the median is no stall.
    assert_eq!(drawn(1.6e6, 1), []);
}

#[test]
fn every_finding_names_the_command_that_shows_it() {
    let mut run = synthetic::plausible();
    run.host.limits.cpu_quota = Some(1.0);
    let found = findings(&run);
    let command = |id: &str| {
        let finding = found.iter().find(|finding| finding.id == id).unwrap();
        finding.command.clone().unwrap()
    };
    assert!(found.iter().all(|finding| finding.command.as_ref().is_some_and(|text| text.starts_with("hostmark "))));
    assert_eq!(command("memory.huge_pages_off"), "hostmark try huge-pages");
    assert_eq!(command("run.cpu_quota"), "hostmark host");
    let of_cases = command("memory.rounds_differ");
    assert!(of_cases.starts_with("hostmark run memory."), "{of_cases}");
    // A run file carries them.
    run.findings = found.clone();
    for format in ["table", "markdown", "html", "json"] {
        let text = hostmark_present::export::format_named(format).unwrap().render_one(&run, &Default::default());
        assert!(text.contains("hostmark try huge-pages"), "{format}");
    }
}

fn beside(neighbours: Neighbours) -> Run {
    Run { neighbours: Some(neighbours), ..synthetic::plausible() }
}

fn conclusion(run: &Run) -> Vec<(String, String, f64)> {
    let found = findings(run).into_iter().filter(|finding| finding.id == "run.neighbours");
    found.map(|finding| (finding.text.en, finding.text.zh, finding.cost)).collect()
}

fn cache(looks_ns: &[f64]) -> Option<LastCache> {
    Some(LastCache { bytes: 8 << 20, looks_ns: looks_ns.to_vec() })
}

#[test]
fn a_core_that_others_used_is_reported_with_the_share_of_the_time() {
    let shared = |share: f64| beside(Neighbours { core_shared: Some(share), last_cache: None });
    let [(en, zh, cost)] = &conclusion(&shared(0.31))[..] else { panic!() };
    assert!(en.contains("active on this core 31 % of the time") && zh.contains("31 %"), "{en} {zh}");
    assert!((cost - 0.155).abs() < 1e-9);
    assert!(conclusion(&shared(0.049)).is_empty() && conclusion(&beside(Neighbours::default())).is_empty());
    assert!(conclusion(&synthetic::plausible()).is_empty());
}

#[test]
fn a_last_cache_that_changed_is_reported_with_its_best_and_its_worst() {
    let looked = |looks_ns: &[f64]| beside(Neighbours { core_shared: None, last_cache: cache(looks_ns) });
    let [(en, ..)] = &conclusion(&looked(&[34.0, 35.0, 52.0, 36.0]))[..] else { panic!() };
    assert!(en.contains("a load from 8 MiB took 34.0 ns at best and 52.0 ns at worst"), "{en}");
    assert!(conclusion(&looked(&[34.0, 35.0, 44.1])).is_empty() && conclusion(&looked(&[34.0, 52.0])).is_empty());
}

#[test]
fn the_grade_stands_at_the_head_of_every_report() {
    let mut run = beside(Neighbours { core_shared: Some(0.31), last_cache: None });
    hostmark_analysis::repetition::add(&mut run, &Default::default());
    run.trust = hostmark_analysis::trust::trust(&run);
    assert!(run.trust.is_some());
    for format in ["table", "markdown", "html"] {
        let format = format_named(format).unwrap();
        let text = |lang: Lang| format.render_one(&run, &RenderOptions { lang, ..RenderOptions::default() });
        let (en, zh) = (text(Lang::En), text(Lang::Zh));
        // The page draws the letter as a badge.
        let is_graded = |text: &str, word: &str| text.contains(word) || text.contains("class=\"grade\">");
        assert!(is_graded(&en, "TRUST ") && en.contains("VM or thread used this core 31 % of the time"), "{en}");
        assert!(is_graded(&zh, "可信度 ") && zh.contains("可信度"), "{zh}");
    }
}

#[test]
fn every_report_says_how_the_run_ended_and_what_disturbed_it() {
    let mut run = beside(Neighbours::default());
    run.interrupted = Some("the terminal went away".into());
    run.settings.clock.drift = Some(0.01);
    let ended = [("this run ended early", "本次运行提前结束"), ("parts in a million", "百万分之")];
    for format in ["table", "markdown", "html"].map(|name| format_named(name).unwrap()) {
        for (en, zh) in ended {
            for (lang, words) in [(Lang::En, en), (Lang::Zh, zh)] {
                let of = |run| format.render_one(run, &RenderOptions { lang, width: 200, ..RenderOptions::default() });
                assert!(of(&run).contains(words), "{words} is not in\n{}", of(&run));
                assert!(!of(&synthetic::plausible()).contains(words), "{words}");
            }
        }
    }
}

/// Exits of two causes that the host's kernel handles and of one that it does not, around which the loop takes this long, ns.
fn run(around: f64, spread: f64) -> Run {
    let mut run = synthetic::empty();
    for (cause, handled) in [("cpuid", "kernel"), ("msr", "kernel"), ("port", "user space")] {
        let mut measured = synthetic::measured(500.0, 0.01);
        measured.also.insert("overhead".into(), Also { estimate: synthetic::estimate(around, spread) });
        measured.notes.insert("handled_in".into(), handled.into());
        let id = format!("virt.exit@cause={cause}");
        run.cases.push(synthetic::case(&id, Outcome::Measured(Box::new(measured))));
    }
    run
}

fn found(run: &Run) -> Option<Finding> {
    findings(run).into_iter().find(|finding| finding.id == "virt.interpreted")
}

#[test]
fn a_loop_that_takes_hundreds_of_nanoseconds_is_interpreted_and_its_exits_are_none() {
    let found = found(&run(740.0, 0.1)).unwrap();
    assert_eq!(found.cases, ["virt.exit@cause=cpuid", "virt.exit@cause=msr"]);
    assert!(found.text.en.contains("takes 740 ns") && found.text.en.contains("cpuid, msr are"), "{}", found.text.en);
    assert!(found.text.zh.contains("740 ns") && found.text.zh.contains("cpuid、msr"), "{}", found.text.zh);
    assert!(found.cure.is_some() && found.cost == 0.0);
}

#[test]
fn a_loop_of_a_cpu_and_one_of_which_that_is_not_sure_are_no_finding() {
    for (around, spread) in [(3.0, 0.1), (49.0, 0.01), (60.0, 0.3)] {
        assert_eq!(found(&run(around, spread)), None, "{around} ± {spread}");
    }
    let mut doubted = run(740.0, 0.1);
    for case in &mut doubted.cases {
        case.measured_mut().unwrap().flags.push(Flag::new(FlagKind::Implausible, "x"));
    }
    assert_eq!(found(&doubted), None);
    assert_eq!(found(&synthetic::empty()), None);
}

#[test]
fn a_condition_that_explains_values_is_the_first_finding_and_the_only_cause() {
    let mut run = synthetic::plausible();
    for (id, value) in [
        ("clock.sleep@way=nanosleep,delay_us=100", 5e6),
        ("cpu.store_forwarding@form=same", 2.09),
        ("cpu.frequency@load=scalar,threads=1", 1.6e9),
        ("disk.fsync@block=2300,space=preallocated", 20e6),
    ] {
        run.cases.push(synthetic::case(id, Outcome::Measured(Box::new(synthetic::measured(value, 0.01)))));
    }
    let first = |name: &str, value: &str| {
        let mut run = run.clone();
        let maps = [&mut run.host.process.attributes, &mut run.host.limits.group_settings];
        maps.into_iter().for_each(|map| drop(map.insert(name.to_owned(), value.to_owned())));
        run.host.process.traced = Some(name == "tracer");
        run.host.cpus[0].max_hz = Some(3.9e9);
        run.host.cpus[0].limit_hz = (name == "clock").then_some(1.6e9);
        let mut found = findings(&run);
        (name == "tracer").then(|| assert_eq!(found.len(), 1, "what a tracer did explains everything"));
        assert!(name != "io.limit" || found.iter().all(|finding| finding.id != "disk.slow_sync"));
        synthetic::sound(found.remove(0))
    };
    for (name, value, id, short) in [
        ("timer_slack_ns", "5000000", "clock.timer_slack", "a sleep ends 5.00 ms late"),
        ("store_bypass", "thread mitigated", "cpu.store_bypass", "store forwarding 2.09 ns"),
        ("clock", "", "cpu.frequency_limit", "scaling_max_freq allows 1.60 GHz of 3.90 GHz"),
        ("io.limit", "io.max 8:0 wiops=50", "disk.limit", "this control group is limited to 50 operations a second"),
        ("tracer", "strace (4711)", "run.traced", "traced by strace (4711): "),
    ] {
        let found = first(name, value);
        assert!(found.id == id && found.short.en.contains(short), "{found:?}");
    }
}

fn plant(rival: &str, host: &mut HostFacts) {
    match rival {
        "yields" => host.process.policy = Some("SCHED_IDLE".into()),
        "traced" => host.process.traced = Some(true),
        "clamped" => host.process.uclamp_max = Some(512),
        "quota of one CPU" => host.limits.cpu_quota = Some(0.5),
        "quota" => host.limits.cpu_quota = Some(host.usable_cpus().len() as f64 - 0.5),
        "loopback path" => host.loopback.filter_rules = Some(2000),
        "I/O limit" => drop(host.limits.group_settings.insert("io.limit".into(), "io.max 8:0 wiops=50".into())),
        "frequency limit" => (host.cpus[0].max_hz, host.cpus[0].limit_hz) = (Some(3.9e9), Some(1.6e9)),
        other => panic!("plant {other} here"),
    }
}

/// Says something of every case that has a value.
fn cite_all(run: &Run) -> Vec<Conclusion> {
    let cited = |case: &CaseRecord| Conclusion {
        short: Default::default(),
        text: Default::default(),
        cases: vec![case.id.clone()],
        cost: 0.0,
    };
    run.cases.iter().filter(|case| case.measured().is_some()).map(cited).collect()
}

#[test]
fn every_rule_is_silent_beside_each_of_its_rivals_and_of_each_case_that_a_flag_spoils() {
    let run = synthetic::plausible();
    let is_plain = |case: &CaseRecord| case.measured().is_some_and(|measured| measured.flags.is_empty());
    let at = run.cases.iter().position(is_plain).unwrap();
    let id = &run.cases[at].id;
    for rule in RULES {
        let cited = |run: &Run| conclusions(&Rule { draw: cite_all, ..**rule }, run);
        let is_cited = |run: &Run| cited(run).iter().any(|conclusion| conclusion.cases[0] == *id);
        assert!(is_cited(&run), "{}", rule.id);
        for &kind in rule.doubt.spoiled_by {
            let mut run = run.clone();
            run.cases[at].measured_mut().unwrap().flags.push(Flag::new(kind, "planted"));
            assert!(!is_cited(&run) && !cited(&run).is_empty(), "{} stands on a case with {kind:?}", rule.id);
        }
        for rival in rule.doubt.rivals {
            let mut run = run.clone();
            assert!(RIVALS.iter().any(|known| known.id == rival.id) && !(rival.is_there)(&run), "{}", rival.id);
            plant(rival.id, &mut run.host);
            assert!((rival.is_there)(&run) && cited(&run).is_empty(), "{} speaks beside {}", rule.id, rival.id);
        }
    }
}
