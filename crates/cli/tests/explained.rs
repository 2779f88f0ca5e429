//! What `explain` and `list` find: everything that a screen, lmbench or a finding calls by a name, and the field's own words.

use hostmark_analysis::findings::RULES;
use hostmark_analysis::findings::host::HOST_RULES;
use hostmark_analysis::lmbench::{PROGRAMS, TABLES, probes_of_column};

use crate::help::hostmark;

/// Words that the field uses, and what is found first.
const WORDS: &[(&str, &str)] = &[
    ("STREAM", "memory.stream"),
    ("triad", "memory.stream"),
    ("fsync", "disk.fsync"),
    ("steal", "run.steal"),
    ("huge pages", "huge-pages"),
    ("THP", "thp"),
    ("大页", "huge-pages"),
    ("throttling", "run.cpu_quota"),
    ("quota", "run.cpu_quota"),
    ("noisy neighbour", "run.neighbours"),
    ("p99", "disk.fsync"),
    ("IOPS", "disk.read"),
    ("numa", "memory.numa_latency"),
    ("mitigations", "syscall.mitigations"),
    ("spectre", "syscall.mitigations"),
    ("jitter", "sched.noise"),
    ("超售", "run.steal"),
    ("bufferbloat", "net.bufferbloat"),
    ("governor", "governor"),
    ("swap", "paging.swap"),
    ("io_uring", "file.io_uring"),
    ("prefetch", "memory.prefetch"),
    ("页表", "memory.page_walk"),
    ("FINDINGS", "FINDINGS"),
    ("Scaling", "cpu.scaling"),
    ("Core to core", "cpu.core_to_core"),
    ("TCP RTT", "net.tcp"),
];

/// What is opened, or listed first, under a name.
fn first(name: &str) -> (String, String) {
    let (code, out, errors) = hostmark(&["explain", name]);
    assert_eq!((code, errors.as_str()), (0, ""), "{name}");
    let is_list = ["Best matches", "“"].iter().any(|start| out.starts_with(start));
    let line = out.lines().nth(usize::from(is_list)).unwrap_or_default();
    (line.trim_start().split("  ").next().unwrap_or_default().to_owned(), out)
}

#[test]
fn the_fields_words_are_found_and_the_best_match_comes_first() {
    let wrong: Vec<String> = WORDS
        .iter()
        .filter_map(|(word, wanted)| {
            let (found, out) = first(word);
            (found != *wanted).then(|| format!("{word}: {found}, not {wanted}\n{out}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_column_and_program_of_lmbench_is_found() {
    for head in TABLES.iter().flat_map(|table| table.columns).flat_map(|column| [column.head.en, column.head.zh]) {
        let (found, out) = first(&head.replace('\n', " "));
        let probes = probes_of_column(head);
        assert!(probes.is_empty() || probes.contains(&found.as_str()), "{head}: {out}");
    }
    let of_catalogue = PROGRAMS.iter().filter(|program| hostmark(&["list", program]).0 == 0);
    assert!(of_catalogue.count() > 35);
}

#[test]
fn every_finding_has_a_page() {
    for id in RULES.iter().map(|rule| rule.id).chain(HOST_RULES.iter().map(|rule| rule.id)) {
        assert_eq!(first(id).0, id);
    }
}

#[test]
fn a_list_has_what_is_found_and_what_is_nowhere_is_refused() {
    let (code, out, errors) = hostmark(&["list", "fsync"]);
    assert!(code == 0 && errors.is_empty() && out.contains("disk.fsync  "), "{errors}{out}");
    let (_, json, _) = hostmark(&["list", "steal", "--format", "json"]);
    let probes: Vec<hostmark_model::ProbeInfo> = serde_json::from_str(&json).unwrap();
    assert_eq!(probes.first().map(|probe| probe.id.as_str()), Some("virt.steal"));
    for (command, name) in [("explain", "nosuch"), ("list", "nosuch"), ("explain", "disk.fsynk"), ("run", "fsync")] {
        let (code, out, errors) = hostmark(&[command, name]);
        assert!(code == 4 && out.is_empty() && errors.contains("no probe is called"), "{command} {name}: {errors}");
    }
}
