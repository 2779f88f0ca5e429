//! A plausible run of a two-CPU guest, made up: caches, bandwidths, calls, forks, a skipped and a failed case, flags.

use hostmark_analysis::findings::MOST_COLUMNS;
use hostmark_stats::descriptive;

use crate::golden::holds;
use crate::prelude::*;

/// The spread that every measured value here has.
const SPREAD: f64 = 0.004;

pub fn estimate(median: f64, spread: f64) -> Estimate {
    Estimate {
        typical: median,
        ci_low: Some(median * (1.0 - spread)),
        ci_high: Some(median * (1.0 + spread)),
        confidence: 0.95,
        method: IntervalMethod::OrderStatistics,
        min: median * 0.99,
        max: median * 1.2,
        mean: median * 1.01,
        stddev: median * 0.02,
        mad: median * 0.004,
        best_round: median,
        n: 200,
        rounds: 5,
        ..Estimate::default()
    }
}

const SAMPLES: usize = 40;

/// Five rounds of a time whose medians lie up to this spread apart, and an estimate that they give.
pub fn measured(median: f64, spread: f64) -> Measured {
    let medians = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|step| median * (1.0 + step * spread));
    // Half of a round's samples lie below its median, half above; the largest was delayed.
    let share = |at: usize| match at {
        0..19 => 0.99 + 0.0005 * at as f64,
        19 | 20 => 1.0,
        39 => 1.2,
        _ => 1.0 + 0.0005 * (at - 20) as f64,
    };
    let mut measured = Measured {
        estimate: estimate(median, spread),
        samples: medians.iter().map(|median| (0..SAMPLES).map(|at| median * share(at)).collect()).collect(),
        rounds: (0..)
            .zip(medians)
            .map(|(round, median)| RoundRecord {
                round,
                median,
                disturbance_flags: (0..SAMPLES)
                    .map(|at| if at == 39 { DisturbanceFlags::DELAYED } else { 0 })
                    .collect(),
                core_hz: Some(3.1e9),
                cpus: vec![0],
                iterations: 1024,
                settled: true,
                ..RoundRecord::default()
            })
            .collect(),
        ..Measured::default()
    };
    rescale(&mut measured, Better::Lower);
    measured
}

/// Makes the estimate what the samples that count give.
fn rescale(measured: &mut Measured, better: Better) {
    let leaves_out = measured.noise.left_out > 0;
    let marked = measured
        .samples
        .iter()
        .zip(&measured.rounds)
        .flat_map(|(values, round)| values.iter().zip(&round.disturbance_flags));
    let all: Vec<f64> = marked.filter(|(_, flags)| !leaves_out || **flags == 0).map(|(value, _)| *value).collect();
    let medians: Vec<f64> = measured.rounds.iter().map(|round| round.median).collect();
    let interval = hostmark_stats::interval::of_medians(&medians, 0.0).unwrap();
    let best = if better == Better::Higher { descriptive::max(&medians) } else { descriptive::min(&medians) };
    measured.estimate = Estimate {
        typical: descriptive::median(&medians).unwrap(),
        ci_low: Some(interval.low),
        ci_high: Some(interval.high),
        min: descriptive::min(&all).unwrap(),
        max: descriptive::max(&all).unwrap(),
        mean: descriptive::mean(&all).unwrap(),
        stddev: descriptive::stddev(&all).unwrap(),
        mad: descriptive::mad(&all).unwrap(),
        best_round: best.unwrap(),
        n: all.len() as u64,
        ..measured.estimate
    };
}

pub fn case(id: &str, outcome: Outcome) -> CaseRecord {
    let parsed: CaseId = id.parse().unwrap();
    CaseRecord { id: id.to_owned(), probe: parsed.probe, params: parsed.params, outcome }
}

pub fn value(id: &str, median: f64) -> CaseRecord {
    let rates = ["memory.read", "memory.write", "memory.copy", "fio.read"];
    with(case(id, Outcome::Measured(Box::new(measured(median, SPREAD)))), |measured| {
        if rates.iter().any(|rate| id.starts_with(rate)) {
            rescale(measured, Better::Higher);
        }
    })
}

/// A case whose estimate has this spread, whatever its rounds give.
pub fn estimated(id: &str, median: f64, spread: f64) -> CaseRecord {
    let outcome = Outcome::Measured(Box::new(measured(median, spread)));
    with(case(id, outcome), |measured| measured.estimate = estimate(median, spread))
}

/// The case with its values changed, where it was measured.
pub fn with(mut record: CaseRecord, change: impl FnOnce(&mut Measured)) -> CaseRecord {
    if let Some(measured) = record.measured_mut() {
        change(measured);
    }
    record
}

/// The values of a case, which was measured.
#[track_caller]
pub fn of(record: &mut CaseRecord) -> &mut Measured {
    record.measured_mut().expect("the case has a value")
}

/// Compares a golden file with what it should hold.
#[track_caller]
pub fn golden(name: &str, text: &str) {
    let again = "cargo test -p hostmark-present --test all";
    holds(env!("CARGO_MANIFEST_DIR"), &format!("tests/golden/{name}"), text, again);
}

/// The findings of a rule on a run, held to their form.
pub fn found(run: &Run, id: &str) -> Vec<Finding> {
    let found: Vec<Finding> = findings(run).into_iter().map(sound).filter(|finding| finding.id == id).collect();
    for finding in &found {
        assert!(finding.text.zh.chars().any(|c| c >= '\u{4e00}') && (0.0..=1.0).contains(&finding.cost), "{finding:?}");
        assert!(finding.cases.iter().all(|id| run.cases.iter().any(|case| case.id == *id)), "{finding:?}");
    }
    found
}

/// The sentence of a template in the catalogue, with texts in the places of its arguments.
pub fn said(template: &'static str, arguments: &[(&'static str, &str)]) -> Message {
    let text = |(name, value): &(&'static str, &str)| (*name, MessageArgument::Text((*value).to_owned()));
    Message::new(template, arguments.iter().map(text).collect())
}

fn text(en: &str, zh: &str) -> Text<String> {
    Text { en: en.into(), zh: zh.into() }
}

pub fn probe(
    id: &str,
    title: (&str, &str),
    unit: Unit,
    section: (&str, &str),
    axes: &[(&str, AxisKind, &str)],
) -> ProbeInfo {
    let rate = matches!(unit, Unit::BytesPerSecond | Unit::OperationsPerSecond);
    ProbeInfo {
        id: id.into(),
        title: text(title.0, title.1),
        unit,
        better: if rate { Better::Higher } else { Better::Lower },
        also: Vec::new(),
        revision: 1,
        explain: Explain::default(),
        section: text(section.0, section.1),
        related: Vec::new(),
        replaces: Vec::new(),
        differs: None,
        axes: axes.iter().map(|(n, k, d)| AxisInfo { name: (*n).into(), kind: *k, default: (*d).into() }).collect(),
        needs: Vec::new(),
        brought_by: Vec::new(),
    }
}

/// What [`probe`] takes.
pub type Described<'a> = (&'a str, (&'a str, &'a str), Unit, (&'a str, &'a str), &'a [(&'a str, AxisKind, &'a str)]);

/// The probes of a table.
pub fn described(all: &[Described]) -> Vec<ProbeInfo> {
    all.iter().map(|&(id, title, unit, section, axes)| probe(id, title, unit, section, axes)).collect()
}

fn probes() -> Vec<ProbeInfo> {
    use AxisKind::{Choice, Count, Placement, Size, Threads};
    use Unit::{BytesPerSecond, Nanoseconds};
    let (memory, calls, processes) = (("Memory", "内存"), ("System calls", "系统调用"), ("Processes", "进程"));
    let bandwidth: &[_] =
        &[("size", Size, "1048576"), ("kernel", Choice, "best"), ("threads", Threads, "1"), ("page", Choice, "pmd")];
    let latency: &[_] = &[("size", Size, "268435456"), ("pattern", Choice, "random"), ("page", Choice, "pmd")];
    let select: &[_] = &[("call", Choice, "select"), ("descriptors", Count, "10"), ("kind", Choice, "file")];
    let pipe: &[_] = &[("by", Choice, "pipe"), ("cpus", Placement, "same_cpu")];
    let operation: &[_] = &[("type", Choice, "i64"), ("op", Choice, "add")];
    let mut all = described(&[
        ("clock.read", ("clock read", "读时钟"), Nanoseconds, ("Clock", "时钟"), &[("source", Choice, "tsc")]),
        ("cpu.latency", ("operation latency", "运算延迟"), Nanoseconds, ("Processor", "处理器"), operation),
        ("memory.read", ("memory read", "内存读"), BytesPerSecond, memory, bandwidth),
        ("memory.write", ("memory write", "内存写"), BytesPerSecond, memory, bandwidth),
        ("memory.copy", ("memory copy", "内存复制"), BytesPerSecond, memory, bandwidth),
        ("memory.latency", ("memory latency", "内存延迟"), Nanoseconds, memory, latency),
        ("memory.hierarchy", ("memory hierarchy", "内存层次"), Nanoseconds, memory, &[("level", Choice, "l1d")]),
        ("syscall.null", ("null call (getppid)", "空调用（getppid）"), Nanoseconds, calls, &[("copies", Count, "1")]),
        ("syscall.readiness", ("select", "select"), Nanoseconds, calls, select),
        ("syscall.stat", ("stat", "stat"), Nanoseconds, calls, &[]),
        ("process.fork_exit", ("fork + exit", "fork + exit"), Nanoseconds, processes, &[("child", Choice, "static")]),
        ("process.spawn", ("sh -c", "sh -c"), Nanoseconds, processes, &[]),
        ("ipc.round_trip", ("pipe round trip", "管道往返"), Nanoseconds, ("Communication", "进程间通信"), pipe),
    ]);
    let quantity = |name: &str, unit, title| QuantityInfo { name: name.into(), unit, better: Better::Neither, title };
    all[6].also = vec![
        quantity("size", Unit::Bytes, text("largest size that fits", "装得下的最大测点")),
        quantity("leaves", Unit::Bytes, text("smallest size that does not fit", "装不下的最小测点")),
        quantity("cycles", Unit::CoreCycles, text("cycles", "周期")),
    ];
    if let Some(pipe) = all.last_mut() {
        let percentile = |name: &str, en, zh| quantity(name, Unit::Nanoseconds, text(en, zh));
        pipe.also = vec![
            percentile("p50", "p50", "50% 分位数"),
            percentile("p99", "p99", "99% 分位数"),
            percentile("p999", "p99.9", "99.9% 分位数"),
        ];
    }
    all[1].also = vec![quantity("cycles", Unit::CoreCycles, text("core cycles", "核心周期"))];
    all
}

fn cases() -> Vec<CaseRecord> {
    let mut cases = vec![
        value("clock.read@source=tsc", 9.81),
        value("clock.read@source=monotonic", 24.6),
        with(value("clock.read@source=syscall", 118.0), |m| {
            // As many above the median as below.
            for (round, pairs) in m.rounds.iter_mut().zip([2, 2, 3]) {
                round.disturbance_flags = (0..SAMPLES)
                    .map(|at| if at < pairs || at >= SAMPLES - pairs { DisturbanceFlags::DELAYED } else { 0 })
                    .collect();
            }
            m.noise.disturbed = 14;
            m.noise.left_out = 14;
            rescale(m, Better::Lower);
        }),
    ];
    for (op, cycles) in [("add", 1.0), ("mul", 3.0), ("div", 14.2), ("mod", 14.3)] {
        for kind in ["i32", "i64", "f64"] {
            if op == "mod" && kind == "f64" {
                continue;
            }
            let slower = if kind == "f64" { 1.3 } else { 1.0 };
            let id = format!("cpu.latency@type={kind},op={op}");
            cases.push(with(value(&id, cycles * slower / 3.1), |m| {
                m.also.insert("cycles".into(), Also { estimate: estimate(cycles * slower, SPREAD) });
            }));
        }
    }
    let sizes: [(u64, f64, f64); 10] = [
        (4096, 188e9, 1.30),
        (16_384, 196e9, 1.31),
        (32_768, 190e9, 1.33),
        (131_072, 88e9, 4.61),
        (524_288, 84e9, 4.70),
        (1_048_576, 71e9, 5.02),
        (8_388_608, 26e9, 21.4),
        (16_777_216, 24e9, 24.8),
        (67_108_864, 12.4e9, 88.0),
        (268_435_456, 11.9e9, 96.4),
    ];
    for (probe, factor) in [("read", 1.0), ("write", 0.51), ("copy", 0.46)] {
        for (size, rate, _) in sizes {
            let id = format!("memory.{probe}@size={size},kernel=best,threads=1,page=pmd");
            let wide = if probe == "copy" && size > 60_000_000 { 0.061 } else { SPREAD };
            cases.push(with(value(&id, rate * factor), |m| *m = measured(rate * factor, wide)));
        }
    }
    cases.push(value("memory.read@size=1048576,kernel=scalar,threads=1,page=pmd", 22.1e9));
    cases.push(value("memory.read@size=1048576,kernel=best,threads=2,page=pmd", 139e9));
    cases.push(value("memory.read@size=268435456,kernel=best,threads=1,page=base", 11.2e9));
    for (size, _, ns) in sizes {
        for (pattern, factor) in [("random", 1.0), ("in_page", 0.93), ("64", 0.31), ("4096", 0.9)] {
            let id = format!("memory.latency@size={size},pattern={pattern},page=pmd");
            cases.push(with(value(&id, if size > 100_000 { ns * factor } else { ns }), |m| {
                if pattern == "in_page" && size == 8_388_608 {
                    *m = measured(m.estimate.typical, 0.17);
                    m.flags.push(Flag::new(FlagKind::MostlyDisturbed, "71 of 120 samples"));
                }
            }));
        }
    }
    cases.push(value("memory.latency@size=268435456,pattern=random,page=base", 122.0));
    for (level, ns, fits, leaves, cycles) in [
        ("l1d", 1.31, 32_768.0, 131_072.0, 4.05),
        ("l2", 4.63, 1_048_576.0, 8_388_608.0, 14.3),
        ("l3", 22.0, 16_777_216.0, 20_971_520.0, 68.0),
        ("dram", 96.4, 0.0, 0.0, 299.0),
    ] {
        cases.push(with(value(&format!("memory.hierarchy@level={level}"), ns), |m| {
            // Made of other cases, whose rounds it does not keep.
            m.rounds.clear();
            m.also.insert("cycles".into(), Also { estimate: estimate(cycles, SPREAD) });
            for (name, bytes) in [("size", fits), ("leaves", leaves)] {
                if bytes > 0.0 {
                    m.also.insert(name.into(), Also { estimate: estimate(bytes, 0.0) });
                }
            }
            if level == "l3" {
                m.estimate = estimate(ns, 0.083);
                m.estimate.best_round = 18.1;
                let faster = said("the best round was {typical:.0} % faster", &[("typical", "18")]);
                m.flags.push(Flag::new(FlagKind::BestRoundGap, faster));
                let doubt = said(
                    "{leaves} do not fit, and the host reports {size_reported}: neighbours probably use the rest",
                    &[("leaves", "20 MiB"), ("size_reported", "35.8 MiB")],
                );
                m.flags.push(Flag::new(FlagKind::Unconfirmed, doubt));
            }
        }));
    }
    cases.push(value("syscall.null@copies=1", 88.1));
    cases.push(value("syscall.null@copies=2", 91.0));
    for (descriptors, ns) in [(10, 310.0), (100, 2105.0), (250, 5150.0), (500, 10_220.0)] {
        cases.push(value(&format!("syscall.readiness@call=select,descriptors={descriptors},kind=file"), ns));
    }
    cases.push(value("syscall.readiness@call=select,descriptors=100,kind=tcp", 2870.0));
    cases.push(case(
        "syscall.stat",
        Outcome::Failed { reason: ReasonCode::ProcessDied.because("worker killed by SIGBUS in round 1") },
    ));
    cases.push(with(value("process.fork_exit@child=static", 68_200.0), |m| {
        *m = measured(68_200.0, 0.036);
        m.noise.disturbed = 9;
    }));
    cases.push(value("process.fork_exit@child=dynamic", 306_200.0));
    cases.push(case("process.spawn", Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") }));
    for (placement, ns) in [("same_cpu", 1830.0), ("same_cache", 5210.0)] {
        cases.push(with(value(&format!("ipc.round_trip@by=pipe,cpus={placement}"), ns), |m| {
            for (name, factor) in [("p50", 1.0), ("p99", 1.4), ("p999", 9.1)] {
                m.also.insert(name.into(), Also { estimate: estimate(ns * factor, 0.03) });
            }
        }));
    }
    for placement in ["smt_sibling", "other_cache", "other_node"] {
        let reason = ReasonCode::Topology.because("no two usable CPUs are threads of one core");
        cases.push(case(&format!("ipc.round_trip@by=pipe,cpus={placement}"), Outcome::Skipped { reason }));
    }
    cases
}

fn host() -> HostFacts {
    let cache = |level, kind, size_bytes, ways, shared: &[usize]| CacheFact {
        level,
        kind,
        size_bytes,
        line_bytes: Some(64),
        ways: Some(ways),
        shared_cpus: shared.to_vec(),
    };
    let cpu = |id| CpuFact { id, online: true, allowed: true, node: Some(0), ..CpuFact::default() };
    HostFacts {
        hostname: "db-17".into(),
        cpu: CpuFacts {
            architecture: "x86_64".into(),
            model: Some("Intel(R) Xeon(R) Processor @ 2.50GHz".into()),
            packages: 1,
            ..CpuFacts::default()
        },
        cpus: vec![cpu(0), cpu(1)],
        caches: vec![
            cache(1, CacheKind::Data, 32_768, 8, &[0]),
            cache(1, CacheKind::Instruction, 32_768, 8, &[0]),
            cache(2, CacheKind::Unified, 1_048_576, 16, &[0]),
            cache(3, CacheKind::Unified, 37_486_592, 11, &[0, 1]),
        ],
        nodes: vec![NodeFact { cpus: vec![0, 1], memory_bytes: 24 << 30, distances: vec![10], ..NodeFact::default() }],
        memory: MemoryFacts {
            total_bytes: 25_000_000_000,
            page_bytes: 4096,
            pmd_page_bytes: Some(2 << 20),
            transparent_huge_pages: Some("madvise".into()),
            ..MemoryFacts::default()
        },
        kernel: KernelFacts { release: "6.18.44".into(), ..KernelFacts::default() },
        virtualization: VirtualizationFacts { hypervisor: Some("kvm".into()), ..VirtualizationFacts::default() },
        ..HostFacts::default()
    }
}

/// A run with nothing in it.
pub fn empty() -> Run {
    Run {
        schema: SCHEMA.into(),
        id: "0193".into(),
        name: "20261121T061500Z-db-17-ab12".into(),
        started: "2026-11-21T06:15:00Z".into(),
        finished: Some("2026-11-21T06:15:57Z".into()),
        tool: Tool {
            version: "0.1.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            libc: "glibc 2.41".into(),
            is_static: false,
            digest: None,
        },
        settings: Settings {
            profile: Profile::Quick,
            seed: 0x7f3a,
            rounds: 5,
            limit_s: 60.0,
            clock: ClockFacts { source: "tsc".into(), hz: 2.5e9, reason: None, message: None, drift: Some(2e-6) },
            cpu: 0,
            ..Settings::default()
        },
        ..Run::default()
    }
}

pub fn plausible() -> Run {
    let (probes, mut cases) = (probes(), cases());
    let is_rate = |id: &str| probes.iter().any(|probe| probe.id == id && probe.better == Better::Higher);
    for case in cases.iter_mut().filter(|case| is_rate(&case.probe)) {
        *case = with(case.clone(), |measured| rescale(measured, Better::Higher));
    }
    Run { host: host(), probes, cases, ..empty() }
}

/// Holds a finding to what every short text keeps to, in both languages, and hands it on.
#[track_caller]
pub fn sound(finding: Finding) -> Finding {
    for lang in [Lang::En, Lang::Zh] {
        let text = finding.short.get(lang);
        assert!(!text.is_empty() && text.width() <= MOST_COLUMNS, "{}: {} columns: {text}", finding.id, text.width());
        assert!(!text.ends_with([':', '：', '.', '。']), "{}: {text}", finding.id);
        // That something is refused is no figure.
        let is_refusal = finding.id == "kernel.layers" && finding.short.en.contains("is refused");
        assert!(is_refusal || text.contains(|c: char| c.is_ascii_digit()), "{}: {text}", finding.id);
        assert_eq!(text.contains(|c: char| c >= '\u{4e00}'), lang == Lang::Zh, "{}: {text}", finding.id);
    }
    assert!(!finding.short.zh.contains(" %"), "{}", finding.short.zh);
    finding
}
