//! `run --table`: what is planned, what is refused, and a table that was cut short and is shown again from its file.

use hostmark_present::tables::TABLES;
use serde_json::Value;

use crate::support::{Home, ended, in_process};
use crate::whole_runs::stopped;

fn refused(arguments: &[&str]) -> String {
    let (code, output, errors) = in_process(&Home::new().hostmark(arguments));
    assert_eq!((code, output.as_str()), (2, ""), "{errors}");
    errors
}

#[test]
fn an_unknown_table_is_refused_with_the_names_of_all() {
    let errors = refused(&["run", "--table", "pipes"]);
    assert_eq!(
        errors.trim_end(),
        "hostmark: no table is called 'pipes'; choose memory-bandwidth, size-stride, pipe, stream, lmbench, answer, overhead or data-path"
    );
}

#[test]
fn what_would_not_be_the_table_is_refused() {
    let errors = refused(&["run", "--table", "pipe", "--set", "message=4K", "--dry-run"]);
    assert!(errors.contains("--table pipe") && errors.contains("leave out --set message=4K"), "{errors}");
    let errors = refused(&["run", "--table", "size-stride", "--set", "memory.latency:size=4K", "--dry-run"]);
    assert!(errors.contains("leave out --set"), "{errors}");
    assert!(refused(&["run", "--table", "pipe", "memory"]).contains("cannot be used with"));
    assert!(refused(&["run", "--table", "pipe", "--command", "true"]).contains("cannot be used with"));
}

#[test]
fn help_names_every_table() {
    let (_, help, _) = in_process(&Home::new().hostmark(&["run", "--help"]));
    let of_option = help.split("--table").nth(1).unwrap().split("--format").next().unwrap();
    for table in TABLES {
        assert!(of_option.contains(table.name), "{}: {of_option}", table.name);
    }
}

#[test]
fn a_glance_has_the_constants_in_ten_seconds_unless_something_is_asked_for() {
    let plan = |more: &[&str]| -> Value {
        let mut command = Home::new().hostmark(&["run", "--profile", "glance", "--dry-run", "--format", "json"]);
        let (code, json, errors) = in_process(command.args(more));
        assert_eq!((code, errors.as_str()), (0, ""));
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
    for constant in ["memory.latency@", "syscall.null", "net.tcp@", "disk.fsync", "memory.stream@kernel=triad"] {
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
            let (code, json, errors) = ended(command.args(set));
            assert_eq!((code, errors.as_str()), (0, ""));
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
    let (code, again, errors) = ended(&mut home.hostmark(&["report", "--format", "pipe"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(table.starts_with(&again), "{table}\n{again}");
    // The file says which table was asked for.
    let (_, json, _) = ended(&mut home.hostmark(&["report", "--format", "json"]));
    let run: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(run["settings"]["table"], "pipe");
}
