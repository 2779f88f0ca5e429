//! What else stands on the data path: its table, the finding, and the way of taking turns that a forecast takes for TCP.

use hostmark_analysis::findings::findings;
use hostmark_model::{CaseId, EACH_POINT, Estimate, Flag, FlagKind, HostFacts, Run};
use hostmark_present::export::format_named;
use hostmark_present::tables::table_named;

use super::made::{Busy, case_of, one_cpu, run_of, two_cpus, value};
use super::{change, en, expected, remove, row, section};

#[test]
fn the_table_asks_for_every_path_on_every_number_of_cpus() {
    let cells = table_named("data-path").unwrap().cells(&HostFacts::default(), 0);
    let paths: std::collections::BTreeSet<&str> = cells.iter().filter_map(|cell| cell.params.get("path")).collect();
    let on = |cpus: &str| cells.iter().filter(|cell| cell.params.get("cpus") == Some(cpus)).count();
    assert_eq!((cells.len(), paths.len()), (41, 21));
    let (disk, cells): (Vec<&CaseId>, Vec<&CaseId>) = cells.iter().partition(|cell| cell.probe == "disk.read");
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
