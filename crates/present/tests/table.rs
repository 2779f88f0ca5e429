//! The table as people see it: its very text, its width, its safety, and that nothing is silently absent.

use hostmark_present::render::console::table;
use hostmark_present::render::markdown::markdown;
use proptest::prelude::*;

use crate::prelude::*;
use crate::synthetic::golden;

fn options(width: usize, lang: Lang) -> RenderOptions {
    RenderOptions { width, lang, ..RenderOptions::default() }
}

/// All ways to look at a run.
fn all_options() -> Vec<RenderOptions> {
    let mut all = Vec::new();
    for width in [40, 80, 100, 160] {
        for lang in [Lang::En, Lang::Zh] {
            for verbose in [false, true] {
                all.push(RenderOptions { width, lang, verbose, color: false });
            }
        }
    }
    all
}

fn fits(run: &Run) {
    for options in all_options() {
        for line in table(run, &options).lines() {
            assert!(line.width() <= options.width, "{} > {}: {line}", line.width(), options.width);
            assert!(!line.ends_with(' '), "{line:?}");
        }
    }
}

#[test]
fn the_tables_of_these_runs_are_as_they_were_and_no_line_is_wider_than_asked() {
    let [plausible, disturbed, sweeps, nodes] = [synthetic::plausible(), disturbed(), long_sweeps(), four_nodes()];
    for (run, name, width, lang) in [
        (&plausible, "plausible-100-en.txt", 100, Lang::En),
        (&plausible, "plausible-80-zh.txt", 80, Lang::Zh),
        (&disturbed, "disturbed-100-en.txt", 100, Lang::En),
        (&sweeps, "sweeps-100-en.txt", 100, Lang::En),
        (&sweeps, "sweeps-80-zh.txt", 80, Lang::Zh),
        (&nodes, "nodes-100-en.txt", 100, Lang::En),
        (&nodes, "nodes-80-zh.txt", 80, Lang::Zh),
    ] {
        golden(name, &table(run, &options(width, lang)));
    }
    for run in [plausible, disturbed, sweeps, nodes, synthetic::empty(), thorough::hostile()] {
        fits(&run);
    }
}

/// Bandwidth and latency by the sizes and strides of the tables that people know; those at 832 KiB are unsure.
fn long_sweeps() -> Run {
    let mut run = synthetic::plausible();
    run.cases.clear();
    // The hardware itself tells its caches: without a search for levels a guest's last one has no name.
    run.host.virtualization.hypervisor = None;
    let kib =
        [4, 8, 16, 32, 48, 64, 128, 192, 256, 512, 1024, 2048, 2560, 3072, 4096, 8192, 16384, 32768, 65536, 131_072];
    for (probe, factor) in [("read", 1.0), ("write", 0.5), ("copy", 0.4)] {
        for size in kib {
            let id = format!("memory.{probe}@size={},kernel=best,threads=1,page=pmd", size << 10);
            run.cases.push(synthetic::value(&id, factor * 200e9 / (size as f64).sqrt()));
        }
    }
    for pattern in ["random", "1024", "64", "128", "256", "512", "4096", "8192", "16384", "in_page"] {
        for size in [4_u64, 16, 32, 48, 64, 192, 320, 448, 576, 832, 4096, 65536] {
            let id = format!("memory.latency@size={},pattern={pattern},page=pmd", size << 10);
            let wide = match (pattern, size) {
                ("4096", 832) => 0.31,
                (_, 832) => 0.05,
                _ => 0.004,
            };
            let measured = synthetic::measured(1.3 + size as f64 / 700.0, wide);
            run.cases.push(synthetic::case(&id, Outcome::Measured(Box::new(measured))));
        }
    }
    run
}

/// A machine of two packages with two nodes each, of which the last has no CPU and was not measured from afar.
fn four_nodes() -> Run {
    let mut run = synthetic::plausible();
    run.cases.clear();
    let distance = |one: usize, other: usize| match (one == other, one / 2 == other / 2) {
        (true, _) => 10,
        (_, true) => 12,
        _ => 32,
    };
    run.host.nodes = (0..4)
        .map(|id| hostmark_model::NodeFact {
            id,
            memory_bytes: 8 << 30,
            distances: (0..4).map(|other| distance(id, other)).collect(),
            ..Default::default()
        })
        .collect();
    for (cpus, memory) in (0..3).flat_map(|cpus| (0..4).map(move |memory| (cpus, memory))) {
        let far = f64::from(distance(cpus, memory));
        run.cases
            .push(synthetic::value(&format!("memory.numa_latency@nodes={cpus}-{memory},size=67108864"), 7.0 * far));
        let bandwidth = format!("memory.numa_bandwidth@nodes={cpus}-{memory},size=67108864");
        let outcome = match (cpus, memory) {
            (2, 3) => Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") },
            _ => synthetic::value(&bandwidth, 4e11 / far).outcome,
        };
        run.cases.push(synthetic::case(&bandwidth, outcome));
    }
    run
}

#[test]
fn one_pair_of_nodes_is_no_grid_and_no_distances_are_shown_where_none_are_known() {
    // One pair is no grid, and a kernel that tells no distances has none shown.
    let mut run = four_nodes();
    run.host.nodes.iter_mut().for_each(|node| node.distances.clear());
    assert!(!table(&run, &options(100, Lang::En)).contains("distances"));
    run.cases.retain(|case| case.id.contains("nodes=0-0"));
    let text = table(&run, &options(100, Lang::En));
    assert!(!text.contains("BETWEEN NODES") && text.contains("70"), "{text}");
}

/// The cells behind a stride, by size: the lines, and the level where it begins.
fn lines_behind(run: &Run, stride: &str, size: &str) -> String {
    let text = table(run, &options(400, Lang::En));
    let latency = &text[text.find("LATENCY BY SIZE").expect("a heading")..];
    let heading = latency.lines().nth(1).unwrap();
    let from = heading.find(&format!(" {stride}  ")).unwrap() + 1 + stride.len();
    let to = from + heading[from..].find("lines").unwrap() + "lines".len();
    let row = latency.lines().find(|line| line.split_whitespace().any(|word| word == size)).unwrap();
    row[from..to].trim().to_owned()
}

#[test]
fn a_stride_says_its_lines_and_a_level_only_where_they_leave_it() {
    let mut run = long_sweeps();
    // 32 KiB of 8 ways: a stride of 8 KiB touches one set in 128 lines, which holds eight of them, over 64 KiB.
    let levels =
        |run: &Run, stride| ["32K", "48K", "64K", "192K", "4M", "64M"].map(|size| lines_behind(run, stride, size));
    assert_eq!(levels(&run, "4K"), ["8", "L2 12", "16", "48", "L3 1024", "DRAM 16384"]);
    assert_eq!(levels(&run, "8K"), ["4", "6", "8", "L2 24", "L3 512", "DRAM 8192"]);
    run.host.caches.iter_mut().for_each(|cache| cache.ways = None);
    assert_eq!(levels(&run, "8K"), ["4", "6", "8", "24", "512", "8192"]);
}

/// A run of a guest that measured these levels: (level, ns, fits, leaves), and bandwidth at sizes of all of them.
fn levels_of_a_guest(reported_mib: u64, levels: &[(&str, f64, f64, f64)]) -> Run {
    let mut run = synthetic::plausible();
    run.cases.clear();
    run.host.caches.iter_mut().filter(|cache| cache.level == 3).for_each(|cache| cache.size_bytes = reported_mib << 20);
    for kib in [4_u64, 16, 256, 1024, 4096, 16384, 65536, 131_072] {
        run.cases
            .push(synthetic::value(&format!("memory.read@size={},kernel=best,threads=1,page=pmd", kib << 10), 1e10));
    }
    for (level, ns, fits, leaves) in levels {
        let mut measured = synthetic::measured(*ns, 0.01);
        for (name, mib) in [("size", *fits), ("leaves", *leaves)] {
            let estimate = synthetic::estimate(mib * f64::from(1 << 20), 0.0);
            measured.also.extend((mib > 0.0).then(|| (name.to_owned(), hostmark_model::Also { estimate })));
        }
        let id = format!("memory.hierarchy@level={level}");
        run.cases.push(synthetic::case(&id, Outcome::Measured(Box::new(measured))));
    }
    run
}

/// The names above the sizes of the block of bandwidths.
fn groups(run: &Run) -> Vec<String> {
    let text = table(run, &options(160, Lang::En));
    let block = &text[text.find("BANDWIDTH BY SIZE").expect("a heading")..];
    block.lines().nth(1).unwrap().split_whitespace().filter(|word| *word != "│").map(str::to_owned).collect()
}

#[test]
fn memory_inside_a_reported_cache_is_called_memory_and_what_nothing_reports_has_no_name() {
    let caches = [("l1d", 1.6, 1.0 / 32.0, 1.0 / 16.0), ("l2", 5.0, 1.0, 2.0)];
    // Of 260 MiB that are told 4 answer; where 16 MiB lie nobody knows, 64 are memory.
    let slice = levels_of_a_guest(260, &[caches[0], caches[1], ("l3", 24.0, 4.0, 24.0), ("dram", 134.0, 0.0, 0.0)]);
    assert_eq!(groups(&slice), ["L1d", "L2", "L3", "–", "DRAM"]);
    // What still goes at a cache's rate is not memory, wherever random loads leave the cache.
    let mut fast = slice.clone();
    let is_64_mib = |id: &str| id.starts_with("memory.read@size=67108864,");
    for case in fast.cases.iter_mut().filter(|case| is_64_mib(&case.id)) {
        *case = synthetic::value(&case.id, 3e10);
    }
    assert_eq!(groups(&fast), ["L1d", "L2", "L3", "–", "DRAM"]);
    let under = |run: &Run| {
        let text = table(run, &options(160, Lang::En));
        let block = text[text.find("BANDWIDTH BY SIZE").unwrap()..].lines().nth(2).unwrap().to_owned();
        block.split('│').next_back().unwrap().trim().to_owned()
    };
    assert_eq!((under(&slice), under(&fast)), ("64M  128M".into(), "128M".into()));
    // No L3 is to be seen, and the rest is as slow as memory alone.
    let lost = levels_of_a_guest(260, &[caches[0], caches[1], ("dram", 134.0, 0.0, 0.0)]);
    assert_eq!(groups(&lost), ["L1d", "L2", "DRAM"]);
    // What may be either is neither.
    let unknown = levels_of_a_guest(260, &[caches[0], caches[1], ("plateau3", 85.0, 128.0, 0.0)]);
    assert_eq!(groups(&unknown), ["L1d", "L2", "–"]);
    for (run, is_named) in [(&slice, true), (&lost, true), (&unknown, false)] {
        let (english, chinese) = (table(run, &options(120, Lang::En)), table(run, &options(120, Lang::Zh)));
        assert_eq!((english.contains("unnamed"), chinese.contains("未命名")), (!is_named, !is_named), "{english}");
        assert_eq!(english.contains("DRAM,"), is_named);
    }
    // Without a search the sizes that a hypervisor tells name its guest's own caches alone.
    assert_eq!(groups(&levels_of_a_guest(260, &[])), ["L1d", "L2", "–"]);
}

#[test]
fn what_nobody_asked_for_is_named_with_whom_it_is_for() {
    let mut run = synthetic::plausible();
    let said = |run: &Run, lang| table(run, &options(160, lang)).replace('\n', " ");
    assert!(!said(&run, Lang::En).contains("also measured"));
    for (probe, by) in run.probes.iter_mut().zip(["sum.all", "sum.some", "sum.all"]) {
        probe.brought_by = vec![by.into()];
    }
    let id = |nth: usize| run.probes[nth].id.clone();
    let line = format!("also measured for sum.all, as far as needed: {}, {}", id(0), id(2));
    assert!(said(&run, Lang::En).contains(&line), "{}", said(&run, Lang::En));
    let line = format!("为 sum.some 附带测量（仅所需部分）：{}", id(1));
    assert!(said(&run, Lang::Zh).contains(&line), "{}", said(&run, Lang::Zh));
    fits(&run);
}

#[test]
fn the_share_that_others_used_stands_beside_the_value_in_both_languages() {
    let mut run = synthetic::plausible();
    let case = run.cases.iter_mut().find(|case| case.id.starts_with("syscall.")).unwrap();
    let measured = case.measured_mut().unwrap();
    measured.noise.others_share = Some(0.463);
    measured.flags.push(hostmark_model::Flag::new(FlagKind::Contended, "in 3 of 3 rounds"));
    assert!(table(&run, &options(100, Lang::En)).contains("! other programs used 46 % of its CPU"));
    assert!(table(&run, &options(100, Lang::Zh)).contains("! CPU 有 46% 被其他程序占用"));
}

#[test]
fn what_a_core_that_was_shared_in_some_rounds_came_to_stands_beside_what_it_did_alone() {
    let mut run = synthetic::plausible();
    let case = run.cases.iter_mut().find(|case| case.id.starts_with("syscall.")).unwrap();
    let measured = case.measured_mut().unwrap();
    let rounds = [(2700.0, 0.0), (2710.0, 0.05), (2690.0, 0.0), (4100.0, 1.0), (3300.0, 0.5)];
    for (round, (median, shared)) in measured.rounds.iter_mut().zip(rounds) {
        (round.median, round.shared) = (median, Some(shared));
    }
    assert!(table(&run, &options(160, Lang::En)).contains("core alone 2.70 µs (3 rounds), shared 4.10 µs (1 round)"));
    assert!(table(&run, &options(160, Lang::Zh)).contains("独占核心 2.70 µs（3 轮），与邻居共用核心 4.10 µs（1 轮）"));
}

/// A run on a bad day: stolen time, disturbed samples, a slow clock, a quota, an interruption, flags on half of the values.
fn disturbed() -> Run {
    let mut run = synthetic::plausible();
    run.interrupted = Some("Ctrl-C".into());
    run.settings.clock.source = "monotonic_raw".into();
    run.settings.clock.hz = 1e9;
    run.settings.clock.reason = Some("the hypervisor hides the invariant bit".into());
    run.settings.clock.drift = Some(-3.1e-4);
    run.host.limits.cpu_quota = Some(1.5);
    run.host.virtualization.container = Some("docker".into());
    run.probes.retain(|probe| !probe.id.starts_with("memory."));
    run.cases.retain(|case| !case.id.starts_with("memory.") && !case.id.starts_with("cpu."));
    for (index, case) in run.cases.iter_mut().enumerate() {
        let Some(measured) = case.measured_mut() else { continue };
        // What is made up here is what the table shows: the rounds that would have to give it are not kept.
        measured.rounds.clear();
        measured.noise.disturbed = 3;
        measured.noise.left_out = 2;
        measured.noise.steal_ns = Some(7e7);
        measured.noise.unsettled_rounds = u32::from(index % 3 == 0);
        measured.estimate.best_round = measured.estimate.typical * 0.8;
        let flag = |kind, detail: &str| hostmark_model::Flag::new(kind, detail);
        if index % 3 != 2 {
            measured.flags.push(flag(FlagKind::BestRoundGap, ""));
        }
        match index {
            0 => measured.flags.push(flag(FlagKind::UnderResolution, "")),
            1 => measured.flags.push(flag(FlagKind::Implausible, "under one cycle for a dependent operation")),
            3 => {
                measured.flags.push(flag(FlagKind::RoundsLost, ""));
                measured.flags.push(flag(FlagKind::FewRounds, ""));
                measured.estimate.rounds = 2;
                (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
            }
            _ => {}
        }
    }
    run
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_case_without_a_value_says_why() {
    let plausible = synthetic::plausible();
    for index in 0..plausible.cases.len() {
        for is_failed in [false, true] {
            let mut run = plausible.clone();
            let reason = ReasonCode::Internal.because(format_args!("because-{index}-of-it"));
            run.cases[index].outcome = match is_failed {
                true => Outcome::Failed { reason: reason.clone() },
                false => Outcome::Skipped { reason: reason.clone() },
            };
            for lang in [Lang::En, Lang::Zh] {
                let text = table(&run, &options(100, lang));
                assert!(text.contains(&*reason), "{} is absent:\n{text}", run.cases[index].id);
            }
        }
    }
}

#[test]
fn every_value_stands_somewhere() {
    // Numbers that nothing else holds: 101, 102 … in the unit that the case has.
    let mut run = synthetic::plausible();
    let mut expected = Vec::new();
    for (index, case) in run.cases.iter_mut().enumerate() {
        let rate = ["memory.read", "memory.write", "memory.copy"].contains(&case.probe.as_str());
        if let Outcome::Measured(measured) = &mut case.outcome {
            let number = 101 + index;
            measured.estimate.typical = number as f64 * if rate { 1e9 } else { 1.0 };
            expected.push((case.id.clone(), number.to_string()));
        }
    }
    let text = table(&run, &options(100, Lang::En));
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
    for (id, number) in expected {
        assert!(words.contains(&number.as_str()), "{id} = {number} is absent:\n{text}");
    }
}

#[test]
fn what_was_measured_beside_the_levels_stands_under_them() {
    let mut run = synthetic::plausible();
    for (level, name, value) in
        [("l1d", "tlb", 64.0), ("l1d", "line", 64.0), ("l1d", "ways", 8.0), ("l2", "tlb", 1536.0)]
    {
        let id = format!("memory.hierarchy@level={level}");
        let case = run.cases.iter_mut().find(|case| case.id == id).unwrap();
        let Outcome::Measured(measured) = &mut case.outcome else { panic!("{id}") };
        measured.also.insert(name.into(), Also { estimate: synthetic::estimate(value, 0.0) });
        measured.also.insert(format!("{name}_miss"), Also { estimate: synthetic::estimate(2.9, 0.0) });
    }
    let text = table(&run, &options(100, Lang::En));
    for fact in ["L1d TLB 64 pages, miss +2.90 ns", "L2 TLB 1536 pages", "cache line 64 B", "8 ways (L1d)"] {
        assert!(text.contains(fact), "{fact}:\n{text}");
    }
    assert!(table(&run, &options(100, Lang::Zh)).contains("8 路（L1d）"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let plain = table(&synthetic::plausible(), &options(100, Lang::En));
    let coloured = table(&synthetic::plausible(), &RenderOptions { color: true, ..options(100, Lang::En) });
    assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[1m"));
    let mut stripped = coloured;
    for code in ["0", "1", "2", "31", "33"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn what_was_estimated_again_says_so_and_what_could_not_be() {
    let what = Text { en: "the file lacks it".to_owned(), zh: "文件缺少它".to_owned() };
    let gap = |cases: &[&str]| Gap { what: what.clone(), cases: cases.iter().map(|&case| case.into()).collect() };
    let again = Some(Again { version: "9.8.7".into(), gaps: vec![gap(&["a.b"]), gap(&["a.b", "a.c"])] });
    let run = Run { again, ..synthetic::plausible() };
    fits(&run);
    let (en, zh) = (options(100, Lang::En), options(100, Lang::Zh));
    for text in [table(&run, &en), markdown(&run, &en)] {
        assert!(text.contains("! estimated again from its recorded rounds by hostmark 9.8.7\n"), "{text}");
        assert!(text.contains("the file lacks it (1 case)") && text.contains("the file lacks it (2 cases)"), "{text}");
    }
    assert!(table(&run, &zh).contains("! 由 hostmark 9.8.7 根据已记录的轮次重新估计\n! 文件缺少它（1 个用例）\n"));
    assert!(!table(&synthetic::plausible(), &en).contains("estimated again"));
}

#[test]
fn what_lacks_facts_descriptions_or_cases_is_shown_too() {
    let no_facts = Run { host: HostFacts::default(), ..synthetic::plausible() };
    let undescribed = Run { probes: Vec::new(), ..synthetic::plausible() };
    [&no_facts, &undescribed].into_iter().for_each(fits);
    assert!(table(&undescribed, &options(100, Lang::En)).contains("syscall.null"));
    assert!(table(&synthetic::empty(), &options(100, Lang::En)).contains("No case was measured."));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever cases a run has and whatever numbers they hold, it is shown within the width.
    #[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
    fn no_run_is_too_odd(keep in prop::collection::vec(any::<bool>(), 160), number in prop::num::f64::ANY, rounds in 0u32..4) {
        let mut run = synthetic::plausible();
        let mut nth = keep.iter().cycle();
        run.cases.retain(|_| *nth.next().unwrap_or(&true));
        run.probes.retain(|_| *nth.next().unwrap_or(&true));
        for measured in run.cases.iter_mut().filter_map(hostmark_model::CaseRecord::measured_mut) {
            if *nth.next().unwrap_or(&true) {
                measured.estimate.typical = number;
                measured.estimate.best_round = number / 3.0;
            }
            if *nth.next().unwrap_or(&true) {
                (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
            }
            measured.estimate.rounds = rounds;
            measured.noise.steal_ns = Some(number);
        }
        fits(&run);
    }
}
