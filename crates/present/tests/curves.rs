//! The findings that explain a curve: drawn where the run's own numbers show the step, and nowhere else.

use hostmark_analysis::references::named;
use hostmark_present::render::console::table;

use crate::prelude::*;
use crate::synthetic::{estimate, found, measured, of, value};
use crate::tables::{run_on, shown};

const ALLOCATE: &str = "memory.write_allocate";
const CAPACITY: &str = "ipc.pipe_capacity";

/// The first conclusion of a rule, in English; empty where it draws none.
fn text(run: &Run, id: &str) -> String {
    found(run, id).first().map(|finding| finding.text.en.clone()).unwrap_or_default()
}

/// Replaces the values of a probe by `of` its size; an interval of `spread` on each side.
fn revalue(run: &mut Run, probe: &str, spread: f64, of: impl Fn(u64, f64) -> f64) {
    for case in run.cases.iter_mut().filter(|case| case.probe == probe) {
        let size = case.params.get("size").and_then(|size| size.parse().ok()).unwrap_or(0);
        let Some(measured) = case.measured_mut() else { continue };
        measured.estimate = estimate(of(size, measured.estimate.typical), spread);
    }
}

fn stores(kernel: &str, size: u64, rate: f64) -> CaseRecord {
    value(&format!("memory.write@size={size},kernel={kernel},threads=1,page=pmd"), rate)
}

#[test]
fn writing_and_copying_below_reading_are_what_the_bus_moves() {
    let text = text(&synthetic::plausible(), ALLOCATE);
    for part in
        ["DRAM (256 MiB)", "write 6.07 GB/s where loads read 11.9 GB/s (÷1.96)", "two bytes", "12.1 GB/s", "5.47 GB/s"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("three bytes for each byte copied, 16.4 GB/s in all.") && !text.contains("Non-temporal"));
}

#[test]
fn nothing_is_said_of_write_allocate_where_writing_is_not_proven_slower_in_memory() {
    let mut even = synthetic::plausible();
    revalue(&mut even, "memory.write", 0.004, |_, rate| rate / 0.51);
    let mut unsure = synthetic::plausible();
    revalue(&mut unsure, "memory.write", 0.97, |_, rate| rate);
    // In the caches alone there is another reason.
    let mut cached = synthetic::plausible();
    cached.cases.retain(|case| case.params.get("size").and_then(|size| size.parse().ok()).unwrap_or(0) < 50 << 20);
    let mut unknown = synthetic::plausible();
    unknown.host.caches.clear();
    unknown.cases.retain(|case| case.probe != "memory.hierarchy");
    for run in [even, unsure, cached, unknown] {
        assert_eq!(found(&run, ALLOCATE), []);
    }
}

#[test]
fn stores_that_do_not_read_their_line_first_say_nothing_of_write_allocate() {
    let noted = |probe: &str, kernel: &str| {
        let mut run = synthetic::plausible();
        for measured in run.cases.iter_mut().filter(|case| case.probe == probe).filter_map(CaseRecord::measured_mut) {
            measured.notes.insert("kernel".into(), kernel.into());
        }
        run
    };
    for kernel in ["nt", "rep", "libc"] {
        assert_eq!(found(&noted("memory.write", kernel), ALLOCATE), [], "{kernel}");
        let text = text(&noted("memory.copy", kernel), ALLOCATE);
        assert!(text.contains("write-allocate") && !text.contains("Copying"), "{kernel}: {text}");
    }
    assert!(text(&noted("memory.write", "avx2-streams"), ALLOCATE).contains("write-allocate"));
}

#[test]
fn copying_that_is_not_proven_slower_than_writing_is_left_out() {
    let mut run = synthetic::plausible();
    revalue(&mut run, "memory.copy", 0.3, |_, rate| rate);
    let text = text(&run, ALLOCATE);
    assert!(text.contains("write-allocate") && !text.contains("Copying"), "{text}");
}

#[test]
fn other_stores_are_reported_with_where_they_cross_plain_ones() {
    let mut run = synthetic::plausible();
    // Plain stores: 100 GB/s in L1d … 12.2 at 16 MiB, 6.32 at 64 MiB, 6.07 at 256 MiB.
    for (size, rate) in [(16_384, 8e9), (16_777_216, 8e9), (67_108_864, 9e9), (268_435_456, 9e9)] {
        run.cases.push(stores("nt", size, rate));
    }
    for size in [16_384, 67_108_864, 268_435_456] {
        run.cases.push(stores("rep", size, 5e9));
    }
    let text = text(&run, ALLOCATE);
    let nt = "Non-temporal stores, which skip that read, get 9.00 GB/s at 256 MiB, 1.48 × plain; \
              they fall behind up to 16 MiB and lead from 64 MiB on.";
    assert!(text.contains(nt), "{text}");
    let rep =
        "String stores (rep stosb) get 5.00 GB/s at 256 MiB, 0.824 × plain; they stay behind at every size measured.";
    assert!(text.contains(rep), "{text}");

    // One size alone has no crossing, and a size in a cache says nothing of memory.
    let mut one = synthetic::plausible();
    one.cases.push(stores("nt", 67_108_864, 9e9));
    one.cases.push(stores("rep", 16_384, 9e9));
    let text = self::text(&one, ALLOCATE);
    assert!(text.contains("get 9.00 GB/s at 64 MiB, 1.42 × plain.") && !text.contains("String"), "{text}");
}

/// A run with pipe bandwidths in GB/s by message in KiB.
fn pipes(rates: &[(u64, f64)], spread: f64, capacity: Option<u64>) -> Run {
    let axes = [("message", AxisKind::Size, "65536"), ("cpus", AxisKind::Placement, "same_cpu")];
    let section = ("Communication", "进程间通信");
    let info = synthetic::probe("ipc.bandwidth", ("pipe bandwidth", "管道带宽"), Unit::BytesPerSecond, section, &axes);
    let case = |&(kib, rate): &(u64, f64)| {
        let id = format!("ipc.bandwidth@message={},cpus=same_cpu", kib << 10);
        let mut measured = measured(rate * 1e9, spread);
        measured.notes.extend(capacity.map(|bytes| ("capacity_bytes".to_owned(), bytes.to_string())));
        synthetic::case(&id, Outcome::Measured(Box::new(measured)))
    };
    Run { probes: vec![info], cases: rates.iter().map(case).collect(), ..synthetic::empty() }
}

const RISING: [(u64, f64); 5] = [(4, 3.2), (32, 3.7), (64, 4.0), (128, 2.63), (1024, 2.74)];

#[test]
fn a_pipe_bends_at_the_capacity_that_was_noted() {
    let text = text(&pipes(&RISING, 0.01, Some(65536)), CAPACITY);
    for part in [
        "the pipe's capacity of 64 KiB: 4.00 GB/s with messages of 64 KiB, 2.63 GB/s with 128 KiB (÷1.52)",
        "No larger message gets over 2.74 GB/s (at 1 MiB).",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let two = self::text(&pipes(&RISING[2..4], 0.01, Some(65536)), CAPACITY);
    assert!(two.contains("÷1.52") && !two.contains("No larger"), "{two}");
}

#[test]
fn a_pipe_without_a_bend_or_without_proof_has_no_finding() {
    let unsure = pipes(&RISING, 0.4, Some(65536));
    let unknown = pipes(&RISING, 0.01, None);
    let fits = pipes(&RISING, 0.01, Some(1 << 20));
    let mut level = RISING;
    level[3].1 = 3.9;
    // A larger message that makes up for it is no bend at the capacity.
    let mut recovers = RISING;
    recovers[4].1 = 4.2;
    let others = [level, recovers].map(|rates| pipes(&rates, 0.01, Some(65536)));
    for run in [unsure, unknown, fits].into_iter().chain(others) {
        assert_eq!(found(&run, CAPACITY), []);
    }
}

#[test]
fn huge_pages_that_a_hypervisor_cuts_up_are_reported_with_every_figure_of_memory() {
    const ID: &str = "memory.huge_pages_cut";
    let cut = |bytes: f64, agreement: f64, hypervisor: Option<&str>| {
        let mut page = value("memory.effective_page", bytes);
        of(&mut page).estimate.agreement = Some(agreement);
        for (name, ns) in [("huge", 10.0), ("base", 12.0)] {
            of(&mut page).also.insert(name.into(), Also { estimate: estimate(ns, 0.01) });
        }
        let mut l2 = value("memory.hierarchy@level=l2", 5.0);
        of(&mut l2).also.insert("size".into(), Also { estimate: estimate(f64::from(1 << 20), 0.0) });
        let cases = vec![page, l2, value("memory.hierarchy@level=dram", 100.0)];
        let mut run = Run { host: synthetic::plausible().host, cases, ..synthetic::empty() };
        for (probe, axes) in [
            ("memory.latency", "pattern=random,page=pmd"),
            ("memory.latency", "pattern=random,page=base"),
            ("memory.read", "page=pmd"),
        ] {
            let sizes = [65_536, 1 << 26, 1 << 27];
            run.cases.extend(sizes.map(|size| value(&format!("{probe}@size={size},{axes}"), 100.0)));
        }
        run.host.virtualization.hypervisor = hypervisor.map(Into::into);
        run.host.memory.pmd_page_bytes = Some(2 << 20);
        run
    };
    let shown = cut(4096.0, 1.0, Some("kvm"));
    let [finding] = &found(&shown, ID)[..] else { panic!("{:?}", findings(&shown)) };
    assert!((finding.cost - 0.1).abs() < 1e-9);
    assert!(finding.text.en.contains("4 KiB") && finding.text.zh.contains("4 KiB"), "{finding:?}");
    assert_eq!(finding.cases, ["memory.effective_page", "memory.hierarchy@level=dram"]);
    for (run, is_noted) in [(&shown, true), (&cut(2_097_152.0, 1.0, Some("kvm")), false)] {
        for (lang, note) in [(Lang::En, "includes page walks"), (Lang::Zh, "含页表遍历：")] {
            let options = RenderOptions { width: 160, lang, verbose: false, color: false };
            let text = hostmark_present::render::console::table(run, &options);
            assert_eq!(text.contains(note), is_noted, "{text}");
            let page = hostmark_present::html::page(std::slice::from_ref(run), &options);
            assert_eq!(page.contains(note), is_noted);
        }
    }
    // Hardware cuts nothing up, whole pages are no matter, and rounds that disagree prove nothing.
    assert!(found(&cut(4096.0, 1.0, None), ID).is_empty());
    assert!(found(&cut(2_097_152.0, 1.0, Some("kvm")), ID).is_empty());
    assert!(found(&cut(4096.0, 0.6, Some("kvm")), ID).is_empty());
}

#[test]
fn a_choice_of_numbers_and_a_word_stands_in_the_order_of_the_numbers() {
    let mut run = synthetic::plausible();
    let axes = [("delay", AxisKind::Choice, "0"), ("mix", AxisKind::Choice, "read")];
    let (title, section) = (("Loaded memory latency", "有负载的内存延迟"), ("Memory latency", "内存延迟"));
    run.probes.push(synthetic::probe("memory.loaded_latency", title, Unit::Nanoseconds, section, &axes));
    for (delay, latency) in [("0", 264.0), ("idle", 92.0), ("1024", 93.0), ("64", 121.0)] {
        for mix in ["read", "write"] {
            run.cases.push(value(&format!("memory.loaded_latency@delay={delay},mix={mix}"), latency));
        }
    }
    let text = table(&run, &RenderOptions { width: 120, lang: Lang::En, ..RenderOptions::default() });
    let head = text.lines().find(|line| line.contains("Loaded memory latency by delay")).expect("a sweep by delay");
    let points: Vec<&str> = head.split_whitespace().rev().take(4).collect();
    assert_eq!(points, ["idle", "1024", "64", "0"], "{head}");
}

const COUNTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// What so many get done together, in times of one alone.
fn universal(contention: f64, coherence: f64, parties: u32) -> f64 {
    let n = f64::from(parties);
    n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0))
}

const LOAD_AXES: &[(&str, AxisKind, &str)] = &[("delay", AxisKind::Choice, "0"), ("threads", AxisKind::Threads, "32")];

fn on_32_cpus(cases: Vec<CaseRecord>) -> Run {
    let mut run = Run { host: synthetic::plausible().host, cases, ..synthetic::empty() };
    let cpu = run.host.cpus[0].clone();
    run.host.cpus = (0..32).map(|id| CpuFact { id, siblings: vec![id], ..cpu.clone() }).collect();
    let axes: &[_] =
        &[("call", AxisKind::Choice, "open"), ("threads", AxisKind::Threads, "1"), ("copies", AxisKind::Copies, "1")];
    run.probes = vec![
        synthetic::probe("cpu.scaling", ("scaling", "扩展"), Unit::Ratio, ("core", "核心"), &[]),
        synthetic::probe(
            "disk.direct_io",
            ("reads", "读"),
            Unit::BytesPerSecond,
            ("disks", "磁盘"),
            &[("op", AxisKind::Choice, "read"), ("depth", AxisKind::Count, "1")],
        ),
        synthetic::probe("syscall.parallel", ("calls", "调用"), Unit::Nanoseconds, ("system", "系统"), axes),
        synthetic::probe("memory.scaling", ("reads", "读"), Unit::BytesPerSecond, ("memory", "内存"), &axes[1..2]),
        synthetic::probe("memory.loaded_latency", ("load", "加载"), Unit::Nanoseconds, ("memory", "内存"), LOAD_AXES),
    ];
    run
}

fn copies(source: &str, of: impl Fn(u32) -> f64) -> Vec<CaseRecord> {
    let case = |&n: &u32| synthetic::value(&format!("cpu.scaling@source={source},copies={n}"), of(n));
    COUNTS[1..].iter().map(case).collect()
}

/// Times of each of several threads, where one alone takes 400 ns.
fn threads(call: &str, of: impl Fn(u32) -> f64) -> Vec<CaseRecord> {
    let time = |n: u32| 400.0 * f64::from(n) / of(n);
    let case = |&n: &u32| synthetic::value(&format!("syscall.parallel@call={call},threads={n},copies=1"), time(n));
    COUNTS.iter().map(case).collect()
}

#[track_caller]
fn says(run: &Run, verbose: bool, en: &[&str], zh: &[&str]) {
    for format in ["table", "markdown", "html"] {
        for (lang, expected) in [(Lang::En, en), (Lang::Zh, zh)] {
            let options = RenderOptions { width: 200, lang, verbose, ..RenderOptions::default() };
            let text = format_named(format).unwrap().render_one(run, &options);
            // Lines break anywhere, and a page has its marks.
            let plain: String = text.replace("&#39;", "'").replace('\\', "").split_whitespace().collect();
            for words in expected {
                let words: String = words.split_whitespace().collect();
                assert!(plain.contains(&words), "{format}: no '{words}' in {text}");
            }
        }
    }
}

#[test]
fn a_curve_that_falls_tells_contention_coherence_peak_and_fall() {
    let run = on_32_cpus(
        [copies("process.fork_exit", |n| universal(0.1, 0.01, n)), threads("map", |n| universal(0.2, 0.02, n))]
            .concat(),
    );
    let en = [
        "process.fork_exit, processes",
        "universal scalability law: contention σ 10.0 % (10.0 to 10.0 %), coherence κ 1.00 % (1.00 to 1.00 %), scatter",
        "peak at 9, 3.5",
        "16 do less than fewer did",
        "syscall.parallel map, threads of one process",
        "contention σ 20.0 % (20.0 to 20.0 %), coherence κ 2.00 % (2.00 to 2.00 %), scatter",
        "peak at 6",
    ];
    says(
        &run,
        false,
        &en,
        &["竞争 σ 10.0%", "一致性 κ 1.00%", "峰值在 9 个", "16 个时少于更少数目时所做", "同一进程的线程"],
    );
}

#[test]
fn threads_that_read_memory_have_a_knee_and_what_a_load_takes_beside_them() {
    let read = |n: u32| synthetic::value(&format!("memory.scaling@threads={n}"), 10e9 * f64::from(n.min(8)));
    let load = |&(n, delay, ns): &(u32, &str, f64)| {
        synthetic::value(&format!("memory.loaded_latency@delay={delay},threads={n}"), ns)
    };
    let loads = [(32, "idle", 90.0), (2, "0", 95.0), (8, "0", 140.0), (32, "0", 250.0)];
    let run = on_32_cpus(COUNTS.map(read).into_iter().chain(loads.iter().map(load)).collect());
    let en = [
        "memory.scaling, threads of one process",
        "knee at 8 (8.00x one): more get under 10 % more done, and wait",
        "a load takes 90 ns by 1, 95 ns by 2, 140 ns by 8, 250 ns by 32",
    ];
    says(&run, false, &en, &["拐点在 8（", "一次加载：1 个 CPU 时 90 ns"]);
    let page = format_named("html").unwrap().render_one(&run, &RenderOptions::default());
    assert!(page.contains("Memory bandwidth by CPUs") && page.contains("Memory latency by CPUs"));
}

#[test]
fn a_curve_without_coherence_is_amdahls_and_one_on_second_threads_bends() {
    let mut run = on_32_cpus(
        [
            copies("syscall.null", |n| universal(0.05, 0.0, n.min(16))),
            threads("stat", |n| universal(0.0, 0.0, n)),
            copies("cpu.sieve", |n| f64::from(n.min(8)) + 0.3 * f64::from(n.saturating_sub(8))),
            copies("net.round_trip", |n| f64::from(n.min(8))),
        ]
        .concat(),
    );
    for cpu in &mut run.host.cpus {
        cpu.siblings = (0..4).map(|thread| cpu.id % 8 + 8 * thread).collect();
    }
    let en = [
        "linear to the 8 physical cores (8.00x one alone); beyond 8 each SMT sibling adds 30 % of one alone: 32 do 15.2x one alone",
        "linear to the 8 physical cores (8.00x one alone); beyond 8 each SMT sibling adds nothing: 32 do 8.00x one alone",
        "syscall.parallel stat, threads of one process",
        "linear to 32 (32.0x one alone)",
    ];
    let zh = ["到 8 个物理核心为止呈线性", "每个 SMT 兄弟线程只多出单独一个的 30%", "每个 SMT 兄弟线程不再增加"];
    says(&run, false, &en, &zh);
    let whole = on_32_cpus(copies("syscall.null", |n| universal(0.05, 0.0, n)));
    let en = ["Amdahl's law: serial share 5.00 % (5.00 to 5.00 %), scatter", "so never over 20.0x one alone"];
    says(&whole, false, &en, &["阿姆达尔定律：串行份额 5.00%"]);
    // Of what needs nothing but cores, their clock is what bends.
    let whole = on_32_cpus(copies("cpu.sieve", |n| universal(0.05, 0.0, n)));
    says(
        &whole,
        false,
        &["linear to 2 (1.90x one alone); 32 do 12.5x one alone (39 % each)"],
        &["32 个为单独一个的 12.5 倍"],
    );
}

#[test]
fn rates_that_fall_with_time_have_no_law() {
    let mut cases = threads("stat", |n| universal(0.1, 0.0, n));
    for measured in cases.iter_mut().filter_map(CaseRecord::measured_mut) {
        for (round, slower) in measured.rounds.iter_mut().zip([1.0, 1.1, 1.2, 1.4, 1.6]) {
            round.median *= slower;
        }
    }
    let en = ["less in the last round than in the first, so no law is told: CPU credits", "32 do 7.80x one alone"];
    says(&on_32_cpus(cases), false, &en, &["最后一轮比第一轮少做"]);
}

#[test]
fn the_knee_of_a_device_is_where_more_requests_only_wait() {
    // A device of four stations, which are equally busy: N / (N + 3).
    let rates = |depths: &[u32]| {
        let rate = |n: &u32| 4e8 * f64::from(*n) / (f64::from(*n) + 3.0);
        depths.iter().map(|n| synthetic::value(&format!("disk.direct_io@op=read,depth={n}"), rate(n))).collect()
    };
    let en = [
        "disk.direct_io read, requests in flight",
        "serial share 25.0 % (25.0 to 25.0 %), scatter",
        "so never over 4.00x one alone",
        "knee at 32",
    ];
    says(&on_32_cpus(rates(&[1, 2, 4, 8, 16, 32, 64, 128])), false, &en, &["串行份额 25.0%", "拐点在 32"]);
    says(&on_32_cpus(rates(&[1, 2, 4, 8, 16])), false, &["no knee up to 16"], &["到 16 为止没有拐点"]);
    says(&on_32_cpus(rates(&[1, 4, 32])), true, &["too few queue depths for a law (3 of 5)"], &["队列深度的取值太少"]);
}

#[test]
fn what_follows_no_law_and_what_has_too_few_points_say_so() {
    let uneven = [2.0, 3.8, 5.5, 14.0, 11.0];
    let mut cases = copies("net.round_trip", |n| uneven[n.trailing_zeros() as usize - 1]);
    cases.extend(copies("net.tcp_connect", f64::from).into_iter().take(2));
    let run = on_32_cpus(cases);
    let en = ["uneven, so no law is told: 8 do", "too few numbers of CPUs for a law (3 of 5)"];
    let zh = ["不平滑，故不给出定律", "CPU 数目的取值太少，无法判断定律（3 个，需 5 个）"];
    says(&run, true, &en, &zh);
}

/// A machine of these caches, KiB and ways, that is no guest; each load takes what `ns` says of KiB and stride, ±0.4 %.
fn planted(caches: &[(u64, u32)], ns: impl Fn(u64, u64) -> f64) -> Run {
    let cache = |(level, &(kib, ways)): (u8, &(u64, u32))| CacheFact {
        level,
        kind: CacheKind::Unified,
        size_bytes: kib << 10,
        line_bytes: Some(64),
        shared_cpus: vec![0],
        ways: Some(ways),
    };
    let mut run = run_on("size-stride", |run| {
        run.host.caches = (1..).zip(caches).map(cache).collect();
        run.host.virtualization.hypervisor = None;
    });
    for case in &mut run.cases {
        let at = |axis| case.params.get(axis).unwrap().parse::<u64>().unwrap();
        *case = synthetic::value(&case.id, ns(at("size") / 1024, at("pattern")));
    }
    run
}

/// The sentences below the lists of a stride.
fn said(run: &Run, stride: u64) -> Vec<String> {
    let text = shown(run, "size-stride", Lang::En).replace("\n        ", " ");
    let lists = text.split("=====").flat_map(|list| list.split("\n    Cache Latency"));
    let of_stride = lists.filter(|list| list.contains(&format!("stride = {stride:>5}")));
    of_stride.flat_map(str::lines).filter(|line| line.contains(" the latency ")).map(|l| l.trim().to_owned()).collect()
}

const X220: &[(u64, u32)] = &[(32, 8), (256, 8), (3072, 12)];

/// A curve of plateaus: the first whose size, KiB, is not exceeded.
fn stairs(steps: &'static [(u64, f64)]) -> impl Fn(u64, u64) -> f64 {
    move |kib, _| steps.iter().find(|(to, _)| kib <= *to).unwrap().1
}

const ALL: u64 = u64::MAX;

#[test]
fn a_step_where_the_reported_first_cache_ends_names_it_and_its_latency() {
    let run = planted(X220, stairs(&[(32, 1.22), (ALL, 3.66)]));
    let sentence = "between 32 KiB and 48 KiB the latency triples, from 1.22 to 3.66 ns: L1d has 32 KiB, and a load from it takes 1.22 ns";
    assert_eq!(said(&run, 64), [sentence]);
    let chinese = shown(&run, "size-stride", Lang::Zh);
    assert!(chinese.contains("32 KiB 与 48 KiB 之间延迟升至 3.0 倍（1.22 → 3.66 ns）：L1d 为 32 KiB"), "{chinese}");
}

#[test]
fn a_first_cache_of_48_kib_is_called_so_and_never_one_of_32() {
    let curve = || stairs(&[(48, 1.51), (ALL, 4.53)]);
    let sentences = said(&planted(&[(48, 12), (2048, 16)], curve()), 64);
    let step =
        |from: u64, to: u64| format!("between {from} KiB and {to} KiB the latency triples, from 1.51 to 4.53 ns");
    assert_eq!(sentences, [step(48, 72) + ": L1d has 48 KiB, and a load from it takes 1.51 ns"]);
    // The host tells 32 KiB, or nothing: the step is there, and no cache is named.
    for (caches, step) in [(X220, step(48, 64)), (&[], step(32, 64))] {
        assert_eq!(said(&planted(caches, curve()), 64), [step]);
    }
}

#[test]
fn at_a_wide_stride_the_lines_count() {
    let sentences = said(&planted(X220, stairs(&[(64, 1.2), (ALL, 4.8)])), 8192);
    let sentence = "L1d of 32 KiB holds 8 lines of this stride and not 24, and a load from it takes 1.20 ns";
    assert!(
        sentences[0].starts_with("between 64 KiB and 192 KiB") && sentences[0].ends_with(sentence),
        "{sentences:?}"
    );
}

#[test]
fn each_cache_has_its_step() {
    let sentences = said(&planted(X220, stairs(&[(32, 1.3), (256, 4.0), (3072, 11.0), (ALL, 52.0)])), 4096);
    for name in ["L1d has 32 KiB, and a load", "L2 has 256 KiB, and at this stride", "L3 has 3 MiB, and at this stride"]
    {
        assert!(sentences.iter().any(|sentence| sentence.contains(name)), "{name}: {sentences:#?}");
    }
}

#[test]
fn of_the_reference_document_it_draws_the_conclusions_that_the_document_draws() {
    let reference = named("x220").unwrap();
    let run = planted(X220, |kib, stride| {
        let id = format!("memory.latency@size={},pattern={stride}", kib << 10);
        reference.values.iter().find(|value| value.id == id).unwrap_or_else(|| panic!("{id}")).value
    });
    for stride in [64, 1024, 4096, 8192, 16384] {
        let sentences = said(&run, stride);
        assert!(sentences[0].contains("triples, from 1.34 to ") && sentences[0].contains(": L1d "), "{sentences:#?}");
        assert!(sentences[0].ends_with("a load from it takes 1.34 ns"), "{sentences:#?}");
    }
    let (at_4096, at_8192) = (said(&run, 4096), said(&run, 8192));
    assert!(at_4096[1].ends_with("L3 has 3 MiB, and at this stride a load from it takes 11.1 ns"), "{at_4096:#?}");
    let second = "L2 has 256 KiB, and at this stride a load from it takes 4.02 ns";
    assert!(at_8192.iter().any(|one| one.ends_with(second)), "{at_8192:#?}");
}

#[test]
fn nothing_is_said_of_a_slope_a_flat_list_a_fall_and_of_a_cache_half_of_which_is_slow() {
    let slope = |kib: u64, _| 1.3 + (kib as f64).powf(0.7);
    let fall = |kib: u64, _| if kib == 48 || kib == 128 { 4.0 } else { 1.3 };
    let conflicts = stairs(&[(160, 4.0), (192, 5.0), (224, 6.0), (256, 6.9), (ALL, 12.0)]);
    for (what, run) in [
        ("slope", planted(X220, slope)),
        ("flat", planted(X220, |_, _| 1.3)),
        ("fall", planted(X220, fall)),
        ("conflicts", planted(X220, conflicts)),
    ] {
        let text = shown(&run, "size-stride", Lang::En);
        assert!(!text.contains(" the latency "), "{what}: {text}");
    }
}

#[test]
fn a_value_in_doubt_proves_nothing() {
    let mut run = planted(X220, stairs(&[(32, 1.22), (ALL, 3.66)]));
    for case in &mut run.cases {
        case.measured_mut().unwrap().flags.push(Flag::new(FlagKind::Contended, "others used 46 % of its CPU"));
    }
    assert_eq!(said(&run, 64), Vec::<String>::new());
    // Intervals that overlap are no step either.
    let mut run = planted(X220, stairs(&[(32, 1.22), (ALL, 3.66)]));
    for case in &mut run.cases {
        let measured = case.measured_mut().unwrap();
        let estimate = &mut measured.estimate;
        (estimate.ci_low, estimate.ci_high) = (Some(0.5 * estimate.typical), Some(2.0 * estimate.typical));
    }
    assert_eq!(said(&run, 64), Vec::<String>::new());
}
