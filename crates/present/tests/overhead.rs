//! The overhead view: from the cycle counts of a published decomposition it gives back every percentage, and from runs of
//! STREAM the percent of native.

use hostmark_present::export::overhead_over;

use crate::prelude::*;
use crate::synthetic::{case, estimate, measured, probe};
use guests::guest;

mod conclusions;
mod guests;

const FILE: (&str, &str) = ("Files", "文件");

#[test]
fn every_percentage_of_the_reference_is_given_back_to_a_hundredth() {
    let view = view(&reference());
    let printed: [(&str, [&[f64]; 2]); 4] = [
        ("Kernel overhead: native", [&[0.0, 15.639_121_44], &[0.0, 4.732_570_774]]),
        (
            "OS overhead: native",
            [&[215.022_126_7, 213.100_262, 204.202_817], &[77.743_301_53, 77.407_001_2, 71.415_636_99]],
        ),
        ("Hypervisor + kernel overhead: guest", [&[13.635_894_87, 20.546_725_15], &[8.365_548_594, 14.165_065_25]]),
        (
            "Hypervisor + guest OS overhead: guest",
            [&[263.336_438, 256.988_713_1, 234.769_423_6], &[111.660_538_4, 90.920_524_41, 90.056_255_05]],
        ),
    ];
    for (title, operations) in printed {
        let rows = rows(&view, title);
        assert_eq!(rows.len(), 2, "{title}: {rows:?}");
        for ((row, name), expected) in rows.iter().zip(["READ", "WRITE"]).zip(operations) {
            assert!(row.trim_start().starts_with(name), "{row}");
            let found = percentages(row);
            assert_eq!(found.len(), expected.len(), "{row}");
            for (found, expected) in found.iter().zip(expected) {
                // Two digits are shown, of a base that the reference rounded.
                assert!((found - expected).abs() < 0.01, "{title}, {name}: {found} is not {expected}");
            }
        }
    }
}

#[test]
fn the_ratio_of_writing_and_the_deviation_are_reported_every_side() {
    let view = view(&reference());
    let ratio = rows(&view, "Write/read ratio");
    assert_eq!(ratio.len(), 5, "{ratio:?}");
    // The reference: writing takes about 2.55 times the cycles of reading.
    assert!(ratio[4].trim_start().starts_with("mean of these") && ratio[4].contains("2.55"), "{}", ratio[4]);
    assert!(
        ratio[0].contains("3.21")
            && ratio[0].contains("bind=none irq=on 3.37")
            && ratio[0].contains("bind=last irq=on 3.05")
    );
    let deviation = rows(&view, "Deviation/mean");
    assert_eq!(deviation.len(), 8);
    assert!(deviation.iter().all(|row| percentages(row) == [2.0, 2.0, 2.0]), "{deviation:?}");
}

#[test]
fn another_base_may_be_named_and_one_that_is_not_there_is_an_error() {
    let runs = reference();
    let over = |base: &str| overhead_over(&runs, Some(base), &RenderOptions::default());
    let user = over("file.block@op=read,bind=none,through=cache").unwrap();
    assert_eq!(percentages(rows(&user, "Overhead: native, in user space")[1])[2], 0.0);
    let kernel = 100.0 * (7_010_696.0 / 21_326_624.6 - 1.0);
    assert!((percentages(rows(&user, "Overhead: native, inside the kernel")[0])[0] - kernel).abs() < 0.01);
    let error = over("file.kernel_block@op=read,bind=7").unwrap_err();
    assert!(error.starts_with("--base file.kernel_block@op=read,bind=7: native has no such case"), "{error}");
}

#[test]
fn a_side_that_was_not_measured_is_reported_and_not_guessed() {
    let [mut native, guest] = reference();
    native.cases.retain(|case| !case.id.starts_with("file.kernel_block@op=write"));
    let view = view(&[native, guest]);
    assert!(rows(&view, "OS overhead: native")[1].contains("no base: not measured"));
    assert!(rows(&view, "Kernel overhead: native")[0].contains("+15.64 %"));
}

/// A run of STREAM whose passes had these mean rates, bytes a second, and a best one above by a twentieth.
fn stream_run(name: &str, rates: [f64; 4], threads: &str) -> Run {
    let axes: &[_] = &[("kernel", AxisKind::Choice, "copy"), ("threads", AxisKind::Threads, "all")];
    let mut cases = Vec::new();
    for (kernel, rate) in ["copy", "scale", "add", "triad"].iter().zip(rates) {
        let mut measured = measured(rate, 0.01);
        measured.samples = vec![vec![rate * 1.05, rate / 1.05], vec![rate]];
        measured.notes =
            [("elements", "30000000"), ("threads", threads)].map(|(key, value)| (key.into(), value.into())).into();
        cases.push(case(&format!("memory.stream@kernel={kernel},threads=all"), Outcome::Measured(Box::new(measured))));
    }
    let probes = vec![probe("memory.stream", ("STREAM", "STREAM 内存带宽"), Unit::BytesPerSecond, FILE, axes)];
    named(name, probes, cases)
}

/// Best rates of the reference's native STREAM, bytes a second, and what its guest gets of them.
const NATIVE: [f64; 4] = [46_185.4e6, 31_227.9e6, 32_065.5e6, 33_538.0e6];
const GUEST: [f64; 4] = [1.001, 0.9593, 0.9472, 0.9652];

/// Five runs of an environment: the third is the best one.
fn five(name: &str, best: [f64; 4], threads: &str) -> Vec<Run> {
    let worse = [0.97, 0.99, 1.0, 0.98, 0.95];
    worse.map(|factor| stream_run(name, best.map(|rate| rate * factor / 1.05), threads)).into()
}

/// Five runs of both environments: the native one with so many threads, the guest with these best rates.
pub fn sides(threads: &str, guest: [f64; 4]) -> Vec<Run> {
    [five("native", NATIVE, threads), five("guest", guest, "4")].concat()
}

#[test]
fn stream_is_held_against_native_by_best_rate_and_smallest_average_time() {
    let runs = sides("4", std::array::from_fn(|at| NATIVE[at] * GUEST[at]));
    let view = view(&runs);
    let rates = rows(&view, "STREAM, best rate of all runs, MB/s, 5 × native, 5 × guest");
    let times = rows(&view, "STREAM, smallest average time of a run, s");
    let labels = ["Copy", "Scale", "Add", "Triad"];
    for (index, label) in labels.iter().enumerate() {
        assert!(rates[index].trim_start().starts_with(label), "{rates:?}");
        assert!(rates[index].contains(&format!("{:.1}", NATIVE[index] / 1e6)), "{}", rates[index]);
        // Behind it how far the bests of halves lie apart: at most 1.00 over 0.97.
        assert_eq!(percentages(rates[index]), [(GUEST[index] * 1e4).round() / 100.0, 3.09]);
        // Times are the other way round.
        assert_eq!(percentages(times[index]), [(1e4 / GUEST[index]).round() / 100.0, 3.09]);
        // Runs that lie up to 5 % apart do not show 5.3 %.
        let is_chance = [rates[index], times[index]].map(|row| row.contains("(no difference)"));
        assert_eq!(is_chance, [true; 2], "{}", rates[index]);
    }
    // A tenth they do.
    let runs = sides("4", NATIVE.map(|rate| rate * 0.9));
    let slower = self::view(&runs);
    assert!(rows(&slower, "STREAM, best rate").iter().take(4).all(|row| row.contains("90.00 % ")), "{slower}");
    assert!(!rows(&slower, "STREAM, best rate").join("").contains("no difference"), "{slower}");
    // Bytes over the mean time: 480 MB; the mean of the passes' times, not of their rates.
    let pass = 16.0 * 30e6 / (NATIVE[0] / 1.05);
    let mean = pass * (1.0 / 1.05 + 1.05 + 1.0) / 3.0;
    assert!(times[0].contains(&format!("{mean:.6}")), "{} is not in {}", mean, times[0]);
}

#[test]
fn the_best_of_more_runs_or_passes_is_not_held_against_that_of_fewer() {
    let best = |view: &str| -> Vec<String> {
        rows(view, "STREAM, best rate of all runs").iter().take(4).map(|row| row.to_string()).collect()
    };
    // The guest's third run is the best one, and its first two have 0.99 of it at most.
    let mut runs = five("native", NATIVE, "4");
    runs.truncate(2);
    runs.extend(five("guest", NATIVE, "4"));
    let view_of_runs = view(&runs);
    for (row, rate) in best(&view_of_runs).iter().zip(NATIVE) {
        assert!(row.contains("100.00 % (no difference)") && !row.contains(&format!("{:.1}", rate / 1e6)), "{row}");
    }
    let expected = "guest: the first 2 of 5 runs counts, as many as every side has: the best of more is higher";
    assert!(view_of_runs.contains(expected), "{view_of_runs}");
    // A pass more than others have, and a fast one, does not count.
    let mut runs = sides("4", NATIVE);
    for case in runs[5..].iter_mut().flat_map(|run| &mut run.cases) {
        let measured = case.measured_mut().unwrap();
        let fast = measured.samples[0][0] * 3.0;
        measured.samples[1].push(fast);
    }
    let view = view(&runs);
    assert!(best(&view).iter().all(|row| row.contains("100.00 % (no difference)")), "{view}");
    assert!(view.contains("the first 3 passes of each run count, of up to 4"), "{view}");
}

#[test]
fn stream_stands_as_bars_in_the_order_of_its_kernels() {
    let runs = sides("4", std::array::from_fn(|at| NATIVE[at] * [0.5, 1.0, 0.25, 1.0][at]));
    let view = overhead_over(&runs, None, &RenderOptions { width: 100, ..RenderOptions::default() }).unwrap();
    let bars: Vec<&str> = view.split("STREAM, best rate of all runs").nth(2).unwrap().lines().skip(1).take(8).collect();
    let length = |line: &str| line.matches('█').count();
    let all: Vec<usize> = bars.iter().map(|line| length(line)).collect();
    assert_eq!(all, [48, 24, 32, 32, 33, 8, 34, 34], "{view}");
    assert!(bars[0].starts_with("  Copy   native  █") && bars[0].ends_with("46185.4"), "{view}");
    assert!(bars[1].starts_with("         guest   █") && bars[1].ends_with("23092.7, 50.00 %"), "{view}");
    assert!(bars.iter().all(|line| line.chars().count() <= 100), "{view}");
}

#[test]
fn stream_that_was_measured_nowhere_says_why_and_has_no_bars() {
    let reason = "filling 1562 MiB at 214.706 MB/s takes 7.6 s, and a round has 4 s";
    let mut runs = sides("4", NATIVE);
    for case in runs.iter_mut().flat_map(|run| &mut run.cases) {
        case.outcome = Outcome::Skipped { reason: ReasonCode::NotApplicable.because(reason) };
    }
    let view = view(&runs);
    let rates = rows(&view, "STREAM, best rate");
    assert!(rates[..4].iter().all(|row| row.ends_with("skipped  skipped          –    –")), "{view}");
    let said = |name: &str| format!("{name}, skipped: {reason} (Copy, Scale, Add, Triad)");
    assert_eq!(rates[4..], [said("native"), said("guest")], "{view}");
    assert!(!view.contains('█'), "{view}");
}

#[test]
fn stream_of_another_number_of_threads_is_not_comparable() {
    let runs = sides("8", NATIVE);
    let view = view(&runs);
    let rates = rows(&view, "STREAM, best rate");
    assert!(rates[0].contains(" not comparable "), "{view}");
    assert_eq!(rates[4..], ["guest, not comparable: 8 and 4 threads (Copy, Scale, Add, Triad)"], "{view}");
}

#[test]
fn environments_that_chose_different_loops_are_distinguished() {
    let choosing = |name: &str, loops: [&str; 2]| {
        let mut run = stream_run(name, NATIVE, "4");
        for (case, chosen) in run.cases.iter_mut().zip(loops) {
            case.measured_mut().unwrap().notes.insert("kernel".into(), chosen.into());
        }
        run
    };
    let runs = [choosing("native", ["nt-avx2", "avx2"]), choosing("guest", ["nt-avx2", "sse2"])];
    let view = view(&runs);
    let rates = rows(&view, "STREAM, best rate");
    assert_eq!(rates[4..], ["kernel differs: native avx2, guest sse2 (Scale)"], "{view}");
    assert_eq!(view.matches("kernel differs").count(), 1, "{view}");
}

#[test]
fn every_case_in_common_stands_over_itself_in_the_first_environment() {
    let native = Run { name: "native".into(), ..synthetic::plausible() };
    let mut guest = Run { name: "guest".into(), ..synthetic::plausible() };
    for case in &mut guest.cases {
        if let Outcome::Measured(measured) = &mut case.outcome
            && case.id == "syscall.null@copies=1"
        {
            measured.estimate = estimate(88.1 * 1.25, 0.01);
        }
    }
    guest.probes.iter_mut().find(|probe| probe.id == "ipc.round_trip").unwrap().revision = 2;
    guest.cases.retain(|case| case.id != "syscall.null@copies=2");
    let runs = [native, guest];
    let view = view(&runs);
    let line = |id: &str| view.lines().find(|line| line.trim_start().starts_with(id)).unwrap_or_default().to_owned();
    assert_eq!(percentages(&line("syscall.null@copies=1")), [25.0]);
    assert_eq!(percentages(&line("memory.read@size=4K")), [0.0]);
    assert!(line("ipc.round_trip@by=pipe,cpus=same_cpu").ends_with("not comparable"));
    assert!(line("guest, not comparable: revisions 1 and 2 (ipc.round_trip@").contains("cpus=same_cpu"), "{view}");
    assert_eq!(line("syscall.null@copies=2"), "");
    let verbose = RenderOptions { width: 200, verbose: true, ..RenderOptions::default() };
    let with_intervals = format_named("overhead").unwrap().render(&runs, &verbose).unwrap();
    // Of one run a side what system calls are assumed to differ by: 1.96 times 2 % of both.
    assert!(with_intervals.contains("+25.00 % (+18.2"), "{with_intervals}");
    // A named base: the other calls over the null call.
    let over =
        overhead_over(&runs[..1], Some("syscall.null"), &RenderOptions { width: 200, ..RenderOptions::default() })
            .unwrap();
    let select = over.lines().find(|line| line.contains("@call=select,descriptors=10,kind=file")).unwrap();
    let expected = 100.0 * (310.0 / 88.1 - 1.0);
    assert!((percentages(select)[0] - expected).abs() < 0.01, "{select}");
    assert!(!over.contains("memory.read"));
}

#[test]
fn environments_of_other_sizes_are_reported_and_runs_without_a_pair_say_what_to_do() {
    let native = Run { name: "native".into(), ..synthetic::plausible() };
    let mut guest = Run { name: "guest".into(), ..synthetic::plausible() };
    guest.host.cpus.truncate(1);
    for lang in [Lang::En, Lang::Zh] {
        let options = RenderOptions { lang, ..RenderOptions::default() };
        let text = overhead_over(&[native.clone(), guest.clone()], None, &options).unwrap();
        assert!(text.starts_with("! native") && text.contains("1 CPU"), "{text}");
        let alone = overhead_over(std::slice::from_ref(&native), None, &options).unwrap();
        assert!(alone.contains("native=RUN guest=RUN"), "{alone}");
    }
}

#[test]
fn arrays_that_the_caches_hold_in_part_are_named_wherever_stream_is_shown() {
    const NAMED: &str = "arrays of 2.00 × the last-level caches";
    let shown = |is_short: bool| -> Vec<(&str, String)> {
        let mut runs = sides("4", NATIVE);
        for measured in runs.iter_mut().flat_map(|run| &mut run.cases).filter_map(CaseRecord::measured_mut) {
            measured.notes.extend(is_short.then(|| ("times_caches".to_owned(), "2.00".to_owned())));
        }
        let formats = ["table", "stream", "html"];
        let one = |name: &'static str| {
            (name, format_named(name).unwrap().render(&runs[..1], &RenderOptions::default()).unwrap())
        };
        formats.into_iter().map(one).chain([("overhead", view(&runs))]).collect()
    };
    for (format, text) in shown(true) {
        // The console breaks lines.
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(NAMED), "{format}: {text}");
    }
    assert!(shown(false).iter().all(|(_, text)| !text.contains("last-level caches, under")));
}

/// Operations of a batch, whose cycles the report prints, and its machine's cycles a nanosecond.
const BATCH: f64 = 10_000.0;
const CYCLES_PER_NS: f64 = 2.5;

/// A case whose batch took so many cycles.
pub fn cycles(id: &str, cycles: f64) -> CaseRecord {
    let ns = cycles / BATCH / CYCLES_PER_NS;
    let mut measured = measured(ns, 0.0);
    measured.estimate = estimate(ns, 0.0);
    measured.estimate.mean = ns;
    measured.estimate.stddev = ns * 0.0198;
    measured.also.insert("batch_cycles".into(), Also { estimate: estimate(cycles, 0.0) });
    case(id, Outcome::Measured(Box::new(measured)))
}

/// The two probes of a file access.
fn file_probes() -> Vec<ProbeInfo> {
    let sides = [("file.block", ("through", "cache")), ("file.kernel_block", ("irq", "on"))];
    let of_side = |(id, (axis, default))| {
        let axes = [("op", "read"), ("bind", "none"), (axis, default)];
        let axes = axes.map(|(axis, default)| (axis, AxisKind::Choice, default));
        probe(id, (id, id), Unit::Nanoseconds, FILE, &axes)
    };
    sides.map(of_side).into()
}

pub fn named(name: &str, probes: Vec<ProbeInfo>, cases: Vec<CaseRecord>) -> Run {
    Run { name: name.into(), probes, cases, ..synthetic::empty() }
}

/// Inside the kernel: not bound, bound. From user space: bound to the last CPU, to CPU 0, not bound.
fn file_run(name: &str, kernel: [[f64; 2]; 2], user: [[f64; 3]; 2]) -> Run {
    let mut cases = Vec::new();
    for (op, values) in ["read", "write"].iter().zip(kernel) {
        let id = |at: &str| format!("file.kernel_block@op={op},bind={at},irq=on");
        cases.extend(["none", "last"].iter().zip(values).map(|(at, value)| cycles(&id(at), value)));
    }
    for (op, values) in ["read", "write"].iter().zip(user) {
        let id = |at: &str| format!("file.block@op={op},bind={at},through=cache");
        cases.extend(["last", "0", "none"].iter().zip(values).map(|(at, value)| cycles(&id(at), value)));
    }
    named(name, file_probes(), cases)
}

/// The cycle counts of the report: Ubuntu 18.04 on an i7-6500U, and the same in a guest of QEMU 2.11.
pub fn reference() -> [Run; 2] {
    let native = file_run(
        "native",
        [[7_010_696.0, 8_107_065.0], [23_594_149.0, 24_710_759.0]],
        [[22_085_129.6, 21_950_394.2, 21_326_624.6], [41_937_019.4, 41_857_672.2, 40_444_060.8]],
    );
    let mut guest = file_run(
        "guest",
        [[7_966_626.0, 8_451_120.8], [25_567_929.0, 26_936_275.6]],
        [[25_472_281.6, 25_027_264.2, 23_469_545.4], [49_939_502.8, 45_046_073.0, 44_842_156.0]],
    );
    guest.host.virtualization.hypervisor = Some("kvm".into());
    [native, guest]
}

pub fn view(runs: &[Run]) -> String {
    overhead_over(runs, None, &RenderOptions { width: 2000, ..RenderOptions::default() }).unwrap()
}

/// The lines of the table whose title begins so, without its title and head.
pub fn rows<'a>(view: &'a str, title: &str) -> Vec<&'a str> {
    let mut lines = view.lines().skip_while(|line| !line.starts_with(title));
    assert!(lines.next().is_some(), "no table {title} in\n{view}");
    lines.skip(1).take_while(|line| !line.is_empty()).collect()
}

/// The percentages of a line.
pub fn percentages(line: &str) -> Vec<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number =
        |pair: &[&str]| (pair[1] == "%").then(|| pair[0].trim_start_matches('±').replace('−', "-").parse().unwrap());
    words.windows(2).filter_map(number).collect()
}

/// Three native runs and two of an emulated guest, all of them disturbed, without the kernel's side.
fn disturbed() -> Vec<Run> {
    let kernel = |bind: &str| {
        let reason = ReasonCode::Kernel.because("needs the kernel module hostmark, which is not loaded");
        case(&format!("file.kernel_block@op=read,bind={bind},irq=on"), Outcome::Skipped { reason })
    };
    let conclusion = |share: usize, pid: usize| Text {
        en: format!("others used {share} % of the time of CPU 0-1 (pid {pid})"),
        zh: format!("其他程序占用了 CPU 0-1 时间的 {share}%（pid {pid}）"),
    };
    let run = |name: &str, at: usize| {
        let mut run = Run { name: name.into(), started: format!("2026-11-23T12:0{at}:00Z"), ..synthetic::plausible() };
        run.cases.push(kernel("none"));
        run.disturbances = vec![conclusion(40 + at, at)];
        run
    };
    let mut runs: Vec<Run> = (0..3).map(|at| run("native", at)).collect();
    runs.extend((3..5).map(|at| {
        let mut run = run("guest", at);
        run.guest = Some(Box::new(guest("tcg")));
        run.disturbances.push(IN_SOFTWARE.to_owned_text());
        run
    }));
    runs
}

#[test]
fn each_kind_of_remark_is_reported_once_for_each_side_with_its_range() {
    let text = view(&disturbed());
    let remarks: Vec<&str> = text.lines().filter(|line| line.starts_with("! ")).collect();
    let all = [
        "! guest was measured under QEMU's software emulation: the figures tell nothing about KVM",
        "! native: others used 40 to 42 % of the time of CPU 0-1 (pid 0; pid 1; pid 2) (3 of 3 runs)",
        "! guest: others used 43 to 44 % of the time of CPU 0-1 (pid 3; pid 4) (2 of 2 runs)",
    ];
    assert_eq!(remarks[..3], all, "{text}");
    let kernel = "! native, guest: nothing was measured inside the kernel (skipped: needs the kernel module";
    assert_eq!(remarks.iter().filter(|remark| remark.starts_with(kernel)).count(), 1, "{text}");
    assert_eq!(text.matches("nothing was measured inside").count(), 1, "{text}");
}

/// A run in which cases of two groups take this many times as long, and one was skipped.
fn grouped(name: &str, [calls, files]: [f64; 2], skipped: Option<&str>) -> Run {
    let mut run = Run { name: name.into(), ..synthetic::empty() };
    let cases = [("syscall.null", 100.0 * calls), ("file.create", 2000.0 * files), ("syscall.getpid", 90.0 * calls)];
    for (id, value) in cases {
        run.probes.push(synthetic::probe(id, ("x", "x"), Unit::Nanoseconds, ("X", "X"), &[]));
        run.cases.push(case(id, Outcome::Measured(Box::new(synthetic::measured(value, 0.002)))));
    }
    for id in ["syscall.stat", "syscall.open"] {
        let measured = || Outcome::Measured(Box::new(synthetic::measured(500.0, 0.002)));
        let outcome = skipped
            .map_or_else(measured, |reason| Outcome::Skipped { reason: ReasonCode::NotApplicable.because(reason) });
        run.cases.push(case(id, outcome));
    }
    run
}

#[test]
fn the_group_that_pays_most_comes_first_under_a_head_with_its_median() {
    let text = view(&[grouped("native", [1.0, 1.0], None), grouped("guest", [1.2, 3.0], Some("no time left"))]);
    let all = rows(&text, "Every case that was measured in several environments");
    let starts: Vec<&str> = all.iter().map(|row| row.split("  ").find(|part| !part.is_empty()).unwrap()).collect();
    let file = "file: median of its cases, in time: guest +200.00 %";
    let calls = "syscall: median of its cases, in time: guest +20.00 %";
    assert_eq!(starts, [file, "file.create", calls, "syscall.null", "syscall.getpid"], "{text}");
    // Heads are lines of their own, and values stand in one column below each other.
    let ends: Vec<usize> = all
        .iter()
        .filter(|row| row.starts_with(' '))
        .map(|row| row.chars().position(|one| one == '%').unwrap())
        .collect();
    assert!(ends.len() == 3 && ends.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
}

#[test]
fn a_reason_stands_once_below_its_table_with_its_cases_and_makes_no_column_wide() {
    let reason = "the program cannot be executed here: execve: No such file or directory (os error 2)";
    let runs = [
        grouped("native", [1.0, 1.0], None),
        grouped("guest", [1.2, 3.0], Some(reason)),
        grouped("other", [1.0, 1.0], None),
    ];
    let text = view(&runs);
    let all = rows(&text, "Every case that was measured in several environments");
    let row = all.iter().find(|row| row.trim_start().starts_with("syscall.stat")).unwrap();
    assert!(row.contains(" skipped  ") && row.chars().count() < 100, "{row}");
    assert_eq!(all.last(), Some(&format!("guest, skipped: {reason} (syscall.stat, syscall.open)").as_str()), "{text}");
    assert_eq!(text.matches(reason).count(), 1, "{text}");
    for name in ["markdown", "html"] {
        let shown = format_named(name).unwrap().render(&runs, &RenderOptions::default()).unwrap();
        assert!(shown.contains("guest, skipped: the program cannot be executed here"), "{name}: {shown}");
        assert!(shown.contains("median of its cases, in time: guest"), "{name}");
    }
}
