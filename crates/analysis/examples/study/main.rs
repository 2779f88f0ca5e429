//! Compares estimators on recorded runs: `cargo run --release -p hostmark-analysis --example study -- tables DIRECTORY`.
//!
//! `keep DIRECTORY` prints what the comparison needs of a directory of run files as one table, `tables DIRECTORY` reads such a table
//! (`runs.tsv`) and run files alike, `calibrate STUDIES` fits on the tables of all machines what a single run says of others, `verdicts
//! DIRECTORY` tells of run files what comparisons find when one side is made slower, and `alarms DIRECTORY` what a gate stops when
//! nothing was; `history`: with all other runs stored.

mod calibrate;
mod estimators;
mod recorded;
mod tables;
mod verdicts;

use std::io::Write;
use std::path::Path;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = match words[..] {
        ["keep", directory] => recorded::table(&recorded::of_directory(Path::new(directory))?),
        ["tables", directory] => tables::text(&recorded::of_directory(Path::new(directory))?),
        ["calibrate", studies] => calibrate::text(Path::new(studies))?,
        ["verdicts", directory] => verdicts::of_directory(Path::new(directory))?,
        ["alarms", directory] => verdicts::alarms_of(Path::new(directory), false)?,
        ["alarms", directory, "history"] => verdicts::alarms_of(Path::new(directory), true)?,
        _ => {
            return Err(
                "give keep DIRECTORY, tables DIRECTORY, calibrate docs/study, verdicts DIRECTORY, or alarms DIRECTORY [history]"
                    .to_owned()
            );
        }
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}
