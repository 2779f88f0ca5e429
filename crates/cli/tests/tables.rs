//! Tables that are measured by name, lmbench's summary and the overhead of layers: what is planned, refused, cut short and shown again.

use std::collections::HashSet;

use hostmark_analysis::lmbench::{self, CasePoint, SummaryColumn, programs};
use hostmark_engine::plan::{Plan, pick};
use hostmark_engine::probe::{Entry, find};
use hostmark_present::tables::TABLES;

use crate::catalogue::{guest, planned};
use crate::prelude::*;
use crate::whole_runs::stopped;

#[test]
fn help_names_every_table() {
    let (_, help, _) = Home::new().mocked(&["run", "--help"]);
    let of_option = help.split("--table").nth(1).unwrap().split("--format").next().unwrap();
    for table in TABLES {
        assert!(of_option.contains(table.name), "{}: {of_option}", table.name);
    }
}

#[test]
fn a_glance_has_the_constants_in_ten_seconds_unless_something_is_asked_for() {
    let plan = |more: &[&str]| -> Value {
        let mut command = Home::new().hostmark(&["run", "--profile", "glance", "--dry-run", "--format", "json"]);
        let json = succeeded(in_process(command.args(more)));
        serde_json::from_str(&json).unwrap()
    };
    let has = |plan: &Value, start: &str| {
        let cases = plan["cases"].as_array().unwrap();
        cases.iter().any(|case| case["id"].as_str().is_some_and(|id| id.starts_with(start)))
    };
    let all = plan(&[]);
    assert_eq!(
        (all["limit_s"].as_f64(), all["profile"].as_str(), all["rounds"].as_u64()),
        (Some(10.0), Some("glance"), Some(5))
    );
    for constant in ["memory.latency@", "syscall.null", "net.round_trip@", "disk.fsync", "memory.stream@kernel=triad"] {
        assert!(has(&all, constant), "{constant}");
    }
    assert!(!has(&all, "memory.stream@kernel=copy") && !has(&all, "virt."));
    let asked = plan(&["virt.exit"]);
    assert_eq!(asked["limit_s"].as_f64(), Some(10.0));
    // No curve: what tells each level.
    let sizes = all["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["id"].as_str().unwrap().starts_with("memory.latency@"));
    assert!((5..15).contains(&sizes.count()));
    assert!(has(&asked, "virt.exit") && !has(&asked, "syscall.null"));
}

#[test]
fn a_dry_run_has_the_cells_of_the_table_and_no_others() {
    for (table, probes) in [
        ("memory-bandwidth", &["memory.read", "memory.write", "memory.copy"][..]),
        ("size-stride", &["memory.latency"]),
        ("pipe", &["ipc.bandwidth"]),
        ("stream", &["memory.stream"]),
    ] {
        let home = Home::new();
        let plan = |set: &[&str]| -> Value {
            let mut command = home.hostmark(&["run", "--table", table, "--dry-run", "--format", "json"]);
            let json = succeeded(ended(command.args(set)));
            serde_json::from_str(&json).unwrap()
        };
        let ids = |plan: &Value| -> Vec<String> {
            let cases = plan["cases"].as_array().unwrap().iter();
            cases.map(|case| case["id"].as_str().unwrap().to_owned()).collect()
        };
        let usual = plan(&[]);
        assert_eq!((usual["table"].as_str(), usual["filters"].as_array().map(Vec::len)), (Some(table), Some(0)));
        assert!(ids(&usual).iter().all(|id| probes.contains(&id.split('@').next().unwrap())), "{:?}", ids(&usual));
        if table != "pipe" {
            // Each cell is one case, whatever the profile; of a pipe longer ones have more placements.
            let host = hostmark_host::read_here();
            let cpu = hostmark_host::single(&host).expect("a CPU to run on");
            let cells = TABLES.iter().find(|known| known.name == table).unwrap().cells(&host, cpu).len();
            assert_eq!(ids(&usual).len(), cells, "{table}");
            assert_eq!(ids(&plan(&["--profile", "thorough"])).len(), cells, "{table}");
            let base = ids(&plan(&["--set", "page=base"]));
            assert!(base.len() == cells && base.iter().all(|id| id.contains("page=base")), "{base:?}");
        }
    }
}

#[test]
fn a_table_that_was_cut_short_says_why_each_cell_is_blank_and_is_shown_again_from_its_file() {
    let home = Home::new();
    let (code, table, errors) = stopped(&home, &["run", "--table", "pipe"], 2);
    assert_eq!((code, errors.as_str()), (130, ""));
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("bandwidth of pipe:")).collect();
    let (with, without): (Vec<&str>, Vec<&str>) = rows.iter().partition(|row| !row.contains(" - "));
    assert!(rows.len() >= 16 && !with.is_empty() && !without.is_empty(), "{table}");
    assert!(without.iter().all(|row| row.ends_with(')')), "{table}");
    assert!(table.contains("(1) skipped: "), "{table}");
    // The same from the file, without measuring again.
    let again = succeeded(home.says(&["report", "--format", "pipe"]));
    assert!(table.starts_with(&again), "{table}\n{again}");
    // The file says which table was asked for.
    let (_, json, _) = home.says(&["report", "--format", "json"]);
    let run: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(run["settings"]["table"], "pipe");
}

/// Why a quick run has no such case of a probe; none when it has one.
fn lack(plan: &Plan, point: CasePoint) -> Option<String> {
    let Some(entry) = find(CATALOGUE, point.probe) else { return Some(format!("there is no {}", point.probe)) };
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
    lmbench::TABLES.iter().flat_map(|table| {
        let name = |column: &SummaryColumn| format!("{}: {}", table.title.en, column.head.en.replace('\n', " "));
        table.columns.iter().map(move |column| (name(column), column))
    })
}

#[test]
fn one_quick_run_has_the_cases_of_every_column_and_every_probe_of_a_remote_one_exists() {
    let plan = planned(&guest(), Profile::Quick);
    let lacking = |(name, column): (String, &SummaryColumn)| {
        let lack = column.ours.points().into_iter().find_map(|point| match name.starts_with("Remote") {
            true => find(CATALOGUE, point.probe).is_none().then(|| format!("there is no {}", point.probe)),
            false => lack(&plan, point),
        })?;
        Some(format!("{name}: {lack}"))
    };
    let found: Vec<String> = columns().filter_map(lacking).collect();
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
}

/// What the handbook for those who know lmbench says.
fn handbook() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from-lmbench.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_handbook_has_every_program_and_every_columns_probe() {
    let text = handbook();
    let code: HashSet<&str> = text.split('`').skip(1).step_by(2).collect();
    let programs = programs().filter(|program| !code.contains(program));
    let probes = columns().flat_map(|(_, column)| column.ours.points()).map(|point| point.probe);
    let is_named = |probe: &&str| code.iter().any(|code| code.split('@').next() == Some(*probe));
    let missing: Vec<&str> = programs.chain(probes.filter(|probe| !is_named(probe))).collect();
    assert!(missing.is_empty(), "docs/coming-from-lmbench.md does not name {missing:?}");
}

/// A result file with one value.
pub const FILE: &str = "[lmbench3.0 results for Linux old-host 2.6.32 #1 SMP x86_64 GNU/Linux]\n\
    Simple syscall: 0.2500 microseconds\n\n[Thu Jan  7 10:30:00 UTC 2010]\n";

#[test]
fn an_imported_file_is_a_run_like_any_other_and_a_bad_one_is_refused_with_its_line() {
    let home = Home::new();
    let file = home.data.path().join("old-host.0");
    fs::write(&file, FILE).unwrap();
    succeeded(ended(home.hostmark(&["import", "lmbench"]).arg(&file)));
    assert!(files(home.scratch.path()).is_empty());
    // The same file again is another run.
    assert_eq!(ended(home.hostmark(&["import", "lmbench"]).arg(&file)).0, 0);
    let (code, runs, _) = home.says(&["runs"]);
    assert_eq!((code, runs.matches("old-host").count() >= 2, runs.matches("imported").count()), (0, true, 2), "{runs}");
    let (code, shown, _) = home.says(&["report", "last", "last-1", "--format", "lmbench"]);
    assert_eq!((code, shown.matches("0.250").count()), (0, 2), "{shown}");
    let (_, errors) = with_code(2, home.says(&["report", "last", "last-1", "--format", "json"]));
    assert!(errors.contains("--format hosts, html, markdown, lmbench or overhead"), "{errors}");
    fs::write(&file, FILE.replace("0.2500", "much")).unwrap();
    let errors = refusal(ended(home.hostmark(&["import", "lmbench"]).arg(&file)));
    assert!(errors.contains("old-host.0, line 2: 'much' is no number"), "{errors}");
}

/// A run with one call that takes so many microseconds, kept in a file of this name.
fn run(home: &Home, file: &str, microseconds: &str) -> String {
    let source = home.data.path().join("result");
    let text = format!(
        "[lmbench3.0 results for Linux host 6.1.0 #1 SMP x86_64 GNU/Linux]\nSimple syscall: {microseconds} microseconds\n\n\
         [Thu Jan  7 10:30:00 UTC 2010]\n"
    );
    fs::write(&source, text).unwrap();
    let out = home.data.path().join(file);
    succeeded(ended(home.hostmark(&["import", "lmbench"]).arg(&source).arg("--out").arg(&out)));
    out.display().to_string()
}

#[test]
fn runs_stand_under_the_names_that_they_are_given_and_those_of_one_name_together() {
    let home = Home::new();
    let (native, slow, guest) = (run(&home, "a.json", "0.2"), run(&home, "b.json", "0.4"), run(&home, "c.json", "0.6"));
    let report = |runs: &[&str], more: &[&str]| {
        let start = ["report", "--format", "overhead", "--lang", "en"];
        home.says(&[&start[..], runs, more].concat())
    };
    let [native_run, slow_run, guest_run] =
        [("native", &native), ("native", &slow), ("guest", &guest)].map(|(name, file)| format!("{name}={file}"));
    let text = succeeded(report(&[&native_run, &guest_run], &[]));
    assert!(text.contains("over native") && text.contains("+200.00 %"), "{text}");
    // The median of two runs of an environment is 0.3.
    let (_, text, _) = report(&[&native_run, &slow_run, &guest_run], &[]);
    assert!(text.contains("+100.00 %"), "{text}");
    // So it is where they are given as a list, as a pattern, and as a directory.
    let at = home.data.path().join("both");
    fs::create_dir(&at).unwrap();
    for (file, name) in [(&native, "n-1.json"), (&slow, "n-2.json")] {
        fs::copy(file, at.join(name)).unwrap();
    }
    let (list, folder) = (format!("native={native},{slow}"), format!("native={}", at.display()));
    for both in [&list, &folder, &format!("{folder}/n-*.json")] {
        assert_eq!(report(&[both, &guest_run], &[]).1, text, "{both}");
    }
    let (code, _, errors) = report(&[&format!("{folder}/m-*")], &[]);
    assert!(code == 2 && errors.contains("no run is called like"), "{errors}");
    let (_, errors) = with_code(2, report(&[&native_run, &guest_run], &["--base", "syscall.nothing"]));
    assert!(errors.contains("native has no such case"), "{errors}");
    let (_, errors) = with_code(2, home.says(&["report", &native, "--base", "syscall.null"]));
    assert!(errors.contains("--format overhead"), "{errors}");
    let (_, errors) = with_code(2, report(&["native=nowhere.json"], &[]));
    assert!(errors.contains("there is no file nowhere.json"), "{errors}");
    // A file that has an equals sign in its own name.
    let odd = run(&home, "x=y.json", "0.2");
    assert_eq!(report(&[&odd, &guest], &[]).0, 0);
    assert!(files(home.scratch.path()).is_empty());
}
