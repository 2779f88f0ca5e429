//! Data paths made for tests, and the table, the finding and the page by their names.

use hostmark_analysis::format;
use hostmark_present::tables::table_named;

use super::{change, en, expected, remove, row, section};

use crate::prelude::*;

#[test]
fn the_table_asks_for_every_path_on_every_number_of_cpus() {
    let cells = table_named("data-path").unwrap().cells(&HostFacts::default(), 0);
    let paths: std::collections::BTreeSet<&str> = cells.iter().filter_map(|cell| cell.params.get("path")).collect();
    let on = |cpus: &str| cells.iter().filter(|cell| cell.params.get("cpus") == Some(cpus)).count();
    assert_eq!((cells.len(), paths.len()), (41, 21));
    let (disk, cells): (Vec<&CaseId>, Vec<&CaseId>) = cells.iter().partition(|cell| cell.probe == "disk.direct_io");
    assert_eq!(disk[0].params.get("pattern"), Some("sequential"));
    assert_eq!([on(EACH_POINT), on("2"), on("1")], [19, 19, 2]);
    let of_turns = |cell: &&CaseId| {
        cell.params.get("path").is_some_and(|path| path.ends_with("_close") || path.ends_with("_behind"))
    };
    assert!(
        cells
            .iter()
            .all(|cell| cell.probe == "net.data_path" && of_turns(cell) == (cell.params.get("cpus") == Some("1")))
    );
}

#[test]
fn the_finding_compares_a_pipeline_with_tcp_of_the_same_setting() {
    let of = |run: &Run| -> Vec<(f64, Vec<String>, String)> {
        let all =
            findings(run).into_iter().map(crate::synthetic::sound).filter(|finding| finding.id == "net.data_path");
        all.map(|finding| (finding.cost, finding.cases, finding.text.en)).collect()
    };
    let mut run = one_cpu();
    run.cases.extend(two_cpus().cases);
    let found = of(&run);
    assert_eq!(found.len(), 2, "{found:?}");
    let (cost, cases, text) = found.iter().find(|(.., text)| text.starts_with("On 1 CPU")).unwrap();
    assert!((cost - (1.0 - 2.0 / 3.125)).abs() < 1e-9, "{cost}");
    assert_eq!(cases.len(), 2);
    assert!(cases[0].contains("zero_pipe_socket_null,cpus=1") && cases[1].contains("memory_socket_memory,cpus=1"));
    assert!(text.contains("3 nc -l is the slowest process"), "{text}");
    // One of them in another setting is no pair, nor is one that cannot be believed.
    let mut apart =
        run_of(one_cpu().cases.into_iter().filter(|case| case.id.contains("zero_pipe_socket_null")).collect());
    apart.cases.extend(two_cpus().cases.into_iter().filter(|case| case.id.contains("=memory_socket_memory,")));
    assert_eq!(apart.cases.len(), 2);
    assert_eq!(of(&apart), []);
    for path in ["memory_socket_memory", "zero_pipe_socket_null"] {
        let mut doubted = one_cpu();
        let flag = Flag::new(FlagKind::Implausible, "too fast");
        change(&mut doubted, path, |measured| measured.flags.push(flag));
        assert_eq!(of(&doubted), [], "{path}");
    }
    // Where the intervals overlap nothing is proven lost.
    let mut wide = one_cpu();
    change(&mut wide, "zero_pipe_socket_null", |measured| {
        measured.estimate = Estimate { ci_high: Some(3.2e9), ..measured.estimate.clone() };
    });
    assert_eq!(of(&wide)[0].0, 0.0);
}

#[test]
fn who_polls_as_nc_does_has_its_name_and_learns_what_no_poll_gives() {
    let mut run = one_cpu();
    let poll = "zero>pipe copy; pipe>socket poll; socket>null poll";
    run.cases.push(case_of("zero_pipe_poll_socket_poll_null", 1, 1.25e9, poll, &[Busy::kernel(0.3); 3]));
    let text = en(&run);
    let head = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(head.contains("1.25 GB/s through dd | nc → nc -l > /dev/null, 2.60 GB/s through nc < file"), "{head}");
    let of_nc = section(&text, "zero_pipe_poll_socket_poll_null");
    assert!(of_nc.contains("/dev/zero => [1]* => pipe => [2] => TCP => [3] -> /dev/null"), "{of_nc}");
    assert!(of_nc.contains("blocks of 64 KiB without poll (zero_pipe_socket_null) 2.00 GB/s (×1.60)"), "{of_nc}");
    assert!(!of_nc.contains("a process less"), "{of_nc}");
    assert_eq!(expected(&text, "zero_pipe_poll_socket_poll_null")[1], "no model for its calls");
    // It gives nobody anything who does not poll.
    assert!(!section(&text, "zero_pipe_socket_null").contains("without poll"), "{text}");
}

#[test]
fn page_and_markdown_draw_the_pipelines_as_the_text_does() {
    let run = one_cpu();
    let none = Run { cases: Vec::new(), ..run.clone() };
    let drawn = "/dev/zero => [1] => pipe => [2] => TCP => [3]* -> /dev/null";
    let options = hostmark_present::RenderOptions::default();
    for (format, line) in [("markdown", format!("\n      {drawn}\n")), ("html", drawn.replace('>', "&gt;"))] {
        let shown = |run: &Run| format_named(format).unwrap().render_one(run, &options);
        assert!(shown(&run).contains(&line), "{}", shown(&run));
        assert!(!shown(&none).contains("[1] =") && !shown(&none).contains("data-path"), "{}", shown(&none));
    }
}

#[test]
fn between_two_pipes_the_slower_way_of_tcp_counts() {
    let rate = |close: f64, behind: f64| {
        let mut run = one_cpu();
        change(&mut run, "memory_socket_memory_close", |measured| measured.estimate.typical = 1e9 / close);
        change(&mut run, "memory_socket_memory_behind", |measured| measured.estimate.typical = 1e9 / behind);
        expected(&en(&run), "zero_pipe_socket_pipe_null")[1].clone()
    };
    assert_eq!(rate(0.25, 0.5), value(1e9 / 0.92));
    assert_eq!(rate(0.25, 0.15), value(1e9 / 0.67));
    for path in ["memory_socket_memory_close", "memory_socket_memory_behind"] {
        let mut run = one_cpu();
        remove(&mut run, path);
        let text = en(&run);
        assert!(row(&text, "Measured and expected", "zero_pipe_socket_pipe_null").contains("–("));
        assert!(text.contains(&format!("not measured or not believed: {path}")), "{text}");
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Busy {
    pub user: f64,
    pub kernel: f64,
    pub read_wait: f64,
    pub write_wait: f64,
    pub run_delay: f64,
    pub switches: f64,
}

impl Busy {
    /// Busy in the kernel for this share, and never waiting.
    pub fn kernel(kernel: f64) -> Busy {
        Busy { user: 0.0, kernel, read_wait: 0.0, write_wait: 0.0, run_delay: 0.0, switches: 1.0 }
    }

    fn waits(self, read_wait: f64, write_wait: f64) -> Busy {
        Busy { read_wait, write_wait, ..self }
    }

    fn delay(self, run_delay: f64) -> Busy {
        Busy { run_delay, ..self }
    }

    fn switches(self, switches: f64) -> Busy {
        Busy { switches, ..self }
    }
}

/// The spread of all values.
const SPREAD: f64 = 0.01;

pub fn value(rate: f64) -> String {
    format::value(rate, Unit::BytesPerSecond, Lang::En)
}

pub fn case_of(path: &str, cpus: usize, rate: f64, stages: &str, busy: &[Busy]) -> CaseRecord {
    let id = format!("net.data_path@path={path},cpus={cpus},block=65536,amount=67108864");
    let mut measured = synthetic::measured(rate, SPREAD);
    measured.estimate = synthetic::estimate(rate, SPREAD);
    measured.notes.insert("stages".into(), stages.into());
    let mut also = |name: String, value: f64| {
        measured.also.insert(name, Also { estimate: synthetic::estimate(value, 0.002) });
    };
    let (mut copied, mut total) = (0.0, 0.0);
    for ((index, busy), stage) in (1..).zip(busy).zip(stages.split("; ")) {
        let (way, method) = stage.split_once(' ').unwrap();
        let (from, to) = way.split_once('>').unwrap();
        let ways = |none: &[&str]| [from, to].iter().filter(|place| !none.contains(place)).count() as f64;
        let copies = if matches!(method, "copy" | "poll") { ways(&["memory", "null"]) } else { 0.0 };
        let crossings = if matches!(method, "copy" | "poll") { ways(&["memory"]) } else { 1.0 };
        for (name, value) in [
            ("user", busy.user),
            ("kernel", busy.kernel),
            ("copies", copies),
            ("crossings", crossings),
            ("read_wait", busy.read_wait),
            ("write_wait", busy.write_wait),
            ("run_delay", busy.run_delay),
            ("switches", busy.switches),
        ] {
            also(format!("stage{index}_{name}"), value);
        }
        (copied, total) = (copied + copies, total + busy.user + busy.kernel);
    }
    also("copies".into(), copied);
    also("busy_cpus".into(), total);
    synthetic::case(&id, Outcome::Measured(Box::new(measured)))
}

pub fn run_of(cases: Vec<CaseRecord>) -> Run {
    let axes: &[_] = &[
        ("path", AxisKind::Choice, "zero_pipe_socket_null"),
        ("cpus", AxisKind::Threads, "1"),
        ("block", AxisKind::Size, "65536"),
        ("amount", AxisKind::Size, "67108864"),
    ];
    let title = ("data path of TCP", "TCP 的数据通路");
    let probes = vec![synthetic::probe("net.data_path", title, Unit::BytesPerSecond, ("Network", "网络"), axes)];
    Run { probes, cases, ..synthetic::empty() }
}

const ZERO_PIPE_SOCKET: &str = "zero>pipe copy; pipe>socket copy; socket>null copy";
const FIVE: &str = "zero>pipe copy; pipe>socket copy; socket>pipe copy; pipe>pipe copy; pipe>null copy";

/// On one CPU a byte takes 0.02 ns from /dev/zero, 0.05 from a file, 0.2 in a pipe, and in TCP 0.32, close 0.25, behind 0.5.
pub fn one_cpu() -> Run {
    let of = |path: &str, rate: f64, stages: &str, busy: &[Busy]| case_of(path, 1, rate, stages, busy);
    let kernel = Busy::kernel;
    let third = |share: f64| kernel(share).waits(0.5, 0.2).delay(0.1).switches(5.0);
    let last = |share: f64| kernel(share).waits(0.5, 0.0).delay(0.4).switches(5.0);
    let pipe = [kernel(0.5).switches(10.0), kernel(0.5).switches(10.0)];
    let socket = [kernel(0.4), kernel(0.6)];
    let tcp = "memory>socket copy; socket>memory copy";
    let three = [third(0.2), third(0.45), last(0.35)];
    let five = [third(0.15), third(0.3), third(0.25), third(0.2), last(0.1)];
    let mut run = run_of(vec![
        of("zero_null", 1e9 / 0.02, "zero>null copy", &[kernel(1.0).switches(0.0)]),
        of("file_null", 1e9 / 0.05, "file>null copy", &[kernel(1.0).switches(0.0)]),
        of("cold_file_null", 0.5e9, "cold_file>null copy", &[kernel(0.05)]),
        of("memory_pipe_memory", 1e9 / 0.2, "memory>pipe copy; pipe>memory copy", &pipe),
        of("memory_socket_memory", 1e9 / 0.32, tcp, &socket),
        of("memory_socket_memory_close", 1e9 / 0.25, tcp, &socket),
        of("memory_socket_memory_behind", 1e9 / 0.5, tcp, &socket),
        of("zero_pipe_socket_null", 2.0e9, ZERO_PIPE_SOCKET, &three),
        of("file_socket_null", 2.6e9, "file>socket copy; socket>null copy", &[third(0.4), last(0.6)]),
        of("cold_file_socket_null", 0.47e9, "cold_file>socket copy; socket>null copy", &[third(0.1), last(0.2)]),
        of("file_pipe_socket_null", 2.0e9, "file>pipe copy; pipe>socket copy; socket>null copy", &three),
        of("memory_socket_pipe_memory", 1.6e9, "memory>socket copy; socket>pipe copy; pipe>memory copy", &three),
        of(
            "zero_pipe_socket_pipe_null",
            1.1e9,
            "zero>pipe copy; pipe>socket copy; socket>pipe copy; pipe>null copy",
            &[third(0.2), third(0.3), third(0.3), last(0.2)],
        ),
        of("zero_pipe_socket_pipe_pipe_null", 0.88e9, FIVE, &five),
        of(
            "zero_pipe_splice_socket_null",
            2.5e9,
            "zero>pipe copy; pipe>socket splice; socket>null copy",
            &[third(0.2), third(0.1).waits(0.2, 0.1), last(0.7)],
        ),
        of("file_sendfile_socket_null", 3.12e9, "file>socket sendfile; socket>null copy", &[third(0.3), last(0.7)]),
        of("memory_zero_copy_socket_memory", 2.9e9, "memory>socket zero_copy; socket>memory copy", &socket),
    ]);
    if let Some(Outcome::Measured(measured)) = run.cases.last_mut().map(|case| &mut case.outcome) {
        measured.notes.insert("zero_copy".into(), "copied".into());
    }
    let disk = "disk.direct_io@op=read,pattern=sequential,block=131072,depth=32";
    run.cases.push(synthetic::case(disk, Outcome::Measured(Box::new(synthetic::measured(0.8e9, SPREAD)))));
    run
}

/// On two CPUs a byte takes 0.02 ns from /dev/zero, 0.4 in a pipe (its writer 0.1 of CPU time, its reader 0.15), and 0.5 in
/// TCP (0.1 and 0.4).
pub fn two_cpus() -> Run {
    let of = |path: &str, rate: f64, stages: &str, busy: &[Busy]| case_of(path, 2, rate, stages, busy);
    let kernel = Busy::kernel;
    let third = |share: f64| kernel(share).waits(0.4, 0.3);
    run_of(vec![
        of("zero_null", 1e9 / 0.02, "zero>null copy", &[kernel(1.0)]),
        of("memory_pipe_memory", 2.5e9, "memory>pipe copy; pipe>memory copy", &[kernel(0.25), kernel(0.375)]),
        of("memory_socket_memory", 2e9, "memory>socket copy; socket>memory copy", &[kernel(0.2), kernel(0.8)]),
        of(
            "zero_pipe_socket_null",
            2.2e9,
            ZERO_PIPE_SOCKET,
            &[kernel(0.3).waits(0.0, 0.7), kernel(0.5).waits(0.3, 0.2), kernel(0.95).waits(0.05, 0.0)],
        ),
        of(
            "zero_pipe_socket_pipe_pipe_null",
            2.5e9,
            FIVE,
            &[third(0.3), third(0.4), third(0.4), third(0.4), third(0.3)],
        ),
    ])
}
