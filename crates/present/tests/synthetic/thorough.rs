//! The largest run that there can be, made up: 3000 cases of ten rounds on 64 CPUs of two nodes.

use hostmark_model::*;

use crate::synthetic::{case, described, empty, estimate, measured, plausible, probe, value};

/// Cases, rounds and samples of a round of the thorough profile.
pub const CASES: usize = 3000;
const ROUNDS: usize = 10;
const SAMPLES: usize = 300;
const CPUS: usize = 64;

/// About as long as the probes' own texts.
const PROSE: &str = "Two threads, each on a CPU of its own, hand one word to and fro, spinning meanwhile without a pause; the \
    value is half of a round trip. The word is alone on a page, another one each round, so that rounds differ in where the \
    line's home is and the interval tells of it. On machines with several caches the nearest pair is the one to look at.";
const PROSE_ZH: &str = "两个线程各占一个 CPU，来回传递一个字，等待时不停自旋；数值为往返时间的一半。该字独占一页，每轮换一页，\
    因此各轮的缓存行归属不同，区间会反映出来。在有多个缓存的机器上，应查看最近的一对。";

/// A value between 0 and 1 that looks random and is always the same.
fn scatter(seed: usize) -> f64 {
    let mixed = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
}

/// A measurement with all rounds, and so many samples in each.
fn full(median: f64, seed: usize, samples: usize) -> Measured {
    let mut full = measured(median, 0.004 + 0.02 * scatter(seed));
    full.samples = (0..ROUNDS)
        .map(|round| (0..samples).map(|at| median * (0.99 + 0.02 * scatter(seed * 31 + round * 7 + at))).collect())
        .collect();
    full.rounds = (0..ROUNDS)
        .map(|round| RoundRecord {
            round: round as u32,
            median: median * (0.995 + 0.01 * scatter(seed + round)),
            disturbance_flags: (0..samples)
                .map(|at| if at % 41 == 7 { DisturbanceFlags::DELAYED } else { 0 })
                .collect(),
            core_hz: Some(3.1e9),
            cpus: vec![0],
            iterations: 1024,
            settled: true,
            ..RoundRecord::default()
        })
        .collect();
    full.estimate.rounds = ROUNDS as u32;
    full.estimate.n = (ROUNDS * samples) as u64;
    full.noise.disturbed = ((samples + 33) / 41 * ROUNDS) as u64;
    full.notes.insert("pages".into(), "pmd".into());
    full.notes.insert("kernel".into(), "avx512".into());
    full
}

/// Adds what the charts by name want to a run: pairs of CPUs and nodes, loads, processes.
pub fn with_charts(mut run: Run, cpus: usize) -> Run {
    use AxisKind::{Choice, Count, Nodes, Placement, Size, Threads};
    use Unit::{Nanoseconds, OperationsPerSecond};
    let (core, memory) = (("Processor core", "处理器核心"), ("Memory nodes", "内存节点"));
    let flops: &[_] = &[("isa", Choice, "best"), ("type", Choice, "f64"), ("threads", Threads, "1")];
    let pairs: &[_] = &[("cpus", Placement, "same_cache"), ("method", Choice, "compare_and_swap")];
    let loads: &[_] = &[("delay", Choice, "0"), ("mix", Choice, "read"), ("threads", Threads, "all")];
    let switches: &[_] = &[("processes", Count, "2"), ("footprint", Size, "0")];
    let calls = ("Processes and system calls", "进程与系统调用");
    run.probes.extend(described(&[
        ("cpu.flops", ("Peak floating-point rate", "浮点峰值速率"), OperationsPerSecond, core, flops),
        ("cpu.core_to_core", ("Core to core", "核心间传输"), Nanoseconds, core, pairs),
        (
            "memory.numa_latency",
            ("Latency between nodes", "节点间内存延迟"),
            Nanoseconds,
            memory,
            &[("nodes", Nodes, "0-0")],
        ),
        (
            "memory.loaded_latency",
            ("Loaded memory latency", "有负载的内存延迟"),
            Nanoseconds,
            ("Memory latency", "内存延迟"),
            loads,
        ),
        ("sched.context_switch", ("Context switch", "上下文切换"), Nanoseconds, calls, switches),
    ]));
    for (level, read) in [("l1d", 200e9), ("l2", 90e9), ("l3", 25e9), ("dram", 12e9)] {
        let case = run.cases.iter_mut().find(|case| case.id == format!("memory.hierarchy@level={level}"));
        if let Some(Outcome::Measured(measured)) = case.map(|case| &mut case.outcome) {
            measured.also.insert("read".into(), Also { estimate: estimate(read, 0.01) });
        }
    }
    for threads in [1, cpus] {
        run.cases.push(value(&format!("cpu.flops@isa=best,type=f64,threads={threads}"), 50e9 * threads as f64));
    }
    run.cases.push(value("cpu.core_to_core@cpus=same_cache,method=compare_and_swap", 49.0));
    for one in 0..cpus {
        for other in one + 1..cpus {
            let near = if one / 2 == other / 2 {
                8.0
            } else if one / 32 == other / 32 {
                52.0
            } else {
                131.0
            };
            let id = format!("cpu.core_to_core@cpus={one}-{other},method=compare_and_swap");
            run.cases.push(value(&id, near * (1.0 + 0.1 * scatter(one * 64 + other))));
        }
    }
    for (nodes, latency) in [("0-0", 92.0), ("0-1", 148.0), ("1-0", 151.0), ("1-1", 93.0)] {
        run.cases.push(value(&format!("memory.numa_latency@nodes={nodes}"), latency));
    }
    for mix in ["read", "write"] {
        for (delay, injected, latency) in
            [("idle", 0.0, 92.0), ("1024", 4e9, 93.0), ("64", 61e9, 121.0), ("0", 88e9, 264.0)]
        {
            let mut record = value(&format!("memory.loaded_latency@delay={delay},mix={mix},threads=all"), latency);
            if let Outcome::Measured(measured) = &mut record.outcome {
                measured.also.insert("injected".into(), Also { estimate: estimate(injected, 0.01) });
            }
            run.cases.push(record);
        }
    }
    for footprint in [0u64, 16_384, 65_536] {
        for processes in [2u32, 4, 8, 16, 64] {
            let id = format!("sched.context_switch@processes={processes},footprint={footprint}");
            run.cases.push(value(&id, 900.0 + f64::from(processes) * 20.0 + footprint as f64 / 50.0));
        }
    }
    run
}

pub fn thorough() -> Run {
    sampled(SAMPLES)
}

/// The same with fewer samples a round, for who looks at few of them.
pub fn sampled(samples: usize) -> Run {
    let mut run = with_charts(plausible(), CPUS);
    run.settings.profile = Profile::Thorough;
    run.settings.rounds = ROUNDS as u32;
    let axes =
        [("size", AxisKind::Size, "4096"), ("kernel", AxisKind::Choice, "best"), ("threads", AxisKind::Threads, "1")];
    let kernels = ["best", "scalar", "sse2", "avx2", "avx512", "nt"];
    // As many probes as the catalogue has, about.
    for number in 0..80 {
        let mut info = probe(
            &format!("group.probe_{number}"),
            ("a probe with a title", "有标题的探针"),
            Unit::BytesPerSecond,
            ("Section", "分区"),
            &axes,
        );
        let prose = Text { en: PROSE.to_owned(), zh: PROSE_ZH.to_owned() };
        info.explain = Explain {
            what: prose.clone(),
            why: prose.clone(),
            reading: prose,
            typical: Text::default(),
            causes: Text::default(),
        };
        run.probes.push(info);
    }
    let mut number = 0;
    while run.cases.len() < CASES {
        let (probe, point) = (number % 80, number / 80);
        let size = 4096u64 << (point % 18);
        let kernel = kernels[point / 18 % kernels.len()];
        let id = format!("group.probe_{probe}@size={size},kernel={kernel},threads=1");
        run.cases.push(case(&id, Outcome::Measured(Box::new(measured(20e9 * (1.0 + scatter(number)), 0.01)))));
        number += 1;
    }
    for (index, record) in run.cases.iter_mut().enumerate() {
        if let Outcome::Measured(measured) = &mut record.outcome {
            let also = measured.also.clone();
            **measured = full(measured.estimate.typical, index, samples);
            measured.also = also;
        }
    }
    run
}

/// A run whose every text wants to be something else than text.
pub fn hostile() -> Run {
    // Its last part is markup of Markdown, and what begins a line of Prometheus or ends a label.
    const TEXT: &str = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}\u{1b}[31m\0]]>-->\
        <svg/onload=alert(3)>a\\b\n# TYPE x y\r\u{9b}31m\u{7}|`*_~ &amp; {}=,";
    let text = || TEXT.to_owned();
    let both = || Text { en: text(), zh: text() };
    let mut run = plausible();
    run.name = text();
    run.started = text();
    run.place = Some(text());
    run.host.memory.transparent_huge_pages = Some(text());
    run.tool.digest = Some(text());
    run.interrupted = Some(text());
    run.host.hostname = text();
    run.host.cpu.model = Some(text());
    run.host.kernel.release = text();
    run.host.kernel.command_line = Some(text());
    run.host.virtualization.hypervisor = Some(text());
    run.settings.filters = vec![text()];
    run.settings.set.insert(text(), text());
    run.settings.clock.reason = Some(text());
    run.settings.clock.source = text();
    run.tool.version = text();
    run.guest = Some(Box::new(Guest {
        accel: text(),
        vmm: text(),
        machine: text(),
        cpu: text(),
        cpus: u32::MAX,
        nodes: u32::MAX,
        memory: u64::MAX,
        backing: text(),
        pinned: vec![usize::MAX],
        disk: Some(text()),
        net: Some(text()),
        channel: text(),
        command: vec![text()],
        append: text(),
        digests: [(text(), text())].into(),
        boot_ns: u64::MAX,
        host: [(text(), text())].into(),
        exits: [(format!("{TEXT}_exits"), u64::MAX), ("halt_exits".to_owned(), u64::MAX), ("exits".to_owned(), 1)]
            .into(),
        idle_cpus: Some(f64::MAX),
    }));
    run.disturbances = vec![both()];
    run.findings = vec![Finding {
        id: text(),
        short: both(),
        text: both(),
        cure: Some(both()),
        command: Some(text()),
        cases: vec![text()],
        cost: 0.0,
    }];
    for info in &mut run.probes {
        info.title = both();
        info.section = both();
        info.explain = Explain { what: both(), why: both(), reading: both(), typical: both(), causes: both() };
        info.replaces = vec![text()];
        info.also.iter_mut().for_each(|also| also.title = both());
    }
    for record in &mut run.cases {
        for (_, at) in &mut record.params.0 {
            if at.parse::<u64>().is_err() {
                at.push_str(TEXT);
            }
        }
        match &mut record.outcome {
            Outcome::Measured(measured) => {
                measured.notes.insert(text(), text());
                measured.flags.push(Flag::new(FlagKind::Implausible, text()));
            }
            Outcome::Skipped { reason } | Outcome::Failed { reason } => reason.text = text(),
        }
    }
    // A probe that the file does not describe, with an axis of a hostile name.
    run.cases.push(CaseRecord {
        id: text(),
        probe: text(),
        params: Params(vec![(text(), text())]),
        outcome: Outcome::Measured(Box::new(measured(1.0, 0.01))),
    });
    run
}

/// A run whose numbers are what no measurement gives.
pub fn odd() -> Run {
    let mut run = Run { probes: plausible().probes, ..empty() };
    run.host = plausible().host;
    let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE];
    for (index, record) in plausible().cases.into_iter().enumerate() {
        let mut record = record;
        if let Outcome::Measured(measured) = &mut record.outcome {
            let number = odd[index % odd.len()];
            measured.estimate.typical = number;
            measured.estimate.ci_low = Some(odd[(index + 3) % odd.len()]);
            measured.estimate.ci_high = Some(odd[(index + 5) % odd.len()]);
            measured.samples = vec![odd.to_vec(), Vec::new(), vec![number; 3]];
            measured.also.values_mut().for_each(|also| also.estimate.typical = number);
            measured.rounds.truncate(1);
        }
        run.cases.push(record);
    }
    run
}
