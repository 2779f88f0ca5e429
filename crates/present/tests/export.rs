//! The export formats: each is found by its name, and what JSON wrote reads back as it was.

use std::collections::HashSet;

use hostmark_model::load_run;
use hostmark_present::RenderOptions;
use hostmark_present::export::{FORMATS, format_named};

use crate::synthetic;

#[test]
fn a_run_that_was_exported_as_json_loads_again_and_is_equal() {
    let json = format_named("json").unwrap();
    for mut run in [synthetic::plausible(), synthetic::empty()] {
        run.findings = hostmark_analysis::findings(&run);
        let text = json.render_one(&run, &RenderOptions::default());
        assert!(text.ends_with("}\n"));
        assert_eq!(load_run(&text).unwrap(), run);
    }
}

#[test]
fn json_keeps_a_round_of_samples_on_one_line() {
    let text = format_named("json").unwrap().render_one(&synthetic::plausible(), &RenderOptions::default());
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("[9.") && line.matches(", ").count() == 39),
        "{text}"
    );
}

#[test]
fn every_format_has_a_name_of_its_own_and_ends_with_a_line_break() {
    let names: HashSet<&str> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(names.len(), FORMATS.len());
    for format in FORMATS {
        assert!(!format.description.en.is_empty() && !format.description.zh.is_empty());
        for run in [synthetic::plausible(), synthetic::empty()] {
            let text = format.render_one(&run, &RenderOptions::default());
            // Without a case there is no line of a case.
            let is_right = text.ends_with('\n') || (text.is_empty() && run.cases.is_empty());
            assert!(is_right, "{}", format.name);
        }
    }
    assert!(format_named("no such format").is_none());
}
