//! Planted curves of several CPUs come out as the words of their law, on every medium, of processes and of threads.

use hostmark_model::{AxisKind, CaseRecord, CpuFact, Lang, Outcome, Run, Unit};
use hostmark_present::RenderOptions;
use hostmark_present::export::format_named;

use crate::synthetic;

const COUNTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// What so many get done together, in times of one alone.
fn universal(contention: f64, coherence: f64, parties: u32) -> f64 {
    let n = f64::from(parties);
    n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0))
}

fn run(cases: Vec<CaseRecord>) -> Run {
    let mut run = Run { host: synthetic::plausible().host, cases, ..synthetic::empty() };
    let cpu = run.host.cpus[0].clone();
    run.host.cpus = (0..32).map(|id| CpuFact { id, siblings: vec![id], ..cpu.clone() }).collect();
    let axes: &[_] =
        &[("call", AxisKind::Choice, "open"), ("threads", AxisKind::Threads, "1"), ("copies", AxisKind::Copies, "1")];
    run.probes = vec![
        synthetic::probe("cpu.scaling", ("scaling", "扩展"), Unit::Ratio, ("core", "核心"), &[]),
        synthetic::probe(
            "disk.read",
            ("reads", "读"),
            Unit::BytesPerSecond,
            ("disks", "磁盘"),
            &[("depth", AxisKind::Count, "1")],
        ),
        synthetic::probe("syscall.parallel", ("calls", "调用"), Unit::Nanoseconds, ("system", "系统"), axes),
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
    let run =
        run([copies("process.fork_exit", |n| universal(0.1, 0.01, n)), threads("map", |n| universal(0.2, 0.02, n))]
            .concat());
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
fn a_curve_without_coherence_is_amdahls_and_one_on_second_threads_bends() {
    let mut run = run([
        copies("syscall.null", |n| universal(0.05, 0.0, n.min(16))),
        threads("stat", |n| universal(0.0, 0.0, n)),
        copies("cpu.sieve", |n| f64::from(n.min(8)) + 0.3 * f64::from(n.saturating_sub(8))),
        copies("net.tcp", |n| f64::from(n.min(8))),
    ]
    .concat());
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
    let whole = self::run(copies("syscall.null", |n| universal(0.05, 0.0, n)));
    let en = ["Amdahl's law: serial share 5.00 % (5.00 to 5.00 %), scatter", "so never over 20.0x one alone"];
    says(&whole, false, &en, &["阿姆达尔定律：串行份额 5.00%"]);
    // Of what needs nothing but cores, their clock is what bends.
    let whole = self::run(copies("cpu.sieve", |n| universal(0.05, 0.0, n)));
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
    for case in &mut cases {
        let Outcome::Measured(measured) = &mut case.outcome else { continue };
        for (round, slower) in measured.rounds.iter_mut().zip([1.0, 1.1, 1.2, 1.4, 1.6]) {
            round.median *= slower;
        }
    }
    let en = ["less in the last round than in the first, so no law is told: CPU credits", "32 do 7.80x one alone"];
    says(&run(cases), false, &en, &["最后一轮比第一轮少做"]);
}

#[test]
fn the_knee_of_a_device_is_where_more_requests_only_wait() {
    // A device of four stations, which are equally busy: N / (N + 3).
    let rates = |depths: &[u32]| {
        let rate = |n: &u32| 4e8 * f64::from(*n) / (f64::from(*n) + 3.0);
        depths.iter().map(|n| synthetic::value(&format!("disk.read@depth={n}"), rate(n))).collect()
    };
    let en = [
        "disk.read, requests in flight",
        "serial share 25.0 % (25.0 to 25.0 %), scatter",
        "so never over 4.00x one alone",
        "knee at 32",
    ];
    says(&run(rates(&[1, 2, 4, 8, 16, 32, 64, 128])), false, &en, &["串行份额 25.0%", "拐点在 32"]);
    says(&run(rates(&[1, 2, 4, 8, 16])), false, &["no knee up to 16"], &["到 16 为止没有拐点"]);
    says(&run(rates(&[1, 4, 32])), true, &["too few queue depths for a law (3 of 5)"], &["队列深度的取值太少"]);
}

#[test]
fn what_follows_no_law_and_what_has_too_few_points_say_so() {
    let uneven = [2.0, 3.8, 5.5, 14.0, 11.0];
    let mut cases = copies("net.tcp", |n| uneven[n.trailing_zeros() as usize - 1]);
    cases.extend(copies("net.udp", f64::from).into_iter().take(2));
    let run = run(cases);
    let en = ["uneven, so no law is told: 8 do", "too few numbers of CPUs for a law (3 of 5)"];
    let zh = ["不平滑，故不给出定律", "CPU 数目的取值太少，无法判断定律（3 个，需 5 个）"];
    says(&run, true, &en, &zh);
}
