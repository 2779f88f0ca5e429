//! Formats that a user describes by a file.

use std::io::Cursor;

use hostmark_import::{DescribedFormat, ImportError};
use hostmark_model::Run;

use crate::import::{check, measured};

const OWN: &str = include_str!("fixtures/import/own-format.json");

fn own(text: &str, file: &str) -> Result<Run, ImportError> {
    DescribedFormat::of(text, |name| name == "memory")?.read(&mut Cursor::new(file))
}

#[test]
fn a_format_of_ones_own_is_read_as_its_file_says() {
    let run = own(OWN, "mybench 2.1, 4 threads, buffer 1M\nplain copy: 1250.5 MB/s, p99 12.5 us\n").unwrap();
    let id = "mybench.rate@test=plain-copy,threads=4";
    check(&run, &[(id, 1250.5e6), (&format!("{id}/p99"), 12_500.0)]);
    assert_eq!(
        (run.tool.version.as_str(), measured(&run, id).notes["asked.buffer"].as_str()),
        ("My benchmark 2.1", "1M")
    );
    let probe = &run.probes[0];
    assert_eq!((probe.title.en.as_str(), probe.section.zh.as_str()), ("copy rate", "My benchmark 测得"));
    let by_name = r#"{"name": "x", "tool": "x", "items": "/results/*", "fields": {"test": "/results/*", "time": "/results/*/ms/*"},
        "quantities": [{"name": "time", "value": "time", "unit": "ms", "axes": ["test"]}]}"#;
    let run = own(by_name, r#"{"results": {"a": {"ms": [1, 2, 3]}, "b": {"ms": [4]}, "c": {"ms": null}}}"#).unwrap();
    check(&run, &[("x.time@test=a", 2e6), ("x.time@test=b", 4e6)]);
    assert_eq!((measured(&run, "x.time@test=a").estimate.n, run.cases.len()), (3, 2));
}

#[test]
fn a_bad_format_is_refused_with_its_line() {
    for (from, to, line, wanted) in [
        ("\"tool\"", "\"tools\"", 3, "no key is called 'tools'"),
        ("[a-z ]+", "(?:(?:[a-z ]{100}){100}){100}", 6, "is no regular expression"),
        ("\"unit\": \"us\"", "\"unit\": \"furlongs\"", 10, "'furlongs' is no unit"),
        ("threads:count", "threads:many", 9, "none of choice, name, size and count"),
        ("\"name\": \"mybench\"", "\"name\": \"My Bench\"", 2, "is no name"),
        ("mybench\",", "memory\",", 1, "choose another name"),
    ] {
        let error = DescribedFormat::of(&OWN.replace(from, to), |name| name == "memory")
            .err()
            .unwrap_or_else(|| panic!("{to} is taken"));
        assert!(error.line == line && error.to_string().contains(wanted), "{to}: {error}");
        assert!(error.to_string().chars().count() < 350 && !error.to_string().contains("expected"), "{error}");
    }
}

#[test]
fn an_expression_that_takes_long_is_refused() {
    let slow = OWN.replace("^(?<test>[a-z ]+)", "(?<test>(?:a?){90}(?:a?){90}(?:.*.*.*=){20}x)");
    assert!(own(&slow, &("a".repeat(4000) + "\n").repeat(4)).is_err());
}
