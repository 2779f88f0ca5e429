//! What a run leaves is valid by the JSON Schema that the documents publish, and what it must not leave is not.

use std::path::Path;

use hostmark_model::{CaseRecord, load_run};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::{Home, ended, files};

fn published() -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostmark.run.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
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
    let (code, json, errors) = ended(&mut home.hostmark(&[&["run"][..], &filters, &["--format", "json"]].concat()));
    assert_eq!((code, errors.as_str()), (0, ""));
    let run = load_run(&json).unwrap();
    for measured in run.cases.iter().filter_map(CaseRecord::measured) {
        assert!(measured.rounds.len() >= 5 && measured.samples.iter().all(|round| !round.is_empty()));
        assert!(measured.estimate.ci_low.is_some());
    }
    // It is the file, and not another view of the run, that is looked at.
    let [file] = &files(home.data.path())[..] else { panic!("one file is kept") };
    assert_eq!(std::fs::read_to_string(file).unwrap(), json);
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
