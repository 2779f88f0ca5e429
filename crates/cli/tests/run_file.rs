//! What a run leaves behind: the file, its name, its order and its published schema, and what `report` finds again.

use std::io;

use hostmark::world::StandardStream;
use hostmark_engine::mock::{Script, hello, line};
use hostmark_engine::plan::{Request, plan};
use hostmark_model::{Argument, ProbeInfo};
use jsonschema::Validator;

use crate::machine::Machine;
use crate::prelude::*;
use crate::support::in_process::{healthy_worker, printing_to, scripted};

fn runs(home: &Home) -> PathBuf {
    home.data.path().join("hostmark/runs")
}

/// The one file of a home, which is a run.
fn only_run(home: &Home) -> Run {
    let [file] = &files(home.data.path())[..] else { panic!("{:?}", files(home.data.path())) };
    let run = load_run(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(file, &runs(home).join(format!("{}.json", run.name)));
    assert!(files(home.scratch.path()).is_empty());
    run
}

/// `20261121T061500Z-HOST-ab12`
fn assert_is_a_runs_name(name: &str) {
    let (stamp, rest) = name.split_at(16);
    let is_stamp = stamp.char_indices().all(|(index, c)| match index {
        8 => c == 'T',
        15 => c == 'Z',
        _ => c.is_ascii_digit(),
    });
    let unique = rest.rsplit('-').next().unwrap();
    let is_unique = unique.len() == 4 && unique.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
    assert!(is_stamp && rest.starts_with('-') && rest.len() > 6 && is_unique, "{name}");
}

/// The run that a command without `--format` prints at the end.
fn assert_is_table(text: &str) {
    assert!(text.starts_with("hostmark ") && text.contains("quick profile"), "{text}");
}

#[test]
fn a_run_is_whole_ordered_and_kept_and_found_again() {
    let home = Home::new();
    let arguments = ["run", "syscall.null", "clock", "--format", "json", "--seed", "77"];
    let json = succeeded(home.mocked(&arguments));
    let run = load_run(&json).unwrap();
    assert_eq!(run, only_run(&home));
    assert_is_a_runs_name(&run.name);
    assert!(run.interrupted.is_none() && run.finished.as_ref().is_some_and(|finished| *finished >= run.started));
    assert_eq!((run.settings.seed, run.settings.rounds, run.settings.limit_s), (77, 5, 60.0));
    assert_eq!(run.settings.filters, ["syscall.null", "clock"]);

    // The catalogue's order, whatever that of the filters; a probe's default first.
    let (_, catalogue, _) = home.says(&["list", "--format", "json"]);
    let catalogue: Vec<ProbeInfo> = serde_json::from_str(&catalogue).unwrap();
    let picked = |probe: &&ProbeInfo| probe.id == "syscall.null" || probe.id.starts_with("clock.");
    let expected: Vec<&ProbeInfo> = catalogue.iter().filter(picked).collect();
    assert_eq!(run.probes.iter().collect::<Vec<_>>(), expected);
    let mut of_cases: Vec<&str> = run.cases.iter().map(|case| case.probe.as_str()).collect();
    of_cases.dedup();
    assert_eq!(of_cases, expected.iter().map(|probe| probe.id.as_str()).collect::<Vec<_>>());
    for probe in expected {
        let first = run.cases.iter().find(|case| case.probe == probe.id).unwrap();
        assert!(probe.axes.iter().all(|axis| first.params.get(&axis.name) == Some(&axis.default)), "{}", first.id);
    }
    for case in &run.cases {
        match &case.outcome {
            Outcome::Measured(measured) => {
                assert!(measured.rounds.len() >= 5 && measured.rounds.len() == measured.samples.len(), "{}", case.id);
                assert!(measured.samples.iter().all(|round| !round.is_empty()), "{}", case.id);
                assert!(measured.estimate.ci_low.is_some(), "{}", case.id);
            }
            Outcome::Skipped { reason } | Outcome::Failed { reason } => {
                assert!(!reason.is_empty() && reason.code.is_some(), "{}", case.id);
            }
        }
    }
    assert!(run.cases.iter().filter(|case| case.measured().is_some()).count() >= 6);

    // A second run becomes the last, the first the last but one.
    let table = succeeded(home.mocked(&["run", "clock.loop"]));
    assert_is_table(&table);
    assert!(table.contains("saved as ") && table.contains("more: hostmark report --"), "{table}");
    let report = |of: &str| {
        let json = succeeded(home.says(&["report", of, "--format", "json"]));
        load_run(&json).unwrap()
    };
    assert_eq!(report("last-1"), run);
    assert_eq!(report(&run.name), run);
    let last = report("last");
    assert_eq!(last.settings.filters, ["clock.loop"]);
    assert!(last.name > run.name, "{} {}", last.name, run.name);
    let errors = refusal(home.says(&["report", "last-2"]));
    let sentence =
        "hostmark: there is no last-2, since 2 runs with values are kept on this machine; go back less far\n";
    assert_eq!(errors, sentence);
    let shown = succeeded(home.says(&["report"]));
    assert!(table.starts_with(&shown), "{table}\n{shown}");
}

/// A stream that keeps nothing: it fails with this error of the system, or is a terminal.
struct Nowhere(Option<i32>);

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.map_or(Ok(bytes.len()), |error| Err(io::Error::from_raw_os_error(error)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StandardStream for Nowhere {
    fn is_terminal(&self) -> bool {
        self.0.is_none()
    }
}

/// Exit code and standard error of a run whose standard output fails so, and whose case fails where its worker does.
fn printed_in_vain(home: &Home, error: i32, worker: fn(&Job) -> Script) -> (i32, String) {
    printing_to(&home.hostmark(&["run", "clock.loop"]), Box::new(Nowhere(Some(error))), move |job, _| worker(job))
}

#[test]
fn a_reader_that_leaves_does_not_stop_a_run() {
    let home = Home::new();
    assert_eq!(printed_in_vain(&home, nix::libc::EPIPE, healthy_worker), (0, String::new()));
    assert!(only_run(&home).cases[0].measured().is_some());
    // That the kernel says so, and does not end the process, is seen of one.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    succeeded(said(&home.hostmark(&["list"]).stdout(writer).output().unwrap()));
}

#[test]
fn a_standard_output_that_is_lost_is_reported_also_where_a_case_failed_and_the_run_is_kept() {
    let failed: fn(&Job) -> Script =
        |_| vec![hello(), line(&Event::Failed { reason: ReasonCode::CheckFailed.because("it broke") })];
    for (error, why) in [
        (nix::libc::ENOSPC, "No space left on device (os error 28)); redirect it elsewhere"),
        (nix::libc::EFBIG, "File too large (os error 27)); raise the limit of file sizes (ulimit -f)"),
    ] {
        for (worker, is_measured) in [(healthy_worker as fn(&Job) -> Script, true), (failed, false)] {
            let home = Home::new();
            let sentence = format!("hostmark: standard output cannot be written ({why}\n");
            assert_eq!(printed_in_vain(&home, error, worker), (5, sentence));
            assert_eq!(only_run(&home).cases[0].measured().is_some(), is_measured);
        }
    }
}

#[test]
fn what_nobody_reads_on_a_terminal_is_not_poured_into_one() {
    let home = Home::new();
    home.mocked(&["run", "clock.loop", "--name", "a"]);
    let file = home.scratch.path().join("a").display().to_string();
    for format in ["html", "json", "jsonl", "card", "openbenchmarking"] {
        let said = |words: &[&str]| {
            let command = home.hostmark(&[words, &["--format", format]].concat());
            printing_to(&command, Box::new(Nowhere(None)), |job, _| healthy_worker(job))
        };
        let (code, errors) = said(&["report", "a"]);
        assert!(
            code == 2 && errors.contains(&format!("--format {format} would fill")) && errors.contains("--out FILE")
        );
        assert!(said(&["run", "clock.loop"]).1.contains(&format!("hostmark run --format {format} > FILE")));
        assert_eq!(said(&["report", "a", "--out", &file]), (0, String::new()));
        // To a pipe it goes as ever.
        assert_eq!(home.mocked(&["report", "a", "--format", format]).0, 0);
    }
    let said =
        |words: &[&str]| printing_to(&home.hostmark(words), Box::new(Nowhere(None)), |job, _| healthy_worker(job));
    assert_eq!(said(&["compare", "a", "a", "--format", "html"]).0, 2);
    assert_eq!(said(&["fleet", "report", "a", "--format", "html"]).0, 2);
    assert_eq!(said(&["run", "clock.loop", "--dry-run", "--format", "json"]).0, 0);
    assert_eq!(said(&["report", "a", "--format", "csv"]).0, 0);
}

fn published() -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostmark.run.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

#[track_caller]
fn assert_is_valid(schema: &Validator, run: &Value) {
    let errors: Vec<String> =
        schema.iter_errors(run).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A run with a case that is measured and one that is skipped.
fn measured() -> Value {
    let home = Home::new();
    let filters = ["syscall.null", "memory.latency@size=4K", "ipc.bandwidth@by=pipe,cpus=other_node"];
    let json = succeeded(home.says(&[&["run"][..], &filters, &["--format", "json"]].concat()));
    let run = load_run(&json).unwrap();
    for measured in run.cases.iter().filter_map(CaseRecord::measured) {
        assert!(measured.rounds.len() >= 5 && measured.samples.iter().all(|round| !round.is_empty()));
        assert!(measured.estimate.ci_low.is_some());
    }
    // It is the file, and not another view of the run, that is looked at.
    let [file] = &files(home.data.path())[..] else { panic!("one file is kept") };
    assert_eq!(fs::read_to_string(file).unwrap(), json);
    serde_json::from_str(&json).unwrap()
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_run_is_valid_by_the_published_schema_and_one_that_is_wrong_is_not() {
    let (schema, run) = (published(), measured());
    assert_is_valid(&schema, &run);
    let is_measured = |case: &&Value| case["outcome"]["measured"].is_object();
    let index = run["cases"].as_array().unwrap().iter().position(|case| is_measured(&case)).unwrap();
    let case = format!("/cases/{index}");
    let changed = |at: &str, value: Value| {
        let mut run = run.clone();
        *run.pointer_mut(at).unwrap_or_else(|| panic!("there is no {at}")) = value;
        run
    };

    // What a later version of the same schema may add, and what is not known.
    let mut other = changed("/finished", Value::Null);
    other["later"] = json!({ "added": true });
    other["host"]["cpu"]["later"] = json!(1);
    other["host"]["cpu"].as_object_mut().unwrap().remove("model");
    assert_is_valid(&schema, &other);

    let wrong = [
        ("/schema", json!("hostmark.run/2")),
        ("/started", json!("yesterday")),
        ("/id", json!(7)),
        ("/settings/seed", json!(-1)),
        ("/settings/profile", json!("slow")),
        ("/probes/0/unit", json!("furlongs")),
        ("/probes/0/title", json!("a text in one language")),
        ("/host/cpus", json!({})),
        (&format!("{case}/id"), json!("Null call")),
        (&format!("{case}/params"), json!({ "size": 4096 })),
        (&format!("{case}/outcome"), json!({ "lost": {} })),
        (&format!("{case}/outcome/measured/estimate/typical"), Value::Null),
        (&format!("{case}/outcome/measured/samples/0"), json!([1.0, "2.0"])),
        (&format!("{case}/outcome/measured/rounds/0/taints"), json!([256])),
    ];
    for (at, value) in wrong {
        assert!(!schema.is_valid(&changed(at, value.clone())), "{at} may be {value}");
    }
    for field in ["schema", "id", "tool", "settings", "host", "disturbances", "probes", "cases", "findings"] {
        let mut run = run.clone();
        run.as_object_mut().unwrap().remove(field);
        assert!(!schema.is_valid(&run), "{field} may be absent");
    }
}

/// A host of two CPUs that has whatever probes need.
fn able() -> HostFacts {
    let mut host = Machine::named("guest of 2").facts();
    (host.limits.is_root, host.virtualization.kvm_permitted) = (Some(true), Some(true));
    (host.kernel.module_version, host.virtualization.hypervisor) = (Some("1".into()), Some("kvm".into()));
    host
}

#[test]
fn what_a_host_lacks_has_its_code() {
    type Change = fn(&mut HostFacts);
    let lacks: [(&str, Change, Option<ReasonCode>); 14] = [
        ("virt.port", |_| {}, None),
        ("virt.port", |host| host.limits.is_root = Some(false), Some(ReasonCode::Permission)),
        ("virt.port", |host| host.limits.is_root = None, Some(ReasonCode::Permission)),
        ("virt.port", |host| host.virtualization.hypervisor = None, Some(ReasonCode::Hardware)),
        ("cpu.kernel_sieve", |host| host.kernel.module_version = None, Some(ReasonCode::Kernel)),
        ("cpu.kernel_sieve", |host| host.kernel.module_version = Some("0".into()), Some(ReasonCode::Kernel)),
        ("virt.exit", |host| host.virtualization.kvm_permitted = None, Some(ReasonCode::MissingFile)),
        ("virt.exit", |host| host.virtualization.kvm_permitted = Some(false), Some(ReasonCode::Permission)),
        ("memory.effective_page", |host| host.memory.pmd_page_bytes = None, Some(ReasonCode::HugePages)),
        ("ipc.round_trip@by=pipe,cpus=smt_sibling", |_| {}, Some(ReasonCode::Topology)),
        ("sched.core_scheduling", |_| {}, Some(ReasonCode::Topology)),
        ("cpu.core_to_core@cpus=0-7", |_| {}, Some(ReasonCode::CpuUnavailable)),
        ("memory.read@threads=4", |_| {}, Some(ReasonCode::TooFewCpus)),
        ("net.round_trip@protocol=tcp,cpus=two_hosts", |_| {}, Some(ReasonCode::NoPeer)),
    ];
    for (filter, change, code) in lacks {
        let mut host = able();
        change(&mut host);
        let filters = vec![filter.to_owned()];
        let request = Request { filters, profile: Profile::Quick, seed: 1, set: Vec::new(), inputs: Inputs::default() };
        let plan = plan(CATALOGUE, &host, request).unwrap_or_else(|error| panic!("{filter}: {error}"));
        let skip = plan.cases[0].skip.as_ref();
        assert_eq!(skip.map(|reason| reason.code), code.map(Some), "{filter}: {skip:?}");
        if let (Some(ReasonCode::TooFewCpus), Some(reason)) = (code, skip) {
            let has = |name: &str| reason.arguments.get(name);
            assert_eq!((has("needed"), has("available")), (Some(&Argument::Number(4)), Some(&Argument::Number(2))));
        }
    }
}

#[test]
fn the_code_of_a_refused_call_is_in_the_file_of_the_run_and_in_every_format() {
    let home = Home::new();
    let reason = || ReasonCode::Permission.because("futex is not available").with("errno", "EPERM");
    let name = home.data.path().join("run.json").display().to_string();
    let (code, file, errors) =
        scripted(&home.hostmark(&["run", "clock.loop", "--format", "json", "--out", &name]), move |_, _| {
            vec![hello(), line(&Event::Skipped { reason: reason() })]
        });
    assert_eq!((code, errors.as_str()), (4, "hostmark: nothing can be measured: futex is not available\n"));
    let file: Value = serde_json::from_str(&file).unwrap();
    let wanted = json!({ "reason": "futex is not available", "code": "permission", "arguments": { "errno": "EPERM" } });
    assert_eq!(file["cases"][0]["outcome"]["skipped"], wanted);
    let shown = |format: &str| home.says(&["report", &name, "--format", format]).1;
    let text: Value = serde_json::from_str(&shown("jsonl")).unwrap();
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&text[key], value);
    }
    assert!(shown("csv").lines().nth(1).unwrap().trim_end_matches(',').ends_with(",permission"));
    let counted = r#"hostmark_run_unmeasured_cases{outcome="skipped",code="permission","#;
    assert!(shown("prometheus").lines().any(|line| line.starts_with(counted) && line.ends_with(" 1")));
}
