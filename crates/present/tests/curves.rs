//! The findings that explain a curve: drawn where the run's own numbers show the step, and nowhere else.

use hostmark_analysis::findings::findings;
use hostmark_model::{Also, AxisKind, CaseRecord, Finding, Lang, Measured, Outcome, Run, Unit};
use hostmark_present::RenderOptions;
use hostmark_present::render::console::table;

use crate::synthetic;
use crate::synthetic::{estimate, measured, value};

const ALLOCATE: &str = "memory.write_allocate";
const CAPACITY: &str = "ipc.pipe_capacity";

fn found(run: &Run, id: &str) -> Vec<Finding> {
    findings(run).into_iter().map(crate::short::sound).filter(|finding| finding.id == id).collect()
}

/// The first conclusion of a rule, in English; empty where it draws none.
fn text(run: &Run, id: &str) -> String {
    let found = found(run, id);
    assert!(found.iter().all(|finding| finding.text.zh.chars().any(|c| c >= '\u{4e00}')));
    found.first().map(|finding| finding.text.en.clone()).unwrap_or_default()
}

/// Replaces the values of a probe by `of` its size; an interval of `spread` on each side.
fn revalue(run: &mut Run, probe: &str, spread: f64, of: impl Fn(u64, f64) -> f64) {
    for case in run.cases.iter_mut().filter(|case| case.probe == probe) {
        let size = case.params.get("size").and_then(|size| size.parse().ok()).unwrap_or(0);
        let Outcome::Measured(measured) = &mut case.outcome else { continue };
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
        for case in run.cases.iter_mut().filter(|case| case.probe == probe) {
            let Outcome::Measured(measured) = &mut case.outcome else { continue };
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

fn of(record: &mut CaseRecord) -> &mut Measured {
    let Outcome::Measured(measured) = &mut record.outcome else { panic!("{} has no value", record.id) };
    measured
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
        for (lang, note) in [(Lang::En, "page walks are in it"), (Lang::Zh, "数值含页表遍历")] {
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
