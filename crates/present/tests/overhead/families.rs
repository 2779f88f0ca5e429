//! The decomposition of every family: rates turned into times, interrupts, disks, and what environments are called.

use hostmark_model::*;
use hostmark_present::RenderOptions;
use hostmark_present::export::overhead_over;

use super::{cycles, named, percentages, reference, rows, view};
use crate::synthetic::{case, estimate, measured, probe};

const SECTION: (&str, &str) = ("Core", "核心");
const MEMORY: &str = "size=67108864";

fn probes() -> Vec<ProbeInfo> {
    use AxisKind::{Choice, Copies, Size, Threads};
    let bind = ("bind", Choice, "none");
    let irq = ("irq", Choice, "on");
    let op = ("op", Choice, "read");
    let size = ("size", Size, "67108864");
    let (sieve, access) = (("sieve", "筛"), ("access", "访问"));
    let user: &[_] = &[("threads", Threads, "1"), ("copies", Copies, "1"), ("bind", Choice, "cpu")];
    let loads: &[_] = &[op, size, ("within", Choice, "all"), ("page", Choice, "pmd"), ("bind", Choice, "cpu")];
    let mut all = vec![
        probe("cpu.sieve", sieve, Unit::OperationsPerSecond, SECTION, user),
        probe("cpu.kernel_sieve", sieve, Unit::OperationsPerSecond, SECTION, &[bind, irq]),
        probe("memory.random_access", access, Unit::Nanoseconds, SECTION, loads),
        probe("memory.kernel_random_access", access, Unit::Nanoseconds, SECTION, &[op, size, bind, irq]),
    ];
    // Probes count their revisions apart.
    all[2].revision = 3;
    all
}

fn at(id: &str, median: f64) -> CaseRecord {
    let mut measured = measured(median, 0.01);
    measured.estimate = estimate(median, 0.01);
    case(id, Outcome::Measured(Box::new(measured)))
}

/// A sieve and memory accesses on both sides, with cases that are no part of the decomposition.
fn run(name: &str) -> Run {
    let mut cases = vec![at("cpu.sieve@threads=1,copies=1,bind=cpu", 905.0)];
    cases.push(at("cpu.sieve@threads=2,copies=1,bind=cpu", 1800.0));
    for (bind, rate) in [("none", 900.0), ("0", 800.0), ("last", 880.0)] {
        cases.push(at(&format!("cpu.sieve@threads=1,copies=1,bind={bind}"), rate));
    }
    for (bind, on, off) in [("none", 950.0, 1000.0), ("last", 960.0, 980.0)] {
        cases.push(at(&format!("cpu.kernel_sieve@bind={bind},irq=on"), on));
        cases.push(at(&format!("cpu.kernel_sieve@bind={bind},irq=off"), off));
    }
    for (op, ns) in [("read", 20.0), ("write", 30.0)] {
        let user = |size: &str, page: &str, bind: &str| {
            format!("memory.random_access@op={op},{size},within=all,page={page},bind={bind}")
        };
        cases.push(at(&user("size=1048576", "base", "none"), 1.0));
        cases.push(at(&user(MEMORY, "pmd", "none"), 2.0));
        cases.push(at(&user(MEMORY, "base", "none"), ns * 1.1));
        let kernel = |irq: &str| format!("memory.kernel_random_access@op={op},{MEMORY},bind=none,irq={irq}");
        cases.push(at(&kernel("on"), ns * 1.02));
        cases.push(at(&kernel("off"), ns));
    }
    named(name, probes(), cases)
}

#[test]
fn rates_are_taken_apart_as_the_time_of_an_operation_over_the_kernel_without_interrupts() {
    let view = view(&[run("native")]);
    let title = "OS overhead: native, in user space, over native, inside the kernel, bind=none irq=off, in the time of an \
                 operation";
    let user = rows(&view, title);
    // 1000 a second over 900, 800 and 880; what the plan chose and what two threads do is no part.
    assert_eq!(percentages(user[0]), [11.11, 25.0, 13.64]);
    assert_eq!(percentages(rows(&view, "Kernel overhead: native")[0]), [5.26, 0.0, 4.17, 2.04]);
    let values = rows(&view, "native, inside the kernel: medians of 1 run");
    assert!(values[0].contains("950 /s") && values[0].contains("1.00 k/s"), "{values:?}");
}

#[test]
fn interrupts_cost_what_they_add_at_the_same_point() {
    let view = view(&[run("native")]);
    let sieve =
        rows(&view, "Interrupt overhead: native, inside the kernel, irq=on over irq=off, in the time of an operation");
    assert_eq!(percentages(sieve[0]), [5.26, 2.08]);
    let memory: Vec<&str> = view.split("Memory: ").nth(1).unwrap().lines().collect();
    let start = memory.iter().position(|line| line.starts_with("Interrupt overhead")).unwrap();
    assert_eq!(percentages(memory[start + 2]), [2.0]);
    assert!(!memory[start].contains("in the time of"));
}

#[test]
fn memory_pairs_the_same_size_and_base_pages_and_its_revisions_count_apart() {
    let view = view(&[run("native")]);
    let memory = view.split("Memory: ").nth(1).unwrap();
    let user = rows(memory, "OS overhead: native, in user space");
    assert_eq!(percentages(user[0]), [10.0]);
    assert_eq!(percentages(user[1]), [10.0]);
    assert!(rows(memory, "Write/read ratio")[2].contains("1.50"));
    assert!(view.contains("Binding to a CPU costs, native, in user space (CPU): SIEVE bind=0 +12.50 %"), "{view}");
}

#[test]
fn what_is_no_part_of_the_decomposition_stands_among_all_other_cases() {
    let view = view(&[run("native"), run("guest")]);
    let others = rows(&view, "Every case that was measured in several environments");
    for id in ["cpu.sieve@threads=1,copies=1,bind=cpu", "cpu.sieve@threads=2,copies=1,bind=cpu"] {
        assert!(others.iter().any(|row| row.trim_start().starts_with(id)), "{id}: {others:?}");
    }
    assert!(!others.iter().any(|row| row.contains("kernel_sieve")), "{others:?}");
}

#[test]
fn disks_are_compared_past_the_page_cache_in_tables_of_their_own() {
    let [mut native, mut guest] = reference();
    for (run, factor) in [(&mut native, 1.0), (&mut guest, 1.5)] {
        for (op, value) in [("read", 2e9), ("write", 1e9)] {
            run.cases.push(cycles(&format!("file.block@op={op},bind=none,through=direct"), value * factor));
        }
    }
    let view = view(&[native, guest]);
    let direct = view.split("File access past the page cache").nth(1).unwrap().split("Conclusions").next().unwrap();
    let over = rows(direct, "Overhead: guest, in user space, over native, in user space, bind=none");
    assert_eq!((percentages(over[0]), percentages(over[1])), (vec![50.0], vec![50.0]));
    assert!(rows(direct, "Write/read ratio")[1].contains("0.50"));
    // A base over itself tells nothing.
    assert!(!direct.contains("Overhead: native"), "{direct}");
    let cached = view.split("File access past the page cache").next().unwrap();
    assert!(
        !cached.contains("direct") && rows(cached, "native, in user space: medians")[2].contains("22085130"),
        "{cached}"
    );
}

#[test]
fn an_environment_is_called_by_what_its_run_says_of_itself() {
    let title_of = |change: fn(&mut Run)| {
        let [mut native, mut other] = reference();
        other.name = "other".into();
        for run in [&mut native, &mut other] {
            run.host.virtualization.hypervisor = None;
            run.host.boot_id = Some("b".into());
        }
        change(&mut other);
        let text = view(&[native, other]);
        let titles = text.lines().filter(|line| line.contains("overhead: other"));
        titles.map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let guest = title_of(|run| run.host.virtualization.hypervisor = Some("qemu".into()));
    assert_eq!(guest, ["Hypervisor + kernel overhead", "Hypervisor + guest OS overhead"]);
    let layers = ["Container layers + kernel overhead", "Container layers + OS overhead"];
    assert_eq!(title_of(|run| run.host.virtualization.container = Some("podman".into())), layers);
    assert_eq!(title_of(|run| run.host.limits.seccomp = Some("filter".into())), layers);
    assert_eq!(title_of(|run| run.host.limits.cpu_quota = Some(1.0)), layers);
    // Layers that the run was asked to enter.
    let named = [
        "Container layers (namespaces, seccomp) + kernel overhead",
        "Container layers (namespaces, seccomp) + OS overhead",
    ];
    assert_eq!(title_of(|run| drop(run.settings.set.insert("isolate".into(), "namespaces,seccomp".into()))), named);
    assert_eq!(title_of(|_| ()), ["other + kernel overhead", "other + OS overhead"]);
    // Another boot is another machine, or was another day: its limits tell nothing.
    let rebooted = title_of(|run| (run.host.boot_id, run.host.limits.cpu_quota) = (Some("c".into()), Some(1.0)));
    assert_eq!(rebooted, ["other + kernel overhead", "other + OS overhead"]);
}

#[test]
fn without_the_kernel_module_the_reason_is_said_once_and_user_space_stands_over_itself() {
    let mut run = run("native");
    let reason = "needs the kernel module hostmark, which is not loaded: build it in kmod/ and load it with insmod";
    for case in run.cases.iter_mut().filter(|case| case.probe.contains(".kernel_")) {
        case.outcome = Outcome::Skipped { reason: ReasonCode::NotApplicable.because(reason) };
    }
    let text = view(&[run]);
    assert_eq!(text.matches(reason).count(), 1, "{text}");
    assert!(text.starts_with("! native: nothing was measured inside the kernel"), "{text}");
    assert_eq!(
        percentages(rows(&text, "Overhead: native, in user space, over native, in user space, bind=none")[0]),
        [0.0, 12.5, 2.27]
    );
}

#[test]
fn a_long_reason_stands_below_its_table() {
    let [mut native, _] = reference();
    let reason = "file I/O waits for interrupts of the disk, which are off";
    native.cases.push(case(
        "file.kernel_block@op=read,bind=none,irq=off",
        Outcome::Skipped { reason: ReasonCode::NotApplicable.because(reason) },
    ));
    let text = view(&[native]);
    let values = rows(&text, "native, inside the kernel: medians of 1 run");
    assert!(values[0].ends_with("–(1)") && values.contains(&format!("(1) skipped: {reason}").as_str()), "{values:?}");
    assert!(!rows(&text, "Kernel overhead")[0].contains('('), "{text}");
}

#[test]
fn intervals_are_shown_where_all_is_asked_for() {
    let shown = |verbose: bool| {
        let options = RenderOptions { verbose, width: 200, ..RenderOptions::default() };
        overhead_over(&[run("native")], None, &options).unwrap()
    };
    let (plain, all) = (shown(false), shown(true));
    // Of one run what its rounds tell: medians with a deviation of 0.79 % have errors of 0.44 %, and both sides 1.96 times 0.63 %.
    assert!(all.contains("+11.11 % (+9.75 % … +12.48 %)"), "{all}");
    assert!(!rows(&plain, "OS overhead")[0].contains('('), "{plain}");
    assert!(rows(&all, "Write/read ratio")[0].contains("1.50 ("), "{all}");
}
