//! Several runs of a machine and of a guest on it: the layers side by side, the machine held against itself, what may be
//! compared, and what is told of the guest.

use std::collections::BTreeMap;

use hostmark_present::export::overhead_over;

use super::{percentages, reference, rows, view};
use crate::prelude::*;
use crate::synthetic::estimate;

/// A guest of two CPUs and 4 GiB.
pub fn guest(accel: &str) -> Guest {
    Guest {
        accel: accel.into(),
        vmm: "QEMU emulator version 7.2.22".into(),
        machine: "pc-q35-7.2".into(),
        cpu: "max".into(),
        cpus: 2,
        nodes: 1,
        memory: 4 << 30,
        backing: "base".into(),
        pinned: vec![2, 3],
        disk: None,
        net: None,
        channel: "serial".into(),
        command: vec!["qemu-system-x86_64".into(), "-accel".into(), accel.into()],
        append: "console=ttyS0".into(),
        digests: BTreeMap::new(),
        boot_ns: 4_000_000_000,
        host: BTreeMap::new(),
        exits: BTreeMap::new(),
        idle_cpus: None,
    }
}

/// A run under another name, begun in this turn, all of whose values are multiplied.
fn turn(run: &Run, name: &str, turn: usize, factor: f64) -> Run {
    let mut run = Run { name: name.into(), started: format!("2026-11-23T12:0{turn}:00Z"), ..run.clone() };
    for measured in run.cases.iter_mut().filter_map(CaseRecord::measured_mut) {
        measured.estimate = estimate(measured.estimate.typical * factor, 0.001);
    }
    run
}

/// Four turns of the report's machine and of its guest, and of the machine with all that it has. The native runs of odd turns
/// are slower by this fraction.
fn turns(odd: f64) -> Vec<Run> {
    let [native, other] = reference();
    (0..4)
        .flat_map(|at| {
            let factor = if at % 2 == 1 { 1.0 + odd } else { 1.0 };
            let free = turn(&native, "native-free", at, 0.9);
            [free, turn(&native, "native", at, factor), turn(&other, "guest", at, 1.0)]
        })
        .collect()
}

#[test]
fn the_four_columns_stand_beside_each_other_and_each_layer_over_the_one_below() {
    let view = view(&reference());
    let head = |title: &str| view.lines().skip_while(|line| !line.starts_with(title)).nth(1).unwrap().to_owned();
    let columns = ["native user", "native kernel", "guest kernel", "guest user"];
    let found: Vec<usize> = columns.iter().map(|column| head("Side by side").find(column).unwrap()).collect();
    assert!(found.is_sorted(), "{view}");
    let layers = rows(&view, "What each layer adds");
    let over = |one: f64, other: f64| ((one / other - 1.0) * 1e4).round() / 100.0;
    let [native_kernel, native_user, guest_kernel, guest_user] = [7_010_696.0, 21_326_624.6, 7_966_626.0, 23_469_545.4];
    let steps = [
        ("OS: native user / native kernel", over(native_user, native_kernel)),
        ("hypervisor: guest kernel / native kernel", over(guest_kernel, native_kernel)),
        ("hypervisor: guest user / native user", over(guest_user, native_user)),
        ("OS: guest user / guest kernel", over(guest_user, guest_kernel)),
    ];
    assert_eq!(layers.len(), steps.len(), "{view}");
    for (row, (label, read)) in layers.iter().zip(steps) {
        assert!(row.trim_start().starts_with(label) && percentages(row)[0] == read, "{read}: {row}");
    }
    // Inside the kernel CPU 0 was not measured; from user space it was.
    let writes = rows(&view, "What each layer adds, in the time of an operation: WRITE");
    for (rows, user) in [(&layers, over(25_027_264.2, 21_950_394.2)), (&writes, over(45_046_073.0, 41_857_672.2))] {
        assert!(percentages(rows[2]).contains(&user), "{view}");
        assert_eq!(rows.iter().map(|row| percentages(row).len()).collect::<Vec<_>>(), [2, 2, 3, 2], "{view}");
    }
}

#[test]
fn beside_every_percentage_stands_what_the_first_environment_differs_from_itself_by() {
    // The guest's reads from user space, not bound, lie 10 % above native ones.
    let shown = |odd: f64| {
        let text = view(&turns(odd));
        let all = rows(&text, "What each layer adds");
        let row = |label: &str| all.iter().find(|row| row.trim_start().starts_with(label)).unwrap().to_string();
        (row("hypervisor: guest user / native user"), row("A/A: native user"), text)
    };
    let (row, control, text) = shown(0.02);
    assert!(!row.contains("no difference") && percentages(&control) == [2.0; 3], "{text}");
    assert!(rows(&text, "Hypervisor + guest OS overhead: guest").iter().any(|row| row.contains("READ, A/A")), "{text}");
    let (row, control, text) = shown(0.5);
    assert!(row.matches("(no difference)").count() == 3 && percentages(&control) == [50.0; 3], "{text}");
    // The order of the files does not matter.
    let mut shuffled = turns(0.02);
    shuffled.reverse();
    assert!(view(&shuffled).contains("±2.00 %"));
}

#[test]
fn a_machine_held_against_itself_shows_no_difference() {
    let native = synthetic::plausible();
    let same: Vec<Run> =
        (0..4).map(|at| turn(&native, if at % 2 == 0 { "native" } else { "again" }, at, 1.0)).collect();
    let view = view(&same);
    let others = rows(&view, "Every case that was measured in several environments");
    let (cases, heads): (Vec<&str>, Vec<&str>) = others.iter().partition(|row| row.starts_with(' '));
    assert!(cases.len() > 10 && cases.iter().all(|row| row.contains("0.00 % (no difference)")), "{view}");
    assert!(heads.len() > 3 && heads.iter().all(|row| row.ends_with("in time: again 0.00 %")), "{view}");
    let chinese = RenderOptions { lang: Lang::Zh, ..RenderOptions::default() };
    assert!(overhead_over(&same, None, &chinese).unwrap().contains("（无差异）"));
}

/// The row of `syscall.null` where the runs of two sides are so many times as slow as one run.
fn row_of(native: &[f64], other: &[f64]) -> String {
    let run = synthetic::plausible();
    let of = |name: &'static str, factors: &[f64]| -> Vec<Run> {
        factors.iter().enumerate().map(|(at, factor)| turn(&run, name, at, *factor)).collect()
    };
    let text = view(&[of("native", native), of("other", other)].concat());
    text.lines().find(|line| line.trim_start().starts_with("syscall.null@copies=1")).unwrap().to_owned()
}

#[test]
fn two_sides_whose_runs_scatter_as_much_as_they_differ_are_no_difference() {
    let row = row_of(&[1.0, 1.02, 1.03], &[1.025, 1.05, 1.06]);
    assert!(row.contains("+2.94 % (no difference)"), "{row}");
    let row = row_of(&[1.0, 1.02, 1.03], &[1.12, 1.13]);
    assert!(row.contains("+10.29 %") && !row.contains("no difference"), "{row}");
    // Two runs a side that lie apart by chance, as every third pair of equal sides does: 1.96 standard errors.
    let row = row_of(&[1.0, 1.001], &[1.002, 1.012]);
    assert!(row.contains("no difference"), "{row}");
}

#[test]
fn a_great_difference_stands_where_one_run_was_disturbed() {
    // One of two native runs took twice as long; the other side takes 5.4 times as long.
    for (native, other) in [([1.0, 1.97], [8.0, 8.1]), ([1.97, 1.0], [8.1, 8.0]), ([1.0, 1.97], [0.18, 0.185])] {
        let row = row_of(&native, &other);
        assert!(!row.contains("no difference"), "{row}");
    }
    // One of five that reaches into the other side's runs is no proof against the other four.
    let row = row_of(&[1.0, 1.01, 1.0, 1.01, 1.9], &[3.0, 3.05, 1.8, 3.1, 3.0]);
    assert!(row.contains("%") && !row.contains("no difference"), "{row}");
}

#[test]
fn one_run_is_no_control_and_the_view_says_so() {
    let view = view(&reference());
    assert!(view.contains("! native has one run: without a second one no percentage has an A/A control beside it"));
    assert!(!view.contains("A/A:"), "{view}");
    let [native, _] = reference();
    assert!(!super::view(std::slice::from_ref(&native)).contains("A/A"));
}

#[test]
fn what_has_all_of_its_machine_is_a_column_and_never_the_base() {
    let mut runs = turns(0.0);
    for run in runs.iter_mut().filter(|run| run.name == "native-free") {
        run.host.memory.total_bytes = 64 << 30;
    }
    let text = view(&runs);
    assert!(
        text.contains("Kernel overhead with all of the machine: native-free, inside the kernel, over native, inside")
    );
    assert!(!text.contains("over native-free") && !text.contains("hold the first to the size"), "{text}");
    let conclusions = text.split("Conclusions").nth(1).unwrap();
    assert!(!conclusions.contains("native-free") && conclusions.contains("the mean of 4 sides"), "{conclusions}");
}

#[test]
fn a_guest_with_less_memory_is_not_comparable_where_that_matters() {
    let [mut native, mut other] = reference();
    other.guest = Some(Box::new(guest("kvm")));
    // What the guest itself sees is a little less than what it was given.
    other.host.memory.total_bytes = (4 << 30) - (300 << 20);
    native.host.memory.total_bytes = 16 << 30;
    let layers = |native: &Run, other: &Run| {
        let text = view(&[native.clone(), other.clone()]);
        rows(&text, "What each layer adds").join("\n")
    };
    assert!(
        layers(&native, &other).contains("not comparable: memory of 16 GiB and 4 GiB"),
        "{}",
        layers(&native, &other)
    );
    // Inside the guest its own kernel still stands below its own user space.
    assert!(layers(&native, &other).contains("+194.60 %"), "{}", layers(&native, &other));
    native.host.limits.memory_limit_bytes = Some(4 << 30);
    assert!(!layers(&native, &other).contains("not comparable"));
}

#[test]
fn huge_pages_of_a_guest_on_ordinary_ones_are_not_comparable() {
    let mut native = Run { name: "native".into(), ..synthetic::plausible() };
    let id = "memory.latency@size=268435456,page=pmd";
    native.cases.push(synthetic::case(id, Outcome::Measured(Box::new(synthetic::measured(90.0, 0.01)))));
    native.host.memory.total_bytes = 4 << 30;
    let of = |backing: &str| {
        let guest = Guest { backing: backing.into(), ..guest("kvm") };
        let text =
            view(&[native.clone(), Run { name: "guest".into(), guest: Some(Box::new(guest)), ..native.clone() }]);
        let row = text
            .lines()
            .find(|line| line.trim_start().starts_with("memory.latency@size=256M,page=pmd"))
            .unwrap()
            .to_owned();
        // The first cases are named.
        let said = text.lines().find(|line| line.starts_with("guest, not comparable: base pages behind it ("));
        (row, said.is_some_and(|said| said.ends_with(" more)")))
    };
    let (row, is_said) = of("base");
    assert!(row.ends_with("not comparable"), "{row}");
    assert!(is_said, "{row}");
    let (row, is_said) = of("2M");
    assert!(row.ends_with("0.00 % (no difference)") && !is_said, "{row}");
}

/// A guest of which everything is known.
fn whole() -> Guest {
    Guest {
        disk: Some("raw, cache=none, iothread".into()),
        net: Some("tap, virtio-net".into()),
        nodes: 2,
        digests: [("kernel", "0123456789abcdef0123"), ("image", "fedcba98765432100000")]
            .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
            .into(),
        host: [("halt_poll_ns".to_owned(), "200000".to_owned())].into(),
        exits: [("exits", 1000), ("halt_exits", 700), ("io_exits", 200), ("mmio_exits", 0)]
            .map(|(name, count)| (name.to_owned(), count))
            .into(),
        idle_cpus: Some(0.021),
        ..guest("tcg")
    }
}

#[test]
fn a_run_shows_the_virtual_machine_that_it_was_measured_in_wherever_it_is_shown() {
    let run = Run { guest: Some(Box::new(whole())), ..synthetic::plausible() };
    let facts = [
        "tcg, software emulation",
        "QEMU emulator version 7.2.22",
        "pc-q35-7.2",
        "2, 2 memory nodes, pinned to 2 3",
        "4 GiB in base pages",
        "raw, cache=none, iothread",
        "tap, virtio-net",
        "kernel 0123456789ab",
        "halt_poll_ns 200000",
        "halt_exits 70 %, io_exits 20 %",
        "2.1 % of a CPU",
    ];
    const WARNING: &str = "measured under QEMU's software emulation: the figures tell nothing about KVM";
    for name in ["table", "markdown", "html"] {
        let shown = |verbose: bool| {
            let options = RenderOptions { width: 100, verbose, ..RenderOptions::default() };
            let text = format_named(name).unwrap().render_one(&run, &options);
            text.replace("\\_", "_").replace("&#39;", "'").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let (plain, all) = (shown(false), shown(true));
        for fact in facts.iter().chain([&WARNING]) {
            assert!(plain.contains(fact), "{name} lacks {fact}: {plain}");
        }
        assert!(all.contains("qemu-system-x86_64 -accel tcg") && all.contains("0123456789abcdef0123"), "{name}");
        assert!(name == "html" || !plain.contains("qemu-system-x86_64"), "{name}");
        let without = format_named(name).unwrap().render_one(&synthetic::plausible(), &RenderOptions::default());
        assert!(!without.contains("accelerator"), "{name}");
    }
}

#[test]
fn a_comparison_names_what_differs_between_two_virtual_machines() {
    let side = |guest: Guest| Run { guest: Some(Box::new(guest)), ..synthetic::plausible() };
    let (one, other) = (side(guest("kvm")), side(Guest { backing: "2M".into(), ..whole() }));
    let pool = |run| Pool { name: "x", runs: std::slice::from_ref(run) };
    let compared = Comparison::of(pool(&one), &[pool(&other)], &History::default(), SAME);
    let differs: Vec<&str> = compared.new[0].differs.iter().map(|difference| difference.key.as_str()).collect();
    for key in
        ["guest.accel", "guest.backing", "guest.nodes", "guest.disk", "guest.host.halt_poll_ns", "guest.digests.kernel"]
    {
        assert!(differs.contains(&key), "{key}: {differs:?}");
    }
    assert!(!differs.contains(&"guest.cpus") && !differs.iter().any(|key| key.contains("exits")), "{differs:?}");
}

#[test]
fn markdown_of_several_runs_is_the_view_and_no_name_becomes_markup() {
    let mut runs = turns(0.02);
    for run in runs.iter_mut().filter(|run| run.name == "guest") {
        run.name = "gu|est `x` <b>\n# head".into();
    }
    let text = format_named("markdown").unwrap().render(&runs, &RenderOptions::default()).unwrap();
    for part in ["# What each layer costs", "**Environments**", "**Side by side**", "## Conclusions", "- **so here** "]
    {
        assert!(text.lines().any(|line| line.starts_with(part)), "{part}: {text}");
    }
    assert!(!text.contains("<b>") && !text.contains("\n# head"), "{text}");
    crate::hostile::steers_nothing("markdown", &text);
    let [native, _] = reference();
    let one = format_named("markdown").unwrap().render(std::slice::from_ref(&native), &RenderOptions::default());
    assert!(one.unwrap().starts_with("# native"));
}

#[test]
fn the_page_of_environments_shows_the_view_with_its_bars_and_one_side_for_each() {
    let shown = |runs: &[Run]| format_named("html").unwrap().render(runs, &RenderOptions::default()).unwrap();
    let mut runs = super::sides("4", super::NATIVE.map(|rate| rate * 0.9));
    runs.swap(1, 7);
    let page = shown(&runs);
    assert!(page.contains("<section id=\"layers\">") && page.contains("href=\"#layers\""));
    assert_eq!(page.matches("<svg class=\"chart bars\"").count(), 2);
    assert!(page.contains("Copy · guest") && page.contains("<title>41566.9, 90.00 % (85."), "{page}");
    // Ten runs are two sides.
    assert!(page.contains("A–E native") && page.contains("F–J guest") && !page.contains("B native"));
    // Runs that are no environments are held against each other alone.
    let [mut native, mut other] = reference();
    (native.name, other.name) = ("before".into(), "after".into());
    let page = shown(&[native, other]);
    assert!(!page.contains("id=\"layers\"") && page.contains("A before"));
}

/// Cases of several groups with their values, ns; STREAM's are rates.
fn costs(name: &str, values: &[(&str, f64)]) -> Run {
    let mut run = Run { name: name.into(), ..synthetic::empty() };
    for (id, value) in values {
        let case = synthetic::case(id, Outcome::Measured(Box::new(synthetic::measured(*value, 0.002))));
        if run.probes.iter().all(|probe| probe.id != case.probe) {
            let unit = if case.probe == "memory.stream" { Unit::BytesPerSecond } else { Unit::Nanoseconds };
            run.probes.push(synthetic::probe(&case.probe, ("x", "x"), unit, ("X", "X"), &[]));
        }
        run.cases.push(case);
    }
    run
}

const COSTS: [(&str, f64); 8] = [
    ("syscall.null@copies=1", 100.0),
    ("syscall.getpid", 90.0),
    ("clock.sleep@way=nanosleep,delay_us=100", 50_000.0),
    ("sched.ipi@threads=2", 2000.0),
    ("paging.fault@kind=anonymous", 500.0),
    ("memory.latency@size=32768,pattern=random,page=base", 1.5),
    ("memory.latency@size=268435456,pattern=random,page=base", 100.0),
    ("memory.stream@kernel=add,threads=all", 20e9),
];

/// What is concluded of a guest in which each of these takes so many times as long.
fn concluded(factors: [f64; 8], guest: Guest) -> Vec<(String, String)> {
    let native = costs("native", &COSTS);
    let slower: Vec<(&str, f64)> = COSTS
        .iter()
        .zip(factors)
        .map(|((id, value), factor)| (*id, if id.contains("stream") { value / factor } else { value * factor }))
        .collect();
    let other = Run { guest: Some(Box::new(guest)), ..costs("guest", &slower) };
    super::conclusions::conclusions(&[native, other])
}

#[track_caller]
fn conclusion<'a>(all: &'a [(String, String)], claim: &str) -> &'a (String, String) {
    all.iter().find(|(_, text)| text.starts_with(claim)).unwrap_or_else(|| panic!("{claim}: {all:#?}"))
}

const TIMERS: &str = "Timers lose more than calls that stay in the guest";
const INTERRUPTS: &str = "Interrupts between CPUs lose more";
const FAULTS: &str = "Page faults lose more";
const PAGING: &str = "Nested paging costs: loads that miss the TLB lose more than loads that hit, guest";
const STREAM: &str = "STREAM keeps at least 94.72 % of native";

#[test]
fn the_most_expensive_group_is_named_with_its_causes_and_each_figure() {
    let all = concluded([1.01, 1.01, 1.8, 3.0, 1.5, 1.0, 1.3, 1.04], guest("kvm"));
    let (verdict, text) = conclusion(&all, "The hypervisor costs most in sched, guest:");
    assert!(verdict == "so here" && text.contains("sched +200.00 % (+176.05 … +226.02) of 1 case"), "{text}");
    assert!(text.contains("times the next, clock +80.00 %") && text.contains("in sched.ipi@threads=2"), "{text}");
    for (claim, figure) in [
        (TIMERS, "+80.00 %"),
        (INTERRUPTS, "+200.00 %"),
        (FAULTS, "+50.00 %"),
        (PAGING, "memory.latency 256 MiB +30.00 %"),
        (STREAM, "add 0.9615"),
    ] {
        let (verdict, text) = conclusion(&all, claim);
        assert!(verdict == "so here" && text.contains(figure), "{claim}: {text}");
    }
    // A guest that costs nothing has no such group, and what is no dearer is not so.
    let all = concluded([1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 0.8, 1.2], guest("kvm"));
    assert_eq!(conclusion(&all, "The hypervisor costs most in").0, "cannot be told");
    assert_eq!([TIMERS, PAGING, STREAM].map(|claim| conclusion(&all, claim).0.as_str()), ["not so here"; 3]);
    assert_eq!([INTERRUPTS, FAULTS].map(|claim| conclusion(&all, claim).0.as_str()), ["cannot be told"; 2]);
}

#[test]
fn an_emulated_guest_has_neither_exits_nor_nested_paging() {
    let all = concluded([5.0, 5.0, 9.0, 8.0, 7.0, 6.0, 2.0, 9.0], whole());
    assert_eq!(conclusion(&all, "QEMU's emulation costs most in clock").0, "so here");
    let of_hardware = [TIMERS, INTERRUPTS, FAULTS, PAGING, STREAM, "Most exits"];
    assert!(all.iter().all(|(_, text)| !of_hardware.iter().any(|claim| text.starts_with(claim))), "{all:#?}");
}

#[test]
fn exits_are_reported_by_reason_and_nothing_that_is_none_counts() {
    let exits = [("exits", 1000), ("halt_exits", 700), ("io_exits", 200), ("halt_successful_poll", 900)];
    let exits = exits.map(|(name, count)| (name.to_owned(), count)).into();
    let all = concluded([1.1; 8], Guest { exits, ..guest("kvm") });
    let (verdict, text) = conclusion(&all, "Most exits are halt_exits");
    assert!(
        verdict == "so here"
            && text.contains("1000 exits in 1 run")
            && text.ends_with("halt_exits 70 %, io_exits 20 %")
    );
    assert!(!concluded([1.1; 8], guest("kvm")).iter().any(|(_, text)| text.contains("exits in")));
}

#[test]
fn what_was_disturbed_is_no_cause() {
    let native = costs("native", &COSTS);
    let mut other = costs("guest", &COSTS.map(|(id, value)| (id, value * 2.0)));
    other.guest = Some(Box::new(guest("kvm")));
    for case in other.cases.iter_mut().filter(|case| case.probe == "clock.sleep") {
        case.measured_mut().unwrap().flags.push(Flag::new(FlagKind::Contended, "x"));
    }
    let all = super::conclusions::conclusions(&[native, other]);
    assert!(!all.iter().any(|(_, text)| text.starts_with(TIMERS) || text.contains("clock")), "{all:#?}");
}
