//! What `hostmark explain` says of the names on the first screen.

use hostmark_analysis::constants::LINES;

use crate::support::{Home, in_process};

fn hostmark(arguments: &[&str]) -> (i32, String, String) {
    in_process(&Home::new().hostmark(arguments))
}

#[test]
fn explain_knows_every_name_that_the_first_screen_prints() {
    for (name, page) in [
        ("memory latency", "memory.hierarchy"),
        ("DRAM", "memory.hierarchy"),
        ("read by one core", "memory.hierarchy"),
        ("STREAM triad by all", "memory.stream"),
        ("clock_gettime", "clock.read"),
        ("读时钟（clock_gettime）", "clock.read"),
        ("null call", "syscall.null"),
        ("context switch", "sched.context_switch"),
        ("上下文切换", "sched.context_switch"),
        ("fork + exec", "process.fork_exec"),
        ("across CPUs", "ipc.round_trip"),
        ("append + fdatasync", "disk.fsync"),
        ("trust", "large differences only"),
        ("可信度", "large differences only"),
        ("quiet", "undisturbed"),
        ("typical", "what a program got"),
        ("usual for its kind", "eight of ten cloud servers"),
        ("as usual", "eight of ten cloud servers"),
        ("unsteady", "25 %"),
        // Groups stay groups.
        ("disk", "disk.read"),
    ] {
        let (code, out, errors) = hostmark(&["explain", name]);
        assert_eq!((code, errors.as_str()), (0, ""), "{name}");
        assert!(out.contains(page), "{name}: {out}");
    }
    for line in LINES {
        let rows = line.constants.iter().map(|constant| constant.row).chain(line.pairs.iter().copied());
        for name in rows.flat_map(|row| [row.en, row.zh]) {
            let (code, out, errors) = hostmark(&["explain", name]);
            assert!(code == 0 && errors.is_empty() && out.contains("What is executed"), "{name}: {errors}{out}");
        }
    }
    let (code, out, _) = hostmark(&["explain", "TRUST", "DRAM"]);
    assert!(code == 0 && out.contains("nine of ten") && out.contains("memory.hierarchy"), "{out}");
}
