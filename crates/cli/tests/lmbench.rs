//! lmbench's summary beside the catalogue: which probe fills each column, and whether a quick run has its case; lmbench's
//! names as filters.

use std::collections::HashSet;

use hostmark_analysis::lmbench::{CasePoint, PROGRAMS, SummaryColumn, TABLES};
use hostmark_engine::plan::{Plan, Request, pick, plan};
use hostmark_engine::probe::{Entry, entries, find};
use hostmark_model::{CpuFact, HostFacts, MemoryFacts, NodeFact, Profile};
use hostmark_probes::CATALOGUE;

use crate::support::{Home, ended, files};

/// Two CPUs of one core each and room for every buffer.
fn guest() -> HostFacts {
    let cpu =
        |id| CpuFact { id, online: true, allowed: true, core: Some(id), siblings: vec![id], ..CpuFact::default() };
    let memory = 24 << 30;
    let mut host = HostFacts {
        cpus: (0..2).map(cpu).collect(),
        nodes: vec![NodeFact { cpus: vec![0, 1], memory_bytes: memory, distances: vec![10], ..NodeFact::default() }],
        memory: MemoryFacts {
            total_bytes: memory,
            available_bytes: memory,
            page_bytes: 4096,
            pmd_page_bytes: Some(2 << 20),
            ..MemoryFacts::default()
        },
        ..HostFacts::default()
    };
    host.kernel.release = "6.12.0".into();
    host
}

fn quick(filters: &[&str]) -> Plan {
    let filters = filters.iter().map(|filter| (*filter).to_owned()).collect();
    plan(
        CATALOGUE,
        &guest(),
        Request { filters, profile: Profile::Quick, seed: 1, set: Vec::new(), inputs: Default::default() },
    )
    .unwrap()
}

/// Why a quick run has no such case of a probe that there is; none when it has one, or when there is no such probe.
fn lack(plan: &Plan, point: CasePoint) -> Option<String> {
    let entry = find(CATALOGUE, point.probe)?;
    if let Some((axis, _)) = point.at.iter().find(|(axis, _)| entry.probe.axes.iter().all(|known| known.name != *axis))
    {
        return Some(format!("{} has no axis {axis}", point.probe));
    }
    let wanted = point.at.iter().fold(entry.default_params(), |params, (axis, value)| params.with(axis, value));
    let is_planned = plan.cases.iter().any(|case| case.id.probe == point.probe && case.id.params == wanted);
    // The cases of a derived probe follow from its sources.
    let is_derived = plan.derived.iter().any(|entry| entry.id() == point.probe);
    (!is_planned && !is_derived).then(|| format!("a quick run has no {} at {:?}", point.probe, point.at))
}

/// Every column with the cases that it needs; remote ones need a far end, which a run of one host has not.
fn columns() -> impl Iterator<Item = (String, &'static SummaryColumn)> {
    TABLES.iter().flat_map(|table| {
        let name = |column: &SummaryColumn| format!("{}: {}", table.title.en, column.head.en.replace('\n', " "));
        table.columns.iter().map(move |column| (name(column), column))
    })
}

#[test]
fn one_quick_run_has_the_cases_of_every_column() {
    let plan = quick(&[]);
    let local = columns().filter(|(name, _)| !name.starts_with("Remote"));
    let lacking = |(name, column): (String, &SummaryColumn)| {
        let lack = column.ours.points().into_iter().find_map(|point| lack(&plan, point))?;
        Some(format!("{name}: {lack}"))
    };
    let found: Vec<String> = local.filter_map(lacking).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_column_has_a_probe() {
    let without = |(name, column): (String, &SummaryColumn)| {
        let point = column.ours.points().into_iter().find(|point| find(CATALOGUE, point.probe).is_none())?;
        Some(format!("{name}: there is no {}", point.probe))
    };
    let found: Vec<String> = columns().filter_map(without).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_program_of_lmbench_selects_the_probes_that_replace_it_and_no_others() {
    let mut programs: Vec<&str> = entries(CATALOGUE).flat_map(|entry| entry.probe.replaces.iter().copied()).collect();
    programs.sort_unstable();
    programs.dedup();
    assert!(programs.len() > 15, "{programs:?}");
    for program in programs {
        let is_replaced = |entry: &Entry| entry.probe.replaces.contains(&program);
        let wanted: Vec<String> = entries(CATALOGUE).filter(is_replaced).map(|entry| entry.id()).collect();
        let picked: Vec<String> =
            pick(CATALOGUE, &[program.to_owned()]).unwrap().iter().map(hostmark_engine::probe::Entry::id).collect();
        assert_eq!(picked, wanted, "{program}");
    }
}

#[test]
fn a_column_of_the_summary_is_explained_by_its_name_and_is_no_filter() {
    for (_, column) in columns() {
        let head = column.head.en.replace('\n', " ");
        assert!(pick(CATALOGUE, std::slice::from_ref(&head)).is_err(), "{head} is a filter as well");
        for probe in hostmark_analysis::lmbench::probes_of_column(&head) {
            assert!(find(CATALOGUE, probe).is_some(), "{head}: there is no {probe}");
        }
    }
    let (code, page, errors) = ended(&mut Home::new().hostmark(&["explain", "2p/0K ctxsw", "lat_pipe"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(page.contains("sched.context_switch") && page.contains("ipc.round_trip"), "{page}");
}

/// What the handbook for those who know lmbench says.
fn handbook() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from-lmbench.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_handbook_has_every_program_and_every_columns_probe() {
    let text = handbook();
    let code: HashSet<&str> = text.split('`').skip(1).step_by(2).collect();
    let programs = PROGRAMS.iter().filter(|program| !code.contains(**program));
    let probes = columns().flat_map(|(_, column)| column.ours.points()).map(|point| point.probe);
    let is_named = |probe: &&str| code.iter().any(|code| code.split('@').next() == Some(*probe));
    let missing: Vec<&str> = programs.copied().chain(probes.filter(|probe| !is_named(probe))).collect();
    assert!(missing.is_empty(), "docs/coming-from-lmbench.md does not name {missing:?}");
}

/// A result file with one value.
pub const FILE: &str = "[lmbench3.0 results for Linux old-host 2.6.32 #1 SMP x86_64 GNU/Linux]\n\
    Simple syscall: 0.2500 microseconds\n\n[Thu Jan  7 10:30:00 UTC 2010]\n";

#[test]
fn an_imported_file_is_a_run_like_any_other_and_a_bad_one_is_refused_with_its_line() {
    let home = Home::new();
    let file = home.data.path().join("old-host.0");
    std::fs::write(&file, FILE).unwrap();
    let (code, said, errors) = ended(home.hostmark(&["import", "lmbench"]).arg(&file));
    assert_eq!((code, errors.as_str()), (0, ""), "{said}");
    assert!(files(home.scratch.path()).is_empty());
    // The same file again is another run.
    assert_eq!(ended(home.hostmark(&["import", "lmbench"]).arg(&file)).0, 0);
    let (code, runs, _) = ended(&mut home.hostmark(&["runs"]));
    assert_eq!((code, runs.matches("old-host").count() >= 2, runs.matches("imported").count()), (0, true, 2), "{runs}");
    let (code, shown, _) = ended(&mut home.hostmark(&["report", "last", "last-1", "--format", "lmbench"]));
    assert_eq!((code, shown.matches("0.250").count()), (0, 2), "{shown}");
    let (code, _, errors) = ended(&mut home.hostmark(&["report", "last", "last-1", "--format", "json"]));
    assert_eq!(code, 2);
    assert!(errors.contains("--format hosts, html, markdown, lmbench or overhead"), "{errors}");
    std::fs::write(&file, FILE.replace("0.2500", "much")).unwrap();
    let (code, said, errors) = ended(home.hostmark(&["import", "lmbench"]).arg(&file));
    assert_eq!((code, said.as_str()), (2, ""));
    assert!(errors.contains("old-host.0, line 2: 'much' is no number"), "{errors}");
}

#[test]
fn a_program_without_a_probe_is_answered_with_the_handbook() {
    let (code, _, errors) = ended(&mut Home::new().hostmark(&["run", "lat_pmake"]));
    assert_eq!(code, 4);
    assert!(errors.contains("lat_pmake") && errors.contains("docs/coming-from-lmbench.md"), "{errors}");
}
